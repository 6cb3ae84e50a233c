/* SPDX-License-Identifier: Apache-2.0 */
/* read_module [--print|--quiet|--time N] FILE... - reads modules and prints them, for tests.
 * With one file the exit status says whether it was read; an error is a line
 * "FILE: CODE: message". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reader/reader.h"

typedef struct {
    const void *data;
    size_t size;
    tn_arena *arena;
    bool print;
    tn_module *module;
} job;

static tn_status *run(void *ctx)
{
    job *j = ctx;
    TN_TRY(tn_read_bytecode(j->data, j->size, j->arena, &j->module));
    if (j->print) {
        size_t size;
        const char *text = tn_module_print(j->module, j->arena, &size);
        fwrite(text, 1, size, stdout);
    }
    return NULL;
}

static void *load(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *data = n >= 0 ? malloc((size_t)n + 1) : NULL;
    *size = data ? fread(data, 1, (size_t)n, f) : 0;
    fclose(f);
    return data;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int read_file(const char *path, bool print, int repeats)
{
    size_t size;
    void *data = load(path, &size);
    if (!data) {
        printf("%s: cannot be read\n", path);
        return 1;
    }
    int rc = 0;
    double best = 1e300;
    for (int i = 0; i < repeats && !rc; i++) {
        job j = {.data = data, .size = size, .arena = tn_arena_new(), .print = print};
        double start = now();
        tn_status *s = tn_arena_run(j.arena, run, &j);
        double taken = now() - start;
        if (taken < best) best = taken;
        if (s) {
            printf("%s: %s: %s\n", path, tn_code_name(tn_status_code(s)), tn_status_message(s));
            tn_status_free(s);
            rc = 1;
        } else if (i == repeats - 1 && repeats > 1) {
            printf("%s: %.3f ms, %zu bytes of %zu\n", path, best, tn_arena_bytes(j.arena), size);
        }
        tn_arena_free(j.arena);
    }
    free(data);
    return rc;
}

int main(int argc, char **argv)
{
    bool print = true;
    int repeats = 1, rc = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--print")) print = true;
        else if (!strcmp(argv[i], "--quiet")) print = false;
        else if (!strcmp(argv[i], "--time") && i + 1 < argc) repeats = atoi(argv[++i]);
        else rc |= read_file(argv[i], print, repeats);
    }
    return rc;
}
