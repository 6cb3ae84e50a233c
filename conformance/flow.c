/* SPDX-License-Identifier: Apache-2.0 */
/* The order of things: readiness, chains, errors that travel, what a donated buffer is afterwards.
 */
#include <stdio.h>
#include <unistd.h>

#include "conformance/check.h"

static void many_arguments(context *c)
{
    enum { N = 200 };
    char *text = malloc(64 * 1024), *at = text;
    at += sprintf(at, "func.func @main(");
    for (int i = 0; i < N; i++) at += sprintf(at, "%s%%a%d: tensor<f32>", i ? ", " : "", i);
    at += sprintf(at, ") -> (");
    for (int i = 0; i < N; i++) at += sprintf(at, "%stensor<f32>", i ? ", " : "");
    at += sprintf(at, ") {\n");
    for (int i = 0; i < N; i++)
        at += sprintf(at, "  %%r%d = stablehlo.add %%a%d, %%a%d : tensor<f32>\n", i, i, N - 1 - i);
    at += sprintf(at, "  return ");
    for (int i = 0; i < N; i++) at += sprintf(at, "%s%%r%d", i ? ", " : "", i);
    at += sprintf(at, " : ");
    for (int i = 0; i < N; i++) at += sprintf(at, "%stensor<f32>", i ? ", " : "");
    sprintf(at, "\n}\n");
    PJRT_LoadedExecutable *e = load_text(c, text);
    PJRT_Buffer *in[N], *out[N];
    for (int i = 0; i < N; i++) {
        float v = (float)(i * i);
        in[i] = array(c, &v, PJRT_Buffer_Type_F32, NULL, 0);
    }
    check_ok(c, __FILE__, __LINE__, execute(c, e, in, N, out, NULL));
    for (int i = 0; i < N; i++) {
        tn_array got = read_buffer(c, out[i]);
        int k = N - 1 - i;
        if (*(float *)got.data != (float)(i * i + k * k))
            fail(__FILE__, __LINE__, "output %d is %g, expected %d", i, (double)*(float *)got.data,
                 i * i + k * k);
        tn_array_free(&got);
    }
}

static void chain(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "add", 1);
    PJRT_Buffer *one = floats(c, c->device, 1, 2, 3, 4), *x = floats(c, c->device, 0, 0, 0, 0);
    for (int i = 0; i < 200; i++) {
        PJRT_Buffer *in[] = {x, one}, *out;
        check_ok(c, __FILE__, __LINE__, execute(c, e, in, 2, &out, NULL));
        destroy_buffer(c, x); /* in flight */
        x = out;
    }
    expect_floats(c, x, 200, 400, 600, 800);
}

static void stays(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "two_outputs", 1);
    PJRT_Buffer *in[] = {floats(c, c->device, 1, 2, 3, 4), floats(c, c->device, 5, 6, 7, 8)},
                *out[2], *more[2];
    check_ok(c, __FILE__, __LINE__, execute(c, e, in, 2, out, NULL));
    expect_floats(c, out[0], 6, 8, 10, 12);
    for (int i = 0; i < 20; i++) {
        check_ok(c, __FILE__, __LINE__,
                 execute(c, e, (PJRT_Buffer *[]){in[1], in[1]}, 2, more, NULL));
        check_ok(c, __FILE__, __LINE__, await_buffer(c, more[1]));
        for (int k = 0; k < 2; k++) destroy_buffer(c, more[k]);
    }
    usleep(20000);
    expect_floats(c, out[0], 6, 8, 10, 12);
    expect_floats(c, out[1], 5, 12, 21, 32);
    expect_floats(c, in[0], 1, 2, 3, 4);
    expect_floats(c, in[1], 5, 6, 7, 8);
}

/* Reads through the device's own address where that is host memory, so that no copy orders itself
 * behind the run. */
static bool peek(context *c, PJRT_Buffer *b, uint32_t *out)
{
    ARGS(Buffer_IsOnCpu, on, .buffer = b);
    OK(Buffer_IsOnCpu, &on);
    if (!on.is_on_cpu) return false;
    ARGS(Buffer_OpaqueDeviceMemoryDataPointer, at, .buffer = b);
    if (!OPTIONAL(Buffer_OpaqueDeviceMemoryDataPointer, &at) || !at.device_memory_ptr) return false;
    memcpy(out, at.device_memory_ptr, 4);
    return true;
}

/* The size of one element of busy's output, and what is in it at the end. */
static void ready_means_there(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "busy", 1);
    PJRT_Buffer *in = scalar_u32(c, c->device, 9), *out, *again;
    PJRT_Event *done = NULL;
    check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, NULL));
    tn_array want = read_buffer(c, out);
    for (int i = 0; i < 3; i++) {
        double start = seconds();
        check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &again, &done));
        check_ok(c, __FILE__, __LINE__, await(c, done));
        double took = seconds() - start;
        uint32_t seen = 0, later = 0;
        if (peek(c, again, &seen)) {
            usleep(30000);
            peek(c, again, &later);
            if (seen != *(uint32_t *)want.data)
                fail(__FILE__, __LINE__,
                     "the event was ready after %.2f ms, the content was %u then, %u later, "
                     "expected %u",
                     took * 1e3, seen, later, *(uint32_t *)want.data);
        }
        PJRT_Event *ready = ready_event(c, again);
        ARGS(Event_IsReady, is, .event = ready);
        OK(Event_IsReady, &is);
        CHECK(is.is_ready);
        end_event(c, ready);
        destroy_buffer(c, again);
    }
    tn_array_free(&want);
}

/* Awaiting a long run takes about as long as reading its result: readiness does not come early. */
static void ready_takes_its_time(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "busy", 1);
    PJRT_Buffer *in = scalar_u32(c, c->device, 9), *out;
    double whole = 1e9, awaited = 1e9;
    for (int i = 0; i < 4; i++) {
        double start = seconds();
        check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, NULL));
        tn_array got = read_buffer(c, out);
        double t = seconds() - start;
        if (t < whole) whole = t;
        tn_array_free(&got);
        destroy_buffer(c, out);
        start = seconds();
        check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, NULL));
        check_ok(c, __FILE__, __LINE__, await_buffer(c, out));
        t = seconds() - start;
        if (t < awaited) awaited = t;
        tn_array got2 = read_buffer(c, out);
        tn_array_free(&got2);
        destroy_buffer(c, out);
    }
    if (whole > 0.01 && awaited < whole / 4)
        fail(__FILE__, __LINE__,
             "the output was ready after %.1f ms, its content came after %.1f ms", awaited * 1e3,
             whole * 1e3);
}

static PJRT_Buffer *poisoned(context *c)
{
    if (!HAS(Client_CreateErrorBuffer)) skip("older than 0.82");
    ARGS(Client_CreateErrorBuffer, bad, .client = c->client, .error_code = PJRT_Error_Code_ABORTED,
         .error_message = "upstream", .error_message_size = 8, .shape_dims = (int64_t[]){4},
         .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32, .memory = c->memory);
    if (!OPTIONAL(Client_CreateErrorBuffer, &bad)) skip("CreateErrorBuffer is not implemented");
    return bad.buffer;
}

static void errors_travel(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "add", 1);
    PJRT_Buffer *one = floats(c, c->device, 1, 2, 3, 4), *x = poisoned(c);
    for (int i = 0; i < 3; i++) {
        PJRT_Buffer *in[] = {one, x}, *out = NULL;
        tn_status *s = execute(c, e, in, 2, &out, NULL);
        if (s) { /* also a way to say it */
            expect_error(s, TN_ABORTED, "upstream");
            return;
        }
        x = out;
    }
    tn_status *s = await_buffer(c, x);
    if (!s)
        fail(__FILE__, __LINE__, "the last result of a chain that began with an error has none");
    expect_error(s, TN_ABORTED, "upstream");
    float dst[4];
    ARGS(Buffer_ToHostBuffer, to, .src = x, .dst = dst, .dst_size = sizeof dst);
    OK(Buffer_ToHostBuffer, &to);
    s = await(c, to.event);
    if (!s) fail(__FILE__, __LINE__, "a result in error was copied to the host");
    expect_error(s, TN_ABORTED, "upstream");
}

static void wrong_arguments(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "add", 1);
    float five[5] = {0};
    int64_t dims5[] = {5}, dims4[] = {4}, dims22[] = {2, 2};
    PJRT_Buffer *good = floats(c, c->device, 1, 2, 3, 4), *out = NULL;
    PJRT_Buffer *bad[] = {array(c, five, PJRT_Buffer_Type_F32, dims5, 1),
                          array(c, five, PJRT_Buffer_Type_S32, dims4, 1),
                          array(c, five, PJRT_Buffer_Type_F32, dims22, 2)};
    static const char *const what[] = {"f32[5] for f32[4]", "s32[4] for f32[4]",
                                       "f32[2,2] for f32[4]"};
    for (int i = 0; i < 3; i++) {
        tn_status *s = execute(c, e, (PJRT_Buffer *[]){good, bad[i]}, 2, &out, NULL);
        if (!s) s = await_buffer(c, out);
        if (!s) fail(__FILE__, __LINE__, "%s ran", what[i]);
        if (tn_status_code(s) != TN_INVALID_ARGUMENT)
            fail(__FILE__, __LINE__, "%s: expected INVALID_ARGUMENT, got %s: %s", what[i],
                 tn_code_name(tn_status_code(s)), tn_status_message(s));
        tn_status_free(s);
    }
}

static void donated_is_gone(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "donate", 1);
    PJRT_Buffer *in = floats(c, c->device, 1, 2, 3, 4), *out;
    check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, NULL));
    CHECK(is_deleted(c, in));
    float dst[4];
    ARGS(Buffer_ToHostBuffer, to, .src = in, .dst = dst, .dst_size = sizeof dst);
    tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Buffer_ToHostBuffer, &to);
    if (!s) s = await(c, to.event);
    if (!s) fail(__FILE__, __LINE__, "a donated buffer was read");
    tn_status_free(s);
    s = await_buffer(c, in);
    if (!s) fail(__FILE__, __LINE__, "a donated buffer is ready without an error");
    tn_status_free(s);
    expect_floats(c, out, 2, 3, 4, 5);
}

static void on_second_device(context *c)
{
    if (c->second == c->device) skip("one device");
    PJRT_LoadedExecutable *e = load(c, "replica_id", 2);
    ARGS(LoadedExecutable_AddressableDevices, on, .executable = e);
    OK(LoadedExecutable_AddressableDevices, &on);
    CHECK_EQ(on.num_addressable_devices, 2);
    PJRT_Buffer *in[2], *out[2] = {0};
    for (int i = 0; i < 2; i++)
        in[i] = scalar_u32(c, on.addressable_devices[i], (uint32_t)(10 * (i + 1)));
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                   .call_location = ""};
    PJRT_Buffer *const *in_rows[] = {&in[0], &in[1]};
    PJRT_Buffer **out_rows[] = {&out[0], &out[1]};
    ARGS(LoadedExecutable_Execute, args, .executable = e, .options = &options,
         .argument_lists = in_rows, .num_devices = 2, .num_args = 1, .output_lists = out_rows);
    OK(LoadedExecutable_Execute, &args);
    for (int i = 0; i < 2; i++) {
        ARGS(Buffer_Device, d, .buffer = out[i]);
        OK(Buffer_Device, &d);
        if (d.device != on.addressable_devices[i])
            fail(__FILE__, __LINE__, "output of device %d is on another device", i);
        ARGS(Buffer_Memory, m, .buffer = out[i]);
        OK(Buffer_Memory, &m);
        ARGS(Memory_AddressableByDevices, by, .memory = m.memory);
        OK(Memory_AddressableByDevices, &by);
        bool found = false;
        for (size_t k = 0; k < by.num_devices; k++) found |= by.devices[k] == d.device;
        CHECK(found);
    }
}

const check_row flow_checks[] = {
    {130, "200 arguments and 200 results", many_arguments},
    {131, "200 runs are dispatched without waiting, each on the last one's result", chain},
    {133, "results and arguments stay as they are while other runs go on", stays},
    {134, "a ready event means that the content is there", ready_means_there},
    {134, "a long run's output is not ready before its content", ready_takes_its_time},
    {135, "an error reaches the last result of a chain, and the host", errors_travel},
    {136, "an argument of another shape or type is INVALID_ARGUMENT", wrong_arguments},
    {138, "outputs lie on the devices that the executable names", on_second_device},
    {139, "a donated buffer can't be read", donated_is_gone},
    {0}};
