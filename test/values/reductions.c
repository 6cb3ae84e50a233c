/* SPDX-License-Identifier: Apache-2.0 */
/* reduce, windows, sort and map. */
#include "test/values/generate.h"

/* n values of one shape. */
static uint32_t several(values_gen *g, uint32_t most, uint32_t low, tn_value **v,
                        const tn_type **types)
{
    uint32_t n = 1 + (one_in(g, 4) ? below(g, most) : 0);
    v[0] = values_pick(g, ANY_CLASS, low, VALUES_DIMS);
    values_shape s = values_shape_of(v[0]->type);
    for (uint32_t i = 1; i < n; i++)
        v[i] = values_like(g, values_type(g, values_some_type(g, ANY_CLASS), &s));
    for (uint32_t i = 0; i < n; i++) types[i] = v[i]->type;
    return n;
}

static void initial_values(values_gen *g, uint32_t n, tn_value **v)
{
    for (uint32_t i = 0; i < n; i++)
        v[n + i] = values_like(g, tn_type_tensor(g->arena, v[i]->type->element, 0, NULL));
}

static void reduce(values_gen *g)
{
    tn_value *v[6];
    const tn_type *types[3];
    uint32_t n = several(g, 3, 0, v, types), n_dims = 0;
    initial_values(g, n, v);
    int64_t dims[VALUES_DIMS], order[VALUES_DIMS];
    values_permutation(g, order, v[0]->type->rank);
    for (uint32_t i = 0; i < v[0]->type->rank; i++)
        if (below(g, 2)) dims[n_dims++] = one_in(g, 4) ? order[i] : i;
    for (uint32_t i = 0; i < n_dims; i++) /* each once */
        for (uint32_t j = 0; j < i; j++)
            if (dims[i] == dims[j]) n_dims = i;
    tn_op *op = values_op(g, TN_OP_reduce, 2 * n, v, n, 1);
    values_set_ints(g, op, TN_ATTR_dimensions, dims, n_dims);
    values_combiner(g, op, 0, types, n);
    values_finish(g, op);
}

static void reduce_window(values_gen *g)
{
    tn_value *v[6];
    const tn_type *types[3];
    uint32_t n = several(g, 2, 0, v, types), rank = v[0]->type->rank;
    initial_values(g, n, v);
    int64_t size[VALUES_DIMS], stride[VALUES_DIMS], base[VALUES_DIMS], window[VALUES_DIMS],
        pad[2 * VALUES_DIMS];
    for (uint32_t i = 0; i < rank; i++) {
        int64_t d = v[0]->type->dims[i];
        bool plain = below(g, 2), total = d > 0 && one_in(g, 5);
        size[i] = total ? d : plain ? 1 : 1 + below(g, 4);
        stride[i] = total || plain ? 1 : 1 + below(g, 3);
        base[i] = total || plain || below(g, 3) ? 1 : 1 + below(g, 3);
        window[i] = total || plain || below(g, 3) ? 1 : 1 + below(g, 3);
        pad[2 * i] = total ? d - 1 : plain ? 0 : (int64_t)below(g, 5) - 1;
        pad[2 * i + 1] = total || plain ? 0 : (int64_t)below(g, 5) - 1;
        if (total && one_in(g, 3)) pad[2 * i] = 0, pad[2 * i + 1] = d - 1;
    }
    tn_op *op = values_op(g, TN_OP_reduce_window, 2 * n, v, n, 1);
    values_set_ints(g, op, TN_ATTR_window_dimensions, size, rank);
    values_set_ints(g, op, TN_ATTR_window_strides, stride, rank);
    values_set_ints(g, op, TN_ATTR_base_dilations, base, rank);
    values_set_ints(g, op, TN_ATTR_window_dilations, window, rank);
    values_set_matrix(g, op, TN_ATTR_padding, pad, rank);
    values_combiner(g, op, 0, types, n);
    values_finish(g, op);
}

/* A comparator or selector: compares the first pair of arguments, or does something odd. */
static void comparator(values_gen *g, tn_op *op, const tn_type *const *args, uint32_t n)
{
    static const int directions[] = {TN_comparison_direction_LT, TN_comparison_direction_GT,
                                     TN_comparison_direction_LE, TN_comparison_direction_GE};
    uint32_t seen = g->n;
    bool scalars = g->scalars;
    g->scalars = true;
    tn_region *outer = values_enter(g, op, 0, args, 2 * n);
    uint32_t key = one_in(g, 3) ? below(g, n) : 0;
    tn_value *x = &g->region->args[2 * key], *y = &g->region->args[2 * key + 1];
    tn_element_type e = x->type->element;
    bool total = tn_is_float(e) && one_in(g, 2), swap = one_in(g, 6);
    tn_op *cmp = values_op(g, TN_OP_compare, 2, (tn_value *[]){swap ? y : x, swap ? x : y}, 1, 0);
    values_set_int(g, cmp, TN_ATTR_comparison_direction,
                   tn_is_complex(e) ? TN_comparison_direction_NE
                                    : directions[one_in(g, 4) ? below(g, 4) : below(g, 2)]);
    if (total) values_set_int(g, cmp, TN_ATTR_compare_type, TN_comparison_type_TOTALORDER);
    values_finish(g, cmp);
    tn_value *result = &cmp->results[0];
    values_return(g, 1, &result);
    g->region = outer;
    g->scalars = scalars;
    g->n = seen;
}

static void sort(values_gen *g)
{
    tn_value *v[3];
    const tn_type *types[3], *args[6];
    uint32_t n = several(g, 3, 1, v, types), rank = v[0]->type->rank;
    for (uint32_t i = 0; i < n; i++) {
        /* Bits of NaNs decide about places, by a total order. */
        if (tn_is_float(types[i]->element)) v[i] = values_without_nan(g, v[i]);
        args[2 * i] = args[2 * i + 1] = tn_type_tensor(g->arena, types[i]->element, 0, NULL);
    }
    tn_op *op = values_op(g, TN_OP_sort, n, v, n, 1);
    values_set_int(g, op, TN_ATTR_dimension,
                   one_in(g, 3) ? -1 - (int64_t)below(g, rank) : below(g, rank));
    values_set_bool(g, op, TN_ATTR_is_stable, below(g, 2));
    comparator(g, op, args, n);
    values_finish(g, op);
}

static void map(values_gen *g)
{
    tn_value *v[2];
    const tn_type *types[2];
    uint32_t n = several(g, 2, 0, v, types), seen = g->n, rank = types[0]->rank;
    int64_t dims[VALUES_DIMS];
    for (uint32_t i = 0; i < rank; i++) dims[i] = i;
    tn_op *op = values_op(g, TN_OP_map, n, v, 1, 1);
    values_set_ints(g, op, TN_ATTR_dimensions, dims, rank);
    const tn_type *args[2];
    for (uint32_t i = 0; i < n; i++) args[i] = tn_type_tensor(g->arena, types[i]->element, 0, NULL);
    bool scalars = g->scalars;
    uint32_t before = g->n;
    tn_value *kept[VALUES_ROOM];
    for (uint32_t i = 0; i < before; i++) kept[i] = g->values[i];
    g->n = 0;
    g->scalars = true;
    tn_region *outer = values_enter(g, op, 0, args, n);
    uint32_t ops = 1 + below(g, 5);
    for (uint32_t i = 0; i < ops; i++) values_elementwise(g);
    tn_value *result = values_pick(g, ANY_CLASS, 0, 0);
    values_return(g, 1, &result);
    g->region = outer;
    g->scalars = scalars;
    g->n = seen;
    for (uint32_t i = 0; i < before; i++) g->values[i] = kept[i];
    values_finish(g, op);
}

static void select_and_scatter(values_gen *g)
{
    tn_value *x = values_pick(g, ANY_CLASS & ~COMPLEX_CLASS, 1, 5);
    const tn_type *t = x->type, *scalar = tn_type_tensor(g->arena, t->element, 0, NULL);
    if (tn_is_float(t->element)) x = values_without_nan(g, x);
    int64_t size[VALUES_DIMS], stride[VALUES_DIMS], pad[2 * VALUES_DIMS];
    values_shape s = {.rank = t->rank};
    for (uint32_t i = 0; i < t->rank; i++) {
        bool plain = below(g, 2);
        size[i] = plain ? 1 : 1 + below(g, 3);
        stride[i] = plain ? 1 : 1 + below(g, 3);
        pad[2 * i] = plain ? 0 : below(g, (uint32_t)size[i]);
        pad[2 * i + 1] = plain ? 0 : below(g, (uint32_t)size[i]);
        int64_t room = t->dims[i] + pad[2 * i] + pad[2 * i + 1];
        s.dims[i] = room < size[i] ? 0 : (room - size[i]) / stride[i] + 1;
    }
    tn_value *v[3] = {x, values_like(g, values_type(g, t->element, &s)), values_like(g, scalar)};
    tn_op *op = values_op(g, TN_OP_select_and_scatter, 3, v, 1, 2);
    values_set_ints(g, op, TN_ATTR_window_dimensions, size, t->rank);
    values_set_ints(g, op, TN_ATTR_window_strides, stride, t->rank);
    values_set_matrix(g, op, TN_ATTR_padding, pad, t->rank);
    comparator(g, op, (const tn_type *[]){scalar, scalar}, 1);
    values_combiner(g, op, 1, &t, 1);
    values_finish(g, op);
}

void values_reductions(values_gen *g)
{
    switch (below(g, 13)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: reduce(g); break;
    case 5:
    case 6:
    case 7: reduce_window(g); break;
    case 8:
    case 9: sort(g); break;
    case 10: map(g); break;
    default: select_and_scatter(g); break;
    }
}
