/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/thread_pool.h"
#include "codegen/tile_builder.h"

enum { PIECE_AT_LEAST = 512, PIECES_AT_LEAST = 16 };
#define PORTS_AT_MOST (TN_TILE_OPS * (TN_KERNEL_OPERANDS + 1))

typedef struct {
    const tn_tile_program *p;
    void *const *memory;
    int64_t piece; /* elements that a thread does at once, at least */
    bool streams;
} job;

static inline char *address(const uintptr_t *bases, const tn_tile_place *p, int64_t begin)
{
    return (char *)(bases[p->base] + p->offset + (uint64_t)begin * p->step);
}
static inline char *address_in_row(const uintptr_t *bases, const tn_tile_place *p, int64_t begin,
                                   int64_t row)
{
    if (p->map)
        return (char *)(bases[p->base] + p->offset) + tn_map_at(p->map, begin) * (int64_t)p->step;
    return address(bases, p, begin) + row * p->row_step;
}

static void load(const tn_tile_op *op, const uintptr_t *bases, int64_t begin, int64_t n, void *to)
{
    if (op->ramp) tn_map_load_ramp(op->map, op->ramp, begin, n, to);
    else tn_map_load(op->map, op->bytes, address(bases, &op->in[0], 0), begin, n, to);
}

static bool is_aligned(const tn_tile_op *op, void *const *ports)
{
    uintptr_t all = 0;
    for (uint32_t j = 0; j < op->n_ports; j++)
        if (op->ports[j].is_output) all |= (uintptr_t)ports[j];
    return all % 64 == 0;
}

/* `has_once`: what is loaded once is there. */
static void run_tile(const tn_tile_program *p, const uintptr_t *bases, int64_t begin, int64_t n,
                     bool streams, bool has_once)
{
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const tn_tile_op *op = &p->ops[i];
        if (op->code) {
            void *ports[TN_JIT_PORTS];
            int64_t row = p->row ? begin / p->row : 0;
            for (uint32_t j = 0; j < op->n_ports; j++)
                ports[j] = address_in_row(bases, &op->places[j], begin, row);
            bool streaming = streams && op->streaming && is_aligned(op, ports);
            tn_jit_run_with(op->code, streaming ? op->streaming : op->code, op->ports, op->n_ports,
                            ports, n);
            continue;
        }
        void *out = address(bases, &op->out, begin);
        if (op->join) {
            const char *from[TN_TILE_PARTS];
            for (uint32_t j = 0; j < op->n_ports; j++)
                from[j] = address(bases, &op->places[j], begin);
            tn_tile_join_run(op->join, from, begin, n, out);
            continue;
        }
        if (!op->kernel.run) {
            if (!op->once || !has_once) load(op, bases, begin, n, out);
            continue;
        }
        const void *in[TN_KERNEL_OPERANDS];
        for (uint32_t j = 0; j < op->kernel.n_operands; j++)
            in[j] = address(bases, &op->in[j], begin);
        tn_kernel_run(&op->kernel, (size_t)n, in, out);
    }
}

static void run_part(const tn_tile_program *p, void *const *memory, int64_t begin, int64_t end,
                     bool streams)
{
    _Alignas(64) char registers[TN_TILE_REGISTERS];
    uintptr_t bases[TN_TILE_FIRST_PORT + PORTS_AT_MOST];
    bases[TN_TILE_FIXED] = 0;
    bases[TN_TILE_REGISTER] = (uintptr_t)registers;
    for (uint32_t i = 0; i < p->n_inputs + p->n_outputs; i++)
        bases[TN_TILE_FIRST_PORT + i] = (uintptr_t)memory[i];
    int64_t most = end - begin < p->tile ? end - begin : p->tile;
    for (uint32_t i = 0; i < p->n_fills; i++) {
        const tn_tile_fill *f = &p->fills[i];
        tn_tile_fill_with(address(bases, &f->to, 0), address(bases, &f->from, 0), f->bytes, most);
    }
    /* Tiles of rows begin where rows do, all others a whole number of periods from the first. */
    bool has_once = !p->row || begin % p->row == 0;
    for (uint32_t i = 0; i < p->n_ops && has_once; i++) {
        const tn_tile_op *op = &p->ops[i];
        if (op->once) load(op, bases, begin, most, address(bases, &op->out, begin));
    }
    for (int64_t n; begin < end; begin += n) {
        n = end - begin < p->tile ? end - begin : p->tile;
        int64_t left = p->row ? p->row - begin % p->row : n;
        if (left < n) n = left;
        run_tile(p, bases, begin, n, streams, has_once);
    }
#if defined __x86_64__
    if (streams) __builtin_ia32_sfence();
#endif
}

void tn_tile_run_part(const tn_tile_program *p, void *const *memory, int64_t begin, int64_t end)
{
    run_part(p, memory, begin, end, false);
}

/* Where outputs are large, and none is written over an input: that is in the cache. */
static bool may_stream(const tn_tile_program *p, void *const *memory)
{
    bool any = false;
    for (uint32_t i = 0; i < p->n_ops; i++) any |= p->ops[i].streaming != NULL;
    for (uint32_t i = 0; i < p->n_inputs && any; i++)
        for (uint32_t o = 0; o < p->n_outputs && any; o++)
            any = memory[i] != memory[p->n_inputs + o];
    return any;
}

static void run_tiles(void *ctx, int64_t first, int64_t end)
{
    const job *j = ctx;
    int64_t to = end * j->piece;
    run_part(j->p, j->memory, first * j->piece, to < j->p->n ? to : j->p->n, j->streams);
}

/* One piece of code on one tile, as most that loops run at every turn is: false where it isn't. */
static bool run_small(const tn_tile_program *p, void *const *memory)
{
    const tn_tile_op *op = p->ops;
    if (p->n > p->tile || p->n > PIECE_AT_LEAST || p->n_ops != 1 || !op->code || op->streaming ||
        p->n_fills || p->row)
        return false;
    void *ports[TN_JIT_PORTS];
    for (uint32_t j = 0; j < op->n_ports; j++) {
        const tn_tile_place *at = &op->places[j];
        if (at->base == TN_TILE_REGISTER || at->map) return false;
        char *base = at->base == TN_TILE_FIXED ? NULL : memory[at->base - TN_TILE_FIRST_PORT];
        ports[j] = (void *)((uintptr_t)base + at->offset);
    }
    tn_jit_run_with(op->code, op->code, op->ports, op->n_ports, ports, p->n);
    return true;
}

void tn_tile_run(const tn_tile_program *p, struct tn_thread_pool *pool, void *const *memory)
{
    if (run_small(p, memory)) return;
    if (p->rows) {
        tn_tile_run_rows(p, pool, memory);
        return;
    }
    job j = {p, memory, p->tile, may_stream(p, memory)};
    /* Large tiles are for little overhead, not for few pieces. */
    while (j.piece > PIECE_AT_LEAST && p->n < PIECES_AT_LEAST * j.piece) j.piece /= 2;
    int64_t n_pieces = (p->n + j.piece - 1) / j.piece;
    if (n_pieces == 1) run_tiles(&j, 0, 1);
    else tn_parallel_for(pool, n_pieces, p->cost_ns * (double)j.piece, run_tiles, &j);
}

bool tn_tile_may_overwrite(const tn_tile_program *p, uint32_t in, uint32_t out)
{
    const tn_tile_port *i = &p->inputs[in], *o = &p->outputs[out];
    /* A later micro-op of the same tile would read what this one has written. */
    return i->is_linear && o->is_linear && i->bytes == o->bytes && i->last_op <= o->first_op;
}
