/* SPDX-License-Identifier: Apache-2.0 */
/* growing_programs.h - programs of many shapes, each of about as many ops as it is asked for: what
 * compile time and compile memory are held against. As StableHLO text. */
#ifndef TN_TEST_GROWING_PROGRAMS_H
#define TN_TEST_GROWING_PROGRAMS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    char *text; /* free() */
    size_t size, room;
} growing_text;

__attribute__((format(printf, 2, 3))) static void add(growing_text *t, const char *format, ...)
{
    va_list args;
    if (t->room - t->size < 1024) t->text = realloc(t->text, t->room = 2 * t->room + 8192);
    va_start(args, format);
    t->size += (size_t)vsnprintf(t->text + t->size, t->room - t->size, format, args);
    va_end(args);
}

#define V "tensor<1024xf32>"
#define M "tensor<32x32xf32>"

/* Ops [from, to) of a chain in which every value is used twice, once far off. */
static void chain_of(growing_text *t, const char *v, int from, int to)
{
    static const char *const names[] = {"multiply", "add", "maximum", "sine", "subtract"};
    for (int i = from; i < to; i++)
        if (i % 5 == 3) add(t, "%%%s%d = stablehlo.sine %%%s%d : " V "\n", v, i + 1, v, i);
        else
            add(t, "%%%s%d = stablehlo.%s %%%s%d, %%%s%d : " V "\n", v, i + 1, names[i % 5], v, i,
                v, from + (i - from) / 2);
}

static void elementwise(growing_text *t, int ops)
{
    add(t, "func.func @main(%%v0: " V ") -> " V " {\n");
    chain_of(t, "v", 0, ops);
    add(t, "return %%v%d : " V "\n}\n", ops);
}

/* Each op uses the two before it: as trees they are exponentially large. */
static void shared(growing_text *t, int ops)
{
    add(t, "func.func @main(%%v0: " V ", %%v1: " V ") -> " V " {\n");
    for (int i = 2; i < ops + 2; i++)
        add(t, "%%v%d = stablehlo.%s %%v%d, %%v%d : " V "\n", i, i % 3 ? "add" : "maximum", i - 1,
            i - 2);
    add(t, "return %%v%d : " V "\n}\n", ops + 1);
}

static void reductions(growing_text *t, int ops)
{
    add(t, "func.func @main(%%v0: " M ") -> " M " {\n"
           "%%z = stablehlo.constant dense<0.0> : tensor<f32>\n");
    int i = 0;
    for (; i + 3 <= ops; i += 3) {
        add(t,
            "%%v%d = stablehlo.reduce(%%v%d init: %%z) applies stablehlo.add across dimensions "
            "= [%d] : (" M ", tensor<f32>) -> tensor<32xf32>\n",
            i + 1, i, i / 3 % 2);
        add(t, "%%v%d = stablehlo.broadcast_in_dim %%v%d, dims = [0] : (tensor<32xf32>) -> " M "\n",
            i + 2, i + 1);
        add(t, "%%v%d = stablehlo.subtract %%v%d, %%v%d : " M "\n", i + 3, i, i + 2);
    }
    add(t, "return %%v%d : " M "\n}\n", i);
}

static void dots(growing_text *t, int ops)
{
    add(t, "func.func @main(%%v0: tensor<8x8xf32>) -> tensor<8x8xf32> {\n");
    for (int i = 0; i < ops; i++)
        if (i & 1) add(t, "%%v%d = stablehlo.tanh %%v%d : tensor<8x8xf32>\n", i + 1, i);
        else
            add(t,
                "%%v%d = stablehlo.dot %%v%d, %%v0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> "
                "tensor<8x8xf32>\n",
                i + 1, i);
    add(t, "return %%v%d : tensor<8x8xf32>\n}\n", ops);
}

/* Products, reductions, transposes and elementwise ops in turn. */
static void layers_of(growing_text *t, int ops)
{
    add(t, "func.func @main(%%v0: " M ", %%w: " M ") -> " M " {\n"
           "%%z = stablehlo.constant dense<0.0> : tensor<f32>\n");
    int i = 0;
    for (; i + 6 <= ops; i += 6) {
        add(t, "%%v%d = stablehlo.dot %%v%d, %%w : (" M ", " M ") -> " M "\n", i + 1, i);
        add(t, "%%v%d = stablehlo.tanh %%v%d : " M "\n", i + 2, i + 1);
        add(t,
            "%%v%d = stablehlo.reduce(%%v%d init: %%z) applies stablehlo.maximum across "
            "dimensions = [1] : (" M ", tensor<f32>) -> tensor<32xf32>\n",
            i + 3, i + 2);
        add(t, "%%v%d = stablehlo.broadcast_in_dim %%v%d, dims = [0] : (tensor<32xf32>) -> " M "\n",
            i + 4, i + 3);
        add(t, "%%v%d = stablehlo.add %%v%d, %%v%d : " M "\n", i + 5, i + 2, i + 4);
        add(t, "%%v%d = stablehlo.transpose %%v%d, dims = [1, 0] : (" M ") -> " M "\n", i + 6,
            i + 5);
    }
    add(t, "return %%v%d : " M "\n}\n", i);
}

/* Slices, pads, concatenations, reverses and reshapes. */
static void moves(growing_text *t, int ops)
{
    add(t, "func.func @main(%%v0: " V ") -> " V " {\n"
           "%%z = stablehlo.constant dense<0.0> : tensor<f32>\n");
    int i = 0;
    for (; i + 6 <= ops; i += 6) {
        add(t, "%%v%d = stablehlo.slice %%v%d [0:512] : (" V ") -> tensor<512xf32>\n", i + 1, i);
        add(t, "%%v%d = stablehlo.slice %%v%d [512:1024] : (" V ") -> tensor<512xf32>\n", i + 2, i);
        add(t,
            "%%v%d = stablehlo.concatenate %%v%d, %%v%d, dim = 0 : (tensor<512xf32>, "
            "tensor<512xf32>) -> " V "\n",
            i + 3, i + 2, i + 1);
        add(t, "%%v%d = stablehlo.reverse %%v%d, dims = [0] : " V "\n", i + 4, i + 3);
        add(t, "%%v%d = stablehlo.reshape %%v%d : (" V ") -> " M "\n", i + 5, i + 4);
        add(t, "%%v%d = stablehlo.reshape %%v%d : (" M ") -> " V "\n", i + 6, i + 5);
    }
    add(t, "return %%v%d : " V "\n}\n", i);
}

static void outputs(growing_text *t, int ops)
{
    add(t, "func.func @main(%%x: tensor<64xf32>) -> (tensor<64xf32>");
    for (int i = 1; i < ops / 2; i++) add(t, ", tensor<64xf32>");
    add(t, ") {\n");
    for (int i = 0; i < ops / 2; i++) {
        add(t, "%%c%d = stablehlo.constant dense<%d.5> : tensor<64xf32>\n", i, i);
        add(t, "%%v%d = stablehlo.multiply %%x, %%c%d : tensor<64xf32>\n", i, i);
    }
    add(t, "return ");
    for (int i = 0; i < ops / 2; i++) add(t, "%s%%v%d", i ? ", " : "", i);
    add(t, " : ");
    for (int i = 0; i < ops / 2; i++) add(t, "%stensor<64xf32>", i ? ", " : "");
    add(t, "\n}\n");
}

static void inputs(growing_text *t, int ops)
{
    add(t, "func.func @main(%%v0: tensor<64xf32>");
    for (int i = 1; i <= ops; i++) add(t, ", %%a%d: tensor<64xf32>", i);
    add(t, ") -> tensor<64xf32> {\n");
    for (int i = 1; i <= ops; i++)
        add(t, "%%v%d = stablehlo.add %%v%d, %%a%d : tensor<64xf32>\n", i, i - 1, i);
    add(t, "return %%v%d : tensor<64xf32>\n}\n", ops);
}

/* Many ops that know nothing of each other, joined by a chain. */
static void wide(growing_text *t, int ops)
{
    add(t, "func.func @main(%%x: " V ") -> " V " {\n%%s0 = stablehlo.negate %%x : " V "\n");
    for (int i = 0; i < ops / 3; i++) {
        add(t, "%%c%d = stablehlo.constant dense<%d.25> : " V "\n", i, i);
        add(t, "%%v%d = stablehlo.power %%x, %%c%d : " V "\n", i, i);
    }
    for (int i = 0; i < ops / 3; i++)
        add(t, "%%s%d = stablehlo.maximum %%s%d, %%v%d : " V "\n", i + 1, i, i);
    add(t, "return %%s%d : " V "\n}\n", ops / 3);
}

/* One dear value and many reductions of something made of it. */
static void fan_out(growing_text *t, int ops)
{
    add(t, "func.func @main(%%x: " V ") -> tensor<f32> {\n"
           "%%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
           "%%e = stablehlo.exponential %%x : " V "\n%%y = stablehlo.sine %%e : " V "\n"
           "%%s0 = stablehlo.negate %%z : tensor<f32>\n");
    for (int i = 0; i < ops / 4; i++) {
        add(t, "%%c%d = stablehlo.constant dense<%d.5> : " V "\n", i, i);
        add(t, "%%v%d = stablehlo.multiply %%y, %%c%d : " V "\n", i, i);
        add(t,
            "%%r%d = stablehlo.reduce(%%v%d init: %%z) applies stablehlo.add across dimensions = "
            "[0] : (" V ", tensor<f32>) -> tensor<f32>\n",
            i, i);
        add(t, "%%s%d = stablehlo.add %%s%d, %%r%d : tensor<f32>\n", i + 1, i, i);
    }
    add(t, "return %%s%d : tensor<f32>\n}\n", ops / 4);
}

static void constants(growing_text *t, int ops)
{
    add(t, "func.func @main(%%v0: tensor<4xf32>) -> tensor<4xf32> {\n");
    for (int i = 0; i < ops / 2; i++) {
        add(t, "%%c%d = stablehlo.constant dense<[%d.0, 1.0, 2.0, 3.0]> : tensor<4xf32>\n", i, i);
        add(t, "%%v%d = stablehlo.maximum %%v%d, %%c%d : tensor<4xf32>\n", i + 1, i, i);
    }
    add(t, "return %%v%d : tensor<4xf32>\n}\n", ops / 2);
}

/* Functions that call the next one. */
static void calls(growing_text *t, int ops)
{
    int n = ops / 2;
    add(t, "func.func @main(%%x: " V ") -> " V " {\n%%r = call @f0(%%x) : (" V ") -> " V "\n"
           "return %%r : " V "\n}\n");
    for (int i = 0; i < n; i++) {
        add(t, "func.func private @f%d(%%x: " V ") -> " V " {\n%%y = stablehlo.%s %%x : " V "\n", i,
            i % 2 ? "sine" : "negate");
        if (i + 1 < n) add(t, "%%r = call @f%d(%%y) : (" V ") -> " V "\nreturn %%r", i + 1);
        else add(t, "return %%y");
        add(t, " : " V "\n}\n");
    }
}

#define LOOP_HEAD                                                                                  \
    "cond {\n%%n%d = stablehlo.constant dense<3> : tensor<i32>\n"                                  \
    "%%g%d = stablehlo.compare LT, %%i%d, %%n%d, SIGNED : (tensor<i32>, tensor<i32>) -> "          \
    "tensor<i1>\nstablehlo.return %%g%d : tensor<i1>\n} do {\n"                                    \
    "%%o%d = stablehlo.constant dense<1> : tensor<i32>\n"                                          \
    "%%j%d = stablehlo.add %%i%d, %%o%d : tensor<i32>\n"

static void one_loop(growing_text *t, int ops)
{
    add(t,
        "func.func @main(%%x: " V ") -> " V " {\n"
        "%%z = stablehlo.constant dense<0> : tensor<i32>\n"
        "%%w:2 = stablehlo.while(%%i0 = %%z, %%v0 = %%x) : tensor<i32>, " V "\n" LOOP_HEAD,
        0, 0, 0, 0, 0, 0, 0, 0, 0);
    chain_of(t, "v", 0, ops);
    add(t, "stablehlo.return %%j0, %%v%d : tensor<i32>, " V "\n}\nreturn %%w#1 : " V "\n}\n", ops);
}

static void loops(growing_text *t, int ops)
{
    int n = ops / 8;
    add(t, "func.func @main(%%w0_x: " V ") -> " V " {\n"
           "%%z = stablehlo.constant dense<0> : tensor<i32>\n");
    for (int k = 1; k <= n; k++) {
        if (k == 1)
            add(t, "%%w1:2 = stablehlo.while(%%i1 = %%z, %%v1 = %%w0_x) : tensor<i32>, " V "\n");
        else
            add(t, "%%w%d:2 = stablehlo.while(%%i%d = %%z, %%v%d = %%w%d#1) : tensor<i32>, " V "\n",
                k, k, k, k - 1);
        add(t, LOOP_HEAD, k, k, k, k, k, k, k, k, k);
        add(t, "%%u%d = stablehlo.sine %%v%d : " V "\n", k, k);
        add(t, "stablehlo.return %%j%d, %%u%d : tensor<i32>, " V "\n}\n", k, k);
    }
    add(t, "return %%w%d#1 : " V "\n}\n", n);
}

static void branches(growing_text *t, int ops)
{
    int n = ops / 5;
    add(t, "func.func @main(%%p: tensor<i1>, %%v0: " V ") -> " V " {\n");
    for (int i = 0; i < n; i++)
        add(t,
            "%%v%d = \"stablehlo.if\"(%%p) ({\n%%a%d = stablehlo.sine %%v%d : " V
            "\nstablehlo.return %%a%d : " V "\n}, {\n%%b%d = stablehlo.negate %%v%d : " V
            "\nstablehlo.return %%b%d : " V "\n}) : (tensor<i1>) -> " V "\n",
            i + 1, i, i, i, i, i, i);
    add(t, "return %%v%d : " V "\n}\n", n);
}

static const struct {
    const char *name;
    void (*make)(growing_text *, int ops);
} growing_programs[] = {
    {"elementwise", elementwise},
    {"shared", shared},
    {"reductions", reductions},
    {"dots", dots},
    {"layers", layers_of},
    {"moves", moves},
    {"outputs", outputs},
    {"inputs", inputs},
    {"wide", wide},
    {"fan-out", fan_out},
    {"constants", constants},
    {"calls", calls},
    {"one loop", one_loop},
    {"loops", loops},
    {"branches", branches},
};
enum { GROWING_PROGRAMS = sizeof growing_programs / sizeof *growing_programs };

#undef V
#undef M

#endif
