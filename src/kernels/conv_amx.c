/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv_amx.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/int_math.h"
#include "kernels/work_parts.h"

#if defined(TN_HAVE_AMX)

enum {
    MIN_FEATURE_BYTES = 32, /* half a row of a tile */
    MAX_STEPS = 4096,
    MAX_ROWS = 128, /* positions of one item, as low as */
    MIN_ROWS = 32,  /* that if there would be fewer items than */
    MIN_ITEMS = 8,
    MAX_COLS = 256,
    CHUNK_STEPS = 16,
    SLACK = 64, /* positions beyond the last one that tiles may read */
};

static int64_t element(tn_amx_kind kind)
{
    return kind == TN_AMX_BF16 ? 2 : 1;
}

/* Sizes of the copy: [image][phase][place along each axis][feature]. */
typedef struct {
    int64_t e, row; /* bytes of an element, and of a position */
    int64_t phases, places[TN_CONV_MAX_SPATIAL], phase_places; /* of one phase */
    int64_t image;                                             /* bytes */
    int64_t rows; /* positions from the first to the last output of an image, those between too */
    int64_t taps, chunks, steps, panels; /* 64 bytes of features; tiles along k; of 16 outputs */
    int64_t height, width, row_items, col_items; /* of C in one item; items of an image */
} shape;

static shape shape_of(const tn_conv *c, tn_amx_kind kind)
{
    shape s = {.e = element(kind), .phases = 1, .phase_places = 1, .taps = 1, .rows = 1};
    s.chunks = tn_ceil_div(c->in_features * s.e, TN_AMX_ROW);
    s.row = s.chunks * TN_AMX_ROW;
    for (int d = 0; d < c->rank; d++) {
        const tn_conv_axis *a = &c->axes[d];
        s.places[d] = a->out_size + (a->kernel_size - 1) * a->kernel_dilation / a->stride;
        s.phases *= a->stride;
        s.phase_places *= s.places[d];
        s.taps *= a->kernel_size;
        s.rows = (s.rows - 1) * s.places[d] + a->out_size;
    }
    s.image = s.phases * s.phase_places * s.row;
    s.steps = s.taps * s.chunks;
    s.panels = tn_ceil_div(c->out_features, TN_AMX_LANES);
    s.width = tn_least(s.panels * TN_AMX_LANES, MAX_COLS);
    s.col_items = tn_ceil_div(c->out_features, s.width);
    s.height = MAX_ROWS;
    while (s.height > MIN_ROWS &&
           c->batch * tn_ceil_div(s.rows, s.height) * s.col_items < MIN_ITEMS)
        s.height /= 2;
    s.row_items = tn_ceil_div(s.rows, s.height);
    return s;
}

tn_amx_kind tn_conv_amx_kind(const tn_conv *c, tn_element_type in, tn_element_type kernel,
                             tn_element_type out)
{
    tn_amx_kind kind = tn_amx_kind_of(in, kernel);
    tn_gemm_kind sums = kind == TN_AMX_BF16 ? TN_GEMM_F32 : TN_GEMM_I32;
    if (kind == TN_AMX_NONE || tn_gemm_kind_for(in, kernel, out) != sums) return TN_AMX_NONE;
    bool lines = c->kernel_out_feature == 1 || c->kernel_in_feature == 1;
    if (c->groups != 1 || c->in_feature != 1 || !lines || c->batch < 1 || c->rank < 1 ||
        c->in_features * element(kind) < MIN_FEATURE_BYTES || c->out_features < TN_AMX_LANES)
        return TN_AMX_NONE;
    double outputs = 1, steps = (double)tn_ceil_div(c->in_features * element(kind), TN_AMX_ROW),
           copied = 1, inputs = 1;
    for (int d = 0; d < c->rank; d++) {
        const tn_conv_axis *a = &c->axes[d];
        if (a->in_dilation != 1 || a->out_size < 1 || a->in_size < 1 || a->kernel_size < 1)
            return TN_AMX_NONE;
        outputs *= (double)a->out_size;
        steps *= (double)a->kernel_size;
        inputs *= (double)a->in_size;
        copied *= (double)a->stride *
                  (double)(a->out_size + (a->kernel_size - 1) * a->kernel_dilation / a->stride);
    }
    /* Windows as large as the input, as in the gradient of a kernel, would make a copy that is
     * mostly zeros, and tiles that are mostly ends of lines. */
    if (steps > MAX_STEPS || outputs < TN_AMX_LANES || copied > 4 * inputs + 256)
        return TN_AMX_NONE;
    return tn_amx_usable() && (double)shape_of(c, kind).rows <= 3 * outputs ? kind : TN_AMX_NONE;
}

static size_t round_up(size_t size)
{
    return (size + 63) / 64 * 64;
}
static size_t copy_bytes(const tn_conv *c, const shape *s)
{
    return (size_t)(c->batch * s->image + SLACK * s->row);
}
static size_t packed_bytes(const shape *s)
{
    return (size_t)(s->panels * s->steps * TN_AMX_TILE);
}
static size_t aside_bytes(const shape *s)
{
    return (size_t)(s->height * s->width) * 4;
}

size_t tn_conv_amx_workspace(const tn_conv *c, tn_amx_kind kind, const tn_thread_pool *pool)
{
    shape s = shape_of(c, kind);
    return copy_bytes(c, &s) + packed_bytes(&s) + round_up((size_t)s.steps * sizeof(int64_t)) +
           aside_bytes(&s) * (size_t)tn_thread_pool_size(pool);
}

typedef struct {
    const tn_conv *c;
    shape s;
    tn_amx_kind kind;
    const char *in, *kernel;
    char *out, *copy, *packed;
    int64_t *at; /* of each step, from a position */
    int64_t out_size;
    tn_gemm_store *store;
    tn_work_parts parts;
    _Atomic(tn_amx_range) in_range, kernel_range;
} job;

static void merge(_Atomic(tn_amx_range) *all, tn_amx_range r)
{
    tn_amx_range now = atomic_load(all), next;
    do {
        next = now;
        if (r.low < next.low) next.low = r.low;
        if (r.high > next.high) next.high = r.high;
    } while (!atomic_compare_exchange_weak(all, &now, next));
}

/* --- the input: an item is a line of the copy, that is all places of the last axis in a phase ---
 */

static void copy_lines(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn_conv *c = j->c;
    const shape *s = &j->s;
    int last = c->rank - 1;
    const tn_conv_axis *line = &c->axes[last];
    tn_amx_range range = TN_AMX_NO_RANGE;
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i, places = 1, at[TN_CONV_MAX_SPATIAL], from = 0;
        for (int d = last - 1; d >= 0; d--) places *= s->places[d];
        int64_t place = rest % places, phase = rest / places % s->phases;
        bool inside = true;
        for (int d = last; d >= 0; d--) {
            const tn_conv_axis *a = &c->axes[d];
            at[d] = phase % a->stride - a->pad_low; /* the phase's first place in the input */
            phase /= a->stride;
            if (d == last) continue;
            at[d] += place % s->places[d] * a->stride;
            place /= s->places[d];
            inside &= at[d] >= 0 && at[d] < a->in_size;
            from += at[d] * a->in_stride;
        }
        from += i / (places * s->phases) * c->in_batch;
        char *dst = j->copy + i * s->places[last] * s->row;
        int64_t n = s->places[last], low = 0, high = 0;
        if (inside) {
            if (at[last] < 0) low = tn_ceil_div(-at[last], line->stride);
            if (at[last] < line->in_size)
                high = tn_ceil_div(line->in_size - at[last], line->stride);
            low = tn_least(low, n), high = tn_least(high, n);
        }
        if (high < low) high = low;
        memset(dst, 0, (size_t)(low * s->row));
        if (high > low)
            tn_amx_copy(dst + low * s->row, s->row,
                        j->in + (from + (at[last] + low * line->stride) * line->in_stride) * s->e,
                        line->stride * line->in_stride * s->e, high - low, c->in_features * s->e,
                        &range);
        memset(dst + high * s->row, 0, (size_t)((n - high) * s->row));
    }
    merge(&j->in_range, range);
}

/* --- the kernel: an item is a panel at one tap --- */

static void pack_taps(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn_conv *c = j->c;
    const shape *s = &j->s;
    tn_amx_range range = TN_AMX_NO_RANGE;
    for (int64_t i = begin; i < end; i++) {
        int64_t tap = i % s->taps, panel = i / s->taps, rest = tap, from = 0;
        for (int d = c->rank - 1; d >= 0; d--) {
            const tn_conv_axis *a = &c->axes[d];
            int64_t k = rest % a->kernel_size;
            rest /= a->kernel_size;
            from += (a->reversed ? a->kernel_size - 1 - k : k) * a->kernel_stride;
        }
        tn_amx_operand o = {j->kernel + from * s->e,
                            c->kernel_out_feature * s->e,
                            c->kernel_in_feature * s->e,
                            c->out_features,
                            c->in_features,
                            s->e,
                            true};
        tn_amx_pack(&o, panel, 1, j->packed + (panel * s->steps + tap * s->chunks) * TN_AMX_TILE,
                    &range);
    }
    merge(&j->kernel_range, range);
}

/* Where the tile of each step is, from the position of its first row. */
static void place_steps(const job *j)
{
    const tn_conv *c = j->c;
    const shape *s = &j->s;
    for (int64_t tap = 0; tap < s->taps; tap++) {
        int64_t rest = tap, phase = 0, phases = 1, place = 0, places = 1;
        for (int d = c->rank - 1; d >= 0; d--) {
            const tn_conv_axis *a = &c->axes[d];
            int64_t y = rest % a->kernel_size * a->kernel_dilation;
            rest /= a->kernel_size;
            phase += y % a->stride * phases, phases *= a->stride;
            place += y / a->stride * places, places *= s->places[d];
        }
        for (int64_t q = 0; q < s->chunks; q++)
            j->at[tap * s->chunks + q] =
                (phase * s->phase_places + place) * s->row + q * TN_AMX_ROW;
    }
}

/* --- sums --- */

/* Rows [first, first + rows) of an image, without ends of lines. */
static void store_rows(const job *j, char *out, int64_t first, int64_t rows, int64_t cols,
                       const char *sums)
{
    const tn_conv *c = j->c;
    const shape *s = &j->s;
    int64_t at[TN_CONV_MAX_SPATIAL], rest = first;
    for (int d = c->rank - 1; d >= 0; d--) {
        at[d] = d ? rest % s->places[d] : rest;
        if (d) rest /= s->places[d];
    }
    for (int64_t r = 0; r < rows; r++, sums += s->width * 4) {
        int64_t to = 0;
        bool valid = true;
        for (int d = 0; d < c->rank; d++) {
            valid &= at[d] < c->axes[d].out_size;
            to += at[d] * c->axes[d].out_stride;
        }
        if (valid)
            j->store(out + to * j->out_size, c->out_feature * j->out_size, sums, cols, false);
        for (int d = c->rank - 1; d >= 0; d--) {
            if (++at[d] < s->places[d] || d == 0) break;
            at[d] = 0;
        }
    }
}

static void compute_items(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn_conv *c = j->c;
    const shape *s = &j->s;
    tn_amx_block *const *blocks = tn_amx_blocks[j->kind - 1];
    int64_t b_panel = s->steps * TN_AMX_TILE, pitch = s->width * 4;
    char *aside;
    int part = tn_work_parts_take(&j->parts, &aside);
    tn_amx_begin();
    for (int64_t i = begin; i < end; i++) {
        int64_t col = i % s->col_items * s->width, image = i / s->col_items / s->row_items;
        int64_t first = i / s->col_items % s->row_items * s->height;
        int64_t rows = tn_least(s->height, s->rows - first),
                cols = tn_least(s->width, c->out_features - col);
        int64_t row_panels = tn_ceil_div(rows, TN_AMX_LANES),
                col_panels = tn_ceil_div(cols, TN_AMX_LANES);
        const char *a = j->copy + image * s->image + first * s->row,
                   *b = j->packed + col / TN_AMX_LANES * b_panel;
        for (int64_t q = 0; q < s->steps; q += CHUNK_STEPS)
            for (int64_t y = 0; y < col_panels; y += 2)
                for (int64_t x = 0; x < row_panels; x += 2)
                    blocks[2 * (x + 1 < row_panels) + (y + 1 < col_panels)](
                        tn_least(CHUNK_STEPS, s->steps - q), a + x * TN_AMX_LANES * s->row,
                        j->at + q, s->row, TN_AMX_LANES * s->row, b + y * b_panel + q * TN_AMX_TILE,
                        b_panel, aside + x * TN_AMX_LANES * pitch + y * TN_AMX_ROW, pitch, q > 0);
        store_rows(j, j->out + (image * c->out_batch + col * c->out_feature) * j->out_size, first,
                   rows, cols, aside);
    }
    tn_amx_end();
    tn_work_parts_free(&j->parts, part);
}

bool tn_conv_amx_run(const tn_conv *c, tn_amx_kind kind, tn_element_type out_type, const void *in,
                     const void *kernel, void *out, tn_thread_pool *pool, void *workspace)
{
    job j = {.c = c, .s = shape_of(c, kind), .kind = kind, .in = in, .kernel = kernel, .out = out};
    const shape *s = &j.s;
    j.copy = workspace;
    j.packed = j.copy + copy_bytes(c, s);
    j.at = (int64_t *)(j.packed + packed_bytes(s));
    char *aside = (char *)j.at + round_up((size_t)s->steps * sizeof(int64_t));
    j.out_size = tn_element_type_bytes(out_type);
    j.store = tn_gemm_store_for(kind == TN_AMX_BF16 ? TN_GEMM_F32 : TN_GEMM_I32, out_type);
    atomic_init(&j.in_range, TN_AMX_NO_RANGE);
    atomic_init(&j.kernel_range, TN_AMX_NO_RANGE);
    int64_t line = s->places[c->rank - 1], lines = c->batch * s->phases * s->phase_places / line;
    tn_parallel_for(pool, lines, 0.05 * (double)(line * s->row) + 50, copy_lines, &j);
    tn_parallel_for(pool, s->panels * s->taps, 0.04 * (double)(s->chunks * TN_AMX_TILE) + 20,
                    pack_taps, &j);
    if (kind == TN_AMX_BF16 &&
        !tn_amx_values_fit(atomic_load(&j.in_range), atomic_load(&j.kernel_range),
                           s->taps * c->in_features))
        return false;
    place_steps(&j);
    tn_work_parts_init(&j.parts, aside, aside_bytes(s), tn_thread_pool_size(pool));
    int64_t items = c->batch * s->row_items * s->col_items;
    double tiles = (double)(c->batch * s->panels) * (double)tn_ceil_div(s->rows, TN_AMX_LANES) *
                   (double)s->steps;
    tn_parallel_for(pool, items, tiles * 14 / (double)items + 100, compute_items, &j);
    return true;
}

#else

tn_amx_kind tn_conv_amx_kind(const tn_conv *c, tn_element_type in, tn_element_type kernel,
                             tn_element_type out)
{
    (void)c, (void)in, (void)kernel, (void)out;
    return TN_AMX_NONE;
}
size_t tn_conv_amx_workspace(const tn_conv *c, tn_amx_kind kind, const tn_thread_pool *pool)
{
    (void)c, (void)kind, (void)pool;
    return 0;
}
bool tn_conv_amx_run(const tn_conv *c, tn_amx_kind kind, tn_element_type out_type, const void *in,
                     const void *kernel, void *out, tn_thread_pool *pool, void *workspace)
{
    (void)c, (void)kind, (void)out_type, (void)in, (void)kernel, (void)out, (void)pool,
        (void)workspace;
    return false;
}

#endif
