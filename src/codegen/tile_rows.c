/* SPDX-License-Identifier: Apache-2.0 */
/* tile_rows.c - a tile program as one piece of code that goes through rows: what it reads through
 * maps and what it joins is where it is in memory, each place with steps of its own. */
#include <string.h>

#include "base/thread_pool.h"
#include "codegen/jit_flow.h"
#include "codegen/tile_builder.h"

enum {
    PORTS = 64,
    ROW_AT_LEAST = 8,
    ROW_AT_MOST = 1 << 14,
    GROUPS = 4,      /* vectors of one turn, of a row that is no more */
    PIECE = 4096,    /* elements that a thread does at once, at least */
    LARGE = 4 << 20, /* bytes of an output that is written past the caches otherwise */
    RAMP_BYTES = 1 << 16,
    DIVIDED_ROWS = 16,     /* by one row, of which reciprocals are made, at least */
    RECIPROCALS = 16 << 10 /* bytes of them, at most */
};
#define NONE TN_JIT_NO_VALUE

/* Where a port is in row 0, and how many bytes further with each step along the dimensions of rows.
 */
typedef struct {
    uint64_t offset;
    uint32_t base; /* as that of a tn_tile_place, or AT_RECIPROCALS */
    int64_t step[TN_MAP_DIMS];
} row_port;
#define AT_RECIPROCALS UINT32_MAX

struct tn_tile_rows {
    const tn_jit_code *code;
    int64_t n_rows, row;
    uint32_t n_dims;
    int64_t size[TN_MAP_DIMS]; /* of the rows, outermost first */
    uint32_t n_ports;
    row_port ports[PORTS];
    /* Where all rows are divided by the same one, at `divisor`: see TN_JIT_DIVIDE_BY. */
    const tn_jit_code *reciprocals; /* or NULL */
    row_port divisor;
    uint8_t divisor_bytes;
};

typedef struct {
    const tn_tile_program *p;
    const tn_tile_source *s;
    tn_arena *arena;
    struct tn_tile_rows *out;
    int64_t unit[TN_MAP_DIMS]; /* elements of a step along each dimension */
    uint8_t bytes[PORTS];
    tn_jit_piece piece;
    uint32_t group;
    tn_jv regs[TN_ROWS_SOURCE_OPS], inputs[PORTS], outputs[PORTS];
    uint32_t fill_of[TN_ROWS_SOURCE_OPS];     /* the fill of a register, plus 1 */
    const micro *load_of[TN_ROWS_SOURCE_OPS]; /* or NULL */
    const void *tables[TN_ROWS_SOURCE_OPS];   /* of ramps */
    bool failed;
} maker;

/* --- the dimensions of rows --- */

/* A row ends, or several do, every `at` elements. */
static bool add_boundary(int64_t *sizes, uint32_t *n, int64_t at)
{
    uint32_t i = 0;
    while (i < *n && sizes[i] < at) i++;
    if (i < *n && sizes[i] == at) return true;
    if (*n == TN_MAP_DIMS) return false;
    memmove(sizes + i + 1, sizes + i, (*n - i) * sizeof *sizes);
    sizes[i] = at;
    ++*n;
    return true;
}

static bool find_dims(maker *m)
{
    int64_t sizes[TN_MAP_DIMS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->s->n_ops; i++) {
        const micro *x = &m->s->ops[i];
        if (x->op.join && !add_boundary(sizes, &n, x->op.join->run)) return false;
        if (!tn_tile_is_load(&x->op)) continue;
        const tn_access_map *map = x->op.map;
        if (!map->n_dims) return false;
        int64_t inner = map->step[map->n_dims - 1], size = 1;
        if (map->n_cuts || (inner != 0 && inner != 1)) return false;
        for (uint32_t d = map->n_dims; d-- > 1;)
            if (!add_boundary(sizes, &n, size *= map->size[d])) return false;
        for (uint32_t d = 0; d < map->n_dims && x->op.ramp; d++)
            if (map->step[d] && map->size[d] * x->op.bytes > RAMP_BYTES) return false;
    }
    if (!n || sizes[0] < ROW_AT_LEAST || sizes[0] > ROW_AT_MOST) return false;
    struct tn_tile_rows *r = m->out;
    r->row = sizes[0];
    r->n_rows = m->p->n / r->row;
    r->n_dims = n;
    for (uint32_t i = 0; i < n; i++) {
        int64_t next = i + 1 < n ? sizes[i + 1] : m->p->n;
        if (next % sizes[i]) return false;
        r->size[n - 1 - i] = next / sizes[i];
        m->unit[n - 1 - i] = sizes[i];
    }
    return true;
}

/* --- ports --- */

static uint32_t add_port(maker *m, const row_port *port, unsigned bytes)
{
    struct tn_tile_rows *r = m->out;
    for (uint32_t i = 0; i < r->n_ports; i++)
        if (m->bytes[i] == bytes && !memcmp(&r->ports[i], port, sizeof *port)) return i;
    if (r->n_ports == PORTS) {
        m->failed = true;
        return 0;
    }
    for (uint32_t d = 0; d < r->n_dims; d++)
        if (port->step[d] > INT32_MAX || port->step[d] < INT32_MIN) m->failed = true;
    m->bytes[r->n_ports] = (uint8_t)bytes;
    r->ports[r->n_ports] = *port;
    return r->n_ports++;
}

static row_port port_of(const maker *m, const site *s)
{
    row_port p;
    memset(&p, 0, sizeof p); /* ports are compared as bytes */
    p.offset = s->offset;
    p.base = TN_TILE_FIXED;
    if (s->kind == AT_INPUT) p.base = TN_TILE_FIRST_PORT + s->index;
    if (s->kind == AT_OUTPUT) p.base = TN_TILE_FIRST_PORT + m->p->n_inputs + s->index;
    return p;
}

static tn_jv load(maker *m, const row_port *p, tn_element_type e, bool splat)
{
    uint32_t port = add_port(m, p, (unsigned)tn_element_type_bytes(e));
    if (m->failed) return 0;
    tn_jv v = tn_jit_load(&m->piece, port, e, splat);
    if (!splat) m->piece.list[v].aux |= (uint64_t)m->group << 20;
    return v;
}

/* As the space lies. */
static row_port linear(const maker *m, const site *s, unsigned bytes)
{
    row_port p = port_of(m, s);
    for (uint32_t d = 0; d < m->out->n_dims; d++) p.step[d] = m->unit[d] * bytes;
    return p;
}

static void store(maker *m, const row_port *p, tn_element_type e, tn_jv v)
{
    uint32_t port = add_port(m, p, (unsigned)tn_element_type_bytes(e));
    if (m->failed) return;
    tn_jit_store(&m->piece, port, e, v);
    m->piece.list[m->piece.n - 1].aux |= (uint64_t)m->group << 20;
}

/* --- values --- */

static tn_jv mapped(maker *m, uint32_t index, tn_element_type e)
{
    const micro *x = m->load_of[index];
    const tn_access_map *map = x->op.map;
    row_port p = port_of(m, &x->in[0]);
    if (x->op.ramp) {
        if (!m->tables[index]) m->tables[index] = tn_tile_ramp(m->arena, &x->op);
        memset(&p, 0, sizeof p);
        p.offset = (uintptr_t)m->tables[index];
        p.base = TN_TILE_FIXED;
    }
    for (uint32_t d = 0; d < m->out->n_dims; d++)
        if (m->out->size[d] > 1) p.step[d] = tn_map_at(map, m->unit[d]) * x->op.bytes;
    return load(m, &p, e, map->step[map->n_dims - 1] == 0);
}

static tn_jv constant(maker *m, uint64_t address, tn_element_type e)
{
    tn_jv v = tn_jit_element(&m->piece, e, (const void *)(uintptr_t)address);
    if (v != TN_JIT_NO_VALUE) return v;
    site s = {.kind = AT_ADDRESS, .offset = address};
    row_port p = port_of(m, &s);
    return load(m, &p, e, true);
}

static tn_jv value_of(maker *m, const site *s, tn_element_type e)
{
    tn_jv *known = NULL;
    row_port p;
    if (!tn_jit_has_type(e)) m->failed = true;
    if (m->failed) return 0;
    switch (s->kind) {
    case AT_OUTPUT: return m->outputs[s->index];
    case AT_ADDRESS: return constant(m, s->offset, e);
    case IN_REGISTER:
        known = &m->regs[s->index];
        if (*known != NONE) return *known;
        if (m->load_of[s->index]) return *known = mapped(m, s->index, e);
        if (!m->fill_of[s->index]) m->failed = true;
        if (m->failed) return 0;
        return *known = value_of(m, &m->s->fill_from[m->fill_of[s->index] - 1], e);
    case AT_INPUT: break;
    }
    if (!m->p->inputs[s->index].is_linear) {
        p = port_of(m, s);
        return load(m, &p, e, true);
    }
    known = &m->inputs[s->index];
    p = linear(m, s, (unsigned)tn_element_type_bytes(e));
    if (*known == NONE) *known = load(m, &p, e, false);
    return *known;
}

static void join(maker *m, const micro *x)
{
    const tn_tile_join *j = x->op.join;
    tn_element_type e = m->p->outputs[x->out.index].value->type->element;
    for (uint32_t k = 0; k < j->n_parts; k++) {
        row_port p = port_of(m, &x->out);
        p.offset += (uint64_t)(k * j->run * j->bytes);
        for (uint32_t d = 0; d < m->out->n_dims; d++) {
            int64_t unit = m->unit[d];
            p.step[d] = (unit < j->run ? unit : unit * j->n_parts) * j->bytes;
        }
        tn_jv v = value_of(m, &x->ports[k], e);
        if (!m->failed) store(m, &p, e, v);
    }
}

/* --- divisions --- */

/* Does micro-op `x` divide by a row that is the same for all? Then says where that is. */
static bool divides_by_one(const maker *m, const micro *x, row_port *out)
{
    const struct tn_tile_rows *r = m->out;
    if (!x->source || x->source->kind != TN_OP_divide) return false;
    tn_element_type e = tn_result_type(x->source, 0)->element;
    const site *by = &x->in[1];
    if ((e != TN_F32 && e != TN_F64) || by->kind != IN_REGISTER || !m->load_of[by->index] ||
        r->n_rows < DIVIDED_ROWS || r->row * tn_element_type_bytes(e) > RECIPROCALS)
        return false;
    const micro *from = m->load_of[by->index];
    const tn_access_map *map = from->op.map;
    if (from->op.ramp || map->step[map->n_dims - 1] != 1) return false;
    for (uint32_t d = 0; d < r->n_dims; d++)
        if (r->size[d] > 1 && tn_map_at(map, m->unit[d])) return false;
    *out = port_of(m, &from->in[0]);
    return true;
}

static void find_divisor(maker *m, tn_jit *jit)
{
    struct tn_tile_rows *r = m->out;
    for (uint32_t i = 0; i < m->s->n_ops && !r->reciprocals; i++) {
        const micro *x = &m->s->ops[i];
        tn_jit_piece piece;
        if (x->op.join || tn_tile_is_load(&x->op) || !divides_by_one(m, x, &r->divisor)) continue;
        tn_element_type e = tn_result_type(x->source, 0)->element;
        r->divisor_bytes = (uint8_t)tn_element_type_bytes(e);
        tn_jit_begin(jit, &piece);
        tn_jv v = tn_jit_load(&piece, 0, e, false);
        v = tn_jit_reciprocal(&piece, r->divisor_bytes, v);
        tn_jit_store(&piece, 1, e, v);
        if (piece.avx512) r->reciprocals = tn_jit_end(&piece, false);
        tn_jit_drop(&piece);
    }
}

/* The reciprocals of what `x` divides by, if they are made. */
static tn_jv reciprocals_for(maker *m, const micro *x)
{
    row_port p;
    if (!m->out->reciprocals || !divides_by_one(m, x, &p)) return NONE;
    tn_element_type e = tn_result_type(x->source, 0)->element;
    if (memcmp(&m->out->divisor, &p, sizeof p) || m->out->divisor_bytes != tn_element_type_bytes(e))
        return NONE;
    memset(&p, 0, sizeof p);
    p.base = AT_RECIPROCALS;
    return load(m, &p, e, false);
}

/* All of the program, for a group of lanes from column `group` on. */
static void add_group(maker *m, uint32_t group)
{
    m->group = group;
    for (uint32_t i = 0; i < m->s->n_regs; i++) m->regs[i] = NONE;
    for (uint32_t i = 0; i < m->p->n_inputs; i++) m->inputs[i] = NONE;
    for (uint32_t i = 0; i < m->p->n_outputs; i++) m->outputs[i] = NONE;
    for (uint32_t i = 0; i < m->s->n_ops && !m->failed; i++) {
        const micro *x = &m->s->ops[i];
        if (x->op.join || tn_tile_is_load(&x->op)) continue;
        tn_jv in[TN_KERNEL_OPERANDS] = {0}, v;
        if (!x->source || x->source->kind == TN_OP_take) m->failed = true;
        for (uint32_t k = 0; !m->failed && k < x->source->n_operands; k++)
            in[k] = value_of(m, &x->in[k], tn_operand_type(x->source, k)->element);
        tn_jv by = m->failed ? NONE : reciprocals_for(m, x);
        if (by != NONE && !m->failed) {
            unsigned bytes = tn_result_type(x->source, 0)->element == TN_F64 ? 8 : 4;
            v = tn_jit_emit(&m->piece, TN_JIT_DIVIDE_BY, bytes, 0, 0, 3, in[0], in[1], by);
        } else if (m->failed || !tn_jit_lower(&m->piece, x->source, in, &v)) {
            m->failed = true;
            return;
        }
        *(x->out.kind == AT_OUTPUT ? &m->outputs[x->out.index] : &m->regs[x->out.index]) = v;
    }
    for (uint32_t i = 0; i < m->s->n_ops && !m->failed; i++) {
        const micro *x = &m->s->ops[i];
        if (x->op.join) join(m, x);
        if (x->op.join || tn_tile_is_load(&x->op) || x->out.kind != AT_OUTPUT) continue;
        tn_element_type e = tn_result_type(x->source, 0)->element;
        row_port p = linear(m, &x->out, (unsigned)tn_element_type_bytes(e));
        store(m, &p, e, m->outputs[x->out.index]);
    }
}

static void add_tail(maker *m, uint32_t group)
{
    uint32_t from = m->piece.n;
    add_group(m, group);
    for (uint32_t i = from; i < m->piece.n && !m->failed; i++) {
        tn_jit_instruction *x = &m->piece.list[i];
        if (x->op == TN_JIT_LOAD || x->op == TN_JIT_STORE) x->in_tail = 1;
    }
}

/* Lanes of f16 alone aren't masked. */
static void begin_piece(maker *m, tn_jit *jit, bool has_tail)
{
    tn_jit_drop(&m->piece);
    tn_jit_begin(jit, &m->piece);
    m->piece.half = !has_tail && tn_jit_has_f16(jit);
}

/* NULL: it can't be done, or, where `wide` says so then, with other lanes. */
static const tn_jit_code *write(maker *m, tn_jit *jit, uint32_t lanes, bool *wide)
{
    struct tn_tile_rows *r = m->out;
    uint32_t row = (uint32_t)r->row, tail = row % lanes, whole = row - tail;
    bool avx512 = m->piece.avx512, was_wide = *wide;
    tn_jit_flow f;
    if (tail && !avx512) return NULL;
    m->failed = false;
    r->n_ports = 0;
    tn_jit_flow_begin_rows(&f, jit, lanes, tail);
    tn_jit_flow_column(&f, 0);
    bool one_piece = row <= GROUPS * lanes;
    begin_piece(m, jit, one_piece && tail);
    if (one_piece) {
        for (uint32_t at = 0; at < whole && !m->failed; at += lanes) add_group(m, at);
        if (tail && !m->failed) add_tail(m, whole);
        if (!m->failed) tn_jit_flow_piece(&f, &m->piece);
        *wide |= m->piece.wide;
    } else {
        uint32_t turn = whole % (2 * lanes) ? lanes : 2 * lanes;
        for (uint32_t at = 0; at < turn && !m->failed; at += lanes) add_group(m, at);
        if (!m->failed) tn_jit_flow_columns(&f, &m->piece, turn, INT32_MAX / 2, whole);
        *wide |= m->piece.wide;
        begin_piece(m, jit, true);
        if (tail && !m->failed) add_tail(m, 0);
        if (tail && !m->failed) tn_jit_flow_piece(&f, &m->piece);
    }
    int32_t bytes[PORTS];
    for (uint32_t i = 0; i < r->n_ports; i++) bytes[i] = (int32_t)r->ports[i].step[r->n_dims - 1];
    if (!m->failed) tn_jit_flow_end_rows(&f, bytes, r->n_ports);
    return tn_jit_flow_end(&f, 0, m->failed || *wide != was_wide);
}

const tn_tile_program *tn_tile_by_rows(tn_cluster_context *c, const tn_tile_program *p)
{
    if (!c->jit || !p->source || p->n_inputs > PORTS || p->n_outputs > PORTS) return p;
    for (uint32_t i = 0; i < p->n_outputs && !p->joins; i++)
        if (p->n * p->outputs[i].bytes >= LARGE) return p;
    /* Most programs come to nothing: the next one finds the same memory. */
    if (!c->rows_maker) c->rows_maker = TN_NEW(c->arena, maker);
    if (!c->rows_spare) c->rows_spare = TN_NEW(c->arena, struct tn_tile_rows);
    maker *m = memset(c->rows_maker, 0, sizeof *m);
    struct tn_tile_rows *r = memset(c->rows_spare, 0, sizeof *r);
    m->p = p;
    m->s = p->source;
    m->arena = c->arena;
    m->out = r;
    if (!find_dims(m)) return p;
    for (uint32_t i = 0; i < m->s->n_fills; i++) m->fill_of[m->s->fill_reg[i]] = i + 1;
    for (uint32_t i = 0; i < m->s->n_ops; i++)
        if (tn_tile_is_load(&m->s->ops[i].op)) m->load_of[m->s->ops[i].out.index] = &m->s->ops[i];
    find_divisor(m, c->jit);
    tn_jit_begin(c->jit, &m->piece);
    bool wide = false;
    uint32_t lanes = m->piece.avx512 ? 16 : 8;
    r->code = write(m, c->jit, lanes, &wide);
    if (!r->code && wide) r->code = write(m, c->jit, lanes / 2, &wide);
    tn_jit_drop(&m->piece);
    if (!r->code) return p;
    tn_tile_program *by_rows = tn_dup(c->arena, p, sizeof *p);
    by_rows->rows = r;
    c->rows_spare = NULL;
    return by_rows;
}

/* --- running --- */

typedef struct {
    const tn_tile_program *p;
    void *const *memory;
    int64_t piece; /* rows */
} job;

static uintptr_t place_of(const job *j, const row_port *p)
{
    uintptr_t at = p->offset;
    if (p->base != TN_TILE_FIXED) at += (uintptr_t)j->memory[p->base - TN_TILE_FIRST_PORT];
    return at;
}

static void make_reciprocals(const job *j, char *to)
{
    const struct tn_tile_rows *r = j->p->rows;
    const tn_jit_port ports[] = {{.bytes = r->divisor_bytes, .is_input = true},
                                 {.bytes = r->divisor_bytes, .is_output = true}};
    void *const memory[] = {(void *)place_of(j, &r->divisor), to};
    tn_jit_run(r->reciprocals, ports, 2, memory, r->row);
}

static void run_rows(void *ctx, int64_t first, int64_t end)
{
    const job *j = ctx;
    const struct tn_tile_rows *r = j->p->rows;
    uint32_t n_dims = r->n_dims, n_ports = r->n_ports;
    int64_t row = first * j->piece, to = end * j->piece, most = r->size[n_dims - 1];
    _Alignas(64) char reciprocals[RECIPROCALS];
    if (to > r->n_rows) to = r->n_rows;
    if (r->reciprocals) make_reciprocals(j, reciprocals);
    for (int64_t some; row < to; row += some) {
        int64_t at[TN_MAP_DIMS], left = row;
        for (uint32_t d = n_dims; d-- > 1; left /= r->size[d]) at[d] = left % r->size[d];
        at[0] = left;
        some = most - at[n_dims - 1];
        if (some > to - row) some = to - row;
        uintptr_t ports[PORTS];
        for (uint32_t i = 0; i < n_ports; i++) {
            const row_port *p = &r->ports[i];
            bool made = p->base == AT_RECIPROCALS;
            uintptr_t a = made ? (uintptr_t)reciprocals : place_of(j, p);
            for (uint32_t d = 0; d < n_dims; d++) a += (uintptr_t)(at[d] * p->step[d]);
            ports[i] = a;
        }
        r->code->entry((void *const *)ports, some);
    }
}

void tn_tile_run_rows(const tn_tile_program *p, struct tn_thread_pool *pool, void *const *memory)
{
    const struct tn_tile_rows *r = p->rows;
    job j = {p, memory, (PIECE + r->row - 1) / r->row};
    int64_t n = (r->n_rows + j.piece - 1) / j.piece;
    if (n == 1) run_rows(&j, 0, 1);
    else tn_parallel_for(pool, n, p->cost_ns * (double)(j.piece * r->row), run_rows, &j);
}
