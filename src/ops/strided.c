/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/strided.h"

#include <string.h>

#include "kernels/interleave.h"
#include "kernels/strided_loops.h"
#include "kernels/transpose.h"

enum { COPY, FILL, STRIDED, TRANSPOSE };

typedef tn_strided_inner inner;

void tn_strided_push(tn_strided *s, int64_t dim, int64_t dst, int64_t src)
{
    if (dim == 0) s->empty = true;
    if (dim == 1 || s->empty) return;
    if (s->rank) {
        uint32_t k = s->rank - 1;
        if (s->dst[k] == dst * dim && s->src[k] == src * dim) {
            s->dims[k] *= dim;
            s->dst[k] = dst;
            s->src[k] = src;
            return;
        }
    }
    s->dims[s->rank] = dim;
    s->dst[s->rank] = dst;
    s->src[s->rank++] = src;
}

/* --- kernels --- */

static void copy_loop(size_t width, const inner *l, char *dst, const char *src)
{
    enum { INLINE = 512 };
    size_t run = (size_t)l->d0 * width;
    if (run < 64 || l->stream || (run <= INLINE && l->d1 * l->d2 > 1)) {
        tn_copy_loop(width, l, dst, src);
        return;
    }
    for (int64_t k = 0; k < l->d2; k++)
        for (int64_t i = 0; i < l->d1; i++)
            memcpy(dst + k * l->dst2 + i * l->dst1, src + k * l->src2 + i * l->src1, run);
}

/* Source contiguous along i, destination along j. */
static void transpose_loop(size_t width, bool stream, const inner *l, char *dst, const char *src)
{
    tn_transpose_shape t = {
        .rows = l->d0, .columns = l->d1, .dst_row = l->dst1, .src_row = l->src0, .stream = stream};
    tn_transpose(width, &t, dst, src);
}

/* --- plans --- */

static bool is_width(int64_t width)
{
    return width == 1 || width == 2 || width == 4 || width == 8 || width == 16;
}

static void move_to(tn_strided *s, uint32_t from, uint32_t to)
{
    int64_t dim = s->dims[from], dst = s->dst[from], src = s->src[from];
    for (uint32_t i = from; i < to; i++) {
        s->dims[i] = s->dims[i + 1];
        s->dst[i] = s->dst[i + 1];
        s->src[i] = s->src[i + 1];
    }
    s->dims[to] = dim;
    s->dst[to] = dst;
    s->src[to] = src;
}

void tn_strided_prepare(const tn_strided *nest, size_t width, tn_strided_plan *p)
{
    tn_strided *s = &p->nest;
    s->rank = nest->rank;
    s->empty = nest->empty;
    for (uint32_t i = 0; i < nest->rank; i++) {
        s->dims[i] = nest->dims[i];
        s->dst[i] = nest->dst[i];
        s->src[i] = nest->src[i];
    }
    /* A short contiguous run inside other loops is one wider element. */
    while (s->rank > 1) {
        uint32_t k = s->rank - 1;
        int64_t w = (int64_t)width, wide = s->dims[k] <= 16 ? s->dims[k] * w : 0;
        if (s->dst[k] != w || s->src[k] != w || !is_width(wide)) break;
        width = (size_t)wide;
        s->rank--;
    }
    p->width = width;
    p->stream = false;
    p->kind = STRIDED;
    if (!s->rank) return;
    uint32_t last = s->rank - 1;
    int64_t w = (int64_t)width;
    if (last >= 2 && s->dims[last - 1] < 8 && s->dims[last - 2] > s->dims[last - 1] &&
        s->src[last] != 0)
        move_to(s, last - 2, last - 1);
    if (s->src[last] == 0) {
        p->kind = FILL;
    } else if (s->dst[last] == w && s->src[last] == w) {
        p->kind = COPY;
    } else if (s->dst[last] == w) {
        for (uint32_t i = 0; i < last; i++) {
            if (s->src[i] != w) continue;
            move_to(s, i, last - 1);
            p->kind = TRANSPOSE;
            break;
        }
    }
}

/* Two to four elements in a row on one side, far apart or the same on the other. */
static bool weave(size_t width, const inner *l, char *dst, const char *src)
{
    int64_t w = (int64_t)width;
    if (l->d0 >= 2 && l->d0 <= 4) return l->d1 >= 16 && tn_weave_loop(width, l, dst, src);
    if (l->d1 < 2 || l->d1 > 4 || l->src1 != w || l->d0 < 16) return false;
    inner turned = {l->d0, l->d1, l->dst0, l->dst1, l->src0, l->src1, 1, 0, 0, false};
    return tn_weave_loop(width, &turned, dst, src);
}

/* Matrices so small that to begin one takes longer: `rows` x `columns` of the destination. */
#define DEFINE_MATRICES(T)                                                                         \
    static inline __attribute__((always_inline)) void some_##T(                                    \
        const inner *l, int64_t rows, int64_t columns, char *dst, const char *src)                 \
    {                                                                                              \
        for (int64_t k = 0; k < l->d2; k++, dst += l->dst2, src += l->src2)                        \
            for (int64_t i = 0; i < rows; i++)                                                     \
                for (int64_t j = 0; j < columns; j++)                                              \
                    memcpy(dst + i * l->dst1 + j * (int64_t)sizeof(T),                             \
                           src + i * (int64_t)sizeof(T) + j * l->src0, sizeof(T));                 \
    }                                                                                              \
    static void matrices_##T(const inner *l, char *dst, const char *src)                           \
    {                                                                                              \
        if (l->d0 == 2 && l->d1 == 2) some_##T(l, 2, 2, dst, src);                                 \
        else if (l->d0 == 3 && l->d1 == 3) some_##T(l, 3, 3, dst, src);                            \
        else if (l->d0 == 4 && l->d1 == 4) some_##T(l, 4, 4, dst, src);                            \
        else some_##T(l, l->d1, l->d0, dst, src);                                                  \
    }
DEFINE_MATRICES(uint32_t)
DEFINE_MATRICES(uint64_t)

/* Each of many elements a few times in a row. */
static bool repeat(size_t width, const inner *l, char *dst, const char *src)
{
    int64_t w = (int64_t)width;
    if (width > 8 || l->d0 > TN_REPEATED || l->d0 < 2 || l->d1 < 16 || l->stream) return false;
    if (l->dst0 != w || l->dst1 != l->d0 * w || l->src1 != w) return false;
    int64_t n = l->d0 * l->d1, i = tn_repeat(width, l->d0, src, l->d1, 0, n, dst);
    for (; i < n; i++) memcpy(dst + i * w, src + i / l->d0 * w, width);
    return true;
}

enum { SMALL_SIDE = 8 };

static bool are_small(int kind, size_t width, const inner *l)
{
    return kind == TRANSPOSE && (width == 4 || width == 8) && l->d0 < SMALL_SIDE &&
           l->d1 < SMALL_SIDE && l->d2 > 1;
}

static void run_inner(int kind, size_t width, const inner *l, char *dst, const char *src)
{
    if (kind == COPY || kind == STRIDED) {
        (kind == COPY ? copy_loop : tn_copy_loop)(width, l, dst, src);
        return;
    }
    if (are_small(kind, width, l)) {
        if (!tn_matrices_loop(width, l, dst, src))
            (width == 4 ? matrices_uint32_t : matrices_uint64_t)(l, dst, src);
        return;
    }
    for (int64_t i = 0; i < l->d2; i++, dst += l->dst2, src += l->src2) {
        if (weave(width, l, dst, src)) continue;
        if (kind == FILL && repeat(width, l, dst, src)) continue;
        if (kind == FILL) tn_fill_loop(width, l, dst, src);
        else transpose_loop(width, l->stream, l, dst, src);
    }
}

void tn_strided_execute(const tn_strided_plan *p, void *to, const void *from)
{
    const tn_strided *s = &p->nest;
    if (s->empty) return;
    char *dst = to;
    const char *src = from;
    inner l = {.d2 = 1, .d1 = 1, .d0 = 1, .stream = p->stream};
    uint32_t outer = s->rank;
    if (outer) {
        outer--;
        l.d0 = s->dims[outer];
        l.dst0 = s->dst[outer];
        l.src0 = s->src[outer];
    }
    if (outer) {
        outer--;
        l.d1 = s->dims[outer];
        l.dst1 = s->dst[outer];
        l.src1 = s->src[outer];
    }
    if (outer) {
        outer--;
        l.d2 = s->dims[outer];
        l.dst2 = s->dst[outer];
        l.src2 = s->src[outer];
    }
    if (!outer) {
        run_inner(p->kind, p->width, &l, dst, src);
        return;
    }
    int64_t at[TN_STRIDED_MAX];
    memset(at, 0, outer * sizeof *at);
    for (;;) {
        run_inner(p->kind, p->width, &l, dst, src);
        uint32_t k = outer;
        for (;;) {
            if (!k--) return;
            dst += s->dst[k];
            src += s->src[k];
            if (++at[k] < s->dims[k]) break;
            dst -= s->dst[k] * s->dims[k];
            src -= s->src[k] * s->dims[k];
            at[k] = 0;
        }
    }
}

/* --- on the pool --- */

typedef struct {
    const tn_strided_plan *plan;
    uint32_t split; /* the loop that is cut into pieces */
    int64_t unit;   /* of so many of its steps */
    char *dst;
    const char *src;
} job;

static void run_piece(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    tn_strided_plan piece = *j->plan;
    int64_t dim = piece.nest.dims[j->split];
    begin *= j->unit;
    end = end * j->unit < dim ? end * j->unit : dim;
    piece.nest.dims[j->split] = end - begin;
    tn_strided_execute(&piece, j->dst + begin * piece.nest.dst[j->split],
                       j->src + begin * piece.nest.src[j->split]);
}

static _Thread_local tn_strided_record *record;

void tn_strided_begin_record(tn_strided_record *r)
{
    r->n = 0;
    r->fits = true;
    record = r;
}

void tn_strided_end_record(void)
{
    record = NULL;
}

bool tn_strided_is_recording(void)
{
    return record != NULL;
}

static void note(const tn_strided *s, size_t width, void *dst, const void *src)
{
    tn_strided_plan p;
    tn_strided_prepare(s, width, &p);
    record->fits = record->fits && record->n < TN_STRIDED_RECORDED && p.nest.rank <= TN_STRIDED_FEW;
    if (!record->fits) return;
    tn_strided_copy *c = &record->copies[record->n++];
    *c = (tn_strided_copy){.dst = (uintptr_t)dst,
                           .src = (uintptr_t)src,
                           .width = p.width,
                           .kind = p.kind,
                           .rank = p.nest.rank};
    for (uint32_t i = 0; i < c->rank; i++) {
        c->dims[i] = p.nest.dims[i];
        c->dst_steps[i] = p.nest.dst[i];
        c->src_steps[i] = p.nest.src[i];
    }
}

void tn_strided_copy_run(const tn_strided_copy *c, void *to, const void *from)
{
    char *dst = to;
    const char *src = from;
    inner l = {.d2 = 1, .d1 = 1, .d0 = 1};
    uint32_t n = c->rank;
    if (n) n--, l.d0 = c->dims[n], l.dst0 = c->dst_steps[n], l.src0 = c->src_steps[n];
    if (n) n--, l.d1 = c->dims[n], l.dst1 = c->dst_steps[n], l.src1 = c->src_steps[n];
    if (n) n--, l.d2 = c->dims[n], l.dst2 = c->dst_steps[n], l.src2 = c->src_steps[n];
    for (int64_t i = 0; i < (n ? c->dims[0] : 1); i++)
        run_inner(c->kind, c->width, &l, dst + i * c->dst_steps[0] * n,
                  src + i * c->src_steps[0] * n);
}

void tn_strided_run(const tn_strided *s, size_t width, void *dst, const void *src,
                    tn_thread_pool *pool)
{
    if (s->empty) return;
    if (record) {
        note(s, width, dst, src);
        return;
    }
    tn_strided_plan p;
    tn_strided_prepare(s, width, &p);
    const tn_strided *n = &p.nest;
    job j = {.plan = &p, .unit = 1, .dst = dst, .src = src};
    double elements = 1;
    for (uint32_t i = 0; i < n->rank; i++) {
        elements *= (double)n->dims[i];
        if (n->dims[0] < 64 && n->dims[i] > n->dims[j.split]) j.split = i;
    }
    p.stream = elements * (double)p.width >= TN_STREAMED_BYTES;
    if (!pool || !n->rank || elements * (double)p.width < 32768) {
        tn_strided_execute(&p, dst, src);
        return;
    }
    /* Bytes stream at some 10 GB/s a core; a strided element costs most of a nanosecond. */
    double cost = (double)p.width * 0.1 + (p.kind == STRIDED || p.kind == TRANSPOSE ? 0.5 : 0);
    /* Whole lines on either side. */
    if (p.kind == TRANSPOSE && j.split + 2 >= n->rank) j.unit = 64 / (int64_t)p.width;
    int64_t items = (n->dims[j.split] + j.unit - 1) / j.unit;
    tn_parallel_for(pool, items, cost * elements / (double)items, run_piece, &j);
}

void tn_fill(tn_thread_pool *pool, void *dst, const void *value, size_t width, int64_t n)
{
    tn_strided s;
    tn_strided_init(&s);
    tn_strided_push(&s, n, (int64_t)width, 0);
    tn_strided_run(&s, width, dst, value, pool);
}

void tn_copy_bytes(tn_thread_pool *pool, void *dst, const void *src, size_t size)
{
    if (dst == src || !size) return;
    tn_strided s;
    tn_strided_init(&s);
    tn_strided_push(&s, (int64_t)size, 1, 1);
    tn_strided_run(&s, 1, dst, src, pool);
}
