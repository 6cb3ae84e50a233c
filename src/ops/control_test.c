/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/custom_call.h"
#include "ops/op_test.h"

static void set_groups(tn_op *op, uint32_t rows, uint32_t n, const int64_t *ids)
{
    tn_attr *x = (tn_attr *)tn_attr_ints(arena, ids, n);
    x->ints.rows = rows;
    tn_op_set_attr(module, op, TN_ATTR_replica_groups, x);
}

TEST(branches_return_alike)
{
    tn_op *op = make_op_with_regions(TN_OP_if, "i1", "2xf32", 2);
    double v[2] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        tn_region *r = make_region(op, i, "");
        append_return(r, 1, (tn_value *[]){append_constant(r, i ? "2xf64" : "2xf32", v)});
    }
    EXPECT_INVALID(op, "result 0 of region 1 should be tensor<2xf32> and is tensor<2xf64>");
    op->regions[1].last->operands[0]->type = type_of("2xf32", 5);
    assert_null(tn_op_verify(op, arena));
    op->operands[0]->type = type_of("i32", 3);
    EXPECT_INVALID(op, "operand 0 should be tensor<i1> and is tensor<i32>");
}

TEST(loops_carry_their_types)
{
    tn_op *op = make_op_with_regions(TN_OP_while, "i32, f32", "i32, f32", 2);
    tn_region *cond = make_region(op, 0, "i32, f32"), *body = make_region(op, 1, "i32, f32");
    append_return(cond, 1,
                  (tn_value *[]){append_compare(cond, TN_comparison_direction_LT, 0, &cond->args[0],
                                                &cond->args[0])});
    append_return(body, 2, (tn_value *[]){&body->args[0], &body->args[1]});
    assert_null(tn_op_verify(op, arena));
    body->last->operands[1] = &body->args[0];
    EXPECT_INVALID(op, "result 1 of region 1 should be tensor<f32> and is tensor<i32>");
    body->last->operands[1] = &body->args[1];
    body->args[0].type = type_of("i64", 3);
    EXPECT_INVALID(op, "argument 0 of region 1 should be tensor<i32> and is tensor<i64>");
}

TEST(calls_match_signatures)
{
    tn_type *t = TN_NEW(arena, tn_type);
    const tn_type *parts[] = {type_of("2xf32", 5), type_of("i1", 2)};
    *t = (tn_type){.kind = TN_TYPE_FUNCTION, .n_parts = 2, .n_inputs = 1, .parts = parts};
    tn_module_add_function(module, "f", t);
    tn_op *op = make_op(TN_OP_call, "2xf32", "i1");
    SET_STRING(op, callee, "f");
    assert_null(tn_op_verify(op, arena));
    SET_STRING(op, callee, "g");
    EXPECT_INVALID(op, "there is no function @g");
    op = make_op(TN_OP_call, "3xf32", "i1");
    SET_STRING(op, callee, "f");
    EXPECT_INVALID(op, "argument 0 of @f should be tensor<2xf32> and is tensor<3xf32>");
}

TEST(tuples_know_their_parts)
{
    tn_op *op = make_op(TN_OP_tuple, "2xf32, i1", "i1");
    const tn_type *types[1];
    assert_null(tn_op_behaviours[TN_OP_tuple].infer(op, arena, types));
    op->results[0].type = types[0];
    assert_null(tn_op_verify(op, arena));
    tn_op *get = make_op(TN_OP_get_tuple_element, "i1", "i1");
    get->operands[0] = &op->results[0];
    SET_INT(get, index, 1);
    assert_null(tn_op_verify(get, arena));
    SET_INT(get, index, 2);
    EXPECT_INVALID(get, "index should be in [0, 2) and is 2");
}

TEST(collectives_alone_are_identities)
{
    tn_op *op = make_op_with_regions(TN_OP_all_reduce, "3xi32", "3xi32", 1);
    make_binary_region(op, 0, TN_OP_add, "i32");
    set_groups(op, 1, 1, (int64_t[]){0});
    int32_t x[] = {1, 2, 3}, out[3];
    assert_null(tn_op_verify(op, arena));
    tn_tensor in = {x, op->operands[0]->type}, result = {out, op->results[0].type};
    tn_scratch scratch = {0};
    tn_eval_context ctx = {.scratch = &scratch};
    assert_null(tn_op_behaviours[op->kind].eval(op, &ctx, &in, &result));
    EXPECT(int32_t, out, 1, 2, 3);
    set_groups(op, 1, 2, (int64_t[]){0, 0});
    EXPECT_INVALID(op, "replica_groups names 0 twice");
    set_groups(op, 1, 2, (int64_t[]){0, 1});
    EXPECT_INVALID(op, "replica_groups names 1, but there are 1 replicas");
    module->num_replicas = 2;
    assert_null(tn_op_verify(op, arena));
    tn_status *s = tn_op_behaviours[op->kind].eval(op, &ctx, &in, &result);
    assert_int_equal(tn_status_code(s), TN_FAILED_PRECONDITION);
    assert_non_null(strstr(tn_status_message(s), "meets 2 devices, but runs on one alone"));
    tn_status_free(s);
    tn_scratch_release(&scratch);
    set_groups(op, 2, 2, (int64_t[]){0, 1});
    assert_null(tn_op_verify(op, arena));
    SET_BOOL(op, use_global_device_ids, true);
    EXPECT_INVALID(op, "use_global_device_ids should come with a positive channel_id");
    module->num_replicas = 1;

    op = make_op(TN_OP_collective_permute, "3xi32", "3xi32");
    tn_op_set_attr(module, op, TN_ATTR_source_target_pairs, tn_attr_ints(arena, NULL, 0));
    RUN(op, IN(x), OUT(out));
    EXPECT(int32_t, out, 0, 0, 0);
    uint32_t id = 7;
    RUN(make_op(TN_OP_replica_id, "", "ui32"), NO_IN, OUT(&id));
    assert_int_equal(id, 0);
}

TEST(custom_calls_have_known_targets)
{
    tn_op *op = make_op(TN_OP_custom_call, "2xf32", "2xf32");
    SET_STRING(op, call_target_name, "Sharding");
    float x[] = {1, 2}, out[2];
    RUN(op, IN(x), OUT(out));
    EXPECT(float, out, 1, 2);
    SET_STRING(op, call_target_name, "xla.sdy.FuncResultSharding");
    RUN(op, IN(x), OUT(out));
    SET_STRING(op, call_target_name, "nobody");
    expect_invalid(op, TN_NOT_FOUND, "no handler for custom call target 'nobody'");
    SET_STRING(op, call_target_name, "InspectSharding");
    expect_invalid(op, TN_UNIMPLEMENTED, "partitioning programs is not supported yet");
    op = make_op(TN_OP_custom_call, "2xf32, i1", "");
    SET_STRING(op, call_target_name, "control_dep");
    bool y = true;
    RUN(op, IN(x, &y), OUT(NULL));
    op = make_op(TN_OP_custom_call, "2xf32", "2xf32");
    SET_STRING(op, call_target_name, "dce_sink");
    expect_invalid(op, TN_INVALID_ARGUMENT, "target 'dce_sink' gives nothing; got 1 results");
    op = make_op(TN_OP_custom_call, "4xf32", "2xf32");
    SET_STRING(op, call_target_name, "SPMDFullToShardShape");
    expect_invalid(op, TN_UNIMPLEMENTED, "from tensor<4xf32> to tensor<2xf32>");
}

TEST(shape_assertions_speak)
{
    tn_op *op = make_op(TN_OP_custom_call, "i1, i32, i64", "");
    SET_STRING(op, call_target_name, "shape_assertion");
    const char *text = "sizes {0} and {1,3} differ {";
    tn_named_attr extra = {"error_message", tn_attr_string(arena, text, strlen(text))};
    op->extra = &extra;
    op->n_extra = 1;
    bool good = true, bad = false;
    int32_t x = 4;
    int64_t y = -5;
    RUN(op, IN(&good, &x, &y), OUT(NULL));
    tn_status *s = run(op, IN(&bad, &x, &y), OUT(NULL));
    assert_non_null(strstr(tn_status_message(s), "sizes 4 and -5 differ {"));
    tn_status_free(s);
}

TEST(approximate_top_k_is_exact)
{
    tn_type *t = TN_NEW(arena, tn_type);
    *t = (tn_type){.kind = TN_TYPE_FUNCTION};
    tn_function *f = tn_module_add_function(module, "greater", t);
    tn_region_init(module, &f->body, f, NULL, 4);
    const tn_type *types[4];
    types_of("f32, f32, i32, i32", types);
    for (int i = 0; i < 4; i++) f->body.args[i].type = types[i];
    tn_value *v =
        append_compare(&f->body, TN_comparison_direction_GT, 0, &f->body.args[0], &f->body.args[1]);
    append_return(&f->body, 1, &v);

    tn_op *op = make_op(TN_OP_custom_call, "2x4xf32, 2x4xi32, f32, i32", "2x2xf32, 2x2xi32");
    SET_STRING(op, call_target_name, "ApproxTopK");
    const tn_attr *name = tn_attr_string(arena, "greater", 7);
    tn_attr *list = TN_NEW(arena, tn_attr), *config = TN_NEW(arena, tn_attr);
    list->kind = TN_ATTR_KIND_LIST;
    list->list.items = &name;
    list->list.n = 1;
    tn_op_set_attr(module, op, TN_ATTR_called_computations, list);
    tn_named_attr pairs[] = {{"aggregate_to_topk", tn_attr_bool(arena, true)},
                             {"reduction_dim", tn_attr_int(arena, 1)},
                             {"top_k", tn_attr_int(arena, 2)}};
    config->kind = TN_ATTR_KIND_DICT;
    config->dict.pairs = pairs;
    config->dict.n = 3;
    tn_named_attr extra = {"mhlo.backend_config", config};
    op->extra = &extra;
    op->n_extra = 1;
    float x[] = {1, 4, 2, 3, 5, 7, 6, 8}, init = -1, best[4];
    int32_t at[] = {0, 1, 2, 3, 0, 1, 2, 3}, none = -1, index[4];
    RUN(op, IN(x, at, &init, &none), OUT(best, index));
    EXPECT(float, best, 4, 3, 8, 7);
    EXPECT(int32_t, index, 1, 3, 3, 1);
    pairs[2].value = tn_attr_int(arena, 5);
    EXPECT_INVALID(op, "top_k should be in [0, 4] and is 5");
    name = tn_attr_string(arena, "nobody", 6);
    pairs[2].value = tn_attr_int(arena, 2);
    EXPECT_INVALID(op, "called_computations should name one function");
}

TEST(sparse_rows_times_dense_arrays)
{
    tn_op *op = make_op(TN_OP_custom_call, "4xf32, 3xi32, 4xi32, 3x2xf32", "2x2xf32");
    SET_STRING(op, call_target_name, "cpu_csr_sparse_dense_ffi");
    /* 1 0 2 ; 0 0 3, and an entry outside of the matrix */
    float v[] = {1, 2, 3, 4}, x[] = {1, 2, 3, 4, 5, 6}, y[4];
    int32_t starts[] = {0, 2, 4}, columns[] = {0, 2, 2, 3};
    RUN(op, IN(v, starts, columns, x), OUT(y));
    EXPECT(float, y, 11, 14, 15, 18);
    starts[2] = 1 << 30; /* nor is memory read that is not there */
    columns[3] = -1;
    RUN(op, IN(v, starts, columns, x), OUT(y));
    EXPECT(float, y, 11, 14, 15, 18);

    op = make_op(TN_OP_custom_call, "2xcomplex<f32>, 2xi64, 2xi64, 2xcomplex<f32>",
                 "1xcomplex<f32>");
    SET_STRING(op, call_target_name, "cpu_csr_sparse_dense_ffi");
    float c[] = {1, 2, 0, 1}, z[] = {3, 4, 5, 6}, w[2];
    int64_t from[] = {0, 2}, at[] = {0, 1};
    RUN(op, IN(c, from, at, z), OUT(w));
    EXPECT(float, w, -5 - 6, 10 + 5);

    op = make_op(TN_OP_custom_call, "4xf32, 3xi32, 4xi32, 3x2xf32", "3x2xf32");
    SET_STRING(op, call_target_name, "cpu_csr_sparse_dense_ffi");
    EXPECT_INVALID(op, "not a product of a sparse matrix of 2 rows");
    op = make_op(TN_OP_custom_call, "4xf32, 3xi32, 4xi64, 3x2xf32", "2x2xf32");
    SET_STRING(op, call_target_name, "cpu_csr_sparse_dense_ffi");
    EXPECT_INVALID(op, "lists of values, row starts and columns");
    op = make_op(TN_OP_custom_call, "4xf16, 3xi32, 4xi32, 3x2xf16", "2x2xf16");
    SET_STRING(op, call_target_name, "cpu_csr_sparse_dense_ffi");
    EXPECT_INVALID(op, "operand 0 should be of i32");
}

TEST(singular_tridiagonal_systems_have_solutions)
{
    tn_op *op = make_op(TN_OP_custom_call, "2x3xf64, 2x3xf64, 2x3xf64, 2x3x1xf64", "2x3x1xf64");
    SET_STRING(op, call_target_name, "tridiagonal_solve_perturbed_ffi");
    double below[] = {9, 1, 1, 0, 0, 0}, d[] = {2, 2, 2, 3, 0, 1}, above[] = {1, 1, 9, 0, 0, 0};
    double b[] = {4, 8, 8, 3, 1, 2}, x[6];
    RUN(op, IN(below, d, above, b), OUT(x));
    double want[] = {1, 2, 3, 1, 1 / (3 * 0x1p-52), 2};
    for (int i = 0; i < 6; i++)
        if (!(fabs(x[i] - want[i]) <= 1e-14 * want[i])) fail_msg("%d: %.17g", i, x[i]);

    op = make_op(TN_OP_custom_call,
                 "2xcomplex<f32>, 2xcomplex<f32>, 2xcomplex<f32>, 2x2xcomplex<f32>",
                 "2x2xcomplex<f32>");
    SET_STRING(op, call_target_name, "tridiagonal_solve_perturbed_ffi");
    /* rows change places: 0 1 ; 2i 0 */
    float low[] = {0, 0, 0, 2}, mid[] = {0, 0, 0, 0}, high[] = {1, 0, 0, 0};
    float rhs[] = {1, 2, 3, 4, 2, 0, 0, 2}, y[8];
    RUN(op, IN(low, mid, high, rhs), OUT(y));
    EXPECT(float, y, 0, -1, 1, 0, 1, 2, 3, 4);

    op = make_op(TN_OP_custom_call, "2xf64, 3xf64, 3xf64, 3x1xf64", "3x1xf64");
    SET_STRING(op, call_target_name, "tridiagonal_solve_perturbed_ffi");
    EXPECT_INVALID(op, "operand 0 should have an element for each row of operand 3");
    op = make_op(TN_OP_custom_call, "3xi32, 3xi32, 3xi32, 3x1xi32", "3x1xi32");
    SET_STRING(op, call_target_name, "tridiagonal_solve_perturbed_ffi");
    EXPECT_INVALID(op, "matrices of f32, f64 or a complex type");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_return_alike),
        cmocka_unit_test(loops_carry_their_types),
        cmocka_unit_test(calls_match_signatures),
        cmocka_unit_test(tuples_know_their_parts),
        cmocka_unit_test(collectives_alone_are_identities),
        cmocka_unit_test(custom_calls_have_known_targets),
        cmocka_unit_test(shape_assertions_speak),
        cmocka_unit_test(approximate_top_k_is_exact),
        cmocka_unit_test(sparse_rows_times_dense_arrays),
        cmocka_unit_test(singular_tridiagonal_systems_have_solutions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
