/* SPDX-License-Identifier: Apache-2.0 */
/* body.h - the body of a reduce, sort, scatter, map or window op, run on many independent elements
 * at once.
 *
 * Such a region takes and returns scalars. It is compiled once to a short program over arrays
 * ("lifted"): every scalar value becomes an array of n elements and each op one kernel call. A body
 * that holds something other than elementwise ops (a loop, a dot, a non-scalar value) is run
 * element by element with the interpreter instead; both give the same values. Threads: a compiled
 * body is immutable; any number of threads may run it, each with scratch of its own. */
#ifndef TN_OPS_BODY_H
#define TN_OPS_BODY_H

#include "ops/ops.h"

/* A body that is one well-known op on its arguments in order, for which evaluators have loops of
 * their own. */
typedef enum {
    TN_BODY_GENERAL,
    TN_BODY_ADD,
    TN_BODY_MULTIPLY,
    TN_BODY_MAXIMUM,
    TN_BODY_MINIMUM,
    TN_BODY_AND,
    TN_BODY_OR,
    TN_BODY_XOR,
    TN_BODY_SECOND, /* returns its second argument (scatter's plain overwrite) */
    TN_BODY_LT, /* comparators of sort and select: first < second and so on, on arguments 0 and 1 */
    TN_BODY_GT,
    TN_BODY_LE,
    TN_BODY_GE,
    TN_BODY_ARG_MAX, /* see body_arg.h */
    TN_BODY_ARG_MAX_OTHER,
    TN_BODY_ARG_MIN,
    TN_BODY_ARG_MIN_OTHER
} tn_body_shortcut;

struct tn_body {
    tn_body_shortcut shortcut;
    uint32_t n_args, n_results, n_captures;
    const tn_type *const *arg_types; /* scalars */
    const tn_type *const *result_types;
    tn_value *const *captures; /* values of the enclosing regions that it uses */
    const struct tn_body_program *program;
};

/* Elements that one call may process at most. */
#define TN_BODY_TILE 1024

/* Compiles region `r`. What it needs lives in `a`. */
tn_status *tn_body_compile(const tn_region *r, tn_arena *a, const tn_body **out) TN_MUST_USE;
/* Bytes of scratch that one run needs, aligned to 64. */
size_t tn_body_scratch(const tn_body *b);
/* Runs it on n <= TN_BODY_TILE elements. args[i] and results[i] are dense arrays of n elements of
 * the types above; captures[i] is the data of one captured tensor. A result may be the memory of an
 * argument of the same type. */
tn_status *tn_body_run(const tn_body *b, const tn_eval_context *ctx, size_t n,
                       const void *const *args, void *const *results, const void *const *captures,
                       void *scratch) TN_MUST_USE;

#endif
