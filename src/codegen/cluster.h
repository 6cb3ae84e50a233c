/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - which ops of a region run together.
 *
 * A region becomes a list of clusters in an order that dependences allow. A cluster is a tile
 * program, or one op that is none. An elementwise op joins a cluster of as many elements that was
 * worked on just before and that comes after, or holds, all that the op wants; reshapes don't
 * matter, for elements keep their order. Broadcasts, slices and iotas are read through a map; where
 * only tile programs want one it has no memory of its own. */
#ifndef TN_CODEGEN_CLUSTER_H
#define TN_CODEGEN_CLUSTER_H

#include "codegen/tile.h"

typedef struct {
    const tn_op *op;             /* of a cluster that is no tile program */
    const tn_tile_program *tile; /* or NULL */
    const struct tn_rows *rows;  /* several of them, see rows.h; or NULL */
} tn_cluster;

/* What is known of a function's values before its regions are clustered. */
typedef struct tn_cluster_context {
    tn_arena *arena;
    bool fuse;                         /* false: every op by itself */
    tn_jit *jit;                       /* or NULL */
    uint8_t *flags;                    /* [n_values]: private */
    uint32_t *slots, *last_use, *held; /* [n_values]: private; held of constants and loads: by
                                          cluster.c, else by recompute.c */
    uint32_t n_groups, n_values;
    void *tile_builder; /* NULL until the first program */
    /* [n_values] of native_maker.h */
    void *natives, *native_elements;
    uint32_t *native_uses, *native_touched;
    uint32_t *last_read, *made_by; /* [n_values] of rows.c */
    void *rows_maker, *rows_spare; /* of tile_rows.c */
} tn_cluster_context;

/* Prepares for the regions of `f`, whose module is numbered. Uses the marks of its ops. Tile
 * programs are made into machine code if there is a `jit`. */
void tn_cluster_begin(const tn_function *f, bool fuse, tn_jit *jit, tn_arena *a,
                      tn_cluster_context *out);
/* The clusters of main's body or of a region of control flow, in the order in which to run them;
 * without the terminator. Regions inside are asked for on their own, later. */
void tn_cluster_region(tn_cluster_context *c, const tn_region *r, const tn_cluster **out,
                       uint32_t *n);

/* --- between the files of this folder --- */

enum {
    TN_VALUE_FUSABLE = 1, /* of an elementwise op that a tile program may hold */
    TN_VALUE_WANTED = 2,  /* somebody wants it in memory */
    TN_VALUE_MAPPED =
        4, /* of a broadcast, slice, join or iota that tile programs read through a map */
    TN_VALUE_JOINED = 8 /* of a concatenate that a tile program may hold: has memory in any case */
};

/* A reshape, or a bitcast_convert between integers and floats of 32 or of 64 bits: the same
 * elements under another type, in memory and in registers. */
bool tn_is_relabelling(const tn_op *op);
/* The value of which `v` has the elements in their order: looks through such ops. */
const tn_value *tn_cluster_source(const tn_value *v);
/* Is it a concatenate of parts of the same size, which a tile program of so many elements can
 * hold? */
bool tn_tile_may_join(const tn_op *op);
/* The elements of a tile program that holds `op`. */
int64_t tn_group_space(const tn_op *op);
/* An op of a cluster. A copy computes again what another cluster has too, for this one alone. */
typedef struct {
    const tn_op *op;
    bool is_copy;
} tn_group_op;
/* The tile program of `n` ops of one cluster, in order; their results' flags say what goes to
 * memory. */
const tn_tile_program *tn_tile_build(tn_cluster_context *c, const tn_group_op *ops, uint32_t n);

#endif
