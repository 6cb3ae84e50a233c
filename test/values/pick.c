/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "test/values/generate.h"

uint64_t values_built[TN_OP_COUNT], values_refused[TN_OP_COUNT];

uint64_t values_random(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* --- data --- */

static uint64_t mask_of(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

static uint64_t random_integer(uint64_t *state, unsigned bits, bool is_signed)
{
    uint64_t r = values_random(state), kind = r >> 59;
    uint64_t v;
    if (kind < 20) v = r % 7;
    else if (kind < 24) v = 0 - (r % 5);
    else if (kind < 26) v = r % 300;
    else if (kind == 26) v = mask_of(bits);
    else if (kind == 27) v = (uint64_t)1 << (bits - 1);
    else if (kind == 28) v = mask_of(bits - 1);
    else v = r;
    v &= mask_of(bits);
    if (is_signed && bits < 64 && v >> (bits - 1)) v |= ~mask_of(bits);
    return v;
}

/* Exponent and mantissa bits of the formats that look like IEEE's. */
static void format_of(tn_element_type e, unsigned *exponent, unsigned *mantissa)
{
    switch ((int)e) {
    case TN_F64: *exponent = 11, *mantissa = 52; return;
    case TN_F32: *exponent = 8, *mantissa = 23; return;
    case TN_BF16: *exponent = 8, *mantissa = 7; return;
    case TN_F16: *exponent = 5, *mantissa = 10; return;
    default: *exponent = 0, *mantissa = tn_element_type_bits(e) - 1; return;
    }
}

bool values_no_subnormals;

static uint64_t some_float(uint64_t *state, tn_element_type e)
{
    unsigned exponent, mantissa, bits = tn_element_type_bits(e);
    format_of(e, &exponent, &mantissa);
    uint64_t r = values_random(state);
    if (!exponent) return r & mask_of(bits);
    uint64_t bias = mask_of(exponent - 1), kind = r >> 58, sign = (r >> 57 & 1) << (bits - 1);
    uint64_t fraction = r & mask_of(mantissa), top = mask_of(exponent);
    if (kind < 24) /* few significant bits, so that sums are exact */
        return sign | (bias - 1 + r % 4) << mantissa |
               (fraction >> (mantissa - 3) << (mantissa - 3));
    if (kind < 48) return sign | (bias - 2 + r % 5) << mantissa | fraction;
    switch (kind) {
    case 48:
    case 49:
    case 50: return sign;
    case 51:
    case 52: return sign | top << mantissa;
    case 53: return top << mantissa | (uint64_t)1 << (mantissa - 1);
    case 54: return sign | fraction; /* subnormal */
    case 55: return sign | 1;        /* the smallest */
    case 56: return sign | (top - 1) << mantissa | mask_of(mantissa);
    case 57: return sign | (uint64_t)1 << mantissa;
    case 58: return sign | (bias + r % bias) << mantissa | fraction;
    default: return sign | (r % (2 * bias)) << mantissa | fraction;
    }
}

static uint64_t random_float(uint64_t *state, tn_element_type e)
{
    unsigned exponent, mantissa;
    uint64_t v = some_float(state, e);
    format_of(e, &exponent, &mantissa);
    if (values_no_subnormals && exponent > 5 && !(v >> mantissa & mask_of(exponent)))
        v &= ~mask_of(mantissa);
    return v;
}

void values_fill(uint64_t *state, tn_element_type e, int64_t n, void *out)
{
    unsigned bytes = tn_element_type_bytes(e), bits = tn_element_type_bits(e);
    tn_element_class class = tn_element_type_class(e);
    char *to = out;
    for (int64_t i = 0; i < n; i++, to += bytes) {
        uint64_t v[2] = {0, 0};
        switch (class) {
        case TN_CLASS_BOOL: v[0] = values_random(state) >> 63; break;
        case TN_CLASS_SINT: v[0] = random_integer(state, bits, true); break;
        case TN_CLASS_UINT: v[0] = random_integer(state, bits, false); break;
        case TN_CLASS_FLOAT: v[0] = random_float(state, e); break;
        case TN_CLASS_COMPLEX:
            v[0] = random_float(state, tn_real_type(e));
            v[1] = random_float(state, tn_real_type(e));
            if (e == TN_C64) v[0] |= v[1] << 32;
            break;
        case TN_CLASS_NONE: break;
        }
        memcpy(to, v, bytes);
    }
}

/* --- types and shapes --- */

const tn_type *values_type(values_gen *g, tn_element_type e, const values_shape *s)
{
    return tn_type_tensor(g->arena, e, s->rank, s->dims);
}

values_shape values_shape_of(const tn_type *t)
{
    values_shape s = {.rank = t->rank};
    for (uint32_t i = 0; i < t->rank; i++) s.dims[i] = t->dims[i];
    return s;
}

int64_t values_elements(const values_shape *s)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < s->rank; i++) {
        if (s->dims[i] && n > VALUES_ELEMENTS * 100 / s->dims[i]) return INT64_MAX;
        n *= s->dims[i];
    }
    return n;
}

const values_shape *values_some_shape(values_gen *g)
{
    return &g->shapes[below(g, sizeof g->shapes / sizeof *g->shapes)];
}

tn_element_type values_some_type(values_gen *g, unsigned classes)
{
    for (uint32_t i = 0; i < 200; i++) {
        tn_element_type e = i < 8 ? g->types[below(g, 4)] : below(g, TN_ELEMENT_TYPE_COUNT);
        tn_element_class c = tn_element_type_class(e);
        if (c != TN_CLASS_NONE && (1u << c & classes)) return e;
    }
    return classes & FLOAT_CLASS ? TN_F32 : classes & COMPLEX_CLASS ? TN_C64 : TN_I32;
}

/* --- values --- */

void values_offer(values_gen *g, tn_value *v)
{
    if (g->scalars && v->type->rank) return;
    if (g->n < VALUES_ROOM) g->values[g->n++] = v;
}

/* Recent ones more often, so that most die young. */
static tn_value *some(values_gen *g)
{
    uint32_t recent = g->n < 4 ? g->n : 4;
    return below(g, 3) ? g->values[g->n - 1 - below(g, recent)] : g->values[below(g, g->n)];
}

tn_value *values_pick(values_gen *g, unsigned classes, uint32_t low, uint32_t high)
{
    for (uint32_t i = 0; g->n && i < 12; i++) {
        tn_value *v = some(g);
        if (v->type->kind == TN_TYPE_TENSOR && v->type->rank >= low && v->type->rank <= high &&
            1u << tn_element_type_class(v->type->element) & classes)
            return v;
    }
    values_shape s = {0};
    for (uint32_t i = 0; i < 20 && !g->scalars; i++) {
        s = *values_some_shape(g);
        if (s.rank >= low && s.rank <= high) break;
        s.rank = 0;
    }
    while (s.rank < low) s.dims[s.rank++] = 1 + below(g, 4);
    return values_constant(g, values_type(g, values_some_type(g, classes), &s));
}

tn_value *values_constant_of(values_gen *g, const tn_type *t, const void *data)
{
    tn_op *op = values_op(g, TN_OP_constant, 0, NULL, 1, 0);
    tn_literal l = {.type = t, .size = tn_type_bytes(t)};
    l.data = tn_dup(g->arena, data, l.size);
    values_declare(op, t);
    tn_op_set_attr(g->module, op, TN_ATTR_value, tn_attr_tensor(g->arena, &l));
    return &op->results[0];
}

tn_value *values_ints(values_gen *g, const int64_t *v, uint32_t n)
{
    int64_t dims[1] = {n};
    return values_constant_of(g, tn_type_tensor(g->arena, TN_I64, 1, dims), v);
}

tn_value *values_constant(values_gen *g, const tn_type *t)
{
    bool splat = below(g, 2) && tn_type_elements(t) > 0;
    tn_op *op = values_op(g, TN_OP_constant, 0, NULL, 1, 0);
    tn_literal l = {.type = t, .splat = splat};
    l.size = splat ? tn_element_type_bytes(t->element) : tn_type_bytes(t);
    void *data = tn_alloc(g->arena, l.size);
    values_fill(&g->state, t->element, splat ? 1 : tn_type_elements(t), data);
    l.data = data;
    values_declare(op, t);
    tn_op_set_attr(g->module, op, TN_ATTR_value, tn_attr_tensor(g->arena, &l));
    return &op->results[0];
}

static tn_value *iota(values_gen *g, const tn_type *t)
{
    tn_op *op = values_op(g, TN_OP_iota, 0, NULL, 1, 0);
    values_declare(op, t);
    values_set_int(g, op, TN_ATTR_iota_dimension, below(g, t->rank));
    return values_finish(g, op) ? &op->results[0] : NULL;
}

/* v, whose dimensions fit somewhere in t's, broadcast to t. */
static tn_value *broadcast(values_gen *g, tn_value *v, const tn_type *t)
{
    int64_t dims[VALUES_DIMS];
    uint32_t at = 0;
    for (uint32_t i = 0; i < v->type->rank; i++, at++) {
        while (at < t->rank && v->type->dims[i] != 1 && v->type->dims[i] != t->dims[at]) at++;
        if (at >= t->rank) return NULL;
        dims[i] = at;
    }
    tn_op *op = values_op(g, TN_OP_broadcast_in_dim, 1, &v, 1, 0);
    values_declare(op, t);
    values_set_ints(g, op, TN_ATTR_broadcast_dimensions, dims, v->type->rank);
    return values_finish(g, op) ? &op->results[0] : NULL;
}

tn_value *values_like(values_gen *g, const tn_type *t)
{
    tn_value *best = NULL, *smaller = NULL;
    uint32_t start = g->n ? below(g, g->n) : 0;
    for (uint32_t i = 0; i < g->n; i++) {
        tn_value *v = g->values[(start + i) % g->n];
        if (tn_type_equal(v->type, t) && (!best || one_in(g, 2))) best = v;
        if (v->type->kind == TN_TYPE_TENSOR && v->type->element == t->element &&
            v->type->rank < t->rank && one_in(g, 2))
            smaller = v;
    }
    if (best && !one_in(g, 8)) return best;
    tn_value *made = NULL;
    if (!g->scalars && t->rank) {
        if (smaller && below(g, 4)) made = broadcast(g, smaller, t);
        if (!made && one_in(g, 4)) made = iota(g, t);
    }
    return made ? made : values_constant(g, t);
}

tn_value *values_without_nan(values_gen *g, tn_value *v)
{
    const tn_type *t = v->type;
    tn_op *equal = values_op(g, TN_OP_compare, 2, (tn_value *[]){v, v}, 1, 0);
    values_set_int(g, equal, TN_ATTR_comparison_direction, TN_comparison_direction_EQ);
    values_finish(g, equal);
    void *zeros = tn_alloc(g->arena, tn_type_bytes(t));
    /* The type without a zero has a NaN of one form. */
    tn_value *zero = values_constant_of(g, t, zeros);
    tn_op *op = values_op(g, TN_OP_select, 3, (tn_value *[]){&equal->results[0], v, zero}, 1, 0);
    values_finish(g, op);
    return &op->results[0];
}

/* --- ops --- */

tn_op *values_op(values_gen *g, tn_op_kind kind, uint32_t n, tn_value *const *operands,
                 uint32_t n_results, uint32_t n_regions)
{
    tn_op *op = tn_op_new(g->module, kind, n, n_results, n_regions);
    for (uint32_t i = 0; i < n; i++) op->operands[i] = operands[i];
    for (uint32_t i = 0; i < n_results; i++) op->results[i].type = tn_type_token();
    tn_op_append(g->region, op);
    return op;
}

bool values_finish(values_gen *g, tn_op *op)
{
    const tn_type *types[16] = {0};
    tn_status *s = tn_op_behaviours[op->kind].infer(op, g->arena, types);
    bool fits = !s;
    for (uint32_t i = 0; fits && i < op->n_results; i++)
        fits = types[i]->rank <= VALUES_DIMS && tn_type_is_static(types[i]) &&
               (types[i]->kind != TN_TYPE_TENSOR || tn_type_elements(types[i]) <= VALUES_ELEMENTS);
    tn_status_free(s);
    if (!fits) {
        values_refused[op->kind]++;
        tn_op_remove(op);
        return false;
    }
    values_built[op->kind]++;
    for (uint32_t i = 0; i < op->n_results; i++) {
        op->results[i].type = types[i];
        if (types[i]->kind == TN_TYPE_TENSOR) values_offer(g, &op->results[i]);
    }
    return true;
}

void values_set_int(values_gen *g, tn_op *op, tn_attr_name name, int64_t v)
{
    tn_op_set_attr(g->module, op, name, tn_attr_int(g->arena, v));
}

void values_set_bool(values_gen *g, tn_op *op, tn_attr_name name, bool v)
{
    tn_op_set_attr(g->module, op, name, tn_attr_bool(g->arena, v));
}

void values_set_ints(values_gen *g, tn_op *op, tn_attr_name name, const int64_t *v, uint32_t n)
{
    tn_op_set_attr(g->module, op, name, tn_attr_ints(g->arena, v, n));
}

void values_set_matrix(values_gen *g, tn_op *op, tn_attr_name name, const int64_t *v, uint32_t rows)
{
    tn_attr *a = tn_dup(g->arena, tn_attr_ints(g->arena, v, 2 * rows), sizeof *a);
    a->ints.rows = rows;
    tn_op_set_attr(g->module, op, name, a);
}

void values_permutation(values_gen *g, int64_t *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = below(g, i + 1);
        out[i] = out[j];
        out[j] = i;
    }
}

/* --- regions --- */

tn_region *values_enter(values_gen *g, tn_op *op, uint32_t i, const tn_type *const *args,
                        uint32_t n)
{
    tn_region *outer = g->region;
    g->region = &op->regions[i];
    tn_region_init(g->module, g->region, g->function, op, n);
    for (uint32_t j = 0; j < n; j++) {
        g->region->args[j].type = args[j];
        values_offer(g, &g->region->args[j]);
    }
    return outer;
}

void values_return(values_gen *g, uint32_t n, tn_value *const *results)
{
    values_op(g, TN_OP_return, n, results, 0, 0);
}

void values_combiner(values_gen *g, tn_op *op, uint32_t i, const tn_type *const *types, uint32_t n)
{
    static const tn_op_kind kinds[] = {TN_OP_add, TN_OP_multiply, TN_OP_maximum, TN_OP_minimum,
                                       TN_OP_and, TN_OP_or,       TN_OP_xor,     TN_OP_add};
    uint32_t seen = g->n;
    bool scalars = g->scalars, plain = below(g, 4);
    const tn_type *args[16];
    for (uint32_t j = 0; j < 2 * n; j++)
        args[j] = tn_type_tensor(g->arena, types[j % n]->element, 0, NULL);
    /* Values of the enclosing regions may be used too, if they are scalars. */
    tn_value *kept[VALUES_ROOM];
    memcpy(kept, g->values, sizeof kept);
    g->n = 0;
    for (uint32_t j = 0; j < seen && !plain; j++)
        if (kept[j]->type->rank == 0 && one_in(g, 2)) g->values[g->n++] = kept[j];
    g->scalars = true;
    tn_region *outer = values_enter(g, op, i, args, 2 * n);
    tn_value *results[8];
    for (uint32_t j = 0; j < n; j++) {
        results[j] = NULL;
        if (!plain) continue;
        for (uint32_t k = 0; k < 6 && !results[j]; k++) {
            tn_op *combine =
                values_op(g, kinds[below(g, sizeof kinds / sizeof *kinds)], 2,
                          (tn_value *[]){&g->region->args[j], &g->region->args[n + j]}, 1, 0);
            if (values_finish(g, combine)) results[j] = &combine->results[0];
        }
    }
    if (!plain) {
        uint32_t ops = below(g, 5);
        for (uint32_t j = 0; j < ops; j++) values_elementwise(g);
    }
    for (uint32_t j = 0; j < n; j++)
        if (!results[j]) results[j] = values_like(g, args[j]);
    values_return(g, n, results);
    g->region = outer;
    g->scalars = scalars;
    g->n = seen;
    memcpy(g->values, kept, sizeof kept);
}
