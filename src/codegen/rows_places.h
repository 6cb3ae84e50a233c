/* SPDX-License-Identifier: Apache-2.0 */
/* rows_places.h - where the values of a group are while a block of it runs; for rows_run.c and
 * rows_shares.c alone.
 *
 * A table holds an address for each value, as if all rows had memory: that of a temporary value is
 * such that the rows of the block are where the block's memory is. */
#ifndef TN_CODEGEN_ROWS_PLACES_H
#define TN_CODEGEN_ROWS_PLACES_H

#include "codegen/rows.h"

static inline size_t tn_rows_align(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static inline size_t tn_rows_table_size(const tn_rows *p)
{
    return tn_rows_align(p->n_values * sizeof(uintptr_t));
}

/* Bytes of the temporary values of a block of `block` rows. */
static inline size_t tn_rows_temp_size(const tn_rows *p, int64_t block)
{
    return (size_t)(p->temp_bytes * block) + 128 * (size_t)p->n_values;
}

/* memory: of the inputs, then of the outputs. */
static inline void tn_rows_place_outside(const tn_rows *p, void *const *memory, uintptr_t *at)
{
    for (uint32_t i = 0; i < p->n_inputs; i++) at[p->inputs[i]] = (uintptr_t)memory[i];
    for (uint32_t i = 0; i < p->n_outputs; i++)
        at[p->outputs[i]] = (uintptr_t)memory[p->n_inputs + i];
}

/* Temporary values of at most `block` rows, from row `first` on, are in `temp`. */
static inline void tn_rows_place_temps(const tn_rows *p, int64_t block, int64_t first,
                                       const char *temp, uintptr_t *at)
{
    for (uint32_t i = 0; i < p->n_values; i++) {
        const tn_rows_value *v = &p->values[i];
        if (!v->is_temp) continue;
        at[i] = (uintptr_t)temp + tn_rows_align((size_t)(v->offset * block)) + 64 * v->slot -
                (uintptr_t)(first * v->row_bytes);
    }
}

/* Elements [begin, end) of a step that is a tile program. */
static inline void tn_rows_run_tile(const tn_rows_step *s, const uintptr_t *at, int64_t begin,
                                    int64_t end)
{
    void *ports[TN_ROWS_PORTS];
    for (uint32_t k = 0; k < s->tile->n_inputs + s->tile->n_outputs; k++)
        ports[k] = (void *)at[s->refs[k]];
    tn_tile_run_part(s->tile, ports, begin, end);
}

#endif
