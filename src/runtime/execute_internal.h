/* SPDX-License-Identifier: Apache-2.0 */
/* execute_internal.h - what a loaded executable and a run of it are made of. */
#ifndef TN_RUNTIME_EXECUTE_INTERNAL_H
#define TN_RUNTIME_EXECUTE_INTERNAL_H

#include "base/crew.h"
#include "runtime/buffer_internal.h"
#include "runtime/collective.h"
#include "runtime/execute.h"

/* Runs cheaper than TN_INLINE_NS are done by the caller, since a thread takes about as long to
 * wake. So are those cheaper than TN_AWAITED_INLINE_NS of a thread that has waited for each of its
 * last TN_AWAITED_RUNS runs before it started the next: it would wait for this one too. */
enum { TN_INLINE_NS = 20000, TN_AWAITED_INLINE_NS = 250000, TN_AWAITED_RUNS = 4 };

/* Whether the calling thread is such. */
bool tn_execute_is_awaited(void);

/* A program as the runtime sees it. */
typedef struct {
    const tn_executable_info *info; /* lives until release */
    tn_status *(*run)(const void *self, const tn_host_run *run, tn_thread_pool *pool);
    void (*release)(void *self);
    void *self;
} tn_program;

/* Loads a program (taken, also on failure); otherwise as tn_loaded_executable_create. */
tn_status *tn_loaded_executable_create_from(tn_client *c, const tn_program *program,
                                            const int *device_ids, size_t n_ids, bool portable,
                                            tn_loaded_executable **out) TN_MUST_USE;

typedef struct {
    size_t bytes;
    int kind; /* of memory */
} tn_loaded_result;

typedef struct tn_sized_cache tn_sized_cache;
typedef struct tn_launch_record tn_launch_record;

struct tn_loaded_executable {
    tn_ref ref;
    tn_client *client;
    tn_program program;
    tn_executable *executable; /* NULL in tests of the runtime alone */
    tn_sized_cache *sized;     /* of a dynamic program; such a one is not loaded onto devices */
    tn_host_program host_program;
    bool portable;
    bool donates; /* some parameter is donated */
    atomic_bool deleted;
    atomic_uint_fast64_t taken_ns; /* what a run takes, as far as is known; 0: nothing is */
    size_t n_devices;
    tn_device **devices;
    tn_logical_id *ids;
    int *assignment;
    tn_loaded_result *results;
    pthread_mutex_t lock;              /* for who loads code */
    _Atomic(tn_code_object *) *code;   /* [client devices]; NULL: not loaded there */
    _Atomic(tn_launch_record *) spare; /* of an earlier run, for the next; may be NULL */
};

/* ---- Programs of which a run brings the sizes (sized.c) ---- */

/* What a run brings. */
typedef struct {
    tn_buffer *const *const *args; /* [n_devices][n_args], which fit the program */
    size_t n_devices, n_args;
    const struct tn_custom_call_context *custom_calls;
} tn_sized_run;

/* A new reference to the static executable for a run of `l`, whose program is dynamic: one kept
 * from earlier runs with these sizes, else a new one. Blocks until the arguments are ready that
 * sizes depend on by value, and compiles what it does not have. Errors: those of
 * tn_executable_specialize, and of such an argument. */
tn_status *tn_sized_executable(tn_loaded_executable *l, const tn_sized_run *run,
                               tn_loaded_executable **out) TN_MUST_USE;
tn_status *tn_sized_cache_create(tn_sized_cache **out) TN_MUST_USE;
void tn_sized_cache_free(tn_sized_cache *c); /* NULL is fine */

/* The program on a device; loads it if need be. */
tn_status *tn_loaded_executable_code(tn_loaded_executable *l, tn_device *d,
                                     tn_code_object **out) TN_MUST_USE;

/* ---- One run on one device ---- */

typedef struct {
    tn_storage *storage; /* the content; NULL: an error */
    tn_event *ready;     /* NULL: it is there, without error */
    size_t bytes;
    bool taken;        /* donated: the buffer was deleted, and its share in the storage is ours */
    bool moved;        /* that share has gone on to the buffer of a result */
    bool reading;      /* counted in storage->reads */
    int32_t becomes;   /* result that starts as a copy of it, or is it; -1: none */
    tn_storage *stage; /* a copy that the device can use; NULL: the content itself */
    tn_waiter waiter;
    tn_launch_record *launch;
} tn_launch_arg;

typedef struct {
    tn_storage *storage;
    tn_storage *stage; /* where the device writes it; NULL: the storage itself */
} tn_launch_result;

/* What custom calls and host transfers see, for all devices of a call. */
typedef struct {
    tn_ref ref;
    const struct tn_custom_call_context *context;
    void (*release)(const struct tn_custom_call_context *context);
    const struct tn_host_channels *channels;
    void (*release_channels)(const struct tn_host_channels *channels);
} tn_custom_calls;
void tn_custom_calls_release(tn_custom_calls *c); /* NULL is fine */

/* What the program of a part sees besides its memory: tn_launch.context. */
typedef struct {
    const struct tn_custom_call_context *custom_calls;
    const struct tn_host_channels *host_channels;
    tn_meeting *meeting;
    bool (*is_cancelled)(const void *launch);
    const void *launch;
} tn_launch_context;

/* The runs of one launch on several devices, until all their arguments are there. */
typedef struct {
    atomic_uint waits;
    uint32_t n;
    tn_launch_record *parts[];
} tn_launch_gang;

struct tn_launch_record {
    tn_task task;
    tn_crew_task crew_task; /* where it runs beside the queue */
    tn_completion completion;
    tn_launch_record *next, **link; /* of the device's runs in flight */
    bool listed;                    /* among them */
    tn_loaded_executable *loaded;
    tn_device *device;
    tn_code_object *code;
    tn_custom_calls *custom_calls;
    tn_meeting *meeting; /* with the other parts; NULL: it needs none */
    tn_launch_context context;
    tn_event *done; /* also the readiness of all results */
    tn_status *poison;
    atomic_bool is_poisoned; /* for the run itself, which asks without the lock */
    int launch_id;
    uint32_t replica, partition, part; /* part: which of the launch it is */
    tn_launch_gang *gang; /* the first part's while they run; NULL: it is alone, or the device has a
                             queue of its own */
    uint64_t trial_until; /* 0: it is no trial; nanoseconds */
    atomic_bool gave_up;  /* a trial that was too long */
    bool beside;  /* runs on a thread of its own, beside the queue: calls out, or may last */
    bool nested;  /* and was started from such a call */
    bool alone;   /* no other device runs its part of the same launch */
    bool writes;  /* memory of arguments, which runs in the queue may still read */
    bool entered; /* the caller runs it, and holds the launch queue */
    uint32_t n_args, n_results;
    tn_storage *temp;
    tn_launch_arg *args;
    tn_launch_result *results;
    tn_span *spans; /* arguments, then results */
};

/* Whether a run, whose program and device are set, goes beside the queue. */
bool tn_launch_is_beside(const tn_launch_record *r);
/* Starts the runs of one launch, which have all they need, and returns; they end themselves. Takes
 * `g` (malloc), which has room for n parts if n > 1. */
void tn_launch_start(tn_launch_record *const *parts, uint32_t n, tn_launch_gang *g);
/* Ends a run that was not started. */
void tn_launch_free(tn_launch_record *r);

#endif
