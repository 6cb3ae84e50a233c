/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/elementwise_build.h"
#include "kernels/elementwise_types.h"

#include <string.h>

/* --- compare --- */

#define COMPARE_LOOP(name, T, R, convert, operator)                                                \
    static void name(const tn_kernel *k, size_t n, const void *const *in, void *out)               \
    {                                                                                              \
        const T *a = in[0], *b = in[1];                                                            \
        uint8_t *to = out;                                                                         \
        TN_INDEPENDENT                                                                             \
        for (size_t i = 0; i < n; i++) to[i] = convert(a[i]) operator convert(b[i]);               \
    }
#define COMPARE(s, T, R, convert)                                                                  \
    COMPARE_LOOP(eq_##s, T, R, convert, ==)                                                        \
    COMPARE_LOOP(ne_##s, T, R, convert, !=)                                                        \
    COMPARE_LOOP(ge_##s, T, R, convert, >=)                                                        \
    COMPARE_LOOP(gt_##s, T, R, convert, >)                                                         \
    COMPARE_LOOP(le_##s, T, R, convert, <=)                                                        \
    COMPARE_LOOP(lt_##s, T, R, convert, <)                                                         \
    static tn_kernel_fn *const compare_##s[] = {                                                   \
        [TN_comparison_direction_EQ] = eq_##s, [TN_comparison_direction_NE] = ne_##s,              \
        [TN_comparison_direction_GE] = ge_##s, [TN_comparison_direction_GT] = gt_##s,              \
        [TN_comparison_direction_LE] = le_##s, [TN_comparison_direction_LT] = lt_##s};

/* The bits of a float as an integer in total order: negative ones count down from -0 = -1. */
static inline int32_t order_f32(float a)
{
    int32_t i = (int32_t)tn_to_bits_f32(a);
    return i ^ (int32_t)((uint32_t)(i >> 31) >> 1);
}
static inline int64_t order_f64(double a)
{
    int64_t i = (int64_t)tn_to_bits_f64(a);
    return i ^ (int64_t)((uint64_t)(i >> 63) >> 1);
}

// clang-format off
#define X(s, NAME, T, U, class) COMPARE(s, T, T, )
TN_COMPUTE_INTEGERS(X)
TN_COMPUTE_REALS(X)
#undef X
COMPARE(total_f32, float, int32_t, order_f32)
COMPARE(total_f64, double, int64_t, order_f64)
COMPARE_LOOP(eq_c64, float _Complex, float _Complex, , ==)
COMPARE_LOOP(ne_c64, float _Complex, float _Complex, , !=)
COMPARE_LOOP(eq_c128, double _Complex, double _Complex, , ==)
COMPARE_LOOP(ne_c128, double _Complex, double _Complex, , !=)
// clang-format on

tn_kernel_fn *TN_ISA_NAME(tn_find_compare)(int direction, bool total, tn_element_type e)
{
    if (direction < 0 || direction > TN_comparison_direction_LT) return NULL;
    bool eq = direction == TN_comparison_direction_EQ, ne = direction == TN_comparison_direction_NE;
    switch ((int)e) {
    case TN_I1:
    case TN_U2:
    case TN_U4: return compare_u8[direction];
    case TN_I2:
    case TN_I4: return compare_i8[direction];
#define X(s, NAME, T, U, class)                                                                    \
    case TN_##NAME: return compare_##s[direction];
        TN_COMPUTE_INTEGERS(X)
#undef X
    case TN_F32: return total ? compare_total_f32[direction] : compare_f32[direction];
    case TN_F64: return total ? compare_total_f64[direction] : compare_f64[direction];
    case TN_C64: return eq ? eq_c64 : ne ? ne_c64 : NULL;
    case TN_C128: return eq ? eq_c128 : ne ? ne_c128 : NULL;
    default: return NULL;
    }
}

/* --- clamp --- */

#define CLAMP_LOOP(name, T, s, low, high)                                                          \
    static void name(const tn_kernel *k, size_t n, const void *const *in, void *out)               \
    {                                                                                              \
        const T *lo = in[0], *a = in[1], *hi = in[2];                                              \
        T *to = out;                                                                               \
        if (!n) return;                                                                            \
        T first_lo = lo[0], first_hi = hi[0];                                                      \
        (void)first_lo;                                                                            \
        (void)first_hi;                                                                            \
        TN_INDEPENDENT                                                                             \
        for (size_t i = 0; i < n; i++) to[i] = tn_min_##s(tn_max_##s(a[i], low), high);            \
    }
#define CLAMP(s, NAME, T, U, class)                                                                \
    CLAMP_LOOP(clamp_##s, T, s, lo[i], hi[i])                                                      \
    CLAMP_LOOP(clamp_lo_##s, T, s, first_lo, hi[i])                                                \
    CLAMP_LOOP(clamp_hi_##s, T, s, lo[i], first_hi)                                                \
    CLAMP_LOOP(clamp_both_##s, T, s, first_lo, first_hi)

#define INTEGER_ORDER(s, NAME, T, U, class)                                                        \
    static inline T tn_max_##s(T a, T b)                                                           \
    {                                                                                              \
        return a > b ? a : b;                                                                      \
    }                                                                                              \
    static inline T tn_min_##s(T a, T b)                                                           \
    {                                                                                              \
        return a < b ? a : b;                                                                      \
    }
// clang-format off
TN_COMPUTE_INTEGERS(INTEGER_ORDER)
TN_COMPUTE_INTEGERS(CLAMP)
TN_COMPUTE_REALS(CLAMP)
TN_COMPUTE_COMPLEX(CLAMP)
// clang-format on

tn_kernel_fn *TN_ISA_NAME(tn_find_clamp)(bool scalar_min, bool scalar_max, tn_element_type e)
{
#define PICK(s)                                                                                    \
    return scalar_min   ? scalar_max ? clamp_both_##s : clamp_lo_##s                               \
           : scalar_max ? clamp_hi_##s                                                             \
                        : clamp_##s;
#define X(s, NAME, T, U, class)                                                                    \
    case TN_##NAME: PICK(s)
    switch ((int)e) {
    case TN_I1:
    case TN_U2:
    case TN_U4: PICK(u8)
    case TN_I2:
    case TN_I4:
        PICK(i8)
        TN_COMPUTE_INTEGERS(X)
        TN_COMPUTE_REALS(X)
        TN_COMPUTE_COMPLEX(X)
    default: return NULL;
    }
#undef X
}

/* --- select --- */

typedef struct {
    uint64_t part[2];
} bytes16;

#define SELECT(bytes, T)                                                                           \
    static void select_##bytes(const tn_kernel *k, size_t n, const void *const *in, void *out)     \
    {                                                                                              \
        const uint8_t *pred = in[0];                                                               \
        const T *yes = in[1], *no = in[2];                                                         \
        T *to = out;                                                                               \
        TN_INDEPENDENT                                                                             \
        for (size_t i = 0; i < n; i++) {                                                           \
            T y = yes[i], z = no[i];                                                               \
            to[i] = pred[i] ? y : z;                                                               \
        }                                                                                          \
    }
// clang-format off
SELECT(1, uint8_t)
SELECT(2, uint16_t)
SELECT(4, uint32_t)
SELECT(8, uint64_t)
SELECT(16, bytes16)
// clang-format on

static void select_whole(const tn_kernel *k, size_t n, const void *const *in, void *out)
{
    const void *from = *(const uint8_t *)in[0] ? in[1] : in[2];
    if (n && from != out) memcpy(out, from, n * k->out_step);
}

tn_kernel_fn *TN_ISA_NAME(tn_find_select)(bool scalar_pred, unsigned element_bytes)
{
    if (scalar_pred) return select_whole;
    switch (element_bytes) {
    case 1: return select_1;
    case 2: return select_2;
    case 4: return select_4;
    case 8: return select_8;
    case 16: return select_16;
    default: return NULL;
    }
}

/* --- reduce_precision --- */

/* Rounds the mantissa in place as if its dropped bits weren't there, then looks what the shorter
 * exponent makes of the result: too large is inf, too small (no subnormals here) is 0. Subnormals
 * of a narrow type are normal here but have fewer bits: adding `magic` leaves the right ones. */
#define REDUCE_PRECISION(s, T, U, mantissa, exponent)                                              \
    static void reduce_precision_##s(const tn_kernel *k, size_t n, const void *const *in,          \
                                     void *out)                                                    \
    {                                                                                              \
        const T *from = in[0];                                                                     \
        T *to = out;                                                                               \
        const U one = 1, sign = one << (mantissa + exponent);                                      \
        const U inf = ((one << exponent) - 1) << mantissa;                                         \
        int e = k->bits[0] < exponent ? k->bits[0] : exponent;                                     \
        int m = k->bits[1] < mantissa ? k->bits[1] : mantissa;                                     \
        const int drop = mantissa - m;                                                             \
        const U half = drop ? (one << drop >> 1) - 1 : 0, keep = ~((one << drop) - 1);             \
        const U odd = drop ? 1 : 0;                                                                \
        /* Without a mantissa there is no NaN: it becomes inf. */                                  \
        const U nan = inf, keep_nan = m ? ~(U)0 : 0;                                               \
        const U bias = (one << (exponent - 1)) - 1, new_bias = (one << (e - 1)) - 1;               \
        const U most = e == exponent ? inf : (bias + new_bias + 1) << mantissa;                    \
        const U least = e == exponent ? 0 : (bias - new_bias + 1) << mantissa;                     \
        const U tiny = (uint32_t)k->bits[2];                                                       \
        const T magic = (T)tn_from_bits_f32((uint32_t)k->bits[3]);                                 \
        TN_INDEPENDENT                                                                             \
        for (size_t i = 0; i < n; i++) {                                                           \
            U u = tn_to_bits_##s(from[i]), magnitude = u & ~sign;                                  \
            U r = (magnitude + half + (magnitude >> drop & odd)) & keep;                           \
            U small = tn_to_bits_##s((tn_from_bits_##s(magnitude) + magic) - magic);               \
            r = magnitude < tiny ? small : r;                                                      \
            r = r >= most ? inf : r;                                                               \
            r = r < least ? 0 : r;                                                                 \
            r = magnitude > inf ? nan | (magnitude & keep_nan) : r;                                \
            to[i] = tn_from_bits_##s(r | (u & sign));                                              \
        }                                                                                          \
    }
// clang-format off
REDUCE_PRECISION(f32, float, uint32_t, 23, 8)
REDUCE_PRECISION(f64, double, uint64_t, 52, 11)
// clang-format on

tn_kernel_fn *TN_ISA_NAME(tn_find_reduce_precision)(tn_element_type e)
{
    return e == TN_F32 ? reduce_precision_f32 : e == TN_F64 ? reduce_precision_f64 : NULL;
}
