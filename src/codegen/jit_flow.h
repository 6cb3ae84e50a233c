/* SPDX-License-Identifier: Apache-2.0 */
/* jit_flow.h - code with jumps: pieces with variables on the stack between them.
 *
 *     tn_jit_flow_begin(&f, jit, 1, 0);
 *     label = tn_jit_flow_label(&f);
 *     tn_jit_flow_place(&f, label);
 *     tn_jit_flow_piece(&f, &piece);
 *     tn_jit_flow_jump(&f, label);
 *     code = tn_jit_flow_end(&f, n_variables, false);
 *
 * In its pieces, ports from TN_JIT_VARIABLE on are variables; port | k << 20 is element k of a
 * port; EXIT_UNLESS jumps to label `aux` unless lane 0 of mask a, and is followed by more of the
 * piece. LOAD_AT and STORE_AT read and write element a (or b, for a store of a) of port `aux`.
 *
 * With more lanes than one, all of the code runs for some elements of strips after the other, from
 * the watch's `begin` to its `end`: LOAD and STORE of ports have them from element k of the port
 * on, LOAD_STRIP and STORE_STRIP also from a variable element on, as LOAD_AT and STORE_AT; SPLAT,
 * PUT, LOAD_AT and STORE_AT are for one element, the same in all lanes.
 *
 * HALF and SPREAD mix lanes.
 *
 * A piece may be a loop as a whole: PHIs at its beginning are variables that are in registers while
 * it runs, NEXTs at its end name what they hold in the next turn (`aux`: the PHI), KEEPs behind its
 * one EXIT_UNLESS name the PHIs and their variables. */
#ifndef TN_CODEGEN_JIT_FLOW_H
#define TN_CODEGEN_JIT_FLOW_H

#include "codegen/jit_write.h"

#define TN_JIT_VARIABLE TN_WRITER_VARIABLE
#define TN_JIT_PHIS     32 /* of one loop, at most */

typedef struct {
    size_t at; /* of a displacement of 32 bits */
    uint32_t label;
} tn_jit_flow_jump_from;

typedef struct tn_jit_flow {
    tn_jit *jit;
    tn_x86 x;
    uint32_t lanes, group; /* of a vector, of what is done at once; group 0: no strips */
    bool rows;             /* see tn_jit_flow_begin_rows */
    size_t start, frame;   /* of the code, of the frame's size in it */
    size_t base, top;      /* of the place of variables in the code, of the first group */
    uint32_t n_slots;      /* for spilling, of the piece that wants most */
    size_t *labels;
    uint32_t n_labels, label_capacity;
    tn_jit_flow_jump_from *jumps;
    uint32_t n_jumps, jump_capacity;
} tn_jit_flow;

/* `group`: of how many elements of strips pieces are, a multiple of `lanes`; 0: of none. */
void tn_jit_flow_begin(tn_jit_flow *f, tn_jit *j, uint32_t lanes, uint32_t group);
void tn_jit_flow_piece(tn_jit_flow *f, const tn_jit_piece *p);
/* A piece that is a loop, which ends at its EXIT_UNLESS, whose label is what follows it, or when
 * the code's watch wants it to. */
void tn_jit_flow_loop(tn_jit_flow *f, const tn_jit_piece *p, uint32_t out);
uint32_t tn_jit_flow_label(tn_jit_flow *f);
void tn_jit_flow_place(tn_jit_flow *f, uint32_t label);
void tn_jit_flow_jump(tn_jit_flow *f, uint32_t label);
/* Jumps to `top`, the beginning of a loop, unless the code's watch wants it to end: then to `out`.
 */
void tn_jit_flow_jump_back(tn_jit_flow *f, uint32_t top, uint32_t out);
/* Jumps if the variable, an integer of 1 or 4 bytes, equals `to`. */
void tn_jit_flow_jump_if(tn_jit_flow *f, int32_t variable, unsigned bytes, uint32_t to,
                         uint32_t label);
/* Code that goes through rows, called with their number as n: ports are indexed by the column at
 * hand, and `tail` lanes are in TAIL. Every piece until tn_jit_flow_end_rows is of each row. */
void tn_jit_flow_begin_rows(tn_jit_flow *f, tn_jit *j, uint32_t lanes, uint32_t tail);
/* The column at hand. */
void tn_jit_flow_column(tn_jit_flow *f, uint32_t column);
/* A piece for columns from the one at hand up to `end`, of `block` columns at most, `step` at a
 * time: a loop whose PHIs are at its beginning and whose NEXTs at its end. */
void tn_jit_flow_columns(tn_jit_flow *f, const tn_jit_piece *p, uint32_t step, uint32_t block,
                         uint32_t end);
/* Jumps if the column at hand is before `end`. */
void tn_jit_flow_jump_before(tn_jit_flow *f, uint32_t end, uint32_t label);
/* Ends a row, behind which port k lies bytes[k] further. */
void tn_jit_flow_end_rows(tn_jit_flow *f, const int32_t *bytes, uint32_t n_ports);
/* The code, called with the address of a tn_jit_watch as n; NULL, and nothing left, when `abandon`.
 */
const tn_jit_code *tn_jit_flow_end(tn_jit_flow *f, uint32_t n_variables, bool abandon);

#endif
