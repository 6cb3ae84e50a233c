/* SPDX-License-Identifier: Apache-2.0 */
/* The builtin dialect's attributes and types, and the types of stablehlo and quant. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reader/entries.h"
#include "reader/types.h"

/* --- attributes --- */

enum {
    ATTR_ARRAY,
    ATTR_DICTIONARY,
    ATTR_STRING,
    ATTR_STRING_WITH_TYPE,
    ATTR_FLAT_SYMBOL,
    ATTR_SYMBOL,
    ATTR_TYPE,
    ATTR_UNIT,
    ATTR_INTEGER,
    ATTR_FLOAT,
    ATTR_FIRST_LOCATION = 10,
    ATTR_LAST_LOCATION = 15,
    ATTR_DENSE_RESOURCE = 16,
    ATTR_DENSE_ARRAY,
    ATTR_DENSE,
    ATTR_DENSE_STRINGS,
    ATTR_SPARSE,
    ATTR_DISTINCT,
    ATTR_FILE_RANGE
};

/* A symbol is the STRING that names it; a nested one a "symbol" node of strings. */
static tn_status *read_symbol(tn_bytecode *b, tn_cursor *c, bool nested, const tn_attr **out)
{
    if (nested) return tn_entry_read_fields(b, c, "symbol", "aL", out);
    TN_TRY(tn_entry_read_attr(b, c, out));
    if ((*out)->kind != TN_ATTR_KIND_STRING) return tn_cursor_error(c, "a symbol without a name");
    return NULL;
}

static tn_status *read_resource(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    const tn_type *type;
    TN_TRY(tn_entry_read_type(b, c, &type));
    uint64_t i = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    if (i >= b->n_resources)
        return tn_cursor_error(c, "resource %" PRIu64 " of %zu", i, b->n_resources);
    if (!b->resources[i].data) return tn_cursor_error(c, "resource %" PRIu64 " has no data", i);
    return tn_entry_dense(b, c, type, b->resources[i].data, b->resources[i].size, out);
}

/* An array<i64: ...> is like a dense tensor of rank 1, but booleans take a byte each. */
static tn_status *read_dense_array(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    const tn_type *element;
    TN_TRY(tn_entry_read_scalar(b, c, &element));
    uint64_t n = tn_cursor_varint(c), size = tn_cursor_varint(c);
    const uint8_t *data = tn_cursor_bytes(c, size);
    TN_TRY(tn_cursor_check(c));
    if (size != n * tn_element_type_bytes(element->element) || n > size)
        return tn_cursor_error(c, "%" PRIu64 " elements of %s in %" PRIu64 " bytes", n,
                               tn_element_type_text(element->element), size);
    int64_t dims[1] = {(int64_t)n};
    const tn_type *type = tn_type_tensor(b->arena, element->element, 1, dims);
    if (element->element != TN_I1) return tn_entry_dense(b, c, type, data, size, out);
    bool *v = TN_NEW_ARRAY(b->arena, bool, n);
    for (uint64_t i = 0; i < n; i++) v[i] = data[i] != 0;
    tn_attr *x = tn_entry_node_new(b, TN_ATTR_KIND_BOOLS);
    x->bools.data = v;
    x->bools.n = (uint32_t)n;
    *out = x;
    return NULL;
}

tn_status *tn_builtin_read_attr(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    const tn_type *ignored;
    uint64_t code = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    switch (code) {
    case ATTR_ARRAY: return tn_entry_read_array(b, c, NULL, out);
    case ATTR_DICTIONARY: return tn_entry_read_dict(b, c, out);
    case ATTR_STRING: return tn_entry_read_string(b, c, out);
    case ATTR_STRING_WITH_TYPE:
        TN_TRY(tn_entry_read_string(b, c, out));
        return tn_entry_read_type(b, c, &ignored);
    case ATTR_FLAT_SYMBOL:
    case ATTR_SYMBOL: return read_symbol(b, c, code == ATTR_SYMBOL, out);
    case ATTR_TYPE: return tn_entry_read_type_attr(b, c, out);
    case ATTR_UNIT: *out = tn_entry_node_new(b, TN_ATTR_KIND_UNIT); return NULL;
    case ATTR_INTEGER: return tn_entry_read_integer(b, c, out);
    case ATTR_FLOAT: return tn_entry_read_float(b, c, out);
    case ATTR_DENSE_RESOURCE: return read_resource(b, c, out);
    case ATTR_DENSE_ARRAY: return read_dense_array(b, c, out);
    case ATTR_DENSE: return tn_entry_read_tensor(b, c, out);
    case ATTR_DISTINCT: return tn_entry_read_attr(b, c, out);
    case ATTR_DENSE_STRINGS:
    case ATTR_SPARSE: return tn_cursor_unsupported(c, "a tensor of strings or a sparse tensor");
    default: break;
    }
    if ((code >= ATTR_FIRST_LOCATION && code <= ATTR_LAST_LOCATION) || code == ATTR_FILE_RANGE)
        return tn_cursor_unsupported(c, "a location as an attribute");
    return tn_cursor_error(c, "builtin attribute code %" PRIu64, code);
}

/* --- types --- */

enum {
    TYPE_INTEGER = 0,
    TYPE_INDEX = 1,
    TYPE_FUNCTION = 2,
    TYPE_COMPLEX = 9,
    TYPE_MEMREF = 10,
    TYPE_NONE = 12,
    TYPE_TENSOR = 13,
    TYPE_TENSOR_WITH_ENCODING = 14,
    TYPE_TUPLE = 15,
    TYPE_UNRANKED_TENSOR = 18,
    TYPE_TF32 = 21,
    TYPE_COUNT = 33
};

/* Element types by code; `index` is read as i64. */
static const tn_element_type elements[TYPE_COUNT] = {[TYPE_INDEX] = TN_I64,
                                                     [3] = TN_BF16,
                                                     [4] = TN_F16,
                                                     [5] = TN_F32,
                                                     [6] = TN_F64,
                                                     [22] = TN_F8E5M2,
                                                     [23] = TN_F8E4M3,
                                                     [24] = TN_F8E4M3FN,
                                                     [25] = TN_F8E5M2FNUZ,
                                                     [26] = TN_F8E4M3FNUZ,
                                                     [27] = TN_F8E4M3B11FNUZ,
                                                     [28] = TN_F8E3M4,
                                                     [29] = TN_F4E2M1FN,
                                                     [30] = TN_F6E2M3FN,
                                                     [31] = TN_F6E3M2FN,
                                                     [32] = TN_F8E8M0FNU};

static tn_status *read_integer_type(tn_cursor *c, const tn_type **out)
{
    enum { SIGNLESS, SIGNED, UNSIGNED };
    uint64_t v = tn_cursor_varint(c), width = v >> 2, sign = v & 3;
    static const char *const prefix[4] = {"i", "si", "ui", "?"};
    char text[32];
    TN_TRY(tn_cursor_check(c));
    int n = snprintf(text, sizeof text, "%s%" PRIu64, sign == UNSIGNED ? "ui" : "i", width);
    tn_element_type e = tn_element_type_parse(text, (size_t)n);
    if (e == TN_INVALID || sign > UNSIGNED || (sign == SIGNED && width == 1))
        return tn_cursor_unsupported(c, "integers of type %s%" PRIu64, prefix[sign], width);
    *out = tn_scalar_type(e);
    return NULL;
}

static tn_status *read_memref(tn_bytecode *b, tn_cursor *c, const tn_type **out)
{
    const tn_attr *layout;
    TN_TRY(tn_types_read_tensor(b, c, NULL, "memref", out));
    return tn_entry_read_attr(b, c, &layout);
}

tn_status *tn_builtin_read_type(tn_bytecode *b, tn_cursor *c, const tn_type **out, bool *scalar)
{
    const tn_attr *encoding;
    uint64_t code = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    switch (code) {
    case TYPE_INTEGER: *scalar = true; return read_integer_type(c, out);
    case TYPE_FUNCTION: return tn_types_read_function(b, c, out);
    case TYPE_COMPLEX: *scalar = true; return tn_types_read_complex(b, c, out);
    case TYPE_MEMREF: return read_memref(b, c, out);
    case TYPE_NONE: *out = &tn_none_type; return NULL;
    case TYPE_TENSOR: return tn_types_read_tensor(b, c, NULL, NULL, out);
    case TYPE_TENSOR_WITH_ENCODING:
        TN_TRY(tn_entry_read_attr(b, c, &encoding));
        return tn_types_read_tensor(b, c, encoding, NULL, out);
    case TYPE_TUPLE: return tn_types_read_parts(b, c, TN_TYPE_TUPLE, out);
    case TYPE_UNRANKED_TENSOR: return tn_types_read_unranked(b, c, out);
    case TYPE_TF32:
        *scalar = true;
        *out = &tn_tf32_type;
        return NULL;
    default: break;
    }
    if (code >= TYPE_COUNT) return tn_cursor_error(c, "builtin type code %" PRIu64, code);
    if (elements[code] == TN_INVALID)
        return tn_cursor_unsupported(c, "the builtin type of code %" PRIu64, code);
    *out = tn_scalar_type(elements[code]);
    *scalar = true;
    return NULL;
}

/* --- stablehlo and quant --- */

tn_status *tn_stablehlo_read_type(tn_bytecode *b, tn_cursor *c, const tn_type **out)
{
    enum { TOKEN, FUTURE };
    uint64_t code = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    if (code == FUTURE) return tn_types_read_parts(b, c, TN_TYPE_FUTURE, out);
    if (code != TOKEN) return tn_cursor_error(c, "stablehlo type code %" PRIu64, code);
    *out = tn_type_token();
    return NULL;
}

tn_status *tn_quant_read_type(tn_bytecode *b, tn_cursor *c, const tn_type **out, bool *scalar)
{
    enum { UNIFORM = 4, UNIFORM_PER_AXIS = 5 };
    uint64_t code = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    if (code != UNIFORM && code != UNIFORM_PER_AXIS)
        return tn_cursor_unsupported(c, "the quant type of code %" PRIu64, code);
    *scalar = true;
    return tn_types_read_quantized(b, c, code == UNIFORM_PER_AXIS, out);
}
