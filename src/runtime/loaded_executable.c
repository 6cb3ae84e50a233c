/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/execute_internal.h"

/* ---- Loading ---- */

static tn_status *no_memory(void)
{
    return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a loaded executable");
}

static tn_status *find_kind(const char *name, int *out)
{
    for (int k = 0; k < TN_MEMORY_KINDS; k++) {
        if (name && strcmp(name, tn_memory_kind_names[k]) != 0) continue;
        *out = k;
        return NULL;
    }
    return TN_ERROR(INVALID_ARGUMENT, "there is no memory of kind \"%s\"", name);
}

/* Checks that a parameter and the result that takes its memory say the same of each other. */
static tn_status *check_alias(const tn_loaded_executable *l, uint32_t i)
{
    const tn_executable_info *info = l->program.info;
    int32_t alias = info->params[i].alias;
    if (alias < 0) return NULL;
    size_t bytes;
    TN_TRY(tn_buffer_check_type(info->params[i].type, &bytes));
    if ((uint32_t)alias < info->n_results && info->results[alias].alias == (int32_t)i &&
        l->results[alias].bytes == bytes)
        return NULL;
    return TN_ERROR(INTERNAL,
                    "parameter %" PRIu32 " aliases result %" PRId32 " of %" PRIu32
                    ", which has another size or alias",
                    i, alias, info->n_results);
}

static tn_status *describe_results(tn_loaded_executable *l)
{
    const tn_executable_info *info = l->program.info;
    l->results = calloc(info->n_results + 1, sizeof *l->results);
    if (!l->results) return no_memory();
    for (uint32_t i = 0; i < info->n_results; i++) {
        const tn_executable_value *v = &info->results[i];
        TN_ANNOTATE(tn_buffer_check_type(v->type, &l->results[i].bytes), "result %" PRIu32, i);
        TN_ANNOTATE(find_kind(v->memory_kind, &l->results[i].kind), "result %" PRIu32, i);
    }
    for (uint32_t i = 0; i < info->n_params; i++) {
        int ignored;
        TN_ANNOTATE(find_kind(info->params[i].memory_kind, &ignored), "parameter %" PRIu32, i);
        TN_TRY(check_alias(l, i));
        l->donates = l->donates || info->params[i].donated || info->params[i].alias >= 0;
    }
    return NULL;
}

static tn_status *check_assignment(const tn_client *c, const int *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tn_device *d;
        TN_ANNOTATE(tn_client_lookup_device(c, ids[i], &d), "place %zu of the device assignment",
                    i);
        for (size_t k = 0; k < i; k++)
            if (ids[k] == ids[i])
                return TN_ERROR(INVALID_ARGUMENT,
                                "device %d is in the device assignment twice, at %zu and %zu",
                                ids[i], k, i);
    }
    return NULL;
}

static tn_status *assign(tn_loaded_executable *l, const int *device_ids, size_t n_ids)
{
    const tn_executable_info *info = l->program.info;
    size_t n = (size_t)info->num_replicas * info->num_partitions;
    if (n == 0 || info->num_replicas > INT32_MAX || info->num_partitions > INT32_MAX)
        return TN_ERROR(INVALID_ARGUMENT, "program of %" PRIu32 " replicas, %" PRIu32 " partitions",
                        info->num_replicas, info->num_partitions);
    if (device_ids && n_ids != n)
        return TN_ERROR(INVALID_ARGUMENT,
                        "device assignment of %zu devices for a program of %" PRIu32
                        " replicas, %" PRIu32 " partitions",
                        n_ids, info->num_replicas, info->num_partitions);
    if (n > l->client->n_devices)
        return TN_ERROR(INVALID_ARGUMENT,
                        "the program needs %zu devices (%" PRIu32 " replicas, %" PRIu32
                        " partitions), the client has %zu",
                        n, info->num_replicas, info->num_partitions, l->client->n_devices);
    l->assignment = calloc(n, sizeof *l->assignment);
    l->devices = calloc(n, sizeof(tn_device *));
    l->ids = calloc(n, sizeof *l->ids);
    if (!l->assignment || !l->devices || !l->ids) return no_memory();
    if (device_ids) memcpy(l->assignment, device_ids, n * sizeof *l->assignment);
    else
        TN_TRY(tn_client_default_assignment(l->client, (int)info->num_replicas,
                                            (int)info->num_partitions, l->assignment, n));
    TN_TRY(check_assignment(l->client, l->assignment, n));
    for (size_t i = 0; i < n; i++) {
        l->devices[i] = l->client->device_list[l->assignment[i]];
        l->ids[i] =
            (tn_logical_id){(int)(i / info->num_partitions), (int)(i % info->num_partitions)};
    }
    l->n_devices = n;
    return NULL;
}

static tn_status *load(tn_loaded_executable *l, const int *device_ids, size_t n_ids)
{
    const tn_executable_info *info = l->program.info;
    bool dynamic = info->is_dynamic;
    for (uint32_t i = 0; dynamic && i < info->n_params; i++)
        l->donates = l->donates || info->params[i].donated;
    if (dynamic) TN_TRY(tn_sized_cache_create(&l->sized));
    else TN_TRY(describe_results(l));
    l->code = calloc(l->client->n_devices, sizeof(tn_code_object *));
    if (!l->code) return no_memory();
    if (l->portable) return NULL;
    TN_TRY(assign(l, device_ids, n_ids));
    if (dynamic) return NULL;
    for (size_t i = 0; i < l->n_devices; i++) {
        tn_code_object *ignored;
        TN_ANNOTATE(tn_loaded_executable_code(l, l->devices[i], &ignored), "loading %s onto %s",
                    l->program.info->name, l->devices[i]->description->to_string);
    }
    return NULL;
}

tn_status *tn_loaded_executable_create_from(tn_client *c, const tn_program *program,
                                            const int *device_ids, size_t n_ids, bool portable,
                                            tn_loaded_executable **out)
{
    tn_status *s = tn_client_check(c);
    tn_loaded_executable *l = s ? NULL : calloc(1, sizeof *l);
    if (!l) {
        program->release(program->self);
        return s ? s : no_memory();
    }
    tn_ref_init(&l->ref);
    l->client = tn_client_retain(c);
    l->program = *program;
    l->host_program = (tn_host_program){.run = program->run, .self = program->self};
    l->portable = portable;
    pthread_mutex_init(&l->lock, NULL);
    s = load(l, device_ids, n_ids);
    if (s) {
        tn_loaded_executable_release(l);
        return s;
    }
    *out = l;
    return NULL;
}

tn_status *tn_loaded_executable_code(tn_loaded_executable *l, tn_device *d, tn_code_object **out)
{
    _Atomic(tn_code_object *) *code = &l->code[d->description->id];
    *out = atomic_load_explicit(code, memory_order_acquire);
    if (*out) return NULL;
    tn_device_code what = {
        .size = sizeof what,
        .format = TN_CODE_HOST,
        .name = l->program.info->name,
        .program = &l->host_program,
    };
    tn_status *s = NULL;
    pthread_mutex_lock(&l->lock);
    *out = atomic_load_explicit(code, memory_order_relaxed);
    if (!*out) {
        s = l->client->driver.load(d->handle, &what, out);
        atomic_store_explicit(code, s ? NULL : *out, memory_order_release);
    }
    pthread_mutex_unlock(&l->lock);
    return s;
}

/* ---- Executables of the compiler ---- */

static tn_status *run_executable(const void *self, const tn_host_run *r, tn_thread_pool *pool)
{
    const tn_launch_context *context = r->context;
    tn_run run = {
        .pool = pool,
        .args = r->args,
        .results = r->results,
        .temp = r->temp,
        .replica_id = r->replica_id,
        .partition_id = r->partition_id,
        .custom_calls = context->custom_calls,
        .host_channels = context->host_channels,
        .meeting = context->meeting,
        .is_cancelled = context->is_cancelled,
        .cancel_arg = context->launch,
    };
    return tn_executable_run(self, &run);
}

static void release_executable(void *self)
{
    tn_executable_release(self);
}

static tn_status *create(tn_client *c, tn_executable *e, const int *device_ids, size_t n_ids,
                         bool portable, tn_loaded_executable **out)
{
    tn_program program = {
        .info = tn_executable_get_info(e),
        .run = run_executable,
        .release = release_executable,
        .self = tn_executable_retain(e),
    };
    TN_TRY(tn_loaded_executable_create_from(c, &program, device_ids, n_ids, portable, out));
    (*out)->executable = e;
    return NULL;
}

tn_status *tn_loaded_executable_create(tn_client *c, tn_executable *e, const int *device_ids,
                                       size_t n_ids, tn_loaded_executable **out)
{
    return create(c, e, device_ids, n_ids, false, out);
}

tn_status *tn_loaded_executable_create_portable(tn_client *c, tn_executable *e,
                                                tn_loaded_executable **out)
{
    return create(c, e, NULL, 0, true, out);
}

/* ---- Life and getters ---- */

tn_loaded_executable *tn_loaded_executable_retain(tn_loaded_executable *l)
{
    tn_ref_retain(&l->ref);
    return l;
}

void tn_loaded_executable_release(tn_loaded_executable *l)
{
    if (!l || !tn_ref_release(&l->ref)) return;
    tn_client *c = l->client;
    if (tn_is_forked(c->fork_generation)) return;
    for (size_t i = 0; l->code && i < c->n_devices; i++)
        if (l->code[i]) c->driver.unload(c->devices[i].handle, l->code[i]);
    tn_sized_cache_free(l->sized);
    l->program.release(l->program.self);
    free(l->spare);
    free(l->code);
    free(l->results);
    free(l->assignment);
    free(l->devices);
    free(l->ids);
    pthread_mutex_destroy(&l->lock);
    free(l);
    tn_client_release(c);
}

tn_executable *tn_loaded_executable_get(const tn_loaded_executable *l)
{
    return l->executable;
}

tn_client *tn_loaded_executable_client(const tn_loaded_executable *l)
{
    return l->client;
}

tn_device *const *tn_loaded_executable_devices(const tn_loaded_executable *l, size_t *n)
{
    *n = l->n_devices;
    return l->devices;
}

const tn_logical_id *tn_loaded_executable_logical_ids(const tn_loaded_executable *l, size_t *n)
{
    *n = l->n_devices;
    return l->ids;
}

const int *tn_loaded_executable_assignment(const tn_loaded_executable *l, size_t *n)
{
    *n = l->n_devices;
    return l->assignment;
}

void tn_loaded_executable_delete(tn_loaded_executable *l)
{
    atomic_store(&l->deleted, true);
}

bool tn_loaded_executable_is_deleted(const tn_loaded_executable *l)
{
    return atomic_load(&l->deleted);
}
