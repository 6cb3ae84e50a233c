/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/interpret.h"

#include <stdlib.h>
#include <string.h>

#include "ops/body.h"

/* The values of one region while it runs. Looks outward through `outer` for values of enclosing
 * regions. */
typedef struct {
    const tn_value **keys;
    void **data;
    size_t capacity, used; /* capacity is a power of two, at most half full */
} table;

typedef struct frame {
    tn_interpret_outer as_outer; /* first: nested regions see this frame through it */
    const tn_interpret_outer *outer;
    table values;
    void **owned; /* memory to free with the frame */
    size_t n_owned, owned_capacity;
} frame;

static tn_status *no_memory(void)
{
    return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory in the interpreter");
}

static size_t slot_of(const table *t, const tn_value *key)
{
    size_t i = ((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u;
    for (i = (i ^ (i >> 29)) & (t->capacity - 1); t->keys[i] && t->keys[i] != key;)
        i = (i + 1) & (t->capacity - 1);
    return i;
}

static bool grow(table *t)
{
    table bigger = {.capacity = t->capacity ? t->capacity * 2 : 64, .used = t->used};
    bigger.keys = calloc(bigger.capacity, sizeof *bigger.keys);
    bigger.data = calloc(bigger.capacity, sizeof *bigger.data);
    if (!bigger.keys || !bigger.data) {
        free(bigger.keys);
        free(bigger.data);
        return false;
    }
    for (size_t i = 0; i < t->capacity; i++) {
        if (!t->keys[i]) continue;
        size_t j = slot_of(&bigger, t->keys[i]);
        bigger.keys[j] = t->keys[i];
        bigger.data[j] = t->data[i];
    }
    free(t->keys);
    free(t->data);
    *t = bigger;
    return true;
}

static tn_status *define(frame *f, const tn_value *v, void *data)
{
    table *t = &f->values;
    if (t->used * 2 >= t->capacity && !grow(t)) return no_memory();
    size_t i = slot_of(t, v);
    if (!t->keys[i]) t->used++;
    t->keys[i] = v;
    t->data[i] = data;
    return NULL;
}

static bool find(const frame *f, const tn_value *v, const void **data)
{
    const table *t = &f->values;
    size_t i = t->capacity ? slot_of(t, v) : 0;
    if (t->capacity && t->keys[i]) {
        *data = t->data[i];
        return true;
    }
    if (!f->outer) return false;
    *data = f->outer->data(f->outer, v);
    return true;
}

static const void *data_in_frame(const tn_interpret_outer *self, const tn_value *v)
{
    const void *data = NULL;
    return find((const frame *)self, v, &data) ? data : NULL;
}

/* Memory for one value, kept until the frame ends. */
static tn_status *allocate(frame *f, const tn_type *type, void **out)
{
    if (f->n_owned == f->owned_capacity) {
        size_t capacity = f->owned_capacity ? f->owned_capacity * 2 : 64;
        void **more = realloc(f->owned, capacity * sizeof *more);
        if (!more) return no_memory();
        f->owned = more;
        f->owned_capacity = capacity;
    }
    *out = aligned_alloc(64, (tn_type_bytes(type) + 64) & ~(size_t)63);
    if (!*out) return no_memory();
    f->owned[f->n_owned++] = *out;
    return NULL;
}

static void end_frame(frame *f)
{
    for (size_t i = 0; i < f->n_owned; i++) free(f->owned[i]);
    free(f->owned);
    free(f->values.keys);
    free(f->values.data);
}

static tn_status *operand_tensor(const frame *f, const tn_op *op, uint32_t i, tn_tensor *out)
{
    const tn_value *v = tn_value_resolve(op->operands[i]);
    const void *data;
    if (!find(f, v, &data)) return TN_OP_ERROR(INTERNAL, op, "operand %u has no value", i);
    *out = (tn_tensor){(void *)data, v->type};
    return NULL;
}

/* --- ops --- */

typedef struct {
    tn_arena *arena;
    const tn_op *op;
    const tn_body **bodies;
} body_request;

static tn_status *compile_bodies(void *ctx)
{
    body_request *r = ctx;
    r->bodies = TN_NEW_ARRAY(r->arena, const tn_body *, r->op->n_regions);
    for (uint32_t i = 0; i < r->op->n_regions; i++)
        TN_TRY(tn_body_compile(&r->op->regions[i], r->arena, &r->bodies[i]));
    return NULL;
}

static tn_status *evaluate_with_bodies(const tn_op *op, const tn_eval_context *ctx,
                                       const tn_body *const *bodies,
                                       const tn_interpret_outer *outer, const tn_tensor *operands,
                                       tn_tensor *results)
{
    size_t n = op->n_operands;
    for (uint32_t i = 0; i < op->n_regions; i++) n += bodies[i]->n_captures;
    tn_tensor *all = malloc((n + 1) * sizeof *all);
    if (!all) return no_memory();
    if (op->n_operands) memcpy(all, operands, op->n_operands * sizeof *all);
    size_t at = op->n_operands;
    tn_status *s = NULL;
    for (uint32_t i = 0; i < op->n_regions && !s; i++) {
        for (uint32_t j = 0; j < bodies[i]->n_captures && !s; j++) {
            const tn_value *v = bodies[i]->captures[j];
            const void *data = outer ? outer->data(outer, v) : NULL;
            if (!data) s = TN_OP_ERROR(INTERNAL, op, "region %u uses a value that is not there", i);
            all[at++] = (tn_tensor){(void *)data, v->type};
        }
    }
    tn_eval_context with_bodies = *ctx;
    with_bodies.bodies = bodies;
    if (!s) s = tn_op_behaviours[op->kind].eval(op, &with_bodies, all, results);
    free(all);
    return s;
}

tn_status *tn_interpret_op(const tn_op *op, const tn_eval_context *ctx,
                           const tn_interpret_outer *outer, const tn_tensor *operands,
                           tn_tensor *results)
{
    if (!tn_op_behaviours[op->kind].eval)
        return TN_OP_ERROR(UNIMPLEMENTED, op, "%s has no evaluator", tn_op_text(op));
    tn_scratch scratch = {0};
    tn_eval_context own = *ctx;
    own.scratch = &scratch;
    own.observer = NULL;
    tn_status *s;
    if (!op->n_regions) {
        s = tn_op_behaviours[op->kind].eval(op, &own, operands, results);
    } else {
        body_request r = {.arena = tn_arena_new(), .op = op};
        if (!r.arena) return no_memory();
        s = tn_arena_run(r.arena, compile_bodies, &r);
        if (!s) s = evaluate_with_bodies(op, &own, r.bodies, outer, operands, results);
        tn_arena_free(r.arena);
    }
    tn_scratch_release(&scratch);
    return s;
}

static tn_status *call_function(const tn_op *op, tn_attr_name symbol, const tn_eval_context *ctx,
                                const tn_tensor *operands, tn_tensor *results)
{
    const char *name = tn_op_string(op, symbol);
    const tn_function *f = tn_module_find(op->region->function->module, name);
    if (!f) return TN_OP_ERROR(INVALID_ARGUMENT, op, "there is no function @%s", name);
    return tn_interpret_function(f, ctx, operands, results);
}

/* Copies of the carried values, so that body results never overwrite what the body still reads. */
static tn_status *run_while(const tn_op *op, const tn_eval_context *ctx, frame *f,
                            const tn_tensor *operands, tn_tensor *results)
{
    tn_tensor *next = calloc(op->n_operands + 1, sizeof *next);
    if (!next) return no_memory();
    tn_status *s = NULL;
    for (uint32_t i = 0; i < op->n_operands && !s; i++) {
        next[i].type = operands[i].type;
        s = allocate(f, operands[i].type, &next[i].data);
        if (!s) memcpy(results[i].data, operands[i].data, tn_type_bytes(operands[i].type));
    }
    while (!s) {
        bool go = false;
        tn_tensor condition = {&go, op->regions[0].last->operands[0]->type};
        s = tn_interpret_region(&op->regions[0], ctx, &f->as_outer, results, &condition);
        if (s || !go) break;
        s = tn_interpret_region(&op->regions[1], ctx, &f->as_outer, results, next);
        for (uint32_t i = 0; i < op->n_operands && !s; i++)
            memcpy(results[i].data, next[i].data, tn_type_bytes(next[i].type));
    }
    free(next);
    return s;
}

static tn_status *run_op(const tn_op *op, const tn_eval_context *ctx, frame *f,
                         const tn_tensor *operands, tn_tensor *results)
{
    switch (op->kind) {
    case TN_OP_call: return call_function(op, TN_ATTR_callee, ctx, operands, results);
    case TN_OP_composite: return call_function(op, TN_ATTR_decomposition, ctx, operands, results);
    case TN_OP_while: return run_while(op, ctx, f, operands, results);
    case TN_OP_if:
        return tn_interpret_region(&op->regions[*(const bool *)operands[0].data ? 0 : 1], ctx,
                                   &f->as_outer, NULL, results);
    case TN_OP_case: {
        int32_t i = *(const int32_t *)operands[0].data;
        if (i < 0 || i >= (int32_t)op->n_regions) i = (int32_t)op->n_regions - 1;
        return tn_interpret_region(&op->regions[i], ctx, &f->as_outer, NULL, results);
    }
    case TN_OP_sdy_named_computation:
        return tn_interpret_region(&op->regions[0], ctx, &f->as_outer, operands, results);
    default: return tn_interpret_op(op, ctx, &f->as_outer, operands, results);
    }
}

static tn_status *step(const tn_op *op, const tn_eval_context *ctx, frame *f)
{
    tn_tensor *tensors = calloc((size_t)op->n_operands + op->n_results + 1, sizeof *tensors);
    if (!tensors) return no_memory();
    tn_tensor *results = tensors + op->n_operands;
    tn_status *s = NULL;
    for (uint32_t i = 0; i < op->n_operands && !s; i++) s = operand_tensor(f, op, i, &tensors[i]);
    for (uint32_t i = 0; i < op->n_results && !s; i++) {
        results[i].type = op->results[i].type;
        s = allocate(f, results[i].type, &results[i].data);
    }
    if (!s) s = run_op(op, ctx, f, tensors, results);
    if (!s && ctx->observer) ctx->observer->op_done(ctx->observer, op, tensors, results);
    for (uint32_t i = 0; i < op->n_results && !s; i++)
        s = define(f, &op->results[i], results[i].data);
    free(tensors);
    return s;
}

static tn_status *run_region(const tn_region *r, const tn_eval_context *ctx, frame *f,
                             const tn_tensor *args, tn_tensor *results)
{
    for (uint32_t i = 0; i < r->n_args; i++) TN_TRY(define(f, &r->args[i], args[i].data));
    for (const tn_op *op = r->first; op; op = op->next) {
        if (!tn_op_has_trait(op, TN_TRAIT_TERMINATOR)) {
            TN_TRY(step(op, ctx, f));
            continue;
        }
        for (uint32_t i = 0; i < op->n_operands; i++) {
            tn_tensor v = {0};
            TN_TRY(operand_tensor(f, op, i, &v));
            size_t bytes = tn_type_bytes(v.type);
            if (bytes) memcpy(results[i].data, v.data, bytes);
        }
    }
    return NULL;
}

tn_status *tn_interpret_region(const tn_region *r, const tn_eval_context *ctx,
                               const tn_interpret_outer *outer, const tn_tensor *args,
                               tn_tensor *results)
{
    frame f = {.as_outer = {data_in_frame}, .outer = outer};
    tn_status *s = run_region(r, ctx, &f, args, results);
    end_frame(&f);
    return s;
}

tn_status *tn_interpret_function(const tn_function *f, const tn_eval_context *ctx,
                                 const tn_tensor *args, tn_tensor *results)
{
    return tn_interpret_region(&f->body, ctx, NULL, args, results);
}
