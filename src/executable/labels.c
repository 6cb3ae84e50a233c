/* SPDX-License-Identifier: Apache-2.0 */
/* labels.c - what profiles call the steps of an executable. */
#include <stdlib.h>

#include "executable/program.h"

/* "add, multiply": the ops whose values a tile program leaves behind. */
static void name_tile(const tn_tile_program *t, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, t->n_ops > 1 ? "fused" : "tile");
    for (uint32_t i = 0; i < t->n_outputs && n < size; i++) {
        const tn_op *op = t->outputs[i].value->op;
        if (op) n += (size_t)snprintf(out + n, size - n, "%s %s", i ? "," : "", tn_op_text(op));
    }
}

static const tn_op *op_of(const tn_step *s)
{
    if (s->kind == TN_STEP_ROWS && !s->op && s->rows->n_outputs)
        return s->rows->values[s->rows->outputs[0]].value->op;
    if (s->kind != TN_STEP_TILE) return s->op;
    return s->tile->n_outputs ? s->tile->outputs[0].value->op : NULL;
}

/* "f32[2,3]": the last of what the step writes, which is the whole of it in most steps. */
static void name_shape(const tn_step *s, char *out, size_t size)
{
    uint32_t n = s->kind == TN_STEP_FILL   ? 1
                 : s->kind == TN_STEP_COPY ? 2
                 : s->n_results            ? s->n_operands + s->n_results
                                           : 0;
    const tn_type *t = n ? s->refs[n - 1].type : NULL;
    *out = 0;
    if (!t || t->kind != TN_TYPE_TENSOR) return;
    size_t at = (size_t)snprintf(out, size, "%s[", tn_element_type_text(t->element));
    for (uint32_t i = 0; i < t->rank && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%lld", i ? "," : "", (long long)t->dims[i]);
    if (at < size) snprintf(out + at, size - at, "]");
}

static const tn_trace_label *make_label(const tn_executable *e, const tn_step *s)
{
    char name[160], shape[96];
    const tn_op *op = op_of(s);
    switch ((tn_step_kind)s->kind) {
    case TN_STEP_TILE: name_tile(s->tile, name, sizeof name); break;
    case TN_STEP_ROWS:
        snprintf(name, sizeof name, "rows around %s", op ? tn_op_text(op) : "");
        break;
    case TN_STEP_NATIVE:
    case TN_STEP_SCALAR:
    case TN_STEP_WINDOW:
    case TN_STEP_LOOK:
    case TN_STEP_EVAL: snprintf(name, sizeof name, "%s", tn_op_text(op)); break;
    case TN_STEP_FILL: snprintf(name, sizeof name, "fill"); break;
    case TN_STEP_COPY:
        snprintf(name, sizeof name, op ? "copy for %s" : "copy", op ? tn_op_text(op) : "");
        break;
    case TN_STEP_JUMP:
    case TN_STEP_UNLESS:
    case TN_STEP_SWITCH:
    case TN_STEP_END: return NULL;
    }
    name_shape(s, shape, sizeof shape);
    const tn_trace_label label = {.kind = TN_TRACE_OP,
                                  .name = name,
                                  .source = op ? tn_op_location(op) : NULL,
                                  .program = e->info.name,
                                  .shape = shape};
    return tn_trace_label_like(&label);
}

const tn_trace_label *const *tn_step_labels(tn_executable *e)
{
    const tn_trace_label **labels = atomic_load_explicit(&e->labels, memory_order_acquire);
    if (labels) return labels;
    labels = calloc(e->n_steps, sizeof *labels);
    if (!labels) return NULL;
    for (uint32_t i = 0; i < e->n_steps; i++) labels[i] = make_label(e, &e->steps[i]);
    const tn_trace_label **before = NULL;
    if (atomic_compare_exchange_strong(&e->labels, &before, labels)) return labels;
    free(labels);
    return before;
}
