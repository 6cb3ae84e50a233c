/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/combiner.h"

#include <string.h>

const void **tn_captured_data(const tn_op *op, const tn_eval_context *ctx, uint32_t region,
                              const tn_tensor *operands)
{
    const tn_body *b = ctx->bodies[region];
    uint32_t first = op->n_operands;
    for (uint32_t i = 0; i < region; i++) first += ctx->bodies[i]->n_captures;
    const void **data = tn_scratch_alloc(ctx->scratch, (b->n_captures + 1) * sizeof *data);
    for (uint32_t i = 0; data && i < b->n_captures; i++) data[i] = operands[first + i].data;
    return data;
}

tn_op_kind tn_reduction_kind(tn_body_shortcut s)
{
    switch ((int)s) {
    case TN_BODY_ADD: return TN_OP_add;
    case TN_BODY_MULTIPLY: return TN_OP_multiply;
    case TN_BODY_MAXIMUM: return TN_OP_maximum;
    case TN_BODY_MINIMUM: return TN_OP_minimum;
    case TN_BODY_AND: return TN_OP_and;
    case TN_BODY_OR: return TN_OP_or;
    case TN_BODY_XOR: return TN_OP_xor;
    default: return TN_OP_INVALID;
    }
}

tn_status *tn_combiner_prepare(const tn_op *op, const tn_eval_context *ctx, uint32_t region,
                               const tn_tensor *all, uint32_t n, const tn_tensor *from, bool widen,
                               tn_combiner *c)
{
    const tn_body *b = ctx->bodies[region];
    *c = (tn_combiner){.ctx = ctx, .body = b, .n = n};
    c->captures = tn_captured_data(op, ctx, region, all);
    c->parts = tn_scratch_alloc(ctx->scratch, (n + 1) * sizeof *c->parts);
    if (!c->captures || !c->parts) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    tn_isa isa = tn_cpu_isa();
    /* The bytes of quantized values don't add up as integers do. */
    bool plain = n == 1 && !b->arg_types[0]->quantization;
    tn_op_kind kind = plain ? tn_reduction_kind(b->shortcut) : TN_OP_INVALID;
    for (uint32_t i = 0; i < n; i++) {
        tn_combiner_part *p = &c->parts[i];
        *p = (tn_combiner_part){.from = from[i].type->element,
                                .acc = b->arg_types[i]->element,
                                .to = b->arg_types[i]->element};
        bool sum = widen && (kind == TN_OP_add || kind == TN_OP_multiply);
        if (sum && tn_is_float(p->to) && tn_element_type_bits(p->to) < 32) p->acc = TN_F32;
        p->from_width = tn_element_type_bytes(p->from);
        p->acc_width = tn_element_type_bytes(p->acc);
        p->to_width = tn_element_type_bytes(p->to);
        if ((p->from != p->acc && !tn_kernel_convert(isa, p->from, p->acc, &p->load)) ||
            (p->acc != p->to && !tn_kernel_convert(isa, p->acc, p->to, &p->store)))
            return TN_OP_ERROR(UNIMPLEMENTED, op, "operand %u of %s can't be reduced as %s", i,
                               tn_element_type_text(p->from), tn_element_type_text(p->to));
    }
    if (kind) c->by_kernel = tn_kernel_elementwise(isa, kind, c->parts[0].acc, &c->kernel);
    if (c->by_kernel) c->kernel_op = kind;
    if (c->by_kernel || c->parts[0].acc == c->parts[0].to) return NULL;
    return TN_OP_ERROR(UNIMPLEMENTED, op, "reductions of %s are not supported",
                       tn_element_type_text(c->parts[0].to));
}

static size_t arrays(const tn_combiner *c)
{
    return (3 * (size_t)c->n * sizeof(void *) + 63) & ~(size_t)63;
}

size_t tn_combiner_scratch(const tn_combiner *c)
{
    return arrays(c) + tn_body_scratch(c->body);
}

tn_status *tn_combiner_run(const tn_combiner *c, int64_t n, const void *const *left,
                           const void *const *right, void *const *out, void *scratch)
{
    if (c->by_kernel) {
        tn_kernel_run(&c->kernel, (size_t)n, (const void *[]){left[0], right[0]}, out[0]);
        return NULL;
    }
    const void **args = scratch;
    void **results = (void **)(args + 2 * c->n);
    for (int64_t at = 0; at < n; at += TN_BODY_TILE) {
        for (uint32_t i = 0; i < c->n; i++) {
            int64_t offset = at * (int64_t)c->parts[i].acc_width;
            args[i] = (const char *)left[i] + offset;
            args[c->n + i] = (const char *)right[i] + offset;
            results[i] = (char *)out[i] + offset;
        }
        int64_t size = n - at < TN_BODY_TILE ? n - at : TN_BODY_TILE;
        TN_TRY(tn_body_run(c->body, c->ctx, (size_t)size, args, results, c->captures,
                           (char *)scratch + arrays(c)));
    }
    return NULL;
}

void tn_combiner_load(const tn_combiner *c, uint32_t i, int64_t n, const void *from, void *acc)
{
    const tn_combiner_part *p = &c->parts[i];
    if (p->from == p->acc) memcpy(acc, from, (size_t)n * p->acc_width);
    else tn_kernel_run(&p->load, (size_t)n, &from, acc);
}

void tn_combiner_store(const tn_combiner *c, uint32_t i, int64_t n, const void *acc, void *to)
{
    const tn_combiner_part *p = &c->parts[i];
    if (p->acc != p->to) tn_kernel_run(&p->store, (size_t)n, &acc, to);
    else if (acc != to) memcpy(to, acc, (size_t)n * p->to_width);
}
