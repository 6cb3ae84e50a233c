/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host/replay.h"

/* The value of a float of `bits` bits with `mantissa` stored ones. */
static double small_float(uint64_t bits, int width, int mantissa)
{
    uint64_t ones = (1u << (width - 1 - mantissa)) - 1, fraction = bits & ((1u << mantissa) - 1);
    uint64_t exponent = bits >> mantissa & ones;
    int bias = (int)(ones >> 1);
    double v = exponent == ones ? (fraction ? (double)NAN : (double)INFINITY)
               : exponent
                   ? ldexp((double)(fraction | 1u << mantissa), (int)exponent - bias - mantissa)
                   : ldexp((double)fraction, 1 - bias - mantissa);
    return bits >> (width - 1) & 1 ? -v : v;
}

/* Bytes of the floats that elements of this type consist of; 0: it is no float. */
static size_t float_bytes(PJRT_Buffer_Type t)
{
    switch (t) {
    case PJRT_Buffer_Type_F16:
    case PJRT_Buffer_Type_BF16: return 2;
    case PJRT_Buffer_Type_F32:
    case PJRT_Buffer_Type_C64: return 4;
    case PJRT_Buffer_Type_F64:
    case PJRT_Buffer_Type_C128: return 8;
    default: return 0;
    }
}

static double float_at(PJRT_Buffer_Type t, const char *at)
{
    uint16_t half;
    float f;
    double d;
    switch (float_bytes(t)) {
    case 2:
        memcpy(&half, at, 2);
        return t == PJRT_Buffer_Type_F16 ? small_float(half, 16, 10) : small_float(half, 16, 7);
    case 4: memcpy(&f, at, 4); return (double)f;
    default: memcpy(&d, at, 8); return d;
    }
}

static uint64_t ulps(const char *a, const char *b, size_t bytes)
{
    uint64_t x = 0, y = 0, sign = 1ull << (8 * bytes - 1);
    memcpy(&x, a, bytes);
    memcpy(&y, b, bytes);
    /* Floats in their order: negative ones below, mirrored. */
    x = x & sign ? sign - (x & (sign - 1)) : sign + x;
    y = y & sign ? sign - (y & (sign - 1)) : sign + y;
    return x > y ? x - y : y - x;
}

tn_array_difference tn_array_compare(const tn_array *a, const tn_array *b, double tolerance)
{
    tn_array_difference d = {.first = SIZE_MAX};
    size_t width = tn_element_size(a->type), part = float_bytes(a->type);
    size_t n = width ? a->size / width : 0, parts = part ? width / part : 1;
    for (size_t i = 0; i < n * parts; i++) {
        size_t step = part ? part : width;
        const char *x = (const char *)a->data + i * step, *y = (const char *)b->data + i * step;
        if (!memcmp(x, y, step)) continue;
        double error = (double)INFINITY;
        uint64_t off = UINT64_MAX;
        if (part) {
            double p = float_at(a->type, x), q = float_at(a->type, y);
            if (isnan(p) && isnan(q)) continue;
            if (!isnan(p) && !isnan(q)) {
                error = p == q ? 0 : fabs(p - q) / fmax(1, fabs(p));
                off = ulps(x, y, part);
                if (tolerance > 0 && (p == q || fabs(p - q) <= tolerance + tolerance * fabs(p))) {
                    if (error > d.worst) d.worst = error;
                    if (off > d.most_ulp) d.most_ulp = off;
                    continue;
                }
            }
        }
        if (error > d.worst) d.worst = error;
        if (off > d.most_ulp) d.most_ulp = off;
        if (d.first == SIZE_MAX) d.first = i / parts;
        d.n++;
    }
    return d;
}

void tn_array_element_text(const tn_array *a, size_t i, char *text, size_t size)
{
    size_t width = tn_element_size(a->type), part = float_bytes(a->type);
    const char *at = (const char *)a->data + i * width;
    if (part && part == width) {
        snprintf(text, size, "%.17g", float_at(a->type, at));
    } else if (part) {
        snprintf(text, size, "(%.17g, %.17g)", float_at(a->type, at), float_at(a->type, at + part));
    } else {
        unsigned long long bits = 0;
        memcpy(&bits, at, width < sizeof bits ? width : sizeof bits);
        snprintf(text, size, "%llu (0x%llx)", bits, bits);
    }
}
