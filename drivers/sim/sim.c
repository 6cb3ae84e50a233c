/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t HOUR = 3600000000000, MANY = INT64_MAX;
#define FAULT "Number, from 1 and on each device, of the "
static const tn_driver_option options[] = {
    {"sim_device_count", false, 1, 4096, "Number of devices (default: cpu_device_count)."},
    {"cpu_device_count", false, 1, 4096, "The same, for users who know one number only."},
    {"cpu_device_count", false, 1, 4096, "The same, where frameworks only know how to ask this."},
    {"sim_memory_bytes", false, 1, MANY, "Memory of a device (default 16 GiB)."},
    {"sim_copy_ns", false, 0, HOUR, "Time that a copy takes at least (default 0)."},
    {"sim_launch_ns", false, 0, HOUR, "Time that a launch takes at least (default 0)."},
    {"sim_jitter_ns", false, 0, HOUR, "Random time on top, below this (default 0)."},
    {"sim_fault_device", false, -1, 4095, "Device that the faults hit (default -1: each)."},
    {"sim_fail_alloc", false, 0, MANY, FAULT "allocation that fails (default 0: none)."},
    {"sim_fail_copy", false, 0, MANY, FAULT "copy that fails while it runs (default 0: none)."},
    {"sim_fail_launch", false, 0, MANY, FAULT "launch that fails while it runs (default 0: none)."},
    {"sim_refuse_launch", false, 0, MANY, FAULT "launch that is refused (default 0: none)."},
    {"sim_lose_device", false, 0, MANY, FAULT "copy or launch that loses the device (0: none)."},
    {NULL},
};

static tn_status *count(const tn_kit *kit, uint32_t *out)
{
    *out = (uint32_t)kit->option(kit, "sim_device_count", kit->option(kit, "cpu_device_count", 1));
    return NULL;
}

static sim_faults read_faults(const tn_kit *kit, uint32_t ordinal)
{
    int64_t which = kit->option(kit, "sim_fault_device", -1);
    if (which >= 0 && which != ordinal) return (sim_faults){0};
    return (sim_faults){
        .fail_alloc = kit->option(kit, "sim_fail_alloc", 0),
        .fail_copy = kit->option(kit, "sim_fail_copy", 0),
        .fail_launch = kit->option(kit, "sim_fail_launch", 0),
        .refuse_launch = kit->option(kit, "sim_refuse_launch", 0),
        .lose_device = kit->option(kit, "sim_lose_device", 0),
    };
}

static tn_status *open_device(const tn_kit *kit, uint32_t ordinal, tn_driver_device **out)
{
    tn_driver_device *d = calloc(1, sizeof *d);
    if (!d) return TN_KIT_FAIL(kit, RESOURCE_EXHAUSTED, "no memory for device %u", ordinal);
    d->kit = kit;
    d->ordinal = ordinal;
    d->memory_bytes = (uint64_t)kit->option(kit, "sim_memory_bytes", (int64_t)16 << 30);
    d->copy_ns = kit->option(kit, "sim_copy_ns", 0);
    d->launch_ns = kit->option(kit, "sim_launch_ns", 0);
    d->jitter_ns = kit->option(kit, "sim_jitter_ns", 0);
    d->random = ordinal;
    d->faults = read_faults(kit, ordinal);
    d->last = &d->first;
    pthread_mutex_init(&d->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&d->work, &monotonic);
    pthread_cond_init(&d->done, &monotonic);
    pthread_condattr_destroy(&monotonic);

    int failed = pthread_create(&d->thread, NULL, sim_thread, d);
    if (failed) {
        free(d);
        return TN_KIT_FAIL(kit, RESOURCE_EXHAUSTED, "no thread for device %u: %s", ordinal,
                           strerror(failed));
    }
    *out = d;
    return NULL;
}

static void close_device(tn_driver_device *d)
{
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    pthread_cond_signal(&d->work);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
    if (d->used_bytes > 0)
        d->kit->log(d->kit, TN_KIT_ERROR, "device %u: closed with %llu bytes in use", d->ordinal,
                    (unsigned long long)d->used_bytes);
    d->kit->free_error(d->error);
    pthread_cond_destroy(&d->work);
    pthread_cond_destroy(&d->done);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static void info(const tn_driver_device *d, tn_device_info *out)
{
    out->code_formats = 1 << TN_CODE_HOST;
    out->kind = "sim";
    out->memory_bytes = d->memory_bytes;
}

static tn_status *append(tn_driver_device *d, sim_op op)
{
    sim_op *copy = malloc(sizeof *copy);
    if (!copy) return TN_KIT_FAIL(d->kit, RESOURCE_EXHAUSTED, "no memory for an operation");
    *copy = op;
    return sim_append(d, copy);
}

static tn_status *copy_in(tn_driver_device *d, tn_span dst, const void *src)
{
    return append(d, (sim_op){.kind = SIM_COPY_IN, .dst = dst, .host_src = src});
}

static tn_status *copy_out(tn_driver_device *d, void *dst, tn_span src)
{
    return append(d, (sim_op){.kind = SIM_COPY_OUT, .host_dst = dst, .src = src});
}

static tn_status *copy(tn_driver_device *d, tn_span dst, tn_span src)
{
    return append(d, (sim_op){.kind = SIM_COPY, .dst = dst, .src = src});
}

static tn_status *load(tn_driver_device *d, const tn_device_code *code, tn_code_object **out)
{
    if (code->format != TN_CODE_HOST)
        return TN_KIT_FAIL(d->kit, UNIMPLEMENTED, "code format %d", (int)code->format);
    tn_code_object *c = calloc(1, sizeof *c);
    if (!c) return TN_KIT_FAIL(d->kit, RESOURCE_EXHAUSTED, "no memory for a program");
    c->program = code->program;
    *out = c;
    return NULL;
}

static void unload(tn_driver_device *d, tn_code_object *c)
{
    pthread_mutex_lock(&d->lock);
    if (c->uses > 0)
        d->kit->log(d->kit, TN_KIT_ERROR, "device %u: a program is unloaded that %u launches use",
                    d->ordinal, c->uses);
    while (c->uses > 0) pthread_cond_wait(&d->done, &d->lock);
    pthread_mutex_unlock(&d->lock);
    free(c);
}

static tn_status *launch(tn_driver_device *d, tn_code_object *c, const tn_launch *l)
{
    size_t n = (size_t)l->n_args + l->n_results;
    sim_op *op = calloc(1, sizeof *op + n * sizeof op->spans[0]);
    if (!op) return TN_KIT_FAIL(d->kit, RESOURCE_EXHAUSTED, "no memory for a launch");
    op->kind = SIM_LAUNCH;
    op->code = c;
    op->launch = *l;
    op->launch.args = op->launch.results = NULL;
    for (uint32_t i = 0; i < l->n_args; i++) op->spans[i] = l->args[i];
    for (uint32_t i = 0; i < l->n_results; i++) op->spans[l->n_args + i] = l->results[i];
    return sim_append(d, op);
}

static tn_status *record(tn_driver_device *d, tn_fence **out)
{
    tn_fence *f = calloc(1, sizeof *f);
    sim_op *op = f ? calloc(1, sizeof *op) : NULL;
    if (!op) {
        free(f);
        return TN_KIT_FAIL(d->kit, RESOURCE_EXHAUSTED, "no memory for a fence");
    }
    op->kind = SIM_FENCE;
    op->fence = *out = f;
    return sim_append(d, op);
}

static struct timespec deadline(uint64_t timeout_ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (timeout_ns > (uint64_t)HOUR * 1000) timeout_ns = (uint64_t)HOUR * 1000;
    uint64_t ns = (uint64_t)t.tv_nsec + timeout_ns;
    t.tv_sec += (time_t)(ns / 1000000000);
    t.tv_nsec = (long)(ns % 1000000000);
    return t;
}

/* References to a status are the kit's business; a driver hands out a fresh one each time. */
static tn_status *again(const tn_driver_device *d, const tn_status *s)
{
    return s ? d->kit->copy_error(s) : NULL;
}

static tn_status *wait_fence(tn_driver_device *d, tn_fence *f, uint64_t timeout_ns, bool *done)
{
    struct timespec end = deadline(timeout_ns);
    pthread_mutex_lock(&d->lock);
    int late = 0;
    while (!f->done && late != ETIMEDOUT) late = pthread_cond_timedwait(&d->done, &d->lock, &end);
    *done = f->done;
    tn_status *s = f->done ? again(d, f->status) : NULL;
    pthread_mutex_unlock(&d->lock);
    return s;
}

static void drop(tn_driver_device *d, tn_fence *f)
{
    d->kit->free_error(f->status);
    free(f);
}

static tn_status *address(tn_driver_device *d, tn_mem *m, void **out)
{
    *out = m->address;
    return NULL;
}

/* The table is found by its name, tn_driver_<name>. */
extern const tn_driver tn_driver_sim;
const tn_driver tn_driver_sim = {
    .abi = TN_DRIVER_ABI,
    .size = sizeof(tn_driver),
    .name = "sim",
    .options = options,
    .count = count,
    .open = open_device,
    .close = close_device,
    .info = info,
    .alloc = sim_alloc,
    .free = sim_free,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy = copy,
    .load = load,
    .unload = unload,
    .launch = launch,
    .record = record,
    .wait = wait_fence,
    .drop = drop,
    .address = address,
};
