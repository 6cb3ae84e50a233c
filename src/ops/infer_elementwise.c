/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/behaviours.h"
#include "ops/infer.h"

/* Sets of element classes. */
enum {
    BOOL = 1 << TN_CLASS_BOOL,
    SIGNED = 1 << TN_CLASS_SINT,
    INTEGER = 1 << TN_CLASS_SINT | 1 << TN_CLASS_UINT,
    FLOAT = 1 << TN_CLASS_FLOAT,
    COMPLEX = 1 << TN_CLASS_COMPLEX
};

static const char *classes_text(unsigned classes)
{
    switch (classes) {
    case BOOL: return "booleans";
    case BOOL | INTEGER: return "booleans or integers";
    case INTEGER: return "integers";
    case FLOAT: return "floats";
    case FLOAT | COMPLEX: return "floats or complex numbers";
    case INTEGER | FLOAT: return "integers or floats";
    case SIGNED | FLOAT | COMPLEX: return "signed integers, floats or complex numbers";
    case INTEGER | FLOAT | COMPLEX: return "integers, floats or complex numbers";
    default: return "booleans, integers, floats or complex numbers";
    }
}

/* What the elements stand for: quantized ones for floats. */
static tn_element_type meaning(const tn_type *t)
{
    return t->quantization ? t->quantization->expressed : t->element;
}

static tn_status *check_classes(const tn_op *op, uint32_t operand, unsigned classes)
{
    TN_TRY(tn_check_tensor(op, operand));
    const tn_type *t = tn_operand_type(op, operand);
    if (1u << tn_element_type_class(meaning(t)) & classes) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u should be of %s and is %s", operand,
                       classes_text(classes), TN_TYPE_IN_MESSAGE(t));
}

/* The shape that x and y, which agree, have in common: what either knows. */
static const tn_type *common(tn_arena *a, const tn_type *x, const tn_type *y)
{
    if (x == y || (tn_type_is_static(x) && !x->bounds)) return x;
    tn_type *t = tn_dup(a, x, sizeof *x);
    int64_t *dims = tn_dup(a, x->dims, x->rank * sizeof *dims);
    int64_t *bounds = NULL;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (dims[i] == TN_DYNAMIC) dims[i] = y->dims[i];
        if (dims[i] != TN_DYNAMIC) continue;
        int64_t p = x->bounds ? x->bounds[i] : TN_DYNAMIC;
        int64_t q = y->bounds ? y->bounds[i] : TN_DYNAMIC;
        int64_t least = p == TN_DYNAMIC ? q : q == TN_DYNAMIC || p < q ? p : q;
        if (least == TN_DYNAMIC) continue;
        if (!bounds) {
            bounds = TN_NEW_ARRAY(a, int64_t, x->rank);
            for (uint32_t j = 0; j < x->rank; j++) bounds[j] = TN_DYNAMIC;
        }
        bounds[i] = least;
    }
    t->dims = dims;
    t->bounds = bounds;
    return t;
}

static const tn_type *with_element(tn_arena *a, const tn_type *t, tn_element_type e)
{
    tn_type *r = tn_dup(a, t, sizeof *t);
    r->element = e;
    r->quantization = NULL;
    return r;
}

/* Operands i and `like` have the same shape and mean the same element type; quantized operands may
 * be quantized differently. */
static tn_status *check_alike(const tn_op *op, uint32_t like, uint32_t i)
{
    const tn_type *x = tn_operand_type(op, like), *y = tn_operand_type(op, i);
    TN_TRY(tn_check_same_shape(op, like, i));
    if (x->quantization && y->quantization && meaning(x) == meaning(y)) return NULL;
    return tn_check_same_element(op, like, i);
}

/* Quantized results are what is declared: their scale is part of the op. */
static tn_status *quantized_result(const tn_op *op, tn_arena *a, const tn_type *shape,
                                   tn_element_type expressed, const tn_type **out)
{
    const tn_type *r = tn_result_type(op, 0);
    if (r->kind == TN_TYPE_TENSOR && r->quantization && meaning(r) == expressed &&
        tn_shapes_agree(shape, r)) {
        *out = common(a, r, shape);
        return NULL;
    }
    return TN_OP_ERROR(INVALID_ARGUMENT, op,
                       "result 0 should be quantized, express %s and have the operand's shape; it "
                       "is %s beside %s",
                       tn_element_type_text(expressed), TN_TYPE_IN_MESSAGE(r),
                       TN_TYPE_IN_MESSAGE(shape));
}

/* All operands and the result have one type. */
static tn_status *infer_same(const tn_op *op, tn_arena *a, unsigned classes, const tn_type **out)
{
    TN_TRY(check_classes(op, 0, classes));
    const tn_type *t = tn_operand_type(op, 0);
    for (uint32_t i = 1; i < op->n_operands; i++) {
        TN_TRY(check_classes(op, i, classes));
        TN_TRY(check_alike(op, 0, i));
        t = common(a, t, tn_operand_type(op, i));
    }
    if (t->quantization) return quantized_result(op, a, t, meaning(t), out);
    *out = t;
    return NULL;
}

#define SAME(name, classes)                                                                        \
    tn_status *tn_infer_##name(const tn_op *op, tn_arena *a, const tn_type **out)                  \
    {                                                                                              \
        return infer_same(op, a, classes, out);                                                    \
    }
// clang-format off
SAME(same, BOOL | INTEGER | FLOAT | COMPLEX)
SAME(same_bits, BOOL | INTEGER)
SAME(same_integer, INTEGER)
SAME(same_float, FLOAT)
SAME(same_inexact, FLOAT | COMPLEX)
SAME(same_number, INTEGER | FLOAT | COMPLEX)
SAME(same_signed, SIGNED | FLOAT | COMPLEX)
SAME(same_real, INTEGER | FLOAT) /* complex remainders: to be defined, says the specification */
// clang-format on

/* The real type of complex operands, the operand's own otherwise. */
static tn_status *infer_real(const tn_op *op, tn_arena *a, unsigned classes, const tn_type **out)
{
    TN_TRY(infer_same(op, a, classes, out));
    if (tn_is_complex((*out)->element)) *out = with_element(a, *out, tn_real_type((*out)->element));
    return NULL;
}

tn_status *tn_infer_abs(const tn_op *op, tn_arena *a, const tn_type **out)
{
    return infer_real(op, a, SIGNED | FLOAT | COMPLEX, out);
}

tn_status *tn_infer_real_part(const tn_op *op, tn_arena *a, const tn_type **out)
{
    return infer_real(op, a, FLOAT | COMPLEX, out);
}

tn_status *tn_infer_is_finite(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_classes(op, 0, FLOAT));
    *out = with_element(a, tn_operand_type(op, 0), TN_I1);
    return NULL;
}

tn_status *tn_infer_complex(const tn_op *op, tn_arena *a, const tn_type **out)
{
    for (uint32_t i = 0; i < 2; i++) {
        TN_TRY(tn_check_tensor(op, i));
        const tn_type *t = tn_operand_type(op, i);
        if ((t->element != TN_F32 && t->element != TN_F64) || t->quantization)
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u should be of f32 or f64 and is %s",
                               i, TN_TYPE_IN_MESSAGE(t));
    }
    TN_TRY(check_alike(op, 0, 1));
    const tn_type *t = common(a, tn_operand_type(op, 0), tn_operand_type(op, 1));
    *out = with_element(a, t, t->element == TN_F32 ? TN_C64 : TN_C128);
    return NULL;
}

/* Operand i has the shape of operand `like`, or is a scalar. */
static tn_status *check_shape_or_scalar(const tn_op *op, uint32_t i, uint32_t like)
{
    TN_TRY(tn_check_tensor(op, i));
    const tn_type *x = tn_operand_type(op, i), *y = tn_operand_type(op, like);
    if (x->rank == 0 || tn_shapes_agree(x, y)) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op,
                       "operand %u should be a scalar or have the shape of operand %u, %s, and is "
                       "%s",
                       i, like, TN_TYPE_IN_MESSAGE(y), TN_TYPE_IN_MESSAGE(x));
}

tn_status *tn_infer_clamp(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const tn_type *t = tn_operand_type(op, 1);
    TN_TRY(check_classes(op, 1, BOOL | INTEGER | FLOAT | COMPLEX));
    for (uint32_t i = 0; i < 3; i += 2) {
        TN_TRY(check_shape_or_scalar(op, i, 1));
        TN_TRY(tn_check_same_element(op, 1, i));
        if (tn_operand_type(op, i)->rank) t = common(a, t, tn_operand_type(op, i));
    }
    if (t->quantization) return quantized_result(op, a, t, meaning(t), out);
    *out = t;
    return NULL;
}

static const char *comparison_type_text(int64_t type)
{
    switch (type) {
    case TN_comparison_type_FLOAT: return "FLOAT";
    case TN_comparison_type_TOTALORDER: return "TOTALORDER";
    case TN_comparison_type_SIGNED: return "SIGNED";
    case TN_comparison_type_UNSIGNED: return "UNSIGNED";
    default: return "an unknown type";
    }
}

static bool comparison_type_fits(int64_t type, tn_element_class class)
{
    switch (type) {
    case TN_comparison_type_NOTYPE: return true;
    case TN_comparison_type_FLOAT: return class == TN_CLASS_FLOAT || class == TN_CLASS_COMPLEX;
    case TN_comparison_type_TOTALORDER: return class == TN_CLASS_FLOAT;
    case TN_comparison_type_SIGNED: return class == TN_CLASS_SINT;
    case TN_comparison_type_UNSIGNED: return class == TN_CLASS_UINT || class == TN_CLASS_BOOL;
    default: return false;
    }
}

tn_status *tn_infer_compare(const tn_op *op, tn_arena *a, const tn_type **out)
{
    for (uint32_t i = 0; i < 2; i++) TN_TRY(check_classes(op, i, BOOL | INTEGER | FLOAT | COMPLEX));
    TN_TRY(check_alike(op, 0, 1));
    const tn_type *t = tn_operand_type(op, 0);
    tn_element_class class = tn_element_type_class(meaning(t));
    int64_t direction = tn_op_int(op, TN_ATTR_comparison_direction, -1);
    if (direction < TN_comparison_direction_EQ || direction > TN_comparison_direction_LT)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "comparison_direction %" PRId64 " is unknown",
                           direction);
    int64_t type = tn_op_int(op, TN_ATTR_compare_type, TN_comparison_type_NOTYPE);
    if (!comparison_type_fits(type, class))
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "compare_type %s doesn't fit operands of %s",
                           comparison_type_text(type), tn_element_type_text(meaning(t)));
    if (class == TN_CLASS_COMPLEX && direction != TN_comparison_direction_EQ &&
        direction != TN_comparison_direction_NE)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "complex operands compare by EQ or NE alone, not by direction %" PRId64,
                           direction);
    *out = with_element(a, common(a, t, tn_operand_type(op, 1)), TN_I1);
    return NULL;
}

/* The result has the operand's shape and an element type of its own, which is declared. */
static tn_status *check_result_shape(const tn_op *op)
{
    TN_TRY(tn_check_tensor(op, 0));
    TN_TRY(tn_check_result_tensor(op, 0));
    const tn_type *t = tn_operand_type(op, 0), *r = tn_result_type(op, 0);
    if (tn_shapes_agree(t, r)) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op,
                       "result 0 should have the operand's shape, %s, and is %s",
                       TN_TYPE_IN_MESSAGE(t), TN_TYPE_IN_MESSAGE(r));
}

tn_status *tn_infer_convert(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_result_shape(op));
    const tn_type *t = tn_operand_type(op, 0), *r = tn_result_type(op, 0);
    if (t->quantization || r->quantization)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "quantized types are converted by uniform_quantize and "
                           "uniform_dequantize, not from %s to %s",
                           TN_TYPE_IN_MESSAGE(t), TN_TYPE_IN_MESSAGE(r));
    *out = common(a, r, t);
    return NULL;
}

tn_status *tn_infer_reduce_precision(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(infer_same(op, a, FLOAT, out));
    int64_t exponent = tn_op_int(op, TN_ATTR_exponent_bits, 0);
    int64_t mantissa = tn_op_int(op, TN_ATTR_mantissa_bits, -1);
    if (exponent < 1)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "exponent_bits should be at least 1 and is %" PRId64, exponent);
    if (mantissa < 0)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "mantissa_bits should be at least 0 and is %" PRId64, mantissa);
    return NULL;
}

tn_status *tn_infer_select(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_classes(op, 0, BOOL));
    TN_TRY(tn_check_tensor(op, 1));
    TN_TRY(tn_check_tensor(op, 2));
    TN_TRY(check_alike(op, 1, 2));
    TN_TRY(check_shape_or_scalar(op, 0, 1));
    const tn_type *t = common(a, tn_operand_type(op, 1), tn_operand_type(op, 2));
    if (tn_operand_type(op, 0)->rank) t = common(a, t, tn_operand_type(op, 0));
    if (t->quantization) return quantized_result(op, a, t, meaning(t), out);
    *out = t;
    return NULL;
}

tn_status *tn_infer_uniform_quantize(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_classes(op, 0, FLOAT));
    const tn_type *t = tn_operand_type(op, 0);
    return quantized_result(op, a, t, meaning(t), out);
}

tn_status *tn_infer_uniform_dequantize(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    const tn_type *t = tn_operand_type(op, 0);
    if (!t->quantization)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand 0 should be quantized and is %s",
                           TN_TYPE_IN_MESSAGE(t));
    *out = with_element(a, t, t->quantization->expressed);
    return NULL;
}
