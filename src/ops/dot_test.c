/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/op_test.h"

#include "kernels/half.h"

typedef struct {
    int64_t v[8];
    uint32_t n;
} list;

static bool has(list l, int64_t x)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (l.v[i] == x) return true;
    return false;
}

/* One random operand: dimensions in any order of roles. */
typedef struct {
    int64_t dims[8];
    uint32_t rank;
    list batch, contract;
    float data[50000];
} side;

static void make_side(side *s, const int64_t *shared, uint32_t n_batch, uint32_t n_contract,
                      uint32_t n_free)
{
    int64_t order[8];
    s->rank = n_batch + n_contract + n_free;
    for (uint32_t i = 0; i < s->rank; i++) order[i] = i;
    for (uint32_t i = s->rank; i-- > 1;) {
        int64_t j = random_below(i + 1), o = order[i];
        order[i] = order[j], order[j] = o;
    }
    s->batch.n = n_batch, s->contract.n = n_contract;
    for (uint32_t i = 0; i < n_batch; i++) s->batch.v[i] = order[i];
    for (uint32_t i = 0; i < n_contract; i++) s->contract.v[i] = order[n_batch + i];
    int64_t n = 1;
    for (uint32_t i = 0; i < s->rank; i++) {
        s->dims[order[i]] =
            i < n_batch + n_contract ? shared[i] : random_below(5) + (random_below(8) > 0);
        n *= s->dims[order[i]];
    }
    for (int64_t i = 0; i < n; i++) s->data[i] = (float)(random_below(17) - 8);
}

static tn_op *make_dot(const side *x, const side *y)
{
    int64_t dims[16];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x->batch.n; i++) dims[rank++] = x->dims[x->batch.v[i]];
    for (uint32_t i = 0; i < x->rank; i++)
        if (!has(x->batch, i) && !has(x->contract, i)) dims[rank++] = x->dims[i];
    for (uint32_t i = 0; i < y->rank; i++)
        if (!has(y->batch, i) && !has(y->contract, i)) dims[rank++] = y->dims[i];
    tn_op *op = make_op(TN_OP_dot_general, "f32, f32", "f32");
    op->operands[0]->type = tn_type_tensor(arena, TN_F32, x->rank, x->dims);
    op->operands[1]->type = tn_type_tensor(arena, TN_F32, y->rank, y->dims);
    op->results[0].type = tn_type_tensor(arena, TN_F32, rank, dims);
#define SET(name, l) tn_op_set_attr(module, op, TN_ATTR_##name, tn_attr_ints(arena, (l).v, (l).n))
    SET(lhs_batching_dimensions, x->batch);
    SET(rhs_batching_dimensions, y->batch);
    SET(lhs_contracting_dimensions, x->contract);
    SET(rhs_contracting_dimensions, y->contract);
#undef SET
    return op;
}

static float element(const side *s, const int64_t *at)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < s->rank; i++) n = n * s->dims[i] + at[i];
    return s->data[n];
}

/* The specification's sum for the result's element at `at`; the terms are small integers, so it is
 * exact. */
static float expected(const side *x, const side *y, const int64_t *at)
{
    int64_t xi[8] = {0}, yi[8] = {0}, n = 1;
    uint32_t next = 0;
    for (uint32_t i = 0; i < x->batch.n; i++, next++)
        xi[x->batch.v[i]] = yi[y->batch.v[i]] = at[next];
    for (uint32_t i = 0; i < x->rank; i++)
        if (!has(x->batch, i) && !has(x->contract, i)) xi[i] = at[next++];
    for (uint32_t i = 0; i < y->rank; i++)
        if (!has(y->batch, i) && !has(y->contract, i)) yi[i] = at[next++];
    for (uint32_t i = 0; i < x->contract.n; i++) n *= x->dims[x->contract.v[i]];
    float sum = 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t rest = k;
        for (uint32_t i = x->contract.n; i-- > 0;) {
            int64_t size = x->dims[x->contract.v[i]];
            xi[x->contract.v[i]] = yi[y->contract.v[i]] = rest % size;
            rest /= size;
        }
        sum += element(x, xi) * element(y, yi);
    }
    return sum;
}

TEST(any_dimension_numbers)
{
    static side x, y;
    static float got[400000];
    for (int round = 0; round < 3000; round++) {
        int64_t shared[4];
        uint32_t n_batch = (uint32_t)random_below(3), n_contract = (uint32_t)random_below(3);
        for (int i = 0; i < 4; i++) shared[i] = random_below(5) + (random_below(8) > 0);
        make_side(&x, shared, n_batch, n_contract, (uint32_t)random_below(3));
        make_side(&y, shared, n_batch, n_contract, (uint32_t)random_below(3));
        tn_op *op = make_dot(&x, &y);
        const tn_type *t = op->results[0].type;
        RUN(op, IN(x.data, y.data), OUT(got));
        for (int64_t i = 0, n = tn_type_elements(t); i < n; i++) {
            int64_t at[16], rest = i;
            for (uint32_t d = t->rank; d-- > 0; rest /= t->dims[d]) at[d] = rest % t->dims[d];
            assert_true(got[i] == expected(&x, &y, at));
        }
    }
}

static tn_op *matrix_dot(const char *operands, const char *result)
{
    tn_op *op = make_op(TN_OP_dot_general, operands, result);
    SET_NO_INTS(op, lhs_batching_dimensions);
    SET_NO_INTS(op, rhs_batching_dimensions);
    SET_INTS(op, lhs_contracting_dimensions, 1);
    SET_INTS(op, rhs_contracting_dimensions, 0);
    return op;
}

/* One sum in parts, several lanes at a time: of whole numbers, so that all orders give the same. */
TEST(long_sums_miss_nothing)
{
    static float x[70070];
    static double y[70070];
    static uint16_t z[70070];
    static const int lengths[] = {1024, 1031, 8200, 32769, 32784, 40009, 65600, 70070};
    for (int i = 0; i < 70070; i++) {
        x[i] = (float)(i * 7 % 13 - 6);
        y[i] = x[i];
        uint32_t bits;
        memcpy(&bits, &x[i], 4);
        z[i] = (uint16_t)(bits >> 16);
    }
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        double want = 0, d;
        float f;
        char type[64];
        int n = lengths[k];
        for (int i = 0; i < n; i++) want += y[i] * y[i];
        snprintf(type, sizeof type, "1x%dxf32, %dx1xf32", n, n);
        RUN(matrix_dot(type, "1x1xf32"), IN(x, x), OUT(&f));
        assert_true(f == want);
        snprintf(type, sizeof type, "1x%dxf64, %dx1xf64", n, n);
        RUN(matrix_dot(type, "1x1xf64"), IN(y, y), OUT(&d));
        assert_true(d == want);
        snprintf(type, sizeof type, "1x%dxbf16, %dx1xbf16", n, n);
        RUN(matrix_dot(type, "1x1xf32"), IN(z, z), OUT(&f));
        assert_true(f == want);
    }
}

/* Rows and columns of two strides each around what is summed: both operands are arranged first.
 * Of whole numbers, so that all orders give the same. */
TEST(sums_along_the_middle)
{
    enum { A = 9, B = 14, C = 8, D = 15, K = 130 };
    static float x[A][K][B], y[C][K][D], z[A][B][C][D];
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < A * B; i++) x[i / B][k][i % B] = (float)(random_below(17) - 8);
        for (int i = 0; i < C * D; i++) y[i / D][k][i % D] = (float)(random_below(17) - 8);
    }
    tn_op *op = make_op(TN_OP_dot_general, "9x130x14xf32, 8x130x15xf32", "9x14x8x15xf32");
    SET_NO_INTS(op, lhs_batching_dimensions);
    SET_NO_INTS(op, rhs_batching_dimensions);
    SET_INTS(op, lhs_contracting_dimensions, 1);
    SET_INTS(op, rhs_contracting_dimensions, 1);
    RUN(op, IN(x, y), OUT(z));
    for (int i = 0; i < A * B * C * D; i++) {
        int d = i % D, c = i / D % C, b = i / D / C % B, a = i / D / C / B;
        float want = 0;
        for (int k = 0; k < K; k++) want += x[a][k][b] * y[c][k][d];
        assert_true(z[a][b][c][d] == want);
    }
}

TEST(sums_of_nothing_are_zero)
{
    float out[6] = {1, 1, 1, 1, 1, 1};
    RUN(matrix_dot("2x0xf32, 0x3xf32", "2x3xf32"), IN(NULL, NULL), OUT(out));
    EXPECT(float, out, 0, 0, 0, 0, 0, 0);
    RUN(matrix_dot("0x4xf32, 4x3xf32", "0x3xf32"), IN(NULL, out), OUT(NULL));
}

TEST(integers_wrap_and_widen)
{
    const int8_t x[] = {127, 127, -128, 5}, y[] = {127, 127};
    int8_t narrow[2];
    int32_t wide[2];
    RUN(matrix_dot("2x2xi8, 2x1xi8", "2x1xi8"), IN(x, y), OUT(narrow));
    EXPECT(int8_t, narrow, (int8_t)(2 * 127 * 127), (int8_t)(-123 * 127));
    RUN(matrix_dot("2x2xi8, 2x1xi8", "2x1xi32"), IN(x, y), OUT(wide));
    EXPECT(int32_t, wide, 2 * 127 * 127, -123 * 127);
    const uint8_t p[] = {255, 255, 1, 0}, q[] = {255, 2};
    uint32_t sums[2];
    RUN(matrix_dot("2x2xui8, 2x1xui8", "2x1xui32"), IN(p, q), OUT(sums));
    EXPECT(uint32_t, sums, 255 * 257, 255);
    const bool a[] = {1, 1, 0, 1}, b[] = {1, 0};
    bool any[2];
    RUN(matrix_dot("2x2xi1, 2x1xi1", "2x1xi1"), IN(a, b), OUT(any));
    EXPECT(bool, any, 1, 0);
    const int8_t i4[] = {7, 7, -8, 1}, j4[] = {7, 1};
    RUN(matrix_dot("2x2xi4, 2x1xi4", "2x1xi4"), IN(i4, j4), OUT(narrow));
    EXPECT(int8_t, narrow, -8, -7); /* 56 = 8 and -55 = 9 modulo 16 */
}

TEST(half_floats_are_summed_in_f32)
{
    static uint16_t ones[512], sum[1], small[512];
    for (int i = 0; i < 512; i++) ones[i] = 0x3f80, small[i] = 0x3c00;
    RUN(matrix_dot("1x512xbf16, 512x1xbf16", "1x1xbf16"), IN(ones, ones), OUT(sum));
    EXPECT(uint16_t, sum, tn_bf16_of_f32(512));
    float wide[1];
    RUN(matrix_dot("1x512xf16, 512x1xf16", "1x1xf32"), IN(small, small), OUT(wide));
    EXPECT(float, wide, 512);
    static const uint8_t f8[] = {0x38, 0x38, 0x40, 0xb8}; /* f8E4M3FN 1 1 2 -1 */
    static uint8_t f8_sum[1];
    RUN(matrix_dot("1x4xf8E4M3FN, 4x1xf8E4M3FN", "1x1xf32"), IN(f8, f8), OUT(wide));
    EXPECT(float, wide, 7);
    RUN(matrix_dot("1x4xf8E4M3FN, 4x1xf8E4M3FN", "1x1xf8E4M3FN"), IN(f8, f8), OUT(f8_sum));
    EXPECT(uint8_t, f8_sum, 0x4e);
}

TEST(results_of_another_class)
{
    const int8_t x[] = {100, 100}, y[] = {100, 27};
    float real[1];
    RUN(matrix_dot("1x2xi8, 2x1xi8", "1x1xf32"), IN(x, y), OUT(real));
    EXPECT(float, real, 12700);
    const float p[] = {0.5f, 0.75f}, q[] = {1, 1};
    int32_t whole[1];
    RUN(matrix_dot("1x2xf32, 2x1xf32", "1x1xi32"), IN(p, q), OUT(whole));
    EXPECT(int32_t, whole, 1);
    double twice[1];
    RUN(matrix_dot("1x2xf32, 2x1xf32", "1x1xf64"), IN(p, q), OUT(twice));
    EXPECT(double, twice, 1.25);
}

TEST(quantized_operands_stand_for_their_values)
{
    static const double half = 0.5, quarter = 0.25;
    static const int64_t one = 1, minus_two = -2;
    const tn_quantization in = {TN_I8, TN_F32, -128, 127, -1, 1, &half, &one};
    const tn_quantization out = {TN_I8, TN_F32, -128, 127, -1, 1, &quarter, &minus_two};
    tn_op *op = matrix_dot("1x2xi8, 2x1xf32", "1x1xi8");
    tn_type x = *op->operands[0]->type, z = *op->results[0].type;
    x.quantization = &in, z.quantization = &out;
    op->operands[0]->type = &x;
    op->results[0].type = &z;
    const int8_t a[] = {5, -3}; /* 2 and -2 */
    const float b[] = {1.5f, 0.25f};
    int8_t got[1];
    RUN(op, IN(a, b), OUT(got));
    EXPECT(int8_t, got, 8); /* 2.5 / 0.25 - 2 */
}

TEST(complex_products)
{
    const float x[] = {1, 2, 3, -1}, y[] = {0, 1, 2, 2}; /* (1+2i)i + (3-i)(2+2i) */
    float out[2];
    RUN(matrix_dot("1x2xcomplex<f32>, 2x1xcomplex<f32>", "1x1xcomplex<f32>"), IN(x, y), OUT(out));
    EXPECT(float, out, 6, 5);
}

TEST(the_old_dot)
{
    const float x[] = {1, 2, 3, 4, 5, 6}, v[] = {1, 10, 100};
    float out[4];
    RUN(make_op(TN_OP_dot, "2x3xf32, 3xf32", "2xf32"), IN(x, v), OUT(out));
    EXPECT(float, out, 321, 654);
    RUN(make_op(TN_OP_dot, "3xf32, 3xf32", "f32"), IN(v, v), OUT(out));
    EXPECT(float, out, 10101);
    RUN(make_op(TN_OP_dot, "2x3xf32, 3x2xf32", "2x2xf32"), IN(x, x), OUT(out));
    EXPECT(float, out, 22, 28, 49, 64);
    EXPECT_INVALID(make_op(TN_OP_dot, "2x3xf32, 2xf32", "2xf32"), "dimension 1 of lhs has size 3");
    EXPECT_INVALID(make_op(TN_OP_dot, "1x2x3xf32, 3xf32", "1x2xf32"), "operand 0 has rank 3");
}

TEST(large_products_are_fast)
{
    enum { N = 512 };
    float *x = malloc(N * N * sizeof *x), *out = malloc(N * N * sizeof *x);
    for (int i = 0; i < N * N; i++) x[i] = 1;
    tn_op *op = matrix_dot("512x512xf32, 512x512xf32", "512x512xf32");
    double start = seconds();
    RUN(op, IN(x, x), OUT(out));
    /* 2 ms alone on an AVX-512 core; a plain loop takes longer. An emulator has no speed. */
    assert_true(seconds() - start < 2 || getenv("MESON_EXE_WRAPPER"));
    for (int i = 0; i < N * N; i++) assert_true(out[i] == N);
    free(x);
    free(out);
}

TEST(constraints_are_checked)
{
    tn_op *op = matrix_dot("2x3xf32, 4x2xf32", "2x2xf32");
    EXPECT_INVALID(op,
                   "contracting dimension 1 of lhs has size 3, but dimension 0 of rhs has size 4");
    op = matrix_dot("2x3xf32, 3x2xf32", "2x3xf32");
    EXPECT_INVALID(op, "2x3xf32");
    op = matrix_dot("2x3xf32, 3x2xi32", "2x2xf32");
    EXPECT_INVALID(op, "can't be multiplied");
    op = matrix_dot("2x3xcomplex<f32>, 3x2xcomplex<f32>", "2x2xf32");
    EXPECT_INVALID(op, "a product of complex<f32> can't be");
    op = matrix_dot("2x3xf32, 3x2xf32", "2x2xf32");
    SET_INTS(op, lhs_contracting_dimensions, 2);
    EXPECT_INVALID(op, "lhs_contracting_dimensions");
    SET_INTS(op, lhs_contracting_dimensions, 1, 1);
    EXPECT_INVALID(op, "lhs_contracting_dimensions");
    SET_INTS(op, lhs_contracting_dimensions, 1, 0);
    EXPECT_INVALID(op, "lhs has 2 contracting dimensions, rhs has 1");
    SET_INTS(op, lhs_contracting_dimensions, 1);
    SET_INTS(op, lhs_batching_dimensions, 1);
    EXPECT_INVALID(op,
                   "dimension 1 is in both lhs_batching_dimensions and lhs_contracting_dimensions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_dimension_numbers),
        cmocka_unit_test(long_sums_miss_nothing),
        cmocka_unit_test(sums_along_the_middle),
        cmocka_unit_test(sums_of_nothing_are_zero),
        cmocka_unit_test(integers_wrap_and_widen),
        cmocka_unit_test(half_floats_are_summed_in_f32),
        cmocka_unit_test(results_of_another_class),
        cmocka_unit_test(quantized_operands_stand_for_their_values),
        cmocka_unit_test(complex_products),
        cmocka_unit_test(the_old_dot),
        cmocka_unit_test(large_products_are_fast),
        cmocka_unit_test(constraints_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
