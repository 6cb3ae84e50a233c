/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/op_test.h"

static void set(tn_op *op, int64_t feature, double epsilon)
{
    tn_attr *e = TN_NEW(arena, tn_attr);
    e->kind = TN_ATTR_KIND_FLOAT;
    e->real = epsilon;
    tn_op_set_attr(module, op, TN_ATTR_epsilon, e);
    SET_INT(op, feature_index, feature);
}

static const double x[] = {1, 2, 3, 4, 3, 4, 1, 2}, one[] = {1, 1}, mean[] = {2, 3};

TEST(normalizes_the_examples)
{
    double out[8], batch_mean[2], variance[2];
    tn_op *op =
        make_op(TN_OP_batch_norm_inference, "2x2x2xf64, 2xf64, 2xf64, 2xf64, 2xf64", "2x2x2xf64");
    set(op, 2, 0);
    RUN(op, IN(x, one, one, mean, one), OUT(out));
    EXPECT(double, out, 0, 0, 2, 2, 2, 2, 0, 0);
    op = make_op(TN_OP_batch_norm_training, "2x2x2xf64, 2xf64, 2xf64", "2x2x2xf64, 2xf64, 2xf64");
    set(op, 2, 0);
    RUN(op, IN(x, one, one), OUT(out, batch_mean, variance));
    EXPECT(double, out, 0, 0, 2, 2, 2, 2, 0, 0);
    EXPECT(double, batch_mean, 2, 3);
    EXPECT(double, variance, 1, 1);
    set(op, 3, 0);
    EXPECT_INVALID(op, "feature_index should be a dimension in [0, 3) and is 3");
    op = make_op(TN_OP_batch_norm_training, "2x2x3xf64, 2xf64, 2xf64", "2x2x3xf64, 2xf64, 2xf64");
    set(op, 2, 0);
    EXPECT_INVALID(op, "operand 1 should have 3 values, the size of dimension 2");
}

TEST(differentiates_the_example)
{
    double grad[8], out[8], scale[2], offset[2];
    for (int i = 0; i < 8; i++) grad[i] = 0.1;
    tn_op *op = make_op(TN_OP_batch_norm_grad, "2x2x2xf64, 2xf64, 2xf64, 2xf64, 2x2x2xf64",
                        "2x2x2xf64, 2xf64, 2xf64");
    set(op, 2, 0);
    RUN(op, IN(x, one, mean, one, grad), OUT(out, scale, offset));
    for (int i = 0; i < 8; i++) assert_true(fabs(out[i]) < 1e-15);
    EXPECT(double, scale, 0, 0);
    EXPECT(double, offset, 0.4, 0.4);
}

/* The gradient against differences of the training op, with a middle feature dimension. */
TEST(gradients_agree_with_differences)
{
    enum { N = 30, C = 3, H = 5 };
    double v[N], grad[N], scale[C] = {1, 2, -1}, offset[C] = {0, 1, 2};
    double m[C], variance[C], out[N], grad_x[N], grad_scale[C], grad_offset[C];
    for (int i = 0; i < N; i++) {
        v[i] = (double)random_below(100) / 10;
        grad[i] = (double)random_below(100) / 100;
    }
    tn_op *train =
        make_op(TN_OP_batch_norm_training, "2x3x5xf64, 3xf64, 3xf64", "2x3x5xf64, 3xf64, 3xf64");
    set(train, 1, 0.01);
    RUN(train, IN(v, scale, offset), OUT(out, m, variance));
    tn_op *op = make_op(TN_OP_batch_norm_grad, "2x3x5xf64, 3xf64, 3xf64, 3xf64, 2x3x5xf64",
                        "2x3x5xf64, 3xf64, 3xf64");
    set(op, 1, 0.01);
    RUN(op, IN(v, scale, m, variance, grad), OUT(grad_x, grad_scale, grad_offset));
    for (int k = 0; k < N + C; k++) {
        double *at = k < N ? &v[k] : &scale[k - N], sum[2], keep = *at;
        for (int side = 0; side < 2; side++) {
            *at = keep + (side ? 1e-5 : -1e-5);
            RUN(train, IN(v, scale, offset), OUT(out, m, variance));
            sum[side] = 0;
            for (int i = 0; i < N; i++) sum[side] += out[i] * grad[i];
        }
        *at = keep;
        double want = (sum[1] - sum[0]) / 2e-5, got = k < N ? grad_x[k] : grad_scale[k - N];
        assert_true(fabs(want - got) < 1e-7);
    }
}

TEST(narrow_floats_round_once)
{
    uint16_t h[] = {0x3F80, 0x4000}, one_h[] = {0x3F80}, zero_h[] = {0}, out[2]; /* 1, 2 */
    tn_op *op =
        make_op(TN_OP_batch_norm_inference, "2x1xbf16, 1xbf16, 1xbf16, 1xbf16, 1xbf16", "2x1xbf16");
    set(op, 1, 0);
    RUN(op, IN(h, one_h, one_h, zero_h, one_h), OUT(out));
    EXPECT(uint16_t, out, 0x4000, 0x4040);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normalizes_the_examples),
        cmocka_unit_test(differentiates_the_example),
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(narrow_floats_round_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
