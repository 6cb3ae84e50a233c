/* SPDX-License-Identifier: Apache-2.0 */
/* layers_bench PLUGIN MODULE - nanoseconds of a call, the least of several rounds, of a getter and
 * of the calls of a small run. Run it on a plugin and on libtenon_layers.so in front of it; what a
 * layer costs is the difference. Time of this thread alone: what trace writes it writes in another.
 * MODULE takes and gives one f32[4] (test/data/donate.mlirbc does). */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tenon/host.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void must(tn_status *s)
{
    if (!s) return;
    fprintf(stderr, "%s\n", tn_status_message(s));
    exit(1);
}

int main(int argc, char **argv)
{
    enum { ROUNDS = 15, GETS = 20000, RUNS = 2000 };
    if (argc != 3) return fprintf(stderr, "usage: layers_bench PLUGIN MODULE\n"), 2;
    tn_plugin *p;
    tn_host_client *c;
    tn_host_executable *e;
    void *code;
    size_t size;
    must(tn_plugin_open(argv[1], &p));
    must(tn_host_client_create(p, NULL, 0, &c));
    must(tn_read_file(argv[2], &code, &size));
    must(tn_host_executable_compile(c, code, size, "mlir", 1, 1, &e));
    const PJRT_Api *api = tn_plugin_api(p);
    tn_array a;
    int64_t four = 4;
    must(tn_array_make(PJRT_Buffer_Type_F32, 1, &four, &a));
    PJRT_Buffer *b;
    must(tn_host_buffer_from_array(c, tn_host_client_device(c, 0), &a, &b));
    double get = 1e18, run = 1e18;
    for (int r = 0; r < ROUNDS; r++) {
        double t = now();
        for (int i = 0; i < GETS; i++) {
            PJRT_Buffer_Dimensions_Args d = {.struct_size = PJRT_Buffer_Dimensions_Args_STRUCT_SIZE,
                                             .buffer = b};
            if (api->PJRT_Buffer_Dimensions(&d)) return 1;
        }
        t = (now() - t) / GETS;
        if (t < get) get = t;
        t = now();
        for (int i = 0; i < RUNS;
             i++) { /* Execute, OnReady is left out, 2 destroys, 1 wait: 5 calls */
            PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                           .call_location = ""};
            PJRT_Buffer *out, *const in = b, *const *in_row = &in, **out_row = &out;
            PJRT_Event *done;
            PJRT_LoadedExecutable_Execute_Args x = {
                .struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE,
                .executable = tn_host_executable_handle(e),
                .options = &options,
                .argument_lists = &in_row,
                .num_devices = 1,
                .num_args = 1,
                .output_lists = &out_row,
                .device_complete_events = &done};
            if (api->PJRT_LoadedExecutable_Execute(&x)) return 1;
            must(tn_host_event_wait(c, done));
            tn_host_buffer_destroy(c, b);
            b = out;
        }
        t = (now() - t) / RUNS / 4; /* Execute, Await, Event_Destroy, Buffer_Destroy */
        if (t < run) run = t;
    }
    printf("getter %.0f ns, call of a run %.0f ns\n", get, run);
    tn_host_buffer_destroy(c, b);
    tn_host_executable_free(e);
    tn_host_client_destroy(c);
    tn_plugin_close(p);
    free(code);
    return 0;
}
