/* SPDX-License-Identifier: Apache-2.0 */
#include "test/values/generate.h"

#include <string.h>

/* --- the shapes and types of one program --- */

static int64_t some_size(values_gen *g)
{
    static const int64_t large[] = {31, 33, 64, 100, 129, 513, 1025, 2000};
    if (one_in(g, 40)) return 0;
    if (one_in(g, 5)) return 1;
    return one_in(g, 7) ? large[below(g, 8)] : 1 + below(g, 8);
}

static values_shape some_new_shape(values_gen *g)
{
    static const uint32_t ranks[] = {0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 8, 9};
    values_shape s = {.rank = ranks[below(g, 16)]};
    do
        for (uint32_t i = 0; i < s.rank; i++)
            s.dims[i] = s.rank > 4 ? 1 + below(g, 3) : some_size(g);
    while (values_elements(&s) > VALUES_ELEMENTS);
    return s;
}

/* Shapes that are broadcast to, transposed to or reduced to each other. */
static void choose_shapes(values_gen *g)
{
    values_shape *s = g->shapes, first = some_new_shape(g);
    s[0] = first;
    int64_t order[VALUES_DIMS];
    values_permutation(g, order, first.rank);
    s[1].rank = first.rank;
    for (uint32_t i = 0; i < first.rank; i++) s[1].dims[i] = first.dims[order[i]];
    for (uint32_t i = 0; i < first.rank; i++)
        if (below(g, 2)) s[2].dims[s[2].rank++] = first.dims[i];
    s[3] = first;
    for (uint32_t i = 0; i < first.rank; i++)
        if (below(g, 2)) s[3].dims[i] = 1;
    s[4] = some_new_shape(g);
    s[5] = first;
    s[6].rank = 0;
}

static void choose_types(values_gen *g)
{
    static const tn_element_type usual[] = {TN_F32,  TN_F32, TN_I32, TN_F64, TN_I1,
                                            TN_BF16, TN_F16, TN_I64, TN_U8,  TN_C64};
    for (uint32_t i = 0; i < 4; i++) {
        tn_element_type e = usual[below(g, 10)];
        if (one_in(g, 4)) e = below(g, TN_ELEMENT_TYPE_COUNT);
        g->types[i] = tn_element_type_class(e) == TN_CLASS_NONE ? TN_F32 : e;
    }
}

/* --- ops --- */

void values_ops(values_gen *g, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        switch (below(g, 25)) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4:
        case 5:
        case 6:
        case 7:
        case 8:
        case 9: values_elementwise(g); break;
        case 10:
        case 11:
        case 12:
        case 13: values_movement(g); break;
        case 14:
        case 15:
        case 16: values_indexing(g); break;
        case 17:
        case 18:
        case 19: values_reductions(g); break;
        case 20:
        case 21: values_products(g); break;
        case 24: values_quantized(g); break;
        default: values_control(g); break;
        }
    }
}

/* --- functions --- */

static void begin(values_gen *g, const char *name, uint32_t n)
{
    g->function = tn_module_add_function(g->module, name, NULL);
    g->region = &g->function->body;
    g->n = 0;
    tn_region_init(g->module, g->region, g->function, NULL, n);
    g->function->arg_attrs = TN_NEW_ARRAY(g->arena, const tn_attr *, n);
    for (uint32_t i = 0; i < n; i++) {
        g->region->args[i].type =
            values_type(g, values_some_type(g, ANY_CLASS), values_some_shape(g));
        values_offer(g, &g->region->args[i]);
    }
}

static void end(values_gen *g, uint32_t n, tn_value *const *results)
{
    values_return(g, n, results);
    tn_function *f = g->function;
    tn_type *t = TN_NEW(g->arena, tn_type);
    uint32_t n_args = f->body.n_args;
    const tn_type **parts = TN_NEW_ARRAY(g->arena, const tn_type *, n_args + n);
    for (uint32_t i = 0; i < n_args; i++) parts[i] = f->body.args[i].type;
    for (uint32_t i = 0; i < n; i++) parts[n_args + i] = results[i]->type;
    *t = (tn_type){
        .kind = TN_TYPE_FUNCTION, .n_parts = n_args + n, .n_inputs = n_args, .parts = parts};
    f->type = t;
    f->result_attrs = TN_NEW_ARRAY(g->arena, const tn_attr *, n);
}

/* A parameter may be donated, to a result of its type or to none. */
static void donate(values_gen *g, uint32_t n, tn_value *const *results)
{
    bool taken[8] = {0};
    for (uint32_t i = 0; i < g->function->body.n_args; i++) {
        if (below(g, 2)) continue;
        uint32_t r = below(g, n);
        bool fits = !taken[r] && tn_type_equal(results[r]->type, g->function->body.args[i].type);
        taken[r] |= fits;
        tn_named_attr *pair = TN_NEW(g->arena, tn_named_attr);
        pair->key = fits ? "tf.aliasing_output" : "jax.buffer_donor";
        tn_attr *value = fits ? tn_dup(g->arena, tn_attr_int(g->arena, r), sizeof *value)
                              : tn_dup(g->arena, tn_attr_bool(g->arena, true), sizeof *value);
        if (fits) value->type = tn_type_tensor(g->arena, TN_I32, 0, NULL);
        pair->value = value;
        tn_attr *dict = TN_NEW(g->arena, tn_attr);
        dict->kind = TN_ATTR_KIND_DICT;
        dict->dict.pairs = pair;
        dict->dict.n = 1;
        g->function->arg_attrs[i] = dict;
    }
}

static uint32_t choose_results(values_gen *g, uint32_t most, tn_value **out)
{
    uint32_t n = 1 + below(g, most);
    for (uint32_t i = 0; i < n; i++) out[i] = values_pick(g, ANY_CLASS, 0, VALUES_DIMS);
    return n;
}

tn_status *values_generate(tn_module *m, uint64_t seed)
{
    values_gen *g = TN_NEW(m->arena, values_gen);
    g->arena = m->arena;
    g->module = m;
    g->state = seed * 0xD1342543DE82EF95u + 1;
    choose_shapes(g);
    choose_types(g);
    tn_value *results[8];
    uint32_t n_functions = one_in(g, 3) ? 1 + below(g, 2) : 0;
    for (uint32_t i = 0; i < n_functions; i++) {
        begin(g, i ? "g" : "f", below(g, 4));
        g->depth = 2;
        values_ops(g, 1 + below(g, 5));
        end(g, choose_results(g, 3, results), results);
        g->n_functions++;
        g->depth = 0;
    }
    begin(g, "main", 1 + below(g, 5));
    g->function->is_public = true;
    values_ops(g, one_in(g, 8) ? 40 : 2 + below(g, 16));
    uint32_t n = choose_results(g, 6, results);
    donate(g, n, results);
    end(g, n, results);
    m->main = g->function;
    return tn_module_verify(m);
}
