/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/tile.h"
#include "kernels/interleave.h"
#include "kernels/strided_loops.h"

/* Appends a dimension, or lets it be one with the last. */
static bool add_dim(tn_access_map *m, int64_t size, int64_t step)
{
    if (size == 1) return true;
    if (m->n_dims) {
        int64_t *last_size = &m->size[m->n_dims - 1], *last_step = &m->step[m->n_dims - 1];
        if (*last_step == step * size) {
            *last_size *= size;
            *last_step = step;
            return true;
        }
    }
    if (m->n_dims == TN_MAP_DIMS) return false;
    m->size[m->n_dims] = size;
    m->step[m->n_dims++] = step;
    return true;
}

static bool map_broadcast(const tn_op *op, tn_access_map *out)
{
    const tn_type *from = tn_operand_type(op, 0), *to = tn_result_type(op, 0);
    uint32_t n;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_broadcast_dimensions, &n);
    for (uint32_t d = 0; d < to->rank; d++) {
        int64_t step = 0, stride = 1;
        for (uint32_t i = n; i-- > 0; stride *= from->dims[i])
            if (dims[i] == d && from->dims[i] != 1) step = stride;
        if (!add_dim(out, to->dims[d], step)) return false;
    }
    return true;
}

static bool map_slice(const tn_op *op, tn_access_map *out)
{
    const tn_type *from = tn_operand_type(op, 0), *to = tn_result_type(op, 0);
    uint32_t n;
    const int64_t *start = tn_op_ints(op, TN_ATTR_start_indices, &n);
    const int64_t *stride = tn_op_ints(op, TN_ATTR_strides, &n);
    int64_t each = tn_type_elements(from);
    for (uint32_t d = 0; d < to->rank; d++) {
        each /= from->dims[d];
        out->base += start[d] * each;
        if (!add_dim(out, to->dims[d], stride[d] * each)) return false;
    }
    return true;
}

static bool map_reverse(const tn_op *op, tn_access_map *out)
{
    const tn_type *t = tn_result_type(op, 0);
    uint32_t n;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_dimensions, &n);
    int64_t each = tn_type_elements(t);
    for (uint32_t d = 0; d < t->rank; d++) {
        bool turned = false;
        for (uint32_t i = 0; i < n; i++) turned |= dims[i] == d;
        each /= t->dims[d];
        if (turned) out->base += (t->dims[d] - 1) * each;
        if (!add_dim(out, t->dims[d], turned ? -each : each)) return false;
    }
    return true;
}

const tn_value *tn_map_source(const tn_op *op)
{
    const tn_value *v = op->operands[0];
    bool sliced = op->kind == TN_OP_concatenate && v->op && v->op->kind == TN_OP_slice;
    return sliced ? v->op->operands[0] : v;
}

/* Where piece `v` of a concatenate begins in `from` and how far its elements are apart there;
 * false: it is no slice of it, and not all of it. */
static bool piece_along(const tn_value *v, const tn_value *from, uint32_t dim, int64_t *start,
                        int64_t *step)
{
    uint32_t n;
    *start = 0;
    *step = 1;
    if (v == from) return true;
    if (!v->op || v->op->kind != TN_OP_slice || v->op->operands[0] != from) return false;
    *start = tn_op_ints(v->op, TN_ATTR_start_indices, &n)[dim];
    *step = tn_op_ints(v->op, TN_ATTR_strides, &n)[dim];
    return true;
}

/* Is `v` as the first piece, but for where it begins along `dim`? */
static bool is_like(const tn_value *v, const tn_value *first, const tn_value *from, uint32_t dim)
{
    for (uint32_t d = 0; d < from->type->rank; d++) {
        int64_t start, step, first_start, first_step;
        if (!piece_along(v, from, d, &start, &step) ||
            !piece_along(first, from, d, &first_start, &first_step) || step != first_step)
            return false;
        if (d != dim && start != first_start) return false;
    }
    return true;
}

static bool map_concatenate(const tn_op *op, tn_access_map *out)
{
    const tn_value *from = tn_map_source(op), *first = op->operands[0];
    const tn_type *to = tn_result_type(op, 0);
    uint32_t dim = (uint32_t)tn_op_int(op, TN_ATTR_dimension, 0);
    int64_t each = tn_type_elements(from->type), at = 0;
    if (op->n_operands < 2 || op->n_operands > TN_MAP_CUTS + 1 || !each) return false;
    for (uint32_t k = 0; k < op->n_operands; k++)
        if (!is_like(op->operands[k], first, from, dim)) return false;
    out->n_cuts = op->n_operands - 1;
    for (uint32_t d = 0; d < to->rank; d++) {
        int64_t start, step;
        if (!piece_along(first, from, d, &start, &step)) return false;
        each /= from->type->dims[d];
        out->base += start * each;
        if (d < dim) {
            if (!add_dim(out, to->dims[d], step * each)) return false;
            continue;
        }
        uint32_t last = out->n_dims - 1;
        if (d > dim && last == out->cut_dim && out->step[last] == step * each * to->dims[d]) {
            /* Rows of it are next to each other. */
            out->size[last] *= to->dims[d];
            out->step[last] = step * each;
            for (uint32_t k = 0; k < out->n_cuts; k++) out->cut[k] *= to->dims[d];
            continue;
        }
        if (d > dim) {
            if (!add_dim(out, to->dims[d], step * each)) return false;
            continue;
        }
        /* Cuts are in a dimension of their own. */
        if (out->n_dims == TN_MAP_DIMS) return false;
        out->cut_dim = out->n_dims;
        out->size[out->n_dims] = to->dims[d];
        out->step[out->n_dims++] = step * each;
        for (uint32_t k = 0; k < op->n_operands; k++) {
            int64_t begin;
            if (!piece_along(op->operands[k], from, d, &begin, &step)) return false;
            if (k) {
                out->cut[k - 1] = at;
                out->jump[k - 1] = (begin - start - at * step) * each;
            }
            at += op->operands[k]->type->dims[d];
        }
    }
    return true;
}

static bool map_iota(const tn_op *op, tn_access_map *out)
{
    const tn_type *t = tn_result_type(op, 0);
    int64_t along = tn_op_int(op, TN_ATTR_iota_dimension, 0);
    for (uint32_t d = 0; d < t->rank; d++)
        if (!add_dim(out, t->dims[d], d == along)) return false;
    return true;
}

bool tn_map_make(const tn_op *op, tn_access_map *out)
{
    *out = (tn_access_map){0};
    bool fits = op->kind == TN_OP_iota          ? map_iota(op, out)
                : op->kind == TN_OP_slice       ? map_slice(op, out)
                : op->kind == TN_OP_reverse     ? map_reverse(op, out)
                : op->kind == TN_OP_concatenate ? map_concatenate(op, out)
                                                : map_broadcast(op, out);
    if (!fits) return false;
    /* Nothing but repetition is element 0 everywhere. */
    if (out->n_dims == 1 && out->step[0] == 0) out->n_dims = 0;
    return true;
}

#define FILL(T)                                                                                    \
    do {                                                                                           \
        T v_, *to_ = to;                                                                           \
        memcpy(&v_, element, sizeof v_);                                                           \
        for (int64_t i = 0; i < n; i++) to_[i] = v_;                                               \
    } while (0)

typedef struct {
    uint64_t half[2];
} wide;

void tn_tile_fill_with(void *to, const void *element, unsigned bytes, int64_t n)
{
    switch (bytes) {
    case 1: memset(to, *(const uint8_t *)element, (size_t)n); break;
    case 2: FILL(uint16_t); break;
    case 4: FILL(uint32_t); break;
    case 8: FILL(uint64_t); break;
    default: FILL(wide); break;
    }
}

/* `rows` of n elements each, `step` apart, whose beginnings are `row_step` apart; side by side. */
static void load_strided(void *to, const void *from, unsigned bytes, int64_t n, int64_t step,
                         int64_t rows, int64_t row_step)
{
    int64_t w = bytes;
    tn_strided_inner l = {
        .d1 = rows, .d0 = n, .dst1 = n * w, .dst0 = w, .src1 = row_step * w, .src0 = step * w};
    tn_copy_loop(bytes, &l, to, from);
}

/* --- runs along the innermost dimension --- */

/* Where a load reads from: memory, or numbers in place of it. */
typedef struct {
    const char *from;
    unsigned bytes;
    tn_element_type ramp;
} source;

/* In 32 bits where all are numbers of so many: vectors have conversions of such. */
#define RAMP(T)                                                                                    \
    do {                                                                                           \
        T *to_ = to;                                                                               \
        if (is_short) {                                                                            \
            int32_t at_ = (int32_t)at, step_ = (int32_t)step, n_ = (int32_t)n;                     \
            for (int32_t i = 0; i < n_; i++, at_ += step_) to_[i] = (T)at_;                        \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++) to_[i] = (T)(at + i * step);                           \
        }                                                                                          \
        return;                                                                                    \
    } while (0)

bool tn_map_has_ramp(tn_element_type e)
{
    switch ((int)e) {
    case TN_I8:
    case TN_U8:
    case TN_I16:
    case TN_U16:
    case TN_I32:
    case TN_U32:
    case TN_I64:
    case TN_U64:
    case TN_F32:
    case TN_F64: return true;
    default: return false;
    }
}

static void load_ramp(tn_element_type e, void *to, int64_t at, int64_t n, int64_t step)
{
    const int64_t most = INT32_MAX / 4;
    bool is_short = at >= -most && at <= most && n <= most && step >= -1 && step <= 1;
    switch ((int)e) {
    case TN_I8:
    case TN_U8: RAMP(uint8_t);
    case TN_I16:
    case TN_U16: RAMP(uint16_t);
    case TN_I32:
    case TN_U32: RAMP(uint32_t);
    case TN_I64:
    case TN_U64: RAMP(uint64_t);
    case TN_F32: RAMP(float);
    case TN_F64: RAMP(double);
    default: return;
    }
}

static void load_run(const source *s, void *to, int64_t at, int64_t n, int64_t step)
{
    if (s->ramp) {
        load_ramp(s->ramp, to, at, n, step);
        return;
    }
    const char *from = s->from + at * (int64_t)s->bytes;
    if (step == 0) tn_tile_fill_with(to, from, s->bytes, n);
    else if (step == 1) memcpy(to, from, (size_t)n * s->bytes);
    else load_strided(to, from, s->bytes, n, step, 1, 0);
}

/* A row of `period` elements that repeats: what was laid down of it is copied on. */
static void load_periodic(const source *s, int64_t row, int64_t period, int64_t at, int64_t n,
                          char *to)
{
    enum { LINE = 64 };
    int64_t bytes = s->bytes, first = period - at, done = n < period ? n : period;
    if (first > done) first = done;
    load_run(s, to, row + at, first, 1);
    if (done > first) load_run(s, to + first * bytes, row, done - first, 1);
    int64_t have = done * bytes, all = n * bytes, one = period * bytes;
    if (have < all && one <= LINE && LINE % one == 0) {
        char line[LINE];
        for (int64_t k = 0; k < LINE; k += one) memcpy(line + k, to, (size_t)one);
        for (; all - have >= LINE; have += LINE) memcpy(to + have, line, LINE);
        memcpy(to + have, line, (size_t)(all - have));
        return;
    }
    while (have < all) {
        int64_t run = have < all - have ? have : all - have;
        memcpy(to + have, to, (size_t)run);
        have += run;
    }
}

/* A place in a map: the index in each dimension, and where its element is in memory. */
typedef struct {
    int64_t index[TN_MAP_DIMS], at;
} place;

static inline place place_of(const tn_access_map *m, int64_t element)
{
    place p = {.at = 0};
    for (uint32_t d = m->n_dims; d-- > 0; element /= m->size[d]) {
        p.index[d] = element % m->size[d];
        p.at += p.index[d] * m->step[d];
    }
    return p;
}

int64_t tn_map_at(const tn_access_map *m, int64_t element)
{
    int64_t at = 0;
    for (uint32_t d = m->n_dims; d-- > 1; element /= m->size[d])
        at += element % m->size[d] * m->step[d];
    return m->n_dims ? at + element * m->step[0] : 0;
}

int64_t tn_map_period(const tn_access_map *m)
{
    int64_t period = 1;
    if (m->n_cuts || !m->n_dims || m->step[0] != 0) return 0;
    for (uint32_t d = 1; d < m->n_dims; d++) period *= m->size[d];
    return period;
}

/* What is at the end of dimension `d` goes to the beginning of it, and on in the one outside. */
static inline void carry(place *p, const tn_access_map *m, uint32_t d)
{
    for (; d > 0 && p->index[d] == m->size[d]; d--) {
        p->at += m->step[d - 1] - m->size[d] * m->step[d];
        p->index[d] = 0;
        p->index[d - 1]++;
    }
}

/* On by `run` elements, to the end of the row at most. */
static inline void advance(place *p, const tn_access_map *m, int64_t run)
{
    uint32_t inner = m->n_dims - 1;
    p->at += run * m->step[inner];
    p->index[inner] += run;
    carry(p, m, inner);
}

enum {
    SHORT_ROW = 32,       /* elements: calls for each would take longer than the elements do */
    SHORT_FILL = 128,     /* the same of copies of one element */
    COPIED_AT_LEAST = 32, /* elements side by side, for copies of them by vectors */
    AHEAD = 8,            /* are written at once, what comes behind them over the last ones */
    REPEATED = 1024,
    PATTERN = 256 /* elements that are put together for no more than a tile */
};

/* `rows` rows of `n` bytes each, as pieces of fixed size of which the last may lie over the one
 * before. */
static void copy_rows(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n,
                      int64_t rows)
{
    enum { LONG = 512 };
#define PIECES(W)                                                                                  \
    if (n >= W) {                                                                                  \
        for (int64_t r = 0; r < rows; r++, to += to_step, from += from_step) {                     \
            int64_t i = 0;                                                                         \
            for (; i + W <= n; i += W) memcpy(to + i, from + i, W);                                \
            if (i < n) memcpy(to + n - W, from + n - W, W);                                        \
        }                                                                                          \
        return;                                                                                    \
    }
    if (n > LONG) {
        for (int64_t r = 0; r < rows; r++)
            memcpy(to + r * to_step, from + r * from_step, (size_t)n);
        return;
    }
    PIECES(32)
    PIECES(16)
    PIECES(8)
    PIECES(4)
    PIECES(2)
    PIECES(1)
#undef PIECES
}

/* Whole rows from the place on, one after the other in memory or cut in the same way; gives how
 * many elements that were. */
static int64_t load_whole_rows(const tn_access_map *m, const source *s, place *p, int64_t n,
                               char *to)
{
    uint32_t inner = m->n_dims - 1, outer = inner - 1;
    if (!inner || s->ramp || p->index[inner]) return 0;
    if (m->n_cuts && m->cut_dim != inner) return 0;
    int64_t size = m->size[inner], rows = n / size, left = m->size[outer] - p->index[outer];
    if (rows > left) rows = left;
    if (rows < 1) return 0;
    for (uint32_t k = 0; k <= m->n_cuts; k++) {
        int64_t begin = k ? m->cut[k - 1] : 0, end = k < m->n_cuts ? m->cut[k] : size;
        int64_t jump = k ? m->jump[k - 1] : 0;
        copy_rows(to + begin * s->bytes, size * s->bytes,
                  s->from + (p->at + begin + jump) * (int64_t)s->bytes, m->step[outer] * s->bytes,
                  (end - begin) * s->bytes, rows);
    }
    p->index[outer] += rows - 1;
    p->at += (rows - 1) * m->step[outer];
    advance(p, m, size);
    return rows * size;
}

/* Whole rows of elements that are not side by side, as load_whole_rows. */
static int64_t load_whole_strided(const tn_access_map *m, const source *s, place *p, int64_t n,
                                  char *to)
{
    uint32_t inner = m->n_dims - 1, outer = inner - 1;
    if (!inner || s->ramp || m->n_cuts || m->step[inner] == 0 || p->index[inner]) return 0;
    int64_t size = m->size[inner], rows = n / size, left = m->size[outer] - p->index[outer];
    if (rows > left) rows = left;
    if (rows < 1) return 0;
    load_strided(to, s->from + p->at * (int64_t)s->bytes, s->bytes, size, m->step[inner], rows,
                 m->step[outer]);
    p->index[outer] += rows - 1;
    p->at += (rows - 1) * m->step[outer];
    advance(p, m, size);
    return rows * size;
}

#define COPIES(T)                                                                                  \
    do {                                                                                           \
        const T *from_ = (const T *)from + (at + i) / k;                                           \
        for (int64_t left_ = k - (at + i) % k; i < run; i++) {                                     \
            ((T *)(void *)to)[i] = *from_;                                                         \
            if (--left_ == 0) left_ = k, from_++;                                                  \
        }                                                                                          \
    } while (0)

/* A few copies of each of elements that are side by side. */
static void load_copies(const tn_access_map *m, const source *s, int64_t begin, int64_t n,
                        void *result)
{
    char *to = result;
    uint32_t inner = m->n_dims - 1, outer = inner - 1;
    int64_t w = s->bytes, k = m->size[inner];
    place p = place_of(m, begin);
    while (n > 0) {
        const void *from = s->from + p.at * w;
        int64_t at = p.index[inner], sources = m->size[outer] - p.index[outer];
        int64_t run = sources * k - at;
        if (run > n) run = n;
        int64_t i = tn_repeat((size_t)w, k, from, sources, at, run, to);
        switch (w) {
        case 1: COPIES(uint8_t); break;
        case 2: COPIES(uint16_t); break;
        case 4: COPIES(uint32_t); break;
        default: COPIES(uint64_t); break;
        }
        to += run * w;
        n -= run;
        at += run;
        p.index[outer] += at / k;
        p.at += at / k * m->step[outer];
        p.index[inner] = at % k;
        carry(&p, m, outer);
    }
}

/* Rows of copies of one element each; VALUE is that of the row at `at`. */
#define SPREAD(name, T, VALUE)                                                                     \
    static void spread_##name(const tn_access_map *m, const void *memory, int64_t begin,           \
                              int64_t n, void *result)                                             \
    {                                                                                              \
        typedef T several                                                                          \
            __attribute__((vector_size(AHEAD * sizeof(T)), aligned(sizeof(T)), may_alias));        \
        const T *from = memory;                                                                    \
        T *to = result;                                                                            \
        uint32_t inner = m->n_dims - 1, outer = inner - 1;                                         \
        place p = place_of(m, begin);                                                              \
        int64_t left = m->size[inner] - p.index[inner];                                            \
        p.index[inner] = 0;                                                                        \
        while (n > 0) {                                                                            \
            for (; n > 0 && p.index[outer] < m->size[outer]; p.index[outer]++) {                   \
                int64_t at = p.at, run = left < n ? left : n;                                      \
                T one = VALUE;                                                                     \
                if (run + AHEAD <= n)                                                              \
                    for (int64_t k = 0; k < run; k += AHEAD)                                       \
                        *(several *)(to + k) = one - (several){0};                                 \
                else                                                                               \
                    for (int64_t k = 0; k < run; k++) to[k] = one;                                 \
                to += run;                                                                         \
                n -= run;                                                                          \
                left = m->size[inner];                                                             \
                p.at += m->step[outer];                                                            \
            }                                                                                      \
            carry(&p, m, outer);                                                                   \
        }                                                                                          \
        (void)from;                                                                                \
    }
SPREAD(u8, uint8_t, from[at])
SPREAD(u16, uint16_t, from[at])
SPREAD(u32, uint32_t, from[at])
SPREAD(u64, uint64_t, from[at])
SPREAD(ramp_u32, uint32_t, (uint32_t)at)
SPREAD(ramp_u64, uint64_t, (uint64_t)at)
SPREAD(ramp_f32, float, (float)at)

typedef void spread_fn(const tn_access_map *, const void *, int64_t, int64_t, void *);

/* NULL: there is none for what is loaded. */
static spread_fn *spread_of(const source *s)
{
    switch ((int)s->ramp) {
    case TN_INVALID: break;
    case TN_I32:
    case TN_U32: return spread_ramp_u32;
    case TN_I64:
    case TN_U64: return spread_ramp_u64;
    case TN_F32: return spread_ramp_f32;
    default: return NULL;
    }
    switch (s->bytes) {
    case 1: return spread_u8;
    case 2: return spread_u16;
    case 4: return spread_u32;
    case 8: return spread_u64;
    default: return NULL;
    }
}

static void load(const tn_access_map *m, const source *s, int64_t begin, int64_t n, char *to);

/* The innermost dimension along which what is behind it comes again and again; -1: none that is
 * worth it. `length`: elements behind it. */
static int32_t repeated_dim(const tn_access_map *m, int64_t *length)
{
    *length = 1;
    for (uint32_t d = m->n_dims; d-- > 0 && *length <= REPEATED; *length *= m->size[d])
        if (m->step[d] == 0 && *length > 1 && *length * m->size[d] > SHORT_ROW)
            return *length <= PATTERN || m->n_dims - d == 2 ? (int32_t)d : -1;
    return -1;
}

static void load_repeated(const tn_access_map *m, uint32_t dim, int64_t length, const source *s,
                          int64_t begin, int64_t n, char *to)
{
    char pattern[PATTERN * 16];
    tn_access_map one = {.n_dims = m->n_dims - dim - 1};
    memcpy(one.size, m->size + dim + 1, one.n_dims * sizeof *one.size);
    memcpy(one.step, m->step + dim + 1, one.n_dims * sizeof *one.step);
    bool lies_there = one.n_dims == 1 && one.step[0] == 1;
    tn_access_map all = *m; /* all that is repeated as one dimension of step 0 */
    all.n_dims = dim + 1;
    all.size[dim] *= length;
    place p = place_of(&all, begin);
    while (n > 0) {
        int64_t left = all.size[dim] - p.index[dim], run = left < n ? left : n;
        int64_t at = p.index[dim] % length;
        if (lies_there) {
            load_periodic(s, p.at, length, at, run, to);
        } else {
            source from = *s, made = {.from = pattern, .bytes = s->bytes};
            if (!s->ramp) from.from += p.at * (int64_t)s->bytes;
            load(&one, &from, 0, length, pattern);
            load_periodic(&made, 0, length, at, run, to);
        }
        to += run * s->bytes;
        n -= run;
        advance(&p, &all, run);
    }
}

static void load(const tn_access_map *m, const source *s, int64_t begin, int64_t n, char *to)
{
    if (!m->n_dims) {
        load_run(s, to, 0, n, 0);
        return;
    }
    uint32_t inner = m->n_dims - 1;
    int64_t length;
    int32_t repeated = m->n_cuts ? -1 : repeated_dim(m, &length);
    if (repeated >= 0) {
        load_repeated(m, (uint32_t)repeated, length, s, begin, n, to);
        return;
    }
    bool copies = inner && !m->n_cuts && m->step[inner] == 0;
    if (copies && !s->ramp && s->bytes <= 8 && m->size[inner] <= TN_REPEATED &&
        m->step[inner - 1] == 1 && m->size[inner - 1] >= COPIED_AT_LEAST) {
        load_copies(m, s, begin, n, to);
        return;
    }
    if (copies && m->size[inner] <= SHORT_FILL && spread_of(s)) {
        spread_of(s)(m, s->from, begin, n, to);
        return;
    }
    place p = place_of(m, begin);
    while (n > 0) {
        int64_t done = m->step[inner] == 1 ? load_whole_rows(m, s, &p, n, to)
                                           : load_whole_strided(m, s, &p, n, to);
        to += done * s->bytes;
        n -= done;
        if (done) continue;
        int64_t run = m->size[inner] - p.index[inner], jump = 0;
        for (uint32_t k = 0; k < m->n_cuts; k++) {
            int64_t left = m->cut[k] - p.index[m->cut_dim];
            if (left <= 0) jump = m->jump[k];
            else if (m->cut_dim == inner && left < run) run = left;
        }
        if (run > n) run = n;
        load_run(s, to, p.at + jump, run, m->step[inner]);
        to += run * s->bytes;
        n -= run;
        advance(&p, m, run);
    }
}

void tn_map_load(const tn_access_map *m, unsigned bytes, const void *from, int64_t begin, int64_t n,
                 void *to)
{
    source s = {.from = from, .bytes = bytes};
    load(m, &s, begin, n, to);
}

void tn_map_load_ramp(const tn_access_map *m, tn_element_type e, int64_t begin, int64_t n, void *to)
{
    source s = {.bytes = tn_element_type_bytes(e), .ramp = e};
    load(m, &s, begin, n, to);
}
