/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_features.h"

struct tn_fft_plan {
    int64_t n;
    int n_radices;
    int64_t radices[64];
    double *root_re, *root_im; /* exp(-2 pi i k / n), k < n */
    /* Bluestein: */
    tn_fft_plan *convolution;      /* of its power of two */
    double *chirp_re, *chirp_im;   /* exp(-pi i k^2 / n), k < n */
    double *kernel_re, *kernel_im; /* the transform of the conjugate chirp, over its length */
};

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

/* Fine steps times coarse ones, so that long tables cost a product an entry. */
static void fill_roots(double *re, double *im, int64_t n)
{
    enum { FINE = 64 };
    double fine_re[FINE], fine_im[FINE], cr = 1, ci = 0;
    int64_t fine = n < FINE ? n : FINE;
    for (int64_t k = 0; k < fine; k++) root_of_unity(k, n, &fine_re[k], &fine_im[k]);
    for (int64_t k = 0; k < n; k += fine) {
        root_of_unity(k, n, &cr, &ci);
        for (int64_t j = 0; j < fine && k + j < n; j++) {
            re[k + j] = cr * fine_re[j] - ci * fine_im[j];
            im[k + j] = cr * fine_im[j] + ci * fine_re[j];
        }
    }
}

static bool factor(tn_fft_plan *p)
{
    int64_t rest = p->n;
    static const int64_t first[] = {4, 2, 3};
    for (int i = 0; i < 3; i++)
        for (; rest % first[i] == 0; rest /= first[i]) p->radices[p->n_radices++] = first[i];
    for (int64_t r = 5; r <= TN_FFT_LARGEST_RADIX; r += 2)
        for (; rest % r == 0; rest /= r) p->radices[p->n_radices++] = r;
    return rest == 1;
}

static double *doubles(int64_t n)
{
    if (n > (int64_t)1 << 40) return NULL;
    return malloc(((size_t)n + 1) * sizeof(double));
}

static bool prepare_convolution(tn_fft_plan *p)
{
    int64_t n = p->n, m = 1;
    while (m < 2 * n - 1) m *= 2;
    p->convolution = tn_fft_plan_new(m);
    p->chirp_re = doubles(n);
    p->chirp_im = doubles(n);
    p->kernel_re = doubles(m);
    p->kernel_im = doubles(m);
    double *work = doubles(2 * m);
    bool ok = p->convolution && p->chirp_re && p->chirp_im && p->kernel_re && p->kernel_im && work;
    if (ok) {
        memset(p->kernel_re, 0, (size_t)m * sizeof(double));
        memset(p->kernel_im, 0, (size_t)m * sizeof(double));
        for (int64_t k = 0; k < n; k++) {
            int64_t square = (int64_t)((__int128)k * k % (2 * n));
            root_of_unity(square, 2 * n, &p->chirp_re[k], &p->chirp_im[k]);
            int64_t back = k ? m - k : 0;
            p->kernel_re[k] = p->kernel_re[back] = p->chirp_re[k] / (double)m;
            p->kernel_im[k] = p->kernel_im[back] = -p->chirp_im[k] / (double)m;
        }
        tn_fft_run(p->convolution, 1, p->kernel_re, p->kernel_im, work);
    }
    free(work);
    return ok;
}

tn_fft_plan *tn_fft_plan_new(int64_t n)
{
    tn_fft_plan *p = calloc(1, sizeof *p);
    if (!p || n < 1 || n > (int64_t)1 << 38) {
        free(p);
        return NULL;
    }
    p->n = n;
    bool ok;
    if (factor(p)) {
        p->root_re = doubles(n);
        p->root_im = doubles(n);
        ok = p->root_re && p->root_im;
        if (ok) fill_roots(p->root_re, p->root_im, n);
    } else {
        ok = prepare_convolution(p);
    }
    if (ok) return p;
    tn_fft_plan_free(p);
    return NULL;
}

void tn_fft_plan_free(tn_fft_plan *p)
{
    if (!p) return;
    tn_fft_plan_free(p->convolution);
    free(p->root_re);
    free(p->root_im);
    free(p->chirp_re);
    free(p->chirp_im);
    free(p->kernel_re);
    free(p->kernel_im);
    free(p);
}

size_t tn_fft_work(const tn_fft_plan *p, int64_t lines)
{
    if (!p->convolution) return 2 * (size_t)(p->n * lines);
    return 2 * (size_t)(p->convolution->n * lines) + tn_fft_work(p->convolution, lines);
}

static tn_fft_pass_fn *pass_function(void)
{
#if defined(__x86_64__)
    switch (tn_cpu_isa()) {
    case TN_ISA_AVX512: return tn_fft_pass_avx512;
    case TN_ISA_AVX2: return tn_fft_pass_avx2;
    default: break;
    }
#endif
    return tn_fft_pass_baseline;
}

static void run_passes(const tn_fft_plan *p, int64_t lines, double *re, double *im, double *work)
{
    tn_fft_pass_fn *run = pass_function();
    size_t size = (size_t)(p->n * lines);
    double *other_re = work, *other_im = work + size;
    tn_fft_pass pass = {.s = lines, .step = 1, .root_re = p->root_re, .root_im = p->root_im};
    int64_t rest = p->n;
    bool moved = false;
    for (int i = 0; i < p->n_radices; i++) {
        pass.radix = p->radices[i];
        pass.m = rest /= pass.radix;
        pass.x_re = moved ? other_re : re;
        pass.x_im = moved ? other_im : im;
        pass.y_re = moved ? re : other_re;
        pass.y_im = moved ? im : other_im;
        run(&pass);
        moved = !moved;
        pass.s *= pass.radix;
        pass.step *= pass.radix;
    }
    if (!moved) return;
    memcpy(re, other_re, size * sizeof *re);
    memcpy(im, other_im, size * sizeof *im);
}

/* (ar, ai) * (br, bi) into (*re, *im). */
static void multiply(double ar, double ai, double br, double bi, double *re, double *im)
{
    *re = ar * br - ai * bi;
    *im = ar * bi + ai * br;
}

void tn_fft_run(const tn_fft_plan *p, int64_t lines, double *re, double *im, double *work)
{
    if (!p->convolution) {
        run_passes(p, lines, re, im, work);
        return;
    }
    int64_t n = p->n * lines, m = p->convolution->n * lines;
    double *cr = work, *ci = work + m, *rest = work + 2 * m;
    for (int64_t i = 0; i < n; i++)
        multiply(re[i], im[i], p->chirp_re[i / lines], p->chirp_im[i / lines], &cr[i], &ci[i]);
    memset(cr + n, 0, (size_t)(m - n) * sizeof *cr);
    memset(ci + n, 0, (size_t)(m - n) * sizeof *ci);
    tn_fft_run(p->convolution, lines, cr, ci, rest);
    for (int64_t i = 0; i < m; i++)
        multiply(cr[i], ci[i], p->kernel_re[i / lines], p->kernel_im[i / lines], &cr[i], &ci[i]);
    tn_fft_run(p->convolution, lines, ci, cr, rest); /* back */
    for (int64_t i = 0; i < n; i++)
        multiply(cr[i], ci[i], p->chirp_re[i / lines], p->chirp_im[i / lines], &re[i], &im[i]);
}
