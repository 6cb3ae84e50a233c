/* SPDX-License-Identifier: Apache-2.0 */
/* sort_array.h - sorts an array of unsigned integers on all threads of a pool.
 *
 * The array is divided by pivots until there are some ranges for each thread, by all threads from
 * the first pivot on; then ranges are sorted apart. Equal integers are one and the same, so the
 * result doesn't depend on the number of threads. */
#ifndef TN_OPS_SORT_ARRAY_H
#define TN_OPS_SORT_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/thread_pool.h"

/* Elements [begin, end) are where they belong. Called once for each element, from any thread. */
typedef void tn_sorted_fn(void *ctx, int64_t begin, int64_t end);

/* Sorts x[n], of uint32_t or, if `wide`, uint64_t, in place. A NULL pool: on the caller alone.
 * `sorted` may be NULL. */
void tn_sort_array(tn_thread_pool *pool, bool wide, void *x, int64_t n, tn_sorted_fn *sorted,
                   void *ctx);

#endif
