/* SPDX-License-Identifier: Apache-2.0 */
/* dma.c - the list of host memory that was announced for transfers. Copies do not need it; the list
 * keeps the pairing of calls honest. */
#include <stdlib.h>

#include "runtime/client_internal.h"

typedef struct tn_dma_region {
    struct tn_dma_region *next;
    void *data;
    size_t size;
} region;

tn_status *tn_client_dma_map(tn_client *c, void *data, size_t size)
{
    TN_TRY(tn_client_check(c));
    if (!data || size == 0)
        return TN_ERROR(INVALID_ARGUMENT, "mapping %zu bytes at %p for transfers", size, data);
    region *r = malloc(sizeof *r);
    if (!r) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a mapping");
    pthread_mutex_lock(&c->lock);
    *r = (region){c->dma, data, size};
    c->dma = r;
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

tn_status *tn_client_dma_unmap(tn_client *c, void *data)
{
    TN_TRY(tn_client_check(c));
    pthread_mutex_lock(&c->lock);
    region **link = &c->dma;
    while (*link && (*link)->data != data) link = &(*link)->next;
    region *r = *link;
    if (r) *link = r->next;
    pthread_mutex_unlock(&c->lock);
    if (!r) return TN_ERROR(NOT_FOUND, "%p is not mapped for transfers", data);
    free(r);
    return NULL;
}

void tn_dma_release(tn_client *c)
{
    while (c->dma) {
        region *r = c->dma;
        c->dma = r->next;
        free(r);
    }
}
