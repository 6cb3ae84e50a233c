/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/compile.h"

#include <stdlib.h>

#include "base/options.h"
#include "executable/checked.h"
#include "executable/compile_options.h"
#include "executable/fingerprint.h"
#include "executable/program.h"
#include "executable/twins.h"
#include "passes/refine.h"
#include "reader/reader.h"

typedef struct {
    const tn_source *source;
    tn_executable *e;
} job;

/* Locations are made into text only for messages, by any thread, long after the compilation. */
typedef struct {
    tn_locator as_locator; /* first */
    tn_executable *e;
} late_locator;

typedef struct {
    tn_executable *e;
    uint32_t location;
    const char *text;
} location_request;

static tn_status *make_text(void *ctx)
{
    location_request *r = ctx;
    r->text = r->e->locator->text(r->e->locator, r->e->location_arena, r->location);
    return NULL;
}

static const char *text_of_location(const tn_locator *l, tn_arena *a, uint32_t location)
{
    tn_executable *e = ((const late_locator *)l)->e;
    location_request r = {e, location, NULL};
    pthread_mutex_lock(&e->location_lock);
    if (!e->location_arena) e->location_arena = tn_arena_new();
    if (e->location_arena) tn_status_free(tn_arena_run(e->location_arena, make_text, &r));
    pthread_mutex_unlock(&e->location_lock);
    return r.text;
}

void tn_keep_locations(tn_executable *e)
{
    if (!e->module->locator) return;
    late_locator *l = TN_NEW(e->arena, late_locator);
    *l = (late_locator){{text_of_location}, e};
    e->locator = e->module->locator;
    e->module->locator = &l->as_locator;
}

/* What is worth a second thread. */
#define TOGETHER_NS 20000.0

tn_status *tn_plan_module(tn_executable *e, bool fuse)
{
    tn_module *m = e->module;
    tn_module_number(m);
    uint32_t n_params = m->main->body.n_args;
    int32_t *aliases = TN_NEW_ARRAY(e->arena, int32_t, n_params);
    TN_TRY(tn_find_aliases(m, aliases));
    tn_plan p = {.module = m, .arena = e->arena, .main = m->main, .fuse = fuse, .aliases = aliases};
    if (fuse) p.jit = tn_jit_new(e->arena);
    TN_TRY(tn_plan_flatten(&p));
    tn_plan_liveness(&p);
    tn_plan_coalesce(&p);
    TN_TRY(tn_plan_offsets(&p));
    TN_TRY(tn_jit_finish(p.jit, &e->machine_code));
    tn_make_steps(&p, e);
    tn_describe(m, e->signature, aliases, e->arena, &e->info);
    TN_TRY(tn_make_calls(e));
    tn_find_together(e, TOGETHER_NS);
    tn_estimate_cost(&p, &e->info);
    return NULL;
}

/* What the caller wants counts where the program says nothing, i.e. 1. */
static tn_status *settle_count(uint32_t *module, int64_t wanted, const char *what)
{
    if (wanted <= 1 || wanted == *module) return NULL;
    if (*module != 1)
        return TN_ERROR(INVALID_ARGUMENT, "the program is for %u %s, the compile options for %lld",
                        *module, what, (long long)wanted);
    *module = (uint32_t)wanted;
    return NULL;
}

static tn_status *compile(void *ctx)
{
    const job *j = ctx;
    tn_executable *e = j->e;
    tn_source source = *j->source;
    source.code = e->code = tn_dup(e->arena, source.code, source.code_size);
    source.options = e->options = tn_dup(e->arena, source.options, source.options_size);
    e->code_size = source.code_size;
    e->options_size = source.options_size;
    uint64_t start = tn_trace_begin();
    TN_TRY(source.read(&source, e->arena, &e->module));
    const char *name = tn_trace_is_on() ? e->module->name : NULL;
    TN_TRACE_END(start, TN_TRACE_COMPILE, "read", NULL, name, source.code_size);
    start = tn_trace_begin();
    TN_TRY(settle_count(&e->module->num_replicas, source.num_replicas, "replicas"));
    TN_TRY(settle_count(&e->module->num_partitions, source.num_partitions, "partitions"));
    if (!source.as_it_is) TN_TRY(tn_module_verify(e->module));
    TN_TRY(tn_apply_layouts(e->module, &source.layouts, &e->signature));
    TN_TRACE_END(start, TN_TRACE_COMPILE, "verify", NULL, name, 0);
    TN_TRY(tn_passes_run(e->module, TN_PASSES_BEFORE_SIZES, source.as_it_is));
    e->fuse = tn_options_get()->fuse && !source.unfused;
    e->as_it_is = source.as_it_is;
    if (!tn_module_is_sized(e->module)) TN_TRY(tn_find_sizes(e));
    if (e->signature && e->info.is_dynamic)
        return TN_ERROR(
            UNIMPLEMENTED,
            "parameters or results in another layout than row-major, in a program whose "
            "sizes are not known");
    if (!e->info.is_dynamic) {
        TN_TRY(tn_passes_run(e->module, TN_PASSES_WITH_SIZES, source.as_it_is));
        start = tn_trace_begin();
        TN_TRY(tn_plan_module(e, e->fuse));
        TN_TRACE_END(start, TN_TRACE_COMPILE, "plan", NULL, name, 0);
    }
    tn_fingerprint(e->code, e->code_size, e->options, e->options_size, e->info.fingerprint);
    tn_keep_locations(e);
    if (tn_dumps("steps")) tn_dump_steps(e, stderr);
    e->info.code_bytes = tn_arena_bytes(e->arena);
    return NULL;
}

tn_status *tn_executable_new(tn_executable **out)
{
    *out = NULL;
    tn_executable *e = calloc(1, sizeof *e);
    if (!e) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory for an executable");
    atomic_init(&e->references, 1);
    pthread_mutex_init(&e->location_lock, NULL);
    e->arena = tn_arena_new();
    if (e->arena) {
        *out = e;
        return NULL;
    }
    tn_executable_release(e);
    return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory for an executable");
}

tn_status *tn_compile_source(const tn_source *source, tn_executable **out)
{
    tn_executable *e;
    TN_TRY(tn_executable_new(&e));
    job j = {source, e};
    uint64_t start = tn_trace_begin();
    tn_arena_fail_at(e->arena, source->fail_at);
    tn_status *s = tn_arena_run(e->arena, compile, &j);
    TN_TRACE_END(start, TN_TRACE_COMPILE, "compile", NULL, s ? "" : e->info.name, 0);
    if (s) tn_executable_release(e);
    else *out = e;
    return s;
}

tn_status *tn_read_program(const tn_source *self, tn_arena *a, tn_module **out)
{
    if (tn_is_bytecode(self->code, self->code_size))
        return tn_read_bytecode(self->code, self->code_size, a, out);
    return tn_read_text(self->code, self->code_size, a, out);
}

static const tn_op *find_slow(const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (op->kind == TN_OP_custom_call &&
            !strncmp(tn_op_string(op, TN_ATTR_call_target_name), "chlo.", 5))
            return op;
        for (uint32_t i = 0; i < op->n_regions; i++) {
            const tn_op *inner = find_slow(&op->regions[i]);
            if (inner) return inner;
        }
    }
    return NULL;
}

tn_status *tn_read_direct(const tn_source *self, tn_arena *a, tn_module **out)
{
    TN_TRY(tn_read_program(self, a, out));
    for (const tn_function *f = (*out)->functions; f; f = f->next) {
        const tn_op *op = find_slow(&f->body);
        if (op)
            return TN_OP_ERROR(UNIMPLEMENTED, op, "%.100s is slow unless it is expanded before",
                               tn_op_string(op, TN_ATTR_call_target_name));
    }
    return NULL;
}

/* Frameworks hand numbers over as numbers or as text. */
static tn_status *threads_wanted(const tn_compile_options *options, int *out)
{
    enum { MOST = 4096 };
    for (size_t i = 0; i < options->n_overrides; i++) {
        const tn_option_override *o = &options->overrides[i];
        if (strcmp(o->name, "tenon_threads")) continue;
        int64_t n = -1;
        char *end;
        if (o->kind == TN_OVERRIDE_INT) n = o->integer;
        if (o->kind == TN_OVERRIDE_STRING && *o->string) {
            n = strtoll(o->string, &end, 10);
            if (*end) n = -1;
        }
        if (n < 0 || n > MOST)
            return TN_ERROR(INVALID_ARGUMENT, "tenon_threads: expected a number from 0 to %d",
                            MOST);
        *out = (int)n;
    }
    return NULL;
}

tn_status *tn_compile_stored(tn_source_read *read, const void *code, size_t code_size,
                             const void *stored_options, size_t stored_options_size,
                             const tn_compile_options *options, tn_executable **out)
{
    tn_compile_options *stored = NULL;
    if (!options) {
        TN_TRY(tn_compile_options_decode(stored_options, stored_options_size, &stored));
        options = stored;
    }
    tn_source source = {.read = read,
                        .code = code,
                        .code_size = code_size,
                        .options = options->serialized.data,
                        .options_size = options->serialized.size,
                        .num_replicas = options->num_replicas,
                        .num_partitions = options->num_partitions,
                        .layouts = options->layouts};
    unsigned checks = 0;
    int threads = 0;
    tn_status *s = tn_checks_wanted(options, &checks);
    if (!s) s = threads_wanted(options, &threads);
    *out = s ? NULL : tn_twin_find(code, code_size, source.options, source.options_size);
    if (!s && !*out) {
        s = tn_compile_source(&source, out);
        if (!s) {
            (*out)->checks = checks;
            (*out)->threads = threads;
            tn_twin_add(*out);
        }
    }
    tn_compile_options_free(stored);
    return s;
}

tn_status *tn_compile(const void *code, size_t size, const char *format, size_t format_size,
                      const tn_compile_options *options, tn_executable **out)
{
    if (format_size != 4 || memcmp(format, "mlir", 4))
        return TN_ERROR(INVALID_ARGUMENT,
                        "program format \"%.*s\" is unknown; \"mlir\" is what is read",
                        (int)(format_size < 64 ? format_size : 64), format);
    return tn_compile_stored(tn_read_program, code, size, NULL, 0, options, out);
}

typedef struct {
    const tn_executable *e;
    tn_arena *arena;
    char *text;
    size_t size;
} print_request;

static tn_status *print(void *ctx)
{
    print_request *r = ctx;
    r->text = tn_module_print_for_mlir(r->e->module, r->arena, &r->size);
    return NULL;
}

tn_status *tn_executable_print(const tn_executable *e, char **out, size_t *size)
{
    print_request r = {.e = e, .arena = tn_arena_new()};
    if (!r.arena) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory for the program's text");
    tn_status *s = tn_arena_run(r.arena, print, &r);
    if (!s) {
        *size = r.size;
        *out = malloc(r.size + 1);
        if (*out) memcpy(*out, r.text, r.size + 1);
        else s = TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu bytes of program text", r.size);
    }
    tn_arena_free(r.arena);
    return s;
}

tn_executable *tn_executable_retain(tn_executable *e)
{
    atomic_fetch_add_explicit(&e->references, 1, memory_order_relaxed);
    return e;
}

void tn_executable_release(tn_executable *e)
{
    if (!e || atomic_fetch_sub_explicit(&e->references, 1, memory_order_acq_rel) != 1) return;
    tn_twin_remove(e);
    tn_scratch scratch = {atomic_load_explicit(&e->scratch, memory_order_relaxed)};
    tn_scratch_release(&scratch);
    free(atomic_load_explicit(&e->labels, memory_order_relaxed));
    tn_end_calls(e);
    tn_executable_release(e->base);
    tn_jit_free(&e->machine_code);
    tn_arena_free(e->location_arena);
    tn_arena_free(e->arena);
    pthread_mutex_destroy(&e->location_lock);
    free(e);
}

const tn_executable_info *tn_executable_get_info(const tn_executable *e)
{
    return &e->info;
}

const void *tn_executable_compile_options(const tn_executable *e, size_t *size)
{
    *size = e->options_size;
    return e->options;
}
