/* SPDX-License-Identifier: Apache-2.0 */
/* compile.c - the calls that make executables: from programs, and from stored ones. */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "pjrt/executable.h"

/* ---- Options ---- */

static bool fits(const tn_option_override *o, tn_override_kind kind)
{
    if (o->kind == kind) return true;
    if (o->kind == TN_OVERRIDE_INT && kind == TN_OVERRIDE_DOUBLE) return true;
    if (o->kind != TN_OVERRIDE_STRING) return false;
    /* As text, as if it came from a command line. */
    char *end;
    switch (kind) {
    case TN_OVERRIDE_BOOL:
        return !strcasecmp(o->string, "true") || !strcasecmp(o->string, "false") ||
               !strcmp(o->string, "1") || !strcmp(o->string, "0");
    case TN_OVERRIDE_INT: strtoll(o->string, &end, 10); return end != o->string && !*end;
    case TN_OVERRIDE_DOUBLE: strtod(o->string, &end); return end != o->string && !*end;
    case TN_OVERRIDE_STRING: return true;
    }
    return false;
}

static tn_status *check_override(const tn_option_override *o)
{
    static const char *const kinds[] = {
        [TN_OVERRIDE_STRING] = "string",
        [TN_OVERRIDE_BOOL] = "bool",
        [TN_OVERRIDE_INT] = "int",
        [TN_OVERRIDE_DOUBLE] = "double",
    };
    static const struct {
        const char *name;
        tn_override_kind kind;
    } known[] = {
#define OVERRIDE(name, kind) {#name, TN_OVERRIDE_##kind},
#include "pjrt/overrides.def"
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(o->name, known[i].name)) continue;
        if (fits(o, known[i].kind)) return NULL;
        if (o->kind != TN_OVERRIDE_STRING)
            return TN_ERROR(INVALID_ARGUMENT, "compile option '%s': expected a %s value, got %s",
                            o->name, kinds[known[i].kind], kinds[o->kind]);
        return TN_ERROR(INVALID_ARGUMENT, "compile option '%s': '%s' is not a valid %s value.",
                        o->name, o->string, kinds[known[i].kind]);
    }
    return TN_ERROR(INVALID_ARGUMENT, "No such compile option: '%s'", o->name);
}

static tn_status *take_options(const void *bytes, size_t size, tn_compile_options **out)
{
    if (size > 0 && !bytes) return TN_ERROR(INVALID_ARGUMENT, "the compile options are NULL");
    TN_TRY(tn_compile_options_decode(bytes, size, out));
    tn_status *s = NULL;
    for (size_t i = 0; i < (*out)->n_overrides && !s; i++)
        s = check_override(&(*out)->overrides[i]);
    if (s) tn_compile_options_free(*out);
    return s;
}

/* ---- Programs ---- */

static const char *dump_folder(const tn_compile_options *options)
{
    const char *folder = NULL;
    for (size_t i = 0; i < options->n_overrides; i++) {
        const tn_option_override *o = &options->overrides[i];
        if (!strcmp(o->name, "xla_dump_to") && o->kind == TN_OVERRIDE_STRING) folder = o->string;
    }
    return folder && *folder ? folder : NULL;
}

/* Writes the optimized program to the folder, which is made. */
static tn_status *dump(const tn_executable *e, const char *folder)
{
    static atomic_uint count;
    char path[PATH_MAX];
    const char *name = tn_executable_get_info(e)->name;
    snprintf(path, sizeof path, "%s/module_%04u.%s.after_optimizations.mlir", folder,
             atomic_fetch_add(&count, 1), name && !strchr(name, '/') ? name : "program");
    char *text;
    size_t size;
    TN_TRY(tn_executable_print(e, &text, &size));
    mkdir(folder, 0777);
    FILE *f = fopen(path, "w");
    bool written = f && fwrite(text, 1, size, f) == size;
    if (f && fclose(f)) written = false;
    free(text);
    return written
               ? NULL
               : TN_ERROR(INVALID_ARGUMENT, "compile option 'xla_dump_to': %s can't be written: %s",
                          path, strerror(errno));
}

/* Dumps it where the options ask for that, and makes the handle; takes over `e`. */
static tn_status *finish(tn_executable *e, const tn_compile_options *options, PJRT_Executable **out)
{
    const char *folder = options ? dump_folder(options) : NULL;
    tn_status *s = folder ? dump(e, folder) : NULL;
    if (!s) return tn_pjrt_executable_make(e, out);
    tn_executable_release(e);
    return s;
}

static tn_status *compile(const PJRT_Program *from, const tn_compile_options *options,
                          PJRT_Executable **out)
{
    PJRT_Program p;
    TN_TRY(TN_PJRT_TAKE(PJRT_Program, format_size, from, &p));
    if (!p.code || !p.format)
        return TN_ERROR(INVALID_ARGUMENT, "the program has no %s", p.code ? "format" : "code");
    tn_executable *e;
    TN_TRY(tn_compile(p.code, p.code_size, p.format, p.format_size, options, &e));
    return finish(e, options, out);
}

PJRT_Error *tn_pjrt_Compile(PJRT_Compile_Args *args)
{
    TN_PJRT_NEED(topology);
    tn_compile_options *options;
    TN_PJRT_TRY(take_options(args->compile_options, args->compile_options_size, &options));
    tn_status *s = compile(args->program, options, &args->executable);
    tn_compile_options_free(options);
    return tn_pjrt_error(s);
}

PJRT_Error *tn_pjrt_Client_Compile(PJRT_Client_Compile_Args *args)
{
    TN_PJRT_NEED(client);
    tn_compile_options *options;
    TN_PJRT_TRY(take_options(args->compile_options, args->compile_options_size, &options));
    PJRT_Executable *e = NULL;
    tn_status *s = compile(args->program, options, &e);
    if (!s) s = tn_pjrt_load(args->client, e, options, &args->executable);
    tn_pjrt_executable_release(e);
    tn_compile_options_free(options);
    return tn_pjrt_error(s);
}

/* ---- Executables ---- */

/* Loads as `bytes` say, or if there are none as the options that `e` was compiled with. */
static tn_status *load(const PJRT_Client *client, PJRT_Executable *e, const void *bytes,
                       size_t size, PJRT_LoadedExecutable **out)
{
    if (!bytes || size == 0) bytes = tn_executable_compile_options(e->it, &size);
    tn_compile_options *options;
    TN_TRY(take_options(bytes, size, &options));
    tn_status *s = tn_pjrt_load(client, e, options, out);
    tn_compile_options_free(options);
    return s;
}

PJRT_Error *tn_pjrt_Client_Load(PJRT_Client_Load_Args *args)
{
    TN_PJRT_NEED(client);
    TN_PJRT_NEED(executable);
    return tn_pjrt_error(load(args->client, args->executable, args->compile_options,
                              args->compile_options_size, &args->loaded_executable));
}

static tn_status *deserialize(const PJRT_Executable_DeserializeAndLoad_Args *args,
                              tn_executable **out)
{
    tn_compile_options *options = NULL;
    if (args->overridden_serialized_compile_options)
        TN_TRY(take_options(args->overridden_serialized_compile_options,
                            args->overridden_serialized_compile_options_size, &options));
    tn_status *s = tn_executable_deserialize(args->serialized_executable,
                                             args->serialized_executable_size, options, out);
    tn_compile_options_free(options);
    return s;
}

PJRT_Error *tn_pjrt_Executable_DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args *args)
{
    TN_PJRT_NEED(client);
    TN_PJRT_NEED(serialized_executable);
    tn_executable *it;
    TN_PJRT_TRY(deserialize(args, &it));
    size_t size;
    const void *bytes = tn_executable_compile_options(it, &size);
    tn_compile_options *options;
    tn_status *s = take_options(bytes, size, &options);
    if (s) {
        tn_executable_release(it);
        return tn_pjrt_error(s);
    }
    PJRT_Executable *e = NULL;
    s = finish(it, options, &e);
    if (!s) s = tn_pjrt_load(args->client, e, options, &args->loaded_executable);
    tn_pjrt_executable_release(e);
    tn_compile_options_free(options);
    return tn_pjrt_error(s);
}
