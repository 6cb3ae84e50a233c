/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/topology.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ref.h"
#include "driver/kit.h"
#include "runtime/options.h"
#include "runtime/topology_internal.h"

/* The serialized form: MAGIC, u32 number of devices, then name, version and kind, each as u32
 * length and bytes. Numbers are little endian. */
#define MAGIC "TNTOPO1\n"
enum { MAGIC_SIZE = 8, STRINGS = 3, MOST_DEVICES = 1 << 20, LONGEST_STRING = 4096 };

enum { LABEL = 128 };
typedef struct {
    char debug_string[LABEL], to_string[LABEL];
} labels;

struct tn_topology {
    tn_ref ref;
    uint32_t n;
    char *strings[STRINGS]; /* platform name, platform version, device kind */
    tn_device_description *devices;
    labels *labels;
    char *bytes;
    size_t size;
    uint64_t fingerprint;
    tn_named_value attributes[1];
};

static void put32(char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) p[i] = (char)(v >> 8 * i);
}

static uint32_t get32(const char *p)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) v |= (uint32_t)(unsigned char)p[i] << 8 * i;
    return v;
}

static bool write_bytes(tn_topology *t)
{
    t->size = MAGIC_SIZE + 4;
    for (int i = 0; i < STRINGS; i++) t->size += 4 + strlen(t->strings[i]);
    t->bytes = malloc(t->size);
    if (!t->bytes) return false;

    char *p = t->bytes;
    memcpy(p, MAGIC, MAGIC_SIZE);
    put32(p + MAGIC_SIZE, t->n);
    p += MAGIC_SIZE + 4;
    for (int i = 0; i < STRINGS; i++) {
        size_t length = strlen(t->strings[i]);
        put32(p, (uint32_t)length);
        memcpy(p + 4, t->strings[i], length);
        p += 4 + length;
    }

    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (size_t i = 0; i < t->size; i++) hash = (hash ^ (unsigned char)t->bytes[i]) * 0x100000001b3;
    t->fingerprint = hash;
    return true;
}

static void describe(tn_topology *t, uint32_t i)
{
    const char *name = t->strings[0];
    labels *l = &t->labels[i];
    snprintf(l->debug_string, LABEL, "%.100s:%" PRIu32, name, i);
    snprintf(l->to_string, LABEL, "%c%.100sDevice(id=%" PRIu32 ")", toupper((unsigned char)name[0]),
             name[0] ? name + 1 : "", i);
    t->devices[i] = (tn_device_description){
        .id = (int)i,
        .kind = t->strings[2],
        .debug_string = l->debug_string,
        .to_string = l->to_string,
    };
}

/* Takes the strings. */
static tn_status *make(char *strings[STRINGS], uint32_t n, tn_topology **out)
{
    tn_topology *t = calloc(1, sizeof *t);
    if (!t) {
        for (int i = 0; i < STRINGS; i++) free(strings[i]);
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a topology");
    }
    tn_ref_init(&t->ref);
    t->n = n;
    bool whole = true;
    for (int i = 0; i < STRINGS; i++) {
        t->strings[i] = strings[i];
        whole = whole && strings[i];
    }
    t->devices = calloc(n + 1, sizeof *t->devices);
    t->labels = calloc(n + 1, sizeof *t->labels);
    if (!whole || !t->devices || !t->labels || !write_bytes(t)) {
        tn_topology_release(t);
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a topology");
    }
    for (uint32_t i = 0; i < n; i++) describe(t, i);
    t->attributes[0] = (tn_named_value){.name = "device_kind",
                                        .name_size = strlen("device_kind"),
                                        .kind = TN_VALUE_STRING,
                                        .string = t->strings[2],
                                        .size = strlen(t->strings[2])};
    *out = t;
    return NULL;
}

tn_status *tn_topology_make(const char *platform_name, const char *platform_version,
                            const char *kind, uint32_t n, tn_topology **out)
{
    const char *given[STRINGS] = {platform_name, platform_version, kind};
    char *strings[STRINGS];
    for (int i = 0; i < STRINGS; i++) strings[i] = strdup(given[i]);
    return make(strings, n, out);
}

void tn_platform_version(const char *driver, char *buf, size_t size)
{
    snprintf(buf, size, "tenon %s, driver %s", TN_VERSION, driver);
}

tn_status *tn_topology_create(const char *driver, const tn_named_value *options, size_t n_options,
                              tn_topology **out)
{
    tn_client_options o;
    tn_driver d;
    TN_TRY(tn_client_options_read(driver, options, n_options, &o, &d));
    tn_kit *kit = NULL;
    uint32_t n = 0;
    tn_status *s = tn_kit_create(&d, options, n_options, NULL, &kit);
    if (!s) s = d.count(kit, &n);
    char version[256];
    tn_platform_version(d.name, version, sizeof version);
    if (!s)
        s = tn_topology_make(o.platform_name ? o.platform_name : d.name, version, d.name, n, out);
    tn_kit_destroy(kit);
    tn_client_options_release(&o);
    return s;
}

tn_status *tn_topology_deserialize(const char *bytes, size_t size, tn_topology **out)
{
    if (size < MAGIC_SIZE + 4 || memcmp(bytes, MAGIC, MAGIC_SIZE) != 0)
        return TN_ERROR(INVALID_ARGUMENT, "%zu bytes are no topology: they do not begin as one",
                        size);
    uint32_t n = get32(bytes + MAGIC_SIZE);
    if (n > MOST_DEVICES) return TN_ERROR(INVALID_ARGUMENT, "topology with %" PRIu32 " devices", n);

    const char *p = bytes + MAGIC_SIZE + 4, *end = bytes + size;
    char *strings[STRINGS] = {0};
    int i = 0;
    for (; i < STRINGS && end - p >= 4; i++) {
        uint32_t length = get32(p);
        p += 4;
        if (length > LONGEST_STRING || length > (size_t)(end - p) || memchr(p, 0, length)) break;
        strings[i] = strndup(p, length);
        p += length;
    }
    if (i == STRINGS && p == end) return make(strings, n, out);
    for (int k = 0; k < STRINGS; k++) free(strings[k]);
    return TN_ERROR(INVALID_ARGUMENT, "topology is damaged at byte %td of %zu", p - bytes, size);
}

tn_topology *tn_topology_retain(tn_topology *t)
{
    tn_ref_retain(&t->ref);
    return t;
}

void tn_topology_release(tn_topology *t)
{
    if (!t || !tn_ref_release(&t->ref)) return;
    for (int i = 0; i < STRINGS; i++) free(t->strings[i]);
    free(t->devices);
    free(t->labels);
    free(t->bytes);
    free(t);
}

const char *tn_topology_platform_name(const tn_topology *t)
{
    return t->strings[0];
}

const char *tn_topology_platform_version(const tn_topology *t)
{
    return t->strings[1];
}

size_t tn_topology_device_count(const tn_topology *t)
{
    return t->n;
}

const tn_device_description *tn_topology_device(const tn_topology *t, size_t i)
{
    return &t->devices[i];
}

const tn_named_value *tn_topology_attributes(const tn_topology *t, size_t *n)
{
    *n = sizeof t->attributes / sizeof t->attributes[0];
    return t->attributes;
}

uint64_t tn_topology_fingerprint(const tn_topology *t)
{
    return t->fingerprint;
}

const char *tn_topology_serialize(const tn_topology *t, size_t *size)
{
    *size = t->size;
    return t->bytes;
}
