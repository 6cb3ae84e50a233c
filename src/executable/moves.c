/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/program.h"

/* Places are equal or apart, never partly the same, so a place is known by base and offset. */
static bool same_place(const tn_step_ref *x, const tn_step_ref *y)
{
    return x->base == y->base && x->offset == y->offset;
}

typedef struct {
    const tn_copy *moves;
    uint32_t *heads, *links; /* moves by the hash of their target */
    uint32_t mask;
} target_index;

static uint32_t hash(const tn_step_ref *r)
{
    uint64_t h = (r->offset / 64 + r->base * 0x10001ull) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

/* The move that writes to `place`, or n. */
static uint32_t writer_of(const target_index *t, const tn_step_ref *place, uint32_t n)
{
    for (uint32_t i = t->heads[hash(place) & t->mask]; i != n; i = t->links[i])
        if (same_place(&t->moves[i].to, place)) return i;
    return n;
}

static void index_targets(target_index *t, tn_arena *a, uint32_t n)
{
    uint32_t size = 16;
    while (size < 2 * n) size *= 2;
    t->mask = size - 1;
    t->heads = TN_NEW_ARRAY(a, uint32_t, size);
    t->links = TN_NEW_ARRAY(a, uint32_t, n);
    for (uint32_t i = 0; i < size; i++) t->heads[i] = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t h = hash(&t->moves[i].to) & t->mask;
        t->links[i] = t->heads[h];
        t->heads[h] = i;
    }
}

/* A move must come before the one that overwrites its source. Every place is written once, so moves
 * form chains, and cycles when all the chains have been taken away. */
typedef struct {
    const tn_copy *moves;
    uint32_t n;
    uint32_t *overwriter; /* of a move's source, or n */
    uint32_t *readers;    /* moves left that read what this one overwrites */
    uint32_t *ready, n_ready;
    bool *done;
    tn_copy *out;
    uint32_t n_out;
} ordering;

static void take_chains(ordering *o)
{
    while (o->n_ready) {
        uint32_t i = o->ready[--o->n_ready], next = o->overwriter[i];
        o->out[o->n_out++] = o->moves[i];
        o->done[i] = true;
        if (next < o->n && --o->readers[next] == 0 && !o->done[next]) o->ready[o->n_ready++] = next;
    }
}

/* Saves what `first` overwrites; the move that wants it is the last of the cycle. */
static void take_cycle(ordering *o, uint32_t first, tn_step_ref spare)
{
    tn_copy save = {o->moves[first].to, spare, o->moves[first].bytes};
    save.to.type = save.from.type;
    o->out[o->n_out++] = save;
    for (uint32_t i = first; !o->done[i]; i = o->overwriter[i]) {
        o->out[o->n_out] = o->moves[i];
        if (o->overwriter[i] == first) o->out[o->n_out].from = save.to;
        o->n_out++;
        o->done[i] = true;
    }
}

uint32_t tn_order_moves(tn_arena *a, const tn_copy *moves, uint32_t n, tn_step_ref spare,
                        tn_copy *out)
{
    target_index t = {.moves = moves};
    index_targets(&t, a, n);
    ordering o = {.moves = moves,
                  .n = n,
                  .overwriter = TN_NEW_ARRAY(a, uint32_t, n),
                  .readers = TN_NEW_ARRAY(a, uint32_t, n),
                  .ready = TN_NEW_ARRAY(a, uint32_t, n),
                  .done = TN_NEW_ARRAY(a, bool, n),
                  .out = out};
    for (uint32_t i = 0; i < n; i++) {
        if ((o.done[i] = same_place(&moves[i].from, &moves[i].to))) continue;
        o.overwriter[i] = writer_of(&t, &moves[i].from, n);
        if (o.overwriter[i] < n) o.readers[o.overwriter[i]]++;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!o.done[i] && !o.readers[i]) o.ready[o.n_ready++] = i;
    take_chains(&o);
    for (uint32_t i = 0; i < n; i++)
        if (!o.done[i]) take_cycle(&o, i, spare);
    return o.n_out;
}
