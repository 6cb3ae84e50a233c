/* SPDX-License-Identifier: Apache-2.0 */
/* thread_limit.h - fewer threads than a pool has, for the loops of one caller. */
#ifndef TN_BASE_THREAD_LIMIT_H
#define TN_BASE_THREAD_LIMIT_H

/* From now on at most n threads, the caller included, work on a loop that the calling thread starts
 * on any pool; 0: all. Gives what it was before, to be put back. Results stay the same. */
int tn_thread_limit(int n);

#endif
