/* SPDX-License-Identifier: Apache-2.0 */
/* tenon.boxes, which the pass of that name makes of ops that only move elements: box b is of
 * operand dimensions[b], covers slice_sizes[b] elements from start_indices[b] on along each
 * dimension of the result, and strides[b] says where in the operand it begins, by linear index, and
 * what a step along each dimension of the result takes there. */
#include "ops/boxes.h"

#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"
#include "ops/strided.h"

/* Does every element of a box lie in its operand and in the result? */
static bool fits(const int64_t *at, const int64_t *n, const int64_t *strides, const tn_type *to,
                 int64_t elements)
{
    __int128 low = strides[0], high = strides[0];
    for (uint32_t d = 0; d < to->rank; d++) {
        if (at[d] < 0 || n[d] < 1 || at[d] > to->dims[d] - n[d]) return false;
        __int128 reach = (__int128)(n[d] - 1) * strides[1 + d];
        if (reach < 0) low += reach;
        else high += reach;
    }
    return low >= 0 && high < elements;
}

tn_status *tn_infer_boxes(const tn_op *op, tn_arena *a, const tn_type **out)
{
    (void)a;
    TN_TRY(tn_check_result_tensor(op, 0));
    const tn_type *to = tn_result_type(op, 0);
    if (!tn_type_is_static(to) || to->rank > TN_BOX_RANK)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s is no result of it", TN_TYPE_IN_MESSAGE(to));
    tn_ints of, at, n, strides;
    of.v = tn_op_ints(op, TN_ATTR_dimensions, &of.n);
    TN_TRY(tn_check_ints(op, TN_ATTR_start_indices, of.n * to->rank, 0, &at));
    TN_TRY(tn_check_ints(op, TN_ATTR_slice_sizes, of.n * to->rank, 1, &n));
    TN_TRY(tn_check_ints(op, TN_ATTR_strides, of.n * (to->rank + 1), INT64_MIN, &strides));
    __int128 covered = 0;
    for (uint32_t b = 0; b < of.n; b++) {
        if (of.v[b] < 0 || of.v[b] >= op->n_operands)
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "box %u is of no operand", b);
        const tn_type *from = tn_operand_type(op, (uint32_t)of.v[b]);
        if (from->element != to->element || !tn_type_is_static(from) ||
            !fits(at.v + b * to->rank, n.v + b * to->rank, strides.v + b * (to->rank + 1), to,
                  tn_type_elements(from)))
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "box %u goes beyond %s or %s", b,
                               TN_TYPE_IN_MESSAGE(from), TN_TYPE_IN_MESSAGE(to));
        __int128 elements = 1;
        for (uint32_t d = 0; d < to->rank; d++) elements *= n.v[b * to->rank + d];
        covered += elements;
    }
    if (covered != tn_type_elements(to))
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "the boxes don't cover %s",
                           TN_TYPE_IN_MESSAGE(to));
    out[0] = to;
    return NULL;
}

/* Each box of a piece that goes past the caches waits for its last line. */
enum { PIECE_BYTES = 32768, STREAMED_PIECE_BYTES = 262144 };

typedef struct {
    const tn_box *boxes;
    uint32_t n_boxes, rank, split; /* the dimension that is cut into pieces */
    int64_t unit, units;           /* of so many of its elements, and how many there are */
    const int64_t *dims;
    int64_t width, stride[TN_BOX_RANK];
    char *out;
    bool stream;
} job;

/* The part of a box with low <= place < high in each dimension. */
static void run_box(const job *j, const tn_box *b, const int64_t *low, const int64_t *high)
{
    char *dst = j->out;
    const char *src = b->src;
    tn_strided s;
    tn_strided_init(&s);
    for (uint32_t d = 0; d < j->rank; d++) {
        int64_t begin = b->at[d], end = begin + b->n[d];
        if (begin < low[d]) begin = low[d];
        if (end > high[d]) end = high[d];
        if (begin >= end) return;
        dst += begin * j->stride[d];
        src += (begin - b->at[d]) * b->step[d];
        tn_strided_push(&s, end - begin, j->stride[d], b->step[d]);
    }
    tn_strided_plan p;
    tn_strided_prepare(&s, (size_t)j->width, &p);
    p.stream = j->stream;
    tn_strided_execute(&p, dst, src);
}

static void run_pieces(void *ctx, int64_t first, int64_t last)
{
    const job *j = ctx;
    for (int64_t i = first; i < last; i++) {
        int64_t low[TN_BOX_RANK], high[TN_BOX_RANK], rest = i / j->units;
        for (uint32_t d = j->rank; d-- > 0;) {
            low[d] = 0;
            high[d] = j->dims[d];
            if (d >= j->split) continue;
            low[d] = rest % j->dims[d];
            high[d] = low[d] + 1;
            rest /= j->dims[d];
        }
        if (j->rank) {
            low[j->split] = i % j->units * j->unit;
            high[j->split] = low[j->split] + j->unit;
        }
        for (uint32_t b = 0; b < j->n_boxes; b++) run_box(j, &j->boxes[b], low, high);
    }
}

void tn_boxes_run(const tn_box *boxes, uint32_t n, const tn_type *t, void *out,
                  tn_thread_pool *pool)
{
    if (tn_is_empty(t)) return;
    job j = {.boxes = boxes,
             .n_boxes = n,
             .rank = t->rank,
             .units = 1,
             .dims = t->dims,
             .width = tn_width(t),
             .out = out};
    int64_t bytes = j.width, items = 1;
    j.stream = tn_type_elements(t) * j.width >= TN_STREAMED_BYTES;
    int64_t piece = j.stream ? STREAMED_PIECE_BYTES : PIECE_BYTES;
    for (uint32_t d = t->rank; d-- > 0; bytes *= t->dims[d]) {
        j.stride[d] = bytes;
        if (bytes <= piece) j.split = d;
    }
    if (j.rank) {
        j.unit = piece / j.stride[j.split];
        j.units = (t->dims[j.split] + j.unit - 1) / j.unit;
        items = j.units;
        for (uint32_t d = 0; d < j.split; d++) items *= t->dims[d];
    }
    tn_parallel_for(pool, items, (double)bytes * 0.1 / (double)items, run_pieces, &j);
}

tn_status *tn_eval_boxes(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                         tn_tensor *results)
{
    enum { ON_STACK = 32 };
    const tn_type *to = results[0].type;
    uint32_t n, rank = to->rank, count;
    const int64_t *of = tn_op_ints(op, TN_ATTR_dimensions, &n);
    const int64_t *at = tn_op_ints(op, TN_ATTR_start_indices, &count);
    const int64_t *size = tn_op_ints(op, TN_ATTR_slice_sizes, &count);
    const int64_t *strides = tn_op_ints(op, TN_ATTR_strides, &count);
    int64_t w = tn_width(to);
    tn_box boxes[ON_STACK];
    if (n > ON_STACK) return TN_OP_ERROR(INTERNAL, op, "more than %d boxes", ON_STACK);
    for (uint32_t b = 0; b < n; b++, strides += rank + 1) {
        boxes[b].src = (const char *)operands[of[b]].data + strides[0] * w;
        for (uint32_t d = 0; d < rank; d++) {
            boxes[b].at[d] = at[b * rank + d];
            boxes[b].n[d] = size[b * rank + d];
            boxes[b].step[d] = strides[1 + d] * w;
        }
    }
    tn_boxes_run(boxes, n, to, results[0].data, ctx->pool);
    return NULL;
}
