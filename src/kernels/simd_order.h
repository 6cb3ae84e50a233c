/* SPDX-License-Identifier: Apache-2.0 */
/* simd_order.h - the larger and the smaller of vectors, as the scalar functions of math_real.h and
 * C's comparison of integers have them. Included as simd.h is, which it extends. */
#ifndef TN_KERNELS_SIMD_ORDER_H
#define TN_KERNELS_SIMD_ORDER_H

#include "kernels/simd.h"

typedef int32_t vi32 __attribute__((vector_size(TN_VB)));
typedef int64_t vi64 __attribute__((vector_size(TN_VB)));
typedef vi32 ui32 __attribute__((aligned(4), may_alias));
typedef vi64 ui64 __attribute__((aligned(8), may_alias));

#define TN_VECTOR_PICK(V, I, mask, a, b) ((V)(((I)(a) & (I)(mask)) | ((I)(b) & ~(I)(mask))))

#if defined __AVX512F__
#define TN_DEFINE_ORDER(s, letter)                                                                 \
    TN_INLINE v##s larger_##s(v##s a, v##s b)                                                      \
    {                                                                                              \
        v##s r = _mm512_max_##letter(a, b);                                                        \
        r = _mm512_mask_and_##letter(r, _mm512_cmp_##letter##_mask(a, b, _CMP_EQ_OQ), a, b);       \
        return _mm512_mask_mov_##letter(r, _mm512_cmp_##letter##_mask(a, a, _CMP_UNORD_Q), a);     \
    }                                                                                              \
    TN_INLINE v##s smaller_##s(v##s a, v##s b)                                                     \
    {                                                                                              \
        v##s r = _mm512_min_##letter(a, b);                                                        \
        r = _mm512_mask_or_##letter(r, _mm512_cmp_##letter##_mask(a, b, _CMP_EQ_OQ), a, b);        \
        return _mm512_mask_mov_##letter(r, _mm512_cmp_##letter##_mask(a, a, _CMP_UNORD_Q), a);     \
    }
TN_DEFINE_ORDER(f32, ps)
TN_DEFINE_ORDER(f64, pd)
#else
#define TN_DEFINE_ORDER(s, I)                                                                      \
    TN_INLINE v##s larger_##s(v##s a, v##s b)                                                      \
    {                                                                                              \
        v##s r = TN_VECTOR_PICK(v##s, I, (a > b) | (a != a), a, b);                                \
        return TN_VECTOR_PICK(v##s, I, a == b, (I)a & (I)b, r);                                    \
    }                                                                                              \
    TN_INLINE v##s smaller_##s(v##s a, v##s b)                                                     \
    {                                                                                              \
        v##s r = TN_VECTOR_PICK(v##s, I, (a < b) | (a != a), a, b);                                \
        return TN_VECTOR_PICK(v##s, I, a == b, (I)a | (I)b, r);                                    \
    }
TN_DEFINE_ORDER(f32, vi32)
TN_DEFINE_ORDER(f64, vi64)
#endif
#undef TN_DEFINE_ORDER

#if defined __AVX512F__
#define TN_DEFINE_ORDER(s, I, letters)                                                             \
    TN_INLINE v##s larger_##s(v##s a, v##s b)                                                      \
    {                                                                                              \
        return (v##s)_mm512_max_##letters((__m512i)a, (__m512i)b);                                 \
    }                                                                                              \
    TN_INLINE v##s smaller_##s(v##s a, v##s b)                                                     \
    {                                                                                              \
        return (v##s)_mm512_min_##letters((__m512i)a, (__m512i)b);                                 \
    }
#else
#define TN_DEFINE_ORDER(s, I, letters)                                                             \
    TN_INLINE v##s larger_##s(v##s a, v##s b)                                                      \
    {                                                                                              \
        return TN_VECTOR_PICK(v##s, I, a > b, a, b);                                               \
    }                                                                                              \
    TN_INLINE v##s smaller_##s(v##s a, v##s b)                                                     \
    {                                                                                              \
        return TN_VECTOR_PICK(v##s, I, a < b, a, b);                                               \
    }
#endif
TN_DEFINE_ORDER(i32, vi32, epi32)
TN_DEFINE_ORDER(u32, vi32, epu32)
TN_DEFINE_ORDER(i64, vi64, epi64)
TN_DEFINE_ORDER(u64, vi64, epu64)
#undef TN_DEFINE_ORDER

#endif
