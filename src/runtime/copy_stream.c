/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/copy_stream.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "runtime/transfer_manager.h"

struct tn_copy_stream {
    tn_transfer_manager *manager; /* of one buffer */
    int64_t total, granule;
    pthread_mutex_t lock; /* current */
    int64_t current;
};

tn_status *tn_copy_stream_create(tn_memory *m, const tn_type *type, int64_t granule,
                                 tn_buffer **target, tn_copy_stream **out)
{
    if (granule < 1) return TN_ERROR(INVALID_ARGUMENT, "granule of %" PRId64 " bytes", granule);
    tn_copy_stream *s = calloc(1, sizeof *s);
    if (!s) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a copy stream");
    pthread_mutex_init(&s->lock, NULL);
    s->granule = granule;
    size_t bytes = 0;
    tn_status *e = tn_transfer_manager_create(m, 1, &type, NULL, &s->manager);
    if (!e) e = tn_transfer_manager_bytes(s->manager, 0, &bytes);
    if (!e) e = tn_transfer_manager_retrieve(s->manager, 0, target);
    if (e) {
        tn_copy_stream_destroy(s);
        return e;
    }
    s->total = (int64_t)bytes;
    *out = s;
    return NULL;
}

void tn_copy_stream_destroy(tn_copy_stream *s)
{
    if (!s) return;
    tn_transfer_manager_destroy(s->manager);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int64_t tn_copy_stream_total(const tn_copy_stream *s)
{
    return s->total;
}

int64_t tn_copy_stream_granule(const tn_copy_stream *s)
{
    return s->granule;
}

int64_t tn_copy_stream_current(const tn_copy_stream *s)
{
    tn_copy_stream *mutable = (tn_copy_stream *)s;
    pthread_mutex_lock(&mutable->lock);
    int64_t current = s->current;
    pthread_mutex_unlock(&mutable->lock);
    return current;
}

/* Takes the chunk's place in the order: its offset. */
static tn_status *reserve(tn_copy_stream *s, size_t size, int64_t *offset)
{
    tn_status *e = NULL;
    pthread_mutex_lock(&s->lock);
    if (size > (uint64_t)(s->total - s->current))
        e = TN_ERROR(INVALID_ARGUMENT, "chunk of %zu bytes, %" PRId64 " are still expected", size,
                     s->total - s->current);
    else if (size % (uint64_t)s->granule != 0)
        e = TN_ERROR(INVALID_ARGUMENT, "chunk of %zu bytes is no multiple of %" PRId64, size,
                     s->granule);
    *offset = s->current;
    if (!e) s->current += (int64_t)size;
    pthread_mutex_unlock(&s->lock);
    return e;
}

typedef struct {
    void *data, *arg;
    void (*deleter)(void *data, void *arg);
} chunk;

static void drop_chunk(tn_status *s, void *arg)
{
    chunk c = *(chunk *)arg;
    free(arg);
    tn_status_free(s);
    if (c.deleter) c.deleter(c.data, c.arg);
}

tn_status *tn_copy_stream_add(tn_copy_stream *s, void *data, size_t size,
                              void (*deleter)(void *data, void *arg), void *arg, tn_event **done)
{
    int64_t offset;
    chunk *c = malloc(sizeof *c);
    if (!c) {
        if (deleter) deleter(data, arg);
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a chunk");
    }
    *c = (chunk){data, arg, deleter};
    tn_status *e = reserve(s, size, &offset);
    if (!e) {
        bool last = offset + (int64_t)size == s->total;
        e = tn_transfer_manager_write(s->manager, 0, data, offset, (int64_t)size, last, done);
    }
    if (e) {
        drop_chunk(NULL, c);
        return tn_event_create_ready(e, done);
    }
    e = tn_event_on_ready(*done, drop_chunk, c);
    if (e) { /* the chunk must live until it was read */
        tn_status_free(e);
        drop_chunk(tn_event_await(*done), c);
    }
    return NULL;
}
