/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/check.h"

static void outputs_belong_to_caller(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "two_outputs", 1);
    PJRT_Buffer *in[] = {floats(c, c->device, 1, 2, 3, 4), floats(c, c->device, 5, 6, 7, 8)},
                *out[2];
    check_ok(c, __FILE__, __LINE__, execute(c, e, in, 2, out, NULL));
    unload(c, e);
    expect_floats(c, out[0], 6, 8, 10, 12);
    expect_floats(c, out[1], 5, 12, 21, 32);
    destroy_buffer(c, out[0]);
    expect_floats(c, out[1], 5, 12, 21, 32);
}

static void returns_early(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "busy", 1);
    PJRT_Buffer *in = scalar_u32(c, c->device, 3), *out, *next;
    double returned = 1, done = 1;
    for (int i = 0; i < 5 && returned > done / 2;
         i++) { /* the machine may have held it up, not the plugin */
        double start = seconds();
        check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, NULL));
        returned = seconds() - start;
        check_ok(c, __FILE__, __LINE__, await_buffer(c, out));
        done = seconds() - start;
        destroy_buffer(c, out);
    }
    check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, NULL));
    check_ok(c, __FILE__, __LINE__, execute(c, e, &out, 1, &next, NULL)); /* usable at once */
    check_ok(c, __FILE__, __LINE__, await_buffer(c, next));
    if (done > 0.02 && returned > done / 2)
        fail(__FILE__, __LINE__, "Execute returned after %.0f ms of %.0f ms", returned * 1e3,
             done * 1e3);
}

static void events_given(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "busy", 1);
    PJRT_Buffer *in = scalar_u32(c, c->device, 3), *out;
    PJRT_Event *done = NULL;
    check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, &done));
    CHECK(done);
    check_ok(c, __FILE__, __LINE__, await(c, done));
    PJRT_Event *ready = ready_event(c, out);
    ARGS(Event_IsReady, is, .event = ready);
    OK(Event_IsReady, &is);
    CHECK(is.is_ready); /* the run is over, so its output is there */
}

static void errors_in_events(context *c)
{
    if (!tn_plugin_has(c->plugin, offsetof(PJRT_Api, PJRT_Client_CreateErrorBuffer)))
        skip("no way to make a run fail");
    ARGS(Client_CreateErrorBuffer, bad, .client = c->client, .error_code = PJRT_Error_Code_ABORTED,
         .error_message = "upstream", .error_message_size = 8, .shape_dims = (int64_t[]){4},
         .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32, .memory = c->memory);
    if (!OPTIONAL(Client_CreateErrorBuffer, &bad)) skip("no way to make a run fail");
    PJRT_LoadedExecutable *e = load(c, "two_outputs", 1);
    PJRT_Buffer *in[] = {bad.buffer, floats(c, c->device, 1, 2, 3, 4)}, *out[2];
    PJRT_Event *done = NULL;
    check_ok(c, __FILE__, __LINE__, execute(c, e, in, 2, out, &done));
    tn_status *s[] = {await(c, done), await_buffer(c, out[0]), await_buffer(c, out[1])};
    for (int i = 0; i < 3; i++) expect_error(s[i], TN_ABORTED, "upstream");
    in[0] = in[1]; /* and the next run works */
    check_ok(c, __FILE__, __LINE__, execute(c, e, in, 2, out, NULL));
    expect_floats(c, out[0], 2, 4, 6, 8);
}

static void deleted_argument(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "add", 1);
    PJRT_Buffer *in[] = {floats(c, c->device, 1, 2, 3, 4), floats(c, c->device, 1, 2, 3, 4)}, *out;
    delete_buffer(c, in[1]);
    tn_status *s = execute(c, e, in, 2, &out, NULL);
    expect_error(s, TN_INVALID_ARGUMENT, "deleted or donated");
}

static void donation(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "donate", 1);
    PJRT_Buffer *in = floats(c, c->device, 1, 2, 3, 4), *out;
    check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, NULL));
    CHECK(is_deleted(c, in));
    expect_floats(c, out, 2, 3, 4, 5);
    tn_status *s = execute(c, e, &in, 1, &out, NULL);
    expect_error(s, TN_INVALID_ARGUMENT, "");
}

static void non_donatable(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "donate", 1);
    PJRT_Buffer *in = floats(c, c->device, 1, 2, 3, 4), *out;
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                   .call_location = "",
                                   .non_donatable_input_indices = (int64_t[]){0},
                                   .num_non_donatable_input_indices = 1};
    PJRT_Buffer *const *in_rows[] = {&in};
    PJRT_Buffer **out_rows[] = {&out};
    ARGS(LoadedExecutable_Execute, args, .executable = e, .options = &options,
         .argument_lists = in_rows, .num_devices = 1, .num_args = 1, .output_lists = out_rows);
    OK(LoadedExecutable_Execute, &args);
    CHECK(!is_deleted(c, in));
    expect_floats(c, out, 2, 3, 4, 5);
    expect_floats(c, in, 1, 2, 3, 4);
}

static void donation_under_reference(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "donate", 1);
    PJRT_Buffer *in = floats(c, c->device, 1, 2, 3, 4), *out;
    ARGS(Buffer_IncreaseExternalReferenceCount, increase, .buffer = in);
    OK(Buffer_IncreaseExternalReferenceCount, &increase);
    check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, NULL));
    CHECK(!is_deleted(c, in));
    expect_floats(c, out, 2, 3, 4, 5);
    expect_floats(c, in, 1, 2, 3, 4);
}

static void donated_and_used(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "donate_one_of_two", 1);
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4), *in[] = {b, b}, *out;
    tn_status *s = execute(c, e, in, 2, &out, NULL);
    expect_error(s, TN_INVALID_ARGUMENT, "");
}

static void one_device_of_many(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "replica_id", 2);
    PJRT_Buffer *in[] = {scalar_u32(c, c->device, 10), scalar_u32(c, c->second, 20)}, *out[2] = {0};
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                   .call_location = ""};
    PJRT_Buffer *const *in_rows[] = {&in[0], &in[1]};
    PJRT_Buffer **out_rows[] = {&out[0], &out[1]};
    PJRT_Event *done[2] = {0};
    ARGS(LoadedExecutable_Execute, args, .executable = e, .options = &options,
         .argument_lists = in_rows, .num_devices = 2, .num_args = 1, .output_lists = out_rows,
         .device_complete_events = done);
    OK(LoadedExecutable_Execute, &args);
    for (int i = 0; i < 2; i++) {
        check_ok(c, __FILE__, __LINE__, await(c, done[i]));
        tn_array got;
        check_ok(c, __FILE__, __LINE__, tn_host_buffer_to_array(c->host, out[i], &got));
        CHECK_EQ(*(uint32_t *)got.data, i ? 21 : 10);
    }
    args.num_devices = 1;
    FAILS(INVALID_ARGUMENT, LoadedExecutable_Execute, &args);
}

static void portable_on_another(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "add", 1);
    PJRT_Buffer *in[] = {floats(c, c->device, 1, 2, 3, 4), floats(c, c->device, 1, 2, 3, 4)}, *out;
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                   .call_location = ""};
    PJRT_Buffer *const *in_rows[] = {in, in};
    PJRT_Buffer **out_rows[] = {&out, &out};
    ARGS(LoadedExecutable_Execute, args, .executable = e, .options = &options,
         .argument_lists = in_rows, .num_devices = 2, .num_args = 2, .output_lists = out_rows,
         .execute_device = c->device);
    FAILS(INVALID_ARGUMENT, LoadedExecutable_Execute, &args);
}

static void argument_count(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "add", 1);
    PJRT_Buffer *in[] = {floats(c, c->device, 1, 2, 3, 4), floats(c, c->device, 1, 2, 3, 4),
                         floats(c, c->device, 1, 2, 3, 4)},
                *out;
    for (size_t n = 0; n < 4; n++) {
        if (n == 2) continue;
        tn_status *s = execute(c, e, in, n, &out, NULL);
        if (!s || tn_status_code(s) != TN_INVALID_ARGUMENT)
            fail(__FILE__, __LINE__, "%zu arguments for 2: expected INVALID_ARGUMENT, got %s", n,
                 s ? tn_status_message(s) : "success");
        tn_status_free(s);
    }
}

static void context_destroyed(context *c)
{
    ARGS(ExecuteContext_Create, make, .context = NULL);
    if (!OPTIONAL(ExecuteContext_Create, &make)) skip("ExecuteContext_Create is not implemented");
    PJRT_LoadedExecutable *e = load(c, "busy", 1);
    PJRT_Buffer *in = scalar_u32(c, c->device, 3), *out;
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                   .call_location = "",
                                   .context = make.context};
    PJRT_Buffer *const *in_rows[] = {&in};
    PJRT_Buffer **out_rows[] = {&out};
    ARGS(LoadedExecutable_Execute, args, .executable = e, .options = &options,
         .argument_lists = in_rows, .num_devices = 1, .num_args = 1, .output_lists = out_rows);
    OK(LoadedExecutable_Execute, &args);
    ARGS(ExecuteContext_Destroy, destroy, .context = make.context);
    OK(ExecuteContext_Destroy, &destroy);
    check_ok(c, __FILE__, __LINE__, await_buffer(c, out));
}

static void executable_deleted(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "add", 1);
    ARGS(LoadedExecutable_IsDeleted, is, .executable = e);
    OK(LoadedExecutable_IsDeleted, &is);
    CHECK(!is.is_deleted);
    ARGS(LoadedExecutable_Delete, delete, .executable = e);
    OK(LoadedExecutable_Delete, &delete);
    OK(LoadedExecutable_IsDeleted, &is);
    CHECK(is.is_deleted);
    PJRT_Buffer *in[] = {floats(c, c->device, 1, 2, 3, 4), floats(c, c->device, 1, 2, 3, 4)}, *out;
    CHECK(execute(c, e, in, 2, &out, NULL));
}

static void empty_arrays(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "empty", 1), *k = load(c, "constant", 1);
    static float nothing[1];
    int64_t dims[] = {0, 3};
    PJRT_Client_BufferFromHostBuffer_Args args =
        host_buffer(c, nothing, PJRT_Buffer_Type_F32, dims, 2,
                    PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
    OK(Client_BufferFromHostBuffer, &args);
    PJRT_Buffer *out;
    check_ok(c, __FILE__, __LINE__, execute(c, e, &args.buffer, 1, &out, NULL));
    tn_array got;
    check_ok(c, __FILE__, __LINE__, tn_host_buffer_to_array(c->host, out, &got));
    CHECK_EQ(got.size, 0);
    CHECK_EQ(got.dims[1], 3);
    check_ok(c, __FILE__, __LINE__,
             execute(c, k, NULL, 0, &out, NULL)); /* and no arguments at all */
    expect_floats(c, out, 0, 1, 2, 3);
}

const check_row execute_checks[] = {
    {61, "outputs belong to the caller and outlive the executable and each other",
     outputs_belong_to_caller},
    {62, "Execute returns before the work is done, and outputs are usable at once", returns_early},
    {63, "device events are given when asked for and come after the outputs", events_given},
    {64, "a failed run reports in its events, and the next one works", errors_in_events},
    {65, "a deleted argument is INVALID_ARGUMENT and says so", deleted_argument},
    {66, "a donated argument is deleted at dispatch", donation},
    {66, "an argument in non_donatable_input_indices is kept", non_donatable},
    {66, "an argument with an external reference is copied, not donated", donation_under_reference},
    {67, "a buffer donated and passed twice is INVALID_ARGUMENT", donated_and_used},
    {68, "execute_device needs num_devices 1", portable_on_another},
    {69, "a wrong number of arguments is INVALID_ARGUMENT", argument_count},
    {69, "a program of two replicas runs on two devices, and not on one", one_device_of_many},
    {70, "the execute context may be destroyed right after Execute", context_destroyed},
    {73, "a deleted executable says so and does not run", executable_deleted},
    {61, "empty arrays and programs without arguments run", empty_arrays},
    {0}};
