/* SPDX-License-Identifier: Apache-2.0 */
/* rows_members.h - the members of a group of rows while it is formed; for rows.c, which chooses
 * them, and rows_build.c, which makes a group of them, alone. Threads: one. */
#ifndef TN_CODEGEN_ROWS_MEMBERS_H
#define TN_CODEGEN_ROWS_MEMBERS_H

#include "codegen/rows.h"

/* What becomes of a cluster near a group: it is part of it, or runs before or behind it. */
typedef enum { TN_ROWS_UNDECIDED, TN_ROWS_MEMBER, TN_ROWS_BEFORE, TN_ROWS_AFTER } tn_rows_role;

typedef struct {
    tn_cluster_context *c;
    const tn_cluster *list;
    uint32_t n;
    uint32_t *last_read;      /* [n_values]: 1 + the last cluster that reads it */
    uint32_t *made;           /* [n_values]: 1 + the cluster that makes it */
    const tn_gemm **products; /* [n]: of a cluster that is one, or NULL */
    uint8_t *roles;           /* [n] */
} tn_rows_finder;

/* What a group goes through: rows, or the elements of lines that are cut into shares. */
typedef struct {
    tn_lines lines; /* where it isn't whole rows */
    int64_t rows;
    bool whole;
} tn_rows_space;

/* Is it a reduction of lines by one op? Then says how. `op` may be NULL. */
bool tn_rows_find_lines(const tn_op *op, tn_lines *out);
/* 1 + the cluster that makes input i of `k`; 0: it is from outside. */
uint32_t tn_rows_maker(const tn_rows_finder *f, const tn_cluster *k, uint32_t i);

static inline uint32_t tn_rows_n_inputs(const tn_cluster *k)
{
    return k->tile ? k->tile->n_inputs : k->op->n_operands;
}

/* Nothing is done for it when the program runs. */
static inline bool tn_rows_is_passed_over(const tn_cluster *k)
{
    return !k->tile && (tn_is_relabelling(k->op) || k->op->kind == TN_OP_constant);
}

/* The group of the members among clusters [first, end), or NULL where it can't be made: it would
 * have too many values or steps, or blocks too small for its products. */
const tn_rows *tn_rows_build(tn_rows_finder *f, uint32_t first, uint32_t end,
                             const tn_rows_space *s);

#endif
