/* SPDX-License-Identifier: Apache-2.0 */
/* alias.c - buffers that become ready when their maker says so: aliases of buffers to come, and
 * contents that change hands under a condition. */
#include <stdlib.h>
#include <string.h>

#include "runtime/layout.h"
#include "runtime/transfer_internal.h"

/* ---- Aliases ---- */

struct tn_buffer_promise {
    tn_promise promise; /* of the alias's readiness */
    tn_waiter waiter;   /* for the source */
    tn_buffer *alias;
    tn_storage *storage; /* the alias's, unplaced */
    tn_storage *source;  /* counted in its shares */
    tn_event *source_ready;
};

static tn_status *no_memory(void)
{
    return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a promise");
}

tn_status *tn_buffer_create_alias(tn_memory *m, const tn_type *type, const tn_layout *layout,
                                  tn_buffer **out, tn_buffer_promise **promise)
{
    tn_client *client = m->device->client;
    size_t bytes;
    TN_TRY(tn_client_check(client));
    TN_TRY(tn_buffer_check_type(type, &bytes));
    TN_TRY(tn_layout_check_device(layout, type));

    tn_buffer_promise *p = calloc(1, sizeof *p);
    if (!p) return no_memory();
    tn_event *ready = NULL;
    tn_status *s = tn_event_create(&ready);
    if (!s) s = tn_storage_create_unplaced(m, &p->storage);
    if (!s)
        s = tn_buffer_create(m, type, layout, tn_storage_retain(p->storage), tn_event_retain(ready),
                             &p->alias);
    if (s) {
        tn_storage_release(p->storage);
        tn_event_release(ready);
        free(p);
        return s;
    }
    tn_promise_add(&p->promise, client, ready);
    *out = tn_buffer_retain(p->alias);
    *promise = p;
    return NULL;
}

/* Ends the promise; takes the error. */
static void settle(tn_buffer_promise *p, tn_status *s)
{
    tn_event *ready = p->promise.event;
    if (p->source && !s) tn_storage_place(p->storage, p->source); /* takes over the share */
    else if (p->source) atomic_fetch_sub_explicit(&p->source->shares, 1, memory_order_release);
    tn_event_set(ready, s);
    tn_event_release(ready);
    tn_storage_release(p->source);
    tn_storage_release(p->storage);
    tn_event_release(p->source_ready);
    tn_buffer_release(p->alias);
    free(p);
}

static void source_is_ready(tn_waiter *w, const tn_status *s)
{
    settle(TN_CONTAINER(w, tn_buffer_promise, waiter), tn_status_ref(s));
}

/* Whether the alias can be the source; takes part in its content if so. */
static tn_status *bind(tn_buffer_promise *p, tn_buffer *source)
{
    const tn_buffer *alias = p->alias;
    if (source->memory != alias->memory || !tn_type_equal(&source->type, &alias->type) ||
        memcmp(tn_buffer_minor_to_major(source), tn_buffer_minor_to_major(alias),
               alias->type.rank * sizeof(int64_t))) {
        char expected[128], got[128];
        return TN_ERROR(INVALID_ARGUMENT, "alias of %s in %s can't be a buffer of %s in %s",
                        tn_type_format(&alias->type, expected, sizeof expected),
                        alias->memory->debug_string, tn_type_format(&source->type, got, sizeof got),
                        source->memory->debug_string);
    }
    pthread_mutex_lock(&source->lock);
    if (!source->deleted) {
        p->source_ready = tn_event_retain(source->ready);
        if (source->storage) {
            p->source = tn_storage_retain(source->storage);
            atomic_fetch_add_explicit(&p->source->shares, 1, memory_order_relaxed);
        }
    }
    pthread_mutex_unlock(&source->lock);
    return p->source_ready ? NULL : tn_buffer_deleted_error();
}

tn_status *tn_buffer_promise_fulfill(tn_buffer_promise *p, tn_buffer *source, tn_status *error)
{
    tn_promise_remove(&p->promise);
    if (!source) {
        settle(p, error ? error : TN_ERROR(INTERNAL, "an alias was given up without an error"));
        return NULL;
    }
    tn_status_free(error);
    tn_status *s = bind(p, source);
    if (s) {
        settle(p, tn_status_ref(s));
        return s;
    }
    p->waiter.fn = source_is_ready;
    if (!tn_event_add_waiter(p->source_ready, &p->waiter))
        settle(p, tn_status_ref(tn_event_peek(p->source_ready)));
    return NULL;
}

/* ---- Donation under a condition ---- */

/* Holds the client, since who sets the condition need not. */
typedef struct {
    tn_promise promise; /* of the condition */
    tn_waiter on_condition, on_content;
    atomic_uint left; /* of the two */
    tn_event *content, *both;
} condition;

static void one_is_ready(condition *c)
{
    if (atomic_fetch_sub_explicit(&c->left, 1, memory_order_acq_rel) > 1) return;
    const tn_status *s = tn_event_peek(c->promise.event);
    if (!s) s = tn_event_peek(c->content);
    tn_event_set(c->both, tn_status_ref(s));
    tn_promise_remove(&c->promise);
    tn_event_release(c->promise.event);
    tn_event_release(c->content);
    tn_event_release(c->both);
    tn_client_release(c->promise.client);
    free(c);
}

static void condition_is_ready(tn_waiter *w, const tn_status *s)
{
    one_is_ready(TN_CONTAINER(w, condition, on_condition));
}

static void content_is_ready(tn_waiter *w, const tn_status *s)
{
    one_is_ready(TN_CONTAINER(w, condition, on_content));
}

static tn_status *take(tn_buffer *b, tn_content *out)
{
    tn_status *s = NULL;
    pthread_mutex_lock(&b->lock);
    if (b->deleted) s = tn_buffer_deleted_error();
    else if (b->external > 0)
        s = TN_ERROR(FAILED_PRECONDITION, "donation of a buffer with %u external references",
                     b->external);
    else *out = tn_buffer_take(b);
    pthread_mutex_unlock(&b->lock);
    return s;
}

tn_status *tn_buffer_donate_after(tn_buffer *b, tn_event **dependency, tn_buffer **out)
{
    tn_client *client = b->memory->device->client;
    TN_TRY(tn_client_check(client));
    condition *c = calloc(1, sizeof *c);
    if (!c) return no_memory();
    tn_event *asked = NULL;
    tn_buffer *result = NULL;
    tn_content content = {0};
    tn_layout layout;
    tn_status *s = tn_event_create(&asked);
    if (!s) s = tn_event_create(&c->both);
    if (!s)
        s = tn_buffer_create(b->memory, &b->type, tn_buffer_layout(b, &layout), NULL,
                             tn_event_retain(c->both), &result);
    if (!s) s = take(b, &content);
    if (s) {
        tn_buffer_release(result);
        tn_event_release(c->both);
        tn_event_release(asked);
        free(c);
        return s;
    }
    result->storage = content.storage;
    c->content = content.ready;
    c->on_condition.fn = condition_is_ready;
    c->on_content.fn = content_is_ready;
    atomic_init(&c->left, 2);
    *dependency = asked;
    *out = result;
    tn_promise_add(&c->promise, tn_client_retain(client), tn_event_retain(asked));
    /* The client may be closing, which sets `asked`. */
    if (!tn_event_add_waiter(asked, &c->on_condition)) one_is_ready(c);
    if (!tn_event_add_waiter(content.ready, &c->on_content)) one_is_ready(c);
    return NULL;
}
