/* SPDX-License-Identifier: Apache-2.0 */
/* nest.h - a nest of loops over one tensor, as a function from the number of an iteration to its
 * offset. */
#ifndef TN_OPS_NEST_H
#define TN_OPS_NEST_H

#include <stdint.h>

/* Loops of one iteration are dropped, and those that continue each other merged; so no nest over a
 * tensor with elements is deeper. */
#define TN_NEST_MAX 64

typedef struct {
    uint32_t rank;
    int64_t n; /* iterations */
    int64_t dims[TN_NEST_MAX], steps[TN_NEST_MAX];
} tn_nest;

static inline void tn_nest_init(tn_nest *l)
{
    l->rank = 0;
    l->n = 1;
}
/* Adds the next inner loop. */
void tn_nest_push(tn_nest *l, int64_t dim, int64_t step);
/* Offsets of iterations [begin, begin + n). */
void tn_nest_offsets(const tn_nest *l, int64_t begin, int64_t n, int64_t *out);
/* Iterations from `begin` on whose offsets follow each other by the innermost step. */
static inline int64_t tn_nest_run(const tn_nest *l, int64_t begin)
{
    int64_t dim = l->rank ? l->dims[l->rank - 1] : 1;
    return dim - begin % dim;
}
static inline int64_t tn_nest_inner_step(const tn_nest *l)
{
    return l->rank ? l->steps[l->rank - 1] : 0;
}

#endif
