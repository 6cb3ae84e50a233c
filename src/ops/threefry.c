/* SPDX-License-Identifier: Apache-2.0 */
/* tenon.threefry2x32(key0, key1[, counter0, counter1]) -> (word0, word1) or their exclusive or:
 * what the pass of that name puts in the place of JAX's loop. Keys are scalars or of the shape of
 * the results; without counters, element i of the results in row-major order has counter i. All of
 * an element is read before its results are written, so they may be where operands are.
 *
 * tenon.threefry_bits(key0, key1, counter) -> the exclusive or of both words of the block with a
 * counter below 2^32, elementwise. Keys are scalars. */
#include "kernels/threefry.h"

#include "base/thread_pool.h"
#include "ops/behaviours.h"
#include "ops/infer.h"

tn_status *tn_infer_threefry2x32(const tn_op *op, tn_arena *a, const tn_type **out)
{
    bool counters = op->n_operands == 4;
    if ((op->n_operands != 2 && !counters) || op->n_results < 1 || op->n_results > 2)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "expected 2 or 4 operands and 1 or 2 results, got %u and %u",
                           op->n_operands, op->n_results);
    const tn_type *t = tn_result_type(op, 0);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_type *from = tn_operand_type(op, i);
        if (from->element == TN_U32 && ((i < 2 && from->rank == 0) || tn_type_equal(from, t)))
            continue;
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u should be of the type %s and is %s", i,
                           TN_TYPE_IN_MESSAGE(t), TN_TYPE_IN_MESSAGE(from));
    }
    if (tn_operand_type(op, 0)->rank != tn_operand_type(op, 1)->rank)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "one word of the key is a scalar and one is not");
    for (uint32_t i = 0; i < op->n_results; i++) out[i] = t;
    return NULL;
}

tn_status *tn_infer_threefry_bits(const tn_op *op, tn_arena *a, const tn_type **out)
{
    for (uint32_t i = 0; i < 3; i++) {
        const tn_type *t = tn_operand_type(op, i);
        if (t->element == TN_U32 && !t->quantization && (i == 2 || t->rank == 0)) continue;
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u should be %sui32 and is %s", i,
                           i == 2 ? "of " : "a scalar of ", TN_TYPE_IN_MESSAGE(t));
    }
    out[0] = tn_operand_type(op, 2);
    return NULL;
}

enum { PIECE = 4096 };

static void run(void *ctx, int64_t begin, int64_t end)
{
    tn_threefry_blocks b = *(const tn_threefry_blocks *)ctx;
    int64_t at = begin * PIECE, last = end * PIECE < b.n ? end * PIECE : b.n;
    b.n = last - at;
    b.first += (uint64_t)at;
    if (!b.one_key) {
        b.k0 += at;
        b.k1 += at;
    }
    if (b.x0) {
        b.x0 += at;
        b.x1 += at;
    }
    b.y0 += at;
    if (b.y1) b.y1 += at;
    tn_threefry(tn_cpu_isa(), &b);
}

tn_status *tn_eval_threefry2x32(const tn_op *op, const tn_eval_context *ctx,
                                const tn_tensor *operands, tn_tensor *results)
{
    bool counters = op->n_operands == 4;
    tn_threefry_blocks b = {.n = tn_type_elements(results[0].type),
                            .k0 = operands[0].data,
                            .k1 = operands[1].data,
                            .one_key = operands[0].type->rank == 0,
                            .x0 = counters ? operands[2].data : NULL,
                            .x1 = counters ? operands[3].data : NULL,
                            .y0 = results[0].data,
                            .y1 = op->n_results > 1 ? results[1].data : NULL};
    if (!b.n) return NULL;
    tn_parallel_for(ctx->pool, (b.n + PIECE - 1) / PIECE, 0.7 * PIECE, run, &b);
    return NULL;
}
