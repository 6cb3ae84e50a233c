/* SPDX-License-Identifier: Apache-2.0 */
/* rows_code.h - machine code for a group of rows: all its steps for a row before the next one.
 *
 * What is reduced is folded as it is made, in registers, and what a row comes to stays there.
 * Between reductions elements are made again where that costs little, else they are kept in memory
 * of one row. The bits are those of the steps alone. Threads: immutable. */
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

typedef struct tn_rows_code {
    const tn_jit_code *code;
    const tn_jit_code *streaming; /* with outputs that go past the caches, or NULL */
    const tn_rows_port *ports;
    uint32_t n_ports;
    bool has_maps;
    const int32_t *counts;
    size_t kept_bytes;
    const uint64_t *kept_from; /* [values]: see tn_rows */
} tn_rows_code;

enum { TN_ROWS_CODE_PORTS = 48 };

/* NULL where there is none of this group. */
const tn_rows_code *tn_rows_code_make(tn_jit *jit, tn_arena *a, const tn_rows *p);
/* Rows [first, first + n); at: where values are, kept: c->kept_bytes aligned to 64. */
void tn_rows_code_run(const tn_rows_code *c, const tn_rows *p, const uintptr_t *at, int64_t first,
                      int64_t n, char *kept);

#endif
