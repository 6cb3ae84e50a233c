/* SPDX-License-Identifier: Apache-2.0 */
/* reduce, reduce_window and scatter whose body is one plain op: sums of any type, and the largest,
 * smallest or bits of integers. */
#include <string.h>

#include "test/values/reference.h"

/* The op of a body that is nothing but it, or TN_OP_INVALID. */
static tn_op_kind plain_body(const tn_op *op)
{
    const tn_region *r = &op->regions[0];
    const tn_op *only = r->first;
    if (r->n_args != 2 || !only || only->next != r->last || only->n_operands != 2)
        return TN_OP_INVALID;
    bool straight = only->operands[0] == &r->args[0] && only->operands[1] == &r->args[1];
    bool swapped = only->operands[0] == &r->args[1] && only->operands[1] == &r->args[0];
    bool returned = r->last->n_operands == 1 && r->last->operands[0] == &only->results[0];
    if ((!straight && !swapped) || !returned || r->args[0].type->rank) return TN_OP_INVALID;
    tn_element_type e = r->args[0].type->element;
    bool whole = tn_is_integer(e);
    switch ((int)only->kind) {
    case TN_OP_add: return e == TN_I1 ? TN_OP_INVALID : TN_OP_add;
    case TN_OP_multiply:
    case TN_OP_and:
    case TN_OP_or:
    case TN_OP_xor:
    case TN_OP_maximum:
    case TN_OP_minimum: return whole ? only->kind : TN_OP_INVALID;
    default: return TN_OP_INVALID;
    }
}

static void fold(tn_op_kind kind, tn_element_type e, number *sum, number term)
{
    bool is_signed = tn_element_type_class(e) == TN_CLASS_SINT;
    uint64_t a = sum->whole, b = term.whole;
    unsigned bits = tn_element_type_bits(e);
    bool above = is_signed ? (int64_t)b > (int64_t)a : b > a;
    if (kind == TN_OP_add) {
        add_to(sum, term);
        a = sum->whole;
    }
    if (kind == TN_OP_multiply) a *= b;
    if (kind == TN_OP_and) a &= b;
    if (kind == TN_OP_or) a |= b;
    if (kind == TN_OP_xor) a ^= b;
    if (kind == TN_OP_maximum && above) a = b;
    if (kind == TN_OP_minimum && !above) a = b;
    /* Kept as the type holds it. */
    if (bits < 64) {
        a &= ((uint64_t)1 << bits) - 1;
        if (is_signed && a >> (bits - 1)) a |= UINT64_MAX << bits;
    }
    sum->whole = a;
}

static const char *check_reduce(const tn_op *op, tn_op_kind kind, const tn_tensor *in,
                                const tn_tensor *out)
{
    uint32_t n_dims;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_dimensions, &n_dims);
    const tn_type *t = in[0].type;
    int64_t n = tn_type_elements(out->type), m = tn_type_elements(t);
    static number sums[8192];
    if (n > 8192) return NULL;
    for (int64_t i = 0; i < n; i++) sums[i] = number_at(&in[1], 0);
    for (int64_t i = 0; i < m; i++) {
        place p = place_of(t, i), q = {{0}};
        uint32_t at = 0;
        for (uint32_t d = 0; d < t->rank; d++)
            if (!has(dims, n_dims, d)) q.v[at++] = p.v[d];
        fold(kind, t->element, &sums[element_at(out->type, &q)], number_at(&in[0], i));
    }
    for (int64_t i = 0; i < n; i++)
        if (!holds(out, i, &sums[i], true)) return differs_at(out->type, i);
    return NULL;
}

static const int64_t *or_ones(const tn_op *op, tn_attr_name name)
{
    static const int64_t ones[REFERENCE_RANK] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    uint32_t n;
    const int64_t *v = tn_op_ints(op, name, &n);
    return n ? v : ones;
}

static const char *check_window(const tn_op *op, tn_op_kind kind, const tn_tensor *in,
                                const tn_tensor *out)
{
    uint32_t unused, n_pad;
    const int64_t *size = tn_op_ints(op, TN_ATTR_window_dimensions, &unused);
    const int64_t *stride = or_ones(op, TN_ATTR_window_strides);
    const int64_t *base = or_ones(op, TN_ATTR_base_dilations);
    const int64_t *dilation = or_ones(op, TN_ATTR_window_dilations);
    const int64_t *pad = tn_op_ints(op, TN_ATTR_padding, &n_pad);
    const tn_type *t = in[0].type;
    int64_t n = tn_type_elements(out->type), taps = 1;
    for (uint32_t d = 0; d < t->rank; d++) taps *= size[d];
    if (n * (taps + 1) > 400000) return NULL;
    tn_type window = {.kind = TN_TYPE_TENSOR, .rank = t->rank, .dims = size};
    number init = number_at(&in[1], 0);
    for (int64_t i = 0; i < n; i++) {
        place r = place_of(out->type, i);
        number sum = init;
        for (int64_t j = 0; j < taps; j++) {
            place w = place_of(&window, j), p = {{0}};
            bool inside = true;
            for (uint32_t d = 0; d < t->rank && inside; d++) {
                int64_t at = r.v[d] * stride[d] + w.v[d] * dilation[d] - (n_pad ? pad[2 * d] : 0);
                inside = at >= 0 && at % base[d] == 0 && at / base[d] < t->dims[d];
                p.v[d] = at / base[d];
            }
            /* Padding is the initial value, which is folded in. */
            fold(kind, t->element, &sum, inside ? number_at(&in[0], element_at(t, &p)) : init);
        }
        if (!holds(out, i, &sum, true)) return differs_at(out->type, i);
    }
    return NULL;
}

static const char *check_scatter(const tn_op *op, tn_op_kind kind, const tn_tensor *in,
                                 const tn_tensor *out)
{
    uint32_t n_window, n_inserted, n_batching, n_index_batching, n_map;
    const int64_t *window = tn_op_ints(op, TN_ATTR_update_window_dims, &n_window);
    const int64_t *inserted = tn_op_ints(op, TN_ATTR_inserted_window_dims, &n_inserted);
    const int64_t *batching = tn_op_ints(op, TN_ATTR_input_batching_dims, &n_batching);
    const int64_t *index_batching =
        tn_op_ints(op, TN_ATTR_scatter_indices_batching_dims, &n_index_batching);
    const int64_t *map = tn_op_ints(op, TN_ATTR_scatter_dims_to_operand_dims, &n_map);
    int64_t vector = tn_op_int(op, TN_ATTR_index_vector_dim, 0);
    const tn_type *t = in[0].type, *indices = in[1].type, *u = in[2].type;
    int64_t n = tn_type_elements(t), m = tn_type_elements(u);
    static number sums[8192];
    if (n > 8192) return NULL;
    for (int64_t i = 0; i < n; i++) sums[i] = number_at(&in[0], i);
    for (int64_t i = 0; i < m; i++) {
        place p = place_of(u, i), at = {{0}}, start = {{0}}, q = {{0}};
        uint32_t k = 0, w = 0;
        for (uint32_t d = 0; d < u->rank; d++) {
            if (has(window, n_window, d)) continue;
            if (k == vector) k++;
            at.v[k++] = p.v[d];
        }
        for (uint32_t c = 0; c < n_map; c++) {
            place a = at;
            if (vector < indices->rank) a.v[vector] = c;
            start.v[map[c]] = index_value(&in[1], element_at(indices, &a));
        }
        for (uint32_t b = 0; b < n_batching; b++) start.v[batching[b]] = at.v[index_batching[b]];
        /* A window that does not fit is skipped as a whole. */
        bool fits = true;
        for (uint32_t d = 0; d < t->rank; d++) {
            bool none = has(inserted, n_inserted, d) || has(batching, n_batching, d);
            int64_t size = none ? 1 : u->dims[window[w]];
            q.v[d] = start.v[d] + (none ? 0 : p.v[window[w++]]);
            fits &= start.v[d] >= 0 && start.v[d] <= t->dims[d] - size;
        }
        if (fits) fold(kind, t->element, &sums[element_at(t, &q)], number_at(&in[2], i));
    }
    for (int64_t i = 0; i < n; i++) {
        if (!holds(out, i, &sums[i], true)) return differs_at(t, i);
    }
    return NULL;
}

/* Scatter rounds after each update, and so may be further off in narrow types. */
static bool is_exact_enough(const tn_type *t)
{
    return !tn_is_float(t->element) || tn_element_type_bits(t->element) >= 32;
}

bool reference_folds(const tn_op *op, const tn_tensor *in, const tn_tensor *out, const char **what)
{
    if (op->kind != TN_OP_reduce && op->kind != TN_OP_reduce_window && op->kind != TN_OP_scatter)
        return false;
    if (op->n_results != 1 || out->type->quantization) return true;
    tn_op_kind kind = plain_body(op);
    if (!kind || out->type->element != in[0].type->element) return true;
    if (op->kind == TN_OP_reduce) *what = check_reduce(op, kind, in, out);
    else if (op->kind == TN_OP_reduce_window) *what = check_window(op, kind, in, out);
    else if (is_exact_enough(out->type)) *what = check_scatter(op, kind, in, out);
    return true;
}
