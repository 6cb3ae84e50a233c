/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/reduce_fold.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread_pool.h"
#include "ops/access.h"
#include "ops/infer.h"
#include "ops/piece_memory.h"
#include "ops/strided.h"

tn_status *tn_check_reduction_body(const tn_op *op, tn_arena *a, uint32_t n)
{
    const tn_region *r = &op->regions[0];
    tn_element_type *types = TN_NEW_ARRAY(a, tn_element_type, 2 * (size_t)n);
    for (uint32_t i = 0; i < n; i++) {
        TN_TRY(tn_check_tensor(op, i));
        TN_TRY(tn_check_rank(op, n + i, 0));
        TN_TRY(tn_check_same_element(op, i, n + i));
        if (r->n_args == 2 * n) types[i] = types[n + i] = r->args[i].type->element;
    }
    TN_TRY(tn_check_region(op, 0, 2 * n, types, n, types));
    for (uint32_t i = 0; i < n; i++)
        if (!tn_is_promotable(tn_operand_type(op, i)->element, types[i]))
            return TN_OP_ERROR(
                INVALID_ARGUMENT, op, "operand %u is %s, which the body can't take as %s", i,
                TN_TYPE_IN_MESSAGE(tn_operand_type(op, i)), tn_element_type_text(types[i]));
    return NULL;
}

enum {
    LANES = 1024,    /* accumulators that are worked on together at most */
    FEW_LANES = 256, /* the same where elements have to be collected */
    COLLECT = 16,    /* steps that are collected at once */
    BLOCK = 128,     /* steps summed in a row before they join the total */
    PIECE = 1 << 16, /* elements that are worth a piece of their own */
    WIDEST = 16,
};

/* Where the elements of one step of the reduction lie, for kept elements that are next to each
 * other: one behind the other in ROWS (of reduced elements) and COLUMNS (of kept ones). */
typedef enum { ROWS, COLUMNS, COLLECTED } method;

/* Pieces are a tile of the kept elements and a share of the reduced ones. */
typedef struct {
    tn_reduction *r;
    method how;
    int64_t tile, tiles, share, shares;
    void **partial; /* [n]: [shares][kept.n] accumulators */
    tn_piece_memory memory;
    _Atomic(tn_status *) failure;
} job;

/* Memory of one thread. Pointers come in arrays of n. */
typedef struct {
    void *scratch, *raw;
    void **acc, **block, **collected; /* LANES, LANES, FEW_LANES * COLLECT accumulators */
    const void **left, **right;       /* free for use */
    void **out;
    int64_t *lanes, *steps; /* [LANES]: offsets */
} work;

static size_t align(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static size_t work_size(const tn_combiner *c)
{
    size_t n = c->n;
    return align(6 * n * sizeof(void *)) + align(2 * LANES * sizeof(int64_t)) +
           (2 * LANES + FEW_LANES * COLLECT) * WIDEST * n + FEW_LANES * COLLECT * WIDEST +
           align(tn_combiner_scratch(c));
}

/* False when out of memory; else w->acc goes back to j->memory. */
static bool take_work(job *j, work *w)
{
    const tn_combiner *c = &j->r->combiner;
    char *at = tn_piece_memory_take(&j->memory);
    if (!at) return false;
    w->acc = (void **)at;
    w->block = w->acc + c->n;
    w->collected = w->block + c->n;
    w->out = w->collected + c->n;
    w->left = (const void **)(w->out + c->n);
    w->right = w->left + c->n;
    at += align(6 * c->n * sizeof(void *));
    w->lanes = (int64_t *)at;
    w->steps = w->lanes + LANES;
    at += align(2 * LANES * sizeof(int64_t));
    for (uint32_t i = 0; i < c->n; i++) {
        w->acc[i] = at;
        w->block[i] = at + LANES * WIDEST;
        w->collected[i] = at + 2 * LANES * WIDEST;
        at += (2 * LANES + FEW_LANES * COLLECT) * WIDEST;
    }
    w->raw = at;
    w->scratch = at + FEW_LANES * COLLECT * WIDEST;
    return true;
}

static void *element(void *array, size_t width, int64_t i)
{
    return (char *)array + (size_t)i * width;
}
static const void *source(const tn_reduction *r, uint32_t i, int64_t at)
{
    return (const char *)r->sources[i].data + at * (int64_t)r->combiner.parts[i].from_width;
}

/* --- rows: reduced elements are contiguous, and the body is one kernel --- */

/* Folds steps [begin, end) of one kept element into *out. Lanes take every so many-th element; they
 * are folded in halves at the end. */
static void fold_row(const tn_reduction *r, work *w, int64_t base, int64_t begin, int64_t end,
                     void *out)
{
    const tn_combiner *c = &r->combiner;
    const tn_combiner_part *p = &c->parts[0];
    int64_t most = 16, valid = 0;
    while (most < LANES && most * 8 <= end - begin) most *= 2;
    char *acc = w->acc[0];
    while (begin < end) {
        int64_t run = tn_nest_run(&r->reduced, begin), at;
        tn_nest_offsets(&r->reduced, begin, 1, &at);
        if (run > end - begin) run = end - begin;
        const char *x = source(r, 0, base + at);
        for (int64_t k = 0; k < run; k += most) {
            int64_t n = run - k < most ? run - k : most, both = n < valid ? n : valid;
            const void *in = x + k * (int64_t)p->from_width;
            if (p->from != p->acc) {
                tn_combiner_load(c, 0, n, in, w->block[0]);
                in = w->block[0];
            }
            tn_kernel_run(&c->kernel, (size_t)both, (const void *[]){acc, in}, acc);
            if (n > valid) {
                memcpy(acc + (size_t)valid * p->acc_width,
                       (const char *)in + (size_t)valid * p->acc_width,
                       (size_t)(n - valid) * p->acc_width);
                valid = n;
            }
        }
        begin += run;
    }
    while (valid > 1) {
        int64_t half = valid / 2;
        valid -= half;
        tn_kernel_run(&c->kernel, (size_t)half,
                      (const void *[]){acc, acc + (size_t)valid * p->acc_width}, acc);
    }
    memcpy(out, acc, p->acc_width);
}

/* --- many kept elements at once --- */

/* out[s][l] = src[lanes[l] + steps[s]] */
#define COLLECT_AS(T)                                                                              \
    for (int64_t s = 0; s < n_steps; s++) {                                                        \
        T *to = (T *)out + s * n_lanes;                                                            \
        const T *from = (const T *)src + steps[s];                                                 \
        for (int64_t l = 0; l < n_lanes; l++) to[l] = from[lanes[l]];                              \
    }

typedef unsigned __int128 wide;

static void collect(size_t width, const void *src, const int64_t *lanes, int64_t n_lanes,
                    const int64_t *steps, int64_t n_steps, void *out)
{
    switch (width) {
    case 1: COLLECT_AS(uint8_t); return;
    case 2: COLLECT_AS(uint16_t); return;
    case 4: COLLECT_AS(uint32_t); return;
    case 8: COLLECT_AS(uint64_t); return;
    default: COLLECT_AS(wide); return;
    }
}

/* Adds arrays to what has been summed; the first is copied. */
static tn_status *add(const tn_combiner *c, work *w, int64_t n, const void *const *x, void **to,
                      bool first)
{
    if (!first) return tn_combiner_run(c, n, (const void *const *)to, x, to, w->scratch);
    for (uint32_t i = 0; i < c->n; i++) memcpy(to[i], x[i], (size_t)n * c->parts[i].acc_width);
    return NULL;
}

/* Points w->right[i] to the elements of n_steps steps of n lanes, in accumulators. */
static void read_steps(const tn_reduction *r, work *w, int64_t n, bool contiguous, int64_t first,
                       int64_t n_steps)
{
    tn_nest_offsets(&r->reduced, first, n_steps, w->steps);
    for (uint32_t i = 0; i < r->combiner.n; i++) {
        const tn_combiner_part *p = &r->combiner.parts[i];
        bool convert = p->from != p->acc;
        const void *x = source(r, i, contiguous ? w->lanes[0] + w->steps[0] : 0);
        if (!contiguous) {
            void *to = convert ? w->raw : w->collected[i];
            collect(p->from_width, x, w->lanes, n, w->steps, n_steps, to);
            x = to;
        }
        if (convert) {
            tn_combiner_load(&r->combiner, i, n * n_steps, x, w->collected[i]);
            x = w->collected[i];
        }
        w->right[i] = x;
    }
}

/* Folds n_steps steps from `first` into w->acc[i][n]. Lanes start at w->lanes; elements of one step
 * follow each other if `contiguous`. */
static tn_status *fold_lanes(const tn_reduction *r, work *w, int64_t n, bool contiguous,
                             int64_t first, int64_t n_steps)
{
    const tn_combiner *c = &r->combiner;
    for (int64_t done = 0; done < n_steps;) {
        bool first_block = done == 0;
        int64_t block = done + BLOCK < n_steps ? done + BLOCK : n_steps;
        for (bool fresh = true; done < block;) {
            int64_t steps = contiguous ? 1 : COLLECT;
            if (steps > block - done) steps = block - done;
            read_steps(r, w, n, contiguous, first + done, steps);
            for (int64_t s = 0; s < steps; s++, fresh = false) {
                TN_TRY(add(c, w, n, w->right, w->block, fresh));
                for (uint32_t i = 0; i < c->n; i++)
                    w->right[i] = (const char *)w->right[i] + (size_t)n * c->parts[i].acc_width;
            }
            done += steps;
        }
        TN_TRY(add(c, w, n, (const void *const *)w->block, w->acc, first_block));
    }
    return NULL;
}

/* Where the steps are evenly spaced and kept elements few, the steps [begin, begin + segments *
 * length) are cut into segments that are folded side by side; then the segments are folded,
 * neighbours first. */
static tn_status *fold_segments(const tn_reduction *r, work *w, int64_t n, int64_t begin,
                                int64_t segments, int64_t length)
{
    const tn_combiner *c = &r->combiner;
    int64_t far = length * tn_nest_inner_step(&r->reduced);
    for (int64_t s = 1; s < segments; s++)
        for (int64_t k = 0; k < n; k++) w->lanes[s * n + k] = w->lanes[k] + s * far;
    TN_TRY(fold_lanes(r, w, segments * n, false, begin, length));
    for (int64_t left = segments; left > 1; left = (left + 1) / 2) {
        for (int64_t s = 0; s < left; s += 2) {
            for (uint32_t i = 0; i < c->n; i++) {
                size_t width = c->parts[i].acc_width;
                w->left[i] = element(w->acc[i], width, s * n);
                w->right[i] = element(w->acc[i], width, (s + 1) * n);
                w->out[i] = element(w->acc[i], width, s / 2 * n);
            }
            if (s + 1 < left) TN_TRY(tn_combiner_run(c, n, w->left, w->right, w->out, w->scratch));
            else
                for (uint32_t i = 0; i < c->n; i++)
                    memmove(w->out[i], w->left[i], (size_t)n * c->parts[i].acc_width);
        }
    }
    return NULL;
}

/* Steps [begin, end) of kept elements [first, first + n), into place `at` of the partial results.
 */
static tn_status *fold_tile(const job *j, work *w, int64_t first, int64_t n, int64_t begin,
                            int64_t end, int64_t at)
{
    const tn_reduction *r = j->r;
    const tn_combiner *c = &r->combiner;
    tn_nest_offsets(&r->kept, first, n, w->lanes);
    int64_t segments = FEW_LANES / n, length = segments ? (end - begin) / segments : 0;
    bool cut = j->how == COLLECTED && r->reduced.rank == 1 && segments > 3 && length > 3;
    if (cut) {
        TN_TRY(fold_segments(r, w, n, begin, segments, length));
        begin += segments * length;
    } else {
        TN_TRY(fold_lanes(r, w, n, j->how == COLUMNS, begin, end - begin));
        begin = end;
    }
    for (uint32_t i = 0; i < c->n; i++)
        memcpy(element(j->partial[i], c->parts[i].acc_width, at), w->acc[i],
               (size_t)n * c->parts[i].acc_width);
    if (begin == end) return NULL;
    TN_TRY(fold_lanes(r, w, n, false, begin, end - begin));
    for (uint32_t i = 0; i < c->n; i++)
        w->out[i] = element(j->partial[i], c->parts[i].acc_width, at);
    return add(c, w, n, (const void *const *)w->acc, w->out, false);
}

static tn_status *fold_piece(const job *j, work *w, int64_t tile, int64_t share)
{
    const tn_reduction *r = j->r;
    int64_t first = tile * j->tile, begin = share * j->share, at = share * r->kept.n;
    int64_t last = first + j->tile < r->kept.n ? first + j->tile : r->kept.n;
    int64_t end = begin + j->share < r->reduced.n ? begin + j->share : r->reduced.n;
    while (first < last) {
        int64_t n = last - first;
        if (j->how == ROWS) {
            int64_t base;
            tn_nest_offsets(&r->kept, first, 1, &base);
            void *to = element(j->partial[0], r->combiner.parts[0].acc_width, at + first);
            fold_row(r, w, base, begin, end, to);
            n = 1;
        } else {
            int64_t run = j->how == COLUMNS ? tn_nest_run(&r->kept, first) : FEW_LANES;
            if (n > run) n = run;
            TN_TRY(fold_tile(j, w, first, n, begin, end, at + first));
        }
        first += n;
    }
    return NULL;
}

/* --- pieces --- */

static void run_pieces(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    work w;
    tn_status *s = NULL;
    if (!take_work(j, &w)) {
        tn_keep_first(&j->failure, TN_OP_ERROR(RESOURCE_EXHAUSTED, j->r->op, "out of memory"));
        return;
    }
    for (int64_t k = begin; k < end && !s; k++) s = fold_piece(j, &w, k % j->tiles, k / j->tiles);
    tn_piece_memory_give(&j->memory, w.acc);
    tn_keep_first(&j->failure, s);
}

/* Shares of the same kept elements, in order, then the initial values from the left. */
static tn_status *finish_tile(const job *j, work *w, int64_t first, int64_t n)
{
    const tn_reduction *r = j->r;
    const tn_combiner *c = &r->combiner;
    for (int64_t share = 0; share < j->shares; share++) {
        for (uint32_t i = 0; i < c->n; i++)
            w->right[i] = element(j->partial[i], c->parts[i].acc_width, share * r->kept.n + first);
        TN_TRY(add(c, w, n, w->right, w->acc, share == 0));
    }
    for (uint32_t i = 0; i < c->n; i++) {
        size_t width = c->parts[i].acc_width;
        tn_combiner_load(c, i, 1, r->inits[i].data, w->block[i]);
        tn_fill(NULL, w->block[i], memcpy(w->raw, w->block[i], width), width, n);
    }
    if (r->reduced.n) {
        TN_TRY(tn_combiner_run(c, n, (const void *const *)w->block, (const void *const *)w->acc,
                               w->acc, w->scratch));
    } else {
        for (uint32_t i = 0; i < c->n; i++)
            memcpy(w->acc[i], w->block[i], (size_t)n * c->parts[i].acc_width);
    }
    for (uint32_t i = 0; i < c->n; i++)
        tn_combiner_store(c, i, n, w->acc[i],
                          element(r->results[i].data, c->parts[i].to_width, first));
    return NULL;
}

static void finish_tiles(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    work w;
    tn_status *s = NULL;
    if (!take_work(j, &w)) {
        tn_keep_first(&j->failure, TN_OP_ERROR(RESOURCE_EXHAUSTED, j->r->op, "out of memory"));
        return;
    }
    for (int64_t k = begin; k < end && !s; k++) {
        int64_t first = k * LANES, n = j->r->kept.n - first;
        s = finish_tile(j, &w, first, n < LANES ? n : LANES);
    }
    tn_piece_memory_give(&j->memory, w.acc);
    tn_keep_first(&j->failure, s);
}

enum { ROW_AT_LEAST = 64 };

static void cut_rows(int64_t kept, int64_t reduced, bool rows, job *j)
{
    j->tile = j->how == COLUMNS ? LANES : FEW_LANES;
    if (rows) j->tile = reduced < PIECE ? PIECE / reduced : 1;
    j->tiles = (kept + j->tile - 1) / j->tile;
    j->share = reduced;
    if (j->tiles < 16) {
        int64_t shares = (int64_t)((double)kept * (double)reduced / PIECE / (double)j->tiles);
        if (shares > 64) shares = 64;
        if (shares > 1) j->share = (reduced + shares - 1) / shares;
        if (j->share < 1024) j->share = reduced < 1024 ? reduced : 1024;
    }
    j->shares = (reduced + j->share - 1) / j->share;
}

static void cut(job *j)
{
    const tn_reduction *r = j->r;
    int64_t kept = r->kept.n, reduced = r->reduced.n;
    int64_t run = tn_nest_run(&r->reduced, 0), columns = tn_nest_run(&r->kept, 0);
    if (r->combiner.by_kernel && tn_nest_inner_step(&r->reduced) == 1 && run >= 32 &&
        reduced >= ROW_AT_LEAST)
        j->how = ROWS;
    else if (tn_nest_inner_step(&r->kept) == 1 && columns >= 64) j->how = COLUMNS;
    else j->how = COLLECTED;
    cut_rows(kept, reduced, j->how == ROWS, j);
}

tn_status *tn_reduction_run(tn_reduction *r)
{
    const tn_combiner *c = &r->combiner;
    job j = {.r = r};
    tn_piece_memory_begin(&j.memory, r->ctx->scratch, work_size(c));
    if (r->reduced.n) {
        cut(&j);
        double total = (double)j.shares * (double)r->kept.n;
        j.partial = tn_scratch_alloc(r->ctx->scratch, c->n * sizeof *j.partial);
        for (uint32_t i = 0; i < c->n; i++) {
            void *memory = NULL;
            if (j.partial && total < 0x1p50)
                memory = tn_scratch_alloc(r->ctx->scratch, (size_t)total * c->parts[i].acc_width);
            if (!memory) return TN_OP_ERROR(RESOURCE_EXHAUSTED, r->op, "out of memory");
            j.partial[i] = memory;
        }
        double elements = (double)r->kept.n * (double)r->reduced.n;
        double each = (c->by_kernel ? 0.1 : 2) * c->n + (j.how == COLLECTED ? 1 : 0);
        int64_t pieces = j.tiles * j.shares;
        tn_parallel_for(r->ctx->pool, pieces, elements * each / (double)pieces, run_pieces, &j);
    }
    tn_status *s = atomic_load(&j.failure);
    if (s) return s;
    tn_parallel_for(r->ctx->pool, (r->kept.n + LANES - 1) / LANES,
                    (double)j.shares * LANES * (c->by_kernel ? 0.3 : 3), finish_tiles, &j);
    return atomic_load(&j.failure);
}
