/* SPDX-License-Identifier: Apache-2.0 */
/* rows_code_maker.h - code of rows while it is made; for rows_code.c, which puts its pieces
 * together, rows_code_values.c and rows_code_folds.c alone.
 *
 * A row is gone through in phases: what is reduced in one is there in the next. In a phase, steps
 * of so many columns as a fold has lanes, in groups that are vectors of the machine. Threads: one.
 */
#ifndef TN_CODEGEN_ROWS_CODE_MAKER_H
#define TN_CODEGEN_ROWS_CODE_MAKER_H

#include "codegen/jit_flow.h"
#include "codegen/rows_code.h"

enum { TN_ROW_PHASES = 8, TN_ROW_GROUPS = 64 /* of lanes, in a step of columns; turned columns */ };
/* Memory of lanes of a fold: see kernels/reduce_rows.h. */
enum { TN_ROW_LANE_BYTES = 256 };

/* A reduction. */
typedef struct {
    const tn_rows_step *step;
    const tn_op *body; /* its one op */
    tn_op_kind kind;
    tn_element_type from, to;
    unsigned bytes; /* of an accumulator */
    bool is_float, by_range;
    uint32_t phase, var, total, bad; /* variables: accumulators, totals, NaN */
} tn_row_fold;

typedef struct {
    tn_jit *jit;
    tn_arena *arena;
    const tn_rows *p;
    int64_t columns;
    uint32_t lanes, groups, step; /* of a vector; vectors in a step of columns; its columns */
    uint32_t whole, rest;         /* columns in steps, and behind them */
    bool one_piece;               /* a row is no more than a step */
    int64_t turned;               /* rows that are turned at once, or 0: groups are columns */
    tn_rows_turned moves[TN_ROWS_CODE_PORTS];
    uint32_t n_moves;
    bool streams;
    uint32_t asks; /* the phase that asks for what the next row reads; 0: none does */
    tn_jit_flow flow;
    tn_rows_port ports[TN_ROWS_CODE_PORTS];
    uint32_t n_ports;
    bool has_maps, failed;
    int64_t n_counts;
    tn_row_fold folds[TN_ROWS_STEPS];
    uint32_t n_folds, n_phases, n_variables;
    int64_t kept_bytes;
    /* of values: when they are there first, who makes them */
    uint8_t phase[TN_ROWS_VALUES];
    uint8_t read_first[TN_ROWS_VALUES]; /* 1 + the phase; 0: not yet */
    bool is_made[TN_ROWS_VALUES], is_row[TN_ROWS_VALUES], is_kept[TN_ROWS_VALUES];
    bool is_read_again[TN_ROWS_VALUES]; /* in a later phase */
    uint64_t kept_from[TN_ROWS_VALUES]; /* see tn_rows */
    uint32_t maker[TN_ROWS_VALUES], var[TN_ROWS_VALUES], port[TN_ROWS_VALUES];
    uint32_t by[TN_ROWS_VALUES]; /* 1 + the variable of a row's reciprocal; 0: none divides by it */
    /* of the piece at hand */
    tn_jit_piece piece;
    uint32_t now;    /* the phase */
    uint32_t masked; /* the group of lanes that isn't whole, or TN_ROW_GROUPS */
    tn_jv made[TN_ROW_GROUPS][TN_ROWS_VALUES], row[TN_ROWS_VALUES], splat[TN_ROWS_CODE_PORTS];
    tn_jv reciprocal[TN_ROWS_VALUES];
    tn_jv acc[TN_ROWS_STEPS][TN_ROW_GROUPS], bad[TN_ROWS_STEPS];
    tn_jv unseen[TN_ROWS_STEPS];    /* what hasn't been looked at for NaN */
    uint64_t stored[TN_ROW_GROUPS]; /* bits of values */
} tn_row_maker;

/* No value; and an attribute of functions that run once for each group, which keeps them small. */
#define NONE  TN_JIT_NO_VALUE
#define SMALL __attribute__((cold))

/* --- values --- */

/* Says when each step can be done; false: there is one that can't. */
bool tn_row_find_phases(tn_row_maker *m);
/* Chooses the phase that asks early: behind the first, the one with most to compute. */
void tn_row_find_asking(tn_row_maker *m);
/* In the steps of phase `now`: asks for the elements at hand of the next row, where this is the
 * phase that does, and of rows that a later phase writes. */
void tn_row_ask(tn_row_maker *m);
/* Gives rows by which columns are divided a variable for their reciprocals. */
void tn_row_find_divisors(tn_row_maker *m);
/* Decides what has memory of a row: outputs, and what is read in a later phase and costs much. */
void tn_row_keep_what_is_read(tn_row_maker *m);
/* The port like *p. */
uint32_t tn_row_port(tn_row_maker *m, const tn_rows_port *p);
/* The port of what is turned of a value: of its columns, or of one number a row. */
uint32_t tn_row_turned_port(tn_row_maker *m, uint32_t ref, int64_t columns, bool is_output);
/* Where group `group` of a value is, in elements. */
uint64_t tn_row_group_at(const tn_row_maker *m, tn_element_type e, uint32_t group);
/* An instruction; 0, and m->failed, where the piece has too many. */
tn_jv tn_row_emit(tn_row_maker *m, tn_jit_op op, unsigned bytes, unsigned imm, unsigned n, tn_jv a,
                  tn_jv b, tn_jv c);
/* The first element of a port. */
tn_jv tn_row_splat(tn_row_maker *m, uint32_t port, tn_element_type e);
tn_jv tn_row_truth(tn_row_maker *m, bool x);
tn_jv tn_row_constant(tn_row_maker *m, const void *data, tn_element_type e);
/* Value `ref` of a group of lanes: made, made again, or from memory. */
tn_jv tn_row_column_value(tn_row_maker *m, uint32_t ref, uint32_t group);
/* Emits a tile program for a group of lanes. */
void tn_row_run_tile(tn_row_maker *m, const tn_rows_step *s, uint32_t group);

static inline tn_element_type tn_row_element(const tn_row_maker *m, uint32_t ref)
{
    return m->p->values[ref].value->type->element;
}

/* --- folds --- */

/* False where it can't be done. */
bool tn_row_prepare_fold(tn_row_maker *m, tn_row_fold *f);
/* Does the order matter? */
bool tn_row_is_inexact(const tn_row_fold *f);
/* Of variables with its accumulators. */
tn_element_type tn_row_fold_type(const tn_row_fold *f);
/* What changes nothing. */
tn_jv tn_row_neutral(tn_row_maker *m, const tn_row_fold *f);
/* As the op does. */
tn_jv tn_row_combine(tn_row_maker *m, const tn_row_fold *f, tn_jv a, tn_jv b);
/* Group `g` of the operand of fold `at` joins m->acc. */
void tn_row_accumulate(tn_row_maker *m, uint32_t at, uint32_t g);
/* Notes NaN in v and in what hasn't been looked at, if there is any. */
void tn_row_note_nan(tn_row_maker *m, uint32_t at, tn_jv v);
/* Makes one value of m->acc, and with the initial one the result. */
void tn_row_finish_fold(tn_row_maker *m, uint32_t at);

#endif
