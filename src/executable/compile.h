/* SPDX-License-Identifier: Apache-2.0 */
/* compile.h - the way from a module to an executable, for tn_compile, deserialization and tests. */
#ifndef TN_EXECUTABLE_COMPILE_H
#define TN_EXECUTABLE_COMPILE_H

#include "executable/compile_options.h"
#include "executable/executable.h"

struct tn_source;
/* Makes the module in `a`. */
typedef tn_status *tn_source_read(const struct tn_source *self, tn_arena *a, tn_module **out);

typedef struct tn_source {
    tn_source_read *read;
    const void *code, *options; /* copied into the executable; code is what read reads */
    size_t code_size, options_size;
    const void *read_ctx; /* for read */
    /* How many of each the program runs as, if the caller says more than the program does. */
    int64_t num_replicas, num_partitions;
    tn_layout_wishes layouts;
    uint64_t fail_at; /* test hook: see tn_arena_fail_at */
    bool unfused;     /* every elementwise op by itself */
    bool as_it_is;    /* no verification, and no passes but those that are needed */
} tn_source;

/* Reads bytecode or text, whichever source->code is. */
tn_status *tn_read_program(const tn_source *source, tn_arena *a, tn_module **out) TN_MUST_USE;
tn_status *tn_compile_source(const tn_source *source, tn_executable **out) TN_MUST_USE;
/* The same; UNIMPLEMENTED where it has functions of CHLO that run slowly unless they are expanded
 * before (kernels/special.h). */
tn_status *tn_read_direct(const tn_source *source, tn_arena *a, tn_module **out) TN_MUST_USE;
/* Compiles bytecode with options as they were stored, or with `options` if they are given. `read`
 * is one of the two above. */
tn_status *tn_compile_stored(tn_source_read *read, const void *code, size_t code_size,
                             const void *stored_options, size_t stored_options_size,
                             const tn_compile_options *options, tn_executable **out) TN_MUST_USE;

#endif
