/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/scan.h"

#include <string.h>

#include "base/thread_pool.h"
#include "ops/piece_memory.h"
#include "ops/strided.h"

/* Lanes are the [outer, inner] places. A block of them is copied so that its lanes are contiguous
 * at each step along n; then steps are combined lane by lane. */
enum { LANES = 512, ELEMENTS = 1 << 20 };

typedef struct {
    const tn_scan *s;
    int64_t outers, inners; /* lanes of a block: some of either */
    int64_t inner_blocks, blocks;
    tn_piece_memory memory;
    _Atomic(tn_status *) failure;
} job;

typedef struct {
    const tn_scan *s;
    int64_t lanes;
    void **x, **y,
        **raw; /* [n operands]: [n][lanes] accumulators twice, and elements as they come */
    const void **left, **right;
    void **out, *scratch;
} work;

static size_t align(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static void *row(const work *w, void **arrays, uint32_t i, int64_t step)
{
    return (char *)arrays[i] + (size_t)(step * w->lanes) * w->s->combiner->parts[i].acc_width;
}

/* out[k] = (left[i], right[j]), rows of the arrays. */
static tn_status *combine(work *w, void **left, int64_t i, void **right, int64_t j, void **out,
                          int64_t k)
{
    const tn_combiner *c = w->s->combiner;
    for (uint32_t q = 0; q < c->n; q++) {
        w->left[q] = row(w, left, q, i);
        w->right[q] = row(w, right, q, j);
        w->out[q] = row(w, out, q, k);
    }
    return tn_combiner_run(c, w->lanes, w->left, w->right, w->out, w->scratch);
}

static void copy_row(work *w, void **from, int64_t i, void **to, int64_t k)
{
    const tn_combiner *c = w->s->combiner;
    for (uint32_t q = 0; q < c->n; q++)
        memcpy(row(w, to, q, k), row(w, from, q, i), (size_t)w->lanes * c->parts[q].acc_width);
}

/* Windows lie across at most two blocks of `window` steps: the end of one and the beginning of the
 * next. x becomes the totals of each block up to a step, y those from a step on. */
static tn_status *slide(work *w)
{
    const tn_scan *s = w->s;
    int64_t size = s->window;
    for (int64_t i = s->n; i--;) {
        if (i == s->n - 1 || i % size == size - 1) copy_row(w, w->x, i, w->y, i);
        else TN_TRY(combine(w, w->x, i, w->y, i + 1, w->y, i));
    }
    for (int64_t i = 1; i < s->n; i++)
        if (i % size) TN_TRY(combine(w, w->x, i - 1, w->x, i, w->x, i));
    for (int64_t k = 0; k < s->to_n; k++) {
        int64_t first = k * s->stride, last = first + size - 1;
        /* Rows of x from `first` on are still needed, those of y at k <= first are not. */
        if (first % size == 0) copy_row(w, w->x, last, w->y, k);
        else TN_TRY(combine(w, w->y, first, w->x, last, w->y, k));
    }
    return NULL;
}

/* The scans below without what they cost a step, which counts where lanes are few. y[0] holds init.
 */
static void scan_by_kernel(work *w)
{
    const tn_combiner *c = w->s->combiner;
    bool prefix = w->s->kind == TN_SCAN_PREFIX;
    int64_t row = w->lanes * (int64_t)c->parts[0].acc_width, last = (w->s->n - 1) * row;
    int64_t step = prefix ? row : -row;
    char *x = w->x[0], *y = w->y[0], *before = y;
    if (!prefix) {
        before = w->raw[0];
        memcpy(before, y, (size_t)row);
        x += last;
        y += last;
    }
    for (int64_t i = 0; i < w->s->n; i++, before = y, x += step, y += step) {
        const void *in[] = {prefix ? before : x, prefix ? x : before};
        tn_kernel_run(&c->kernel, (size_t)w->lanes, in, y);
    }
}

static tn_status *scan(work *w)
{
    const tn_scan *s = w->s;
    const tn_combiner *c = s->combiner;
    if (s->kind == TN_SCAN_WINDOWS) return slide(w);
    for (uint32_t q = 0; q < c->n; q++) {
        tn_combiner_load(c, q, 1, s->inits[q], w->raw[q]);
        tn_fill(NULL, w->y[q], w->raw[q], c->parts[q].acc_width, w->lanes);
    }
    if (c->by_kernel) {
        scan_by_kernel(w);
        return NULL;
    }
    if (s->kind == TN_SCAN_PREFIX) {
        TN_TRY(combine(w, w->y, 0, w->x, 0, w->y, 0));
        for (int64_t i = 1; i < s->n; i++) TN_TRY(combine(w, w->y, i - 1, w->x, i, w->y, i));
        return NULL;
    }
    if (s->n > 1) copy_row(w, w->y, 0, w->y, s->n - 1);
    TN_TRY(combine(w, w->x, s->n - 1, w->y, s->n - 1, w->y, s->n - 1));
    for (int64_t i = s->n - 1; i--;) TN_TRY(combine(w, w->x, i, w->y, i + 1, w->y, i));
    return NULL;
}

/* --- blocks --- */

/* Between [outer, n, inner] and [n][outers][inners]. */
static void move(const tn_scan *s, size_t width, int64_t n, int64_t outers, int64_t inners,
                 bool gather, void *dst, const void *src)
{
    int64_t w = (int64_t)width, step = s->inner * w, far = n * step, lane = inners * w;
    tn_strided nest;
    tn_strided_init(&nest);
    if (gather) {
        tn_strided_push(&nest, n, outers * lane, step);
        tn_strided_push(&nest, outers, lane, far);
    } else {
        tn_strided_push(&nest, outers, far, lane);
        tn_strided_push(&nest, n, step, outers * lane);
    }
    tn_strided_push(&nest, inners, w, w);
    tn_strided_run(&nest, width, dst, src, NULL);
}

static tn_status *run_block(const job *j, work *w, int64_t block)
{
    const tn_scan *s = j->s;
    const tn_combiner *c = s->combiner;
    int64_t outer = block / j->inner_blocks * j->outers,
            inner = block % j->inner_blocks * j->inners;
    int64_t outers = s->outer - outer < j->outers ? s->outer - outer : j->outers;
    int64_t inners = s->inner - inner < j->inners ? s->inner - inner : j->inners;
    w->lanes = outers * inners;
    for (uint32_t i = 0; i < c->n; i++) {
        const tn_combiner_part *p = &c->parts[i];
        void *raw = p->from == p->acc ? w->x[i] : w->raw[i];
        const char *from = s->from[i];
        move(s, p->from_width, s->n, outers, inners, true, raw,
             from + (size_t)(outer * s->n * s->inner + inner) * p->from_width);
        if (raw != w->x[i]) tn_combiner_load(c, i, s->n * w->lanes, raw, w->x[i]);
    }
    TN_TRY(scan(w));
    for (uint32_t i = 0; i < c->n; i++) {
        const tn_combiner_part *p = &c->parts[i];
        void *raw = p->acc == p->to ? w->y[i] : w->x[i];
        if (raw != w->y[i]) tn_combiner_store(c, i, s->to_n * w->lanes, w->y[i], raw);
        move(s, p->to_width, s->to_n, outers, inners, false,
             (char *)s->to[i] + (size_t)(outer * s->to_n * s->inner + inner) * p->to_width, raw);
    }
    return NULL;
}

static size_t arrays(const tn_combiner *c)
{
    return align(6 * c->n * sizeof(void *));
}

static void run_blocks(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn_combiner *c = j->s->combiner;
    size_t held = (size_t)(j->s->n * j->outers * j->inners);
    char *at = tn_piece_memory_take(&j->memory);
    tn_status *s = NULL;
    if (!at) s = TN_OP_ERROR(RESOURCE_EXHAUSTED, j->s->op, "out of memory");
    void *memory = at;
    if (at) {
        work w = {.s = j->s, .x = (void **)at};
        w.y = w.x + c->n;
        w.raw = w.y + c->n;
        w.out = w.raw + c->n;
        w.left = (const void **)(w.out + c->n);
        w.right = w.left + c->n;
        at += arrays(c);
        for (uint32_t i = 0; i < c->n; i++) {
            w.x[i] = at;
            w.y[i] = at += align(held * c->parts[i].acc_width);
            w.raw[i] = at += align(held * c->parts[i].acc_width);
            at += align((held + 64) * (c->parts[i].from_width + c->parts[i].acc_width));
        }
        w.scratch = at;
        for (int64_t k = begin; k < end && !s; k++) s = run_block(j, &w, k);
    }
    tn_piece_memory_give(&j->memory, memory);
    tn_keep_first(&j->failure, s);
}

tn_status *tn_scan_run(const tn_scan *s)
{
    const tn_combiner *c = s->combiner;
    job j = {.s = s};
    tn_status *done;
    if (tn_scan_run_lines(s, &done)) return done;
    int64_t lanes = ELEMENTS / s->n < LANES ? ELEMENTS / s->n : LANES;
    if (lanes < 1) lanes = 1;
    j.inners = s->inner < lanes ? s->inner : lanes;
    j.outers = lanes / j.inners < s->outer ? lanes / j.inners : s->outer;
    j.inner_blocks = (s->inner + j.inners - 1) / j.inners;
    j.blocks = j.inner_blocks * ((s->outer + j.outers - 1) / j.outers);
    double held = (double)s->n * (double)j.outers * (double)j.inners, bytes = 0;
    for (uint32_t i = 0; i < c->n; i++)
        bytes += held * (double)(3 * c->parts[i].acc_width + c->parts[i].from_width) + 4096;
    if (bytes > 0x1p46) return TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
    tn_piece_memory_begin(&j.memory, c->ctx->scratch,
                          arrays(c) + (size_t)bytes + tn_combiner_scratch(c));
    double each = (c->by_kernel ? 1 : 3) + 20.0 / (double)(j.outers * j.inners);
    tn_parallel_for(c->ctx->pool, j.blocks, held * each, run_blocks, &j);
    return atomic_load(&j.failure);
}
