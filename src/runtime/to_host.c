/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/host_memory.h"
#include "base/trace.h"
#include "runtime/layout.h"
#include "runtime/transfer_internal.h"

/* Bytes on their way to the host: a whole array in some layout, or a part as it lies. */
typedef struct {
    tn_transfer transfer; /* first */
    tn_event *done;
    void *dst, *staging;
    size_t offset, size;
    uint64_t begun;     /* for a profile */
    bool dense;         /* bytes go to dst as they lie */
    uint8_t value_bits; /* of each byte of a type below a byte, in a whole array: the others are 0
                           on the host, whatever they are here; else 0 */
    tn_type type;
    int64_t *dst_strides, *src_strides; /* if not dense */
    int64_t numbers[];                  /* dims and both strides */
} outgoing;

static void finish(tn_transfer *t, tn_status *s)
{
    outgoing *o = (outgoing *)t;
    tn_event *done = o->done;
    uint8_t *bytes = o->dst;
    for (size_t i = 0; !s && o->value_bits && i < o->size; i++) bytes[i] &= o->value_bits;
    TN_TRACE_END(o->begun, TN_TRACE_TRANSFER, "device to host", NULL, NULL, o->size);
    tn_host_memory_free(o->staging, o->size);
    tn_transfer_end(t);
    free(o);
    tn_event_set(done, s);
    tn_event_release(done);
}

static tn_status *unpack(const outgoing *o, const void *src)
{
    return tn_strided_copy(o->transfer.client->pool, &o->type, o->dst, o->dst_strides, src,
                           o->src_strides);
}

static void arrived(tn_completion *c, tn_status *s)
{
    tn_transfer *t = TN_CONTAINER(c, tn_transfer, completion);
    outgoing *o = (outgoing *)t;
    if (!s && o->staging) s = unpack(o, o->staging);
    finish(t, s);
}

static void copy_out(outgoing *o)
{
    tn_storage *src = o->transfer.src.storage;
    tn_device *d = src->memory->device;
    tn_status *s = NULL;
    if (!o->dense) {
        o->staging = tn_host_memory_alloc(o->size);
        if (!o->staging)
            s = TN_ERROR(RESOURCE_EXHAUSTED, "no host memory to stage %zu bytes", o->size);
    }
    if (!s) s = tn_stream_begin(d->stream);
    if (s) {
        finish(&o->transfer, s);
        return;
    }
    s = d->client->driver.copy_out(d->handle, o->dense ? o->dst : o->staging,
                                   tn_storage_span(src, o->offset, o->size));
    o->transfer.completion.fn = arrived;
    tn_stream_end(d->stream, s, &o->transfer.completion);
}

static void start(tn_transfer *t)
{
    outgoing *o = (outgoing *)t;
    const tn_storage *src = t->src.storage;
    o->begun = tn_trace_begin();
    if (o->size > 0 && !src->memory->addressable) {
        copy_out(o);
        return;
    }
    tn_status *s = NULL;
    if (o->size > 0 && o->dense)
        tn_parallel_memcpy(t->client->pool, o->dst, (char *)src->host + o->offset, o->size);
    else if (o->size > 0) s = unpack(o, src->host);
    finish(t, s);
}

static outgoing *new_outgoing(tn_buffer *b, uint32_t rank)
{
    outgoing *o = calloc(1, sizeof *o + 3 * (size_t)rank * sizeof o->numbers[0]);
    if (!o) return NULL;
    o->transfer.client = b->memory->device->client;
    o->transfer.start = start;
    o->transfer.finish = finish;
    o->dense = true;
    return o;
}

static tn_status *no_memory(void)
{
    return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a transfer");
}

/* Begins `o` (taken) on the content of `b`; that b is deleted comes out of the event. */
static tn_status *begin(outgoing *o, tn_buffer *b, tn_event **done)
{
    tn_status *s = tn_event_create(&o->done);
    if (s) {
        free(o);
        return s;
    }
    *done = tn_event_retain(o->done);
    s = tn_buffer_read(b, &o->transfer.src);
    if (s) {
        tn_event_set(o->done, s);
        tn_event_release(o->done);
        free(o);
        return NULL;
    }
    s = tn_transfer_begin(&o->transfer);
    if (s) {
        tn_content_release(&o->transfer.src);
        tn_event_release(o->done);
        tn_event_release(*done);
        *done = NULL;
        free(o);
    }
    return s;
}

tn_status *tn_buffer_host_bytes(const tn_buffer *b, const tn_layout *layout, size_t *out)
{
    *out = b->bytes;
    if (!layout) return NULL;
    if (layout->kind == TN_LAYOUT_STRIDES)
        return TN_ERROR(INVALID_ARGUMENT, "host layout with strides: only orders of dimensions");
    int64_t *strides = malloc((b->type.rank + 1) * sizeof *strides);
    if (!strides) return no_memory();
    tn_status *s = tn_layout_strides(layout, &b->type, strides);
    free(strides);
    return s;
}

tn_status *tn_buffer_to_host(tn_buffer *b, const tn_layout *layout, void *dst, size_t size,
                             tn_event **done)
{
    size_t needed;
    TN_TRY(tn_client_check(b->memory->device->client));
    TN_TRY(tn_buffer_host_bytes(b, layout, &needed));
    if (size < needed)
        return TN_ERROR(INVALID_ARGUMENT, "room for %zu bytes, the array has %zu", size, needed);
    if (!dst && needed > 0) return TN_ERROR(INVALID_ARGUMENT, "no place for %zu bytes", needed);

    uint32_t rank = b->type.rank;
    outgoing *o = new_outgoing(b, rank);
    if (!o) return no_memory();
    o->dst = dst;
    o->size = needed;
    o->type = b->type;
    o->type.dims = o->numbers;
    o->dst_strides = o->numbers + rank;
    o->src_strides = o->numbers + 2 * rank;
    if (rank > 0) memcpy(o->numbers, b->type.dims, rank * sizeof o->numbers[0]);
    tn_layout here;
    tn_status *s = tn_layout_strides(tn_buffer_layout(b, &here), &o->type, o->src_strides);
    if (!s) s = tn_layout_strides(layout, &o->type, o->dst_strides);
    if (s) {
        free(o);
        return s;
    }
    o->dense = tn_strides_agree(o->dst_strides, o->src_strides, &o->type);
    if (tn_element_is_padded(o->type.element))
        o->value_bits = (uint8_t)(0xff >> (8 - tn_element_type_bits(o->type.element)));
    return begin(o, b, done);
}

static tn_status *check_range(const tn_buffer *b, int64_t offset, int64_t size)
{
    if (offset >= 0 && size >= 0 && (uint64_t)offset <= b->bytes &&
        (uint64_t)size <= b->bytes - (uint64_t)offset)
        return NULL;
    return TN_ERROR(INVALID_ARGUMENT,
                    "raw copy of [%" PRId64 ", + %" PRId64 ") from a buffer of %zu bytes", offset,
                    size, b->bytes);
}

tn_status *tn_buffer_copy_raw_to_host(tn_buffer *b, void *dst, int64_t offset, int64_t size,
                                      tn_event **done)
{
    TN_TRY(tn_client_check(b->memory->device->client));
    TN_TRY(check_range(b, offset, size));
    if (!dst && size > 0) return TN_ERROR(INVALID_ARGUMENT, "no place for %" PRId64 " bytes", size);
    outgoing *o = new_outgoing(b, 0);
    if (!o) return no_memory();
    o->dst = dst;
    o->offset = (size_t)offset;
    o->size = (size_t)size;
    return begin(o, b, done);
}

/* The place comes from the user, so it is a promise. */
struct tn_raw_copy {
    tn_promise promise;
    tn_buffer *buffer;
    int64_t offset, size;
};

tn_status *tn_buffer_copy_raw_to_host_later(tn_buffer *b, int64_t offset, int64_t size,
                                            tn_event **done, tn_raw_copy **out)
{
    tn_client *client = b->memory->device->client;
    TN_TRY(tn_client_check(client));
    TN_TRY(check_range(b, offset, size));
    tn_raw_copy *c = calloc(1, sizeof *c);
    if (!c) return no_memory();
    tn_status *s = tn_event_create(done);
    if (s) {
        free(c);
        return s;
    }
    c->buffer = tn_buffer_retain(b);
    c->offset = offset;
    c->size = size;
    tn_promise_add(&c->promise, client, tn_event_retain(*done));
    *out = c;
    return NULL;
}

static void pass_on(tn_status *s, void *event)
{
    tn_event_set(event, s);
    tn_event_release(event);
}

void tn_raw_copy_start(tn_raw_copy *c, void *dst, tn_status *error)
{
    tn_event *done = c->promise.event, *copied = NULL;
    tn_promise_remove(&c->promise);
    tn_status *s = error;
    if (!s) s = tn_buffer_copy_raw_to_host(c->buffer, dst, c->offset, c->size, &copied);
    if (!s) {
        s = tn_event_on_ready(copied, pass_on, tn_event_retain(done));
        if (s) { /* no memory for a callback: the copy must end before dst is given back */
            tn_event_release(done);
            tn_status_free(s);
            s = tn_event_await(copied);
            tn_event_set(done, s);
            s = NULL;
        }
    } else {
        tn_event_set(done, s);
    }
    tn_event_release(copied);
    tn_event_release(done);
    tn_buffer_release(c->buffer);
    free(c);
}
