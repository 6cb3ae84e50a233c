/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_tiny.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define TINY  0x1p-100f /* numbers below are tiny */
#define SMALL 0x1p-50f  /* and below products of two of them */

enum {
    SEEN = 8,             /* elements of an operand that are looked at first */
    MIN_K = 8,            /* as in no product whose rows are computed apart, see gemm_rows.h */
    SCALED_EXP = -30,     /* where the largest comes to lie: sums can't overflow */
    SCALED_SMALL_EXP = 20 /* the same where the other operand is small */
};

/* One operand: `lines` times `n` elements. */
typedef struct {
    const char *at;
    int64_t lines, n, line, step;
} operand;

static float magnitude(const char *at)
{
    float x;
    memcpy(&x, at, sizeof x);
    return fabsf(x);
}

static bool is_small(const operand *o)
{
    return o->lines * o->n <= TN_GEMM_TINY_SIZE;
}

/* Zeros say nothing, and a matrix of zeros isn't worth a look at all of it. */
static bool may_be_below(const operand *o, float limit)
{
    float largest = 0;
    for (int64_t i = 0; i < o->n && i < SEEN; i++) {
        float x = magnitude(o->at + i * o->step);
        if (!(x < limit)) return false;
        if (x > largest) largest = x;
    }
    return largest > 0 && is_small(o);
}

static operand operand_a(const tn_gemm_plan *p, const char *a)
{
    return (operand){a, p->m, p->k, p->a_row, p->a_col};
}

static operand operand_b(const tn_gemm_plan *p, const char *b)
{
    return (operand){b, p->k, p->n, p->b_row, p->b_col};
}

bool tn_gemm_may_be_tiny(const tn_gemm_plan *p, const char *a, const char *b)
{
    if (p->kind != TN_GEMM_F32 || !p->a_plain || !p->b_plain || !p->c_plain || p->c_col != p->e ||
        p->k < MIN_K)
        return false;
    operand x = operand_a(p, a), y = operand_b(p, b);
    return may_be_below(&x, TINY) || may_be_below(&y, TINY) ||
           (may_be_below(&x, SMALL) && may_be_below(&y, SMALL));
}

/* The power of two to multiply by; 0: it isn't below the limit. */
static int scale_of(const operand *o, float limit, int to)
{
    if (!may_be_below(o, limit)) return 0;
    float largest = 0;
    for (int64_t i = 0; i < o->lines; i++)
        for (int64_t j = 0; j < o->n; j++) {
            float x = magnitude(o->at + i * o->line + j * o->step);
            if (!(x < limit)) return 0;
            if (x > largest) largest = x;
        }
    return to - ilogbf(largest);
}

/* x 2^scale and x 2^-scale; what is subnormal is only ever an integer, which needs no assist. */
enum { SUBNORMAL_EXP = -149, FIRST_NORMAL = 1 << 23 };

static inline float scaled_up(float x, float factor, float subnormal_factor)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t size = bits & INT32_MAX, low = size < FIRST_NORMAL ? size : 0;
    uint32_t rest = size - low;
    float normal;
    memcpy(&normal, &rest, sizeof normal);
    return copysignf(normal * factor + (float)(int32_t)low * subnormal_factor, x);
}

static inline float scaled_down(float x, float factor, float subnormal_factor, float limit)
{
    float size = fabsf(x), y;
    bool low = size < limit;
    /* The sum has the integer next to the number of units in its lowest bits; 2^23 of them are the
     * first normal number. */
    float sum = (low ? size : 0) * subnormal_factor + FIRST_NORMAL;
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    bits -= 0x4b000000; /* 2^23 */
    memcpy(&y, &bits, sizeof y);
    int32_t normal, least;
    memcpy(&normal, &size, sizeof normal);
    memcpy(&least, &limit, sizeof least);
    normal = normal > least ? normal : least; /* of both ways to compute none meets subnormals */
    memcpy(&size, &normal, sizeof size);
    return copysignf(low ? y : size * factor, x);
}

static void copy_scaled(const operand *o, int scale, float *copy)
{
    float factor = ldexpf(1, scale), subnormal_factor = ldexpf(1, scale + SUBNORMAL_EXP);
    for (int64_t i = 0; i < o->lines; i++)
        for (int64_t j = 0; j < o->n; j++) {
            float x;
            memcpy(&x, o->at + i * o->line + j * o->step, sizeof x);
            *copy++ = scaled_up(x, factor, subnormal_factor);
        }
}

/* Both may be scaled, since subnormal factors cost as much as subnormal sums. */
void tn_gemm_tiny_begin(tn_gemm_tiny *t, const tn_gemm_plan *p, const char *a, const char *b)
{
    t->plan = *p, t->a = a, t->b = b;
    operand x = operand_a(p, a), y = operand_b(p, b);
    int of_x = scale_of(&x, TINY, SCALED_EXP), of_y = scale_of(&y, TINY, SCALED_EXP);
    if (!of_x && !of_y && scale_of(&y, SMALL, 0)) of_x = scale_of(&x, SMALL, SCALED_SMALL_EXP);
    t->scale = of_x + of_y;
    if (of_x) {
        copy_scaled(&x, of_x, t->copies[0]);
        t->a = (const char *)t->copies[0];
        t->plan.a_row = p->k * p->e, t->plan.a_col = p->e;
    }
    if (of_y) {
        copy_scaled(&y, of_y, t->copies[1]);
        t->b = (const char *)t->copies[1];
        t->plan.b_row = p->n * p->e, t->plan.b_col = p->e;
    }
}

void tn_gemm_tiny_end(const tn_gemm_tiny *t, char *c)
{
    if (!t->scale) return;
    if (t->scale > FLT_MAX_EXP) { /* too much for a factor: nothing is left but signs */
        for (int64_t i = 0; i < t->plan.m; i++) {
            float *row = (float *)(c + i * t->plan.c_row);
            for (int64_t j = 0; j < t->plan.n; j++) row[j] = copysignf(0, row[j]);
        }
        return;
    }
    float factor = ldexpf(1, -t->scale), subnormal_factor = ldexpf(1, -SUBNORMAL_EXP - t->scale);
    float limit = FIRST_NORMAL / subnormal_factor;
    for (int64_t i = 0; i < t->plan.m; i++) {
        float *row = (float *)(c + i * t->plan.c_row);
        for (int64_t j = 0; j < t->plan.n; j++)
            row[j] = scaled_down(row[j], factor, subnormal_factor, limit);
    }
}
