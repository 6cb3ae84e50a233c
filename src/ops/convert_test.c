/* SPDX-License-Identifier: Apache-2.0 */
/* convert between every pair of element types, against values computed here in long double, which
 * holds every value of every type but f64 subnormals beside 64-bit integers exactly. */
#include "ops/op_test.h"

/* How a float format spends its codes; written down again, apart from the kernels' own table. */
enum { IEEE, FN, FNUZ, FINITE, POWERS };
static const struct {
    tn_element_type e;
    int exponent, mantissa, bias, kind;
} formats[] = {{TN_F16, 5, 10, 15, IEEE},          {TN_BF16, 8, 7, 127, IEEE},
               {TN_F32, 8, 23, 127, IEEE},         {TN_F64, 11, 52, 1023, IEEE},
               {TN_F8E5M2, 5, 2, 15, IEEE},        {TN_F8E4M3, 4, 3, 7, IEEE},
               {TN_F8E3M4, 3, 4, 3, IEEE},         {TN_F8E4M3FN, 4, 3, 7, FN},
               {TN_F8E5M2FNUZ, 5, 2, 16, FNUZ},    {TN_F8E4M3FNUZ, 4, 3, 8, FNUZ},
               {TN_F8E4M3B11FNUZ, 4, 3, 11, FNUZ}, {TN_F4E2M1FN, 2, 1, 1, FINITE},
               {TN_F6E2M3FN, 2, 3, 1, FINITE},     {TN_F6E3M2FN, 3, 2, 3, FINITE},
               {TN_F8E8M0FNU, 8, 0, 127, POWERS}};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static int format_of(tn_element_type e)
{
    for (int f = 0; f < FORMATS; f++)
        if (formats[f].e == e) return f;
    fail_msg("no format");
    return 0;
}

/* The value of a code as if all codes were finite. */
static long double finite_value(int f, uint64_t magnitude)
{
    int m = formats[f].mantissa;
    uint64_t e = magnitude >> m, fraction = magnitude & ((1ull << m) - 1);
    if (formats[f].kind == POWERS) return ldexpl(1, (int)e - 127);
    if (!e) return ldexpl((long double)fraction, 1 - formats[f].bias - m);
    return ldexpl((long double)(fraction | 1ull << m), (int)e - formats[f].bias - m);
}

static uint64_t largest_code(int f)
{
    uint64_t all = (1ull << (formats[f].exponent + formats[f].mantissa)) - 1;
    switch (formats[f].kind) {
    case IEEE: return all - (1ull << formats[f].mantissa);
    case FN:
    case POWERS: return all - 1;
    default: return all;
    }
}

static long double decode(int f, uint64_t bits)
{
    int width = formats[f].exponent + formats[f].mantissa;
    uint64_t magnitude = bits & ((1ull << width) - 1);
    bool negative = formats[f].kind != POWERS && bits >> width & 1;
    if (formats[f].kind == FNUZ && negative && !magnitude) return -NAN;
    if (magnitude > largest_code(f)) {
        if (formats[f].kind != IEEE || magnitude > largest_code(f) + 1)
            return negative ? -NAN : NAN;
        return negative ? -INFINITY : INFINITY;
    }
    long double v = finite_value(f, magnitude);
    return negative ? -v : v;
}

/* The code nearest to x, to the even one of two; -1 for NaN. */
static int64_t encode(int f, long double x)
{
    int width = formats[f].exponent + formats[f].mantissa, kind = formats[f].kind;
    int64_t sign = signbit(x) && kind != POWERS ? (int64_t)(1ull << width) : 0;
    if (kind == POWERS && !(x > 0)) return -1;
    if (isnan(x)) return kind == FINITE ? (int64_t)(1ull << width) - sign : -1;
    long double a = fabsl(x);
    uint64_t low = 0, high = largest_code(f) + 1; /* the code past the end is as good as any here */
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        if (finite_value(f, middle) <= a) low = middle;
        else high = middle;
    }
    long double below = a - finite_value(f, low), above = finite_value(f, high) - a;
    uint64_t code = below < above ? low : above < below ? high : low & 1 ? high : low;
    if (kind == POWERS && below == above && code == low) code = high; /* ties up */
    if (a >= finite_value(f, largest_code(f) + 1)) code = largest_code(f) + 1;
    if (code > largest_code(f) && kind == FINITE) code--;
    if (code > largest_code(f) && kind != IEEE) return -1;
    if (!code && kind == FNUZ) return 0;
    return (int64_t)code | sign;
}

static long double read(tn_element_type e, const void *p)
{
    uint64_t bits = 0;
    memcpy(&bits, p, tn_element_type_bytes(tn_real_type(e)));
    switch (tn_element_type_class(e)) {
    case TN_CLASS_BOOL:
    case TN_CLASS_UINT: return (long double)bits;
    case TN_CLASS_SINT: {
        unsigned unused = 64 - 8 * tn_element_type_bytes(e);
        return (long double)((int64_t)(bits << unused) >> unused);
    }
    default: return decode(format_of(tn_real_type(e)), bits);
    }
}

/* Whether the element at p is what x is in type e. */
static bool is_right(tn_element_type e, const void *p, long double x, bool from_float)
{
    unsigned width = tn_element_type_bits(e);
    int64_t bits = 0;
    size_t bytes = tn_element_type_bytes(tn_real_type(e));
    memcpy(&bits, p, bytes);
    if (tn_is_complex(e)) {
        static const char zero[8];
        if (memcmp((const char *)p + bytes, zero, bytes)) return false;
    }
    if (e == TN_I1) return bits == (x != 0);
    if (tn_is_integer(e)) {
        bool is_signed = tn_element_type_class(e) == TN_CLASS_SINT;
        long double least = is_signed ? -ldexpl(1, (int)width - 1) : 0;
        long double most = ldexpl(1, (int)width - is_signed) - 1;
        if (from_float) {
            x = isnan(x) ? 0 : truncl(x);
            return read(e, p) == (x < least ? least : x > most ? most : x);
        }
        long double wrapped =
            x - floorl((x - least) / ldexpl(1, (int)width)) * ldexpl(1, (int)width);
        return read(e, p) == wrapped;
    }
    int f = format_of(tn_real_type(e));
    int64_t want = encode(f, x);
    if (want == -1) return isnan(decode(f, (uint64_t)bits));
    return bits == want;
}

#define SAMPLES 65536

/* Values of type e that have something to them; fills x with n of them. */
static void make_samples(tn_element_type e, char *x, size_t n)
{
    unsigned bytes = tn_element_type_bytes(e), part = tn_element_type_bytes(tn_real_type(e));
    unsigned width = tn_element_type_bits(tn_real_type(e));
    bool is_real = e == TN_F32 || e == TN_F64 || tn_is_complex(e);
    size_t at = 0;
    memset(x, 0, n * bytes);
    /* What lies on and beside ties of every format. */
    for (int f = 0; f < FORMATS && is_real; f++) {
        uint64_t last = largest_code(f) + 1, step = last / 400 + 1;
        for (uint64_t code = 0; code < last; code += step) {
            long double tie = (finite_value(f, code) + finite_value(f, code + 1)) / 2;
            for (int side = -1; side <= 1 && at + 2 < n; side++) {
                double v = (double)tie;
                if (part == 4) v = (float)v;
                if (side)
                    v = part == 4 ? nextafterf((float)v, side * INFINITY)
                                  : nextafter(v, side * INFINITY);
                for (int sign = 0; sign < 2; sign++, v = -v) {
                    float narrow = (float)v;
                    memcpy(x + at++ * bytes, part == 4 ? (void *)&narrow : (void *)&v, part);
                }
            }
        }
    }
    for (; at < n; at++) {
        uint64_t bits = random_bits();
        if (width <= 16 && n >= 65536) bits = at;
        else if (at % 3 == 1) bits = (1ull << random_below(64)) + (uint64_t)random_below(3) - 1;
        else if (at % 3 == 2) bits >>= random_below(64);
        if (at % 5 == 0 && !is_real) bits = 0 - bits;
        if (is_real && at % 2) { /* of the size of integers */
            double v = ldexp((double)(int64_t)bits, -(int)random_below(70));
            float narrow = (float)v;
            memcpy(&bits, part == 4 ? (void *)&narrow : (void *)&v, part);
        }
        if (width < 8) bits &= (1u << width) - 1;
        if (width < 8 && tn_element_type_class(e) == TN_CLASS_SINT)
            bits = (uint64_t)((int64_t)(bits << (64 - width)) >> (64 - width));
        memcpy(x + at * bytes, &bits, part);
    }
}

static void check_pair(tn_element_type from, tn_element_type to, const char *x, char *y, int n)
{
    char a[64], b[64];
    snprintf(a, sizeof a, "%dx%s", n, tn_element_type_text(from));
    snprintf(b, sizeof b, "%dx%s", n, tn_element_type_text(to));
    RUN(make_op(TN_OP_convert, a, b), IN(x), OUT(y));
    unsigned in = tn_element_type_bytes(from), out = tn_element_type_bytes(to);
    bool from_float = tn_is_float(from) || tn_is_complex(from);
    if (from == to) {
        assert_memory_equal(x, y, (size_t)n * in);
        return;
    }
    for (int i = 0; i < n; i++) {
        long double v = read(from, x + (size_t)i * in);
        if (is_right(to, y + (size_t)i * out, v, from_float)) continue;
        uint64_t bits = 0, got = 0;
        memcpy(&bits, x + (size_t)i * in, in < 8 ? in : 8);
        memcpy(&got, y + (size_t)i * out, out < 8 ? out : 8);
        fail_msg("%s to %s: %.21Lg (%#llx) gives %#llx", a, b, v, (unsigned long long)bits,
                 (unsigned long long)got);
    }
}

static bool is_type(int e)
{
    return e != TN_TOKEN && tn_element_type_bytes((tn_element_type)e) != 0;
}

TEST(every_pair)
{
    static _Alignas(64) char x[SAMPLES * 16], y[SAMPLES * 16];
    for (int from = 1; from < TN_ELEMENT_TYPE_COUNT; from++) {
        if (!is_type(from)) continue;
        unsigned bits = tn_element_type_bits((tn_element_type)from);
        int n = bits <= 8 ? 256 : bits == 16 ? SAMPLES : 20000;
        make_samples((tn_element_type)from, x, (size_t)n);
        if (bits == 8)
            for (int i = 0; i < n; i++) x[i] = (char)i;
        if (from == TN_I1)
            for (int i = 0; i < n; i++) x[i] = (char)(i & 1);
        for (int to = 1; to < TN_ELEMENT_TYPE_COUNT; to++) {
            if (!is_type(to) ||
                (tn_is_complex((tn_element_type)from) && tn_is_complex((tn_element_type)to)))
                continue;
            check_pair((tn_element_type)from, (tn_element_type)to, x, y, n);
        }
    }
}

TEST(every_16_bit_float_there_and_back)
{
    static _Alignas(64) uint16_t x[65536], back[65536];
    static _Alignas(64) double wide[65536];
    static _Alignas(64) float single[65536];
    for (int i = 0; i < 65536; i++) x[i] = (uint16_t)i;
    static const char *const types[] = {"65536xf16", "65536xbf16"};
    for (int t = 0; t < 2; t++) {
        int f = format_of(t ? TN_BF16 : TN_F16);
        for (int through = 0; through < 2; through++) {
            void *middle = through ? (void *)wide : (void *)single;
            const char *type = through ? "65536xf64" : "65536xf32";
            RUN(make_op(TN_OP_convert, types[t], type), IN(x), OUT(middle));
            RUN(make_op(TN_OP_convert, type, types[t]), IN(middle), OUT(back));
            for (int i = 0; i < 65536; i++) {
                double v = through ? wide[i] : (double)single[i];
                if (isnan(decode(f, (uint64_t)i))) {
                    assert_true(isnan(v) && isnan(decode(f, back[i])));
                    continue;
                }
                assert_true(v == (double)decode(f, (uint64_t)i));
                assert_int_equal(back[i], i);
            }
        }
    }
}

/* From ml_dtypes 0.6. */
TEST(literal_small_floats)
{
    _Alignas(64) float x[] = {449,  465,  1e6f, INFINITY,  NAN,   -0.0f,
                              5.5f, 1.5f, 3,    0x1p-127f, 57345, 0};
    static const struct {
        const char *type;
        uint8_t want[12];
    } cases[] = {
        {"12xf8E4M3FN", {0x7E, 0x7F, 0x7F, 0x7F, 0x7F, 0x80, 0x4B, 0x3C, 0x44, 0, 0x7F, 0}},
        {"12xf8E5M2", {0x5F, 0x5F, 0x7C, 0x7C, 0x7E, 0x80, 0x46, 0x3E, 0x42, 0, 0x7B, 0}},
        {"12xf8E4M3FNUZ", {0x80, 0x80, 0x80, 0x80, 0x80, 0, 0x53, 0x44, 0x4C, 0, 0x80, 0}},
        {"12xf4E2M1FN", {7, 7, 7, 7, 8, 8, 7, 3, 5, 0, 7, 0}},
        {"12xf8E8M0FNU", {0x88, 0x88, 0x93, 0xFF, 0xFF, 0xFF, 0x81, 0x80, 0x81, 0, 0x8F, 0xFF}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        _Alignas(64) uint8_t got[12];
        RUN(make_op(TN_OP_convert, "12xf32", cases[i].type), IN(x), OUT(got));
        for (int j = 0; j < 12; j++)
            if (got[j] != cases[i].want[j])
                fail_msg("%s: %g gives %#x, expected %#x", cases[i].type, (double)x[j], got[j],
                         cases[i].want[j]);
    }
}

TEST(nothing_is_rounded_twice)
{
    double up = 1 + 0x1p-11 + 0x1p-40, down = 1 + 3 * 0x1p-11 - 0x1p-40;
    _Alignas(64) double x[] = {up, down, -up, 65519.999999999, 0x1p-25 + 0x1p-60, 0x1p-24 * 0.5};
    _Alignas(64) uint16_t got[6];
    RUN(make_op(TN_OP_convert, "6xf64", "6xf16"), IN(x), OUT(got));
    EXPECT(uint16_t, got, 0x3C01, 0x3C01, 0xBC01, 0x7BFF, 0x0001, 0x0000);
    _Alignas(64) double z[] = {1 + 0x1p-8 + 0x1p-30, 1 + 3 * 0x1p-8 - 0x1p-40};
    RUN(make_op(TN_OP_convert, "2xf64", "2xbf16"), IN(z), OUT(got));
    EXPECT(uint16_t, got, 0x3F81, 0x3F81);
    _Alignas(64) int64_t i[] = {(1ll << 40) + (1ll << 32) + 1, (1ll << 40) + (1ll << 32), INT64_MIN,
                                INT64_MAX};
    RUN(make_op(TN_OP_convert, "4xi64", "4xbf16"), IN(i), OUT(got));
    EXPECT(uint16_t, got, 0x5381, 0x5380, 0xDF00, 0x5F00);
}

TEST(complex_to_complex)
{
    _Alignas(64) double x[] = {1.5, -2.25, 1e300, NAN};
    _Alignas(64) float y[4];
    RUN(make_op(TN_OP_convert, "2xcomplex<f64>", "2xcomplex<f32>"), IN(x), OUT(y));
    EXPECT(float, y, 1.5f, -2.25f, INFINITY);
    RUN(make_op(TN_OP_convert, "2xcomplex<f32>", "2xcomplex<f64>"), IN(y), OUT(x));
    EXPECT(double, x, 1.5, -2.25, INFINITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair),           cmocka_unit_test(every_16_bit_float_there_and_back),
        cmocka_unit_test(literal_small_floats), cmocka_unit_test(nothing_is_rounded_twice),
        cmocka_unit_test(complex_to_complex),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
