/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "executable/plan.h"

/* No address space is larger, and sums of two such sizes don't overflow. */
#define BYTES_AT_MOST (1ull << 60)
#define NO_BLOCK      UINT32_MAX
/* Free blocks are kept by size, 8 lists for each power of two, so that taking one is a matter of
 * constant time and wastes at most an eighth. */
#define SUBLISTS 8
#define LISTS    (64 * SUBLISTS)

/* Part of the temp block; together they cover it without gaps. */
typedef struct {
    size_t offset, size;
    uint32_t below, above;   /* neighbours in memory */
    uint32_t previous, next; /* in its list while it is free */
    bool is_free;
} block;

typedef struct {
    tn_arena *arena;
    block *blocks;
    uint32_t n_blocks, unused; /* unused: a list of records through `next` */
    uint32_t top;              /* the block at the end of memory */
    uint32_t lists[LISTS];
    uint64_t filled[LISTS / 64]; /* a bit for each list */
    size_t bytes;
} heap;

static unsigned list_of(size_t size)
{
    unsigned log = 63 - (unsigned)__builtin_clzll(size);
    return log * SUBLISTS + (unsigned)((size >> (log - 3)) & (SUBLISTS - 1));
}

static void put_free(heap *h, uint32_t b)
{
    unsigned l = list_of(h->blocks[b].size);
    h->blocks[b].is_free = true;
    h->blocks[b].previous = NO_BLOCK;
    h->blocks[b].next = h->lists[l];
    if (h->lists[l] != NO_BLOCK) h->blocks[h->lists[l]].previous = b;
    h->lists[l] = b;
    h->filled[l / 64] |= 1ull << l % 64;
}

static void take_free(heap *h, uint32_t b)
{
    block *x = &h->blocks[b];
    unsigned l = list_of(x->size);
    x->is_free = false;
    if (x->next != NO_BLOCK) h->blocks[x->next].previous = x->previous;
    if (x->previous != NO_BLOCK) h->blocks[x->previous].next = x->next;
    else h->lists[l] = x->next;
    if (h->lists[l] == NO_BLOCK) h->filled[l / 64] &= ~(1ull << l % 64);
}

static uint32_t find_free(const heap *h, size_t size)
{
    unsigned l = list_of(size);
    /* Of its own list a block may be too small. */
    uint32_t b = h->lists[l];
    for (int tries = 0; b != NO_BLOCK && tries < 8; tries++, b = h->blocks[b].next)
        if (h->blocks[b].size >= size) return b;
    for (unsigned from = l + 1; from < LISTS; from = (from / 64 + 1) * 64) {
        uint64_t bits = h->filled[from / 64] >> from % 64 << from % 64;
        if (bits) return h->lists[from / 64 * 64 + (unsigned)__builtin_ctzll(bits)];
    }
    return NO_BLOCK;
}

static uint32_t new_block(heap *h)
{
    if (h->unused == NO_BLOCK) return h->n_blocks++;
    uint32_t b = h->unused;
    h->unused = h->blocks[b].next;
    return b;
}

/* Cuts `b` to `size`, the rest becomes free. */
static void split(heap *h, uint32_t b, size_t size)
{
    if (h->blocks[b].size == size) return;
    uint32_t rest = new_block(h);
    block *x = &h->blocks[b];
    h->blocks[rest] =
        (block){.offset = x->offset + size, .size = x->size - size, .below = b, .above = x->above};
    if (x->above != NO_BLOCK) h->blocks[x->above].below = rest;
    else h->top = rest;
    x->above = rest;
    x->size = size;
    put_free(h, rest);
}

/* At the end of memory; what is free there already is used. */
static uint32_t extend(heap *h, size_t size)
{
    uint32_t b = h->top;
    if (b != NO_BLOCK && h->blocks[b].is_free) {
        take_free(h, b);
        h->bytes += size - h->blocks[b].size;
        h->blocks[b].size = size;
        return b;
    }
    uint32_t fresh = new_block(h);
    h->blocks[fresh] = (block){.offset = h->bytes, .size = size, .below = b, .above = NO_BLOCK};
    if (b != NO_BLOCK) h->blocks[b].above = fresh;
    h->top = fresh;
    h->bytes += size;
    return fresh;
}

static uint32_t allocate(heap *h, size_t size)
{
    size = (size + TN_PLAN_ALIGN - 1) & ~(size_t)(TN_PLAN_ALIGN - 1);
    uint32_t b = find_free(h, size);
    if (b == NO_BLOCK) return extend(h, size);
    take_free(h, b);
    split(h, b, size);
    return b;
}

static void absorb_above(heap *h, uint32_t b)
{
    uint32_t gone = h->blocks[b].above;
    h->blocks[b].size += h->blocks[gone].size;
    h->blocks[b].above = h->blocks[gone].above;
    if (h->blocks[b].above != NO_BLOCK) h->blocks[h->blocks[b].above].below = b;
    else h->top = b;
    h->blocks[gone].next = h->unused;
    h->unused = gone;
}

static void release(heap *h, uint32_t b)
{
    uint32_t above = h->blocks[b].above, below = h->blocks[b].below;
    if (above != NO_BLOCK && h->blocks[above].is_free) {
        take_free(h, above);
        absorb_above(h, b);
    }
    if (below != NO_BLOCK && h->blocks[below].is_free) {
        take_free(h, below);
        absorb_above(h, below);
        b = below;
    }
    put_free(h, b);
}

static tn_status *too_large(void)
{
    return TN_ERROR(RESOURCE_EXHAUSTED,
                    "the program needs more temporary memory than there are addresses");
}

static int by_start(const void *x, const void *y)
{
    const tn_life *a = x, *b = y;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->class < b->class ? -1 : a->class > b->class;
}

static int by_end(const void *x, const void *y)
{
    const tn_life *a = x, *b = y;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return a->class < b->class ? -1 : a->class > b->class;
}

tn_status *tn_plan_offsets(tn_plan *p)
{
    tn_life *starts = TN_NEW_ARRAY(p->arena, tn_life, p->n_roots);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_roots; i++) {
        const tn_class *c = &p->classes[i];
        if (c->merged != i || c->place != TN_PLACE_TEMP) continue;
        if (c->bytes > BYTES_AT_MOST) return too_large();
        starts[n++] =
            (tn_life){c->segments[0].start, c->segments[c->n_segments - 1].end, i, c->bytes};
    }
    tn_life *ends = tn_dup(p->arena, starts, n * sizeof *starts);
    qsort(starts, n, sizeof *starts, by_start);
    qsort(ends, n, sizeof *ends, by_end);

    heap h = {.arena = p->arena, .unused = NO_BLOCK, .top = NO_BLOCK};
    /* An allocation adds one block, and splitting another. */
    h.blocks = TN_NEW_ARRAY(p->arena, block, 2 * (size_t)n + 1);
    for (unsigned i = 0; i < LISTS; i++) h.lists[i] = NO_BLOCK;
    uint32_t *of_class = TN_NEW_ARRAY(p->arena, uint32_t, p->n_roots);
    for (uint32_t i = 0, done = 0; i < n; i++) {
        for (; ends[done].end < starts[i].start; done++) release(&h, of_class[ends[done].class]);
        uint32_t b = of_class[starts[i].class] = allocate(&h, p->classes[starts[i].class].bytes);
        p->classes[starts[i].class].offset = h.blocks[b].offset;
        if (h.bytes > BYTES_AT_MOST) return too_large();
    }
    p->temp_bytes = h.bytes;
    tn_plan_pack(p, starts, n);
    return NULL;
}
