/* SPDX-License-Identifier: Apache-2.0 */
/* What checked runs look for in one op: values, NaNs, indices. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "executable/checked.h"
#include "ops/access.h"
#include "ops/windows.h"

/* --- elements --- */

/* Elements [i, i + n) of a real type as doubles. */
static void widen(tn_element_type e, const void *data, int64_t i, size_t n, double *out)
{
    tn_kernel k;
    const void *from = (const char *)data + i * (int64_t)tn_element_type_bytes(e);
    if (e == TN_F64) memcpy(out, from, n * sizeof *out);
    else if (tn_kernel_convert(TN_ISA_BASELINE, e, TN_F64, &k)) tn_kernel_run(&k, n, &from, out);
}

int64_t tn_first_difference(const tn_type *t, const void *x, const void *y)
{
    size_t size = tn_type_bytes(t);
    if (!size || !memcmp(x, y, size)) return -1;
    tn_element_type e = tn_real_type(t->element);
    unsigned bytes = tn_element_type_bytes(e);
    int64_t parts = tn_is_complex(t->element) ? 2 : 1;
    for (int64_t i = 0; i < (int64_t)(size / bytes); i++) {
        double p = 0, q = 1;
        if (!memcmp((const char *)x + i * bytes, (const char *)y + i * bytes, bytes)) continue;
        if (tn_is_float(e)) {
            widen(e, x, i, 1, &p);
            widen(e, y, i, 1, &q);
            if (isnan(p) && isnan(q)) continue;
        }
        return i / parts;
    }
    return -1;
}

const char *tn_element_text(const tn_type *t, const void *data, int64_t i, char *buf, size_t size)
{
    double v[2] = {0, 0};
    bool complex = tn_is_complex(t->element);
    widen(tn_real_type(t->element), data, complex ? 2 * i : i, complex ? 2 : 1, v);
    if (complex) snprintf(buf, size, "(%.17g, %.17g)", v[0], v[1]);
    else if (t->element == TN_I64 || t->element == TN_U64)
        snprintf(buf, size, "%" PRId64, ((const int64_t *)data)[i]);
    else snprintf(buf, size, "%.17g", v[0]);
    return buf;
}

/* --- NaN --- */

/* The first NaN of a tensor, or -1. */
static int64_t first_nan(const tn_tensor *t)
{
    tn_element_type e = t->type->kind == TN_TYPE_TENSOR ? tn_real_type(t->type->element) : TN_TOKEN;
    if (!tn_is_float(e) || t->type->quantization) return -1;
    int64_t parts = tn_is_complex(t->type->element) ? 2 : 1, n = tn_type_elements(t->type) * parts;
    double v[256];
    for (int64_t i = 0; i < n; i += 256) {
        size_t count = n - i < 256 ? (size_t)(n - i) : 256;
        widen(e, t->data, i, count, v);
        for (size_t k = 0; k < count; k++)
            if (isnan(v[k])) return (i + (int64_t)k) / parts;
    }
    return -1;
}

static tn_status *check_nan(const tn_op *op, const tn_tensor *operands, const tn_tensor *results)
{
    if (op->kind == TN_OP_constant || op->n_regions) {
        /* What a loop or branch returns was seen inside of it. */
        if (op->kind == TN_OP_constant || tn_op_has_trait(op, TN_TRAIT_CONTROL)) return NULL;
    }
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (first_nan(&operands[i]) >= 0) return NULL;
    for (uint32_t i = 0; i < op->n_results; i++) {
        int64_t at = first_nan(&results[i]);
        if (at >= 0)
            return TN_OP_ERROR(FAILED_PRECONDITION, op,
                               "the first NaN: element %" PRId64
                               " of result %u, %s; no operand has "
                               "one",
                               at, i, TN_TYPE_IN_MESSAGE(results[i].type));
    }
    return NULL;
}

/* --- indices --- */

static tn_status *outside(const tn_op *op, int64_t start, int64_t dim, int64_t size, int64_t window,
                          const char *what)
{
    return TN_OP_ERROR(OUT_OF_RANGE, op,
                       "index %" PRId64 " is outside: dimension %" PRId64 " has size %" PRId64
                       " and the window %" PRId64 ", so the index should be in [0, %" PRId64
                       "]; it is %s",
                       start, dim, size, window, size - window, what);
}

static tn_status *check_starts(const tn_op *op, const tn_tensor *operands, uint32_t first,
                               const tn_type *window)
{
    const tn_type *t = operands[0].type;
    for (uint32_t i = 0; i < t->rank; i++) {
        const tn_tensor *index = &operands[first + i];
        int64_t start = tn_read_index(index->data, index->type->element, 0);
        if (start < 0 || start > t->dims[i] - window->dims[i])
            return outside(op, start, i, t->dims[i], window->dims[i], "clamped");
    }
    return NULL;
}

/* Sizes of scatter's windows: the dimensions of the updates that are window dimensions, in order.
 */
static int64_t window_size(const tn_op *op, const tn_window_dims *d, const tn_tensor *operands,
                           uint32_t indices, int64_t dim)
{
    if (op->kind == TN_OP_gather) {
        uint32_t n;
        return tn_op_ints(op, TN_ATTR_slice_sizes, &n)[dim];
    }
    if (op->kind == TN_OP_dynamic_gather)
        return tn_read_index(operands[2].data, operands[2].type->element, dim);
    if (!tn_is_window_dim(d, dim)) return 1;
    uint32_t nth = 0;
    for (int64_t i = 0; i < dim; i++) nth += tn_is_window_dim(d, i);
    return operands[indices + 1].type->dims[d->window_dims.v[nth]];
}

static tn_status *check_vectors(const tn_op *op, const tn_window_dims *d, const tn_tensor *operands,
                                uint32_t indices, const char *what)
{
    const tn_tensor *t = &operands[indices];
    if (tn_is_empty(t->type)) return NULL;
    int64_t step = d->vector_dim < t->type->rank ? tn_step(t->type, (uint32_t)d->vector_dim) : 1;
    int64_t length = d->vector_dim < t->type->rank ? t->type->dims[d->vector_dim] : 1;
    int64_t n = tn_type_elements(t->type);
    for (int64_t i = 0; i < n; i++) {
        int64_t component = i / step % length, dim = d->index_map.v[component];
        int64_t start = tn_read_index(t->data, t->type->element, i);
        int64_t size = operands[0].type->dims[dim];
        int64_t window = window_size(op, d, operands, indices, dim);
        if (start < 0 || start > size - window) return outside(op, start, dim, size, window, what);
    }
    return NULL;
}

static tn_status *check_bounds(const tn_op *op, const tn_tensor *operands, const tn_tensor *results)
{
    switch ((int)op->kind) {
    case TN_OP_dynamic_slice: return check_starts(op, operands, 1, results[0].type);
    case TN_OP_dynamic_update_slice: return check_starts(op, operands, 2, operands[1].type);
    case TN_OP_gather:
    case TN_OP_dynamic_gather: {
        tn_window_dims d = tn_gather_dims(op);
        return check_vectors(op, &d, operands, 1, "clamped");
    }
    case TN_OP_scatter: {
        tn_window_dims d = tn_scatter_dims(op);
        return check_vectors(op, &d, operands, op->n_operands / 2, "skipped with its whole window");
    }
    default: return NULL;
    }
}

void tn_watch_op(const tn_eval_observer *self, const tn_op *op, const tn_tensor *operands,
                 const tn_tensor *results)
{
    tn_op_watch *w = (tn_op_watch *)self;
    if (!w->found && w->checks & TN_CHECK_BOUNDS) w->found = check_bounds(op, operands, results);
    if (!w->found && w->checks & TN_CHECK_NAN) w->found = check_nan(op, operands, results);
}
