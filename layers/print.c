/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/proto.h"
#include "layers/print.h"

enum { MOST_BYTES = 64, MOST_ITEMS = 8 };

void tn_put_bytes(tn_out *o, const char *bytes, size_t n)
{
    if (o->n + n + 1 > o->room) {
        size_t room = (o->n + n + 1) * 2;
        char *at = realloc(o->at, room);
        if (!at) return;
        o->at = at;
        o->room = room;
    }
    memcpy(o->at + o->n, bytes, n);
    o->n += n;
    o->at[o->n] = 0;
}

void tn_put(tn_out *o, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n > 0) tn_put_bytes(o, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void tn_put_quoted(tn_out *o, const char *bytes, size_t n)
{
    tn_put_bytes(o, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '"' || c == '\\') tn_put(o, "\\%c", c);
        else if (c < 32 || c > 126) tn_put(o, "\\u%04x", c);
        else tn_put_bytes(o, bytes + i, 1);
    }
    tn_put_bytes(o, "\"", 1);
}

/* --- capture --- */

/* Pieces of an Execute, whose handles lie two pointers away. */
enum { PIECE_ARGUMENTS = 100, PIECE_OUTPUTS, PIECE_EVENTS, PIECE_LAUNCH, PIECE_PROGRAM };

static char *piece(char *to, const char *end, int field, const void *from, size_t n)
{
    size_t padded = (n + 3) & ~(size_t)3;
    if (to + 4 + padded > end) return to;
    uint16_t head[2] = {(uint16_t)field, (uint16_t)n};
    memcpy(to, head, 4);
    memcpy(to + 4, from, n);
    return to + 4 + padded;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void values_text(tn_out *o, const PJRT_NamedValue *v, size_t n)
{
    const char *at = (const char *)v;
    for (size_t i = 0; i < n && i < 16; i++) {
        v = (const PJRT_NamedValue *)at;
        tn_put(o, "%s%.*s=", i ? ", " : "{", (int)least(v->name_size, 64), v->name);
        switch (v->type) {
        case PJRT_NamedValue_kString:
            tn_put_quoted(o, v->string_value, least(v->value_size, 64));
            break;
        case PJRT_NamedValue_kInt64: tn_put(o, "%lld", (long long)v->int64_value); break;
        case PJRT_NamedValue_kFloat: tn_put(o, "%g", (double)v->float_value); break;
        case PJRT_NamedValue_kBool: tn_put(o, v->bool_value ? "true" : "false"); break;
        case PJRT_NamedValue_kInt64List:
            for (size_t k = 0; k < v->value_size && k < MOST_ITEMS; k++)
                tn_put(o, "%s%lld", k ? "," : "[", (long long)v->int64_array_value[k]);
            tn_put(o, "]");
            break;
        default: tn_put(o, "?");
        }
        size_t step = v->struct_size ? v->struct_size : sizeof *v;
        at += (step + 7) & ~(size_t)7;
    }
    tn_put(o, n ? "}" : "{}");
}

static char *capture_execute(const PJRT_LoadedExecutable_Execute_Args *a, char *to, const char *end)
{
    if (!a->num_devices) return to;
    if (a->argument_lists && a->argument_lists[0] && a->num_args)
        to = piece(to, end, PIECE_ARGUMENTS, a->argument_lists[0],
                   least(a->num_args, MOST_ITEMS) * sizeof(void *));
    if (a->options && a->options->struct_size >= PJRT_STRUCT_SIZE(PJRT_ExecuteOptions, launch_id))
        to = piece(to, end, PIECE_LAUNCH, &a->options->launch_id, sizeof(int));
    if (a->device_complete_events)
        to = piece(to, end, PIECE_EVENTS, a->device_complete_events,
                   least(a->num_devices, MOST_ITEMS) * sizeof(void *));
    return to;
}

size_t tn_capture(int fn, const void *args, bool failed, char *to)
{
    char *const start = to;
    const char *end = to + TN_CAPTURE_ROOM;
    const tn_struct *s = &tn_calls[fn].args;
    for (int i = 0; i < s->n_fields; i++) {
        const tn_field *f = &s->fields[i];
        if (f->kind != TN_FIELD_VALUES && (f->count_offset == f->offset || f->kind == TN_FIELD_INT))
            continue;
        bool is_out = f->direction == TN_FIELD_OUT || f->direction == TN_FIELD_MAKES;
        if ((failed && is_out) || !tn_field_covered(f, args)) continue;
        const void *p = tn_field_pointer(f, args);
        size_t n = tn_field_count(f, args);
        if (!p || !n) continue;
        switch (f->kind) {
        case TN_FIELD_STRING: to = piece(to, end, i, p, least(n, MOST_BYTES)); break;
        case TN_FIELD_I64S:
        case TN_FIELD_SIZES:
        case TN_FIELD_HANDLES: to = piece(to, end, i, p, least(n, MOST_ITEMS) * 8); break;
        case TN_FIELD_INTS: to = piece(to, end, i, p, least(n, MOST_ITEMS) * 4); break;
        case TN_FIELD_VALUES: {
            tn_out text = {0};
            values_text(&text, p, n);
            if (text.at) to = piece(to, end, i, text.at, least(text.n, 400));
            free(text.at);
            break;
        }
        }
    }
    if (fn == TN_CALL_PJRT_LoadedExecutable_Execute && !failed) to = capture_execute(args, to, end);
    if (fn == TN_CALL_PJRT_Client_Compile || fn == TN_CALL_PJRT_Compile) {
        const PJRT_Program *p = fn == TN_CALL_PJRT_Compile
                                    ? ((const PJRT_Compile_Args *)args)->program
                                    : ((const PJRT_Client_Compile_Args *)args)->program;
        char text[64];
        int n = snprintf(text, sizeof text, "%.*s, %zu bytes", (int)least(p->format_size, 20),
                         p->format, p->code_size);
        to = piece(to, end, PIECE_PROGRAM, text, (size_t)n);
    }
    return (size_t)(to - start);
}

/* --- print --- */

static const char *find_piece(const char *pieces, size_t n, int field, size_t *size)
{
    for (size_t at = 0; at + 4 <= n;) {
        uint16_t head[2];
        memcpy(head, pieces + at, 4);
        if (head[0] == field) {
            *size = head[1];
            return pieces + at + 4;
        }
        at += 4 + ((head[1] + 3u) & ~3u);
    }
    *size = 0;
    return NULL;
}

static void print_list(tn_out *o, const tn_field *f, const char *at, size_t bytes, size_t count)
{
    size_t width = f->kind == TN_FIELD_INTS ? 4 : 8, n = bytes / width;
    tn_put(o, "[");
    for (size_t i = 0; i < n; i++) {
        int64_t v = 0;
        int32_t narrow;
        if (width == 4) {
            memcpy(&narrow, at + i * 4, 4);
            v = narrow;
        } else {
            memcpy(&v, at + i * 8, 8);
        }
        tn_put(o, f->kind == TN_FIELD_HANDLES ? "%s%#llx" : "%s%lld", i ? "," : "", (long long)v);
    }
    tn_put(o, n < count ? ",...]" : "]");
}

static void print_value(tn_out *o, const tn_field *f, const void *args, const char *at,
                        size_t bytes)
{
    size_t count = tn_field_count(f, args);
    switch (f->kind) {
    case TN_FIELD_INT: tn_put(o, "%lld", (long long)tn_field_int(f, args)); return;
    case TN_FIELD_BOOL: tn_put(o, tn_field_int(f, args) ? "true" : "false"); return;
    case TN_FIELD_TYPE:
        tn_put(o, "%s", tn_pjrt_element_name((PJRT_Buffer_Type)tn_field_int(f, args)));
        return;
    case TN_FIELD_STRING:
        tn_put_quoted(o, at, bytes);
        if (bytes < count) tn_put(o, "...");
        return;
    case TN_FIELD_BYTES: tn_put(o, "<%zu bytes>", count); return;
    case TN_FIELD_I64S:
    case TN_FIELD_SIZES:
    case TN_FIELD_INTS:
    case TN_FIELD_HANDLES:
        if (count && !at) tn_put(o, "NULL");
        else print_list(o, f, at, bytes, count);
        return;
    case TN_FIELD_VALUES:
        if (at) tn_put_bytes(o, at, bytes);
        else tn_put(o, "{}");
        return;
    case TN_FIELD_INLINE: tn_put(o, "{...}"); return;
    default: {
        void *p = tn_field_pointer(f, args);
        tn_put(o, p ? "%p" : "NULL", p);
    }
    }
}

static void print_execute(tn_out *o, const char *pieces, size_t n_pieces, bool outputs)
{
    size_t n;
    const tn_field handles = {.kind = TN_FIELD_HANDLES};
    const char *at = find_piece(pieces, n_pieces, outputs ? PIECE_EVENTS : PIECE_ARGUMENTS, &n);
    if (at) {
        tn_put(o, outputs ? "events=" : ", arguments=");
        print_list(o, &handles, at, n, n / 8);
    }
    if (!outputs && (at = find_piece(pieces, n_pieces, PIECE_LAUNCH, &n))) {
        int launch;
        memcpy(&launch, at, sizeof launch);
        tn_put(o, ", launch_id=%d", launch);
    }
}

void tn_print_fields(tn_out *o, int fn, const void *args, const char *pieces, size_t n_pieces,
                     bool outputs)
{
    const tn_struct *s = &tn_calls[fn].args;
    bool first = true;
    for (int i = 0; i < s->n_fields; i++) {
        const tn_field *f = &s->fields[i];
        bool is_out = f->direction == TN_FIELD_OUT || f->direction == TN_FIELD_MAKES;
        if (is_out != outputs && f->direction != TN_FIELD_INOUT) continue;
        if (!tn_field_covered(f, args)) continue;
        bool counts = false; /* a count is printed with what it counts */
        for (int k = 0; k < s->n_fields; k++)
            counts |= k != i && s->fields[k].count_offset == f->offset;
        if (counts) continue;
        size_t bytes;
        const char *at = find_piece(pieces, n_pieces, i, &bytes);
        tn_put(o, "%s%s=", first ? "" : ", ", f->name);
        print_value(o, f, args, at, bytes);
        first = false;
    }
    if (fn == TN_CALL_PJRT_LoadedExecutable_Execute) print_execute(o, pieces, n_pieces, outputs);
    size_t n;
    const char *program = find_piece(pieces, n_pieces, PIECE_PROGRAM, &n);
    if (program && !outputs) tn_put(o, ", program is %.*s", (int)n, program);
}

/* --- compile options --- */

typedef struct message_row message_row;
static const struct message_row {
    const char *message;
    uint32_t field;
    const char *name, *inner; /* the message that the field holds */
} rows[] = {
    // clang-format off
    {"CompileOptionsProto", 1, "argument_layouts", "ShapeProto"},
    {"CompileOptionsProto", 2, "parameter_is_tupled_arguments", NULL},
    {"CompileOptionsProto", 3, "executable_build_options", "ExecutableBuildOptionsProto"},
    {"CompileOptionsProto", 4, "compile_portable_executable", NULL},
    {"CompileOptionsProto", 5, "profile_version", NULL},
    {"CompileOptionsProto", 6, "serialized_multi_slice_config", NULL},
    {"CompileOptionsProto", 7, "env_option_overrides", "OptionOverride"},
    {"CompileOptionsProto", 8, "target_config", "GpuTargetConfig"},
    {"CompileOptionsProto", 9, "allow_in_place_mlir_modification", NULL},
    {"CompileOptionsProto", 11, "compiler_variant", NULL},
    {"OptionOverride", 1, "key", NULL},
    {"OptionOverride", 2, "value", "OptionOverrideProto"},
    {"OptionOverrideProto", 1, "string_field", NULL},
    {"OptionOverrideProto", 2, "bool_field", NULL},
    {"OptionOverrideProto", 3, "int_field", NULL},
    {"OptionOverrideProto", 4, "double_field", NULL},
    {"ExecutableBuildOptionsProto", 1, "device_ordinal", NULL},
    {"ExecutableBuildOptionsProto", 2, "result_layout", "ShapeProto"},
    {"ExecutableBuildOptionsProto", 3, "debug_options", "DebugOptions"},
    {"ExecutableBuildOptionsProto", 4, "num_replicas", NULL},
    {"ExecutableBuildOptionsProto", 5, "num_partitions", NULL},
    {"ExecutableBuildOptionsProto", 6, "use_spmd_partitioning", NULL},
    {"ExecutableBuildOptionsProto", 7, "use_auto_spmd_partitioning", NULL},
    {"ExecutableBuildOptionsProto", 8, "deduplicate_hlo", NULL},
    {"ExecutableBuildOptionsProto", 9, "device_assignment", "DeviceAssignmentProto"},
    {"ExecutableBuildOptionsProto", 12, "allow_spmd_sharding_propagation_to_output", NULL},
    {"ExecutableBuildOptionsProto", 15, "device_memory_size", NULL},
    {"ExecutableBuildOptionsProto", 18, "allow_spmd_sharding_propagation_to_parameters", NULL},
    {"ExecutableBuildOptionsProto", 19, "use_shardy_partitioner", NULL},
    {"ExecutableBuildOptionsProto", 23, "process_count", NULL},
    {"ExecutableBuildOptionsProto", 25, "memory_fitting_level", NULL},
    {"DeviceAssignmentProto", 1, "replica_count", NULL},
    {"DeviceAssignmentProto", 2, "computation_count", NULL},
    {"DeviceAssignmentProto", 3, "computation_devices", "ComputationDevice"},
    {"ComputationDevice", 1, "replica_device_ids", NULL},
    // clang-format on
};

static bool printable(const uint8_t *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (at[i] < 32 || at[i] > 126) return false;
    return n > 0;
}

static void print_message(tn_out *o, const char *message, const void *bytes, size_t size, int depth)
{
    tn_proto_reader r;
    tn_proto_read(&r, message, bytes, size);
    for (;;) {
        bool more;
        tn_status *s = tn_proto_next(&r, &more);
        if (s) tn_put(o, "%*s(damaged: %s)\n", depth * 2, "", tn_status_message(s));
        if (s || !more) {
            tn_status_free(s);
            return;
        }
        const char *name = NULL, *inner = NULL;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (!strcmp(rows[i].message, message) && rows[i].field == r.field)
                name = rows[i].name, inner = rows[i].inner;
        tn_put(o, "%*s", depth * 2, "");
        if (name) tn_put(o, "%s", name);
        else tn_put(o, "%u", r.field);
        if (r.wire != TN_PROTO_BYTES) {
            tn_put(o, ": %lld\n", (long long)r.value);
        } else if (inner && depth < 8) {
            tn_put(o, " {\n");
            print_message(o, inner, r.data, r.size, depth + 1);
            tn_put(o, "%*s}\n", depth * 2, "");
        } else if (printable(r.data, r.size)) {
            tn_put(o, ": ");
            tn_put_quoted(o, (const char *)r.data, r.size);
            tn_put(o, "\n");
        } else {
            tn_put(o, ": <%zu bytes:", r.size);
            for (size_t i = 0; i < r.size && i < 32; i++) tn_put(o, " %02x", r.data[i]);
            tn_put(o, r.size > 32 ? " ...>\n" : ">\n");
        }
    }
}

void tn_print_options(tn_out *o, const void *bytes, size_t size)
{
    print_message(o, "CompileOptionsProto", bytes, size, 0);
}
