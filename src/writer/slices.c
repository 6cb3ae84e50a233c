/* SPDX-License-Identifier: Apache-2.0 */
#include "tenon/slices.h"

#include <stdlib.h>
#include <string.h>

#include "reader/reader.h"
#include "writer/writer.h"

typedef struct entry {
    tn_slice slice;
    struct entry *next, *same_hash;
} entry;

enum { BUCKETS = 4096 };

struct tn_slices {
    tn_arena *arena;
    const void *code;
    size_t size;
    entry *first, *last;
    const tn_slice **list;
    size_t n;
    entry *buckets[BUCKETS];
};

/* --- one op as a program --- */

/* The operand's stand-in among the arguments, made at its first use. */
typedef struct {
    tn_module *module;
    tn_value_map *map;
    const tn_value **outside; /* values of the program that become arguments, in order */
    uint32_t n, room;
} signature;

static void take_argument(signature *s, const tn_value *v)
{
    if (tn_value_map_get(s->map, v)) return;
    if (s->n == s->room) {
        uint32_t room = s->room ? s->room * 2 : 8;
        const tn_value **more = TN_NEW_ARRAY(s->module->arena, const tn_value *, room);
        if (s->n) memcpy(more, s->outside, s->n * sizeof *more);
        s->outside = more;
        s->room = room;
    }
    tn_value_map_set(s->map, v, (tn_value *)v); /* marks it as seen */
    s->outside[s->n++] = v;
}

static bool is_inside(const tn_value *v, const tn_op *op)
{
    for (const tn_region *r = v->region; r; r = r->parent ? r->parent->region : NULL)
        if (r->parent == op) return true;
    return false;
}

static void take_captures(signature *s, const tn_op *op, const tn_region *r)
{
    for (const tn_op *inner = r->first; inner; inner = inner->next) {
        for (uint32_t i = 0; i < inner->n_operands; i++)
            if (!is_inside(inner->operands[i], op)) take_argument(s, inner->operands[i]);
        for (uint32_t i = 0; i < inner->n_regions; i++) take_captures(s, op, &inner->regions[i]);
    }
}

static tn_module *module_of(tn_arena *a, const tn_op *op)
{
    tn_module *m = tn_module_new(a);
    signature s = {.module = m, .map = tn_value_map_new(a, 16)};
    for (uint32_t i = 0; i < op->n_operands; i++) take_argument(&s, op->operands[i]);
    for (uint32_t i = 0; i < op->n_regions; i++) take_captures(&s, op, &op->regions[i]);
    tn_type *t = TN_NEW(a, tn_type);
    const tn_type **parts = TN_NEW_ARRAY(a, const tn_type *, s.n + op->n_results);
    *t = (tn_type){
        .kind = TN_TYPE_FUNCTION, .n_inputs = s.n, .n_parts = s.n + op->n_results, .parts = parts};
    tn_function *f = tn_module_add_function(m, "main", t);
    f->is_public = true;
    m->main = f;
    tn_region_init(m, &f->body, f, NULL, s.n);
    for (uint32_t i = 0; i < s.n; i++) {
        parts[i] = f->body.args[i].type = s.outside[i]->type;
        tn_value_map_set(s.map, s.outside[i], &f->body.args[i]);
    }
    tn_op *copy = tn_op_clone(m, op, s.map);
    tn_op_append(&f->body, copy);
    tn_op *end = tn_op_new(m, TN_OP_return, op->n_results, 0, 0);
    for (uint32_t i = 0; i < op->n_results; i++) {
        parts[s.n + i] = copy->results[i].type;
        end->operands[i] = &copy->results[i];
    }
    tn_op_append(&f->body, end);
    return m;
}

static const char *form_of(tn_arena *a, const tn_op *op)
{
    const char *text = "(";
    for (uint32_t i = 0; i < op->n_operands; i++)
        text = tn_printf(a, "%s%s%s", text, i ? ", " : "", tn_type_text(a, op->operands[i]->type));
    text = tn_printf(a, "%s) -> %s", text, op->n_results == 1 ? "" : "(");
    for (uint32_t i = 0; i < op->n_results; i++)
        text = tn_printf(a, "%s%s%s", text, i ? ", " : "", tn_type_text(a, op->results[i].type));
    return op->n_results == 1 ? text : tn_printf(a, "%s)", text);
}

/* --- the program --- */

static void add(tn_slices *s, const tn_op *op, const void *code, size_t size)
{
    uint64_t h = 0xCBF29CE484222325u + (uint64_t)op->kind;
    for (size_t i = 0; i < size; i++) h = (h ^ ((const uint8_t *)code)[i]) * 0x100000001B3u;
    entry **bucket = &s->buckets[(h ^ h >> 32) % BUCKETS];
    const char *form = form_of(s->arena, op);
    for (entry *e = *bucket; e; e = e->same_hash)
        if (e->slice.op == tn_op_text(op) && e->slice.size == size &&
            !strcmp(e->slice.form, form) && (!size || !memcmp(e->slice.code, code, size))) {
            e->slice.count++;
            return;
        }
    entry *e = TN_NEW(s->arena, entry);
    *e = (entry){
        .slice = {tn_op_text(op), form, tn_strdup(s->arena, tn_op_location(op)), 1, code, size},
        .same_hash = *bucket};
    *bucket = e;
    if (s->last) s->last->next = e;
    else s->first = e;
    s->last = e;
    s->n++;
}

static tn_status *slice_region(tn_slices *s, const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (tn_op_has_trait(op, TN_TRAIT_CONTROL)) {
            for (uint32_t i = 0; i < op->n_regions; i++) TN_TRY(slice_region(s, &op->regions[i]));
            continue;
        }
        if (tn_op_has_trait(op, TN_TRAIT_TERMINATOR | TN_TRAIT_SYMBOL) || op->kind == TN_OP_cast)
            continue;
        const void *code = NULL;
        size_t size = 0;
        tn_status *status = tn_write_bytecode(module_of(s->arena, op), s->arena, &code, &size);
        if (status && tn_status_code(status) != TN_UNIMPLEMENTED) return status;
        tn_status_free(status);
        add(s, op, code, size);
    }
    return NULL;
}

static tn_status *slice(void *ctx)
{
    tn_slices *s = ctx;
    tn_module *m;
    TN_TRY(tn_read_bytecode(s->code, s->size, s->arena, &m));
    for (const tn_function *f = m->functions; f; f = f->next) TN_TRY(slice_region(s, &f->body));
    s->list = TN_NEW_ARRAY(s->arena, const tn_slice *, s->n);
    size_t i = 0;
    for (const entry *e = s->first; e; e = e->next) s->list[i++] = &e->slice;
    return NULL;
}

tn_status *tn_slices_make(const void *code, size_t size, tn_slices **out)
{
    tn_slices *s = calloc(1, sizeof *s);
    if (!s || !(s->arena = tn_arena_new())) {
        free(s);
        return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    }
    s->code = code;
    s->size = size;
    tn_status *status = tn_arena_run(s->arena, slice, s);
    if (status) tn_slices_free(s);
    else *out = s;
    return status;
}

void tn_slices_free(tn_slices *s)
{
    if (!s) return;
    tn_arena_free(s->arena);
    free(s);
}

size_t tn_slices_count(const tn_slices *s)
{
    return s->n;
}
const tn_slice *tn_slices_get(const tn_slices *s, size_t i)
{
    return s->list[i];
}
