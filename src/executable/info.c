/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/program.h"
#include "ops/custom_call.h"

static const tn_attr *arg_attr(const tn_function *f, uint32_t i, const char *key)
{
    return f->arg_attrs ? tn_attr_get(f->arg_attrs[i], key) : NULL;
}

static const tn_attr *result_attr(const tn_function *f, uint32_t i, const char *key)
{
    return f->result_attrs ? tn_attr_get(f->result_attrs[i], key) : NULL;
}

static const tn_type *result_type(const tn_function *f, uint32_t i)
{
    return f->body.last->operands[i]->type;
}

static bool is_donor(const tn_function *f, uint32_t i)
{
    const tn_attr *a = arg_attr(f, i, "jax.buffer_donor");
    return a && !(a->kind == TN_ATTR_KIND_BOOL && !a->boolean);
}

static bool same_memory(const tn_type *x, const tn_type *y)
{
    return tn_type_equal(x, y) && tn_type_bytes(x) > 0;
}

tn_status *tn_find_aliases(const tn_module *m, int32_t *aliases)
{
    const tn_function *f = m->main;
    uint32_t n_results = f->body.last->n_operands;
    bool *taken = TN_NEW_ARRAY(m->arena, bool, n_results);
    for (uint32_t i = 0; i < f->body.n_args; i++) {
        aliases[i] = -1;
        const tn_attr *a = arg_attr(f, i, "tf.aliasing_output");
        if (!a) continue;
        if (a->kind != TN_ATTR_KIND_INT || a->integer < 0 || a->integer >= n_results)
            return TN_ERROR(INVALID_ARGUMENT,
                            "parameter %u: tf.aliasing_output should name one of the %u results", i,
                            n_results);
        uint32_t r = (uint32_t)a->integer;
        if (taken[r] || !same_memory(f->body.args[i].type, result_type(f, r))) continue;
        aliases[i] = (int32_t)r;
        taken[r] = true;
    }
    /* Donors that name no result take the first of their type that is free. */
    uint32_t from = 0;
    for (uint32_t i = 0; i < f->body.n_args; i++) {
        if (aliases[i] >= 0 || !is_donor(f, i)) continue;
        while (from < n_results && taken[from]) from++;
        for (uint32_t r = from; r < n_results && r < from + 256; r++) {
            if (taken[r] || !same_memory(f->body.args[i].type, result_type(f, r))) continue;
            aliases[i] = (int32_t)r;
            taken[r] = true;
            break;
        }
    }
    return NULL;
}

static const char *text_or(const tn_attr *a, const char *otherwise)
{
    return a && a->kind == TN_ATTR_KIND_STRING ? a->string.data : otherwise;
}

static const tn_attr *either(const tn_attr *a, const tn_attr *b)
{
    return a ? a : b;
}

static bool meets(const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (tn_op_has_trait(op, TN_TRAIT_COLLECTIVE)) return true;
        if (op->kind == TN_OP_send || op->kind == TN_OP_recv) return true;
        for (uint32_t i = 0; i < op->n_regions; i++)
            if (meets(&op->regions[i])) return true;
    }
    return false;
}

static bool calls_out(const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (tn_custom_call_provider_of(op)) return true;
        for (uint32_t i = 0; i < op->n_regions; i++)
            if (calls_out(&op->regions[i])) return true;
    }
    return false;
}

void tn_describe(const tn_module *m, const tn_signature *s, const int32_t *aliases, tn_arena *a,
                 tn_executable_info *info)
{
    const tn_function *f = m->main;
    uint32_t n_params = f->body.n_args, n_results = f->body.last->n_operands;
    tn_executable_value *params = TN_NEW_ARRAY(a, tn_executable_value, n_params);
    tn_executable_value *results = TN_NEW_ARRAY(a, tn_executable_value, n_results);
    for (uint32_t i = 0; i < n_results; i++)
        results[i] = (tn_executable_value){
            .type = s ? s->results[i].type : result_type(f, i),
            .order = s ? s->results[i].order : NULL,
            .memory_kind = text_or(result_attr(f, i, "mhlo.memory_kind"), "device"),
            .sharding =
                either(result_attr(f, i, "sdy.sharding"), result_attr(f, i, "mhlo.sharding")),
            .alias = -1};
    for (uint32_t i = 0; i < n_params; i++) {
        params[i] = (tn_executable_value){
            .type = s ? s->params[i].type : f->body.args[i].type,
            .order = s ? s->params[i].order : NULL,
            .memory_kind = text_or(arg_attr(f, i, "mhlo.memory_kind"), "device"),
            .sharding = either(arg_attr(f, i, "sdy.sharding"), arg_attr(f, i, "mhlo.sharding")),
            .alias = aliases[i],
            .donated = is_donor(f, i) || arg_attr(f, i, "tf.aliasing_output")};
        if (aliases[i] >= 0) results[aliases[i]].alias = (int32_t)i;
    }
    if (m->num_partitions > 1) {
        for (uint32_t i = 0; i < n_results; i++)
            results[i].tiling = tn_tiling_of(m, results[i].sharding, a);
        for (uint32_t i = 0; i < n_params; i++)
            params[i].tiling = tn_tiling_of(m, params[i].sharding, a);
    }
    info->name = m->name;
    info->num_replicas = m->num_replicas;
    info->num_partitions = m->num_partitions;
    info->meets = meets(&f->body);
    info->calls_out = calls_out(&f->body);
    info->n_params = n_params;
    info->n_results = n_results;
    info->params = params;
    info->results = results;
}
