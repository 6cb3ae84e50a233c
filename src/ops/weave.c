/* SPDX-License-Identifier: Apache-2.0 */
/* tenon.weave, which the pass of that name makes of pads that fill each other's gaps: element k of
 * operand i along the dimension goes to start_indices[i] + k strides[i]; together they cover the
 * result. */
#include "base/thread_pool.h"
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"
#include "ops/strided.h"

tn_status *tn_infer_weave(const tn_op *op, tn_arena *a, const tn_type **out)
{
    if (!op->n_operands) return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected operands, got none");
    TN_TRY(tn_check_tensor(op, 0));
    const tn_type *first = tn_operand_type(op, 0);
    int64_t d, size = 0;
    TN_TRY(tn_check_dim(op, TN_ATTR_dimension, first->rank, &d));
    tn_ints start, stride;
    TN_TRY(tn_check_ints(op, TN_ATTR_start_indices, op->n_operands, 0, &start));
    TN_TRY(tn_check_ints(op, TN_ATTR_strides, op->n_operands, 1, &stride));
    for (uint32_t i = 0; i < op->n_operands; i++) {
        TN_TRY(tn_check_rank(op, i, first->rank));
        TN_TRY(tn_check_same_element(op, 0, i));
        const tn_type *t = tn_operand_type(op, i);
        for (uint32_t j = 0; j < t->rank; j++)
            if (t->dims[j] == TN_DYNAMIC || (j != d && t->dims[j] != first->dims[j]))
                return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u, %s, doesn't go with %s", i,
                                   TN_TYPE_IN_MESSAGE(t), TN_TYPE_IN_MESSAGE(first));
        if (__builtin_add_overflow(size, t->dims[d], &size))
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "the result has too many elements");
    }
    for (uint32_t i = 0; i < op->n_operands; i++) {
        int64_t n = tn_operand_type(op, i)->dims[d], last = 0;
        if (n && (__builtin_mul_overflow(n - 1, stride.v[i], &last) ||
                  __builtin_add_overflow(last, start.v[i], &last) || last >= size))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "operand %u goes beyond the result's %" PRId64 " elements", i, size);
    }
    int64_t *dims = tn_dup(a, first->dims, first->rank * sizeof *dims);
    dims[d] = size;
    out[0] = tn_type_like(a, first, first->rank, dims);
    return NULL;
}

typedef struct {
    const tn_tensor *operands;
    const int64_t *start, *stride;
    uint32_t n, dim;
    int64_t row, step, w; /* bytes of a row of the result and of one step in it; of an element */
    char *out;
} weaving;

/* Rows of the result, each of them from all operands. */
static void weave_rows(void *ctx, int64_t begin, int64_t end)
{
    const weaving *j = ctx;
    for (uint32_t i = 0; i < j->n; i++) {
        int64_t n = j->operands[i].type->dims[j->dim];
        tn_strided s;
        tn_strided_init(&s);
        tn_strided_push(&s, end - begin, j->row, n * j->step);
        tn_strided_push(&s, n, j->stride[i] * j->step, j->step);
        tn_strided_push(&s, j->step / j->w, j->w, j->w);
        tn_strided_run(&s, (size_t)j->w, j->out + begin * j->row + j->start[i] * j->step,
                       (const char *)j->operands[i].data + begin * n * j->step, NULL);
    }
}

tn_status *tn_eval_weave(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                         tn_tensor *results)
{
    const tn_type *to = results[0].type;
    if (tn_is_empty(to)) return NULL;
    uint32_t n, d = (uint32_t)tn_op_int(op, TN_ATTR_dimension, 0);
    weaving j = {.operands = operands,
                 .start = tn_op_ints(op, TN_ATTR_start_indices, &n),
                 .stride = tn_op_ints(op, TN_ATTR_strides, &n),
                 .n = op->n_operands,
                 .dim = d,
                 .w = tn_width(to),
                 .out = results[0].data};
    j.step = tn_step(to, d) * j.w;
    j.row = j.step * to->dims[d];
    int64_t rows = tn_type_elements(to) * j.w / j.row;
    if (rows >= 2 * tn_thread_pool_size(ctx->pool)) {
        tn_parallel_for(ctx->pool, rows, (double)j.row * 0.2, weave_rows, &j);
        return NULL;
    }
    for (uint32_t i = 0; i < j.n; i++) {
        int64_t size = operands[i].type->dims[d];
        tn_strided s;
        tn_strided_init(&s);
        tn_strided_push(&s, rows, j.row, size * j.step);
        tn_strided_push(&s, size, j.stride[i] * j.step, j.step);
        tn_strided_push(&s, j.step / j.w, j.w, j.w);
        tn_strided_run(&s, (size_t)j.w, j.out + j.start[i] * j.step, operands[i].data, ctx->pool);
    }
    return NULL;
}
