/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread_limit.h"
#include "base/thread_pool.h"
#include "executable/checked.h"
#include "executable/constants.h"
#include "executable/program.h"
#include "ops/custom_call.h"

/* Scratch of up to so many bytes is kept from one run to the next. */
#define SCRATCH_KEPT (1u << 20)

typedef struct {
    const tn_executable *e;
    const tn_run *run;
    uintptr_t *bases; /* numbers, since constants are at their address from zero */
    tn_tensor *tensors;
    tn_eval_context ctx;
    const tn_trace_label *const *labels; /* NULL: nobody records */
    void **call_runs;                    /* [calls], where some are staged */
    void **packs;                        /* [e->n_packs], or NULL */
} machine;

static inline void *address(const machine *m, const tn_step_ref *r)
{
    return (void *)(m->bases[r->base] + r->offset);
}

/* A donated argument that stayed with the caller is copied to the result that takes its memory. */
static void find_bases(const tn_executable *e, const tn_run *run, uintptr_t *bases)
{
    uint32_t n = e->info.n_params;
    bases[TN_BASE_FIXED] = 0;
    bases[TN_BASE_TEMP] = (uintptr_t)run->temp;
    for (uint32_t i = 0; i < e->info.n_results; i++) {
        const tn_executable_value *v = &e->info.results[i];
        bases[TN_BASE_FIRST_PARAM + n + i] = (uintptr_t)run->results[i];
        if (v->alias >= 0 && run->args[v->alias] != run->results[i] && tn_type_bytes(v->type))
            memcpy(run->results[i], run->args[v->alias], tn_type_bytes(v->type));
    }
    for (uint32_t i = 0; i < n; i++) bases[TN_BASE_FIRST_PARAM + i] = (uintptr_t)run->args[i];
}

static tn_status *evaluate(machine *m, const tn_step *s)
{
    uint32_t n = s->n_operands + s->n_results;
    for (uint32_t i = 0; i < n; i++)
        m->tensors[i] = (tn_tensor){address(m, &s->refs[i]), s->refs[i].type};
    tn_scratch_reset(m->ctx.scratch);
    m->ctx.bodies = s->bodies;
    m->ctx.prepared = s->prepared;
    m->ctx.packed = s->pack && m->packs ? &m->packs[s->pack - 1] : NULL;
    m->ctx.call = s->call;
    if (m->call_runs && s->call) m->ctx.call_run = m->call_runs[s->call->index];
    return s->eval(s->op, &m->ctx, m->tensors, m->tensors + s->n_operands);
}

/* Tile programs want addresses alone: they are put where tensors would be. */
static void run_tile(machine *m, const tn_step *s)
{
    uint32_t n = s->n_operands + s->n_results;
    void **memory = (void **)m->tensors;
    for (uint32_t i = 0; i < n; i++) memory[i] = address(m, &s->refs[i]);
    tn_tile_run(s->tile, m->ctx.pool, memory);
}

static void run_window(machine *m, const tn_step *s)
{
    const tn_window *w = s->window;
    void **memory = (void **)m->tensors;
    for (uint32_t i = 0; i <= s->n_operands; i++) memory[i] = address(m, &s->refs[i]);
    int64_t offset = tn_window_offset(w, memory);
    bool updates = s->op->kind == TN_OP_dynamic_update_slice;
    char *part = memory[updates ? 1 : s->n_operands], *place = (char *)memory[0] + offset;
    if (!updates) memcpy(part, place, w->bytes);
    else if (part != place) memcpy(place, part, w->bytes);
}

static void run_look(machine *m, const tn_step *s)
{
    void **memory = (void **)m->tensors;
    for (uint32_t i = 0; i < s->n_operands; i++) memory[i] = address(m, &s->refs[i]);
    int64_t offset = tn_window_offset(s->window, memory);
    m->bases[s->refs[s->n_operands].base] = (uintptr_t)memory[0] + (uintptr_t)offset;
}

static tn_status *run_rows(machine *m, const tn_step *s)
{
    uint32_t n = s->n_operands + s->n_results;
    void **memory = (void **)m->tensors;
    for (uint32_t i = 0; i < n; i++) memory[i] = address(m, &s->refs[i]);
    tn_scratch_reset(m->ctx.scratch);
    return tn_rows_run(s->rows, &m->ctx, memory);
}

/* Turns of a loop in machine code before it looks whether the run was cancelled, about 100 us for
 * scalars; sooner in the beginning, in case the run is a trial. */
enum { TURNS = 20000, FIRST_NS = 8000 };

typedef struct {
    tn_jit_watch as_watch; /* first */
    const tn_run *run;
    bool cancelled;
    uint32_t turns;
} watch;

static uint32_t ask(tn_jit_watch *w)
{
    watch *x = (watch *)w;
    const tn_run *r = x->run;
    x->cancelled = x->cancelled || (r->is_cancelled && r->is_cancelled(r->cancel_arg));
    if (x->turns < TURNS) x->turns *= 2;
    w->left = x->cancelled ? 1 : x->turns;
    return x->cancelled;
}

static watch begin_watch(const tn_native *n, const tn_run *run, int64_t begin, int64_t end)
{
    double turns = n->turn_ns > 0 ? FIRST_NS / n->turn_ns : TURNS;
    uint32_t first = turns < 1 ? 1 : turns > TURNS ? TURNS : (uint32_t)turns;
    return (watch){{first, ask, begin, end}, run, false, first};
}

/* A loop over strips, from some of their elements to others. */
typedef struct {
    const tn_native *native;
    const tn_run *run;
    void **memory;
    atomic_bool cancelled;
} strips;

static void run_strips(void *ctx, int64_t begin, int64_t end)
{
    strips *s = ctx;
    const tn_native *n = s->native;
    watch w = begin_watch(n, s->run, begin * n->group, end * n->group);
    if (w.as_watch.end > n->whole) w.as_watch.end = n->whole;
    if (w.as_watch.begin < w.as_watch.end) n->code->entry(s->memory, (int64_t)(uintptr_t)&w);
    if (end * n->group > n->whole && n->rest) {
        w.as_watch.begin = n->whole;
        w.as_watch.end = n->strip;
        n->rest->entry(s->memory, (int64_t)(uintptr_t)&w);
    }
    if (w.cancelled) atomic_store_explicit(&s->cancelled, true, memory_order_relaxed);
}

static tn_status *run_native(machine *m, const tn_step *s)
{
    void **memory = (void **)m->tensors;
    const tn_native *n = s->native;
    for (uint32_t i = 0; i < s->n_operands; i++) memory[i] = address(m, &s->refs[i]);
    bool cancelled;
    if (n->strip) {
        strips all = {n, m->run, memory, false};
        int64_t groups = (n->strip + n->group - 1) / n->group;
        tn_parallel_for(m->ctx.pool, groups, n->group_ns, run_strips, &all);
        cancelled = all.cancelled;
    } else {
        watch w = begin_watch(n, m->run, 0, 0);
        n->code->entry(memory, (int64_t)(uintptr_t)&w);
        cancelled = w.cancelled;
    }
    return cancelled ? TN_OP_ERROR(CANCELLED, s->op, "the run was cancelled") : NULL;
}

static uint32_t choose(const machine *m, const tn_step *s)
{
    int32_t i = *(const int32_t *)address(m, &s->refs[0]);
    return s->targets[i < 0 || (uint32_t)i >= s->n_targets ? s->n_targets - 1 : (uint32_t)i];
}

/* Steps that leave a value behind. */
static inline tn_status *do_step(machine *m, const tn_step *s)
{
    switch ((tn_step_kind)s->kind) {
    case TN_STEP_TILE: run_tile(m, s); break;
    case TN_STEP_ROWS: return run_rows(m, s);
    case TN_STEP_NATIVE: return run_native(m, s);
    case TN_STEP_SCALAR:
        s->scalar(address(m, &s->refs[0]), address(m, &s->refs[1]), address(m, &s->refs[2]));
        break;
    case TN_STEP_WINDOW: run_window(m, s); break;
    case TN_STEP_LOOK: run_look(m, s); break;
    case TN_STEP_EVAL: return evaluate(m, s);
    case TN_STEP_FILL:
        tn_constant_fill(address(m, &s->refs[0]), s->bytes, s->element->data, s->element->size);
        break;
    case TN_STEP_COPY: memcpy(address(m, &s->refs[1]), address(m, &s->refs[0]), s->bytes); break;
    case TN_STEP_JUMP:
    case TN_STEP_UNLESS:
    case TN_STEP_SWITCH:
    case TN_STEP_END: break;
    }
    return NULL;
}

static tn_status *record_step(machine *m, const tn_step *s)
{
    const tn_trace_label *label = m->labels[s - m->e->steps];
    tn_trace_set_current(label);
    uint64_t start = tn_trace_begin();
    tn_status *e = do_step(m, s);
    if (start) tn_trace_end_work(start, label, (uint64_t)tn_step_bytes(s), tn_step_flops(s));
    return e;
}

/* At the end of a loop's body, so that a loop without end can be ended. */
static tn_status *check_cancelled(const machine *m, const tn_step *s)
{
    const tn_run *r = m->run;
    if (!r->is_cancelled || !r->is_cancelled(r->cancel_arg)) return NULL;
    return TN_OP_ERROR(CANCELLED, s->op, "the run was cancelled");
}

/* ---- Parts that run at the same time ---- */

typedef struct {
    const machine *m;
    const tn_together *parts;
    _Atomic(tn_status *) failed; /* one of the errors */
} together;

static void run_parts(void *ctx, int64_t begin, int64_t end)
{
    together *t = ctx;
    tn_scratch scratch = {NULL};
    tn_tensor tensors[TN_TOGETHER_REFS];
    machine own = *t->m;
    own.tensors = tensors;
    own.ctx.scratch = &scratch;
    own.ctx.pool = NULL;
    const tn_step *steps = own.e->steps;
    for (uint32_t i = t->parts->first[begin]; i < t->parts->first[end]; i++) {
        tn_status *s = do_step(&own, &steps[i]), *none = NULL;
        if (!s) continue;
        if (!atomic_compare_exchange_strong(&t->failed, &none, s)) tn_status_free(s);
        break;
    }
    tn_scratch_release(&scratch);
}

static bool runs_together(const machine *m, const tn_step *s)
{
    return s->together && !m->labels && tn_thread_pool_size(m->ctx.pool) > 1;
}

static tn_status *run_together(machine *m, const tn_together *parts)
{
    together t = {m, parts, NULL};
    tn_parallel_for(m->ctx.pool, parts->n, parts->part_ns, run_parts, &t);
    return atomic_load(&t.failed);
}

static tn_status *run_steps(machine *m)
{
    const tn_step *steps = m->e->steps, *s = steps;
    for (;;) {
        if (runs_together(m, s)) {
            TN_TRY(run_together(m, s->together));
            s = steps + s->together->first[s->together->n];
            continue;
        }
        switch ((tn_step_kind)s->kind) {
        case TN_STEP_TILE:
        case TN_STEP_ROWS:
        case TN_STEP_NATIVE:
        case TN_STEP_SCALAR:
        case TN_STEP_WINDOW:
        case TN_STEP_LOOK:
        case TN_STEP_EVAL:
        case TN_STEP_FILL:
        case TN_STEP_COPY: TN_TRY(m->labels ? record_step(m, s) : do_step(m, s)); break;
        case TN_STEP_JUMP:
            if (s->target < (uint32_t)(s - steps)) TN_TRY(check_cancelled(m, s));
            s = steps + s->target;
            continue;
        case TN_STEP_UNLESS:
            if (*(const uint8_t *)address(m, &s->refs[0])) break;
            s = steps + s->target;
            continue;
        case TN_STEP_SWITCH: s = steps + choose(m, s); continue;
        case TN_STEP_END: return NULL;
        }
        s++;
    }
}

static tn_status *run_staged(machine *m)
{
    m->call_runs = calloc(m->e->n_calls, sizeof *m->call_runs);
    if (!m->call_runs) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a run");
    const tn_calls_run calls = {m->e, m->bases, m->tensors, &m->ctx, m->call_runs};
    tn_status *s = tn_prepare_calls(&calls);
    if (!s) s = run_steps(m);
    tn_finish_calls(&calls);
    free(m->call_runs);
    return s;
}

/* Without memory for packed operands there are none. */
static tn_status *run_with_packs(machine *m)
{
    uint32_t n = m->e->n_packs;
    m->packs = n ? calloc(n, sizeof *m->packs) : NULL;
    tn_status *s = m->e->has_staged_calls ? run_staged(m) : run_steps(m);
    for (uint32_t i = 0; m->packs && i < n; i++) free(m->packs[i]);
    free(m->packs);
    return s;
}

static tn_status *run_compiled(const tn_executable *e, const tn_run *run)
{
    /* The cache of scratch is the one thing that a run changes. */
    _Atomic(struct tn_scratch_chunk *) *cache = &((tn_executable *)e)->scratch;
    tn_scratch scratch = {atomic_exchange_explicit(cache, NULL, memory_order_acquire)};
    uintptr_t few_bases[TN_FEW_REFS];
    tn_tensor few_tensors[TN_FEW_REFS];
    bool many_bases = e->n_bases > TN_FEW_REFS, many_refs = e->refs_at_most > TN_FEW_REFS;
    machine m = {.e = e,
                 .run = run,
                 .bases = many_bases ? (void *)((char *)run->temp + e->bases_at) : few_bases,
                 .tensors = many_refs ? (void *)((char *)run->temp + e->tensors_at) : few_tensors,
                 .ctx = {.pool = run->pool,
                         .scratch = &scratch,
                         .replica_id = run->replica_id,
                         .partition_id = run->partition_id,
                         .custom_calls = run->custom_calls,
                         .host_channels = run->host_channels,
                         .meeting = run->meeting}};
    find_bases(e, run, m.bases);
    uint64_t start = tn_trace_begin();
    if (start) m.labels = tn_step_labels((tn_executable *)e);
    tn_status *s = run_with_packs(&m);
    if (start) {
        tn_trace_set_current(NULL);
        TN_TRACE_END(start, TN_TRACE_RUN, e->info.name, NULL, e->info.name, 0);
    }
    tn_scratch_trim(&scratch, SCRATCH_KEPT);
    struct tn_scratch_chunk *none = NULL;
    if (!atomic_compare_exchange_strong_explicit(cache, &none, scratch.chunks, memory_order_release,
                                                 memory_order_relaxed))
        tn_scratch_release(&scratch);
    return s;
}

tn_status *tn_executable_run(const tn_executable *e, const tn_run *run)
{
    if (!e->checks && !e->threads) return run_compiled(e, run);
    int before = tn_thread_limit(e->threads);
    tn_status *s =
        e->checks ? tn_run_checked(e, run, e->checks, run_compiled) : run_compiled(e, run);
    tn_thread_limit(before);
    return s;
}
