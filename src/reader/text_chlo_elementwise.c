/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise ops of CHLO, as functions. Ops that broadcast line up their operands' last
 * dimensions, or put the smaller one where broadcast_dimensions says. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "reader/text_chlo.h"

static tn_status *check_counts(tn_parser *p, const tn_parse_op *o, const tn_chlo_op *c,
                               uint32_t operands)
{
    if (o->operands.n == operands && o->op->n_results == 1) return NULL;
    return tn_parse_error(p, o->where,
                          "chlo.%s should have %" PRIu32 " operands and 1 result and has %" PRIu32
                          " and %" PRIu32,
                          c->name, operands, o->operands.n, o->op->n_results);
}

/* --- broadcasts --- */

/* "%xI = broadcast_in_dim %aI" to `to`. */
static tn_status *put_broadcast(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c, tn_text *t,
                                uint32_t i, const tn_type *to)
{
    const tn_type *from = tn_chlo_operand(o, i);
    const tn_attr *map = tn_chlo_attr(c, "broadcast_dimensions");
    if (from->rank > to->rank)
        return tn_parse_error(p, o->where,
                              "operand %" PRIu32 " of chlo.%s has more dimensions than "
                              "the result",
                              i, c->name);
    if (map && (map->kind != TN_ATTR_KIND_INTS || map->ints.n > to->rank))
        return tn_parse_error(p, o->where, "broadcast_dimensions of chlo.%s should be a list",
                              c->name);
    bool mapped = map && from->rank < to->rank && map->ints.n == from->rank;
    tn_text_put(t, "%%x%" PRIu32 " = stablehlo.broadcast_in_dim %%a%" PRIu32 ", dims = [", i, i);
    for (uint32_t d = 0; d < from->rank; d++)
        tn_text_put(t, "%s%" PRId64, d ? ", " : "",
                    mapped ? map->ints.data[d] : (int64_t)(to->rank - from->rank + d));
    tn_text_put(t, "] : ");
    tn_chlo_signature(t, &from, 1, to);
    return NULL;
}

/* `t` with the dimensions of the result. */
static tn_status *broadcast_type(tn_parser *p, const tn_parse_op *o, const tn_chlo_op *c,
                                 const tn_type *t, const tn_type *to, const tn_type **out)
{
    if (!t->quantization || t->quantization->axis >= 0) TN_TRY(tn_chlo_check_static(p, o, c, t));
    tn_type *x = TN_NEW(p->arena, tn_type);
    *x = *t;
    x->rank = to->rank;
    x->dims = to->dims;
    *out = x;
    return NULL;
}

static const char *text_of_enum(const char *const *texts, int64_t n, int64_t v)
{
    return v >= 0 && v < n ? texts[v] : "?";
}

/* What follows the operands. */
static void put_compare(const tn_chlo_op *c, tn_text *t)
{
    static const char *const directions[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
    tn_text_put(t, "%%r = stablehlo.compare %s, %%x0, %%x1",
                text_of_enum(directions, 6, tn_chlo_int(c, "comparison_direction", -1)));
    static const char *const types[] = {"", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
    int64_t type = tn_chlo_int(c, "compare_type", 0);
    if (type) tn_text_put(t, ", %s", text_of_enum(types, 5, type));
    tn_text_put(t, " : ");
}

tn_status *tn_chlo_broadcast(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c)
{
    const char *op = c->name + strlen("broadcast_"), *name;
    uint32_t n = strcmp(op, "select") ? 2 : 3;
    TN_TRY(check_counts(p, o, c, n));
    const tn_type *to = o->op->results[0].type, *in[3];
    if (to->kind != TN_TYPE_TENSOR || !tn_type_is_static(to))
        return tn_chlo_check_static(p, o, c, to);
    tn_text t;
    tn_chlo_begin(p, o, c, &t, &name);
    for (uint32_t i = 0; i < n; i++) {
        const tn_type *from = tn_chlo_operand(o, i);
        if (from->kind != TN_TYPE_TENSOR || !tn_type_is_static(from))
            return tn_chlo_check_static(p, o, c, from);
        TN_TRY(broadcast_type(p, o, c, from, to, &in[i]));
        TN_TRY(put_broadcast(p, o, c, &t, i, in[i]));
    }
    bool special = !strcmp(op, "next_after") || !strcmp(op, "polygamma") || !strcmp(op, "zeta");
    if (n == 3) {
        tn_text_put(&t, "%%r = \"stablehlo.select\"(%%x0, %%x1, %%x2) : ");
    } else if (!strcmp(op, "compare")) {
        put_compare(c, &t);
    } else if (special) {
        tn_text_put(&t, "%%r = stablehlo.custom_call @chlo.%s(%%x0, %%x1) : ", op);
    } else {
        tn_text_put(&t, "%%r = \"stablehlo.%s\"(%%x0, %%x1) : ", op);
    }
    tn_chlo_signature(&t, in, n, to);
    return tn_chlo_end(p, o, &t, name, "%r");
}

/* --- one operand --- */

static const tn_type *real_type(tn_parser *p, const tn_type *t)
{
    return tn_chlo_tensor(p, tn_real_type(t->element), t->rank, t->dims);
}

/* "%re" and "%im" of %a0 */
static void put_parts(tn_text *t, const tn_type *from, const tn_type *real)
{
    tn_text_put(t, "%%re = stablehlo.real %%a0 : ");
    tn_chlo_signature(t, &from, 1, real);
    tn_text_put(t, "%%im = stablehlo.imag %%a0 : ");
    tn_chlo_signature(t, &from, 1, real);
}

static void put_binary(tn_text *t, const char *text, const tn_type *type)
{
    tn_text_put(t, "%s : ", text);
    tn_text_type(t, type);
    tn_text_put(t, "\n");
}

tn_status *tn_chlo_conj(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c)
{
    const char *name;
    tn_text t;
    TN_TRY(check_counts(p, o, c, 1));
    const tn_type *type = tn_chlo_operand(o, 0);
    if (type->kind != TN_TYPE_TENSOR) return tn_chlo_check_static(p, o, c, type);
    tn_chlo_begin(p, o, c, &t, &name);
    if (!tn_is_complex(type->element)) return tn_chlo_end(p, o, &t, name, "%a0");
    const tn_type *real = real_type(p, type);
    put_parts(&t, type, real);
    put_binary(&t, "%n = stablehlo.negate %im", real);
    put_binary(&t, "%r = stablehlo.complex %re, %n", type);
    return tn_chlo_end(p, o, &t, name, "%r");
}

/* Complex: ((re - im) * (re + im), 2 re im). */
tn_status *tn_chlo_square(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c)
{
    const char *name;
    tn_text t;
    TN_TRY(check_counts(p, o, c, 1));
    const tn_type *type = tn_chlo_operand(o, 0);
    if (type->kind != TN_TYPE_TENSOR) return tn_chlo_check_static(p, o, c, type);
    tn_chlo_begin(p, o, c, &t, &name);
    if (!tn_is_complex(type->element)) {
        put_binary(&t, "%r = stablehlo.multiply %a0, %a0", type);
        return tn_chlo_end(p, o, &t, name, "%r");
    }
    const tn_type *real = real_type(p, type);
    put_parts(&t, type, real);
    put_binary(&t, "%s = stablehlo.subtract %re, %im", real);
    put_binary(&t, "%u = stablehlo.add %re, %im", real);
    put_binary(&t, "%v = stablehlo.multiply %s, %u", real);
    put_binary(&t, "%w = stablehlo.multiply %re, %im", real);
    put_binary(&t, "%x = stablehlo.add %w, %w", real);
    put_binary(&t, "%r = stablehlo.complex %v, %x", type);
    return tn_chlo_end(p, o, &t, name, "%r");
}

/* Compared in a type that has infinities. */
tn_status *tn_chlo_is_inf(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c)
{
    const char *name;
    tn_text t;
    TN_TRY(check_counts(p, o, c, 1));
    const tn_type *type = tn_chlo_operand(o, 0);
    TN_TRY(tn_chlo_check_static(p, o, c, type));
    if (!tn_is_float(type->element))
        return tn_parse_error(p, o->where, "chlo.%s is defined on floats alone", c->name);
    const tn_type *wide = tn_chlo_tensor(p, TN_F64, type->rank, type->dims);
    tn_chlo_begin(p, o, c, &t, &name);
    tn_text_put(&t, "%%w = stablehlo.convert %%a0 : ");
    tn_chlo_signature(&t, &type, 1, wide);
    bool both = !strcmp(c->name, "is_inf"), negative = !strcmp(c->name, "is_neg_inf");
    if (both) put_binary(&t, "%v = stablehlo.abs %w", wide);
    tn_text_put(&t, "%%i = stablehlo.constant dense<0x%s> : ",
                negative ? "FFF0000000000000" : "7FF0000000000000");
    tn_text_type(&t, wide);
    tn_text_put(&t, "\n%%r = stablehlo.compare EQ, %%%s, %%i : ", both ? "v" : "w");
    tn_chlo_signature(&t, (const tn_type *[]){wide, wide}, 2, o->op->results[0].type);
    return tn_chlo_end(p, o, &t, name, "%r");
}

/* The bytes of one element of type `e` with the value of an attribute. */
static bool element_of(const tn_attr *v, tn_element_type e, uint8_t *out)
{
    uint64_t bits;
    if (v && v->kind == TN_ATTR_KIND_INT && tn_is_integer(e)) bits = (uint64_t)v->integer;
    else if (v && v->kind == TN_ATTR_KIND_BOOL && e == TN_I1) bits = v->boolean;
    else if (v && v->kind == TN_ATTR_KIND_FLOAT && tn_is_float(e))
        bits = tn_parse_float_bits(e, v->real);
    else return false;
    memcpy(out, &bits, sizeof bits);
    return true;
}

tn_status *tn_chlo_constant_like(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c)
{
    const char *name;
    tn_text t;
    uint8_t element[16] = {0};
    TN_TRY(check_counts(p, o, c, 1));
    const tn_type *type = o->op->results[0].type;
    TN_TRY(tn_chlo_check_static(p, o, c, type));
    if (!element_of(tn_chlo_attr(c, "value"), type->element, element))
        return tn_parse_error(p, o->where, "chlo.constant_like should have a value of type %s",
                              tn_element_type_text(type->element));
    tn_chlo_begin(p, o, c, &t, &name);
    tn_text_put(&t, "%%r = stablehlo.constant dense<");
    tn_text_element(&t, type->element, element);
    tn_text_put(&t, "> : ");
    tn_text_type(&t, type);
    tn_text_put(&t, "\n");
    return tn_chlo_end(p, o, &t, name, "%r");
}
