/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. */
#include <string.h>

#include "kernels/fft.h"
#include "kernels/simd.h"

/* Indices that interleave the lower or the higher halves of two vectors, and that take their even
 * or odd elements, or reverse one. */
#define LOW_2   0, 2
#define HIGH_2  1, 3
#define EVEN_2  0, 2
#define ODD_2   1, 3
#define BACK_2  1, 0
#define LOW_4   0, 4, 1, 5
#define HIGH_4  2, 6, 3, 7
#define EVEN_4  0, 2, 4, 6
#define ODD_4   1, 3, 5, 7
#define BACK_4  3, 2, 1, 0
#define LOW_8   0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_8  4, 12, 5, 13, 6, 14, 7, 15
#define EVEN_8  0, 2, 4, 6, 8, 10, 12, 14
#define ODD_8   1, 3, 5, 7, 9, 11, 13, 15
#define BACK_8  7, 6, 5, 4, 3, 2, 1, 0
#define LOW_16  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define EVEN_16 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_16  1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define BACK_16 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0

#if TN_VB == 64
#define F32_LANES 16
#define F64_LANES 8
#elif TN_VB == 32
#define F32_LANES 8
#define F64_LANES 4
#else
#define F32_LANES 4
#define F64_LANES 2
#endif

/* How a pass begins and ends. */
enum { TAKE_PAIRS = 1, TAKE_EXCHANGE = 2, GIVE_PAIRS = 4, GIVE_EXCHANGE = 8, GIVE_TURN = 16 };

#define T     float
#define V     vf32
#define UV    uf32
#define S     f32
#define LANES F32_LANES
#include "kernels/fft_group.inc"

#undef T
#undef V
#undef UV
#undef S
#undef LANES
#define T     double
#define V     vf64
#define UV    uf64
#define S     f64
#define LANES F64_LANES
#include "kernels/fft_group.inc"
