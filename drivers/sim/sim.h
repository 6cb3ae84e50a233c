/* SPDX-License-Identifier: Apache-2.0 */
/* sim.h - a simulated accelerator: a thread that works off a queue, on memory that the host has no
 * address of, with set latencies and faults. It checks what the kit does and says so when that
 * breaks the contract of tenon/driver.h. */
#ifndef TN_SIM_SIM_H
#define TN_SIM_SIM_H

#include <pthread.h>

#include "tenon/driver.h"

struct tn_mem {
    uint64_t size;
    char *bytes;   /* the content; no function gives this address away */
    void *address; /* what users see: faults when it is followed */
    uint32_t uses; /* by operations in the queue */
};

struct tn_code_object {
    const tn_host_program *program;
    uint32_t uses;
};

struct tn_fence {
    bool done;
    tn_status *status; /* first error since the fence before */
};

typedef enum { SIM_COPY_IN, SIM_COPY_OUT, SIM_COPY, SIM_LAUNCH, SIM_FENCE } sim_op_kind;

typedef struct sim_op {
    struct sim_op *next;
    sim_op_kind kind;
    tn_span dst, src;
    const void *host_src;
    void *host_dst;
    tn_fence *fence;
    tn_code_object *code;
    tn_launch launch;
    tn_span spans[]; /* of a launch: arguments, then results */
} sim_op;

/* How many there will be until one fails; 0: none will. */
typedef struct {
    int64_t fail_alloc, fail_copy, fail_launch, refuse_launch, lose_device;
} sim_faults;

struct tn_driver_device {
    const tn_kit *kit;
    uint32_t ordinal;
    uint64_t memory_bytes, used_bytes;
    int64_t copy_ns, launch_ns, jitter_ns;
    uint64_t random;
    sim_faults faults;

    pthread_t thread;
    pthread_mutex_t lock; /* guards all that follows, memory accounting and faults */
    pthread_cond_t work, done;
    sim_op *first, **last;
    bool stop, lost;
    tn_status *error; /* first one since the last fence; the thread's own */
};

/* memory.c; the lock is not held */
tn_status *sim_alloc(tn_driver_device *d, uint64_t size, tn_mem **out);
void sim_free(tn_driver_device *d, tn_mem *m);

/* Counts down; true: this is the one that fails. Caller holds the lock. */
static inline bool sim_strikes(int64_t *fault)
{
    return *fault > 0 && --*fault == 0;
}

/* queue.c */
void *sim_thread(void *device);
/* Appends `op` (taken); refuses it, and says why, if the device is lost or a span is bad. */
tn_status *sim_append(tn_driver_device *d, sim_op *op);
tn_status *sim_lost(const tn_driver_device *d);

#endif
