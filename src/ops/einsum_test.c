/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/op_test.h"

TEST(products_follow_their_labels)
{
    tn_op *op = make_op(TN_OP_einsum, "2x3xi32, 3x2xi32", "2x2xi32");
    SET_STRING(op, einsum_config, "ab,bc->ca");
    int32_t x[] = {1, 2, 3, 4, 5, 6}, y[] = {1, 0, 0, 1, 1, 1}, out[4];
    RUN(op, IN(x, y), OUT(out));
    EXPECT(int32_t, out, 4, 10, 5, 11);
    SET_STRING(op, einsum_config, "ab,bc->cd");
    EXPECT_INVALID(op, "'d' of the result should be named once, and by an operand too");
    SET_STRING(op, einsum_config, "ab,ac->cb");
    EXPECT_INVALID(op, "dimension 0 of operand 1, 'a', should be 2 and is 3");
    SET_STRING(op, einsum_config, "ab,bc");
    EXPECT_INVALID(op, "einsum_config 'ab,bc' should name 2 operands and a result");
    /* A batch, an outer product, and a label that only one operand has. */
    op = make_op(TN_OP_einsum, "2x2x2xf32, 2x2xf32", "2x2xf32");
    SET_STRING(op, einsum_config, "zab,zc->zc");
    float p[] = {1, 2, 3, 4, 5, 6, 7, 8}, q[] = {1, 2, 3, 4}, r[4];
    RUN(op, IN(p, q), OUT(r));
    EXPECT(float, r, 10, 20, 78, 104);
}

TEST(one_operand_sums_and_transposes)
{
    float x[] = {1, 2, 3, 4}, out[4];
    tn_op *op = make_op(TN_OP_unary_einsum, "2x2xf32", "f32");
    SET_STRING(op, einsum_config, "aa->");
    RUN(op, IN(x), OUT(out));
    EXPECT(float, out, 5);
    op = make_op(TN_OP_unary_einsum, "2x2xf32", "2x2xf32");
    SET_STRING(op, einsum_config, "ab->ba");
    RUN(op, IN(x), OUT(out));
    EXPECT(float, out, 1, 3, 2, 4);
    SET_STRING(op, einsum_config, "...a->a");
    expect_invalid(op, TN_UNIMPLEMENTED, "ellipses in einsum_config");
}

TEST(complex_products)
{
    float x[] = {0, 1, 2, 0}, y[] = {0, 1, 1, 1}, out[2];
    tn_op *op = make_op(TN_OP_einsum, "2xcomplex<f32>, 2xcomplex<f32>", "complex<f32>");
    SET_STRING(op, einsum_config, "a,a->");
    RUN(op, IN(x, y), OUT(out));
    EXPECT(float, out, 1, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_follow_their_labels),
        cmocka_unit_test(one_operand_sums_and_transposes),
        cmocka_unit_test(complex_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
