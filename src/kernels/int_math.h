/* SPDX-License-Identifier: Apache-2.0 */
/* int_math.h - sizes of blocks and tiles. */
#ifndef TN_KERNELS_INT_MATH_H
#define TN_KERNELS_INT_MATH_H

#include <stdint.h>

static inline int64_t tn_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline int64_t tn_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
/* For x >= 0 and `by`, `to` > 0. */
static inline int64_t tn_ceil_div(int64_t x, int64_t by)
{
    return (x + by - 1) / by;
}
static inline int64_t tn_round_up(int64_t x, int64_t to)
{
    return tn_ceil_div(x, to) * to;
}

#endif
