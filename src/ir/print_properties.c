/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/print_properties.h"

#include <inttypes.h>

#include "ir/print_attr.h"

/* --- how attributes are written --- */

typedef enum {
    FORM_PLAIN,
    FORM_SKIP,
    FORM_I32,
    FORM_UNIT,
    FORM_SYMBOL,
    FORM_SYMBOLS,
    FORM_DENSE2,
    FORM_LAYOUTS,
    FORM_PRECISION,
    FORM_ACCURACY,
    FORM_ALIASES,
    FORM_NONEMPTY
} form;

static const uint8_t forms[TN_ATTR_COUNT] = {
#define FORM(attr, form) [TN_ATTR_##attr] = FORM_##form,
#include "ir/print_forms.def"
};

typedef struct {
    tn_op_kind op;
    const char *key, *head;
    tn_attr_name fields[10]; /* closed by TN_ATTR_NONE */
} group;

#define A(name)   TN_ATTR_##name,
#define LIST(...) __VA_ARGS__
static const group groups[] = {
#define GROUP(op, key, head, fields) {TN_OP_##op, key, head, {LIST fields TN_ATTR_NONE}},
#include "ir/print_forms.def"
};
#undef LIST
#undef A

#define BOOL                      NULL
#define INT                       NULL
#define FLOAT                     NULL
#define STRING                    NULL
#define INTS                      NULL
#define BOOLS                     NULL
#define TENSOR                    NULL
#define TYPE                      NULL
#define LIST                      NULL
#define DICT                      NULL
#define ENUM_api_version          NULL /* a plain number in the text */
#define ENUM_comparison_direction "comparison_direction"
#define ENUM_comparison_type      "comparison_type"
#define ENUM_fft_type             "fft_type"
#define ENUM_rng_algorithm        "rng_algorithm"
#define ENUM_rng_distribution     "rng_distribution"
#define ENUM_transpose            "transpose"
static const char *const enum_tables[TN_ATTR_COUNT] = {
#define X(name, kind) [TN_ATTR_##name] = kind,
#include "ir/attrs.def"
#undef X
};

/* --- attributes that StableHLO writes together --- */

/* The start of the next property: the brackets open before the first. */
static void next_property(tn_text *t, bool *any, const char *key)
{
    tn_text_put(t, *any ? ", %s" : " <{%s", key);
    *any = true;
}

static bool in_group(const tn_op *op, tn_attr_name attr)
{
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        if (groups[g].op != op->kind) continue;
        for (const tn_attr_name *f = groups[g].fields; *f; f++)
            if (*f == attr) return true;
    }
    return false;
}

static void print_field(tn_text *t, const tn_attr *v)
{
    switch (v->kind) {
    case TN_ATTR_KIND_INTS: tn_text_numbers(t, v->ints.data, v->ints.n); return;
    case TN_ATTR_KIND_INT: tn_text_put(t, "%" PRId64, v->integer); return;
    default: tn_print_attr(t, v); return;
    }
}

static void print_groups(tn_text *t, const tn_op *op, bool *any)
{
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        if (groups[g].op != op->kind || !tn_op_attr(op, groups[g].fields[0])) continue;
        next_property(t, any, groups[g].key);
        tn_text_put(t, " = %s<", groups[g].head);
        bool first = true;
        for (const tn_attr_name *f = groups[g].fields; *f; f++) {
            const tn_attr *v = tn_op_attr(op, *f);
            /* An empty list of dimensions is left out, as MLIR does. */
            if (!v || (v->kind == TN_ATTR_KIND_INTS && !v->ints.n)) continue;
            tn_text_put(t, "%s%s = ", first ? "" : ", ", tn_attr_name_text(*f));
            print_field(t, v);
            first = false;
        }
        tn_text_put(t, ">");
    }
}

static void print_channel(tn_text *t, const tn_op *op, bool *any)
{
    enum { DEVICE_TO_DEVICE = 1 };
    bool transfer = op->kind == TN_OP_send || op->kind == TN_OP_recv;
    int64_t id = tn_op_int(op, TN_ATTR_channel_id, 0);
    if (id <= 0 && !transfer) return;
    next_property(t, any, "channel_handle");
    tn_text_put(t, " = #stablehlo.channel_handle<handle = %" PRId64 ", type = %" PRId64 ">", id,
                tn_op_int(op, TN_ATTR_channel_type, DEVICE_TO_DEVICE));
}

/* One side of a convolution, [b, 0, 1, f]: letters[0] and [1] for the two dimensions that are not
 * spatial. False when the numbers are no permutation. */
static bool print_conv_side(tn_text *t, const tn_op *op, tn_attr_name first, tn_attr_name second,
                            tn_attr_name spatial, const char *letters)
{
    enum { MOST = 32 };
    uint32_t n;
    const int64_t *dims = tn_op_ints(op, spatial, &n);
    int64_t place[2] = {tn_op_int(op, first, -1), tn_op_int(op, second, -1)};
    int labels[MOST + 2]; /* spatial dimension, or -1 and -2 for the letters */
    if (n > MOST) return false;
    for (uint32_t i = 0; i < n + 2; i++) labels[i] = MOST;
    for (uint32_t i = 0; i < n + 2; i++) {
        int64_t at = i < n ? dims[i] : place[i - n];
        if (at < 0 || at >= (int64_t)n + 2 || labels[at] != MOST) return false;
        labels[at] = i < n ? (int)i : -1 - (int)(i - n);
    }
    for (uint32_t i = 0; i < n + 2; i++) {
        tn_text_put(t, "%s", i ? ", " : "[");
        if (labels[i] >= 0) tn_text_put(t, "%d", labels[i]);
        else tn_text_put(t, "%c", letters[-1 - labels[i]]);
    }
    tn_text_put(t, "]");
    return true;
}

static void print_conv(tn_text *t, const tn_op *op, bool *any)
{
    static const tn_attr_name all[] = {
        TN_ATTR_input_batch_dimension,           TN_ATTR_input_feature_dimension,
        TN_ATTR_input_spatial_dimensions,        TN_ATTR_kernel_input_feature_dimension,
        TN_ATTR_kernel_output_feature_dimension, TN_ATTR_kernel_spatial_dimensions,
        TN_ATTR_output_batch_dimension,          TN_ATTR_output_feature_dimension,
        TN_ATTR_output_spatial_dimensions};
    next_property(t, any, "dimension_numbers");
    size_t start = t->size;
    tn_text_put(t, " = #stablehlo.conv<");
    bool ok = print_conv_side(t, op, all[0], all[1], all[2], "bf");
    tn_text_put(t, "x");
    ok = ok && print_conv_side(t, op, all[3], all[4], all[5], "io");
    tn_text_put(t, "->");
    ok = ok && print_conv_side(t, op, all[6], all[7], all[8], "bf");
    if (!ok) {
        t->size = start;
        tn_text_put(t, " = #stablehlo.conv<raw ");
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            const tn_attr *v = tn_op_attr(op, all[i]);
            if (!v) continue;
            tn_text_put(t, "%s%s = ", i ? ", " : "", tn_attr_name_text(all[i]));
            print_field(t, v);
        }
    }
    tn_text_put(t, ">");
}

/* --- single attributes --- */

static void print_symbol(tn_text *t, const tn_attr *v)
{
    tn_text_put(t, "@");
    tn_text_word(t, v->kind == TN_ATTR_KIND_STRING ? v->string.data : "");
}

static void print_alias(tn_text *t, const tn_attr *v)
{
    static const char *const names[] = {"output_tuple_indices", "operand_index",
                                        "operand_tuple_indices"};
    tn_text_put(t, "#stablehlo.output_operand_alias<");
    for (uint32_t i = 0; v->kind == TN_ATTR_KIND_LIST && i < v->list.n && i < 3; i++) {
        tn_text_put(t, "%s%s = ", i ? ", " : "", names[i]);
        print_field(t, v->list.items[i]);
    }
    tn_text_put(t, ">");
}

static void print_layout(tn_text *t, const tn_attr *v)
{
    if (v->kind == TN_ATTR_KIND_INTS) tn_print_dense_ints(t, v, TN_PRINT_LIST, "index");
    else tn_print_attr(t, v);
}

static void print_precision(tn_text *t, const tn_attr *v)
{
    if (v->kind == TN_ATTR_KIND_INT) tn_print_enum(t, "precision", v->integer);
    else tn_print_attr(t, v);
}

static void print_items(tn_text *t, const tn_attr *list, void (*print)(tn_text *, const tn_attr *))
{
    tn_text_put(t, "[");
    for (uint32_t i = 0; list->kind == TN_ATTR_KIND_LIST && i < list->list.n; i++) {
        if (i) tn_text_put(t, ", ");
        print(t, list->list.items[i]);
    }
    tn_text_put(t, "]");
}

static bool is_default_accuracy(const tn_attr *v)
{
    static const tn_attr_kind kinds[] = {TN_ATTR_KIND_FLOAT, TN_ATTR_KIND_FLOAT, TN_ATTR_KIND_INT,
                                         TN_ATTR_KIND_INT};
    if (v->kind != TN_ATTR_KIND_LIST || v->list.n != 4) return true;
    for (uint32_t i = 0; i < 4; i++)
        if (v->list.items[i]->kind != kinds[i]) return true;
    return v->list.items[3]->integer == 0;
}

static void print_accuracy(tn_text *t, const tn_attr *v)
{
    static const char *const modes[] = {"DEFAULT", "HIGHEST", "TOLERANCE"};
    const tn_attr *const *f = v->list.items;
    tn_text_put(t, "#stablehlo.result_accuracy<atol = ");
    tn_text_element(t, TN_F64, &f[0]->real);
    tn_text_put(t, ", rtol = ");
    tn_text_element(t, TN_F64, &f[1]->real);
    tn_text_put(t, ", ulps = %" PRId64 ", mode = #stablehlo.result_accuracy_mode<%s>>",
                f[2]->integer, modes[f[3]->integer == 1 ? 1 : 2]);
}

static bool is_list(const tn_attr *v)
{
    return v && v->kind == TN_ATTR_KIND_LIST && v->list.n;
}

/* Layouts are given for all operands and results or for none. */
static bool has_layouts(const tn_op *op)
{
    return is_list(tn_op_attr(op, TN_ATTR_operand_layouts)) ||
           is_list(tn_op_attr(op, TN_ATTR_result_layouts));
}

const tn_attr *tn_print_typed_config(const tn_op *op)
{
    if (op->kind != TN_OP_custom_call ||
        tn_op_int(op, TN_ATTR_api_version, 0) != TN_api_version_TYPED_FFI)
        return NULL;
    const tn_attr *v = tn_op_extra(op, "mhlo.backend_config");
    return v && v->kind == TN_ATTR_KIND_DICT ? v : NULL;
}

/* An attribute that the text leaves out. */
static bool is_silent(const tn_op *op, tn_attr_name attr, const tn_attr *v)
{
    switch ((form)forms[attr]) {
    case FORM_SKIP: return true;
    case FORM_UNIT: return v->kind != TN_ATTR_KIND_BOOL || !v->boolean;
    case FORM_ACCURACY: return is_default_accuracy(v);
    case FORM_ALIASES: /* MLIR refuses even an empty list at some targets */
    case FORM_NONEMPTY: return v->kind != TN_ATTR_KIND_LIST || !v->list.n;
    case FORM_LAYOUTS: return !has_layouts(op);
    default: break;
    }
    if (attr == TN_ATTR_compare_type && v->integer == TN_comparison_type_NOTYPE) return true;
    return in_group(op, attr);
}

static void print_property(tn_text *t, tn_attr_name attr, const tn_attr *v)
{
    if (enum_tables[attr] && v->kind == TN_ATTR_KIND_INT) {
        tn_print_enum(t, enum_tables[attr], v->integer);
        return;
    }
    switch ((form)forms[attr]) {
    case FORM_I32: tn_text_put(t, "%" PRId64 " : i32", v->integer); return;
    case FORM_SYMBOL: print_symbol(t, v); return;
    case FORM_SYMBOLS: print_items(t, v, print_symbol); return;
    case FORM_DENSE2:
        tn_print_dense_ints(t, v, attr == TN_ATTR_replica_groups ? 0 : 2, "i64");
        return;
    case FORM_LAYOUTS: print_items(t, v, print_layout); return;
    case FORM_PRECISION: print_items(t, v, print_precision); return;
    case FORM_ACCURACY: print_accuracy(t, v); return;
    case FORM_ALIASES: print_items(t, v, print_alias); return;
    case FORM_NONEMPTY:
    case FORM_PLAIN:
    case FORM_UNIT:
    case FORM_SKIP: tn_print_attr(t, v); return;
    }
}

void tn_print_properties(tn_text *t, const tn_op *op)
{
    const tn_op_info *info = &tn_op_infos[op->kind];
    bool any = false;
    for (uint32_t i = 0; i < info->n_attrs; i++) {
        tn_attr_name attr = info->attrs[i];
        const tn_attr *v = op->attrs[i];
        if (attr == TN_ATTR_channel_id) print_channel(t, op, &any);
        if (!v || is_silent(op, attr, v)) continue;
        next_property(t, &any, tn_attr_name_text(attr));
        if (forms[attr] == FORM_UNIT) continue;
        if (attr == TN_ATTR_backend_config && tn_print_typed_config(op))
            v = tn_print_typed_config(op);
        tn_text_put(t, " = ");
        print_property(t, attr, v);
    }
    print_groups(t, op, &any);
    if (op->kind == TN_OP_convolution || op->kind == TN_OP_dynamic_conv) print_conv(t, op, &any);
    if (any) tn_text_put(t, "}>");
}
