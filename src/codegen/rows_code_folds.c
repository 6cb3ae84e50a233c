/* SPDX-License-Identifier: Apache-2.0 */
/* rows_code_folds.c - what is reduced in code of rows. */
#include <math.h>
#include <string.h>

#include "codegen/rows_code_maker.h"
#include "passes/rewrite.h"

tn_element_type tn_row_fold_type(const tn_row_fold *f)
{
    if (f->bytes == 8) return f->is_float ? TN_F64 : TN_I64;
    return f->is_float ? TN_F32 : TN_I32;
}

static uint64_t real_bits(unsigned bytes, double x)
{
    uint64_t bits = 0;
    float f = (float)x;
    if (bytes == 8) memcpy(&bits, &x, 8);
    else memcpy(&bits, &f, 4);
    return bits;
}

/* What changes nothing. */
SMALL static uint64_t neutral(const tn_row_fold *f)
{
    unsigned width = 8 * (unsigned)tn_element_type_bytes(f->from);
    bool sint = tn_element_type_class(f->from) == TN_CLASS_SINT;
    uint64_t ones = UINT64_MAX >> (64 - width), top = ones ^ (ones >> 1);
    uint64_t least = sint ? 0 - top : 0;
    switch ((int)f->kind) {
    case TN_OP_add: return f->is_float ? real_bits(f->bytes, -0.0) : 0;
    case TN_OP_multiply: return f->is_float ? real_bits(f->bytes, 1) : 1;
    case TN_OP_maximum: return f->is_float ? real_bits(f->bytes, -INFINITY) : least;
    case TN_OP_minimum:
        return f->is_float ? real_bits(f->bytes, INFINITY) : sint ? ~top & ones : ones;
    case TN_OP_and: return f->from == TN_I1 ? 1 : sint ? UINT64_MAX : ones;
    default: return 0;
    }
}

tn_jv tn_row_neutral(tn_row_maker *m, const tn_row_fold *f)
{
    return tn_jit_const(&m->piece, f->bytes, neutral(f));
}

SMALL bool tn_row_prepare_fold(tn_row_maker *m, tn_row_fold *f)
{
    tn_element_class c = tn_element_type_class(f->from);
    f->is_float = tn_is_float(f->from);
    f->bytes = tn_element_type_bytes(f->from) == 8 ? 8 : 4;
    if (!tn_jit_has_type(f->from)) return false;
    if (f->from == TN_I1) {
        if (f->kind == TN_OP_add || f->kind == TN_OP_maximum) f->kind = TN_OP_or;
        if (f->kind == TN_OP_multiply || f->kind == TN_OP_minimum) f->kind = TN_OP_and;
        if (f->kind == TN_OP_xor) return false;
    } else if (!f->is_float && c != TN_CLASS_SINT && c != TN_CLASS_UINT) {
        return false;
    }
    bool extreme = f->kind == TN_OP_maximum || f->kind == TN_OP_minimum;
    bool sum = f->kind == TN_OP_add || f->kind == TN_OP_multiply;
    bool bits = f->kind == TN_OP_and || f->kind == TN_OP_or || f->kind == TN_OP_xor;
    if (!extreme && !sum && !(bits && !f->is_float)) return false;
    f->by_range = extreme && f->is_float && m->piece.avx512;
    f->var = m->n_variables;
    m->n_variables += m->groups;
    f->total = m->n_variables;
    m->n_variables += m->groups;
    f->bad = m->n_variables++;
    return true;
}

bool tn_row_is_inexact(const tn_row_fold *f)
{
    return f->is_float && (f->kind == TN_OP_add || f->kind == TN_OP_multiply);
}

/* As the op does. */
SMALL tn_jv tn_row_combine(tn_row_maker *m, const tn_row_fold *f, tn_jv a, tn_jv b)
{
    tn_jv v = 0;
    if (tn_row_is_inexact(f))
        return tn_row_emit(m, f->kind == TN_OP_add ? TN_JIT_FADD : TN_JIT_FMUL, f->bytes, 0, 2, a,
                           b, 0);
    if (f->from == TN_I1)
        return tn_row_emit(m, f->kind == TN_OP_and ? TN_JIT_AND : TN_JIT_OR, 4, 0, 2, a, b, 0);
    if (!m->failed && !tn_jit_lower(&m->piece, f->body, (tn_jv[]){a, b}, &v)) m->failed = true;
    return v;
}

static tn_jv as_number(tn_row_maker *m, const tn_row_fold *f, tn_jv v)
{
    if (f->from != TN_I1) return v;
    return tn_row_emit(m, TN_JIT_SELECT, 4, 0, 3, v, tn_jit_const(&m->piece, 4, 1),
                       tn_jit_const(&m->piece, 4, 0));
}

/* Of numbers. */
static tn_jv extreme(tn_row_maker *m, const tn_row_fold *f, tn_jv a, tn_jv b)
{
    return tn_row_emit(m, TN_JIT_RANGE, f->bytes, f->kind == TN_OP_maximum ? 5 : 4, 2, a, b, 0);
}

/* Notes NaN in v and in what hasn't been looked at, if there is any. */
void tn_row_note_nan(tn_row_maker *m, uint32_t at, tn_jv v)
{
    tn_jv other = m->unseen[at] == NONE ? v : m->unseen[at];
    if (v == NONE) v = other;
    m->unseen[at] = NONE;
    if (v == NONE) return;
    tn_jv bad = tn_row_emit(m, TN_JIT_FCMP, m->folds[at].bytes, TN_JIT_UNORDERED, 2, other, v, 0);
    m->bad[at] =
        m->bad[at] == NONE ? bad : tn_row_emit(m, TN_JIT_MASK_OR, 4, 0, 2, m->bad[at], bad, 0);
}

/* Group `g` of the operand joins m->acc. */
SMALL void tn_row_accumulate(tn_row_maker *m, uint32_t at, uint32_t g)
{
    const tn_row_fold *f = &m->folds[at];
    tn_jv v = as_number(m, f, tn_row_column_value(m, f->step->refs[0], g)), *acc = &m->acc[at][g];
    if (m->failed) return;
    if (g == m->masked) {
        tn_jv tail = tn_row_emit(m, TN_JIT_TAIL, 4, 0, 0, 0, 0, 0);
        v = tn_row_emit(m, TN_JIT_SELECT, f->bytes, 0, 3, tail, v, tn_row_neutral(m, f));
    }
    if (!f->by_range) {
        *acc = *acc == NONE ? v : tn_row_combine(m, f, *acc, v);
        return;
    }
    if (m->unseen[at] == NONE) m->unseen[at] = v;
    else tn_row_note_nan(m, at, v);
    if (*acc == NONE) *acc = v;
    else *acc = extreme(m, f, *acc, v);
}

/* Floats of a signed integer's order, and back. */
static tn_jv key_of(tn_row_maker *m, const tn_row_fold *f, tn_jv v)
{
    enum { A_XOR_B_AND_C = 0x78 };
    tn_jv most = tn_jit_const(&m->piece, f->bytes, UINT64_MAX >> (f->bytes == 8 ? 1 : 33));
    tn_jv sign = tn_row_emit(m, TN_JIT_SAR, f->bytes, 8 * f->bytes - 1, 1, v, 0, 0);
    return tn_row_emit(m, TN_JIT_LOGIC, f->bytes, A_XOR_B_AND_C, 3, v, sign, most);
}

/* Makes one value of m->acc, and with the initial one the result. */
SMALL void tn_row_finish_fold(tn_row_maker *m, uint32_t at)
{
    const tn_row_fold *f = &m->folds[at];
    tn_jv a[TN_ROW_GROUPS], nan = 0;
    uint32_t n = 0, lanes = m->lanes;
    memcpy(a, m->acc[at], sizeof a);
    while (n < m->groups && a[n] != NONE) n++;
    if (f->is_float && !tn_row_is_inexact(f))
        nan = tn_jit_const(&m->piece, f->bytes, f->bytes == 8 ? 0x7ff8000000000000u : 0x7fc00000u);
    for (uint32_t half = m->groups / 2; half; half /= 2) {
        for (uint32_t k = 0; k < half && k + half < n; k++)
            a[k] = f->by_range ? extreme(m, f, a[k], a[k + half])
                               : tn_row_combine(m, f, a[k], a[k + half]);
        if (n > half) n = half;
    }
    tn_jit_op op = f->kind == TN_OP_maximum ? TN_JIT_SMAX : TN_JIT_SMIN;
    tn_jv v, init;
    if (m->turned) {
        if (f->by_range) tn_row_note_nan(m, at, NONE);
        v = f->by_range ? tn_row_emit(m, TN_JIT_SELECT, f->bytes, 0, 3, m->bad[at], nan, a[0])
                        : a[0];
    } else {
        if (f->by_range) {
            /* As keys, of which a NaN is the one that is wanted. */
            uint64_t bits = f->bytes == 8 ? 0x7ff8000000000000u : 0x7fc00000u;
            if (f->kind == TN_OP_minimum) bits |= f->bytes == 8 ? (uint64_t)1 << 63 : 0x80000000u;
            tn_row_note_nan(m, at, NONE);
            tn_jv wins = tn_jit_const(&m->piece, f->bytes, bits);
            a[0] = tn_row_emit(m, TN_JIT_SELECT, f->bytes, 0, 3, m->bad[at], wins, a[0]);
            a[0] = key_of(m, f, a[0]);
        }
        for (uint32_t half = lanes / 2; half; half /= 2) {
            if (half >= m->columns) continue;
            tn_jv other = tn_row_emit(m, TN_JIT_HALF, f->bytes, half, 1, a[0], 0, 0);
            a[0] = f->by_range ? tn_row_emit(m, op, f->bytes, 0, 2, a[0], other, 0)
                               : tn_row_combine(m, f, a[0], other);
        }
        if (f->by_range) a[0] = key_of(m, f, a[0]);
        v = tn_row_emit(m, TN_JIT_SPREAD, f->bytes, 0, 1, a[0], 0, 0);
        if (f->is_float && !tn_row_is_inexact(f)) {
            tn_jv bad = tn_row_emit(m, TN_JIT_FCMP, f->bytes, TN_JIT_UNORDERED, 2, v, v, 0);
            v = tn_row_emit(m, TN_JIT_SELECT, f->bytes, 0, 3, bad, nan, v);
        }
    }
    uint32_t ref = f->step->refs[1];
    const tn_literal *l = tn_constant_of(m->p->values[ref].value);
    if (l && (l->splat || l->size == tn_element_type_bytes(f->from))) {
        init = tn_row_constant(m, l->data, f->from);
    } else {
        tn_rows_port p = {
            .at = TN_ROWS_AT_VALUE, .ref = ref, .bytes = tn_element_type_bytes(f->from)};
        init = tn_row_splat(m, tn_row_port(m, &p), f->from);
    }
    v = tn_row_combine(m, f, as_number(m, f, init), v);
    if (tn_row_is_inexact(f) && f->to != TN_F32 && f->bytes == 4 && !m->failed)
        v = tn_jit_round(&m->piece, f->to, v);
    if (f->from == TN_I1)
        v = tn_row_emit(m, TN_JIT_ICMP, 4, TN_JIT_IGT, 2, v, tn_jit_const(&m->piece, 4, 0), 0);
    m->row[f->step->refs[2]] = v;
}
