/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu_features.h"
#include "kernels/elementwise.h"
#include "test/values/reference.h"

place place_of(const tn_type *t, int64_t i)
{
    place p = {{0}};
    for (uint32_t d = t->rank; d-- > 0; i /= t->dims[d]) p.v[d] = i % t->dims[d];
    return p;
}

int64_t element_at(const tn_type *t, const place *p)
{
    int64_t i = 0;
    for (uint32_t d = 0; d < t->rank; d++) i = i * t->dims[d] + p->v[d];
    return i;
}

bool is_inside(const tn_type *t, const place *p)
{
    for (uint32_t d = 0; d < t->rank; d++)
        if (p->v[d] < 0 || p->v[d] >= t->dims[d]) return false;
    return true;
}

bool has(const int64_t *list, uint32_t n, int64_t v)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == v) return true;
    return false;
}

static uint64_t bits_at(const tn_tensor *t, int64_t i)
{
    unsigned bytes = tn_element_type_bytes(t->type->element);
    uint64_t v = 0;
    memcpy(&v, (const char *)t->data + i * bytes, bytes);
    if (tn_element_type_class(t->type->element) == TN_CLASS_SINT && bytes < 8 &&
        v >> (8 * bytes - 1))
        v |= UINT64_MAX << 8 * bytes;
    return v;
}

int64_t index_value(const tn_tensor *t, int64_t i)
{
    uint64_t v = bits_at(t, i);
    bool is_unsigned = tn_element_type_class(t->type->element) == TN_CLASS_UINT;
    return is_unsigned && v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static bool is_whole(tn_element_type e)
{
    return tn_is_integer(e) || e == TN_I1;
}

number number_at(const tn_tensor *t, int64_t i)
{
    tn_element_type e = t->type->element, real = tn_real_type(e);
    number n = {.terms = 1};
    if (is_whole(e)) {
        n.whole = bits_at(t, i);
        return n;
    }
    double v[2] = {0, 0};
    unsigned bytes = tn_element_type_bytes(e);
    const void *from = (const char *)t->data + i * bytes;
    tn_kernel k;
    size_t parts = tn_is_complex(e) ? 2 : 1;
    if (real == TN_F64) memcpy(v, from, bytes);
    else if (tn_kernel_convert(TN_ISA_BASELINE, real, TN_F64, &k))
        tn_kernel_run(&k, parts, &from, v);
    n.re = v[0];
    n.im = v[1];
    n.size = fabsl(n.re) + fabsl(n.im);
    n.wild = !(n.size < INFINITY);
    return n;
}

number product(const tn_type *t, number a, number b)
{
    number r = {.whole = a.whole * b.whole, .terms = 1, .wild = a.wild || b.wild};
    if (t->element == TN_I1) r.whole = a.whole & b.whole;
    r.re = a.re * b.re - a.im * b.im;
    r.im = a.re * b.im + a.im * b.re;
    r.size = a.size * b.size;
    return r;
}

void add_to(number *sum, number term)
{
    sum->whole += term.whole;
    sum->re += term.re;
    sum->im += term.im;
    sum->size += term.size;
    sum->terms += term.terms;
    sum->wild |= term.wild;
}

/* Last bit of a number of size 1, the largest and the smallest size. */
static void limits_of(tn_element_type e, long double *last, long double *most, long double *least)
{
    int mantissa = 1, top = 0, bottom = -2;
    switch ((int)e) {
    case TN_F64: mantissa = 53, top = 1023, bottom = -1022; break;
    case TN_F32: mantissa = 24, top = 127, bottom = -126; break;
    case TN_BF16: mantissa = 8, top = 127, bottom = -126; break;
    case TN_F16: mantissa = 11, top = 15, bottom = -14; break;
    case TN_F8E5M2: mantissa = 3, top = 15, bottom = -14; break;
    case TN_F8E5M2FNUZ: mantissa = 3, top = 14, bottom = -15; break;
    case TN_F8E4M3:
    case TN_F8E4M3FN: mantissa = 4, top = 7, bottom = -6; break;
    case TN_F8E4M3FNUZ: mantissa = 4, top = 6, bottom = -7; break;
    case TN_F8E4M3B11FNUZ: mantissa = 4, top = 3, bottom = -10; break;
    case TN_F8E3M4: mantissa = 5, top = 3, bottom = -2; break;
    case TN_F6E2M3FN: mantissa = 4, top = 1, bottom = 0; break;
    case TN_F6E3M2FN: mantissa = 3, top = 3, bottom = -2; break;
    case TN_F4E2M1FN: mantissa = 2, top = 1, bottom = 0; break;
    default: break;
    }
    *last = ldexpl(1, 1 - mantissa);
    *most = ldexpl(1, top);
    *least = ldexpl(1, bottom + 1 - mantissa);
}

bool holds(const tn_tensor *t, int64_t i, const number *n, bool accumulated)
{
    tn_element_type e = t->type->element, real = tn_real_type(e);
    number got = number_at(t, i);
    if (is_whole(e)) {
        unsigned bits = tn_element_type_bits(e);
        uint64_t mask = bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
        if (e == TN_I1) return got.whole == (n->whole != 0);
        return ((got.whole ^ n->whole) & mask) == 0;
    }
    long double last, most, least;
    limits_of(real, &last, &most, &least);
    if (e == TN_F8E8M0FNU || n->wild || !(n->size < most)) return true;
    long double sum_last = real == TN_F64 ? 0x1p-53L : 0x1p-24L;
    long double bound = last * (fabsl(n->re) + fabsl(n->im)) + 2 * least;
    if (accumulated) bound += sum_last * (long double)(n->terms + 3) * n->size + 0x1p-140L;
    return fabsl(got.re - n->re) <= bound && fabsl(got.im - n->im) <= bound;
}

const char *differs_at(const tn_type *t, int64_t i)
{
    static char text[160];
    char type[96];
    snprintf(text, sizeof text, "element %" PRId64 " of %s is not what the reference says", i,
             tn_type_format(t, type, sizeof type));
    return text;
}
