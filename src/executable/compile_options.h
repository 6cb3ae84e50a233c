/* SPDX-License-Identifier: Apache-2.0 */
/* compile_options.h - what a framework asks of a compilation, out of xla's CompileOptionsProto.
 *
 * Fields that Tenon has no use for are skipped, so that newer frameworks are understood too.
 * Immutable once made, and free of the bytes it was made from. Threads: any. */
#ifndef TN_EXECUTABLE_COMPILE_OPTIONS_H
#define TN_EXECUTABLE_COMPILE_OPTIONS_H

#include "executable/device_assignment.h"

/* Part of a serialised message. */
typedef struct {
    const void *data;
    size_t size;
} tn_proto_span;

typedef enum {
    TN_OVERRIDE_STRING,
    TN_OVERRIDE_BOOL,
    TN_OVERRIDE_INT,
    TN_OVERRIDE_DOUBLE
} tn_override_kind;

/* One of the user's compiler_options, e.g. {"xla_foo": True}. */
typedef struct {
    const char *name;
    tn_override_kind kind;
    union {
        const char *string;
        bool boolean;
        int64_t integer;
        double number;
    };
} tn_option_override;

/* Layouts that the caller wants, ShapeProto each; only the layouts in them count. */
typedef struct {
    const tn_proto_span *arguments;
    size_t n_arguments;
    tn_proto_span result; /* size 0: not said */
} tn_layout_wishes;

typedef struct tn_compile_options {
    int64_t device_ordinal; /* -1: not said */
    int64_t num_replicas;   /* 1 or more */
    int64_t num_partitions; /* 1 or more */
    tn_device_assignment device_assignment;

    bool use_spmd_partitioning;
    bool use_shardy_partitioner;
    /* Whether the compiler may choose shardings that the program leaves open: one for all, or one
     * for each parameter or result. */
    const bool *propagate_to_parameters, *propagate_to_results;
    size_t n_propagate_to_parameters, n_propagate_to_results;

    bool compile_portable;         /* run on whatever device Execute names */
    bool tupled_arguments;         /* the program takes one tuple (HLO only) */
    bool alias_passthrough_params; /* a parameter that is returned as it is may share its memory */
    bool may_change_program;       /* allow_in_place_mlir_modification */
    int64_t optimization_level, memory_fitting_level; /* 0: not said; O0 is 9, O1 19, ... */
    int64_t device_memory_size;                       /* bytes, 0: not said */
    int64_t process_index, process_count, slice_size;

    tn_layout_wishes layouts;

    const tn_option_override *overrides; /* if a name comes twice, the last one counts */
    size_t n_overrides;

    tn_proto_span serialized; /* the whole message as it came */
    tn_arena *arena;          /* holds all the above */
} tn_compile_options;

/* INVALID_ARGUMENT if the bytes are no such message, or contradict themselves. size 0 gives the
 * defaults. The caller ends *out with tn_compile_options_free. */
tn_status *tn_compile_options_decode(const void *data, size_t size,
                                     tn_compile_options **out) TN_MUST_USE;
void tn_compile_options_free(tn_compile_options *o); /* NULL is fine */

#endif
