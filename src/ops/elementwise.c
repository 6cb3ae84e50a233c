/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/elementwise.h"

#include <string.h>

#include "base/thread_pool.h"
#include "ops/behaviours.h"
#include "ops/quantize.h"

/* --- choosing kernels --- */

static tn_status *refuse(const tn_op *op)
{
    char type[128];
    return TN_OP_ERROR(UNIMPLEMENTED, op, "not supported on %s",
                       tn_type_format(tn_operand_type(op, 0), type, sizeof type));
}

static bool is_scalar_beside(const tn_op *op, uint32_t operand)
{
    return tn_operand_type(op, operand)->rank == 0 && tn_result_type(op, 0)->rank != 0;
}

/* No type is wider than 64 bits, and the attribute may be any number. */
static int bits_of(const tn_op *op, tn_attr_name name)
{
    int64_t bits = tn_op_int(op, name, -1);
    return bits < 0 ? -1 : bits > 64 ? 64 : (int)bits;
}

/* The kernel of `op` on operands of e with a result of `to`. */
static bool find_kernel(const tn_op *op, tn_element_type e, tn_element_type to, tn_kernel *out)
{
    tn_isa isa = tn_cpu_isa();
    switch ((int)op->kind) {
    case TN_OP_clamp:
        return tn_kernel_clamp(isa, is_scalar_beside(op, 0), is_scalar_beside(op, 2), to, out);
    case TN_OP_compare: {
        int64_t direction = tn_op_int(op, TN_ATTR_comparison_direction, -1);
        int64_t type = tn_op_int(op, TN_ATTR_compare_type, TN_comparison_type_NOTYPE);
        if (direction < 0 || direction > TN_comparison_direction_LT) return false;
        return tn_kernel_compare(isa, (int)direction, type == TN_comparison_type_TOTALORDER, e,
                                 out);
    }
    case TN_OP_convert: return tn_kernel_convert(isa, e, to, out);
    case TN_OP_reduce_precision:
        return tn_kernel_reduce_precision(isa, bits_of(op, TN_ATTR_exponent_bits),
                                          bits_of(op, TN_ATTR_mantissa_bits), e, out);
    case TN_OP_take:
        return tn_kernel_take(isa, tn_element_type_bytes(e),
                              tn_type_elements(tn_operand_type(op, 0)), out);
    case TN_OP_select: return tn_kernel_select(isa, is_scalar_beside(op, 0), to, out);
    case TN_OP_threefry_bits: return tn_kernel_threefry_bits(isa, out);
    default: return tn_kernel_elementwise(isa, op->kind, e, out);
    }
}

static bool is_quantized(const tn_op *op)
{
    bool quantized = tn_result_type(op, 0)->quantization != NULL;
    for (uint32_t i = 0; i < op->n_operands; i++)
        quantized |= tn_operand_type(op, i)->quantization != NULL;
    return quantized;
}

tn_status *tn_elementwise_kernel(const tn_op *op, tn_kernel *out)
{
    bool takes = op->kind == TN_OP_take;
    if ((!tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE) && !takes) || op->n_operands < 1 ||
        is_quantized(op))
        return refuse(op);
    tn_element_type e = tn_operand_type(op, 0)->element, to = tn_result_type(op, 0)->element;
    return find_kernel(op, e, to, out) ? NULL : refuse(op);
}

/* Measured roughly with AVX2; only the order of magnitude counts. */
double tn_elementwise_cost(const tn_op *op)
{
    tn_element_type e = tn_operand_type(op, 0)->element;
    bool is_complex = tn_is_complex(e), is_double = e == TN_F64;
    double wide = tn_element_type_bytes(e) / 4.0;
    switch ((int)op->kind) {
    case TN_OP_atan2:
    case TN_OP_cbrt:
    case TN_OP_cosine:
    case TN_OP_erf:
    case TN_OP_erfc:
    case TN_OP_erf_inv:
    case TN_OP_exponential:
    case TN_OP_exponential_minus_one:
    case TN_OP_log:
    case TN_OP_log_plus_one:
    case TN_OP_logistic:
    case TN_OP_power:
    case TN_OP_sine:
    case TN_OP_tan:
    case TN_OP_tanh:
    case TN_OP_threefry_bits: return is_complex ? 50 : is_double ? 8 : 2;
    case TN_OP_take: return 1;
    case TN_OP_divide:
    case TN_OP_remainder:
    case TN_OP_rsqrt:
    case TN_OP_sqrt: return is_complex ? 10 : 1;
    default: return 0.1 + 0.2 * wide;
    }
}

/* --- evaluation --- */

typedef struct {
    const tn_kernel *kernel;
    const tn_tensor *operands;
    void *out;
} job;

static void run_range(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const tn_kernel *k = j->kernel;
    const void *in[TN_KERNEL_OPERANDS];
    for (uint32_t i = 0; i < k->n_operands; i++)
        in[i] = (const char *)j->operands[i].data + (size_t)begin * k->in_step[i];
    tn_kernel_run(k, (size_t)(end - begin), in, (char *)j->out + (size_t)begin * k->out_step);
}

/* --- quantized tensors: dequantize, compute in the expressed type, quantize --- */

#define TILE 256

typedef struct {
    tn_kernel op; /* run is NULL for a mere change of quantization */
    tn_kernel in[TN_KERNEL_OPERANDS], out;
    uint32_t n_operands;
    const tn_tensor *operands, *result;
} quantized_job;

/* Operand values as the kernel wants them: the expressed type, or what isn't quantized as it is. */
static const void *load_operand(const quantized_job *j, uint32_t i, int64_t at, int64_t n,
                                double *values, double *typed)
{
    const tn_type *t = j->operands[i].type;
    bool scalar = t->rank == 0 && j->result->type->rank != 0;
    if (scalar) at = 0, n = 1;
    if (!t->quantization)
        return (const char *)j->operands[i].data + (size_t)at * tn_element_type_bytes(t->element);
    tn_dequantize(t, j->operands[i].data, at, n, values);
    const void *from = values;
    tn_kernel_run(&j->in[i], (size_t)n, &from, typed);
    return typed;
}

static void run_quantized(void *ctx, int64_t begin, int64_t end)
{
    const quantized_job *j = ctx;
    const tn_type *t = j->result->type;
    size_t bytes = tn_element_type_bytes(t->element);
    _Alignas(64) double values[TILE], typed[TN_KERNEL_OPERANDS][TILE], computed[TILE];
    for (int64_t at = begin; at < end; at += TILE) {
        int64_t n = end - at < TILE ? end - at : TILE;
        const void *in[TN_KERNEL_OPERANDS];
        for (uint32_t i = 0; i < j->n_operands; i++)
            in[i] = load_operand(j, i, at, n, values, typed[i]);
        void *to =
            t->quantization ? (void *)computed : (char *)j->result->data + (size_t)at * bytes;
        const void *expressed = in[0];
        if (j->op.run) {
            tn_kernel_run(&j->op, (size_t)n, in, to);
            expressed = to;
        } else if (!t->quantization) {
            memcpy(to, in[0], (size_t)n * bytes);
        }
        if (!t->quantization) continue;
        tn_kernel_run(&j->out, (size_t)n, &expressed, values);
        tn_quantize(t, values, at, n, j->result->data);
    }
}

static tn_status *eval_quantized(const tn_op *op, const tn_eval_context *ctx,
                                 const tn_tensor *operands, tn_tensor *results)
{
    quantized_job j = {.n_operands = op->n_operands, .operands = operands, .result = &results[0]};
    tn_isa isa = tn_cpu_isa();
    tn_element_type e[TN_KERNEL_OPERANDS] = {TN_INVALID};
    if (op->n_operands > TN_KERNEL_OPERANDS) return refuse(op);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_type *t = operands[i].type;
        e[i] = t->quantization ? t->quantization->expressed : t->element;
        if (!tn_kernel_convert(isa, TN_F64, e[i], &j.in[i])) return refuse(op);
    }
    const tn_type *r = results[0].type;
    tn_element_type to = r->quantization ? r->quantization->expressed : r->element;
    if (!tn_kernel_convert(isa, to, TN_F64, &j.out)) return refuse(op);
    bool is_change = op->kind == TN_OP_uniform_quantize || op->kind == TN_OP_uniform_dequantize;
    if (is_change ? e[0] != to : !find_kernel(op, e[0], to, &j.op)) return refuse(op);
    int64_t n = tn_type_elements(r);
    if (n > 0) tn_parallel_for(ctx->pool, n, 20, run_quantized, &j);
    return NULL;
}

/* Any ELEMENTWISE op. Operands of a shape other than the result's are scalars: the kernel knows. */
tn_status *tn_eval_elementwise(const tn_op *op, const tn_eval_context *ctx,
                               const tn_tensor *operands, tn_tensor *results)
{
    if (is_quantized(op)) return eval_quantized(op, ctx, operands, results);
    tn_kernel kernel;
    TN_TRY(tn_elementwise_kernel(op, &kernel));
    int64_t n = tn_type_elements(results[0].type);
    if (n <= 0) return NULL;
    job j = {&kernel, operands, results[0].data};
    tn_parallel_for(ctx->pool, n, tn_elementwise_cost(op), run_range, &j);
    return NULL;
}

#define SAME_AS_ELEMENTWISE(name)                                                                  \
    tn_status *tn_eval_##name(const tn_op *op, const tn_eval_context *ctx,                         \
                              const tn_tensor *operands, tn_tensor *results)                       \
    {                                                                                              \
        return tn_eval_elementwise(op, ctx, operands, results);                                    \
    }
// clang-format off
SAME_AS_ELEMENTWISE(clamp)
SAME_AS_ELEMENTWISE(compare)
SAME_AS_ELEMENTWISE(convert)
SAME_AS_ELEMENTWISE(reduce_precision)
SAME_AS_ELEMENTWISE(select)
SAME_AS_ELEMENTWISE(uniform_dequantize)
SAME_AS_ELEMENTWISE(uniform_quantize)
// clang-format on
