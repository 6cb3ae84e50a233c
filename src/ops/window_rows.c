/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/window_rows.h"

#include "base/thread_pool.h"
#include "kernels/window_rows.h"
#include "ops/access.h"
#include "ops/strided.h"

enum { TAPS = 256, RANK = 8, ENOUGH = 8, WIDE = 64, EDGES = 4 };

typedef struct {
    int64_t n; /* 0: not found beforehand */
    int64_t at[TAPS];
} tap_list;

/* Dimensions behind `dim` have windows of one element each. Either these elements lie side by side
 * in vectors, and windows follow each other along `dim`; or windows that follow each other do. */
typedef struct {
    const tn_window_fold *f;
    tn_window_rows_fn *run;
    uint32_t dim;
    int64_t inner; /* elements behind `dim` */
    bool along;    /* vectors are along `dim` */
    int64_t steps[RANK], rows, n_taps;
    int64_t low, high; /* windows [low, high) along `dim` are inside */
    int64_t nothing;   /* from the operand to a row of initial values, in elements */
    /* Of rows that are inside along the other dimensions, from where they begin: of windows
     * [low, high), and of each of the few others. */
    tap_list middle, edges[EDGES];
} job;

/* Where the elements of the window lie that begins at `at`, from the first element of the operand;
 * how many. Places outside of it are in `nothing`, or left out where padding doesn't count. */
static int64_t find_taps(const job *j, const int64_t *at, int64_t *taps)
{
    const tn_window_fold *f = j->f;
    const int64_t *dims = f->operand->type->dims;
    int64_t k[RANK] = {0}, n = 0, base = 0;
    /* Dimensions along which the window has more than one element, and the last. */
    uint32_t wide[RANK], n_wide = 0;
    bool all_inside = true;
    for (uint32_t d = 0; d <= j->dim; d++) {
        if (f->dims[d].size > 1 || d == j->dim) {
            wide[n_wide++] = d;
            continue;
        }
        base += at[d] * j->steps[d];
        all_inside = all_inside && at[d] >= 0 && at[d] < dims[d];
    }
    for (;;) {
        int64_t place = base, x = 0;
        bool inside = all_inside;
        for (uint32_t i = 0; i < n_wide; i++) {
            uint32_t d = wide[i];
            x = at[d] + k[i] * f->dims[d].dilation;
            inside = inside && x >= 0 && x < dims[d];
            place += x * j->steps[d];
        }
        if (inside) taps[n++] = place;
        else if (f->padding_counts)
            taps[n++] = j->nothing + (x >= 0 && x < dims[j->dim] ? x * j->inner : 0);
        uint32_t i = n_wide;
        while (i && ++k[i - 1] == f->dims[wide[i - 1]].size) k[--i] = 0;
        if (!i) return n;
    }
}

static const tap_list *list_of(const job *j, int64_t p)
{
    if (p >= j->low && p < j->high) return &j->middle;
    int64_t edge = p < j->low ? p : j->low + p - j->high;
    return edge < EDGES && !j->f->padding_counts ? &j->edges[edge] : NULL;
}

static void find_lists(job *j)
{
    const tn_window_fold *f = j->f;
    for (uint32_t d = 0; d < j->dim; d++)
        if ((f->dims[d].size - 1) * f->dims[d].dilation >= f->operand->type->dims[d]) return;
    int64_t n = f->result->type->dims[j->dim], at[RANK] = {0};
    for (int64_t p = 0; p < n; p++) {
        if (p > j->low && p < j->high) p = j->high;
        tap_list *list = p < n ? (tap_list *)list_of(j, p) : NULL;
        if (!list) return;
        at[j->dim] = p * f->dims[j->dim].stride - f->dims[j->dim].low;
        list->n = find_taps(j, at, list->at);
    }
}

static void run_row(const job *j, int64_t row)
{
    const tn_window_fold *f = j->f;
    const int64_t *shape = f->result->type->dims;
    int64_t at[RANK], taps[TAPS], n = shape[j->dim], stride = f->dims[j->dim].stride;
    int64_t w = tn_width(f->operand->type), rest = row;
    int64_t begin = 0;
    bool is_inside = true;
    for (uint32_t d = j->dim; d-- > 0; rest /= shape[d]) {
        const tn_window_dim *v = &f->dims[d];
        at[d] = rest % shape[d] * v->stride - v->low;
        is_inside = is_inside && at[d] >= 0 &&
                    at[d] + (v->size - 1) * v->dilation < f->operand->type->dims[d];
        begin += at[d] * j->steps[d];
    }
    char *y = (char *)f->result->data + row * n * j->inner * w;
    tn_window_rows r = {.init = f->init->data, .lane_step = 1};
    for (int64_t p = 0; p < n;) {
        bool many = p >= j->low && p < j->high;
        int64_t windows = many ? j->high - p : 1;
        at[j->dim] = p * stride - f->dims[j->dim].low;
        r.y = y + p * j->inner * w;
        const tap_list *list = is_inside ? list_of(j, p) : NULL;
        if (list && list->n) {
            r.x = (const char *)f->operand->data + begin * w;
            r.taps = list->at;
            r.n_taps = list->n;
        } else {
            r.x = f->operand->data;
            r.taps = taps;
            r.n_taps = find_taps(j, at, taps);
        }
        r.positions = many && !j->along ? windows : 1;
        r.x_step = stride * j->inner;
        r.lanes = many && j->along ? windows * j->inner : j->inner;
        r.lane_step = many && j->along ? stride : 1;
        j->run(&r);
        p += windows;
    }
}

static void run_rows(void *ctx, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++) run_row(ctx, row);
}

bool tn_window_fold_rows(const tn_window_fold *f)
{
    const tn_combiner *c = f->combiner;
    const tn_combiner_part *p = &c->parts[0];
    const tn_type *t = f->operand->type;
    const int64_t *shape = f->result->type->dims;
    job j = {.f = f, .inner = 1, .rows = 1, .n_taps = 1};
    if (!c->by_kernel || c->n != 1 || p->from != p->acc || p->acc != p->to) return false;
    j.run = tn_window_rows_find(tn_cpu_isa(), c->kernel_op, p->acc);
    if (!j.run || !t->rank || t->rank > RANK || tn_is_empty(t)) return false;
    for (uint32_t d = 0; d < t->rank; d++) {
        const tn_window_dim *w = &f->dims[d];
        if (w->base_dilation != 1 || w->size > TAPS || w->dilation > INT32_MAX) return false;
        if (w->low < INT32_MIN || w->low > INT32_MAX) return false;
        j.n_taps *= w->size;
        if (j.n_taps > TAPS) return false;
        if (w->size > 1 || w->stride > 1 || w->low || w->high) j.dim = d;
        j.steps[d] = tn_step(t, d);
    }
    j.inner = j.steps[j.dim];
    for (uint32_t d = 0; d < j.dim; d++) j.rows *= shape[d];
    const tn_window_dim *w = &f->dims[j.dim];
    int64_t n = shape[j.dim], reach = t->dims[j.dim] - (w->size - 1) * w->dilation - 1 + w->low;
    j.along = w->stride == 1 ? j.inner < WIDE : j.inner == 1;
    if (!j.along && j.inner < ENOUGH) return false;
    j.low = w->low > 0 ? (w->low + w->stride - 1) / w->stride : 0;
    j.high = reach < 0 ? 0 : reach / w->stride + 1;
    if (j.high > n) j.high = n;
    if (f->padding_counts) {
        int64_t elements = t->dims[j.dim] * j.inner, width = tn_width(t);
        char *nothing = tn_scratch_alloc(f->ctx->scratch, (size_t)(elements * width));
        intptr_t apart = nothing - (const char *)f->operand->data;
        if (!nothing || apart % width) return false;
        tn_fill(f->ctx->pool, nothing, f->init->data, (size_t)width, elements);
        j.nothing = apart / width;
    }
    find_lists(&j);
    double each = 20 + (double)j.n_taps * (5 + 0.02 * (double)(n * j.inner * tn_width(t)));
    tn_parallel_for(f->ctx->pool, j.rows, each, run_rows, &j);
    return true;
}
