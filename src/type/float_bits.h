/* SPDX-License-Identifier: Apache-2.0 */
/* float_bits.h - the value of one float of any type, bit by bit. Slow and obvious: for attributes,
 * printing and tests; kernels convert in their own ways. */
#ifndef TN_TYPE_FLOAT_BITS_H
#define TN_TYPE_FLOAT_BITS_H

#include "type/type.h"

/* The value of the low bits of `bits` as a float of type `e`, exact. NaN for every NaN, and for
 * types that are not floats. */
double tn_float_from_bits(tn_element_type e, uint64_t bits);

#endif
