/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/turn.h"

enum { ROWS = 150, AFTER = 40, BEFORE = 64 };

/* Garbage stands wherever nothing may be read or written. */
static void check(size_t w, int64_t columns, int64_t n, int64_t after)
{
    size_t row = (size_t)columns * w, apart = (ROWS + 3) * w, all = (size_t)(n + after) * row;
    size_t whole = (size_t)tn_turned_columns(w, columns);
    char *rows = malloc(all), *turned = malloc(whole * apart);
    char *back = malloc(all + BEFORE);
    for (size_t i = 0; i < all; i++) rows[i] = (char)(i * 37 + i / 251);
    memset(turned, 0x55, whole * apart);
    tn_turn(w, columns, rows, n, after, turned, (int64_t)apart);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < columns; j++)
            assert_memory_equal(turned + (size_t)j * apart + (size_t)i * w,
                                rows + (size_t)i * row + (size_t)j * w, w);
    memset(turned + (size_t)columns * apart, 0x77, (whole - (size_t)columns) * apart);
    memset(back, 0x33, all + BEFORE);
    tn_turn_back(w, columns, turned, (int64_t)apart, n, after, back + BEFORE);
    assert_memory_equal(back + BEFORE, rows, (size_t)n * row);
    for (size_t i = 0; i < BEFORE; i++) assert_int_equal(back[i], 0x33);
    free(rows);
    free(turned);
    free(back);
}

static void test_turns_rows_of_all_lengths(void **state)
{
    (void)state;
    const size_t widths[] = {1, 2, 4, 8, 16};
    const int64_t counts[] = {1, 15, 16, 33, 64, 100, ROWS};
    for (size_t k = 0; k < 5; k++)
        for (int64_t columns = 1; columns <= 40; columns++)
            for (size_t i = 0; i < 7; i++)
                for (int64_t after = 0; after <= AFTER; after += 20)
                    check(widths[k], columns, counts[i], after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_turns_rows_of_all_lengths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
