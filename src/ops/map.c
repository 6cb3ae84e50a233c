/* SPDX-License-Identifier: Apache-2.0 */
/* map: a body on corresponding elements. */
#include "base/thread_pool.h"
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/combiner.h"
#include "ops/infer.h"
#include "ops/piece_memory.h"

tn_status *tn_infer_map(const tn_op *op, tn_arena *a, const tn_type **out)
{
    if (!op->n_operands) return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected operands, got none");
    tn_element_type *types = TN_NEW_ARRAY(a, tn_element_type, op->n_operands);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        TN_TRY(tn_check_tensor(op, i));
        TN_TRY(tn_check_same_shape(op, 0, i));
        types[i] = tn_operand_type(op, i)->element;
    }
    const tn_type *first = tn_operand_type(op, 0);
    tn_ints dims;
    TN_TRY(tn_check_dims(op, TN_ATTR_dimensions, first->rank, true, &dims));
    TN_TRY(tn_check_count(op, "size of dimensions, which should be all", first->rank, dims.n));
    tn_element_type any = TN_INVALID;
    TN_TRY(tn_check_region(op, 0, op->n_operands, types, 1, &any));
    const tn_type *e = tn_operand_type(op->regions[0].last, 0);
    out[0] = tn_type_like(a, e, first->rank, first->dims);
    return NULL;
}

typedef struct {
    const tn_op *op;
    const tn_eval_context *ctx;
    const tn_body *body;
    const void **captures;
    const tn_tensor *operands;
    tn_tensor result;
    int64_t n;
    tn_piece_memory memory;
    _Atomic(tn_status *) failure;
} job;

static tn_status *map_tiles(const job *j, int64_t begin, int64_t end, void *memory)
{
    uint32_t n_args = j->op->n_operands;
    const void **args = memory;
    void *scratch = (char *)memory + ((n_args * sizeof *args + 63) & ~(size_t)63);
    for (int64_t at = begin * TN_BODY_TILE; begin < end; begin++, at += TN_BODY_TILE) {
        for (uint32_t i = 0; i < n_args; i++)
            args[i] = (const char *)j->operands[i].data + at * tn_width(j->operands[i].type);
        void *result = (char *)j->result.data + at * tn_width(j->result.type);
        int64_t n = j->n - at < TN_BODY_TILE ? j->n - at : TN_BODY_TILE;
        TN_TRY(tn_body_run(j->body, j->ctx, (size_t)n, args, &result, j->captures, scratch));
    }
    return NULL;
}

static void run_tiles(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    void *memory = tn_piece_memory_take(&j->memory);
    tn_keep_first(&j->failure, memory ? map_tiles(j, begin, end, memory)
                                      : TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "out of memory"));
    tn_piece_memory_give(&j->memory, memory);
}

tn_status *tn_eval_map(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                       tn_tensor *results)
{
    if (tn_is_empty(results[0].type)) return NULL;
    job j = {.op = op,
             .ctx = ctx,
             .body = ctx->bodies[0],
             .captures = tn_captured_data(op, ctx, 0, operands),
             .operands = operands,
             .result = results[0],
             .n = tn_type_elements(results[0].type)};
    if (!j.captures) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    tn_piece_memory_begin(&j.memory, ctx->scratch,
                          op->n_operands * sizeof(void *) + 64 + tn_body_scratch(j.body));
    tn_parallel_for(ctx->pool, (j.n + TN_BODY_TILE - 1) / TN_BODY_TILE, 2.0 * TN_BODY_TILE,
                    run_tiles, &j);
    return atomic_load(&j.failure);
}
