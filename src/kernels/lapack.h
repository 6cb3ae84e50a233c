/* SPDX-License-Identifier: Apache-2.0 */
/* lapack.h - LAPACK and BLAS routines, found at run time so that the library itself needs neither.
 *
 * Where they come from, in this order: the library named by TN_LAPACK; the pointers that scipy
 * exports, if the process runs Python and has scipy; libopenblas.so.0; liblapack.so.3 with
 * libblas.so.3. Integers are 32 bits wide (LP64). Threads: any. Looking up takes Python's lock, if
 * there is one, the first time. */
#ifndef TN_KERNELS_LAPACK_H
#define TN_KERNELS_LAPACK_H

/* A Fortran routine: every argument is a pointer. Cast before calling. */
typedef void (*tn_lapack_fn)(void);

/* "dpotrf" and so on; NULL if no library has it. */
tn_lapack_fn tn_lapack_find(const char *name);
/* Where routines come from, for messages: "scipy", a library's name, or "nowhere". */
const char *tn_lapack_source(void);

#endif
