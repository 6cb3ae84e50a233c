/* SPDX-License-Identifier: Apache-2.0 */
/* Lifted bodies against the interpreter, element by element. */
#include "ops/op_test.h"

/* A region in an op of its own, so that values of the function are outside of it. */
static tn_region *new_region(const char *args)
{
    tn_op *holder = make_op_with_regions(TN_OP_map, "", "f32", 1);
    return make_region(holder, 0, args);
}

static tn_value *outside(const char *type)
{
    return make_op(TN_OP_optimization_barrier, type, type)->operands[0];
}

static const tn_body *compile(const tn_region *r)
{
    const tn_body *b = NULL;
    tn_status *s = tn_body_compile(r, arena, &b);
    if (s) fail_msg("%s", tn_status_message(s));
    return b;
}

typedef struct {
    tn_interpret_outer base;
    const tn_body *body;
    const void *const *captured;
} outer;

static const void *outer_data(const tn_interpret_outer *self, const tn_value *v)
{
    const outer *o = (const outer *)self;
    for (uint32_t i = 0; i < o->body->n_captures; i++)
        if (o->body->captures[i] == v) return o->captured[i];
    return NULL;
}

#define N 777

static void *elements(const tn_type *t)
{
    return aligned_alloc(64, (N * tn_type_bytes(t) + 63) / 64 * 64);
}

/* Runs `b` on small numbers and compares every element with the interpreter. With `aliased`, result
 * i is in the memory of the first argument of its type that no other result has. */
static void check(const tn_region *r, const tn_body *b, bool aliased, const void *const *captured)
{
    void *args[8], *results[8], *want[8];
    bool taken[8] = {false};
    for (uint32_t i = 0; i < b->n_args; i++) {
        args[i] = elements(b->arg_types[i]);
        for (int j = 0; j < N; j++) {
            int64_t v = random_below(7) - 3;
            switch ((int)b->arg_types[i]->element) {
            case TN_F32: ((float *)args[i])[j] = v == 3 ? __builtin_nanf("") : (float)v; break;
            case TN_I32: ((int32_t *)args[i])[j] = (int32_t)v; break;
            case TN_I64: ((int64_t *)args[i])[j] = v; break;
            case TN_I1: ((uint8_t *)args[i])[j] = v & 1; break;
            default: fail_msg("no values of %s", tn_element_type_text(b->arg_types[i]->element));
            }
        }
    }
    outer o = {{outer_data}, b, captured};
    tn_eval_context ctx = {0};
    for (uint32_t i = 0; i < b->n_results; i++) want[i] = elements(b->result_types[i]);
    for (int j = 0; j < N; j++) {
        tn_tensor in[8], out[8];
        for (uint32_t i = 0; i < b->n_args; i++)
            in[i] = (tn_tensor){(char *)args[i] + (size_t)j * tn_type_bytes(b->arg_types[i]),
                                b->arg_types[i]};
        for (uint32_t i = 0; i < b->n_results; i++)
            out[i] = (tn_tensor){(char *)want[i] + (size_t)j * tn_type_bytes(b->result_types[i]),
                                 b->result_types[i]};
        assert_null(tn_interpret_region(r, &ctx, &o.base, in, out));
    }
    for (uint32_t i = 0; i < b->n_results; i++) {
        results[i] = NULL;
        for (uint32_t k = 0; k < b->n_args && aliased && !results[i]; k++) {
            if (taken[k] || b->arg_types[k]->element != b->result_types[i]->element) continue;
            taken[k] = true;
            results[i] = args[k];
        }
        if (!results[i]) results[i] = elements(b->result_types[i]);
    }
    void *scratch = aligned_alloc(64, tn_body_scratch(b) + 64);
    tn_status *s = tn_body_run(b, &ctx, N, (const void *const *)args, results, captured, scratch);
    if (s) fail_msg("%s", tn_status_message(s));
    for (uint32_t i = 0; i < b->n_results; i++)
        assert_memory_equal(results[i], want[i], N * tn_type_bytes(b->result_types[i]));
    for (uint32_t i = 0; i < b->n_results; i++) {
        bool is_arg = false;
        for (uint32_t k = 0; k < b->n_args; k++) is_arg |= results[i] == args[k];
        if (!is_arg) free(results[i]);
        free(want[i]);
    }
    for (uint32_t i = 0; i < b->n_args; i++) free(args[i]);
    free(scratch);
}

static void check_both(const tn_region *r, const void *const *captured)
{
    const tn_body *b = compile(r);
    check(r, b, false, captured);
    check(r, b, true, captured);
}

TEST(shortcuts_are_recognised)
{
    static const struct {
        tn_op_kind kind;
        const char *e;
        tn_body_shortcut s;
    } cases[] = {{TN_OP_add, "f32", TN_BODY_ADD},         {TN_OP_multiply, "i32", TN_BODY_MULTIPLY},
                 {TN_OP_maximum, "f32", TN_BODY_MAXIMUM}, {TN_OP_minimum, "i64", TN_BODY_MINIMUM},
                 {TN_OP_and, "i1", TN_BODY_AND},          {TN_OP_or, "i1", TN_BODY_OR},
                 {TN_OP_xor, "i32", TN_BODY_XOR},         {TN_OP_subtract, "i32", TN_BODY_GENERAL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char two[32];
        snprintf(two, sizeof two, "%s, %s", cases[i].e, cases[i].e);
        for (int swapped = 0; swapped < 2; swapped++) {
            tn_region *r = new_region(two);
            tn_value *v =
                append(r, cases[i].kind, cases[i].e, &r->args[swapped], &r->args[!swapped], NULL);
            append_return(r, 1, &v);
            assert_int_equal(compile(r)->shortcut, cases[i].s);
            check_both(r, NULL);
        }
    }
    /* x + x is no sum of the arguments. */
    tn_region *r = new_region("f32, f32");
    tn_value *v = append(r, TN_OP_add, "f32", &r->args[0], &r->args[0], NULL);
    append_return(r, 1, &v);
    assert_int_equal(compile(r)->shortcut, TN_BODY_GENERAL);
    check_both(r, NULL);
}

TEST(comparators_are_recognised)
{
    tn_region *r = new_region("f32, f32, i32, i32");
    tn_value *v = append_compare(r, TN_comparison_direction_GT, TN_comparison_type_FLOAT,
                                 &r->args[1], &r->args[0]);
    append_return(r, 1, &v);
    assert_int_equal(compile(r)->shortcut, TN_BODY_LT);
    check_both(r, NULL);
    r = new_region("i32, i32");
    v = append_compare(r, TN_comparison_direction_GE, TN_comparison_type_SIGNED, &r->args[0],
                       &r->args[1]);
    append_return(r, 1, &v);
    assert_int_equal(compile(r)->shortcut, TN_BODY_GE);
    r = new_region("f32, f32");
    v = append_compare(r, TN_comparison_direction_LT, TN_comparison_type_TOTALORDER, &r->args[0],
                       &r->args[1]);
    append_return(r, 1, &v);
    assert_int_equal(compile(r)->shortcut, TN_BODY_GENERAL);
    check_both(r, NULL);
}

TEST(passing_arguments_through)
{
    tn_region *r = new_region("f32, f32");
    append_return(r, 1, (tn_value *[]){&r->args[1]});
    assert_int_equal(compile(r)->shortcut, TN_BODY_SECOND);
    check_both(r, NULL);
    /* Swapped, in the memory of each other. */
    r = new_region("f32, f32");
    append_return(r, 2, (tn_value *[]){&r->args[1], &r->args[0]});
    check_both(r, NULL);
    r = new_region("f32, f32");
    tn_value *v = append(r, TN_OP_subtract, "f32", &r->args[0], &r->args[1], NULL);
    append_return(r, 3, (tn_value *[]){v, &r->args[0], v});
    check_both(r, NULL);
}

/* JAX's argmax: (x, i), (y, j) -> the larger, NaN before all, of equal ones the lower index. */
TEST(argmax_is_lifted)
{
    tn_region *r = new_region("f32, i32, f32, i32");
    tn_value *x = &r->args[0], *i = &r->args[1], *y = &r->args[2], *j = &r->args[3];
    tn_value *gt = append_compare(r, TN_comparison_direction_GT, TN_comparison_type_FLOAT, x, y);
    tn_value *nan = append_compare(r, TN_comparison_direction_NE, TN_comparison_type_FLOAT, x, x);
    tn_value *take = append(r, TN_OP_or, "i1", gt, nan, NULL);
    tn_value *eq = append_compare(r, TN_comparison_direction_EQ, TN_comparison_type_FLOAT, x, y);
    tn_value *low = append_compare(r, TN_comparison_direction_LT, TN_comparison_type_SIGNED, i, j);
    tn_value *tie = append(r, TN_OP_and, "i1", eq, low, NULL);
    tn_value *first = append(r, TN_OP_or, "i1", take, tie, NULL);
    tn_value *value = append(r, TN_OP_select, "f32", take, x, y);
    tn_value *index = append(r, TN_OP_select, "i32", first, i, j);
    append_return(r, 2, (tn_value *[]){value, index});
    assert_true(tn_body_scratch(compile(r)) >= TN_BODY_TILE); /* the interpreter needs less */
    check_both(r, NULL);
}

TEST(constants_captures_and_reshapes)
{
    float two = 2, captured_value = 0.25f;
    tn_value *capture = outside("f32");
    tn_region *r = new_region("f32, i32");
    tn_value *c = append_constant(r, "f32", &two);
    tn_value *x = append(r, TN_OP_convert, "f32", &r->args[1], NULL, NULL);
    tn_value *scaled = append(r, TN_OP_multiply, "f32", x, c, NULL);
    tn_value *same = append(r, TN_OP_reshape, "f32", scaled, NULL, NULL);
    tn_value *sum = append(r, TN_OP_add, "f32", same, capture, NULL);
    tn_value *all = append(r, TN_OP_add, "f32", sum, &r->args[0], NULL);
    append_return(r, 3, (tn_value *[]){all, capture, c});
    const tn_body *b = compile(r);
    assert_int_equal(b->n_captures, 1);
    assert_ptr_equal(b->captures[0], capture);
    check_both(r, (const void *const[]){&captured_value});
}

/* A branch can't be lifted; its values, captures of the inner region included, are the same. */
TEST(other_ops_run_in_the_interpreter)
{
    float captured_value = 0.5f;
    tn_value *capture = outside("f32");
    tn_region *r = new_region("f32, i1");
    tn_op *branch = tn_op_new(module, TN_OP_if, 1, 1, 2);
    branch->operands[0] = &r->args[1];
    branch->results[0].type = type_of("f32", 3);
    tn_op_append(r, branch);
    for (uint32_t i = 0; i < 2; i++) {
        tn_region *side = make_region(branch, i, "");
        tn_value *v =
            append(side, i ? TN_OP_add : TN_OP_multiply, "f32", &r->args[0], capture, NULL);
        append_return(side, 1, &v);
    }
    append_return(r, 2, (tn_value *[]){&branch->results[0], &r->args[0]});
    const tn_body *b = compile(r);
    assert_int_equal(b->n_captures, 1);
    check_both(r, (const void *const[]){&captured_value});
}

/* Long chains need little memory: places are used again. */
TEST(scratch_is_reused)
{
    tn_region *r = new_region("i64, i64");
    tn_value *v = &r->args[0], *u = &r->args[1];
    for (int i = 0; i < 200; i++) {
        tn_value *w = append(r, i % 3 ? TN_OP_add : TN_OP_multiply, "i64", v, u, NULL);
        u = v;
        v = w;
    }
    append_return(r, 1, &v);
    const tn_body *b = compile(r);
    assert_true(tn_body_scratch(b) <= 4 * 8 * TN_BODY_TILE);
    check_both(r, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shortcuts_are_recognised),
        cmocka_unit_test(comparators_are_recognised),
        cmocka_unit_test(passing_arguments_through),
        cmocka_unit_test(argmax_is_lifted),
        cmocka_unit_test(constants_captures_and_reshapes),
        cmocka_unit_test(other_ops_run_in_the_interpreter),
        cmocka_unit_test(scratch_is_reused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
