/* SPDX-License-Identifier: Apache-2.0 */
/* pad, dynamic_pad: negative edges crop, after interior padding. */
#include "ops/pad.h"

#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/boxes.h"
#include "ops/infer.h"
#include "ops/strided.h"

/* n + low + max(n - 1, 0) * interior + high. False where that is no size. */
static bool padded_size(int64_t n, int64_t low, int64_t interior, int64_t high, int64_t *out)
{
    __int128 size = (__int128)n + low + (__int128)(n > 1 ? n - 1 : 0) * interior + high;
    *out = (int64_t)size;
    return size >= 0 && size <= INT64_MAX;
}

static tn_status *check_operands(const tn_op *op)
{
    TN_TRY(tn_check_tensor(op, 0));
    TN_TRY(tn_check_rank(op, 1, 0));
    return tn_check_same_element(op, 0, 1);
}

tn_status *tn_infer_pad(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_operands(op));
    const tn_type *t = tn_operand_type(op, 0);
    tn_ints low, high, interior;
    TN_TRY(tn_check_ints(op, TN_ATTR_edge_padding_low, t->rank, INT64_MIN, &low));
    TN_TRY(tn_check_ints(op, TN_ATTR_edge_padding_high, t->rank, INT64_MIN, &high));
    TN_TRY(tn_check_ints(op, TN_ATTR_interior_padding, t->rank, 0, &interior));
    int64_t *dims = TN_NEW_ARRAY(a, int64_t, t->rank);
    for (uint32_t i = 0; i < t->rank; i++) {
        dims[i] = TN_DYNAMIC;
        if (t->dims[i] != TN_DYNAMIC &&
            !padded_size(t->dims[i], low.v[i], interior.v[i], high.v[i], &dims[i]))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u of size %" PRId64 " can't be padded by %" PRId64
                               ", %" PRId64 " and %" PRId64 " (low, interior, high)",
                               i, t->dims[i], low.v[i], interior.v[i], high.v[i]);
    }
    out[0] = tn_type_like(a, t, t->rank, dims);
    return NULL;
}

tn_status *tn_infer_dynamic_pad(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_operands(op));
    TN_TRY(tn_check_result_tensor(op, 0));
    const tn_type *from = tn_operand_type(op, 0), *to = tn_result_type(op, 0);
    for (uint32_t i = 2; i < 5; i++) TN_TRY(tn_check_shape_operand(op, i, from->rank));
    if (!tn_elements_agree(from, to) || from->rank != to->rank)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s can't be padded to %s",
                           TN_TYPE_IN_MESSAGE(from), TN_TYPE_IN_MESSAGE(to));
    out[0] = to;
    return NULL;
}

/* The part of dimension `dim` that lands in the result: elements [*first, *first + *n) go to
 * *at, *at + step and so on. */
static void landing(int64_t size, int64_t low, __int128 step, int64_t room, int64_t *first,
                    int64_t *n, int64_t *at)
{
    __int128 begin = low >= 0 ? 0 : (-(__int128)low + step - 1) / step;
    __int128 end = room > low ? ((__int128)room - low + step - 1) / step : 0;
    if (end > size) end = size;
    *n = begin < end ? (int64_t)(end - begin) : 0;
    *first = *n ? (int64_t)begin : 0;
    *at = *n ? (int64_t)(low + begin * step) : 0;
}

/* Where the operand lands in the result, dimension by dimension. */
typedef struct {
    int64_t at, n;
} extent;

/* The operand, and what surrounds it: slabs, each within those of the dimensions before it. */
static void run_boxes(const tn_eval_context *ctx, const tn_tensor *to, const char *src,
                      const void *value, const extent *landed, const int64_t *steps)
{
    const tn_type *t = to->type;
    tn_box boxes[2 * TN_BOX_RANK + 1], inside = {.src = value};
    uint32_t n = 0;
    for (uint32_t d = 0; d < t->rank; d++) inside.n[d] = t->dims[d];
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t end = landed[d].at + landed[d].n;
        boxes[n] = inside;
        boxes[n].n[d] = landed[d].at;
        n += landed[d].at > 0;
        boxes[n] = inside;
        boxes[n].at[d] = end;
        boxes[n].n[d] = t->dims[d] - end;
        n += end < t->dims[d];
        inside.at[d] = landed[d].at;
        inside.n[d] = landed[d].n;
    }
    boxes[n] = inside;
    boxes[n].src = src;
    for (uint32_t d = 0; d < t->rank; d++) boxes[n].step[d] = steps[d];
    tn_boxes_run(boxes, n + 1, t, to->data, ctx->pool);
}

void tn_pad_tensor(const tn_eval_context *ctx, const tn_tensor *from, const void *value,
                   const int64_t *low, const int64_t *interior, const tn_tensor *to)
{
    int64_t w = tn_width(to->type), covered = 1;
    uint32_t rank = to->type->rank;
    if (tn_is_empty(to->type)) return;
    const char *src = from->data;
    char *dst = to->data;
    extent landed[TN_BOX_RANK];
    int64_t steps[TN_BOX_RANK];
    bool solid = rank <= TN_BOX_RANK; /* no gaps between the operand's elements */
    tn_strided s;
    tn_strided_init(&s);
    if (tn_is_empty(from->type)) s.empty = true;
    for (uint32_t i = 0; i < rank && !s.empty; i++) {
        int64_t n, first, at, size = from->type->dims[i];
        /* A lone element takes no step, however large. */
        __int128 step = size > 1 ? (__int128)interior[i] + 1 : 1;
        landing(size, low[i], step, to->type->dims[i], &first, &n, &at);
        int64_t src_step = tn_stride(from->type, i), dst_step = tn_stride(to->type, i);
        covered *= n;
        if (n) {
            src += first * src_step;
            dst += at * dst_step;
        }
        if (n > 1 && step > 1) solid = false;
        if (solid) landed[i] = (extent){at, n}, steps[i] = src_step;
        tn_strided_push(&s, n, n > 1 ? (int64_t)step * dst_step : dst_step, src_step);
    }
    int64_t elements = tn_type_elements(to->type);
    if (!s.empty && covered && covered != elements && solid && !tn_strided_is_recording()) {
        run_boxes(ctx, to, src, value, landed, steps);
        return;
    }
    if (s.empty || covered != elements) tn_fill(ctx->pool, to->data, value, (size_t)w, elements);
    tn_strided_run(&s, (size_t)w, dst, src, ctx->pool);
}

tn_status *tn_eval_pad(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                       tn_tensor *results)
{
    uint32_t n;
    const int64_t *low = tn_op_ints(op, TN_ATTR_edge_padding_low, &n);
    const int64_t *interior = tn_op_ints(op, TN_ATTR_interior_padding, &n);
    tn_pad_tensor(ctx, &operands[0], operands[1].data, low, interior, &results[0]);
    return NULL;
}

tn_status *tn_eval_dynamic_pad(const tn_op *op, const tn_eval_context *ctx,
                               const tn_tensor *operands, tn_tensor *results)
{
    const tn_type *from = operands[0].type, *to = results[0].type;
    uint32_t rank = from->rank;
    int64_t *v = tn_scratch_alloc(ctx->scratch, (2 * (size_t)rank + 1) * sizeof *v);
    if (!v) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    for (uint32_t i = 0; i < rank; i++) {
        int64_t high = tn_read_index(operands[3].data, operands[3].type->element, i), size;
        v[i] = tn_read_index(operands[2].data, operands[2].type->element, i);
        v[rank + i] = tn_read_index(operands[4].data, operands[4].type->element, i);
        if (v[rank + i] < 0 || !padded_size(from->dims[i], v[i], v[rank + i], high, &size) ||
            size != to->dims[i])
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u of size %" PRId64 ", padded by %" PRId64 ", %" PRId64
                               " and %" PRId64 " (low, interior, high), should become %" PRId64,
                               i, from->dims[i], v[i], v[rank + i], high, to->dims[i]);
    }
    tn_pad_tensor(ctx, &operands[0], operands[1].data, v, v + rank, &results[0]);
    return NULL;
}
