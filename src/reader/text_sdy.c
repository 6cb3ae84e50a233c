/* SPDX-License-Identifier: Apache-2.0 */
/* Shardy's attributes, as ir/print_sdy.c writes them; the nodes are those of reader.h. */
#include <inttypes.h>
#include <string.h>

#include "reader/text_parser.h"

typedef tn_status *parse_item(tn_parser *p, const tn_attr **out);

static const tn_attr *node_of(tn_parser *p, const char *tag, const tn_parse_list *items)
{
    return tn_parse_list_node(p, tag, items->n, (const tn_attr *const *)items->items);
}

/* Items between brackets, of which the opening one comes next. */
static tn_status *parse_items(tn_parser *p, const char *open, const char *close, const char *tag,
                              parse_item *parse, const tn_attr **out)
{
    tn_parse_list items = {0};
    TN_TRY(tn_parse_expect(p, open));
    while (!tn_parse_accept(p, close)) {
        const tn_attr *v;
        if (items.n) TN_TRY(tn_parse_expect(p, ","));
        TN_TRY(parse(p, &v));
        tn_parse_push(p, &items, v);
    }
    *out = node_of(p, tag, &items);
    return NULL;
}

static tn_status *parse_name(tn_parser *p, const tn_attr **out)
{
    const char *s;
    size_t n;
    TN_TRY(tn_parse_string(p, &s, &n));
    *out = tn_attr_string(p->arena, s, n);
    return NULL;
}

static tn_status *parse_int_node(tn_parser *p, const tn_attr **out)
{
    int64_t v;
    TN_TRY(tn_parse_int(p, &v));
    *out = tn_attr_int(p->arena, v);
    return NULL;
}

/* "x" or "x":(2)4 */
static tn_status *parse_axis(tn_parser *p, const tn_attr **out)
{
    tn_parse_list items = {0};
    const tn_attr *name, *part[2];
    TN_TRY(parse_name(p, &name));
    tn_parse_push(p, &items, name);
    if (tn_parse_accept(p, ":")) {
        TN_TRY(tn_parse_expect(p, "("));
        TN_TRY(parse_int_node(p, &part[0]));
        TN_TRY(tn_parse_expect(p, ")"));
        TN_TRY(parse_int_node(p, &part[1]));
        tn_parse_push(p, &items, tn_parse_list_node(p, "sdy.sub_axis_info", 2, part));
    }
    *out = node_of(p, "sdy.axis_ref", &items);
    return NULL;
}

static tn_status *parse_axes(tn_parser *p, const tn_attr **out)
{
    return parse_items(p, "{", "}", NULL, parse_axis, out);
}

static tn_status *parse_axis_list(tn_parser *p, const tn_attr **out)
{
    return parse_items(p, "{", "}", "sdy.axis_ref_list", parse_axis, out);
}

/* {"x", ?}p1 */
static tn_status *parse_dimension(tn_parser *p, const tn_attr **out)
{
    tn_parse_list axes = {0}, items = {0};
    bool closed = true;
    TN_TRY(tn_parse_expect(p, "{"));
    while (!tn_parse_accept(p, "}")) {
        const tn_attr *axis;
        if (axes.n) TN_TRY(tn_parse_expect(p, ","));
        if (tn_parse_accept(p, "?")) {
            closed = false;
            TN_TRY(tn_parse_expect(p, "}"));
            break;
        }
        TN_TRY(parse_axis(p, &axis));
        tn_parse_push(p, &axes, axis);
    }
    tn_parse_push(p, &items, node_of(p, NULL, &axes));
    tn_parse_push(p, &items, tn_attr_bool(p->arena, closed));
    if (p->at < p->end && *p->at == 'p') {
        const tn_attr *priority;
        p->at++;
        TN_TRY(parse_int_node(p, &priority));
        tn_parse_push(p, &items, priority);
    }
    *out = node_of(p, "sdy.dimension_sharding", &items);
    return NULL;
}

static tn_status *parse_mesh_axis(tn_parser *p, const tn_attr **out)
{
    const tn_attr *items[2];
    TN_TRY(parse_name(p, &items[0]));
    TN_TRY(tn_parse_expect(p, "="));
    TN_TRY(parse_int_node(p, &items[1]));
    *out = tn_parse_list_node(p, "sdy.mesh_axis", 2, items);
    return NULL;
}

/* <["x"=2], device_ids=[1, 0]> */
static tn_status *parse_mesh(tn_parser *p, const tn_attr **out)
{
    const tn_attr *items[2] = {NULL, tn_parse_ints_node(p, NULL, 0, 1)};
    TN_TRY(tn_parse_expect(p, "<"));
    TN_TRY(parse_items(p, "[", "]", NULL, parse_mesh_axis, &items[0]));
    if (tn_parse_accept(p, ",")) {
        TN_TRY(tn_parse_expect(p, "device_ids"));
        TN_TRY(tn_parse_expect(p, "="));
        TN_TRY(tn_parse_ints(p, &items[1]));
    }
    *out = tn_parse_list_node(p, "sdy.mesh", 2, items);
    return tn_parse_expect(p, ">");
}

/* <@mesh, [{"x"}, {}], replicated={"y"}> */
static tn_status *parse_sharding(tn_parser *p, const tn_attr **out)
{
    tn_parse_list none = {0};
    const tn_attr *items[4] = {NULL, NULL, node_of(p, NULL, &none), node_of(p, NULL, &none)};
    TN_TRY(tn_parse_expect(p, "<"));
    if (tn_parse_accept(p, "mesh")) {
        TN_TRY(parse_mesh(p, &items[0]));
    } else {
        const char *name;
        TN_TRY(tn_parse_symbol(p, &name));
        items[0] = tn_attr_string(p->arena, name, strlen(name));
    }
    TN_TRY(tn_parse_expect(p, ","));
    TN_TRY(parse_items(p, "[", "]", NULL, parse_dimension, &items[1]));
    while (tn_parse_accept(p, ",")) {
        bool replicated = tn_parse_accept(p, "replicated");
        if (!replicated && !tn_parse_accept(p, "unreduced"))
            return tn_parse_expected(p, "'replicated' or 'unreduced'");
        TN_TRY(tn_parse_expect(p, "="));
        TN_TRY(parse_axes(p, &items[replicated ? 2 : 3]));
    }
    *out = tn_parse_list_node(p, "sdy.sharding", 4, items);
    return tn_parse_expect(p, ">");
}

/* --- sharding rules --- */

/* i, j, ... z, z_1, z_2, ... by number */
static tn_status *parse_factor(tn_parser *p, int64_t *out)
{
    char c = tn_parse_peek(p);
    if (c < 'i' || c > 'z') return tn_parse_expected(p, "a factor");
    p->at++;
    *out = c - 'i';
    if (c != 'z' || p->at == p->end || *p->at != '_') return NULL;
    const char *where = ++p->at;
    TN_TRY(tn_parse_int(p, out));
    if (*out < 1 || *out > INT32_MAX) return tn_parse_error(p, where, "factor z_%" PRId64, *out);
    *out += 17;
    return NULL;
}

/* Factors one behind the other, up to a character that is none. */
static tn_status *parse_factors(tn_parser *p, const tn_attr **out)
{
    enum { MOST = 64 };
    int64_t v[MOST];
    uint32_t n = 0;
    for (char c = tn_parse_peek(p); c >= 'i' && c <= 'z'; c = tn_parse_peek(p)) {
        if (n == MOST) return tn_parse_error(p, p->at, "more than %d factors", MOST);
        TN_TRY(parse_factor(p, &v[n++]));
    }
    const tn_attr *ints = tn_attr_ints(p->arena, v, n);
    *out = tn_parse_list_node(p, "sdy.dim_mapping", 1, &ints);
    return NULL;
}

static tn_status *parse_mapping(tn_parser *p, const tn_attr **out)
{
    return parse_items(p, "[", "]", "sdy.tensor_mapping", parse_factors, out);
}

static tn_status *parse_factor_node(tn_parser *p, const tn_attr **out)
{
    int64_t v;
    TN_TRY(parse_factor(p, &v));
    *out = tn_attr_int(p->arena, v);
    return NULL;
}

/* i=4 */
static tn_status *parse_factor_size(tn_parser *p, const tn_attr **out)
{
    int64_t factor;
    TN_TRY(parse_factor(p, &factor));
    TN_TRY(tn_parse_expect(p, "="));
    return parse_int_node(p, out);
}

static const tn_attr *ints_of(tn_parser *p, const tn_attr *list)
{
    int64_t *v = TN_NEW_ARRAY(p->arena, int64_t, list->list.n);
    for (uint32_t i = 0; i < list->list.n; i++) v[i] = list->list.items[i]->integer;
    return tn_parse_ints_node(p, v, list->list.n, 1);
}

/* <([i, k],[k, j])->([i, j]) {i=2, j=3, k=4} reduction={k}, custom> */
static tn_status *parse_rule(tn_parser *p, const tn_attr **out)
{
    static const char *const sets[] = {"reduction", "need_replication", "permutation",
                                       "blocked_propagation"};
    const tn_attr *items[8];
    TN_TRY(tn_parse_expect(p, "<"));
    TN_TRY(parse_items(p, "(", ")", NULL, parse_mapping, &items[1]));
    TN_TRY(tn_parse_expect(p, "->"));
    TN_TRY(parse_items(p, "(", ")", NULL, parse_mapping, &items[2]));
    TN_TRY(parse_items(p, "{", "}", NULL, parse_factor_size, &items[0]));
    items[0] = ints_of(p, items[0]);
    for (int i = 0; i < 4; i++) {
        items[3 + i] = tn_parse_ints_node(p, NULL, 0, 1);
        if (!tn_parse_accept(p, sets[i])) continue;
        TN_TRY(tn_parse_expect(p, "="));
        TN_TRY(parse_items(p, "{", "}", NULL, parse_factor_node, &items[3 + i]));
        items[3 + i] = ints_of(p, items[3 + i]);
    }
    bool custom = tn_parse_accept(p, ",");
    if (custom) TN_TRY(tn_parse_expect(p, "custom"));
    items[7] = tn_attr_bool(p->arena, custom);
    *out = tn_parse_list_node(p, "sdy.op_sharding_rule", 8, items);
    return tn_parse_expect(p, ">");
}

/* --- by name --- */

tn_status *tn_parse_sdy(tn_parser *p, const char *kind, size_t n, const tn_attr **out)
{
    const char *where = kind;
    if (tn_parse_is(kind, n, "sharding")) return parse_sharding(p, out);
    if (tn_parse_is(kind, n, "mesh")) return parse_mesh(p, out);
    if (tn_parse_is(kind, n, "op_sharding_rule")) return parse_rule(p, out);
    if (tn_parse_is(kind, n, "sharding_per_value")) {
        TN_TRY(tn_parse_expect(p, "<"));
        TN_TRY(parse_items(p, "[", "]", "sdy.sharding_per_value", parse_sharding, out));
        return tn_parse_expect(p, ">");
    }
    /* The others stand in <...> behind #sdy alone, and as they are in the forms of ops. */
    if (tn_parse_is(kind, n, "shardings"))
        return parse_items(p, "[", "]", "sdy.sharding_per_value", parse_sharding, out);
    if (tn_parse_is(kind, n, "manual_axes"))
        return parse_items(p, "{", "}", "sdy.manual_axes", parse_name, out);
    if (tn_parse_is(kind, n, "axis_ref_list")) return parse_axis_list(p, out);
    if (tn_parse_is(kind, n, "list_of_axis_ref_lists"))
        return parse_items(p, "[", "]", "sdy.list_of_axis_ref_lists", parse_axis_list, out);
    return tn_parse_unsupported(p, where, "attribute #sdy.%.*s is not supported",
                                (int)(n < 64 ? n : 64), kind);
}
