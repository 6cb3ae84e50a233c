/* SPDX-License-Identifier: Apache-2.0 */
/* any_size.c - one executable of a program with `?` in its types, run at three sizes.
 *
 *   any_size PLUGIN.so any_size.mlir
 *
 * Compiles once; what a run needs to know of sizes it takes from its arguments. */
#include <stdio.h>
#include <stdlib.h>

#include "tenon/host.h"

/* 1, 2, ..., n minus their mean. */
static tn_status *run(tn_host_executable *program, int64_t n)
{
    tn_array x, y = {0};
    TN_TRY(tn_array_make(PJRT_Buffer_Type_F32, 1, &n, &x));
    for (int64_t i = 0; i < n; i++) ((float *)x.data)[i] = (float)(i + 1);
    tn_status *s = tn_host_executable_run(program, &x, 1, &y, NULL);
    tn_array_free(&x);
    TN_TRY(s);
    if (y.rank != 1 || y.dims[0] != n)
        s = TN_ERROR(INTERNAL, "the result is not of size %ld", (long)n);
    printf("%ld:", (long)n);
    for (int64_t i = 0; i < n && !s; i++) {
        float got = ((const float *)y.data)[i], want = (float)(i + 1) - (float)(n + 1) / 2;
        printf(" %g", (double)got);
        if (got != want) s = TN_ERROR(INTERNAL, "element %ld should be %g", (long)i, (double)want);
    }
    printf("\n");
    tn_array_free(&y);
    return s;
}

static tn_status *run_all(tn_host_client *client, const char *path)
{
    void *code;
    size_t size;
    TN_TRY(tn_read_file(path, &code, &size));
    tn_host_executable *program;
    tn_status *s = tn_host_executable_compile(client, code, size, "mlir", 1, 1, &program);
    free(code);
    TN_TRY(s);
    const int64_t sizes[] = {3, 10, 1};
    for (int i = 0; i < 3 && !s; i++) s = run(program, sizes[i]);
    tn_host_executable_free(program);
    return s;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s PLUGIN.so any_size.mlir\n", argv[0]);
        return 2;
    }
    tn_plugin *plugin;
    tn_host_client *client;
    tn_status *s = tn_plugin_open(argv[1], &plugin);
    if (!s) {
        s = tn_host_client_create(plugin, NULL, 0, &client);
        if (!s) {
            s = run_all(client, argv[2]);
            tn_host_client_destroy(client);
        }
        tn_plugin_close(plugin);
    }
    if (s) fprintf(stderr, "%s\n", tn_status_message(s));
    int failed = s != NULL;
    tn_status_free(s);
    return failed;
}
