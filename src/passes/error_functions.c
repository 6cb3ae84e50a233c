/* SPDX-License-Identifier: Apache-2.0 */
/* error_functions - what erf, erfc and erf_inv of f32 are expanded to becomes them again.
 *
 * Before:  %t = clamp -4, %x, 4   %s = multiply %t, %t   %p = add (multiply ...), ...
 *          %e = clamp -1, (divide (multiply %t, %p), %q), 1
 * After:   %e = tenon.erf %x
 * MLIR's passes expand CHLO's functions before a plugin sees them, into 25, 63 and 56 ops that are
 * up to 7, 65 and 65 ulp off (as XLA's own are); the ops that stand for them are nearer to what was
 * meant, so values may change by that. Only the very coefficients of those passes are taken. */
#include <string.h>

#include "passes/rewrite.h"

static bool is(const tn_value *v, tn_op_kind kind)
{
    return v->op && v->op->kind == kind;
}

static tn_value *in(const tn_value *v, uint32_t i)
{
    return tn_value_resolve(v->op->operands[i]);
}

static bool is_number(const tn_value *v, float x)
{
    const tn_literal *l = tn_constant_of(v);
    return l && l->type->element == TN_F32 && l->size >= 4 &&
           (l->splat || tn_type_elements(l->type) == 1) && !memcmp(l->data, &x, 4);
}

static bool is_square(const tn_value *v, const tn_value *x)
{
    return is(v, TN_OP_multiply) && in(v, 0) == x && in(v, 1) == x;
}

/* Horner's rule: ((c[0] x + c[1]) x + c[2]) ... */
static bool is_polynomial(const tn_value *v, const tn_value *x, const float *c, uint32_t n)
{
    while (--n > 0) {
        if (!is(v, TN_OP_add) || !is_number(in(v, 1), c[n])) return false;
        v = in(v, 0);
        if (!is(v, TN_OP_multiply) || in(v, 1) != x) return false;
        v = in(v, 0);
    }
    return is_number(v, c[0]);
}
#define IS_POLYNOMIAL(v, x, c) is_polynomial(v, x, c, sizeof(c) / sizeof *(c))

/* The operand of a clamp from -limit to limit; NULL: it is none. */
static tn_value *clamped(const tn_value *v, float limit)
{
    bool fits = is(v, TN_OP_clamp) && is_number(in(v, 0), -limit) && is_number(in(v, 2), limit);
    return fits ? in(v, 1) : NULL;
}

/* What it is erf of, or NULL. */
static tn_value *of_erf(const tn_value *v)
{
    static const float over[] = {-2.72614225801306e-10f, 2.77068142495902e-08f,
                                 -2.10102402082508e-06f, -5.69250639462346e-05f,
                                 -7.34990630326855e-04f, -2.95459980854025e-03f,
                                 -1.60960333262415e-02f};
    static const float under[] = {-1.45660718464996e-05f, -2.13374055278905e-04f,
                                  -1.68282697438203e-03f, -7.37332916720468e-03f,
                                  -1.42647390514189e-02f};
    const tn_value *quotient = clamped(v, 1);
    if (!quotient || !is(quotient, TN_OP_divide)) return NULL;
    const tn_value *p = in(quotient, 0), *q = in(quotient, 1);
    if (!is(p, TN_OP_multiply) || !is(q, TN_OP_add) || !is(in(q, 0), TN_OP_multiply)) return NULL;
    const tn_value *t = in(p, 0), *square = in(in(q, 0), 1);
    tn_value *x = clamped(t, 4);
    bool fits = x && is_square(square, t) && IS_POLYNOMIAL(in(p, 1), square, over) &&
                IS_POLYNOMIAL(q, square, under);
    return fits ? x : NULL;
}

static bool is_comparison(const tn_value *v, int64_t direction, float number)
{
    return is(v, TN_OP_compare) && is_number(in(v, 1), number) &&
           tn_op_int(v->op, TN_ATTR_comparison_direction, -1) == direction;
}

/* The second of a select, behind a mask that compares with less than `limit`; NULL. */
static bool is_less_choice(const tn_value *v, float limit)
{
    return is(v, TN_OP_select) && is_comparison(in(v, 0), TN_comparison_direction_LT, limit);
}

/* Of 1 and more, from exp(-x x) / |x| times a polynomial in 1 / (x x). */
static bool is_erfc_far(const tn_value *v, const tn_value *x)
{
    static const float near[] = {
        2.326819970068386e-2f,  -1.387039388740657e-1f, 3.687424674597105e-1f,
        -5.824733027278666e-1f, 6.210004621745983e-1f,  -4.944515323274145e-1f,
        3.404879937665872e-1f,  -2.741127028184656e-1f, 5.638259427386472e-1f};
    static const float far[] = {-1.047766399936249e+1f, 1.297719955372516e+1f,
                                -7.495518717768503e+0f, 2.921019019210786e+0f,
                                -1.015265279202700e+0f, 4.218463358204948e-1f,
                                -2.820767439740514e-1f, 5.641895067754075e-1f};
    const tn_value *size = NULL, *tail = v, *minus = NULL;
    if (!is_less_choice(v, 0) || in(in(v, 0), 0) != x) return false;
    tail = in(v, 2);
    if (!is(in(v, 1), TN_OP_subtract) || !is_number(in(in(v, 1), 0), 2) || in(in(v, 1), 1) != tail)
        return false;
    if (!is_less_choice(tail, -88.72283905206835f) || !is_number(in(tail, 1), 0)) return false;
    minus = in(in(tail, 0), 0);
    if (!is(minus, TN_OP_negate) || !is_square(in(minus, 0), x)) return false;
    const tn_value *product = in(tail, 2);
    if (!is(product, TN_OP_multiply) || !is(in(product, 0), TN_OP_multiply)) return false;
    const tn_value *e = in(in(product, 0), 0), *inverse = in(in(product, 0), 1);
    if (!is(e, TN_OP_exponential) || in(e, 0) != minus || !is(inverse, TN_OP_divide) ||
        !is_number(in(inverse, 0), 1))
        return false;
    size = in(inverse, 1);
    const tn_value *choice = in(product, 1);
    if (!is(size, TN_OP_abs) || in(size, 0) != x || !is_less_choice(choice, 2) ||
        in(in(choice, 0), 0) != size || !is(in(choice, 1), TN_OP_add) ||
        !is(in(in(choice, 1), 0), TN_OP_multiply))
        return false;
    const tn_value *u = in(in(in(choice, 1), 0), 1);
    return is(u, TN_OP_divide) && is_number(in(u, 0), 1) && is_square(in(u, 1), x) &&
           IS_POLYNOMIAL(in(choice, 1), u, near) && IS_POLYNOMIAL(in(choice, 2), u, far);
}

/* What it is erfc of, or NULL. */
static tn_value *of_erfc(const tn_value *v)
{
    static const float series[] = {7.853861353153693e-5f, -8.010193625184903e-4f,
                                   5.188327685732524e-3f, -2.685381193529856e-2f,
                                   1.128358514861418e-1f, -3.761262582423300e-1f,
                                   1.128379165726710e+0f};
    if (!is_less_choice(v, 1)) return NULL;
    const tn_value *size = in(in(v, 0), 0), *near = in(v, 1);
    if (!is(size, TN_OP_abs) || !is(near, TN_OP_subtract) || !is_number(in(near, 0), 1))
        return NULL;
    tn_value *x = in(size, 0);
    const tn_value *product = in(near, 1);
    if (!is(product, TN_OP_multiply) || in(product, 0) != x || !is(in(product, 1), TN_OP_add) ||
        !is(in(in(product, 1), 0), TN_OP_multiply))
        return NULL;
    const tn_value *square = in(in(in(product, 1), 0), 1);
    bool fits = is_square(square, x) && IS_POLYNOMIAL(in(product, 1), square, series) &&
                is_erfc_far(in(v, 2), x);
    return fits ? x : NULL;
}

/* What it is erf_inv of, or NULL: Giles' polynomials in w - 2.5 or, from w = 5 on, sqrt(w) - 3, for
 * w = -log1p(-x x); infinite at the ends. */
static tn_value *of_erf_inv(const tn_value *v)
{
    static const float near[] = {2.81022636e-08f,  3.43273939e-07f, -3.5233877e-06f,
                                 -4.39150654e-06f, 0.00021858087f,  -0.00125372503f,
                                 -0.00417768164f,  0.246640727f,    1.50140941f};
    static const float far[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                                -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                                0.00943887047f,   1.00167406f,     2.83297682f};
    enum { TERMS = sizeof near / sizeof *near };
    const tn_value *at_end = in(v, 0), *end = in(v, 1), *p = in(v, 2), *is_near = NULL, *y = NULL;
    if (!is_comparison(at_end, TN_comparison_direction_EQ, 1) || !is(in(at_end, 0), TN_OP_abs) ||
        !is(end, TN_OP_multiply) || !is_number(in(end, 1), __builtin_inff()) ||
        !is(p, TN_OP_multiply))
        return NULL;
    tn_value *x = in(in(at_end, 0), 0);
    if (in(end, 0) != x || in(p, 1) != x) return NULL;
    p = in(p, 0);
    for (int k = TERMS - 1; k >= 0; k--) {
        const tn_value *c = p, *rest = NULL;
        if (k) {
            if (!is(p, TN_OP_add) || !is(in(p, 1), TN_OP_multiply)) return NULL;
            c = in(p, 0);
            rest = in(in(p, 1), 0);
            if (!y) y = in(in(p, 1), 1);
            if (in(in(p, 1), 1) != y) return NULL;
        }
        if (!is(c, TN_OP_select) || !is_number(in(c, 1), near[k]) || !is_number(in(c, 2), far[k]))
            return NULL;
        if (!is_near) is_near = in(c, 0);
        if (in(c, 0) != is_near) return NULL;
        p = rest;
    }
    if (!is(y, TN_OP_select) || in(y, 0) != is_near ||
        !is_comparison(is_near, TN_comparison_direction_LT, 5))
        return NULL;
    const tn_value *w = in(is_near, 0), *low = in(y, 1), *high = in(y, 2);
    if (!is(low, TN_OP_subtract) || in(low, 0) != w || !is_number(in(low, 1), 2.5f) ||
        !is(high, TN_OP_subtract) || !is(in(high, 0), TN_OP_sqrt) || in(in(high, 0), 0) != w ||
        !is_number(in(high, 1), 3) || !is(w, TN_OP_negate) || !is(in(w, 0), TN_OP_log_plus_one))
        return NULL;
    const tn_value *square = in(in(w, 0), 0);
    bool fits = is(square, TN_OP_multiply) && in(square, 0) == x &&
                is(in(square, 1), TN_OP_negate) && in(in(square, 1), 0) == x;
    return fits ? x : NULL;
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    if (op->kind != TN_OP_clamp && op->kind != TN_OP_select) return NULL;
    const tn_type *t = tn_result_type(op, 0);
    if (t->element != TN_F32 || t->quantization || !tn_type_is_static(t)) return NULL;
    tn_value *v = &op->results[0], *x = NULL;
    tn_op_kind kind = TN_OP_erf;
    if (op->kind == TN_OP_clamp) x = of_erf(v);
    else if ((x = of_erfc(v))) kind = TN_OP_erfc;
    else if ((x = of_erf_inv(v))) kind = TN_OP_erf_inv;
    if (!x || !tn_type_equal(x->type, t)) return NULL;
    tn_op *by = tn_rewrite_op(m, op, kind, t, 1, &x);
    tn_rewrite_by(op, &by->results[0]);
    *changed = true;
    return NULL;
}

tn_status *tn_pass_error_functions(tn_module *m, bool *changed)
{
    return tn_rewrite(m, rewrite, changed);
}
