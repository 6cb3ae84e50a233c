/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/reduce_rows.h"

#include <string.h>

static tn_line_folds find(tn_isa isa, tn_op_kind op, tn_element_type from)
{
#if defined __x86_64__
    if (isa == TN_ISA_AVX512) return tn_find_line_folds_avx512(op, from);
    if (isa == TN_ISA_AVX2) return tn_find_line_folds_avx2(op, from);
#endif
    (void)isa;
    return tn_find_line_folds_baseline(op, from);
}

tn_line_folds tn_line_folds_of(tn_isa isa, tn_op_kind op, tn_element_type from)
{
    tn_line_folds f = find(isa, op, from);
    f.short_rows = tn_short_rows_of(isa, op, from);
    return f;
}

/* Lanes of some rows, of which a tree is made together. */
static void fold_long_rows(const tn_line_folds *f, const char *x, int64_t length, size_t from_bytes,
                           int64_t n, char *out, size_t acc_bytes)
{
    _Alignas(64) char lanes[TN_SHORT_ROWS * 256], results[TN_SHORT_ROWS * 8];
    for (int64_t at = 0, c; at < n; at += c, out += (size_t)c * acc_bytes) {
        c = n - at < TN_SHORT_ROWS ? n - at : TN_SHORT_ROWS;
        for (int64_t i = 0; i < c; i++, x += (size_t)length * from_bytes)
            f->lanes(x, length, lanes + i * 256);
        if (c < TN_SHORT_ROWS) memset(lanes + c * 256, 0, (size_t)(TN_SHORT_ROWS - c) * 256);
        f->short_rows.tree(lanes, f->short_rows.most, TN_SHORT_ROWS, results);
        memcpy(out, results, (size_t)c * acc_bytes);
    }
}

void tn_fold_rows(const tn_line_folds *f, const void *rows, int64_t length, size_t from_bytes,
                  int64_t n, void *out, size_t acc_bytes)
{
    if (f->short_rows.tree && length > 1 && length <= f->short_rows.most) {
        tn_short_rows_fold(&f->short_rows, rows, length, n, out);
        return;
    }
    if (f->lanes && f->short_rows.tree && n > 1 && length > f->short_rows.most) {
        fold_long_rows(f, rows, length, from_bytes, n, out, acc_bytes);
        return;
    }
    const char *x = rows;
    char *to = out;
    for (int64_t i = 0; i < n; i++, x += (size_t)length * from_bytes, to += acc_bytes)
        f->row(x, length, to);
}
