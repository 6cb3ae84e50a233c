/* SPDX-License-Identifier: Apache-2.0 */
/* rows_code.h - machine code for a group of rows: all its steps for a row before the next one.
 *
 * What is reduced is folded as it is made, in registers, and what a row comes to stays there.
 * Between reductions elements are made again where that costs little, else they are kept in memory
 * of one row. The bits are those of the steps alone.
 *
 * Short rows are turned: some hundred of them become columns of memory that is kept, the code goes
 * through a vector of rows at a time, each column of which is a vector, and its columns of results
 * become rows again. Threads: immutable. */
#ifndef TN_CODEGEN_ROWS_CODE_H
#define TN_CODEGEN_ROWS_CODE_H

#include "codegen/rows.h"

/* What a port of the code is at its first row. */
typedef enum {
    TN_ROWS_AT_VALUE, /* value `ref` */
    TN_ROWS_AT_KEPT,  /* memory of a row */
    TN_ROWS_AT_COUNTS /* 0, 1, 2, ... */
} tn_rows_at;

typedef struct {
    tn_rows_at at;
    uint32_t ref;
    int64_t offset, row_bytes; /* to be added, once and for each row */
    int64_t bytes;             /* of an element */
    const tn_access_map *map;  /* or NULL: of the element where a row begins, */
    uint32_t n_outer;          /* by so many of its dimensions, rows along the last of which are
                                  row_bytes apart */
} tn_rows_port;

/* What becomes columns before the code runs, or rows behind it: value `ref`, from `offset` of the
 * memory that is kept on. */
typedef struct {
    uint32_t ref;
    bool is_output;
    int64_t offset, columns, apart, bytes; /* `bytes` of an element */
} tn_rows_turned;

typedef struct tn_rows_code {
    const tn_jit_code *code;
    const tn_jit_code *streaming; /* with outputs that go past the caches, or NULL */
    const tn_rows_port *ports;
    uint32_t n_ports;
    bool has_maps;
    const int32_t *counts;
    size_t kept_bytes;
    const uint64_t *kept_from; /* [values]: see tn_rows */
    int64_t turned;            /* rows that are turned at once, or 0 */
    uint32_t lanes, n_moves;   /* rows that the code does at once; what is turned */
    const tn_rows_turned *moves;
} tn_rows_code;

enum { TN_ROWS_CODE_PORTS = 48 };

/* NULL where there is none of this group. */
const tn_rows_code *tn_rows_code_make(tn_jit *jit, tn_arena *a, const tn_rows *p);
/* Rows [first, first + n); at: where values are, kept: c->kept_bytes aligned to 64. */
void tn_rows_code_run(const tn_rows_code *c, const tn_rows *p, const uintptr_t *at, int64_t first,
                      int64_t n, char *kept);

#endif
