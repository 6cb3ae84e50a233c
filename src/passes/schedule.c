/* SPDX-License-Identifier: Apache-2.0 */
/* schedule - an order of ops that suits memory and fusion.
 *
 * Before:  %1 = add %x, %x   %i = subtract %c, %j (a scalar)   %2 = multiply %1, broadcast %i   ...
 * %z = iota   use %z After:   %i = subtract %c, %j   %1 = add %x, %x   %2 = multiply %1, broadcast
 * %i   ...   %z = iota   use %z That is: what is tiny is computed as soon as it can be, so that it
 * doesn't stand between large ops that could run together; what makes much from little (splats,
 * iotas, broadcasts) is made right before its first use. Not:     effects, control flow, and ops
 * with regions stay where they are. */
#include "passes/rewrite.h"

#define TINY_BYTES 512

static bool is_plain(const tn_op *op)
{
    if (op->n_regions || !op->n_results || tn_op_has_effect(op) || op->kind == TN_OP_custom_call)
        return false;
    if (tn_op_has_trait(op, TN_TRAIT_CONTROL | TN_TRAIT_TERMINATOR | TN_TRAIT_SYMBOL)) return false;
    return op->kind != TN_OP_optimization_barrier;
}

static bool is_tiny(const tn_type *t)
{
    return t->kind == TN_TYPE_TENSOR && tn_type_is_static(t) && tn_type_bytes(t) <= TINY_BYTES;
}

static bool all_tiny(const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_results; i++)
        if (!is_tiny(op->results[i].type)) return false;
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!is_tiny(op->operands[i]->type)) return false;
    return true;
}

/* --- tiny ops, up --- */

/* Only what a large op waits for is worth moving. What a loop hands on (its counter plus one) stays
 * behind the last use of what it replaces, so that both can be in one place. `id` says that a value
 * is waited for. */
enum { NOT_AWAITED, AWAITED };
enum { STAYS, RISES };

static void forget(tn_region *r)
{
    for (uint32_t i = 0; i < r->n_args; i++) r->args[i].id = NOT_AWAITED;
    for (tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_results; i++) op->results[i].id = NOT_AWAITED;
        for (uint32_t i = 0; i < op->n_regions; i++) forget(&op->regions[i]);
    }
}

static void find_awaited(tn_region *r)
{
    for (tn_op *op = r->last; op; op = op->prev) {
        bool awaited = !tn_op_has_trait(op, TN_TRAIT_TERMINATOR),
             tiny = is_plain(op) && all_tiny(op);
        for (uint32_t i = 0; tiny && i < op->n_results; i++) awaited = op->results[i].id == AWAITED;
        op->mark = tiny && awaited ? RISES : STAYS;
        for (uint32_t i = 0; i < op->n_regions; i++) find_awaited(&op->regions[i]);
        for (uint32_t i = 0; awaited && i < op->n_operands; i++) op->operands[i]->id = AWAITED;
    }
}

/* What moves up goes behind an op that stays, the anchor, and behind all that went there before: so
 * what it wants is before it, whether that moved or not. `mark` is the number of an op's anchor, 0
 * for the beginning of the region. */
static void raise_to(tn_region *r, tn_op *op, tn_op **tail)
{
    tn_op *behind = *tail;
    *tail = op;
    if (behind ? behind->next == op : r->first == op) return;
    tn_op *before = behind ? behind->next : r->first;
    tn_op_remove(op);
    tn_op_insert_before(before, op);
}

static void raise_tiny(tn_module *m, tn_region *r, bool *changed)
{
    uint32_t n = 0;
    for (const tn_op *op = r->first; op; op = op->next) n++;
    tn_op **tails = TN_NEW_ARRAY(m->arena, tn_op *, (size_t)n + 1);
    n = 0;
    for (tn_op *op = r->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t i = 0; i < op->n_regions; i++)
            if (tn_op_has_trait(op, TN_TRAIT_CONTROL)) raise_tiny(m, &op->regions[i], changed);
        bool rises = op->mark == RISES;
        op->mark = 0;
        if (!rises) {
            op->mark = ++n;
            tails[n] = op;
            continue;
        }
        for (uint32_t i = 0; i < op->n_operands; i++) {
            const tn_op *made = op->operands[i]->op;
            if (made && made->region == r && made->mark > op->mark) op->mark = made->mark;
        }
        const tn_op *before = op->prev;
        raise_to(r, op, &tails[op->mark]);
        *changed = *changed || op->prev != before;
    }
}

/* --- ops that make much from little, down --- */

typedef struct {
    tn_op **first_user; /* [n_values]: in the region of the value */
    bool changed;
} sinker;

static bool makes_much(const tn_op *op)
{
    if (!is_plain(op) || op->n_results != 1) return false;
    const tn_type *t = op->results[0].type;
    if (t->kind != TN_TYPE_TENSOR || !tn_type_is_static(t) || tn_type_bytes(t) <= TINY_BYTES)
        return false;
    if (op->n_operands == 0) return true;
    return op->kind == TN_OP_broadcast_in_dim && is_tiny(op->operands[0]->type);
}

static void note_use(sinker *s, const tn_value *v, tn_op *user)
{
    while (user->region != v->region) user = user->region->parent;
    s->first_user[v->id] = user;
}

/* `op` now stands right before `user`. Others may use its operand earlier. */
static void note_moved_use(sinker *s, const tn_value *v, tn_op *op, const tn_op *user)
{
    const tn_op *first = s->first_user[v->id];
    bool same_region = v->region == op->region;
    if (!same_region || !first || first == user || first->mark > user->mark) note_use(s, v, op);
}

/* Backwards, so that the first user is the last one seen. `mark` falls from the end to the
 * beginning. */
static void sink(sinker *s, tn_region *r, bool is_body)
{
    uint32_t mark = UINT32_MAX;
    for (tn_op *op = r->last, *before; op; op = before) {
        before = op->prev;
        op->mark = mark--;
        for (uint32_t i = 0; i < op->n_regions; i++)
            sink(s, &op->regions[i], is_body || !tn_op_has_trait(op, TN_TRAIT_CONTROL));
        tn_op *user = !is_body && makes_much(op) ? s->first_user[op->results[0].id] : NULL;
        if (!user || user == op->next) {
            for (uint32_t i = 0; i < op->n_operands; i++) note_use(s, op->operands[i], op);
            continue;
        }
        tn_op_remove(op);
        tn_op_insert_before(user, op);
        op->mark = user->mark;
        s->changed = true;
        for (uint32_t i = 0; i < op->n_operands; i++) note_moved_use(s, op->operands[i], op, user);
    }
}

tn_status *tn_pass_schedule(tn_module *m, bool *changed)
{
    for (tn_function *f = m->functions; f; f = f->next) {
        forget(&f->body);
        find_awaited(&f->body);
        raise_tiny(m, &f->body, changed);
    }
    tn_module_number(m);
    sinker s = {.first_user = TN_NEW_ARRAY(m->arena, tn_op *, m->n_values)};
    for (tn_function *f = m->functions; f; f = f->next) sink(&s, &f->body, false);
    *changed = *changed || s.changed;
    return NULL;
}
