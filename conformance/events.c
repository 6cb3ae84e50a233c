/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "conformance/check.h"

typedef struct {
    context *c;
    atomic_int calls;
    int code; /* of the error that came; 0: none */
} ready;

static void on_ready(PJRT_Error *error, void *user)
{
    ready *r = user;
    tn_status *s = tn_plugin_status(r->c->plugin, error, "OnReady");
    r->code = (int)tn_status_code(s);
    tn_status_free(s);
    atomic_fetch_add(&r->calls, 1);
}

static void wait_for(atomic_int *calls, int n)
{
    for (int i = 0; i < 10000 && atomic_load(calls) < n; i++) usleep(1000);
}

static void watch(context *c, PJRT_Event *e, ready *r)
{
    ARGS(Event_OnReady, args, .event = e, .callback = on_ready, .user_arg = r);
    OK(Event_OnReady, &args);
}

static void destroy(context *c, PJRT_Event *e)
{
    ARGS(Event_Destroy, args, .event = e);
    OK(Event_Destroy, &args);
}

/* The output of a program that takes a while, and its event. */
static PJRT_Buffer *busy_output(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "busy", 1);
    PJRT_Buffer *in = scalar_u32(c, c->device, 7), *out;
    check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, NULL));
    destroy_buffer(c, in);
    unload(c, e);
    return out;
}

static void destroyed_event_still_fires(context *c)
{
    PJRT_Buffer *out = busy_output(c);
    PJRT_Event *e = ready_event(c, out);
    ready r = {.c = c};
    watch(c, e, &r);
    destroy(c, e);
    check_ok(c, __FILE__, __LINE__, await_buffer(c, out));
    wait_for(&r.calls, 1);
    usleep(20000);
    CHECK_EQ(r.calls, 1);
    CHECK_EQ(r.code, 0);
}

static void callback_on_finished_event(context *c)
{
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    check_ok(c, __FILE__, __LINE__, await_buffer(c, b));
    PJRT_Event *e = ready_event(c, b);
    ready r = {.c = c};
    watch(c, e, &r);
    wait_for(&r.calls, 1);
    usleep(20000);
    CHECK_EQ(r.calls, 1);
    destroy(c, e);
}

static void error_many_times(context *c)
{
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    delete_buffer(c, b);
    ARGS(Buffer_ReadyEvent, ready_args, .buffer = b);
    tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Buffer_ReadyEvent, &ready_args);
    check_ok(c, __FILE__, __LINE__, s);
    ARGS(Event_Await, wait, .event = ready_args.event);
    ARGS(Event_Error, error, .event = ready_args.event);
    FAILS(INVALID_ARGUMENT, Event_Await, &wait);
    FAILS(INVALID_ARGUMENT, Event_Error, &error);
    FAILS(INVALID_ARGUMENT, Event_Error, &error);
    destroy(c, ready_args.event);
}

static void await_blocks(context *c)
{
    PJRT_Buffer *out = busy_output(c);
    PJRT_Event *e = ready_event(c, out);
    ARGS(Event_Await, wait, .event = e);
    OK(Event_Await, &wait);
    ARGS(Event_IsReady, is, .event = e);
    OK(Event_IsReady, &is);
    CHECK(is.is_ready);
    ARGS(Event_Error, error, .event = e);
    OK(Event_Error, &error);
    destroy(c, e);
}

static void destroy_null(context *c)
{
    ARGS(Event_Destroy, args, .event = NULL);
    OK(Event_Destroy, &args);
}

static void set_once(context *c)
{
    if (!tn_plugin_has(c->plugin, offsetof(PJRT_Api, PJRT_Event_Set))) skip("older than 0.89");
    ARGS(Event_Create, make, .event = NULL);
    if (!OPTIONAL(Event_Create, &make)) skip("Event_Create is not implemented");
    ready r = {.c = c};
    watch(c, make.event, &r);
    ARGS(Event_IsReady, is, .event = make.event);
    OK(Event_IsReady, &is);
    CHECK(!is.is_ready);
    CHECK_EQ(r.calls, 0);
    char message[] = "seen before";
    ARGS(Event_Set, set, .event = make.event, .error_code = PJRT_Error_Code_DATA_LOSS,
         .error_message = message, .error_message_size = strlen(message));
    OK(Event_Set, &set);
    memset(message, 'x', sizeof message - 1);
    wait_for(&r.calls, 1);
    CHECK_EQ(r.calls, 1);
    CHECK_EQ(r.code, PJRT_Error_Code_DATA_LOSS);
    ARGS(Event_Error, error, .event = make.event);
    tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Event_Error, &error);
    expect_error(s, TN_DATA_LOSS, "seen before");
    destroy(c, make.event);
}

/* A callback that calls back into the plugin: it would hang if it came under a lock. */
typedef struct {
    context *c;
    PJRT_Buffer *buffer;
    atomic_int done;
} reentrant;

static void call_again(PJRT_Error *error, void *user)
{
    reentrant *r = user;
    context *c = r->c;
    check_ok(c, __FILE__, __LINE__, tn_plugin_status(c->plugin, error, "OnReady"));
    PJRT_Buffer *more = floats(c, c->device, 1, 2, 3, 4);
    destroy_buffer(c, more);
    CHECK(!is_deleted(c, r->buffer));
    check_ok(c, __FILE__, __LINE__, await_buffer(c, r->buffer));
    delete_buffer(c, r->buffer);
    atomic_store(&r->done, 1);
}

static void callback_without_locks(context *c)
{
    PJRT_Buffer *out = busy_output(c);
    reentrant r = {c, out, 0};
    PJRT_Event *e = ready_event(c, out);
    ARGS(Event_OnReady, args, .event = e, .callback = call_again, .user_arg = &r);
    OK(Event_OnReady, &args);
    wait_for(&r.done, 1);
    CHECK_EQ(r.done, 1);
    destroy(c, e);
}

const check_row event_checks[] = {
    {16, "an event destroyed right after OnReady still calls back, once",
     destroyed_event_still_fires},
    {17, "OnReady on a finished event calls back once", callback_on_finished_event},
    {18, "Event_Error gives a new error each time", error_many_times},
    {19, "Event_Await blocks until ready and agrees with Event_Error", await_blocks},
    {20, "destroying a NULL event is fine", destroy_null},
    {21, "Event_Set sets once and copies its message", set_once},
    {22, "callbacks come outside of the plugin's locks", callback_without_locks},
    {0}};
