/* SPDX-License-Identifier: Apache-2.0 */
/* sort: always stable, whatever is_stable says. */
#include <pthread.h>
#include <stdlib.h>

#include "base/thread_pool.h"
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"
#include "ops/sort_keys.h"
#include "ops/sort_order.h"

static int64_t dimension_of(const tn_op *op)
{
    int64_t d = tn_op_int(op, TN_ATTR_dimension, -1);
    return d < 0 ? d + tn_operand_type(op, 0)->rank : d;
}

tn_status *tn_infer_sort(const tn_op *op, tn_arena *a, const tn_type **out)
{
    if (!op->n_operands || op->n_results != op->n_operands)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "expected as many results as operands, at least 1; got %u and %u",
                           op->n_results, op->n_operands);
    tn_element_type *args = TN_NEW_ARRAY(a, tn_element_type, 2 * (size_t)op->n_operands);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        TN_TRY(tn_check_tensor(op, i));
        TN_TRY(tn_check_same_shape(op, 0, i));
        args[2 * i] = args[2 * i + 1] = tn_operand_type(op, i)->element;
        out[i] = tn_operand_type(op, i);
    }
    uint32_t rank = out[0]->rank;
    int64_t d = tn_op_int(op, TN_ATTR_dimension, -1);
    if (d < -(int64_t)rank || d >= (int64_t)rank)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "dimension should be in [-%u, %u) and is %" PRId64,
                           rank, rank, d);
    return tn_check_region(op, 0, 2 * op->n_operands, args, 1, (tn_element_type[]){TN_I1});
}

/* --- evaluation: line by line --- */

typedef struct {
    const tn_op *op;
    const tn_tensor *operands;
    tn_tensor *results;
    tn_comparator comparator;
    const tn_sort_key *key; /* NULL: by comparing */
    const void **key_captures;
    int64_t n, inner;     /* elements of a line, and their distance */
    pthread_mutex_t lock; /* of status */
    tn_status *status;
} job;

/* Memory of one thread. */
typedef struct {
    void **lines; /* [n_operands]: the line of each operand, dense */
    uint32_t *order;
    void *scratch;
    tn_sort_item *items;
} workspace;

static void *aligned(size_t bytes)
{
    return aligned_alloc(64, (bytes + 64) & ~(size_t)63);
}

static void end_workspace(const job *j, workspace *w)
{
    for (uint32_t k = 0; w->lines && k < j->op->n_operands; k++) free(w->lines[k]);
    free(w->lines);
    free(w->order);
    free(w->scratch);
    free(w->items);
}

static size_t key_scratch(const job *j)
{
    return tn_body_scratch(j->key->key) + 64 + TN_BODY_TILE * 16 +
           2 * (size_t)j->op->n_operands * sizeof(void *);
}

static tn_status *begin_workspace(const job *j, workspace *w)
{
    uint32_t operands = j->op->n_operands;
    *w = (workspace){.lines = calloc(operands, sizeof *w->lines),
                     .order = aligned((size_t)j->n * 4)};
    bool ok = w->lines && w->order;
    for (uint32_t k = 0; k < operands && ok; k++)
        ok = (w->lines[k] = aligned((size_t)j->n * j->comparator.widths[k])) != NULL;
    w->scratch = aligned(j->key ? key_scratch(j) : tn_sort_order_scratch(&j->comparator, j->n));
    if (j->key) w->items = aligned(2 * (size_t)j->n * sizeof *w->items);
    if (ok && w->scratch && (w->items || !j->key)) return NULL;
    end_workspace(j, w);
    return TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "no memory to sort lines of %" PRId64 " elements",
                       j->n);
}

/* to[i * to_step] = from[(order ? order[i] : i) * from_step] */
static void move(const void *from, int64_t from_step, const uint32_t *order, void *to,
                 int64_t to_step, int64_t n, size_t width)
{
#define MOVE(T)                                                                                    \
    do {                                                                                           \
        for (int64_t i = 0; i < n; i++)                                                            \
            ((T *)to)[i * to_step] =                                                               \
                ((const T *)from)[(order ? (int64_t)order[i] : i) * from_step];                    \
        return;                                                                                    \
    } while (0)
    typedef struct {
        uint64_t half[2];
    } sixteen;
    switch (width) {
    case 1: MOVE(uint8_t);
    case 2: MOVE(uint16_t);
    case 4: MOVE(uint32_t);
    case 8: MOVE(uint64_t);
    default: MOVE(sixteen);
    }
#undef MOVE
}

/* w->order of the line by its key. */
static tn_status *order_by_key(const job *j, workspace *w)
{
    uint32_t operands = j->op->n_operands;
    char *tile = w->scratch, *body = tile + TN_BODY_TILE * 16;
    const void **args = (const void **)(body + ((tn_body_scratch(j->key->key) + 63) & ~(size_t)63));
    for (int64_t begin = 0; begin < j->n; begin += TN_BODY_TILE) {
        int64_t n = j->n - begin < TN_BODY_TILE ? j->n - begin : TN_BODY_TILE;
        for (uint32_t k = 0; k < operands; k++)
            args[2 * k] = args[2 * k + 1] =
                (char *)w->lines[k] + (size_t)begin * j->comparator.widths[k];
        void *results[] = {tile};
        TN_TRY(tn_body_run(j->key->key, j->comparator.ctx, (size_t)n, args, results,
                           j->key_captures, body));
        tn_sort_items(j->key, n, tile, (uint32_t)begin, w->items + begin);
    }
    tn_sort_radix(w->items, w->items + j->n, j->n);
    for (int64_t i = 0; i < j->n; i++) w->order[i] = w->items[i].index;
    return NULL;
}

static tn_status *sort_line(const job *j, workspace *w, int64_t line)
{
    int64_t start = line / j->inner * j->n * j->inner + line % j->inner;
    for (uint32_t k = 0; k < j->op->n_operands; k++) {
        size_t width = j->comparator.widths[k];
        move((const char *)j->operands[k].data + (size_t)start * width, j->inner, NULL, w->lines[k],
             1, j->n, width);
    }
    if (j->key) TN_TRY(order_by_key(j, w));
    else
        TN_TRY(tn_sort_order(&j->comparator, j->n, (const void *const *)w->lines, w->order,
                             w->scratch));
    for (uint32_t k = 0; k < j->op->n_operands; k++) {
        size_t width = j->comparator.widths[k];
        move(w->lines[k], 1, w->order, (char *)j->results[k].data + (size_t)start * width, j->inner,
             j->n, width);
    }
    return NULL;
}

static void sort_lines(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    workspace w;
    tn_status *s = begin_workspace(j, &w);
    if (!s) {
        for (int64_t line = begin; line < end && !s; line++) s = sort_line(j, &w, line);
        end_workspace(j, &w);
    }
    if (!s) return;
    pthread_mutex_lock(&j->lock);
    if (j->status) tn_status_free(s);
    else j->status = s;
    pthread_mutex_unlock(&j->lock);
}

static tn_status *run(job *j, const tn_type *t)
{
    double n = (double)j->n, log = 1;
    for (double k = n; k > 1; k /= 2) log++;
    double cost = j->key ? 20 * n : 2 * n * log * log; /* ns, roughly, of one line */
    pthread_mutex_init(&j->lock, NULL);
    tn_parallel_for(j->comparator.ctx->pool, tn_type_elements(t) / j->n, cost, sort_lines, j);
    pthread_mutex_destroy(&j->lock);
    return j->status;
}

/* The key captures some of what the comparator does. */
static tn_status *capture_for_key(job *j, const tn_eval_context *ctx)
{
    const tn_body *key = j->key->key, *whole = j->comparator.body;
    j->key_captures =
        tn_scratch_alloc(ctx->scratch, (key->n_captures + 1) * sizeof *j->key_captures);
    if (!j->key_captures) return TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "out of memory");
    for (uint32_t i = 0; i < key->n_captures; i++)
        for (uint32_t k = 0; k < whole->n_captures; k++)
            if (tn_value_resolve(whole->captures[k]) == tn_value_resolve(key->captures[i]))
                j->key_captures[i] = j->comparator.captures[k];
    return NULL;
}

tn_status *tn_eval_sort(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                        tn_tensor *results)
{
    const tn_type *t = operands[0].type;
    if (!tn_type_elements(t)) return NULL;
    job j = {.op = op, .operands = operands, .results = results};
    j.n = t->dims[dimension_of(op)];
    j.inner = tn_step(t, (uint32_t)dimension_of(op));
    if (j.n > UINT32_MAX - 1)
        return TN_OP_ERROR(UNIMPLEMENTED, op, "lines of %" PRId64 " elements are not sorted", j.n);
    size_t *widths = tn_scratch_alloc(ctx->scratch, op->n_operands * sizeof *widths);
    const void **captures =
        tn_scratch_alloc(ctx->scratch, (ctx->bodies[0]->n_captures + 1) * sizeof *captures);
    if (!widths || !captures) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    for (uint32_t k = 0; k < op->n_operands; k++) widths[k] = (size_t)tn_width(operands[k].type);
    for (uint32_t k = 0; k < ctx->bodies[0]->n_captures; k++)
        captures[k] = operands[op->n_operands + k].data;
    j.comparator = (tn_comparator){ctx->bodies[0], ctx, captures, op->n_operands, widths};
    tn_sort_key key;
    bool found = false;
    TN_TRY(tn_sort_key_find(op, &key, &found));
    tn_status *s = NULL;
    if (found) {
        j.key = &key;
        s = capture_for_key(&j, ctx);
    }
    if (!s) s = run(&j, t);
    if (found) tn_sort_key_end(&key);
    return s;
}
