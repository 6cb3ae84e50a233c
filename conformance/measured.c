/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the plugin is. Nothing here passes or fails by a number. */
#include "conformance/check.h"

static void dispatch(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "add", 1);
    PJRT_Buffer *in[] = {floats(c, c->device, 1, 2, 3, 4), floats(c, c->device, 5, 6, 7, 8)}, *out;
    double call = 1e9, whole = 1e9;
    for (int round = 0; round < 20; round++) {
        double t0 = seconds(), t1, t2;
        enum { N = 50 };
        PJRT_Buffer *outs[N];
        for (int i = 0; i < N; i++)
            check_ok(c, __FILE__, __LINE__, execute(c, e, in, 2, &outs[i], NULL));
        t1 = (seconds() - t0) / N;
        for (int i = 0; i < N; i++) {
            check_ok(c, __FILE__, __LINE__, await_buffer(c, outs[i]));
            destroy_buffer(c, outs[i]);
        }
        t0 = seconds();
        for (int i = 0; i < N; i++) {
            check_ok(c, __FILE__, __LINE__, execute(c, e, in, 2, &out, NULL));
            check_ok(c, __FILE__, __LINE__, await_buffer(c, out));
            destroy_buffer(c, out);
        }
        t2 = (seconds() - t0) / N;
        if (t1 < call) call = t1;
        if (t2 < whole) whole = t2;
    }
    measured("Execute of f32[4] add: %.2f us for the call, %.2f us with its wait", call * 1e6,
             whole * 1e6);
}

static void bandwidth(context *c)
{
    int64_t n = 4 << 20;
    float *data = calloc((size_t)n, sizeof *data);
    double in = 1e9, out = 1e9;
    for (int round = 0; round < 5; round++) {
        double t = seconds();
        PJRT_Buffer *b = array(c, data, PJRT_Buffer_Type_F32, &n, 1);
        check_ok(c, __FILE__, __LINE__, await_buffer(c, b));
        t = seconds() - t;
        if (t < in) in = t;
        t = seconds();
        ARGS(Buffer_ToHostBuffer, to, .src = b, .dst = data, .dst_size = (size_t)n * 4);
        OK(Buffer_ToHostBuffer, &to);
        check_ok(c, __FILE__, __LINE__, await(c, to.event));
        t = seconds() - t;
        if (t < out) out = t;
        destroy_buffer(c, b);
    }
    double bytes = (double)n * 4 / 1e9;
    measured("16 MB: %.1f GB/s to the device, %.1f GB/s back", bytes / in, bytes / out);
    free(data);
}

static void compile_time(context *c)
{
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        double t = seconds();
        PJRT_LoadedExecutable *e = load(c, "two_outputs", 1);
        t = seconds() - t;
        if (t < best) best = t;
        unload(c, e);
    }
    measured("two ops compile in %.2f ms", best * 1e3);
}

const check_row measured_checks[] = {{900, "the cost of a run", dispatch},
                                     {901, "transfers", bandwidth},
                                     {902, "the cost of a compile", compile_time},
                                     {0}};
