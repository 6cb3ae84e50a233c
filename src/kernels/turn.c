/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/turn.h"

#include <string.h>

#include "kernels/transpose.h"

enum { LINE = 64 };

int64_t tn_turned_columns(size_t width, int64_t columns)
{
    int64_t square = LINE / (int64_t)width;
    if (4 * columns <= square || columns % square == 0) return columns;
    return (columns + square - 1) / square * square;
}

/* Rows in whole squares of which only the first `columns` count: what squares touch behind the end
 * of a row belongs to rows that come later. */
static int64_t in_squares(size_t width, int64_t columns, int64_t n, int64_t after)
{
    int64_t square = LINE / (int64_t)width, behind = tn_turned_columns(width, columns) - columns;
    int64_t rows = n + after - (behind + columns - 1) / columns;
    if (rows > n) rows = n;
    return rows < square ? 0 : rows / square * square;
}

void tn_turn(size_t width, int64_t columns, const void *rows, int64_t n, int64_t after,
             void *turned, int64_t apart)
{
    int64_t w = (int64_t)width, row = columns * w, done = in_squares(width, columns, n, after);
    if (columns == 1) {
        memcpy(turned, rows, (size_t)n * width);
        return;
    }
    tn_transpose_shape t = {.rows = done,
                            .columns = tn_turned_columns(width, columns),
                            .dst_row = apart,
                            .src_row = row};
    if (done) tn_transpose(width, &t, turned, rows);
    t.rows = n - done;
    t.columns = columns;
    if (t.rows) tn_transpose(width, &t, (char *)turned + done * w, (const char *)rows + done * row);
}

void tn_turn_back(size_t width, int64_t columns, const void *turned, int64_t apart, int64_t n,
                  int64_t after, void *rows)
{
    if (columns == 1) {
        memcpy(rows, turned, (size_t)n * width);
        return;
    }
    int64_t w = (int64_t)width, row = columns * w, whole = tn_turned_columns(width, columns);
    int64_t square = LINE / w, last = whole - square, done = in_squares(width, columns, n, after);
    tn_transpose_shape t = {.rows = whole, .columns = done, .dst_row = row, .src_row = apart};
    if (whole != columns && last) {
        /* What the last columns' squares leave behind rows the first ones' write over. */
        t.rows = square;
        if (done)
            tn_transpose(width, &t, (char *)rows + last * w, (const char *)turned + last * apart);
        t.rows = last;
    } else if (whole != columns && (w == 8 || w == 2)) {
        done = 0; /* such lines aren't written in order, each over the end of the one before */
    }
    if (done) tn_transpose(width, &t, rows, turned);
    t.rows = columns;
    t.columns = n - done;
    if (t.columns)
        tn_transpose(width, &t, (char *)rows + done * row, (const char *)turned + done * w);
}
