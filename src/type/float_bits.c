/* SPDX-License-Identifier: Apache-2.0 */
#include "type/float_bits.h"

#include <math.h>
#include <string.h>

typedef enum {
    IEEE,      /* the largest exponent holds infinities and NaNs */
    FINITE_FN, /* all ones is NaN, nothing is infinite */
    FINITE,    /* every pattern is a number */
    FINITE_UZ  /* the negative zero is NaN, nothing is infinite */
} specials;

static const struct {
    uint8_t exponent, mantissa, bias, specials;
} formats[TN_ELEMENT_TYPE_COUNT] = {[TN_BF16] = {8, 7, 127, IEEE},
                                    [TN_F16] = {5, 10, 15, IEEE},
                                    [TN_F8E5M2] = {5, 2, 15, IEEE},
                                    [TN_F8E4M3] = {4, 3, 7, IEEE},
                                    [TN_F8E3M4] = {3, 4, 3, IEEE},
                                    [TN_F8E4M3FN] = {4, 3, 7, FINITE_FN},
                                    [TN_F8E4M3FNUZ] = {4, 3, 8, FINITE_UZ},
                                    [TN_F8E5M2FNUZ] = {5, 2, 16, FINITE_UZ},
                                    [TN_F8E4M3B11FNUZ] = {4, 3, 11, FINITE_UZ},
                                    [TN_F6E2M3FN] = {2, 3, 1, FINITE},
                                    [TN_F6E3M2FN] = {3, 2, 3, FINITE},
                                    [TN_F4E2M1FN] = {2, 1, 1, FINITE}};

double tn_float_from_bits(tn_element_type e, uint64_t bits)
{
    if (e == TN_F64) {
        double v;
        memcpy(&v, &bits, sizeof v);
        return v;
    }
    if (e == TN_F32) {
        float v;
        uint32_t low = (uint32_t)bits;
        memcpy(&v, &low, sizeof v);
        return v;
    }
    if (e == TN_F8E8M0FNU) return (bits & 0xFF) == 0xFF ? NAN : ldexp(1, (int)(bits & 0xFF) - 127);
    if (!formats[e].exponent) return NAN;
    int n_exponent = formats[e].exponent, n_mantissa = formats[e].mantissa, bias = formats[e].bias;
    int largest = (1 << n_exponent) - 1;
    int mantissa = (int)(bits & ((1u << n_mantissa) - 1));
    int exponent = (int)(bits >> n_mantissa) & largest;
    bool negative = bits >> (n_mantissa + n_exponent) & 1;
    switch ((specials)formats[e].specials) {
    case IEEE:
        if (exponent < largest) break;
        if (mantissa) return NAN;
        return negative ? -INFINITY : INFINITY;
    case FINITE_FN:
        if (exponent == largest && mantissa == (1 << n_mantissa) - 1) return NAN;
        break;
    case FINITE_UZ:
        if (negative && !exponent && !mantissa) return NAN;
        break;
    case FINITE: break;
    }
    double v = exponent ? ldexp(mantissa | 1 << n_mantissa, exponent - bias - n_mantissa)
                        : ldexp(mantissa, 1 - bias - n_mantissa);
    return negative ? -v : v;
}
