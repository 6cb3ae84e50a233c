/* SPDX-License-Identifier: Apache-2.0 */
#include "test/values/xla_close.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "test/values/check.h"
#include "type/float_bits.h"

typedef enum { ALL, FLOATS, NARROWEST, NARROW, HALVES, F32, F64, COMPLEX, INTEGERS } elements;
typedef enum { BITS, ULPS, NO_NAN, SUM, SKIP } how_near;

typedef struct {
    int op;
    elements elements;
    how_near how;
    double amount;
    const char *reason;
} rule;

static const rule rules[] = {
#define ANY                                     0
#define OP(name)                                TN_OP_##name
#define RULE(op, elements, how, amount, reason) {op, elements, how, amount, reason},
#include "test/values/xla_rules.def"
    {ANY, ALL, BITS, 0, ""}};

static bool is_of(tn_element_type e, elements of)
{
    tn_element_class c = tn_element_type_class(e);
    bool is_float = c == TN_CLASS_FLOAT;
    switch (of) {
    case ALL: return true;
    case FLOATS: return is_float;
    case NARROWEST: return is_float && (tn_element_type_bits(e) <= 6 || e == TN_F8E8M0FNU);
    case NARROW: return is_float && tn_element_type_bits(e) <= 8;
    case HALVES: return e == TN_BF16 || e == TN_F16;
    case F32: return e == TN_F32;
    case F64: return e == TN_F64;
    case COMPLEX: return c == TN_CLASS_COMPLEX;
    case INTEGERS: return c == TN_CLASS_SINT || c == TN_CLASS_UINT || c == TN_CLASS_BOOL;
    }
    return false;
}

/* --- bodies that fold --- */

/* The one op that a body applies to its two arguments and gives back; several: they must agree.
 * TN_OP_COUNT: it does something else. */
static tn_op_kind folds_with(const tn_op *op)
{
    const tn_region *r = &op->regions[op->n_regions - 1];
    tn_op_kind kind = TN_OP_COUNT;
    if (!r->last) return TN_OP_COUNT;
    for (uint32_t i = 0; i < r->last->n_operands; i++) {
        const tn_op *by = r->last->operands[i]->op;
        if (!by || by->n_operands != 2 || by->operands[0]->op || by->operands[1]->op)
            return TN_OP_COUNT;
        if (by->operands[0] == by->operands[1]) return TN_OP_COUNT;
        if (i && by->kind != kind) return TN_OP_COUNT;
        kind = by->kind;
    }
    return kind;
}

static rule rule_of_fold(const tn_op *op, tn_element_type e)
{
    static const rule unknown = {0, ALL, SKIP, 0, "the order in which a body is applied is free"};
    static const rule exact = {0, ALL, BITS, 0, ""};
    static const rule sum = {0, ALL, SUM, 2, ""};
    tn_op_kind kind = folds_with(op);
    bool integers = is_of(e, INTEGERS);
    static const rule either_zero = {0, ALL, ULPS, 0, ""};
    switch ((int)kind) {
    case TN_OP_maximum:
    case TN_OP_minimum: return either_zero;
    case TN_OP_and:
    case TN_OP_or:
    case TN_OP_xor: return exact;
    case TN_OP_add: return integers ? exact : sum;
    case TN_OP_multiply: return integers ? exact : unknown;
    default: return unknown;
    }
}

static tn_element_type element_of(const tn_op *op)
{
    const tn_type *t = op->n_operands ? op->operands[0]->type : op->results[0].type;
    return t->element;
}

static rule find_rule(const tn_op *op)
{
    tn_element_type e = element_of(op);
    for (const rule *r = rules;; r++) {
        if ((r->op != ANY && r->op != (int)op->kind) || !is_of(e, r->elements)) continue;
        bool folds = op->kind == TN_OP_reduce || op->kind == TN_OP_reduce_window ||
                     op->kind == TN_OP_scatter;
        return folds && r->how != SKIP ? rule_of_fold(op, e) : *r;
    }
}

/* A type that is excluded is so in any place. */
static bool is_foreign(const tn_type *t)
{
    return is_of(t->element, NARROWEST);
}

bool values_xla_excluded(const tn_op *op, const tn_tensor *operands, const tn_tensor *results,
                         const char **why)
{
    rule r = find_rule(op);
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (is_foreign(operands[i].type)) r.how = SKIP;
    for (uint32_t i = 0; i < op->n_results; i++)
        if (is_foreign(results[i].type)) r.how = SKIP;
    *why = r.reason;
    return r.how == SKIP;
}

/* How often a fold takes its initial value is free, so it must be neutral. */
static bool put_neutral(tn_op_kind fold, const tn_type *t, void *out)
{
    tn_element_type e = t->element;
    unsigned bits = tn_element_type_bits(e);
    bool is_float = tn_is_float(e), has_sign = tn_element_type_class(e) == TN_CLASS_SINT;
    bool maximum = fold == TN_OP_maximum;
    uint64_t ones = bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX, v[2] = {0};
    uint64_t all = has_sign ? UINT64_MAX : ones, top = ones >> 1;
    switch ((int)fold) {
    case TN_OP_add:
    case TN_OP_or:
    case TN_OP_xor: break;
    case TN_OP_multiply:
        if (is_float || tn_is_complex(e)) return false;
        v[0] = 1;
        break;
    case TN_OP_and: v[0] = all; break;
    case TN_OP_maximum:
    case TN_OP_minimum:
        if (e == TN_F64) v[0] = 0x7FF0000000000000;
        else if (e == TN_F32) v[0] = 0x7F800000;
        else if (e == TN_BF16) v[0] = 0x7F80;
        else if (e == TN_F16) v[0] = 0x7C00;
        else if (is_float || tn_is_complex(e)) return false;
        else if (has_sign) v[0] = maximum ? ~top : top;
        else v[0] = maximum ? 0 : ones;
        if (is_float && maximum) v[0] |= (uint64_t)1 << (bits - 1);
        break;
    default: return false;
    }
    memcpy(out, v, tn_element_type_bytes(e));
    return true;
}

values_xla_initial values_xla_neutral(const tn_op *op, uint32_t operand, void *out)
{
    if (op->kind != TN_OP_reduce && op->kind != TN_OP_reduce_window) return VALUES_NOT_INITIAL;
    if (operand < op->n_operands / 2) return VALUES_NOT_INITIAL;
    return put_neutral(folds_with(op), op->operands[operand]->type, out) ? VALUES_NEUTRAL
                                                                         : VALUES_NOT_NEUTRAL;
}

/* --- numbers --- */

static double number_at(tn_element_type e, const void *data, size_t i)
{
    uint64_t bits = 0;
    unsigned bytes = tn_element_type_bytes(e);
    memcpy(&bits, (const char *)data + i * bytes, bytes);
    return tn_float_from_bits(e, bits);
}

/* Whether floats of the type lose subnormals on the way: what is computed as f32 and f64. */
static bool is_flushed(tn_element_type e)
{
    return e == TN_F32 || e == TN_F64 || e == TN_BF16;
}

static double smallest_normal(tn_element_type e)
{
    return e == TN_F64 ? DBL_MIN : (double)FLT_MIN;
}

static bool has_subnormal(const tn_tensor *t)
{
    tn_element_type e = tn_real_type(t->type->element);
    if (!tn_is_float(e) || !is_flushed(e)) return false;
    size_t n = (size_t)tn_type_elements(t->type) * (tn_is_complex(t->type->element) ? 2 : 1);
    for (size_t i = 0; i < n; i++) {
        double v = fabs(number_at(e, t->data, i));
        if (v > 0 && v < smallest_normal(e)) return true;
    }
    return false;
}

static bool has_number(const tn_tensor *t, bool infinite)
{
    tn_element_type e = tn_real_type(t->type->element);
    if (!tn_is_float(e)) return false;
    size_t n = (size_t)tn_type_elements(t->type) * (tn_is_complex(t->type->element) ? 2 : 1);
    for (size_t i = 0; i < n; i++) {
        double v = number_at(e, t->data, i);
        if (infinite ? !isfinite(v) : isnan(v)) return true;
    }
    return false;
}

static bool has_infinite(const tn_tensor *t)
{
    return has_number(t, true);
}

static bool has_nan(const tn_tensor *t)
{
    return has_number(t, false);
}

/* Moving data keeps subnormals. */
static bool moves(const tn_op *op)
{
    return !tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE) && !op->n_regions &&
           find_rule(op).how == BITS;
}

bool values_xla_wild(const tn_op *op, const tn_tensor *operands, const tn_tensor *results)
{
    /* Which part of a complex number is NaN is not specified either. */
    if (op->kind == TN_OP_scatter && !tn_type_elements(operands[op->n_results].type))
        return true;     /* XLA leaves out updates whose index vector is empty */
    bool narrow = false; /* XLA takes elements of a bit for bytes there */
    if (op->kind == TN_OP_bitcast_convert)
        narrow = operands[0].type->element == TN_I1 || results[0].type->element == TN_I1;
    if (narrow) return true;
    bool picks = find_rule(op).how == NO_NAN;
    if (op->n_regions) {
        tn_op_kind fold = folds_with(op);
        picks |= fold == TN_OP_maximum || fold == TN_OP_minimum;
    }
    bool sums =
        find_rule(op).how == SUM || (tn_is_complex(element_of(op)) && find_rule(op).how == ULPS);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        if (!moves(op) && has_subnormal(&operands[i])) return true;
        if (sums && has_infinite(&operands[i])) return true;
        /* XLA loses NaNs in maxima and minima of many. */
        if (picks && has_nan(&operands[i])) return true;
    }
    for (uint32_t i = 0; i < op->n_results; i++)
        if (sums && has_infinite(&results[i])) return true;
    return false;
}

static double largest(const tn_array *a)
{
    tn_element_type e = (tn_element_type)a->type, part = tn_real_type(e);
    double most = 0;
    if (!tn_is_float(part)) return 0;
    size_t n = a->size / tn_element_type_bytes(part);
    for (size_t i = 0; i < n; i++) {
        double v = fabs(number_at(part, a->data, i));
        if (v > most) most = v;
    }
    return most;
}

static size_t count(const tn_array *a)
{
    size_t unit = tn_element_size(a->type);
    return unit ? a->size / unit : 0;
}

/* Half a unit in the last place of 1. */
static double rounding_of(tn_element_type e)
{
    switch ((int)e) {
    case TN_F64: return 0x1p-53;
    case TN_F32: return 0x1p-24;
    case TN_F16: return 0x1p-11;
    case TN_BF16: return 0x1p-8;
    default: return 0.125;
    }
}

/* A sum may be off by so many roundings of the larger of its value and its largest term. */
typedef struct {
    double roundings, size;
} sum_bound;

/* Every sum has at most as many terms as an operand has elements, each at most the product of the
 * largest of them. */
static sum_bound bound_of(const tn_op *op, const tn_array *operands, const tn_array *result,
                          double amount)
{
    tn_element_type e = (tn_element_type)result->type;
    bool product = op->kind != TN_OP_reduce && op->kind != TN_OP_reduce_window &&
                   op->kind != TN_OP_scatter && op->kind != TN_OP_fft;
    double size = 1, terms = 1;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        double most = largest(&operands[i]);
        if (!product) size = i && size > most ? size : most;
        else if (i < 2) size *= most;
        if (i < 3 && (double)count(&operands[i]) > terms) terms = (double)count(&operands[i]);
    }
    return (sum_bound){amount * terms * rounding_of(tn_real_type(e)) * (tn_is_complex(e) ? 4 : 1),
                       size};
}

/* Units in the last place between two finite numbers of a type. */
static double ulps(tn_element_type e, double x, double y, double scale)
{
    int exponent;
    frexp(scale, &exponent);
    double unit = ldexp(2 * rounding_of(e), exponent - 1), least = smallest_normal(e);
    if (e == TN_F16) least = 0x1p-24;
    else if (!is_flushed(e)) least = 0;
    if (unit < least * 2 * rounding_of(e)) unit = least * 2 * rounding_of(e);
    if (e == TN_F16 && unit < 0x1p-24) unit = 0x1p-24;
    return unit > 0 ? fabs(x - y) / unit : x == y ? 0 : INFINITY;
}

static bool near(const rule *r, tn_element_type e, double x, double y, double scale,
                 sum_bound bound)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (x == y) return r->how != BITS || !signbit(x) == !signbit(y);
    if (is_flushed(e) && fabs(x) <= smallest_normal(e) && fabs(y) <= smallest_normal(e))
        return true;
    if (r->how == BITS || isinf(x) || isinf(y)) return false;
    if (r->how == SUM) {
        double most = fmax(fabs(x), bound.size);
        return fabs(x - y) <= bound.roundings * most + smallest_normal(e);
    }
    return ulps(e, x, y, scale) <= r->amount;
}

int64_t values_xla_compare(const tn_op *op, uint32_t k, const tn_array *operands,
                           const tn_array *ours, const tn_array *theirs)
{
    const tn_type *t = op->results[k].type;
    unsigned width = tn_element_type_bits(t->element);
    int64_t at = values_compare(t, ours->data, theirs->data);
    if (at >= 0 && width < 8 && !tn_is_float(t->element)) { /* the other bits are free */
        uint8_t mask = (uint8_t)((1u << width) - 1);
        const uint8_t *x = ours->data, *y = theirs->data;
        for (at = 0; at < (int64_t)ours->size; at++)
            if ((x[at] ^ y[at]) & mask) return at;
        return -1;
    }
    tn_element_type e = tn_real_type(t->element);
    if (at < 0 || !tn_is_float(e)) return at;
    rule r = find_rule(op);
    sum_bound bound = {0};
    if (r.how == SUM) bound = bound_of(op, operands, ours, r.amount);
    size_t parts = tn_is_complex(t->element) ? 2 : 1, n = count(ours);
    for (size_t i = 0; i < n; i++) {
        double scale = 0;
        for (size_t c = 0; c < parts; c++) {
            double v = fabs(number_at(e, ours->data, i * parts + c));
            if (v > scale) scale = v;
        }
        for (size_t c = 0; c < parts; c++)
            if (!near(&r, e, number_at(e, ours->data, i * parts + c),
                      number_at(e, theirs->data, i * parts + c), scale, bound))
                return (int64_t)i;
    }
    return -1;
}
