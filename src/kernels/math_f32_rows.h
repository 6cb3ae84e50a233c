/* SPDX-License-Identifier: Apache-2.0 */
/* math_f32_rows.h - the most used functions of f32, in terms of what vector machines do. Included
 * once for each meaning of those terms, so it has no guard: as C they are the functions of
 * math_f32.h, as an emitter's calls they write machine code; both give the same bits.
 *
 * All of it is f32 with fused multiply-adds, within 0.96 ulp (erfc 2.43, erf_inv 1.94); subnormals
 * are kept and nothing branches. Polynomials: weighted minimax, rounded to f32. The includer
 * defines
 *   V               a number, and the whole number of its bits
 *   M               a truth
 *   FUNCTION(name)  the head of a function of that name on `V a`
 *   K(x), BITS(x)   a constant, by its value or its bits
 *   ADD SUB MUL DIV FMA(a, b, c) = a b + c, FNMA(a, b, c) = c - a b
 *   MORE(a, b) = a > b ? a : b, LESS(a, b) = a < b ? a : b (so b where one is NaN)
 *   ISUB IAND IOR on bits, ISHL(a, n), ISAR(a, n)
 *   LT(a, b), NOT_LT(a, b) -> M, PICK(m, a, b)
 *   SCALE(e, n, t)  e 2^n, rounded once, for whole n from -150 to 130, where t = n + ROUNDER
 *   SCALE_WHERE(m, e, n, t)  the same where m holds, else 0; and what is 0 there isn't scaled to it
 *   SPARED(m, a)    a where m holds, else any number
 *   PARTS           p.m and p.n: p.m 2^-p.n is what they are parts of, and p.m from 3/4 to 3/2
 *   PARTS_OF(x)     parts of x, a normal number above 0; PARTS_OF_ANY(x): or one below the normal
 * ones SCALED_BY(x, n) x 2^n for whole n from -128 to 127; may be 0 where it is less than x 2^-126
 *   LOG_OF(l, x)    l, or -inf for zeros, inf for inf, NaN for others that aren't above 0
 *   AT(table, i)    the element of a table of 8 that the low bits of i name
 *   WITH_SIGN(x, a) x, which is not negative or has a's sign, with the sign of a
 * all of which are undefined here. */

#define ROUNDER K(0x1.8p23f)
/* ln 2 in two parts, of which the first times n is exact. */
#define LN2_HIGH K(0x1.62e43p-1f)
#define LN2_LOW  K(-0x1.05c61p-29f)

/* x = n ln 2 + r: e^r = 1 + r p. */
#define REDUCE_EXP(x)                                                                              \
    V t = FMA(x, K(0x1.715476p+0f), ROUNDER), n = SUB(t, ROUNDER);                                 \
    V r = FNMA(n, LN2_LOW, FNMA(n, LN2_HIGH, x))
#define EXP_TERMS                                                                                  \
    V p = FMA(K(0x1.6ac15cp-10f), r, K(0x1.123da6p-7f));                                           \
    p = FMA(p, r, K(0x1.555858p-5f));                                                              \
    p = FMA(p, r, K(0x1.55548cp-3f));                                                              \
    p = FMA(p, r, K(0x1.fffffcp-2f));                                                              \
    p = FMA(p, r, K(1.0f))
#define SPLIT_EXP(x)                                                                               \
    REDUCE_EXP(x);                                                                                 \
    EXP_TERMS

/* What gives 0 (all that a mask leaves out of a softmax) mustn't get there by scaling: numbers
 * below the normal ones take x86 more than a hundred cycles. */
FUNCTION(exp)
{
    M some = NOT_LT(a, K(-104.0f));
    V x = LESS(K(89.5f), SPARED(some, a));
    SPLIT_EXP(x);
    return SCALE_WHERE(some, FMA(p, r, K(1.0f)), n, t);
}

/* With e = exp(-|a|): 1 / (1 + e) or e / (1 + e). What rounding loses of e and of the sum is put
 * back into the quotient. */
FUNCTION(logistic)
{
    V x = MORE(K(-104.0f), IOR(a, BITS(0x80000000)));
    SPLIT_EXP(x);
    V one = K(1.0f), high = FMA(p, r, one), low = FMA(p, r, SUB(one, high));
    M negative = LT(a, K(0.0f));
    V e = SCALE(high, n, t), over_rest = SCALE_WHERE(negative, low, n, t);
    V under = ADD(e, one), lost = ADD(SUB(one, under), e);
    V over = PICK(negative, e, one), inverse = DIV(one, under), y = MUL(over, inverse);
    V error = ADD(FNMA(under, y, over), FNMA(lost, y, over_rest));
    return FMA(error, inverse, y);
}

/* |a| from 0 to where all is 1 in 8 parts, whose bounds are where FMA(|a|, 7.5 / 9.02, 1/2) passes
 * 3/4, 1, 3/2, 2, 3, 4 and 6; the tables begin with the fifth. In each a polynomial in the distance
 * y from a point of which tanh is nearly a float, which is near enough to the end of the part for y
 * to be less than tanh; but for the first: |a| + y p there, whose p keeps off the numbers below the
 * normal ones. */
static const float tanh_at[8] = {0x1.265f5ep+1f, 0x1.ccda48p+1f, 0x1.697566p+2f, 0x1.03ae5ap+3f,
                                 0.0f,           0x1.ae1b36p-2f, 0x1.b32018p-1f, 0x1.80160ap+0f};
static const float tanh_0[8] = {0x1.f5ce16p-1f, 0x1.ff3c98p-1f, 0x1.fffcbep-1f, 0x1.fffffap-1f,
                                0.0f,           0x1.967a9ap-2f, 0x1.61c9ep-1f,  0x1.cf778ep-1f};
static const float tanh_1[8] = {0x1.42fd8p-5f, 0x1.86856cp-9f, 0x1.a07db2p-15f, 0x1.7f9fe2p-22f,
                                0x1.0p-30f,    0x1.af52dcp-1f, 0x1.0b88d6p-1f,  0x1.71dca8p-3f};
static const float tanh_2[8] = {-0x1.3c8e5ep-5f, -0x1.85f2a2p-9f, -0x1.a0a4cp-15f, -0x1.7f111cp-22f,
                                -0x1.1e26bp-23f, -0x1.566ep-2f,   -0x1.71bac8p-2f, -0x1.4ecd52p-3f};
static const float tanh_3[8] = {0x1.953fap-6f,   0x1.032f34p-9f,  0x1.19faa2p-15f, 0x1.036f18p-22f,
                                -0x1.555326p-2f, -0x1.2f3b0ep-3f, 0x1.3470bap-4f,  0x1.678fc2p-4f};
static const float tanh_4[8] = {-0x1.74764ap-7f,  -0x1.015722p-10f, -0x1.1753b8p-16f,
                                -0x1.065b76p-23f, -0x1.687e88p-13f, 0x1.5caa1p-3f,
                                0x1.17fc18p-4f,   -0x1.99420ep-6f};
static const float tanh_5[8] = {0x1.e9c9c2p-9f, 0x1.972be4p-12f, 0x1.7c5328p-18f, 0x1.59305ep-25f,
                                0x1.14568ap-3f, 0x1.46fcc6p-14f, -0x1.edd996p-5f, -0x1.5e262cp-9f};
static const float tanh_6[8] = {-0x1.6ef1f4p-11f, -0x1.1437b4p-13f, -0x1.362752p-19f,
                                -0x1.f1b228p-27f, -0x1.d47446p-8f,  -0x1.0614fp-4f,
                                0x1.464ca4p-7f,   0x1.dc1926p-8f};
static const float tanh_7[8] = {-0x1.4c8de8p-18f, 0x1.25a954p-15f, 0x1.47bd42p-20f,
                                0x1.55c6e4p-27f,  -0x1.4c9656p-5f, 0x1.db05f6p-6f,
                                0x1.3c224ep-7f,   -0x1.ecaee6p-9f};

FUNCTION(tanh)
{
    V size = IAND(a, BITS(0x7fffffff)), x = LESS(K(9.015f), size);
    V i = ISAR(FMA(x, K(0x1.a9b87ap-1f), K(0.5f)), 22), y = SUB(x, AT(tanh_at, i));
    V p = FMA(AT(tanh_7, i), y, AT(tanh_6, i));
    p = FMA(p, y, AT(tanh_5, i));
    p = FMA(p, y, AT(tanh_4, i));
    p = FMA(p, y, AT(tanh_3, i));
    p = FMA(p, y, AT(tanh_2, i));
    p = FMA(p, y, AT(tanh_1, i));
    return WITH_SIGN(FMA(p, y, MORE(AT(tanh_0, i), y)), a);
}

/* |a| from 0 to where all is 1 in 8 parts of one width, which FMA(|a|, 7.49 / 3.92, ROUNDER)
 * numbers; polynomials as those of tanh. y is |a| in the first part and less than erf in others. */
static const float erf_at[8] = {0.0f,           0x1.0bf69ap-1f, 0x1.0bf63cp+0f, 0x1.91f218p+0f,
                                0x1.0bf584p+1f, 0x1.4ef1aap+1f, 0x1.930c7cp+1f, 0x1.d8788p+1f};
static const float erf_0[8] = {0.0f,          0x1.14e2a4p-1f, 0x1.b8efe4p-1f, 0x1.f27d4ep-1f,
                               0x1.fe6d8p-1f, 0x1.ffe3dp-1f,  0x1.fffee4p-1f, 0x1.fffffap-1f};
static const float erf_1[8] = {0x1.06eba8p-3f, 0x1.b74e3ep-1f,  0x1.824d5cp-2f,  0x1.88cfe6p-4f,
                               0x1.cdfc82p-7f, 0x1.3a366ep-10f, 0x1.d3e54cp-15f, 0x1.6ea678p-20f};
static const float erf_2[8] = {-0x1.236ab6p-21f, -0x1.cbd5c2p-2f, -0x1.945a44p-2f,
                               -0x1.3460cap-3f,  -0x1.e3918p-6f,  -0x1.9b196cp-9f,
                               -0x1.70583ap-13f, -0x1.52c16ep-18f};
static const float erf_3[8] = {-0x1.811e66p-2f, -0x1.08ea5p-3f, 0x1.32af44p-3f,  0x1.015e12p-3f,
                               0x1.2b03dcp-5f,  0x1.4c38d4p-8f, 0x1.6e0dc8p-12f, 0x1.8ee7dp-17f};
static const float erf_4[8] = {-0x1.51a6a6p-11f, 0x1.77ce76p-3f,  0x1.b450c4p-5f,
                               -0x1.8ccbcap-5f,  -0x1.d0c90ap-6f, -0x1.6e69bap-8f,
                               -0x1.01407p-11f,  -0x1.4d8d1cp-16f};
static const float erf_5[8] = {0x1.e3b246p-4f, 0x1.3d8916p-10f, -0x1.0cf042p-4f, -0x1.043da6p-7f,
                               0x1.9aa634p-7f, 0x1.20fad2p-8f,  0x1.1d5ecap-11f, 0x1.e06518p-16f};
static const float erf_6[8] = {-0x1.3d6366p-6f, -0x1.88cf84p-5f, 0x1.15a15ap-7f,   0x1.0ece7cp-6f,
                               -0x1.2e85p-10f,  -0x1.2a87cap-9f, -0x1.cd6f4ep-12f, -0x1.22631p-15f};

FUNCTION(erf)
{
    V size = IAND(a, BITS(0x7fffffff)), x = LESS(K(3.92f), size);
    V i = FMA(x, K(0x1.e92492p+0f), ROUNDER), y = SUB(x, AT(erf_at, i));
    V p = FMA(AT(erf_6, i), y, AT(erf_5, i));
    p = FMA(p, y, AT(erf_4, i));
    p = FMA(p, y, AT(erf_3, i));
    p = FMA(p, y, AT(erf_2, i));
    p = FMA(p, y, AT(erf_1, i));
    return WITH_SIGN(FMA(p, y, MORE(AT(erf_0, i), y)), a);
}

/* erfc(x) = e^(-x x) g for x of 0 and more: what rounding loses of x x goes into e's argument, and
 * g has 8 parts whose bounds are where FMA(x, 14.992 / 10.0546875, 1) passes 3/2, 2, 3, 4, 6, 8 and
 * 12; the tables begin with the third. Others are 2 less that. */
static const float erfc_at[8] = {0x1.0189a6p+0f, 0x1.ad3ac8p+0f, 0x1.576232p+1f, 0x1.0189a4p+2f,
                                 0x1.824e7cp+2f, 0x1.16e998p+3f, 0x1.576286p-3f, 0x1.018984p-1f};
static const float erfc_0[8] = {0x1.b42bbap-2f, 0x1.2df632p-2f, 0x1.958676p-3f, 0x1.16fd8p-3f,
                                0x1.79cd68p-4f, 0x1.076c6p-4f,  0x1.abe512p-1f, 0x1.3a727p-1f};
static const float erfc_1[8] = {-0x1.15e0fcp-2f, -0x1.1dc00ap-3f, -0x1.0e41aap-4f, -0x1.065ee4p-5f,
                                -0x1.e7d7e2p-7f, -0x1.dd66bp-8f,  -0x1.b23dc4p-1f, -0x1.05651ep-1f};
static const float erfc_2[8] = {0x1.393f08p-3f, 0x1.f33fdep-5f, 0x1.58274p-6f,  0x1.e165bep-8f,
                                0x1.371c9cp-9f, 0x1.ade82p-11f, 0x1.631618p-1f, 0x1.6dedfp-2f};
static const float erfc_3[8] = {-0x1.40d74p-4f,   -0x1.97e52ep-6f, -0x1.a4bf7cp-8f,
                                -0x1.af801cp-10f, -0x1.881dep-12f, -0x1.80c4f2p-14f,
                                -0x1.f39aecp-2f,  -0x1.c3a37ep-3f};
static const float erfc_4[8] = {0x1.2f9c58p-5f, 0x1.3a8c2cp-7f,  0x1.ef24ecp-10f, 0x1.7a4194p-12f,
                                0x1.e7847p-15f, 0x1.561cf4p-17f, 0x1.392fb6p-2f,  0x1.f8b17ep-4f};
static const float erfc_5[8] = {-0x1.0cde82p-6f,  -0x1.cd0bcep-9f, -0x1.1a03b2p-11f,
                                -0x1.451e5ap-14f, -0x1.2be62p-17f, -0x1.2ec116p-20f,
                                -0x1.65c074p-3f,  -0x1.035faep-4f};
static const float erfc_6[8] = {0x1.cf981ep-8f,  0x1.4a2df2p-10f, 0x1.4b19a4p-13f, 0x1.1c3866p-16f,
                                0x1.8ce708p-20f, 0x1.1596c6p-23f, 0x1.7dfacp-4f,   0x1.f4f12ep-6f};
static const float erfc_7[8] = {-0x1.6c11fcp-9f,  -0x1.c2e804p-12f, -0x1.6399dcp-15f,
                                -0x1.cf2cfap-19f, -0x1.e7a126p-23f, -0x1.dd447ap-27f,
                                -0x1.72a458p-5f,  -0x1.fdce94p-7f};

FUNCTION(erfc)
{
    V size = IAND(a, BITS(0x7fffffff)), x = LESS(K(10.0546875f), size);
    V i = ISAR(FMA(x, K(0x1.7db52ep+0f), K(1.0f)), 22), y = SUB(x, AT(erfc_at, i));
    V g = FMA(AT(erfc_7, i), y, AT(erfc_6, i));
    g = FMA(g, y, AT(erfc_5, i));
    g = FMA(g, y, AT(erfc_4, i));
    g = FMA(g, y, AT(erfc_3, i));
    g = FMA(g, y, AT(erfc_2, i));
    g = FMA(g, y, AT(erfc_1, i));
    g = FMA(g, y, AT(erfc_0, i));
    V square = FNMA(x, x, K(0.0f)), lost = FMA(x, x, square);
    REDUCE_EXP(square);
    r = SUB(r, lost);
    EXP_TERMS;
    M some = NOT_LT(K(0x1.41bffep+3f), x);
    V tail = SCALE_WHERE(some, FMA(MUL(p, r), g, g), n, t);
    return PICK(LT(a, K(0.0f)), SUB(K(2.0f), tail), tail);
}

/* -erf_inv(x) / x is smooth in L = -log2(1 - x x), of which only the distance from the truth
 * counts; tables of it as those of erfc, whose parts end where FMA(L, 15 / 23.05, 1) passes 3/2, 2,
 * 3, 4, 6, 8 and 12 and begin with the third. L ends at 23. */
static const float erf_inv_at[8] = {0x1.222e82p+1f, 0x1.ea1ed6p+1f, 0x1.909bf8p+2f, 0x1.286d3cp+3f,
                                    0x1.c1324ap+3f, 0x1.3c3d56p+4f, 0x1.9a95e6p-2f, 0x1.2264e4p+0f};
static const float erf_inv_0[8] = {-0x1.451afp+0f,  -0x1.8a1084p+0f, -0x1.ef700ap+0f,
                                   -0x1.2f45fep+1f, -0x1.79ee7ap+1f, -0x1.c4ebb4p+1f,
                                   -0x1.e731acp-1f, -0x1.131a84p+0f};
static const float erf_inv_1[8] = {-0x1.638a06p-3f, -0x1.5c2c1p-3f,  -0x1.3d24e8p-3f,
                                   -0x1.13c8d4p-3f, -0x1.c8bf4ap-4f, -0x1.82c608p-4f,
                                   -0x1.51b0a6p-3f, -0x1.5cc4b6p-3f};
static const float erf_inv_2[8] = {-0x1.b8afa4p-13f, 0x1.299486p-9f,  0x1.cf0aap-9f,
                                   0x1.8d8e06p-9f,   0x1.f1883ap-10f, 0x1.33ea94p-10f,
                                   -0x1.2ccd18p-8f,  -0x1.6d1f3ap-9f};
static const float erf_inv_3[8] = {0x1.643b04p-11f,  0x1.86f9bp-12f,   0x1.4f0d5ap-16f,
                                   -0x1.7b209ep-14f, -0x1.f9cedcp-15f, -0x1.df6048p-16f,
                                   0x1.aa29cp-11f,   0x1.aaac3cp-11f};
static const float erf_inv_4[8] = {-0x1.63002cp-15f, -0x1.9a8b8ep-15f, -0x1.6f6984p-16f,
                                   -0x1.689286p-20f, 0x1.0bada8p-19f,  0x1.cd9ecap-21f,
                                   0x1.dde7ccp-17f,  -0x1.b395b4p-17f};
static const float erf_inv_5[8] = {-0x1.b3c2a4p-19f, 0x1.4bdda6p-20f,  0x1.33706ap-19f,
                                   0x1.4d615ep-21f,  -0x1.0ccb84p-25f, -0x1.c4f7dap-26f,
                                   -0x1.0299f4p-17f, -0x1.cb0358p-18f};

FUNCTION(erf_inv)
{
    /* NaN too is beyond its ends, so that there is but one NaN to multiply. */
    V x = MORE(a, K(-2.0f)), rest = FNMA(x, x, K(1.0f));
    PARTS of_rest = PARTS_OF(rest);
    V f = SUB(of_rest.m, K(1.0f)), q = FMA(K(-0x1.743d8cp-4f), f, K(0x1.9c39p-3f));
    q = FMA(q, f, K(-0x1.01fd1ap-2f));
    q = FMA(q, f, K(0x1.29c91cp-2f));
    q = FMA(q, f, K(-0x1.70e846p-2f));
    q = FMA(q, f, K(0x1.ec5758p-2f));
    q = FMA(q, f, K(-0x1.71551p-1f));
    q = FMA(q, f, K(0x1.715484p+0f));
    V l = FNMA(q, f, of_rest.n), i = ISAR(FMA(l, K(0x1.4d305p-1f), K(1.0f)), 22);
    V y = SUB(l, AT(erf_inv_at, i)), g = FMA(AT(erf_inv_5, i), y, AT(erf_inv_4, i));
    g = FMA(g, y, AT(erf_inv_3, i));
    g = FMA(g, y, AT(erf_inv_2, i));
    g = FMA(g, y, AT(erf_inv_1, i));
    g = FMA(g, y, AT(erf_inv_0, i));
    /* At its ends log's -inf, beyond them NaN. */
    return FNMA(x, LOG_OF(g, rest), K(-0.0f));
}

/* log(1 + f) - f with s = f f, from -1/4 to 1/2. */
#define LOG_TERMS(f, s)                                                                            \
    V p = FMA(K(-0x1.6d05e6p-5f), f, K(0x1.aa982ep-4f));                                           \
    p = FMA(p, f, K(-0x1.0d6d14p-3f));                                                             \
    p = FMA(p, f, K(0x1.289fbcp-3f));                                                              \
    p = FMA(p, f, K(-0x1.54f512p-3f));                                                             \
    p = FMA(p, f, K(0x1.9968dp-3f));                                                               \
    p = FMA(p, f, K(-0x1.00002ep-2f));                                                             \
    p = FMA(p, f, K(0x1.5555a4p-2f));                                                              \
    V w = MUL(s, FMA(p, f, K(-0.5f)))

FUNCTION(log)
{
    PARTS of = PARTS_OF_ANY(a);
    V f = SUB(of.m, K(1.0f)), s = MUL(f, f);
    LOG_TERMS(f, s);
    V l = ADD(f, FNMA(of.n, LN2_LOW, w));
    return LOG_OF(FNMA(of.n, LN2_HIGH, l), a);
}

/* 1 + a = u + lost; u = 2^-n (1 + f), and what is lost joins f, which may be 0, and a term for what
 * is lost then. */
FUNCTION(log1p)
{
    V unit = K(1.0f), high = MORE(unit, a), low = LESS(unit, a), u = ADD(high, low);
    V lost = SUB(low, SUB(u, high));
    PARTS of = PARTS_OF(u);
    V head = SUB(of.m, unit), tail = SCALED_BY(lost, of.n);
    V f = ADD(head, tail), rest = ADD(SUB(head, f), tail);
    rest = FNMA(rest, f, rest);
    V s = MUL(f, f);
    LOG_TERMS(f, s);
    V l = ADD(f, ADD(FNMA(of.n, LN2_LOW, w), rest));
    return LOG_OF(WITH_SIGN(FNMA(of.n, LN2_HIGH, l), a), u);
}

#undef REDUCE_EXP
#undef EXP_TERMS
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
#undef ISUB
#undef IAND
#undef IOR
#undef ISHL
#undef ISAR
#undef PICK
#undef LT
#undef NOT_LT
#undef SCALE
#undef SCALE_WHERE
#undef SPARED
#undef PARTS
#undef PARTS_OF
#undef PARTS_OF_ANY
#undef SCALED_BY
#undef LOG_OF
#undef AT
#undef WITH_SIGN
