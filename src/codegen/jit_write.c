/* SPDX-License-Identifier: Apache-2.0 */
/* From a list of instructions to machine code: one walk along the list that gives values registers
 * as they come and, when there are none left, takes the one whose value is wanted last. */
#include <string.h>

#include "codegen/jit_write.h"

enum { NEVER = INT32_MAX, PREFETCHED_AHEAD = 2048 };

static unsigned length_code(unsigned bytes)
{
    return bytes <= 16 ? 0 : bytes == 32 ? 1 : 2;
}

static unsigned length_of(const tn_writer *w, unsigned bytes)
{
    return length_code(w->lanes * bytes);
}

bool tn_writer_makes_mask(const tn_jit_piece *p, tn_jv v)
{
    const tn_jit_instruction *i = &p->list[v];
    bool loads = i->op == TN_JIT_LOAD || i->op == TN_JIT_SPLAT || i->op == TN_JIT_LOAD_AT ||
                 i->op == TN_JIT_LOAD_STRIP || i->op == TN_JIT_PHI;
    if (loads && i->imm == TN_I1) return true;
    return i->op >= TN_JIT_FCMP && i->op <= TN_JIT_MASK_NOT;
}

/* Is it in a k register? */
static bool is_k(const tn_writer *w, tn_jv v)
{
    return w->x.avx512 && w->values[v].is_mask;
}

static unsigned bytes_of(const tn_writer *w, tn_jv v)
{
    return w->values[v].is_mask ? 4 : w->p->list[v].bytes;
}

/* --- instructions --- */

static void vector(tn_writer *w, tn_x86_opcode code, unsigned wide, unsigned length, int imm,
                   unsigned reg, unsigned vvvv, tn_x86_operand rm)
{
    tn_x86_form f = {
        .code = code, .w = (uint8_t)wide, .length = (uint8_t)length, .broadcast = 1, .imm = imm};
    if (rm.place == AT_INDEX) f.mask = w->mask, f.zero = w->zero;
    tn_x86_vector(&w->x, &f, reg, vvvv, &rm);
}

static void masked(tn_writer *w, tn_x86_opcode code, unsigned wide, unsigned length, unsigned mask,
                   int imm, unsigned reg, unsigned vvvv, tn_x86_operand rm)
{
    tn_x86_form f = {.code = code,
                     .w = (uint8_t)wide,
                     .length = (uint8_t)length,
                     .broadcast = 1,
                     .mask = (uint8_t)mask,
                     .imm = imm};
    tn_x86_vector(&w->x, &f, reg, vvvv, &rm);
}

static void vex(tn_writer *w, tn_x86_opcode code, unsigned wide, unsigned length, int imm,
                unsigned reg, unsigned vvvv, tn_x86_operand rm)
{
    tn_x86_form f = {.code = code, .w = (uint8_t)wide, .length = (uint8_t)length, .imm = imm};
    tn_x86_vex(&w->x, &f, reg, vvvv, &rm);
}

#define CODE(map, prefix, opcode) ((tn_x86_opcode){map, prefix, opcode})
#define REG(r)                    tn_x86_reg(r)

static void copy(tn_writer *w, unsigned length, unsigned to, unsigned from)
{
    if (to != from) vector(w, CODE(1, 0, 0x28), 0, length, -1, to, 0, REG(from));
}
static void load_vector(tn_writer *w, unsigned length, unsigned to, tn_x86_operand from)
{
    vector(w, CODE(1, 0, 0x10), 0, length, -1, to, 0, from);
}
static void store_vector(tn_writer *w, unsigned length, tn_x86_operand to, unsigned from)
{
    vector(w, CODE(1, 0, 0x11), 0, length, -1, from, 0, to);
}

/* Spreads one element of memory over a register. */
static void spread(tn_writer *w, unsigned bytes, unsigned length, unsigned to, tn_x86_operand from)
{
    tn_x86_form f = {.code = CODE(2, 1, bytes == 8 ? 0x59 : 0x58),
                     .w = bytes == 8 && w->x.avx512,
                     .length = (uint8_t)length,
                     .imm = -1};
    tn_x86_vector(&w->x, &f, to, 0, &from);
}

/* --- registers --- */

static tn_x86_operand slot_at(uint32_t slot)
{
    return (tn_x86_operand){.place = AT_STACK, .disp = (int32_t)(slot * 64)};
}

static void take(tn_writer *w, tn_jv v, unsigned r)
{
    w->values[v].reg = (int8_t)r;
    bool k = is_k(w, v);
    (k ? w->k_owner : w->owner)[r] = v;
    *(k ? &w->k_free : &w->free) &= ~(1u << r);
}

static void drop(tn_writer *w, tn_jv v)
{
    int r = w->values[v].reg;
    if (r < 0) return;
    *(is_k(w, v) ? &w->k_free : &w->free) |= 1u << r;
    w->values[v].reg = -1;
}

void tn_writer_spill(tn_writer *w, tn_jv v)
{
    tn_writer_value *x = &w->values[v];
    if (x->reg < 0 || x->slot >= 0 || w->p->list[v].op == TN_JIT_CONST) return;
    if (w->n_free_slots) x->slot = (int32_t)w->free_slots[--w->n_free_slots];
    else x->slot = (int32_t)w->n_slots++;
    tn_x86_operand at = slot_at((uint32_t)x->slot);
    if (is_k(w, v)) vex(w, CODE(1, 0, 0x91), 0, 0, -1, (unsigned)x->reg, 0, at);
    else store_vector(w, length_of(w, bytes_of(w, v)), at, (unsigned)x->reg);
}

/* A register that no pinned value is in. */
static unsigned free_register(tn_writer *w, bool k)
{
    unsigned first = k ? 1 : 0, end = k ? (w->flow ? TN_WRITER_TAIL : 8) : w->n_registers;
    uint32_t free = (k ? w->k_free : w->free) & ((1u << end) - (1u << first));
    if (free) return (unsigned)__builtin_ctz(free);
    const tn_jv *owner = k ? w->k_owner : w->owner;
    int32_t farthest = -1;
    unsigned at = end;
    for (unsigned r = first; r < end; r++) {
        tn_jv v = owner[r];
        if (!w->values[v].pinned && w->values[v].next > farthest) {
            farthest = w->values[v].next;
            at = r;
        }
    }
    tn_jv v = owner[at];
    tn_writer_spill(w, v);
    drop(w, v);
    return at;
}

/* Puts what is in no register, a constant or what is in a slot, into r. */
static void fetch(tn_writer *w, tn_jv v, unsigned r)
{
    const tn_writer_value *x = &w->values[v];
    const tn_jit_instruction *i = &w->p->list[v];
    if (i->op == TN_JIT_CONST) {
        tn_x86_operand at = tn_x86_constant_operand(&w->x, i->bytes, i->aux);
        unsigned length = length_of(w, i->bytes);
        if (!w->x.avx512) load_vector(w, length, r, at);
        else spread(w, i->bytes, length, r, at);
    } else if (is_k(w, v)) {
        vex(w, CODE(1, 0, 0x90), 0, 0, -1, r, 0, slot_at((uint32_t)x->slot));
    } else {
        load_vector(w, length_of(w, bytes_of(w, v)), r, slot_at((uint32_t)x->slot));
    }
}

static unsigned in_register(tn_writer *w, tn_jv v)
{
    tn_writer_value *x = &w->values[v];
    x->pinned = true;
    if (x->reg >= 0) return (unsigned)x->reg;
    unsigned r = free_register(w, is_k(w, v));
    fetch(w, v, r);
    take(w, v, r);
    return r;
}

/* Where the last operand is read: memory, if it isn't in a register. */
static bool is_in_memory(const tn_writer *w, tn_jv v)
{
    const tn_writer_value *x = &w->values[v];
    return x->reg < 0 && !x->is_mask && (w->p->list[v].op == TN_JIT_CONST || x->slot >= 0);
}
static tn_x86_operand last_operand(tn_writer *w, tn_jv v, bool folds)
{
    if (!folds || !is_in_memory(w, v)) return REG(in_register(w, v));
    const tn_jit_instruction *i = &w->p->list[v];
    if (i->op == TN_JIT_CONST) return tn_x86_constant_operand(&w->x, i->bytes, i->aux);
    return slot_at((uint32_t)w->values[v].slot);
}

/* Values that this instruction is the last to want leave their registers. */
static void release(tn_writer *w, const tn_jit_instruction *i)
{
    for (uint32_t k = 0; k < i->n_operands; k++) {
        tn_writer_value *x = &w->values[i->in[k]];
        x->pinned = false;
        if (x->next != NEVER) continue;
        drop(w, i->in[k]);
        /* Not free before the instruction is written, which may read it. */
        if (x->slot >= 0) w->freed[w->n_freed++] = (uint32_t)x->slot;
        x->slot = -1;
    }
}

static unsigned result(tn_writer *w, tn_jv v)
{
    unsigned r = free_register(w, is_k(w, v));
    take(w, v, r);
    return r;
}

/* --- memory --- */

static unsigned log2_of(unsigned bytes)
{
    return (unsigned)__builtin_ctz(bytes);
}

tn_x86_operand tn_writer_port(tn_writer *w, uint64_t aux, unsigned bytes, bool indexed)
{
    uint32_t port = (uint32_t)aux & 0xfffff;
    tn_x86_operand o = w->at(w, port);
    if (w->flow) {
        o.disp += (int32_t)((aux >> 20) * bytes);
        if (!indexed || !w->strips || port >= TN_WRITER_VARIABLE) return o;
        o.by = R9;
    }
    if (!indexed) return o;
    if (!w->flow) o.disp += (int32_t)((uint32_t)(aux >> 20) * w->lanes * bytes);
    o.place = AT_INDEX;
    o.scale = (uint8_t)log2_of(bytes);
    return o;
}

/* One element of type e into lane 0; narrow ones by way of a general register. */
static void load_one(tn_writer *w, tn_element_type e, unsigned r, bool k, tn_x86_operand at)
{
    tn_x86_operand r11 = REG(R11);
    switch ((int)e) {
    case TN_I8: tn_x86_general(&w->x, false, true, 0xbe, R11, &at); break;
    case TN_I1:
    case TN_U8: tn_x86_general(&w->x, false, true, 0xb6, R11, &at); break;
    case TN_I16: tn_x86_general(&w->x, false, true, 0xbf, R11, &at); break;
    case TN_U16:
    case TN_F16:
    case TN_BF16: tn_x86_general(&w->x, false, true, 0xb7, R11, &at); break;
    case TN_I64:
    case TN_U64:
    case TN_F64: vector(w, CODE(1, 3, 0x10), 1, 0, -1, r, 0, at); return;
    default: vector(w, CODE(1, 2, 0x10), 0, 0, -1, r, 0, at); return;
    }
    if (e == TN_I1) tn_x86_bytes(&w->x, "\x41\xf7\xdb", 3); /* neg r11d */
    if (k) {
        vex(w, CODE(1, 0, 0x92), 0, 0, -1, r, 0, r11); /* kmovw */
        return;
    }
    vector(w, CODE(1, 1, 0x6e), 0, 0, -1, r, 0, r11); /* vmovd */
    if (e == TN_F16) vector(w, CODE(2, 1, 0x13), 0, 0, -1, r, 0, REG(r));
    if (e == TN_BF16) vector(w, CODE(1, 1, 0x72), 0, 0, 16, 6, r, REG(r));
}

static void load_splat(tn_writer *w, tn_element_type e, unsigned r, bool k, tn_x86_operand at)
{
    unsigned bytes = (unsigned)tn_element_type_bytes(e);
    if (bytes >= 4 && w->lanes > 1) {
        spread(w, bytes, length_of(w, bytes), r, at);
        return;
    }
    load_one(w, e, r, k, at);
    if (w->lanes > 1 && !k) spread(w, 4, length_of(w, 4), r, REG(r));
}

static void load_from(tn_writer *w, tn_element_type e, unsigned r, bool k, tn_x86_operand at)
{
    if (w->lanes == 1) {
        load_one(w, e, r, k, at);
        return;
    }
    unsigned length = length_of(w, tn_element_type_bytes(e) == 8 ? 8 : 4);
    switch ((int)e) {
    case TN_I8: vector(w, CODE(2, 1, 0x21), 0, length, -1, r, 0, at); return;
    case TN_U8: vector(w, CODE(2, 1, 0x31), 0, length, -1, r, 0, at); return;
    case TN_I16: vector(w, CODE(2, 1, 0x23), 0, length, -1, r, 0, at); return;
    case TN_U16: vector(w, CODE(2, 1, 0x33), 0, length, -1, r, 0, at); return;
    case TN_F16: vector(w, CODE(2, 1, 0x13), 0, length, -1, r, 0, at); return;
    case TN_BF16:
        vector(w, CODE(2, 1, 0x33), 0, length, -1, r, 0, at);
        vector(w, CODE(1, 1, 0x72), 0, length, 16, 6, r, REG(r));
        return;
    case TN_I1: {
        unsigned t = w->temp;
        if (k) {
            vector(w, CODE(2, 1, 0x31), 0, length, -1, t, 0, at);
            vector(w, CODE(2, 1, 0x27), 0, length, -1, r, t, REG(t)); /* vptestmd */
        } else {
            vector(w, CODE(2, 1, 0x31), 0, length, -1, r, 0, at);
            vector(w, CODE(1, 1, 0xef), 0, length, -1, t, t, REG(t));
            vector(w, CODE(1, 1, 0x66), 0, length, -1, r, r, REG(t)); /* vpcmpgtd */
        }
        return;
    }
    default:
        /* Masks count elements. */
        if (w->mask && tn_element_type_bytes(e) == 8)
            vector(w, CODE(1, 1, 0x10), 1, length, -1, r, 0, at);
        else load_vector(w, length, r, at);
    }
}

static void load(tn_writer *w, const tn_jit_instruction *i, unsigned r, bool k)
{
    tn_element_type e = (tn_element_type)i->imm;
    bool splat = i->op == TN_JIT_SPLAT;
    unsigned each = (unsigned)tn_element_type_bytes(e);
    tn_x86_operand at = tn_writer_port(w, i->aux, each, !splat);
    if (i->in[0] && i->op == TN_JIT_LOAD && w->lanes * each >= 32) {
        tn_x86_operand ahead = at;
        ahead.disp += w->flow ? 2 * PREFETCHED_AHEAD : PREFETCHED_AHEAD;
        tn_x86_general(&w->x, false, true, 0x18, 1, &ahead); /* prefetcht0 */
    }
    if (i->bytes == 2 && w->lanes == 1) load_one(w, TN_U16, r, k, at);
    else if (i->bytes == 2 && splat)
        vector(w, CODE(2, 1, 0x79), 0, length_of(w, 2), -1, r, 0, at); /* vpbroadcastw */
    else if (i->bytes == 2) load_vector(w, length_of(w, 2), r, at);
    else if (splat) load_splat(w, e, r, k, at);
    else {
        /* Zeros elsewhere: what was in the register before is not waited for. */
        w->mask = i->in_tail ? TN_WRITER_TAIL : 0;
        w->zero = i->in_tail;
        load_from(w, e, r, k, at);
        w->mask = w->zero = 0;
    }
}

static void store_one(tn_writer *w, tn_element_type e, unsigned r, bool k, tn_x86_operand at)
{
    tn_x86_operand rbx = REG(RBX);
    if (tn_element_type_bytes(e) == 8) {
        vector(w, CODE(1, 3, 0x11), 1, 0, -1, r, 0, at);
        return;
    }
    if (tn_element_type_bytes(e) == 4) {
        vector(w, CODE(1, 2, 0x11), 0, 0, -1, r, 0, at);
        return;
    }
    if (e == TN_F16) {
        vector(w, CODE(3, 1, 0x1d), 0, 0, 0, r, 0, REG(w->temp));
        r = w->temp;
    }
    if (k) vex(w, CODE(1, 0, 0x93), 0, 0, -1, RBX, 0, REG(r));
    else vector(w, CODE(1, 1, 0x7e), 0, 0, -1, r, 0, rbx);
    if (e == TN_I1) tn_x86_bytes(&w->x, "\x83\xe3\x01", 3);   /* and ebx, 1 */
    if (e == TN_BF16) tn_x86_bytes(&w->x, "\xc1\xeb\x10", 3); /* shr ebx, 16 */
    if (tn_element_type_bytes(e) == 1) {
        tn_x86_general(&w->x, false, false, 0x88, RBX, &at);
    } else {
        tn_x86_byte(&w->x, 0x66);
        tn_x86_general(&w->x, false, false, 0x89, RBX, &at);
    }
}

/* The high halves of r's elements side by side in `temp`; AVX-512. */
static void pack_high_halves(tn_writer *w, unsigned r)
{
    static const uint16_t odd[16] = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    unsigned length = length_of(w, 4);
    tn_x86_operand table = tn_x86_constant_operand(&w->x, TN_X86_TABLE, (uintptr_t)odd);
    tn_x86_form load = {.code = CODE(1, 0, 0x10), .length = (uint8_t)length, .imm = -1};
    tn_x86_vector(&w->x, &load, w->temp2, 0, &table);
    vector(w, CODE(2, 1, 0x8d), 1, length, -1, w->temp, w->temp2, REG(r)); /* vpermw */
}

/* 8 or 4 elements of 32 bits as 16 or 8 bits each. */
static void store_packed(tn_writer *w, tn_element_type e, unsigned r, tn_x86_operand at)
{
    unsigned t = w->temp, high = r;
    bool sint = e == TN_I8 || e == TN_I16 || e == TN_I1;
    if (w->lanes == 8) {
        high = t;
        vector(w, CODE(3, 1, 0x39), 0, 1, 1, r, 0, REG(t)); /* vextracti128 */
    }
    if (sint) vector(w, CODE(1, 1, 0x6b), 0, 0, -1, t, r, REG(high));
    else vector(w, CODE(2, 1, 0x2b), 0, 0, -1, t, r, REG(high));
    if (tn_element_type_bytes(e) == 2) {
        if (w->lanes == 8) store_vector(w, 0, at, t);
        else vector(w, CODE(1, 1, 0xd6), 0, 0, -1, t, 0, at); /* vmovq */
        return;
    }
    vector(w, CODE(1, 1, sint ? 0x63 : 0x67), 0, 0, -1, t, t, REG(t));
    if (e == TN_I1) {
        tn_x86_operand ones = tn_x86_constant_operand(&w->x, 4, 0x01010101);
        vector(w, CODE(1, 1, 0xdb), 0, 0, -1, t, t, ones);
    }
    if (w->lanes == 8) vector(w, CODE(1, 1, 0xd6), 0, 0, -1, t, 0, at);
    else vector(w, CODE(1, 1, 0x7e), 0, 0, -1, t, 0, at);
}

static void store_to(tn_writer *w, tn_element_type e, unsigned r, bool k, tn_x86_operand at)
{
    unsigned length = length_of(w, 4), t = w->temp;
    unsigned bytes = (unsigned)tn_element_type_bytes(e);
    if (w->lanes == 1) {
        store_one(w, e, r, k, at);
        return;
    }
    switch ((int)e) {
    case TN_F16: vector(w, CODE(3, 1, 0x1d), 0, length, 0, r, 0, at); return;
    case TN_BF16:
        if (w->x.avx512) {
            pack_high_halves(w, r);
            if (w->lanes * bytes < 16) vector(w, CODE(1, 1, 0xd6), 1, 0, -1, t, 0, at); /* vmovq */
            else vector(w, CODE(1, 3, 0x7f), 1, length_of(w, bytes), -1, t, 0, at); /* vmovdqu16 */
            return;
        }
        vector(w, CODE(1, 1, 0x72), 0, length, 16, 2, w->temp2, REG(r));
        store_packed(w, e, w->temp2, at);
        return;
    case TN_I1:
        if (!w->x.avx512) break;
        vector(w, CODE(2, 2, 0x38), 0, length, -1, t, 0, REG(r)); /* vpmovm2d */
        vector(w, CODE(1, 1, 0x72), 0, length, 31, 2, t, REG(t));
        vector(w, CODE(2, 2, 0x31), 0, length, -1, t, 0, at);
        return;
    case TN_I8:
    case TN_U8:
        if (!w->x.avx512) break;
        vector(w, CODE(2, 2, 0x31), 0, length, -1, r, 0, at);
        return;
    case TN_I16:
    case TN_U16:
        if (!w->x.avx512) break;
        vector(w, CODE(2, 2, 0x33), 0, length, -1, r, 0, at);
        return;
    default:
        if (w->mask && bytes == 8) vector(w, CODE(1, 1, 0x11), 1, length_of(w, 8), -1, r, 0, at);
        else store_vector(w, length_of(w, bytes), at, r);
        return;
    }
    store_packed(w, e, r, at);
}

/* Past the caches, where a group's elements make up a vector; they are packed in `temp`. */
static void stream(tn_writer *w, const tn_jit_instruction *i)
{
    tn_element_type e = (tn_element_type)i->imm;
    unsigned r = in_register(w, i->in[0]), bytes = (unsigned)tn_element_type_bytes(e);
    unsigned t = w->temp, length = length_of(w, 4);
    bool k = is_k(w, i->in[0]), narrow = bytes < 4 && i->bytes != 2;
    tn_x86_operand at = tn_writer_port(w, i->aux, bytes, true);
    if (w->lanes * bytes < 16 || (narrow && e != TN_F16 && !w->x.avx512) || k) {
        if (i->bytes == 2) store_vector(w, length_of(w, 2), at, r);
        else store_to(w, e, r, k, at);
        return;
    }
    if (narrow && e == TN_BF16) pack_high_halves(w, r);
    else if (narrow && e == TN_F16) vector(w, CODE(3, 1, 0x1d), 0, length, 0, r, 0, REG(t));
    else if (narrow) vector(w, CODE(2, 2, bytes == 1 ? 0x31 : 0x33), 0, length, -1, r, 0, REG(t));
    vector(w, CODE(1, 0, 0x2b), 0, length_of(w, bytes), -1, narrow ? t : r, 0, at); /* vmovntps */
}

static void store(tn_writer *w, const tn_jit_instruction *i)
{
    tn_element_type e = (tn_element_type)i->imm;
    unsigned r = in_register(w, i->in[0]), bytes = (unsigned)tn_element_type_bytes(e);
    bool one = i->op == TN_JIT_PUT;
    tn_x86_operand at = tn_writer_port(w, i->aux, bytes, !one);
    if (i->bytes == 2 && w->lanes == 1) store_one(w, TN_U16, r, false, at);
    else if (i->bytes == 2) store_vector(w, length_of(w, 2), at, r);
    else if (one) store_one(w, e, r, is_k(w, i->in[0]), at);
    else {
        w->mask = i->in_tail ? TN_WRITER_TAIL : 0;
        store_to(w, e, r, is_k(w, i->in[0]), at);
        w->mask = 0;
    }
}

/* --- the rest --- */

static void write_fma(tn_writer *w, const tn_jit_instruction *i, tn_jv v)
{
    unsigned length = length_of(w, i->bytes), wide = i->bytes == 8;
    unsigned negated = i->op == TN_JIT_FNMA ? 4 : 0; /* of the opcodes */
    tn_jv a = i->in[0], b = i->in[1], c = i->in[2];
    if (is_in_memory(w, a) && !is_in_memory(w, b)) {
        tn_jv t = a;
        a = b;
        b = t;
    }
    bool b_stays = is_in_memory(w, b), c_stays = !b_stays && is_in_memory(w, c);
    if (b_stays) w->values[b].pinned = true;
    in_register(w, a);
    if (!b_stays) in_register(w, b);
    if (!c_stays) in_register(w, c);
    /* The operand that the result is written over: one that ends here, or a copy. */
    bool a_ends = w->values[a].next == NEVER, b_ends = w->values[b].next == NEVER && !b_stays;
    bool c_ends = w->values[c].next == NEVER && !c_stays;
    if (a == b || a == c) a_ends = false;
    if (b == a || b == c) b_ends = false;
    if (c == a || c == b) c_ends = false;
    unsigned ra = (unsigned)w->values[a].reg, d;
    if (c_ends || (!a_ends && !(b_ends && !c_stays) && !c_stays)) {
        /* 231: c += a * b */
        d = (unsigned)w->values[c].reg;
        if (!c_ends) {
            d = free_register(w, false);
            copy(w, length, d, (unsigned)w->values[c].reg);
        }
        tn_x86_operand last = last_operand(w, b, b_stays);
        vector(w, CODE(2, 1, 0xb8 + negated), wide, length, -1, d, ra, last);
    } else if (b_stays) {
        /* 132: a = a * memory + c */
        d = ra;
        tn_x86_operand last = last_operand(w, b, true);
        vector(w, CODE(2, 1, 0x98 + negated), wide, length, -1, d, (unsigned)w->values[c].reg,
               last);
    } else {
        /* 213: a = b * a + c */
        if (!a_ends && b_ends) {
            tn_jv t = a;
            a = b;
            b = t;
            a_ends = true;
        }
        d = (unsigned)w->values[a].reg;
        if (!a_ends) {
            d = free_register(w, false);
            copy(w, length, d, (unsigned)w->values[a].reg);
        }
        tn_x86_operand last = last_operand(w, c, c_stays);
        vector(w, CODE(2, 1, 0xa8 + negated), wide, length, -1, d, (unsigned)w->values[b].reg,
               last);
    }
    release(w, i);
    take(w, v, d);
}

static void write_select(tn_writer *w, const tn_jit_instruction *i, tn_jv v)
{
    unsigned length = length_of(w, i->bytes), wide = i->bytes == 8;
    unsigned m = in_register(w, i->in[0]), b = in_register(w, i->in[2]);
    if (w->x.avx512) {
        bool half = i->bytes == 2; /* which spreads no memory */
        tn_x86_operand a = last_operand(w, i->in[1], !half);
        release(w, i);
        masked(w, CODE(2, 1, half ? 0x66 : 0x65), wide || half, length, m, -1, result(w, v), b, a);
        return;
    }
    tn_x86_operand a = last_operand(w, i->in[1], true);
    if (wide) {
        vector(w, CODE(2, 1, 0x25), 0, length, -1, w->temp, 0, REG(m)); /* vpmovsxdq */
        m = w->temp;
    }
    release(w, i);
    vector(w, CODE(3, 1, wide ? 0x4b : 0x4a), 0, length, (int)(m << 4), result(w, v), b, a);
}

/* Written over its first operand. */
static void write_logic(tn_writer *w, const tn_jit_instruction *i, tn_jv v)
{
    unsigned length = length_of(w, i->bytes), wide = i->bytes == 8;
    tn_jv a = i->in[0];
    unsigned ra = in_register(w, a), b = in_register(w, i->in[1]), d = ra;
    tn_x86_operand c = last_operand(w, i->in[2], true);
    if (w->values[a].next != NEVER || a == i->in[1] || a == i->in[2]) {
        d = free_register(w, false);
        copy(w, length, d, ra);
    }
    unsigned opcode = i->op == TN_JIT_FIXUP ? 0x54 : 0x25;
    vector(w, CODE(3, 1, opcode), wide, length, i->imm, d, b, c);
    release(w, i);
    take(w, v, d);
}

static void write_scale_where(tn_writer *w, const tn_jit_instruction *i, tn_jv v)
{
    unsigned a = in_register(w, i->in[0]), b = in_register(w, i->in[1]);
    unsigned mask = in_register(w, i->in[2]);
    release(w, i);
    tn_x86_form f = {.code = CODE(2, 1, 0x2c),
                     .length = (uint8_t)length_of(w, i->bytes),
                     .mask = (uint8_t)mask,
                     .zero = 1,
                     .imm = -1};
    tn_x86_operand last = REG(b);
    tn_x86_vector(&w->x, &f, result(w, v), a, &last);
}

static void write_lookup(tn_writer *w, const tn_jit_instruction *i, tn_jv v)
{
    unsigned a = in_register(w, i->in[0]), length = length_of(w, 4);
    release(w, i);
    tn_x86_form f = {.code = CODE(2, 1, 0x16),
                     .length = length ? (uint8_t)length : 1, /* there are no shorter ones */
                     .imm = -1};
    tn_x86_operand table = tn_x86_constant_operand(&w->x, TN_X86_TABLE, i->aux);
    tn_x86_vector(&w->x, &f, result(w, v), a, &table);
}

static void write_compare(tn_writer *w, const tn_jit_instruction *i, tn_jv v)
{
    unsigned length = length_of(w, i->bytes), wide = i->bytes == 8, t = w->temp;
    unsigned a = in_register(w, i->in[0]);
    tn_x86_operand b = last_operand(w, i->in[1], true);
    release(w, i);
    unsigned d = result(w, v);
    tn_x86_opcode real = CODE(i->bytes == 2 ? 3 : 1, wide ? 1 : 0, 0xc2);
    if (w->x.avx512) {
        if (i->op == TN_JIT_FCMP) vector(w, real, wide, length, i->imm, d, a, b);
        else if (i->op == TN_JIT_TEST) vector(w, CODE(2, 1, 0x27), wide, length, -1, d, a, b);
        else
            vector(w, CODE(3, 1, i->op == TN_JIT_ICMP ? 0x1f : 0x1e), wide, length, i->imm, d, a,
                   b);
        return;
    }
    if (i->op == TN_JIT_FCMP) vector(w, real, 0, length, i->imm, d, a, b);
    else if (i->imm == TN_JIT_IEQ)
        vector(w, CODE(wide ? 2 : 1, 1, wide ? 0x29 : 0x76), 0, length, -1, d, a, b);
    else vector(w, CODE(wide ? 2 : 1, 1, wide ? 0x37 : 0x66), 0, length, -1, d, a, b);
    if (!wide) return;
    /* Every second half: masks are 32 bits wide. */
    if (length == 1) vector(w, CODE(3, 1, 0x39), 0, 1, 1, d, 0, REG(t));
    else copy(w, 0, t, d);
    vector(w, CODE(1, 0, 0xc6), 0, 0, 0x88, d, d, REG(t)); /* vshufps */
}

static void write_mask_op(tn_writer *w, const tn_jit_instruction *i, tn_jv v)
{
    unsigned a = in_register(w, i->in[0]), b = i->n_operands > 1 ? in_register(w, i->in[1]) : 0;
    unsigned length = length_of(w, 4);
    static const uint8_t of_k[] = {0x41, 0x45, 0x47}, of_vectors[] = {0xdb, 0xeb, 0xef};
    release(w, i);
    unsigned d = result(w, v), which = i->op - TN_JIT_MASK_AND;
    if (w->x.avx512) {
        if (i->op == TN_JIT_MASK_NOT) vex(w, CODE(1, 0, 0x44), 0, 0, -1, d, 0, REG(a));
        else vex(w, CODE(1, 0, of_k[which]), 0, 1, -1, d, a, REG(b));
        return;
    }
    if (i->op == TN_JIT_MASK_NOT)
        vector(w, CODE(1, 1, 0xef), 0, length, -1, d, a,
               tn_x86_constant_operand(&w->x, 4, 0xffffffffu));
    else vector(w, CODE(1, 1, of_vectors[which]), 0, length, -1, d, a, REG(b));
}

static void write_i32_of_i64(tn_writer *w, const tn_jit_instruction *i, tn_jv v)
{
    unsigned a = in_register(w, i->in[0]), length = length_of(w, 8), t = w->temp;
    release(w, i);
    unsigned d = result(w, v);
    if (w->x.avx512) {
        vector(w, CODE(2, 2, 0x35), 0, length, -1, a, 0, REG(d));
        return;
    }
    if (length == 1) vector(w, CODE(3, 1, 0x39), 0, 1, 1, a, 0, REG(t));
    else copy(w, 0, t, a);
    vector(w, CODE(1, 0, 0xc6), 0, 0, 0x88, d, a, REG(t));
}

static void write_half(tn_writer *w, const tn_jit_instruction *i, tn_jv v)
{
    unsigned a = in_register(w, i->in[0]), length = length_of(w, i->bytes);
    unsigned bytes = i->imm * i->bytes, wide = i->bytes == 8 && w->x.avx512;
    release(w, i);
    unsigned d = result(w, v);
    if (bytes >= 16 && !w->x.avx512) vector(w, CODE(3, 1, 0x06), 0, 1, 1, d, a, REG(a));
    else if (bytes >= 16)
        vector(w, CODE(3, 1, 0x23), wide, length,
               length == 1   ? 1
               : bytes == 32 ? 0x4e
                             : 0xb1,
               d, a, REG(a)); /* vshuff32x4 */
    else if (i->bytes == 8) vector(w, CODE(3, 1, 0x05), wide, length, 0x55, d, 0, REG(a));
    else vector(w, CODE(3, 1, 0x04), 0, length, i->imm == 2 ? 0x4e : 0xb1, d, 0, REG(a));
}

static void write_plain(tn_writer *w, const tn_jit_instruction *i, tn_jv v)
{
    const tn_jit_encoding *e = &tn_jit_encodings[i->op];
    bool wide_in = i->op == TN_JIT_F32_OF_F64 || i->op == TN_JIT_I32_OF_F64;
    bool narrow_in = i->op == TN_JIT_F64_OF_F32 || i->op == TN_JIT_F64_OF_I32 ||
                     i->op == TN_JIT_I64_OF_I32 || i->op == TN_JIT_U64_OF_U32;
    unsigned length = length_of(w, wide_in ? 8 : i->bytes);
    unsigned wide = wide_in || (i->bytes == 8 && !narrow_in);
    unsigned a = i->n_operands > 1 ? in_register(w, i->in[0]) : 0;
    tn_x86_operand last = last_operand(w, i->in[i->n_operands - 1], e->folds);
    release(w, i);
    unsigned d = result(w, v);
    tn_x86_opcode code = i->bytes == 8 ? e->eight : e->four;
    bool arithmetic = (i->op >= TN_JIT_FADD && i->op <= TN_JIT_LESS) || i->op == TN_JIT_SQRT;
    if (i->bytes == 2 && arithmetic) code.map = 5;
    int imm = e->has_imm ? i->imm : -1;
    if (e->shape == SHAPE_VMI) vector(w, code, wide, length, imm, e->digit, d, last);
    else vector(w, code, wide, length, imm, d, a, last);
}

/* --- single elements --- */

static void to_general(tn_writer *w, unsigned to, unsigned from)
{
    vector(w, CODE(1, 1, 0x7e), 0, 0, -1, from, 0, REG(to)); /* vmovd */
}

static tn_x86_operand element_at(tn_writer *w, const tn_jit_instruction *i, tn_jv index)
{
    to_general(w, RCX, in_register(w, index));
    tn_x86_operand at = w->at(w, (uint32_t)i->aux);
    at.place = AT_INDEX;
    at.scale = (uint8_t)log2_of((unsigned)tn_element_type_bytes((tn_element_type)i->imm));
    return at;
}

/* What is in lane 0 of r, in all of them. */
static void spread_register(tn_writer *w, tn_element_type e, unsigned r, bool k)
{
    unsigned bytes = tn_element_type_bytes(e) == 8 ? 8 : 4;
    if (w->lanes > 1 && !k) spread(w, bytes, length_of(w, bytes), r, REG(r));
}

/* The part of a strip that is at hand, where the strip begins at element `index`. */
static tn_x86_operand strip_at(tn_writer *w, const tn_jit_instruction *i, tn_jv index)
{
    unsigned bytes = (unsigned)tn_element_type_bytes((tn_element_type)i->imm);
    to_general(w, RCX, in_register(w, index));
    tn_x86_bytes(&w->x, "\x4c\x01\xc9", 3); /* add rcx, r9 */
    tn_x86_operand at = w->at(w, (uint32_t)i->aux & 0xfffff);
    at.place = AT_INDEX;
    at.scale = (uint8_t)log2_of(bytes);
    at.disp = (int32_t)((i->aux >> 20) * bytes);
    return at;
}

static void write_division(tn_writer *w, const tn_jit_instruction *i, tn_jv v)
{
    to_general(w, RAX, in_register(w, i->in[0]));
    to_general(w, RBX, in_register(w, i->in[1]));
    bool sint = i->op == TN_JIT_SDIV || i->op == TN_JIT_SREM;
    bool rem = i->op == TN_JIT_SREM || i->op == TN_JIT_UREM;
    if (sint) tn_x86_bytes(&w->x, "\x99\xf7\xfb", 3); /* cdq; idiv ebx */
    else tn_x86_bytes(&w->x, "\x31\xd2\xf7\xf3", 4);  /* xor edx, edx; div ebx */
    release(w, i);
    unsigned r = result(w, v);
    vector(w, CODE(1, 1, 0x6e), 0, 0, -1, r, 0, REG(rem ? RDX : RAX));
    spread_register(w, TN_I32, r, false);
}

/* The quotient by the reciprocal is made better twice by what it leaves, which FMA gives exactly:
 * the first time it comes within one unit in the last place, from where the second gives the
 * nearest (P. W. Markstein, Computation of elementary functions on the IBM RISC System/6000, 1990).
 * Where some quotient isn't between the bounds, as where the reciprocal is NaN, all are divided. */
static void write_divide_by(tn_writer *w, const tn_jit_instruction *i, tn_jv v)
{
    unsigned a = in_register(w, i->in[0]), b = in_register(w, i->in[1]);
    unsigned c = in_register(w, i->in[2]), length = length_of(w, i->bytes), wide = i->bytes == 8;
    unsigned d = result(w, v), t = w->temp;
    uint64_t least = wide ? UINT64_C(2) * (1023 - 700) << 52 : UINT64_C(2) * (127 - 80) << 23;
    uint64_t range = wide ? UINT64_C(2) * 1200 << 52 : UINT64_C(2) * 160 << 23;
    vector(w, CODE(1, wide, 0x59), wide, length, -1, d, a, REG(c));
    for (int k = 0; k < 2; k++) {
        copy(w, length, t, a);
        vector(w, CODE(2, 1, 0xbc), wide, length, -1, t, d, REG(b)); /* vfnmadd231 */
        vector(w, CODE(2, 1, 0xb8), wide, length, -1, d, t, REG(c)); /* vfmadd231 */
    }
    vector(w, CODE(1, 1, wide ? 0xd4 : 0xfe), wide, length, -1, t, d, REG(d)); /* vpadd */
    vector(w, CODE(1, 1, wide ? 0xfb : 0xfa), wide, length, -1, t, t,
           tn_x86_constant_operand(&w->x, i->bytes, least));
    vector(w, CODE(3, 1, 0x1e), wide, length, 6, 0, t,
           tn_x86_constant_operand(&w->x, i->bytes, range)); /* vpcmpu, more */
    tn_x86_bytes(&w->x, "\xc5\xf8\x98\xc0\x74\x00", 6);      /* kortestw k0, k0; jz */
    size_t from = w->x.j->size;
    vector(w, CODE(1, wide, 0x5e), wide, length, -1, d, a, REG(b));
    w->x.j->bytes[from - 1] = (uint8_t)(w->x.j->size - from);
    release(w, i);
}

static void write_exit(tn_writer *w, const tn_jit_instruction *i)
{
    unsigned m = in_register(w, i->in[0]);
    if (w->x.avx512) vex(w, CODE(1, 0, 0x93), 0, 0, -1, RBX, 0, REG(m));
    else to_general(w, RBX, m);
    tn_x86_bytes(&w->x, "\xf6\xc3\x01", 3); /* test bl, 1 */
    w->exit_to(w, (uint32_t)i->aux);
    release(w, i);
}

static void write_instruction(tn_writer *w, tn_jv v)
{
    const tn_jit_instruction *i = &w->p->list[v];
    switch ((tn_jit_op)i->op) {
    case TN_JIT_CONST: return;
    case TN_JIT_LOAD:
    case TN_JIT_SPLAT: load(w, i, result(w, v), is_k(w, v)); return;
    case TN_JIT_ASK: { /* prefetcht0, t1, w */
        tn_x86_operand at = tn_writer_port(w, i->aux, i->bytes, true);
        bool write = i->imm == 2;
        tn_x86_general(&w->x, false, true, write ? 0x0d : 0x18, write ? 1 : i->imm + 1u, &at);
        return;
    }
    case TN_JIT_STREAM:
        stream(w, i);
        release(w, i);
        return;
    case TN_JIT_STORE:
    case TN_JIT_PUT:
        store(w, i);
        release(w, i);
        return;
    case TN_JIT_LOAD_AT: {
        tn_x86_operand at = element_at(w, i, i->in[0]);
        release(w, i);
        unsigned r = result(w, v);
        load_one(w, (tn_element_type)i->imm, r, is_k(w, v), at);
        spread_register(w, (tn_element_type)i->imm, r, is_k(w, v));
        return;
    }
    case TN_JIT_LOAD_STRIP: {
        tn_x86_operand at = strip_at(w, i, i->in[0]);
        release(w, i);
        load_from(w, (tn_element_type)i->imm, result(w, v), is_k(w, v), at);
        return;
    }
    case TN_JIT_STORE_STRIP: {
        unsigned r = in_register(w, i->in[0]);
        tn_x86_operand at = strip_at(w, i, i->in[1]);
        store_to(w, (tn_element_type)i->imm, r, is_k(w, i->in[0]), at);
        release(w, i);
        return;
    }
    case TN_JIT_KEEP:
        w->kept(w, i);
        release(w, i);
        return;
    case TN_JIT_PHI: load(w, i, result(w, v), is_k(w, v)); return;
    case TN_JIT_NEXT: return; /* tn_writer_next */
    case TN_JIT_STORE_AT: {
        unsigned r = in_register(w, i->in[0]);
        tn_x86_operand at = element_at(w, i, i->in[1]);
        store_one(w, (tn_element_type)i->imm, r, is_k(w, i->in[0]), at);
        release(w, i);
        return;
    }
    case TN_JIT_EXIT_UNLESS: write_exit(w, i); return;
    case TN_JIT_HALF: write_half(w, i, v); return;
    case TN_JIT_SPREAD: {
        unsigned a = in_register(w, i->in[0]);
        release(w, i);
        spread(w, i->bytes, length_of(w, i->bytes), result(w, v), REG(a));
        return;
    }
    case TN_JIT_TAIL: /* kmovw */
        vex(w, CODE(1, 0, 0x90), 0, 0, -1, result(w, v), 0, REG(TN_WRITER_TAIL));
        return;
    case TN_JIT_SDIV:
    case TN_JIT_SREM:
    case TN_JIT_UDIV:
    case TN_JIT_UREM: write_division(w, i, v); return;
    case TN_JIT_FMA:
    case TN_JIT_FNMA: write_fma(w, i, v); return;
    case TN_JIT_SELECT: write_select(w, i, v); return;
    case TN_JIT_LOGIC:
    case TN_JIT_FIXUP: write_logic(w, i, v); return;
    case TN_JIT_SCALE_WHERE: write_scale_where(w, i, v); return;
    case TN_JIT_DIVIDE_BY: write_divide_by(w, i, v); return;
    case TN_JIT_LOOKUP: write_lookup(w, i, v); return;
    case TN_JIT_FCMP:
    case TN_JIT_ICMP:
    case TN_JIT_UCMP:
    case TN_JIT_TEST: write_compare(w, i, v); return;
    case TN_JIT_MASK_AND:
    case TN_JIT_MASK_OR:
    case TN_JIT_MASK_XOR:
    case TN_JIT_MASK_NOT: write_mask_op(w, i, v); return;
    case TN_JIT_I32_OF_I64: write_i32_of_i64(w, i, v); return;
    case TN_JIT_F16_OF_F32: {
        unsigned a = in_register(w, i->in[0]);
        release(w, i);
        vector(w, CODE(3, 1, 0x1d), 0, length_of(w, 4), 0, a, 0, REG(result(w, v)));
        return;
    }
    case TN_JIT_F16_ROUND: {
        unsigned a = in_register(w, i->in[0]), length = length_of(w, 4);
        release(w, i);
        unsigned d = result(w, v);
        vector(w, CODE(3, 1, 0x1d), 0, length, 0, a, 0, REG(w->temp));
        vector(w, CODE(2, 1, 0x13), 0, length, -1, d, 0, REG(w->temp));
        return;
    }
    default: write_plain(w, i, v);
    }
}

/* --- a piece --- */

static bool acts(unsigned op)
{
    switch (op) {
    case TN_JIT_STORE:
    case TN_JIT_STREAM:
    case TN_JIT_ASK:
    case TN_JIT_PUT:
    case TN_JIT_STORE_AT:
    case TN_JIT_STORE_STRIP:
    case TN_JIT_EXIT_UNLESS:
    case TN_JIT_KEEP:
    case TN_JIT_PHI:
    case TN_JIT_NEXT: return true;
    default: return false;
    }
}

/* Fills in when values are wanted next; what nobody wants is left out. */
static void find_uses(tn_writer *w)
{
    const tn_jit_piece *p = w->p;
    for (uint32_t v = 0; v < p->n; v++) {
        w->values[v] = (tn_writer_value){.reg = -1, .slot = -1, .next = NEVER};
        w->values[v].is_mask = tn_writer_makes_mask(p, (tn_jv)v);
    }
    for (uint32_t v = p->n; v-- > 0;) {
        const tn_jit_instruction *i = &p->list[v];
        if (!acts(i->op) && w->values[v].next == NEVER) {
            w->values[v].is_dead = true;
            continue;
        }
        for (uint32_t k = 0; k < i->n_operands; k++) w->after[3 * v + k] = w->values[i->in[k]].next;
        for (uint32_t k = 0; k < i->n_operands; k++) w->values[i->in[k]].next = (int32_t)v;
    }
}

void tn_writer_begin(tn_writer *w, const tn_jit_piece *p, uint32_t lanes)
{
    *w = (tn_writer){.x = {.j = p->jit, .avx512 = p->avx512}, .p = p, .lanes = lanes};
    w->n_registers = p->avx512 ? 30 : 14;
    w->temp = w->n_registers;
    w->temp2 = w->n_registers + 1;
    w->free = w->k_free = UINT32_MAX;
    /* All that is read of them is written before. */
    w->values = tn_alloc_room(p->arena, p->n * sizeof *w->values);
    w->after = tn_alloc_room(p->arena, 3 * (size_t)p->n * sizeof *w->after);
    w->free_slots = tn_alloc_room(p->arena, p->n * sizeof *w->free_slots);
    find_uses(w);
}

/* --- loops --- */

/* A register that takes the value of another, or one that is in none. */
typedef struct {
    unsigned to, from;
    bool k, is_done, in_register;
    tn_jv v;
} move;

static void move_register(tn_writer *w, const move *m, unsigned to, unsigned from)
{
    if (m->k) vex(w, CODE(1, 0, 0x90), 0, 0, -1, to, 0, REG(from)); /* kmovw */
    else copy(w, length_of(w, bytes_of(w, m->v)), to, from);
}

/* Register moves, as if all were done at once. */
static void move_all(tn_writer *w, move *moves, uint32_t n)
{
    for (;;) {
        move *first = NULL;
        bool any = false;
        for (uint32_t i = 0; i < n; i++) {
            move *m = &moves[i];
            if (m->is_done) continue;
            if (!first) first = m;
            bool is_wanted = false;
            for (uint32_t j = 0; j < n && !is_wanted; j++)
                is_wanted =
                    j != i && !moves[j].is_done && moves[j].k == m->k && moves[j].from == m->to;
            if (is_wanted) continue;
            move_register(w, m, m->to, m->from);
            m->is_done = any = true;
        }
        if (!first) return;
        if (any) continue;
        /* Circles are left: what the first one will overwrite goes elsewhere. */
        unsigned temp = first->k ? 0 : w->temp;
        for (uint32_t i = 0; i < n; i++) {
            move *m = &moves[i];
            if (m->is_done || m->k != first->k || m->from != first->to) continue;
            move_register(w, m, temp, m->from);
            for (uint32_t j = 0; j < n; j++)
                if (!moves[j].is_done && moves[j].k == m->k && moves[j].from == first->to)
                    moves[j].from = temp;
            break;
        }
    }
}

void tn_writer_next(tn_writer *w, const int8_t *homes)
{
    const tn_jit_piece *p = w->p;
    move moves[40];
    uint32_t n = 0;
    for (uint32_t v = 0; v < p->n; v++) {
        const tn_jit_instruction *i = &p->list[v];
        if (i->op != TN_JIT_NEXT) continue;
        const tn_writer_value *x = &w->values[i->in[0]];
        unsigned to = (unsigned)homes[i->aux];
        if (x->reg >= 0 && (unsigned)x->reg != to)
            moves[n++] =
                (move){.to = to, .from = (unsigned)x->reg, .k = is_k(w, i->in[0]), .v = i->in[0]};
    }
    move_all(w, moves, n);
    for (uint32_t v = 0; v < p->n; v++) {
        const tn_jit_instruction *i = &p->list[v];
        if (i->op != TN_JIT_NEXT || w->values[i->in[0]].reg >= 0) continue;
        fetch(w, i->in[0], (unsigned)homes[i->aux]);
    }
}

void tn_writer_save(tn_writer *w, tn_element_type e, int reg, int32_t slot, bool k,
                    tn_x86_operand to)
{
    unsigned r = (unsigned)reg;
    if (reg < 0) {
        tn_x86_operand from = slot_at((uint32_t)slot);
        r = k ? 0 : w->temp;
        if (k) vex(w, CODE(1, 0, 0x90), 0, 0, -1, r, 0, from);
        else load_vector(w, length_of(w, tn_element_type_bytes(e) == 8 ? 8 : 4), r, from);
    }
    store_to(w, e, r, k, to);
}

void tn_writer_load(tn_writer *w, tn_element_type e, unsigned r, bool k, tn_x86_operand from)
{
    load_from(w, e, r, k, from);
}

bool tn_writer_is_k(const tn_writer *w, tn_jv v)
{
    return is_k(w, v);
}

void tn_writer_body(tn_writer *w)
{
    tn_writer_part(w, 0, w->p->n);
}

void tn_writer_part(tn_writer *w, uint32_t first, uint32_t end)
{
    for (uint32_t v = first; v < end; v++) {
        if (w->values[v].is_dead) continue;
        const tn_jit_instruction *i = &w->p->list[v];
        for (uint32_t k = 0; k < i->n_operands; k++) w->values[i->in[k]].next = w->after[3 * v + k];
        write_instruction(w, (tn_jv)v);
        while (w->n_freed) w->free_slots[w->n_free_slots++] = w->freed[--w->n_freed];
    }
}
