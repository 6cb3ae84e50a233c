/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c - the host's own processors as devices.
 *
 * Device memory is host memory, and a launch runs the host program before it returns. All devices
 * share the processors; more than one serves programs that want several. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenon/driver.h"

struct tn_driver_device {
    const tn_kit *kit;
};

struct tn_mem {
    char *bytes;
    uint64_t size; /* 0: somebody else's */
};

struct tn_code_object {
    const tn_host_program *program;
};

static const tn_driver_option options[] = {
    {.name = "cpu_device_count", .least = 1, .most = 4096, .doc = "Number of devices (default 1)."},
    {NULL},
};

static tn_status *count(const tn_kit *kit, uint32_t *out)
{
    *out = (uint32_t)kit->option(kit, "cpu_device_count", 1);
    return NULL;
}

static tn_status *open_device(const tn_kit *kit, uint32_t ordinal, tn_driver_device **out)
{
    tn_driver_device *d = malloc(sizeof *d);
    if (!d) return TN_KIT_FAIL(kit, RESOURCE_EXHAUSTED, "no memory for device %u", ordinal);
    d->kit = kit;
    *out = d;
    return NULL;
}

static void close_device(tn_driver_device *d)
{
    free(d);
}

static void info(const tn_driver_device *d, tn_device_info *out)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    out->flags = TN_DEVICE_SYNCHRONOUS | TN_DEVICE_CONCURRENT | TN_DEVICE_UNALIGNED;
    out->code_formats = 1 << TN_CODE_HOST;
    out->kind = "cpu";
    out->memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

static tn_status *alloc_memory(tn_driver_device *d, uint64_t size, tn_mem **out)
{
    tn_mem *m = malloc(sizeof *m);
    char *bytes = m ? d->kit->alloc(d->kit, size) : NULL;
    if (!bytes) {
        free(m);
        return TN_KIT_FAIL(d->kit, RESOURCE_EXHAUSTED, "no memory for %llu bytes",
                           (unsigned long long)size);
    }
    *m = (tn_mem){.bytes = bytes, .size = size};
    *out = m;
    return NULL;
}

static tn_status *wrap(tn_driver_device *d, void *memory, uint64_t size, tn_mem **out)
{
    tn_mem *m = malloc(sizeof *m);
    if (!m) return TN_KIT_FAIL(d->kit, RESOURCE_EXHAUSTED, "no memory");
    *m = (tn_mem){.bytes = memory};
    *out = m;
    return NULL;
}

static void free_memory(tn_driver_device *d, tn_mem *m)
{
    if (m->size > 0) d->kit->free(d->kit, m->bytes, m->size);
    free(m);
}

static tn_status *map(tn_driver_device *d, tn_mem *m, void **out)
{
    *out = m->bytes;
    return NULL;
}

static void *address(tn_span s)
{
    return s.size > 0 ? s.mem->bytes + s.offset : NULL;
}

static tn_status *copy_in(tn_driver_device *d, tn_span dst, const void *src)
{
    if (dst.size > 0) memcpy(address(dst), src, dst.size);
    return NULL;
}

static tn_status *copy_out(tn_driver_device *d, void *dst, tn_span src)
{
    if (src.size > 0) memcpy(dst, address(src), src.size);
    return NULL;
}

static tn_status *copy(tn_driver_device *d, tn_span dst, tn_span src)
{
    if (dst.size > 0) memcpy(address(dst), address(src), dst.size);
    return NULL;
}

static tn_status *load(tn_driver_device *d, const tn_device_code *code, tn_code_object **out)
{
    if (code->format != TN_CODE_HOST)
        return TN_KIT_FAIL(d->kit, UNIMPLEMENTED, "code format %d", (int)code->format);
    tn_code_object *c = malloc(sizeof *c);
    if (!c) return TN_KIT_FAIL(d->kit, RESOURCE_EXHAUSTED, "no memory for a program");
    c->program = code->program;
    *out = c;
    return NULL;
}

static void unload(tn_driver_device *d, tn_code_object *c)
{
    free(c);
}

static tn_status *launch(tn_driver_device *d, tn_code_object *c, const tn_launch *l)
{
    enum { FEW = 64 };
    size_t n = (size_t)l->n_args + l->n_results;
    void *few[FEW], **many = n > FEW ? malloc(n * sizeof *many) : few;
    if (!many) return TN_KIT_FAIL(d->kit, RESOURCE_EXHAUSTED, "no memory for %zu addresses", n);
    for (uint32_t i = 0; i < l->n_args; i++) many[i] = address(l->args[i]);
    for (uint32_t i = 0; i < l->n_results; i++) many[l->n_args + i] = address(l->results[i]);

    tn_host_run run = {
        .args = many,
        .results = many + l->n_args,
        .temp = address(l->temp),
        .replica_id = l->replica_id,
        .partition_id = l->partition_id,
        .context = l->context,
    };
    tn_status *s = d->kit->run(d->kit, c->program, &run);
    if (many != few) free(many);
    return s;
}

/* The table is found by its name, tn_driver_<name>. */
extern const tn_driver tn_driver_cpu;
const tn_driver tn_driver_cpu = {
    .abi = TN_DRIVER_ABI,
    .size = sizeof(tn_driver),
    .name = "cpu",
    .options = options,
    .count = count,
    .open = open_device,
    .close = close_device,
    .info = info,
    .alloc = alloc_memory,
    .free = free_memory,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy = copy,
    .load = load,
    .unload = unload,
    .launch = launch,
    .map = map,
    .wrap = wrap,
};
