/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/op_test.h"

static tn_op *cholesky_op(const char *type, bool lower)
{
    tn_op *op = make_op(TN_OP_cholesky, type, type);
    SET_BOOL(op, lower, lower);
    return op;
}

TEST(cholesky_reads_one_triangle_and_clears_the_other)
{
    /* L = [[2,0,0],[1,3,0],[4,5,6]]; the triangle that isn't read holds rubbish. */
    const double low[] = {4, 99, 99, 2, 10, 99, 8, 19, 77},
                 up[] = {4, 2, 8, 99, 10, 19, 99, 99, 77};
    double out[9];
    RUN(cholesky_op("3x3xf64", true), IN(low), OUT(out));
    EXPECT(double, out, 2, 0, 0, 1, 3, 0, 4, 5, 6);
    RUN(cholesky_op("3x3xf64", false), IN(up), OUT(out));
    EXPECT(double, out, 2, 1, 4, 0, 3, 5, 0, 0, 6);
}

TEST(a_matrix_that_is_not_positive_definite_gives_nan)
{
    const float bad[] = {1, 0, 0, -1, 4, 0, 0, 9};
    float out[8];
    RUN(cholesky_op("2x2x2xf32", true), IN(bad), OUT(out));
    assert_true(isnan(out[0]) && isnan(out[2]) && isnan(out[3]));
    EXPECT(float, out + 4, 2, 0, 0, 3);
}

TEST(a_complex_factor_times_its_adjoint_is_the_matrix)
{
    /* L = [[2,0],[1-3i,4]]: L L^H = [[4, 2+6i],[2-6i, 26]] */
    const float a[] = {4, 0, 2, 6, 2, -6, 26, 0};
    float out[8];
    RUN(cholesky_op("2x2xcomplex<f32>", true), IN(a), OUT(out));
    EXPECT(float, out, 2, 0, 0, 0, 1, -3, 4, 0);
    RUN(cholesky_op("2x2xcomplex<f32>", false), IN(a), OUT(out));
    EXPECT(float, out, 2, 0, 1, 3);
    EXPECT(float, out + 6, 4, 0);
}

/* Element (i, j) of op(a), with only the named triangle and the unit diagonal that the op sees. */
static _Complex double element(const double *a, int n, int i, int j, bool lower, int transpose,
                               bool unit)
{
    int r = transpose == TN_transpose_NO_TRANSPOSE ? i : j,
        c = transpose == TN_transpose_NO_TRANSPOSE ? j : i;
    if (r == c && unit) return 1;
    if (lower ? c > r : c < r) return 0;
    _Complex double v = a[2 * (r * n + c)];
    __imag__ v = a[2 * (r * n + c) + 1];
    return transpose == TN_transpose_ADJOINT ? ~v : v;
}

static void check_solution(bool left, bool lower, int transpose, bool unit)
{
    enum { N = 7, K = 5 };
    double a[2 * N * N], b[2 * N * K], x[2 * N * K];
    for (int i = 0; i < 2 * N * N; i++) a[i] = (double)random_below(2000) / 1000 - 1;
    for (int i = 0; i < N; i++) a[2 * (i * N + i)] += 4; /* well conditioned */
    for (int i = 0; i < 2 * N * K; i++) b[i] = (double)random_below(2000) / 1000 - 1;
    const char *of_b = left ? "7x5xcomplex<f64>" : "5x7xcomplex<f64>";
    char operands[64];
    snprintf(operands, sizeof operands, "7x7xcomplex<f64>, %s", of_b);
    tn_op *op = make_op(TN_OP_triangular_solve, operands, of_b);
    SET_BOOL(op, left_side, left);
    SET_BOOL(op, lower, lower);
    SET_BOOL(op, unit_diagonal, unit);
    SET_INT(op, transpose_a, transpose);
    RUN(op, IN(a, b), OUT(x));
    int rows = left ? N : K, columns = left ? K : N;
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            _Complex double sum = 0;
            for (int k = 0; k < N; k++) {
                int at = left ? k * columns + j : i * columns + k;
                _Complex double v = x[2 * at];
                __imag__ v = x[2 * at + 1];
                sum += v * (left ? element(a, N, i, k, lower, transpose, unit)
                                 : element(a, N, k, j, lower, transpose, unit));
            }
            assert_true(fabs(__real__ sum - b[2 * (i * columns + j)]) < 1e-12);
            assert_true(fabs(__imag__ sum - b[2 * (i * columns + j) + 1]) < 1e-12);
        }
    }
}

TEST(every_form_of_a_triangular_system_is_solved)
{
    for (int form = 0; form < 8; form++)
        for (int t = TN_transpose_NO_TRANSPOSE; t <= TN_transpose_ADJOINT; t++)
            check_solution(form & 1, form & 2, t, form & 4);
}

/* Values are what the stored ones stand for: 0.5 (v - 1) in, 0.25 (v + 2) out. */
TEST(quantized_matrices_stand_for_their_values)
{
    static const double half = 0.5, quarter = 0.25;
    static const int64_t one = 1, minus_two = -2;
    static const tn_quantization in = {TN_I8, TN_F32, -128, 127, -1, 1, &half, &one},
                                 out = {TN_I8, TN_F32, -128, 127, -1, 1, &quarter, &minus_two};
    tn_type m = *type_of("2x2xi8", 6), v = *type_of("2x1xi8", 6), r = m, w = v;
    m.quantization = v.quantization = &in;
    r.quantization = w.quantization = &out;
    const int8_t spd[] = {9, 99, 5, 21}; /* [[4, -], [2, 10]] = L L' of [[2, 0], [1, 3]] */
    const int8_t low[] = {5, 99, 3, 7};  /* [[2, -], [1, 3]] */
    const int8_t right[] = {9, 11};      /* [4, 5] */
    int8_t got[4];
    tn_op *op = cholesky_op("2x2xi8", true);
    op->operands[0]->type = &m;
    op->results[0].type = &r;
    RUN(op, IN(spd), OUT(got));
    EXPECT(int8_t, got, 6, -2, 2, 10);
    op = make_op(TN_OP_triangular_solve, "2x2xi8, 2x1xi8", "2x1xi8");
    SET_BOOL(op, left_side, true);
    SET_BOOL(op, lower, true);
    SET_BOOL(op, unit_diagonal, false);
    SET_INT(op, transpose_a, TN_transpose_NO_TRANSPOSE);
    op->operands[0]->type = &m;
    op->operands[1]->type = &v;
    op->results[0].type = &w;
    RUN(op, IN(low, right), OUT(got));
    EXPECT(int8_t, got, 6, 2); /* 2, 1 */
}

TEST(shapes_are_checked)
{
    EXPECT_INVALID(cholesky_op("2x3xf32", true),
                   "operand 0 should be square matrices and is tensor<2x3xf32>");
    EXPECT_INVALID(cholesky_op("3x3xi32", true), "operand 0 should be matrices of floats");
    tn_op *op = make_op(TN_OP_triangular_solve, "3x3xf32, 4x2xf32", "4x2xf32");
    SET_BOOL(op, left_side, true);
    SET_BOOL(op, lower, true);
    SET_BOOL(op, unit_diagonal, false);
    SET_INT(op, transpose_a, TN_transpose_NO_TRANSPOSE);
    EXPECT_INVALID(op, "dimension 0 of operand 1 should be 3");
}

TEST(empty_batches_and_matrices_work)
{
    float nothing[1];
    RUN(cholesky_op("0x3x3xf32", true), IN(nothing), OUT(nothing));
    RUN(cholesky_op("2x0x0xf32", true), IN(nothing), OUT(nothing));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cholesky_reads_one_triangle_and_clears_the_other),
        cmocka_unit_test(a_matrix_that_is_not_positive_definite_gives_nan),
        cmocka_unit_test(a_complex_factor_times_its_adjoint_is_the_matrix),
        cmocka_unit_test(every_form_of_a_triangular_system_is_solved),
        cmocka_unit_test(quantized_matrices_stand_for_their_values),
        cmocka_unit_test(shapes_are_checked),
        cmocka_unit_test(empty_batches_and_matrices_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
