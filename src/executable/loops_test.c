/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over scalars: what their machine code gives is what the interpreter gives, bit for bit, for
 * each instruction set that there is; and they are machine code where that is expected. */
#include "base/isa_test.h"
#include "executable/program_test.h"
#include "reader/reader.h"

#define MAIN(args, results, ...)                                                                   \
    "func.func public @main(" args ") -> (" results ") {\n" __VA_ARGS__ "}\n"
#define LESS(i, n)                                                                                 \
    "%n = stablehlo.constant dense<" n "> : tensor<i32>\n"                                         \
    "%go = stablehlo.compare LT, " i ", %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"   \
    "stablehlo.return %go : tensor<i1>\n"
#define STEP(i)                                                                                    \
    "%one = stablehlo.constant dense<1> : tensor<i32>\n"                                           \
    "%next = stablehlo.add " i ", %one : tensor<i32>\n"
#define ZERO "%zero = stablehlo.constant dense<0> : tensor<i32>\n"

/* A counter and a value of a type. */
#define ITERATE(t, c)                                                                              \
    MAIN("%x: tensor<" t ">", "tensor<" t ">, tensor<i32>",                                        \
         ZERO "%r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<" t ">\n"         \
              "cond {\n" LESS("%i", "37") "} do {\n" STEP(                                         \
                  "%i") "%c = stablehlo.constant dense<" c "> : tensor<" t ">\n"                   \
                        "%a = stablehlo.multiply %v, %c : tensor<" t ">\n"                         \
                        "%b = stablehlo.add %a, %c : tensor<" t ">\n"                              \
                        "%l = stablehlo.convert %i : (tensor<i32>) -> tensor<i8>\n%k = "           \
                        "stablehlo.convert %l : (tensor<i8>) -> tensor<" t ">\n"                   \
                        "%w = stablehlo.maximum %b, %k : tensor<" t ">\n"                          \
                        "stablehlo.return %next, %w : tensor<i32>, tensor<" t ">\n}\n"             \
                        "return %r#1, %r#0 : tensor<" t ">, tensor<i32>\n")

/* The same over a strip, or several. */
#define ITERATE_STRIP(n, t, c)                                                                     \
    MAIN("%x: tensor<" n "x" t ">, %y: tensor<" t ">", "tensor<" n "x" t ">, tensor<i32>",         \
         ZERO "%r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<" n "x" t ">\n"   \
              "cond {\n" LESS("%i", "37") "} do {\n" STEP("%i") /* */                              \
         "%c = stablehlo.constant dense<" c "> : tensor<" n "x" t ">\n"                            \
         "%a = stablehlo.multiply %v, %c : tensor<" n "x" t ">\n"                                  \
         "%y1 = stablehlo.broadcast_in_dim %y, dims = [] : (tensor<" t ">) -> tensor<" n "x" t     \
         ">\n%b = stablehlo.add %a, %y1 : tensor<" n "x" t ">\n"                                   \
         "%l = stablehlo.convert %i : (tensor<i32>) -> tensor<i8>\n%k = "                          \
         "stablehlo.convert %l : (tensor<i8>) -> tensor<" t ">\n"                                  \
         "%k1 = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<" t ">) -> tensor<" n "x" t     \
         ">\n%w = stablehlo.maximum %b, %k1 : tensor<" n "x" t ">\n"                               \
         "stablehlo.return %next, %w : tensor<i32>, tensor<" n "x" t ">\n}\n"                      \
         "return %r#1, %r#0 : tensor<" n "x" t ">, tensor<i32>\n")

/* For loops that reduce. */
#define CONSTANTS                                                                                  \
    "%f0 = stablehlo.constant dense<0.0> : tensor<f32>\n"                                          \
    "%f1 = stablehlo.constant dense<1.0> : tensor<f32>\n"                                          \
    "%low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"                                  \
    "%high = stablehlo.constant dense<0x7F800000> : tensor<f32>\n"                                 \
    "%true = stablehlo.constant dense<true> : tensor<i1>\n"
#define FOLD(x, init, op, dims, from, to, e)                                                       \
    "stablehlo.reduce(" x " init: " init ") applies stablehlo." op " across dimensions = [" dims   \
    "] : (tensor<" from ">, tensor<" e ">) -> tensor<" to ">\n"
/* Of the floats `x` and the places %k. */
#define ARGMAX(g, x, n)                                                                            \
    g ":2 = stablehlo.reduce(" x " init: %low), (%k init: %zero) across dimensions = [0] : "       \
      "(tensor<" n "xf32>, tensor<" n "xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, "         \
      "tensor<i32>)\nreducer(%qa: tensor<f32>, %qb: tensor<f32>) (%qc: tensor<i32>, %qd: "         \
      "tensor<i32>) {\n"                                                                           \
      "%q1 = stablehlo.compare GT, %qa, %qb : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"          \
      "%q2 = stablehlo.compare NE, %qa, %qa : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"          \
      "%q3 = stablehlo.or %q1, %q2 : tensor<i1>\n"                                                 \
      "%q4 = stablehlo.compare EQ, %qa, %qb : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"          \
      "%q5 = stablehlo.compare LT, %qc, %qd : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"          \
      "%q6 = stablehlo.and %q4, %q5 : tensor<i1>\n"                                                \
      "%q7 = stablehlo.or %q3, %q6 : tensor<i1>\n"                                                 \
      "%q8 = stablehlo.select %q3, %qa, %qb : tensor<i1>, tensor<f32>\n"                           \
      "%q9 = stablehlo.select %q7, %qc, %qd : tensor<i1>, tensor<i32>\n"                           \
      "stablehlo.return %q8, %q9 : tensor<f32>, tensor<i32>\n}\n"

typedef struct {
    const char *name, *text;
    bool native;
} program;

static const program programs[] = {
    {"f32", ITERATE("f32", "1.01"), true},
    {"f64", ITERATE("f64", "1.01"), true},
    {"bf16", ITERATE("bf16", "1.01"), true},
    {"f16", ITERATE("f16", "1.01"), true},
    {"i8", ITERATE("i8", "3"), true},
    {"u8", ITERATE("ui8", "3"), true},
    {"i16", ITERATE("i16", "77"), true},
    {"u32", ITERATE("ui32", "77"), true},
    {"division",
     MAIN("%x: tensor<i32>", "tensor<i32>, tensor<i32>",
          ZERO "%r:2 = stablehlo.while(%n = %zero, %v = %x) : tensor<i32>, tensor<i32>\n"
               "cond {\n%k = stablehlo.constant dense<-900> : tensor<i32>\n"
               "%go = stablehlo.compare GT, %v, %k, SIGNED : (tensor<i32>, tensor<i32>) -> "
               "tensor<i1>\nstablehlo.return %go : tensor<i1>\n} do {\n" STEP(
                   "%n") "%seven = stablehlo.constant dense<-7> : tensor<i32>\n"
                         "%q = stablehlo.divide %v, %seven : tensor<i32>\n"
                         "%m = stablehlo.remainder %v, %seven : tensor<i32>\n"
                         "%d = stablehlo.subtract %m, %q : tensor<i32>\n"
                         "%t = stablehlo.constant dense<40> : tensor<i32>\n"
                         "%e = stablehlo.subtract %d, %t : tensor<i32>\n"
                         "%f = stablehlo.subtract %e, %n : tensor<i32>\n"
                         "%g = stablehlo.multiply %f, %next : tensor<i32>\n"
                         "stablehlo.return %next, %g : tensor<i32>, tensor<i32>\n}\n"
                         "return %r#0, %r#1 : tensor<i32>, tensor<i32>\n"),
     true},
    {"truths",
     MAIN("%x: tensor<i1>", "tensor<i1>, tensor<i1>, tensor<i32>",
          ZERO "%r:3 = stablehlo.while(%i = %zero, %p = %x, %q = %x) : tensor<i32>, tensor<i1>, "
               "tensor<i1>\ncond {\n" LESS("%i", "9") "} do {\n" STEP(
                   "%i") "%t = stablehlo.constant dense<true> : tensor<i1>\n"
                         "%a = stablehlo.xor %p, %t : tensor<i1>\n"
                         "%b = stablehlo.and %a, %q : tensor<i1>\n"
                         "stablehlo.return %next, %b, %p : tensor<i32>, tensor<i1>, tensor<i1>\n}\n"
                         "return %r#1, %r#2, %r#0 : tensor<i1>, tensor<i1>, tensor<i32>\n"),
     true},
    /* A running sum, of which each state is kept; indices run over the end. */
    {"scan",
     MAIN("%x: tensor<40xf32>", "tensor<40xf32>, tensor<f32>",
          ZERO "%s = stablehlo.constant dense<0.5> : tensor<f32>\n"
               "%r:3 = stablehlo.while(%i = %zero, %v = %s, %y = %x) : tensor<i32>, tensor<f32>, "
               "tensor<40xf32>\ncond {\n" LESS("%i", "45") "} do {\n" STEP(
                   "%i") "%e = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<40xf32>, "
                         "tensor<i32>) "
                         "-> tensor<1xf32>\n"
                         "%f = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>\n"
                         "%w = stablehlo.add %v, %f : tensor<f32>\n"
                         "%u = stablehlo.reshape %w : (tensor<f32>) -> tensor<1xf32>\n"
                         "%z = stablehlo.dynamic_update_slice %y, %u, %i : (tensor<40xf32>, "
                         "tensor<1xf32>, "
                         "tensor<i32>) -> tensor<40xf32>\n"
                         "stablehlo.return %next, %w, %z : tensor<i32>, tensor<f32>, "
                         "tensor<40xf32>\n}\n"
                         "return %r#2, %r#1 : tensor<40xf32>, tensor<f32>\n"),
     true},
    /* The array is read where it was written one iteration before. */
    {"recurrence",
     MAIN("%x: tensor<40xi32>", "tensor<40xi32>",
          ZERO "%r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<40xi32>\n"
               "cond {\n" LESS("%i", "39") "} do {\n" STEP(
                   "%i") "%e = stablehlo.dynamic_slice %y, %i, sizes = [1] : (tensor<40xi32>, "
                         "tensor<i32>) "
                         "-> tensor<1xi32>\n%f = stablehlo.add %e, %e : tensor<1xi32>\n"
                         "%z = stablehlo.dynamic_update_slice %y, %f, %next : (tensor<40xi32>, "
                         "tensor<1xi32>, tensor<i32>) -> tensor<40xi32>\n"
                         "stablehlo.return %next, %z : tensor<i32>, tensor<40xi32>\n}\n"
                         "return %r#1 : tensor<40xi32>\n"),
     true},
    /* The array as it was is wanted after it has changed: not in place. */
    {"old content",
     MAIN("%x: tensor<40xi32>", "tensor<40xi32>, tensor<i32>",
          ZERO "%r:3 = stablehlo.while(%i = %zero, %y = %x, %s = %zero) : tensor<i32>, "
               "tensor<40xi32>, tensor<i32>\ncond {\n" LESS("%i", "39") "} do {\n" STEP(
                   "%i") "%e = stablehlo.dynamic_slice %y, %i, sizes = [1] : (tensor<40xi32>, "
                         "tensor<i32>) "
                         "-> tensor<1xi32>\n%f = stablehlo.add %e, %e : tensor<1xi32>\n"
                         "%z = stablehlo.dynamic_update_slice %y, %f, %i : (tensor<40xi32>, "
                         "tensor<1xi32>, tensor<i32>) -> tensor<40xi32>\n"
                         "%o = stablehlo.dynamic_slice %y, %next, sizes = [1] : (tensor<40xi32>, "
                         "tensor<i32>) "
                         "-> tensor<1xi32>\n%p = stablehlo.reshape %o : (tensor<1xi32>) -> "
                         "tensor<i32>\n"
                         "%t = stablehlo.add %s, %p : tensor<i32>\n"
                         "stablehlo.return %next, %z, %t : tensor<i32>, tensor<40xi32>, "
                         "tensor<i32>\n}\n"
                         "return %r#1, %r#2 : tensor<40xi32>, tensor<i32>\n"),
     false},
    /* Two arrays that change places. */
    {"exchange",
     MAIN("%x: tensor<20xi32>, %w: tensor<20xi32>", "tensor<20xi32>, tensor<20xi32>",
          ZERO "%r:3 = stablehlo.while(%i = %zero, %y = %x, %z = %w) : tensor<i32>, "
               "tensor<20xi32>, tensor<20xi32>\ncond {\n" LESS("%i", "7") "} do {\n" STEP(
                   "%i") "%u = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>\n"
                         "%a = stablehlo.dynamic_update_slice %y, %u, %i : (tensor<20xi32>, "
                         "tensor<1xi32>, "
                         "tensor<i32>) -> tensor<20xi32>\n"
                         "stablehlo.return %next, %z, %a : tensor<i32>, tensor<20xi32>, "
                         "tensor<20xi32>\n}\n"
                         "return %r#1, %r#2 : tensor<20xi32>, tensor<20xi32>\n"),
     false},
    {"scalars change places",
     MAIN("%x: tensor<i32>", "tensor<i32>, tensor<i32>, tensor<i32>",
          ZERO
          "%r:3 = stablehlo.while(%i = %zero, %a = %x, %b = %zero) : tensor<i32>, "
          "tensor<i32>, tensor<i32>\ncond {\n" LESS("%i", "7") "} do {\n" STEP(
              "%i") "stablehlo.return %next, %b, %a : tensor<i32>, tensor<i32>, tensor<i32>\n}\n"
                    "return %r#1, %r#2, %r#0 : tensor<i32>, tensor<i32>, tensor<i32>\n"),
     true},
    /* A loop over the elements of each row. */
    {"rows",
     MAIN("%x: tensor<6x5xf32>", "tensor<f32>, tensor<6xf32>",
          ZERO
          "%s = stablehlo.constant dense<0.0> : tensor<f32>\n"
          "%k = stablehlo.constant dense<0.0> : tensor<6xf32>\n"
          "%r:3 = stablehlo.while(%i = %zero, %v = %s, %y = %k) : tensor<i32>, tensor<f32>, "
          "tensor<6xf32>\ncond {\n" LESS("%i", "6") "} do {\n" STEP(
              "%i") "%row = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 5] : "
                    "(tensor<6x5xf32>, tensor<i32>, tensor<i32>) -> tensor<1x5xf32>\n"
                    "%flat = stablehlo.reshape %row : (tensor<1x5xf32>) -> tensor<5xf32>\n"
                    "%q:2 = stablehlo.while(%j = %zero, %t = %v) : tensor<i32>, tensor<f32>\n"
                    "cond {\n%m = stablehlo.constant dense<5> : tensor<i32>\n"
                    "%c = stablehlo.compare LT, %j, %m, SIGNED : (tensor<i32>, tensor<i32>) -> "
                    "tensor<i1>\nstablehlo.return %c : tensor<i1>\n} do {\n"
                    "%e = stablehlo.dynamic_slice %flat, %j, sizes = [1] : (tensor<5xf32>, "
                    "tensor<i32>) -> tensor<1xf32>\n"
                    "%f = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>\n"
                    "%g = stablehlo.add %t, %f : tensor<f32>\n"
                    "%h = stablehlo.add %j, %one : tensor<i32>\n"
                    "stablehlo.return %h, %g : tensor<i32>, tensor<f32>\n}\n"
                    "%u = stablehlo.reshape %q#1 : (tensor<f32>) -> tensor<1xf32>\n"
                    "%z = stablehlo.dynamic_update_slice %y, %u, %i : (tensor<6xf32>, "
                    "tensor<1xf32>, "
                    "tensor<i32>) -> tensor<6xf32>\n"
                    "stablehlo.return %next, %q#1, %z : tensor<i32>, tensor<f32>, "
                    "tensor<6xf32>\n}\n"
                    "return %r#1, %r#2 : tensor<f32>, tensor<6xf32>\n"),
     true}, /* the inner one: rows of 5 are scalars, which have no index */
    {"long rows",
     MAIN("%x: tensor<6x50xf32>", "tensor<f32>, tensor<60xf32>",
          ZERO
          "%s = stablehlo.constant dense<0.0> : tensor<f32>\n"
          "%k = stablehlo.constant dense<0.0> : tensor<60xf32>\n"
          "%r:3 = stablehlo.while(%i = %zero, %v = %s, %y = %k) : tensor<i32>, tensor<f32>, "
          "tensor<60xf32>\ncond {\n" LESS("%i", "6") "} do {\n" STEP(
              "%i") "%row = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 50] : "
                    "(tensor<6x50xf32>, tensor<i32>, tensor<i32>) -> tensor<1x50xf32>\n"
                    "%flat = stablehlo.reshape %row : (tensor<1x50xf32>) -> tensor<50xf32>\n"
                    "%q:3 = stablehlo.while(%j = %zero, %t = %v, %w = %y) : tensor<i32>, "
                    "tensor<f32>, "
                    "tensor<60xf32>\n"
                    "cond {\n%m = stablehlo.constant dense<50> : tensor<i32>\n"
                    "%c = stablehlo.compare LT, %j, %m, SIGNED : (tensor<i32>, tensor<i32>) -> "
                    "tensor<i1>\nstablehlo.return %c : tensor<i1>\n} do {\n"
                    "%e = stablehlo.dynamic_slice %flat, %j, sizes = [1] : (tensor<50xf32>, "
                    "tensor<i32>) -> tensor<1xf32>\n"
                    "%f = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>\n"
                    "%g = stablehlo.add %t, %f : tensor<f32>\n"
                    "%h = stablehlo.add %j, %one : tensor<i32>\n"
                    "%z = stablehlo.dynamic_update_slice %w, %e, %h : (tensor<60xf32>, "
                    "tensor<1xf32>, "
                    "tensor<i32>) -> tensor<60xf32>\n"
                    "stablehlo.return %h, %g, %z : tensor<i32>, tensor<f32>, tensor<60xf32>\n}\n"
                    "stablehlo.return %next, %q#1, %q#2 : tensor<i32>, tensor<f32>, "
                    "tensor<60xf32>\n}\n"
                    "return %r#1, %r#2 : tensor<f32>, tensor<60xf32>\n"),
     true},
    {"branches",
     MAIN("%x: tensor<40xi32>", "tensor<i32>, tensor<f32>",
          ZERO "%s = stablehlo.constant dense<0.5> : tensor<f32>\n"
               "%r:3 = stablehlo.while(%i = %zero, %v = %s, %t = %zero) : tensor<i32>, "
               "tensor<f32>, tensor<i32>\ncond {\n" LESS("%i", "40") "} do {\n" STEP(
                   "%i") "%e = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<40xi32>, "
                         "tensor<i32>) "
                         "-> tensor<1xi32>\n"
                         "%k = stablehlo.reshape %e : (tensor<1xi32>) -> tensor<i32>\n"
                         "%w = \"stablehlo.case\"(%k) ({\n"
                         "%a = stablehlo.add %v, %s : tensor<f32>\nstablehlo.return %a : "
                         "tensor<f32>\n}, {\n"
                         "%b = stablehlo.multiply %v, %s : tensor<f32>\nstablehlo.return %b : "
                         "tensor<f32>\n"
                         "}, {\n%c = stablehlo.negate %v : tensor<f32>\nstablehlo.return %c : "
                         "tensor<f32>\n"
                         "}) : (tensor<i32>) -> tensor<f32>\n"
                         "%p = stablehlo.compare GT, %w, %s, FLOAT : (tensor<f32>, tensor<f32>) -> "
                         "tensor<i1>\n"
                         "%u:2 = \"stablehlo.if\"(%p) ({\n"
                         "stablehlo.return %k, %w : tensor<i32>, tensor<f32>\n}, {\n"
                         "%d = stablehlo.add %w, %s : tensor<f32>\n"
                         "stablehlo.return %i, %d : tensor<i32>, tensor<f32>\n"
                         "}) : (tensor<i1>) -> (tensor<i32>, tensor<f32>)\n"
                         "%z = stablehlo.add %t, %u#0 : tensor<i32>\n"
                         "stablehlo.return %next, %u#1, %z : tensor<i32>, tensor<f32>, "
                         "tensor<i32>\n}\n"
                         "return %r#2, %r#1 : tensor<i32>, tensor<f32>\n"),
     true},
    /* Slices, transposes and concatenations of a few elements. */
    {"few elements",
     MAIN("%x: tensor<2x3xf32>", "tensor<2x3xf32>",
          ZERO
          "%r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<2x3xf32>\n"
          "cond {\n" LESS("%i", "11") "} do {\n" STEP(
              "%i") "%a = stablehlo.slice %v [0:1, 1:3] : (tensor<2x3xf32>) -> tensor<1x2xf32>\n"
                    "%b = stablehlo.slice %v [1:2, 0:3:2] : (tensor<2x3xf32>) -> "
                    "tensor<1x2xf32>\n"
                    "%c = stablehlo.concatenate %b, %a, dim = 1 : (tensor<1x2xf32>, "
                    "tensor<1x2xf32>) "
                    "-> tensor<1x4xf32>\n"
                    "%d = stablehlo.slice %c [0:1, 0:3] : (tensor<1x4xf32>) -> tensor<1x3xf32>\n"
                    "%e = stablehlo.reshape %d : (tensor<1x3xf32>) -> tensor<3xf32>\n"
                    "%f = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<3xf32>) -> "
                    "tensor<3x2xf32>\n"
                    "%g = stablehlo.transpose %f, dims = [1, 0] : (tensor<3x2xf32>) -> "
                    "tensor<2x3xf32>\n"
                    "%h = stablehlo.add %g, %v : tensor<2x3xf32>\n"
                    "stablehlo.return %next, %h : tensor<i32>, tensor<2x3xf32>\n}\n"
                    "return %r#1 : tensor<2x3xf32>\n"),
     true},
    /* Loops over strips: whole vectors, and elements that are left over. */
    {"strip of f32", ITERATE_STRIP("128", "f32", "1.01"), true},
    {"strip with a rest", ITERATE_STRIP("2x77", "f32", "1.01"), true},
    {"strip of f64", ITERATE_STRIP("3x20", "f64", "1.01"), true},
    {"strip of bf16", ITERATE_STRIP("5x7", "bf16", "1.01"), true},
    {"strip of f16", ITERATE_STRIP("64", "f16", "1.01"), true},
    {"strip of i8", ITERATE_STRIP("67", "i8", "3"), true},
    {"strip of u16", ITERATE_STRIP("48", "ui16", "3"), true},
    {"strip of i32", ITERATE_STRIP("8x100", "i32", "3"), true},
    /* Rows of one value, put together in another order; a mask that is carried. */
    {"rows",
     MAIN("%x: tensor<3x40xf32>, %k: tensor<3xf32>, %q: tensor<40xf32>",
          "tensor<3x40xf32>, tensor<40xi1>, tensor<i32>",
          ZERO "%yes = stablehlo.constant dense<true> : tensor<40xi1>\n"
               "%r:3 = stablehlo.while(%i = %zero, %v = %x, %m = %yes) : tensor<i32>, "
               "tensor<3x40xf32>, tensor<40xi1>\n"
               "cond {\n" LESS("%i", "9") "} do {\n" STEP("%i") //
          "%a = stablehlo.slice %v [0:1, 0:40] : (tensor<3x40xf32>) -> tensor<1x40xf32>\n"
          "%b = stablehlo.slice %v [1:3, 0:40] : (tensor<3x40xf32>) -> tensor<2x40xf32>\n"
          "%c = stablehlo.concatenate %b, %a, dim = 0 : (tensor<2x40xf32>, tensor<1x40xf32>) -> "
          "tensor<3x40xf32>\n"
          "%d = stablehlo.broadcast_in_dim %k, dims = [0] : (tensor<3xf32>) -> "
          "tensor<3x40xf32>\n"
          "%e = stablehlo.multiply %c, %d : tensor<3x40xf32>\n"
          "%f = stablehlo.reshape %a : (tensor<1x40xf32>) -> tensor<40xf32>\n"
          "%less = stablehlo.compare LT, %f, %q : (tensor<40xf32>, tensor<40xf32>) -> "
          "tensor<40xi1>\n"
          "%o = stablehlo.xor %m, %less : tensor<40xi1>\n"
          "%g = stablehlo.select %o, %q, %f : tensor<40xi1>, tensor<40xf32>\n"
          "%h = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<40xf32>) -> "
          "tensor<3x40xf32>\n"
          "%w = stablehlo.add %e, %h : tensor<3x40xf32>\n"
          "stablehlo.return %next, %w, %o : tensor<i32>, tensor<3x40xf32>, tensor<40xi1>\n}\n"
          "return %r#1, %r#2, %r#0 : tensor<3x40xf32>, tensor<40xi1>, tensor<i32>\n"),
     true},
    /* Rows that are read and stacked by number, a number with each; branches with jumps. */
    {"stacked rows",
     MAIN("%xs: tensor<17x40xf32>, %y: tensor<40xf32>, %ks: tensor<17xi32>",
          "tensor<40xf32>, tensor<17x40xf32>, tensor<17xi32>",
          ZERO "%o = stablehlo.constant dense<0.5> : tensor<17x40xf32>\n"
               "%p = stablehlo.constant dense<7> : tensor<17xi32>\n"
               "%r:4 = stablehlo.while(%i = %zero, %v = %y, %s = %o, %t = %p) : tensor<i32>, "
               "tensor<40xf32>, tensor<17x40xf32>, tensor<17xi32>\n"
               "cond {\n" LESS("%i", "15") "} do {\n" STEP(
                   "%i") "%z = stablehlo.constant dense<0> : "
                         "tensor<i32>\n"
                         "%a = stablehlo.dynamic_slice %xs, %i, %z, sizes = [1, 40] : "
                         "(tensor<17x40xf32>, "
                         "tensor<i32>, tensor<i32>) -> tensor<1x40xf32>\n"
                         "%b = stablehlo.reshape %a : (tensor<1x40xf32>) -> tensor<40xf32>\n"
                         "%c = stablehlo.dynamic_slice %ks, %i, sizes = [1] : (tensor<17xi32>, "
                         "tensor<i32>) -> "
                         "tensor<1xi32>\n"
                         "%k = stablehlo.reshape %c : (tensor<1xi32>) -> tensor<i32>\n"
                         "%e = \"stablehlo.case\"(%k) ({\n"
                         "%e0 = stablehlo.add %v, %b : tensor<40xf32>\n"
                         "stablehlo.return %e0 : tensor<40xf32>\n}, {\n"
                         "%e1 = stablehlo.tanh %v : tensor<40xf32>\n"
                         "stablehlo.return %e1 : tensor<40xf32>\n}, {\n"
                         "%e2 = stablehlo.multiply %v, %b : tensor<40xf32>\n"
                         "stablehlo.return %e2 : tensor<40xf32>\n"
                         "}) : (tensor<i32>) -> tensor<40xf32>\n"
                         "%f = stablehlo.reshape %e : (tensor<40xf32>) -> tensor<1x40xf32>\n"
                         "%g = stablehlo.dynamic_update_slice %s, %f, %next, %z : "
                         "(tensor<17x40xf32>, "
                         "tensor<1x40xf32>, tensor<i32>, tensor<i32>) -> tensor<17x40xf32>\n"
                         "%l = stablehlo.dynamic_update_slice %t, %c, %next : (tensor<17xi32>, "
                         "tensor<1xi32>, "
                         "tensor<i32>) -> tensor<17xi32>\n"
                         "stablehlo.return %next, %e, %g, %l : tensor<i32>, tensor<40xf32>, "
                         "tensor<17x40xf32>, "
                         "tensor<17xi32>\n}\n"
                         "return %r#1, %r#2, %r#3 : tensor<40xf32>, tensor<17x40xf32>, "
                         "tensor<17xi32>\n"),
     true},
    /* A loop in a loop, with a counter of 64 bits outside. */
    {"strip in two loops",
     MAIN("%x: tensor<50xf32>", "tensor<50xf32>, tensor<i64>",
          "%none = stablehlo.constant dense<0> : tensor<i64>\n"
          "%r:2 = stablehlo.while(%p = %none, %v = %x) : tensor<i64>, tensor<50xf32>\n"
          "cond {\n%k = stablehlo.constant dense<5> : tensor<i64>\n"
          "%go = stablehlo.compare LT, %p, %k, SIGNED : (tensor<i64>, tensor<i64>) -> "
          "tensor<i1>\n"
          "stablehlo.return %go : tensor<i1>\n} do {\n" ZERO
          "%u = stablehlo.constant dense<1> : tensor<i64>\n"
          "%s:2 = stablehlo.while(%i = %zero, %w = %v) : tensor<i32>, tensor<50xf32>\n"
          "cond {\n" LESS("%i", "4") "} do {\n" STEP("%i") //
          "%c = stablehlo.constant dense<1.25> : tensor<50xf32>\n"
          "%a = stablehlo.multiply %w, %c : tensor<50xf32>\n"
          "%b = stablehlo.subtract %a, %v : tensor<50xf32>\n"
          "stablehlo.return %next, %b : tensor<i32>, tensor<50xf32>\n}\n"
          "%m = stablehlo.add %p, %u : tensor<i64>\n"
          "stablehlo.return %m, %s#1 : tensor<i64>, tensor<50xf32>\n}\n"
          "return %r#1, %r#0 : tensor<50xf32>, tensor<i64>\n"),
     true},
    /* More values than registers: what is read from the stack stays there until then. */
    {"many at once",
     MAIN("%x: tensor<64xf32>, %y: tensor<64xf32>",
          "tensor<64xf32>, tensor<64xf32>, tensor<64xf32>",
          ZERO "%none = stablehlo.constant dense<0.0> : tensor<64xf32>\n"
               "%r:4 = stablehlo.while(%i = %zero, %a = %x, %b = %y, %c = %none) : tensor<i32>, "
               "tensor<64xf32>, tensor<64xf32>, tensor<64xf32>\n"
               "cond {\n" LESS(
                   "%i",
                   "1") "} do {\n" //
                        "%low = stablehlo.constant dense<-9.0> : tensor<64xf32>\n"
                        "%high = stablehlo.constant dense<9.0> : tensor<64xf32>\n"
                        "%two = stablehlo.constant dense<2.0> : tensor<64xf32>\n"
                        "%four = stablehlo.constant dense<4.0> : tensor<64xf32>\n"
                        "%aa = stablehlo.multiply %a, %a : tensor<64xf32>\n"
                        "%d = stablehlo.add %aa, %x : tensor<64xf32>\n"
                        "%e = stablehlo.maximum %low, %d : tensor<64xf32>\n"
                        "%f = stablehlo.minimum %high, %e : tensor<64xf32>\n"
                        "%g = stablehlo.multiply %two, %a : tensor<64xf32>\n"
                        "%h = stablehlo.multiply %g, %b : tensor<64xf32>\n"
                        "%j = stablehlo.add %h, %y : tensor<64xf32>\n"
                        "%k = stablehlo.maximum %low, %j : tensor<64xf32>\n"
                        "%l = stablehlo.minimum %high, %k : tensor<64xf32>\n"
                        "%bb = stablehlo.multiply %b, %b : tensor<64xf32>\n"
                        "%m = stablehlo.add %aa, %bb : tensor<64xf32>\n"
                        "%p = stablehlo.compare LT, %m, %four : (tensor<64xf32>, tensor<64xf32>) "
                        "-> "
                        "tensor<64xi1>\n"
                        "%q = stablehlo.convert %p : (tensor<64xi1>) -> tensor<64xf32>\n"
                        "%s = stablehlo.add %c, %q : tensor<64xf32>\n" STEP(
                            "%i") "stablehlo.return %next, %f, %l, %s : tensor<i32>, "
                                  "tensor<64xf32>, tensor<64xf32>, "
                                  "tensor<64xf32>\n}\n"
                                  "return %r#1, %r#2, %r#3 : tensor<64xf32>, tensor<64xf32>, "
                                  "tensor<64xf32>\n"),
     true},
    /* Elements that are scattered, to places of which some aren't there. */
    {"scattered",
     MAIN("%x: tensor<5x4xf32>, %ks: tensor<40xi32>", "tensor<5x4xf32>, tensor<40xi32>",
          ZERO "%r:3 = stablehlo.while(%i = %zero, %v = %x, %w = %ks) : tensor<i32>, "
               "tensor<5x4xf32>, tensor<40xi32>\n"
               "cond {\n" LESS("%i", "40") "} do {\n" STEP("%i") //
          "%a = stablehlo.dynamic_slice %w, %i, sizes = [1] : (tensor<40xi32>, tensor<i32>) -> "
          "tensor<1xi32>\n"
          "%two = stablehlo.constant dense<2> : tensor<1xi32>\n"
          "%b = stablehlo.subtract %a, %two : tensor<1xi32>\n"
          "%c = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> "
          "tensor<2xi32>\n"
          "%f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>\n"
          "%g = \"stablehlo.scatter\"(%v, %c, %f) <{scatter_dimension_numbers = "
          "#stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = "
          "[1, 0]>}> ({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
          "%d = stablehlo.multiply %p, %q : tensor<f32>\n%e = stablehlo.subtract %d, %p : "
          "tensor<f32>\nstablehlo.return %e : tensor<f32>\n"
          "}) : (tensor<5x4xf32>, tensor<2xi32>, tensor<f32>) -> tensor<5x4xf32>\n"
          "%h = \"stablehlo.scatter\"(%w, %b, %i) <{scatter_dimension_numbers = "
          "#stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = "
          "[0]>}> ({\n^bb0(%p: tensor<i32>, %q: tensor<i32>):\n"
          "stablehlo.return %q : tensor<i32>\n"
          "}) : (tensor<40xi32>, tensor<1xi32>, tensor<i32>) -> tensor<40xi32>\n"
          "stablehlo.return %next, %g, %h : tensor<i32>, tensor<5x4xf32>, tensor<40xi32>\n}\n"
          "return %r#1, %r#2 : tensor<5x4xf32>, tensor<40xi32>\n"),
     true},
    /* Rows of an array, of which some elements are NaN in %l, come to one element each. */
    {"a row that is reduced",
     MAIN(
         "%x: tensor<12x7xf32>", "tensor<12x6xf32>, tensor<12xi32>",
         ZERO CONSTANTS "%y = stablehlo.constant dense<0.0> : tensor<12x6xf32>\n"
                        "%z = stablehlo.constant dense<0> : tensor<12xi32>\n"
                        "%r:3 = stablehlo.while(%i = %zero, %v = %y, %w = %z) : tensor<i32>, "
                        "tensor<12x6xf32>, tensor<12xi32>\n"
                        "cond {\n" LESS("%i", "12") "} do {\n" STEP("%i") //
         "%a = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 7] : (tensor<12x7xf32>, "
         "tensor<i32>, tensor<i32>) -> tensor<1x7xf32>\n"
         "%a1 = stablehlo.reshape %a : (tensor<1x7xf32>) -> tensor<7xf32>\n"
         "%three = stablehlo.constant dense<3.0> : tensor<7xf32>\n"
         "%b = stablehlo.divide %a1, %three : tensor<7xf32>\n"
         "%shift = stablehlo.constant dense<0.9> : tensor<7xf32>\n"
         "%b1 = stablehlo.subtract %b, %shift : tensor<7xf32>\n"
         "%l = stablehlo.log %b1 : tensor<7xf32>\n"
         "%s = " FOLD("%b1", "%f0", "add", "0", "7xf32", "f32", "f32") "%p = " FOLD(
             "%b", "%f1", "multiply", "0",
             "7xf32", "f32",
             "f32") "%m = " FOLD("%l", "%low", "maximum", "0", "7xf32", "f32",
                                 "f32") "%n1 = " FOLD("%l", "%high", "minimum", "0", "7xf32", "f32",
                                                      "f32") "%k = stablehlo.iota dim = 0 : "
                                                             "tensor<7xi32>\n" ARGMAX("%g", "%l", "7") "%h = " FOLD(
                                                                 "%k", "%i", "add",
                                                                 "0", "7xi32", "i32",
                                                                 "i32") "%o"
                                                                        " ="
                                                                        " s"
                                                                        "ta"
                                                                        "bl"
                                                                        "eh"
                                                                        "lo"
                                                                        ".c"
                                                                        "om"
                                                                        "pa"
                                                                        "re"
                                                                        " G"
                                                                        "T,"
                                                                        " %"
                                                                        "b,"
                                                                        " %"
                                                                        "b1"
                                                                        " :"
                                                                        " ("
                                                                        "te"
                                                                        "ns"
                                                                        "or"
                                                                        "<7"
                                                                        "xf"
                                                                        "32"
                                                                        ">,"
                                                                        " t"
                                                                        "en"
                                                                        "so"
                                                                        "r<"
                                                                        "7x"
                                                                        "f3"
                                                                        "2>"
                                                                        ") "
                                                                        "->"
                                                                        " t"
                                                                        "en"
                                                                        "so"
                                                                        "r<"
                                                                        "7x"
                                                                        "i1"
                                                                        ">"
                                                                        "\n"
                                                                        "%a"
                                                                        "ll"
                                                                        " ="
                                                                        " " FOLD(
                                                                            "%o", "%true",
                                                                            "and", "0", "7xi1",
                                                                            "i1",
                                                                            "i1") "%all1 = "
                                                                                  "stablehlo."
                                                                                  "convert %all : "
                                                                                  "(tensor<i1>) -> "
                                                                                  "tensor<f32>\n"
                                                                                  "%s1 = "
                                                                                  "stablehlo."
                                                                                  "reshape %s : "
                                                                                  "(tensor<f32>) "
                                                                                  "-> "
                                                                                  "tensor<1x1xf32>"
                                                                                  "\n"
                                                                                  "%p1 = "
                                                                                  "stablehlo."
                                                                                  "reshape %p : "
                                                                                  "(tensor<f32>) "
                                                                                  "-> "
                                                                                  "tensor<1x1xf32>"
                                                                                  "\n"
                                                                                  "%m1 = "
                                                                                  "stablehlo."
                                                                                  "reshape %m : "
                                                                                  "(tensor<f32>) "
                                                                                  "-> "
                                                                                  "tensor<1x1xf32>"
                                                                                  "\n"
                                                                                  "%n2 = "
                                                                                  "stablehlo."
                                                                                  "reshape %n1 : "
                                                                                  "(tensor<f32>) "
                                                                                  "-> "
                                                                                  "tensor<1x1xf32>"
                                                                                  "\n"
                                                                                  "%g1 = "
                                                                                  "stablehlo."
                                                                                  "reshape %g#0 : "
                                                                                  "(tensor<f32>) "
                                                                                  "-> "
                                                                                  "tensor<1x1xf32>"
                                                                                  "\n"
                                                                                  "%all2 = "
                                                                                  "stablehlo."
                                                                                  "reshape %all1 : "
                                                                                  "(tensor<f32>) "
                                                                                  "-> "
                                                                                  "tensor<1x1xf32>"
                                                                                  "\n"
                                                                                  "%c = "
                                                                                  "stablehlo."
                                                                                  "concatenate "
                                                                                  "%s1, %p1, %m1, "
                                                                                  "%n2, %g1, "
                                                                                  "%all2, dim = 1 "
                                                                                  ": "
                                                                                  "(tensor<1x1xf32>"
                                                                                  ", "
                                                                                  "tensor<1x1xf32>,"
                                                                                  " tensor<1x1xf32>"
                                                                                  ", "
                                                                                  "tensor<1x1xf32>,"
                                                                                  " tensor<1x1xf32>"
                                                                                  ", "
                                                                                  "tensor<1x1xf32>)"
                                                                                  " -> "
                                                                                  "tensor<1x6xf32>"
                                                                                  "\n"
                                                                                  "%v1 = "
                                                                                  "stablehlo."
                                                                                  "dynamic_update_"
                                                                                  "slice %v, %c, "
                                                                                  "%i, %zero : "
                                                                                  "(tensor<"
                                                                                  "12x6xf32>, "
                                                                                  "tensor<1x6xf32>,"
                                                                                  " tensor<i32>, "
                                                                                  "tensor<i32>) -> "
                                                                                  "tensor<12x6xf32>"
                                                                                  "\n"
                                                                                  "%h1 = "
                                                                                  "stablehlo.add "
                                                                                  "%h, %g#1 : "
                                                                                  "tensor<i32>\n"
                                                                                  "%h2 = "
                                                                                  "stablehlo."
                                                                                  "reshape %h1 : "
                                                                                  "(tensor<i32>) "
                                                                                  "-> "
                                                                                  "tensor<1xi32>\n"
                                                                                  "%w1 = "
                                                                                  "stablehlo."
                                                                                  "dynamic_update_"
                                                                                  "slice %w, %h2, "
                                                                                  "%i : "
                                                                                  "(tensor<12xi32>,"
                                                                                  " tensor<1xi32>, "
                                                                                  "tensor<i32>) -> "
                                                                                  "tensor<12xi32>\n"
                                                                                  "stablehlo."
                                                                                  "return %next, "
                                                                                  "%v1, %w1 : "
                                                                                  "tensor<i32>, "
                                                                                  "tensor<12x6xf32>"
                                                                                  ", "
                                                                                  "tensor<12xi32>"
                                                                                  "\n}\n"
                                                                                  "return %r#1, "
                                                                                  "%r#2 : "
                                                                                  "tensor<12x6xf32>"
                                                                                  ", "
                                                                                  "tensor<12xi32>"
                                                                                  "\n"),
     true},
    /* Rows and columns of a few elements. */
    {"a small matrix that is reduced",
     MAIN("%x: tensor<2x4xf32>", "tensor<2x4xf32>",
          ZERO CONSTANTS "%r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, "
                         "tensor<2x4xf32>\n"
                         "cond {\n" LESS("%i", "9") "} do {\n" STEP("%i") //
          "%s = " FOLD("%v", "%f1", "add", "1", "2x4xf32", "2xf32", "f32") "%t = " FOLD(
              "%v", "%f1", "multiply", "0", "2x4xf32", "4xf32",
              "f32") "%m = " FOLD("%v", "%f0", "maximum", "0, 1", "2x4xf32", "f32",
                                  "f32") "%a = stablehlo.broadcast_in_dim %s, dims = [0] : "
                                         "(tensor<2xf32>) -> tensor<2x4xf32>\n"
                                         "%b = stablehlo.broadcast_in_dim %t, dims = [1] : "
                                         "(tensor<4xf32>) -> tensor<2x4xf32>\n"
                                         "%c = stablehlo.broadcast_in_dim %m, dims = [] : "
                                         "(tensor<f32>) -> tensor<2x4xf32>\n"
                                         "%d = stablehlo.add %v, %b : tensor<2x4xf32>\n"
                                         "%e = stablehlo.add %d, %c : tensor<2x4xf32>\n"
                                         "%f = stablehlo.divide %e, %a : tensor<2x4xf32>\n"
                                         "stablehlo.return %next, %f : tensor<i32>, "
                                         "tensor<2x4xf32>\n}\n"
                                         "return %r#1 : tensor<2x4xf32>\n"),
     true},
    /* All of an array that changes from turn to turn. */
    {"a ring that is summed",
     MAIN("%x: tensor<29xf32>", "tensor<29xf32>, tensor<f32>",
          ZERO CONSTANTS "%r:3 = stablehlo.while(%i = %zero, %v = %x, %w = %f1) : tensor<i32>, "
                         "tensor<29xf32>, tensor<f32>\n"
                         "cond {\n" LESS("%i", "40") "} do {\n" STEP("%i") //
          "%s = " FOLD("%v", "%w", "add", "0", "29xf32", "f32", "f32") "%m = " FOLD(
              "%v", "%f0", "maximum", "0", "29xf32", "f32",
              "f32") "%d = stablehlo.divide %m, %s : tensor<f32>\n"
                     "%e = stablehlo.reshape %d : (tensor<f32>) -> tensor<1xf32>\n"
                     "%u = stablehlo.dynamic_update_slice %v, %e, %i : (tensor<29xf32>, "
                     "tensor<1xf32>, "
                     "tensor<i32>) -> tensor<29xf32>\n"
                     "%t = " FOLD("%u", "%d", "add", "0", "29xf32", "f32",
                                  "f32") "stablehlo.return %next, %u, %t : tensor<i32>, "
                                         "tensor<29xf32>, tensor<f32>\n}\n"
                                         "return %r#1, %r#2 : tensor<29xf32>, tensor<f32>\n"),
     true},
    {"strips that are reduced",
     MAIN("%x: tensor<3x37xf32>", "tensor<3x37xf32>",
          ZERO CONSTANTS "%r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, "
                         "tensor<3x37xf32>\n"
                         "cond {\n" LESS("%i", "9") "} do {\n" STEP("%i") //
          "%s = " FOLD("%v", "%f1", "add", "0", "3x37xf32", "37xf32", "f32") "%m = " FOLD(
              "%v", "%f0", "minimum", "0", "3x37xf32", "37xf32",
              "f32") "%q = stablehlo.divide %m, %s : tensor<37xf32>\n"
                     "%a = stablehlo.broadcast_in_dim %q, dims = [1] : (tensor<37xf32>) -> "
                     "tensor<3x37xf32>\n"
                     "%third = stablehlo.constant dense<0.3> : tensor<3x37xf32>\n"
                     "%b = stablehlo.multiply %v, %third : tensor<3x37xf32>\n"
                     "%c = stablehlo.add %a, %b : tensor<3x37xf32>\n"
                     "stablehlo.return %next, %c : tensor<i32>, tensor<3x37xf32>\n}\n"
                     "return %r#1 : tensor<3x37xf32>\n"),
     true},
    /* Zeros of both signs, and numbers that leave none but a sign, are multiplied without a sum,
     * and added to -0. */
    {"an outer product that is added",
     MAIN("%x: tensor<3x4xf32>, %a: tensor<1x3xf32>, %b: tensor<1x4xf32>", "tensor<3x4xf32>",
          ZERO "%r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<3x4xf32>\n"
               "cond {\n" LESS("%i", "5") "} do {\n" STEP("%i") //
          "%c = stablehlo.constant dense<[[-0.0, 0.3, -1.0e-30]]> : tensor<1x3xf32>\n"
          "%d = stablehlo.multiply %a, %c : tensor<1x3xf32>\n"
          "%z = stablehlo.constant dense<-0.0> : tensor<3x4xf32>\n"
          "%w = stablehlo.multiply %v, %z : tensor<3x4xf32>\n"
          "%k = stablehlo.constant dense<1.0e-20> : tensor<1x4xf32>\n"
          "%e = stablehlo.multiply %b, %k : tensor<1x4xf32>\n"
          "%p = stablehlo.dot_general %d, %e, contracting_dims = [0] x [0] : (tensor<1x3xf32>, "
          "tensor<1x4xf32>) -> tensor<3x4xf32>\n"
          "%s = stablehlo.add %w, %p : tensor<3x4xf32>\n"
          "%t = stablehlo.reverse %s, dims = [1] : tensor<3x4xf32>\n"
          "stablehlo.return %next, %t : tensor<i32>, tensor<3x4xf32>\n}\n"
          "return %r#1 : tensor<3x4xf32>\n"),
     false},
    /* Numbers of each of many places are reduced, until there is no place left to go on. */
    {"places that are turned and reduced",
     MAIN("%x: tensor<20x3xf32>", "tensor<20x3xf32>, tensor<20xf32>, tensor<i32>",
          ZERO CONSTANTS
          "%s0 = stablehlo.constant dense<0.0> : tensor<20xf32>\n"
          "%r:3 = stablehlo.while(%i = %zero, %v = %x, %s = %s0) : tensor<i32>, "
          "tensor<20x3xf32>, tensor<20xf32>\n"
          "cond {\n%end = stablehlo.constant dense<9.0> : tensor<20xf32>\n"
          "%false = stablehlo.constant dense<false> : tensor<i1>\n"
          "%p = stablehlo.compare LT, %s, %end : (tensor<20xf32>, tensor<20xf32>) -> "
          "tensor<20xi1>\n"
          "%any = " FOLD("%p", "%false", "or", "0", "20xi1", "i1",
                         "i1") "stablehlo.return %any : tensor<i1>\n} do {\n" STEP("%i") //
          "%a = stablehlo.slice %v [0:20, 1:2] : (tensor<20x3xf32>) -> tensor<20x1xf32>\n"
          "%b = stablehlo.reshape %a : (tensor<20x1xf32>) -> tensor<20xf32>\n"
          "%t = " FOLD("%v", "%f1", "add", "1", "20x3xf32", "20xf32", "f32") "%m = " FOLD(
              "%v", "%f0", "maximum", "1", "20x3xf32", "20xf32",
              "f32") "%q = stablehlo.divide %t, %m : tensor<20xf32>\n"
                     "%c = stablehlo.broadcast_in_dim %q, dims = [0] : (tensor<20xf32>) -> "
                     "tensor<20x3xf32>\n"
                     "%d = stablehlo.constant dense<0.3> : tensor<20x3xf32>\n"
                     "%e = stablehlo.multiply %v, %d : tensor<20x3xf32>\n"
                     "%f = stablehlo.add %e, %c : tensor<20x3xf32>\n"
                     "%g = stablehlo.add %s, %b : tensor<20xf32>\n"
                     "stablehlo.return %next, %f, %g : tensor<i32>, tensor<20x3xf32>, "
                     "tensor<20xf32>\n}\n"
                     "return %r#1, %r#2, %r#0 : tensor<20x3xf32>, tensor<20xf32>, tensor<i32>\n"),
     false},
    /* What moves elements of a strip stays with the steps. */
    {"a strip that is turned",
     MAIN("%x: tensor<64xf32>", "tensor<64xf32>",
          ZERO "%r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<64xf32>\n"
               "cond {\n" LESS("%i", "9") "} do {\n" STEP("%i") //
          "%a = stablehlo.slice %v [0:63] : (tensor<64xf32>) -> tensor<63xf32>\n"
          "%b = stablehlo.slice %v [63:64] : (tensor<64xf32>) -> tensor<1xf32>\n"
          "%c = stablehlo.concatenate %b, %a, dim = 0 : (tensor<1xf32>, tensor<63xf32>) -> "
          "tensor<64xf32>\n"
          "%d = stablehlo.add %c, %v : tensor<64xf32>\n"
          "stablehlo.return %next, %d : tensor<i32>, tensor<64xf32>\n}\n"
          "return %r#1 : tensor<64xf32>\n"),
     false},
};

enum { VALUES_AT_MOST = 4, BYTES = 4096 };

typedef struct {
    const program *p;
    char args[VALUES_AT_MOST][BYTES], results[VALUES_AT_MOST][BYTES];
} oracle;

static tn_status *read_program(const tn_source *self, tn_arena *a, tn_module **out)
{
    const program *p = self->read_ctx;
    return tn_read_text(p->text, strlen(p->text), a, out);
}

static void fill(char *to, tn_element_type e)
{
    for (uint32_t i = 0; i < BYTES / 8; i++) {
        double d = 0.25 + (i * 37 % 11) * 0.5;
        float f = (float)d;
        uint32_t u;
        memcpy(&u, &f, 4);
        switch ((int)e) {
        case TN_F64: memcpy(to + 8 * i, &d, 8); break;
        case TN_F32: memcpy(to + 4 * i, &u, 4); break;
        case TN_BF16: memcpy(to + 2 * i, (char *)&u + 2, 2); break;
        case TN_I32: ((int32_t *)to)[i] = (int32_t)(i * 7919 % 13) - 3; break;
        default: to[i] = i % 2 == 0; break;
        }
    }
}

typedef struct {
    oracle *o;
    tn_arena *arena;
} job;

static tn_status *run_interpreter(void *ctx)
{
    job *j = ctx;
    tn_module *m;
    TN_TRY(tn_read_text(j->o->p->text, strlen(j->o->p->text), j->arena, &m));
    TN_TRY(tn_module_verify(m));
    const tn_function *f = m->main;
    tn_tensor args[VALUES_AT_MOST], results[VALUES_AT_MOST];
    for (uint32_t i = 0; i < f->body.n_args; i++) {
        fill(j->o->args[i], f->body.args[i].type->element);
        args[i] = (tn_tensor){j->o->args[i], f->body.args[i].type};
    }
    for (uint32_t i = 0; i < f->body.last->n_operands; i++)
        results[i] = (tn_tensor){j->o->results[i], f->body.last->operands[i]->type};
    tn_eval_context context = {0};
    return tn_interpret_function(f, &context, args, results);
}

static void check(const program *p)
{
    oracle *o = calloc(1, sizeof *o);
    o->p = p;
    job j = {o, tn_arena_new()};
    MUST(tn_arena_run(j.arena, run_interpreter, &j));
    for (int as_it_is = 0; as_it_is < 2; as_it_is++) {
        tn_source s = {.read = read_program, .read_ctx = p, .as_it_is = as_it_is};
        tn_executable *e;
        MUST(tn_compile_source(&s, &e));
        bool native = false;
        for (uint32_t i = 0; i < e->n_steps; i++) native |= e->steps[i].kind == TN_STEP_NATIVE;
        tn_isa isa = tn_cpu_isa();
        if ((isa == TN_ISA_AVX2 || isa == TN_ISA_AVX512) && native != p->native)
            fail_msg("%s is %smachine code", p->name, native ? "" : "no ");
        void *args[VALUES_AT_MOST], *results[VALUES_AT_MOST];
        for (uint32_t i = 0; i < VALUES_AT_MOST; i++) {
            args[i] = o->args[i];
            results[i] = aligned_alloc(64, BYTES);
        }
        MUST(run_executable(e, args, results));
        for (uint32_t i = 0; i < e->info.n_results; i++)
            if (memcmp(results[i], o->results[i], tn_type_bytes(e->info.results[i].type)))
                fail_msg("%s: result %u differs (as it is: %d)", p->name, i, as_it_is);
        for (uint32_t i = 0; i < VALUES_AT_MOST; i++) free(results[i]);
        tn_executable_release(e);
    }
    tn_arena_free(j.arena);
    free(o);
}

static void loops_give_what_the_interpreter_gives(void **unused)
{
    for (uint32_t i = 0; i < sizeof programs / sizeof *programs; i++) check(&programs[i]);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops_give_what_the_interpreter_gives)};
    return cmocka_run_group_tests_name("executable-loops", tests, NULL, NULL);
}

int main(void)
{
    return run_for_each_isa(run);
}
