/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_features.h - which kernels this machine may run, and on how many CPUs.
 *
 * Threads: any; both answers are found once and kept. */
#ifndef TN_BASE_CPU_FEATURES_H
#define TN_BASE_CPU_FEATURES_H

#include <stdbool.h>

/* Instruction sets that kernels are compiled for, worst first within an architecture:
 * - BASELINE: what every CPU of the architecture has (x86-64: SSE2; aarch64: as NEON)
 * - NEON: aarch64 Advanced SIMD
 * - AVX2: AVX2, FMA and F16C
 * - AVX512: the AVX2 level and AVX-512 F, BW, DQ and VL
 *
 * X(NAME, "name") */
#define TN_ISAS(X)                                                                                 \
    X(BASELINE, "baseline")                                                                        \
    X(NEON, "neon")                                                                                \
    X(AVX2, "avx2")                                                                                \
    X(AVX512, "avx512")

typedef enum {
#define X(NAME, name) TN_ISA_##NAME,
    TN_ISAS(X)
#undef X
        TN_ISA_COUNT
} tn_isa;

/* The best instruction set of the CPU and operating system, capped by TN_ISA. */
tn_isa tn_cpu_isa(void);

/* Whether kernels for `isa` may run here (cap included). */
bool tn_cpu_has(tn_isa isa);

const char *tn_isa_name(tn_isa isa);
/* False: no such name. */
bool tn_isa_from_name(const char *name, tn_isa *out);

/* CPUs this process may use: the affinity mask, and the CPU quota of its cgroup (v1 or v2) rounded
 * up. At least 1. */
int tn_cpu_count(void);

/* The quota alone, in whole CPUs, rounded up; 0 = none. `membership` is a file like
 * /proc/self/cgroup, `root` a folder like /sys/fs/cgroup. The tightest limit between the process's
 * group and the root counts. */
int tn_cgroup_cpu_limit(const char *membership, const char *root);

#endif
