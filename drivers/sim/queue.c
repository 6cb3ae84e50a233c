/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim.h"

tn_status *sim_lost(const tn_driver_device *d)
{
    return TN_KIT_FAIL(d->kit, UNAVAILABLE, "device %u is lost", d->ordinal);
}

static tn_status *check_span(const tn_driver_device *d, const char *what, tn_span s)
{
    if (s.size == 0 || (s.mem && s.offset <= s.mem->size && s.size <= s.mem->size - s.offset))
        return NULL;
    return TN_KIT_FAIL(d->kit, INTERNAL, "%s: span [%llu, + %llu) is outside of its block", what,
                       (unsigned long long)s.offset, (unsigned long long)s.size);
}

static void use(tn_span s, int change)
{
    if (s.size > 0) s.mem->uses += (uint32_t)change;
}

/* The caller holds the lock. */
static void use_all(sim_op *op, int change)
{
    use(op->dst, change);
    use(op->src, change);
    if (op->kind != SIM_LAUNCH) return;
    for (uint32_t i = 0; i < op->launch.n_args + op->launch.n_results; i++)
        use(op->spans[i], change);
    use(op->launch.temp, change);
    op->code->uses += (uint32_t)change;
}

static tn_status *check(tn_driver_device *d, const sim_op *op)
{
    TN_TRY(check_span(d, "copy target", op->dst));
    TN_TRY(check_span(d, "copy source", op->src));
    if (op->kind == SIM_COPY && op->dst.size != op->src.size)
        return TN_KIT_FAIL(d->kit, INTERNAL, "copy between spans of different sizes");
    if (op->kind != SIM_LAUNCH) return NULL;
    for (uint32_t i = 0; i < op->launch.n_args + op->launch.n_results; i++)
        TN_TRY(check_span(d, i < op->launch.n_args ? "argument" : "result", op->spans[i]));
    return check_span(d, "temporary memory", op->launch.temp);
}

tn_status *sim_append(tn_driver_device *d, sim_op *op)
{
    tn_status *s = check(d, op);
    pthread_mutex_lock(&d->lock);
    if (!s && d->lost && op->kind != SIM_FENCE) s = sim_lost(d);
    if (!s && op->kind == SIM_LAUNCH && sim_strikes(&d->faults.refuse_launch))
        s = TN_KIT_FAIL(d->kit, INTERNAL, "injected refusal of a launch");
    if (!s) {
        use_all(op, +1);
        op->next = NULL;
        *d->last = op;
        d->last = &op->next;
        pthread_cond_signal(&d->work);
    }
    pthread_mutex_unlock(&d->lock);
    if (s) free(op);
    return s;
}

static char *bytes(tn_span s)
{
    return s.size > 0 ? s.mem->bytes + s.offset : NULL;
}

static tn_status *run_launch(tn_driver_device *d, const sim_op *op)
{
    const tn_launch *l = &op->launch;
    size_t n = (size_t)l->n_args + l->n_results;
    void **addresses = malloc((n + 1) * sizeof *addresses);
    if (!addresses) return TN_KIT_FAIL(d->kit, RESOURCE_EXHAUSTED, "no memory for a launch");
    for (size_t i = 0; i < n; i++) addresses[i] = bytes(op->spans[i]);
    tn_host_run run = {
        .args = addresses,
        .results = addresses + l->n_args,
        .temp = bytes(l->temp),
        .replica_id = l->replica_id,
        .partition_id = l->partition_id,
        .context = l->context,
    };
    tn_status *s = d->kit->run(d->kit, op->code->program, &run);
    free(addresses);
    return s;
}

static tn_status *run_copy(const sim_op *op)
{
    const void *from = op->kind == SIM_COPY_IN ? op->host_src : bytes(op->src);
    void *to = op->kind == SIM_COPY_OUT ? op->host_dst : bytes(op->dst);
    uint64_t size = op->kind == SIM_COPY_OUT ? op->src.size : op->dst.size;
    if (size > 0) memcpy(to, from, size);
    return NULL;
}

/* What happens to the operation instead of itself, or NULL. The caller holds the lock. */
static tn_status *fault(tn_driver_device *d, const sim_op *op)
{
    if (op->kind == SIM_FENCE) return NULL;
    if (sim_strikes(&d->faults.lose_device)) d->lost = true;
    if (d->lost) return sim_lost(d);
    bool launch = op->kind == SIM_LAUNCH;
    if (!sim_strikes(launch ? &d->faults.fail_launch : &d->faults.fail_copy)) return NULL;
    return TN_KIT_FAIL(d->kit, INTERNAL, "injected failure of a %s", launch ? "launch" : "copy");
}

static void rest(tn_driver_device *d, const sim_op *op)
{
    if (op->kind == SIM_FENCE) return;
    int64_t ns = op->kind == SIM_LAUNCH ? d->launch_ns : d->copy_ns;
    if (d->jitter_ns > 0) {
        d->random = d->random * 6364136223846793005u + 1442695040888963407u;
        ns += (int64_t)((d->random >> 33) % (uint64_t)d->jitter_ns);
    }
    if (ns <= 0) return;
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    nanosleep(&t, NULL);
}

/* Takes the next operation, or NULL at the end. The caller holds the lock. */
static sim_op *next_op(tn_driver_device *d)
{
    while (!d->first && !d->stop) pthread_cond_wait(&d->work, &d->lock);
    sim_op *op = d->first;
    if (!op) return NULL;
    d->first = op->next;
    if (!d->first) d->last = &d->first;
    return op;
}

void *sim_thread(void *device)
{
    tn_driver_device *d = device;
    pthread_mutex_lock(&d->lock);
    for (sim_op *op; (op = next_op(d));) {
        tn_status *s = fault(d, op);
        pthread_mutex_unlock(&d->lock);
        rest(d, op);
        if (!s && op->kind == SIM_LAUNCH) s = run_launch(d, op);
        if (!s && op->kind < SIM_LAUNCH) s = run_copy(op);

        pthread_mutex_lock(&d->lock);
        if (d->error) d->kit->free_error(s);
        else d->error = s;
        if (op->kind == SIM_FENCE) {
            op->fence->status = d->error;
            op->fence->done = true;
            d->error = NULL;
        }
        use_all(op, -1);
        free(op);
        pthread_cond_broadcast(&d->done);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}
