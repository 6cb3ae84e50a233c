/* SPDX-License-Identifier: Apache-2.0 */
/* simd.h - vectors of the instruction set that a source is compiled for.
 *
 * Included only by sources that meson.build compiles once for each instruction set (`isa_sources`),
 * with TN_KERNEL_ISA as the suffix of their global names. Vectors are GCC's vector extension, so +
 * - * and comparison work on them; only what the extension can't say (fused multiply-add,
 * broadcast) is spelled for each ISA. Fused where the ISA has it, so AVX2, AVX-512 and NEON give
 * the same bits; SSE2 rounds twice. */
#ifndef TN_KERNELS_SIMD_H
#define TN_KERNELS_SIMD_H

#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "kernels/isa.h"

/* Bytes in one vector. */
#if defined(__AVX512F__)
#define TN_VB 64
#elif defined(__AVX2__)
#define TN_VB 32
#else
#define TN_VB 16
#endif

/* Before a loop over vectors that are to stay in registers; where size is asked for, they may live
 * in memory. */
#ifdef __OPTIMIZE_SIZE__
#define UNROLL _Pragma("GCC unroll 1")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Makes a vector live in a register. */
#if defined(__x86_64__)
#define KEEP(x) __asm__("" : "+v"(x))
#elif defined(__aarch64__)
#define KEEP(x) __asm__("" : "+w"(x))
#else
#define KEEP(x) (void)0
#endif

#define TN_INLINE static inline __attribute__((always_inline))

/* v<T>: one vector; u<T>: the same at any address. */
#define TN_VECTOR(name, type)                                                                      \
    typedef type v##name __attribute__((vector_size(TN_VB)));                                      \
    typedef type u##name __attribute__((vector_size(TN_VB), aligned(__alignof__(type)), may_alias));
TN_VECTOR(f32, float)
TN_VECTOR(f64, double)
TN_VECTOR(u32, uint32_t)
TN_VECTOR(u64, uint64_t)
typedef vu32 vp16;
typedef uu32 up16;

#if defined(__AVX512F__)
TN_INLINE vf32 set_f32(float x)
{
    return _mm512_set1_ps(x);
}
TN_INLINE vf64 set_f64(double x)
{
    return _mm512_set1_pd(x);
}
TN_INLINE vu32 set_u32(uint32_t x)
{
    return (vu32)_mm512_set1_epi32((int)x);
}
TN_INLINE vu64 set_u64(uint64_t x)
{
    return (vu64)_mm512_set1_epi64((long long)x);
}
TN_INLINE vf32 fma_f32(vf32 a, vf32 b, vf32 c)
{
    return _mm512_fmadd_ps(a, b, c);
}
TN_INLINE vf64 fma_f64(vf64 a, vf64 b, vf64 c)
{
    return _mm512_fmadd_pd(a, b, c);
}
TN_INLINE vf32 fnma_f32(vf32 a, vf32 b, vf32 c)
{
    return _mm512_fnmadd_ps(a, b, c);
}
TN_INLINE vf64 fnma_f64(vf64 a, vf64 b, vf64 c)
{
    return _mm512_fnmadd_pd(a, b, c);
}
#elif defined(__AVX2__)
TN_INLINE vf32 set_f32(float x)
{
    return _mm256_set1_ps(x);
}
TN_INLINE vf64 set_f64(double x)
{
    return _mm256_set1_pd(x);
}
TN_INLINE vu32 set_u32(uint32_t x)
{
    return (vu32)_mm256_set1_epi32((int)x);
}
TN_INLINE vu64 set_u64(uint64_t x)
{
    return (vu64)_mm256_set1_epi64x((long long)x);
}
TN_INLINE vf32 fma_f32(vf32 a, vf32 b, vf32 c)
{
    return _mm256_fmadd_ps(a, b, c);
}
TN_INLINE vf64 fma_f64(vf64 a, vf64 b, vf64 c)
{
    return _mm256_fmadd_pd(a, b, c);
}
TN_INLINE vf32 fnma_f32(vf32 a, vf32 b, vf32 c)
{
    return _mm256_fnmadd_ps(a, b, c);
}
TN_INLINE vf64 fnma_f64(vf64 a, vf64 b, vf64 c)
{
    return _mm256_fnmadd_pd(a, b, c);
}
#else
TN_INLINE vf32 set_f32(float x)
{
    return (vf32){x, x, x, x};
}
TN_INLINE vf64 set_f64(double x)
{
    return (vf64){x, x};
}
TN_INLINE vu32 set_u32(uint32_t x)
{
    return (vu32){x, x, x, x};
}
TN_INLINE vu64 set_u64(uint64_t x)
{
    return (vu64){x, x};
}
#if defined(__aarch64__)
TN_INLINE vf32 fma_f32(vf32 a, vf32 b, vf32 c)
{
    return (vf32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
TN_INLINE vf64 fma_f64(vf64 a, vf64 b, vf64 c)
{
    return (vf64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
TN_INLINE vf32 fnma_f32(vf32 a, vf32 b, vf32 c)
{
    return (vf32)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
TN_INLINE vf64 fnma_f64(vf64 a, vf64 b, vf64 c)
{
    return (vf64)vfmsq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#else
TN_INLINE vf32 fma_f32(vf32 a, vf32 b, vf32 c)
{
    return a * b + c;
}
TN_INLINE vf64 fma_f64(vf64 a, vf64 b, vf64 c)
{
    return a * b + c;
}
TN_INLINE vf32 fnma_f32(vf32 a, vf32 b, vf32 c)
{
    return c - a * b;
}
TN_INLINE vf64 fnma_f64(vf64 a, vf64 b, vf64 c)
{
    return c - a * b;
}
#endif
#endif
/* Sums of two products of 16-bit integers in each 32 bits. */
TN_INLINE vu32 pair_products(vu32 a, vu32 b)
{
#if defined(__AVX512F__)
    return (vu32)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (vu32)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__x86_64__)
    return (vu32)_mm_madd_epi16((__m128i)a, (__m128i)b);
#elif defined(__aarch64__)
    int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
    int32x4_t low = vmull_s16(vget_low_s16(x), vget_low_s16(y)), high = vmull_high_s16(x, y);
    return (vu32)vpaddq_s32(low, high);
#else
    typedef int32_t vi32 __attribute__((vector_size(TN_VB)));
    vi32 x = (vi32)a, y = (vi32)b, x0 = (vi32)(a << 16) >> 16, y0 = (vi32)(b << 16) >> 16;
    return (vu32)(x0 * y0) + (vu32)((x >> 16) * (y >> 16));
#endif
}

TN_INLINE vu32 fma_u32(vu32 a, vu32 b, vu32 c)
{
    return a * b + c;
}
TN_INLINE vp16 set_p16(uint32_t x)
{
    return set_u32(x);
}
TN_INLINE vp16 fma_p16(vp16 a, vp16 b, vp16 c)
{
    return pair_products(a, b) + c;
}
TN_INLINE vu64 fma_u64(vu64 a, vu64 b, vu64 c)
{
    return a * b + c;
}

#endif
