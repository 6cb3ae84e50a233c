/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/body_arg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/arg_rows.h"
#include "kernels/elementwise.h"

/* What is made of comparisons of arguments alone depends on their order alone, so values of every
 * order tell all about it. */
enum { VALUES = 8, PAIRS = VALUES * VALUES };

static bool only_compares(const tn_region *r)
{
    for (const tn_op *op = r->first; op && op != r->last; op = op->next) switch ((int)op->kind) {
        case TN_OP_compare:
            if (tn_op_int(op, TN_ATTR_compare_type, TN_comparison_type_NOTYPE) ==
                TN_comparison_type_TOTALORDER)
                return false;
            break;
        case TN_OP_and:
        case TN_OP_or:
        case TN_OP_xor:
        case TN_OP_not:
            if (tn_result_type(op, 0)->element != TN_I1) return false;
            break;
        case TN_OP_select: break;
        default: return false;
        }
    return true;
}

static bool is_index(tn_element_type e)
{
    return e == TN_I32 || e == TN_U32 || e == TN_I64 || e == TN_U64;
}

/* Elements of the values' type, and what they are. */
static bool make_values(tn_element_type e, void *out, double *seen)
{
    static const double values[VALUES] = {-HUGE_VAL, -1, -0.0, 0, 1, 2, HUGE_VAL, (double)NAN};
    tn_isa isa = tn_cpu_isa();
    tn_kernel there, back;
    if (e == TN_F64) {
        memcpy(out, values, sizeof values);
        memcpy(seen, values, sizeof values);
        return true;
    }
    if (!tn_kernel_convert(isa, TN_F64, e, &there) || !tn_kernel_convert(isa, e, TN_F64, &back))
        return false;
    tn_kernel_run(&there, VALUES, (const void *[]){values}, out);
    tn_kernel_run(&back, VALUES, (const void *[]){out}, seen);
    return true;
}

tn_body_shortcut tn_body_arg(const tn_region *r, const tn_body *b)
{
    if (b->n_args != 4 || b->n_results != 2 || b->n_captures || !only_compares(r))
        return TN_BODY_GENERAL;
    const tn_type *value = b->arg_types[0], *index = b->arg_types[1];
    if (value->rank || index->rank || value->quantization || !is_index(index->element) ||
        value->element != b->arg_types[2]->element || index->element != b->arg_types[3]->element ||
        b->result_types[0]->element != value->element ||
        b->result_types[1]->element != index->element)
        return TN_BODY_GENERAL;
    size_t width = tn_element_type_bytes(value->element), bytes = tn_body_scratch(b);
    size_t index_width = tn_element_type_bytes(index->element);
    if (!tn_arg_find(tn_cpu_isa(), true, value->element).row) return TN_BODY_GENERAL;
    _Alignas(16) char few[VALUES * 8], left[PAIRS * 8], right[PAIRS * 8], best[PAIRS * 8];
    _Alignas(16) char zeros[PAIRS * 8] = {0}, ones[PAIRS * 8] = {0}, at[PAIRS * 8];
    double seen[VALUES];
    if (!make_values(value->element, few, seen)) return TN_BODY_GENERAL;
    for (size_t i = 0; i < PAIRS; i++) {
        memcpy(left + i * width, few + i / VALUES * width, width);
        memcpy(right + i * width, few + i % VALUES * width, width);
        /* Both widths of an index begin with its low byte. */
        uint64_t one = 1;
        memcpy(ones + i * index_width, &one, index_width);
    }
    void *scratch = aligned_alloc(64, (bytes + 127) & ~(size_t)63);
    if (!scratch) return TN_BODY_GENERAL;
    tn_eval_context none = {0};
    tn_status *s = tn_body_run(b, &none, PAIRS, (const void *[]){left, zeros, right, ones},
                               (void *[]){best, at}, NULL, scratch);
    free(scratch);
    bool most = !s, least = !s, same = true, other = true;
    tn_status_free(s);
    for (size_t i = 0; i < PAIRS; i++) {
        double x = seen[i / VALUES], y = seen[i % VALUES];
        uint64_t k = 0;
        memcpy(&k, at + i * index_width, index_width);
        most &= k == !(x != x || x >= y);
        least &= k == !(x != x || x <= y);
        const char *from = (k ? right : left) + i * width, *second = right + i * width;
        same &= !memcmp(best + i * width, from, width);
        other &= !memcmp(best + i * width, x == y ? second : from, width);
    }
    if ((!most && !least) || (!same && !other)) return TN_BODY_GENERAL;
    if (most) return same ? TN_BODY_ARG_MAX : TN_BODY_ARG_MAX_OTHER;
    return same ? TN_BODY_ARG_MIN : TN_BODY_ARG_MIN_OTHER;
}
