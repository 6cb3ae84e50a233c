/* SPDX-License-Identifier: Apache-2.0 */
/* math_f32_rows.h - the most used functions of f32, in terms of what vector machines do. Included
 * once for each meaning of those terms, so it has no guard: as C they are the functions of
 * math_f32.h, as an emitter's calls they write machine code; both give the same bits.
 *
 * All of it is f32 with fused multiply-adds, within 0.9 ulp; subnormals are kept and nothing
 * branches. Polynomials: weighted minimax, rounded to f32. The includer defines
 *   V               a number, and the whole number of its bits
 *   M               a truth
 *   FUNCTION(name)  the head of a function of that name on `V a`
 *   K(x), BITS(x)   a constant, by its value or its bits
 *   ADD SUB MUL DIV FMA(a, b, c) = a b + c, FNMA(a, b, c) = c - a b
 *   MORE(a, b) = a > b ? a : b, LESS(a, b) = a < b ? a : b (so b where one is NaN)
 *   IADD ISUB IAND IOR on bits, ISHL(a, n), ISAR(a, n), REAL(a): a signed whole number as f32
 *   LT EQ -> M, PICK(m, a, b)
 *   SCALE(e, n, t)  e 2^n, rounded once, for whole n from -150 to 130, where t = n + ROUNDER
 *   WITH_SIGN(x, a) x, which is not negative or has a's sign, with the sign of a
 * all of which are undefined here. */

#define ROUNDER K(0x1.8p23f)
/* ln 2 in two parts. */
#define LN2_HIGH K(0x1.62e43p-1f)
#define LN2_LOW  K(-0x1.05c61p-29f)

/* x = n ln 2 + r: q = e^r - 1. r without the low part of ln 2 is exact; what that part adds comes
 * in with the higher terms. */
#define SPLIT_EXP(x)                                                                               \
    V t = FMA(x, K(0x1.715476p+0f), ROUNDER), n = SUB(t, ROUNDER);                                 \
    V r = FNMA(n, LN2_HIGH, x), rest_r = MUL(n, K(0x1.05c61p-29f));                                \
    V p = FMA(K(0x1.6db45ep-10f), r, K(0x1.123b7ep-7f));                                           \
    p = FMA(p, r, K(0x1.55545ep-5f));                                                              \
    p = FMA(p, r, K(0x1.55548ep-3f));                                                              \
    p = FMA(p, r, K(0x1.0p-1f));                                                                   \
    V q = ADD(FMA(MUL(r, r), p, FMA(rest_r, r, rest_r)), r)

/* What gives 0 (all that a mask leaves out of a softmax) mustn't get there by scaling: numbers
 * below the normal ones take x86 more than a hundred cycles. */
FUNCTION(exp)
{
    M none = LT(a, K(-104.0f));
    V x = LESS(K(89.5f), PICK(none, K(0.0f), a));
    SPLIT_EXP(x);
    return PICK(none, K(0.0f), SCALE(ADD(q, K(1.0f)), n, t));
}

/* With e = exp(-|a|): 1 / (1 + e) or e / (1 + e). What rounding loses of e and of the sum is put
 * back into the quotient. */
FUNCTION(logistic)
{
    V x = MORE(K(-104.0f), IOR(a, BITS(0x80000000)));
    SPLIT_EXP(x);
    V one = K(1.0f), high = ADD(q, one), low = ADD(SUB(one, high), q);
    V e = SCALE(high, n, t), rest = SCALE(low, n, t);
    V under = ADD(e, one), lost = ADD(ADD(SUB(one, under), e), rest);
    M negative = LT(a, K(0.0f));
    V over = PICK(negative, e, one), over_rest = PICK(negative, rest, K(0.0f));
    V inverse = DIV(one, under), y = MUL(over, inverse);
    V error = ADD(FNMA(under, y, over), FNMA(lost, y, over_rest));
    return FMA(error, inverse, y);
}

/* Near 0 a polynomial, else 1 - 1 / d with d = (e^2|a| + 1) / 2 = 2^n q + (2^n + 1) / 2, where
 * 2 q = e^2r - 1 and |a| = n ln 2 / 2 + r. The rounder has the bias of exponents in it. The square
 * of what is tiny would be slow, being below the normal numbers, and changes nothing. */
FUNCTION(tanh)
{
    V size = IAND(a, BITS(0x7fffffff)), least = MORE(size, K(0x1p-20f)), z = MUL(least, least);
    V c = FMA(K(-0x1.ac833ep-12f), z, K(0x1.41d0ap-9f));
    c = FMA(c, z, K(-0x1.0a65a2p-7f));
    c = FMA(c, z, K(0x1.61cbdp-6f));
    c = FMA(c, z, K(-0x1.b9a446p-5f));
    c = FMA(c, z, K(0x1.110e1ap-3f));
    c = FMA(c, z, K(-0x1.555548p-2f));
    V near = FMA(MUL(z, c), size, size);
    V rounder = K(0x1.8000fep23f), x = LESS(K(10.0f), least);
    V t = FMA(x, K(0x1.715476p+1f), rounder), n = SUB(t, rounder);
    V r = FNMA(n, K(-0x1.05c61p-30f), FNMA(n, K(0x1.62e43p-2f), x));
    V p = FMA(K(0x1.6db4eap-5f), r, K(0x1.123bdep-3f));
    p = FMA(p, r, K(0x1.55545ep-2f));
    p = FMA(p, r, K(0x1.55548ep-1f));
    p = FMA(p, r, K(1.0f));
    V q = FMA(MUL(r, r), p, r), power = ISHL(t, 23);
    V d = FMA(power, q, FMA(power, K(0.5f), K(0.5f)));
    V far = SUB(K(1.0f), DIV(K(1.0f), d));
    return WITH_SIGN(PICK(LT(K(0.9f), size), far, near), a);
}

/* log(1 + f) - f with f = `f`, s = f f, from sqrt(1/2) - 1 to sqrt(2) - 1. */
#define LOG_TERMS(f, s)                                                                            \
    V p = FMA(K(0x1.145804p-4f), f, K(-0x1.de3d5p-4f));                                            \
    p = FMA(p, f, K(0x1.e6f0fp-4f));                                                               \
    p = FMA(p, f, K(-0x1.fc21ep-4f));                                                              \
    p = FMA(p, f, K(0x1.23375cp-3f));                                                              \
    p = FMA(p, f, K(-0x1.555c4ep-3f));                                                             \
    p = FMA(p, f, K(0x1.99a4b6p-3f));                                                              \
    p = FMA(p, f, K(-0x1.000006p-2f));                                                             \
    p = FMA(p, f, K(0x1.555548p-2f));                                                              \
    V w = MUL(s, FMA(p, f, K(-0.5f)))

/* a = 2^k (1 + f) with 1 + f from sqrt(1/2) to sqrt(2). */
FUNCTION(log)
{
    M tiny = LT(a, K(0x1p-126f));
    V x = PICK(tiny, MUL(a, K(0x1p23f)), a);
    V k = ISAR(ISUB(x, BITS(0x3f3504f3)), 23);
    V f = SUB(ISUB(x, ISHL(k, 23)), K(1.0f)), s = MUL(f, f);
    V whole = SUB(REAL(k), PICK(tiny, K(23.0f), K(0.0f)));
    LOG_TERMS(f, s);
    V l = ADD(f, FMA(whole, LN2_LOW, w));
    l = FMA(whole, LN2_HIGH, l);
    V special = PICK(EQ(a, K(0.0f)), K(-__builtin_inff()), BITS(0x7fc00000));
    l = PICK(LT(K(0.0f), a), l, special);
    return PICK(EQ(a, K(__builtin_inff())), a, l);
}

/* 1 + a = u + lost; u = 2^k (1 + f), and what is lost joins f, which may be 0, and a term for what
 * is lost then. */
FUNCTION(log1p)
{
    V unit = K(1.0f), u = ADD(a, unit), most = SUB(u, unit);
    V lost = ADD(SUB(unit, SUB(u, most)), SUB(a, most));
    V k = ISAR(ISUB(u, BITS(0x3f3504f3)), 23), power = ISHL(k, 23);
    V head = SUB(ISUB(u, power), unit);
    V tail = MUL(lost, MORE(ISUB(unit, power), K(0.0f)));
    V f = ADD(head, tail), rest = ADD(SUB(head, f), tail);
    rest = FNMA(rest, f, rest);
    V s = MUL(f, f), whole = REAL(k);
    LOG_TERMS(f, s);
    V l = ADD(f, ADD(FMA(whole, LN2_LOW, w), rest));
    l = WITH_SIGN(FMA(whole, LN2_HIGH, l), a);
    V special = PICK(EQ(a, K(-1.0f)), K(-__builtin_inff()), BITS(0x7fc00000));
    l = PICK(LT(K(-1.0f), a), l, special);
    return PICK(EQ(a, K(__builtin_inff())), a, l);
}

#undef SPLIT_EXP
#undef LOG_TERMS
#undef ROUNDER
#undef LN2_HIGH
#undef LN2_LOW
#undef V
#undef M
#undef FUNCTION
#undef K
#undef BITS
#undef ADD
#undef SUB
#undef MUL
#undef DIV
#undef FMA
#undef FNMA
#undef MORE
#undef LESS
#undef IADD
#undef ISUB
#undef IAND
#undef IOR
#undef ISHL
#undef ISAR
#undef REAL
#undef LT
#undef EQ
#undef PICK
#undef SCALE
#undef WITH_SIGN
