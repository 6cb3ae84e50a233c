/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "conformance/check.h"

/* What the device says is in use; -1: it does not say. */
static int64_t in_use(context *c)
{
    ARGS(Device_MemoryStats, stats, .device = c->device);
    return OPTIONAL(Device_MemoryStats, &stats) ? stats.bytes_in_use : -1;
}

static void round_of_all(context *c, PJRT_LoadedExecutable *e, const float *data)
{
    int64_t n = 16384;
    PJRT_Buffer *b = array(c, data, PJRT_Buffer_Type_F32, &n, 1), *out;
    check_ok(c, __FILE__, __LINE__, execute(c, e, &b, 1, &out, NULL));
    tn_array got = read_buffer(c, out);
    tn_array_free(&got);
    destroy_buffer(c, b);
    destroy_buffer(c, out);
}

static void arrays(context *c)
{
    float *data = calloc(16384, sizeof *data);
    PJRT_LoadedExecutable *e = load_text(
        c, "func.func @main(%a: tensor<16384xf32>) -> tensor<16384xf32> {\n"
           "  %r = stablehlo.add %a, %a : tensor<16384xf32>\n  return %r : tensor<16384xf32>\n}\n");
    for (int i = 0; i < 50; i++) round_of_all(c, e, data);
    size_t memory = resident_bytes();
    int64_t device = in_use(c);
    for (int i = 0; i < 500; i++) round_of_all(c, e, data);
    if (resident_bytes() > memory + (12u << 20))
        fail(__FILE__, __LINE__, "500 rounds of 128 kB left %zu MB behind",
             (resident_bytes() - memory) >> 20);
    for (int i = 0; i < 100 && in_use(c) > device; i++) usleep(2000);
    if (in_use(c) > device)
        fail(__FILE__, __LINE__, "500 rounds left %lld bytes in use on the device",
             (long long)(in_use(c) - device));
    free(data);
}

static void small_objects(context *c)
{
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    size_t memory = 0;
    for (int i = 0; i < 60000; i++) {
        if (i == 10000) memory = resident_bytes();
        end_event(c, ready_event(c, b));
        ARGS(Client_LookupDevice, args, .client = c->client, .id = -7);
        tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Client_LookupDevice, &args);
        tn_status_free(s);
    }
    if (resident_bytes() > memory + (2u << 20))
        fail(__FILE__, __LINE__, "50000 events and errors left %zu kB behind",
             (resident_bytes() - memory) >> 10);
}

static void compile_many(context *c, int from, int to)
{
    for (int i = from; i < to; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "func.func @main(%%a: tensor<%dxf32>) -> tensor<%dxf32> {\n"
                 "  %%0 = stablehlo.add %%a, %%a : tensor<%dxf32>\n"
                 "  %%1 = stablehlo.multiply %%0, %%a : tensor<%dxf32>\n"
                 "  return %%1 : tensor<%dxf32>\n}\n",
                 i + 3, i + 3, i + 3, i + 3, i + 3);
        unload(c, load_text(c, text));
    }
}

static void programs(context *c)
{
    compile_many(c, 0, 40);
    size_t memory = resident_bytes();
    compile_many(c, 40, 140);
    if (resident_bytes() > memory + (24u << 20))
        fail(__FILE__, __LINE__, "100 programs compiled and destroyed left %zu MB behind",
             (resident_bytes() - memory) >> 20);
}

const check_row leak_checks[] = {
    {150, "arrays that are destroyed are freed, on the host and on the device", arrays},
    {150, "events and errors that are destroyed are freed", small_objects},
    {151, "programs that are destroyed are freed", programs},
    {0}};
