/* SPDX-License-Identifier: Apache-2.0 */
/* A scatter of one window that is one piece of memory, as x.at[i].set(v) and x.at[i].add(v) are in
 * JAX: found out once where it may lie. A window that doesn't fit is left out, as everywhere. */
#include <string.h>

#include "ops/access.h"
#include "ops/combiner.h"
#include "ops/infer.h"
#include "ops/prepared.h"

enum { INDICES = 8, BYTES = 1 << 15 };

typedef struct {
    size_t whole, bytes, elements; /* bytes of the operand; of the window */
    bool overwrites;
    tn_kernel combine;
    tn_element_type index;
    uint32_t n;
    int64_t room[INDICES], stride[INDICES]; /* of each index; in bytes */
} one_window;

static tn_status *run(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                      tn_tensor *results)
{
    const one_window *w = ctx->prepared;
    if (results[0].data != operands[0].data) memcpy(results[0].data, operands[0].data, w->whole);
    char *place = results[0].data;
    for (uint32_t i = 0; i < w->n; i++) {
        int64_t at = tn_read_index(operands[1].data, w->index, i);
        if (at < 0 || at > w->room[i]) return NULL;
        place += at * w->stride[i];
    }
    if (w->overwrites) memcpy(place, operands[2].data, w->bytes);
    else tn_kernel_run(&w->combine, w->elements, (const void *[]){place, operands[2].data}, place);
    return NULL;
}

/* One type throughout, in which a sum needs no wider one. */
static bool types_fit(const tn_op *op)
{
    const tn_region *r = &op->regions[0];
    tn_element_type e = tn_operand_type(op, 0)->element;
    for (uint32_t i = 0; i < 3; i++) {
        const tn_type *t = tn_operand_type(op, i);
        if (!tn_type_is_static(t) || t->quantization || tn_is_empty(t)) return false;
    }
    for (uint32_t i = 0; i < r->n_args; i++)
        if (r->args[i].type->element != e) return false;
    return tn_operand_type(op, 2)->element == e && tn_result_type(op, 0)->element == e &&
           r->last->operands[0]->type->element == e;
}

/* The size of the window in each dimension of the operand, if it is the only one and one piece. */
static bool find_sizes(const tn_op *op, tn_ints inserted, int64_t *size)
{
    const tn_type *whole = tn_operand_type(op, 0), *update = tn_operand_type(op, 2);
    tn_ints kept;
    kept.v = tn_op_ints(op, TN_ATTR_update_window_dims, &kept.n);
    for (uint32_t i = 0; i < update->rank; i++)
        if (!tn_ints_have(kept, i) && update->dims[i] != 1) return false;
    bool inside = false; /* a dimension in front has several places */
    for (uint32_t i = 0, k = 0; i < whole->rank; i++) {
        size[i] = tn_ints_have(inserted, i) ? 1 : update->dims[kept.v[k++]];
        if (size[i] > whole->dims[i] || (inside && size[i] != whole->dims[i])) return false;
        inside = inside || size[i] != 1;
    }
    return true;
}

bool tn_prepare_window(const tn_op *op, const tn_body *const *bodies, tn_arena *a, tn_prepared *out)
{
    int64_t size[TN_MAX_PREPARED_RANK];
    tn_ints batch, inserted, indexed;
    batch.v = tn_op_ints(op, TN_ATTR_input_batching_dims, &batch.n);
    inserted.v = tn_op_ints(op, TN_ATTR_inserted_window_dims, &inserted.n);
    indexed.v = tn_op_ints(op, TN_ATTR_scatter_dims_to_operand_dims, &indexed.n);
    if (!bodies || op->n_operands != 3 || batch.n || !types_fit(op)) return false;
    const tn_type *whole = tn_operand_type(op, 0), *indices = tn_operand_type(op, 1);
    if (whole->rank > TN_MAX_PREPARED_RANK || indexed.n > INDICES ||
        tn_type_elements(indices) != indexed.n || tn_type_bytes(tn_operand_type(op, 2)) > BYTES ||
        !find_sizes(op, inserted, size))
        return false;
    one_window w = {.whole = tn_type_bytes(whole),
                    .bytes = tn_type_bytes(tn_operand_type(op, 2)),
                    .elements = (size_t)tn_type_elements(tn_operand_type(op, 2)),
                    .overwrites = bodies[0]->shortcut == TN_BODY_SECOND,
                    .index = indices->element,
                    .n = indexed.n};
    tn_op_kind kind = tn_reduction_kind(bodies[0]->shortcut);
    bool narrow = tn_is_float(whole->element) && tn_element_type_bits(whole->element) < 32;
    if (!w.overwrites && (kind == TN_OP_INVALID || narrow ||
                          !tn_kernel_elementwise(tn_cpu_isa(), kind, whole->element, &w.combine)))
        return false;
    for (uint32_t i = 0; i < indexed.n; i++) {
        uint32_t d = (uint32_t)indexed.v[i];
        w.room[i] = whole->dims[d] - size[d];
        w.stride[i] = tn_stride(whole, d);
    }
    *out = (tn_prepared){run, tn_dup(a, &w, sizeof w)};
    return true;
}
