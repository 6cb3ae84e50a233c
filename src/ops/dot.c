/* SPDX-License-Identifier: Apache-2.0 */
/* dot_general, dot: contraction of two tensors, as one batch of matrix products.
 *
 * Dimensions are sorted into batch, lhs free (rows), rhs free (columns) and contracting ones, each
 * with its strides in both operands and the result, and neighbours that lie one after the other
 * merge. Usually one row, column and contracting dimension is left, and the product runs on the
 * operands where they are; other row and column dimensions join the batch. Only contracting
 * dimensions that don't merge cost a copy of an operand: they are taken in the order that they have
 * in the larger one, so that it is the smaller one that is copied. */
#include <stdlib.h>

#include "kernels/gemm.h"
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/dot.h"
#include "ops/infer.h"
#include "ops/product.h"
#include "ops/strided.h"

/* --- dimension numbers --- */

typedef struct {
    tn_ints lhs_batch, rhs_batch, lhs_contract, rhs_contract;
} numbers;

static tn_ints ints_of(const tn_op *op, tn_attr_name name)
{
    tn_ints list;
    list.v = tn_op_ints(op, name, &list.n);
    return list;
}

/* `dot` contracts the last dimension of lhs with the first of rhs. */
static numbers numbers_of(const tn_op *op, int64_t *last)
{
    static const int64_t first = 0;
    if (op->kind == TN_OP_dot) {
        *last = (int64_t)tn_operand_type(op, 0)->rank - 1;
        return (numbers){.lhs_contract = {last, 1}, .rhs_contract = {&first, 1}};
    }
    return (numbers){ints_of(op, TN_ATTR_lhs_batching_dimensions),
                     ints_of(op, TN_ATTR_rhs_batching_dimensions),
                     ints_of(op, TN_ATTR_lhs_contracting_dimensions),
                     ints_of(op, TN_ATTR_rhs_contracting_dimensions)};
}

static bool is_free(tn_ints batch, tn_ints contract, int64_t dim)
{
    return !tn_ints_have(batch, dim) && !tn_ints_have(contract, dim);
}

/* --- inference --- */

/* A list of dimensions of one operand, none of which the other list has. */
static tn_status *check_list(const tn_op *op, tn_attr_name name, uint32_t operand, tn_ints *out)
{
    return tn_check_dims(op, name, tn_operand_type(op, operand)->rank, false, out);
}

static tn_status *check_disjoint(const tn_op *op, tn_attr_name x, tn_attr_name y)
{
    tn_ints xs = ints_of(op, x), ys = ints_of(op, y);
    for (uint32_t i = 0; i < xs.n; i++)
        if (tn_ints_have(ys, xs.v[i]))
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "dimension %" PRId64 " is in both %s and %s",
                               xs.v[i], tn_attr_text(x), tn_attr_text(y));
    return NULL;
}

static tn_status *check_pairs(const tn_op *op, const char *what, tn_ints lhs, tn_ints rhs)
{
    const tn_type *x = tn_operand_type(op, 0), *y = tn_operand_type(op, 1);
    if (lhs.n != rhs.n)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "lhs has %u %s dimensions, rhs has %u", lhs.n,
                           what, rhs.n);
    for (uint32_t i = 0; i < lhs.n; i++)
        if (!tn_dims_agree(x->dims[lhs.v[i]], y->dims[rhs.v[i]]))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "%s dimension %" PRId64 " of lhs has size %" PRId64
                               ", but dimension %" PRId64 " of rhs has size %" PRId64,
                               what, lhs.v[i], x->dims[lhs.v[i]], rhs.v[i], y->dims[rhs.v[i]]);
    return NULL;
}

static tn_status *infer_result(const tn_op *op, tn_arena *a, const tn_type **out)
{
    int64_t last;
    numbers d = numbers_of(op, &last);
    const tn_type *x = tn_operand_type(op, 0), *y = tn_operand_type(op, 1);
    TN_TRY(check_pairs(op, "batching", d.lhs_batch, d.rhs_batch));
    TN_TRY(check_pairs(op, "contracting", d.lhs_contract, d.rhs_contract));
    if (op->kind == TN_OP_dot || op->kind == TN_OP_dot_general) TN_TRY(tn_check_product_types(op));
    int64_t *dims = TN_NEW_ARRAY(a, int64_t, x->rank + y->rank);
    uint32_t rank = 0;
    for (uint32_t i = 0; i < d.lhs_batch.n; i++) {
        int64_t size = x->dims[d.lhs_batch.v[i]];
        dims[rank++] = size == TN_DYNAMIC ? y->dims[d.rhs_batch.v[i]] : size;
    }
    for (uint32_t i = 0; i < x->rank; i++)
        if (is_free(d.lhs_batch, d.lhs_contract, i)) dims[rank++] = x->dims[i];
    for (uint32_t i = 0; i < y->rank; i++)
        if (is_free(d.rhs_batch, d.rhs_contract, i)) dims[rank++] = y->dims[i];
    out[0] = tn_product_type(op, a, rank, dims);
    return NULL;
}

tn_status *tn_infer_dot_general(const tn_op *op, tn_arena *a, const tn_type **out)
{
    tn_ints unused;
    TN_TRY(tn_check_tensor(op, 0));
    TN_TRY(tn_check_tensor(op, 1));
    TN_TRY(check_list(op, TN_ATTR_lhs_batching_dimensions, 0, &unused));
    TN_TRY(check_list(op, TN_ATTR_lhs_contracting_dimensions, 0, &unused));
    TN_TRY(check_list(op, TN_ATTR_rhs_batching_dimensions, 1, &unused));
    TN_TRY(check_list(op, TN_ATTR_rhs_contracting_dimensions, 1, &unused));
    TN_TRY(check_disjoint(op, TN_ATTR_lhs_batching_dimensions, TN_ATTR_lhs_contracting_dimensions));
    TN_TRY(check_disjoint(op, TN_ATTR_rhs_batching_dimensions, TN_ATTR_rhs_contracting_dimensions));
    return infer_result(op, a, out);
}

/* tenon.mixed_dot: a dot_general of an integer tensor by a float one (passes/narrow);
 * tenon.ordered_dot: that, or any, with sums in the order of k (passes/transposed). */
tn_status *tn_infer_mixed_dot(const tn_op *op, tn_arena *a, const tn_type **out)
{
    return tn_infer_dot_general(op, a, out);
}

tn_status *tn_infer_dot(const tn_op *op, tn_arena *a, const tn_type **out)
{
    for (uint32_t i = 0; i < 2; i++) {
        TN_TRY(tn_check_tensor(op, i));
        uint32_t rank = tn_operand_type(op, i)->rank;
        if (rank < 1 || rank > 2)
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u has rank %u, expected 1 or 2", i,
                               rank);
    }
    return infer_result(op, a, out);
}

/* tenon.add_dot: operand 0 plus the product of the others (passes/accumulate). */
static tn_op product_of(const tn_op *op)
{
    tn_op product = *op;
    product.operands++;
    product.n_operands--;
    return product;
}

tn_status *tn_infer_add_dot(const tn_op *op, tn_arena *a, const tn_type **out)
{
    tn_op product = product_of(op);
    TN_TRY(tn_infer_dot_general(&product, a, out));
    if (tn_type_equal(out[0], op->operands[0]->type)) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand 0 is not of the product's type");
}

/* --- evaluation --- */

/* One loop of the contraction: strides in elements, 0 where a tensor doesn't have the dimension. */
typedef struct {
    int64_t size, a, b, c;
} loop;

enum { MAX_LOOPS = 64 };

/* Loops of one role, outermost first, as few as possible. */
typedef struct {
    loop v[MAX_LOOPS];
    uint32_t n;
} loops;

/* Loops of size 1 vanish, so that of non-empty tensors at most 62 remain. */
static void push(loops *list, loop next)
{
    if (next.size == 1) return;
    if (list->n) {
        loop *last = &list->v[list->n - 1];
        if (last->a == next.a * next.size && last->b == next.b * next.size &&
            last->c == next.c * next.size) {
            *last = (loop){last->size * next.size, next.a, next.b, next.c};
            return;
        }
    }
    list->v[list->n++] = next;
}

typedef struct {
    loops batch, rows, columns, contract;
} roles;

/* The order in which contracting dimensions are taken: that of their places in one operand. */
static void sort_by_place(tn_ints places, uint32_t *order)
{
    for (uint32_t i = 0; i < places.n; i++) {
        uint32_t at = i;
        for (; at > 0 && places.v[order[at - 1]] > places.v[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
}

/* Strides of x, y and the result; `order` is that of the contracting dimensions. */
static void assign_roles(const tn_type *x, const int64_t *x_strides, const tn_type *y,
                         const int64_t *y_strides, const tn_type *z, const numbers *d,
                         const uint32_t *order, roles *out)
{
    out->batch.n = out->rows.n = out->columns.n = out->contract.n = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < d->lhs_batch.n; i++, at++)
        push(&out->batch, (loop){z->dims[at], x_strides[d->lhs_batch.v[i]],
                                 y_strides[d->rhs_batch.v[i]], tn_step(z, at)});
    for (uint32_t i = 0; i < x->rank; i++)
        if (is_free(d->lhs_batch, d->lhs_contract, i)) {
            push(&out->rows, (loop){x->dims[i], x_strides[i], 0, tn_step(z, at)});
            at++;
        }
    for (uint32_t i = 0; i < y->rank; i++)
        if (is_free(d->rhs_batch, d->rhs_contract, i)) {
            push(&out->columns, (loop){y->dims[i], 0, y_strides[i], tn_step(z, at)});
            at++;
        }
    for (uint32_t i = 0; i < d->lhs_contract.n; i++) {
        uint32_t k = order[i];
        int64_t p = d->lhs_contract.v[k], q = d->rhs_contract.v[k];
        push(&out->contract, (loop){x->dims[p], x_strides[p], y_strides[q], 0});
    }
}

/* Takes one loop out of `list`, the longest or one along which the result is contiguous, since
 * whole vectors are written there; the others go to the batch. */
static loop take_one(loops *list, loops *batch)
{
    enum { ROW = 8 }; /* elements that are worth it */
    loop longest = {1, 0, 0, 0};
    uint32_t at = list->n;
    for (uint32_t i = 0; i < list->n; i++) {
        bool is_row = list->v[i].c == 1 && list->v[i].size >= ROW;
        if (list->v[i].size > longest.size || is_row) longest = list->v[i], at = i;
        if (is_row) break;
    }
    for (uint32_t i = 0; i < list->n; i++)
        if (i != at) batch->v[batch->n++] = list->v[i];
    return longest;
}

/* Copies `from` so that its dimensions lie in the order `places`, and gives their new strides. */
static tn_status *arranged(const tn_op *op, const tn_eval_context *ctx, tn_tensor *from,
                           const uint32_t *places, int64_t *strides)
{
    const tn_type *t = from->type;
    void *copy = tn_scratch_alloc(ctx->scratch, tn_type_bytes(t));
    if (!copy)
        return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "no memory for %zu bytes", tn_type_bytes(t));
    int64_t step = 1;
    for (uint32_t i = t->rank; i-- > 0; step *= t->dims[places[i]]) strides[places[i]] = step;
    tn_strided s;
    tn_strided_init(&s);
    for (uint32_t i = 0; i < t->rank; i++)
        tn_strided_push(&s, t->dims[places[i]], strides[places[i]] * tn_width(t),
                        tn_stride(t, places[i]));
    tn_strided_run(&s, (size_t)tn_width(t), copy, from->data, ctx->pool);
    from->data = copy;
    return NULL;
}

/* Batching dimensions, then free ones, then contracting ones in order; or contracting before free.
 */
static void canonical_order(const tn_type *t, tn_ints batch, tn_ints contract,
                            const uint32_t *order, bool contract_last, uint32_t *places)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < batch.n; i++) places[n++] = (uint32_t)batch.v[i];
    for (int part = 0; part < 2; part++) {
        if (part == contract_last)
            for (uint32_t i = 0; i < contract.n; i++) places[n++] = (uint32_t)contract.v[order[i]];
        else
            for (uint32_t i = 0; i < t->rank; i++)
                if (is_free(batch, contract, i)) places[n++] = i;
    }
}

static int64_t total(const loops *list)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < list->n; i++) n *= list->v[i].size;
    return n;
}

/* Rows (or columns) of several strides make a batch of products, which is slow where those are
 * small and many: a copy of the operand costs less if each element of it is used often. */
static bool wants_copy(const loops *list, const roles *r)
{
    enum { MANY = 1 << 20 /* multiply-adds */, LARGE = 1 << 21, USES = 64 };
    if (list->n < 2) return false;
    const loops *others = list == &r->rows ? &r->columns : &r->rows;
    int64_t uses = total(others), k = total(&r->contract), longest = 1, longest_other = 1;
    for (uint32_t i = 0; i < list->n; i++)
        if (list->v[i].size > longest) longest = list->v[i].size;
    for (uint32_t i = 0; i < others->n; i++)
        if (others->v[i].size > longest_other) longest_other = others->v[i].size;
    return uses >= USES && (double)total(list) * (double)uses * (double)k >= MANY &&
           (double)longest * (double)longest_other * (double)k < LARGE;
}

static bool is_one_product(const roles *r)
{
    uint32_t others =
        (r->rows.n > 1 ? r->rows.n - 1 : 0) + (r->columns.n > 1 ? r->columns.n - 1 : 0);
    return r->contract.n <= 1 && r->batch.n + others <= TN_GEMM_MAX_BATCH;
}

static void fill_gemm(const tn_op *op, roles *r, tn_gemm *g)
{
    g->in_order = op->kind == TN_OP_ordered_dot;
    loop one = {1, 0, 0, 0};
    loop row = take_one(&r->rows, &r->batch), column = take_one(&r->columns, &r->batch);
    loop k = r->contract.n ? r->contract.v[0] : one;
    g->m = row.size, g->a_row = row.a, g->c_row = row.c;
    g->n = column.size, g->b_col = column.b, g->c_col = column.c;
    g->k = k.size, g->a_col = k.a, g->b_row = k.b;
    g->batch_rank = r->batch.n;
    for (uint32_t i = 0; i < r->batch.n; i++) {
        loop l = r->batch.v[i];
        g->batch[i] = l.size, g->a_batch[i] = l.a, g->b_batch[i] = l.b, g->c_batch[i] = l.c;
    }
}

/* Memory for lists as long as ranks. */
typedef struct {
    int64_t *strides;
    uint32_t *order;
} lists;

/* Sorts the dimensions of operands that lie as their types say. Contracting ones are taken in the
 * order that they have in the larger operand; true: that is lhs. */
static bool begin_roles(const numbers *d, const tn_type *x, const tn_type *y, const tn_type *z,
                        int64_t *const strides[2], uint32_t *order, roles *out)
{
    for (uint32_t i = 0; i < x->rank; i++) strides[0][i] = tn_step(x, i);
    for (uint32_t i = 0; i < y->rank; i++) strides[1][i] = tn_step(y, i);
    bool lhs_stays = tn_type_bytes(x) >= tn_type_bytes(y);
    sort_by_place(lhs_stays ? d->lhs_contract : d->rhs_contract, order);
    assign_roles(x, strides[0], y, strides[1], z, d, order, out);
    return lhs_stays;
}

bool tn_dot_gemm(const tn_op *op, tn_arena *a, tn_gemm *out)
{
    uint32_t first = op->kind == TN_OP_add_dot;
    const tn_type *x = tn_operand_type(op, first), *y = tn_operand_type(op, first + 1),
                  *z = tn_result_type(op, 0);
    const tn_type *types[] = {x, y, z};
    for (uint32_t i = 0; i < 3; i++)
        if (!tn_type_is_static(types[i]) || types[i]->quantization || tn_is_empty(types[i]))
            return false;
    if (!tn_gemm_supports(x->element, y->element, z->element)) return false;
    int64_t last;
    numbers d = numbers_of(op, &last);
    uint32_t *order = TN_NEW_ARRAY(a, uint32_t, d.lhs_contract.n + 1);
    int64_t *strides[2] = {TN_NEW_ARRAY(a, int64_t, x->rank + 1),
                           TN_NEW_ARRAY(a, int64_t, y->rank + 1)};
    roles r;
    begin_roles(&d, x, y, z, strides, order, &r);
    if (!is_one_product(&r)) return false;
    *out = (tn_gemm){.a_type = x->element, .b_type = y->element, .c_type = z->element};
    fill_gemm(op, &r, out);
    return true;
}

/* Without memory it is packed each time. */
static const void *packed_once(const tn_eval_context *ctx, const tn_gemm *g, const void *b)
{
    size_t size = tn_gemm_packed_bytes(g);
    if (!size || *ctx->packed) return *ctx->packed;
    if ((*ctx->packed = aligned_alloc(64, size))) tn_gemm_pack(g, b, *ctx->packed, ctx->pool);
    return *ctx->packed;
}

static tn_status *run_product(const tn_op *op, const tn_eval_context *ctx, const numbers *d,
                              tn_tensor *x, tn_tensor *y, const tn_tensor *z, const lists *memory)
{
    int64_t *strides[2] = {memory->strides, memory->strides + x->type->rank};
    uint32_t *order = memory->order, *places = order + d->lhs_contract.n;
    roles r;
    bool lhs_stays = begin_roles(d, x->type, y->type, z->type, strides, order, &r);
    bool copies[] = {wants_copy(&r.columns, &r), wants_copy(&r.rows, &r)};
    /* One contiguous operand may be enough, else both. */
    for (int i = 0; i < 2; i++) {
        bool lhs = lhs_stays == (i == 1);
        if (is_one_product(&r) && !copies[lhs]) continue;
        if (lhs) {
            canonical_order(x->type, d->lhs_batch, d->lhs_contract, order, true, places);
            TN_TRY(arranged(op, ctx, x, places, strides[0]));
        } else {
            canonical_order(y->type, d->rhs_batch, d->rhs_contract, order, false, places);
            TN_TRY(arranged(op, ctx, y, places, strides[1]));
        }
        assign_roles(x->type, strides[0], y->type, strides[1], z->type, d, order, &r);
    }
    tn_gemm g = {
        .a_type = x->type->element, .b_type = y->type->element, .c_type = z->type->element};
    fill_gemm(op, &r, &g);
    g.add = op->kind == TN_OP_add_dot;
    if (g.add && !tn_gemm_may_add(&g))
        return TN_OP_ERROR(INTERNAL, op, "such a product is not added to others");
    if (ctx->packed) g.packed_b = packed_once(ctx, &g, y->data);
    void *workspace = tn_scratch_alloc(ctx->scratch, tn_gemm_workspace(&g, ctx->pool));
    tn_gemm_run(&g, x->data, y->data, z->data, ctx->pool, workspace);
    return NULL;
}

tn_status *tn_eval_dot_general(const tn_op *op, const tn_eval_context *ctx,
                               const tn_tensor *operands, tn_tensor *results)
{
    int64_t last;
    numbers d = numbers_of(op, &last);
    if (tn_is_empty(results[0].type)) return NULL;
    tn_product_tensors t;
    TN_TRY(tn_product_begin(op, ctx, operands, results, false, &t));
    if (tn_is_empty(t.lhs.type)) { /* sums of nothing */
        memset(t.out.data, 0, tn_type_bytes(t.out.type));
    } else {
        size_t n = (size_t)t.lhs.type->rank + t.rhs.type->rank + 1;
        lists memory = {tn_scratch_alloc(ctx->scratch, n * sizeof(int64_t)),
                        tn_scratch_alloc(ctx->scratch, 2 * n * sizeof(uint32_t))};
        if (!memory.strides || !memory.order)
            return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "no memory for %zu dimensions", n);
        TN_TRY(run_product(op, ctx, &d, &t.lhs, &t.rhs, &t.out, &memory));
    }
    return tn_product_end(op, ctx, &t, results);
}

tn_status *tn_eval_dot(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                       tn_tensor *results)
{
    return tn_eval_dot_general(op, ctx, operands, results);
}

tn_status *tn_eval_add_dot(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                           tn_tensor *results)
{
    tn_op product = product_of(op);
    if (results[0].data != operands[0].data)
        memcpy(results[0].data, operands[0].data, tn_type_bytes(results[0].type));
    return tn_eval_dot_general(&product, ctx, operands + 1, results);
}
