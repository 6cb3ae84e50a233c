/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/strided.h"

#include <string.h>

#include "kernels/strided_loops.h"

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

/* Squares of 16 / width rows: interleaving row i with row i + N/2, log2(N) times over, transposes
 * N rows of N. */
typedef uint8_t v1 __attribute__((vector_size(16)));
typedef uint16_t v2 __attribute__((vector_size(16)));
typedef uint32_t v4 __attribute__((vector_size(16)));
typedef uint64_t v8 __attribute__((vector_size(16)));
#define LOW1  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH1 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW2  0, 8, 1, 9, 2, 10, 3, 11
#define HIGH2 4, 12, 5, 13, 6, 14, 7, 15
#define LOW4  0, 4, 1, 5
#define HIGH4 2, 6, 3, 7
#define LOW8  0, 2
#define HIGH8 1, 3

/* Unrolled so that the rows stay in registers. */
#define UNROLL _Pragma("GCC unroll 16")
#define DEFINE_SQUARE(W, STAGES)                                                                   \
    static void square_##W(char *dst, int64_t dst_row, const char *src, int64_t src_row)           \
    {                                                                                              \
        enum { N = 16 / W };                                                                       \
        v##W r[N], t[N];                                                                           \
        UNROLL for (int i = 0; i < N; i++) memcpy(&r[i], src + i * src_row, 16);                   \
        UNROLL for (int stage = 0; stage < STAGES; stage++)                                        \
        {                                                                                          \
            UNROLL for (int i = 0; i < N / 2; i++)                                                 \
            {                                                                                      \
                t[2 * i] = __builtin_shufflevector(r[i], r[i + N / 2], LOW##W);                    \
                t[2 * i + 1] = __builtin_shufflevector(r[i], r[i + N / 2], HIGH##W);               \
            }                                                                                      \
            UNROLL for (int i = 0; i < N; i++) r[i] = t[i];                                        \
        }                                                                                          \
        UNROLL for (int i = 0; i < N; i++) memcpy(dst + i * dst_row, &r[i], 16);                   \
    }

DEFINE_SQUARE(1, 4)
DEFINE_SQUARE(2, 3)
DEFINE_SQUARE(4, 2)
DEFINE_SQUARE(8, 1)

static void copy_loop(size_t width, const inner *l, char *dst, const char *src)
{
    size_t run = (size_t)l->d0 * width;
    if (run < 64) {
        tn_copy_loop(width, l, dst, src);
        return;
    }
    for (int64_t i = 0; i < l->d1; i++) memcpy(dst + i * l->dst1, src + i * l->src1, run);
}

static void square(size_t width, char *dst, int64_t dst_row, const char *src, int64_t src_row)
{
    switch (width) {
    case 1: square_1(dst, dst_row, src, src_row); return;
    case 2: square_2(dst, dst_row, src, src_row); return;
    case 4: square_4(dst, dst_row, src, src_row); return;
    default: square_8(dst, dst_row, src, src_row); return;
    }
}

/* Source contiguous along i, destination along j. Tiles are a cache line on each side and go
 * through a buffer, so that every line is touched once in a row: rows that lie powers of two apart
 * compete for the same few places in L1. */
static void transpose_loop(size_t width, const inner *l, char *dst, const char *src)
{
    enum { LINE = 64 };
    char tile[LINE * LINE];
    int64_t w = (int64_t)width, line = LINE / w, n = 16 / w;
    for (int64_t j = 0; j < l->d0; j += line) {
        for (int64_t i = 0; i < l->d1; i += line) {
            char *d = dst + i * l->dst1 + j * l->dst0;
            const char *s = src + i * l->src1 + j * l->src0;
            if (width > 8 || l->d1 - i < line || l->d0 - j < line) {
                inner edge = *l;
                edge.d1 = l->d1 - i < line ? l->d1 - i : line;
                edge.d0 = l->d0 - j < line ? l->d0 - j : line;
                tn_copy_loop(width, &edge, d, s);
                continue;
            }
            for (int64_t y = 0; y < line; y += n)
                for (int64_t x = 0; x < line; x += n)
                    square(width, tile + x * LINE + y * w, LINE, s + x * w + y * l->src0, l->src0);
            for (int64_t x = 0; x < line; x++) memcpy(d + x * l->dst1, tile + x * LINE, LINE);
        }
    }
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
    p->kind = STRIDED;
    if (!s->rank) return;
    uint32_t last = s->rank - 1;
    int64_t w = (int64_t)width;
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

static void run_inner(const tn_strided_plan *p, const inner *l, char *dst, const char *src)
{
    switch (p->kind) {
    case COPY: copy_loop(p->width, l, dst, src); return;
    case FILL: tn_fill_loop(p->width, l, dst, src); return;
    case TRANSPOSE: transpose_loop(p->width, l, dst, src); return;
    default: tn_copy_loop(p->width, l, dst, src); return;
    }
}

void tn_strided_execute(const tn_strided_plan *p, void *to, const void *from)
{
    const tn_strided *s = &p->nest;
    if (s->empty) return;
    char *dst = to;
    const char *src = from;
    inner l = {.d1 = 1, .d0 = 1};
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
    if (!outer) {
        run_inner(p, &l, dst, src);
        return;
    }
    int64_t at[TN_STRIDED_MAX];
    memset(at, 0, outer * sizeof *at);
    for (;;) {
        run_inner(p, &l, dst, src);
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
    char *dst;
    const char *src;
} job;

static void run_piece(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    tn_strided_plan piece = *j->plan;
    piece.nest.dims[j->split] = end - begin;
    tn_strided_execute(&piece, j->dst + begin * piece.nest.dst[j->split],
                       j->src + begin * piece.nest.src[j->split]);
}

void tn_strided_run(const tn_strided *s, size_t width, void *dst, const void *src,
                    tn_thread_pool *pool)
{
    if (s->empty) return;
    tn_strided_plan p;
    tn_strided_prepare(s, width, &p);
    const tn_strided *n = &p.nest;
    job j = {.plan = &p, .dst = dst, .src = src};
    double elements = 1;
    for (uint32_t i = 0; i < n->rank; i++) {
        elements *= (double)n->dims[i];
        if (n->dims[0] < 64 && n->dims[i] > n->dims[j.split]) j.split = i;
    }
    if (!pool || !n->rank || elements * (double)p.width < 32768) {
        tn_strided_execute(&p, dst, src);
        return;
    }
    /* Bytes stream at some 10 GB/s a core; a strided element costs most of a nanosecond. */
    double cost = (double)p.width * 0.1 + (p.kind == STRIDED || p.kind == TRANSPOSE ? 0.5 : 0);
    tn_parallel_for(pool, n->dims[j.split], cost * elements / (double)n->dims[j.split], run_piece,
                    &j);
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
