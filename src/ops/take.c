/* SPDX-License-Identifier: Apache-2.0 */
/* tenon.take, which the pass of that name makes of gathers of elements: an element of operand 0, in
 * the order of memory, for each index of operand 1, which is moved into it. */
#include "base/thread_pool.h"
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/elementwise.h"
#include "ops/infer.h"

tn_status *tn_infer_take(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    TN_TRY(tn_check_tensor(op, 1));
    const tn_type *t = tn_operand_type(op, 0), *index = tn_operand_type(op, 1);
    if (index->element != TN_I32)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand 1 is %s, expected i32",
                           TN_TYPE_IN_MESSAGE(index));
    if (!tn_type_is_static(t) || tn_is_empty(t) || tn_type_elements(t) > INT32_MAX)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "operand 0 is %s, expected a static type of 1 to 2^31 - 1 elements",
                           TN_TYPE_IN_MESSAGE(t));
    out[0] = tn_type_like(a, t, index->rank, index->dims);
    return NULL;
}

typedef struct {
    tn_kernel kernel;
    const tn_tensor *operands;
    char *out;
} job;

static void take_part(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const void *in[] = {j->operands[0].data, (const int32_t *)j->operands[1].data + begin};
    tn_kernel_run(&j->kernel, (size_t)(end - begin), in, j->out + begin * j->kernel.out_step);
}

tn_status *tn_eval_take(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                        tn_tensor *results)
{
    job j = {.operands = operands, .out = results[0].data};
    TN_TRY(tn_elementwise_kernel(op, &j.kernel));
    tn_parallel_for(ctx->pool, tn_type_elements(results[0].type), tn_elementwise_cost(op),
                    take_part, &j);
    return NULL;
}
