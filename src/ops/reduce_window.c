/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_window: folds windows of the padded operands in the order of their elements, many windows
 * side by side. Windows over a whole dimension are running totals, and large windows of bodies that
 * combine exactly are folded one dimension after the other: see scan.h. */
#include "base/thread_pool.h"
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/pad.h"
#include "ops/piece_memory.h"
#include "ops/reduce_fold.h"
#include "ops/scan.h"
#include "ops/strided.h"
#include "ops/window_rows.h"
#include "ops/window_shape.h"

tn_status *tn_infer_reduce_window(const tn_op *op, tn_arena *a, const tn_type **out)
{
    uint32_t n = op->n_operands / 2;
    if (!n || op->n_operands % 2)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "expected as many initial values as inputs, got %u operands",
                           op->n_operands);
    TN_TRY(tn_check_count(op, "number of results", n, op->n_results));
    TN_TRY(tn_check_reduction_body(op, a, n));
    const tn_type *first = tn_operand_type(op, 0);
    tn_window_dim *w;
    TN_TRY(tn_window_dims_of(op, a, first->rank, &w));
    int64_t *dims = TN_NEW_ARRAY(a, int64_t, first->rank);
    for (uint32_t i = 0; i < first->rank; i++)
        if (!tn_window_count(&w[i], first->dims[i], &dims[i]))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u of size %" PRId64 " can't be padded by %" PRId64
                               " and %" PRId64,
                               i, first->dims[i], w[i].low, w[i].high);
    for (uint32_t i = 0; i < n; i++) {
        TN_TRY(tn_check_same_shape(op, 0, i));
        tn_element_type e = op->regions[0].args[i].type->element;
        const tn_type *t = tn_operand_type(op, i);
        out[i] = t->element == e ? tn_type_like(a, t, t->rank, dims)
                                 : tn_type_tensor(a, e, t->rank, dims);
    }
    return NULL;
}

/* --- windows side by side --- */

enum { LANES = 2048, ENOUGH = 512 };

/* The results of a block: where their elements lie in the padded operand, and whether that is one
 * after the other. */
typedef struct {
    tn_strided_plan plan;
    bool dense;
} lanes;

typedef struct {
    const tn_op *op;
    const tn_eval_context *ctx;
    tn_combiner combiner;
    uint32_t n, rank;
    const tn_window_dim *dims; /* [rank] */
    const tn_tensor *inits;
    tn_tensor *results;
    tn_tensor *padded;    /* [n]: what the windows lie on */
    const int64_t *shape; /* [rank]: of the results */
    int64_t *steps;       /* [rank]: elements of the padded operands in a step */
    /* Blocks of results: dimensions before `cut` one by one, `chunk` of dimension `cut`, and all of
     * those behind it, `inner` results. */
    uint32_t cut;
    int64_t chunk, chunks, inner, blocks;
    lanes *whole, *last; /* [n]: of a block of `chunk`, and of the last of them */
    tn_piece_memory memory;
    _Atomic(tn_status *) failure;
} job;

/* The memory of one thread. */
typedef struct {
    void **acc, **x, *raw, *scratch; /* LANES accumulators for each operand, twice */
    const void **right;
    int64_t *at, *window; /* [rank] */
} work;

static size_t align(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static size_t pointers(const job *j)
{
    return align(3 * j->n * sizeof(void *) + 2 * j->rank * sizeof(int64_t));
}

static size_t work_size(const job *j)
{
    return pointers(j) + (2 * j->n + 1) * LANES * 16 + tn_combiner_scratch(&j->combiner);
}

static bool take_work(job *j, work *w)
{
    size_t each = LANES * 16;
    char *at = tn_piece_memory_take(&j->memory);
    if (!at) return false;
    w->acc = (void **)at;
    w->x = w->acc + j->n;
    w->right = (const void **)(w->x + j->n);
    w->at = (int64_t *)(w->right + j->n);
    w->window = w->at + j->rank;
    at += pointers(j);
    for (uint32_t i = 0; i < j->n; i++, at += 2 * each) {
        w->acc[i] = at;
        w->x[i] = at + each;
    }
    w->raw = at;
    w->scratch = at + each;
    return true;
}

static void prepare_lanes(const job *j, uint32_t operand, int64_t chunk, lanes *out)
{
    int64_t w = tn_width(j->padded[operand].type), dense = chunk * j->inner * w;
    tn_strided nest;
    tn_strided_init(&nest);
    for (uint32_t d = j->cut; d < j->rank; d++) {
        int64_t dim = d == j->cut ? chunk : j->shape[d];
        dense /= dim;
        tn_strided_push(&nest, dim, dense, j->dims[d].stride * j->steps[d] * w);
    }
    out->dense = nest.rank == 0 || (nest.rank == 1 && nest.src[0] == w);
    tn_strided_prepare(&nest, (size_t)w, &out->plan);
}

static bool next_window(const job *j, int64_t *window)
{
    for (uint32_t d = j->rank; d--;) {
        if (++window[d] < j->dims[d].size) return true;
        window[d] = 0;
    }
    return false;
}

/* The elements of operand i at one offset in the windows of a block, as accumulators. */
static const void *read_lanes(const job *j, work *w, uint32_t i, const lanes *l, int64_t n,
                              int64_t offset)
{
    const tn_combiner_part *p = &j->combiner.parts[i];
    bool convert = p->from != p->acc;
    const void *x = (const char *)j->padded[i].data + offset * (int64_t)p->from_width;
    if (!l->dense) {
        void *to = convert ? w->raw : w->x[i];
        tn_strided_execute(&l->plan, to, x);
        x = to;
    }
    if (!convert) return x;
    tn_combiner_load(&j->combiner, i, n, x, w->x[i]);
    return w->x[i];
}

static tn_status *fold_block(const job *j, work *w, int64_t block)
{
    const tn_combiner *c = &j->combiner;
    int64_t rest = block / j->chunks, first = 0, chunk = j->chunk, base = 0;
    memset(w->at, 0, j->rank * sizeof *w->at);
    if (j->rank) {
        w->at[j->cut] = block % j->chunks * j->chunk;
        if (j->shape[j->cut] - w->at[j->cut] < chunk) chunk = j->shape[j->cut] - w->at[j->cut];
    }
    for (uint32_t d = j->cut; d-- > 0; rest /= j->shape[d]) w->at[d] = rest % j->shape[d];
    for (uint32_t d = 0; d < j->rank; d++) {
        first = first * j->shape[d] + w->at[d];
        base += w->at[d] * j->dims[d].stride * j->steps[d];
    }
    int64_t n = chunk * j->inner;
    const lanes *l = chunk == j->chunk ? j->whole : j->last;
    for (uint32_t i = 0; i < j->n; i++) {
        tn_combiner_load(c, i, 1, j->inits[i].data, w->raw);
        tn_fill(NULL, w->acc[i], w->raw, c->parts[i].acc_width, n);
    }
    memset(w->window, 0, j->rank * sizeof *w->window);
    do {
        int64_t offset = base;
        for (uint32_t d = 0; d < j->rank; d++)
            offset += w->window[d] * j->dims[d].dilation * j->steps[d];
        for (uint32_t i = 0; i < j->n; i++) w->right[i] = read_lanes(j, w, i, &l[i], n, offset);
        TN_TRY(tn_combiner_run(c, n, (const void *const *)w->acc, w->right, w->acc, w->scratch));
    } while (next_window(j, w->window));
    for (uint32_t i = 0; i < j->n; i++)
        tn_combiner_store(c, i, n, w->acc[i],
                          (char *)j->results[i].data + (size_t)first * c->parts[i].to_width);
    return NULL;
}

static void fold_blocks(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    work w;
    tn_status *s = NULL;
    if (take_work(j, &w)) {
        for (int64_t k = begin; k < end && !s; k++) s = fold_block(j, &w, k);
        tn_piece_memory_give(&j->memory, w.acc);
    } else {
        s = TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "out of memory");
    }
    tn_keep_first(&j->failure, s);
}

static double window_elements(const job *j)
{
    double n = 1;
    for (uint32_t d = 0; d < j->rank; d++) n *= (double)j->dims[d].size;
    return n;
}

static tn_status *fold_windows(job *j)
{
    j->inner = j->chunk = j->chunks = j->blocks = 1;
    j->cut = j->rank ? j->rank - 1 : 0;
    while (j->cut > 0 && j->inner * j->shape[j->cut] < ENOUGH) j->inner *= j->shape[j->cut--];
    if (j->rank) {
        int64_t dim = j->shape[j->cut];
        j->chunk = LANES / j->inner < dim ? LANES / j->inner : dim;
        j->chunks = (dim + j->chunk - 1) / j->chunk;
        j->blocks = j->chunks;
        for (uint32_t d = 0; d < j->cut; d++) j->blocks *= j->shape[d];
    }
    j->whole = tn_scratch_alloc(j->ctx->scratch, 2 * j->n * sizeof *j->whole);
    if (!j->whole) return TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "out of memory");
    j->last = j->whole + j->n;
    int64_t rest = j->rank ? j->shape[j->cut] - (j->chunks - 1) * j->chunk : 1;
    for (uint32_t i = 0; i < j->n; i++) {
        prepare_lanes(j, i, j->chunk, &j->whole[i]);
        prepare_lanes(j, i, rest, &j->last[i]);
    }
    tn_piece_memory_begin(&j->memory, j->ctx->scratch, work_size(j));
    double each = (j->combiner.by_kernel ? 0.5 : 4) * j->n;
    tn_parallel_for(j->ctx->pool, j->blocks,
                    window_elements(j) * (10 + each * (double)(j->chunk * j->inner)), fold_blocks,
                    j);
    return atomic_load(&j->failure);
}

/* Lets j->padded be what the windows lie on: the operands, or copies with padding and dilation. */
static tn_status *pad_operands(job *j, const tn_tensor *operands)
{
    tn_scratch *scratch = j->ctx->scratch;
    uint32_t rank = j->rank;
    int64_t *v = tn_scratch_alloc(scratch, (4 * (size_t)rank + 1) * sizeof *v);
    tn_type *types = tn_scratch_alloc(scratch, j->n * sizeof *types);
    j->padded = tn_scratch_alloc(scratch, j->n * sizeof *j->padded);
    if (!v || !types || !j->padded) return TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "out of memory");
    int64_t *low = v, *interior = v + rank, *dims = v + 2 * rank;
    j->steps = v + 3 * rank;
    bool same = true;
    double elements = 1;
    for (uint32_t d = 0; d < rank; d++) {
        const tn_window_dim *w = &j->dims[d];
        int64_t n = operands[0].type->dims[d];
        low[d] = w->low;
        interior[d] = w->base_dilation - 1;
        dims[d] = (n ? (n - 1) * w->base_dilation + 1 : 0) + w->low + w->high;
        elements *= (double)dims[d];
        same = same && !w->low && !w->high && (w->base_dilation == 1 || n < 2);
    }
    for (uint32_t d = rank, step = 0; d--; step = 1)
        j->steps[d] = step ? j->steps[d + 1] * dims[d + 1] : 1;
    for (uint32_t i = 0; i < j->n; i++) {
        j->padded[i] = operands[i];
        if (same) continue;
        types[i] = *operands[i].type;
        types[i].dims = dims;
        j->padded[i].type = &types[i];
        if (elements < 0x1p50)
            j->padded[i].data = tn_scratch_alloc(scratch, tn_type_bytes(&types[i]));
        if (elements >= 0x1p50 || !j->padded[i].data)
            return TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "no memory for padded operand %u", i);
        tn_pad_tensor(j->ctx, &operands[i], j->inits[i].data, low, interior, &j->padded[i]);
    }
    return NULL;
}

/* --- in linear time --- */

/* The dimension whose windows all begin (prefix) or end (suffix) with it, if windows are one
 * element wide elsewhere; else -1. */
static int64_t running_dim(const job *j, const tn_type *t, tn_scan_kind *kind)
{
    int64_t dim = -1;
    for (uint32_t d = 0; d < j->rank; d++) {
        const tn_window_dim *w = &j->dims[d];
        int64_t n = t->dims[d];
        if (w->stride != 1 || w->base_dilation != 1) return -1;
        if (w->size == 1 && !w->low && !w->high) continue;
        bool prefix = w->low == n - 1 && !w->high, suffix = w->high == n - 1 && !w->low;
        if (dim >= 0 || w->size != n || w->dilation != 1 || !(prefix || suffix)) return -1;
        dim = d;
        *kind = prefix ? TN_SCAN_PREFIX : TN_SCAN_SUFFIX;
    }
    return dim;
}

/* Padding is initial values, which a running total leaves out: is the initial value the same when
 * it is combined with itself? */
static tn_status *padding_counts(const job *j, bool *out)
{
    const tn_combiner *c = &j->combiner;
    tn_scratch *s = j->ctx->scratch;
    void **acc = tn_scratch_alloc(s, 2 * j->n * sizeof *acc);
    void *room = tn_scratch_alloc(s, tn_combiner_scratch(c));
    for (uint32_t i = 0; acc && room && i < j->n; i++) {
        acc[i] = tn_scratch_alloc(s, 16);
        acc[j->n + i] = tn_scratch_alloc(s, 16);
        if (!acc[i] || !acc[j->n + i]) room = NULL;
        else tn_combiner_load(c, i, 1, j->inits[i].data, acc[i]);
    }
    if (!acc || !room) return TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "out of memory");
    const void *const *in = (const void *const *)acc;
    TN_TRY(tn_combiner_run(c, 1, in, in, acc + j->n, room));
    *out = false;
    for (uint32_t i = 0; i < j->n; i++)
        *out |= memcmp(acc[i], acc[j->n + i], c->parts[i].acc_width) != 0;
    return NULL;
}

static tn_status *run_totals(const job *j, const tn_tensor *operands, uint32_t dim,
                             tn_scan_kind kind)
{
    const void **from = tn_scratch_alloc(j->ctx->scratch, 3 * j->n * sizeof *from);
    if (!from) return TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "out of memory");
    const void **inits = from + j->n;
    void **to = (void **)(inits + j->n);
    for (uint32_t i = 0; i < j->n; i++) {
        from[i] = operands[i].data;
        inits[i] = j->inits[i].data;
        to[i] = j->results[i].data;
    }
    const tn_type *t = operands[0].type;
    int64_t n = t->dims[dim], inner = tn_step(t, dim);
    return tn_scan_run(&(tn_scan){.op = j->op,
                                  .combiner = &j->combiner,
                                  .kind = kind,
                                  .outer = tn_type_elements(t) / (n * inner),
                                  .n = n,
                                  .inner = inner,
                                  .to_n = n,
                                  .from = from,
                                  .inits = inits,
                                  .to = to});
}

/* Is any grouping of the elements of a window the same value? */
static bool is_exact(const job *j)
{
    const tn_combiner_part *p = &j->combiner.parts[0];
    if (!j->combiner.by_kernel || p->from != p->acc || p->acc != p->to) return false;
    for (uint32_t d = 0; d < j->rank; d++)
        if (j->dims[d].dilation != 1 && j->dims[d].size > 1) return false;
    tn_body_shortcut s = j->combiner.body->shortcut;
    bool picks = s == TN_BODY_MAXIMUM || s == TN_BODY_MINIMUM;
    return tn_is_integer(p->to) || p->to == TN_I1 || (picks && tn_is_float(p->to));
}

static tn_status *fold_by_dimension(const job *j)
{
    const tn_combiner_part *p = &j->combiner.parts[0];
    const void *from = j->padded[0].data;
    void *to = NULL;
    int64_t outer = 1, total = tn_type_elements(j->results[0].type);
    for (uint32_t d = 0; d < j->rank; d++) {
        const tn_window_dim *w = &j->dims[d];
        int64_t n = j->padded[0].type->dims[d], inner = j->steps[d];
        if (w->size > 1 || w->stride > 1) {
            to = tn_scratch_alloc(j->ctx->scratch,
                                  (size_t)(outer * j->shape[d] * inner) * p->to_width);
            if (!to) return TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "out of memory");
            TN_TRY(tn_scan_run(&(tn_scan){.op = j->op,
                                          .combiner = &j->combiner,
                                          .kind = TN_SCAN_WINDOWS,
                                          .outer = outer,
                                          .n = n,
                                          .inner = inner,
                                          .to_n = j->shape[d],
                                          .window = w->size,
                                          .stride = w->stride,
                                          .from = &from,
                                          .to = &to}));
            from = to;
        }
        outer *= j->shape[d];
    }
    char inits[1024 * 16];
    tn_fill(NULL, inits, j->inits[0].data, p->acc_width, 1024);
    for (int64_t at = 0; at < total; at += 1024) {
        size_t n = total - at < 1024 ? (size_t)(total - at) : 1024;
        size_t offset = (size_t)at * p->acc_width;
        tn_kernel_run(&j->combiner.kernel, n, (const void *[]){inits, (const char *)from + offset},
                      (char *)j->results[0].data + offset);
    }
    return NULL;
}

tn_status *tn_eval_reduce_window(const tn_op *op, const tn_eval_context *ctx,
                                 const tn_tensor *operands, tn_tensor *results)
{
    enum { LARGE = 16, SHORT = 3, MANY = 256 };
    const tn_type *t = operands[0].type;
    if (tn_is_empty(results[0].type)) return NULL;
    job j = {.op = op,
             .ctx = ctx,
             .n = op->n_operands / 2,
             .rank = t->rank,
             .results = results,
             .shape = results[0].type->dims};
    j.inits = operands + j.n;
    TN_TRY(tn_combiner_prepare(op, ctx, 0, operands, j.n, operands, true, &j.combiner));
    tn_window_dim *dims = tn_scratch_alloc(ctx->scratch, (j.rank + 1) * sizeof *dims);
    if (!dims) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    tn_window_dims_read(op, j.rank, dims);
    j.dims = dims;
    for (uint32_t d = 0; d < j.rank; d++) {
        int64_t count;
        if (!tn_window_count(&dims[d], t->dims[d], &count) || count != j.shape[d])
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "windows on %s don't give %s",
                               TN_TYPE_IN_MESSAGE(t), TN_TYPE_IN_MESSAGE(results[0].type));
    }
    tn_scan_kind kind = TN_SCAN_PREFIX;
    int64_t dim = running_dim(&j, t, &kind);
    int64_t line = dim >= 0 ? t->dims[dim] : 0;
    if (line >= LARGE || (line >= SHORT && tn_type_elements(t) >= MANY)) {
        bool counts = true;
        TN_TRY(padding_counts(&j, &counts));
        if (!counts) return run_totals(&j, operands, (uint32_t)dim, kind);
    }
    bool by_dimension = window_elements(&j) >= LARGE && is_exact(&j);
    if (j.n == 1 && !(by_dimension && window_elements(&j) >= 4 * LARGE)) {
        tn_window_fold f = {op, ctx, &j.combiner, dims, operands, j.inits, results, true};
        TN_TRY(padding_counts(&j, &f.padding_counts));
        if (tn_window_fold_rows(&f)) return NULL;
    }
    TN_TRY(pad_operands(&j, operands));
    if (by_dimension) return fold_by_dimension(&j);
    return fold_windows(&j);
}
