/* SPDX-License-Identifier: Apache-2.0 */
/* tile_jit.c - runs of micro-ops of a tile program as machine code: what one leaves for the next
 * stays in a register of the machine. */
#include <string.h>

#include "codegen/tile_builder.h"
#include "ops/elementwise.h"

/* A run while it is made. */
typedef struct {
    builder *b;
    tn_jit_piece piece;
    site ports[TN_JIT_PORTS];
    tn_jit_port kinds[TN_JIT_PORTS];
    uint32_t n_ports, n_ops;
    /* What values are in the piece already, by their sites. */
    tn_jv of_input[TN_TILE_OPS * TN_KERNEL_OPERANDS], of_output[TN_TILE_OPS], of_reg[TN_TILE_OPS];
    tn_element_type type_of_reg[TN_TILE_OPS], type_of_output[TN_TILE_OPS];
    uint32_t made_regs[TN_TILE_OPS], n_made_regs; /* by the run itself */
    uint32_t n_live;                              /* of those: what is read behind the run */
    bool is_made[TN_TILE_OPS];
    uint32_t last_read[TN_TILE_OPS]; /* the last micro-op, plus 1, that reads a register */
    uint32_t fill_of[TN_TILE_OPS];   /* the fill of a register, plus 1 */
    uint32_t made_outputs[TN_TILE_OPS], n_made_outputs;
    bool is_worth_it;
    int64_t row;                           /* of those loads */
    bool has_rows;                         /* the run reads by them */
    const micro *load_of_reg[TN_TILE_OPS]; /* loads that code can do itself, row by row; or NULL */
} run;

static void begin(run *r, builder *b)
{
    r->b = b;
    tn_jit_begin(b->c->jit, &r->piece);
    r->piece.half = tn_jit_has_f16(b->c->jit);
    r->n_ports = r->n_ops = r->n_made_regs = r->n_made_outputs = r->n_live = 0;
    r->is_worth_it = r->has_rows = false;
    for (uint32_t i = 0; i < b->n_inputs; i++) r->of_input[i] = TN_JIT_NO_VALUE;
    for (uint32_t i = 0; i < b->n_outputs; i++) r->of_output[i] = TN_JIT_NO_VALUE;
    for (uint32_t i = 0; i < b->n_regs; i++) r->of_reg[i] = TN_JIT_NO_VALUE;
    memset(r->is_made, 0, b->n_regs * sizeof *r->is_made);
}

static uint32_t add_port(run *r, site s, unsigned bytes, bool is_output)
{
    r->ports[r->n_ports] = s;
    r->kinds[r->n_ports] = (tn_jit_port){(uint8_t)bytes, !is_output, is_output};
    return r->n_ports++;
}

static tn_jv from_memory(run *r, site s, tn_element_type e, bool splat)
{
    if (s.kind == AT_ADDRESS && !s.map) {
        tn_jv v = tn_jit_element(&r->piece, e, (const void *)(uintptr_t)s.offset);
        if (v != TN_JIT_NO_VALUE) return v;
    }
    uint32_t port = add_port(r, s, splat ? 0 : (unsigned)tn_element_type_bytes(e), false);
    return tn_jit_load(&r->piece, port, e, splat);
}

const void *tn_tile_ramp(tn_arena *a, const tn_tile_op *load)
{
    const tn_access_map *m = load->map;
    int64_t n = 0;
    for (uint32_t d = 0; d < m->n_dims; d++)
        if (m->step[d]) n = m->size[d];
    tn_access_map line = {.n_dims = 1, .size = {n}, .step = {1}};
    void *table = tn_alloc_array(a, (size_t)n, load->bytes);
    tn_map_load_ramp(&line, load->ramp, 0, n, table);
    return table;
}

static site ramp_of(builder *b, const micro *load)
{
    return (site){.kind = AT_ADDRESS, .offset = (uintptr_t)tn_tile_ramp(b->c->arena, &load->op)};
}

static tn_jv value_at(run *r, site s, tn_element_type e)
{
    builder *b = r->b;
    tn_jv *known = NULL;
    bool splat = s.kind == AT_ADDRESS;
    switch (s.kind) {
    case AT_INPUT:
        splat = !b->inputs[s.index].is_linear;
        /* Slices of one element share a port. */
        if (!splat) known = &r->of_input[s.index];
        break;
    case AT_OUTPUT: known = &r->of_output[s.index]; break;
    case IN_REGISTER:
        known = &r->of_reg[s.index];
        if (*known != TN_JIT_NO_VALUE) return *known;
        if (r->load_of_reg[s.index]) {
            const micro *load = r->load_of_reg[s.index];
            const tn_access_map *map = load->op.map;
            r->is_worth_it = true;
            unsigned bytes = (unsigned)tn_element_type_bytes(e);
            s = load->op.ramp ? ramp_of(b, load) : load->in[0];
            splat = map->step[map->n_dims - 1] == 0;
            s.step = splat ? 0 : bytes;
            if (load->op.ramp || map->n_dims > 2 || (map->n_dims == 2 && map->size[1] != r->row)) {
                s.map = map;
                s.step = bytes;
            } else if (map->n_dims == 2) {
                s.row_step = (map->step[0] - (splat ? 0 : map->size[1])) * (int64_t)bytes;
            }
            r->has_rows |= map->n_dims > 1;
            break;
        }
        /* A fill is the same element everywhere. */
        if (r->fill_of[s.index]) {
            s = b->fill_from[r->fill_of[s.index] - 1];
            splat = true;
        }
        break;
    case AT_ADDRESS: break;
    }
    if (known && *known != TN_JIT_NO_VALUE) return *known;
    tn_jv v = from_memory(r, s, e, splat);
    if (known) *known = v;
    return v;
}

/* What a run brings that kernels don't: values that stay in registers, and a few ops themselves. */
static bool is_better(const tn_op *op)
{
    tn_element_type e = tn_operand_type(op, 0)->element, to = tn_result_type(op, 0)->element;
    switch ((int)op->kind) {
    case TN_OP_popcnt:
    case TN_OP_count_leading_zeros:
    case TN_OP_divide:
    case TN_OP_remainder: return true;
    default: break;
    }
    return tn_elementwise_cost(op) > 1.5 || e == TN_BF16 || e == TN_F16 || to == TN_BF16 ||
           to == TN_F16;
}

/* Counts what the run has to leave in registers behind micro-op `at`, `m`, of which it is the last.
 */
static void count_live(run *r, const micro *m, uint32_t at)
{
    for (uint32_t k = 0; k < m->op.kernel.n_operands; k++) {
        uint32_t g = m->in[k].index;
        if (m->in[k].kind != IN_REGISTER || !r->is_made[g] || r->last_read[g] != at + 1) continue;
        r->is_made[g] = false;
        r->n_live--;
    }
    if (m->out.kind == AT_OUTPUT || r->last_read[m->out.index] <= at + 1) return;
    r->is_made[m->out.index] = true;
    r->n_live++;
}

static bool add(run *r, uint32_t at)
{
    const micro *m = &r->b->ops[at];
    const tn_op *op = m->source;
    if (!op || !m->op.kernel.run) return false;
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!tn_jit_has_type(tn_operand_type(op, i)->element)) return false;
    if (r->n_ports + op->n_operands + r->n_live + r->n_made_outputs + 2 > TN_JIT_PORTS)
        return false;
    uint32_t n_ports = r->n_ports;
    tn_jit_piece before = r->piece;
    tn_jv in[TN_KERNEL_OPERANDS] = {0}, v;
    for (uint32_t i = 0; i < op->n_operands; i++)
        in[i] = value_at(r, m->in[i], tn_operand_type(op, i)->element);
    if (!tn_jit_lower(&r->piece, op, in, &v)) {
        /* Its loads go again, for which what they were noted as is forgotten. */
        builder *b = r->b;
        for (uint32_t i = 0; i < b->n_inputs; i++)
            if (r->of_input[i] != TN_JIT_NO_VALUE && r->of_input[i] >= before.n)
                r->of_input[i] = TN_JIT_NO_VALUE;
        for (uint32_t i = 0; i < b->n_outputs; i++)
            if (r->of_output[i] != TN_JIT_NO_VALUE && r->of_output[i] >= before.n)
                r->of_output[i] = TN_JIT_NO_VALUE;
        for (uint32_t i = 0; i < b->n_regs; i++)
            if (r->of_reg[i] != TN_JIT_NO_VALUE && r->of_reg[i] >= before.n)
                r->of_reg[i] = TN_JIT_NO_VALUE;
        r->piece.n = before.n;
        r->piece.wide = before.wide;
        r->n_ports = n_ports;
        return false;
    }
    tn_element_type e = tn_result_type(op, 0)->element;
    if (m->out.kind == AT_OUTPUT) {
        r->of_output[m->out.index] = v;
        r->type_of_output[m->out.index] = e;
        r->made_outputs[r->n_made_outputs++] = m->out.index;
    } else {
        r->of_reg[m->out.index] = v;
        r->type_of_reg[m->out.index] = e;
        r->made_regs[r->n_made_regs++] = m->out.index;
    }
    count_live(r, m, at);
    r->is_worth_it |= r->n_ops > 0 || is_better(op);
    r->n_ops++;
    return true;
}

/* What doesn't stay in the L2 cache until somebody reads it is better not fetched into it. */
enum { LARGE_BYTES = 4 << 20, STREAMS_AT_MOST = 4 };
static bool is_large(const builder *b, uint32_t output)
{
    return b->n * b->outputs[output].bytes >= LARGE_BYTES;
}

/* Micro-ops [first, first + r->n_ops) as one; false if it isn't worth it. Results are stored last,
 * so that one may have the memory of an operand. */
static bool end(run *r, uint32_t first, micro *out)
{
    builder *b = r->b;
    bool is_streamed[TN_JIT_PORTS] = {false}, streams = false;
    for (uint32_t i = 0; i < r->n_made_outputs && r->n_made_outputs <= STREAMS_AT_MOST; i++)
        streams |= is_large(b, r->made_outputs[i]);
    if (!r->is_worth_it && !streams) return false;
    for (uint32_t i = 0; i < r->n_made_outputs; i++) {
        uint32_t o = r->made_outputs[i];
        tn_element_type e = r->type_of_output[o];
        unsigned bytes = (unsigned)tn_element_type_bytes(e);
        uint32_t port = add_port(r, (site){AT_OUTPUT, o, 0, bytes}, bytes, true);
        tn_jit_store(&r->piece, port, e, r->of_output[o]);
        is_streamed[port] = streams && is_large(b, o);
    }
    for (uint32_t i = 0; i < r->n_made_regs; i++) {
        uint32_t g = r->made_regs[i];
        if (r->last_read[g] <= first + r->n_ops) continue;
        tn_element_type e = r->type_of_reg[g];
        unsigned bytes = (unsigned)tn_element_type_bytes(e);
        uint32_t port = add_port(r, (site){IN_REGISTER, g, 0, 0}, bytes, true);
        tn_jit_store(&r->piece, port, e, r->of_reg[g]);
    }
    const tn_jit_code *code = tn_jit_end(&r->piece, b->n < 4);
    if (!code) return false;
    const tn_jit_code *streaming = NULL;
    if (streams) {
        for (uint32_t i = 0; i < r->n_ports; i++)
            is_streamed[i] |= r->kinds[i].is_input && r->ports[i].kind == AT_INPUT &&
                              !r->ports[i].map && r->ports[i].row_step >= 0;
        tn_jit_piece other;
        tn_jit_streaming(&r->piece, is_streamed, &other);
        streaming = tn_jit_end(&other, false);
    }
    if (r->has_rows) b->row = r->row;
    double cost = 0.1 * r->n_ports;
    for (uint32_t i = 0; i < r->piece.n; i++)
        if (r->piece.list[i].op != TN_JIT_CONST) cost += 0.25 / code->lanes;
    b->cost += cost;
    tn_arena *a = b->c->arena;
    *out = (micro){.ports = tn_dup(a, r->ports, r->n_ports * sizeof *r->ports)};
    out->op.code = code;
    out->op.streaming = streaming;
    out->op.n_ports = r->n_ports;
    out->op.ports = tn_dup(a, r->kinds, r->n_ports * sizeof *r->kinds);
    return true;
}

/* Loads through maps want nothing that the program makes. `room` is for as many micro-ops. */
static void move_loads_first(builder *b, micro *room)
{
    uint32_t n_loads = 0, n_rest = 0;
    for (uint32_t i = 0; i < b->n_ops; i++) {
        if (!tn_tile_is_load(&b->ops[i].op)) room[n_rest++] = b->ops[i];
        else b->ops[n_loads++] = b->ops[i];
    }
    memcpy(b->ops + n_loads, room, n_rest * sizeof *room);
}

static void find_uses(run *r, const builder *b)
{
    memset(r->last_read, 0, b->n_regs * sizeof *r->last_read);
    memset(r->fill_of, 0, b->n_regs * sizeof *r->fill_of);
    for (uint32_t i = 0; i < b->n_ops; i++) {
        const micro *m = &b->ops[i];
        for (uint32_t k = 0; m->op.kernel.run && k < m->op.kernel.n_operands; k++)
            if (m->in[k].kind == IN_REGISTER) r->last_read[m->in[k].index] = i + 1;
        for (uint32_t k = 0; k < m->op.n_ports; k++)
            if (m->ports[k].kind == IN_REGISTER) r->last_read[m->ports[k].index] = i + 1;
    }
    for (uint32_t i = 0; i < b->n_fills; i++) r->fill_of[b->fill_reg[i]] = i + 1;
}

enum { ROW_AT_LEAST = 128, RAMP_BYTES = 1 << 16 };

static bool has_rows(const tn_tile_op *op)
{
    const tn_access_map *m = op->map;
    if (!tn_tile_is_load(op) || m->n_cuts || m->n_dims < 1 + !op->ramp) return false;
    for (uint32_t d = 0; d < m->n_dims && op->ramp; d++)
        if (m->step[d] && m->size[d] * op->bytes > RAMP_BYTES) return false;
    uint32_t inner = m->n_dims - 1;
    return (m->step[inner] == 0 || m->step[inner] == 1) && m->size[inner] >= ROW_AT_LEAST;
}

/* Loads from memory that lies as the space does, or has its rows, of which a tile reads a piece of
 * one: an element for all of it, or one for each of its own. `loads` keeps them while the program
 * changes. */
static void find_row_loads(builder *b, micro *loads, run *r)
{
    memset(r->load_of_reg, 0, sizeof r->load_of_reg);
    r->row = 0;
    for (uint32_t i = 0; i < b->n_ops; i++) {
        if (!has_rows(&b->ops[i].op)) continue;
        const tn_access_map *m = b->ops[i].op.map;
        int64_t row = m->size[m->n_dims - 1];
        if (!r->row || row < r->row) r->row = row;
    }
    for (uint32_t i = 0; i < b->n_ops; i++) {
        const tn_tile_op *op = &b->ops[i].op;
        if (!tn_tile_is_load(op)) continue;
        const tn_access_map *m = op->map;
        bool whole = m->n_dims == 1 && m->step[0] == 1 && !m->n_cuts && !op->ramp;
        if (!whole && (!has_rows(op) || m->size[m->n_dims - 1] % r->row)) continue;
        loads[i] = b->ops[i];
        r->load_of_reg[b->ops[i].out.index] = &loads[i];
    }
}

static bool reads(const micro *m, uint32_t r)
{
    for (uint32_t k = 0; k < m->op.n_ports; k++)
        if (m->ports[k].kind == IN_REGISTER && m->ports[k].index == r) return true;
    if (m->op.code || !m->op.kernel.run) return false;
    for (uint32_t k = 0; k < m->op.kernel.n_operands; k++)
        if (m->in[k].kind == IN_REGISTER && m->in[k].index == r) return true;
    return false;
}

static void drop_unread_loads(builder *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n_ops; i++) {
        const micro *m = &b->ops[i];
        bool read = !tn_tile_is_load(&m->op);
        for (uint32_t k = i + 1; k < b->n_ops && !read; k++) read = reads(&b->ops[k], m->out.index);
        if (read) b->ops[n++] = b->ops[i];
    }
    b->n_ops = n;
}

void tn_tile_jit(builder *b)
{
    run r;
    uint32_t n = 0, at = 0;
    move_loads_first(b, b->kept);
    find_uses(&r, b);
    find_row_loads(b, b->loads, &r);
    b->cost = 0;
    while (at < b->n_ops) {
        begin(&r, b);
        while (at + r.n_ops < b->n_ops && add(&r, at + r.n_ops)) {}
        micro code;
        bool is_code = r.n_ops && end(&r, at, &code);
        tn_jit_drop(&r.piece);
        if (is_code) {
            b->kept[n++] = code;
            at += r.n_ops;
            continue;
        }
        for (uint32_t k = 0; k < r.n_ops || k == 0; k++, at++) {
            b->cost += b->ops[at].source ? tn_elementwise_cost(b->ops[at].source) : 0.1;
            b->kept[n++] = b->ops[at];
        }
    }
    memcpy(b->ops, b->kept, n * sizeof *b->kept);
    b->n_ops = n;
    drop_unread_loads(b);
}
