/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. */
#include "kernels/fft.h"
#include "kernels/isa.h"

/* The loops over q run over contiguous elements that share their factors. */

static void radix2(const tn_fft_pass *p)
{
    int64_t s = p->s, far = p->m * s;
    for (int64_t k = 0; k < p->m; k++) {
        double wr = p->root_re[k * p->step], wi = p->root_im[k * p->step];
        const double *xr = p->x_re + k * s, *xi = p->x_im + k * s;
        double *restrict yr = p->y_re + 2 * k * s, *restrict yi = p->y_im + 2 * k * s;
        for (int64_t q = 0; q < s; q++) {
            double ar = xr[q], ai = xi[q], br = xr[q + far], bi = xi[q + far];
            double dr = ar - br, di = ai - bi;
            yr[q] = ar + br;
            yi[q] = ai + bi;
            yr[q + s] = dr * wr - di * wi;
            yi[q + s] = dr * wi + di * wr;
        }
    }
}

static void radix3(const tn_fft_pass *p)
{
    const double half = 0.5, sine = 0.86602540378443864676;
    int64_t s = p->s, far = p->m * s;
    for (int64_t k = 0; k < p->m; k++) {
        double w1r = p->root_re[k * p->step], w1i = p->root_im[k * p->step];
        double w2r = p->root_re[2 * k * p->step], w2i = p->root_im[2 * k * p->step];
        const double *xr = p->x_re + k * s, *xi = p->x_im + k * s;
        double *restrict yr = p->y_re + 3 * k * s, *restrict yi = p->y_im + 3 * k * s;
        for (int64_t q = 0; q < s; q++) {
            double ar = xr[q], ai = xi[q];
            double sr = xr[q + far] + xr[q + 2 * far], si = xi[q + far] + xi[q + 2 * far];
            double dr = sine * (xr[q + far] - xr[q + 2 * far]);
            double di = sine * (xi[q + far] - xi[q + 2 * far]);
            double mr = ar - half * sr, mi = ai - half * si;
            yr[q] = ar + sr;
            yi[q] = ai + si;
            double br = mr + di, bi = mi - dr, cr = mr - di, ci = mi + dr;
            yr[q + s] = br * w1r - bi * w1i;
            yi[q + s] = br * w1i + bi * w1r;
            yr[q + 2 * s] = cr * w2r - ci * w2i;
            yi[q + 2 * s] = cr * w2i + ci * w2r;
        }
    }
}

static void radix4(const tn_fft_pass *p)
{
    int64_t s = p->s, far = p->m * s;
    for (int64_t k = 0; k < p->m; k++) {
        double w1r = p->root_re[k * p->step], w1i = p->root_im[k * p->step];
        double w2r = p->root_re[2 * k * p->step], w2i = p->root_im[2 * k * p->step];
        double w3r = p->root_re[3 * k * p->step], w3i = p->root_im[3 * k * p->step];
        const double *xr = p->x_re + k * s, *xi = p->x_im + k * s;
        double *restrict yr = p->y_re + 4 * k * s, *restrict yi = p->y_im + 4 * k * s;
        for (int64_t q = 0; q < s; q++) {
            double ar = xr[q] + xr[q + 2 * far], ai = xi[q] + xi[q + 2 * far];
            double br = xr[q] - xr[q + 2 * far], bi = xi[q] - xi[q + 2 * far];
            double cr = xr[q + far] + xr[q + 3 * far], ci = xi[q + far] + xi[q + 3 * far];
            double dr = xr[q + far] - xr[q + 3 * far], di = xi[q + far] - xi[q + 3 * far];
            double er = br + di, ei = bi - dr, fr = ar - cr, fi = ai - ci;
            double gr = br - di, gi = bi + dr;
            yr[q] = ar + cr;
            yi[q] = ai + ci;
            yr[q + s] = er * w1r - ei * w1i;
            yi[q + s] = er * w1i + ei * w1r;
            yr[q + 2 * s] = fr * w2r - fi * w2i;
            yi[q + 2 * s] = fr * w2i + fi * w2r;
            yr[q + 3 * s] = gr * w3r - gi * w3i;
            yi[q + 3 * s] = gr * w3i + gi * w3r;
        }
    }
}

/* Any radix, by the definition. */
static void radix_any(const tn_fft_pass *p)
{
    int64_t r = p->radix, s = p->s, far = p->m * s, unit = p->step * p->m;
    for (int64_t k = 0; k < p->m; k++) {
        const double *xr = p->x_re + k * s, *xi = p->x_im + k * s;
        for (int64_t j = 0; j < r; j++) {
            double *restrict yr = p->y_re + (r * k + j) * s, *restrict yi =
                                                                 p->y_im + (r * k + j) * s;
            for (int64_t q = 0; q < s; q++) {
                yr[q] = xr[q];
                yi[q] = xi[q];
            }
            for (int64_t t = 1; t < r; t++) {
                double ur = p->root_re[t * j % r * unit], ui = p->root_im[t * j % r * unit];
                for (int64_t q = 0; q < s; q++) {
                    double ar = xr[q + t * far], ai = xi[q + t * far];
                    yr[q] += ar * ur - ai * ui;
                    yi[q] += ar * ui + ai * ur;
                }
            }
            double wr = p->root_re[j * k * p->step], wi = p->root_im[j * k * p->step];
            for (int64_t q = 0; q < s && j && k; q++) {
                double ar = yr[q], ai = yi[q];
                yr[q] = ar * wr - ai * wi;
                yi[q] = ar * wi + ai * wr;
            }
        }
    }
}

void TN_ISA_NAME(tn_fft_pass)(const tn_fft_pass *p)
{
    switch (p->radix) {
    case 2: radix2(p); return;
    case 3: radix3(p); return;
    case 4: radix4(p); return;
    default: radix_any(p); return;
    }
}
