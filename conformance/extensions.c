/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>

#include "conformance/check.h"
#include "tenon/pjrt_extensions.h"

static const void *extension(context *c, PJRT_Extension_Type type)
{
    for (const PJRT_Extension_Base *e = c->api->extension_start; e; e = e->next)
        if (e->type == type) return e;
    return NULL;
}

/* Calls a slot of an extension if its struct covers it. */
#define EXT_HAS(e, slot)                                                                           \
    ((e) && (e)->base.struct_size >= offsetof(__typeof__(*(e)), slot) + sizeof(void *) && (e)->slot)
#define EXT(e, slot, args)    tn_plugin_status(c->plugin, (e)->slot(args), #slot)
#define EXT_OK(e, slot, args) check_ok(c, __FILE__, __LINE__, EXT(e, slot, args))
#define EARGS(name, var, ...)                                                                      \
    PJRT_##name##_Args var = {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, __VA_ARGS__}

static void chain(context *c)
{
    unsigned long seen = 0;
    int n = 0;
    for (const PJRT_Extension_Base *e = c->api->extension_start; e; e = e->next) {
        if (++n > 64) fail(__FILE__, __LINE__, "the chain does not end");
        if (e->struct_size < PJRT_Extension_Base_STRUCT_SIZE)
            fail(__FILE__, __LINE__, "extension %d has a struct_size of %zu", (int)e->type,
                 e->struct_size);
        if ((unsigned)e->type < 64) {
            if (seen >> e->type & 1)
                fail(__FILE__, __LINE__, "extension %d stands twice in the chain", (int)e->type);
            seen |= 1ul << e->type;
        }
    }
    measured("%d extensions", n);
}

static void expect_layout(context *c, const PJRT_Layouts_Extension *l, PJRT_Layouts_MemoryLayout *m,
                          const char *want)
{
    EARGS(Layouts_MemoryLayout_Serialize, s, .layout = m);
    EXT_OK(l, PJRT_Layouts_MemoryLayout_Serialize, &s);
    CHECK(s.serialized_bytes_size > 0 && s.serialized_layout_deleter);
    if (s.serialized_bytes_size < strlen(want) || memcmp(s.serialized_bytes, want, strlen(want)))
        fail(__FILE__, __LINE__, "the layout is '%.*s', expected '%s'",
             (int)s.serialized_bytes_size, s.serialized_bytes, want);
    s.serialized_layout_deleter(s.serialized_layout);
}

static void layouts(context *c)
{
    const PJRT_Layouts_Extension *l = extension(c, PJRT_Extension_Type_Layouts);
    if (!l) skip("no Layouts extension");
    float data[6] = {0};
    int64_t dims[] = {2, 3};
    PJRT_Buffer *b = array(c, data, PJRT_Buffer_Type_F32, dims, 2);
    EARGS(Layouts_PJRT_Buffer_MemoryLayout, of, .buffer = b);
    EXT_OK(l, PJRT_Layouts_PJRT_Buffer_MemoryLayout, &of);
    expect_layout(c, l, of.layout, "{1,0");
    EARGS(Layouts_MemoryLayout_Destroy, d, .layout = of.layout);
    EXT_OK(l, PJRT_Layouts_MemoryLayout_Destroy, &d);
    EARGS(Layouts_PJRT_Client_GetDefaultLayout, def, .client = c->client,
          .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 2);
    EXT_OK(l, PJRT_Layouts_PJRT_Client_GetDefaultLayout, &def);
    expect_layout(c, l, def.layout, "{1,0");
    d.layout = def.layout;
    EXT_OK(l, PJRT_Layouts_MemoryLayout_Destroy, &d);
    PJRT_Executable *e = executable_of(c, load(c, "two_outputs", 1));
    if (EXT_HAS(l, PJRT_Layouts_PJRT_Executable_GetOutputLayouts)) {
        EARGS(Layouts_PJRT_Executable_GetOutputLayouts, out, .executable = e);
        EXT_OK(l, PJRT_Layouts_PJRT_Executable_GetOutputLayouts, &out);
        CHECK_EQ(out.num_outputs, 2);
        expect_layout(c, l, out.layouts[1], "{0");
    }
    if (EXT_HAS(l, PJRT_Layouts_PJRT_Executable_GetParameterLayouts)) {
        EARGS(Layouts_PJRT_Executable_GetParameterLayouts, in, .executable = e);
        EXT_OK(l, PJRT_Layouts_PJRT_Executable_GetParameterLayouts, &in);
        CHECK_EQ(in.num_parameters, 2);
        expect_layout(c, l, in.layouts[0], "{0");
    }
}

static void ffi(context *c)
{
    const PJRT_FFI *f = extension(c, PJRT_Extension_Type_FFI);
    if (!f) skip("no FFI extension");
    if (EXT_HAS(f, type_register)) {
        PJRT_FFI_Type_Info info = {0};
        EARGS(FFI_Type_Register, a, .type_name = "tenon_check_type", .type_name_size = 16,
              .type_info = &info);
        tn_status *s = EXT(f, type_register, &a);
        /* Minors before 0.9x had another struct here. */
        if (!s) CHECK(a.type_id != 0);
        tn_status_free(s);
    }
    ARGS(ExecuteContext_Create, make, .context = NULL);
    if (!OPTIONAL(ExecuteContext_Create, &make)) skip("ExecuteContext_Create is not implemented");
    static int data = 5;
    EARGS(FFI_UserData_Add, add, .context = make.context,
          .user_data = {.type_id = 7357244197867843242, .data = &data});
    EXT_OK(f, user_data_add, &add);
    ARGS(ExecuteContext_Destroy, destroy, .context = make.context);
    OK(ExecuteContext_Destroy, &destroy);
}

static void memory_descriptions(context *c)
{
    const PJRT_MemoryDescriptions_Extension *m =
        extension(c, PJRT_Extension_Type_MemoryDescriptions);
    if (!m) skip("no MemoryDescriptions extension");
    ARGS(Device_GetDescription, get, .device = c->device);
    OK(Device_GetDescription, &get);
    EARGS(DeviceDescription_MemoryDescriptions, a, .device_description = get.device_description);
    EXT_OK(m, PJRT_DeviceDescription_MemoryDescriptions, &a);
    ARGS(Device_AddressableMemories, all, .device = c->device);
    OK(Device_AddressableMemories, &all);
    if (!a.num_memory_descriptions) skip("the description knows no memories");
    for (size_t i = 0; i < a.num_memory_descriptions; i++) {
        EARGS(MemoryDescription_Kind, kind, .memory_description = a.memory_descriptions[i]);
        EXT_OK(m, PJRT_MemoryDescription_Kind, &kind);
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)kind.kind_size, kind.kind);
        if (!memory_of_kind(c, c->device, name))
            fail(__FILE__, __LINE__, "the device has no memory of the described kind '%s'", name);
    }
    CHECK(a.default_memory_index == SIZE_MAX ||
          a.default_memory_index < a.num_memory_descriptions ||
          a.default_memory_index == (size_t)-1);
}

static void shardings(context *c)
{
    const PJRT_Shardings_Extension *s = extension(c, PJRT_Extension_Type_Shardings);
    if (!s) skip("no Shardings extension");
    PJRT_Executable *e = executable_of(c, load(c, "two_outputs", 1));
    EARGS(Shardings_PJRT_Executable_ParameterShardings, in, .executable = e);
    EXT_OK(s, PJRT_Shardings_PJRT_Executable_ParameterShardings, &in);
    if (in.shardings) CHECK_EQ(in.num_parameters, 2);
    EARGS(Shardings_PJRT_Executable_OutputShardings, out, .executable = e);
    EXT_OK(s, PJRT_Shardings_PJRT_Executable_OutputShardings, &out);
    if (out.shardings) CHECK_EQ(out.num_outputs, 2);
}

static bool is_cpu(context *c)
{
    ARGS(Client_PlatformName, name, .client = c->client);
    OK(Client_PlatformName, &name);
    return name.platform_name_size == 3 && !memcmp(name.platform_name, "cpu", 3);
}

/* A handler that is there may refuse the call, but not say that there is none. */
static void expect_handler(context *c, const char *target, const char *text)
{
    if (!is_cpu(c)) skip("the platform is not named cpu, so JAX sends no such call");
    /* A handler of Python's may ask whether Python is there. */
    static const char *const pythons[] = {"libpython3.11.so.1.0", "libpython3.12.so.1.0",
                                          "libpython3.13.so.1.0", "libpython3.14.so.1.0"};
    for (size_t i = 0; i < sizeof pythons / sizeof *pythons && strstr(target, "python"); i++)
        if (dlopen(pythons[i], RTLD_NOW | RTLD_GLOBAL)) break;
    PJRT_LoadedExecutable *e = NULL;
    tn_status *s = try_text(c, text, &e);
    /* Knowing the call and finding no library for it on this machine is another thing. */
    if (s && strstr(tn_status_message(s), " of LAPACK")) {
        char why[300];
        snprintf(why, sizeof why, "%s", tn_status_message(s));
        skip(why);
    }
    if (s && (tn_status_code(s) == TN_NOT_FOUND || strstr(tn_status_message(s), "No FFI handler") ||
              tn_status_code(s) == TN_UNIMPLEMENTED))
        fail(__FILE__, __LINE__, "no handler of %s: %s: %s", target,
             tn_code_name(tn_status_code(s)), tn_status_message(s));
    tn_status_free(s);
}

static const char *const lapack[] = {"lapack_spotrf_ffi", "lapack_dpotrf_ffi", "lapack_sgetrf_ffi",
                                     "lapack_sgeqrf_ffi", "lapack_sgesdd_ffi", "lapack_ssyevd_ffi",
                                     "lapack_strsm_ffi"};
static const char *lapack_name(const check_row *row, int i)
{
    return i < (int)(sizeof lapack / sizeof *lapack) ? lapack[i] : NULL;
}

static void lapack_there(context *c)
{
    /* As JAX 0.10 lowers them: matrices in columns, results as LAPACK has them. */
    const char *name = lapack[c->variant], *type = name[7] == 'd' ? "f64" : "f32";
    char text[1600];
    const char *config = "", *results, *operands = "%a", *in = "tensor<3x3xT>";
    const char *layouts_in = "dense<[0, 1]> : tensor<2xindex>", *layouts_out;
#define M "dense<[0, 1]> : tensor<2xindex>"
#define V "dense<0> : tensor<1xindex>"
#define S "dense<> : tensor<0xindex>"
    if (strstr(name, "potrf")) {
        config = "uplo = 76 : ui8", results = "tensor<3x3xT>, tensor<i32>", layouts_out = M ", " S;
    } else if (strstr(name, "getrf")) {
        results = "tensor<3x3xT>, tensor<3xi32>, tensor<i32>", layouts_out = M ", " V ", " S;
    } else if (strstr(name, "geqrf")) {
        results = "tensor<3x3xT>, tensor<3xT>", layouts_out = M ", " V;
    } else if (strstr(name, "gesdd")) {
        config = "mode = 65 : ui8";
        results = "tensor<3x3xT>, tensor<3xT>, tensor<3x3xT>, tensor<3x3xT>, tensor<i32>";
        layouts_out = M ", " V ", " M ", " M ", " S;
    } else if (strstr(name, "syevd")) {
        config = "mode = 86 : ui8, uplo = 76 : ui8";
        results = "tensor<3x3xT>, tensor<3xT>, tensor<i32>", layouts_out = M ", " V ", " S;
    } else {
        config = "diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8";
        operands = "%a, %a", in = "tensor<3x3xT>, tensor<3x3xT>", results = "tensor<3x3xT>";
        layouts_in = M ", " M, layouts_out = M;
    }
    bool one = !strchr(results + strlen("tensor<3x3xT>"), ',');
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<3x3xT>) -> tensor<3x3xT> {\n"
             "  %%r%s = stablehlo.custom_call @%s(%s) {mhlo.backend_config = {%s}, api_version = 4 "
             ": i32, "
             "operand_layouts = [%s], result_layouts = [%s]} : (%s) -> %s%s%s\n"
             "  return %%r%s : tensor<3x3xT>\n}\n",
             one ? "" : ":9", name, operands, config, layouts_in, layouts_out, in, one ? "" : "(",
             results, one ? "" : ")", one ? "" : "#0");
    /* The number of results, and the type, in place. */
    int n = 1;
    for (const char *p = results; (p = strstr(p, ">, ")); p++) n++;
    char *colon = strstr(text, ":9 =");
    if (colon) colon[1] = (char)('0' + n);
    char typed[2000], *to = typed;
    for (const char *p = text; *p; p++) {
        if (*p == 'T' && (p[1] == '>')) to += sprintf(to, "%s", type);
        else *to++ = *p;
    }
    *to = 0;
    expect_handler(c, name, typed);
}

static void callback_there(context *c)
{
    expect_handler(
        c, "xla_ffi_python_cpu_callback",
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %r = stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) {mhlo.backend_config = "
        "{index = 0 : ui64}, api_version = 4 : i32, has_side_effect = true} : "
        "(tensor<4xf32>) -> tensor<4xf32>\n  return %r : tensor<4xf32>\n}\n");
}

const check_row extension_checks[] = {
    {170, "the chain of extensions ends, each once and with its size", chain},
    {171, "layouts of buffers, executables and the client are those of row-major arrays", layouts},
    {172, "types, and user data of a run, are taken by the FFI extension", ffi},
    {173, "memory descriptions name the kinds of the device's memories", memory_descriptions},
    {174, "there is a sharding per parameter and output, or none at all", shardings},
    {175, "a platform named cpu has the LAPACK calls that JAX sends to it", lapack_there,
     lapack_name},
    {176, "a platform named cpu has the handler of JAX's Python callbacks", callback_there},
    {0}};
