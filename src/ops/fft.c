/* SPDX-License-Identifier: Apache-2.0 */
/* fft: FFT, IFFT, RFFT and IRFFT over the last one to three dimensions, computed in their type. */
#include <stdatomic.h>
#include <string.h>

#include "base/thread_pool.h"
#include "kernels/fft.h"
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"
#include "ops/piece_memory.h"

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
 * with n = from_n in the source and to_n in the destination. Real data has inner = 1. */
typedef struct {
    const tn_fft_plan *plan, *half;
    const tn_eval_context *ctx;
    int64_t n, from_n, to_n, inner, lines;
    bool wide, inverse;
    tn_fft_form from_form, to_form;
    const void *from;
    void *to;
    void *middle; /* of a line that is split */
    tn_piece_memory memory;
    atomic_bool out_of_memory;
} job;

static size_t real_width(const job *j)
{
    return j->wide ? sizeof(double) : sizeof(float);
}

/* Of a side that is reals, in reals; of complex ones, twice that. */
static int64_t width_of(tn_fft_form form)
{
    return form == TN_FFT_REAL || form == TN_FFT_PAIRS ? 1 : 2;
}

static int64_t line_start(const job *j, int64_t line, int64_t n)
{
    return line / j->inner * n * j->inner + line % j->inner;
}

static const void *from_line(const job *j, int64_t line)
{
    int64_t at = line_start(j, line, j->from_n) * width_of(j->from_form);
    return (const char *)j->from + at * (int64_t)real_width(j);
}

static void *to_line(const job *j, int64_t line)
{
    int64_t at = line_start(j, line, j->to_n) * width_of(j->to_form);
    return (char *)j->to + at * (int64_t)real_width(j);
}

static double scale(const job *j)
{
    return j->inverse ? 1 / (double)j->n : 1;
}

static void *take_work(job *j)
{
    void *work = tn_piece_memory_take(&j->memory);
    if (!work) atomic_store(&j->out_of_memory, true);
    return work;
}

/* --- groups of lines; a group ends where lines stop being equally far apart --- */

static int64_t lanes_of(const job *j)
{
    return j->plan->way == TN_FFT_LINE ? 1 : tn_fft_lanes(j->wide);
}

static int64_t groups_of(const job *j)
{
    int64_t lanes = lanes_of(j);
    if (j->inner == 1) return (j->lines + lanes - 1) / lanes;
    return (j->inner + lanes - 1) / lanes * (j->lines / j->inner);
}

static void transform_groups(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    int64_t lanes = lanes_of(j), row = j->inner == 1 ? j->lines : j->inner;
    int64_t in_row = (row + lanes - 1) / lanes;
    int64_t from = width_of(j->from_form), to = width_of(j->to_form);
    void *work = take_work(j);
    if (!work) return;
    for (int64_t k = begin; k < end; k++) {
        int64_t lane = k % in_row * lanes, line = k / in_row * row + lane;
        tn_fft_run(&(tn_fft_group){.plan = j->plan,
                                   .half = j->half,
                                   .inverse = j->inverse,
                                   .scale = scale(j),
                                   .lines = row - lane < lanes ? row - lane : lanes,
                                   .from = from_line(j, line),
                                   .from_step = j->from_form == TN_FFT_PAIRS ? 2 : j->inner * from,
                                   .from_line = (j->inner == 1 ? j->from_n : 1) * from,
                                   .from_form = j->from_form,
                                   .to = to_line(j, line),
                                   .to_step = j->to_form == TN_FFT_PAIRS ? 2 : j->inner * to,
                                   .to_line = (j->inner == 1 ? j->to_n : 1) * to,
                                   .to_n = j->to_form == TN_FFT_PAIRS ? j->to_n / 2 : j->to_n,
                                   .to_form = j->to_form,
                                   .work = work});
    }
    tn_piece_memory_give(&j->memory, work);
}

/* --- lines that are split: n1 rows of n2 --- */

typedef struct {
    job *j;
    const tn_fft_plan *plan;
    bool inverse;
    double scale;
    const void *from;
    int64_t from_step; /* in complex numbers */
    void *middle, *to;
    int64_t to_step;
} split;

static void transform_columns(void *ctx, int64_t begin, int64_t end)
{
    const split *s = ctx;
    bool wide = s->plan->wide;
    int64_t lanes = tn_fft_lanes(wide), n2 = s->plan->rows->n, w = wide ? 8 : 4;
    void *work = take_work(s->j);
    if (!work) return;
    for (int64_t k = begin; k < end; k++) {
        int64_t at = k * lanes;
        tn_fft_run(&(tn_fft_group){.plan = s->plan->columns,
                                   .inverse = s->inverse,
                                   .scale = 1,
                                   .lines = n2 - at < lanes ? n2 - at : lanes,
                                   .from = (const char *)s->from + at * s->from_step * 2 * w,
                                   .from_step = n2 * s->from_step * 2,
                                   .from_line = s->from_step * 2,
                                   .to = (char *)s->middle + at * 2 * w,
                                   .to_step = n2 * 2,
                                   .to_line = 2,
                                   .to_n = s->plan->columns->n,
                                   .turn_re = (const char *)s->plan->turn_re + at * w,
                                   .turn_im = (const char *)s->plan->turn_im + at * w,
                                   .turn_step = n2,
                                   .work = work});
    }
    tn_piece_memory_give(&s->j->memory, work);
}

static void transform_rows(void *ctx, int64_t begin, int64_t end)
{
    const split *s = ctx;
    bool wide = s->plan->wide;
    int64_t lanes = tn_fft_lanes(wide), n1 = s->plan->columns->n, n2 = s->plan->rows->n;
    int64_t w = wide ? 8 : 4;
    void *work = take_work(s->j);
    if (!work) return;
    for (int64_t k = begin; k < end; k++) {
        int64_t at = k * lanes;
        tn_fft_run(&(tn_fft_group){.plan = s->plan->rows,
                                   .inverse = s->inverse,
                                   .scale = s->scale,
                                   .lines = n1 - at < lanes ? n1 - at : lanes,
                                   .from = (const char *)s->middle + at * n2 * 2 * w,
                                   .from_step = 2,
                                   .from_line = n2 * 2,
                                   .to = (char *)s->to + at * s->to_step * 2 * w,
                                   .to_step = n1 * s->to_step * 2,
                                   .to_line = s->to_step * 2,
                                   .to_n = n2,
                                   .work = work});
    }
    tn_piece_memory_give(&s->j->memory, work);
}

static void run_split(split *s)
{
    int64_t lanes = tn_fft_lanes(s->plan->wide);
    int64_t n1 = s->plan->columns->n, n2 = s->plan->rows->n;
    double cost = (double)lanes;
    tn_thread_pool *pool = s->j->ctx ? s->j->ctx->pool : NULL;
    tn_parallel_for(pool, (n2 + lanes - 1) / lanes, cost * (double)n1, transform_columns, s);
    tn_parallel_for(pool, (n1 + lanes - 1) / lanes, cost * (double)n2, transform_rows, s);
}

/* Of real lines, between the reals as pairs and the spectrum: as split_pairs and join_pairs. */
#define DEFINE_HALVES(T)                                                                           \
    static void split_pairs_##T(const tn_fft_plan *half, int64_t n, const T *z, T *x)              \
    {                                                                                              \
        const T *wr = half->root_re, *wi = half->root_im;                                          \
        x[0] = z[0] + z[1];                                                                        \
        x[2 * n] = z[0] - z[1];                                                                    \
        x[1] = x[2 * n + 1] = 0;                                                                   \
        for (int64_t k = 1; k <= n - k; k++) {                                                     \
            const T *a = z + 2 * k, *b = z + 2 * (n - k);                                          \
            T er = (a[0] + b[0]) * (T)0.5, ei = (a[1] - b[1]) * (T)0.5;                            \
            T dr = (a[1] + b[1]) * (T)0.5, di = (b[0] - a[0]) * (T)0.5;                            \
            T tr = dr * wr[k] - di * wi[k], ti = dr * wi[k] + di * wr[k];                          \
            x[2 * k] = er + tr;                                                                    \
            x[2 * k + 1] = ei + ti;                                                                \
            x[2 * (n - k)] = er - tr;                                                              \
            x[2 * (n - k) + 1] = ti - ei;                                                          \
        }                                                                                          \
    }                                                                                              \
    static void join_pairs_##T(const tn_fft_plan *half, int64_t n, const T *x, T *z)               \
    {                                                                                              \
        const T *wr = half->root_re, *wi = half->root_im;                                          \
        z[0] = x[0] + x[2 * n];                                                                    \
        z[1] = x[0] - x[2 * n];                                                                    \
        for (int64_t k = 1; k <= n - k; k++) {                                                     \
            const T *a = x + 2 * k, *b = x + 2 * (n - k);                                          \
            T er = a[0] + b[0], ei = a[1] - b[1], dr = a[0] - b[0], di = a[1] + b[1];              \
            T tr = dr * wr[k] + di * wi[k], ti = di * wr[k] - dr * wi[k];                          \
            z[2 * k] = er - ti;                                                                    \
            z[2 * k + 1] = ei + tr;                                                                \
            z[2 * (n - k)] = er + ti;                                                              \
            z[2 * (n - k) + 1] = tr - ei;                                                          \
        }                                                                                          \
    }
DEFINE_HALVES(float)
DEFINE_HALVES(double)

static void transform_split(job *j)
{
    for (int64_t line = 0; line < j->lines; line++) {
        split s = {.j = j,
                   .plan = j->plan,
                   .inverse = j->inverse,
                   .scale = scale(j),
                   .from = from_line(j, line),
                   .from_step = j->inner,
                   .middle = j->middle,
                   .to = to_line(j, line),
                   .to_step = j->inner};
        /* The spectrum of pairs, of half the length, goes through memory of its own. */
        int64_t n = j->plan->n;
        void *spectrum = (char *)j->middle + (size_t)n * 2 * real_width(j);
        if (j->to_form == TN_FFT_PAIRS) {
            if (j->wide) join_pairs_double(j->half, n, s.from, spectrum);
            else join_pairs_float(j->half, n, s.from, spectrum);
            s.from = spectrum;
        }
        if (j->from_form == TN_FFT_PAIRS) s.to = spectrum;
        run_split(&s);
        if (j->from_form != TN_FFT_PAIRS) continue;
        if (j->wide) split_pairs_double(j->half, n, spectrum, to_line(j, line));
        else split_pairs_float(j->half, n, spectrum, to_line(j, line));
    }
}

/* --- lines by convolution --- */

/* A line of interleaved numbers, in place. */
static bool transform_line(job *j, const tn_fft_plan *p, void *line, void *middle)
{
    if (p->way == TN_FFT_SPLIT) {
        split s = {.j = j,
                   .plan = p,
                   .scale = 1,
                   .from = line,
                   .from_step = 1,
                   .middle = middle,
                   .to = line,
                   .to_step = 1};
        run_split(&s);
        return !atomic_load(&j->out_of_memory);
    }
    void *work = take_work(j);
    if (!work) return false;
    tn_fft_run(&(tn_fft_group){.plan = p,
                               .scale = 1,
                               .lines = 1,
                               .from = line,
                               .from_step = 2,
                               .to = line,
                               .to_step = 2,
                               .to_n = p->n,
                               .work = work});
    tn_piece_memory_give(&j->memory, work);
    return true;
}

static size_t work_of(const tn_fft_plan *p)
{
    if (p->way != TN_FFT_SPLIT) return tn_fft_work(p);
    size_t a = tn_fft_work(p->columns), b = tn_fft_work(p->rows);
    return a > b ? a : b;
}

/* For the plan of a convolution. */
static bool transform_alone(const tn_fft_plan *p, double *line)
{
    job j = {.wide = true};
    tn_scratch scratch = {0};
    tn_piece_memory_begin(&j.memory, &scratch, work_of(p));
    void *middle = tn_scratch_alloc(&scratch, (size_t)p->n * 2 * sizeof(double));
    bool ok = middle && transform_line(&j, p, line, middle);
    tn_scratch_release(&scratch);
    return ok;
}

#define DEFINE_CHIRP(T)                                                                            \
    static void load_chirped_##T(const job *j, const T *from, T *z)                                \
    {                                                                                              \
        int64_t n = j->plan->n, step = j->inner;                                                   \
        bool real = j->from_form == TN_FFT_REAL, mirror = j->from_form == TN_FFT_MIRROR;           \
        int64_t there = mirror ? j->from_n : n;                                                    \
        if (real)                                                                                  \
            for (int64_t k = 0; k < n; k++) z[2 * k] = from[k * step], z[2 * k + 1] = 0;           \
        else if (step == 1) memcpy(z, from, (size_t)there * 2 * sizeof(T));                        \
        else                                                                                       \
            for (int64_t k = 0; k < there; k++)                                                    \
                z[2 * k] = from[2 * k * step], z[2 * k + 1] = from[2 * k * step + 1];              \
        if (mirror) z[1] = 0;                                                                      \
        if (mirror && n % 2 == 0) z[n + 1] = 0;                                                    \
        for (int64_t k = there; k < n; k++)                                                        \
            z[2 * k] = z[2 * (n - k)], z[2 * k + 1] = -z[2 * (n - k) + 1];                         \
    }                                                                                              \
    static void store_chirped_##T(const job *j, const T *z, T *to)                                 \
    {                                                                                              \
        int64_t n = j->to_n, step = j->inner;                                                      \
        if (j->to_form == TN_FFT_REAL)                                                             \
            for (int64_t k = 0; k < n; k++) to[k * step] = z[2 * k];                               \
        else if (step == 1) memcpy(to, z, (size_t)n * 2 * sizeof(T));                              \
        else                                                                                       \
            for (int64_t k = 0; k < n; k++)                                                        \
                to[2 * k * step] = z[2 * k], to[2 * k * step + 1] = z[2 * k + 1];                  \
    }
DEFINE_CHIRP(float)
DEFINE_CHIRP(double)

/* The inverse is the conjugate of the transform of the conjugate. middle: two lines of the
 * convolution's length, the first with room for a vector more. */
static void transform_chirped(job *j)
{
    const tn_fft_plan *p = j->plan, *c = p->convolution;
    size_t w = 2 * real_width(j);
    char *z = j->middle, *middle = z + ((size_t)c->n + 16) * w;
    for (int64_t line = 0; line < j->lines; line++) {
        if (j->wide) load_chirped_double(j, from_line(j, line), (double *)z);
        else load_chirped_float(j, from_line(j, line), (float *)z);
        tn_fft_multiply(j->wide, p->n, z, p->chirp, j->inverse, false, 1);
        memset(z + (size_t)p->n * w, 0, (size_t)(c->n - p->n) * w);
        if (!transform_line(j, c, z, middle)) return;
        /* Back by a transform of the conjugate. */
        tn_fft_multiply(j->wide, c->n, z, p->kernel, false, true, 1);
        if (!transform_line(j, c, z, middle)) return;
        tn_fft_multiply(j->wide, p->n, z, p->chirp, true, j->inverse, scale(j));
        if (j->wide) store_chirped_double(j, (double *)z, to_line(j, line));
        else store_chirped_float(j, (float *)z, to_line(j, line));
    }
}

/* --- */

static tn_status *run_job(const tn_op *op, job *j)
{
    tn_scratch *scratch = j->ctx->scratch;
    size_t line = (size_t)j->plan->n * 2 * real_width(j), middle = 0;
    if (j->plan->way == TN_FFT_SPLIT) middle = 2 * line;
    if (j->plan->way == TN_FFT_CHIRP)
        middle = ((size_t)j->plan->convolution->n + 16) * 4 * real_width(j);
    if (middle && !(j->middle = tn_scratch_alloc(scratch, middle)))
        return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    bool chirp = j->plan->way == TN_FFT_CHIRP;
    tn_piece_memory_begin(&j->memory, scratch, work_of(chirp ? j->plan->convolution : j->plan));
    if (chirp) transform_chirped(j);
    else if (j->plan->way == TN_FFT_SPLIT) transform_split(j);
    else
        tn_parallel_for(j->ctx->pool, groups_of(j), (double)(j->plan->n * lanes_of(j)) * 3,
                        transform_groups, j);
    if (!atomic_load(&j->out_of_memory)) return NULL;
    return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
}

/* Longer lines take too much memory a group. */
#define MOST_BY_LINES (1 << 15)

static tn_status *along(const tn_op *op, const tn_eval_context *ctx, job *j)
{
    j->ctx = ctx;
    int64_t n = j->n;
    bool real = j->from_form == TN_FFT_REAL || j->to_form == TN_FFT_REAL;
    bool pairs =
        real && n % 2 == 0 && tn_fft_choose(n / 2, j->lines, true, j->wide) != TN_FFT_CHIRP;
    if (pairs) {
        n /= 2;
        if (j->from_form == TN_FFT_REAL) j->from_form = TN_FFT_PAIRS;
        else j->to_form = TN_FFT_PAIRS;
        if (j->to_form == TN_FFT_PAIRS) j->from_form = TN_FFT_COMPLEX;
        j->half = tn_fft_plan_take(2 * n, j->wide, TN_FFT_ROOTS, NULL);
    }
    tn_fft_way way = tn_fft_choose(n, j->lines, j->inner == 1, j->wide);
    /* A line that mirrors itself is not split. */
    if (real && !pairs && way == TN_FFT_SPLIT)
        way = n > MOST_BY_LINES ? TN_FFT_CHIRP : TN_FFT_LINES;
    j->plan = tn_fft_plan_take(n, j->wide, way, transform_alone);
    tn_status *s;
    if (!j->plan || (pairs && !j->half))
        s = TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "no memory for a transform of length %" PRId64,
                        j->n);
    else s = run_job(op, j);
    tn_fft_plan_give(j->plan);
    tn_fft_plan_give(j->half);
    return s;
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
    bool wide = from->element == TN_F64 || from->element == TN_C128;
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
                 .wide = wide,
                 .from = at.data,
                 .to = next.data,
                 .inverse = back_real || kind == TN_fft_type_IFFT};
        if (tn_is_float(at.type->element)) j.from_form = TN_FFT_REAL;
        if (tn_is_float(next.type->element)) {
            j.from_form = TN_FFT_MIRROR;
            j.to_form = TN_FFT_REAL;
        }
        j.lines = tn_type_elements(at.type) / j.from_n;
        TN_TRY(along(op, ctx, &j));
        at = next;
    }
    return NULL;
}
