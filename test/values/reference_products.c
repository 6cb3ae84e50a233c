/* SPDX-License-Identifier: Apache-2.0 */
/* dot_general and convolution by their definitions. */
#include "test/values/reference.h"

enum { MOST = 400000 }; /* terms of one op that is checked */

static const int64_t *ints(const tn_op *op, tn_attr_name name, uint32_t *n)
{
    return tn_op_ints(op, name, n);
}

static const char *check_dot(const tn_op *op, const tn_tensor *in, const tn_tensor *out)
{
    uint32_t nb, mb, nc, mc;
    const int64_t *xb = ints(op, TN_ATTR_lhs_batching_dimensions, &nb);
    const int64_t *yb = ints(op, TN_ATTR_rhs_batching_dimensions, &mb);
    const int64_t *xc = ints(op, TN_ATTR_lhs_contracting_dimensions, &nc);
    const int64_t *yc = ints(op, TN_ATTR_rhs_contracting_dimensions, &mc);
    const tn_type *x = in[0].type, *y = in[1].type;
    int64_t n = tn_type_elements(out->type), depth = 1;
    for (uint32_t i = 0; i < nc; i++) depth *= x->dims[xc[i]];
    if (n * (depth + 1) > MOST) return NULL;
    for (int64_t i = 0; i < n; i++) {
        place r = place_of(out->type, i), p = {{0}}, q = {{0}};
        uint32_t at = 0;
        for (uint32_t b = 0; b < nb; b++, at++) p.v[xb[b]] = q.v[yb[b]] = r.v[at];
        for (uint32_t d = 0; d < x->rank; d++)
            if (!has(xb, nb, d) && !has(xc, nc, d)) p.v[d] = r.v[at++];
        for (uint32_t d = 0; d < y->rank; d++)
            if (!has(yb, mb, d) && !has(yc, mc, d)) q.v[d] = r.v[at++];
        number sum = {0};
        for (int64_t k = 0; k < depth; k++) {
            int64_t rest = k;
            for (uint32_t c = nc; c-- > 0; rest /= x->dims[xc[c]])
                p.v[xc[c]] = q.v[yc[c]] = rest % x->dims[xc[c]];
            add_to(&sum, product(out->type, number_at(&in[0], element_at(x, &p)),
                                 number_at(&in[1], element_at(y, &q))));
        }
        if (!holds(out, i, &sum, true)) return differs_at(out->type, i);
    }
    return NULL;
}

static const char *check_convolution(const tn_op *op, const tn_tensor *in, const tn_tensor *out)
{
    uint32_t rank, n_pad, unused;
    const int64_t *xs = ints(op, TN_ATTR_input_spatial_dimensions, &rank);
    const int64_t *ks = ints(op, TN_ATTR_kernel_spatial_dimensions, &unused);
    const int64_t *os = ints(op, TN_ATTR_output_spatial_dimensions, &unused);
    const int64_t *pad = ints(op, TN_ATTR_padding, &n_pad);
    const int64_t *stride = ints(op, TN_ATTR_window_strides, &unused);
    const int64_t *lhs = ints(op, TN_ATTR_lhs_dilation, &unused);
    const int64_t *rhs = ints(op, TN_ATTR_rhs_dilation, &unused);
    const bool *reversal = tn_op_bools(op, TN_ATTR_window_reversal, &unused);
    int64_t xb = tn_op_int(op, TN_ATTR_input_batch_dimension, 0);
    int64_t xf = tn_op_int(op, TN_ATTR_input_feature_dimension, 0);
    int64_t ki = tn_op_int(op, TN_ATTR_kernel_input_feature_dimension, 0);
    int64_t ko = tn_op_int(op, TN_ATTR_kernel_output_feature_dimension, 0);
    int64_t ob = tn_op_int(op, TN_ATTR_output_batch_dimension, 0);
    int64_t of = tn_op_int(op, TN_ATTR_output_feature_dimension, 0);
    int64_t fg = tn_op_int(op, TN_ATTR_feature_group_count, 1);
    int64_t bg = tn_op_int(op, TN_ATTR_batch_group_count, 1);
    const tn_type *x = in[0].type, *k = in[1].type;
    int64_t n = tn_type_elements(out->type), taps = tn_type_elements(k);
    if (n * (taps + 1) > MOST) return NULL;
    int64_t outputs = k->dims[ko];
    for (int64_t i = 0; i < n; i++) {
        place r = place_of(out->type, i);
        number sum = {0};
        for (int64_t j = 0; j < taps; j++) {
            place q = place_of(k, j), p = {{0}};
            if (q.v[ko] != r.v[of]) continue;
            bool inside = true;
            for (uint32_t d = 0; d < rank && inside; d++) {
                int64_t tap = q.v[ks[d]];
                if (reversal[d]) tap = k->dims[ks[d]] - 1 - tap;
                int64_t at = r.v[os[d]] * stride[d] + tap * rhs[d] - pad[2 * d];
                inside = at >= 0 && at % lhs[d] == 0 && at / lhs[d] < x->dims[xs[d]];
                p.v[xs[d]] = at / lhs[d];
            }
            if (!inside) { /* a zero there times inf is NaN; who skips it has none */
                sum.wild |= number_at(&in[1], j).wild;
                continue;
            }
            p.v[xf] = r.v[of] / (outputs / fg) * k->dims[ki] + q.v[ki];
            p.v[xb] = r.v[ob];
            if (bg > 1) p.v[xb] += r.v[of] / (outputs / bg) * (x->dims[xb] / bg);
            add_to(&sum,
                   product(out->type, number_at(&in[0], element_at(x, &p)), number_at(&in[1], j)));
        }
        if (!holds(out, i, &sum, true)) return differs_at(out->type, i);
    }
    return NULL;
}

/* Sums that are declared in a float type while the operands are integers, or the other way round,
 * and boolean ones, are left to others. */
static bool is_plain(const tn_tensor *in, const tn_tensor *out)
{
    tn_element_class p = tn_element_type_class(in[0].type->element);
    return p == tn_element_type_class(in[1].type->element) &&
           p == tn_element_type_class(out->type->element) && p != TN_CLASS_BOOL &&
           !out->type->quantization;
}

bool reference_products(const tn_op *op, const tn_tensor *in, const tn_tensor *out,
                        const char **what)
{
    if (op->kind != TN_OP_dot_general && op->kind != TN_OP_convolution) return false;
    if (is_plain(in, out))
        *what =
            op->kind == TN_OP_dot_general ? check_dot(op, in, out) : check_convolution(op, in, out);
    return true;
}
