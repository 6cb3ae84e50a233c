/* SPDX-License-Identifier: Apache-2.0 */
/* simplify - local rewrites that change no bit of any value (but for the payload of a NaN).
 *
 * Before:  reshape(reshape(x))   transpose(x) that moves only dimensions of size 1
 * After:   reshape(x)            reshape(x)
 * Also:    slices, pads, broadcasts, converts, transposes and reversals that change nothing;
 * transposes of transposes and of joins, and broadcasts of broadcasts; a select whose predicate is
 * known; dynamic slices whose place is known; comparisons of unsigned integers with 0; reductions
 * of one element; real and imag of complex; arithmetic with neutral integers, x * 1 and x - 0;
 * division by powers of two; sums of what was converted to f32 for them; powers by 1/2; branches
 * whose choice is known; values that a loop carries and never changes. Not: x + 0 for floats, since
 * -0 + 0 is 0. Source:  StableHLO spec, each op's section; IEEE 754 for the float rules. */
#include <math.h>
#include <string.h>

#include "passes/rewrite.h"

static bool same_type(const tn_value *x, const tn_value *y)
{
    return tn_type_equal(x->type, y->type);
}

/* --- shapes --- */

static bool by(tn_op *op, tn_value *v, bool *changed)
{
    tn_rewrite_by(op, v);
    *changed = true;
    return true;
}

static bool by_reshape(tn_module *m, tn_op *op, tn_value *x, bool *changed)
{
    if (tn_type_equal(x->type, op->results[0].type)) return by(op, x, changed);
    tn_op *r = tn_rewrite_op(m, op, TN_OP_reshape, op->results[0].type, 1, &x);
    return by(op, &r->results[0], changed);
}

static bool simplify_reshape(tn_module *m, tn_op *op, bool *changed)
{
    tn_value *x = op->operands[0];
    if (same_type(x, &op->results[0])) return by(op, x, changed);
    if (!x->op || x->op->kind != TN_OP_reshape) return false;
    if (same_type(x->op->operands[0], &op->results[0])) return by(op, x->op->operands[0], changed);
    op->operands[0] = x->op->operands[0];
    *changed = true;
    return false;
}

/* Do the dimensions that are larger than 1 keep their order? */
static bool keeps_order(const tn_type *t, const int64_t *permutation)
{
    int64_t last = -1;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->dims[permutation[i]] == 1) continue;
        if (permutation[i] < last) return false;
        last = permutation[i];
    }
    return true;
}

/* A transpose of arrays that are joined along a dimension in which each is 1: they are joined along
 * it where it goes, if the others keep their order. */
static bool join_transposed(tn_module *m, tn_op *op, const int64_t *p, bool *changed)
{
    const tn_op *join = op->operands[0]->op;
    if (!join || join->kind != TN_OP_concatenate || join->region != op->region) return false;
    int64_t dim = tn_op_int(join, TN_ATTR_dimension, 0), before = -1, to = 0;
    uint32_t rank = op->results[0].type->rank;
    if (!tn_type_is_static(op->results[0].type)) return false;
    for (uint32_t d = 0; d < rank; d++) {
        if (p[d] == dim) to = d;
        else if (p[d] < before) return false;
        else before = p[d];
    }
    for (uint32_t i = 0; i < join->n_operands; i++)
        if (!tn_type_is_static(join->operands[i]->type) || join->operands[i]->type->dims[dim] != 1)
            return false;
    int64_t *dims = tn_dup(m->arena, op->results[0].type->dims, rank * sizeof *dims);
    dims[to] = 1;
    const tn_type *part = tn_type_tensor(m->arena, op->results[0].type->element, rank, dims);
    tn_value **parts = TN_NEW_ARRAY(m->arena, tn_value *, join->n_operands);
    for (uint32_t i = 0; i < join->n_operands; i++)
        parts[i] = &tn_rewrite_op(m, op, TN_OP_reshape, part, 1, &join->operands[i])->results[0];
    tn_op *made =
        tn_rewrite_op(m, op, TN_OP_concatenate, op->results[0].type, join->n_operands, parts);
    tn_op_set_attr(m, made, TN_ATTR_dimension, tn_attr_int(m->arena, to));
    return by(op, &made->results[0], changed);
}

static bool simplify_transpose(tn_module *m, tn_op *op, bool *changed)
{
    tn_value *x = op->operands[0];
    uint32_t n;
    const int64_t *p = tn_op_ints(op, TN_ATTR_permutation, &n);
    if (n != x->type->rank || x->type->quantization) return false;
    if (keeps_order(x->type, p)) return by_reshape(m, op, x, changed);
    if (join_transposed(m, op, p, changed)) return true;
    if (!x->op || x->op->kind != TN_OP_transpose) return false;
    uint32_t inner_n;
    const int64_t *inner = tn_op_ints(x->op, TN_ATTR_permutation, &inner_n);
    if (inner_n != n) return false;
    int64_t *both = TN_NEW_ARRAY(m->arena, int64_t, n);
    for (uint32_t i = 0; i < n; i++) both[i] = inner[p[i]];
    tn_rewrite_ints(m, op, TN_ATTR_permutation, both, n);
    op->operands[0] = x->op->operands[0];
    *changed = true;
    if (keeps_order(op->operands[0]->type, both))
        return by_reshape(m, op, op->operands[0], changed);
    return false;
}

/* broadcast(reshape(broadcast(y))), whose reshape joins dimensions, as repeats along two of them
 * are: reshape(broadcast(y)). */
static bool join_broadcasts(tn_module *m, tn_op *op, const int64_t *dims, bool *changed)
{
    tn_value *x = op->operands[0];
    tn_op *joins = x->op;
    tn_op *first = joins && joins->kind == TN_OP_reshape ? joins->operands[0]->op : NULL;
    const tn_type *to = op->results[0].type;
    if (!first || first->kind != TN_OP_broadcast_in_dim || to->quantization) return false;
    const tn_type *t = first->results[0].type;
    uint32_t n, rank = 0, d = 0, next = 0;
    const int64_t *inner = tn_op_ints(first, TN_ATTR_broadcast_dimensions, &n);
    if (!tn_type_is_static(t) || !tn_type_is_static(to) || !tn_type_elements(to)) return false;
    int64_t *all = TN_NEW_ARRAY(m->arena, int64_t, t->rank + to->rank);
    int64_t *place = TN_NEW_ARRAY(m->arena, int64_t, t->rank + 1);
    for (uint32_t i = 0; i < to->rank; i++) {
        if (next == x->type->rank || dims[next] != i) {
            all[rank++] = to->dims[i];
            continue;
        }
        int64_t size = x->type->dims[next++], some = 1;
        if (size != to->dims[i]) return false;
        for (; d < t->rank && some < size; d++, rank++) {
            some *= t->dims[d];
            all[rank] = t->dims[d];
            place[d] = rank;
        }
        if (some != size) return false;
    }
    if (d != t->rank) return false;
    const tn_type *wide = tn_type_tensor(m->arena, to->element, rank, all);
    tn_op *one = tn_rewrite_op(m, op, TN_OP_broadcast_in_dim, wide, 1, first->operands);
    int64_t *both = TN_NEW_ARRAY(m->arena, int64_t, n);
    for (uint32_t i = 0; i < n; i++) both[i] = place[inner[i]];
    tn_rewrite_ints(m, one, TN_ATTR_broadcast_dimensions, both, n);
    return by_reshape(m, op, &one->results[0], changed);
}

static bool simplify_broadcast(tn_module *m, tn_op *op, bool *changed)
{
    tn_value *x = op->operands[0];
    uint32_t n;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_broadcast_dimensions, &n);
    if (n != x->type->rank || x->type->quantization) return false;
    bool ordered = true;
    for (uint32_t i = 1; i < n; i++) ordered = ordered && dims[i] > dims[i - 1];
    if (ordered && tn_type_elements(x->type) == tn_type_elements(op->results[0].type))
        return by_reshape(m, op, x, changed);
    if (ordered && join_broadcasts(m, op, dims, changed)) return true;
    if (!x->op || x->op->kind != TN_OP_broadcast_in_dim) return false;
    uint32_t inner_n;
    const int64_t *inner = tn_op_ints(x->op, TN_ATTR_broadcast_dimensions, &inner_n);
    int64_t *both = TN_NEW_ARRAY(m->arena, int64_t, inner_n);
    for (uint32_t i = 0; i < inner_n; i++) both[i] = dims[inner[i]];
    tn_rewrite_ints(m, op, TN_ATTR_broadcast_dimensions, both, inner_n);
    op->operands[0] = x->op->operands[0];
    *changed = true;
    return false;
}

static bool simplify_pad(tn_op *op, bool *changed)
{
    if (!same_type(op->operands[0], &op->results[0])) return false;
    if (!tn_ints_are(op, TN_ATTR_edge_padding_low, 0) ||
        !tn_ints_are(op, TN_ATTR_edge_padding_high, 0) ||
        !tn_ints_are(op, TN_ATTR_interior_padding, 0))
        return false;
    return by(op, op->operands[0], changed);
}

static bool simplify_concatenate(tn_op *op, bool *changed)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (tn_type_elements(op->operands[i]->type)) op->operands[kept++] = op->operands[i];
    if (kept == 0 || kept == op->n_operands) {
        if (op->n_operands == 1) return by(op, op->operands[0], changed);
        return false;
    }
    op->n_operands = kept;
    *changed = true;
    return kept == 1 ? by(op, op->operands[0], changed) : false;
}

static bool simplify_reverse(tn_op *op, bool *changed)
{
    uint32_t n;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_dimensions, &n);
    const tn_type *t = op->operands[0]->type;
    for (uint32_t i = 0; i < n; i++)
        if (t->dims[dims[i]] != 1) return false;
    return by(op, op->operands[0], changed);
}

/* A fold of one element each is the body's op on it. */
static bool simplify_reduce(tn_module *m, tn_op *op, bool *changed)
{
    const tn_type *to = op->results[0].type;
    tn_value *x = op->operands[0], *init;
    uint32_t n;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_dimensions, &n);
    if (op->n_results != 1 || x->type->quantization || to->quantization) return false;
    for (uint32_t i = 0; i < n; i++)
        if (x->type->dims[dims[i]] != 1) return false;
    const tn_op *body = tn_op_of_body(&op->regions[0]);
    if (!body || !tn_is_combining(body->kind)) return false;
    if (x->type->element != to->element) return false;
    tn_op_kind kind = body->kind;
    if (!tn_type_equal(x->type, to))
        x = &tn_rewrite_op(m, op, TN_OP_reshape, to, 1, &x)->results[0];
    init = op->operands[1];
    if (to->rank) {
        tn_op *spread = tn_rewrite_op(m, op, TN_OP_broadcast_in_dim, to, 1, &init);
        tn_rewrite_ints(m, spread, TN_ATTR_broadcast_dimensions, dims, 0);
        init = &spread->results[0];
    }
    tn_op *by_op = tn_rewrite_op(m, op, kind, to, 2, (tn_value *[]){init, x});
    return by(op, &by_op->results[0], changed);
}

/* --- slices at a known place --- */

static bool simplify_dynamic_slice(tn_module *m, tn_op *op, bool *changed)
{
    tn_value *x = op->operands[0];
    const tn_type *t = op->results[0].type;
    if (same_type(x, &op->results[0])) return by(op, x, changed);
    uint32_t rank = x->type->rank;
    if (op->n_operands != rank + 1) return false;
    int64_t *low = TN_NEW_ARRAY(m->arena, int64_t, rank),
            *high = TN_NEW_ARRAY(m->arena, int64_t, rank);
    int64_t *ones = TN_NEW_ARRAY(m->arena, int64_t, rank);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t start, last = x->type->dims[i] - t->dims[i];
        if (last == 0) start = 0; /* clamped to the one place there is */
        else if (!tn_constant_integer(op->operands[i + 1], &start)) return false;
        if (start < 0 && tn_element_type_class(op->operands[i + 1]->type->element) == TN_CLASS_UINT)
            start = last; /* an unsigned number too large for int64_t */
        low[i] = start < 0 ? 0 : start > last ? last : start;
        high[i] = low[i] + t->dims[i];
        ones[i] = 1;
    }
    tn_op *s = tn_rewrite_op(m, op, TN_OP_slice, t, 1, &x);
    tn_rewrite_ints(m, s, TN_ATTR_start_indices, low, rank);
    tn_rewrite_ints(m, s, TN_ATTR_limit_indices, high, rank);
    tn_rewrite_ints(m, s, TN_ATTR_strides, ones, rank);
    return by(op, &s->results[0], changed);
}

static bool simplify_dynamic_update_slice(tn_op *op, bool *changed)
{
    if (same_type(op->operands[1], &op->results[0])) return by(op, op->operands[1], changed);
    if (!tn_type_elements(op->operands[1]->type)) return by(op, op->operands[0], changed);
    return false;
}

/* --- arithmetic --- */

/* The float of which every element of the constant `v` is a copy. */
static bool constant_float(const tn_value *v, double *out)
{
    const tn_literal *l = tn_constant_of(v);
    if (!l || !l->size || (!l->splat && tn_type_elements(l->type) != 1)) return false;
    switch (l->type->element) {
    case TN_F32: {
        float f;
        memcpy(&f, l->data, sizeof f);
        *out = (double)f;
        return true;
    }
    case TN_F64: memcpy(out, l->data, sizeof *out); return true;
    case TN_BF16: {
        uint32_t bits = 0;
        float f;
        memcpy((char *)&bits + 2, l->data, 2);
        memcpy(&f, &bits, sizeof f);
        *out = (double)f;
        return true;
    }
    case TN_F16: {
        uint16_t bits;
        memcpy(&bits, l->data, 2);
        switch (bits & 0x7fff) {
        case 0: *out = 0; break;
        case 0x3800: *out = 0.5; break;
        case 0x3c00: *out = 1; break;
        default: return false;
        }
        if (bits & 0x8000) *out = -*out;
        return true;
    }
    default: return false;
    }
}

static bool is_float_bits(const tn_value *v, double wanted)
{
    double x;
    return constant_float(v, &x) && !memcmp(&x, &wanted, sizeof x);
}

static bool is_integer(const tn_value *v, int64_t wanted)
{
    int64_t x;
    return tn_constant_integer(v, &x) && x == wanted;
}

/* The value of an operand that leaves the other one as it is. */
typedef struct {
    tn_op_kind kind;
    bool left, right; /* on which side */
    int64_t integer;  /* for integers (all ones: -1 in any width) */
    int64_t boolean;  /* -1: no rule */
    bool has_integer, has_real;
    double real;
} neutral;

static const neutral neutrals[] = {
    // clang-format off
    {.kind = TN_OP_add,      .left = true, .right = true, .has_integer = true, .integer = 0,  .boolean = 0, .has_real = true, .real = -0.0},
    {.kind = TN_OP_or,       .left = true, .right = true, .has_integer = true, .integer = 0,  .boolean = 0},
    {.kind = TN_OP_xor,      .left = true, .right = true, .has_integer = true, .integer = 0,  .boolean = 0},
    {.kind = TN_OP_and,      .left = true, .right = true, .has_integer = true, .integer = -1, .boolean = 1},
    {.kind = TN_OP_multiply, .left = true, .right = true, .has_integer = true, .integer = 1,  .boolean = 1, .has_real = true, .real = 1.0},
    {.kind = TN_OP_subtract, .right = true,               .has_integer = true, .integer = 0,  .boolean = -1, .has_real = true, .real = 0.0},
    {.kind = TN_OP_divide,   .right = true,               .has_integer = true, .integer = 1,  .boolean = -1, .has_real = true, .real = 1.0},
    {.kind = TN_OP_shift_left,  .right = true,            .has_integer = true, .integer = 0,  .boolean = -1},
    {.kind = TN_OP_shift_right_logical, .right = true,    .has_integer = true, .integer = 0,  .boolean = -1},
    {.kind = TN_OP_shift_right_arithmetic, .right = true, .has_integer = true, .integer = 0,  .boolean = -1},
    // clang-format on
};

static bool is_all_ones(const tn_value *v)
{
    int64_t x;
    unsigned bits = tn_element_type_bits(v->type->element);
    return tn_constant_integer(v, &x) && (uint64_t)x << (64 - bits) == UINT64_MAX << (64 - bits);
}

static bool is_neutral(const neutral *n, const tn_value *v)
{
    switch (tn_element_type_class(v->type->element)) {
    case TN_CLASS_BOOL: return n->boolean >= 0 && is_integer(v, n->boolean);
    case TN_CLASS_SINT:
    case TN_CLASS_UINT:
        return n->has_integer && (n->integer == -1 ? is_all_ones(v) : is_integer(v, n->integer));
    case TN_CLASS_FLOAT: return n->has_real && is_float_bits(v, n->real);
    case TN_CLASS_NONE:
    case TN_CLASS_COMPLEX: break;
    }
    return false;
}

static bool simplify_neutral(tn_op *op, bool *changed)
{
    if (op->operands[0]->type->quantization || op->results[0].type->quantization) return false;
    for (size_t i = 0; i < sizeof neutrals / sizeof *neutrals; i++) {
        const neutral *n = &neutrals[i];
        if (n->kind != op->kind) continue;
        if (n->right && is_neutral(n, op->operands[1])) return by(op, op->operands[0], changed);
        if (n->left && is_neutral(n, op->operands[0])) return by(op, op->operands[1], changed);
    }
    return false;
}

static bool is_whole(const tn_value *v)
{
    tn_element_class c = tn_element_type_class(v->type->element);
    return (c == TN_CLASS_BOOL || c == TN_CLASS_SINT || c == TN_CLASS_UINT) &&
           !v->type->quantization;
}

/* Both operands the same. */
static bool simplify_same(tn_module *m, tn_op *op, bool *changed)
{
    tn_value *x = op->operands[0];
    if (x != op->operands[1] || !is_whole(x) || !tn_type_is_static(x->type)) return false;
    switch (op->kind) {
    case TN_OP_and:
    case TN_OP_or:
    case TN_OP_maximum:
    case TN_OP_minimum: return by(op, x, changed);
    case TN_OP_subtract:
    case TN_OP_xor: return by(op, tn_rewrite_splat(m, op, x->type, 0), changed);
    default: return false;
    }
}

/* x * 0 and x & 0. */
static bool simplify_absorbed(tn_op *op, bool *changed)
{
    if (op->kind != TN_OP_multiply && op->kind != TN_OP_and) return false;
    for (uint32_t i = 0; i < 2; i++)
        if (is_whole(op->operands[i]) && is_integer(op->operands[i], 0))
            return by(op, op->operands[i], changed);
    return false;
}

/* Nothing without a sign is below 0: that of a remainder is asked for whatever its type. */
static bool simplify_compare(tn_module *m, tn_op *op, bool *changed)
{
    const tn_type *t = op->operands[0]->type;
    if (tn_element_type_class(t->element) != TN_CLASS_UINT || t->quantization ||
        tn_op_int(op, TN_ATTR_comparison_direction, -1) != TN_comparison_direction_LT ||
        !is_integer(op->operands[1], 0))
        return false;
    return by(op, tn_rewrite_splat(m, op, op->results[0].type, false), changed);
}

static int64_t float_bits(tn_element_type e, double x)
{
    float narrow = (float)x;
    int64_t bits = 0;
    memcpy(&bits, e == TN_F32 ? (void *)&narrow : (void *)&x, tn_element_type_bytes(e));
    return bits;
}

/* x / 2^n is x * 2^-n, rounded from the same number, where both powers are normal numbers. */
static bool simplify_division(tn_module *m, tn_op *op, bool *changed)
{
    tn_value *by_what = op->operands[1];
    tn_element_type e = op->results[0].type->element;
    double x;
    int exponent, most = e == TN_F32 ? 126 : 1022;
    if (op->kind != TN_OP_divide || (e != TN_F32 && e != TN_F64)) return false;
    if (!constant_float(by_what, &x) || fabs(frexp(x, &exponent)) != 0.5) return false;
    if (exponent - 1 > most || exponent - 1 < -most) return false;
    op->operands[1] = tn_rewrite_splat(m, op, by_what->type, float_bits(e, 1 / x));
    op->kind = TN_OP_multiply;
    *changed = true;
    return true;
}

/* x to the power of 1/2 and -1/2 by (reciprocal) square roots, as the kernels of powers do it: -inf
 * gives what inf does, and -0 what 0 does. */
static void simplify_power(tn_module *m, tn_op *op, bool *changed)
{
    tn_value *x = op->operands[0];
    const tn_type *t = op->results[0].type;
    tn_element_type e = t->element;
    double exponent;
    if (!tn_is_float(e) || !tn_type_is_static(t) || t->quantization || !tn_type_equal(x->type, t) ||
        !constant_float(op->operands[1], &exponent) || fabs(exponent) != 0.5)
        return;
    int64_t infinite = float_bits(e, INFINITY), sign = (int64_t)1 << 15;
    if (e == TN_BF16) infinite = 0x7f80;
    else if (e == TN_F16) infinite = 0x7c00;
    else if (e == TN_F32) sign = (int64_t)1 << 31;
    else if (e == TN_F64) sign = INT64_MIN;
    else return;
    tn_value *inf = tn_rewrite_splat(m, op, t, infinite);
    tn_value *less = tn_rewrite_splat(m, op, t, infinite | sign);
    tn_value *zero = tn_rewrite_splat(m, op, t, 0);
    tn_type *truth = tn_dup(m->arena, t, sizeof *t);
    truth->element = TN_I1;
    tn_op *is_less = tn_rewrite_op(m, op, TN_OP_compare, truth, 2, (tn_value *[]){x, less});
    tn_op_set_attr(m, is_less, TN_ATTR_comparison_direction,
                   tn_attr_int(m->arena, TN_comparison_direction_EQ));
    tn_value *choice[3] = {&is_less->results[0], inf, x};
    x = &tn_rewrite_op(m, op, TN_OP_select, t, 3, choice)->results[0];
    x = &tn_rewrite_op(m, op, TN_OP_add, t, 2, (tn_value *[]){x, zero})->results[0];
    if (exponent < 0) x = &tn_rewrite_op(m, op, TN_OP_rsqrt, t, 1, &x)->results[0];
    else x = &tn_rewrite_op(m, op, TN_OP_sqrt, t, 1, &x)->results[0];
    by(op, x, changed);
}

static tn_value *shifted(tn_module *m, tn_op *where, tn_op_kind kind, tn_value *x, int64_t by_what)
{
    tn_value *both[2] = {x, tn_rewrite_splat(m, where, x->type, by_what)};
    return &tn_rewrite_op(m, where, kind, x->type, 2, both)->results[0];
}

/* Integers by 2^k are shifted, or masked. Negative ones are rounded to zero: 2^k - 1 is added
 * first.
 */
static bool simplify_integer_division(tn_module *m, tn_op *op, bool *changed)
{
    tn_value *x = op->operands[0];
    const tn_type *t = op->results[0].type;
    int64_t d;
    int bits = (int)tn_element_type_bits(t->element), k = 0;
    bool is_signed = tn_element_type_class(t->element) == TN_CLASS_SINT;
    if (!tn_is_integer(t->element) || bits < 8 || !tn_type_is_static(t) ||
        !tn_constant_integer(op->operands[1], &d))
        return false;
    if (d < 2 || (d & (d - 1)) || !tn_type_equal(x->type, t)) return false;
    while (d >> k != 1) k++;
    if (k > bits - 2) return false;
    bool divides = op->kind == TN_OP_divide;
    tn_value *lift = NULL;
    if (is_signed) {
        lift = shifted(m, op, TN_OP_shift_right_arithmetic, x, bits - 1);
        lift = shifted(m, op, TN_OP_shift_right_logical, lift, bits - k);
        tn_value *both[2] = {x, lift};
        x = &tn_rewrite_op(m, op, TN_OP_add, t, 2, both)->results[0];
    }
    if (!divides && is_signed) {
        op->kind = TN_OP_subtract;
        op->operands[0] = shifted(m, op, TN_OP_and, x, d - 1);
        op->operands[1] = lift;
    } else {
        op->kind = !divides    ? TN_OP_and
                   : is_signed ? TN_OP_shift_right_arithmetic
                               : TN_OP_shift_right_logical;
        op->operands[0] = x;
        op->operands[1] = tn_rewrite_splat(m, op, t, divides ? k : d - 1);
    }
    *changed = true;
    return true;
}

/* not(not(x)) and -(-x). */
static bool simplify_twice(tn_op *op, bool *changed)
{
    const tn_op *inner = op->operands[0]->op;
    if (!inner || inner->kind != op->kind || op->operands[0]->type->quantization) return false;
    return by(op, inner->operands[0], changed);
}

static bool simplify_select(tn_op *op, bool *changed)
{
    int64_t choice;
    if (op->operands[1] == op->operands[2]) return by(op, op->operands[1], changed);
    if (!tn_constant_integer(op->operands[0], &choice)) return false;
    return by(op, op->operands[choice ? 1 : 2], changed);
}

static bool simplify_part(tn_op *op, bool *changed)
{
    const tn_op *inner = op->operands[0]->op;
    if (!inner || inner->kind != TN_OP_complex) return false;
    return by(op, inner->operands[op->kind == TN_OP_real ? 0 : 1], changed);
}

/* --- branches --- */

static bool simplify_branch(tn_op *op, bool *changed)
{
    int64_t i;
    if (op->n_regions == 1) i = 0;
    else if (!tn_constant_integer(op->operands[0], &i)) return false;
    else if (op->kind == TN_OP_if) i = i ? 0 : 1;
    else if (i < 0 || i >= op->n_regions) i = op->n_regions - 1;
    tn_rewrite_by_region(op, &op->regions[i]);
    *changed = true;
    return true;
}

/* A value that every iteration hands on as it came is the one from outside; dce then takes it out
 * of the loop. */
static void simplify_while(tn_op *op, bool *changed)
{
    tn_region *condition = &op->regions[0], *body = &op->regions[1];
    for (uint32_t i = 0; i < op->n_operands; i++) {
        if (body->args[i].forward || tn_value_resolve(body->last->operands[i]) != &body->args[i])
            continue;
        tn_value_replace(&condition->args[i], op->operands[i]);
        tn_value_replace(&body->args[i], op->operands[i]);
        tn_value_replace(&op->results[i], op->operands[i]);
        *changed = true;
    }
}

/* A sum in f32 of narrower floats that were converted for it: reduce converts what it reads. */
static bool simplify_sum(tn_module *m, tn_op *op, bool *changed)
{
    const tn_op *convert = op->operands[0]->op, *body = op->regions[0].first;
    if (op->n_operands != 2 || !convert || convert->kind != TN_OP_convert || !body ||
        (body->kind != TN_OP_add && body->kind != TN_OP_multiply) ||
        body->next != op->regions[0].last || op->results[0].type->element != TN_F32)
        return false;
    tn_value *x = convert->operands[0], *init = op->operands[1];
    tn_element_type e = x->type->element;
    double first;
    if ((e != TN_BF16 && e != TN_F16) || convert->results[0].type->element != TN_F32 ||
        op->regions[0].args[0].type->element != TN_F32 || !constant_float(init, &first) ||
        first != 0 || signbit(first))
        return false;
    op->operands[0] = x;
    op->operands[1] = tn_rewrite_splat(m, op, tn_type_tensor(m->arena, e, 0, NULL), 0);
    *changed = true;
    return true;
}

static bool simplify_dimension_size(tn_module *m, tn_op *op, bool *changed)
{
    const tn_type *t = op->operands[0]->type;
    int64_t dim = tn_op_int(op, TN_ATTR_dimension, -1);
    if (dim < 0 || dim >= t->rank || t->dims[dim] < 0 || t->bounds) return false;
    return by(op, tn_rewrite_splat(m, op, op->results[0].type, t->dims[dim]), changed);
}

static bool is_plain(const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_results; i++)
        if (!tn_type_is_static(op->results[i].type)) return false;
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!tn_type_is_static(op->operands[i]->type)) return false;
    return true;
}

/* A combiner that becomes a plain sum or product would sum in another order from then on, and
 * accumulate narrow floats in f32, where what it was rounds after each op. */
static bool is_in_inexact_combiner(const tn_op *op)
{
    const tn_op *parent = op->region->parent;
    if (!parent || tn_op_has_trait(parent, TN_TRAIT_CONTROL) || parent->kind == TN_OP_sort ||
        parent->kind == TN_OP_map)
        return false;
    for (uint32_t i = 0; i < op->region->n_args; i++) {
        tn_element_type e = op->region->args[i].type->element;
        if (tn_is_float(e) || tn_is_complex(e)) return true;
    }
    return false;
}

static tn_status *simplify_op(tn_module *m, tn_op *op, bool *changed)
{
    if (!is_plain(op) || is_in_inexact_combiner(op)) return NULL;
    switch (op->kind) {
    case TN_OP_reshape: simplify_reshape(m, op, changed); break;
    case TN_OP_transpose: simplify_transpose(m, op, changed); break;
    case TN_OP_broadcast_in_dim: simplify_broadcast(m, op, changed); break;
    case TN_OP_pad: simplify_pad(op, changed); break;
    case TN_OP_slice:
    case TN_OP_convert:
        if (same_type(op->operands[0], &op->results[0])) by(op, op->operands[0], changed);
        break;
    case TN_OP_concatenate: simplify_concatenate(op, changed); break;
    case TN_OP_reduce:
        if (!simplify_reduce(m, op, changed)) simplify_sum(m, op, changed);
        break;
    case TN_OP_reverse: simplify_reverse(op, changed); break;
    case TN_OP_dynamic_slice: simplify_dynamic_slice(m, op, changed); break;
    case TN_OP_dynamic_update_slice: simplify_dynamic_update_slice(op, changed); break;
    case TN_OP_get_dimension_size: simplify_dimension_size(m, op, changed); break;
    case TN_OP_add:
    case TN_OP_and:
    case TN_OP_divide:
    case TN_OP_maximum:
    case TN_OP_minimum:
    case TN_OP_multiply:
    case TN_OP_or:
    case TN_OP_shift_left:
    case TN_OP_shift_right_arithmetic:
    case TN_OP_shift_right_logical:
    case TN_OP_subtract:
    case TN_OP_xor:
        if (simplify_neutral(op, changed) || simplify_same(m, op, changed)) break;
        if (simplify_division(m, op, changed)) break;
        if (op->kind == TN_OP_divide && simplify_integer_division(m, op, changed)) break;
        simplify_absorbed(op, changed);
        break;
    case TN_OP_compare: simplify_compare(m, op, changed); break;
    case TN_OP_power: simplify_power(m, op, changed); break;
    case TN_OP_remainder: simplify_integer_division(m, op, changed); break;
    case TN_OP_negate:
    case TN_OP_not: simplify_twice(op, changed); break;
    case TN_OP_select: simplify_select(op, changed); break;
    case TN_OP_real:
    case TN_OP_imag: simplify_part(op, changed); break;
    case TN_OP_if:
    case TN_OP_case: simplify_branch(op, changed); break;
    case TN_OP_while: simplify_while(op, changed); break;
    default: break;
    }
    return NULL;
}

tn_status *tn_pass_simplify(tn_module *m, bool *changed)
{
    return tn_rewrite(m, simplify_op, changed);
}
