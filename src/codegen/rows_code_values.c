/* SPDX-License-Identifier: Apache-2.0 */
/* rows_code_values.c - when what is there in code of rows, and the instructions that make it. */
#include <string.h>

#include "codegen/rows_code_maker.h"
#include "codegen/tile_builder.h"
#include "kernels/turn.h"
#include "ops/elementwise.h"

enum { LARGEST_PIECE = 3000, MOST_COUNTS = 1 << 16 };
enum { DIVIDED_AT_LEAST = 512 /* columns, for which a reciprocal is worth its time */ };
enum { ASKED_FOR_FROM = 1 << 20 /* bytes, which no cache holds */ };
/* Bytes of rows that are asked for, and of those that the nearest cache has room for besides. */
enum { ASKED_ROW = 128 << 10, NEAR_ROW = 8 << 10 };
#define CHEAP 1.2 /* what is rather made again than kept; see tn_elementwise_cost */

tn_jv tn_row_emit(tn_row_maker *m, tn_jit_op op, unsigned bytes, unsigned imm, unsigned n, tn_jv a,
                  tn_jv b, tn_jv c)
{
    if (m->piece.n > LARGEST_PIECE) m->failed = true;
    return m->failed ? 0 : tn_jit_emit(&m->piece, op, bytes, imm, 0, n, a, b, c);
}

/* --- the order of things --- */

static const tn_rows_step *step_of(const tn_row_maker *m, uint32_t ref)
{
    return &m->p->steps[m->maker[ref]];
}

static double cost_of(const tn_rows_step *s)
{
    double cost = 0;
    const tn_tile_source *t = s->tile->source;
    for (uint32_t i = 0; i < t->n_ops; i++)
        if (t->ops[i].source) cost += tn_elementwise_cost(t->ops[i].source);
    return cost;
}

static void note_made(tn_row_maker *m, uint32_t ref, uint32_t by, uint32_t phase, bool row)
{
    m->is_made[ref] = true;
    m->maker[ref] = by;
    m->phase[ref] = (uint8_t)phase;
    m->is_row[ref] = row;
    if (row) m->var[ref] = m->n_variables++;
}

/* Says when each step can be done: phase k goes through the columns for the k-th time. */
SMALL bool tn_row_find_phases(tn_row_maker *m)
{
    for (uint32_t i = 0; i < m->p->n_steps; i++) {
        const tn_rows_step *s = &m->p->steps[i];
        uint32_t phase = 0;
        if (s->product) return false;
        if (s->lines) {
            tn_row_fold *f = &m->folds[m->n_folds++];
            uint32_t from = s->refs[0];
            if (s->per_row != m->columns || m->is_row[from] || m->is_made[s->refs[1]]) return false;
            phase = m->phase[from];
            *f = (tn_row_fold){.step = s, .body = s->reduce->regions[0].first, .phase = phase};
            f->kind = s->lines->op;
            f->from = s->lines->from;
            f->to = s->lines->to;
            note_made(m, s->refs[2], i, phase + 1, true);
        } else {
            const tn_tile_program *t = s->tile;
            if (!t->source || (s->per_row != 1 && s->per_row != m->columns)) return false;
            for (uint32_t k = 0; k < t->n_inputs; k++)
                if (m->phase[s->refs[k]] > phase) phase = m->phase[s->refs[k]];
            for (uint32_t k = 0; k < t->n_outputs; k++)
                note_made(m, s->refs[t->n_inputs + k], i, phase, s->per_row == 1);
        }
        if (phase + 1 >= TN_ROW_PHASES) return false;
        if (phase + (s->lines ? 1 : 0) >= m->n_phases) m->n_phases = phase + (s->lines ? 2 : 1);
    }
    return true;
}

SMALL static bool is_same_map(const tn_access_map *a, const tn_access_map *b)
{
    return a == b || (a && b && !memcmp(a, b, sizeof *a));
}

uint32_t tn_row_port(tn_row_maker *m, const tn_rows_port *p)
{
    for (uint32_t i = 0; i < m->n_ports; i++) {
        const tn_rows_port *q = &m->ports[i];
        if (q->at == p->at && q->ref == p->ref && q->offset == p->offset &&
            q->row_bytes == p->row_bytes && is_same_map(q->map, p->map))
            return i;
    }
    if (m->n_ports == TN_ROWS_CODE_PORTS) {
        m->failed = true;
        return 0;
    }
    m->has_maps |= p->map != NULL;
    m->ports[m->n_ports] = *p;
    return m->n_ports++;
}

uint64_t tn_row_group_at(const tn_row_maker *m, tn_element_type e, uint32_t group)
{
    /* Columns don't lie powers of two apart. */
    if (m->turned) return group * (uint64_t)(m->turned + 64 / tn_element_type_bytes(e));
    return group * m->lanes;
}

SMALL uint32_t tn_row_turned_port(tn_row_maker *m, uint32_t ref, int64_t columns, bool is_output)
{
    tn_element_type e = tn_row_element(m, ref);
    int64_t bytes = tn_element_type_bytes(e);
    tn_rows_turned t = {.ref = ref, .is_output = is_output, .columns = columns, .bytes = bytes};
    uint32_t at = 0;
    while (at < m->n_moves && (m->moves[at].ref != ref || m->moves[at].is_output != is_output))
        at++;
    if (at == TN_ROWS_CODE_PORTS || (at < m->n_moves && m->moves[at].columns != columns)) {
        m->failed = true;
        return 0;
    }
    if (at == m->n_moves) {
        t.offset = m->kept_bytes;
        t.apart = (int64_t)tn_row_group_at(m, e, 1) * bytes;
        m->kept_bytes += tn_turned_columns((size_t)bytes, columns) * t.apart;
        m->moves[m->n_moves++] = t;
    }
    tn_rows_port p = {.at = TN_ROWS_AT_KEPT,
                      .offset = m->moves[at].offset,
                      .row_bytes = m->lanes * bytes,
                      .bytes = bytes};
    return tn_row_port(m, &p);
}

/* Elements that are read in a later phase than theirs and cost much have memory of a row. */
SMALL static void keep(tn_row_maker *m, uint32_t ref)
{
    const tn_rows_value *v = &m->p->values[ref];
    if (m->is_kept[ref]) return;
    m->is_kept[ref] = true;
    if (m->turned) {
        m->port[ref] = tn_row_turned_port(m, ref, m->columns, true);
        return;
    }
    unsigned bytes = tn_element_type_bytes(tn_row_element(m, ref));
    tn_rows_port p = {
        .at = TN_ROWS_AT_VALUE, .ref = ref, .row_bytes = v->row_bytes, .bytes = bytes};
    if (v->is_temp) {
        p = (tn_rows_port){.at = TN_ROWS_AT_KEPT, .offset = m->kept_bytes, .bytes = bytes};
        m->kept_bytes += (v->row_bytes + 2 * TN_ROW_LANE_BYTES + 63) / 64 * 64;
    }
    m->port[ref] = tn_row_port(m, &p);
}

SMALL void tn_row_keep_what_is_read(tn_row_maker *m)
{
    uint32_t wanted[TN_ROWS_VALUES] = {0}; /* bits of phases */
    for (uint32_t i = 0; i < m->p->n_outputs; i++)
        if (!m->is_row[m->p->outputs[i]]) keep(m, m->p->outputs[i]);
    for (uint32_t i = m->p->n_steps; i-- > 0 && !m->one_piece;) {
        const tn_rows_step *s = &m->p->steps[i];
        uint32_t n_in = s->lines ? 1 : s->tile->n_inputs, n_out = s->lines ? 0 : s->tile->n_outputs;
        uint32_t own = 1u << (s->lines ? m->phase[s->refs[0]] : m->phase[s->refs[n_in]]),
                 runs = own;
        for (uint32_t k = n_in; k < n_in + n_out; k++) {
            uint32_t r = s->refs[k], later = wanted[r] & ~own;
            if (m->is_row[r]) continue;
            m->is_read_again[r] = later != 0;
            if (later && cost_of(s) > CHEAP) keep(m, r);
            if (!m->is_kept[r]) runs |= later;
        }
        for (uint32_t k = 0; k < n_in; k++) wanted[s->refs[k]] |= runs;
    }
}

/* --- values --- */

static tn_jv load(tn_row_maker *m, uint32_t port, tn_element_type e, uint32_t group)
{
    if (m->failed) return 0;
    tn_jv v = tn_jit_load(&m->piece, port, e, false);
    tn_jit_instruction *i = &m->piece.list[v];
    i->aux |= tn_row_group_at(m, e, group) << 20;
    i->in_tail = group == m->masked;
    return v;
}

/* Of value `ref` the elements at hand are read now: what was written before must be elsewhere. */
static void note_read(tn_row_maker *m, uint32_t ref, uint32_t group)
{
    m->kept_from[ref] |= m->stored[group];
    for (uint32_t r = 0; r < m->p->n_values; r++)
        if (m->is_kept[r] && m->phase[r] < m->now) m->kept_from[ref] |= 1ull << r;
}

/* Of a value outside, elements are read that other rows or columns are about to write. */
static void note_read_anywhere(tn_row_maker *m, const tn_rows_port *p)
{
    if (p->at == TN_ROWS_AT_VALUE) m->kept_from[p->ref] = UINT64_MAX;
}

tn_jv tn_row_splat(tn_row_maker *m, uint32_t port, tn_element_type e)
{
    if (m->failed) return 0;
    note_read_anywhere(m, &m->ports[port]);
    if (m->splat[port] == NONE) m->splat[port] = tn_jit_load(&m->piece, port, e, true);
    return m->splat[port];
}

tn_jv tn_row_truth(tn_row_maker *m, bool x)
{
    tn_jv a = tn_jit_const(&m->piece, 4, 0), b = x ? a : tn_jit_const(&m->piece, 4, 1);
    return tn_row_emit(m, TN_JIT_ICMP, 4, TN_JIT_IEQ, 2, a, b, 0);
}

tn_jv tn_row_constant(tn_row_maker *m, const void *data, tn_element_type e)
{
    if (e == TN_I1) return tn_row_truth(m, *(const uint8_t *)data & 1);
    return tn_jit_element(&m->piece, e, data);
}

static tn_jv row_value(tn_row_maker *m, uint32_t ref)
{
    if (m->row[ref] == NONE && !m->failed) {
        if (!m->is_made[ref] || m->phase[ref] > m->now) m->failed = true;
        else
            m->row[ref] = tn_jit_load(&m->piece, TN_JIT_VARIABLE + m->var[ref],
                                      tn_row_element(m, ref), false);
    }
    return m->row[ref];
}

SMALL tn_jv tn_row_column_value(tn_row_maker *m, uint32_t ref, uint32_t group)
{
    tn_jv *v = &m->made[group][ref];
    if (*v != NONE || m->failed) return *v;
    if (!m->is_made[ref] && m->turned) {
        *v = load(m, tn_row_turned_port(m, ref, m->columns, false), tn_row_element(m, ref), group);
    } else if (!m->is_made[ref]) {
        unsigned bytes = tn_element_type_bytes(tn_row_element(m, ref));
        tn_rows_port p = {.at = TN_ROWS_AT_VALUE,
                          .ref = ref,
                          .row_bytes = m->columns * (int64_t)bytes,
                          .bytes = bytes};
        *v = load(m, tn_row_port(m, &p), tn_row_element(m, ref), group);
        if (!m->read_first[ref]) m->read_first[ref] = (uint8_t)(m->now + 1);
        /* The machine's own prefetching ends with a page. */
        if (!m->failed && m->read_first[ref] == m->now + 1 && (!m->asks || m->now) &&
            m->p->n * m->columns * bytes >= ASKED_FOR_FROM)
            m->piece.list[*v].in[0] = 1;
        note_read(m, ref, group);
    } else if (m->is_kept[ref] && m->phase[ref] < m->now) {
        *v = load(m, m->port[ref], tn_row_element(m, ref), group);
    } else {
        tn_row_run_tile(m, step_of(m, ref), group);
    }
    return *v;
}

/* --- what is asked for early --- */

SMALL void tn_row_find_asking(tn_row_maker *m)
{
    double cost[TN_ROW_PHASES] = {0}, most = CHEAP;
    int64_t bytes = 0;
    for (uint32_t r = 0; r < m->p->n_values; r++)
        if (!m->p->values[r].is_temp && !m->is_row[r])
            bytes += tn_type_bytes(m->p->values[r].value->type);
    if (m->one_piece || bytes < ASKED_FOR_FROM) return;
    for (uint32_t i = 0; i < m->p->n_steps; i++) {
        const tn_rows_step *s = &m->p->steps[i];
        if (s->per_row == 1) continue;
        uint32_t phase = m->phase[s->refs[s->lines ? 0 : s->tile->n_inputs]];
        cost[phase] += s->lines ? 0.1 : cost_of(s);
    }
    for (uint32_t k = 1; k < TN_ROW_PHASES; k++) {
        if (cost[k] <= most) continue;
        most = cost[k];
        m->asks = k;
    }
}

static void ask(tn_row_maker *m, uint32_t port, unsigned bytes, int64_t from, unsigned imm)
{
    for (uint32_t at = 0; at < m->step && !m->failed; at += 64 / bytes)
        tn_jit_emit(&m->piece, TN_JIT_ASK, bytes, imm, port | (uint64_t)(from + at) << 20, 0, 0, 0,
                    0);
}

SMALL void tn_row_ask(tn_row_maker *m)
{
    if (!m->asks) return;
    for (uint32_t r = 0; r < m->p->n_values; r++) {
        unsigned bytes = tn_element_type_bytes(tn_row_element(m, r));
        int64_t row = m->columns * (int64_t)bytes;
        bool is_input = !m->is_made[r] && m->read_first[r] == 1 && m->now == m->asks;
        if (is_input && row <= ASKED_ROW) {
            tn_rows_port p = {.at = TN_ROWS_AT_VALUE, .ref = r, .row_bytes = row, .bytes = bytes};
            ask(m, tn_row_port(m, &p), bytes, m->columns, row > NEAR_ROW);
        }
        uint32_t before = m->asks < m->phase[r] ? m->asks : m->phase[r] - 1u;
        if (m->is_kept[r] && !m->p->values[r].is_temp && !m->streams && m->phase[r] &&
            m->now == before && row <= NEAR_ROW)
            ask(m, m->port[r], bytes, 0, 2);
    }
}

/* What input k of a tile program is, read as it stands. */
SMALL static tn_jv input(tn_row_maker *m, const tn_rows_step *s, uint32_t k, int64_t offset,
                         uint32_t group)
{
    uint32_t ref = s->refs[k];
    tn_element_type e = tn_row_element(m, ref);
    if (s->tile->inputs[k].is_linear) {
        if (s->per_row > 1) {
            if (m->is_row[ref]) m->failed = true;
            return tn_row_column_value(m, ref, group);
        }
        if (m->is_made[ref]) return row_value(m, ref);
    } else if (m->is_made[ref]) {
        m->failed = true;
        return 0;
    }
    unsigned bytes = tn_element_type_bytes(e);
    tn_rows_port p = {.at = TN_ROWS_AT_VALUE, .ref = ref, .offset = offset, .bytes = bytes};
    if (m->turned && s->tile->inputs[k].is_linear)
        return load(m, tn_row_turned_port(m, ref, 1, false), e, 0);
    if (s->tile->inputs[k].is_linear) p.row_bytes = bytes;
    return tn_row_splat(m, tn_row_port(m, &p), e);
}

/* Elements that are read through a map, or are its places themselves. */
/* The same map, of which the last dimension is that of columns; what it can't be is left. */
static const tn_access_map *map_by_rows(tn_row_maker *m, const tn_access_map *map)
{
    uint32_t last = map->n_dims - 1;
    if (map->n_dims == TN_MAP_DIMS || !map->n_dims || map->size[last] <= m->columns ||
        map->size[last] % m->columns)
        return map;
    tn_access_map *by = tn_dup(m->arena, map, sizeof *map);
    by->n_dims++;
    by->size[last] = map->size[last] / m->columns;
    by->step[last] = map->step[last] * m->columns;
    by->size[last + 1] = m->columns;
    by->step[last + 1] = map->step[last];
    return by;
}

/* One number of each column, the same for all rows; or of each row. */
SMALL static tn_jv turned_map(tn_row_maker *m, const tn_rows_port *p, uint32_t ref, int64_t inner,
                              uint32_t n_outer, const tn_access_map *map, tn_element_type e,
                              uint32_t group)
{
    bool same = n_outer == 0 || (n_outer == 1 && map->step[0] == 0);
    if (same && !m->failed) {
        tn_rows_port q = *p;
        q.row_bytes = 0;
        note_read_anywhere(m, &q);
        tn_jv v = tn_jit_load(&m->piece, tn_row_port(m, &q), e, true);
        m->piece.list[v].aux |= (uint64_t)(inner ? group : 0) << 20;
        return v;
    }
    if (p->at != TN_ROWS_AT_VALUE || inner || n_outer != 1 || map->step[0] != 1 || p->offset ||
        map->size[0] != m->p->n || tn_type_elements(m->p->values[ref].value->type) != m->p->n)
        m->failed = true;
    return m->failed ? 0 : load(m, tn_row_turned_port(m, ref, 1, false), e, 0);
}

SMALL static tn_jv mapped(tn_row_maker *m, const tn_rows_step *s, const micro *x, uint32_t group)
{
    const tn_access_map *map = x->op.map;
    uint32_t ref = x->op.ramp ? 0 : s->refs[x->in[0].index], n = map->n_dims;
    bool row = s->per_row == 1, whole = n == 1 && map->size[0] == s->tile->n && map->step[0] == 1;
    if (map->n_cuts || (x->op.ramp && x->op.ramp != TN_I32)) {
        m->failed = true;
        return 0;
    }
    if (!x->op.ramp && m->is_made[ref]) {
        if (m->is_row[ref]) return row_value(m, ref);
        if (whole && !map->base && !row) return tn_row_column_value(m, ref, group);
        m->failed = true;
        return 0;
    }
    if (!row) map = map_by_rows(m, map);
    n = map->n_dims;
    int64_t inner = row ? 0 : map->step[n - 1];
    if (!row && (map->size[n - 1] != m->columns || (inner != 0 && inner != 1))) m->failed = true;
    if (m->failed) return 0;
    unsigned bytes = x->op.bytes;
    tn_rows_port p = {.at = x->op.ramp ? TN_ROWS_AT_COUNTS : TN_ROWS_AT_VALUE,
                      .ref = ref,
                      .offset = x->op.ramp ? map->base * 4 : (int64_t)x->in[0].offset,
                      .bytes = bytes};
    uint32_t n_outer = row ? n : n - 1;
    if (n_outer) p.row_bytes = map->step[n_outer - 1] * (int64_t)bytes;
    if (n_outer > 1) {
        p.map = map;
        p.n_outer = n_outer;
    }
    if (x->op.ramp) {
        int64_t last = map->base;
        for (uint32_t d = 0; d < n; d++) last += (map->size[d] - 1) * map->step[d];
        if (last < 0 || last >= MOST_COUNTS || map->base < 0) m->failed = true;
        if (last >= m->n_counts) m->n_counts = last + 1;
        for (uint32_t d = 0; d < n; d++) m->failed |= map->step[d] < 0;
    }
    tn_element_type e = x->op.ramp ? TN_I32 : tn_row_element(m, ref);
    if (m->turned) return turned_map(m, &p, ref, inner, n_outer, map, e, group);
    note_read_anywhere(m, &p);
    return inner ? load(m, tn_row_port(m, &p), e, group) : tn_row_splat(m, tn_row_port(m, &p), e);
}

/* One element of a whole array. */
static tn_jv taken(tn_row_maker *m, const tn_rows_step *s, const micro *x, tn_jv index)
{
    const site *from = &x->in[0];
    const tn_type *type = tn_operand_type(x->source, 0);
    uint32_t ref = from->kind == AT_INPUT ? s->refs[from->index] : 0;
    if (s->per_row != 1 || from->kind != AT_INPUT || m->is_made[ref] || m->failed || m->turned ||
        tn_operand_type(x->source, 1)->element != TN_I32 || !tn_jit_has_type(type->element)) {
        m->failed = true;
        return 0;
    }
    unsigned bytes = tn_element_type_bytes(type->element);
    tn_rows_port p = {.at = TN_ROWS_AT_VALUE, .ref = ref, .bytes = bytes};
    uint64_t last = (uint64_t)tn_type_elements(type) - 1;
    index = tn_row_emit(m, TN_JIT_SMAX, 4, 0, 2, index, tn_jit_const(&m->piece, 4, 0), 0);
    index = tn_row_emit(m, TN_JIT_SMIN, 4, 0, 2, index, tn_jit_const(&m->piece, 4, last), 0);
    tn_jv v = tn_row_emit(m, TN_JIT_LOAD_AT, bytes == 8 ? 8 : 4, type->element, 1, index, 0, 0);
    if (!m->failed) m->piece.list[v].aux = tn_row_port(m, &p);
    note_read_anywhere(m, &p);
    return v;
}

/* The value that register `at` holds before micro-op `before`, if that is one number a row; or
 * NONE.
 */
static uint32_t row_in_register(const tn_row_maker *m, const tn_rows_step *s, uint32_t before,
                                const site *at)
{
    const tn_tile_source *t = s->tile->source;
    if (at->kind != IN_REGISTER) return NONE;
    for (uint32_t i = before; i-- > 0;) {
        const micro *x = &t->ops[i];
        if (x->out.kind != IN_REGISTER || x->out.index != at->index) continue;
        if (x->op.kernel.run || x->op.ramp || x->in[0].kind != AT_INPUT) return NONE;
        uint32_t ref = s->refs[x->in[0].index];
        return m->is_made[ref] && m->is_row[ref] ? ref : NONE;
    }
    return NONE;
}

SMALL void tn_row_find_divisors(tn_row_maker *m)
{
    if (m->columns < DIVIDED_AT_LEAST) return;
    for (uint32_t i = 0; i < m->p->n_steps; i++) {
        const tn_rows_step *s = &m->p->steps[i];
        if (!s->tile || s->per_row == 1) continue;
        const tn_tile_source *t = s->tile->source;
        for (uint32_t k = 0; k < t->n_ops; k++) {
            const micro *x = &t->ops[k];
            if (!x->op.kernel.run || x->source->kind != TN_OP_divide) continue;
            uint32_t ref = row_in_register(m, s, k, &x->in[1]);
            if (ref == NONE || !tn_is_float(tn_row_element(m, ref)) || m->by[ref]) continue;
            m->by[ref] = ++m->n_variables;
        }
    }
}

/* Divisions from instruction `first` on that are by a row's value go by its reciprocal. */
static void divide_by_row(tn_row_maker *m, uint32_t first, tn_jv row, tn_jv reciprocal)
{
    for (uint32_t i = first; i < m->piece.n; i++) {
        tn_jit_instruction *x = &m->piece.list[i];
        if (x->op != TN_JIT_FDIV || x->in[1] != row) continue;
        x->op = TN_JIT_DIVIDE_BY;
        x->n_operands = 3;
        x->in[2] = reciprocal;
    }
}

/* The reciprocal of what a micro-op divides by, where it has one. The lanes behind a row have
 * quotients that are far from 1. */
static tn_jv reciprocal_for(tn_row_maker *m, const tn_rows_step *s, uint32_t op)
{
    const micro *x = &s->tile->source->ops[op];
    if (s->per_row == 1 || x->source->kind != TN_OP_divide || m->failed) return NONE;
    uint32_t ref = row_in_register(m, s, op, &x->in[1]);
    if (ref == NONE || !m->by[ref]) return NONE;
    if (m->reciprocal[ref] == NONE)
        m->reciprocal[ref] = tn_jit_load(&m->piece, TN_JIT_VARIABLE + m->by[ref] - 1,
                                         tn_row_element(m, ref) == TN_F64 ? TN_F64 : TN_F32, false);
    return m->reciprocal[ref];
}

/* Emits a tile program for a group of lanes; what is not wanted is left out when it is written. */
SMALL void tn_row_run_tile(tn_row_maker *m, const tn_rows_step *s, uint32_t group)
{
    const tn_tile_source *t = s->tile->source;
    tn_jv regs[TN_ROWS_SOURCE_OPS];
    uint32_t fill[TN_ROWS_SOURCE_OPS];
    bool row = s->per_row == 1;
    tn_jv *out = row ? m->row : m->made[group];
    memset(fill, 0, t->n_regs * sizeof *fill);
    for (uint32_t i = 0; i < t->n_regs; i++) regs[i] = NONE;
    for (uint32_t i = 0; i < t->n_fills; i++) fill[t->fill_reg[i]] = i + 1;
    for (uint32_t i = 0; i < t->n_ops && !m->failed; i++) {
        const micro *x = &t->ops[i];
        uint32_t first = 0;
        tn_jv v, in[TN_KERNEL_OPERANDS] = {0}, reciprocal = NONE;
        if (!x->op.kernel.run) {
            v = mapped(m, s, x, group);
        } else {
            for (uint32_t k = 0; k < x->source->n_operands && !m->failed; k++) {
                tn_element_type e = tn_operand_type(x->source, k)->element;
                const site *from = &x->in[k];
                if (x->source->kind == TN_OP_take && k == 0) continue;
                if (!tn_jit_has_type(e)) m->failed = true;
                if (from->kind == IN_REGISTER && regs[from->index] == NONE && fill[from->index])
                    from = &t->fill_from[fill[from->index] - 1];
                switch (from->kind) {
                case AT_INPUT:
                    in[k] = input(m, s, from->index, (int64_t)from->offset, group);
                    break;
                case AT_OUTPUT: in[k] = out[s->refs[s->tile->n_inputs + from->index]]; break;
                case IN_REGISTER: in[k] = regs[from->index]; break;
                case AT_ADDRESS:
                    in[k] = tn_row_constant(m, (const void *)(uintptr_t)from->offset, e);
                    break;
                }
                if (in[k] == NONE) m->failed = true;
            }
            if (group != m->masked) reciprocal = reciprocal_for(m, s, i);
            first = m->piece.n;
            if (x->source->kind == TN_OP_take) v = taken(m, s, x, in[1]);
            else if (m->failed || !tn_jit_lower(&m->piece, x->source, in, &v)) m->failed = true;
        }
        if (m->failed) return;
        if (reciprocal != NONE) divide_by_row(m, first, in[1], reciprocal);
        if (x->out.kind == AT_OUTPUT) out[s->refs[s->tile->n_inputs + x->out.index]] = v;
        else regs[x->out.index] = v;
    }
}
