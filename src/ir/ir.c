/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A module and the first function of each name, by the name's hash in open addressing. */
typedef struct {
    tn_module module; /* first */
    tn_function **named;
    uint32_t n_named, size;
} indexed_module;

tn_module *tn_module_new(tn_arena *a)
{
    tn_module *m = &TN_NEW(a, indexed_module)->module;
    m->arena = a;
    m->name = "";
    m->num_replicas = m->num_partitions = 1;
    return m;
}

/* FNV-1a */
static uint32_t hash_of_name(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 16777619u;
    return h ^ h >> 15;
}

/* Where the function of this name stands, or would. */
static tn_function **slot_of_name(const indexed_module *m, const char *name)
{
    uint32_t mask = m->size - 1, i = hash_of_name(name) & mask;
    while (m->named[i] && strcmp(m->named[i]->name, name)) i = (i + 1) & mask;
    return &m->named[i];
}

static void add_name(indexed_module *m, tn_function *f)
{
    tn_function **slot = slot_of_name(m, f->name);
    if (*slot) return;
    *slot = f;
    m->n_named++;
}

void tn_module_index_functions(tn_module *module)
{
    indexed_module *m = (indexed_module *)module;
    uint32_t n = 0, size = 16;
    for (tn_function *f = module->functions; f; f = f->next) n++;
    while (size < 4 * n) size *= 2;
    m->named = TN_NEW_ARRAY(module->arena, tn_function *, size);
    m->size = size;
    m->n_named = 0;
    for (tn_function *f = module->functions; f; f = f->next) add_name(m, f);
}

tn_function *tn_module_add_function(tn_module *m, const char *name, const tn_type *type)
{
    indexed_module *index = (indexed_module *)m;
    tn_function *f = TN_NEW(m->arena, tn_function);
    f->module = m;
    f->name = name;
    f->type = type;
    f->body.function = f;
    if (m->last_function) m->last_function->next = f;
    else m->functions = f;
    m->last_function = f;
    if (2 * (index->n_named + 1) > index->size) tn_module_index_functions(m);
    else add_name(index, f);
    return f;
}

tn_function *tn_module_find(const tn_module *m, const char *name)
{
    const indexed_module *index = (const indexed_module *)m;
    return index->size ? *slot_of_name(index, name) : NULL;
}

static void number_region(tn_module *m, tn_region *r)
{
    for (uint32_t i = 0; i < r->n_args; i++) r->args[i].id = m->n_values++;
    for (tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_results; i++) op->results[i].id = m->n_values++;
        for (uint32_t i = 0; i < op->n_regions; i++) number_region(m, &op->regions[i]);
    }
}

void tn_module_number(tn_module *m)
{
    m->n_values = 0;
    for (tn_function *f = m->functions; f; f = f->next) number_region(m, &f->body);
}

static void resolve_region(tn_region *r)
{
    for (tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_operands; i++)
            op->operands[i] = tn_value_resolve(op->operands[i]);
        for (uint32_t i = 0; i < op->n_regions; i++) resolve_region(&op->regions[i]);
    }
}

void tn_module_resolve(tn_module *m)
{
    for (tn_function *f = m->functions; f; f = f->next) resolve_region(&f->body);
}

void tn_region_init(tn_module *m, tn_region *r, tn_function *f, tn_op *parent, uint32_t n_args)
{
    *r = (tn_region){.function = f, .parent = parent, .n_args = n_args};
    r->args = TN_NEW_ARRAY(m->arena, tn_value, n_args);
    for (uint32_t i = 0; i < n_args; i++) r->args[i] = (tn_value){.region = r, .index = i};
}

tn_op *tn_op_new(tn_module *m, tn_op_kind kind, uint32_t n_operands, uint32_t n_results,
                 uint32_t n_regions)
{
    uint32_t n_attrs = tn_op_infos[kind].n_attrs;
    /* One block: a walk over a region reads an op and what it has in order. */
    size_t operands = n_operands * sizeof(tn_value *), results = n_results * sizeof(tn_value);
    size_t attrs = n_attrs * sizeof(tn_attr *), regions = n_regions * sizeof(tn_region);
    tn_op *op = tn_alloc(m->arena, sizeof *op + operands + results + attrs + regions);
    char *at = (char *)(op + 1);
    op->kind = kind;
    op->n_operands = n_operands;
    op->n_results = n_results;
    op->n_regions = n_regions;
    op->n_attrs = n_attrs;
    op->operands = (tn_value **)at;
    op->results = (tn_value *)(at += operands);
    op->attrs = (const tn_attr **)(at += results);
    op->regions = (tn_region *)(at + attrs);
    m->kinds[kind / 64] |= UINT64_C(1) << kind % 64;
    for (uint32_t i = 0; i < n_results; i++) op->results[i] = (tn_value){.op = op, .index = i};
    for (uint32_t i = 0; i < n_regions; i++) op->regions[i].parent = op;
    return op;
}

static void adopt(tn_region *r, tn_op *op)
{
    op->region = r;
    for (uint32_t i = 0; i < op->n_results; i++) op->results[i].region = r;
    for (uint32_t i = 0; i < op->n_regions; i++) op->regions[i].function = r->function;
}

void tn_op_append(tn_region *r, tn_op *op)
{
    adopt(r, op);
    op->prev = r->last;
    op->next = NULL;
    if (r->last) r->last->next = op;
    else r->first = op;
    r->last = op;
}

void tn_op_insert_before(tn_op *where, tn_op *op)
{
    adopt(where->region, op);
    op->prev = where->prev;
    op->next = where;
    if (where->prev) where->prev->next = op;
    else where->region->first = op;
    where->prev = op;
}

void tn_op_remove(tn_op *op)
{
    tn_region *r = op->region;
    if (op->prev) op->prev->next = op->next;
    else r->first = op->next;
    if (op->next) op->next->prev = op->prev;
    else r->last = op->prev;
    op->prev = op->next = NULL;
    op->region = NULL;
}

void tn_value_replace(tn_value *old, tn_value *by)
{
    by = tn_value_resolve(by);
    if (by != old) old->forward = by;
}

/* --- value map: open addressing, doubles at half full --- */

struct tn_value_map {
    tn_arena *arena;
    size_t capacity, used; /* capacity is a power of two */
    const tn_value **keys;
    tn_value **values;
};

static size_t slot_of(const tn_value_map *m, const tn_value *key)
{
    size_t i = ((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u;
    i ^= i >> 29;
    for (i &= m->capacity - 1; m->keys[i] && m->keys[i] != key; i = (i + 1) & (m->capacity - 1)) {}
    return i;
}

static void map_allocate(tn_value_map *m, size_t capacity)
{
    m->capacity = capacity;
    m->keys = TN_NEW_ARRAY(m->arena, const tn_value *, capacity);
    m->values = TN_NEW_ARRAY(m->arena, tn_value *, capacity);
}

tn_value_map *tn_value_map_new(tn_arena *a, size_t expected)
{
    tn_value_map *m = TN_NEW(a, tn_value_map);
    m->arena = a;
    size_t capacity = 16;
    while (capacity < expected * 2) capacity *= 2;
    map_allocate(m, capacity);
    return m;
}

void tn_value_map_set(tn_value_map *m, const tn_value *from, tn_value *to)
{
    if (m->used * 2 >= m->capacity) {
        tn_value_map old = *m;
        map_allocate(m, old.capacity * 2);
        for (size_t i = 0; i < old.capacity; i++) {
            if (!old.keys[i]) continue;
            size_t j = slot_of(m, old.keys[i]);
            m->keys[j] = old.keys[i];
            m->values[j] = old.values[i];
        }
    }
    size_t i = slot_of(m, from);
    if (!m->keys[i]) m->used++;
    m->keys[i] = from;
    m->values[i] = to;
}

tn_value *tn_value_map_get(const tn_value_map *m, const tn_value *from)
{
    return m->values[slot_of(m, from)];
}

tn_op *tn_op_clone(tn_module *m, const tn_op *op, tn_value_map *map)
{
    tn_op *copy = tn_op_new(m, op->kind, op->n_operands, op->n_results, op->n_regions);
    copy->location = op->location;
    copy->n_extra = op->n_extra;
    copy->extra = op->extra;
    memcpy(copy->attrs, op->attrs, op->n_attrs * sizeof *op->attrs);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        tn_value *v = tn_value_resolve(op->operands[i]), *to = tn_value_map_get(map, v);
        copy->operands[i] = to ? to : v;
    }
    for (uint32_t i = 0; i < op->n_results; i++) {
        copy->results[i].type = op->results[i].type;
        tn_value_map_set(map, &op->results[i], &copy->results[i]);
    }
    for (uint32_t i = 0; i < op->n_regions; i++) {
        const tn_region *from = &op->regions[i];
        tn_region *to = &copy->regions[i];
        tn_region_init(m, to, from->function, copy, from->n_args);
        for (uint32_t j = 0; j < from->n_args; j++) {
            to->args[j].type = from->args[j].type;
            tn_value_map_set(map, &from->args[j], &to->args[j]);
        }
        for (const tn_op *inner = from->first; inner; inner = inner->next)
            tn_op_append(to, tn_op_clone(m, inner, map));
    }
    return copy;
}

const char *tn_op_location(const tn_op *op)
{
    const tn_function *f = op->region ? op->region->function : NULL;
    const tn_module *m = f ? f->module : NULL;
    if (!m || !m->locator) return "";
    const char *text = m->locator->text(m->locator, m->arena, op->location);
    return text ? text : "";
}

tn_status *tn_op_error(tn_code code, const char *file, int line, const tn_op *op, const char *fmt,
                       ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0) text = NULL;
    va_end(args);
    const char *where = tn_op_location(op);
    tn_status *s =
        tn_status_make(code, file, line, "%s%s%s%s: %s", tn_op_text(op), *where ? " (at " : "",
                       where, *where ? ")" : "", text ? text : fmt);
    free(text);
    return s;
}
