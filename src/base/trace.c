/* SPDX-License-Identifier: Apache-2.0 */
#include "base/trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/syscall.h>

/* 40 bytes each: 80 MiB at most. */
enum { CHUNK = 1024, MOST_CHUNKS = 2048 };

typedef struct chunk {
    struct chunk *next;
    size_t n;
    tn_trace_event events[CHUNK];
} chunk;

/* The events of one thread. A thread that ends leaves its track to the next collection. */
typedef struct track {
    struct track *next;
    pthread_mutex_t lock; /* contended only while events are taken */
    chunk *first, *last;
    uint64_t id;
    char name[16];
    bool ended;
} track;

const char *const tn_trace_kind_names[TN_TRACE_KIND_COUNT] = {
#define X(NAME, name) name,
    TN_TRACE_KINDS(X)
#undef X
};

atomic_uint tn_trace_recordings;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over the list; before a track's lock */
static track *tracks;
static atomic_uint n_chunks;
static atomic_uint_fast64_t dropped;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local track *mine;
static _Thread_local const tn_trace_label *current;

uint64_t tn_trace_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

const tn_trace_label *tn_trace_current(void)
{
    return current;
}

void tn_trace_set_current(const tn_trace_label *label)
{
    current = label;
}

/* ---- Tracks ---- */

static void thread_ends(void *arg)
{
    track *t = arg;
    pthread_mutex_lock(&t->lock);
    t->ended = true;
    pthread_mutex_unlock(&t->lock);
}

/* Locks that another thread held stay locked in a child for ever; and its threads are not there. */
static void forget_tracks(void)
{
    pthread_mutex_init(&lock, NULL);
    tracks = NULL;
    mine = NULL;
    atomic_store(&tn_trace_recordings, 0);
}

static void prepare(void)
{
    pthread_key_create(&key, thread_ends);
    pthread_atfork(NULL, NULL, forget_tracks);
}

static track *make_track(void)
{
    track *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    pthread_mutex_init(&t->lock, NULL);
    t->id = (uint64_t)syscall(SYS_gettid);
    if (pthread_getname_np(pthread_self(), t->name, sizeof t->name)) t->name[0] = 0;
    pthread_setspecific(key, t);
    pthread_mutex_lock(&lock);
    t->next = tracks;
    tracks = t;
    pthread_mutex_unlock(&lock);
    return t;
}

static void drop_events(track *t)
{
    for (chunk *c = t->first, *next; c; c = next) {
        next = c->next;
        free(c);
        atomic_fetch_sub(&n_chunks, 1);
    }
    t->first = t->last = NULL;
}

/* NULL: no room. The track is locked. */
static tn_trace_event *place(track *t)
{
    if (t->last && t->last->n < CHUNK) return &t->last->events[t->last->n++];
    if (atomic_fetch_add(&n_chunks, 1) >= MOST_CHUNKS) {
        atomic_fetch_sub(&n_chunks, 1);
        return NULL;
    }
    chunk *c = malloc(sizeof *c);
    if (!c) {
        atomic_fetch_sub(&n_chunks, 1);
        return NULL;
    }
    c->next = NULL;
    c->n = 1;
    if (t->last) t->last->next = c;
    else t->first = c;
    t->last = c;
    return c->events;
}

void tn_trace_end_work(uint64_t start, const tn_trace_label *label, uint64_t bytes, double flops)
{
    if (!start || !label || !tn_trace_is_on()) return;
    uint64_t end = tn_trace_now();
    track *t = mine ? mine : (mine = make_track());
    if (!t) return;
    pthread_mutex_lock(&t->lock);
    tn_trace_event *e = place(t);
    if (e) *e = (tn_trace_event){label, start, end, bytes, flops};
    else atomic_fetch_add(&dropped, 1);
    pthread_mutex_unlock(&t->lock);
}

/* ---- Recordings ---- */

uint64_t tn_trace_start(void)
{
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
    if (atomic_fetch_add(&tn_trace_recordings, 1) == 0) atomic_store(&dropped, 0);
    pthread_mutex_unlock(&lock);
    return tn_trace_now();
}

static void clear(void)
{
    for (track **at = &tracks, *t; (t = *at);) {
        pthread_mutex_lock(&t->lock);
        drop_events(t);
        bool ended = t->ended;
        pthread_mutex_unlock(&t->lock);
        if (!ended) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        pthread_mutex_destroy(&t->lock);
        free(t);
    }
}

void tn_trace_stop(void)
{
    pthread_mutex_lock(&lock);
    unsigned n = atomic_load(&tn_trace_recordings);
    if (n > 0) atomic_store(&tn_trace_recordings, n - 1);
    if (n == 1) clear();
    pthread_mutex_unlock(&lock);
}

static bool take_track(track *t, uint64_t start_ns, tn_trace_thread *out)
{
    size_t n = 0;
    for (const chunk *c = t->first; c; c = c->next)
        for (size_t i = 0; i < c->n; i++) n += c->events[i].start_ns >= start_ns;
    *out = (tn_trace_thread){.id = t->id};
    memcpy(out->name, t->name, sizeof out->name);
    if (!n) return true;
    out->events = malloc(n * sizeof *out->events);
    if (!out->events) return false;
    for (const chunk *c = t->first; c; c = c->next)
        for (size_t i = 0; i < c->n; i++)
            if (c->events[i].start_ns >= start_ns) out->events[out->n_events++] = c->events[i];
    return true;
}

static uint64_t epoch(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - tn_trace_now();
}

tn_status *tn_trace_take(uint64_t start_ns, tn_trace_snapshot *out)
{
    *out = (tn_trace_snapshot){.start_ns = start_ns, .end_ns = tn_trace_now(), .epoch_ns = epoch()};
    bool enough = true;
    size_t n = 0;
    pthread_mutex_lock(&lock);
    out->dropped = atomic_load(&dropped);
    for (const track *t = tracks; t; t = t->next) n++;
    out->threads = calloc(n + 1, sizeof *out->threads);
    enough = out->threads != NULL;
    for (track *t = tracks; t && enough; t = t->next) {
        tn_trace_thread *to = &out->threads[out->n_threads];
        pthread_mutex_lock(&t->lock);
        enough = take_track(t, start_ns, to);
        pthread_mutex_unlock(&t->lock);
        if (to->n_events) out->n_threads++;
    }
    pthread_mutex_unlock(&lock);
    if (enough) return NULL;
    tn_trace_snapshot_free(out);
    return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for the events of a profile");
}

void tn_trace_snapshot_free(tn_trace_snapshot *s)
{
    for (size_t i = 0; i < s->n_threads; i++) free(s->threads[i].events);
    free(s->threads);
    *s = (tn_trace_snapshot){0};
}
