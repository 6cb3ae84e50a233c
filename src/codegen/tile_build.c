/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/tile_builder.h"
#include "ops/elementwise.h"
#include "passes/rewrite.h"

#define TILE_AT_MOST           1024
#define TILE_AT_LEAST          64
#define TILE_WITHOUT_REGISTERS 4096
#define UNUSED                 (TN_TILE_OPS + 1) /* as the last use of a register */
#define REGISTERS_BYTES                                                                            \
    24576 /* what registers should take, to leave room in L1 for what is streamed */

static unsigned bytes_of(const tn_value *v)
{
    return tn_element_type_bytes(v->type->element);
}

/* slots[id] is where `sites` may hold it; it is right if the key says so. */
static site *find_site(builder *b, const tn_value *v)
{
    uint32_t i = b->c->slots[v->id];
    return i < b->n_sites && b->keys[i] == v ? &b->sites[i] : NULL;
}

static site set_site(builder *b, const tn_value *v, site s)
{
    b->c->slots[v->id] = b->n_sites;
    b->keys[b->n_sites] = v;
    b->sites[b->n_sites++] = s;
    return s;
}

static uint32_t add_reg(builder *b, unsigned bytes, uint32_t first, uint32_t last)
{
    if (bytes > b->widest) b->widest = bytes;
    b->regs[b->n_regs] = (reg){.first = first, .last = last};
    return b->n_regs++;
}

static void touch(builder *b, const site *s)
{
    uint32_t at = b->n_ops;
    switch (s->kind) {
    case AT_INPUT:
        if (b->inputs[s->index].last_op < at) b->inputs[s->index].last_op = at;
        break;
    case IN_REGISTER:
        if (b->regs[s->index].last < at) b->regs[s->index].last = at;
        break;
    case AT_OUTPUT:
    case AT_ADDRESS: break;
    }
}

/* An input that is read as it stands (step: bytes of an element) or always at its first element
 * (step 0). A port per value and way. */
static site add_input(builder *b, const tn_value *v, bool linear)
{
    for (uint32_t i = 0; i < b->n_inputs; i++)
        if (b->inputs[i].value == v && b->inputs[i].is_linear == linear)
            return (site){AT_INPUT, i, 0, linear ? bytes_of(v) : 0};
    b->inputs[b->n_inputs] = (tn_tile_port){.value = v,
                                            .first_op = b->n_ops,
                                            .last_op = b->n_ops,
                                            .bytes = (uint8_t)bytes_of(v),
                                            .is_linear = linear};
    return (site){AT_INPUT, b->n_inputs++, 0, linear ? bytes_of(v) : 0};
}

/* One element in every place of a register. */
static site add_fill(builder *b, site from, unsigned bytes)
{
    if (b->n == 1) return from;
    uint32_t r = add_reg(b, bytes, 0, TN_TILE_OPS);
    b->fill_from[b->n_fills] = from;
    b->fill_reg[b->n_fills] = r;
    b->fills[b->n_fills++].bytes = (uint8_t)bytes;
    return (site){IN_REGISTER, r, 0, 0};
}

/* A broadcast or an iota. */
static site add_load(builder *b, const tn_value *v)
{
    unsigned bytes = bytes_of(v);
    tn_access_map *map = TN_NEW(b->c->arena, tn_access_map);
    tn_map_make(v->op, map);
    bool ramp = v->op->kind == TN_OP_iota;
    site source = {AT_ADDRESS, 0, 0, 0};
    if (!ramp) {
        source = add_input(b, tn_cluster_source(tn_map_source(v->op)), false);
        touch(b, &source);
        source.offset = (uint64_t)map->base * bytes;
        if (!map->n_dims) return add_fill(b, source, bytes);
    }
    micro *m = &b->ops[b->n_ops];
    *m = (micro){.op = {.map = map, .bytes = (uint8_t)bytes}, .in = {source}};
    if (ramp) m->op.ramp = v->type->element;
    m->out = (site){IN_REGISTER, add_reg(b, bytes, b->n_ops, b->n_ops), 0, 0};
    b->n_ops++;
    return m->out;
}

/* Where the elements of an operand come from; `scalar`: the kernel takes one element. */
static site operand_site(builder *b, const tn_value *operand, bool scalar)
{
    const tn_value *v = tn_cluster_source(operand);
    const tn_literal *l = tn_constant_of(v);
    if (l && (l->splat || l->size == bytes_of(v))) {
        site at = {AT_ADDRESS, 0, (uintptr_t)l->data, 0};
        if (scalar) return at;
        site *known = find_site(b, v);
        return known ? *known : set_site(b, v, add_fill(b, at, bytes_of(v)));
    }
    site *known = find_site(b, v);
    if (scalar && b->n > 1) return add_input(b, v, false);
    if (known) return *known;
    if (b->c->flags[v->id] & TN_VALUE_MAPPED) return set_site(b, v, add_load(b, v));
    return set_site(b, v, add_input(b, v, true));
}

static void add_op(builder *b, const tn_op *op, bool is_copy)
{
    tn_kernel kernel = {0};
    /* That there is one was seen when the op was found fusable. */
    tn_status_free(tn_elementwise_kernel(op, &kernel));
    site in[TN_KERNEL_OPERANDS] = {0};
    for (uint32_t i = 0; i < op->n_operands; i++)
        in[i] = operand_site(b, op->operands[i], kernel.in_step[i] == 0);
    for (uint32_t i = 0; i < op->n_operands; i++) touch(b, &in[i]);
    const tn_value *v = &op->results[0];
    site out;
    if (!is_copy && b->c->flags[v->id] & TN_VALUE_WANTED) {
        b->outputs[b->n_outputs] = (tn_tile_port){.value = v,
                                                  .first_op = b->n_ops,
                                                  .last_op = TN_TILE_OPS,
                                                  .bytes = (uint8_t)bytes_of(v),
                                                  .is_linear = true};
        out = (site){AT_OUTPUT, b->n_outputs++, 0, bytes_of(v)};
    } else {
        out = (site){IN_REGISTER, add_reg(b, bytes_of(v), b->n_ops, b->n_ops), 0, 0};
    }
    micro *m = &b->ops[b->n_ops++];
    *m = (micro){.op = {.kernel = kernel}, .source = op, .out = out};
    memcpy(m->in, in, sizeof in);
    set_site(b, v, out);
    b->cost += tn_elementwise_cost(op);
}

static void add_join(builder *b, const tn_op *op)
{
    const tn_value *v = &op->results[0];
    site *parts = TN_NEW_ARRAY(b->c->arena, site, op->n_operands);
    for (uint32_t i = 0; i < op->n_operands; i++)
        parts[i] = operand_site(b, op->operands[i], false);
    for (uint32_t i = 0; i < op->n_operands; i++) touch(b, &parts[i]);
    b->outputs[b->n_outputs] = (tn_tile_port){
        .value = v, .first_op = b->n_ops, .last_op = TN_TILE_OPS, .bytes = (uint8_t)bytes_of(v)};
    micro *m = &b->ops[b->n_ops++];
    *m = (micro){.out = {AT_OUTPUT, b->n_outputs++, 0, 0}, .ports = parts};
    m->op.join = tn_tile_join_of(op, b->c->arena);
    m->op.n_ports = op->n_operands;
    b->joins = true;
    b->cost += 0.2 * op->n_operands;
}

/* Gives registers places, by the order of their beginnings; gives the number of places. */
static uint32_t place_registers(builder *b)
{
    uint32_t busy_until[TN_TILE_OPS], n = 0;
    for (uint32_t i = 0; i < b->n_regs; i++) {
        /* Fills come first in time and last in the list: they begin at 0. */
        if (b->regs[i].last != TN_TILE_OPS) continue;
        b->regs[i].place = n;
        busy_until[n++] = TN_TILE_OPS;
    }
    for (uint32_t i = 0; i < b->n_regs; i++) {
        reg *r = &b->regs[i];
        if (r->last == TN_TILE_OPS || r->last == UNUSED) continue;
        uint32_t p = 0;
        /* An operand that dies may not be overwritten by a result of another width, so it is never.
         */
        while (p < n && busy_until[p] >= r->first) p++;
        if (p == n) n++;
        r->place = p;
        busy_until[p] = r->last;
    }
    return n;
}

static tn_tile_place place_of(const builder *b, const site *s, uint32_t register_bytes)
{
    switch (s->kind) {
    case AT_INPUT:
        return (tn_tile_place){s->offset, TN_TILE_FIRST_PORT + s->index, s->step, s->row_step,
                               s->map};
    case AT_OUTPUT: return (tn_tile_place){0, TN_TILE_FIRST_PORT + b->n_inputs + s->index, s->step};
    case IN_REGISTER:
        return (tn_tile_place){(uint64_t)b->regs[s->index].place * register_bytes, TN_TILE_REGISTER,
                               0};
    case AT_ADDRESS: break;
    }
    return (tn_tile_place){s->offset, TN_TILE_FIXED, s->step, 0, s->map};
}

/* Elements that go through at a time: many, but few enough for the registers to stay in L1. */
static uint32_t tile_size(uint32_t n_places, unsigned widest)
{
    uint32_t tile = n_places ? TILE_AT_MOST : TILE_WITHOUT_REGISTERS;
    while (tile > TILE_AT_LEAST && n_places * tile * widest > REGISTERS_BYTES) tile /= 2;
    while (n_places * tile * widest > TN_TILE_REGISTERS) tile /= 2;
    return tile;
}

static bool is_load(const micro *m)
{
    return tn_tile_is_load(&m->op);
}

static int64_t multiple_of_both(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Lets a tile be a multiple of the periods of loads, as far as they fit into it: such are done once
 * for all tiles. Gives the tile. */
static uint32_t place_loads(builder *b)
{
    uint32_t tile = tile_size(place_registers(b), b->widest);
    int64_t unit = 1;
    for (uint32_t i = 0; i < b->n_ops; i++) {
        if (!is_load(&b->ops[i])) continue;
        int64_t period = tn_map_period(b->ops[i].op.map);
        if (!period || period > tile) continue;
        int64_t both = multiple_of_both(unit, period);
        if (both > tile || (b->row && b->row % both)) continue;
        unit = both;
        b->ops[i].op.once = true;
        /* Like a fill, it is there throughout. */
        b->regs[b->ops[i].out.index] = (reg){.first = 0, .last = TN_TILE_OPS};
    }
    if (unit == 1) return tile;
    tile = tile_size(place_registers(b), b->widest);
    for (uint32_t i = 0; i < b->n_ops && unit > tile; i++) b->ops[i].op.once = false;
    if (unit > tile) return tile;
    /* Outputs of whole lines may go past the caches. */
    int64_t lines = multiple_of_both(unit, TILE_AT_LEAST);
    if (lines <= tile) unit = lines;
    return (uint32_t)(tile / unit * unit);
}

/* Says again when ports and registers are used, and leaves out fills that nothing reads. */
static void see_site(builder *b, const site *s, uint32_t at, bool *used)
{
    switch (s->kind) {
    case AT_INPUT:
        if (b->inputs[s->index].first_op > at) b->inputs[s->index].first_op = at;
        if (b->inputs[s->index].last_op < at) b->inputs[s->index].last_op = at;
        break;
    case AT_OUTPUT:
        if (b->outputs[s->index].first_op > at) b->outputs[s->index].first_op = at;
        break;
    case IN_REGISTER:
        used[s->index] = true;
        if (b->regs[s->index].last == TN_TILE_OPS) break;
        if (b->regs[s->index].first > at) b->regs[s->index].first = at;
        if (b->regs[s->index].last < at || b->regs[s->index].last == UNUSED)
            b->regs[s->index].last = at;
        break;
    case AT_ADDRESS: break;
    }
}

static void count_again(builder *b)
{
    bool used[TN_TILE_OPS] = {false};
    for (uint32_t i = 0; i < b->n_inputs; i++) {
        b->inputs[i].first_op = TN_TILE_OPS;
        b->inputs[i].last_op = 0;
    }
    for (uint32_t i = 0; i < b->n_outputs; i++) b->outputs[i].first_op = TN_TILE_OPS;
    for (uint32_t i = 0; i < b->n_regs; i++) {
        if (b->regs[i].last == TN_TILE_OPS) continue;
        b->regs[i] = (reg){.first = TN_TILE_OPS, .last = UNUSED};
    }
    for (uint32_t i = 0; i < b->n_ops; i++) {
        const micro *m = &b->ops[i];
        for (uint32_t k = 0; k < m->op.n_ports; k++) see_site(b, &m->ports[k], i, used);
        if (m->op.code) continue;
        uint32_t n = m->op.join         ? 0
                     : m->op.kernel.run ? m->op.kernel.n_operands
                     : m->op.ramp       ? 0
                                        : 1;
        for (uint32_t k = 0; k < n; k++) see_site(b, &m->in[k], i, used);
        see_site(b, &m->out, i, used);
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n_fills; i++) {
        if (!used[b->fill_reg[i]]) {
            b->regs[b->fill_reg[i]] = (reg){.first = TN_TILE_OPS, .last = UNUSED};
            continue;
        }
        if (b->fill_from[i].kind == AT_INPUT)
            b->inputs[b->fill_from[i].index].last_op = TN_TILE_OPS;
        b->fills[n] = b->fills[i];
        b->fill_from[n] = b->fill_from[i];
        b->fill_reg[n++] = b->fill_reg[i];
    }
    b->n_fills = n;
}

static const tn_tile_source *source_of(const builder *b)
{
    tn_arena *a = b->c->arena;
    if (b->n_ops > TN_ROWS_SOURCE_OPS || b->n_regs > TN_ROWS_SOURCE_OPS) return NULL;
    tn_tile_source *s = TN_NEW(a, tn_tile_source);
    *s = (tn_tile_source){.ops = tn_dup(a, b->ops, b->n_ops * sizeof *b->ops),
                          .fill_from = tn_dup(a, b->fill_from, b->n_fills * sizeof *b->fill_from),
                          .fill_reg = tn_dup(a, b->fill_reg, b->n_fills * sizeof *b->fill_reg),
                          .n_ops = b->n_ops,
                          .n_regs = b->n_regs,
                          .n_fills = b->n_fills};
    return s;
}

static const tn_tile_program *finish(builder *b, uint32_t n_fused)
{
    tn_arena *a = b->c->arena;
    tn_tile_program *p = TN_NEW(a, tn_tile_program);
    const tn_tile_source *source = NULL;
    if (b->c->jit) {
        source = source_of(b);
        tn_tile_jit(b);
        count_again(b);
    }
    uint32_t tile = place_loads(b), register_bytes = (tile * b->widest + 63) / 64 * 64;
    tn_tile_op *ops = tn_alloc_room(a, b->n_ops * sizeof *ops);
    for (uint32_t i = 0; i < b->n_ops; i++) {
        ops[i] = b->ops[i].op;
        for (uint32_t j = 0; j < TN_KERNEL_OPERANDS; j++)
            ops[i].in[j] = place_of(b, &b->ops[i].in[j], register_bytes);
        ops[i].out = place_of(b, &b->ops[i].out, register_bytes);
        tn_tile_place *places = TN_NEW_ARRAY(a, tn_tile_place, ops[i].n_ports);
        for (uint32_t j = 0; j < ops[i].n_ports; j++)
            places[j] = place_of(b, &b->ops[i].ports[j], register_bytes);
        ops[i].places = places;
    }
    for (uint32_t i = 0; i < b->n_fills; i++) {
        site to = {IN_REGISTER, b->fill_reg[i], 0, 0};
        b->fills[i].from = place_of(b, &b->fill_from[i], register_bytes);
        b->fills[i].to = place_of(b, &to, register_bytes);
    }
    *p = (tn_tile_program){.n = b->n,
                           .tile = tile,
                           .row = b->row,
                           .n_inputs = b->n_inputs,
                           .n_outputs = b->n_outputs,
                           .n_ops = b->n_ops,
                           .n_fills = b->n_fills,
                           .inputs = tn_dup(a, b->inputs, b->n_inputs * sizeof *b->inputs),
                           .outputs = tn_dup(a, b->outputs, b->n_outputs * sizeof *b->outputs),
                           .ops = ops,
                           .fills = tn_dup(a, b->fills, b->n_fills * sizeof *b->fills),
                           .cost_ns = b->cost,
                           .joins = b->joins,
                           .n_fused = n_fused,
                           .source = source};
    return p;
}

const tn_tile_program *tn_tile_build(tn_cluster_context *c, const tn_group_op *ops, uint32_t n)
{
    /* Too large for small stacks. */
    if (!c->tile_builder) c->tile_builder = tn_alloc_room(c->arena, sizeof(builder));
    builder *b = c->tile_builder;
    b->c = c;
    b->n = tn_group_space(ops[0].op);
    b->n_inputs = b->n_outputs = b->n_ops = b->n_regs = b->n_fills = b->n_sites = 0;
    b->widest = 1;
    b->cost = 0;
    b->row = 0;
    b->joins = false;
    for (uint32_t i = 0; i < n; i++)
        if (ops[i].op->kind != TN_OP_concatenate) add_op(b, ops[i].op, ops[i].is_copy);
    /* Nothing else wants what they give, and code isn't cut by them. */
    for (uint32_t i = 0; i < n; i++)
        if (ops[i].op->kind == TN_OP_concatenate) add_join(b, ops[i].op);
    return finish(b, n);
}
