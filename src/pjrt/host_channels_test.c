/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that talk with their caller, through the C API. */
#include "pjrt/pjrt_test.h"

#define API(name, args) ok(tn_pjrt_api()->PJRT_##name(args))

static PJRT_Client *open_client(void)
{
    ARGS(Client_Create, args, .num_options = 0);
    API(Client_Create, &args);
    return args.client;
}

static void close_client(PJRT_Client *c)
{
    ARGS(Client_Destroy, args, .client = c);
    API(Client_Destroy, &args);
}

static PJRT_LoadedExecutable *load(PJRT_Client *c, const char *text)
{
    PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                            .code = (char *)text,
                            .code_size = strlen(text),
                            .format = "mlir",
                            .format_size = 4};
    ARGS(Client_Compile, args, .client = c, .program = &program);
    API(Client_Compile, &args);
    return args.executable;
}

static void unload(PJRT_LoadedExecutable *e)
{
    ARGS(LoadedExecutable_Destroy, args, .executable = e);
    API(LoadedExecutable_Destroy, &args);
}

/* What the host said and heard. */
typedef struct {
    int32_t sent[4];
    size_t bytes, chunks; /* chunks in which the host answers */
    int calls;
    bool refuses;
} host;

static PJRT_Error *on_send(PJRT_Chunk *chunk, PJRT_CallbackError *make_error, size_t total,
                           bool done, void *arg)
{
    host *h = arg;
    h->calls++;
    h->bytes = total;
    assert_true(done && chunk->size == total && total <= sizeof h->sent);
    memcpy(h->sent, chunk->data, chunk->size);
    chunk->deleter(chunk->data, chunk->deleter_arg);
    return h->refuses ? (*make_error)(PJRT_Error_Code_ABORTED, "not now", 7) : NULL;
}

static void keep(void *data, void *arg) {}

static void on_receive(PJRT_CopyToDeviceStream *stream, void *arg)
{
    const host *h = arg;
    static int32_t answer[] = {10, 20, 30, 40};
    ARGS(CopyToDeviceStream_TotalBytes, total, .stream = stream);
    API(CopyToDeviceStream_TotalBytes, &total);
    assert_int_equal(total.total_bytes, sizeof answer);
    size_t size = h->chunks ? sizeof answer / h->chunks : 0;
    for (size_t i = 0; i < h->chunks; i++) {
        PJRT_Chunk chunk = {.data = (char *)answer + i * size, .size = size, .deleter = keep};
        ARGS(CopyToDeviceStream_AddChunk, add, .stream = stream, .chunk = &chunk);
        API(CopyToDeviceStream_AddChunk, &add);
        ARGS(Event_Destroy, end, .event = add.transfer_complete);
        API(Event_Destroy, &end);
    }
    ARGS(CopyToDeviceStream_Destroy, end, .stream = stream);
    API(CopyToDeviceStream_Destroy, &end);
}

static const char program[] =
    "func.func @main() -> tensor<4xi32> {\n"
    "%x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>\n"
    "%t = stablehlo.after_all : !stablehlo.token\n"
    "%s = \"stablehlo.send\"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 7, type "
    "= 2>, is_host_transfer = true}> : (tensor<4xi32>, !stablehlo.token) -> !stablehlo.token\n"
    "%r:2 = \"stablehlo.recv\"(%s) <{channel_handle = #stablehlo.channel_handle<handle = 8, type = "
    "3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xi32>, !stablehlo.token)\n"
    "%y = stablehlo.add %x, %r#0 : tensor<4xi32>\nreturn %y : tensor<4xi32>\n}";

/* Runs it and gives the error of the run; what comes out goes to got[4]. */
static tn_status *run(PJRT_LoadedExecutable *e, host *h, bool serve_sends, int32_t *got)
{
    PJRT_SendCallbackInfo send = {.channel_id = 7, .user_arg = h, .send_callback = on_send};
    PJRT_RecvCallbackInfo receive = {.channel_id = 8, .user_arg = h, .recv_callback = on_receive};
    PJRT_SendCallbackInfo *sends[] = {&send};
    PJRT_RecvCallbackInfo *receives[] = {&receive};
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                   .send_callbacks = sends,
                                   .recv_callbacks = receives,
                                   .num_send_ops = serve_sends,
                                   .num_recv_ops = 1};
    PJRT_Buffer *out = NULL, **outs[] = {&out}, *const * in[] = {NULL};
    PJRT_Event *done[1];
    ARGS(LoadedExecutable_Execute, args, .executable = e, .options = &options,
         .argument_lists = (PJRT_Buffer *const *const *)in, .num_devices = 1, .output_lists = outs,
         .device_complete_events = done);
    PJRT_Error *refused = tn_pjrt_api()->PJRT_LoadedExecutable_Execute(&args);
    if (refused) return tn_pjrt_status(refused);
    ARGS(Event_Await, await, .event = done[0]);
    tn_status *s = tn_pjrt_status(tn_pjrt_api()->PJRT_Event_Await(&await));
    ARGS(Event_Destroy, end_event, .event = done[0]);
    API(Event_Destroy, &end_event);
    if (!s) {
        ARGS(Buffer_ToHostBuffer, read, .src = out, .dst = got, .dst_size = 16);
        API(Buffer_ToHostBuffer, &read);
        ARGS(Event_Await, copied, .event = read.event);
        API(Event_Await, &copied);
        ARGS(Event_Destroy, end_copy, .event = read.event);
        API(Event_Destroy, &end_copy);
    }
    ARGS(Buffer_Destroy, end, .buffer = out);
    API(Buffer_Destroy, &end);
    return s;
}

static void a_program_talks_with_its_caller(void **state)
{
    PJRT_Client *c = open_client();
    PJRT_LoadedExecutable *e = load(c, program);
    for (size_t chunks = 1; chunks <= 4; chunks *= 2) {
        host h = {.chunks = chunks};
        int32_t got[4];
        must(run(e, &h, true, got));
        assert_int_equal(h.calls, 1);
        assert_int_equal(h.bytes, 16);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(h.sent[i], i + 1);
            assert_int_equal(got[i], (i + 1) * 11);
        }
    }
    unload(e);
    close_client(c);
}

static void failures_of_the_host_fail_the_run(void **state)
{
    PJRT_Client *c = open_client();
    PJRT_LoadedExecutable *e = load(c, program);
    host h = {.chunks = 1, .refuses = true};
    int32_t got[4];
    expect_status(run(e, &h, true, got), TN_ABORTED, "not now");
    host silent = {.chunks = 0}; /* ends the stream without a byte */
    expect_status(run(e, &silent, true, got), TN_CANCELLED, "stablehlo.recv");
    expect_status(run(e, &h, false, got), TN_NOT_FOUND, "no send callback for channel 7");
    unload(e);
    close_client(c);
}

static void feeds_are_refused(void **state)
{
    static const char text[] =
        "func.func @main(%t: !stablehlo.token) -> tensor<4xi32> {\n"
        "%r:2 = \"stablehlo.infeed\"(%t) <{infeed_config = \"\"}> : (!stablehlo.token) -> "
        "(tensor<4xi32>, !stablehlo.token)\nreturn %r#0 : tensor<4xi32>\n}";
    PJRT_Client *c = open_client();
    PJRT_Program p = {.struct_size = PJRT_Program_STRUCT_SIZE,
                      .code = (char *)text,
                      .code_size = strlen(text),
                      .format = "mlir",
                      .format_size = 4};
    ARGS(Client_Compile, args, .client = c, .program = &p);
    expect_error(tn_pjrt_api()->PJRT_Client_Compile(&args), TN_UNIMPLEMENTED,
                 "nothing can fill an infeed");
    close_client(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_program_talks_with_its_caller),
                                       cmocka_unit_test(failures_of_the_host_fail_the_run),
                                       cmocka_unit_test(feeds_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
