/* SPDX-License-Identifier: Apache-2.0 */
/* text_chlo.h - between the files that read CHLO, whose ops are expanded: into one op of StableHLO,
 * into a call of a function that is written here as text and read behind the module, or into a
 * custom call that Tenon answers itself (ops/special.c). */
#ifndef TN_READER_TEXT_CHLO_H
#define TN_READER_TEXT_CHLO_H

#include "ir/text.h"
#include "reader/text_parser.h"

/* An op of CHLO as it was read; operands and results are in the tn_parse_op. */
typedef struct {
    const char *name;       /* without "chlo." */
    const tn_attr *dict[2]; /* properties and attributes; NULL: none */
    uint32_t n_inputs;      /* scan: the other operands are initial values */
    tn_region *region;
} tn_chlo_op;

/* An attribute, NULL when it is absent; TN_CHLO_INT gives the integer of one, or of an enumeration.
 */
const tn_attr *tn_chlo_attr(const tn_chlo_op *c, const char *key);
int64_t tn_chlo_int(const tn_chlo_op *c, const char *key, int64_t otherwise);

const tn_type *tn_chlo_operand(const tn_parse_op *o, uint32_t i);
/* A static tensor without quantization, else UNIMPLEMENTED. */
tn_status *tn_chlo_check_static(tn_parser *p, const tn_parse_op *o, const tn_chlo_op *c,
                                const tn_type *t) TN_MUST_USE;
/* A static tensor type of `t`'s element type. */
const tn_type *tn_chlo_tensor(tn_parser *p, tn_element_type e, uint32_t rank, const int64_t *dims);

/* Begins the function that stands for the op: "func.func private @name(%a0: ...) -> (...) {". */
void tn_chlo_begin(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c, tn_text *t,
                   const char **name);
/* Ends it with what it returns, "%r, %s", and makes the op a call of it. */
tn_status *tn_chlo_end(tn_parser *p, tn_parse_op *o, tn_text *t, const char *name,
                       const char *returned) TN_MUST_USE;
/* "(type, type) -> type" */
void tn_chlo_signature(tn_text *t, const tn_type *const *in, uint32_t n, const tn_type *out);

/* (%a, k = 3) {..} : type -> (types), or in generic form */
tn_status *tn_parse_top_k(tn_parser *p, tn_parse_op *o, bool generic) TN_MUST_USE;

/* Writers of functions. */
typedef tn_status *tn_chlo_expand(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c);
tn_chlo_expand tn_chlo_broadcast, tn_chlo_conj, tn_chlo_constant_like, tn_chlo_is_inf,
    tn_chlo_square, tn_chlo_scan, tn_chlo_ragged_dot;

#endif
