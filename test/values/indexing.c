/* SPDX-License-Identifier: Apache-2.0 */
/* Ops whose indices are values: slices and updates at a place, gather and scatter. */
#include "test/values/generate.h"

/* Small indices, a few of them out of bounds, of any integer type. */
static tn_value *indices(values_gen *g, const values_shape *s)
{
    const tn_type *t = values_type(g, values_some_type(g, INTEGER_CLASS), s);
    if (one_in(g, 3)) return values_like(g, t);
    int64_t n = tn_type_elements(t);
    unsigned bytes = tn_element_type_bytes(t->element), bits = tn_element_type_bits(t->element);
    char *data = tn_alloc(g->arena, (size_t)n * bytes + 8);
    for (int64_t i = 0; i < n; i++) {
        int64_t v = one_in(g, 8) ? (int64_t)below(g, 9) - 4 : below(g, bits < 4 ? 2 : 6);
        if (tn_element_type_class(t->element) == TN_CLASS_UINT && v < 0) v = 7;
        if (bits < 4 && v > 1) v = 1;
        if (bits == 4 && v > 7) v = 7;
        if (bits < 4 && v < -2) v = -2;
        for (unsigned k = 0; k < bytes; k++) data[(size_t)i * bytes + k] = (char)(v >> 8 * k);
    }
    return values_constant_of(g, t, data);
}

static void starts(values_gen *g, tn_value **out, uint32_t n)
{
    static const values_shape scalar;
    tn_value *first = indices(g, &scalar);
    for (uint32_t i = 0; i < n; i++) out[i] = i == 0 ? first : values_like(g, first->type);
}

static void dynamic_slice(values_gen *g)
{
    tn_value *v[1 + VALUES_DIMS] = {values_pick(g, ANY_CLASS, 0, VALUES_DIMS)};
    const tn_type *t = v[0]->type;
    int64_t sizes[VALUES_DIMS];
    for (uint32_t i = 0; i < t->rank; i++)
        sizes[i] = one_in(g, 3) ? t->dims[i] : below(g, (uint32_t)t->dims[i] + 1);
    starts(g, v + 1, t->rank);
    tn_op *op = values_op(g, TN_OP_dynamic_slice, 1 + t->rank, v, 1, 0);
    values_set_ints(g, op, TN_ATTR_slice_sizes, sizes, t->rank);
    values_finish(g, op);
}

static void update_slice(values_gen *g)
{
    tn_value *v[2 + VALUES_DIMS] = {values_pick(g, ANY_CLASS, 0, VALUES_DIMS)};
    const tn_type *t = v[0]->type;
    values_shape s = values_shape_of(t);
    for (uint32_t i = 0; i < s.rank; i++)
        if (below(g, 3)) s.dims[i] = below(g, (uint32_t)s.dims[i] + 1);
    v[1] = values_like(g, values_type(g, t->element, &s));
    starts(g, v + 2, t->rank);
    values_finish(g, values_op(g, TN_OP_dynamic_update_slice, 2 + t->rank, v, 1, 0));
}

/* How windows of an operand and a tensor of indices meet, for gather and scatter alike. */
typedef struct {
    int64_t batching[VALUES_DIMS], index_batching[VALUES_DIMS]; /* of operand and of indices */
    int64_t collapsed[VALUES_DIMS], map[VALUES_DIMS], sizes[VALUES_DIMS], offset[VALUES_DIMS];
    uint32_t n_batching, n_collapsed, n_map, n_offset;
    values_shape indices, result;
    uint32_t vector_dim;
} windows;

static bool make_windows(values_gen *g, const tn_type *t, windows *w)
{
    int64_t order[VALUES_DIMS];
    *w = (windows){0};
    values_permutation(g, order, t->rank);
    w->n_map = below(g, (t->rank < 3 ? t->rank : 3) + 1);
    w->indices.rank = below(g, 3);
    for (uint32_t i = 0; i < w->indices.rank; i++)
        w->indices.dims[i] = one_in(g, 12) ? 0 : 1 + below(g, 4);
    bool batching[VALUES_DIMS] = {0}, collapsed[VALUES_DIMS] = {0};
    for (uint32_t i = w->n_map; i < t->rank && w->n_batching < w->indices.rank; i++) {
        if (below(g, 4)) continue;
        batching[order[i]] = true;
        w->batching[w->n_batching] = order[i];
        w->indices.dims[w->n_batching] = t->dims[order[i]];
        w->index_batching[w->n_batching] = w->n_batching;
        w->n_batching++;
    }
    /* Batching dimensions are listed in order. */
    for (uint32_t i = 0; i < w->n_batching; i++)
        for (uint32_t j = i + 1; j < w->n_batching; j++)
            if (w->batching[j] < w->batching[i]) {
                int64_t a = w->batching[i], b = w->batching[j];
                w->batching[i] = b, w->batching[j] = a;
                w->index_batching[i] = j, w->index_batching[j] = i;
            }
    for (uint32_t i = 0; i < w->n_map; i++) w->map[i] = order[i];
    uint32_t n_window = 0;
    int64_t window[VALUES_DIMS];
    for (uint32_t i = 0; i < t->rank; i++) {
        w->sizes[i] = one_in(g, 3) ? t->dims[i] : below(g, (uint32_t)t->dims[i] + 1);
        collapsed[i] = !batching[i] && t->dims[i] >= 1 && one_in(g, 2);
        if (batching[i] || collapsed[i]) w->sizes[i] = t->dims[i] ? 1 : 0;
        if (collapsed[i]) w->collapsed[w->n_collapsed++] = i;
        else if (!batching[i]) window[n_window++] = w->sizes[i];
    }
    /* Window dimensions stand at any places of the result. */
    w->result.rank = w->indices.rank + n_window;
    if (w->result.rank > VALUES_DIMS) return false;
    uint32_t at = 0, batch = 0, nth = 0;
    for (uint32_t left = n_window; at < w->result.rank; at++) {
        if (below(g, w->result.rank - at) < left) {
            w->offset[w->n_offset++] = at;
            w->result.dims[at] = window[nth++];
            left--;
        } else w->result.dims[at] = w->indices.dims[batch++];
    }
    /* The vectors of indices lie along a dimension of their own, or are scalars. */
    w->vector_dim = w->indices.rank;
    if (w->n_map != 1 || below(g, 2)) {
        w->vector_dim = below(g, w->indices.rank + 1);
        for (uint32_t i = w->indices.rank; i > w->vector_dim; i--)
            w->indices.dims[i] = w->indices.dims[i - 1];
        w->indices.dims[w->vector_dim] = w->n_map;
        w->indices.rank++;
        for (uint32_t i = 0; i < w->n_batching; i++)
            if (w->index_batching[i] >= w->vector_dim) w->index_batching[i]++;
    }
    return true;
}

static void gather(values_gen *g)
{
    tn_value *x = values_pick(g, ANY_CLASS, 0, 6);
    windows w;
    if (!make_windows(g, x->type, &w)) return;
    bool dynamic = one_in(g, 8);
    tn_value *v[3] = {x, indices(g, &w.indices),
                      dynamic ? values_ints(g, w.sizes, x->type->rank) : NULL};
    tn_op *op = values_op(g, dynamic ? TN_OP_dynamic_gather : TN_OP_gather, 2 + dynamic, v, 1, 0);
    values_declare(op, values_type(g, x->type->element, &w.result));
    values_set_ints(g, op, TN_ATTR_offset_dims, w.offset, w.n_offset);
    values_set_ints(g, op, TN_ATTR_collapsed_slice_dims, w.collapsed, w.n_collapsed);
    values_set_ints(g, op, TN_ATTR_operand_batching_dims, w.batching, w.n_batching);
    values_set_ints(g, op, TN_ATTR_start_indices_batching_dims, w.index_batching, w.n_batching);
    values_set_ints(g, op, TN_ATTR_start_index_map, w.map, w.n_map);
    values_set_int(g, op, TN_ATTR_index_vector_dim, w.vector_dim);
    if (!dynamic) values_set_ints(g, op, TN_ATTR_slice_sizes, w.sizes, x->type->rank);
    values_set_bool(g, op, TN_ATTR_indices_are_sorted, false);
    values_finish(g, op);
}

static void scatter(values_gen *g)
{
    tn_value *v[5];
    uint32_t n = 1 + one_in(g, 6);
    v[0] = values_pick(g, ANY_CLASS, 0, 6);
    windows w;
    if (!make_windows(g, v[0]->type, &w)) return;
    values_shape s = values_shape_of(v[0]->type);
    if (n == 2) v[1] = values_like(g, values_type(g, values_some_type(g, ANY_CLASS), &s));
    v[n] = indices(g, &w.indices);
    const tn_type *types[2];
    for (uint32_t i = 0; i < n; i++) {
        types[i] = v[i]->type;
        v[n + 1 + i] = values_like(g, values_type(g, types[i]->element, &w.result));
    }
    tn_op *op = values_op(g, TN_OP_scatter, 2 * n + 1, v, n, 1);
    values_set_ints(g, op, TN_ATTR_update_window_dims, w.offset, w.n_offset);
    values_set_ints(g, op, TN_ATTR_inserted_window_dims, w.collapsed, w.n_collapsed);
    values_set_ints(g, op, TN_ATTR_input_batching_dims, w.batching, w.n_batching);
    values_set_ints(g, op, TN_ATTR_scatter_indices_batching_dims, w.index_batching, w.n_batching);
    values_set_ints(g, op, TN_ATTR_scatter_dims_to_operand_dims, w.map, w.n_map);
    values_set_int(g, op, TN_ATTR_index_vector_dim, w.vector_dim);
    values_set_bool(g, op, TN_ATTR_indices_are_sorted, false);
    values_set_bool(g, op, TN_ATTR_unique_indices, false);
    values_combiner(g, op, 0, types, n);
    values_finish(g, op);
}

static void index_select(values_gen *g)
{
    tn_value *x = values_pick(g, ANY_CLASS, 1, 5);
    uint32_t dim = below(g, x->type->rank), batch = below(g, dim + 1);
    values_shape s = {.rank = batch + below(g, 2)};
    if (!x->type->dims[dim]) return;
    for (uint32_t i = 0; i < s.rank; i++)
        s.dims[i] = i < batch ? x->type->dims[i] : 1 + below(g, 4);
    tn_op *op = values_op(g, TN_OP_torch_index_select, 2, (tn_value *[]){x, indices(g, &s)}, 1, 0);
    values_set_int(g, op, TN_ATTR_dim, dim);
    values_set_int(g, op, TN_ATTR_batch_dims, batch);
    values_finish(g, op);
}

void values_indexing(values_gen *g)
{
    switch (below(g, 16)) {
    case 0:
    case 1:
    case 2: dynamic_slice(g); break;
    case 3:
    case 4:
    case 5:
    case 6: update_slice(g); break;
    case 7:
    case 8:
    case 9:
    case 10: gather(g); break;
    case 11:
    case 12:
    case 13:
    case 14: scatter(g); break;
    default: index_select(g); break;
    }
}
