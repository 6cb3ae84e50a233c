/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of unknown sizes: refined, cut into stages, run at several sizes. Expected values are
 * worked out by hand from the specification. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "executable/compile_options.h"
#include "executable/executable.h"

#define MUST(expr)                                                                                 \
    do {                                                                                           \
        tn_status *must_ = (expr);                                                                 \
        if (must_) fail_msg("%s", tn_status_message(must_));                                       \
    } while (0)

static tn_status *compile(const char *text, tn_executable **out)
{
    tn_compile_options *options;
    MUST(tn_compile_options_decode(NULL, 0, &options));
    tn_status *s = tn_compile(text, strlen(text), "mlir", 4, options, out);
    tn_compile_options_free(options);
    return s;
}

static tn_executable *compiled(const char *text)
{
    tn_executable *e = NULL;
    MUST(compile(text, &e));
    return e;
}

/* An argument or result: up to 64 elements. */
typedef struct {
    tn_type type;
    int64_t dims[16];
    _Alignas(64) char data[512];
} array;

static array array_of(tn_element_type e, uint32_t rank, const int64_t *dims, const void *data)
{
    array a = {.type = {.kind = TN_TYPE_TENSOR, .element = e, .rank = rank}};
    memcpy(a.dims, dims, rank * sizeof *dims);
    a.type.dims = a.dims;
    size_t bytes = tn_type_bytes(&a.type);
    assert_true(bytes <= sizeof a.data);
    if (data) memcpy(a.data, data, bytes);
    else memset(a.data, 0, sizeof a.data);
    return a;
}
#define DIMS(...)                                                                                  \
    sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[])                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define SCALAR         0, (int64_t[]){0}
#define F32(dims, ...) array_of(TN_F32, dims, (float[]){__VA_ARGS__})
#define I64(v)         array_of(TN_I64, 0, (int64_t[]){0}, (int64_t[]){v})
#define I32(v)         array_of(TN_I32, 0, (int64_t[]){0}, (int32_t[]){v})

static void run(const tn_executable *e, void **args, void **results)
{
    const tn_executable_info *info = tn_executable_get_info(e);
    void *temp = aligned_alloc(64, (info->temp_bytes + 64) & ~(size_t)63);
    tn_run r = {.args = args, .results = results, .temp = temp};
    MUST(tn_executable_run(e, &r));
    free(temp);
}

/* Specializes `e` for the arguments as the runtime does, through all stages, and runs it. */
static tn_status *run_sized(const tn_executable *e, array *args, uint32_t n, array *out,
                            unsigned *stages)
{
    const tn_type *types[8];
    char values[512];
    size_t size = 0;
    for (uint32_t i = 0; i < n; i++) {
        args[i].type.dims = args[i].dims;
        types[i] = &args[i].type;
        assert_true(tn_executable_takes(tn_executable_get_info(e)->params[i].type, types[i]));
    }
    for (*stages = 0;; ++*stages) {
        tn_executable *s = NULL;
        tn_sizes sizes = {types, values, size};
        TN_TRY(tn_executable_specialize(e, &sizes, &s));
        const tn_executable_info *info = tn_executable_get_info(s);
        const tn_stage *stage = tn_executable_stage(s);
        assert_false(info->is_dynamic);
        void *in[8], *results[8];
        for (uint32_t i = 0; i < info->n_params; i++)
            in[i] = args[stage ? stage->params[i] : i].data;
        char block[8][64] __attribute__((aligned(64)));
        for (uint32_t i = 0; i < info->n_results; i++) results[i] = stage ? block[i] : out[i].data;
        for (uint32_t i = 0; !stage && i < info->n_results; i++) {
            const tn_type *t = info->results[i].type;
            assert_true(tn_type_is_static(t));
            out[i] = array_of(t->element, t->rank, t->dims, NULL);
            out[i].type.dims = out[i].dims;
        }
        run(s, in, results);
        for (uint32_t i = 0; stage && i < info->n_results; i++) {
            size_t bytes = tn_type_bytes(info->results[i].type);
            assert_true(bytes <= 64);
            memcpy(values + size, block[i], bytes);
            size += bytes;
        }
        tn_executable_release(s);
        if (!stage) return NULL;
    }
}

static void assert_array(const array *a, tn_element_type e, uint32_t rank, const int64_t *dims,
                         const void *data)
{
    assert_int_equal(a->type.element, e);
    assert_int_equal(a->type.rank, rank);
    assert_memory_equal(a->dims, dims, rank * sizeof *dims);
    tn_type t = a->type;
    t.dims = a->dims;
    if (tn_type_bytes(&t)) assert_memory_equal(a->data, data, tn_type_bytes(&t));
}
#define ASSERT_F32(a, dims, ...) assert_array(a, TN_F32, dims, (float[]){__VA_ARGS__})
#define ASSERT_I32(a, dims, ...) assert_array(a, TN_I32, dims, (int32_t[]){__VA_ARGS__})

/* One run of `text`, which needs `stages`, to one result. */
static array result_of(const char *text, array *args, uint32_t n, unsigned stages)
{
    tn_executable *e = compiled(text);
    assert_true(tn_executable_get_info(e)->is_dynamic);
    array out[2];
    unsigned took;
    MUST(run_sized(e, args, n, out, &took));
    assert_int_equal(took, stages);
    tn_executable_release(e);
    return out[0];
}
#define RUN(text, stages, ...)                                                                     \
    result_of(text, (array[]){__VA_ARGS__}, sizeof((array[]){__VA_ARGS__}) / sizeof(array), stages)

/* The message of the error that a run gives, if it gives one. */
static void assert_refused(const char *text, array *args, uint32_t n, tn_code code,
                           const char *message)
{
    tn_executable *e = compiled(text);
    array out[2];
    unsigned stages;
    tn_status *s = run_sized(e, args, n, out, &stages);
    assert_non_null(s);
    if (tn_status_code(s) != code || !strstr(tn_status_message(s), message))
        fail_msg("got: %s", tn_status_message(s));
    tn_status_free(s);
    tn_executable_release(e);
}
#define REFUSED(text, code, message, ...)                                                          \
    assert_refused(text, (array[]){__VA_ARGS__}, sizeof((array[]){__VA_ARGS__}) / sizeof(array),   \
                   TN_##code, message)

/* --- sizes from the types of arguments --- */

static const char broadcast_row[] =
    "func.func @main(%x: tensor<?x2xf32>, %y: tensor<2xf32>) -> tensor<?x2xf32> {\n"
    "  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>\n"
    "  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
    "  %two = stablehlo.constant dense<2> : tensor<1xi32>\n"
    "  %s = stablehlo.concatenate %n1, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> "
    "tensor<2xi32>\n"
    "  %b = stablehlo.dynamic_broadcast_in_dim %y, %s, dims = [1] : (tensor<2xf32>, "
    "tensor<2xi32>) -> tensor<?x2xf32>\n"
    "  %z = stablehlo.add %x, %b : tensor<?x2xf32>\n"
    "  return %z : tensor<?x2xf32>\n"
    "}\n";

static void one_executable_runs_at_several_sizes(void **state)
{
    tn_executable *e = compiled(broadcast_row);
    const tn_executable_info *info = tn_executable_get_info(e);
    assert_true(info->is_dynamic);
    assert_int_equal(info->params[0].type->dims[0], TN_DYNAMIC);
    for (int64_t n = 0; n < 5; n++) {
        array args[2] = {array_of(TN_F32, DIMS(n, 2), NULL), F32(DIMS(2), 10, 20)}, out[1];
        float want[8];
        for (int i = 0; i < 2 * n; i++) {
            ((float *)args[0].data)[i] = (float)i;
            want[i] = (float)(i + (i % 2 ? 20 : 10));
        }
        unsigned stages;
        MUST(run_sized(e, args, 2, out, &stages));
        assert_int_equal(stages, 0);
        assert_array(&out[0], TN_F32, DIMS(n, 2), want);
    }
    tn_executable_release(e);
}

static void a_bound_is_kept(void **state)
{
    const char *text = "func.func @main(%x: tensor<?xf32, #stablehlo.bounds<3>>) -> tensor<?xf32, "
                       "#stablehlo.bounds<3>> {\n"
                       "  %y = stablehlo.negate %x : tensor<?xf32, #stablehlo.bounds<3>>\n"
                       "  return %y : tensor<?xf32, #stablehlo.bounds<3>>\n"
                       "}\n";
    array y = RUN(text, 0, F32(DIMS(2), 1, 2));
    ASSERT_F32(&y, DIMS(2), -1, -2);
    tn_executable *e = compiled(text);
    int64_t dims[] = {4};
    tn_type t = {.kind = TN_TYPE_TENSOR, .element = TN_F32, .rank = 1, .dims = dims};
    assert_false(tn_executable_takes(tn_executable_get_info(e)->params[0].type, &t));
    dims[0] = 3;
    assert_true(tn_executable_takes(tn_executable_get_info(e)->params[0].type, &t));
    tn_executable_release(e);
}

static void sizes_that_contradict_each_other_are_refused(void **state)
{
    const char *text = "func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {\n"
                       "  %z = stablehlo.add %x, %y : tensor<?xf32>\n"
                       "  return %z : tensor<?xf32>\n"
                       "}\n";
    REFUSED(text, INVALID_ARGUMENT, "operand 1 should have the shape of operand 0",
            F32(DIMS(2), 1, 2), F32(DIMS(3), 1, 2, 3));
}

static void ranks_of_nine_and_nothing(void **state)
{
    array y = RUN("func.func @main(%x: tensor<1x1x?x1x1x2x1x1x1xf32>) -> tensor<?xf32> {\n"
                  "  %n = stablehlo.get_dimension_size %x, dim = 2 : "
                  "(tensor<1x1x?x1x1x2x1x1x1xf32>) -> tensor<i32>\n"
                  "  %two = stablehlo.constant dense<2> : tensor<i32>\n"
                  "  %m = stablehlo.multiply %n, %two : tensor<i32>\n"
                  "  %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>\n"
                  "  %y = stablehlo.dynamic_reshape %x, %s : (tensor<1x1x?x1x1x2x1x1x1xf32>, "
                  "tensor<1xi32>) -> tensor<?xf32>\n"
                  "  return %y : tensor<?xf32>\n"
                  "}\n",
                  0, F32(DIMS(1, 1, 2, 1, 1, 2, 1, 1, 1), 1, 2, 3, 4));
    ASSERT_F32(&y, DIMS(4), 1, 2, 3, 4);
    array z = RUN("func.func @main(%x: tensor<?xf32>) -> tensor<f32> {\n"
                  "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
                  "  %y = stablehlo.reduce(%x init: %zero) applies stablehlo.add across "
                  "dimensions = [0] : (tensor<?xf32>, tensor<f32>) -> tensor<f32>\n"
                  "  return %y : tensor<f32>\n"
                  "}\n",
                  0, array_of(TN_F32, DIMS(0), NULL));
    ASSERT_F32(&z, SCALAR, 0);
}

/* --- sizes from values --- */

static void a_scalar_says_the_size(void **state)
{
    const char *text =
        "func.func @main(%n: tensor<i64>, %x: tensor<f32>) -> tensor<?xf32> {\n"
        "  %two = stablehlo.constant dense<2> : tensor<i64>\n"
        "  %m = stablehlo.multiply %n, %two : tensor<i64>\n"
        "  %c = stablehlo.convert %m : (tensor<i64>) -> tensor<i32>\n"
        "  %s = stablehlo.reshape %c : (tensor<i32>) -> tensor<1xi32>\n"
        "  %y = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [] : (tensor<f32>, "
        "tensor<1xi32>) -> tensor<?xf32>\n"
        "  return %y : tensor<?xf32>\n"
        "}\n";
    array y = RUN(text, 1, I64(2), F32(SCALAR, 7));
    ASSERT_F32(&y, DIMS(4), 7, 7, 7, 7);
    y = RUN(text, 1, I64(0), F32(SCALAR, 7));
    ASSERT_F32(&y, DIMS(0), 0);
    REFUSED(text, INVALID_ARGUMENT, "dimension 0 of result 0 should be at least 0 and is -4",
            I64(-2), F32(SCALAR, 7));
    REFUSED("func.func @main(%s: tensor<3xi64>) -> tensor<?x?x?xf32> {\n"
            "  %y = stablehlo.dynamic_iota %s, dim = 0 : (tensor<3xi64>) -> tensor<?x?x?xf32>\n"
            "  return %y : tensor<?x?x?xf32>\n"
            "}\n",
            RESOURCE_EXHAUSTED, "which no memory holds",
            array_of(TN_I64, DIMS(3), (int64_t[]){INT32_MAX, INT32_MAX, 2}));
}

/* The number of elements above zero, then that many ones, then the square of their number. */
static void sizes_may_depend_on_data_and_on_each_other(void **state)
{
    const char *text =
        "func.func @main(%x: tensor<?xi32>) -> tensor<?x?xi32> {\n"
        "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %n = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : "
        "(tensor<?xi32>, tensor<i32>) -> tensor<i32>\n"
        "  %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
        "  %a = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>\n"
        "  %m = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : "
        "(tensor<?xi32>, tensor<i32>) -> tensor<i32>\n"
        "  %t = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>\n"
        "  %u = stablehlo.concatenate %t, %s, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> "
        "tensor<2xi32>\n"
        "  %b = stablehlo.dynamic_broadcast_in_dim %a, %u, dims = [1] : (tensor<?xi32>, "
        "tensor<2xi32>) -> tensor<?x?xi32>\n"
        "  return %b : tensor<?x?xi32>\n"
        "}\n";
    array y = RUN(text, 2, array_of(TN_I32, DIMS(2), (int32_t[]){1, 2}));
    ASSERT_I32(&y, DIMS(3, 3), 0, 1, 2, 0, 1, 2, 0, 1, 2);
    y = RUN(text, 2, array_of(TN_I32, DIMS(3), (int32_t[]){1, 0, 1}));
    ASSERT_I32(&y, DIMS(1, 2), 0, 1);
}

static void branches_may_differ_in_size(void **state)
{
    const char *text =
        "func.func @main(%p: tensor<i32>, %x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %y = \"stablehlo.case\"(%p) ({\n"
        "    stablehlo.return %x : tensor<?xf32>\n"
        "  }, {\n"
        "    %z = stablehlo.concatenate %x, %x, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> "
        "tensor<?xf32>\n"
        "    stablehlo.return %z : tensor<?xf32>\n"
        "  }) : (tensor<i32>) -> tensor<?xf32>\n"
        "  return %y : tensor<?xf32>\n"
        "}\n";
    array y = RUN(text, 1, I32(0), F32(DIMS(2), 1, 2));
    ASSERT_F32(&y, DIMS(2), 1, 2);
    y = RUN(text, 1, I32(9), F32(DIMS(2), 1, 2));
    ASSERT_F32(&y, DIMS(4), 1, 2, 1, 2);
}

/* The shape within the loop is computed from what it carries on unchanged. */
static const char doubling_loop[] =
    "func.func @main(%n: tensor<i32>, %x: tensor<?xf32>) -> tensor<?xf32> {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %f = stablehlo.constant dense<1.0> : tensor<f32>\n"
    "  %r:3 = stablehlo.while(%i = %zero, %k = %n, %v = %x) : tensor<i32>, tensor<i32>, "
    "tensor<?xf32>\n"
    "  cond {\n"
    "    %c = stablehlo.compare LT, %i, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    %s = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>\n"
    "    %b = stablehlo.dynamic_broadcast_in_dim %f, %s, dims = [] : (tensor<f32>, "
    "tensor<1xi32>) -> tensor<?xf32>\n"
    "    %w = stablehlo.add %v, %b : tensor<?xf32>\n"
    "    stablehlo.return %j, %k, %w : tensor<i32>, tensor<i32>, tensor<?xf32>\n"
    "  }\n"
    "  return %r#2 : tensor<?xf32>\n"
    "}\n";

static void loops_use_sizes_from_outside(void **state)
{
    array y = RUN(doubling_loop, 1, I32(2), F32(DIMS(2), 5, 6));
    ASSERT_F32(&y, DIMS(2), 7, 8);
    REFUSED(doubling_loop, INVALID_ARGUMENT, "should have the shape of operand 0", I32(3),
            F32(DIMS(2), 5, 6));
}

static void loops_may_change_shapes(void **state)
{
    const char *text =
        "func.func @main(%n: tensor<i32>, %x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
        "  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<?xf32>\n"
        "  cond {\n"
        "    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %c : tensor<i1>\n"
        "  } do {\n"
        "    %j = stablehlo.add %i, %one : tensor<i32>\n"
        "    %w = stablehlo.concatenate %v, %v, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> "
        "tensor<?xf32>\n"
        "    stablehlo.return %j, %w : tensor<i32>, tensor<?xf32>\n"
        "  }\n"
        "  return %r#1 : tensor<?xf32>\n"
        "}\n";
    array y = RUN(text, 1, I32(2), F32(DIMS(2), 5, 6));
    ASSERT_F32(&y, DIMS(8), 5, 6, 5, 6, 5, 6, 5, 6);
    y = RUN(text, 1, I32(0), F32(DIMS(2), 5, 6));
    ASSERT_F32(&y, DIMS(2), 5, 6);
    y = RUN(text, 0, I32(9), F32(DIMS(0), 0)); /* without elements it stays what it is */
    ASSERT_F32(&y, DIMS(0), 0);
    REFUSED(text, RESOURCE_EXHAUSTED, "which no memory holds", I32(100), F32(DIMS(2), 5, 6));
}

/* That the shape changes is seen only when the size is known; then the loop stays one. */
static void loops_may_change_shapes_once(void **state)
{
    const char *text =
        "func.func @main(%n: tensor<i32>, %x: tensor<?xf32>) -> (tensor<?xf32>, tensor<i32>) {\n"
        "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
        "  %f = stablehlo.constant dense<1.0> : tensor<f32>\n"
        "  %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
        "  %r:3 = stablehlo.while(%i = %zero, %m = %zero, %v = %x) : tensor<i32>, tensor<i32>, "
        "tensor<?xf32>\n"
        "  cond {\n"
        "    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %c : tensor<i1>\n"
        "  } do {\n"
        "    %j = stablehlo.add %i, %one : tensor<i32>\n"
        "    %k = stablehlo.get_dimension_size %v, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
        "    %o = stablehlo.add %m, %k : tensor<i32>\n"
        "    %w = stablehlo.dynamic_broadcast_in_dim %f, %s, dims = [] : (tensor<f32>, "
        "tensor<1xi32>) -> tensor<?xf32>\n"
        "    stablehlo.return %j, %o, %w : tensor<i32>, tensor<i32>, tensor<?xf32>\n"
        "  }\n"
        "  return %r#2, %r#1 : tensor<?xf32>, tensor<i32>\n"
        "}\n";
    tn_executable *e = compiled(text);
    array out[2], args[2] = {I32(3), F32(DIMS(2), 5, 6)};
    unsigned stages;
    MUST(run_sized(e, args, 2, out, &stages));
    assert_int_equal(stages, 1);
    ASSERT_F32(&out[0], DIMS(3), 1, 1, 1);
    ASSERT_I32(&out[1], SCALAR, 2 + 3 + 3);
    tn_executable_release(e);
}

/* Whether to go on depends on the data: each iteration is a stage. */
static void loops_may_change_shapes_until_the_data_says_so(void **state)
{
    const char *text =
        "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %most = stablehlo.constant dense<30.0> : tensor<f32>\n"
        "  %r = stablehlo.while(%v = %x) : tensor<?xf32>\n"
        "  cond {\n"
        "    %s = stablehlo.reduce(%v init: %zero) applies stablehlo.add across dimensions = [0] "
        ": (tensor<?xf32>, tensor<f32>) -> tensor<f32>\n"
        "    %c = stablehlo.compare LT, %s, %most : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "    stablehlo.return %c : tensor<i1>\n"
        "  } do {\n"
        "    %w = stablehlo.concatenate %v, %v, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> "
        "tensor<?xf32>\n"
        "    stablehlo.return %w : tensor<?xf32>\n"
        "  }\n"
        "  return %r : tensor<?xf32>\n"
        "}\n";
    array y = RUN(text, 3, F32(DIMS(2), 5, 6)); /* sums of 11, 22, 44 */
    ASSERT_F32(&y, DIMS(8), 5, 6, 5, 6, 5, 6, 5, 6);
    y = RUN(text, 1, F32(DIMS(1), 30));
    ASSERT_F32(&y, DIMS(1), 30);
}

static void sizes_from_random_numbers_are_refused(void **state)
{
    const char *text =
        "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %lo = stablehlo.constant dense<1> : tensor<i32>\n"
        "  %hi = stablehlo.constant dense<9> : tensor<i32>\n"
        "  %sh = stablehlo.constant dense<1> : tensor<1xi64>\n"
        "  %s = stablehlo.rng %lo, %hi, %sh, distribution = UNIFORM : (tensor<i32>, tensor<i32>, "
        "tensor<1xi64>) -> tensor<1xi32>\n"
        "  %y = stablehlo.dynamic_reshape %x, %s : (tensor<?xf32>, tensor<1xi32>) -> "
        "tensor<?xf32>\n"
        "  return %y : tensor<?xf32>\n"
        "}\n";
    REFUSED(text, UNIMPLEMENTED, "random numbers", F32(DIMS(2), 5, 6));
}

/* --- op by op --- */

/* Sizes of the operands and all other numbers are arguments, so that nothing is known beforehand.
 */
static void padding_may_be_data(void **state)
{
    const char *text =
        "func.func @main(%x: tensor<?xf32>, %low: tensor<1xi64>) -> tensor<?xf32> {\n"
        "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %one = stablehlo.constant dense<1> : tensor<1xi64>\n"
        "  %y = stablehlo.dynamic_pad %x, %zero, %low, %one, %one : (tensor<?xf32>, tensor<f32>, "
        "tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>\n"
        "  return %y : tensor<?xf32>\n"
        "}\n";
    array y = RUN(text, 1, F32(DIMS(2), 5, 6), array_of(TN_I64, DIMS(1), (int64_t[]){2}));
    ASSERT_F32(&y, DIMS(6), 0, 0, 5, 0, 6, 0);
    y = RUN(text, 1, F32(DIMS(2), 5, 6), array_of(TN_I64, DIMS(1), (int64_t[]){-1}));
    ASSERT_F32(&y, DIMS(3), 0, 6, 0);
}

static void slice_sizes_may_be_data(void **state)
{
    const char *text =
        "func.func @main(%x: tensor<?xf32>, %i: tensor<2x1xi32>, %n: tensor<1xi32>) -> "
        "tensor<2x?xf32> {\n"
        "  %y = \"stablehlo.dynamic_gather\"(%x, %i, %n) <{dimension_numbers = "
        "#stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, "
        "indices_are_sorted = false}> : (tensor<?xf32>, tensor<2x1xi32>, tensor<1xi32>) -> "
        "tensor<2x?xf32>\n"
        "  return %y : tensor<2x?xf32>\n"
        "}\n";
    array y =
        RUN(text, 1, F32(DIMS(4), 0, 1, 2, 3), array_of(TN_I32, DIMS(2, 1), (int32_t[]){3, 0}),
            array_of(TN_I32, DIMS(1), (int32_t[]){2}));
    ASSERT_F32(&y, DIMS(2, 2), 2, 3, 0, 1);
}

static void slices_may_be_data(void **state)
{
    const char *text =
        "func.func @main(%x: tensor<?xf32>, %a: tensor<1xi32>, %b: tensor<1xi32>) -> "
        "tensor<?xf32> {\n"
        "  %two = stablehlo.constant dense<2> : tensor<1xi32>\n"
        "  %y = stablehlo.real_dynamic_slice %x, %a, %b, %two : (tensor<?xf32>, tensor<1xi32>, "
        "tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>\n"
        "  return %y : tensor<?xf32>\n"
        "}\n";
    array a = array_of(TN_I32, DIMS(1), (int32_t[]){1}),
          b = array_of(TN_I32, DIMS(1), (int32_t[]){5});
    array y = RUN(text, 1, F32(DIMS(6), 0, 1, 2, 3, 4, 5), a, b);
    ASSERT_F32(&y, DIMS(2), 1, 3);
    REFUSED(text, INVALID_ARGUMENT, "a slice over -4 elements", F32(DIMS(3), 0, 1, 2), b, a);
}

/* Where a slice begins need not be known if its size is. */
static void starts_within_loops_may_be_data(void **state)
{
    const char *text =
        "func.func @main(%x: tensor<?xi32>) -> tensor<?xi32> {\n"
        "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
        "  %ones = stablehlo.constant dense<1> : tensor<1xi32>\n"
        "  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xi32>) -> tensor<i32>\n"
        "  %m = stablehlo.subtract %n, %one : tensor<i32>\n"
        "  %size = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>\n"
        "  %a = stablehlo.dynamic_broadcast_in_dim %zero, %size, dims = [] : (tensor<i32>, "
        "tensor<1xi32>) -> tensor<?xi32>\n"
        "  %r:2 = stablehlo.while(%i = %zero, %v = %a) : tensor<i32>, tensor<?xi32>\n"
        "  cond {\n"
        "    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %c : tensor<i1>\n"
        "  } do {\n"
        "    %j = stablehlo.add %i, %one : tensor<i32>\n"
        "    %s = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>\n"
        "    %l = stablehlo.add %s, %size : tensor<1xi32>\n"
        "    %b = stablehlo.real_dynamic_slice %x, %s, %l, %ones : (tensor<?xi32>, "
        "tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>\n"
        "    %w = stablehlo.add %v, %b : tensor<?xi32>\n"
        "    stablehlo.return %j, %w : tensor<i32>, tensor<?xi32>\n"
        "  }\n"
        "  return %r#1 : tensor<?xi32>\n"
        "}\n";
    /* Slices from 0, 1 and, moved from 2, from 1 again. */
    array y = RUN(text, 0, array_of(TN_I32, DIMS(3), (int32_t[]){1, 10, 100}));
    ASSERT_I32(&y, DIMS(2), 21, 210);
}

static void paddings_of_convolutions_may_be_data(void **state)
{
    const char *text =
        "func.func @main(%x: tensor<1x?x1xf32>, %k: tensor<2x1x1xf32>, %p: tensor<1x2xi32>) -> "
        "tensor<1x?x1xf32> {\n"
        "  %y = \"stablehlo.dynamic_conv\"(%x, %k, %p) <{batch_group_count = 1 : i64, "
        "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count "
        "= 1 : i64}> : (tensor<1x?x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi32>) -> "
        "tensor<1x?x1xf32>\n"
        "  return %y : tensor<1x?x1xf32>\n"
        "}\n";
    array y = RUN(text, 1, F32(DIMS(1, 3, 1), 1, 2, 3), F32(DIMS(2, 1, 1), 10, 1),
                  array_of(TN_I32, DIMS(1, 2), (int32_t[]){1, 0}));
    ASSERT_F32(&y, DIMS(1, 3, 1), 1, 12, 23);
}

/* What StableHLO has only as custom calls. */
static void calls_that_stand_for_ops(void **state)
{
    array y = RUN("func.func private @plus(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {\n"
                  "  %c = stablehlo.add %a, %b : tensor<i32>\n"
                  "  return %c : tensor<i32>\n"
                  "}\n"
                  "func.func public @main(%x: tensor<?xi32>) -> tensor<?xi32> {\n"
                  "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
                  "  %one = stablehlo.constant dense<1> : tensor<1xi64>\n"
                  "  %two = stablehlo.constant dense<2> : tensor<1xi64>\n"
                  "  %pad = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi64>\n"
                  "  %y = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %two, "
                  "%one, %one, %one, %pad) {called_computations = [@plus]} : (tensor<?xi32>, "
                  "tensor<i32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, "
                  "tensor<1x2xi64>) -> tensor<?xi32>\n"
                  "  return %y : tensor<?xi32>\n"
                  "}\n",
                  0, array_of(TN_I32, DIMS(3), (int32_t[]){1, 10, 100}));
    ASSERT_I32(&y, DIMS(3), 1, 11, 110);
    y = RUN("func.func @main(%x: tensor<?xi32>, %k: tensor<i32>) -> tensor<?xi32> {\n"
            "  %y:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %k) : (tensor<?xi32>, "
            "tensor<i32>) -> (tensor<?xi32>, tensor<?xi32>)\n"
            "  %z = stablehlo.concatenate %y#0, %y#1, dim = 0 : (tensor<?xi32>, tensor<?xi32>) -> "
            "tensor<?xi32>\n"
            "  return %z : tensor<?xi32>\n"
            "}\n",
            1, array_of(TN_I32, DIMS(4), (int32_t[]){3, 7, 3, 5}), I32(3));
    ASSERT_I32(&y, DIMS(6), 7, 5, 3, 1, 3, 0);
    y = RUN("func.func @main(%s: tensor<2xui64>, %n: tensor<1xi32>) -> tensor<i32> {\n"
            "  %y:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%s, %n) "
            "{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>, "
            "tensor<1xi32>) -> (tensor<2xui64>, tensor<?xui32>)\n"
            "  %z = stablehlo.get_dimension_size %y#1, dim = 0 : (tensor<?xui32>) -> tensor<i32>\n"
            "  return %z : tensor<i32>\n"
            "}\n",
            1, array_of(TN_U64, DIMS(2), (uint64_t[]){1, 2}),
            array_of(TN_I32, DIMS(1), (int32_t[]){5}));
    ASSERT_I32(&y, SCALAR, 5);
}

static void calls_that_take_shapes_along(void **state)
{
    array y = RUN("func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
                  "  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> "
                  "tensor<i32>\n"
                  "  %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
                  "  %y = stablehlo.custom_call @Sharding(%x, %s) {indices_of_shape_operands = "
                  "dense<1> : tensor<1xi64>} : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>\n"
                  "  %z = stablehlo.custom_call @stablehlo.shape_refinement_operand_wrapper(%y, "
                  "%s) {indices_of_shape_operands = dense<1> : tensor<1xi64>} : (tensor<?xf32>, "
                  "tensor<1xi32>) -> tensor<?xf32>\n"
                  "  return %z : tensor<?xf32>\n"
                  "}\n",
                  0, F32(DIMS(2), 5, 6));
    ASSERT_F32(&y, DIMS(2), 5, 6);
}

static void set_dimension_size_cuts_and_fills_up(void **state)
{
    const char *text =
        "func.func @main(%x: tensor<2x3xf32>, %n: tensor<i32>) -> (tensor<2x?xf32, "
        "#stablehlo.bounds<?, 4>>, tensor<i32>) {\n"
        "  %y = stablehlo.set_dimension_size %x, %n, dim = 1 : (tensor<2x3xf32>, tensor<i32>) -> "
        "tensor<2x?xf32, #stablehlo.bounds<?, 4>>\n"
        "  %m = stablehlo.get_dimension_size %y, dim = 1 : (tensor<2x?xf32, #stablehlo.bounds<?, "
        "4>>) -> tensor<i32>\n"
        "  return %y, %m : tensor<2x?xf32, #stablehlo.bounds<?, 4>>, tensor<i32>\n"
        "}\n";
    array x = F32(DIMS(2, 3), 1, 2, 3, 4, 5, 6);
    array y = RUN(text, 1, x, I32(2));
    ASSERT_F32(&y, DIMS(2, 2), 1, 2, 4, 5);
    y = RUN(text, 1, x, I32(3));
    ASSERT_F32(&y, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
    y = RUN(text, 1, x, I32(4));
    ASSERT_F32(&y, DIMS(2, 4), 1, 2, 3, 0, 4, 5, 6, 0);
    REFUSED(text, INVALID_ARGUMENT, "more than its bound", x, I32(5));
}

/* --- assertions --- */

static const char asserting[] =
    "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
    "  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
    "  %two = stablehlo.constant dense<2> : tensor<i32>\n"
    "  %ok = stablehlo.compare GE, %n, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "  stablehlo.custom_call @shape_assertion(%ok, %n) {api_version = 2 : i32, error_message = "
    "\"the size should be at least 2 and is {0}\", has_side_effect = true} : (tensor<i1>, "
    "tensor<i32>) -> ()\n"
    "  return %x : tensor<?xf32>\n"
    "}\n";

static void assertions_about_sizes_are_checked(void **state)
{
    array y = RUN(asserting, 0, F32(DIMS(2), 5, 6));
    ASSERT_F32(&y, DIMS(2), 5, 6);
    REFUSED(asserting, INVALID_ARGUMENT, "the size should be at least 2 and is 1", F32(DIMS(1), 5));
}

static void assertions_about_values_are_checked_too(void **state)
{
    const char *text =
        "func.func @main(%n: tensor<i32>, %x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %m = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
        "  %ok = stablehlo.compare EQ, %n, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "  stablehlo.custom_call @shape_assertion(%ok, %n, %m) {api_version = 2 : i32, "
        "error_message = \"{0} is said, {1} is so\", has_side_effect = true} : (tensor<i1>, "
        "tensor<i32>, tensor<i32>) -> ()\n"
        "  return %x : tensor<?xf32>\n"
        "}\n";
    array y = RUN(text, 1, I32(2), F32(DIMS(2), 5, 6));
    ASSERT_F32(&y, DIMS(2), 5, 6);
    REFUSED(text, INVALID_ARGUMENT, "3 is said, 2 is so", I32(3), F32(DIMS(2), 5, 6));
}

/* --- programs that say enough by themselves --- */

static void sizes_that_follow_from_the_program_make_it_static(void **state)
{
    tn_executable *e = compiled("func.func @main(%x: tensor<2xf32>) -> tensor<?xf32> {\n"
                                "  %s = stablehlo.constant dense<[1, 2]> : tensor<2xi64>\n"
                                "  %y = stablehlo.dynamic_reshape %x, %s : (tensor<2xf32>, "
                                "tensor<2xi64>) -> tensor<?x?xf32>\n"
                                "  %z = stablehlo.reshape %y : (tensor<?x?xf32>) -> "
                                "tensor<2xf32>\n"
                                "  %w = stablehlo.concatenate %z, %z, dim = 0 : (tensor<2xf32>, "
                                "tensor<2xf32>) -> tensor<?xf32>\n"
                                "  return %w : tensor<?xf32>\n"
                                "}\n");
    const tn_executable_info *info = tn_executable_get_info(e);
    assert_false(info->is_dynamic);
    assert_int_equal(info->results[0].type->dims[0], 4);
    array x = F32(DIMS(2), 5, 6), y = array_of(TN_F32, DIMS(4), NULL);
    run(e, (void *[]){x.data}, (void *[]){y.data});
    ASSERT_F32(&y, DIMS(4), 5, 6, 5, 6);
    tn_executable_release(e);
}

static void the_specialized_outlives_its_base(void **state)
{
    tn_executable *e = compiled(broadcast_row), *s;
    array args[2] = {F32(DIMS(1, 2), 1, 2), F32(DIMS(2), 10, 20)};
    args[0].type.dims = args[0].dims;
    args[1].type.dims = args[1].dims;
    tn_sizes sizes = {(const tn_type *[]){&args[0].type, &args[1].type}, NULL, 0};
    MUST(tn_executable_specialize(e, &sizes, &s));
    tn_executable_release(e);
    args[0].dims[0] = 77; /* types of arguments are copied */
    assert_int_equal(tn_executable_get_info(s)->results[0].type->dims[0], 1);
    array y = array_of(TN_F32, DIMS(1, 2), NULL);
    run(s, (void *[]){args[0].data, args[1].data}, (void *[]){y.data});
    ASSERT_F32(&y, DIMS(1, 2), 11, 22);
    tn_executable_release(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_executable_runs_at_several_sizes),
        cmocka_unit_test(a_bound_is_kept),
        cmocka_unit_test(sizes_that_contradict_each_other_are_refused),
        cmocka_unit_test(ranks_of_nine_and_nothing),
        cmocka_unit_test(a_scalar_says_the_size),
        cmocka_unit_test(sizes_may_depend_on_data_and_on_each_other),
        cmocka_unit_test(branches_may_differ_in_size),
        cmocka_unit_test(loops_use_sizes_from_outside),
        cmocka_unit_test(loops_may_change_shapes),
        cmocka_unit_test(loops_may_change_shapes_once),
        cmocka_unit_test(loops_may_change_shapes_until_the_data_says_so),
        cmocka_unit_test(sizes_from_random_numbers_are_refused),
        cmocka_unit_test(padding_may_be_data),
        cmocka_unit_test(slice_sizes_may_be_data),
        cmocka_unit_test(slices_may_be_data),
        cmocka_unit_test(starts_within_loops_may_be_data),
        cmocka_unit_test(calls_that_stand_for_ops),
        cmocka_unit_test(calls_that_take_shapes_along),
        cmocka_unit_test(paddings_of_convolutions_may_be_data),
        cmocka_unit_test(set_dimension_size_cuts_and_fills_up),
        cmocka_unit_test(assertions_about_sizes_are_checked),
        cmocka_unit_test(assertions_about_values_are_checked_too),
        cmocka_unit_test(sizes_that_follow_from_the_program_make_it_static),
        cmocka_unit_test(the_specialized_outlives_its_base),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
