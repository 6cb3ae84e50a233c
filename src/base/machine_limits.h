/* SPDX-License-Identifier: Apache-2.0 */
/* machine_limits.h - what this machine can do at most, measured: the roofs that a kernel's rate is
 * held against.
 *
 * A peak is the rate of independent multiply-adds on registers of the best instruction set (capped
 * by TN_ISA), two operations each. A bandwidth is that of arrays far larger than the caches that
 * belong to one core: reading alone, and adding two arrays into a third whose stores pass the
 * caches by (12 bytes an element). Each is the best of a few windows of some milliseconds, in the
 * threads' own time, so that a busy machine shows its limits as well as it can.
 *
 * Threads: any, but two measurements at once take from each other. */
#ifndef TN_BASE_MACHINE_LIMITS_H
#define TN_BASE_MACHINE_LIMITS_H

#include "tenon/status.h"

typedef struct {
    int threads;
    double f32_flops, f64_flops;  /* a second, all threads together */
    double read_bytes, add_bytes; /* a second */
} tn_machine_limits;

/* Takes about 0.3 s and, for that time, 192 MiB; where others run too, it measures less often
 * instead of longer. `threads`: 1 or more; RESOURCE_EXHAUSTED without
 * memory or threads. */
tn_status *tn_machine_limits_measure(int threads, tn_machine_limits *out) TN_MUST_USE;

#endif
