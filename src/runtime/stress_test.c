/* SPDX-License-Identifier: Apache-2.0 */
/* stress_test.c - eight threads that compile, execute, copy, delete, donate and await on shared
 * buffers, for TN_STRESS_SECONDS (default 1). What can be read must be whole; what can't must say
 * why. Meant for TSan and ASan above all. */
#include "executable/program_test.h"
#include "runtime/program_test.h"

enum { THREADS = 8, SLOTS = 12 };

typedef struct {
    tn_client *client;
    program programs[3];
    tn_loaded_executable *loaded[3];
    pthread_mutex_t lock; /* slots */
    tn_buffer *slots[SLOTS];
    atomic_bool stop;
    atomic_int wrong, callbacks, asked, done_something;
} world;

typedef struct {
    world *world;
    uint64_t seed;
} worker;

static unsigned pick(worker *w, unsigned n)
{
    w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(w->seed >> 33) % n;
}

static tn_buffer *borrow(worker *w)
{
    world *o = w->world;
    pthread_mutex_lock(&o->lock);
    tn_buffer *b = tn_buffer_retain(o->slots[pick(w, SLOTS)]);
    pthread_mutex_unlock(&o->lock);
    return b;
}

/* Takes the buffer. */
static void store(worker *w, tn_buffer *b)
{
    world *o = w->world;
    pthread_mutex_lock(&o->lock);
    unsigned i = pick(w, SLOTS);
    tn_buffer *old = o->slots[i];
    o->slots[i] = b;
    pthread_mutex_unlock(&o->lock);
    tn_buffer_release(old);
}

/* The only error there is: a buffer of which somebody else has deleted the content. */
static bool is_fine(world *o, tn_status *s)
{
    bool ok = !s;
    if (s && !strstr(tn_status_message(s), "deleted or donated") &&
        !strstr(tn_status_message(s), "poison") && !strstr(tn_status_message(s), "external")) {
        fprintf(stderr, "%s\n", tn_status_message(s));
        atomic_fetch_add(&o->wrong, 1);
    }
    tn_status_free(s);
    return ok;
}

static bool await(world *o, tn_event *e)
{
    bool ok = is_fine(o, tn_event_await(e));
    tn_event_release(e);
    return ok;
}

static tn_memory *any_memory(worker *w)
{
    size_t n;
    tn_memory *const *all = tn_client_memories(w->world->client, &n);
    return all[pick(w, (unsigned)n)];
}

static void read_whole(worker *w, tn_buffer *b)
{
    float got[PROGRAM_N] = {-1, -2, -3, -4};
    tn_event *done;
    if (!is_fine(w->world, tn_buffer_to_host(b, NULL, got, sizeof got, &done))) return;
    if (!await(w->world, done)) return;
    for (int i = 0; i < PROGRAM_N; i++)
        if (got[i] != got[0] || got[i] < 0) atomic_fetch_add(&w->world->wrong, 1);
}

/* May wait for the run if `b` becomes ready without this thread. */
static void execute(worker *w, tn_buffer *b, bool may_wait)
{
    world *o = w->world;
    tn_loaded_executable *l = o->loaded[pick(w, 3)];
    tn_buffer *outs[2];
    tn_event *done;
    tn_execute_options options = {.launch_id = (int)pick(w, 5), .device = tn_buffer_device(b)};
    if (!is_fine(o, try_execute(l, &options, &b, 1, outs, &done))) return;
    if (may_wait && pick(w, 4) == 0) await(o, done);
    else tn_event_release(done);
    store(w, outs[0]);
    store(w, outs[1]);
}

static void build_increments(builder *b, void *ctx)
{
    float one = 1;
    begin_function(b, "main", PARAMS("4xf32"));
    tn_value *x = &b->region->args[0];
    tn_value *y = binary(b, TN_OP_add, x, splat(b, "4xf32", &one));
    RETURN(b, y, binary(b, TN_OP_add, y, y));
}

/* A program of the compiler, made, loaded, run and dropped at once. */
static void compile_and_execute(worker *w, tn_buffer *b)
{
    world *o = w->world;
    tn_executable *e = NULL;
    tn_loaded_executable *l = NULL;
    tn_buffer *outs[2];
    if (!is_fine(o, compile_program(build_increments, NULL, false, 0, &e))) return;
    tn_execute_options options = {.device = tn_buffer_device(b)};
    bool ok = is_fine(o, tn_loaded_executable_create_portable(o->client, e, &l)) &&
              is_fine(o, try_execute(l, &options, &b, 1, outs, NULL));
    tn_executable_release(e);
    tn_loaded_executable_release(l);
    if (!ok) return;
    store(w, outs[0]);
    store(w, outs[1]);
}

static void note(tn_status *s, void *arg)
{
    tn_status_free(s);
    atomic_fetch_add(&((world *)arg)->callbacks, 1);
}

static void refer(worker *w, tn_buffer *b)
{
    world *o = w->world;
    void *pointer;
    if (!is_fine(o, tn_buffer_add_external_reference(b))) return;
    tn_event *ready;
    if (is_fine(o, tn_buffer_ready_event(b, &ready)) && await(o, ready) &&
        is_fine(o, tn_buffer_pointer(b, &pointer)) && tn_buffer_is_on_host(b)) {
        float *x = pointer;
        for (int i = 1; i < PROGRAM_N; i++)
            if (x[i] != x[0]) atomic_fetch_add(&o->wrong, 1);
    }
    is_fine(o, tn_buffer_drop_external_reference(b));
}

static void promise(worker *w, tn_buffer *b)
{
    world *o = w->world;
    tn_buffer *alias;
    tn_buffer_promise *p;
    if (!is_fine(o, tn_buffer_create_alias(tn_buffer_memory(b), program_type(), NULL, &alias, &p)))
        return;
    execute(w, alias, false);
    is_fine(o, tn_buffer_promise_fulfill(p, b, NULL));
    store(w, alias);
}

static void move(worker *w, tn_buffer *b)
{
    tn_event *condition;
    tn_buffer *moved;
    if (!is_fine(w->world, tn_buffer_donate_after(b, &condition, &moved))) return;
    store(w, moved);
    tn_event_set(condition, NULL);
    tn_event_release(condition);
}

static void do_something(worker *w)
{
    world *o = w->world;
    tn_buffer *b = borrow(w), *other = NULL;
    tn_event *e;
    bool poisoned;
    switch (pick(w, 13)) {
    case 0: store(w, put_value(any_memory(w), (float)pick(w, 9))); break;
    case 1:
        if (is_fine(o, tn_buffer_copy_to_memory(b, any_memory(w), &other))) store(w, other);
        break;
    case 2: tn_buffer_delete(b); break;
    case 3: read_whole(w, b); break;
    case 4:
        if (is_fine(o, tn_buffer_ready_event(b, &e))) {
            atomic_fetch_add(&o->asked, 1);
            is_fine(o, tn_event_on_ready(e, note, o));
            tn_event_release(e);
        }
        break;
    case 5: refer(w, b); break;
    case 6:
        if (is_fine(o, tn_buffer_bitcast(b, program_type(), NULL, &other))) store(w, other);
        break;
    case 7: promise(w, b); break;
    case 8: move(w, b); break;
    case 9:
        tn_device_poison(tn_buffer_device(b), 1 + (int)pick(w, 4), TN_ERROR(ABORTED, "poison"),
                         &poisoned);
        break;
    case 10: compile_and_execute(w, b); break;
    default: execute(w, b, true); break;
    }
    tn_buffer_release(b);
    atomic_fetch_add(&o->done_something, 1);
}

static void *work(void *arg)
{
    worker *w = arg;
    while (!atomic_load(&w->world->stop)) do_something(w);
    return NULL;
}

static void make_programs(world *o)
{
    for (int i = 0; i < 3; i++) {
        program *p = &o->programs[i];
        make_program(p, 1, 2);
        if (i > 0) donate(p, 0, 1);
        if (i > 1) p->info.cost_ns = UINT64_MAX;
        tn_program what = {
            .info = &p->info, .run = run_program, .release = keep_program, .self = p};
        assert_ok(tn_loaded_executable_create_from(o->client, &what, NULL, 0, true, &o->loaded[i]));
    }
}

static void threads_share_buffers(void **state)
{
    world *o = calloc(1, sizeof *o);
    o->client = open_client(state);
    pthread_mutex_init(&o->lock, NULL);
    make_programs(o);
    for (int i = 0; i < SLOTS; i++) o->slots[i] = put_value(memory(o->client, i % 2, 0), 1);

    worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){o, (uint64_t)i * 7919 + 1};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    const char *seconds = getenv("TN_STRESS_SECONDS");
    sleep_ms(1000 * (seconds ? atoi(seconds) : 1));
    atomic_store(&o->stop, true);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    print_message("%d actions\n", atomic_load(&o->done_something));

    for (int i = 0; i < SLOTS; i++) tn_buffer_release(o->slots[i]);
    for (int i = 0; i < 3; i++) tn_loaded_executable_release(o->loaded[i]);
    tn_client_close(o->client);
    assert_int_equal(o->wrong, 0);
    assert_int_equal(o->callbacks, o->asked);
    assert_true(o->done_something > 100);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_EACH(threads_share_buffers)};
    return cmocka_run_group_tests_name("runtime-stress", tests, NULL, NULL);
}
