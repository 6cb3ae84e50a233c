/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/fft.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_features.h"

/* A line that is longer, or one of few lines that is not very short, is split. */
#define LONG_LINE  4096
#define SHORT_LINE 256
#define FEW_LINES  8
/* Lines that go one at a time, of few and of many. */
#define LONGEST_ALONE 8192
#define LONGEST_LINE  32768

/* exp(-2 pi i k / n): the angle is first brought into an eighth of the circle. */
static void root_of_unity(int64_t k, int64_t n, double *re, double *im)
{
    double turn = (double)k / (double)n; /* in [0, 1) */
    bool lower = 2 * k > n;              /* conjugate of n - k */
    if (lower) turn = (double)(n - k) / (double)n;
    bool left = turn > 0.25; /* mirror at the imaginary axis */
    if (left) turn = 0.5 - turn;
    bool steep = turn > 0.125;
    if (steep) turn = 0.25 - turn;
    double c = cos(6.283185307179586477 * turn), s = sin(6.283185307179586477 * turn);
    if (steep) {
        double t = c;
        c = s;
        s = t;
    }
    *re = left ? -c : c;
    *im = lower ? s : -s;
}

/* --- plans --- */

static void *take(tn_fft_plan *p, size_t n, size_t width)
{
    if (n > SIZE_MAX / 64) return NULL;
    p->bytes += (n + 16) * width; /* a vector may be read from any element */
    return malloc((n + 16) * width);
}

static void put(const tn_fft_plan *p, void *re, void *im, int64_t at, double r, double i)
{
    if (p->wide) {
        ((double *)re)[at] = r;
        ((double *)im)[at] = i;
    } else {
        ((float *)re)[at] = (float)r;
        ((float *)im)[at] = (float)i;
    }
}

static void put_roots(const tn_fft_plan *p, int64_t re, int64_t im, double r, double i)
{
    if (p->wide) {
        ((double *)p->roots)[re] = r;
        ((double *)p->roots)[im] = i;
    } else {
        ((float *)p->roots)[re] = (float)r;
        ((float *)p->roots)[im] = (float)i;
    }
}

/* Roots of order n by a product of a fine and a coarse step, so that long tables cost little. */
enum { FINE = 64 };
typedef struct {
    int64_t n;
    double fine_re[FINE], fine_im[FINE];
    double *coarse_re, *coarse_im;
} roots;

static bool begin_roots(roots *r, int64_t n)
{
    r->n = n;
    int64_t coarse = n / FINE + 1;
    r->coarse_re = malloc((size_t)coarse * 2 * sizeof(double));
    if (!r->coarse_re) return false;
    r->coarse_im = r->coarse_re + coarse;
    for (int64_t k = 0; k < FINE && k < n; k++) root_of_unity(k, n, &r->fine_re[k], &r->fine_im[k]);
    for (int64_t k = 0; k < coarse && k * FINE < n; k++)
        root_of_unity(k * FINE, n, &r->coarse_re[k], &r->coarse_im[k]);
    return true;
}

static void root(const roots *r, int64_t k, double *re, double *im)
{
    double ar = r->coarse_re[k / FINE], ai = r->coarse_im[k / FINE];
    double br = r->fine_re[k % FINE], bi = r->fine_im[k % FINE];
    *re = ar * br - ai * bi;
    *im = ar * bi + ai * br;
}

/* Factors n into radices[], as few of 2 as may be, and those with ends first and last; false if a
 * prime is too large. */
static bool factor(int64_t n, int64_t *radices, int *n_radices)
{
    int at = 0, of_two = 0;
    for (int twos = n > 0 ? __builtin_ctzll((uint64_t)n) : 0; twos > 0;) {
        int bits = twos == 1 ? 1 : twos == 2 || twos == 4 ? 2 : 3;
        radices[at++] = 1 << bits;
        twos -= bits;
        n >>= bits;
    }
    of_two = at;
    for (int64_t r = 3; r <= TN_FFT_LARGEST_RADIX; r += 2)
        for (; n % r == 0; n /= r) radices[at++] = r;
    if (of_two > 1 && at > of_two) {
        int64_t last = radices[of_two - 1];
        radices[of_two - 1] = radices[at - 1];
        radices[at - 1] = last;
    }
    *n_radices = at;
    return n == 1;
}

/* The divisor of n that is nearest to its root from below, among products of the radices. */
static int64_t divisor(int64_t n)
{
    int64_t best = 1;
    for (int64_t d = 1; d * d <= n; d++)
        if (n % d == 0) best = d;
    return best;
}

tn_fft_way tn_fft_choose(int64_t n, int64_t lines, bool contiguous, bool wide)
{
    int64_t radices[64], lanes = tn_fft_lanes(wide);
    int n_radices;
    if (!factor(n, radices, &n_radices)) return TN_FFT_CHIRP;
    if (contiguous && n % lanes == 0 && n >= lanes * lanes &&
        n <= (lines < FEW_LINES ? LONGEST_ALONE : LONGEST_LINE))
        return TN_FFT_LINE;
    bool is_long = n > LONG_LINE || (n >= SHORT_LINE && lines < FEW_LINES);
    return is_long && divisor(n) >= 8 ? TN_FFT_SPLIT : TN_FFT_LINES;
}

/* The roots that each pass of a small radix wants, in order: w^(j k), j < radix, k < m. */
static bool prepare_passes(tn_fft_plan *p, const roots *r)
{
    p->roots = take(p, (size_t)p->n * 2, p->wide ? sizeof(double) : sizeof(float));
    if (!p->roots) return false;
    int64_t at = 0, rest = p->n, step = 1;
    for (int i = 0; i < p->n_radices; i++) {
        int64_t radix = p->radices[i];
        rest /= radix;
        for (int64_t k = 0; k < rest && TN_FFT_HAS_PASS(radix); k++)
            for (int64_t j = 1; j < radix; j++, at += 2) {
                double re, im;
                root(r, j * k * step, &re, &im);
                put_roots(p, at, at + 1, re, im);
            }
        step *= radix;
    }
    return true;
}

static bool prepare_lines(tn_fft_plan *p)
{
    roots r;
    size_t width = p->wide ? sizeof(double) : sizeof(float);
    factor(p->n, p->radices, &p->n_radices);
    p->root_re = take(p, (size_t)p->n, width);
    p->root_im = take(p, (size_t)p->n, width);
    if (!p->root_re || !p->root_im || !begin_roots(&r, p->n)) return false;
    for (int64_t k = 0; k < p->n; k++) {
        double re, im;
        root(&r, k, &re, &im);
        put(p, p->root_re, p->root_im, k, re, im);
    }
    bool ok = p->way == TN_FFT_ROOTS || prepare_passes(p, &r);
    free(r.coarse_re);
    return ok;
}

static bool prepare_split(tn_fft_plan *p)
{
    roots r;
    size_t width = p->wide ? sizeof(double) : sizeof(float);
    int64_t n1 = divisor(p->n), n2 = p->n / n1;
    p->columns = tn_fft_plan_take(n1, p->wide, TN_FFT_LINES, NULL);
    p->rows = tn_fft_plan_take(n2, p->wide, TN_FFT_LINES, NULL);
    p->turn_re = take(p, (size_t)p->n, width);
    p->turn_im = take(p, (size_t)p->n, width);
    if (!p->columns || !p->rows || !p->turn_re || !p->turn_im || !begin_roots(&r, p->n))
        return false;
    for (int64_t k = 0; k < n1; k++)
        for (int64_t j = 0; j < n2; j++) {
            double re, im;
            root(&r, j * k, &re, &im);
            put(p, p->turn_re, p->turn_im, k * n2 + j, re, im);
        }
    free(r.coarse_re);
    return true;
}

static bool prepare_line(tn_fft_plan *p)
{
    roots r;
    size_t width = p->wide ? sizeof(double) : sizeof(float);
    int64_t lanes = tn_fft_lanes(p->wide), m = p->n / lanes, blocks = (m + lanes - 1) / lanes;
    p->columns = tn_fft_plan_take(m, p->wide, TN_FFT_LINES, NULL);
    p->roots = take(p, (size_t)(2 * blocks * lanes * lanes), width);
    if (!p->columns || !p->roots || !begin_roots(&r, p->n)) return false;
    for (int64_t b = 0; b < blocks; b++) {
        int64_t first = (b + 1) * lanes < m ? b * lanes : m - lanes;
        for (int64_t j = 0; j < lanes; j++)
            for (int64_t l = 0; l < lanes; l++) {
                double re, im;
                root(&r, j * (first + l), &re, &im);
                int64_t at = 2 * (b * lanes + j) * lanes + l;
                put_roots(p, at, at + lanes, re, im);
            }
    }
    free(r.coarse_re);
    return true;
}

/* The least product of 2, 3 and 5 that is no smaller, with a factor of 16 so that it splits well.
 */
static int64_t smooth_length(int64_t n)
{
    int64_t best = INT64_MAX;
    for (int64_t five = 1; five < 2 * n; five *= 5)
        for (int64_t three = five; three < 2 * n; three *= 3) {
            int64_t m = three * 16;
            while (m < n) m *= 2;
            if (m < best) best = m;
        }
    return best;
}

/* n interleaved numbers, then zeros, in the plan's type; NULL when out of memory. */
static void *narrowed(tn_fft_plan *p, const double *from, int64_t n)
{
    size_t width = p->wide ? sizeof(double) : sizeof(float), count = (size_t)n * 2;
    char *to = take(p, count + 32, width);
    if (!to) return NULL;
    memset(to, 0, (count + 32) * width);
    for (size_t i = 0; i < count; i++)
        if (p->wide) ((double *)to)[i] = from[i];
        else ((float *)to)[i] = (float)from[i];
    return to;
}

/* The transform of the kernel is made in f64. */
static bool fill_chirp(tn_fft_plan *p, tn_fft_transform_fn *transform, double *chirp,
                       double *kernel)
{
    int64_t n = p->n, m = p->convolution->n;
    memset(kernel, 0, (size_t)m * 2 * sizeof(double));
    for (int64_t k = 0; k < n; k++) {
        int64_t square = (int64_t)((__int128)k * k % (2 * n));
        root_of_unity(square, 2 * n, &chirp[2 * k], &chirp[2 * k + 1]);
        int64_t back = k ? m - k : 0;
        kernel[2 * k] = kernel[2 * back] = chirp[2 * k] / (double)m;
        kernel[2 * k + 1] = kernel[2 * back + 1] = -chirp[2 * k + 1] / (double)m;
    }
    const tn_fft_plan *wide = tn_fft_plan_take(m, true, tn_fft_choose(m, 1, true, true), NULL);
    bool ok = wide && transform(wide, kernel);
    tn_fft_plan_give(wide);
    p->chirp = ok ? narrowed(p, chirp, n) : NULL;
    p->kernel = ok ? narrowed(p, kernel, m) : NULL;
    return p->chirp && p->kernel;
}

static bool prepare_chirp(tn_fft_plan *p, tn_fft_transform_fn *transform)
{
    int64_t n = p->n, m = smooth_length(2 * n - 1);
    p->convolution = tn_fft_plan_take(m, p->wide, tn_fft_choose(m, 1, true, p->wide), NULL);
    double *chirp = malloc((size_t)(n + m) * 2 * sizeof *chirp);
    bool ok = p->convolution && chirp && fill_chirp(p, transform, chirp, chirp + 2 * n);
    free(chirp);
    return ok;
}

static void free_plan(tn_fft_plan *p)
{
    tn_fft_plan_give(p->columns);
    tn_fft_plan_give(p->rows);
    tn_fft_plan_give(p->convolution);
    free(p->root_re);
    free(p->root_im);
    free(p->roots);
    free(p->turn_re);
    free(p->turn_im);
    free(p->chirp);
    free(p->kernel);
    free(p);
}

/* --- the cache: a list of plans; those that nobody uses go when they are many or large --- */

enum { PLANS = 64 };
static const size_t BYTES = 64u << 20;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tn_fft_plan *plans;
static uint64_t now;

/* Takes the unused plan that was used longest ago off the list, if there are too many. */
static tn_fft_plan *one_too_many(void)
{
    size_t n = 0, bytes = 0;
    tn_fft_plan **oldest = NULL;
    for (tn_fft_plan **p = &plans; *p; p = &(*p)->next) {
        n++;
        bytes += (*p)->bytes;
        if (!(*p)->users && (!oldest || (*p)->used < (*oldest)->used)) oldest = p;
    }
    if (!oldest || (n <= PLANS && bytes <= BYTES)) return NULL;
    tn_fft_plan *p = *oldest;
    *oldest = p->next;
    return p;
}

static tn_fft_plan *find(int64_t n, bool wide, tn_fft_way way)
{
    for (tn_fft_plan *p = plans; p; p = p->next) {
        if (p->n != n || p->wide != wide || p->way != way) continue;
        p->users++;
        p->used = ++now;
        return p;
    }
    return NULL;
}

const tn_fft_plan *tn_fft_plan_take(int64_t n, bool wide, tn_fft_way way,
                                    tn_fft_transform_fn *transform)
{
    pthread_mutex_lock(&lock);
    tn_fft_plan *p = find(n, wide, way);
    pthread_mutex_unlock(&lock);
    if (p) return p;
    if (n < 1 || n > (int64_t)1 << 38) return NULL;
    p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->n = n;
    p->wide = wide;
    p->way = way;
    bool ok = way == TN_FFT_SPLIT   ? prepare_split(p)
              : way == TN_FFT_LINE  ? prepare_line(p)
              : way == TN_FFT_CHIRP ? prepare_chirp(p, transform)
                                    : prepare_lines(p);
    if (!ok) {
        free_plan(p);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    p->users = 1;
    p->used = ++now;
    p->next = plans;
    plans = p;
    pthread_mutex_unlock(&lock);
    return p;
}

void tn_fft_plan_give(const tn_fft_plan *plan)
{
    if (!plan) return;
    pthread_mutex_lock(&lock);
    ((tn_fft_plan *)plan)->users--;
    tn_fft_plan *spare = one_too_many();
    pthread_mutex_unlock(&lock);
    if (spare) free_plan(spare);
}

/* --- builds --- */

int64_t tn_fft_lanes(bool wide)
{
    int64_t bytes = 16;
#if defined(__x86_64__)
    if (tn_cpu_isa() == TN_ISA_AVX512) bytes = 64;
    if (tn_cpu_isa() == TN_ISA_AVX2) bytes = 32;
#endif
    return bytes / (wide ? 8 : 4);
}

size_t tn_fft_work(const tn_fft_plan *p)
{
    int64_t vectors = p->way == TN_FFT_LINE ? p->columns->n : p->n;
    return (size_t)(vectors + 1) * 4 * 64;
}

void tn_fft_run(const tn_fft_group *g)
{
    bool wide = g->plan->wide;
#if defined(__x86_64__)
    switch (tn_cpu_isa()) {
    case TN_ISA_AVX512: (wide ? tn_fft_group_f64_avx512 : tn_fft_group_f32_avx512)(g); return;
    case TN_ISA_AVX2: (wide ? tn_fft_group_f64_avx2 : tn_fft_group_f32_avx2)(g); return;
    default: break;
    }
#endif
    (wide ? tn_fft_group_f64_baseline : tn_fft_group_f32_baseline)(g);
}

void tn_fft_multiply(bool wide, int64_t n, void *z, const void *w, bool before, bool after,
                     double scale)
{
    tn_fft_multiply_fn *run = wide ? tn_fft_multiply_f64_baseline : tn_fft_multiply_f32_baseline;
#if defined(__x86_64__)
    if (tn_cpu_isa() == TN_ISA_AVX2)
        run = wide ? tn_fft_multiply_f64_avx2 : tn_fft_multiply_f32_avx2;
    if (tn_cpu_isa() == TN_ISA_AVX512)
        run = wide ? tn_fft_multiply_f64_avx512 : tn_fft_multiply_f32_avx512;
#endif
    run(n, z, w, before, after, scale);
}
