/* SPDX-License-Identifier: Apache-2.0 */
/* convolution, dynamic_conv. */
#include "kernels/conv.h"
#include "kernels/conv_amx.h"

#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"
#include "ops/product.h"

/* Attributes of either op; `padding` is NULL where it is an operand. */
typedef struct {
    uint32_t rank; /* spatial dimensions */
    int64_t in_batch, in_feature, kernel_in, kernel_out, out_batch, out_feature;
    const int64_t *in_spatial, *kernel_spatial, *out_spatial;
    const int64_t *strides, *padding, *lhs_dilation, *rhs_dilation;
    const bool *reversal;
    int64_t feature_groups, batch_groups;
} window;

static window window_of(const tn_op *op)
{
    window w = {
        .in_batch = tn_op_int(op, TN_ATTR_input_batch_dimension, 0),
        .in_feature = tn_op_int(op, TN_ATTR_input_feature_dimension, 0),
        .kernel_in = tn_op_int(op, TN_ATTR_kernel_input_feature_dimension, 0),
        .kernel_out = tn_op_int(op, TN_ATTR_kernel_output_feature_dimension, 0),
        .out_batch = tn_op_int(op, TN_ATTR_output_batch_dimension, 0),
        .out_feature = tn_op_int(op, TN_ATTR_output_feature_dimension, 0),
        .feature_groups = tn_op_int(op, TN_ATTR_feature_group_count, 1),
        .batch_groups = tn_op_int(op, TN_ATTR_batch_group_count, 1),
    };
    uint32_t n;
    w.in_spatial = tn_op_ints(op, TN_ATTR_input_spatial_dimensions, &w.rank);
    w.kernel_spatial = tn_op_ints(op, TN_ATTR_kernel_spatial_dimensions, &n);
    w.out_spatial = tn_op_ints(op, TN_ATTR_output_spatial_dimensions, &n);
    w.strides = tn_op_ints(op, TN_ATTR_window_strides, &n);
    w.lhs_dilation = tn_op_ints(op, TN_ATTR_lhs_dilation, &n);
    w.rhs_dilation = tn_op_ints(op, TN_ATTR_rhs_dilation, &n);
    w.reversal = tn_op_bools(op, TN_ATTR_window_reversal, &n);
    if (op->kind == TN_OP_convolution) w.padding = tn_op_ints(op, TN_ATTR_padding, &n);
    return w;
}

/* --- inference --- */

/* The dimension numbers of one tensor: two dimensions and a list, all different, that name each of
 * its dimensions once. */
static tn_status *check_numbers(const tn_op *op, uint32_t rank, tn_attr_name first,
                                tn_attr_name second, tn_attr_name spatial)
{
    int64_t a, b;
    tn_ints list;
    TN_TRY(tn_check_dim(op, first, rank, &a));
    TN_TRY(tn_check_dim(op, second, rank, &b));
    TN_TRY(tn_check_dims(op, spatial, rank, false, &list));
    if (list.n != rank - 2)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s should have %u values and has %u",
                           tn_attr_text(spatial), rank - 2, list.n);
    if (a == b)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s and %s are both %" PRId64, tn_attr_text(first),
                           tn_attr_text(second), a);
    if (tn_ints_have(list, a) || tn_ints_have(list, b))
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s has a dimension that is also %s",
                           tn_attr_text(spatial),
                           tn_attr_text(tn_ints_have(list, a) ? first : second));
    return NULL;
}

static tn_status *check_attributes(const tn_op *op, uint32_t rank)
{
    TN_TRY(check_numbers(op, rank, TN_ATTR_input_batch_dimension, TN_ATTR_input_feature_dimension,
                         TN_ATTR_input_spatial_dimensions));
    TN_TRY(check_numbers(op, rank, TN_ATTR_kernel_input_feature_dimension,
                         TN_ATTR_kernel_output_feature_dimension,
                         TN_ATTR_kernel_spatial_dimensions));
    TN_TRY(check_numbers(op, rank, TN_ATTR_output_batch_dimension, TN_ATTR_output_feature_dimension,
                         TN_ATTR_output_spatial_dimensions));
    tn_ints unused;
    TN_TRY(tn_check_ints(op, TN_ATTR_window_strides, rank - 2, 1, &unused));
    TN_TRY(tn_check_ints(op, TN_ATTR_lhs_dilation, rank - 2, 1, &unused));
    TN_TRY(tn_check_ints(op, TN_ATTR_rhs_dilation, rank - 2, 1, &unused));
    if (op->kind == TN_OP_convolution)
        TN_TRY(tn_check_ints(op, TN_ATTR_padding, 2 * (rank - 2), INT64_MIN, &unused));
    uint32_t n;
    tn_op_bools(op, TN_ATTR_window_reversal, &n);
    TN_TRY(tn_check_count(op, "values of window_reversal", rank - 2, n));
    window w = window_of(op);
    if (w.feature_groups < 1 || w.batch_groups < 1)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "group counts should be at least 1 and are %" PRId64
                           " (feature) and %" PRId64 " (batch)",
                           w.feature_groups, w.batch_groups);
    if (w.feature_groups > 1 && w.batch_groups > 1)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "feature_group_count is %" PRId64 " and batch_group_count %" PRId64
                           ": one of them should be 1",
                           w.feature_groups, w.batch_groups);
    return NULL;
}

static tn_status *check_multiple(const tn_op *op, const char *operand, const tn_type *t,
                                 int64_t dim, const char *count, int64_t of)
{
    if (t->dims[dim] == TN_DYNAMIC || t->dims[dim] % of == 0) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op,
                       "dimension %" PRId64 " of %s should be a multiple of %s %" PRId64
                       " and is %" PRId64,
                       dim, operand, count, of, t->dims[dim]);
}

static tn_status *check_groups(const tn_op *op, const window *w)
{
    const tn_type *x = tn_operand_type(op, 0), *y = tn_operand_type(op, 1);
    TN_TRY(check_multiple(op, "lhs", x, w->in_batch, "batch_group_count", w->batch_groups));
    TN_TRY(check_multiple(op, "lhs", x, w->in_feature, "feature_group_count", w->feature_groups));
    TN_TRY(check_multiple(op, "rhs", y, w->kernel_out, "batch_group_count", w->batch_groups));
    TN_TRY(check_multiple(op, "rhs", y, w->kernel_out, "feature_group_count", w->feature_groups));
    int64_t features = x->dims[w->in_feature], taken = y->dims[w->kernel_in];
    if (features != TN_DYNAMIC && !tn_dims_agree(features / w->feature_groups, taken))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "dimension %" PRId64 " of rhs should have size %" PRId64
                           ", the input features of a group, and has %" PRId64,
                           w->kernel_in, features / w->feature_groups, taken);
    return NULL;
}

/* Windows along spatial dimension i, -1: more than fit. */
static int64_t window_count(const window *w, uint32_t i, int64_t size, int64_t taps, int64_t low,
                            int64_t high)
{
    __int128 room = size ? (__int128)(size - 1) * w->lhs_dilation[i] + 1 : 0;
    __int128 reach = taps ? (__int128)(taps - 1) * w->rhs_dilation[i] + 1 : 0;
    room += (__int128)low + high;
    if (room <= 0 || reach > room) return 0;
    __int128 n = (room - reach) / w->strides[i] + 1;
    return n > INT64_MAX ? -1 : (int64_t)n;
}

static tn_status *check_all(const tn_op *op)
{
    TN_TRY(tn_check_tensor(op, 0));
    TN_TRY(tn_check_tensor(op, 1));
    uint32_t rank = tn_operand_type(op, 0)->rank;
    if (rank < 2)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand 0 has rank %u, expected at least 2",
                           rank);
    TN_TRY(tn_check_rank(op, 1, rank));
    TN_TRY(check_attributes(op, rank));
    window w = window_of(op);
    TN_TRY(check_groups(op, &w));
    return tn_check_product_types(op);
}

tn_status *tn_infer_convolution(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_all(op));
    window w = window_of(op);
    const tn_type *x = tn_operand_type(op, 0), *y = tn_operand_type(op, 1);
    int64_t *dims = TN_NEW_ARRAY(a, int64_t, x->rank), batch = x->dims[w.in_batch];
    dims[w.out_batch] = batch == TN_DYNAMIC ? batch : batch / w.batch_groups;
    dims[w.out_feature] = y->dims[w.kernel_out];
    for (uint32_t i = 0; i < w.rank; i++) {
        int64_t size = x->dims[w.in_spatial[i]], taps = y->dims[w.kernel_spatial[i]];
        int64_t low = w.padding ? w.padding[2 * i] : 0, high = w.padding ? w.padding[2 * i + 1] : 0;
        int64_t n = size == TN_DYNAMIC || taps == TN_DYNAMIC
                        ? TN_DYNAMIC
                        : window_count(&w, i, size, taps, low, high);
        if (n == -1)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "spatial dimension %u of size %" PRId64 " padded by %" PRId64
                               " and %" PRId64 " has too many windows",
                               i, size, low, high);
        dims[w.out_spatial[i]] = n;
    }
    out[0] = tn_product_type(op, a, x->rank, dims);
    return NULL;
}

tn_status *tn_infer_dynamic_conv(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_all(op));
    window w = window_of(op);
    const tn_type *x = tn_operand_type(op, 0), *y = tn_operand_type(op, 1),
                  *p = tn_operand_type(op, 2), *z = tn_result_type(op, 0);
    TN_TRY(tn_check_rank(op, 2, 2));
    TN_TRY(tn_check_integer(op, 2));
    if (!tn_dims_agree(p->dims[0], w.rank) || !tn_dims_agree(p->dims[1], 2))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "operand 2 should be a tensor of %ux2 paddings and is %s", w.rank,
                           TN_TYPE_IN_MESSAGE(p));
    int64_t batch = x->dims[w.in_batch];
    if (batch != TN_DYNAMIC) batch /= w.batch_groups;
    if (z->rank != x->rank || !tn_dims_agree(z->dims[w.out_batch], batch) ||
        !tn_dims_agree(z->dims[w.out_feature], y->dims[w.kernel_out]))
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "result 0 is %s, for operands of %s and %s",
                           TN_TYPE_IN_MESSAGE(z), TN_TYPE_IN_MESSAGE(x), TN_TYPE_IN_MESSAGE(y));
    out[0] = z;
    return NULL;
}

/* --- evaluation --- */

/* Groups, images and features with their strides. */
static void fill_features(const window *w, const tn_type *x, const tn_type *y, const tn_type *z,
                          tn_conv *c)
{
    int64_t groups = w->feature_groups * w->batch_groups;
    c->groups = groups;
    c->batch = z->dims[w->out_batch];
    c->in_features = y->dims[w->kernel_in];
    c->out_features = y->dims[w->kernel_out] / groups;
    c->in_batch = tn_step(x, (uint32_t)w->in_batch);
    c->in_feature = tn_step(x, (uint32_t)w->in_feature);
    c->in_group = w->batch_groups > 1 ? c->batch * c->in_batch : c->in_features * c->in_feature;
    c->kernel_in_feature = tn_step(y, (uint32_t)w->kernel_in);
    c->kernel_out_feature = tn_step(y, (uint32_t)w->kernel_out);
    c->kernel_group = c->out_features * c->kernel_out_feature;
    c->out_batch = tn_step(z, (uint32_t)w->out_batch);
    c->out_feature = tn_step(z, (uint32_t)w->out_feature);
    c->out_group = c->out_features * c->out_feature;
}

static tn_status *fill_axes(const tn_op *op, const window *w, const tn_tensor *padding,
                            const tn_type *x, const tn_type *y, const tn_type *z, tn_conv *c)
{
    c->rank = 0;
    for (uint32_t i = 0; i < w->rank; i++) {
        uint32_t p = (uint32_t)w->in_spatial[i], q = (uint32_t)w->kernel_spatial[i],
                 r = (uint32_t)w->out_spatial[i];
        int64_t low = w->padding ? w->padding[2 * i] : 0,
                high = w->padding ? w->padding[2 * i + 1] : 0;
        if (padding) {
            low = tn_read_index(padding->data, padding->type->element, 2 * i);
            high = tn_read_index(padding->data, padding->type->element, 2 * i + 1);
        }
        int64_t n = window_count(w, i, x->dims[p], y->dims[q], low, high);
        if (n != z->dims[r])
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u of the result has size %" PRId64
                               ", but there are %" PRId64 " windows with padding of %" PRId64
                               " and %" PRId64,
                               r, z->dims[r], n, low, high);
        if (x->dims[p] == 1 && y->dims[q] == 1 && z->dims[r] == 1 && low == 0) continue;
        if (c->rank == TN_CONV_MAX_SPATIAL)
            return TN_OP_ERROR(UNIMPLEMENTED, op, "more than %d spatial dimensions",
                               TN_CONV_MAX_SPATIAL);
        c->axes[c->rank++] = (tn_conv_axis){.in_size = x->dims[p],
                                            .kernel_size = y->dims[q],
                                            .out_size = z->dims[r],
                                            .stride = w->strides[i],
                                            .pad_low = low,
                                            .in_dilation = w->lhs_dilation[i],
                                            .kernel_dilation = w->rhs_dilation[i],
                                            .reversed = w->reversal[i],
                                            .in_stride = tn_step(x, p),
                                            .kernel_stride = tn_step(y, q),
                                            .out_stride = tn_step(z, r)};
    }
    return NULL;
}

/* In matrix registers, without conversion of the operands. */
static bool run_amx(const tn_eval_context *ctx, const tn_conv *c, const tn_tensor *operands,
                    tn_tensor *result)
{
    const tn_type *x = operands[0].type, *y = operands[1].type, *z = result->type;
    if (x->quantization || y->quantization || z->quantization) return false;
    tn_amx_kind kind = tn_conv_amx_kind(c, x->element, y->element, z->element);
    if (kind == TN_AMX_NONE) return false;
    void *workspace = tn_scratch_alloc(ctx->scratch, tn_conv_amx_workspace(c, kind, ctx->pool));
    return workspace && tn_conv_amx_run(c, kind, z->element, operands[0].data, operands[1].data,
                                        result->data, ctx->pool, workspace);
}

static tn_status *convolve(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                           const tn_tensor *padding, tn_tensor *results)
{
    window w = window_of(op);
    tn_conv c;
    TN_TRY(fill_axes(op, &w, padding, operands[0].type, operands[1].type, results[0].type, &c));
    if (tn_is_empty(results[0].type)) return NULL;
    bool empty = tn_is_empty(operands[0].type) || tn_is_empty(operands[1].type);
    fill_features(&w, operands[0].type, operands[1].type, results[0].type, &c);
    if (!empty && !tn_conv_fits(&c))
        return TN_OP_ERROR(UNIMPLEMENTED, op,
                           "padding, strides or dilations that make positions exceed 2^40");
    if (!empty && run_amx(ctx, &c, operands, results)) return NULL;
    tn_product_tensors t;
    TN_TRY(tn_product_begin(op, ctx, operands, results, true, &t));
    if (empty) { /* sums of nothing */
        memset(t.out.data, 0, tn_type_bytes(t.out.type));
        return tn_product_end(op, ctx, &t, results);
    }
    c.type = t.out.type->element;
    void *workspace = tn_scratch_alloc(ctx->scratch, tn_conv_workspace(&c, ctx->pool));
    tn_conv_run(&c, t.lhs.data, t.rhs.data, t.out.data, ctx->pool, workspace);
    return tn_product_end(op, ctx, &t, results);
}

tn_status *tn_eval_convolution(const tn_op *op, const tn_eval_context *ctx,
                               const tn_tensor *operands, tn_tensor *results)
{
    return convolve(op, ctx, operands, NULL, results);
}

tn_status *tn_eval_dynamic_conv(const tn_op *op, const tn_eval_context *ctx,
                                const tn_tensor *operands, tn_tensor *results)
{
    return convolve(op, ctx, operands, &operands[2], results);
}
