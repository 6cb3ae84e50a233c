/* SPDX-License-Identifier: Apache-2.0 */
/* choices - reductions of a few arrays that lie side by side, as jnp.select, piecewise and isin are
 * lowered to, become elementwise.
 *
 * Before:  %s = concatenate (reshape %p), (reshape %q), dim = 0     %m:2 = reduce %s, iota {argmax}
 *          %c = compare LT, %m#1, 1                                 %r = select %c, %x, %y
 * After:   %c = not (%q and not %p)                                 %r = select %c, %x, %y
 * Of whole numbers and truths alone, whose results don't depend on the order. What is compared with
 * a place becomes a combination of what chose it. */
#include "passes/pieces.h"
#include "passes/rewrite.h"

/* Values that are looked at for a reduction. */
enum { MOST = TN_PIECES, LOOKS = 24 };

static tn_value *make(tn_module *m, tn_op *where, tn_op_kind kind, const tn_type *t, uint32_t n,
                      tn_value *const *operands)
{
    return &tn_rewrite_op(m, where, kind, t, n, operands)->results[0];
}

static const tn_type *with_element(tn_module *m, const tn_type *t, tn_element_type e)
{
    return tn_type_tensor(m->arena, e, t->rank, t->dims);
}

/* --- the bodies --- */

static bool compares(const tn_value *v, int64_t how, const tn_value *a, const tn_value *b)
{
    return v->op && v->op->kind == TN_OP_compare && v->op->operands[0] == a &&
           v->op->operands[1] == b && tn_op_int(v->op, TN_ATTR_comparison_direction, -1) == how;
}

static bool is_op(const tn_value *v, tn_op_kind kind)
{
    return v->op && v->op->kind == kind;
}

/* JAX's argmax, of two truths or whole numbers and their places. */
static bool is_argmax(const tn_region *r)
{
    if (r->n_args != 4 || !r->last || r->last->n_operands != 2) return false;
    const tn_value *a = &r->args[0], *i = &r->args[1], *b = &r->args[2], *j = &r->args[3];
    const tn_value *value = r->last->operands[0], *place = r->last->operands[1];
    if (!is_op(value, TN_OP_select) || !is_op(place, TN_OP_select)) return false;
    const tn_value *first = value->op->operands[0], *earlier = place->op->operands[0];
    if (value->op->operands[1] != a || value->op->operands[2] != b || place->op->operands[1] != i ||
        place->op->operands[2] != j || !is_op(first, TN_OP_or) || !is_op(earlier, TN_OP_or) ||
        earlier->op->operands[0] != first)
        return false;
    const tn_value *both = earlier->op->operands[1];
    return compares(first->op->operands[0], TN_comparison_direction_GT, a, b) &&
           compares(first->op->operands[1], TN_comparison_direction_NE, a, a) &&
           is_op(both, TN_OP_and) &&
           compares(both->op->operands[0], TN_comparison_direction_EQ, a, b) &&
           compares(both->op->operands[1], TN_comparison_direction_LT, i, j);
}

static bool is_least(const tn_value *v)
{
    int64_t x;
    tn_element_type e = v->type->element;
    if (!tn_constant_integer(v, &x)) return false;
    if (tn_element_type_class(e) != TN_CLASS_SINT) return x == 0;
    return x == INT64_MIN >> (64 - tn_element_type_bits(e));
}

static bool arg_of_few(tn_module *m, tn_op *op, uint32_t d)
{
    int64_t zero;
    tn_value *parts[MOST];
    const tn_value *places = tn_value_resolve(op->operands[1]);
    const tn_op *iota = places->op;
    const tn_type *t = tn_result_type(op, 0), *at = tn_result_type(op, 1);
    if (!tn_is_whole(tn_operand_type(op, 0)) || !tn_is_whole(at) || at->element == TN_I1 || !iota ||
        iota->kind != TN_OP_iota || tn_op_int(iota, TN_ATTR_iota_dimension, -1) != d ||
        !is_least(tn_value_resolve(op->operands[2])) ||
        !tn_constant_integer(tn_value_resolve(op->operands[3]), &zero) || zero ||
        !is_argmax(&op->regions[0]) ||
        !tn_pieces_of(&(tn_pieces){m, op, d, LOOKS, 0}, tn_value_resolve(op->operands[0]), parts))
        return false;
    const tn_type *truth = with_element(m, t, TN_I1);
    tn_value *most = parts[0], *place = tn_rewrite_splat(m, op, at, 0);
    for (int64_t k = 1; k < tn_operand_type(op, 0)->dims[d]; k++) {
        tn_value *more;
        if (t->element == TN_I1) {
            tn_value *none = make(m, op, TN_OP_not, t, 1, &most);
            more = make(m, op, TN_OP_and, t, 2, (tn_value *[]){parts[k], none});
            most = make(m, op, TN_OP_or, t, 2, (tn_value *[]){most, parts[k]});
        } else {
            tn_op *c =
                tn_rewrite_op(m, op, TN_OP_compare, truth, 2, (tn_value *[]){parts[k], most});
            tn_op_set_attr(m, c, TN_ATTR_comparison_direction,
                           tn_attr_int(m->arena, TN_comparison_direction_GT));
            more = &c->results[0];
            most = make(m, op, TN_OP_select, t, 3, (tn_value *[]){more, parts[k], most});
        }
        place = make(m, op, TN_OP_select, at, 3,
                     (tn_value *[]){more, tn_rewrite_splat(m, op, at, k), place});
    }
    tn_value_replace(&op->results[0], most);
    tn_value_replace(&op->results[1], place);
    tn_op_remove(op);
    return true;
}

static bool fold_of_few(tn_module *m, tn_op *op, uint32_t d)
{
    const tn_op *body = tn_op_of_body(&op->regions[0]);
    const tn_type *t = tn_result_type(op, 0);
    tn_value *parts[MOST], *init = tn_value_resolve(op->operands[1]);
    int64_t first;
    if (!body || !tn_is_combining(body->kind) || !tn_is_whole(tn_operand_type(op, 0)) ||
        !tn_is_whole(t) || t->element != tn_operand_type(op, 0)->element ||
        body->results[0].type->element != t->element || !tn_constant_integer(init, &first))
        return false;
    if (!tn_pieces_of(&(tn_pieces){m, op, d, LOOKS, 0}, tn_value_resolve(op->operands[0]), parts))
        return false;
    tn_value *v = tn_rewrite_splat(m, op, t, first);
    for (int64_t k = 0; k < tn_operand_type(op, 0)->dims[d]; k++)
        v = make(m, op, body->kind, t, 2, (tn_value *[]){v, parts[k]});
    tn_rewrite_by(op, v);
    return true;
}

/* --- what is made of places --- */

/* select(m, constant, select(m, constant, ... constant)) */
typedef struct {
    uint32_t n; /* masks; there is one number more */
    tn_value *mask[MOST];
    int64_t number[MOST + 1];
} nest;

static bool nest_of(tn_value *v, nest *out)
{
    if (!tn_is_whole(v->type) || v->type->element == TN_I1) return false;
    for (out->n = 0;; out->n++) {
        int64_t x;
        if (tn_constant_integer(v, &x)) {
            out->number[out->n] = x;
            break;
        }
        if (out->n == MOST || !is_op(v, TN_OP_select)) return false;
        tn_value *mask = tn_value_resolve(v->op->operands[0]);
        if (mask->type->rank != v->type->rank) return false;
        out->mask[out->n] = mask;
        if (!tn_constant_integer(tn_value_resolve(v->op->operands[1]), &out->number[out->n]))
            return false;
        v = tn_value_resolve(v->op->operands[2]);
    }
    /* Small ones, which all types hold alike. */
    for (uint32_t i = 0; i <= out->n; i++)
        if (out->number[i] < 0 || out->number[i] > 100) return false;
    return out->n > 0;
}

static bool compare(int64_t how, int64_t a, int64_t b)
{
    switch (how) {
    case TN_comparison_direction_EQ: return a == b;
    case TN_comparison_direction_NE: return a != b;
    case TN_comparison_direction_GE: return a >= b;
    case TN_comparison_direction_GT: return a > b;
    case TN_comparison_direction_LE: return a <= b;
    default: return a < b;
    }
}

static bool compare_place(tn_module *m, tn_op *op)
{
    nest x;
    int64_t by;
    if (!nest_of(op->operands[0], &x) || !tn_constant_integer(op->operands[1], &by) || by < 0)
        return false;
    int64_t how = tn_op_int(op, TN_ATTR_comparison_direction, -1);
    const tn_type *t = tn_result_type(op, 0);
    tn_value *v = tn_rewrite_splat(m, op, t, compare(how, x.number[x.n], by));
    for (uint32_t i = x.n; i-- > 0;) {
        tn_value *mask = x.mask[i];
        bool yes = compare(how, x.number[i], by);
        if (!yes) mask = make(m, op, TN_OP_not, t, 1, &mask);
        v = make(m, op, yes ? TN_OP_or : TN_OP_and, t, 2, (tn_value *[]){mask, v});
    }
    tn_rewrite_by(op, v);
    return true;
}

/* Conversions to other whole numbers, and limits. */
static bool move_into_nest(tn_module *m, tn_op *op)
{
    nest x;
    int64_t least = 0, most = 100;
    const tn_type *t = tn_result_type(op, 0);
    bool is_clamp = op->kind == TN_OP_clamp;
    if (!tn_is_whole(t) || t->element == TN_I1 || !nest_of(op->operands[is_clamp], &x))
        return false;
    if (is_clamp && (!tn_constant_integer(op->operands[0], &least) ||
                     !tn_constant_integer(op->operands[2], &most) || least < 0 || most < least))
        return false;
    tn_value *v = NULL;
    for (uint32_t i = x.n + 1; i-- > 0;) {
        int64_t number = x.number[i] < least ? least : x.number[i] > most ? most : x.number[i];
        tn_value *one = tn_rewrite_splat(m, op, t, number);
        v = v ? make(m, op, TN_OP_select, t, 3, (tn_value *[]){x.mask[i], one, v}) : one;
    }
    tn_rewrite_by(op, v);
    return true;
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    uint32_t n = 0;
    switch ((int)op->kind) {
    case TN_OP_reduce: {
        const int64_t *dims = tn_op_ints(op, TN_ATTR_dimensions, &n);
        if (n != 1) return NULL;
        if (op->n_operands == 2) *changed |= fold_of_few(m, op, (uint32_t)dims[0]);
        else if (op->n_operands == 4) *changed |= arg_of_few(m, op, (uint32_t)dims[0]);
        return NULL;
    }
    case TN_OP_compare: *changed |= compare_place(m, op); return NULL;
    case TN_OP_convert:
    case TN_OP_clamp: *changed |= move_into_nest(m, op); return NULL;
    default: return NULL;
    }
}

tn_status *tn_pass_choices(tn_module *m, bool *changed)
{
    return tn_rewrite(m, rewrite, changed);
}
