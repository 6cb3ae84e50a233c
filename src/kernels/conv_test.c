/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of random shapes, orders of dimensions and types against the definition in conv.h.
 * Values are small integers, so every sum is exact and every way to compute it must give it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/isa_test.h"
#include "kernels/conv.h"
#include "kernels/conv_amx.h"
#include "kernels/half.h"

static uint64_t seed = 1;
static int64_t random_below(int64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

static tn_thread_pool *pool;

/* --- values: complex numbers with small whole parts --- */

typedef struct {
    int64_t re, im;
} value;

static void put(tn_element_type t, void *x, value v)
{
    switch ((int)t) {
    case TN_F32: *(float *)x = (float)v.re; return;
    case TN_F64: *(double *)x = (double)v.re; return;
    case TN_I32:
    case TN_U32: *(uint32_t *)x = (uint32_t)v.re; return;
    case TN_I64:
    case TN_U64: *(uint64_t *)x = (uint64_t)v.re; return;
    case TN_C64: memcpy(x, (float[]){(float)v.re, (float)v.im}, 8); return;
    case TN_C128: memcpy(x, (double[]){(double)v.re, (double)v.im}, 16); return;
    }
    fail_msg("type %d", t);
}

/* --- one problem --- */

typedef struct {
    tn_conv c;
    value *in, *kernel; /* values at the elements' offsets */
    char *in_data, *kernel_data, *out_data, *expected;
    size_t in_count, kernel_count, out_count;
} problem;

/* Orders of dimensions in memory. */
typedef enum { FIRST, RANDOM, LAST } layout; /* features before positions, anyhow, after them */

/* Strides of dense dimensions: group, two others and positions; `moved` of the others stays before
 * positions. */
static size_t make_strides(int n, const int64_t *sizes, int64_t *const *strides, layout how,
                           int moved)
{
    int order[24];
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0 && how == RANDOM; i--) {
        int j = (int)random_below(i + 1), x = order[i];
        order[i] = order[j], order[j] = x;
    }
    if (how == LAST) {
        int at = 0;
        if (moved >= 0) order[at++] = moved;
        for (int i = 3; i < n; i++) order[at++] = i;
        if (moved < 0)
            order[at++] = 1; /* a kernel: positions, input features, groups, output features */
        order[at++] = 0;
        order[at++] = 2;
    }
    int64_t step = 1;
    for (int i = n - 1; i >= 0; i--) {
        *strides[order[i]] = step;
        step *= sizes[order[i]];
    }
    return (size_t)step;
}

static value *random_values(tn_element_type t, size_t n, char **data)
{
    size_t size = tn_element_type_bytes(t);
    value *v = malloc(n * sizeof *v + 1);
    *data = malloc(n * size + 1);
    for (size_t i = 0; i < n; i++) {
        v[i] = (value){random_below(9) - 4, tn_is_complex(t) ? random_below(9) - 4 : 0};
        put(t, *data + i * size, v[i]);
    }
    return v;
}

static void fill_expected(problem *p)
{
    const tn_conv *c = &p->c;
    size_t size = tn_element_type_bytes(c->type);
    int64_t outputs = c->groups * c->batch * c->out_features, taps = c->in_features;
    for (int d = 0; d < c->rank; d++)
        outputs *= c->axes[d].out_size, taps *= c->axes[d].kernel_size;
    for (int64_t o = 0; o < outputs; o++) {
        int64_t rest = o, at[TN_CONV_MAX_SPATIAL], out = 0;
        for (int d = c->rank - 1; d >= 0; d--) {
            at[d] = rest % c->axes[d].out_size, rest /= c->axes[d].out_size;
            out += at[d] * c->axes[d].out_stride;
        }
        int64_t f = rest % c->out_features, n = rest / c->out_features % c->batch,
                g = rest / c->out_features / c->batch;
        out += f * c->out_feature + n * c->out_batch + g * c->out_group;
        value sum = {0, 0};
        for (int64_t k = 0; k < taps; k++) {
            int64_t left = k, x = g * c->in_group + n * c->in_batch,
                    y = g * c->kernel_group + f * c->kernel_out_feature;
            bool inside = true;
            for (int d = 0; d < c->rank; d++) {
                const tn_conv_axis *a = &c->axes[d];
                int64_t tap = left % a->kernel_size,
                        place = at[d] * a->stride + tap * a->kernel_dilation - a->pad_low;
                left /= a->kernel_size;
                inside &= place >= 0 && place % a->in_dilation == 0 &&
                          place / a->in_dilation < a->in_size;
                x += place / a->in_dilation * a->in_stride;
                y += (a->reversed ? a->kernel_size - 1 - tap : tap) * a->kernel_stride;
            }
            if (!inside) continue;
            value v = p->in[x + left * c->in_feature],
                  w = p->kernel[y + left * c->kernel_in_feature];
            sum.re += v.re * w.re - v.im * w.im;
            sum.im += v.re * w.im + v.im * w.re;
        }
        put(c->type, p->expected + (size_t)out * size, sum);
    }
}

static int64_t dilated(int64_t size, int64_t dilation)
{
    return size ? (size - 1) * dilation + 1 : 0;
}

static void make_problem(problem *p, tn_conv c, layout how)
{
    int64_t sizes[24] = {c.groups, c.batch, c.in_features}, *strides[24];
    p->c = c;
    strides[0] = &p->c.in_group, strides[1] = &p->c.in_batch, strides[2] = &p->c.in_feature;
    for (int d = 0; d < c.rank; d++)
        sizes[3 + d] = c.axes[d].in_size, strides[3 + d] = &p->c.axes[d].in_stride;
    p->in_count = make_strides(3 + c.rank, sizes, strides, how, 1);
    sizes[1] = c.in_features, sizes[2] = c.out_features;
    strides[0] = &p->c.kernel_group, strides[1] = &p->c.kernel_in_feature,
    strides[2] = &p->c.kernel_out_feature;
    for (int d = 0; d < c.rank; d++)
        sizes[3 + d] = c.axes[d].kernel_size, strides[3 + d] = &p->c.axes[d].kernel_stride;
    p->kernel_count = make_strides(3 + c.rank, sizes, strides, how, -1);
    sizes[1] = c.batch;
    strides[0] = &p->c.out_group, strides[1] = &p->c.out_batch, strides[2] = &p->c.out_feature;
    for (int d = 0; d < c.rank; d++)
        sizes[3 + d] = c.axes[d].out_size, strides[3 + d] = &p->c.axes[d].out_stride;
    p->out_count = make_strides(3 + c.rank, sizes, strides, how, 1);
    p->in = random_values(c.type, p->in_count, &p->in_data);
    p->kernel = random_values(c.type, p->kernel_count, &p->kernel_data);
    size_t bytes = p->out_count * tn_element_type_bytes(c.type);
    p->expected = malloc(bytes + 1);
    fill_expected(p);
}

static void check_run(const problem *p, tn_thread_pool *on, bool with_memory)
{
    size_t bytes = p->out_count * tn_element_type_bytes(p->c.type),
           size = tn_conv_workspace(&p->c, on);
    char *out = malloc(bytes + 1);
    memset(out, 0x7b, bytes + 1);
    void *memory = with_memory ? aligned_alloc(64, (size + 64) / 64 * 64) : NULL;
    assert_true(tn_conv_fits(&p->c));
    tn_conv_run(&p->c, p->in_data, p->kernel_data, out, on, memory);
    size_t step = p->c.type == TN_F64 || p->c.type == TN_C128 ? 8 : 4;
    for (size_t i = 0; i < bytes; i += step) {
        bool same = !memcmp(out + i, p->expected + i, step);
        if (!same && p->c.type >= TN_F16) { /* -0 is 0 */
            double x = step == 8 ? *(double *)(out + i) : *(float *)(out + i),
                   y = step == 8 ? *(double *)(p->expected + i) : *(float *)(p->expected + i);
            same = x == y;
        }
        if (!same) fail_msg("element at byte %zu of %zu differs", i, bytes);
    }
    assert_int_equal(out[bytes], 0x7b);
    free(memory);
    free(out);
}

static void check_problem(tn_conv c, layout how)
{
    problem p;
    make_problem(&p, c, how);
    check_run(&p, NULL, true);
    check_run(&p, pool, true);
    if (p.out_count < 500) check_run(&p, pool, false);
    free(p.in), free(p.kernel), free(p.in_data), free(p.kernel_data), free(p.expected);
}

/* The output size that padding `high` gives, or 0. */
static int64_t output_size(const tn_conv_axis *a, int64_t high)
{
    int64_t room = dilated(a->in_size, a->in_dilation) + a->pad_low + high,
            window = dilated(a->kernel_size, a->kernel_dilation);
    return room < window || !a->kernel_size ? 0 : (room - window) / a->stride + 1;
}

/* --- tests --- */

static const tn_element_type types[] = {TN_F32, TN_F64, TN_I32, TN_U32,
                                        TN_I64, TN_U64, TN_C64, TN_C128};

static void any_shape_order_and_type(void **state)
{
    for (int round = 0; round < 1000; round++) {
        tn_conv c = {.type = types[random_below(8)],
                     .groups = 1 + random_below(3) * random_below(2),
                     .batch = 1 + random_below(3),
                     .in_features = 1 + random_below(round % 3 ? 3 : 20),
                     .out_features = 1 + random_below(round % 5 ? 5 : 70),
                     .rank = (int)random_below(4)};
        for (int d = 0; d < c.rank; d++) {
            tn_conv_axis *a = &c.axes[d];
            *a = (tn_conv_axis){.in_size = 1 + random_below(c.rank == 1 ? 40 : 9),
                                .kernel_size = 1 + random_below(4),
                                .stride = 1 + random_below(3),
                                .pad_low = random_below(6) - 2,
                                .in_dilation = random_below(3) ? 1 : 1 + random_below(4),
                                .kernel_dilation = random_below(3) ? 1 : 1 + random_below(3),
                                .reversed = random_below(4) == 0};
            a->out_size = output_size(a, random_below(6) - 2);
        }
        check_problem(c, (layout)random_below(3));
    }
}

static tn_conv_axis axis(int64_t in, int64_t kernel, int64_t stride, int64_t pad)
{
    tn_conv_axis a = {.in_size = in,
                      .kernel_size = kernel,
                      .stride = stride,
                      .pad_low = pad,
                      .in_dilation = 1,
                      .kernel_dilation = 1};
    a.out_size = output_size(&a, pad);
    return a;
}

/* Sizes of real networks, small: each prefers another way. */
static void shapes_of_networks(void **state)
{
    for (int t = 0; t < 8; t += 3) {
        tn_conv c = {.type = types[t],
                     .groups = 1,
                     .batch = 2,
                     .in_features = 24,
                     .out_features = 40,
                     .rank = 2};
        c.axes[0] = c.axes[1] = axis(14, 3, 1, 1);
        check_problem(c, LAST);
        check_problem(c, FIRST);
        c.axes[0] = c.axes[1] = axis(15, 3, 2, 1);
        check_problem(c, LAST);
        c.axes[0] = c.axes[1] = axis(9, 1, 1, 0);
        check_problem(c, LAST);
        c.in_features = 3; /* a first layer */
        c.axes[0] = c.axes[1] = axis(30, 7, 2, 3);
        check_problem(c, LAST);
        c.in_features = 2, c.batch = 20, c.out_features = 33; /* the gradient of a kernel */
        c.axes[0] = c.axes[1] = axis(16, 14, 1, 0);
        check_problem(c, RANDOM);
        c.in_features = 2, c.batch = 1; /* tall windows */
        c.axes[0] = axis(40, 37, 1, 0), c.axes[1] = axis(14, 2, 1, 1);
        check_problem(c, LAST);
        c.in_features = 10, c.batch = 1,
        c.out_features = 17; /* the gradient of an input, stride 2 */
        c.axes[0] = c.axes[1] = axis(9, 3, 1, 1);
        c.axes[0].in_dilation = c.axes[1].in_dilation = 2;
        c.axes[0].out_size = c.axes[1].out_size = 18;
        c.axes[0].reversed = c.axes[1].reversed = true;
        check_problem(c, LAST);
    }
}

static void depthwise_and_grouped(void **state)
{
    for (int t = 0; t < 8; t++)
        for (int64_t groups = 1; groups < 200; groups = groups * 2 + (groups < 100)) {
            tn_conv c = {.type = types[t],
                         .groups = groups,
                         .batch = 2,
                         .in_features = 1,
                         .out_features = 1,
                         .rank = 2};
            c.axes[0] = c.axes[1] = axis(8, 3, 1 + t % 2, 1);
            check_problem(c, LAST);
            check_problem(c, RANDOM);
            c.in_features = 3, c.out_features = 2;
            check_problem(c, RANDOM);
            c.out_features = 1 + random_below(6), c.batch = 1 + random_below(4);
            c.axes[0].reversed = random_below(2), c.axes[1].kernel_dilation = 1 + random_below(2);
            c.axes[1].out_size = output_size(&c.axes[1], 1);
            check_problem(c, random_below(2) ? LAST : FIRST);
        }
}

/* Windows of every kind on channels that fill vectors, tiles and parts of them. */
static void depthwise_windows(void **state)
{
    static const int64_t channels[] = {16, 17, 31, 64, 65, 100, 130};
    for (int round = 0; round < 100; round++) {
        tn_conv c = {.type = types[random_below(6)],
                     .groups = channels[random_below(7)],
                     .batch = 1 + random_below(2),
                     .in_features = 1,
                     .out_features = 1,
                     .rank = 1 + (round % 4 > 0)};
        for (int d = 0; d < c.rank; d++) {
            tn_conv_axis *a = &c.axes[d];
            *a = (tn_conv_axis){.in_size = 1 + random_below(c.rank == 1 ? 90 : 18),
                                .kernel_size = 1 + random_below(7),
                                .stride = 1 + random_below(2),
                                .pad_low = random_below(8) - 1,
                                .in_dilation = random_below(6) ? 1 : 2,
                                .kernel_dilation = 1 + random_below(3),
                                .reversed = random_below(4) == 0};
            a->out_size = output_size(a, random_below(8) - 1);
        }
        check_problem(c, random_below(4) ? LAST : RANDOM);
    }
}

/* Sums of more than one block, too. */
static void depthwise_bits_are_the_same_in_every_channel(void **state)
{
    enum { SIZE = 26, CHANNELS = 37 };
    for (int64_t taps = 3; taps < SIZE; taps += 20) {
        problem p;
        tn_conv c = {.type = TN_F32, .groups = CHANNELS, .batch = 1, .in_features = 1};
        c.out_features = 1, c.rank = 2;
        c.axes[0] = c.axes[1] = axis(SIZE, taps, 1, taps / 2);
        check_problem(c, LAST);
        make_problem(&p, c, LAST);
        float *in = (float *)p.in_data, *kernel = (float *)p.kernel_data;
        for (size_t i = 0; i < p.in_count; i++)
            in[i] = i % CHANNELS ? in[i - 1] : (float)random_below(1 << 20) * 1e-3f;
        for (size_t i = 0; i < p.kernel_count; i++)
            kernel[i] = i % CHANNELS ? kernel[i - 1] : (float)random_below(1 << 20) - 5e5f;
        void *memory = aligned_alloc(64, (tn_conv_workspace(&p.c, pool) + 64) / 64 * 64);
        float *one = malloc(p.out_count * 4), *all = malloc(p.out_count * 4);
        tn_conv_run(&p.c, in, kernel, one, NULL, memory);
        tn_conv_run(&p.c, in, kernel, all, pool, memory);
        assert_memory_equal(one, all, p.out_count * 4);
        for (size_t i = 0; i < p.out_count; i++)
            if (i % CHANNELS) assert_memory_equal(&one[i], &one[i - 1], 4);
        free(one), free(all), free(memory);
        free(p.in), free(p.kernel), free(p.in_data), free(p.kernel_data), free(p.expected);
    }
}

enum { BIT_SHAPES = 6 };
static uint64_t *bits_seen; /* of each shape, shared by the children; 0: not yet */

/* Sums of floats show which products make a block. */
static void dense_bits_are_the_same_with_every_isa(void **state)
{
    static const int64_t shapes[BIT_SHAPES][4] = {/* size, features, of the result, taps */
                                                  {7, 64, 96, 3},  {5, 64, 96, 5},
                                                  {13, 48, 80, 3}, {14, 160, 40, 3},
                                                  {30, 3, 64, 7},  {9, 128, 33, 3}};
#ifdef __x86_64__
    if (tn_cpu_isa() == TN_ISA_BASELINE) return; /* rounds products */
#endif
    for (int i = 0; i < BIT_SHAPES; i++) {
        problem p;
        tn_conv c = {.type = TN_F32, .groups = 1, .batch = 2, .rank = 2};
        c.in_features = shapes[i][1], c.out_features = shapes[i][2];
        c.axes[0] = c.axes[1] = axis(shapes[i][0], shapes[i][3], 1, shapes[i][3] / 2);
        seed = 7;
        make_problem(&p, c, LAST);
        float *in = (float *)p.in_data, *kernel = (float *)p.kernel_data;
        for (size_t k = 0; k < p.in_count; k++) in[k] = (float)random_below(1 << 20) * 1e-3f;
        for (size_t k = 0; k < p.kernel_count; k++) kernel[k] = (float)random_below(1 << 20) - 5e5f;
        void *memory = aligned_alloc(64, (tn_conv_workspace(&p.c, pool) + 64) / 64 * 64);
        uint32_t *out = malloc(p.out_count * 4);
        tn_conv_run(&p.c, in, kernel, out, pool, memory);
        uint64_t hash = 1;
        for (size_t k = 0; k < p.out_count; k++) hash = (hash ^ out[k]) * 1099511628211u;
        if (!bits_seen[i]) bits_seen[i] = hash;
        assert_int_equal(hash, bits_seen[i]);
        free(out), free(memory);
        free(p.in), free(p.kernel), free(p.in_data), free(p.kernel_data), free(p.expected);
    }
}

/* Matrix products. */
static void windows_of_one_element(void **state)
{
    static const layout layouts[] = {LAST, FIRST, RANDOM};
    for (int t = 0; t < 8; t++)
        for (int l = 0; l < 3; l++) {
            tn_conv c = {.type = types[t],
                         .groups = 1 + random_below(2) * 2,
                         .batch = 1 + random_below(3),
                         .in_features = 1 + random_below(30),
                         .out_features = 1 + random_below(30),
                         .rank = 2};
            for (int d = 0; d < 2; d++) {
                c.axes[d] = axis(1 + random_below(12), 1, 1 + random_below(3), 0);
                c.axes[d].reversed = random_below(2);
            }
            check_problem(c, layouts[l]);
        }
}

/* A line of the result has one feature: tiles are turned, and added to what is there. */
static void features_before_positions_and_long_sums(void **state)
{
    for (int t = 0; t < 8; t++) {
        tn_conv c = {.type = types[t], .groups = 1, .batch = 2, .rank = 2};
        c.in_features = 1, c.out_features = 9 + 7 * (t % 2);
        c.axes[0] = axis(30, 25, 1, 1), c.axes[1] = axis(70, 20, 4, 3);
        check_problem(c, FIRST);
    }
}

/* Positions next to each other in memory, and few features. */
static void lines_of_few_features(void **state)
{
    for (int t = 0; t < 8; t++)
        for (int64_t width = 8; width < 400; width = width * 2 + 5) {
            tn_conv c = {.type = types[t],
                         .groups = 1 + random_below(2) * 2,
                         .batch = 1 + random_below(2),
                         .in_features = 1 + random_below(3),
                         .out_features = 1 + random_below(5),
                         .rank = 2};
            int64_t taps = 1 + random_below(6);
            c.axes[0] = axis(40, 3, 1 + random_below(2), random_below(3));
            c.axes[1] = axis(width, taps, 1, random_below(taps + 2));
            c.axes[1].kernel_dilation = 1 + random_below(2);
            c.axes[1].reversed = random_below(2);
            c.axes[1].out_size = output_size(&c.axes[1], random_below(4) - 1);
            check_problem(c, FIRST);
            c.groups = c.in_features = c.out_features = 1;
            check_problem(c, LAST);
        }
}

/* What lies outside of the input is left out, or else is 0 times infinity, but never in the middle.
 */
static void an_infinite_kernel_meets_padding_at_the_ends_only(void **state)
{
    enum { N = 200 };
    static float in[N], out[N];
    float kernel[3] = {INFINITY, 1, 1};
    for (int i = 0; i < N; i++) in[i] = 1;
    tn_conv c = {
        .type = TN_F32, .groups = 1, .batch = 1, .in_features = 1, .out_features = 1, .rank = 1};
    c.axes[0] = axis(N, 3, 1, 1);
    c.axes[0].in_stride = c.axes[0].kernel_stride = c.axes[0].out_stride = 1;
    void *memory = aligned_alloc(64, tn_conv_workspace(&c, pool) / 64 * 64 + 64);
    tn_conv_run(&c, in, kernel, out, pool, memory);
    free(memory);
    assert_true(out[0] == 2 || isnan(out[0]));
    for (int i = 1; i < N; i++) assert_true(isinf(out[i]));
}

/* bf16 and bytes in matrix registers: sums of small whole numbers are exact. */
static bool check_amx(tn_conv c, bool bytes, bool with_pool)
{
    problem p;
    c.type = bytes ? TN_I32 : TN_F32;
    make_problem(&p, c, LAST);
    tn_element_type narrow = bytes ? TN_I8 : TN_BF16;
    tn_amx_kind kind = tn_conv_amx_kind(&p.c, narrow, narrow, c.type);
    if (kind != TN_AMX_NONE) {
        size_t size = bytes ? 1 : 2, out_bytes = p.out_count * 4;
        char *in = malloc(p.in_count * size), *kernel = malloc(p.kernel_count * size);
        char *out = malloc(out_bytes);
        for (int side = 0; side < 2; side++)
            for (size_t i = 0; i < (side ? p.kernel_count : p.in_count); i++) {
                int64_t v = (side ? p.kernel : p.in)[i].re;
                char *to = (side ? kernel : in) + i * size;
                if (bytes) *(int8_t *)to = (int8_t)v;
                else *(uint16_t *)to = tn_bf16_of_f32((float)v);
            }
        tn_thread_pool *on = with_pool ? pool : NULL;
        void *memory = aligned_alloc(64, tn_conv_amx_workspace(&p.c, kind, on) / 64 * 64 + 64);
        assert_true(tn_conv_amx_run(&p.c, kind, c.type, in, kernel, out, on, memory));
        for (size_t i = 0; i < p.out_count; i++) {
            if (bytes) assert_int_equal(((int32_t *)out)[i], ((int32_t *)p.expected)[i]);
            else assert_true(((float *)out)[i] == ((float *)p.expected)[i]);
        }
        if (!bytes) { /* what might be flushed is refused */
            ((uint16_t *)kernel)[p.kernel_count / 2] = 1;
            assert_false(tn_conv_amx_run(&p.c, kind, c.type, in, kernel, out, on, memory));
        }
        free(in), free(kernel), free(out), free(memory);
    }
    free(p.in), free(p.kernel), free(p.in_data), free(p.kernel_data), free(p.expected);
    return kind != TN_AMX_NONE;
}

static void narrow_types_in_matrix_registers(void **state)
{
    if (!tn_amx_usable()) {
        fprintf(stderr, "no matrix registers here (AMX): convolutions in them are not tested\n");
        skip();
    }
    int done = 0;
    for (int round = 0; round < 100; round++) {
        tn_conv c = {.groups = 1,
                     .batch = 1 + random_below(3),
                     .in_features = 16 + random_below(60),
                     .out_features = 16 + random_below(40),
                     .rank = 1 + (int)random_below(3)};
        for (int d = 0; d < c.rank; d++) {
            tn_conv_axis *a = &c.axes[d];
            *a = axis(c.rank == 1 ? 20 + random_below(200) : 4 + random_below(9),
                      1 + random_below(3), 1 + random_below(3), random_below(3));
            a->kernel_dilation = 1 + random_below(2);
            a->reversed = random_below(3) == 0;
            a->out_size = output_size(a, random_below(3));
        }
        done += check_amx(c, round % 2, round % 3);
    }
    assert_true(done > 50);
}

/* More terms than fit a panel, so the kernel is done in blocks. */
static void a_kernel_larger_than_the_cache(void **state)
{
    tn_conv c = {
        .type = TN_F32, .groups = 1, .batch = 3, .in_features = 40, .out_features = 4, .rank = 2};
    c.axes[0] = c.axes[1] = axis(24, 22, 1, 0);
    check_problem(c, LAST);
    c.axes[0].pad_low = 1, c.axes[0].out_size = 4;
    check_problem(c, RANDOM);
}

static void empty_sizes(void **state)
{
    tn_conv c = {
        .type = TN_F32, .groups = 1, .batch = 1, .in_features = 0, .out_features = 2, .rank = 1};
    c.axes[0] = axis(4, 2, 1, 0);
    check_problem(c, LAST);
    c.in_features = 2;
    c.axes[0] = axis(0, 2, 1, 3);
    assert_int_equal(c.axes[0].out_size, 5);
    check_problem(c, LAST);
    c.axes[0] = axis(4, 0, 1, 0);
    c.axes[0].out_size = 3;
    check_problem(c, LAST);
    c.batch = 0;
    check_problem(c, LAST);
    assert_int_equal(tn_conv_workspace(&c, pool), 0);
}

static void absurd_sizes_do_not_fit(void **state)
{
    tn_conv c = {
        .type = TN_F32, .groups = 1, .batch = 1, .in_features = 1, .out_features = 1, .rank = 1};
    c.axes[0] = axis(4, 2, 1, 0);
    assert_true(tn_conv_fits(&c));
    c.axes[0].pad_low = INT64_MIN;
    assert_false(tn_conv_fits(&c));
    c.axes[0].pad_low = 0, c.axes[0].kernel_dilation = INT64_MAX;
    assert_false(tn_conv_fits(&c));
    assert_false(tn_conv_supports(TN_BF16));
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_shape_order_and_type),
        cmocka_unit_test(shapes_of_networks),
        cmocka_unit_test(depthwise_and_grouped),
        cmocka_unit_test(depthwise_windows),
        cmocka_unit_test(depthwise_bits_are_the_same_in_every_channel),
        cmocka_unit_test(dense_bits_are_the_same_with_every_isa),
        cmocka_unit_test(lines_of_few_features),
        cmocka_unit_test(windows_of_one_element),
        cmocka_unit_test(features_before_positions_and_long_sums),
        cmocka_unit_test(an_infinite_kernel_meets_padding_at_the_ends_only),
        cmocka_unit_test(narrow_types_in_matrix_registers),
        cmocka_unit_test(a_kernel_larger_than_the_cache),
        cmocka_unit_test(empty_sizes),
        cmocka_unit_test(absurd_sizes_do_not_fit),
    };
    tn_status *s = tn_thread_pool_create(3, &pool);
    if (s) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tn_thread_pool_destroy(pool);
    return failed;
}

int main(void)
{
    bits_seen = mmap(NULL, sizeof(uint64_t) * BIT_SHAPES, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (bits_seen == MAP_FAILED) return perror("mmap"), 1;
    return run_for_each_isa(run);
}
