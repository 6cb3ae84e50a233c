/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - from one memory to another. */
#include <stdlib.h>

#include "base/host_memory.h"
#include "base/trace.h"
#include "runtime/layout.h"
#include "runtime/transfer_internal.h"

typedef struct {
    tn_transfer transfer; /* first */
    tn_storage *dst;
    tn_event *ready;
    size_t size;
    uint64_t begun; /* for a profile */
    void *staging;  /* between two devices neither of which the host can address */
} move;

static void finish(tn_transfer *t, tn_status *s)
{
    move *m = (move *)t;
    tn_event *ready = m->ready;
    TN_TRACE_END(m->begun, TN_TRACE_TRANSFER, "device to device", NULL, NULL, m->size);
    tn_host_memory_free(m->staging, m->size);
    tn_storage_release(m->dst);
    tn_transfer_end(t);
    free(m);
    tn_event_set(ready, s);
    tn_event_release(ready);
}

static void written(void *arg, tn_status *s)
{
    finish(arg, s);
}

static void arrived(tn_completion *c, tn_status *s)
{
    finish(TN_CONTAINER(c, tn_transfer, completion), s);
}

/* The second half of the way over the host. */
static void staged(tn_completion *c, tn_status *s)
{
    move *m = (move *)TN_CONTAINER(c, tn_transfer, completion);
    if (!s) s = tn_storage_write(m->dst, 0, m->staging, m->size, NULL, 0, written, m);
    else {
        finish(&m->transfer, s);
        return;
    }
    if (s) finish(&m->transfer, s);
}

static void copy_out(move *m, void *to, void (*then)(tn_completion *c, tn_status *s))
{
    tn_storage *src = m->transfer.src.storage;
    tn_device *d = src->memory->device;
    tn_status *s = to ? tn_stream_begin(d->stream)
                      : TN_ERROR(RESOURCE_EXHAUSTED, "no host memory to stage %zu bytes", m->size);
    if (s) {
        finish(&m->transfer, s);
        return;
    }
    s = d->client->driver.copy_out(d->handle, to, tn_storage_span(src, 0, m->size));
    m->transfer.completion.fn = then;
    tn_stream_end(d->stream, s, &m->transfer.completion);
}

static void copy_within(move *m)
{
    tn_storage *src = m->transfer.src.storage;
    tn_device *d = src->memory->device;
    tn_status *s = tn_stream_begin(d->stream);
    if (s) {
        finish(&m->transfer, s);
        return;
    }
    s = d->client->driver.copy(d->handle, tn_storage_span(m->dst, 0, m->size),
                               tn_storage_span(src, 0, m->size));
    m->transfer.completion.fn = arrived;
    tn_stream_end(d->stream, s, &m->transfer.completion);
}

static void start(tn_transfer *t)
{
    move *m = (move *)t;
    m->begun = tn_trace_begin();
    const tn_memory *from = t->src.storage->memory, *to = m->dst->memory;
    if (m->size == 0) {
        finish(t, NULL);
    } else if (from->addressable) {
        tn_status *s =
            tn_storage_write(m->dst, 0, t->src.storage->host, m->size, NULL, 0, written, m);
        if (s) finish(t, s);
    } else if (to->addressable) {
        copy_out(m, m->dst->host, arrived);
    } else if (from->device == to->device) {
        copy_within(m);
    } else {
        m->staging = tn_host_memory_alloc(m->size);
        copy_out(m, m->staging, staged);
    }
}

tn_status *tn_buffer_copy_to_memory(tn_buffer *b, tn_memory *dst, tn_buffer **out)
{
    tn_client *client = b->memory->device->client;
    TN_TRY(tn_client_check(client));
    if (dst->device->client != client)
        return TN_ERROR(INVALID_ARGUMENT, "copy to a memory of another client");

    move *m = calloc(1, sizeof *m);
    if (!m) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a transfer");
    m->transfer.client = client;
    m->transfer.start = start;
    m->transfer.finish = finish;
    m->size = b->bytes;
    tn_buffer *result = NULL;
    tn_layout layout;
    tn_status *s = tn_buffer_read(b, &m->transfer.src);
    if (!s) s = tn_event_create(&m->ready);
    if (!s) s = tn_storage_create(dst, m->size, &m->dst);
    if (!s)
        s = tn_buffer_create(dst, &b->type, tn_buffer_layout(b, &layout), tn_storage_retain(m->dst),
                             tn_event_retain(m->ready), &result);
    if (!s) s = tn_transfer_begin(&m->transfer);
    if (s) {
        tn_buffer_release(result);
        tn_storage_release(m->dst);
        tn_event_release(m->ready);
        tn_content_release(&m->transfer.src);
        free(m);
        return s;
    }
    *out = result;
    return NULL;
}
