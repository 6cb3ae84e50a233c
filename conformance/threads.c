/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "conformance/check.h"

typedef struct {
    context *c;
    PJRT_LoadedExecutable *e;
    int number;
} worker;

static void *run_own(void *user)
{
    worker *w = user;
    context *c = w->c;
    float v = (float)w->number;
    for (int i = 0; i < 100; i++) {
        PJRT_Buffer *in[] = {floats(c, c->device, v, 2 * v, 3 * v, 4 * v),
                             floats(c, c->device, (float)i, 1, 1, 1)},
                    *out;
        check_ok(c, __FILE__, __LINE__, execute(c, w->e, in, 2, &out, NULL));
        expect_floats(c, out, v + (float)i, 2 * v + 1, 3 * v + 1, 4 * v + 1);
        for (int k = 0; k < 2; k++) destroy_buffer(c, in[k]);
        destroy_buffer(c, out);
    }
    return NULL;
}

static void in_eight(context *c, void *(*body)(void *), PJRT_LoadedExecutable *e)
{
    pthread_t t[8];
    worker w[8];
    for (int i = 0; i < 8; i++) {
        w[i] = (worker){c, e, i};
        CHECK(!pthread_create(&t[i], NULL, body, &w[i]));
    }
    for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
}

static void one_executable(context *c)
{
    in_eight(c, run_own, load(c, "add", 1));
}

static atomic_int came;
static void on_ready(PJRT_Error *error, void *user)
{
    tn_status *s = tn_plugin_status(((context *)user)->plugin, error, "OnReady");
    if (!s) atomic_fetch_add(&came, 1);
    tn_status_free(s);
}

static PJRT_Event *shared_event;
static void *watch(void *user)
{
    worker *w = user;
    context *c = w->c;
    for (int i = 0; i < 50; i++) {
        ARGS(Event_OnReady, on, .event = shared_event, .callback = on_ready, .user_arg = c);
        OK(Event_OnReady, &on);
    }
    return NULL;
}

static void many_callbacks(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "busy", 1);
    PJRT_Buffer *in = scalar_u32(c, c->device, 7), *out;
    check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, NULL));
    shared_event = ready_event(c, out);
    in_eight(c, watch, NULL);
    check_ok(c, __FILE__, __LINE__, await_buffer(c, out));
    for (int i = 0; i < 2000 && came < 400; i++) usleep(1000);
    usleep(10000);
    CHECK_EQ(came, 400);
    end_event(c, shared_event);
}

static void *end_elsewhere(void *user)
{
    worker *w = user;
    unload(w->c, w->e);
    return NULL;
}

static void other_thread_ends(context *c)
{
    for (int i = 0; i < 3; i++) {
        PJRT_LoadedExecutable *e = load(c, "busy", 1);
        PJRT_Buffer *in = scalar_u32(c, c->device, 7), *out;
        check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, NULL));
        worker w = {c, e, 0};
        pthread_t t;
        CHECK(!pthread_create(&t, NULL, end_elsewhere, &w));
        destroy_buffer(c, in);
        pthread_join(t, NULL);
        check_ok(c, __FILE__, __LINE__, await_buffer(c, out));
        destroy_buffer(c, out);
    }
}

const check_row thread_checks[] = {
    {190, "eight threads run one executable on their own arrays", one_executable},
    {192, "callbacks asked for from eight threads come once each", many_callbacks},
    {193, "an executable is destroyed in another thread while its run goes on", other_thread_ends},
    {0}};
