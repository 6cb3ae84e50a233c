/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/reader.h"

#include <inttypes.h>
#include <string.h>

#include "reader/container.h"
#include "reader/ir_reader.h"
#include "reader/location.h"

/* --- what the module's attributes say --- */

static tn_status *read_count(const tn_module *m, const char *key, uint32_t *out)
{
    for (uint32_t i = 0; i < m->n_attrs; i++) {
        const tn_attr *v = m->attrs[i].value;
        if (strcmp(m->attrs[i].key, key)) continue;
        if (v->kind != TN_ATTR_KIND_INT || v->integer < 1 || v->integer > INT32_MAX)
            return TN_ERROR(INVALID_ARGUMENT, "module attribute %s should be a positive number",
                            key);
        *out = (uint32_t)v->integer;
    }
    return NULL;
}

/* --- symbols --- */

static uint32_t hash(const char *s)
{
    uint32_t h = 2166136261u;
    for (; *s; s++) h = (h ^ (uint8_t)*s) * 16777619u;
    return h ^ h >> 15;
}

static tn_status *add_symbol(const char **slots, size_t mask, const char *name)
{
    size_t i = hash(name) & mask;
    for (; slots[i]; i = (i + 1) & mask)
        if (!strcmp(slots[i], name))
            return TN_ERROR(INVALID_ARGUMENT, "symbol %.200s is defined twice", name);
    slots[i] = name;
    return NULL;
}

static tn_status *check_symbols(const tn_module *m)
{
    size_t n = m->n_symbols, capacity = 16;
    for (const tn_function *f = m->functions; f; f = f->next) n++;
    while (capacity < n * 2) capacity *= 2;
    const char **slots = TN_NEW_ARRAY(m->arena, const char *, capacity);
    for (uint32_t i = 0; i < m->n_symbols; i++)
        TN_TRY(add_symbol(slots, capacity - 1, tn_op_string(m->symbols[i], TN_ATTR_sym_name)));
    for (const tn_function *f = m->functions; f; f = f->next)
        TN_TRY(add_symbol(slots, capacity - 1, f->name));
    return NULL;
}

static void find_main(tn_module *m)
{
    m->main = tn_module_find(m, "main");
    if (m->main) return;
    tn_function *found = NULL;
    for (tn_function *f = m->functions; f; f = f->next) {
        if (!f->is_public) continue;
        if (found) return;
        found = f;
    }
    m->main = found;
}

tn_status *tn_reader_finish(tn_module *m)
{
    TN_TRY(read_count(m, "mhlo.num_replicas", &m->num_replicas));
    TN_TRY(read_count(m, "mhlo.num_partitions", &m->num_partitions));
    TN_TRY(check_symbols(m));
    find_main(m);
    return NULL;
}

tn_status *tn_read_bytecode(const void *data, size_t size, tn_arena *a, tn_module **out)
{
    tn_bytecode *b = TN_NEW(a, tn_bytecode);
    TN_TRY(tn_bytecode_open(b, a, data, size));
    tn_module *m = tn_module_new(a);
    m->locator = tn_location_locator(a, b);
    TN_TRY(tn_ir_read(b, m));
    TN_TRY(tn_reader_finish(m));
    *out = m;
    return NULL;
}
