/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/transfer_manager.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/host_memory.h"
#include "base/log.h"
#include "runtime/layout.h"
#include "runtime/transfer_internal.h"

/* One buffer on its way. */
typedef struct {
    tn_promise promise; /* of its readiness */
    tn_buffer *buffer;
    tn_storage *storage;
    bool retrieved;
    bool closed;      /* the last piece, or an error, has been given */
    unsigned pending; /* pieces under way */
    tn_status *error; /* the first one */
} slot;

/* Pieces under way hold the manager. */
struct tn_transfer_manager {
    tn_ref ref;
    tn_memory *memory;
    pthread_mutex_t lock; /* the slots */
    size_t n;
    slot slots[];
};

static tn_status *find(const tn_transfer_manager *t, int index, slot **out)
{
    if (index < 0 || (size_t)index >= t->n)
        return TN_ERROR(INVALID_ARGUMENT, "buffer %d of a transfer of %zu buffers", index, t->n);
    *out = (slot *)&t->slots[index];
    return NULL;
}

static void release(tn_transfer_manager *t)
{
    if (!tn_ref_release(&t->ref)) return;
    tn_client *client = t->memory->device->client;
    for (size_t i = 0; i < t->n; i++) {
        slot *s = &t->slots[i];
        tn_promise_remove(&s->promise);
        tn_event_release(s->promise.event);
        tn_storage_release(s->storage);
        tn_buffer_release(s->buffer);
        tn_status_free(s->error);
    }
    pthread_mutex_destroy(&t->lock);
    free(t);
    tn_client_release(client);
}

static tn_status *make_slot(slot *s, tn_memory *m, const tn_type *type, const tn_layout *layout)
{
    size_t bytes;
    TN_TRY(tn_buffer_check_type(type, &bytes));
    TN_TRY(tn_layout_check_device(layout, type));
    TN_TRY(tn_storage_create(m, bytes, &s->storage));
    tn_event *ready;
    TN_TRY(tn_event_create(&ready));
    tn_promise_add(&s->promise, m->device->client, ready);
    return tn_buffer_create(m, type, layout, tn_storage_retain(s->storage), tn_event_retain(ready),
                            &s->buffer);
}

tn_status *tn_transfer_manager_create(tn_memory *m, size_t n, const tn_type *const *types,
                                      const tn_layout *const *layouts, tn_transfer_manager **out)
{
    TN_TRY(tn_client_check(m->device->client));
    if (n > INT32_MAX) return TN_ERROR(INVALID_ARGUMENT, "transfer of %zu buffers", n);
    tn_transfer_manager *t = calloc(1, sizeof *t + n * sizeof t->slots[0]);
    if (!t) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a transfer of %zu buffers", n);
    tn_ref_init(&t->ref);
    t->memory = m;
    pthread_mutex_init(&t->lock, NULL);
    tn_client_retain(m->device->client);
    for (size_t i = 0; i < n; i++) {
        t->n = i + 1;
        tn_status *s = make_slot(&t->slots[i], m, types[i], layouts ? layouts[i] : NULL);
        if (s) {
            release(t);
            return tn_status_annotate(s, "buffer %zu of a transfer", i);
        }
    }
    *out = t;
    return NULL;
}

/* Makes the buffer ready if nothing more will come. The caller holds the lock, and calls the
 * returned function's work outside of it: the event and what to set it to. */
static tn_event *completed(slot *s, tn_status **error)
{
    if (!s->closed || s->pending > 0) return NULL;
    *error = tn_status_ref(s->error);
    return tn_event_retain(s->promise.event);
}

static void complete(tn_event *e, tn_status *error)
{
    if (!e) return;
    tn_event_set(e, error);
    tn_event_release(e);
}

/* Gives up a slot that got neither data nor error; the caller does not hold the lock. */
static void close_slot(tn_transfer_manager *t, slot *s, tn_status *error)
{
    tn_status *result = NULL;
    pthread_mutex_lock(&t->lock);
    if (!s->error) {
        s->error = error;
        error = NULL;
    }
    s->closed = true;
    tn_event *e = completed(s, &result);
    pthread_mutex_unlock(&t->lock);
    tn_status_free(error);
    complete(e, result);
}

void tn_transfer_manager_destroy(tn_transfer_manager *t)
{
    if (!t || tn_is_forked(t->memory->device->client->fork_generation)) return;
    for (size_t i = 0; i < t->n; i++) {
        pthread_mutex_lock(&t->lock);
        bool open = !t->slots[i].closed;
        pthread_mutex_unlock(&t->lock);
        if (open)
            close_slot(t, &t->slots[i],
                       TN_ERROR(CANCELLED, "the transfer of the buffer was given up"));
    }
    release(t);
}

tn_device *tn_transfer_manager_device(const tn_transfer_manager *t)
{
    return t->memory->device;
}

size_t tn_transfer_manager_count(const tn_transfer_manager *t)
{
    return t->n;
}

tn_status *tn_transfer_manager_bytes(const tn_transfer_manager *t, int index, size_t *out)
{
    slot *s;
    TN_TRY(find(t, index, &s));
    *out = s->buffer->bytes;
    return NULL;
}

tn_status *tn_transfer_manager_retrieve(tn_transfer_manager *t, int index, tn_buffer **out)
{
    slot *s;
    TN_TRY(find(t, index, &s));
    TN_TRY(tn_client_check(t->memory->device->client));
    pthread_mutex_lock(&t->lock);
    bool again = s->retrieved;
    s->retrieved = true;
    pthread_mutex_unlock(&t->lock);
    if (again) return TN_ERROR(FAILED_PRECONDITION, "buffer %d was retrieved before", index);
    *out = tn_buffer_retain(s->buffer);
    return NULL;
}

/* A piece under way. */
typedef struct {
    tn_transfer_manager *manager;
    slot *slot;
    tn_event *done;
} piece;

static void piece_is_written(void *arg, tn_status *error)
{
    piece p = *(piece *)arg;
    free(arg);
    tn_status *result = NULL;
    pthread_mutex_lock(&p.manager->lock);
    p.slot->pending--;
    if (!p.slot->error) p.slot->error = tn_status_ref(error);
    tn_event *ready = completed(p.slot, &result);
    pthread_mutex_unlock(&p.manager->lock);
    tn_event_set(p.done, error);
    tn_event_release(p.done);
    complete(ready, result);
    release(p.manager);
}

/* Enters a piece, if the slot takes any more. */
static tn_status *open_piece(tn_transfer_manager *t, int index, bool last, piece **out)
{
    slot *s;
    TN_TRY(find(t, index, &s));
    piece *p = malloc(sizeof *p);
    if (!p) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a transfer");
    *p = (piece){.manager = t, .slot = s};
    tn_status *e = tn_event_create(&p->done);
    if (!e) {
        pthread_mutex_lock(&t->lock);
        if (s->closed) {
            e = TN_ERROR(FAILED_PRECONDITION, "buffer %d has got its last piece before", index);
        } else {
            s->pending++;
            s->closed = last;
        }
        pthread_mutex_unlock(&t->lock);
    }
    if (e) {
        tn_event_release(p->done);
        free(p);
        return e;
    }
    tn_ref_retain(&t->ref);
    *out = p;
    return NULL;
}

/* Writes a piece; its failure to start is that of the piece. */
static void write_piece(piece *p, const void *src, size_t offset, size_t size, void *staging,
                        tn_event **done)
{
    *done = tn_event_retain(p->done);
    tn_status *s =
        tn_storage_write(p->slot->storage, offset, src, size, staging, size, piece_is_written, p);
    if (s) piece_is_written(p, s);
}

tn_status *tn_transfer_manager_write(tn_transfer_manager *t, int index, const void *data,
                                     int64_t offset, int64_t size, bool last, tn_event **done)
{
    slot *s;
    piece *p;
    TN_TRY(find(t, index, &s));
    TN_TRY(tn_client_check(t->memory->device->client));
    size_t bytes = s->buffer->bytes;
    if (offset < 0 || size < 0 || (uint64_t)offset > bytes ||
        (uint64_t)size > bytes - (uint64_t)offset || (!data && size > 0))
        return TN_ERROR(INVALID_ARGUMENT,
                        "transfer of [%" PRId64 ", + %" PRId64 ") at %p to buffer %d of %zu bytes",
                        offset, size, data, index, bytes);
    TN_TRY(open_piece(t, index, last, &p));
    write_piece(p, data, (size_t)offset, (size_t)size, NULL, done);
    return NULL;
}

/* Packs the array into a staging block. */
static tn_status *pack(tn_transfer_manager *t, const tn_host_array *array, const tn_buffer *b,
                       void **staging)
{
    size_t bytes = b->bytes, rank = array->type->rank;
    tn_layout layout;
    int64_t *strides = malloc((2 * rank + 1) * sizeof *strides);
    *staging = tn_host_memory_alloc(bytes);
    tn_status *s = NULL;
    if (!strides || !*staging)
        s = TN_ERROR(RESOURCE_EXHAUSTED, "no host memory to stage %zu bytes", bytes);
    if (!s) s = tn_layout_strides(array->layout, array->type, strides);
    if (!s) s = tn_layout_strides(tn_buffer_layout(b, &layout), array->type, strides + rank);
    if (!s && bytes > 0)
        s = tn_host_array_pack(t->memory->device->client->pool, array, strides, strides + rank,
                               *staging);
    free(strides);
    if (s) tn_host_memory_free(*staging, bytes);
    return s;
}

tn_status *tn_transfer_manager_write_array(tn_transfer_manager *t, int index,
                                           const tn_host_array *array, tn_event **done)
{
    slot *s;
    piece *p;
    void *staging;
    TN_TRY(find(t, index, &s));
    TN_TRY(tn_client_check(t->memory->device->client));
    if (!tn_type_equal(array->type, &s->buffer->type)) {
        char expected[128], got[128];
        return TN_ERROR(INVALID_ARGUMENT, "array of %s for buffer %d of %s",
                        tn_type_format(array->type, got, sizeof got), index,
                        tn_type_format(&s->buffer->type, expected, sizeof expected));
    }
    size_t bytes = s->buffer->bytes;
    if (!array->data && bytes > 0) return TN_ERROR(INVALID_ARGUMENT, "host array at NULL");
    TN_TRY(pack(t, array, s->buffer, &staging));
    tn_status *e = open_piece(t, index, true, &p);
    if (e) {
        tn_host_memory_free(staging, bytes);
        return e;
    }
    write_piece(p, staging, 0, bytes, staging, done);
    return NULL;
}

tn_status *tn_transfer_manager_set_error(tn_transfer_manager *t, int index, tn_status *error)
{
    slot *s;
    tn_status *e = find(t, index, &s);
    if (!e) e = tn_client_check(t->memory->device->client);
    if (!e && !error) e = TN_ERROR(INVALID_ARGUMENT, "buffer %d is set to no error", index);
    if (!e) {
        pthread_mutex_lock(&t->lock);
        if (s->closed)
            e = TN_ERROR(FAILED_PRECONDITION, "buffer %d has got its last piece before", index);
        pthread_mutex_unlock(&t->lock);
    }
    if (e) {
        tn_status_free(error);
        return e;
    }
    close_slot(t, s, error);
    return NULL;
}

void tn_transfer_manager_add_metadata(tn_transfer_manager *t, const tn_named_value *values,
                                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        tn_log(TN_LOG_DEBUG, "runtime", "transfer of %zu buffers: %.*s%s%.*s", t->n,
               (int)values[i].name_size, values[i].name,
               values[i].kind == TN_VALUE_STRING ? " = " : "",
               values[i].kind == TN_VALUE_STRING ? (int)values[i].size : 0,
               values[i].kind == TN_VALUE_STRING ? values[i].string : "");
}
