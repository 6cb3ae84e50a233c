/* SPDX-License-Identifier: Apache-2.0 */
/* cholesky and triangular_solve, batched, real and complex. */
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread_pool.h"
#include "kernels/elementwise.h"
#include "ops/behaviours.h"
#include "ops/infer.h"
#include "ops/quantize.h"

/* What op(a) x = b, or x op(a) = b, is; lower says which triangle op(a) has. */
typedef struct {
    bool left, lower, transpose, conjugate, unit;
} solve_options;

#define T        float
#define REAL     float
#define REAL_MAX FLT_MAX
#define NAME(x)  x##_f32
#define CONJ(x)  (x)
#define RE(x)    (x)
#define SQRT(x)  sqrtf(x)
#include "ops/linalg.inc"

#define T        double
#define REAL     double
#define REAL_MAX DBL_MAX
#define NAME(x)  x##_f64
#define CONJ(x)  (x)
#define RE(x)    (x)
#define SQRT(x)  sqrt(x)
#include "ops/linalg.inc"

#define T        _Complex float
#define REAL     float
#define REAL_MAX FLT_MAX
#define NAME(x)  x##_c64
#define CONJ(x)  (~(x))
#define RE(x)    (__real__(x))
#define SQRT(x)  sqrtf(x)
#include "ops/linalg.inc"

#define T        _Complex double
#define REAL     double
#define REAL_MAX DBL_MAX
#define NAME(x)  x##_c128
#define CONJ(x)  (~(x))
#define RE(x)    (__real__(x))
#define SQRT(x)  sqrt(x)
#include "ops/linalg.inc"

/* Operand i is a batch of matrices of a float or complex type. */
static tn_status *check_matrices(const tn_op *op, uint32_t i)
{
    TN_TRY(tn_check_tensor(op, i));
    const tn_type *t = tn_operand_type(op, i);
    const tn_quantization *q = t->quantization;
    bool known = q ? q->axis < 0 : tn_is_float(t->element) || tn_is_complex(t->element);
    if (!known || t->rank < 2)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "operand %u should be matrices of floats or complex numbers and is %s",
                           i, TN_TYPE_IN_MESSAGE(t));
    return NULL;
}

static tn_status *check_square(const tn_op *op, uint32_t i)
{
    const tn_type *t = tn_operand_type(op, i);
    if (!tn_dims_agree(t->dims[t->rank - 2], t->dims[t->rank - 1]))
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u should be square matrices and is %s",
                           i, TN_TYPE_IN_MESSAGE(t));
    return NULL;
}

tn_status *tn_infer_cholesky(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_matrices(op, 0));
    TN_TRY(check_square(op, 0));
    out[0] = tn_result_like(op, 0, tn_operand_type(op, 0));
    return NULL;
}

tn_status *tn_infer_triangular_solve(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_matrices(op, 0));
    TN_TRY(check_matrices(op, 1));
    TN_TRY(check_square(op, 0));
    TN_TRY(tn_check_meaning(op, 1));
    const tn_type *m = tn_operand_type(op, 0), *b = tn_operand_type(op, 1);
    TN_TRY(tn_check_rank(op, 1, m->rank));
    bool left = tn_op_bool(op, TN_ATTR_left_side, true);
    for (uint32_t i = 0; i < m->rank; i++) {
        uint32_t of_b = i;
        if (i == m->rank - 2) of_b = left ? i : i + 1;
        if (i == m->rank - 1) continue;
        if (!tn_dims_agree(m->dims[i], b->dims[of_b]))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u of operand 1 should be %" PRId64
                               " as dimension %u of operand 0, and is %" PRId64,
                               of_b, m->dims[i], i, b->dims[of_b]);
    }
    int64_t transpose = tn_op_int(op, TN_ATTR_transpose_a, TN_transpose_NO_TRANSPOSE);
    if (transpose < TN_transpose_NO_TRANSPOSE || transpose > TN_transpose_ADJOINT)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "transpose_a should be NO_TRANSPOSE, TRANSPOSE or ADJOINT");
    out[0] = tn_result_like(op, 0, b);
    return NULL;
}

/* --- evaluation: one matrix at a time --- */

typedef struct {
    const char *a;
    char *out;
    int64_t n, rows, columns;
    tn_element_type element;
    size_t bytes; /* of one element */
    bool factorise, lower;
    solve_options solve;
    atomic_bool out_of_memory;
} job;

static void one(const job *j, const void *a, void *out, void *work)
{
#define CASE(TYPE, suffix)                                                                         \
    case TYPE:                                                                                     \
        if (j->factorise) cholesky_##suffix(a, out, j->n, j->lower, work);                         \
        else solve_##suffix(a, out, j->n, j->rows, j->columns, &j->solve, work);                   \
        return
    switch (j->element) {
        CASE(TN_F32, f32);
        CASE(TN_F64, f64);
        CASE(TN_C64, c64);
        CASE(TN_C128, c128);
    default: return; /* inference lets nothing else through */
    }
#undef CASE
}

static void some(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    size_t square = (size_t)(j->n * j->n) * j->bytes,
           rectangle = (size_t)(j->rows * j->columns) * j->bytes;
    void *work = malloc(square + 1);
    if (!work) {
        atomic_store(&j->out_of_memory, true);
        return;
    }
    for (int64_t i = begin; i < end; i++)
        one(j, j->a + (size_t)i * square, j->out + (size_t)i * rectangle, work);
    free(work);
}

static tn_status *run(const tn_op *op, const tn_eval_context *ctx, job *j, const tn_type *a)
{
    int64_t batch = 1;
    for (uint32_t i = 0; i + 2 < a->rank; i++) batch *= a->dims[i];
    double n = (double)j->n,
           columns = j->factorise ? n / 3 : (double)(j->solve.left ? j->columns : j->rows);
    tn_parallel_for(ctx->pool, batch, 1 + n * n * columns, some, j);
    return j->out_of_memory ? TN_OP_ERROR(RESOURCE_EXHAUSTED, op,
                                          "no memory for a matrix of %" PRId64 " rows", j->n)
                            : NULL;
}

static job job_of(const tn_type *a, const tn_tensor *operand, const tn_tensor *result)
{
    const tn_type *t = result->type;
    return (job){.a = operand->data,
                 .out = result->data,
                 .n = a->dims[a->rank - 1],
                 .rows = t->dims[t->rank - 2],
                 .columns = t->dims[t->rank - 1],
                 .element = a->element,
                 .bytes = tn_element_type_bytes(a->element)};
}

/* --- narrow floats: in f32, rounded once; quantized ones: in what they express --- */

/* Quantized elements to their values, in f32 or f64, or back. */
static void convert_quantized(const tn_tensor *from, const tn_tensor *to)
{
    enum { PIECE = 256 };
    const tn_quantization *back = to->type->quantization;
    const tn_type *plain = back ? from->type : to->type;
    int64_t total = tn_type_elements(plain);
    for (int64_t at = 0, n; at < total; at += n) {
        double values[PIECE];
        n = total - at < PIECE ? total - at : PIECE;
        const void *data = (const char *)(back ? from->data : to->data) +
                           (size_t)at * tn_element_type_bytes(plain->element);
        float *f32 = (float *)(uintptr_t)data;
        double *f64 = (double *)(uintptr_t)data;
        bool wide = plain->element == TN_F64;
        if (!back) tn_dequantize(from->type, from->data, at, n, values);
        for (int64_t i = 0; i < n; i++) {
            if (back) values[i] = tn_round_to(back->expressed, wide ? f64[i] : (double)f32[i]);
            else if (wide) f64[i] = values[i];
            else f32[i] = (float)values[i];
        }
        if (back) tn_quantize(to->type, values, at, n, to->data);
    }
}

static tn_status *convert(const tn_op *op, const tn_tensor *from, const tn_tensor *to)
{
    tn_kernel k;
    if (from->type->quantization || to->type->quantization) {
        convert_quantized(from, to);
        return NULL;
    }
    if (!tn_kernel_convert(tn_cpu_isa(), from->type->element, to->type->element, &k))
        return TN_OP_ERROR(UNIMPLEMENTED, op, "conversions from %s to %s",
                           TN_TYPE_IN_MESSAGE(from->type), TN_TYPE_IN_MESSAGE(to->type));
    const void *data = from->data;
    tn_kernel_run(&k, (size_t)tn_type_elements(from->type), &data, to->data);
    return NULL;
}

/* Room for `like` in f32, or f64 if it expresses that. */
static tn_status *room(const tn_op *op, const tn_eval_context *ctx, const tn_type *like,
                       tn_type *type, tn_tensor *out)
{
    *type = *like;
    bool wide = like->quantization && like->quantization->expressed == TN_F64;
    type->element = wide ? TN_F64 : TN_F32;
    type->quantization = NULL;
    *out = (tn_tensor){tn_scratch_alloc(ctx->scratch, tn_type_bytes(type)), type};
    return out->data ? NULL : TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
}

static tn_status *in_f32(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                         tn_tensor *results, tn_eval_fn eval)
{
    tn_type types[3];
    tn_tensor wide[3];
    for (uint32_t i = 0; i < op->n_operands; i++) {
        TN_TRY(room(op, ctx, operands[i].type, &types[i], &wide[i]));
        TN_TRY(convert(op, &operands[i], &wide[i]));
    }
    TN_TRY(room(op, ctx, results[0].type, &types[2], &wide[2]));
    TN_TRY(eval(op, ctx, wide, &wide[2]));
    return convert(op, &wide[2], &results[0]);
}

static bool is_narrow(const tn_tensor *t)
{
    bool is_float = tn_is_float(t->type->element);
    return t->type->quantization || (is_float && tn_element_type_bits(t->type->element) < 32);
}

tn_status *tn_eval_cholesky(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                            tn_tensor *results)
{
    if (is_narrow(&operands[0])) return in_f32(op, ctx, operands, results, tn_eval_cholesky);
    job j = job_of(operands[0].type, &operands[0], &results[0]);
    j.factorise = true;
    j.lower = tn_op_bool(op, TN_ATTR_lower, false);
    return run(op, ctx, &j, operands[0].type);
}

tn_status *tn_eval_triangular_solve(const tn_op *op, const tn_eval_context *ctx,
                                    const tn_tensor *operands, tn_tensor *results)
{
    if (is_narrow(&operands[0]))
        return in_f32(op, ctx, operands, results, tn_eval_triangular_solve);
    job j = job_of(operands[0].type, &operands[0], &results[0]);
    int64_t transpose = tn_op_int(op, TN_ATTR_transpose_a, TN_transpose_NO_TRANSPOSE);
    j.solve.left = tn_op_bool(op, TN_ATTR_left_side, true);
    j.solve.transpose = transpose != TN_transpose_NO_TRANSPOSE;
    j.solve.conjugate = transpose == TN_transpose_ADJOINT;
    j.solve.lower = tn_op_bool(op, TN_ATTR_lower, false) != j.solve.transpose;
    j.solve.unit = tn_op_bool(op, TN_ATTR_unit_diagonal, false);
    size_t bytes = tn_type_bytes(results[0].type);
    if (bytes) memcpy(results[0].data, operands[1].data, bytes);
    return run(op, ctx, &j, operands[0].type);
}
