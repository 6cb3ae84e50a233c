/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/rows_code.h"

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
