/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes by the names of the text to those of ops.def. */
#include <inttypes.h>
#include <string.h>

#include "reader/op_names.h"
#include "reader/properties.h"
#include "reader/replica_groups.h"
#include "reader/text_parser.h"

static bool has_tag(const tn_attr *v, const char *tag)
{
    return v->kind == TN_ATTR_KIND_LIST && v->list.tag && !strcmp(v->list.tag, tag);
}

/* --- to the kinds of attrs.def --- */

/* Splats ask for much memory with few bytes: all together are bounded by the text's size. */
static tn_status *charge(tn_parser *p, const char *where, size_t bytes)
{
    size_t limit = (16u << 20) + (size_t)(p->end - p->begin) * 8;
    if (bytes > limit || p->expanded > limit - bytes)
        return tn_parse_error(p, where, "splats of integers expand to more than %zu bytes", limit);
    p->expanded += bytes;
    return NULL;
}

static int64_t integer_at(const tn_literal *v, size_t i)
{
    unsigned unit = tn_element_type_bytes(v->type->element);
    uint64_t bits = 0;
    memcpy(&bits, (const uint8_t *)v->data + (v->splat ? 0 : i) * unit, unit);
    if (tn_element_type_class(v->type->element) == TN_CLASS_UINT) return (int64_t)bits;
    uint64_t sign = UINT64_C(1) << (unit * 8 - 1);
    return (int64_t)((bits ^ sign) - sign);
}

/* Tensors and lists of integers to INTS, tensors of booleans to BOOLS; anything else stays. */
static tn_status *flatten(tn_parser *p, const char *where, const tn_attr *in, const tn_attr **out)
{
    *out = in;
    if (in->kind == TN_ATTR_KIND_LIST && !in->list.tag) {
        int64_t *data = TN_NEW_ARRAY(p->arena, int64_t, in->list.n);
        for (uint32_t i = 0; i < in->list.n; i++) {
            if (in->list.items[i]->kind != TN_ATTR_KIND_INT) return NULL;
            data[i] = in->list.items[i]->integer;
        }
        *out = tn_parse_ints_node(p, data, in->list.n, 1);
        return NULL;
    }
    if (in->kind != TN_ATTR_KIND_TENSOR) return NULL;
    const tn_literal *v = &in->tensor;
    bool booleans = v->type->element == TN_I1;
    if (v->type->rank > 2 || v->type->quantization ||
        !(booleans || tn_is_integer(v->type->element)))
        return NULL;
    size_t n = (size_t)tn_type_elements(v->type);
    if (n > UINT32_MAX) return tn_parse_error(p, where, "an attribute of %zu integers", n);
    if (v->splat) TN_TRY(charge(p, where, n * sizeof(int64_t)));
    if (booleans) {
        bool *data = TN_NEW_ARRAY(p->arena, bool, n);
        for (size_t i = 0; i < n; i++) data[i] = ((const uint8_t *)v->data)[v->splat ? 0 : i];
        tn_attr *x = tn_parse_node(p, TN_ATTR_KIND_BOOLS);
        x->bools.data = data;
        x->bools.n = (uint32_t)n;
        *out = x;
        return NULL;
    }
    int64_t *data = TN_NEW_ARRAY(p->arena, int64_t, n);
    for (size_t i = 0; i < n; i++) data[i] = integer_at(v, i);
    int64_t rows = v->type->rank == 2 ? v->type->dims[0] : 1;
    if (rows > UINT32_MAX)
        return tn_parse_error(p, where, "an attribute of %" PRId64 " rows", rows);
    *out = tn_parse_ints_node(p, data, (uint32_t)n, (uint32_t)rows);
    return NULL;
}

/* Depth is bounded by TN_PARSE_DEPTH. */
tn_status *tn_parse_plain(tn_parser *p, const char *where, const tn_attr *in, const tn_attr **out)
{
    *out = in;
    if (in->kind == TN_ATTR_KIND_TENSOR) return flatten(p, where, in, out);
    if (in->kind != TN_ATTR_KIND_LIST) return NULL;
    if (tn_property_is_enumeration(in)) {
        *out = in->list.items[0];
        return NULL;
    }
    tn_attr *copy = tn_parse_list_node(p, in->list.tag, in->list.n, in->list.items);
    const tn_attr **items = (const tn_attr **)(uintptr_t)copy->list.items;
    for (uint32_t i = 0; i < copy->list.n; i++)
        TN_TRY(tn_parse_plain(p, where, items[i], &items[i]));
    *out = copy;
    return NULL;
}

tn_status *tn_parse_convert(tn_parser *p, const char *where, tn_attr_name name, const tn_attr *in,
                            const tn_attr **out)
{
    const tn_property_target *want = &tn_property_targets[name];
    *out = in;
    if (has_tag(in, "unsupported"))
        return tn_parse_unsupported(p, where, "attribute %s: %s", tn_attr_name_text(name),
                                    in->list.items[0]->string.data);
    if (name == TN_ATTR_replica_groups && tn_replica_groups_by_axes(in))
        return tn_parse_plain(p, where, in, out); /* the mesh may stand further on */
    uint32_t rank = tn_property_rank(name);
    if (rank && in->kind == TN_ATTR_KIND_TENSOR && in->tensor.type->rank != rank)
        return tn_parse_error(p, where,
                              "attribute %s should have rank %" PRIu32 " and has %" PRIu32,
                              tn_attr_name_text(name), rank, in->tensor.type->rank);
    if (in->kind == TN_ATTR_KIND_UNIT && want->kind == TN_ATTR_KIND_BOOL)
        *out = tn_attr_bool(p->arena, true);
    if (want->enumeration && has_tag(in, want->enumeration)) *out = in->list.items[0];
    else if (want->enumeration && strcmp(want->enumeration, "api_version")) *out = NULL;
    else if (want->kind == TN_ATTR_KIND_INTS || want->kind == TN_ATTR_KIND_BOOLS)
        TN_TRY(flatten(p, where, in, out));
    else if (want->kind == TN_ATTR_KIND_LIST) TN_TRY(tn_parse_plain(p, where, in, out));
    /* No booleans and no integers look the same. */
    if (*out && want->kind == TN_ATTR_KIND_BOOLS && (*out)->kind == TN_ATTR_KIND_INTS &&
        !(*out)->ints.n)
        *out = tn_parse_node(p, TN_ATTR_KIND_BOOLS);
    if (*out && (*out)->kind == want->kind) return NULL;
    const char *got = tn_property_kind_texts[in->kind];
    if (in->kind == TN_ATTR_KIND_LIST && in->list.tag) got = in->list.tag;
    return tn_parse_error(
        p, where, "attribute %s should be %s and is %s", tn_attr_name_text(name),
        want->enumeration ? want->enumeration : tn_property_kind_texts[want->kind], got);
}

/* --- setting --- */

static int position(tn_op_kind kind, const char *key)
{
    const tn_op_info *info = &tn_op_infos[kind];
    for (uint32_t i = 0; i < info->n_attrs; i++)
        if (!strcmp(tn_attr_name_text(info->attrs[i]), key)) return (int)i;
    return -1;
}

static tn_status *set_position(tn_parser *p, tn_parse_op *o, const char *where, int i,
                               const tn_attr *value)
{
    tn_attr_name name = tn_op_infos[o->kind].attrs[i];
    const tn_attr *converted;
    bool none = value->kind == TN_ATTR_KIND_TYPE && value->type->kind == TN_TYPE_NONE;
    if (o->form && none) return NULL; /* how VHLO says that there is none */
    if (o->op->attrs[i])
        return tn_parse_error(p, where, "%s: attribute %s is given twice", tn_op_text(o->op),
                              tn_attr_name_text(name));
    TN_ANNOTATE(tn_parse_convert(p, where, name, value, &converted), "%s", tn_op_text(o->op));
    o->op->attrs[i] = converted;
    if (name == TN_ATTR_replica_groups && tn_replica_groups_by_axes(converted))
        tn_parse_push(p, &p->by_axes, o->op);
    return NULL;
}

/* The fields of an attribute that stands for several. */
static tn_status *spread(tn_parser *p, tn_parse_op *o, const char *where, const tn_attr *value)
{
    bool channel = has_tag(value, "channel_handle");
    const tn_attr *dict = value->list.items[0];
    for (uint32_t i = 0; i < dict->dict.n; i++) {
        const char *key = dict->dict.pairs[i].key;
        if (channel && !strcmp(key, "handle")) key = "channel_id";
        else if (channel && !strcmp(key, "type")) key = "channel_type";
        int at = position(o->kind, key);
        /* Only transfers know types of channels. */
        if (at < 0 && channel && !strcmp(key, "channel_type")) continue;
        if (at < 0)
            return tn_parse_error(p, where, "%s has no attribute %.100s", tn_op_text(o->op), key);
        TN_TRY(set_position(p, o, where, at, dict->dict.pairs[i].value));
    }
    return NULL;
}

static bool is_group(const char *key, const tn_attr *value)
{
    static const char *const keys[] = {"dot_dimension_numbers", "dimension_numbers",
                                       "scatter_dimension_numbers", "algorithm", "channel_handle"};
    static const char *const tags[] = {"dot",           "gather",         "scatter",
                                       "dot_algorithm", "channel_handle", "conv"};
    bool known = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) known |= !strcmp(keys[i], key);
    for (size_t i = 0; known && i < sizeof tags / sizeof *tags; i++)
        if (has_tag(value, tags[i])) return true;
    return false;
}

/* An attribute of an old version of the op that means nothing anymore. */
static bool is_dropped(const tn_parse_op *o, const char *key)
{
    for (uint32_t i = 0; o->form && i < o->form->n_wire; i++) {
        const tn_wire_attr *w = &o->form->wire[i];
        if (w->position < 0 && !strcmp(tn_attr_name_text((tn_attr_name)w->name), key)) return true;
    }
    return false;
}

tn_status *tn_parse_set(tn_parser *p, tn_parse_op *o, const char *where, const char *key,
                        const tn_attr *value, bool inherent)
{
    if (is_dropped(o, key)) return NULL;
    if (is_group(key, value)) return spread(p, o, where, value);
    int at = position(o->kind, key);
    if (at >= 0 && tn_op_infos[o->kind].attrs[at] == TN_ATTR_backend_config &&
        value->kind == TN_ATTR_KIND_DICT) {
        /* As bytecode's reader does it (properties.h). */
        tn_parse_push(p, &o->extra_keys, "mhlo.backend_config");
        tn_parse_push(p, &o->extra_values, value);
        value = tn_attr_string(p->arena, "", 0);
    }
    if (at >= 0) return set_position(p, o, where, at, value);
    if (inherent)
        return tn_parse_error(p, where, "%s has no attribute %.100s", tn_op_text(o->op), key);
    /* The printer writes a typed backend_config twice when other attributes stand beside it. */
    bool config = !strcmp(key, "mhlo.backend_config");
    for (uint32_t i = 0; config && i < o->extra_keys.n; i++)
        if (!strcmp(o->extra_keys.items[i], key)) return NULL;
    tn_parse_push(p, &o->extra_keys, key);
    tn_parse_push(p, &o->extra_values, value);
    return NULL;
}

tn_status *tn_parse_set_all(tn_parser *p, tn_parse_op *o, const char *where, const tn_attr *dict,
                            bool inherent)
{
    for (uint32_t i = 0; i < dict->dict.n; i++)
        TN_TRY(tn_parse_set(p, o, where, dict->dict.pairs[i].key, dict->dict.pairs[i].value,
                            inherent));
    return NULL;
}

void tn_parse_take_extra(tn_parser *p, const tn_parse_op *o)
{
    uint32_t n = o->extra_keys.n;
    tn_named_attr *extra = TN_NEW_ARRAY(p->arena, tn_named_attr, n);
    for (uint32_t i = 0; i < n; i++)
        extra[i] = (tn_named_attr){o->extra_keys.items[i], o->extra_values.items[i]};
    o->op->extra = extra;
    o->op->n_extra = n;
}

tn_status *tn_parse_op_dict(tn_parser *p, tn_parse_op *o)
{
    const tn_attr *dict;
    if (tn_parse_peek(p) != '{') return NULL;
    const char *where = p->at;
    TN_TRY(tn_parse_dict(p, &dict));
    return tn_parse_set_all(p, o, where, dict, false);
}

/* --- what is absent --- */

typedef enum {
    NEEDED,
    ABSENT,
    NO,
    ZERO,
    ONE,
    MINUS_ONE,
    NO_INTS,
    NO_ITEMS,
    NO_TEXT,
    NO_PAIRS,
    ACCURACY,
    PRECISIONS,
    ONES,
    ZERO_PAIRS,
    NOES
} default_kind;

static default_kind default_of(tn_op_kind op, tn_attr_name attr)
{
    static const uint8_t any[TN_ATTR_COUNT] = {
#define ANY(attr, value) [TN_ATTR_##attr] = value,
#include "reader/text_defaults.def"
    };
    static const struct {
        tn_op_kind op;
        tn_attr_name attr;
        default_kind value;
    } only[] = {
#define ONLY(op, attr, value) {TN_OP_##op, TN_ATTR_##attr, value},
#include "reader/text_defaults.def"
    };
    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (only[i].op == op && only[i].attr == attr) return only[i].value;
    return (default_kind)any[attr];
}

static uint32_t window_rank(const tn_op *op)
{
    uint32_t n;
    tn_op_ints(op, TN_ATTR_window_dimensions, &n);
    if (!n) tn_op_ints(op, TN_ATTR_input_spatial_dimensions, &n);
    return n;
}

static const tn_attr *filled(tn_parser *p, uint32_t n, int64_t value, uint32_t rows)
{
    int64_t *v = TN_NEW_ARRAY(p->arena, int64_t, n);
    for (uint32_t i = 0; i < n; i++) v[i] = value;
    return tn_parse_ints_node(p, v, n, rows);
}

static const tn_attr *make_default(tn_parser *p, const tn_op *op, default_kind kind)
{
    static const tn_attr zero = {.kind = TN_ATTR_KIND_INT},
                         one = {.kind = TN_ATTR_KIND_INT, .integer = 1},
                         minus_one = {.kind = TN_ATTR_KIND_INT, .integer = -1},
                         no = {.kind = TN_ATTR_KIND_BOOL},
                         no_ints = {.kind = TN_ATTR_KIND_INTS, .ints = {.rows = 1}},
                         no_items = {.kind = TN_ATTR_KIND_LIST},
                         no_text = {.kind = TN_ATTR_KIND_STRING, .string = {.data = ""}},
                         no_pairs = {.kind = TN_ATTR_KIND_DICT};
    uint32_t rank = window_rank(op);
    switch (kind) {
    case NEEDED:
    case ABSENT: break;
    case NO: return &no;
    case ZERO: return &zero;
    case ONE: return &one;
    case MINUS_ONE: return &minus_one;
    case NO_INTS: return &no_ints;
    case NO_ITEMS: return &no_items;
    case NO_TEXT: return &no_text;
    case NO_PAIRS: return &no_pairs;
    case ACCURACY: return &tn_default_accuracy;
    case PRECISIONS: return tn_parse_list_node(p, NULL, 2, (const tn_attr *const[]){&zero, &zero});
    case ONES: return filled(p, rank, 1, 1);
    case ZERO_PAIRS: return filled(p, rank * 2, 0, rank);
    case NOES: {
        tn_attr *x = tn_parse_node(p, TN_ATTR_KIND_BOOLS);
        x->bools.data = TN_NEW_ARRAY(p->arena, bool, rank);
        x->bools.n = rank;
        return x;
    }
    }
    return NULL;
}

tn_status *tn_parse_settle(tn_parser *p, tn_parse_op *o)
{
    const tn_op_info *info = &tn_op_infos[o->kind];
    for (uint32_t i = 0; i < info->n_attrs; i++) {
        if (o->op->attrs[i]) continue;
        default_kind kind = default_of(o->kind, info->attrs[i]);
        if (kind == NEEDED)
            return tn_parse_error(p, o->where, "%s lacks the attribute %s", info->text,
                                  tn_attr_name_text(info->attrs[i]));
        o->op->attrs[i] = make_default(p, o->op, kind);
    }
    return NULL;
}

/* --- replica groups --- */

static tn_status *find_mesh(tn_parser *p, const char *symbol, const tn_attr **out)
{
    const tn_module *m = p->module;
    *out = NULL;
    for (uint32_t i = 0; i < m->n_symbols; i++)
        if (!strcmp(tn_op_string(m->symbols[i], TN_ATTR_sym_name), symbol))
            *out = tn_op_attr(m->symbols[i], TN_ATTR_mesh);
    for (uint32_t i = p->declarations.n; i-- > 0 && !*out;) {
        const tn_parse_declaration *d = p->declarations.items[i];
        if (strcmp(d->name, symbol)) continue;
        const tn_attr *mesh = tn_attr_get(d->attrs, "stablehlo.mesh");
        if (!mesh) mesh = tn_attr_get(d->attrs, "mesh");
        if (mesh) TN_TRY(tn_parse_convert(p, p->at, TN_ATTR_mesh, mesh, out));
    }
    return NULL;
}

tn_status *tn_parse_expand_groups(tn_parser *p)
{
    tn_replica_groups_budget budget = {(size_t)(p->end - p->begin), &p->expanded};
    for (uint32_t i = 0; i < p->by_axes.n; i++) {
        tn_op *op = (tn_op *)(uintptr_t)p->by_axes.items[i];
        const tn_attr *axes = tn_op_attr(op, TN_ATTR_replica_groups), *mesh = NULL, *groups;
        const char *symbol = tn_replica_groups_symbol(axes);
        if (symbol) TN_TRY(find_mesh(p, symbol, &mesh));
        if (symbol && !mesh)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "replica groups over the mesh @%.100s, which is not defined",
                               symbol);
        TN_ANNOTATE(tn_replica_groups_expand(p->arena, axes, mesh, &budget, &groups), "%s",
                    tn_op_text(op));
        tn_op_set_attr(p->module, op, TN_ATTR_replica_groups, groups);
    }
    return NULL;
}
