/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/pool.h"

#include <assert.h>

#include "runtime/storage.h"

enum { SMALL = 1024, STEP = 64, STEPS_LOG2 = 4 };

unsigned tn_pool_class(size_t size, size_t *rounded)
{
    if (size <= SMALL) {
        size_t steps = (size + STEP - 1) / STEP;
        *rounded = steps * STEP;
        return (unsigned)steps - 1;
    }
    /* Sixteen classes between a power of two (excluded) and the next (included). */
    unsigned log2 = 63 - (unsigned)__builtin_clzll((uint64_t)size - 1);
    size_t step = (size_t)1 << (log2 - STEPS_LOG2);
    size_t steps = (size - ((size_t)1 << log2) + step - 1) / step;
    *rounded = ((size_t)1 << log2) + steps * step;
    return SMALL / STEP + (log2 - 10) * (1 << STEPS_LOG2) + (unsigned)steps - 1;
}

void tn_pool_init(tn_pool *p, size_t limit)
{
    *p = (tn_pool){.limit = limit};
    pthread_mutex_init(&p->lock, NULL);
}

void tn_pool_destroy(tn_pool *p)
{
    assert(p->in_use == 0 && p->kept == 0);
    pthread_mutex_destroy(&p->lock);
}

static void unlink_block(tn_pool *p, tn_storage *s)
{
    tn_pool_links *l = &s->links;
    *(l->newer ? &l->newer->links.older : &p->newest) = l->older;
    *(l->older ? &l->older->links.newer : &p->oldest) = l->newer;
    *(l->class_prev ? &l->class_prev->links.class_next : &p->classes[s->size_class]) =
        l->class_next;
    if (l->class_next) l->class_next->links.class_prev = l->class_prev;
    *l = (tn_pool_links){0};
    p->kept -= s->size;
}

static void link_block(tn_pool *p, tn_storage *s)
{
    tn_storage *older = p->newest, *next = p->classes[s->size_class];
    s->links = (tn_pool_links){.older = older, .class_next = next};
    *(older ? &older->links.newer : &p->oldest) = s;
    if (next) next->links.class_prev = s;
    p->newest = p->classes[s->size_class] = s;
    p->kept += s->size;
}

static size_t max(size_t a, size_t b)
{
    return a > b ? a : b;
}

tn_storage *tn_pool_take(tn_pool *p, unsigned size_class, size_t rounded)
{
    pthread_mutex_lock(&p->lock);
    tn_storage *s = p->classes[size_class];
    if (s) unlink_block(p, s);
    p->in_use += rounded;
    p->n_allocs++;
    p->largest = max(p->largest, rounded);
    p->peak_in_use = max(p->peak_in_use, p->in_use);
    p->peak_total = max(p->peak_total, p->in_use + p->kept);
    pthread_mutex_unlock(&p->lock);
    return s;
}

/* Moves the oldest block to the front of a chain. */
static tn_storage *evict(tn_pool *p, tn_storage *chain)
{
    tn_storage *s = p->oldest;
    unlink_block(p, s);
    s->links.class_next = chain;
    return s;
}

tn_storage *tn_pool_keep(tn_pool *p, tn_storage *s)
{
    tn_storage *gone = NULL;
    pthread_mutex_lock(&p->lock);
    p->in_use -= s->size;
    link_block(p, s);
    while (p->kept > p->limit) gone = evict(p, gone);
    pthread_mutex_unlock(&p->lock);
    return gone;
}

void tn_pool_forget(tn_pool *p, size_t rounded)
{
    pthread_mutex_lock(&p->lock);
    p->in_use -= rounded;
    pthread_mutex_unlock(&p->lock);
}

tn_storage *tn_pool_trim(tn_pool *p)
{
    tn_storage *gone = NULL;
    pthread_mutex_lock(&p->lock);
    while (p->oldest) gone = evict(p, gone);
    pthread_mutex_unlock(&p->lock);
    return gone;
}

void tn_pool_clear_peaks(tn_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->peak_in_use = p->in_use;
    p->peak_total = p->in_use + p->kept;
    p->largest = 0;
    pthread_mutex_unlock(&p->lock);
}
