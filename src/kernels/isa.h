/* SPDX-License-Identifier: Apache-2.0 */
/* isa.h - for sources that are compiled once for each instruction set, with
 * -DTN_KERNEL_ISA=_<name>. */
#ifndef TN_KERNELS_ISA_H
#define TN_KERNELS_ISA_H

#define TN_CAT_(a, b) a##b
#define TN_CAT(a, b)  TN_CAT_(a, b)

/* tn_thing -> tn_thing_avx2 */
#define TN_ISA_NAME(name) TN_CAT(name, TN_KERNEL_ISA)

/* Before a loop whose iterations don't depend on each other even if its arrays are the same. */
#if defined __clang__
#define TN_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TN_INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif
