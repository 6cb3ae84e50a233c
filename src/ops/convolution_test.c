/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/op_test.h"

#include "kernels/half.h"

/* --- against the specification, element by element --- */

enum { MAX_RANK = 5 };

typedef struct {
    uint32_t rank;                                         /* spatial dimensions */
    int64_t in[MAX_RANK], kernel[MAX_RANK], out[MAX_RANK]; /* sizes by place in memory */
    int64_t in_dims[MAX_RANK], kernel_dims[MAX_RANK],
        out_dims[MAX_RANK]; /* batch, feature, spatial ...; in, out ... */
    int64_t strides[3], padding[6], lhs_dilation[3], rhs_dilation[3];
    bool reversal[3];
    int64_t feature_groups, batch_groups;
} problem;

static void shuffle(int64_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    for (uint32_t i = n; i-- > 1;) {
        int64_t j = random_below(i + 1), x = order[i];
        order[i] = order[j], order[j] = x;
    }
}

static bool make_problem(problem *p)
{
    p->rank = (uint32_t)random_below(4);
    shuffle(p->in_dims, p->rank + 2);
    shuffle(p->kernel_dims, p->rank + 2);
    shuffle(p->out_dims, p->rank + 2);
    p->feature_groups = p->batch_groups = 1;
    if (random_below(3) == 0)
        *(random_below(2) ? &p->feature_groups : &p->batch_groups) = 1 + random_below(3);
    int64_t features = 1 + random_below(3), batch = 1 + random_below(3);
    int64_t outputs = (1 + random_below(3)) * p->feature_groups * p->batch_groups;
    p->in[p->in_dims[0]] = batch * p->batch_groups;
    p->in[p->in_dims[1]] = features * p->feature_groups;
    p->kernel[p->kernel_dims[0]] = features;
    p->kernel[p->kernel_dims[1]] = outputs;
    p->out[p->out_dims[0]] = batch;
    p->out[p->out_dims[1]] = outputs;
    for (uint32_t d = 0; d < p->rank; d++) {
        int64_t size = 1 + random_below(5), taps = 1 + random_below(3);
        p->strides[d] = 1 + random_below(2), p->lhs_dilation[d] = 1 + random_below(3) / 2;
        p->rhs_dilation[d] = 1 + random_below(3) / 2, p->reversal[d] = random_below(3) == 0;
        p->padding[2 * d] = random_below(4) - 1, p->padding[2 * d + 1] = random_below(4) - 1;
        int64_t room =
            (size - 1) * p->lhs_dilation[d] + 1 + p->padding[2 * d] + p->padding[2 * d + 1];
        int64_t reach = (taps - 1) * p->rhs_dilation[d] + 1;
        p->in[p->in_dims[2 + d]] = size, p->kernel[p->kernel_dims[2 + d]] = taps;
        p->out[p->out_dims[2 + d]] = room < reach ? 0 : (room - reach) / p->strides[d] + 1;
    }
    return true;
}

static const bool no_reversal[1] = {false};

static void set_reversal(tn_op *op, const bool *values, uint32_t n)
{
    tn_attr *reversal = TN_NEW(arena, tn_attr);
    reversal->kind = TN_ATTR_KIND_BOOLS;
    reversal->bools.data = values;
    reversal->bools.n = n;
    tn_op_set_attr(module, op, TN_ATTR_window_reversal, reversal);
}

static tn_op *make_conv(const problem *p, tn_element_type in, tn_element_type out)
{
    tn_op *op = make_op(TN_OP_convolution, "f32, f32", "f32");
    op->operands[0]->type = tn_type_tensor(arena, in, p->rank + 2, p->in);
    op->operands[1]->type = tn_type_tensor(arena, in, p->rank + 2, p->kernel);
    op->results[0].type = tn_type_tensor(arena, out, p->rank + 2, p->out);
#define LIST(name, values, n)                                                                      \
    tn_op_set_attr(module, op, TN_ATTR_##name, tn_attr_ints(arena, values, n))
    SET_INT(op, input_batch_dimension, p->in_dims[0]);
    SET_INT(op, input_feature_dimension, p->in_dims[1]);
    LIST(input_spatial_dimensions, p->in_dims + 2, p->rank);
    SET_INT(op, kernel_input_feature_dimension, p->kernel_dims[0]);
    SET_INT(op, kernel_output_feature_dimension, p->kernel_dims[1]);
    LIST(kernel_spatial_dimensions, p->kernel_dims + 2, p->rank);
    SET_INT(op, output_batch_dimension, p->out_dims[0]);
    SET_INT(op, output_feature_dimension, p->out_dims[1]);
    LIST(output_spatial_dimensions, p->out_dims + 2, p->rank);
    LIST(window_strides, p->strides, p->rank);
    LIST(padding, p->padding, 2 * p->rank);
    LIST(lhs_dilation, p->lhs_dilation, p->rank);
    LIST(rhs_dilation, p->rhs_dilation, p->rank);
    SET_INT(op, feature_group_count, p->feature_groups);
    SET_INT(op, batch_group_count, p->batch_groups);
#undef LIST
    set_reversal(op, p->reversal, p->rank);
    return op;
}

static int64_t offset(uint32_t rank, const int64_t *dims, const int64_t *at)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < rank; i++) n = n * dims[i] + at[i];
    return n;
}

static float expected(const problem *p, const float *in, const float *kernel, int64_t i)
{
    uint32_t rank = p->rank + 2;
    int64_t at[MAX_RANK], x[MAX_RANK], y[MAX_RANK], taps = p->kernel[p->kernel_dims[0]];
    for (uint32_t d = rank; d-- > 0; i /= p->out[d]) at[d] = i % p->out[d];
    for (uint32_t d = 0; d < p->rank; d++) taps *= p->kernel[p->kernel_dims[2 + d]];
    int64_t f = at[p->out_dims[1]], n = at[p->out_dims[0]], features = p->kernel[p->kernel_dims[0]];
    int64_t group = f / (p->out[p->out_dims[1]] / (p->feature_groups * p->batch_groups));
    float sum = 0;
    for (int64_t k = 0; k < taps; k++) {
        int64_t rest = k / features, c = k % features;
        bool inside = true;
        x[p->in_dims[0]] = p->batch_groups > 1 ? group * p->out[p->out_dims[0]] + n : n;
        x[p->in_dims[1]] = p->feature_groups > 1 ? group * features + c : c;
        y[p->kernel_dims[0]] = c, y[p->kernel_dims[1]] = f;
        for (uint32_t d = 0; d < p->rank; d++) {
            int64_t size = p->kernel[p->kernel_dims[2 + d]], tap = rest % size;
            rest /= size;
            int64_t place = at[p->out_dims[2 + d]] * p->strides[d] + tap * p->rhs_dilation[d] -
                            p->padding[2 * d];
            inside &= place >= 0 && place % p->lhs_dilation[d] == 0 &&
                      place / p->lhs_dilation[d] < p->in[p->in_dims[2 + d]];
            x[p->in_dims[2 + d]] = place / p->lhs_dilation[d];
            y[p->kernel_dims[2 + d]] = p->reversal[d] ? size - 1 - tap : tap;
        }
        if (inside) sum += in[offset(rank, p->in, x)] * kernel[offset(rank, p->kernel, y)];
    }
    return sum;
}

TEST(any_dimension_numbers)
{
    static float in[20000], kernel[5000], out[50000];
    static int8_t in8[20000], kernel8[5000], out8[50000];
    for (int round = 0; round < 2000; round++) {
        problem p;
        make_problem(&p);
        for (int i = 0; i < 20000; i++) in8[i] = (int8_t)(in[i] = (float)(random_below(9) - 4));
        for (int i = 0; i < 5000; i++)
            kernel8[i] = (int8_t)(kernel[i] = (float)(random_below(9) - 4));
        tn_op *op = make_conv(&p, TN_F32, TN_F32);
        RUN(op, IN(in, kernel), OUT(out));
        RUN(make_conv(&p, TN_I8, TN_I8), IN(in8, kernel8), OUT(out8));
        for (int64_t i = 0, n = tn_type_elements(op->results[0].type); i < n; i++) {
            float want = expected(&p, in, kernel, i);
            assert_true(out[i] == want);
            assert_int_equal(out8[i], (int8_t)(int32_t)want);
        }
    }
}

/* One image and one feature along one dimension: 1xNx1 by Kx1x1. */
static tn_op *make_line(const char *operands, const char *result, int64_t low, int64_t high)
{
    tn_op *op = make_op(TN_OP_convolution, operands, result);
    SET_INT(op, input_batch_dimension, 0);
    SET_INT(op, input_feature_dimension, 2);
    SET_INTS(op, input_spatial_dimensions, 1);
    SET_INT(op, kernel_input_feature_dimension, 1);
    SET_INT(op, kernel_output_feature_dimension, 2);
    SET_INTS(op, kernel_spatial_dimensions, 0);
    SET_INT(op, output_batch_dimension, 0);
    SET_INT(op, output_feature_dimension, 2);
    SET_INTS(op, output_spatial_dimensions, 1);
    SET_INTS(op, padding, low, high);
    SET_INTS(op, window_strides, 1);
    SET_INTS(op, lhs_dilation, 1);
    SET_INTS(op, rhs_dilation, 1);
    set_reversal(op, no_reversal, 1);
    SET_INT(op, feature_group_count, 1);
    SET_INT(op, batch_group_count, 1);
    return op;
}

TEST(padding_adds_and_crops)
{
    const float x[] = {1, 2, 3, 4}, k[] = {1, 10};
    float out[5];
    RUN(make_line("1x4x1xf32, 2x1x1xf32", "1x3x1xf32", 0, 0), IN(x, k), OUT(out));
    EXPECT(float, out, 21, 32, 43);
    RUN(make_line("1x4x1xf32, 2x1x1xf32", "1x5x1xf32", 1, 1), IN(x, k), OUT(out));
    EXPECT(float, out, 10, 21, 32, 43, 4);
    RUN(make_line("1x4x1xf32, 2x1x1xf32", "1x1x1xf32", -1, -1), IN(x, k), OUT(out));
    EXPECT(float, out, 32);
}

TEST(types_accumulate_wide_and_round_once)
{
    static uint16_t ones[600], k[600], out[1];
    for (int i = 0; i < 600; i++) ones[i] = k[i] = 0x3f80;
    RUN(make_line("1x600x1xbf16, 600x1x1xbf16", "1x1x1xbf16", 0, 0), IN(ones, k), OUT(out));
    EXPECT(uint16_t, out, tn_bf16_of_f32(600));
    const uint8_t u[] = {200, 100}, v[] = {2, 1};
    uint8_t narrow[1];
    uint32_t wide[1];
    RUN(make_line("1x2x1xui8, 2x1x1xui8", "1x1x1xui8", 0, 0), IN(u, v), OUT(narrow));
    EXPECT(uint8_t, narrow, 500 - 256);
    RUN(make_line("1x2x1xui8, 2x1x1xui8", "1x1x1xui32", 0, 0), IN(u, v), OUT(wide));
    EXPECT(uint32_t, wide, 500);
    const int64_t p[] = {INT64_MAX, 3}, q[] = {2, 1};
    int64_t sums[1];
    RUN(make_line("1x2x1xi64, 2x1x1xi64", "1x1x1xi64", 0, 0), IN(p, q), OUT(sums));
    EXPECT(int64_t, sums, 1);
    const double c[] = {1, 2, 0, 1}, d[] = {0, 1, 3, 0}; /* (1+2i)i + 3i */
    double z[2];
    RUN(make_line("1x2x1xcomplex<f64>, 2x1x1xcomplex<f64>", "1x1x1xcomplex<f64>", 0, 0), IN(c, d),
        OUT(z));
    EXPECT(double, z, -2, 4);
    const bool a[] = {1, 1, 0, 0}, b[] = {1, 1};
    bool any[3];
    RUN(make_line("1x4x1xi1, 2x1x1xi1", "1x3x1xi1", 0, 0), IN(a, b), OUT(any));
    EXPECT(bool, any, 1, 1, 0);
}

TEST(sums_of_nothing_are_zero)
{
    float out[3] = {1, 1, 1};
    const float k[] = {1, 1};
    RUN(make_line("1x0x1xf32, 2x1x1xf32", "1x3x1xf32", 2, 2), IN(NULL, k), OUT(out));
    EXPECT(float, out, 0, 0, 0);
    RUN(make_line("1x1x1xf32, 2x1x1xf32", "1x0x1xf32", 0, 0), IN(k, k), OUT(NULL));
}

TEST(dynamic_conv_reads_its_padding)
{
    tn_op *op = make_op(TN_OP_dynamic_conv, "1x4x1xf32, 2x1x1xf32, 1x2xi32", "1x5x1xf32");
    tn_op *like = make_line("1x4x1xf32, 2x1x1xf32", "1x5x1xf32", 1, 1);
    static const tn_attr_name names[] = {TN_ATTR_input_batch_dimension,
                                         TN_ATTR_input_feature_dimension,
                                         TN_ATTR_input_spatial_dimensions,
                                         TN_ATTR_kernel_input_feature_dimension,
                                         TN_ATTR_kernel_output_feature_dimension,
                                         TN_ATTR_kernel_spatial_dimensions,
                                         TN_ATTR_output_batch_dimension,
                                         TN_ATTR_output_feature_dimension,
                                         TN_ATTR_output_spatial_dimensions,
                                         TN_ATTR_feature_group_count,
                                         TN_ATTR_window_strides,
                                         TN_ATTR_lhs_dilation,
                                         TN_ATTR_rhs_dilation,
                                         TN_ATTR_window_reversal,
                                         TN_ATTR_batch_group_count};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        tn_op_set_attr(module, op, names[i], tn_op_attr(like, names[i]));
    const float x[] = {1, 2, 3, 4}, k[] = {1, 10};
    int32_t padding[] = {1, 1};
    float out[5];
    RUN(op, IN(x, k, padding), OUT(out));
    EXPECT(float, out, 10, 21, 32, 43, 4);
    padding[1] = 0;
    tn_status *s = run(op, IN(x, k, padding), OUT(out));
    assert_non_null(strstr(tn_status_message(s), "there are 4 windows"));
    tn_status_free(s);
}

TEST(constraints_are_checked)
{
    tn_op *op = make_line("1x4x1xf32, 2x1x1xf32", "1x3x1xf32", 0, 0);
    SET_INT(op, input_feature_dimension, 1);
    EXPECT_INVALID(op,
                   "input_spatial_dimensions has a dimension that is also input_feature_dimension");
    SET_INT(op, input_feature_dimension, 3);
    EXPECT_INVALID(op, "input_feature_dimension should be a dimension in [0, 3)");
    op = make_line("1x4x1xf32, 2x1x1xf32", "1x3x1xf32", 0, 0);
    SET_INT(op, feature_group_count, 2);
    EXPECT_INVALID(op, "dimension 2 of lhs should be a multiple of feature_group_count 2 and is 1");
    SET_INT(op, feature_group_count, 0);
    EXPECT_INVALID(op, "group counts should be at least 1");
    op = make_line("1x4x1xf32, 2x1x1xf32", "1x3x1xf32", 0, 0);
    SET_INTS(op, window_strides, 0);
    EXPECT_INVALID(op, "window_strides[0] should be at least 1");
    SET_INTS(op, window_strides, 1, 1);
    EXPECT_INVALID(op, "window_strides should have 1 values");
    op = make_line("1x4x3xf32, 2x2x1xf32", "1x3x1xf32", 0, 0);
    EXPECT_INVALID(op, "dimension 1 of rhs should have size 3");
    EXPECT_INVALID(make_line("1x4x1xf32, 2x1x1xf32", "1x4x1xf32", 0, 0), "1x3x1xf32");
    EXPECT_INVALID(make_line("1x4x1xf32, 2x1x1xi32", "1x3x1xf32", 0, 0), "can't be multiplied");
    EXPECT_INVALID(make_line("4x1xf32, 2x1x1xf32", "1x3x1xf32", 0, 0), "rank");
    op = make_line("1x4x1xf32, 2x1x1xf32", "1x3x1xf32", INT64_MAX, INT64_MAX);
    EXPECT_INVALID(op, "too many windows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_dimension_numbers),
        cmocka_unit_test(padding_adds_and_crops),
        cmocka_unit_test(types_accumulate_wide_and_round_once),
        cmocka_unit_test(sums_of_nothing_are_zero),
        cmocka_unit_test(dynamic_conv_reads_its_padding),
        cmocka_unit_test(constraints_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
