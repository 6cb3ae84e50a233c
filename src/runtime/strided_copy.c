/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/layout.h"

/* One dimension: how far apart its elements are on both sides. */
typedef struct {
    int64_t size, dst, src;
} dim;

/* The loops: `outer` dimensions around a box of rows x columns elements, cut into tiles so that it
 * can be shared among threads and both sides of a transpose stay in cache. Columns are next to each
 * other in dst. */
typedef struct {
    char *dst;
    const char *src;
    size_t element;
    uint32_t n_outer;
    dim outer[TN_MOST_STRIDED_DIMS];
    dim rows, columns;
    int64_t tile_rows, tile_columns;  /* elements */
    int64_t tiles_down, tiles_across; /* per box */
} plan;

enum { TILE = 32, LONG_ROW_BYTES = 128 << 10 };
static const double NS_PER_BYTE = 0.1;

/* Strides are the caller's: they may be absurd where a dimension is not followed. */
static uint64_t magnitude(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

static bool spans(int64_t outer, dim inner, int64_t stride)
{
    int64_t whole;
    return !__builtin_mul_overflow(stride, inner.size, &whole) && outer == whole;
}

/* Elements of the sizes that exist go by plain moves; `columns` may be contiguous on both sides. */
#define DEFINE_TILE(bits, type)                                                                    \
    static void copy_tile_##bits(char *dst, const char *src, dim rows, dim columns)                \
    {                                                                                              \
        for (int64_t r = 0; r < rows.size; r++) {                                                  \
            char *to = dst + r * rows.dst;                                                         \
            const char *from = src + r * rows.src;                                                 \
            for (int64_t c = 0; c < columns.size; c++) {                                           \
                type x;                                                                            \
                memcpy(&x, from + c * columns.src, sizeof x);                                      \
                memcpy(to + c * columns.dst, &x, sizeof x);                                        \
            }                                                                                      \
        }                                                                                          \
    }
typedef struct {
    uint64_t half[2];
} uint128;
DEFINE_TILE(8, uint8_t)
DEFINE_TILE(16, uint16_t)
DEFINE_TILE(32, uint32_t)
DEFINE_TILE(64, uint64_t)
DEFINE_TILE(128, uint128)

static void copy_tile(const plan *p, char *dst, const char *src, dim rows, dim columns)
{
    if (columns.dst == (int64_t)p->element && columns.src == (int64_t)p->element) {
        size_t bytes = (size_t)columns.size * p->element;
        for (int64_t r = 0; r < rows.size; r++)
            memcpy(dst + r * rows.dst, src + r * rows.src, bytes);
        return;
    }
    switch (p->element) {
    case 1: copy_tile_8(dst, src, rows, columns); break;
    case 2: copy_tile_16(dst, src, rows, columns); break;
    case 4: copy_tile_32(dst, src, rows, columns); break;
    case 8: copy_tile_64(dst, src, rows, columns); break;
    default: copy_tile_128(dst, src, rows, columns); break;
    }
}

/* The part of a dimension that tile number t covers. */
static int64_t tile_part(dim *d, int64_t t, int64_t tile)
{
    int64_t begin = t * tile, left = d->size - begin;
    d->size = left < tile ? left : tile;
    return begin;
}

static void copy_tiles(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    for (int64_t i = begin; i < end; i++) {
        dim rows = p->rows, columns = p->columns;
        int64_t rest = i;
        int64_t c = tile_part(&columns, rest % p->tiles_across, p->tile_columns);
        rest /= p->tiles_across;
        int64_t r = tile_part(&rows, rest % p->tiles_down, p->tile_rows);
        rest /= p->tiles_down;

        char *dst = p->dst + r * rows.dst + c * columns.dst;
        const char *src = p->src + r * rows.src + c * columns.src;
        for (uint32_t d = p->n_outer; d-- > 0;) {
            int64_t at = rest % p->outer[d].size;
            rest /= p->outer[d].size;
            dst += at * p->outer[d].dst;
            src += at * p->outer[d].src;
        }
        copy_tile(p, dst, src, rows, columns);
    }
}

/* Slowest in dst first. */
static int by_dst(const void *a, const void *b)
{
    uint64_t x = magnitude(((const dim *)a)->dst), y = magnitude(((const dim *)b)->dst);
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Joins dimensions that are one run on both sides; drops those of size 1. */
static uint32_t simplify(dim *d, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (d[i].size == 1) continue;
        d[kept++] = d[i];
    }
    qsort(d, kept, sizeof *d, by_dst);
    n = kept;
    kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        dim *last = kept > 0 ? &d[kept - 1] : NULL;
        if (last && spans(last->dst, d[i], d[i].dst) && spans(last->src, d[i], d[i].src))
            *last = (dim){last->size * d[i].size, d[i].dst, d[i].src};
        else d[kept++] = d[i];
    }
    return kept;
}

static dim take(dim *d, uint32_t *n, uint32_t i)
{
    dim taken = d[i];
    memmove(d + i, d + i + 1, (*n - i - 1) * sizeof *d);
    --*n;
    return taken;
}

static void make_tiles(plan *p, dim *d, uint32_t n)
{
    const dim single = {1, 0, 0};
    p->columns = n > 0 ? take(d, &n, n - 1) : single;
    uint32_t fastest = n; /* in src */
    for (uint32_t i = 0; i < n; i++)
        if (fastest == n || magnitude(d[i].src) <= magnitude(d[fastest].src)) fastest = i;
    bool transposed = n > 0 && magnitude(d[fastest].src) < magnitude(p->columns.src);
    p->rows = n > 0 ? take(d, &n, transposed ? fastest : n - 1) : single;
    p->tile_rows = p->tile_columns = TILE;
    if (!transposed) {
        int64_t row = p->columns.size * (int64_t)p->element;
        p->tile_columns =
            row > LONG_ROW_BYTES ? LONG_ROW_BYTES / (int64_t)p->element : p->columns.size;
        p->tile_rows = row > LONG_ROW_BYTES ? 1 : LONG_ROW_BYTES / row;
        if (p->tile_rows > p->rows.size) p->tile_rows = p->rows.size;
    }
    p->tiles_down = (p->rows.size + p->tile_rows - 1) / p->tile_rows;
    p->tiles_across = (p->columns.size + p->tile_columns - 1) / p->tile_columns;
    p->n_outer = n;
    memcpy(p->outer, d, n * sizeof *d);
}

tn_status *tn_strided_copy(tn_thread_pool *pool, const tn_type *type, void *dst,
                           const int64_t *dst_strides, const void *src, const int64_t *src_strides)
{
    if (type->rank > TN_MOST_STRIDED_DIMS)
        return TN_ERROR(INVALID_ARGUMENT,
                        "array with strides has %" PRIu32 " dimensions, at most %d", type->rank,
                        TN_MOST_STRIDED_DIMS);
    plan p = {.dst = dst, .src = src, .element = tn_element_type_bytes(type->element)};
    dim dims[TN_MOST_STRIDED_DIMS];
    for (uint32_t d = 0; d < type->rank; d++) {
        if (type->dims[d] == 0) return NULL;
        dims[d] = (dim){type->dims[d], dst_strides[d], src_strides[d]};
    }
    make_tiles(&p, dims, simplify(dims, type->rank));
    int64_t n = p.tiles_down * p.tiles_across;
    for (uint32_t d = 0; d < p.n_outer; d++) n *= p.outer[d].size;
    double bytes = (double)(p.tile_rows * p.tile_columns) * (double)p.element;
    tn_parallel_for(pool, n, bytes * NS_PER_BYTE, copy_tiles, &p);
    return NULL;
}

enum { PIECE = 256 << 10 };

typedef struct {
    char *dst;
    const char *src;
    size_t size;
} plain;

static void copy_pieces(void *ctx, int64_t begin, int64_t end)
{
    const plain *p = ctx;
    size_t from = (size_t)begin * PIECE, to = (size_t)end * PIECE;
    if (to > p->size) to = p->size;
    memcpy(p->dst + from, p->src + from, to - from);
}

void tn_parallel_memcpy(tn_thread_pool *pool, void *dst, const void *src, size_t size)
{
    if (size == 0) return;
    plain p = {dst, src, size};
    int64_t n = (int64_t)((size + PIECE - 1) / PIECE);
    tn_parallel_for(pool, n, PIECE * NS_PER_BYTE, copy_pieces, &p);
}
