/* SPDX-License-Identifier: Apache-2.0 */
#include "tenon/pjrt_extensions.h"

#include "base/trace.h"
#include "executable/program_test.h"
#include "pjrt/execute_context.h"
#include "pjrt/executable.h"
#include "pjrt/extensions.h"
#include "ffi/call.h"
#include "ffi/context.h"
#include "pjrt/pjrt_test.h"

static const void *find(PJRT_Extension_Type type)
{
    const PJRT_Extension_Base *e = tn_pjrt_api()->extension_start;
    while (e && e->type != type) e = e->next;
    assert_non_null(e);
    return e;
}

static void the_chain_is_whole(void **state)
{
    static const struct {
        PJRT_Extension_Type type;
        size_t size;
    } want[] = {{PJRT_Extension_Type_Layouts, 80},
                {PJRT_Extension_Type_Shardings, 40},
                {TN_PJRT_CUSTOM_CALL_TYPE, 32},
                {PJRT_Extension_Type_FFI, 48},
                {PJRT_Extension_Type_MemoryDescriptions, 40},
                {PJRT_Extension_Type_Profiler, 40}};
    const PJRT_Extension_Base *e = tn_pjrt_api()->extension_start;
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++, e = e->next) {
        assert_int_equal(e->type, want[i].type);
        assert_int_equal(e->struct_size, want[i].size);
    }
    assert_null(e);
}

/* ---- Executables ---- */

typedef struct {
    const char *layout, *sharding, *memory_kind;
} program;

static const tn_attr *text_attr(builder *b, const char *text)
{
    tn_attr *a = TN_NEW(b->arena, tn_attr);
    *a = (tn_attr){.kind = TN_ATTR_KIND_STRING, .string = {text, strlen(text)}};
    return a;
}

static void build(builder *b, void *ctx)
{
    const program *p = ctx;
    begin_function(b, "main", PARAMS("2x3x4xf32", "i32"));
    const char *keys[] = {"mhlo.layout_mode", "mhlo.sharding", "mhlo.memory_kind"};
    const char *values[] = {p->layout, p->sharding, p->memory_kind};
    tn_named_attr *pairs = TN_NEW_ARRAY(b->arena, tn_named_attr, 3);
    uint32_t n = 0;
    for (uint32_t i = 0; i < 3; i++)
        if (values[i]) pairs[n++] = (tn_named_attr){keys[i], text_attr(b, values[i])};
    tn_attr *attrs = TN_NEW(b->arena, tn_attr);
    *attrs = (tn_attr){.kind = TN_ATTR_KIND_DICT, .dict = {pairs, n}};
    b->function->arg_attrs[0] = attrs;
    RETURN(b, reshape(b, &b->region->args[0], "6x4xf32"));
}

static tn_status *make(program p, PJRT_Executable **out)
{
    tn_executable *e;
    must(compile_program(build, &p, true, 0, &e));
    return tn_pjrt_executable_make(e, out);
}

static void expect_layout(PJRT_Layouts_MemoryLayout *layout, const char *want)
{
    const PJRT_Layouts_Extension *x = find(PJRT_Extension_Type_Layouts);
    ARGS(Layouts_MemoryLayout_Serialize, s, .layout = layout);
    ok(x->PJRT_Layouts_MemoryLayout_Serialize(&s));
    assert_int_equal(s.serialized_bytes_size, strlen(want));
    assert_memory_equal(s.serialized_bytes, want, strlen(want));
    s.serialized_layout_deleter(s.serialized_layout);
}

static void executables_tell_layouts_and_shardings(void **state)
{
    const PJRT_Layouts_Extension *x = find(PJRT_Extension_Type_Layouts);
    const PJRT_Shardings_Extension *y = find(PJRT_Extension_Type_Shardings);
    PJRT_Executable *e;
    must(make((program){.layout = "{2,1,0}", .sharding = "{devices=[2]0,1}"}, &e));
    ARGS(Layouts_PJRT_Executable_GetParameterLayouts, in, .executable = e);
    ok(x->PJRT_Layouts_PJRT_Executable_GetParameterLayouts(&in));
    assert_int_equal(in.num_parameters, 2);
    expect_layout(in.layouts[0], "{2,1,0}");
    expect_layout(in.layouts[1], "{}");
    ARGS(Layouts_PJRT_Executable_GetOutputLayouts, out, .executable = e);
    ok(x->PJRT_Layouts_PJRT_Executable_GetOutputLayouts(&out));
    assert_int_equal(out.num_outputs, 1);
    expect_layout(out.layouts[0], "{1,0}");
    /* Those of an executable end with it alone. */
    ARGS(Layouts_MemoryLayout_Destroy, end, .layout = in.layouts[0]);
    ok(x->PJRT_Layouts_MemoryLayout_Destroy(&end));
    expect_layout(in.layouts[0], "{2,1,0}");

    ARGS(Shardings_PJRT_Executable_ParameterShardings, p, .executable = e);
    ok(y->PJRT_Shardings_PJRT_Executable_ParameterShardings(&p));
    assert_int_equal(p.num_parameters, 2);
    ARGS(Shardings_PJRT_Executable_OutputShardings, o, .executable = e);
    ok(y->PJRT_Shardings_PJRT_Executable_OutputShardings(&o));
    assert_int_equal(o.num_outputs, 1);
    for (size_t i = 0; i < p.sharding_sizes[0]; i++) /* type replicated, if it is said at all */
        assert_int_equal(p.shardings[0][i], i == 0 ? 0x08 : 0);
    assert_non_null(o.shardings[0]);
    tn_pjrt_executable_release(e);
}

static void what_cannot_be_honoured_is_refused(void **state)
{
    PJRT_Executable *e;
    must(make((program){.layout = "auto"}, &e));
    tn_pjrt_executable_release(e);
    must(make((program){.layout = "default"}, &e));
    tn_pjrt_executable_release(e);
    const struct {
        const char *layout;
        tn_code code;
    } bad[] = {{"{0,1,2:T(8,128)}", TN_UNIMPLEMENTED}, {"{0,1}", TN_INVALID_ARGUMENT},
               {"{0,1,1}", TN_INVALID_ARGUMENT},       {"{0,1,3}", TN_INVALID_ARGUMENT},
               {"rows", TN_INVALID_ARGUMENT},          {"", TN_INVALID_ARGUMENT}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        program p = {.layout = bad[i].layout};
        tn_executable *x;
        expect_status(compile_program(build, &p, true, 0, &x), bad[i].code, "parameter 0: layout");
    }
}

/* 2x3x4 with the first dimension innermost, as 6x4. */
static void parameters_lie_in_the_order_asked_for(void **state)
{
    program p = {.layout = "{0,2,1}"};
    tn_executable *x;
    must(compile_program(build, &p, true, 0, &x));
    const tn_executable_value *v = &tn_executable_get_info(x)->params[0];
    assert_int_equal(v->type->dims[0], 2);
    assert_int_equal(v->order[0], 0);
    _Alignas(64) float in[24], out[24];
    for (int i = 0; i < 24; i++) in[i % 2 + i / 2 % 4 * 2 + i / 8 * 8] = (float)i;
    int32_t scalar = 0;
    void *temp = aligned_alloc(64, tn_executable_get_info(x)->temp_bytes + 64);
    tn_run run = {.args = (void *[]){in, &scalar}, .results = (void *[]){out}, .temp = temp};
    must(tn_executable_run(x, &run));
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 3; b++)
            for (int c = 0; c < 4; c++)
                assert_true(out[(a * 3 + b) * 4 + c] == in[b * 8 + c * 2 + a]);
    free(temp);
    PJRT_Executable *e;
    must(tn_pjrt_executable_make(x, &e));
    expect_layout(e->parameters.layouts[0], "{0,2,1}");
    expect_layout(e->outputs.layouts[0], "{1,0}");
    tn_pjrt_executable_release(e);
}

static void memory_stats_know_the_host(void **state)
{
    PJRT_Executable *e;
    must(make((program){.memory_kind = "pinned_host"}, &e));
    ARGS(Executable_GetCompiledMemoryStats, s, .executable = e);
    ok(tn_pjrt_api()->PJRT_Executable_GetCompiledMemoryStats(&s));
    assert_int_equal(s.argument_size_in_bytes, 4);
    assert_int_equal(s.host_argument_size_in_bytes, 96);
    assert_int_equal(s.output_size_in_bytes, 96);
    ARGS(Executable_ParameterMemoryKinds, k, .executable = e);
    ok(tn_pjrt_api()->PJRT_Executable_ParameterMemoryKinds(&k));
    assert_memory_equal(k.memory_kinds[0], "pinned_host", k.memory_kind_sizes[0]);
    assert_memory_equal(k.memory_kinds[1], "device", k.memory_kind_sizes[1]);
    tn_pjrt_executable_release(e);
}

/* ---- Topologies ---- */

static void default_layouts_and_memories_need_no_device(void **state)
{
    const PJRT_Layouts_Extension *x = find(PJRT_Extension_Type_Layouts);
    const PJRT_MemoryDescriptions_Extension *y = find(PJRT_Extension_Type_MemoryDescriptions);
    ARGS(TopologyDescription_Create, t, .topology_name = "sim", .topology_name_size = 3);
    ok(tn_pjrt_api()->PJRT_TopologyDescription_Create(&t));
    const int64_t dims[] = {7, 8};
    ARGS(Layouts_PJRT_Topology_GetDefaultLayout, l, .topology_description = t.topology,
         .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 2);
    ok(x->PJRT_Layouts_PJRT_Topology_GetDefaultLayout(&l));
    expect_layout(l.layout, "{1,0}");
    ARGS(Layouts_MemoryLayout_Destroy, end_layout, .layout = l.layout);
    ok(x->PJRT_Layouts_MemoryLayout_Destroy(&end_layout));
    l.type = 77;
    expect_error(x->PJRT_Layouts_PJRT_Topology_GetDefaultLayout(&l), TN_INVALID_ARGUMENT, "77");

    ARGS(DeviceDescription_MemoryDescriptions, m, .device_description = t.topology->device_list[0]);
    ok(y->PJRT_DeviceDescription_MemoryDescriptions(&m));
    assert_int_equal(m.num_memory_descriptions, 3);
    assert_int_equal(m.default_memory_index, 0);
    const char *const names[] = {"device", "pinned_host", "unpinned_host"};
    for (int i = 0; i < 3; i++) {
        ARGS(MemoryDescription_Kind, k, .memory_description = m.memory_descriptions[i]);
        ok(y->PJRT_MemoryDescription_Kind(&k));
        assert_int_equal(k.kind_id, i);
        assert_int_equal(k.kind_size, strlen(names[i]));
        assert_memory_equal(k.kind, names[i], k.kind_size);
    }
    ARGS(TopologyDescription_Destroy, end, .topology = t.topology);
    ok(tn_pjrt_api()->PJRT_TopologyDescription_Destroy(&end));
}

/* ---- FFI ---- */

static PJRT_Error *register_type(const char *name, int64_t *id)
{
    const PJRT_FFI_Extension *x = find(PJRT_Extension_Type_FFI);
    ARGS(FFI_Type_Register, r, .type_name = name, .type_name_size = strlen(name), .type_id = *id);
    PJRT_Error *e = x->type_register(&r);
    *id = r.type_id;
    return e;
}

static void types_have_one_id_each(void **state)
{
    int64_t a = 0, b = 0, again = 0, given = 1, other = 7357;
    ok(register_type("a", &a));
    ok(register_type("b", &b));
    ok(register_type("a", &again));
    assert_int_not_equal(a, 0);
    assert_int_not_equal(a, b);
    assert_int_equal(a, again);
    ok(register_type("theirs", &other));
    assert_int_equal(other, 7357);
    ok(register_type("theirs", &other));
    other = 7358;
    expect_error(register_type("theirs", &other), TN_INVALID_ARGUMENT, "theirs has the id 7357");
    given = a;
    expect_error(register_type("third", &given), TN_INVALID_ARGUMENT, "that of another type");
}

static PJRT_Error *register_handler(const char *target, const char *platform, void *handler)
{
    const PJRT_FFI_Extension *x = find(PJRT_Extension_Type_FFI);
    ARGS(FFI_Register_Handler, r, .target_name = target, .target_name_size = strlen(target),
         .handler = handler, .platform_name = platform, .platform_name_size = strlen(platform));
    return x->register_handler(&r);
}

static int calls_of_f;
static XLA_FFI_Error *handler_f(XLA_FFI_CallFrame *frame)
{
    if (frame->extension_start) return NULL; /* version 0 of the interface, without state */
    calls_of_f++;
    const XLA_FFI_Buffer *in = frame->args.args[0], *out = frame->rets.rets[0];
    for (int64_t i = 0; i < in->dims[0]; i++)
        ((float *)out->data)[i] = 2 * ((const float *)in->data)[i];
    return NULL;
}
static XLA_FFI_Error *handler_g(XLA_FFI_CallFrame *frame)
{
    return NULL;
}
static XLA_FFI_Error *handler_of_the_future(XLA_FFI_CallFrame *frame)
{
    ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata->api_version.major_version = 7;
    return NULL;
}

static void handlers_are_kept_by_target_and_platform(void **state)
{
    assert_null(tn_ffi_find("f"));
    ok(register_handler("f", "cpu", handler_f));
    ok(register_handler("f", "cpu", handler_f));
    expect_error(register_handler("f", "cpu", handler_g), TN_ALREADY_EXISTS, "target f");
    assert_ptr_equal(tn_ffi_find("f")->stages.execute, handler_f);
    ok(register_handler("f", "sim", handler_g));
    assert_ptr_equal(tn_ffi_find("f")->stages.execute, handler_g);
    assert_null(tn_ffi_find("ff"));
    expect_error(register_handler("g", "cpu", NULL), TN_INVALID_ARGUMENT, "handler is NULL");
    expect_error(register_handler("g", "cpu", handler_of_the_future), TN_UNIMPLEMENTED,
                 "version 7.0");
}

static void build_custom_call(builder *b, void *target)
{
    begin_function(b, "main", PARAMS("2xf32"));
    tn_op *op = tn_op_new(b->module, TN_OP_custom_call, 1, 1, 0);
    op->operands[0] = &b->region->args[0];
    op->results[0].type = type_of(b, "2xf32");
    tn_op_set_attr(b->module, op, TN_ATTR_call_target_name, text_attr(b, target));
    tn_op_append(b->region, op);
    RETURN(b, &op->results[0]);
}

static void programs_call_registered_handlers(void **state)
{
    tn_executable *e;
    tn_ffi_init();
    ok(register_handler("known_handler", "cpu", handler_f));
    expect_status(compile_program(build_custom_call, "nobodys_handler", false, 0, &e), TN_NOT_FOUND,
                  "nobodys_handler");
    tn_status *s = compile_program(build_custom_call, "known_handler", false, 0, &e);
    assert_null(s);
    assert_true(tn_executable_get_info(e)->calls_out);
    _Alignas(64) float in[2] = {3, -4}, out[2] = {0};
    tn_run run = {.args = (void *[]){in}, .results = (void *[]){out}, .temp = NULL};
    s = tn_executable_run(e, &run);
    assert_null(s);
    assert_int_equal(calls_of_f, 1);
    assert_true(out[0] == 6 && out[1] == -8);
    tn_executable_release(e);
}

static void runs_see_the_data_of_their_context(void **state)
{
    const PJRT_FFI_Extension *x = find(PJRT_Extension_Type_FFI);
    int one, two;
    ARGS(ExecuteContext_Create, c, 0);
    ok(tn_pjrt_api()->PJRT_ExecuteContext_Create(&c));
    ARGS(FFI_UserData_Add, add, .context = c.context, .user_data = {.type_id = 1, .data = &one});
    ok(x->user_data_add(&add));
    const struct tn_custom_call_context *run = tn_ffi_context_retain((const void *)c.context);
    add.user_data = (PJRT_FFI_UserData){.type_id = 2, .data = &two};
    ok(x->user_data_add(&add));
    expect_error(x->user_data_add(&add), TN_ALREADY_EXISTS, "type 2");
    ARGS(ExecuteContext_Destroy, end, .context = c.context);
    ok(tn_pjrt_api()->PJRT_ExecuteContext_Destroy(&end));
    assert_ptr_equal(tn_ffi_context_find(run, 1), &one);
    assert_ptr_equal(tn_ffi_context_find(run, 2), &two);
    assert_null(tn_ffi_context_find(run, 3));
    assert_null(tn_ffi_context_find(NULL, 1));
    tn_ffi_context_release(run);
    assert_null(tn_ffi_context_retain(NULL));
    tn_ffi_context_release(NULL);
}

/* ---- Profiler ---- */

static bool holds(const uint8_t *data, size_t size, const char *text)
{
    return memmem(data, size, text, strlen(text)) != NULL;
}

static void a_profile_is_recorded_and_collected(void **state)
{
    const PJRT_Profiler_Extension *x = find(PJRT_Extension_Type_Profiler);
    const PLUGIN_Profiler_Api *api = x->profiler_api;
    assert_int_equal(api->struct_size, 80);
    tn_pjrt_profiler_set_size(104);
    assert_int_equal(api->struct_size, 104);
    tn_pjrt_profiler_set_size(80);

    PLUGIN_Profiler_Create_Args c = {0};
    assert_null(api->create(&c));
    PLUGIN_Profiler_Start_Args start = {.profiler = c.profiler};
    assert_null(api->start(&start));
    PLUGIN_Profiler_Error *e = api->start(&start);
    PLUGIN_Profiler_Error_Message_Args m = {.error = e};
    PLUGIN_Profiler_Error_GetCode_Args code = {.error = e};
    PLUGIN_Profiler_Error_Destroy_Args drop = {.error = e};
    api->error_message(&m);
    assert_null(api->error_get_code(&code));
    assert_int_equal(code.code, PJRT_Error_Code_FAILED_PRECONDITION);
    assert_int_equal(m.message_size, strlen(m.message));
    api->error_destroy(&drop);

    program p = {NULL, NULL, NULL};
    tn_executable *made;
    must(compile_program(build, &p, true, 0, &made));
    tn_executable_release(made);
    PLUGIN_Profiler_CollectData_Args data = {.profiler = c.profiler};
    drop.error = api->collect_data(&data);
    assert_non_null(drop.error); /* it runs */
    api->error_destroy(&drop);
    PLUGIN_Profiler_Stop_Args stop = {.profiler = c.profiler};
    assert_null(api->stop(&stop));
    assert_null(api->collect_data(&data));
    assert_true(holds(data.buffer, data.buffer_size_in_bytes, "/device:CUSTOM:Tenon"));
    assert_true(holds(data.buffer, data.buffer_size_in_bytes, "compile"));
    uint8_t *copy = malloc(data.buffer_size_in_bytes);
    PLUGIN_Profiler_CollectData_Args again = {.profiler = c.profiler, .buffer = copy};
    assert_null(api->collect_data(&again));
    assert_memory_equal(copy, data.buffer, data.buffer_size_in_bytes);
    free(copy);

    PLUGIN_Profiler_Consume_Args consume = {.profiler = c.profiler};
    assert_null(api->consume(&consume));
    PLUGIN_Profiler_Serialize_Args s = {.consume_result = consume.result};
    assert_null(api->serialize(&s));
    assert_int_equal(s.serialized_size, data.buffer_size_in_bytes);
    PLUGIN_Profiler_ConsumeResult_Destroy_Args gone = {.consume_result = consume.result};
    api->consume_result_destroy(&gone);
    PLUGIN_Profiler_Destroy_Args end = {.profiler = c.profiler};
    assert_null(api->destroy(&end));
    assert_false(tn_trace_is_on());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_chain_is_whole),
        cmocka_unit_test(executables_tell_layouts_and_shardings),
        cmocka_unit_test(what_cannot_be_honoured_is_refused),
        cmocka_unit_test(parameters_lie_in_the_order_asked_for),
        cmocka_unit_test(memory_stats_know_the_host),
        cmocka_unit_test(default_layouts_and_memories_need_no_device),
        cmocka_unit_test(types_have_one_id_each),
        cmocka_unit_test(handlers_are_kept_by_target_and_platform),
        cmocka_unit_test(programs_call_registered_handlers),
        cmocka_unit_test(runs_see_the_data_of_their_context),
        cmocka_unit_test(a_profile_is_recorded_and_collected),
    };
    return cmocka_run_group_tests_name("pjrt-extensions", tests, NULL, NULL);
}
