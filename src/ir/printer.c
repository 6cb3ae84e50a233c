/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "ir/ir.h"
#include "ir/print_attr.h"
#include "ir/print_properties.h"
#include "ir/text.h"

/* --- names of values --- */

typedef struct {
    const tn_value *value;
    uint32_t number;
} name;

typedef struct {
    tn_text text;
    name *names; /* a hash; capacity is a power of two */
    size_t capacity;
    uint32_t n_results, n_args; /* numbers given so far */
    bool is_for_mlir;
} printer;

static size_t count_values(const tn_region *r)
{
    size_t n = r->n_args;
    for (const tn_op *op = r->first; op; op = op->next) {
        n += op->n_results;
        for (uint32_t i = 0; i < op->n_regions; i++) n += count_values(&op->regions[i]);
    }
    return n;
}

static name *slot(const printer *p, const tn_value *v)
{
    size_t i = ((uintptr_t)v >> 4) * 0x9E3779B97F4A7C15u;
    i ^= i >> 29;
    for (i &= p->capacity - 1; p->names[i].value && p->names[i].value != v;)
        i = (i + 1) & (p->capacity - 1);
    return &p->names[i];
}

static void define(printer *p, const tn_value *v, uint32_t number)
{
    *slot(p, v) = (name){v, number};
}

static void print_value(printer *p, const tn_value *v)
{
    while (v->forward) v = v->forward;
    const name *n = slot(p, v);
    if (!n->value) tn_text_put(&p->text, "%%<undefined>");
    else if (!v->op) tn_text_put(&p->text, "%%arg%" PRIu32, n->number);
    else if (v->op->n_results == 1) tn_text_put(&p->text, "%%%" PRIu32, n->number);
    else tn_text_put(&p->text, "%%%" PRIu32 "#%" PRIu32, n->number, v->index);
}

/* --- ops and regions --- */

static void print_op(printer *p, const tn_op *op, int indent);

static void print_types(tn_text *t, const tn_value *results, uint32_t n)
{
    bool bare = n == 1 && results[0].type->kind != TN_TYPE_FUNCTION;
    if (!bare) tn_text_put(t, "(");
    for (uint32_t i = 0; i < n; i++) {
        if (i) tn_text_put(t, ", ");
        tn_text_type(t, results[i].type);
    }
    if (!bare) tn_text_put(t, ")");
}

static void print_arg(printer *p, const tn_value *arg)
{
    define(p, arg, p->n_args++);
    print_value(p, arg);
    tn_text_put(&p->text, ": ");
    tn_text_type(&p->text, arg->type);
}

static void print_region(printer *p, const tn_region *r, int indent)
{
    tn_text_put(&p->text, "{\n");
    if (r->n_args || !r->first) {
        tn_text_put(&p->text, "%*s^bb0", indent, "");
        for (uint32_t i = 0; i < r->n_args; i++) {
            tn_text_put(&p->text, "%s", i ? ", " : "(");
            print_arg(p, &r->args[i]);
        }
        tn_text_put(&p->text, "%s\n", r->n_args ? "):" : ":");
    }
    for (const tn_op *op = r->first; op; op = op->next) print_op(p, op, indent + 2);
    tn_text_put(&p->text, "%*s}", indent, "");
}

static void print_results(printer *p, const tn_op *op)
{
    if (!op->n_results) return;
    for (uint32_t i = 0; i < op->n_results; i++) define(p, &op->results[i], p->n_results);
    tn_text_put(&p->text, "%%%" PRIu32, p->n_results++);
    if (op->n_results > 1) tn_text_put(&p->text, ":%" PRIu32, op->n_results);
    tn_text_put(&p->text, " = ");
}

static void print_op(printer *p, const tn_op *op, int indent)
{
    tn_text *t = &p->text;
    /* One op here returns from functions and from regions; in the text they are two. */
    bool returns = op->kind == TN_OP_return && op->region && !op->region->parent;
    tn_text_put(t, "%*s", indent, "");
    print_results(p, op);
    bool is_call = p->is_for_mlir && !strncmp(tn_op_text(op), "tenon.", 6);
    tn_text_put(t, "\"%s\"(",
                returns   ? "func.return"
                : is_call ? "stablehlo.custom_call"
                          : tn_op_text(op));
    for (uint32_t i = 0; i < op->n_operands; i++) {
        if (i) tn_text_put(t, ", ");
        print_value(p, op->operands[i]);
    }
    tn_text_put(t, ")");
    if (is_call) tn_text_put(t, " <{call_target_name = \"%s\"}>", tn_op_text(op));
    else tn_print_properties(t, op);
    for (uint32_t i = 0; i < op->n_regions && !is_call; i++) {
        tn_text_put(t, i ? ", " : " (");
        print_region(p, &op->regions[i], indent);
    }
    if (op->n_regions && !is_call) tn_text_put(t, ")");
    if (op->n_extra && !(op->n_extra == 1 && tn_print_typed_config(op))) {
        tn_text_put(t, " ");
        tn_print_dict(t, op->extra, op->n_extra);
    }
    tn_text_put(t, " : (");
    for (uint32_t i = 0; i < op->n_operands; i++) {
        if (i) tn_text_put(t, ", ");
        tn_text_type(t, op->operands[i]->type);
    }
    tn_text_put(t, ") -> ");
    print_types(t, op->results, op->n_results);
    tn_text_put(t, "\n");
}

/* --- functions and the module --- */

static void print_value_attrs(tn_text *t, const tn_attr *const *attrs, uint32_t i)
{
    const tn_attr *dict = attrs ? attrs[i] : NULL;
    if (!dict || dict->kind != TN_ATTR_KIND_DICT || !dict->dict.n) return;
    tn_text_put(t, " ");
    tn_print_dict(t, dict->dict.pairs, dict->dict.n);
}

static void print_function(printer *p, const tn_function *f)
{
    tn_text *t = &p->text;
    uint32_t n_results = f->type->n_parts - f->type->n_inputs;
    tn_text_put(t, "  func.func %s @", f->is_public ? "public" : "private");
    tn_text_word(t, f->name);
    tn_text_put(t, "(");
    for (uint32_t i = 0; i < f->body.n_args; i++) {
        if (i) tn_text_put(t, ", ");
        print_arg(p, &f->body.args[i]);
        print_value_attrs(t, f->arg_attrs, i);
    }
    tn_text_put(t, ")");
    for (uint32_t i = 0; i < n_results; i++) {
        tn_text_put(t, i ? ", " : " -> (");
        tn_text_type(t, f->type->parts[f->type->n_inputs + i]);
        print_value_attrs(t, f->result_attrs, i);
    }
    if (n_results) tn_text_put(t, ")");
    if (f->n_attrs) {
        tn_text_put(t, " attributes ");
        tn_print_dict(t, f->attrs, f->n_attrs);
    }
    tn_text_put(t, " {\n");
    for (const tn_op *op = f->body.first; op; op = op->next) print_op(p, op, 4);
    tn_text_put(t, "  }\n");
}

static char *print_module(const tn_module *m, tn_arena *a, bool is_for_mlir, size_t *size)
{
    printer p = {.text = {.arena = a}, .capacity = 16, .is_for_mlir = is_for_mlir};
    size_t n_values = 0;
    for (const tn_function *f = m->functions; f; f = f->next) n_values += count_values(&f->body);
    while (p.capacity < n_values * 2) p.capacity *= 2;
    p.names = TN_NEW_ARRAY(a, name, p.capacity);
    tn_text_put(&p.text, "module ");
    if (m->name && *m->name) {
        tn_text_put(&p.text, "@");
        tn_text_word(&p.text, m->name);
        tn_text_put(&p.text, " ");
    }
    if (m->n_attrs) {
        tn_text_put(&p.text, "attributes ");
        tn_print_dict(&p.text, m->attrs, m->n_attrs);
        tn_text_put(&p.text, " ");
    }
    tn_text_put(&p.text, "{\n");
    for (uint32_t i = 0; i < m->n_symbols; i++) print_op(&p, m->symbols[i], 2);
    for (const tn_function *f = m->functions; f; f = f->next) print_function(&p, f);
    tn_text_put(&p.text, "}\n");
    char *text = tn_text_end(&p.text);
    *size = p.text.size;
    return text;
}

char *tn_module_print(const tn_module *m, tn_arena *a, size_t *size)
{
    return print_module(m, a, false, size);
}

char *tn_module_print_for_mlir(const tn_module *m, tn_arena *a, size_t *size)
{
    return print_module(m, a, true, size);
}
