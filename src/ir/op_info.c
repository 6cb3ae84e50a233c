/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ir.h"

#include <string.h>

/* The attribute list of each op, closed by TN_ATTR_NONE so that an empty one is an array too. */
#define A(name)   TN_ATTR_##name,
#define LIST(...) __VA_ARGS__
#define TN_OP(name, text, operands, results, regions, attrs, traits, infer, eval)                  \
    static const tn_attr_name attrs_of_##name[] = {LIST attrs TN_ATTR_NONE};
#include "ir/ops.def"
#undef TN_OP
#undef LIST
#undef A

enum {
    ELEMENTWISE = TN_TRAIT_ELEMENTWISE,
    COMMUTATIVE = TN_TRAIT_COMMUTATIVE,
    SIDE_EFFECT = TN_TRAIT_SIDE_EFFECT,
    TERMINATOR = TN_TRAIT_TERMINATOR,
    SAME_BYTES = TN_TRAIT_SAME_BYTES,
    CONTROL = TN_TRAIT_CONTROL,
    COLLECTIVE = TN_TRAIT_COLLECTIVE,
    SYMBOL = TN_TRAIT_SYMBOL,
    IN_PLACE = TN_TRAIT_IN_PLACE
};

const tn_op_info tn_op_infos[TN_OP_COUNT] = {
    [TN_OP_INVALID] = {.text = "<invalid op>"},
#define TN_OP(name, spelling, n_operands, n_results, n_regions, attribute_list, trait_bits, infer, \
              eval)                                                                                \
    [TN_OP_##name] = {.text = spelling,                                                            \
                      .operands = n_operands,                                                      \
                      .results = n_results,                                                        \
                      .regions = n_regions,                                                        \
                      .traits = trait_bits,                                                        \
                      .n_attrs = sizeof attrs_of_##name / sizeof(tn_attr_name) - 1,                \
                      .attrs = attrs_of_##name},
#include "ir/ops.def"
#undef TN_OP
};

const char *tn_attr_name_text(tn_attr_name name)
{
    static const char *const texts[TN_ATTR_COUNT] = {
        [TN_ATTR_NONE] = "<no attribute>",
#define X(spelling, kind) [TN_ATTR_##spelling] = #spelling,
#include "ir/attrs.def"
#undef X
    };
    return texts[name];
}

tn_op_kind tn_op_find(const char *text, size_t size)
{
    for (unsigned i = 1; i < TN_OP_COUNT; i++) {
        const char *t = tn_op_infos[i].text;
        if (strlen(t) == size && !memcmp(t, text, size)) return (tn_op_kind)i;
    }
    return TN_OP_INVALID;
}
