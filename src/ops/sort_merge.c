/* SPDX-License-Identifier: Apache-2.0 */
/* Any comparator: merge sort, bottom up, in which many merges go forward side by side, each by one
 * comparison a turn. Where few merges are left, each is cut into pieces of equal length by
 * searching for the elements that meet there, as many searches side by side. */
#include "base/thread_pool.h"
#include "ops/access.h"
#include "ops/piece_memory.h"
#include "ops/sort.h"

enum {
    BATCH = TN_BODY_TILE, /* comparisons in one turn */
    ENOUGH = 256,         /* merges side by side that are worth no further cutting */
    SHORTEST = 32,        /* elements of a piece of a merge */
    GROUP = 1 << 16,      /* elements that one thread sorts at a time */
};

/* Left is src[i, i_end), right src[j, j_end), the result goes to dst[i + j - ...] = dst[o...). */
typedef struct {
    int64_t i, i_end, j, j_end, o;
} merge;

typedef struct {
    const tn_sort *s;
    const bool *used; /* [n]: does the comparator read it? */
    tn_piece_memory memory;
    _Atomic(tn_status *) failure;
} job;

typedef struct {
    job *j;
    int64_t lines;      /* of this group */
    int64_t *src, *dst; /* [lines * size]: offsets of elements in their tensors */
    merge *merges;
    int64_t n_merges, most_merges;
    int64_t *left, *right; /* [BATCH] offsets to compare */
    bool *before;          /* [BATCH]: is right before left? */
    char **values;         /* [2 n][BATCH] elements */
    const void **args;     /* [2 n] */
    void *scratch;
} group;

#define COLLECT(T)                                                                                 \
    for (int64_t k = 0; k < n; k++) ((T *)to)[k] = ((const T *)from)[at[k]]

static void collect(int64_t width, const void *from, const int64_t *at, int64_t n, void *to)
{
    switch (width) {
    case 1: COLLECT(uint8_t); return;
    case 2: COLLECT(uint16_t); return;
    case 4: COLLECT(uint32_t); return;
    case 8: COLLECT(uint64_t); return;
    default:
        for (int64_t k = 0; k < n; k++)
            memcpy((char *)to + 16 * k, (const char *)from + 16 * at[k], 16);
    }
}

static tn_status *compare(group *g, int64_t n)
{
    const tn_sort *s = g->j->s;
    for (uint32_t i = 0; i < s->n; i++) {
        if (!g->j->used[i]) continue;
        int64_t w = tn_width(s->inputs[i].type);
        collect(w, s->inputs[i].data, g->right, n, g->values[2 * i]);
        collect(w, s->inputs[i].data, g->left, n, g->values[2 * i + 1]);
    }
    for (uint32_t i = 0; i < 2 * s->n; i++) g->args[i] = g->values[i];
    void *result = g->before;
    return tn_body_run(s->body, s->ctx, (size_t)n, g->args, &result, s->captures, g->scratch);
}

/* --- merging --- */

static tn_status *run_merges(group *g)
{
    merge *waiting = g->merges, *end = g->merges + g->n_merges;
    while (waiting < end) {
        int64_t n = end - waiting < BATCH ? end - waiting : BATCH;
        merge *m = waiting;
        waiting += n;
        while (n) {
            for (int64_t k = 0; k < n; k++) {
                g->left[k] = g->src[m[k].i];
                g->right[k] = g->src[m[k].j];
            }
            TN_TRY(compare(g, n));
            int64_t kept = 0;
            for (int64_t k = 0; k < n; k++) {
                merge at = m[k];
                g->dst[at.o++] = g->before[k] ? g->right[k] : g->left[k];
                at.j += g->before[k];
                at.i += !g->before[k];
                if (at.i < at.i_end && at.j < at.j_end) {
                    m[kept++] = at;
                    continue;
                }
                for (; at.i < at.i_end; at.i++) g->dst[at.o++] = g->src[at.i];
                for (; at.j < at.j_end; at.j++) g->dst[at.o++] = g->src[at.j];
            }
            n = kept;
        }
    }
    return NULL;
}

static void add_merge(group *g, merge m)
{
    if (m.i < m.i_end && m.j < m.j_end) {
        g->merges[g->n_merges++] = m;
        return;
    }
    for (; m.i < m.i_end; m.i++) g->dst[m.o++] = g->src[m.i];
    for (; m.j < m.j_end; m.j++) g->dst[m.o++] = g->src[m.j];
}

/* Cuts `m` into `pieces`: finds, for each place k * length in the result, how many elements before
 * it come from the left. */
static tn_status *cut_merge(group *g, const merge *m, int64_t pieces)
{
    int64_t left = m->i_end - m->i, right = m->j_end - m->j;
    int64_t low[ENOUGH], high[ENOUGH], which[ENOUGH];
    for (int64_t k = 1; k < pieces; k++) {
        int64_t p = (left + right) * k / pieces;
        low[k] = p > right ? p - right : 0;
        high[k] = p < left ? p : left;
    }
    for (;;) {
        int64_t n = 0;
        for (int64_t k = 1; k < pieces; k++) {
            if (low[k] >= high[k]) continue;
            int64_t p = (left + right) * k / pieces, middle = (low[k] + high[k]) / 2;
            g->left[n] = g->src[m->i + middle];
            g->right[n] = g->src[m->j + p - middle - 1];
            which[n++] = k;
        }
        if (!n) break;
        TN_TRY(compare(g, n));
        for (int64_t q = 0; q < n; q++) {
            int64_t k = which[q], middle = (low[k] + high[k]) / 2;
            if (g->before[q]) high[k] = middle;
            else low[k] = middle + 1;
        }
    }
    merge piece = {m->i, m->i, m->j, m->j, m->o};
    for (int64_t k = 1; k <= pieces; k++) {
        int64_t p = (left + right) * k / pieces, length = p - (piece.i + piece.j - m->i - m->j);
        int64_t i = k < pieces ? m->i + low[k] : m->i_end;
        /* A comparator that is no order may give cuts that aren't in order either. */
        i = tn_clamp_index(i, piece.i, piece.i + length);
        i = tn_clamp_index(i, piece.i + length - (m->j_end - piece.j), m->i_end);
        piece.i_end = i;
        piece.j_end = piece.j + length - (i - piece.i);
        add_merge(g, piece);
        piece.o += length;
        piece.i = piece.i_end;
        piece.j = piece.j_end;
    }
    return NULL;
}

static tn_status *merge_level(group *g, int64_t width)
{
    int64_t size = g->j->s->size;
    int64_t pairs = g->lines * ((size + 2 * width - 1) / (2 * width));
    int64_t pieces = ENOUGH / pairs, longest = 2 * width < size ? 2 * width : size;
    if (pieces > longest / SHORTEST) pieces = longest / SHORTEST;
    g->n_merges = 0;
    for (int64_t line = 0; line < g->lines; line++) {
        for (int64_t at = 0; at < size; at += 2 * width) {
            int64_t first = line * size + at, middle = at + width < size ? width : size - at;
            int64_t last = at + 2 * width < size ? 2 * width : size - at;
            merge m = {first, first + middle, first + middle, first + last, first};
            if (pieces > 1) TN_TRY(cut_merge(g, &m, pieces));
            else add_merge(g, m);
        }
    }
    TN_TRY(run_merges(g));
    int64_t *sorted = g->dst;
    g->dst = g->src;
    g->src = sorted;
    return NULL;
}

static tn_status *sort_group(group *g, int64_t first)
{
    const tn_sort *s = g->j->s;
    for (int64_t line = 0; line < g->lines; line++) {
        int64_t at = tn_sort_line(s, first + line);
        for (int64_t k = 0; k < s->size; k++) g->src[line * s->size + k] = at + k * s->step;
    }
    for (int64_t width = 1; width < s->size; width *= 2) TN_TRY(merge_level(g, width));
    for (int64_t line = 0; line < g->lines; line++)
        tn_sort_place(s, first + line, g->src + line * s->size);
    return NULL;
}

/* --- pieces --- */

static size_t align(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static int64_t lines_at_once(const tn_sort *s)
{
    int64_t lines = GROUP / s->size;
    return lines < 1 ? 1 : lines < s->lines ? lines : s->lines;
}

static size_t merges_at_once(const tn_sort *s)
{
    int64_t lines = lines_at_once(s);
    return (size_t)(lines * s->size / 2 + lines + ENOUGH + 1);
}

static size_t memory_size(const tn_sort *s)
{
    size_t elements = (size_t)(lines_at_once(s) * s->size), n = 2 * (size_t)s->n;
    if (elements > SIZE_MAX / 128) return SIZE_MAX / 2;
    return align(merges_at_once(s) * sizeof(merge)) + 3 * align(BATCH * sizeof(int64_t)) +
           align(2 * n * sizeof(void *)) + n * BATCH * 16 + align(tn_body_scratch(s->body)) +
           2 * align(elements * sizeof(int64_t));
}

static bool take_memory(group *g)
{
    const tn_sort *s = g->j->s;
    size_t elements = (size_t)(lines_at_once(s) * s->size), n = 2 * (size_t)s->n;
    size_t most = merges_at_once(s);
    char *at = tn_piece_memory_take(&g->j->memory);
    if (!at) return false;
    g->merges = (merge *)at;
    at += align(most * sizeof(merge));
    g->left = (int64_t *)at;
    g->right = g->left + BATCH;
    g->before = (bool *)(g->right + BATCH);
    at += 3 * align(BATCH * sizeof(int64_t));
    g->values = (char **)at;
    g->args = (const void **)(g->values + n);
    at += align(2 * n * sizeof(void *));
    for (size_t i = 0; i < n; i++, at += BATCH * 16) g->values[i] = memset(at, 0, BATCH * 16);
    g->scratch = at;
    at += align(tn_body_scratch(s->body));
    g->src = (int64_t *)at;
    g->dst = (int64_t *)(at + align(elements * sizeof(int64_t)));
    return true;
}

static void sort_groups(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn_sort *s = j->s;
    int64_t each = lines_at_once(s);
    group g = {.j = j};
    tn_status *status = NULL;
    if (!take_memory(&g)) status = TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
    for (int64_t k = begin; k < end && !status; k++) {
        g.lines = s->lines - k * each < each ? s->lines - k * each : each;
        status = sort_group(&g, k * each);
    }
    tn_piece_memory_give(&j->memory, g.merges);
    tn_keep_first(&j->failure, status);
}

static void mark_used(const tn_region *r, const tn_region *inside, bool *used)
{
    for (const tn_op *op = inside->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_operands; i++) {
            const tn_value *v = tn_value_resolve(op->operands[i]);
            if (!v->op && v->region == r) used[v->index / 2] = true;
        }
        for (uint32_t i = 0; i < op->n_regions; i++) mark_used(r, &op->regions[i], used);
    }
}

tn_status *tn_sort_by_merging(const tn_sort *s)
{
    bool *used = tn_scratch_alloc(s->ctx->scratch, s->n);
    if (!used) return TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
    memset(used, 0, s->n);
    mark_used(s->comparator, s->comparator, used);
    job j = {.s = s, .used = used};
    tn_piece_memory_begin(&j.memory, s->ctx->scratch, memory_size(s));
    int64_t each = lines_at_once(s);
    double compares = (double)(each * s->size) * (64 - __builtin_clzll((uint64_t)s->size));
    tn_parallel_for(s->ctx->pool, (s->lines + each - 1) / each, compares * 10, sort_groups, &j);
    return atomic_load(&j.failure);
}
