/* SPDX-License-Identifier: Apache-2.0 */
/* The reader on programs made by hand: what it gives, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "reader/reader.h"
#include "reader/test_builder.h"

typedef struct {
    const uint8_t *data;
    size_t size;
    tn_arena *arena;
    tn_module *module;
    const char *place; /* of the last op of main */
} job;

static tn_status *read(void *ctx)
{
    job *j = ctx;
    TN_TRY(tn_read_bytecode(j->data, j->size, j->arena, &j->module));
    if (j->module->main) j->place = tn_op_location(j->module->main->body.last);
    return NULL;
}

/* Reads what the builder holds, which is freed. The job is closed by drop. */
static tn_status *read_built(builder *b, job *j)
{
    *j = (job){.arena = tn_arena_new()};
    j->data = b_finish(b, &j->size);
    b_free(b);
    return tn_arena_run(j->arena, read, j);
}

static void drop(job *j)
{
    tn_arena_free(j->arena);
    free((void *)(uintptr_t)j->data);
}

static tn_module *read_good(builder *b, job *j)
{
    tn_status *s = read_built(b, j);
    if (s) fail_msg("%s", tn_status_message(s));
    return j->module;
}

/* Expects an error of this code whose message holds `part`. */
static void expect_error(builder *b, tn_code code, const char *part)
{
    job j;
    tn_status *s = read_built(b, &j);
    if (!s) fail_msg("expected \"%s\"", part);
    if (!strstr(tn_status_message(s), part))
        fail_msg("expected \"%s\", got \"%s\"", part, tn_status_message(s));
    assert_int_equal(tn_status_code(s), code);
    tn_status_free(s);
    drop(&j);
}

static void end_main(builder *b, int value)
{
    b_simple_op(b, B_OP_RETURN, -1, -1, 1, &value);
}

/* main(x) = add(x, x) */
static builder *add_program(void)
{
    builder *b = b_new();
    b_simple_op(b, b_op_name(b, B_VHLO, "add_v1"), -1, B_T4, 2, (const int[]){0, 0});
    end_main(b, 1);
    return b;
}

/* --- what is read --- */

static void a_function_is_read(void **state)
{
    job j;
    const tn_module *m = read_good(add_program(), &j);
    assert_non_null(m->main);
    assert_ptr_equal(m->functions, m->main);
    assert_null(m->main->next);
    assert_string_equal(m->main->name, "main");
    assert_true(m->main->is_public);
    assert_int_equal(m->num_replicas, 1);
    assert_int_equal(m->main->type->n_inputs, 1);
    const tn_op *add = m->main->body.first, *end = add->next;
    assert_int_equal(add->kind, TN_OP_add);
    assert_int_equal(add->n_operands, 2);
    assert_ptr_equal(add->operands[0], &m->main->body.args[0]);
    assert_ptr_equal(add->operands[1], &m->main->body.args[0]);
    assert_int_equal(tn_result_type(add, 0)->element, TN_I32);
    assert_int_equal(tn_result_type(add, 0)->dims[0], 4);
    assert_int_equal(end->kind, TN_OP_return);
    assert_ptr_equal(end->operands[0], &add->results[0]);
    assert_ptr_equal(m->main->body.last, end);
    drop(&j);
}

/* An empty module in every version of the bytecode. */
static void a_module_without_functions_is_read(void **state)
{
    for (unsigned version = 0; version <= 6; version++) {
        b_part *file = calloc(1, sizeof *file), *part = calloc(1, sizeof *part);
        builder *b = calloc(1, sizeof *b);
        b->open = file;
        b_data(b, "ML\xEFR", 4);
        b_number(b, version);
        b_data(b, "by hand", 8);
        b->open = part; /* dialect builtin, op module */
        b_number(b, 1);
        b_number(b, 0);
        if (version >= 4) b_number(b, 1);
        b_number(b, 0);
        b_number(b, 1);
        if (version >= 5) b_flagged(b, 1, true);
        else b_number(b, 1);
        b_section(b, file, 1, part);
        part->size = 0;
        b->open = part; /* one attribute, unknown location */
        b_number(b, 1);
        b_number(b, 0);
        b_number(b, 0);
        b_number(b, 1);
        b_flagged(b, 1, true);
        b_section(b, file, 3, part);
        part->size = 0;
        b->open = part;
        b_number(b, 15);
        b_section(b, file, 2, part);
        part->size = 0;
        b->open = part;
        b_flagged(b, 1, false);
        b_number(b, 0);
        b_byte(b, 0x10);
        b_number(b, 0);
        b_flagged(b, 1, true);
        if (version >= 2) {
            b_byte(b, 4);
            b_number(b, 3);
        }
        b_number(b, 1);
        b_number(b, 0);
        b_flagged(b, 0, false);
        b_section(b, file, 4, part);
        part->size = 0;
        b->open = part;
        b_number(b, 2);
        b_number(b, 7);
        b_number(b, 8);
        b_data(b, "builtin\0module", 15);
        b_section(b, file, 0, part);
        if (version >= 5) {
            part->size = 0;
            b->open = part;
            b_number(b, 0);
            b_section(b, file, 8, part);
        }
        job j = {.data = file->data, .size = file->size, .arena = tn_arena_new()};
        tn_status *s = tn_arena_run(j.arena, read, &j);
        if (s) fail_msg("version %u: %s", version, tn_status_message(s));
        assert_null(j.module->main);
        assert_null(j.module->functions);
        tn_arena_free(j.arena);
        free(part);
        free(file);
        b_free(b);
    }
}

/* A constant of `type`, given as its bytes. */
static builder *constant_program(builder *b, int type, const void *data, size_t size)
{
    int value = b_tensor(b, type, data, size), p = b_properties(b);
    b_number(b, (uint64_t)value);
    b_simple_op(b, b_op_name(b, B_VHLO, "constant_v1"), p, type, 0, NULL);
    end_main(b, 0);
    return b;
}

static const tn_literal *constant_of(const tn_module *m)
{
    const tn_attr *v = tn_op_attr(m->main->body.first, TN_ATTR_value);
    assert_non_null(v);
    assert_int_equal(v->kind, TN_ATTR_KIND_TENSOR);
    return &v->tensor;
}

static void constants_are_copied_and_aligned(void **state)
{
    static const int32_t values[4] = {1, -2, 3, INT32_MIN};
    job j;
    const tn_literal *v =
        constant_of(read_good(constant_program(b_new(), B_T4, values, sizeof values), &j));
    assert_false(v->splat);
    assert_int_equal(v->size, 16);
    assert_int_equal((uintptr_t)v->data % 64, 0);
    assert_memory_equal(v->data, values, 16);
    drop(&j);
}

static void a_splat_stays_one_element(void **state)
{
    static const int32_t value = 7;
    job j;
    const tn_literal *v = constant_of(read_good(constant_program(b_new(), B_T4, &value, 4), &j));
    assert_true(v->splat);
    assert_int_equal(v->size, 4);
    assert_int_equal(*(const int32_t *)v->data, 7);
    drop(&j);
}

static void booleans_are_unpacked(void **state)
{
    static const struct {
        int64_t n;
        uint8_t data[12];
        size_t size;
        uint8_t expected[12];
        size_t stored;
    } cases[] = {
        {9, {0x2D, 0x01}, 2, {1, 0, 1, 1, 0, 1, 0, 0, 1}, 9}, /* packed */
        {9, {0xFF}, 1, {1}, 1},                               /* splat of true */
        {9, {0x00}, 1, {0}, 1},                               /* splat of false */
        {3, {0x05}, 1, {1, 0, 1}, 3},                         /* packed in one byte */
        {3, {1, 0, 1}, 3, {1, 0, 1}, 3},                      /* a byte each */
        {1, {0xFF}, 1, {1}, 1},                               /* true */
        {1, {0x01}, 1, {1}, 1},                               /* true, old writers */
        {8, {0xA5}, 1, {1, 0, 1, 0, 0, 1, 0, 1}, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        builder *b = b_new();
        int type = b_tensor_type(b, B_BOOL, cases[i].n);
        job j;
        const tn_literal *v =
            constant_of(read_good(constant_program(b, type, cases[i].data, cases[i].size), &j));
        assert_int_equal(v->size, cases[i].stored);
        assert_memory_equal(v->data, cases[i].expected, cases[i].stored);
        assert_int_equal(v->splat, cases[i].stored == 1 && cases[i].n > 1);
        drop(&j);
    }
}

static void narrow_integers_are_sign_extended(void **state)
{
    static const uint8_t data[3] = {0x0D, 0x07, 0x08}, expected[3] = {0xFD, 0x07, 0xF8};
    builder *b = b_new();
    int type = b_tensor_type(b, B_I4, 3);
    job j;
    const tn_literal *v = constant_of(read_good(constant_program(b, type, data, 3), &j));
    assert_memory_equal(v->data, expected, 3);
    drop(&j);
}

static void old_versions_are_upgraded(void **state)
{
    builder *b = b_new();
    b_simple_op(b, b_op_name(b, B_VHLO, "cosine_v1"), -1, B_T4, 1, (const int[]){0});
    end_main(b, 1);
    job j;
    const tn_op *op = read_good(b, &j)->main->body.first;
    assert_int_equal(op->kind, TN_OP_cosine);
    const tn_attr *accuracy = tn_op_attr(op, TN_ATTR_result_accuracy);
    assert_non_null(accuracy);
    assert_string_equal(accuracy->list.tag, "result_accuracy");
    assert_int_equal(accuracy->list.n, 4);
    assert_int_equal(accuracy->list.items[3]->integer, 0);
    drop(&j);
}

/* send_v1 has no source_target_pairs; its integers come as they should. */
static void attributes_have_the_kinds_of_the_table(void **state)
{
    static const int64_t dims[2] = {0, 2};
    builder *b = b_new();
    int two = b_tensor_type(b, B_I64, 2);
    int value = b_tensor(b, two, dims, sizeof dims), p = b_properties(b);
    b_number(b, (uint64_t)value);
    b_simple_op(b, b_op_name(b, B_VHLO, "broadcast_in_dim_v1"), p, B_T4, 1, (const int[]){0});

    int direction = b_attr(b, B_VHLO, 3), type;
    b_number(b, 5);
    type = b_attr(b, B_VHLO, 4);
    b_number(b, 3);
    p = b_properties(b);
    b_number(b, (uint64_t)type);
    b_number(b, (uint64_t)direction);
    b_simple_op(b, b_op_name(b, B_VHLO, "compare_v1"), p, B_T4, 2, (const int[]){0, 1});
    end_main(b, 1);
    job j;
    const tn_op *op = read_good(b, &j)->main->body.first;
    uint32_t n;
    const int64_t *read_dims = tn_op_ints(op, TN_ATTR_broadcast_dimensions, &n);
    assert_int_equal(n, 2);
    assert_int_equal(read_dims[0], 0);
    assert_int_equal(read_dims[1], 2);
    assert_int_equal(tn_op_int(op->next, TN_ATTR_comparison_direction, -1),
                     TN_comparison_direction_LT);
    assert_int_equal(tn_op_int(op->next, TN_ATTR_compare_type, -1), TN_comparison_type_SIGNED);
    drop(&j);
}

/* A region may use what is defined around it, and numbers go on inside. */
static void regions_see_the_values_around_them(void **state)
{
    builder *b = b_new();
    int add = b_op_name(b, B_VHLO, "add_v1"), map = b_op_name(b, B_VHLO, "while_v1");
    b_op(b, map, 0x16); /* results, operands, regions */
    b_number(b, 1);
    b_number(b, B_T4);
    b_number(b, 1);
    b_number(b, 0);
    b_flagged(b, 2, false);
    for (int r = 0; r < 2; r++) { /* (%2) { %3 = add %0, %2; return %3 } */
        b_number(b, 1);
        b_number(b, 2);
        b_flagged(b, 2, true);
        b_number(b, 1);
        b_flagged(b, B_T4, false);
        b_byte(b, 0);
        b_number(b, (uint64_t)add);
        b_byte(b, 6);
        b_number(b, 0);
        b_number(b, 1);
        b_number(b, B_T4);
        b_number(b, 2);
        b_number(b, 0);
        b_number(b, 2);
        b_number(b, B_OP_RETURN);
        b_byte(b, 4);
        b_number(b, 0);
        b_number(b, 1);
        b_number(b, 3);
    }
    b->n_values++;
    end_main(b, 1);
    job j;
    const tn_module *m = read_good(b, &j);
    const tn_op *loop = m->main->body.first;
    assert_int_equal(loop->n_regions, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const tn_region *r = &loop->regions[i];
        assert_ptr_equal(r->function, m->main);
        assert_ptr_equal(r->parent, loop);
        assert_ptr_equal(r->first->operands[0], &m->main->body.args[0]);
        assert_ptr_equal(r->first->operands[1], &r->args[0]);
        assert_ptr_equal(r->last->operands[0], &r->first->results[0]);
    }
    drop(&j);
}

/* Discardable attributes that nobody knows are kept away, and do no harm. */
static void unknown_attributes_do_no_harm(void **state)
{
    builder *b = b_new();
    int key = b_builtin_string(b, "some.thing"), value = b_attr(b, B_BUILTIN, 0);
    b->attrs[value].bytes.size = 0;
    b_data(b, "affine_map<(d0) -> (d0)>", 25);
    b->attrs[value].assembly = true;
    int dict = b_attr(b, B_BUILTIN, 1);
    b_number(b, 1);
    b_number(b, (uint64_t)key);
    b_number(b, (uint64_t)value);
    b_op(b, B_OP_RETURN, 5);
    b_number(b, (uint64_t)dict);
    b_number(b, 1);
    b_number(b, 0);
    job j;
    const tn_op *op = read_good(b, &j)->main->body.first;
    const tn_attr *v = tn_op_extra(op, "some.thing");
    assert_non_null(v);
    assert_string_equal(v->list.tag, "unsupported");
    assert_non_null(strstr(v->list.items[0]->string.data, "affine_map<(d0) -> (d0)>"));
    drop(&j);
}

static int file_location(builder *b, const char *file, int line)
{
    int name = b_builtin_string(b, file), l = b_attr(b, B_BUILTIN, 11);
    b_number(b, (uint64_t)name);
    b_number(b, (uint64_t)line);
    b_number(b, 5);
    return l;
}

static int call_site(builder *b, int callee, int caller)
{
    int l = b_attr(b, B_BUILTIN, 10);
    b_number(b, (uint64_t)callee);
    b_number(b, (uint64_t)caller);
    return l;
}

/* The innermost frame of the user's own, under the op's name. */
static void a_location_names_the_users_line(void **state)
{
    builder *b = b_new();
    int inner = file_location(b, "/lib/site-packages/jax/x.py", 1);
    int user = file_location(b, "train.py", 42), outer = file_location(b, "main.py", 3);
    int chain = call_site(b, call_site(b, inner, user), outer);
    int text = b_builtin_string(b, "jit(f)/add"), name = b_attr(b, B_BUILTIN, 14);
    b_number(b, (uint64_t)text);
    b_number(b, (uint64_t)chain);
    b->open = &b->body;
    b->n_body++;
    b_number(b, B_OP_RETURN);
    b_byte(b, 4);
    b_number(b, (uint64_t)name);
    b_number(b, 1);
    b_number(b, 0);
    job j;
    read_good(b, &j);
    assert_string_equal(j.place, "train.py:42:5 (jit(f)/add)");
    drop(&j);
}

/* A location that contains itself ends too. */
static void a_cyclic_location_ends(void **state)
{
    builder *b = b_new();
    int l = call_site(b, 1, 1);
    b->attrs[l].bytes.size = 1;
    b->open = &b->attrs[l].bytes;
    b_number(b, (uint64_t)l);
    b_number(b, (uint64_t)l);
    b->open = &b->body;
    b->n_body++;
    b_number(b, B_OP_RETURN);
    b_byte(b, 4);
    b_number(b, (uint64_t)l);
    b_number(b, 1);
    b_number(b, 0);
    job j;
    read_good(b, &j);
    assert_string_equal(j.place, "");
    drop(&j);
}

/* --- replica groups by the axes of a mesh --- */

static int axis_ref(builder *b, const char *name, int before, int size)
{
    int text = b_vhlo_string(b, name), sub = -1;
    if (size) {
        sub = b_attr(b, B_VHLO, 21);
        b_signed(b, before);
        b_signed(b, size);
    }
    int ref = b_attr(b, B_VHLO, 22);
    b_number(b, (uint64_t)text);
    b_number(b, size != 0);
    if (size) b_number(b, (uint64_t)sub);
    return ref;
}

static int list_of(builder *b, int n, const int *items)
{
    int list = b_attr(b, B_VHLO, 1);
    b_number(b, (uint64_t)n);
    for (int i = 0; i < n; i++) b_number(b, (uint64_t)items[i]);
    return list;
}

/* The mesh x=2, y=4, with its devices backwards if asked for. */
static int mesh_2x4(builder *b, bool backwards)
{
    static const int64_t ids[8] = {7, 6, 5, 4, 3, 2, 1, 0};
    static const char *const names[2] = {"x", "y"};
    int axes[2], device_ids = 0;
    for (int i = 0; i < 2; i++) {
        int name = b_vhlo_string(b, names[i]);
        axes[i] = b_attr(b, B_VHLO, 24);
        b_number(b, (uint64_t)name);
        b_signed(b, 2 + 2 * i);
    }
    int list = list_of(b, 2, axes);
    if (backwards) device_ids = b_tensor(b, b_tensor_type(b, B_I64, 8), ids, sizeof ids);
    int mesh = b_attr(b, B_VHLO, 25);
    b_number(b, (uint64_t)list);
    b_flagged(b, (uint64_t)device_ids, backwards);
    return mesh;
}

/* main(x) = all_gather(x) over these axes of `mesh`, an attribute. */
static builder *gather_program(builder *b, int mesh, int n_axes, const int *axes)
{
    int list = list_of(b, n_axes, axes), groups = b_attr(b, B_VHLO, 23);
    b_number(b, (uint64_t)mesh);
    b_number(b, (uint64_t)list);
    int number = b_attr(b, B_VHLO, 9);
    b_number(b, B_I64);
    b_signed(b, 1);
    int yes = b_attr(b, B_VHLO, 2);
    b_number(b, 1);
    int p = b_properties(b);
    b_number(b, (uint64_t)number);
    b_number(b, (uint64_t)number);
    b_number(b, (uint64_t)groups);
    b_number(b, (uint64_t)yes);
    b_simple_op(b, b_op_name(b, B_VHLO, "all_gather_v2"), p, B_T4, 1, (const int[]){0});
    end_main(b, 1);
    return b;
}

static void expect_groups(builder *b, uint32_t rows, const int64_t *expected)
{
    job j;
    const tn_op *op = read_good(b, &j)->main->body.first;
    const tn_attr *v = tn_op_attr(op, TN_ATTR_replica_groups);
    assert_int_equal(v->kind, TN_ATTR_KIND_INTS);
    assert_int_equal(v->ints.rows, rows);
    assert_int_equal(v->ints.n, 8);
    for (int i = 0; i < 8; i++) assert_int_equal(v->ints.data[i], expected[i]);
    drop(&j);
}

static void replica_groups_follow_the_mesh(void **state)
{
    static const struct {
        int n;
        struct {
            const char *name;
            int before, size;
        } axes[2];
        bool backwards;
        uint32_t rows;
        int64_t expected[8];
    } cases[] = {
        {1, {{"y", 0, 0}}, false, 2, {0, 1, 2, 3, 4, 5, 6, 7}},
        {1, {{"x", 0, 0}}, false, 4, {0, 4, 1, 5, 2, 6, 3, 7}},
        {2, {{"y", 0, 0}, {"x", 0, 0}}, false, 1, {0, 4, 1, 5, 2, 6, 3, 7}},
        {2, {{"x", 0, 0}, {"y", 0, 0}}, true, 1, {7, 6, 5, 4, 3, 2, 1, 0}},
        {1, {{"x", 0, 0}}, true, 4, {7, 3, 6, 2, 5, 1, 4, 0}},
        {1, {{"y", 1, 2}}, false, 4, {0, 2, 1, 3, 4, 6, 5, 7}},
        {1, {{"y", 2, 2}}, false, 4, {0, 1, 2, 3, 4, 5, 6, 7}},
        {2, {{"y", 2, 2}, {"x", 0, 0}}, false, 2, {0, 4, 1, 5, 2, 6, 3, 7}},
        {0, {{NULL, 0, 0}}, false, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        builder *b = b_new();
        int mesh = mesh_2x4(b, cases[i].backwards), axes[2];
        for (int k = 0; k < cases[i].n; k++)
            axes[k] =
                axis_ref(b, cases[i].axes[k].name, cases[i].axes[k].before, cases[i].axes[k].size);
        expect_groups(gather_program(b, mesh, cases[i].n, axes), cases[i].rows, cases[i].expected);
    }
}

static void bad_axes_are_refused(void **state)
{
    builder *b = b_new();
    int mesh = mesh_2x4(b, false), axis = axis_ref(b, "z", 0, 0);
    expect_error(gather_program(b, mesh, 1, &axis), TN_INVALID_ARGUMENT,
                 "over axis z, which the mesh lacks");
    b = b_new();
    mesh = mesh_2x4(b, false), axis = axis_ref(b, "y", 1, 3);
    expect_error(gather_program(b, mesh, 1, &axis), TN_INVALID_ARGUMENT,
                 "a part of axis y that does not divide its size");
    b = b_new();
    mesh = mesh_2x4(b, false);
    int twice[2] = {axis_ref(b, "x", 0, 0), axis_ref(b, "x", 0, 0)};
    expect_error(gather_program(b, mesh, 2, twice), TN_INVALID_ARGUMENT, "parts of an axis that");
    b = b_new();
    mesh = b_vhlo_string(b, "nowhere"), axis = axis_ref(b, "x", 0, 0);
    expect_error(gather_program(b, mesh, 1, &axis), TN_INVALID_ARGUMENT,
                 "mesh @nowhere, which is not defined");
}

/* --- what is refused --- */

static void unknown_ops_are_named(void **state)
{
    static const char *const names[] = {"frobnicate_v1", "add_v2", "add", "add_v01x"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        builder *b = b_new();
        b_simple_op(b, b_op_name(b, B_VHLO, names[i]), -1, B_T4, 2, (const int[]){0, 0});
        end_main(b, 1);
        char text[64];
        snprintf(text, sizeof text, "op vhlo.%s is not supported", names[i]);
        expect_error(b, TN_UNIMPLEMENTED, text);
    }
}

static void newer_programs_are_refused(void **state)
{
    builder *b = add_program();
    b->producer = "StableHLO_v1.21.0";
    expect_error(b, TN_UNIMPLEMENTED, "written for StableHLO 1.21");
    b = add_program();
    b->producer = "StableHLO_v1.20.9";
    job j;
    read_good(b, &j);
    drop(&j);
}

static void operands_must_be_defined(void **state)
{
    builder *b = b_new();
    int add = b_op_name(b, B_VHLO, "add_v1");
    b_simple_op(b, add, -1, B_T4, 2, (const int[]){0, 2});
    b_simple_op(b, add, -1, B_T4, 2, (const int[]){0, 0});
    end_main(b, 1);
    expect_error(b, TN_INVALID_ARGUMENT, "value 2 is used before it is defined");
    b = b_new();
    b_simple_op(b, b_op_name(b, B_VHLO, "add_v1"), -1, B_T4, 2, (const int[]){0, 9});
    end_main(b, 1);
    expect_error(b, TN_INVALID_ARGUMENT, "no value 9 is visible here");
    b = add_program();
    b->n_values++;
    expect_error(b, TN_INVALID_ARGUMENT, "a region defines 2 values and claims 3");
    b = add_program();
    b->n_values--;
    expect_error(b, TN_INVALID_ARGUMENT, "a region defines more than the 1 values it claims");
}

static void numbers_of_operands_are_checked(void **state)
{
    builder *b = b_new();
    b_simple_op(b, b_op_name(b, B_VHLO, "add_v1"), -1, B_T4, 1, (const int[]){0});
    end_main(b, 1);
    expect_error(b, TN_INVALID_ARGUMENT, "vhlo.add_v1 should have 2 operands and has 1");
    b = b_new();
    b_simple_op(b, b_op_name(b, B_VHLO, "add_v1"), -1, -1, 2, (const int[]){0, 0});
    end_main(b, 0);
    expect_error(b, TN_INVALID_ARGUMENT, "vhlo.add_v1 should have 1 result and has 0");
}

static void blocks_end_with_a_terminator(void **state)
{
    builder *b = b_new();
    b_simple_op(b, b_op_name(b, B_VHLO, "add_v1"), -1, B_T4, 2, (const int[]){0, 0});
    expect_error(b, TN_INVALID_ARGUMENT, "does not end with a terminator");
    b = b_new();
    end_main(b, 0);
    end_main(b, 0);
    expect_error(b, TN_INVALID_ARGUMENT, "an op behind stablehlo.return");
}

static void attributes_must_be_there_and_of_their_kind(void **state)
{
    builder *b = b_new();
    b_simple_op(b, b_op_name(b, B_VHLO, "iota_v1"), -1, B_T4, 0, NULL);
    end_main(b, 1);
    expect_error(b, TN_INVALID_ARGUMENT, "vhlo.iota_v1 lacks the attribute iota_dimension");

    b = b_new();
    int text = b_vhlo_string(b, "zero"), p = b_properties(b);
    b_number(b, (uint64_t)text);
    b_simple_op(b, b_op_name(b, B_VHLO, "iota_v1"), p, B_T4, 0, NULL);
    end_main(b, 1);
    expect_error(b, TN_INVALID_ARGUMENT,
                 "attribute iota_dimension should be an integer and is a string");

    b = b_new();
    int wrong = b_attr(b, B_VHLO, 7); /* an FFT type */
    b_number(b, 1);
    p = b_properties(b);
    b_number(b, (uint64_t)wrong);
    b_number(b, (uint64_t)wrong);
    b_simple_op(b, b_op_name(b, B_VHLO, "compare_v1"), p, B_T4, 2, (const int[]){0, 0});
    end_main(b, 1);
    expect_error(b, TN_INVALID_ARGUMENT,
                 "attribute compare_type should be comparison_type and is fft_type");

    b = b_new();
    wrong = b_attr(b, B_VHLO, 7);
    b_number(b, 4);
    p = b_properties(b);
    b_number(b, (uint64_t)wrong);
    b_simple_op(b, b_op_name(b, B_VHLO, "iota_v1"), p, B_T4, 0, NULL);
    end_main(b, 1);
    expect_error(b, TN_INVALID_ARGUMENT, "fft_type 4, expected 0 to 3");
}

static void records_are_consumed_whole(void **state)
{
    static const int64_t zero = 0;
    builder *b = b_new();
    int one = b_tensor_type(b, B_I64, 1), value = b_tensor(b, one, &zero, 8), p = b_properties(b);
    b_number(b, (uint64_t)value);
    b_number(b, (uint64_t)value);
    b_simple_op(b, b_op_name(b, B_VHLO, "transpose_v1"), p, B_T4, 1, (const int[]){0});
    end_main(b, 1);
    expect_error(b, TN_INVALID_ARGUMENT, "expected the end of a property record");
}

static void constants_must_fit_their_type(void **state)
{
    static const uint8_t data[20];
    expect_error(constant_program(b_new(), B_T4, data, 12), TN_INVALID_ARGUMENT,
                 "a constant of type tensor<4xi32> has 12 bytes of data");
    builder *b = b_new();
    int booleans = b_tensor_type(b, B_BOOL, 9);
    expect_error(constant_program(b, booleans, data, 3), TN_INVALID_ARGUMENT,
                 "a constant of type tensor<9xi1> has 3 bytes of data");
    b = b_new();
    int dynamic = b_tensor_type(b, B_I32, INT64_MIN);
    expect_error(constant_program(b, dynamic, data, 4), TN_INVALID_ARGUMENT,
                 "a constant of type tensor<?xi32>");
}

static void types_must_not_overflow(void **state)
{
    /* rank 3; a zero in the middle does not save the product of the others */
    static const int64_t shapes[][3] = {
        {INT64_MAX, 1, 1}, {1 << 23, 1 << 23, 2}, {1l << 40, 0, 1l << 40}, {-1, 1, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        builder *b = b_new();
        int type = b_type(b, B_VHLO, 20);
        b_number(b, 3);
        for (int d = 0; d < 3; d++) b_signed(b, shapes[i][d]);
        b_number(b, B_I32);
        b_simple_op(b, b_op_name(b, B_VHLO, "reshape_v1"), -1, type, 1, (const int[]){0});
        end_main(b, 1);
        expect_error(b, TN_INVALID_ARGUMENT,
                     shapes[i][0] < 0 ? "dimension 0 of a tensor type is -1"
                                      : "more than 2^47 bytes");
    }
    builder *b = b_new();
    int tensor_of_tensors = b_tensor_type(b, B_T4, 2);
    b_simple_op(b, b_op_name(b, B_VHLO, "reshape_v1"), -1, tensor_of_tensors, 1, (const int[]){0});
    end_main(b, 1);
    expect_error(b, TN_INVALID_ARGUMENT, "expected an element type");
}

static void symbols_are_unique(void **state)
{
    builder *b = add_program();
    b->open = &b->extra;
    b_function_op(b, b->function_properties, true, 2, B_T4, b->n_body, &b->body);
    b->n_extra = 1;
    expect_error(b, TN_INVALID_ARGUMENT, "symbol main is defined twice");
}

static void arguments_are_as_the_type_says(void **state)
{
    builder *b = add_program();
    b->function_properties = b_function_properties(b, "main", B_T4, "public");
    expect_error(b, TN_INVALID_ARGUMENT, "the type of function main is no function type");
    b = add_program();
    int type = b_type(b, B_VHLO, 8);
    b_number(b, 1);
    b_number(b, B_T0);
    b_number(b, 0);
    b->function_properties = b_function_properties(b, "main", type, "public");
    expect_error(b, TN_INVALID_ARGUMENT,
                 "argument 0 of function main is tensor<4xi32> and should be tensor<i32>");
}

/* An entry that contains itself, at once or around a corner. */
static void cycles_are_found(void **state)
{
    builder *b = b_new();
    int list = b_attr(b, B_VHLO, 1), other;
    b_number(b, 1);
    b_number(b, (uint64_t)list + 1);
    other = b_attr(b, B_VHLO, 1);
    b_number(b, 1);
    b_number(b, (uint64_t)list);
    int p = b_properties(b);
    b_number(b, (uint64_t)other);
    b_simple_op(b, b_op_name(b, B_VHLO, "iota_v1"), p, B_T4, 0, NULL);
    end_main(b, 1);
    expect_error(b, TN_INVALID_ARGUMENT, "an attribute or type contains itself");
}

static void nesting_is_bounded(void **state)
{
    builder *b = b_new();
    int inner = b_vhlo_string(b, "leaf");
    for (int i = 0; i < 140; i++) {
        int list = b_attr(b, B_VHLO, 1);
        b_number(b, 1);
        b_number(b, (uint64_t)inner);
        inner = list;
    }
    int p = b_properties(b);
    b_number(b, (uint64_t)inner);
    b_simple_op(b, b_op_name(b, B_VHLO, "iota_v1"), p, B_T4, 0, NULL);
    end_main(b, 1);
    expect_error(b, TN_INVALID_ARGUMENT, "nested more than 128 deep");

    /* Forty pairs of pairs: small on the wire, 2^40 parts when written out. */
    b = b_new();
    inner = B_T4;
    for (int i = 0; i < 40; i++) {
        int pair = b_type(b, B_VHLO, 23);
        b_number(b, 2);
        b_number(b, (uint64_t)inner);
        b_number(b, (uint64_t)inner);
        inner = pair;
    }
    b_simple_op(b, b_op_name(b, B_VHLO, "tuple_v1"), -1, inner, 1, (const int[]){0});
    end_main(b, 1);
    expect_error(b, TN_INVALID_ARGUMENT, "has more than 1048576 parts");
}

/* A splat of integers is expanded when it is an attribute: little data must not ask for much. */
static void expansion_is_bounded(void **state)
{
    static const int64_t zero = 0;
    builder *b = b_new();
    int many = b_tensor_type(b, B_I64, 1l << 40), value = b_tensor(b, many, &zero, 8);
    int p = b_properties(b);
    b_number(b, (uint64_t)value);
    b_simple_op(b, b_op_name(b, B_VHLO, "transpose_v1"), p, B_T4, 1, (const int[]){0});
    end_main(b, 1);
    expect_error(b, TN_INVALID_ARGUMENT, "an attribute of 1099511627776 integers");
    b = b_new();
    many = b_tensor_type(b, B_I64, 1l << 31), value = b_tensor(b, many, &zero, 8);
    p = b_properties(b);
    b_number(b, (uint64_t)value);
    b_simple_op(b, b_op_name(b, B_VHLO, "transpose_v1"), p, B_T4, 1, (const int[]){0});
    end_main(b, 1);
    expect_error(b, TN_INVALID_ARGUMENT, "splats of integers expand to more than");
}

/* Every cut of a good file is an error with a place, and so is a byte too much. */
static void every_truncation_is_an_error(void **state)
{
    builder *b = add_program();
    size_t size;
    uint8_t *whole = b_finish(b, &size);
    b_free(b);
    for (size_t n = 0; n <= size + 1; n++) {
        if (n == size) continue;
        uint8_t *cut = calloc(1, n ? n : 1);
        memcpy(cut, whole, n < size ? n : size);
        job j = {.data = cut, .size = n, .arena = tn_arena_new()};
        tn_status *s = tn_arena_run(j.arena, read, &j);
        if (!s) fail_msg("%zu of %zu bytes were read", n, size);
        assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
        assert_non_null(strstr(tn_status_message(s), "bytecode, byte "));
        tn_status_free(s);
        drop(&j);
    }
    free(whole);
}

/* Out of memory at any point is an error and leaks nothing. */
static void out_of_memory_is_an_error(void **state)
{
    builder *b = add_program();
    size_t size;
    uint8_t *data = b_finish(b, &size);
    b_free(b);
    for (uint64_t n = 1;; n++) {
        job j = {.data = data, .size = size, .arena = tn_arena_new()};
        tn_arena_fail_at(j.arena, n);
        tn_status *s = tn_arena_run(j.arena, read, &j);
        tn_code code = tn_status_code(s);
        tn_status_free(s);
        tn_arena_free(j.arena);
        if (!code) break;
        assert_int_equal(code, TN_RESOURCE_EXHAUSTED);
        assert_true(n < 10000);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_read),
        cmocka_unit_test(a_module_without_functions_is_read),
        cmocka_unit_test(constants_are_copied_and_aligned),
        cmocka_unit_test(a_splat_stays_one_element),
        cmocka_unit_test(booleans_are_unpacked),
        cmocka_unit_test(narrow_integers_are_sign_extended),
        cmocka_unit_test(old_versions_are_upgraded),
        cmocka_unit_test(attributes_have_the_kinds_of_the_table),
        cmocka_unit_test(regions_see_the_values_around_them),
        cmocka_unit_test(unknown_attributes_do_no_harm),
        cmocka_unit_test(a_location_names_the_users_line),
        cmocka_unit_test(a_cyclic_location_ends),
        cmocka_unit_test(replica_groups_follow_the_mesh),
        cmocka_unit_test(bad_axes_are_refused),
        cmocka_unit_test(unknown_ops_are_named),
        cmocka_unit_test(newer_programs_are_refused),
        cmocka_unit_test(operands_must_be_defined),
        cmocka_unit_test(numbers_of_operands_are_checked),
        cmocka_unit_test(blocks_end_with_a_terminator),
        cmocka_unit_test(attributes_must_be_there_and_of_their_kind),
        cmocka_unit_test(records_are_consumed_whole),
        cmocka_unit_test(constants_must_fit_their_type),
        cmocka_unit_test(types_must_not_overflow),
        cmocka_unit_test(symbols_are_unique),
        cmocka_unit_test(arguments_are_as_the_type_says),
        cmocka_unit_test(cycles_are_found),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(expansion_is_bounded),
        cmocka_unit_test(every_truncation_is_an_error),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
