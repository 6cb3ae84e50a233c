/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv.h"

#include <string.h>

#include "kernels/conv_arrange.h"
#include "kernels/conv_expand.h"
#include "kernels/conv_lanes.h"
#include "kernels/conv_lines.h"
#include "kernels/conv_paths.h"
#include "kernels/gemm.h"
#include "kernels/gemm_blocks.h"
#include "kernels/work_parts.h"

/* Groups of fewer multiply-adds than this are left to one thread each. */
static const double OWN_THREAD_PRODUCTS = 1e7;

bool tn_conv_supports(tn_element_type type)
{
    switch (type) {
    case TN_F32:
    case TN_F64:
    case TN_I32:
    case TN_U32:
    case TN_I64:
    case TN_U64:
    case TN_C64:
    case TN_C128: return true;
    default: return false;
    }
}

bool tn_conv_fits(const tn_conv *c)
{
    const int64_t limit = (int64_t)1 << 40;
    for (int d = 0; d < c->rank; d++) {
        const tn_conv_axis *a = &c->axes[d];
        int64_t pad = a->pad_low < 0 ? -(a->pad_low + 1) : a->pad_low;
        if (pad >= limit || a->in_size >= limit || a->kernel_size >= limit || a->out_size >= limit)
            return false;
        if (a->stride >= limit || a->in_dilation >= limit || a->kernel_dilation >= limit)
            return false;
        __int128 reach = (__int128)a->out_size * a->stride,
                 taps = (__int128)a->kernel_size * a->kernel_dilation;
        __int128 inputs = (__int128)a->in_size * a->in_dilation;
        if (reach >= limit || taps >= limit || inputs >= limit) return false;
    }
    return true;
}

static bool is_empty(const tn_conv *c)
{
    bool empty = c->groups <= 0 || c->batch <= 0 || c->out_features <= 0;
    for (int d = 0; d < c->rank; d++) empty |= c->axes[d].out_size <= 0;
    return empty;
}

/* Multiply-adds of one group, those outside of the input included. */
static double products(const tn_conv *c)
{
    double n = (double)c->batch * (double)c->in_features * (double)c->out_features;
    for (int d = 0; d < c->rank; d++)
        n *= (double)c->axes[d].out_size * (double)c->axes[d].kernel_size;
    return n;
}

static bool groups_are_parallel(const tn_conv *c)
{
    return c->groups > 1 && products(c) < OWN_THREAD_PRODUCTS;
}

/* --- windows of one element: a matrix product --- */

enum {
    LARGE_KERNEL = 1 << 16, /* elements; then it isn't read again for each */
    SHORT_LINE = 64,        /* of positions */
};

typedef struct {
    int64_t size, in, out;
} positions;

static bool is_product(const tn_conv *c, tn_gemm *out)
{
    positions loops[TN_CONV_MAX_SPATIAL + 1] = {{c->batch, c->in_batch, c->out_batch}};
    int n = c->batch > 1;
    if (c->in_features <= 0) return false;
    for (int d = 0; d < c->rank; d++) {
        const tn_conv_axis *a = &c->axes[d];
        if (a->kernel_size != 1 || a->pad_low || a->in_dilation != 1 ||
            (a->out_size - 1) * a->stride >= a->in_size)
            return false;
        positions next = {a->out_size, a->in_stride * a->stride, a->out_stride};
        if (next.size == 1) continue;
        if (n && loops[n - 1].in == next.in * next.size && loops[n - 1].out == next.out * next.size)
            loops[n - 1] = (positions){loops[n - 1].size * next.size, next.in, next.out};
        else loops[n++] = next;
    }
    int rows = 0;
    for (int i = 1; i < n; i++)
        if (loops[i].size > loops[rows].size) rows = i;
    if (!n) loops[n++] = (positions){1, 0, 0};
    if (n + (c->groups > 1) > TN_GEMM_MAX_BATCH) return false;
    if (n > 1 && loops[rows].size < SHORT_LINE && c->in_features * c->out_features > LARGE_KERNEL)
        return false;
    tn_gemm g = {.a_type = c->type,
                 .b_type = c->type,
                 .c_type = c->type,
                 .m = loops[rows].size,
                 .n = c->out_features,
                 .k = c->in_features,
                 .a_row = loops[rows].in,
                 .a_col = c->in_feature,
                 .b_row = c->kernel_in_feature,
                 .b_col = c->kernel_out_feature,
                 .c_row = loops[rows].out,
                 .c_col = c->out_feature};
    if (c->groups > 1) {
        g.batch[0] = c->groups, g.batch_rank = 1;
        g.a_batch[0] = c->in_group, g.b_batch[0] = c->kernel_group, g.c_batch[0] = c->out_group;
    }
    for (int i = 0; i < n; i++) {
        if (i == rows) continue;
        uint32_t at = g.batch_rank++;
        g.batch[at] = loops[i].size, g.a_batch[at] = loops[i].in, g.c_batch[at] = loops[i].out;
    }
    *out = g;
    return true;
}

static size_t round_up(size_t size)
{
    return (size + 63) / 64 * 64;
}

/* What one thread needs for one group, or for lanes. */
static size_t part_bytes(const tn_conv *c, bool lanes)
{
    size_t size = 0;
    int64_t n = tn_conv_phases(c);
    for (int64_t phase = 0; phase < n; phase++) {
        tn_conv_part p;
        if (!tn_conv_part_make(c, phase, lanes, &p)) continue;
        size_t need;
        if (lanes) need = tn_conv_lanes_workspace(&p);
        else if (tn_conv_direct_choose(&p).cost <= tn_conv_gather_cost(&p))
            need = tn_conv_direct_workspace(&p);
        else need = tn_conv_gather_workspace(&p);
        if (need > size) size = need;
    }
    return round_up(size);
}

size_t tn_conv_workspace(const tn_conv *c, const tn_thread_pool *pool)
{
    if (is_empty(c)) return 0;
    size_t threads = (size_t)tn_thread_pool_size(pool), copy;
    tn_gemm product;
    if (is_product(c, &product)) return tn_gemm_workspace(&product, pool);
    if (tn_conv_is_lanes(c)) return part_bytes(c, true) * threads;
    if (tn_conv_is_expanded(c)) return tn_conv_expand_workspace(c, (int)threads);
    tn_conv arranged;
    size_t parts = groups_are_parallel(c) ? threads : 1, lines = 0, other;
    if (tn_conv_is_lines(c))
        lines = round_up(tn_conv_lines_workspace(c, parts > 1 ? 1 : (int)threads)) * parts;
    if (tn_conv_arrange(c, &arranged, &copy))
        other = round_up(copy) + part_bytes(&arranged, false) * parts;
    else other = part_bytes(c, false) * parts;
    return other > lines ? other : lines;
}

typedef struct {
    const tn_conv *c;
    const char *in, *kernel;
    char *out;
    tn_work_parts *parts;
    bool lines;
} job;

/* --- without working memory: one sum after the other --- */

static void naive_rows(const tn_conv_part *p, const char *in, const char *kernel, char *out,
                       int64_t i)
{
    int64_t q_of_edge[TN_CONV_MAX_SPATIAL] = {0}, start = p->in_start, rest = i,
            n = tn_conv_term_count(p);
    tn_gemm_store *store = tn_gemm_store_for(p->kind, p->c->type);
    char *row = out + tn_conv_out_offset(p, i);
    for (int r = p->n_rows - 1; r >= 0; r--) {
        int64_t q = rest % p->rows[r].size;
        rest /= p->rows[r].size;
        start += q * p->rows[r].in;
        if (p->rows[r].edge >= 0) q_of_edge[p->rows[r].edge] = q;
    }
    for (int64_t j = 0; j < p->columns; j++) {
        char sum[16] = {0};
        for (int64_t k = 0; k < n; k++) {
            int64_t x = start, y = p->kernel_start + j * p->kernel_column, left = k;
            bool inside = true;
            for (int t = p->n_terms - 1; t >= 0; t--) {
                const tn_conv_terms *terms = &p->terms[t];
                int64_t at = left % terms->size, begin = 0, end = terms->size;
                left /= terms->size;
                if (terms->edge >= 0)
                    tn_conv_term_range(&p->edges[terms->edge], terms, q_of_edge[terms->edge],
                                       &begin, &end);
                inside &= at >= begin && at < end;
                x += at * terms->in, y += at * terms->kernel;
            }
            if (inside) tn_gemm_multiply_add(p->kind, in + x, kernel + y, sum);
        }
        store(row + j * p->out_column, p->e, sum, 1, false);
    }
}

void tn_conv_zero_rows(const tn_conv_part *p, char *out)
{
    static const char zeros[64 * 16];
    tn_gemm_store *store = tn_gemm_store_for(p->kind, p->c->type);
    for (int64_t i = 0, n = tn_conv_row_count(p); i < n; i++) {
        char *row = out + tn_conv_out_offset(p, i);
        for (int64_t j = 0; j < p->columns; j += 64)
            store(row + j * p->out_column, p->out_column, zeros,
                  p->columns - j < 64 ? p->columns - j : 64, false);
    }
}

/* --- running --- */

static void run_group(const job *j, int64_t group, tn_thread_pool *pool, char *workspace)
{
    const tn_conv *c = j->c;
    int64_t e = tn_element_type_bytes(c->type), n = tn_conv_phases(c);
    const char *in = j->in + group * c->in_group * e,
               *kernel = j->kernel + group * c->kernel_group * e;
    char *out = j->out + group * c->out_group * e;
    if (j->lines) {
        tn_conv_lines_run(c, in, kernel, out, pool, workspace);
        return;
    }
    for (int64_t phase = 0; phase < n; phase++) {
        tn_conv_part p;
        if (!tn_conv_part_make(c, phase, false, &p)) {
            tn_conv_zero_rows(&p, out);
            continue;
        }
        if (!workspace) {
            for (int64_t i = 0, rows = tn_conv_row_count(&p); i < rows; i++)
                naive_rows(&p, in, kernel, out, i);
            continue;
        }
        tn_conv_direct_plan plan = tn_conv_direct_choose(&p);
        if (plan.cost <= tn_conv_gather_cost(&p))
            tn_conv_direct_run(&p, &plan, in, kernel, out, pool, workspace);
        else tn_conv_gather_run(&p, in, kernel, out, pool, workspace);
    }
}

static void run_lanes(const job *j, tn_thread_pool *pool, char *workspace)
{
    for (int64_t phase = 0, n = tn_conv_phases(j->c); phase < n; phase++) {
        tn_conv_part p;
        if (tn_conv_part_make(j->c, phase, true, &p))
            tn_conv_lanes_run(&p, j->in, j->kernel, j->out, pool, workspace);
        else tn_conv_zero_rows(&p, j->out);
    }
}

static void some_groups(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    char *workspace;
    int part = tn_work_parts_take(j->parts, &workspace);
    for (int64_t g = begin; g < end; g++) run_group(j, g, NULL, workspace);
    tn_work_parts_free(j->parts, part);
}

void tn_conv_run(const tn_conv *c, const void *in, const void *kernel, void *out,
                 tn_thread_pool *pool, void *workspace)
{
    if (is_empty(c)) return;
    tn_gemm product;
    if (is_product(c, &product)) {
        tn_gemm_run(&product, in, kernel, out, pool, workspace);
        return;
    }
    job j = {.c = c, .in = in, .kernel = kernel, .out = out};
    if (workspace && tn_conv_is_lanes(c)) {
        run_lanes(&j, pool, workspace);
        return;
    }
    if (workspace && tn_conv_is_expanded(c)) {
        tn_conv_expand_run(c, in, kernel, out, pool, workspace);
        return;
    }
    tn_conv arranged;
    size_t copy;
    j.lines = workspace && tn_conv_is_lines(c) && tn_conv_lines_allow(c, kernel);
    if (workspace && !j.lines && tn_conv_arrange(c, &arranged, &copy)) {
        tn_conv_arrange_run(c, &arranged, in, workspace, pool);
        j.c = &arranged, j.in = workspace;
        workspace = (char *)workspace + round_up(copy);
    }
    if (!groups_are_parallel(c)) {
        for (int64_t g = 0; g < c->groups; g++) run_group(&j, g, pool, workspace);
        return;
    }
    tn_work_parts parts;
    j.parts = &parts;
    size_t size = j.lines ? round_up(tn_conv_lines_workspace(c, 1)) : part_bytes(j.c, false);
    tn_work_parts_init(&parts, workspace, size, tn_thread_pool_size(pool));
    tn_gemm_kind kind = tn_gemm_kind_for(c->type, c->type, c->type);
    double cost = tn_gemm_cost_ns(kind, &tn_gemm_table_get()->kinds[kind], products(c)) + 1000;
    tn_parallel_for(pool, c->groups, cost, some_groups, &j);
}
