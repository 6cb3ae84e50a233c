/* SPDX-License-Identifier: Apache-2.0 */
#include "test/values/xla.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/interpret.h"
#include "tenon/host.h"
#include "test/values/xla_close.h"

enum { MOST_OPS = 48, MOST_OPERANDS = 12 };

values_xla_counts values_xla_ops[TN_OP_COUNT];
static tn_plugin *plugin;
static tn_host_client *client;

tn_status *values_xla_open(const char *path)
{
    if (client) return NULL;
    TN_TRY(tn_plugin_open(path, &plugin));
    return tn_host_client_create(plugin, NULL, 0, &client);
}

/* --- what the interpreter ran --- */

typedef struct {
    const tn_op *op;
    uint32_t n_operands, n_results;
    tn_array operands[MOST_OPERANDS], results[MOST_OPERANDS]; /* data owned */
} record;

typedef struct {
    tn_eval_observer as_observer; /* first */
    record *records;
    uint32_t n;
} recorder;

static bool is_inside(const tn_value *v, const tn_op *op)
{
    const tn_region *r = v->op ? v->op->region : v->region;
    while (r) {
        if (r->parent == op) return true;
        r = r->parent ? r->parent->region : NULL;
    }
    return false;
}

/* Does a region use values or functions from outside? */
static bool captures(const tn_region *r, const tn_op *op)
{
    for (const tn_op *inner = r->first; inner; inner = inner->next) {
        if (inner->kind == TN_OP_call || inner->kind == TN_OP_composite) return true;
        for (uint32_t i = 0; i < inner->n_operands; i++)
            if (!is_inside(inner->operands[i], op)) return true;
        for (uint32_t i = 0; i < inner->n_regions; i++)
            if (captures(&inner->regions[i], op)) return true;
    }
    return false;
}

static bool is_plain(const tn_op *op, const tn_tensor *operands, const tn_tensor *results)
{
    switch ((int)op->kind) {
    case TN_OP_constant:
    case TN_OP_call:
    case TN_OP_composite:
    case TN_OP_while:
    case TN_OP_if:
    case TN_OP_case:
    case TN_OP_return: return false;
    default: break;
    }
    if (op->n_operands > MOST_OPERANDS || op->n_results > MOST_OPERANDS || !op->n_results)
        return false;
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (operands[i].type->kind != TN_TYPE_TENSOR || operands[i].type->quantization)
            return false;
    for (uint32_t i = 0; i < op->n_results; i++)
        if (results[i].type->kind != TN_TYPE_TENSOR || results[i].type->quantization) return false;
    for (uint32_t i = 0; i < op->n_regions; i++)
        if (captures(&op->regions[i], op)) return false;
    return true;
}

static tn_array array_of(const tn_tensor *t)
{
    tn_array a;
    tn_status *s =
        tn_array_make((PJRT_Buffer_Type)t->type->element, t->type->rank, t->type->dims, &a);
    if (s) abort();
    if (a.size) memcpy(a.data, t->data, a.size);
    return a;
}

/* The op again with neutral initial values, which the caller frees; false: it has none. */
static bool with_neutral(const tn_op *op, const tn_tensor *operands, const tn_tensor *results,
                         tn_tensor *in, tn_tensor *out)
{
    char neutral[MOST_OPERANDS][16];
    bool any = false, unknown = false;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        in[i] = operands[i];
        values_xla_initial initial = values_xla_neutral(op, i, neutral[i]);
        unknown |= initial == VALUES_NOT_NEUTRAL;
        if (initial != VALUES_NEUTRAL) continue;
        in[i].data = neutral[i];
        any = true;
    }
    for (uint32_t i = 0; i < op->n_operands; i++) {
        void *copy = calloc(1, tn_type_bytes(in[i].type) + 64);
        if (!copy) abort();
        memcpy(copy, in[i].data, tn_type_bytes(in[i].type));
        in[i].data = copy;
    }
    for (uint32_t i = 0; i < op->n_results; i++) {
        out[i] = (tn_tensor){calloc(1, tn_type_bytes(results[i].type) + 64), results[i].type};
        if (!out[i].data) abort();
        memcpy(out[i].data, results[i].data, tn_type_bytes(results[i].type));
    }
    if (!any || unknown) return !unknown;
    tn_eval_context context = {0};
    tn_status *s = tn_interpret_op(op, &context, NULL, in, out);
    bool done = !s;
    tn_status_free(s);
    return done;
}

static void op_done(const tn_eval_observer *self, const tn_op *op, const tn_tensor *operands,
                    const tn_tensor *results)
{
    recorder *r = (recorder *)(uintptr_t)self;
    if (r->n == MOST_OPS || !is_plain(op, operands, results)) return;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->records[i].op == op) return; /* of a loop: the first turn */
    const char *why;
    if (values_xla_excluded(op, operands, results, &why)) {
        values_xla_ops[op->kind].excluded++;
        return;
    }
    tn_tensor in[MOST_OPERANDS], out[MOST_OPERANDS];
    bool done = with_neutral(op, operands, results, in, out);
    if (!done || values_xla_wild(op, in, out)) {
        values_xla_ops[op->kind].wild++;
    } else {
        record *x = &r->records[r->n++];
        *x = (record){.op = op, .n_operands = op->n_operands, .n_results = op->n_results};
        for (uint32_t i = 0; i < op->n_operands; i++) x->operands[i] = array_of(&in[i]);
        for (uint32_t i = 0; i < op->n_results; i++) x->results[i] = array_of(&out[i]);
    }
    for (uint32_t i = 0; i < op->n_operands; i++) free((void *)(uintptr_t)in[i].data);
    for (uint32_t i = 0; i < op->n_results; i++) free(out[i].data);
}

static void forget(recorder *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        record *x = &r->records[i];
        for (uint32_t k = 0; k < x->n_operands; k++) tn_array_free(&x->operands[k]);
        for (uint32_t k = 0; k < x->n_results; k++) tn_array_free(&x->results[k]);
    }
    free(r->records);
}

/* --- one program of them --- */

typedef struct {
    const record *records;
    uint32_t n;
    tn_arena *arena;
    char *text;
    size_t size;
} making;

static tn_status *make(void *ctx)
{
    making *j = ctx;
    tn_module *m = tn_module_new(j->arena);
    uint32_t n_args = 0, n_results = 0, arg = 0, result = 0;
    for (uint32_t i = 0; i < j->n; i++) {
        n_args += j->records[i].n_operands;
        n_results += j->records[i].n_results;
    }
    const tn_type **parts = TN_NEW_ARRAY(j->arena, const tn_type *, n_args + n_results);
    tn_value **out = TN_NEW_ARRAY(j->arena, tn_value *, n_results);
    tn_type *t = TN_NEW(j->arena, tn_type);
    *t = (tn_type){.kind = TN_TYPE_FUNCTION,
                   .n_parts = n_args + n_results,
                   .n_inputs = n_args,
                   .parts = parts};
    tn_function *f = tn_module_add_function(m, "main", t);
    f->is_public = true;
    f->arg_attrs = TN_NEW_ARRAY(j->arena, const tn_attr *, n_args);
    f->result_attrs = TN_NEW_ARRAY(j->arena, const tn_attr *, n_results);
    tn_region_init(m, &f->body, f, NULL, n_args);
    for (uint32_t i = 0; i < j->n; i++) {
        const tn_op *op = j->records[i].op;
        tn_value_map *map = tn_value_map_new(j->arena, 64);
        uint32_t first = arg;
        for (uint32_t k = 0; k < op->n_operands; k++, arg++) {
            f->body.args[arg].type = parts[arg] = op->operands[k]->type;
            tn_value_map_set(map, op->operands[k], &f->body.args[arg]);
        }
        tn_op *copy = tn_op_clone(m, op, map);
        for (uint32_t k = 0; k < op->n_operands; k++) copy->operands[k] = &f->body.args[first + k];
        copy->n_extra = 0;
        tn_op_append(&f->body, copy);
        for (uint32_t k = 0; k < op->n_results; k++, result++) {
            out[result] = &copy->results[k];
            parts[n_args + result] = op->results[k].type;
        }
    }
    tn_op *end = tn_op_new(m, TN_OP_return, n_results, 0, 0);
    for (uint32_t i = 0; i < n_results; i++) end->operands[i] = out[i];
    tn_op_append(&f->body, end);
    tn_region_put_in(&f->body, f);
    m->main = f;
    const char *text = tn_module_print(m, j->arena, &j->size);
    j->text = malloc(j->size + 1);
    if (j->text) memcpy(j->text, text, j->size + 1);
    return NULL;
}

static char *text_of(const record *records, uint32_t n, size_t *size)
{
    making j = {.records = records, .n = n, .arena = tn_arena_new()};
    tn_status *s = tn_arena_run(j.arena, make, &j);
    if (s) {
        fprintf(stderr, "%s\n", tn_status_message(s));
        abort();
    }
    tn_arena_free(j.arena);
    *size = j.size;
    return j.text;
}

/* --- running and comparing --- */

static bool compare(const record *x, const tn_array *got, FILE *report)
{
    for (uint32_t k = 0; k < x->n_results; k++) {
        const tn_type *t = x->op->results[k].type;
        int64_t at = got[k].size == x->results[k].size
                         ? values_xla_compare(x->op, k, x->operands, &x->results[k], &got[k])
                         : 0;
        if (at < 0) continue;
        values_xla_ops[x->op->kind].differ++;
        if (!report) return false;
        unsigned bytes = tn_element_type_bytes(t->element);
        char type[128];
        fprintf(report, "DIFFER %s: result %" PRIu32 ", %s, element %" PRId64 ": ours",
                tn_op_text(x->op), k, tn_type_format(t, type, sizeof type), at);
        for (int side = 0; side < 2; side++) {
            const unsigned char *b = side ? got[k].data : x->results[k].data;
            fprintf(report, side ? ", XLA's 0x" : " 0x");
            for (unsigned i = bytes; i-- > 0;) fprintf(report, "%02x", b[(size_t)at * bytes + i]);
        }
        for (uint32_t i = 0; i < x->n_operands; i++) {
            /* Of elementwise ops the operands too. */
            if (x->operands[i].size < (size_t)(at + 1) * bytes ||
                !(tn_op_has_trait(x->op, TN_TRAIT_ELEMENTWISE)))
                continue;
            unsigned own = (unsigned)tn_element_size(x->operands[i].type);
            fprintf(report, "; operand 0x");
            for (unsigned c = own; c-- > 0;)
                fprintf(report, "%02x",
                        ((const unsigned char *)x->operands[i].data)[(size_t)at * own + c]);
        }
        fprintf(report, "\n");
        return false;
    }
    values_xla_ops[x->op->kind].compared++;
    return true;
}

/* A copy of the text with "func.func public @main" etc. as the other parser wants it. */
static tn_status *run_program(const record *records, uint32_t n, FILE *report, bool *differ)
{
    size_t size;
    uint32_t n_in = 0, n_out = 0, at = 0;
    char *text = text_of(records, n, &size);
    tn_host_executable *e = NULL;
    tn_status *s = tn_host_executable_compile(client, text, size, "mlir", 1, 1, &e);
    free(text);
    if (s) return s;
    for (uint32_t i = 0; i < n; i++) n_in += records[i].n_operands, n_out += records[i].n_results;
    tn_array *in = calloc(n_in + 1, sizeof *in), *out = calloc(n_out + 1, sizeof *out);
    if (!in || !out) abort();
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < records[i].n_operands; k++) in[at++] = records[i].operands[k];
    s = tn_host_executable_run(e, in, n_in, out, NULL);
    at = 0;
    for (uint32_t i = 0; i < n && !s; i++) {
        bool same = compare(&records[i], &out[at], report);
        at += records[i].n_results;
        if (same) continue;
        *differ = true;
        if (!report) continue;
        char *alone = text_of(&records[i], 1, &size);
        fprintf(report, "%s\n", alone);
        free(alone);
    }
    for (uint32_t i = 0; i < n_out; i++) tn_array_free(&out[i]);
    free(in);
    free(out);
    tn_host_executable_free(e);
    return s;
}

values_verdict values_xla_check(const values_source *s, FILE *report)
{
    recorder r = {{op_done}, calloc(MOST_OPS, sizeof(record)), 0};
    tn_arena *a = tn_arena_new();
    if (!r.records || !a) abort();
    bool differ = false;
    tn_status *status = values_interpret(s, a, &r.as_observer);
    values_verdict v = VALUES_SAME;
    if (!status && r.n) {
        status = run_program(r.records, r.n, report, &differ);
        if (status) { /* one by one, to know which */
            tn_status_free(status);
            status = NULL;
            for (uint32_t i = 0; i < r.n; i++) {
                tn_status *one = run_program(&r.records[i], 1, report, &differ);
                if (!one) continue;
                values_xla_ops[r.records[i].op->kind].refused++;
                if (report)
                    fprintf(report, "REFUSED %s: %.300s\n", tn_op_text(r.records[i].op),
                            tn_status_message(one));
                tn_status_free(one);
            }
        }
    }
    if (status) {
        v = tn_status_code(status) == TN_UNIMPLEMENTED ? VALUES_REFUSED : VALUES_FAILED;
        if (report) fprintf(report, "interpreted: %s\n", tn_status_message(status));
        tn_status_free(status);
    } else if (differ) {
        v = VALUES_DIFFER;
    }
    forget(&r);
    tn_arena_free(a);
    return v;
}
