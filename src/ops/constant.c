/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors from nothing: constant, iota, dynamic_iota, get_dimension_size, tokens. */
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"
#include "ops/strided.h"

tn_status *tn_infer_constant(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const tn_attr *value = tn_op_attr(op, TN_ATTR_value);
    if (!value || value->kind != TN_ATTR_KIND_TENSOR || value->tensor.type->kind != TN_TYPE_TENSOR)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "value should be a tensor constant");
    TN_TRY(tn_check_result_tensor(op, 0));
    const tn_literal *l = &value->tensor;
    const tn_type *result = tn_result_type(op, 0);
    if (!tn_type_is_static(l->type) || !tn_shapes_agree(l->type, result) ||
        l->type->element != result->element)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "value is %s where the result is %s",
                           TN_TYPE_IN_MESSAGE(l->type), TN_TYPE_IN_MESSAGE(result));
    size_t want = l->splat ? tn_element_type_bytes(l->type->element) : tn_type_bytes(l->type);
    if (l->size != want)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "value should hold %zu bytes and holds %zu", want,
                           l->size);
    out[0] = result;
    return NULL;
}

tn_status *tn_eval_constant(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                            tn_tensor *results)
{
    const tn_literal *l = &tn_op_attr(op, TN_ATTR_value)->tensor;
    const tn_type *t = results[0].type;
    if (tn_is_empty(t)) return NULL;
    if (l->splat)
        tn_fill(ctx->pool, results[0].data, l->data, (size_t)tn_width(t), tn_type_elements(t));
    else tn_copy_bytes(ctx->pool, results[0].data, l->data, tn_type_bytes(t));
    return NULL;
}

static tn_status *infer_iota(const tn_op *op, const tn_type **out)
{
    TN_TRY(tn_check_result_tensor(op, 0));
    const tn_type *t = tn_result_type(op, 0);
    if (t->element == TN_I1)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "iota is not defined on booleans");
    int64_t d;
    TN_TRY(tn_check_dim(op, TN_ATTR_iota_dimension, t->rank, &d));
    out[0] = t;
    return NULL;
}

tn_status *tn_infer_iota(const tn_op *op, tn_arena *a, const tn_type **out)
{
    return infer_iota(op, out);
}

tn_status *tn_infer_dynamic_iota(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(infer_iota(op, out));
    return tn_check_shape_operand(op, 0, out[0]->rank);
}

/* 0, 1, 2, ... in `dst`, each value `run` times. */
#define RAMP(T)                                                                                    \
    do {                                                                                           \
        T *d = dst;                                                                                \
        if (run == 1)                                                                              \
            for (int64_t i = 0; i < n; i++) d[i] = (T)i;                                           \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                for (int64_t j = 0; j < run; j++) *d++ = (T)i;                                     \
    } while (0)

static tn_status *ramp(const tn_op *op, const tn_eval_context *ctx, tn_element_type e, int64_t n,
                       int64_t run, void *dst)
{
    switch (e) {
    case TN_I8:
    case TN_U8: RAMP(uint8_t); return NULL;
    case TN_I16:
    case TN_U16: RAMP(uint16_t); return NULL;
    case TN_I32:
    case TN_U32: RAMP(uint32_t); return NULL;
    case TN_I64:
    case TN_U64: RAMP(uint64_t); return NULL;
    case TN_F32: RAMP(float); return NULL;
    case TN_F64: RAMP(double); return NULL;
    default: break;
    }
    /* The rest as `convert` does it. */
    int64_t *index = tn_scratch_alloc(ctx->scratch, (size_t)(n * run) * sizeof *index);
    if (!index) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    TN_TRY(ramp(op, ctx, TN_I64, n, run, index));
    if (tn_convert_elements(TN_I64, index, e, dst, n * run)) return NULL;
    return TN_OP_ERROR(UNIMPLEMENTED, op, "iota of %s is not supported", tn_element_type_text(e));
}

tn_status *tn_eval_iota(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                        tn_tensor *results)
{
    const tn_type *t = results[0].type;
    if (tn_is_empty(t)) return NULL;
    uint32_t d = (uint32_t)tn_op_int(op, TN_ATTR_iota_dimension, 0);
    int64_t n = t->dims[d], run = tn_step(t, d), block = n * run * tn_width(t);
    TN_TRY(ramp(op, ctx, t->element, n, run, results[0].data));
    tn_strided rest;
    tn_strided_init(&rest);
    tn_strided_push(&rest, tn_type_elements(t) / (n * run) - 1, block, 0);
    tn_strided_push(&rest, n * run, tn_width(t), tn_width(t));
    tn_strided_run(&rest, (size_t)tn_width(t), (char *)results[0].data + block, results[0].data,
                   ctx->pool);
    return NULL;
}

tn_status *tn_infer_get_dimension_size(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    int64_t d;
    TN_TRY(tn_check_dim(op, TN_ATTR_dimension, tn_operand_type(op, 0)->rank, &d));
    out[0] = tn_type_tensor(a, TN_I32, 0, NULL);
    return NULL;
}

tn_status *tn_eval_get_dimension_size(const tn_op *op, const tn_eval_context *ctx,
                                      const tn_tensor *operands, tn_tensor *results)
{
    int64_t size = operands[0].type->dims[tn_op_int(op, TN_ATTR_dimension, 0)];
    if (size > INT32_MAX)
        return TN_OP_ERROR(OUT_OF_RANGE, op, "the dimension has %" PRId64 " elements, past i32",
                           size);
    *(int32_t *)results[0].data = (int32_t)size;
    return NULL;
}

tn_status *tn_infer_after_all(const tn_op *op, tn_arena *a, const tn_type **out)
{
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (tn_operand_type(op, i)->kind != TN_TYPE_TOKEN)
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u should be a token and is %s", i,
                               TN_TYPE_IN_MESSAGE(tn_operand_type(op, i)));
    out[0] = tn_type_token();
    return NULL;
}

tn_status *tn_eval_token(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                         tn_tensor *results)
{
    return NULL; /* a token has no bytes */
}

/* tenon.unset: any bytes, since a loop writes them all before anybody reads (passes/unset). */
tn_status *tn_infer_unset(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_result_tensor(op, 0));
    out[0] = tn_result_type(op, 0);
    return NULL;
}

tn_status *tn_eval_unset(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                         tn_tensor *results)
{
    memset(results[0].data, 0, tn_type_bytes(results[0].type));
    return NULL;
}
