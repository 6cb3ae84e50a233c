/* SPDX-License-Identifier: Apache-2.0 */
#include "type/type.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *text;
    tn_element_class class;
    unsigned bits, bytes;
} element_info;

static const element_info elements[TN_ELEMENT_TYPE_COUNT] = {
#define X(name, text, code, class, bits, bytes) [code] = {text, TN_CLASS_##class, bits, bytes},
#include "type/element_type.def"
#undef X
};

static const element_info *info(tn_element_type e)
{
    unsigned i = (unsigned)e;
    return &elements[i < TN_ELEMENT_TYPE_COUNT && elements[i].text ? i : TN_INVALID];
}

const char *tn_element_type_text(tn_element_type e)
{
    return info(e)->text;
}
tn_element_class tn_element_type_class(tn_element_type e)
{
    return info(e)->class;
}
unsigned tn_element_type_bits(tn_element_type e)
{
    return info(e)->bits;
}
unsigned tn_element_type_bytes(tn_element_type e)
{
    return info(e)->bytes;
}

tn_element_type tn_element_type_parse(const char *text, size_t size)
{
    for (unsigned i = 1; i < TN_ELEMENT_TYPE_COUNT; i++) {
        const char *t = elements[i].text;
        if (t && strlen(t) == size && !memcmp(t, text, size)) return (tn_element_type)i;
    }
    return TN_INVALID;
}

tn_element_type tn_real_type(tn_element_type e)
{
    return e == TN_C64 ? TN_F32 : e == TN_C128 ? TN_F64 : e;
}

const tn_type *tn_type_tensor(tn_arena *a, tn_element_type e, uint32_t rank, const int64_t *dims)
{
    tn_type *t = TN_NEW(a, tn_type);
    t->kind = TN_TYPE_TENSOR;
    t->element = e;
    t->rank = rank;
    t->dims = tn_dup(a, dims, rank * sizeof *dims);
    return t;
}

const tn_type *tn_type_token(void)
{
    static const tn_type token = {.kind = TN_TYPE_TOKEN, .element = TN_TOKEN};
    return &token;
}

bool tn_type_same_shape(const tn_type *x, const tn_type *y)
{
    if (x->kind != y->kind || x->rank != y->rank) return false;
    for (uint32_t i = 0; i < x->rank; i++)
        if (x->dims[i] != y->dims[i]) return false;
    return true;
}

static bool quantization_equal(const tn_quantization *x, const tn_quantization *y)
{
    if (x == y) return true;
    if (!x || !y) return false;
    return x->storage == y->storage && x->expressed == y->expressed && x->min == y->min &&
           x->max == y->max && x->axis == y->axis && x->n == y->n &&
           !memcmp(x->scales, y->scales, x->n * sizeof *x->scales) &&
           !memcmp(x->zero_points, y->zero_points, x->n * sizeof *x->zero_points);
}

bool tn_type_equal(const tn_type *x, const tn_type *y)
{
    if (x == y) return true;
    if (!tn_type_same_shape(x, y) || x->element != y->element || x->n_parts != y->n_parts ||
        x->n_inputs != y->n_inputs || !quantization_equal(x->quantization, y->quantization))
        return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t bx = x->bounds ? x->bounds[i] : TN_DYNAMIC;
        int64_t by = y->bounds ? y->bounds[i] : TN_DYNAMIC;
        if (bx != by) return false;
    }
    for (uint32_t i = 0; i < x->n_parts; i++)
        if (!tn_type_equal(x->parts[i], y->parts[i])) return false;
    return true;
}

bool tn_type_is_static(const tn_type *t)
{
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] == TN_DYNAMIC) return false;
    for (uint32_t i = 0; i < t->n_parts; i++)
        if (!tn_type_is_static(t->parts[i])) return false;
    return t->kind != TN_TYPE_UNRANKED;
}

int64_t tn_type_elements(const tn_type *t)
{
    if (t->kind != TN_TYPE_TENSOR) return 0;
    int64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++) n *= t->dims[i];
    return n;
}

size_t tn_type_bytes(const tn_type *t)
{
    return (size_t)tn_type_elements(t) * tn_element_type_bytes(t->element);
}

/* Text into a fixed buffer: counts what would have been written, as snprintf does. */
typedef struct {
    char *buf;
    size_t size, used;
} text;

static void put(text *t, const char *fmt, ...) TN_PRINTF(2, 3);
static void put(text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    bool fits = t->used < t->size;
    int n = vsnprintf(fits ? t->buf + t->used : NULL, fits ? t->size - t->used : 0, fmt, args);
    va_end(args);
    if (n > 0) t->used += (size_t)n;
}

/* MLIR wants a point in every float. */
static void put_double(text *out, double v)
{
    char digits[40];
    snprintf(digits, sizeof digits, "%.17g", v);
    int mantissa = (int)strcspn(digits, "e");
    put(out, "%.*s%s%s", mantissa, digits, memchr(digits, '.', (size_t)mantissa) ? "" : ".0",
        digits + mantissa);
}

static void put_element(text *out, const tn_type *t)
{
    const tn_quantization *q = t->quantization;
    if (!q) {
        put(out, "%s", tn_element_type_text(t->element));
        return;
    }
    /* There an unsigned storage type is u8 and not ui8. */
    put(out, "!quant.uniform<%c%u<%" PRId64 ":%" PRId64 ">:%s",
        tn_element_type_class(q->storage) == TN_CLASS_UINT ? 'u' : 'i',
        tn_element_type_bits(q->storage), q->min, q->max, tn_element_type_text(q->expressed));
    if (q->axis >= 0) put(out, ":%" PRId64, q->axis);
    put(out, q->axis >= 0 ? ", {" : ", ");
    for (uint32_t i = 0; i < q->n; i++) {
        put(out, "%s", i ? "," : "");
        put_double(out, q->scales[i]);
        if (q->zero_points[i]) put(out, ":%" PRId64, q->zero_points[i]);
    }
    put(out, q->axis >= 0 ? "}>" : ">");
}

static void put_type(text *out, const tn_type *t);
static void put_list(text *out, const tn_type *const *types, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i) put(out, ", ");
        put_type(out, types[i]);
    }
}

static void put_type(text *out, const tn_type *t)
{
    switch (t->kind) {
    case TN_TYPE_TENSOR:
        put(out, "%s<", t->alias ? t->alias : "tensor");
        for (uint32_t i = 0; i < t->rank; i++) {
            if (t->dims[i] == TN_DYNAMIC) put(out, "?x");
            else put(out, "%" PRId64 "x", t->dims[i]);
        }
        put_element(out, t);
        if (t->bounds) {
            put(out, ", #stablehlo.bounds<");
            for (uint32_t i = 0; i < t->rank; i++) {
                if (i) put(out, ", ");
                if (t->bounds[i] == TN_DYNAMIC) put(out, "?");
                else put(out, "%" PRId64, t->bounds[i]);
            }
            put(out, ">");
        }
        put(out, ">");
        return;
    case TN_TYPE_UNRANKED:
        put(out, "tensor<*x");
        put_element(out, t);
        put(out, ">");
        return;
    case TN_TYPE_TOKEN: put(out, "!stablehlo.token"); return;
    case TN_TYPE_NONE: put(out, "none"); return;
    case TN_TYPE_TUPLE:
    case TN_TYPE_FUTURE:
        put(out, t->kind == TN_TYPE_TUPLE ? "tuple<" : "!stablehlo.future<");
        put_list(out, t->parts, t->n_parts);
        put(out, ">");
        return;
    case TN_TYPE_FUNCTION:
        put(out, "(");
        put_list(out, t->parts, t->n_inputs);
        put(out, ") -> (");
        put_list(out, t->parts + t->n_inputs, t->n_parts - t->n_inputs);
        put(out, ")");
        return;
    }
}

char *tn_type_format(const tn_type *t, char *buf, size_t size)
{
    text out = {buf, size, 0};
    if (size) buf[0] = 0;
    put_type(&out, t);
    return buf;
}

const char *tn_type_text(tn_arena *a, const tn_type *t)
{
    text measure = {NULL, 0, 0};
    put_type(&measure, t);
    char *buf = tn_alloc(a, measure.used + 1);
    return tn_type_format(t, buf, measure.used + 1);
}
