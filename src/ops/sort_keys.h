/* SPDX-License-Identifier: Apache-2.0 */
/* sort_keys.h - comparators that compare one key: (a..., b...) -> f(a...) < f(b...), or >.
 *
 * Such a comparator is a total order on the key's type, so a stable radix sort gives what comparing
 * would. JAX's comparators of one key are of this form: f makes -0 equal to +0 and all NaNs equal,
 * and the comparison is TOTALORDER. */
#ifndef TN_OPS_SORT_KEYS_H
#define TN_OPS_SORT_KEYS_H

#include "ops/body.h"

typedef struct {
    tn_arena *arena;
    const tn_body *key; /* the comparator's body cut off at f(a...): takes all its arguments, uses
                           those of a */
    tn_element_type element;
    bool descending;
} tn_sort_key;

/* Recognises the comparator of `op`. *found is false if it is of another form; otherwise
 * tn_sort_key_end ends *out. */
tn_status *tn_sort_key_find(const tn_op *op, tn_sort_key *out, bool *found) TN_MUST_USE;
void tn_sort_key_end(tn_sort_key *k);

/* One radix item: the key as an unsigned integer of the same order, and where it came from. */
typedef struct {
    uint64_t key;
    uint32_t index;
} tn_sort_item;

/* Items of n keys of an element type. */
void tn_sort_items(const tn_sort_key *k, int64_t n, const void *keys, uint32_t first,
                   tn_sort_item *out);
/* Sorts items[n] stably by key, using as much memory at spare[n]; the result is in items. */
void tn_sort_radix(tn_sort_item *items, tn_sort_item *spare, int64_t n);

#endif
