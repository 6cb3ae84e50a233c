/* SPDX-License-Identifier: Apache-2.0 */
/* Callers older and newer than the plugin: the skew layer gives every argument struct the size that
 * it had at a minor, or one that it may have some day. */
#include <stdio.h>

#include "conformance/check.h"
#include "tenon/pjrt_calls.h"

/* Minors at which a struct grew that this session uses, and one of the future. */
static const char *const minors[] = {"29",  "39",  "43",  "52",  "54",  "61",  "64",  "66", "71",
                                     "72",  "75",  "76",  "78",  "83",  "87",  "90",  "97", "100",
                                     "103", "104", "108", "111", "112", "113", "115", "200"};

static const char *minor_name(const check_row *row, int i)
{
    return i < (int)(sizeof minors / sizeof *minors) ? minors[i] : NULL;
}

/* From the client's making to its end, with the calls of a small training loop. */
static void session(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "add", 1), *donate = load(c, "donate", 1);
    PJRT_Buffer *in[] = {floats(c, c->device, 1, 2, 3, 4), floats(c, c->device, 5, 6, 7, 8)}, *out,
                *next;
    check_ok(c, __FILE__, __LINE__, execute(c, e, in, 2, &out, NULL));
    PJRT_Event *done = NULL;
    check_ok(c, __FILE__, __LINE__, execute(c, donate, &out, 1, &next, &done));
    check_ok(c, __FILE__, __LINE__, await(c, done));
    CHECK(is_deleted(c, out));
    expect_floats(c, next, 7, 9, 11, 13);
    PJRT_Executable *x = executable_of(c, e);
    ARGS(Executable_NumOutputs, n, .executable = x);
    OK(Executable_NumOutputs, &n);
    CHECK_EQ(n.num_outputs, 1);
    ARGS(Executable_GetCompiledMemoryStats, stats, .executable = x);
    OPTIONAL(Executable_GetCompiledMemoryStats, &stats);
    ARGS(Executable_Serialize, bytes, .executable = x);
    if (OPTIONAL(Executable_Serialize, &bytes)) {
        ARGS(Executable_DeserializeAndLoad, again, .client = c->client,
             .serialized_executable = bytes.serialized_bytes,
             .serialized_executable_size = bytes.serialized_bytes_size);
        OK(Executable_DeserializeAndLoad, &again);
        unload(c, again.loaded_executable);
        bytes.serialized_executable_deleter(bytes.serialized_executable);
    }
    ARGS(Device_MemoryStats, memory, .device = c->device);
    OPTIONAL(Device_MemoryStats, &memory);
    end_executable(c, x);
    for (int i = 0; i < 2; i++) destroy_buffer(c, in[i]);
    destroy_buffer(c, out);
    destroy_buffer(c, next);
    unload(c, e);
    unload(c, donate);
    tn_host_client_destroy(c->host);
    c->host = NULL;
}

static void caller_of_minor(context *c)
{
    char value[32];
    snprintf(value, sizeof value, "client:%s", minors[c->variant]);
    set_layers("skew", "TENON_SKEW", value);
    set_up(c);
    session(c);
}

const check_row skew_checks[] = {
    {4, "a caller built at this minor is served", caller_of_minor, minor_name, NULL, true}, {0}};
