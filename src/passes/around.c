/* SPDX-License-Identifier: Apache-2.0 */
/* around - squares around the mean of a long line are summed in the pass that makes the mean.
 *
 * Before:  %s = reduce(%x, 0, add)   %m = %s / n   %d = %x - %m   reduce(%d * %d, 0, add)
 * After:   %x as blocks of b elements: %t = reduce(%x, add), %c = %t / b, %e = %x - %c,
 *          %q = reduce(%e * %e, add), for each block; %s = reduce(%t, add), %m = %s / n and
 *          reduce(%q + b (%c - %m)^2, add)
 * Both sums of a block are made while it is in the nearest cache, so a line that exceeds the caches
 * is read once. The same but for rounding, whatever %m is, as long as it is one number for each
 * line and comes from a sum of %x; sums around block means are the more exact ones. NaN and
 * infinities give NaN as before; where the sum of a line overflows, infinity as before.
 * Not:     lines without a divisor of some hundred to some thousand; f16 and bf16.
 * Source:  T. F. Chan, G. H. Golub, R. J. LeVeque, Updating formulae and a pairwise algorithm for
 *          computing sample variances, 1979. */
#include <string.h>

#include "ops/ops.h"
#include "passes/rewrite.h"

enum {
    RANK = 32,
    LINE_AT_LEAST = 1 << 16, /* elements; shorter ones stay in the caches in between */
    BLOCK_AT_LEAST = 256,
    BLOCK_BYTES = 16 << 10,
    FAR = 8 /* ops between the sum and what is subtracted, at most */
};

typedef struct {
    tn_op *sum;          /* of x */
    tn_value *x, *mean;  /* one number a line */
    uint32_t kept;       /* dimensions in front that are kept */
    int64_t line, block; /* elements */
} around;

static bool is_sum(const tn_op *op)
{
    if (!op || op->kind != TN_OP_reduce || op->n_operands != 2) return false;
    const tn_op *body = tn_op_of_body(&op->regions[0]);
    return body && body->kind == TN_OP_add &&
           op->regions[0].args[0].type->element == tn_operand_type(op, 0)->element;
}

/* The sum of all dimensions but the first ones. */
static bool find_line(const tn_op *op, around *a)
{
    const tn_type *t = tn_operand_type(op, 0);
    if (t->rank + 2 > RANK || !tn_type_is_static(t) || t->quantization) return false;
    a->kept = tn_result_type(op, 0)->rank;
    a->line = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (tn_op_has_int(op, TN_ATTR_dimensions, d) != (d >= a->kept)) return false;
        if (d >= a->kept) a->line *= t->dims[d];
    }
    return a->line >= LINE_AT_LEAST;
}

/* A number of elements that divides a line into blocks, 2^k if there is one. */
static int64_t block_of(int64_t line, size_t bytes)
{
    int64_t most = BLOCK_BYTES / (int64_t)bytes;
    for (int64_t b = most; b >= BLOCK_AT_LEAST; b /= 2)
        if (line % b == 0) return b;
    for (int64_t b = most; b >= BLOCK_AT_LEAST; b--)
        if (line % b == 0) return b;
    return 0;
}

/* What `v`, of x's shape, has of each line, or NULL. */
static tn_value *number_of_line(const tn_value *v, const tn_type *x, uint32_t kept)
{
    const tn_op *by = v->op;
    if (!by || by->kind != TN_OP_broadcast_in_dim) return NULL;
    tn_value *from = tn_value_resolve(by->operands[0]);
    uint32_t n;
    const int64_t *to = tn_op_ints(by, TN_ATTR_broadcast_dimensions, &n);
    int64_t lines = 1, before = -1;
    for (uint32_t d = 0; d < kept; d++) lines *= x->dims[d];
    if (tn_type_elements(from->type) != lines) return NULL;
    for (uint32_t i = 0; i < n; i++) {
        int64_t size = from->type->dims[i];
        if (to[i] <= before || (size != 1 && (to[i] >= kept || size != x->dims[to[i]])))
            return NULL;
        before = to[i];
    }
    return from;
}

/* The sum of x that `v` is made of by a few ops. */
static tn_op *sum_behind(const tn_value *v, const tn_value *x)
{
    for (int far = 0; far < FAR && v->op; far++) {
        tn_op *op = v->op;
        if (is_sum(op) && tn_value_resolve(op->operands[0]) == x) return op;
        if (op->kind != TN_OP_broadcast_in_dim && op->kind != TN_OP_reshape &&
            op->kind != TN_OP_multiply && op->kind != TN_OP_divide)
            return NULL;
        uint32_t k = op->n_operands == 2 && tn_constant_of(tn_value_resolve(op->operands[0]));
        v = tn_value_resolve(op->operands[k]);
    }
    return NULL;
}

static bool find(const tn_op *op, around *a)
{
    if (!is_sum(op) || !find_line(op, a)) return false;
    const tn_op *square = tn_value_resolve(op->operands[0])->op;
    if (!square || square->kind != TN_OP_multiply) return false;
    const tn_value *d = tn_value_resolve(square->operands[0]);
    if (d != tn_value_resolve(square->operands[1]) || !d->op || d->op->kind != TN_OP_subtract)
        return false;
    a->x = tn_value_resolve(d->op->operands[0]);
    a->mean = number_of_line(tn_value_resolve(d->op->operands[1]), a->x->type, a->kept);
    tn_element_type e = a->x->type->element;
    if (!a->mean || (e != TN_F32 && e != TN_F64)) return false;
    a->sum = sum_behind(a->mean, a->x);
    around of_sum = {0};
    if (!a->sum || !find_line(a->sum, &of_sum) || of_sum.kept != a->kept) return false;
    a->block = block_of(a->line, tn_element_type_bytes(e));
    return a->block > 0;
}

static tn_value *spread(tn_module *m, tn_op *where, const tn_type *to, tn_value *v, uint32_t rank)
{
    int64_t dims[RANK];
    for (uint32_t i = 0; i < rank; i++) dims[i] = i;
    tn_op *by = tn_rewrite_op(m, where, TN_OP_broadcast_in_dim, to, 1, &v);
    tn_rewrite_ints(m, by, TN_ATTR_broadcast_dimensions, dims, rank);
    return &by->results[0];
}

static tn_value *two(tn_module *m, tn_op *where, tn_op_kind kind, tn_value *a, tn_value *b)
{
    return &tn_rewrite_op(m, where, kind, a->type, 2, (tn_value *[]){a, b})->results[0];
}

/* `number` at all places of a type. */
static tn_value *splat(tn_module *m, tn_op *where, const tn_type *t, double number)
{
    float f = (float)number;
    int64_t bits = 0;
    if (t->element == TN_F64) memcpy(&bits, &number, 8);
    else memcpy(&bits, &f, 4);
    return tn_rewrite_splat(m, where, t, bits);
}

/* The sum of v along its last dimension, by the body of `like`. */
static tn_value *sum_last(tn_module *m, tn_op *where, tn_op *like, tn_value *v, const tn_type *to)
{
    tn_op *by = tn_op_clone(m, like, tn_value_map_new(m->arena, 8));
    const tn_type *one = tn_type_tensor(m->arena, to->element, 0, NULL);
    by->operands[0] = v;
    by->operands[1] = splat(m, where, one, -0.0);
    by->results[0].type = to;
    tn_rewrite_ints(m, by, TN_ATTR_dimensions, (int64_t[]){to->rank}, 1);
    tn_op_insert_before(where, by);
    return &by->results[0];
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    around a;
    if (op->kind != TN_OP_reduce || !find(op, &a)) return NULL;
    uint32_t k = a.kept;
    tn_element_type e = a.x->type->element;
    int64_t dims[RANK];
    memcpy(dims, a.x->type->dims, k * sizeof *dims);
    dims[k] = a.line / a.block;
    dims[k + 1] = a.block;
    const tn_type *lines = tn_type_tensor(m->arena, e, k, dims);
    const tn_type *blocks = tn_type_tensor(m->arena, e, k + 1, dims);
    const tn_type *all = tn_type_tensor(m->arena, e, k + 2, dims);

    tn_op *sum = a.sum;
    tn_value *x = &tn_rewrite_op(m, sum, TN_OP_reshape, all, 1, &a.x)->results[0];
    tn_value *total = sum_last(m, sum, sum, x, blocks);
    bool exact = !(a.block & (a.block - 1));
    tn_value *size = splat(m, sum, blocks, exact ? 1 / (double)a.block : (double)a.block);
    tn_value *center = two(m, sum, exact ? TN_OP_multiply : TN_OP_divide, total, size);
    tn_value *off = two(m, sum, TN_OP_subtract, x, spread(m, sum, all, center, k + 1));
    tn_value *squares = sum_last(m, sum, sum, two(m, sum, TN_OP_multiply, off, off), blocks);
    sum->operands[0] = total;
    tn_rewrite_ints(m, sum, TN_ATTR_dimensions, (int64_t[]){k}, 1);

    tn_value *mean = &tn_rewrite_op(m, op, TN_OP_reshape, lines, 1, &a.mean)->results[0];
    tn_value *by = two(m, op, TN_OP_subtract, center, spread(m, op, blocks, mean, k));
    tn_value *far = two(m, op, TN_OP_multiply, two(m, op, TN_OP_multiply, by, by),
                        splat(m, op, blocks, (double)a.block));
    op->operands[0] = two(m, op, TN_OP_add, squares, far);
    tn_rewrite_ints(m, op, TN_ATTR_dimensions, (int64_t[]){k}, 1);
    *changed = true;
    return NULL;
}

tn_status *tn_pass_around(tn_module *m, bool *changed)
{
    return tn_rewrite(m, rewrite, changed);
}
