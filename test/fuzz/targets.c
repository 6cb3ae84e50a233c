/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fuzz/targets.h"

#include <stdlib.h>
#include <string.h>

#include "executable/compile_options.h"
#include "executable/executable.h"
#include "reader/reader.h"
#include "test/fuzz/mutate.h"

/* --- read: bytes to IR and back to text --- */

enum { MOST_BYTES = 256 << 20 }; /* of arena for one program of at most 1 MB */

typedef struct {
    const uint8_t *data;
    size_t size;
    tn_arena *arena;
    bool *good;
} job;

static tn_status *read_and_print(void *ctx)
{
    job *j = ctx;
    tn_module *m;
    size_t size;
    TN_TRY(tn_read_bytecode(j->data, j->size, j->arena, &m));
    *j->good = true;
    for (const tn_function *f = m->functions; f; f = f->next)
        if (f->body.last) tn_op_location(f->body.last);
    tn_module_print(m, j->arena, &size);
    return NULL;
}

static tn_status *run_read(const uint8_t *data, size_t size, bool *good)
{
    job j = {data, size, tn_arena_new(), good};
    tn_arena_limit(j.arena, MOST_BYTES);
    tn_status *s = tn_arena_run(j.arena, read_and_print, &j);
    tn_arena_free(j.arena);
    return s;
}

/* --- text: MLIR's text to IR and back --- */

typedef struct {
    blob program;
    tn_arena *arena;
    bool *good;
    char *text;
    size_t size;
} text_job;

static tn_status *read_text_and_print(void *ctx)
{
    text_job *j = ctx;
    tn_module *m;
    if (tn_is_bytecode(j->program.data, j->program.size))
        TN_TRY(tn_read_bytecode(j->program.data, j->program.size, j->arena, &m));
    else TN_TRY(tn_read_text((const char *)j->program.data, j->program.size, j->arena, &m));
    *j->good = true;
    for (const tn_function *f = m->functions; f; f = f->next)
        if (f->body.last) tn_op_location(f->body.last);
    j->text = tn_module_print(m, j->arena, &j->size);
    return NULL;
}

static tn_status *run_text(const uint8_t *data, size_t size, bool *good)
{
    text_job j = {
        .program = {(uint8_t *)(uintptr_t)data, size}, .arena = tn_arena_new(), .good = good};
    tn_arena_limit(j.arena, MOST_BYTES);
    tn_status *s = tn_arena_run(j.arena, read_text_and_print, &j);
    tn_arena_free(j.arena);
    return s;
}

/* Programs as the printer writes them; files of text stay as they are. */
static void prepare_text(void)
{
    blob *programs = corpus;
    size_t n = n_corpus;
    corpus = NULL;
    n_corpus = 0;
    for (size_t i = 0; i < n; i++) {
        bool good;
        text_job j = {.program = programs[i], .arena = tn_arena_new(), .good = &good};
        tn_status *s = NULL;
        if (!tn_is_bytecode(programs[i].data, programs[i].size)) {
            add_blob(programs[i].data, programs[i].size);
        } else {
            s = tn_arena_run(j.arena, read_text_and_print, &j);
            if (!s) add_blob(j.text, j.size);
        }
        tn_status_free(s);
        tn_arena_free(j.arena);
        free(programs[i].data);
    }
    free(programs);
}

/* --- compile: and run what is small and sure to end --- */

enum { MOST_RUN_BYTES = 1 << 20, MOST_RUN_NS = 20000000 };

static size_t value_bytes(const tn_executable_value *v)
{
    return v->type->kind == TN_TYPE_TENSOR ? tn_type_bytes(v->type) : 0;
}

static void *memory(size_t bytes)
{
    uint8_t *p = aligned_alloc(64, (bytes + 64) & ~(size_t)63);
    for (size_t i = 0; p && i < bytes; i++) p[i] = (uint8_t)(i * 31 & 1); /* i1 must be 0 or 1 */
    return p;
}

static tn_status *run_on_anything(const tn_executable *e)
{
    const tn_executable_info *info = tn_executable_get_info(e);
    size_t bytes = info->temp_bytes;
    for (uint32_t i = 0; i < info->n_params; i++) bytes += value_bytes(&info->params[i]);
    for (uint32_t i = 0; i < info->n_results; i++) bytes += value_bytes(&info->results[i]);
    if (bytes > MOST_RUN_BYTES || info->cost_ns > MOST_RUN_NS) return NULL;
    void **args = calloc(info->n_params + 1, sizeof *args),
         **results = calloc(info->n_results + 1, sizeof *results);
    for (uint32_t i = 0; i < info->n_params; i++) args[i] = memory(value_bytes(&info->params[i]));
    for (uint32_t i = 0; i < info->n_results; i++)
        results[i] = info->results[i].alias >= 0 ? args[info->results[i].alias]
                                                 : memory(value_bytes(&info->results[i]));
    tn_run run = {.args = args, .results = results, .temp = memory(info->temp_bytes)};
    tn_status *s = tn_executable_run(e, &run);
    for (uint32_t i = 0; i < info->n_results; i++)
        if (info->results[i].alias < 0) free(results[i]);
    for (uint32_t i = 0; i < info->n_params; i++) free(args[i]);
    free(run.temp);
    free(args);
    free(results);
    return s;
}

static tn_status *run_compile(const uint8_t *data, size_t size, bool *good)
{
    tn_executable *e;
    TN_TRY(tn_compile(data, size, "mlir", 4, NULL, &e));
    *good = true;
    tn_status *s = run_on_anything(e);
    tn_executable_release(e);
    return s;
}

/* --- options: CompileOptionsProto --- */

static tn_status *run_options(const uint8_t *data, size_t size, bool *good)
{
    tn_compile_options *o;
    TN_TRY(tn_compile_options_decode(data, size, &o));
    *good = true;
    tn_compile_options_free(o);
    return NULL;
}

static void prepare_options(void)
{
    /* executable_build_options { device_ordinal -1, replicas 2, partitions 1, assignment of 2 x 1
     * }; one override */
    static const uint8_t whole[] = {0x1a, 0x21, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                    0xff, 0xff, 0x01, 0x20, 0x02, 0x28, 0x01, 0x4a, 0x0a, 0x08,
                                    0x02, 0x10, 0x01, 0x1a, 0x04, 0x0a, 0x02, 0x00, 0x01, 0x98,
                                    0x01, 0x01, 0xb8, 0x01, 0x01, 0x3a, 0x0b, 0x0a, 0x05, 'a',
                                    '_',  'b',  '_',  'c',  0x12, 0x02, 0x18, 0x07, 0x48, 0x01};
    static const uint8_t small[] = {0x1a, 0x04, 0x20, 0x01, 0x28, 0x01};
    for (size_t i = 0; i < n_corpus; i++) free(corpus[i].data);
    n_corpus = 0;
    add_blob(whole, sizeof whole);
    add_blob(small, sizeof small);
}

/* --- serialized: stored executables --- */

static tn_status *run_serialized(const uint8_t *data, size_t size, bool *good)
{
    tn_executable *e;
    TN_TRY(tn_executable_deserialize(data, size, NULL, &e));
    *good = true;
    tn_executable_release(e);
    return NULL;
}

static void prepare_serialized(void)
{
    blob *programs = corpus;
    size_t n = n_corpus;
    corpus = NULL;
    n_corpus = 0;
    for (size_t i = 0; i < n; i++) {
        tn_executable *e;
        void *bytes;
        size_t size;
        tn_status *s = tn_compile(programs[i].data, programs[i].size, "mlir", 4, NULL, &e);
        if (!s) {
            s = tn_executable_serialize(e, &bytes, &size);
            tn_executable_release(e);
            if (!s) {
                add_blob(bytes, size);
                free(bytes);
            }
        }
        static const char head[16] = "TENONDIR"; /* no options */
        uint8_t *direct = malloc(programs[i].size + sizeof head);
        memcpy(direct, head, sizeof head);
        memcpy(direct + sizeof head, programs[i].data, programs[i].size);
        add_blob(direct, programs[i].size + sizeof head);
        free(direct);
        tn_status_free(s);
        free(programs[i].data);
    }
    free(programs);
}

const target targets[] = {{"read", "bytecode to IR and back to text", run_read, NULL},
                          {"text", "MLIR's text to IR and back", run_text, prepare_text},
                          {"compile", "bytecode to a run", run_compile, NULL},
                          {"options", "CompileOptionsProto", run_options, prepare_options},
                          {"serialized", "stored executables", run_serialized, prepare_serialized},
                          {NULL, NULL, NULL, NULL}};
