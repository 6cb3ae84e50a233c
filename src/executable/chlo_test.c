/* SPDX-License-Identifier: Apache-2.0 */
/* CHLO in text: what its expansions compute. Parameters are f32, results too. */
#include <math.h>

#include "executable/compile_options.h"
#include "executable/program_test.h"
#include "kernels/math_f32.h"

enum { ROOM = 64 };
static uint64_t temporary; /* bytes, of the last run */

static void run(const char *text, float *const *in, uint32_t n_in, const float *want, uint32_t n)
{
    tn_compile_options *options;
    tn_executable *e = NULL;
    assert_null(tn_compile_options_decode(NULL, 0, &options));
    tn_status *s = tn_compile(text, strlen(text), "mlir", 4, options, &e);
    tn_compile_options_free(options);
    if (s) fail_msg("%s", tn_status_message(s));
    assert_int_equal(tn_executable_get_info(e)->n_params, n_in);
    temporary = tn_executable_get_info(e)->temp_bytes;
    assert_int_equal(tn_executable_get_info(e)->n_results, 1);
    _Alignas(64) float memory[4][ROOM], out[ROOM];
    void *args[4];
    for (uint32_t i = 0; i < n_in; i++) {
        memcpy(memory[i], in[i], sizeof memory[i] / 4);
        args[i] = memory[i];
    }
    assert_null(run_executable(e, args, (void *[]){out}));
    for (uint32_t i = 0; i < n; i++)
        if (!(out[i] == want[i] || fabsf(out[i] - want[i]) <= 1.2e-7f * fabsf(want[i]) ||
              (out[i] != out[i] && want[i] != want[i])))
            fail_msg("[%u] is %.9g, expected %.9g", i, (double)out[i], (double)want[i]);
    tn_executable_release(e);
}
#define RUN(text, n, ...)                                                                          \
    run("func.func @main" text, (float *[]){x, y}, n, (float[]){__VA_ARGS__},                      \
        sizeof((float[]){__VA_ARGS__}) / sizeof(float))

static float x[ROOM] = {1, -2, 0.5f, 0.25f}, y[ROOM] = {10, 20};

static void operands_are_lined_up_at_their_last_dimension(void **state)
{
    RUN("(%a: tensor<4xf32>, %b: tensor<2x1xf32>) -> tensor<2x4xf32> {\n"
        "%r = chlo.broadcast_add %a, %b : (tensor<4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>\n"
        "return %r : tensor<2x4xf32>\n}",
        2, 11, 8, 10.5f, 10.25f, 21, 18, 20.5f, 20.25f);
    RUN("(%a: tensor<4xf32>, %b: tensor<2xf32>) -> tensor<2x4xf32> {\n"
        "%c = stablehlo.constant dense<1.0> : tensor<2x4xf32>\n"
        "%r = \"chlo.broadcast_multiply\"(%b, %c) <{broadcast_dimensions = array<i64: 0>}> : "
        "(tensor<2xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>\n"
        "return %r : tensor<2x4xf32>\n}",
        2, 10, 10, 10, 10, 20, 20, 20, 20);
    RUN("(%a: tensor<4xf32>, %b: tensor<2x1xf32>) -> tensor<2x4xf32> {\n"
        "%z = \"chlo.constant_like\"(%a) <{value = 0.3 : f32}> : (tensor<4xf32>) -> "
        "tensor<4xf32>\n"
        "%c = chlo.broadcast_compare %a, %z {comparison_direction = #chlo<comparison_direction "
        "LT>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
        "%r = chlo.broadcast_select %c, %b, %a : (tensor<4xi1>, tensor<2x1xf32>, tensor<4xf32>) "
        "-> tensor<2x4xf32>\nreturn %r : tensor<2x4xf32>\n}",
        2, 1, 10, 0.5f, 10, 1, 20, 0.5f, 20);
}

/* What MLIR's passes make of erf, erfc and erf_inv. */
static void add(char **text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    *text += vsprintf(*text, format, args);
    va_end(args);
}
#define T "tensor<4xf32>"

static void number(char **text, const char *name, double v)
{
    add(text, "%%%s = stablehlo.constant dense<%.9e> : " T "\n", name, (double)(float)v);
}

static void simple(char **text, const char *name, const char *op, const char *operands)
{
    add(text, "%%%s = stablehlo.%s %s : " T "\n", name, op, operands);
}

/* %name is Horner's rule. */
static void polynomial(char **text, const char *name, const char *of, uint32_t n, const double *c)
{
    add(text, "%%%s0 = stablehlo.constant dense<%.9e> : " T "\n", name, (double)(float)c[0]);
    for (uint32_t i = 1; i < n; i++) {
        add(text, "%%%sc%u = stablehlo.constant dense<%.9e> : " T "\n", name, i,
            (double)(float)c[i]);
        add(text, "%%%sm%u = stablehlo.multiply %%%s%u, %%%s : " T "\n", name, i, name, i - 1, of);
        add(text, "%%%s%u = stablehlo.add %%%sm%u, %%%sc%u : " T "\n", name, i, name, i, name, i);
    }
}
#define POLYNOMIAL(name, of, ...)                                                                  \
    polynomial(&at, name, of, sizeof((double[]){__VA_ARGS__}) / sizeof(double),                    \
               (double[]){__VA_ARGS__})

static void erf_in_ops(char *at, double last)
{
    add(&at, "func.func @main(%%a: " T ") -> " T " {\n");
    number(&at, "one", 1), number(&at, "minus", -1), number(&at, "least", -4);
    number(&at, "most", 4);
    simple(&at, "t", "clamp", "%least, %a, %most");
    simple(&at, "s", "multiply", "%t, %t");
    POLYNOMIAL("p", "s", -2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06,
               -5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03, last);
    POLYNOMIAL("q", "s", -1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03,
               -7.37332916720468e-03, -1.42647390514189e-02);
    simple(&at, "n", "multiply", "%t, %p6");
    simple(&at, "d", "divide", "%n, %q4");
    simple(&at, "r", "clamp", "%minus, %d, %one");
    add(&at, "return %%r : " T "\n}\n");
}

static void erfc_in_ops(char *at)
{
    add(&at, "func.func @main(%%a: " T ") -> " T " {\n");
    number(&at, "zero", 0), number(&at, "one", 1), number(&at, "two", 2);
    number(&at, "least", -88.72283905206835);
    simple(&at, "s", "multiply", "%a, %a");
    simple(&at, "n", "negate", "%s");
    simple(&at, "size", "abs", "%a");
    simple(&at, "u", "divide", "%one, %s");
    simple(&at, "e", "exponential", "%n");
    simple(&at, "i", "divide", "%one, %size");
    simple(&at, "ei", "multiply", "%e, %i");
    POLYNOMIAL("p", "u", 2.326819970068386e-2, -1.387039388740657e-1, 3.687424674597105e-1,
               -5.824733027278666e-1, 6.210004621745983e-1, -4.944515323274145e-1,
               3.404879937665872e-1, -2.741127028184656e-1, 5.638259427386472e-1);
    POLYNOMIAL("q", "u", -1.047766399936249e+1, 1.297719955372516e+1, -7.495518717768503,
               2.921019019210786, -1.015265279202700, 4.218463358204948e-1, -2.820767439740514e-1,
               5.641895067754075e-1);
    POLYNOMIAL("v", "s", 7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3,
               -2.685381193529856e-2, 1.128358514861418e-1, -3.761262582423300e-1,
               1.128379165726710);
#define LESS(name, a, b)                                                                           \
    add(&at,                                                                                       \
        "%%" name " = stablehlo.compare LT, %%" a ", %%" b " : (" T ", " T ") -> tensor<4xi1>\n")
#define SELECT(name, m, a, b)                                                                      \
    add(&at, "%%" name " = stablehlo.select %%" m ", %%" a ", %%" b " : tensor<4xi1>, " T "\n")
    LESS("below2", "size", "two");
    SELECT("g", "below2", "p8", "q7");
    simple(&at, "y", "multiply", "%ei, %g");
    LESS("under", "n", "least");
    SELECT("z", "under", "zero", "y");
    LESS("negative", "a", "zero");
    simple(&at, "other", "subtract", "%two, %z");
    SELECT("far", "negative", "other", "z");
    simple(&at, "w", "multiply", "%a, %v6");
    simple(&at, "near", "subtract", "%one, %w");
    LESS("below1", "size", "one");
    SELECT("r", "below1", "near", "far");
    add(&at, "return %%r : " T "\n}\n");
}

/* The constants %name and %name_far, one of which is taken. */
static void either(char **text, const char *name, double near, double far)
{
    char other[32];
    sprintf(other, "%s_far", name);
    number(text, name, near), number(text, other, far);
    add(text, "%%%s_c = stablehlo.select %%lt, %%%s, %%%s : tensor<4xi1>, " T "\n", name, name,
        other);
}

static void erf_inv_in_ops(char *at, double last)
{
    const double near[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                           -4.39150654e-06, 0.00021858087,  -0.00125372503,
                           -0.00417768164,  0.246640727,    last};
    const double far[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                          -0.00367342844,  0.00573950773,  -0.0076224613,
                          0.00943887047,   1.00167406,     2.83297682};
    add(&at, "func.func @main(%%a: " T ") -> " T " {\n");
    number(&at, "five", 5), number(&at, "middle", 2.5), number(&at, "three", 3);
    number(&at, "one", 1);
    simple(&at, "m", "negate", "%a");
    simple(&at, "s", "multiply", "%a, %m");
    simple(&at, "l", "log_plus_one", "%s");
    simple(&at, "w", "negate", "%l");
    LESS("lt", "w", "five");
    simple(&at, "v", "subtract", "%w, %middle");
    simple(&at, "root", "sqrt", "%w");
    simple(&at, "u", "subtract", "%root, %three");
    SELECT("y", "lt", "v", "u");
    for (int k = 0; k < 9; k++) {
        char name[8];
        sprintf(name, "k%d", k);
        either(&at, name, near[k], far[k]);
        if (!k) continue;
        add(&at, "%%m%d = stablehlo.multiply %%%s%d%s, %%y : " T "\n", k, k > 1 ? "p" : "k", k - 1,
            k > 1 ? "" : "_c");
        add(&at, "%%p%d = stablehlo.add %%k%d_c, %%m%d : " T "\n", k, k, k);
    }
    simple(&at, "z", "multiply", "%p8, %a");
    simple(&at, "size", "abs", "%a");
    add(&at, "%%end = stablehlo.compare EQ, %%size, %%one : (" T ", " T ") -> tensor<4xi1>\n"
             "%%inf = stablehlo.constant dense<0x7F800000> : " T "\n");
    simple(&at, "e", "multiply", "%a, %inf");
    SELECT("r", "end", "e", "z");
    add(&at, "return %%r : " T "\n}\n");
}

static void error_functions_are_found_in_their_expansions(void **state)
{
    static char text[16384];
    float in[ROOM] = {3.3098612f, -0.3f, 0, 9}, want[4], far[ROOM] = {8.85096f, -0.3f, 0.7f, 9.3f};
    erf_in_ops(text, -1.60960333262415e-02);
    for (int i = 0; i < 4; i++) want[i] = tn_erf_f32(in[i]);
    assert_true(fabs((double)want[0] - erf((double)in[0])) < 0x1p-24);
    run(text, (float *[]){in}, 1, want, 4);
    erfc_in_ops(text);
    for (int i = 0; i < 4; i++) want[i] = tn_erfc_f32(far[i]);
    assert_true(fabs((double)want[0] / erfc((double)far[0]) - 1) < 0x1.4p-22);
    run(text, (float *[]){far}, 1, want, 4);
    float near_1[ROOM] = {0.99982744f, -0.3f, -0.0f, -1};
    erf_inv_in_ops(text, 1.50140941);
    for (int i = 0; i < 4; i++) want[i] = tn_erf_inv_f32(near_1[i]);
    assert_true(fabs((double)want[0] / tn_erf_inv_f64((double)near_1[0]) - 1) < 0x1.4p-22);
    assert_true(want[2] == 0 && signbit(want[2]) && want[3] == -INFINITY);
    run(text, (float *[]){near_1}, 1, want, 4);
    /* One NaN, whatever it is made of: which of two a product takes is the compiler's choice. */
    float beyond = tn_erf_inv_f32(2), of_nan = tn_erf_inv_f32(tn_from_bits_f32(0x7fc12345));
    assert_true(tn_to_bits_f32(beyond) == tn_to_bits_f32(of_nan) && beyond != beyond);
    /* Anything else is what it says. */
    erf_inv_in_ops(text, 2);
    want[0] = 2.65597534f, want[1] = -0.422039956f;
    run(text, (float *[]){near_1}, 1, want, 4);
    erf_in_ops(text, -3.2e-02);
    want[0] = 1, want[1] = -0.647938132f, want[2] = 0, want[3] = 1;
    run(text, (float *[]){in}, 1, want, 4);
}
#undef T

/* As jnp.select, piecewise and isin are lowered. */
#define ARGMAX(V)                                                                                  \
    "%m:2 = \"stablehlo.reduce\"(%s, %i, %least, %zero) <{dimensions = array<i64: 0>}> ({\n"       \
    "^bb0(%p: tensor<" V ">, %pi: tensor<i32>, %q: tensor<" V ">, %qi: tensor<i32>):\n"            \
    "%1 = stablehlo.compare GT, %p, %q : (tensor<" V ">, tensor<" V ">) -> tensor<i1>\n"           \
    "%2 = stablehlo.compare NE, %p, %p : (tensor<" V ">, tensor<" V ">) -> tensor<i1>\n"           \
    "%3 = stablehlo.or %1, %2 : tensor<i1>\n"                                                      \
    "%4 = stablehlo.compare EQ, %p, %q : (tensor<" V ">, tensor<" V ">) -> tensor<i1>\n"           \
    "%5 = stablehlo.compare LT, %pi, %qi : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"             \
    "%6 = stablehlo.and %4, %5 : tensor<i1>\n%7 = stablehlo.or %3, %6 : tensor<i1>\n"              \
    "%8 = stablehlo.select %3, %p, %q : tensor<i1>, tensor<" V ">\n"                               \
    "%9 = stablehlo.select %7, %pi, %qi : tensor<i1>, tensor<i32>\n"                               \
    "stablehlo.return %8, %9 : tensor<" V ">, tensor<i32>\n}) : (tensor<3x8x" V                    \
    ">, tensor<3x8xi32>, tensor<" V ">, tensor<i32>) -> (tensor<8x" V ">, tensor<8xi32>)\n"
#define STACK                                                                                      \
    "(%a: tensor<8xf32>) -> tensor<8xf32> {\n"                                                     \
    "%one = stablehlo.constant dense<1.0> : tensor<8xf32>\n"                                       \
    "%two = stablehlo.constant dense<2.0> : tensor<8xf32>\n"                                       \
    "%none = stablehlo.constant dense<false> : tensor<1x8xi1>\n"                                   \
    "%zero = stablehlo.constant dense<0> : tensor<i32>\n"                                          \
    "%c = stablehlo.compare GT, %a, %one : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>\n"       \
    "%d = stablehlo.compare LT, %a, %two : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>\n"       \
    "%cr = stablehlo.reshape %c : (tensor<8xi1>) -> tensor<1x8xi1>\n"                              \
    "%dr = stablehlo.reshape %d : (tensor<8xi1>) -> tensor<1x8xi1>\n"                              \
    "%t = stablehlo.concatenate %none, %cr, %dr, dim = 0 : (tensor<1x8xi1>, tensor<1x8xi1>, "      \
    "tensor<1x8xi1>) -> tensor<3x8xi1>\n"                                                          \
    "%i = stablehlo.iota dim = 0 : tensor<3x8xi32>\n"

static void reductions_of_few_arrays_are_elementwise(void **state)
{
    float in[ROOM] = {0, 1, 1.5f, 2, 3, NAN, -INFINITY, INFINITY};
    run("func.func @main" STACK "%least = stablehlo.constant dense<false> : tensor<i1>\n"
        "%s = stablehlo.reshape %t : (tensor<3x8xi1>) -> tensor<3x8xi1>\n" ARGMAX(
            "i1") "%k = stablehlo.constant dense<1> : tensor<8xi32>\n"
                  "%l = stablehlo.compare LE, %m#1, %k : (tensor<8xi32>, tensor<8xi32>) -> "
                  "tensor<8xi1>\n"
                  "%f = stablehlo.convert %m#1 : (tensor<8xi32>) -> tensor<8xf32>\n"
                  "%g = stablehlo.convert %m#0 : (tensor<8xi1>) -> tensor<8xf32>\n"
                  "%h = stablehlo.add %f, %g : tensor<8xf32>\n"
                  "%n = stablehlo.negate %h : tensor<8xf32>\n"
                  "%r = stablehlo.select %l, %h, %n : tensor<8xi1>, tensor<8xf32>\n"
                  "return %r : tensor<8xf32>\n}",
        (float *[]){in}, 1, (float[]){-3, -3, 2, 2, 2, 0, -3, 2}, 8);
    assert_int_equal(temporary, 0);
    /* The last that holds. */
    run("func.func @main" STACK "%least = stablehlo.constant dense<-2147483648> : tensor<i32>\n"
        "%u = stablehlo.convert %t : (tensor<3x8xi1>) -> tensor<3x8xi32>\n"
        "%s = \"stablehlo.reduce_window\"(%u, %zero) <{padding = dense<[[2, 0], [0, 0]]> : "
        "tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>}> ({\n"
        "^bb0(%x: tensor<i32>, %y: tensor<i32>):\n%z = stablehlo.add %x, %y : tensor<i32>\n"
        "stablehlo.return %z : tensor<i32>\n}) : (tensor<3x8xi32>, tensor<i32>) -> "
        "tensor<3x8xi32>\n" ARGMAX(
            "i32") "%low = stablehlo.constant dense<1> : tensor<8xi32>\n"
                   "%high = stablehlo.constant dense<2> : tensor<8xi32>\n"
                   "%l = stablehlo.clamp %low, %m#1, %high : tensor<8xi32>\n"
                   "%j = stablehlo.add %l, %m#0 : tensor<8xi32>\n"
                   "%r = stablehlo.convert %j : (tensor<8xi32>) -> tensor<8xf32>\n"
                   "return %r : tensor<8xf32>\n}",
        (float *[]){in}, 1, (float[]){3, 3, 4, 2, 2, 1, 3, 2}, 8);
    assert_int_equal(temporary, 0);
    /* Is it one of these? */
    run("func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
        "%w = stablehlo.constant dense<[[1, 3, 5]]> : tensor<1x3xi32>\n"
        "%b = stablehlo.convert %a : (tensor<8xf32>) -> tensor<8xi32>\n"
        "%c = stablehlo.reshape %b : (tensor<8xi32>) -> tensor<8x1xi32>\n"
        "%d = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<8x1xi32>) -> tensor<8x3xi32>\n"
        "%e = stablehlo.broadcast_in_dim %w, dims = [0, 1] : (tensor<1x3xi32>) -> tensor<8x3xi32>\n"
        "%f = stablehlo.compare EQ, %d, %e : (tensor<8x3xi32>, tensor<8x3xi32>) -> tensor<8x3xi1>\n"
        "%no = stablehlo.constant dense<false> : tensor<i1>\n"
        "%g = stablehlo.reduce(%f init: %no) applies stablehlo.or across dimensions = [1] : "
        "(tensor<8x3xi1>, tensor<i1>) -> tensor<8xi1>\n"
        "%r = stablehlo.convert %g : (tensor<8xi1>) -> tensor<8xf32>\n"
        "return %r : tensor<8xf32>\n}",
        (float *[]){in}, 1, (float[]){0, 1, 1, 0, 1, 0, 0, 0}, 8);
    assert_int_equal(temporary, 0);
}

static void functions_are_right(void **state)
{
#define UNARY(name)                                                                                \
    "(%a: tensor<4xf32>) -> tensor<4xf32> {\n%r = chlo." name                                      \
    " %a : tensor<4xf32> -> tensor<4xf32>\nreturn %r : tensor<4xf32>\n}"
    RUN(UNARY("erf_inv"), 1, INFINITY, NAN, 0.476936281f, 0.225312054f);
    RUN(UNARY("asin"), 1, 1.57079637f, NAN, 0.52359879f, 0.252680242f);
    RUN(UNARY("acos"), 1, 0, NAN, 1.04719755f, 1.31811607f);
    RUN(UNARY("acosh"), 1, 0, NAN, NAN, NAN);
    RUN(UNARY("asinh"), 1, 0.881373587f, -1.44363548f, 0.481211825f, 0.247466462f);
    RUN(UNARY("atan"), 1, 0.785398163f, -1.10714872f, 0.463647609f, 0.244978663f);
    RUN(UNARY("atanh"), 1, INFINITY, NAN, 0.549306144f, 0.255412812f);
    RUN(UNARY("cosh"), 1, 1.54308063f, 3.76219569f, 1.12762597f, 1.03141310f);
    RUN(UNARY("sinh"), 1, 1.17520119f, -3.62686041f, 0.521095305f, 0.252612317f);
    RUN(UNARY("erf"), 1, 0.842700793f, -0.995322265f, 0.520499878f, 0.276326390f);
    RUN(UNARY("erfc"), 1, 0.157299207f, 1.99532227f, 0.479500122f, 0.723673610f);
    RUN(UNARY("square"), 1, 1, 4, 0.25f, 0.0625f);
    RUN(UNARY("digamma"), 1, -0.577215672f, NAN, -1.96351004f, -4.22745371f);
    RUN("(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "%z = stablehlo.constant dense<0.0> : tensor<4xf32>\n"
        "%r = chlo.next_after %z, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>\n"
        "return %r : tensor<4xf32>\n}",
        1, 1e-45f, -1e-45f, 1e-45f, 1e-45f);
}

static void scans_carry_along_a_dimension(void **state)
{
#define SCAN(attributes)                                                                           \
    "(%a: tensor<4xf32>) -> tensor<5xf32> {\n%i = stablehlo.constant dense<100.0> : tensor<f32>\n" \
    "%r:2 = chlo.scan(%a) inits(%i) dimension=0 " attributes                                       \
    " {\n^bb0(%x: tensor<f32>, %c: tensor<f32>):\n%s = stablehlo.add %x, %c : tensor<f32>\n"       \
    "stablehlo.return %s, %s : tensor<f32>, tensor<f32>\n} : (tensor<4xf32>, tensor<f32>) -> "     \
    "(tensor<4xf32>, tensor<f32>)\n%l = stablehlo.reshape %r#1 : (tensor<f32>) -> "                \
    "tensor<1xf32>\n%t = stablehlo.concatenate %r#0, %l, dim = 0 : (tensor<4xf32>, "               \
    "tensor<1xf32>) -> tensor<5xf32>\nreturn %t : tensor<5xf32>\n}"
    RUN(SCAN(""), 1, 101, 99, 99.5f, 99.75f, 99.75f);
    RUN(SCAN("attributes {is_reverse = true}"), 1, 99.75f, 98.75f, 100.75f, 100.25f, 99.75f);
}

/* Rows 0 and 1 by 1, row 2 by 10; row 3 belongs to no group. */
static void ragged_rows_have_their_own_matrix(void **state)
{
    RUN("(%a: tensor<4xf32>) -> tensor<4x1xf32> {\n"
        "%l = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<4x1xf32>\n"
        "%w = stablehlo.constant dense<[[[1.0]], [[10.0]]]> : tensor<2x1x1xf32>\n"
        "%g = stablehlo.constant dense<[2, 1]> : tensor<2xi32>\n"
        "%r = \"chlo.ragged_dot\"(%l, %w, %g) <{ragged_dot_dimension_numbers = "
        "#chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], "
        "lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x1xf32>, "
        "tensor<2x1x1xf32>, tensor<2xi32>) -> tensor<4x1xf32>\n"
        "return %r : tensor<4x1xf32>\n}",
        1, 1, -2, 5, 0);
    RUN("(%a: tensor<4xf32>) -> tensor<2xf32> {\n"
        "%l = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<1x4xf32>\n"
        "%w = stablehlo.constant dense<[[1.0], [2.0], [4.0], [0x7F800000]]> : tensor<4x1xf32>\n"
        "%g = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
        "%r = \"chlo.ragged_dot\"(%l, %w, %g) <{ragged_dot_dimension_numbers = "
        "#chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], "
        "lhs_ragged_dimensions = [1], rhs_group_dimensions = []>}> : (tensor<1x4xf32>, "
        "tensor<4x1xf32>, tensor<2xi32>) -> tensor<2x1x1xf32>\n"
        "%s = stablehlo.reshape %r : (tensor<2x1x1xf32>) -> tensor<2xf32>\n"
        "return %s : tensor<2xf32>\n}",
        1, 1, -2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_are_lined_up_at_their_last_dimension),
        cmocka_unit_test(error_functions_are_found_in_their_expansions),
        cmocka_unit_test(reductions_of_few_arrays_are_elementwise),
        cmocka_unit_test(functions_are_right),
        cmocka_unit_test(scans_carry_along_a_dimension),
        cmocka_unit_test(ragged_rows_have_their_own_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
