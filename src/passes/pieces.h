/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.h - what a value has at each place of one of its dimensions, as values of their own. */
#ifndef TN_PASSES_PIECES_H
#define TN_PASSES_PIECES_H

#include "passes/rewrite.h"

/* Places of a dimension, at most. */
enum { TN_PIECES = 16 };

typedef struct {
    tn_module *m;
    tn_op *where; /* new ops go before it */
    uint32_t d;   /* the dimension */
    int looks;    /* values that may be looked at */
    int64_t
        sliced; /* elements of an array that broadcasts repeat and that may be sliced; 0: none */
} tn_pieces;

/* Fills out[v->type->dims[d]] with arrays without dimension d; false: they aren't known, or would
 * have to be sliced. */
bool tn_pieces_of(tn_pieces *p, tn_value *v, tn_value **out);

static inline bool tn_is_whole(const tn_type *t)
{
    return (t->element == TN_I1 ||
            (tn_is_integer(t->element) && tn_element_type_bits(t->element) >= 8)) &&
           !t->quantization && tn_type_is_static(t);
}

#endif
