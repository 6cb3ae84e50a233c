/* SPDX-License-Identifier: Apache-2.0 */
/* special.h - the functions of CHLO that StableHLO has no op for, one value at a time, in long
 * double: correctly rounded in f64 nearly always, and slow. They serve programs in text; in
 * bytecode frameworks send them expanded. */
#ifndef TN_KERNELS_SPECIAL_H
#define TN_KERNELS_SPECIAL_H

typedef struct {
    const char *name; /* as in CHLO: "erf_inv" */
    int operands;
    long double (*real)(const long double *in);
    void (*complex_fn)(const long double *in, long double *out); /* [re, im]; NULL: none */
} tn_special_function;

/* NULL: there is none. */
const tn_special_function *tn_special_find(const char *name);

#endif
