/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - a driver device's queue: appending work to it, and learning that it is done.
 *
 * Between tn_stream_begin and tn_stream_end a thread has the device to itself and calls the driver.
 * The completion that it gives to tn_stream_end is called once the work is done: on the calling
 * thread if the device is synchronous, else on the stream's own thread. */
#ifndef TN_RUNTIME_STREAM_H
#define TN_RUNTIME_STREAM_H

#include "runtime/queue.h"
#include "tenon/driver.h"

typedef struct tn_stream tn_stream;

/* Part of whatever was started. */
typedef struct tn_completion {
    tn_task task; /* the stream's own */
    tn_fence *fence;
    tn_stream *stream;
    tn_status *error;
    /* Receives the error of the work, or NULL. May free the completion. */
    void (*fn)(struct tn_completion *c, tn_status *s);
} tn_completion;

/* `driver` and `device` must outlive the stream. */
tn_status *tn_stream_create(const tn_driver *driver, tn_driver_device *device, bool synchronous,
                            const char *name, tn_stream **out) TN_MUST_USE;
/* Joins the stream's thread, as tn_queue_stop. NULL is fine. */
void tn_stream_stop(tn_stream *s);
/* Nothing is in flight, and the caller is not on the stream's thread. NULL is fine. */
void tn_stream_destroy(tn_stream *s);

/* UNAVAILABLE: the device is lost, and there is nothing to end. */
tn_status *tn_stream_begin(tn_stream *s) TN_MUST_USE;
/* `error` (taken): what made the caller stop appending, or NULL; it is what c->fn gets, once the
 * part that was appended is done. */
void tn_stream_end(tn_stream *s, tn_status *error, tn_completion *c);

/* Blocks until all completions have been called; at once on the stream's own thread. */
void tn_stream_drain(tn_stream *s);
bool tn_stream_is_mine(const tn_stream *s);

#endif
