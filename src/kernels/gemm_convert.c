/* SPDX-License-Identifier: Apache-2.0 */
/* Between element types in memory and the type that a product is computed in. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "kernels/gemm_kernels.h"
#include "kernels/half.h"

/* LOAD(kind, kind's C type, element, its C type, expression of x)
 * STORE(kind, kind's C type, element, its C type, from element y to kind, from kind x to element)
 */
#define LOAD(K, kt, E, et, expr)                                                                   \
    static void load_##K##_##E(char *dst, const char *src, int64_t stride, int64_t n)              \
    {                                                                                              \
        kt *to = (kt *)dst;                                                                        \
        if (stride == (int64_t)sizeof(et)) {                                                       \
            const et *from = (const et *)src;                                                      \
            for (int64_t i = 0; i < n; i++) {                                                      \
                et x = from[i];                                                                    \
                to[i] = (kt)(expr);                                                                \
            }                                                                                      \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++, src += stride) {                                       \
                et x = *(const et *)src;                                                           \
                to[i] = (kt)(expr);                                                                \
            }                                                                                      \
        }                                                                                          \
    }
#define STORE(K, kt, E, et, widen, narrow)                                                         \
    static void store_##K##_##E(char *dst, int64_t stride, const char *src, int64_t n, bool add)   \
    {                                                                                              \
        const kt *from = (const kt *)src;                                                          \
        if (stride == (int64_t)sizeof(et)) {                                                       \
            et *dense = (et *)dst;                                                                 \
            for (int64_t i = 0; !add && i < n; i++) {                                              \
                kt x = from[i];                                                                    \
                dense[i] = (et)(narrow);                                                           \
            }                                                                                      \
            for (int64_t i = 0; add && i < n; i++) {                                               \
                et y = dense[i];                                                                   \
                kt x = (kt)((kt)(widen) + from[i]);                                                \
                dense[i] = (et)(narrow);                                                           \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            et *to = (et *)(dst + i * stride);                                                     \
            kt x = from[i];                                                                        \
            if (add) {                                                                             \
                et y = *to;                                                                        \
                x = (kt)((kt)(widen) + x);                                                         \
            }                                                                                      \
            *to = (et)(narrow);                                                                    \
        }                                                                                          \
    }

#define INTEGERS(X, K, kt)                                                                         \
    X(K, kt, I1, uint8_t, x != 0)                                                                  \
    X(K, kt, I2, int8_t, x)                                                                        \
    X(K, kt, I4, int8_t, x)                                                                        \
    X(K, kt, I8, int8_t, x)                                                                        \
    X(K, kt, I16, int16_t, x)                                                                      \
    X(K, kt, I32, int32_t, x)                                                                      \
    X(K, kt, I64, int64_t, x)                                                                      \
    X(K, kt, U2, uint8_t, x)                                                                       \
    X(K, kt, U4, uint8_t, x)                                                                       \
    X(K, kt, U8, uint8_t, x)                                                                       \
    X(K, kt, U16, uint16_t, x)                                                                     \
    X(K, kt, U32, uint32_t, x)                                                                     \
    X(K, kt, U64, uint64_t, x)

typedef struct {
    float re, im;
} c64;
typedef struct {
    double re, im;
} c128;

#define LOADS(X)                                                                                   \
    X(F32, float, F32, float, x)                                                                   \
    X(F64, double, F64, double, x)                                                                 \
    X(F64, double, F32, float, x)                                                                  \
    X(F64, double, BF16, uint16_t, tn_f32_of_bf16(x))                                              \
    X(F64, double, F16, uint16_t, tn_f32_of_f16(x))                                                \
    INTEGERS(X, F64, double)                                                                       \
    INTEGERS(X, I32, uint32_t)                                                                     \
    INTEGERS(X, I64, uint64_t)                                                                     \
    INTEGERS(X, P16, int16_t)

/* Sign extension of the low `bits` bits, as narrow integers are kept in memory. */
#define SIGNED(bits) ((int8_t)((uint8_t)x << (8 - bits)) >> (8 - bits))

#define STORES(X)                                                                                  \
    X(F32, float, F32, float, y, x)                                                                \
    X(F64, double, F64, double, y, x)                                                              \
    X(F64, double, F32, float, y, x)                                                               \
    X(I32, uint32_t, I1, uint8_t, y, x != 0)                                                       \
    X(I32, uint32_t, I2, int8_t, y, SIGNED(2))                                                     \
    X(I32, uint32_t, I4, int8_t, y, SIGNED(4))                                                     \
    X(I32, uint32_t, I8, int8_t, y, x)                                                             \
    X(I32, uint32_t, I16, int16_t, y, x)                                                           \
    X(I32, uint32_t, I32, int32_t, y, x)                                                           \
    X(I32, uint32_t, U2, uint8_t, y, x & 3)                                                        \
    X(I32, uint32_t, U4, uint8_t, y, x & 15)                                                       \
    X(I32, uint32_t, U8, uint8_t, y, x)                                                            \
    X(I32, uint32_t, U16, uint16_t, y, x)                                                          \
    X(I32, uint32_t, U32, uint32_t, y, x)                                                          \
    X(I64, uint64_t, I64, int64_t, y, x)                                                           \
    X(I64, uint64_t, U64, uint64_t, y, x)

LOADS(LOAD)
STORES(STORE)

/* Half floats have loops for each instruction set. Sums are never added to them: they are kept in
 * f32. */
#define HALF(E, from)                                                                              \
    static void load_F32_##E(char *dst, const char *src, int64_t stride, int64_t n)                \
    {                                                                                              \
        float *out = (float *)dst;                                                                 \
        if (stride == 2) {                                                                         \
            tn_gemm_table_get()->f32_of_##from(out, (const uint16_t *)src, n);                     \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++, src += stride)                                             \
            out[i] = tn_f32_of_##from(*(const uint16_t *)src);                                     \
    }                                                                                              \
    static void store_F32_##E(char *dst, int64_t stride, const char *src, int64_t n, bool add)     \
    {                                                                                              \
        const float *in = (const float *)src;                                                      \
        assert(!add);                                                                              \
        if (stride == 2) {                                                                         \
            tn_gemm_table_get()->from##_of_f32((uint16_t *)dst, in, n);                            \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++, dst += stride)                                             \
            *(uint16_t *)dst = tn_##from##_of_f32(in[i]);                                          \
    }
HALF(BF16, bf16)
HALF(F16, f16)

/* Integers that f32 holds, kept in C type et. */
#define NARROW_INTEGERS(X)                                                                         \
    X(I2, int8_t, i8)                                                                              \
    X(I4, int8_t, i8)                                                                              \
    X(I8, int8_t, i8)                                                                              \
    X(I16, int16_t, i16)                                                                           \
    X(U2, uint8_t, u8)                                                                             \
    X(U4, uint8_t, u8)                                                                             \
    X(U8, uint8_t, u8)                                                                             \
    X(U16, uint16_t, u16)
#define LOAD_NARROW(E, et, from)                                                                   \
    static void load_F32_##E(char *dst, const char *src, int64_t stride, int64_t n)                \
    {                                                                                              \
        float *out = (float *)dst;                                                                 \
        if (stride == (int64_t)sizeof(et)) {                                                       \
            tn_gemm_table_get()->f32_of_##from(out, (const et *)src, n);                           \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++, src += stride) out[i] = *(const et *)src;                  \
    }
NARROW_INTEGERS(LOAD_NARROW)

#define LOAD_COMPLEX(K, kt, E, et)                                                                 \
    static void load_##K##_##E(char *dst, const char *src, int64_t stride, int64_t n)              \
    {                                                                                              \
        kt *to = (kt *)dst;                                                                        \
        for (int64_t i = 0; i < n; i++, src += stride) {                                           \
            et x = *(const et *)src;                                                               \
            to[i] = (kt){x.re, x.im};                                                              \
        }                                                                                          \
    }
#define STORE_COMPLEX(K, kt)                                                                       \
    static void store_##K##_##K(char *dst, int64_t stride, const char *src, int64_t n, bool add)   \
    {                                                                                              \
        const kt *from = (const kt *)src;                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            kt *to = (kt *)(dst + i * stride), x = from[i];                                        \
            *to = add ? (kt){to->re + x.re, to->im + x.im} : x;                                    \
        }                                                                                          \
    }
LOAD_COMPLEX(C64, c64, C64, c64)
LOAD_COMPLEX(C128, c128, C128, c128)
LOAD_COMPLEX(C128, c128, C64, c64)
STORE_COMPLEX(C64, c64)
STORE_COMPLEX(C128, c128)

#define LOAD_ENTRY(K, kt, E, et, expr)           [TN_GEMM_##K][TN_##E] = load_##K##_##E,
#define LOAD_NARROW_ENTRY(E, et, from)           [TN_GEMM_F32][TN_##E] = load_F32_##E,
#define STORE_ENTRY(K, kt, E, et, widen, narrow) [TN_GEMM_##K][TN_##E] = store_##K##_##E,

static tn_gemm_load *const loads[TN_GEMM_KIND_COUNT][TN_ELEMENT_TYPE_COUNT] = {
    LOADS(LOAD_ENTRY) //
        [TN_GEMM_F32][TN_BF16] = load_F32_BF16,
    [TN_GEMM_F32][TN_F16] = load_F32_F16,
    NARROW_INTEGERS(LOAD_NARROW_ENTRY) //
        [TN_GEMM_C64][TN_C64] = load_C64_C64,
    [TN_GEMM_C128][TN_C128] = load_C128_C128,
    [TN_GEMM_C128][TN_C64] = load_C128_C64,
};
static tn_gemm_store *const stores[TN_GEMM_KIND_COUNT][TN_ELEMENT_TYPE_COUNT] = {
    STORES(STORE_ENTRY) //
        [TN_GEMM_F32][TN_BF16] = store_F32_BF16,
    [TN_GEMM_F32][TN_F16] = store_F32_F16,
    [TN_GEMM_C64][TN_C64] = store_C64_C64,
    [TN_GEMM_C128][TN_C128] = store_C128_C128,
};

static bool is_known(tn_gemm_kind kind, tn_element_type type)
{
    return (unsigned)kind < TN_GEMM_KIND_COUNT && (unsigned)type < TN_ELEMENT_TYPE_COUNT;
}

tn_gemm_load *tn_gemm_load_for(tn_gemm_kind kind, tn_element_type type)
{
    return is_known(kind, type) ? loads[kind][type] : NULL;
}

tn_gemm_store *tn_gemm_store_for(tn_gemm_kind kind, tn_element_type type)
{
    if (kind == TN_GEMM_P16) kind = TN_GEMM_I32; /* its sums are plain integers */
    return is_known(kind, type) ? stores[kind][type] : NULL;
}

static tn_gemm_kind widest(tn_element_type a, tn_element_type b, tn_element_type c)
{
    switch (tn_element_type_class(c)) {
    case TN_CLASS_BOOL:
    case TN_CLASS_SINT:
    case TN_CLASS_UINT: return tn_element_type_bits(c) == 64 ? TN_GEMM_I64 : TN_GEMM_I32;
    case TN_CLASS_FLOAT:
        return a == TN_F64 || b == TN_F64 || c == TN_F64 ? TN_GEMM_F64 : TN_GEMM_F32;
    case TN_CLASS_COMPLEX:
        return a == TN_C128 || b == TN_C128 || c == TN_C128 ? TN_GEMM_C128 : TN_GEMM_C64;
    case TN_CLASS_NONE: break;
    }
    return TN_GEMM_NONE;
}

tn_gemm_kind tn_gemm_kind_for(tn_element_type a, tn_element_type b, tn_element_type c)
{
    tn_gemm_kind kind = widest(a, b, c);
    bool known =
        tn_gemm_load_for(kind, a) && tn_gemm_load_for(kind, b) && tn_gemm_store_for(kind, c);
    return known ? kind : TN_GEMM_NONE;
}

tn_element_type tn_gemm_kind_type(tn_gemm_kind kind)
{
    static const tn_element_type types[] = {
#define X(KIND, element, block) [TN_GEMM_##KIND] = TN_##element,
        TN_GEMM_KINDS(X)
#undef X
    };
    return types[kind];
}

int64_t tn_gemm_k_block(tn_gemm_kind kind, int64_t k)
{
    static const int64_t limits[] = {
#define X(KIND, element, block) [TN_GEMM_##KIND] = block,
        TN_GEMM_KINDS(X)
#undef X
    };
    if (k <= limits[kind]) return k > 0 ? k : 1;
    int64_t blocks = (k + limits[kind] - 1) / limits[kind];
    return (k + blocks - 1) / blocks;
}

#define REAL_CASE(K, kt, expr)                                                                     \
    case TN_GEMM_##K: {                                                                            \
        kt a, b, s;                                                                                \
        memcpy(&a, x, sizeof a);                                                                   \
        memcpy(&b, y, sizeof b);                                                                   \
        memcpy(&s, sum, sizeof s);                                                                 \
        s = expr;                                                                                  \
        memcpy(sum, &s, sizeof s);                                                                 \
        break;                                                                                     \
    }
#define COMPLEX_CASE(K, kt, fma_)                                                                  \
    REAL_CASE(K, kt,                                                                               \
              ((kt){fma_(-a.im, b.im, fma_(a.re, b.re, s.re)),                                     \
                    fma_(a.im, b.re, fma_(a.re, b.im, s.im))}))

void tn_gemm_multiply_add(tn_gemm_kind kind, const char *x, const char *y, char *sum)
{
    switch (kind) {
        REAL_CASE(F32, float, fmaf(a, b, s))
        REAL_CASE(F64, double, fma(a, b, s))
        REAL_CASE(I32, uint32_t, a *b + s)
        REAL_CASE(I64, uint64_t, a *b + s)
        COMPLEX_CASE(C64, c64, fmaf)
        COMPLEX_CASE(C128, c128, fma)
    case TN_GEMM_P16:
    case TN_GEMM_NONE: break;
    }
}

void tn_gemm_interleave16(char *restrict dst, const char *restrict x, const char *restrict y,
                          int64_t n)
{
    uint16_t *to = (uint16_t *)dst;
    const uint16_t *even = (const uint16_t *)x, *odd = (const uint16_t *)y;
    for (int64_t i = 0; i < n; i++) {
        to[2 * i] = even[i];
        to[2 * i + 1] = odd[i];
    }
}

#define SUM_COMPLEX(kt)                                                                            \
    static void sum_##kt(const kt *x, const kt *y, int64_t n, kt *out)                             \
    {                                                                                              \
        kt sum = {0, 0};                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                          \
            sum.re += x[i].re * y[i].re - x[i].im * y[i].im;                                       \
            sum.im += x[i].re * y[i].im + x[i].im * y[i].re;                                       \
        }                                                                                          \
        *out = sum;                                                                                \
    }
SUM_COMPLEX(c64)
SUM_COMPLEX(c128)

void tn_gemm_sum_complex(tn_gemm_kind kind, const char *x, const char *y, int64_t n, char *out)
{
    if (kind == TN_GEMM_C64) sum_c64((const c64 *)x, (const c64 *)y, n, (c64 *)out);
    else sum_c128((const c128 *)x, (const c128 *)y, n, (c128 *)out);
}

enum { MAX_WIDTH = 2 * 64 / sizeof(float) }; /* two vectors */

#define COMPLEX_ROWS(part)                                                                         \
    static void split_##part(part *row, int64_t rows, int64_t width)                               \
    {                                                                                              \
        part copy[2 * MAX_WIDTH];                                                                  \
        for (int64_t r = 0; r < rows; r++, row += 2 * width) {                                     \
            memcpy(copy, row, sizeof(part) * 2 * (size_t)width);                                   \
            for (int64_t c = 0; c < width; c++) row[c] = copy[2 * c];                              \
            for (int64_t c = 0; c < width; c++) row[width + c] = copy[2 * c + 1];                  \
        }                                                                                          \
    }                                                                                              \
    static void join_##part(part *restrict dst, const part *restrict row, int64_t width,           \
                            int64_t cols)                                                          \
    {                                                                                              \
        for (int64_t c = 0; c < cols; c++) {                                                       \
            dst[2 * c] = row[c];                                                                   \
            dst[2 * c + 1] = row[width + c];                                                       \
        }                                                                                          \
    }
COMPLEX_ROWS(float)
COMPLEX_ROWS(double)

void tn_gemm_split_complex(tn_gemm_kind kind, char *panel, int64_t rows, int64_t width)
{
    if (kind == TN_GEMM_C64) split_float((float *)panel, rows, width);
    else split_double((double *)panel, rows, width);
}

void tn_gemm_join_complex(tn_gemm_kind kind, char *dst, const char *row, int64_t width,
                          int64_t cols)
{
    if (kind == TN_GEMM_C64) join_float((float *)dst, (const float *)row, width, cols);
    else join_double((double *)dst, (const double *)row, width, cols);
}
