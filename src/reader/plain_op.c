/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of StableHLO, func and CHLO in bytecode up to version 4. Their attributes stand in a
 * dictionary, as in text, so the reader of text gives them their meaning. */
#include <inttypes.h>
#include <string.h>

#include "reader/op_reader.h"
#include "reader/text_chlo.h"

static tn_parse_op begin(tn_reader *r, const tn_cursor *c, const tn_reader_head *h)
{
    r->text.place = h->location;
    return (tn_parse_op){.where = (const char *)c->at};
}

static tn_status *end(tn_reader *r, tn_parse_op *o)
{
    tn_parse_take_extra(&r->text, o);
    return tn_parse_settle(&r->text, o);
}

tn_status *tn_reader_take_plain_attrs(tn_reader *r, tn_cursor *c, const tn_reader_head *h,
                                      tn_op *op)
{
    size_t at = ((uintptr_t)h->attrs / 64 ^ op->kind) % (sizeof r->alike / sizeof *r->alike);
    const tn_op *like = r->alike[at].op;
    if (like && like->kind == op->kind && r->alike[at].dict == h->attrs) {
        if (op->n_attrs) memcpy(op->attrs, like->attrs, op->n_attrs * sizeof *op->attrs);
        op->extra = like->extra;
        op->n_extra = like->n_extra;
        return NULL;
    }
    tn_parse_op o = begin(r, c, h);
    o.kind = op->kind;
    o.op = op;
    if (h->attrs) TN_TRY(tn_parse_set_all(&r->text, &o, o.where, h->attrs, false));
    TN_TRY(end(r, &o));
    /* Groups that a mesh gives are to be filled in, op by op. */
    if (!tn_op_has_trait(op, TN_TRAIT_COLLECTIVE)) {
        r->alike[at].dict = h->attrs;
        r->alike[at].op = op;
    }
    return NULL;
}

/* Numbers as text has them. */
static tn_status *plain_dict(tn_reader *r, const char *where, const tn_attr *dict,
                             const tn_attr **out)
{
    *out = dict;
    if (!dict) return NULL;
    tn_attr *copy = tn_parse_node(&r->text, TN_ATTR_KIND_DICT);
    tn_named_attr *pairs =
        tn_dup(r->b->arena, dict->dict.pairs, dict->dict.n * sizeof *dict->dict.pairs);
    for (uint32_t i = 0; i < dict->dict.n; i++)
        TN_TRY(tn_parse_plain(&r->text, where, pairs[i].value, &pairs[i].value));
    copy->dict.pairs = pairs;
    copy->dict.n = dict->dict.n;
    *out = copy;
    return NULL;
}

tn_status *tn_reader_read_chlo(tn_reader *r, tn_cursor *c, const tn_reader_head *h,
                               const tn_region *around, tn_op **out)
{
    tn_chlo_op x;
    tn_parse_op o = begin(r, c, h);
    const char *name = h->name->name;
    if (!tn_chlo_open(&r->text, &o, name, strlen(name), &x))
        return tn_cursor_unsupported(c, "op chlo.%s is not supported", name);
    if (h->n_regions > 1 || h->n_operands > UINT32_MAX || h->n_results > UINT32_MAX)
        return tn_cursor_error(c, "chlo.%s with %zu regions, %zu operands and %zu results", name,
                               h->n_regions, h->n_operands, h->n_results);
    TN_TRY(plain_dict(r, o.where, h->attrs, &x.dict[0]));
    tn_op *op = o.op = tn_op_new(r->m, o.kind, (uint32_t)h->n_operands, (uint32_t)h->n_results, 0);
    op->location = h->location;
    for (size_t i = 0; i < h->n_operands; i++) {
        op->operands[i] = r->operands[i];
        tn_parse_push(&r->text, &o.operands, r->operands[i]);
    }
    for (size_t i = 0; i < h->n_results; i++) op->results[i].type = r->types[i];
    tn_chlo_count_inputs(&x, op->n_operands);
    if (h->n_regions) {
        tn_cursor body;
        unsigned scope;
        x.region = TN_NEW(r->b->arena, tn_region);
        TN_TRY(tn_reader_open_regions(r, c, h, &body, &scope));
        TN_TRY(tn_reader_read_region(r, &body, x.region, around->function, NULL, h->name));
        TN_TRY(tn_reader_close_regions(r, c, h, &body, scope));
    }
    *out = op;
    TN_TRY(tn_chlo_close(&r->text, &o, &x));
    return end(r, &o);
}
