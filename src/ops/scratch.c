/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "ops/ops.h"

struct tn_scratch_chunk {
    struct tn_scratch_chunk *next; /* older and smaller */
    size_t size, used;
};

#define HEADER ((sizeof(struct tn_scratch_chunk) + 63) & ~(size_t)63)

void *tn_scratch_alloc(tn_scratch *s, size_t size)
{
    if (size > SIZE_MAX / 4) return NULL;
    size = (size + 63) & ~(size_t)63;
    struct tn_scratch_chunk *c = s->chunks;
    if (!c || size > c->size - c->used) {
        size_t want = c ? c->size * 2 : 64u << 10;
        if (want < size) want = size;
        struct tn_scratch_chunk *fresh = aligned_alloc(64, HEADER + want);
        if (!fresh) return NULL;
        *fresh = (struct tn_scratch_chunk){.next = c, .size = want};
        s->chunks = c = fresh;
    }
    void *p = (char *)c + HEADER + c->used;
    c->used += size;
    return p;
}

/* Keeps the newest chunk alone: it is at least as large as all the older ones together. */
void tn_scratch_reset(tn_scratch *s)
{
    struct tn_scratch_chunk *c = s->chunks;
    if (!c) return;
    c->used = 0;
    tn_scratch rest = {c->next};
    c->next = NULL;
    tn_scratch_release(&rest);
}

void tn_scratch_release(tn_scratch *s)
{
    while (s->chunks) {
        struct tn_scratch_chunk *next = s->chunks->next;
        free(s->chunks);
        s->chunks = next;
    }
}

void tn_scratch_trim(tn_scratch *s, size_t bytes)
{
    tn_scratch_reset(s);
    if (s->chunks && s->chunks->size > bytes) tn_scratch_release(s);
}
