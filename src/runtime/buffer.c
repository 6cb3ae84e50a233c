/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/buffer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/host_memory.h"
#include "runtime/buffer_internal.h"
#include "runtime/layout.h"

static tn_client *client_of(const tn_buffer *b)
{
    return b->memory->device->client;
}

tn_status *tn_buffer_deleted_error(void)
{
    return TN_ERROR(INVALID_ARGUMENT, "Buffer has been deleted or donated");
}

/* ---- Making ---- */

tn_status *tn_buffer_check_type(const tn_type *type, size_t *bytes)
{
    *bytes = 0;
    if (type->kind == TN_TYPE_TOKEN) return NULL;
    if (type->kind != TN_TYPE_TENSOR)
        return TN_ERROR(INVALID_ARGUMENT,
                        "a buffer holds a tensor or a token, not a type of kind %d",
                        (int)type->kind);
    size_t element = tn_element_type_bytes(type->element);
    if (element == 0 && type->element != TN_TOKEN)
        return TN_ERROR(INVALID_ARGUMENT, "element type %d does not exist here",
                        (int)type->element);

    int64_t n = (int64_t)element;
    bool empty = false, overflow = false;
    for (uint32_t d = 0; d < type->rank; d++) {
        if (type->dims[d] < 0)
            return TN_ERROR(INVALID_ARGUMENT, "dimension %" PRIu32 " is %" PRId64, d,
                            type->dims[d]);
        empty = empty || type->dims[d] == 0;
        overflow = overflow || __builtin_mul_overflow(n, type->dims[d], &n);
    }
    if (overflow && !empty)
        return TN_ERROR(INVALID_ARGUMENT,
                        "an array of %" PRIu32 " dimensions has too many elements", type->rank);
    *bytes = empty ? 0 : (size_t)n;
    return NULL;
}

tn_status *tn_buffer_create(tn_memory *m, const tn_type *type, const tn_layout *layout,
                            tn_storage *storage, tn_event *ready, tn_buffer **out)
{
    size_t bytes;
    uint32_t rank = type->rank;
    tn_status *s = tn_buffer_check_type(type, &bytes);
    tn_buffer *b = s ? NULL : malloc(sizeof *b + 2 * (size_t)rank * sizeof b->numbers[0]);
    if (!b) {
        tn_storage_release(storage);
        tn_event_release(ready);
        return s ? s : TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a buffer");
    }
    *b = (tn_buffer){
        .memory = m,
        .type = {.kind = type->kind, .element = type->element, .rank = rank, .dims = b->numbers},
        .bytes = bytes,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .ready = ready,
        .storage = storage,
    };
    tn_ref_init(&b->ref);
    for (uint32_t d = 0; d < rank; d++) b->numbers[d] = type->dims[d];
    tn_client_retain(m->device->client);
    s = tn_layout_order(layout, type, b->numbers + rank);
    if (s) {
        tn_buffer_release(b);
        return s;
    }
    *out = b;
    return NULL;
}

/* What all that make a buffer check first. */
static tn_status *check_new(tn_memory *m, const tn_type *type, const tn_layout *layout,
                            size_t *bytes)
{
    TN_TRY(tn_client_check(m->device->client));
    TN_TRY(tn_buffer_check_type(type, bytes));
    return tn_layout_check_device(layout, type);
}

tn_status *tn_buffer_create_uninitialized(tn_memory *m, const tn_type *type,
                                          const tn_layout *layout, tn_buffer **out)
{
    size_t bytes;
    tn_storage *storage;
    TN_TRY(check_new(m, type, layout, &bytes));
    TN_TRY(tn_storage_create(m, bytes, &storage));
    return tn_buffer_create(m, type, layout, storage, tn_event_retain(tn_event_done()), out);
}

tn_status *tn_buffer_create_view(tn_memory *m, const tn_type *type, const tn_layout *layout,
                                 void *data, void (*on_delete)(void *data, void *arg), void *arg,
                                 tn_buffer **out)
{
    size_t bytes;
    tn_storage *storage;
    TN_TRY(check_new(m, type, layout, &bytes));
    if (!data && bytes > 0) return TN_ERROR(INVALID_ARGUMENT, "view of %zu bytes at NULL", bytes);
    if (m->addressable && (uintptr_t)data % TN_ALIGNMENT)
        return TN_ERROR(INVALID_ARGUMENT, "view of memory at %p, which is not aligned to %d bytes",
                        data, (int)TN_ALIGNMENT);
    TN_TRY(tn_storage_create_foreign(m, data, bytes, false, NULL, arg, &storage));
    tn_status *s =
        tn_buffer_create(m, type, layout, storage, tn_event_retain(tn_event_done()), out);
    if (!s) storage->on_delete = on_delete; /* only now, as a failed call must not call it */
    return s;
}

tn_status *tn_buffer_create_error(tn_memory *m, const tn_type *type, const tn_layout *layout,
                                  tn_status *error, tn_buffer **out)
{
    size_t bytes;
    tn_event *ready;
    tn_status *s = error ? check_new(m, type, layout, &bytes)
                         : TN_ERROR(INVALID_ARGUMENT, "an error buffer needs an error");
    if (s) {
        tn_status_free(error);
        return s;
    }
    TN_TRY(tn_event_create_ready(error, &ready));
    return tn_buffer_create(m, type, layout, NULL, ready, out);
}

tn_status *tn_buffer_bitcast(tn_buffer *b, const tn_type *type, const tn_layout *layout,
                             tn_buffer **out)
{
    size_t bytes;
    TN_TRY(check_new(b->memory, type, layout, &bytes));
    if (bytes != b->bytes)
        return TN_ERROR(INVALID_ARGUMENT, "bitcast to a type of %zu bytes, the buffer has %zu",
                        bytes, b->bytes);
    if (tn_element_is_padded(type->element) && type->element != b->type.element)
        return TN_ERROR(UNIMPLEMENTED, "bitcast to %s, whose elements take a byte each",
                        tn_element_type_text(type->element));

    pthread_mutex_lock(&b->lock);
    tn_storage *storage = b->deleted || !b->storage ? NULL : tn_storage_retain(b->storage);
    tn_event *ready = b->deleted ? NULL : tn_event_retain(b->ready);
    if (storage) atomic_fetch_add_explicit(&storage->shares, 1, memory_order_relaxed);
    pthread_mutex_unlock(&b->lock);
    if (!ready) return tn_buffer_deleted_error();
    return tn_buffer_create(b->memory, type, layout, storage, ready, out);
}

/* ---- Life ---- */

static void drop_storage(tn_storage *s)
{
    if (!s) return;
    atomic_fetch_sub_explicit(&s->shares, 1, memory_order_release);
    tn_storage_release(s);
}

tn_buffer *tn_buffer_retain(tn_buffer *b)
{
    tn_ref_retain(&b->ref);
    return b;
}

void tn_buffer_release(tn_buffer *b)
{
    if (!b || !tn_ref_release(&b->ref)) return;
    tn_client *c = client_of(b);
    if (tn_is_forked(c->fork_generation)) return;
    drop_storage(b->storage);
    tn_event_release(b->ready);
    pthread_mutex_destroy(&b->lock);
    free(b);
    tn_client_release(c);
}

void tn_buffer_delete(tn_buffer *b)
{
    if (tn_is_forked(client_of(b)->fork_generation)) return;
    pthread_mutex_lock(&b->lock);
    tn_storage *storage = b->external == 0 ? b->storage : NULL;
    tn_event *ready = b->ready;
    b->deleted = true;
    b->leaving = false;
    b->ready = NULL;
    if (storage) b->storage = NULL;
    pthread_mutex_unlock(&b->lock);
    drop_storage(storage);
    tn_event_release(ready);
}

bool tn_buffer_is_deleted(const tn_buffer *b)
{
    return atomic_load_explicit(&b->deleted, memory_order_acquire);
}

tn_content tn_buffer_take(tn_buffer *b)
{
    tn_content c = {.storage = b->storage, .ready = b->ready};
    b->deleted = true;
    b->storage = NULL;
    b->ready = NULL;
    return c;
}

tn_status *tn_buffer_read(tn_buffer *b, tn_content *out)
{
    pthread_mutex_lock(&b->lock);
    bool deleted = b->deleted;
    if (!deleted) {
        *out = (tn_content){.ready = tn_event_retain(b->ready)};
        if (b->storage) {
            out->storage = tn_storage_retain(b->storage);
            out->reading = true;
            atomic_fetch_add_explicit(&b->storage->reads, 1, memory_order_relaxed);
        }
    }
    pthread_mutex_unlock(&b->lock);
    return deleted ? tn_buffer_deleted_error() : NULL;
}

void tn_content_release(tn_content *c)
{
    if (c->reading) atomic_fetch_sub_explicit(&c->storage->reads, 1, memory_order_release);
    tn_storage_release(c->storage);
    tn_event_release(c->ready);
    *c = (tn_content){0};
}

/* ---- Getters ---- */

const tn_type *tn_buffer_type(const tn_buffer *b)
{
    return &b->type;
}

const tn_layout *tn_buffer_layout(const tn_buffer *b, tn_layout *room)
{
    uint32_t rank = b->type.rank, i = 0;
    *room = (tn_layout){.rank = rank, .values = b->numbers + rank};
    while (i < rank && room->values[i] == (int64_t)rank - 1 - i) i++;
    return i < rank ? room : NULL;
}

const int64_t *tn_buffer_minor_to_major(const tn_buffer *b)
{
    return b->numbers + b->type.rank;
}

size_t tn_buffer_bytes(const tn_buffer *b)
{
    return b->bytes;
}

tn_memory *tn_buffer_memory(const tn_buffer *b)
{
    return b->memory;
}

tn_device *tn_buffer_device(const tn_buffer *b)
{
    return b->memory->device;
}

bool tn_buffer_is_on_host(const tn_buffer *b)
{
    return b->memory->addressable;
}

tn_status *tn_buffer_ready_event(tn_buffer *b, tn_event **out)
{
    /* In the event, since jaxlib ends the process when there is none. */
    if (tn_is_forked(client_of(b)->fork_generation))
        return tn_event_create_ready(tn_fork_error(), out);
    pthread_mutex_lock(&b->lock);
    tn_event *e = b->ready ? tn_event_retain(b->ready) : NULL;
    pthread_mutex_unlock(&b->lock);
    if (!e) return tn_event_create_ready(tn_buffer_deleted_error(), out);
    *out = e;
    return NULL;
}

/* ---- The memory itself ---- */

tn_status *tn_buffer_add_external_reference(tn_buffer *b)
{
    TN_TRY(tn_is_forked(client_of(b)->fork_generation) ? tn_fork_error() : NULL);
    tn_status *s = NULL;
    pthread_mutex_lock(&b->lock);
    if (b->deleted) s = tn_buffer_deleted_error();
    else if (b->external == UINT32_MAX)
        s = TN_ERROR(RESOURCE_EXHAUSTED, "too many external references");
    else b->external++;
    pthread_mutex_unlock(&b->lock);
    return s;
}

tn_status *tn_buffer_drop_external_reference(tn_buffer *b)
{
    if (tn_is_forked(client_of(b)->fork_generation)) return NULL; /* it is the parent's to count */
    tn_storage *storage = NULL;
    pthread_mutex_lock(&b->lock);
    bool held = b->external > 0;
    if (held && --b->external == 0 && b->deleted) {
        storage = b->storage;
        b->storage = NULL;
    }
    pthread_mutex_unlock(&b->lock);
    drop_storage(storage);
    return held ? NULL : TN_ERROR(INVALID_ARGUMENT, "the buffer has no external reference");
}

static tn_status *address(const tn_buffer *b, const tn_storage *s, void **out)
{
    *out = s->host;
    if (s->host || !s->mem) return NULL;
    const tn_driver *driver = &client_of(b)->driver;
    if (!driver->address)
        return TN_ERROR(UNIMPLEMENTED, "driver %s has no addresses", driver->name);
    return driver->address(b->memory->device->handle, s->mem, out);
}

tn_status *tn_buffer_pointer(tn_buffer *b, void **out)
{
    *out = NULL;
    TN_TRY(tn_is_forked(client_of(b)->fork_generation) ? tn_fork_error() : NULL);
    tn_status *s = NULL;
    pthread_mutex_lock(&b->lock);
    if (!b->storage && b->ready && tn_event_peek(b->ready))
        s = tn_status_ref(tn_event_peek(b->ready));
    else if (!b->storage) s = tn_buffer_deleted_error();
    else if (b->storage->unplaced && b->ready && !tn_event_is_ready(b->ready))
        s = TN_ERROR(FAILED_PRECONDITION, "the memory of an alias is not known yet");
    else s = address(b, b->storage, out);
    pthread_mutex_unlock(&b->lock);
    return s;
}
