/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv_part.h"

#include "kernels/int_math.h"

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* Outputs o and o + period use the same taps. */
static int64_t period(const tn_conv_axis *a)
{
    return a->in_dilation / gcd(a->in_dilation, a->stride);
}

static int64_t axis_phases(const tn_conv_axis *a)
{
    return tn_least(period(a), a->out_size);
}

int64_t tn_conv_phases(const tn_conv *c)
{
    int64_t n = c->groups > 0 && c->batch > 0 && c->out_features > 0;
    for (int d = 0; d < c->rank; d++) n *= axis_phases(&c->axes[d]);
    return n;
}

typedef struct {
    tn_conv_rows rows;
    tn_conv_terms terms;
    tn_conv_edge edge;
    int64_t in_start, kernel_start, out_start;
    bool inside; /* no window leaves the input; known only if there are taps */
} axis_part;

/* Outputs phase, phase + period, ... of one axis. False: no tap is ever used. */
static bool make_axis(const tn_conv_axis *a, int64_t phase, int64_t e, axis_part *out)
{
    int64_t dilation = a->in_dilation, p = period(a), first = 0;
    int64_t tap_step = dilation / gcd(dilation, a->kernel_dilation);
    int64_t at = phase * a->stride - a->pad_low;
    while (first < tn_least(tap_step, a->kernel_size) &&
           (at + first * a->kernel_dilation) % dilation)
        first++;
    int64_t count = tn_ceil_div(a->out_size - phase, p);
    int64_t taps = first < tap_step ? tn_ceil_div(a->kernel_size - first, tap_step) : 0;

    tn_conv_edge *edge = &out->edge;
    edge->step = p * a->stride / dilation;
    edge->term_step = tap_step * a->kernel_dilation / dilation;
    edge->shift = (at + first * a->kernel_dilation) / dilation;
    edge->size = a->in_size;
    int64_t tap = a->reversed ? a->kernel_size - 1 - first : first;
    int64_t kernel_step = (a->reversed ? -tap_step : tap_step) * a->kernel_stride * e;
    out->rows = (tn_conv_rows){count, edge->step * a->in_stride * e, p * a->out_stride * e, 0};
    out->terms = (tn_conv_terms){taps, edge->term_step * a->in_stride * e, kernel_step, 1, 0};
    out->in_start = edge->shift * a->in_stride * e;
    out->kernel_start = tap * a->kernel_stride * e;
    out->out_start = phase * a->out_stride * e;
    if (taps <= 0) return false;
    int64_t last = edge->shift + (count - 1) * edge->step + (taps - 1) * edge->term_step;
    out->inside = edge->shift >= 0 && last < edge->size;
    return true;
}

/* Appends a loop of rows inside of those before it. */
static void push_rows(tn_conv_part *p, tn_conv_rows next)
{
    if (next.size == 1 && next.edge < 0) return;
    tn_conv_rows *last = &p->rows[p->n_rows ? p->n_rows - 1 : 0];
    if (p->n_rows && last->edge < 0 && next.edge < 0 && last->in == next.in * next.size &&
        last->out == next.out * next.size)
        *last = (tn_conv_rows){last->size * next.size, next.in, next.out, -1};
    else p->rows[p->n_rows++] = next;
}

/* The same for terms. A loop with an edge takes in a whole loop inside of it. */
static void push_terms(tn_conv_part *p, tn_conv_terms next)
{
    if (next.size == 1 && next.edge < 0) return;
    tn_conv_terms *last = &p->terms[p->n_terms ? p->n_terms - 1 : 0];
    if (p->n_terms && next.edge < 0 && last->in == next.in * next.size &&
        last->kernel == next.kernel * next.size)
        *last = (tn_conv_terms){last->size * next.size, next.in, next.kernel,
                                last->unit * next.size, last->edge};
    else p->terms[p->n_terms++] = next;
}

static void swap_rows(tn_conv_rows *x, tn_conv_rows *y)
{
    tn_conv_rows r = *x;
    *x = *y;
    *y = r;
}

/* Larger steps in the result outside, so that neighbours in memory are neighbours here. */
static void sort_rows(tn_conv_rows *rows, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && rows[j - 1].out < rows[j].out; j--)
            swap_rows(&rows[j - 1], &rows[j]);
}

bool tn_conv_part_make(const tn_conv *c, int64_t phase, bool by_group, tn_conv_part *p)
{
    tn_conv_rows rows[TN_CONV_MAX_LOOPS];
    tn_conv_terms terms[TN_CONV_MAX_LOOPS];
    int64_t e = tn_element_type_bytes(c->type);
    bool any = c->in_features > 0;
    *p = (tn_conv_part){.c = c,
                        .kind = tn_gemm_kind_for(c->type, c->type, c->type),
                        .table = tn_gemm_table_get(),
                        .e = e};
    if (by_group) {
        p->columns = c->groups;
        p->in_column = c->in_group * e, p->kernel_column = c->kernel_group * e,
        p->out_column = c->out_group * e;
    } else {
        p->columns = c->out_features;
        p->kernel_column = c->kernel_out_feature * e, p->out_column = c->out_feature * e;
    }
    rows[0] = (tn_conv_rows){c->batch, c->in_batch * e, c->out_batch * e, -1};
    for (int d = c->rank - 1; d >= 0; d--) {
        axis_part a;
        int64_t n = axis_phases(&c->axes[d]);
        if (!make_axis(&c->axes[d], phase % n, e, &a)) any = false;
        phase /= n;
        p->in_start += a.in_start, p->kernel_start += a.kernel_start, p->out_start += a.out_start;
        a.rows.edge = a.terms.edge = any && a.inside ? -1 : p->n_edges;
        if (a.rows.edge >= 0) p->edges[p->n_edges++] = a.edge;
        rows[1 + d] = a.rows;
        terms[d] = a.terms;
    }
    terms[c->rank] =
        (tn_conv_terms){c->in_features, c->in_feature * e, c->kernel_in_feature * e, 1, -1};
    sort_rows(rows, c->rank + 1);
    for (int i = 0; i <= c->rank; i++) push_rows(p, rows[i]);
    if (!any) return false;
    for (int i = 0; i <= c->rank; i++) push_terms(p, terms[i]);
    if (!p->n_rows) p->rows[p->n_rows++] = (tn_conv_rows){1, 0, 0, -1};
    if (!p->n_terms) p->terms[p->n_terms++] = (tn_conv_terms){1, 0, 0, 1, -1};
    return true;
}

int64_t tn_conv_row_count(const tn_conv_part *p)
{
    int64_t n = 1;
    for (int i = 0; i < p->n_rows; i++) n *= p->rows[i].size;
    return n;
}

int64_t tn_conv_term_count(const tn_conv_part *p)
{
    int64_t n = 1;
    for (int i = 0; i < p->n_terms; i++) n *= p->terms[i].size;
    return n;
}

void tn_conv_term_range(const tn_conv_edge *e, const tn_conv_terms *t, int64_t q, int64_t *begin,
                        int64_t *end)
{
    int64_t at = e->shift + q * e->step, taps = t->unit == 1 ? t->size : t->size / t->unit;
    if (at >= 0 && at + (taps - 1) * e->term_step < e->size) {
        *begin = 0, *end = t->size;
        return;
    }
    int64_t low = at < 0 ? tn_ceil_div(-at, e->term_step) : 0;
    int64_t high = at < e->size ? tn_ceil_div(e->size - at, e->term_step) : 0;
    *begin = tn_least(low, taps) * t->unit;
    *end = tn_most(*begin, tn_least(high, taps) * t->unit);
}

void tn_conv_inner_rows(const tn_conv_part *p, const tn_conv_rows *r, const tn_conv_terms *t,
                        int64_t *low, int64_t *high)
{
    const tn_conv_edge *e = &p->edges[r->edge];
    int64_t reach = (t->size / t->unit - 1) * e->term_step, room = e->size - e->shift - reach;
    *low = tn_least(r->size, e->shift < 0 ? tn_ceil_div(-e->shift, e->step) : 0);
    *high = tn_most(*low, tn_least(r->size, room > 0 ? tn_ceil_div(room, e->step) : 0));
}

void tn_conv_pack_terms(const tn_conv_part *p, char *dst, int64_t pitch, const char *src,
                        int64_t src_row, int64_t rows, int64_t cols)
{
    const tn_gemm_loops *loops = &p->table->kinds[p->kind];
    bool transposed = src_row == p->e && p->kernel_column != p->e && (p->e == 4 || p->e == 8);
    if (transposed && p->e == 4) {
        p->table->transpose4(dst, pitch, src, p->kernel_column, cols, rows);
    } else if (transposed) {
        p->table->transpose8(dst, pitch, src, p->kernel_column, cols, rows);
    } else if (p->kernel_column == p->e && cols % loops->vl == 0 && cols <= 2 * loops->vl &&
               cols * p->e == pitch && !tn_gemm_is_complex(p->kind)) {
        p->table->copy_panel(dst, src, src_row, rows, cols / loops->vl);
    } else {
        tn_gemm_load *load = tn_gemm_load_for(p->kind, p->c->type);
        for (int64_t k = 0; k < rows; k++, dst += pitch, src += src_row)
            load(dst, src, p->kernel_column, cols);
    }
}
