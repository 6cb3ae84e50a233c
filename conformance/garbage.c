/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever comes in, a status goes out. */
#include <stdio.h>

#include "conformance/check.h"

static uint32_t state;
static uint32_t next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static const char options_ok[] = {3 << 3 | 2, 4, 4 << 3, 1, 5 << 3, 1};

static tn_status *compile(context *c, const void *code, size_t size, const void *options, size_t n)
{
    PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                            .code = (char *)code,
                            .code_size = size,
                            .format = "mlir",
                            .format_size = 4};
    ARGS(Client_Compile, args, .client = c->client, .program = &program, .compile_options = options,
         .compile_options_size = n);
    TN_TRY(TN_PLUGIN_CALL(c->plugin, PJRT_Client_Compile, &args));
    unload(c, args.executable);
    return NULL;
}

static const char *const damaged[] = {"add", "two_outputs", "busy", "replica_id"};
static const char *program_name(const check_row *row, int i)
{
    return i < 4 ? damaged[i] : NULL;
}

/* Bytes of real programs with a few of them changed: compiled or refused, in any case a status. */
static void programs(context *c)
{
    size_t size;
    const char *from = program_data(damaged[c->variant], &size);
    char *code = malloc(size);
    state = (uint32_t)c->variant + 1;
    int refused = 0;
    for (int i = 0; i < 60; i++) {
        memcpy(code, from, size);
        for (int k = 0; k < 1 + i % 4; k++) code[4 + next() % (size - 4)] = (char)next();
        tn_status *s = compile(c, code, size, options_ok, sizeof options_ok);
        if (s && !*tn_status_message(s)) fail(__FILE__, __LINE__, "an error without a message");
        refused += s != NULL;
        tn_status_free(s);
    }
    measured("%d of 60 damaged programs were refused", refused);
    free(code);
}

static void noise(context *c)
{
    char bytes[512];
    state = 99;
    for (int i = 0; i < 40; i++) {
        size_t n = next() % sizeof bytes;
        for (size_t k = 0; k < n; k++) bytes[k] = (char)next();
        if (i % 2 && n > 4) memcpy(bytes, "ML\xefR", 4);
        tn_status *s = compile(c, bytes, n, options_ok, sizeof options_ok);
        if (!s) fail(__FILE__, __LINE__, "%zu random bytes compile", n);
        tn_status_free(s);
    }
    tn_status *s = compile(c, NULL, 0, options_ok, sizeof options_ok);
    if (!s) fail(__FILE__, __LINE__, "no bytes at all compile");
    tn_status_free(s);
}

static void options(context *c)
{
    size_t size;
    const void *code = program_data("add", &size);
    char bytes[64];
    state = 5;
    for (int i = 0; i < 80; i++) {
        size_t n = 1 + next() % (sizeof bytes - 1);
        for (size_t k = 0; k < n; k++) bytes[k] = (char)next();
        tn_status_free(compile(c, code, size, bytes, n));
    }
}

static void serialized(context *c)
{
    PJRT_Executable *e = executable_of(c, load(c, "add", 1));
    ARGS(Executable_Serialize, out, .executable = e);
    if (!OPTIONAL(Executable_Serialize, &out)) skip("Serialize is not implemented");
    size_t n = out.serialized_bytes_size;
    char *bytes = malloc(n);
    state = 17;
    for (int i = 0; i < 40; i++) {
        memcpy(bytes, out.serialized_bytes, n);
        size_t size = i % 4 == 3 ? next() % n : n;
        for (int k = 0; k < 3; k++) bytes[next() % n] = (char)next();
        ARGS(Executable_DeserializeAndLoad, in, .client = c->client, .serialized_executable = bytes,
             .serialized_executable_size = size);
        tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Executable_DeserializeAndLoad, &in);
        if (!s) unload(c, in.loaded_executable);
        tn_status_free(s);
    }
    out.serialized_executable_deleter(out.serialized_executable);
}

/* Programs of known crashes of CPU backends: a value or an error, no dead process. */
static const struct {
    const char *name, *text;
} hard[] = {
    {"negative-window-padding",
     "func.func @main(%a: tensor<8x4xf32>) -> tensor<7x4xf32> {\n"
     "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
     "  %r = \"stablehlo.reduce_window\"(%a, %z) <{padding = dense<[[-1, 0], [0, 0]]> : "
     "tensor<2x2xi64>, "
     "window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 1, 1>}> ({\n"
     "  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
     "    %s = stablehlo.add %x, %y : tensor<f32>\n    stablehlo.return %s : tensor<f32>\n"
     "  }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<7x4xf32>\n"
     "  return %r : tensor<7x4xf32>\n}\n"},
    {"type-mismatch",
     "func.func @main(%a: tensor<4xf32>) -> tensor<4xi32> {\n"
     "  %r = stablehlo.add %a, %a : tensor<4xf32>\n  return %r : tensor<4xi32>\n}\n"},
    {"huge-constant-shape",
     "func.func @main() -> tensor<1000000x1000000x1000000xf32> {\n"
     "  %r = stablehlo.constant dense<0.0> : tensor<1000000x1000000x1000000xf32>\n"
     "  return %r : tensor<1000000x1000000x1000000xf32>\n}\n"},
    {"gather-out-of-rank",
     "func.func @main(%a: tensor<4xf32>, %i: tensor<2x1xi32>) -> tensor<2xf32> {\n"
     "  %r = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = "
     "[5], "
     "collapsed_slice_dims = [7], start_index_map = [9], index_vector_dim = 1>, slice_sizes = "
     "array<i64: 1>}> : (tensor<4xf32>, tensor<2x1xi32>) -> tensor<2xf32>\n"
     "  return %r : tensor<2xf32>\n}\n"},
    {"unknown-op", "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                   "  %r = \"stablehlo.no_such_op\"(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
                   "  return %r : tensor<4xf32>\n}\n"},
    {"endless-recursion", "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                          "  %r = func.call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
                          "  return %r : tensor<4xf32>\n}\n"},
};
static const char *hard_name(const check_row *row, int i)
{
    return i < (int)(sizeof hard / sizeof *hard) ? hard[i].name : NULL;
}

static void hard_programs(context *c)
{
    PJRT_LoadedExecutable *e;
    tn_status *s = try_text(c, hard[c->variant].text, &e);
    if (s) {
        if (!*tn_status_message(s)) fail(__FILE__, __LINE__, "an error without a message");
        if (c->variant == 0 && tn_status_code(s) != TN_UNIMPLEMENTED)
            fail(__FILE__, __LINE__, "a valid program: %s", tn_status_message(s));
        measured("refused: %.200s", tn_status_message(s));
        tn_status_free(s);
        return;
    }
    if (c->variant == 0) {
        float data[32];
        for (int i = 0; i < 32; i++) data[i] = (float)i;
        PJRT_Buffer *in = array(c, data, PJRT_Buffer_Type_F32, (int64_t[]){8, 4}, 2), *out;
        check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, NULL));
        tn_array got = read_buffer(c, out);
        CHECK_EQ(got.size, 7 * 4 * 4);
        for (int i = 0; i < 28; i++)
            if (((float *)got.data)[i] != (float)(i + 4))
                fail(__FILE__, __LINE__, "element %d is %g, expected %d", i,
                     (double)((float *)got.data)[i], i + 4);
    }
}

static void sizes(context *c)
{
    static float data[16];
    const int64_t bad[][2] = {{-1, 4}, {INT64_MAX, 2}, {INT64_MAX / 2, 4}, {1ll << 40, 1ll << 40}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        PJRT_Client_BufferFromHostBuffer_Args put =
            host_buffer(c, data, PJRT_Buffer_Type_F32, bad[i], 2,
                        PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
        tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Client_BufferFromHostBuffer, &put);
        if (!s)
            fail(__FILE__, __LINE__, "a buffer of f32[%lld,%lld] was made", (long long)bad[i][0],
                 (long long)bad[i][1]);
        tn_status_free(s);
    }
    PJRT_Client_BufferFromHostBuffer_Args put =
        host_buffer(c, data, (PJRT_Buffer_Type)999, (int64_t[]){4}, 1,
                    PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
    tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Client_BufferFromHostBuffer, &put);
    if (!s) fail(__FILE__, __LINE__, "a buffer of element type 999 was made");
    tn_status_free(s);
}

const check_row garbage_checks[] = {
    {160, "damaged programs give a status", programs, program_name},
    {160, "noise for a program gives an error", noise},
    {161, "noise for compile options gives a status", options},
    {162, "damaged serialized executables give a status", serialized},
    {163, "programs known to end processes give a value or an error", hard_programs, hard_name},
    {164, "negative and overflowing sizes are errors", sizes},
    {0}};
