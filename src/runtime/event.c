/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/event.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/ref.h"
#include "runtime/event_internal.h"
#include "runtime/fork.h"

/* `waiters` is a stack of those who wait, newest first, until it is swapped for READY; nobody can
 * be added after that. So setting and waiting need no lock, and callbacks run outside of any. */
struct tn_event {
    tn_ref ref;
    unsigned fork_generation;
    atomic_bool set; /* somebody has begun to set it */
    _Atomic(tn_waiter *) waiters;
    tn_status *status; /* written before READY */
    const struct tn_stream *stream;
};

static tn_waiter ready_mark;
#define READY (&ready_mark)

tn_status *tn_event_create_on(const struct tn_stream *stream, tn_event **out)
{
    tn_event *e = malloc(sizeof *e);
    if (!e) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for an event");
    tn_ref_init(&e->ref);
    e->fork_generation = tn_fork_generation();
    atomic_init(&e->set, false);
    atomic_init(&e->waiters, NULL);
    e->status = NULL;
    e->stream = stream;
    *out = e;
    return NULL;
}

tn_status *tn_event_create(tn_event **out)
{
    return tn_event_create_on(NULL, out);
}

tn_event *tn_event_done(void)
{
    static tn_event done = {.ref = {1}, .set = true, .waiters = READY};
    return &done;
}

tn_status *tn_event_create_ready(tn_status *s, tn_event **out)
{
    if (!s) {
        *out = tn_event_retain(tn_event_done());
        return NULL;
    }
    tn_status *failed = tn_event_create(out);
    if (failed) {
        tn_status_free(s);
        return failed;
    }
    atomic_store_explicit(&(*out)->set, true, memory_order_relaxed);
    (*out)->status = s;
    atomic_store_explicit(&(*out)->waiters, READY, memory_order_release);
    return NULL;
}

tn_event *tn_event_retain(tn_event *e)
{
    tn_ref_retain(&e->ref);
    return e;
}

void tn_event_release(tn_event *e)
{
    if (!e || !tn_ref_release(&e->ref)) return;
    if (!tn_event_is_ready(e))
        tn_event_set(e, TN_ERROR(CANCELLED, "the event was dropped before anybody set it"));
    tn_status_free(e->status);
    free(e);
}

static tn_waiter *reversed(tn_waiter *w)
{
    tn_waiter *first = NULL;
    while (w) {
        tn_waiter *next = w->next;
        w->next = first;
        first = w;
        w = next;
    }
    return first;
}

bool tn_event_set(tn_event *e, tn_status *s)
{
    if (atomic_exchange_explicit(&e->set, true, memory_order_relaxed)) {
        tn_status_free(s);
        return false;
    }
    e->status = s;
    /* A callback may drop the last reference but the caller's, and who waits may drop that: the
     * status must outlive the loop. */
    tn_status *shared = tn_status_ref(s);
    tn_waiter *w = atomic_exchange_explicit(&e->waiters, READY, memory_order_acq_rel);
    w = reversed(w);
    while (w) {
        tn_waiter *next = w->next;
        w->fn(w, shared);
        w = next;
    }
    tn_status_free(shared);
    return true;
}

bool tn_event_is_ready(const tn_event *e)
{
    return atomic_load_explicit(&e->waiters, memory_order_acquire) == READY;
}

const tn_status *tn_event_peek(const tn_event *e)
{
    return tn_event_is_ready(e) ? e->status : NULL;
}

const struct tn_stream *tn_event_stream(const tn_event *e)
{
    return e->stream;
}

tn_status *tn_event_error(const tn_event *e)
{
    if (!tn_event_is_ready(e))
        return TN_ERROR(FAILED_PRECONDITION, "the event is not ready: it has no error yet");
    return tn_status_ref(e->status);
}

bool tn_event_add_waiter(tn_event *e, tn_waiter *w)
{
    tn_waiter *top = atomic_load_explicit(&e->waiters, memory_order_acquire);
    do {
        if (top == READY) return false;
        w->next = top;
    } while (!atomic_compare_exchange_weak_explicit(&e->waiters, &top, w, memory_order_acq_rel,
                                                    memory_order_acquire));
    return true;
}

typedef struct {
    tn_waiter waiter; /* first */
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool over;
} sleeper;

static void wake(tn_waiter *w, const tn_status *s)
{
    sleeper *sl = (sleeper *)w;
    pthread_mutex_lock(&sl->lock);
    sl->over = true;
    pthread_cond_signal(&sl->cond);
    pthread_mutex_unlock(&sl->lock);
}

tn_status *tn_event_await(tn_event *e)
{
    if (tn_event_is_ready(e)) return tn_status_ref(e->status);
    if (tn_is_forked(e->fork_generation)) return tn_fork_error();

    sleeper sl = {
        .waiter.fn = wake, .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    if (tn_event_add_waiter(e, &sl.waiter)) {
        pthread_mutex_lock(&sl.lock);
        while (!sl.over) pthread_cond_wait(&sl.cond, &sl.lock);
        pthread_mutex_unlock(&sl.lock);
    }
    pthread_cond_destroy(&sl.cond);
    pthread_mutex_destroy(&sl.lock);
    return tn_status_ref(e->status);
}

typedef struct {
    tn_waiter waiter; /* first */
    tn_event_callback *fn;
    void *arg;
} callback;

static void call(tn_waiter *w, const tn_status *s)
{
    callback c = *(callback *)w;
    free(w);
    c.fn(tn_status_ref(s), c.arg);
}

tn_status *tn_event_on_ready(tn_event *e, tn_event_callback *fn, void *arg)
{
    if (!tn_event_is_ready(e)) {
        if (tn_is_forked(e->fork_generation)) return tn_fork_error();
        callback *c = malloc(sizeof *c);
        if (!c) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a callback");
        *c = (callback){.waiter.fn = call, .fn = fn, .arg = arg};
        if (tn_event_add_waiter(e, &c->waiter)) return NULL;
        free(c);
    }
    fn(tn_status_ref(e->status), arg);
    return NULL;
}
