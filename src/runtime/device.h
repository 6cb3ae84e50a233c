/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - one device of a client: lives with it, as does everything that is returned here.
 * Threads: any. */
#ifndef TN_RUNTIME_DEVICE_H
#define TN_RUNTIME_DEVICE_H

#include "runtime/memory.h"
#include "runtime/topology.h"

typedef struct tn_device tn_device;

const tn_device_description *tn_device_get_description(const tn_device *d);
struct tn_client *tn_device_client(const tn_device *d);
/* FAILED_PRECONDITION in a forked child, where nothing can be done with it. */
tn_status *tn_device_check(const tn_device *d) TN_MUST_USE;
int tn_device_id(const tn_device *d);
int tn_device_local_hardware_id(const tn_device *d);

/* Its TN_MEMORY_KINDS memories, in the order of the kinds. */
tn_memory *const *tn_device_memories(const tn_device *d, size_t *n);
tn_memory *tn_device_default_memory(const tn_device *d);

/* Bytes unless named otherwise; -1: not known. */
typedef struct {
    int64_t bytes_in_use, peak_bytes_in_use;
    int64_t num_allocs, largest_alloc_size;
    int64_t bytes_limit;
    int64_t pool_bytes, peak_pool_bytes; /* in use or kept for later */
    int64_t peak_allocated_bytes;
} tn_memory_stats;
/* Of its default memory. */
void tn_device_memory_stats(const tn_device *d, tn_memory_stats *out);
/* Starts the peaks anew from what is in use. */
void tn_device_clear_memory_stats(tn_device *d);

/* Makes launches with this id (not 0) that have not ended fail with `error` (taken); *poisoned:
 * there was one. */
void tn_device_poison(tn_device *d, int launch_id, tn_status *error, bool *poisoned);

/* Attributes that may change while it runs; end them with free(). */
tn_status *tn_device_attributes(const tn_device *d, tn_named_value **out, size_t *n) TN_MUST_USE;

/* Work of the caller's own that the device waits for, from create to destroy; shows in
 * tn_device_attributes as "tracked_work". The description is copied. */
typedef struct tn_tracking_event tn_tracking_event;
tn_status *tn_tracking_event_create(tn_device *d, const char *description, size_t size,
                                    tn_tracking_event **out) TN_MUST_USE;
void tn_tracking_event_destroy(tn_tracking_event *e); /* NULL is fine */

#endif
