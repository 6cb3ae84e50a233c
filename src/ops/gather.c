/* SPDX-License-Identifier: Apache-2.0 */
/* gather, dynamic_gather, torch_index_select. */
#include "base/thread_pool.h"
#include "kernels/indexed.h"
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"
#include "ops/strided.h"
#include "ops/windows.h"

/* Checks window sizes (where they are known) and gives the result's dims. */
static tn_status *infer_gather(const tn_op *op, tn_arena *a, const int64_t *sizes,
                               const tn_type **out)
{
    const tn_type *t = tn_operand_type(op, 0), *indices = tn_operand_type(op, 1);
    tn_window_dims d = tn_gather_dims(op);
    uint32_t positions = indices->rank - (d.vector_dim >= 0 && d.vector_dim < indices->rank);
    uint32_t rank = positions + d.window_dims.n;
    TN_TRY(tn_check_window_dims(op, t, indices, rank));
    int64_t *dims = TN_NEW_ARRAY(a, int64_t, rank);
    uint32_t nth = 0, operand_dim = 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (!tn_ints_have(d.window_dims, i)) {
            dims[i] = indices->dims[tn_index_dim(&d, nth++)];
            continue;
        }
        while (!tn_is_window_dim(&d, operand_dim)) operand_dim++;
        dims[i] = sizes[operand_dim++];
    }
    out[0] = tn_type_like(a, t, rank, dims);
    return NULL;
}

tn_status *tn_infer_gather(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    TN_TRY(tn_check_integer(op, 1));
    const tn_type *t = tn_operand_type(op, 0);
    tn_ints sizes;
    TN_TRY(tn_check_ints(op, TN_ATTR_slice_sizes, t->rank, 0, &sizes));
    tn_window_dims d = tn_gather_dims(op);
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t most = tn_is_window_dim(&d, i) ? INT64_MAX : 1;
        if (t->dims[i] != TN_DYNAMIC && t->dims[i] < most) most = t->dims[i];
        if (sizes.v[i] > most)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "slice_sizes[%u] should be at most %" PRId64 " and is %" PRId64
                               " (operand 0 is %s)",
                               i, most, sizes.v[i], TN_TYPE_IN_MESSAGE(t));
    }
    return infer_gather(op, a, sizes.v, out);
}

tn_status *tn_infer_dynamic_gather(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    TN_TRY(tn_check_integer(op, 1));
    const tn_type *t = tn_operand_type(op, 0);
    TN_TRY(tn_check_shape_operand(op, 2, t->rank));
    int64_t *sizes = TN_NEW_ARRAY(a, int64_t, t->rank);
    for (uint32_t i = 0; i < t->rank; i++) sizes[i] = TN_DYNAMIC;
    return infer_gather(op, a, sizes, out);
}

/* --- evaluation --- */

typedef struct {
    const tn_windows *windows;
    const tn_strided_plan *window;
    const char *src;
    char *dst;
    tn_indexed_fn *indexed; /* for contiguous windows, by one index each */
    int64_t size;           /* elements of such a window */
    bool stream;            /* past the caches */
} job;

#define COPY_ELEMENTS(T)                                                                           \
    for (int64_t i = 0; i < n; i++) *(T *)(j->dst + to[i]) = *(const T *)(j->src + from[i])

static void gather_indexed(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const tn_windows *w = j->windows;
    tn_window_loop inner = tn_windows_innermost(w);
    while (begin < end) {
        tn_window_run at = tn_windows_run(w, begin, end);
        tn_indexed_run r = {.indices = (const char *)w->indices +
                                       at.index * (w->index_type == TN_I64 ? 8 : 4),
                            .index_step = inner.index,
                            .n = at.n,
                            .end = w->components[0].limit + 1,
                            .step = w->components[0].step,
                            .operand_step = inner.operand,
                            .other_step = inner.other,
                            .size = j->size,
                            .operand = (char *)j->src + at.operand,
                            .other = j->dst + at.other,
                            .stream = j->stream};
        j->indexed(&r);
        begin += at.n;
    }
}

/* Finds the loop for windows that are contiguous on both sides. */
static void find_indexed(job *j)
{
    const tn_strided *n = &j->window->nest;
    int64_t w = (int64_t)j->window->width;
    if (n->rank > 1 || !tn_windows_are_indexed(j->windows)) return;
    if (n->rank && (n->dst[0] != w || n->src[0] != w)) return;
    j->size = n->rank ? n->dims[0] : 1;
    j->indexed = tn_indexed_gather(tn_cpu_isa(), j->windows->index_type, j->window->width);
}

static void gather_piece(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    int64_t from[TN_WINDOWS_AT_ONCE], to[TN_WINDOWS_AT_ONCE];
    const tn_strided *nest = &j->window->nest;
    while (begin < end) {
        int64_t n = end - begin < TN_WINDOWS_AT_ONCE ? end - begin : TN_WINDOWS_AT_ONCE;
        tn_windows_offsets(j->windows, begin, n, from, to);
        begin += n;
        if (nest->rank) {
            for (int64_t i = 0; i < n; i++)
                tn_strided_execute(j->window, j->dst + to[i], j->src + from[i]);
            continue;
        }
        switch (j->window->width) {
        case 1: COPY_ELEMENTS(uint8_t); break;
        case 2: COPY_ELEMENTS(uint16_t); break;
        case 4: COPY_ELEMENTS(uint32_t); break;
        case 8: COPY_ELEMENTS(uint64_t); break;
        default:
            for (int64_t i = 0; i < n; i++) memcpy(j->dst + to[i], j->src + from[i], 16);
        }
    }
}

/* What `dynamic_gather` reads at run time, or the attribute. */
static tn_status *window_sizes(const tn_op *op, const tn_eval_context *ctx,
                               const tn_tensor *operands, const int64_t **out)
{
    const tn_type *t = operands[0].type;
    tn_window_dims d = tn_gather_dims(op);
    uint32_t n;
    *out = tn_op_ints(op, TN_ATTR_slice_sizes, &n);
    if (op->kind == TN_OP_gather) return NULL;
    int64_t *sizes = tn_scratch_alloc(ctx->scratch, (t->rank + 1) * sizeof *sizes);
    if (!sizes) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    for (uint32_t i = 0; i < t->rank; i++) {
        sizes[i] = tn_read_index(operands[2].data, operands[2].type->element, i);
        int64_t most = tn_is_window_dim(&d, i) || t->dims[i] < 1 ? t->dims[i] : 1;
        if (sizes[i] < 0 || sizes[i] > most)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "slice size %u should be in [0, %" PRId64 "] and is %" PRId64, i,
                               most, sizes[i]);
    }
    *out = sizes;
    return NULL;
}

tn_status *tn_eval_gather(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                          tn_tensor *results)
{
    const tn_type *from = operands[0].type, *to = results[0].type;
    if (tn_is_empty(to)) return NULL;
    tn_window_dims d = tn_gather_dims(op);
    const int64_t *sizes;
    TN_TRY(window_sizes(op, ctx, operands, &sizes));
    tn_strided nest;
    tn_strided_init(&nest);
    /* A window is copied as far as it is a piece of the result. */
    uint32_t nth = 0, inner = to->rank;
    while (inner && tn_ints_have(d.window_dims, inner - 1)) inner--;
    for (uint32_t i = 0; i < from->rank; i++) {
        if (!tn_is_window_dim(&d, i)) {
            if (!sizes[i]) nest.empty = true;
            continue;
        }
        uint32_t dim = (uint32_t)d.window_dims.v[nth++];
        if (sizes[i] != to->dims[dim])
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u of the result, %s, should be %" PRId64
                               ", the size of the slices",
                               dim, TN_TYPE_IN_MESSAGE(to), sizes[i]);
        if (dim < inner) continue;
        tn_strided_push(&nest, sizes[i], tn_stride(to, dim), tn_stride(from, i));
    }
    if (nest.empty || tn_is_empty(from))
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "slices of %s are empty, but the result is %s",
                           TN_TYPE_IN_MESSAGE(from), TN_TYPE_IN_MESSAGE(to));
    tn_windows windows;
    TN_TRY(
        tn_windows_prepare(op, &d, &operands[1], from, to, sizes, inner, ctx->scratch, &windows));
    windows.clamp = true;
    tn_strided_plan window;
    tn_strided_prepare(&nest, (size_t)tn_width(from), &window);
    job j = {.windows = &windows,
             .window = &window,
             .src = operands[0].data,
             .dst = results[0].data,
             .stream = tn_type_bytes(to) >= TN_STREAMED_BYTES};
    find_indexed(&j);
    double bytes = (double)tn_type_bytes(to) / (double)windows.n;
    tn_parallel_for(ctx->pool, windows.n, (j.indexed ? 1 : 3) + bytes * 0.2,
                    j.indexed ? gather_indexed : gather_piece, &j);
    return NULL;
}

/* --- torch_index_select: result[b.., i.., j.., k..] = operand[b.., i.., index[b.., j..], k..],
 * with batch_dims b and dim after i --- */

tn_status *tn_infer_torch_index_select(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    TN_TRY(tn_check_integer(op, 1));
    const tn_type *t = tn_operand_type(op, 0), *index = tn_operand_type(op, 1);
    int64_t dim, batch = tn_op_int(op, TN_ATTR_batch_dims, 0);
    TN_TRY(tn_check_dim(op, TN_ATTR_dim, t->rank, &dim));
    if (batch < 0 || batch > dim || batch > index->rank)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "batch_dims should be at least 0 and at most dim, %" PRId64
                           ", and the rank of the index, %u, and is %" PRId64,
                           dim, index->rank, batch);
    for (uint32_t i = 0; i < batch; i++)
        if (!tn_dims_agree(t->dims[i], index->dims[i]))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "batch dimension %u has size %" PRId64 " in the operand and %" PRId64
                               " in the index",
                               i, t->dims[i], index->dims[i]);
    uint32_t rank = t->rank - 1 + index->rank - (uint32_t)batch, n = 0;
    int64_t *dims = TN_NEW_ARRAY(a, int64_t, rank);
    for (uint32_t i = 0; i < dim; i++) dims[n++] = t->dims[i];
    for (uint32_t i = (uint32_t)batch; i < index->rank; i++) dims[n++] = index->dims[i];
    for (uint32_t i = (uint32_t)dim + 1; i < t->rank; i++) dims[n++] = t->dims[i];
    out[0] = tn_type_like(a, t, rank, dims);
    return NULL;
}

tn_status *tn_eval_torch_index_select(const tn_op *op, const tn_eval_context *ctx,
                                      const tn_tensor *operands, tn_tensor *results)
{
    const tn_type *t = operands[0].type, *index = operands[1].type;
    if (tn_is_empty(results[0].type)) return NULL;
    uint32_t dim = (uint32_t)tn_op_int(op, TN_ATTR_dim, 0);
    uint32_t batch = (uint32_t)tn_op_int(op, TN_ATTR_batch_dims, 0);
    int64_t batches = 1, middle = 1, picks = 1, size = t->dims[dim];
    if (!size) return TN_OP_ERROR(INVALID_ARGUMENT, op, "dimension %u has no element to pick", dim);
    for (uint32_t i = 0; i < batch; i++) batches *= t->dims[i];
    for (uint32_t i = batch; i < dim; i++) middle *= t->dims[i];
    for (uint32_t i = batch; i < index->rank; i++) picks *= index->dims[i];
    int64_t run = tn_stride(t, dim);
    char *dst = results[0].data;
    for (int64_t b = 0; b < batches; b++) {
        for (int64_t m = 0; m < middle; m++) {
            const char *src = (const char *)operands[0].data + (b * middle + m) * size * run;
            for (int64_t i = 0; i < picks; i++, dst += run) {
                int64_t at = tn_read_index(operands[1].data, index->element, b * picks + i);
                memcpy(dst, src + tn_clamp_index(at, 0, size - 1) * run, (size_t)run);
            }
        }
    }
    return NULL;
}
