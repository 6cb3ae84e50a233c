/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/registry.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define X(name) extern const tn_driver tn_driver_##name;
#include "driver/drivers.def"

static const tn_driver *const built_in[] = {
#define X(name) &tn_driver_##name,
#include "driver/drivers.def"
};

enum { BUILT_IN = sizeof built_in / sizeof built_in[0] };

/* Every driver has these; the size of a driver covers the last of them. */
#define REQUIRED(X)                                                                                \
    X(count)                                                                                       \
    X(open)                                                                                        \
    X(close)                                                                                       \
    X(info)                                                                                        \
    X(alloc)                                                                                       \
    X(free)                                                                                        \
    X(copy_in)                                                                                     \
    X(copy_out)                                                                                    \
    X(copy)                                                                                        \
    X(load)                                                                                        \
    X(unload)                                                                                      \
    X(launch)
enum { LEAST_SIZE = offsetof(tn_driver, drop) + sizeof(((tn_driver *)NULL)->drop) };

tn_status *tn_driver_check(const tn_driver *driver, tn_driver *out)
{
    if (driver->abi != TN_DRIVER_ABI)
        return TN_ERROR(UNIMPLEMENTED, "driver was built for ABI %" PRIu32 ", this is %d",
                        driver->abi, TN_DRIVER_ABI);
    if (driver->size < LEAST_SIZE)
        return TN_ERROR(INVALID_ARGUMENT, "driver table has %" PRIu32 " bytes, needs %d",
                        driver->size, LEAST_SIZE);

    memset(out, 0, sizeof *out);
    memcpy(out, driver, driver->size < sizeof *out ? driver->size : sizeof *out);
    out->size = sizeof *out;
    if (!out->name || !out->name[0]) return TN_ERROR(INVALID_ARGUMENT, "driver has no name");
#define X(function)                                                                                \
    if (!out->function)                                                                            \
        return TN_ERROR(INVALID_ARGUMENT, "driver \"%s\" lacks " #function, out->name);
    REQUIRED(X)
#undef X
    if (!out->address) out->address = out->map;
    return NULL;
}

tn_status *tn_driver_device_info(const tn_driver *driver, const tn_driver_device *device,
                                 tn_device_info *out)
{
    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    driver->info(device, out);
    if (!out->kind) out->kind = driver->name;
    if (!(out->flags & TN_DEVICE_SYNCHRONOUS) && !(driver->record && driver->wait && driver->drop))
        return TN_ERROR(INVALID_ARGUMENT,
                        "driver \"%s\" has asynchronous devices but lacks record, wait or drop",
                        driver->name);
    if (!(out->code_formats & 1 << TN_CODE_HOST))
        return TN_ERROR(UNIMPLEMENTED,
                        "driver \"%s\" takes code formats 0x%" PRIx32
                        "; only host programs (0x%x) are made so far",
                        driver->name, out->code_formats, 1 << TN_CODE_HOST);
    return NULL;
}

static tn_status *find_in_library(const char *path, tn_driver *out)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return TN_ERROR(NOT_FOUND, "cannot load driver: %s", dlerror());
    /* The detour over memcpy is how C turns an object pointer into a function pointer. */
    void *symbol = dlsym(library, TN_DRIVER_ENTRY);
    tn_driver_entry_fn *entry;
    memcpy(&entry, &symbol, sizeof entry);
    const tn_driver *driver = entry ? entry() : NULL;
    if (!driver) {
        dlclose(library);
        return TN_ERROR(NOT_FOUND, "%s has no driver: no %s, or it returned NULL", path,
                        TN_DRIVER_ENTRY);
    }
    TN_ANNOTATE(tn_driver_check(driver, out), "%s", path);
    return NULL;
}

tn_status *tn_driver_find(const char *name, tn_driver *out)
{
    if (strchr(name, '/')) return find_in_library(name, out);
    for (int i = 0; i < BUILT_IN; i++)
        if (strcmp(built_in[i]->name, name) == 0) return tn_driver_check(built_in[i], out);

    char known[256] = "";
    for (int i = 0; i < BUILT_IN; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", built_in[i]->name);
    }
    return TN_ERROR(NOT_FOUND, "no driver \"%s\"; there are: %s, or the path of a shared object",
                    name, known);
}

tn_status *tn_driver_check_option(const tn_driver *driver, const tn_named_value *value, bool *known)
{
    const tn_driver_option *o = driver->options;
    while (o && o->name &&
           (strlen(o->name) != value->name_size || memcmp(o->name, value->name, value->name_size)))
        o++;
    *known = o && o->name;
    if (!*known) return NULL;

    tn_value_kind kind = o->text ? TN_VALUE_STRING : TN_VALUE_INT;
    if (value->kind != kind)
        return TN_ERROR(INVALID_ARGUMENT, "option %s: expected %s, got %s", o->name,
                        tn_value_kind_name(kind), tn_value_kind_name(value->kind));
    if (!o->text && (value->integer < o->least || value->integer > o->most))
        return TN_ERROR(INVALID_ARGUMENT,
                        "option %s: %" PRId64 " is not in [%" PRId64 ", %" PRId64 "]", o->name,
                        value->integer, o->least, o->most);
    return NULL;
}
