/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - the steps of an executable that call handlers from outside. */
#include "ops/custom_call.h"

#include "executable/program.h"

tn_status *tn_make_calls(tn_executable *e)
{
    tn_step *steps = (tn_step *)e->steps; /* nobody else has seen them yet */
    for (uint32_t i = 0; i < e->n_steps; i++) {
        tn_step *s = &steps[i];
        if (s->kind != TN_STEP_EVAL) continue;
        const tn_custom_call_provider *p = tn_custom_call_provider_of(s->op);
        if (!p) continue;
        tn_status *error = p->make(s->op, e->arena, &s->call);
        if (s->call) s->call->index = e->n_calls++;
        if (error) return error;
        e->has_staged_calls = e->has_staged_calls || s->call->staged;
    }
    return NULL;
}

void tn_end_calls(tn_executable *e)
{
    for (uint32_t i = 0; i < e->n_steps && e->n_calls; i++) {
        const tn_step *s = &e->steps[i];
        if (s->kind == TN_STEP_EVAL && s->call) tn_custom_call_provider_of(s->op)->end(s->call);
    }
}

tn_status *tn_prepare_calls(const tn_calls_run *r)
{
    for (int stage = 0; stage < 2; stage++)
        for (uint32_t i = 0; i < r->e->n_steps; i++) {
            const tn_step *s = &r->e->steps[i];
            if (s->kind != TN_STEP_EVAL || !s->call || !s->call->staged) continue;
            for (uint32_t k = 0; k < s->n_operands + s->n_results; k++)
                r->tensors[k] = (tn_tensor){(void *)(r->bases[s->refs[k].base] + s->refs[k].offset),
                                            s->refs[k].type};
            tn_scratch_reset(r->ctx->scratch);
            TN_TRY(tn_custom_call_provider_of(s->op)->prepare(s->call, stage, r->ctx, r->tensors,
                                                              r->tensors + s->n_operands,
                                                              &r->runs[s->call->index]));
        }
    return NULL;
}

void tn_finish_calls(const tn_calls_run *r)
{
    for (uint32_t i = 0; i < r->e->n_steps; i++) {
        const tn_step *s = &r->e->steps[i];
        if (s->kind == TN_STEP_EVAL && s->call && r->runs[s->call->index])
            tn_custom_call_provider_of(s->op)->finish(r->runs[s->call->index]);
    }
}
