/* SPDX-License-Identifier: Apache-2.0 */
/* chlo.top_k as MLIR legalizes it: a composite whose decomposition is written here as text. */
#include <inttypes.h>
#include <string.h>

#include "reader/text_chlo.h"

static const tn_type *with_last(tn_parser *p, const tn_type *t, tn_element_type e, int64_t last)
{
    int64_t *dims = tn_dup(p->arena, t->dims, t->rank * sizeof *dims);
    dims[t->rank - 1] = last;
    return tn_type_tensor(p->arena, e, t->rank, dims);
}

static void put_slice(tn_text *t, const char *from, const tn_type *in, const tn_type *out)
{
    tn_text_put(t, "= stablehlo.slice %s [", from);
    for (uint32_t i = 0; i < in->rank; i++)
        tn_text_put(t, "%s0:%" PRId64, i ? ", " : "", out->dims[i]);
    tn_text_put(t, "] : (");
    tn_text_type(t, in);
    tn_text_put(t, ") -> ");
    tn_text_type(t, out);
    tn_text_put(t, "\n");
}

/* A stable sort from the largest, of which the first are taken. */
static const char *write_top_k(tn_parser *p, const char *name, const tn_type *in,
                               const tn_type *values, const tn_type *indices)
{
    tn_text t = {.arena = p->arena};
    const tn_type *all = with_last(p, in, TN_I32, in->dims[in->rank - 1]);
    const char *element = tn_element_type_text(in->element);
    tn_text_put(&t, "func.func private @%s(%%a: ", name);
    tn_text_type(&t, in);
    tn_text_put(&t, ") -> (");
    tn_text_type(&t, values);
    tn_text_put(&t, ", ");
    tn_text_type(&t, indices);
    tn_text_put(&t, ") {\n%%i = stablehlo.iota dim = %" PRIu32 " : ", in->rank - 1);
    tn_text_type(&t, all);
    tn_text_put(&t,
                "\n%%s:2 = \"stablehlo.sort\"(%%a, %%i) <{dimension = %" PRIu32
                " : i64, is_stable = true}> ({\n",
                in->rank - 1);
    tn_text_put(&t,
                "^bb0(%%x: tensor<%s>, %%y: tensor<%s>, %%v: tensor<i32>, %%w: tensor<i32>):\n"
                "%%c = stablehlo.compare GT, %%x, %%y%s : (tensor<%s>, tensor<%s>) -> tensor<i1>\n"
                "stablehlo.return %%c : tensor<i1>\n}) : (",
                element, element, tn_is_float(in->element) ? ", TOTALORDER" : "", element, element);
    tn_text_type(&t, in);
    tn_text_put(&t, ", ");
    tn_text_type(&t, all);
    tn_text_put(&t, ") -> (");
    tn_text_type(&t, in);
    tn_text_put(&t, ", ");
    tn_text_type(&t, all);
    tn_text_put(&t, ")\n%%k ");
    put_slice(&t, "%s#0", in, values);
    tn_text_put(&t, "%%l ");
    put_slice(&t, "%s#1", all, indices);
    tn_text_put(&t, "return %%k, %%l : ");
    tn_text_type(&t, values);
    tn_text_put(&t, ", ");
    tn_text_type(&t, indices);
    tn_text_put(&t, "\n}\n");
    return tn_text_end(&t);
}

static tn_status *set_text(tn_parser *p, tn_parse_op *o, const char *key, const char *text)
{
    return tn_parse_set(p, o, o->where, key, tn_attr_string(p->arena, text, strlen(text)), true);
}

tn_status *tn_chlo_top_k(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c)
{
    const tn_attr *given = tn_chlo_attr(c, "k");
    if (!given || given->kind != TN_ATTR_KIND_INT)
        return tn_parse_error(p, o->where, "chlo.top_k lacks the attribute k");
    if (o->operands.n != 1)
        return tn_parse_error(p, o->where, "chlo.top_k should have 1 operand and has %" PRIu32,
                              o->operands.n);
    const int64_t k = given->integer;
    const tn_type *in = tn_chlo_operand(o, 0);
    if (in->kind != TN_TYPE_TENSOR || !tn_type_is_static(in) || in->quantization || !in->rank ||
        tn_is_complex(in->element))
        return tn_parse_unsupported(p, o->where, "chlo.top_k of such an operand is not supported");
    if (k < 0 || k > in->dims[in->rank - 1])
        return tn_parse_error(p, o->where, "chlo.top_k: expected k in 0..%" PRId64 ", got %" PRId64,
                              in->dims[in->rank - 1], k);
    const tn_type *values = with_last(p, in, in->element, k),
                  *indices = with_last(p, in, TN_I32, k);
    char got[128], want[128];
    for (int i = 0; i < 2; i++) {
        const tn_type *t = i ? indices : values;
        if (o->op->n_results == 2 && tn_type_equal(o->op->results[i].type, t)) continue;
        if (o->op->n_results != 2)
            return tn_parse_error(p, o->where, "chlo.top_k should have 2 results and has %" PRIu32,
                                  o->op->n_results);
        return tn_parse_error(p, o->where, "chlo.top_k: result %d should be %s and is %s", i,
                              tn_type_format(t, want, sizeof want),
                              tn_type_format(o->op->results[i].type, got, sizeof got));
    }
    const char *name = "chlo.top_k.impl";
    if (p->written.n) name = tn_printf(p->arena, "%s_%" PRIu32, name, p->written.n - 1);
    tn_parse_write(p, o, write_top_k(p, name, in, values, indices));
    TN_TRY(tn_parse_set(p, o, o->where, "composite_attributes", tn_chlo_pair(p, "k", k), true));
    TN_TRY(set_text(p, o, "name", "chlo.top_k"));
    TN_TRY(set_text(p, o, "decomposition", name));
    return tn_parse_set(p, o, o->where, "version", tn_attr_int(p->arena, 1), true);
}
