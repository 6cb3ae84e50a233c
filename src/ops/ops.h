/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - what the ops of ops.def do: shape inference with verification, and evaluation.
 *
 * An inference function checks every constraint of the specification that can be checked on types
 * and attributes and gives the result types. An evaluator computes an op on dense row-major
 * tensors, straight from the specification. Evaluators are the oracle for every faster way to the
 * same value; they are typed loops, so large tensors take milliseconds. Both are found through the
 * table, by the names in ops.def. */
#ifndef TN_OPS_OPS_H
#define TN_OPS_OPS_H

#include "ir/ir.h"

struct tn_thread_pool;
typedef struct tn_body tn_body; /* see ops/body.h */

/* Working memory of one execution: grows, is reused from step to step, freed at the end. One thread
 * at a time: take what parallel parts need before they start. */
typedef struct tn_scratch {
    struct tn_scratch_chunk *chunks;
} tn_scratch;
/* `size` bytes aligned to 64, not zeroed; NULL when out of memory. Valid until the next reset. */
void *tn_scratch_alloc(tn_scratch *s, size_t size);
void tn_scratch_reset(tn_scratch *s);   /* everything handed out may be reused */
void tn_scratch_release(tn_scratch *s); /* frees it */
/* Frees it unless it holds no more than `bytes`. */
void tn_scratch_trim(tn_scratch *s, size_t bytes);

/* Is told of each op that the interpreter has run, those of loops and branches included, bodies of
 * reductions and the like not. */
typedef struct tn_eval_observer {
    void (*op_done)(const struct tn_eval_observer *self, const tn_op *op, const tn_tensor *operands,
                    const tn_tensor *results);
} tn_eval_observer;

/* What an evaluator may use besides its operands. */
typedef struct tn_eval_context {
    struct tn_thread_pool *pool; /* NULL: run on the caller alone */
    tn_scratch *scratch;         /* reset before each op by the caller of the evaluator */
    uint32_t replica_id, partition_id;
    const tn_body *const *bodies; /* one for each region of the op, compiled beforehand */
    const void *prepared;         /* of an op that is prepared (ops/prepared.h) */
    /* For what an operand that stays the same in many runs of the op is packed into: NULL at first,
     * memory for free() afterwards. NULL: the op is run once. */
    void **packed;
    /* What only custom calls use: data of the run's caller (or NULL), and of the op's handler. */
    const struct tn_custom_call_context *custom_calls;
    struct tn_custom_call *call;
    void *call_run;
    const tn_eval_observer *observer;             /* of the interpreter; NULL: nobody */
    const struct tn_host_channels *host_channels; /* NULL: none (ops/host_channel.h) */
    struct tn_meeting *meeting; /* the other devices of the run; NULL: it has one (ops/meeting.h) */
} tn_eval_context;

/* Checks `op` against the specification and gives its result types in out[n_results]. Where the
 * declared type is part of the op (reshape, iota, convert ...) that type is checked and given back.
 * Types may be dynamic. */
typedef tn_status *(*tn_infer_fn)(const tn_op *op, tn_arena *a, const tn_type **out);

/* Computes results from operands. All types are static. operands[] holds the op's operands, then
 * the values that the bodies of its regions capture, in the order of ctx->bodies. Results never
 * overlap operands unless the op has IN_PLACE, and then result i may be operand i, or is
 * ELEMENTWISE, and then a result may be an operand of the same type. */
typedef tn_status *(*tn_eval_fn)(const tn_op *op, const tn_eval_context *ctx,
                                 const tn_tensor *operands, tn_tensor *results);

typedef struct {
    tn_infer_fn infer;
    tn_eval_fn
        eval; /* NULL: control flow, which the executable and the interpreter do themselves */
} tn_op_behaviour;

extern const tn_op_behaviour tn_op_behaviours[TN_OP_COUNT];

/* Checks one op: numbers of operands, results and regions, attributes present and of their kind,
 * then its inference against the declared result types. */
tn_status *tn_op_verify(const tn_op *op, tn_arena *a) TN_MUST_USE;
/* Checks a module: every op, terminators, dominance, calls and signatures. Numbers its values. */
tn_status *tn_module_verify(tn_module *m) TN_MUST_USE;
/* Is `declared` what `inferred` allows? Dynamic dimensions match any size. */
bool tn_type_compatible(const tn_type *inferred, const tn_type *declared);

#endif
