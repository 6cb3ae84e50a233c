/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm_training, batch_norm_inference, batch_norm_grad: computed in f64 and rounded once. */
#include <math.h>

#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"

/* Operand 0 is a float tensor; operands in `features` are one value for each of its features, those
 * in `likes` have its shape. */
static tn_status *check(const tn_op *op, uint32_t features, uint32_t likes, const tn_type **feature)
{
    TN_TRY(tn_check_tensor(op, 0));
    const tn_type *t = tn_operand_type(op, 0);
    const tn_quantization *q = t->quantization;
    if (q ? q->axis >= 0 : !tn_is_float(t->element))
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand 0 should be of floats and is %s",
                           TN_TYPE_IN_MESSAGE(t));
    int64_t dim;
    TN_TRY(tn_check_dim(op, TN_ATTR_feature_index, t->rank, &dim));
    for (uint32_t i = 1; i < op->n_operands; i++) {
        TN_TRY(tn_check_tensor(op, i));
        TN_TRY(tn_check_meaning(op, i));
        if (likes >> i & 1) TN_TRY(tn_check_same_shape(op, 0, i));
        if (!(features >> i & 1)) continue;
        TN_TRY(tn_check_rank(op, i, 1));
        const tn_type *f = tn_operand_type(op, i);
        if (!tn_dims_agree(f->dims[0], t->dims[dim]))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "operand %u should have %" PRId64
                               " values, the size of dimension %" PRId64 " of operand 0, and is %s",
                               i, t->dims[dim], dim, TN_TYPE_IN_MESSAGE(f));
        *feature = f;
    }
    return NULL;
}

tn_status *tn_infer_batch_norm_inference(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const tn_type *feature;
    TN_TRY(check(op, 0x1E, 0, &feature));
    out[0] = tn_result_like(op, 0, tn_operand_type(op, 0));
    return NULL;
}

tn_status *tn_infer_batch_norm_training(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const tn_type *feature = NULL;
    TN_TRY(check(op, 0x6, 0, &feature));
    out[0] = tn_result_like(op, 0, tn_operand_type(op, 0));
    for (uint32_t i = 1; i < 3; i++) out[i] = tn_result_like(op, i, feature);
    return NULL;
}

tn_status *tn_infer_batch_norm_grad(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const tn_type *feature = NULL;
    TN_TRY(check(op, 0xE, 0x10, &feature));
    out[0] = tn_result_like(op, 0, tn_operand_type(op, 0));
    for (uint32_t i = 1; i < 3; i++) out[i] = tn_result_like(op, i, feature);
    return NULL;
}

/* --- evaluation on [outer, features, inner] --- */

typedef struct {
    const tn_op *op;
    const tn_eval_context *ctx;
    tn_element_type element;
    int64_t outer, features, inner;
    double epsilon, count; /* elements of one feature */
} norm;

static tn_status *zeros(const norm *m, int64_t n, double **out)
{
    *out = tn_scratch_alloc(m->ctx->scratch, ((size_t)n + 1) * sizeof **out);
    if (!*out) return TN_OP_ERROR(RESOURCE_EXHAUSTED, m->op, "out of memory");
    memset(*out, 0, (size_t)n * sizeof **out);
    return NULL;
}

static tn_status *load(const norm *m, const tn_tensor *t, double **out)
{
    int64_t n = tn_type_elements(t->type);
    TN_TRY(zeros(m, n, out));
    if (tn_convert_elements(m->element, t->data, TN_F64, *out, n)) return NULL;
    return TN_OP_ERROR(UNIMPLEMENTED, m->op, "%s is not supported",
                       tn_element_type_text(m->element));
}

static void store(const norm *m, const double *x, tn_tensor *t)
{
    tn_convert_elements(TN_F64, x, m->element, t->data, tn_type_elements(t->type));
}

static norm begin(const tn_op *op, const tn_eval_context *ctx, const tn_type *t)
{
    uint32_t d = (uint32_t)tn_op_int(op, TN_ATTR_feature_index, 0);
    norm m = {.op = op,
              .ctx = ctx,
              .element = t->element,
              .outer = 1,
              .features = t->dims[d],
              .inner = tn_step(t, d),
              .epsilon = tn_op_float(op, TN_ATTR_epsilon, 0)};
    for (uint32_t i = 0; i < d; i++) m.outer *= t->dims[i];
    m.count = (double)m.outer * (double)m.inner;
    return m;
}

/* For every element i, of feature f. */
#define FOR_EACH(m, i, f)                                                                          \
    for (int64_t o_ = 0, i = 0; o_ < (m)->outer; o_++)                                             \
        for (int64_t f = 0; f < (m)->features; f++)                                                \
            for (int64_t k_ = 0; k_ < (m)->inner; k_++, i++)

/* to = scale * (x - mean) / sqrt(variance + epsilon) + offset */
static void normalize(const norm *m, const double *x, const double *scale, const double *offset,
                      const double *mean, const double *variance, double *to)
{
    FOR_EACH(m, i, f)
    to[i] = scale[f] * ((x[i] - mean[f]) / sqrt(variance[f] + m->epsilon)) + offset[f];
}

tn_status *tn_eval_batch_norm_inference(const tn_op *op, const tn_eval_context *ctx,
                                        const tn_tensor *operands, tn_tensor *results)
{
    norm m = begin(op, ctx, operands[0].type);
    double *v[5];
    for (int i = 0; i < 5; i++) TN_TRY(load(&m, &operands[i], &v[i]));
    normalize(&m, v[0], v[1], v[2], v[3], v[4], v[0]);
    store(&m, v[0], &results[0]);
    return NULL;
}

tn_status *tn_eval_batch_norm_training(const tn_op *op, const tn_eval_context *ctx,
                                       const tn_tensor *operands, tn_tensor *results)
{
    norm m = begin(op, ctx, operands[0].type);
    double *x, *scale, *offset, *mean, *variance;
    TN_TRY(load(&m, &operands[0], &x));
    TN_TRY(load(&m, &operands[1], &scale));
    TN_TRY(load(&m, &operands[2], &offset));
    TN_TRY(zeros(&m, m.features, &mean));
    TN_TRY(zeros(&m, m.features, &variance));
    FOR_EACH(&m, i, f) mean[f] += x[i];
    for (int64_t f = 0; f < m.features; f++) mean[f] /= m.count;
    FOR_EACH(&m, i, f) variance[f] += (x[i] - mean[f]) * (x[i] - mean[f]);
    for (int64_t f = 0; f < m.features; f++) variance[f] /= m.count;
    normalize(&m, x, scale, offset, mean, variance, x);
    store(&m, x, &results[0]);
    store(&m, mean, &results[1]);
    store(&m, variance, &results[2]);
    return NULL;
}

/* Names of sums as in the specification: i2 is grad_offset, i3 the sum of grad_output * centered.
 */
tn_status *tn_eval_batch_norm_grad(const tn_op *op, const tn_eval_context *ctx,
                                   const tn_tensor *operands, tn_tensor *results)
{
    norm m = begin(op, ctx, operands[0].type);
    double *x, *scale, *mean, *variance, *grad, *i2, *i3, *grad_scale;
    TN_TRY(load(&m, &operands[0], &x));
    TN_TRY(load(&m, &operands[1], &scale));
    TN_TRY(load(&m, &operands[2], &mean));
    TN_TRY(load(&m, &operands[3], &variance));
    TN_TRY(load(&m, &operands[4], &grad));
    TN_TRY(zeros(&m, m.features, &i2));
    TN_TRY(zeros(&m, m.features, &i3));
    TN_TRY(zeros(&m, m.features, &grad_scale));
    FOR_EACH(&m, i, f)
    {
        i2[f] += grad[i];
        i3[f] += grad[i] * (x[i] - mean[f]);
    }
    for (int64_t f = 0; f < m.features; f++) grad_scale[f] = i3[f] / sqrt(variance[f] + m.epsilon);
    FOR_EACH(&m, i, f)
    {
        double square = variance[f] + m.epsilon;
        double i6 = grad[i] * m.count - i2[f] - i3[f] * (x[i] - mean[f]) / square;
        x[i] = scale[f] / sqrt(square) / m.count * i6;
    }
    store(&m, x, &results[0]);
    store(&m, grad_scale, &results[1]);
    store(&m, i2, &results[2]);
    return NULL;
}
