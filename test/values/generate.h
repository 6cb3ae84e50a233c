/* SPDX-License-Identifier: Apache-2.0 */
/* generate.h - random valid programs, a function of the seed alone.
 *
 * The generator builds IR; inference gives the result types, so that what an op needs stands in one
 * place. An op that inference refuses is left out and counted: a form that is never built shows in
 * the table that `fuzz-values --forms` prints. Everything lives in the module's arena. */
#ifndef TN_TEST_VALUES_GENERATE_H
#define TN_TEST_VALUES_GENERATE_H

#include "ops/ops.h"

#define VALUES_ROOM     384  /* visible values; later ones are not offered to others */
#define VALUES_ELEMENTS 6000 /* of one tensor, at most */
#define VALUES_DIMS     10

typedef struct {
    uint32_t rank;
    int64_t dims[VALUES_DIMS];
} values_shape;

/* What is being built. */
typedef struct {
    tn_arena *arena;
    tn_module *module;
    tn_function *function;
    tn_region *region; /* ops are appended here */
    uint64_t state;
    tn_value *values[VALUES_ROOM]; /* those that the next op may use */
    uint32_t n;
    bool scalars; /* inside a body whose values are scalars: nothing but elementwise ops */
    uint32_t depth;
    /* Few shapes and types, so that values meet. */
    values_shape shapes[7];
    tn_element_type types[4];
    uint32_t n_functions;
} values_gen;

/* Builds a module with a main that verifies, or says why not. */
tn_status *values_generate(tn_module *m, uint64_t seed) TN_MUST_USE;
/* How often each op was built and refused; [TN_OP_COUNT]. */
extern uint64_t values_built[TN_OP_COUNT], values_refused[TN_OP_COUNT];

/* --- random numbers --- */

uint64_t values_random(uint64_t *state);
static inline uint32_t below(values_gen *g, uint32_t n)
{
    return (uint32_t)((values_random(&g->state) >> 33) % n);
}
static inline bool one_in(values_gen *g, uint32_t n)
{
    return below(g, n) == 0;
}
/* Set: no subnormals of f32, f64 and bf16, which XLA flushes. */
extern bool values_no_subnormals;
/* n elements of a type: mostly small numbers, now and then zeros of both signs, subnormals, limits,
 * infinities and NaNs. */
void values_fill(uint64_t *state, tn_element_type e, int64_t n, void *out);

/* --- what generators of ops share (pick.c) --- */

const tn_type *values_type(values_gen *g, tn_element_type e, const values_shape *s);
values_shape values_shape_of(const tn_type *t);
int64_t values_elements(const values_shape *s);
const values_shape *values_some_shape(values_gen *g);
/* A random element type of the classes (bits 1 << TN_CLASS_x), those of this program first. */
tn_element_type values_some_type(values_gen *g, unsigned classes);

#define ANY_CLASS     (~0u)
#define INTEGER_CLASS (1u << TN_CLASS_SINT | 1u << TN_CLASS_UINT)
#define FLOAT_CLASS   (1u << TN_CLASS_FLOAT)
#define COMPLEX_CLASS (1u << TN_CLASS_COMPLEX)
#define NUMBER_CLASS  (INTEGER_CLASS | FLOAT_CLASS | COMPLEX_CLASS)

void values_offer(values_gen *g, tn_value *v);
/* A visible value whose element is of the classes and whose rank is in [low, high]; one is made
 * when there is none. */
tn_value *values_pick(values_gen *g, unsigned classes, uint32_t low, uint32_t high);
/* A visible value of this type, or a new constant, iota or broadcast. */
tn_value *values_like(values_gen *g, const tn_type *t);
tn_value *values_constant(values_gen *g, const tn_type *t);
tn_value *values_constant_of(values_gen *g, const tn_type *t, const void *data);
tn_value *values_ints(values_gen *g, const int64_t *v, uint32_t n); /* a tensor<nxi64> */
/* v with NaNs replaced: their sign and payload are not specified, so nothing may look at them. */
tn_value *values_without_nan(values_gen *g, tn_value *v);

/* An op in the current region; its results have no type yet. */
tn_op *values_op(values_gen *g, tn_op_kind kind, uint32_t n, tn_value *const *operands,
                 uint32_t n_results, uint32_t n_regions);
/* Gives the results the inferred types and offers them. False: it was refused, and is gone. */
bool values_finish(values_gen *g, tn_op *op);
/* Sets the declared type of result 0, which the op's inference only checks. */
static inline void values_declare(tn_op *op, const tn_type *t)
{
    op->results[0].type = t;
}

void values_set_int(values_gen *g, tn_op *op, tn_attr_name name, int64_t v);
void values_set_bool(values_gen *g, tn_op *op, tn_attr_name name, bool v);
void values_set_ints(values_gen *g, tn_op *op, tn_attr_name name, const int64_t *v, uint32_t n);
void values_set_matrix(values_gen *g, tn_op *op, tn_attr_name name, const int64_t *v,
                       uint32_t rows);

/* Begins region i of op with arguments of these types; gives the region that was current. */
tn_region *values_enter(values_gen *g, tn_op *op, uint32_t i, const tn_type *const *args,
                        uint32_t n);
void values_return(values_gen *g, uint32_t n, tn_value *const *results);
/* Region i of op combines scalars: args are of the types, twice over; results of the first. */
void values_combiner(values_gen *g, tn_op *op, uint32_t i, const tn_type *const *types, uint32_t n);

/* A random permutation of [0, n). */
void values_permutation(values_gen *g, int64_t *out, uint32_t n);

/* --- families of ops --- */

void values_elementwise(values_gen *g);
void values_movement(values_gen *g);
void values_indexing(values_gen *g);
void values_reductions(values_gen *g);
void values_products(values_gen *g);
void values_control(values_gen *g);
void values_quantized(values_gen *g);
/* n ops of any family. */
void values_ops(values_gen *g, uint32_t n);

#endif
