/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluators of elementwise ops on literal cases of the specification and beyond. */
#include "ops/op_test.h"

#define INF  __builtin_inff()
#define QNAN __builtin_nanf("")

/* One op on arrays of one type; compares bits. */
#define UNARY(kind, e, T, r, R, n, IN_VALUES, OUT_VALUES)                                          \
    do {                                                                                           \
        _Alignas(64) T x[] = IN_VALUES;                                                            \
        _Alignas(64) R got[sizeof x / sizeof x[0]];                                                \
        tn_op *op = make_op(kind, #n "x" e, #n "x" r);                                             \
        RUN(op, IN(x), OUT(got));                                                                  \
        EXPECT(R, got, OUT_VALUES);                                                                \
    } while (0)
#define L(...) {__VA_ARGS__}
#define V(...) __VA_ARGS__

#define BINARY(kind, e, T, r, R, n, A, B, OUT_VALUES)                                              \
    do {                                                                                           \
        _Alignas(64) T x[] = A, y[] = B;                                                           \
        _Alignas(64) R got[sizeof x / sizeof x[0]];                                                \
        tn_op *op = make_op(kind, #n "x" e ", " #n "x" e, #n "x" r);                               \
        RUN(op, IN(x, y), OUT(got));                                                               \
        EXPECT(R, got, OUT_VALUES);                                                                \
    } while (0)

/* The same on f32; any NaN is as good as another. */
#define FLOAT_UNARY(kind, n, A, OUT_VALUES)                                                        \
    do {                                                                                           \
        _Alignas(64) float x[] = A;                                                                \
        _Alignas(64) float got[n];                                                                 \
        RUN(make_op(kind, #n "xf32", #n "xf32"), IN(x), OUT(got));                                 \
        expect_floats(got, (const float[]){OUT_VALUES}, n);                                        \
    } while (0)
#define FLOAT_BINARY(kind, n, A, B, OUT_VALUES)                                                    \
    do {                                                                                           \
        _Alignas(64) float x[] = A, y[] = B;                                                       \
        _Alignas(64) float got[n];                                                                 \
        RUN(make_op(kind, #n "xf32, " #n "xf32", #n "xf32"), IN(x, y), OUT(got));                  \
        expect_floats(got, (const float[]){OUT_VALUES}, n);                                        \
    } while (0)

static void expect_floats(const float *got, const float *want, int n)
{
    for (int i = 0; i < n; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) && !(isnan(got[i]) && isnan(want[i])))
            fail_msg("element %d is %.9g, expected %.9g", i, (double)got[i], (double)want[i]);
}

TEST(integers_wrap)
{
    BINARY(TN_OP_add, "i8", int8_t, "i8", int8_t, 3, L(127, -128, 1), L(1, -1, 2), V(-128, 127, 3));
    BINARY(TN_OP_subtract, "i8", int8_t, "i8", int8_t, 2, L(-128, 0), L(1, -128), V(127, -128));
    BINARY(TN_OP_multiply, "i8", int8_t, "i8", int8_t, 2, L(12, -128), L(12, -1), V(-112, -128));
    BINARY(TN_OP_multiply, "ui16", uint16_t, "ui16", uint16_t, 1, L(65535), L(65535), V(1));
    BINARY(TN_OP_add, "i4", int8_t, "i4", int8_t, 3, L(7, -8, 3), L(1, -1, -5), V(-8, 7, -2));
    BINARY(TN_OP_multiply, "ui4", uint8_t, "ui4", uint8_t, 2, L(15, 7), L(15, 3), V(1, 5));
    BINARY(TN_OP_add, "i2", int8_t, "i2", int8_t, 2, L(1, -2), L(1, -1), V(-2, 1));
    UNARY(TN_OP_negate, "i32", int32_t, "i32", int32_t, 2, L(INT32_MIN, 5), V(INT32_MIN, -5));
    UNARY(TN_OP_abs, "i64", int64_t, "i64", int64_t, 2, L(INT64_MIN, -5), V(INT64_MIN, 5));
    UNARY(TN_OP_abs, "i4", int8_t, "i4", int8_t, 2, L(-8, -5), V(-8, 5));
    UNARY(TN_OP_negate, "ui8", uint8_t, "ui8", uint8_t, 2, L(1, 0), V(255, 0));
}

TEST(integer_division_never_traps)
{
    BINARY(TN_OP_divide, "i32", int32_t, "i32", int32_t, 6,
           L(7, -7, INT32_MIN, INT32_MIN, 0, 2147483647), L(0, 2, -1, 1, 0, -2),
           V(-1, -3, INT32_MIN, INT32_MIN, -1, -1073741823));
    BINARY(TN_OP_divide, "i64", int64_t, "i64", int64_t, 4, L(7, -7, INT64_MIN, INT64_MIN),
           L(0, 2, -1, 3), V(-1, -3, INT64_MIN, INT64_MIN / 3));
    BINARY(TN_OP_divide, "ui32", uint32_t, "ui32", uint32_t, 3, L(7, 4294967295u, 4294967295u),
           L(0, 4294967295u, 2), V(4294967295u, 1, 2147483647));
    BINARY(TN_OP_divide, "i4", int8_t, "i4", int8_t, 3, L(-8, 7, 5), L(-1, 0, -2), V(-8, -1, -2));
    BINARY(TN_OP_divide, "ui4", uint8_t, "ui4", uint8_t, 2, L(9, 9), L(0, 2), V(15, 4));
    BINARY(TN_OP_remainder, "i32", int32_t, "i32", int32_t, 5, L(7, -7, INT32_MIN, 7, -7),
           L(0, 2, -1, -2, 0), V(7, -1, 0, 1, -7));
    BINARY(TN_OP_remainder, "i64", int64_t, "i64", int64_t, 3, L(7, INT64_MIN, -7), L(0, -1, 4),
           V(7, 0, -3));
    BINARY(TN_OP_remainder, "ui8", uint8_t, "ui8", uint8_t, 3, L(7, 255, 9), L(0, 16, 4),
           V(7, 15, 1));
    BINARY(TN_OP_power, "i32", int32_t, "i32", int32_t, 8, L(2, 2, 1, -1, -1, 0, 0, 3),
           L(10, -1, -5, -3, -2, 0, -1, 40),
           V(1024, 0, 1, -1, 1, 1, 0, (int32_t)(uint32_t)12157665459056928801u));
    BINARY(TN_OP_power, "ui8", uint8_t, "ui8", uint8_t, 2, L(3, 2), L(5, 255), V(243, 0));
}

TEST(every_small_quotient_is_exact)
{
    _Alignas(64) static int16_t x[65536], y[65536], q[65536], r[65536];
    tn_op *div = make_op(TN_OP_divide, "65536xi16, 65536xi16", "65536xi16");
    tn_op *rem = make_op(TN_OP_remainder, "65536xi16, 65536xi16", "65536xi16");
    for (int d = -32768; d<32768; d += d> - 20 && d < 20 ? 1 : 977) {
        for (int i = 0; i < 65536; i++) {
            x[i] = (int16_t)(i - 32768);
            y[i] = (int16_t)d;
        }
        RUN(div, IN(x, y), OUT(q));
        RUN(rem, IN(x, y), OUT(r));
        for (int i = 0; i < 65536; i++) {
            int a = i - 32768;
            assert_int_equal(q[i], d ? (int16_t)(a / d) : -1);
            assert_int_equal(r[i], d ? a % d : a);
        }
    }
}

TEST(large_quotients_are_exact)
{
    enum { N = 4096 };
    _Alignas(64) static int32_t x[N], y[N], q[N];
    _Alignas(64) static uint32_t u[N], v[N], w[N];
    tn_op *div = make_op(TN_OP_divide, "4096xi32, 4096xi32", "4096xi32");
    tn_op *udiv = make_op(TN_OP_divide, "4096xui32, 4096xui32", "4096xui32");
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < N; i++) {
            y[i] = (int32_t)(random_bits() >> 32) >> random_below(32);
            if (!y[i]) y[i] = 3;
            /* Just beside a multiple, where a rounded quotient would go wrong first. */
            int64_t near = (int64_t)y[i] * ((int32_t)(random_bits() >> 32) / y[i]);
            x[i] = (int32_t)(near + random_below(3) - 1);
            v[i] = (uint32_t)(random_bits() >> 32) >> random_below(32) | 1;
            u[i] = (uint32_t)(v[i] * ((uint32_t)(random_bits() >> 32) / v[i]) - random_below(2));
        }
        RUN(div, IN(x, y), OUT(q));
        RUN(udiv, IN(u, v), OUT(w));
        for (int i = 0; i < N; i++) {
            assert_int_equal(q[i], (int32_t)((int64_t)x[i] / y[i]));
            assert_int_equal(w[i], u[i] / v[i]);
        }
    }
}

TEST(shifts_past_the_width)
{
    BINARY(TN_OP_shift_left, "i32", int32_t, "i32", int32_t, 5, L(1, 1, 1, -1, 5),
           L(31, 32, -1, 1, 0), V(INT32_MIN, 0, 0, -2, 5));
    BINARY(TN_OP_shift_right_logical, "i32", int32_t, "i32", int32_t, 4, L(-1, -1, -1, -8),
           L(31, 32, -1, 1), V(1, 0, 0, 0x7FFFFFFC));
    BINARY(TN_OP_shift_right_arithmetic, "i32", int32_t, "i32", int32_t, 5, L(-8, -8, 8, -8, 8),
           L(1, 32, 32, -1, 2), V(-4, -1, 0, -1, 2));
    BINARY(TN_OP_shift_right_arithmetic, "ui8", uint8_t, "ui8", uint8_t, 3, L(128, 128, 64),
           L(1, 200, 1), V(192, 255, 32));
    BINARY(TN_OP_shift_right_logical, "i4", int8_t, "i4", int8_t, 3, L(-1, -8, -1), L(1, 3, 4),
           V(7, 1, 0));
    BINARY(TN_OP_shift_right_arithmetic, "i4", int8_t, "i4", int8_t, 3, L(-8, -8, 7), L(1, 4, 1),
           V(-4, -1, 3));
    BINARY(TN_OP_shift_left, "i4", int8_t, "i4", int8_t, 3, L(1, 3, 1), L(3, 2, 4), V(-8, -4, 0));
    BINARY(TN_OP_shift_left, "ui64", uint64_t, "ui64", uint64_t, 3, L(1, 1, 3), L(63, 64, 1),
           V(1ull << 63, 0, 6));
    BINARY(TN_OP_shift_right_arithmetic, "ui4", uint8_t, "ui4", uint8_t, 2, L(8, 7), L(1, 1),
           V(12, 3));
}

TEST(bits)
{
    UNARY(TN_OP_popcnt, "i8", int8_t, "i8", int8_t, 4, L(0, -1, 127, 5), V(0, 8, 7, 2));
    UNARY(TN_OP_popcnt, "i4", int8_t, "i4", int8_t, 3, L(-1, 7, -8), V(4, 3, 1));
    UNARY(TN_OP_popcnt, "ui64", uint64_t, "ui64", uint64_t, 2, L(~0ull, 1ull << 63), V(64, 1));
    UNARY(TN_OP_count_leading_zeros, "i16", int16_t, "i16", int16_t, 4, L(0, 1, -1, 255),
          V(16, 15, 0, 8));
    UNARY(TN_OP_count_leading_zeros, "ui4", uint8_t, "ui4", uint8_t, 3, L(0, 1, 8), V(4, 3, 0));
    UNARY(TN_OP_not, "i1", uint8_t, "i1", uint8_t, 2, L(0, 1), V(1, 0));
    UNARY(TN_OP_not, "ui4", uint8_t, "ui4", uint8_t, 2, L(0, 5), V(15, 10));
    BINARY(TN_OP_add, "i1", uint8_t, "i1", uint8_t, 4, L(0, 0, 1, 1), L(0, 1, 0, 1), V(0, 1, 1, 1));
    BINARY(TN_OP_multiply, "i1", uint8_t, "i1", uint8_t, 4, L(0, 0, 1, 1), L(0, 1, 0, 1),
           V(0, 0, 0, 1));
    BINARY(TN_OP_xor, "i64", int64_t, "i64", int64_t, 1, L(-1), L(5), V(-6));
    BINARY(TN_OP_maximum, "i1", uint8_t, "i1", uint8_t, 2, L(0, 1), L(1, 0), V(1, 1));
}

TEST(max_and_min_propagate_nan_and_order_zeros)
{
    FLOAT_BINARY(TN_OP_maximum, 4, L(-0.0f, 0.0f, 1, -INF), L(0.0f, -0.0f, 2, 3),
                 V(0.0f, 0.0f, 2, 3));
    FLOAT_BINARY(TN_OP_minimum, 4, L(-0.0f, 0.0f, 1, -INF), L(0.0f, -0.0f, 2, 3),
                 V(-0.0f, -0.0f, 1, -INF));
    FLOAT_BINARY(TN_OP_maximum, 3, L(QNAN, 1, QNAN), L(1, QNAN, QNAN), V(QNAN, QNAN, QNAN));
    FLOAT_BINARY(TN_OP_minimum, 3, L(QNAN, 1, QNAN), L(1, QNAN, QNAN), V(QNAN, QNAN, QNAN));
    _Alignas(64) float lo[] = {2}, x[] = {1, QNAN, -0.0f, 9}, hi[] = {5}, got[4];
    tn_op *clamp = make_op(TN_OP_clamp, "f32, 4xf32, f32", "4xf32");
    RUN(clamp, IN(lo, x, hi), OUT(got));
    EXPECT(float, got, 2, QNAN, 2, 5);
    _Alignas(64) float high_lo[] = {7, 7, 7, 7}, low_hi[] = {3, 3, 3, 3};
    RUN(make_op(TN_OP_clamp, "4xf32, 4xf32, 4xf32", "4xf32"), IN(high_lo, x, low_hi), OUT(got));
    EXPECT(float, got, 3, QNAN, 3, 3);
}

TEST(roundings_keep_signs_and_subnormals)
{
    FLOAT_UNARY(TN_OP_floor, 5, L(-1e-40f, 1e-40f, -0.0f, 2.5f, -2.5f), V(-1, 0, -0.0f, 2, -3));
    FLOAT_UNARY(TN_OP_ceil, 5, L(-1e-40f, 1e-40f, -0.0f, 2.5f, -2.5f), V(-0.0f, 1, -0.0f, 3, -2));
    FLOAT_UNARY(TN_OP_round_nearest_even, 6, L(0.5f, 1.5f, 2.5f, -0.5f, -0.2f, 8388609.0f),
                V(0, 2, 2, -0.0f, -0.0f, 8388609.0f));
    FLOAT_UNARY(TN_OP_round_nearest_afz, 7,
                L(0.5f, 1.5f, 2.5f, -0.5f, -0.2f, 0.49999997f, 8388609.0f),
                V(1, 2, 3, -1, -0.0f, 0, 8388609.0f));
    FLOAT_UNARY(TN_OP_sign, 6, L(-0.0f, 0.0f, -1e-40f, INF, QNAN, -7),
                V(-0.0f, 0.0f, -1, 1, QNAN, -1));
    UNARY(TN_OP_is_finite, "f32", float, "i1", uint8_t, 5, L(1, INF, -INF, QNAN, 3e38f),
          V(1, 0, 0, 0, 1));
    FLOAT_UNARY(TN_OP_rsqrt, 4, L(0.0f, -0.0f, INF, 4), V(INF, -INF, 0, 0.5f));
    FLOAT_UNARY(TN_OP_sqrt, 3, L(-0.0f, INF, 9), V(-0.0f, INF, 3));
    FLOAT_BINARY(TN_OP_add, 1, L(1e-40f), L(1e-40f), V(2 * 1e-40f));
    FLOAT_BINARY(TN_OP_remainder, 5, L(7, -7, 7, INF, -0.0f), L(3, 3, -3, 2, 5),
                 V(1, -1, 1, QNAN, -0.0f));
    FLOAT_BINARY(TN_OP_power, 6, L(0, 1, QNAN, -1, -2, -2), L(0, QNAN, 0, INF, 3, 0.5f),
                 V(1, 1, 1, 1, -8, QNAN));
}

TEST(comparisons)
{
    _Alignas(64) float x[] = {QNAN, 1, -0.0f, 2, -QNAN, -0.0f},
                       y[] = {QNAN, QNAN, 0, 1, -INF, 0.0f};
    static const uint8_t want[6][6] = {{0, 0, 1, 0, 0, 1}, {1, 1, 0, 1, 1, 0}, {0, 0, 1, 1, 0, 1},
                                       {0, 0, 0, 1, 0, 0}, {0, 0, 1, 0, 0, 1}, {0, 0, 0, 0, 0, 0}};
    static const uint8_t total[6][6] = {{1, 0, 0, 0, 0, 0}, {0, 1, 1, 1, 1, 1}, {1, 0, 0, 1, 0, 0},
                                        {0, 0, 0, 1, 0, 0}, {1, 1, 1, 0, 1, 1}, {0, 1, 1, 0, 1, 1}};
    _Alignas(64) uint8_t got[6];
    for (int direction = 0; direction < 6; direction++) {
        tn_op *op = make_op(TN_OP_compare, "6xf32, 6xf32", "6xi1");
        SET_INT(op, comparison_direction, direction);
        RUN(op, IN(x, y), OUT(got));
        assert_memory_equal(got, want[direction], 6);
        SET_INT(op, compare_type, TN_comparison_type_TOTALORDER);
        RUN(op, IN(x, y), OUT(got));
        assert_memory_equal(got, total[direction], 6);
    }
    _Alignas(64) uint32_t u[] = {0x80000000u}, v[] = {1};
    tn_op *op = make_op(TN_OP_compare, "1xui32, 1xui32", "1xi1");
    SET_INT(op, comparison_direction, TN_comparison_direction_GT);
    RUN(op, IN(u, v), OUT(got));
    assert_int_equal(got[0], 1);
}

TEST(select_by_element_and_by_scalar)
{
    _Alignas(64) uint8_t pred[] = {1, 0, 1}, no[] = {0};
    _Alignas(64) int16_t x[] = {1, 2, 3}, y[] = {-1, -2, -3}, got[3];
    RUN(make_op(TN_OP_select, "3xi1, 3xi16, 3xi16", "3xi16"), IN(pred, x, y), OUT(got));
    EXPECT(int16_t, got, 1, -2, 3);
    RUN(make_op(TN_OP_select, "i1, 3xi16, 3xi16", "3xi16"), IN(no, x, y), OUT(got));
    EXPECT(int16_t, got, -1, -2, -3);
    RUN(make_op(TN_OP_select, "i1, i16, i16", "i16"), IN(pred, x, y), OUT(got));
    EXPECT(int16_t, got, 1);
}

TEST(reduce_precision_rounds_and_flushes)
{
    _Alignas(64) float x[] = {1.0009765625f, 1.00146484375f, 65519.9f, 65520.0f,
                              6.0e-5f,       -6.2e-5f,       QNAN,     -INF},
                       got[8];
    tn_op *op = make_op(TN_OP_reduce_precision, "8xf32", "8xf32");
    SET_INT(op, exponent_bits, 5);
    SET_INT(op, mantissa_bits, 10);
    RUN(op, IN(x), OUT(got));
    EXPECT(float, got, 1.0009765625f, 1.001953125f, 65504, INF, 0, -6.198883056640625e-05f, QNAN,
           -INF);
    SET_INT(op, mantissa_bits, 0);
    RUN(op, IN(x), OUT(got));
    EXPECT(float, got, 1, 1, INF, INF, 6.103515625e-05f, -6.103515625e-05f, INF, -INF);
    SET_INT(op, exponent_bits, 8);
    SET_INT(op, mantissa_bits, 23);
    x[0] = 1e-45f;
    RUN(op, IN(x), OUT(got));
    EXPECT(float, got, 1e-45f, 1.00146484375f, 65519.9f, 65520.0f, 6.0e-5f);
    SET_INT(op, mantissa_bits, 0);
    RUN(op, IN(x), OUT(got));
    assert_true(got[6] == INF && got[7] == -INF); /* no mantissa, no NaN */
    _Alignas(64) uint16_t halves[] = {1, 0x83FF, 0x0401, 0x3C01}, kept[4];
    op = make_op(TN_OP_reduce_precision, "4xf16", "4xf16");
    SET_INT(op, exponent_bits, 5);
    SET_INT(op, mantissa_bits, 10);
    RUN(op, IN(halves), OUT(kept));
    EXPECT(uint16_t, kept, 1, 0x83FF, 0x0401, 0x3C01);
}

/* Every half: the dropped bits of what stands in memory are rounded, those of subnormals too. */
TEST(reduce_precision_rounds_the_bits_of_halves)
{
    enum { N = 1 << 16 };
    static _Alignas(64) uint16_t halves[N], got[N];
    for (int i = 0; i < N; i++) halves[i] = (uint16_t)i;
    tn_op *op = make_op(TN_OP_reduce_precision, "65536xf16", "65536xf16");
    for (int m = 0; m < 10; m++) {
        SET_INT(op, exponent_bits, 5 + m % 2 * 6);
        SET_INT(op, mantissa_bits, m);
        RUN(op, IN(halves), OUT(got));
        for (int i = 0; i < N; i++) {
            int drop = 10 - m, odd = i >> drop & 1, want = i + (1 << drop >> 1) - 1 + odd;
            if ((i & 0x7FFF) > 0x7C00) continue; /* NaN */
            assert_int_equal(got[i], want >> drop << drop);
        }
    }
}

TEST(complex_numbers)
{
    _Alignas(64) float x[] = {1, 2, 3, -4}, y[] = {5, 6, 0, 1}, got[4];
    RUN(make_op(TN_OP_multiply, "2xcomplex<f32>, 2xcomplex<f32>", "2xcomplex<f32>"), IN(x, y),
        OUT(got));
    EXPECT(float, got, -7, 16, 4, 3);
    RUN(make_op(TN_OP_abs, "2xcomplex<f32>", "2xf32"), IN(x), OUT(got));
    EXPECT(float, got, 2.2360679774997898f, 5);
    RUN(make_op(TN_OP_imag, "2xcomplex<f32>", "2xf32"), IN(x), OUT(got));
    EXPECT(float, got, 2, -4);
    RUN(make_op(TN_OP_complex, "2xf32, 2xf32", "2xcomplex<f32>"), IN(x, y), OUT(got));
    EXPECT(float, got, 1, 5, 2, 6);
    _Alignas(64) float big[] = {3e38f, 3e38f}, size[1];
    RUN(make_op(TN_OP_abs, "1xcomplex<f32>", "1xf32"), IN(big), OUT(size));
    assert_true(size[0] == INF);
    big[0] = big[1] = 2e38f;
    RUN(make_op(TN_OP_abs, "1xcomplex<f32>", "1xf32"), IN(big), OUT(size));
    assert_true(size[0] > 2.82e38f && size[0] < 2.83e38f);
}

static void expect_near(const float *got, const float *want, int n)
{
    for (int i = 0; i < n; i++)
        if (isinf(want[i]) || isnan(want[i])
                ? got[i] != want[i] && !(isnan(got[i]) && isnan(want[i]))
                : fabsf(got[i] - want[i]) > 1e-6f * (1 + fabsf(want[i])))
            fail_msg("part %d is %.9g, expected %.9g", i, (double)got[i], (double)want[i]);
}

TEST(complex_functions)
{
#define COMPLEX_1(kind, re, im, want_re, want_im)                                                  \
    do {                                                                                           \
        _Alignas(64) float x[2] = {re, im}, got[2];                                                \
        RUN(make_op(kind, "complex<f32>", "complex<f32>"), IN(x), OUT(got));                       \
        expect_near(got, (const float[]){want_re, want_im}, 2);                                    \
        _Alignas(64) double z[2] = {re, im}, wide[2];                                              \
        RUN(make_op(kind, "complex<f64>", "complex<f64>"), IN(z), OUT(wide));                      \
        expect_near((const float[]){(float)wide[0], (float)wide[1]},                               \
                    (const float[]){want_re, want_im}, 2);                                         \
    } while (0)
    COMPLEX_1(TN_OP_sqrt, -4, 0, 0, 2);
    COMPLEX_1(TN_OP_sqrt, 3, 4, 2, 1);
    COMPLEX_1(TN_OP_rsqrt, 3, 4, 0.4f, -0.2f);
    COMPLEX_1(TN_OP_rsqrt, 1, INF, 0, 0);
    COMPLEX_1(TN_OP_log, -1, 0, 0, 3.14159265f);
    COMPLEX_1(TN_OP_log, 0, 0, -INF, 0);
    COMPLEX_1(TN_OP_log_plus_one, 1e-8f, 1e-8f, 1e-8f, 1e-8f);
    COMPLEX_1(TN_OP_exponential, 1, 2, -1.13120438f, 2.47172667f);
    COMPLEX_1(TN_OP_exponential, 2, 0, 7.3890561f, 0);
    COMPLEX_1(TN_OP_exponential_minus_one, 1e-9f, 0, 1e-9f, 0);
    COMPLEX_1(TN_OP_sign, 3, -4, 0.6f, -0.8f);
    COMPLEX_1(TN_OP_sign, 0, 0, 0, 0);
    COMPLEX_1(TN_OP_cbrt, -8, 0, 1, 1.73205081f);
    COMPLEX_1(TN_OP_tanh, 0.5f, 0.25f, 0.48548732f, 0.19805571f);
    COMPLEX_1(TN_OP_logistic, 0, 0, 0.5f, 0);
    COMPLEX_1(TN_OP_sine, 1, 1, 1.29845758f, 0.63496391f);
    COMPLEX_1(TN_OP_cosine, 1, 1, 0.83373003f, -0.98889771f);
    COMPLEX_1(TN_OP_negate, 1, -2, -1, 2);
#define COMPLEX_2(kind, a, b, c, d, want_re, want_im)                                              \
    do {                                                                                           \
        _Alignas(64) float x[2] = {a, b}, y[2] = {c, d}, got[2];                                   \
        RUN(make_op(kind, "complex<f32>, complex<f32>", "complex<f32>"), IN(x, y), OUT(got));      \
        expect_near(got, (const float[]){want_re, want_im}, 2);                                    \
        _Alignas(64) double z[2] = {a, b}, w[2] = {c, d}, wide[2];                                 \
        RUN(make_op(kind, "complex<f64>, complex<f64>", "complex<f64>"), IN(z, w), OUT(wide));     \
        expect_near((const float[]){(float)wide[0], (float)wide[1]},                               \
                    (const float[]){want_re, want_im}, 2);                                         \
    } while (0)
    COMPLEX_2(TN_OP_divide, 1, 2, 3, -4, -0.2f, 0.4f);
    COMPLEX_2(TN_OP_divide, 1, 0, 0, 0, INF, QNAN);
    COMPLEX_2(TN_OP_divide, 1, 1, INF, 0, 0, 0);
    COMPLEX_2(TN_OP_divide, 1e30f, 1e30f, 1e30f, 1e30f, 1, 0);
    COMPLEX_2(TN_OP_power, 0, 1, 2, 0, -1, 0);
    COMPLEX_2(TN_OP_power, 2, 1, 0, 0, 1, 0);
    COMPLEX_2(TN_OP_power, 0, 0, 2, 0, 0, 0);
    COMPLEX_2(TN_OP_atan2, 1, 0, 1, 0, 0.785398163f, 0);
    COMPLEX_2(TN_OP_maximum, 1, 5, 1, 3, 1, 5);
    COMPLEX_2(TN_OP_minimum, 2, 0, 1, 3, 1, 3);
}

/* A tensor type with elements of `like` under a quantization. */
static const tn_type *quantized(const tn_type *like, const tn_quantization *q)
{
    tn_type *t = tn_dup(arena, like, sizeof *like);
    t->quantization = q;
    return t;
}

static const double scales[] = {0.1, 0.5};
static const int64_t zero_points[] = {-30, 3};
static const tn_quantization per_tensor = {.storage = TN_I8,
                                           .expressed = TN_F32,
                                           .min = -128,
                                           .max = 127,
                                           .axis = -1,
                                           .n = 1,
                                           .scales = scales,
                                           .zero_points = zero_points};
static const tn_quantization per_axis = {.storage = TN_I8,
                                         .expressed = TN_F32,
                                         .min = -100,
                                         .max = 100,
                                         .axis = 1,
                                         .n = 2,
                                         .scales = scales,
                                         .zero_points = zero_points};

TEST(quantized_tensors)
{
    _Alignas(64) float x[] = {0, 0.1f, 0.25f, -20, 100, QNAN}, back[6];
    _Alignas(64) int8_t q[6], sum[6];
    tn_op *op = make_op(TN_OP_uniform_quantize, "6xf32", "6xi8");
    op->results[0].type = quantized(op->results[0].type, &per_tensor);
    RUN(op, IN(x), OUT(q));
    EXPECT(int8_t, q, -30, -29, -28, -128, 127, 0);
    tn_op *wide = make_op(TN_OP_uniform_dequantize, "6xi8", "6xf32");
    wide->operands[0]->type = op->results[0].type;
    RUN(wide, IN(q), OUT(back));
    expect_near(back, (const float[]){0, 0.1f, 0.2f, -9.8f, 15.7f, 3}, 6);
    tn_op *add = make_op(TN_OP_add, "6xi8, 6xi8", "6xi8");
    add->operands[0]->type = add->operands[1]->type = add->results[0].type = op->results[0].type;
    RUN(add, IN(q, q), OUT(sum));
    EXPECT(int8_t, sum, -30, -28, -26, -128, 127, 30);

    tn_op *axes = make_op(TN_OP_uniform_quantize, "3x2xf32", "3x2xi8");
    axes->results[0].type = quantized(axes->results[0].type, &per_axis);
    RUN(axes, IN(x), OUT(q));
    EXPECT(int8_t, q, -30, 3, -28, -37, 100, 0);

    tn_op *wrong = make_op(TN_OP_uniform_quantize, "6xf64", "6xi8");
    wrong->results[0].type = op->results[0].type;
    EXPECT_INVALID(wrong, "result 0 should be quantized, express f64");
    EXPECT_INVALID(make_op(TN_OP_uniform_dequantize, "6xi8", "6xf32"),
                   "operand 0 should be quantized");
}

TEST(narrow_floats_round_once_per_op)
{
    _Alignas(64) uint16_t x[] = {0x3F80, 0x3F80, 0x7F7F, 0x7FC0},
                          y[] = {0x3B80, 0x3B81, 0x7F7F, 0x3F80}, got[4];
    RUN(make_op(TN_OP_add, "4xbf16, 4xbf16", "4xbf16"), IN(x, y), OUT(got));
    EXPECT(uint16_t, got, 0x3F80, 0x3F81, 0x7F80, 0x7FC0);
    _Alignas(64) uint16_t h[] = {0x3C00, 0x7BFF, 0x0001, 0xFC00},
                          k[] = {0x1000, 0x7BFF, 0x0001, 0x7C00};
    RUN(make_op(TN_OP_add, "4xf16, 4xf16", "4xf16"), IN(h, k), OUT(got));
    got[3] &= 0x7FFF; /* a NaN's sign is the machine's */
    EXPECT(uint16_t, got, 0x3C00, 0x7C00, 0x0002, 0x7E00);
    _Alignas(64) uint8_t less[4];
    tn_op *op = make_op(TN_OP_compare, "4xf16, 4xf16", "4xi1");
    SET_INT(op, comparison_direction, TN_comparison_direction_LT);
    RUN(op, IN(h, k), OUT(less));
    EXPECT(uint8_t, less, 0, 0, 0, 1);
}

TEST(big_arrays_in_parallel_equal_small_ones)
{
    enum { N = 300001 };
    assert_null(tn_thread_pool_create(3, &pool));
    float *x = aligned_alloc(64, (N * sizeof *x + 63) / 64 * 64),
          *y = aligned_alloc(64, (N * sizeof *y + 63) / 64 * 64);
    for (int i = 0; i < N; i++) x[i] = (float)(random_below(2000) - 1000) / 64;
    RUN(make_op(TN_OP_exponential, "300001xf32", "300001xf32"), IN(x), OUT(y));
    for (int i = 0; i < N; i += 997) {
        _Alignas(64) float one[1] = {x[i]}, got[1];
        RUN(make_op(TN_OP_exponential, "1xf32", "1xf32"), IN(one), OUT(got));
        assert_memory_equal(got, &y[i], sizeof(float));
    }
    RUN(make_op(TN_OP_exponential, "0xf32", "0xf32"), IN(NULL), OUT(NULL));
    free(x);
    free(y);
    tn_thread_pool_destroy(pool);
}

TEST(inference_names_operand_expected_and_got)
{
    EXPECT_INVALID(make_op(TN_OP_add, "2xf32, 3xf32", "2xf32"), "operand 1");
    EXPECT_INVALID(make_op(TN_OP_add, "2xf32, 2xf64", "2xf32"), "tensor<2xf64>");
    EXPECT_INVALID(make_op(TN_OP_add, "2xf32, 2xf32", "2xf64"), "result 0");
    EXPECT_INVALID(make_op(TN_OP_cosine, "2xi32", "2xi32"),
                   "operand 0 should be of floats or complex numbers and is tensor<2xi32>");
    EXPECT_INVALID(make_op(TN_OP_not, "2xf32", "2xf32"), "booleans or integers");
    EXPECT_INVALID(make_op(TN_OP_negate, "2xi1", "2xi1"), "operand 0 should be of integers");
    EXPECT_INVALID(make_op(TN_OP_complex, "2xf16, 2xf16", "2xcomplex<f32>"), "f32 or f64");
    EXPECT_INVALID(make_op(TN_OP_select, "3xi1, 2xf32, 2xf32", "2xf32"),
                   "operand 0 should be a scalar or have the shape");
    EXPECT_INVALID(make_op(TN_OP_clamp, "3xf32, 2xf32, f32", "2xf32"),
                   "operand 0 should be a scalar");
    EXPECT_INVALID(make_op(TN_OP_convert, "2xf32", "3xi32"),
                   "result 0 should have the operand's shape");
    EXPECT_INVALID(make_op(TN_OP_abs, "2xcomplex<f32>", "2xcomplex<f32>"),
                   "result 0 should be tensor<2xf32>");
    tn_op *op = make_op(TN_OP_compare, "2xcomplex<f32>, 2xcomplex<f32>", "2xi1");
    SET_INT(op, comparison_direction, TN_comparison_direction_LT);
    EXPECT_INVALID(op, "EQ or NE");
    op = make_op(TN_OP_compare, "2xi32, 2xi32", "2xi1");
    SET_INT(op, comparison_direction, TN_comparison_direction_LT);
    SET_INT(op, compare_type, TN_comparison_type_UNSIGNED);
    EXPECT_INVALID(op, "compare_type UNSIGNED doesn't fit operands of i32");
    op = make_op(TN_OP_reduce_precision, "2xf32", "2xf32");
    SET_INT(op, exponent_bits, 0);
    SET_INT(op, mantissa_bits, 3);
    EXPECT_INVALID(op, "exponent_bits should be at least 1 and is 0");
}

TEST(inference_allows_unknown_dims)
{
    const tn_type *out;
    assert_null(tn_op_verify(make_op(TN_OP_add, "?x3xf32, 2x?xf32", "2x3xf32"), arena));
    tn_op *op = make_op(TN_OP_add, "?x3xf32, 2x?xf32", "?x?xf32");
    assert_null(tn_op_behaviours[TN_OP_add].infer(op, arena, &out));
    assert_int_equal(out->dims[0], 2);
    assert_int_equal(out->dims[1], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(integer_division_never_traps),
        cmocka_unit_test(every_small_quotient_is_exact),
        cmocka_unit_test(large_quotients_are_exact),
        cmocka_unit_test(shifts_past_the_width),
        cmocka_unit_test(bits),
        cmocka_unit_test(max_and_min_propagate_nan_and_order_zeros),
        cmocka_unit_test(roundings_keep_signs_and_subnormals),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(select_by_element_and_by_scalar),
        cmocka_unit_test(reduce_precision_rounds_and_flushes),
        cmocka_unit_test(reduce_precision_rounds_the_bits_of_halves),
        cmocka_unit_test(complex_numbers),
        cmocka_unit_test(complex_functions),
        cmocka_unit_test(quantized_tensors),
        cmocka_unit_test(narrow_floats_round_once_per_op),
        cmocka_unit_test(big_arrays_in_parallel_equal_small_ones),
        cmocka_unit_test(inference_names_operand_expected_and_got),
        cmocka_unit_test(inference_allows_unknown_dims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
