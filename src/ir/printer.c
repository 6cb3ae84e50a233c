/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "ir/ir.h"
#include "ir/print_attr.h"
#include "ir/text.h"

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

/* --- names of values --- */

typedef struct {
    const tn_value *value;
    uint32_t number;
} name;

typedef struct {
    tn_text text;
    name *names; /* a hash; capacity is a power of two */
    size_t capacity;
    uint32_t n_results, n_args; /* numbers given so far */
} printer;

static size_t count_values(const tn_region *r)
{
    size_t n = r->n_args;
    for (const tn_op *op = r->first; op; op = op->next) {
        n += op->n_results;
        for (uint32_t i = 0; i < op->n_regions; i++) n += count_values(&op->regions[i]);
    }
    return n;
}

static name *slot(const printer *p, const tn_value *v)
{
    size_t i = ((uintptr_t)v >> 4) * 0x9E3779B97F4A7C15u;
    i ^= i >> 29;
    for (i &= p->capacity - 1; p->names[i].value && p->names[i].value != v;)
        i = (i + 1) & (p->capacity - 1);
    return &p->names[i];
}

static void define(printer *p, const tn_value *v, uint32_t number)
{
    *slot(p, v) = (name){v, number};
}

static void print_value(printer *p, const tn_value *v)
{
    while (v->forward) v = v->forward;
    const name *n = slot(p, v);
    if (!n->value) tn_text_put(&p->text, "%%<undefined>");
    else if (!v->op) tn_text_put(&p->text, "%%arg%" PRIu32, n->number);
    else if (v->op->n_results == 1) tn_text_put(&p->text, "%%%" PRIu32, n->number);
    else tn_text_put(&p->text, "%%%" PRIu32 "#%" PRIu32, n->number, v->index);
}

/* --- attributes that StableHLO writes together --- */

/* The start of the next property: the brackets open before the first. */
static void next_property(printer *p, bool *any, const char *key)
{
    tn_text_put(&p->text, *any ? ", %s" : " <{%s", key);
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

static void print_groups(printer *p, const tn_op *op, bool *any)
{
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        if (groups[g].op != op->kind || !tn_op_attr(op, groups[g].fields[0])) continue;
        next_property(p, any, groups[g].key);
        tn_text_put(&p->text, " = %s<", groups[g].head);
        bool first = true;
        for (const tn_attr_name *f = groups[g].fields; *f; f++) {
            const tn_attr *v = tn_op_attr(op, *f);
            /* An empty list of dimensions is left out, as MLIR does. */
            if (!v || (v->kind == TN_ATTR_KIND_INTS && !v->ints.n)) continue;
            tn_text_put(&p->text, "%s%s = ", first ? "" : ", ", tn_attr_name_text(*f));
            print_field(&p->text, v);
            first = false;
        }
        tn_text_put(&p->text, ">");
    }
}

static void print_channel(printer *p, const tn_op *op, bool *any)
{
    enum { DEVICE_TO_DEVICE = 1 };
    bool transfer = op->kind == TN_OP_send || op->kind == TN_OP_recv;
    int64_t id = tn_op_int(op, TN_ATTR_channel_id, 0);
    if (id <= 0 && !transfer) return;
    next_property(p, any, "channel_handle");
    tn_text_put(&p->text, " = #stablehlo.channel_handle<handle = %" PRId64 ", type = %" PRId64 ">",
                id, tn_op_int(op, TN_ATTR_channel_type, DEVICE_TO_DEVICE));
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

static void print_conv(printer *p, const tn_op *op, bool *any)
{
    static const tn_attr_name all[] = {
        TN_ATTR_input_batch_dimension,           TN_ATTR_input_feature_dimension,
        TN_ATTR_input_spatial_dimensions,        TN_ATTR_kernel_input_feature_dimension,
        TN_ATTR_kernel_output_feature_dimension, TN_ATTR_kernel_spatial_dimensions,
        TN_ATTR_output_batch_dimension,          TN_ATTR_output_feature_dimension,
        TN_ATTR_output_spatial_dimensions};
    tn_text *t = &p->text;
    next_property(p, any, "dimension_numbers");
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
    if (v->kind == TN_ATTR_KIND_INTS) tn_print_dense_ints(t, v, false, "index");
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

/* The dictionary that StableHLO has as the backend_config of a typed FFI call, and we as a
 * discardable attribute; NULL for every other op. */
static const tn_attr *typed_config(const tn_op *op)
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
    case FORM_DENSE2: tn_print_dense_ints(t, v, true, "i64"); return;
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

static void print_properties(printer *p, const tn_op *op)
{
    const tn_op_info *info = &tn_op_infos[op->kind];
    bool any = false;
    for (uint32_t i = 0; i < info->n_attrs; i++) {
        tn_attr_name attr = info->attrs[i];
        const tn_attr *v = op->attrs[i];
        if (attr == TN_ATTR_channel_id) print_channel(p, op, &any);
        if (!v || is_silent(op, attr, v)) continue;
        next_property(p, &any, tn_attr_name_text(attr));
        if (forms[attr] == FORM_UNIT) continue;
        if (attr == TN_ATTR_backend_config && typed_config(op)) v = typed_config(op);
        tn_text_put(&p->text, " = ");
        print_property(&p->text, attr, v);
    }
    print_groups(p, op, &any);
    if (op->kind == TN_OP_convolution || op->kind == TN_OP_dynamic_conv) print_conv(p, op, &any);
    if (any) tn_text_put(&p->text, "}>");
}

/* --- ops and regions --- */

static void print_op(printer *p, const tn_op *op, int indent);

static void print_types(tn_text *t, const tn_value *results, uint32_t n)
{
    bool bare = n == 1 && results[0].type->kind != TN_TYPE_FUNCTION;
    if (!bare) tn_text_put(t, "(");
    for (uint32_t i = 0; i < n; i++) {
        if (i) tn_text_put(t, ", ");
        tn_text_type(t, results[i].type);
    }
    if (!bare) tn_text_put(t, ")");
}

static void print_arg(printer *p, const tn_value *arg)
{
    define(p, arg, p->n_args++);
    print_value(p, arg);
    tn_text_put(&p->text, ": ");
    tn_text_type(&p->text, arg->type);
}

static void print_region(printer *p, const tn_region *r, int indent)
{
    tn_text_put(&p->text, "{\n");
    if (r->n_args || !r->first) {
        tn_text_put(&p->text, "%*s^bb0", indent, "");
        for (uint32_t i = 0; i < r->n_args; i++) {
            tn_text_put(&p->text, "%s", i ? ", " : "(");
            print_arg(p, &r->args[i]);
        }
        tn_text_put(&p->text, "%s\n", r->n_args ? "):" : ":");
    }
    for (const tn_op *op = r->first; op; op = op->next) print_op(p, op, indent + 2);
    tn_text_put(&p->text, "%*s}", indent, "");
}

static void print_results(printer *p, const tn_op *op)
{
    if (!op->n_results) return;
    for (uint32_t i = 0; i < op->n_results; i++) define(p, &op->results[i], p->n_results);
    tn_text_put(&p->text, "%%%" PRIu32, p->n_results++);
    if (op->n_results > 1) tn_text_put(&p->text, ":%" PRIu32, op->n_results);
    tn_text_put(&p->text, " = ");
}

static void print_op(printer *p, const tn_op *op, int indent)
{
    tn_text *t = &p->text;
    /* One op here returns from functions and from regions; in the text they are two. */
    bool returns = op->kind == TN_OP_return && op->region && !op->region->parent;
    tn_text_put(t, "%*s", indent, "");
    print_results(p, op);
    tn_text_put(t, "\"%s\"(", returns ? "func.return" : tn_op_text(op));
    for (uint32_t i = 0; i < op->n_operands; i++) {
        if (i) tn_text_put(t, ", ");
        print_value(p, op->operands[i]);
    }
    tn_text_put(t, ")");
    print_properties(p, op);
    for (uint32_t i = 0; i < op->n_regions; i++) {
        tn_text_put(t, i ? ", " : " (");
        print_region(p, &op->regions[i], indent);
    }
    if (op->n_regions) tn_text_put(t, ")");
    if (op->n_extra && !(op->n_extra == 1 && typed_config(op))) {
        tn_text_put(t, " ");
        tn_print_dict(t, op->extra, op->n_extra);
    }
    tn_text_put(t, " : (");
    for (uint32_t i = 0; i < op->n_operands; i++) {
        if (i) tn_text_put(t, ", ");
        tn_text_type(t, op->operands[i]->type);
    }
    tn_text_put(t, ") -> ");
    print_types(t, op->results, op->n_results);
    tn_text_put(t, "\n");
}

/* --- functions and the module --- */

static void print_value_attrs(tn_text *t, const tn_attr *const *attrs, uint32_t i)
{
    const tn_attr *dict = attrs ? attrs[i] : NULL;
    if (!dict || dict->kind != TN_ATTR_KIND_DICT || !dict->dict.n) return;
    tn_text_put(t, " ");
    tn_print_dict(t, dict->dict.pairs, dict->dict.n);
}

static void print_function(printer *p, const tn_function *f)
{
    tn_text *t = &p->text;
    uint32_t n_results = f->type->n_parts - f->type->n_inputs;
    tn_text_put(t, "  func.func %s @", f->is_public ? "public" : "private");
    tn_text_word(t, f->name);
    tn_text_put(t, "(");
    for (uint32_t i = 0; i < f->body.n_args; i++) {
        if (i) tn_text_put(t, ", ");
        print_arg(p, &f->body.args[i]);
        print_value_attrs(t, f->arg_attrs, i);
    }
    tn_text_put(t, ")");
    for (uint32_t i = 0; i < n_results; i++) {
        tn_text_put(t, i ? ", " : " -> (");
        tn_text_type(t, f->type->parts[f->type->n_inputs + i]);
        print_value_attrs(t, f->result_attrs, i);
    }
    if (n_results) tn_text_put(t, ")");
    if (f->n_attrs) {
        tn_text_put(t, " attributes ");
        tn_print_dict(t, f->attrs, f->n_attrs);
    }
    tn_text_put(t, " {\n");
    for (const tn_op *op = f->body.first; op; op = op->next) print_op(p, op, 4);
    tn_text_put(t, "  }\n");
}

char *tn_module_print(const tn_module *m, tn_arena *a, size_t *size)
{
    printer p = {.text = {.arena = a}, .capacity = 16};
    size_t n_values = 0;
    for (const tn_function *f = m->functions; f; f = f->next) n_values += count_values(&f->body);
    while (p.capacity < n_values * 2) p.capacity *= 2;
    p.names = TN_NEW_ARRAY(a, name, p.capacity);
    tn_text_put(&p.text, "module ");
    if (m->name && *m->name) {
        tn_text_put(&p.text, "@");
        tn_text_word(&p.text, m->name);
        tn_text_put(&p.text, " ");
    }
    if (m->n_attrs) {
        tn_text_put(&p.text, "attributes ");
        tn_print_dict(&p.text, m->attrs, m->n_attrs);
        tn_text_put(&p.text, " ");
    }
    tn_text_put(&p.text, "{\n");
    for (uint32_t i = 0; i < m->n_symbols; i++) print_op(&p, m->symbols[i], 2);
    for (const tn_function *f = m->functions; f; f = f->next) print_function(&p, f);
    tn_text_put(&p.text, "}\n");
    char *text = tn_text_end(&p.text);
    *size = p.text.size;
    return text;
}
