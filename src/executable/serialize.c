/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "executable/compile.h"
#include "executable/fingerprint.h"
#include "executable/program.h"

/* What is stored is the program and its options, and the compiler is fast enough to run again: such
 * bytes hold for every later version, every instruction set and every machine. All numbers are
 * little endian. */
#define MAGIC   "TENONEXE"
#define VERSION 1
/* What the Python package sends past jaxlib (python/tenon/direct.py) begins with this; options and
 * program follow. */
#define DIRECT "TENONDIR"

typedef struct {
    char magic[8];
    uint64_t options_size;
} direct_header;

typedef struct {
    char magic[8];
    uint64_t version;
    uint64_t code_size, options_size;
    uint64_t check[2]; /* hash of the code and options */
} header;

static tn_hash check_of(const void *bytes, uint64_t code_size, uint64_t options_size)
{
    return tn_hash_bytes(bytes, code_size + options_size, code_size * 31 + VERSION);
}

tn_status *tn_executable_serialize(const tn_executable *e, void **out, size_t *size)
{
    header h = {.version = VERSION, .code_size = e->code_size, .options_size = e->options_size};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    *size = sizeof h + e->code_size + e->options_size;
    char *bytes = malloc(*size);
    if (!bytes)
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu bytes of a serialized executable",
                        *size);
    memcpy(bytes + sizeof h, e->code, e->code_size);
    memcpy(bytes + sizeof h + e->code_size, e->options, e->options_size);
    tn_hash check = check_of(bytes + sizeof h, h.code_size, h.options_size);
    memcpy(h.check, check.words, sizeof h.check);
    memcpy(bytes, &h, sizeof h);
    *out = bytes;
    return NULL;
}

tn_status *tn_executable_deserialize(const void *data, size_t size,
                                     const tn_compile_options *options, tn_executable **out)
{
    header h;
    direct_header d;
    if (size > sizeof d && !memcmp(data, DIRECT, sizeof d.magic)) {
        memcpy(&d, data, sizeof d);
        size -= sizeof d;
        if (d.options_size > size)
            return TN_ERROR(INVALID_ARGUMENT, "the options before the program are cut short");
        const char *stored = (const char *)data + sizeof d;
        return tn_compile_stored(tn_read_direct, stored + d.options_size, size - d.options_size,
                                 stored, d.options_size, options, out);
    }
    if (size < sizeof h || memcmp(data, MAGIC, sizeof h.magic))
        return TN_ERROR(INVALID_ARGUMENT, "these bytes are no serialized executable of Tenon");
    memcpy(&h, data, sizeof h);
    if (h.version != VERSION)
        return TN_ERROR(INVALID_ARGUMENT,
                        "serialized executable of format %llu, this build reads %d",
                        (unsigned long long)h.version, VERSION);
    const char *bytes = (const char *)data + sizeof h;
    size -= sizeof h;
    if (h.code_size > size || h.options_size != size - h.code_size)
        return TN_ERROR(INVALID_ARGUMENT,
                        "the serialized executable is cut short or has bytes too many");
    tn_hash check = check_of(bytes, h.code_size, h.options_size);
    if (memcmp(check.words, h.check, sizeof h.check))
        return TN_ERROR(INVALID_ARGUMENT,
                        "the serialized executable is damaged: its checksum differs");
    return tn_compile_stored(tn_read_program, bytes, h.code_size, bytes + h.code_size,
                             h.options_size, options, out);
}
