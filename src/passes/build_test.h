/* SPDX-License-Identifier: Apache-2.0 */
/* build_test.h - builds whole programs, and runs passes on them, for the unit tests of this folder
 * and of executable.
 *
 *     PASS_TEST(a_negation_of_a_negation_is_its_operand)
 *     {
 *         begin_function(b, "main", PARAMS("8xi32"));
 *         tn_value *x = &b->region->args[0];
 *         RETURN(b, unary(b, TN_OP_negate, unary(b, TN_OP_negate, x)));
 *         assert_true(apply(b, tn_pass_simplify));
 *         assert_ptr_equal(returned(b, 0), x);
 *     }
 */
#ifndef TN_PASSES_BUILD_TEST_H
#define TN_PASSES_BUILD_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/interpret.h"
#include "passes/passes.h"

#define UNUSED __attribute__((unused))

/* What is being built. */
typedef struct {
    tn_arena *arena;
    tn_module *module;
    tn_function *function;
    tn_region *region; /* ops are appended here */
} builder;

/* "2x3xf32", "token". */
UNUSED static const tn_type *type_of(builder *b, const char *text)
{
    if (!strcmp(text, "token")) return tn_type_token();
    int64_t dims[16];
    uint32_t rank = 0;
    while (*text >= '0' && *text <= '9') {
        char *next;
        dims[rank++] = strtoll(text, &next, 10);
        text = next + 1; /* the x */
    }
    tn_element_type e = tn_element_type_parse(text, strlen(text));
    if (!e) fail_msg("bad type at %s", text);
    return tn_type_tensor(b->arena, e, rank, dims);
}

/* A function with these parameter types (NULL ends them); its body is what is built next. */
UNUSED static tn_function *begin_function(builder *b, const char *name, const char *const *params)
{
    uint32_t n = 0;
    while (params[n]) n++;
    b->function = tn_module_add_function(b->module, name, NULL);
    b->region = &b->function->body;
    tn_region_init(b->module, b->region, b->function, NULL, n);
    for (uint32_t i = 0; i < n; i++) b->region->args[i].type = type_of(b, params[i]);
    b->function->arg_attrs = TN_NEW_ARRAY(b->arena, const tn_attr *, n);
    return b->function;
}
#define PARAMS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_PARAMS   ((const char *const[]){NULL})

/* Ends a region; a function's type follows from what it returns. */
UNUSED static void end_region(builder *b, uint32_t n, tn_value *const *values)
{
    tn_op *op = tn_op_new(b->module, TN_OP_return, n, 0, 0);
    for (uint32_t i = 0; i < n; i++) op->operands[i] = values[i];
    tn_op_append(b->region, op);
    if (b->region->parent) return;
    tn_function *f = b->function;
    tn_type *t = TN_NEW(b->arena, tn_type);
    const tn_type **parts = TN_NEW_ARRAY(b->arena, const tn_type *, f->body.n_args + n);
    for (uint32_t i = 0; i < f->body.n_args; i++) parts[i] = f->body.args[i].type;
    for (uint32_t i = 0; i < n; i++) parts[f->body.n_args + i] = values[i]->type;
    *t = (tn_type){.kind = TN_TYPE_FUNCTION,
                   .n_parts = f->body.n_args + n,
                   .n_inputs = f->body.n_args,
                   .parts = parts};
    f->type = t;
}
#define RETURN(b, ...)                                                                             \
    end_region(b, sizeof((tn_value *[]){__VA_ARGS__}) / sizeof(tn_value *),                        \
               (tn_value *[]){__VA_ARGS__})

UNUSED static tn_op *add_op(builder *b, tn_op_kind kind, uint32_t n, tn_value *const *operands,
                            uint32_t n_results, uint32_t n_regions)
{
    tn_op *op = tn_op_new(b->module, kind, n, n_results, n_regions);
    for (uint32_t i = 0; i < n; i++) op->operands[i] = operands[i];
    tn_op_append(b->region, op);
    return op;
}

UNUSED static tn_value *unary(builder *b, tn_op_kind kind, tn_value *x)
{
    tn_op *op = add_op(b, kind, 1, &x, 1, 0);
    op->results[0].type = x->type;
    return &op->results[0];
}

UNUSED static tn_value *binary(builder *b, tn_op_kind kind, tn_value *x, tn_value *y)
{
    tn_op *op = add_op(b, kind, 2, (tn_value *[]){x, y}, 1, 0);
    op->results[0].type = x->type;
    return &op->results[0];
}

UNUSED static tn_value *constant(builder *b, const char *type, const void *data)
{
    tn_op *op = add_op(b, TN_OP_constant, 0, NULL, 1, 0);
    tn_literal l = {.type = type_of(b, type)};
    l.size = tn_type_bytes(l.type);
    l.data = tn_dup(b->arena, data, l.size);
    op->results[0].type = l.type;
    tn_op_set_attr(b->module, op, TN_ATTR_value, tn_attr_tensor(b->arena, &l));
    return &op->results[0];
}

UNUSED static tn_value *splat(builder *b, const char *type, const void *element)
{
    tn_op *op = add_op(b, TN_OP_constant, 0, NULL, 1, 0);
    tn_literal l = {.type = type_of(b, type), .splat = true};
    l.size = tn_element_type_bytes(l.type->element);
    l.data = tn_dup(b->arena, element, l.size);
    op->results[0].type = l.type;
    tn_op_set_attr(b->module, op, TN_ATTR_value, tn_attr_tensor(b->arena, &l));
    return &op->results[0];
}

UNUSED static tn_value *compare(builder *b, int direction, tn_value *x, tn_value *y)
{
    tn_op *op = add_op(b, TN_OP_compare, 2, (tn_value *[]){x, y}, 1, 0);
    op->results[0].type = tn_type_tensor(b->arena, TN_I1, x->type->rank, x->type->dims);
    tn_op_set_attr(b->module, op, TN_ATTR_comparison_direction, tn_attr_int(b->arena, direction));
    return &op->results[0];
}

UNUSED static tn_value *reshape(builder *b, tn_value *x, const char *type)
{
    tn_op *op = add_op(b, TN_OP_reshape, 1, &x, 1, 0);
    op->results[0].type = type_of(b, type);
    return &op->results[0];
}

/* Reverses dimension 0: cheap, and never in place. */
UNUSED static tn_value *reverse(builder *b, tn_value *x)
{
    tn_value *v = unary(b, TN_OP_reverse, x);
    tn_op_set_attr(b->module, v->op, TN_ATTR_dimensions, tn_attr_ints(b->arena, (int64_t[]){0}, 1));
    return v;
}

/* x with `update` at `start` of dimension 0; ranks are 1. */
UNUSED static tn_value *update_slice(builder *b, tn_value *x, tn_value *update, tn_value *start)
{
    tn_op *op = add_op(b, TN_OP_dynamic_update_slice, 3, (tn_value *[]){x, update, start}, 1, 0);
    op->results[0].type = x->type;
    return &op->results[0];
}

/* A while, if or case op; its regions are then begun one by one. */
UNUSED static tn_op *control(builder *b, tn_op_kind kind, uint32_t n, tn_value *const *operands,
                             uint32_t n_results, const tn_type *const *results, uint32_t n_regions)
{
    tn_op *op = add_op(b, kind, n, operands, n_results, n_regions);
    for (uint32_t i = 0; i < n_results; i++) op->results[i].type = results[i];
    return op;
}

UNUSED static tn_op *while_op(builder *b, uint32_t n, tn_value *const *inits)
{
    const tn_type *types[64];
    for (uint32_t i = 0; i < n; i++) types[i] = inits[i]->type;
    return control(b, TN_OP_while, n, inits, n, types, 2);
}

UNUSED static tn_region *begin_region(builder *b, tn_op *op, uint32_t i)
{
    tn_region *r = &op->regions[i];
    uint32_t n = op->kind == TN_OP_while ? op->n_operands : 0;
    tn_region_init(b->module, r, b->function, op, n);
    for (uint32_t j = 0; j < n; j++) r->args[j].type = op->operands[j]->type;
    return b->region = r;
}

#define MUST(expr)                                                                                 \
    do {                                                                                           \
        tn_status *must_status_ = (expr);                                                          \
        if (must_status_) fail_msg("%s", tn_status_message(must_status_));                         \
    } while (0)

/* --- passes --- */

UNUSED static void in_arena(tn_status *(*fn)(void *ctx))
{
    tn_arena *arena = tn_arena_new();
    assert_non_null(arena);
    tn_status *s = tn_arena_run(arena, fn, arena);
    if (s) fail_msg("%s", tn_status_message(s));
    tn_arena_free(arena);
}

#define PASS_TEST(name)                                                                            \
    static void name##_body(builder *b);                                                           \
    static tn_status *name##_in_arena(void *arena)                                                 \
    {                                                                                              \
        builder b = {.arena = arena, .module = tn_module_new(arena)};                              \
        name##_body(&b);                                                                           \
        return NULL;                                                                               \
    }                                                                                              \
    static void name(void **state)                                                                 \
    {                                                                                              \
        in_arena(name##_in_arena);                                                                 \
    }                                                                                              \
    static void name##_body(builder *b)

/* Runs a pass on the module, which must verify before and after; gives whether it changed it. */
UNUSED static bool apply(builder *b, tn_status *(*pass)(tn_module *m, bool *changed))
{
    b->module->main = tn_module_find(b->module, "main");
    MUST(tn_module_verify(b->module));
    bool changed = false;
    MUST(pass(b->module, &changed));
    MUST(tn_module_verify(b->module));
    return changed;
}

/* The pass must refuse the module with this code and a message that holds `text`. */
UNUSED static void expect_refused(builder *b, tn_status *(*pass)(tn_module *m, bool *changed),
                                  tn_code code, const char *text)
{
    b->module->main = tn_module_find(b->module, "main");
    bool changed = false;
    tn_status *s = pass(b->module, &changed);
    if (!s || tn_status_code(s) != code || !strstr(tn_status_message(s), text))
        fail_msg("got \"%s\", expected \"%s\"", s ? tn_status_message(s) : "", text);
    tn_status_free(s);
}

UNUSED static uint32_t count_in(const tn_region *r, tn_op_kind kind)
{
    uint32_t n = 0;
    for (const tn_op *op = r->first; op; op = op->next) {
        n += op->kind == kind;
        for (uint32_t i = 0; i < op->n_regions; i++) n += count_in(&op->regions[i], kind);
    }
    return n;
}

/* Ops of this kind in main, inner regions too. */
UNUSED static uint32_t count_ops(const builder *b, tn_op_kind kind)
{
    return count_in(&b->module->main->body, kind);
}

/* What main returns. */
UNUSED static tn_value *returned(const builder *b, uint32_t i)
{
    return tn_value_resolve(b->module->main->body.last->operands[i]);
}

UNUSED static const tn_literal *returned_constant(const builder *b, uint32_t i)
{
    const tn_value *v = returned(b, i);
    if (!v->op || v->op->kind != TN_OP_constant) fail_msg("result %u is no constant", i);
    return &tn_op_attr(v->op, TN_ATTR_value)->tensor;
}

#endif
