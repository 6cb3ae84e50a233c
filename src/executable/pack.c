/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - a closer packing of the temp block than that of offsets.c, for programs that are not
 * too long: the largest first, each into the smallest gap, or, where the block would have to grow,
 * into the memory of results that is not in use yet, or no longer. Once more with those first that
 * no result has room for; the better of both counts. */
#include <stdlib.h>
#include <string.h>

#include "executable/plan.h"

enum { WORK_AT_MOST = 1 << 20 /* looks at what lies in a space */ };

typedef struct {
    size_t offset, end_offset;
    uint32_t start, end;
} content;

typedef struct {
    size_t size;       /* so far; of a result: all of it */
    uint32_t of;       /* the class of a result */
    content *contents; /* in the order of offsets */
    uint32_t n, capacity;
} space;

typedef struct {
    tn_plan *p;
    space block, *results;
    uint32_t n_results;
} packing;

static size_t rounded(size_t bytes)
{
    return (bytes + TN_PLAN_ALIGN - 1) & ~(size_t)(TN_PLAN_ALIGN - 1);
}

/* The smallest gap below s->size that has `size` bytes from `start` to `end`; SIZE_MAX: none.
 * *top is where the last one begins, which has no end. */
static size_t find_gap(const space *s, size_t size, uint32_t start, uint32_t end, size_t *top)
{
    size_t at = 0, best = SIZE_MAX, best_size = SIZE_MAX;
    for (uint32_t i = 0; i < s->n; i++) {
        const content *c = &s->contents[i];
        if (c->end < start || c->start > end) continue;
        if (c->offset >= at + size && c->offset - at < best_size)
            best = at, best_size = c->offset - at;
        if (c->end_offset > at) at = c->end_offset;
    }
    if (s->size >= at + size && s->size - at < best_size) best = at;
    *top = at;
    return best;
}

static void put(packing *k, space *s, size_t offset, size_t size, const tn_life *x)
{
    if (s->n == s->capacity) {
        s->capacity = s->capacity * 2 + 8;
        content *grown = TN_NEW_ARRAY(k->p->arena, content, s->capacity);
        if (s->n) memcpy(grown, s->contents, s->n * sizeof *grown);
        s->contents = grown;
    }
    uint32_t i = s->n++;
    for (; i > 0 && s->contents[i - 1].offset >= offset; i--) s->contents[i] = s->contents[i - 1];
    s->contents[i] = (content){offset, offset + size, x->start, x->end};
}

static bool is_in_use(const tn_class *c, uint32_t start, uint32_t end)
{
    for (uint32_t i = 0; i < c->n_segments; i++)
        if (c->segments[i].start <= end && c->segments[i].end >= start) return true;
    return false;
}

static bool fits_into(const packing *k, const space *s, const tn_life *x)
{
    return s->size >= rounded(x->size) && !is_in_use(&k->p->classes[s->of], x->start, x->end);
}

static bool put_into_result(packing *k, const tn_life *x, size_t size, tn_place_of *out)
{
    for (uint32_t i = 0; i < k->n_results; i++) {
        space *s = &k->results[i];
        const tn_class *of = &k->p->classes[s->of];
        size_t top;
        if (!fits_into(k, s, x)) continue;
        size_t at = find_gap(s, size, x->start, x->end, &top);
        if (at == SIZE_MAX) continue;
        put(k, s, at, size, x);
        *out = (tn_place_of){TN_PLACE_RESULT, of->index, at};
        return true;
    }
    return false;
}

/* What must be in the block comes first. */
typedef struct {
    tn_life life;
    bool fits; /* into a result */
} entry;

static int by_size(const void *x, const void *y)
{
    const tn_life *a = x, *b = y;
    bool fits = ((const entry *)x)->fits;
    if (fits != ((const entry *)y)->fits) return fits ? 1 : -1;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->class < b->class ? -1 : a->class > b->class;
}

static int smallest_first(const void *x, const void *y)
{
    const space *a = x, *b = y;
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    return a->of < b->of ? -1 : a->of > b->of;
}

/* Of a result that begins at no multiple of the alignment, or ends at none, the rest is left. */
static void find_results(packing *k)
{
    const tn_plan *p = k->p;
    k->results = TN_NEW_ARRAY(p->arena, space, p->n_roots);
    for (uint32_t i = 0; i < p->n_roots; i++) {
        const tn_class *c = &p->classes[i];
        if (c->merged != i || c->place != TN_PLACE_RESULT || c->bytes < TN_PLAN_ALIGN) continue;
        k->results[k->n_results++] =
            (space){.size = c->bytes & ~(size_t)(TN_PLAN_ALIGN - 1), .of = i};
    }
    qsort(k->results, k->n_results, sizeof *k->results, smallest_first);
}

static void pack(packing *k, const entry *order, uint32_t n)
{
    tn_plan *p = k->p;
    k->block.n = 0;
    k->block.size = 0;
    for (uint32_t i = 0; i < k->n_results; i++) k->results[i].n = 0;
    tn_place_of *places = TN_NEW_ARRAY(p->arena, tn_place_of, n);
    for (uint32_t i = 0; i < n; i++) {
        const tn_life *x = &order[i].life;
        size_t size = rounded(x->size), top;
        size_t at = find_gap(&k->block, size, x->start, x->end, &top);
        if (at == SIZE_MAX && put_into_result(k, x, size, &places[i])) continue;
        if (at == SIZE_MAX) at = top;
        if (at + size > k->block.size) k->block.size = at + size;
        put(k, &k->block, at, size, x);
        places[i] = (tn_place_of){TN_PLACE_TEMP, 0, at};
    }
    if (k->block.size >= p->temp_bytes) return;
    for (uint32_t i = 0; i < n; i++) {
        tn_class *c = &p->classes[order[i].life.class];
        c->place = places[i].place;
        c->index = places[i].index;
        c->offset = places[i].offset;
    }
    p->temp_bytes = k->block.size;
}

void tn_plan_pack(tn_plan *p, const tn_life *lives, uint32_t n)
{
    packing k = {.p = p};
    if (!n || (uint64_t)n * n > WORK_AT_MOST) return;
    find_results(&k);
    if ((uint64_t)n * k.n_results > WORK_AT_MOST) k.n_results = 0;
    entry *order = TN_NEW_ARRAY(p->arena, entry, n);
    for (uint32_t i = 0; i < n; i++) order[i].life = lives[i];
    qsort(order, n, sizeof *order, by_size);
    pack(&k, order, n);
    uint32_t n_fit = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t r = 0; r < k.n_results && !order[i].fits; r++)
            order[i].fits = fits_into(&k, &k.results[r], &order[i].life);
        n_fit += order[i].fits;
    }
    if (!n_fit || n_fit == n) return; /* the same order again */
    qsort(order, n, sizeof *order, by_size);
    pack(&k, order, n);
}
