/* SPDX-License-Identifier: Apache-2.0 */
/* broadcast, broadcast_in_dim, dynamic_broadcast_in_dim. */
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"
#include "ops/strided.h"

tn_status *tn_infer_broadcast(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    const tn_type *t = tn_operand_type(op, 0);
    tn_ints sizes;
    sizes.v = tn_op_ints(op, TN_ATTR_broadcast_sizes, &sizes.n);
    TN_TRY(tn_check_ints(op, TN_ATTR_broadcast_sizes, sizes.n, 0, &sizes));
    uint32_t rank = sizes.n + t->rank;
    int64_t *dims = TN_NEW_ARRAY(a, int64_t, rank);
    for (uint32_t i = 0; i < rank; i++) dims[i] = i < sizes.n ? sizes.v[i] : t->dims[i - sizes.n];
    out[0] = tn_type_like(a, t, rank, dims);
    return NULL;
}

tn_status *tn_eval_broadcast(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                             tn_tensor *results)
{
    const tn_type *t = results[0].type;
    if (tn_is_empty(t)) return NULL;
    int64_t n = tn_type_elements(operands[0].type), w = tn_width(t);
    tn_strided s;
    tn_strided_init(&s);
    tn_strided_push(&s, tn_type_elements(t) / n, n * w, 0);
    tn_strided_push(&s, n, w, w);
    tn_strided_run(&s, (size_t)w, results[0].data, operands[0].data, ctx->pool);
    return NULL;
}

static tn_status *check_axis(const tn_op *op, const tn_type *from, const tn_type *to, tn_ints map)
{
    const tn_quantization *p = from->quantization, *q = to->quantization;
    if (!q || q->axis < 0) return NULL;
    if (p->axis >= map.n || q->axis != map.v[p->axis])
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "dimension %" PRId64
                           " of the operand is quantized, but dimension %" PRId64 " of the result",
                           p->axis, q->axis);
    if (from->dims[p->axis] != 1) return NULL;
    for (uint32_t i = 0; i < q->n; i++)
        if (q->scales[i] != p->scales[0] || q->zero_points[i] != p->zero_points[0])
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "the quantization of element %u of dimension %" PRId64
                               " of the result is not the operand's",
                               i, q->axis);
    return NULL;
}

static tn_status *infer_in_dim(const tn_op *op, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    TN_TRY(tn_check_result_tensor(op, 0));
    const tn_type *from = tn_operand_type(op, 0), *to = tn_result_type(op, 0);
    if (!tn_elements_agree(from, to))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "the result should have the element type of %s and is %s",
                           TN_TYPE_IN_MESSAGE(from), TN_TYPE_IN_MESSAGE(to));
    tn_ints map;
    TN_TRY(tn_check_dims(op, TN_ATTR_broadcast_dimensions, to->rank, false, &map));
    TN_TRY(tn_check_count(op, "size of broadcast_dimensions", from->rank, map.n));
    for (uint32_t i = 0; i < map.n; i++)
        if (from->dims[i] != 1 && !tn_dims_agree(from->dims[i], to->dims[map.v[i]]))
            return TN_OP_ERROR(
                INVALID_ARGUMENT, op,
                "dimension %u of operand 0, %s, should be 1 or the size of dimension "
                "%" PRId64 " of the result, %s",
                i, TN_TYPE_IN_MESSAGE(from), map.v[i], TN_TYPE_IN_MESSAGE(to));
    TN_TRY(check_axis(op, from, to, map));
    out[0] = to;
    return NULL;
}

tn_status *tn_infer_broadcast_in_dim(const tn_op *op, tn_arena *a, const tn_type **out)
{
    return infer_in_dim(op, out);
}

tn_status *tn_infer_dynamic_broadcast_in_dim(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(infer_in_dim(op, out));
    TN_TRY(tn_check_shape_operand(op, 1, out[0]->rank));
    uint32_t rank = tn_operand_type(op, 0)->rank;
    tn_ints grows, keeps;
    TN_TRY(tn_check_dims(op, TN_ATTR_known_expanding_dimensions, rank, false, &grows));
    TN_TRY(tn_check_dims(op, TN_ATTR_known_nonexpanding_dimensions, rank, false, &keeps));
    for (uint32_t i = 0; i < grows.n; i++)
        if (tn_ints_have(keeps, grows.v[i]))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %" PRId64 " is named as expanding and as not expanding",
                               grows.v[i]);
    return NULL;
}

tn_status *tn_eval_broadcast_in_dim(const tn_op *op, const tn_eval_context *ctx,
                                    const tn_tensor *operands, tn_tensor *results)
{
    const tn_type *from = operands[0].type, *to = results[0].type;
    if (tn_is_empty(to)) return NULL;
    uint32_t n;
    const int64_t *map = tn_op_ints(op, TN_ATTR_broadcast_dimensions, &n);
    tn_strided s;
    tn_strided_init(&s);
    for (uint32_t i = 0; i < to->rank; i++) {
        int64_t src = 0;
        for (uint32_t j = 0; j < n; j++) {
            if (map[j] != i || from->dims[j] == 1) continue;
            /* Dynamic shapes were not compared before they were known. */
            if (from->dims[j] != to->dims[i])
                return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s can't be broadcast to %s",
                                   TN_TYPE_IN_MESSAGE(from), TN_TYPE_IN_MESSAGE(to));
            src = tn_stride(from, j);
        }
        tn_strided_push(&s, to->dims[i], tn_stride(to, i), src);
    }
    tn_strided_run(&s, (size_t)tn_width(to), results[0].data, operands[0].data, ctx->pool);
    return NULL;
}
