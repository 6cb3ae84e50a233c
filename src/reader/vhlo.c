/* SPDX-License-Identifier: Apache-2.0 */
/* VHLO's and Shardy's attributes and VHLO's types, by their codes. */
#include <inttypes.h>
#include <string.h>

#include "reader/entries.h"
#include "reader/types.h"

/* --- attributes --- */

/* Enumerations: a node with the name of the enumeration and the number. */
typedef struct {
    const char *tag;
    uint8_t first, last;
} enumeration;

enum {
    ATTR_ARRAY = 1,
    ATTR_BOOLEAN = 2,
    ATTR_DICTIONARY = 6,
    ATTR_FLOAT = 8,
    ATTR_INTEGER = 9,
    ATTR_STRING = 14,
    ATTR_TENSOR = 15,
    ATTR_TYPE = 17,
    ATTR_COUNT = 26
};

static const enumeration enumerations[ATTR_COUNT] = {
    [3] = {"comparison_direction", 0, 5}, [4] = {"comparison_type", 0, 4},
    [5] = {"api_version", 0, 4},          [7] = {"fft_type", 0, 3},
    [11] = {"precision", 0, 2},           [12] = {"rng_algorithm", 0, 2},
    [13] = {"rng_distribution", 1, 2},    [16] = {"transpose", 0, 3},
    [19] = {"result_accuracy_mode", 0, 2}};

typedef struct {
    const char *tag, *fields; /* see tn_entry_read_fields */
} node_form;

static const node_form nodes[ATTR_COUNT] = {[10] = {"output_operand_alias", "IiI"},
                                            [18] = {"bounds", "I"},
                                            [20] = {"result_accuracy", "ddia"},
                                            [21] = {"sub_axis_info", "ii"},
                                            [22] = {"axis_ref", "ah"},
                                            [23] = {"replica_group_mesh_axes", "aa"},
                                            [24] = {"mesh_axis", "ai"},
                                            [25] = {"mesh", "ao"}};

static tn_status *read_boolean(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    tn_attr *x = tn_entry_node_new(b, TN_ATTR_KIND_BOOL);
    x->boolean = tn_cursor_varint(c) != 0;
    *out = x;
    return tn_cursor_check(c);
}

tn_status *tn_vhlo_read_attr(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    uint64_t code = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    switch (code) {
    case ATTR_ARRAY: return tn_entry_read_array(b, c, NULL, out);
    case ATTR_BOOLEAN: return read_boolean(b, c, out);
    case ATTR_DICTIONARY: return tn_entry_read_dict(b, c, out);
    case ATTR_FLOAT: return tn_entry_read_float(b, c, out);
    case ATTR_INTEGER: return tn_entry_read_integer(b, c, out);
    case ATTR_STRING: return tn_entry_read_string(b, c, out);
    case ATTR_TENSOR: return tn_entry_read_tensor(b, c, out);
    case ATTR_TYPE: return tn_entry_read_type_attr(b, c, out);
    default: break;
    }
    if (code < ATTR_COUNT && enumerations[code].tag)
        return tn_entry_read_enumeration(b, c, enumerations[code].tag, enumerations[code].first,
                                         enumerations[code].last, out);
    if (code < ATTR_COUNT && nodes[code].tag)
        return tn_entry_read_fields(b, c, nodes[code].tag, nodes[code].fields, out);
    return tn_cursor_unsupported(c, "the VHLO attribute of code %" PRIu64, code);
}

tn_status *tn_sdy_read_attr(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    static const node_form forms[] = {{"sdy.manual_axes", "l"},
                                      {"sdy.mesh_axis", "si"},
                                      {"sdy.mesh", "LI"},
                                      {"sdy.sub_axis_info", "ii"},
                                      {"sdy.axis_ref", "so"},
                                      {"sdy.dimension_sharding", "Lbp"},
                                      {"sdy.sharding", "aLLE"},
                                      {"sdy.sharding_per_value", "l"},
                                      {"sdy.dim_mapping", "I"},
                                      {"sdy.tensor_mapping", "l"},
                                      {"sdy.op_sharding_rule", "ILLIIIIb"},
                                      {"sdy.axis_ref_list", "l"},
                                      {"sdy.list_of_axis_ref_lists", "l"},
                                      {"sdy.all_to_all_param", "Lii"},
                                      {"sdy.all_to_all_param_list", "l"},
                                      {"sdy.sharding", "aLLL"},
                                      {"sdy.sharding_per_value", "l"},
                                      {"sdy.sharding", "aLLLi"}};
    uint64_t code = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    if (code >= sizeof forms / sizeof *forms)
        return tn_cursor_unsupported(c, "the sdy attribute of code %" PRIu64, code);
    return tn_entry_read_fields(b, c, forms[code].tag, forms[code].fields, out);
}

/* --- types --- */

enum {
    TYPE_COMPLEX = 1,
    TYPE_FUNCTION = 8,
    TYPE_INDEX = 9,
    TYPE_TENSOR = 20,
    TYPE_TENSOR_WITH_ENCODING = 21,
    TYPE_TOKEN = 22,
    TYPE_TUPLE = 23,
    TYPE_QUANTIZED = 24,
    TYPE_UNRANKED_TENSOR = 25,
    TYPE_QUANTIZED_PER_AXIS = 30,
    TYPE_NONE = 33,
    TYPE_TF32 = 34,
    TYPE_BUFFER = 41,
    TYPE_FUTURE = 42,
    TYPE_COUNT
};

/* Element types by code; `index` is read as i64. */
static const tn_element_type elements[TYPE_COUNT] = {
    [0] = TN_I1,          [2] = TN_BF16,         [3] = TN_F16,
    [4] = TN_F32,         [5] = TN_F64,          [6] = TN_F8E4M3FN,
    [7] = TN_F8E5M2,      [TYPE_INDEX] = TN_I64, [10] = TN_I4,
    [11] = TN_I8,         [12] = TN_I16,         [13] = TN_I32,
    [14] = TN_I64,        [15] = TN_U4,          [16] = TN_U8,
    [17] = TN_U16,        [18] = TN_U32,         [19] = TN_U64,
    [27] = TN_F8E4M3FNUZ, [28] = TN_F8E5M2FNUZ,  [29] = TN_F8E4M3B11FNUZ,
    [31] = TN_I2,         [32] = TN_U2,          [35] = TN_F8E4M3,
    [36] = TN_F8E3M4,     [37] = TN_F4E2M1FN,    [38] = TN_F6E2M3FN,
    [39] = TN_F6E3M2FN,   [40] = TN_F8E8M0FNU};

tn_status *tn_vhlo_read_type(tn_bytecode *b, tn_cursor *c, const tn_type **out, bool *scalar)
{
    const tn_attr *encoding;
    uint64_t code = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    switch (code) {
    case TYPE_COMPLEX: *scalar = true; return tn_types_read_complex(b, c, out);
    case TYPE_FUNCTION: return tn_types_read_function(b, c, out);
    case TYPE_BUFFER: return tn_types_read_tensor(b, c, NULL, "memref", out);
    case TYPE_TENSOR: return tn_types_read_tensor(b, c, NULL, NULL, out);
    case TYPE_TENSOR_WITH_ENCODING:
        TN_TRY(tn_entry_read_attr(b, c, &encoding));
        return tn_types_read_tensor(b, c, encoding, NULL, out);
    case TYPE_TOKEN: *out = tn_type_token(); return NULL;
    case TYPE_TUPLE: return tn_types_read_parts(b, c, TN_TYPE_TUPLE, out);
    case TYPE_FUTURE: return tn_types_read_parts(b, c, TN_TYPE_FUTURE, out);
    case TYPE_QUANTIZED:
    case TYPE_QUANTIZED_PER_AXIS:
        *scalar = true;
        return tn_types_read_quantized(b, c, code == TYPE_QUANTIZED_PER_AXIS, out);
    case TYPE_UNRANKED_TENSOR: return tn_types_read_unranked(b, c, out);
    case TYPE_NONE: *out = &tn_none_type; return NULL;
    case TYPE_TF32:
        *scalar = true;
        *out = &tn_tf32_type;
        return NULL;
    default: break;
    }
    if (code >= TYPE_COUNT || elements[code] == TN_INVALID)
        return tn_cursor_unsupported(c, "the VHLO type of code %" PRIu64, code);
    *out = tn_scalar_type(elements[code]);
    *scalar = true;
    return NULL;
}
