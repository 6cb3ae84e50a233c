/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv_lines.h"

#include <math.h>
#include <string.h>

#include "kernels/conv_lanes.h"
#include "kernels/conv_paths.h"
#include "kernels/int_math.h"

enum {
    MAX_FEATURES = 4,     /* more are better kept in registers together */
    MAX_KERNEL = 1 << 16, /* elements that are looked through */
    LONG_LINE = 6,        /* vectors of a line whose middle is read where it is */
};

static int line_axis(const tn_conv *c)
{
    for (int d = 0; d < c->rank; d++) {
        const tn_conv_axis *a = &c->axes[d];
        if (a->in_stride == 1 && a->out_stride == 1 && a->stride == 1 && a->in_dilation == 1)
            return d;
    }
    return -1;
}

static int64_t vector_length(const tn_conv *c)
{
    tn_gemm_kind kind = tn_gemm_kind_for(c->type, c->type, c->type);
    return tn_gemm_table_get()->kinds[kind].vl;
}

bool tn_conv_is_lines(const tn_conv *c)
{
    int line = line_axis(c);
    if (line < 0 || tn_is_complex(c->type) || c->out_features > MAX_FEATURES) return false;
    double taps = (double)c->in_features * (double)c->out_features * (double)c->groups;
    for (int d = 0; d < c->rank; d++) taps *= (double)c->axes[d].kernel_size;
    return taps > 0 && taps <= MAX_KERNEL && c->axes[line].out_size >= vector_length(c) &&
           c->rank < TN_CONV_MAX_SPATIAL;
}

/* Positions [*low, *high) of the line whose windows don't leave it. */
static int64_t reach_of(const tn_conv_axis *a)
{
    return (a->kernel_size - 1) * a->kernel_dilation;
}
static void inside(const tn_conv_axis *a, int64_t *low, int64_t *high)
{
    *low = tn_least(a->out_size, tn_most(0, a->pad_low));
    *high = tn_most(*low, tn_least(a->out_size, a->in_size + a->pad_low - reach_of(a)));
}

/* --- the kernel --- */

static bool is_finite(const tn_conv *c, const char *kernel, int d)
{
    if (d < 0) {
        int64_t e = tn_element_type_bytes(c->type);
        for (int64_t i = 0; i < c->in_features; i++)
            for (int64_t f = 0; f < c->out_features; f++) {
                const char *x = kernel + (i * c->kernel_in_feature + f * c->kernel_out_feature) * e;
                if (!(c->type == TN_F32 ? isfinite(*(const float *)x)
                                        : isfinite(*(const double *)x)))
                    return false;
            }
        return true;
    }
    int64_t step = c->axes[d].kernel_stride * tn_element_type_bytes(c->type);
    for (int64_t k = 0; k < c->axes[d].kernel_size; k++)
        if (!is_finite(c, kernel + k * step, d - 1)) return false;
    return true;
}

bool tn_conv_lines_allow(const tn_conv *c, const char *kernel)
{
    if (!tn_is_float(c->type)) return true;
    const tn_conv_axis *a = &c->axes[line_axis(c)];
    int64_t low, high;
    inside(a, &low, &high);
    if (low == 0 && high == a->out_size) return true;
    int64_t step = c->kernel_group * tn_element_type_bytes(c->type);
    for (int64_t g = 0; g < c->groups; g++)
        if (!is_finite(c, kernel + g * step, c->rank - 1)) return false;
    return true;
}

/* --- zones of a line --- */

typedef struct {
    int64_t first, count; /* positions */
    bool copied;
} zone;

static int zones_of(const tn_conv *c, zone *out)
{
    const tn_conv_axis *a = &c->axes[line_axis(c)];
    int64_t low, high, vl = vector_length(c);
    inside(a, &low, &high);
    if (high - low < LONG_LINE * vl) {
        out[0] = (zone){0, a->out_size, true};
        return 1;
    }
    int n = 0;
    /* The ends are at least a vector long; where they overlap the middle the sums are the same. */
    if (low > 0) out[n++] = (zone){0, tn_most(low, vl), true};
    out[n++] = (zone){low, high - low, false};
    int64_t rest = a->out_size - high;
    if (rest > 0) {
        rest = tn_most(rest, vl);
        out[n++] = (zone){a->out_size - rest, rest, true};
    }
    return n;
}

static int64_t line_count(const tn_conv *c)
{
    int64_t n = c->batch * c->in_features;
    int line = line_axis(c);
    for (int d = 0; d < c->rank; d++)
        if (d != line) n *= c->axes[d].in_size;
    return n;
}

static int64_t zone_length(const tn_conv *c, const zone *z)
{
    return z->count + reach_of(&c->axes[line_axis(c)]);
}

/* The zone as a convolution of one output feature whose groups are the positions. */
static tn_conv zone_conv(const tn_conv *c, const zone *z)
{
    int line = line_axis(c);
    tn_conv r = *c;
    tn_conv_axis *a = &r.axes[line];
    int64_t reach = reach_of(a);
    r.groups = z->count;
    r.out_features = 1;
    r.in_group = r.out_group = 1, r.kernel_group = 0;
    a->in_size = reach + 1, a->out_size = 1, a->pad_low = 0;
    if (!z->copied) return r;
    int64_t step = zone_length(c, z);
    for (int d = c->rank - 1; d >= 0; d--) {
        if (d == line) continue;
        r.axes[d].in_stride = step;
        step *= r.axes[d].in_size;
    }
    r.in_feature = step;
    r.in_batch = step * c->in_features;
    return r;
}

typedef struct {
    const tn_conv *c;
    const zone *z;
    const char *in;
    char *copy;
} copy_job;

static void copy_lines(void *ctx, int64_t begin, int64_t end)
{
    const copy_job *j = ctx;
    const tn_conv *c = j->c;
    int line = line_axis(c);
    const tn_conv_axis *a = &c->axes[line];
    int64_t e = tn_element_type_bytes(c->type), length = zone_length(c, j->z);
    int64_t from = j->z->first - a->pad_low; /* place in the line of the copy's first element */
    int64_t first = tn_least(length, tn_most(0, -from)),
            last = tn_most(first, tn_least(length, a->in_size - from));
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i, src = 0;
        for (int d = c->rank - 1; d >= 0; d--) {
            if (d == line) continue;
            src += rest % c->axes[d].in_size * c->axes[d].in_stride;
            rest /= c->axes[d].in_size;
        }
        src += rest % c->in_features * c->in_feature + rest / c->in_features * c->in_batch;
        char *dst = j->copy + i * length * e;
        memset(dst, 0, (size_t)(first * e));
        if (last > first)
            memcpy(dst + first * e, j->in + (src + from + first) * e, (size_t)((last - first) * e));
        memset(dst + last * e, 0, (size_t)((length - last) * e));
    }
}

static size_t round_up(size_t size)
{
    return (size + 63) / 64 * 64;
}

static size_t copy_bytes(const tn_conv *c, const zone *z)
{
    return round_up((size_t)(line_count(c) * zone_length(c, z) * tn_element_type_bytes(c->type)));
}

size_t tn_conv_lines_workspace(const tn_conv *c, int threads)
{
    zone zones[3];
    size_t largest = 0, terms = 0;
    for (int n = zones_of(c, zones), i = 0; i < n; i++) {
        tn_conv r = zone_conv(c, &zones[i]);
        size_t copy = zones[i].copied ? copy_bytes(c, &zones[i]) : 0;
        if (copy > largest) largest = copy;
        for (int64_t phase = 0, phases = tn_conv_phases(&r); phase < phases; phase++) {
            tn_conv_part p;
            if (!tn_conv_part_make(&r, phase, true, &p)) continue;
            size_t need = round_up(tn_conv_lanes_workspace(&p)) * (size_t)threads;
            if (need > terms) terms = need;
        }
    }
    return largest + terms;
}

void tn_conv_lines_run(const tn_conv *c, const char *in, const char *kernel, char *out,
                       tn_thread_pool *pool, char *workspace)
{
    zone zones[3];
    int64_t e = tn_element_type_bytes(c->type);
    const tn_conv_axis *a = &c->axes[line_axis(c)];
    for (int n = zones_of(c, zones), i = 0; i < n; i++) {
        const zone *z = &zones[i];
        tn_conv r = zone_conv(c, z);
        const char *from = in + (z->first - a->pad_low) * e;
        char *memory = workspace;
        if (z->copied) {
            copy_job j = {c, z, in, workspace};
            int64_t lines = line_count(c);
            tn_parallel_for(pool, lines, 10 + 0.1 * (double)zone_length(c, z), copy_lines, &j);
            from = workspace;
            memory += copy_bytes(c, z);
        }
        for (int64_t f = 0; f < c->out_features; f++)
            for (int64_t phase = 0, phases = tn_conv_phases(&r); phase < phases; phase++) {
                tn_conv_part p;
                char *to = out + (f * c->out_feature + z->first) * e;
                bool any = tn_conv_part_make(&r, phase, true, &p);
                if (any)
                    tn_conv_lanes_run(&p, from, kernel + f * c->kernel_out_feature * e, to, pool,
                                      memory);
                else tn_conv_zero_rows(&p, to);
            }
    }
}
