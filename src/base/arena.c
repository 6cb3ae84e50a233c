/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <assert.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CHUNK (32u << 10)
#define LAST_CHUNK  (4u << 20)

typedef struct chunk {
    struct chunk *next;
    size_t size, used; /* of the bytes behind the header */
} chunk;

#define HEADER ((sizeof(chunk) + 63) & ~(size_t)63)

struct tn_arena {
    chunk *chunks; /* newest first */
    size_t next_size, bytes, limit;
    uint64_t fail_at;
    bool running;
    jmp_buf out_of_memory;
};

tn_arena *tn_arena_new(void)
{
    tn_arena *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    a->next_size = FIRST_CHUNK;
    a->limit = SIZE_MAX;
    return a;
}

void tn_arena_free(tn_arena *a)
{
    if (!a) return;
    for (chunk *c = a->chunks; c;) {
        chunk *next = c->next;
        free(c);
        c = next;
    }
    free(a);
}

/* A function of its own, so that setjmp sees no live locals of its caller. */
tn_status *tn_arena_run(tn_arena *a, tn_status *(*fn)(void *ctx), void *ctx)
{
    assert(!a->running);
    if (setjmp(a->out_of_memory)) {
        a->running = false;
        return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory after %zu bytes of compile-time data",
                        a->bytes);
    }
    a->running = true;
    tn_status *s = fn(ctx);
    a->running = false;
    return s;
}

static void give_up(tn_arena *a)
{
    assert(a->running && "arena allocation outside of tn_arena_run");
    longjmp(a->out_of_memory, 1);
}

void *tn_alloc_room(tn_arena *a, size_t size)
{
    if (a->fail_at && --a->fail_at == 0) give_up(a);
    if (size > a->limit || a->bytes > a->limit - size) give_up(a);
    size_t align = size >= 64 ? 64 : 16;
    chunk *c = a->chunks;
    size_t at = c ? (c->used + align - 1) & ~(align - 1) : 0;
    if (!c || at > c->size || size > c->size - at) {
        size_t want = size > a->next_size ? size : a->next_size;
        if (want > SIZE_MAX - HEADER - 64) give_up(a);
        size_t total = (HEADER + want + 63) & ~(size_t)63;
        c = aligned_alloc(64, total);
        if (!c) give_up(a);
        c->size = total - HEADER;
        c->used = 0;
        /* A chunk of its own for a large block: what is left of the current one stays in use. */
        if (size > a->next_size && a->chunks) {
            c->next = a->chunks->next;
            a->chunks->next = c;
        } else {
            c->next = a->chunks;
            a->chunks = c;
            if (a->next_size < LAST_CHUNK) a->next_size *= 2;
        }
        at = 0;
    }
    c->used = at + size;
    a->bytes += size;
    return (char *)c + HEADER + at;
}

void *tn_alloc(tn_arena *a, size_t size)
{
    return memset(tn_alloc_room(a, size), 0, size);
}

void *tn_alloc_array(tn_arena *a, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) give_up(a);
    return tn_alloc(a, total);
}

void *tn_dup(tn_arena *a, const void *data, size_t size)
{
    void *p = tn_alloc_room(a, size);
    if (size) memcpy(p, data, size);
    return p;
}

char *tn_strndup(tn_arena *a, const char *s, size_t n)
{
    char *p = tn_alloc_room(a, n + 1);
    if (n) memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *tn_strdup(tn_arena *a, const char *s)
{
    return tn_strndup(a, s, strlen(s));
}

char *tn_printf(tn_arena *a, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *p = tn_alloc(a, n < 0 ? 1 : (size_t)n + 1);
    if (n > 0) vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

size_t tn_arena_bytes(const tn_arena *a)
{
    return a->bytes;
}
void tn_arena_fail_at(tn_arena *a, uint64_t n)
{
    a->fail_at = n;
}
void tn_arena_limit(tn_arena *a, size_t bytes)
{
    a->limit = bytes;
}
