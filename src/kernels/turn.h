/* SPDX-License-Identifier: Apache-2.0 */
/* turn.h - short rows to columns, and back: turned[j * apart + i] = rows[i * columns + j] for
 * i < n, elements of `width` = 1, 2, 4, 8 or 16 bytes, `apart` in bytes. Memory of columns has room
 * for tn_turned_columns of them, of which the last hold anything. `after` rows follow those n,
 * which may be read, or be written with anything. Any address, no overlap. Threads: no state. */
#ifndef TN_KERNELS_TURN_H
#define TN_KERNELS_TURN_H

#include <stddef.h>
#include <stdint.h>

/* Whole squares of a cache line are turned where few columns would be left out. */
int64_t tn_turned_columns(size_t width, int64_t columns);

void tn_turn(size_t width, int64_t columns, const void *rows, int64_t n, int64_t after,
             void *turned, int64_t apart);
void tn_turn_back(size_t width, int64_t columns, const void *turned, int64_t apart, int64_t n,
                  int64_t after, void *rows);

#endif
