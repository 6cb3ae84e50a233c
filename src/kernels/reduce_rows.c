/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/reduce_rows.h"

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

void tn_fold_rows(const tn_line_folds *f, const void *rows, int64_t length, size_t from_bytes,
                  int64_t n, void *out, size_t acc_bytes)
{
    if (f->short_rows.tree && length > 1 && length <= f->short_rows.most) {
        tn_short_rows_fold(&f->short_rows, rows, length, n, out);
        return;
    }
    const char *x = rows;
    char *to = out;
    for (int64_t i = 0; i < n; i++, x += (size_t)length * from_bytes, to += acc_bytes)
        f->row(x, length, to);
}
