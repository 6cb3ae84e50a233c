/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. */
#include <string.h>

#include "kernels/simd.h"
#include "kernels/threefry.h"

enum { LANES = TN_VB / 4 };

TN_INLINE vu32 rotate(vu32 v, int n)
{
    return v << n | v >> (32 - n);
}

TN_INLINE void encrypt(vu32 k0, vu32 k1, vu32 *x0, vu32 *x1)
{
    static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const vu32 keys[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDA};
    vu32 a = *x0 + k0, b = *x1 + k1;
    _Pragma("GCC unroll 5") for (uint32_t round = 0; round < 5; round++)
    {
        _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
        {
            a += b;
            b = rotate(b, rotations[round & 1][i]) ^ a;
        }
        a += keys[(round + 1) % 3];
        b += keys[(round + 2) % 3] + (round + 1);
    }
    *x0 = a;
    *x1 = b;
}

/* Elements [at, at + n), n <= LANES, of an array. */
TN_INLINE vu32 load(const uint32_t *p, int64_t at, int64_t n)
{
    if (n == LANES) return *(const uu32 *)(p + at);
    vu32 v = {0};
    memcpy(&v, p + at, (size_t)n * 4);
    return v;
}
TN_INLINE void store(uint32_t *p, int64_t at, int64_t n, vu32 v)
{
    if (n == LANES) *(uu32 *)(p + at) = v;
    else memcpy(p + at, &v, (size_t)n * 4);
}

TN_INLINE void counters(const tn_threefry_blocks *b, int64_t at, int64_t n, vu32 *x0, vu32 *x1)
{
    if (b->x1) {
        *x0 = b->x0 ? load(b->x0, at, n) : (vu32){0};
        *x1 = load(b->x1, at, n);
        return;
    }
    uint64_t c = b->first + (uint64_t)at;
    vu32 low = set_u32((uint32_t)c), lane;
    for (int i = 0; i < LANES; i++) lane[i] = (uint32_t)i;
    *x1 = low + lane;
    /* A lane is -1 where the lower word has wrapped. */
    *x0 = set_u32((uint32_t)(c >> 32)) - (vu32)(*x1 < low);
}

TN_INLINE void one(const tn_threefry_blocks *b, int64_t at, int64_t n)
{
    vu32 k0, k1, x0, x1;
    if (b->one_key) {
        k0 = set_u32(*b->k0);
        k1 = set_u32(*b->k1);
    } else {
        k0 = load(b->k0, at, n);
        k1 = load(b->k1, at, n);
    }
    counters(b, at, n, &x0, &x1);
    encrypt(k0, k1, &x0, &x1);
    if (b->y1) {
        store(b->y0, at, n, x0);
        store(b->y1, at, n, x1);
    } else {
        store(b->y0, at, n, x0 ^ x1);
    }
}

void TN_ISA_NAME(tn_threefry)(const tn_threefry_blocks *b)
{
    int64_t at = 0;
    /* Four at once: each is one chain of dependent steps. */
    if (b->one_key && !b->x0 && !b->y1)
        for (; at + 4 * LANES <= b->n; at += 4 * LANES) {
            vu32 k0 = set_u32(*b->k0), k1 = set_u32(*b->k1), x0[4], x1[4];
            _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
            {
                counters(b, at + i * LANES, LANES, &x0[i], &x1[i]);
                encrypt(k0, k1, &x0[i], &x1[i]);
                store(b->y0, at + i * LANES, LANES, x0[i] ^ x1[i]);
            }
        }
    for (; at + LANES <= b->n; at += LANES) one(b, at, LANES);
    if (at < b->n) one(b, at, b->n - at);
}

/* --- Philox --- */

/* Blocks of one vector; their words are the lower halves of its lanes. Several vectors at once, as
 * many as there are registers for: each is one chain of dependent steps. */
enum { BLOCKS = TN_VB / 8, SETS = TN_VB == 64 ? 4 : 2, GROUP = SETS * BLOCKS };

/* Products of the lower halves. */
TN_INLINE vu64 multiply(vu64 a, vu64 b)
{
#if defined(__AVX512F__)
    return (vu64)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (vu64)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__x86_64__)
    return (vu64)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF);
#endif
}

#if TN_VB == 64
#define LOWER  0, 8, 1, 9, 2, 10, 3, 11
#define HIGHER 4, 12, 5, 13, 6, 14, 7, 15
#elif TN_VB == 32
#define LOWER  0, 4, 1, 5
#define HIGHER 2, 6, 3, 7
#else
#define LOWER  0, 2
#define HIGHER 1, 3
#endif

/* Blocks `first` to `first` + GROUP. */
static void philox(const tn_philox_blocks *b, int64_t first, uint32_t *out)
{
    vu64 c0[SETS], c1[SETS], c2[SETS], c3[SETS], start;
    for (int l = 0; l < BLOCKS; l++) start[l] = (uint64_t)l;
    start += b->low + (uint64_t)first;
    _Pragma("GCC unroll 4") for (int i = 0; i < SETS; i++)
    {
        c0[i] = start + (uint64_t)(i * BLOCKS);
        c1[i] = c0[i] >> 32;
        c2[i] = set_u64(b->high);
        c3[i] = set_u64(b->high >> 32);
    }
    vu64 m0 = set_u64(0xD2511F53), m1 = set_u64(0xCD9E8D57);
    vu64 k0 = set_u64(b->key[0]), k1 = set_u64(b->key[1]);
    UNROLL
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
        _Pragma("GCC unroll 4") for (int i = 0; i < SETS; i++)
        {
            vu64 p = multiply(m0, c0[i]), q = multiply(m1, c2[i]);
            c0[i] = q >> 32 ^ c1[i] ^ k0;
            c2[i] = p >> 32 ^ c3[i] ^ k1;
            c1[i] = q;
            c3[i] = p;
        }
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < SETS; i++, out += 4 * BLOCKS)
    {
        vu64 low = (c0[i] & 0xFFFFFFFF) | c1[i] << 32, high = (c2[i] & 0xFFFFFFFF) | c3[i] << 32;
        *(uu64 *)out = __builtin_shufflevector(low, high, LOWER);
        *(uu64 *)(out + 2 * BLOCKS) = __builtin_shufflevector(low, high, HIGHER);
    }
}

void TN_ISA_NAME(tn_philox)(const tn_philox_blocks *b)
{
    int64_t at = 0;
    for (; at + GROUP <= b->n; at += GROUP) philox(b, at, b->out + 4 * at);
    if (at == b->n) return;
    uint32_t last[4 * GROUP];
    philox(b, at, last);
    memcpy(b->out + 4 * at, last, (size_t)(b->n - at) * 16);
}
