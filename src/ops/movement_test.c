/* SPDX-License-Identifier: Apache-2.0 */
#include "base/isa_test.h"
#include "ops/op_test.h"
#include "ops/strided.h"

/* --- the specification's examples --- */

TEST(constant_fills_and_copies)
{
    tn_op *op = make_op(TN_OP_constant, "", "2x2xf32");
    float v[] = {0, 1, 2, 3}, out[4];
    tn_literal l = {.type = op->results[0].type, .data = v, .size = sizeof v};
    tn_op_set_attr(module, op, TN_ATTR_value, tn_attr_tensor(arena, &l));
    RUN(op, NO_IN, OUT(out));
    EXPECT(float, out, 0, 1, 2, 3);
    l = (tn_literal){.type = op->results[0].type, .data = v + 3, .size = 4, .splat = true};
    tn_op_set_attr(module, op, TN_ATTR_value, tn_attr_tensor(arena, &l));
    RUN(op, NO_IN, OUT(out));
    EXPECT(float, out, 3, 3, 3, 3);
    l.size = 8;
    tn_op_set_attr(module, op, TN_ATTR_value, tn_attr_tensor(arena, &l));
    EXPECT_INVALID(op, "value should hold 4 bytes and holds 8");
}

TEST(iota_counts_along_a_dimension)
{
    int32_t out[20];
    tn_op *op = make_op(TN_OP_iota, "", "4x5xi32");
    SET_INT(op, iota_dimension, 0);
    RUN(op, NO_IN, OUT(out));
    for (int i = 0; i < 20; i++) assert_int_equal(out[i], i / 5);
    SET_INT(op, iota_dimension, 1);
    RUN(op, NO_IN, OUT(out));
    for (int i = 0; i < 20; i++) assert_int_equal(out[i], i % 5);
    SET_INT(op, iota_dimension, 2);
    EXPECT_INVALID(op, "iota_dimension should be a dimension in [0, 2) and is 2");
    op = make_op(TN_OP_iota, "", "300xi8");
    SET_INT(op, iota_dimension, 0);
    int8_t small[300];
    RUN(op, NO_IN, OUT(small));
    assert_int_equal(small[127], 127);
    assert_int_equal(small[128], -128);
    assert_int_equal(small[299], 43);
    op = make_op(TN_OP_iota, "", "3xbf16");
    SET_INT(op, iota_dimension, 0);
    uint16_t half[3];
    RUN(op, NO_IN, OUT(half));
    EXPECT(uint16_t, half, 0, 0x3F80, 0x4000);
    op = make_op(TN_OP_iota, "", "2x2xcomplex<f32>");
    SET_INT(op, iota_dimension, 1);
    float pairs[8];
    RUN(op, NO_IN, OUT(pairs));
    EXPECT(float, pairs, 0, 0, 1, 0, 0, 0, 1, 0);
}

TEST(broadcast_in_dim_maps_dimensions)
{
    tn_op *op = make_op(TN_OP_broadcast_in_dim, "1x3xi32", "2x3x2xi32");
    SET_INTS(op, broadcast_dimensions, 2, 1);
    int32_t x[] = {1, 2, 3}, out[12];
    RUN(op, IN(x), OUT(out));
    EXPECT(int32_t, out, 1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3);
    SET_INTS(op, broadcast_dimensions, 1, 1);
    EXPECT_INVALID(op, "broadcast_dimensions names dimension 1 twice");
    SET_INTS(op, broadcast_dimensions, 1, 2);
    EXPECT_INVALID(op, "dimension 1 of operand 0");
    SET_INTS(op, broadcast_dimensions, 1);
    EXPECT_INVALID(op, "size of broadcast_dimensions: expected 2, got 1");
}

TEST(broadcast_prepends_dimensions)
{
    tn_op *op = make_op(TN_OP_broadcast, "2xi16", "2x1x2xi16");
    SET_INTS(op, broadcast_sizes, 2, 1);
    int16_t x[] = {7, 8}, out[4];
    RUN(op, IN(x), OUT(out));
    EXPECT(int16_t, out, 7, 8, 7, 8);
}

TEST(transpose_permutes)
{
    tn_op *op = make_op(TN_OP_transpose, "2x3x2xi32", "2x3x2xi32");
    SET_INTS(op, permutation, 2, 1, 0);
    int32_t x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, out[12];
    RUN(op, IN(x), OUT(out));
    EXPECT(int32_t, out, 1, 7, 3, 9, 5, 11, 2, 8, 4, 10, 6, 12);
    SET_INTS(op, permutation, 2, 1, 1);
    EXPECT_INVALID(op, "permutation names dimension 1 twice");
}

TEST(slice_takes_steps)
{
    tn_op *op = make_op(TN_OP_slice, "3x4xi64", "2x2xi64");
    SET_INTS(op, start_indices, 1, 2);
    SET_INTS(op, limit_indices, 3, 4);
    SET_INTS(op, strides, 1, 1);
    int64_t x[] = {0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1}, out[4];
    RUN(op, IN(x), OUT(out));
    EXPECT(int64_t, out, 1, 1, 1, 1);
    SET_INTS(op, limit_indices, 3, 5);
    EXPECT_INVALID(op, "dimension 1: start 2 and limit 5");
    SET_INTS(op, limit_indices, 3, 4);
    SET_INTS(op, strides, 1, 0);
    EXPECT_INVALID(op, "strides[1] should be at least 1 and is 0");
    op = make_op(TN_OP_slice, "7xi8", "3xi8");
    SET_INTS(op, start_indices, 1);
    SET_INTS(op, limit_indices, 7);
    SET_INTS(op, strides, 2);
    int8_t y[] = {0, 1, 2, 3, 4, 5, 6}, few[3];
    RUN(op, IN(y), OUT(few));
    EXPECT(int8_t, few, 1, 3, 5);
    op = make_op(TN_OP_slice, "7xi8", "1xi8");
    SET_INTS(op, start_indices, 6);
    SET_INTS(op, limit_indices, 7);
    SET_INTS(op, strides, INT64_MAX);
    RUN(op, IN(y), OUT(few));
    EXPECT(int8_t, few, 6);
}

TEST(reverse_turns_dimensions)
{
    tn_op *op = make_op(TN_OP_reverse, "3x2xi32", "3x2xi32");
    SET_INTS(op, dimensions, 1);
    int32_t x[] = {1, 2, 3, 4, 5, 6}, out[6];
    RUN(op, IN(x), OUT(out));
    EXPECT(int32_t, out, 2, 1, 4, 3, 6, 5);
    SET_INTS(op, dimensions, 1, 0);
    RUN(op, IN(x), OUT(out));
    EXPECT(int32_t, out, 6, 5, 4, 3, 2, 1);
}

TEST(concatenate_joins)
{
    tn_op *op = make_op(TN_OP_concatenate, "3x2xi64, 1x2xi64, 0x2xi64", "4x2xi64");
    SET_INT(op, dimension, 0);
    int64_t x[] = {1, 2, 3, 4, 5, 6}, y[] = {7, 8}, out[8];
    RUN(op, IN(x, y, NULL), OUT(out));
    EXPECT(int64_t, out, 1, 2, 3, 4, 5, 6, 7, 8);
    SET_INT(op, dimension, 1);
    EXPECT_INVALID(op, "dimension 0 of operand 1 should be 3 as that of operand 0 and is 1");
    op = make_op(TN_OP_concatenate, "2x1xi8, 2x2xi8", "2x3xi8");
    SET_INT(op, dimension, 1);
    int8_t a[] = {1, 4}, b[] = {2, 3, 5, 6}, joined[6];
    RUN(op, IN(a, b), OUT(joined));
    EXPECT(int8_t, joined, 1, 2, 3, 4, 5, 6);
}

TEST(pad_surrounds_and_crops)
{
    tn_op *op = make_op(TN_OP_pad, "2x3xi32, i32", "5x9xi32");
    SET_INTS(op, edge_padding_low, 0, 1);
    SET_INTS(op, edge_padding_high, 2, 1);
    SET_INTS(op, interior_padding, 1, 2);
    int32_t x[] = {1, 2, 3, 4, 5, 6}, value = 0, out[45];
    RUN(op, IN(x, &value), OUT(out));
    int32_t want[45] = {[1] = 1, [4] = 2, [7] = 3, [19] = 4, [22] = 5, [25] = 6};
    assert_memory_equal(out, want, sizeof out);
    op = make_op(TN_OP_pad, "5xi32, i32", "3xi32");
    SET_INTS(op, edge_padding_low, -3);
    SET_INTS(op, edge_padding_high, -3);
    SET_INTS(op, interior_padding, 1);
    int32_t y[] = {1, 2, 3, 4, 5};
    value = 9;
    RUN(op, IN(y, &value), OUT(out));
    EXPECT(int32_t, out, 9, 3, 9);
    SET_INTS(op, edge_padding_low, -30);
    EXPECT_INVALID(op, "dimension 0 of size 5 can't be padded by -30, 1 and -3");
    op = make_op(TN_OP_pad, "1xi32, i32", "2xi32");
    SET_INTS(op, edge_padding_low, 0);
    SET_INTS(op, edge_padding_high, 1);
    SET_INTS(op, interior_padding, INT64_MAX);
    RUN(op, IN(y, &value), OUT(out));
    EXPECT(int32_t, out, 1, 9);
}

/* What goes past the caches, in pieces of many rows. */
TEST(large_pads_are_whole)
{
    enum { N = 1021, M = 1100, LOW = 3, ROWS = N + 4, COLUMNS = M + 4 };
    static int32_t x[N * M], out[ROWS * COLUMNS];
    for (int i = 0; i < N * M; i++) x[i] = i + 1;
    int32_t value = -1;
    tn_op *op = make_op(TN_OP_pad, "1021x1100xi32, i32", "1025x1104xi32");
    SET_INTS(op, edge_padding_low, LOW, 1);
    SET_INTS(op, edge_padding_high, 1, LOW);
    SET_INTS(op, interior_padding, 0, 0);
    RUN(op, IN(x, &value), OUT(out));
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLUMNS; c++) {
            int i = r - LOW, k = c - 1;
            bool inside = i >= 0 && i < N && k >= 0 && k < M;
            assert_int_equal(out[r * COLUMNS + c], inside ? x[i * M + k] : value);
        }
    }
}

TEST(dynamic_pad_reads_its_padding)
{
    tn_op *op = make_op(TN_OP_dynamic_pad, "2x3xi64, i64, 2xi64, 2xi64, 2xi64", "5x9xi64");
    int64_t x[] = {1, 2, 3, 4, 5, 6}, value = 0, low[] = {0, 1}, high[] = {2, 1};
    int64_t interior[] = {1, 2}, out[45];
    RUN(op, IN(x, &value, low, high, interior), OUT(out));
    EXPECT(int64_t, out, 0, 1, 0, 0, 2, 0, 0, 3, 0);
    high[0] = 3;
    tn_status *s = run(op, IN(x, &value, low, high, interior), OUT(out));
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    tn_status_free(s);
}

TEST(dynamic_slice_clamps)
{
    tn_op *op = make_op(TN_OP_dynamic_slice, "4x4xi32, i64, i64", "2x2xi32");
    SET_INTS(op, slice_sizes, 2, 2);
    int32_t x[] = {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}, out[4];
    int64_t i = -1, j = 3;
    RUN(op, IN(x, &i, &j), OUT(out));
    EXPECT(int32_t, out, 1, 1, 1, 1);
    op = make_op(TN_OP_dynamic_slice, "4xi32, ui64", "1xi32");
    SET_INTS(op, slice_sizes, 1);
    uint64_t far = UINT64_MAX;
    int32_t y[] = {1, 2, 3, 4};
    RUN(op, IN(y, &far), OUT(out));
    EXPECT(int32_t, out, 4);
    SET_INTS(op, slice_sizes, 5);
    EXPECT_INVALID(op, "slice_sizes[0] should be at most 4");
}

TEST(dynamic_update_slice_works_in_place)
{
    tn_op *op = make_op(TN_OP_dynamic_update_slice, "4x4xi32, 2x2xi32, i64, i64", "4x4xi32");
    int32_t x[] = {1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}, update[] = {1, 1, 1, 1},
            out[16];
    int64_t i = -1, j = 3;
    RUN(op, IN(x, update, &i, &j), OUT(out));
    for (int k = 0; k < 16; k++) assert_int_equal(out[k], 1);
    assert_int_equal(x[2], 0);
    RUN(op, IN(x, update, &i, &j), OUT(x));
    for (int k = 0; k < 16; k++) assert_int_equal(x[k], 1);
}

TEST(real_dynamic_slice_reads_its_bounds)
{
    tn_op *op = make_op(TN_OP_real_dynamic_slice, "3x4xi32, 2xi64, 2xi64, 2xi64", "1x2xi32");
    int32_t x[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, out[2];
    int64_t start[] = {1, 0}, limit[] = {2, 4}, stride[] = {1, 2};
    RUN(op, IN(x, start, limit, stride), OUT(out));
    EXPECT(int32_t, out, 4, 6);
    stride[1] = 4;
    tn_status *s = run(op, IN(x, start, limit, stride), OUT(out));
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    tn_status_free(s);
}

TEST(bitcast_convert_relabels_bits)
{
    uint64_t x = 0x0123456789ABCDEF;
    uint16_t halves[4];
    RUN(make_op(TN_OP_bitcast_convert, "f64", "4xf16"), IN(&x), OUT(halves));
    EXPECT(uint16_t, halves, 0xCDEF, 0x89AB, 0x4567, 0x0123);
    uint64_t back;
    RUN(make_op(TN_OP_bitcast_convert, "4xf16", "f64"), IN(halves), OUT(&back));
    assert_true(back == x);
    int8_t nibbles[4];
    uint16_t w = 0x8F21;
    RUN(make_op(TN_OP_bitcast_convert, "ui16", "4xi4"), IN(&w), OUT(nibbles));
    EXPECT(int8_t, nibbles, 1, 2, -1, -8);
    RUN(make_op(TN_OP_bitcast_convert, "4xi4", "ui16"), IN(nibbles), OUT(&w));
    assert_int_equal(w, 0x8F21);
    EXPECT_INVALID(make_op(TN_OP_bitcast_convert, "4xf16", "2xf32"), "don't make");
    EXPECT_INVALID(make_op(TN_OP_bitcast_convert, "2xf32", "complex<f32>"), "both be complex");
}

TEST(reshape_and_sizes)
{
    int32_t x[] = {1, 2, 3, 4, 5, 6}, out[6], size;
    RUN(make_op(TN_OP_reshape, "2x3xi32", "3x2xi32"), IN(x), OUT(out));
    EXPECT(int32_t, out, 1, 2, 3, 4, 5, 6);
    EXPECT_INVALID(make_op(TN_OP_reshape, "2x3xi32", "7xi32"), "6 and 7");
    tn_op *op = make_op(TN_OP_get_dimension_size, "2x3xi64", "i32");
    SET_INT(op, dimension, 1);
    RUN(op, IN(x), OUT(&size));
    assert_int_equal(size, 3);
}

/* --- the copy engine against a walk over indices --- */

static void check_random_copy(size_t width)
{
    enum { SIZE = 1 << 18 };
    static unsigned char src[SIZE], dst[SIZE], want[SIZE];
    uint32_t rank = (uint32_t)random_below(5);
    int64_t dims[5], order[5], dst_step[5], src_step[5], elements = 1;
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = random_below(8) ? 1 + random_below(i == 1 ? 40 : 9) : 0;
        order[i] = i;
        elements *= dims[i];
    }
    for (uint32_t i = rank; i > 1; i--) {
        uint32_t j = (uint32_t)random_below(i);
        int64_t t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
    /* Dense destination, perhaps with gaps; source in another order, some dims broadcast or
     * reversed. */
    int64_t step = (int64_t)width, base = 0;
    for (uint32_t i = rank; i--;) {
        dst_step[i] = step * (1 + (random_below(6) == 0));
        step = dst_step[i] * (dims[i] ? dims[i] : 1);
    }
    if (step > SIZE) return;
    step = (int64_t)width;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t d = (uint32_t)order[i];
        int64_t kind = random_below(6);
        src_step[d] = kind == 0 ? 0 : step;
        if (kind == 1) {
            src_step[d] = -step;
            base += step * (dims[d] ? dims[d] - 1 : 0);
        }
        if (kind) step *= dims[d] ? dims[d] : 1;
    }
    for (size_t i = 0; i < SIZE; i++) src[i] = (unsigned char)random_bits();
    memset(dst, 0xEE, SIZE);
    memset(want, 0xEE, SIZE);
    tn_strided s;
    tn_strided_init(&s);
    for (uint32_t i = 0; i < rank; i++) tn_strided_push(&s, dims[i], dst_step[i], src_step[i]);
    tn_strided_run(&s, width, dst, src + base, pool);
    for (int64_t k = 0; k < elements; k++) {
        int64_t rest = k, to = 0, from = base;
        for (uint32_t i = rank; i--;) {
            to += rest % dims[i] * dst_step[i];
            from += rest % dims[i] * src_step[i];
            rest /= dims[i];
        }
        memcpy(want + to, src + from, width);
    }
    assert_memory_equal(dst, want, SIZE);
}

TEST(random_copies_equal_a_walk)
{
    static const size_t widths[] = {1, 2, 4, 8, 16};
    tn_status *s = tn_thread_pool_create(3, &pool);
    assert_null(s);
    for (int i = 0; i < 600; i++) {
        tn_thread_pool *p = pool;
        if (i & 1) pool = NULL;
        check_random_copy(widths[i % 5]);
        pool = p;
    }
    tn_thread_pool_destroy(pool);
}

/* k arrays of n elements of `width` bytes to one that has them in turn, and back; in memory that
 * ends where they do. */
static void check_few(size_t width, int64_t k, int64_t n)
{
    int64_t w = (int64_t)width;
    size_t size = (size_t)(n * k) * width;
    unsigned char *x = malloc(size), *out = malloc(size), *one = malloc((size_t)n * width);
    for (size_t i = 0; i < size; i++) x[i] = (unsigned char)random_bits();
    for (int way = 0; way < 2; way++) {
        int64_t rows = way ? k : n, columns = way ? n : k;
        tn_strided s;
        tn_strided_init(&s);
        tn_strided_push(&s, columns, rows * w, w);
        tn_strided_push(&s, rows, w, columns * w);
        tn_strided_run(&s, width, out, x, NULL);
        for (int64_t i = 0; i < columns; i++)
            for (int64_t j = 0; j < rows; j++)
                assert_memory_equal(out + (i * rows + j) * w, x + (j * columns + i) * w, width);
    }
    for (int64_t j = 0; j < k; j++) {
        tn_strided s;
        tn_strided_init(&s);
        tn_strided_push(&s, n, w, k * w);
        tn_strided_run(&s, width, one, x + j * w, NULL);
        for (int64_t i = 0; i < n; i++)
            assert_memory_equal(one + i * w, x + (i * k + j) * w, width);
    }
    if (k < 16 && width == 4) {
        char column[32], row[32], *types = tn_strdup(arena, "");
        snprintf(column, sizeof column, "%dx1xi32", (int)n);
        snprintf(row, sizeof row, "%dx%dxi32", (int)n, (int)k);
        const void *in[16];
        for (int64_t j = 0; j < k; j++) {
            types = tn_printf(arena, "%s%s%s", types, j ? ", " : "", column);
            in[j] = x + j * n * w;
        }
        tn_op *op = make_op(TN_OP_concatenate, types, row);
        SET_INT(op, dimension, 1);
        void *result[] = {out};
        RUN(op, in, result);
        for (int64_t i = 0; i < n * k; i++)
            assert_memory_equal(out + i * w, x + (i % k * n + i / k) * w, width);
    }
    free(x);
    free(out);
    free(one);
}

TEST(few_arrays_are_interleaved_and_separated)
{
    static const size_t widths[] = {1, 2, 4, 8, 16};
    static const int64_t sizes[] = {1, 7, 16, 17, 100, 129, 1500};
    for (int w = 0; w < 5; w++)
        for (int64_t k = 2; k < 18; k++)
            for (int i = 0; i < 7; i++) check_few(widths[w], k, sizes[i]);
}

/* Rows of `n` elements that begin `apart` elements from each other, read with `step`, become rows
 * side by side, `times` over; in memory that ends where they do. */
static void check_short_rows(size_t width, int64_t n, int64_t step, int64_t apart, int64_t rows,
                             int64_t times)
{
    int64_t w = (int64_t)width, low = 0, high = 0;
    if (step < 0) low += step * (n - 1);
    else high += step * (n - 1);
    if (apart < 0) low += apart * (rows - 1);
    else high += apart * (rows - 1);
    int64_t held = high - low + 1;
    unsigned char *x = malloc((size_t)(held * times) * width);
    unsigned char *out = malloc((size_t)(n * rows * times) * width);
    for (int64_t i = 0; i < held * times * w; i++) x[i] = (unsigned char)random_bits();
    tn_strided s;
    tn_strided_init(&s);
    tn_strided_push(&s, times, rows * n * w, held * w);
    tn_strided_push(&s, rows, n * w, apart * w);
    tn_strided_push(&s, n, w, step * w);
    tn_strided_run(&s, width, out, x - low * w, NULL);
    for (int64_t t = 0; t < times; t++)
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < n; i++)
                assert_memory_equal(out + ((t * rows + r) * n + i) * w,
                                    x + (t * held - low + r * apart + i * step) * w, width);
    free(x);
    free(out);
}

TEST(short_rows_are_moved)
{
    static const int64_t steps[] = {-2, -1, 0, 1, 2};
    for (size_t width = 4; width <= 8; width += 4)
        for (int64_t n = 1; n < 18; n++)
            for (int i = 0; i < 5; i++)
                for (int64_t apart = -n - 1; apart <= n + 2; apart += n > 5 ? 5 : 1)
                    check_short_rows(width, n, steps[i], apart, 17 + random_below(60),
                                     1 + random_below(9));
}

/* More than goes through the caches, from anywhere: the destination begins at any byte. */
TEST(large_copies_equal_a_walk)
{
    enum { ROWS = 37, SPARE = 64 };
    tn_status *none = tn_thread_pool_create(2, &pool);
    assert_null(none);
    for (int k = 0; k < 8; k++) {
        static const int64_t steps[] = {1, -1, 2, 0};
        size_t width = k < 4 ? 4 : 1;
        int64_t w = (int64_t)width, step = steps[k % 4], n = ((5 << 20) + 77) / ROWS / w;
        int64_t gap = 3, size = ROWS * (n + gap) * w, from = ROWS * (n * 2 + 1) * w;
        unsigned char *x = malloc((size_t)from), *out = malloc((size_t)size + SPARE);
        unsigned char *to = out + 4 * random_below(16);
        for (int64_t i = 0; i < from; i++) x[i] = (unsigned char)(i * 7 >> 3);
        memset(out, 0xEE, (size_t)size + SPARE);
        tn_strided s;
        tn_strided_init(&s);
        const unsigned char *begin = x + (step < 0 ? n * w : 0);
        tn_strided_push(&s, ROWS, (n + gap) * w, n * w * (step > 1 ? 2 : 1));
        tn_strided_push(&s, n, w, step * w);
        tn_strided_run(&s, width, to, begin, pool);
        for (int64_t r = 0; r < ROWS; r++) {
            const unsigned char *row = to + r * (n + gap) * w;
            const unsigned char *in = begin + r * n * w * (step > 1 ? 2 : 1);
            for (int64_t i = 0; i < n; i++)
                if (memcmp(row + i * w, in + i * step * w, width)) fail_msg("row %d", (int)r);
            for (int64_t i = 0; i < gap * w; i++) assert_int_equal(row[n * w + i], 0xEE);
        }
        free(x);
        free(out);
    }
    tn_thread_pool_destroy(pool);
    pool = NULL;
}

TEST(large_transposes_are_right_and_quick)
{
    enum { N = 1024 };
    uint32_t *x = malloc(N * N * 4), *out = aligned_alloc(64, N * N * 4);
    for (uint32_t i = 0; i < N * N; i++) x[i] = i;
    tn_op *op = make_op(TN_OP_transpose, "1024x1024xi32", "1024x1024xi32");
    SET_INTS(op, permutation, 1, 0);
    double best = 1;
    for (int k = 0; k < 5; k++) {
        double t = seconds();
        RUN(op, IN(x), OUT(out));
        t = seconds() - t;
        if (t < best) best = t;
    }
    for (uint32_t i = 0; i < N * N; i++) assert_int_equal(out[i], i % N * N + i / N);
    print_message("transpose of 1M: %.2f ms\n", best * 1e3);
    free(x);
    free(out);
}

/* Each element k times. */
TEST(elements_are_repeated)
{
    enum { N = 133, MOST = N * 17 };
    static uint64_t x[N], got[MOST];
    static const char *const types[] = {"i8", "i16", "i32", "i64"};
    for (int i = 0; i < N; i++) x[i] = (uint64_t)i * 0x9E3779B97F4A7C15;
    for (int k = 2; k <= 17; k++)
        for (int t = 0; t < 4; t++) {
            char from[40], to[40];
            snprintf(from, sizeof from, "%dx%s", N, types[t]);
            snprintf(to, sizeof to, "%dx%dx%s", N, k, types[t]);
            tn_op *op = make_op(TN_OP_broadcast_in_dim, from, to);
            SET_INTS(op, broadcast_dimensions, 0);
            RUN(op, IN(x), OUT(got));
            for (int i = 0; i < N * k; i++)
                assert_memory_equal((char *)got + (i << t), (char *)x + (i / k << t), 1 << t);
        }
}

/* Matrices of a batch, of less than a cache line. */
TEST(small_matrices_are_transposed)
{
    enum { BATCH = 277, MOST = BATCH * 9 * 9 };
    static uint64_t x[MOST], out[MOST];
    for (int rows = 2; rows < 9; rows++)
        for (int columns = 2; columns < 9; columns++)
            for (int wide = 0; wide < 2; wide++) {
                char from[40], to[40];
                const char *e = wide ? "i64" : "i32";
                snprintf(from, sizeof from, "%dx%dx%dx%s", BATCH, rows, columns, e);
                snprintf(to, sizeof to, "%dx%dx%dx%s", BATCH, columns, rows, e);
                tn_op *op = make_op(TN_OP_transpose, from, to);
                SET_INTS(op, permutation, 0, 2, 1);
                int n = BATCH * rows * columns;
                uint32_t *narrow = (uint32_t *)x, *got = (uint32_t *)out;
                for (int i = 0; i < n; i++)
                    if (wide) x[i] = (uint64_t)i << 32 | 7;
                    else narrow[i] = (uint32_t)i;
                RUN(op, IN(x), OUT(out));
                for (int i = 0; i < n; i++) {
                    int b = i / (rows * columns), c = i / rows % columns, r = i % rows;
                    int want = (b * rows + r) * columns + c;
                    assert_int_equal(wide ? (int)(out[i] >> 32) : (int)got[i], want);
                }
            }
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_fills_and_copies),
        cmocka_unit_test(iota_counts_along_a_dimension),
        cmocka_unit_test(broadcast_in_dim_maps_dimensions),
        cmocka_unit_test(broadcast_prepends_dimensions),
        cmocka_unit_test(elements_are_repeated),
        cmocka_unit_test(transpose_permutes),
        cmocka_unit_test(slice_takes_steps),
        cmocka_unit_test(reverse_turns_dimensions),
        cmocka_unit_test(concatenate_joins),
        cmocka_unit_test(pad_surrounds_and_crops),
        cmocka_unit_test(large_pads_are_whole),
        cmocka_unit_test(dynamic_pad_reads_its_padding),
        cmocka_unit_test(dynamic_slice_clamps),
        cmocka_unit_test(dynamic_update_slice_works_in_place),
        cmocka_unit_test(real_dynamic_slice_reads_its_bounds),
        cmocka_unit_test(bitcast_convert_relabels_bits),
        cmocka_unit_test(reshape_and_sizes),
        cmocka_unit_test(random_copies_equal_a_walk),
        cmocka_unit_test(few_arrays_are_interleaved_and_separated),
        cmocka_unit_test(short_rows_are_moved),
        cmocka_unit_test(large_copies_equal_a_walk),
        cmocka_unit_test(large_transposes_are_right_and_quick),
        cmocka_unit_test(small_matrices_are_transposed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_for_each_isa(run_all);
}
