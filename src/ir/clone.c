/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ir/ir.h"

/* Ops are copied before they stand in their function, so regions learn of it in the end. */
void tn_region_put_in(tn_region *r, tn_function *f)
{
    r->function = f;
    for (tn_op *op = r->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_regions; i++) tn_region_put_in(&op->regions[i], f);
}

void tn_region_copy(tn_module *m, const tn_region *from, tn_region *to, tn_function *f,
                    tn_value_map *map)
{
    for (const tn_op *op = from->first; op; op = op->next)
        tn_op_append(to, tn_op_clone(m, op, map));
    tn_region_put_in(to, f);
}

static uint32_t count_values(const tn_region *r)
{
    uint32_t n = r->n_args;
    for (const tn_op *op = r->first; op; op = op->next) {
        n += op->n_results;
        for (uint32_t i = 0; i < op->n_regions; i++) n += count_values(&op->regions[i]);
    }
    return n;
}

static tn_function *copy_function(tn_module *m, const tn_function *from)
{
    tn_function *f = tn_module_add_function(m, from->name, from->type);
    f->is_public = from->is_public;
    f->arg_attrs = from->arg_attrs;
    f->result_attrs = from->result_attrs;
    f->n_attrs = from->n_attrs;
    f->attrs = from->attrs;
    f->location = from->location;
    tn_region_init(m, &f->body, f, NULL, from->body.n_args);
    tn_value_map *map = tn_value_map_new(m->arena, count_values(&from->body));
    for (uint32_t i = 0; i < from->body.n_args; i++) {
        f->body.args[i].type = from->body.args[i].type;
        tn_value_map_set(map, &from->body.args[i], &f->body.args[i]);
    }
    tn_region_copy(m, &from->body, &f->body, f, map);
    return f;
}

tn_module *tn_module_copy(const tn_module *from, tn_arena *a)
{
    tn_module *m = tn_module_new(a);
    m->name = from->name;
    m->num_replicas = from->num_replicas;
    m->num_partitions = from->num_partitions;
    m->n_attrs = from->n_attrs;
    m->attrs = from->attrs;
    m->n_symbols = from->n_symbols;
    m->symbols = from->symbols;
    m->locator = from->locator;
    for (const tn_function *f = from->functions; f; f = f->next) {
        tn_function *copy = copy_function(m, f);
        if (f == from->main) m->main = copy;
    }
    return m;
}
