/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - one run on one device, from the moment it has all it needs. */
#include <stdlib.h>
#include <time.h>

#include "ops/custom_call.h"
#include "runtime/execute_internal.h"
#include "runtime/transfer_internal.h"

void tn_custom_calls_release(tn_custom_calls *c)
{
    if (!c || !tn_ref_release(&c->ref)) return;
    if (c->release) c->release(c->context);
    if (c->release_channels) c->release_channels(c->channels);
    free(c);
}

/* ---- The end ---- */

static void stop_reading(tn_launch_arg *a)
{
    if (a->reading) atomic_fetch_sub_explicit(&a->storage->reads, 1, memory_order_release);
    a->reading = false;
}

static void release_arg(tn_launch_arg *a)
{
    stop_reading(a);
    if (a->taken && a->storage && !a->moved)
        atomic_fetch_sub_explicit(&a->storage->shares, 1, memory_order_release);
    tn_storage_release(a->storage);
    tn_event_release(a->ready);
    tn_storage_release(a->stage);
}

void tn_launch_free(tn_launch_record *r)
{
    for (uint32_t i = 0; i < r->n_args; i++) release_arg(&r->args[i]);
    for (uint32_t i = 0; i < r->n_results; i++) {
        tn_storage_release(r->results[i].storage);
        tn_storage_release(r->results[i].stage);
    }
    tn_storage_release(r->temp);
    tn_custom_calls_release(r->custom_calls);
    tn_collective_release(r->meeting);
    tn_event_release(r->done);
    tn_status_free(r->poison);
    tn_loaded_executable *l = r->loaded;
    tn_launch_record *none = NULL;
    if (!atomic_compare_exchange_strong_explicit(&l->spare, &none, r, memory_order_release,
                                                 memory_order_relaxed))
        free(r);
    tn_loaded_executable_release(l);
}

/* Takes the run off the device's list; returns the error it was poisoned with, if it was. */
static tn_status *leave_device(tn_launch_record *r)
{
    if (!r->listed) return NULL;
    pthread_mutex_lock(&r->device->lock);
    *r->link = r->next;
    if (r->next) r->next->link = r->link;
    tn_status *poison = r->poison;
    r->poison = NULL;
    pthread_mutex_unlock(&r->device->lock);
    return poison;
}

/* The error of an argument that was not ready when the run was appended. */
static tn_status *late_error(const tn_launch_record *r)
{
    for (uint32_t i = 0; i < r->n_args; i++)
        if (r->args[i].ready && tn_event_peek(r->args[i].ready))
            return tn_status_ref(tn_event_peek(r->args[i].ready));
    return NULL;
}

/* Takes the error. Memory goes back before anybody learns that the run is over.
 *
 * A caller that holds the queue lets go of it before callbacks run, which may launch again. Where
 * runs are appended without waiting for their arguments, who comes next must see the error first.
 */
static void end(tn_launch_record *r, tn_status *s)
{
    tn_queue *entered = r->entered ? r->device->launches : NULL;
    bool synchronous = r->device->synchronous;
    if (entered && synchronous) tn_queue_leave(entered);
    tn_status *first = late_error(r);
    if (first) {
        tn_status_free(s);
        s = first;
    }
    tn_status *poison = leave_device(r);
    if (poison) {
        tn_status_free(s);
        s = poison;
    }
    if (r->meeting) tn_collective_end(r->meeting, r->part, s);
    tn_event *done = tn_event_retain(r->done);
    /* Who closes the client waits for its own threads; for others, as this one, by their work. */
    tn_client *beside = r->beside ? tn_client_retain(r->device->client) : NULL;
    const tn_client *before = tn_work_ending;
    if (beside) tn_work_ending = beside;
    else tn_work_end(r->device->client);
    tn_launch_free(r);
    tn_event_set(done, s);
    tn_event_release(done);
    tn_work_ending = before;
    if (beside) {
        tn_work_end(beside);
        tn_client_release(beside);
    }
    if (entered && !synchronous) tn_queue_leave(entered);
}

static void is_done(tn_completion *c, tn_status *s)
{
    end(TN_CONTAINER(c, tn_launch_record, completion), s);
}

/* ---- The run ---- */

static tn_span span_of(const tn_storage *s, size_t bytes)
{
    return bytes > 0 ? tn_storage_span(s, 0, bytes) : (tn_span){0};
}

/* Where the device finds an argument or puts a result. */
static tn_storage *place_of_result(const tn_launch_record *r, uint32_t i)
{
    const tn_launch_result *result = &r->results[i];
    return result->stage ? result->stage : result->storage;
}

static tn_storage *place_of_arg(const tn_launch_record *r, uint32_t i)
{
    const tn_launch_arg *a = &r->args[i];
    if (a->becomes >= 0) return place_of_result(r, (uint32_t)a->becomes);
    return a->stage ? a->stage : a->storage;
}

/* Brings an argument to where the device wants it. */
static tn_status *bring(const tn_launch_record *r, uint32_t i)
{
    const tn_driver *driver = &r->device->client->driver;
    const tn_launch_arg *a = &r->args[i];
    tn_storage *to = place_of_arg(r, i);
    if (to == a->storage || a->bytes == 0) return NULL;
    tn_span dst = span_of(to, a->bytes);
    if (!a->storage->memory->on_device)
        return driver->copy_in(r->device->handle, dst, a->storage->host);
    return driver->copy(r->device->handle, dst, span_of(a->storage, a->bytes));
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Whether nobody can want the results any more, or a trial has lasted too long. */
static bool is_cancelled(const void *launch)
{
    const tn_launch_record *r = launch;
    if (r->trial_until && now() > r->trial_until) {
        atomic_store_explicit(&((tn_launch_record *)r)->gave_up, true, memory_order_relaxed);
        return true;
    }
    return atomic_load_explicit(&r->device->client->closed, memory_order_relaxed) ||
           atomic_load_explicit(&r->is_poisoned, memory_order_relaxed);
}

/* ---- How long runs take ----
 *
 * The estimate of the compiler is right to a factor of a few. Where that matters and the device
 * does the work while it is appended, runs are timed: what a run is expected to take is what the
 * last ones took, the short ones counting more, since others were interrupted. */

enum { CERTAIN_NS = 2000 };

static bool is_learned(const tn_launch_record *r)
{
    return r->device->synchronous && r->loaded->program.info->cost_ns >= CERTAIN_NS;
}

static void learn(tn_loaded_executable *l, uint64_t ns)
{
    uint64_t before = atomic_load_explicit(&l->taken_ns, memory_order_relaxed);
    uint64_t after = !before || ns < before ? ns : before + (ns - before) / 8;
    atomic_store_explicit(&l->taken_ns, after, memory_order_relaxed);
}

static uint64_t expected_ns(const tn_launch_record *r)
{
    uint64_t estimate = r->loaded->program.info->cost_ns;
    uint64_t taken = atomic_load_explicit(&r->loaded->taken_ns, memory_order_relaxed);
    return taken && estimate != UINT64_MAX ? taken : estimate;
}

static bool is_short(const tn_launch_record *r, uint64_t ns)
{
    return ns < TN_INLINE_NS || (ns < TN_AWAITED_INLINE_NS && tn_execute_is_awaited());
}

static tn_status *append(tn_launch_record *r)
{
    const tn_driver *driver = &r->device->client->driver;
    tn_driver_device *handle = r->device->handle;
    for (uint32_t i = 0; i < r->n_args; i++) {
        TN_TRY(bring(r, i));
        r->spans[i] = span_of(place_of_arg(r, i), r->args[i].bytes);
    }
    for (uint32_t i = 0; i < r->n_results; i++)
        r->spans[r->n_args + i] = span_of(place_of_result(r, i), r->loaded->results[i].bytes);
    r->context =
        (tn_launch_context){.custom_calls = r->custom_calls ? r->custom_calls->context : NULL,
                            .host_channels = r->custom_calls ? r->custom_calls->channels : NULL,
                            .meeting = r->meeting,
                            .is_cancelled = is_cancelled,
                            .launch = r};
    tn_launch launch = {
        .size = sizeof launch,
        .n_args = r->n_args,
        .n_results = r->n_results,
        .args = r->spans,
        .results = r->spans + r->n_args,
        .temp = span_of(r->temp, r->loaded->program.info->temp_bytes),
        .replica_id = r->replica,
        .partition_id = r->partition,
        .context = &r->context,
    };
    uint64_t start = is_learned(r) ? now() : 0;
    TN_TRY(driver->launch(handle, r->code, &launch));
    if (start) learn(r->loaded, now() - start);
    for (uint32_t i = 0; i < r->n_results; i++) {
        const tn_launch_result *result = &r->results[i];
        size_t bytes = r->loaded->results[i].bytes;
        if (result->stage && bytes > 0)
            TN_TRY(driver->copy_out(handle, result->storage->host,
                                    tn_storage_span(result->stage, 0, bytes)));
    }
    return NULL;
}

static void run(tn_launch_record *r)
{
    if (r->beside) {
        tn_status *failed = late_error(r);
        end(r, failed ? failed : append(r));
        return;
    }
    tn_stream *stream = r->device->stream;
    tn_status *s = late_error(r);
    if (!s && r->listed) {
        pthread_mutex_lock(&r->device->lock);
        s = tn_status_ref(r->poison);
        pthread_mutex_unlock(&r->device->lock);
    }
    if (!s) s = tn_stream_begin(stream);
    if (s) {
        end(r, s);
        return;
    }
    /* After tn_stream_end the run may be over and gone. On a device that goes on by itself the
     * queue is free as soon as the run is appended, else once it is done. */
    tn_queue *entered = r->entered && !r->device->synchronous ? r->device->launches : NULL;
    if (entered) r->entered = false;
    s = append(r);
    r->completion.fn = is_done;
    tn_stream_end(stream, s, &r->completion);
    if (entered) tn_queue_leave(entered);
}

static void run_task(tn_task *t)
{
    run(TN_CONTAINER(t, tn_launch_record, task));
}

/* ---- Runs beside the queue ----
 *
 * What a run calls out to may take any time, may wait for other runs and start runs itself: on the
 * queue all that would be stuck behind it. So it gets a thread, and one more for each that is
 * nested in it, for those must not wait for a free one. Where it can, the thread that calls does a
 * nested run itself. Parts of one launch, which may meet, begin all or not at all.
 *
 * A run that may last, perhaps for ever, has a thread too, so that the device goes on with others.
 */

enum { CALLERS_AT_MOST = 64, LASTING_AT_MOST = 64 };
#define LASTING_NS 1000000000u
static tn_lane callers = TN_LANE_INIT(callers, CALLERS_AT_MOST);
static tn_lane lasting = TN_LANE_INIT(lasting, LASTING_AT_MOST);

static tn_lane *lane_of(const tn_launch_record *r)
{
    return r->loaded->program.info->calls_out ? &callers : &lasting;
}

static void run_beside(tn_crew_task *t)
{
    tn_launch_record *r = TN_CONTAINER(t, tn_launch_record, crew_task);
    tn_launch_gang *g = r->gang;
    for (uint32_t i = 1; g && i < g->n; i++) {
        g->parts[i]->gang = NULL;
        g->parts[i]->crew_task.run = run_beside;
        tn_lane_push(lane_of(r), &g->parts[i]->crew_task, true);
    }
    free(g);
    run(r);
}

/* ---- Donated memory ----
 *
 * A run may write the memory of an argument that it got for good while runs that were started
 * before still read it. In the queue it is behind those of them that have a place there. Others,
 * beside the queue or not in it yet, count as reads of the storage, and then the result gets memory
 * of its own. A run beside the queue that writes such memory passes through the queue first. */

static void has_place(tn_task *t)
{
    tn_launch_record *r = TN_CONTAINER(t, tn_launch_record, task);
    for (uint32_t i = 0; i < r->n_args; i++) stop_reading(&r->args[i]);
}

static void pass_queue(tn_task *t)
{
    tn_launch_record *r = TN_CONTAINER(t, tn_launch_record, task);
    tn_lane_push(lane_of(r), &r->crew_task, r->nested);
}

/* ---- The start ---- */

/* All queues see launches on several devices in the same order, as their parts wait for each other.
 */
static void enter_queues(tn_launch_gang *g)
{
    tn_client *client = g->parts[0]->device->client;
    tn_work_begin(client); /* the parts may be over before the lock is free again */
    pthread_mutex_lock(&client->launch_lock);
    for (uint32_t i = 0; i < g->n; i++)
        tn_queue_push(g->parts[i]->device->launches, &g->parts[i]->task);
    pthread_mutex_unlock(&client->launch_lock);
    tn_work_end(client);
    free(g);
}

/* All arguments are there. */
static void go(tn_launch_record *r)
{
    tn_launch_gang *g = r->gang;
    if (g) r = g->parts[0];
    if (r->beside) {
        r->crew_task.run = run_beside;
        if (r->writes) tn_queue_push(r->device->launches, &r->task);
        else pass_queue(&r->task);
    } else if (g) {
        enter_queues(g);
    } else {
        tn_queue_push(r->device->launches, &r->task);
    }
}

static atomic_uint *waits_of(tn_launch_record *r)
{
    return r->gang ? &r->gang->waits : &r->task.waits;
}

static void unblock(tn_launch_record *r)
{
    if (!r->device->synchronous) tn_queue_unblock(r->device->launches, &r->task);
    else if (atomic_fetch_sub_explicit(waits_of(r), 1, memory_order_acq_rel) == 1) go(r);
}

static void arg_is_ready(tn_waiter *w, const tn_status *s)
{
    (void)s;
    unblock(TN_CONTAINER(w, tn_launch_arg, waiter)->launch);
}

/* What comes from the same stream is in front of us there already. */
static bool must_wait(const tn_launch_record *r, const tn_launch_arg *a)
{
    if (!a->ready || tn_event_is_ready(a->ready)) return false;
    return r->device->synchronous || tn_event_stream(a->ready) != r->device->stream;
}

/* Whether the caller may run it. Not if parts of it may wait for each other. */
static bool is_cheap(const tn_launch_record *r)
{
    if (!r->alone) return false;
    if (!r->device->synchronous) return true; /* appending is */
    return !r->loaded->client->asynchronous || is_short(r, expected_ns(r));
}

/* A run of unknown length may be a short one: the caller tries for a while, which changes nothing
 * but the memory of results and temporaries. True: it is over, else it begins again on its thread.
 */
static bool is_tried(tn_launch_record *r)
{
    if (!r->beside || !r->alone || !r->device->synchronous || r->meeting ||
        !r->loaded->program.info->may_be_short)
        return false;
    uint64_t taken = atomic_load_explicit(&r->loaded->taken_ns, memory_order_relaxed);
    if (taken && !is_short(r, taken)) return false;
    for (uint32_t i = 0; i < r->n_args; i++)
        if (r->args[i].taken || r->args[i].becomes >= 0) return false;
    tn_status *s = late_error(r);
    if (!s) {
        r->trial_until = now() + (tn_execute_is_awaited() ? TN_AWAITED_INLINE_NS : TN_INLINE_NS);
        s = append(r);
        r->trial_until = 0;
        if (s && atomic_load_explicit(&r->gave_up, memory_order_relaxed)) {
            tn_status_free(s);
            return false;
        }
    }
    end(r, s);
    return true;
}

static void enter_device(tn_launch_record *r)
{
    tn_device *d = r->device;
    pthread_mutex_lock(&d->lock);
    r->next = d->in_flight;
    r->link = &d->in_flight;
    r->listed = true;
    if (r->next) r->next->link = &r->next;
    d->in_flight = r;
    pthread_mutex_unlock(&d->lock);
}

bool tn_launch_is_beside(const tn_launch_record *r)
{
    const tn_executable_info *info = r->loaded->program.info;
    return r->device->concurrent && (info->calls_out || info->cost_ns > LASTING_NS);
}

static void list_run(tn_launch_record *r)
{
    tn_work_begin(r->device->client);
    r->task.run = r->beside ? pass_queue : run_task;
    r->task.placed = r->beside ? NULL : has_place;
    r->nested = r->beside && r->loaded->program.info->calls_out && tn_custom_call_depth() > 0;
}

static void await_args(tn_launch_record *r)
{
    for (uint32_t i = 0; i < r->n_args; i++) {
        tn_launch_arg *a = &r->args[i];
        a->waiter.fn = arg_is_ready;
        a->launch = r;
        if (!must_wait(r, a) || !tn_event_add_waiter(a->ready, &a->waiter)) unblock(r);
    }
}

/* Where the device has a queue of its own, runs enter ours at once, since what comes later counts
 * on what is in front. Elsewhere they enter it when they can run: what they wait for may come from
 * a callback that waits for a run behind. */
static void start(tn_launch_record *r)
{
    tn_queue *queue = r->device->launches;
    list_run(r);
    unsigned waits = 0;
    for (uint32_t i = 0; i < r->n_args; i++)
        if (must_wait(r, &r->args[i])) waits++;
    r->entered = !r->beside && waits == 0 && is_cheap(r) && tn_queue_try_enter(queue);
    if (r->entered) has_place(&r->task);
    if (waits == 0 && is_tried(r)) return;
    if (r->launch_id != 0 && !(r->entered && r->device->synchronous)) enter_device(r);
    if (r->entered || (r->nested && waits == 0 && !r->writes)) {
        run(r);
        return;
    }

    /* One more, so that it does not run while waiters are still being added. */
    atomic_init(&r->task.waits, r->n_args + 1);
    if (!r->device->synchronous) tn_queue_push(queue, &r->task);
    await_args(r);
    unblock(r);
}

static void start_gang(tn_launch_gang *g)
{
    unsigned n_args = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        tn_launch_record *r = g->parts[i];
        r->gang = g;
        list_run(r);
        if (r->launch_id != 0) enter_device(r);
        n_args += r->n_args;
    }
    atomic_init(&g->waits, n_args + 1);
    tn_launch_record *first = g->parts[0];
    for (uint32_t i = 0; i < g->n; i++) await_args(g->parts[i]);
    unblock(first);
}

void tn_launch_start(tn_launch_record *const *parts, uint32_t n, tn_launch_gang *g)
{
    tn_client *client = parts[0]->device->client;
    if (n == 1) {
        start(parts[0]);
    } else if (parts[0]->device->synchronous) {
        for (uint32_t i = 0; i < n; i++) g->parts[i] = parts[i];
        g->n = n;
        start_gang(g);
        return;
    } else {
        tn_work_begin(client);
        pthread_mutex_lock(&client->launch_lock);
        for (uint32_t i = 0; i < n; i++) start(parts[i]);
        pthread_mutex_unlock(&client->launch_lock);
        tn_work_end(client);
    }
    free(g);
}

void tn_device_poison(tn_device *d, int launch_id, tn_status *error, bool *poisoned)
{
    *poisoned = false;
    if (!tn_is_forked(d->client->fork_generation) && launch_id != 0 && error) {
        pthread_mutex_lock(&d->lock);
        for (tn_launch_record *r = d->in_flight; r; r = r->next) {
            if (r->launch_id != launch_id) continue;
            if (!r->poison) r->poison = tn_status_ref(error);
            atomic_store_explicit(&r->is_poisoned, true, memory_order_relaxed);
            if (r->meeting) tn_collective_end(r->meeting, r->part, error);
            *poisoned = true;
        }
        pthread_mutex_unlock(&d->lock);
    }
    tn_status_free(error);
}
