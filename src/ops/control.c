/* SPDX-License-Identifier: Apache-2.0 */
/* Inference of what the executable and the interpreter do themselves: calls, branches, loops,
 * tuples, and the shells of Shardy. */
#include "ops/behaviours.h"
#include "ops/infer.h"

tn_status *tn_infer_return(const tn_op *op, tn_arena *a, const tn_type **out)
{
    return NULL; /* what may be returned depends on the op around it, which checks it */
}

/* --- calls --- */

static tn_status *infer_call(const tn_op *op, const char *name, const tn_type **out)
{
    const tn_function *f = tn_module_find(op->region->function->module, name);
    if (!f) return TN_OP_ERROR(INVALID_ARGUMENT, op, "there is no function @%s", name);
    const tn_type *t = f->type;
    if (op->n_operands != t->n_inputs)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "@%s takes %u arguments and is given %u", name,
                           t->n_inputs, op->n_operands);
    if (op->n_results != t->n_parts - t->n_inputs)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "@%s has %u results and %u are declared", name,
                           t->n_parts - t->n_inputs, op->n_results);
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!tn_type_compatible(t->parts[i], tn_operand_type(op, i)))
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "argument %u of @%s should be %s and is %s", i,
                               name, TN_TYPE_IN_MESSAGE(t->parts[i]),
                               TN_TYPE_IN_MESSAGE(tn_operand_type(op, i)));
    for (uint32_t i = 0; i < op->n_results; i++) out[i] = t->parts[t->n_inputs + i];
    return NULL;
}

tn_status *tn_infer_call(const tn_op *op, tn_arena *a, const tn_type **out)
{
    return infer_call(op, tn_op_string(op, TN_ATTR_callee), out);
}

static bool is_word(char c, bool first)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (!first && ((c >= '0' && c <= '9') || c == '_' || c == '$'));
}

/* A namespace and a name, "chlo.erf": words between dots, at least two. */
static bool is_namespaced(const char *name)
{
    uint32_t dots = 0;
    const char *c = name;
    if (!is_word(*c, true)) return false;
    for (; *c; c++) {
        if (*c == '.' && c[1] && c[1] != '.') dots++;
        else if (!is_word(*c, false)) return false;
    }
    return dots > 0;
}

tn_status *tn_infer_composite(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const char *name = tn_op_string(op, TN_ATTR_name);
    if (!is_namespaced(name))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "name should be a name in a namespace, as \"space.name\", and is \"%s\"",
                           name);
    return infer_call(op, tn_op_string(op, TN_ATTR_decomposition), out);
}

/* --- regions --- */

static const tn_op *terminator(const tn_op *op, uint32_t region)
{
    return op->regions[region].last;
}

static tn_status *check_no_args(const tn_op *op, uint32_t region)
{
    if (!op->regions[region].n_args) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "region %u should take no arguments and takes %u",
                       region, op->regions[region].n_args);
}

/* The region returns values of types[n]. */
static tn_status *check_returns(const tn_op *op, uint32_t region, uint32_t n,
                                const tn_type *const *types)
{
    const tn_op *ret = terminator(op, region);
    uint32_t got = ret ? ret->n_operands : 0;
    if (got != n)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "region %u should return %u values and returns %u",
                           region, n, got);
    for (uint32_t i = 0; i < n; i++)
        if (!tn_type_compatible(types[i], tn_operand_type(ret, i)))
            return TN_OP_ERROR(
                INVALID_ARGUMENT, op, "result %u of region %u should be %s and is %s", i, region,
                TN_TYPE_IN_MESSAGE(types[i]), TN_TYPE_IN_MESSAGE(tn_operand_type(ret, i)));
    return NULL;
}

static tn_status *check_args(const tn_op *op, uint32_t region)
{
    const tn_region *r = &op->regions[region];
    if (r->n_args != op->n_operands)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "region %u should take %u arguments and takes %u",
                           region, op->n_operands, r->n_args);
    for (uint32_t i = 0; i < r->n_args; i++)
        if (!tn_type_compatible(tn_operand_type(op, i), r->args[i].type))
            return TN_OP_ERROR(
                INVALID_ARGUMENT, op, "argument %u of region %u should be %s and is %s", i, region,
                TN_TYPE_IN_MESSAGE(tn_operand_type(op, i)), TN_TYPE_IN_MESSAGE(r->args[i].type));
    return NULL;
}

static tn_status *check_scalar_operand(const tn_op *op, tn_element_type e)
{
    const tn_type *t = tn_operand_type(op, 0);
    if (t->kind == TN_TYPE_TENSOR && t->rank == 0 && t->element == e) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand 0 should be tensor<%s> and is %s",
                       tn_element_type_text(e), TN_TYPE_IN_MESSAGE(t));
}

static tn_status *infer_branches(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const tn_op *first = terminator(op, 0);
    uint32_t n = first ? first->n_operands : 0;
    if (n != op->n_results)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "region 0 returns %u values for %u results", n,
                           op->n_results);
    for (uint32_t i = 0; i < n; i++) out[i] = tn_operand_type(first, i);
    for (uint32_t i = 0; i < op->n_regions; i++) {
        TN_TRY(check_no_args(op, i));
        TN_TRY(check_returns(op, i, n, out));
    }
    return NULL;
}

tn_status *tn_infer_if(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_scalar_operand(op, TN_I1));
    return infer_branches(op, a, out);
}

tn_status *tn_infer_case(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_scalar_operand(op, TN_I32));
    if (!op->n_regions) return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected branches, got none");
    return infer_branches(op, a, out);
}

tn_status *tn_infer_while(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_count(op, "number of results", op->n_operands, op->n_results));
    TN_TRY(check_args(op, 0));
    TN_TRY(check_args(op, 1));
    const tn_type *predicate = tn_type_tensor(a, TN_I1, 0, NULL);
    TN_TRY(check_returns(op, 0, 1, &predicate));
    for (uint32_t i = 0; i < op->n_operands; i++) out[i] = tn_operand_type(op, i);
    return check_returns(op, 1, op->n_operands, out);
}

tn_status *tn_infer_async_start(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_args(op, 0));
    const tn_op *ret = terminator(op, 0);
    uint32_t n = ret ? ret->n_operands : 0;
    const tn_type **parts = TN_NEW_ARRAY(a, const tn_type *, n);
    for (uint32_t i = 0; i < n; i++) parts[i] = tn_operand_type(ret, i);
    tn_type *t = TN_NEW(a, tn_type);
    *t = (tn_type){.kind = TN_TYPE_FUTURE, .n_parts = n, .parts = parts};
    out[0] = t;
    return NULL;
}

tn_status *tn_infer_async_done(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const tn_type *t = tn_operand_type(op, 0);
    if (t->kind != TN_TYPE_FUTURE)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand 0 should be a future and is %s",
                           TN_TYPE_IN_MESSAGE(t));
    TN_TRY(tn_check_count(op, "number of results", t->n_parts, op->n_results));
    for (uint32_t i = 0; i < t->n_parts; i++) out[i] = t->parts[i];
    return NULL;
}

/* --- tuples --- */

tn_status *tn_infer_tuple(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const tn_type **parts = TN_NEW_ARRAY(a, const tn_type *, op->n_operands);
    for (uint32_t i = 0; i < op->n_operands; i++) parts[i] = tn_operand_type(op, i);
    tn_type *t = TN_NEW(a, tn_type);
    *t = (tn_type){.kind = TN_TYPE_TUPLE, .n_parts = op->n_operands, .parts = parts};
    out[0] = t;
    return NULL;
}

tn_status *tn_infer_get_tuple_element(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const tn_type *t = tn_operand_type(op, 0);
    if (t->kind != TN_TYPE_TUPLE)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand 0 should be a tuple and is %s",
                           TN_TYPE_IN_MESSAGE(t));
    int64_t i = tn_op_int(op, TN_ATTR_index, 0);
    if (i < 0 || i >= t->n_parts)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "index should be in [0, %u) and is %" PRId64,
                           t->n_parts, i);
    out[0] = t->parts[i];
    return NULL;
}

/* --- Shardy: types inside a manual computation are those of one device, outside those of all ---
 */

tn_status *tn_infer_manual_computation(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const tn_region *r = &op->regions[0];
    if (r->n_args != op->n_operands)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "the body should take %u arguments and takes %u",
                           op->n_operands, r->n_args);
    TN_TRY(tn_check_count(op, "number of values that the body returns", op->n_results,
                          r->last ? r->last->n_operands : 0));
    for (uint32_t i = 0; i < op->n_results; i++) out[i] = tn_result_type(op, i);
    return NULL;
}

tn_status *tn_infer_named_computation(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_args(op, 0));
    const tn_op *ret = terminator(op, 0);
    uint32_t n = ret ? ret->n_operands : 0;
    TN_TRY(tn_check_count(op, "number of values that the body returns", op->n_results, n));
    for (uint32_t i = 0; i < n; i++) out[i] = tn_operand_type(ret, i);
    return NULL;
}

tn_status *tn_infer_mesh(const tn_op *op, tn_arena *a, const tn_type **out)
{
    return NULL;
}

tn_status *tn_infer_sharding_group(const tn_op *op, tn_arena *a, const tn_type **out)
{
    return tn_check_tensor(op, 0);
}
