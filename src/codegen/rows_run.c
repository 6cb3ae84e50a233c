/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/thread_pool.h"
#include "codegen/rows.h"
#include "ops/piece_memory.h"

typedef struct {
    const tn_rows *p;
    void *const *memory;
    tn_piece_memory pieces;
    _Atomic(tn_status *) failure;
} job;

static size_t align(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

/* Where the values of a block's rows are, as if all rows had memory. */
static size_t table_size(const tn_rows *p)
{
    return align(p->n_values * sizeof(uintptr_t));
}
static size_t acc_size(const tn_rows *p)
{
    return align((size_t)p->block * 16);
}

static void reduce(const tn_rows_step *s, const uintptr_t *at, int64_t first, int64_t n,
                   char *spread, char *acc)
{
    const char *from = (const char *)at[s->refs[0]];
    size_t row = (size_t)s->per_row * s->from_bytes;
    for (int64_t i = 0; i < n; i++)
        s->fold(from + (size_t)(first + i) * row, s->per_row, acc + (size_t)i * s->acc_bytes);
    char init[16];
    const void *given = (const void *)at[s->refs[1]];
    if (s->load.run) {
        tn_kernel_run(&s->load, 1, &given, init);
        given = init;
    }
    tn_tile_fill_with(spread, given, s->acc_bytes, n);
    char *to = (char *)at[s->refs[2]] + (size_t)first * s->to_bytes;
    const void *both[] = {spread, acc}, *result = acc;
    tn_kernel_run(&s->combine, (size_t)n, both, s->store.run ? acc : to);
    if (s->store.run) tn_kernel_run(&s->store, (size_t)n, &result, to);
}

static void run_block(const tn_rows *p, const uintptr_t *at, int64_t first, int64_t n, char *spread,
                      char *acc)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const tn_rows_step *s = &p->steps[i];
        if (!s->tile) {
            reduce(s, at, first, n, spread, acc);
            continue;
        }
        void *ports[TN_ROWS_PORTS];
        for (uint32_t k = 0; k < s->tile->n_inputs + s->tile->n_outputs; k++)
            ports[k] = (void *)at[s->refs[k]];
        tn_tile_run_part(s->tile, ports, first * s->per_row, (first + n) * s->per_row);
    }
}

static void run_blocks(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn_rows *p = j->p;
    char *memory = tn_piece_memory_take(&j->pieces);
    if (!memory) {
        tn_keep_first(&j->failure, TN_ERROR(RESOURCE_EXHAUSTED, "out of memory for rows"));
        return;
    }
    uintptr_t *at = (uintptr_t *)memory;
    char *spread = memory + table_size(p), *acc = spread + acc_size(p), *temp = acc + acc_size(p);
    for (uint32_t i = 0; i < p->n_inputs; i++) at[p->inputs[i]] = (uintptr_t)j->memory[i];
    for (uint32_t i = 0; i < p->n_outputs; i++)
        at[p->outputs[i]] = (uintptr_t)j->memory[p->n_inputs + i];
    for (int64_t b = begin; b < end; b++) {
        int64_t first = b * p->block, n = p->n - first < p->block ? p->n - first : p->block;
        uintptr_t next = (uintptr_t)temp;
        for (uint32_t i = 0; i < p->n_values; i++) {
            const tn_rows_value *v = &p->values[i];
            if (!v->is_temp) continue;
            at[i] = next - (uintptr_t)(first * v->row_bytes);
            next += align((size_t)(p->block * v->row_bytes));
        }
        run_block(p, at, first, n, spread, acc);
    }
    tn_piece_memory_give(&j->pieces, memory);
}

tn_status *tn_rows_run(const tn_rows *p, const tn_eval_context *ctx, void *const *memory)
{
    job j = {.p = p, .memory = memory};
    size_t temp = (size_t)(p->temp_bytes * p->block) + 64 * (size_t)p->n_values;
    tn_piece_memory_begin(&j.pieces, ctx->scratch, table_size(p) + 2 * acc_size(p) + temp);
    int64_t blocks = (p->n + p->block - 1) / p->block;
    tn_parallel_for(ctx->pool, blocks, p->row_ns * (double)p->block, run_blocks, &j);
    return atomic_load(&j.failure);
}
