/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_window, select_and_scatter. */
#include "ops/op_test.h"

static void set_windows(tn_op *op, uint32_t rank, const int64_t *size, const int64_t *stride,
                        const int64_t *base, const int64_t *dilation, const int64_t *padding)
{
    tn_op_set_attr(module, op, TN_ATTR_window_dimensions, tn_attr_ints(arena, size, rank));
    tn_op_set_attr(module, op, TN_ATTR_window_strides, tn_attr_ints(arena, stride, rank));
    tn_attr *pads = (tn_attr *)tn_attr_ints(arena, padding, 2 * rank);
    pads->ints.rows = rank;
    tn_op_set_attr(module, op, TN_ATTR_padding, pads);
    if (op->kind == TN_OP_select_and_scatter) return;
    tn_op_set_attr(module, op, TN_ATTR_base_dilations, tn_attr_ints(arena, base, rank));
    tn_op_set_attr(module, op, TN_ATTR_window_dilations, tn_attr_ints(arena, dilation, rank));
}

static const int64_t ones[] = {1, 1, 1, 1}, zeros[8];

TEST(reduces_the_example)
{
    tn_op *op = make_op_with_regions(TN_OP_reduce_window, "3x2xi64, i64", "2x2xi64", 1);
    make_binary_region(op, 0, TN_OP_add, "i64");
    set_windows(op, 2, (int64_t[]){2, 1}, (int64_t[]){4, 1}, (int64_t[]){2, 1}, (int64_t[]){3, 1},
                (int64_t[]){2, 1, 0, 0});
    int64_t x[] = {1, 2, 3, 4, 5, 6}, init = 0, out[4];
    RUN(op, IN(x, &init), OUT(out));
    EXPECT(int64_t, out, 0, 0, 3, 4);
    set_windows(op, 2, (int64_t[]){2, 0}, ones, ones, ones, zeros);
    EXPECT_INVALID(op, "window_dimensions[1] should be at least 1 and is 0");
    set_windows(op, 2, (int64_t[]){2, 1}, ones, ones, ones, (int64_t[]){-2, -2, 0, 0});
    EXPECT_INVALID(op, "dimension 0 of size 3 can't be padded by -2 and -2");
}

typedef struct {
    int64_t n[3], size[3], stride[3], base[3], dilation[3], padding[6], out[3];
    uint32_t rank;
} geometry;

static bool random_geometry(geometry *g, bool wide)
{
    g->rank = 1 + (uint32_t)random_below(3);
    for (uint32_t d = 0; d < g->rank; d++) {
        g->n[d] = 1 + random_below(g->rank == 1 ? 300 : 12);
        g->size[d] = 1 + random_below(wide ? 20 : 4);
        g->stride[d] = 1 + random_below(3);
        g->base[d] = random_below(4) ? 1 : 1 + random_below(3);
        g->dilation[d] = wide || random_below(3) ? 1 : 1 + random_below(3);
        g->padding[2 * d] = random_below(9) - 2;
        g->padding[2 * d + 1] = random_below(9) - 2;
        if (d && d == g->rank - 1 && !random_below(3)) { /* channels */
            g->n[d] = 1 + random_below(100);
            g->size[d] = g->stride[d] = g->base[d] = 1;
            g->padding[2 * d] = g->padding[2 * d + 1] = 0;
        }
        int64_t padded = (g->n[d] - 1) * g->base[d] + 1 + g->padding[2 * d] + g->padding[2 * d + 1];
        int64_t span = (g->size[d] - 1) * g->dilation[d] + 1;
        if (padded < 0 || span > padded) return false;
        g->out[d] = (padded - span) / g->stride[d] + 1;
    }
    return true;
}

/* The element of the padded operand, or init. */
static int32_t padded_at(const geometry *g, const int32_t *x, const int64_t *at, int32_t init)
{
    int64_t offset = 0;
    for (uint32_t d = 0; d < g->rank; d++) {
        int64_t p = at[d] - g->padding[2 * d];
        if (p < 0 || p % g->base[d] || p / g->base[d] >= g->n[d]) return init;
        offset = offset * g->n[d] + p / g->base[d];
    }
    return x[offset];
}

static int32_t combined(int kind, int32_t a, int32_t b)
{
    return kind == 0   ? (int32_t)((uint32_t)a + (uint32_t)b)
           : kind == 1 ? (a > b ? a : b)
                       : (int32_t)(3u * (uint32_t)a + (uint32_t)b);
}

static void check_geometry(const geometry *g, int kind)
{
    static int32_t x[65536], out[1 << 19];
    int64_t n = 1, m = 1, window = 1;
    char types[128] = "", result[128] = "";
    for (uint32_t d = 0; d < g->rank; d++) {
        n *= g->n[d];
        m *= g->out[d];
        window *= g->size[d];
        snprintf(types + strlen(types), 32, "%dx", (int)g->n[d]);
        snprintf(result + strlen(result), 32, "%dx", (int)g->out[d]);
    }
    strcat(types, "i32, i32");
    strcat(result, "i32");
    for (int64_t i = 0; i < n; i++) x[i] = (int32_t)random_below(1000) - 500;
    int32_t init = kind == 1 ? -1000 : kind == 2 ? 5 : 0, three = 3;
    tn_op *op = make_op_with_regions(TN_OP_reduce_window, types, result, 1);
    if (kind < 2) {
        make_binary_region(op, 0, kind ? TN_OP_maximum : TN_OP_add, "i32");
    } else { /* 3 a + b: the order counts */
        tn_region *r = make_region(op, 0, "i32, i32");
        tn_value *v = append_constant(r, "i32", &three);
        v = append(r, TN_OP_multiply, "i32", &r->args[0], v, NULL);
        v = append(r, TN_OP_add, "i32", v, &r->args[1], NULL);
        append_return(r, 1, &v);
    }
    set_windows(op, g->rank, g->size, g->stride, g->base, g->dilation, g->padding);
    RUN(op, IN(x, &init), OUT(out));
    for (int64_t i = 0; i < m; i++) {
        int64_t o[3], at[3], rest = i;
        for (uint32_t d = g->rank; d--; rest /= g->out[d]) o[d] = rest % g->out[d];
        int32_t want = init;
        for (int64_t k = 0; k < window; k++) {
            rest = k;
            for (uint32_t d = g->rank; d--; rest /= g->size[d])
                at[d] = o[d] * g->stride[d] + rest % g->size[d] * g->dilation[d];
            want = combined(kind, want, padded_at(g, x, at, init));
        }
        assert_int_equal(out[i], want);
    }
}

TEST(random_windows_equal_a_walk)
{
    for (int round = 0, done = 0; done < 300; round++) {
        geometry g;
        if (!random_geometry(&g, round & 1)) continue;
        check_geometry(&g, done++ % 3);
    }
}

/* Running totals, each way, over the last dimension and another: one after the other in the latter,
 * in the order of kernels/running.h in the former. */
TEST(running_totals)
{
    enum { N = 500, M = 30 };
    static float x[N * M], out[N * M];
    for (int i = 0; i < N * M; i++) x[i] = (float)random_below(1 << 20) / 7;
    for (int way = 0; way < 4; way++) {
        bool last = way & 1, suffix = way & 2;
        int64_t n = last ? M : N, step = last ? 1 : M;
        tn_op *op = make_op_with_regions(TN_OP_reduce_window, "500x30xf32, f32", "500x30xf32", 1);
        make_binary_region(op, 0, TN_OP_add, "f32");
        int64_t padding[4] = {0};
        padding[2 * last + suffix] = n - 1;
        set_windows(op, 2, last ? (int64_t[]){1, n} : (int64_t[]){n, 1}, ones, ones, ones, padding);
        float init = 0;
        RUN(op, IN(x, &init), OUT(out));
        for (int i = 0; i < N * M && last; i++) {
            double sum = 0;
            for (int k = suffix ? i : i / M * M; k < (suffix ? i / M * M + M : i + 1); k++)
                sum += x[k];
            assert_true(fabs(out[i] - sum) <= sum * 1e-6);
        }
        for (int i = 0; i < N * M && !last; i++) {
            int64_t at = i / step % n;
            float want = x[i];
            if (!suffix && at > 0) want = out[i - step] + x[i];
            if (suffix && at < n - 1) want = x[i] + out[i + step];
            assert_true(out[i] == want);
        }
    }
}

/* Lines of less than a vector, over any dimension, each way; in the order of their elements. */
TEST(running_totals_of_short_lines)
{
    enum { MOST = 5000 };
    static float x[MOST], out[MOST];
    for (int i = 0; i < MOST; i++) x[i] = (float)random_below(1 << 20) / 7;
    for (int n = 3; n < 16; n++) {
        for (int way = 0; way < 4; way++) {
            bool last = way & 1, suffix = way & 2;
            int step = last ? 1 : 6;
            char type[32], types[48];
            snprintf(type, sizeof type, last ? "50x6x%dxf32" : "50x%dx6xf32", n);
            snprintf(types, sizeof types, "%s, f32", type);
            tn_op *op = make_op_with_regions(TN_OP_reduce_window, types, type, 1);
            make_binary_region(op, 0, TN_OP_add, "f32");
            int64_t padding[6] = {0}, one[] = {1, 1, 1}, size[] = {1, last ? 1 : n, last ? n : 1};
            padding[2 + 2 * last + suffix] = n - 1;
            set_windows(op, 3, size, one, one, one, padding);
            float init = 0;
            RUN(op, IN(x, &init), OUT(out));
            for (int i = 0; i < 50 * 6 * n; i++) {
                int at = i / step % n;
                float want = x[i];
                if (!suffix && at > 0) want = out[i - step] + x[i];
                if (suffix && at < n - 1) want = x[i] + out[i + step];
                assert_true(out[i] == want);
            }
        }
    }
}

TEST(pools_and_scans_are_quick)
{
    enum { N = 1 << 20 };
    float *x = malloc(N * 4), *out = malloc(N * 4), init = 0, low = -INFINITY;
    for (int i = 0; i < N; i++) x[i] = (float)random_below(1000);
    tn_op *op = make_op_with_regions(TN_OP_reduce_window, "1048576xf32, f32", "1048576xf32", 1);
    make_binary_region(op, 0, TN_OP_add, "f32");
    set_windows(op, 1, (int64_t[]){N}, ones, ones, ones, (int64_t[]){N - 1, 0});
    double t = seconds();
    RUN(op, IN(x, &init), OUT(out));
    print_message("cumsum of 1M: %.1f ms\n", (seconds() - t) * 1e3);
    op = make_op_with_regions(TN_OP_reduce_window, "8x128x16x64xf32, f32", "8x64x8x64xf32", 1);
    make_binary_region(op, 0, TN_OP_maximum, "f32");
    set_windows(op, 4, (int64_t[]){1, 2, 2, 1}, (int64_t[]){1, 2, 2, 1}, ones, ones, zeros);
    t = seconds();
    RUN(op, IN(x, &low), OUT(out));
    print_message("2 x 2 pool of 1M: %.1f ms\n", (seconds() - t) * 1e3);
    op = make_op_with_regions(TN_OP_reduce_window, "1024x1024xf32, f32", "1024x1024xf32", 1);
    make_binary_region(op, 0, TN_OP_maximum, "f32");
    set_windows(op, 2, (int64_t[]){65, 65}, ones, ones, ones, (int64_t[]){32, 32, 32, 32});
    t = seconds();
    RUN(op, IN(x, &low), OUT(out));
    print_message("65 x 65 maximum of 1M: %.1f ms\n", (seconds() - t) * 1e3);
    free(x);
    free(out);
}

/* --- select_and_scatter --- */

static void make_select(tn_op *op, const char *e, int direction)
{
    char two[64];
    snprintf(two, sizeof two, "%s, %s", e, e);
    tn_region *r = make_region(op, 0, two);
    tn_value *v = append_compare(r, direction, 0, &r->args[0], &r->args[1]);
    append_return(r, 1, &v);
}

TEST(selects_the_example)
{
    tn_op *op =
        make_op_with_regions(TN_OP_select_and_scatter, "4x2xi64, 2x2xi64, i64", "4x2xi64", 2);
    make_select(op, "i64", TN_comparison_direction_GE);
    make_binary_region(op, 1, TN_OP_add, "i64");
    set_windows(op, 2, (int64_t[]){3, 1}, (int64_t[]){2, 1}, NULL, NULL, (int64_t[]){0, 1, 0, 0});
    int64_t x[] = {1, 5, 2, 5, 3, 6, 4, 4}, source[] = {5, 6, 7, 8}, init = 0, out[8];
    RUN(op, IN(x, source, &init), OUT(out));
    EXPECT(int64_t, out, 0, 0, 0, 0, 5, 14, 7, 0);
    set_windows(op, 2, (int64_t[]){3, 1}, (int64_t[]){1, 1}, NULL, NULL, (int64_t[]){0, 1, 0, 0});
    EXPECT_INVALID(op, "dimension 0 of the source should be 3, the number of windows, and is 2");
}

TEST(random_selections_equal_a_walk)
{
    for (int done = 0; done < 100;) {
        geometry g;
        if (!random_geometry(&g, false)) continue;
        static int32_t x[65536], source[65536], out[65536], want[65536];
        int64_t n = 1, m = 1, window = 1;
        bool some = true;
        char types[192] = "", rest[128] = "", result[64] = "";
        for (uint32_t d = 0; d < g.rank; d++) {
            g.base[d] = g.dilation[d] = 1;
            int64_t padded = g.n[d] + g.padding[2 * d] + g.padding[2 * d + 1];
            g.out[d] = padded < g.size[d] ? -1 : (padded - g.size[d]) / g.stride[d] + 1;
            n *= g.n[d];
            m *= g.out[d];
            window *= g.size[d];
            some = some && g.out[d] > 0;
            snprintf(result + strlen(result), 32, "%dx", (int)g.n[d]);
            snprintf(rest + strlen(rest), 32, "%dx", (int)g.out[d]);
        }
        if (!some) continue;
        done++;
        strcat(result, "i32");
        snprintf(types, sizeof types, "%s, %si32, i32", result, rest);
        for (int64_t i = 0; i < n; i++) {
            x[i] = (int32_t)random_below(20);
            want[i] = 9;
        }
        for (int64_t i = 0; i < m; i++) source[i] = (int32_t)random_below(100);
        for (int64_t i = 0; i < m; i++) {
            int64_t best = -1;
            for (int64_t k = 0; k < window; k++) {
                int64_t a = i, b = k, at = 0, scale = 1;
                for (uint32_t d = g.rank; d--; a /= g.out[d], b /= g.size[d]) {
                    int64_t p = a % g.out[d] * g.stride[d] + b % g.size[d] - g.padding[2 * d];
                    if (p < 0 || p >= g.n[d]) at = -100000000;
                    at += p * scale;
                    scale *= g.n[d];
                }
                if (at >= 0 && (best < 0 || x[best] < x[at])) best = at;
            }
            if (best >= 0) want[best] += source[i];
        }
        tn_op *op = make_op_with_regions(TN_OP_select_and_scatter, types, result, 2);
        make_select(op, "i32", TN_comparison_direction_GE);
        make_binary_region(op, 1, TN_OP_add, "i32");
        set_windows(op, g.rank, g.size, g.stride, NULL, NULL, g.padding);
        int32_t init = 9;
        RUN(op, IN(x, source, &init), OUT(out));
        assert_memory_equal(out, want, (size_t)n * 4);
    }
}

/* Images one after the other, of which some are turned at once. */
TEST(selections_in_images_equal_a_walk)
{
    enum { H = 9, W = 11, OUT_H = 5, OUT_W = 6, MOST = 150 };
    static float x[MOST * H * W], source[MOST * OUT_H * OUT_W], out[MOST * H * W],
        want[MOST * H * W];
    static const int64_t size[] = {1, 3, 2}, stride[] = {1, 2, 2}, padding[] = {0, 0, 1, 1, 0, 1};
    static const int counts[] = {15, 16, 37, 64, MOST};
    for (int c = 0; c < 5; c++) {
        int64_t n = counts[c];
        char types[96], result[32];
        for (int64_t i = 0; i < n * H * W; i++) x[i] = (float)random_below(20), want[i] = 9;
        for (int64_t i = 0; i < n * OUT_H * OUT_W; i++) source[i] = (float)random_below(100);
        for (int64_t i = 0; i < n * OUT_H * OUT_W; i++) {
            int64_t image = i / (OUT_H * OUT_W), y0 = i / OUT_W % OUT_H * 2 - 1, best = -1;
            for (int64_t k = 0; k < 6; k++) {
                int64_t y = y0 + k / 2, z = i % OUT_W * 2 + k % 2, at = (image * H + y) * W + z;
                if (y >= 0 && y < H && z < W && (best < 0 || x[best] < x[at])) best = at;
            }
            want[best] += source[i];
        }
        snprintf(types, sizeof types, "%dx9x11xf32, %dx5x6xf32, f32", (int)n, (int)n);
        snprintf(result, sizeof result, "%dx9x11xf32", (int)n);
        tn_op *op = make_op_with_regions(TN_OP_select_and_scatter, types, result, 2);
        make_select(op, "f32", TN_comparison_direction_GE);
        make_binary_region(op, 1, TN_OP_add, "f32");
        set_windows(op, 3, size, stride, NULL, NULL, padding);
        float init = 9;
        RUN(op, IN(x, source, &init), OUT(out));
        assert_memory_equal(out, want, (size_t)n * H * W * 4);
    }
}

/* Channels in whole vectors and less, windows inside and over the edge, and what isn't ordered. */
#define KEPT(a, b, d)                                                                              \
    ((d) == TN_comparison_direction_GE   ? (a) >= (b)                                              \
     : (d) == TN_comparison_direction_GT ? (a) > (b)                                               \
     : (d) == TN_comparison_direction_LE ? (a) <= (b)                                              \
                                         : (a) < (b))
#define DEFINE_CHANNELS(T, e)                                                                      \
    static void select_channels_##e(int channels, int direction)                                   \
    {                                                                                              \
        enum { H = 7, W = 6, OUT_H = 4, OUT_W = 3, MOST = 40 };                                    \
        static T x[2 * H * W * MOST], source[2 * OUT_H * OUT_W * MOST], out[2 * H * W * MOST],     \
            want[2 * H * W * MOST];                                                                \
        static const int64_t size[] = {1, 3, 3, 1}, stride[] = {1, 2, 2, 1},                       \
                             padding[] = {0, 0, 1, 1, 0, 1, 0, 0};                                 \
        int64_t n = 2 * H * W * channels, m = 2 * OUT_H * OUT_W * channels;                        \
        for (int64_t i = 0; i < n; i++) {                                                          \
            x[i] = random_below(20) ? (T)random_below(9) : (T)NAN;                                 \
            want[i] = (T) - 0.0;                                                                   \
        }                                                                                          \
        for (int64_t i = 0; i < m; i++) source[i] = (T)random_below(100);                          \
        for (int64_t i = 0; i < m; i++) {                                                          \
            int64_t window = i / channels, best = -1;                                              \
            int64_t y0 = window / OUT_W % OUT_H * 2 - 1, z0 = window % OUT_W * 2;                  \
            for (int64_t k = 0; k < 9; k++) {                                                      \
                int64_t y = y0 + k / 3, z = z0 + k % 3, image = window / (OUT_H * OUT_W);          \
                if (y < 0 || y >= H || z >= W) continue;                                           \
                int64_t at = ((image * H + y) * W + z) * channels + i % channels;                  \
                if (best < 0 || !KEPT(x[best], x[at], direction)) best = at;                       \
            }                                                                                      \
            want[best] += source[i];                                                               \
        }                                                                                          \
        char types[96], result[32];                                                                \
        snprintf(result, sizeof result, "2x7x6x%dx" #e, channels);                                 \
        snprintf(types, sizeof types, "%s, 2x4x3x%dx" #e ", " #e, result, channels);               \
        tn_op *op = make_op_with_regions(TN_OP_select_and_scatter, types, result, 2);              \
        make_select(op, #e, direction);                                                            \
        make_binary_region(op, 1, TN_OP_add, #e);                                                  \
        set_windows(op, 4, size, stride, NULL, NULL, padding);                                     \
        T init = (T) - 0.0;                                                                        \
        RUN(op, IN(x, source, &init), OUT(out));                                                   \
        assert_memory_equal(out, want, (size_t)n * sizeof(T));                                     \
    }
DEFINE_CHANNELS(float, f32)
DEFINE_CHANNELS(double, f64)

TEST(selections_of_channels_equal_a_walk)
{
    static const int directions[] = {TN_comparison_direction_GE, TN_comparison_direction_GT,
                                     TN_comparison_direction_LE, TN_comparison_direction_LT};
    static const int channels[] = {8, 9, 16, 21, 32, 40};
    for (int d = 0; d < 4; d++) {
        for (int c = 0; c < 6; c++) {
            select_channels_f32(channels[c], directions[d]);
            select_channels_f64(channels[c], directions[d]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduces_the_example),
        cmocka_unit_test(random_windows_equal_a_walk),
        cmocka_unit_test(running_totals),
        cmocka_unit_test(running_totals_of_short_lines),
        cmocka_unit_test(pools_and_scans_are_quick),
        cmocka_unit_test(selects_the_example),
        cmocka_unit_test(random_selections_equal_a_walk),
        cmocka_unit_test(selections_in_images_equal_a_walk),
        cmocka_unit_test(selections_of_channels_equal_a_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
