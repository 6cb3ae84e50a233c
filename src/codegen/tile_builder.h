/* SPDX-License-Identifier: Apache-2.0 */
/* tile_builder.h - a tile program while it is made; for the files of this folder. */
#ifndef TN_CODEGEN_TILE_BUILDER_H
#define TN_CODEGEN_TILE_BUILDER_H

#include "codegen/cluster.h"

/* What a micro-op reads or writes, before registers have places. */
typedef enum { AT_INPUT, AT_OUTPUT, IN_REGISTER, AT_ADDRESS } site_kind;
typedef struct {
    site_kind kind;
    uint32_t index;  /* of the port or the virtual register */
    uint64_t offset; /* AT_ADDRESS, AT_INPUT */
    uint32_t step;
    int64_t row_step;         /* AT_INPUT */
    const tn_access_map *map; /* AT_INPUT, AT_ADDRESS: as in a place */
} site;

/* A register holds one value from one micro-op to another; fills hold theirs throughout. */
typedef struct {
    uint32_t first, last;
    uint32_t place; /* of the real ones */
} reg;

typedef struct {
    tn_tile_op op;
    const tn_op *source; /* of a kernel */
    site in[TN_KERNEL_OPERANDS], out;
    site *ports; /* of machine code: [op.n_ports] */
} micro;

typedef struct {
    tn_cluster_context *c;
    int64_t n;
    tn_tile_port inputs[TN_TILE_OPS * TN_KERNEL_OPERANDS], outputs[TN_TILE_OPS];
    uint32_t n_inputs, n_outputs;
    micro ops[TN_TILE_OPS];
    uint32_t n_ops;
    reg regs[TN_TILE_OPS];
    uint32_t n_regs;
    tn_tile_fill fills[TN_TILE_OPS];
    site fill_from[TN_TILE_OPS];
    uint32_t fill_reg[TN_TILE_OPS];
    uint32_t n_fills;
    const tn_value *keys[TN_TILE_OPS * (TN_KERNEL_OPERANDS + 1)]; /* what has a site already */
    site sites[TN_TILE_OPS * (TN_KERNEL_OPERANDS + 1)];
    uint32_t n_sites;
    unsigned widest; /* bytes of an element in a register */
    double cost;
    int64_t row; /* see tn_tile_program */
    bool joins;
    micro kept[TN_TILE_OPS], loads[TN_TILE_OPS]; /* room for tile_jit.c */
} builder;

/* A program as it is before there is machine code of it. */
#define TN_ROWS_SOURCE_OPS 128 /* at most, else it isn't kept */
typedef struct tn_tile_source {
    const micro *ops;
    const site *fill_from;    /* [n_fills] */
    const uint32_t *fill_reg; /* the same */
    uint32_t n_ops, n_regs, n_fills;
} tn_tile_source;

static inline bool tn_tile_is_load(const tn_tile_op *op)
{
    return !op->code && !op->kernel.run && !op->join;
}

/* The join that a concatenate is which tn_tile_may_join, and what it does in one tile: from[k] is
 * where elements of part k are, `to` the whole result. */
tn_tile_join *tn_tile_join_of(const tn_op *op, tn_arena *a);
void tn_tile_join_run(const tn_tile_join *j, const char *const *from, int64_t begin, int64_t n,
                      char *to);

/* The program with code that goes through its rows, or as it is where there are none or they can't
 * be done so; and such a program's run. */
const tn_tile_program *tn_tile_by_rows(tn_cluster_context *c, const tn_tile_program *p);
void tn_tile_run_rows(const tn_tile_program *p, struct tn_thread_pool *pool, void *const *memory);
/* Memory whose element k is k, as far as a load of a ramp reads it. */
const void *tn_tile_ramp(tn_arena *a, const tn_tile_op *load);

/* Makes machine code of runs of micro-ops, each of which becomes one micro-op. Gives the time of
 * an element. */
void tn_tile_jit(builder *b);

#endif
