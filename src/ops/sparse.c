/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_csr_sparse_dense_ffi(values, starts, columns, x): a sparse matrix in rows times a vector or a
 * matrix. Row r holds values[starts[r] .. starts[r + 1]), each for the column that stands beside
 * it; its products are summed in that order. What lies outside of the matrix, as the padding of
 * JAX's sparse arrays does, counts as nothing. */
#include <string.h>

#include "base/thread_pool.h"
#include "ops/custom_call.h"
#include "ops/infer.h"

typedef struct {
    const void *values, *starts, *columns, *x;
    void *result;
    bool wide; /* indices are i64 */
    int64_t n_values, n_columns, width;
} job;

static int64_t index_at(const job *j, const void *list, int64_t i)
{
    return j->wide ? ((const int64_t *)list)[i] : ((const int32_t *)list)[i];
}

static int64_t within(int64_t x, int64_t most)
{
    return x < 0 ? 0 : x < most ? x : most;
}

/* `parts` is 2 for complex numbers. */
#define DEFINE(name, type, parts)                                                                  \
    static void run_##name(void *ctx, int64_t begin, int64_t end)                                  \
    {                                                                                              \
        const job *j = ctx;                                                                        \
        int64_t width = j->width * parts;                                                          \
        for (int64_t r = begin; r < end; r++) {                                                    \
            type *sum = (type *)j->result + r * width;                                             \
            memset(sum, 0, (size_t)width * sizeof(type));                                          \
            int64_t from = within(index_at(j, j->starts, r), j->n_values);                         \
            int64_t to = within(index_at(j, j->starts, r + 1), j->n_values);                       \
            for (int64_t k = from; k < to; k++) {                                                  \
                int64_t column = index_at(j, j->columns, k);                                       \
                if (column < 0 || column >= j->n_columns) continue;                                \
                const type *v = (const type *)j->values + k * parts;                               \
                const type *x = (const type *)j->x + column * width;                               \
                if (parts == 1) {                                                                  \
                    for (int64_t c = 0; c < width; c++) sum[c] += v[0] * x[c];                     \
                    continue;                                                                      \
                }                                                                                  \
                for (int64_t c = 0; c < width; c += 2) {                                           \
                    sum[c] += v[0] * x[c] - v[parts - 1] * x[c + 1];                               \
                    sum[c + 1] += v[0] * x[c + 1] + v[parts - 1] * x[c];                           \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE(i32, uint32_t, 1) /* sums of integers wrap around */
DEFINE(i64, uint64_t, 1)
DEFINE(f32, float, 1)
DEFINE(f64, double, 1)
DEFINE(c64, float, 2)
DEFINE(c128, double, 2)
#undef DEFINE

static tn_parallel_fn *function_for(tn_element_type e)
{
    switch (e) {
    case TN_I32: return run_i32;
    case TN_I64: return run_i64;
    case TN_F32: return run_f32;
    case TN_F64: return run_f64;
    case TN_C64: return run_c64;
    case TN_C128: return run_c128;
    default: return NULL;
    }
}

static bool is_list(const tn_type *t, tn_element_type e)
{
    return t->kind == TN_TYPE_TENSOR && t->rank == 1 && t->element == e;
}

tn_status *tn_infer_csr_product(const tn_op *op, tn_arena *a, const tn_type **out)
{
    if (op->n_operands != 4 || op->n_results != 1)
        return TN_OP_ERROR(
            INVALID_ARGUMENT, op,
            "target 'cpu_csr_sparse_dense_ffi' takes values, row starts, columns and "
            "a dense array and gives one; got %u operands and %u results",
            op->n_operands, op->n_results);
    const tn_type *t[4], *result = tn_result_type(op, 0);
    for (uint32_t i = 0; i < 4; i++) t[i] = tn_operand_type(op, i);
    if (t[0]->kind != TN_TYPE_TENSOR || !function_for(t[0]->element))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "operand 0 should be of i32, i64, f32, f64 or a complex type and is %s",
                           TN_TYPE_IN_MESSAGE(t[0]));
    bool lists = is_list(t[0], t[0]->element) && (is_list(t[1], TN_I32) || is_list(t[1], TN_I64)) &&
                 is_list(t[2], t[1]->element) && t[1]->dims[0] >= 1 &&
                 t[0]->dims[0] == t[2]->dims[0];
    if (!lists)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "operands 0 to 2 should be lists of values, row starts and columns, the "
                           "last two of i32 or i64, and are %s, %s and %s",
                           TN_TYPE_IN_MESSAGE(t[0]), TN_TYPE_IN_MESSAGE(t[1]),
                           TN_TYPE_IN_MESSAGE(t[2]));
    bool fits = t[3]->kind == TN_TYPE_TENSOR && t[3]->element == t[0]->element &&
                (t[3]->rank == 1 || t[3]->rank == 2) && result->kind == TN_TYPE_TENSOR &&
                result->rank == t[3]->rank && result->element == t[0]->element &&
                result->dims[0] == t[1]->dims[0] - 1 &&
                (t[3]->rank == 1 || result->dims[1] == t[3]->dims[1]);
    if (!fits)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "operand 3 is %s and the result %s: not a product of a sparse matrix of "
                           "%" PRId64 " rows",
                           TN_TYPE_IN_MESSAGE(t[3]), TN_TYPE_IN_MESSAGE(result), t[1]->dims[0] - 1);
    out[0] = result;
    return NULL;
}

tn_status *tn_eval_csr_product(const tn_op *op, const tn_eval_context *ctx,
                               const tn_tensor *operands, tn_tensor *results)
{
    const tn_type *x = operands[3].type;
    job j = {.values = operands[0].data,
             .starts = operands[1].data,
             .columns = operands[2].data,
             .x = operands[3].data,
             .result = results->data,
             .wide = operands[1].type->element == TN_I64,
             .n_values = operands[0].type->dims[0],
             .n_columns = x->dims[0],
             .width = x->rank == 2 ? x->dims[1] : 1};
    int64_t rows = results->type->dims[0];
    if (rows == 0 || j.width == 0) return NULL;
    double each = (double)j.n_values / (double)rows * (1.5 + 0.5 * (double)j.width);
    tn_parallel_for(ctx->pool, rows, 3 + each, function_for(operands[0].type->element), &j);
    return NULL;
}
