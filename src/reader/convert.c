/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes as the wire has them to attributes as attrs.def promises them. */
#include <inttypes.h>
#include <string.h>

#include "reader/properties.h"
#include "reader/replica_groups.h"

#define BOOL                      TN_ATTR_KIND_BOOL, NULL
#define INT                       TN_ATTR_KIND_INT, NULL
#define FLOAT                     TN_ATTR_KIND_FLOAT, NULL
#define STRING                    TN_ATTR_KIND_STRING, NULL
#define INTS                      TN_ATTR_KIND_INTS, NULL
#define BOOLS                     TN_ATTR_KIND_BOOLS, NULL
#define TENSOR                    TN_ATTR_KIND_TENSOR, NULL
#define TYPE                      TN_ATTR_KIND_TYPE, NULL
#define LIST                      TN_ATTR_KIND_LIST, NULL
#define DICT                      TN_ATTR_KIND_DICT, NULL
#define ENUM(tag)                 TN_ATTR_KIND_INT, #tag
#define ENUM_api_version          ENUM(api_version)
#define ENUM_comparison_direction ENUM(comparison_direction)
#define ENUM_comparison_type      ENUM(comparison_type)
#define ENUM_fft_type             ENUM(fft_type)
#define ENUM_rng_algorithm        ENUM(rng_algorithm)
#define ENUM_rng_distribution     ENUM(rng_distribution)
#define ENUM_transpose            ENUM(transpose)
const tn_property_target tn_property_targets[TN_ATTR_COUNT] = {
#define X(name, kind) [TN_ATTR_##name] = {kind},
#include "ir/attrs.def"
#undef X
};

const char *const tn_property_kind_texts[] = {
    [TN_ATTR_KIND_BOOL] = "a boolean",  [TN_ATTR_KIND_INT] = "an integer",
    [TN_ATTR_KIND_FLOAT] = "a float",   [TN_ATTR_KIND_STRING] = "a string",
    [TN_ATTR_KIND_INTS] = "integers",   [TN_ATTR_KIND_BOOLS] = "booleans",
    [TN_ATTR_KIND_TENSOR] = "a tensor", [TN_ATTR_KIND_TYPE] = "a type",
    [TN_ATTR_KIND_LIST] = "a list",     [TN_ATTR_KIND_DICT] = "a dictionary",
    [TN_ATTR_KIND_UNIT] = "a unit"};

static bool has_tag(const tn_attr *v, const char *tag)
{
    return v->kind == TN_ATTR_KIND_LIST && v->list.tag && !strcmp(v->list.tag, tag);
}

bool tn_property_is_enumeration(const tn_attr *v)
{
    static const char *const tags[] = {"comparison_direction",
                                       "comparison_type",
                                       "api_version",
                                       "fft_type",
                                       "precision",
                                       "rng_algorithm",
                                       "rng_distribution",
                                       "transpose",
                                       "result_accuracy_mode"};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (has_tag(v, tags[i])) return true;
    return false;
}

/* A splat is written as one element, so few bytes may ask for much memory: all of them together
 * are bounded by the file's size. */
static tn_status *charge(tn_bytecode *b, const tn_cursor *from, const tn_literal *v, size_t bytes)
{
    size_t limit = (16u << 20) + b->size * 8;
    if (!v->splat) return NULL;
    if (bytes > limit || b->expanded > limit - bytes)
        return tn_cursor_error(from, "splats of integers expand to more than %zu bytes", limit);
    b->expanded += bytes;
    return NULL;
}

static int64_t integer_at(const tn_literal *v, size_t i)
{
    unsigned unit = tn_element_type_bytes(v->type->element);
    uint64_t bits = 0;
    memcpy(&bits, (const uint8_t *)v->data + (v->splat ? 0 : i) * unit, unit);
    if (tn_element_type_class(v->type->element) == TN_CLASS_UINT || unit == 8) return (int64_t)bits;
    uint64_t sign = UINT64_C(1) << (unit * 8 - 1);
    return (int64_t)((bits ^ sign) - sign);
}

/* A tensor of integers to INTS, of booleans to BOOLS; anything else stays. */
static tn_status *flatten(tn_bytecode *b, const tn_cursor *from, const tn_attr *in,
                          const tn_attr **out)
{
    const tn_literal *v = &in->tensor;
    bool booleans = v->type->element == TN_I1;
    *out = in;
    if (v->type->rank > 2 || v->type->quantization ||
        !(booleans || tn_is_integer(v->type->element)))
        return NULL;
    /* Every TENSOR that the reader makes is a tn_entry_node. */
    tn_entry_node *node = (tn_entry_node *)(uintptr_t)in;
    if (!node->converted) {
        size_t n = (size_t)tn_type_elements(v->type);
        if (n > UINT32_MAX) return tn_cursor_error(from, "an attribute of %zu integers", n);
        TN_TRY(charge(b, from, v, n * (booleans ? sizeof(bool) : sizeof(int64_t))));
        if (booleans) {
            bool *data = TN_NEW_ARRAY(b->arena, bool, n);
            for (size_t i = 0; i < n; i++) data[i] = ((const uint8_t *)v->data)[v->splat ? 0 : i];
            tn_attr *x = tn_entry_node_new(b, TN_ATTR_KIND_BOOLS);
            x->bools.data = data;
            x->bools.n = (uint32_t)n;
            node->converted = x;
        } else {
            int64_t *data = TN_NEW_ARRAY(b->arena, int64_t, n);
            for (size_t i = 0; i < n; i++) data[i] = integer_at(v, i);
            tn_attr *x = tn_entry_node_new(b, TN_ATTR_KIND_INTS);
            x->ints.data = data;
            x->ints.n = (uint32_t)n;
            if (v->type->rank == 2 && v->type->dims[0] > UINT32_MAX)
                return tn_cursor_error(from, "an attribute of %" PRId64 " rows", v->type->dims[0]);
            x->ints.rows = v->type->rank == 2 ? (uint32_t)v->type->dims[0] : 1;
            node->converted = x;
        }
    }
    *out = node->converted;
    return NULL;
}

/* Depth is bounded by TN_ENTRY_DEPTH; shared parts are converted once. */
static tn_status *plain(tn_bytecode *b, const tn_cursor *from, const tn_attr *in,
                        const tn_attr **out)
{
    *out = in;
    if (in->kind == TN_ATTR_KIND_TENSOR) return flatten(b, from, in, out);
    if (in->kind != TN_ATTR_KIND_LIST) return NULL;
    if (tn_property_is_enumeration(in)) {
        *out = in->list.items[0];
        return NULL;
    }
    tn_entry_node *node = (tn_entry_node *)(uintptr_t)in;
    if (!node->converted) {
        const tn_attr **items = NULL;
        tn_attr *copy = NULL;
        for (uint32_t i = 0; i < in->list.n; i++) {
            const tn_attr *item;
            TN_TRY(plain(b, from, in->list.items[i], &item));
            if (item == in->list.items[i]) continue;
            if (!copy) {
                copy = tn_entry_list(b, in->list.tag, in->list.n, &items);
                memcpy(items, in->list.items, in->list.n * sizeof *items);
            }
            items[i] = item;
        }
        node->converted = copy ? copy : in;
        /* What was converted once stays as it is. */
        if (copy) ((tn_entry_node *)copy)->converted = copy;
    }
    *out = node->converted;
    return NULL;
}

uint32_t tn_property_rank(tn_attr_name name)
{
    bool rows = name == TN_ATTR_padding || name == TN_ATTR_replica_groups ||
                name == TN_ATTR_source_target_pairs;
    return rows ? 2 : 0;
}

static tn_status *wrong_kind(const tn_cursor *from, tn_attr_name name,
                             const tn_property_target *want, const tn_attr *in)
{
    const char *got = tn_property_kind_texts[in->kind];
    if (in->kind == TN_ATTR_KIND_LIST && in->list.tag) got = in->list.tag;
    return tn_cursor_error(
        from, "attribute %s should be %s and is %s", tn_attr_name_text(name),
        want->enumeration ? want->enumeration : tn_property_kind_texts[want->kind], got);
}

tn_status *tn_properties_convert(tn_bytecode *b, const tn_cursor *from, tn_attr_name name,
                                 const tn_attr *in, const tn_attr **out)
{
    const tn_property_target *want = &tn_property_targets[name];
    *out = in;
    if (has_tag(in, "unsupported"))
        return tn_cursor_unsupported(from, "attribute %s: %.300s", tn_attr_name_text(name),
                                     in->list.items[0]->string.data);
    if (in->kind == TN_ATTR_KIND_TYPE && in->type->kind == TN_TYPE_NONE) {
        *out = NULL;
        return NULL;
    }
    if (name == TN_ATTR_replica_groups && tn_replica_groups_by_axes(in))
        return plain(b, from, in, out); /* the mesh may stand further on */
    if (want->enumeration) {
        if (!has_tag(in, want->enumeration)) return wrong_kind(from, name, want, in);
        *out = in->list.items[0];
        return NULL;
    }
    if (want->kind == TN_ATTR_KIND_INTS || want->kind == TN_ATTR_KIND_BOOLS) {
        uint32_t rank = tn_property_rank(name);
        if (in->kind == TN_ATTR_KIND_TENSOR && rank && in->tensor.type->rank != rank)
            return tn_cursor_error(from,
                                   "attribute %s should have rank %" PRIu32 " and has %" PRIu32,
                                   tn_attr_name_text(name), rank, in->tensor.type->rank);
        if (in->kind == TN_ATTR_KIND_TENSOR) TN_TRY(flatten(b, from, in, out));
    } else if (want->kind == TN_ATTR_KIND_LIST) {
        TN_TRY(plain(b, from, in, out));
    }
    return (*out)->kind == want->kind ? NULL : wrong_kind(from, name, want, *out);
}
