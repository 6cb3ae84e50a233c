#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a plugin for one program of each op of the op table, element type and kind of shape, and writes the answers as a page.

  support_matrix.py [--check] PAGE TENON PLUGIN       e.g. support_matrix.py docs/support-matrix.md build/host/tenon build/libtenon_pjrt.so

--check says whether PAGE promises what the plugin keeps, instead of writing it: a page that promises less is told of, and passes. The programs are run, not only compiled; what they compute is for other tests to say.
"""
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

SIGNED = ["i2", "i4", "i8", "i16", "i32", "i64"]
UNSIGNED = ["ui2", "ui4", "ui8", "ui16", "ui32", "ui64"]
NARROW = ["f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU"]
HALF, FLOAT, COMPLEX = ["bf16", "f16"], ["f32", "f64"], ["complex<f32>", "complex<f64>"]
PER_TENSOR, PER_AXIS = "!quant.uniform<i8:f32, 0.5:-1>", "!quant.uniform<i8:f32:1, {0.5:-1, 0.25, 2.0:3}>"
GROUPS = [("i1", ["i1"]), ("i2..i64", SIGNED), ("ui2..ui64", UNSIGNED), ("f4, f6, f8", NARROW), ("bf16, f16", HALF), ("f32, f64", FLOAT), ("complex", COMPLEX),
          ("quantized", [PER_TENSOR, PER_AXIS])]
TYPES = [t for _, g in GROUPS for t in g]


def storage(t):
    return "i8" if t.startswith("!quant") else t


def literal(t):
    if t == "i1":
        return "true"
    if t.startswith("complex"):
        return "(1.0, 2.0)"
    return "1.0" if t[0] in "fb" else "1"


# --- programs: (parameters, body, types of results); {T} is the element type, {R} its real type, {n} the leading dimension of 4 (or ?), {b1} {b2} .. its bound at
# rank 1, 2, ..; {B} a scalar of the type --------------------------------------------------------------------------------------------------------------------
X, X1, V = "tensor<{n}x3x{T}{b2}>", "tensor<{n}x3xi1{b2}>", "tensor<{n}x{T}{b1}>"
Y, Y1 = "tensor<{n}x3x{T}>", "tensor<{n}x3xi1>"
B, I = "tensor<{T}>", "tensor<i32>"
PROGRAMS = {}


def op(name, args, body, results, **more):
    PROGRAMS[name] = dict(args=args, body=body, results=results, **more)


for name in """cbrt ceil cosine count_leading_zeros exponential exponential_minus_one floor log log_plus_one logistic negate not popcnt round_nearest_afz
               round_nearest_even rsqrt sign sine sqrt tan tanh""".split():
    op("stablehlo." + name, [X], f'%r = "stablehlo.{name}"(%0) : ({X}) -> {Y}', [Y])
for name in "add and atan2 divide maximum minimum multiply or power remainder shift_left shift_right_arithmetic shift_right_logical subtract xor".split():
    op("stablehlo." + name, [X, X], f'%r = "stablehlo.{name}"(%0, %1) : ({X}, {X}) -> {Y}', [Y])
REAL = "tensor<{n}x3x{R}>"
for name in ("abs", "real", "imag"):
    op("stablehlo." + name, [X], f'%r = "stablehlo.{name}"(%0) : ({X}) -> {REAL}', [REAL])
op("stablehlo.is_finite", [X], f'%r = "stablehlo.is_finite"(%0) : ({X}) -> {Y1}', [Y1])
op("stablehlo.complex", [X, X], f'%r = "stablehlo.complex"(%0, %1) : ({X}, {X}) -> tensor<{{n}}x3xcomplex<{{T}}>>', ["tensor<{n}x3xcomplex<{T}>>"])
op("stablehlo.clamp", [B, X, B], f'%r = "stablehlo.clamp"(%0, %1, %2) : ({B}, {X}, {B}) -> {Y}', [Y], per_tensor=True)
op("stablehlo.compare", [X, X], f"%r = stablehlo.compare EQ, %0, %1 : ({X}, {X}) -> {Y1}", [Y1])
WIDE = "tensor<{n}x3xf32>"
op("stablehlo.convert", [X], f"%a = stablehlo.convert %0 : ({X}) -> {WIDE}\n%r = stablehlo.convert %a : ({WIDE}) -> {Y}", [Y])
op("stablehlo.reduce_precision", [X], f'%r = "stablehlo.reduce_precision"(%0) <{{{{exponent_bits = 5 : i32, mantissa_bits = 3 : i32}}}}> : ({X}) -> {Y}', [Y])
op("stablehlo.select", [X1, X, X], f'%r = "stablehlo.select"(%0, %1, %2) : ({X1}, {X}, {X}) -> {Y}', [Y])
op("stablehlo.uniform_quantize", ["tensor<{n}x3xf32{b2}>"], f'%r = "stablehlo.uniform_quantize"(%0) : (tensor<{{n}}x3xf32{{b2}}>) -> {Y}', [Y])
op("stablehlo.uniform_dequantize", [X], f'%r = "stablehlo.uniform_dequantize"(%0) : ({X}) -> {WIDE}', [WIDE])

op("stablehlo.bitcast_convert", [X], f'%r = "stablehlo.bitcast_convert"(%0) : ({X}) -> {Y}', [Y])
op("stablehlo.broadcast", ["tensor<3x{T}>"], '%r = "stablehlo.broadcast"(%0) <{{broadcast_sizes = array<i64: 4>}}> : (tensor<3x{T}>) -> tensor<4x3x{T}>',
   ["tensor<4x3x{T}>"], static=True, per_tensor=True)
op("stablehlo.broadcast_in_dim", ["tensor<1x3x{T}>"],
   '%r = "stablehlo.broadcast_in_dim"(%0) <{{broadcast_dimensions = array<i64: 0, 1>}}> : (tensor<1x3x{T}>) -> tensor<4x3x{T}>', ["tensor<4x3x{T}>"], static=True)
op("stablehlo.concatenate", [X, X], f'%r = "stablehlo.concatenate"(%0, %1) <{{{{dimension = 1 : i64}}}}> : ({X}, {X}) -> tensor<{{n}}x6x{{T}}>', ["tensor<{n}x6x{T}>"],
   per_tensor=True)
op("stablehlo.constant", [], "%r = stablehlo.constant dense<{L}> : tensor<4x3x{T}>", ["tensor<4x3x{T}>"], static=True)
S2 = "tensor<2xi64>"
op("stablehlo.dynamic_broadcast_in_dim", ["tensor<1x3x{T}>", (S2, "4,3")],
   f'%r = "stablehlo.dynamic_broadcast_in_dim"(%0, %1) <{{{{broadcast_dimensions = array<i64: 0, 1>}}}}> : (tensor<1x3x{{T}}>, {S2}) -> tensor<{{d}}x3x{{T}}>',
   ["tensor<{d}x3x{T}>"])
GATHER = ("dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
          "indices_are_sorted = false")
op("stablehlo.dynamic_gather", [X, "tensor<2x1xi32>", (S2, "1,3")],
   f'%r = "stablehlo.dynamic_gather"(%0, %1, %2) <{{{{{GATHER}}}}}> : ({X}, tensor<2x1xi32>, {S2}) -> tensor<2x3x{{T}}>', ["tensor<2x3x{T}>"])
op("stablehlo.dynamic_iota", [(S2, "4,3")], f'%r = "stablehlo.dynamic_iota"(%0) <{{{{iota_dimension = 1 : i64}}}}> : ({S2}) -> tensor<{{d}}x3x{{T}}>',
   ["tensor<{d}x3x{T}>"])
op("stablehlo.dynamic_pad", [X, B, (S2, "1,0"), (S2, "0,1"), (S2, "0,0")],
   f'%r = "stablehlo.dynamic_pad"(%0, %1, %2, %3, %4) : ({X}, {B}, {S2}, {S2}, {S2}) -> tensor<{{d5}}x4x{{T}}>', ["tensor<{d5}x4x{T}>"], per_tensor=True)
op("stablehlo.dynamic_reshape", [X, (S2, "4,3")], f'%r = "stablehlo.dynamic_reshape"(%0, %1) : ({X}, {S2}) -> tensor<{{d}}x3x{{T}}>', ["tensor<{d}x3x{T}>"])
op("stablehlo.dynamic_slice", [X, I, I], f'%r = "stablehlo.dynamic_slice"(%0, %1, %2) <{{{{slice_sizes = array<i64: 2, 2>}}}}> : ({X}, {I}, {I}) -> tensor<2x2x{{T}}>',
   ["tensor<2x2x{T}>"], per_tensor=True)
op("stablehlo.dynamic_update_slice", [X, "tensor<2x2x{T}>", I, I],
   f'%r = "stablehlo.dynamic_update_slice"(%0, %1, %2, %3) : ({X}, tensor<2x2x{{T}}>, {I}, {I}) -> {Y}', [Y], per_tensor=True)
op("stablehlo.gather", [X, "tensor<2x1xi32>"],
   f'%r = "stablehlo.gather"(%0, %1) <{{{{{GATHER}, slice_sizes = array<i64: 1, 3>}}}}> : ({X}, tensor<2x1xi32>) -> tensor<2x3x{{T}}>', ["tensor<2x3x{T}>"])
op("stablehlo.get_dimension_size", [X], f'%r = "stablehlo.get_dimension_size"(%0) <{{{{dimension = 0 : i64}}}}> : ({X}) -> {I}', [I])
op("stablehlo.iota", [], '%r = "stablehlo.iota"() <{{iota_dimension = 1 : i64}}> : () -> tensor<4x3x{T}>', ["tensor<4x3x{T}>"], static=True)
op("stablehlo.pad", [X, B], '%r = "stablehlo.pad"(%0, %1) <{{edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: 0, 1>, interior_padding = array<i64: 0, 1>}}> : '
   + f"({X}, {B}) -> tensor<{{n5}}x6x{{T}}>", ["tensor<{n5}x6x{T}>"], per_tensor=True)
op("stablehlo.real_dynamic_slice", [X, (S2, "1,0"), (S2, "3,3"), (S2, "1,1")],
   f'%r = "stablehlo.real_dynamic_slice"(%0, %1, %2, %3) : ({X}, {S2}, {S2}, {S2}) -> tensor<{{d2}}x3x{{T}}>', ["tensor<{d2}x3x{T}>"])
op("stablehlo.reshape", ["tensor<4x3x{T}>"], '%r = "stablehlo.reshape"(%0) : (tensor<4x3x{T}>) -> tensor<2x2x3x{T}>', ["tensor<2x2x3x{T}>"], static=True, per_tensor=True)
op("stablehlo.reverse", [X], f'%r = "stablehlo.reverse"(%0) <{{{{dimensions = array<i64: 0>}}}}> : ({X}) -> {Y}', [Y])
op("stablehlo.scatter", [X, "tensor<2x1xi32>", "tensor<2x3x{T}>"],
   '%r = "stablehlo.scatter"(%0, %1, %2) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], '
   'scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{\n^bb0(%x: tensor<{T}>, %y: tensor<{T}>):\nstablehlo.return %y : tensor<{T}>\n}}) : '
   + f"({X}, tensor<2x1xi32>, tensor<2x3x{{T}}>) -> {Y}", [Y], per_tensor=True)
op("stablehlo.set_dimension_size", ["tensor<4x3x{T}>", (I, "2")],
   '%r = "stablehlo.set_dimension_size"(%0, %1) <{{dimension = 0 : i64}}> : (tensor<4x3x{T}>, tensor<i32>) -> tensor<?x3x{T}, #stablehlo.bounds<4, ?>>',
   ["tensor<?x3x{T}, #stablehlo.bounds<4, ?>>"], bounded=True)
op("stablehlo.slice", [X], '%r = "stablehlo.slice"(%0) <{{start_indices = array<i64: 0, 1>, limit_indices = array<i64: 2, 3>, strides = array<i64: 1, 1>}}> : '
   + f"({X}) -> tensor<2x2x{{T}}>", ["tensor<2x2x{T}>"], per_tensor=True)
op("stablehlo.torch_index_select", [X, "tensor<2xi32>"],
   f'%r = "stablehlo.torch_index_select"(%0, %1) <{{{{dim = 0 : i64, batch_dims = 0 : i64}}}}> : ({X}, tensor<2xi32>) -> tensor<2x3x{{T}}>', ["tensor<2x3x{T}>"])
op("stablehlo.transpose", [X], f'%r = "stablehlo.transpose"(%0) <{{{{permutation = array<i64: 1, 0>}}}}> : ({X}) -> tensor<3x{{n}}x{{T}}>', ["tensor<3x{n}x{T}>"],
   per_tensor=True)

BODY = "({{\n^bb0(%x: tensor<{T}>, %y: tensor<{T}>):\n%z = stablehlo.maximum %x, %y : tensor<{T}>\nstablehlo.return %z : tensor<{T}>\n}})"
GE = "({{\n^bb0(%x: tensor<{T}>, %y: tensor<{T}>):\n%z = stablehlo.compare GE, %x, %y : (tensor<{T}>, tensor<{T}>) -> tensor<i1>\nstablehlo.return %z : tensor<i1>\n}})"
EQ = GE.replace("GE", "EQ")
op("stablehlo.map", [X, X], f'%r = "stablehlo.map"(%0, %1) <{{{{dimensions = array<i64: 0, 1>}}}}> {BODY} : ({X}, {X}) -> {Y}', [Y], per_tensor=True)
op("stablehlo.reduce", [X, B], f'%r = "stablehlo.reduce"(%0, %1) <{{{{dimensions = array<i64: 1>}}}}> {BODY} : ({X}, {B}) -> tensor<{{n}}x{{T}}>', ["tensor<{n}x{T}>"],
   per_tensor=True)
op("stablehlo.reduce_window", [X, B], f'%r = "stablehlo.reduce_window"(%0, %1) <{{{{window_dimensions = array<i64: 1, 2>}}}}> {BODY} : ({X}, {B}) -> tensor<{{n}}x2x{{T}}>',
   ["tensor<{n}x2x{T}>"], per_tensor=True)
op("stablehlo.select_and_scatter", [X, "tensor<{n}x2x{T}{b2}>", B],
   f'%r = "stablehlo.select_and_scatter"(%0, %1, %2) <{{{{window_dimensions = array<i64: 1, 2>}}}}> ({EQ[1:-1]}, {BODY[1:-1]}) : '
   f'({X}, tensor<{{n}}x2x{{T}}{{b2}}>, {B}) -> {Y}', [Y], per_tensor=True)
op("stablehlo.sort", [X], f'%r = "stablehlo.sort"(%0) <{{{{dimension = 0 : i64}}}}> {EQ} : ({X}) -> {Y}', [Y], per_tensor=True)

CONV = ("dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64")
C = "tensor<{n}x5x2x{T}{b3}>"
op("stablehlo.convolution", [C, "tensor<3x2x3x{T}>"], f'%r = "stablehlo.convolution"(%0, %1) <{{{{{CONV}}}}}> : ({C}, tensor<3x2x3x{{T}}>) -> tensor<{{n}}x3x3x{{T}}>',
   ["tensor<{n}x3x3x{T}>"], per_tensor=True)
op("stablehlo.dynamic_conv", [C, "tensor<3x2x3x{T}>", ("tensor<1x2xi32>", "0,0")],
   f'%r = "stablehlo.dynamic_conv"(%0, %1, %2) <{{{{{CONV}}}}}> : ({C}, tensor<3x2x3x{{T}}>, tensor<1x2xi32>) -> tensor<{{n}}x3x3x{{T}}>', ["tensor<{n}x3x3x{T}>"],
   per_tensor=True)
op("stablehlo.dot", [X, "tensor<3x2x{T}>"], f'%r = "stablehlo.dot"(%0, %1) : ({X}, tensor<3x2x{{T}}>) -> tensor<{{n}}x2x{{T}}>', ["tensor<{n}x2x{T}>"], per_tensor=True)
op("stablehlo.dot_general", [X, "tensor<3x2x{T}>"],
   '%r = "stablehlo.dot_general"(%0, %1) <{{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}}> : '
   + f"({X}, tensor<3x2x{{T}}>) -> tensor<{{n}}x2x{{T}}>", ["tensor<{n}x2x{T}>"], per_tensor=True)
op("stablehlo.einsum", [X, "tensor<3x2x{T}>"], f'%r = "stablehlo.einsum"(%0, %1) <{{{{einsum_config = "ab,bc->ac"}}}}> : ({X}, tensor<3x2x{{T}}>) -> tensor<{{n}}x2x{{T}}>',
   ["tensor<{n}x2x{T}>"])
op("stablehlo.unary_einsum", [X], f'%r = "stablehlo.unary_einsum"(%0) <{{{{einsum_config = "ab->ba"}}}}> : ({X}) -> tensor<3x{{n}}x{{T}}>', ["tensor<3x{n}x{T}>"])

F = "tensor<3x{T}>"
NORM = "<{{epsilon = 0.001 : f32, feature_index = 1 : i64}}>"
op("stablehlo.batch_norm_grad", [X, F, F, F, X], f'%r:3 = "stablehlo.batch_norm_grad"(%0, %1, %2, %3, %4) {NORM} : ({X}, {F}, {F}, {F}, {X}) -> ({Y}, {F}, {F})', [Y, F, F],
   values="%r#0, %r#1, %r#2", per_tensor=True)
op("stablehlo.batch_norm_inference", [X, F, F, F, F], f'%r = "stablehlo.batch_norm_inference"(%0, %1, %2, %3, %4) {NORM} : ({X}, {F}, {F}, {F}, {F}) -> {Y}', [Y], per_tensor=True)
op("stablehlo.batch_norm_training", [X, F, F], f'%r:3 = "stablehlo.batch_norm_training"(%0, %1, %2) {NORM} : ({X}, {F}, {F}) -> ({Y}, {F}, {F})', [Y, F, F],
   values="%r#0, %r#1, %r#2", per_tensor=True)
M = "tensor<{n}x3x3x{T}{b3}>"
op("stablehlo.cholesky", [M], f'%r = "stablehlo.cholesky"(%0) <{{{{lower = true}}}}> : ({M}) -> tensor<{{n}}x3x3x{{T}}>', ["tensor<{n}x3x3x{T}>"], per_tensor=True)
op("stablehlo.fft", [X], f'%r = "stablehlo.fft"(%0) <{{{{fft_type = #stablehlo<fft_type {{fft}}>, fft_length = array<i64: 3>}}}}> : ({X}) -> {{fft_out}}', ["{fft_out}"])
op("stablehlo.rng", [B, B, ("tensor<2xi64>", "4,3")],
   '%r = "stablehlo.rng"(%0, %1, %2) <{{rng_distribution = #stablehlo<rng_distribution UNIFORM>}}> : ' + f"({B}, {B}, tensor<2xi64>) -> tensor<4x3x{{T}}>",
   ["tensor<4x3x{T}>"], static=True)
op("stablehlo.rng_bit_generator", ["tensor<2xui64>"],
   '%r:2 = "stablehlo.rng_bit_generator"(%0) <{{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x3x{T}>)',
   ["tensor<4x3x{T}>"], values="%r#1", static=True)
op("stablehlo.triangular_solve", [M, M],
   '%r = "stablehlo.triangular_solve"(%0, %1) <{{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}}> : '
   + f"({M}, {M}) -> tensor<{{n}}x3x3x{{T}}>", ["tensor<{n}x3x3x{T}>"], per_tensor=True)

TOKEN = "!stablehlo.token"
op("stablehlo.after_all", [X], f"%t = stablehlo.after_all : {TOKEN}\n%u = stablehlo.after_all %t, %t : {TOKEN}", [X], values="%0")
op("stablehlo.create_token", [X], f"%t = stablehlo.create_token : {TOKEN}", [X], values="%0")
op("func.call", [X], f"%r = func.call @f(%0) : ({X}) -> {X}", [X], function=f"func.func private @f(%x: {X}) -> {X} {{{{\nreturn %x : {X}\n}}}}\n")
op("stablehlo.case", [(I, "1"), X], f'%r = "stablehlo.case"(%0) ({{{{\nstablehlo.return %1 : {X}\n}}}}, {{{{\nstablehlo.return %1 : {X}\n}}}}) : ({I}) -> {X}', [X])
op("stablehlo.composite", [X], f'%r = stablehlo.composite "a.b" %0 {{{{decomposition = @f}}}} : ({X}) -> {X}', [X],
   function=f"func.func private @f(%x: {X}) -> {X} {{{{\nreturn %x : {X}\n}}}}\n")
op("stablehlo.custom_call", [X], f"%r = stablehlo.custom_call @Sharding(%0) : ({X}) -> {X}", [X])
op("stablehlo.get_tuple_element", [X], f"%t = stablehlo.tuple %0, %0 : tuple<{X}, {X}>\n%r = stablehlo.get_tuple_element %t[1] : (tuple<{X}, {X}>) -> {X}", [X])
op("stablehlo.tuple", [X], f"%r = stablehlo.tuple %0, %0 : tuple<{X}, {X}>", [f"tuple<{X}, {X}>"])
op("stablehlo.if", [("tensor<i1>", "1"), X], f'%r = "stablehlo.if"(%0) ({{{{\nstablehlo.return %1 : {X}\n}}}}, {{{{\nstablehlo.return %1 : {X}\n}}}}) : (tensor<i1>) -> {X}', [X])
op("stablehlo.optimization_barrier", [X], f"%r = stablehlo.optimization_barrier %0 : {X}", [X])
op("stablehlo.return", [X], "", [X], values="%0")
op("stablehlo.while", [("tensor<i1>", "0"), X],
   f'%r:2 = "stablehlo.while"(%0, %1) ({{{{\n^bb0(%p: tensor<i1>, %v: {X}):\nstablehlo.return %p : tensor<i1>\n}}}}, {{{{\n^bb0(%p: tensor<i1>, %v: {X}):\n'
   f'stablehlo.return %p, %v : tensor<i1>, {X}\n}}}}) : (tensor<i1>, {X}) -> (tensor<i1>, {X})', [X], values="%r#1")

ALONE = "replica_groups = dense<0> : tensor<1x1xi64>"
op("stablehlo.all_gather", [X], f'%r = "stablehlo.all_gather"(%0) <{{{{all_gather_dim = 1 : i64, {ALONE}}}}}> : ({X}) -> {Y}', [Y], per_tensor=True)
op("stablehlo.all_reduce", [X], f'%r = "stablehlo.all_reduce"(%0) <{{{{{ALONE}}}}}> {BODY} : ({X}) -> {Y}', [Y], per_tensor=True)
op("stablehlo.all_to_all", [X],
   f'%r = "stablehlo.all_to_all"(%0) <{{{{split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 1 : i64, {ALONE}}}}}> : ({X}) -> {Y}', [Y], per_tensor=True)
op("stablehlo.collective_broadcast", [X], f'%r = "stablehlo.collective_broadcast"(%0) <{{{{{ALONE}}}}}> : ({X}) -> {Y}', [Y], per_tensor=True)
op("stablehlo.collective_permute", [X], f'%r = "stablehlo.collective_permute"(%0) <{{{{source_target_pairs = dense<0> : tensor<1x2xi64>}}}}> : ({X}) -> {Y}', [Y],
   per_tensor=True)
op("stablehlo.collective_reduce", [X], f'%r = "stablehlo.collective_reduce"(%0) <{{{{{ALONE}}}}}> {BODY} : ({X}) -> {Y}', [Y], per_tensor=True)
op("stablehlo.reduce_scatter", [X], f'%r = "stablehlo.reduce_scatter"(%0) <{{{{scatter_dimension = 1 : i64, {ALONE}}}}}> {BODY} : ({X}) -> {Y}', [Y], per_tensor=True)
op("stablehlo.cross-replica-sum", [X], f'%r = "stablehlo.cross-replica-sum"(%0) <{{{{{ALONE}}}}}> : ({X}) -> {Y}', [Y], per_tensor=True)
ASYNC = (f'%f = "stablehlo.async_start"(%0) ({{{{\n^bb0(%v: {X}):\n%w = "stablehlo.all_reduce"(%v) <{{{{{ALONE}}}}}> {BODY} : ({X}) -> {X}\n'
         f'stablehlo.return %w : {X}\n}}}}) : ({X}) -> !stablehlo.future<{X}>\n%r = "stablehlo.async_done"(%f) : (!stablehlo.future<{X}>) -> {X}')
op("stablehlo.async_start", [X], ASYNC, [X], per_tensor=True)
op("stablehlo.async_done", [X], ASYNC, [X], per_tensor=True)
op("stablehlo.partition_id", [], "%r = stablehlo.partition_id : tensor<ui32>", ["tensor<ui32>"], static=True)
op("stablehlo.replica_id", [], "%r = stablehlo.replica_id : tensor<ui32>", ["tensor<ui32>"], static=True)

HOST = {  # they need a host on the other side: a test of their own (test/conformance) runs them
    "stablehlo.send": "to the host by callbacks of the execution, to devices of the run",
    "stablehlo.recv": "from the host by callbacks of the execution, from devices of the run",
    "stablehlo.infeed": "refused when the program is compiled: the PJRT C API has no call that fills it",
    "stablehlo.outfeed": "refused when the program is compiled: the PJRT C API has no call that empties it",
}
SHELLS = ("builtin.", "sdy.", "tenon.")  # become what they hold, or are made by passes alone


def table_rows():
    """Ops of the op table, in its order."""
    with open(os.path.join(TOP, "src/ir/ops.def"), encoding="utf-8") as f:
        return re.findall(r'^TN_(?:OP|ELEMENTWISE)\(\w+, "([^"]+)"', f.read(), re.M)


def expand(text, t, shape):
    dynamic = shape != "static"
    bound = shape == "bounded"
    names = {"T": t, "R": {"complex<f32>": "f32", "complex<f64>": "f64"}.get(t, t), "L": literal(t), "n": "?" if dynamic else "4", "n5": "?" if dynamic else "5",
             "d": "?" if dynamic else "4", "d5": "?" if dynamic else "5", "d2": "?" if dynamic else "2"}
    for rank in (1, 2, 3):
        names[f"b{rank}"] = ", #stablehlo.bounds<" + ", ".join(["4"] + ["?"] * (rank - 1)) + ">" if bound else ""
    real = not t.startswith("complex")
    names["fft"] = "RFFT" if real else "FFT"
    names["fft_out"] = f"tensor<{names['n']}x2xcomplex<{t}>>" if real else f"tensor<{names['n']}x3x{t}>"
    text = re.sub(r"\{(" + "|".join(names) + r")\}", lambda m: "\0" + m.group(1) + "\0", text).replace("{{", "{").replace("}}", "}")
    return re.sub("\0(.*?)\0", lambda m: names[m.group(1)], text)


def input_word(kind, values, t):
    m = re.fullmatch(r"tensor<((?:[\d?]+x)*)(.*?)(?:, #stablehlo.*)?>", kind)
    dims = "x".join("4" if d == "?" else d for d in m.group(1)[:-1].split("x")) if m.group(1) else ""
    element = storage(m.group(2))
    return f"{element}:{dims}" + (f"={values}" if values else "")


def program(name, t, shape):
    p = PROGRAMS[name]
    args = [(a if isinstance(a, tuple) else (a, "")) for a in p["args"]]
    kinds = [expand(a, t, shape) for a, _ in args]
    results = ", ".join(expand(r, t, shape) for r in p["results"])
    words = " ".join(input_word(k, v, t) for k, (_, v) in zip(kinds, args))
    text = expand(p.get("function", ""), t, shape)
    text += "func.func @main(" + ", ".join(f"%{i}: {k}" for i, k in enumerate(kinds)) + f") -> ({results}) {{\n"
    text += expand(p["body"], t, shape) + f"\nreturn {p.get('values', '%r')} : {results}\n}}\n"
    return words, text


def ask(tenon, plugin, wanted):
    """{(op, type, shape): "ok" or "CODE: message"}"""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir", delete=False) as f:
        for i, (name, t, shape) in enumerate(wanted):
            words, text = program(name, t, shape)
            f.write(f"// ----- {i} | {words}\n{text}")
    out = subprocess.run([tenon, "try", plugin, f.name], capture_output=True, text=True, timeout=300)
    os.unlink(f.name)
    lines = out.stdout.splitlines()
    if out.returncode or len(lines) != len(wanted):
        sys.exit(f"support_matrix: {len(lines)} answers to {len(wanted)} programs; {out.stderr.strip()[-300:]}")
    return {key: line.split(" ", 1)[1] for key, line in zip(wanted, lines)}


def cell(answers, name, types):
    codes = [answers.get((name, t, "static"), "") for t in types]
    good = [t for t, c in zip(types, codes) if c == "ok"]
    refused = ("INVALID_ARGUMENT", "UNIMPLEMENTED: PJRT_Client_Compile: 1:")  # behind the latter: no such type as complex<i8>
    holes = [t for t, c in zip(types, codes) if c and c != "ok" and not c.startswith(refused)]
    if holes:
        return "**missing: " + ", ".join(holes).replace(PER_TENSOR, "per tensor").replace(PER_AXIS, "per axis") + "**"
    if not good:
        return "-"
    if len(good) == sum(bool(c) for c in codes):
        return "yes"
    return ", ".join(good).replace(PER_TENSOR, "per tensor").replace(PER_AXIS, "per axis")


def shape_cell(answers, name, shape):
    got = [c for (n, _, s), c in answers.items() if n == name and s == shape]
    if not got:
        return "-"
    return "yes" if got[0] == "ok" else "no"


HEAD = """# Support matrix

Written by `tools/support_matrix.py`, which runs one small program on the plugin for each op of `src/ir/ops.def`, element type and kind of shape; `make test`
checks that this page says what the plugin does. *yes*: all types of the column; a list: these; *-*: the specification defines none, and the program is refused
when it is compiled. **missing** would be a hole. Quantized types are i8 with f32, with one scale or one for each element of an axis. *Bounded* and *unbounded*: the leading dimension is `?`, with and
without a bound, and one executable runs at any size; *-*: the op's result has static shape by definition.

"""


def page(answers):
    out = [HEAD, "| op | " + " | ".join(g for g, _ in GROUPS) + " | bounded | unbounded |", "|---" * (len(GROUPS) + 3) + "|"]
    for name in table_rows():
        if name in HOST:
            out.append(f"| `{name}` | " + HOST[name] + " |" + " |" * (len(GROUPS) + 1))
        elif not name.startswith(SHELLS):
            cells = [cell(answers, name, types) for _, types in GROUPS] + [shape_cell(answers, name, s) for s in ("bounded", "unbounded")]
            out.append(f"| `{name}` | " + " | ".join(cells) + " |")
    out += ["", "Shells of Shardy (`sdy.*`) and casts become what they hold. CHLO is read from text alone; its ops are expanded, or computed by functions of their own.", ""]
    return "\n".join(out)


def main(argv):
    check = "--check" in argv
    argv = [a for a in argv if a != "--check"]
    if len(argv) != 3:
        sys.exit(__doc__)
    path, tenon, plugin = argv
    names = [n for n in table_rows() if n not in HOST and not n.startswith(SHELLS)]
    lacking = [n for n in names if n not in PROGRAMS]
    if lacking:
        sys.exit(f"support_matrix: no program for {', '.join(lacking)}")
    wanted = [(n, t, "static") for n in names for t in TYPES if not PROGRAMS[n].get("bounded")
              and not (t == PER_AXIS and PROGRAMS[n].get("per_tensor"))]
    answers = ask(tenon, plugin, wanted)
    first = {}
    for (n, t, _), c in answers.items():
        if c == "ok" and (n not in first or t == "f32"):
            first[n] = t
    more = [(n, first.get(n, "f32"), s) for n in names if not PROGRAMS[n].get("static") for s in ("bounded", "unbounded")]
    more += [(n, t, "static") for n in names for t in TYPES if PROGRAMS[n].get("bounded")]
    answers.update(ask(tenon, plugin, more))
    if "--verbose" in os.environ.get("SUPPORT_MATRIX", ""):
        for key, c in answers.items():
            if c != "ok":
                print(*key, c)
    text = page(answers)
    if check:
        with open(path, encoding="utf-8") as f:
            old = f.read()
        worse = len(old.splitlines()) != len(text.splitlines()) or "missing:" in text
        for a, b in zip(old.splitlines(), text.splitlines()):
            if a != b:
                print(f"{path} says\n  {a}\nand the plugin\n  {b}")
                worse |= any(x != y and y != " yes " for x, y in zip(a.split("|"), b.split("|")))
        print("0 passed, 1 failed" if worse else "1 passed, 0 failed")
        return worse
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
