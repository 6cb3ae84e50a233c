/* SPDX-License-Identifier: Apache-2.0 */
/* stage.c - runs a stage of a dynamic program: its sizes, from the values of arguments.
 *
 * The caller runs it, on host memory: execution can't begin before the sizes are known, a stage is
 * small, and a caller that holds the launch queue (a callback) must not wait for it. */
#include "runtime/stage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/host_memory.h"
#include "runtime/transfer.h"

/* One argument on the host: in place, or a copy. */
typedef struct {
    tn_content content;
    void *copy;
    size_t size;
} host_arg;

static tn_status *bring(tn_buffer *b, host_arg *a, void **out)
{
    *out = NULL;
    TN_TRY(tn_buffer_read(b, &a->content));
    TN_TRY(tn_event_await(a->content.ready));
    if (!b->bytes) return NULL;
    if (tn_buffer_is_on_host(b)) {
        *out = a->content.storage->host;
        return NULL;
    }
    a->size = b->bytes;
    a->copy = tn_host_memory_alloc(a->size);
    if (!a->copy) return TN_ERROR(RESOURCE_EXHAUSTED, "no host memory for %zu bytes", a->size);
    tn_event *done;
    TN_TRY(tn_buffer_to_host(b, NULL, a->copy, a->size, &done));
    tn_status *s = tn_event_await(done);
    tn_event_release(done);
    *out = a->copy;
    return s;
}

static void let_go(host_arg *a)
{
    tn_content_release(&a->content);
    tn_host_memory_free(a->copy, a->size);
}

/* Results stand in one block, each aligned to 64 bytes, and the working memory behind them. */
static size_t padded(const tn_executable_value *v)
{
    return (tn_type_bytes(v->type) + 63) & ~(size_t)63;
}

static size_t block_size(const tn_executable_info *info)
{
    size_t n = info->temp_bytes;
    for (uint32_t i = 0; i < info->n_results; i++) n += padded(&info->results[i]);
    return n;
}

static tn_status *run(tn_client *c, const tn_executable *stage, const tn_stage_device *device,
                      void *const *args, char *block)
{
    const tn_executable_info *info = tn_executable_get_info(stage);
    void **results = calloc(info->n_results + 1, sizeof *results);
    if (!results) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a stage");
    for (uint32_t i = 0; i < info->n_results; i++) {
        results[i] = tn_type_bytes(info->results[i].type) ? block : NULL;
        block += padded(&info->results[i]);
    }
    tn_run r = {
        .pool = c->pool,
        .args = args,
        .results = results,
        .temp = block,
        .replica_id = device->replica,
        .partition_id = device->partition,
        .custom_calls = device->custom_calls,
    };
    tn_status *s = tn_executable_run(stage, &r);
    free(results);
    return s;
}

/* The results without the gaps between them. */
static tn_status *pack(const tn_executable_info *info, const char *block, void **values,
                       size_t *size)
{
    *size = 0;
    for (uint32_t i = 0; i < info->n_results; i++) *size += tn_type_bytes(info->results[i].type);
    char *out = *values = malloc(*size + 1);
    if (!out) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for the values of a stage");
    for (uint32_t i = 0; i < info->n_results; i++) {
        size_t bytes = tn_type_bytes(info->results[i].type);
        if (bytes) memcpy(out, block, bytes);
        out += bytes;
        block += padded(&info->results[i]);
    }
    return NULL;
}

tn_status *tn_stage_run(tn_client *c, const tn_executable *stage, tn_buffer *const *args,
                        const tn_stage_device *device, void **values, size_t *size)
{
    const tn_executable_info *info = tn_executable_get_info(stage);
    const tn_stage *takes = tn_executable_stage(stage);
    size_t n = info->n_params, room = block_size(info);
    char *block = tn_host_memory_alloc(room);
    host_arg *held = calloc(n + 1, sizeof *held);
    void **pointers = calloc(n + 1, sizeof *pointers);
    tn_status *s = NULL;
    if (!block || !held || !pointers) s = TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a stage");
    for (size_t i = 0; i < n && !s; i++) {
        uint32_t k = takes->params[i];
        s = bring(args[k], &held[i], &pointers[i]);
        if (s) s = tn_status_annotate(s, "argument %" PRIu32 " of %s", k, info->name);
    }
    if (!s) s = run(c, stage, device, pointers, block);
    if (!s) s = pack(info, block, values, size);
    for (size_t i = 0; held && i < n; i++) let_go(&held[i]);
    tn_host_memory_free(block, room);
    free(held);
    free(pointers);
    return s;
}
