/* SPDX-License-Identifier: Apache-2.0 */
/* transpose, reverse, concatenate. */
#include "base/thread_pool.h"
#include "kernels/interleave.h"
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"
#include "ops/strided.h"

tn_status *tn_infer_transpose(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    const tn_type *t = tn_operand_type(op, 0);
    tn_ints p;
    TN_TRY(tn_check_dims(op, TN_ATTR_permutation, t->rank, false, &p));
    TN_TRY(tn_check_count(op, "size of permutation", t->rank, p.n));
    int64_t *dims = TN_NEW_ARRAY(a, int64_t, t->rank);
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = t->dims[p.v[i]];
    out[0] = tn_type_like(a, t, t->rank, dims);
    const tn_quantization *from = t->quantization, *to = tn_result_type(op, 0)->quantization;
    if (from && to && from->axis >= 0 &&
        (to->axis < 0 || to->axis >= p.n || p.v[to->axis] != from->axis))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "dimension %" PRId64
                           " of the operand is quantized, but dimension %" PRId64 " of the result",
                           from->axis, to->axis);
    return NULL;
}

tn_status *tn_eval_transpose(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                             tn_tensor *results)
{
    const tn_type *from = operands[0].type, *to = results[0].type;
    if (tn_is_empty(to)) return NULL;
    uint32_t n;
    const int64_t *p = tn_op_ints(op, TN_ATTR_permutation, &n);
    tn_strided s;
    tn_strided_init(&s);
    for (uint32_t i = 0; i < n; i++)
        tn_strided_push(&s, to->dims[i], tn_stride(to, i), tn_stride(from, (uint32_t)p[i]));
    tn_strided_run(&s, (size_t)tn_width(to), results[0].data, operands[0].data, ctx->pool);
    return NULL;
}

tn_status *tn_infer_reverse(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    const tn_type *t = tn_operand_type(op, 0);
    tn_ints dims;
    TN_TRY(tn_check_dims(op, TN_ATTR_dimensions, t->rank, false, &dims));
    out[0] = t;
    return NULL;
}

tn_status *tn_eval_reverse(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                           tn_tensor *results)
{
    const tn_type *t = results[0].type;
    if (tn_is_empty(t)) return NULL;
    tn_ints dims;
    dims.v = tn_op_ints(op, TN_ATTR_dimensions, &dims.n);
    const char *src = operands[0].data;
    tn_strided s;
    tn_strided_init(&s);
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t step = tn_stride(t, i);
        bool back = tn_ints_have(dims, i);
        if (back) src += (t->dims[i] - 1) * step;
        tn_strided_push(&s, t->dims[i], step, back ? -step : step);
    }
    tn_strided_run(&s, (size_t)tn_width(t), results[0].data, src, ctx->pool);
    return NULL;
}

tn_status *tn_infer_concatenate(const tn_op *op, tn_arena *a, const tn_type **out)
{
    if (!op->n_operands) return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected operands, got none");
    TN_TRY(tn_check_tensor(op, 0));
    const tn_type *first = tn_operand_type(op, 0);
    int64_t d;
    TN_TRY(tn_check_dim(op, TN_ATTR_dimension, first->rank, &d));
    int64_t *dims = tn_dup(a, first->dims, first->rank * sizeof *dims);
    for (uint32_t i = 1; i < op->n_operands; i++) {
        TN_TRY(tn_check_rank(op, i, first->rank));
        TN_TRY(tn_check_same_element(op, 0, i));
        const tn_type *t = tn_operand_type(op, i);
        for (uint32_t j = 0; j < first->rank; j++) {
            if (j == d) continue;
            if (!tn_dims_agree(first->dims[j], t->dims[j]))
                return TN_OP_ERROR(INVALID_ARGUMENT, op,
                                   "dimension %u of operand %u should be %" PRId64
                                   " as that of operand 0 and is %" PRId64,
                                   j, i, first->dims[j], t->dims[j]);
            if (dims[j] == TN_DYNAMIC) dims[j] = t->dims[j];
        }
        if (dims[d] == TN_DYNAMIC || t->dims[d] == TN_DYNAMIC) dims[d] = TN_DYNAMIC;
        else if (__builtin_add_overflow(dims[d], t->dims[d], &dims[d]))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %" PRId64 " of the result overflows", d);
    }
    out[0] = tn_type_like(a, first, first->rank, dims);
    return NULL;
}

typedef struct {
    const tn_tensor *operands;
    uint32_t n;
    int64_t row, run; /* bytes of a row of the result, and of one step along the dimension */
    uint32_t dim;
    char *out;
} rows_job;

/* As memcpy; without a call where that would take longer than the bytes do. */
static inline void copy_part(char *to, const char *from, size_t n)
{
    typedef char bytes __attribute__((vector_size(16), aligned(1), may_alias));
    if (n < sizeof(bytes) || n > 512) {
        memcpy(to, from, n);
        return;
    }
    size_t last = n - sizeof(bytes);
    for (size_t i = 0; i < last; i += sizeof(bytes))
        *(bytes *)(to + i) = *(const bytes *)(from + i);
    *(bytes *)(to + last) = *(const bytes *)(from + last);
}

static void join_rows(void *ctx, int64_t begin, int64_t end)
{
    const rows_job *j = ctx;
    for (int64_t row = begin; row < end; row++) {
        char *to = j->out + row * j->row;
        for (uint32_t i = 0; i < j->n; i++) {
            int64_t part = j->operands[i].type->dims[j->dim] * j->run;
            copy_part(to, (const char *)j->operands[i].data + row * part, (size_t)part);
            to += part;
        }
    }
}

/* Operands that each give one element of some bytes to a row. */
typedef struct {
    const tn_tensor *operands;
    int64_t n_operands, width, rows;
    char *out;
} interleave_job;

enum { INTERLEAVED_ROWS = 1024 /* of a piece */ };

static void interleave_rows(void *ctx, int64_t begin, int64_t end)
{
    const interleave_job *j = ctx;
    const char *from[TN_INTERLEAVED];
    begin *= INTERLEAVED_ROWS;
    end = end * INTERLEAVED_ROWS < j->rows ? end * INTERLEAVED_ROWS : j->rows;
    for (int64_t i = 0; i < j->n_operands; i++)
        from[i] = (const char *)j->operands[i].data + begin * j->width;
    char *to = j->out + begin * j->n_operands * j->width;
    int64_t done = tn_interleave((size_t)j->width, j->n_operands, from, end - begin, to);
    tn_strided s;
    for (int64_t i = 0; i < j->n_operands; i++) {
        tn_strided_init(&s);
        tn_strided_push(&s, end - begin - done, j->n_operands * j->width, j->width);
        tn_strided_run(&s, (size_t)j->width, to + (done * j->n_operands + i) * j->width,
                       from[i] + done * j->width, NULL);
    }
}

/* Do all operands give as much to a row, in bytes that an element may have? */
static bool are_interleaved(const tn_op *op, const tn_tensor *operands, uint32_t d, int64_t run)
{
    int64_t part = operands[0].type->dims[d] * run;
    bool same = op->n_operands >= 2 && op->n_operands <= TN_INTERLEAVED &&
                (part == 4 || part == 8 || part == 16);
    for (uint32_t i = 1; i < op->n_operands && same; i++)
        same = operands[i].type->dims[d] * run == part;
    return same;
}

tn_status *tn_eval_concatenate(const tn_op *op, const tn_eval_context *ctx,
                               const tn_tensor *operands, tn_tensor *results)
{
    const tn_type *to = results[0].type;
    if (tn_is_empty(to)) return NULL;
    uint32_t d = (uint32_t)tn_op_int(op, TN_ATTR_dimension, 0);
    int64_t w = tn_width(to), run = tn_step(to, d), row = run * to->dims[d];
    int64_t rows = tn_type_elements(to) / row, at = 0;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_type *from = operands[i].type;
        int64_t part = from->dims[d] * run;
        at += part;
        if (at > row || (part && tn_type_elements(from) != rows * part))
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u, %s, doesn't fit in %s", i,
                               TN_TYPE_IN_MESSAGE(from), TN_TYPE_IN_MESSAGE(to));
    }
    if (are_interleaved(op, operands, d, run * w) && !tn_strided_is_recording()) {
        interleave_job j = {operands, op->n_operands, operands[0].type->dims[d] * run * w, rows,
                            results[0].data};
        double cost = 0.1 * (double)(row * w) * INTERLEAVED_ROWS;
        tn_parallel_for(ctx->pool, (rows + INTERLEAVED_ROWS - 1) / INTERLEAVED_ROWS, cost,
                        interleave_rows, &j);
        return NULL;
    }
    bool streams = row * w / op->n_operands * rows >= TN_STREAMED_BYTES;
    if (rows > 1 && row * w >= 64 * (int64_t)op->n_operands && !streams &&
        !tn_strided_is_recording()) {
        rows_job j = {operands, op->n_operands, row * w, run * w, d, results[0].data};
        tn_parallel_for(ctx->pool, rows, (double)j.row * 0.1, join_rows, &j);
        return NULL;
    }
    at = 0;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        int64_t part = operands[i].type->dims[d] * run;
        if (!part) continue;
        tn_strided s;
        tn_strided_init(&s);
        tn_strided_push(&s, rows, row * w, part * w);
        tn_strided_push(&s, part, w, w);
        tn_strided_run(&s, (size_t)w, (char *)results[0].data + at * w, operands[i].data,
                       ctx->pool);
        at += part;
    }
    return NULL;
}
