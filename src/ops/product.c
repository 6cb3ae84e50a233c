/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/product.h"

#include "kernels/conv.h"
#include "kernels/gemm.h"
#include "ops/access.h"
#include "ops/infer.h"

static tn_element_type meaning(const tn_type *t)
{
    return t->quantization ? t->quantization->expressed : t->element;
}

tn_status *tn_check_product_types(const tn_op *op)
{
    TN_TRY(tn_check_result_tensor(op, 0));
    const tn_type *x = tn_operand_type(op, 0), *y = tn_operand_type(op, 1),
                  *z = tn_result_type(op, 0);
    tn_element_type p = meaning(x), q = meaning(y), r = meaning(z);
    bool complex_in = tn_is_complex(p), one_class = complex_in == tn_is_complex(q);
    bool same = p == q || (tn_is_float(p) && tn_is_float(q)) || x->quantization || y->quantization;
    if (!same || !one_class)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "operands of %s and %s can't be multiplied",
                           TN_TYPE_IN_MESSAGE(x), TN_TYPE_IN_MESSAGE(y));
    if (complex_in != tn_is_complex(r) || tn_element_type_class(r) == TN_CLASS_NONE)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "a product of %s can't be %s",
                           tn_element_type_text(p), TN_TYPE_IN_MESSAGE(z));
    return NULL;
}

const tn_type *tn_product_type(const tn_op *op, tn_arena *a, uint32_t rank, const int64_t *dims)
{
    const tn_type *declared = tn_result_type(op, 0),
                  *t = tn_type_tensor(a, declared->element, rank, dims);
    if (!declared->quantization) return t;
    tn_type *quantized = tn_dup(a, t, sizeof *t);
    quantized->quantization = declared->quantization;
    return quantized;
}

static bool is_integral(tn_element_type e)
{
    return tn_is_integer(e) || e == TN_I1;
}

/* One type to compute in. Integers are summed in 32 bits at least and wrap to what is asked for. */
static tn_element_type computed_in(tn_element_type x, tn_element_type y, tn_element_type z)
{
    if (tn_is_complex(z)) return x == TN_C128 || y == TN_C128 || z == TN_C128 ? TN_C128 : TN_C64;
    if (is_integral(x) && is_integral(y) && is_integral(z))
        return tn_element_type_bits(z) > 32 ? TN_I64 : TN_I32;
    return x == TN_F64 || y == TN_F64 || z == TN_F64 ? TN_F64 : TN_F32;
}

static tn_status *reserve(const tn_op *op, const tn_eval_context *ctx, const tn_type *like,
                          tn_element_type e, tn_type *type, tn_tensor *out)
{
    *type = *like;
    type->element = e;
    *out = (tn_tensor){tn_scratch_alloc(ctx->scratch, tn_type_bytes(type)), type};
    if (!out->data)
        return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "no memory for %s", TN_TYPE_IN_MESSAGE(type));
    return NULL;
}

static tn_status *convert(const tn_op *op, const tn_tensor *from, const tn_tensor *to)
{
    int64_t n = tn_type_elements(from->type);
    if (!n || tn_convert_elements(from->type->element, from->data, to->type->element, to->data, n))
        return NULL;
    return TN_OP_ERROR(UNIMPLEMENTED, op, "conversion of %s to %s", TN_TYPE_IN_MESSAGE(from->type),
                       TN_TYPE_IN_MESSAGE(to->type));
}

static tn_status *operand_as(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operand,
                             tn_element_type e, tn_type *type, tn_tensor *out)
{
    *out = *operand;
    if (operand->type->element == e) return NULL;
    TN_TRY(reserve(op, ctx, operand->type, e, type, out));
    return convert(op, operand, out);
}

tn_status *tn_product_begin(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                            const tn_tensor *results, bool one_type, tn_product_tensors *out)
{
    const tn_type *x = operands[0].type, *y = operands[1].type, *z = results[0].type;
    if (x->quantization || y->quantization || z->quantization)
        return TN_OP_ERROR(UNIMPLEMENTED, op, "products of quantized tensors");
    tn_element_type p = x->element, q = y->element, r = z->element;
    bool known = one_type ? p == q && q == r && tn_conv_supports(r) : tn_gemm_supports(p, q, r);
    if (!known) p = q = r = computed_in(p, q, r);
    out->out = results[0];
    if (r != z->element) TN_TRY(reserve(op, ctx, z, r, &out->types[2], &out->out));
    TN_TRY(operand_as(op, ctx, &operands[0], p, &out->types[0], &out->lhs));
    return operand_as(op, ctx, &operands[1], q, &out->types[1], &out->rhs);
}

tn_status *tn_product_end(const tn_op *op, const tn_eval_context *ctx, const tn_product_tensors *t,
                          tn_tensor *results)
{
    return t->out.data == results[0].data ? NULL : convert(op, &t->out, &results[0]);
}
