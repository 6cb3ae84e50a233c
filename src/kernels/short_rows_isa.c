/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/half.h"
#include "kernels/short_rows.h"
#include "kernels/simd.h"

/* --- trees --- */

typedef int32_t vi32 __attribute__((vector_size(TN_VB)));
typedef int64_t vi64 __attribute__((vector_size(TN_VB)));
/* The same at any address. */
#define ANYWHERE(V, T) typedef V V##_at __attribute__((aligned(__alignof__(T)), may_alias));
ANYWHERE(vf32, float)
ANYWHERE(vf64, double)
ANYWHERE(vi32, int32_t)
ANYWHERE(vi64, int64_t)
ANYWHERE(vu32, uint32_t)
ANYWHERE(vu64, uint64_t)

/* LOW_h, HIGH_h: the first and the second halves of rows of 2 h lanes, of two registers; within
 * pieces of 16 bytes where h is small, which leaves results in an order that PUT takes back: PUT_2
 * where rows have two lanes. */
// clang-format off
#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#if TN_VB == 64
#define LOW_4_8(a, b)  MIX(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define HIGH_4_8(a, b) MIX(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)
#define LOW_4_4(a, b)  MIX(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
#define HIGH_4_4(a, b) MIX(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)
#define LOW_4_2(a, b)  MIX(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define HIGH_4_2(a, b) MIX(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#define LOW_4_1(a, b)  MIX(a, b, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30)
#define HIGH_4_1(a, b) MIX(a, b, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31)
#define PUT_4(a)       MIX(a, a, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)
#define PUT_4_2(a)     MIX(a, a, 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15)
#define LOW_8_4(a, b)  MIX(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define HIGH_8_4(a, b) MIX(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#define LOW_8_2(a, b)  MIX(a, b, 0, 1, 4, 5, 8, 9, 12, 13)
#define HIGH_8_2(a, b) MIX(a, b, 2, 3, 6, 7, 10, 11, 14, 15)
#define LOW_8_1(a, b)  MIX(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define HIGH_8_1(a, b) MIX(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define PUT_8(a)       MIX(a, a, 0, 2, 4, 6, 1, 3, 5, 7)
#define STAGES_4(V, OP) STAGE(V, OP, 8, LOW_4_8, HIGH_4_8) STAGE(V, OP, 4, LOW_4_4, HIGH_4_4)      \
    STAGE(V, OP, 2, LOW_4_2, HIGH_4_2) STAGE(V, OP, 1, LOW_4_1, HIGH_4_1)
#define STAGES_8(V, OP) STAGE(V, OP, 4, LOW_8_4, HIGH_8_4) STAGE(V, OP, 2, LOW_8_2, HIGH_8_2)      \
    STAGE(V, OP, 1, LOW_8_1, HIGH_8_1)
#elif TN_VB == 32
#define LOW_4_4(a, b)  MIX(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define HIGH_4_4(a, b) MIX(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#define LOW_4_2(a, b)  MIX(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGH_4_2(a, b) MIX(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define LOW_4_1(a, b)  MIX(a, b, 0, 2, 8, 10, 4, 6, 12, 14)
#define HIGH_4_1(a, b) MIX(a, b, 1, 3, 9, 11, 5, 7, 13, 15)
#define PUT_4(a)       MIX(a, a, 0, 4, 1, 5, 2, 6, 3, 7)
#define PUT_4_2(a)     MIX(a, a, 0, 1, 4, 5, 2, 3, 6, 7)
#define LOW_8_2(a, b)  MIX(a, b, 0, 1, 4, 5)
#define HIGH_8_2(a, b) MIX(a, b, 2, 3, 6, 7)
#define LOW_8_1(a, b)  MIX(a, b, 0, 4, 2, 6)
#define HIGH_8_1(a, b) MIX(a, b, 1, 5, 3, 7)
#define PUT_8(a)       MIX(a, a, 0, 2, 1, 3)
#define STAGES_4(V, OP) STAGE(V, OP, 4, LOW_4_4, HIGH_4_4)                                         \
    STAGE(V, OP, 2, LOW_4_2, HIGH_4_2) STAGE(V, OP, 1, LOW_4_1, HIGH_4_1)
#define STAGES_8(V, OP) STAGE(V, OP, 2, LOW_8_2, HIGH_8_2) STAGE(V, OP, 1, LOW_8_1, HIGH_8_1)
#else
#define LOW_4_2(a, b)  MIX(a, b, 0, 1, 4, 5)
#define HIGH_4_2(a, b) MIX(a, b, 2, 3, 6, 7)
#define LOW_4_1(a, b)  MIX(a, b, 0, 2, 4, 6)
#define HIGH_4_1(a, b) MIX(a, b, 1, 3, 5, 7)
#define PUT_4(a)       (a)
#define PUT_4_2(a)     (a)
#define LOW_8_1(a, b)  MIX(a, b, 0, 2)
#define HIGH_8_1(a, b) MIX(a, b, 1, 3)
#define PUT_8(a)       (a)
#define STAGES_4(V, OP) STAGE(V, OP, 2, LOW_4_2, HIGH_4_2) STAGE(V, OP, 1, LOW_4_1, HIGH_4_1)
#define STAGES_8(V, OP) STAGE(V, OP, 1, LOW_8_1, HIGH_8_1)
#endif
#define PUT_8_2(a) PUT_8(a)
// clang-format on

/* Rows of at least 2 H lanes: registers in `at` become half as many in v. */
#define STAGE(V, OP, H, LOW, HIGH)                                                                 \
    if (H == 1 || padded >= 2 * H) {                                                               \
        for (int64_t i = 0; i < H; i++) {                                                          \
            V a = at[2 * i], b = at[2 * i + 1];                                                    \
            v[i] = OP(V, LOW(a, b), HIGH(a, b));                                                   \
        }                                                                                          \
        at = (const V##_at *)v;                                                                    \
    }

/* BYTES: of a lane. Rows of more than one register are made one first. */
#define TREE(name, V, BYTES, OP)                                                                   \
    static void name(const void *lanes, int64_t padded, int64_t rows, void *out)                   \
    {                                                                                              \
        enum { N = TN_VB / BYTES };                                                                \
        const char *x = lanes;                                                                     \
        char *to = out;                                                                            \
        for (; rows > 0; rows -= N, x += padded * TN_VB, to += TN_VB) {                            \
            const V##_at *at = (const V##_at *)x;                                                  \
            V v[N];                                                                                \
            if (padded > N) {                                                                      \
                int64_t parts = padded / N;                                                        \
                for (int i = 0; i < N; i++, at += parts) {                                         \
                    V t[256 / TN_VB];                                                              \
                    for (int64_t p = 0; p < parts / 2; p++)                                        \
                        t[p] = OP(V, at[p], at[p + parts / 2]);                                    \
                    for (int64_t h = parts / 4; h; h /= 2)                                         \
                        for (int64_t p = 0; p < h; p++) t[p] = OP(V, t[p], t[p + h]);              \
                    v[i] = t[0];                                                                   \
                }                                                                                  \
                at = (const V##_at *)v;                                                            \
            }                                                                                      \
            STAGES_##BYTES(V, OP);                                                                 \
            V all = padded == 2 ? PUT_##BYTES##_2(v[0]) : PUT_##BYTES(v[0]);                       \
            memcpy(to, &all, sizeof all);                                                          \
        }                                                                                          \
    }

#define PLUS(V, a, b)  ((a) + (b))
#define TIMES(V, a, b) ((a) * (b))
#define BOTH(V, a, b)  ((a) & (b))
#define SOME(V, a, b)  ((a) | (b))
#define ONE(V, a, b)   ((a) ^ (b))
#define LARGER(V, a, b)                                                                            \
    ({                                                                                             \
        V a_ = a, b_ = b, more_ = a_ > b_;                                                         \
        (a_ & more_) | (b_ & ~more_);                                                              \
    })
#if TN_VB == 64
#define LARGER_32(V, a, b) ((V)_mm512_max_epi32((__m512i)(a), (__m512i)(b)))
#define LARGER_64(V, a, b) ((V)_mm512_max_epi64((__m512i)(a), (__m512i)(b)))
#elif TN_VB == 32
#define LARGER_32(V, a, b) ((V)_mm256_max_epi32((__m256i)(a), (__m256i)(b)))
#define LARGER_64          LARGER
#else
#define LARGER_32 LARGER
#define LARGER_64 LARGER
#endif

TREE(sum_f32, vf32, 4, PLUS)
TREE(sum_f64, vf64, 8, PLUS)
TREE(product_f32, vf32, 4, TIMES)
TREE(product_f64, vf64, 8, TIMES)
TREE(max_32, vi32, 4, LARGER_32)
TREE(max_64, vi64, 8, LARGER_64)
#define BY_BITS(S, BYTES)                                                                          \
    TREE(sum_##S, vu##S, BYTES, PLUS)                                                              \
    TREE(product_##S, vu##S, BYTES, TIMES)                                                         \
    TREE(and_##S, vu##S, BYTES, BOTH)                                                              \
    TREE(or_##S, vu##S, BYTES, SOME) TREE(xor_##S, vu##S, BYTES, ONE)
BY_BITS(32, 4)
BY_BITS(64, 8)

/* --- elements to lanes --- */

/* 16 elements at x to w[16]. */
#define EACH(x, w, one)                                                                            \
    for (int j = 0; j < TN_SHORT_LANES; j++) w[j] = one((x)[j])

#define LOAD(name, T, W, I, WIDEN)                                                                 \
    static void name(const tn_short_rows *f, const void *from, int64_t length, int64_t padded,     \
                     int64_t rows, void *lanes)                                                    \
    {                                                                                              \
        enum { N = TN_SHORT_LANES };                                                               \
        const T *x = from;                                                                         \
        W *to = lanes, none, w[N], flip = (W)f->flip;                                              \
        (void)flip;                                                                                \
        memcpy(&none, &f->neutral, sizeof none);                                                   \
        if (length == padded) {                                                                    \
            for (int64_t left = rows * length; left > 0; left -= N, x += N, to += N) WIDEN(x, to); \
            return;                                                                                \
        }                                                                                          \
        for (; rows > 0; rows--, x += length, to += padded) {                                      \
            int64_t k = 0;                                                                         \
            for (; k + N <= length; k += N) WIDEN(x + k, (to + k));                                \
            WIDEN(x + k, w);                                                                       \
            I left = (I)(length - k);                                                              \
            for (I j = 0; j < N; j++) to[k + j] = j < left ? w[j] : none;                          \
            for (k += N; k < padded; k += N)                                                       \
                for (int j = 0; j < N; j++) to[k + j] = none;                                      \
        }                                                                                          \
    }

/* Extremes: what is wanted is the largest; `flip` turns the order around. */
#define FLIPPED(x)      ((x) ^ flip)
#define WIDEN_INT(x, w) EACH(x, w, FLIPPED)
#define KEY(x, MOST, INF)                                                                          \
    (((x) & (MOST)) > (INF) ? (MOST) : ((x) ^ (((x) >> SIGN) & (MOST))) ^ flip)
#define ORDER_32(x) KEY(x, INT32_MAX, 0x7f800000)
#define ORDER_64(x) KEY(x, INT64_MAX, 0x7ff0000000000000)
#define ORDER_16(x) KEY(x, INT16_MAX, infinity)
#define WIDEN_F32_ORDER(x, w)                                                                      \
    {                                                                                              \
        enum { SIGN = 31 };                                                                        \
        EACH(x, w, ORDER_32);                                                                      \
    }
#define WIDEN_F64_ORDER(x, w)                                                                      \
    {                                                                                              \
        enum { SIGN = 63 };                                                                        \
        EACH(x, w, ORDER_64);                                                                      \
    }
#define WIDEN_16_ORDER(x, w)                                                                       \
    {                                                                                              \
        enum { SIGN = 31 };                                                                        \
        int32_t infinity = (int32_t)f->infinity;                                                   \
        EACH(x, w, ORDER_16);                                                                      \
    }
/* Sums. */
#define OF_BF16(x)       ((uint32_t)(x) << 16)
#define WIDEN_BF16(x, w) EACH(x, w, OF_BF16)
#if defined __AVX512F__
#define WIDEN_F16(x, w)                                                                            \
    _mm512_storeu_ps(w, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(x))))
#elif defined __F16C__
#define WIDEN_F16(x, w)                                                                            \
    {                                                                                              \
        _mm256_storeu_ps(w, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x))));               \
        _mm256_storeu_ps((w) + 8, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x) + 1)));     \
    }
#else
#define WIDEN_F16(x, w) EACH(x, w, tn_f32_of_f16)
#endif

// clang-format off
LOAD(load_i8,    int8_t,   int32_t, int32_t,  WIDEN_INT)
LOAD(load_u8,    uint8_t,  int32_t, int32_t,  WIDEN_INT)
LOAD(load_i16,   int16_t,  int32_t, int32_t,  WIDEN_INT)
LOAD(load_u16,   uint16_t, int32_t, int32_t,  WIDEN_INT)
LOAD(load_32,    int32_t,  int32_t, int32_t,  WIDEN_INT)
LOAD(load_64,    int64_t,  int64_t, int64_t,  WIDEN_INT)
LOAD(load_bf16,  uint16_t, uint32_t, int32_t, WIDEN_BF16)
LOAD(load_f16,   uint16_t, float, int32_t,    WIDEN_F16)
LOAD(order_f32,  int32_t,  int32_t, int32_t,  WIDEN_F32_ORDER)
LOAD(order_f64,  int64_t,  int64_t, int64_t,  WIDEN_F64_ORDER)
LOAD(order_16,   int16_t,  int32_t, int32_t,  WIDEN_16_ORDER)

/* --- lanes to elements --- */

#define STORE(name, T, W, one)                                                                     \
    static void name(const tn_short_rows *f, const void *lanes, int64_t rows, void *out)           \
    {                                                                                              \
        const W *x = lanes;                                                                        \
        T *to = out;                                                                               \
        W flip = (W)f->flip;                                                                       \
        for (int64_t i = 0; i < rows; i++) to[i] = (T)one(x[i]);                                   \
    }
#define BACK(x, SIGN, MOST) (((x) ^ flip) ^ ((((x) ^ flip) >> (SIGN)) & (MOST)))
#define BACK_32(x)          BACK(x, 31, INT32_MAX)
#define BACK_64(x)          BACK(x, 63, INT64_MAX)
#define BACK_16(x)          BACK(x, 31, INT16_MAX)
STORE(store_8,     uint8_t,  int32_t, FLIPPED)
STORE(store_16,    uint16_t, int32_t, FLIPPED)
STORE(store_32,    uint32_t, int32_t, FLIPPED)
STORE(store_64,    uint64_t, int64_t, FLIPPED)
STORE(reorder_f32, uint32_t, int32_t, BACK_32)
STORE(reorder_f64, uint64_t, int64_t, BACK_64)
STORE(reorder_16,  uint16_t, int32_t, BACK_16)
// clang-format on

/* --- which --- */

static tn_short_rows extremes(bool least, tn_element_type e)
{
    tn_short_rows f = {.tree = max_32, .neutral = (uint32_t)INT32_MIN, .flip = least ? ~0ull : 0};
    switch ((int)e) {
    case TN_F32: f.load = order_f32, f.store = reorder_f32; break;
    case TN_F64: f.load = order_f64, f.store = reorder_f64; break;
    case TN_BF16:
    case TN_F16: f.load = order_16, f.store = reorder_16; break;
    case TN_I8: f.load = load_i8, f.store = store_8; break;
    case TN_U8: f.load = load_u8, f.store = store_8; break;
    case TN_I16: f.load = load_i16, f.store = store_16; break;
    case TN_U16: f.load = load_u16, f.store = store_16; break;
    case TN_U32: f.flip ^= (uint32_t)INT32_MIN; /* fall through */
    case TN_I32: f.load = load_32, f.store = store_32; break;
    case TN_U64: f.flip ^= (uint64_t)INT64_MIN; /* fall through */
    case TN_I64: f.load = load_64, f.store = store_64; break;
    default: return (tn_short_rows){0};
    }
    f.infinity = e == TN_BF16 ? 0x7f80 : 0x7c00;
    if (tn_element_type_bytes(e) == 8) f.tree = max_64, f.neutral = (uint64_t)INT64_MIN;
    f.is_plain = !f.flip && (e == TN_I32 || e == TN_I64);
    if (f.is_plain) f.store = NULL;
    return f;
}

static tn_short_rows of_bits(tn_op_kind op, unsigned bytes)
{
    bool wide = bytes == 8;
    tn_short_rows f = {.load = bytes == 1   ? load_u8
                               : bytes == 2 ? load_u16
                               : bytes == 4 ? load_32
                                            : load_64,
                       .store = bytes == 1   ? store_8
                                : bytes == 2 ? store_16
                                             : NULL,
                       .is_plain = bytes >= 4};
#define CASE(OP, name, value)                                                                      \
    case OP:                                                                                       \
        f.tree = wide ? name##_64 : name##_32;                                                     \
        f.neutral = value;                                                                         \
        return f
    switch ((int)op) {
        CASE(TN_OP_add, sum, 0);
        CASE(TN_OP_multiply, product, 1);
        CASE(TN_OP_and, and, ~0ull);
        CASE(TN_OP_or, or, 0);
        CASE(TN_OP_xor, xor, 0);
    default: return (tn_short_rows){0};
    }
#undef CASE
}

/* -0 is what changes nothing in a sum. */
static tn_short_rows of_floats(bool sum, tn_element_type e)
{
    if (e == TN_F64)
        return (tn_short_rows){.tree = sum ? sum_f64 : product_f64,
                               .load = load_64,
                               .is_plain = true,
                               .neutral = sum ? 0x8000000000000000u : 0x3ff0000000000000u};
    return (tn_short_rows){.tree = sum ? sum_f32 : product_f32,
                           .load = e == TN_F32    ? load_32
                                   : e == TN_BF16 ? load_bf16
                                                  : load_f16,
                           .is_plain = e == TN_F32,
                           .neutral = sum ? 0x80000000u : 0x3f800000u};
}

static tn_short_rows find(tn_op_kind op, tn_element_type e)
{
    if (e == TN_I1) {
        if (op == TN_OP_add || op == TN_OP_maximum) op = TN_OP_or;
        if (op == TN_OP_multiply || op == TN_OP_minimum) op = TN_OP_and;
        return of_bits(op, 1);
    }
    if (op == TN_OP_maximum || op == TN_OP_minimum) return extremes(op == TN_OP_minimum, e);
    if (tn_is_integer(e)) {
        unsigned bytes = (unsigned)tn_element_type_bytes(e);
        return tn_element_type_bits(e) == 8 * bytes ? of_bits(op, bytes) : (tn_short_rows){0};
    }
    if (op != TN_OP_add && op != TN_OP_multiply) return (tn_short_rows){0};
    if (e != TN_F32 && e != TN_F64 && e != TN_BF16 && e != TN_F16) return (tn_short_rows){0};
    return of_floats(op == TN_OP_add, e);
}

tn_short_rows_finder TN_ISA_NAME(tn_find_short_rows);

tn_short_rows TN_ISA_NAME(tn_find_short_rows)(tn_op_kind op, tn_element_type from)
{
    tn_short_rows f = find(op, from);
    if (!f.tree) return f;
    unsigned bytes = (unsigned)tn_element_type_bytes(from);
    bool narrow_sum = bytes == 2 && tn_is_float(from) && (op == TN_OP_add || op == TN_OP_multiply);
    f.from_bytes = (uint8_t)bytes;
    f.lane_bytes = bytes == 8 ? 8 : 4;
    f.to_bytes = narrow_sum ? 4 : f.from_bytes;
    f.most = 256 / f.lane_bytes;
    return f;
}
