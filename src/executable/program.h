/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - what an executable is made of. Only this folder sees it. */
#ifndef TN_EXECUTABLE_PROGRAM_H
#define TN_EXECUTABLE_PROGRAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/trace.h"
#include "executable/compile_options.h"
#include "executable/executable.h"
#include "executable/plan.h"
#include "executable/small.h"
#include "type/op_sharding_proto.h"

/* A tensor's memory is at bases[base] + offset, where bases are found when a run starts; behind
 * parameters and results are those of windows, which steps find. */
enum { TN_BASE_FIXED, TN_BASE_TEMP, TN_BASE_FIRST_PARAM };
typedef struct {
    const tn_type *type;
    uint64_t offset;
    uint32_t base;
} tn_step_ref;

typedef enum {
    TN_STEP_TILE,   /* a tile program on refs: inputs, then outputs */
    TN_STEP_ROWS,   /* tile programs and reductions on refs: inputs, then outputs */
    TN_STEP_NATIVE, /* a loop as machine code, on refs */
    TN_STEP_SCALAR, /* scalar(refs[0], refs[1], refs[2]) */
    TN_STEP_WINDOW, /* a dynamic slice, or an update in place; refs as in EVAL */
    TN_STEP_LOOK,   /* makes the base of the last ref the place of that window of refs[0] */
    TN_STEP_EVAL,   /* eval(op) on refs: n_operands operands, then n_results results */
    TN_STEP_FILL,   /* refs[0] with copies of `element` */
    TN_STEP_COPY,   /* refs[0] to refs[1], `bytes` */
    TN_STEP_JUMP,   /* to `target` */
    TN_STEP_UNLESS, /* to `target` unless the i1 in refs[0] */
    TN_STEP_SWITCH, /* to targets[i32 in refs[0]], the last of n_targets when out of range */
    TN_STEP_END
} tn_step_kind;

/* Up to here the bases, and the tensors of a step, stand on the stack of a run; more of them stand
 * in the temp block. */
#define TN_FEW_REFS 256

/* Parts of the program that need nothing of each other: part i is steps [first[i], first[i + 1]) */
#define TN_TOGETHER_REFS 64 /* of one of their steps, at most */
typedef struct {
    uint32_t n;
    double part_ns; /* of one, on average */
    uint32_t first[];
} tn_together;

typedef struct {
    uint8_t kind;
    uint32_t n_operands, n_results;
    uint32_t target;
    uint32_t n_targets;
    float ns; /* about what it takes on one thread, of those that TN_STEP_EVAL and before name */
    const tn_together *together; /* begins here, or NULL */
    const tn_step_ref *refs;
    const tn_op *op;
    union {
        struct {
            tn_eval_fn eval;
            const tn_body *const *bodies;
            const void *prepared;
            uint32_t pack; /* of a product: which of the run's packed operands it has, plus 1 */
            struct tn_custom_call *call; /* of a custom call whose handler is from outside */
        };
        struct {
            size_t bytes;
            const tn_literal *element;
        };
        const uint32_t *targets;
        const tn_tile_program *tile;
        const tn_native *native;
        const tn_rows *rows;
        tn_scalar_fn *scalar;
        const tn_window *window;
    };
} tn_step;

struct tn_executable {
    tn_executable_info info;
    atomic_uint references;
    tn_arena *arena; /* holds all but the executable itself */
    tn_module *module;

    tn_jit_memory machine_code;
    const tn_step *steps;
    uint32_t n_steps;
    const struct tn_signature *signature; /* NULL: that of the module */
    uint32_t n_bases, refs_at_most;       /* of one step */
    uint32_t n_calls;                     /* steps that have a call */
    uint32_t n_packs;                     /* operands that stay packed during a run */
    bool has_staged_calls;
    size_t bases_at, tensors_at; /* offsets in the temp block, where they are many */

    /* Programs of unknown sizes: what refining makes of the module for one set of sizes is an
     * executable of its own, which shares code, types and constants with its base. */
    bool fuse, as_it_is;
    tn_executable *base; /* retained; NULL: none */
    tn_stage stage;
    bool is_stage;
    unsigned checks; /* TN_CHECK_VALUES and so on, for every run */
    int threads;     /* at most; 0: as many as the client has */

    const void *code, *options; /* as they came, for serialization */
    size_t code_size, options_size;

    _Atomic(const tn_trace_label **) labels; /* [n_steps], made when a run is first recorded */

    _Atomic(struct tn_scratch_chunk *) scratch; /* kept from the last run for the next one */

    uint64_t twin_hash; /* of twins.c */
    tn_executable *next_twin;
    bool is_twin;

    /* Texts of locations are made on demand, one at a time, in an arena of their own. */
    const tn_locator *locator;
    pthread_mutex_t location_lock;
    tn_arena *location_arena;
};

/* An executable with an arena and one reference. */
tn_status *tn_executable_new(tn_executable **out) TN_MUST_USE;
/* Plans the module, whose passes have run, and makes the steps. */
tn_status *tn_plan_module(tn_executable *e, bool fuse) TN_MUST_USE;
/* Lets messages say where ops come from long after the compilation. */
void tn_keep_locations(tn_executable *e);
/* For a module that does not say all sizes. Where they follow from the module alone it becomes a
 * copy that says them; else the executable is_dynamic, and described. */
tn_status *tn_find_sizes(tn_executable *e) TN_MUST_USE;

/* Makes the steps of a finished plan. */
void tn_make_steps(const tn_plan *p, tn_executable *e);

/* Makes the calls of the steps that have a handler from outside, and ends them. */
tn_status *tn_make_calls(tn_executable *e) TN_MUST_USE;
void tn_end_calls(tn_executable *e);
/* Before and after a run of an executable with staged calls: what they leave is in runs[n_calls],
 * all NULL at first. tensors: room for the most refs of a step. */
typedef struct {
    const tn_executable *e;
    const uintptr_t *bases;
    tn_tensor *tensors;
    tn_eval_context *ctx;
    void **runs;
} tn_calls_run;
tn_status *tn_prepare_calls(const tn_calls_run *r) TN_MUST_USE;
void tn_finish_calls(const tn_calls_run *r);

/* Puts parallel moves into an order in which no source is overwritten before it is read. Moves to
 * where they come from are dropped; a cycle is broken through `spare`. Gives the number of pairs
 * left in out (room for 2n). */
typedef struct {
    tn_step_ref from, to;
    size_t bytes;
} tn_copy;
uint32_t tn_order_moves(tn_arena *a, const tn_copy *moves, uint32_t n, tn_step_ref spare,
                        tn_copy *out);

/* What recordings call the steps; NULL without memory. Lives as long as e. */
const tn_trace_label *const *tn_step_labels(tn_executable *e);
/* Bytes that a step or an op reads and writes (of what is sliced or gathered from, and of what is
 * written in place, only the part), and its operations on elements, a multiply-add being two. */
double tn_step_bytes(const tn_step *s);
double tn_step_flops(const tn_step *s);
double tn_op_bytes(const tn_op *op);
double tn_op_flops(const tn_op *op);
double tn_tile_flops(const tn_tile_program *t);
double tn_rows_flops(const tn_rows *r);

/* A line per step, for people (TN_DUMP=steps). */
void tn_dump_steps(const tn_executable *e, FILE *f);
/* Aliasing of parameters by results, from the attributes of main's arguments: aliases[parameters]
 * is the result or -1. */
tn_status *tn_find_aliases(const tn_module *m, int32_t *aliases) TN_MUST_USE;
/* Parameters and results as callers see them. */
typedef struct {
    const tn_type *type;
    const int64_t *order; /* NULL: row-major */
} tn_layout_of_value;
typedef struct tn_signature {
    tn_layout_of_value *params, *results;
} tn_signature;
/* Makes everything row-major within the program, after verification; see layouts.c. `wishes` count
 * where the program leaves a layout open. *out stays NULL where all was row-major already. */
tn_status *tn_apply_layouts(tn_module *m, const tn_layout_wishes *wishes,
                            const tn_signature **out) TN_MUST_USE;
/* What a Shardy sharding says of devices; NULL: each has everything. */
const tn_op_sharding *tn_tiling_of(const tn_module *m, const tn_attr *sharding, tn_arena *a);
/* Fills in what the signature says; NULL: that of main. */
void tn_describe(const tn_module *m, const tn_signature *s, const int32_t *aliases, tn_arena *a,
                 tn_executable_info *info);
/* Finds parts of the program that may run at the same time, where they take `least_ns` in all, and
 * no step of theirs is one that threads share anyway. */
void tn_find_together(tn_executable *e, double least_ns);
/* What an item but a loop in machine code takes on one thread, about. */
double tn_item_ns(const tn_plan *p, const tn_item *item);
/* Fills in flops, bytes_accessed and cost_ns. */
void tn_estimate_cost(const tn_plan *p, tn_executable_info *info);

#endif
