/* SPDX-License-Identifier: Apache-2.0 */
/* The same bytes under another type: identity, reshape, dynamic_reshape, bitcast_convert,
 * set_dimension_size. */
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"
#include "ops/strided.h"

tn_status *tn_infer_identity(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_count(op, "number of results", op->n_operands, op->n_results));
    for (uint32_t i = 0; i < op->n_operands; i++) out[i] = tn_operand_type(op, i);
    return NULL;
}

tn_status *tn_eval_identity(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                            tn_tensor *results)
{
    for (uint32_t i = 0; i < op->n_results; i++)
        tn_copy_bytes(ctx->pool, results[i].data, operands[i].data, tn_type_bytes(results[i].type));
    return NULL;
}

/* Elements of the dimensions [from, to), TN_DYNAMIC if unknown. */
static int64_t count(const tn_type *t, uint32_t from, uint32_t to)
{
    int64_t n = 1;
    bool unknown = false;
    for (uint32_t i = from; i < to; i++) {
        if (t->dims[i] == 0) return 0;
        if (t->dims[i] == TN_DYNAMIC || __builtin_mul_overflow(n, t->dims[i], &n)) unknown = true;
    }
    return unknown ? TN_DYNAMIC : n;
}

static tn_status *check_axis(const tn_op *op, const tn_type *from, const tn_type *to)
{
    const tn_quantization *p = from->quantization, *q = to->quantization;
    if (!p || !q || p->axis < 0 || q->axis < 0) return NULL;
    uint32_t i = (uint32_t)p->axis, j = (uint32_t)q->axis;
    if (i < from->rank && j < to->rank && tn_dims_agree(from->dims[i], to->dims[j]) &&
        tn_dims_agree(count(from, 0, i), count(to, 0, j)) &&
        tn_dims_agree(count(from, i + 1, from->rank), count(to, j + 1, to->rank)))
        return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op,
                       "the quantized dimension %u of %s is not dimension %u of %s", i,
                       TN_TYPE_IN_MESSAGE(from), j, TN_TYPE_IN_MESSAGE(to));
}

static tn_status *infer_reshape(const tn_op *op, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    TN_TRY(tn_check_result_tensor(op, 0));
    const tn_type *from = tn_operand_type(op, 0), *to = tn_result_type(op, 0);
    if (!tn_elements_agree(from, to))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "the result should have the element type of %s and is %s",
                           TN_TYPE_IN_MESSAGE(from), TN_TYPE_IN_MESSAGE(to));
    if (!tn_dims_agree(count(from, 0, from->rank), count(to, 0, to->rank)))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "%s and %s have different numbers of elements, %" PRId64 " and %" PRId64,
                           TN_TYPE_IN_MESSAGE(from), TN_TYPE_IN_MESSAGE(to),
                           count(from, 0, from->rank), count(to, 0, to->rank));
    TN_TRY(check_axis(op, from, to));
    out[0] = to;
    return NULL;
}

tn_status *tn_infer_reshape(const tn_op *op, tn_arena *a, const tn_type **out)
{
    return infer_reshape(op, out);
}

tn_status *tn_infer_dynamic_reshape(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(infer_reshape(op, out));
    return tn_check_shape_operand(op, 1, out[0]->rank);
}

tn_status *tn_eval_reshape(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                           tn_tensor *results)
{
    size_t bytes = tn_type_bytes(results[0].type);
    if (tn_type_bytes(operands[0].type) != bytes)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s can't become %s",
                           TN_TYPE_IN_MESSAGE(operands[0].type),
                           TN_TYPE_IN_MESSAGE(results[0].type));
    tn_copy_bytes(ctx->pool, results[0].data, operands[0].data, bytes);
    return NULL;
}

tn_status *tn_infer_set_dimension_size(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    TN_TRY(tn_check_integer(op, 1));
    TN_TRY(tn_check_rank(op, 1, 0));
    TN_TRY(tn_check_result_tensor(op, 0));
    const tn_type *from = tn_operand_type(op, 0), *to = tn_result_type(op, 0);
    int64_t d;
    TN_TRY(tn_check_dim(op, TN_ATTR_dimension, from->rank, &d));
    bool same = tn_elements_agree(from, to) && from->rank == to->rank;
    for (uint32_t i = 0; same && i < from->rank; i++)
        same = (int64_t)i == d || tn_dims_agree(from->dims[i], to->dims[i]);
    if (!same)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "the result should be as %s but for dimension %" PRId64 " and is %s",
                           TN_TYPE_IN_MESSAGE(from), d, TN_TYPE_IN_MESSAGE(to));
    out[0] = to;
    return NULL;
}

tn_status *tn_eval_set_dimension_size(const tn_op *op, const tn_eval_context *ctx,
                                      const tn_tensor *operands, tn_tensor *results)
{
    int64_t d = tn_op_int(op, TN_ATTR_dimension, 0);
    int64_t size = tn_read_index(operands[1].data, operands[1].type->element, 0);
    if (size != operands[0].type->dims[d] || size != results[0].type->dims[d])
        return TN_OP_ERROR(UNIMPLEMENTED, op,
                           "dimension %" PRId64 " of size %" PRId64 " can't be set to %" PRId64
                           ": sizes known only at run time are not supported",
                           d, operands[0].type->dims[d], size);
    tn_copy_bytes(ctx->pool, results[0].data, operands[0].data, tn_type_bytes(results[0].type));
    return NULL;
}

/* --- bitcast_convert --- */

tn_status *tn_infer_bitcast_convert(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    TN_TRY(tn_check_result_tensor(op, 0));
    const tn_type *from = tn_operand_type(op, 0), *to = tn_result_type(op, 0);
    if (tn_is_complex(from->element) != tn_is_complex(to->element))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "operand and result should both be complex or both not, and are %s and "
                           "%s",
                           TN_TYPE_IN_MESSAGE(from), TN_TYPE_IN_MESSAGE(to));
    int64_t p = tn_element_type_bits(from->element), q = tn_element_type_bits(to->element);
    const tn_type *wide = p > q ? from : to, *narrow = p > q ? to : from;
    uint32_t extra = p != q;
    bool fits = narrow->rank == wide->rank + extra;
    for (uint32_t i = 0; fits && i < wide->rank; i++)
        fits = tn_dims_agree(wide->dims[i], narrow->dims[i]);
    if (fits && extra && narrow->dims[wide->rank] != TN_DYNAMIC) {
        int64_t n = narrow->dims[wide->rank], bits = p > q ? q : p;
        fits = n <= 128 && n * bits == (p > q ? p : q);
    }
    if (!fits)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "the bits of %s don't make %s",
                           TN_TYPE_IN_MESSAGE(from), TN_TYPE_IN_MESSAGE(to));
    out[0] = to;
    return NULL;
}

static void put_bits(uint8_t *dst, int64_t at, unsigned n, uint8_t value)
{
    for (unsigned i = 0; i < n; i++, at++) {
        uint8_t mask = (uint8_t)(1u << (at & 7));
        dst[at >> 3] = (uint8_t)((dst[at >> 3] & ~mask) | (value >> i & 1 ? mask : 0));
    }
}

static uint8_t get_bits(const uint8_t *src, int64_t at, unsigned n)
{
    uint8_t value = 0;
    for (unsigned i = 0; i < n; i++, at++)
        value = (uint8_t)(value | (src[at >> 3] >> (at & 7) & 1) << i);
    return value;
}

/* Types of less than a byte keep one element a byte in memory, but their values are strung together
 * without gaps here, the first in the lowest bits. Elements pass through a wide one's bytes. */
static void repack(const tn_tensor *from, const tn_tensor *to)
{
    tn_element_type e = from->type->element, f = to->type->element;
    unsigned p = tn_element_type_bits(e), q = tn_element_type_bits(f);
    unsigned wide = p > q ? p : q;
    int64_t n = tn_type_elements(p > q ? from->type : to->type);
    const uint8_t *src = from->data;
    uint8_t *dst = to->data;
    for (int64_t i = 0; i < n; i++) {
        uint8_t bytes[16] = {0};
        for (unsigned at = 0; at < wide; at += p) {
            if (p < 8) put_bits(bytes, at, p, *src++);
            else {
                memcpy(bytes + at / 8, src, p / 8);
                src += p / 8;
            }
        }
        for (unsigned at = 0; at < wide; at += q) {
            if (q >= 8) {
                memcpy(dst, bytes + at / 8, q / 8);
                dst += q / 8;
                continue;
            }
            uint8_t v = get_bits(bytes, at, q);
            bool negative = tn_element_type_class(f) == TN_CLASS_SINT && v >> (q - 1);
            *dst++ = negative ? (uint8_t)(v | 0xFFu << q) : v;
        }
    }
}

tn_status *tn_eval_bitcast_convert(const tn_op *op, const tn_eval_context *ctx,
                                   const tn_tensor *operands, tn_tensor *results)
{
    unsigned p = tn_element_type_bits(operands[0].type->element);
    unsigned q = tn_element_type_bits(results[0].type->element);
    if (p >= 8 && q >= 8)
        tn_copy_bytes(ctx->pool, results[0].data, operands[0].data, tn_type_bytes(results[0].type));
    else repack(&operands[0], &results[0]);
    return NULL;
}
