/* SPDX-License-Identifier: Apache-2.0 */
/* native.h - loops over scalars and strips as machine code.
 *
 * A while op all of whose ops are elementwise on a few elements, or read and write single elements
 * of arrays, or control flow over such ops, becomes one piece of code: scalars are in registers and
 * on the stack, arrays that it carries are changed in place. Everything else about a loop is left
 * to the executable's steps.
 *
 * So does one over strips: values of L elements (or K times L, L innermost) whose ops never mix the
 * elements of a strip. All turns are run for some elements, which stay in registers, before the
 * next ones: threads may share the elements. */
#ifndef TN_CODEGEN_NATIVE_H
#define TN_CODEGEN_NATIVE_H

#include "codegen/cluster.h"

typedef struct {
    const tn_jit_code *code; /* called with the ports' memory and a watch */
    /* Carried values come first, as results of the op: their memory has the initial values and gets
     * the final ones. Then come values that are read. NULL: of no bytes. */
    const tn_value **ports;
    uint32_t n_ports, n_carried;
    double iteration_ns; /* rough time of one iteration, loops inside counted once */
    double turn_ns;      /* the same for one group of elements of strips, if there are strips */
    /* Of loops over strips, else 0: the length of a strip, of which `code` does the first `whole`
     * elements, `group` at a time, and `rest` the others. */
    int64_t strip, whole;
    uint32_t group;
    double group_ns; /* rough time of all turns for a group; of one where their number is unknown */
    const tn_jit_code *rest; /* or NULL */
} tn_native;

/* NULL if `op`, a while op of the function that `c` was made for, can't be such code. `trips`: how
 * often its body runs; -1: unknown. */
const tn_native *tn_native_make(tn_cluster_context *c, const tn_op *op, int64_t trips);

#endif
