/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ops/ops.h"

#define TYPE_TEXT 256 /* types in messages are cut at this length */

bool tn_type_compatible(const tn_type *inferred, const tn_type *declared)
{
    if (inferred->kind != declared->kind || inferred->element != declared->element ||
        inferred->rank != declared->rank || inferred->n_parts != declared->n_parts)
        return false;
    for (uint32_t i = 0; i < inferred->rank; i++) {
        int64_t a = inferred->dims[i], b = declared->dims[i];
        if (a != b && a != TN_DYNAMIC && b != TN_DYNAMIC) return false;
    }
    for (uint32_t i = 0; i < inferred->n_parts; i++)
        if (!tn_type_compatible(inferred->parts[i], declared->parts[i])) return false;
    return true;
}

/* --- attributes --- */

/* What a kind of attrs.def looks like in a tn_attr. */
#define BOOL                      TN_ATTR_KIND_BOOL
#define INT                       TN_ATTR_KIND_INT
#define FLOAT                     TN_ATTR_KIND_FLOAT
#define STRING                    TN_ATTR_KIND_STRING
#define INTS                      TN_ATTR_KIND_INTS
#define BOOLS                     TN_ATTR_KIND_BOOLS
#define TENSOR                    TN_ATTR_KIND_TENSOR
#define TYPE                      TN_ATTR_KIND_TYPE
#define LIST                      TN_ATTR_KIND_LIST
#define DICT                      TN_ATTR_KIND_DICT
#define ENUM_api_version          TN_ATTR_KIND_INT
#define ENUM_comparison_direction TN_ATTR_KIND_INT
#define ENUM_comparison_type      TN_ATTR_KIND_INT
#define ENUM_fft_type             TN_ATTR_KIND_INT
#define ENUM_rng_algorithm        TN_ATTR_KIND_INT
#define ENUM_rng_distribution     TN_ATTR_KIND_INT
#define ENUM_transpose            TN_ATTR_KIND_INT

static const struct {
    const char *text;
    tn_attr_kind kind;
} attr_infos[TN_ATTR_COUNT] = {
#define X(name, kind) [TN_ATTR_##name] = {#name, kind},
#include "ir/attrs.def"
#undef X
};

static const char *const kind_texts[] = {[TN_ATTR_KIND_BOOL] = "a boolean",
                                         [TN_ATTR_KIND_INT] = "an integer",
                                         [TN_ATTR_KIND_FLOAT] = "a float",
                                         [TN_ATTR_KIND_STRING] = "a string",
                                         [TN_ATTR_KIND_INTS] = "an integer array",
                                         [TN_ATTR_KIND_BOOLS] = "a boolean array",
                                         [TN_ATTR_KIND_TENSOR] = "a constant",
                                         [TN_ATTR_KIND_TYPE] = "a type",
                                         [TN_ATTR_KIND_LIST] = "a list",
                                         [TN_ATTR_KIND_DICT] = "a dictionary",
                                         [TN_ATTR_KIND_UNIT] = "a unit"};

/* Attributes without which an op still has one meaning. Every other one is required. */
static bool is_optional(tn_op_kind op, tn_attr_name name)
{
    switch (name) {
    case TN_ATTR_accumulation_type:
    case TN_ATTR_allow_imprecise_accumulation:
    case TN_ATTR_api_version:
    case TN_ATTR_backend_config:
    case TN_ATTR_called_computations:
    case TN_ATTR_channel_id:
    case TN_ATTR_compare_type:
    case TN_ATTR_composite_attributes:
    case TN_ATTR_has_dynamic_root:
    case TN_ATTR_has_side_effect:
    case TN_ATTR_indices_are_sorted:
    case TN_ATTR_is_stable:
    case TN_ATTR_known_expanding_dimensions:
    case TN_ATTR_known_nonexpanding_dimensions:
    case TN_ATTR_lhs_component_count:
    case TN_ATTR_lhs_precision_type:
    case TN_ATTR_num_primitive_operations:
    case TN_ATTR_operand_layouts:
    case TN_ATTR_output_operand_aliases:
    case TN_ATTR_precision_config:
    case TN_ATTR_result_accuracy:
    case TN_ATTR_result_layouts:
    case TN_ATTR_result_tilings:
    case TN_ATTR_rhs_component_count:
    case TN_ATTR_rhs_precision_type:
    case TN_ATTR_unique_indices:
    case TN_ATTR_use_global_device_ids:
    case TN_ATTR_version: return true;
    default: return tn_op_infos[op].text[0] == 's' && tn_op_infos[op].text[1] == 'd'; /* sdy.* */
    }
}

static tn_status *verify_attrs(const tn_op *op)
{
    const tn_op_info *info = &tn_op_infos[op->kind];
    for (uint32_t i = 0; i < info->n_attrs; i++) {
        tn_attr_name name = info->attrs[i];
        const tn_attr *a = op->attrs[i];
        if (!a && !is_optional(op->kind, name))
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "attribute %s is missing",
                               attr_infos[name].text);
        if (a && a->kind != attr_infos[name].kind)
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "attribute %s should be %s and is %s",
                               attr_infos[name].text, kind_texts[attr_infos[name].kind],
                               kind_texts[a->kind]);
    }
    return NULL;
}

/* --- quantized types --- */

/* Whole numbers that the storage type holds, in `most` those above 0. */
static void storage_range(tn_element_type e, int64_t *least, int64_t *most)
{
    unsigned bits = tn_element_type_bits(e);
    bool is_signed = tn_element_type_class(e) == TN_CLASS_SINT;
    *most = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    *least = is_signed ? -*most - 1 : 0;
}

/* NULL: all is as the specification wants it. */
static const char *quantization_fault(const tn_type *t)
{
    const tn_quantization *q = t->quantization;
    if (!tn_is_integer(q->storage) || tn_element_type_bits(q->storage) > 32)
        return "its storage type should be an integer of at most 32 bits";
    if (!tn_is_float(q->expressed)) return "its expressed type should be a float";
    int64_t least, most;
    storage_range(q->storage, &least, &most);
    if (q->min < least || q->max > most || q->min >= q->max)
        return "its storage range should be one of its storage type";
    for (uint32_t i = 0; i < q->n; i++) {
        if (!(q->scales[i] > 0) || q->scales[i] - q->scales[i] != 0)
            return "its scales should be finite and positive";
        if (q->zero_points[i] < q->min || q->zero_points[i] > q->max)
            return "its zero points should lie in its storage range";
    }
    if (q->axis >= (int64_t)t->rank) return "it has no dimension for its quantization axis";
    return NULL;
}

static const char *fault_of(const tn_type *t)
{
    return t && t->kind == TN_TYPE_TENSOR && t->quantization ? quantization_fault(t) : NULL;
}

/* --- ops --- */

static tn_status *verify_count(const tn_op *op, const char *what, int16_t expected, uint32_t got)
{
    if (expected < 0 || (uint32_t)expected == got) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected %d %s%s, got %u", expected, what,
                       expected == 1 ? "" : "s", got);
}

tn_status *tn_op_verify(const tn_op *op, tn_arena *a)
{
    const tn_op_info *info = &tn_op_infos[op->kind];
    TN_TRY(verify_count(op, "operand", info->operands, op->n_operands));
    TN_TRY(verify_count(op, "result", info->results, op->n_results));
    TN_TRY(verify_count(op, "region", info->regions, op->n_regions));
    TN_TRY(verify_attrs(op));
    tn_infer_fn infer = tn_op_behaviours[op->kind].infer;
    if (!infer) return TN_OP_ERROR(UNIMPLEMENTED, op, "%s is not supported", info->text);
    for (uint32_t i = 0; i < op->n_results; i++) {
        const char *fault = fault_of(op->results[i].type);
        char type[TYPE_TEXT];
        if (fault)
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "result %u is %s: %s", i,
                               tn_type_format(op->results[i].type, type, sizeof type), fault);
    }
    const tn_type **types = TN_NEW_ARRAY(a, const tn_type *, op->n_results);
    TN_TRY(infer(op, a, types));
    for (uint32_t i = 0; i < op->n_results; i++) {
        if (tn_type_compatible(types[i], op->results[i].type)) continue;
        char want[TYPE_TEXT], got[TYPE_TEXT];
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "result %u should be %s and is declared %s", i,
                           tn_type_format(types[i], want, sizeof want),
                           tn_type_format(op->results[i].type, got, sizeof got));
    }
    return NULL;
}

/* --- modules --- */

typedef struct {
    tn_arena *scratch; /* for inferred types */
    bool *visible;     /* [n_values]: defined in this or an enclosing region so far */
} walk;

static tn_status *verify_region(walk *w, const tn_region *r);

static tn_status *verify_in_place(walk *w, const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!w->visible[op->operands[i]->id])
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u is used before its definition", i);
    bool terminator = tn_op_has_trait(op, TN_TRAIT_TERMINATOR);
    if (terminator != (op->next == NULL))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           terminator ? "a terminator must end its region"
                                      : "the region doesn't end in a return");
    for (uint32_t i = 0; i < op->n_regions; i++) TN_TRY(verify_region(w, &op->regions[i]));
    TN_TRY(tn_op_verify(op, w->scratch));
    for (uint32_t i = 0; i < op->n_results; i++) w->visible[op->results[i].id] = true;
    return NULL;
}

static tn_status *verify_region(walk *w, const tn_region *r)
{
    if (!r->first) {
        if (r->parent) return TN_OP_ERROR(INVALID_ARGUMENT, r->parent, "a region is empty");
        return TN_ERROR(INVALID_ARGUMENT, "function @%s has no body", r->function->name);
    }
    for (uint32_t i = 0; i < r->n_args; i++) w->visible[r->args[i].id] = true;
    for (const tn_op *op = r->first; op; op = op->next) TN_TRY(verify_in_place(w, op));
    for (uint32_t i = 0; i < r->n_args; i++) w->visible[r->args[i].id] = false;
    for (const tn_op *op = r->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_results; i++) w->visible[op->results[i].id] = false;
    return NULL;
}

static tn_status *verify_signature(const tn_function *f)
{
    const tn_type *t = f->type;
    char want[TYPE_TEXT], got[TYPE_TEXT];
    if (f->body.n_args != t->n_inputs)
        return TN_ERROR(INVALID_ARGUMENT,
                        "function @%s takes %u arguments by its type and %u in its body", f->name,
                        t->n_inputs, f->body.n_args);
    for (uint32_t i = 0; i < t->n_inputs; i++)
        if (!tn_type_equal(t->parts[i], f->body.args[i].type))
            return TN_ERROR(INVALID_ARGUMENT,
                            "function @%s: argument %u is %s by its type and %s in its body",
                            f->name, i, tn_type_format(t->parts[i], want, sizeof want),
                            tn_type_format(f->body.args[i].type, got, sizeof got));
    for (uint32_t i = 0; i < t->n_inputs; i++) {
        const char *fault = fault_of(t->parts[i]);
        if (fault)
            return TN_ERROR(INVALID_ARGUMENT, "function @%s: argument %u is %s: %s", f->name, i,
                            tn_type_format(t->parts[i], got, sizeof got), fault);
    }
    const tn_op *ret = f->body.last;
    if (ret->n_operands != t->n_parts - t->n_inputs)
        return TN_OP_ERROR(INVALID_ARGUMENT, ret,
                           "function @%s has %u results, but %u values are returned", f->name,
                           t->n_parts - t->n_inputs, ret->n_operands);
    for (uint32_t i = 0; i < ret->n_operands; i++) {
        const tn_type *declared = t->parts[t->n_inputs + i], *returned = ret->operands[i]->type;
        if (!tn_type_compatible(declared, returned))
            return TN_OP_ERROR(INVALID_ARGUMENT, ret,
                               "result %u of function @%s is %s, but %s is returned", i, f->name,
                               tn_type_format(declared, want, sizeof want),
                               tn_type_format(returned, got, sizeof got));
    }
    return NULL;
}

tn_status *tn_module_verify(tn_module *m)
{
    if (!m->main) return TN_ERROR(INVALID_ARGUMENT, "the module has no entry function @main");
    tn_module_number(m);
    walk w = {m->arena, TN_NEW_ARRAY(m->arena, bool, m->n_values)};
    for (const tn_function *f = m->functions; f; f = f->next) {
        TN_ANNOTATE(verify_region(&w, &f->body), "in @%s", f->name);
        TN_TRY(verify_signature(f));
    }
    return NULL;
}
