/* SPDX-License-Identifier: Apache-2.0 */
/* Running totals where they lie: of lines that are contiguous, in vectors (running.h), and of many
 * lines side by side, a row of them at a time. */
#include <string.h>

#include "base/thread_pool.h"
#include "kernels/running.h"
#include "ops/piece_memory.h"
#include "ops/scan.h"
#include "ops/strided.h"

enum {
    PIECE = TN_RUNNING_PIECE,
    LONG = 16 * PIECE, /* elements of a line that several threads share */
    SHORT = 16,        /* shorter lines are turned to lie side by side */
    LANES = 256,       /* lines side by side in a part */
    FEW_LANES = 16,
};

typedef struct {
    const tn_scan *s;
    tn_running running;
    bool backwards, converts;
    size_t from_width, acc_width, to_width;
    int64_t pieces, parts; /* of a line, and of a row */
    const char *from;      /* of the line that is shared */
    char *to, *before;     /* and for each of its pieces, what comes before */
    tn_piece_memory memory;
    _Atomic(tn_status *) failure;
} job;

static int64_t piece_size(const job *j, int64_t piece)
{
    int64_t left = j->s->n - piece * PIECE;
    return left < PIECE ? left : PIECE;
}

/* The first element of a piece; pieces are counted from where the scan begins. */
static int64_t piece_begin(const job *j, int64_t piece)
{
    return j->backwards ? j->s->n - piece * PIECE - piece_size(j, piece) : piece * PIECE;
}

/* The elements of a piece as accumulators, in `room` if they have to be converted. */
static const char *load(const job *j, const char *from, int64_t piece, char *room)
{
    from += (size_t)piece_begin(j, piece) * j->from_width;
    if (!j->converts) return from;
    tn_combiner_load(j->s->combiner, 0, piece_size(j, piece), from, room);
    return room;
}

/* Of a line, `before` the piece; that of the next piece comes back in it. */
static void run_piece(const job *j, const char *from, char *to, int64_t piece, void *before,
                      char *room)
{
    int64_t n = piece_size(j, piece);
    const char *x = load(j, from, piece, room);
    char *place = to + (size_t)piece_begin(j, piece) * j->to_width;
    char *y = j->converts ? room : place;
    j->running.run(x, y, n, before, j->backwards);
    memcpy(before, y + (j->backwards ? 0 : (size_t)(n - 1) * j->acc_width), j->acc_width);
    if (j->converts) tn_combiner_store(j->s->combiner, 0, n, y, place);
}

static char *take_room(job *j)
{
    char *room = j->converts ? tn_piece_memory_take(&j->memory) : NULL;
    if (j->converts && !room)
        tn_keep_first(&j->failure, TN_OP_ERROR(RESOURCE_EXHAUSTED, j->s->op, "out of memory"));
    return room;
}

static void give_room(job *j, char *room)
{
    if (room) tn_piece_memory_give(&j->memory, room);
}

static void run_lines(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn_scan *s = j->s;
    char *room = take_room(j);
    if (j->converts && !room) return;
    for (int64_t line = begin; line < end; line++) {
        const char *from = (const char *)s->from[0] + (size_t)(line * s->n) * j->from_width;
        char *to = (char *)s->to[0] + (size_t)(line * s->n) * j->to_width;
        _Alignas(16) char before[16];
        tn_combiner_load(s->combiner, 0, 1, s->inits[0], before);
        for (int64_t k = 0; k < j->pieces; k++) run_piece(j, from, to, k, before, room);
    }
    give_room(j, room);
}

/* --- one line by several threads --- */

static void total_pieces(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    char *room = take_room(j);
    if (j->converts && !room) return;
    for (int64_t k = begin; k < end; k++)
        j->running.total(load(j, j->from, k, room), j->before + (size_t)(k + 1) * 16, j->backwards);
    give_room(j, room);
}

static void run_pieces(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    char *room = take_room(j);
    if (j->converts && !room) return;
    for (int64_t k = begin; k < end; k++)
        run_piece(j, j->from, j->to, k, j->before + (size_t)k * 16, room);
    give_room(j, room);
}

static void run_shared(job *j)
{
    const tn_scan *s = j->s;
    const tn_combiner *c = s->combiner;
    for (int64_t line = 0; line < s->outer; line++) {
        j->from = (const char *)s->from[0] + (size_t)(line * s->n) * j->from_width;
        j->to = (char *)s->to[0] + (size_t)(line * s->n) * j->to_width;
        tn_combiner_load(c, 0, 1, s->inits[0], j->before);
        tn_parallel_for(c->ctx->pool, j->pieces - 1, PIECE * 0.2, total_pieces, j);
        for (int64_t k = 1; k < j->pieces; k++) {
            char *at = j->before + (size_t)k * 16;
            tn_kernel_run(&c->kernel, 1, (const void *[]){at - 16, at}, at);
        }
        tn_parallel_for(c->ctx->pool, j->pieces, PIECE * 0.3, run_pieces, j);
    }
}

static bool run_by_lines(job *j)
{
    const tn_scan *s = j->s;
    const tn_combiner *c = s->combiner;
    const tn_combiner_part *p = &c->parts[0];
    j->running = tn_running_find(tn_cpu_isa(), c->kernel_op, p->acc);
    if (!j->running.run) return false;
    j->converts = p->from != p->acc || p->acc != p->to;
    j->pieces = (s->n + PIECE - 1) / PIECE;
    if (j->converts) tn_piece_memory_begin(&j->memory, c->ctx->scratch, PIECE * j->acc_width);
    int64_t threads = tn_thread_pool_size(c->ctx->pool);
    if (s->n >= LONG && threads > 1 && s->outer < 2 * threads)
        j->before = tn_scratch_alloc(c->ctx->scratch, (size_t)(j->pieces + 1) * 16);
    if (j->before) run_shared(j);
    else tn_parallel_for(c->ctx->pool, s->outer, (double)s->n * 0.3, run_lines, j);
    return true;
}

/* --- lines side by side --- */

static void run_rows(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const tn_scan *s = j->s;
    const tn_combiner *c = s->combiner;
    int64_t w = (int64_t)j->acc_width, step = j->backwards ? -s->inner * w : s->inner * w;
    for (int64_t k = begin; k < end; k++) {
        int64_t lane = k % j->parts * LANES, first = k / j->parts * s->n * s->inner + lane;
        size_t n = (size_t)(s->inner - lane < LANES ? s->inner - lane : LANES);
        if (j->backwards) first += (s->n - 1) * s->inner;
        const char *x = (const char *)s->from[0] + first * w;
        char *y = (char *)s->to[0] + first * w;
        _Alignas(64) char inits[LANES * 16];
        tn_fill(NULL, inits, s->inits[0], (size_t)w, (int64_t)n);
        const char *before = inits;
        for (int64_t i = 0; i < s->n; i++, before = y, x += step, y += step) {
            const void *in[] = {j->backwards ? x : before, j->backwards ? before : x};
            tn_kernel_run(&c->kernel, n, in, y);
        }
    }
}

static bool run_by_rows(job *j)
{
    const tn_scan *s = j->s;
    const tn_combiner_part *p = &s->combiner->parts[0];
    if (s->inner < FEW_LANES || p->from != p->acc || p->acc != p->to) return false;
    j->parts = (s->inner + LANES - 1) / LANES;
    double lanes = s->inner < LANES ? (double)s->inner : LANES;
    tn_parallel_for(s->combiner->ctx->pool, s->outer * j->parts,
                    (double)s->n * (5 + lanes * 0.02 * (double)j->acc_width), run_rows, j);
    return true;
}

bool tn_scan_run_lines(const tn_scan *s, tn_status **out)
{
    const tn_combiner *c = s->combiner;
    *out = NULL;
    if (!c->by_kernel || s->kind == TN_SCAN_WINDOWS) return false;
    if (s->inner == 1 && s->n < SHORT && s->outer > 1) return false;
    job j = {.s = s,
             .backwards = s->kind == TN_SCAN_SUFFIX,
             .from_width = c->parts[0].from_width,
             .acc_width = c->parts[0].acc_width,
             .to_width = c->parts[0].to_width};
    if (s->inner == 1 ? !run_by_lines(&j) : !run_by_rows(&j)) return false;
    *out = atomic_load(&j.failure);
    return true;
}
