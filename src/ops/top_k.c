/* SPDX-License-Identifier: Apache-2.0 */
/* The custom call ApproxTopK(operands..., initial values...): exact here, the first elements of
 * lines sorted by the comparator that it calls. */
#include "ops/access.h"
#include "ops/custom_call.h"
#include "ops/infer.h"
#include "ops/sort.h"
#include "ops/strided.h"

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
    tn_arena *arena;
} sorting;

static tn_status *sort(void *context)
{
    sorting *s = context;
    TN_TRY(tn_body_compile(s->sort.comparator, s->arena, &s->sort.body));
    return tn_sort_run(&s->sort);
}

tn_status *tn_eval_approx_top_k(const tn_op *op, const tn_eval_context *ctx,
                                const tn_tensor *operands, tn_tensor *results)
{
    const tn_type *from = operands[0].type, *to = results[0].type;
    if (tn_is_empty(to)) return NULL;
    uint32_t n = op->n_results;
    int64_t dim = config_int(op, "reduction_dim", -1);
    if (dim < 0) dim += from->rank;
    tn_tensor *sorted = tn_scratch_alloc(ctx->scratch, n * sizeof *sorted);
    for (uint32_t i = 0; sorted && i < n; i++) {
        sorted[i].type = operands[i].type;
        sorted[i].data = tn_scratch_alloc(ctx->scratch, tn_type_bytes(operands[i].type));
        if (!sorted[i].data) sorted = NULL;
    }
    tn_arena *arena = sorted ? tn_arena_new() : NULL;
    if (!arena) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    sorting s = {.sort = {.op = op,
                          .ctx = ctx,
                          .comparator = comparator(op),
                          .n = n,
                          .inputs = operands,
                          .results = sorted,
                          .dim = (uint32_t)dim},
                 .arena = arena};
    tn_status *status = tn_arena_run(arena, sort, &s);
    tn_arena_free(arena);
    if (status) return status;
    for (uint32_t i = 0; i < n; i++) {
        int64_t w = tn_width(operands[i].type), run = tn_stride(operands[i].type, (uint32_t)dim);
        tn_strided nest;
        tn_strided_init(&nest);
        tn_strided_push(&nest, tn_type_elements(to) * w / (to->dims[dim] * run),
                        to->dims[dim] * run, from->dims[dim] * run);
        tn_strided_push(&nest, to->dims[dim] * run / w, w, w);
        tn_strided_run(&nest, (size_t)w, results[i].data, sorted[i].data, ctx->pool);
    }
    return NULL;
}
