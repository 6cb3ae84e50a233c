/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h - tile programs: elementwise ops that run together, tile by tile.
 *
 * A program is a list of micro-ops over one linear space of n elements. A tile of some hundred
 * elements goes through all of them before the next one is begun, so that what one op leaves for
 * the next stays in the L1 cache. Operands come from memory as they stand there (what has n
 * elements), through an access map (broadcasts), or as scalars; results go to memory if somebody
 * outside wants them and to registers (memory of one tile) otherwise. The same kernels compute
 * every element as if each op ran alone, or machine code that does the same: same bits.
 *
 * Threads: a program is immutable; any number of threads may run it. */
#ifndef TN_CODEGEN_TILE_H
#define TN_CODEGEN_TILE_H

#include "codegen/jit.h"
#include "kernels/elementwise.h"

struct tn_thread_pool;

/* Bytes of all registers together, on the stack of whoever runs a tile. */
#define TN_TILE_REGISTERS 65536
#define TN_TILE_OPS       384 /* micro-ops of one program, at most */
#define TN_TILE_FEW_OPS                                                                            \
    64 /* the same without machine code, and of strangers that stream side by side */

/* From the linear index of the space to an element of an operand: the index is taken apart by
 * `size`, outermost dimension first, and the parts weighed by `step` (in elements). Neighbours that
 * could be one dimension are one. Loads leave `base` to their caller. */
#define TN_MAP_DIMS 8
#define TN_MAP_CUTS 3
typedef struct {
    uint32_t n_dims; /* 0: always element 0 */
    int64_t base;    /* added to each: where a slice begins */
    int64_t size[TN_MAP_DIMS], step[TN_MAP_DIMS];
    /* Slices of one array that are joined: places from `cut` on along one dimension lie `jump`
     * elements further than its step says. */
    uint32_t n_cuts, cut_dim;
    int64_t cut[TN_MAP_CUTS], jump[TN_MAP_CUTS];
} tn_access_map;

/* Memory that a program reads or writes. */
typedef struct {
    const tn_value *value;
    uint32_t first_op, last_op; /* micro-ops that use it */
    uint8_t bytes;              /* of one element */
    bool is_linear;             /* element i of the space is element i in memory */
} tn_tile_port;

/* What elements [begin, begin + n) of some parts of as many elements go to: runs of `run` elements
 * of each part in turn. */
#define TN_TILE_PARTS 16
typedef struct {
    uint32_t n_parts, bytes; /* of an element */
    int64_t run;
} tn_tile_join;

/* Where an operand of a micro-op is: bases[base] + offset + step * (first element of the tile) +
 * row_step * (its row, where the program has rows). With a map: bases[base] + offset + step *
 * (where the map has the first element of the tile). */
enum { TN_TILE_FIXED, TN_TILE_REGISTER, TN_TILE_FIRST_PORT };
typedef struct {
    uint64_t offset;
    uint32_t base;
    uint32_t step;
    int64_t row_step;
    const tn_access_map *map;
} tn_tile_place;

typedef struct {
    tn_kernel kernel;         /* run is NULL: a load through `map`, or `code`, or `join` */
    const tn_tile_join *join; /* of what is at the ports, into `out` */
    const tn_jit_code *code;
    const tn_jit_code *streaming; /* the same, with outputs that go past the caches; or NULL */
    const tn_jit_port *ports;     /* of the code: [n_ports]; NULL for a join */
    const tn_tile_place *places;
    uint32_t n_ports;
    const tn_access_map *map;
    tn_element_type ramp; /* what is loaded is the index itself, in this type; or TN_INVALID */
    uint8_t bytes;        /* of an element that is loaded */
    bool once; /* a tile is a multiple of the map's period: one load is for all of them */
    tn_tile_place in[TN_KERNEL_OPERANDS], out;
} tn_tile_op;

/* A scalar that is laid out over a register before the first tile. */
typedef struct {
    tn_tile_place from, to;
    uint8_t bytes;
} tn_tile_fill;

typedef struct {
    int64_t n;     /* elements of the space */
    uint32_t tile; /* elements of a tile */
    int64_t row;   /* elements of a row, which tiles end with; 0: there are no rows */
    uint32_t n_inputs, n_outputs, n_ops, n_fills;
    const tn_tile_port *inputs, *outputs;
    const tn_tile_op *ops;
    const tn_tile_fill *fills;
    double cost_ns;                  /* of an element */
    const struct tn_tile_rows *rows; /* see tile_rows.c, or NULL: how it is run as a whole */
    bool joins;       /* there is a join: outputs have more elements than the space */
    uint32_t n_fused; /* ops of the program that it stands for, however few run them */
    const struct tn_tile_source *source; /* see tile_builder.h, or NULL */
} tn_tile_program;

/* Runs it. memory: the inputs', then the outputs'. */
void tn_tile_run(const tn_tile_program *p, struct tn_thread_pool *pool, void *const *memory);
/* Runs it on elements [begin, end) of the space, on the calling thread. */
void tn_tile_run_part(const tn_tile_program *p, void *const *memory, int64_t begin, int64_t end);
/* May output `out` be the memory of input `in`? */
bool tn_tile_may_overwrite(const tn_tile_program *p, uint32_t in, uint32_t out);

/* Makes the map of a broadcast_in_dim, slice, reverse or iota op, or of a concatenate of slices of
 * one array; false when it has more dimensions or pieces than a map holds, or none. An iota is read
 * from the memory whose element k is k. */
bool tn_map_make(const tn_op *op, tn_access_map *out);
/* The value from whose memory the result of such an op is read; not for iota. */
const tn_value *tn_map_source(const tn_op *op);
/* Whether that memory can be done without for elements of this type. */
bool tn_map_has_ramp(tn_element_type e);
/* As tn_map_load from that memory. */
void tn_map_load_ramp(const tn_access_map *map, tn_element_type e, int64_t begin, int64_t n,
                      void *to);
/* Where element `element` of the space is; of a map without cuts. */
int64_t tn_map_at(const tn_access_map *map, int64_t element);
/* After how many elements of the space the same ones come again; 0: they don't, or there are cuts.
 */
int64_t tn_map_period(const tn_access_map *map);
/* Loads n elements of `bytes` bytes each, from element `begin` of the space on. */
void tn_map_load(const tn_access_map *map, unsigned bytes, const void *from, int64_t begin,
                 int64_t n, void *to);
/* Copies one element of `bytes` bytes n times. */
void tn_tile_fill_with(void *to, const void *element, unsigned bytes, int64_t n);

#endif
