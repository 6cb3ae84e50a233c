/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/compile_options.h"

#include <string.h>

/* Field numbers are those of xla/pjrt/proto/compile_options.proto. */

/* `list` of n elements of `size` bytes with one more; moves when n is a power of two. */
static void *append(tn_arena *a, const void *list, size_t n, size_t size, const void *element)
{
    char *at = (char *)list;
    if (!(n & (n - 1))) {
        at = tn_alloc_array(a, n ? 2 * n : 1, size);
        if (n) memcpy(at, list, n * size);
    }
    memcpy(at + n * size, element, size);
    return at;
}

static tn_status *span(const tn_proto_reader *r, const char *name, tn_proto_span *out)
{
    return tn_proto_bytes(r, name, &out->data, &out->size);
}

static const bool *bools(tn_arena *a, const tn_proto_list *list)
{
    bool *out = TN_NEW_ARRAY(a, bool, list->n);
    for (size_t i = 0; i < list->n; i++) out[i] = list->at[i] != 0;
    return out;
}

static tn_status *build_options(tn_proto_reader *r, tn_compile_options *o)
{
    const int64_t most = INT32_MAX;
    tn_arena *a = o->arena;
    tn_proto_list to_results = {0}, to_parameters = {0};
    for (;;) {
        bool more;
        TN_TRY(tn_proto_next(r, &more));
        if (!more) break;
        switch (r->field) {
        case 1: TN_TRY(tn_proto_int64_in(r, "device_ordinal", -1, most, &o->device_ordinal)); break;
        case 2: TN_TRY(span(r, "result_layout", &o->layouts.result)); break;
        case 4: TN_TRY(tn_proto_int64_in(r, "num_replicas", 0, most, &o->num_replicas)); break;
        case 5: TN_TRY(tn_proto_int64_in(r, "num_partitions", 0, most, &o->num_partitions)); break;
        case 6: TN_TRY(tn_proto_bool(r, "use_spmd_partitioning", &o->use_spmd_partitioning)); break;
        case 9: {
            tn_proto_reader inner;
            TN_TRY(tn_proto_message(r, "device_assignment", "DeviceAssignmentProto", &inner));
            TN_TRY(tn_device_assignment_decode(&inner, a, &o->device_assignment));
            break;
        }
        case 10:
            TN_TRY(tn_proto_bool(r, "alias_passthrough_params", &o->alias_passthrough_params));
            break;
        case 12:
            TN_TRY(tn_proto_append(r, "allow_spmd_sharding_propagation_to_output", a, &to_results));
            break;
        case 15: TN_TRY(tn_proto_int64(r, "device_memory_size", &o->device_memory_size)); break;
        case 18:
            TN_TRY(tn_proto_append(r, "allow_spmd_sharding_propagation_to_parameters", a,
                                   &to_parameters));
            break;
        case 19:
            TN_TRY(tn_proto_bool(r, "use_shardy_partitioner", &o->use_shardy_partitioner));
            break;
        case 22: TN_TRY(tn_proto_int64(r, "process_index", &o->process_index)); break;
        case 23: TN_TRY(tn_proto_int64(r, "process_count", &o->process_count)); break;
        case 24: TN_TRY(tn_proto_int64(r, "optimization_level", &o->optimization_level)); break;
        case 25: TN_TRY(tn_proto_int64(r, "memory_fitting_level", &o->memory_fitting_level)); break;
        case 26: TN_TRY(tn_proto_int64(r, "slice_size", &o->slice_size)); break;
        }
    }
    if (to_results.n) {
        o->propagate_to_results = bools(a, &to_results);
        o->n_propagate_to_results = to_results.n;
    }
    if (to_parameters.n) {
        o->propagate_to_parameters = bools(a, &to_parameters);
        o->n_propagate_to_parameters = to_parameters.n;
    }
    return NULL;
}

static tn_status *override_value(tn_proto_reader *r, tn_arena *a, tn_option_override *v)
{
    for (;;) {
        bool more;
        TN_TRY(tn_proto_next(r, &more));
        if (!more) return NULL;
        switch (r->field) {
        case 1:
            TN_TRY(tn_proto_string(r, "string_field", a, &v->string));
            v->kind = TN_OVERRIDE_STRING;
            break;
        case 2:
            TN_TRY(tn_proto_bool(r, "bool_field", &v->boolean));
            v->kind = TN_OVERRIDE_BOOL;
            break;
        case 3:
            TN_TRY(tn_proto_int64(r, "int_field", &v->integer));
            v->kind = TN_OVERRIDE_INT;
            break;
        case 4:
            TN_TRY(tn_proto_double(r, "double_field", &v->number));
            v->kind = TN_OVERRIDE_DOUBLE;
            break;
        }
    }
}

/* One entry of the map env_option_overrides. */
static tn_status *override_entry(tn_proto_reader *r, tn_arena *a, tn_option_override *v)
{
    *v = (tn_option_override){.name = "", .kind = TN_OVERRIDE_STRING, .string = ""};
    for (;;) {
        bool more;
        TN_TRY(tn_proto_next(r, &more));
        if (!more) return NULL;
        tn_proto_reader inner;
        switch (r->field) {
        case 1: TN_TRY(tn_proto_string(r, "key", a, &v->name)); break;
        case 2:
            TN_TRY(tn_proto_message(r, "value", "OptionOverrideProto", &inner));
            TN_TRY(override_value(&inner, a, v));
            break;
        }
    }
}

static tn_status *options(tn_proto_reader *r, tn_compile_options *o)
{
    for (;;) {
        bool more;
        TN_TRY(tn_proto_next(r, &more));
        if (!more) return NULL;
        tn_proto_reader inner;
        switch (r->field) {
        case 1: {
            tn_proto_span layout;
            TN_TRY(span(r, "argument_layouts", &layout));
            o->layouts.arguments = append(o->arena, o->layouts.arguments, o->layouts.n_arguments++,
                                          sizeof layout, &layout);
            break;
        }
        case 2:
            TN_TRY(tn_proto_bool(r, "parameter_is_tupled_arguments", &o->tupled_arguments));
            break;
        case 3:
            TN_TRY(tn_proto_message(r, "executable_build_options", "ExecutableBuildOptionsProto",
                                    &inner));
            TN_TRY(build_options(&inner, o));
            break;
        case 4:
            TN_TRY(tn_proto_bool(r, "compile_portable_executable", &o->compile_portable));
            break;
        case 7: {
            tn_option_override v;
            TN_TRY(tn_proto_message(r, "env_option_overrides", "EnvOptionOverridesEntry", &inner));
            TN_TRY(override_entry(&inner, o->arena, &v));
            o->overrides = append(o->arena, o->overrides, o->n_overrides++, sizeof v, &v);
            break;
        }
        case 9:
            TN_TRY(tn_proto_bool(r, "allow_in_place_mlir_modification", &o->may_change_program));
            break;
        }
    }
}

typedef struct {
    tn_arena *arena;
    tn_proto_span bytes;
    tn_compile_options *out;
} decoding;

static tn_status *decode(void *ctx)
{
    decoding *in = ctx;
    tn_compile_options *o = TN_NEW(in->arena, tn_compile_options);
    o->arena = in->arena;
    o->device_ordinal = -1;
    o->serialized.data = tn_dup(o->arena, in->bytes.data, in->bytes.size);
    o->serialized.size = in->bytes.size;
    tn_proto_reader r;
    tn_proto_read(&r, "CompileOptionsProto", o->serialized.data, o->serialized.size);
    TN_TRY(options(&r, o));

    if (!o->num_replicas) o->num_replicas = 1;
    if (!o->num_partitions) o->num_partitions = 1;
    const tn_device_assignment *d = &o->device_assignment;
    if (d->replicas && (d->replicas != o->num_replicas || d->partitions != o->num_partitions))
        return TN_ERROR(INVALID_ARGUMENT,
                        "ExecutableBuildOptionsProto.device_assignment: expected %lld replicas of "
                        "%lld partitions as in num_replicas and num_partitions, got %lld of %lld",
                        (long long)o->num_replicas, (long long)o->num_partitions,
                        (long long)d->replicas, (long long)d->partitions);
    in->out = o;
    return NULL;
}

tn_status *tn_compile_options_decode(const void *data, size_t size, tn_compile_options **out)
{
    decoding in = {.arena = tn_arena_new(), .bytes = {data, size}};
    if (!in.arena) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory for compile options");
    tn_status *s = tn_arena_run(in.arena, decode, &in);
    if (s) {
        tn_arena_free(in.arena);
        return s;
    }
    *out = in.out;
    return NULL;
}

void tn_compile_options_free(tn_compile_options *o)
{
    if (o) tn_arena_free(o->arena);
}
