/* SPDX-License-Identifier: Apache-2.0 */
/* execute.c - from a call to runs that have all they need.
 *
 * In three steps, so that a call that fails has changed nothing: check, prepare (contents of the
 * arguments, memory, events, result buffers), start. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/execute_internal.h"

/* One call. */
typedef struct {
    tn_loaded_executable *loaded;
    const tn_execute_options *options;
    tn_buffer *const *const *args;
    size_t n_devices, n_args;
    tn_buffer **const *outs;
    tn_event **done;
    const bool *keep; /* [n_args] parameters not to be taken; NULL: none */
    tn_custom_calls *custom_calls;
    tn_meeting *meeting;        /* of all devices; NULL: they don't need one */
    tn_launch_record **records; /* [n_devices] */
    tn_launch_gang *gang;       /* NULL: one device */
    tn_event **awaited;         /* [n_devices], if the call returns when all is done; else NULL */
} call;

/* ---- Checks ---- */

static tn_device *device_of(const call *c, size_t d)
{
    return c->options->device ? c->options->device : c->loaded->devices[d];
}

static tn_status *check_devices(const call *c)
{
    const tn_loaded_executable *l = c->loaded;
    TN_TRY(tn_client_check(l->client));
    if (tn_loaded_executable_is_deleted(l))
        return TN_ERROR(FAILED_PRECONDITION, "executable %s has been deleted",
                        l->program.info->name);
    if (c->options->device) {
        if (c->n_devices != 1)
            return TN_ERROR(INVALID_ARGUMENT,
                            "execution on a device of the caller's choice with %zu argument lists, "
                            "expected 1",
                            c->n_devices);
        if (c->options->device->client != l->client)
            return TN_ERROR(INVALID_ARGUMENT, "execution on a device of another client");
        return NULL;
    }
    if (l->portable)
        return TN_ERROR(INVALID_ARGUMENT,
                        "executable %s has no devices: name one for the execution",
                        l->program.info->name);
    if (c->n_devices != l->n_devices)
        return TN_ERROR(INVALID_ARGUMENT, "%zu argument lists for an executable on %zu devices",
                        c->n_devices, l->n_devices);
    return NULL;
}

/* NULL: row-major. */
static const tn_layout *layout_of(const tn_executable_value *v, tn_layout *room)
{
    *room = (tn_layout){.rank = v->type->rank, .values = v->order};
    return v->order ? room : NULL;
}

static bool has_order(const tn_buffer *b, const int64_t *order)
{
    const int64_t *got = tn_buffer_minor_to_major(b);
    for (uint32_t i = 0; i < b->type.rank; i++)
        if (got[i] != (order ? order[i] : (int64_t)b->type.rank - 1 - i)) return false;
    return true;
}

static tn_status *check_arg(const call *c, size_t d, uint32_t i)
{
    const tn_executable_info *info = c->loaded->program.info;
    const tn_buffer *b = c->args[d][i];
    if (!b) return TN_ERROR(INVALID_ARGUMENT, "argument %" PRIu32 " of %s is NULL", i, info->name);
    const tn_device *expected = device_of(c, d), *got = b->memory->device;
    if (expected != got)
        return TN_ERROR(INVALID_ARGUMENT,
                        "argument %" PRIu32 " of %s is on device %s, but the execution is on %s", i,
                        info->name, got->description->to_string, expected->description->to_string);
    if (!tn_executable_takes(info->params[i].type, &b->type)) {
        char x[256], y[256];
        return TN_ERROR(INVALID_ARGUMENT, "argument %" PRIu32 " of %s: expected %s, got %s", i,
                        info->name, tn_type_format(info->params[i].type, x, sizeof x),
                        tn_type_format(&b->type, y, sizeof y));
    }
    if (!has_order(b, info->params[i].order) && b->bytes > 0) {
        return TN_ERROR(INVALID_ARGUMENT,
                        "argument %" PRIu32 " of %s has another layout than the program was "
                        "compiled for",
                        i, info->name);
    }
    return NULL;
}

static bool is_donated(const call *c, uint32_t i)
{
    const tn_executable_value *p = &c->loaded->program.info->params[i];
    return (p->donated || p->alias >= 0) && !(c->keep && c->keep[i]);
}

/* ---- One buffer in two places, one of them donated ---- */

/* Where each buffer was seen first: a hash table with open addressing. */
typedef struct {
    const tn_buffer *buffer;
    uint32_t index;
} seen;

static tn_status *same_buffer(uint32_t first, bool first_donated, uint32_t second,
                              bool second_donated)
{
    if (first_donated && second_donated)
        return TN_ERROR(INVALID_ARGUMENT,
                        "the same buffer is donated twice in one execution, as arguments %" PRIu32
                        " and %" PRIu32 ": f(donate(a), donate(a))",
                        first, second);
    return TN_ERROR(INVALID_ARGUMENT,
                    "a buffer is both donated and used in one execution, as arguments %" PRIu32
                    " and %" PRIu32 ": %s",
                    first, second, first_donated ? "f(donate(a), a)" : "f(a, donate(a))");
}

static tn_status *find_same(const call *c, tn_buffer *const *args, seen *table, size_t size)
{
    for (uint32_t i = 0; i < c->n_args; i++) {
        size_t at = ((uintptr_t)args[i] >> 4) * 0x9e3779b97f4a7c15u >> 32 & (size - 1);
        while (table[at].buffer && table[at].buffer != args[i]) at = (at + 1) & (size - 1);
        bool donated = is_donated(c, i);
        if (table[at].buffer) {
            uint32_t first = table[at].index;
            if (donated || is_donated(c, first))
                return same_buffer(first, is_donated(c, first), i, donated);
        }
        table[at] = (seen){args[i], i};
    }
    return NULL;
}

static tn_status *check_donations(const call *c)
{
    enum { FEW = 64 };
    seen few[FEW], *table = few;
    size_t size = FEW;
    while (size < 2 * c->n_args) size *= 2;
    if (size > FEW) table = malloc(size * sizeof *table);
    if (!table) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory to check donations");
    tn_status *s = NULL;
    for (size_t d = 0; d < c->n_devices && !s; d++) {
        memset(table, 0, size * sizeof *table);
        s = find_same(c, c->args[d], table, size);
    }
    if (table != few) free(table);
    return s;
}

static tn_status *check(const call *c)
{
    TN_TRY(check_devices(c));
    const tn_executable_info *info = c->loaded->program.info;
    if (c->n_args != info->n_params)
        return TN_ERROR(INVALID_ARGUMENT, "%zu arguments for %s, which has %" PRIu32 " parameters",
                        c->n_args, info->name, info->n_params);
    for (size_t d = 0; d < c->n_devices; d++)
        for (uint32_t i = 0; i < info->n_params; i++) TN_TRY(check_arg(c, d, i));
    return c->loaded->donates ? check_donations(c) : NULL;
}

/* ---- Preparing ---- */

static tn_launch_record *new_record(const call *c, size_t d)
{
    const tn_executable_info *info = c->loaded->program.info;
    size_t n = info->n_params, m = info->n_results;
    size_t size = sizeof(tn_launch_record) + n * sizeof(tn_launch_arg) +
                  m * sizeof(tn_launch_result) + (n + m) * sizeof(tn_span);
    tn_launch_record *spare =
        atomic_exchange_explicit(&c->loaded->spare, NULL, memory_order_acquire);
    tn_launch_record *r = spare ? spare : malloc(size);
    if (!r) return NULL;
    memset(r, 0, size);
    r->args = (tn_launch_arg *)(r + 1);
    r->results = (tn_launch_result *)(r->args + n);
    r->spans = (tn_span *)(r->results + m);
    r->loaded = tn_loaded_executable_retain(c->loaded);
    r->device = device_of(c, d);
    r->launch_id = c->options->launch_id;
    r->alone = c->n_devices == 1;
    r->beside = tn_launch_is_beside(r);
    r->part = (uint32_t)d;
    bool chosen = c->options->device != NULL;
    r->replica = chosen ? 0 : (uint32_t)c->loaded->ids[d].replica;
    r->partition = chosen ? 0 : (uint32_t)c->loaded->ids[d].partition;
    return r;
}

/* Gets hold of a content, and deletes the buffer if it is donated and may be. */
static tn_status *hold_arg(const call *c, tn_launch_record *r, uint32_t i, tn_buffer *b)
{
    tn_launch_arg *a = &r->args[i];
    a->becomes = c->loaded->program.info->params[i].alias;
    a->bytes = b->bytes;
    bool donated = is_donated(c, i);
    tn_status *s = NULL;
    pthread_mutex_lock(&b->lock);
    if (b->deleted) {
        s = tn_buffer_deleted_error();
    } else if (donated && b->external == 0) {
        tn_content content = tn_buffer_take(b);
        b->leaving = true;
        a->storage = content.storage;
        a->ready = content.ready;
        a->taken = true;
    } else {
        a->storage = b->storage ? tn_storage_retain(b->storage) : NULL;
        a->reading = a->storage != NULL;
        if (a->reading) atomic_fetch_add_explicit(&a->storage->reads, 1, memory_order_relaxed);
        if (!tn_event_is_ready(b->ready) || tn_event_peek(b->ready))
            a->ready = tn_event_retain(b->ready);
    }
    pthread_mutex_unlock(&b->lock);
    return s;
}

/* Undoes hold_arg for a donated buffer, unless its owner has deleted it since. */
static void give_back(tn_launch_record *r, uint32_t i, tn_buffer *b)
{
    tn_launch_arg *a = &r->args[i];
    if (!a->taken) return;
    pthread_mutex_lock(&b->lock);
    if (b->leaving) {
        b->storage = a->storage;
        b->ready = a->ready;
        b->deleted = b->leaving = false;
        a->storage = NULL;
        a->ready = NULL;
        a->taken = false;
    }
    pthread_mutex_unlock(&b->lock);
}

/* Gives a result the memory of its argument, if that can be written. */
static bool take_over(tn_launch_record *r, uint32_t i, tn_memory *m, tn_storage **out)
{
    if (r->beside && !r->alone) return false; /* no place in all queues at once */
    for (uint32_t k = 0; k < r->n_args; k++) {
        tn_launch_arg *a = &r->args[k];
        if (a->becomes != (int32_t)i) continue;
        if (!a->taken || !a->storage || a->storage->memory != m || !m->on_device ||
            !tn_storage_is_writable(a->storage))
            return false;
        *out = tn_storage_retain(a->storage);
        a->moved = r->writes = true;
        return true;
    }
    return false;
}

/* Undoes take_over. */
static void take_back(tn_launch_record *r)
{
    for (uint32_t k = 0; k < r->n_args; k++) {
        tn_launch_arg *a = &r->args[k];
        if (a->moved) atomic_fetch_add_explicit(&a->storage->shares, 1, memory_order_relaxed);
        a->moved = false;
    }
}

static tn_status *make_result(const call *c, tn_launch_record *r, uint32_t i, tn_buffer **out)
{
    const tn_loaded_result *result = &c->loaded->results[i];
    tn_memory *m = &r->device->memories[result->kind];
    tn_memory *device_memory = &r->device->memories[TN_MEMORY_DEVICE];
    tn_launch_result *place = &r->results[i];
    bool aliased = c->loaded->program.info->results[i].alias >= 0;
    tn_layout layout;
    if (!aliased || !take_over(r, i, m, &place->storage))
        TN_TRY(tn_storage_create(m, result->bytes, &place->storage));
    if (!m->on_device) TN_TRY(tn_storage_create(device_memory, result->bytes, &place->stage));
    return tn_buffer_create(m, c->loaded->program.info->results[i].type,
                            layout_of(&c->loaded->program.info->results[i], &layout),
                            tn_storage_retain(place->storage), tn_event_retain(r->done), out);
}

/* Arguments in memory that the device can't use get a copy in memory that it can. */
static tn_status *make_stage(tn_launch_record *r, uint32_t i, const tn_buffer *b)
{
    tn_launch_arg *a = &r->args[i];
    if (b->memory->on_device || a->becomes >= 0) return NULL;
    return tn_storage_create(&r->device->memories[TN_MEMORY_DEVICE], a->bytes, &a->stage);
}

static tn_status *prepare_record(const call *c, size_t d, tn_launch_record *r)
{
    const tn_executable_info *info = c->loaded->program.info;
    TN_TRY(tn_loaded_executable_code(c->loaded, r->device, &r->code));
    TN_TRY(tn_queue_start(r->device->launches));
    TN_TRY(tn_event_create_on(r->device->stream, &r->done));
    for (uint32_t i = 0; i < info->n_params; i++) {
        r->n_args = i + 1;
        TN_ANNOTATE(hold_arg(c, r, i, c->args[d][i]), "argument %" PRIu32 " of %s", i, info->name);
        TN_TRY(make_stage(r, i, c->args[d][i]));
    }
    for (uint32_t i = 0; i < info->n_results; i++) {
        r->n_results = i + 1;
        TN_ANNOTATE(make_result(c, r, i, &c->outs[d][i]), "result %" PRIu32 " of %s", i,
                    info->name);
    }
    if (info->temp_bytes == 0) return NULL;
    return tn_storage_create(&r->device->memories[TN_MEMORY_DEVICE], info->temp_bytes, &r->temp);
}

static tn_status *prepare(call *c)
{
    if (c->n_devices > 1) {
        c->gang = malloc(sizeof *c->gang + c->n_devices * sizeof c->gang->parts[0]);
        if (!c->gang) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for an execution");
    }
    for (size_t d = 0; d < c->n_devices; d++) {
        for (uint32_t i = 0; i < c->loaded->program.info->n_results; i++) c->outs[d][i] = NULL;
        tn_launch_record *r = c->records[d] = new_record(c, d);
        if (!r) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for an execution");
        if (c->meeting) r->meeting = tn_collective_retain(c->meeting);
        TN_TRY(prepare_record(c, d, r));
        if (c->custom_calls) {
            tn_ref_retain(&c->custom_calls->ref);
            r->custom_calls = c->custom_calls;
        }
    }
    return NULL;
}

static void undo(call *c)
{
    free(c->gang);
    for (size_t d = 0; d < c->n_devices; d++) {
        tn_launch_record *r = c->records[d];
        if (!r) break;
        take_back(r);
        for (uint32_t i = 0; i < r->n_results; i++) {
            tn_buffer_release(c->outs[d][i]);
            c->outs[d][i] = NULL;
        }
        for (uint32_t i = 0; i < r->n_args; i++) give_back(r, i, c->args[d][i]);
        tn_launch_free(r);
    }
}

/* ---- Starting ---- */

/* Nothing can fail any more. */
static void start(call *c)
{
    for (size_t d = 0; d < c->n_devices; d++) {
        if (c->done) c->done[d] = tn_event_retain(c->records[d]->done);
        if (c->awaited) c->awaited[d] = tn_event_retain(c->records[d]->done);
    }
    tn_launch_start(c->records, (uint32_t)c->n_devices, c->gang);
    for (size_t d = 0; c->awaited && d < c->n_devices; d++) {
        tn_status_free(tn_event_await(c->awaited[d])); /* it is in the event */
        tn_event_release(c->awaited[d]);
    }
}

static tn_status *mark_kept(const tn_execute_options *o, size_t n_args, bool **out)
{
    *out = NULL;
    if (o->n_non_donatable == 0 || n_args == 0) return NULL;
    *out = calloc(n_args, sizeof **out);
    if (!*out) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for an execution");
    for (size_t i = 0; i < o->n_non_donatable; i++)
        if (o->non_donatable[i] >= 0 && (uint64_t)o->non_donatable[i] < n_args)
            (*out)[o->non_donatable[i]] = true;
    return NULL;
}

static void release_custom_calls(const tn_execute_options *o)
{
    if (o->custom_calls && o->release_custom_calls) o->release_custom_calls(o->custom_calls);
    if (o->host_channels && o->release_host_channels) o->release_host_channels(o->host_channels);
}

/* Takes over the custom calls of the options. Most programs have no use for them. */
static tn_status *wrap_custom_calls(const tn_executable_info *info, const tn_execute_options *o,
                                    tn_custom_calls **out)
{
    *out = NULL;
    bool calls = o->custom_calls && (info->calls_out || info->is_dynamic);
    tn_custom_calls *c = calls || o->host_channels ? malloc(sizeof *c) : NULL;
    if (!c) {
        release_custom_calls(o);
        if (!calls && !o->host_channels) return NULL;
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for an execution");
    }
    tn_ref_init(&c->ref);
    c->context = o->custom_calls;
    c->release = o->custom_calls ? o->release_custom_calls : NULL;
    c->channels = o->host_channels;
    c->release_channels = o->host_channels ? o->release_host_channels : NULL;
    *out = c;
    return NULL;
}

static tn_status *make_meeting(call *c)
{
    const tn_executable_info *info = c->loaded->program.info;
    if (!info->meets || c->n_devices < 2) return NULL;
    bool mapped = true;
    for (size_t d = 0; d < c->n_devices; d++) mapped = mapped && device_of(c, d)->mapped;
    return tn_collective_create((uint32_t)c->n_devices, info->num_partitions, mapped,
                                c->loaded->client->collective_timeout_ns, &c->meeting);
}

/* A program of unknown sizes is run as the one that it is for the sizes of these arguments. */
static tn_status *settle_sizes(call *c, tn_loaded_executable **sized)
{
    if (!c->loaded->program.info->is_dynamic) return NULL;
    tn_sized_run run = {
        .args = c->args,
        .n_devices = c->n_devices,
        .n_args = c->n_args,
        .custom_calls = c->custom_calls ? c->custom_calls->context : NULL,
    };
    TN_TRY(tn_sized_executable(c->loaded, &run, sized));
    c->loaded = *sized;
    return NULL;
}

static tn_status *execute(call *c, tn_loaded_executable **sized)
{
    enum { FEW = 16 };
    tn_launch_record *few[FEW] = {0};
    bool *keep;
    TN_TRY(mark_kept(c->options, c->n_args, &keep));
    c->keep = keep;
    tn_status *s = check(c);
    if (!s) s = settle_sizes(c, sized);
    if (!s) s = make_meeting(c);
    c->records = c->n_devices <= FEW ? few : calloc(c->n_devices, sizeof(tn_launch_record *));
    if (!s && !c->records) s = TN_ERROR(RESOURCE_EXHAUSTED, "no memory for an execution");
    if (!s && !c->loaded->client->asynchronous) {
        c->awaited = calloc(c->n_devices + 1, sizeof(tn_event *));
        if (!c->awaited) s = TN_ERROR(RESOURCE_EXHAUSTED, "no memory for an execution");
    }
    if (!s) {
        s = prepare(c);
        if (s) undo(c);
        else start(c);
    }
    if (c->records != few) free(c->records);
    free(c->awaited);
    tn_collective_release(c->meeting);
    free(keep);
    return s;
}

/* ---- Threads that wait for what they start ---- */

static _Thread_local struct {
    bool waits;    /* since the last run was started */
    unsigned runs; /* runs in a row that were waited for, up to TN_AWAITED_RUNS */
} habit;

void tn_execute_note_wait(void)
{
    habit.waits = true;
}

bool tn_execute_is_awaited(void)
{
    return habit.runs == TN_AWAITED_RUNS;
}

static void note_run(void)
{
    if (!habit.waits) habit.runs = 0;
    else if (habit.runs < TN_AWAITED_RUNS) habit.runs++;
    habit.waits = false;
}

tn_status *tn_execute(tn_loaded_executable *l, const tn_execute_options *options,
                      tn_buffer *const *const *args, size_t n_devices, size_t n_args,
                      tn_buffer **const *outs, tn_event **done)
{
    call c = {
        .loaded = l,
        .options = options,
        .args = args,
        .n_devices = n_devices,
        .n_args = n_args,
        .outs = outs,
        .done = done,
    };
    tn_loaded_executable *sized = NULL;
    TN_TRY(wrap_custom_calls(l->program.info, options, &c.custom_calls));
    note_run();
    tn_status *s = execute(&c, &sized);
    tn_loaded_executable_release(sized);
    tn_custom_calls_release(c.custom_calls);
    return s;
}
