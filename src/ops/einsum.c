/* SPDX-License-Identifier: Apache-2.0 */
/* einsum and unary_einsum, by their definition: result[out labels] is the sum over all other labels
 * of the product of operand elements, where operands may name a label twice. Floats are summed in
 * f64 and rounded once, integers wrap. */
#include <stdlib.h>

#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"

enum { OPERANDS = 2, LABELS = 52 };

/* Sizes by label; -1: not used. TN_DYNAMIC is known to no operand. */
typedef struct {
    const char *labels[OPERANDS + 1]; /* of each operand, then of the result */
    uint32_t ranks[OPERANDS + 1];
    int64_t sizes[LABELS];
} equation;

static int label_of(char c)
{
    return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

static tn_status *parse(const tn_op *op, equation *e)
{
    const char *config = tn_op_string(op, TN_ATTR_einsum_config), *c = config;
    for (uint32_t i = 0; i <= op->n_operands; i++) {
        e->labels[i] = c;
        e->ranks[i] = 0;
        while (label_of(*c) >= 0) {
            c++;
            e->ranks[i]++;
        }
        const char *stop = i == op->n_operands ? "" : i + 1 == op->n_operands ? "->" : ",";
        size_t n = strlen(stop);
        if (*c == '.')
            return TN_OP_ERROR(UNIMPLEMENTED, op, "ellipses in einsum_config '%s'", config);
        if (strncmp(c, stop, n) || (!n && *c))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "einsum_config '%s' should name %u operands and a result by letters",
                               config, op->n_operands);
        c += n;
    }
    return NULL;
}

static tn_status *infer(const tn_op *op, tn_arena *a, const tn_type **out)
{
    equation e;
    TN_TRY(parse(op, &e));
    TN_TRY(tn_check_result_tensor(op, 0));
    for (int i = 0; i < LABELS; i++) e.sizes[i] = -1;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        TN_TRY(tn_check_rank(op, i, e.ranks[i]));
        const tn_type *t = tn_operand_type(op, i);
        if (tn_is_complex(t->element) != tn_is_complex(tn_result_type(op, 0)->element) ||
            t->quantization)
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s can't be a factor of %s",
                               TN_TYPE_IN_MESSAGE(t), TN_TYPE_IN_MESSAGE(tn_result_type(op, 0)));
        for (uint32_t d = 0; d < t->rank; d++) {
            int64_t *size = &e.sizes[label_of(e.labels[i][d])];
            if (*size != -1 && !tn_dims_agree(*size, t->dims[d]))
                return TN_OP_ERROR(INVALID_ARGUMENT, op,
                                   "dimension %u of operand %u, '%c', should be %" PRId64
                                   " and is %" PRId64,
                                   d, i, e.labels[i][d], *size, t->dims[d]);
            if (*size == -1 || *size == TN_DYNAMIC) *size = t->dims[d];
        }
    }
    uint32_t rank = e.ranks[op->n_operands];
    const char *labels = e.labels[op->n_operands];
    int64_t *dims = TN_NEW_ARRAY(a, int64_t, rank);
    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = e.sizes[label_of(labels[d])];
        if (dims[d] == -1 || memchr(labels, labels[d], d))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "'%c' of the result should be named once, and by an operand too",
                               labels[d]);
    }
    out[0] = tn_type_tensor(a, tn_result_type(op, 0)->element, rank, dims);
    return NULL;
}

tn_status *tn_infer_einsum(const tn_op *op, tn_arena *a, const tn_type **out)
{
    return infer(op, a, out);
}

tn_status *tn_infer_unary_einsum(const tn_op *op, tn_arena *a, const tn_type **out)
{
    return infer(op, a, out);
}

/* --- evaluation: a walk over all labels, those of the result outermost --- */

typedef struct {
    uint32_t n, kept;      /* labels in all, and of the result */
    int64_t sizes[LABELS]; /* in the order of the walk */
    int64_t steps[OPERANDS][LABELS];
} walk;

static void plan(const equation *e, uint32_t n_operands, const tn_tensor *operands, walk *w)
{
    int place[LABELS];
    for (int i = 0; i < LABELS; i++) place[i] = -1;
    for (uint32_t pass = 0; pass <= n_operands; pass++) {
        uint32_t i = (pass + n_operands) % (n_operands + 1); /* the result first */
        for (uint32_t d = 0; d < e->ranks[i]; d++) {
            int label = label_of(e->labels[i][d]);
            if (place[label] < 0) place[label] = (int)w->n++;
        }
        if (!pass) w->kept = w->n;
    }
    for (uint32_t i = 0; i < n_operands; i++) {
        const tn_type *t = operands[i].type;
        for (uint32_t d = 0; d < t->rank; d++) {
            int at = place[label_of(e->labels[i][d])];
            w->sizes[at] = t->dims[d];
            w->steps[i][at] += tn_step(t, d);
        }
    }
}

/* The next place of labels [from, to); false after the last. */
static bool advance(const walk *w, uint32_t from, uint32_t to, int64_t *at, int64_t *offsets)
{
    for (uint32_t k = to; k-- > from;) {
        at[k]++;
        for (int i = 0; i < OPERANDS; i++) offsets[i] += w->steps[i][k];
        if (at[k] < w->sizes[k]) return true;
        for (int i = 0; i < OPERANDS; i++) offsets[i] -= w->steps[i][k] * w->sizes[k];
        at[k] = 0;
    }
    return false;
}

#define SUM(T, PRODUCT)                                                                            \
    do {                                                                                           \
        T *out = to;                                                                               \
        const T *x = from[0], *y = from[1];                                                        \
        do {                                                                                       \
            T sum = 0;                                                                             \
            if (!empty) do                                                                         \
                    sum += PRODUCT;                                                                \
                while (advance(w, w->kept, w->n, at, o));                                          \
            *out++ = sum;                                                                          \
        } while (advance(w, 0, w->kept, at, o));                                                   \
    } while (0)

static void sum(const walk *w, tn_element_type e, uint32_t n_operands, void *const *from, void *to)
{
    int64_t at[LABELS] = {0}, o[OPERANDS] = {0};
    bool empty = false;
    for (uint32_t k = w->kept; k < w->n; k++) empty = empty || w->sizes[k] == 0;
    bool one = n_operands == 1;
    if (e == TN_I64) SUM(uint64_t, one ? x[o[0]] : x[o[0]] * y[o[1]]);
    else if (e == TN_F64) SUM(double, one ? x[o[0]] : x[o[0]] * y[o[1]]);
    else SUM(_Complex double, one ? x[o[0]] : x[o[0]] * y[o[1]]);
}

static tn_status *eval(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                       tn_tensor *results)
{
    equation e;
    TN_TRY(parse(op, &e));
    const tn_type *result = results[0].type;
    if (tn_is_empty(result)) return NULL;
    tn_element_type wide = tn_is_complex(result->element) ? TN_C128
                           : tn_is_float(result->element) ? TN_F64
                                                          : TN_I64;
    walk w = {0};
    plan(&e, op->n_operands, operands, &w);
    void *from[OPERANDS] = {NULL}, *to;
    int64_t n = tn_type_elements(result);
    to = tn_scratch_alloc(ctx->scratch, (size_t)n * 16);
    bool done = to != NULL;
    for (uint32_t i = 0; i < op->n_operands && done; i++) {
        int64_t size = tn_type_elements(operands[i].type);
        from[i] = tn_scratch_alloc(ctx->scratch, (size_t)size * 16 + 16);
        done = from[i] && tn_convert_elements(operands[i].type->element, operands[i].data, wide,
                                              from[i], size);
    }
    if (!done) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    sum(&w, wide, op->n_operands, from, to);
    tn_convert_elements(wide, to, result->element, results[0].data, n);
    return NULL;
}

tn_status *tn_eval_einsum(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                          tn_tensor *results)
{
    return eval(op, ctx, operands, results);
}

tn_status *tn_eval_unary_einsum(const tn_op *op, const tn_eval_context *ctx,
                                const tn_tensor *operands, tn_tensor *results)
{
    return eval(op, ctx, operands, results);
}
