/* SPDX-License-Identifier: Apache-2.0 */
/* chlo.ragged_dot, one dot for each group.
 *
 * Rows m of group g are those from the sum of the sizes before it on. By what the ragged dimension
 * of the left side is: free         [b,m,k], [g,b,k,n] -> [b,m,n]:   rows of g are lhs . rhs[g],
 * rows of no group 0 contracting  [b,m,k], [b,k,n]   -> [g,b,m,n]: both sides are 0 outside of g
 *   batching     [b,m,k], [b,k,n]   -> [b,m,n]:   a dot */
#include <inttypes.h>
#include <string.h>

#include "reader/text_chlo.h"

enum { GROUPS_AT_MOST = 4096 };

typedef struct {
    const int64_t *v;
    uint32_t n;
} ints;

typedef struct {
    tn_parser *p;
    tn_parse_op *o;
    const tn_chlo_op *c;
    tn_text t;
    ints batch[2], contracting[2], ragged, group;
    const tn_type *lhs, *rhs, *sizes, *out, *one; /* one: the product of one group */
    const tn_type *bound;                         /* where a group begins, by batch or for all */
    int64_t n_groups;
} dot;

static bool have(ints list, int64_t v)
{
    for (uint32_t i = 0; i < list.n; i++)
        if (list.v[i] == v) return true;
    return false;
}

static tn_status *wrong(const dot *d, const char *what)
{
    return tn_parse_error(d->p, d->o->where, "chlo.ragged_dot: %s", what);
}

static tn_status *get_dims(dot *d, const tn_attr *dict, const char *key, const tn_type *of,
                           ints *out)
{
    const tn_attr *a = tn_attr_get(dict, key);
    *out = (ints){0};
    if (a && a->kind == TN_ATTR_KIND_INTS) *out = (ints){a->ints.data, a->ints.n};
    if (a && a->kind == TN_ATTR_KIND_LIST) {
        int64_t *v = TN_NEW_ARRAY(d->p->arena, int64_t, a->list.n);
        for (uint32_t i = 0; i < a->list.n; i++) {
            if (a->list.items[i]->kind != TN_ATTR_KIND_INT)
                return wrong(d, "dimensions are integers");
            v[i] = a->list.items[i]->integer;
        }
        *out = (ints){v, a->list.n};
    }
    for (uint32_t i = 0; i < out->n; i++)
        if (out->v[i] < 0 || out->v[i] >= of->rank || have((ints){out->v, i}, out->v[i]))
            return tn_parse_error(d->p, d->o->where,
                                  "chlo.ragged_dot: %s should be distinct "
                                  "dimensions of an operand",
                                  key);
    return NULL;
}

static tn_status *read_dims(dot *d)
{
    const tn_attr *a = tn_chlo_attr(d->c, "ragged_dot_dimension_numbers");
    if (a && a->kind == TN_ATTR_KIND_LIST && a->list.n == 1) a = a->list.items[0];
    if (!a || a->kind != TN_ATTR_KIND_DICT) return wrong(d, "ragged_dot_dimension_numbers lack");
    TN_TRY(get_dims(d, a, "lhs_batching_dimensions", d->lhs, &d->batch[0]));
    TN_TRY(get_dims(d, a, "rhs_batching_dimensions", d->rhs, &d->batch[1]));
    TN_TRY(get_dims(d, a, "lhs_contracting_dimensions", d->lhs, &d->contracting[0]));
    TN_TRY(get_dims(d, a, "rhs_contracting_dimensions", d->rhs, &d->contracting[1]));
    TN_TRY(get_dims(d, a, "lhs_ragged_dimensions", d->lhs, &d->ragged));
    TN_TRY(get_dims(d, a, "rhs_group_dimensions", d->rhs, &d->group));
    if (d->ragged.n != 1) return wrong(d, "expected one lhs_ragged_dimension");
    if (d->batch[0].n != d->batch[1].n || d->contracting[0].n != d->contracting[1].n)
        return wrong(d, "both sides should have as many batching and contracting dimensions");
    return NULL;
}

/* --- pieces of text --- */

static void put_ints(dot *d, const char *key, ints v)
{
    tn_text_put(&d->t, "%s = [", key);
    for (uint32_t i = 0; i < v.n; i++) tn_text_put(&d->t, "%s%" PRId64, i ? ", " : "", v.v[i]);
    tn_text_put(&d->t, "]");
}

/* Dimensions behind one that is taken away. */
static ints without(dot *d, ints list, int64_t gone)
{
    int64_t *v = TN_NEW_ARRAY(d->p->arena, int64_t, list.n);
    for (uint32_t i = 0; i < list.n; i++) v[i] = list.v[i] - (list.v[i] > gone);
    return (ints){v, list.n};
}

static void put_dot(dot *d, const char *result, const char *lhs, const char *rhs, ints rhs_batch,
                    ints rhs_contracting, const tn_type *rhs_type, const tn_type *to)
{
    tn_text_put(&d->t,
                "%s = \"stablehlo.dot_general\"(%s, %s) <{dot_dimension_numbers = "
                "#stablehlo.dot<",
                result, lhs, rhs);
    put_ints(d, "lhs_batching_dimensions", d->batch[0]);
    put_ints(d, ", rhs_batching_dimensions", rhs_batch);
    put_ints(d, ", lhs_contracting_dimensions", d->contracting[0]);
    put_ints(d, ", rhs_contracting_dimensions", rhs_contracting);
    tn_text_put(&d->t, ">}> : ");
    tn_chlo_signature(&d->t, (const tn_type *[]){d->lhs, rhs_type}, 2, to);
}

static const tn_type *like(dot *d, const tn_type *t, tn_element_type e)
{
    return tn_chlo_tensor(d->p, e, t->rank, t->dims);
}

/* "%NAMEm" is true of the elements of `t` that belong to group g by their place in dimension `dim`;
 * `batch` says where the dimensions of %begin and %end are. */
static void put_mask(dot *d, const char *name, const tn_type *t, int64_t dim, ints batch)
{
    const tn_type *place = like(d, t, TN_I64), *mask = like(d, t, TN_I1);
    static const char *const what[2][2] = {{"begin", "GE"}, {"end", "LT"}};
    tn_text_put(&d->t, "%%%si = stablehlo.iota dim = %" PRId64 " : ", name, dim);
    tn_text_type(&d->t, place);
    tn_text_put(&d->t, "\n");
    if (!d->bound->rank) batch.n = 0;
    for (int i = 0; i < 2; i++) {
        tn_text_put(&d->t, "%%%s%c = stablehlo.broadcast_in_dim %%%s, ", name, "be"[i], what[i][0]);
        put_ints(d, "dims", batch);
        tn_text_put(&d->t, " : ");
        tn_chlo_signature(&d->t, &d->bound, 1, place);
        tn_text_put(&d->t, "%%%s%c = stablehlo.compare %s, %%%si, %%%s%c : ", name, "gl"[i],
                    what[i][1], name, name, "be"[i]);
        tn_chlo_signature(&d->t, (const tn_type *[]){place, place}, 2, mask);
    }
    tn_text_put(&d->t, "%%%sm = stablehlo.and %%%sg, %%%sl : ", name, name, name);
    tn_text_type(&d->t, mask);
    tn_text_put(&d->t, "\n");
}

static void put_select(dot *d, const char *line, const tn_type *t)
{
    tn_text_put(&d->t, "%s : ", line);
    tn_text_type(&d->t, like(d, t, TN_I1));
    tn_text_put(&d->t, ", ");
    tn_text_type(&d->t, t);
    tn_text_put(&d->t, "\n");
}

static void put_zeros(dot *d, const char *name, const tn_type *t)
{
    static const uint8_t zero[16];
    tn_text_put(&d->t, "%s = stablehlo.constant dense<", name);
    tn_text_element(&d->t, t->element, zero);
    tn_text_put(&d->t, "> : ");
    tn_text_type(&d->t, t);
    tn_text_put(&d->t, "\n");
}

/* Element or plane `at` of dimension `dim` of %from, without that dimension, as %to. */
static const tn_type *put_plane(dot *d, const char *to, const char *from, const tn_type *t,
                                int64_t dim, int64_t at)
{
    int64_t *kept = TN_NEW_ARRAY(d->p->arena, int64_t, t->rank);
    int64_t *dropped = TN_NEW_ARRAY(d->p->arena, int64_t, t->rank);
    uint32_t n = 0;
    tn_text_put(&d->t, "%%%ss = stablehlo.slice %%%s [", to, from);
    for (uint32_t i = 0; i < t->rank; i++) {
        bool here = i == (uint32_t)dim;
        kept[i] = here ? 1 : t->dims[i];
        if (!here) dropped[n++] = t->dims[i];
        tn_text_put(&d->t, "%s%" PRId64 ":%" PRId64, i ? ", " : "", here ? at : 0,
                    here ? at + 1 : t->dims[i]);
    }
    const tn_type *slice = tn_chlo_tensor(d->p, t->element, t->rank, kept);
    const tn_type *plane = tn_chlo_tensor(d->p, t->element, n, dropped);
    tn_text_put(&d->t, "] : ");
    tn_chlo_signature(&d->t, &t, 1, slice);
    tn_text_put(&d->t, "%%%s = stablehlo.reshape %%%ss : ", to, to);
    tn_chlo_signature(&d->t, &slice, 1, plane);
    return plane;
}

/* --- the kinds --- */

/* Each group in a region of its own would need names; %begin and so on carry its number instead. */
static const char *numbered(dot *d, const char *text, int64_t g)
{
    return tn_printf(d->p->arena, "%s_%" PRId64, text, g);
}

/* Calls a function that holds one group's work, which names its values afresh. */
static const char *begin_group(dot *d, int64_t g)
{
    return tn_printf(d->p->arena, "chlo.ragged_dot.group_%" PRIu32 "_%" PRId64, d->p->written.n, g);
}

static void put_group_call(dot *d, const char *name, int64_t g, const tn_type *result,
                           const tn_type *before)
{
    const tn_type *in[] = {d->lhs, d->rhs, d->bound, d->bound, before};
    tn_text_put(&d->t,
                "%%r%" PRId64 " = func.call @%s(%%a0, %%a1, %%begin%" PRId64 ", %%begin%" PRId64, g,
                name, g, g + 1);
    if (before) tn_text_put(&d->t, ", %%r%" PRId64, g - 1);
    tn_text_put(&d->t, ") : ");
    tn_chlo_signature(&d->t, in, before ? 5 : 4, result);
}

static void put_group_head(dot *d, const char *name, const tn_type *result, const tn_type *before)
{
    static const char *const names[] = {"lhs", "rhs", "begin", "end", "before"};
    const tn_type *in[] = {d->lhs, d->rhs, d->bound, d->bound, before};
    tn_text_put(&d->t, "func.func private @%s(", name);
    for (int i = 0; i < (before ? 5 : 4); i++) {
        tn_text_put(&d->t, "%s%%%s: ", i ? ", " : "", names[i]);
        tn_text_type(&d->t, in[i]);
    }
    tn_text_put(&d->t, ") -> ");
    tn_text_type(&d->t, result);
    tn_text_put(&d->t, " {\n");
}

static void put_group_end(dot *d, const char *value, const tn_type *result)
{
    tn_text_put(&d->t, "return %s : ", value);
    tn_text_type(&d->t, result);
    tn_text_put(&d->t, "\n}\n");
    tn_parse_write(d->p, d->o, tn_text_end(&d->t));
}

/* Rows of the group are its product, the others what they were before. */
static const char *write_free_group(dot *d, int64_t g)
{
    const char *name = begin_group(d, g);
    int64_t dim = d->batch[0].n, group = d->group.v[0];
    for (int64_t i = 0; i < d->ragged.v[0]; i++)
        dim += !have(d->batch[0], i) && !have(d->contracting[0], i);
    int64_t *first = TN_NEW_ARRAY(d->p->arena, int64_t, d->batch[0].n);
    for (uint32_t i = 0; i < d->batch[0].n; i++) first[i] = i;
    put_group_head(d, name, d->out, d->out);
    const tn_type *plane = put_plane(d, "w", "rhs", d->rhs, group, g);
    put_dot(d, "%p", "%lhs", "%w", without(d, d->batch[1], group),
            without(d, d->contracting[1], group), plane, d->out);
    put_mask(d, "x", d->out, dim, (ints){first, d->batch[0].n});
    put_select(d, "%r = stablehlo.select %xm, %p, %before", d->out);
    put_group_end(d, "%r", d->out);
    return name;
}

static const char *write_contracting_group(dot *d, int64_t g)
{
    const char *name = begin_group(d, g);
    uint32_t which = 0;
    while (d->contracting[0].v[which] != d->ragged.v[0]) which++;
    put_group_head(d, name, d->one, NULL);
    put_mask(d, "x", d->lhs, d->ragged.v[0], d->batch[0]);
    put_zeros(d, "%xz", d->lhs);
    put_select(d, "%xs = stablehlo.select %xm, %lhs, %xz", d->lhs);
    put_mask(d, "y", d->rhs, d->contracting[1].v[which], d->batch[1]);
    put_zeros(d, "%yz", d->rhs);
    put_select(d, "%ys = stablehlo.select %ym, %rhs, %yz", d->rhs);
    put_dot(d, "%r", "%xs", "%ys", d->batch[1], d->contracting[1], d->rhs, d->one);
    put_group_end(d, "%r", d->one);
    return name;
}

/* %beginG is the sum of the sizes before group G. */
static void put_bounds(dot *d)
{
    const tn_type *wide = like(d, d->sizes, TN_I64);
    tn_text_put(&d->t, "%%sizes = stablehlo.convert %%a2 : ");
    tn_chlo_signature(&d->t, &d->sizes, 1, wide);
    put_zeros(d, "%begin0", d->bound);
    for (int64_t g = 0; g < d->n_groups; g++) {
        (void)put_plane(d, numbered(d, "size", g), "sizes", wide, wide->rank - 1, g);
        tn_text_put(&d->t, "%%begin%" PRId64 " = stablehlo.add %%begin%" PRId64 ", %%%s : ", g + 1,
                    g, numbered(d, "size", g));
        tn_text_type(&d->t, d->bound);
        tn_text_put(&d->t, "\n");
    }
}

static void put_stack(dot *d)
{
    int64_t *dims = TN_NEW_ARRAY(d->p->arena, int64_t, d->out->rank);
    for (uint32_t i = 0; i < d->out->rank; i++) dims[i] = i ? d->out->dims[i] : 1;
    const tn_type *layer = tn_chlo_tensor(d->p, d->out->element, d->out->rank, dims);
    const tn_type **layers = TN_NEW_ARRAY(d->p->arena, const tn_type *, (size_t)d->n_groups);
    for (int64_t g = 0; g < d->n_groups; g++) {
        layers[g] = layer;
        tn_text_put(&d->t, "%%l%" PRId64 " = stablehlo.reshape %%r%" PRId64 " : ", g, g);
        tn_chlo_signature(&d->t, &d->one, 1, layer);
    }
    tn_text_put(&d->t, "%%r = stablehlo.concatenate ");
    for (int64_t g = 0; g < d->n_groups; g++) tn_text_put(&d->t, "%%l%" PRId64 ", ", g);
    tn_text_put(&d->t, "dim = 0 : ");
    tn_chlo_signature(&d->t, layers, (uint32_t)d->n_groups, d->out);
}

static tn_status *check_groups(dot *d, bool contracting)
{
    d->n_groups = contracting ? d->sizes->dims[d->sizes->rank - 1] : 0;
    if (!contracting) {
        if (d->group.n != 1) return wrong(d, "expected one rhs_group_dimension");
        d->n_groups = d->rhs->dims[d->group.v[0]];
    }
    uint32_t n = d->sizes->rank - 1;
    if (d->sizes->dims[n] != d->n_groups || (n && n != d->batch[0].n))
        return tn_parse_unsupported(d->p, d->o->where,
                                    "chlo.ragged_dot with group_sizes that are "
                                    "neither [groups] nor [batch..., groups]");
    if (d->n_groups > GROUPS_AT_MOST || (contracting && !d->n_groups))
        return tn_parse_unsupported(d->p, d->o->where, "chlo.ragged_dot of %" PRId64 " groups",
                                    d->n_groups);
    d->bound = tn_chlo_tensor(d->p, TN_I64, n, d->sizes->dims);
    if (contracting && !d->out->rank) return wrong(d, "the result lacks the group dimension");
    d->one = contracting ? tn_chlo_tensor(d->p, d->out->element, d->out->rank - 1, d->out->dims + 1)
                         : d->out;
    return NULL;
}

tn_status *tn_chlo_ragged_dot(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c)
{
    dot d = {.p = p, .o = o, .c = c};
    if (o->operands.n != 3 || o->op->n_results != 1)
        return wrong(&d, "expected 3 operands and 1 result");
    d.lhs = tn_chlo_operand(o, 0);
    d.rhs = tn_chlo_operand(o, 1);
    d.sizes = tn_chlo_operand(o, 2);
    d.out = o->op->results[0].type;
    const tn_type *all[] = {d.lhs, d.rhs, d.sizes, d.out};
    for (int i = 0; i < 4; i++) TN_TRY(tn_chlo_check_static(p, o, c, all[i]));
    if (!d.sizes->rank || !tn_is_integer(d.sizes->element))
        return wrong(&d, "group_sizes should be integers in at least one dimension");
    TN_TRY(read_dims(&d));
    const char *name, **groups = NULL;
    bool contracting = have(d.contracting[0], d.ragged.v[0]);
    if (have(d.batch[0], d.ragged.v[0])) {
        tn_chlo_begin(p, o, c, &d.t, &name);
        put_dot(&d, "%r", "%a0", "%a1", d.batch[1], d.contracting[1], d.rhs, d.out);
        return tn_chlo_end(p, o, &d.t, name, "%r");
    }
    TN_TRY(check_groups(&d, contracting));
    groups = TN_NEW_ARRAY(p->arena, const char *, (size_t)d.n_groups);
    for (int64_t g = 0; g < d.n_groups; g++) {
        d.t = (tn_text){.arena = p->arena};
        groups[g] = contracting ? write_contracting_group(&d, g) : write_free_group(&d, g);
    }
    tn_chlo_begin(p, o, c, &d.t, &name);
    put_bounds(&d);
    if (!contracting) put_zeros(&d, "%r-1", d.out);
    for (int64_t g = 0; g < d.n_groups; g++)
        put_group_call(&d, groups[g], g, d.one, contracting ? NULL : d.out);
    if (!contracting)
        return tn_chlo_end(p, o, &d.t, name, tn_printf(p->arena, "%%r%" PRId64, d.n_groups - 1));
    put_stack(&d);
    return tn_chlo_end(p, o, &d.t, name, "%r");
}
