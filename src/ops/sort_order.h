/* SPDX-License-Identifier: Apache-2.0 */
/* sort_order.h - finds out that a comparator compares keys, one after the other. */
#ifndef TN_OPS_SORT_ORDER_H
#define TN_OPS_SORT_ORDER_H

#include "ir/ir.h"

/* x is before y if key(x) is less (or greater) than key(y). `left` is the value of the region that
 * is the key of x; the key of y is the same function of y's elements. */
typedef struct {
    const tn_value *left;
    bool descending, total; /* total: -NaN < -inf < -0 < +0 < inf < NaN */
    bool unique; /* not total, but made so by select(x == 0, 0, x) and select(x != x, NaN, x): the
                    key is x itself, zeros are equal, and so are NaNs, which come after infinity */
} tn_sort_key;

#define TN_SORT_KEYS 16

/* The keys of `comparator`, the first one first, at most TN_SORT_KEYS; 0 if it is something else.
 * Takes (x0, y0, x1, y1, ...); sees
 *     less(x, y) = compare LT or GT (key(x), key(y))
 *                | or(compare(...), and(compare EQ (key(x), key(y)), less'(x, y)))
 * with operands of `and` and `or` in either order. */
uint32_t tn_sort_find_keys(const tn_region *comparator, tn_sort_key *out);

/* A region that takes (x0, x1, ...) and returns the key, made in `m`. */
const tn_region *tn_sort_key_region(tn_module *m, const tn_region *comparator,
                                    const tn_value *left);

#endif
