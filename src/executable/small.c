/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/small.h"

#include "ops/access.h"

/* Larger copies are worth several threads. */
#define WINDOW_BYTES (32u << 10)

/* Wrapping, as the kernels do. */
#define EACH_COMPUTED(X) X(add, +) X(subtract, -) X(multiply, *)
#define EACH_COMPARED(X) X(EQ, ==) X(NE, !=) X(GE, >=) X(GT, >) X(LE, <=) X(LT, <)
#define COMPUTE(name, c_op, type)                                                                  \
    static void name##_##type(const void *a, const void *b, void *out)                             \
    {                                                                                              \
        *(type *)out = *(const type *)a c_op * (const type *)b;                                    \
    }
#define COMPARE(name, c_op, type)                                                                  \
    static void name##_##type(const void *a, const void *b, void *out)                             \
    {                                                                                              \
        *(uint8_t *)out = *(const type *)a c_op * (const type *)b;                                 \
    }
#define COMPUTED(name, c_op) COMPUTE(name, c_op, uint32_t) COMPUTE(name, c_op, uint64_t)
#define COMPARED(name, c_op)                                                                       \
    COMPARE(name, c_op, int32_t)                                                                   \
    COMPARE(name, c_op, int64_t)                                                                   \
    COMPARE(name, c_op, uint32_t)                                                                  \
    COMPARE(name, c_op, uint64_t)
EACH_COMPUTED(COMPUTED)
EACH_COMPARED(COMPARED)

static tn_scalar_fn *find_computed(tn_op_kind kind, bool is_wide)
{
    switch ((int)kind) {
#define CASE(name, c_op)                                                                           \
    case TN_OP_##name: return is_wide ? name##_uint64_t : name##_uint32_t;
        EACH_COMPUTED(CASE)
#undef CASE
    default: return NULL;
    }
}

static tn_scalar_fn *find_compared(int64_t direction, tn_element_type e)
{
    switch (direction) {
#define CASE(name, c_op)                                                                           \
    case TN_comparison_direction_##name:                                                           \
        return e == TN_I32   ? name##_int32_t                                                      \
               : e == TN_I64 ? name##_int64_t                                                      \
               : e == TN_U32 ? name##_uint32_t                                                     \
                             : name##_uint64_t;
        EACH_COMPARED(CASE)
#undef CASE
    default: return NULL;
    }
}

tn_scalar_fn *tn_small_scalar(const tn_tile_program *t, const tn_op **out)
{
    if (t->n != 1 || t->n_fused != 1 || t->n_outputs != 1) return NULL;
    const tn_op *op = t->outputs[0].value->op;
    if (!op || op->n_operands != 2 || op->n_results != 1) return NULL;
    const tn_type *type = op->operands[0]->type;
    tn_element_type e = type->element;
    if ((e != TN_I32 && e != TN_I64 && e != TN_U32 && e != TN_U64) || type->quantization)
        return NULL;
    for (uint32_t i = 0; i < 2; i++)
        if (op->operands[i]->type->element != e || tn_type_elements(op->operands[i]->type) != 1)
            return NULL;
    *out = op;
    if (op->kind == TN_OP_compare)
        return find_compared(tn_op_int(op, TN_ATTR_comparison_direction, -1), e);
    return find_computed(op->kind, e == TN_I64 || e == TN_U64);
}

/* Whether a window is one piece: whole in all dimensions behind the first that is neither whole nor
 * a single place. */
static bool is_piece(const tn_type *whole, const tn_type *part)
{
    bool inside = false; /* a dimension in front has several places */
    for (uint32_t i = 0; i < whole->rank; i++) {
        if (inside && part->dims[i] != whole->dims[i]) return false;
        inside = inside || part->dims[i] != 1;
    }
    return true;
}

const tn_window *tn_window_of(const tn_op *op, tn_arena *a)
{
    if (op->kind != TN_OP_dynamic_slice && op->kind != TN_OP_dynamic_update_slice) return NULL;
    bool updates = op->kind == TN_OP_dynamic_update_slice;
    const tn_type *whole = op->operands[0]->type;
    const tn_type *part = updates ? op->operands[1]->type : op->results[0].type;
    if (!tn_type_is_static(whole) || !tn_type_is_static(part) || whole->rank != part->rank)
        return NULL;
    size_t bytes = tn_type_bytes(part);
    if (!bytes || !is_piece(whole, part)) return NULL;
    tn_window *w = tn_alloc(a, sizeof *w + whole->rank * sizeof *w->at);
    *w = (tn_window){.bytes = bytes};
    for (uint32_t i = 0; i < whole->rank; i++) {
        uint32_t operand = i + (updates ? 2 : 1);
        int64_t room = whole->dims[i] - part->dims[i];
        if (room < 0) return NULL;
        if (room > 0)
            w->at[w->n++] = (tn_window_index){operand, op->operands[operand]->type->element, room,
                                              tn_stride(whole, i)};
    }
    return w;
}

const tn_window *tn_small_window(const tn_op *op, tn_arena *a)
{
    const tn_window *w = tn_window_of(op, a);
    return w && w->bytes <= WINDOW_BYTES ? w : NULL;
}

int64_t tn_window_offset(const tn_window *w, void *const *operands)
{
    int64_t offset = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        const tn_window_index *x = &w->at[i];
        int64_t index = tn_read_index(operands[x->operand], x->element, 0);
        offset += tn_clamp_index(index, 0, x->room) * x->stride;
    }
    return offset;
}
