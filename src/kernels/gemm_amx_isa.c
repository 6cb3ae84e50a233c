/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled for CPUs with AMX; called only where tn_amx_usable. */
#include <immintrin.h>
#include <string.h>

#include "kernels/gemm_amx.h"
#include "kernels/transpose_avx512.h"

void tn_amx_begin(void)
{
    static const struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config __attribute__((aligned(64))) = {
        .palette = 1,
        .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
        .rows = {16, 16, 16, 16, 16, 16, 16, 16},
    };
    _tile_loadconfig(&config);
}

void tn_amx_end(void)
{
    _tile_release();
}

/* --- packing --- */

/* 16 x 16 elements of 4 bytes, in place. */
static void transpose_tile(char *tile)
{
    __m512i r[16];
    for (int i = 0; i < 16; i++) r[i] = _mm512_load_si512(tile + 64 * i);
    tn_transpose16(r);
    for (int i = 0; i < 16; i++) _mm512_store_si512(tile + 64 * i, r[i]);
}

typedef struct {
    __m512i low, high;
} ranges;

static inline void see(ranges *r, __m512i x)
{
    __m512i size = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
    r->low = _mm512_min_epu16(r->low, _mm512_sub_epi16(size, _mm512_set1_epi16(1)));
    r->high = _mm512_max_epu16(r->high, size);
}

/* Rows contiguous along k: a tile's row is one load. */
static void pack_rows(const tn_amx_operand *o, const char *src, int64_t lanes, char *dst, ranges *r)
{
    int64_t bytes = o->k * o->e, whole = bytes / 64;
    __mmask64 rest = ((uint64_t)1 << bytes % 64) - 1;
    for (int64_t i = 0; i < TN_AMX_LANES; i++, dst += 64) {
        const char *from = src + i * o->lane;
        __m512i x = _mm512_setzero_si512();
        if (i >= lanes) {
            for (int64_t s = 0; s < whole + (rest != 0); s++)
                _mm512_store_si512(dst + s * TN_AMX_TILE, x);
            continue;
        }
        for (int64_t s = 0; s < whole; s++) {
            x = _mm512_loadu_si512(from + 64 * s);
            see(r, x);
            _mm512_store_si512(dst + s * TN_AMX_TILE, x);
        }
        if (rest) {
            x = _mm512_maskz_loadu_epi8(rest, from + 64 * whole);
            see(r, x);
            _mm512_store_si512(dst + whole * TN_AMX_TILE, x);
        }
    }
}

static inline __m128i load_bytes(const char *src, __mmask16 mask)
{
    return _mm_maskz_loadu_epi8(mask, src);
}

/* Four lines of up to 16 bytes become 16 groups of four. */
static inline __m512i interleave_bytes(const __m128i x[4])
{
    __m128i a = _mm_unpacklo_epi8(x[0], x[1]), b = _mm_unpackhi_epi8(x[0], x[1]);
    __m128i c = _mm_unpacklo_epi8(x[2], x[3]), d = _mm_unpackhi_epi8(x[2], x[3]);
    __m512i y = _mm512_castsi128_si512(_mm_unpacklo_epi16(a, c));
    y = _mm512_inserti32x4(y, _mm_unpackhi_epi16(a, c), 1);
    y = _mm512_inserti32x4(y, _mm_unpacklo_epi16(b, d), 2);
    return _mm512_inserti32x4(y, _mm_unpackhi_epi16(b, d), 3);
}

/* Two lines of up to 16 elements of 2 bytes become 16 pairs. */
static inline __m512i interleave_pairs(__m256i x, __m256i y)
{
    __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8,
                                     23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, _mm512_inserti64x4(_mm512_castsi256_si512(x), y, 1));
}

/* Lanes next to each other: 4 / e steps along k are woven together. */
static void pack_lines(const tn_amx_operand *o, const char *src, int64_t lanes, char *dst,
                       ranges *r)
{
    __mmask16 mask = (__mmask16)((1u << lanes) - 1);
    int64_t per_row = 4 / o->e, rows = (o->k + per_row - 1) / per_row, step = o->along_k;
    int64_t all = (rows + 15) / 16 * 16;
    for (int64_t q = 0; q < rows; q++, dst += 64, src += per_row * step) {
        __m512i x;
        int64_t left = o->k - q * per_row;
        if (o->e == 1) {
            __m128i line[4];
            for (int i = 0; i < 4; i++)
                line[i] = i < left ? load_bytes(src + i * step, mask) : _mm_setzero_si128();
            x = interleave_bytes(line);
        } else {
            __m256i even = _mm256_maskz_loadu_epi16(mask, src), odd = _mm256_setzero_si256();
            if (left > 1) odd = _mm256_maskz_loadu_epi16(mask, src + step);
            x = interleave_pairs(even, odd);
            see(r, x);
        }
        _mm512_store_si512(dst, x);
    }
    for (int64_t q = rows; q < all; q++, dst += 64) _mm512_store_si512(dst, _mm512_setzero_si512());
}

/* The same for as many panels of whole lines as 64 bytes have: rows [q, q + 1) of tiles of each. */
static inline void weave_bytes(const char *src, int64_t step, char *dst, int64_t panel_bytes)
{
    __m512i x[4], y[4], z[4];
    for (int i = 0; i < 4; i++) x[i] = _mm512_loadu_si512(src + i * step);
    __m512i a = _mm512_unpacklo_epi8(x[0], x[1]), b = _mm512_unpackhi_epi8(x[0], x[1]);
    __m512i c = _mm512_unpacklo_epi8(x[2], x[3]), d = _mm512_unpackhi_epi8(x[2], x[3]);
    y[0] = _mm512_unpacklo_epi16(a, c), y[1] = _mm512_unpackhi_epi16(a, c);
    y[2] = _mm512_unpacklo_epi16(b, d), y[3] = _mm512_unpackhi_epi16(b, d);
    /* Each quarter of a vector belongs to another panel. */
    for (int i = 0; i < 4; i += 2) {
        z[i] = _mm512_shuffle_i32x4(y[i], y[i + 1], 0x44);
        z[i + 1] = _mm512_shuffle_i32x4(y[i], y[i + 1], 0xee);
    }
    for (int i = 0; i < 2; i++) {
        char *to = dst + 2 * i * panel_bytes;
        _mm512_store_si512(to, _mm512_shuffle_i32x4(z[i], z[i + 2], 0x88));
        _mm512_store_si512(to + panel_bytes, _mm512_shuffle_i32x4(z[i], z[i + 2], 0xdd));
    }
}

static inline void weave_pairs(const char *src, int64_t step, char *dst, int64_t panel_bytes,
                               ranges *r)
{
    static const uint16_t orders[2][32] = {
#define PAIRS(i) i, i + 32, i + 1, i + 33, i + 2, i + 34, i + 3, i + 35
        {PAIRS(0), PAIRS(4), PAIRS(8), PAIRS(12)}, {PAIRS(16), PAIRS(20), PAIRS(24), PAIRS(28)}};
    __m512i x = _mm512_loadu_si512(src), y = _mm512_loadu_si512(src + step);
    see(r, x), see(r, y);
    for (int i = 0; i < 2; i++)
        _mm512_store_si512(dst + i * panel_bytes,
                           _mm512_permutex2var_epi16(x, _mm512_loadu_si512(orders[i]), y));
}

static void pack_whole_lines(const tn_amx_operand *o, const char *src, char *dst,
                             int64_t panel_bytes, ranges *r)
{
    int64_t per_row = 4 / o->e, rows = o->k / per_row;
    for (int64_t q = 0; q < rows; q++, dst += 64, src += per_row * o->along_k)
        if (o->e == 1) weave_bytes(src, o->along_k, dst, panel_bytes);
        else weave_pairs(src, o->along_k, dst, panel_bytes, r);
}

static void widen_range(tn_amx_range *range, const ranges *r)
{
    uint16_t low[32], high[32];
    memcpy(low, &r->low, sizeof low);
    memcpy(high, &r->high, sizeof high);
    for (int i = 0; i < 32; i++) {
        if (low[i] < range->low) range->low = low[i];
        if (high[i] > range->high) range->high = high[i];
    }
}

void tn_amx_copy(char *dst, int64_t dst_row, const char *src, int64_t src_row, int64_t rows,
                 int64_t bytes, tn_amx_range *range)
{
    ranges r = {_mm512_set1_epi16(-1), _mm512_setzero_si512()};
    int64_t whole = bytes / 64;
    __mmask64 rest = ((uint64_t)1 << bytes % 64) - 1;
    for (int64_t i = 0; i < rows; i++, dst += dst_row, src += src_row) {
        for (int64_t s = 0; s < whole; s++) {
            __m512i x = _mm512_loadu_si512(src + 64 * s);
            see(&r, x);
            _mm512_storeu_si512(dst + 64 * s, x);
        }
        if (rest) {
            __m512i x = _mm512_maskz_loadu_epi8(rest, src + 64 * whole);
            see(&r, x);
            _mm512_storeu_si512(dst + 64 * whole, x);
        }
    }
    widen_range(range, &r);
}

void tn_amx_pack(const tn_amx_operand *o, int64_t panel, int64_t panels, char *dst,
                 tn_amx_range *range)
{
    ranges r = {_mm512_set1_epi16(-1), _mm512_setzero_si512()};
    bool rows = o->along_k == o->e;
    int64_t together = 64 / (TN_AMX_LANES * o->e); /* panels whose lines are 64 bytes in all */
    int64_t steps = (o->k * o->e + 63) / 64;
    bool whole = !rows && o->k * o->e % TN_AMX_ROW == 0;
    for (int64_t n; panels > 0; panel += n, panels -= n) {
        int64_t first = panel * TN_AMX_LANES, lanes = o->lanes - first;
        const char *src = o->src + first * o->lane;
        n = 1;
        if (rows) pack_rows(o, src, lanes < TN_AMX_LANES ? lanes : TN_AMX_LANES, dst, &r);
        else if (whole && panels >= together && lanes >= together * TN_AMX_LANES)
            n = together, pack_whole_lines(o, src, dst, steps * TN_AMX_TILE, &r);
        else pack_lines(o, src, lanes < TN_AMX_LANES ? lanes : TN_AMX_LANES, dst, &r);
        for (int64_t s = 0; s < n * steps; s++, dst += TN_AMX_TILE)
            if (rows == o->is_b) transpose_tile(dst);
    }
    if (o->e > 1) widen_range(range, &r);
}

/* --- sums: tiles 0 to 3 are C, 4 and 5 A, 6 and 7 B --- */

/* Asks for some of the 32 rows of C in each step, since more than a few lines at once would hold up
 * the loads of tiles. */
static inline void fetch(char *c, int64_t c_row, int64_t step, int64_t steps)
{
    int64_t each = steps < 32 ? (32 + steps - 1) / steps : 1;
    for (int64_t i = step * each; i < (step + 1) * each && i < 32; i++) {
        __builtin_prefetch(c + i * c_row, 1);
        __builtin_prefetch(c + i * c_row + 64, 1);
    }
}

#define START(t, place)                                                                            \
    if (add) _tile_loadd(t, place, c_row);                                                         \
    else _tile_zero(t)

#define BLOCK(name)                                                                                \
    static void name(int64_t steps, const char *a, const int64_t *at, int64_t a_row,               \
                     int64_t a_panel, const char *b, int64_t b_panel, char *c, int64_t c_row,      \
                     bool add)

/* A passes through: what stays in the first cache is B. */
#define LOAD_A(t, place, row) _tile_stream_loadd(t, place, row)

#define BLOCKS(name, dp)                                                                           \
    BLOCK(name##_1_1)                                                                              \
    {                                                                                              \
        (void)a_panel, (void)b_panel;                                                              \
        START(0, c);                                                                               \
        for (int64_t s = 0; s < steps; s++, b += TN_AMX_TILE) {                                    \
            LOAD_A(4, a + at[s], a_row);                                                           \
            _tile_loadd(6, b, 64);                                                                 \
            dp(0, 4, 6);                                                                           \
        }                                                                                          \
        _tile_stored(0, c, c_row);                                                                 \
    }                                                                                              \
    BLOCK(name##_1_2)                                                                              \
    {                                                                                              \
        (void)a_panel;                                                                             \
        START(0, c);                                                                               \
        START(1, c + 64);                                                                          \
        for (int64_t s = 0; s < steps; s++, b += TN_AMX_TILE) {                                    \
            LOAD_A(4, a + at[s], a_row);                                                           \
            _tile_loadd(6, b, 64);                                                                 \
            dp(0, 4, 6);                                                                           \
            _tile_loadd(7, b + b_panel, 64);                                                       \
            dp(1, 4, 7);                                                                           \
        }                                                                                          \
        _tile_stored(0, c, c_row);                                                                 \
        _tile_stored(1, c + 64, c_row);                                                            \
    }                                                                                              \
    BLOCK(name##_2_1)                                                                              \
    {                                                                                              \
        (void)b_panel;                                                                             \
        char *below = c + 16 * c_row;                                                              \
        START(0, c);                                                                               \
        START(2, below);                                                                           \
        for (int64_t s = 0; s < steps; s++, b += TN_AMX_TILE) {                                    \
            const char *x = a + at[s];                                                             \
            _tile_loadd(6, b, 64);                                                                 \
            LOAD_A(4, x, a_row);                                                                   \
            dp(0, 4, 6);                                                                           \
            LOAD_A(5, x + a_panel, a_row);                                                         \
            dp(2, 5, 6);                                                                           \
        }                                                                                          \
        _tile_stored(0, c, c_row);                                                                 \
        _tile_stored(2, below, c_row);                                                             \
    }                                                                                              \
    BLOCK(name##_2_2)                                                                              \
    {                                                                                              \
        char *below = c + 16 * c_row;                                                              \
        START(0, c);                                                                               \
        START(1, c + 64);                                                                          \
        START(2, below);                                                                           \
        START(3, below + 64);                                                                      \
        for (int64_t s = 0; s < steps; s++, b += TN_AMX_TILE) {                                    \
            const char *x = a + at[s];                                                             \
            _tile_loadd(6, b, 64);                                                                 \
            LOAD_A(4, x, a_row);                                                                   \
            dp(0, 4, 6);                                                                           \
            LOAD_A(5, x + a_panel, a_row);                                                         \
            dp(2, 5, 6);                                                                           \
            if (!add) fetch(c, c_row, s, steps);                                                   \
            _tile_loadd(7, b + b_panel, 64);                                                       \
            dp(1, 4, 7);                                                                           \
            dp(3, 5, 7);                                                                           \
        }                                                                                          \
        _tile_stored(0, c, c_row);                                                                 \
        _tile_stored(1, c + 64, c_row);                                                            \
        _tile_stored(2, below, c_row);                                                             \
        _tile_stored(3, below + 64, c_row);                                                        \
    }

BLOCKS(bf16, _tile_dpbf16ps)
BLOCKS(ss, _tile_dpbssd)
BLOCKS(su, _tile_dpbsud)
BLOCKS(us, _tile_dpbusd)
BLOCKS(uu, _tile_dpbuud)

#define ENTRY(kind, name) [kind - 1] = {name##_1_1, name##_1_2, name##_2_1, name##_2_2}
tn_amx_block *const tn_amx_blocks[TN_AMX_KIND_COUNT - 1][4] = {
    ENTRY(TN_AMX_BF16, bf16), ENTRY(TN_AMX_SS, ss), ENTRY(TN_AMX_SU, su),
    ENTRY(TN_AMX_US, us),     ENTRY(TN_AMX_UU, uu),
};
