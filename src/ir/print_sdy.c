/* SPDX-License-Identifier: Apache-2.0 */
/* Shardy's attributes in Shardy's syntax. Nodes are as reader/reader.h lists them; one that is not
 * as it should be prints as nothing rather than wrongly, since passes may make them too. */
#include <inttypes.h>
#include <string.h>

#include "ir/print_attr.h"

static const tn_attr *item(const tn_attr *v, uint32_t i, tn_attr_kind kind)
{
    if (v->kind != TN_ATTR_KIND_LIST || i >= v->list.n || v->list.items[i]->kind != kind)
        return NULL;
    return v->list.items[i];
}

static bool has_tag(const tn_attr *v, const char *tag)
{
    return v->kind == TN_ATTR_KIND_LIST && v->list.tag && !strcmp(v->list.tag, tag);
}

/* Items with something between them. */
static void print_each(tn_text *t, const tn_attr *list, void (*print)(tn_text *, const tn_attr *))
{
    if (!list || list->kind != TN_ATTR_KIND_LIST) return;
    for (uint32_t i = 0; i < list->list.n; i++) {
        if (i) tn_text_put(t, ", ");
        print(t, list->list.items[i]);
    }
}

static void print_name(tn_text *t, const tn_attr *v)
{
    if (v && v->kind == TN_ATTR_KIND_STRING) tn_text_string(t, v->string.data, v->string.size);
}

/* "x" or "x":(2)4 */
static void print_axis(tn_text *t, const tn_attr *v)
{
    print_name(t, item(v, 0, TN_ATTR_KIND_STRING));
    const tn_attr *sub = item(v, 1, TN_ATTR_KIND_LIST);
    if (!sub) return;
    const tn_attr *before = item(sub, 0, TN_ATTR_KIND_INT), *size = item(sub, 1, TN_ATTR_KIND_INT);
    if (before && size) tn_text_put(t, ":(%" PRId64 ")%" PRId64, before->integer, size->integer);
}

static void print_axes(tn_text *t, const tn_attr *list)
{
    tn_text_put(t, "{");
    print_each(t, list, print_axis);
    tn_text_put(t, "}");
}

/* {"x", ?}p1 */
static void print_dimension(tn_text *t, const tn_attr *v)
{
    const tn_attr *axes = item(v, 0, TN_ATTR_KIND_LIST), *closed = item(v, 1, TN_ATTR_KIND_BOOL);
    const tn_attr *priority = item(v, 2, TN_ATTR_KIND_INT);
    tn_text_put(t, "{");
    print_each(t, axes, print_axis);
    if (closed && !closed->boolean) tn_text_put(t, axes && axes->list.n ? ", ?" : "?");
    tn_text_put(t, "}");
    if (priority) tn_text_put(t, "p%" PRId64, priority->integer);
}

static void print_mesh_axis(tn_text *t, const tn_attr *v)
{
    const tn_attr *size = item(v, 1, TN_ATTR_KIND_INT);
    print_name(t, item(v, 0, TN_ATTR_KIND_STRING));
    tn_text_put(t, "=%" PRId64, size ? size->integer : 0);
}

/* <["x"=2], device_ids=[1, 0]> */
static void print_mesh(tn_text *t, const tn_attr *v)
{
    const tn_attr *ids = item(v, 1, TN_ATTR_KIND_INTS);
    tn_text_put(t, "<[");
    print_each(t, item(v, 0, TN_ATTR_KIND_LIST), print_mesh_axis);
    tn_text_put(t, "]");
    if (ids && ids->ints.n) {
        tn_text_put(t, ", device_ids=");
        tn_text_numbers(t, ids->ints.data, ids->ints.n);
    }
    tn_text_put(t, ">");
}

/* <@mesh, [{"x"}, {}], replicated={"y"}> */
static void print_sharding(tn_text *t, const tn_attr *v)
{
    static const char *const sets[] = {", replicated=", ", unreduced="};
    const tn_attr *name = item(v, 0, TN_ATTR_KIND_STRING), *mesh = item(v, 0, TN_ATTR_KIND_LIST);
    tn_text_put(t, "<");
    if (name) {
        tn_text_put(t, "@");
        tn_text_word(t, name->string.data);
    } else if (mesh) {
        tn_text_put(t, "mesh");
        print_mesh(t, mesh);
    }
    tn_text_put(t, ", [");
    print_each(t, item(v, 1, TN_ATTR_KIND_LIST), print_dimension);
    tn_text_put(t, "]");
    for (uint32_t i = 0; i < 2; i++) {
        const tn_attr *axes = item(v, 2 + i, TN_ATTR_KIND_LIST);
        if (!axes || !axes->list.n) continue;
        tn_text_put(t, "%s", sets[i]);
        print_axes(t, axes);
    }
    tn_text_put(t, ">");
}

/* --- sharding rules: factors are the letters i, j, ... z, then z_1, z_2, ... --- */

static void print_factor(tn_text *t, int64_t i)
{
    if (i >= 0 && i < 18) tn_text_put(t, "%c", (char)('i' + i));
    else tn_text_put(t, "z_%" PRId64, i - 17);
}

static void print_factors(tn_text *t, const tn_attr *v)
{
    const tn_attr *factors = item(v, 0, TN_ATTR_KIND_INTS);
    for (uint32_t i = 0; factors && i < factors->ints.n; i++)
        print_factor(t, factors->ints.data[i]);
}

static void print_mapping(tn_text *t, const tn_attr *v)
{
    tn_text_put(t, "[");
    print_each(t, v, print_factors);
    tn_text_put(t, "]");
}

static void print_rule(tn_text *t, const tn_attr *v)
{
    static const char *const sets[] = {" reduction={", " need_replication={", " permutation={",
                                       " blocked_propagation={"};
    const tn_attr *sizes = item(v, 0, TN_ATTR_KIND_INTS), *custom = item(v, 7, TN_ATTR_KIND_BOOL);
    tn_text_put(t, "<(");
    print_each(t, item(v, 1, TN_ATTR_KIND_LIST), print_mapping);
    tn_text_put(t, ")->(");
    print_each(t, item(v, 2, TN_ATTR_KIND_LIST), print_mapping);
    tn_text_put(t, ") {");
    for (uint32_t i = 0; sizes && i < sizes->ints.n; i++) {
        if (i) tn_text_put(t, ", ");
        print_factor(t, i);
        tn_text_put(t, "=%" PRId64, sizes->ints.data[i]);
    }
    tn_text_put(t, "}");
    for (uint32_t s = 0; s < 4; s++) {
        const tn_attr *set = item(v, 3 + s, TN_ATTR_KIND_INTS);
        if (!set || !set->ints.n) continue;
        tn_text_put(t, "%s", sets[s]);
        for (uint32_t i = 0; i < set->ints.n; i++) {
            if (i) tn_text_put(t, ", ");
            print_factor(t, set->ints.data[i]);
        }
        tn_text_put(t, "}");
    }
    tn_text_put(t, "%s>", custom && custom->boolean ? ", custom" : "");
}

static void print_axis_list(tn_text *t, const tn_attr *v)
{
    print_axes(t, v);
}

bool tn_print_sdy(tn_text *t, const tn_attr *v)
{
    if (has_tag(v, "sdy.sharding")) {
        tn_text_put(t, "#sdy.sharding");
        print_sharding(t, v);
    } else if (has_tag(v, "sdy.sharding_per_value")) {
        tn_text_put(t, "#sdy.sharding_per_value<[");
        print_each(t, v, print_sharding);
        tn_text_put(t, "]>");
    } else if (has_tag(v, "sdy.mesh")) {
        tn_text_put(t, "#sdy.mesh");
        print_mesh(t, v);
    } else if (has_tag(v, "sdy.manual_axes")) {
        tn_text_put(t, "#sdy<manual_axes{");
        print_each(t, v, print_name);
        tn_text_put(t, "}>");
    } else if (has_tag(v, "sdy.axis_ref_list")) {
        tn_text_put(t, "#sdy<axis_ref_list");
        print_axes(t, v);
        tn_text_put(t, ">");
    } else if (has_tag(v, "sdy.list_of_axis_ref_lists")) {
        tn_text_put(t, "#sdy<list_of_axis_ref_lists[");
        print_each(t, v, print_axis_list);
        tn_text_put(t, "]>");
    } else if (has_tag(v, "sdy.op_sharding_rule")) {
        tn_text_put(t, "#sdy.op_sharding_rule");
        print_rule(t, v);
    } else {
        return false;
    }
    return true;
}
