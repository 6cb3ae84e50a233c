/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of constants, from the form of the file to that of memory. */
#include <inttypes.h>
#include <string.h>

#include "reader/entries.h"

/* Numbers that are narrower than their byte: the file leaves the high bits open. */
static void widen(uint8_t *data, size_t n, tn_element_type e)
{
    unsigned bits = tn_element_type_bits(e);
    if (bits >= 8) return;
    uint8_t mask = (uint8_t)((1u << bits) - 1);
    uint8_t sign = tn_element_type_class(e) == TN_CLASS_SINT ? (uint8_t)(1u << (bits - 1)) : 0;
    for (size_t i = 0; i < n; i++) data[i] = (uint8_t)(((data[i] & mask) ^ sign) - sign);
}

/* Booleans are packed, lowest bit first, or take a byte each (old writers); one byte of ones is a
 * splat of true, and one byte that is too short for packing a splat too. Gives the number of
 * elements stored at *out, 0 when the size fits neither. */
static size_t unpack_booleans(tn_arena *a, const uint8_t *data, size_t size, size_t n,
                              uint8_t **out)
{
    size_t packed = (n + 7) / 8, stored = n;
    bool splat = size == 1 && (data[0] == 0xFF || packed > 1);
    if (splat) stored = 1;
    else if (size != packed && size != n) return 0;
    *out = tn_alloc(a, stored < 64 ? 64 : stored);
    if (splat || size == n)
        for (size_t i = 0; i < stored; i++) (*out)[i] = data[i] != 0;
    else
        for (size_t i = 0; i < stored; i++) (*out)[i] = data[i / 8] >> (i % 8) & 1;
    return stored;
}

tn_status *tn_entry_dense(tn_bytecode *b, const tn_cursor *c, const tn_type *type,
                          const uint8_t *data, size_t size, const tn_attr **out)
{
    char text[128];
    if (type->kind != TN_TYPE_TENSOR || !tn_type_is_static(type))
        return tn_cursor_error(c, "a constant of type %s", tn_type_format(type, text, sizeof text));
    size_t n = (size_t)tn_type_elements(type), unit = tn_element_type_bytes(type->element),
           stored = n;
    uint8_t *copy = NULL;
    if (n == 0) {
        /* Some writers give an empty tensor the one element of a splat. */
        if (size > unit) stored = SIZE_MAX;
    } else if (type->element == TN_I1) {
        stored = unpack_booleans(b->arena, data, size, n, &copy);
        if (!stored) stored = SIZE_MAX;
    } else {
        if (size == unit) stored = 1;
        if (size != stored * unit) stored = SIZE_MAX;
    }
    if (stored == SIZE_MAX)
        return tn_cursor_error(c, "a constant of type %s has %zu bytes of data",
                               tn_type_format(type, text, sizeof text), size);
    size_t bytes = stored * unit;
    if (!copy) {
        copy = tn_alloc(b->arena, bytes < 64 ? 64 : bytes);
        if (bytes) memcpy(copy, data, bytes);
        widen(copy, stored, type->element);
    }
    tn_attr *x = tn_entry_node_new(b, TN_ATTR_KIND_TENSOR);
    x->type = type;
    x->tensor =
        (tn_literal){.type = type, .data = copy, .size = bytes, .splat = stored == 1 && n != 1};
    *out = x;
    return NULL;
}
