/* SPDX-License-Identifier: Apache-2.0 */
/* rows_shares.c - groups whose lines are cut into shares: a share at a time, by chunks. */
#include <string.h>

#include "base/thread_pool.h"
#include "codegen/rows_places.h"
#include "ops/piece_memory.h"

typedef struct {
    const tn_rows *p;
    void *const *memory;
    char **partial; /* [n_steps]: of reductions: [shares][outer][inner] accumulators */
    tn_piece_memory pieces;
    _Atomic(tn_status *) failure;
} job;

/* What a share has come to: of a row, or of columns. */
typedef struct {
    tn_row_state row;
    _Alignas(64) char acc[TN_LINES_COLUMNS * 8], total[TN_LINES_COLUMNS * 8];
} state;

/* Steps [step, step + c) of `steps`, n columns of which are at `x`. */
static void fold_chunk(const tn_lines *l, const char *x, int64_t apart, int64_t step, int64_t c,
                       int64_t steps, int64_t n, state *s)
{
    bool last = step + c == steps;
    if (l->inner > 1) {
        tn_lines_fold_columns(l, x, apart, step, c, n, s->acc, s->total);
        if (last) tn_lines_end_columns(l, steps, n, s->acc, s->total, s->acc);
        return;
    }
    if (l->folds.append) {
        if (step == 0) s->row.n = 0;
        if (last) l->folds.finish(x, c, &s->row, s->acc);
        else l->folds.append(x, c, &s->row);
        return;
    }
    l->folds.row(x, c, step ? s->total : s->acc);
    if (step) tn_kernel_run(&l->combine, 1, (const void *[]){s->acc, s->total}, s->acc);
}

/* The columns [column, column + n) of steps [first, first + steps) of line o. */
static void run_share(const job *j, uintptr_t *at, const char *temp, state *states, int64_t o,
                      int64_t first, int64_t steps, int64_t column, int64_t n)
{
    const tn_rows *p = j->p;
    const tn_lines *l = p->shares;
    int64_t chunk = n < l->inner ? 1 : p->block / n;
    for (int64_t step = 0, c; step < steps; step += c) {
        c = steps - step < chunk ? steps - step : chunk;
        int64_t begin = (o * l->length + first + step) * l->inner + column;
        tn_rows_place_temps(p, p->block, begin, temp, at);
        state *s = states;
        for (uint32_t i = 0; i < p->n_steps; i++) {
            const tn_rows_step *x = &p->steps[i];
            if (x->tile) {
                tn_rows_run_tile(x, at, begin, begin + c * n);
                continue;
            }
            const char *from = (const char *)at[x->refs[0]] + (size_t)begin * x->lines->from_bytes;
            fold_chunk(x->lines, from, n, step, c, steps, n, s++);
        }
    }
}

static void run_shares(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn_rows *p = j->p;
    const tn_lines *l = p->shares;
    char *memory = tn_piece_memory_take(&j->pieces);
    if (!memory) {
        tn_keep_first(&j->failure, TN_ERROR(RESOURCE_EXHAUSTED, "out of memory for a reduction"));
        return;
    }
    uintptr_t *at = (uintptr_t *)memory;
    state *states = (state *)(memory + tn_rows_table_size(p));
    const char *temp = memory + tn_rows_table_size(p) + p->n_steps * sizeof *states;
    tn_rows_place_outside(p, j->memory, at);
    int64_t kept = l->outer * l->inner;
    int64_t tiles = (l->inner + TN_LINES_COLUMNS - 1) / TN_LINES_COLUMNS;
    for (int64_t k = begin; k < end; k++) {
        int64_t column = k % tiles * TN_LINES_COLUMNS, share = k / tiles % l->shares;
        int64_t o = k / tiles / l->shares, first = share * l->share;
        int64_t steps = l->length - first < l->share ? l->length - first : l->share;
        int64_t n = l->inner - column < TN_LINES_COLUMNS ? l->inner - column : TN_LINES_COLUMNS;
        run_share(j, at, temp, states, o, first, steps, column, n);
        const state *s = states;
        for (uint32_t i = 0; i < p->n_steps; i++) {
            if (p->steps[i].tile) continue;
            size_t bytes = p->steps[i].lines->acc_bytes;
            memcpy(j->partial[i] + (size_t)(share * kept + o * l->inner + column) * bytes, s->acc,
                   (size_t)n * bytes);
            s++;
        }
    }
    tn_piece_memory_give(&j->pieces, memory);
}

tn_status *tn_rows_run_shares(const tn_rows *p, const tn_eval_context *ctx, void *const *memory)
{
    job j = {.p = p, .memory = memory};
    const tn_lines *l = p->shares;
    int64_t kept = l->outer * l->inner;
    int64_t tiles = (l->inner + TN_LINES_COLUMNS - 1) / TN_LINES_COLUMNS;
    char *partial[TN_ROWS_STEPS];
    j.partial = partial;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        if (p->steps[i].tile) continue;
        size_t bytes = (size_t)(kept * l->shares) * p->steps[i].lines->acc_bytes;
        partial[i] = tn_scratch_alloc(ctx->scratch, bytes);
        if (!partial[i]) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory for a reduction");
    }
    tn_piece_memory_begin(&j.pieces, ctx->scratch,
                          tn_rows_table_size(p) + p->n_steps * sizeof(state) +
                              tn_rows_temp_size(p, p->block));
    int64_t pieces = l->outer * l->shares * tiles;
    tn_parallel_for(ctx->pool, pieces, p->row_ns * (double)p->n / (double)pieces, run_shares, &j);
    tn_status *s = atomic_load(&j.failure);
    uintptr_t at[TN_ROWS_VALUES];
    tn_rows_place_outside(p, memory, at);
    for (uint32_t i = 0; i < p->n_steps && !s; i++) {
        const tn_rows_step *x = &p->steps[i];
        if (!x->tile)
            tn_lines_finish(x->lines, ctx, partial[i], (const void *)at[x->refs[1]],
                            (void *)at[x->refs[2]]);
    }
    return s;
}
