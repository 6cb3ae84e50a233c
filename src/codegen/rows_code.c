/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of code of rows: loops over columns, and what comes between them. */
#include <string.h>

#include "codegen/rows_code_maker.h"

enum { BLOCK = 128 /* steps that are folded before they join a total */, STREAMED_FROM = 4 << 20 };
/* Rows that are worth turning; elements, and rows, that are turned at once. */
enum { TURNED_AT_LEAST = 64, TURNED_ELEMENTS = 4096, MOST_TURNED = 1024 };
enum { FEW_COLUMNS = 24, SOME_COLUMNS = 32, MANY_COLUMNS = TN_ROW_GROUPS };

/* What was in the last piece is written by now. */
static void begin_piece(tn_row_maker *m)
{
    tn_jit_drop(&m->piece);
    tn_jit_begin(m->jit, &m->piece);
    m->masked = TN_ROW_GROUPS;
    for (uint32_t i = 0; i < TN_ROWS_VALUES; i++) m->row[i] = m->reciprocal[i] = NONE;
    for (uint32_t i = 0; i < TN_ROWS_CODE_PORTS; i++) m->splat[i] = NONE;
    memset(m->made, 0xff, sizeof m->made);
    memset(m->acc, 0xff, sizeof m->acc);
    memset(m->bad, 0xff, sizeof m->bad);
    memset(m->unseen, 0xff, sizeof m->unseen);
    memset(m->stored, 0, sizeof m->stored);
}

static void store(tn_row_maker *m, uint32_t port, tn_element_type e, tn_jv v, uint32_t group)
{
    if (m->failed) return;
    tn_jit_store(&m->piece, port, e, v);
    tn_jit_instruction *i = &m->piece.list[m->piece.n - 1];
    i->aux |= tn_row_group_at(m, e, group) << 20;
    i->in_tail = group == m->masked;
}

/* All that phase `now` does to a group of lanes. */
SMALL static void run_group(tn_row_maker *m, uint32_t g)
{
    for (uint32_t i = 0; i < m->n_folds; i++)
        if (m->folds[i].phase == m->now) tn_row_accumulate(m, i, g);
    for (uint32_t r = 0; r < m->p->n_values && !m->failed; r++) {
        if (!m->is_kept[r] || m->phase[r] != m->now) continue;
        const tn_rows_value *v = &m->p->values[r];
        store(m, m->port[r], tn_row_element(m, r), tn_row_column_value(m, r, g), g);
        m->stored[g] |= 1ull << r;
        if (m->failed || !m->streams || v->is_temp || m->is_read_again[r] || v->row_bytes % 64 ||
            v->row_bytes * m->p->n < STREAMED_FROM)
            continue;
        m->piece.list[m->piece.n - 1].op = TN_JIT_STREAM;
    }
}

static bool has_work(const tn_row_maker *m, uint32_t phase)
{
    for (uint32_t i = 0; i < m->n_folds; i++)
        if (m->folds[i].phase == phase) return true;
    for (uint32_t r = 0; r < m->p->n_values; r++)
        if (m->is_kept[r] && m->phase[r] == phase) return true;
    return false;
}

/* Programs of rows that phase `now` wants first, and what goes to memory of the row values that are
 * there. */
SMALL static void run_row_tiles(tn_row_maker *m)
{
    for (uint32_t i = 0; i < m->p->n_steps && !m->failed; i++) {
        const tn_rows_step *s = &m->p->steps[i];
        if (s->tile && s->per_row == 1 && m->phase[s->refs[s->tile->n_inputs]] == m->now)
            tn_row_run_tile(m, s, 0);
    }
    for (uint32_t r = 0; r < m->p->n_values && !m->failed; r++) {
        if (!m->is_made[r] || !m->is_row[r] || m->phase[r] != m->now) continue;
        tn_element_type e = tn_row_element(m, r);
        if (!m->one_piece) tn_jit_store(&m->piece, TN_JIT_VARIABLE + m->var[r], e, m->row[r]);
        if (m->by[r] && m->piece.n < TN_JIT_INSTRUCTIONS - 16) {
            tn_jv one_by = tn_jit_reciprocal(&m->piece, e == TN_F64 ? 8 : 4, m->row[r]);
            tn_jit_store(&m->piece, TN_JIT_VARIABLE + m->by[r] - 1, e == TN_F64 ? e : TN_F32,
                         one_by);
        }
        if (m->p->values[r].is_temp) continue;
        if (m->turned) {
            store(m, tn_row_turned_port(m, r, 1, true), e, m->row[r], 0);
            continue;
        }
        unsigned bytes = tn_element_type_bytes(e);
        tn_rows_port p = {.at = TN_ROWS_AT_VALUE, .ref = r, .row_bytes = bytes, .bytes = bytes};
        uint32_t port = tn_row_port(m, &p);
        tn_jit_store(&m->piece, port, e, m->row[r]);
        m->piece.list[m->piece.n - 1].op = TN_JIT_PUT;
    }
}

/* The columns of a row behind its steps. */
static void run_tail(tn_row_maker *m)
{
    for (uint32_t g = 0; m->turned && g < m->columns; g++) run_group(m, g);
    if (m->turned) return;
    for (uint32_t g = 0; g < m->groups && g * m->lanes < m->rest; g++) {
        m->masked = (g + 1) * m->lanes > m->rest ? g : TN_ROW_GROUPS;
        run_group(m, g);
    }
    m->masked = TN_ROW_GROUPS;
}

static void load_accumulators(tn_row_maker *m, uint32_t at, bool totals)
{
    const tn_row_fold *f = &m->folds[at];
    if (m->failed) return;
    for (uint32_t g = 0; g < m->groups; g++)
        m->acc[at][g] = tn_jit_load(&m->piece, TN_JIT_VARIABLE + (totals ? f->total : f->var) + g,
                                    tn_row_fold_type(f), false);
    if (f->by_range) m->bad[at] = tn_jit_load(&m->piece, TN_JIT_VARIABLE + f->bad, TN_I1, false);
}

static bool is_in_blocks(const tn_row_maker *m, const tn_row_fold *f)
{
    return tn_row_is_inexact(f) && m->whole > BLOCK * m->step;
}

SMALL static void begin_accumulators(tn_row_maker *m, bool totals)
{
    for (uint32_t i = 0; i < m->n_folds && !m->failed; i++) {
        const tn_row_fold *f = &m->folds[i];
        if (f->phase != m->now || (totals && !is_in_blocks(m, f))) continue;
        tn_jv v = tn_row_neutral(m, f);
        for (uint32_t g = 0; g < m->groups; g++)
            tn_jit_store(&m->piece, TN_JIT_VARIABLE + (totals ? f->total : f->var) + g,
                         tn_row_fold_type(f), v);
        if (f->by_range && !totals)
            tn_jit_store(&m->piece, TN_JIT_VARIABLE + f->bad, TN_I1, tn_row_truth(m, false));
    }
}

/* A block's accumulators join the total. */
SMALL static void end_block(tn_row_maker *m)
{
    begin_piece(m);
    for (uint32_t i = 0; i < m->n_folds && !m->failed; i++) {
        const tn_row_fold *f = &m->folds[i];
        if (f->phase != m->now || !is_in_blocks(m, f)) continue;
        tn_element_type e = tn_row_fold_type(f);
        for (uint32_t g = 0; g < m->groups; g++) {
            tn_jv acc = tn_jit_load(&m->piece, TN_JIT_VARIABLE + f->var + g, e, false);
            tn_jv total = tn_jit_load(&m->piece, TN_JIT_VARIABLE + f->total + g, e, false);
            tn_jv both = tn_row_combine(m, f, total, acc);
            tn_jit_store(&m->piece, TN_JIT_VARIABLE + f->total + g, e, both);
            tn_jit_store(&m->piece, TN_JIT_VARIABLE + f->var + g, e, tn_row_neutral(m, f));
        }
    }
    tn_jit_flow_piece(&m->flow, &m->piece);
}

/* The steps of phase `now`. */
SMALL static void run_columns(tn_row_maker *m)
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
    tn_row_ask(m);
    for (uint32_t g = 0; g < m->groups && !m->failed; g++) run_group(m, g);
    if (m->failed) return;
    uint32_t phi = 0;
    for (uint32_t i = 0; i < m->n_folds; i++) {
        const tn_row_fold *f = &m->folds[i];
        if (f->phase != m->now) continue;
        if (f->by_range) tn_row_note_nan(m, i, NONE);
        for (uint32_t g = 0; g < m->groups + (f->by_range ? 1u : 0u); g++, phi++) {
            bool bad = g == m->groups;
            tn_jv v = bad ? m->bad[i] : m->acc[i][g];
            if (in_registers) {
                tn_row_emit(m, TN_JIT_NEXT, f->bytes, 0, 1, v, 0, 0);
                m->piece.list[m->piece.n - 1].aux = phi;
            } else {
                tn_jit_store(&m->piece, TN_JIT_VARIABLE + (bad ? f->bad : f->var + g),
                             bad ? TN_I1 : tn_row_fold_type(f), v);
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
SMALL static void run_between(tn_row_maker *m, uint32_t phase, uint32_t next)
{
    begin_piece(m);
    if (phase < next) {
        m->now = phase;
        for (uint32_t i = 0; i < m->n_folds; i++)
            if (m->folds[i].phase == phase && m->whole)
                load_accumulators(m, i, is_in_blocks(m, &m->folds[i]));
        run_tail(m);
        for (uint32_t i = 0; i < m->n_folds && !m->failed; i++)
            if (m->folds[i].phase == phase) tn_row_finish_fold(m, i);
    }
    m->now = next;
    run_row_tiles(m);
    if (m->one_piece) return;
    begin_accumulators(m, false);
    begin_accumulators(m, true);
    if (!m->failed) tn_jit_flow_piece(&m->flow, &m->piece);
}

static void run_one_piece(tn_row_maker *m)
{
    begin_piece(m);
    m->rest = m->columns;
    for (m->now = 0; m->now < m->n_phases && !m->failed; m->now++) {
        run_row_tiles(m);
        run_tail(m);
        for (uint32_t i = 0; i < m->n_folds && !m->failed; i++)
            if (m->folds[i].phase == m->now) tn_row_finish_fold(m, i);
    }
    if (m->failed) return;
    tn_jit_flow_column(&m->flow, 0);
    tn_jit_flow_piece(&m->flow, &m->piece);
}

static bool divide(tn_row_maker *m, uint32_t lanes)
{
    unsigned acc = 0;
    for (uint32_t i = 0; i < m->n_folds; i++) {
        const tn_row_fold *f = &m->folds[i];
        unsigned bytes = tn_element_type_bytes(f->from) == 8 ? 8 : 4;
        if (!tn_is_float(f->from) || (f->kind != TN_OP_add && f->kind != TN_OP_multiply)) continue;
        if (acc && acc != bytes) return false;
        acc = bytes;
    }
    m->lanes = lanes;
    if (m->turned) {
        m->one_piece = true;
        for (m->groups = 2; m->groups < m->columns;) m->groups *= 2;
        return m->groups <= TN_ROW_GROUPS;
    }
    m->step = acc ? TN_ROW_LANE_BYTES / acc : 4 * lanes;
    m->groups = m->step / lanes;
    m->one_piece = m->columns <= m->step;
    m->whole = m->one_piece ? 0 : (uint32_t)(m->columns / m->step * m->step);
    m->rest = (uint32_t)(m->columns - m->whole);
    return m->groups <= TN_ROW_GROUPS;
}

/* NULL: it can't be done, or with other lanes. */
SMALL static const tn_jit_code *write(tn_row_maker *m, uint32_t lanes, int64_t turned, bool streams,
                                      bool *wide)
{
    const tn_rows *p = m->p;
    tn_jit *jit = m->jit;
    tn_arena *arena = m->arena;
    int64_t columns = m->columns;
    memset(m, 0, sizeof *m);
    *m = (tn_row_maker){.jit = jit, .arena = arena, .p = p, .columns = columns, .streams = streams};
    m->turned = turned;
    tn_jit_begin(jit, &m->piece);
    bool avx512 = m->piece.avx512;
    if (!tn_row_find_phases(m) || !divide(m, lanes)) return NULL;
    for (uint32_t i = 0; i < m->n_folds; i++)
        if (!tn_row_prepare_fold(m, &m->folds[i])) return NULL;
    uint32_t tail = turned ? 0 : (uint32_t)(columns % lanes);
    if (tail && (!avx512 || *wide)) return NULL;
    tn_row_keep_what_is_read(m);
    if (avx512 && !m->one_piece) tn_row_find_divisors(m);
    tn_row_find_asking(m);
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
    tn_jit_drop(&m->piece);
    return tn_jit_flow_end(&m->flow, m->n_variables, m->failed || is_wrong);
}

static const int32_t *counts_of(tn_arena *a, int64_t n)
{
    int32_t *counts = TN_NEW_ARRAY(a, int32_t, n + 64);
    for (int64_t i = 0; i < n + 64; i++) counts[i] = (int32_t)i;
    return counts;
}

/* Combining the lanes of a row at a time costs the more the shorter rows are, turning the less. */
static bool should_turn(const tn_rows *p, int64_t columns)
{
    uint32_t n_folds = 0;
    bool columns_go_out = false;
    for (uint32_t i = 0; i < p->n_steps; i++) n_folds += p->steps[i].lines != NULL;
    for (uint32_t i = 0; i < p->n_outputs; i++)
        columns_go_out |= tn_type_elements(p->values[p->outputs[i]].value->type) > p->n;
    int64_t most = columns_go_out                   ? SOME_COLUMNS
                   : n_folds > 1 || p->n_steps == 1 ? MANY_COLUMNS
                                                    : FEW_COLUMNS;
    return p->n >= TURNED_AT_LEAST && columns <= most;
}

SMALL const tn_rows_code *tn_rows_code_make(tn_jit *jit, tn_arena *a, const tn_rows *p)
{
    tn_row_maker maker = {.jit = jit, .arena = a, .p = p, .columns = 1}, *m = &maker;
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].lines) m->columns = p->steps[i].per_row;
    if (!jit || m->columns < 2 || m->columns > INT32_MAX / 4) return NULL;
    tn_jit_begin(jit, &m->piece);
    bool wide = false, large = false;
    uint32_t lanes = m->piece.avx512 ? 16 : 8;
    tn_jit_drop(&m->piece);
    const tn_jit_code *code = NULL;
    uint32_t all = lanes;
    if (should_turn(p, m->columns)) {
        int64_t turned = TURNED_ELEMENTS / m->columns / 64 * 64;
        if (turned > MOST_TURNED) turned = MOST_TURNED;
        code = write(m, lanes, turned, false, &wide);
        if (!code && wide) code = write(m, lanes /= 2, turned, false, &wide);
    }
    if (!code) {
        wide = false;
        code = write(m, lanes = all, 0, false, &wide);
        if (!code && wide) code = write(m, lanes /= 2, 0, false, &wide);
    }
    if (!code) return NULL;
    for (uint32_t i = 0; i < p->n_outputs; i++) {
        int64_t bytes = p->values[p->outputs[i]].row_bytes;
        large |= bytes * p->n >= STREAMED_FROM && bytes % 64 == 0 && bytes >= 256;
    }
    tn_rows_code *c = TN_NEW(a, tn_rows_code);
    *c = (tn_rows_code){.code = code};
    c->kept_from = tn_dup(a, m->kept_from, p->n_values * sizeof *m->kept_from);
    c->turned = m->turned;
    if (large && !m->rest && !m->turned) c->streaming = write(m, lanes, 0, true, &wide);
    c->lanes = lanes;
    c->n_moves = m->n_moves;
    c->moves = tn_dup(a, m->moves, m->n_moves * sizeof *m->moves);
    c->ports = tn_dup(a, m->ports, m->n_ports * sizeof *m->ports);
    c->n_ports = m->n_ports;
    c->has_maps = m->has_maps;
    c->kept_bytes = (size_t)m->kept_bytes;
    if (m->n_counts) c->counts = counts_of(a, m->n_counts);
    return c;
}
