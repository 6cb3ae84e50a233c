/* SPDX-License-Identifier: Apache-2.0 */
/* refine_dynamic_call.c - the dynamic ops that StableHLO has only as custom calls.
 *
 * Before:  custom_call @stablehlo.dynamic_reduce_window(%x, %init, dimensions, strides, base and
 *          window dilations, padding), @stablehlo.dynamic_rng_bit_generator(%state, shape),
 *          @stablehlo.dynamic_top_k(%x, k), @stablehlo.dynamic_approx_top_k(%x.., %init.., k)
 * After:   reduce_window, rng_bit_generator, a stable sort and slices, ApproxTopK, once the numbers
 *          are constants.
 * Source:  StableHLO's experimental ops; jax.export makes them. */
#include <string.h>

#include "ops/infer.h"
#include "passes/refine.h"
#include "passes/rewrite.h"

typedef enum { NONE, REDUCE_WINDOW, RNG, TOP_K, APPROX_TOP_K } call_kind;

static call_kind kind_of(const tn_op *op)
{
    static const char *const names[] = {"reduce_window", "rng_bit_generator", "top_k",
                                        "approx_top_k"};
    static const char prefix[] = "stablehlo.dynamic_";
    const char *target = tn_op_string(op, TN_ATTR_call_target_name);
    if (op->kind != TN_OP_custom_call || strncmp(target, prefix, sizeof prefix - 1)) return NONE;
    for (int i = 0; i < 4; i++)
        if (!strcmp(target + sizeof prefix - 1, names[i])) return (call_kind)(i + 1);
    return NONE;
}

static tn_status *malformed(const tn_op *op)
{
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "operands or attributes don't fit target '%s'",
                       tn_op_string(op, TN_ATTR_call_target_name));
}

static void replace_all(tn_op *op, tn_value *const *by)
{
    for (uint32_t i = 0; i < op->n_results; i++) tn_value_replace(&op->results[i], by[i]);
    tn_op_remove(op);
}

/* An op with the results of `op`, before it. */
static tn_op *with_results(tn_module *m, tn_op *op, tn_op_kind kind, uint32_t n_operands,
                           uint32_t n_regions)
{
    tn_op *by = tn_op_new(m, kind, n_operands, op->n_results, n_regions);
    by->location = op->location;
    for (uint32_t i = 0; i < n_operands; i++) by->operands[i] = op->operands[i];
    for (uint32_t i = 0; i < op->n_results; i++) by->results[i].type = op->results[i].type;
    tn_op_insert_before(op, by);
    return by;
}

static void replace_by_op(tn_module *m, tn_op *op, tn_op *by)
{
    tn_value **values = TN_NEW_ARRAY(m->arena, tn_value *, op->n_results);
    for (uint32_t i = 0; i < op->n_results; i++) values[i] = &by->results[i];
    replace_all(op, values);
}

/* --- reduce_window --- */

static const tn_function *called(const tn_module *m, const tn_op *op)
{
    const tn_attr *list = tn_op_attr(op, TN_ATTR_called_computations);
    if (!list || list->kind != TN_ATTR_KIND_LIST || list->list.n != 1 ||
        list->list.items[0]->kind != TN_ATTR_KIND_STRING)
        return NULL;
    return tn_module_find(m, list->list.items[0]->string.data);
}

static tn_status *refine_reduce_window(tn_module *m, tn_op *op)
{
    uint32_t n = op->n_results, counts[5];
    const int64_t *numbers[5];
    const tn_function *f = called(m, op);
    if (!n || op->n_operands != 2 * n + 5 || !f || f->body.n_args != 2 * n ||
        f->body.last->n_operands != n)
        return malformed(op);
    for (uint32_t i = 0; i < 5; i++) {
        numbers[i] = tn_refine_integers(m, op, 2 * n + i, &counts[i]);
        if (!numbers[i]) return NULL;
    }
    tn_op *by = with_results(m, op, TN_OP_reduce_window, 2 * n, 1);
    tn_rewrite_ints(m, by, TN_ATTR_window_dimensions, numbers[0], counts[0]);
    tn_rewrite_ints(m, by, TN_ATTR_window_strides, numbers[1], counts[1]);
    tn_rewrite_ints(m, by, TN_ATTR_base_dilations, numbers[2], counts[2]);
    tn_rewrite_ints(m, by, TN_ATTR_window_dilations, numbers[3], counts[3]);
    tn_attr *padding = TN_NEW(m->arena, tn_attr);
    *padding = (tn_attr){.kind = TN_ATTR_KIND_INTS,
                         .ints = {.data = numbers[4], .n = counts[4], .rows = counts[4] / 2}};
    tn_op_set_attr(m, by, TN_ATTR_padding, padding);
    tn_region *body = &by->regions[0];
    tn_region_init(m, body, op->region->function, by, 2 * n);
    tn_value_map *map = tn_value_map_new(m->arena, 16);
    for (uint32_t i = 0; i < 2 * n; i++) {
        body->args[i].type = f->body.args[i].type;
        tn_value_map_set(map, &f->body.args[i], &body->args[i]);
    }
    tn_region_copy(m, &f->body, body, op->region->function, map);
    replace_by_op(m, op, by);
    return NULL;
}

/* --- rng_bit_generator --- */

static tn_status *refine_rng(tn_module *m, tn_op *op)
{
    if (op->n_operands != 2 || op->n_results != 2) return malformed(op);
    TN_TRY(tn_refine_from_operand(m, op, 1, 1));
    if (!tn_type_is_static(op->results[1].type)) return NULL;
    const tn_attr *a = tn_op_extra(op, "rng_algorithm");
    if (a && a->kind == TN_ATTR_KIND_LIST && a->list.n == 1) a = a->list.items[0];
    if (!a || a->kind != TN_ATTR_KIND_INT) return malformed(op);
    tn_op *by = with_results(m, op, TN_OP_rng_bit_generator, 1, 0);
    tn_op_set_attr(m, by, TN_ATTR_rng_algorithm, a);
    replace_by_op(m, op, by);
    return NULL;
}

/* --- top_k: a stable sort from the largest, of which the first are taken --- */

static void add_comparator(tn_module *m, tn_op *sort, tn_element_type e)
{
    const tn_type *scalar = tn_type_tensor(m->arena, e, 0, NULL),
                  *index = tn_type_tensor(m->arena, TN_I32, 0, NULL);
    tn_region *r = &sort->regions[0];
    tn_region_init(m, r, sort->region->function, sort, 4);
    r->args[0].type = r->args[1].type = scalar;
    r->args[2].type = r->args[3].type = index;
    tn_op *compare = tn_op_new(m, TN_OP_compare, 2, 1, 0);
    compare->operands[0] = &r->args[0];
    compare->operands[1] = &r->args[1];
    compare->results[0].type = tn_type_tensor(m->arena, TN_I1, 0, NULL);
    tn_op_set_attr(m, compare, TN_ATTR_comparison_direction,
                   tn_attr_int(m->arena, TN_comparison_direction_GT));
    if (tn_is_float(e))
        tn_op_set_attr(m, compare, TN_ATTR_compare_type,
                       tn_attr_int(m->arena, TN_comparison_type_TOTALORDER));
    tn_op *last = tn_op_new(m, TN_OP_return, 1, 0, 0);
    last->operands[0] = &compare->results[0];
    tn_op_append(r, compare);
    tn_op_append(r, last);
}

static tn_value *first_of_lines(tn_module *m, tn_op *op, tn_value *v, int64_t k)
{
    uint32_t rank = v->type->rank;
    int64_t *start = TN_NEW_ARRAY(m->arena, int64_t, rank),
            *limit = tn_dup(m->arena, v->type->dims, rank * sizeof *limit),
            *stride = TN_NEW_ARRAY(m->arena, int64_t, rank);
    for (uint32_t i = 0; i < rank; i++) stride[i] = 1;
    limit[rank - 1] = k;
    tn_op *slice =
        tn_rewrite_op(m, op, TN_OP_slice, tn_type_like(m->arena, v->type, rank, limit), 1, &v);
    tn_rewrite_ints(m, slice, TN_ATTR_start_indices, start, rank);
    tn_rewrite_ints(m, slice, TN_ATTR_limit_indices, limit, rank);
    tn_rewrite_ints(m, slice, TN_ATTR_strides, stride, rank);
    return &slice->results[0];
}

static tn_status *refine_top_k(tn_module *m, tn_op *op)
{
    uint32_t n;
    const int64_t *k = tn_refine_integers(m, op, 1, &n);
    if (op->n_operands != 2 || op->n_results != 2) return malformed(op);
    const tn_type *t = op->operands[0]->type;
    if (!k || !tn_type_is_static(t)) return NULL;
    if (!t->rank || n != 1 || *k < 0 || *k > t->dims[t->rank - 1])
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "k should be in 0..%" PRId64 " and is %" PRId64,
                           t->rank ? t->dims[t->rank - 1] : 0, *k);
    tn_op *iota = tn_rewrite_op(m, op, TN_OP_iota,
                                tn_type_tensor(m->arena, TN_I32, t->rank, t->dims), 0, NULL);
    tn_op_set_attr(m, iota, TN_ATTR_iota_dimension, tn_attr_int(m->arena, t->rank - 1));
    tn_op *sort = tn_op_new(m, TN_OP_sort, 2, 2, 1);
    sort->location = op->location;
    sort->operands[0] = op->operands[0];
    sort->operands[1] = &iota->results[0];
    sort->results[0].type = t;
    sort->results[1].type = iota->results[0].type;
    tn_op_set_attr(m, sort, TN_ATTR_dimension, tn_attr_int(m->arena, t->rank - 1));
    tn_op_set_attr(m, sort, TN_ATTR_is_stable, tn_attr_bool(m->arena, true));
    tn_op_insert_before(op, sort);
    add_comparator(m, sort, t->element);
    tn_value *by[2];
    for (int i = 0; i < 2; i++) {
        by[i] = first_of_lines(m, op, &sort->results[i], *k);
        TN_TRY(tn_refine_result(m, op, (uint32_t)i, by[i]->type));
    }
    replace_all(op, by);
    return NULL;
}

/* --- ApproxTopK --- */

static tn_status *refine_approx_top_k(tn_module *m, tn_op *op)
{
    static const char key[] = "mhlo.backend_config";
    uint32_t n;
    if (!op->n_operands) return malformed(op);
    const int64_t *k = tn_refine_integers(m, op, op->n_operands - 1, &n);
    const tn_attr *config = tn_op_extra(op, key);
    if (!k) return NULL;
    if (n != 1 || !config || config->kind != TN_ATTR_KIND_DICT) return malformed(op);
    tn_named_attr *pairs = TN_NEW_ARRAY(m->arena, tn_named_attr, config->dict.n + 1);
    uint32_t at = 0;
    for (uint32_t i = 0; i < config->dict.n; i++)
        if (strcmp(config->dict.pairs[i].key, "top_k")) pairs[at++] = config->dict.pairs[i];
    pairs[at++] = (tn_named_attr){"top_k", tn_attr_int(m->arena, *k)};
    tn_attr *full = TN_NEW(m->arena, tn_attr);
    *full = (tn_attr){.kind = TN_ATTR_KIND_DICT, .dict = {pairs, at}};
    tn_named_attr *extra = tn_dup(m->arena, op->extra, op->n_extra * sizeof *extra);
    for (uint32_t i = 0; i < op->n_extra; i++)
        if (!strcmp(extra[i].key, key)) extra[i].value = full;
    tn_op *by = with_results(m, op, TN_OP_custom_call, op->n_operands - 1, 0);
    memcpy(by->attrs, op->attrs, op->n_attrs * sizeof *op->attrs);
    tn_op_set_attr(m, by, TN_ATTR_call_target_name, tn_attr_string(m->arena, "ApproxTopK", 10));
    tn_op_set_attr(m, by, TN_ATTR_operand_layouts, NULL);
    by->n_extra = op->n_extra;
    by->extra = extra;
    replace_by_op(m, op, by);
    return NULL;
}

bool tn_refine_is_dynamic_call(const tn_op *op)
{
    return kind_of(op) != NONE;
}

tn_status *tn_refine_dynamic_call(tn_module *m, tn_op *op)
{
    switch (kind_of(op)) {
    case REDUCE_WINDOW: return refine_reduce_window(m, op);
    case RNG: return refine_rng(m, op);
    case TOP_K: return refine_top_k(m, op);
    case APPROX_TOP_K: return refine_approx_top_k(m, op);
    case NONE: break;
    }
    return NULL;
}

bool tn_refine_dynamic_call_needs_value(const tn_op *op, uint32_t i)
{
    switch (kind_of(op)) {
    case REDUCE_WINDOW: return i >= 2 * op->n_results;
    case RNG:
    case TOP_K: return i == 1;
    case APPROX_TOP_K: return i + 1 == op->n_operands;
    case NONE: break;
    }
    return false;
}
