/* SPDX-License-Identifier: Apache-2.0 */
/* jit_write.h - the state of writing a piece as machine code; for the files of the emitter. */
#ifndef TN_CODEGEN_JIT_WRITE_H
#define TN_CODEGEN_JIT_WRITE_H

#include "codegen/jit_x86.h"

typedef struct {
    int8_t reg;   /* -1: in none */
    int32_t slot; /* of the stack, -1: in none */
    int32_t next; /* the instruction that wants it next */
    bool is_mask, is_dead, pinned;
} tn_writer_value;

typedef struct tn_writer {
    tn_x86 x;
    const tn_jit_piece *p;
    uint32_t lanes;
    unsigned n_registers, temp, temp2; /* temporaries are behind the others */
    tn_jv owner[32], k_owner[8];       /* of the registers that aren't among the free ones, */
    uint32_t free, k_free;             /* a bit for each */
    tn_writer_value *values;
    int32_t *after; /* [3 n]: when an operand is wanted again */
    uint32_t n_slots, n_free_slots;
    uint32_t *free_slots, freed[4], n_freed;
    /* Puts the address of a port into a register, if it isn't in one, and gives where that is. */
    tn_x86_operand (*at)(struct tn_writer *w, uint32_t port);
    struct tn_jit_flow *flow; /* NULL in a loop over elements */
    bool strips;              /* r9 is the first element at hand */
    uint8_t mask, zero;       /* of what is read or written at an index; 0: none */
    void (*exit_to)(struct tn_writer *w, uint32_t label);           /* writes a jump if zero */
    void (*kept)(struct tn_writer *w, const tn_jit_instruction *i); /* notes where in[0] is now */
    void *loop;
} tn_writer;

/* Ports from here on are variables of the stack (jit_flow.h), the same for all lanes' groups. */
#define TN_WRITER_VARIABLE (1u << 16)
/* The k register that code with jumps keeps for the lanes of a row's last group. */
#define TN_WRITER_TAIL 7

void tn_writer_begin(tn_writer *w, const tn_jit_piece *p, uint32_t lanes);
/* Writes all instructions, for the elements at index rcx of the ports; in a loop over elements port
 * | k << 20 is the k-th group of lanes from there. */
void tn_writer_body(tn_writer *w);
/* Writes instructions [first, end) alone. */
void tn_writer_part(tn_writer *w, uint32_t first, uint32_t end);
/* For a loop: what NEXT instructions name goes to the registers of the PHIs, homes[PHI]. */
void tn_writer_next(tn_writer *w, const int8_t *homes);
/* What is in a register, or where reg is -1 in a slot, goes to memory as type e; and back. */
void tn_writer_save(tn_writer *w, tn_element_type e, int reg, int32_t slot, bool k,
                    tn_x86_operand to);
void tn_writer_load(tn_writer *w, tn_element_type e, unsigned r, bool k, tn_x86_operand from);
bool tn_writer_makes_mask(const tn_jit_piece *p, tn_jv v);
bool tn_writer_is_k(const tn_writer *w, tn_jv v);
void tn_writer_spill(tn_writer *w, tn_jv v);
tn_x86_operand tn_writer_port(tn_writer *w, uint64_t aux, unsigned bytes, bool indexed);

#endif
