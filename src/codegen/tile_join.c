/* SPDX-License-Identifier: Apache-2.0 */
/* tile_join.c - concatenates of what a tile program makes: each tile of the parts goes where it
 * belongs in the result. */
#include <string.h>

#include "codegen/tile_builder.h"
#include "kernels/interleave.h"
#include "kernels/strided_loops.h"

#define PART_AT_LEAST 64 /* elements */

int64_t tn_group_space(const tn_op *op)
{
    const tn_value *v = op->kind == TN_OP_concatenate ? op->operands[0] : &op->results[0];
    return tn_type_elements(v->type);
}

bool tn_tile_may_join(const tn_op *op)
{
    if (op->kind != TN_OP_concatenate || op->n_operands < 2 || op->n_operands > TN_TILE_PARTS)
        return false;
    const tn_type *part = tn_operand_type(op, 0);
    if (!tn_type_is_static(tn_result_type(op, 0)) || tn_result_type(op, 0)->quantization)
        return false;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_type *t = tn_operand_type(op, i);
        if (!tn_type_is_static(t)) return false;
        for (uint32_t d = 0; d < t->rank; d++)
            if (t->dims[d] != part->dims[d]) return false;
    }
    return tn_type_elements(part) >= PART_AT_LEAST;
}

tn_tile_join *tn_tile_join_of(const tn_op *op, tn_arena *a)
{
    tn_tile_join *j = TN_NEW(a, tn_tile_join);
    const tn_type *part = tn_operand_type(op, 0);
    int64_t run = 1;
    for (uint32_t d = (uint32_t)tn_op_int(op, TN_ATTR_dimension, 0); d < part->rank; d++)
        run *= part->dims[d];
    *j = (tn_tile_join){op->n_operands, tn_element_type_bytes(part->element), run};
    return j;
}

/* One element of each part after the other. */
static void interleave(int64_t k, int64_t width, const char *const *from, int64_t n, char *to)
{
    int64_t done = width >= 4 ? tn_interleave((size_t)width, k, from, n, to) : 0;
    for (int64_t p = 0; p < k && done < n; p++) {
        tn_strided_inner l = {.d1 = 1, .d0 = n - done, .dst0 = k * width, .src0 = width};
        tn_copy_loop((size_t)width, &l, to + (done * k + p) * width, from[p] + done * width);
    }
}

/* The runs of one part, of which the first begins behind `at` elements. */
static void place_part(const tn_tile_join *j, int64_t at, int64_t n, const char *from, char *to)
{
    int64_t w = j->bytes, row = j->run * j->n_parts;
    if (at) {
        int64_t some = j->run - at < n ? j->run - at : n;
        memcpy(to + at * w, from, (size_t)(some * w));
        from += some * w;
        to += row * w;
        n -= some;
    }
    int64_t rows = n / j->run, rest = n % j->run;
    if (rows) {
        tn_strided_inner l = {
            .d1 = rows, .d0 = j->run, .dst1 = row * w, .dst0 = w, .src1 = j->run * w, .src0 = w};
        tn_copy_loop((size_t)w, &l, to, from);
    }
    if (rest) memcpy(to + rows * row * w, from + rows * j->run * w, (size_t)(rest * w));
}

void tn_tile_join_run(const tn_tile_join *j, const char *const *from, int64_t begin, int64_t n,
                      char *to)
{
    int64_t w = j->bytes, k = j->n_parts, run = j->run, bytes = run * w;
    bool is_word = bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
    if (run == 1 || (is_word && begin % run == 0 && n % run == 0)) {
        interleave(k, bytes, from, n / run, to + begin * k * w);
        return;
    }
    char *row = to + begin / run * run * k * w;
    for (int64_t p = 0; p < k; p++) place_part(j, begin % run, n, from[p], row + p * bytes);
}
