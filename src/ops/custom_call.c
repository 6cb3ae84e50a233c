/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/custom_call.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"

static _Atomic(const tn_custom_call_provider *) provider;

void tn_custom_call_set_provider(const tn_custom_call_provider *p)
{
    atomic_store(&provider, p);
}

/* --- identities: marks for a partitioner or a memory planner --- */

static tn_status *infer_mark(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_count(op, "number of results", op->n_operands, op->n_results));
    for (uint32_t i = 0; i < op->n_operands; i++) {
        out[i] = tn_operand_type(op, i);
        if (tn_type_compatible(out[i], tn_result_type(op, i))) continue;
        return TN_OP_ERROR(UNIMPLEMENTED, op,
                           "target '%s' from %s to %s, a change to the shape of one device, is not "
                           "supported",
                           tn_op_string(op, TN_ATTR_call_target_name), TN_TYPE_IN_MESSAGE(out[i]),
                           TN_TYPE_IN_MESSAGE(tn_result_type(op, i)));
    }
    return NULL;
}

/* --- shape_assertion(condition, sizes...): what jax.export checks once shapes are known --- */

static tn_status *infer_assertion(const tn_op *op, tn_arena *a, const tn_type **out)
{
    if (!op->n_operands || op->n_results)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "target 'shape_assertion' takes a condition and gives nothing; got %u "
                           "operands and %u results",
                           op->n_operands, op->n_results);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        TN_TRY(tn_check_rank(op, i, 0));
        if (i) TN_TRY(tn_check_integer(op, i));
    }
    const tn_type *t = tn_operand_type(op, 0);
    if (t->element == TN_I1) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand 0 should be tensor<i1> and is %s",
                       TN_TYPE_IN_MESSAGE(t));
}

/* `text` with {k}, or {k,width}, replaced by integer operand k + 1. */
static void fill_in(const tn_op *op, const tn_tensor *operands, const char *text, char *out,
                    size_t size)
{
    size_t used = 0;
    while (*text && used + 1 < size) {
        char *end;
        unsigned long k = text[0] == '{' ? strtoul(text + 1, &end, 10) : 0;
        if (text[0] == '{' && end != text + 1 && k < op->n_operands - 1) {
            const char *close = strchr(end, '}');
            if (close) {
                const tn_tensor *v = &operands[k + 1];
                int n = snprintf(out + used, size - used, "%" PRId64,
                                 tn_read_index(v->data, v->type->element, 0));
                used += n > 0 ? (size_t)n : 0;
                text = close + 1;
                continue;
            }
        }
        out[used++] = *text++;
    }
    out[used < size ? used : size - 1] = 0;
}

static tn_status *eval_assertion(const tn_op *op, const tn_eval_context *ctx,
                                 const tn_tensor *operands, tn_tensor *results)
{
    if (*(const uint8_t *)operands[0].data) return NULL;
    const tn_attr *message = tn_op_extra(op, "error_message");
    char text[1024];
    fill_in(op, operands,
            message && message->kind == TN_ATTR_KIND_STRING ? message->string.data
                                                            : "a shape assertion failed",
            text, sizeof text);
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s", text);
}

/* --- calls that passes/refine replaces once sizes are known --- */

static tn_status *infer_declared(const tn_op *op, tn_arena *a, const tn_type **out)
{
    for (uint32_t i = 0; i < op->n_results; i++) {
        TN_TRY(tn_check_result_tensor(op, i));
        out[i] = tn_result_type(op, i);
    }
    return NULL;
}

static tn_status *eval_unrefined(const tn_op *op, const tn_eval_context *ctx,
                                 const tn_tensor *operands, tn_tensor *results)
{
    return TN_OP_ERROR(UNIMPLEMENTED, op, "target '%s' has operands that should be constants",
                       tn_op_string(op, TN_ATTR_call_target_name));
}

/* --- control_dep(before, after), an order between values, and dce_sink(values), a use of them ---
 */

static tn_status *infer_nothing(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const char *target = tn_op_string(op, TN_ATTR_call_target_name);
    if (op->n_results)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "target '%s' gives nothing; got %u results",
                           target, op->n_results);
    return NULL;
}

static tn_status *eval_nothing(const tn_op *op, const tn_eval_context *ctx,
                               const tn_tensor *operands, tn_tensor *results)
{
    return NULL;
}

/* --- calls that a partitioner answers, and takes out --- */

static tn_status *infer_partitioned(const tn_op *op, tn_arena *a, const tn_type **out)
{
    return TN_OP_ERROR(UNIMPLEMENTED, op,
                       "target '%s' asks how values are divided over devices: partitioning "
                       "programs is not supported yet",
                       tn_op_string(op, TN_ATTR_call_target_name));
}

/* --- the table --- */

static const tn_custom_call_target targets[] = {
    {"ApproxTopK", tn_infer_approx_top_k, tn_eval_approx_top_k},
    {"CustomSPMDPartitioning", infer_partitioned, eval_unrefined},
    {"InspectSharding", infer_partitioned, eval_unrefined},
    {"LayoutConstraint", infer_mark, tn_eval_identity},
    {"MoveToDevice", infer_mark, tn_eval_identity},
    {"MoveToHost", infer_mark, tn_eval_identity},
    {"ProductOfElementaryHouseholderReflectors", tn_infer_lapack, tn_eval_lapack},
    {"Qr", tn_infer_lapack, tn_eval_lapack},
    {"SPMDFullToShardShape", infer_mark, tn_eval_identity},
    {"SPMDShardToFullShape", infer_mark, tn_eval_identity},
    {"Sharding", infer_mark, tn_eval_identity},
    {"annotate_device_placement", infer_mark, tn_eval_identity},
    {"chlo.*", tn_infer_special, tn_eval_special},
    {"control_dep", infer_nothing, eval_nothing, .may_go = true},
    {"cpu_csr_sparse_dense_ffi", tn_infer_csr_product, tn_eval_csr_product},
    {"dce_sink", infer_nothing, eval_nothing},
    {"lapack_*", tn_infer_lapack, tn_eval_lapack},
    {"shape_assertion", infer_assertion, eval_assertion},
    {"stablehlo.dynamic_approx_top_k", infer_declared, eval_unrefined},
    {"stablehlo.dynamic_reduce_window", infer_declared, eval_unrefined},
    {"stablehlo.dynamic_rng_bit_generator", infer_declared, eval_unrefined},
    {"stablehlo.dynamic_top_k", infer_declared, eval_unrefined},
    {"stablehlo.shape_refinement_operand_wrapper", infer_declared, eval_unrefined},
    {"tridiagonal_solve_perturbed_ffi", tn_infer_tridiagonal, tn_eval_tridiagonal},
    {"xla.sdy.*", infer_mark, tn_eval_identity},
};

int64_t tn_op_takes(const tn_op *op, uint32_t i)
{
    if (op->kind == TN_OP_custom_call) return tn_lapack_takes(op, i);
    return tn_op_has_trait(op, TN_TRAIT_IN_PLACE) && i < op->n_results ? (int64_t)i : -1;
}

const tn_custom_call_target *tn_custom_call_find(const char *name)
{
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        size_t n = strlen(targets[i].name);
        bool prefix = targets[i].name[n - 1] == '*';
        if (prefix ? !strncmp(targets[i].name, name, n - 1) : !strcmp(targets[i].name, name))
            return &targets[i];
    }
    return NULL;
}

/* Such a call is looked at again once the tuples have become their leaves. */
static bool has_tuples(const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (tn_operand_type(op, i)->kind == TN_TYPE_TUPLE) return true;
    for (uint32_t i = 0; i < op->n_results; i++)
        if (tn_result_type(op, i)->kind == TN_TYPE_TUPLE) return true;
    return false;
}

tn_status *tn_infer_custom_call(const tn_op *op, tn_arena *a, const tn_type **out)
{
    if (has_tuples(op)) {
        for (uint32_t i = 0; i < op->n_results; i++) out[i] = tn_result_type(op, i);
        return NULL;
    }
    const char *name = tn_op_string(op, TN_ATTR_call_target_name);
    const tn_custom_call_target *t = tn_custom_call_find(name);
    /* Some operands are shapes of results, until those are known. */
    if (t && tn_op_extra(op, "indices_of_shape_operands")) return infer_declared(op, a, out);
    if (t) return t->infer(op, a, out);
    const tn_custom_call_provider *p = atomic_load(&provider);
    if (!p) return TN_OP_ERROR(NOT_FOUND, op, "no handler for custom call target '%s'", name);
    TN_TRY(p->check(op));
    for (uint32_t i = 0; i < op->n_results; i++) out[i] = tn_result_type(op, i);
    return NULL;
}

const tn_custom_call_provider *tn_custom_call_provider_of(const tn_op *op)
{
    if (op->kind != TN_OP_custom_call ||
        tn_custom_call_find(tn_op_string(op, TN_ATTR_call_target_name)))
        return NULL;
    return atomic_load(&provider);
}

static _Thread_local int depth;

int tn_custom_call_depth(void)
{
    return depth;
}

tn_status *tn_eval_custom_call(const tn_op *op, const tn_eval_context *ctx,
                               const tn_tensor *operands, tn_tensor *results)
{
    const char *name = tn_op_string(op, TN_ATTR_call_target_name);
    const tn_custom_call_target *t = tn_custom_call_find(name);
    if (t) return t->eval(op, ctx, operands, results);
    const tn_custom_call_provider *p = atomic_load(&provider);
    if (!p) return TN_OP_ERROR(NOT_FOUND, op, "no handler for custom call target '%s'", name);
    if (!ctx->call)
        return TN_OP_ERROR(UNIMPLEMENTED, op, "target '%s' is called outside of an executable",
                           name);
    depth++;
    tn_status *s = p->eval(op, ctx, operands, results);
    depth--;
    return s;
}
