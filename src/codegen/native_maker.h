/* SPDX-License-Identifier: Apache-2.0 */
/* native_maker.h - how native.c's loops are made, op by op.
 *
 * A maker goes through the ops of a loop in order and emits instructions into pieces, which
 * jit_flow.h puts together. Values are taken apart: one instruction for each of a few elements, or
 * for each strip at hand. What a later piece wants is kept in variables of the stack.
 *
 * A function that can't do something sets `failed`, and there will be no code for the loop; what
 * it returned may be used until the next check. */
#ifndef TN_CODEGEN_NATIVE_MAKER_H
#define TN_CODEGEN_NATIVE_MAKER_H

#include "codegen/cluster.h"
#include "codegen/jit_flow.h"

#define TN_MAKER_FEW      8     /* elements of a value that is taken apart into scalars */
#define TN_MAKER_ELEMENTS 20000 /* of all values together */

/* One scalar, or the part of a strip that is at hand: an instruction of the piece that is being
 * made, or a variable of the stack. */
typedef struct {
    tn_jv v;
    uint32_t piece;
    int32_t variable; /* -1: none */
    tn_element_type type;
} tn_part;

/* What a value of the program is here. */
enum { TN_KNOWN_SCALARS = 1, TN_KNOWN_ARRAY };
typedef struct {
    uint8_t kind, n;
    uint32_t first;         /* of tn_maker.elements; of an array: its offset, if it has one */
    uint32_t port, version; /* of an array */
    bool has_offset;
    bool is_wide; /* n parts of strips */
} tn_known;

/* How an array is used where there are strips. */
enum {
    TN_READS_ONE = 1,
    TN_WRITES_ONE = 2,
    TN_READS_STRIPS = 4,
    TN_WRITES_STRIPS = 8,
};

typedef struct {
    tn_cluster_context *c;
    const tn_op *loop;
    tn_jit_flow flow;
    tn_jit_piece piece;
    uint32_t piece_number;
    bool failed, is_too_wide; /* so many lanes of 8 bytes there aren't */

    tn_known *values;             /* [n_values]: c->natives */
    uint32_t *uses;               /* [n_values]: that are still to come */
    uint32_t *touched, n_touched; /* ids that have an entry */
    tn_part *elements;
    uint32_t n_elements, n_variables;
    uint32_t *made, n_made; /* values that this piece made: candidates for variables */

    const tn_value *ports[TN_JIT_PORTS];
    uint32_t versions[TN_JIT_PORTS];
    bool is_changed[TN_JIT_PORTS], is_viewed[TN_JIT_PORTS];
    uint8_t usage[TN_JIT_PORTS];
    int64_t strip; /* elements of one; 0: there are none */
    uint32_t lanes, unroll;
    uint32_t n_ports;
    uint32_t n_instructions;
} tn_maker;

/* Sets `failed`; false. */
bool tn_maker_fail(tn_maker *m);

/* --- native_values.c: what values are made of --- */

/* The value that `v` stands for. */
const tn_value *tn_maker_source(const tn_value *v);
/* -1: their number isn't known, or it is no tensor. */
int64_t tn_maker_elements_of(const tn_value *v);
/* The first of the innermost dimensions that are a strip; -1: there is none. */
int tn_maker_strip_dim(int64_t strip, const tn_type *t);
/* Strips of a value; 0: it isn't made of some, or of too many. */
int64_t tn_maker_strips_of(int64_t strip, const tn_value *v);
/* Can a value be taken apart? */
bool tn_maker_is_apart(int64_t strip, const tn_value *v);
bool tn_maker_is_scalars(const tn_maker *m, const tn_value *v); /* the same, for m's strips */
bool tn_maker_is_wide(const tn_maker *m, const tn_value *v);    /* is it strips? */

/* How often the values of a region, and of those inside, are used yet. */
void tn_maker_count_uses(tn_maker *m, const tn_region *r);
void tn_maker_forget_uses(tn_maker *m, const tn_region *r);

tn_known *tn_maker_bind(tn_maker *m, const tn_value *v, tn_known k);
/* Makes `v` that many new elements that have nothing yet. */
tn_known *tn_maker_bind_scalars(tn_maker *m, const tn_value *v);
/* n elements that have nothing yet; the first one's place. */
uint32_t tn_maker_add_elements(tn_maker *m, uint32_t n, tn_element_type e);

/* The type by which a variable holds one of e: what is in a register, as it is there. */
tn_element_type tn_maker_held_as(tn_element_type e);
/* The element at `at` in this piece, and what it is from now on. */
tn_jv tn_maker_get(tn_maker *m, uint32_t at);
void tn_maker_set(tn_maker *m, uint32_t at, tn_jv v);
/* Stores the element at `from` to the variable of the one at `at`, which gets one if it had none.
 */
void tn_maker_keep(tn_maker *m, uint32_t at, uint32_t from);

/* Part e of what a port's memory holds; `wide`: of strips. */
tn_jv tn_maker_load_part(tn_maker *m, uint32_t port, bool wide, uint32_t e, tn_element_type type);
void tn_maker_store_part(tn_maker *m, uint32_t port, bool wide, uint32_t e, tn_element_type type,
                         tn_jv v);

/* The scalars of an operand; NULL where it isn't such. */
const tn_known *tn_maker_scalars(tn_maker *m, const tn_value *v);
/* An array, as memory that has its content now; NULL where it isn't such. */
const tn_known *tn_maker_array(tn_maker *m, const tn_value *v);

/* --- native_ops.c: ops without regions, and scatter --- */

/* Does the op only choose and reorder elements? */
bool tn_maker_is_movement(const tn_op *op);
bool tn_maker_make_elementwise(tn_maker *m, const tn_op *op);
bool tn_maker_make_movement(tn_maker *m, const tn_op *op);
bool tn_maker_make_dynamic_slice(tn_maker *m, const tn_op *op);
bool tn_maker_make_update(tn_maker *m, const tn_op *op);
/* Of one element: where it is outside of the array, what is there is written again. */
bool tn_maker_make_scatter(tn_maker *m, const tn_op *op);
/* a where the mask is set, else b. */
tn_jv tn_maker_choose(tn_maker *m, tn_element_type e, tn_jv mask, tn_jv a, tn_jv b);

/* --- native_reduce.c --- */

bool tn_maker_make_reduce(tn_maker *m, const tn_op *op);

/* --- native_flow.c: regions, loops and branches --- */

/* No jumps inside? */
bool tn_maker_is_straight(const tn_region *r);
void tn_maker_begin_piece(tn_maker *m);
/* What this piece has made and others want goes to variables. */
void tn_maker_end_piece(tn_maker *m);
/* All ops of a region but the one that ends it. */
bool tn_maker_make_ops(tn_maker *m, const tn_region *r);
/* `outermost`: the loop of the code itself, whose carried values are in ports. */
bool tn_maker_make_while(tn_maker *m, const tn_op *op, bool outermost);

#endif
