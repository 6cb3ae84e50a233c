/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/stream.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"

struct tn_stream {
    const tn_driver *driver;
    tn_driver_device *device;
    bool synchronous;
    pthread_mutex_t lock;      /* whoever appends */
    _Atomic(tn_status *) lost; /* why the device is; set once */
    tn_queue *completions;     /* fences become done in the order they were recorded */
};

tn_status *tn_stream_create(const tn_driver *driver, tn_driver_device *device, bool synchronous,
                            const char *name, tn_stream **out)
{
    tn_stream *s = calloc(1, sizeof *s);
    if (!s) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a stream");
    *s = (tn_stream){.driver = driver, .device = device, .synchronous = synchronous};
    pthread_mutex_init(&s->lock, NULL);
    tn_status *e = synchronous ? NULL : tn_queue_create(name, &s->completions);
    if (!e && !synchronous) e = tn_queue_start(s->completions);
    if (e) {
        tn_stream_destroy(s);
        return e;
    }
    *out = s;
    return NULL;
}

void tn_stream_stop(tn_stream *s)
{
    if (s) tn_queue_stop(s->completions);
}

void tn_stream_destroy(tn_stream *s)
{
    if (!s) return;
    tn_queue_destroy(s->completions);
    tn_status_free(atomic_load(&s->lost));
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* Remembers that the device is lost, if that is what `e` says. */
static void note_loss(tn_stream *s, const tn_status *e)
{
    if (tn_status_code(e) != TN_UNAVAILABLE || atomic_load(&s->lost)) return;
    tn_status *mine = tn_status_ref(e), *none = NULL;
    if (!atomic_compare_exchange_strong(&s->lost, &none, mine)) {
        tn_status_free(mine);
        return;
    }
    tn_log(TN_LOG_ERROR, "runtime", "%s", tn_status_message(e));
}

tn_status *tn_stream_begin(tn_stream *s)
{
    tn_status *lost = atomic_load_explicit(&s->lost, memory_order_acquire);
    if (lost) return tn_status_ref(lost);
    pthread_mutex_lock(&s->lock);
    return NULL;
}

static void await_fence(tn_task *t)
{
    tn_completion *c = (tn_completion *)t;
    tn_stream *s = c->stream;
    bool done = false;
    tn_status *e = NULL;
    while (!done) {
        tn_status_free(e);
        e = s->driver->wait(s->device, c->fence, UINT64_MAX, &done);
        if (e && !done) break; /* a driver that can't even wait has lost its device */
    }
    s->driver->drop(s->device, c->fence);
    note_loss(s, e);
    if (c->error) {
        tn_status_free(e);
        e = c->error;
    }
    c->fn(c, e);
}

void tn_stream_end(tn_stream *s, tn_status *error, tn_completion *c)
{
    note_loss(s, error);
    if (s->synchronous) {
        pthread_mutex_unlock(&s->lock);
        c->fn(c, error);
        return;
    }

    c->stream = s;
    c->error = error;
    c->task.run = await_fence;
    atomic_init(&c->task.waits, 0);
    tn_status *failed = s->driver->record(s->device, &c->fence);
    if (!failed) tn_queue_push(s->completions, &c->task);
    pthread_mutex_unlock(&s->lock);
    if (!failed) return;

    if (tn_status_code(failed) != TN_UNAVAILABLE) {
        tn_status *e = TN_ERROR(UNAVAILABLE, "the device is lost, since it has no fence: %s",
                                tn_status_message(failed));
        tn_status_free(failed);
        failed = e;
    }
    note_loss(s, failed);
    if (error) {
        tn_status_free(failed);
        failed = error;
    }
    c->fn(c, failed);
}

void tn_stream_drain(tn_stream *s)
{
    if (s->completions) tn_queue_drain(s->completions);
}

bool tn_stream_is_mine(const tn_stream *s)
{
    return s->completions && tn_queue_is_mine(s->completions);
}
