/* SPDX-License-Identifier: Apache-2.0 */
/* event_internal.h - what the runtime's own code does with events. */
#ifndef TN_RUNTIME_EVENT_INTERNAL_H
#define TN_RUNTIME_EVENT_INTERNAL_H

#include "runtime/event.h"

/* A callback that needs no memory of its own: part of whatever waits. */
typedef struct tn_waiter {
    struct tn_waiter *next;
    /* The error is borrowed. May free the waiter. */
    void (*fn)(struct tn_waiter *w, const tn_status *s);
} tn_waiter;

/* Calls w->fn once, when e is set. False: it is ready already, and fn is not called. */
bool tn_event_add_waiter(tn_event *e, tn_waiter *w);

/* A pending event that belongs to a stream: whatever is appended to the stream from now on comes
 * after the work that the event stands for. */
struct tn_stream;
tn_status *tn_event_create_on(const struct tn_stream *stream, tn_event **out) TN_MUST_USE;
/* The stream, or NULL. */
const struct tn_stream *tn_event_stream(const tn_event *e);

/* The error of an event, borrowed: lives as long as the event. NULL for success and for pending. */
const tn_status *tn_event_peek(const tn_event *e);

/* An event that is ready and successful for ever; to be retained and released like any. */
tn_event *tn_event_done(void);

#endif
