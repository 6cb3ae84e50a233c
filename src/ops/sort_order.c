/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/sort_order.h"

#include <string.h>

/* Pairs of values that one search looks at: a comparator can share its parts so that walking it as
 * a tree would never end. */
enum { BUDGET = 2000 };

typedef struct {
    const tn_region *region;
    int budget;
} search;

static bool is_arg(const search *s, const tn_value *v)
{
    return !v->op && v->region == s->region;
}

/* Passes move constants out of regions; two copies of one may be left. */
static bool same_constant(const tn_value *x, const tn_value *y)
{
    if (!x->op || !y->op || x->op->kind != TN_OP_constant || y->op->kind != TN_OP_constant)
        return false;
    return tn_attr_equal(tn_op_attr(x->op, TN_ATTR_value), tn_op_attr(y->op, TN_ATTR_value));
}

/* Is y the same function of (y0, y1, ...) as x of (x0, x1, ...)? */
static bool mirrored(search *s, const tn_value *x, const tn_value *y)
{
    if (--s->budget < 0) return false;
    x = tn_value_resolve((tn_value *)x);
    y = tn_value_resolve((tn_value *)y);
    if (is_arg(s, x)) return is_arg(s, y) && x->index % 2 == 0 && y->index == x->index + 1;
    if (!x->op || x->op->region != s->region) return x == y || same_constant(x, y);
    const tn_op *p = x->op, *q = y->op;
    if (!q || q->region != s->region || p->kind != q->kind || x->index != y->index ||
        p->n_operands != q->n_operands || p->n_regions || q->n_regions ||
        !tn_type_equal(x->type, y->type) || tn_op_has_trait(p, TN_TRAIT_SIDE_EFFECT))
        return false;
    for (uint32_t i = 0; i < p->n_attrs; i++)
        if (p->attrs[i] != q->attrs[i] && !tn_attr_equal(p->attrs[i], q->attrs[i])) return false;
    for (uint32_t i = 0; i < p->n_operands; i++)
        if (!mirrored(s, p->operands[i], q->operands[i])) return false;
    return true;
}

/* --- floats whose zeros and NaNs are made alike --- */

static uint64_t constant_bits(const tn_value *v)
{
    uint64_t bits = 0;
    const tn_attr *value = tn_op_attr(v->op, TN_ATTR_value);
    size_t bytes = (size_t)tn_element_type_bits(v->type->element) / 8;
    if (value && value->kind == TN_ATTR_KIND_TENSOR && value->tensor.size >= bytes)
        memcpy(&bits, value->tensor.data, bytes);
    return bits;
}

static bool is_constant(const tn_value *v)
{
    return v->op && v->op->kind == TN_OP_constant;
}

static bool is_zero(const tn_value *v)
{
    uint64_t sign = (uint64_t)1 << (tn_element_type_bits(v->type->element) - 1);
    return is_constant(v) && !(constant_bits(v) & ~sign);
}

/* One that comes after infinity. */
static bool is_positive_nan(const tn_value *v)
{
    if (!is_constant(v)) return false;
    switch ((int)v->type->element) {
    case TN_F16: return constant_bits(v) - 0x7C01 < 0x3FF;
    case TN_BF16: return constant_bits(v) - 0x7F81 < 0x7F;
    case TN_F32: return constant_bits(v) - 0x7F800001 < 0x7FFFFF;
    case TN_F64: return constant_bits(v) - 0x7FF0000000000001 < 0xFFFFFFFFFFFFF;
    default: return false;
    }
}

/* The argument x of which v is select(x != x, NaN, select(x == 0, 0, x)), its selects in either
 * order; NULL for all else. */
static const tn_value *unique_form(const search *s, const tn_value *v)
{
    bool nan = false, zero = false;
    const tn_value *x = NULL;
    for (v = tn_value_resolve((tn_value *)v); !is_arg(s, v);) {
        const tn_op *select = v->op;
        if (!select || select->region != s->region || select->kind != TN_OP_select) return NULL;
        const tn_op *compare = tn_value_resolve(select->operands[0])->op;
        if (!compare || compare->region != s->region || compare->kind != TN_OP_compare ||
            tn_op_int(compare, TN_ATTR_compare_type, 0) == TN_comparison_type_TOTALORDER)
            return NULL;
        int64_t direction = tn_op_int(compare, TN_ATTR_comparison_direction, -1);
        const tn_value *a = tn_value_resolve(compare->operands[0]),
                       *b = tn_value_resolve(compare->operands[1]),
                       *then = tn_value_resolve(select->operands[1]);
        if (is_constant(a)) {
            const tn_value *t = a;
            a = b;
            b = t;
        }
        if (!is_arg(s, a) || (x && x != a)) return NULL;
        x = a;
        if (direction == TN_comparison_direction_NE && b == a && is_positive_nan(then)) nan = true;
        else if (direction == TN_comparison_direction_EQ && is_zero(b) && is_zero(then))
            zero = true;
        else return NULL;
        v = tn_value_resolve(select->operands[2]);
    }
    return nan && zero && v == x ? v : NULL;
}

/* compare (key(x), key(y)) in one of two directions, or the same with its sides exchanged. */
static bool is_comparison(search *s, const tn_value *v, int64_t up, int64_t down, tn_sort_key *out)
{
    v = tn_value_resolve((tn_value *)v);
    const tn_op *op = v->op;
    if (!op || op->region != s->region || op->kind != TN_OP_compare) return false;
    int64_t direction = tn_op_int(op, TN_ATTR_comparison_direction, -1);
    if (direction != up && direction != down) return false;
    const tn_value *x = tn_value_resolve(op->operands[0]), *y = tn_value_resolve(op->operands[1]);
    if (tn_is_complex(x->type->element) || x->type->quantization) return false;
    bool straight = mirrored(s, x, y);
    if (!straight && !mirrored(s, y, x)) return false;
    *out = (tn_sort_key){.left = straight ? x : y,
                         .descending = straight != (direction == up),
                         .total = tn_op_int(op, TN_ATTR_compare_type, 0) ==
                                  TN_comparison_type_TOTALORDER};
    const tn_value *plain = out->total ? unique_form(s, out->left) : NULL;
    if (plain) {
        out->left = plain;
        out->total = false;
        out->unique = true;
    }
    return true;
}

static bool is_order(search *s, const tn_value *v, tn_sort_key *out)
{
    return is_comparison(s, v, TN_comparison_direction_LT, TN_comparison_direction_GT, out);
}

static const tn_op *op_of(const search *s, const tn_value *v, tn_op_kind kind)
{
    v = tn_value_resolve((tn_value *)v);
    const tn_op *op = v->op;
    return op && op->region == s->region && op->kind == kind ? op : NULL;
}

static bool same_key(search *s, const tn_value *v, const tn_sort_key *key)
{
    tn_sort_key equal;
    int64_t eq = TN_comparison_direction_EQ;
    if (!is_comparison(s, v, eq, eq, &equal) || equal.total != key->total ||
        equal.unique != key->unique)
        return false;
    if (equal.left == key->left) return true;
    /* Another copy of the same key: both mirror the key of y. */
    const tn_op *op = op_of(s, v, TN_OP_compare);
    const tn_value *y = tn_value_resolve(op->operands[equal.left == op->operands[0]]);
    return mirrored(s, key->left, y);
}

static uint32_t find(search *s, const tn_value *v, tn_sort_key *out, uint32_t room)
{
    if (!room) return 0;
    if (is_order(s, v, out)) return 1;
    const tn_op *either = op_of(s, v, TN_OP_or);
    for (int i = 0; either && i < 2; i++) {
        const tn_op *both = op_of(s, either->operands[1 - i], TN_OP_and);
        if (!both || !is_order(s, either->operands[i], out)) continue;
        for (int k = 0; k < 2; k++) {
            if (!same_key(s, both->operands[k], out)) continue;
            uint32_t rest = find(s, both->operands[1 - k], out + 1, room - 1);
            if (rest) return rest + 1;
        }
    }
    return 0;
}

uint32_t tn_sort_find_keys(const tn_region *comparator, tn_sort_key *out)
{
    search s = {comparator, BUDGET};
    const tn_op *ret = comparator->last;
    return ret && ret->n_operands == 1 ? find(&s, ret->operands[0], out, TN_SORT_KEYS) : 0;
}

const tn_region *tn_sort_key_region(tn_module *m, const tn_region *comparator, const tn_value *left)
{
    tn_region *r = TN_NEW(m->arena, tn_region);
    uint32_t n = comparator->n_args / 2, n_ops = 0;
    for (const tn_op *op = comparator->first; op; op = op->next) n_ops++;
    tn_region_init(m, r, comparator->function, comparator->parent, n);
    tn_value_map *map = tn_value_map_new(m->arena, n + n_ops);
    tn_value_map *needed = tn_value_map_new(m->arena, n_ops);
    for (uint32_t i = 0; i < n; i++) {
        r->args[i].type = comparator->args[2 * i].type;
        tn_value_map_set(map, &comparator->args[2 * i], &r->args[i]);
    }
    tn_value_map_set(needed, left, (tn_value *)left);
    for (const tn_op *op = comparator->last; op; op = op->prev) {
        bool wanted = false;
        for (uint32_t i = 0; i < op->n_results; i++)
            wanted = wanted || tn_value_map_get(needed, &op->results[i]);
        for (uint32_t i = 0; wanted && i < op->n_operands; i++) {
            tn_value *v = tn_value_resolve(op->operands[i]);
            tn_value_map_set(needed, v, v);
        }
    }
    for (const tn_op *op = comparator->first; op; op = op->next) {
        bool wanted = false;
        for (uint32_t i = 0; i < op->n_results; i++)
            wanted = wanted || tn_value_map_get(needed, &op->results[i]);
        if (wanted) tn_op_append(r, tn_op_clone(m, op, map));
    }
    tn_op *ret = tn_op_new(m, TN_OP_return, 1, 0, 0);
    tn_value *mapped = tn_value_map_get(map, left);
    ret->operands[0] = mapped ? mapped : (tn_value *)left;
    tn_op_append(r, ret);
    return r;
}
