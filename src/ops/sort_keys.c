/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/sort_keys.h"

#include <string.h>

#define MAX_DEPTH 64 /* of an expression that is compared with its twin */

/* --- recognition --- */

/* Is `y` the expression `x` with every argument of the left element replaced by that of the right
 * one? */
static bool is_twin(const tn_value *x, const tn_value *y, const tn_region *body, int depth)
{
    if (depth > MAX_DEPTH) return false;
    bool from_body = x->region == body;
    if (!from_body) return x == y;
    if (!x->op || !y->op)
        return !x->op && !y->op && y->region == body && x->index % 2 == 0 &&
               y->index == x->index + 1;
    const tn_op *p = x->op, *q = y->op;
    if (p->kind != q->kind || x->index != y->index || p->n_operands != q->n_operands ||
        p->n_regions || tn_op_has_trait(p, TN_TRAIT_SIDE_EFFECT) ||
        !tn_type_equal(x->type, y->type))
        return false;
    for (uint32_t i = 0; i < p->n_attrs; i++)
        if ((p->attrs[i] || q->attrs[i]) && !tn_attr_equal(p->attrs[i], q->attrs[i])) return false;
    for (uint32_t i = 0; i < p->n_operands; i++)
        if (!is_twin(tn_value_resolve(p->operands[i]), tn_value_resolve(q->operands[i]), body,
                     depth + 1))
            return false;
    return true;
}

/* Does the order of `direction` on this type agree with that of the radix keys? FLOAT comparisons
 * call -0 and +0 equal and NaNs neither less nor greater, which no key does. */
static bool is_total(const tn_op *compare)
{
    const tn_type *t = tn_operand_type(compare, 0);
    if (t->rank || t->quantization || tn_element_type_bytes(t->element) > 8) return false;
    if (tn_is_float(t->element))
        return tn_op_int(compare, TN_ATTR_compare_type, TN_comparison_type_FLOAT) ==
               TN_comparison_type_TOTALORDER;
    return tn_is_integer(t->element) || t->element == TN_I1;
}

typedef struct {
    const tn_region *comparator;
    tn_value *key;
    tn_sort_key *out;
} request;

/* The comparator's region again, returning the key instead of the comparison. */
static tn_status *cut_off(void *ctx)
{
    request *r = ctx;
    tn_arena *a = r->out->arena;
    tn_module *m = tn_module_new(a);
    tn_region *copy = TN_NEW(a, tn_region);
    tn_region_init(m, copy, r->comparator->function, r->comparator->parent, r->comparator->n_args);
    tn_value_map *map = tn_value_map_new(a, 64);
    for (uint32_t i = 0; i < copy->n_args; i++) {
        copy->args[i].type = r->comparator->args[i].type;
        tn_value_map_set(map, &r->comparator->args[i], &copy->args[i]);
    }
    for (const tn_op *op = r->comparator->first; op->next; op = op->next) {
        if (r->key->op == NULL) break;
        tn_op_append(copy, tn_op_clone(m, op, map));
        if (op == r->key->op) break;
    }
    tn_op *end = tn_op_new(m, TN_OP_return, 1, 0, 0);
    tn_value *key = tn_value_map_get(map, r->key);
    end->operands[0] = key ? key : r->key;
    tn_op_append(copy, end);
    return tn_body_compile(copy, a, &r->out->key);
}

tn_status *tn_sort_key_find(const tn_op *op, tn_sort_key *out, bool *found)
{
    *found = false;
    const tn_region *body = &op->regions[0];
    const tn_value *returned = tn_value_resolve(body->last->operands[0]);
    const tn_op *compare = returned->op;
    if (!compare || compare->kind != TN_OP_compare || compare->region != body || !is_total(compare))
        return NULL;
    int64_t direction = tn_op_int(compare, TN_ATTR_comparison_direction, -1);
    if (direction != TN_comparison_direction_LT && direction != TN_comparison_direction_GT)
        return NULL;
    tn_value *x = tn_value_resolve(compare->operands[0]),
             *y = tn_value_resolve(compare->operands[1]);
    bool straight = is_twin(x, y, body, 0), swapped = !straight && is_twin(y, x, body, 0);
    if (!straight && !swapped) return NULL;
    *out = (tn_sort_key){.arena = tn_arena_new(), .element = x->type->element};
    if (!out->arena) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "no memory for the comparator");
    out->descending = (direction == TN_comparison_direction_GT) == straight;
    request r = {body, straight ? x : y, out};
    tn_status *s = tn_arena_run(out->arena, cut_off, &r);
    if (s) tn_sort_key_end(out);
    *found = !s;
    return s;
}

void tn_sort_key_end(tn_sort_key *k)
{
    tn_arena_free(k->arena);
    k->arena = NULL;
}

/* --- keys --- */

#define EACH(T, expression)                                                                        \
    do {                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T v = ((const T *)keys)[i];                                                            \
            out[i] = (tn_sort_item){(expression) ^ flip, first + (uint32_t)i};                     \
        }                                                                                          \
        return;                                                                                    \
    } while (0)

/* Two's complement to offset binary; sign and magnitude to the order of values. */
#define SIGNED(T, U, BITS) EACH(T, (U)v ^ (U)((U)1 << (BITS - 1)))
#define FLOAT(U, BITS)     EACH(U, (U)(v >> (BITS - 1) ? ~v : v | (U)((U)1 << (BITS - 1))))

void tn_sort_items(const tn_sort_key *k, int64_t n, const void *keys, uint32_t first,
                   tn_sort_item *out)
{
    unsigned bytes = tn_element_type_bytes(k->element);
    uint64_t flip = !k->descending ? 0 : bytes == 8 ? UINT64_MAX : (1ull << (8 * bytes)) - 1;
    switch (tn_element_type_class(k->element)) {
    case TN_CLASS_SINT:
        if (bytes == 1) SIGNED(int8_t, uint8_t, 8);
        if (bytes == 2) SIGNED(int16_t, uint16_t, 16);
        if (bytes == 4) SIGNED(int32_t, uint32_t, 32);
        SIGNED(int64_t, uint64_t, 64);
    case TN_CLASS_FLOAT:
        if (bytes == 1) { /* floats narrower than a byte keep their sign in their top bit */
            unsigned shift = 8 - tn_element_type_bits(k->element);
            EACH(uint8_t, (uint8_t)(v << shift) >> 7 ? (uint8_t)~(v << shift)
                                                     : (uint8_t)((v << shift) | 0x80));
        }
        if (bytes == 2) FLOAT(uint16_t, 16);
        if (bytes == 4) FLOAT(uint32_t, 32);
        FLOAT(uint64_t, 64);
    default:
        if (bytes == 1) EACH(uint8_t, v);
        if (bytes == 2) EACH(uint16_t, v);
        if (bytes == 4) EACH(uint32_t, v);
        EACH(uint64_t, v);
    }
}

/* --- sorting --- */

static void insertion(tn_sort_item *items, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        tn_sort_item v = items[i];
        int64_t j = i;
        for (; j && items[j - 1].key > v.key; j--) items[j] = items[j - 1];
        items[j] = v;
    }
}

enum { DIGIT = 11, BUCKETS = 1 << DIGIT };

/* One stable pass by `shift`; false if all items share the digit, and then nothing was moved. */
static bool pass(const tn_sort_item *from, tn_sort_item *to, int64_t n, unsigned shift,
                 uint64_t differing)
{
    if (!(differing >> shift & (BUCKETS - 1))) return false;
    uint32_t at[BUCKETS] = {0};
    for (int64_t i = 0; i < n; i++) at[from[i].key >> shift & (BUCKETS - 1)]++;
    uint32_t sum = 0;
    for (unsigned d = 0; d < BUCKETS; d++) {
        uint32_t count = at[d];
        at[d] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) to[at[from[i].key >> shift & (BUCKETS - 1)]++] = from[i];
    return true;
}

void tn_sort_radix(tn_sort_item *items, tn_sort_item *spare, int64_t n)
{
    if (n < 48) {
        insertion(items, n);
        return;
    }
    uint64_t differing = 0;
    for (int64_t i = 1; i < n; i++) differing |= items[i].key ^ items[0].key;
    tn_sort_item *from = items, *to = spare;
    for (unsigned shift = 0; shift < 64; shift += DIGIT) {
        if (!pass(from, to, n, shift, differing)) continue;
        tn_sort_item *t = from;
        from = to;
        to = t;
    }
    if (from != items) memcpy(items, from, (size_t)n * sizeof *items);
}
