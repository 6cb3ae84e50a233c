/* SPDX-License-Identifier: Apache-2.0 */
/* fft: FFT, IFFT, RFFT and IRFFT over the last one to three dimensions, computed in f64. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread_pool.h"
#include "kernels/fft.h"
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"

tn_status *tn_infer_fft(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_tensor(op, 0));
    const tn_type *t = tn_operand_type(op, 0);
    int64_t kind = tn_op_int(op, TN_ATTR_fft_type, -1);
    tn_ints length;
    length.v = tn_op_ints(op, TN_ATTR_fft_length, &length.n);
    if (kind < TN_fft_type_FFT || kind > TN_fft_type_IRFFT)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "fft_type has no value %" PRId64, kind);
    if (length.n < 1 || length.n > 3 || length.n > t->rank)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "fft_length should have 1 to 3 values, no more than the rank of %s, and "
                           "has %u",
                           TN_TYPE_IN_MESSAGE(t), length.n);
    TN_TRY(tn_check_ints(op, TN_ATTR_fft_length, length.n, 0, &length));
    bool forward_real = kind == TN_fft_type_RFFT, back_real = kind == TN_fft_type_IRFFT;
    bool real = t->element == TN_F32 || t->element == TN_F64;
    if (forward_real ? !real : !tn_is_complex(t->element))
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand 0 should be of %s and is %s",
                           forward_real ? "f32 or f64" : "complex<f32> or complex<f64>",
                           TN_TYPE_IN_MESSAGE(t));
    int64_t *dims = tn_dup(a, t->dims, t->rank * sizeof *dims);
    for (uint32_t i = 0; i < length.n; i++) {
        uint32_t d = t->rank - length.n + i;
        bool last = i + 1 == length.n;
        int64_t want = length.v[i];
        if (last && back_real) want = want ? want / 2 + 1 : 0;
        if (!tn_dims_agree(t->dims[d], want))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u of the operand should be %" PRId64
                               " by fft_length and is %" PRId64,
                               d, want, t->dims[d]);
        if (last && forward_real) dims[d] = length.v[i] ? length.v[i] / 2 + 1 : 0;
        if (last && back_real) dims[d] = length.v[i];
    }
    bool wide = t->element == TN_F64 || t->element == TN_C128;
    tn_element_type e = back_real ? (wide ? TN_F64 : TN_F32) : (wide ? TN_C128 : TN_C64);
    out[0] = tn_type_tensor(a, e, t->rank, dims);
    return NULL;
}

/* --- one dimension --- */

/* Lines along a dimension: element k of line l is at l / inner * n * inner + l % inner + k * inner,
 * with n = from_n in the source and to_n in the destination. */
typedef struct {
    const tn_fft_plan *plan;
    int64_t n, from_n, to_n, inner, lines;
    tn_element_type from_type, to_type;
    const void *from;
    void *to;
    bool inverse;
    atomic_bool out_of_memory;
} job;

static int64_t line_start(const job *j, int64_t line, int64_t n)
{
    return line / j->inner * n * j->inner + line % j->inner;
}

#define LOAD(T, COMPLEX)                                                                           \
    for (int64_t k = 0; k < j->from_n; k++) {                                                      \
        const T *x = (const T *)j->from + (at + k * j->inner) * (1 + COMPLEX);                     \
        re[k * lines] = (double)x[0];                                                              \
        im[k * lines] = COMPLEX ? (double)x[COMPLEX] : 0;                                          \
    }
#define STORE(T, COMPLEX)                                                                          \
    for (int64_t k = 0; k < j->to_n; k++) {                                                        \
        T *x = (T *)j->to + (at + k * j->inner) * (1 + COMPLEX);                                   \
        x[0] = (T)(re[k * lines] * scale);                                                         \
        if (COMPLEX) x[COMPLEX] = (T)(im[k * lines] * scale);                                      \
    }

static void load_line(const job *j, int64_t line, int64_t lines, double *re, double *im)
{
    int64_t at = line_start(j, line, j->from_n);
    switch (j->from_type) {
    case TN_F32: LOAD(float, 0); break;
    case TN_F64: LOAD(double, 0); break;
    case TN_C64: LOAD(float, 1); break;
    default: LOAD(double, 1); break;
    }
    if (j->from_n == j->n) return;
    /* Half of a spectrum: the rest mirrors it, and what mirrors itself is real. */
    im[0] = 0;
    if (j->n % 2 == 0) im[j->n / 2 * lines] = 0;
    for (int64_t k = j->from_n; k < j->n; k++) {
        re[k * lines] = re[(j->n - k) * lines];
        im[k * lines] = -im[(j->n - k) * lines];
    }
}

static void store_line(const job *j, int64_t line, int64_t lines, const double *re,
                       const double *im)
{
    int64_t at = line_start(j, line, j->to_n);
    double scale = j->inverse ? 1 / (double)j->n : 1;
    switch (j->to_type) {
    case TN_F32: STORE(float, 0); break;
    case TN_F64: STORE(double, 0); break;
    case TN_C64: STORE(float, 1); break;
    default: STORE(double, 1); break;
    }
}

static void transform(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    int64_t most = j->lines < TN_FFT_LINES ? j->lines : TN_FFT_LINES;
    size_t size = (size_t)(j->n * most), work = tn_fft_work(j->plan, most);
    double *re = malloc((2 * size + work) * sizeof *re), *im = re + size;
    if (!re) {
        atomic_store(&j->out_of_memory, true);
        return;
    }
    for (int64_t group = begin; group < end; group++) {
        int64_t first = group * most, lines = j->lines - first < most ? j->lines - first : most;
        for (int64_t l = 0; l < lines; l++) load_line(j, first + l, lines, re + l, im + l);
        if (j->inverse) tn_fft_run(j->plan, lines, im, re, im + size);
        else tn_fft_run(j->plan, lines, re, im, im + size);
        for (int64_t l = 0; l < lines; l++) store_line(j, first + l, lines, re + l, im + l);
    }
    free(re);
}

static tn_status *along(const tn_op *op, const tn_eval_context *ctx, job *j)
{
    int64_t most = j->lines < TN_FFT_LINES ? j->lines : TN_FFT_LINES;
    tn_fft_plan *plan = tn_fft_plan_new(j->n);
    if (!plan)
        return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "no memory for a transform of length %" PRId64,
                           j->n);
    j->plan = plan;
    tn_parallel_for(ctx->pool, (j->lines + most - 1) / most, (double)(j->n * most) * 5, transform,
                    j);
    tn_fft_plan_free(plan);
    if (!atomic_load(&j->out_of_memory)) return NULL;
    return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
}

tn_status *tn_eval_fft(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                       tn_tensor *results)
{
    const tn_type *from = operands[0].type, *to = results[0].type;
    if (tn_is_empty(to) || tn_is_empty(from)) return NULL;
    int64_t kind = tn_op_int(op, TN_ATTR_fft_type, 0);
    uint32_t n;
    const int64_t *length = tn_op_ints(op, TN_ATTR_fft_length, &n);
    /* The real end of a transform comes first when it goes forward, last when it goes back; between
     * the steps, complex values stand in the result, or in scratch if that is real. */
    bool back_real = kind == TN_fft_type_IRFFT;
    tn_tensor at = operands[0], middle = results[0];
    if (back_real && n > 1) {
        middle = (tn_tensor){tn_scratch_alloc(ctx->scratch, tn_type_bytes(from)), from};
        if (!middle.data) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    }
    for (uint32_t step = 0; step < n; step++) {
        uint32_t i = back_real ? step : n - 1 - step, d = from->rank - n + i;
        tn_tensor next = back_real && step + 1 == n ? results[0] : middle;
        job j = {.n = length[i],
                 .from_n = at.type->dims[d],
                 .to_n = next.type->dims[d],
                 .inner = tn_step(at.type, d),
                 .from_type = at.type->element,
                 .to_type = next.type->element,
                 .from = at.data,
                 .to = next.data,
                 .inverse = back_real || kind == TN_fft_type_IFFT};
        j.lines = tn_type_elements(at.type) / j.from_n;
        TN_TRY(along(op, ctx, &j));
        at = next;
    }
    return NULL;
}
