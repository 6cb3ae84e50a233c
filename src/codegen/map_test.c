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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcasts_are_loaded_in_pieces),
        cmocka_unit_test(iotas_are_loaded_in_pieces),
        cmocka_unit_test(joined_slices_are_loaded_in_pieces),
        cmocka_unit_test(elements_of_any_width_are_laid_out),
    };
    return cmocka_run_group_tests_name("codegen-map", tests, NULL, NULL);
}
