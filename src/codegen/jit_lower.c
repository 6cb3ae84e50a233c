/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/jit.h"

/* --- short names for instructions --- */

static tn_jv two(tn_jit_piece *p, tn_jit_op op, unsigned bytes, tn_jv a, tn_jv b)
{
    return tn_jit_emit(p, op, bytes, 0, 0, 2, a, b, 0);
}
static tn_jv one(tn_jit_piece *p, tn_jit_op op, unsigned bytes, tn_jv a)
{
    return tn_jit_emit(p, op, bytes, 0, 0, 1, a, 0, 0);
}
static tn_jv shift(tn_jit_piece *p, tn_jit_op op, unsigned bytes, tn_jv a, unsigned by)
{
    return tn_jit_emit(p, op, bytes, by, 0, 1, a, 0, 0);
}
static tn_jv madd(tn_jit_piece *p, unsigned bytes, tn_jv a, tn_jv b, tn_jv c)
{
    return tn_jit_emit(p, TN_JIT_FMA, bytes, 0, 0, 3, a, b, c);
}
static tn_jv nmadd(tn_jit_piece *p, unsigned bytes, tn_jv a, tn_jv b, tn_jv c)
{
    return tn_jit_emit(p, TN_JIT_FNMA, bytes, 0, 0, 3, a, b, c);
}
static tn_jv pick(tn_jit_piece *p, unsigned bytes, tn_jv m, tn_jv a, tn_jv b)
{
    return tn_jit_emit(p, TN_JIT_SELECT, bytes, 0, 0, 3, m, a, b);
}
static tn_jv fcmp(tn_jit_piece *p, unsigned bytes, unsigned how, tn_jv a, tn_jv b)
{
    return tn_jit_emit(p, TN_JIT_FCMP, bytes, how, 0, 2, a, b, 0);
}

static tn_jv real(tn_jit_piece *p, unsigned bytes, double x)
{
    uint64_t u = 0;
    float f = (float)x;
    if (bytes == 8) memcpy(&u, &x, 8);
    else memcpy(&u, &f, 4);
    return tn_jit_const(p, bytes, u);
}
static tn_jv bits32(tn_jit_piece *p, uint32_t x)
{
    return tn_jit_const(p, 4, x);
}
static tn_jv sign_bit(tn_jit_piece *p, unsigned bytes)
{
    return tn_jit_const(p, bytes, bytes == 8 ? (uint64_t)1 << 63 : 0x80000000u);
}

static tn_jv scale(tn_jit_piece *p, tn_jv e, tn_jv n, tn_jv t)
{
    if (p->avx512) return two(p, TN_JIT_SCALE, 4, e, n);
    tn_jv whole = two(p, TN_JIT_ISUB, 4, t, bits32(p, 0x4b400000));
    tn_jv half = shift(p, TN_JIT_SAR, 4, whole, 1), rest = two(p, TN_JIT_ISUB, 4, whole, half);
    tn_jv bias = bits32(p, 127);
    tn_jv first = shift(p, TN_JIT_SHL, 4, two(p, TN_JIT_IADD, 4, half, bias), 23);
    tn_jv second = shift(p, TN_JIT_SHL, 4, two(p, TN_JIT_IADD, 4, rest, bias), 23);
    return two(p, TN_JIT_FMUL, 4, two(p, TN_JIT_FMUL, 4, e, first), second);
}

/* Zeros are what m leaves, so nothing is scaled to them. */
static tn_jv scale_where(tn_jit_piece *p, tn_jv m, tn_jv e, tn_jv n, tn_jv t)
{
    if (p->avx512) return tn_jit_emit(p, TN_JIT_SCALE_WHERE, 4, 0, 0, 3, e, n, m);
    return pick(p, 4, m, scale(p, e, n, t), real(p, 4, 0));
}

static tn_jv spared(tn_jit_piece *p, tn_jv m, tn_jv a)
{
    return p->avx512 ? a : pick(p, 4, m, a, real(p, 4, 0));
}

typedef struct {
    tn_jv m, n;
} parts;
/* x = m 2^-n; `any`: x may be below the normal numbers. */
static parts parts_of(tn_jit_piece *p, tn_jv x, bool any)
{
    if (p->avx512) {
        enum { FROM_3_4 = 3 };
        tn_jv m = shift(p, TN_JIT_MANTISSA, 4, x, FROM_3_4);
        tn_jv e = one(p, TN_JIT_EXPONENT, 4, x), of_m = one(p, TN_JIT_EXPONENT, 4, m);
        return (parts){m, two(p, TN_JIT_FSUB, 4, of_m, e)};
    }
    tn_jv zero = real(p, 4, 0), offset = zero;
    if (any) {
        tn_jv tiny = fcmp(p, 4, TN_JIT_FLT, x, real(p, 4, 0x1p-126));
        x = pick(p, 4, tiny, two(p, TN_JIT_FMUL, 4, x, real(p, 4, 0x1p23)), x);
        offset = pick(p, 4, tiny, real(p, 4, 23), zero);
    }
    tn_jv k = shift(p, TN_JIT_SAR, 4, two(p, TN_JIT_ISUB, 4, x, bits32(p, 0x3f400000)), 23);
    tn_jv m = two(p, TN_JIT_ISUB, 4, x, shift(p, TN_JIT_SHL, 4, k, 23));
    return (parts){m, two(p, TN_JIT_FSUB, 4, offset, one(p, TN_JIT_F32_OF_I32, 4, k))};
}

/* l, or what log gives for x that is no positive finite number. */
static tn_jv log_of(tn_jit_piece *p, tn_jv l, tn_jv x)
{
    if (p->avx512) {
        /* NaN (3) for both NaNs, -inf and less than 0; -inf (4) for zeros; inf (5) for itself. */
        tn_jv table = bits32(p, 0x03530433);
        return tn_jit_emit(p, TN_JIT_FIXUP, 4, 0, 0, 3, l, x, table);
    }
    tn_jv zero = real(p, 4, 0), inf = real(p, 4, __builtin_inf());
    tn_jv special = pick(p, 4, fcmp(p, 4, TN_JIT_FEQ, x, zero), real(p, 4, -__builtin_inf()),
                         bits32(p, 0xffc00000));
    l = pick(p, 4, fcmp(p, 4, TN_JIT_FLT, zero, x), l, special);
    return pick(p, 4, fcmp(p, 4, TN_JIT_FEQ, x, inf), x, l);
}

/* x 2^n, to 0 where that is below the normal numbers. */
static tn_jv scaled_by(tn_jit_piece *p, tn_jv x, tn_jv n)
{
    if (p->avx512) return two(p, TN_JIT_SCALE, 4, x, n);
    tn_jv biased = two(p, TN_JIT_FADD, 4, n, real(p, 4, 0x1.8000fep23));
    tn_jv power = shift(p, TN_JIT_SHL, 4, biased, 23);
    return two(p, TN_JIT_FMUL, 4, x, two(p, TN_JIT_MORE, 4, power, real(p, 4, 0)));
}

static tn_jv lookup(tn_jit_piece *p, const float *table, tn_jv i)
{
    return tn_jit_emit(p, TN_JIT_LOOKUP, 4, 0, (uintptr_t)table, 1, i, 0, 0);
}

/* size | sign of a */
static tn_jv with_sign(tn_jit_piece *p, unsigned bytes, tn_jv size, tn_jv a)
{
    enum { A_OR_B_AND_C = 0xf8 };
    tn_jv sign = sign_bit(p, bytes);
    if (p->avx512) return tn_jit_emit(p, TN_JIT_LOGIC, bytes, A_OR_B_AND_C, 0, 3, size, a, sign);
    return two(p, TN_JIT_OR, bytes, size, two(p, TN_JIT_AND, bytes, a, sign));
}

#define V                       tn_jv
#define M                       tn_jv
#define FUNCTION(name)          static tn_jv name##_f32(tn_jit_piece *p_, tn_jv a)
#define K(x)                    real(p_, 4, (double)(x))
#define BITS(x)                 bits32(p_, x)
#define ADD(a, b)               two(p_, TN_JIT_FADD, 4, a, b)
#define SUB(a, b)               two(p_, TN_JIT_FSUB, 4, a, b)
#define MUL(a, b)               two(p_, TN_JIT_FMUL, 4, a, b)
#define DIV(a, b)               two(p_, TN_JIT_FDIV, 4, a, b)
#define FMA(a, b, c)            madd(p_, 4, a, b, c)
#define FNMA(a, b, c)           nmadd(p_, 4, a, b, c)
#define MORE(a, b)              two(p_, TN_JIT_MORE, 4, a, b)
#define LESS(a, b)              two(p_, TN_JIT_LESS, 4, a, b)
#define IADD(a, b)              two(p_, TN_JIT_IADD, 4, a, b)
#define ISUB(a, b)              two(p_, TN_JIT_ISUB, 4, a, b)
#define IAND(a, b)              two(p_, TN_JIT_AND, 4, a, b)
#define IOR(a, b)               two(p_, TN_JIT_OR, 4, a, b)
#define ISHL(a, n)              shift(p_, TN_JIT_SHL, 4, a, n)
#define ISAR(a, n)              shift(p_, TN_JIT_SAR, 4, a, n)
#define LT(a, b)                fcmp(p_, 4, TN_JIT_FLT, a, b)
#define NOT_LT(a, b)            fcmp(p_, 4, TN_JIT_NOT_LESS, a, b)
#define PICK(m, a, b)           pick(p_, 4, m, a, b)
#define SCALE(e, n, t)          scale(p_, e, n, t)
#define SCALE_WHERE(m, e, n, t) scale_where(p_, m, e, n, t)
#define SPARED(m, a)            spared(p_, m, a)
#define PARTS                   parts
#define PARTS_OF(x)             parts_of(p_, x, false)
#define PARTS_OF_ANY(x)         parts_of(p_, x, true)
#define LOG_OF(l, x)            log_of(p_, l, x)
#define SCALED_BY(x, n)         scaled_by(p_, x, n)
#define AT(table, i)            lookup(p_, table, i)
#define WITH_SIGN(x, a)         with_sign(p_, 4, x, a)
#include "kernels/math_f32_rows.h"

/* --- types --- */

typedef enum { REP_NONE, REP_MASK, REP_INT, REP_F32, REP_I64, REP_F64 } rep;

static rep rep_of(tn_element_type e)
{
    switch ((int)e) {
    case TN_I1: return REP_MASK;
    case TN_I8:
    case TN_U8:
    case TN_I16:
    case TN_U16:
    case TN_I32:
    case TN_U32: return REP_INT;
    case TN_BF16:
    case TN_F16:
    case TN_F32: return REP_F32;
    case TN_I64:
    case TN_U64: return REP_I64;
    case TN_F64: return REP_F64;
    default: return REP_NONE;
    }
}

static bool is_signed(tn_element_type e)
{
    return tn_element_type_class(e) == TN_CLASS_SINT;
}

bool tn_jit_has_type(tn_element_type e)
{
    return rep_of(e) != REP_NONE;
}

/* Extends again what an op has made of an integer narrower than its register. */
static tn_jv wrap(tn_jit_piece *p, tn_element_type e, tn_jv v)
{
    unsigned drop = 32 - 8 * (unsigned)tn_element_type_bytes(e);
    if (tn_element_type_bytes(e) >= 4) return v;
    if (!is_signed(e)) return two(p, TN_JIT_AND, 4, v, bits32(p, 0xffffffffu >> drop));
    return shift(p, TN_JIT_SAR, 4, shift(p, TN_JIT_SHL, 4, v, drop), drop);
}

/* An f32 to the nearest value of its own type. any_nan: v may be a NaN that rounding makes infinite
 * or a zero. Those that ops make of bf16 have the low half empty. */
static tn_jv round_to(tn_jit_piece *p, tn_element_type e, tn_jv v, bool any_nan)
{
    if (e == TN_F16) return p->half ? v : one(p, TN_JIT_F16_ROUND, 4, v);
    if (e != TN_BF16) return v;
    tn_jv even = bits32(p, 0x7fff), up;
    if (p->avx512) {
        tn_jv odd = two(p, TN_JIT_TEST, 4, v, bits32(p, 0x10000));
        up = two(p, TN_JIT_IADD, 4, v, pick(p, 4, odd, bits32(p, 0x8000), even));
    } else {
        tn_jv odd = two(p, TN_JIT_AND, 4, shift(p, TN_JIT_SHR, 4, v, 16), bits32(p, 1));
        up = two(p, TN_JIT_IADD, 4, two(p, TN_JIT_IADD, 4, v, even), odd);
    }
    if (any_nan) {
        tn_jv quiet = two(p, TN_JIT_OR, 4, v, bits32(p, 0x400000));
        up = pick(p, 4, fcmp(p, 4, TN_JIT_UNORDERED, v, v), quiet, up);
    }
    return two(p, TN_JIT_AND, 4, up, bits32(p, 0xffff0000u));
}

tn_jv tn_jit_round(tn_jit_piece *p, tn_element_type e, tn_jv v)
{
    return round_to(p, e, v, true);
}

/* Does it give values of the type that it takes, computed in f32? */
static bool is_exact(tn_op_kind kind)
{
    switch ((int)kind) {
    case TN_OP_abs:
    case TN_OP_negate:
    case TN_OP_sign:
    case TN_OP_maximum:
    case TN_OP_minimum:
    case TN_OP_floor:
    case TN_OP_ceil:
    case TN_OP_round_nearest_even:
    case TN_OP_round_nearest_afz: return true;
    default: return false;
    }
}

/* --- reals --- */

static bool is_plain_constant(const tn_jit_piece *p, tn_jv v, unsigned bytes)
{
    const tn_jit_instruction *i = &p->list[v];
    if (i->op != TN_JIT_CONST) return false;
    uint64_t size = i->aux & (UINT64_MAX >> (65 - 8 * bytes));
    return size && size <= (bytes == 8 ? 0x7ff0000000000000u : bytes == 4 ? 0x7f800000u : 0x7c00u);
}

/* NaN if either is NaN, the first one's; -0 below 0. With a constant that is neither NaN nor zero
 * one instruction does it, with 0 two. */
static tn_jv extreme(tn_jit_piece *p, unsigned bytes, bool max, tn_jv a, tn_jv b)
{
    tn_jit_op op = max ? TN_JIT_MORE : TN_JIT_LESS;
    if (is_plain_constant(p, a, bytes)) return two(p, op, bytes, a, b);
    if (is_plain_constant(p, b, bytes)) return two(p, op, bytes, b, a);
    tn_jv zero = real(p, bytes == 8 ? 8 : 4, 0); /* of f16: two */
    if (a == zero || b == zero) {
        tn_jv x = a == zero ? b : a;
        unsigned how = max ? TN_JIT_NOT_LESS_EQUAL : TN_JIT_NOT_GREATER;
        return pick(p, bytes, fcmp(p, bytes, how, x, zero), x, zero);
    }
    tn_jv both = two(p, max ? TN_JIT_AND : TN_JIT_OR, bytes, a, b);
    tn_jv r = pick(p, bytes, fcmp(p, bytes, TN_JIT_UNORDERED, a, a), a, two(p, op, bytes, a, b));
    return pick(p, bytes, fcmp(p, bytes, TN_JIT_FEQ, a, b), both, r);
}

static tn_jv magnitude(tn_jit_piece *p, unsigned bytes, tn_jv a)
{
    return two(p, TN_JIT_ANDN, bytes, sign_bit(p, bytes), a);
}

static tn_jv rsqrt(tn_jit_piece *p, unsigned bytes, tn_jv a)
{
    tn_jv sign = sign_bit(p, bytes), x = real(p, bytes, 1);
    tn_jv y = two(p, TN_JIT_FDIV, bytes, x, one(p, TN_JIT_SQRT, bytes, a));
    tn_jv h = two(p, TN_JIT_FMUL, bytes, a, y);
    tn_jv l = madd(p, bytes, a, y, two(p, TN_JIT_XOR, bytes, h, sign));
    tn_jv e = nmadd(p, bytes, l, y, nmadd(p, bytes, h, y, x));
    tn_jv z = madd(p, bytes, two(p, TN_JIT_FMUL, bytes, y, real(p, bytes, 0.5)), e, y);
    return pick(p, bytes, fcmp(p, bytes, TN_JIT_UNORDERED, e, e), y, z);
}

static tn_jv rounded(tn_jit_piece *p, unsigned bytes, unsigned how, tn_jv a)
{
    return tn_jit_emit(p, TN_JIT_ROUND, bytes, how | 8, 0, 1, a, 0, 0);
}

tn_jv tn_jit_reciprocal(tn_jit_piece *p, unsigned bytes, tn_jv b)
{
    bool wide = bytes == 8;
    tn_jv one = tn_jit_const(p, bytes, wide ? UINT64_C(1023) << 52 : 127u << 23);
    tn_jv nan = tn_jit_const(p, bytes, wide ? UINT64_C(0x7ff8) << 48 : 0x7fc00000);
    uint64_t least = wide ? UINT64_C(2) * (1023 - 200) << 52 : UINT64_C(2) * (127 - 20) << 23;
    uint64_t range = wide ? UINT64_C(2) * 600 << 52 : UINT64_C(2) * 60 << 23;
    tn_jv twice = two(p, TN_JIT_IADD, bytes, b, b);
    tn_jv above = two(p, TN_JIT_ISUB, bytes, twice, tn_jit_const(p, bytes, least));
    tn_jv fits = tn_jit_emit(p, TN_JIT_UCMP, bytes, TN_JIT_ILE, 0, 2, above,
                             tn_jit_const(p, bytes, range), 0);
    return tn_jit_emit(p, TN_JIT_SELECT, bytes, 0, 0, 3, fits, two(p, TN_JIT_FDIV, bytes, one, b),
                       nan);
}

/* By a constant whose reciprocal is of use; false: by something else. */
static bool divide_by_constant(tn_jit_piece *p, unsigned bytes, const tn_jv *in, tn_jv *out)
{
    const tn_jit_instruction *i = &p->list[in[1]];
    if (!p->avx512 || i->op != TN_JIT_CONST || bytes < 4) return false;
    double x;
    float f;
    memcpy(&x, &i->aux, 8);
    memcpy(&f, &i->aux, 4);
    if (bytes == 4) x = (double)f;
    if (!(x < 0 ? -x > 0x1p-19 && -x < 0x1p39 : x > 0x1p-19 && x < 0x1p39)) return false;
    uint64_t bits = 0;
    double wide = 1 / x;
    f = 1 / (float)x;
    if (bytes == 4) memcpy(&bits, &f, 4);
    else memcpy(&bits, &wide, 8);
    *out = tn_jit_emit(p, TN_JIT_DIVIDE_BY, bytes, 0, 0, 3, in[0], in[1],
                       tn_jit_const(p, bytes, bits));
    return true;
}

static bool lower_real(tn_jit_piece *p, tn_op_kind kind, unsigned s, const tn_jv *in, tn_jv *out)
{
    tn_jv a = in[0], b = in[1];
    switch ((int)kind) {
    case TN_OP_add: *out = two(p, TN_JIT_FADD, s, a, b); return true;
    case TN_OP_subtract: *out = two(p, TN_JIT_FSUB, s, a, b); return true;
    case TN_OP_multiply: *out = two(p, TN_JIT_FMUL, s, a, b); return true;
    case TN_OP_divide:
        if (!divide_by_constant(p, s, in, out)) *out = two(p, TN_JIT_FDIV, s, a, b);
        return true;
    case TN_OP_maximum: *out = extreme(p, s, true, a, b); return true;
    case TN_OP_minimum: *out = extreme(p, s, false, a, b); return true;
    case TN_OP_abs: *out = magnitude(p, s, a); return true;
    case TN_OP_negate: *out = two(p, TN_JIT_XOR, s, a, sign_bit(p, s)); return true;
    case TN_OP_sqrt: *out = one(p, TN_JIT_SQRT, s, a); return true;
    case TN_OP_rsqrt: *out = rsqrt(p, s, a); return true;
    case TN_OP_round_nearest_even: *out = rounded(p, s, 0, a); return true;
    case TN_OP_floor: *out = rounded(p, s, 1, a); return true;
    case TN_OP_ceil: *out = rounded(p, s, 2, a); return true;
    case TN_OP_round_nearest_afz: {
        tn_jv t = rounded(p, s, 3, a), rest = magnitude(p, s, two(p, TN_JIT_FSUB, s, a, t));
        tn_jv up =
            pick(p, s, fcmp(p, s, TN_JIT_FGE, rest, real(p, s, 0.5)), real(p, s, 1), real(p, s, 0));
        *out = with_sign(p, s, two(p, TN_JIT_FADD, s, magnitude(p, s, t), up), a);
        return true;
    }
    case TN_OP_sign: {
        tn_jv nonzero = fcmp(p, s, TN_JIT_LESS_OR_GREATER, a, real(p, s, 0));
        *out = pick(p, s, nonzero, with_sign(p, s, real(p, s, 1), a), a);
        return true;
    }
    case TN_OP_is_finite:
        *out = fcmp(p, s, TN_JIT_FLT, magnitude(p, s, a), real(p, s, __builtin_inf()));
        return true;
    case TN_OP_erf: *out = s == 4 ? erf_f32(p, a) : 0; return s == 4;
    case TN_OP_erfc: *out = s == 4 ? erfc_f32(p, a) : 0; return s == 4;
    case TN_OP_erf_inv: *out = s == 4 ? erf_inv_f32(p, a) : 0; return s == 4;
    case TN_OP_exponential: *out = s == 4 ? exp_f32(p, a) : 0; return s == 4;
    case TN_OP_log: *out = s == 4 ? log_f32(p, a) : 0; return s == 4;
    case TN_OP_log_plus_one: *out = s == 4 ? log1p_f32(p, a) : 0; return s == 4;
    case TN_OP_logistic: *out = s == 4 ? logistic_f32(p, a) : 0; return s == 4;
    case TN_OP_tanh: *out = s == 4 ? tanh_f32(p, a) : 0; return s == 4;
    default: return false;
    }
}

/* --- integers and truths --- */

static tn_jv icmp(tn_jit_piece *p, bool sint, unsigned s, unsigned how, tn_jv a, tn_jv b);

/* The bits of `a` that are set. */
static tn_jv ones(tn_jit_piece *p, unsigned s, tn_jv a)
{
    if (tn_jit_has_counts(p->jit)) return one(p, TN_JIT_ONES, s, a);
    uint64_t every = UINT64_MAX;
    tn_jv in_2 = tn_jit_const(p, s, every / 3), in_4 = tn_jit_const(p, s, every / 5);
    tn_jv in_8 = tn_jit_const(p, s, every / 17);
    a = two(p, TN_JIT_ISUB, s, a, two(p, TN_JIT_AND, s, shift(p, TN_JIT_SHR, s, a, 1), in_2));
    tn_jv high = two(p, TN_JIT_AND, s, shift(p, TN_JIT_SHR, s, a, 2), in_4);
    a = two(p, TN_JIT_IADD, s, two(p, TN_JIT_AND, s, a, in_4), high);
    a = two(p, TN_JIT_IADD, s, a, shift(p, TN_JIT_SHR, s, a, 4));
    a = two(p, TN_JIT_AND, s, a, in_8);
    for (unsigned by = 8; by < 8 * s; by *= 2)
        a = two(p, TN_JIT_IADD, s, a, shift(p, TN_JIT_SHR, s, a, by));
    return two(p, TN_JIT_AND, s, a, tn_jit_const(p, s, 127));
}

/* Of the register's bits, those in front of the first that is set. */
static tn_jv zeros_in_front(tn_jit_piece *p, unsigned s, tn_jv a)
{
    if (tn_jit_has_counts(p->jit)) return one(p, TN_JIT_ZEROS, s, a);
    for (unsigned by = 1; by < 8 * s; by *= 2)
        a = two(p, TN_JIT_OR, s, a, shift(p, TN_JIT_SHR, s, a, by));
    return two(p, TN_JIT_ISUB, s, tn_jit_const(p, s, 8 * s), ones(p, s, a));
}

static tn_jv f64_of(tn_jit_piece *p, bool sint, tn_jv a)
{
    if (!sint) a = two(p, TN_JIT_XOR, 4, a, bits32(p, 0x80000000u));
    tn_jv v = one(p, TN_JIT_F64_OF_I32, 8, a);
    return sint ? v : two(p, TN_JIT_FADD, 8, v, real(p, 8, 0x1p31));
}

/* a / b truncated, for any but b = 0, for which it is something; f32 quotients of 16 bits are right
 * when they are truncated, and f64 quotients of 32, see math_int.h. That of u32 by 1 may be too
 * large to convert. A divisor that is known is multiplied by what is a little more than its
 * inverse: that is never below a whole quotient, and above one by less than other quotients are. */
static tn_jv quotient(tn_jit_piece *p, bool sint, bool narrow, tn_jv a, tn_jv b)
{
    const tn_jit_instruction *known = &p->list[b];
    bool is_known = known->op == TN_JIT_CONST && (uint32_t)known->aux != 0;
    double by = sint ? (double)(int32_t)known->aux : (double)(uint32_t)known->aux;
    if (is_known && by == 1) return a;
    if (narrow) {
        tn_jv x = one(p, TN_JIT_F32_OF_I32, 4, a);
        float inverse = 1 / (float)by;
        inverse = __builtin_nextafterf(inverse, inverse > 0 ? 2.0f : -2.0f);
        x = is_known ? two(p, TN_JIT_FMUL, 4, x, real(p, 4, inverse))
                     : two(p, TN_JIT_FDIV, 4, x, one(p, TN_JIT_F32_OF_I32, 4, b));
        return one(p, TN_JIT_I32_OF_F32, 4, x);
    }
    tn_jv x = f64_of(p, sint, a);
    double inverse = 1 / by;
    inverse = __builtin_nextafter(inverse, inverse > 0 ? 2.0 : -2.0);
    x = is_known ? two(p, TN_JIT_FMUL, 8, x, real(p, 8, inverse))
                 : two(p, TN_JIT_FDIV, 8, x, f64_of(p, sint, b));
    tn_jv q = one(p, TN_JIT_I32_OF_F64, 4, x);
    if (sint || is_known) return q;
    return pick(p, 4, icmp(p, false, 4, TN_JIT_IEQ, b, bits32(p, 1)), a, q);
}

/* By 0: all ones, and all of a is left. */
static tn_jv divided(tn_jit_piece *p, bool rem, bool sint, bool narrow, tn_jv a, tn_jv b)
{
    tn_jv q = quotient(p, sint, narrow, a, b);
    if (rem) return two(p, TN_JIT_ISUB, 4, a, two(p, TN_JIT_IMUL, 4, q, b));
    const tn_jit_instruction *known = &p->list[b];
    if (known->op == TN_JIT_CONST && (uint32_t)known->aux != 0) return q;
    tn_jv zero = icmp(p, false, 4, TN_JIT_IEQ, b, bits32(p, 0));
    return pick(p, 4, zero, bits32(p, UINT32_MAX), q);
}

static bool lower_integer(tn_jit_piece *p, tn_op_kind kind, tn_element_type e, const tn_jv *in,
                          tn_jv *out)
{
    unsigned s = tn_element_type_bytes(e) == 8 ? 8 : 4;
    bool sint = is_signed(e), narrow = tn_element_type_bytes(e) < 4;
    unsigned drop = narrow ? 32 - 8 * (unsigned)tn_element_type_bytes(e) : 0;
    if (s == 8 && !p->avx512) switch ((int)kind) {
        case TN_OP_add:
        case TN_OP_subtract:
        case TN_OP_negate:
        case TN_OP_and:
        case TN_OP_or:
        case TN_OP_xor:
        case TN_OP_popcnt:
        case TN_OP_count_leading_zeros:
        case TN_OP_not: break;
        default: return false;
        }
    tn_jv a = in[0], b = in[1], v, zero;
    switch ((int)kind) {
    case TN_OP_add: v = two(p, TN_JIT_IADD, s, a, b); break;
    case TN_OP_subtract: v = two(p, TN_JIT_ISUB, s, a, b); break;
    case TN_OP_multiply: v = two(p, TN_JIT_IMUL, s, a, b); break;
    case TN_OP_negate: v = two(p, TN_JIT_ISUB, s, tn_jit_const(p, s, 0), a); break;
    case TN_OP_abs:
        if (!sint) v = a;
        else v = one(p, TN_JIT_IABS, s, a);
        break;
    case TN_OP_and: v = two(p, TN_JIT_AND, s, a, b); break;
    case TN_OP_or: v = two(p, TN_JIT_OR, s, a, b); break;
    case TN_OP_xor: v = two(p, TN_JIT_XOR, s, a, b); break;
    case TN_OP_not: v = two(p, TN_JIT_XOR, s, a, tn_jit_const(p, s, UINT64_MAX)); break;
    case TN_OP_maximum: v = two(p, sint ? TN_JIT_SMAX : TN_JIT_UMAX, s, a, b); break;
    case TN_OP_minimum: v = two(p, sint ? TN_JIT_SMIN : TN_JIT_UMIN, s, a, b); break;
    case TN_OP_sign:
        if (!sint) {
            v = two(p, TN_JIT_UMIN, s, a, tn_jit_const(p, s, 1));
        } else {
            zero = two(p, TN_JIT_SMAX, s, a, tn_jit_const(p, s, UINT64_MAX));
            v = two(p, TN_JIT_SMIN, s, zero, tn_jit_const(p, s, 1));
        }
        break;
    case TN_OP_shift_left: v = two(p, TN_JIT_SHLV, s, a, b); break;
    case TN_OP_shift_right_logical:
        if (narrow && sint) a = two(p, TN_JIT_AND, s, a, bits32(p, 0xffffffffu >> drop));
        v = two(p, TN_JIT_SHRV, s, a, b);
        break;
    case TN_OP_shift_right_arithmetic:
        if (narrow && !sint) a = shift(p, TN_JIT_SAR, s, shift(p, TN_JIT_SHL, s, a, drop), drop);
        v = two(p, TN_JIT_SARV, s, a, b);
        break;
    case TN_OP_popcnt:
    case TN_OP_count_leading_zeros:
        if (narrow && sint) a = two(p, TN_JIT_AND, s, a, bits32(p, 0xffffffffu >> drop));
        if (kind == TN_OP_popcnt) v = ones(p, s, a);
        else v = zeros_in_front(p, s, a);
        if (drop && kind != TN_OP_popcnt) v = two(p, TN_JIT_ISUB, s, v, bits32(p, drop));
        *out = v;
        return true;
    case TN_OP_divide:
    case TN_OP_remainder:
        if (s == 8) return false;
        v = divided(p, kind == TN_OP_remainder, sint, narrow, a, b);
        break;
    default: return false;
    }
    *out = wrap(p, e, v);
    return true;
}

static bool lower_truth(tn_jit_piece *p, tn_op_kind kind, const tn_jv *in, tn_jv *out)
{
    switch ((int)kind) {
    case TN_OP_and:
    case TN_OP_multiply:
    case TN_OP_minimum: *out = two(p, TN_JIT_MASK_AND, 4, in[0], in[1]); return true;
    case TN_OP_or:
    case TN_OP_add:
    case TN_OP_maximum: *out = two(p, TN_JIT_MASK_OR, 4, in[0], in[1]); return true;
    case TN_OP_xor: *out = two(p, TN_JIT_MASK_XOR, 4, in[0], in[1]); return true;
    case TN_OP_not: *out = one(p, TN_JIT_MASK_NOT, 4, in[0]); return true;
    default: return false;
    }
}

/* --- ops of several types --- */

static tn_jv icmp(tn_jit_piece *p, bool sint, unsigned s, unsigned how, tn_jv a, tn_jv b)
{
    if (p->avx512) return tn_jit_emit(p, sint ? TN_JIT_ICMP : TN_JIT_UCMP, s, how, 0, 2, a, b, 0);
    if (!sint && how != TN_JIT_IEQ && how != TN_JIT_INE) {
        a = two(p, TN_JIT_XOR, s, a, sign_bit(p, s));
        b = two(p, TN_JIT_XOR, s, b, sign_bit(p, s));
    }
    /* There are equal and greater alone. */
    bool swap = how == TN_JIT_ILT || how == TN_JIT_IGE;
    bool negate = how == TN_JIT_INE || how == TN_JIT_ILE || how == TN_JIT_IGE;
    unsigned basic = how == TN_JIT_IEQ || how == TN_JIT_INE ? TN_JIT_IEQ : TN_JIT_IGT;
    tn_jv m = tn_jit_emit(p, TN_JIT_ICMP, s, basic, 0, 2, swap ? b : a, swap ? a : b, 0);
    return negate ? one(p, TN_JIT_MASK_NOT, 4, m) : m;
}

static bool lower_compare(tn_jit_piece *p, const tn_op *op, tn_element_type e, const tn_jv *in,
                          tn_jv *out)
{
    static const uint8_t of_reals[] = {
        [TN_comparison_direction_EQ] = TN_JIT_FEQ, [TN_comparison_direction_NE] = TN_JIT_FNE,
        [TN_comparison_direction_GE] = TN_JIT_FGE, [TN_comparison_direction_GT] = TN_JIT_FGT,
        [TN_comparison_direction_LE] = TN_JIT_FLE, [TN_comparison_direction_LT] = TN_JIT_FLT};
    static const uint8_t of_integers[] = {
        [TN_comparison_direction_EQ] = TN_JIT_IEQ, [TN_comparison_direction_NE] = TN_JIT_INE,
        [TN_comparison_direction_GE] = TN_JIT_IGE, [TN_comparison_direction_GT] = TN_JIT_IGT,
        [TN_comparison_direction_LE] = TN_JIT_ILE, [TN_comparison_direction_LT] = TN_JIT_ILT};
    int64_t how = tn_op_int(op, TN_ATTR_comparison_direction, -1);
    if (how < 0 || how > TN_comparison_direction_LT) return false;
    switch (rep_of(e)) {
    case REP_F32:
    case REP_F64:
        if (tn_op_int(op, TN_ATTR_compare_type, TN_comparison_type_NOTYPE) ==
            TN_comparison_type_TOTALORDER)
            return false;
        *out = fcmp(p,
                    rep_of(e) == REP_F64     ? 8
                    : p->half && e == TN_F16 ? 2
                                             : 4,
                    of_reals[how], in[0], in[1]);
        return true;
    case REP_INT:
    case REP_I64:
        *out = icmp(p, is_signed(e), rep_of(e) == REP_I64 ? 8 : 4, of_integers[how], in[0], in[1]);
        return true;
    case REP_MASK:
        if (how != TN_comparison_direction_EQ && how != TN_comparison_direction_NE) return false;
        *out = two(p, TN_JIT_MASK_XOR, 4, in[0], in[1]);
        if (how == TN_comparison_direction_EQ) *out = one(p, TN_JIT_MASK_NOT, 4, *out);
        return true;
    case REP_NONE: break;
    }
    return false;
}

static bool lower_select(tn_jit_piece *p, tn_element_type e, const tn_jv *in, tn_jv *out)
{
    rep r = rep_of(e);
    if (r == REP_MASK) {
        tn_jv yes = two(p, TN_JIT_MASK_AND, 4, in[0], in[1]);
        tn_jv no = two(p, TN_JIT_MASK_AND, 4, one(p, TN_JIT_MASK_NOT, 4, in[0]), in[2]);
        *out = two(p, TN_JIT_MASK_OR, 4, yes, no);
        return true;
    }
    *out = pick(p, r == REP_I64 || r == REP_F64 ? 8 : 4, in[0], in[1], in[2]);
    return true;
}

static bool lower_clamp(tn_jit_piece *p, tn_element_type e, const tn_jv *in, tn_jv *out)
{
    rep r = rep_of(e);
    if (r == REP_F32 || r == REP_F64) {
        unsigned s = r == REP_F64 ? 8 : 4;
        *out = extreme(p, s, false, extreme(p, s, true, in[1], in[0]), in[2]);
        return true;
    }
    if (r == REP_MASK) return false;
    tn_jv first[2] = {in[1], in[0]}, second[2] = {0, in[2]};
    return lower_integer(p, TN_OP_maximum, e, first, &second[0]) &&
           lower_integer(p, TN_OP_minimum, e, second, out);
}

static tn_jv rotated(tn_jit_piece *p, tn_jv a, unsigned by)
{
    if (p->avx512) return shift(p, TN_JIT_ROL, 4, a, by);
    tn_jv high = shift(p, TN_JIT_SHL, 4, a, by), low = shift(p, TN_JIT_SHR, 4, a, 32 - by);
    return two(p, TN_JIT_OR, 4, high, low);
}

/* See kernels/threefry_isa.c. */
static tn_jv threefry_bits(tn_jit_piece *p, tn_jv k0, tn_jv k1, tn_jv counter)
{
    static const uint8_t rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    tn_jv parity = two(p, TN_JIT_XOR, 4, bits32(p, 0x1BD11BDA), two(p, TN_JIT_XOR, 4, k0, k1));
    tn_jv keys[3] = {k0, k1, parity}, a = k0, b = two(p, TN_JIT_IADD, 4, counter, k1);
    for (uint32_t round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++) {
            a = two(p, TN_JIT_IADD, 4, a, b);
            b = two(p, TN_JIT_XOR, 4, rotated(p, b, rotations[round & 1][i]), a);
        }
        tn_jv next = two(p, TN_JIT_IADD, 4, keys[(round + 2) % 3], bits32(p, round + 1));
        a = two(p, TN_JIT_IADD, 4, a, keys[(round + 1) % 3]);
        b = two(p, TN_JIT_IADD, 4, b, next);
    }
    return two(p, TN_JIT_XOR, 4, a, b);
}

/* a as a signed 32-bit integer: truncated, saturated, NaN is 0. */
static tn_jv int_of_f32(tn_jit_piece *p, tn_jv a)
{
    tn_jv t = one(p, TN_JIT_I32_OF_F32, 4, a);
    tn_jv large = fcmp(p, 4, TN_JIT_FGE, a, real(p, 4, 0x1p31));
    tn_jv r = pick(p, 4, large, bits32(p, INT32_MAX), t);
    return pick(p, 4, fcmp(p, 4, TN_JIT_UNORDERED, a, a), bits32(p, 0), r);
}

/* The same for integers of fewer bits, whose limits are floats. */
static tn_jv narrow_of_f32(tn_jit_piece *p, tn_jv a, int32_t least, int32_t most)
{
    tn_jv v = two(p, TN_JIT_MORE, 4, real(p, 4, least), a);
    v = one(p, TN_JIT_I32_OF_F32, 4, two(p, TN_JIT_LESS, 4, real(p, 4, most), v));
    return pick(p, 4, fcmp(p, 4, TN_JIT_UNORDERED, a, a), bits32(p, 0), v);
}

static bool convert_f32(tn_jit_piece *p, tn_element_type from, tn_element_type to, tn_jv a,
                        tn_jv *out)
{
    switch ((int)to) {
    case TN_I1: *out = fcmp(p, 4, TN_JIT_FNE, a, real(p, 4, 0)); return true;
    case TN_I8: *out = narrow_of_f32(p, a, INT8_MIN, INT8_MAX); return true;
    case TN_U8: *out = narrow_of_f32(p, a, 0, UINT8_MAX); return true;
    case TN_I16: *out = narrow_of_f32(p, a, INT16_MIN, INT16_MAX); return true;
    case TN_U16: *out = narrow_of_f32(p, a, 0, UINT16_MAX); return true;
    case TN_I32: *out = int_of_f32(p, a); return true;
    case TN_U32: {
        tn_jv half = real(p, 4, 0x1p31), low = one(p, TN_JIT_I32_OF_F32, 4, a);
        tn_jv high = one(p, TN_JIT_I32_OF_F32, 4, two(p, TN_JIT_FSUB, 4, a, half));
        high = two(p, TN_JIT_XOR, 4, high, bits32(p, 0x80000000u));
        tn_jv r = pick(p, 4, fcmp(p, 4, TN_JIT_FGE, a, half), high, low);
        r = pick(p, 4, fcmp(p, 4, TN_JIT_FGE, a, real(p, 4, 0x1p32)), bits32(p, UINT32_MAX), r);
        *out = pick(p, 4, fcmp(p, 4, TN_JIT_FGT, a, real(p, 4, 0)), r, bits32(p, 0));
        return true;
    }
    case TN_F32: *out = a; return true;
    case TN_BF16:
    case TN_F16: *out = from == to ? a : round_to(p, to, a, true); return true;
    case TN_F64: *out = one(p, TN_JIT_F64_OF_F32, 8, a); return true;
    default: return false;
    }
}

static bool convert_f64(tn_jit_piece *p, tn_element_type to, tn_jv a, tn_jv *out)
{
    tn_jv r;
    switch ((int)to) {
    case TN_I1: *out = fcmp(p, 8, TN_JIT_FNE, a, real(p, 8, 0)); return true;
    case TN_F32: *out = one(p, TN_JIT_F32_OF_F64, 4, a); return true;
    case TN_F64: *out = a; return true;
    case TN_I32:
        r = one(p, TN_JIT_I32_OF_F64, 4, a);
        r = pick(p, 4, fcmp(p, 8, TN_JIT_FGE, a, real(p, 8, 0x1p31)), bits32(p, INT32_MAX), r);
        *out = pick(p, 4, fcmp(p, 8, TN_JIT_UNORDERED, a, a), bits32(p, 0), r);
        return true;
    default: return false;
    }
}

static bool convert_int(tn_jit_piece *p, tn_element_type from, tn_element_type to, tn_jv a,
                        tn_jv *out)
{
    bool is_u32 = from == TN_U32, narrow = tn_element_type_bytes(from) < 4;
    tn_jv low, high;
    switch ((int)to) {
    case TN_I1: *out = icmp(p, true, 4, TN_JIT_INE, a, bits32(p, 0)); return true;
    case TN_I8:
    case TN_U8:
    case TN_I16:
    case TN_U16:
    case TN_I32:
    case TN_U32: *out = from == to ? a : wrap(p, to, a); return true;
    case TN_I64:
    case TN_U64:
        *out = one(p, is_signed(from) ? TN_JIT_I64_OF_I32 : TN_JIT_U64_OF_U32, 8, a);
        return true;
    case TN_BF16:
    case TN_F16:
        /* Larger ones would be rounded twice. */
        if (!narrow) return false;
        *out = round_to(p, to, one(p, TN_JIT_F32_OF_I32, 4, a), false);
        return true;
    case TN_F32:
        if (is_u32) {
            high = one(p, TN_JIT_F32_OF_I32, 4, shift(p, TN_JIT_SHR, 4, a, 16));
            low = one(p, TN_JIT_F32_OF_I32, 4, two(p, TN_JIT_AND, 4, a, bits32(p, 0xffff)));
            *out = madd(p, 4, high, real(p, 4, 65536), low);
        } else {
            *out = one(p, TN_JIT_F32_OF_I32, 4, a);
        }
        return true;
    case TN_F64: *out = f64_of(p, !is_u32, a); return true;
    default: return false;
    }
}

static bool convert_mask(tn_jit_piece *p, tn_element_type to, tn_jv a, tn_jv *out)
{
    switch (rep_of(to)) {
    case REP_MASK: *out = a; return true;
    case REP_INT: *out = pick(p, 4, a, bits32(p, 1), bits32(p, 0)); return true;
    case REP_F32: *out = pick(p, 4, a, real(p, 4, 1), real(p, 4, 0)); return true;
    case REP_I64: *out = pick(p, 8, a, tn_jit_const(p, 8, 1), tn_jit_const(p, 8, 0)); return true;
    case REP_F64: *out = pick(p, 8, a, real(p, 8, 1), real(p, 8, 0)); return true;
    case REP_NONE: break;
    }
    return false;
}

static bool convert_i64(tn_jit_piece *p, tn_element_type to, tn_jv a, tn_jv *out)
{
    switch (rep_of(to)) {
    case REP_I64: *out = a; return true;
    case REP_INT: *out = wrap(p, to, one(p, TN_JIT_I32_OF_I64, 4, a)); return true;
    default: return false;
    }
}

static bool lower_convert(tn_jit_piece *p, tn_element_type from, tn_element_type to, tn_jv a,
                          tn_jv *out)
{
    switch (rep_of(from)) {
    case REP_MASK: return convert_mask(p, to, a, out);
    case REP_INT: return convert_int(p, from, to, a, out);
    case REP_F32: return convert_f32(p, from, to, a, out);
    case REP_I64: return convert_i64(p, to, a, out);
    case REP_F64: return convert_f64(p, to, a, out);
    case REP_NONE: break;
    }
    return false;
}

/* Rounded once, a result of f16 is what f32 gives when it is rounded too: f32 has more than twice
 * the bits, and 2 more. */
static bool lower_half(tn_jit_piece *p, const tn_op *op, const tn_jv *in, tn_jv *out)
{
    tn_jv sign;
    switch ((int)op->kind) {
    case TN_OP_add: *out = two(p, TN_JIT_FADD, 2, in[0], in[1]); return true;
    case TN_OP_subtract: *out = two(p, TN_JIT_FSUB, 2, in[0], in[1]); return true;
    case TN_OP_multiply: *out = two(p, TN_JIT_FMUL, 2, in[0], in[1]); return true;
    case TN_OP_divide: *out = two(p, TN_JIT_FDIV, 2, in[0], in[1]); return true;
    case TN_OP_sqrt: *out = one(p, TN_JIT_SQRT, 2, in[0]); return true;
    case TN_OP_maximum: *out = extreme(p, 2, true, in[0], in[1]); return true;
    case TN_OP_minimum: *out = extreme(p, 2, false, in[0], in[1]); return true;
    case TN_OP_clamp:
        *out = extreme(p, 2, false, extreme(p, 2, true, in[1], in[0]), in[2]);
        return true;
    case TN_OP_negate:
        sign = bits32(p, 0x80008000u);
        *out = two(p, TN_JIT_XOR, 2, in[0], sign);
        return true;
    case TN_OP_abs:
        sign = bits32(p, 0x80008000u);
        *out = two(p, TN_JIT_ANDN, 2, sign, in[0]);
        return true;
    default: return false;
    }
}

static tn_jv widened(tn_jit_piece *p, tn_jv v)
{
    return one(p, TN_JIT_F32_OF_F16, 4, v);
}

static bool lower_wide(tn_jit_piece *p, const tn_op *op, const tn_jv *in, tn_jv *out);

static bool lower(tn_jit_piece *p, const tn_op *op, const tn_jv *in, tn_jv *out)
{
    if (!p->half) return lower_wide(p, op, in, out);
    tn_element_type e = tn_operand_type(op, 0)->element, to = tn_result_type(op, 0)->element;
    if (e == TN_F16 && to == TN_F16 && lower_half(p, op, in, out)) return true;
    if (e == TN_F16 && op->kind == TN_OP_compare) return lower_compare(p, op, e, in, out);
    if (op->kind == TN_OP_select && to == TN_F16) {
        *out = pick(p, 2, in[0], in[1], in[2]);
        return true;
    }
    tn_jv of_f32[3];
    for (uint32_t i = 0; i < op->n_operands; i++)
        of_f32[i] = tn_operand_type(op, i)->element == TN_F16 ? widened(p, in[i]) : in[i];
    if (!lower_wide(p, op, of_f32, out)) return false;
    if (to == TN_F16) *out = one(p, TN_JIT_F16_OF_F32, 2, *out);
    return true;
}

static bool lower_wide(tn_jit_piece *p, const tn_op *op, const tn_jv *in, tn_jv *out)
{
    tn_element_type e = tn_operand_type(op, 0)->element, to = tn_result_type(op, 0)->element;
    if (rep_of(e) == REP_NONE || rep_of(to) == REP_NONE) return false;
    switch ((int)op->kind) {
    case TN_OP_compare: return lower_compare(p, op, e, in, out);
    case TN_OP_convert: return lower_convert(p, e, to, in[0], out);
    case TN_OP_select: return lower_select(p, to, in, out);
    case TN_OP_clamp: return lower_clamp(p, to, in, out);
    case TN_OP_threefry_bits: *out = threefry_bits(p, in[0], in[1], in[2]); return true;
    default: break;
    }
    switch (rep_of(e)) {
    case REP_MASK: return lower_truth(p, op->kind, in, out);
    case REP_INT:
    case REP_I64: return lower_integer(p, op->kind, e, in, out);
    case REP_F32:
        if (!lower_real(p, op->kind, 4, in, out)) return false;
        if (rep_of(to) == REP_F32 && !is_exact(op->kind)) *out = round_to(p, to, *out, false);
        return true;
    case REP_F64: return lower_real(p, op->kind, 8, in, out);
    case REP_NONE: break;
    }
    return false;
}

bool tn_jit_lower(tn_jit_piece *p, const tn_op *op, const tn_jv *in, tn_jv *out)
{
    uint32_t n = p->n;
    bool wide = p->wide;
    if (op->n_operands > 3 || op->n_results != 1) return false;
    if (n + 200 < TN_JIT_INSTRUCTIONS && lower(p, op, in, out)) return true;
    p->n = n;
    p->wide = wide;
    return false;
}
