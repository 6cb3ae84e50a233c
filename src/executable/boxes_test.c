/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of random ops that only move elements give the same with passes and as they are. */
#include "executable/program_test.h"
#include "passes/rewrite.h"

enum { STEPS = 7, MOST_ELEMENTS = 1 << 16 };

typedef struct {
    uint64_t state;
    const char *type;
} recipe;

static int64_t pick(recipe *r, int64_t low, int64_t high)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return low + (int64_t)((r->state >> 33) % (uint64_t)(high - low + 1));
}

static void set_ints(builder *b, tn_op *op, tn_attr_name name, const int64_t *v, uint32_t n)
{
    tn_rewrite_ints(b->module, op, name, v, n);
}

static tn_value *typed(builder *b, tn_op *op, const tn_type *like, const int64_t *dims)
{
    op->results[0].type = tn_type_tensor(b->arena, like->element, 2, dims);
    return &op->results[0];
}

static tn_value *slice(builder *b, recipe *r, tn_value *x)
{
    int64_t start[2], limit[2], stride[2], dims[2];
    for (int d = 0; d < 2; d++) {
        int64_t n = x->type->dims[d];
        start[d] = pick(r, 0, n / 3);
        limit[d] = pick(r, start[d] + 1 + (n - start[d]) / 2, n);
        if (limit[d] > n) limit[d] = n;
        stride[d] = pick(r, 0, 3) ? 1 : pick(r, 1, 3);
        dims[d] = (limit[d] - start[d] + stride[d] - 1) / stride[d];
    }
    tn_op *op = add_op(b, TN_OP_slice, 1, &x, 1, 0);
    set_ints(b, op, TN_ATTR_start_indices, start, 2);
    set_ints(b, op, TN_ATTR_limit_indices, limit, 2);
    set_ints(b, op, TN_ATTR_strides, stride, 2);
    return typed(b, op, x->type, dims);
}

static tn_value *turned(builder *b, recipe *r, tn_value *x)
{
    int64_t dims[2] = {0, 1};
    tn_op *op = add_op(b, TN_OP_reverse, 1, &x, 1, 0);
    int64_t which = pick(r, 0, 2);
    set_ints(b, op, TN_ATTR_dimensions, dims + which % 2, which == 2 ? 2 : 1);
    return typed(b, op, x->type, x->type->dims);
}

static tn_value *padded(builder *b, recipe *r, tn_value *x, tn_value *with)
{
    int64_t low[2], high[2], interior[2] = {0, 0}, dims[2];
    for (int d = 0; d < 2; d++) {
        low[d] = pick(r, -1, 4);
        high[d] = pick(r, -1, 4);
        dims[d] = x->type->dims[d] + low[d] + high[d];
        if (dims[d] < 1) low[d] = high[d] = 0, dims[d] = x->type->dims[d];
    }
    tn_op *op = add_op(b, TN_OP_pad, 2, (tn_value *[]){x, with}, 1, 0);
    set_ints(b, op, TN_ATTR_edge_padding_low, low, 2);
    set_ints(b, op, TN_ATTR_edge_padding_high, high, 2);
    set_ints(b, op, TN_ATTR_interior_padding, interior, 2);
    return typed(b, op, x->type, dims);
}

/* A value and what is made of it, one behind the other; or a row of it many times. */
static tn_value *joined(builder *b, recipe *r, tn_value *x)
{
    int64_t d = pick(r, 0, 1), dims[2] = {x->type->dims[0], x->type->dims[1]};
    tn_value *y = turned(b, r, x);
    tn_op *op = add_op(b, TN_OP_concatenate, 2, (tn_value *[]){x, y}, 1, 0);
    tn_op_set_attr(b->module, op, TN_ATTR_dimension, tn_attr_int(b->arena, d));
    dims[d] *= 2;
    return typed(b, op, x->type, dims);
}

static tn_value *repeated(builder *b, recipe *r, tn_value *x)
{
    int64_t n = x->type->dims[1], row = pick(r, 0, x->type->dims[0] - 1), kept[2] = {0, 1};
    tn_op *op = add_op(b, TN_OP_slice, 1, &x, 1, 0);
    set_ints(b, op, TN_ATTR_start_indices, (int64_t[]){row, 0}, 2);
    set_ints(b, op, TN_ATTR_limit_indices, (int64_t[]){row + 1, n}, 2);
    set_ints(b, op, TN_ATTR_strides, (int64_t[]){1, 1}, 2);
    tn_value *one = typed(b, op, x->type, (int64_t[]){1, n});
    op = add_op(b, TN_OP_broadcast_in_dim, 1, &one, 1, 0);
    set_ints(b, op, TN_ATTR_broadcast_dimensions, kept, 2);
    return typed(b, op, x->type, (int64_t[]){pick(r, 1, 40), n});
}

static void build(builder *b, void *ctx)
{
    recipe r = *(recipe *)ctx;
    char scalar[8];
    snprintf(scalar, sizeof scalar, "%s", strrchr(r.type, 'x') + 1);
    begin_function(b, "main", PARAMS(r.type, scalar));
    tn_value *x = &b->region->args[0], *with = &b->region->args[1];
    for (int i = 0; i < STEPS; i++) {
        tn_value *y = NULL;
        switch (pick(&r, 0, 4)) {
        case 0: y = slice(b, &r, x); break;
        case 1: y = turned(b, &r, x); break;
        case 2: y = padded(b, &r, x, with); break;
        case 3: y = joined(b, &r, x); break;
        default: y = pick(&r, 0, 2) ? slice(b, &r, x) : repeated(b, &r, x); break;
        }
        if (tn_type_elements(y->type) <= MOST_ELEMENTS) x = y;
    }
    RETURN(b, x);
}

static bool has_boxes(const tn_executable *e)
{
    for (uint32_t i = 0; i < e->n_steps; i++)
        if (e->steps[i].kind == TN_STEP_EVAL && e->steps[i].op->kind == TN_OP_boxes) return true;
    return false;
}

static void moved_elements_are_where_they_belong(void **state)
{
    static const char *const types[] = {"37x29xi32", "64x65xi8", "20x17xf64", "3x300xi16"};
    _Alignas(64) static uint8_t in[1 << 16], got[MOST_ELEMENTS * 8], want[MOST_ELEMENTS * 8];
    uint64_t with = 0x1122334455667788;
    for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)(i * 2654435761u >> 13);
    int found = 0;
    for (int i = 0; i < 400; i++) {
        recipe r = {.state = (uint64_t)i * 7919 + 1, .type = types[i % 4]};
        tn_executable *fast, *slow;
        assert_null(compile_program(build, &r, false, 0, &fast));
        assert_null(compile_program(build, &r, true, 0, &slow));
        size_t size = (size_t)tn_type_bytes(tn_executable_get_info(fast)->results[0].type);
        memset(got, 0xEE, size);
        assert_null(run_executable(fast, (void *[]){in, &with}, (void *[]){got}));
        assert_null(run_executable(slow, (void *[]){in, &with}, (void *[]){want}));
        if (memcmp(got, want, size)) fail_msg("program %d differs", i);
        found += has_boxes(fast);
        tn_executable_release(fast);
        tn_executable_release(slow);
    }
    assert_true(found > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moved_elements_are_where_they_belong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
