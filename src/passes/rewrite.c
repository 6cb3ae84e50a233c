/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/rewrite.h"

#include <string.h>

static tn_status *walk(tn_module *m, tn_region *r, tn_rewrite_fn fn, bool *changed)
{
    for (tn_op *op = r->first, *next; op; op = next) {
        for (uint32_t i = 0; i < op->n_operands; i++)
            op->operands[i] = tn_value_resolve(op->operands[i]);
        tn_op *before = op->prev;
        TN_TRY(fn(m, op, changed));
        if (op->region) {
            for (uint32_t i = 0; i < op->n_regions; i++)
                TN_TRY(walk(m, &op->regions[i], fn, changed));
            next = op->next;
        } else {
            /* What stands in its place is walked too, unless it is new and so has nothing to see.
             */
            next = before ? before->next : r->first;
        }
    }
    return NULL;
}

tn_status *tn_rewrite(tn_module *m, tn_rewrite_fn fn, bool *changed)
{
    for (tn_function *f = m->functions; f; f = f->next) TN_TRY(walk(m, &f->body, fn, changed));
    return NULL;
}

tn_op *tn_rewrite_op(tn_module *m, tn_op *where, tn_op_kind kind, const tn_type *type, uint32_t n,
                     tn_value *const *operands)
{
    tn_op *op = tn_op_new(m, kind, n, 1, 0);
    op->location = where->location;
    op->results[0].type = type;
    for (uint32_t i = 0; operands && i < n; i++) op->operands[i] = operands[i];
    tn_op_insert_before(where, op);
    return op;
}

void tn_rewrite_by(tn_op *op, tn_value *v)
{
    tn_value_replace(&op->results[0], v);
    tn_op_remove(op);
}

void tn_rewrite_ints(tn_module *m, tn_op *op, tn_attr_name name, const int64_t *v, uint32_t n)
{
    tn_op_set_attr(m, op, name, tn_attr_ints(m->arena, v, n));
}

void tn_count_uses(tn_region *r)
{
    for (uint32_t i = 0; i < r->n_args; i++) r->args[i].id = 0;
    for (tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_results; i++) op->results[i].id = 0;
        for (uint32_t i = 0; i < op->n_operands; i++) tn_value_resolve(op->operands[i])->id++;
        for (uint32_t i = 0; i < op->n_regions; i++) tn_count_uses(&op->regions[i]);
    }
}

bool tn_ints_are(const tn_op *op, tn_attr_name name, int64_t value)
{
    uint32_t n;
    const int64_t *v = tn_op_ints(op, name, &n);
    for (uint32_t i = 0; i < n; i++)
        if (v[i] != value) return false;
    return true;
}

bool tn_is_combining(tn_op_kind kind)
{
    switch ((int)kind) {
    case TN_OP_add:
    case TN_OP_and:
    case TN_OP_maximum:
    case TN_OP_minimum:
    case TN_OP_multiply:
    case TN_OP_or:
    case TN_OP_xor: return true;
    default: return false;
    }
}

const tn_op *tn_op_of_body(const tn_region *r)
{
    const tn_op *op = r->first;
    if (r->n_args != 2 || !op || op->next != r->last || op->n_operands != 2 || op->n_results != 1 ||
        op->n_regions || r->last->n_operands != 1 || r->last->operands[0] != &op->results[0])
        return NULL;
    const tn_value *a = op->operands[0], *b = op->operands[1], *x = &r->args[0], *y = &r->args[1];
    return (a == x && b == y) || (a == y && b == x) ? op : NULL;
}

const tn_literal *tn_constant_of(const tn_value *v)
{
    if (!v->op || v->op->kind != TN_OP_constant) return NULL;
    const tn_attr *a = tn_op_attr(v->op, TN_ATTR_value);
    return a && a->kind == TN_ATTR_KIND_TENSOR ? &a->tensor : NULL;
}

bool tn_constant_integer(const tn_value *v, int64_t *out)
{
    const tn_literal *l = tn_constant_of(v);
    if (!l || l->size == 0 || (!l->splat && tn_type_elements(l->type) != 1)) return false;
    switch (tn_element_type_class(l->type->element)) {
    case TN_CLASS_BOOL:
    case TN_CLASS_UINT: {
        uint64_t u = 0;
        memcpy(&u, l->data, tn_element_type_bytes(l->type->element));
        *out = (int64_t)u;
        return true;
    }
    case TN_CLASS_SINT: {
        unsigned bits = 8 * tn_element_type_bytes(l->type->element);
        uint64_t u = 0;
        memcpy(&u, l->data, bits / 8);
        *out = (int64_t)(u << (64 - bits)) >> (64 - bits);
        return true;
    }
    case TN_CLASS_NONE:
    case TN_CLASS_FLOAT:
    case TN_CLASS_COMPLEX: break;
    }
    return false;
}

tn_value *tn_rewrite_constant(tn_module *m, tn_op *where, tn_literal literal)
{
    tn_op *op = tn_rewrite_op(m, where, TN_OP_constant, literal.type, 0, NULL);
    tn_op_set_attr(m, op, TN_ATTR_value, tn_attr_tensor(m->arena, &literal));
    return &op->results[0];
}

tn_value *tn_rewrite_splat(tn_module *m, tn_op *where, const tn_type *type, int64_t value)
{
    size_t size = tn_element_type_bytes(type->element);
    tn_literal l = {.type = type, .splat = true, .size = size};
    /* Little endian: the low bytes come first. */
    void *data = tn_alloc(m->arena, 64);
    memcpy(data, &value, size < sizeof value ? size : sizeof value);
    l.data = data;
    return tn_rewrite_constant(m, where, l);
}

void tn_rewrite_by_region(tn_op *op, tn_region *r)
{
    for (uint32_t i = 0; i < op->n_results; i++)
        tn_value_replace(&op->results[i], r->last->operands[i]);
    for (tn_op *o = r->first, *next; o != r->last; o = next) {
        next = o->next;
        tn_op_remove(o);
        tn_op_insert_before(op, o);
    }
    tn_op_remove(op);
}
