/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - something that will have happened: success, or an error.
 *
 * An event is pending until tn_event_set, and then ready for ever. It is set only when the work it
 * stands for is done, never when the work is merely enqueued.
 * Threads: any function from any thread. Callbacks run on the thread that sets the event (or on the
 * caller, if it is ready already), outside of all locks of the runtime, in the order of their
 * registration, each exactly once.
 * Ownership: reference counted. An event whose last reference goes while it is pending is set to
 * CANCELLED first, so that nobody waits for it in vain. */
#ifndef TN_RUNTIME_EVENT_H
#define TN_RUNTIME_EVENT_H

#include <stdbool.h>

#include "tenon/status.h"

typedef struct tn_event tn_event;

/* A pending event. RESOURCE_EXHAUSTED without memory. */
tn_status *tn_event_create(tn_event **out) TN_MUST_USE;
/* A ready event; takes `s`, NULL: success. */
tn_status *tn_event_create_ready(tn_status *s, tn_event **out) TN_MUST_USE;

tn_event *tn_event_retain(tn_event *e);
void tn_event_release(tn_event *e); /* NULL is fine */

/* Makes it ready; takes `s`. False: it was ready before, and nothing changed. */
bool tn_event_set(tn_event *e, tn_status *s);

bool tn_event_is_ready(const tn_event *e);

/* Another reference to the error of a ready event, NULL after success. A pending event gives
 * FAILED_PRECONDITION: it has neither. */
tn_status *tn_event_error(const tn_event *e) TN_MUST_USE;

/* Blocks until it is ready, then as tn_event_error. In a forked child, where nobody is left to set
 * it, a pending event gives FAILED_PRECONDITION at once. */
tn_status *tn_event_await(tn_event *e) TN_MUST_USE;

/* Receives one reference to the error, or NULL. */
typedef void tn_event_callback(tn_status *s, void *arg);

/* Calls fn(error, arg) once, when the event is or becomes ready. The event may be released before
 * that. RESOURCE_EXHAUSTED: fn will not be called. */
tn_status *tn_event_on_ready(tn_event *e, tn_event_callback *fn, void *arg) TN_MUST_USE;

#endif
