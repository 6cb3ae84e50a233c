/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/jit_x86.h"

#include <string.h>

/* clang-format off */
#define RVM(map, prefix, opcode, prefix8, opcode8)                                                 \
    {.shape = SHAPE_RVM, .folds = true, .four = {map, prefix, opcode}, .eight = {map, prefix8, opcode8}}
#define RM(map, prefix, opcode, prefix8, opcode8)                                                  \
    {.shape = SHAPE_RM, .folds = true, .four = {map, prefix, opcode}, .eight = {map, prefix8, opcode8}}
#define RM_REG(map, prefix, opcode)                                                                \
    {.shape = SHAPE_RM, .four = {map, prefix, opcode}, .eight = {map, prefix, opcode}}
#define SHIFT(digit_, opcode, opcode8)                                                             \
    {.shape = SHAPE_VMI, .digit = digit_, .has_imm = true, .four = {1, 1, opcode}, .eight = {1, 1, opcode8}}
const tn_jit_encoding tn_jit_encodings[TN_JIT_OP_COUNT] = {
    [TN_JIT_FADD] = RVM(1, 0, 0x58, 1, 0x58),
    [TN_JIT_FSUB] = RVM(1, 0, 0x5c, 1, 0x5c),
    [TN_JIT_FMUL] = RVM(1, 0, 0x59, 1, 0x59),
    [TN_JIT_FDIV] = RVM(1, 0, 0x5e, 1, 0x5e),
    [TN_JIT_MORE] = RVM(1, 0, 0x5f, 1, 0x5f),
    [TN_JIT_LESS] = RVM(1, 0, 0x5d, 1, 0x5d),
    [TN_JIT_IADD] = RVM(1, 1, 0xfe, 1, 0xd4),
    [TN_JIT_ISUB] = RVM(1, 1, 0xfa, 1, 0xfb),
    [TN_JIT_IMUL] = RVM(2, 1, 0x40, 1, 0x40),
    [TN_JIT_AND]  = RVM(1, 1, 0xdb, 1, 0xdb),
    [TN_JIT_OR]   = RVM(1, 1, 0xeb, 1, 0xeb),
    [TN_JIT_XOR]  = RVM(1, 1, 0xef, 1, 0xef),
    [TN_JIT_ANDN] = RVM(1, 1, 0xdf, 1, 0xdf),
    [TN_JIT_SMAX] = RVM(2, 1, 0x3d, 1, 0x3d),
    [TN_JIT_SMIN] = RVM(2, 1, 0x39, 1, 0x39),
    [TN_JIT_UMAX] = RVM(2, 1, 0x3f, 1, 0x3f),
    [TN_JIT_UMIN] = RVM(2, 1, 0x3b, 1, 0x3b),
    [TN_JIT_SHLV] = RVM(2, 1, 0x47, 1, 0x47),
    [TN_JIT_SHRV] = RVM(2, 1, 0x45, 1, 0x45),
    [TN_JIT_SARV] = RVM(2, 1, 0x46, 1, 0x46),
    [TN_JIT_SCALE] = RVM(2, 1, 0x2c, 1, 0x2c),
    [TN_JIT_RANGE] = {.shape = SHAPE_RVM, .folds = true, .has_imm = true, .four = {3, 1, 0x50}, .eight = {3, 1, 0x50}},
    [TN_JIT_SQRT] = RM(1, 0, 0x51, 1, 0x51),
    [TN_JIT_IABS] = RM(2, 1, 0x1e, 1, 0x1f),
    [TN_JIT_ONES] = RM(2, 1, 0x55, 1, 0x55),
    [TN_JIT_ZEROS] = RM(2, 1, 0x44, 1, 0x44),
    [TN_JIT_ROUND] = {.shape = SHAPE_RM, .folds = true, .has_imm = true, .four = {3, 1, 0x08}, .eight = {3, 1, 0x09}},
    [TN_JIT_EXPONENT] = RM(2, 1, 0x42, 2, 0x42),
    [TN_JIT_MANTISSA] = {.shape = SHAPE_RM, .folds = true, .has_imm = true, .four = {3, 1, 0x26}, .eight = {3, 1, 0x26}},
    [TN_JIT_F32_OF_I32] = RM(1, 0, 0x5b, 0, 0x5b),
    [TN_JIT_I32_OF_F32] = RM(1, 2, 0x5b, 2, 0x5b),
    [TN_JIT_F64_OF_F32] = RM_REG(1, 0, 0x5a),
    [TN_JIT_F32_OF_F64] = RM_REG(1, 1, 0x5a),
    [TN_JIT_F64_OF_I32] = RM_REG(1, 2, 0xe6),
    [TN_JIT_I32_OF_F64] = RM_REG(1, 1, 0xe6),
    [TN_JIT_I64_OF_I32] = RM_REG(2, 1, 0x25),
    [TN_JIT_U64_OF_U32] = RM_REG(2, 1, 0x35),
    [TN_JIT_F32_OF_F16] = RM_REG(2, 1, 0x13),
    [TN_JIT_SHL] = SHIFT(6, 0x72, 0x73),
    [TN_JIT_SHR] = SHIFT(2, 0x72, 0x73),
    [TN_JIT_SAR] = SHIFT(4, 0x72, 0x72),
    [TN_JIT_ROL] = SHIFT(1, 0x72, 0x72),
    [TN_JIT_FMA] = {.shape = SHAPE_FMA},
    [TN_JIT_FNMA] = {.shape = SHAPE_FMA},
};
/* clang-format on */

uint8_t *tn_x86_grow(tn_x86 *x, size_t n)
{
    tn_jit *j = x->j;
    size_t capacity = j->capacity ? 2 * j->capacity : 4096;
    uint8_t *more = tn_alloc_room(j->arena, capacity);
    if (j->size) memcpy(more, j->bytes, j->size);
    j->bytes = more;
    j->capacity = capacity;
    j->size += n;
    return more + j->size - n;
}

tn_x86_operand tn_x86_constant_operand(tn_x86 *x, unsigned bytes, uint64_t bits)
{
    if (bytes == 4) bits &= 0xffffffffu;
    uint32_t i = 0;
    while (i < x->n_constants && (x->constants[i].bits != bits || x->constants[i].bytes != bytes))
        i++;
    if (i == x->n_constants) {
        if (i == x->constant_capacity) {
            x->constant_capacity = i ? 2 * i : 32;
            tn_x86_constant *more =
                TN_NEW_ARRAY(x->j->arena, tn_x86_constant, x->constant_capacity);
            if (i) memcpy(more, x->constants, i * sizeof *more);
            x->constants = more;
        }
        x->constants[x->n_constants++] = (tn_x86_constant){bits, (uint8_t)bytes, 0};
    }
    return (tn_x86_operand){.place = AT_CONSTANT, .index = i};
}

static unsigned index_of(const tn_x86_operand *rm)
{
    return rm->by ? rm->by & 7u : RCX;
}

/* The ModRM byte and what follows of the address; `tail` bytes come behind it. */
static void address(tn_x86 *x, unsigned reg, const tn_x86_operand *rm, unsigned tail)
{
    unsigned r = (reg & 7) << 3;
    switch (rm->place) {
    case AT_REGISTER: tn_x86_byte(x, 0xc0 | r | (rm->reg & 7)); break;
    case AT_CONSTANT:
        tn_x86_byte(x, r | 5);
        if (x->n_fixups == x->fixup_capacity) {
            x->fixup_capacity = x->n_fixups ? 2 * x->n_fixups : 64;
            tn_x86_fixup *more = TN_NEW_ARRAY(x->j->arena, tn_x86_fixup, x->fixup_capacity);
            if (x->n_fixups) memcpy(more, x->fixups, x->n_fixups * sizeof *more);
            x->fixups = more;
        }
        x->fixups[x->n_fixups++] =
            (tn_x86_fixup){(uint32_t)x->j->size, (uint32_t)x->j->size + 4 + tail, rm->index};
        tn_x86_u32(x, 0);
        break;
    case AT_STACK:
        tn_x86_byte(x, 0x80 | r | 4);
        tn_x86_byte(x, 0x24);
        tn_x86_u32(x, (uint32_t)rm->disp);
        break;
    case AT_INDEX:
        tn_x86_byte(x, (rm->disp ? 0x80u : 0) | r | 4);
        tn_x86_byte(x, (unsigned)rm->scale << 6 | index_of(rm) << 3 | (rm->reg & 7));
        if (rm->disp) tn_x86_u32(x, (uint32_t)rm->disp);
        break;
    case AT_BASE:
        tn_x86_byte(x, 0x80 | r | (rm->reg & 7));
        tn_x86_u32(x, (uint32_t)rm->disp);
        break;
    }
}

/* Bits 3 and 4 of the register in r/m, where the encodings have them. */
static bool has_b(const tn_x86_operand *rm)
{
    return (rm->place == AT_REGISTER || rm->place == AT_INDEX || rm->place == AT_BASE) &&
           rm->reg & 8;
}
static bool has_x(const tn_x86_operand *rm)
{
    if (rm->place == AT_INDEX) return rm->by & 8;
    return rm->place == AT_REGISTER && rm->reg & 16;
}

void tn_x86_vex(tn_x86 *x, const tn_x86_form *f, unsigned reg, unsigned vvvv,
                const tn_x86_operand *rm)
{
    unsigned x_bit = rm->place == AT_INDEX && rm->by & 8 ? 0 : 0x40;
    uint8_t *to = tn_x86_room(x, 4);
    to[0] = 0xc4;
    to[1] = (uint8_t)((reg & 8 ? 0u : 0x80) | x_bit | (has_b(rm) ? 0 : 0x20) | f->code.map);
    to[2] =
        (uint8_t)((unsigned)f->w << 7 | (~vvvv & 15) << 3 | (f->length ? 4 : 0) | f->code.prefix);
    to[3] = f->code.opcode;
    address(x, reg, rm, f->imm >= 0);
    if (f->imm >= 0) tn_x86_byte(x, (unsigned)f->imm);
}

void tn_x86_vector(tn_x86 *x, const tn_x86_form *f, unsigned reg, unsigned vvvv,
                   const tn_x86_operand *rm)
{
    if (!x->avx512) {
        tn_x86_vex(x, f, reg, vvvv, rm);
        return;
    }
    bool spread = rm->place == AT_CONSTANT && f->broadcast;
    uint8_t *to = tn_x86_room(x, 5);
    to[0] = 0x62;
    to[1] = (uint8_t)((reg & 8 ? 0u : 0x80) | (has_x(rm) ? 0 : 0x40) | (has_b(rm) ? 0 : 0x20) |
                      (reg & 16 ? 0u : 0x10) | f->code.map);
    to[2] = (uint8_t)((unsigned)f->w << 7 | (~vvvv & 15) << 3 | 4 | f->code.prefix);
    to[3] = (uint8_t)((f->zero ? 0x80u : 0) | (unsigned)f->length << 5 | (spread ? 0x10 : 0) |
                      (vvvv & 16 ? 0u : 8) | f->mask);
    to[4] = f->code.opcode;
    address(x, reg, rm, f->imm >= 0);
    if (f->imm >= 0) tn_x86_byte(x, (unsigned)f->imm);
}

void tn_x86_general(tn_x86 *x, bool wide, bool two_bytes, unsigned opcode, unsigned reg,
                    const tn_x86_operand *rm)
{
    /* Always a REX, so that byte registers are the low ones. */
    unsigned x_bit = rm->place == AT_INDEX && rm->by & 8 ? 2 : 0;
    tn_x86_byte(x, 0x40 | (wide ? 8 : 0) | (reg & 8 ? 4 : 0) | x_bit | (has_b(rm) ? 1 : 0));
    if (two_bytes) tn_x86_byte(x, 0x0f);
    tn_x86_byte(x, opcode);
    address(x, reg, rm, 0);
}

static void align(tn_x86 *x, unsigned by)
{
    while (x->j->size % by) tn_x86_byte(x, 0xcc);
}

static void write_constants(tn_x86 *x, bool tables)
{
    bool any = false;
    for (uint32_t i = 0; i < x->n_constants; i++) any |= x->constants[i].bytes == TN_X86_TABLE;
    if (tables && !any) return;
    align(x, tables ? 64 : x->avx512 ? 8 : 32);
    for (uint32_t i = 0; i < x->n_constants; i++) {
        tn_x86_constant *c = &x->constants[i];
        if (tables != (c->bytes == TN_X86_TABLE)) continue;
        const void *from = tables ? (const void *)(uintptr_t)c->bits : &c->bits;
        unsigned n = tables ? x->avx512 ? 64 : 32 : x->avx512 ? 8 : 32;
        c->at = (uint32_t)x->j->size;
        uint8_t *to = tn_x86_room(x, n);
        for (unsigned k = 0; k < n; k += c->bytes) memcpy(to + k, from, c->bytes);
    }
}

void tn_x86_finish(tn_x86 *x)
{
    write_constants(x, true);
    write_constants(x, false);
    for (uint32_t i = 0; i < x->n_fixups; i++) {
        const tn_x86_fixup *f = &x->fixups[i];
        uint32_t to = x->constants[f->constant].at - f->end;
        memcpy(x->j->bytes + f->at, &to, 4);
    }
    align(x, 64);
}
