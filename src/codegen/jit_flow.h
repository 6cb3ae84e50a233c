/* SPDX-License-Identifier: Apache-2.0 */
/* jit_flow.h - code with jumps: pieces on single elements, with variables on the stack between
 * them.
 *
 *     tn_jit_flow_begin(&f, jit);
 *     label = tn_jit_flow_label(&f);
 *     tn_jit_flow_place(&f, label);
 *     tn_jit_flow_piece(&f, &piece);
 *     tn_jit_flow_jump(&f, label);
 *     code = tn_jit_flow_end(&f, n_variables, false);
 *
 * In its pieces, ports from TN_JIT_VARIABLE on are variables; port | k << 20 is element k of a
 * port; EXIT_UNLESS jumps to label `aux` unless lane 0 of mask a, and is followed by more of the
 * piece. LOAD_AT and STORE_AT read and write element a (or b, for a store of a) of port `aux`. */
#ifndef TN_CODEGEN_JIT_FLOW_H
#define TN_CODEGEN_JIT_FLOW_H

#include "codegen/jit_write.h"

#define TN_JIT_VARIABLE (1u << 16)

typedef struct {
    size_t at; /* of a displacement of 32 bits */
    uint32_t label;
} tn_jit_flow_jump_from;

typedef struct tn_jit_flow {
    tn_jit *jit;
    tn_x86 x;
    size_t start, frame; /* of the code, of the frame's size in it */
    uint32_t n_slots;    /* for spilling, of the piece that wants most */
    size_t *labels;
    uint32_t n_labels, label_capacity;
    tn_jit_flow_jump_from *jumps;
    uint32_t n_jumps, jump_capacity;
} tn_jit_flow;

void tn_jit_flow_begin(tn_jit_flow *f, tn_jit *j);
void tn_jit_flow_piece(tn_jit_flow *f, const tn_jit_piece *p);
uint32_t tn_jit_flow_label(tn_jit_flow *f);
void tn_jit_flow_place(tn_jit_flow *f, uint32_t label);
void tn_jit_flow_jump(tn_jit_flow *f, uint32_t label);
/* Jumps to `top`, the beginning of a loop, unless the code's watch wants it to end: then to `out`.
 */
void tn_jit_flow_jump_back(tn_jit_flow *f, uint32_t top, uint32_t out);
/* Jumps if the variable, an integer of 1 or 4 bytes, equals `to`. */
void tn_jit_flow_jump_if(tn_jit_flow *f, int32_t variable, unsigned bytes, uint32_t to,
                         uint32_t label);
/* The code, called with the address of a tn_jit_watch as n; NULL, and nothing left, when `abandon`.
 */
const tn_jit_code *tn_jit_flow_end(tn_jit_flow *f, uint32_t n_variables, bool abandon);

#endif
