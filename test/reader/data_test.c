/* SPDX-License-Identifier: Apache-2.0 */
/* data_test FOLDER - the programs of test/data/modules, which JAX wrote: what stands in them is
 * what is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "reader/reader.h"

static const char *folder;

typedef struct {
    uint8_t *data;
    size_t size;
    tn_arena *arena;
    tn_module *module;
    const char *text;
    const tn_op *place_of; /* set by a callback: what `place` is asked of */
    const char *place;
    void (*look)(const tn_module *m); /* runs inside of tn_arena_run */
} job;

static tn_status *read(void *ctx)
{
    job *j = ctx;
    size_t size;
    TN_TRY(tn_read_bytecode(j->data, j->size, j->arena, &j->module));
    j->text = tn_module_print(j->module, j->arena, &size);
    assert_int_equal(strlen(j->text), size);
    if (j->look) j->look(j->module);
    return NULL;
}

static tn_status *try_module(job *j, const char *name, void (*look)(const tn_module *m))
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.mlirbc", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s is missing", path);
    *j = (job){.data = malloc(1 << 20), .arena = tn_arena_new(), .look = look};
    j->size = fread(j->data, 1, 1 << 20, f);
    fclose(f);
    return tn_arena_run(j->arena, read, j);
}

static tn_module *open_module(job *j, const char *name, void (*look)(const tn_module *m))
{
    tn_status *s = try_module(j, name, look);
    if (s) fail_msg("%s: %s", name, tn_status_message(s));
    return j->module;
}

static void close_module(job *j)
{
    tn_arena_free(j->arena);
    free(j->data);
}

/* The n-th op of this kind in a region and below. */
static const tn_op *find(const tn_region *r, tn_op_kind kind, int *n)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (op->kind == kind && (*n)-- == 0) return op;
        for (uint32_t i = 0; i < op->n_regions; i++) {
            const tn_op *inner = find(&op->regions[i], kind, n);
            if (inner) return inner;
        }
    }
    return NULL;
}

static const tn_op *op_of(const tn_module *m, tn_op_kind kind, int n)
{
    for (const tn_function *f = m->functions; f; f = f->next) {
        const tn_op *op = find(&f->body, kind, &n);
        if (op) return op;
    }
    fail_msg("no %s", tn_op_infos[kind].text);
    return NULL;
}

static void assert_ints(const tn_op *op, tn_attr_name name, uint32_t n, const int64_t *expected)
{
    uint32_t got;
    const int64_t *v = tn_op_ints(op, name, &got);
    assert_int_equal(got, n);
    for (uint32_t i = 0; i < n; i++) assert_int_equal(v[i], expected[i]);
}
#define INTS(...)                                                                                  \
    sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[])                    \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void look_at_places(const tn_module *m)
{
    const tn_op *op = op_of(m, TN_OP_tanh, 0);
    const char *place = tn_op_location(op);
    if (strncmp(place, "make_modules.py:", 16) || !strstr(place, "(jit(step)/") ||
        !strstr(place, "tanh)"))
        fail_msg("the place of tanh is \"%s\"", place);
    tn_status *s = TN_OP_ERROR(INVALID_ARGUMENT, op, "is wrong");
    assert_non_null(strstr(tn_status_message(s), "stablehlo.tanh (at make_modules.py:"));
    tn_status_free(s);
}

static void a_training_step(void **state)
{
    job j;
    const tn_module *m = open_module(&j, "mlp_grad", look_at_places);
    assert_string_equal(m->name, "jit_step");
    assert_int_equal(m->main->type->n_inputs, 6);
    assert_int_equal(m->main->type->n_parts - m->main->type->n_inputs, 5);
    for (uint32_t i = 0; i < 4; i++) { /* parameters are donated */
        const tn_attr *v = tn_attr_get(m->main->arg_attrs[i], "tf.aliasing_output");
        assert_non_null(v);
        assert_int_equal(v->kind, TN_ATTR_KIND_INT);
        assert_int_equal(v->integer, i);
    }
    assert_null(m->main->arg_attrs[5]);
    const tn_op *dot = op_of(m, TN_OP_dot_general, 0);
    assert_ints(dot, TN_ATTR_lhs_contracting_dimensions, INTS(1));
    assert_ints(dot, TN_ATTR_rhs_contracting_dimensions, INTS(0));
    uint32_t n;
    assert_null(tn_op_attr(dot, TN_ATTR_accumulation_type));
    tn_op_ints(dot, TN_ATTR_lhs_batching_dimensions, &n);
    assert_int_equal(n, 0);
    const tn_attr *precision = tn_op_attr(dot, TN_ATTR_precision_config);
    assert_int_equal(precision->list.n, 2);
    assert_int_equal(precision->list.items[0]->kind, TN_ATTR_KIND_INT);
    close_module(&j);
}

static void windows_and_convolutions(void **state)
{
    job j;
    const tn_module *m = open_module(&j, "conv", NULL);
    const tn_op *conv = op_of(m, TN_OP_convolution, 0);
    assert_int_equal(tn_op_int(conv, TN_ATTR_input_feature_dimension, -1), 3);
    assert_ints(conv, TN_ATTR_kernel_spatial_dimensions, INTS(0, 1));
    assert_ints(conv, TN_ATTR_window_strides, INTS(1, 2));
    const tn_attr *padding = tn_op_attr(conv, TN_ATTR_padding);
    assert_int_equal(padding->ints.rows, 2);
    assert_int_equal(padding->ints.n, 4);
    uint32_t n;
    const bool *reversed = tn_op_bools(conv, TN_ATTR_window_reversal, &n);
    assert_int_equal(n, 2);
    assert_false(reversed[0]);
    const tn_op *select = op_of(m, TN_OP_select_and_scatter, 0);
    assert_int_equal(select->n_regions, 2);
    assert_ints(select, TN_ATTR_window_dimensions, INTS(1, 2, 2, 1));
    assert_non_null(strstr(j.text, "#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>"));
    close_module(&j);
}

static const tn_literal *constant_of_type(const tn_module *m, tn_element_type e, uint32_t rank)
{
    for (int i = 0;; i++) {
        const tn_op *op = op_of(m, TN_OP_constant, i);
        if (tn_result_type(op, 0)->element == e && tn_result_type(op, 0)->rank == rank)
            return &tn_op_attr(op, TN_ATTR_value)->tensor;
    }
}

static void constants_of_small_types(void **state)
{
    static const uint8_t f8[] = {0x30, 0xBC, 0x7E}, i4[] = {1, 0xF8, 7}, u4[] = {3, 15, 0};
    static const uint8_t booleans[] = {1, 0, 1, 1, 0, 0, 1, 0, 1};
    job j;
    const tn_module *m = open_module(&j, "small_types", NULL);
    assert_memory_equal(constant_of_type(m, TN_F8E4M3FN, 1)->data, f8, sizeof f8);
    assert_memory_equal(constant_of_type(m, TN_I4, 1)->data, i4, sizeof i4);
    assert_memory_equal(constant_of_type(m, TN_U4, 1)->data, u4, sizeof u4);
    assert_memory_equal(constant_of_type(m, TN_I1, 1)->data, booleans, sizeof booleans);
    const uint16_t *bf16 = constant_of_type(m, TN_BF16, 1)->data;
    assert_int_equal(bf16[0], 0x7F80);
    assert_int_equal(bf16[1] & 0x7FFF, 0x7FC0);
    assert_int_equal(bf16[2], 0x8000);
    const tn_literal *many = constant_of_type(m, TN_I32, 1);
    assert_int_equal(many->size, 1200);
    for (int i = 0; i < 300; i++) assert_int_equal(((const int32_t *)many->data)[i], i);
    /* Large constants are printed as their bytes. */
    assert_non_null(strstr(j.text, "dense<\"0x000000000100000002000000"));
    assert_non_null(strstr(j.text, "dense<[1, -8, 7]> : tensor<3xi4>"));
    assert_non_null(strstr(j.text, "-0.0]> : tensor<3xbf16>"));
    close_module(&j);
}

static void algorithms_of_dots(void **state)
{
    job j;
    const tn_module *m = open_module(&j, "dots", NULL);
    const tn_op *dot = op_of(m, TN_OP_dot_general, 0);
    assert_ints(dot, TN_ATTR_lhs_batching_dimensions, INTS(0));
    const tn_attr *precision = tn_op_attr(dot, TN_ATTR_lhs_precision_type);
    assert_int_equal(precision->kind, TN_ATTR_KIND_TYPE);
    assert_string_equal(precision->type->alias, "tf32");
    assert_int_equal(tn_op_attr(dot, TN_ATTR_accumulation_type)->type->element, TN_F32);
    assert_int_equal(tn_op_int(dot, TN_ATTR_num_primitive_operations, 0), 1);
    assert_non_null(strstr(j.text, "lhs_precision_type = tf32, rhs_precision_type = tf32"));
    close_module(&j);
}

static void custom_calls(void **state)
{
    job j;
    const tn_module *m = open_module(&j, "custom_call", NULL);
    const tn_op *call = op_of(m, TN_OP_custom_call, 0);
    assert_string_equal(tn_op_string(call, TN_ATTR_call_target_name), "a_target");
    assert_true(tn_op_bool(call, TN_ATTR_has_side_effect, false));
    const tn_attr *config = tn_op_extra(call, "mhlo.backend_config");
    assert_int_equal(tn_attr_get(config, "axis")->integer, 1);
    assert_true(tn_attr_get(config, "scale")->real == 2.5);
    assert_string_equal(tn_attr_get(config, "name")->string.data, "n");
    const tn_attr *layouts = tn_op_attr(call, TN_ATTR_operand_layouts);
    assert_int_equal(layouts->list.n, 1);
    assert_int_equal(layouts->list.items[0]->kind, TN_ATTR_KIND_INTS);
    assert_int_equal(layouts->list.items[0]->ints.data[0], 0);
    const tn_op *top_k = NULL;
    for (int i = 0; !top_k; i++) {
        const tn_op *op = op_of(m, TN_OP_custom_call, i);
        if (!strcmp(tn_op_string(op, TN_ATTR_call_target_name), "ApproxTopK")) top_k = op;
    }
    const tn_attr *called = tn_op_attr(top_k, TN_ATTR_called_computations);
    assert_int_equal(called->list.n, 1);
    assert_non_null(tn_module_find(m, called->list.items[0]->string.data));
    close_module(&j);
}

static void tokens_in_signatures(void **state)
{
    job j;
    const tn_module *m = open_module(&j, "tokens", NULL);
    assert_int_equal(m->main->type->parts[0]->kind, TN_TYPE_TOKEN);
    assert_true(tn_attr_get(m->main->arg_attrs[0], "jax.token")->boolean);
    close_module(&j);
}

static void shardings(void **state)
{
    job j;
    const tn_module *m = open_module(&j, "sharded", NULL);
    assert_int_equal(m->num_partitions, 4);
    assert_int_equal(m->n_symbols, 1);
    assert_string_equal(tn_op_string(m->symbols[0], TN_ATTR_sym_name), "mesh");
    const tn_attr *mesh = tn_op_attr(m->symbols[0], TN_ATTR_mesh);
    assert_string_equal(mesh->list.tag, "sdy.mesh");
    assert_int_equal(mesh->list.items[0]->list.n, 2);
    assert_string_equal(mesh->list.items[0]->list.items[1]->list.items[0]->string.data, "y");
    assert_int_equal(mesh->list.items[0]->list.items[1]->list.items[1]->integer, 2);
    const tn_attr *sharding = tn_attr_get(m->main->result_attrs[0], "sdy.sharding");
    assert_string_equal(sharding->list.tag, "sdy.sharding");
    assert_string_equal(sharding->list.items[0]->string.data, "mesh");
    assert_int_equal(sharding->list.items[1]->list.items[0]->list.items[0]->list.n, 2);
    const tn_op *constraint = op_of(m, TN_OP_sdy_sharding_constraint, 0);
    assert_int_equal(constraint->operands[0]->op->kind, TN_OP_cast);
    assert_non_null(strstr(j.text, "sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>"));
    assert_non_null(strstr(j.text, "sdy.sharding = #sdy.sharding<@mesh, [{\"x\", \"y\"}, {}]>"));
    close_module(&j);
}

static void manual_computations(void **state)
{
    job j;
    const tn_module *m = open_module(&j, "shard_map", NULL);
    const tn_op *manual = op_of(m, TN_OP_sdy_manual_computation, 0);
    assert_int_equal(manual->n_regions, 1);
    assert_int_equal(manual->regions[0].last->kind, TN_OP_sdy_return);
    assert_int_equal(tn_op_attr(manual, TN_ATTR_manual_axes)->list.n, 2);
    const tn_op *reduce = op_of(m, TN_OP_all_reduce, 0);
    assert_ints(reduce, TN_ATTR_replica_groups, INTS(0, 2, 1, 3));
    assert_int_equal(tn_op_attr(reduce, TN_ATTR_replica_groups)->ints.rows, 2);
    assert_true(tn_op_bool(reduce, TN_ATTR_use_global_device_ids, false));
    assert_true(tn_op_int(reduce, TN_ATTR_channel_id, 0) > 0);
    assert_ints(op_of(m, TN_OP_collective_permute, 0), TN_ATTR_source_target_pairs,
                INTS(0, 2, 2, 0, 1, 3, 3, 1));
    close_module(&j);
}

static void functions_and_composites(void **state)
{
    job j;
    const tn_module *m = open_module(&j, "functions", NULL);
    const tn_op *call = op_of(m, TN_OP_call, 0);
    const tn_function *f = tn_module_find(m, tn_op_string(call, TN_ATTR_callee));
    assert_non_null(f);
    assert_false(f->is_public);
    const tn_op *composite = op_of(m, TN_OP_composite, 0);
    assert_non_null(tn_module_find(m, tn_op_string(composite, TN_ATTR_decomposition)));
    assert_int_equal(tn_op_attr(composite, TN_ATTR_composite_attributes)->kind, TN_ATTR_KIND_DICT);
    assert_int_equal(op_of(m, TN_OP_optimization_barrier, 0)->n_results, 2);
    close_module(&j);
}

/* One program written for several StableHLO versions reads as the same program. */
static void versions_agree(void **state)
{
    static const char *const groups[][8] = {{"index", "index@0.9.0", "index@0.11.0", "index@0.12.0",
                                             "index@0.14.0", "index@1.0.0", "index@1.8.0"},
                                            {"branches", "branches@0.9.0", "branches@1.0.0"},
                                            {"mlp_grad", "mlp_grad@0.9.0", "mlp_grad@1.0.0"}};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        job first, other;
        open_module(&first, groups[g][0], NULL);
        for (size_t i = 1; i < 8 && groups[g][i]; i++) {
            open_module(&other, groups[g][i], NULL);
            if (strcmp(first.text, other.text)) {
                size_t k = 0;
                while (first.text[k] == other.text[k]) k++;
                while (k && first.text[k - 1] != '\n') k--;
                fail_msg("%s differs:\n%.300s\n%.300s", groups[g][i], first.text + k,
                         other.text + k);
            }
            close_module(&other);
        }
        close_module(&first);
    }
}

static void the_others_are_read(void **state)
{
    static const char *const names[] = {"scan", "sort", "random", "complex_fft", "branches"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        job j;
        const tn_module *m = open_module(&j, names[i], NULL);
        assert_non_null(m->main);
        assert_non_null(strstr(j.text, "func.func public @main("));
        close_module(&j);
    }
}

/* StableHLO, func and sdy in bytecode of version 4 give what portable artifacts give. */
static void plain_programs_are_read_as_portable_ones(void **state)
{
    static const char *const names[] = {
        "branches", "complex_fft", "conv", "custom_call", "dots", "functions", "index",
        "mlp_grad", "random",      "scan", "small_types", "sort", "tokens"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        job portable, plain;
        snprintf(name, sizeof name, "../plain/%s", names[i]);
        open_module(&portable, names[i], NULL);
        open_module(&plain, name, NULL);
        assert_string_equal(portable.text, plain.text);
        close_module(&portable);
        close_module(&plain);
    }
}

/* Without the casts that stand between VHLO and Shardy in a portable one. */
static void plain_shardings_are_read(void **state)
{
    job j;
    open_module(&j, "../plain/shard_map", NULL);
    assert_non_null(strstr(j.text, "\"sdy.manual_computation\"(%arg0)"));
    close_module(&j);
    open_module(&j, "../plain/sharded", NULL);
    assert_non_null(strstr(j.text, "sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>"));
    close_module(&j);
}

static tn_status *read_text(void *ctx)
{
    job *j = ctx;
    size_t size;
    TN_TRY(tn_read_text((const char *)j->data, j->size, j->arena, &j->module));
    j->text = tn_module_print(j->module, j->arena, &size);
    return NULL;
}

static void ops_of_chlo_are_read_as_from_text(void **state)
{
    char path[1024];
    job j, text = {.data = malloc(1 << 16), .arena = tn_arena_new()};
    open_module(&j, "../plain/chlo", NULL);
    snprintf(path, sizeof path, "%s/../plain/chlo.mlir", folder);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    text.size = fread(text.data, 1, 1 << 16, f);
    fclose(f);
    assert_null(tn_arena_run(text.arena, read_text, &text));
    assert_string_equal(j.text, text.text);
    close_module(&j);
    close_module(&text);
}

static void plain_programs_may_be_cut_or_damaged_anywhere(void **state)
{
    static const char *const names[] = {"../plain/chlo", "../plain/functions", "../plain/sort"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        job j;
        open_module(&j, names[i], NULL);
        size_t whole = j.size;
        for (size_t n = 0; n < 2 * whole; n++) {
            uint8_t *copy = malloc(whole);
            memcpy(copy, j.data, whole);
            bool cut = n < whole;
            if (!cut) copy[n - whole] ^= (uint8_t)(1 + n * 37 % 255);
            job damaged = {.data = copy, .size = cut ? n : whole, .arena = tn_arena_new()};
            tn_status *s = tn_arena_run(damaged.arena, read, &damaged);
            if (cut) assert_non_null(s);
            tn_status_free(s);
            tn_arena_free(damaged.arena);
            free(copy);
        }
        close_module(&j);
    }
}

/* In newer bytecode attributes have no names. */
static void plain_programs_of_newer_bytecode_are_refused(void **state)
{
    job j;
    tn_status *s = try_module(&j, "../plain/dots@newest", NULL);
    assert_int_equal(tn_status_code(s), TN_UNIMPLEMENTED);
    assert_non_null(strstr(tn_status_message(s), "bytecode of versions up to 4"));
    tn_status_free(s);
    close_module(&j);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_step),
        cmocka_unit_test(windows_and_convolutions),
        cmocka_unit_test(constants_of_small_types),
        cmocka_unit_test(algorithms_of_dots),
        cmocka_unit_test(custom_calls),
        cmocka_unit_test(tokens_in_signatures),
        cmocka_unit_test(shardings),
        cmocka_unit_test(manual_computations),
        cmocka_unit_test(functions_and_composites),
        cmocka_unit_test(versions_agree),
        cmocka_unit_test(the_others_are_read),
        cmocka_unit_test(plain_programs_are_read_as_portable_ones),
        cmocka_unit_test(plain_shardings_are_read),
        cmocka_unit_test(ops_of_chlo_are_read_as_from_text),
        cmocka_unit_test(plain_programs_may_be_cut_or_damaged_anywhere),
        cmocka_unit_test(plain_programs_of_newer_bytecode_are_refused),
    };
    folder = argc > 1 ? argv[1] : "test/data/modules";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
