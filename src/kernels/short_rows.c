/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/short_rows.h"

#include <string.h>

enum {
    CHUNK = 8192,            /* bytes of lanes that are made at once */
    ROW_BYTES = 256,         /* of lanes, or elements, of one row at most */
    LAST = 2 * TN_SHORT_ROWS /* rows that are copied, lest something behind them is read */
};

tn_short_rows tn_short_rows_of(tn_isa isa, tn_op_kind op, tn_element_type from)
{
#if defined __x86_64__
    if (isa == TN_ISA_AVX512) return tn_find_short_rows_avx512(op, from);
    if (isa == TN_ISA_AVX2) return tn_find_short_rows_avx2(op, from);
#endif
    (void)isa;
    return tn_find_short_rows_baseline(op, from);
}

/* A multiple of TN_SHORT_ROWS rows, behind which so much may be read. */
static void fold(const tn_short_rows *f, const char *rows, int64_t length, int64_t padded,
                 int64_t n, char *out)
{
    _Alignas(64) char lanes[CHUNK + TN_SHORT_LANES * 8], results[CHUNK];
    int64_t most = CHUNK / (padded * f->lane_bytes);
    bool as_is = f->is_plain && length == padded;
    for (int64_t at = 0, c; at < n; at += c) {
        c = n - at < most ? n - at : most;
        const char *from = rows + (size_t)(at * length) * f->from_bytes;
        char *to = out + (size_t)at * f->to_bytes;
        if (!as_is) f->load(f, from, length, padded, c, lanes);
        f->tree(as_is ? from : lanes, padded, c, f->store ? results : to);
        if (f->store) f->store(f, results, c, to);
    }
}

void tn_short_rows_fold(const tn_short_rows *f, const void *rows, int64_t length, int64_t n,
                        void *out)
{
    int64_t padded = 2;
    while (padded < length) padded *= 2;
    int64_t read = padded < TN_SHORT_LANES ? TN_SHORT_LANES : padded;
    int64_t whole = f->is_plain && length == padded ? n : (n * length - read) / length + 1;
    whole = whole < 0 ? 0 : whole / TN_SHORT_ROWS * TN_SHORT_ROWS;
    if (whole) fold(f, rows, length, padded, whole, out);
    for (int64_t at = whole, c; at < n; at += c) {
        _Alignas(64) char copy[LAST * ROW_BYTES], some[LAST * 16];
        c = n - at < TN_SHORT_ROWS ? n - at : TN_SHORT_ROWS;
        size_t bytes = (size_t)(c * length) * f->from_bytes;
        memcpy(copy, (const char *)rows + (size_t)(at * length) * f->from_bytes, bytes);
        memset(copy + bytes, 0, (size_t)(LAST * length) * f->from_bytes - bytes);
        fold(f, copy, length, padded, TN_SHORT_ROWS, some);
        memcpy((char *)out + (size_t)at * f->to_bytes, some, (size_t)c * f->to_bytes);
    }
}
