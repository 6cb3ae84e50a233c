/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/plan.h"
#include "passes/rewrite.h"

/* The carried value that `v` is in region `r` of a loop, or -1. */
static int64_t argument_of(const tn_region *r, const tn_value *v)
{
    return !v->op && v->region == r ? (int64_t)v->index : -1;
}

/* a counter plus a constant, on either side */
static bool find_step(const tn_region *body, uint32_t i, int64_t *step)
{
    const tn_op *add = body->last->operands[i]->op;
    if (!add || add->kind != TN_OP_add) return false;
    for (uint32_t side = 0; side < 2; side++)
        if (argument_of(body, add->operands[side]) == i &&
            tn_constant_integer(add->operands[1 - side], step))
            return true;
    return false;
}

/* What the comparison says when its operands change places. */
static int64_t mirrored(int64_t direction)
{
    switch (direction) {
    case TN_comparison_direction_LT: return TN_comparison_direction_GT;
    case TN_comparison_direction_LE: return TN_comparison_direction_GE;
    case TN_comparison_direction_GT: return TN_comparison_direction_LT;
    case TN_comparison_direction_GE: return TN_comparison_direction_LE;
    default: return direction;
    }
}

static int64_t count(int64_t direction, int64_t from, int64_t limit, int64_t step)
{
    __int128 distance = (__int128)limit - from;
    if (direction == TN_comparison_direction_GT || direction == TN_comparison_direction_GE) {
        distance = -distance;
        step = step == INT64_MIN ? 0 : -step;
    }
    if (direction == TN_comparison_direction_LE || direction == TN_comparison_direction_GE)
        distance++;
    if (distance <= 0) return 0;
    if (step <= 0 || direction == TN_comparison_direction_EQ) return -1;
    if (direction == TN_comparison_direction_NE && distance % step) return -1;
    __int128 trips = (distance + step - 1) / step;
    return trips > INT64_MAX ? -1 : (int64_t)trips;
}

int64_t tn_trip_count(const tn_op *loop)
{
    const tn_region *condition = &loop->regions[0], *body = &loop->regions[1];
    const tn_op *compare = condition->last->operands[0]->op;
    if (!compare || compare->kind != TN_OP_compare) return -1;
    int64_t direction = tn_op_int(compare, TN_ATTR_comparison_direction, -1);
    for (uint32_t side = 0; side < 2; side++) {
        int64_t i = argument_of(condition, compare->operands[side]), limit, from, step;
        if (i < 0 || !tn_constant_integer(compare->operands[1 - side], &limit)) continue;
        if (!tn_constant_integer(loop->operands[i], &from)) return -1;
        if (!find_step(body, (uint32_t)i, &step)) return -1;
        return count(side ? mirrored(direction) : direction, from, limit, step);
    }
    return -1;
}
