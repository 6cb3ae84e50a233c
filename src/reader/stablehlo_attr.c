/* SPDX-License-Identifier: Apache-2.0 */
/* StableHLO's and CHLO's attributes, by their codes, as the nodes that the reader of text makes. */
#include <inttypes.h>
#include <string.h>

#include "reader/entries.h"
#include "reader/text_parser.h"

enum { KEYS = 9 };

static const struct {
    const char *tag, *fields; /* see tn_entry_read_fields; NULL: an enumeration */
    const char *keys[KEYS];   /* of the one DICT that the node holds; none: it holds the fields */
    uint8_t first, last;      /* of an enumeration */
} forms[] = {
    [1] = {"channel_handle", "ii", {"handle", "type"}, 0, 0},
    [2] = {"comparison_direction", NULL, {NULL}, 0, 5},
    [3] = {"comparison_type", NULL, {NULL}, 0, 4},
    [4] = {"conv",
           "iiIiiIiiI",
           {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions",
            "kernel_input_feature_dimension", "kernel_output_feature_dimension",
            "kernel_spatial_dimensions", "output_batch_dimension", "output_feature_dimension",
            "output_spatial_dimensions"},
           0,
           0},
    [5] = {"dot",
           "IIII",
           {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
            "rhs_contracting_dimensions"},
           0,
           0},
    [6] = {"fft_type", NULL, {NULL}, 0, 3},
    [7] = {"gather",
           "IIIIIi",
           {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
            "start_indices_batching_dims", "start_index_map", "index_vector_dim"},
           0,
           0},
    [8] = {"precision", NULL, {NULL}, 0, 2},
    [9] = {"rng_algorithm", NULL, {NULL}, 0, 2},
    [10] = {"rng_distribution", NULL, {NULL}, 1, 2},
    [11] = {"scatter",
            "IIIIIi",
            {"update_window_dims", "inserted_window_dims", "input_batching_dims",
             "scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "index_vector_dim"},
            0,
            0},
    [12] = {"transpose", NULL, {NULL}, 0, 3},
    [13] = {"bounds", "I", {NULL}, 0, 0},
    [14] = {"output_operand_alias", "IiI", {NULL}, 0, 0},
    [15] = {"dot_algorithm",
            "tttiiib",
            {"lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count",
             "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation"},
            0,
            0},
    [16] = {"result_accuracy_mode", NULL, {NULL}, 0, 2},
    [17] = {"result_accuracy", "ddia", {NULL}, 0, 0},
    [18] = {"replica_group_mesh_axes", "aL", {NULL}, 0, 0},
    [19] = {"sub_axis_info", "ii", {NULL}, 0, 0},
    [20] = {"axis_ref", "sB", {NULL}, 0, 0},
    [21] = {"mesh_axis", "si", {NULL}, 0, 0},
    [22] = {"mesh", "aB", {NULL}, 0, 0},
};

static const tn_attr *wrap(tn_bytecode *b, const char *tag, const tn_attr *item)
{
    const tn_attr **items;
    const tn_attr *list = tn_entry_list(b, tag, 1, &items);
    items[0] = item;
    return list;
}

tn_status *tn_stablehlo_read_attr(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    uint64_t code = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    if (code >= sizeof forms / sizeof *forms || !forms[code].tag)
        return tn_cursor_unsupported(c, "the stablehlo attribute of code %" PRIu64, code);
    const char *tag = forms[code].tag;
    if (!forms[code].fields)
        return tn_entry_read_enumeration(b, c, tag, forms[code].first, forms[code].last, out);
    TN_TRY(tn_entry_read_fields(b, c, tag, forms[code].fields, out));
    if (!forms[code].keys[0]) return NULL;
    const tn_attr *fields = *out;
    tn_named_attr *pairs = TN_NEW_ARRAY(b->arena, tn_named_attr, fields->list.n);
    for (uint32_t i = 0; i < fields->list.n; i++)
        pairs[i] = (tn_named_attr){forms[code].keys[i], fields->list.items[i]};
    tn_attr *dict = tn_entry_node_new(b, TN_ATTR_KIND_DICT);
    dict->dict.pairs = pairs;
    dict->dict.n = fields->list.n;
    *out = wrap(b, tag, dict);
    return NULL;
}

tn_status *tn_chlo_read_attr(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    uint64_t code = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    if (code > 1) return tn_cursor_unsupported(c, "the chlo attribute of code %" PRIu64, code);
    return code ? tn_entry_read_enumeration(b, c, "comparison_type", 0, 4, out)
                : tn_entry_read_enumeration(b, c, "comparison_direction", 0, 5, out);
}

tn_status *tn_chlo_read_text(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    size_t size;
    const tn_attr *v;
    const char *text = tn_cursor_text(c, &size);
    TN_TRY(tn_cursor_finish(c, "an attribute"));
    TN_ANNOTATE(tn_parse_attr_of(b->arena, text, size, &v), "attribute %.100s", text);
    /* Nodes of a file have room that those of text lack (entries.h), so what is a list is made
     * anew; what it holds is looked at by its readers alone. */
    bool known =
        v->kind == TN_ATTR_KIND_LIST && v->list.tag && v->list.n == 1 &&
        (v->list.items[0]->kind == TN_ATTR_KIND_DICT || v->list.items[0]->kind == TN_ATTR_KIND_INT);
    if (!known) return tn_cursor_unsupported(c, "attribute in assembly form, %.100s", text);
    *out = wrap(b, v->list.tag, v->list.items[0]);
    return NULL;
}
