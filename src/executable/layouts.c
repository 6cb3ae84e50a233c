/* SPDX-License-Identifier: Apache-2.0 */
/* layouts.c - parameters and results whose dimensions lie in another order than row-major.
 *
 * Before:  main(%0 : tensor<2x3xf32>, "{0,1}") ... return %r
 * After:   main(%0 : tensor<3x2xf32>)   %1 = transpose %0   ... use %1 ... return %r
 * A dense array in any order is a row-major one of permuted dimensions, so within the program there
 * is one layout, and the transposes are folded like any others. Callers see the types from before.
 */
#include <stdlib.h>

#include "executable/layout_options.h"
#include "executable/program.h"
#include "ops/infer.h"

/* "{0,1}" or "{0,1:T(8,128)}": the dimensions, minor to major. */
static tn_status *parse(const char *text, const tn_type *type, const char *role, uint32_t i,
                        int64_t *out)
{
    uint64_t seen = 0;
    const char *at = text;
    bool ok = *at == '{' && type->rank <= 64;
    for (uint32_t k = 0; ok && k < type->rank; k++) {
        char *end;
        at += at[0] == (k ? ',' : '{');
        out[k] = strtoll(at, &end, 10);
        ok = end != at && out[k] >= 0 && out[k] < type->rank && !(seen >> out[k] & 1);
        if (ok) seen |= (uint64_t)1 << out[k];
        at = end;
    }
    if (type->rank == 0) at++;
    if (ok && !strcmp(at, "}")) return NULL;
    if (ok && *at == ':')
        return TN_ERROR(UNIMPLEMENTED,
                        "%s %u: layout %s: only the order of dimensions can be chosen", role, i,
                        text);
    return TN_ERROR(INVALID_ARGUMENT, "%s %u: layout %s is no order of the dimensions of %s", role,
                    i, text, TN_TYPE_IN_MESSAGE(type));
}

/* The order asked for in a dictionary of attributes; NULL: it is left open, which `default` leaves
 * to the compile options. */
static tn_status *find_order(tn_arena *a, const tn_attr *dict, const tn_type *type,
                             const char *role, uint32_t i, const int64_t **out)
{
    *out = NULL;
    const tn_attr *mode = tn_attr_get(dict, "mhlo.layout_mode");
    if (!mode || mode->kind != TN_ATTR_KIND_STRING || type->kind != TN_TYPE_TENSOR ||
        !strcmp(mode->string.data, "default") || !strcmp(mode->string.data, "auto"))
        return NULL;
    int64_t *order = TN_NEW_ARRAY(a, int64_t, type->rank + 1);
    TN_TRY(parse(mode->string.data, type, role, i, order));
    *out = order;
    return NULL;
}

/* What is settled for a value by the program (attributes) and the options (a shape; NULL: none);
 * NULL: row-major, by wish or by our choice. */
static tn_status *settle(tn_arena *a, const tn_attr *dict, const tn_proto_span *shape,
                         const tn_type *type, const char *role, uint32_t i, const int64_t **out)
{
    const int64_t *program, *options = NULL;
    *out = NULL;
    TN_TRY(find_order(a, dict, type, role, i, &program));
    if (shape) TN_TRY(tn_layout_option(shape, type, a, role, i, &options));
    const int64_t *order = program ? program : options;
    if (!order) return NULL;
    for (uint32_t k = 0; k < type->rank; k++) {
        if (options && options[k] != order[k])
            return TN_ERROR(INVALID_ARGUMENT,
                            "%s %u has a layout in the program and another in the compile options",
                            role, i);
        if (order[k] != (int64_t)type->rank - 1 - k) *out = order;
    }
    return NULL;
}

/* One shape for each of n values, or none; a tuple may stand for its parts. */
static tn_status *spread(tn_arena *a, const tn_proto_span *shapes, size_t n_shapes, uint32_t n,
                         const char *role, const tn_proto_span **out)
{
    *out = n_shapes ? shapes : NULL;
    if (n_shapes == n || n_shapes == 0) return NULL;
    tn_layout_options parts;
    TN_TRY(tn_layout_options_spread(shapes, n_shapes, a, &parts));
    *out = parts.shapes;
    if (parts.n == n) return NULL;
    return TN_ERROR(INVALID_ARGUMENT, "the compile options have layouts for %zu %ss, expected %u",
                    parts.n, role, n);
}

/* The type of the row-major array with the same bytes: its dimension k is order[rank - 1 - k]. */
static const tn_type *physical(tn_arena *a, const tn_type *t, const int64_t *order)
{
    int64_t *dims = TN_NEW_ARRAY(a, int64_t, t->rank);
    for (uint32_t k = 0; k < t->rank; k++) dims[k] = t->dims[order[t->rank - 1 - k]];
    return tn_type_tensor(a, t->element, t->rank, dims);
}

/* permutation[k] is the dimension of the operand that becomes dimension k. */
static tn_op *transpose(tn_module *m, tn_value *operand, const tn_type *to,
                        const int64_t *permutation)
{
    tn_op *op = tn_op_new(m, TN_OP_transpose, 1, 1, 0);
    op->operands[0] = operand;
    op->results[0].type = to;
    tn_op_set_attr(m, op, TN_ATTR_permutation, tn_attr_ints(m->arena, permutation, to->rank));
    return op;
}

/* All that used a parameter uses its transpose, which alone still uses the parameter. */
static void change_parameters(tn_module *m, const tn_layout_of_value *params, uint32_t n)
{
    tn_region *body = &m->main->body;
    tn_op **ops = TN_NEW_ARRAY(m->arena, tn_op *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const int64_t *order = params[i].order;
        const tn_type *logical = params[i].type;
        ops[i] = NULL;
        if (!order) continue;
        int64_t *back = TN_NEW_ARRAY(m->arena, int64_t, logical->rank);
        for (uint32_t k = 0; k < logical->rank; k++) back[order[logical->rank - 1 - k]] = k;
        tn_value *v = &body->args[i];
        ops[i] = transpose(m, v, logical, back);
        v->type = physical(m->arena, logical, order);
        v->forward = &ops[i]->results[0];
    }
    tn_module_resolve(m);
    for (uint32_t i = 0; i < n; i++) {
        if (!ops[i]) continue;
        body->args[i].forward = NULL;
        tn_op_insert_before(body->first, ops[i]);
    }
}

static void change_result(tn_module *m, uint32_t i, const int64_t *order)
{
    tn_op *end = m->main->body.last;
    tn_value *v = end->operands[i];
    uint32_t rank = v->type->rank;
    int64_t *there = TN_NEW_ARRAY(m->arena, int64_t, rank);
    for (uint32_t k = 0; k < rank; k++) there[k] = order[rank - 1 - k];
    tn_op *op = transpose(m, v, physical(m->arena, v->type, order), there);
    tn_op_insert_before(end, op);
    end->operands[i] = &op->results[0];
}

tn_status *tn_apply_layouts(tn_module *m, const tn_layout_wishes *wishes, const tn_signature **out)
{
    tn_function *f = m->main;
    tn_arena *a = m->arena;
    uint32_t n = f->body.n_args, k = f->body.last->n_operands;
    tn_signature *s = TN_NEW(a, tn_signature);
    *s = (tn_signature){TN_NEW_ARRAY(a, tn_layout_of_value, n + 1),
                        TN_NEW_ARRAY(a, tn_layout_of_value, k + 1)};
    const tn_proto_span *args, *outs;
    TN_TRY(spread(a, wishes->arguments, wishes->n_arguments, n, "parameter", &args));
    TN_TRY(spread(a, &wishes->result, wishes->result.size > 0 ? 1 : 0, k, "result", &outs));
    for (uint32_t i = 0; i < n; i++) {
        s->params[i].type = f->body.args[i].type;
        TN_TRY(settle(a, f->arg_attrs ? f->arg_attrs[i] : NULL, args ? &args[i] : NULL,
                      s->params[i].type, "parameter", i, &s->params[i].order));
    }
    for (uint32_t i = 0; i < k; i++) {
        s->results[i].type = f->body.last->operands[i]->type;
        TN_TRY(settle(a, f->result_attrs ? f->result_attrs[i] : NULL, outs ? &outs[i] : NULL,
                      s->results[i].type, "result", i, &s->results[i].order));
    }
    bool params = false, results = false;
    for (uint32_t i = 0; i < n; i++) params = params || s->params[i].order;
    if (params) change_parameters(m, s->params, n);
    for (uint32_t i = 0; i < k; i++) {
        if (!s->results[i].order) continue;
        change_result(m, i, s->results[i].order);
        results = true;
    }
    if (params || results) {
        const tn_type **parts = TN_NEW_ARRAY(a, const tn_type *, n + k + 1);
        for (uint32_t i = 0; i < n; i++) parts[i] = f->body.args[i].type;
        for (uint32_t i = 0; i < k; i++) parts[n + i] = f->body.last->operands[i]->type;
        tn_type *t = TN_NEW(a, tn_type);
        *t = *f->type;
        t->parts = parts;
        f->type = t;
        *out = s;
    }
    return NULL;
}
