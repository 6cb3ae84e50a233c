/* SPDX-License-Identifier: Apache-2.0 */
/* weave - two tensors that are padded so that one fills the gaps of the other become one op.
 *
 * Before:  %e = concatenate %h, %r   %p = pad %e, 0, interior 1   %q = pad %o, 0, low 1, interior 1
 *          add %p, %q
 * After:   tenon.weave (add %h, 0), (add %r, 0), (add %o, 0)
 * JAX's associative_scan interleaves so at each of its steps. Adding 0 makes -0 a 0, so the
 * additions stay, on the parts, where they fuse with what computes them; what was woven before has
 * been added to, and integers and booleans need none. */
#include <string.h>

#include "passes/rewrite.h"

typedef struct {
    tn_value *v;
    int64_t start, stride;
} strand;

enum { STRANDS = 8 };

typedef struct {
    int64_t dim;
    uint32_t n;
    strand strands[STRANDS];
} weave;

static bool is_zero(const tn_value *v)
{
    const tn_literal *l = tn_constant_of(v);
    if (!l || !l->size) return false;
    for (size_t i = 0; i < l->size; i++)
        if (((const char *)l->data)[i]) return false;
    return true;
}

/* The one dimension with gaps, of one element each, and where the operand begins in it; no other
 * dimension is padded. -1 for other ops. */
static int64_t gap_dim(const tn_op *pad, int64_t *start)
{
    if (!pad || pad->kind != TN_OP_pad || !is_zero(pad->operands[1])) return -1;
    const tn_type *from = tn_operand_type(pad, 0), *to = tn_result_type(pad, 0);
    if (!tn_type_is_static(from) || from->quantization || to->quantization) return -1;
    uint32_t n;
    const int64_t *low = tn_op_ints(pad, TN_ATTR_edge_padding_low, &n);
    const int64_t *high = tn_op_ints(pad, TN_ATTR_edge_padding_high, &n);
    const int64_t *interior = tn_op_ints(pad, TN_ATTR_interior_padding, &n);
    int64_t dim = -1;
    for (uint32_t i = 0; i < n; i++) {
        if (!low[i] && !high[i] && (!interior[i] || from->dims[i] < 2)) continue;
        if (dim >= 0 || low[i] < 0 || low[i] > 1 || high[i] < 0 || high[i] > 1) return -1;
        if (interior[i] != 1 && from->dims[i] > 1) return -1;
        dim = i;
        *start = low[i];
    }
    return dim;
}

/* The parts of a strand, each on its own. False if there are too many. */
static bool add_strands(weave *w, tn_value *v, int64_t start)
{
    tn_op *op = v->op;
    bool apart = op && op->kind == TN_OP_concatenate &&
                 tn_op_int(op, TN_ATTR_dimension, -1) == w->dim && op->n_operands <= 3;
    uint32_t n = apart ? op->n_operands : 1;
    if (w->n + n > STRANDS) return false;
    for (uint32_t i = 0; i < n; i++) {
        tn_value *part = apart ? tn_value_resolve(op->operands[i]) : v;
        w->strands[w->n++] = (strand){part, start, 2};
        start += 2 * part->type->dims[w->dim];
    }
    return true;
}

static bool find_weave(const tn_op *op, weave *w)
{
    tn_op *pads[2];
    int64_t start[2], covered = 0;
    for (int i = 0; i < 2; i++) {
        pads[i] = op->operands[i]->op;
        int64_t dim = gap_dim(pads[i], &start[i]);
        if (dim < 0 || (i && dim != w->dim)) return false;
        w->dim = dim;
        covered += tn_operand_type(pads[i], 0)->dims[dim];
    }
    /* Every other element from 0 and from 1 on: all of them, if there are as many. */
    if (start[0] == start[1] || covered != tn_result_type(op, 0)->dims[w->dim]) return false;
    for (int i = 0; i < 2; i++)
        if (!add_strands(w, tn_value_resolve(pads[i]->operands[0]), start[i])) return false;
    return true;
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    if (op->kind != TN_OP_add && op->kind != TN_OP_or) return NULL;
    weave w = {.n = 0};
    const tn_type *type = tn_result_type(op, 0);
    if (!find_weave(op, &w)) return NULL;
    bool has_sign = tn_is_float(type->element) || tn_is_complex(type->element);
    tn_value *operands[STRANDS];
    int64_t starts[STRANDS], strides[STRANDS];
    for (uint32_t i = 0; i < w.n; i++) {
        tn_value *v = w.strands[i].v;
        if (has_sign && !(v->op && v->op->kind == TN_OP_weave)) {
            tn_value *sides[] = {v, tn_rewrite_splat(m, op, v->type, 0)};
            v = &tn_rewrite_op(m, op, TN_OP_add, v->type, 2, sides)->results[0];
        }
        operands[i] = v;
        starts[i] = w.strands[i].start;
        strides[i] = w.strands[i].stride;
    }
    tn_op *woven = tn_rewrite_op(m, op, TN_OP_weave, type, w.n, operands);
    tn_rewrite_ints(m, woven, TN_ATTR_start_indices, starts, w.n);
    tn_rewrite_ints(m, woven, TN_ATTR_strides, strides, w.n);
    tn_op_set_attr(m, woven, TN_ATTR_dimension, tn_attr_int(m->arena, w.dim));
    tn_rewrite_by(op, &woven->results[0]);
    *changed = true;
    return NULL;
}

tn_status *tn_pass_weave(tn_module *m, bool *changed)
{
    return tn_rewrite(m, rewrite, changed);
}
