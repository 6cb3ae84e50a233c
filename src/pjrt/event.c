/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "pjrt/object.h"
#include "runtime/execute.h"

tn_status *tn_pjrt_event_new(PJRT_Event **out)
{
    PJRT_Event *event = *out = malloc(sizeof *event);
    if (!event) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for an event");
    *event = (PJRT_Event){0};
    return NULL;
}

PJRT_Error *tn_pjrt_event_give(tn_status *s, PJRT_Event *event, PJRT_Event **out)
{
    if (s) free(event);
    else *out = event;
    return tn_pjrt_error(s);
}

PJRT_Error *tn_pjrt_Event_Destroy(PJRT_Event_Destroy_Args *args)
{
    if (!args->event) return NULL;
    tn_event_release(args->event->it);
    free(args->event);
    return NULL;
}

PJRT_Error *tn_pjrt_Event_IsReady(PJRT_Event_IsReady_Args *args)
{
    TN_PJRT_NEED(event);
    args->is_ready = tn_event_is_ready(args->event->it);
    return NULL;
}

PJRT_Error *tn_pjrt_Event_Error(PJRT_Event_Error_Args *args)
{
    TN_PJRT_NEED(event);
    return tn_pjrt_error(tn_event_error(args->event->it));
}

PJRT_Error *tn_pjrt_Event_Await(PJRT_Event_Await_Args *args)
{
    TN_PJRT_NEED(event);
    tn_execute_note_wait();
    return tn_pjrt_error(tn_event_await(args->event->it));
}

typedef struct {
    PJRT_Event_OnReadyCallback callback;
    void *user_arg;
} listener;

static void hand_over(tn_status *s, void *arg)
{
    listener l = *(listener *)arg;
    free(arg);
    l.callback(tn_pjrt_error(s), l.user_arg);
}

PJRT_Error *tn_pjrt_Event_OnReady(PJRT_Event_OnReady_Args *args)
{
    TN_PJRT_NEED(event);
    TN_PJRT_NEED(callback);
    if (tn_event_is_ready(args->event->it)) {
        args->callback(tn_pjrt_error(tn_event_error(args->event->it)), args->user_arg);
        return NULL;
    }
    listener *l = malloc(sizeof *l);
    if (!l) return TN_PJRT_ERROR(RESOURCE_EXHAUSTED, "no memory for a callback");
    *l = (listener){args->callback, args->user_arg};
    tn_status *s = tn_event_on_ready(args->event->it, hand_over, l);
    if (s) free(l);
    return tn_pjrt_error(s);
}

PJRT_Error *tn_pjrt_Event_Create(PJRT_Event_Create_Args *args)
{
    PJRT_Event *event;
    TN_PJRT_TRY(tn_pjrt_event_new(&event));
    return tn_pjrt_event_give(tn_event_create(&event->it), event, &args->event);
}

PJRT_Error *tn_pjrt_Event_Set(PJRT_Event_Set_Args *args)
{
    TN_PJRT_NEED(event);
    tn_status *s =
        tn_pjrt_status_of(args->error_code, args->error_message, args->error_message_size);
    if (tn_event_set(args->event->it, s)) return NULL;
    return TN_PJRT_ERROR(FAILED_PRECONDITION, "PJRT_Event_Set: the event has been set before");
}
