/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/checked.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "executable/compile.h"
#include "executable/program.h"
#include "ops/infer.h"
#include "ops/interpret.h"
#include "passes/passes.h"

/* --- what is asked for --- */

static tn_status *parse(const char *text, unsigned *out)
{
    static const struct {
        const char *name;
        unsigned bit;
    } names[] = {{"values", TN_CHECK_VALUES}, {"nan", TN_CHECK_NAN}, {"bounds", TN_CHECK_BOUNDS}};
    *out = 0;
    while (*text) {
        size_t n = strcspn(text, ",");
        unsigned bit = 0;
        for (int i = 0; i < 3; i++)
            if (strlen(names[i].name) == n && !memcmp(text, names[i].name, n)) bit = names[i].bit;
        if (!bit && n)
            return TN_ERROR(INVALID_ARGUMENT,
                            "tenon_check: \"%.*s\" is none of values, nan and bounds",
                            (int)(n < 64 ? n : 64), text);
        *out |= bit;
        text += n + (text[n] == ',');
    }
    return NULL;
}

tn_status *tn_checks_wanted(const tn_compile_options *options, unsigned *out)
{
    const char *text = tn_options_get()->check;
    for (size_t i = 0; options && i < options->n_overrides; i++) {
        const tn_option_override *o = &options->overrides[i];
        if (!strcmp(o->name, "tenon_check") && o->kind == TN_OVERRIDE_STRING) text = o->string;
    }
    return parse(text, out);
}

/* --- one checked run --- */

typedef struct {
    const tn_op *op;
    void **values; /* [n_results] as the interpreter had them */
} recorded;

typedef struct {
    const tn_executable *e;
    const tn_run *run;
    unsigned checks;
    tn_arena *arena;
    tn_module *module;
    void **args;                  /* as they were before the run */
    tn_tensor *inputs, *expected; /* of main */
    recorded *ops;                /* those of main's own region, in order */
    uint32_t n_ops, capacity;
} checking;

static void *block(checking *c, size_t bytes)
{
    return (void *)(((uintptr_t)tn_alloc(c->arena, bytes + 128) + 63) & ~(uintptr_t)63);
}

/* Why the program can't be run a second time, or NULL. */
static const char *obstacle(const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (tn_op_has_effect(op)) return tn_op_text(op);
        for (uint32_t i = 0; i < op->n_results; i++) {
            const tn_type *t = op->results[i].type;
            if (t->kind == TN_TYPE_TENSOR && !tn_type_is_static(t)) return "a dynamic shape";
        }
        for (uint32_t i = 0; i < op->n_regions; i++) {
            const char *inner = obstacle(&op->regions[i]);
            if (inner) return inner;
        }
    }
    return NULL;
}

/* The program as it came, with the passes that nothing can run without. */
static tn_status *read_again(const tn_executable *e, tn_arena *a, tn_module **out)
{
    tn_source source = {.code = e->code, .code_size = e->code_size};
    TN_TRY(tn_read_program(&source, a, out));
    (*out)->num_replicas = e->info.num_replicas;
    (*out)->num_partitions = e->info.num_partitions;
    TN_TRY(tn_module_verify(*out));
    return tn_passes_run(*out, TN_PASSES_ALL, true);
}

/* Keeps what main's own ops gave. */
static void record(const tn_eval_observer *self, const tn_op *op, const tn_tensor *operands,
                   const tn_tensor *results);

typedef struct {
    tn_op_watch watch; /* first */
    checking *c;
} observer;

static void record(const tn_eval_observer *self, const tn_op *op, const tn_tensor *operands,
                   const tn_tensor *results)
{
    checking *c = ((const observer *)self)->c;
    tn_watch_op(self, op, operands, results);
    if (!(c->checks & TN_CHECK_VALUES) || op->region != &c->module->main->body ||
        c->n_ops == c->capacity)
        return;
    recorded *r = &c->ops[c->n_ops++];
    r->op = op;
    r->values = TN_NEW_ARRAY(c->arena, void *, op->n_results);
    for (uint32_t i = 0; i < op->n_results; i++) {
        size_t bytes = tn_type_bytes(results[i].type);
        r->values[i] = block(c, bytes);
        if (bytes) memcpy(r->values[i], results[i].data, bytes);
    }
}

/* --- finding the op --- */

/* main returns what one of its ops gives, and takes nothing over. */
typedef struct {
    const tn_executable *e;
    uint32_t nth;
} part;

static tn_status *read_part(const tn_source *self, tn_arena *a, tn_module **out)
{
    const part *p = self->read_ctx;
    TN_TRY(read_again(p->e, a, out));
    tn_function *f = (*out)->main;
    tn_op *op = f->body.first, *ret = f->body.last;
    for (uint32_t i = 0; i < p->nth; i++) op = op->next;
    tn_op *by = tn_op_new(*out, TN_OP_return, op->n_results, 0, 0);
    for (uint32_t i = 0; i < op->n_results; i++) by->operands[i] = &op->results[i];
    by->location = ret->location;
    tn_op_insert_before(ret, by);
    tn_op_remove(ret);
    tn_type *t = TN_NEW(a, tn_type);
    uint32_t n = f->body.n_args;
    const tn_type **types = TN_NEW_ARRAY(a, const tn_type *, n + op->n_results);
    for (uint32_t i = 0; i < n; i++) types[i] = f->body.args[i].type;
    for (uint32_t i = 0; i < op->n_results; i++) types[n + i] = op->results[i].type;
    *t = (tn_type){
        .kind = TN_TYPE_FUNCTION, .n_parts = n + op->n_results, .n_inputs = n, .parts = types};
    f->type = t;
    f->result_attrs = TN_NEW_ARRAY(a, const tn_attr *, op->n_results);
    for (uint32_t i = 0; i < n && f->arg_attrs; i++) f->arg_attrs[i] = NULL;
    return NULL;
}

/* Compiles main up to its n-th op, runs it, compares. */
static tn_status *check_part(checking *c, uint32_t nth, tn_status **found)
{
    const recorded *r = &c->ops[nth];
    part p = {c->e, nth};
    tn_source source = {.read = read_part, .read_ctx = &p};
    tn_executable *e;
    TN_TRY(tn_compile_source(&source, &e));
    const tn_executable_info *info = tn_executable_get_info(e);
    void **results = TN_NEW_ARRAY(c->arena, void *, info->n_results);
    for (uint32_t i = 0; i < info->n_results; i++)
        results[i] = block(c, tn_type_bytes(info->results[i].type));
    tn_run run = *c->run;
    run.args = c->args;
    run.results = results;
    run.temp = block(c, info->temp_bytes);
    tn_status *s = tn_executable_run(e, &run);
    for (uint32_t i = 0; i < info->n_results && !s && !*found; i++) {
        const tn_type *t = r->op->results[i].type;
        int64_t at = tn_first_difference(t, r->values[i], results[i]);
        char got[80], want[80];
        if (at >= 0)
            *found = TN_OP_ERROR(INTERNAL, r->op,
                                 "element %" PRId64 " of result %u, %s, is %s compiled and %s by "
                                 "the evaluator; it is the first op that differs",
                                 at, i, TN_TYPE_IN_MESSAGE(t),
                                 tn_element_text(t, results[i], at, got, sizeof got),
                                 tn_element_text(t, r->values[i], at, want, sizeof want));
    }
    tn_executable_release(e);
    return s;
}

static tn_status *find_op(checking *c, uint32_t result, int64_t at)
{
    tn_status *found = NULL;
    for (uint32_t i = 0; i < c->n_ops && !found; i++) TN_TRY(check_part(c, i, &found));
    if (found) return found;
    const tn_value *v = tn_value_resolve(c->module->main->body.last->operands[result]);
    char got[80], want[80];
    tn_element_text(v->type, c->run->results[result], at, got, sizeof got);
    tn_element_text(v->type, c->expected[result].data, at, want, sizeof want);
    if (!v->op)
        return TN_ERROR(INTERNAL,
                        "result %u, which is an argument, is %s compiled and %s by the evaluator",
                        result, got, want);
    return TN_OP_ERROR(INTERNAL, v->op,
                       "element %" PRId64 " of result %u of the program is %s compiled and %s by "
                       "the evaluator; compiled up to here alone, each op is right",
                       at, result, got, want);
}

/* --- the run --- */

static tn_status *interpret(void *ctx)
{
    checking *c = ctx;
    TN_TRY(read_again(c->e, c->arena, &c->module));
    const tn_function *f = c->module->main;
    const char *why = obstacle(&f->body);
    if (why) {
        tn_log(TN_LOG_WARNING, "check", "%s is run unchecked: it has %s", c->e->info.name, why);
        c->checks = 0;
        return NULL;
    }
    uint32_t n_args = f->body.n_args, n = f->body.last->n_operands;
    c->inputs = TN_NEW_ARRAY(c->arena, tn_tensor, n_args);
    c->args = TN_NEW_ARRAY(c->arena, void *, n_args);
    for (uint32_t i = 0; i < n_args; i++) {
        size_t bytes = tn_type_bytes(f->body.args[i].type);
        c->args[i] = block(c, bytes);
        if (bytes) memcpy(c->args[i], c->run->args[i], bytes);
        c->inputs[i] = (tn_tensor){c->args[i], f->body.args[i].type};
    }
    c->expected = TN_NEW_ARRAY(c->arena, tn_tensor, n);
    for (uint32_t i = 0; i < n; i++) {
        const tn_type *t = f->body.last->operands[i]->type;
        c->expected[i] = (tn_tensor){block(c, tn_type_bytes(t)), t};
    }
    for (const tn_op *op = f->body.first; op; op = op->next) c->capacity++;
    c->ops = TN_NEW_ARRAY(c->arena, recorded, c->capacity);
    observer o = {{{record}, c->checks, NULL}, c};
    tn_eval_context context = {.pool = c->run->pool,
                               .replica_id = c->run->replica_id,
                               .partition_id = c->run->partition_id,
                               .custom_calls = c->run->custom_calls,
                               .observer = &o.watch.as_observer};
    tn_status *s = tn_interpret_function(f, &context, c->inputs, c->expected);
    if (s && tn_status_code(s) == TN_UNIMPLEMENTED) { /* what only the executable can do */
        tn_log(TN_LOG_WARNING, "check", "%s is run unchecked: %s", c->e->info.name,
               tn_status_message(s));
        tn_status_free(s);
        tn_status_free(o.watch.found);
        c->checks = 0;
        return NULL;
    }
    if (!o.watch.found) return s;
    tn_status_free(s);
    return o.watch.found;
}

static tn_status *compare(void *ctx)
{
    checking *c = ctx;
    for (uint32_t i = 0; i < c->e->info.n_results; i++) {
        int64_t at =
            tn_first_difference(c->expected[i].type, c->expected[i].data, c->run->results[i]);
        if (at >= 0) return find_op(c, i, at);
    }
    return NULL;
}

tn_status *tn_run_checked(const tn_executable *e, const tn_run *run, unsigned checks,
                          tn_status *(*compiled)(const tn_executable *e, const tn_run *run))
{
    if (e->signature || e->info.is_dynamic) {
        tn_log(TN_LOG_WARNING, "check", "%s is run unchecked: it has %s", e->info.name,
               e->signature ? "layouts of its own" : "sizes that are not known");
        return compiled(e, run);
    }
    checking c = {.e = e, .run = run, .checks = checks, .arena = tn_arena_new()};
    if (!c.arena) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a checked run");
    tn_status *s = tn_arena_run(c.arena, interpret, &c);
    if (!s) s = compiled(e, run);
    if (!s && c.checks & TN_CHECK_VALUES) s = tn_arena_run(c.arena, compare, &c);
    tn_arena_free(c.arena);
    return s;
}
