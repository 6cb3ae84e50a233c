/* SPDX-License-Identifier: Apache-2.0 */
/* partition - what a program over several partitions needs before it can run as one program on
 * each.
 *
 * Before:  main(%a: tensor<8xf32> {sharding by i}) { %r = manual_computation(%a) in [by i] out [by
 *          i] (%b: tensor<2xf32>) { ... return %c }   return %r }
 * After:   main(%b: tensor<2xf32>) { ...   return %c }
 *
 * A program that shards nothing computes the same everywhere and is left as it is. Of the others
 * those run whose sharded values go from parameters through manual computations (shard_map, pmap)
 * to results: the bodies are the programs of one device already. There is no partitioner yet:
 * anything else is refused with a message that names it. With one partition shardings say nothing.
 */
#include <string.h>

#include "passes/rewrite.h"

/* An axis of a mesh in a Shardy sharding, or a tiling in an HLO sharding. */
static bool shards(const tn_attr *a)
{
    if (!a) return false;
    if (a->kind == TN_ATTR_KIND_STRING) return strstr(a->string.data, "devices=") != NULL;
    if (a->kind != TN_ATTR_KIND_LIST) return false;
    if (a->list.tag && !strcmp(a->list.tag, "sdy.axis_ref")) return true;
    for (uint32_t i = 0; i < a->list.n; i++)
        if (shards(a->list.items[i])) return true;
    return false;
}

static bool is_list(const tn_attr *a, uint32_t least)
{
    return a && a->kind == TN_ATTR_KIND_LIST && a->list.n >= least;
}

/* Down to the axes: a program may bring anything. */
static bool is_sharding(const tn_attr *a)
{
    if (!is_list(a, 2) || !a->list.tag || strcmp(a->list.tag, "sdy.sharding")) return false;
    const tn_attr *dims = a->list.items[1];
    if (!a->list.items[0] || !is_list(dims, 0)) return false;
    for (uint32_t i = 0; i < dims->list.n; i++) {
        const tn_attr *axes =
            is_list(dims->list.items[i], 1) ? dims->list.items[i]->list.items[0] : NULL;
        if (!is_list(axes, 0)) return false;
        for (uint32_t k = 0; k < axes->list.n; k++)
            if (!is_list(axes->list.items[k], 1)) return false;
    }
    return true;
}

/* Do two Shardy shardings divide dimensions alike? */
static bool agree(const tn_attr *x, const tn_attr *y)
{
    if (!is_sharding(x) || !is_sharding(y) || !tn_attr_equal(x->list.items[0], y->list.items[0]))
        return false;
    const tn_attr *a = x->list.items[1], *b = y->list.items[1];
    if (a->list.n != b->list.n) return false;
    for (uint32_t i = 0; i < a->list.n; i++)
        if (!tn_attr_equal(a->list.items[i]->list.items[0], b->list.items[i]->list.items[0]))
            return false;
    return true;
}

/* Axes in the dimensions, whole ones alone; nothing left to be reduced. */
static bool is_plain(const tn_attr *a)
{
    if (!is_sharding(a)) return false;
    const tn_attr *unreduced = a->list.n > 3 ? a->list.items[3] : NULL;
    if (unreduced && unreduced->kind == TN_ATTR_KIND_LIST && unreduced->list.n) return false;
    const tn_attr *dims = a->list.items[1];
    for (uint32_t i = 0; i < dims->list.n; i++) {
        const tn_attr *axes = dims->list.items[i]->list.items[0];
        for (uint32_t k = 0; k < axes->list.n; k++)
            if (axes->list.items[k]->list.n != 1) return false;
    }
    return true;
}

typedef struct {
    tn_module *m;
    const tn_attr **sharding; /* by the id of a value: how it is divided; NULL: whole everywhere */
    bool manual;              /* there is a manual computation */
} partitioner;

static tn_status *refuse(const partitioner *p, const tn_op *op)
{
    return TN_OP_ERROR(
        UNIMPLEMENTED, op,
        "sharded over %u partitions: partitioning programs is not supported yet, but "
        "for values that go straight from parameters through manual computations to "
        "results",
        p->m->num_partitions);
}

static tn_status *refuse_signature(const partitioner *p, const char *what, uint32_t i)
{
    return TN_ERROR(UNIMPLEMENTED,
                    "%s %u is sharded over %u partitions: partitioning programs is not supported "
                    "yet, but for values that go straight from parameters through manual "
                    "computations to results",
                    what, i, p->m->num_partitions);
}

static const tn_attr *attr_of(const tn_attr **dicts, uint32_t i)
{
    const tn_attr *dict = dicts ? dicts[i] : NULL;
    const tn_attr *a = tn_attr_get(dict, "sdy.sharding");
    return a ? a : tn_attr_get(dict, "mhlo.sharding");
}

static bool is_manual(const tn_op *op)
{
    return op->kind == TN_OP_sdy_manual_computation;
}

/* The sharding of operand or result i of a manual computation. */
static const tn_attr *manual_sharding(const tn_op *op, tn_attr_name name, uint32_t i)
{
    const tn_attr *all = tn_op_attr(op, name);
    if (!all || all->kind != TN_ATTR_KIND_LIST) return NULL;
    if (all->list.tag && !strcmp(all->list.tag, "sdy.sharding_per_value") && all->list.n == 1 &&
        !is_sharding(all->list.items[0]))
        all = all->list.items[0];
    return i < all->list.n ? all->list.items[i] : NULL;
}

static bool op_shards(const tn_op *op)
{
    if (shards(tn_op_extra(op, "sdy.sharding")) || shards(tn_op_extra(op, "mhlo.sharding")))
        return true;
    return shards(tn_op_attr(op, TN_ATTR_sharding)) || shards(tn_op_attr(op, TN_ATTR_out_sharding));
}

/* Nothing in `r` is sharded, or takes what is. */
static tn_status *check_region(const partitioner *p, const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (op_shards(op) || is_manual(op)) return refuse(p, op);
        for (uint32_t i = 0; i < op->n_operands; i++)
            if (p->sharding[op->operands[i]->id]) return refuse(p, op);
        for (uint32_t i = 0; i < op->n_regions; i++) TN_TRY(check_region(p, &op->regions[i]));
    }
    return NULL;
}

/* Parameters that say nothing are divided as the first manual computation wants them. */
static void propose(partitioner *p, const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_value *v = op->operands[i];
        const tn_attr *s = manual_sharding(op, TN_ATTR_in_shardings, i);
        bool open =
            !v->op && v->region == &p->m->main->body && !attr_of(p->m->main->arg_attrs, v->index);
        if (open && shards(s) && !p->sharding[v->id]) p->sharding[v->id] = s;
    }
}

static tn_status *check_manual(partitioner *p, const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_attr *want = manual_sharding(op, TN_ATTR_in_shardings, i);
        const tn_attr *got = p->sharding[op->operands[i]->id];
        if (!want || !is_plain(want)) return refuse(p, op);
        if (got ? !agree(want, got) : shards(want)) return refuse(p, op);
    }
    for (uint32_t i = 0; i < op->n_results; i++) {
        const tn_attr *s = manual_sharding(op, TN_ATTR_out_shardings, i);
        if (!s || !is_plain(s)) return refuse(p, op);
        if (shards(s)) p->sharding[op->results[i].id] = s;
    }
    return check_region(p, &op->regions[0]);
}

static tn_status *check_main(partitioner *p)
{
    const tn_function *f = p->m->main;
    const tn_region *r = &f->body;
    for (uint32_t i = 0; i < r->n_args; i++) {
        const tn_attr *s = attr_of(f->arg_attrs, i);
        if (!shards(s)) continue;
        if (!p->manual || !is_plain(s)) return refuse_signature(p, "parameter", i);
        p->sharding[r->args[i].id] = s;
    }
    for (const tn_op *op = r->first; op; op = op->next)
        if (is_manual(op)) propose(p, op);
    for (const tn_op *op = r->first; op != r->last; op = op->next) {
        if (is_manual(op)) {
            TN_TRY(check_manual(p, op));
            continue;
        }
        if (op_shards(op)) return refuse(p, op);
        for (uint32_t i = 0; i < op->n_operands; i++)
            if (p->sharding[op->operands[i]->id]) return refuse(p, op);
        for (uint32_t i = 0; i < op->n_regions; i++) TN_TRY(check_region(p, &op->regions[i]));
    }
    for (uint32_t i = 0; i < r->last->n_operands; i++) {
        const tn_attr *want = attr_of(f->result_attrs, i);
        const tn_attr *got = p->sharding[r->last->operands[i]->id];
        if (want && (got ? !agree(want, got) : shards(want)))
            return refuse_signature(p, "result", i);
    }
    return NULL;
}

/* The attributes `dicts[i]` with `sharding`, if they have none. */
static void note(partitioner *p, const tn_attr ***dicts, uint32_t n, uint32_t i,
                 const tn_attr *sharding)
{
    if (!sharding || attr_of(*dicts, i)) return;
    if (!*dicts) *dicts = TN_NEW_ARRAY(p->m->arena, const tn_attr *, n);
    const tn_attr *old = (*dicts)[i];
    uint32_t k = old ? old->dict.n : 0;
    tn_named_attr *pairs = TN_NEW_ARRAY(p->m->arena, tn_named_attr, k + 1);
    if (k) memcpy(pairs, old->dict.pairs, k * sizeof *pairs);
    pairs[k] = (tn_named_attr){"sdy.sharding", sharding};
    tn_attr *dict = TN_NEW(p->m->arena, tn_attr);
    dict->kind = TN_ATTR_KIND_DICT;
    dict->dict.pairs = pairs;
    dict->dict.n = k + 1;
    (*dicts)[i] = dict;
}

/* Puts the bodies in the place of their computations, with the types of one device. */
static void open(partitioner *p)
{
    tn_function *f = p->m->main;
    tn_region *r = &f->body;
    uint32_t n = r->n_args, n_results = r->last->n_operands;
    for (uint32_t i = 0; i < n; i++) note(p, &f->arg_attrs, n, i, p->sharding[r->args[i].id]);
    for (uint32_t i = 0; i < n_results; i++)
        note(p, &f->result_attrs, n_results, i, p->sharding[r->last->operands[i]->id]);
    for (tn_op *op = r->first, *next; op; op = next) {
        for (uint32_t i = 0; i < op->n_operands; i++)
            op->operands[i] = tn_value_resolve(op->operands[i]);
        next = op->next;
        if (!is_manual(op)) continue;
        tn_region *body = &op->regions[0];
        next = body->first;
        for (uint32_t i = 0; i < body->n_args; i++) {
            op->operands[i]->type = body->args[i].type;
            tn_value_replace(&body->args[i], op->operands[i]);
        }
        if (next == body->last) next = op->next;
        tn_rewrite_by_region(op, body);
    }
    tn_module_resolve(p->m);
    const tn_type **parts = TN_NEW_ARRAY(p->m->arena, const tn_type *, n + n_results);
    for (uint32_t i = 0; i < n; i++) parts[i] = r->args[i].type;
    for (uint32_t i = 0; i < n_results; i++) parts[n + i] = r->last->operands[i]->type;
    tn_type *type = TN_NEW(p->m->arena, tn_type);
    *type = (tn_type){
        .kind = TN_TYPE_FUNCTION, .n_parts = n + n_results, .n_inputs = n, .parts = parts};
    f->type = type;
}

/* Casts to the same type, which mixed serialization leaves around Shardy's ops, say nothing. */
static void drop_casts(tn_region *r)
{
    for (tn_op *op = r->first, *next; op; op = next) {
        next = op->next;
        bool same = op->kind == TN_OP_cast && op->n_operands == op->n_results;
        for (uint32_t i = 0; same && i < op->n_results; i++)
            same = tn_type_equal(tn_value_resolve(op->operands[i])->type, op->results[i].type);
        if (!same) continue;
        for (uint32_t i = 0; i < op->n_results; i++)
            tn_value_replace(&op->results[i], tn_value_resolve(op->operands[i]));
        tn_op_remove(op);
    }
}

tn_status *tn_pass_partition(tn_module *m, bool *changed)
{
    if (m->num_partitions == 1) return NULL;
    drop_casts(&m->main->body);
    tn_module_resolve(m);
    tn_module_number(m);
    partitioner p = {.m = m, .sharding = TN_NEW_ARRAY(m->arena, const tn_attr *, m->n_values)};
    for (const tn_op *op = m->main->body.first; op; op = op->next) p.manual |= is_manual(op);
    TN_TRY(check_main(&p));
    for (const tn_function *f = m->functions; f; f = f->next)
        if (f != m->main) TN_TRY(check_region(&p, &f->body));
    if (!p.manual) return NULL;
    open(&p);
    *changed = true;
    return NULL;
}
