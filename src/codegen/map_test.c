/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/build_test.h"

#include "codegen/tile.h"

static uint64_t random_state = 7;

static uint32_t below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % n);
}

/* A random broadcast to up to 5 dimensions, from some of them in any order. */
static tn_op *random_broadcast(builder *b)
{
    int64_t to[5], from[5], dims[5];
    uint32_t rank = 1 + below(5), n = 0;
    for (uint32_t d = 0; d < rank; d++) to[d] = 1 + below(6);
    for (uint32_t d = 0; d < rank; d++) {
        if (below(2)) continue;
        dims[n] = d;
        from[n++] = below(3) ? to[d] : 1;
    }
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = below(i);
        int64_t dim = dims[j], size = from[j];
        dims[j] = dims[i - 1], from[j] = from[i - 1];
        dims[i - 1] = dim, from[i - 1] = size;
    }
    tn_value *x = TN_NEW(b->arena, tn_value);
    x->type = tn_type_tensor(b->arena, TN_I32, n, from);
    tn_op *op = tn_op_new(b->module, TN_OP_broadcast_in_dim, 1, 1, 0);
    op->operands[0] = x;
    op->results[0].type = tn_type_tensor(b->arena, TN_I32, rank, to);
    tn_op_set_attr(b->module, op, TN_ATTR_broadcast_dimensions, tn_attr_ints(b->arena, dims, n));
    return op;
}

/* Every piece of what is loaded is what the evaluator gives as a whole. */
static void check_pieces(const tn_op *op, const int32_t *from, bool ramp)
{
    enum { MOST = 6 * 6 * 6 * 6 * 6 };
    static int32_t whole[MOST], piece[MOST];
    int64_t n = tn_type_elements(op->results[0].type);
    tn_eval_context ctx = {0};
    tn_tensor operand = {(void *)from, op->n_operands ? op->operands[0]->type : NULL};
    tn_tensor result = {whole, op->results[0].type};
    MUST(tn_interpret_op(op, &ctx, NULL, &operand, &result));
    tn_access_map map;
    assert_true(tn_map_make(op, &map));
    for (int i = 0; i < 20; i++) {
        int64_t begin = below((uint32_t)n), size = 1 + below((uint32_t)(n - begin));
        if (ramp) tn_map_load_ramp(&map, TN_I32, begin, size, piece);
        else tn_map_load(&map, sizeof(int32_t), from, begin, size, piece);
        assert_memory_equal(piece, whole + begin, (size_t)size * sizeof *piece);
        assert_int_equal(whole[begin],
                         ramp ? tn_map_at(&map, begin) : from[tn_map_at(&map, begin)]);
    }
    int64_t period = tn_map_period(&map);
    for (int64_t i = period; period && i < n; i++) assert_int_equal(whole[i], whole[i - period]);
}

PASS_TEST(broadcasts_are_loaded_in_pieces)
{
    static int32_t from[7776];
    for (int i = 0; i < 7776; i++) from[i] = i * 31;
    for (int i = 0; i < 500; i++) check_pieces(random_broadcast(b), from, false);
    /* Every second dimension is there once: patterns within patterns. */
    for (int i = 0; i < 16; i++) {
        int64_t to[5] = {2, 3, 40, 3, 5}, some[2] = {to[i & 1], to[2 + (i >> 1 & 1)]};
        int64_t dims[2] = {i & 1, 2 + (i >> 1 & 1)};
        tn_op *op = random_broadcast(b);
        op->operands[0]->type = tn_type_tensor(b->arena, TN_I32, 2, some);
        op->results[0].type = tn_type_tensor(b->arena, TN_I32, 5, to);
        tn_op_set_attr(b->module, op, TN_ATTR_broadcast_dimensions,
                       tn_attr_ints(b->arena, dims, 2));
        check_pieces(op, from, false);
    }
}

PASS_TEST(iotas_are_loaded_in_pieces)
{
    for (int i = 0; i < 200; i++) {
        const tn_type *t = random_broadcast(b)->results[0].type;
        tn_op *op = tn_op_new(b->module, TN_OP_iota, 0, 1, 0);
        op->results[0].type = t;
        tn_op_set_attr(b->module, op, TN_ATTR_iota_dimension,
                       tn_attr_int(b->arena, below(t->rank)));
        check_pieces(op, NULL, true);
    }
}

/* Slices of one array, or all of it, that are the same but along one dimension. */
PASS_TEST(joined_slices_are_loaded_in_pieces)
{
    static int32_t from[1296], parts[4][1296], whole[4 * 1296], piece[4 * 1296];
    for (int i = 0; i < 1296; i++) from[i] = i * 31;
    for (int done = 0; done < 300;) {
        int64_t dims[4], start[4], limit[4], stride[4], to[4];
        uint32_t rank = 1 + below(4), n = 2 + below(3), dim = below(rank);
        bool crops = below(2);
        for (uint32_t d = 0; d < rank; d++) {
            dims[d] = 2 + below(5);
            stride[d] = crops ? 1 + below(2) : 1;
            start[d] = crops ? below((uint32_t)dims[d]) : 0;
            limit[d] = crops ? start[d] + 1 + below((uint32_t)(dims[d] - start[d])) : dims[d];
            to[d] = (limit[d] - start[d] + stride[d] - 1) / stride[d];
        }
        tn_value *x = TN_NEW(b->arena, tn_value);
        x->type = tn_type_tensor(b->arena, TN_I32, rank, dims);
        tn_op *join = tn_op_new(b->module, TN_OP_concatenate, n, 1, 0);
        tn_op_set_attr(b->module, join, TN_ATTR_dimension, tn_attr_int(b->arena, dim));
        tn_tensor in = {from, x->type}, made[4];
        tn_eval_context ctx = {0};
        int64_t total = 0;
        for (uint32_t k = 0; k < n; k++) {
            made[k] = in;
            join->operands[k] = x;
            if (crops || below(2)) {
                start[dim] = below((uint32_t)dims[dim]);
                limit[dim] = start[dim] + 1 + below((uint32_t)(dims[dim] - start[dim]));
                to[dim] = (limit[dim] - start[dim] + stride[dim] - 1) / stride[dim];
                tn_op *op = tn_op_new(b->module, TN_OP_slice, 1, 1, 0);
                op->operands[0] = x;
                op->results[0].type = tn_type_tensor(b->arena, TN_I32, rank, to);
                tn_op_set_attr(b->module, op, TN_ATTR_start_indices,
                               tn_attr_ints(b->arena, start, rank));
                tn_op_set_attr(b->module, op, TN_ATTR_limit_indices,
                               tn_attr_ints(b->arena, limit, rank));
                tn_op_set_attr(b->module, op, TN_ATTR_strides,
                               tn_attr_ints(b->arena, stride, rank));
                made[k] = (tn_tensor){parts[k], op->results[0].type};
                MUST(tn_interpret_op(op, &ctx, NULL, &in, &made[k]));
                join->operands[k] = &op->results[0];
            }
            total += made[k].type->dims[dim];
        }
        to[dim] = total;
        join->results[0].type = tn_type_tensor(b->arena, TN_I32, rank, to);
        tn_tensor result = {whole, join->results[0].type};
        MUST(tn_interpret_op(join, &ctx, NULL, made, &result));
        tn_access_map map;
        assert_true(tn_map_make(join, &map));
        assert_ptr_equal(tn_map_source(join), x);
        done++;
        int64_t size = tn_type_elements(join->results[0].type);
        for (int i = 0; i < 20; i++) {
            int64_t begin = below((uint32_t)size), m = 1 + below((uint32_t)(size - begin));
            tn_map_load(&map, sizeof(int32_t), from + map.base, begin, m, piece);
            assert_memory_equal(piece, whole + begin, (size_t)m * sizeof *piece);
        }
    }
}

PASS_TEST(elements_of_any_width_are_laid_out)
{
    static const unsigned widths[] = {1, 2, 4, 8, 16};
    for (int w = 0; w < 5; w++) {
        char element[16] = "abcdefghijklmno", to[16 * 37], row[3 * 16];
        tn_tile_fill_with(to, element, widths[w], 37);
        for (int i = 0; i < 37; i++) assert_memory_equal(to + i * widths[w], element, widths[w]);
        for (unsigned i = 0; i < sizeof row; i++) row[i] = (char)(i + 1);
        /* A column: element i of 3 repeated 7 times, and a row of 3 repeated 7 times. */
        tn_access_map column = {.n_dims = 2, .size = {3, 7}, .step = {1, 0}},
                      period = {.n_dims = 2, .size = {7, 3}, .step = {0, 1}};
        tn_map_load(&column, widths[w], row, 5, 16, to);
        for (int i = 0; i < 16; i++)
            assert_memory_equal(to + i * widths[w], row + (i + 5) / 7 * widths[w], widths[w]);
        tn_map_load(&period, widths[w], row, 5, 16, to);
        for (int i = 0; i < 16; i++)
            assert_memory_equal(to + i * widths[w], row + (i + 5) % 3 * widths[w], widths[w]);
    }
}

/* Slices with steps and reversed arrays, of any width. */
PASS_TEST(steps_of_any_size_and_direction_are_loaded_in_pieces)
{
    static const tn_element_type types[] = {TN_U8, TN_U16, TN_U32, TN_F64, TN_C128};
    static uint8_t from[20000 * 16], whole[20000 * 16], piece[20000 * 16];
    for (size_t i = 0; i < sizeof from; i++) from[i] = (uint8_t)(i * 7 + i / 256);
    for (int k = 0; k < 300; k++) {
        tn_element_type e = types[below(5)];
        unsigned bytes = tn_element_type_bytes(e);
        uint32_t rank = 1 + below(3);
        int64_t dims[3], start[3], limit[3], stride[3], to[3];
        for (uint32_t d = 0; d < rank; d++) {
            dims[d] = 1 + below(rank == 1 ? 20000 : d == rank - 1 ? 200 : 10);
            stride[d] = 1 + below(5);
            start[d] = below((uint32_t)dims[d]);
            limit[d] = start[d] + 1 + below((uint32_t)(dims[d] - start[d]));
            to[d] = (limit[d] - start[d] + stride[d] - 1) / stride[d];
        }
        bool turns = below(2);
        tn_value *x = TN_NEW(b->arena, tn_value);
        x->type = tn_type_tensor(b->arena, e, rank, dims);
        tn_op *op = tn_op_new(b->module, turns ? TN_OP_reverse : TN_OP_slice, 1, 1, 0);
        op->operands[0] = x;
        if (turns) {
            int64_t turned[3];
            uint32_t n = 0;
            for (uint32_t d = 0; d < rank; d++)
                if (below(2)) turned[n++] = d;
            op->results[0].type = x->type;
            tn_op_set_attr(b->module, op, TN_ATTR_dimensions, tn_attr_ints(b->arena, turned, n));
        } else {
            op->results[0].type = tn_type_tensor(b->arena, e, rank, to);
            tn_op_set_attr(b->module, op, TN_ATTR_start_indices,
                           tn_attr_ints(b->arena, start, rank));
            tn_op_set_attr(b->module, op, TN_ATTR_limit_indices,
                           tn_attr_ints(b->arena, limit, rank));
            tn_op_set_attr(b->module, op, TN_ATTR_strides, tn_attr_ints(b->arena, stride, rank));
        }
        /* At the end of the memory, so that a sanitizer sees what is read behind it. */
        uint8_t *at = from + sizeof from - tn_type_bytes(x->type);
        tn_tensor in = {at, x->type}, result = {whole, op->results[0].type};
        tn_eval_context ctx = {0};
        MUST(tn_interpret_op(op, &ctx, NULL, &in, &result));
        tn_access_map map;
        assert_true(tn_map_make(op, &map));
        int64_t n = tn_type_elements(result.type);
        for (int i = 0; i < 10; i++) {
            int64_t begin = below((uint32_t)n), size = 1 + below((uint32_t)(n - begin));
            tn_map_load(&map, bytes, at + map.base * (int64_t)bytes, begin, size, piece);
            assert_memory_equal(piece, whole + begin * (int64_t)bytes, (size_t)size * bytes);
        }
    }
}

PASS_TEST(few_copies_of_elements_of_any_width)
{
    static const unsigned widths[] = {1, 2, 4, 8, 16};
    static uint8_t from[500 * 16], to[500 * 20 * 16];
    (void)b;
    for (size_t i = 0; i < sizeof from; i++) from[i] = (uint8_t)(i * 7 + i / 256);
    for (int i = 0; i < 600; i++) {
        unsigned w = widths[below(5)];
        int64_t k = 2 + below(19), sources = 1 + below(500), all = k * sources;
        tn_access_map map = {.n_dims = 2, .size = {sources, k}, .step = {1, 0}};
        int64_t begin = below((uint32_t)all), n = 1 + below((uint32_t)(all - begin));
        uint8_t *at = from + sizeof from - sources * w;
        tn_map_load(&map, w, at, begin, n, to);
        for (int64_t e = 0; e < n; e++)
            assert_memory_equal(to + e * w, at + (begin + e) / k * w, w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcasts_are_loaded_in_pieces),
        cmocka_unit_test(iotas_are_loaded_in_pieces),
        cmocka_unit_test(joined_slices_are_loaded_in_pieces),
        cmocka_unit_test(elements_of_any_width_are_laid_out),
        cmocka_unit_test(steps_of_any_size_and_direction_are_loaded_in_pieces),
        cmocka_unit_test(few_copies_of_elements_of_any_width),
    };
    return cmocka_run_group_tests_name("codegen-map", tests, NULL, NULL);
}
