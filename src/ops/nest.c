/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/nest.h"

#include <string.h>

void tn_nest_push(tn_nest *l, int64_t dim, int64_t step)
{
    l->n *= dim;
    if (dim == 1 || l->n == 0) return;
    if (l->rank && l->steps[l->rank - 1] == step * dim) {
        l->dims[l->rank - 1] *= dim;
        l->steps[l->rank - 1] = step;
        return;
    }
    l->dims[l->rank] = dim;
    l->steps[l->rank++] = step;
}

/* Loop by loop, innermost first: iteration i is at i / inner % dim of a loop. */
void tn_nest_offsets(const tn_nest *l, int64_t begin, int64_t n, int64_t *out)
{
    memset(out, 0, (size_t)n * sizeof *out);
    int64_t inner = 1;
    for (uint32_t k = l->rank; k--;) {
        int64_t dim = l->dims[k], step = l->steps[k];
        int64_t p = begin / inner % dim, left = inner - begin % inner;
        for (int64_t i = 0; i < n;) {
            int64_t stop = n - i < left ? n : i + left, offset = p * step;
            for (; i < stop; i++) out[i] += offset;
            left = inner;
            if (++p == dim) p = 0;
        }
        inner *= dim;
    }
}
