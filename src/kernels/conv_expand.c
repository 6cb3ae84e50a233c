/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv_expand.h"

#include "kernels/conv_lanes.h"
#include "kernels/conv_paths.h"

enum { CHUNK_BYTES = 1 << 21 }; /* of copied input at a time, if images aren't larger */

static int64_t features(const tn_conv *c)
{
    return c->groups * c->out_features;
}

static int64_t positions(const tn_conv *c)
{
    int64_t n = 1;
    for (int d = 0; d < c->rank; d++) n *= c->axes[d].in_size;
    return n;
}

static int64_t taps(const tn_conv *c)
{
    int64_t n = 1;
    for (int d = 0; d < c->rank; d++) n *= c->axes[d].kernel_size;
    return n;
}

bool tn_conv_is_expanded(const tn_conv *c)
{
    tn_gemm_kind kind = tn_gemm_kind_for(c->type, c->type, c->type);
    int64_t vl = tn_gemm_table_get()->kinds[kind].vl;
    return c->groups > 1 && c->out_features > 0 && c->out_features < vl && features(c) >= vl &&
           c->in_features > 0 && c->in_features <= 2 * vl && !tn_is_complex(c->type) &&
           c->out_group == c->out_features * c->out_feature && taps(c) > 1 && positions(c) > 0 &&
           taps(c) * 2 <= positions(c);
}

/* Images copied at a time. */
static int64_t chunk_of(const tn_conv *c)
{
    int64_t image = positions(c) * c->in_features * features(c) * tn_element_type_bytes(c->type),
            n = CHUNK_BYTES / image;
    return n < 1 ? 1 : n < c->batch ? n : c->batch;
}

/* `images` images of c in the copies: [image][position][in feature][feature], kernel without image.
 */
static tn_conv expanded(const tn_conv *c, int64_t images)
{
    tn_conv r = *c;
    int64_t in = c->in_features * features(c), kernel = in;
    r.batch = images;
    r.groups = features(c), r.out_features = 1;
    r.in_group = r.kernel_group = 1;
    r.in_feature = r.kernel_in_feature = features(c);
    r.out_group = c->out_feature;
    for (int d = c->rank - 1; d >= 0; d--) {
        r.axes[d].in_stride = in, in *= c->axes[d].in_size;
        r.axes[d].kernel_stride = kernel, kernel *= c->axes[d].kernel_size;
    }
    r.in_batch = in;
    return r;
}

static size_t round_up(size_t size)
{
    return (size + 63) / 64 * 64;
}

static size_t in_bytes(const tn_conv *c)
{
    return round_up((size_t)(chunk_of(c) * positions(c) * c->in_features * features(c) *
                             tn_element_type_bytes(c->type)));
}

static size_t kernel_bytes(const tn_conv *c)
{
    return round_up(
        (size_t)(taps(c) * c->in_features * features(c) * tn_element_type_bytes(c->type)));
}

size_t tn_conv_expand_workspace(const tn_conv *c, int threads)
{
    tn_conv r = expanded(c, chunk_of(c));
    size_t terms = 0;
    for (int64_t phase = 0, n = tn_conv_phases(&r); phase < n; phase++) {
        tn_conv_part p;
        if (!tn_conv_part_make(&r, phase, true, &p)) continue;
        size_t need = round_up(tn_conv_lanes_workspace(&p)) * (size_t)threads;
        if (need > terms) terms = need;
    }
    return in_bytes(c) + kernel_bytes(c) + terms;
}

typedef struct {
    const tn_conv *c;
    const char *src;
    char *dst;
} copy_job;

/* Each of n elements, `step` apart, `times` times. */
#define SPREAD(E)                                                                                  \
    static void spread_##E(E *restrict dst, const E *restrict src, int64_t step, int64_t n,        \
                           int64_t times)                                                          \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++, src += step, dst += times) {                               \
            E x = *src;                                                                            \
            if (times == 4) dst[0] = dst[1] = dst[2] = dst[3] = x;                                 \
            else                                                                                   \
                for (int64_t t = 0; t < times; t++) dst[t] = x;                                    \
        }                                                                                          \
    }
SPREAD(uint32_t)
SPREAD(uint64_t)

static void copy_positions(void *ctx, int64_t begin, int64_t end)
{
    const copy_job *j = ctx;
    const tn_conv *c = j->c;
    int64_t n = features(c), e = tn_element_type_bytes(c->type);
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i, src = 0;
        for (int d = c->rank - 1; d >= 0; d--) {
            src += rest % c->axes[d].in_size * c->axes[d].in_stride;
            rest /= c->axes[d].in_size;
        }
        src += rest * c->in_batch;
        for (int64_t f = 0; f < c->in_features; f++, src += c->in_feature) {
            char *dst = j->dst + (i * c->in_features + f) * n * e;
            const char *from = j->src + src * e;
            if (e == 4)
                spread_uint32_t((uint32_t *)dst, (const uint32_t *)from, c->in_group, c->groups,
                                c->out_features);
            else
                spread_uint64_t((uint64_t *)dst, (const uint64_t *)from, c->in_group, c->groups,
                                c->out_features);
        }
    }
}

static void copy_taps(void *ctx, int64_t begin, int64_t end)
{
    const copy_job *j = ctx;
    const tn_conv *c = j->c;
    int64_t e = tn_element_type_bytes(c->type);
    char *dst = j->dst + begin * c->in_features * features(c) * e;
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i, src = 0;
        for (int d = c->rank - 1; d >= 0; d--) {
            src += rest % c->axes[d].kernel_size * c->axes[d].kernel_stride;
            rest /= c->axes[d].kernel_size;
        }
        for (int64_t f = 0; f < c->in_features; f++, src += c->kernel_in_feature)
            for (int64_t g = 0; g < c->groups; g++)
                for (int64_t o = 0; o < c->out_features; o++, dst += e) {
                    const char *x =
                        j->src + (src + g * c->kernel_group + o * c->kernel_out_feature) * e;
                    if (e == 4) *(uint32_t *)dst = *(const uint32_t *)x;
                    else *(uint64_t *)dst = *(const uint64_t *)x;
                }
    }
}

void tn_conv_expand_run(const tn_conv *c, const char *in, const char *kernel, char *out,
                        tn_thread_pool *pool, char *workspace)
{
    int64_t e = tn_element_type_bytes(c->type), chunk = chunk_of(c);
    char *copy = workspace, *packed = copy + in_bytes(c), *rest = packed + kernel_bytes(c);
    copy_job k = {c, kernel, packed};
    double row = (double)(c->in_features * features(c));
    tn_parallel_for(pool, taps(c), row, copy_taps, &k);
    for (int64_t first = 0; first < c->batch; first += chunk) {
        int64_t images = c->batch - first < chunk ? c->batch - first : chunk;
        copy_job j = {c, in + first * c->in_batch * e, copy};
        tn_parallel_for(pool, images * positions(c), 0.15 * row + 10, copy_positions, &j);
        tn_conv r = expanded(c, images);
        char *to = out + first * c->out_batch * e;
        for (int64_t phase = 0, n = tn_conv_phases(&r); phase < n; phase++) {
            tn_conv_part p;
            if (tn_conv_part_make(&r, phase, true, &p))
                tn_conv_lanes_run(&p, copy, packed, to, pool, rest);
            else tn_conv_zero_rows(&p, to);
        }
    }
}
