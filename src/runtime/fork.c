/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/fork.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_uint generation;

static void count_fork(void)
{
    atomic_fetch_add(&generation, 1);
}

/* Before main, since a call from within a forked child would come too late. */
__attribute__((constructor)) static void watch(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

unsigned tn_fork_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

tn_status *tn_fork_error(void)
{
    return TN_ERROR(FAILED_PRECONDITION,
                    "this process was forked after the client was made, so the client's threads do "
                    "not exist here: make a client in the child, or start it with spawn instead");
}
