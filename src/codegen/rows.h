/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - tile programs, reductions of rows and matrix products that run together, some rows at a
 * time.
 *
 * A softmax, a layer norm and the like are reductions along the rows of an array, between tile
 * programs over its elements or its rows; an attention has a product before and behind, a dense
 * layer a tile program behind its product. All of them go through a block of rows before the next
 * block is begun: what one leaves for the next is still in the cache, and what only they read has
 * no memory but that of one block. Each computes as it does alone: same bits.
 *
 * Where lines are columns, or cut into shares (see ops/lines.h), tile programs and the reductions
 * of what they make go through a share together, by chunks.
 *
 * Threads: immutable; any number of threads may run it. */
#ifndef TN_CODEGEN_ROWS_H
#define TN_CODEGEN_ROWS_H

#include "codegen/cluster.h"
#include "kernels/gemm_rows.h"
#include "ops/lines.h"

typedef struct {
    const tn_value *value;
    int64_t row_bytes; /* 0: the same for all rows */
    bool is_temp;      /* only in the memory of a block, */
    uint32_t slot;     /* in this part of it, */
    int64_t offset;    /* before which parts take so many bytes of a row */
} tn_rows_value;

/* At most: ports of one tile program of a group, its values, its steps. */
#define TN_ROWS_PORTS  64
#define TN_ROWS_VALUES 64
#define TN_ROWS_STEPS  24

/* values[refs[2]] = values[refs[0]] times values[refs[1]], of which a block has no part. */
typedef struct {
    tn_gemm gemm;
    size_t packed; /* where the packed right operand is, among those of the group */
} tn_rows_product;

/* A tile program, a product, or a reduction of values[refs[0]] from values[refs[1]] to
 * values[refs[2]]. */
typedef struct {
    const tn_tile_program *tile;
    const tn_rows_product *product;
    const tn_lines *lines; /* of a reduction, */
    const tn_op *reduce;   /* which is this one */
    int64_t per_row; /* elements of a row: of the tile's space or the result, of the reduction's
                        operand */
    const uint32_t *refs;
} tn_rows_step;

typedef struct tn_rows {
    const tn_lines *shares; /* NULL: blocks of whole rows; else what all reductions have in common,
                               elements stand for rows, and a block is a chunk of a share */
    int64_t n, block;       /* rows; of a block, at most */
    int64_t chunk;          /* rows that blocks don't reach beyond: of one product of a batch */
    int64_t unit;           /* a block should be a multiple of this */
    size_t packed_bytes;
    size_t workspace; /* bytes that products of a block need */
    uint32_t n_values, n_steps, n_inputs, n_outputs;
    const tn_rows_value *values;
    const tn_rows_step *steps;
    const uint32_t *inputs, *outputs; /* values that come from, or go to, memory outside */
    const uint64_t *kept_from; /* [n_values]: of an input, a bit for each value that may not be
                                  written over it: it is read behind that, or by other rows */
    int64_t temp_bytes;        /* of a row */
    double row_ns;
    const struct tn_rows_code *code; /* does all steps of a row, or NULL: see rows_code.h */
} tn_rows;

/* Groups what can run together among the clusters of region `r`. Puts the new list into *list. */
void tn_rows_find(tn_cluster_context *c, const tn_region *r, const tn_cluster **list, uint32_t *n);

/* May output `out` have the memory of input `in`? */
bool tn_rows_may_overwrite(const tn_rows *p, uint32_t in, uint32_t out);

/* memory: of the inputs, then of the outputs. */
tn_status *tn_rows_run(const tn_rows *p, const tn_eval_context *ctx,
                       void *const *memory) TN_MUST_USE;
/* The same, where lines are cut into shares; for the files of this folder. */
tn_status *tn_rows_run_shares(const tn_rows *p, const tn_eval_context *ctx,
                              void *const *memory) TN_MUST_USE;

#endif
