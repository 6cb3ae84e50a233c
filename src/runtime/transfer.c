/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/transfer_internal.h"

#include <stdlib.h>

#include "base/host_memory.h"
#include "base/trace.h"
#include "runtime/layout.h"

/* ---- Waiting for the content ---- */

static void begin_now(tn_transfer *t)
{
    const tn_status *error = tn_event_peek(t->src.ready);
    if (error) t->finish(t, tn_status_ref(error));
    else t->start(t);
}

static void run_task(tn_task *task)
{
    begin_now(TN_CONTAINER(task, tn_transfer, task));
}

static void content_is_ready(tn_waiter *w, const tn_status *s)
{
    tn_transfer *t = TN_CONTAINER(w, tn_transfer, waiter);
    tn_queue_push(t->client->transfers, &t->task);
}

tn_status *tn_transfer_begin(tn_transfer *t)
{
    bool ready = tn_event_is_ready(t->src.ready);
    if (!ready) TN_TRY(tn_queue_start(t->client->transfers));
    tn_client_retain(t->client);
    tn_work_begin(t->client);
    t->task.run = run_task;
    atomic_init(&t->task.waits, 0);
    t->waiter.fn = content_is_ready;
    if (ready || !tn_event_add_waiter(t->src.ready, &t->waiter)) begin_now(t);
    return NULL;
}

void tn_transfer_end(tn_transfer *t)
{
    tn_content_release(&t->src);
    tn_work_end(t->client);
    tn_client_release(t->client);
}

/* ---- Host bytes into a storage ---- */

typedef struct {
    tn_completion completion; /* first */
    tn_storage *storage;
    void *staging;
    size_t staging_size, size;
    uint64_t start; /* for a profile */
    tn_write_done *fn;
    void *arg;
} write;

static void end_write(tn_completion *c, tn_status *s)
{
    write w = *(write *)c;
    free(c);
    TN_TRACE_END(w.start, TN_TRACE_TRANSFER, "host to device", NULL, NULL, w.size);
    tn_host_memory_free(w.staging, w.staging_size);
    tn_work_end(w.storage->memory->device->client);
    tn_storage_release(w.storage);
    w.fn(w.arg, s);
}

static tn_status *append_write(tn_storage *s, size_t offset, const void *src, size_t size, write *w)
{
    tn_device *d = s->memory->device;
    TN_TRY(tn_stream_begin(d->stream));
    tn_work_begin(d->client);
    tn_status *e = d->client->driver.copy_in(d->handle, tn_storage_span(s, offset, size), src);
    tn_stream_end(d->stream, e, &w->completion);
    return NULL;
}

tn_status *tn_storage_write(tn_storage *s, size_t offset, const void *src, size_t size,
                            void *staging, size_t staging_size, tn_write_done *fn, void *arg)
{
    uint64_t start = tn_trace_begin();
    if (size == 0 || s->memory->addressable) {
        if (size > 0)
            tn_parallel_memcpy(s->memory->device->client->pool, (char *)s->host + offset, src,
                               size);
        TN_TRACE_END(start, TN_TRACE_TRANSFER, "copy", NULL, NULL, size);
        tn_host_memory_free(staging, staging_size);
        fn(arg, NULL);
        return NULL;
    }
    write *w = malloc(sizeof *w);
    tn_status *e = w ? NULL : TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a transfer");
    if (!e) {
        *w = (write){.completion = {.fn = end_write},
                     .storage = tn_storage_retain(s),
                     .staging = staging,
                     .staging_size = staging_size,
                     .size = size,
                     .start = start,
                     .fn = fn,
                     .arg = arg};
        e = append_write(s, offset, src, size, w);
    }
    if (e) {
        tn_host_memory_free(staging, staging_size);
        if (w) tn_storage_release(s);
        free(w);
    }
    return e;
}

/* ---- From host arrays ---- */

tn_status *tn_host_array_pack(tn_thread_pool *pool, const tn_host_array *array,
                              const int64_t *strides, const int64_t *dst_strides, void *dst)
{
    const tn_type *type = array->type;
    if (tn_strides_agree(strides, dst_strides, type))
        tn_parallel_memcpy(pool, dst, array->data, tn_type_bytes(type));
    else TN_TRY(tn_strided_copy(pool, type, dst, dst_strides, array->data, strides));
    if (tn_element_is_padded(type->element))
        tn_normalize_padding(type->element, dst, (size_t)tn_type_elements(type));
    return NULL;
}

static void set_event(void *event, tn_status *s)
{
    tn_event_set(event, s);
    tn_event_release(event);
}

/* What is known of one call of tn_buffer_from_host. */
typedef struct {
    tn_memory *memory;
    const tn_host_array *array;
    tn_host_semantics semantics;
    size_t bytes;
    const int64_t *strides, *device_strides;
    bool dense; /* as device memory wants it, bit by bit */
} incoming;

/* The array itself. *storage NULL: it has to be copied after all. */
static tn_status *alias(const incoming *in, tn_storage **storage, tn_event **done)
{
    tn_status *s = tn_event_create(done);
    if (!s)
        s = tn_storage_create_foreign(in->memory, (void *)in->array->data, in->bytes,
                                      in->semantics == TN_HOST_ALIAS, NULL, NULL, storage);
    if (!s) {
        (*storage)->released = tn_event_retain(*done);
        return NULL;
    }
    tn_event_release(*done);
    *done = NULL;
    if (tn_status_code(s) != TN_UNIMPLEMENTED) return s;
    tn_status_free(s);
    return NULL;
}

/* A copy, made during the call. */
static tn_status *copy_now(const incoming *in, tn_storage *storage)
{
    if (in->bytes == 0) return NULL;
    uint64_t start = tn_trace_begin();
    TN_TRY(tn_host_array_pack(in->memory->device->client->pool, in->array, in->strides,
                              in->device_strides, storage->host));
    TN_TRACE_END(start, TN_TRACE_TRANSFER, "host to device", NULL, NULL, in->bytes);
    return NULL;
}

/* A copy, made by the device: of the array if it may be read later, else of a copy of it. */
static tn_status *copy_later(const incoming *in, tn_storage *storage, tn_event **done,
                             tn_event **ready)
{
    bool direct = in->dense && in->semantics != TN_HOST_READ_DURING_CALL;
    void *staging = NULL;
    if (!direct) {
        staging = tn_host_memory_alloc(in->bytes);
        if (!staging)
            return TN_ERROR(RESOURCE_EXHAUSTED, "no host memory to stage %zu bytes", in->bytes);
        tn_status *s = tn_host_array_pack(in->memory->device->client->pool, in->array, in->strides,
                                          in->device_strides, staging);
        if (s) {
            tn_host_memory_free(staging, in->bytes);
            return s;
        }
    }
    tn_event *event = NULL;
    tn_status *s = tn_event_create_on(in->memory->device->stream, &event);
    if (s) {
        tn_host_memory_free(staging, in->bytes);
        return s;
    }
    s = tn_storage_write(storage, 0, direct ? in->array->data : staging, in->bytes, staging,
                         in->bytes, set_event, tn_event_retain(event));
    if (s) {
        tn_event_release(event);
        tn_event_release(event);
        return s;
    }
    *ready = event;
    *done = tn_event_retain(direct ? event : tn_event_done());
    return NULL;
}

/* A copy that the client's transfer thread makes. */
typedef struct {
    tn_task task; /* first */
    tn_storage *storage;
    tn_event *copied;
    const void *data;
    size_t bytes;
} behind;

static void copy_behind(tn_task *t)
{
    behind b = *(behind *)t;
    tn_client *c = b.storage->memory->device->client;
    free(t);
    tn_parallel_memcpy(c->pool, b.storage->host, b.data, b.bytes);
    tn_storage_release(b.storage);
    tn_event_set(b.copied, NULL);
    tn_event_release(b.copied);
    tn_work_end(c);
    tn_client_release(c);
}

/* A copy, made after the call, of an array that may be read until then: the caller need not wait
 * for it, and for the pages of the new memory to come. */
static tn_status *copy_after(const incoming *in, tn_storage *storage, tn_event **done,
                             tn_event **ready)
{
    tn_client *c = in->memory->device->client;
    TN_TRY(tn_queue_start(c->transfers));
    behind *b = malloc(sizeof *b);
    if (!b) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a transfer");
    tn_event *copied = NULL;
    tn_status *s = tn_event_create(&copied);
    if (s) {
        free(b);
        return s;
    }
    *b = (behind){.task = {.run = copy_behind},
                  .storage = tn_storage_retain(storage),
                  .copied = tn_event_retain(copied),
                  .data = in->array->data,
                  .bytes = in->bytes};
    atomic_init(&b->task.waits, 0);
    tn_client_retain(c);
    tn_work_begin(c);
    tn_queue_push(c->transfers, &b->task);
    *ready = copied;
    *done = tn_event_retain(copied);
    return NULL;
}

/* Copies of fewer bytes take less time than handing them over would. */
enum { COPIED_AFTER = 2 << 20 };

/* Malloc aligns to 16 bytes; a copy of a small array costs less than loads across cache lines may
 * later. */
enum { LEAST_ALIGNMENT = 16 };

static bool is_aligned(const incoming *in)
{
    uintptr_t at = (uintptr_t)in->array->data;
    const tn_device *d = in->memory->device;
    return at % TN_ALIGNMENT == 0 ||
           (at % LEAST_ALIGNMENT == 0 && in->semantics == TN_HOST_ALIAS &&
            in->bytes >= d->client->alias_bytes && d->info.flags & TN_DEVICE_UNALIGNED);
}

static tn_status *receive(const incoming *in, tn_storage **storage, tn_event **done,
                          tn_event **ready)
{
    tn_memory *m = in->memory;
    if (m->addressable && in->semantics >= TN_HOST_ALIAS && in->dense && in->bytes > 0 &&
        is_aligned(in))
        TN_TRY(alias(in, storage, done));
    if (!*storage) {
        TN_TRY(tn_storage_create(m, in->bytes, storage));
        if (!m->addressable && in->bytes > 0) return copy_later(in, *storage, done, ready);
        if (in->dense && in->bytes >= COPIED_AFTER && in->semantics != TN_HOST_READ_DURING_CALL)
            return copy_after(in, *storage, done, ready);
        TN_TRY(copy_now(in, *storage));
        *done = tn_event_retain(tn_event_done());
    }
    *ready = tn_event_retain(tn_event_done());
    return NULL;
}

tn_status *tn_buffer_from_host(tn_memory *m, const tn_host_array *array,
                               tn_host_semantics semantics, const tn_layout *device_layout,
                               tn_event **done, tn_buffer **out)
{
    const tn_type *type = array->type;
    size_t bytes;
    TN_TRY(tn_client_check(m->device->client));
    TN_TRY(tn_buffer_check_type(type, &bytes));
    TN_TRY(tn_layout_check_device(device_layout, type));
    if (!array->data && bytes > 0)
        return TN_ERROR(INVALID_ARGUMENT, "host array of %zu bytes at NULL", bytes);

    int64_t few[16], *strides = type->rank <= 8 ? few : malloc(2 * type->rank * sizeof *strides);
    if (!strides) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for strides");
    incoming in = {.memory = m,
                   .array = array,
                   .semantics = semantics,
                   .bytes = bytes,
                   .strides = strides,
                   .device_strides = strides + type->rank};
    tn_storage *storage = NULL;
    tn_event *ready = NULL;
    *done = NULL;
    tn_status *s = tn_layout_strides(array->layout, type, strides);
    if (!s) s = tn_layout_strides(device_layout, type, strides + type->rank);
    if (!s) {
        in.dense = tn_strides_agree(strides, in.device_strides, type) &&
                   !tn_element_is_padded(type->element);
        s = receive(&in, &storage, done, &ready);
    }
    if (strides != few) free(strides);
    if (!s) {
        s = tn_buffer_create(m, type, device_layout, storage, ready, out);
    } else {
        tn_storage_release(storage);
        tn_event_release(ready);
    }
    if (s) {
        tn_event_release(*done);
        *done = NULL;
    }
    return s;
}
