/* SPDX-License-Identifier: Apache-2.0 */
/* sort.h - sorts tensors together along a dimension by a comparator on their elements.
 *
 * Both ways sort permutations, stably, and only then move elements; a comparator that is no order
 * gives some permutation. Comparators that compare keys, one after the other, are sorted by those
 * keys as integers; all others are evaluated on many pairs at once. */
#ifndef TN_OPS_SORT_H
#define TN_OPS_SORT_H

#include "kernels/elementwise.h"
#include "ops/body.h"

typedef struct {
    const tn_op *op; /* for messages */
    const tn_eval_context *ctx;
    const tn_region *comparator; /* (x0, y0, x1, y1, ...) -> i1: is x before y? */
    const tn_body *body;         /* the same, compiled */
    const void **captures;
    uint32_t n;              /* tensors of one shape */
    const tn_tensor *inputs; /* [n] */
    tn_tensor *results;      /* [n]; result i may be the memory of input i */
    uint32_t dim;
    const bool *is_place; /* [n]: elements of an input are their places along dim; NULL: of none.
                             In tn_sort_head_run such inputs may have no memory. */
    /* Filled in by tn_sort_run: lines of `size` elements, `step` apart. */
    int64_t lines, size, step;
} tn_sort;

tn_status *tn_sort_run(tn_sort *s) TN_MUST_USE;
/* The first k elements of each line as a stable sort gives them; results have k elements along
 * `dim`, 0 < k <= size. Takes time in proportion to what it reads where k is small. */
tn_status *tn_sort_head_run(tn_sort *s, int64_t k) TN_MUST_USE;

/* --- between the files --- */

/* Copies inputs that are the memory of their results, for who reads them while it writes. `places`:
 * also those that hold places. */
tn_status *tn_sort_keep_inputs(tn_sort *s, bool places) TN_MUST_USE;

static inline int64_t tn_sort_line(const tn_sort *s, int64_t line)
{
    return line / s->step * s->size * s->step + line % s->step;
}
/* Writes one line of the results: element k is element order[k] of the line, in elements of the
 * tensor from its start. */
void tn_sort_place(const tn_sort *s, int64_t line, const int64_t *order);
/* The keys of all elements as unsigned integers of their order, uint32_t or, if `wide`, uint64_t.
 */
typedef struct {
    bool wide, descending;
    bool gives_elements;     /* one tensor, and its elements can be made of these keys */
    tn_element_type element; /* of the key itself */
    void *values;
} tn_sort_values;
/* For a comparator of keys: *n of them, the first one first, in scratch; *n = 0 for others. Keys
 * that give their elements are in `memory` if they are as wide as these; NULL: in scratch too. */
tn_status *tn_sort_make_values(const tn_sort *s, void *memory, uint32_t *n,
                               tn_sort_values **out) TN_MUST_USE;
/* A key that is an element of input `input` itself. */
typedef struct {
    uint32_t input;
    tn_element_type element;
    bool descending, total, wide;
    tn_kernel to_f32; /* of narrow floats */
} tn_sort_element_key;
/* False: the comparator compares by something else. */
bool tn_sort_find_element_key(const tn_sort *s, tn_sort_element_key *out) TN_MUST_USE;
/* Keys as above of n <= TN_BODY_TILE elements side by side. */
void tn_sort_elements_to_keys(const tn_sort_element_key *k, const void *elements, int64_t n,
                              void *out);
/* Sorts by keys if it can: *done. */
tn_status *tn_sort_by_keys(const tn_sort *s, bool *done) TN_MUST_USE;
tn_status *tn_sort_by_merging(const tn_sort *s) TN_MUST_USE;

#endif
