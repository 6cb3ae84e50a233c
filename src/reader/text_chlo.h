/* SPDX-License-Identifier: Apache-2.0 */
/* text_chlo.h - between the files that read CHLO, whose ops are expanded: into one op of StableHLO,
 * into a call of a function that is written here as text and read behind the module, or into a
 * custom call that Tenon answers itself (ops/special.c). */
#ifndef TN_READER_TEXT_CHLO_H
#define TN_READER_TEXT_CHLO_H

#include "ir/text.h"
#include "reader/text_parser.h"

typedef struct tn_chlo_op tn_chlo_op;
/* Writes the function that stands for an op, and makes the op a call of it. */
typedef tn_status *tn_chlo_expand(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c);

/* An op of CHLO as it was read; operands and results are in the tn_parse_op. */
struct tn_chlo_op {
    const char *name;       /* without "chlo." */
    tn_chlo_expand *expand; /* NULL: it becomes a custom call */
    const tn_attr *dict[2]; /* properties and attributes; NULL: none */
    uint32_t n_inputs;      /* scan: the other operands are initial values */
    tn_region *region;
};

/* Looks up an op by its name without "chlo." and sets o->kind to what it becomes; false: it is not
 * one that is read. o->op, its operands and results, and what `c` holds are the caller's to fill
 * in before tn_chlo_close, which makes it what it becomes. */
bool tn_chlo_open(tn_parser *p, tn_parse_op *o, const char *name, size_t n, tn_chlo_op *c);
tn_status *tn_chlo_close(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c) TN_MUST_USE;
/* Sets c->n_inputs as the op's attributes say. */
void tn_chlo_count_inputs(tn_chlo_op *c, uint32_t n_operands);
/* A DICT of one integer. */
const tn_attr *tn_chlo_pair(tn_parser *p, const char *key, int64_t value);

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

tn_chlo_expand tn_chlo_broadcast, tn_chlo_conj, tn_chlo_constant_like, tn_chlo_function,
    tn_chlo_is_inf, tn_chlo_square, tn_chlo_scan, tn_chlo_ragged_dot, tn_chlo_top_k;

#endif
