/* SPDX-License-Identifier: Apache-2.0 */
/* slice, dynamic_slice, dynamic_update_slice, real_dynamic_slice. */
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"
#include "ops/strided.h"

tn_status *tn_infer_slice(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    const tn_type *t = tn_operand_type(op, 0);
    tn_ints start, limit, stride;
    TN_TRY(tn_check_ints(op, TN_ATTR_start_indices, t->rank, 0, &start));
    TN_TRY(tn_check_ints(op, TN_ATTR_limit_indices, t->rank, 0, &limit));
    TN_TRY(tn_check_ints(op, TN_ATTR_strides, t->rank, 1, &stride));
    int64_t *dims = TN_NEW_ARRAY(a, int64_t, t->rank);
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t size = t->dims[i] == TN_DYNAMIC ? INT64_MAX : t->dims[i];
        if (start.v[i] > limit.v[i] || limit.v[i] > size)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u: start %" PRId64 " and limit %" PRId64
                               " should be in order and within %s",
                               i, start.v[i], limit.v[i], TN_TYPE_IN_MESSAGE(t));
        int64_t span = limit.v[i] - start.v[i];
        dims[i] = span / stride.v[i] + (span % stride.v[i] != 0);
    }
    out[0] = tn_type_like(a, t, t->rank, dims);
    return NULL;
}

tn_status *tn_eval_slice(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                         tn_tensor *results)
{
    const tn_type *from = operands[0].type, *to = results[0].type;
    if (tn_is_empty(to)) return NULL;
    uint32_t n;
    const int64_t *start = tn_op_ints(op, TN_ATTR_start_indices, &n);
    const int64_t *stride = tn_op_ints(op, TN_ATTR_strides, &n);
    const char *src = operands[0].data;
    tn_strided s;
    tn_strided_init(&s);
    for (uint32_t i = 0; i < n; i++) {
        int64_t step = tn_stride(from, i);
        src += start[i] * step;
        /* A stride past the end of a dimension of size 1 is legal, and never taken. */
        tn_strided_push(&s, to->dims[i], tn_stride(to, i),
                        to->dims[i] > 1 ? stride[i] * step : step);
    }
    tn_strided_run(&s, (size_t)tn_width(to), results[0].data, src, ctx->pool);
    return NULL;
}

/* Operands [first, first + rank) are scalars of one integer type. */
static tn_status *check_starts(const tn_op *op, uint32_t first, uint32_t rank)
{
    TN_TRY(tn_check_count(op, "number of start indices", rank, (int64_t)op->n_operands - first));
    for (uint32_t i = first; i < op->n_operands; i++) {
        TN_TRY(tn_check_integer(op, i));
        TN_TRY(tn_check_rank(op, i, 0));
        TN_TRY(tn_check_same_element(op, first, i));
    }
    return NULL;
}

/* Where the window of the shape of `part` begins in `whole`: start indices are moved so that it
 * fits. */
static int64_t window_offset(const tn_tensor *starts, const tn_type *whole, const tn_type *part)
{
    int64_t offset = 0;
    for (uint32_t i = 0; i < whole->rank; i++) {
        int64_t start = tn_read_index(starts[i].data, starts[i].type->element, 0);
        offset += tn_clamp_index(start, 0, whole->dims[i] - part->dims[i]) * tn_stride(whole, i);
    }
    return offset;
}

static tn_status *check_fits(const tn_op *op, const tn_type *whole, const tn_type *part)
{
    for (uint32_t i = 0; i < whole->rank; i++)
        if (part->dims[i] > whole->dims[i])
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "a window of %s doesn't fit in %s",
                               TN_TYPE_IN_MESSAGE(part), TN_TYPE_IN_MESSAGE(whole));
    return NULL;
}

tn_status *tn_infer_dynamic_slice(const tn_op *op, tn_arena *a, const tn_type **out)
{
    if (!op->n_operands) return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected operands, got none");
    TN_TRY(tn_check_tensor(op, 0));
    const tn_type *t = tn_operand_type(op, 0);
    TN_TRY(check_starts(op, 1, t->rank));
    tn_ints sizes;
    TN_TRY(tn_check_ints(op, TN_ATTR_slice_sizes, t->rank, 0, &sizes));
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] != TN_DYNAMIC && sizes.v[i] > t->dims[i])
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "slice_sizes[%u] should be at most %" PRId64
                               ", the size of that dimension, and is %" PRId64,
                               i, t->dims[i], sizes.v[i]);
    out[0] = tn_type_like(a, t, t->rank, sizes.v);
    return NULL;
}

tn_status *tn_eval_dynamic_slice(const tn_op *op, const tn_eval_context *ctx,
                                 const tn_tensor *operands, tn_tensor *results)
{
    const tn_type *from = operands[0].type, *to = results[0].type;
    if (tn_is_empty(to)) return NULL;
    TN_TRY(check_fits(op, from, to));
    tn_strided s;
    tn_strided_init(&s);
    for (uint32_t i = 0; i < to->rank; i++)
        tn_strided_push(&s, to->dims[i], tn_stride(to, i), tn_stride(from, i));
    tn_strided_run(&s, (size_t)tn_width(to), results[0].data,
                   (const char *)operands[0].data + window_offset(operands + 1, from, to),
                   ctx->pool);
    return NULL;
}

tn_status *tn_infer_dynamic_update_slice(const tn_op *op, tn_arena *a, const tn_type **out)
{
    if (op->n_operands < 2)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected at least 2 operands, got %u",
                           op->n_operands);
    TN_TRY(tn_check_tensor(op, 0));
    const tn_type *t = tn_operand_type(op, 0);
    TN_TRY(tn_check_rank(op, 1, t->rank));
    TN_TRY(tn_check_same_element(op, 0, 1));
    const tn_type *update = tn_operand_type(op, 1);
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] != TN_DYNAMIC && update->dims[i] > t->dims[i])
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u of the update, %s, should be at most that of the "
                               "operand, %s",
                               i, TN_TYPE_IN_MESSAGE(update), TN_TYPE_IN_MESSAGE(t));
    TN_TRY(check_starts(op, 2, t->rank));
    out[0] = t;
    return NULL;
}

tn_status *tn_eval_dynamic_update_slice(const tn_op *op, const tn_eval_context *ctx,
                                        const tn_tensor *operands, tn_tensor *results)
{
    const tn_type *t = operands[0].type, *update = operands[1].type;
    TN_TRY(check_fits(op, t, update));
    tn_copy_bytes(ctx->pool, results[0].data, operands[0].data, tn_type_bytes(t));
    /* The operand updated with itself, in place. */
    if (tn_is_empty(update) || operands[1].data == results[0].data) return NULL;
    tn_strided s;
    tn_strided_init(&s);
    for (uint32_t i = 0; i < t->rank; i++)
        tn_strided_push(&s, update->dims[i], tn_stride(t, i), tn_stride(update, i));
    tn_strided_run(&s, (size_t)tn_width(t),
                   (char *)results[0].data + window_offset(operands + 2, t, update),
                   operands[1].data, ctx->pool);
    return NULL;
}

tn_status *tn_infer_real_dynamic_slice(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    TN_TRY(tn_check_result_tensor(op, 0));
    const tn_type *from = tn_operand_type(op, 0), *to = tn_result_type(op, 0);
    for (uint32_t i = 1; i < 4; i++) {
        TN_TRY(tn_check_shape_operand(op, i, from->rank));
        TN_TRY(tn_check_same_element(op, 1, i));
    }
    if (!tn_elements_agree(from, to) || from->rank != to->rank)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "a slice of %s can't be %s",
                           TN_TYPE_IN_MESSAGE(from), TN_TYPE_IN_MESSAGE(to));
    for (uint32_t i = 0; i < from->rank; i++)
        if (from->dims[i] != TN_DYNAMIC && to->dims[i] > from->dims[i])
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u of the result, %s, should be at most that of the "
                               "operand, %s",
                               i, TN_TYPE_IN_MESSAGE(to), TN_TYPE_IN_MESSAGE(from));
    out[0] = to;
    return NULL;
}

tn_status *tn_eval_real_dynamic_slice(const tn_op *op, const tn_eval_context *ctx,
                                      const tn_tensor *operands, tn_tensor *results)
{
    const tn_type *from = operands[0].type, *to = results[0].type;
    if (tn_is_empty(to)) return NULL;
    TN_TRY(check_fits(op, from, to));
    const char *src = operands[0].data;
    tn_strided s;
    tn_strided_init(&s);
    for (uint32_t i = 0; i < to->rank; i++) {
        int64_t start = tn_read_index(operands[1].data, operands[1].type->element, i);
        int64_t stride = tn_read_index(operands[3].data, operands[3].type->element, i);
        int64_t steps = to->dims[i] - 1, room = from->dims[i] - 1;
        if (stride < 1 || (steps && stride > room / steps))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "stride %" PRId64
                               " of dimension %u should be positive and take %" PRId64
                               " steps within %s",
                               stride, i, steps, TN_TYPE_IN_MESSAGE(from));
        if (!steps) stride = 0;
        int64_t step = tn_stride(from, i);
        src += tn_clamp_index(start, 0, room - steps * stride) * step;
        tn_strided_push(&s, to->dims[i], tn_stride(to, i), stride * step);
    }
    tn_strided_run(&s, (size_t)tn_width(to), results[0].data, src, ctx->pool);
    return NULL;
}
