/* SPDX-License-Identifier: Apache-2.0 */
/* tiny PLUGIN OTHER PROGRAM.mlirbc - two plugins side by side in one process on a program of f32[4]
 * inputs: time to compile and time to execute through the C API, interleaved, medians and their
 * ratios (OTHER's time over PLUGIN's). */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tenon/host.h"

enum { COMPILES = 60, ROUNDS = 200, RUNS = 50 };

typedef struct {
    const char *path;
    tn_plugin *plugin;
    tn_host_client *client;
    tn_host_executable *program;
    PJRT_Buffer *in[2];
    double compile[COMPILES], execute[ROUNDS];
} side;

static void check(tn_status *s)
{
    if (!s) return;
    fprintf(stderr, "tiny: %s\n", tn_status_message(s));
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return v[n / 2];
}

static void open_side(side *s)
{
    check(tn_plugin_open(s->path, &s->plugin));
    check(tn_host_client_create(s->plugin, NULL, 0, &s->client));
    for (int i = 0; i < 2; i++) {
        tn_array a;
        check(tn_array_make(PJRT_Buffer_Type_F32, 1, (int64_t[]){4}, &a));
        check(tn_host_buffer_from_array(s->client, tn_host_client_device(s->client, 0), &a,
                                        &s->in[i]));
        tn_array_free(&a);
    }
}

static double compile(side *s, const void *code, size_t size)
{
    tn_host_executable_free(s->program);
    double start = now();
    check(tn_host_executable_compile(s->client, code, size, "mlir", 1, 1, &s->program));
    return now() - start;
}

/* Microseconds of one launch, with its output awaited and destroyed. */
static double execute(side *s)
{
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                   .call_location = ""};
    double start = now();
    for (int i = 0; i < RUNS; i++) {
        PJRT_Buffer *out = NULL, **row = &out;
        PJRT_Buffer *const *in = s->in;
        PJRT_Event *done = NULL;
        PJRT_LoadedExecutable_Execute_Args args = {
            .struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE,
            .executable = tn_host_executable_handle(s->program),
            .options = &options,
            .argument_lists = &in,
            .num_devices = 1,
            .num_args = 2,
            .output_lists = &row,
            .device_complete_events = &done};
        check(TN_PLUGIN_CALL(s->plugin, PJRT_LoadedExecutable_Execute, &args));
        check(tn_host_event_wait(s->client, done));
        tn_host_buffer_destroy(s->client, out);
    }
    return (now() - start) / RUNS;
}

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: tiny PLUGIN OTHER PROGRAM.mlirbc\n"), 2;
    side sides[2] = {{.path = argv[1]}, {.path = argv[2]}};
    void *code;
    size_t size;
    check(tn_read_file(argv[3], &code, &size));
    for (int k = 0; k < 2; k++) open_side(&sides[k]);
    for (int i = 0; i < COMPILES; i++)
        for (int k = 0; k < 2; k++) sides[k].compile[i] = compile(&sides[k], code, size);
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < 2; k++) sides[k].execute[i] = execute(&sides[k]);
    double c[2], e[2];
    for (int k = 0; k < 2; k++) {
        c[k] = median(sides[k].compile, COMPILES);
        e[k] = median(sides[k].execute, ROUNDS);
        printf("%s: compile %.1f us, execute %.2f us (medians)\n", sides[k].path, c[k], e[k]);
    }
    printf("compile %.0fx, execute %.2fx\n", c[1] / c[0], e[1] / e[0]);
    return 0;
}
