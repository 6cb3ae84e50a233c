/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/types.h"

#include <inttypes.h>
#include <string.h>

#include "type/float_bits.h"

static const tn_type scalars[TN_ELEMENT_TYPE_COUNT] = {
#define X(name, text, code, class, bits, bytes)                                                    \
    [code] = {.kind = TN_TYPE_TENSOR, .element = TN_##name},
#include "type/element_type.def"
#undef X
};

const tn_type tn_tf32_type = {.kind = TN_TYPE_TENSOR, .element = TN_F32, .alias = "tf32"};
const tn_type tn_none_type = {.kind = TN_TYPE_NONE};

const tn_type *tn_scalar_type(tn_element_type e)
{
    return &scalars[e];
}

/* --- tensors --- */

uint32_t tn_type_too_large(const tn_type *t)
{
    uint64_t product = tn_element_type_bytes(t->element);
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t d = t->dims[i];
        if (t->bounds && t->bounds[i] != TN_DYNAMIC) d = t->bounds[i];
        /* A zero elsewhere does not help: products of a part of the dimensions must fit too. */
        if (d <= 1) continue;
        if (__builtin_mul_overflow(product, (uint64_t)d, &product) || product > UINT64_C(1) << 47)
            return i;
    }
    return t->rank;
}

static tn_status *check_size(const tn_cursor *c, const tn_type *t)
{
    uint32_t i = tn_type_too_large(t);
    if (i == t->rank) return NULL;
    int64_t d = t->bounds && t->bounds[i] != TN_DYNAMIC ? t->bounds[i] : t->dims[i];
    return tn_cursor_error(c,
                           "a tensor type of rank %" PRIu32 " takes more than 2^47 bytes (%" PRId64
                           " in dimension %" PRIu32 " is too large)",
                           t->rank, d, i);
}

static tn_status *take_bounds(const tn_cursor *c, const tn_attr *encoding, tn_type *t)
{
    if (encoding->kind != TN_ATTR_KIND_LIST || !encoding->list.tag ||
        strcmp(encoding->list.tag, "bounds"))
        return tn_cursor_unsupported(c, "a tensor type with an encoding other than bounds");
    const tn_attr *bounds = encoding->list.items[0];
    if (bounds->ints.n != t->rank)
        return tn_cursor_error(c, "%" PRIu32 " bounds for a tensor type of rank %" PRIu32,
                               bounds->ints.n, t->rank);
    bool any = false;
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t bound = bounds->ints.data[i];
        if (bound == TN_DYNAMIC) continue;
        if (bound < 0 || t->dims[i] != TN_DYNAMIC)
            return tn_cursor_error(
                c, "bound %" PRId64 " in dimension %" PRIu32 ", whose size is %" PRId64, bound, i,
                t->dims[i]);
        any = true;
    }
    if (any) t->bounds = bounds->ints.data;
    return NULL;
}

tn_status *tn_types_read_tensor(tn_bytecode *b, tn_cursor *c, const tn_attr *encoding,
                                const char *alias, const tn_type **out)
{
    size_t rank = tn_cursor_count(c);
    if (rank > TN_MAX_RANK)
        return tn_cursor_unsupported(c, "a tensor type of rank %zu; at most %d is supported", rank,
                                     TN_MAX_RANK);
    int64_t *dims = TN_NEW_ARRAY(b->arena, int64_t, rank);
    for (size_t i = 0; i < rank; i++) {
        dims[i] = tn_cursor_svarint(c);
        if (dims[i] < 0 && dims[i] != TN_DYNAMIC)
            return tn_cursor_error(c, "dimension %zu of a tensor type is %" PRId64, i, dims[i]);
    }
    const tn_type *element;
    TN_TRY(tn_entry_read_scalar(b, c, &element));
    if (element == &tn_tf32_type)
        return tn_cursor_unsupported(c, "a tensor type with element tf32");
    tn_type *t = TN_NEW(b->arena, tn_type);
    *t = (tn_type){.kind = TN_TYPE_TENSOR,
                   .element = element->element,
                   .rank = (uint32_t)rank,
                   .dims = dims,
                   .alias = alias,
                   .quantization = element->quantization};
    if (encoding) TN_TRY(take_bounds(c, encoding, t));
    const tn_quantization *q = t->quantization;
    if (q && q->axis >= 0) {
        if (q->axis >= (int64_t)rank)
            return tn_cursor_error(c, "quantization axis %" PRId64 " of a tensor type of rank %zu",
                                   q->axis, rank);
        if (dims[q->axis] != TN_DYNAMIC && dims[q->axis] != q->n)
            return tn_cursor_error(c,
                                   "%" PRIu32 " scales for dimension %" PRId64 " of size %" PRId64,
                                   q->n, q->axis, dims[q->axis]);
    }
    *out = t;
    return check_size(c, t);
}

tn_status *tn_types_read_unranked(tn_bytecode *b, tn_cursor *c, const tn_type **out)
{
    const tn_type *element;
    TN_TRY(tn_entry_read_scalar(b, c, &element));
    tn_type *t = TN_NEW(b->arena, tn_type);
    *t = (tn_type){.kind = TN_TYPE_UNRANKED,
                   .element = element->element,
                   .quantization = element->quantization};
    *out = t;
    return NULL;
}

tn_status *tn_types_read_complex(tn_bytecode *b, tn_cursor *c, const tn_type **out)
{
    const tn_type *part;
    TN_TRY(tn_entry_read_scalar(b, c, &part));
    if (part == &scalars[TN_F32]) *out = &scalars[TN_C64];
    else if (part == &scalars[TN_F64]) *out = &scalars[TN_C128];
    else
        return tn_cursor_unsupported(c, "complex numbers of %s",
                                     tn_element_type_text(part->element));
    return NULL;
}

/* --- types of types --- */

/* Reads n types to the end of parts[]. */
static tn_status *read_list(tn_bytecode *b, tn_cursor *c, size_t n, const tn_type **parts)
{
    for (size_t i = 0; i < n; i++) TN_TRY(tn_entry_read_type(b, c, &parts[i]));
    return NULL;
}

tn_status *tn_types_read_parts(tn_bytecode *b, tn_cursor *c, tn_type_kind kind, const tn_type **out)
{
    size_t n = tn_cursor_count(c);
    const tn_type **parts = TN_NEW_ARRAY(b->arena, const tn_type *, n);
    TN_TRY(read_list(b, c, n, parts));
    tn_type *t = TN_NEW(b->arena, tn_type);
    *t = (tn_type){.kind = kind, .n_parts = (uint32_t)n, .parts = parts};
    *out = t;
    return tn_cursor_check(c);
}

tn_status *tn_types_read_function(tn_bytecode *b, tn_cursor *c, const tn_type **out)
{
    size_t n_inputs = tn_cursor_count(c);
    const tn_type **inputs = TN_NEW_ARRAY(b->arena, const tn_type *, n_inputs);
    TN_TRY(read_list(b, c, n_inputs, inputs));
    size_t n_results = tn_cursor_count(c);
    const tn_type **parts = TN_NEW_ARRAY(b->arena, const tn_type *, n_inputs + n_results);
    memcpy(parts, inputs, n_inputs * sizeof *parts);
    TN_TRY(read_list(b, c, n_results, parts + n_inputs));
    tn_type *t = TN_NEW(b->arena, tn_type);
    *t = (tn_type){.kind = TN_TYPE_FUNCTION,
                   .n_parts = (uint32_t)(n_inputs + n_results),
                   .n_inputs = (uint32_t)n_inputs,
                   .parts = parts};
    *out = t;
    return tn_cursor_check(c);
}

/* --- quantized elements --- */

tn_element_type tn_quantized_storage(tn_element_type e, bool is_signed)
{
    static const struct {
        tn_element_type with_sign, without;
    } pairs[] = {{TN_I2, TN_U2},   {TN_I4, TN_U4},   {TN_I8, TN_U8},
                 {TN_I16, TN_U16}, {TN_I32, TN_U32}, {TN_I64, TN_U64}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (e == pairs[i].with_sign || e == pairs[i].without)
            return is_signed ? pairs[i].with_sign : pairs[i].without;
    return TN_INVALID;
}

tn_status *tn_types_read_quantized(tn_bytecode *b, tn_cursor *c, bool per_axis, const tn_type **out)
{
    const tn_type *storage, *expressed;
    uint64_t flags = tn_cursor_varint(c);
    TN_TRY(tn_entry_read_scalar(b, c, &storage));
    TN_TRY(tn_entry_read_scalar(b, c, &expressed));
    tn_quantization *q = TN_NEW(b->arena, tn_quantization);
    q->storage = tn_quantized_storage(storage->element, flags & 1);
    q->expressed = expressed->element;
    q->axis = -1;
    q->n = 1;
    if (q->storage == TN_INVALID || !tn_is_float(q->expressed))
        return tn_cursor_unsupported(c, "quantization of %s as %s",
                                     tn_element_type_text(expressed->element),
                                     tn_element_type_text(storage->element));
    double *scales;
    int64_t *zero_points;
    if (per_axis) {
        uint64_t axis = tn_cursor_varint(c);
        if (axis >= TN_MAX_RANK) return tn_cursor_error(c, "quantization axis %" PRIu64, axis);
        q->axis = (int64_t)axis;
        q->min = tn_cursor_svarint(c);
        q->max = tn_cursor_svarint(c);
        size_t n = tn_cursor_count(c);
        scales = TN_NEW_ARRAY(b->arena, double, n);
        for (size_t i = 0; i < n; i++)
            scales[i] = tn_float_from_bits(TN_F64, tn_cursor_apint(c, 64));
        size_t n_points = tn_cursor_count(c);
        if (n_points != n) return tn_cursor_error(c, "%zu scales and %zu zero points", n, n_points);
        zero_points = TN_NEW_ARRAY(b->arena, int64_t, n);
        for (size_t i = 0; i < n; i++) zero_points[i] = tn_cursor_svarint(c);
        q->n = (uint32_t)n;
    } else {
        scales = TN_NEW(b->arena, double);
        zero_points = TN_NEW(b->arena, int64_t);
        *scales = tn_float_from_bits(TN_F64, tn_cursor_apint(c, 64));
        *zero_points = tn_cursor_svarint(c);
        q->min = tn_cursor_svarint(c);
        q->max = tn_cursor_svarint(c);
    }
    q->scales = scales;
    q->zero_points = zero_points;
    tn_type *t = TN_NEW(b->arena, tn_type);
    *t = (tn_type){.kind = TN_TYPE_TENSOR, .element = q->storage, .quantization = q};
    *out = t;
    return tn_cursor_check(c);
}
