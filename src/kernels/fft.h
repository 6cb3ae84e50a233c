/* SPDX-License-Identifier: Apache-2.0 */
/* fft.h - discrete Fourier transforms of any length, on several lines at once, in f64.
 *
 * y[j] = sum over k of x[k] exp(-2 pi i j k / n). Lengths of small primes go through Stockham
 * passes, which need no reordering; others are a convolution of a power of two (Bluestein). Errors
 * grow with log n. Threads: a plan is immutable; each thread works in buffers of its own. */
#ifndef TN_KERNELS_FFT_H
#define TN_KERNELS_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_fft_plan tn_fft_plan;

/* A plan for length n >= 1, or NULL when out of memory. */
tn_fft_plan *tn_fft_plan_new(int64_t n);
void tn_fft_plan_free(tn_fft_plan *p); /* NULL is fine */

/* Lines that one call transforms at most; more than one is quicker a line. */
#define TN_FFT_LINES 8

/* Doubles of work space that tn_fft_run needs. */
size_t tn_fft_work(const tn_fft_plan *p, int64_t lines);
/* Transforms `lines` lines in place: element k of line l is re[k * lines + l], im[...]. The inverse
 * (not divided by n) is the same with re and im swapped. */
void tn_fft_run(const tn_fft_plan *p, int64_t lines, double *re, double *im, double *work);

/* --- between the files --- */

/* One Stockham pass of radix r over x of r * m * s elements, s the innermost: elements r apart in m
 * are combined, and multiplied by the roots of unity of order r * m. root[k * step] is
 * exp(-2 pi i k / (r * m)); of order r, root[k * step * m]. */
typedef struct {
    int64_t radix, m, s, step;
    const double *root_re, *root_im;
    const double *x_re, *x_im;
    double *y_re, *y_im;
} tn_fft_pass;
typedef void tn_fft_pass_fn(const tn_fft_pass *p);
tn_fft_pass_fn tn_fft_pass_baseline, tn_fft_pass_avx2, tn_fft_pass_avx512;

/* Radices that passes take; the others go by convolution. */
#define TN_FFT_LARGEST_RADIX 31

#endif
