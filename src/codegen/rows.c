/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/rows.h"

#include <string.h>

#include "ops/elementwise.h"
#include "ops/reduce_fold.h"

enum {
    BLOCK_BYTES = 192 << 10, /* what a block's rows should take of the cache */
    STEPS = 24,
    VALUES = 64
};

typedef struct {
    tn_cluster_context *c;
    const tn_cluster *list;
    uint32_t n;
    uint32_t *last_read; /* [n_values]: 1 + the last cluster that reads it */
    uint32_t *made;      /* [n_values]: 1 + the cluster that makes it */
} finder;

/* --- who reads what --- */

static void note_read(finder *f, const tn_value *v, uint32_t at)
{
    v = tn_cluster_source(v);
    f->last_read[v->id] = at + 1;
    if (v->op && v->op->kind == TN_OP_broadcast_in_dim) note_read(f, v->op->operands[0], at);
}

static void note_reads(finder *f, const tn_op *op, uint32_t at)
{
    for (uint32_t i = 0; i < op->n_operands; i++) note_read(f, op->operands[i], at);
    for (uint32_t i = 0; i < op->n_regions; i++)
        for (const tn_op *o = op->regions[i].first; o; o = o->next) note_reads(f, o, at);
}

static void note_all(finder *f, const tn_region *r)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const tn_cluster *k = &f->list[i];
        if (k->tile) {
            for (uint32_t j = 0; j < k->tile->n_inputs; j++)
                note_read(f, k->tile->inputs[j].value, i);
            for (uint32_t j = 0; j < k->tile->n_outputs; j++)
                f->made[k->tile->outputs[j].value->id] = i + 1;
            continue;
        }
        if (k->op->kind != TN_OP_reshape) note_reads(f, k->op, i);
        for (uint32_t j = 0; j < k->op->n_results; j++) f->made[k->op->results[j].id] = i + 1;
    }
    for (uint32_t i = 0; i < r->last->n_operands; i++) note_read(f, r->last->operands[i], f->n);
}

/* --- what can be part of a group --- */

static tn_op_kind body_of(const tn_op *op)
{
    const tn_region *r = &op->regions[0];
    const tn_op *o = r->first;
    if (r->n_args != 2 || !o || o->next != r->last || o->n_operands != 2) return TN_OP_INVALID;
    if (r->last->n_operands != 1 || r->last->operands[0] != &o->results[0]) return TN_OP_INVALID;
    const tn_value *a = o->operands[0], *b = o->operands[1];
    bool args = (a == &r->args[0] && b == &r->args[1]) || (a == &r->args[1] && b == &r->args[0]);
    return args ? o->kind : TN_OP_INVALID;
}

/* A reduction of `rows` rows, each contiguous, of an operand of one type throughout. */
static bool is_row_reduction(const tn_op *op, int64_t *rows, int64_t *length)
{
    if (!op || op->kind != TN_OP_reduce || op->n_operands != 2) return false;
    const tn_type *t = tn_operand_type(op, 0), *to = tn_result_type(op, 0);
    if (!tn_type_is_static(t) || t->element != to->element || t->quantization) return false;
    if (t->element != tn_operand_type(op, 1)->element) return false;
    uint32_t n;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_dimensions, &n);
    *rows = *length = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        bool reduced = false;
        for (uint32_t i = 0; i < n; i++) reduced |= dims[i] == d;
        if (reduced != (d >= t->rank - n)) return false;
        *(reduced ? length : rows) *= t->dims[d];
    }
    return *rows > 1 && *length > 0 && tn_row_fold(tn_cpu_isa(), body_of(op), t->element) &&
           tn_reduction_has_whole_rows(*rows, *length);
}

static bool is_along_rows(const tn_access_map *m, int64_t rows, int64_t per_row)
{
    if (per_row == 1) return m->n_dims == 1 && m->size[0] == rows && m->step[0] == 1;
    return m->n_dims == 2 && m->size[0] == rows && m->step[0] == 1 && m->size[1] == per_row &&
           m->step[1] == 0;
}

/* Does tile program `t` read input `port`, which a block makes, only where the same block made it?
 */
static bool reads_by_rows(const tn_tile_program *t, uint32_t port, int64_t rows)
{
    const tn_tile_port *in = &t->inputs[port];
    if (in->is_linear) return true;
    uint32_t base = TN_TILE_FIRST_PORT + port;
    if (tn_type_elements(in->value->type) != rows) return false;
    for (uint32_t i = 0; i < t->n_fills; i++)
        if (t->fills[i].from.base == base) return false;
    for (uint32_t i = 0; i < t->n_ops; i++) {
        const tn_tile_op *op = &t->ops[i];
        for (uint32_t k = 0; k < op->n_ports; k++) {
            const tn_tile_place *p = &op->places[k];
            bool by_row = t->row == t->n / rows && p->step == 0 && p->row_step == in->bytes;
            if (p->base == base && !by_row) return false;
        }
        if (op->code) continue;
        if (op->kernel.run) {
            for (uint32_t k = 0; k < op->kernel.n_operands; k++)
                if (op->in[k].base == base) return false;
        } else if (!op->ramp && op->in[0].base == base &&
                   !is_along_rows(op->map, rows, t->n / rows)) {
            return false;
        }
    }
    return true;
}

static bool is_passed_over(const tn_cluster *k)
{
    return !k->tile && (k->op->kind == TN_OP_reshape || k->op->kind == TN_OP_constant);
}

/* May cluster `at` be with clusters [first, end), which are all of `rows` rows? */
static bool fits(const finder *f, uint32_t at, uint32_t first, uint32_t end, int64_t rows)
{
    const tn_cluster *k = &f->list[at];
    if (is_passed_over(k)) return true;
    int64_t n, length;
    if (!k->tile) {
        if (!is_row_reduction(k->op, &n, &length) || n != rows) return false;
        uint32_t init = f->made[tn_cluster_source(k->op->operands[1])->id];
        return !init || init - 1 < first || init - 1 >= end || is_passed_over(&f->list[init - 1]);
    }
    if (k->tile->n % rows || k->tile->n_inputs + k->tile->n_outputs > TN_ROWS_PORTS) return false;
    for (uint32_t i = 0; i < k->tile->n_inputs; i++) {
        uint32_t made = f->made[k->tile->inputs[i].value->id];
        if (made && made - 1 >= first && made - 1 < end && !reads_by_rows(k->tile, i, rows))
            return false;
    }
    return true;
}

/* --- making a group --- */

typedef struct {
    tn_rows_value values[VALUES];
    uint32_t n_values;
    tn_rows_step steps[STEPS];
    uint32_t n_steps;
    bool is_output[VALUES], is_made[VALUES];
    bool failed;
} group;

static uint32_t index_of(group *g, const tn_value *v)
{
    for (uint32_t i = 0; i < g->n_values; i++)
        if (g->values[i].value == v) return i;
    if (g->n_values == VALUES) {
        g->failed = true;
        return 0;
    }
    g->values[g->n_values] = (tn_rows_value){.value = v};
    return g->n_values++;
}

static uint32_t make(group *g, const tn_value *v, int64_t rows)
{
    uint32_t i = index_of(g, v);
    g->is_made[i] = true;
    g->values[i].row_bytes = (int64_t)tn_type_bytes(v->type) / rows;
    return i;
}

static void add_tile(finder *f, group *g, const tn_tile_program *t, int64_t rows)
{
    uint32_t *refs = TN_NEW_ARRAY(f->c->arena, uint32_t, t->n_inputs + t->n_outputs);
    for (uint32_t i = 0; i < t->n_inputs; i++) refs[i] = index_of(g, t->inputs[i].value);
    for (uint32_t i = 0; i < t->n_outputs; i++)
        refs[t->n_inputs + i] = make(g, t->outputs[i].value, rows);
    g->steps[g->n_steps++] = (tn_rows_step){.tile = t, .per_row = t->n / rows, .refs = refs};
}

static void add_reduction(finder *f, group *g, const tn_op *op, int64_t rows, int64_t length)
{
    tn_element_type e = tn_operand_type(op, 0)->element, acc = e == TN_BF16 ? TN_F32 : e;
    uint32_t *refs = TN_NEW_ARRAY(f->c->arena, uint32_t, 3);
    refs[0] = index_of(g, tn_cluster_source(op->operands[0]));
    refs[1] = index_of(g, tn_cluster_source(op->operands[1]));
    refs[2] = make(g, &op->results[0], rows);
    tn_isa isa = tn_cpu_isa();
    tn_rows_step s = {.reduce = op,
                      .per_row = length,
                      .refs = refs,
                      .fold = tn_row_fold(isa, body_of(op), e),
                      .from_bytes = (uint32_t)tn_element_type_bytes(e),
                      .acc_bytes = (uint32_t)tn_element_type_bytes(acc),
                      .to_bytes = (uint32_t)tn_element_type_bytes(e)};
    g->failed |= !tn_kernel_elementwise(isa, body_of(op), acc, &s.combine);
    if (acc != e)
        g->failed |=
            !tn_kernel_convert(isa, e, acc, &s.load) || !tn_kernel_convert(isa, acc, e, &s.store);
    g->steps[g->n_steps++] = s;
}

static const tn_rows *finish(finder *f, group *g, int64_t rows, uint32_t end)
{
    tn_arena *a = f->c->arena;
    tn_rows *p = TN_NEW(a, tn_rows);
    uint32_t *inputs = TN_NEW_ARRAY(a, uint32_t, g->n_values), n_inputs = 0;
    uint32_t *outputs = TN_NEW_ARRAY(a, uint32_t, g->n_values), n_outputs = 0;
    int64_t row_bytes = 0;
    for (uint32_t i = 0; i < g->n_values; i++) {
        tn_rows_value *v = &g->values[i];
        if (!g->is_made[i]) {
            inputs[n_inputs++] = i;
            int64_t bytes = (int64_t)tn_type_bytes(v->value->type);
            if (bytes >= 256 * rows) row_bytes += bytes / rows;
            continue;
        }
        row_bytes += v->row_bytes;
        v->is_temp = f->last_read[v->value->id] <= end;
        if (v->is_temp) {
            v->offset = p->temp_bytes;
            p->temp_bytes += v->row_bytes;
        } else {
            outputs[n_outputs++] = i;
        }
    }
    for (uint32_t i = 0; i < g->n_steps; i++) {
        const tn_rows_step *s = &g->steps[i];
        p->row_ns += (s->tile ? s->tile->cost_ns : 0.06) * (double)s->per_row;
    }
    int64_t block = BLOCK_BYTES / (row_bytes + 1);
    p->n = rows;
    p->block = block < 1 ? 1 : block > rows ? rows : block;
    p->n_values = g->n_values;
    p->n_steps = g->n_steps;
    p->values = tn_dup(a, g->values, g->n_values * sizeof *g->values);
    p->steps = tn_dup(a, g->steps, g->n_steps * sizeof *g->steps);
    p->n_inputs = n_inputs;
    p->n_outputs = n_outputs;
    p->inputs = inputs;
    p->outputs = outputs;
    return p;
}

static const tn_rows *make_group(finder *f, uint32_t first, uint32_t end, int64_t rows)
{
    group *g = TN_NEW(f->c->arena, group);
    for (uint32_t i = first; i < end && !g->failed; i++) {
        const tn_cluster *k = &f->list[i];
        int64_t n, length;
        if (is_passed_over(k)) continue;
        if (g->n_steps == STEPS) return NULL;
        if (k->tile) add_tile(f, g, k->tile, rows);
        else if (is_row_reduction(k->op, &n, &length)) add_reduction(f, g, k->op, rows, length);
    }
    return g->failed ? NULL : finish(f, g, rows, end);
}

void tn_rows_find(tn_cluster_context *c, const tn_region *r, const tn_cluster **list, uint32_t *n)
{
    finder f = {.c = c, .list = *list, .n = *n};
    int64_t rows, length;
    bool any = false;
    for (uint32_t i = 0; i < *n && !any; i++)
        any = !f.list[i].tile && is_row_reduction(f.list[i].op, &rows, &length);
    if (!any) return;
    if (!c->last_read) {
        c->last_read = TN_NEW_ARRAY(c->arena, uint32_t, c->n_values);
        c->made_by = TN_NEW_ARRAY(c->arena, uint32_t, c->n_values);
    }
    f.last_read = c->last_read;
    f.made = c->made_by;
    note_all(&f, r);
    tn_cluster *out = TN_NEW_ARRAY(c->arena, tn_cluster, *n);
    uint32_t n_out = 0, done = 0; /* clusters before `done` are in `out` */
    for (uint32_t i = 0; i < *n; i++) {
        if (i < done || f.list[i].tile || !is_row_reduction(f.list[i].op, &rows, &length)) continue;
        uint32_t first = i, end = i + 1, n_steps = 1;
        /* What comes before, as long as all that follows reads it by rows. */
        while (first > done && n_steps < STEPS / 2) {
            bool all = fits(&f, first - 1, first, first, rows);
            for (uint32_t k = first; k < end && all; k++) all = fits(&f, k, first - 1, end, rows);
            if (!all) break;
            first--;
            n_steps += !is_passed_over(&f.list[first]);
        }
        while (end < *n && n_steps < STEPS && fits(&f, end, first, end, rows)) {
            n_steps += !is_passed_over(&f.list[end]);
            end++;
        }
        while (first < i && is_passed_over(&f.list[first])) first++;
        while (end > i + 1 && is_passed_over(&f.list[end - 1])) end--;
        const tn_rows *p = n_steps > 1 ? make_group(&f, first, end, rows) : NULL;
        if (!p) continue;
        while (done < first) out[n_out++] = f.list[done++];
        for (uint32_t k = first; k < end; k++)
            if (is_passed_over(&f.list[k]) && f.list[k].op->kind == TN_OP_constant)
                out[n_out++] = f.list[k];
        out[n_out++] = (tn_cluster){.rows = p};
        for (uint32_t k = first; k < end; k++)
            if (is_passed_over(&f.list[k]) && f.list[k].op->kind == TN_OP_reshape)
                out[n_out++] = f.list[k];
        done = end;
    }
    while (done < *n) out[n_out++] = f.list[done++];
    *list = out;
    *n = n_out;
}
