/* SPDX-License-Identifier: Apache-2.0 */
/* half.h - bf16 and f16 to f32 and back: round to nearest even, subnormals kept, NaN stays a quiet
 * NaN.
 *
 * Branch free on purpose: loops over these vectorise on every instruction set. */
#ifndef TN_KERNELS_HALF_H
#define TN_KERNELS_HALF_H

#include <stdint.h>
#include <string.h>

static inline float tn_f32_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t tn_bits_of_f32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float tn_f32_of_bf16(uint16_t h)
{
    return tn_f32_of_bits((uint32_t)h << 16);
}

static inline uint16_t tn_bf16_of_f32(float f)
{
    uint32_t bits = tn_bits_of_f32(f);
    uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
    uint32_t quiet = bits | 0x400000;
    return (uint16_t)(((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded) >> 16);
}

static inline float tn_f32_of_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
    uint32_t normal = (rest << 13) + (112u << 23);
    uint32_t special = (rest << 13) | 0x7f800000;                    /* infinity and NaN */
    uint32_t tiny = tn_bits_of_f32((float)(int32_t)rest * 0x1p-24f); /* zero and subnormal */
    uint32_t bits = rest < 0x400 ? tiny : rest >= 0x7c00 ? special : normal;
    return tn_f32_of_bits(sign | bits);
}

static inline uint16_t tn_f16_of_f32(float f)
{
    uint32_t bits = tn_bits_of_f32(f), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    uint32_t normal = (rest + 0xfff + (rest >> 13 & 1) - (112u << 23)) >> 13;
    /* Below 2^-14 the unit is 2^-24, which is also the last place of a float in [0.5, 1): adding
     * 0.5 rounds. */
    uint32_t tiny = tn_bits_of_f32(tn_f32_of_bits(rest) + 0.5f) - 0x3f000000;
    uint32_t nan = 0x7e00 | (rest >> 13 & 0x3ff);
    uint32_t h = rest > 0x7f800000    ? nan
                 : rest >= 0x477ff000 ? 0x7c00 /* 65520 and more round to infinity */
                 : rest < 0x38800000  ? tiny
                                      : normal;
    return (uint16_t)(sign | h);
}

#endif
