/* SPDX-License-Identifier: Apache-2.0 */
#include "ffi/call.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ffi/api.h"
#include "ffi/attrs.h"
#include "ffi/python.h"
#include "ops/infer.h"

/* A tensor of the call as its handler sees it. */
typedef struct {
    const tn_type *type;
    XLA_FFI_DataType dtype;
    size_t bytes;
    const int64_t *order; /* minor to major, NULL: row-major */
    int32_t alias;        /* operand: result that takes its place; result: that operand; -1: none */
} value;

typedef struct {
    tn_custom_call base; /* first */
    const tn_op *op;
    const tn_ffi_handler *handler;
    value *operands, *results;
    size_t copies; /* bytes of buffers in other layouts */
    XLA_FFI_Attrs attrs;
    XLA_FFI_ArgType *arg_types;
    XLA_FFI_RetType *ret_types;
    tn_ffi_state state; /* of INSTANTIATE */
} call;

/* What PREPARE and INITIALIZE leave in one run. */
typedef struct {
    tn_ffi_state states[2];
    int64_t id;
} call_run;

static int64_t next_run_id(void)
{
    static atomic_int_fast64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

/* ---- Making ---- */

static const tn_ffi_handler *handler_of(const tn_op *op)
{
    return tn_ffi_find(tn_op_string(op, TN_ATTR_call_target_name));
}

static tn_status *check(const tn_op *op)
{
    const tn_ffi_handler *h = handler_of(op);
    if (!h)
        return TN_OP_ERROR(NOT_FOUND, op, "no handler for custom call target '%s'",
                           tn_op_string(op, TN_ATTR_call_target_name));
    return h->typed ? NULL : tn_ffi_check_untyped(op);
}

static bool is_row_major(const int64_t *order, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++)
        if (order[i] != rank - 1 - i) return false;
    return true;
}

static tn_status *take_layout(const call *c, const tn_attr *layouts, const char *what, uint32_t i,
                              value *v)
{
    if (!layouts || layouts->kind != TN_ATTR_KIND_LIST || i >= layouts->list.n) return NULL;
    const tn_attr *order = layouts->list.items[i];
    uint32_t rank = v->type->rank, seen = 0;
    if (order->kind == TN_ATTR_KIND_INTS && order->ints.n == rank && rank <= 32) {
        for (uint32_t k = 0; k < rank; k++)
            if (order->ints.data[k] >= 0 && order->ints.data[k] < rank)
                seen |= 1u << order->ints.data[k];
        if (seen == (rank == 32 ? ~0u : (1u << rank) - 1)) {
            v->order = is_row_major(order->ints.data, rank) ? NULL : order->ints.data;
            return NULL;
        }
    }
    return TN_OP_ERROR(INVALID_ARGUMENT, c->op,
                       "the layout of %s %u is no order of its %u dimensions", what, i, rank);
}

static size_t room(const value *v)
{
    return (v->bytes + 63) & ~(size_t)63;
}

static tn_status *describe(call *c, const char *what, uint32_t i, const tn_type *t,
                           const tn_attr *layouts, value *v)
{
    *v = (value){.type = t, .alias = -1};
    v->dtype = t->kind == TN_TYPE_TOKEN ? XLA_FFI_DataType_TOKEN : tn_ffi_type(t->element);
    if (v->dtype == XLA_FFI_DataType_INVALID || !tn_type_is_static(t))
        return TN_OP_ERROR(UNIMPLEMENTED, c->op, "%s %u is %s, which handlers can't be given", what,
                           i, TN_TYPE_IN_MESSAGE(t));
    if (t->kind != TN_TYPE_TENSOR) return NULL;
    v->bytes = tn_type_bytes(t);
    TN_TRY(take_layout(c, layouts, what, i, v));
    if (v->order) c->copies += room(v);
    return NULL;
}

static int64_t field(const tn_attr *node, uint32_t i)
{
    const tn_attr *v = node->list.items[i];
    if (v->kind == TN_ATTR_KIND_INT) return v->integer;
    return v->kind == TN_ATTR_KIND_INTS && v->ints.n ? v->ints.data[0] : 0;
}

/* Of JAX's form alone: nothing is a tuple here any more. */
static tn_status *take_aliases(call *c)
{
    const tn_attr *list = tn_op_attr(c->op, TN_ATTR_output_operand_aliases);
    for (uint32_t i = 0; list && list->kind == TN_ATTR_KIND_LIST && i < list->list.n; i++) {
        const tn_attr *node = list->list.items[i];
        if (node->kind != TN_ATTR_KIND_LIST || node->list.n != 3) continue;
        int64_t result = field(node, 0), operand = field(node, 1);
        if (result < 0 || result >= c->op->n_results || operand < 0 ||
            operand >= c->op->n_operands || c->operands[operand].bytes != c->results[result].bytes)
            return TN_OP_ERROR(INVALID_ARGUMENT, c->op,
                               "result %lld can't take the place of operand %lld",
                               (long long)result, (long long)operand);
        c->results[result].alias = (int32_t)operand;
        c->operands[operand].alias = (int32_t)result;
    }
    return NULL;
}

static XLA_FFI_CallFrame frame_of(const call *c, XLA_FFI_ExecutionContext *ctx, int stage)
{
    return (XLA_FFI_CallFrame){
        .struct_size = XLA_FFI_CallFrame_STRUCT_SIZE,
        .api = &tn_ffi_api,
        .ctx = ctx,
        .stage = (XLA_FFI_ExecutionStage)stage,
        .args = {.struct_size = XLA_FFI_Args_STRUCT_SIZE},
        .rets = {.struct_size = XLA_FFI_Rets_STRUCT_SIZE},
        .attrs = c->attrs,
    };
}

static tn_status *call_handler(const call *c, XLA_FFI_Handler *handler, XLA_FFI_CallFrame *frame)
{
    tn_status *s = tn_ffi_take_error(handler(frame));
    if (frame->future) {
        tn_status *late = tn_ffi_await(frame->future);
        if (s) tn_status_free(late);
        else s = late;
    }
    if (!s) return NULL;
    const char *where = tn_op_location(c->op);
    return tn_status_annotate(s, "custom call target '%s'%s%s%s", c->handler->target,
                              *where ? " (at " : "", where, *where ? ")" : "");
}

static tn_status *instantiate(call *c)
{
    if (!c->handler->stages.instantiate) return NULL;
    XLA_FFI_ExecutionContext ctx = {.states = {&c->state}};
    XLA_FFI_CallFrame frame = frame_of(c, &ctx, XLA_FFI_ExecutionStage_INSTANTIATE);
    return call_handler(c, c->handler->stages.instantiate, &frame);
}

static tn_status *make(const tn_op *op, tn_arena *a, tn_custom_call **out)
{
    TN_TRY(check(op));
    call *c = TN_NEW(a, call);
    *c = (call){.op = op,
                .handler = handler_of(op),
                .operands = TN_NEW_ARRAY(a, value, op->n_operands + 1),
                .results = TN_NEW_ARRAY(a, value, op->n_results + 1),
                .arg_types = TN_NEW_ARRAY(a, XLA_FFI_ArgType, op->n_operands + 1),
                .ret_types = TN_NEW_ARRAY(a, XLA_FFI_RetType, op->n_results + 1)};
    const tn_attr *in = tn_op_attr(op, TN_ATTR_operand_layouts),
                  *ret = tn_op_attr(op, TN_ATTR_result_layouts);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        c->arg_types[i] = XLA_FFI_ArgType_BUFFER;
        TN_TRY(describe(c, "operand", i, tn_operand_type(op, i), in, &c->operands[i]));
    }
    for (uint32_t i = 0; i < op->n_results; i++) {
        c->ret_types[i] = XLA_FFI_RetType_BUFFER;
        TN_TRY(describe(c, "result", i, tn_result_type(op, i), ret, &c->results[i]));
    }
    TN_TRY(take_aliases(c));
    if (!c->handler->typed) {
        *out = &c->base;
        return NULL;
    }
    TN_TRY(tn_ffi_attrs(op, tn_op_extra(op, "mhlo.backend_config"), a, &c->attrs));
    c->base.staged = c->handler->stages.prepare || c->handler->stages.initialize;
    *out = &c->base;
    return instantiate(c);
}

static void end(tn_custom_call *base)
{
    tn_ffi_state_end(&((call *)base)->state);
}

/* ---- Buffers ---- */

/* Copies between row-major and the order of a value. */
static void reorder(const value *v, const void *from, void *to, bool to_order)
{
    uint32_t rank = v->type->rank;
    size_t unit = tn_element_type_bytes(v->type->element);
    size_t strides[32], at[32] = {0}, there = 0;
    for (uint32_t k = 0, n = 0; k < rank; k++) {
        uint32_t d = (uint32_t)v->order[k];
        strides[d] =
            n == 0 ? unit : strides[v->order[k - 1]] * (size_t)v->type->dims[v->order[k - 1]];
        n++;
    }
    for (size_t here = 0; here < v->bytes; here += unit) {
        if (to_order) memcpy((char *)to + there, (const char *)from + here, unit);
        else memcpy((char *)to + here, (const char *)from + there, unit);
        for (uint32_t d = rank; d-- > 0;) {
            there += strides[d];
            if (++at[d] < (size_t)v->type->dims[d]) break;
            there -= strides[d] * at[d];
            at[d] = 0;
        }
    }
}

typedef struct {
    tn_ffi_buffers b;
    XLA_FFI_Buffer *structs; /* operands, then results */
    void **pointers;         /* to them */
    char *copies;
} work;

/* Handlers may count on 64 bytes, which arguments of the program needn't be aligned to. */
static bool is_off(const value *v, const void *data)
{
    return !v->order && v->alias < 0 && (uintptr_t)data % 64;
}

static tn_status *get_work(const call *c, const tn_tensor *operands, tn_scratch *scratch, work *w)
{
    size_t n = (size_t)c->op->n_operands + c->op->n_results, copies = c->copies;
    for (uint32_t i = 0; i < c->op->n_operands; i++)
        if (is_off(&c->operands[i], operands[i].data)) copies += room(&c->operands[i]);
    w->structs = tn_scratch_alloc(scratch, n * sizeof *w->structs + 1);
    w->pointers = tn_scratch_alloc(scratch, 2 * n * sizeof *w->pointers + 1);
    w->copies = copies ? tn_scratch_alloc(scratch, copies) : NULL;
    if (!w->structs || !w->pointers || (copies && !w->copies))
        return TN_OP_ERROR(RESOURCE_EXHAUSTED, c->op, "no memory for a call of '%s'",
                           c->handler->target);
    w->b.args = w->pointers + n;
    w->b.rets = w->b.args + c->op->n_operands;
    return NULL;
}

static void *place(const value *v, bool copied, void *data, char **copies)
{
    if (!copied) return data;
    void *at = *copies;
    *copies += room(v);
    return at;
}

/* Where every buffer is; contents follow only for a call. */
static void find_buffers(const call *c, const tn_tensor *operands, const tn_tensor *results,
                         work *w)
{
    char *copies = w->copies;
    for (uint32_t i = 0; i < c->op->n_results; i++)
        w->b.rets[i] = place(&c->results[i], c->results[i].order, results[i].data, &copies);
    for (uint32_t i = 0; i < c->op->n_operands; i++) {
        const value *v = &c->operands[i];
        bool copied = v->order || is_off(v, operands[i].data);
        w->b.args[i] =
            v->alias >= 0 ? w->b.rets[v->alias] : place(v, copied, operands[i].data, &copies);
    }
}

static void bring_in(const call *c, const tn_tensor *operands, const work *w)
{
    for (uint32_t i = 0; i < c->op->n_operands; i++) {
        const value *v = &c->operands[i];
        if (v->order && v->bytes) reorder(v, operands[i].data, w->b.args[i], true);
        else if (w->b.args[i] != operands[i].data && v->bytes)
            memcpy(w->b.args[i], operands[i].data, v->bytes);
    }
}

static void bring_out(const call *c, const work *w, const tn_tensor *results)
{
    for (uint32_t i = 0; i < c->op->n_results; i++)
        if (c->results[i].order && c->results[i].bytes)
            reorder(&c->results[i], w->b.rets[i], results[i].data, false);
}

static void fill(const value *v, void *data, XLA_FFI_Buffer *out)
{
    *out = (XLA_FFI_Buffer){.struct_size = XLA_FFI_Buffer_STRUCT_SIZE,
                            .dtype = v->dtype,
                            .data = data,
                            .rank = v->type->kind == TN_TYPE_TENSOR ? v->type->rank : 0,
                            .dims = (int64_t *)v->type->dims};
}

static void fill_frame(const call *c, const work *w, XLA_FFI_CallFrame *frame)
{
    uint32_t n = c->op->n_operands, m = c->op->n_results;
    for (uint32_t i = 0; i < n; i++) fill(&c->operands[i], w->b.args[i], &w->structs[i]);
    for (uint32_t i = 0; i < m; i++) fill(&c->results[i], w->b.rets[i], &w->structs[n + i]);
    for (uint32_t i = 0; i < n + m; i++) w->pointers[i] = &w->structs[i];
    frame->args.size = n;
    frame->args.types = c->arg_types;
    frame->args.args = w->pointers;
    frame->rets.size = m;
    frame->rets.types = c->ret_types;
    frame->rets.rets = w->pointers + n;
}

/* ---- Runs ---- */

static XLA_FFI_ExecutionContext context_of(const call *c, const tn_eval_context *ctx, call_run *run)
{
    return (XLA_FFI_ExecutionContext){
        .user = ctx->custom_calls,
        .pool = ctx->pool,
        .states = {(tn_ffi_state *)&c->state, run ? &run->states[0] : NULL,
                   run ? &run->states[1] : NULL},
        .run_id = run ? run->id : next_run_id(),
        .device = (int32_t)(ctx->replica_id + ctx->partition_id),
    };
}

static tn_status *prepare(tn_custom_call *base, int step, const tn_eval_context *ctx,
                          const tn_tensor *operands, tn_tensor *results, void **run)
{
    call *c = (call *)base;
    if (!*run) {
        call_run *fresh = calloc(1, sizeof *fresh);
        if (!fresh) return TN_OP_ERROR(RESOURCE_EXHAUSTED, c->op, "no memory for a run");
        fresh->id = next_run_id();
        *run = fresh;
    }
    XLA_FFI_Handler *handler = step ? c->handler->stages.initialize : c->handler->stages.prepare;
    if (!handler) return NULL;
    work w;
    TN_TRY(get_work(c, operands, ctx->scratch, &w));
    find_buffers(c, operands, results, &w);
    XLA_FFI_ExecutionContext context = context_of(c, ctx, *run);
    XLA_FFI_CallFrame frame = frame_of(
        c, &context, step ? XLA_FFI_ExecutionStage_INITIALIZE : XLA_FFI_ExecutionStage_PREPARE);
    fill_frame(c, &w, &frame);
    return call_handler(c, handler, &frame);
}

static void finish(void *arg)
{
    call_run *run = arg;
    for (int i = 0; i < 2; i++) tn_ffi_state_end(&run->states[i]);
    free(run);
}

static tn_status *eval(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                       tn_tensor *results)
{
    const call *c = (const call *)ctx->call;
    work w;
    TN_TRY(get_work(c, operands, ctx->scratch, &w));
    find_buffers(c, operands, results, &w);
    bring_in(c, operands, &w);
    if (!c->handler->typed) {
        TN_TRY(tn_ffi_call_untyped(op, c->handler, &w.b));
    } else {
        XLA_FFI_ExecutionContext context = context_of(c, ctx, ctx->call_run);
        XLA_FFI_CallFrame frame = frame_of(c, &context, XLA_FFI_ExecutionStage_EXECUTE);
        fill_frame(c, &w, &frame);
        TN_TRY(call_handler(c, c->handler->stages.execute, &frame));
    }
    bring_out(c, &w, results);
    return NULL;
}

static void init(void)
{
    static const tn_custom_call_provider provider = {.check = check,
                                                     .make = make,
                                                     .end = end,
                                                     .prepare = prepare,
                                                     .finish = finish,
                                                     .eval = eval};
    tn_custom_call_set_provider(&provider);
    tn_python_register();
}

void tn_ffi_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init);
}
