/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread_pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/cpu_features.h"
#include "base/log.h"
#include "base/options.h"
#include "base/thread_limit.h"
#include "base/trace.h"

enum {
    CACHE_LINE = 64,
    MAX_THREADS = 4096,
    PIECES_PER_THREAD = 4, /* so that a thread that is late or preempted costs little */
    SPIN_NS = 30000,
    LEAST_SPIN_NS = 1000,
};
/* Waking a thread takes 2 to 4 us of the caller's time; one that spins costs next to nothing. */
static const double SEQUENTIAL_NS = 15000, SEQUENTIAL_SPINNING_NS = 10000, PIECE_NS = 5000;

/* The running loop is published in a word for each thread, (loop number << 32) | first << 16 | end,
 * of those of its pieces that are not taken yet. A thread takes its own from the front, by
 * compare-and-swap, so that a loop over the same memory finds it in the same core's cache, and what
 * others have left from the back; in every second loop the other way round, so that what exceeds
 * the cache begins with what is still there. Since the loop number is part of the word, a worker
 * that comes late, to a loop that is over, can't take a piece; so the caller waits for pieces that
 * were taken, never for workers that slept or were preempted before they took one. Fields of a loop
 * are rewritten only when all its pieces are done: a successful swap proves that what was read
 * before it belonged to that loop. */
typedef struct {
    _Alignas(CACHE_LINE) atomic_uint_fast64_t open;
} share;

typedef struct {
    tn_thread_pool *pool;
    pthread_t thread;
    int index; /* of its share */
} worker;

struct tn_thread_pool {
    _Alignas(CACHE_LINE) atomic_uint n_loops; /* published; news for the workers */
    _Alignas(CACHE_LINE) atomic_uint done;    /* pieces of the running loop that are finished */
    _Alignas(CACHE_LINE) atomic_bool busy;    /* some caller owns the workers */
    _Atomic(tn_parallel_fn *) fn;
    _Atomic(void *) ctx;
    atomic_int_fast64_t n_items;
    atomic_uint n_pieces;
    _Atomic(const tn_trace_label *) label; /* of its pieces, while somebody records */

    _Alignas(CACHE_LINE) atomic_int sleepers;
    atomic_bool stop, caller_sleeps;
    pthread_mutex_t lock;
    pthread_cond_t wake_workers, wake_caller;

    unsigned fork_generation;
    int n_shares, n_workers;
    worker *workers; /* behind the shares */
    share shares[];  /* the first is the caller's; there are fewer workers where threads failed */
};

static _Thread_local int limit; /* see thread_limit.h; 0: none */

static atomic_uint fork_generation;
static void count_fork(void)
{
    atomic_fetch_add(&fork_generation, 1);
}
static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t share_of(uint32_t loop, uint32_t first, uint32_t end)
{
    return (uint64_t)loop << 32 | first << 16 | end;
}

static uint32_t first_of(uint64_t word)
{
    return (uint32_t)word >> 16;
}

static uint32_t end_of(uint64_t word)
{
    return (uint32_t)word & 0xffff;
}

/* Takes a piece of a share and does it. False: there was none. */
static bool do_piece(tn_thread_pool *pool, share *from, bool is_mine, bool is_worker)
{
    uint64_t word = atomic_load_explicit(&from->open, memory_order_acquire);
    tn_parallel_fn *fn;
    void *ctx;
    int64_t n_items;
    uint32_t n_pieces, first, end;
    bool from_front;
    const tn_trace_label *label;
    do {
        first = first_of(word), end = end_of(word);
        if (first == end) return false;
        from_front = is_mine == !(word >> 32 & 1);
        fn = atomic_load_explicit(&pool->fn, memory_order_relaxed);
        ctx = atomic_load_explicit(&pool->ctx, memory_order_relaxed);
        n_items = atomic_load_explicit(&pool->n_items, memory_order_relaxed);
        n_pieces = atomic_load_explicit(&pool->n_pieces, memory_order_relaxed);
        label = atomic_load_explicit(&pool->label, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak(
        &from->open, &word,
        share_of((uint32_t)(word >> 32), first + from_front, end - !from_front)));

    int64_t piece = from_front ? first : end - 1, size = n_items / n_pieces;
    int64_t longer = n_items % n_pieces;
    int64_t begin = piece * size + (piece < longer ? piece : longer);
    uint64_t start = is_worker && label ? tn_trace_begin() : 0;
    fn(ctx, begin, begin + size + (piece < longer));
    tn_trace_end(start, label, 0);

    if (atomic_fetch_add(&pool->done, 1) + 1 == n_pieces && atomic_load(&pool->caller_sleeps)) {
        /* Either the caller, which looks once more behind this lock, sees that all is done, or it
         * waits by now. */
        pthread_mutex_lock(&pool->lock);
        pthread_mutex_unlock(&pool->lock);
        pthread_cond_signal(&pool->wake_caller);
    }
    return true;
}

/* Does pieces of whatever loop is open until none is left. A worker tells what it did; the
 * caller's pieces are part of what it says itself. */
static void work(tn_thread_pool *pool, int me)
{
    int n = pool->n_shares;
    for (int i = 0, from = me; i < n; i++, from = from + 1 < n ? from + 1 : 0)
        while (do_piece(pool, &pool->shares[from], from == me, me > 0)) continue;
}

static bool has_news(tn_thread_pool *pool, uint32_t seen)
{
    return atomic_load(&pool->n_loops) != seen || atomic_load(&pool->stop);
}

static bool spin_for_news(tn_thread_pool *pool, uint32_t seen, int64_t ns)
{
    int64_t end = now_ns() + ns;
    do {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(&pool->n_loops, memory_order_relaxed) != seen) return true;
            relax();
        }
    } while (!atomic_load(&pool->stop) && now_ns() < end);
    return has_news(pool, seen);
}

static void sleep_for_news(tn_thread_pool *pool, uint32_t seen)
{
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    /* Either this sees the new loop, or the caller, who looks after publishing it, sees the
     * sleeper. */
    while (!has_news(pool, seen)) pthread_cond_wait(&pool->wake_workers, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

/* Loops that follow each other closely are waited for spinning. How long it spins depends on
 * whether that was of use: each time in vain halves it. */
static void *worker_main(void *arg)
{
    const worker *me = arg;
    tn_thread_pool *pool = me->pool;
    uint32_t seen = 0;
    int64_t spin = SPIN_NS;
    while (!atomic_load(&pool->stop)) {
        seen = atomic_load(&pool->n_loops);
        work(pool, me->index);
        if (spin_for_news(pool, seen, spin)) {
            spin = SPIN_NS;
            continue;
        }
        int64_t since = now_ns();
        sleep_for_news(pool, seen);
        if (now_ns() - since < SPIN_NS) spin = SPIN_NS;
        else if (spin > LEAST_SPIN_NS) spin /= 2;
    }
    return NULL;
}

static bool is_finished(tn_thread_pool *pool, uint32_t n_pieces)
{
    return atomic_load(&pool->done) == n_pieces;
}

static void wait_for_pieces(tn_thread_pool *pool, uint32_t n_pieces)
{
    for (int64_t end = 0; !is_finished(pool, n_pieces);) {
        for (int i = 0; i < 32 && !is_finished(pool, n_pieces); i++) relax();
        int64_t now = now_ns();
        if (!end) end = now + SPIN_NS;
        if (now < end) continue;
        pthread_mutex_lock(&pool->lock);
        atomic_store(&pool->caller_sleeps, true);
        while (!is_finished(pool, n_pieces)) pthread_cond_wait(&pool->wake_caller, &pool->lock);
        atomic_store(&pool->caller_sleeps, false);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* How many pieces; below 2 means that the loop isn't worth a wake-up. */
static uint32_t choose_pieces(tn_thread_pool *pool, int64_t n_items, double cost_ns)
{
    double total = (double)n_items * cost_ns;
    if (!(total >= SEQUENTIAL_SPINNING_NS)) return 1;
    if (total < SEQUENTIAL_NS &&
        atomic_load_explicit(&pool->sleepers, memory_order_relaxed) >= pool->n_workers)
        return 1;
    double pieces = total / PIECE_NS, most = (double)(pool->n_workers + 1) * PIECES_PER_THREAD;
    if (pieces > most) pieces = most;
    if (limit && pieces > limit) pieces = limit; /* a thread has one piece at a time */
    return pieces > (double)n_items ? (uint32_t)n_items : (uint32_t)pieces;
}

/* Makes the loop whose fields are set known. The shares of neighbouring threads are neighbours. */
static void publish(tn_thread_pool *pool, uint32_t n_pieces)
{
    uint32_t loop = atomic_load_explicit(&pool->n_loops, memory_order_relaxed) + 1;
    uint64_t n = (uint64_t)pool->n_shares;
    uint32_t first = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t end =
            (uint32_t)(n_pieces < n ? (i < n_pieces ? i + 1 : n_pieces) : (i + 1) * n_pieces / n);
        atomic_store_explicit(&pool->shares[i].open, share_of(loop, first, end),
                              memory_order_release);
        first = end;
    }
    atomic_store(&pool->n_loops, loop);
    if (!atomic_load(&pool->sleepers)) return;
    /* Who holds the lock has not begun to wait yet: the signal must come after that. Not under the
     * lock, for which those who wake would wait at once. */
    pthread_mutex_lock(&pool->lock);
    pthread_mutex_unlock(&pool->lock);
    if (n_pieces > 2) pthread_cond_broadcast(&pool->wake_workers);
    else pthread_cond_signal(&pool->wake_workers);
}

static const tn_trace_label *label_of_parts(void)
{
    const tn_trace_label *l = tn_trace_current();
    return l ? tn_trace_label_of(TN_TRACE_PART, l->name, l->source, l->program)
             : tn_trace_label_of(TN_TRACE_PART, "part", NULL, NULL);
}

void tn_parallel_for(tn_thread_pool *pool, int64_t n_items, double cost_ns, tn_parallel_fn *fn,
                     void *ctx)
{
    if (n_items <= 0) return;
    uint32_t n_pieces = pool && pool->n_workers ? choose_pieces(pool, n_items, cost_ns) : 1;
    if (n_pieces < 2 || pool->fork_generation != atomic_load(&fork_generation) ||
        atomic_exchange_explicit(&pool->busy, true, memory_order_acquire)) {
        fn(ctx, 0, n_items);
        return;
    }
    atomic_store_explicit(&pool->fn, fn, memory_order_relaxed);
    atomic_store_explicit(&pool->ctx, ctx, memory_order_relaxed);
    atomic_store_explicit(&pool->n_items, n_items, memory_order_relaxed);
    atomic_store_explicit(&pool->n_pieces, n_pieces, memory_order_relaxed);
    atomic_store_explicit(&pool->label, tn_trace_is_on() ? label_of_parts() : NULL,
                          memory_order_relaxed);
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    publish(pool, n_pieces);
    work(pool, 0);
    wait_for_pieces(pool, n_pieces);
    atomic_store_explicit(&pool->busy, false, memory_order_release);
}

int tn_thread_pool_size(const tn_thread_pool *pool)
{
    int n = pool ? pool->n_workers + 1 : 1;
    return limit && limit < n ? limit : n;
}

int tn_thread_limit(int n)
{
    int before = limit;
    limit = n;
    return before;
}

static void start_workers(tn_thread_pool *pool, int n)
{
    /* The host's signal handlers are not for our threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; pool->n_workers < n; pool->n_workers++) {
        worker *w = &pool->workers[pool->n_workers];
        w->pool = pool;
        w->index = pool->n_workers + 1;
        if (pthread_create(&w->thread, NULL, worker_main, w)) break;
        pthread_setname_np(w->thread, "tenon-worker");
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pool->n_workers < n)
        tn_log(TN_LOG_WARNING, "base", "thread pool: %d of %d workers could be started",
               pool->n_workers, n);
}

tn_status *tn_thread_pool_create(int n_threads, tn_thread_pool **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (n_threads < 0 || n_threads > MAX_THREADS)
        return TN_ERROR(INVALID_ARGUMENT, "thread pool: %d threads asked for, expected 0 to %d",
                        n_threads, MAX_THREADS);
    if (!n_threads) n_threads = (int)tn_options_get()->threads;
    if (!n_threads) n_threads = tn_cpu_count();
    if (n_threads > MAX_THREADS) n_threads = MAX_THREADS;

    size_t shares = (size_t)n_threads * sizeof(share);
    size_t size = sizeof(tn_thread_pool) + shares + (size_t)(n_threads - 1) * sizeof(worker);
    size = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    tn_thread_pool *pool = aligned_alloc(CACHE_LINE, size);
    if (!pool)
        return TN_ERROR(RESOURCE_EXHAUSTED, "thread pool: no memory for %d threads", n_threads);

    pthread_once(&once, watch_forks);
    pool->n_shares = n_threads;
    pool->workers = (worker *)((char *)pool->shares + shares);
    for (int i = 0; i < n_threads; i++) atomic_init(&pool->shares[i].open, 0);
    atomic_init(&pool->n_loops, 0);
    atomic_init(&pool->done, 0);
    atomic_init(&pool->busy, false);
    atomic_init(&pool->fn, NULL);
    atomic_init(&pool->ctx, NULL);
    atomic_init(&pool->n_items, 0);
    atomic_init(&pool->n_pieces, 0);
    atomic_init(&pool->label, NULL);
    atomic_init(&pool->sleepers, 0);
    atomic_init(&pool->stop, false);
    atomic_init(&pool->caller_sleeps, false);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake_workers, NULL);
    pthread_cond_init(&pool->wake_caller, NULL);
    pool->fork_generation = atomic_load(&fork_generation);
    pool->n_workers = 0;
    start_workers(pool, n_threads - 1);
    *out = pool;
    return NULL;
}

void tn_thread_pool_destroy(tn_thread_pool *pool)
{
    if (!pool) return;
    /* In a forked child there is nobody to join, and the lock may have been held by a thread that
     * is gone. */
    if (pool->fork_generation == atomic_load(&fork_generation)) {
        pthread_mutex_lock(&pool->lock);
        atomic_store(&pool->stop, true);
        pthread_cond_broadcast(&pool->wake_workers);
        pthread_mutex_unlock(&pool->lock);
        for (int i = 0; i < pool->n_workers; i++) pthread_join(pool->workers[i].thread, NULL);
        pthread_cond_destroy(&pool->wake_workers);
        pthread_cond_destroy(&pool->wake_caller);
        pthread_mutex_destroy(&pool->lock);
    }
    free(pool);
}
