/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv_arrange.h"

#include "kernels/gemm_kernels.h"

enum {
    MIN_FEATURES = 8,
    MIN_LINE = 4,
    MIN_USES = 16, /* multiply-adds with each element of the input that pay for moving it */
};

/* The axis along which neighbours lie in memory, or -1. */
static int line_axis(const tn_conv *c)
{
    for (int d = 0; d < c->rank; d++)
        if (c->axes[d].in_stride == 1 && c->axes[d].in_size >= MIN_LINE) return d;
    return -1;
}

/* Groups of features that follow each other are moved as one. */
static bool groups_merge(const tn_conv *c)
{
    return c->in_group == c->in_features * c->in_feature;
}

bool tn_conv_arrange(const tn_conv *c, tn_conv *out, size_t *bytes)
{
    int line = line_axis(c);
    int64_t e = tn_element_type_bytes(c->type), taps = 1, positions = 1;
    if (line < 0 || e > 8 || c->in_feature == 1 || c->in_features < MIN_FEATURES) return false;
    for (int d = 0; d < c->rank; d++)
        taps *= c->axes[d].kernel_size, positions *= c->axes[d].in_size;
    /* A window as large as the input is the gradient of a kernel, which goes along positions. */
    if (taps * 4 > positions || taps * c->out_features < MIN_USES) return false;

    *out = *c;
    int64_t step = groups_merge(c) ? c->groups * c->in_features : c->in_features;
    out->in_feature = 1;
    out->in_group = c->in_features;
    out->axes[line].in_stride = step;
    step *= c->axes[line].in_size;
    for (int d = c->rank - 1; d >= 0; d--) {
        if (d == line) continue;
        out->axes[d].in_stride = step;
        step *= c->axes[d].in_size;
    }
    out->in_batch = step;
    step *= c->batch;
    if (!groups_merge(c)) {
        out->in_group = step;
        step *= c->groups;
    }
    *bytes = (size_t)(step * e);
    return true;
}

typedef struct {
    const tn_conv *from, *to;
    const char *in;
    char *copy;
    int line;
} job;

static void move_lines(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const tn_conv *c = j->from;
    const tn_gemm_table *table = tn_gemm_table_get();
    int64_t e = tn_element_type_bytes(c->type),
            features = c->in_features * (groups_merge(c) ? c->groups : 1);
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i, src = 0, dst = 0;
        for (int d = c->rank - 1; d >= 0; d--) {
            if (d == j->line) continue;
            int64_t at = rest % c->axes[d].in_size;
            rest /= c->axes[d].in_size;
            src += at * c->axes[d].in_stride, dst += at * j->to->axes[d].in_stride;
        }
        src += rest % c->batch * c->in_batch, dst += rest % c->batch * j->to->in_batch;
        src += rest / c->batch * c->in_group, dst += rest / c->batch * j->to->in_group;
        (e == 4 ? table->transpose4 : table->transpose8)(
            j->copy + dst * e, j->to->axes[j->line].in_stride * e, j->in + src * e,
            c->in_feature * e, features, c->axes[j->line].in_size);
    }
}

void tn_conv_arrange_run(const tn_conv *c, const tn_conv *arranged, const char *in, char *copy,
                         tn_thread_pool *pool)
{
    job j = {c, arranged, in, copy, line_axis(c)};
    int64_t lines = c->batch * (groups_merge(c) ? 1 : c->groups);
    for (int d = 0; d < c->rank; d++)
        if (d != j.line) lines *= c->axes[d].in_size;
    int64_t features = c->in_features * (groups_merge(c) ? c->groups : 1);
    tn_parallel_for(pool, lines, 0.5 * (double)features * (double)c->axes[j.line].in_size,
                    move_lines, &j);
}
