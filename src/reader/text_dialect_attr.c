/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes with a dialect's own syntax. Those that stand for several attributes of an op become a
 * LIST tagged with their name that holds one DICT. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reader/text_parser.h"

/* --- enumerations --- */

static const struct {
    const char *table;
    int64_t value;
    const char *text;
} enum_names[] = {
#define X(table, value, name, text) {#table, value, text},
#include "ir/enums.def"
#undef X
    {"precision", 0, "DEFAULT"},
    {"precision", 1, "HIGH"},
    {"precision", 2, "HIGHEST"},
    {"result_accuracy_mode", 0, "DEFAULT"},
    {"result_accuracy_mode", 1, "HIGHEST"},
    {"result_accuracy_mode", 2, "TOLERANCE"}};

enum { N_NAMES = sizeof enum_names / sizeof *enum_names };

/* The table's own string, or NULL if there is none of that name. */
static const char *find_table(const char *s, size_t n)
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (tn_parse_is(s, n, enum_names[i].table)) return enum_names[i].table;
    return NULL;
}

tn_status *tn_parse_enum(tn_parser *p, const char *table, int64_t *out)
{
    const char *s, *where;
    size_t n;
    char what[64];
    tn_parse_peek(p);
    where = p->at;
    if (isdigit((unsigned char)tn_parse_peek(p)) || tn_parse_peek(p) == '-')
        return tn_parse_int(p, out); /* a value without a name, as the printer writes it */
    if (tn_parse_word(p, &s, &n))
        for (size_t i = 0; i < N_NAMES; i++)
            if (!strcmp(enum_names[i].table, table) && tn_parse_is(s, n, enum_names[i].text)) {
                *out = enum_names[i].value;
                return NULL;
            }
    p->at = where;
    snprintf(what, sizeof what, "a %s", table);
    return tn_parse_expected(p, what);
}

static tn_status *parse_enum_node(tn_parser *p, const char *table, const tn_attr **out)
{
    int64_t value;
    TN_TRY(tn_parse_enum(p, table, &value));
    const tn_attr *item = tn_attr_int(p->arena, value);
    *out = tn_parse_list_node(p, table, 1, &item);
    return tn_parse_expect(p, ">");
}

/* --- nodes of fields --- */

static tn_status *field(tn_parser *p, const char *where, const tn_attr *dict, const char *key,
                        tn_attr_kind kind, const tn_attr **out)
{
    *out = tn_attr_get(dict, key);
    if (*out && (*out)->kind == TN_ATTR_KIND_LIST && kind == TN_ATTR_KIND_INTS) {
        int64_t *v = TN_NEW_ARRAY(p->arena, int64_t, (*out)->list.n);
        for (uint32_t i = 0; i < (*out)->list.n; i++) {
            if ((*out)->list.items[i]->kind != TN_ATTR_KIND_INT)
                return tn_parse_error(p, where, "%s should hold integers", key);
            v[i] = (*out)->list.items[i]->integer;
        }
        *out = tn_parse_ints_node(p, v, (*out)->list.n, 1);
    }
    if (*out && (*out)->kind == kind) return NULL;
    return tn_parse_error(p, where, "%s is lacking or of the wrong kind", key);
}

/* VHLO writes the names of these fields in its own way. */
static tn_status *parse_alias(tn_parser *p, const tn_attr **out)
{
    static const struct {
        const char *key, *vhlo;
        tn_attr_kind kind;
    } fields[] = {{"output_tuple_indices", "outputTupleIndices", TN_ATTR_KIND_INTS},
                  {"operand_index", "operandIndex", TN_ATTR_KIND_INT},
                  {"operand_tuple_indices", "operandTupleIndices", TN_ATTR_KIND_INTS}};
    const tn_attr *dict, *items[3];
    const char *where = p->at;
    TN_TRY(tn_parse_fields(p, &dict));
    for (int i = 0; i < 3; i++) {
        const char *key = tn_attr_get(dict, fields[i].vhlo) ? fields[i].vhlo : fields[i].key;
        TN_TRY(field(p, where, dict, key, fields[i].kind, &items[i]));
    }
    *out = tn_parse_list_node(p, "output_operand_alias", 3, items);
    return NULL;
}

/* MLIR leaves out what is zero. */
static tn_status *parse_accuracy(tn_parser *p, const tn_attr **out)
{
    static const char *const keys[] = {"atol", "rtol", "ulps", "mode"};
    static const tn_attr zero_float = {.kind = TN_ATTR_KIND_FLOAT},
                         zero = {.kind = TN_ATTR_KIND_INT};
    const tn_attr *dict, *items[4];
    const char *where = p->at;
    TN_TRY(tn_parse_fields(p, &dict));
    for (int i = 0; i < 4; i++) {
        const tn_attr *v = tn_attr_get(dict, keys[i]);
        items[i] = i < 2 ? &zero_float : &zero;
        if (!v) continue;
        if (v->kind == TN_ATTR_KIND_LIST && v->list.tag && i == 3 &&
            !strcmp(v->list.tag, "result_accuracy_mode"))
            v = v->list.items[0];
        if (v->kind != items[i]->kind)
            return tn_parse_error(p, where, "%s of a result accuracy is of the wrong kind",
                                  keys[i]);
        tn_attr *x = tn_parse_node(p, v->kind);
        if (i < 2) x->real = v->real;
        else x->integer = v->integer;
        items[i] = x;
    }
    *out = tn_parse_list_node(p, "result_accuracy", 4, items);
    return NULL;
}

/* Meshes and their parts: a "?" before fields that may be absent. */
static const struct {
    const char *tag, *fields[2];
} mesh_nodes[] = {{"sub_axis_info", {"pre_size", "size"}},
                  {"axis_ref", {"name", "?sub_axis_info"}},
                  {"replica_group_mesh_axes", {"mesh", "axes"}},
                  {"mesh_axis", {"name", "size"}},
                  {"mesh", {"axes", "?device_ids"}}};

static tn_status *parse_mesh_node(tn_parser *p, size_t which, const tn_attr **out)
{
    const tn_attr *dict, *items[2];
    uint32_t n = 0;
    const char *where = p->at;
    TN_TRY(tn_parse_fields(p, &dict));
    for (int i = 0; i < 2; i++) {
        const char *key = mesh_nodes[which].fields[i];
        bool optional = *key == '?';
        items[n] = tn_attr_get(dict, key + optional);
        if (items[n]) n++;
        else if (!optional)
            return tn_parse_error(p, where, "a %s lacks its %s", mesh_nodes[which].tag, key);
    }
    *out = tn_parse_list_node(p, mesh_nodes[which].tag, n, items);
    return NULL;
}

/* --- dimension numbers of convolutions --- */

static const char *const conv_keys[3][3] = {
    {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
    {"kernel_input_feature_dimension", "kernel_output_feature_dimension",
     "kernel_spatial_dimensions"},
    {"output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"}};

/* [b, 0, f] into three pairs */
static tn_status *parse_side(tn_parser *p, int side, tn_named_attr *pairs)
{
    enum { MOST = 64 };
    static const char letters[3][2] = {{'b', 'f'}, {'i', 'o'}, {'b', 'f'}};
    int64_t place[2] = {-1, -1}, spatial[MOST];
    int64_t n = 0, n_spatial = 0;
    for (int i = 0; i < MOST; i++) spatial[i] = -1;
    TN_TRY(tn_parse_expect(p, "["));
    const char *where = p->at;
    do {
        char c = tn_parse_peek(p);
        int64_t d;
        if (c == letters[side][0] || c == letters[side][1]) {
            int which = c == letters[side][1];
            if (place[which] >= 0) return tn_parse_error(p, p->at, "dimension '%c' twice", c);
            place[which] = n;
            p->at++;
        } else if (c == '?') {
            return tn_parse_unsupported(p, p->at, "a convolution with a dimension '?'");
        } else {
            const char *at = p->at;
            TN_TRY(tn_parse_int(p, &d));
            if (d < 0 || d >= MOST || spatial[d] >= 0)
                return tn_parse_error(p, at,
                                      "spatial dimension %" PRId64 " is too large or given "
                                      "twice",
                                      d);
            spatial[d] = n;
            n_spatial++;
        }
        n++;
    } while (tn_parse_accept(p, ","));
    TN_TRY(tn_parse_expect(p, "]"));
    for (int64_t i = 0; i < n_spatial; i++)
        if (spatial[i] < 0)
            return tn_parse_error(p, where, "spatial dimension %" PRId64 " is lacking", i);
    if (place[0] < 0 || place[1] < 0)
        return tn_parse_error(p, where, "dimension '%c' is lacking",
                              letters[side][place[0] < 0 ? 0 : 1]);
    for (int i = 0; i < 2; i++)
        pairs[i] = (tn_named_attr){conv_keys[side][i], tn_attr_int(p->arena, place[i])};
    pairs[2] =
        (tn_named_attr){conv_keys[side][2], tn_attr_ints(p->arena, spatial, (uint32_t)n_spatial)};
    return NULL;
}

tn_status *tn_parse_conv(tn_parser *p, const tn_attr **out)
{
    tn_named_attr *pairs = TN_NEW_ARRAY(p->arena, tn_named_attr, 9);
    TN_TRY(parse_side(p, 0, pairs));
    if (tn_parse_peek(p) != 'x') return tn_parse_expected(p, "'x'");
    p->at++;
    TN_TRY(parse_side(p, 1, pairs + 3));
    TN_TRY(tn_parse_expect(p, "->"));
    TN_TRY(parse_side(p, 2, pairs + 6));
    tn_attr *x = tn_parse_node(p, TN_ATTR_KIND_DICT);
    x->dict.pairs = pairs;
    x->dict.n = 9;
    *out = x;
    return NULL;
}

/* <raw a = 0, ...> is the form that can say every set of numbers. */
static tn_status *parse_conv_node(tn_parser *p, const tn_attr **out)
{
    TN_TRY(tn_parse_expect(p, "<"));
    bool raw = tn_parse_accept(p, "raw");
    if (raw) TN_TRY(tn_parse_raw_fields(p, out));
    else TN_TRY(tn_parse_conv(p, out));
    *out = tn_parse_list_node(p, "conv", 1, out);
    return raw ? NULL : tn_parse_expect(p, ">");
}

/* --- by name --- */

static tn_status *parse_stablehlo(tn_parser *p, const char *where, const char *s, size_t n,
                                  const tn_attr **out)
{
    static const char *const groups[] = {"dot",           "gather",         "scatter",
                                         "dot_algorithm", "channel_handle", "ragged_dot"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (!tn_parse_is(s, n, groups[i])) continue;
        TN_TRY(tn_parse_fields(p, out));
        *out = tn_parse_list_node(p, groups[i], 1, out);
        return NULL;
    }
    for (size_t i = 0; i < sizeof mesh_nodes / sizeof *mesh_nodes; i++)
        if (tn_parse_is(s, n, mesh_nodes[i].tag)) return parse_mesh_node(p, i, out);
    if (tn_parse_is(s, n, "conv")) return parse_conv_node(p, out);
    if (tn_parse_is(s, n, "output_operand_alias")) return parse_alias(p, out);
    if (tn_parse_is(s, n, "result_accuracy")) return parse_accuracy(p, out);
    const char *table = find_table(s, n);
    if (table) {
        TN_TRY(tn_parse_expect(p, "<"));
        return parse_enum_node(p, table, out);
    }
    if (tn_parse_is(s, n, "bounds")) {
        const int64_t *bounds;
        uint32_t count;
        TN_TRY(tn_parse_bounds(p, &bounds, &count));
        const tn_attr *ints = tn_parse_ints_node(p, bounds, count, 1);
        *out = tn_parse_list_node(p, "bounds", 1, &ints);
        return NULL;
    }
    return tn_parse_unsupported(p, where, "attribute #stablehlo.%.*s is not supported",
                                (int)(n < 64 ? n : 64), s);
}

tn_status *tn_parse_stablehlo_attr(tn_parser *p, const char *where, const char *s, size_t n,
                                   bool bare, const tn_attr **out)
{
    const char *table = bare ? find_table(s, n) : NULL;
    if (table) return parse_enum_node(p, table, out);
    TN_TRY(parse_stablehlo(p, where, s, n, out));
    return bare ? tn_parse_expect(p, ">") : NULL;
}

tn_status *tn_parse_dialect_attr(tn_parser *p, const char *dialect, size_t n, const tn_attr **out)
{
    const char *dot = memchr(dialect, '.', n), *s, *where = dialect;
    size_t n_dialect = dot ? (size_t)(dot - dialect) : n;
    bool stablehlo =
        tn_parse_is(dialect, n_dialect, "stablehlo") || tn_parse_is(dialect, n_dialect, "chlo");
    bool sdy = tn_parse_is(dialect, n_dialect, "sdy");
    bool vhlo = tn_parse_is(dialect, n_dialect, "vhlo");
    if (vhlo && dot) return tn_parse_vhlo_attr(p, dot + 1, n - n_dialect - 1, false, out);
    if (stablehlo && dot) return parse_stablehlo(p, where, dot + 1, n - n_dialect - 1, out);
    if (sdy && dot) return tn_parse_sdy(p, dot + 1, n - n_dialect - 1, out);
    if (!dot && (stablehlo || sdy || vhlo)) {
        TN_TRY(tn_parse_expect(p, "<"));
        if (!tn_parse_word(p, &s, &n)) return tn_parse_expected(p, "the kind of an attribute");
        if (sdy) {
            TN_TRY(tn_parse_sdy(p, s, n, out));
            return tn_parse_expect(p, ">");
        }
        if (vhlo) return tn_parse_vhlo_attr(p, s, n, true, out);
        return tn_parse_stablehlo_attr(p, where, s, n, true, out);
    }
    /* Of another dialect: it may be discardable, so it only matters once somebody asks for it. */
    char why[128];
    snprintf(why, sizeof why, "attribute #%.*s is not supported", (int)(n < 64 ? n : 64), dialect);
    if (p->at < p->end && *p->at == '<') TN_TRY(tn_parse_skip_brackets(p));
    const tn_attr *item = tn_attr_string(p->arena, why, strlen(why));
    *out = tn_parse_list_node(p, "unsupported", 1, &item);
    return NULL;
}
