/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that move elements: where each element of the result comes from. */
#include <string.h>

#include "test/values/reference.h"

static bool same(const tn_tensor *x, int64_t i, const tn_tensor *y, int64_t j)
{
    unsigned n = tn_element_type_bytes(x->type->element);
    return !memcmp((const char *)x->data + i * n, (const char *)y->data + j * n, n);
}

static const int64_t *ints(const tn_op *op, tn_attr_name name, uint32_t *n)
{
    return tn_op_ints(op, name, n);
}

static int64_t clamp(int64_t v, int64_t most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

/* The element of operand 0 that element `to` of the result is; -1: operand 1's only one, -2: none
 * of either, to be skipped. */
static int64_t source(const tn_op *op, const tn_tensor *in, const tn_type *to, const place *p)
{
    const tn_type *t = in[0].type;
    place q = {{0}};
    uint32_t n;
    switch ((int)op->kind) {
    case TN_OP_broadcast_in_dim: {
        const int64_t *dims = ints(op, TN_ATTR_broadcast_dimensions, &n);
        for (uint32_t d = 0; d < t->rank; d++) q.v[d] = t->dims[d] == 1 ? 0 : p->v[dims[d]];
        break;
    }
    case TN_OP_transpose: {
        const int64_t *order = ints(op, TN_ATTR_permutation, &n);
        for (uint32_t d = 0; d < t->rank; d++) q.v[order[d]] = p->v[d];
        break;
    }
    case TN_OP_reverse: {
        const int64_t *dims = ints(op, TN_ATTR_dimensions, &n);
        for (uint32_t d = 0; d < t->rank; d++)
            q.v[d] = has(dims, n, d) ? t->dims[d] - 1 - p->v[d] : p->v[d];
        break;
    }
    case TN_OP_slice: {
        const int64_t *start = ints(op, TN_ATTR_start_indices, &n);
        const int64_t *step = ints(op, TN_ATTR_strides, &n);
        for (uint32_t d = 0; d < t->rank; d++) q.v[d] = start[d] + p->v[d] * step[d];
        break;
    }
    case TN_OP_pad: {
        const int64_t *low = ints(op, TN_ATTR_edge_padding_low, &n);
        const int64_t *inner = ints(op, TN_ATTR_interior_padding, &n);
        for (uint32_t d = 0; d < t->rank; d++) {
            int64_t at = p->v[d] - low[d];
            if (at < 0 || at % (inner[d] + 1)) return -1;
            q.v[d] = at / (inner[d] + 1);
        }
        if (!is_inside(t, &q)) return -1;
        break;
    }
    case TN_OP_dynamic_slice:
        for (uint32_t d = 0; d < t->rank; d++)
            q.v[d] = p->v[d] + clamp(index_value(&in[1 + d], 0), t->dims[d] - to->dims[d]);
        break;
    default: return -2;
    }
    return element_at(t, &q);
}

static const char *check_sources(const tn_op *op, const tn_tensor *in, const tn_tensor *out)
{
    int64_t n = tn_type_elements(out->type);
    for (int64_t i = 0; i < n; i++) {
        place p = place_of(out->type, i);
        int64_t from = source(op, in, out->type, &p);
        bool good = from == -1 ? same(out, i, &in[1], 0) : same(out, i, &in[0], from);
        if (!good) return differs_at(out->type, i);
    }
    return NULL;
}

static const char *check_concatenate(const tn_op *op, const tn_tensor *in, const tn_tensor *out)
{
    int64_t dim = tn_op_int(op, TN_ATTR_dimension, 0), n = tn_type_elements(out->type);
    for (int64_t i = 0; i < n; i++) {
        place p = place_of(out->type, i);
        uint32_t k = 0;
        while (p.v[dim] >= in[k].type->dims[dim]) p.v[dim] -= in[k++].type->dims[dim];
        if (!same(out, i, &in[k], element_at(in[k].type, &p))) return differs_at(out->type, i);
    }
    return NULL;
}

static const char *check_update(const tn_tensor *in, const tn_tensor *out)
{
    const tn_type *t = in[0].type, *u = in[1].type;
    int64_t n = tn_type_elements(t);
    for (int64_t i = 0; i < n; i++) {
        place p = place_of(t, i), q = p;
        for (uint32_t d = 0; d < t->rank; d++)
            q.v[d] -= clamp(index_value(&in[2 + d], 0), t->dims[d] - u->dims[d]);
        bool good =
            is_inside(u, &q) ? same(out, i, &in[1], element_at(u, &q)) : same(out, i, &in[0], i);
        if (!good) return differs_at(t, i);
    }
    return NULL;
}

static const char *check_gather(const tn_op *op, const tn_tensor *in, const tn_tensor *out)
{
    uint32_t n_offset, n_collapsed, n_batching, n_index_batching, n_map, n_sizes;
    const int64_t *offset = ints(op, TN_ATTR_offset_dims, &n_offset);
    const int64_t *collapsed = ints(op, TN_ATTR_collapsed_slice_dims, &n_collapsed);
    const int64_t *batching = ints(op, TN_ATTR_operand_batching_dims, &n_batching);
    const int64_t *index_batching =
        ints(op, TN_ATTR_start_indices_batching_dims, &n_index_batching);
    const int64_t *map = ints(op, TN_ATTR_start_index_map, &n_map);
    const int64_t *sizes = ints(op, TN_ATTR_slice_sizes, &n_sizes);
    int64_t vector = tn_op_int(op, TN_ATTR_index_vector_dim, 0), n = tn_type_elements(out->type);
    const tn_type *t = in[0].type, *indices = in[1].type;
    for (int64_t i = 0; i < n; i++) {
        place p = place_of(out->type, i), at = {{0}}, q = {{0}};
        uint32_t k = 0, w = 0;
        for (uint32_t d = 0; d < out->type->rank; d++) {
            if (has(offset, n_offset, d)) continue;
            if (k == vector) k++;
            at.v[k++] = p.v[d];
        }
        for (uint32_t c = 0; c < n_map; c++) {
            place a = at;
            if (vector < indices->rank) a.v[vector] = c;
            int64_t start = index_value(&in[1], element_at(indices, &a));
            q.v[map[c]] = clamp(start, t->dims[map[c]] - sizes[map[c]]);
        }
        for (uint32_t b = 0; b < n_batching; b++) q.v[batching[b]] = at.v[index_batching[b]];
        for (uint32_t d = 0; d < t->rank; d++)
            if (!has(collapsed, n_collapsed, d) && !has(batching, n_batching, d))
                q.v[d] += p.v[offset[w++]];
        if (!same(out, i, &in[0], element_at(t, &q))) return differs_at(out->type, i);
    }
    return NULL;
}

bool reference_moves(const tn_op *op, const tn_tensor *in, const tn_tensor *out, const char **what)
{
    switch ((int)op->kind) {
    case TN_OP_broadcast_in_dim:
    case TN_OP_transpose:
    case TN_OP_reverse:
    case TN_OP_slice:
    case TN_OP_pad:
    case TN_OP_dynamic_slice: *what = check_sources(op, in, out); return true;
    case TN_OP_concatenate: *what = check_concatenate(op, in, out); return true;
    case TN_OP_dynamic_update_slice: *what = check_update(in, out); return true;
    case TN_OP_gather: *what = check_gather(op, in, out); return true;
    default: return false;
    }
}
