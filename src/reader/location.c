/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/location.h"

#include <inttypes.h>
#include <string.h>

enum {
    CODE_STRING = 2,
    CODE_CALL_SITE = 10,
    CODE_FILE_LINE_COL = 11,
    CODE_FUSED = 12,
    CODE_FUSED_WITH_METADATA = 13,
    CODE_NAME = 14,
    CODE_FILE_RANGE = 22
};

typedef struct {
    tn_locator base;
    const tn_bytecode *b;
} file_locator;

typedef struct {
    const char *file;
    uint64_t line, column;
} frame;

/* Locations form chains of hundreds of call sites, so they are walked with a stack of places to go
 * on from. Bytes are read again each time: no state is shared between threads. */
enum { STACK = 64, STEPS = 4096 };

typedef struct {
    const tn_bytecode *b;
    const char *name; /* the outermost: the op's own */
    frame first;      /* innermost of all */
    uint64_t stack[STACK];
    unsigned depth;
} walk;

/* Opens a binary builtin entry and reads its code. */
static bool open(const tn_bytecode *b, uint64_t index, tn_cursor *c, uint64_t *code)
{
    if (index >= b->n_attrs) return false;
    const tn_bytecode_entry *e = &b->attrs[index];
    if (!e->binary || e->dialect != TN_DIALECT_BUILTIN) return false;
    *c = tn_cursor_make(b->file, e->data, e->size);
    *code = tn_cursor_varint(c);
    return !c->expected;
}

static const char *string_at(const tn_bytecode *b, uint64_t index)
{
    tn_cursor c;
    uint64_t code;
    if (!open(b, index, &c, &code) || code != CODE_STRING) return NULL;
    uint64_t i = tn_cursor_varint(&c);
    return !c.expected && i < b->n_strings ? b->strings[i].data : NULL;
}

static void push(walk *w, uint64_t index)
{
    if (w->depth < STACK) w->stack[w->depth++] = index;
}

static void push_fused(walk *w, tn_cursor *c)
{
    uint64_t items[STACK];
    size_t n = tn_cursor_count(c), kept = n < STACK ? n : STACK;
    for (size_t i = 0; i < kept; i++) items[i] = tn_cursor_varint(c);
    if (c->expected) return;
    while (kept-- > 0) push(w, items[kept]);
}

static bool read_file(const tn_bytecode *b, tn_cursor *c, bool range, frame *out)
{
    out->file = string_at(b, tn_cursor_varint(c));
    uint64_t n = range ? tn_cursor_count(c) : 2;
    out->line = n > 0 ? tn_cursor_varint(c) : 0;
    out->column = n > 1 ? tn_cursor_varint(c) : 0;
    return out->file && !c->expected;
}

static bool is_library(const char *file)
{
    return strstr(file, "/site-packages/") || strstr(file, "/dist-packages/");
}

/* The innermost frame outside of installed packages, else the innermost one. */
static bool find_frame(walk *w, uint64_t index, frame *out)
{
    push(w, index);
    for (int step = 0; w->depth && step < STEPS; step++) {
        tn_cursor c;
        uint64_t code, inner, outer;
        if (!open(w->b, w->stack[--w->depth], &c, &code)) continue;
        switch (code) {
        case CODE_CALL_SITE:
            inner = tn_cursor_varint(&c);
            outer = tn_cursor_varint(&c);
            push(w, outer);
            push(w, inner);
            break;
        case CODE_NAME:
            outer = tn_cursor_varint(&c);
            inner = tn_cursor_varint(&c);
            if (!w->name) w->name = string_at(w->b, outer);
            push(w, inner);
            break;
        case CODE_FUSED:
        case CODE_FUSED_WITH_METADATA: push_fused(w, &c); break;
        case CODE_FILE_LINE_COL:
        case CODE_FILE_RANGE:
            if (!read_file(w->b, &c, code == CODE_FILE_RANGE, out)) break;
            if (!is_library(out->file)) return true;
            if (!w->first.file) w->first = *out;
            break;
        default: break;
        }
    }
    *out = w->first;
    return out->file != NULL;
}

static const char *text(const tn_locator *l, tn_arena *a, uint32_t location)
{
    walk w = {.b = ((const file_locator *)l)->b};
    frame f;
    if (!location) return NULL;
    if (!find_frame(&w, location - 1, &f)) return w.name ? tn_printf(a, "%.300s", w.name) : NULL;
    char *place = tn_printf(a, "%.500s:%" PRIu64 ":%" PRIu64, f.file, f.line, f.column);
    return w.name ? tn_printf(a, "%s (%.300s)", place, w.name) : place;
}

const tn_locator *tn_location_locator(tn_arena *a, const tn_bytecode *b)
{
    file_locator *l = TN_NEW(a, file_locator);
    *l = (file_locator){.base = {.text = text}, .b = b};
    return &l->base;
}
