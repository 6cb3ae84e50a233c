/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/kit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host_memory.h"
#include "base/log.h"

typedef struct {
    const char *name; /* the driver's */
    bool given;
    int64_t number;
    char *text;
} option;

typedef struct {
    tn_kit services; /* first: drivers hold a pointer to it */
    const char *driver;
    tn_thread_pool *pool;
    size_t n_options;
    option options[];
} kit_impl;

static const kit_impl *impl(const tn_kit *kit)
{
    return (const kit_impl *)kit;
}

static tn_status *error(tn_code code, const char *file, int line, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return tn_status_make(code, file, line, "%s", text);
}

static void write_log(const tn_kit *kit, tn_kit_level level, const char *fmt, ...)
{
    if (!tn_log_enabled((tn_log_level)level, "driver")) return;
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tn_log((tn_log_level)level, "driver", "%s: %s", impl(kit)->driver, text);
}

_Static_assert((int)TN_KIT_ERROR == (int)TN_LOG_ERROR && (int)TN_KIT_WARNING == TN_LOG_WARNING &&
                   (int)TN_KIT_INFO == (int)TN_LOG_INFO && (int)TN_KIT_DEBUG == (int)TN_LOG_DEBUG,
               "the levels of driver.h are those of log.h");

static const option *find_option(const tn_kit *kit, const char *name)
{
    const kit_impl *k = impl(kit);
    for (size_t i = 0; i < k->n_options; i++)
        if (strcmp(k->options[i].name, name) == 0) return &k->options[i];
    return NULL;
}

static int64_t option_number(const tn_kit *kit, const char *name, int64_t fallback)
{
    const option *o = find_option(kit, name);
    return o && o->given ? o->number : fallback;
}

static const char *option_text(const tn_kit *kit, const char *name, const char *fallback)
{
    const option *o = find_option(kit, name);
    return o && o->text ? o->text : fallback;
}

static void *alloc_memory(const tn_kit *kit, uint64_t size)
{
    return size > SIZE_MAX ? NULL : tn_host_memory_alloc(size);
}

static void free_memory(const tn_kit *kit, void *memory, uint64_t size)
{
    tn_host_memory_free(memory, size);
}

static void parallel_for(const tn_kit *kit, int64_t n, double cost_ns, tn_parallel_fn *fn,
                         void *ctx)
{
    tn_parallel_for(impl(kit)->pool, n, cost_ns, fn, ctx);
}

static tn_status *run(const tn_kit *kit, const tn_host_program *program, const tn_host_run *r)
{
    return program->run(program->self, r, impl(kit)->pool);
}

static tn_status *set_option(option *o, const tn_named_value *value)
{
    free(o->text);
    *o = (option){.name = o->name, .given = true};
    if (value->kind != TN_VALUE_STRING) {
        o->number = value->integer;
        return NULL;
    }
    o->text = strndup(value->string, value->size);
    return o->text ? NULL : TN_ERROR(RESOURCE_EXHAUSTED, "no memory for option %s", o->name);
}

tn_status *tn_kit_create(const tn_driver *driver, const tn_named_value *options, size_t n_options,
                         tn_thread_pool *pool, tn_kit **out)
{
    size_t n = 0;
    while (driver->options && driver->options[n].name) n++;
    kit_impl *k = calloc(1, sizeof *k + n * sizeof k->options[0]);
    if (!k) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a driver's services");
    k->services = (tn_kit){
        .abi = TN_DRIVER_ABI,
        .size = sizeof(tn_kit),
        .error = error,
        .copy_error = tn_status_ref,
        .free_error = tn_status_free,
        .log = write_log,
        .option = option_number,
        .option_text = option_text,
        .alloc = alloc_memory,
        .free = free_memory,
        .parallel_for = parallel_for,
        .run = run,
    };
    k->driver = driver->name;
    k->pool = pool;
    k->n_options = n;
    for (size_t i = 0; i < n; i++) k->options[i].name = driver->options[i].name;

    for (size_t v = 0; v < n_options; v++) {
        for (size_t i = 0; i < n; i++) {
            const char *name = k->options[i].name;
            if (strlen(name) != options[v].name_size ||
                memcmp(name, options[v].name, options[v].name_size) != 0)
                continue;
            tn_status *s = set_option(&k->options[i], &options[v]);
            if (s) {
                tn_kit_destroy(&k->services);
                return s;
            }
        }
    }
    *out = &k->services;
    return NULL;
}

void tn_kit_destroy(tn_kit *kit)
{
    if (!kit) return;
    kit_impl *k = (kit_impl *)kit;
    for (size_t i = 0; i < k->n_options; i++) free(k->options[i].text);
    free(k);
}
