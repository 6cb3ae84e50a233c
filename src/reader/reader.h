/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - foreign bytes to IR. Never trusts a length or an index; bad bytes give
 * INVALID_ARGUMENT that says at which byte; what is well formed but not supported gives
 * UNIMPLEMENTED that names it.
 *
 * Reads MLIR bytecode versions 0-6 holding VHLO 0.9.0-1.20.0, builtin and sdy, in which every VHLO
 * op version is upgraded to the newest one (reader/versions.def), and versions 0-4, in which
 * attributes have their names, holding StableHLO, CHLO and func as well. What the reader has
 * checked: numbers of operands, results and regions of ops of fixed arity, that required attributes
 * are there and of the kind that attrs.def says, one block a region, which ends with a terminator,
 * values defined before use, unique symbols, function arguments as their type says, types of at
 * most 2^47 bytes and rank 64, constants whose data fits their type. The rest is the verifier's.
 *
 * How things are read:
 *   index               i64
 *   tf32                f32 with the alias "tf32" (occurs as the precision of a dot alone)
 *   scalar types        TENSOR types of rank 0 (the type of an INT or FLOAT, a TYPE attribute)
 *   buffers, memrefs    tensors with the alias "memref"
 *   symbol references   STRING without @
 *   i1 integers         BOOL
 * Nodes that have no kind of their own are LISTs with a tag and these items ([..]: may be absent):
 *   output_operand_alias      INTS output tuple indices, INT operand, INTS operand tuple indices
 *   result_accuracy           FLOAT atol, FLOAT rtol, INT ulps, INT mode (0 default, 1 highest, 2
 *                             tolerance)
 *   sub_axis_info             INT pre-size, INT size
 *   axis_ref                  STRING name, [sub_axis_info]
 *   replica_group_mesh_axes   mesh (STRING or mesh), LIST of axis_ref
 *   mesh_axis                 STRING name, INT size
 *   mesh                      LIST of mesh_axis, [TENSOR device ids]
 *   symbol                    STRING root, LIST of STRING: a nested symbol
 *   unsupported               STRING why: a discardable attribute that the reader does not know
 *   comparison_direction, precision, ... (enums.def): INT; only outside of inherent attributes,
 *                             where the INT stands by itself
 *   sdy.manual_axes           STRINGs
 *   sdy.mesh_axis             STRING name, INT size
 *   sdy.mesh                  LIST of sdy.mesh_axis, INTS device ids
 *   sdy.sub_axis_info         INT pre-size, INT size
 *   sdy.axis_ref              STRING name, [sdy.sub_axis_info]
 *   sdy.dimension_sharding    LIST of sdy.axis_ref, BOOL closed, [INT priority]
 *   sdy.sharding              mesh (STRING or sdy.mesh), LIST of sdy.dimension_sharding, LIST of
 *                             replicated sdy.axis_ref, LIST of unreduced sdy.axis_ref, [INT
 *                             reduction]
 *   sdy.sharding_per_value    sdy.shardings
 *   sdy.dim_mapping           INTS factors
 *   sdy.tensor_mapping        sdy.dim_mappings
 *   sdy.op_sharding_rule      INTS factor sizes, LIST of operands' sdy.tensor_mapping, LIST of
 *                             results', INTS reduction, INTS need replication, INTS permutation,
 *                             INTS blocked, BOOL custom
 *   sdy.axis_ref_list         sdy.axis_refs
 *   sdy.list_of_axis_ref_lists  sdy.axis_ref_lists
 *   sdy.all_to_all_param      LIST of sdy.axis_ref, INT source, INT target
 *   sdy.all_to_all_param_list sdy.all_to_all_params
 * Layouts of custom calls are LISTs of INTS, minor to major. */
#ifndef TN_READER_READER_H
#define TN_READER_READER_H

#include "ir/ir.h"

/* Newest and oldest StableHLO version that is read, as plugin attributes say. */
#define TN_STABLEHLO_CURRENT {1, 20, 0}
#define TN_STABLEHLO_MINIMUM {0, 9, 0}

/* `data` must stay valid as long as the module is used (locations are decoded from it when a
 * message needs one). Call inside tn_arena_run. */
tn_status *tn_read_bytecode(const void *data, size_t size, tn_arena *a,
                            tn_module **out) TN_MUST_USE;
/* The same from MLIR's text, in the form that MLIR prints and in its generic form, as
 * tn_module_print writes it: StableHLO, VHLO of the versions above, func, builtin.module and sdy.
 * Attributes that the text leaves out get the value that bytecode gives them; CHLO is expanded as
 * MLIR does it. Several blocks, resources and encodings other than bounds give UNIMPLEMENTED;
 * malformed text gives INVALID_ARGUMENT "LINE:COLUMN: what was expected and found". Nesting is
 * bounded; time is linear in the text. Places of ops are line and column of the text; locations in
 * it are stepped over. `data` needs no NUL. */
tn_status *tn_read_text(const char *data, size_t size, tn_arena *a, tn_module **out) TN_MUST_USE;
/* Does it start as MLIR bytecode does? */
bool tn_is_bytecode(const void *data, size_t size);

#endif
