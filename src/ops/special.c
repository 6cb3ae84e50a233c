/* SPDX-License-Identifier: Apache-2.0 */
/* The custom calls chlo.NAME, as which the text reader brings in functions of CHLO: those of
 * kernels/special.h, next_after and mulhi. */
#include <math.h>

#include "base/thread_pool.h"
#include "kernels/special.h"
#include "ops/access.h"
#include "ops/custom_call.h"
#include "ops/infer.h"

enum { TILE = 256 };

static const char *name_of(const tn_op *op)
{
    return tn_op_string(op, TN_ATTR_call_target_name) + 5;
}

/* --- next_after: a step in the order of the bits --- */

typedef struct {
    const tn_tensor *operands;
    tn_tensor *results;
    const tn_special_function *f;
} job;

static uint64_t read_bits(const void *data, unsigned width, int64_t i)
{
    uint64_t v = 0;
    memcpy(&v, (const char *)data + i * width, width);
    return v;
}

/* Formats without a negative zero hold NaN there. */
static bool has_negative_zero(tn_element_type e)
{
    uint64_t bits = 0;
    double zero = -0.0, back = 1;
    tn_convert_elements(TN_F64, &zero, e, &bits, 1);
    tn_convert_elements(e, &bits, TN_F64, &back, 1);
    return back == 0 && signbit(back);
}

static void step(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    tn_element_type e = j->results->type->element;
    unsigned width = tn_element_type_bytes(e);
    uint64_t sign = (uint64_t)1 << (tn_element_type_bits(e) - 1);
    bool negative_zero = has_negative_zero(e);
    for (int64_t i = begin; i < end; i++) {
        uint64_t x = read_bits(j->operands[0].data, width, i);
        double v[2];
        for (int k = 0; k < 2; k++)
            tn_convert_elements(e, (const char *)j->operands[k].data + i * width, TN_F64, &v[k], 1);
        double nan = NAN;
        if (isnan(v[0]) || isnan(v[1])) tn_convert_elements(TN_F64, &nan, e, &x, 1);
        else if (v[0] == v[1]) x = read_bits(j->operands[1].data, width, i);
        else if (v[0] == 0) x = v[1] < 0 ? sign | 1 : 1;
        else if ((v[0] < v[1]) == (v[0] > 0)) x++;
        else x--;
        if (!negative_zero && x == sign && !isnan(v[0]) && !isnan(v[1])) x = 0;
        memcpy((char *)j->results->data + i * width, &x, width);
    }
}

/* --- mulhi --- */

static void multiply_high(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    tn_element_type e = j->results->type->element;
    unsigned width = tn_element_type_bytes(e), bits = tn_element_type_bits(e);
    bool is_signed = tn_element_type_class(e) == TN_CLASS_SINT;
    for (int64_t i = begin; i < end; i++) {
        uint64_t x = read_bits(j->operands[0].data, width, i);
        uint64_t y = read_bits(j->operands[1].data, width, i), high;
        unsigned shift = 64 - 8 * width;
        if (is_signed) {
            __int128 a = (int64_t)(x << shift) >> shift, b = (int64_t)(y << shift) >> shift;
            high = (uint64_t)((a * b) >> bits);
        } else {
            high = (uint64_t)(((unsigned __int128)x * y) >> bits);
        }
        memcpy((char *)j->results->data + i * width, &high, width);
    }
}

/* --- functions of reals and complex numbers --- */

static void apply_real(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    tn_element_type e = j->results->type->element;
    unsigned width = tn_element_type_bytes(e);
    double in[2][TILE], out[TILE];
    for (int64_t at = begin; at < end; at += TILE) {
        int64_t n = end - at < TILE ? end - at : TILE;
        for (int k = 0; k < j->f->operands; k++)
            tn_convert_elements(e, (const char *)j->operands[k].data + at * width, TN_F64, in[k],
                                n);
        for (int64_t i = 0; i < n; i++)
            out[i] = (double)j->f->real((long double[]){in[0][i], in[j->f->operands - 1][i]});
        tn_convert_elements(TN_F64, out, e, (char *)j->results->data + at * width, n);
    }
}

static void apply_complex(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    bool narrow = j->results->type->element == TN_C64;
    for (int64_t i = begin; i < end; i++) {
        const float *f = (const float *)j->operands[0].data + 2 * i;
        const double *d = (const double *)j->operands[0].data + 2 * i;
        long double in[2], out[2];
        for (int k = 0; k < 2; k++) in[k] = narrow ? (long double)f[k] : (long double)d[k];
        j->f->complex_fn(in, out);
        for (int k = 0; k < 2; k++) {
            if (narrow) ((float *)j->results->data)[2 * i + k] = (float)out[k];
            else ((double *)j->results->data)[2 * i + k] = (double)out[k];
        }
    }
}

/* --- the targets --- */

static tn_parallel_fn *function_for(const char *name, tn_element_type e)
{
    const tn_special_function *f = tn_special_find(name);
    if (f && tn_is_float(e)) return apply_real;
    if (f && tn_is_complex(e)) return f->complex_fn ? apply_complex : NULL;
    if (!strcmp(name, "next_after") && tn_is_float(e) && e != TN_F8E8M0FNU) return step;
    if (!strcmp(name, "mulhi") && tn_is_integer(e)) return multiply_high;
    return NULL;
}

static bool is_known(const char *name)
{
    return tn_special_find(name) || !strcmp(name, "next_after") || !strcmp(name, "mulhi");
}

tn_status *tn_infer_special(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const char *name = name_of(op);
    if (!is_known(name))
        return TN_OP_ERROR(NOT_FOUND, op, "no handler for custom call target 'chlo.%s'", name);
    const tn_special_function *f = tn_special_find(name);
    TN_TRY(tn_check_count(op, "number of operands", f ? f->operands : 2, op->n_operands));
    TN_TRY(tn_check_count(op, "number of results", 1, op->n_results));
    for (uint32_t i = 0; i < op->n_operands; i++) {
        TN_TRY(tn_check_tensor(op, i));
        TN_TRY(tn_check_same_element(op, 0, i));
        TN_TRY(tn_check_same_shape(op, 0, i));
    }
    out[0] = tn_operand_type(op, 0);
    if (!out[0]->quantization && function_for(name, out[0]->element)) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "chlo.%s is not defined on %s", name,
                       TN_TYPE_IN_MESSAGE(out[0]));
}

tn_status *tn_eval_special(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                           tn_tensor *results)
{
    job j = {operands, results, tn_special_find(name_of(op))};
    tn_parallel_fn *fn = function_for(name_of(op), results[0].type->element);
    if (!fn) return TN_OP_ERROR(INTERNAL, op, "no function for this type");
    tn_parallel_for(ctx->pool, tn_type_elements(results[0].type), 150, fn, &j);
    return NULL;
}
