/* SPDX-License-Identifier: Apache-2.0 */
/* boxes - slices, reversals, pads, broadcasts and concatenates of each other become one op.
 *
 * Before:  %1 = concatenate (slice %x), (slice %x)   %2 = concatenate (slice %1), (reverse %1)
 * After:   %2 = tenon.boxes %x
 * Not:     where elementwise ops or reductions read the result, which do such things by themselves;
 * what somebody else wants too is made and read. */
#include <string.h>

#include "ops/boxes.h"
#include "passes/rewrite.h"

enum { MOST = 32, LEAST_BYTES = 1024, DEEPEST = 16 };
/* What a value's id says. */
enum { READ_AS_IT_IS = 1, READ_BY_LOOPS = 2 };

/* Boxes in elements; src is a linear index. */
typedef struct {
    tn_value *of;
    int64_t src, at[TN_BOX_RANK], n[TN_BOX_RANK], step[TN_BOX_RANK];
} box;

typedef struct {
    uint32_t n, taken; /* boxes; ops that they stand for */
    box v[MOST];
} boxes;

static bool is_plain(const tn_type *t)
{
    return t->kind == TN_TYPE_TENSOR && tn_type_is_static(t) && !t->quantization &&
           t->rank <= TN_BOX_RANK && tn_element_type_bits(t->element) >= 8 &&
           tn_type_elements(t) > 0;
}

static bool has_gaps(const tn_op *pad)
{
    uint32_t n;
    const int64_t *interior = tn_op_ints(pad, TN_ATTR_interior_padding, &n);
    for (uint32_t i = 0; i < n; i++)
        if (interior[i]) return true;
    return false;
}

/* A reshape that only adds and drops dimensions of size 1. */
static bool is_squeeze(const tn_op *op)
{
    const tn_type *a = tn_operand_type(op, 0), *b = tn_result_type(op, 0);
    uint32_t i = 0, j = 0;
    for (;;) {
        while (i < a->rank && a->dims[i] == 1) i++;
        while (j < b->rank && b->dims[j] == 1) j++;
        if (i == a->rank || j == b->rank) return i == a->rank && j == b->rank;
        if (a->dims[i++] != b->dims[j++]) return false;
    }
}

static bool moves(const tn_op *op)
{
    switch (op->kind) {
    case TN_OP_slice:
    case TN_OP_reverse:
    case TN_OP_concatenate:
    case TN_OP_broadcast_in_dim:
    case TN_OP_boxes:
    case TN_OP_pad:
    case TN_OP_reshape: break;
    default: return false;
    }
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!is_plain(tn_operand_type(op, i))) return false;
    if (!is_plain(tn_result_type(op, 0))) return false;
    return op->kind == TN_OP_pad ? !has_gaps(op) : op->kind != TN_OP_reshape || is_squeeze(op);
}

static bool find(tn_value *v, uint32_t depth, boxes *out);

static bool add(boxes *out, const box *b)
{
    if (out->n == MOST) return false;
    out->v[out->n++] = *b;
    return true;
}

static bool add_whole(tn_value *v, boxes *out)
{
    box b = {.of = v};
    int64_t step = 1;
    for (uint32_t d = v->type->rank; d-- > 0; step *= v->type->dims[d]) {
        b.n[d] = v->type->dims[d];
        b.step[d] = step;
    }
    return add(out, &b);
}

/* What of the box lies at start + k * stride, k < n, along dimension d, is at k. False: nothing. */
static bool cut(box *b, uint32_t d, int64_t start, int64_t stride, int64_t n)
{
    int64_t first = b->at[d] <= start ? 0 : (b->at[d] - start + stride - 1) / stride;
    int64_t last = b->at[d] + b->n[d] - 1 - start;
    if (last < 0) return false;
    last /= stride;
    if (last > n - 1) last = n - 1;
    if (first > last) return false;
    b->src += (start + first * stride - b->at[d]) * b->step[d];
    b->step[d] *= stride;
    b->at[d] = first;
    b->n[d] = last - first + 1;
    return true;
}

static bool find_slice(const tn_op *op, boxes *in, boxes *out)
{
    uint32_t n;
    const int64_t *start = tn_op_ints(op, TN_ATTR_start_indices, &n);
    const int64_t *stride = tn_op_ints(op, TN_ATTR_strides, &n);
    const tn_type *to = tn_result_type(op, 0);
    for (uint32_t i = 0; i < in->n; i++) {
        bool some = true;
        for (uint32_t d = 0; some && d < n; d++)
            some = cut(&in->v[i], d, start[d], stride[d], to->dims[d]);
        if (some && !add(out, &in->v[i])) return false;
    }
    return true;
}

static bool find_reverse(const tn_op *op, boxes *in, boxes *out)
{
    uint32_t n;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_dimensions, &n);
    const tn_type *to = tn_result_type(op, 0);
    for (uint32_t i = 0; i < in->n; i++) {
        box *b = &in->v[i];
        for (uint32_t k = 0; k < n; k++) {
            int64_t d = dims[k];
            b->at[d] = to->dims[d] - b->at[d] - b->n[d];
            b->src += (b->n[d] - 1) * b->step[d];
            b->step[d] = -b->step[d];
        }
        if (!add(out, b)) return false;
    }
    return true;
}

static bool find_broadcast(const tn_op *op, boxes *in, boxes *out)
{
    uint32_t n;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_broadcast_dimensions, &n);
    const tn_type *from = tn_operand_type(op, 0), *to = tn_result_type(op, 0);
    for (uint32_t i = 0; i < in->n; i++) {
        box b = {.of = in->v[i].of, .src = in->v[i].src};
        for (uint32_t d = 0; d < to->rank; d++) b.n[d] = to->dims[d];
        for (uint32_t k = 0; k < n; k++) {
            if (from->dims[k] != to->dims[dims[k]]) continue;
            b.at[dims[k]] = in->v[i].at[k];
            b.n[dims[k]] = in->v[i].n[k];
            b.step[dims[k]] = in->v[i].step[k];
        }
        if (!add(out, &b)) return false;
    }
    return true;
}

static bool find_reshape(const tn_op *op, boxes *in, boxes *out)
{
    const tn_type *from = tn_operand_type(op, 0), *to = tn_result_type(op, 0);
    for (uint32_t i = 0; i < in->n; i++) {
        box b = {.of = in->v[i].of, .src = in->v[i].src};
        for (uint32_t d = 0, k = 0; d < to->rank; d++) {
            b.n[d] = 1;
            if (to->dims[d] == 1) continue;
            while (from->dims[k] == 1) k++;
            b.at[d] = in->v[i].at[k];
            b.n[d] = in->v[i].n[k];
            b.step[d] = in->v[i].step[k++];
        }
        if (!add(out, &b)) return false;
    }
    return true;
}

/* What the operand leaves free: slabs, each within those of the dimensions before it. */
static bool find_pad(const tn_op *op, boxes *in, boxes *out)
{
    uint32_t n;
    const int64_t *low = tn_op_ints(op, TN_ATTR_edge_padding_low, &n);
    const tn_type *from = tn_operand_type(op, 0), *to = tn_result_type(op, 0);
    box inside = {.of = tn_value_resolve(op->operands[1])};
    for (uint32_t d = 0; d < n; d++) inside.n[d] = to->dims[d];
    for (uint32_t d = 0; d < n; d++) {
        int64_t begin = low[d] > 0 ? low[d] : 0, end = low[d] + from->dims[d];
        if (end > to->dims[d]) end = to->dims[d];
        if (begin >= end) return add(out, &inside);
        box before = inside, behind = inside;
        before.n[d] = begin;
        behind.at[d] = end;
        behind.n[d] = to->dims[d] - end;
        if (before.n[d] && !add(out, &before)) return false;
        if (behind.n[d] && !add(out, &behind)) return false;
        inside.at[d] = begin;
        inside.n[d] = end - begin;
    }
    for (uint32_t i = 0; i < in->n; i++) {
        bool some = true;
        for (uint32_t d = 0; some && d < n; d++) some = cut(&in->v[i], d, -low[d], 1, to->dims[d]);
        if (some && !add(out, &in->v[i])) return false;
    }
    return true;
}

static bool find_boxes(const tn_op *op, boxes *out)
{
    uint32_t n, count, rank = tn_result_type(op, 0)->rank;
    const int64_t *of = tn_op_ints(op, TN_ATTR_dimensions, &n);
    const int64_t *at = tn_op_ints(op, TN_ATTR_start_indices, &count);
    const int64_t *size = tn_op_ints(op, TN_ATTR_slice_sizes, &count);
    const int64_t *strides = tn_op_ints(op, TN_ATTR_strides, &count);
    for (uint32_t i = 0; i < n; i++, strides += rank + 1) {
        box b = {.of = tn_value_resolve(op->operands[of[i]]), .src = strides[0]};
        memcpy(b.at, at + i * rank, rank * sizeof *at);
        memcpy(b.n, size + i * rank, rank * sizeof *size);
        memcpy(b.step, strides + 1, rank * sizeof *strides);
        if (!add(out, &b)) return false;
    }
    return true;
}

static bool find_op(const tn_op *op, uint32_t depth, boxes *out)
{
    if (op->kind == TN_OP_boxes) return find_boxes(op, out);
    if (op->kind == TN_OP_concatenate) {
        int64_t d = tn_op_int(op, TN_ATTR_dimension, 0), at = 0;
        for (uint32_t i = 0; i < op->n_operands; i++) {
            uint32_t first = out->n;
            tn_value *v = tn_value_resolve(op->operands[i]);
            if (!find(v, depth, out)) return false;
            for (uint32_t k = first; k < out->n; k++) out->v[k].at[d] += at;
            at += v->type->dims[d];
        }
        return true;
    }
    boxes in = {.taken = out->taken};
    if (!find(tn_value_resolve(op->operands[0]), depth, &in)) return false;
    out->taken = in.taken;
    switch (op->kind) {
    case TN_OP_slice: return find_slice(op, &in, out);
    case TN_OP_reverse: return find_reverse(op, &in, out);
    case TN_OP_broadcast_in_dim: return find_broadcast(op, &in, out);
    case TN_OP_reshape: return find_reshape(op, &in, out);
    default: return find_pad(op, &in, out);
    }
}

static bool find(tn_value *v, uint32_t depth, boxes *out)
{
    if (!v->op || v->id || depth == DEEPEST || !moves(v->op)) return add_whole(v, out);
    if (v->op->kind != TN_OP_reshape) out->taken++;
    return find_op(v->op, depth + 1, out);
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    if (op->kind == TN_OP_boxes || op->kind == TN_OP_reshape || !moves(op)) return NULL;
    const tn_type *to = tn_result_type(op, 0);
    uint32_t id = op->results[0].id, rank = to->rank;
    boxes all = {.n = 0};
    bool in_loops = (id & READ_BY_LOOPS) && op->kind != TN_OP_pad;
    if (in_loops || tn_type_bytes(to) < LEAST_BYTES) return NULL;
    if (!find_op(op, 0, &all) || !all.taken) return NULL;
    tn_value *operands[MOST];
    uint32_t n_operands = 0;
    int64_t of[MOST], at[MOST * TN_BOX_RANK], n[MOST * TN_BOX_RANK],
        strides[MOST * (TN_BOX_RANK + 1)];
    for (uint32_t b = 0; b < all.n; b++) {
        const box *from = &all.v[b];
        uint32_t k = 0;
        while (k < n_operands && operands[k] != from->of) k++;
        if (k == n_operands) operands[n_operands++] = from->of;
        of[b] = k;
        memcpy(at + b * rank, from->at, rank * sizeof *at);
        memcpy(n + b * rank, from->n, rank * sizeof *n);
        strides[b * (rank + 1)] = from->src;
        memcpy(strides + b * (rank + 1) + 1, from->step, rank * sizeof *strides);
    }
    tn_op *made = tn_rewrite_op(m, op, TN_OP_boxes, to, n_operands, operands);
    tn_rewrite_ints(m, made, TN_ATTR_dimensions, of, all.n);
    tn_rewrite_ints(m, made, TN_ATTR_start_indices, at, all.n * rank);
    tn_rewrite_ints(m, made, TN_ATTR_slice_sizes, n, all.n * rank);
    tn_rewrite_ints(m, made, TN_ATTR_strides, strides, all.n * (rank + 1));
    made->results[0].id = id;
    tn_rewrite_by(op, &made->results[0]);
    *changed = true;
    return NULL;
}

/* --- who reads what --- */

static void forget(tn_region *r)
{
    for (uint32_t i = 0; i < r->n_args; i++) r->args[i].id = 0;
    for (tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_results; i++) op->results[i].id = 0;
        for (uint32_t i = 0; i < op->n_regions; i++) forget(&op->regions[i]);
    }
}

/* Ops that may read slices and the like in their own loops. */
static bool has_loops(const tn_op *op)
{
    return tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE) || op->kind == TN_OP_reduce ||
           op->kind == TN_OP_take;
}

static void note_readers(tn_region *r)
{
    for (tn_op *op = r->last; op; op = op->prev) {
        bool through = moves(op);
        for (uint32_t i = 0; i < op->n_regions; i++) note_readers(&op->regions[i]);
        for (uint32_t i = 0; i < op->n_operands; i++) {
            tn_value *v = tn_value_resolve(op->operands[i]);
            if (has_loops(op)) v->id |= READ_BY_LOOPS;
            else if (!through) v->id |= READ_AS_IT_IS;
            /* What is only reshaped is what it was. */
            else if (op->kind == TN_OP_reshape) v->id |= op->results[0].id;
        }
    }
}

tn_status *tn_pass_boxes(tn_module *m, bool *changed)
{
    for (tn_function *f = m->functions; f; f = f->next) {
        forget(&f->body);
        note_readers(&f->body);
    }
    return tn_rewrite(m, rewrite, changed);
}
