/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic slices and updates whose window is several pieces of memory: the nest of loops that
 * copies it is made once, and a turn of a loop finds only where it begins. */
#include "ops/access.h"
#include "ops/infer.h"
#include "ops/prepared.h"
#include "ops/strided.h"

enum { BYTES = 1 << 15, DIMS = 8 };

typedef struct {
    tn_strided_copy copy;
    size_t whole; /* bytes of the operand */
    tn_element_type index;
    uint32_t n;
    struct {
        uint32_t operand;
        int64_t room, stride;
    } at[DIMS];
} window;

static int64_t offset_of(const window *w, const tn_tensor *operands)
{
    int64_t offset = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        int64_t index = tn_read_index(operands[w->at[i].operand].data, w->index, 0);
        offset += tn_clamp_index(index, 0, w->at[i].room) * w->at[i].stride;
    }
    return offset;
}

static tn_status *slice(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                        tn_tensor *results)
{
    const window *w = ctx->prepared;
    tn_strided_copy_run(&w->copy, results[0].data,
                        (const char *)operands[0].data + offset_of(w, operands));
    return NULL;
}

static tn_status *update(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                         tn_tensor *results)
{
    const window *w = ctx->prepared;
    int64_t offset = offset_of(w, operands); /* before an index is written over, if it can be */
    tn_copy_bytes(ctx->pool, results[0].data, operands[0].data, w->whole);
    if (operands[1].data != results[0].data)
        tn_strided_copy_run(&w->copy, (char *)results[0].data + offset, operands[1].data);
    return NULL;
}

bool tn_prepare_slice(const tn_op *op, tn_arena *a, tn_prepared *out)
{
    bool updates = op->kind == TN_OP_dynamic_update_slice;
    const tn_type *whole = tn_operand_type(op, 0),
                  *part = updates ? tn_operand_type(op, 1) : tn_result_type(op, 0);
    if (!tn_type_is_static(whole) || !tn_type_is_static(part) || whole->rank != part->rank ||
        tn_is_empty(part) || tn_type_bytes(part) > BYTES || whole->rank > DIMS || !whole->rank)
        return false;
    window w = {.whole = tn_type_bytes(whole)};
    tn_strided s;
    tn_strided_init(&s);
    for (uint32_t i = 0; i < whole->rank; i++) {
        uint32_t operand = i + (updates ? 2 : 1);
        int64_t room = whole->dims[i] - part->dims[i], outer = tn_stride(whole, i),
                inner = tn_stride(part, i);
        if (room < 0) return false;
        tn_strided_push(&s, part->dims[i], updates ? outer : inner, updates ? inner : outer);
        w.index = tn_operand_type(op, operand)->element;
        if (!room) continue;
        w.at[w.n].operand = operand;
        w.at[w.n].room = room;
        w.at[w.n++].stride = outer;
    }
    tn_strided_record r;
    tn_strided_begin_record(&r);
    tn_strided_run(&s, (size_t)tn_width(whole), NULL, NULL, NULL);
    tn_strided_end_record();
    if (!r.fits) return false;
    w.copy = r.copies[0];
    *out = (tn_prepared){updates ? update : slice, tn_dup(a, &w, sizeof w)};
    return true;
}
