/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/executable.h"

#include <stdlib.h>

#include "type/op_sharding_proto.h"

/* ---- Making ---- */

typedef struct {
    PJRT_Executable *e;
    const void *sharding; /* of values that each device has all of */
    size_t sharding_size;
} maker;

static void *array_of(tn_arena *a, size_t n, size_t size)
{
    return tn_alloc_array(a, n + 1, size);
}

static tn_pjrt_list list_of(tn_arena *a, size_t n)
{
    return (tn_pjrt_list){array_of(a, n, sizeof(char *)), array_of(a, n, sizeof(size_t))};
}

static tn_status *encode_tiling(tn_arena *a, const tn_op_sharding *tiling, tn_pjrt_values *out,
                                size_t i)
{
    void *data;
    TN_TRY(tn_op_sharding_encode(tiling, &data, &out->shardings.sizes[i]));
    out->shardings.data[i] = tn_dup(a, data, out->shardings.sizes[i]);
    free(data);
    return NULL;
}

static tn_status *fill_values(const maker *m, const tn_executable_value *values, size_t n,
                              tn_pjrt_values *out)
{
    tn_arena *a = m->e->arena;
    *out = (tn_pjrt_values){.n = n,
                            .values = values,
                            .memory_kinds = list_of(a, n),
                            .shardings = list_of(a, n),
                            .layouts = array_of(a, n, sizeof(PJRT_Layouts_MemoryLayout *))};
    for (size_t i = 0; i < n; i++) {
        out->memory_kinds.data[i] = values[i].memory_kind;
        out->memory_kinds.sizes[i] = strlen(values[i].memory_kind);
        out->shardings.data[i] = m->sharding;
        out->shardings.sizes[i] = m->sharding_size;
        if (values[i].tiling) TN_TRY(encode_tiling(a, values[i].tiling, out, i));
        out->layouts[i] = tn_pjrt_layout_make(a, values[i].type->rank, values[i].order);
    }
    return NULL;
}

static void fill_output_shapes(PJRT_Executable *e)
{
    size_t n = e->outputs.n, n_dims = 0;
    for (size_t i = 0; i < n; i++) n_dims += e->outputs.values[i].type->rank;
    e->output_types = array_of(e->arena, n, sizeof(PJRT_Buffer_Type));
    e->output_ranks = array_of(e->arena, n, sizeof(size_t));
    e->output_dims = array_of(e->arena, n_dims, sizeof(int64_t));
    int64_t *dims = e->output_dims;
    for (size_t i = 0; i < n; i++) {
        const tn_type *t = e->outputs.values[i].type;
        e->output_types[i] = (PJRT_Buffer_Type)t->element;
        e->output_ranks[i] = t->rank;
        /* An unknown size is its bound, else INT64_MIN, as in MLIR and in XLA's shapes. */
        for (uint32_t k = 0; k < t->rank; k++)
            *dims++ = t->dims[k] == TN_DYNAMIC && t->bounds ? t->bounds[k] : t->dims[k];
    }
}

static void fill_cost(PJRT_Executable *e)
{
    const struct {
        const char *name;
        double value;
    } rows[] = {{"flops", e->info->flops}, {"bytes accessed", e->info->bytes_accessed}};
    e->n_cost = sizeof rows / sizeof rows[0];
    e->cost = array_of(e->arena, e->n_cost, sizeof *e->cost);
    for (size_t i = 0; i < e->n_cost; i++)
        e->cost[i] = (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                                       .name = rows[i].name,
                                       .name_size = strlen(rows[i].name),
                                       .type = PJRT_NamedValue_kFloat,
                                       .float_value = (float)rows[i].value,
                                       .value_size = 1};
}

static tn_status *fill(void *arg)
{
    maker *m = arg;
    PJRT_Executable *e = m->e;
    m->sharding = tn_dup(e->arena, m->sharding, m->sharding_size);
    TN_TRY(fill_values(m, e->info->params, e->info->n_params, &e->parameters));
    TN_TRY(fill_values(m, e->info->results, e->info->n_results, &e->outputs));
    fill_output_shapes(e);
    fill_cost(e);
    return NULL;
}

tn_status *tn_pjrt_executable_make(tn_executable *it, PJRT_Executable **out)
{
    PJRT_Executable *e = calloc(1, sizeof *e);
    if (!e) {
        tn_executable_release(it);
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for an executable");
    }
    tn_ref_init(&e->ref);
    pthread_mutex_init(&e->lock, NULL);
    e->it = it;
    e->info = tn_executable_get_info(it);
    e->arena = tn_arena_new();

    const tn_op_sharding replicated = {.kind = TN_SHARDING_REPLICATED};
    void *sharding = NULL;
    maker m = {.e = e};
    tn_status *s = e->arena ? NULL : TN_ERROR(RESOURCE_EXHAUSTED, "no memory for an executable");
    if (!s) s = tn_op_sharding_encode(&replicated, &sharding, &m.sharding_size);
    m.sharding = sharding;
    if (!s) s = tn_arena_run(e->arena, fill, &m);
    free(sharding);
    if (s) tn_pjrt_executable_release(e);
    else *out = e;
    return s;
}

PJRT_Executable *tn_pjrt_executable_retain(PJRT_Executable *e)
{
    tn_ref_retain(&e->ref);
    return e;
}

void tn_pjrt_executable_release(PJRT_Executable *e)
{
    if (!e || !tn_ref_release(&e->ref)) return;
    tn_executable_release(e->it);
    tn_arena_free(e->arena);
    free(e->text);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* ---- Getters ---- */

PJRT_Error *tn_pjrt_Executable_Destroy(PJRT_Executable_Destroy_Args *args)
{
    tn_pjrt_executable_release(args->executable);
    return NULL;
}

PJRT_Error *tn_pjrt_Executable_Name(PJRT_Executable_Name_Args *args)
{
    TN_PJRT_NEED(executable);
    const char *name = args->executable->info->name;
    args->executable_name = name ? name : "";
    args->executable_name_size = strlen(args->executable_name);
    return NULL;
}

PJRT_Error *tn_pjrt_Executable_NumReplicas(PJRT_Executable_NumReplicas_Args *args)
{
    TN_PJRT_NEED(executable);
    args->num_replicas = args->executable->info->num_replicas;
    return NULL;
}

PJRT_Error *tn_pjrt_Executable_NumPartitions(PJRT_Executable_NumPartitions_Args *args)
{
    TN_PJRT_NEED(executable);
    args->num_partitions = args->executable->info->num_partitions;
    return NULL;
}

PJRT_Error *tn_pjrt_Executable_NumOutputs(PJRT_Executable_NumOutputs_Args *args)
{
    TN_PJRT_NEED(executable);
    args->num_outputs = args->executable->outputs.n;
    return NULL;
}

PJRT_Error *tn_pjrt_Executable_SizeOfGeneratedCodeInBytes(
    PJRT_Executable_SizeOfGeneratedCodeInBytes_Args *args)
{
    TN_PJRT_NEED(executable);
    args->size_in_bytes = (int64_t)args->executable->info->code_bytes;
    return NULL;
}

PJRT_Error *tn_pjrt_Executable_Fingerprint(PJRT_Executable_Fingerprint_Args *args)
{
    TN_PJRT_NEED(executable);
    args->executable_fingerprint = args->executable->info->fingerprint;
    args->executable_fingerprint_size = strlen(args->executable_fingerprint);
    return NULL;
}

PJRT_Error *tn_pjrt_Executable_GetCostAnalysis(PJRT_Executable_GetCostAnalysis_Args *args)
{
    TN_PJRT_NEED(executable);
    args->num_properties = args->executable->n_cost;
    args->properties = args->executable->cost;
    return NULL;
}

typedef struct {
    int64_t device, host;
} byte_counts;

static void count_bytes(byte_counts *c, const tn_executable_value *v)
{
    bool on_device = !strcmp(v->memory_kind, tn_memory_kind_names[TN_MEMORY_DEVICE]);
    if (!tn_type_is_static(v->type)) return; /* only a run knows */
    *(on_device ? &c->device : &c->host) += (int64_t)tn_type_bytes(v->type);
}

PJRT_Error *tn_pjrt_Executable_GetCompiledMemoryStats(
    PJRT_Executable_GetCompiledMemoryStats_Args *args)
{
    TN_PJRT_NEED(executable);
    const tn_executable_info *info = args->executable->info;
    byte_counts in = {0}, out = {0}, shared = {0};
    for (uint32_t i = 0; i < info->n_params; i++) {
        count_bytes(&in, &info->params[i]);
        if (info->params[i].alias >= 0) count_bytes(&shared, &info->params[i]);
    }
    for (uint32_t i = 0; i < info->n_results; i++) count_bytes(&out, &info->results[i]);

    /* Code and constants stay on the host whatever the device. */
    args->generated_code_size_in_bytes = 0;
    args->argument_size_in_bytes = in.device;
    args->output_size_in_bytes = out.device;
    args->alias_size_in_bytes = shared.device;
    args->temp_size_in_bytes = (int64_t)info->temp_bytes;
    args->host_generated_code_size_in_bytes = (int64_t)info->code_bytes;
    args->host_argument_size_in_bytes = in.host;
    args->host_output_size_in_bytes = out.host;
    args->host_alias_size_in_bytes = shared.host;
    args->host_temp_size_in_bytes = 0;
    int64_t whole = in.device + out.device - shared.device + args->temp_size_in_bytes;
    args->peak_memory_in_bytes = whole;
    args->total_size_in_bytes = whole;
    args->total_allocation_bytes = whole;
    args->indefinite_allocations = whole - args->temp_size_in_bytes;
    args->peak_unpadded_heap_bytes = args->temp_size_in_bytes;
    return NULL;
}

PJRT_Error *tn_pjrt_Executable_OutputElementTypes(PJRT_Executable_OutputElementTypes_Args *args)
{
    TN_PJRT_NEED(executable);
    args->output_types = args->executable->output_types;
    args->num_output_types = args->executable->outputs.n;
    return NULL;
}

PJRT_Error *tn_pjrt_Executable_OutputDimensions(PJRT_Executable_OutputDimensions_Args *args)
{
    TN_PJRT_NEED(executable);
    args->num_outputs = args->executable->outputs.n;
    args->dims = args->executable->output_dims;
    args->dim_sizes = args->executable->output_ranks;
    return NULL;
}

PJRT_Error *tn_pjrt_Executable_ParameterMemoryKinds(PJRT_Executable_ParameterMemoryKinds_Args *args)
{
    TN_PJRT_NEED(executable);
    const tn_pjrt_values *v = &args->executable->parameters;
    args->num_parameters = v->n;
    args->memory_kinds = v->memory_kinds.data;
    args->memory_kind_sizes = v->memory_kinds.sizes;
    return NULL;
}

PJRT_Error *tn_pjrt_Executable_OutputMemoryKinds(PJRT_Executable_OutputMemoryKinds_Args *args)
{
    TN_PJRT_NEED(executable);
    const tn_pjrt_values *v = &args->executable->outputs;
    args->num_outputs = v->n;
    args->memory_kinds = v->memory_kinds.data;
    args->memory_kind_sizes = v->memory_kinds.sizes;
    return NULL;
}

static tn_status *make_text(PJRT_Executable *e)
{
    tn_status *s = NULL;
    pthread_mutex_lock(&e->lock);
    if (!e->text) s = tn_executable_print(e->it, &e->text, &e->text_size);
    pthread_mutex_unlock(&e->lock);
    return s;
}

PJRT_Error *tn_pjrt_Executable_OptimizedProgram(PJRT_Executable_OptimizedProgram_Args *args)
{
    static const char format[] = "mlir";
    TN_PJRT_NEED(executable);
    PJRT_Executable *e = args->executable;
    PJRT_Program program; /* only to check that the caller's reaches as far as we write */
    TN_PJRT_TRY(TN_PJRT_TAKE(PJRT_Program, format_size, args->program, &program));
    TN_PJRT_TRY(make_text(e));
    if (program.code) {
        if (program.code_size < e->text_size)
            return TN_PJRT_ERROR(INVALID_ARGUMENT, "room for %zu bytes of a program of %zu",
                                 program.code_size, e->text_size);
        memcpy(program.code, e->text, e->text_size);
    }
    args->program->code_size = e->text_size;
    args->program->format = format;
    args->program->format_size = sizeof format - 1;
    return NULL;
}

static void free_serialized(PJRT_SerializedExecutable *holder)
{
    free(holder);
}

PJRT_Error *tn_pjrt_Executable_Serialize(PJRT_Executable_Serialize_Args *args)
{
    TN_PJRT_NEED(executable);
    void *bytes;
    TN_PJRT_TRY(
        tn_executable_serialize(args->executable->it, &bytes, &args->serialized_bytes_size));
    args->serialized_bytes = bytes;
    args->serialized_executable = bytes;
    args->serialized_executable_deleter = free_serialized;
    return NULL;
}

static void free_options(PJRT_SerializedCompileOptions *holder)
{
    free(holder);
}

PJRT_Error *tn_pjrt_Executable_GetCompileOptions(PJRT_Executable_GetCompileOptions_Args *args)
{
    TN_PJRT_NEED(executable);
    size_t size;
    const void *options = tn_executable_compile_options(args->executable->it, &size);
    char *copy = malloc(size + 1); /* the bytes may outlive the executable */
    if (!copy) return TN_PJRT_ERROR(RESOURCE_EXHAUSTED, "no memory for compile options");
    if (size) memcpy(copy, options, size);
    args->serialized_bytes = copy;
    args->serialized_bytes_size = size;
    args->serialized_compile_options = (PJRT_SerializedCompileOptions *)copy;
    args->serialized_compile_options_deleter = free_options;
    return NULL;
}
