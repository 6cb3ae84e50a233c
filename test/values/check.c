/* SPDX-License-Identifier: Apache-2.0 */
#include "test/values/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread_pool.h"
#include "executable/compile.h"
#include "ops/interpret.h"
#include "reader/reader.h"
#include "test/values/generate.h"

tn_status *values_read(const values_source *s, tn_arena *a, tn_module **out)
{
    if (s->size) {
        TN_TRY(tn_read_text(s->text, s->size, a, out));
        return tn_module_verify(*out);
    }
    *out = tn_module_new(a);
    return values_generate(*out, s->seed);
}

/* --- memory --- */

typedef struct {
    void **data;
    uint32_t n;
} memories;

static void *block(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 64) & ~(size_t)63);
    if (!p) abort();
    memset(p, 0xA5, (bytes + 64) & ~(size_t)63);
    return p;
}

static memories blocks(uint32_t n)
{
    return (memories){calloc(n + 1, sizeof(void *)), n};
}

static void release(memories *m)
{
    for (uint32_t i = 0; i < m->n; i++) free(m->data[i]);
    free(m->data);
}

static memories arguments(uint64_t seed, uint32_t n, const tn_type *const *types)
{
    memories m = blocks(n);
    uint64_t state = seed ^ 0xABCDEF;
    for (uint32_t i = 0; i < n; i++) {
        m.data[i] = block(tn_type_bytes(types[i]));
        values_fill(&state, types[i]->element, tn_type_elements(types[i]), m.data[i]);
    }
    return m;
}

/* --- the expected values --- */

typedef struct {
    const values_source *source;
    tn_arena *arena;
    tn_module *module;
    memories results;
    const tn_type *const *types; /* arguments, then results */
    uint32_t n_args;
    FILE *report;
    bool wrong; /* an op differs from its reference */
} oracle;

static void observe(const tn_eval_observer *self, const tn_op *op, const tn_tensor *operands,
                    const tn_tensor *results);

typedef struct {
    tn_eval_observer as_observer; /* first */
    oracle *oracle;
} op_checker;

static void observe(const tn_eval_observer *self, const tn_op *op, const tn_tensor *operands,
                    const tn_tensor *results)
{
    oracle *o = ((const op_checker *)self)->oracle;
    if (o->wrong) return;
    const char *what = values_check_op(op, operands, results);
    if (!what) return;
    o->wrong = true;
    if (o->report) fprintf(o->report, "%s (at %s): %s\n", tn_op_text(op), tn_op_location(op), what);
}

static tn_status *interpret_with(oracle *o, const tn_eval_observer *observer)
{
    TN_TRY(values_read(o->source, o->arena, &o->module));
    const tn_function *f = o->module->main;
    o->types = f->type->parts;
    o->n_args = f->type->n_inputs;
    uint32_t n = f->type->n_parts - o->n_args;
    memories args = arguments(o->source->seed, o->n_args, o->types);
    o->results = blocks(n);
    tn_tensor *in = TN_NEW_ARRAY(o->arena, tn_tensor, o->n_args);
    tn_tensor *out = TN_NEW_ARRAY(o->arena, tn_tensor, n);
    for (uint32_t i = 0; i < o->n_args; i++) in[i] = (tn_tensor){args.data[i], o->types[i]};
    for (uint32_t i = 0; i < n; i++) {
        o->results.data[i] = block(tn_type_bytes(o->types[o->n_args + i]));
        out[i] = (tn_tensor){o->results.data[i], o->types[o->n_args + i]};
    }
    tn_eval_context context = {.observer = observer};
    tn_status *s = tn_interpret_function(f, &context, in, out);
    release(&args);
    return s;
}

static tn_status *interpret(void *ctx)
{
    op_checker checker = {{observe}, ctx};
    return interpret_with(ctx, &checker.as_observer);
}

typedef struct {
    oracle oracle;
    const tn_eval_observer *observer;
} interpreting;

static tn_status *interpret_alone(void *ctx)
{
    interpreting *i = ctx;
    return interpret_with(&i->oracle, i->observer);
}

tn_status *values_interpret(const values_source *s, tn_arena *a, const tn_eval_observer *observer)
{
    interpreting i = {{.source = s, .arena = a}, observer};
    tn_status *status = tn_arena_run(a, interpret_alone, &i);
    release(&i.oracle.results);
    return status;
}

/* --- the ways to run it --- */

typedef struct {
    const char *name;
    bool unfused, as_it_is, donate, threads;
    uint32_t every; /* of so many seeds one */
} way;

static const way ways[] = {{"compiled", .every = 1},
                           {"compiled, donating", .donate = true, .every = 1},
                           {"unfused", .unfused = true, .every = 4},
                           {"without passes", .as_it_is = true, .every = 4},
                           {"on two threads", .threads = true, .every = 4}};
enum { WAYS = sizeof ways / sizeof *ways };

static tn_status *read_source(const tn_source *self, tn_arena *a, tn_module **out)
{
    return values_read(self->read_ctx, a, out);
}

static tn_status *run(const oracle *o, const tn_executable *e, const way *w, bool *differ)
{
    const tn_executable_info *info = tn_executable_get_info(e);
    memories args = arguments(o->source->seed, o->n_args, o->types),
             before = arguments(o->source->seed, o->n_args, o->types),
             results = blocks(info->n_results);
    void *temp = block(info->temp_bytes);
    static tn_thread_pool *pool;
    if (w->threads && !pool) tn_status_free(tn_thread_pool_create(2, &pool));
    for (uint32_t i = 0; i < info->n_results; i++) {
        int32_t from = w->donate ? info->results[i].alias : -1;
        results.data[i] = from >= 0 ? args.data[from] : block(tn_type_bytes(info->results[i].type));
    }
    tn_run r = {
        .args = args.data, .results = results.data, .temp = temp, .pool = w->threads ? pool : NULL};
    tn_status *s = tn_executable_run(e, &r);
    for (uint32_t i = 0; i < info->n_results && !s; i++) {
        const tn_type *t = info->results[i].type;
        int64_t at = values_compare(t, o->results.data[i], results.data[i]);
        if (at < 0) continue;
        *differ = true;
        if (!o->report) continue;
        char type[128];
        unsigned bytes = tn_element_type_bytes(t->element);
        uint64_t want[2] = {0}, got[2] = {0};
        memcpy(want, (char *)o->results.data[i] + (size_t)at * bytes, bytes);
        memcpy(got, (char *)results.data[i] + (size_t)at * bytes, bytes);
        fprintf(o->report,
                "%s: result %u, %s, differs in element %" PRId64 ": 0x%" PRIx64
                ", interpreted 0x%" PRIx64 "\n",
                w->name, i, tn_type_format(t, type, sizeof type), at,
                bytes > 8 && got[0] == want[0] ? got[1] : got[0],
                bytes > 8 && got[0] == want[0] ? want[1] : want[0]);
    }
    for (uint32_t i = 0; i < info->n_params; i++) {
        bool given = w->donate && info->params[i].alias >= 0;
        if (given) args.data[i] = NULL; /* is a result */
        else if (memcmp(args.data[i], before.data[i], tn_type_bytes(o->types[i])) && !*differ) {
            *differ = true;
            if (o->report) fprintf(o->report, "%s: argument %u was written\n", w->name, i);
        }
    }
    free(temp);
    release(&args);
    release(&before);
    release(&results);
    return s;
}

static values_verdict failed(FILE *report, const char *what, tn_status *s)
{
    tn_code code = tn_status_code(s);
    bool refused = code == TN_UNIMPLEMENTED || code == TN_NOT_FOUND;
    if (report) fprintf(report, "%s: %s: %s\n", what, tn_code_name(code), tn_status_message(s));
    tn_status_free(s);
    return refused ? VALUES_REFUSED : VALUES_FAILED;
}

static values_verdict check_ways(oracle *o)
{
    for (uint32_t i = 0; i < WAYS; i++) {
        const way *w = &ways[i];
        if (!o->source->size && (o->source->seed + i) % w->every) continue;
        tn_executable *e;
        tn_source s = {.read = read_source,
                       .read_ctx = o->source,
                       .unfused = w->unfused,
                       .as_it_is = w->as_it_is};
        tn_status *status = tn_compile_source(&s, &e);
        if (status) return failed(o->report, w->name, status);
        bool differ = false;
        status = run(o, e, w, &differ);
        tn_executable_release(e);
        if (status) return failed(o->report, w->name, status);
        if (differ) return VALUES_DIFFER;
    }
    return VALUES_SAME;
}

/* What is printed reads back, and from then on prints the same. */
static values_verdict check_text(const values_source *s, FILE *report)
{
    size_t sizes[3];
    char *texts[3] = {values_text(s, &sizes[0])};
    for (int i = 1; i < 3 && texts[i - 1]; i++) {
        values_source read = {s->seed, texts[i - 1], sizes[i - 1]};
        texts[i] = values_text(&read, &sizes[i]);
    }
    bool same = texts[2] && sizes[1] == sizes[2] && !memcmp(texts[1], texts[2], sizes[1]);
    if (!same && report) fprintf(report, "the printed program does not read back as it was\n");
    for (int i = 0; i < 3; i++) free(texts[i]);
    return same ? VALUES_SAME : VALUES_FAILED;
}

values_verdict values_check(const values_source *s, FILE *report)
{
    oracle o = {.source = s, .arena = tn_arena_new(), .report = report};
    if (!o.arena) abort();
    tn_status *status = tn_arena_run(o.arena, interpret, &o);
    values_verdict v;
    if (status) v = failed(report, "interpreted", status);
    else if (o.wrong) v = VALUES_DIFFER;
    else v = check_ways(&o);
    if (v == VALUES_SAME && !s->size && s->seed % 16 == 0) v = check_text(s, report);
    release(&o.results);
    tn_arena_free(o.arena);
    return v;
}

values_verdict values_check_apart(const values_source *s, FILE *report)
{
    if (report) fflush(report);
    pid_t child = fork();
    if (child < 0) abort();
    if (!child) {
        if (!report) { /* a sanitizer's report is of no interest here */
            if (!freopen("/dev/null", "w", stderr)) _exit(VALUES_FAILED);
        }
        alarm(20);
        values_verdict v = values_check(s, report);
        if (report) fflush(report);
        _exit((int)v);
    }
    int status;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) <= VALUES_FAILED)
        return (values_verdict)WEXITSTATUS(status);
    if (report && WIFSIGNALED(status)) fprintf(report, "ended by signal %d\n", WTERMSIG(status));
    return VALUES_FAILED;
}

/* --- text --- */

typedef struct {
    const values_source *source;
    tn_arena *arena;
    char *text;
    size_t size;
} printing;

static tn_status *print(void *ctx)
{
    printing *p = ctx;
    tn_module *m;
    TN_TRY(values_read(p->source, p->arena, &m));
    const char *text = tn_module_print(m, p->arena, &p->size);
    p->text = malloc(p->size + 1);
    if (p->text) memcpy(p->text, text, p->size + 1);
    return NULL;
}

char *values_text(const values_source *s, size_t *size)
{
    printing p = {.source = s, .arena = tn_arena_new()};
    tn_status *status = tn_arena_run(p.arena, print, &p);
    if (status) fprintf(stderr, "%s\n", tn_status_message(status));
    tn_status_free(status);
    tn_arena_free(p.arena);
    *size = p.size;
    return p.text;
}
