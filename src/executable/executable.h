/* SPDX-License-Identifier: Apache-2.0 */
/* executable.h - a compiled program: a flat list of steps over one planned block of memory. Makes
 * no device calls.
 *
 * Immutable and reference counted; any number of threads may run one at once, each with memory of
 * its own. */
#ifndef TN_EXECUTABLE_EXECUTABLE_H
#define TN_EXECUTABLE_EXECUTABLE_H

#include "ir/ir.h"

struct tn_thread_pool;
struct tn_custom_call_context;
typedef struct tn_compile_options tn_compile_options; /* executable/compile_options.h */
typedef struct tn_executable tn_executable;

typedef struct {
    const tn_type *type;     /* tensor or token; static unless the executable is_dynamic */
    const int64_t *order;    /* of its dimensions in memory, minor to major; NULL: row-major */
    const char *memory_kind; /* "device" unless mhlo.memory_kind says otherwise */
    const tn_attr *sharding; /* sdy.sharding or mhlo.sharding, NULL: none */
    const struct tn_op_sharding *tiling; /* how it is divided; NULL: each device has all of it */
    int32_t alias; /* parameter: the result that takes its memory when donated; result: that
                      parameter; -1: none */
    bool donated;  /* parameters: tf.aliasing_output or jax.buffer_donor: deleted at dispatch */
} tn_executable_value;

typedef struct {
    const char *name;
    uint32_t num_replicas, num_partitions;
    uint32_t n_params, n_results;
    /* Sizes are known only to a run: it can't be run itself, see tn_executable_specialize. What
     * depends on sizes (temp_bytes, costs, aliases) is 0 or absent. */
    bool is_dynamic;
    const tn_executable_value *params, *results;
    size_t temp_bytes;     /* memory a run needs besides parameters and results; aligned to 64 */
    size_t constant_bytes; /* held by the executable */
    size_t code_bytes;     /* what steps and constants take */
    bool meets;            /* its devices meet each other in the run: tn_run.meeting */
    double flops, bytes_accessed; /* static estimates; loops count once */
    uint64_t cost_ns; /* rough time of one run; UINT64_MAX when a loop's trip count is unknown */
    /* Whether a run may be begun on trial: what is of unknown length are loops of machine code,
     * which look early and often whether they should end, the rest is short, and nothing but its
     * results tells that it ran. */
    bool may_be_short;
    bool calls_out; /* calls handlers from outside, which may take any time and run programs */
    char fingerprint[33]; /* 32 hex digits: equal programs and options give equal ones */
} tn_executable_info;

/* Compiles a program. format is "mlir", bytecode or text (reader/reader.h); other formats give
 * INVALID_ARGUMENT. code and options are only read during the call. On success *out has one
 * reference. */
tn_status *tn_compile(const void *code, size_t size, const char *format, size_t format_size,
                      const tn_compile_options *options, tn_executable **out) TN_MUST_USE;

tn_executable *tn_executable_retain(tn_executable *e);
void tn_executable_release(tn_executable *e);
const tn_executable_info *tn_executable_get_info(const tn_executable *e);

/* One run on one device's memory, on the calling thread (and the pool). Blocks until done. */
typedef struct {
    struct tn_thread_pool *pool;
    void *const *args;    /* [n_params], 16-byte aligned, or 64-byte ones if aliased (NULL for empty
                             ones and tokens); read only unless aliased */
    void *const *results; /* [n_results]; where a parameter aliases result i, results[i] is that
                             argument's memory */
    void *temp;           /* temp_bytes, aligned to 64 */
    uint32_t replica_id, partition_id;
    const struct tn_custom_call_context *custom_calls;
    const struct tn_host_channels *host_channels; /* what the caller serves; NULL: none */
    struct tn_meeting *meeting; /* of a run on several devices (ops/meeting.h); else NULL */
    /* Asked now and then by loops, from the thread of the run: true ends it with CANCELLED. NULL:
     * never. */
    bool (*is_cancelled)(const void *arg);
    const void *cancel_arg;
} tn_run;
tn_status *tn_executable_run(const tn_executable *e, const tn_run *run) TN_MUST_USE;

/* ---- Programs of which a run brings the sizes ---- */

/* What a run knows. */
typedef struct {
    const tn_type *const *params; /* [n_params] the types of its arguments, static */
    const void *values;           /* the results of all stages so far, end to end */
    size_t size;
} tn_sizes;

/* What a stage takes: arguments of the dynamic program, in the order of its own parameters. */
typedef struct {
    uint32_t n_params;
    const uint32_t *params;
} tn_stage;

/* The static executable of a dynamic one for these sizes. Where sizes depend on values it is a
 * stage instead: running it gives small results, and with them appended to `values` the next call
 * gets further. Equal sizes and values give equal executables, so what comes of them may be kept.
 * INVALID_ARGUMENT: the sizes contradict each other, or an assertion of the program; UNIMPLEMENTED:
 * sizes that can't be computed beforehand. May be called from many threads at once. */
tn_status *tn_executable_specialize(const tn_executable *e, const tn_sizes *sizes,
                                    tn_executable **out) TN_MUST_USE;
/* NULL: it is no stage. Lives as long as `e`. */
const tn_stage *tn_executable_stage(const tn_executable *e);
/* Can an argument of the type (static) be passed where the program says `param`? */
bool tn_executable_takes(const tn_type *param, const tn_type *type);

/* Bytes that tn_executable_deserialize turns into an equal executable in this or another process;
 * caller frees with free(). */
tn_status *tn_executable_serialize(const tn_executable *e, void **out, size_t *size) TN_MUST_USE;
/* options: NULL keeps those it was compiled with. Bytes of another version or damaged ones give
 * INVALID_ARGUMENT. "TENONDIR", the size of serialized options (8 bytes, the machine's order),
 * these and a program are taken too, and compiled: what stands for an executable is a program and
 * its options in any case. UNIMPLEMENTED where functions of CHLO in it had better be expanded
 * before. */
tn_status *tn_executable_deserialize(const void *data, size_t size,
                                     const tn_compile_options *options,
                                     tn_executable **out) TN_MUST_USE;
/* The optimized program as text in MLIR's generic form; caller frees with free(). */
tn_status *tn_executable_print(const tn_executable *e, char **out, size_t *size) TN_MUST_USE;
/* The serialized CompileOptionsProto that it was compiled with; lives as long as e. */
const void *tn_executable_compile_options(const tn_executable *e, size_t *size);

#endif
