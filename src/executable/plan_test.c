/* SPDX-License-Identifier: Apache-2.0 */
/* Where values live: loops in place, donated memory, copies, peak memory; running out of memory;
 * long programs. */
#include <time.h>

#include "executable/program_test.h"

static size_t bytes_copied(const tn_executable *e)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < e->n_steps; i++)
        if (e->steps[i].kind == TN_STEP_COPY) bytes += e->steps[i].bytes;
    return bytes;
}

static bool same_place(const tn_step_ref *x, const tn_step_ref *y)
{
    return x->base == y->base && x->offset == y->offset;
}

/* How many steps of this kind there are, and how many of them compute over operand 0. */
static uint32_t count(const tn_executable *e, tn_op_kind kind, uint32_t *in_place)
{
    uint32_t n = 0;
    *in_place = 0;
    for (uint32_t i = 0; i < e->n_steps; i++) {
        const tn_step *s = &e->steps[i];
        bool computes = s->kind == TN_STEP_EVAL || s->kind == TN_STEP_WINDOW;
        if (!computes || s->op->kind != kind) continue;
        n++;
        *in_place += same_place(&s->refs[0], &s->refs[s->n_operands]);
    }
    return n;
}

static tn_value *integer(builder *b, int32_t v)
{
    return constant(b, "i32", &v);
}

static void donate(builder *b, uint32_t param, uint32_t result)
{
    tn_named_attr *pair = TN_NEW(b->arena, tn_named_attr);
    *pair = (tn_named_attr){"tf.aliasing_output", tn_attr_int(b->arena, result)};
    tn_attr *dict = TN_NEW(b->arena, tn_attr);
    *dict = (tn_attr){.kind = TN_ATTR_KIND_DICT, .dict = {pair, 1}};
    b->function->arg_attrs[param] = dict;
}

/* --- loops --- */

/* i = 0; while (i < 100) x[i] = i, i = i + 1, with an update of one element. */
static tn_value *build_filling_loop(builder *b, tn_value *x)
{
    tn_op *op = while_op(b, 2, (tn_value *[]){integer(b, 0), x});
    tn_region *outer = b->region;
    tn_region *condition = begin_region(b, op, 0);
    RETURN(b, compare(b, TN_comparison_direction_LT, &condition->args[0], integer(b, 100)));
    tn_region *body = begin_region(b, op, 1);
    tn_value *i = &body->args[0];
    tn_value *next = update_slice(b, &body->args[1], reshape(b, i, "1xi32"), i);
    RETURN(b, binary(b, TN_OP_add, i, integer(b, 1)), next);
    b->region = outer;
    return &op->results[1];
}

static void build_loop(builder *b, void *donated)
{
    begin_function(b, "main", PARAMS("1000xi32"));
    tn_value *x = build_filling_loop(b, &b->region->args[0]);
    if (donated) donate(b, 0, 0);
    RETURN(b, x);
}

static void check_filled(const tn_executable *e, int32_t *in, int32_t *out)
{
    for (int i = 0; i < 1000; i++) in[i] = -i;
    MUST(run_executable(e, (void *[]){in}, (void *[]){out}));
    for (int i = 0; i < 1000; i++) assert_int_equal(out[i], i < 100 ? i : -i);
}

static void loops_update_in_place(void **state)
{
    int32_t in[1000], out[1000];
    uint32_t in_place;
    tn_executable *e;
    MUST(compile_program(build_loop, NULL, false, 0, &e));
    assert_int_equal(count(e, TN_OP_dynamic_update_slice, &in_place), 1);
    assert_int_equal(in_place, 1);
    /* The parameter is copied once, straight into the result, and the counter is initialised. */
    assert_int_equal(bytes_copied(e), sizeof in + sizeof(int32_t));
    assert_true(tn_executable_get_info(e)->temp_bytes <= 128);
    check_filled(e, in, out);
    tn_executable_release(e);
}

static void donated_loops_copy_nothing(void **state)
{
    int32_t in[1000], out[1000];
    tn_executable *e;
    bool yes = true;
    MUST(compile_program(build_loop, &yes, false, 0, &e));
    assert_int_equal(bytes_copied(e), sizeof(int32_t));
    assert_int_equal(tn_executable_get_info(e)->params[0].alias, 0);
    assert_int_equal(tn_executable_get_info(e)->results[0].alias, 0);
    check_filled(e, in, in);  /* given away */
    check_filled(e, in, out); /* kept: copied first */
    tn_executable_release(e);
}

/* while: x, y = y, x */
static void build_swap(builder *b, void *ctx)
{
    begin_function(b, "main", PARAMS("8xi32", "8xi32"));
    tn_value *inits[] = {integer(b, 0), &b->region->args[0], &b->region->args[1]};
    tn_op *op = while_op(b, 3, inits);
    tn_region *outer = b->region;
    tn_region *condition = begin_region(b, op, 0);
    RETURN(b, compare(b, TN_comparison_direction_LT, &condition->args[0], integer(b, 3)));
    tn_region *body = begin_region(b, op, 1);
    RETURN(b, binary(b, TN_OP_add, &body->args[0], integer(b, 1)), &body->args[2], &body->args[1]);
    b->region = outer;
    RETURN(b, &op->results[1], &op->results[2]);
}

static void values_that_change_places_are_moved_through_a_spare_one(void **state)
{
    tn_executable *e;
    MUST(compile_program(build_swap, NULL, false, 0, &e));
    int32_t x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {-1, -2, -3, -4, -5, -6, -7, -8}, a[8], b[8];
    MUST(run_executable(e, (void *[]){x, y}, (void *[]){a, b}));
    assert_memory_equal(a, y, sizeof a);
    assert_memory_equal(b, x, sizeof b);
    tn_executable_release(e);
}

/* --- donation --- */

/* Parameter 0 gives its memory to result 0, which is done before parameter 0 is last read. */
static void build_early_result(builder *b, void *ctx)
{
    begin_function(b, "main", PARAMS("8xi32", "8xi32"));
    tn_value *x = &b->region->args[0], *y = &b->region->args[1];
    donate(b, 0, 0);
    tn_value *early = reverse(b, y);
    RETURN(b, early, binary(b, TN_OP_add, x, early));
}

/* Both parameters are donated and come back as each other. */
static void build_crossed_results(builder *b, void *ctx)
{
    begin_function(b, "main", PARAMS("8xi32", "8xi32"));
    donate(b, 0, 0);
    donate(b, 1, 1);
    RETURN(b, &b->region->args[1], &b->region->args[0]);
}

/* x - 1 where x's memory is the result's, and x is not wanted any more. */
static void build_in_place(builder *b, void *ctx)
{
    begin_function(b, "main", PARAMS("8xi32"));
    donate(b, 0, 0);
    tn_value *x = &b->region->args[0];
    RETURN(b, unary(b, TN_OP_negate, binary(b, TN_OP_multiply, x, x)));
}

static void donated_memory_is_not_written_before_it_was_read(void **state)
{
    for (int as_it_is = 0; as_it_is < 2; as_it_is++) {
        tn_executable *e;
        MUST(compile_program(build_early_result, NULL, as_it_is, 0, &e));
        int32_t x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {10, 20, 30, 40, 50, 60, 70, 80}, sum[8];
        MUST(run_executable(e, (void *[]){x, y}, (void *[]){x, sum}));
        for (int i = 0; i < 8; i++) {
            assert_int_equal(x[i], y[7 - i]);
            assert_int_equal(sum[i], y[7 - i] + i + 1);
        }
        tn_executable_release(e);

        MUST(compile_program(build_crossed_results, NULL, as_it_is, 0, &e));
        int32_t p[8] = {1, 2, 3, 4, 5, 6, 7, 8}, q[8] = {9, 9, 9, 9, 9, 9, 9, 9};
        MUST(run_executable(e, (void *[]){p, q}, (void *[]){p, q}));
        for (int i = 0; i < 8; i++) {
            assert_int_equal(p[i], 9);
            assert_int_equal(q[i], i + 1);
        }
        tn_executable_release(e);
    }
}

static void donated_memory_is_computed_in(void **state)
{
    tn_executable *e;
    MUST(compile_program(build_in_place, NULL, false, 0, &e));
    assert_int_equal(tn_executable_get_info(e)->temp_bytes, 0);
    assert_int_equal(bytes_copied(e), 0);
    int32_t x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    MUST(run_executable(e, (void *[]){x}, (void *[]){x}));
    for (int i = 0; i < 8; i++) assert_int_equal(x[i], -(i + 1) * (i + 1));
    tn_executable_release(e);
}

/* y = x with a row of ones at place i; reads row 1 of x before, or after. */
static void build_rows(builder *b, void *ctx)
{
    begin_function(b, "main", PARAMS("4x16xi32", "1x16xi32", "i32"));
    donate(b, 0, 0);
    tn_value *x = &b->region->args[0], *turned = NULL;
    const int64_t start[2] = {1, 0}, limit[2] = {2, 16}, stride[2] = {1, 1}, dimension = 1;
    tn_op *row = add_op(b, TN_OP_slice, 1, &x, 1, 0);
    row->results[0].type = type_of(b, "1x16xi32");
    tn_op_set_attr(b->module, row, TN_ATTR_start_indices, tn_attr_ints(b->arena, start, 2));
    tn_op_set_attr(b->module, row, TN_ATTR_limit_indices, tn_attr_ints(b->arena, limit, 2));
    tn_op_set_attr(b->module, row, TN_ATTR_strides, tn_attr_ints(b->arena, stride, 2));
    tn_value *operands[] = {x, &b->region->args[1], &b->region->args[2], integer(b, 0)};
    tn_op *update = NULL;
    for (int i = 0; i < 2; i++) {
        if (i == *(bool *)ctx) {
            turned = unary(b, TN_OP_reverse, &row->results[0]);
            tn_op_set_attr(b->module, turned->op, TN_ATTR_dimensions,
                           tn_attr_ints(b->arena, &dimension, 1));
        } else {
            update = add_op(b, TN_OP_dynamic_update_slice, 4, operands, 1, 0);
            update->results[0].type = x->type;
        }
    }
    RETURN(b, &update->results[0], turned);
}

static void pieces_are_read_where_they_are(void **state)
{
    for (int later = 0; later < 2; later++) {
        bool ctx = later;
        uint32_t in_place;
        tn_executable *e;
        MUST(compile_program(build_rows, &ctx, false, 0, &e));
        assert_int_equal(count(e, TN_OP_slice, &in_place), later);
        count(e, TN_OP_dynamic_update_slice, &in_place);
        assert_int_equal(in_place, 1); /* which a view would have prevented */
        for (int32_t i = 0; i < 4; i++) {
            int32_t x[64], ones[16], got[16];
            for (int32_t k = 0; k < 64; k++) x[k] = k;
            for (int32_t k = 0; k < 16; k++) ones[k] = 1;
            MUST(run_executable(e, (void *[]){x, ones, &i}, (void *[]){x, got}));
            for (int32_t k = 0; k < 16; k++) assert_int_equal(got[k], 31 - k);
            for (int32_t k = 0; k < 64; k++) assert_int_equal(x[k], k / 16 == i ? 1 : k);
        }
        tn_executable_release(e);
    }
}

static void build_bad_alias(builder *b, void *ctx)
{
    begin_function(b, "main", PARAMS("8xi32"));
    donate(b, 0, 3);
    RETURN(b, &b->region->args[0]);
}

static void an_alias_of_no_result_is_refused(void **state)
{
    tn_executable *e;
    tn_status *s = compile_program(build_bad_alias, NULL, false, 0, &e);
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    assert_non_null(strstr(tn_status_message(s), "parameter 0"));
    tn_status_free(s);
}

/* --- peak memory --- */

/* A chain in which two values live at a time, none of them in place. */
static void build_chain(builder *b, void *ctx)
{
    begin_function(b, "main", PARAMS("1024xf32"));
    tn_value *x = &b->region->args[0];
    for (int i = 0; i < *(int *)ctx; i++) x = i % 2 ? reverse(b, x) : unary(b, TN_OP_negate, x);
    RETURN(b, unary(b, TN_OP_negate, x));
}

/* One of them is the result's. */
static void a_chain_needs_two_buffers(void **state)
{
    int length = 101;
    tn_executable *e;
    MUST(compile_program(build_chain, &length, true, 0, &e));
    assert_int_equal(tn_executable_get_info(e)->temp_bytes, 1024 * sizeof(float));
    float x[1024], y[1024];
    for (int i = 0; i < 1024; i++) x[i] = (float)i;
    MUST(run_executable(e, (void *[]){x}, (void *[]){y}));
    for (int i = 0; i < 1024; i++) assert_true(y[i] == (float)i);
    tn_executable_release(e);
}

/* Results are done in the middle of the program, and what is behind them may not be in their
 * memory; a parameter that is given away is read late. */
static void build_early_results(builder *b, void *ctx)
{
    begin_function(b, "main", PARAMS("1024xf32", "1024xf32"));
    tn_value *x = &b->region->args[0], *last = &b->region->args[1];
    donate(b, 1, 1);
    tn_value *early = reverse(b, x), *y = reverse(b, early);
    for (int i = 0; i < 10; i++) y = reverse(b, unary(b, TN_OP_negate, y));
    RETURN(b, early, reverse(b, binary(b, TN_OP_add, reverse(b, last), y)));
}

static void memory_of_results_is_used_while_it_is_free(void **state)
{
    tn_executable *e;
    MUST(compile_program(build_early_results, NULL, true, 0, &e));
    /* Before `early` there is nothing, and the donated parameter lives nearly to the end. */
    assert_in_range(tn_executable_get_info(e)->temp_bytes, 4096, 8192);
    float x[1024], last[1024], early[1024], y[1024];
    for (int i = 0; i < 1024; i++) x[i] = (float)i, last[i] = 1000000 + (float)i;
    MUST(run_executable(e, (void *[]){x, last}, (void *[]){early, y}));
    for (int i = 0; i < 1024; i++) {
        assert_true(early[i] == (float)(1023 - i));
        assert_true(y[i] == 1000000 + (float)i + (float)(1023 - i));
    }
    tn_executable_release(e);
}

/* A sum is the last to read what parameter 0 gives its memory for; it comes late in the program. */
static void build_late_sum(builder *b, void *ctx)
{
    begin_function(b, "main", PARAMS("1024xf32", "1024xf32", "1024xf32"));
    tn_value *p = &b->region->args[0], *x = &b->region->args[1], *y = &b->region->args[2];
    donate(b, 0, 0);
    tn_value *g = reverse(b, x), *h = reverse(b, reverse(b, reverse(b, y)));
    tn_value *sum = binary(b, TN_OP_add, p, g);
    RETURN(b, sum, reverse(b, h));
}

static void what_frees_memory_is_done_early(void **state)
{
    tn_executable *e;
    MUST(compile_program(build_late_sum, NULL, true, 0, &e));
    assert_int_equal(tn_executable_get_info(e)->temp_bytes, 1024 * sizeof(float));
    float p[1024], x[1024], y[1024], sum[1024], z[1024];
    for (int i = 0; i < 1024; i++) p[i] = (float)i, x[i] = (float)(2 * i), y[i] = (float)(-i);
    MUST(run_executable(e, (void *[]){p, x, y}, (void *[]){sum, z}));
    for (int i = 0; i < 1024; i++)
        assert_true(sum[i] == (float)(i + 2 * (1023 - i)) && z[i] == (float)(-i));
    tn_executable_release(e);
}

static void build_huge(builder *b, void *ctx)
{
    begin_function(b, "main", PARAMS("i32"));
    tn_value *x = splat(b, "1152921504606846976xi32", (int32_t[]){1}), *y = reverse(b, x);
    tn_value *z = reverse(b, y);
    tn_op *op = add_op(b, TN_OP_dynamic_slice, 2,
                       (tn_value *[]){binary(b, TN_OP_add, y, z), &b->region->args[0]}, 1, 0);
    op->results[0].type = type_of(b, "1xi32");
    tn_op_set_attr(b->module, op, TN_ATTR_slice_sizes, tn_attr_ints(b->arena, (int64_t[]){1}, 1));
    RETURN(b, &op->results[0]);
}

static void more_memory_than_addresses_is_refused(void **state)
{
    tn_executable *e;
    tn_status *s = compile_program(build_huge, NULL, true, 0, &e);
    assert_int_equal(tn_status_code(s), TN_RESOURCE_EXHAUSTED);
    tn_status_free(s);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double compile_seconds(int length)
{
    tn_executable *e;
    double start = cpu_seconds();
    MUST(compile_program(build_chain, &length, false, 0, &e));
    double end = cpu_seconds();
    assert_int_equal(e->n_steps, length / 2 + 2); /* reverses are read through maps */
    tn_executable_release(e);
    return end - start;
}

/* Work is bytes of compile-time data: an algorithm that is not linear in the program's size shows
 * there or in seconds, of which the bound is generous. */
static void long_programs_compile_in_linear_time(void **state)
{
    int lengths[] = {10000, 100000};
    size_t bytes[2];
    for (int i = 0; i < 2; i++) {
        tn_executable *e;
        MUST(compile_program(build_chain, &lengths[i], false, 0, &e));
        bytes[i] = tn_executable_get_info(e)->code_bytes;
        tn_executable_release(e);
    }
    assert_true(bytes[1] < 12 * bytes[0]);
    double seconds = compile_seconds(100000);
    print_message("100,000 ops compile in %.0f ms\n", seconds * 1e3);
    assert_true(seconds < 10);
}

/* --- out of memory --- */

static void build_all_sorts(builder *b, void *ctx)
{
    begin_function(b, "main", PARAMS("1000xi32", "i32"));
    tn_value *x = build_filling_loop(b, &b->region->args[0]), *choice = &b->region->args[1];
    tn_op *op = control(b, TN_OP_case, 1, &choice, 1, (const tn_type *[]){x->type}, 2);
    tn_region *outer = b->region;
    begin_region(b, op, 0);
    RETURN(b, reverse(b, x));
    begin_region(b, op, 1);
    tn_value *v = splat(b, "1000xi32", (int32_t[]){7});
    RETURN(b, binary(b, TN_OP_add, v, v));
    b->region = outer;
    RETURN(b, &op->results[0], x);
}

static void running_out_of_memory_is_an_error_wherever_it_happens(void **state)
{
    uint64_t n = 1;
    for (;; n++) {
        tn_executable *e;
        tn_status *s = compile_program(build_all_sorts, NULL, false, n, &e);
        if (!s) {
            tn_executable_release(e);
            break;
        }
        assert_int_equal(tn_status_code(s), TN_RESOURCE_EXHAUSTED);
        tn_status_free(s);
    }
    assert_true(n > 200);
}

/* --- estimates --- */

static void build_counting(builder *b, void *ctx)
{
    const int32_t *c = ctx; /* from, step, limit, direction */
    begin_function(b, "main", PARAMS("8xi32"));
    tn_op *op = while_op(b, 2, (tn_value *[]){integer(b, c[0]), &b->region->args[0]});
    tn_region *outer = b->region;
    tn_region *condition = begin_region(b, op, 0);
    RETURN(b, compare(b, c[3], &condition->args[0], integer(b, c[2])));
    tn_region *body = begin_region(b, op, 1);
    RETURN(b, binary(b, TN_OP_add, integer(b, c[1]), &body->args[0]),
           unary(b, TN_OP_negate, &body->args[1]));
    b->region = outer;
    RETURN(b, &op->results[1]);
}

static uint64_t cost_of_counting(int32_t from, int32_t step, int32_t limit, int32_t direction)
{
    tn_executable *e;
    MUST(compile_program(build_counting, (int32_t[]){from, step, limit, direction}, false, 0, &e));
    uint64_t cost = tn_executable_get_info(e)->cost_ns;
    tn_executable_release(e);
    return cost;
}

static void counted_loops_cost_what_their_iterations_do(void **state)
{
    uint64_t none = cost_of_counting(0, 1, 0, TN_comparison_direction_LT);
    uint64_t ten = cost_of_counting(0, 1, 10, TN_comparison_direction_LT);
    uint64_t thousand = cost_of_counting(0, 1, 1000, TN_comparison_direction_LT);
    assert_true(none < ten && ten < thousand && thousand < UINT64_MAX);
    assert_in_range(thousand / ten, 50, 150);
    assert_int_equal(cost_of_counting(0, 3, 30, TN_comparison_direction_LT), ten);
    assert_int_equal(cost_of_counting(9, -1, 0, TN_comparison_direction_GE), ten);
    assert_int_equal(cost_of_counting(5, 2, 25, TN_comparison_direction_NE), ten);
    assert_int_equal(cost_of_counting(0, 3, 10, TN_comparison_direction_NE), UINT64_MAX);
    assert_int_equal(cost_of_counting(0, -1, 10, TN_comparison_direction_LT), UINT64_MAX);
    assert_int_equal(cost_of_counting(0, 0, 10, TN_comparison_direction_LT), UINT64_MAX);
}

/* --- what runs tell --- */

static void build_function_call(builder *b, void *ctx)
{
    begin_function(b, "main", PARAMS("8xi32"));
    tn_value *x = &b->region->args[0];
    tn_op *op = add_op(b, TN_OP_custom_call, 1, &x, 1, 0);
    op->results[0].type = x->type;
    tn_op_set_attr(b->module, op, TN_ATTR_call_target_name, tn_attr_string(b->arena, "no_such", 7));
    RETURN(b, &op->results[0]);
}

static void what_is_missing_is_named(void **state)
{
    tn_executable *e = NULL;
    tn_status *s = compile_program(build_function_call, NULL, false, 0, &e);
    if (!s) {
        int32_t x[8] = {0}, y[8];
        s = run_executable(e, (void *[]){x}, (void *[]){y});
    }
    assert_non_null(s);
    assert_non_null(strstr(tn_status_message(s), "no_such"));
    tn_status_free(s);
    tn_executable_release(e);
}

/* Two steps that need nothing of each other, but for the memory of a donated parameter. */
static void build_two(builder *b, void *ctx)
{
    begin_function(b, "main", PARAMS("1024xf32", "1024xf32"));
    if (*(bool *)ctx) donate(b, 1, 0);
    tn_value *second = reverse(b, &b->region->args[1]), *first = reverse(b, &b->region->args[0]);
    RETURN(b, first, second);
}

static tn_status *find_together(void *e)
{
    tn_find_together(e, 0);
    return NULL;
}

static uint32_t parts_of_two(bool donated)
{
    test_source s = {{.as_it_is = true, .unfused = true}, build_two, &donated};
    tn_executable *e;
    uint32_t n = 0;
    MUST(compile_source(&s, &e));
    MUST(tn_arena_run(e->arena, find_together, e));
    for (uint32_t i = 0; i < e->n_steps; i++)
        if (e->steps[i].together) n += e->steps[i].together->n;
    tn_executable_release(e);
    return n;
}

static void what_shares_no_memory_may_run_together(void **state)
{
    assert_int_equal(parts_of_two(false), 2);
    assert_int_equal(parts_of_two(true), 0);
}

int main(void)
{
    /* Loops as steps are what is looked at here. */
    setenv("TN_JIT", "0", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_update_in_place),
        cmocka_unit_test(donated_loops_copy_nothing),
        cmocka_unit_test(values_that_change_places_are_moved_through_a_spare_one),
        cmocka_unit_test(donated_memory_is_not_written_before_it_was_read),
        cmocka_unit_test(donated_memory_is_computed_in),
        cmocka_unit_test(pieces_are_read_where_they_are),
        cmocka_unit_test(an_alias_of_no_result_is_refused),
        cmocka_unit_test(a_chain_needs_two_buffers),
        cmocka_unit_test(memory_of_results_is_used_while_it_is_free),
        cmocka_unit_test(what_shares_no_memory_may_run_together),
        cmocka_unit_test(what_frees_memory_is_done_early),
        cmocka_unit_test(more_memory_than_addresses_is_refused),
        cmocka_unit_test(long_programs_compile_in_linear_time),
        cmocka_unit_test(running_out_of_memory_is_an_error_wherever_it_happens),
        cmocka_unit_test(counted_loops_cost_what_their_iterations_do),
        cmocka_unit_test(what_is_missing_is_named),
    };
    return cmocka_run_group_tests_name("executable-plan", tests, NULL, NULL);
}
