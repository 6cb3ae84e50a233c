/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/rows_code.h"
#include "kernels/turn.h"

static int64_t place_in(const tn_access_map *map, uint32_t n, int64_t row)
{
    int64_t at = 0;
    for (uint32_t d = n; d-- > 0; row /= map->size[d]) at += row % map->size[d] * map->step[d];
    return at;
}

static bool may_stream(const tn_rows_code *c, const tn_rows *p, const uintptr_t *at)
{
    for (uint32_t i = 0; i < p->n_outputs && c->streaming; i++) {
        if (at[p->outputs[i]] % 64) return false;
        for (uint32_t k = 0; k < p->n_inputs; k++)
            if (at[p->inputs[k]] == at[p->outputs[i]]) return false;
    }
    return c->streaming != NULL;
}

static bool is_in_place(const tn_rows *p, const uintptr_t *at)
{
    for (uint32_t i = 0; i < p->n_inputs; i++)
        for (uint32_t k = 0; k < p->n_outputs; k++)
            if (at[p->inputs[i]] == at[p->outputs[k]]) return true;
    return false;
}

/* Rows are turned back in order: what one leaves behind its end is written over by the next, unless
 * that is an input as well. */
static void run_turned(const tn_rows_code *c, const tn_rows *p, const uintptr_t *at, int64_t first,
                       int64_t n, char *kept)
{
    bool in_place = is_in_place(p, at);
    for (int64_t row = first, last = first + n, some; row < last; row += some) {
        some = last - row < c->turned ? last - row : c->turned;
        uintptr_t ports[TN_ROWS_CODE_PORTS];
        for (uint32_t i = 0; i < c->n_moves; i++) {
            const tn_rows_turned *t = &c->moves[i];
            if (t->is_output) continue;
            const char *from = (const char *)at[t->ref] + row * t->columns * t->bytes;
            tn_turn((size_t)t->bytes, t->columns, from, some, last - row - some, kept + t->offset,
                    t->apart);
        }
        for (uint32_t i = 0; i < c->n_ports; i++) {
            const tn_rows_port *q = &c->ports[i];
            ports[i] = q->at == TN_ROWS_AT_VALUE  ? at[q->ref]
                       : q->at == TN_ROWS_AT_KEPT ? (uintptr_t)kept
                                                  : (uintptr_t)c->counts;
            ports[i] += (uintptr_t)q->offset;
        }
        c->code->entry((void *const *)ports, (some + c->lanes - 1) / c->lanes);
        for (uint32_t i = 0; i < c->n_moves; i++) {
            const tn_rows_turned *t = &c->moves[i];
            if (!t->is_output) continue;
            char *to = (char *)at[t->ref] + row * t->columns * t->bytes;
            tn_turn_back((size_t)t->bytes, t->columns, kept + t->offset, t->apart, some,
                         in_place ? 0 : last - row - some, to);
        }
    }
}

void tn_rows_code_run(const tn_rows_code *c, const tn_rows *p, const uintptr_t *at, int64_t first,
                      int64_t n, char *kept)
{
    uintptr_t ports[TN_ROWS_CODE_PORTS] = {0}, from[TN_ROWS_CODE_PORTS];
    if (c->turned) {
        run_turned(c, p, at, first, n, kept);
        return;
    }
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
