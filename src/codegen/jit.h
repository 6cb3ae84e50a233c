/* SPDX-License-Identifier: Apache-2.0 */
/* jit.h - machine code for chains of elementwise ops, on x86-64 with AVX2 or AVX-512.
 *
 * A piece of code is first a list of vector instructions on virtual registers (values), each of
 * which is named by its number and defined once. It is then written as a loop over the elements of
 * some arrays, or of one element alone, with values in registers. Writing takes microseconds. The
 * same bits come out as from the kernels of kernels/elementwise.h.
 *
 * Values are elements side by side in the form that their type has in registers: integers up to 32
 * bits are extended to 32 bits, floats up to 32 bits are f32 (rounded to their own type), i64, u64
 * and f64 are as they are, i1 is a mask. Where the machine computes with f16 itself, f16 is as it
 * is in pieces that say so (`half`): values of 2 bytes, whose constants are two of them.
 *
 * Threads: a tn_jit belongs to one compilation; code is immutable. */
#ifndef TN_CODEGEN_JIT_H
#define TN_CODEGEN_JIT_H

#include "base/arena.h"
#include "ir/ir.h"

/* What instructions do; jit_x86.c has their encodings. Operands are a, b, c. FNMA is c - a b; MORE
 * and LESS are b where a > b or a < b doesn't hold; SHL, SHR, SAR and ROL shift by `imm`, SHLV and
 * so on by b; CMP compares by `imm`, ROUND by `imm`. */
typedef enum {
    TN_JIT_NONE,
    TN_JIT_CONST,
    TN_JIT_LOAD,   /* from port `aux`, as type `imm`; in[0] is 1: asks for what lies further on */
    TN_JIT_SPLAT,  /* the first element of port `aux`, as type `imm` */
    TN_JIT_STORE,  /* a to port `aux`, as type `imm` */
    TN_JIT_STREAM, /* the same, past the caches */
    TN_JIT_ASK,    /* for port `aux` early, to be read (`imm` 0; 1: into the second cache) or
                      written (2) */
    /* in code with jumps alone: see jit_flow.h */
    TN_JIT_LOAD_AT,
    TN_JIT_STORE_AT,
    TN_JIT_LOAD_STRIP,
    TN_JIT_STORE_STRIP,
    TN_JIT_PUT,
    TN_JIT_EXIT_UNLESS,
    TN_JIT_KEEP,
    TN_JIT_PHI,
    TN_JIT_NEXT,
    TN_JIT_HALF,   /* lane k is lane k + `imm` of a, 2 * imm lanes from the beginning on */
    TN_JIT_SPREAD, /* lane 0 of a in all lanes */
    TN_JIT_SDIV,
    TN_JIT_SREM,
    TN_JIT_UDIV,
    TN_JIT_UREM,
    /* two operands, of which the second may be in memory */
    TN_JIT_FADD,
    TN_JIT_FSUB,
    TN_JIT_FMUL,
    TN_JIT_FDIV,
    TN_JIT_MORE,
    TN_JIT_LESS,
    TN_JIT_IADD,
    TN_JIT_ISUB,
    TN_JIT_IMUL,
    TN_JIT_AND,
    TN_JIT_OR,
    TN_JIT_XOR,
    TN_JIT_ANDN, /* ~a & b */
    TN_JIT_SMAX,
    TN_JIT_SMIN,
    TN_JIT_UMAX,
    TN_JIT_UMIN,
    TN_JIT_SHLV,
    TN_JIT_SHRV,
    TN_JIT_SARV,
    TN_JIT_SCALE, /* a times 2 to the power of b; AVX-512 */
    TN_JIT_RANGE, /* the larger (`imm` 5) or smaller (4) number, -0 below 0; AVX-512 */
    /* one operand, which may be in memory */
    TN_JIT_SQRT,
    TN_JIT_IABS,
    TN_JIT_ONES, /* bits that are set, and zeros in front: where tn_jit_has_counts */
    TN_JIT_ZEROS,
    TN_JIT_ROUND,
    TN_JIT_EXPONENT, /* AVX-512, as a number; and the rest, signed, from 3/4 to 3/2 */
    TN_JIT_MANTISSA,
    TN_JIT_F32_OF_I32,
    TN_JIT_I32_OF_F32, /* truncates; what doesn't fit is 0x80000000 */
    TN_JIT_F64_OF_F32,
    TN_JIT_F32_OF_F64,
    TN_JIT_F64_OF_I32,
    TN_JIT_I32_OF_F64,
    TN_JIT_I64_OF_I32,
    TN_JIT_U64_OF_U32,
    /* one operand in a register */
    TN_JIT_I32_OF_I64,
    TN_JIT_F16_ROUND, /* f32 to f16 and back */
    TN_JIT_F16_OF_F32,
    TN_JIT_F32_OF_F16,
    TN_JIT_LOOKUP, /* of the 8 floats at address `aux`, the one that the low bits of a name */
    TN_JIT_SHL,
    TN_JIT_SHR,
    TN_JIT_SAR,
    TN_JIT_ROL, /* AVX-512 */
    /* three */
    TN_JIT_FMA,
    TN_JIT_FNMA,
    TN_JIT_SELECT,      /* by mask a */
    TN_JIT_LOGIC,       /* bit 4 a + 2 b + c of `imm`; AVX-512 */
    TN_JIT_FIXUP,       /* a, or a number that c gives by the kind of b; AVX-512 */
    TN_JIT_SCALE_WHERE, /* as SCALE where mask c is set, else 0 */
    TN_JIT_DIVIDE_BY,   /* a / b, where c is tn_jit_reciprocal of b; AVX-512 */
    /* masks */
    TN_JIT_FCMP,
    TN_JIT_ICMP,
    TN_JIT_UCMP,
    TN_JIT_TEST, /* have a and b any bit in common? AVX-512 */
    TN_JIT_TAIL, /* the lanes that a row has in its last group: see jit_flow.h; AVX-512 */
    TN_JIT_MASK_AND,
    TN_JIT_MASK_OR,
    TN_JIT_MASK_XOR,
    TN_JIT_MASK_NOT,
    TN_JIT_OP_COUNT
} tn_jit_op;

/* `imm` of FCMP (quiet) and of ICMP, UCMP. */
enum {
    TN_JIT_FEQ = 0,
    TN_JIT_FNE = 4,
    TN_JIT_FLT = 17,
    TN_JIT_FLE = 18,
    TN_JIT_NOT_LESS = 21,
    TN_JIT_NOT_LESS_EQUAL = 22,
    TN_JIT_NOT_GREATER = 26,
    TN_JIT_FGE = 29,
    TN_JIT_FGT = 30,
    TN_JIT_UNORDERED = 3,
    TN_JIT_LESS_OR_GREATER = 12
};
enum {
    TN_JIT_IEQ = 0,
    TN_JIT_ILT = 1,
    TN_JIT_ILE = 2,
    TN_JIT_INE = 4,
    TN_JIT_IGE = 5,
    TN_JIT_IGT = 6
};

typedef uint16_t tn_jv; /* a value: the number of the instruction that makes it */
#define TN_JIT_NO_VALUE     UINT16_MAX
#define TN_JIT_INSTRUCTIONS 4000 /* of one piece, at most */

typedef struct {
    uint8_t op;
    uint8_t bytes; /* of an element of the result (of the operands, for comparisons): 2, 4 or 8 */
    uint8_t imm, n_operands;
    tn_jv in[3], zero[2];
    tn_jv in_tail; /* 1: of a LOAD or STORE of the lanes alone that TAIL has */
    uint64_t aux;  /* port; bits of a constant */
} tn_jit_instruction;

/* Code of one compilation. */
typedef struct tn_jit tn_jit;

/* A piece while it is made. */
typedef struct {
    tn_jit *jit;
    tn_arena *arena;
    bool avx512;
    uint32_t n, capacity;
    tn_jit_instruction *list;
    bool wide; /* some element has 8 bytes */
    bool half; /* f16 has 2 */
} tn_jit_piece;

/* NULL where the machine or its owner (TN_JIT=0) doesn't allow it. Lives in `a` but for the code,
 * which tn_jit_finish returns. */
tn_jit *tn_jit_new(tn_arena *a);

/* May a piece be `half`? */
bool tn_jit_has_f16(const tn_jit *j);
bool tn_jit_has_counts(const tn_jit *j);

void tn_jit_begin(tn_jit *j, tn_jit_piece *out);
/* The piece, of which there is no copy, is wanted no more: its memory is for the next. */
void tn_jit_drop(tn_jit_piece *p);
tn_jv tn_jit_emit(tn_jit_piece *p, tn_jit_op op, unsigned bytes, unsigned imm, uint64_t aux,
                  unsigned n, tn_jv a, tn_jv b, tn_jv c);
tn_jv tn_jit_const(tn_jit_piece *p, unsigned bytes, uint64_t bits);
/* The element at `data` as lanes hold it. TN_JIT_NO_VALUE for i1, of which they hold a mask. */
tn_jv tn_jit_element(tn_jit_piece *p, tn_element_type e, const void *data);
tn_jv tn_jit_load(tn_jit_piece *p, uint32_t port, tn_element_type e, bool splat);
void tn_jit_store(tn_jit_piece *p, uint32_t port, tn_element_type e, tn_jv v);
/* A copy of the piece which asks early for what is loaded from ports that `is_streamed` names, and
 * whose stores to such go past the caches. Its code wants these ports' memory aligned to 64 bytes,
 * and who runs it a fence before others read what it wrote. */
void tn_jit_streaming(const tn_jit_piece *p, const bool *is_streamed, tn_jit_piece *out);
/* For DIVIDE_BY: 1 / b, or NaN where DIVIDE_BY can't use it. */
tn_jv tn_jit_reciprocal(tn_jit_piece *p, unsigned bytes, tn_jv b);
/* v, an f32 that may be any, as the nearest value of type e. */
tn_jv tn_jit_round(tn_jit_piece *p, tn_element_type e, tn_jv v);
/* Can values of this type be in registers? */
bool tn_jit_has_type(tn_element_type e);
/* Appends what computes an elementwise op on `in`; false, with nothing appended, if that is unknown
 * here. */
bool tn_jit_lower(tn_jit_piece *p, const tn_op *op, const tn_jv *in, tn_jv *out);

/* A finished piece. `entry` is an offset until tn_jit_finish makes it an address. */
typedef void tn_jit_fn(void *const *ports, int64_t n);
typedef struct {
    tn_jit_fn *entry;
    uint32_t lanes; /* elements are computed in groups of so many: n is a multiple of it */
} tn_jit_code;

/* The code of a piece as a loop, `single`: that goes through elements one by one. NULL if it has
 * too many ports. Equal pieces of a compilation are one code. */
const tn_jit_code *tn_jit_end(tn_jit_piece *p, bool single);

/* What code with loops of its own (see jit_flow.h) is called with in place of n: after `left` turns
 * of loops it calls `ask`, and ends all loops if that gives true. `ask` sets `left` again; once it
 * has given true it gives true each time. */
typedef struct tn_jit_watch {
    uint32_t left;
    uint32_t (*ask)(struct tn_jit_watch *w); /* at offset 8 */
    int64_t begin, end;                      /* elements of strips that the call is for */
} tn_jit_watch;

/* Memory that holds all code of a compilation, executable and read only. */
typedef struct {
    void *memory;
    size_t size;
} tn_jit_memory;
/* Fills out->memory with NULL if there is no code. */
tn_status *tn_jit_finish(tn_jit *j, tn_jit_memory *out) TN_MUST_USE;
void tn_jit_free(const tn_jit_memory *m);

/* Runs code on n elements; what is not a whole group goes through buffers on the stack. `bytes` and
 * `is_input` describe the ports; a port that is read at its first element alone has bytes 0. */
typedef struct {
    uint8_t bytes;
    bool is_input, is_output;
} tn_jit_port;
void tn_jit_run(const tn_jit_code *c, const tn_jit_port *ports, uint32_t n_ports,
                void *const *memory, int64_t n);
/* The same, but whole groups are run by `body`, another code of the same piece. */
void tn_jit_run_with(const tn_jit_code *c, const tn_jit_code *body, const tn_jit_port *ports,
                     uint32_t n_ports, void *const *memory, int64_t n);
#define TN_JIT_PORTS 96 /* of one piece, at most */

#endif
