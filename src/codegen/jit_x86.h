/* SPDX-License-Identifier: Apache-2.0 */
/* jit_x86.h - encodings of x86-64 vector instructions, and the code of a compilation as bytes. For
 * the files of the emitter alone. */
#ifndef TN_CODEGEN_JIT_X86_H
#define TN_CODEGEN_JIT_X86_H

#include <string.h>

#include "codegen/jit.h"

/* General registers, by their numbers. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11 };

/* How an instruction's operands stand in its encoding: result, first operand, last one. */
typedef enum {
    SHAPE_OTHER,
    SHAPE_RVM, /* reg, vvvv, r/m */
    SHAPE_RM,  /* reg, r/m */
    SHAPE_VMI, /* vvvv, r/m, with `op` in the opcode's digit and an immediate */
    SHAPE_FMA
} tn_jit_shape;

typedef struct {
    uint8_t map, prefix,
        opcode; /* map 1: 0F, 2: 0F38, 3: 0F3A; prefix 0: none, 1: 66, 2: F3, 3: F2 */
} tn_x86_opcode;

typedef struct {
    tn_jit_shape shape;
    uint8_t digit;
    bool folds;                /* the last operand may be in memory */
    bool has_imm;              /* `imm` of the instruction follows */
    tn_x86_opcode four, eight; /* for elements of 4 and 8 bytes */
} tn_jit_encoding;

extern const tn_jit_encoding tn_jit_encodings[TN_JIT_OP_COUNT];

typedef enum {
    AT_REGISTER,
    AT_CONSTANT, /* of the pool; `index` */
    AT_STACK,    /* rsp + disp */
    AT_INDEX,    /* base + index * scale + disp */
    AT_BASE,     /* base + disp */
} tn_x86_place;
typedef struct {
    tn_x86_place place;
    uint8_t reg;   /* or base */
    uint8_t scale; /* log2 */
    uint8_t by;    /* the index register; 0: rcx */
    uint32_t index;
    int32_t disp;
} tn_x86_operand;

typedef struct {
    uint64_t bits; /* or the address of a table */
    uint8_t bytes; /* TN_X86_TABLE: of a table of 8 times 4, which is there twice on AVX-512 */
    uint32_t at;   /* once it is written */
} tn_x86_constant;
#define TN_X86_TABLE 32

typedef struct {
    uint32_t at, end; /* of the displacement, and where it counts from */
    uint32_t constant;
} tn_x86_fixup;

typedef struct tn_jit_flow_code {
    tn_jit_code code;
    struct tn_jit_flow_code *next;
} tn_jit_flow_code;

struct tn_jit {
    tn_arena *arena;
    bool avx512, f16, counts;
    uint8_t *bytes;
    size_t size, capacity;
    struct tn_jit_known *known; /* [n_slots]: codes by the hash of their pieces */
    uint32_t n_known, n_slots;
    tn_jit_flow_code *flows;   /* codes with jumps */
    tn_jit_instruction *spare; /* memory of a piece that was dropped; or NULL */
    uint32_t spare_capacity;
};

/* One code while it is written. */
typedef struct {
    tn_jit *j;
    bool avx512;
    tn_x86_constant *constants;
    uint32_t n_constants, constant_capacity;
    tn_x86_fixup *fixups;
    uint32_t n_fixups, fixup_capacity;
} tn_x86;

/* Room for n more bytes at the end of the code, at most 64. */
uint8_t *tn_x86_grow(tn_x86 *x, size_t n);
static inline uint8_t *tn_x86_room(tn_x86 *x, size_t n)
{
    tn_jit *j = x->j;
    if (j->capacity - j->size < n) return tn_x86_grow(x, n);
    j->size += n;
    return j->bytes + j->size - n;
}
static inline void tn_x86_byte(tn_x86 *x, unsigned byte)
{
    *tn_x86_room(x, 1) = (uint8_t)byte;
}
static inline void tn_x86_bytes(tn_x86 *x, const char *hex, size_t n)
{
    memcpy(tn_x86_room(x, n), hex, n);
}
static inline void tn_x86_u32(tn_x86 *x, uint32_t v)
{
    memcpy(tn_x86_room(x, 4), &v, 4);
}
tn_x86_operand tn_x86_constant_operand(tn_x86 *x, unsigned bytes, uint64_t bits);

/* A VEX or EVEX instruction. length: 0, 1, 2 for 16, 32, 64 bytes; w: the W bit; mask: k register
 * that merges, or leaves 0 (AVX-512); imm: -1 for none. A constant is spread over the vector
 * (AVX-512), or is one as wide as a vector. */
typedef struct {
    tn_x86_opcode code;
    uint8_t w, length, mask, zero, broadcast;
    int imm;
} tn_x86_form;
void tn_x86_vector(tn_x86 *x, const tn_x86_form *f, unsigned reg, unsigned vvvv,
                   const tn_x86_operand *rm);
/* The same, in VEX whatever the machine has: mask registers and moves to general registers. */
void tn_x86_vex(tn_x86 *x, const tn_x86_form *f, unsigned reg, unsigned vvvv,
                const tn_x86_operand *rm);
/* An instruction on general registers: [0F] opcode, reg, r/m. */
void tn_x86_general(tn_x86 *x, bool wide, bool two_bytes, unsigned opcode, unsigned reg,
                    const tn_x86_operand *rm);
/* The pool, and displacements to it. */
void tn_x86_finish(tn_x86 *x);

static inline tn_x86_operand tn_x86_reg(unsigned r)
{
    return (tn_x86_operand){.place = AT_REGISTER, .reg = (uint8_t)r};
}

#endif
