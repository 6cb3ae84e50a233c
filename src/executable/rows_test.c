/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of rows, products and the elementwise ops around them: what they give together is what
 * each gives alone, bit for bit, for each instruction set that there is. */
#include <math.h>

#include "base/isa_test.h"
#include "codegen/rows_code.h"
#include "executable/program_test.h"
#include "reader/reader.h"

/* Texts in which R, C and T stand for the rows, the columns and the element type. */
#define SUM                                                                                        \
    "applies stablehlo.add across dimensions = [1] : (tensor<RxCxT>, tensor<T>) -> tensor<RxT>\n"
#define MAX                                                                                        \
    "applies stablehlo.maximum across dimensions = [1] : (tensor<RxCxT>, tensor<T>) -> "           \
    "tensor<RxT>\n"
#define OVER_ROWS "dims = [0] : (tensor<RxT>) -> tensor<RxCxT>\n"

static const char softmax[] =
    "func.func @main(%x: tensor<RxCxT>) -> tensor<RxCxT> {\n"
    "%inf = stablehlo.constant dense<-1.0e4> : tensor<T>\n"
    "%zero = stablehlo.constant dense<0.0> : tensor<T>\n"
    "%m = stablehlo.reduce(%x init: %inf) " MAX "%mb = stablehlo.broadcast_in_dim %m, " OVER_ROWS
    "%d = stablehlo.subtract %x, %mb : tensor<RxCxT>\n"
    "%e = stablehlo.exponential %d : tensor<RxCxT>\n"
    "%s = stablehlo.reduce(%e init: %zero) " SUM "%sb = stablehlo.broadcast_in_dim %s, " OVER_ROWS
    "%r = stablehlo.divide %e, %sb : tensor<RxCxT>\n"
    "return %r : tensor<RxCxT>\n}\n";

/* With a scale and a bias along the columns; the mean and what is normalised are wanted as well. */
static const char layer_norm[] =
    "func.func @main(%x: tensor<RxCxT>, %g: tensor<CxT>, %b: tensor<CxT>) -> (tensor<RxCxT>, "
    "tensor<RxT>, tensor<RxCxT>) {\n"
    "%zero = stablehlo.constant dense<0.0> : tensor<T>\n"
    "%n = stablehlo.constant dense<0.0078125> : tensor<RxT>\n"
    "%eps = stablehlo.constant dense<0.001> : tensor<RxT>\n"
    "%s = stablehlo.reduce(%x init: %zero) " SUM "%m = stablehlo.multiply %s, %n : tensor<RxT>\n"
    "%mb = stablehlo.broadcast_in_dim %m, " OVER_ROWS
    "%d = stablehlo.subtract %x, %mb : tensor<RxCxT>\n"
    "%q = stablehlo.multiply %d, %d : tensor<RxCxT>\n"
    "%v = stablehlo.reduce(%q init: %zero) " SUM "%w = stablehlo.multiply %v, %n : tensor<RxT>\n"
    "%u = stablehlo.add %w, %eps : tensor<RxT>\n"
    "%i = stablehlo.rsqrt %u : tensor<RxT>\n"
    "%ib = stablehlo.broadcast_in_dim %i, " OVER_ROWS
    "%y = stablehlo.multiply %d, %ib : tensor<RxCxT>\n"
    "%gb = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<CxT>) -> tensor<RxCxT>\n"
    "%bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<CxT>) -> tensor<RxCxT>\n"
    "%z = stablehlo.multiply %y, %gb : tensor<RxCxT>\n"
    "%r = stablehlo.add %z, %bb : tensor<RxCxT>\n"
    "return %r, %m, %d : tensor<RxCxT>, tensor<RxT>, tensor<RxCxT>\n}\n";

/* What is written first may not be where the rows are read again, before or behind that. */
static const char read_again[] =
    "func.func @main(%x: tensor<RxCxT>, %y: tensor<RxCxT>) -> (tensor<RxCxT>, tensor<RxCxT>, "
    "tensor<RxCxT>) {\n"
    "%inf = stablehlo.constant dense<-1.0e4> : tensor<T>\n"
    "%a = stablehlo.add %x, %y : tensor<RxCxT>\n"
    "%b = stablehlo.subtract %x, %a : tensor<RxCxT>\n"
    "%m = stablehlo.reduce(%a init: %inf) " MAX "%mb = stablehlo.broadcast_in_dim %m, " OVER_ROWS
    "%d = stablehlo.subtract %x, %mb : tensor<RxCxT>\n"
    "return %b, %a, %d : tensor<RxCxT>, tensor<RxCxT>, tensor<RxCxT>\n}\n";

/* One element of each row of a log-softmax, some beyond its ends. */
static const char loss[] =
    "func.func @main(%x: tensor<RxCxT>) -> tensor<RxT> {\n"
    "%inf = stablehlo.constant dense<-1.0e4> : tensor<T>\n"
    "%zero = stablehlo.constant dense<0.0> : tensor<T>\n"
    "%m = stablehlo.reduce(%x init: %inf) " MAX "%mb = stablehlo.broadcast_in_dim %m, " OVER_ROWS
    "%d = stablehlo.subtract %x, %mb : tensor<RxCxT>\n"
    "%e = stablehlo.exponential %d : tensor<RxCxT>\n"
    "%s = stablehlo.reduce(%e init: %zero) " SUM "%l = stablehlo.log %s : tensor<RxT>\n"
    "%lb = stablehlo.broadcast_in_dim %l, " OVER_ROWS
    "%r = stablehlo.subtract %d, %lb : tensor<RxCxT>\n"
    "%i = stablehlo.iota dim = 0 : tensor<Rx1xi32>\n"
    "%seven = stablehlo.constant dense<7> : tensor<Rx1xi32>\n"
    "%j = stablehlo.multiply %i, %seven : tensor<Rx1xi32>\n"
    "%k = stablehlo.subtract %j, %seven : tensor<Rx1xi32>\n"
    "%g = \"stablehlo.gather\"(%r, %k) <{dimension_numbers = #stablehlo.gather<"
    "collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], "
    "start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = "
    "array<i64: 1, 1>}> : (tensor<RxCxT>, tensor<Rx1xi32>) -> tensor<RxT>\n"
    "return %g : tensor<RxT>\n}\n";

/* A mask of places, whose rows have nothing to add where all of it is left out; a count of what is
 * left. */
static const char masked[] =
    "func.func @main(%x: tensor<RxCxT>, %b: tensor<CxT>) -> (tensor<RxCxT>, tensor<Rxi32>, "
    "tensor<Rxi1>) {\n"
    "%i = stablehlo.iota dim = 0 : tensor<RxCxi32>\n"
    "%j = stablehlo.iota dim = 1 : tensor<RxCxi32>\n"
    "%p = stablehlo.compare GE, %i, %j, SIGNED : (tensor<RxCxi32>, tensor<RxCxi32>) -> "
    "tensor<RxCxi1>\n"
    "%low = stablehlo.constant dense<0xFF800000> : tensor<RxCxf32>\n"
    "%l = stablehlo.convert %low : (tensor<RxCxf32>) -> tensor<RxCxT>\n"
    "%inf32 = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
    "%inf = stablehlo.convert %inf32 : (tensor<f32>) -> tensor<T>\n"
    "%zero = stablehlo.constant dense<0.0> : tensor<T>\n"
    "%y = stablehlo.select %p, %x, %l : tensor<RxCxi1>, tensor<RxCxT>\n"
    "%m = stablehlo.reduce(%y init: %inf) " MAX "%mb = stablehlo.broadcast_in_dim %m, " OVER_ROWS
    "%bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<CxT>) -> tensor<RxCxT>\n"
    "%d = stablehlo.subtract %y, %mb : tensor<RxCxT>\n"
    "%e = stablehlo.exponential %d : tensor<RxCxT>\n"
    "%f = stablehlo.add %e, %bb : tensor<RxCxT>\n"
    "%s = stablehlo.reduce(%f init: %zero) " SUM "%sb = stablehlo.broadcast_in_dim %s, " OVER_ROWS
    "%r = stablehlo.divide %f, %sb : tensor<RxCxT>\n"
    "%one = stablehlo.constant dense<7> : tensor<i32>\n"
    "%false = stablehlo.constant dense<false> : tensor<i1>\n"
    "%k = stablehlo.convert %p : (tensor<RxCxi1>) -> tensor<RxCxi32>\n"
    "%n = stablehlo.reduce(%k init: %one) applies stablehlo.add across dimensions = [1] : "
    "(tensor<RxCxi32>, tensor<i32>) -> tensor<Rxi32>\n"
    "%g = stablehlo.compare GT, %x, %bb : (tensor<RxCxT>, tensor<RxCxT>) -> tensor<RxCxi1>\n"
    "%a = stablehlo.reduce(%g init: %false) applies stablehlo.or across dimensions = [1] : "
    "(tensor<RxCxi1>, tensor<i1>) -> tensor<Rxi1>\n"
    "return %r, %n, %a : tensor<RxCxT>, tensor<Rxi32>, tensor<Rxi1>\n}\n";

/* Rows of several batches, with an array for each batch, one for each row of a batch and one for
 * each batch's columns. */
static const char batched[] =
    "func.func @main(%x: tensor<3xRxCxT>, %a: tensor<RxCxT>, %c: tensor<3xCxT>) -> "
    "tensor<3xRxCxT> {\n"
    "%zero = stablehlo.constant dense<0.0> : tensor<T>\n"
    "%ab = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<RxCxT>) -> tensor<3xRxCxT>\n"
    "%cb = stablehlo.broadcast_in_dim %c, dims = [0, 2] : (tensor<3xCxT>) -> tensor<3xRxCxT>\n"
    "%i = stablehlo.iota dim = 1 : tensor<3xRxCxi32>\n"
    "%j = stablehlo.iota dim = 2 : tensor<3xRxCxi32>\n"
    "%p = stablehlo.compare GE, %i, %j, SIGNED : (tensor<3xRxCxi32>, tensor<3xRxCxi32>) -> "
    "tensor<3xRxCxi1>\n"
    "%d = stablehlo.subtract %x, %ab : tensor<3xRxCxT>\n"
    "%e = stablehlo.select %p, %d, %cb : tensor<3xRxCxi1>, tensor<3xRxCxT>\n"
    "%s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : "
    "(tensor<3xRxCxT>, tensor<T>) -> tensor<3xRxT>\n"
    "%sb = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<3xRxT>) -> tensor<3xRxCxT>\n"
    "%r = stablehlo.multiply %e, %sb : tensor<3xRxCxT>\n"
    "return %r : tensor<3xRxCxT>\n}\n";

/* What the rows give is used along the columns, and as a whole: another cluster's work. */
static const char crossed[] =
    "func.func @main(%x: tensor<RxRxT>) -> (tensor<RxRxT>, tensor<T>) {\n"
    "%zero = stablehlo.constant dense<0.0> : tensor<T>\n"
    "%e = stablehlo.tanh %x : tensor<RxRxT>\n"
    "%s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : "
    "(tensor<RxRxT>, tensor<T>) -> tensor<RxT>\n"
    "%a = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<RxT>) -> tensor<RxRxT>\n"
    "%b = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<RxT>) -> tensor<RxRxT>\n"
    "%c = stablehlo.subtract %e, %a : tensor<RxRxT>\n"
    "%d = stablehlo.add %c, %b : tensor<RxRxT>\n"
    "%t = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0] : "
    "(tensor<RxT>, tensor<T>) -> tensor<T>\n"
    "return %d, %t : tensor<RxRxT>, tensor<T>\n}\n";

/* Slices are read where they are: whole rows, parts of rows, every second row, one element. */
static const char sliced[] =
    "func.func @main(%x: tensor<40x300xT>) -> (tensor<39x300xT>, tensor<36x297xT>, "
    "tensor<20x300xT>) {\n"
    "%a = stablehlo.slice %x [0:39, 0:300] : (tensor<40x300xT>) -> tensor<39x300xT>\n"
    "%b = stablehlo.slice %x [1:40, 0:300] : (tensor<40x300xT>) -> tensor<39x300xT>\n"
    "%c = stablehlo.subtract %a, %b : tensor<39x300xT>\n"
    "%d = stablehlo.slice %x [2:38, 1:298] : (tensor<40x300xT>) -> tensor<36x297xT>\n"
    "%e = stablehlo.slice %x [4:40, 3:300] : (tensor<40x300xT>) -> tensor<36x297xT>\n"
    "%f = stablehlo.multiply %d, %e : tensor<36x297xT>\n"
    "%g = stablehlo.slice %x [0:40:2, 0:300] : (tensor<40x300xT>) -> tensor<20x300xT>\n"
    "%h = stablehlo.slice %x [1:40:2, 0:300] : (tensor<40x300xT>) -> tensor<20x300xT>\n"
    "%i = stablehlo.maximum %g, %h : tensor<20x300xT>\n"
    "%j = stablehlo.slice %x [7:8, 9:10] : (tensor<40x300xT>) -> tensor<1x1xT>\n"
    "%k = stablehlo.broadcast_in_dim %j, dims = [0, 1] : (tensor<1x1xT>) -> tensor<36x297xT>\n"
    "%l = stablehlo.add %f, %k : tensor<36x297xT>\n"
    "return %c, %l, %i : tensor<39x300xT>, tensor<36x297xT>, tensor<20x300xT>\n}\n";

/* Laid out along the innermost dimension and others, from memory and from places. */
static const char laid_out[] =
    "func.func @main(%x: tensor<3xRx5xCxT>, %g: tensor<RxCxT>, %h: tensor<3x5xT>) -> "
    "(tensor<3xRx5xCxT>, tensor<3xRx5xCxT>, tensor<3xRx5xCxi1>) {\n"
    "%a = stablehlo.broadcast_in_dim %g, dims = [1, 3] : (tensor<RxCxT>) -> tensor<3xRx5xCxT>\n"
    "%b = stablehlo.broadcast_in_dim %h, dims = [0, 2] : (tensor<3x5xT>) -> tensor<3xRx5xCxT>\n"
    "%s = stablehlo.slice %h [0:3, 1:2] : (tensor<3x5xT>) -> tensor<3x1xT>\n"
    "%t = stablehlo.broadcast_in_dim %s, dims = [0, 3] : (tensor<3x1xT>) -> tensor<3xRx5xCxT>\n"
    "%c = stablehlo.multiply %x, %a : tensor<3xRx5xCxT>\n"
    "%d = stablehlo.add %c, %b : tensor<3xRx5xCxT>\n"
    "%i = stablehlo.iota dim = 1 : tensor<3xRx5xCxi32>\n"
    "%j = stablehlo.iota dim = 3 : tensor<3xRx5xCxi32>\n"
    "%k = stablehlo.iota dim = 3 : tensor<3xRx5xCxT>\n"
    "%l = stablehlo.iota dim = 2 : tensor<3xRx5xCxT>\n"
    "%m = stablehlo.compare GT, %i, %j, SIGNED : (tensor<3xRx5xCxi32>, tensor<3xRx5xCxi32>) -> "
    "tensor<3xRx5xCxi1>\n"
    "%n = stablehlo.select %m, %d, %t : tensor<3xRx5xCxi1>, tensor<3xRx5xCxT>\n"
    "%o = stablehlo.multiply %n, %k : tensor<3xRx5xCxT>\n"
    "%p = stablehlo.subtract %o, %l : tensor<3xRx5xCxT>\n"
    "%q = stablehlo.tanh %d : tensor<3xRx5xCxT>\n"
    "return %p, %q, %m : tensor<3xRx5xCxT>, tensor<3xRx5xCxT>, tensor<3xRx5xCxi1>\n}\n";

/* Rows of one shape and a period of another, which doesn't divide them. */
static const char relabelled[] =
    "func.func @main(%x: tensor<650x4xT>, %g: tensor<4xT>, %h: tensor<20xT>) -> tensor<20x130xT> "
    "{\n"
    "%a = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<4xT>) -> tensor<650x4xT>\n"
    "%b = stablehlo.multiply %x, %a : tensor<650x4xT>\n"
    "%c = stablehlo.reshape %b : (tensor<650x4xT>) -> tensor<20x130xT>\n"
    "%d = stablehlo.broadcast_in_dim %h, dims = [0] : (tensor<20xT>) -> tensor<20x130xT>\n"
    "%e = stablehlo.add %c, %d : tensor<20x130xT>\n"
    "%f = stablehlo.tanh %e : tensor<20x130xT>\n"
    "return %f : tensor<20x130xT>\n}\n";

/* Two dense layers; what the first one gives is wanted as well. */
static const char dense[] =
    "func.func @main(%x: tensor<RxCxT>, %w: tensor<Cx100xT>, %u: tensor<100x61xT>) -> "
    "(tensor<Rx100xT>, tensor<Rx61xT>, tensor<100xT>) {\n"
    "%b = stablehlo.slice %w [0:1, 0:100] : (tensor<Cx100xT>) -> tensor<1x100xT>\n"
    "%bb = stablehlo.broadcast_in_dim %b, dims = [0, 1] : (tensor<1x100xT>) -> tensor<Rx100xT>\n"
    "%p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<RxCxT>, "
    "tensor<Cx100xT>) -> tensor<Rx100xT>\n"
    "%q = stablehlo.add %p, %bb : tensor<Rx100xT>\n"
    "%h = stablehlo.tanh %q : tensor<Rx100xT>\n"
    "%v = stablehlo.dot_general %h, %u, contracting_dims = [1] x [0] : (tensor<Rx100xT>, "
    "tensor<100x61xT>) -> tensor<Rx61xT>\n"
    "%y = stablehlo.logistic %v : tensor<Rx61xT>\n"
    "%zero = stablehlo.constant dense<0.0> : tensor<T>\n"
    "%s = stablehlo.reduce(%h init: %zero) applies stablehlo.add across dimensions = [0] : "
    "(tensor<Rx100xT>, tensor<T>) -> tensor<100xT>\n"
    "return %h, %y, %s : tensor<Rx100xT>, tensor<Rx61xT>, tensor<100xT>\n}\n";

/* As JAX says it: batches between rows, a mask that comes in between, and the second product the
 * other way round. */
static const char attention[] =
    "func.func @main(%q: tensor<2xRx2xCxT>, %k: tensor<2xRx2xCxT>, %v: tensor<2xRx2xCxT>) -> "
    "tensor<2xRx2xCxT> {\n"
    "%s = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x "
    "[3] : (tensor<2xRx2xCxT>, tensor<2xRx2xCxT>) -> tensor<2x2xRxRxT>\n"
    "%eight = stablehlo.constant dense<8.0> : tensor<2x2xRxRxT>\n"
    "%low = stablehlo.constant dense<-1.0e30> : tensor<2x2xRxRxT>\n"
    "%t = stablehlo.divide %s, %eight : tensor<2x2xRxRxT>\n"
    "%i = stablehlo.iota dim = 0 : tensor<RxRxi32>\n"
    "%j = stablehlo.iota dim = 1 : tensor<RxRxi32>\n"
    "%m = stablehlo.compare GE, %i, %j, SIGNED : (tensor<RxRxi32>, tensor<RxRxi32>) -> "
    "tensor<RxRxi1>\n"
    "%mb = stablehlo.broadcast_in_dim %m, dims = [2, 3] : (tensor<RxRxi1>) -> tensor<2x2xRxRxi1>\n"
    "%z = stablehlo.select %mb, %t, %low : tensor<2x2xRxRxi1>, tensor<2x2xRxRxT>\n"
    "%inf = stablehlo.constant dense<-1.0e31> : tensor<T>\n"
    "%zero = stablehlo.constant dense<0.0> : tensor<T>\n"
    "%a = stablehlo.reduce(%z init: %inf) applies stablehlo.maximum across dimensions = [3] : "
    "(tensor<2x2xRxRxT>, tensor<T>) -> tensor<2x2xRxT>\n"
    "%ab = stablehlo.broadcast_in_dim %a, dims = [0, 1, 2] : (tensor<2x2xRxT>) -> "
    "tensor<2x2xRxRxT>\n"
    "%d = stablehlo.subtract %z, %ab : tensor<2x2xRxRxT>\n"
    "%e = stablehlo.exponential %d : tensor<2x2xRxRxT>\n"
    "%n = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : "
    "(tensor<2x2xRxRxT>, tensor<T>) -> tensor<2x2xRxT>\n"
    "%nb = stablehlo.broadcast_in_dim %n, dims = [0, 1, 2] : (tensor<2x2xRxT>) -> "
    "tensor<2x2xRxRxT>\n"
    "%p = stablehlo.divide %e, %nb : tensor<2x2xRxRxT>\n"
    "%o = stablehlo.dot_general %v, %p, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x "
    "[3] : (tensor<2xRx2xCxT>, tensor<2x2xRxRxT>) -> tensor<2x2xCxRxT>\n"
    "%r = stablehlo.transpose %o, dims = [0, 3, 1, 2] : (tensor<2x2xCxRxT>) -> tensor<2xRx2xCxT>\n"
    "return %r : tensor<2xRx2xCxT>\n}\n";

/* Lines that are cut: columns, long rows, all of it; two reductions of what one program makes. */
#define CUT(dims, to)                                                                              \
    "func.func @main(%x: tensor<RxCxT>) -> (" to ", " to ", tensor<RxCxT>) {\n"                    \
    "%zero = stablehlo.constant dense<0.0> : tensor<T>\n"                                          \
    "%inf = stablehlo.constant dense<-1.0e4> : tensor<T>\n"                                        \
    "%q = stablehlo.multiply %x, %x : tensor<RxCxT>\n"                                             \
    "%d = stablehlo.subtract %q, %x : tensor<RxCxT>\n"                                             \
    "%s = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = " dims        \
    " : (tensor<RxCxT>, tensor<T>) -> " to "\n"                                                    \
    "%m = stablehlo.reduce(%d init: %inf) applies stablehlo.maximum across dimensions = " dims     \
    " : (tensor<RxCxT>, tensor<T>) -> " to "\n"                                                    \
    "%e = stablehlo.tanh %d : tensor<RxCxT>\n"                                                     \
    "return %s, %m, %e : " to ", " to ", tensor<RxCxT>\n}\n"
static const char of_columns[] = CUT("[0]", "tensor<CxT>"), long_rows[] = CUT("[1]", "tensor<RxT>"),
                  whole[] = CUT("[0, 1]", "tensor<T>");

/* Rows so long that products of a few of them at a time are left alone, but not the softmax. */
static const char long_scores[] =
    "func.func @main(%q: tensor<RxCxT>, %k: tensor<Cx30000xT>, %v: tensor<30000x16xT>) -> "
    "tensor<Rx16xT> {\n"
    "%inf = stablehlo.constant dense<-1.0e4> : tensor<T>\n"
    "%zero = stablehlo.constant dense<0.0> : tensor<T>\n"
    "%s = stablehlo.dot_general %q, %k, contracting_dims = [1] x [0] : (tensor<RxCxT>, "
    "tensor<Cx30000xT>) -> tensor<Rx30000xT>\n"
    "%m = stablehlo.reduce(%s init: %inf) applies stablehlo.maximum across dimensions = [1] : "
    "(tensor<Rx30000xT>, tensor<T>) -> tensor<RxT>\n"
    "%mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<RxT>) -> tensor<Rx30000xT>\n"
    "%d = stablehlo.subtract %s, %mb : tensor<Rx30000xT>\n"
    "%e = stablehlo.exponential %d : tensor<Rx30000xT>\n"
    "%n = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : "
    "(tensor<Rx30000xT>, tensor<T>) -> tensor<RxT>\n"
    "%nb = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<RxT>) -> tensor<Rx30000xT>\n"
    "%p = stablehlo.divide %e, %nb : tensor<Rx30000xT>\n"
    "%o = stablehlo.dot_general %p, %v, contracting_dims = [1] x [0] : (tensor<Rx30000xT>, "
    "tensor<30000x16xT>) -> tensor<Rx16xT>\n"
    "return %o : tensor<Rx16xT>\n}\n";

/* Short rows that are folded alone, and around elements of other types. */
static const char alone[] =
    "func.func @main(%x: tensor<RxCxT>, %z: tensor<T>) -> (tensor<RxT>, tensor<RxT>, tensor<RxT>) "
    "{\n"
    "%s = stablehlo.reduce(%x init: %z) " SUM "%m = stablehlo.reduce(%x init: %z) " MAX
    "%l = stablehlo.reduce(%x init: %z) applies stablehlo.minimum across dimensions = [1] : "
    "(tensor<RxCxT>, tensor<T>) -> tensor<RxT>\n"
    "return %s, %m, %l : tensor<RxT>, tensor<RxT>, tensor<RxT>\n}\n";
static const char counted[] =
    "func.func @main(%x: tensor<RxCxT>, %b: tensor<RxT>, %g: tensor<CxT>) -> (tensor<RxT>, "
    "tensor<Rxi32>, tensor<Rxi1>) {\n"
    "%zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "%no = stablehlo.constant dense<false> : tensor<i1>\n"
    "%inf32 = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
    "%inf = stablehlo.convert %inf32 : (tensor<f32>) -> tensor<T>\n"
    "%bb = stablehlo.broadcast_in_dim %b, " OVER_ROWS
    "%gb = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<CxT>) -> tensor<RxCxT>\n"
    "%y = stablehlo.multiply %x, %gb : tensor<RxCxT>\n"
    "%p = stablehlo.compare GT, %y, %bb : (tensor<RxCxT>, tensor<RxCxT>) -> tensor<RxCxi1>\n"
    "%j = stablehlo.iota dim = 1 : tensor<RxCxi32>\n"
    "%o = stablehlo.convert %p : (tensor<RxCxi1>) -> tensor<RxCxi32>\n"
    "%w = stablehlo.multiply %o, %j : tensor<RxCxi32>\n"
    "%m = stablehlo.reduce(%y init: %inf) " MAX
    "%n = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [1] : "
    "(tensor<RxCxi32>, tensor<i32>) -> tensor<Rxi32>\n"
    "%a = stablehlo.reduce(%p init: %no) applies stablehlo.or across dimensions = [1] : "
    "(tensor<RxCxi1>, tensor<i1>) -> tensor<Rxi1>\n"
    "return %m, %n, %a : tensor<RxT>, tensor<Rxi32>, tensor<Rxi1>\n}\n";

/* Dimensions that are not next to each other, of what an op makes. */
static const char apart[] =
    "func.func @main(%x: tensor<2xRx3xCxT>, %z: tensor<T>) -> (tensor<2x3xf32>, tensor<Rx3xT>, "
    "tensor<RxT>) {\n"
    "%q = stablehlo.multiply %x, %x : tensor<2xRx3xCxT>\n"
    "%w = stablehlo.convert %q : (tensor<2xRx3xCxT>) -> tensor<2xRx3xCxf32>\n"
    "%zero = stablehlo.convert %z : (tensor<T>) -> tensor<f32>\n"
    "%s = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [1, 3] : "
    "(tensor<2xRx3xCxf32>, tensor<f32>) -> tensor<2x3xf32>\n"
    "%m = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [3, 0] : "
    "(tensor<2xRx3xCxT>, tensor<T>) -> tensor<Rx3xT>\n"
    "%a = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 2, 3] : "
    "(tensor<2xRx3xCxT>, tensor<T>) -> tensor<RxT>\n"
    "return %s, %m, %a : tensor<2x3xf32>, tensor<Rx3xT>, tensor<RxT>\n}\n";

/* Distances of points, and forces between them and others. */
static const char pairs[] =
    "func.func @main(%x: tensor<RxCxT>, %y: tensor<500xCxT>, %z: tensor<T>) -> (tensor<Rx500xT>, "
    "tensor<RxCxT>, tensor<RxCxT>) {\n"
    "%a = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<RxCxT>) -> tensor<Rx500xCxT>\n"
    "%b = stablehlo.broadcast_in_dim %y, dims = [1, 2] : (tensor<500xCxT>) -> tensor<Rx500xCxT>\n"
    "%d = stablehlo.subtract %a, %b : tensor<Rx500xCxT>\n"
    "%p = stablehlo.multiply %d, %d : tensor<Rx500xCxT>\n"
    "%q = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [2] : "
    "(tensor<Rx500xCxT>, tensor<T>) -> tensor<Rx500xT>\n"
    "%w = stablehlo.exponential %q : tensor<Rx500xT>\n"
    "%u = stablehlo.broadcast_in_dim %w, dims = [0, 1] : (tensor<Rx500xT>) -> tensor<Rx500xCxT>\n"
    "%v = stablehlo.divide %d, %u : tensor<Rx500xCxT>\n"
    "%f = stablehlo.reduce(%v init: %z) applies stablehlo.add across dimensions = [1] : "
    "(tensor<Rx500xCxT>, tensor<T>) -> tensor<RxCxT>\n"
    "%m = stablehlo.reduce(%v init: %z) applies stablehlo.maximum across dimensions = [1] : "
    "(tensor<Rx500xCxT>, tensor<T>) -> tensor<RxCxT>\n"
    "return %q, %f, %m : tensor<Rx500xT>, tensor<RxCxT>, tensor<RxCxT>\n}\n";
/* As many that repeat, in lines of several blocks. */
static const char far_pairs[] =
    "func.func @main(%x: tensor<RxCxT>, %y: tensor<9000xCxT>, %z: tensor<T>) -> tensor<RxCxT> {\n"
    "%a = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<RxCxT>) -> tensor<Rx9000xCxT>\n"
    "%b = stablehlo.broadcast_in_dim %y, dims = [1, 2] : (tensor<9000xCxT>) -> "
    "tensor<Rx9000xCxT>\n"
    "%d = stablehlo.multiply %a, %b : tensor<Rx9000xCxT>\n"
    "%f = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [1] : "
    "(tensor<Rx9000xCxT>, tensor<T>) -> tensor<RxCxT>\n"
    "return %f : tensor<RxCxT>\n}\n";

/* The sum of long lines, and of squares around their means; all lines but one lie far from 0. */
static const char variance[] =
    "func.func @main(%x: tensor<RxCxT>, %n: tensor<T>) -> (tensor<RxT>, tensor<RxT>) {\n"
    "%zero = stablehlo.constant dense<0.0> : tensor<T>\n"
    "%s = stablehlo.reduce(%x init: %zero) " SUM
    "%nb = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<T>) -> tensor<RxT>\n"
    "%one = stablehlo.constant dense<1.0> : tensor<RxT>\n"
    "%m = stablehlo.multiply %s, %one : tensor<RxT>\n"
    "%o = stablehlo.divide %m, %nb : tensor<RxT>\n"
    "%mb = stablehlo.broadcast_in_dim %o, " OVER_ROWS
    "%d = stablehlo.subtract %x, %mb : tensor<RxCxT>\n"
    "%q = stablehlo.multiply %d, %d : tensor<RxCxT>\n"
    "%v = stablehlo.reduce(%q init: %zero) " SUM "return %s, %v : tensor<RxT>, tensor<RxT>\n}\n";

/* Elements of all sizes by one number a row, of which some are of all sizes too, and by constants.
 */
static const char divided[] =
    "func.func @main(%x: tensor<RxCxT>, %w: tensor<RxT>) -> (tensor<RxCxT>, tensor<RxCxT>, "
    "tensor<RxCxT>, tensor<RxCxT>) {\n"
    "%inf = stablehlo.constant dense<-1.0e4> : tensor<T>\n"
    "%y = stablehlo.sine %x : tensor<RxCxT>\n"
    "%m = stablehlo.reduce(%y init: %inf) " MAX "%mb = stablehlo.broadcast_in_dim %m, " OVER_ROWS
    "%a = stablehlo.divide %x, %mb : tensor<RxCxT>\n"
    "%s = stablehlo.multiply %m, %w : tensor<RxT>\n"
    "%sb = stablehlo.broadcast_in_dim %s, " OVER_ROWS
    "%b = stablehlo.divide %x, %sb : tensor<RxCxT>\n"
    "%three = stablehlo.constant dense<-3.0> : tensor<RxCxT>\n"
    "%c = stablehlo.divide %x, %three : tensor<RxCxT>\n"
    "%far = stablehlo.constant dense<1.1e10> : tensor<RxCxT>\n"
    "%d = stablehlo.divide %x, %far : tensor<RxCxT>\n"
    "return %a, %b, %c, %d : tensor<RxCxT>, tensor<RxCxT>, tensor<RxCxT>, tensor<RxCxT>\n}\n";

/* By one row, the same for all. */
static const char divided_columns[] =
    "func.func @main(%x: tensor<RxCxT>, %v: tensor<CxT>, %w: tensor<CxT>) -> (tensor<RxCxT>, "
    "tensor<RxCxT>) {\n"
    "%vb = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<CxT>) -> tensor<RxCxT>\n"
    "%s = stablehlo.sine %w : tensor<CxT>\n"
    "%wb = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<CxT>) -> tensor<RxCxT>\n"
    "%a = stablehlo.divide %x, %vb : tensor<RxCxT>\n"
    "%b = stablehlo.divide %x, %wb : tensor<RxCxT>\n"
    "return %a, %b : tensor<RxCxT>, tensor<RxCxT>\n}\n";

static bool by_evaluators; /* one of the ways is as it is, without passes */

enum { VALUES = 4 };

static tn_status *read_program(const tn_source *self, tn_arena *a, tn_module **out)
{
    const char *text = self->read_ctx;
    return tn_read_text(text, strlen(text), a, out);
}

static char *instance(const char *text, int rows, int columns, const char *type)
{
    char *out = malloc(strlen(text) * 3), *to = out;
    for (const char *c = text; *c; c++) {
        bool letter = c > text && (c[-1] == '<' || c[-1] == 'x') && (c[1] == 'x' || c[1] == '>');
        if (letter && *c == 'R') to += sprintf(to, "%d", rows);
        else if (letter && *c == 'C') to += sprintf(to, "%d", columns);
        else if (letter && *c == 'T') to += sprintf(to, "%s", type);
        else *to++ = *c;
    }
    *to = 0;
    return out;
}

static void *memory_for(const tn_type *t)
{
    return aligned_alloc(64, (tn_type_bytes(t) + 63) & ~(size_t)63);
}

static bool with_specials; /* NaN, infinities, zeros */
static bool of_all_sizes;  /* any bits */

static void fill(char *to, const tn_type *t)
{
    static const double specials[] = {(double)NAN, 0.0, -0.0, (double)INFINITY, -(double)INFINITY};
    tn_element_type e = t->element;
    uint32_t x = 12345;
    for (int64_t i = 0; i < tn_type_elements(t); i++) {
        x = x * 1664525 + 1013904223;
        double d = (double)(int32_t)x * 0x1p-29;
        if (with_specials && x >> 28 == 0) d = specials[(x >> 20) % 5];
        if (tn_is_integer(e) || (of_all_sizes && x >> 30)) {
            uint64_t bits = x * UINT64_C(0x9e3779b97f4a7c15);
            memcpy(to + (size_t)i * tn_element_type_bytes(e), &bits, tn_element_type_bytes(e));
            continue;
        }
        float f = (float)d;
        if (e == TN_F64) memcpy(to + 8 * i, &d, 8);
        else if (e == TN_F32) memcpy(to + 4 * i, &f, 4);
        else memcpy(to + 2 * i, (char *)&f + 2, 2);
    }
}

/* Any NaN is as good as any other. */
static bool is_nan(const char *x, tn_element_type e)
{
    uint64_t bits = 0;
    memcpy(&bits, x, tn_element_type_bytes(e));
    switch ((int)e) {
    case TN_F64: return bits << 1 > UINT64_C(0x7ff) << 53;
    case TN_F32: return (uint32_t)(bits << 1) > 0xff000000u;
    case TN_BF16: return (uint16_t)(bits << 1) > 0xff00;
    case TN_F16: return (uint16_t)(bits << 1) > 0xf800;
    default: return false;
    }
}

static bool are_same(const char *a, const char *b, const tn_type *t)
{
    size_t bytes = tn_element_type_bytes(t->element);
    for (int64_t i = 0; i < tn_type_elements(t); i++, a += bytes, b += bytes)
        if (memcmp(a, b, bytes) && !(is_nan(a, t->element) && is_nan(b, t->element))) return false;
    return true;
}

/* The same with a first parameter that is sorted before, so that its memory is free behind the
 * rows. */
static char *with_dying(const char *program)
{
    const char *first = strstr(program, "(%x: ");
    if (!first) return NULL;
    const char *type = first + 5, *end = type + strcspn(type, ">") + 1, *element = end;
    const char *body = strstr(program, "{\n") + 2;
    while (element[-1] != 'x' && element[-1] != '<') element--;
    int n = (int)(end - type), n_element = (int)(end - element);
    char *out = malloc(strlen(program) + 600);
    sprintf(out,
            "%.*s%%x0: %.*s%%x = \"stablehlo.sort\"(%%x0) ({\n^bb0(%%p: tensor<%.*s, %%q: "
            "tensor<%.*s):\n%%pq = stablehlo.compare LT, %%p, %%q : (tensor<%.*s, tensor<%.*s) -> "
            "tensor<i1>\nstablehlo.return %%pq : tensor<i1>\n}) {dimension = 0 : i64} : (%.*s) -> "
            "%.*s\n%s",
            (int)(type - 4 - program), program, (int)(body - type), type, n_element, element,
            n_element, element, n_element, element, n_element, element, n, type, n, type, body);
    return out;
}

static uint32_t n_rows_steps, n_products, n_codes, n_turned, n_in_place, n_by_rows;
static size_t temp_bytes; /* of the last program */

static void note_in_place(const tn_step *s)
{
    for (uint32_t i = 0; i < s->n_operands; i++)
        for (uint32_t o = s->n_operands; o < s->n_operands + s->n_results; o++)
            n_in_place +=
                s->refs[i].base == s->refs[o].base && s->refs[i].offset == s->refs[o].offset;
}

static void check_program(const char *program, bool counts)
{
    void *results[2][VALUES], *args[VALUES];
    tn_executable *e[2];
    for (int way = 0; way < 2; way++) {
        tn_source s = {.read = read_program,
                       .read_ctx = program,
                       .unfused = way == 0,
                       .as_it_is = way == 0 && by_evaluators};
        MUST(tn_compile_source(&s, &e[way]));
        const tn_executable_info *info = &e[way]->info;
        for (uint32_t i = 0; i < info->n_results; i++)
            results[way][i] = memory_for(info->results[i].type);
        for (uint32_t i = 0; i < info->n_params; i++) {
            args[i] = memory_for(info->params[i].type);
            fill(args[i], info->params[i].type);
        }
        MUST(run_executable(e[way], args, results[way]));
        for (uint32_t i = 0; i < info->n_params; i++) free(args[i]);
    }
    temp_bytes = e[1]->info.temp_bytes;
    for (uint32_t i = 0; i < e[1]->n_steps; i++) {
        if (e[1]->steps[i].kind == TN_STEP_TILE) n_by_rows += e[1]->steps[i].tile->rows != NULL;
        if (e[1]->steps[i].kind != TN_STEP_ROWS) continue;
        note_in_place(&e[1]->steps[i]);
        if (!counts) continue;
        n_rows_steps++;
        const tn_rows *p = e[1]->steps[i].rows;
        n_codes += p->code != NULL;
        n_turned += p->code && p->code->turned;
        for (uint32_t k = 0; k < p->n_steps; k++) n_products += p->steps[k].product != NULL;
    }
    for (uint32_t i = 0; i < e[0]->info.n_results; i++)
        if (!are_same(results[0][i], results[1][i], e[0]->info.results[i].type))
            fail_msg("result %u differs in\n%s", i, program);
    for (int way = 0; way < 2; way++) {
        for (uint32_t i = 0; i < e[way]->info.n_results; i++) free(results[way][i]);
        tn_executable_release(e[way]);
    }
}

static void check(const char *text, int rows, int columns, const char *type)
{
    char *program = instance(text, rows, columns, type), *dying = with_dying(program);
    check_program(program, true);
    if (dying && rows * columns < 30000) check_program(dying, false);
    free(program);
    free(dying);
}

static void rows_give_what_their_ops_give(void **unused)
{
    static const int sizes[][2] = {{2, 64},    {3, 127},  {37, 128},  {5, 200},
                                   {100, 513}, {7, 1024}, {128, 128}, {300, 1000}};
    static const char *const types[] = {"f32", "f64", "bf16", "f16"};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t t = 0; t < sizeof types / sizeof *types; t++) {
            check(softmax, sizes[i][0], sizes[i][1], types[t]);
            check(layer_norm, sizes[i][0], sizes[i][1], types[t]);
            check(crossed, sizes[i][0], sizes[i][1], types[t]);
            check(read_again, sizes[i][0], sizes[i][1], types[t]);
        }
    for (uint32_t t = 0; t < sizeof types / sizeof *types; t++) check(sliced, 1, 1, types[t]);
    assert_true(n_rows_steps >= 40);
    n_rows_steps = n_codes = 0;
    static const int some[][2] = {{40, 2}, {70, 31}, {33, 64}, {9, 100}, {7, 1030}, {3, 8300}};
    for (uint32_t i = 0; i < sizeof some / sizeof *some; i++)
        for (uint32_t t = 0; t < sizeof types / sizeof *types; t++) {
            check(masked, some[i][0], some[i][1], types[t]);
            check(loss, some[i][0], some[i][1], types[t]);
            check(batched, some[i][0], some[i][1], types[t]);
        }
    if (tn_cpu_isa() == TN_ISA_AVX512) assert_true(n_codes >= 16);
    static const int short_rows[][2] = {{500, 2}, {5000, 3}, {70, 10}, {1000, 16}, {33, 63}};
    n_rows_steps = 0;
    for (uint32_t i = 0; i < sizeof short_rows / sizeof *short_rows; i++)
        for (uint32_t t = 0; t < sizeof types / sizeof *types; t++) {
            check(softmax, short_rows[i][0], short_rows[i][1], types[t]);
            check(layer_norm, short_rows[i][0], short_rows[i][1], types[t]);
        }
    assert_int_equal(n_rows_steps, 2 * 5 * 4);
    assert_true(n_in_place >= 100);
    static const int cut[][2] = {{300, 1000}, {1500, 200}, {100, 3000}, {37, 129}, {2, 150000}};
    for (uint32_t i = 0; i < sizeof cut / sizeof *cut; i++)
        for (uint32_t t = 0; t < sizeof types / sizeof *types; t++) {
            uint32_t before = n_rows_steps;
            check(of_columns, cut[i][0], cut[i][1], types[t]);
            check(long_rows, cut[i][0], cut[i][1], types[t]);
            check(whole, cut[i][0], cut[i][1], types[t]);
            assert_true(n_rows_steps >= before + 2);
        }
    /* All of an array that is one share. */
    for (uint32_t t = 0; t < sizeof types / sizeof *types; t++) {
        n_rows_steps = 0;
        check(whole, 60, 50, types[t]);
        assert_true(n_rows_steps > 0);
    }
}

static void short_rows_are_turned(void **unused)
{
    static const int sizes[][2] = {{257, 2},  {1000, 3}, {300, 5},  {500, 7},  {400, 8},
                                   {2100, 9}, {333, 15}, {260, 16}, {280, 17}, {300, 24}};
    static const char *const types[] = {"f32", "f64", "bf16", "f16", "i32", "i8", "ui16", "i64"};
    bool jit = tn_cpu_isa() >= TN_ISA_AVX2;
    with_specials = true;
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t t = 0; t < sizeof types / sizeof *types; t++) {
            n_turned = 0;
            check(alone, sizes[i][0], sizes[i][1], types[t]);
            /* AVX2 has no extremes of i64. */
            if (jit && sizes[i][1] & (sizes[i][1] - 1))
                assert_int_equal(n_turned, t == 7 && tn_cpu_isa() == TN_ISA_AVX2 ? 1 : 3);
            n_turned = 0;
            if (t < 4) check(counted, sizes[i][0], sizes[i][1], types[t]);
            if (jit && t < 4) assert_true(n_turned > 0);
        }
    with_specials = false;
    static const int larger[][2] = {{64, 25}, {130, 31}, {1000, 32}, {99, 33}, {200, 50}, {70, 64}};
    for (uint32_t i = 0; i < sizeof larger / sizeof *larger; i++)
        for (uint32_t t = 0; t < 4; t++) {
            n_turned = 0;
            check(softmax, larger[i][0], larger[i][1], types[t]);
            check(layer_norm, larger[i][0], larger[i][1], types[t]);
            /* Code of f64 may become too long. */
            if (t == 0) assert_int_equal(n_turned, jit && larger[i][1] <= 32 ? 2 : 0);
        }
}

static void reductions_apart_are_those_of_evaluators(void **unused)
{
    static const int sizes[][2] = {{1, 1}, {2, 3}, {7, 20}, {40, 64}, {5, 1000}, {300, 9}};
    static const char *const types[] = {"f32", "f64", "bf16", "f16"};
    by_evaluators = true;
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t t = 0; t < sizeof types / sizeof *types; t++)
            check(apart, sizes[i][0], sizes[i][1], types[t]);
    by_evaluators = false;
}

static void pairs_of_points_leave_no_array_of_all(void **unused)
{
    static const int sizes[][2] = {{16, 3}, {40, 2}, {100, 5}, {70, 8}, {33, 9}, {15, 4}};
    static const char *const types[] = {"f32", "f64", "bf16"};
    by_evaluators = true;
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t t = 0; t < sizeof types / sizeof *types; t++) {
            int rows = sizes[i][0], columns = sizes[i][1];
            check(pairs, rows, columns, types[t]);
            if (t < 2 && rows >= 16 && columns <= 8)
                assert_true(temp_bytes < (size_t)rows * 500 * 4);
            check(far_pairs, rows, columns, types[t]);
            if (t < 2 && rows >= 16 && columns <= 8)
                assert_true(temp_bytes < (size_t)rows * 9000 * 4);
        }
    by_evaluators = false;
}

static void what_is_laid_out_is_as_its_ops_give_it(void **unused)
{
    static const int sizes[][2] = {{4, 2},   {9, 3},   {40, 10},  {7, 64},   {30, 100},
                                   {3, 127}, {4, 128}, {30, 200}, {2, 1024}, {3, 1500}};
    static const char *const types[] = {"f32", "f64", "bf16", "f16"};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t t = 0; t < sizeof types / sizeof *types; t++)
            check(laid_out, sizes[i][0], sizes[i][1], types[t]);
    for (uint32_t t = 0; t < sizeof types / sizeof *types; t++) check(relabelled, 1, 1, types[t]);
}

/* Rows that are read by an element or by another row, and joined: in code that goes through them.
 */
static const char joined_rows[] =
    "func.func @main(%x: tensor<RxCxT>, %c: tensor<CxT>, %r: tensor<RxT>) -> "
    "(tensor<Rx2xCxT>, tensor<RxCxi1>, tensor<RxCxi8>, tensor<RxCxi32>) {\n"
    "%cb = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<CxT>) -> tensor<RxCxT>\n"
    "%rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<RxT>) -> tensor<RxCxT>\n"
    "%i = stablehlo.iota dim = 0 : tensor<RxCxi32>\n"
    "%j = stablehlo.iota dim = 1 : tensor<RxCxi32>\n"
    "%m = stablehlo.multiply %x, %cb : tensor<RxCxT>\n"
    "%a = stablehlo.add %m, %rb : tensor<RxCxT>\n"
    "%p = stablehlo.compare GT, %x, %a : (tensor<RxCxT>, tensor<RxCxT>) -> tensor<RxCxi1>\n"
    "%b = stablehlo.select %p, %x, %a : tensor<RxCxi1>, tensor<RxCxT>\n"
    "%ij = stablehlo.subtract %i, %j : tensor<RxCxi32>\n"
    "%q = stablehlo.convert %ij : (tensor<RxCxi32>) -> tensor<RxCxi8>\n"
    "%ap = stablehlo.reshape %a : (tensor<RxCxT>) -> tensor<Rx1xCxT>\n"
    "%bp = stablehlo.reshape %b : (tensor<RxCxT>) -> tensor<Rx1xCxT>\n"
    "%all = stablehlo.concatenate %ap, %bp, dim = 1 : (tensor<Rx1xCxT>, tensor<Rx1xCxT>) -> "
    "tensor<Rx2xCxT>\n"
    "return %all, %p, %q, %ij : tensor<Rx2xCxT>, tensor<RxCxi1>, tensor<RxCxi8>, "
    "tensor<RxCxi32>\n}\n";

/* Of numbers, of infinities and of zeros of both signs. */
static const char roots[] =
    "func.func @main(%x: tensor<RxCxT>) -> (tensor<RxCxT>, tensor<RxCxT>, tensor<RxCxT>, "
    "tensor<RxCxT>) {\n"
    "%z = stablehlo.constant dense<0.0> : tensor<RxCxT>\n"
    "%h = stablehlo.constant dense<0.5> : tensor<RxCxT>\n"
    "%n = stablehlo.constant dense<-0.5> : tensor<RxCxT>\n"
    "%y = stablehlo.multiply %x, %z : tensor<RxCxT>\n"
    "%i = stablehlo.divide %x, %z : tensor<RxCxT>\n"
    "%j = stablehlo.compare GT, %x, %z : (tensor<RxCxT>, tensor<RxCxT>) -> tensor<RxCxi1>\n"
    "%yi = stablehlo.select %j, %y, %i : tensor<RxCxi1>, tensor<RxCxT>\n"
    "%iy = stablehlo.select %j, %i, %y : tensor<RxCxi1>, tensor<RxCxT>\n"
    "%a = stablehlo.power %x, %h : tensor<RxCxT>\n"
    "%b = stablehlo.power %x, %n : tensor<RxCxT>\n"
    "%c = stablehlo.power %yi, %h : tensor<RxCxT>\n"
    "%d = stablehlo.power %iy, %n : tensor<RxCxT>\n"
    "return %a, %b, %c, %d : tensor<RxCxT>, tensor<RxCxT>, tensor<RxCxT>, tensor<RxCxT>\n}\n";

static void powers_by_halves_are_roots(void **unused)
{
    static const char *const types[] = {"f32", "f64", "bf16", "f16"};
    by_evaluators = true;
    for (uint32_t t = 0; t < sizeof types / sizeof *types; t++) check(roots, 30, 100, types[t]);
    by_evaluators = false;
}

static void joined_rows_are_what_their_ops_give(void **unused)
{
    static const int sizes[][2] = {{40, 8},  {30, 10}, {9, 16},   {7, 31},   {30, 32},
                                   {20, 67}, {3, 127}, {30, 128}, {30, 200}, {3, 1500}};
    static const char *const types[] = {"f32", "f64", "bf16", "f16"};
    n_by_rows = 0;
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t t = 0; t < sizeof types / sizeof *types; t++)
            check(joined_rows, sizes[i][0], sizes[i][1], types[t]);
    if (tn_cpu_isa() == TN_ISA_AVX512) assert_true(n_by_rows >= 40);
    if (tn_cpu_isa() == TN_ISA_AVX2) assert_true(n_by_rows >= 20);
}

static void products_give_what_they_give_alone(void **unused)
{
    static const int rows[] = {21000, 21007}, lengths[][2] = {{730, 32}, {739, 9}};
    static const char *const types[] = {"f32", "f64"};
    for (uint32_t t = 0; t < 2; t++) {
        n_products = 0;
        for (uint32_t i = 0; i < 2; i++) check(dense, rows[i], 12 + (int)i, types[t]);
        assert_int_equal(n_products, 4);
        n_products = 0;
        for (uint32_t i = 0; i < 2; i++) check(attention, lengths[i][0], lengths[i][1], types[t]);
        assert_int_equal(n_products, 4);
    }
    n_products = n_rows_steps = 0;
    check(long_scores, 80, 4, "f32");
    assert_int_equal(n_products, 0);
    assert_int_equal(n_rows_steps, 1);
}

static void quotients_are_the_nearest(void **unused)
{
    static const char *const types[] = {"f32", "f64", "bf16", "f16"};
    by_evaluators = true;
    /* A vector is divided as a whole where one of its quotients is far from 1: both ways. */
    for (uint32_t i = 0; i < 2 * sizeof types / sizeof *types; i++) {
        uint32_t t = i / 2;
        of_all_sizes = i % 2;
        check(divided, 700, 200, types[t]);
        check(divided, 40, 1027, types[t]);
        check(divided, 300, 9, types[t]);
        n_by_rows = 0;
        check(divided_columns, 100, 1000, types[t]);
        check(divided_columns, 70, 201, types[t]);
        check(divided_columns, 400, 9, types[t]);
        if (tn_cpu_isa() == TN_ISA_AVX512) assert_true(n_by_rows > 0);
    }
    of_all_sizes = by_evaluators = false;
}

/* Blocks of 2^k, of another number, and lines that have none. */
static void squares_around_means_of_long_lines(void **unused)
{
    enum { ROWS = 3 };
    static const struct {
        int columns;
        bool wide, in_blocks;
    } cases[] = {{1 << 17, false, true},
                 {75000, false, true},
                 {200003, false, false},
                 {1 << 16, true, true},
                 {80000, true, true}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int n = cases[c].columns;
        bool wide = cases[c].wide;
        char *program = instance(variance, ROWS, n, wide ? "f64" : "f32");
        tn_source source = {.read = read_program, .read_ctx = program};
        tn_executable *e;
        MUST(tn_compile_source(&source, &e));
        double *x = malloc((size_t)(ROWS * n) * 8), length[1] = {n}, got[2][ROWS] = {{0}};
        float *narrow = malloc((size_t)(ROWS * n) * 4), few[2][ROWS], narrow_length = (float)n;
        uint32_t seed = 1;
        for (int i = 0; i < ROWS * n; i++) {
            seed = seed * 1664525 + 1013904223;
            narrow[i] = (float)(int32_t)seed * 0x1p-31f + (float)(i / n * 100);
            x[i] = narrow[i];
        }
        void *args[] = {wide ? (void *)x : narrow, wide ? (void *)length : &narrow_length};
        void *results[] = {wide ? (void *)got[0] : few[0], wide ? (void *)got[1] : few[1]};
        MUST(run_executable(e, args, results));
        for (int r = 0; r < ROWS; r++) {
            double sum = 0, squares = 0;
            for (int i = 0; i < n; i++) sum += x[r * n + i];
            for (int i = 0; i < n; i++)
                squares += (x[r * n + i] - sum / n) * (x[r * n + i] - sum / n);
            double s = wide ? got[0][r] : (double)few[0][r],
                   v = wide ? got[1][r] : (double)few[1][r];
            assert_true(fabs(s - sum) <= 1e-6 * n * (1 + 100 * r));
            assert_true(fabs(v - squares) <= (wide ? 1e-12 : 1e-6) * squares);
        }
        uint32_t reads = 0; /* steps with the lines */
        for (uint32_t i = 0; i < e->n_steps; i++)
            for (uint32_t k = 0; k < e->steps[i].n_operands; k++)
                reads += tn_type_elements(e->steps[i].refs[k].type) == (int64_t)ROWS * n;
        assert_int_equal(reads, cases[c].in_blocks ? 1 : 2);
        free(x);
        free(narrow);
        free(program);
        tn_executable_release(e);
    }
}

static int run(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_give_what_their_ops_give),
                                       cmocka_unit_test(short_rows_are_turned),
                                       cmocka_unit_test(squares_around_means_of_long_lines),
                                       cmocka_unit_test(quotients_are_the_nearest),
                                       cmocka_unit_test(reductions_apart_are_those_of_evaluators),
                                       cmocka_unit_test(pairs_of_points_leave_no_array_of_all),
                                       cmocka_unit_test(what_is_laid_out_is_as_its_ops_give_it),
                                       cmocka_unit_test(powers_by_halves_are_roots),
                                       cmocka_unit_test(joined_rows_are_what_their_ops_give),
                                       cmocka_unit_test(products_give_what_they_give_alone)};
    return cmocka_run_group_tests_name("executable-rows", tests, NULL, NULL);
}

int main(void)
{
    return run_for_each_isa(run);
}
