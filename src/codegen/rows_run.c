/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/thread_pool.h"
#include "codegen/rows_code.h"
#include "codegen/rows_places.h"
#include "ops/piece_memory.h"

typedef struct {
    const tn_rows *p;
    void *const *memory;
    int64_t block, per_chunk; /* rows of a block; blocks of a chunk */
    char *packed;
    tn_piece_memory pieces;
    _Atomic(tn_status *) failure;
} job;

static size_t acc_size(const job *j)
{
    return tn_rows_align((size_t)j->block * 16);
}

static void reduce(const tn_rows_step *s, const uintptr_t *at, int64_t first, int64_t n,
                   char *spread, char *acc)
{
    const tn_lines *l = s->lines;
    const char *from = (const char *)at[s->refs[0]];
    size_t row = (size_t)s->per_row * l->from_bytes;
    tn_fold_rows(&l->folds, from + (size_t)first * row, s->per_row, l->from_bytes, n, acc,
                 l->acc_bytes);
    char init[16];
    const void *given = (const void *)at[s->refs[1]];
    if (l->load.run) {
        tn_kernel_run(&l->load, 1, &given, init);
        given = init;
    }
    tn_tile_fill_with(spread, given, l->acc_bytes, n);
    char *to = (char *)at[s->refs[2]] + (size_t)first * l->to_bytes;
    const void *both[] = {spread, acc}, *result = acc;
    tn_kernel_run(&l->combine, (size_t)n, both, l->store.run ? acc : to);
    if (l->store.run) tn_kernel_run(&l->store, (size_t)n, &result, to);
}

static void multiply(const tn_rows_step *s, const uintptr_t *at, int64_t first, int64_t n,
                     const char *packed, char *workspace)
{
    const tn_gemm *g = &s->product->gemm;
    char *to = (char *)at[s->refs[2]] + first * s->per_row * tn_element_type_bytes(g->c_type);
    tn_gemm_rows_run(g, first / g->m, (const void *)at[s->refs[0]], packed + s->product->packed,
                     first % g->m, n, to, workspace);
}

/* Where a block finds its working memory. */
typedef struct {
    char *spread, *acc, *workspace;
} space;

static void run_block(const job *j, const uintptr_t *at, int64_t first, int64_t n, const space *w)
{
    const tn_rows *p = j->p;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const tn_rows_step *s = &p->steps[i];
        if (s->product) multiply(s, at, first, n, j->packed, w->workspace);
        else if (s->tile) tn_rows_run_tile(s, at, first * s->per_row, (first + n) * s->per_row);
        else reduce(s, at, first, n, w->spread, w->acc);
    }
}

/* That of a piece: a table in which what is outside of the group has its places, and the rest.
 * NULL, with the failure noted, where there is none. */
static char *take_memory(job *j)
{
    char *memory = tn_piece_memory_take(&j->pieces);
    if (memory) tn_rows_place_outside(j->p, j->memory, (uintptr_t *)memory);
    else tn_keep_first(&j->failure, TN_ERROR(RESOURCE_EXHAUSTED, "out of memory for rows"));
    return memory;
}

static void run_blocks(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn_rows *p = j->p;
    char *memory = take_memory(j);
    if (!memory) return;
    uintptr_t *at = (uintptr_t *)memory;
    space w = {.spread = memory + tn_rows_table_size(p)};
    w.acc = w.spread + acc_size(j);
    w.workspace = w.acc + acc_size(j);
    char *temp = w.workspace + tn_rows_align(p->workspace);
    for (int64_t b = begin; b < end; b++) {
        int64_t chunk = b / j->per_chunk * p->chunk, inside = b % j->per_chunk * j->block;
        int64_t first = chunk + inside, left = p->chunk - inside;
        int64_t n = left < j->block ? left : j->block;
        tn_rows_place_temps(p, j->block, first, temp, at);
        run_block(j, at, first, n, &w);
    }
    tn_piece_memory_give(&j->pieces, memory);
}

/* Blocks as one piece, by the code that there is of them. */
static void run_code(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn_rows *p = j->p;
    char *memory = take_memory(j);
    if (!memory) return;
    uintptr_t *at = (uintptr_t *)memory;
    int64_t first = begin * j->block, last = end * j->block < p->n ? end * j->block : p->n;
    tn_rows_code_run(p->code, p, at, first, last - first, memory + tn_rows_table_size(p));
    tn_piece_memory_give(&j->pieces, memory);
}

/* --- the right operands of products --- */

typedef struct {
    const tn_gemm *gemm;
    const void *from;
    void *to;
} packing;

static void pack(void *ctx, int64_t begin, int64_t end)
{
    const packing *p = ctx;
    tn_gemm_rows_pack(p->gemm, p->from, p->to, begin, end);
}

static tn_status *pack_all(job *j, const tn_eval_context *ctx)
{
    const tn_rows *p = j->p;
    j->packed = tn_scratch_alloc(ctx->scratch, p->packed_bytes);
    if (!j->packed)
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu bytes of packed operands",
                        p->packed_bytes);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const tn_rows_step *s = &p->steps[i];
        if (!s->product) continue;
        uint32_t input = 0;
        while (p->inputs[input] != s->refs[1]) input++;
        packing one = {&s->product->gemm, j->memory[input], j->packed + s->product->packed};
        int64_t items = tn_gemm_rows_pack_items(one.gemm);
        double bytes = (double)tn_gemm_rows_packed_bytes(one.gemm);
        tn_parallel_for(ctx->pool, items, 0.08 * bytes / (double)items, pack, &one);
    }
    return NULL;
}

/* Rows of a block, so that every thread gets as many blocks. */
static void divide(job *j, const tn_thread_pool *pool)
{
    const tn_rows *p = j->p;
    int64_t chunks = p->n / p->chunk, threads = tn_thread_pool_size(pool);
    j->per_chunk = (p->chunk + p->block - 1) / p->block;
    if (p->unit > 1)
        while (j->per_chunk * chunks % threads && (j->per_chunk + 1) * 2 * p->unit <= p->chunk)
            j->per_chunk++;
    j->block = (p->chunk + j->per_chunk - 1) / j->per_chunk;
    j->block = (j->block + p->unit - 1) / p->unit * p->unit;
    if (j->block > p->chunk) j->block = p->chunk;
    j->per_chunk = (p->chunk + j->block - 1) / j->block;
}

tn_status *tn_rows_run(const tn_rows *p, const tn_eval_context *ctx, void *const *memory)
{
    job j = {.p = p, .memory = memory};
    if (p->shares) return tn_rows_run_shares(p, ctx, memory);
    divide(&j, ctx->pool);
    if (p->packed_bytes) TN_TRY(pack_all(&j, ctx));
    if (p->code) {
        tn_piece_memory_begin(&j.pieces, ctx->scratch, tn_rows_table_size(p) + p->code->kept_bytes);
        tn_parallel_for(ctx->pool, (p->n + j.block - 1) / j.block, p->row_ns * (double)j.block,
                        run_code, &j);
        return atomic_load(&j.failure);
    }
    tn_piece_memory_begin(&j.pieces, ctx->scratch,
                          tn_rows_table_size(p) + 2 * acc_size(&j) + tn_rows_align(p->workspace) +
                              tn_rows_temp_size(p, j.block));
    int64_t blocks = p->n / p->chunk * j.per_chunk;
    tn_parallel_for(ctx->pool, blocks, p->row_ns * (double)j.block, run_blocks, &j);
    return atomic_load(&j.failure);
}
