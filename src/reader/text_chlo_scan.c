/* SPDX-License-Identifier: Apache-2.0 */
/* chlo.scan as a loop over slices: the body becomes a function of its own.
 *
 *   while i < n:  j = reverse ? n - 1 - i : i
 *                 outputs[j], carries = body(inputs[j], carries) */
#include <inttypes.h>
#include <string.h>

#include "reader/text_chlo.h"

typedef struct {
    tn_parser *p;
    tn_parse_op *o;
    const tn_chlo_op *c;
    uint32_t n_inputs, n_carries, n_outputs;
    int64_t dimension, n;
    const char *body; /* the function */
} scan;

static const tn_type *result(const scan *s, uint32_t i)
{
    return s->o->op->results[i].type;
}

/* A slice along the dimension: kept with size 1, or dropped. */
static const tn_type *slice_type(const scan *s, const tn_type *t, bool keep)
{
    int64_t *dims = TN_NEW_ARRAY(s->p->arena, int64_t, t->rank);
    uint32_t n = 0;
    for (uint32_t d = 0; d < t->rank; d++)
        if (keep || d != (uint32_t)s->dimension)
            dims[n++] = d == (uint32_t)s->dimension ? 1 : t->dims[d];
    return tn_chlo_tensor(s->p, t->element, n, dims);
}

static tn_status *check_sliced(const scan *s, const tn_type *t, const char *what, uint32_t i)
{
    TN_TRY(tn_chlo_check_static(s->p, s->o, s->c, t));
    if (s->dimension < t->rank && t->dims[s->dimension] == s->n) return NULL;
    return tn_parse_error(s->p, s->o->where,
                          "chlo.scan: %s %" PRIu32 " should have dimension %" PRId64
                          " of size %" PRId64,
                          what, i, s->dimension, s->n);
}

static tn_status *find_size(scan *s)
{
    s->n = tn_chlo_int(s->c, "scan_dim_size", -1);
    if (s->n_inputs) {
        const tn_type *t = tn_chlo_operand(s->o, 0);
        TN_TRY(tn_chlo_check_static(s->p, s->o, s->c, t));
        s->n = s->dimension >= 0 && s->dimension < t->rank ? t->dims[s->dimension] : -1;
    }
    if (s->n < 0)
        return tn_parse_error(s->p, s->o->where,
                              "chlo.scan lacks dimension %" PRId64 " of inputs "
                              "or scan_dim_size",
                              s->dimension);
    for (uint32_t i = 0; i < s->n_inputs; i++)
        TN_TRY(check_sliced(s, tn_chlo_operand(s->o, i), "input", i));
    for (uint32_t i = 0; i < s->n_outputs; i++) TN_TRY(check_sliced(s, result(s, i), "output", i));
    for (uint32_t i = 0; i < s->n_carries; i++)
        TN_TRY(tn_chlo_check_static(s->p, s->o, s->c, result(s, s->n_outputs + i)));
    return NULL;
}

/* Makes the region a function. */
static void add_body(scan *s)
{
    tn_region *r = s->c->region;
    tn_type *type = TN_NEW(s->p->arena, tn_type);
    uint32_t n_results = r->last->n_operands, n = r->n_args + n_results;
    const tn_type **parts = TN_NEW_ARRAY(s->p->arena, const tn_type *, n);
    for (uint32_t i = 0; i < r->n_args; i++) parts[i] = r->args[i].type;
    for (uint32_t i = 0; i < n_results; i++) parts[r->n_args + i] = r->last->operands[i]->type;
    *type =
        (tn_type){.kind = TN_TYPE_FUNCTION, .n_parts = n, .n_inputs = r->n_args, .parts = parts};
    s->body = tn_printf(s->p->arena, "chlo.scan.body_%" PRIu32, s->p->written.n);
    tn_function *f = tn_module_add_function(s->p->module, s->body, type);
    f->is_public = false;
    f->location = tn_parse_location(s->p, s->o->where);
    f->body = *r;
    f->body.function = f;
    f->body.parent = NULL;
    for (uint32_t i = 0; i < r->n_args; i++) f->body.args[i].region = &f->body;
    for (tn_op *op = f->body.first; op; op = op->next) {
        op->region = &f->body;
        for (uint32_t i = 0; i < op->n_results; i++) op->results[i].region = &f->body;
        for (uint32_t i = 0; i < op->n_regions; i++) op->regions[i].function = f;
    }
}

static void put_zeros(tn_text *t, const tn_type *type)
{
    static const uint8_t zero[16];
    tn_text_put(t, "stablehlo.constant dense<");
    tn_text_element(t, type->element, zero);
    tn_text_put(t, "> : ");
    tn_text_type(t, type);
    tn_text_put(t, "\n");
}

/* "%zero, %j, %zero" */
static void put_place(const scan *s, tn_text *t, uint32_t rank)
{
    for (uint32_t d = 0; d < rank; d++)
        tn_text_put(t, ", %s", d == (uint32_t)s->dimension ? "%j" : "%zero");
}

static void put_place_types(tn_text *t, uint32_t rank)
{
    for (uint32_t d = 0; d < rank; d++) tn_text_put(t, ", tensor<i64>");
}

/* "%eI" is the slice of input I. */
static void put_slice(const scan *s, tn_text *t, uint32_t i)
{
    const tn_type *from = tn_chlo_operand(s->o, i), *kept = slice_type(s, from, true);
    tn_text_put(t, "%%s%" PRIu32 " = stablehlo.dynamic_slice %%a%" PRIu32, i, i);
    put_place(s, t, from->rank);
    tn_text_put(t, ", sizes = [");
    for (uint32_t d = 0; d < kept->rank; d++)
        tn_text_put(t, "%s%" PRId64, d ? ", " : "", kept->dims[d]);
    tn_text_put(t, "] : (");
    tn_text_type(t, from);
    put_place_types(t, from->rank);
    tn_text_put(t, ") -> ");
    tn_text_type(t, kept);
    tn_text_put(t, "\n%%e%" PRIu32 " = stablehlo.reshape %%s%" PRIu32 " : ", i, i);
    tn_chlo_signature(t, &kept, 1, slice_type(s, from, false));
}

/* "%vI" is output I with its slice. */
static void put_update(const scan *s, tn_text *t, uint32_t i)
{
    const tn_type *to = result(s, i), *kept = slice_type(s, to, true),
                  *dropped = slice_type(s, to, false);
    tn_text_put(t, "%%w%" PRIu32 " = stablehlo.reshape %%y#%" PRIu32 " : ", i, i);
    tn_chlo_signature(t, &dropped, 1, kept);
    tn_text_put(t, "%%v%" PRIu32 " = stablehlo.dynamic_update_slice %%u%" PRIu32 ", %%w%" PRIu32, i,
                i, i);
    put_place(s, t, to->rank);
    tn_text_put(t, " : (");
    tn_text_type(t, to);
    tn_text_put(t, ", ");
    tn_text_type(t, kept);
    put_place_types(t, to->rank);
    tn_text_put(t, ") -> ");
    tn_text_type(t, to);
    tn_text_put(t, "\n");
}

static void put_call(const scan *s, tn_text *t)
{
    uint32_t n = s->n_inputs + s->n_carries;
    tn_text_put(t, "%%y:%" PRIu32 " = func.call @%s(", s->o->op->n_results, s->body);
    for (uint32_t i = 0; i < n; i++)
        tn_text_put(t, "%s%%%c%" PRIu32, i ? ", " : "", i < s->n_inputs ? 'e' : 'd',
                    i < s->n_inputs ? i : i - s->n_inputs);
    tn_text_put(t, ") : (");
    for (uint32_t i = 0; i < n; i++) {
        const tn_type *x = tn_chlo_operand(s->o, i);
        if (i) tn_text_put(t, ", ");
        tn_text_type(t, i < s->n_inputs ? slice_type(s, x, false) : x);
    }
    tn_text_put(t, ") -> (");
    for (uint32_t i = 0; i < s->o->op->n_results; i++) {
        if (i) tn_text_put(t, ", ");
        tn_text_type(t, i < s->n_outputs ? slice_type(s, result(s, i), false) : result(s, i));
    }
    tn_text_put(t, ")\n");
}

/* Types of what the loop carries behind its counter: carries, then outputs. */
static void put_loop_types(const scan *s, tn_text *t)
{
    tn_text_put(t, "tensor<i64>");
    for (uint32_t i = 0; i < s->n_carries + s->n_outputs; i++) {
        tn_text_put(t, ", ");
        tn_text_type(t, i < s->n_carries ? tn_chlo_operand(s->o, s->n_inputs + i)
                                         : result(s, i - s->n_carries));
    }
}

static void put_loop(const scan *s, tn_text *t)
{
    uint32_t n = 1 + s->n_carries + s->n_outputs;
    tn_text_put(t, "%%r:%" PRIu32 " = stablehlo.while(%%i = %%zero", n);
    for (uint32_t i = 0; i < s->n_carries; i++)
        tn_text_put(t, ", %%d%" PRIu32 " = %%a%" PRIu32, i, s->n_inputs + i);
    for (uint32_t i = 0; i < s->n_outputs; i++)
        tn_text_put(t, ", %%u%" PRIu32 " = %%o%" PRIu32, i, i);
    tn_text_put(t, ") : ");
    put_loop_types(s, t);
    tn_text_put(t, " cond {\n%%p = stablehlo.compare LT, %%i, %%n : (tensor<i64>, tensor<i64>) -> "
                   "tensor<i1>\nstablehlo.return %%p : tensor<i1>\n} do {\n");
    bool reverse = tn_chlo_int(s->c, "is_reverse", 0) != 0;
    tn_text_put(t, "%%j = stablehlo.%s : tensor<i64>\n",
                reverse ? "subtract %last, %i" : "add %zero, %i");
    for (uint32_t i = 0; i < s->n_inputs; i++) put_slice(s, t, i);
    put_call(s, t);
    for (uint32_t i = 0; i < s->n_outputs; i++) put_update(s, t, i);
    tn_text_put(t, "%%k = stablehlo.add %%i, %%one : tensor<i64>\nstablehlo.return %%k");
    for (uint32_t i = 0; i < s->n_carries; i++) tn_text_put(t, ", %%y#%" PRIu32, s->n_outputs + i);
    for (uint32_t i = 0; i < s->n_outputs; i++) tn_text_put(t, ", %%v%" PRIu32, i);
    tn_text_put(t, " : ");
    put_loop_types(s, t);
    tn_text_put(t, "\n}\n");
}

tn_status *tn_chlo_scan(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c)
{
    scan s = {.p = p,
              .o = o,
              .c = c,
              .n_inputs = c->n_inputs,
              .n_carries = o->operands.n - c->n_inputs,
              .dimension = tn_chlo_int(c, "dimension", 0)};
    if (!c->region || o->op->n_results < s.n_carries || c->region->n_args != o->operands.n ||
        c->region->last->n_operands != o->op->n_results)
        return tn_parse_error(p, o->where,
                              "chlo.scan: the body should take slices of the inputs and carries, "
                              "and give slices of the outputs and carries");
    s.n_outputs = o->op->n_results - s.n_carries;
    TN_TRY(find_size(&s));
    const char *name;
    tn_text t;
    add_body(&s);
    tn_chlo_begin(p, o, c, &t, &name);
    tn_text_put(&t,
                "%%zero = stablehlo.constant dense<0> : tensor<i64>\n"
                "%%one = stablehlo.constant dense<1> : tensor<i64>\n"
                "%%n = stablehlo.constant dense<%" PRId64 "> : tensor<i64>\n"
                "%%last = stablehlo.constant dense<%" PRId64 "> : tensor<i64>\n",
                s.n, s.n - 1);
    for (uint32_t i = 0; i < s.n_outputs; i++) {
        tn_text_put(&t, "%%o%" PRIu32 " = ", i);
        put_zeros(&t, result(&s, i));
    }
    put_loop(&s, &t);
    tn_text returned = {.arena = p->arena};
    for (uint32_t i = 0; i < o->op->n_results; i++)
        tn_text_put(&returned, "%s%%r#%" PRIu32, i ? ", " : "",
                    1 + (i < s.n_outputs ? s.n_carries + i : i - s.n_outputs));
    return tn_chlo_end(p, o, &t, name, tn_text_end(&returned));
}
