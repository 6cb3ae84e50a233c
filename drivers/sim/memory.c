/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim.h"

/* New and freed memory is filled, so that who reads it gets nonsense, not zeros or the old content.
 */
enum { FRESH = 0xcd, FREED = 0xdd };

static tn_status *reserve(tn_driver_device *d, uint64_t size)
{
    tn_status *s = NULL;
    pthread_mutex_lock(&d->lock);
    if (sim_strikes(&d->faults.fail_alloc))
        s = TN_KIT_FAIL(d->kit, RESOURCE_EXHAUSTED, "injected failure of an allocation");
    else if (d->lost) s = sim_lost(d);
    else if (size > d->memory_bytes - d->used_bytes)
        s = TN_KIT_FAIL(d->kit, RESOURCE_EXHAUSTED,
                        "%llu bytes do not fit: %llu of %llu are in use", (unsigned long long)size,
                        (unsigned long long)d->used_bytes, (unsigned long long)d->memory_bytes);
    else d->used_bytes += size;
    pthread_mutex_unlock(&d->lock);
    return s;
}

static void unreserve(tn_driver_device *d, uint64_t size)
{
    pthread_mutex_lock(&d->lock);
    d->used_bytes -= size;
    pthread_mutex_unlock(&d->lock);
}

tn_status *sim_alloc(tn_driver_device *d, uint64_t size, tn_mem **out)
{
    TN_TRY(reserve(d, size));
    tn_mem *m = malloc(sizeof *m);
    char *bytes = m ? d->kit->alloc(d->kit, size) : NULL;
    void *address =
        bytes ? mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
              : MAP_FAILED;
    if (address == MAP_FAILED) {
        if (bytes) d->kit->free(d->kit, bytes, size);
        free(m);
        unreserve(d, size);
        return TN_KIT_FAIL(d->kit, RESOURCE_EXHAUSTED, "no host memory to simulate %llu bytes",
                           (unsigned long long)size);
    }
    memset(bytes, FRESH, size);
    *m = (tn_mem){.size = size, .bytes = bytes, .address = address};
    *out = m;
    return NULL;
}

void sim_free(tn_driver_device *d, tn_mem *m)
{
    pthread_mutex_lock(&d->lock);
    if (m->uses > 0)
        d->kit->log(d->kit, TN_KIT_ERROR, "device %u: a block is freed that %u operations use",
                    d->ordinal, m->uses);
    while (m->uses > 0) pthread_cond_wait(&d->done, &d->lock);
    pthread_mutex_unlock(&d->lock);

    memset(m->bytes, FREED, m->size);
    d->kit->free(d->kit, m->bytes, m->size);
    munmap(m->address, m->size);
    unreserve(d, m->size);
    free(m);
}
