/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/sort.h"

#include <string.h>

#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/combiner.h"
#include "ops/infer.h"
#include "ops/strided.h"

tn_status *tn_infer_sort(const tn_op *op, tn_arena *a, const tn_type **out)
{
    uint32_t n = op->n_operands;
    if (!n) return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected operands, got none");
    TN_TRY(tn_check_count(op, "number of results", n, op->n_results));
    tn_element_type *types = TN_NEW_ARRAY(a, tn_element_type, 2 * (size_t)n), i1 = TN_I1;
    for (uint32_t i = 0; i < n; i++) {
        TN_TRY(tn_check_tensor(op, i));
        TN_TRY(tn_check_same_shape(op, 0, i));
        out[i] = tn_operand_type(op, i);
        types[2 * i] = types[2 * i + 1] = out[i]->element;
    }
    int64_t rank = tn_operand_type(op, 0)->rank, d = tn_op_int(op, TN_ATTR_dimension, -1);
    if (d < -rank || d >= rank)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "dimension should be in [%" PRId64 ", %" PRId64 ") and is %" PRId64,
                           -rank, rank, d);
    return tn_check_region(op, 0, 2 * n, types, 1, &i1);
}

#define PLACE(T)                                                                                   \
    for (int64_t k = 0; k < s->size; k++) ((T *)to)[at + k * s->step] = ((const T *)from)[order[k]]

#define PLACE_PLACES(T)                                                                            \
    for (int64_t k = 0; k < s->size; k++)                                                          \
    ((T *)to)[at + k * s->step] = (T)((order[k] - at) / s->step)

typedef unsigned __int128 wide;

void tn_sort_place(const tn_sort *s, int64_t line, const int64_t *order)
{
    int64_t at = tn_sort_line(s, line);
    for (uint32_t i = 0; i < s->n; i++) {
        const void *from = s->inputs[i].data;
        void *to = s->results[i].data;
        if (s->is_place && s->is_place[i]) {
            if (tn_width(s->inputs[i].type) == 4) PLACE_PLACES(uint32_t);
            else PLACE_PLACES(uint64_t);
            continue;
        }
        switch (tn_width(s->inputs[i].type)) {
        case 1: PLACE(uint8_t); break;
        case 2: PLACE(uint16_t); break;
        case 4: PLACE(uint32_t); break;
        case 8: PLACE(uint64_t); break;
        default: PLACE(wide); break;
        }
    }
}

tn_status *tn_sort_keep_inputs(tn_sort *s, bool places)
{
    tn_tensor *kept = NULL;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->inputs[i].data != s->results[i].data) continue;
        if (!places && s->is_place && s->is_place[i]) continue;
        if (!kept) {
            kept = tn_scratch_alloc(s->ctx->scratch, s->n * sizeof *kept);
            if (!kept) return TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
            memcpy(kept, s->inputs, s->n * sizeof *kept);
            s->inputs = kept;
        }
        size_t bytes = tn_type_bytes(kept[i].type);
        void *copy = tn_scratch_alloc(s->ctx->scratch, bytes);
        if (!copy) return TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
        tn_copy_bytes(s->ctx->pool, copy, kept[i].data, bytes);
        kept[i].data = copy;
    }
    return NULL;
}

tn_status *tn_sort_run(tn_sort *s)
{
    const tn_type *t = s->inputs[0].type;
    if (tn_is_empty(t)) return NULL;
    s->size = t->dims[s->dim];
    s->step = tn_step(t, s->dim);
    s->lines = tn_type_elements(t) / s->size;
    bool done = s->size == 1;
    if (done) {
        for (uint32_t i = 0; i < s->n; i++) {
            size_t bytes = (size_t)tn_type_elements(t) * (size_t)tn_width(s->inputs[i].type);
            if (s->is_place && s->is_place[i]) memset(s->results[i].data, 0, bytes);
            else tn_copy_bytes(s->ctx->pool, s->results[i].data, s->inputs[i].data, bytes);
        }
        return NULL;
    }
    TN_TRY(tn_sort_by_keys(s, &done));
    if (done) return NULL;
    TN_TRY(tn_sort_keep_inputs(s, true));
    return tn_sort_by_merging(s);
}

/* Is the operand an iota along the dimension that is sorted, of 32 or 64 bits? */
static bool holds_places(const tn_op *op, uint32_t operand, uint32_t dim)
{
    const tn_op *iota = tn_value_resolve(op->operands[operand])->op;
    tn_element_type e = tn_operand_type(op, operand)->element;
    return iota && iota->kind == TN_OP_iota && tn_is_integer(e) && tn_element_type_bits(e) >= 32 &&
           tn_op_int(iota, TN_ATTR_iota_dimension, -1) == dim;
}

tn_status *tn_eval_sort(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                        tn_tensor *results)
{
    int64_t d = tn_op_int(op, TN_ATTR_dimension, -1);
    tn_sort s = {.op = op,
                 .ctx = ctx,
                 .comparator = &op->regions[0],
                 .body = ctx->bodies[0],
                 .captures = tn_captured_data(op, ctx, 0, operands),
                 .n = op->n_operands,
                 .inputs = operands,
                 .results = results,
                 .dim = (uint32_t)(d < 0 ? d + operands[0].type->rank : d)};
    bool *is_place = tn_scratch_alloc(ctx->scratch, op->n_operands * sizeof *is_place);
    if (!s.captures || !is_place) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    for (uint32_t i = 0; i < s.n; i++) is_place[i] = holds_places(op, i, s.dim);
    s.is_place = is_place;
    return tn_sort_run(&s);
}
