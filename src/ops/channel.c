/* SPDX-License-Identifier: Apache-2.0 */
/* send and recv, between devices of one run or with the caller of the run. Infeed and outfeed are
 * checked, then refused: the PJRT C API has no call that fills the one or empties the other. */
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/host_channel.h"
#include "ops/meeting.h"
#include "ops/process_groups.h"

enum { DEVICE_TO_DEVICE = 1, DEVICE_TO_HOST = 2, HOST_TO_DEVICE = 3 };

static tn_status *check_token(const tn_op *op, const tn_type *t, const char *what)
{
    if (t->kind == TN_TYPE_TOKEN) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "the last %s should be a token and is %s", what,
                       TN_TYPE_IN_MESSAGE(t));
}

static tn_status *check_payload(const tn_op *op, bool results)
{
    uint32_t n = results ? op->n_results : op->n_operands;
    const char *what = results ? "result" : "operand";
    if (!n) return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected at least 1 %s, got none", what);
    for (uint32_t i = 0; i + 1 < n; i++)
        TN_TRY(results ? tn_check_result_tensor(op, i) : tn_check_tensor(op, i));
    return check_token(op, results ? tn_result_type(op, n - 1) : tn_operand_type(op, n - 1), what);
}

static tn_status *check_channel(const tn_op *op, int64_t host_type)
{
    bool host = tn_op_bool(op, TN_ATTR_is_host_transfer, false);
    int64_t type = tn_op_int(op, TN_ATTR_channel_type, 0);
    /* The specification writes DEVICE_TO_HOST for a receive as well. */
    bool fits = host ? type == host_type || type == DEVICE_TO_HOST : type == DEVICE_TO_DEVICE;
    if (!fits)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "channel type %" PRId64 " doesn't go with is_host_transfer = %s", type,
                           host ? "true" : "false");
    tn_ints pairs;
    TN_TRY(tn_check_pairs(op, tn_id_count(op, tn_channel_strategy(op)), &pairs));
    if (host || pairs.n) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op,
                       "a transfer between devices should have source_target_pairs");
}

/* What is declared counts, since nothing else says it. */
static tn_status *take_declared(const tn_op *op, const tn_type **out)
{
    for (uint32_t i = 0; i < op->n_results; i++) out[i] = tn_result_type(op, i);
    return NULL;
}

tn_status *tn_infer_send(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_payload(op, false));
    out[0] = tn_type_token();
    return check_channel(op, DEVICE_TO_HOST);
}

tn_status *tn_infer_recv(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_token(op, tn_operand_type(op, 0), "operand"));
    TN_TRY(check_payload(op, true));
    TN_TRY(check_channel(op, HOST_TO_DEVICE));
    return take_declared(op, out);
}

tn_status *tn_infer_infeed(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_payload(op, true));
    TN_TRY(check_token(op, tn_operand_type(op, 0), "operand"));
    return TN_OP_ERROR(UNIMPLEMENTED, op,
                       "nothing can fill an infeed: the PJRT C API has no call for it. Use "
                       "stablehlo.recv from the host, or parameters");
}

tn_status *tn_infer_outfeed(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_payload(op, false));
    return TN_OP_ERROR(UNIMPLEMENTED, op,
                       "nothing can empty an outfeed: the PJRT C API has no call for it. Use "
                       "stablehlo.send to the host, or results");
}

static uint32_t part_of(const tn_op *op, const tn_eval_context *ctx)
{
    return ctx->replica_id * op->region->function->module->num_partitions + ctx->partition_id;
}

static tn_status *no_host(const tn_op *op)
{
    return TN_OP_ERROR(FAILED_PRECONDITION, op,
                       "the run has no callback for channel %" PRId64
                       ": give one with the execution",
                       tn_op_int(op, TN_ATTR_channel_id, 0));
}

static tn_status *no_devices(const tn_op *op)
{
    return TN_OP_ERROR(FAILED_PRECONDITION, op,
                       "needs other devices, but runs on one alone: execute it on all of them");
}

/* The payload as offers: operands of a send, results of a receive. */
static tn_status *payload(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *t,
                          uint32_t n, tn_offer **out)
{
    *out = tn_scratch_alloc(ctx->scratch, ((size_t)n + 1) * sizeof **out);
    if (!*out) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    for (uint32_t i = 0; i < n; i++) (*out)[i] = (tn_offer){t[i].data, tn_type_bytes(t[i].type)};
    return NULL;
}

tn_status *tn_eval_send(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                        tn_tensor *results)
{
    int64_t channel = tn_op_int(op, TN_ATTR_channel_id, 0);
    uint32_t n = op->n_operands - 1, source, target;
    if (tn_op_bool(op, TN_ATTR_is_host_transfer, false)) {
        const tn_host_channels *host = ctx->host_channels;
        if (!host) return no_host(op);
        for (uint32_t i = 0; i < n; i++)
            TN_ANNOTATE(host->send(host, part_of(op, ctx), channel, operands[i].data,
                                   tn_type_bytes(operands[i].type)),
                        "%s of operand %u", tn_op_text(op), i);
        return NULL;
    }
    tn_group g;
    tn_offer *offers;
    TN_TRY(tn_find_pairs(op, ctx, tn_channel_strategy(op), &g, &source, &target));
    if (target == g.n) return NULL;
    if (!ctx->meeting) return no_devices(op);
    TN_TRY(payload(op, ctx, operands, n, &offers));
    return ctx->meeting->post(ctx->meeting, op, channel, part_of(op, ctx), g.members[target],
                              offers, n);
}

tn_status *tn_eval_recv(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                        tn_tensor *results)
{
    int64_t channel = tn_op_int(op, TN_ATTR_channel_id, 0);
    uint32_t n = op->n_results - 1, source, target;
    if (tn_op_bool(op, TN_ATTR_is_host_transfer, false)) {
        const tn_host_channels *host = ctx->host_channels;
        if (!host) return no_host(op);
        for (uint32_t i = 0; i < n; i++)
            TN_ANNOTATE(
                host->receive(host, part_of(op, ctx), channel, results[i].data, results[i].type),
                "%s of result %u", tn_op_text(op), i);
        return NULL;
    }
    tn_group g;
    tn_offer *offers;
    TN_TRY(tn_find_pairs(op, ctx, tn_channel_strategy(op), &g, &source, &target));
    TN_TRY(payload(op, ctx, results, n, &offers));
    if (source == g.n) { /* nobody sends to this device */
        for (uint32_t i = 0; i < n; i++)
            if (offers[i].bytes) memset((void *)offers[i].data, 0, offers[i].bytes);
        return NULL;
    }
    if (!ctx->meeting) return no_devices(op);
    return ctx->meeting->take(ctx->meeting, op, channel, g.members[source], part_of(op, ctx),
                              offers, n);
}
