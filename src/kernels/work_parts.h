/* SPDX-License-Identifier: Apache-2.0 */
/* work_parts.h - internal: working memory in equal parts, of which each thread of a parallel loop
 * takes a free one while it computes. There must be as many parts as threads. */
#ifndef TN_KERNELS_WORK_PARTS_H
#define TN_KERNELS_WORK_PARTS_H

#include <stdatomic.h>
#include <stddef.h>

enum { TN_WORK_MAX_PARTS = 4096 };

typedef struct tn_work_parts {
    char *memory; /* NULL: there is none, and parts are NULL too */
    size_t part_size;
    int n;
    atomic_uchar taken[TN_WORK_MAX_PARTS];
} tn_work_parts;

static inline void tn_work_parts_init(tn_work_parts *w, char *memory, size_t part_size, int n)
{
    w->memory = memory;
    w->part_size = part_size;
    w->n = n;
    for (int i = 0; i < n; i++) atomic_init(&w->taken[i], 0);
}

static inline int tn_work_parts_take(tn_work_parts *w, char **memory)
{
    for (int i = 0;; i = (i + 1) % w->n) {
        unsigned char expected = 0;
        if (!atomic_compare_exchange_strong(&w->taken[i], &expected, 1)) continue;
        *memory = w->memory ? w->memory + (size_t)i * w->part_size : NULL;
        return i;
    }
}

static inline void tn_work_parts_free(tn_work_parts *w, int part)
{
    atomic_store(&w->taken[part], 0);
}

#endif
