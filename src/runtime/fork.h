/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h - after fork the child has the runtime's memory but none of its threads: nothing that was
 * under way there will ever end, and locks may be held by nobody.
 *
 * So an object remembers the generation in which it was made, and looks before it locks. */
#ifndef TN_RUNTIME_FORK_H
#define TN_RUNTIME_FORK_H

#include <stdbool.h>

#include "tenon/status.h"

/* How many forks lie between this process and the one that loaded the library. */
unsigned tn_fork_generation(void);

/* Whether a fork lies between `generation` and now. */
static inline bool tn_is_forked(unsigned generation)
{
    return tn_fork_generation() != generation;
}

/* The error that users of objects from before the fork get. */
tn_status *tn_fork_error(void) TN_MUST_USE;

#endif
