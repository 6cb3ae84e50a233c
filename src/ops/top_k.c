/* SPDX-License-Identifier: Apache-2.0 */
/* The custom call ApproxTopK(operands..., initial values...), exact here, and tenon.sort_head: the
 * first elements of lines sorted by a comparator. */
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/combiner.h"
#include "ops/custom_call.h"
#include "ops/infer.h"
#include "ops/sort.h"

static int64_t config_int(const tn_op *op, const char *key, int64_t otherwise)
{
    const tn_attr *v = tn_attr_get(tn_op_extra(op, "mhlo.backend_config"), key);
    return v && v->kind == TN_ATTR_KIND_INT ? v->integer : otherwise;
}

static bool config_bool(const tn_op *op, const char *key)
{
    const tn_attr *v = tn_attr_get(tn_op_extra(op, "mhlo.backend_config"), key);
    return v && v->kind == TN_ATTR_KIND_BOOL && v->boolean;
}

/* The comparator: a function of the module. */
static const tn_region *comparator(const tn_op *op)
{
    const tn_attr *list = tn_op_attr(op, TN_ATTR_called_computations);
    if (!list || list->kind != TN_ATTR_KIND_LIST || list->list.n != 1 ||
        list->list.items[0]->kind != TN_ATTR_KIND_STRING)
        return NULL;
    const tn_function *f =
        tn_module_find(op->region->function->module, list->list.items[0]->string.data);
    return f ? &f->body : NULL;
}

static tn_status *check_comparator(const tn_op *op, uint32_t n)
{
    const tn_region *r = comparator(op);
    bool good = r && r->n_args == 2 * n && r->last && r->last->n_operands == 1;
    for (uint32_t i = 0; good && i < 2 * n; i++)
        good = r->args[i].type->rank == 0 &&
               r->args[i].type->element == tn_operand_type(op, i / 2)->element;
    const tn_type *t = good ? tn_operand_type(r->last, 0) : NULL;
    if (good && t->rank == 0 && t->element == TN_I1) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op,
                       "called_computations should name one function that compares 2 elements of "
                       "each operand");
}

tn_status *tn_infer_approx_top_k(const tn_op *op, tn_arena *a, const tn_type **out)
{
    uint32_t n = op->n_operands / 2;
    if (!n || op->n_operands % 2)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "target 'ApproxTopK' takes as many initial values as operands; got %u "
                           "in all",
                           op->n_operands);
    TN_TRY(tn_check_count(op, "number of results", n, op->n_results));
    TN_TRY(tn_check_tensor(op, 0));
    const tn_type *t = tn_operand_type(op, 0);
    int64_t dim = config_int(op, "reduction_dim", -1), k = config_int(op, "top_k", -1);
    if (dim < 0) dim += t->rank;
    if (dim < 0 || dim >= t->rank)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "reduction_dim should be a dimension in [0, %u) and is %" PRId64,
                           t->rank, dim);
    /* Without aggregation there are more results than asked for, as many as the program declares.
     */
    TN_TRY(tn_check_result_tensor(op, 0));
    const tn_type *declared = tn_result_type(op, 0);
    int64_t size = k;
    if (!config_bool(op, "aggregate_to_topk") && declared->rank == t->rank)
        size = declared->dims[dim];
    if (k < 0 || size < k || (t->dims[dim] != TN_DYNAMIC && size > t->dims[dim]))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "top_k should be in [0, %" PRId64 "] and is %" PRId64 ", with %" PRId64
                           " results",
                           t->dims[dim], k, size);
    int64_t *dims = tn_dup(a, t->dims, t->rank * sizeof *dims);
    dims[dim] = size;
    for (uint32_t i = 0; i < n; i++) {
        TN_TRY(tn_check_tensor(op, i));
        TN_TRY(tn_check_same_shape(op, 0, i));
        TN_TRY(tn_check_rank(op, n + i, 0));
        TN_TRY(tn_check_same_element(op, i, n + i));
        out[i] = tn_type_like(a, tn_operand_type(op, i), t->rank, dims);
    }
    return check_comparator(op, n);
}

typedef struct {
    tn_sort sort;
    int64_t k;
    tn_arena *arena;
} sorting;

static tn_status *sort(void *context)
{
    sorting *s = context;
    TN_TRY(tn_body_compile(s->sort.comparator, s->arena, &s->sort.body));
    return tn_sort_head_run(&s->sort, s->k);
}

tn_status *tn_eval_approx_top_k(const tn_op *op, const tn_eval_context *ctx,
                                const tn_tensor *operands, tn_tensor *results)
{
    const tn_type *from = operands[0].type, *to = results[0].type;
    if (tn_is_empty(to)) return NULL;
    int64_t dim = config_int(op, "reduction_dim", -1);
    if (dim < 0) dim += from->rank;
    tn_arena *arena = tn_arena_new();
    if (!arena) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    sorting s = {.sort = {.op = op,
                          .ctx = ctx,
                          .comparator = comparator(op),
                          .n = op->n_results,
                          .inputs = operands,
                          .results = results,
                          .dim = (uint32_t)dim},
                 .k = to->dims[dim],
                 .arena = arena};
    tn_status *status = tn_arena_run(arena, sort, &s);
    tn_arena_free(arena);
    return status;
}

/* --- tenon.sort_head: what the pass of that name puts in the place of a sort and slices --- */

/* The type of operands that are no scalars, which stand for places in arrays of that shape. */
static const tn_type *shape_of(const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (tn_operand_type(op, i)->rank) return tn_operand_type(op, i);
    return tn_operand_type(op, 0);
}

tn_status *tn_infer_sort_head(const tn_op *op, tn_arena *a, const tn_type **out)
{
    if (!op->n_operands) return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected operands, got none");
    for (uint32_t i = 0; i < op->n_operands; i++) TN_TRY(tn_check_tensor(op, i));
    const tn_type *shape = shape_of(op);
    tn_op full = *op;
    tn_value *values = TN_NEW_ARRAY(a, tn_value, op->n_operands);
    full.operands = TN_NEW_ARRAY(a, tn_value *, op->n_operands);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_type *t = tn_operand_type(op, i);
        full.operands[i] = op->operands[i];
        if (t->rank || !shape->rank) continue;
        TN_TRY(tn_check_integer(op, i));
        values[i] = (tn_value){.type = tn_type_tensor(a, t->element, shape->rank, shape->dims)};
        full.operands[i] = &values[i];
    }
    TN_TRY(tn_infer_sort(&full, a, out));
    int64_t dim = tn_op_int(op, TN_ATTR_dimension, -1);
    if (dim < 0) dim += out[0]->rank;
    for (uint32_t i = 0; i < op->n_results; i++) {
        const tn_type *t = tn_result_type(op, i);
        int64_t k = t->rank == out[i]->rank ? t->dims[dim] : -1;
        if (k < 0 || k > out[i]->dims[dim] || k != tn_result_type(op, 0)->dims[dim])
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "result %u, %s, is no part of %s", i,
                               TN_TYPE_IN_MESSAGE(t), TN_TYPE_IN_MESSAGE(out[i]));
        int64_t *dims = tn_dup(a, out[i]->dims, t->rank * sizeof *dims);
        dims[dim] = k;
        out[i] = tn_type_like(a, out[i], t->rank, dims);
    }
    return NULL;
}

tn_status *tn_eval_sort_head(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                             tn_tensor *results)
{
    if (tn_is_empty(results[0].type)) return NULL;
    int64_t d = tn_op_int(op, TN_ATTR_dimension, -1);
    const tn_type *shape = shape_of(op);
    if (d < 0) d += shape->rank;
    tn_sort s = {.op = op,
                 .ctx = ctx,
                 .comparator = &op->regions[0],
                 .body = ctx->bodies[0],
                 .captures = tn_captured_data(op, ctx, 0, operands),
                 .n = op->n_operands,
                 .inputs = operands,
                 .results = results,
                 .dim = (uint32_t)d};
    tn_tensor *inputs = tn_scratch_alloc(ctx->scratch, s.n * sizeof *inputs);
    tn_type *types = tn_scratch_alloc(ctx->scratch, s.n * sizeof *types);
    bool *is_place = tn_scratch_alloc(ctx->scratch, s.n);
    if (!s.captures || !inputs || !types || !is_place)
        return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    for (uint32_t i = 0; i < s.n; i++) {
        inputs[i] = operands[i];
        is_place[i] = operands[i].type->rank < shape->rank;
        if (!is_place[i]) continue;
        types[i] = *shape;
        types[i].element = operands[i].type->element;
        inputs[i].type = &types[i];
    }
    s.inputs = inputs;
    s.is_place = is_place;
    return tn_sort_head_run(&s, results[0].type->dims[d]);
}
