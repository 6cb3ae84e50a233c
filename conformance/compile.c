/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "conformance/check.h"

static tn_status *compile_bytes(context *c, const void *code, size_t size, const char *format,
                                const char *options, size_t options_size)
{
    PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                            .code = (char *)code,
                            .code_size = size,
                            .format = format,
                            .format_size = strlen(format)};
    ARGS(Client_Compile, args, .client = c->client, .program = &program, .compile_options = options,
         .compile_options_size = options_size);
    tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Client_Compile, &args);
    if (!s) unload(c, args.executable);
    return s;
}

static char *program_bytes(context *c, const char *name, size_t *size)
{
    const void *from = program_data(name, size);
    char *data = malloc(*size);
    memcpy(data, from, *size);
    return data;
}

static void expect_code(tn_status *s, tn_code code, int line)
{
    if (tn_status_code(s) != code)
        fail(__FILE__, line, "expected %s, got %s %s", tn_code_name(code),
             tn_code_name(tn_status_code(s)), tn_status_message(s));
    tn_status_free(s);
}

static void bad_programs(context *c)
{
    size_t size;
    char *code = program_bytes(c, "add", &size);
    const char options[] = {3 << 3 | 2, 4, 4 << 3, 1, 5 << 3, 1};
    check_ok(c, __FILE__, __LINE__, compile_bytes(c, code, size, "mlir", options, sizeof options));
    expect_code(compile_bytes(c, code, size, "elf", options, sizeof options), TN_INVALID_ARGUMENT,
                __LINE__);
    const char bad[] = {3 << 3 | 2, 100, 1};
    expect_code(compile_bytes(c, code, size, "mlir", bad, sizeof bad), TN_INVALID_ARGUMENT,
                __LINE__);
    for (size_t cut = 0; cut < size; cut += 7) {
        tn_status *s = compile_bytes(c, code, cut, "mlir", options, sizeof options);
        if (!s) fail(__FILE__, __LINE__, "the first %zu of %zu bytes compile", cut, size);
        tn_status_free(s);
    }
}

static void compile_errors(context *c)
{
    size_t size;
    char *code = program_bytes(c, "unknown_target", &size);
    const char options[] = {3 << 3 | 2, 4, 4 << 3, 1, 5 << 3, 1};
    tn_status *s = compile_bytes(c, code, size, "mlir", options, sizeof options);
    CHECK(s && strstr(tn_status_message(s), "tenon_no_such_target"));
    CHECK(tn_status_code(s) == TN_NOT_FOUND || tn_status_code(s) == TN_UNIMPLEMENTED);
}

static void executable_outlives(context *c)
{
    PJRT_LoadedExecutable *loaded = load(c, "two_outputs", 1);
    PJRT_Executable *e = executable_of(c, loaded), *other = executable_of(c, loaded);
    unload(c, loaded);
    ARGS(Executable_NumOutputs, n, .executable = e);
    OK(Executable_NumOutputs, &n);
    CHECK_EQ(n.num_outputs, 2);
    ARGS(Executable_Name, name, .executable = e);
    OK(Executable_Name, &name);
    CHECK(name.executable_name_size > 0);
    ARGS(Executable_Destroy, destroy, .executable = e);
    OK(Executable_Destroy, &destroy);
    destroy.executable = other;
    OK(Executable_Destroy, &destroy);
}

static void device_assignment(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "add", 1);
    ARGS(LoadedExecutable_GetDeviceAssignment, args, .executable = e);
    OK(LoadedExecutable_GetDeviceAssignment, &args);
    CHECK(args.serialized_device_assignment_deleter);
    args.serialized_device_assignment_deleter(args.serialized_device_assignment);
    ARGS(LoadedExecutable_AddressableDevices, devices, .executable = e);
    OK(LoadedExecutable_AddressableDevices, &devices);
    CHECK_EQ(devices.num_addressable_devices, 1);
    ARGS(LoadedExecutable_AddressableDeviceLogicalIds, ids, .executable = e);
    if (!OPTIONAL(LoadedExecutable_AddressableDeviceLogicalIds, &ids)) return;
    CHECK_EQ(ids.num_addressable_device_logical_ids, 1);
    CHECK_EQ(ids.addressable_device_logical_ids[0].replica, 0);
    CHECK_EQ(ids.addressable_device_logical_ids[0].partition, 0);
}

static void memory_kinds(context *c)
{
    PJRT_Executable *e = executable_of(c, load(c, "two_outputs", 1));
    ARGS(Executable_OutputMemoryKinds, kinds, .executable = e);
    OK(Executable_OutputMemoryKinds, &kinds);
    CHECK_EQ(kinds.num_outputs, 2);
    for (size_t i = 0; i < 2; i++)
        CHECK(kinds.memory_kind_sizes[i] == 6 && !memcmp(kinds.memory_kinds[i], "device", 6));
}

static void output_shapes(context *c)
{
    PJRT_Executable *e = executable_of(c, load(c, "two_outputs", 1));
    ARGS(Executable_OutputElementTypes, types, .executable = e);
    OK(Executable_OutputElementTypes, &types);
    CHECK_EQ(types.num_output_types, 2);
    CHECK_EQ(types.output_types[1], PJRT_Buffer_Type_F32);
    ARGS(Executable_OutputDimensions, dims, .executable = e);
    OK(Executable_OutputDimensions, &dims);
    CHECK_EQ(dims.num_outputs, 2);
    CHECK_EQ(dims.dim_sizes[0], 1);
    CHECK_EQ(dims.dims[1], 4);
}

static void fingerprints(context *c)
{
    PJRT_Executable *e[] = {executable_of(c, load(c, "add", 1)),
                            executable_of(c, load(c, "add", 1)),
                            executable_of(c, load(c, "two_outputs", 1))};
    PJRT_Executable_Fingerprint_Args f[3];
    for (int i = 0; i < 3; i++) {
        f[i] = (PJRT_Executable_Fingerprint_Args){
            .struct_size = PJRT_Executable_Fingerprint_Args_STRUCT_SIZE, .executable = e[i]};
        if (!OPTIONAL(Executable_Fingerprint, &f[i])) skip("Fingerprint is not implemented");
        CHECK(f[i].executable_fingerprint_size > 0);
    }
    CHECK(f[0].executable_fingerprint_size == f[1].executable_fingerprint_size &&
          !memcmp(f[0].executable_fingerprint, f[1].executable_fingerprint,
                  f[0].executable_fingerprint_size));
    CHECK(f[0].executable_fingerprint_size != f[2].executable_fingerprint_size ||
          memcmp(f[0].executable_fingerprint, f[2].executable_fingerprint,
                 f[0].executable_fingerprint_size));
}

static void optimized_program(context *c)
{
    PJRT_Executable *e = executable_of(c, load(c, "add", 1));
    PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE};
    ARGS(Executable_OptimizedProgram, args, .executable = e, .program = &program);
    OK(Executable_OptimizedProgram, &args);
    CHECK(program.code_size > 0 && program.format_size > 0);
    program.code = calloc(1, program.code_size);
    size_t size = program.code_size;
    OK(Executable_OptimizedProgram, &args);
    CHECK_EQ(program.code_size, size);
    program.code_size = size - 1;
    FAILS(INVALID_ARGUMENT, Executable_OptimizedProgram, &args);
}

static void run_add(context *c, PJRT_LoadedExecutable *e)
{
    PJRT_Buffer *in[] = {floats(c, c->device, 1, 2, 3, 4), floats(c, c->device, 5, 6, 7, 8)}, *out;
    check_ok(c, __FILE__, __LINE__, execute(c, e, in, 2, &out, NULL));
    expect_floats(c, out, 6, 8, 10, 12);
}

static void serialization(context *c)
{
    PJRT_Executable *e = executable_of(c, load(c, "add", 1));
    ARGS(Executable_Serialize, args, .executable = e);
    if (!OPTIONAL(Executable_Serialize, &args)) skip("Serialize is not implemented");
    CHECK(args.serialized_bytes_size > 0);
    char *bytes = malloc(args.serialized_bytes_size);
    memcpy(bytes, args.serialized_bytes, args.serialized_bytes_size);
    size_t size = args.serialized_bytes_size;
    args.serialized_executable_deleter(args.serialized_executable);
    ARGS(Executable_DeserializeAndLoad, in, .client = c->client, .serialized_executable = bytes,
         .serialized_executable_size = size);
    OK(Executable_DeserializeAndLoad, &in);
    run_add(c, in.loaded_executable);
    free(bytes);
}

static void garbage_serialized(context *c)
{
    char garbage[300];
    for (size_t i = 0; i < sizeof garbage; i++) garbage[i] = (char)(i * 37);
    ARGS(Executable_DeserializeAndLoad, in, .client = c->client, .serialized_executable = garbage,
         .serialized_executable_size = sizeof garbage);
    tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Executable_DeserializeAndLoad, &in);
    CHECK(s);
    if (tn_status_code(s) == TN_UNIMPLEMENTED) skip("DeserializeAndLoad is not implemented");
    CHECK_EQ(tn_status_code(s), TN_INVALID_ARGUMENT);
}

static void statistics(context *c)
{
    PJRT_Executable *e = executable_of(c, load(c, "add", 1));
    ARGS(Executable_GetCompiledMemoryStats, stats, .executable = e);
    if (OPTIONAL(Executable_GetCompiledMemoryStats, &stats)) {
        CHECK_EQ(stats.argument_size_in_bytes, 32);
        CHECK_EQ(stats.output_size_in_bytes, 16);
    }
    ARGS(Executable_GetCostAnalysis, cost, .executable = e);
    if (OPTIONAL(Executable_GetCostAnalysis, &cost))
        CHECK(cost.num_properties == 0 || cost.properties);
}

/* An executable that was compiled for no client, where the plugin can; else one of a loaded one. */
static PJRT_Executable *unloaded(context *c)
{
    ARGS(Client_TopologyDescription, get, .client = c->client);
    if (!OPTIONAL(Client_TopologyDescription, &get)) return executable_of(c, load(c, "add", 1));
    size_t size;
    char *code = program_bytes(c, "add", &size);
    const char options[] = {3 << 3 | 2, 4, 4 << 3, 1, 5 << 3, 1};
    PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                            .code = code,
                            .code_size = size,
                            .format = "mlir",
                            .format_size = 4};
    ARGS(Compile, args, .topology = get.topology, .program = &program, .compile_options = options,
         .compile_options_size = sizeof options, .client = c->client);
    tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Compile, &args);
    free(code);
    if (!s) return args.executable;
    tn_status_free(s); /* no compiler without devices */
    return executable_of(c, load(c, "add", 1));
}

static void loaded_twice(context *c)
{
    if (!tn_plugin_has(c->plugin, offsetof(PJRT_Api, PJRT_Client_Load))) skip("older than 0.95");
    PJRT_Executable *e = unloaded(c);
    PJRT_LoadedExecutable *loaded[2];
    for (int i = 0; i < 2; i++) {
        ARGS(Client_Load, args, .client = c->client, .executable = e);
        if (!OPTIONAL(Client_Load, &args)) skip("Client_Load is not implemented");
        loaded[i] = args.loaded_executable;
    }
    CHECK(loaded[0] != loaded[1]);
    ARGS(LoadedExecutable_Delete, delete, .executable = loaded[0]);
    OK(LoadedExecutable_Delete, &delete);
    run_add(c, loaded[1]);
}

const check_row compile_checks[] = {
    {46, "unknown formats, bad options and truncated programs are errors", bad_programs},
    {48, "a compile error names its cause and has the fitting code", compile_errors},
    {49, "GetExecutable gives an executable that outlives the loaded one", executable_outlives},
    {51, "device assignment has a deleter; logical ids match the addressable devices",
     device_assignment},
    {53, "OutputMemoryKinds has one string per output", memory_kinds},
    {54, "output types and dimensions cover every output", output_shapes},
    {55, "fingerprints of equal programs are equal", fingerprints},
    {56, "OptimizedProgram tells its size first and refuses too little room", optimized_program},
    {57, "a serialized executable loads and runs", serialization},
    {58, "garbage does not deserialize", garbage_serialized},
    {59, "memory statistics and cost analysis are right or UNIMPLEMENTED", statistics},
    {60, "one executable loads twice, independently", loaded_twice},
    {0}};
