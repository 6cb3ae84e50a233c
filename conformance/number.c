/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "conformance/number.h"

const number_type number_types[] = {
    {"pred", "i1", PJRT_Buffer_Type_PRED, KIND_BOOL, 1, 0},
    {"s8", "i8", PJRT_Buffer_Type_S8, KIND_SIGNED, 8, 0},
    {"s16", "i16", PJRT_Buffer_Type_S16, KIND_SIGNED, 16, 0},
    {"s32", "i32", PJRT_Buffer_Type_S32, KIND_SIGNED, 32, 0},
    {"s64", "i64", PJRT_Buffer_Type_S64, KIND_SIGNED, 64, 0},
    {"u8", "ui8", PJRT_Buffer_Type_U8, KIND_UNSIGNED, 8, 0},
    {"u16", "ui16", PJRT_Buffer_Type_U16, KIND_UNSIGNED, 16, 0},
    {"u32", "ui32", PJRT_Buffer_Type_U32, KIND_UNSIGNED, 32, 0},
    {"u64", "ui64", PJRT_Buffer_Type_U64, KIND_UNSIGNED, 64, 0},
    {"bf16", "bf16", PJRT_Buffer_Type_BF16, KIND_FLOAT, 16, 7},
    {"f16", "f16", PJRT_Buffer_Type_F16, KIND_FLOAT, 16, 10},
    {"f32", "f32", PJRT_Buffer_Type_F32, KIND_FLOAT, 32, 23},
    {"f64", "f64", PJRT_Buffer_Type_F64, KIND_FLOAT, 64, 52},
};
const int n_number_types = sizeof number_types / sizeof *number_types;

uint64_t number_mask(const number_type *t)
{
    return t->bits == 64 ? UINT64_MAX : (1ull << t->bits) - 1;
}

int64_t number_signed(const number_type *t, uint64_t bits)
{
    int shift = 64 - t->bits;
    return (int64_t)(bits << shift) >> shift;
}

static uint64_t exponent_ones(const number_type *t)
{
    return number_mask(t) >> 1 >> t->mantissa;
}

bool number_is_nan(const number_type *t, uint64_t bits)
{
    if (t->kind != KIND_FLOAT) return false;
    uint64_t magnitude = bits & (number_mask(t) >> 1);
    return magnitude > exponent_ones(t) << t->mantissa;
}

long double number_value(const number_type *t, uint64_t bits)
{
    uint64_t ones = exponent_ones(t), fraction = bits & ((1ull << t->mantissa) - 1);
    uint64_t exponent = bits >> t->mantissa & ones;
    bool negative = bits >> (t->bits - 1) & 1;
    int bias = (int)(ones >> 1);
    long double v;
    if (exponent == ones) v = fraction ? (long double)NAN : (long double)INFINITY;
    else if (!exponent) v = ldexpl((long double)fraction, 1 - bias - t->mantissa);
    else
        v = ldexpl((long double)(fraction | 1ull << t->mantissa),
                   (int)exponent - bias - t->mantissa);
    return negative ? -v : v;
}

uint64_t number_round(const number_type *t, long double v)
{
    uint64_t ones = exponent_ones(t), sign = (uint64_t)(signbit(v) != 0) << (t->bits - 1);
    int bias = (int)(ones >> 1);
    if (isnan(v)) return (ones << t->mantissa) | 1ull << (t->mantissa - 1);
    v = fabsl(v);
    if (isinf(v)) return sign | ones << t->mantissa;
    if (v == 0) return sign;
    int e;
    frexpl(v, &e); /* v = m * 2^e, 0.5 <= m < 1 */
    if (e - 1 > bias) return sign | ones << t->mantissa;
    int least = 1 - bias, unit = (e - 1 < least ? least : e - 1) - t->mantissa;
    /* In units of the last place: a whole number of at most mantissa + 1 bits, after rounding. */
    long double scaled = ldexpl(v, -unit), whole = floorl(scaled), rest = scaled - whole;
    uint64_t n = (uint64_t)whole;
    if (rest > 0.5L || (rest == 0.5L && (n & 1))) n++;
    /* A carry goes on into the exponent by itself. */
    uint64_t exponent = (uint64_t)(unit + t->mantissa + bias - 1);
    uint64_t bits = (exponent << t->mantissa) + n;
    if (bits >= ones << t->mantissa) bits = ones << t->mantissa;
    return sign | bits;
}

/* Order of floats as order of integers. */
static int64_t ordered(const number_type *t, uint64_t bits)
{
    uint64_t magnitude = bits & (number_mask(t) >> 1);
    return bits >> (t->bits - 1) & 1 ? -(int64_t)magnitude : (int64_t)magnitude;
}

uint64_t number_ulps(const number_type *t, uint64_t a, uint64_t b, bool signs)
{
    if (a == b) return 0;
    if (t->kind != KIND_FLOAT) return UINT64_MAX;
    if (number_is_nan(t, a) || number_is_nan(t, b))
        return number_is_nan(t, a) && number_is_nan(t, b) ? 0 : UINT64_MAX;
    int64_t x = ordered(t, a), y = ordered(t, b);
    if (x == y) return signs ? UINT64_MAX : 0; /* zeros of two signs */
    return x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
}

uint64_t number_load(const number_type *t, const void *at, size_t i)
{
    size_t width = t->bits < 8 ? 1 : (size_t)t->bits / 8;
    uint64_t bits = 0;
    memcpy(&bits, (const char *)at + i * width, width);
    return bits & number_mask(t);
}

void number_store(const number_type *t, void *at, size_t i, uint64_t bits)
{
    size_t width = t->bits < 8 ? 1 : (size_t)t->bits / 8;
    memcpy((char *)at + i * width, &bits, width);
}
