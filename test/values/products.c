/* SPDX-License-Identifier: Apache-2.0 */
/* Contractions, convolutions, and the numeric library. */
#include "test/values/generate.h"

/* Mostly the type of the operands, as a sum of products is declared. */
static const tn_type *product_type(values_gen *g, tn_element_type e, const values_shape *s)
{
    if (one_in(g, 4)) {
        if (tn_element_type_class(e) == TN_CLASS_SINT) e = one_in(g, 2) ? TN_I32 : TN_I64;
        else if (tn_is_float(e) && tn_element_type_bits(e) < 32) e = TN_F32;
    }
    return values_type(g, e, s);
}

static void dot_general(values_gen *g)
{
    tn_value *x = values_pick(g, ANY_CLASS, 0, 5);
    const tn_type *t = x->type;
    int64_t order[VALUES_DIMS], places[2 * VALUES_DIMS];
    values_permutation(g, order, t->rank);
    uint32_t batch = t->rank ? below(g, t->rank > 2 ? 3 : 2) : 0;
    if (batch > t->rank) batch = 0;
    uint32_t contract = t->rank > batch ? below(g, t->rank - batch + 1) : 0;
    if (contract > 2) contract = 1;
    uint32_t shared = batch + contract, free_dims = below(g, 3);
    values_shape y = {.rank = shared + free_dims};
    values_permutation(g, places, y.rank);
    for (uint32_t i = 0; i < y.rank; i++)
        y.dims[places[i]] = i < shared ? t->dims[order[i]] : one_in(g, 20) ? 0 : 1 + below(g, 9);
    values_shape z = {0};
    for (uint32_t i = 0; i < batch; i++) z.dims[z.rank++] = t->dims[order[i]];
    for (uint32_t d = 0; d < t->rank; d++) {
        bool is_free = true;
        for (uint32_t i = 0; i < shared; i++) is_free &= order[i] != (int64_t)d;
        if (is_free) z.dims[z.rank++] = t->dims[d];
    }
    for (uint32_t d = 0; d < y.rank; d++) {
        bool is_free = true;
        for (uint32_t i = 0; i < shared; i++) is_free &= places[i] != (int64_t)d;
        if (is_free) z.dims[z.rank++] = y.dims[d];
    }
    if (z.rank > VALUES_DIMS || values_elements(&z) > VALUES_ELEMENTS) return;
    tn_op *op = values_op(g, TN_OP_dot_general, 2,
                          (tn_value *[]){x, values_like(g, values_type(g, t->element, &y))}, 1, 0);
    values_declare(op, product_type(g, t->element, &z));
    values_set_ints(g, op, TN_ATTR_lhs_batching_dimensions, order, batch);
    values_set_ints(g, op, TN_ATTR_rhs_batching_dimensions, places, batch);
    values_set_ints(g, op, TN_ATTR_lhs_contracting_dimensions, order + batch, contract);
    values_set_ints(g, op, TN_ATTR_rhs_contracting_dimensions, places + batch, contract);
    values_finish(g, op);
}

static void dot(values_gen *g)
{
    tn_value *x = values_pick(g, ANY_CLASS, 1, 2);
    values_shape y = {.rank = 1 + below(g, 2)}, z = {0};
    y.dims[0] = x->type->dims[x->type->rank - 1];
    if (y.rank == 2) y.dims[1] = 1 + below(g, 8);
    if (x->type->rank == 2) z.dims[z.rank++] = x->type->dims[0];
    if (y.rank == 2) z.dims[z.rank++] = y.dims[1];
    tn_op *op =
        values_op(g, TN_OP_dot, 2,
                  (tn_value *[]){x, values_like(g, values_type(g, x->type->element, &y))}, 1, 0);
    values_declare(op, product_type(g, x->type->element, &z));
    values_finish(g, op);
}

static void convolution(values_gen *g)
{
    uint32_t spatial = below(g, 4), rank = spatial + 2;
    int64_t in[VALUES_DIMS], kernel[VALUES_DIMS], out[VALUES_DIMS];
    values_permutation(g, in, rank);
    values_permutation(g, kernel, rank);
    values_permutation(g, out, rank);
    int64_t groups = below(g, 3) ? 1 : 1 + below(g, 3), by_batch = groups > 1 && one_in(g, 3);
    int64_t features = 1 + below(g, 4), outputs = groups * (1 + below(g, 4));
    values_shape x = {.rank = rank}, y = {.rank = rank}, z = {.rank = rank};
    int64_t batch = one_in(g, 15) ? 0 : 1 + below(g, 3);
    x.dims[in[0]] = by_batch ? batch * groups : batch;
    x.dims[in[1]] = by_batch ? features : features * groups;
    y.dims[kernel[0]] = features;
    y.dims[kernel[1]] = outputs;
    z.dims[out[0]] = batch;
    z.dims[out[1]] = outputs;
    int64_t stride[4], pad[8], lhs[4], rhs[4];
    bool reversal[4];
    for (uint32_t i = 0; i < spatial; i++) {
        int64_t size = one_in(g, 15) ? 0 : 1 + below(g, 9), taps = 1 + below(g, 4);
        stride[i] = below(g, 3) ? 1 : 1 + below(g, 3);
        lhs[i] = below(g, 4) ? 1 : 1 + below(g, 3);
        rhs[i] = below(g, 4) ? 1 : 1 + below(g, 3);
        pad[2 * i] = below(g, 2) ? 0 : (int64_t)below(g, 5) - 1;
        pad[2 * i + 1] = below(g, 2) ? 0 : (int64_t)below(g, 5) - 1;
        reversal[i] = one_in(g, 5);
        x.dims[in[2 + i]] = size;
        y.dims[kernel[2 + i]] = taps;
        int64_t room = (size ? (size - 1) * lhs[i] + 1 : 0) + pad[2 * i] + pad[2 * i + 1];
        int64_t reach = (taps - 1) * rhs[i] + 1;
        if (room < 0) return;
        z.dims[out[2 + i]] = room < reach ? 0 : (room - reach) / stride[i] + 1;
    }
    tn_element_type e = values_some_type(g, ANY_CLASS);
    bool dynamic = one_in(g, 8);
    int64_t dims[2] = {spatial, 2};
    tn_value *v[3] = {values_like(g, values_type(g, e, &x)), values_like(g, values_type(g, e, &y))};
    if (dynamic) v[2] = values_constant_of(g, tn_type_tensor(g->arena, TN_I64, 2, dims), pad);
    tn_op *op =
        values_op(g, dynamic ? TN_OP_dynamic_conv : TN_OP_convolution, 2 + dynamic, v, 1, 0);
    values_declare(op, product_type(g, e, &z));
    values_set_int(g, op, TN_ATTR_input_batch_dimension, in[0]);
    values_set_int(g, op, TN_ATTR_input_feature_dimension, in[1]);
    values_set_ints(g, op, TN_ATTR_input_spatial_dimensions, in + 2, spatial);
    values_set_int(g, op, TN_ATTR_kernel_input_feature_dimension, kernel[0]);
    values_set_int(g, op, TN_ATTR_kernel_output_feature_dimension, kernel[1]);
    values_set_ints(g, op, TN_ATTR_kernel_spatial_dimensions, kernel + 2, spatial);
    values_set_int(g, op, TN_ATTR_output_batch_dimension, out[0]);
    values_set_int(g, op, TN_ATTR_output_feature_dimension, out[1]);
    values_set_ints(g, op, TN_ATTR_output_spatial_dimensions, out + 2, spatial);
    values_set_int(g, op, TN_ATTR_batch_group_count, by_batch ? groups : 1);
    values_set_int(g, op, TN_ATTR_feature_group_count, by_batch ? 1 : groups);
    values_set_ints(g, op, TN_ATTR_window_strides, stride, spatial);
    values_set_ints(g, op, TN_ATTR_lhs_dilation, lhs, spatial);
    values_set_ints(g, op, TN_ATTR_rhs_dilation, rhs, spatial);
    if (!dynamic) values_set_matrix(g, op, TN_ATTR_padding, pad, spatial);
    tn_attr *reversed = TN_NEW(g->arena, tn_attr);
    reversed->kind = TN_ATTR_KIND_BOOLS;
    reversed->bools.data = tn_dup(g->arena, reversal, sizeof reversal);
    reversed->bools.n = spatial;
    tn_op_set_attr(g->module, op, TN_ATTR_window_reversal, reversed);
    values_finish(g, op);
}

static void fft(values_gen *g)
{
    int64_t kind = below(g, 4);
    bool real = kind == TN_fft_type_RFFT;
    tn_value *x = values_pick(g, real ? FLOAT_CLASS : COMPLEX_CLASS, 1, 5);
    const tn_type *t = x->type;
    if (real && t->element != TN_F32 && t->element != TN_F64) {
        values_shape s = values_shape_of(t);
        x = values_like(g, t = values_type(g, one_in(g, 2) ? TN_F32 : TN_F64, &s));
    }
    uint32_t n = 1 + below(g, t->rank < 3 ? t->rank : 3);
    int64_t length[3];
    for (uint32_t i = 0; i < n; i++) length[i] = t->dims[t->rank - n + i];
    if (kind == TN_fft_type_IRFFT && length[n - 1])
        length[n - 1] = 2 * (length[n - 1] - 1) + below(g, 2);
    tn_op *op = values_op(g, TN_OP_fft, 1, &x, 1, 0);
    values_set_int(g, op, TN_ATTR_fft_type, kind);
    values_set_ints(g, op, TN_ATTR_fft_length, length, n);
    values_finish(g, op);
}

static void matrices(values_gen *g)
{
    static const tn_element_type types[] = {TN_F32, TN_F64,  TN_C64,    TN_C128,
                                            TN_F16, TN_BF16, TN_F8E5M2, TN_F32};
    values_shape s = {.rank = 2 + below(g, 2)}, b;
    for (uint32_t i = 0; i < s.rank; i++) s.dims[i] = below(g, 6);
    s.dims[s.rank - 2] = s.dims[s.rank - 1];
    tn_element_type e = types[below(g, 8)];
    tn_value *a = values_like(g, values_type(g, e, &s));
    if (one_in(g, 3)) {
        tn_op *op = values_op(g, TN_OP_cholesky, 1, &a, 1, 0);
        values_set_bool(g, op, TN_ATTR_lower, below(g, 2));
        values_finish(g, op);
        return;
    }
    bool left = below(g, 2);
    b = s;
    b.dims[left ? b.rank - 1 : b.rank - 2] = 1 + below(g, 5);
    tn_op *op = values_op(g, TN_OP_triangular_solve, 2,
                          (tn_value *[]){a, values_like(g, values_type(g, e, &b))}, 1, 0);
    values_set_bool(g, op, TN_ATTR_left_side, left);
    values_set_bool(g, op, TN_ATTR_lower, below(g, 2));
    values_set_bool(g, op, TN_ATTR_unit_diagonal, below(g, 2));
    values_set_int(g, op, TN_ATTR_transpose_a, 1 + below(g, 3));
    values_finish(g, op);
}

static void random_bits(values_gen *g)
{
    values_shape state = {1, {2}}, s = *values_some_shape(g);
    int64_t algorithm = below(g, 3);
    if (algorithm == TN_rng_algorithm_PHILOX && one_in(g, 2)) state.dims[0] = 3;
    tn_value *x = values_like(g, values_type(g, TN_U64, &state));
    tn_op *op = values_op(g, TN_OP_rng_bit_generator, 1, &x, 2, 0);
    op->results[0].type = x->type;
    op->results[1].type = values_type(g, values_some_type(g, INTEGER_CLASS), &s);
    values_set_int(g, op, TN_ATTR_rng_algorithm, algorithm);
    values_finish(g, op);
}

static void batch_norm(values_gen *g)
{
    tn_value *v[5] = {values_pick(g, FLOAT_CLASS, 1, 5)};
    const tn_type *t = v[0]->type;
    uint32_t feature = below(g, t->rank);
    values_shape s = {1, {t->dims[feature]}};
    const tn_type *f = values_type(g, t->element, &s);
    for (uint32_t i = 1; i < 5; i++) v[i] = values_like(g, f);
    uint32_t form = below(g, 3);
    if (form == 2) v[4] = values_like(g, t);
    tn_op *op = form == 0   ? values_op(g, TN_OP_batch_norm_training, 3, v, 3, 0)
                : form == 1 ? values_op(g, TN_OP_batch_norm_inference, 5, v, 1, 0)
                            : values_op(g, TN_OP_batch_norm_grad, 5, v, 3, 0);
    tn_attr *epsilon = TN_NEW(g->arena, tn_attr);
    epsilon->kind = TN_ATTR_KIND_FLOAT;
    epsilon->type = tn_type_tensor(g->arena, TN_F32, 0, NULL);
    epsilon->real = 0.125;
    tn_op_set_attr(g->module, op, TN_ATTR_epsilon, epsilon);
    values_set_int(g, op, TN_ATTR_feature_index, feature);
    values_finish(g, op);
}

void values_products(values_gen *g)
{
    switch (below(g, 16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: dot_general(g); break;
    case 5: dot(g); break;
    case 6:
    case 7:
    case 8:
    case 9: convolution(g); break;
    case 10:
    case 11: fft(g); break;
    case 12:
    case 13: matrices(g); break;
    case 14: random_bits(g); break;
    default: batch_norm(g); break;
    }
}
