/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/body.h"

#include <string.h>

#include "ops/body_arg.h"
#include "ops/elementwise.h"
#include "ops/interpret.h"

/* Where an array of TN_BODY_TILE elements is. */
typedef enum {
    SLOT_ARG,      /* args[index] */
    SLOT_CONSTANT, /* made when the body was compiled */
    SLOT_SCRATCH,  /* at `offset` in the scratch memory */
    SLOT_RESULT    /* results[index] */
} slot_kind;

typedef struct {
    slot_kind kind;
    uint32_t index;
    size_t bytes; /* of one element */
    union {
        size_t offset;
        const void *constant;
    };
} slot;

typedef struct {
    tn_kernel kernel;
    uint32_t in[TN_KERNEL_OPERANDS], out; /* slots */
} step;

typedef struct {
    uint32_t from, to; /* slots */
} move;

/* First the captures are spread over arrays, then come the steps, then the moves. */
typedef struct tn_body_program {
    const tn_region *region; /* NULL: lifted; else run this element by element */
    uint32_t n_steps, n_moves;
    const step *steps;
    const move *moves;
    const slot *slots;
    const uint32_t *captures; /* their slots */
    size_t scratch;
    size_t arg_offsets, result_offsets; /* when interpreted: of one element each in scratch */
} program;

static size_t round_up(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

/* --- what a region uses from outside --- */

static bool is_inside(const tn_value *v, const tn_region *r)
{
    for (const tn_region *at = v->region; at; at = at->parent ? at->parent->region : NULL)
        if (at == r) return true;
    return false;
}

typedef struct {
    tn_arena *arena;
    const tn_region *region;
    tn_value **values;
    uint32_t n, capacity;
} captures;

static void capture(captures *c, tn_value *v)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->values[i] == v) return;
    if (c->n == c->capacity) {
        c->capacity = c->capacity ? c->capacity * 2 : 4;
        tn_value **more = TN_NEW_ARRAY(c->arena, tn_value *, c->capacity);
        if (c->n) memcpy(more, c->values, c->n * sizeof *more);
        c->values = more;
    }
    c->values[c->n++] = v;
}

static void find_captures(captures *c, const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_operands; i++) {
            tn_value *v = tn_value_resolve(op->operands[i]);
            if (!is_inside(v, c->region)) capture(c, v);
        }
        for (uint32_t i = 0; i < op->n_regions; i++) find_captures(c, &op->regions[i]);
    }
}

/* --- shortcuts --- */

static bool is_arg(const tn_region *r, const tn_value *v, uint32_t index)
{
    return !v->op && v->region == r && v->index == index;
}

static tn_body_shortcut mirrored(tn_body_shortcut s)
{
    switch (s) {
    case TN_BODY_LT: return TN_BODY_GT;
    case TN_BODY_GT: return TN_BODY_LT;
    case TN_BODY_LE: return TN_BODY_GE;
    case TN_BODY_GE: return TN_BODY_LE;
    default: return s;
    }
}

static tn_body_shortcut shortcut_of_op(const tn_op *op)
{
    switch ((int)op->kind) {
    case TN_OP_add: return TN_BODY_ADD;
    case TN_OP_multiply: return TN_BODY_MULTIPLY;
    case TN_OP_maximum: return TN_BODY_MAXIMUM;
    case TN_OP_minimum: return TN_BODY_MINIMUM;
    case TN_OP_and: return TN_BODY_AND;
    case TN_OP_or: return TN_BODY_OR;
    case TN_OP_xor: return TN_BODY_XOR;
    case TN_OP_compare:
        if (tn_op_int(op, TN_ATTR_compare_type, TN_comparison_type_NOTYPE) ==
            TN_comparison_type_TOTALORDER)
            return TN_BODY_GENERAL;
        switch (tn_op_int(op, TN_ATTR_comparison_direction, -1)) {
        case TN_comparison_direction_LT: return TN_BODY_LT;
        case TN_comparison_direction_GT: return TN_BODY_GT;
        case TN_comparison_direction_LE: return TN_BODY_LE;
        case TN_comparison_direction_GE: return TN_BODY_GE;
        default: return TN_BODY_GENERAL;
        }
    default: return TN_BODY_GENERAL;
    }
}

static tn_body_shortcut find_shortcut(const tn_region *r)
{
    if (r->last->n_operands != 1 || r->n_args < 2) return TN_BODY_GENERAL;
    const tn_value *v = tn_value_resolve(r->last->operands[0]);
    if (r->n_args == 2 && is_arg(r, v, 1)) return TN_BODY_SECOND;
    const tn_op *op = v->op;
    if (!op || op->region != r || op->n_operands != 2) return TN_BODY_GENERAL;
    tn_body_shortcut s = shortcut_of_op(op);
    if (s < TN_BODY_LT && r->n_args != 2) return TN_BODY_GENERAL;
    const tn_value *x = tn_value_resolve(op->operands[0]), *y = tn_value_resolve(op->operands[1]);
    if (is_arg(r, x, 0) && is_arg(r, y, 1)) return s;
    if (is_arg(r, x, 1) && is_arg(r, y, 0)) return mirrored(s);
    return TN_BODY_GENERAL;
}

/* --- lifting --- */

typedef struct {
    tn_arena *arena;
    const tn_region *region;
    tn_value_map *slots_of; /* value to &slots[i], under another type */
    slot *slots;
    uint32_t n_slots;
    step *steps;
    uint32_t n_steps;
    move *moves;
    uint32_t n_moves;
} lift;

static bool is_scalar(const tn_type *t)
{
    return t->kind == TN_TYPE_TENSOR && t->rank == 0 && tn_element_type_bytes(t->element) != 0;
}

static uint32_t add_slot(lift *l, slot_kind kind, uint32_t index, const tn_type *type)
{
    l->slots[l->n_slots] =
        (slot){.kind = kind, .index = index, .bytes = tn_element_type_bytes(type->element)};
    return l->n_slots++;
}

static void bind(lift *l, const tn_value *v, uint32_t s)
{
    tn_value_map_set(l->slots_of, v, (tn_value *)&l->slots[s]);
}

static uint32_t slot_of(const lift *l, const tn_value *v)
{
    return (uint32_t)((slot *)tn_value_map_get(l->slots_of, v) - l->slots);
}

/* Ops that give a scalar the bytes of their scalar operand. */
static bool keeps_scalar(const tn_op *op)
{
    const tn_type *from = tn_operand_type(op, 0), *to = tn_result_type(op, 0);
    switch ((int)op->kind) {
    case TN_OP_broadcast:
    case TN_OP_broadcast_in_dim:
    case TN_OP_reverse:
    case TN_OP_transpose: return is_scalar(from) && is_scalar(to);
    case TN_OP_bitcast_convert:
        return is_scalar(from) && is_scalar(to) && tn_element_type_bits(to->element) >= 8 &&
               tn_element_type_bits(from->element) == tn_element_type_bits(to->element);
    default: return tn_op_has_trait(op, TN_TRAIT_SAME_BYTES) && op->n_results == op->n_operands;
    }
}

static bool lift_constant(lift *l, const tn_op *op)
{
    const tn_attr *value = tn_op_attr(op, TN_ATTR_value);
    uint32_t s = add_slot(l, SLOT_CONSTANT, 0, tn_result_type(op, 0));
    size_t bytes = l->slots[s].bytes;
    if (!value || value->kind != TN_ATTR_KIND_TENSOR || value->tensor.size < bytes) return false;
    char *data = tn_alloc(l->arena, TN_BODY_TILE * bytes);
    for (size_t i = 0; i < TN_BODY_TILE; i++) memcpy(data + i * bytes, value->tensor.data, bytes);
    l->slots[s].constant = data;
    bind(l, &op->results[0], s);
    return true;
}

static bool lift_op(lift *l, const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_results; i++)
        if (!is_scalar(tn_result_type(op, i))) return false;
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!is_scalar(tn_value_resolve(op->operands[i])->type)) return false;
    if (op->n_regions || op->n_results == 0) return false;
    if (op->kind == TN_OP_constant) return lift_constant(l, op);
    if (op->n_operands && keeps_scalar(op)) {
        for (uint32_t i = 0; i < op->n_results; i++)
            bind(l, &op->results[i], slot_of(l, tn_value_resolve(op->operands[i])));
        return true;
    }
    step *s = &l->steps[l->n_steps];
    tn_status *status = tn_elementwise_kernel(op, &s->kernel);
    if (status) {
        tn_status_free(status);
        return false;
    }
    for (uint32_t i = 0; i < op->n_operands; i++)
        s->in[i] = slot_of(l, tn_value_resolve(op->operands[i]));
    s->out = add_slot(l, SLOT_SCRATCH, 0, tn_result_type(op, 0));
    bind(l, &op->results[0], s->out);
    l->n_steps++;
    return true;
}

/* A result may share its memory with an argument, so it is written by the step that makes it only
 * if nothing reads an argument after that. The rest is moved there at the end; arguments that are
 * results are first saved if another move could write over them. */
static void place_results(lift *l)
{
    const tn_op *ret = l->region->last;
    uint32_t last_read = 0; /* one past the last step that reads an argument */
    for (uint32_t i = 0; i < l->n_steps; i++)
        for (uint32_t j = 0; j < l->steps[i].kernel.n_operands; j++)
            if (l->slots[l->steps[i].in[j]].kind == SLOT_ARG) last_read = i + 1;
    uint32_t n_saved = 0;
    for (uint32_t i = 0; i < ret->n_operands; i++) {
        uint32_t s = slot_of(l, tn_value_resolve(ret->operands[i]));
        if (l->slots[s].kind != SLOT_ARG) continue;
        last_read = UINT32_MAX;
        if (ret->n_operands == 1) continue;
        uint32_t saved = add_slot(l, SLOT_SCRATCH, 0, tn_value_resolve(ret->operands[i])->type);
        l->moves[l->n_moves++] = (move){s, saved};
        n_saved++;
    }
    for (uint32_t i = 0, saved = 0; i < ret->n_operands; i++) {
        const tn_value *v = tn_value_resolve(ret->operands[i]);
        uint32_t s = slot_of(l, v);
        if (l->slots[s].kind == SLOT_ARG && n_saved) s = l->moves[saved++].to;
        bool direct = false;
        for (uint32_t j = 0; j < l->n_steps; j++)
            if (l->steps[j].out == s)
                direct = l->slots[s].kind == SLOT_SCRATCH && j + 1 >= last_read;
        if (direct) {
            l->slots[s].kind = SLOT_RESULT;
            l->slots[s].index = i;
        } else {
            l->moves[l->n_moves++] = (move){s, add_slot(l, SLOT_RESULT, i, v->type)};
        }
    }
}

/* Gives scratch slots their places; a place is free again after the last step that reads it. */
static size_t place_scratch(lift *l)
{
    uint32_t *last_use = TN_NEW_ARRAY(l->arena, uint32_t, l->n_slots);
    for (uint32_t i = 0; i < l->n_steps; i++) {
        last_use[l->steps[i].out] = i;
        for (uint32_t j = 0; j < l->steps[i].kernel.n_operands; j++)
            last_use[l->steps[i].in[j]] = i;
    }
    for (uint32_t i = 0; i < l->n_moves; i++)
        last_use[l->moves[i].from] = last_use[l->moves[i].to] = UINT32_MAX;

    size_t total = 0;
    /* Free places by size of element: 1, 2, 4, 8, 16. */
    size_t *free_places[5];
    uint32_t n_free[5] = {0};
    for (uint32_t c = 0; c < 5; c++) free_places[c] = TN_NEW_ARRAY(l->arena, size_t, l->n_slots);
    bool *placed = TN_NEW_ARRAY(l->arena, bool, l->n_slots);
#define CLASS(s) ((uint32_t)__builtin_ctz((unsigned)(s)->bytes))
    for (uint32_t i = 0; i < l->n_slots; i++) {
        slot *s = &l->slots[i];
        bool is_step_result = false;
        for (uint32_t j = 0; j < l->n_steps && !is_step_result; j++)
            is_step_result = l->steps[j].out == i;
        if (s->kind != SLOT_SCRATCH || is_step_result) continue;
        s->offset = total; /* captures and saved arguments: kept to the end */
        total += TN_BODY_TILE * s->bytes;
    }
    for (uint32_t i = 0; i < l->n_steps; i++) {
        slot *out = &l->slots[l->steps[i].out];
        /* The kernel may write over an operand of the same width, so those that end here may give
         * their place already; two operands may be one. */
        for (uint32_t j = 0; j < l->steps[i].kernel.n_operands; j++) {
            uint32_t in = l->steps[i].in[j];
            slot *s = &l->slots[in];
            if (s->kind != SLOT_SCRATCH || !placed[in] || last_use[in] != i) continue;
            placed[in] = false;
            free_places[CLASS(s)][n_free[CLASS(s)]++] = s->offset;
        }
        if (out->kind != SLOT_SCRATCH) continue;
        uint32_t class = CLASS(out);
        if (n_free[class]) {
            out->offset = free_places[class][--n_free[class]];
        } else {
            out->offset = total;
            total += TN_BODY_TILE * out->bytes;
        }
        placed[l->steps[i].out] = true;
    }
#undef CLASS
    return total;
}

static bool lift_region(const tn_region *r, const captures *c, tn_arena *a, program *p)
{
    uint32_t n_ops = 0, n_values = r->n_args + c->n + 2 * r->last->n_operands;
    for (const tn_op *op = r->first; op; op = op->next) {
        n_ops++;
        n_values += op->n_results;
    }
    lift l = {.arena = a, .region = r, .slots_of = tn_value_map_new(a, n_values)};
    l.slots = TN_NEW_ARRAY(a, slot, n_values);
    l.steps = TN_NEW_ARRAY(a, step, n_ops);
    l.moves = TN_NEW_ARRAY(a, move, 2 * r->last->n_operands);
    uint32_t *capture_slots = TN_NEW_ARRAY(a, uint32_t, c->n);
    for (uint32_t i = 0; i < r->n_args; i++) {
        if (!is_scalar(r->args[i].type)) return false;
        bind(&l, &r->args[i], add_slot(&l, SLOT_ARG, i, r->args[i].type));
    }
    for (uint32_t i = 0; i < c->n; i++) {
        if (!is_scalar(c->values[i]->type)) return false;
        capture_slots[i] = add_slot(&l, SLOT_SCRATCH, 0, c->values[i]->type);
        bind(&l, c->values[i], capture_slots[i]);
    }
    for (const tn_op *op = r->first; op != r->last; op = op->next)
        if (!lift_op(&l, op)) return false;
    place_results(&l);
    *p = (program){.n_steps = l.n_steps,
                   .n_moves = l.n_moves,
                   .steps = l.steps,
                   .moves = l.moves,
                   .slots = l.slots,
                   .captures = capture_slots,
                   .scratch = place_scratch(&l)};
    return true;
}

static void plan_interpreter(const tn_region *r, program *p)
{
    *p = (program){.region = r};
    for (uint32_t i = 0; i < r->n_args; i++)
        p->result_offsets += round_up(tn_type_bytes(r->args[i].type));
    p->scratch = p->result_offsets;
    for (uint32_t i = 0; i < r->last->n_operands; i++)
        p->scratch += round_up(tn_type_bytes(r->last->operands[i]->type));
    /* Behind them the descriptions of the arrays. */
    p->scratch += round_up((r->n_args + r->last->n_operands) * sizeof(tn_tensor));
}

tn_status *tn_body_compile(const tn_region *r, tn_arena *a, const tn_body **out)
{
    if (!r->last || r->last->kind != TN_OP_return)
        return TN_ERROR(INVALID_ARGUMENT, "a body doesn't end in a return");
    captures c = {.arena = a, .region = r};
    find_captures(&c, r);
    uint32_t n_results = r->last->n_operands;
    const tn_type **arg_types = TN_NEW_ARRAY(a, const tn_type *, r->n_args);
    const tn_type **result_types = TN_NEW_ARRAY(a, const tn_type *, n_results);
    for (uint32_t i = 0; i < r->n_args; i++) arg_types[i] = r->args[i].type;
    for (uint32_t i = 0; i < n_results; i++)
        result_types[i] = tn_value_resolve(r->last->operands[i])->type;
    program *p = TN_NEW(a, program);
    if (!lift_region(r, &c, a, p)) plan_interpreter(r, p);

    tn_body *b = TN_NEW(a, tn_body);
    *b = (tn_body){.shortcut = find_shortcut(r),
                   .n_args = r->n_args,
                   .n_results = n_results,
                   .n_captures = c.n,
                   .arg_types = arg_types,
                   .result_types = result_types,
                   .captures = c.values,
                   .program = p};
    if (!p->region) {
        tn_body_shortcut arg = tn_body_arg(r, b);
        if (arg) b->shortcut = arg;
    }
    *out = b;
    return NULL;
}

size_t tn_body_scratch(const tn_body *b)
{
    return round_up(b->program->scratch);
}

/* --- running --- */

static void spread(void *to, const void *element, size_t bytes, size_t n)
{
    if (n) memcpy(to, element, bytes);
    for (size_t done = 1; done < n; done *= 2)
        memcpy((char *)to + done * bytes, to, (done < n - done ? done : n - done) * bytes);
}

static tn_status *run_lifted(const program *p, uint32_t n_captures, size_t n,
                             const void *const *args, void *const *results,
                             const void *const *captured, void *scratch)
{
#define READ(s)                                                                                    \
    ((s)->kind == SLOT_ARG        ? args[(s)->index]                                               \
     : (s)->kind == SLOT_CONSTANT ? (s)->constant                                                  \
     : (s)->kind == SLOT_SCRATCH  ? (const void *)((char *)scratch + (s)->offset)                  \
                                  : (const void *)results[(s)->index])
#define WRITE(s)                                                                                   \
    ((s)->kind == SLOT_SCRATCH ? (void *)((char *)scratch + (s)->offset) : results[(s)->index])
    for (uint32_t i = 0; i < n_captures; i++) {
        const slot *s = &p->slots[p->captures[i]];
        spread(WRITE(s), captured[i], s->bytes, n);
    }
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const step *s = &p->steps[i];
        const void *in[TN_KERNEL_OPERANDS];
        for (uint32_t j = 0; j < s->kernel.n_operands; j++) in[j] = READ(&p->slots[s->in[j]]);
        tn_kernel_run(&s->kernel, n, in, WRITE(&p->slots[s->out]));
    }
    for (uint32_t i = 0; i < p->n_moves; i++) {
        const slot *from = &p->slots[p->moves[i].from], *to = &p->slots[p->moves[i].to];
        memmove(WRITE(to), READ(from), n * from->bytes);
    }
#undef READ
#undef WRITE
    return NULL;
}

typedef struct {
    tn_interpret_outer as_outer;
    const tn_body *body;
    const void *const *captured;
} outer;

static const void *captured_data(const tn_interpret_outer *self, const tn_value *v)
{
    const outer *o = (const outer *)self;
    for (uint32_t i = 0; i < o->body->n_captures; i++)
        if (o->body->captures[i] == v) return o->captured[i];
    return NULL;
}

static tn_status *run_interpreted(const tn_body *b, const tn_eval_context *ctx, size_t n,
                                  const void *const *args, void *const *results,
                                  const void *const *captured, void *scratch)
{
    const program *p = b->program;
    outer o = {{captured_data}, b, captured};
    size_t in_bytes = p->result_offsets;
    char *at = scratch;
    tn_tensor *tensors =
        (tn_tensor *)(at + p->scratch - round_up((b->n_args + b->n_results) * sizeof(tn_tensor)));
    for (uint32_t i = 0; i < b->n_args; i++) {
        tensors[i] = (tn_tensor){at, b->arg_types[i]};
        at += round_up(tn_type_bytes(b->arg_types[i]));
    }
    at = (char *)scratch + in_bytes;
    for (uint32_t i = 0; i < b->n_results; i++) {
        tensors[b->n_args + i] = (tn_tensor){at, b->result_types[i]};
        at += round_up(tn_type_bytes(b->result_types[i]));
    }
    for (size_t e = 0; e < n; e++) {
        for (uint32_t i = 0; i < b->n_args; i++) {
            size_t bytes = tn_type_bytes(b->arg_types[i]);
            memcpy(tensors[i].data, (const char *)args[i] + e * bytes, bytes);
        }
        TN_TRY(tn_interpret_region(p->region, ctx, &o.as_outer, tensors, tensors + b->n_args));
        for (uint32_t i = 0; i < b->n_results; i++) {
            size_t bytes = tn_type_bytes(b->result_types[i]);
            memcpy((char *)results[i] + e * bytes, tensors[b->n_args + i].data, bytes);
        }
    }
    return NULL;
}

tn_status *tn_body_run(const tn_body *b, const tn_eval_context *ctx, size_t n,
                       const void *const *args, void *const *results, const void *const *captured,
                       void *scratch)
{
    if (b->program->region) return run_interpreted(b, ctx, n, args, results, captured, scratch);
    return run_lifted(b->program, b->n_captures, n, args, results, captured, scratch);
}
