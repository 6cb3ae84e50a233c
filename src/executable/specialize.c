/* SPDX-License-Identifier: Apache-2.0 */
/* specialize.c - executables of programs whose sizes are known only when they run. */
#include "executable/executable.h"
#include "executable/program.h"
#include "ops/ops.h"
#include "passes/refine.h"

/* Callers that have no buffers of tokens (JAX) send pred[0] for one. */
static bool is_empty_predicate(const tn_type *t)
{
    return t->element == TN_I1 && t->rank == 1 && t->dims[0] == 0;
}

bool tn_executable_takes(const tn_type *param, const tn_type *type)
{
    bool token = type->kind == TN_TYPE_TOKEN || type->element == TN_TOKEN;
    if (param->kind == TN_TYPE_TOKEN) return token || is_empty_predicate(type);
    if (token) return is_empty_predicate(param);
    if (param->element != type->element || param->rank != type->rank) return false;
    for (uint32_t i = 0; i < param->rank; i++) {
        int64_t bound = param->bounds ? param->bounds[i] : TN_DYNAMIC;
        if (param->dims[i] == TN_DYNAMIC ? bound != TN_DYNAMIC && type->dims[i] > bound
                                         : param->dims[i] != type->dims[i])
            return false;
    }
    return true;
}

/* An op that no run could do is an error of the program, not of a run. */
static tn_status *check_region(const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (!tn_op_behaviours[op->kind].eval &&
            !tn_op_has_trait(op, TN_TRAIT_CONTROL | TN_TRAIT_TERMINATOR | TN_TRAIT_SYMBOL |
                                     TN_TRAIT_COLLECTIVE) &&
            op->kind != TN_OP_sdy_sharding_group)
            return TN_OP_ERROR(UNIMPLEMENTED, op, "this op is not supported yet");
        for (uint32_t i = 0; i < op->n_regions; i++) TN_TRY(check_region(&op->regions[i]));
    }
    return NULL;
}

static tn_status *check_params(const tn_function *f)
{
    char text[256];
    for (uint32_t i = 0; i < f->body.n_args; i++) {
        const tn_type *t = f->body.args[i].type;
        if (t->kind == TN_TYPE_TOKEN || t->kind == TN_TYPE_TENSOR) continue;
        return TN_ERROR(UNIMPLEMENTED, "parameter %u has type %s, which is not supported", i,
                        tn_type_format(t, text, sizeof text));
    }
    return NULL;
}

static tn_status *describe(tn_executable *e)
{
    tn_module *m = e->module;
    TN_TRY(check_params(m->main));
    TN_TRY(check_region(&m->main->body));
    uint32_t n = m->main->body.n_args;
    int32_t *aliases = TN_NEW_ARRAY(e->arena, int32_t, n);
    for (uint32_t i = 0; i < n; i++) aliases[i] = -1;
    tn_describe(m, NULL, aliases, e->arena, &e->info);
    e->info.is_dynamic = true;
    /* Copies are made of this module again and again: the smaller it is, the better. */
    bool changed = false;
    TN_TRY(tn_pass_dce(m, &changed));
    return e->as_it_is ? NULL : tn_pass_cse(m, &changed);
}

static bool params_are_static(const tn_function *f)
{
    for (uint32_t i = 0; i < f->body.n_args; i++)
        if (!tn_type_is_static(f->body.args[i].type)) return false;
    return true;
}

tn_status *tn_find_sizes(tn_executable *e)
{
    if (params_are_static(e->module->main)) {
        tn_refinement r = {0};
        tn_module *m = tn_module_copy(e->module, e->arena);
        m->refinement = &r;
        bool changed = false;
        TN_TRY(tn_pass_refine(m, &changed));
        m->refinement = NULL;
        if (!r.is_stage) {
            e->module = m;
            return NULL;
        }
    }
    return describe(e);
}

typedef struct {
    tn_executable *e;
    const tn_sizes *sizes;
} job;

static tn_status *specialize(void *ctx)
{
    const job *j = ctx;
    tn_executable *e = j->e;
    const tn_executable *base = e->base;
    e->code = base->code;
    e->code_size = base->code_size;
    e->options = base->options;
    e->options_size = base->options_size;
    tn_module *m = e->module = tn_module_copy(base->module, e->arena);
    tn_refinement r = {
        .params = j->sizes->params, .values = j->sizes->values, .size = j->sizes->size};
    m->refinement = &r;
    TN_TRY(tn_passes_run(m, TN_PASSES_WITH_SIZES, base->as_it_is));
    m->refinement = NULL;
    TN_TRY(tn_plan_module(e, base->fuse));
    e->is_stage = r.is_stage;
    e->stage = (tn_stage){r.n_taken, r.taken};
    memcpy(e->info.fingerprint, base->info.fingerprint, sizeof e->info.fingerprint);
    tn_keep_locations(e);
    if (tn_dumps("steps")) tn_dump_steps(e, stderr);
    e->info.code_bytes = tn_arena_bytes(e->arena);
    return NULL;
}

tn_status *tn_executable_specialize(const tn_executable *base, const tn_sizes *sizes,
                                    tn_executable **out)
{
    tn_executable *e;
    TN_TRY(tn_executable_new(&e));
    e->base = tn_executable_retain((tn_executable *)base);
    job j = {e, sizes};
    tn_status *s = tn_arena_run(e->arena, specialize, &j);
    if (s) tn_executable_release(e);
    else *out = e;
    return s;
}

const tn_stage *tn_executable_stage(const tn_executable *e)
{
    return e->is_stage ? &e->stage : NULL;
}
