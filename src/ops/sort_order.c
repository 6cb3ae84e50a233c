/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/sort_order.h"

#include <string.h>

#define TILE TN_BODY_TILE

/* Elements of one tile while they look for their places in the run beside theirs. */
typedef struct {
    int64_t low[TILE], high[TILE], other[TILE]; /* bounds of the search, start of the other run */
    uint32_t mine[TILE], theirs[TILE];          /* indices of the elements compared */
    bool left[TILE], less[TILE];
} search;

static size_t up(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

size_t tn_sort_order_scratch(const tn_comparator *c, int64_t n)
{
    size_t bytes =
        up((size_t)n * sizeof(uint32_t)) + up(sizeof(search)) + up(tn_body_scratch(c->body));
    bytes += up(2 * c->n_operands * sizeof(void *));
    for (uint32_t k = 0; k < c->n_operands; k++) bytes += 2 * up(TILE * c->widths[k]);
    return bytes;
}

static void *take(char **at, size_t bytes)
{
    void *p = *at;
    *at += up(bytes);
    return p;
}

static void pick(const void *line, size_t width, int64_t n, const uint32_t *index, void *out)
{
#define PICK(T)                                                                                    \
    do {                                                                                           \
        for (int64_t i = 0; i < n; i++) ((T *)out)[i] = ((const T *)line)[index[i]];               \
        return;                                                                                    \
    } while (0)
    switch (width) {
    case 1: PICK(uint8_t);
    case 2: PICK(uint16_t);
    case 4: PICK(uint32_t);
    case 8: PICK(uint64_t);
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)out + (size_t)i * width, (const char *)line + index[i] * width, width);
    }
#undef PICK
}

typedef struct {
    const tn_comparator *c;
    const void *const *lines;
    search *s;
    const void **args; /* [2 * n_operands] tiles */
    void *body_scratch;
} state;

/* less[i] = first[i] < second[i] */
static tn_status *compare(state *st, int64_t n, const uint32_t *first, const uint32_t *second)
{
    for (uint32_t k = 0; k < st->c->n_operands; k++) {
        pick(st->lines[k], st->c->widths[k], n, first, (void *)st->args[2 * k]);
        pick(st->lines[k], st->c->widths[k], n, second, (void *)st->args[2 * k + 1]);
    }
    void *results[] = {st->s->less};
    return tn_body_run(st->c->body, st->c->ctx, (size_t)n, st->args, results, st->c->captures,
                       st->body_scratch);
}

/* Where elements [begin, begin + n) of `from` belong when runs of `width` are merged in pairs. */
static tn_status *rank(state *st, const uint32_t *from, int64_t total, int64_t width, int64_t begin,
                       int64_t n)
{
    search *s = st->s;
    for (int64_t i = 0; i < n; i++) {
        int64_t p = begin + i, pair = p / (2 * width) * (2 * width);
        int64_t middle = pair + width < total ? pair + width : total;
        int64_t end = pair + 2 * width < total ? pair + 2 * width : total;
        s->left[i] = p < middle;
        s->other[i] = s->left[i] ? middle : pair;
        s->low[i] = 0;
        s->high[i] = s->left[i] ? end - middle : middle - pair;
    }
    for (int64_t span = width; span > 0; span >>= 1) {
        uint32_t first[TILE], second[TILE];
        for (int64_t i = 0; i < n; i++) {
            int64_t mid = s->low[i] + (s->high[i] - s->low[i]) / 2;
            uint32_t mine = from[begin + i];
            uint32_t theirs = s->low[i] < s->high[i] ? from[s->other[i] + mid] : mine;
            /* On the left: how many on the right are less than me. On the right: how many on the
             * left I am not less than. */
            first[i] = s->left[i] ? theirs : mine;
            second[i] = s->left[i] ? mine : theirs;
        }
        TN_TRY(compare(st, n, first, second));
        for (int64_t i = 0; i < n; i++) {
            if (s->low[i] >= s->high[i]) continue;
            int64_t mid = s->low[i] + (s->high[i] - s->low[i]) / 2;
            if (s->left[i] == s->less[i]) s->low[i] = mid + 1;
            else s->high[i] = mid;
        }
    }
    return NULL;
}

/* One pass of merges from `from` to `to`. */
static tn_status *merge(state *st, const uint32_t *from, uint32_t *to, int64_t total, int64_t width)
{
    const uint32_t nothing = UINT32_MAX;
    for (int64_t i = 0; i < total; i++) to[i] = nothing;
    for (int64_t begin = 0; begin < total; begin += TILE) {
        int64_t n = total - begin < TILE ? total - begin : TILE;
        TN_TRY(rank(st, from, total, width, begin, n));
        for (int64_t i = 0; i < n; i++) {
            int64_t p = begin + i, pair = p / (2 * width) * (2 * width);
            int64_t in_run = st->s->left[i] ? p - pair : p - pair - width;
            to[pair + in_run + st->s->low[i]] = from[p];
        }
    }
    /* Two elements at one place mean that the comparator is no order: then any permutation will do.
     */
    for (int64_t i = 0; i < total; i++)
        if (to[i] == nothing) {
            memcpy(to, from, (size_t)total * sizeof *to);
            break;
        }
    return NULL;
}

tn_status *tn_sort_order(const tn_comparator *c, int64_t n, const void *const *lines,
                         uint32_t *order, void *scratch)
{
    char *at = scratch;
    uint32_t *spare = take(&at, (size_t)n * sizeof *spare);
    state st = {.c = c, .lines = lines, .s = take(&at, sizeof(search))};
    st.body_scratch = take(&at, tn_body_scratch(c->body));
    st.args = take(&at, 2 * c->n_operands * sizeof *st.args);
    for (uint32_t k = 0; k < 2 * c->n_operands; k++)
        st.args[k] = take(&at, TILE * c->widths[k / 2]);
    for (int64_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    uint32_t *from = order, *to = spare;
    for (int64_t width = 1; width < n; width *= 2) {
        TN_TRY(merge(&st, from, to, n, width));
        uint32_t *t = from;
        from = to;
        to = t;
    }
    if (from != order) memcpy(order, from, (size_t)n * sizeof *order);
    return NULL;
}
