/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/windows.h"

#include "ops/access.h"

static tn_ints list(const tn_op *op, tn_attr_name name)
{
    tn_ints v;
    v.v = tn_op_ints(op, name, &v.n);
    return v;
}

tn_window_dims tn_gather_dims(const tn_op *op)
{
    return (tn_window_dims){
        list(op, TN_ATTR_offset_dims),           list(op, TN_ATTR_collapsed_slice_dims),
        list(op, TN_ATTR_operand_batching_dims), list(op, TN_ATTR_start_indices_batching_dims),
        list(op, TN_ATTR_start_index_map),       tn_op_int(op, TN_ATTR_index_vector_dim, 0)};
}

tn_window_dims tn_scatter_dims(const tn_op *op)
{
    return (tn_window_dims){list(op, TN_ATTR_update_window_dims),
                            list(op, TN_ATTR_inserted_window_dims),
                            list(op, TN_ATTR_input_batching_dims),
                            list(op, TN_ATTR_scatter_indices_batching_dims),
                            list(op, TN_ATTR_scatter_dims_to_operand_dims),
                            tn_op_int(op, TN_ATTR_index_vector_dim, 0)};
}

static tn_status *check_distinct(const tn_op *op, tn_ints x, tn_attr_name x_name, tn_ints y,
                                 tn_attr_name y_name)
{
    for (uint32_t i = 0; i < x.n; i++)
        if (tn_ints_have(y, x.v[i]))
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s and %s both name dimension %" PRId64,
                               tn_attr_text(x_name), tn_attr_text(y_name), x.v[i]);
    return NULL;
}

tn_status *tn_check_window_dims(const tn_op *op, const tn_type *operand, const tn_type *indices,
                                uint32_t other_rank)
{
    bool scatter = op->kind == TN_OP_scatter;
    tn_attr_name window = scatter ? TN_ATTR_update_window_dims : TN_ATTR_offset_dims;
    tn_attr_name dropped = scatter ? TN_ATTR_inserted_window_dims : TN_ATTR_collapsed_slice_dims;
    tn_attr_name batching = scatter ? TN_ATTR_input_batching_dims : TN_ATTR_operand_batching_dims;
    tn_attr_name index_batching =
        scatter ? TN_ATTR_scatter_indices_batching_dims : TN_ATTR_start_indices_batching_dims;
    tn_attr_name map = scatter ? TN_ATTR_scatter_dims_to_operand_dims : TN_ATTR_start_index_map;
    tn_window_dims d;
    TN_TRY(tn_check_dims(op, window, other_rank, true, &d.window_dims));
    TN_TRY(tn_check_dims(op, dropped, operand->rank, true, &d.dropped_dims));
    TN_TRY(tn_check_dims(op, batching, operand->rank, true, &d.batching_dims));
    TN_TRY(tn_check_dims(op, index_batching, indices->rank, false, &d.index_batching));
    TN_TRY(tn_check_dims(op, map, operand->rank, false, &d.index_map));
    TN_TRY(check_distinct(op, d.dropped_dims, dropped, d.batching_dims, batching));
    TN_TRY(check_distinct(op, d.index_map, map, d.batching_dims, batching));
    uint64_t named = (uint64_t)d.window_dims.n + d.dropped_dims.n + d.batching_dims.n;
    if (named != operand->rank)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "%s, %s and %s should have %u values together, the rank of operand 0, "
                           "and have %" PRIu64,
                           tn_attr_text(window), tn_attr_text(dropped), tn_attr_text(batching),
                           operand->rank, named);
    d.vector_dim = tn_op_int(op, TN_ATTR_index_vector_dim, 0);
    if (d.vector_dim < 0 || d.vector_dim > indices->rank)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "index_vector_dim should be in [0, %u] and is %" PRId64, indices->rank,
                           d.vector_dim);
    int64_t components = d.vector_dim < indices->rank ? indices->dims[d.vector_dim] : 1;
    if (!tn_dims_agree(components, d.index_map.n))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "%s should have %" PRId64 " values, the size of the index vectors, and "
                           "has %u",
                           tn_attr_text(map), components, d.index_map.n);
    if (tn_ints_have(d.index_batching, d.vector_dim))
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s names index_vector_dim, %" PRId64,
                           tn_attr_text(index_batching), d.vector_dim);
    if (d.index_batching.n != d.batching_dims.n)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "%s and %s should have as many values and have %u and %u",
                           tn_attr_text(batching), tn_attr_text(index_batching), d.batching_dims.n,
                           d.index_batching.n);
    for (uint32_t i = 0; i < d.batching_dims.n; i++) {
        int64_t x = operand->dims[d.batching_dims.v[i]], y = indices->dims[d.index_batching.v[i]];
        if (!tn_dims_agree(x, y))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "batching dimension %" PRId64 " of the operand has size %" PRId64
                               " and dimension %" PRId64 " of the indices %" PRId64,
                               d.batching_dims.v[i], x, d.index_batching.v[i], y);
    }
    uint32_t positions = indices->rank - (d.vector_dim < indices->rank);
    if (other_rank != positions + d.window_dims.n)
        return TN_OP_ERROR(
            INVALID_ARGUMENT, op,
            "%s should have rank %u, of the indices' %u and %s's %u, and has rank %u",
            scatter ? "the updates" : "the result", positions + d.window_dims.n, positions,
            tn_attr_text(window), d.window_dims.n, other_rank);
    return NULL;
}

/* Loops that are one loop become one, and those of one iteration none. */
static void merge_loops(tn_windows *w)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < w->n_loops; k++) {
        tn_window_loop l = w->loops[k], *before = n ? &w->loops[n - 1] : NULL;
        if (l.dim == 1) continue;
        if (before && before->index == l.index * l.dim && before->other == l.other * l.dim &&
            before->operand == l.operand * l.dim) {
            l.dim *= before->dim;
            *before = l;
        } else {
            w->loops[n++] = l;
        }
    }
    w->n_loops = n;
}

tn_status *tn_windows_prepare(const tn_op *op, const tn_window_dims *d, const tn_tensor *indices,
                              const tn_type *operand, const tn_type *other, const int64_t *sizes,
                              uint32_t inner, tn_scratch *scratch, tn_windows *w)
{
    const tn_type *t = indices->type;
    *w = (tn_windows){.indices = indices->data, .index_type = t->element, .n = 1};
    w->loops = tn_scratch_alloc(scratch, (other->rank + 1) * sizeof *w->loops);
    w->components = tn_scratch_alloc(scratch, (d->index_map.n + 1) * sizeof *w->components);
    if (!w->loops || !w->components) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    for (uint32_t i = 0; i < operand->rank; i++)
        if (sizes[i] > operand->dims[i])
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "a window of size %" PRId64 " doesn't fit in dimension %u of %s",
                               sizes[i], i, TN_TYPE_IN_MESSAGE(operand));
    uint32_t nth = 0, window_dim = 0;
    for (uint32_t i = 0; i < other->rank; i++) {
        if (tn_ints_have(d->window_dims, i)) {
            while (!tn_is_window_dim(d, window_dim)) window_dim++;
            uint32_t k = window_dim++;
            if (i >= inner) continue;
            w->n *= other->dims[i];
            w->loops[w->n_loops++] =
                (tn_window_loop){other->dims[i], 0, tn_stride(other, i), tn_stride(operand, k)};
            continue;
        }
        uint32_t from = tn_index_dim(d, nth++);
        tn_window_loop l = {other->dims[i], tn_step(t, from), tn_stride(other, i), 0};
        bool same = l.dim == t->dims[from];
        for (uint32_t j = 0; j < d->index_batching.n; j++) {
            if (d->index_batching.v[j] != from) continue;
            uint32_t to = (uint32_t)d->batching_dims.v[j];
            same = same && l.dim == operand->dims[to];
            l.operand = tn_stride(operand, to);
        }
        if (!same)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u of the indices, %s, should have size %" PRId64, from,
                               TN_TYPE_IN_MESSAGE(t), l.dim);
        w->n *= l.dim;
        w->loops[w->n_loops++] = l;
    }
    int64_t step = d->vector_dim < t->rank ? tn_step(t, (uint32_t)d->vector_dim) : 0;
    for (uint32_t i = 0; i < d->index_map.n; i++) {
        uint32_t dim = (uint32_t)d->index_map.v[i];
        w->components[w->n_components++] = (tn_window_component){
            tn_stride(operand, dim), operand->dims[dim] - sizes[dim], i * step};
    }
    merge_loops(w);
    return NULL;
}

tn_window_loop tn_windows_innermost(const tn_windows *w)
{
    return w->n_loops ? w->loops[w->n_loops - 1] : (tn_window_loop){.dim = 1};
}

bool tn_windows_are_indexed(const tn_windows *w)
{
    int64_t dim = tn_windows_innermost(w).dim;
    return w->n_components == 1 && (dim >= 8 || dim == w->n);
}

tn_window_run tn_windows_run(const tn_windows *w, int64_t begin, int64_t end)
{
    tn_window_run r = {.index = w->components[0].index};
    int64_t dim = tn_windows_innermost(w).dim, rest = begin;
    r.n = dim - begin % dim;
    if (r.n > end - begin) r.n = end - begin;
    for (uint32_t k = w->n_loops; k--;) {
        const tn_window_loop *l = &w->loops[k];
        int64_t p = rest % l->dim;
        rest /= l->dim;
        r.index += p * l->index;
        r.operand += p * l->operand;
        r.other += p * l->other;
    }
    return r;
}

/* Adds one component of n index vectors to their offsets. */
#define ADD_COMPONENT(T)                                                                           \
    do {                                                                                           \
        const T *p = (const T *)w->indices + c->index;                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T v = p[at[i]];                                                                        \
            bool negative = v < 1 && v != 0, far = !negative && (uint64_t)v > limit;               \
            int64_t start = negative ? 0 : far ? c->limit : (int64_t)v;                            \
            operand[i] += start * c->step;                                                         \
            outside[i] |= negative | far;                                                          \
        }                                                                                          \
    } while (0)

static void add_component(const tn_windows *w, const tn_window_component *c, int64_t n,
                          const int64_t *at, int64_t *operand, uint8_t *outside)
{
    uint64_t limit = (uint64_t)c->limit;
    switch (w->index_type) {
    case TN_I64: ADD_COMPONENT(int64_t); return;
    case TN_I32: ADD_COMPONENT(int32_t); return;
    case TN_I16: ADD_COMPONENT(int16_t); return;
    case TN_I2:
    case TN_I4:
    case TN_I8: ADD_COMPONENT(int8_t); return;
    case TN_U64: ADD_COMPONENT(uint64_t); return;
    case TN_U32: ADD_COMPONENT(uint32_t); return;
    case TN_U16: ADD_COMPONENT(uint16_t); return;
    default: ADD_COMPONENT(uint8_t); return;
    }
}

void tn_windows_offsets(const tn_windows *w, int64_t begin, int64_t n, int64_t *operand,
                        int64_t *other)
{
    int64_t at[TN_WINDOWS_AT_ONCE]; /* elements of the index tensor */
    uint8_t outside[TN_WINDOWS_AT_ONCE];
    memset(outside, 0, (size_t)n);
    memset(at, 0, (size_t)n * sizeof *at);
    memset(operand, 0, (size_t)n * sizeof *operand);
    memset(other, 0, (size_t)n * sizeof *other);
    /* Loop by loop, innermost first: position i of loop k is (begin + i) / inner % dim. */
    int64_t inner = 1;
    for (uint32_t k = w->n_loops; k--;) {
        const tn_window_loop *l = &w->loops[k];
        int64_t p = begin / inner % l->dim, left = inner - begin % inner;
        for (int64_t i = 0; i < n; i++) {
            at[i] += p * l->index;
            operand[i] += p * l->operand;
            other[i] += p * l->other;
            if (--left) continue;
            left = inner;
            if (++p == l->dim) p = 0;
        }
        inner *= l->dim;
    }
    for (uint32_t k = 0; k < w->n_components; k++)
        add_component(w, &w->components[k], n, at, operand, outside);
    if (w->clamp) return;
    for (int64_t i = 0; i < n; i++)
        if (outside[i]) operand[i] = -1;
}
