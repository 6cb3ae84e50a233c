/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/rows_code.h"

#include <math.h>
#include <string.h>

#include "codegen/jit_flow.h"
#include "codegen/tile_builder.h"
#include "kernels/half.h"
#include "ops/elementwise.h"
#include "passes/rewrite.h"

enum {
    PHASES = 8,
    GROUPS = 8,       /* of lanes, in a group of columns */
    LANE_BYTES = 256, /* see kernels/reduce_rows.h, */
    BLOCK = 128,      /* groups that are folded before they join a total */
    STREAMED_FROM = 4 << 20,
    LARGEST_PIECE = 3000,
    MOST_COUNTS = 1 << 16
};
#define CHEAP 1.2 /* what is rather made again than kept; see tn_elementwise_cost */

/* A reduction. */
typedef struct {
    const tn_rows_step *step;
    const tn_op *body; /* its one op */
    tn_op_kind kind;
    tn_element_type from, to;
    unsigned bytes; /* of an accumulator */
    bool is_float, by_range;
    uint32_t phase, var, total, bad; /* variables: accumulators, totals, NaN */
} fold;

typedef struct {
    tn_jit *jit;
    tn_arena *arena;
    const tn_rows *p;
    int64_t columns;
    uint32_t lanes, groups, step; /* of a vector; vectors in a step of columns; its columns */
    uint32_t whole, rest;         /* columns in steps, and behind them */
    bool one_piece;               /* a row is no more than a step */
    bool streams;
    tn_jit_flow flow;
    tn_rows_port ports[TN_ROWS_CODE_PORTS];
    uint32_t n_ports;
    bool has_maps, failed;
    int64_t n_counts;
    fold folds[TN_ROWS_STEPS];
    uint32_t n_folds, n_phases, n_variables;
    int64_t kept_bytes;
    /* of values: when they are there first, who makes them */
    uint8_t phase[TN_ROWS_VALUES];
    bool is_made[TN_ROWS_VALUES], is_row[TN_ROWS_VALUES], is_kept[TN_ROWS_VALUES];
    bool is_read_again[TN_ROWS_VALUES]; /* in a later phase */
    uint32_t maker[TN_ROWS_VALUES], var[TN_ROWS_VALUES], port[TN_ROWS_VALUES];
    /* of the piece at hand */
    tn_jit_piece piece;
    uint32_t now;    /* the phase */
    uint32_t masked; /* the group of lanes that isn't whole, or GROUPS */
    tn_jv made[GROUPS][TN_ROWS_VALUES], row[TN_ROWS_VALUES], splat[TN_ROWS_CODE_PORTS];
    tn_jv acc[TN_ROWS_STEPS][GROUPS], bad[TN_ROWS_STEPS];
    tn_jv unseen[TN_ROWS_STEPS]; /* what hasn't been looked at for NaN */
} maker;

#define NONE TN_JIT_NO_VALUE
/* Of code that runs once a group: small. */
#define SMALL __attribute__((cold))

static tn_jv emit(maker *m, tn_jit_op op, unsigned bytes, unsigned imm, unsigned n, tn_jv a,
                  tn_jv b, tn_jv c)
{
    if (m->piece.n > LARGEST_PIECE) m->failed = true;
    return m->failed ? 0 : tn_jit_emit(&m->piece, op, bytes, imm, 0, n, a, b, c);
}

static tn_element_type element_of(const maker *m, uint32_t ref)
{
    return m->p->values[ref].value->type->element;
}

/* --- the order of things --- */

static const tn_rows_step *step_of(const maker *m, uint32_t ref)
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

static void note_made(maker *m, uint32_t ref, uint32_t by, uint32_t phase, bool row)
{
    m->is_made[ref] = true;
    m->maker[ref] = by;
    m->phase[ref] = (uint8_t)phase;
    m->is_row[ref] = row;
    if (row) m->var[ref] = m->n_variables++;
}

/* Says when each step can be done: phase k goes through the columns for the k-th time. */
SMALL static bool find_phases(maker *m)
{
    for (uint32_t i = 0; i < m->p->n_steps; i++) {
        const tn_rows_step *s = &m->p->steps[i];
        uint32_t phase = 0;
        if (s->product) return false;
        if (s->lines) {
            fold *f = &m->folds[m->n_folds++];
            uint32_t from = s->refs[0];
            if (s->per_row != m->columns || m->is_row[from] || m->is_made[s->refs[1]]) return false;
            phase = m->phase[from];
            *f = (fold){.step = s, .body = s->reduce->regions[0].first, .phase = phase};
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
        if (phase + 1 >= PHASES) return false;
        if (phase + (s->lines ? 1 : 0) >= m->n_phases) m->n_phases = phase + (s->lines ? 2 : 1);
    }
    return true;
}

SMALL static bool is_same_map(const tn_access_map *a, const tn_access_map *b)
{
    return a == b || (a && b && !memcmp(a, b, sizeof *a));
}

static uint32_t add_port(maker *m, const tn_rows_port *p)
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

/* Elements that are read in a later phase than theirs and cost much have memory of a row. */
SMALL static void keep(maker *m, uint32_t ref)
{
    const tn_rows_value *v = &m->p->values[ref];
    if (m->is_kept[ref]) return;
    unsigned bytes = tn_element_type_bytes(element_of(m, ref));
    tn_rows_port p = {
        .at = TN_ROWS_AT_VALUE, .ref = ref, .row_bytes = v->row_bytes, .bytes = bytes};
    if (v->is_temp) {
        p = (tn_rows_port){.at = TN_ROWS_AT_KEPT, .offset = m->kept_bytes, .bytes = bytes};
        m->kept_bytes += (v->row_bytes + 2 * LANE_BYTES + 63) / 64 * 64;
    }
    m->is_kept[ref] = true;
    m->port[ref] = add_port(m, &p);
}

SMALL static void keep_what_is_read(maker *m)
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

static tn_jv load(maker *m, uint32_t port, tn_element_type e, uint32_t group)
{
    if (m->failed) return 0;
    tn_jv v = tn_jit_load(&m->piece, port, e, false);
    tn_jit_instruction *i = &m->piece.list[v];
    i->aux |= (uint64_t)(group * m->lanes) << 20;
    i->in_tail = group == m->masked;
    return v;
}

static tn_jv splat(maker *m, uint32_t port, tn_element_type e)
{
    if (m->failed) return 0;
    if (m->splat[port] == NONE) m->splat[port] = tn_jit_load(&m->piece, port, e, true);
    return m->splat[port];
}

static tn_jv truth(maker *m, bool x)
{
    tn_jv a = tn_jit_const(&m->piece, 4, 0), b = x ? a : tn_jit_const(&m->piece, 4, 1);
    return emit(m, TN_JIT_ICMP, 4, TN_JIT_IEQ, 2, a, b, 0);
}

SMALL static tn_jv constant(maker *m, const void *data, tn_element_type e)
{
    uint64_t bits = 0;
    unsigned bytes = tn_element_type_bytes(e);
    memcpy(&bits, data, bytes);
    switch ((int)e) {
    case TN_I1: return truth(m, bits & 1);
    case TN_I8: bits = (uint32_t)(int8_t)bits; break;
    case TN_I16: bits = (uint32_t)(int16_t)bits; break;
    case TN_BF16: bits <<= 16; break;
    case TN_F16: {
        float f = tn_f32_of_f16((uint16_t)bits);
        bits = 0;
        memcpy(&bits, &f, sizeof f);
        break;
    }
    default: break;
    }
    return tn_jit_const(&m->piece, bytes == 8 ? 8 : 4, bits);
}

static tn_jv row_value(maker *m, uint32_t ref)
{
    if (m->row[ref] == NONE && !m->failed) {
        if (!m->is_made[ref] || m->phase[ref] > m->now) m->failed = true;
        else
            m->row[ref] =
                tn_jit_load(&m->piece, TN_JIT_VARIABLE + m->var[ref], element_of(m, ref), false);
    }
    return m->row[ref];
}

static void run_tile(maker *m, const tn_rows_step *s, uint32_t group);

SMALL static tn_jv column_value(maker *m, uint32_t ref, uint32_t group)
{
    tn_jv *v = &m->made[group][ref];
    if (*v != NONE || m->failed) return *v;
    if (!m->is_made[ref]) {
        unsigned bytes = tn_element_type_bytes(element_of(m, ref));
        tn_rows_port p = {.at = TN_ROWS_AT_VALUE,
                          .ref = ref,
                          .row_bytes = m->columns * (int64_t)bytes,
                          .bytes = bytes};
        *v = load(m, add_port(m, &p), element_of(m, ref), group);
    } else if (m->is_kept[ref] && m->phase[ref] < m->now) {
        *v = load(m, m->port[ref], element_of(m, ref), group);
    } else {
        run_tile(m, step_of(m, ref), group);
    }
    return *v;
}

/* What input k of a tile program is, read as it stands. */
SMALL static tn_jv input(maker *m, const tn_rows_step *s, uint32_t k, int64_t offset,
                         uint32_t group)
{
    uint32_t ref = s->refs[k];
    tn_element_type e = element_of(m, ref);
    if (s->tile->inputs[k].is_linear) {
        if (s->per_row > 1) {
            if (m->is_row[ref]) m->failed = true;
            return column_value(m, ref, group);
        }
        if (m->is_made[ref]) return row_value(m, ref);
    } else if (m->is_made[ref]) {
        m->failed = true;
        return 0;
    }
    unsigned bytes = tn_element_type_bytes(e);
    tn_rows_port p = {.at = TN_ROWS_AT_VALUE, .ref = ref, .offset = offset, .bytes = bytes};
    if (s->tile->inputs[k].is_linear) p.row_bytes = bytes;
    return splat(m, add_port(m, &p), e);
}

/* Elements that are read through a map, or are its places themselves. */
/* The same map, of which the last dimension is that of columns; what it can't be is left. */
static const tn_access_map *map_by_rows(maker *m, const tn_access_map *map)
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

SMALL static tn_jv mapped(maker *m, const tn_rows_step *s, const micro *x, uint32_t group)
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
        if (whole && !map->base && !row) return column_value(m, ref, group);
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
    tn_element_type e = x->op.ramp ? TN_I32 : element_of(m, ref);
    return inner ? load(m, add_port(m, &p), e, group) : splat(m, add_port(m, &p), e);
}

/* One element of a whole array. */
static tn_jv taken(maker *m, const tn_rows_step *s, const micro *x, tn_jv index)
{
    const site *from = &x->in[0];
    const tn_type *type = tn_operand_type(x->source, 0);
    uint32_t ref = from->kind == AT_INPUT ? s->refs[from->index] : 0;
    if (s->per_row != 1 || from->kind != AT_INPUT || m->is_made[ref] || m->failed ||
        tn_operand_type(x->source, 1)->element != TN_I32 || !tn_jit_has_type(type->element)) {
        m->failed = true;
        return 0;
    }
    unsigned bytes = tn_element_type_bytes(type->element);
    tn_rows_port p = {.at = TN_ROWS_AT_VALUE, .ref = ref, .bytes = bytes};
    uint64_t last = (uint64_t)tn_type_elements(type) - 1;
    index = emit(m, TN_JIT_SMAX, 4, 0, 2, index, tn_jit_const(&m->piece, 4, 0), 0);
    index = emit(m, TN_JIT_SMIN, 4, 0, 2, index, tn_jit_const(&m->piece, 4, last), 0);
    tn_jv v = emit(m, TN_JIT_LOAD_AT, bytes == 8 ? 8 : 4, type->element, 1, index, 0, 0);
    if (!m->failed) m->piece.list[v].aux = add_port(m, &p);
    return v;
}

/* Emits a tile program for a group of lanes; what is not wanted is left out when it is written. */
SMALL static void run_tile(maker *m, const tn_rows_step *s, uint32_t group)
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
        tn_jv v, in[TN_KERNEL_OPERANDS] = {0};
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
                    in[k] = constant(m, (const void *)(uintptr_t)from->offset, e);
                    break;
                }
                if (in[k] == NONE) m->failed = true;
            }
            if (x->source->kind == TN_OP_take) v = taken(m, s, x, in[1]);
            else if (m->failed || !tn_jit_lower(&m->piece, x->source, in, &v)) m->failed = true;
        }
        if (m->failed) return;
        if (x->out.kind == AT_OUTPUT) out[s->refs[s->tile->n_inputs + x->out.index]] = v;
        else regs[x->out.index] = v;
    }
}

/* --- folds --- */

static tn_element_type type_in_variable(const fold *f)
{
    if (f->bytes == 8) return f->is_float ? TN_F64 : TN_I64;
    return f->is_float ? TN_F32 : TN_I32;
}

static uint64_t real_bits(unsigned bytes, double x)
{
    uint64_t bits = 0;
    float f = (float)x;
    if (bytes == 8) memcpy(&bits, &x, 8);
    else memcpy(&bits, &f, 4);
    return bits;
}

/* What changes nothing. */
SMALL static uint64_t neutral(const fold *f)
{
    unsigned width = 8 * (unsigned)tn_element_type_bytes(f->from);
    bool sint = tn_element_type_class(f->from) == TN_CLASS_SINT;
    uint64_t ones = UINT64_MAX >> (64 - width), top = ones ^ (ones >> 1);
    int64_t least = sint ? -(int64_t)top : 0;
    switch ((int)f->kind) {
    case TN_OP_add: return f->is_float ? real_bits(f->bytes, -0.0) : 0;
    case TN_OP_multiply: return f->is_float ? real_bits(f->bytes, 1) : 1;
    case TN_OP_maximum: return f->is_float ? real_bits(f->bytes, -INFINITY) : (uint64_t)least;
    case TN_OP_minimum:
        return f->is_float ? real_bits(f->bytes, INFINITY) : sint ? ~top & ones : ones;
    case TN_OP_and: return f->from == TN_I1 ? 1 : sint ? UINT64_MAX : ones;
    default: return 0;
    }
}

static tn_jv neutral_value(maker *m, const fold *f)
{
    return tn_jit_const(&m->piece, f->bytes, neutral(f));
}

SMALL static bool prepare_fold(maker *m, fold *f)
{
    tn_element_class c = tn_element_type_class(f->from);
    f->is_float = tn_is_float(f->from);
    f->bytes = tn_element_type_bytes(f->from) == 8 ? 8 : 4;
    if (!tn_jit_has_type(f->from)) return false;
    if (f->from == TN_I1) {
        if (f->kind == TN_OP_add || f->kind == TN_OP_maximum) f->kind = TN_OP_or;
        if (f->kind == TN_OP_multiply || f->kind == TN_OP_minimum) f->kind = TN_OP_and;
        if (f->kind == TN_OP_xor) return false;
    } else if (!f->is_float && c != TN_CLASS_SINT && c != TN_CLASS_UINT) {
        return false;
    }
    bool extreme = f->kind == TN_OP_maximum || f->kind == TN_OP_minimum;
    bool sum = f->kind == TN_OP_add || f->kind == TN_OP_multiply;
    bool bits = f->kind == TN_OP_and || f->kind == TN_OP_or || f->kind == TN_OP_xor;
    if (!extreme && !sum && !(bits && !f->is_float)) return false;
    f->by_range = extreme && f->is_float && m->piece.avx512;
    f->var = m->n_variables;
    m->n_variables += m->groups;
    f->total = m->n_variables;
    m->n_variables += m->groups;
    f->bad = m->n_variables++;
    return true;
}

static bool is_inexact(const fold *f)
{
    return f->is_float && (f->kind == TN_OP_add || f->kind == TN_OP_multiply);
}

/* As the op does. */
SMALL static tn_jv combine(maker *m, const fold *f, tn_jv a, tn_jv b)
{
    tn_jv v = 0;
    if (is_inexact(f))
        return emit(m, f->kind == TN_OP_add ? TN_JIT_FADD : TN_JIT_FMUL, f->bytes, 0, 2, a, b, 0);
    if (f->from == TN_I1)
        return emit(m, f->kind == TN_OP_and ? TN_JIT_AND : TN_JIT_OR, 4, 0, 2, a, b, 0);
    if (!m->failed && !tn_jit_lower(&m->piece, f->body, (tn_jv[]){a, b}, &v)) m->failed = true;
    return v;
}

static tn_jv as_number(maker *m, const fold *f, tn_jv v)
{
    if (f->from != TN_I1) return v;
    return emit(m, TN_JIT_SELECT, 4, 0, 3, v, tn_jit_const(&m->piece, 4, 1),
                tn_jit_const(&m->piece, 4, 0));
}

/* Of numbers. */
static tn_jv extreme(maker *m, const fold *f, tn_jv a, tn_jv b)
{
    return emit(m, TN_JIT_RANGE, f->bytes, f->kind == TN_OP_maximum ? 5 : 4, 2, a, b, 0);
}

/* Notes NaN in v and in what hasn't been looked at, if there is any. */
static void note_nan(maker *m, uint32_t at, tn_jv v)
{
    tn_jv other = m->unseen[at] == NONE ? v : m->unseen[at];
    if (v == NONE) v = other;
    m->unseen[at] = NONE;
    if (v == NONE) return;
    tn_jv bad = emit(m, TN_JIT_FCMP, m->folds[at].bytes, TN_JIT_UNORDERED, 2, other, v, 0);
    m->bad[at] = m->bad[at] == NONE ? bad : emit(m, TN_JIT_MASK_OR, 4, 0, 2, m->bad[at], bad, 0);
}

/* Group `g` of the operand joins m->acc. */
SMALL static void accumulate(maker *m, uint32_t at, uint32_t g)
{
    const fold *f = &m->folds[at];
    tn_jv v = as_number(m, f, column_value(m, f->step->refs[0], g)), *acc = &m->acc[at][g];
    if (m->failed) return;
    if (g == m->masked) {
        tn_jv tail = emit(m, TN_JIT_TAIL, 4, 0, 0, 0, 0, 0);
        v = emit(m, TN_JIT_SELECT, f->bytes, 0, 3, tail, v, neutral_value(m, f));
    }
    if (!f->by_range) {
        *acc = *acc == NONE ? v : combine(m, f, *acc, v);
        return;
    }
    if (m->unseen[at] == NONE) m->unseen[at] = v;
    else note_nan(m, at, v);
    if (*acc == NONE) *acc = v;
    else *acc = extreme(m, f, *acc, v);
}

/* Floats of a signed integer's order, and back. */
static tn_jv key_of(maker *m, const fold *f, tn_jv v)
{
    enum { A_XOR_B_AND_C = 0x78 };
    tn_jv most = tn_jit_const(&m->piece, f->bytes, UINT64_MAX >> (f->bytes == 8 ? 1 : 33));
    tn_jv sign = emit(m, TN_JIT_SAR, f->bytes, 8 * f->bytes - 1, 1, v, 0, 0);
    return emit(m, TN_JIT_LOGIC, f->bytes, A_XOR_B_AND_C, 3, v, sign, most);
}

/* Makes one value of m->acc, and with the initial one the result. */
SMALL static void finish_fold(maker *m, uint32_t at)
{
    const fold *f = &m->folds[at];
    tn_jv a[GROUPS], nan = 0;
    uint32_t n = 0, lanes = m->lanes;
    memcpy(a, m->acc[at], sizeof a);
    while (n < m->groups && a[n] != NONE) n++;
    if (f->is_float && !is_inexact(f))
        nan = tn_jit_const(&m->piece, f->bytes, f->bytes == 8 ? 0x7ff8000000000000u : 0x7fc00000u);
    for (uint32_t half = m->groups / 2; half; half /= 2) {
        for (uint32_t k = 0; k < half && k + half < n; k++)
            a[k] =
                f->by_range ? extreme(m, f, a[k], a[k + half]) : combine(m, f, a[k], a[k + half]);
        if (n > half) n = half;
    }
    tn_jit_op op = f->kind == TN_OP_maximum ? TN_JIT_SMAX : TN_JIT_SMIN;
    if (f->by_range) {
        /* As keys, of which a NaN is the one that is wanted. */
        uint64_t bits = f->bytes == 8 ? 0x7ff8000000000000u : 0x7fc00000u;
        if (f->kind == TN_OP_minimum) bits |= f->bytes == 8 ? (uint64_t)1 << 63 : 0x80000000u;
        note_nan(m, at, NONE);
        tn_jv wins = tn_jit_const(&m->piece, f->bytes, bits);
        a[0] = emit(m, TN_JIT_SELECT, f->bytes, 0, 3, m->bad[at], wins, a[0]);
        a[0] = key_of(m, f, a[0]);
    }
    for (uint32_t half = lanes / 2; half; half /= 2) {
        if (half >= m->columns) continue;
        tn_jv other = emit(m, TN_JIT_HALF, f->bytes, half, 1, a[0], 0, 0);
        a[0] =
            f->by_range ? emit(m, op, f->bytes, 0, 2, a[0], other, 0) : combine(m, f, a[0], other);
    }
    if (f->by_range) a[0] = key_of(m, f, a[0]);
    tn_jv v = emit(m, TN_JIT_SPREAD, f->bytes, 0, 1, a[0], 0, 0), init;
    if (f->is_float && !is_inexact(f)) {
        tn_jv bad = emit(m, TN_JIT_FCMP, f->bytes, TN_JIT_UNORDERED, 2, v, v, 0);
        v = emit(m, TN_JIT_SELECT, f->bytes, 0, 3, bad, nan, v);
    }
    uint32_t ref = f->step->refs[1];
    const tn_literal *l = tn_constant_of(m->p->values[ref].value);
    if (l && (l->splat || l->size == tn_element_type_bytes(f->from))) {
        init = constant(m, l->data, f->from);
    } else {
        tn_rows_port p = {
            .at = TN_ROWS_AT_VALUE, .ref = ref, .bytes = tn_element_type_bytes(f->from)};
        init = splat(m, add_port(m, &p), f->from);
    }
    v = combine(m, f, as_number(m, f, init), v);
    if (is_inexact(f) && f->to != TN_F32 && f->bytes == 4 && !m->failed)
        v = tn_jit_round(&m->piece, f->to, v);
    if (f->from == TN_I1)
        v = emit(m, TN_JIT_ICMP, 4, TN_JIT_IGT, 2, v, tn_jit_const(&m->piece, 4, 0), 0);
    m->row[f->step->refs[2]] = v;
}

/* --- pieces --- */

static void begin_piece(maker *m)
{
    tn_jit_begin(m->jit, &m->piece);
    m->masked = GROUPS;
    for (uint32_t i = 0; i < TN_ROWS_VALUES; i++) m->row[i] = NONE;
    for (uint32_t i = 0; i < TN_ROWS_CODE_PORTS; i++) m->splat[i] = NONE;
    memset(m->made, 0xff, sizeof m->made);
    memset(m->acc, 0xff, sizeof m->acc);
    memset(m->bad, 0xff, sizeof m->bad);
    memset(m->unseen, 0xff, sizeof m->unseen);
}

static void store(maker *m, uint32_t port, tn_element_type e, tn_jv v, uint32_t group)
{
    if (m->failed) return;
    tn_jit_store(&m->piece, port, e, v);
    tn_jit_instruction *i = &m->piece.list[m->piece.n - 1];
    i->aux |= (uint64_t)(group * m->lanes) << 20;
    i->in_tail = group == m->masked;
}

/* All that phase `now` does to a group of lanes. */
SMALL static void run_group(maker *m, uint32_t g)
{
    for (uint32_t i = 0; i < m->n_folds; i++)
        if (m->folds[i].phase == m->now) accumulate(m, i, g);
    for (uint32_t r = 0; r < m->p->n_values && !m->failed; r++) {
        if (!m->is_kept[r] || m->phase[r] != m->now) continue;
        const tn_rows_value *v = &m->p->values[r];
        store(m, m->port[r], element_of(m, r), column_value(m, r, g), g);
        if (m->failed || !m->streams || v->is_temp || m->is_read_again[r] || v->row_bytes % 64 ||
            v->row_bytes * m->p->n < STREAMED_FROM)
            continue;
        m->piece.list[m->piece.n - 1].op = TN_JIT_STREAM;
    }
}

static bool has_work(const maker *m, uint32_t phase)
{
    for (uint32_t i = 0; i < m->n_folds; i++)
        if (m->folds[i].phase == phase) return true;
    for (uint32_t r = 0; r < m->p->n_values; r++)
        if (m->is_kept[r] && m->phase[r] == phase) return true;
    return false;
}

/* Programs of rows that phase `now` wants first, and what goes to memory of the row values that are
 * there. */
SMALL static void run_row_tiles(maker *m)
{
    for (uint32_t i = 0; i < m->p->n_steps && !m->failed; i++) {
        const tn_rows_step *s = &m->p->steps[i];
        if (s->tile && s->per_row == 1 && m->phase[s->refs[s->tile->n_inputs]] == m->now)
            run_tile(m, s, 0);
    }
    for (uint32_t r = 0; r < m->p->n_values && !m->failed; r++) {
        if (!m->is_made[r] || !m->is_row[r] || m->phase[r] != m->now) continue;
        tn_element_type e = element_of(m, r);
        if (!m->one_piece) tn_jit_store(&m->piece, TN_JIT_VARIABLE + m->var[r], e, m->row[r]);
        if (m->p->values[r].is_temp) continue;
        unsigned bytes = tn_element_type_bytes(e);
        tn_rows_port p = {.at = TN_ROWS_AT_VALUE, .ref = r, .row_bytes = bytes, .bytes = bytes};
        uint32_t port = add_port(m, &p);
        tn_jit_store(&m->piece, port, e, m->row[r]);
        m->piece.list[m->piece.n - 1].op = TN_JIT_PUT;
    }
}

/* The columns of a row behind its steps. */
static void run_tail(maker *m)
{
    for (uint32_t g = 0; g < m->groups && g * m->lanes < m->rest; g++) {
        m->masked = (g + 1) * m->lanes > m->rest ? g : GROUPS;
        run_group(m, g);
    }
    m->masked = GROUPS;
}

static void load_accumulators(maker *m, uint32_t at, bool totals)
{
    const fold *f = &m->folds[at];
    if (m->failed) return;
    for (uint32_t g = 0; g < m->groups; g++)
        m->acc[at][g] = tn_jit_load(&m->piece, TN_JIT_VARIABLE + (totals ? f->total : f->var) + g,
                                    type_in_variable(f), false);
    if (f->by_range) m->bad[at] = tn_jit_load(&m->piece, TN_JIT_VARIABLE + f->bad, TN_I1, false);
}

static bool is_in_blocks(const maker *m, const fold *f)
{
    return is_inexact(f) && m->whole > BLOCK * m->step;
}

SMALL static void begin_accumulators(maker *m, bool totals)
{
    for (uint32_t i = 0; i < m->n_folds && !m->failed; i++) {
        const fold *f = &m->folds[i];
        if (f->phase != m->now || (totals && !is_in_blocks(m, f))) continue;
        tn_jv v = neutral_value(m, f);
        for (uint32_t g = 0; g < m->groups; g++)
            tn_jit_store(&m->piece, TN_JIT_VARIABLE + (totals ? f->total : f->var) + g,
                         type_in_variable(f), v);
        if (f->by_range && !totals)
            tn_jit_store(&m->piece, TN_JIT_VARIABLE + f->bad, TN_I1, truth(m, false));
    }
}

/* A block's accumulators join the total. */
SMALL static void end_block(maker *m)
{
    begin_piece(m);
    for (uint32_t i = 0; i < m->n_folds && !m->failed; i++) {
        const fold *f = &m->folds[i];
        if (f->phase != m->now || !is_in_blocks(m, f)) continue;
        tn_element_type e = type_in_variable(f);
        for (uint32_t g = 0; g < m->groups; g++) {
            tn_jv acc = tn_jit_load(&m->piece, TN_JIT_VARIABLE + f->var + g, e, false);
            tn_jv total = tn_jit_load(&m->piece, TN_JIT_VARIABLE + f->total + g, e, false);
            tn_jv both = combine(m, f, total, acc);
            tn_jit_store(&m->piece, TN_JIT_VARIABLE + f->total + g, e, both);
            tn_jit_store(&m->piece, TN_JIT_VARIABLE + f->var + g, e, neutral_value(m, f));
        }
    }
    tn_jit_flow_piece(&m->flow, &m->piece);
}

/* The steps of phase `now`. */
SMALL static void run_columns(maker *m)
{
    uint32_t n_phis = 0, block = INT32_MAX / 2, limit = m->piece.avx512 ? 16 : 8;
    begin_piece(m);
    for (uint32_t i = 0; i < m->n_folds; i++) {
        if (m->folds[i].phase != m->now) continue;
        n_phis += m->groups;
        if (is_in_blocks(m, &m->folds[i])) block = BLOCK * m->step;
    }
    bool in_registers = n_phis <= limit;
    for (uint32_t i = 0; i < m->n_folds; i++) {
        if (m->folds[i].phase != m->now) continue;
        uint32_t first = m->piece.n;
        load_accumulators(m, i, false);
        for (uint32_t v = first; v < m->piece.n && in_registers; v++)
            m->piece.list[v].op = TN_JIT_PHI;
    }
    for (uint32_t g = 0; g < m->groups && !m->failed; g++) run_group(m, g);
    if (m->failed) return;
    uint32_t phi = 0;
    for (uint32_t i = 0; i < m->n_folds; i++) {
        const fold *f = &m->folds[i];
        if (f->phase != m->now) continue;
        if (f->by_range) note_nan(m, i, NONE);
        for (uint32_t g = 0; g < m->groups + (f->by_range ? 1u : 0u); g++, phi++) {
            bool bad = g == m->groups;
            tn_jv v = bad ? m->bad[i] : m->acc[i][g];
            if (in_registers) {
                emit(m, TN_JIT_NEXT, f->bytes, 0, 1, v, 0, 0);
                m->piece.list[m->piece.n - 1].aux = phi;
            } else {
                tn_jit_store(&m->piece, TN_JIT_VARIABLE + (bad ? f->bad : f->var + g),
                             bad ? TN_I1 : type_in_variable(f), v);
            }
        }
    }
    if (m->failed) return;
    tn_jit_flow_column(&m->flow, 0);
    uint32_t top = tn_jit_flow_label(&m->flow);
    tn_jit_flow_place(&m->flow, top);
    tn_jit_piece all = m->piece;
    tn_jit_flow_columns(&m->flow, &all, m->step, block, m->whole);
    if (block >= m->whole) return;
    end_block(m);
    tn_jit_flow_jump_before(&m->flow, m->whole, top);
}

/* What comes between the steps of two phases, or before and behind them all. */
SMALL static void run_between(maker *m, uint32_t phase, uint32_t next)
{
    begin_piece(m);
    if (phase < next) {
        m->now = phase;
        for (uint32_t i = 0; i < m->n_folds; i++)
            if (m->folds[i].phase == phase && m->whole)
                load_accumulators(m, i, is_in_blocks(m, &m->folds[i]));
        run_tail(m);
        for (uint32_t i = 0; i < m->n_folds && !m->failed; i++)
            if (m->folds[i].phase == phase) finish_fold(m, i);
    }
    m->now = next;
    run_row_tiles(m);
    if (m->one_piece) return;
    begin_accumulators(m, false);
    begin_accumulators(m, true);
    if (!m->failed) tn_jit_flow_piece(&m->flow, &m->piece);
}

static void run_one_piece(maker *m)
{
    begin_piece(m);
    m->rest = m->columns;
    for (m->now = 0; m->now < m->n_phases && !m->failed; m->now++) {
        run_row_tiles(m);
        run_tail(m);
        for (uint32_t i = 0; i < m->n_folds && !m->failed; i++)
            if (m->folds[i].phase == m->now) finish_fold(m, i);
    }
    if (m->failed) return;
    tn_jit_flow_column(&m->flow, 0);
    tn_jit_flow_piece(&m->flow, &m->piece);
}

static bool divide(maker *m, uint32_t lanes)
{
    unsigned acc = 0;
    for (uint32_t i = 0; i < m->n_folds; i++) {
        const fold *f = &m->folds[i];
        unsigned bytes = tn_element_type_bytes(f->from) == 8 ? 8 : 4;
        if (!tn_is_float(f->from) || (f->kind != TN_OP_add && f->kind != TN_OP_multiply)) continue;
        if (acc && acc != bytes) return false;
        acc = bytes;
    }
    m->lanes = lanes;
    m->step = acc ? LANE_BYTES / acc : 4 * lanes;
    m->groups = m->step / lanes;
    m->one_piece = m->columns <= m->step;
    m->whole = m->one_piece ? 0 : (uint32_t)(m->columns / m->step * m->step);
    m->rest = (uint32_t)(m->columns - m->whole);
    return m->groups <= GROUPS;
}

/* NULL: it can't be done, or with other lanes. */
SMALL static const tn_jit_code *write(maker *m, uint32_t lanes, bool streams, bool *wide)
{
    const tn_rows *p = m->p;
    tn_jit *jit = m->jit;
    tn_arena *arena = m->arena;
    int64_t columns = m->columns;
    memset(m, 0, sizeof *m);
    *m = (maker){.jit = jit, .arena = arena, .p = p, .columns = columns, .streams = streams};
    tn_jit_begin(jit, &m->piece);
    bool avx512 = m->piece.avx512;
    if (!find_phases(m) || !divide(m, lanes)) return NULL;
    for (uint32_t i = 0; i < m->n_folds; i++)
        if (!prepare_fold(m, &m->folds[i])) return NULL;
    uint32_t tail = (uint32_t)(columns % lanes);
    if (tail && (!avx512 || *wide)) return NULL;
    keep_what_is_read(m);
    if (m->failed) return NULL;
    tn_jit_flow_begin_rows(&m->flow, jit, lanes, tail);
    if (m->one_piece) {
        run_one_piece(m);
        *wide |= m->piece.wide;
    } else {
        run_between(m, 0, 0);
        *wide |= m->piece.wide;
        for (uint32_t k = 0; k < m->n_phases && !m->failed; k++) {
            m->now = k;
            if (has_work(m, k)) run_columns(m);
            *wide |= m->piece.wide;
            if (!m->failed) run_between(m, k, k + 1);
            *wide |= m->piece.wide;
        }
    }
    bool is_wrong = *wide && lanes != (avx512 ? 8 : 4);
    int32_t bytes[TN_ROWS_CODE_PORTS];
    for (uint32_t i = 0; i < m->n_ports; i++) {
        if (m->ports[i].row_bytes > INT32_MAX) m->failed = true;
        bytes[i] = (int32_t)m->ports[i].row_bytes;
    }
    if (!m->failed) tn_jit_flow_end_rows(&m->flow, bytes, m->n_ports);
    return tn_jit_flow_end(&m->flow, m->n_variables, m->failed || is_wrong);
}

static const int32_t *counts_of(tn_arena *a, int64_t n)
{
    int32_t *counts = TN_NEW_ARRAY(a, int32_t, n + 64);
    for (int64_t i = 0; i < n + 64; i++) counts[i] = (int32_t)i;
    return counts;
}

SMALL const tn_rows_code *tn_rows_code_make(tn_jit *jit, tn_arena *a, const tn_rows *p)
{
    maker *m = TN_NEW(a, maker);
    *m = (maker){.jit = jit, .arena = a, .p = p, .columns = 1};
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].lines) m->columns = p->steps[i].per_row;
    if (!jit || m->columns < 2 || m->columns > INT32_MAX / 4) return NULL;
    tn_jit_begin(jit, &m->piece);
    bool wide = false, large = false;
    uint32_t lanes = m->piece.avx512 ? 16 : 8;
    const tn_jit_code *code = write(m, lanes, false, &wide);
    if (!code && wide) code = write(m, lanes /= 2, false, &wide);
    if (!code) return NULL;
    for (uint32_t i = 0; i < p->n_outputs; i++) {
        int64_t bytes = p->values[p->outputs[i]].row_bytes;
        large |= bytes * p->n >= STREAMED_FROM && bytes % 64 == 0 && bytes >= 256;
    }
    tn_rows_code *c = TN_NEW(a, tn_rows_code);
    *c = (tn_rows_code){.code = code};
    if (large && !m->rest) c->streaming = write(m, lanes, true, &wide);
    c->ports = tn_dup(a, m->ports, m->n_ports * sizeof *m->ports);
    c->n_ports = m->n_ports;
    c->has_maps = m->has_maps;
    c->kept_bytes = (size_t)m->kept_bytes;
    if (m->n_counts) c->counts = counts_of(a, m->n_counts);
    return c;
}

/* --- running --- */

static int64_t place_in(const tn_access_map *map, uint32_t n, int64_t row)
{
    int64_t at = 0;
    for (uint32_t d = n; d-- > 0; row /= map->size[d]) at += row % map->size[d] * map->step[d];
    return at;
}

static bool may_stream(const tn_rows_code *c, const tn_rows *p, const uintptr_t *at)
{
    for (uint32_t i = 0; i < p->n_outputs && c->streaming; i++)
        if (at[p->outputs[i]] % 64) return false;
    return c->streaming != NULL;
}

void tn_rows_code_run(const tn_rows_code *c, const tn_rows *p, const uintptr_t *at, int64_t first,
                      int64_t n, char *kept)
{
    uintptr_t ports[TN_ROWS_CODE_PORTS] = {0}, from[TN_ROWS_CODE_PORTS];
    bool streams = may_stream(c, p, at);
    tn_jit_fn *entry = (streams ? c->streaming : c->code)->entry;
    for (uint32_t i = 0; i < c->n_ports; i++) {
        const tn_rows_port *q = &c->ports[i];
        switch (q->at) {
        case TN_ROWS_AT_VALUE: from[i] = at[q->ref]; break;
        case TN_ROWS_AT_KEPT: from[i] = (uintptr_t)kept; break;
        case TN_ROWS_AT_COUNTS: from[i] = (uintptr_t)c->counts; break;
        }
        from[i] += (uintptr_t)q->offset;
        ports[i] = from[i] + (uintptr_t)(first * q->row_bytes);
    }
    /* As many rows as lie evenly for all maps. The code moves the other ports on. */
    for (int64_t row = first, left = n, some; left; row += some, left -= some) {
        some = left;
        for (uint32_t i = 0; i < c->n_ports && c->has_maps; i++) {
            const tn_rows_port *q = &c->ports[i];
            if (!q->map) continue;
            int64_t size = q->map->size[q->n_outer - 1], even = size - row % size;
            if (even < some) some = even;
            ports[i] = from[i] + (uintptr_t)(place_in(q->map, q->n_outer, row) * q->bytes);
        }
        entry((void *const *)ports, some);
    }
#if defined __x86_64__
    if (streams) __builtin_ia32_sfence();
#endif
}
