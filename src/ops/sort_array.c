/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/sort_array.h"

#include <string.h>

#include "kernels/sort_lines.h"

enum {
    ALONE = 1 << 15, /* elements that one thread sorts faster than several */
    LEAST = 1 << 13, /* elements of a range that is divided further by all threads */
    RANGES = 128,
    LEVELS = 12,
    SWAPPED = 1024 /* bytes at a time */
};

typedef struct {
    int64_t begin, end;
    uint64_t pivot;
    bool equal;       /* the pivot is the least: divide those that equal it from the others */
    bool sorted;      /* all the same */
    int64_t below[2]; /* of each part, once it is divided */
} range;

typedef struct {
    bool wide;
    char *x;
    tn_sorted_fn *sorted;
    void *ctx;
    int64_t n;
    range ranges[RANGES];
    int n_divided, divided[RANGES];
    int parts; /* of a range, by a thread each: 2, or 1 where ranges are enough for all threads */
} array;

static int64_t width(const array *a)
{
    return a->wide ? 8 : 4;
}

/* Where the second part begins. */
static int64_t middle(const array *a, const range *r)
{
    return a->parts == 1 ? r->end : r->begin + (r->end - r->begin) / 2;
}

static void find_pivots(void *ctx, int64_t begin, int64_t end)
{
    array *a = ctx;
    tn_isa isa = tn_cpu_isa();
    for (int64_t i = begin; i < end; i++) {
        range *r = &a->ranges[a->divided[i]];
        if (r->equal) continue;
        const void *x = a->x + r->begin * width(a);
        r->pivot = a->wide ? tn_sort_pivot_u64(isa, x, r->end - r->begin)
                           : tn_sort_pivot_u32(isa, x, r->end - r->begin);
    }
}

static void divide_parts(void *ctx, int64_t begin, int64_t end)
{
    array *a = ctx;
    tn_isa isa = tn_cpu_isa();
    for (int64_t i = begin; i < end; i++) {
        range *r = &a->ranges[a->divided[i / a->parts]];
        int64_t part = i % a->parts, from = part ? middle(a, r) : r->begin;
        int64_t n = (part ? r->end : middle(a, r)) - from;
        void *x = a->x + from * width(a);
        r->below[part] = a->wide ? tn_sort_divide_u64(isa, x, n, r->pivot, r->equal)
                                 : tn_sort_divide_u32(isa, x, n, (uint32_t)r->pivot, r->equal);
    }
}

static void swap_bytes(char *x, char *y, int64_t n)
{
    char t[SWAPPED];
    for (int64_t at = 0; at < n; at += SWAPPED) {
        size_t size = (size_t)(n - at < SWAPPED ? n - at : SWAPPED);
        memcpy(t, x + at, size);
        memcpy(x + at, y + at, size);
        memcpy(y + at, t, size);
    }
}

/* Above of the first half and below of the second change places, each call a half of them. */
static void join_halves(void *ctx, int64_t begin, int64_t end)
{
    array *a = ctx;
    for (int64_t i = begin; i < end; i++) {
        const range *r = &a->ranges[a->divided[i / 2]];
        int64_t above = middle(a, r) - r->begin - r->below[0], below = r->below[1];
        int64_t n = above < below ? above : below, part = n / 2;
        int64_t x = r->begin + r->below[0], y = middle(a, r) + below - n;
        if (i % 2) {
            x += part;
            y += part;
            part = n - part;
        }
        swap_bytes(a->x + x * width(a), a->x + y * width(a), part * width(a));
    }
}

/* Was the pivot not the least? Else those that equal it are next. */
static bool can_be_cut(const range *r)
{
    return r->equal || r->below[0] + r->below[1];
}

/* One more division of each range that is large enough. False if none was divided. */
static bool divide_ranges(array *a, tn_thread_pool *pool)
{
    int64_t elements = 0;
    a->n_divided = 0;
    for (int64_t i = 0; i < a->n; i++) {
        int64_t size = a->ranges[i].end - a->ranges[i].begin;
        if (a->ranges[i].sorted || size < 2 * LEAST) continue;
        a->divided[a->n_divided++] = (int)i;
        a->ranges[i].below[1] = 0;
        elements += size;
    }
    int64_t n = a->n_divided;
    if (!n) return false;
    double each = (double)elements / (double)n;
    a->parts = n % tn_thread_pool_size(pool) ? 2 : 1;
    tn_parallel_for(pool, n, 3000, find_pivots, a);
    tn_parallel_for(pool, a->parts * n, each * 0.3, divide_parts, a);
    if (a->parts == 2) tn_parallel_for(pool, 2 * n, each * 0.05, join_halves, a);
    /* In their order, so that a thread finds again what it has in its cache: from the last. */
    int64_t left = a->n, to = a->n;
    for (int64_t i = 0; i < n; i++) to += can_be_cut(&a->ranges[a->divided[i]]);
    a->n = to;
    for (int64_t i = n; i--;) {
        while (left > a->divided[i] + 1) a->ranges[--to] = a->ranges[--left];
        range r = a->ranges[--left];
        int64_t below = r.below[0] + r.below[1];
        if (can_be_cut(&r)) {
            a->ranges[--to] = (range){.begin = r.begin + below, .end = r.end};
            r.end = r.begin + below;
            r.sorted = r.equal;
            r.equal = false;
        } else {
            r.equal = true;
        }
        a->ranges[--to] = r;
    }
    return true;
}

static void sort_ranges(void *ctx, int64_t begin, int64_t end)
{
    const array *a = ctx;
    tn_isa isa = tn_cpu_isa();
    for (int64_t i = begin; i < end; i++) {
        const range *r = &a->ranges[i];
        void *x = a->x + r->begin * width(a);
        if (r->sorted) /* nothing to do */
            ;
        else if (a->wide) tn_sort_u64(isa, x, r->end - r->begin);
        else tn_sort_u32(isa, x, r->end - r->begin);
        if (a->sorted) a->sorted(a->ctx, r->begin, r->end);
    }
}

void tn_sort_array(tn_thread_pool *pool, bool wide, void *x, int64_t n, tn_sorted_fn *sorted,
                   void *ctx)
{
    array a = {.wide = wide, .x = x, .sorted = sorted, .ctx = ctx, .n = 1};
    a.ranges[0] = (range){.end = n};
    int64_t threads = tn_thread_pool_size(pool), wanted = 4 * threads;
    if (wanted > RANGES / 2) wanted = RANGES / 2;
    if (n > ALONE && threads > 1)
        for (int level = 0; level < LEVELS && a.n < wanted && divide_ranges(&a, pool); level++);
    tn_parallel_for(pool, a.n, 5.0 * (double)n / (double)a.n, sort_ranges, &a);
}
