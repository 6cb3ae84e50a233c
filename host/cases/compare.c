/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cases/compare.h"

#include <math.h>
#include <string.h>

/* How the components of a type lie in memory: `exponent` bits of exponent for floats, 0 for
 * integers. */
typedef struct {
    unsigned bytes, bits, exponent, mantissa;
    bool is_signed;
    int bias;
    bool powers; /* no sign, no mantissa: 2^(v - bias), all ones is NaN */
} format;

static format format_of(PJRT_Buffer_Type type)
{
    switch (type) {
    case PJRT_Buffer_Type_F64:
    case PJRT_Buffer_Type_C128: return (format){8, 64, 11, 52, true, 1023};
    case PJRT_Buffer_Type_F32:
    case PJRT_Buffer_Type_C64: return (format){4, 32, 8, 23, true, 127};
    case PJRT_Buffer_Type_F16: return (format){2, 16, 5, 10, true, 15};
    case PJRT_Buffer_Type_BF16: return (format){2, 16, 8, 7, true, 127};
    case PJRT_Buffer_Type_F8E5M2: return (format){1, 8, 5, 2, true, 15};
    case PJRT_Buffer_Type_F8E4M3: return (format){1, 8, 4, 3, true, 7};
    case PJRT_Buffer_Type_F8E3M4: return (format){1, 8, 3, 4, true, 3};
    case PJRT_Buffer_Type_F8E8M0FNU:
        return (format){.bytes = 1, .bits = 8, .exponent = 8, .bias = 127, .powers = true};
    case PJRT_Buffer_Type_S8:
    case PJRT_Buffer_Type_S16:
    case PJRT_Buffer_Type_S32:
    case PJRT_Buffer_Type_S64:
        return (format){.bytes = (unsigned)tn_element_size(type),
                        .bits = 8 * (unsigned)tn_element_size(type),
                        .is_signed = true};
    /* One byte each, of which only the low bits count. */
    case PJRT_Buffer_Type_S4: return (format){.bytes = 1, .bits = 4, .is_signed = true};
    case PJRT_Buffer_Type_S2: return (format){.bytes = 1, .bits = 2, .is_signed = true};
    case PJRT_Buffer_Type_U4: return (format){.bytes = 1, .bits = 4};
    case PJRT_Buffer_Type_U2: return (format){.bytes = 1, .bits = 2};
    default: /* unsigned integers, booleans, and the narrow floats whose patterns are compared as
                they are */
        return (format){.bytes = (unsigned)tn_element_size(type),
                        .bits = 8 * (unsigned)tn_element_size(type)};
    }
}

static uint64_t pattern(const char *p, const format *f)
{
    uint64_t v = 0;
    memcpy(&v, p, f->bytes);
    return f->bits < 64 ? v & ((1ull << f->bits) - 1) : v;
}

static bool is_nan(uint64_t v, const format *f)
{
    if (f->powers) return v == 0xFF;
    uint64_t ones = (1ull << f->exponent) - 1;
    return ((v >> f->mantissa) & ones) == ones && (v & ((1ull << f->mantissa) - 1));
}

static bool is_inf(uint64_t v, const format *f)
{
    if (f->powers) return false;
    uint64_t ones = (1ull << f->exponent) - 1;
    return ((v >> f->mantissa) & ones) == ones && !(v & ((1ull << f->mantissa) - 1));
}

static double value(uint64_t v, const format *f)
{
    if (f->powers) return v == 0xFF ? NAN : ldexp(1, (int)v - f->bias);
    if (!f->exponent) {
        if (!f->is_signed) return (double)v;
        return (double)((int64_t)(v << (64 - f->bits)) >> (64 - f->bits));
    }
    bool negative = v >> (f->bits - 1) & 1;
    int64_t e = (int64_t)(v >> f->mantissa & ((1ull << f->exponent) - 1));
    double m = (double)(v & ((1ull << f->mantissa) - 1));
    double x = e ? ldexp(m + (double)(1ull << f->mantissa), (int)e - f->bias - (int)f->mantissa)
                 : ldexp(m, 1 - f->bias - (int)f->mantissa);
    if (is_inf(v, f)) x = INFINITY;
    if (is_nan(v, f)) x = NAN;
    return negative ? -x : x;
}

/* Patterns in the order of their values, so that neighbours differ by 1 and both zeros are one. */
static __int128 ordered(uint64_t v, const format *f)
{
    uint64_t sign = 1ull << (f->bits - 1);
    if (f->powers) return (__int128)v;
    if (!f->exponent)
        return f->is_signed ? (__int128)((int64_t)(v << (64 - f->bits)) >> (64 - f->bits))
                            : (__int128)v;
    return v & sign ? -(__int128)(v & ~sign) : (__int128)v;
}

static bool matches(uint64_t got, uint64_t want, const format *f, tn_rule rule)
{
    if (got == want) return true;
    if (f->exponent) {
        bool g = is_nan(got, f), w = is_nan(want, f);
        if (g || w) return g && w;
    }
    __int128 distance = ordered(got, f) - ordered(want, f);
    if (distance == 0) return true;
    if (rule.kind == TN_RULE_EXACT) return false;
    if (rule.kind == TN_RULE_ULP)
        return (double)(distance < 0 ? -distance : distance) <= rule.tolerance;
    if (f->exponent && (is_inf(got, f) || is_inf(want, f))) return false;
    return fabs(value(got, f) - value(want, f)) <= rule.tolerance;
}

tn_status *tn_compare(const tn_array *got, const tn_array *want, tn_rule rule)
{
    if (got->type != want->type)
        return TN_ERROR(INVALID_ARGUMENT, "type is %s, expected %s", tn_element_name(got->type),
                        tn_element_name(want->type));
    /* The data set stores a scalar as an array of one element. */
    bool scalar = got->rank == 0 && want->rank == 1 && want->dims[0] == 1;
    bool same = got->rank == want->rank || scalar;
    for (size_t i = 0; same && i < got->rank; i++) same = got->dims[i] == want->dims[i];
    if (!same)
        return TN_ERROR(INVALID_ARGUMENT, "shape differs (rank %zu, expected %zu)", got->rank,
                        want->rank);
    format f = format_of(got->type);
    size_t n = f.bytes ? got->size / f.bytes : 0, bad = 0, first = 0;
    const char *g = got->data, *w = want->data;
    for (size_t i = 0; i < n; i++) {
        if (matches(pattern(g + i * f.bytes, &f), pattern(w + i * f.bytes, &f), &f, rule)) continue;
        if (!bad++) first = i;
    }
    if (!bad) return NULL;
    uint64_t gp = pattern(g + first * f.bytes, &f), wp = pattern(w + first * f.bytes, &f);
    return TN_ERROR(
        INVALID_ARGUMENT, "%zu of %zu differ; [%zu] is %.9g (0x%llx), expected %.9g (0x%llx)", bad,
        n, first, value(gp, &f), (unsigned long long)gp, value(wp, &f), (unsigned long long)wp);
}
