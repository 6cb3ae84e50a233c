/* SPDX-License-Identifier: Apache-2.0 */
/* unwanted - LAPACK is not asked for vectors that nobody reads.
 *
 * Before:  %s:5 = custom_call @lapack_sgesdd_ffi(%x) {mode = 'A'}   return %s#1
 * After:   the same with mode 'N', which computes singular values alone
 * Late, so that calls which are the same have become one. */
#include <string.h>

#include "ops/custom_call.h"
#include "passes/rewrite.h"

static bool is_candidate(const tn_op *op)
{
    if (op->kind != TN_OP_custom_call || op->n_results < 2 || op->n_results > 32) return false;
    return !strncmp(tn_op_string(op, TN_ATTR_call_target_name), "lapack_", 7);
}

static bool has_candidates(const tn_region *r)
{
    bool any = false;
    for (const tn_op *op = r->first; op && !any; op = op->next) {
        any = is_candidate(op);
        for (uint32_t i = 0; i < op->n_regions && !any; i++) any = has_candidates(&op->regions[i]);
    }
    return any;
}

static void note_uses(const tn_region *r, bool *used)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_operands; i++) used[op->operands[i]->id] = true;
        for (uint32_t i = 0; i < op->n_regions; i++) note_uses(&op->regions[i], used);
    }
}

static void tell(tn_module *m, tn_region *r, const bool *used, bool *changed)
{
    for (tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_regions; i++) tell(m, &op->regions[i], used, changed);
        if (!is_candidate(op)) continue;
        uint32_t unwanted = 0;
        for (uint32_t i = 0; i < op->n_results; i++)
            if (!used[op->results[i].id]) unwanted |= UINT32_C(1) << i;
        if (tn_lapack_set_unwanted(m->arena, op, unwanted)) *changed = true;
    }
}

tn_status *tn_pass_unwanted(tn_module *m, bool *changed)
{
    bool any = false;
    for (tn_function *f = m->functions; f && !any; f = f->next) any = has_candidates(&f->body);
    if (!any) return NULL;
    tn_module_number(m);
    bool *used = TN_NEW_ARRAY(m->arena, bool, m->n_values);
    for (tn_function *f = m->functions; f; f = f->next) note_uses(&f->body, used);
    for (tn_function *f = m->functions; f; f = f->next) tell(m, &f->body, used, changed);
    return NULL;
}
