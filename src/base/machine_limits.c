/* SPDX-License-Identifier: Apache-2.0 */
#include "base/machine_limits.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "base/cpu_features.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { ARRAY = 64 << 20, BLOCK = 1 << 15, WINDOWS = 4 };
#define PEAK_WINDOW_NS 8e6
/* Of real time, where others run too: for a window of a peak, and for all windows of a limit. */
#define PEAK_WINDOW_AT_MOST_NS 2e7
#define LIMIT_AT_MOST_NS       5e7

/* Fourteen sums are more than the latency of any core times its units. */
#define EACH_SUM(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
enum { SUMS = 14, TURNS = 1000 };
enum { GO = 1, GIVE_UP };

typedef struct {
    /* TURNS multiply-adds on each of SUMS vectors */
    void (*f32)(void), (*f64)(void);
    int vector_bytes;
    /* sums up `n` bytes; adds n bytes of a and b into c */
    void (*read)(const float *a, int64_t n);
    void (*add)(float *c, const float *a, const float *b, int64_t n);
} kernels;

static _Thread_local volatile float sink_f32;
static _Thread_local volatile double sink_f64;

#define DECLARE(i)  s##i = SET((float)(i) / 16),
#define MULTIPLY(i) s##i = FMA(s##i, m, c);
#define SUM(i)      +s##i
/* With SET and FMA as they are defined where it stands. */
#define PEAK(target, name, vector, sink)                                                           \
    target static void name(void)                                                                  \
    {                                                                                              \
        vector EACH_SUM(DECLARE) m = SET(0.999f), c = SET(0.001f);                                 \
        for (int i = 0; i < TURNS; i++) { EACH_SUM(MULTIPLY) }                                     \
        vector sum = EACH_SUM(SUM);                                                                \
        sink = sum[0];                                                                             \
    }
#define STREAMS(target, suffix, vector, LOAD, STORE)                                               \
    target static void read_##suffix(const float *a, int64_t n)                                    \
    {                                                                                              \
        enum { W = sizeof(vector) / sizeof(float) };                                               \
        vector s0 = {0}, s1 = s0, s2 = s0, s3 = s0;                                                \
        for (const float *end = a + n / (int64_t)sizeof(float); a < end; a += (size_t)4 * W) {     \
            s0 += LOAD(a), s1 += LOAD(a + W), s2 += LOAD(a + (size_t)2 * W),                       \
                s3 += LOAD(a + (size_t)3 * W);                                                     \
        }                                                                                          \
        sink_f32 = (s0 + s1 + s2 + s3)[0];                                                         \
    }                                                                                              \
    target static void add_##suffix(float *c, const float *a, const float *b, int64_t n)           \
    {                                                                                              \
        enum { W = sizeof(vector) / sizeof(float) };                                               \
        for (int64_t i = 0; i < n / (int64_t)sizeof(float); i += W)                                \
            STORE(c + i, LOAD(a + i) + LOAD(b + i));                                               \
    }

#define NO_TARGET
#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f")))
#define AVX2   __attribute__((target("avx2,fma")))
#define SET    _mm512_set1_ps
#define FMA    _mm512_fmadd_ps
PEAK(AVX512, f32_avx512, __m512, sink_f32)
#undef SET
#undef FMA
#define SET _mm512_set1_pd
#define FMA _mm512_fmadd_pd
PEAK(AVX512, f64_avx512, __m512d, sink_f64)
#undef SET
#undef FMA
#define SET _mm256_set1_ps
#define FMA _mm256_fmadd_ps
PEAK(AVX2, f32_avx2, __m256, sink_f32)
#undef SET
#undef FMA
#define SET _mm256_set1_pd
#define FMA _mm256_fmadd_pd
PEAK(AVX2, f64_avx2, __m256d, sink_f64)
#undef SET
#undef FMA
#define SET          _mm_set1_ps
#define FMA(x, y, z) ((x) * (y) + (z))
PEAK(NO_TARGET, f32_any, __m128, sink_f32)
#undef SET
#define SET _mm_set1_pd
PEAK(NO_TARGET, f64_any, __m128d, sink_f64)
STREAMS(AVX512, avx512, __m512, _mm512_load_ps, _mm512_stream_ps)
STREAMS(AVX2, avx2, __m256, _mm256_load_ps, _mm256_stream_ps)
STREAMS(NO_TARGET, any, __m128, _mm_load_ps, _mm_stream_ps)
#elif defined(__aarch64__)
#define SET          vdupq_n_f32
#define FMA(x, y, z) vfmaq_f32(z, x, y)
PEAK(NO_TARGET, f32_any, float32x4_t, sink_f32)
#undef SET
#undef FMA
#define SET          vdupq_n_f64
#define FMA(x, y, z) vfmaq_f64(z, x, y)
PEAK(NO_TARGET, f64_any, float64x2_t, sink_f64)
STREAMS(NO_TARGET, any, float32x4_t, vld1q_f32, vst1q_f32)
#else
typedef float four __attribute__((vector_size(16)));
typedef double two __attribute__((vector_size(16)));
#define SET(x)       ((four){x, x, x, x})
#define FMA(x, y, z) ((x) * (y) + (z))
PEAK(NO_TARGET, f32_any, four, sink_f32)
#undef SET
#define SET(x)      ((two){x, x})
PEAK(NO_TARGET, f64_any, two, sink_f64)
#define LOAD(p)     (*(const four *)(p))
#define STORE(p, x) (*(four *)(p) = (x))
STREAMS(NO_TARGET, any, four, LOAD, STORE)
#endif

static kernels choose(void)
{
#if defined(__x86_64__)
    if (tn_cpu_has(TN_ISA_AVX512))
        return (kernels){f32_avx512, f64_avx512, 64, read_avx512, add_avx512};
    if (tn_cpu_has(TN_ISA_AVX2)) return (kernels){f32_avx2, f64_avx2, 32, read_avx2, add_avx2};
#endif
    return (kernels){f32_any, f64_any, 16, read_any, add_any};
}

/* ---- Several threads do the same at the same time ---- */

typedef struct {
    kernels k;
    float *arrays[3];
    int threads;
    pthread_mutex_t lock;
    pthread_cond_t started;
    int start; /* 0: not yet */
    pthread_barrier_t barrier;
    double sum;     /* of the threads' rates in a window; under the lock */
    double begun;   /* the limit; real time in ns */
    bool over;      /* its time is */
    double best[4]; /* a second, as in tn_machine_limits */
} measurement;

typedef struct {
    measurement *m;
    int index;
} worker;

static double clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The thread's own time: others may run in between. */
static double cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static double real_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static void begin_limit(worker *w)
{
    if (w->index) return;
    w->m->begun = real_ns();
    w->m->over = false;
}

/* What the threads' rates, `amount` in `ns` here, come to in this window. False: it was the last,
 * for all of them. */
static bool end_window(worker *w, double amount, double ns, double *best)
{
    measurement *m = w->m;
    pthread_mutex_lock(&m->lock);
    m->sum += amount / ns * 1e9;
    pthread_mutex_unlock(&m->lock);
    pthread_barrier_wait(&m->barrier);
    if (!w->index) {
        if (m->sum > *best) *best = m->sum;
        m->sum = 0;
        m->over = real_ns() - m->begun > LIMIT_AT_MOST_NS;
    }
    pthread_barrier_wait(&m->barrier);
    bool over = m->over;
    pthread_barrier_wait(&m->barrier); /* before the next limit begins */
    return !over;
}

static void measure_peak(worker *w, void (*fn)(void), int lanes, double *best)
{
    begin_limit(w);
    for (int i = 0; i < WINDOWS; i++) {
        double turns = 0, start = cpu_ns(), real = real_ns(), ns;
        do {
            fn();
            turns += TURNS;
            ns = cpu_ns() - start;
        } while (ns < PEAK_WINDOW_NS && real_ns() - real < PEAK_WINDOW_AT_MOST_NS);
        if (!end_window(w, 2.0 * SUMS * lanes * turns, ns, best)) return;
    }
}

static void measure_stream(worker *w, bool add, double *best)
{
    measurement *m = w->m;
    int64_t blocks = ARRAY / BLOCK, first = blocks * w->index / m->threads,
            end = blocks * (w->index + 1) / m->threads;
    size_t at = (size_t)first * BLOCK / sizeof(float);
    float *a = m->arrays[0] + at, *b = m->arrays[1] + at, *c = m->arrays[2] + at;
    int64_t n = (end - first) * BLOCK;
    begin_limit(w);
    for (int i = 0; i < WINDOWS; i++) {
        double start = cpu_ns();
        if (add) m->k.add(c, a, b, n);
        else m->k.read(a, n), m->k.read(b, n);
        if (!end_window(w, (add ? 3 : 2) * (double)n, cpu_ns() - start, best)) return;
    }
}

static void measure(worker *w)
{
    measurement *m = w->m;
    measure_peak(w, m->k.f32, m->k.vector_bytes / 4, &m->best[0]);
    measure_peak(w, m->k.f64, m->k.vector_bytes / 8, &m->best[1]);
    measure_stream(w, false, &m->best[2]);
    measure_stream(w, true, &m->best[3]);
}

/* A barrier can't be told that a thread is missing: all of them begin, or none. */
static int await_start(measurement *m)
{
    pthread_mutex_lock(&m->lock);
    while (!m->start) pthread_cond_wait(&m->started, &m->lock);
    int start = m->start;
    pthread_mutex_unlock(&m->lock);
    return start;
}

static void *thread_main(void *arg)
{
    worker *w = arg;
    if (await_start(w->m) == GO) measure(w);
    return NULL;
}

static tn_status *run(measurement *m, worker *workers, pthread_t *threads)
{
    int n = 0;
    pthread_barrier_init(&m->barrier, NULL, (unsigned)m->threads);
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->started, NULL);
    for (int i = 0; i < m->threads; i++) workers[i] = (worker){m, i};
    while (n + 1 < m->threads && !pthread_create(&threads[n], NULL, thread_main, &workers[n + 1]))
        n++;
    bool all = n + 1 == m->threads;
    pthread_mutex_lock(&m->lock);
    m->start = all ? GO : GIVE_UP;
    pthread_cond_broadcast(&m->started);
    pthread_mutex_unlock(&m->lock);
    if (all) measure(&workers[0]);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    pthread_cond_destroy(&m->started);
    pthread_mutex_destroy(&m->lock);
    pthread_barrier_destroy(&m->barrier);
    return all ? NULL
               : TN_ERROR(RESOURCE_EXHAUSTED, "%d of %d threads could be started", n + 1,
                          m->threads);
}

tn_status *tn_machine_limits_measure(int threads, tn_machine_limits *out)
{
    if (threads < 1 || threads > 4096)
        return TN_ERROR(INVALID_ARGUMENT, "%d threads asked for, expected 1 to 4096", threads);
    measurement m = {.k = choose(), .threads = threads};
    worker *workers = calloc((size_t)threads, sizeof *workers);
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    float *arrays = aligned_alloc(2 << 20, (size_t)3 * ARRAY);
    tn_status *s = NULL;
    if (workers && ids && arrays) {
        madvise(arrays, (size_t)3 * ARRAY, MADV_HUGEPAGE);
        for (size_t i = 0; i < (size_t)3 * ARRAY / sizeof(float); i++) arrays[i] = 1;
        for (size_t i = 0; i < 3; i++) m.arrays[i] = arrays + i * (ARRAY / sizeof(float));
        s = run(&m, workers, ids);
        *out = (tn_machine_limits){threads, m.best[0], m.best[1], m.best[2], m.best[3]};
    } else {
        s = TN_ERROR(RESOURCE_EXHAUSTED, "no memory to measure the machine with");
    }
    free(arrays);
    free(ids);
    free(workers);
    return s;
}
