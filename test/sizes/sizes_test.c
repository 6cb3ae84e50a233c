/* SPDX-License-Identifier: Apache-2.0 */
/* One executable at many sizes, through the C ABI of a plugin: values, threads, more sizes than are
 * kept, donation, errors, what is reported, serialization. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tenon/host.h"

static const char *plugin_path;

typedef struct {
    tn_plugin *plugin;
    tn_host_client *client;
    tn_host_executable *program;
} fixture;

#define MUST(expr)                                                                                 \
    do {                                                                                           \
        tn_status *must_ = (expr);                                                                 \
        if (must_) fail_msg("%s", tn_status_message(must_));                                       \
    } while (0)
#define ARGS(name, ...)     {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, __VA_ARGS__}
#define CALL(f, name, args) TN_PLUGIN_CALL((f)->plugin, PJRT_##name, args)

/* y = 2 x + size of x, which is donated. */
static const char program_text[] =
    "func.func @main(%x: tensor<?xf32> {tf.aliasing_output = 0 : i32}) -> tensor<?xf32> {\n"
    "  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
    "  %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
    "  %f = stablehlo.convert %n : (tensor<i32>) -> tensor<f32>\n"
    "  %b = stablehlo.dynamic_broadcast_in_dim %f, %s, dims = [] : (tensor<f32>, tensor<1xi32>) "
    "-> tensor<?xf32>\n"
    "  %z = stablehlo.add %x, %x : tensor<?xf32>\n"
    "  %y = stablehlo.add %z, %b : tensor<?xf32>\n"
    "  return %y : tensor<?xf32>\n"
    "}\n";

/* iota of the size that the argument says by its value, and a bounded result. */
static const char value_text[] =
    "func.func @main(%n: tensor<i64>, %x: tensor<4xf32>) -> (tensor<?xf32>, tensor<?xf32, "
    "#stablehlo.bounds<4>>) {\n"
    "  %s = stablehlo.reshape %n : (tensor<i64>) -> tensor<1xi64>\n"
    "  %y = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>\n"
    "  %m = stablehlo.convert %n : (tensor<i64>) -> tensor<i32>\n"
    "  %z = stablehlo.set_dimension_size %x, %m, dim = 0 : (tensor<4xf32>, tensor<i32>) -> "
    "tensor<?xf32, #stablehlo.bounds<4>>\n"
    "  return %y, %z : tensor<?xf32>, tensor<?xf32, #stablehlo.bounds<4>>\n"
    "}\n";

static void open_program(fixture *f, const char *text)
{
    MUST(tn_plugin_open(plugin_path, &f->plugin));
    MUST(tn_host_client_create(f->plugin, NULL, 0, &f->client));
    MUST(tn_host_executable_compile(f->client, text, strlen(text), "mlir", 1, 1, &f->program));
}

static void close_program(fixture *f)
{
    tn_host_executable_free(f->program);
    tn_host_client_destroy(f->client);
    tn_plugin_close(f->plugin);
}

static tn_array ramp(int64_t n)
{
    tn_array x;
    MUST(tn_array_make(PJRT_Buffer_Type_F32, 1, &n, &x));
    for (int64_t i = 0; i < n; i++) ((float *)x.data)[i] = (float)i;
    return x;
}

static bool is_right(const tn_array *y, int64_t n)
{
    if (y->type != PJRT_Buffer_Type_F32 || y->rank != 1 || y->dims[0] != n) return false;
    for (int64_t i = 0; i < n; i++)
        if (((const float *)y->data)[i] != (float)(2 * i + n)) return false;
    return true;
}

/* The error of a run, whose result must be right. */
static tn_status *run_at(tn_host_executable *p, int64_t n, bool *right)
{
    tn_array x = ramp(n), y = {0};
    tn_status *s = tn_host_executable_run(p, &x, 1, &y, NULL);
    *right = s || is_right(&y, n);
    tn_array_free(&x);
    tn_array_free(&y);
    return s;
}

static void runs_at_several_sizes(void **state)
{
    fixture f;
    open_program(&f, program_text);
    const int64_t sizes[] = {3, 1000, 1, 0, 3, 100000, 1000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        bool right;
        MUST(run_at(f.program, sizes[i], &right));
        assert_true(right);
    }
    close_program(&f);
}

static void more_sizes_than_are_kept(void **state)
{
    fixture f;
    open_program(&f, program_text);
    for (int round = 0; round < 2; round++)
        for (int64_t n = 1; n < 200; n++) {
            bool right;
            MUST(run_at(f.program, n, &right));
            assert_true(right);
        }
    close_program(&f);
}

typedef struct {
    const fixture *f;
    int64_t first;
    bool right;
    char error[256];
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    for (int i = 0; i < 60 && w->right; i++) {
        tn_status *s = run_at(w->f->program, 1 + (w->first + i * 7) % 150, &w->right);
        if (s) {
            snprintf(w->error, sizeof w->error, "%s", tn_status_message(s));
            tn_status_free(s);
            w->right = false;
        }
    }
    return NULL;
}

static void several_threads_run_at_sizes_of_their_own(void **state)
{
    enum { N = 6 };
    fixture f;
    open_program(&f, program_text);
    pthread_t threads[N];
    worker workers[N];
    for (int i = 0; i < N; i++) {
        workers[i] = (worker){.f = &f, .first = 3 * i, .right = true};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < N; i++)
        if (!workers[i].right) fail_msg("thread %d: %s", i, workers[i].error);
    close_program(&f);
}

/* ---- One call ---- */

static PJRT_Buffer *put(const fixture *f, const tn_array *a)
{
    PJRT_Buffer *b;
    MUST(tn_host_buffer_from_array(f->client, tn_host_client_device(f->client, 0), a, &b));
    return b;
}

static tn_status *execute(const fixture *f, PJRT_Buffer *const *args, size_t n, PJRT_Buffer **outs)
{
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                   .call_location = ""};
    PJRT_LoadedExecutable_Execute_Args a =
        ARGS(LoadedExecutable_Execute, .executable = tn_host_executable_handle(f->program),
             .options = &options, .argument_lists = &args, .num_devices = 1, .num_args = n,
             .output_lists = (PJRT_Buffer * *const[]){outs});
    return CALL(f, LoadedExecutable_Execute, &a);
}

static void donated_arguments_go(void **state)
{
    fixture f;
    open_program(&f, program_text);
    tn_array x = ramp(4096), y;
    PJRT_Buffer *in = put(&f, &x), *out, *none;
    MUST(execute(&f, &in, 1, &out));
    PJRT_Buffer_IsDeleted_Args deleted = ARGS(Buffer_IsDeleted, .buffer = in);
    MUST(CALL(&f, Buffer_IsDeleted, &deleted));
    assert_true(deleted.is_deleted);
    MUST(tn_host_buffer_to_array(f.client, out, &y));
    assert_true(is_right(&y, 4096));
    tn_status *s = execute(&f, &in, 1, &none);
    assert_non_null(strstr(tn_status_message(s), "deleted or donated"));
    tn_status_free(s);
    tn_host_buffer_destroy(f.client, in);
    tn_host_buffer_destroy(f.client, out);
    tn_array_free(&x);
    tn_array_free(&y);
    close_program(&f);
}

static void donating_twice_is_refused(void **state)
{
    fixture f;
    open_program(&f, "func.func @main(%x: tensor<?xf32> {tf.aliasing_output = 0 : i32}, %y: "
                     "tensor<?xf32>) -> tensor<?xf32> {\n"
                     "  %z = stablehlo.add %x, %y : tensor<?xf32>\n"
                     "  return %z : tensor<?xf32>\n"
                     "}\n");
    tn_array x = ramp(3), y;
    PJRT_Buffer *in = put(&f, &x), *out;
    tn_status *s = execute(&f, (PJRT_Buffer *[]){in, in}, 2, &out);
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    assert_non_null(strstr(tn_status_message(s), "f(donate(a), a)"));
    tn_status_free(s);
    MUST(tn_host_buffer_to_array(f.client, in, &y)); /* it is still there */
    tn_array_free(&y);
    tn_host_buffer_destroy(f.client, in);
    tn_array_free(&x);
    close_program(&f);
}

static void arguments_that_do_not_fit_are_named(void **state)
{
    fixture f;
    open_program(&f, program_text);
    int64_t dims[2] = {2, 3};
    tn_array x;
    MUST(tn_array_make(PJRT_Buffer_Type_F32, 2, dims, &x));
    PJRT_Buffer *in = put(&f, &x), *out;
    tn_status *s = execute(&f, &in, 1, &out);
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    assert_non_null(strstr(tn_status_message(s), "expected tensor<?xf32>, got tensor<2x3xf32>"));
    tn_status_free(s);
    tn_host_buffer_destroy(f.client, in);
    tn_array_free(&x);
    close_program(&f);
}

static void sizes_may_be_values_of_arguments(void **state)
{
    fixture f;
    open_program(&f, value_text);
    for (int64_t n = 4; n >= 0; n--) {
        tn_array in[2], out[2];
        MUST(tn_array_make(PJRT_Buffer_Type_S64, 0, NULL, &in[0]));
        *(int64_t *)in[0].data = n;
        in[1] = ramp(4);
        MUST(tn_host_executable_run(f.program, in, 2, out, NULL));
        for (int k = 0; k < 2; k++) {
            assert_int_equal(out[k].dims[0], n);
            assert_memory_equal(out[k].data, in[1].data, (size_t)n * sizeof(float));
            tn_array_free(&out[k]);
            tn_array_free(&in[k]);
        }
    }
    tn_array in[2];
    MUST(tn_array_make(PJRT_Buffer_Type_S64, 0, NULL, &in[0]));
    *(int64_t *)in[0].data = 5;
    in[1] = ramp(4);
    tn_array out[2];
    tn_status *s = tn_host_executable_run(f.program, in, 2, out, NULL);
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    assert_non_null(strstr(tn_status_message(s), "more than its bound"));
    tn_status_free(s);
    tn_array_free(&in[0]);
    tn_array_free(&in[1]);
    close_program(&f);
}

/* An unknown size is INT64_MIN, as in MLIR and in XLA's shapes; a bounded one is its bound. A
 * buffer is as large as its content and has no dynamic dimension. */
static void what_is_reported(void **state)
{
    fixture f;
    open_program(&f, value_text);
    PJRT_LoadedExecutable_GetExecutable_Args get = ARGS(
        LoadedExecutable_GetExecutable, .loaded_executable = tn_host_executable_handle(f.program));
    MUST(CALL(&f, LoadedExecutable_GetExecutable, &get));
    PJRT_Executable_OutputDimensions_Args dims =
        ARGS(Executable_OutputDimensions, .executable = get.executable);
    MUST(CALL(&f, Executable_OutputDimensions, &dims));
    assert_int_equal(dims.num_outputs, 2);
    assert_true(dims.dims[0] == INT64_MIN);
    assert_int_equal(dims.dims[1], 4);
    PJRT_Executable_Destroy_Args destroy = ARGS(Executable_Destroy, .executable = get.executable);
    MUST(CALL(&f, Executable_Destroy, &destroy));

    tn_array n, x = ramp(4);
    MUST(tn_array_make(PJRT_Buffer_Type_S64, 0, NULL, &n));
    *(int64_t *)n.data = 3;
    PJRT_Buffer *in[2] = {put(&f, &n), put(&f, &x)}, *outs[2];
    MUST(execute(&f, in, 2, outs));
    for (int i = 0; i < 2; i++) {
        PJRT_Buffer_Dimensions_Args padded = ARGS(Buffer_Dimensions, .buffer = outs[i]);
        PJRT_Buffer_UnpaddedDimensions_Args unpadded =
            ARGS(Buffer_UnpaddedDimensions, .buffer = outs[i]);
        PJRT_Buffer_DynamicDimensionIndices_Args dynamic =
            ARGS(Buffer_DynamicDimensionIndices, .buffer = outs[i]);
        MUST(CALL(&f, Buffer_Dimensions, &padded));
        MUST(CALL(&f, Buffer_UnpaddedDimensions, &unpadded));
        MUST(CALL(&f, Buffer_DynamicDimensionIndices, &dynamic));
        assert_int_equal(padded.dims[0], 3);
        assert_int_equal(unpadded.unpadded_dims[0], 3);
        assert_int_equal(dynamic.num_dynamic_dims, 0);
        tn_host_buffer_destroy(f.client, outs[i]);
        tn_host_buffer_destroy(f.client, in[i]);
    }
    tn_array_free(&n);
    tn_array_free(&x);
    close_program(&f);
}

static void a_stored_one_runs_at_several_sizes(void **state)
{
    fixture f;
    open_program(&f, program_text);
    PJRT_LoadedExecutable_GetExecutable_Args get = ARGS(
        LoadedExecutable_GetExecutable, .loaded_executable = tn_host_executable_handle(f.program));
    MUST(CALL(&f, LoadedExecutable_GetExecutable, &get));
    PJRT_Executable_Serialize_Args store = ARGS(Executable_Serialize, .executable = get.executable);
    MUST(CALL(&f, Executable_Serialize, &store));
    PJRT_Executable_DeserializeAndLoad_Args load =
        ARGS(Executable_DeserializeAndLoad, .client = tn_host_client_handle(f.client),
             .serialized_executable = store.serialized_bytes,
             .serialized_executable_size = store.serialized_bytes_size);
    MUST(CALL(&f, Executable_DeserializeAndLoad, &load));
    store.serialized_executable_deleter(store.serialized_executable);
    for (int64_t n = 2; n < 5; n++) {
        tn_array x = ramp(n), y;
        PJRT_Buffer *in = put(&f, &x), *out;
        PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                       .call_location = ""};
        PJRT_LoadedExecutable_Execute_Args a =
            ARGS(LoadedExecutable_Execute, .executable = load.loaded_executable,
                 .options = &options, .argument_lists = (PJRT_Buffer *const *const[]){&in},
                 .num_devices = 1, .num_args = 1, .output_lists = (PJRT_Buffer * *const[]){&out});
        MUST(CALL(&f, LoadedExecutable_Execute, &a));
        MUST(tn_host_buffer_to_array(f.client, out, &y));
        assert_true(is_right(&y, n));
        tn_host_buffer_destroy(f.client, in);
        tn_host_buffer_destroy(f.client, out);
        tn_array_free(&x);
        tn_array_free(&y);
    }
    PJRT_LoadedExecutable_Destroy_Args end =
        ARGS(LoadedExecutable_Destroy, .executable = load.loaded_executable);
    MUST(CALL(&f, LoadedExecutable_Destroy, &end));
    PJRT_Executable_Destroy_Args destroy = ARGS(Executable_Destroy, .executable = get.executable);
    MUST(CALL(&f, Executable_Destroy, &destroy));
    close_program(&f);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    plugin_path = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_at_several_sizes),
        cmocka_unit_test(more_sizes_than_are_kept),
        cmocka_unit_test(several_threads_run_at_sizes_of_their_own),
        cmocka_unit_test(donated_arguments_go),
        cmocka_unit_test(donating_twice_is_refused),
        cmocka_unit_test(arguments_that_do_not_fit_are_named),
        cmocka_unit_test(sizes_may_be_values_of_arguments),
        cmocka_unit_test(what_is_reported),
        cmocka_unit_test(a_stored_one_runs_at_several_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
