/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/product.h"

#include <stdatomic.h>

#include "base/thread_pool.h"
#include "kernels/conv.h"
#include "kernels/gemm.h"
#include "ops/access.h"
#include "ops/infer.h"
#include "ops/quantize.h"

static tn_element_type meaning(const tn_type *t)
{
    return t->quantization ? t->quantization->expressed : t->element;
}

static tn_status *check_precision(const tn_op *op)
{
    const tn_attr *p = tn_op_attr(op, TN_ATTR_precision_config);
    if (!p || p->list.n == 0 || p->list.n == 2) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op,
                       "precision_config should have one value for each operand, 2, and has %u",
                       p->list.n);
}

tn_status *tn_check_product_types(const tn_op *op)
{
    TN_TRY(check_precision(op));
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
    type->quantization = NULL;
    *out = (tn_tensor){tn_scratch_alloc(ctx->scratch, tn_type_bytes(type)), type};
    if (!out->data)
        return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "no memory for %s", TN_TYPE_IN_MESSAGE(type));
    return NULL;
}

enum { TILE = 256 };

/* Of quantized tensors the values that they stand for are converted. */
static bool convert_tile(const tn_tensor *from, const tn_tensor *to, int64_t at, int64_t n)
{
    double values[TILE];
    const tn_type *x = from->type, *y = to->type;
    const void *src = (const char *)from->data + at * tn_width(x);
    void *dst = (char *)to->data + at * tn_width(y);
    if (x->quantization) tn_dequantize(x, from->data, at, n, values);
    else if (!y->quantization) return tn_convert_elements(x->element, src, y->element, dst, n);
    else if (!tn_convert_elements(x->element, src, TN_F64, values, n)) return false;
    if (!y->quantization) return tn_convert_elements(TN_F64, values, y->element, dst, n);
    tn_quantize(y, values, at, n, to->data);
    return true;
}

typedef struct {
    const tn_tensor *from, *to;
    atomic_bool failed;
} conversion;

static void convert_tiles(void *ctx, int64_t begin, int64_t end)
{
    conversion *c = ctx;
    for (int64_t at = begin; at < end; at += TILE)
        if (!convert_tile(c->from, c->to, at, end - at < TILE ? end - at : TILE))
            atomic_store(&c->failed, true);
}

static tn_status *convert(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *from,
                          const tn_tensor *to)
{
    conversion c = {from, to, false};
    double cost = from->type->quantization || to->type->quantization ? 20 : 0.5;
    tn_parallel_for(ctx->pool, tn_type_elements(from->type), cost, convert_tiles, &c);
    if (!atomic_load(&c.failed)) return NULL;
    return TN_OP_ERROR(UNIMPLEMENTED, op, "conversion of %s to %s", TN_TYPE_IN_MESSAGE(from->type),
                       TN_TYPE_IN_MESSAGE(to->type));
}

static tn_status *operand_as(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operand,
                             tn_element_type e, tn_type *type, tn_tensor *out)
{
    *out = *operand;
    if (operand->type->element == e && !operand->type->quantization) return NULL;
    TN_TRY(reserve(op, ctx, operand->type, e, type, out));
    return convert(op, ctx, operand, out);
}

tn_status *tn_product_begin(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                            const tn_tensor *results, bool one_type, tn_product_tensors *out)
{
    const tn_type *x = operands[0].type, *y = operands[1].type, *z = results[0].type;
    tn_element_type p = meaning(x), q = meaning(y), r = meaning(z);
    bool known = one_type ? p == q && q == r && tn_conv_supports(r) : tn_gemm_supports(p, q, r);
    bool quantized = x->quantization || y->quantization || z->quantization;
    if (!known || quantized) p = q = r = computed_in(p, q, r);
    out->out = results[0];
    if (r != z->element || z->quantization)
        TN_TRY(reserve(op, ctx, z, r, &out->types[2], &out->out));
    TN_TRY(operand_as(op, ctx, &operands[0], p, &out->types[0], &out->lhs));
    return operand_as(op, ctx, &operands[1], q, &out->types[1], &out->rhs);
}

tn_status *tn_product_end(const tn_op *op, const tn_eval_context *ctx, const tn_product_tensors *t,
                          tn_tensor *results)
{
    return t->out.data == results[0].data ? NULL : convert(op, ctx, &t->out, &results[0]);
}
