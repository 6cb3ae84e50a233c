/* SPDX-License-Identifier: Apache-2.0 */
/* op_test.h - builds single ops and runs them, for the unit tests of inference and evaluators.
 *
 *     TEST(pads_inside)
 *     {
 *         tn_op *op = make_op(TN_OP_pad, "3xi32, i32", "5xi32");
 *         SET_INTS(op, interior_padding, 1);
 *         ...
 *         int32_t out[5];
 *         RUN(op, IN(x, &value), OUT(out));
 *         EXPECT(int32_t, out, 1, 0, 2, 0, 3);
 *     }
 *
 * RUN verifies the op first. Memory lives in an arena that ends with the test. */
#ifndef TN_OPS_OP_TEST_H
#define TN_OPS_OP_TEST_H

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/thread_pool.h"
#include "ops/body.h"
#include "ops/interpret.h"
#include "ops/ops.h"
#include "ops/prepared.h"

#define UNUSED __attribute__((unused))

static tn_arena *arena;
static tn_module *module;
static tn_function *function;
static tn_thread_pool *pool; /* NULL unless a test makes one */

static void in_arena(tn_status *(*fn)(void *))
{
    arena = tn_arena_new();
    assert_non_null(arena);
    tn_status *s = tn_arena_run(arena, fn, NULL);
    if (s) fail_msg("%s", tn_status_message(s));
    tn_arena_free(arena);
}

static void begin_test(void)
{
    module = tn_module_new(arena);
    tn_type *t = TN_NEW(arena, tn_type);
    t->kind = TN_TYPE_FUNCTION;
    function = tn_module_add_function(module, "main", t);
    module->main = function;
    pool = NULL;
}

#define TEST(name)                                                                                 \
    static void name##_body(void);                                                                 \
    static tn_status *name##_in_arena(void *unused)                                                \
    {                                                                                              \
        begin_test();                                                                              \
        name##_body();                                                                             \
        return NULL;                                                                               \
    }                                                                                              \
    static void name(void **state)                                                                 \
    {                                                                                              \
        in_arena(name##_in_arena);                                                                 \
    }                                                                                              \
    static void name##_body(void)

/* "2x3xf32", "token". */
UNUSED static const tn_type *type_of(const char *text, size_t size)
{
    if (size == 5 && !memcmp(text, "token", 5)) return tn_type_token();
    int64_t dims[16];
    uint32_t rank = 0;
    const char *end = text + size;
    while (text < end && (*text == '?' || (*text >= '0' && *text <= '9'))) {
        char *next = (char *)text + 1;
        dims[rank++] = *text == '?' ? TN_DYNAMIC : strtoll(text, &next, 10);
        text = next + 1; /* the x */
    }
    tn_element_type e = tn_element_type_parse(text, (size_t)(end - text));
    if (!e) fail_msg("bad type at %s", text);
    return tn_type_tensor(arena, e, rank, dims);
}

/* Types separated by ", ". */
UNUSED static uint32_t types_of(const char *text, const tn_type **out)
{
    uint32_t n = 0;
    while (text && *text) {
        const char *end = strstr(text, ", ");
        size_t size = end ? (size_t)(end - text) : strlen(text);
        out[n++] = type_of(text, size);
        text = end ? end + 2 : NULL;
    }
    return n;
}

UNUSED static tn_op *make_op_with_regions(tn_op_kind kind, const char *operands,
                                          const char *results, uint32_t n_regions)
{
    const tn_type *types[64];
    uint32_t n = types_of(operands, types);
    tn_region *args = TN_NEW(arena, tn_region);
    tn_region_init(module, args, function, NULL, n);
    const tn_type *result_types[64];
    uint32_t n_results = types_of(results, result_types);
    tn_op *op = tn_op_new(module, kind, n, n_results, n_regions);
    for (uint32_t i = 0; i < n; i++) {
        args->args[i].type = types[i];
        op->operands[i] = &args->args[i];
    }
    for (uint32_t i = 0; i < n_results; i++) op->results[i].type = result_types[i];
    tn_op_append(&function->body, op);
    return op;
}

UNUSED static tn_op *make_op(tn_op_kind kind, const char *operands, const char *results)
{
    return make_op_with_regions(kind, operands, results, 0);
}

/* --- regions --- */

/* Gives region i of `op` arguments of these types. */
UNUSED static tn_region *make_region(tn_op *op, uint32_t i, const char *args)
{
    const tn_type *types[64];
    uint32_t n = types_of(args, types);
    tn_region_init(module, &op->regions[i], function, op, n);
    for (uint32_t j = 0; j < n; j++) op->regions[i].args[j].type = types[j];
    return &op->regions[i];
}

/* Appends an op on up to 3 values (NULL ends them) with one result. */
UNUSED static tn_value *append(tn_region *r, tn_op_kind kind, const char *result, tn_value *a,
                               tn_value *b, tn_value *c)
{
    uint32_t n = !a ? 0 : !b ? 1 : !c ? 2 : 3;
    tn_op *op = tn_op_new(module, kind, n, 1, 0);
    tn_value *values[] = {a, b, c};
    for (uint32_t i = 0; i < n; i++) op->operands[i] = values[i];
    op->results[0].type = type_of(result, strlen(result));
    tn_op_append(r, op);
    return &op->results[0];
}

UNUSED static tn_value *append_compare(tn_region *r, int direction, int type, tn_value *a,
                                       tn_value *b)
{
    tn_value *v = append(r, TN_OP_compare, "i1", a, b, NULL);
    tn_op_set_attr(module, v->op, TN_ATTR_comparison_direction, tn_attr_int(arena, direction));
    tn_op_set_attr(module, v->op, TN_ATTR_compare_type, tn_attr_int(arena, type));
    return v;
}

UNUSED static tn_value *append_constant(tn_region *r, const char *type, const void *data)
{
    tn_value *v = append(r, TN_OP_constant, type, NULL, NULL, NULL);
    tn_literal l = {.type = v->type, .size = tn_type_bytes(v->type)};
    l.data = tn_dup(arena, data, l.size);
    tn_op_set_attr(module, v->op, TN_ATTR_value, tn_attr_tensor(arena, &l));
    return v;
}

UNUSED static void append_return(tn_region *r, uint32_t n, tn_value *const *values)
{
    tn_op *op = tn_op_new(module, TN_OP_return, n, 0, 0);
    for (uint32_t i = 0; i < n; i++) op->operands[i] = values[i];
    tn_op_append(r, op);
}

/* Region i of `op` becomes (x: e, y: e) -> kind(x, y). */
UNUSED static void make_binary_region(tn_op *op, uint32_t i, tn_op_kind kind, const char *e)
{
    char two[64];
    snprintf(two, sizeof two, "%s, %s", e, e);
    tn_region *r = make_region(op, i, two);
    tn_value *v = append(r, kind, e, &r->args[0], &r->args[1], NULL);
    append_return(r, 1, &v);
}

/* --- attributes --- */

#define SET_INTS(op, name, ...)                                                                    \
    tn_op_set_attr(module, op, TN_ATTR_##name,                                                     \
                   tn_attr_ints(arena, (int64_t[]){__VA_ARGS__},                                   \
                                sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
#define SET_NO_INTS(op, name)                                                                      \
    tn_op_set_attr(module, op, TN_ATTR_##name, tn_attr_ints(arena, (int64_t[]){0}, 0))
#define SET_INT(op, name, value)                                                                   \
    tn_op_set_attr(module, op, TN_ATTR_##name, tn_attr_int(arena, value))
#define SET_BOOL(op, name, value)                                                                  \
    tn_op_set_attr(module, op, TN_ATTR_##name, tn_attr_bool(arena, value))
#define SET_STRING(op, name, value)                                                                \
    tn_op_set_attr(module, op, TN_ATTR_##name, tn_attr_string(arena, value, strlen(value)))

/* --- running --- */

#define IN(...)  ((const void *[]){__VA_ARGS__, NULL})
#define OUT(...) ((void *[]){__VA_ARGS__, NULL})
#define NO_IN    ((const void *[]){NULL})

/* What loops run in place of the evaluator gives the same, see ops/prepared.h. */
UNUSED static tn_status *check_prepared(const tn_op *op, const tn_tensor *operands,
                                        const tn_tensor *results)
{
    tn_prepared p = {0};
    const tn_body *bodies[4];
    for (uint32_t i = 0; i < op->n_regions && i < 4; i++)
        if (op->kind != TN_OP_reduce && op->kind != TN_OP_scatter) return NULL;
        else TN_TRY(tn_body_compile(&op->regions[i], arena, &bodies[i]));
    if (!tn_prepare_op(op, bodies, arena, &p)) {
        assert_true(!p.eval && !p.data); /* callers keep what they had */
        return NULL;
    }
    size_t bytes = tn_type_bytes(results[0].type);
    tn_tensor again = {aligned_alloc(64, (bytes + 64) & ~(size_t)63), results[0].type};
    assert_non_null(again.data);
    memset(again.data, 0xa5, bytes);
    tn_scratch scratch = {NULL};
    tn_eval_context ctx = {.pool = pool, .scratch = &scratch, .bodies = bodies, .prepared = p.data};
    tn_status *s = p.eval(op, &ctx, operands, &again);
    if (!s) assert_memory_equal(again.data, results[0].data, bytes);
    tn_scratch_release(&scratch);
    free(again.data);
    return s;
}

UNUSED static tn_status *run(tn_op *op, const void *const *in, void *const *out)
{
    TN_TRY(tn_op_verify(op, arena));
    tn_tensor operands[64], results[64];
    for (uint32_t i = 0; i < op->n_operands; i++)
        operands[i] = (tn_tensor){(void *)in[i], op->operands[i]->type};
    for (uint32_t i = 0; i < op->n_results; i++)
        results[i] = (tn_tensor){out[i], op->results[i].type};
    tn_eval_context ctx = {.pool = pool};
    TN_TRY(tn_interpret_op(op, &ctx, NULL, operands, results));
    return check_prepared(op, operands, results);
}

#define RUN(op, in, out)                                                                           \
    do {                                                                                           \
        tn_status *status_ = run(op, in, out);                                                     \
        if (status_) fail_msg("%s", tn_status_message(status_));                                   \
    } while (0)

/* Verification fails with a message that holds `text`. */
UNUSED static void expect_invalid(tn_op *op, tn_code code, const char *text)
{
    tn_status *s = tn_op_verify(op, arena);
    assert_non_null(s);
    if (tn_status_code(s) != code || !strstr(tn_status_message(s), text))
        fail_msg("got %s: %s\nexpected \"%s\"", tn_code_name(tn_status_code(s)),
                 tn_status_message(s), text);
    tn_status_free(s);
}
#define EXPECT_INVALID(op, text) expect_invalid(op, TN_INVALID_ARGUMENT, text)

#define EXPECT(T, got, ...)                                                                        \
    do {                                                                                           \
        const T want_[] = {__VA_ARGS__};                                                           \
        for (size_t i_ = 0; i_ < sizeof want_ / sizeof want_[0]; i_++)                             \
            if (memcmp(&want_[i_], (const T *)(got) + i_, sizeof(T)))                              \
                fail_msg("element %zu is %.17g, expected %.17g", i_,                               \
                         (double)((const T *)(got))[i_], (double)want_[i_]);                       \
    } while (0)

/* A small generator, so that cases are the same everywhere. */
static uint64_t random_state = 0x9E3779B97F4A7C15u;
UNUSED static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}
UNUSED static int64_t random_below(int64_t n)
{
    return (int64_t)(random_bits() % (uint64_t)n);
}

UNUSED static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
