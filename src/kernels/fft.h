/* SPDX-License-Identifier: Apache-2.0 */
/* fft.h - discrete Fourier transforms of any length: plans, and the loops that transform as many
 * lines at once as a vector has lanes.
 *
 * y[j] = sum over k of x[k] exp(-2 pi i j k / n), computed in the type of the data, f32 or f64.
 * Errors grow with log n. The ways:
 * - TN_FFT_LINES: lengths of small primes by Stockham passes, a group of lines at a time
 * - TN_FFT_LINE: contiguous lines whose length is a multiple of a vector's, one at a time, so that
 *   work stays in the first cache
 * - TN_FFT_SPLIT: one long line as n1 times n2: columns, roots of unity, rows
 * - TN_FFT_CHIRP: other lengths as a convolution of a smooth one (Bluestein)
 *
 * Threads: plans are immutable; each thread works in memory of its own. */
#ifndef TN_KERNELS_FFT_H
#define TN_KERNELS_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { TN_FFT_LINES, TN_FFT_LINE, TN_FFT_SPLIT, TN_FFT_CHIRP, TN_FFT_ROOTS } tn_fft_way;

/* Radices whose passes are written out; others are computed by the definition. */
#define TN_FFT_HAS_PASS(r) ((r) <= 5 || (r) == 8)
/* Those that read and write the caller's memory themselves. */
#define TN_FFT_HAS_ENDS(r) ((r) == 4 || (r) == 8)
enum { TN_FFT_LARGEST_RADIX = 127 }; /* larger primes go by convolution */

/* Arrays are of float, or of double if `wide`. */
typedef struct tn_fft_plan tn_fft_plan;
struct tn_fft_plan {
    tn_fft_way way;
    bool wide;
    int64_t n;
    /* LINES, ROOTS: exp(-2 pi i k / n), k < n */
    int n_radices;
    int64_t radices[64];
    void *root_re, *root_im;
    /* LINES: those that the passes of small radices want, in order, interleaved.
     * LINE: w^(j k) of the first pass at [b][j][2][l] for k = b * lanes + l, except that the last
     * block ends where they end: real parts, then imaginary ones */
    void *roots;
    /* SPLIT: exp(-2 pi i j k / n) at [k * n2 + j], k < n1, j < n2 */
    const tn_fft_plan *columns, *rows; /* of n1 and n2, by lines. LINE: columns of n / lanes */
    void *turn_re, *turn_im;
    /* CHIRP: exp(-pi i k^2 / n), k < n, then zeros up to whole vectors; and the transform of its
     * conjugate over the length of `convolution`, divided by that length; interleaved */
    const tn_fft_plan *convolution;
    void *chirp, *kernel;
    /* of the cache */
    size_t bytes;
    int users;
    uint64_t used;
    tn_fft_plan *next;
};

/* How to transform `lines` lines of length n >= 1, each contiguous or not. */
tn_fft_way tn_fft_choose(int64_t n, int64_t lines, bool contiguous, bool wide);
/* The plan, from the cache if it is there; NULL when out of memory. To be given back. `transform`
 * computes a line of f64 for a plan of CHIRP, on interleaved doubles in place. */
typedef bool tn_fft_transform_fn(const tn_fft_plan *p, double *line);
const tn_fft_plan *tn_fft_plan_take(int64_t n, bool wide, tn_fft_way way,
                                    tn_fft_transform_fn *transform);
void tn_fft_plan_give(const tn_fft_plan *p); /* NULL is fine */

/* What stands in the source or destination of a group of lines. */
typedef enum {
    TN_FFT_COMPLEX,
    TN_FFT_REAL,   /* the imaginary parts are 0, or left out */
    TN_FFT_MIRROR, /* source only: n / 2 + 1 elements, the others are conjugates */
    TN_FFT_PAIRS   /* reals, taken two by two for complex numbers of a plan of half the length; then
                      the other side is their spectrum of n + 1 elements */
} tn_fft_form;

/* Up to tn_fft_lanes lines, of a plan of LINE one, with steps of 2 and no mirror. Element k of line
 * l is at k * step + l * line, counted in reals, of either side. */
typedef struct {
    const tn_fft_plan *plan; /* LINES, LINE */
    const tn_fft_plan *half; /* PAIRS: the roots of twice the length */
    bool inverse;
    double scale; /* of the results */
    int64_t lines;
    const void *from;
    int64_t from_step, from_line;
    tn_fft_form from_form;
    void *to;
    int64_t to_step, to_line, to_n; /* to_n: elements to store */
    tn_fft_form to_form;
    const void *turn_re, *turn_im; /* if not NULL, result k of line l is multiplied by element
                                      k * turn_step + l */
    int64_t turn_step;
    void *work; /* tn_fft_work bytes, aligned to 64 */
} tn_fft_group;
int64_t tn_fft_lanes(bool wide);
size_t tn_fft_work(const tn_fft_plan *p);
void tn_fft_run(const tn_fft_group *g);
/* z = z w, interleaved, n elements and as many more as make whole vectors: z is conjugated before,
 * or what is stored, which is multiplied by `scale`. */
void tn_fft_multiply(bool wide, int64_t n, void *z, const void *w, bool before, bool after,
                     double scale);

/* --- builds --- */

typedef void tn_fft_group_fn(const tn_fft_group *g);
tn_fft_group_fn tn_fft_group_f32_baseline, tn_fft_group_f32_avx2, tn_fft_group_f32_avx512;
tn_fft_group_fn tn_fft_group_f64_baseline, tn_fft_group_f64_avx2, tn_fft_group_f64_avx512;
typedef void tn_fft_multiply_fn(int64_t n, void *z, const void *w, bool before, bool after,
                                double scale);
tn_fft_multiply_fn tn_fft_multiply_f32_baseline, tn_fft_multiply_f32_avx2,
    tn_fft_multiply_f32_avx512;
tn_fft_multiply_fn tn_fft_multiply_f64_baseline, tn_fft_multiply_f64_avx2,
    tn_fft_multiply_f64_avx512;

#endif
