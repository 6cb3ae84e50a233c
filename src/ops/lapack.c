/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/lapack.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread_pool.h"
#include "kernels/gemm_kernels.h"
#include "kernels/int_math.h"
#include "ops/custom_call.h"
#include "ops/infer.h"
#include "ops/piece_memory.h"
#include "ops/strided.h"

#define CONFIG   "mhlo.backend_config"
#define UNWANTED "tenon.unwanted" /* of the configuration: job.unwanted */

/* --- names and signatures --- */

/* "lapack_spotrf_ffi": its family, element type and routine ("spotrf"). */
static const tn_lapack_family *parse(const char *target, tn_element_type *e, char routine[16])
{
    static const char prefix[] = "lapack_", suffix[] = "_ffi";
    size_t n = strlen(target);
    if (n < sizeof prefix + sizeof suffix || strcmp(target + n - (sizeof suffix - 1), suffix))
        return NULL;
    const char *name = target + sizeof prefix - 1;
    size_t length = n - (sizeof prefix - 1) - (sizeof suffix - 1);
    if (length > 15) return NULL;
    snprintf(routine, 16, "%.*s", (int)length, name);
    *e = *name == 's'   ? TN_F32
         : *name == 'd' ? TN_F64
         : *name == 'c' ? TN_C64
         : *name == 'z' ? TN_C128
                        : TN_INVALID;
    for (const tn_lapack_family *f = tn_lapack_families; f->name; f++)
        if (*e != TN_INVALID && !strcmp(f->name, routine + 1)) return f;
    return NULL;
}

/* The two calls that JAX's lowerings for other platforms make have the signatures of geqrf and
 * orgqr; the element type is that of the operand. */
static const tn_lapack_family *find_family(const tn_op *op, tn_element_type *e, char routine[16])
{
    const char *target = tn_op_string(op, TN_ATTR_call_target_name);
    bool qr = !strcmp(target, "Qr");
    if (!qr && strcmp(target, "ProductOfElementaryHouseholderReflectors"))
        return parse(target, e, routine);
    tn_element_type x = op->n_operands ? tn_operand_type(op, 0)->element : TN_INVALID;
    char letter = x == TN_F32    ? 's'
                  : x == TN_F64  ? 'd'
                  : x == TN_C64  ? 'c'
                  : x == TN_C128 ? 'z'
                                 : '?';
    char name[32];
    snprintf(name, sizeof name, "lapack_%c%s_ffi", letter,
             qr                 ? "geqrf"
             : tn_is_complex(x) ? "ungqr"
                                : "orgqr");
    return parse(name, e, routine);
}

static tn_element_type letter_type(char letter, tn_element_type e)
{
    bool single = e == TN_F32 || e == TN_C64;
    switch (letter) {
    case 'R': return tn_real_type(e);
    case 'C': return single ? TN_C64 : TN_C128;
    case 'I': return TN_I32;
    default: return e;
    }
}

/* Sizes of the dimensions by letter; -1: not seen yet. */
typedef struct {
    int64_t of[128];
} dims;

static int64_t size_of(dims *d, char letter, int64_t seen)
{
    int64_t m = d->of['m'], n = d->of['n'];
    if (letter == 'k') return m < n ? m : n;
    if (letter == 'e') return n > 0 ? n - 1 : 0;
    if (d->of[(int)letter] < 0) d->of[(int)letter] = seen;
    return d->of[(int)letter];
}

/* One operand or result against its part of the signature; `batch` leading dimensions are those of
 * the first operand. */
static tn_status *check_value(const tn_op *op, const char *what, uint32_t i, const tn_type *t,
                              tn_element_type e, const char *text, uint32_t core,
                              const tn_type *first, uint32_t batch, dims *d)
{
    if (t->kind != TN_TYPE_TENSOR || t->element != letter_type(text[0], e) ||
        t->rank != batch + core)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s %u should be of %s and rank %u and is %s",
                           what, i, tn_element_type_text(letter_type(text[0], e)), batch + core,
                           TN_TYPE_IN_MESSAGE(t));
    for (uint32_t j = 0; j < batch + core; j++) {
        int64_t want = j < batch ? first->dims[j] : size_of(d, text[1 + j - batch], t->dims[j]);
        if (t->dims[j] != want || t->dims[j] > INT_MAX)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u of %s %u should be %" PRId64 " and is %" PRId64, j,
                               what, i, want, t->dims[j]);
    }
    return NULL;
}

/* Rank of the first operand beyond its batch dimensions. */
static uint32_t core_rank(const char *text)
{
    uint32_t n = 0;
    while (text[1 + n] && text[1 + n] != ',' && text[1 + n] != '>') n++;
    return n;
}

static tn_status *check_signature(const tn_op *op, const char *signature, tn_element_type e,
                                  dims *d)
{
    memset(d, 0xff, sizeof *d);
    uint32_t i = 0, first_core = core_rank(signature);
    bool results = false;
    const tn_type *first = op->n_operands ? tn_operand_type(op, 0) : NULL;
    if (!first || first->rank < first_core)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand 0 should have at least %u dimensions",
                           first_core);
    uint32_t batch = first->rank - first_core;
    for (const char *text = signature; *text;) {
        uint32_t core = core_rank(text), n = results ? op->n_results : op->n_operands;
        if (i >= n)
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected more than %u %s", n,
                               results ? "results" : "operands");
        const tn_type *t = results ? tn_result_type(op, i) : tn_operand_type(op, i);
        TN_TRY(
            check_value(op, results ? "result" : "operand", i, t, e, text, core, first, batch, d));
        i++;
        text += 1 + core;
        if (*text == '>') {
            if (i != op->n_operands)
                return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected %u operands, got %u", i,
                                   op->n_operands);
            results = true;
            i = 0;
        }
        if (*text) text++;
    }
    if (i != op->n_results)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected %u results, got %u", i, op->n_results);
    return NULL;
}

/* Singular vectors are whole, thin, or not wanted and then of either size. */
static tn_status *check_vectors(const tn_op *op, const dims *d)
{
    int64_t m = d->of['m'], n = d->of['n'], p = d->of['p'], q = d->of['q'], k = m < n ? m : n;
    if (p < 0 || (p == m && q == n) || (p == k && q == k)) return NULL;
    return TN_OP_ERROR(
        INVALID_ARGUMENT, op,
        "results of %" PRId64 " left and %" PRId64 " right singular vectors fit no mode", p, q);
}

/* Operands are the handler's business, which looks at them when it is called: as everywhere with
 * XLA, a program that calls a known target compiles. */
tn_status *tn_infer_lapack(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const char *target = tn_op_string(op, TN_ATTR_call_target_name);
    tn_element_type e;
    char routine[16];
    const tn_lapack_family *f = find_family(op, &e, routine);
    const char *signature = !f ? NULL : tn_is_complex(e) ? f->complex : f->real;
    if (!signature)
        return TN_OP_ERROR(NOT_FOUND, op, "no handler for custom call target '%s' on %s", target,
                           op->n_operands ? TN_TYPE_IN_MESSAGE(tn_operand_type(op, 0)) : "nothing");
    if (!tn_lapack_find(routine))
        return TN_OP_ERROR(NOT_FOUND, op,
                           "target '%s' needs %s of LAPACK, which %s lacks; install scipy or "
                           "libopenblas.so.0, or name a "
                           "library in TN_LAPACK",
                           target, routine, tn_lapack_source());
    for (uint32_t i = 0; i < op->n_results; i++) out[i] = tn_result_type(op, i);
    return NULL;
}

/* --- evaluation: matrix by matrix --- */

typedef struct {
    const tn_op *op;
    const tn_lapack_family *family;
    const tn_tensor *operands;
    tn_tensor *results;
    tn_lapack_item item;              /* all but its pointers */
    uint32_t batch;                   /* leading dimensions */
    size_t in_bytes[4], out_bytes[6]; /* of one item */
    tn_thread_pool *pool;             /* for one matrix alone */
    uint32_t unwanted;                /* results whose content nobody reads, a bit for each */
    tn_piece_memory memory;
    atomic_bool out_of_memory;
} job;

static size_t item_bytes(const tn_type *t, uint32_t batch)
{
    size_t n = tn_element_type_bytes(t->element);
    for (uint32_t i = batch; i < t->rank; i++) n *= (size_t)t->dims[i];
    return n;
}

static bool is_wanted(const job *j, uint32_t result)
{
    return !(j->unwanted >> result & 1);
}

#define TRANSPOSE(T)                                                                               \
    for (int64_t c = 0; c < columns; c++)                                                          \
        for (int64_t r = 0; r < rows; r++)                                                         \
    ((T *)to)[c * rows + r] = ((const T *)from)[r * columns + c]

/* Of matrices so small that to begin a nest of loops would take longer. */
static void transpose_small(const void *from, void *to, int64_t rows, int64_t columns, size_t width)
{
    typedef struct {
        double part[2];
    } pair;
    switch (width) {
    case 4: TRANSPOSE(uint32_t); break;
    case 8: TRANSPOSE(uint64_t); break;
    default: TRANSPOSE(pair); break;
    }
}

enum { SMALL = 256 /* elements */ };

/* to[c][r] = from[r][c] */
static void transpose(const job *j, const void *from, void *to, int64_t rows, int64_t columns,
                      size_t width)
{
    int64_t w = (int64_t)width;
    if (rows * columns <= SMALL) {
        transpose_small(from, to, rows, columns, width);
        return;
    }
    tn_strided nest;
    tn_strided_init(&nest);
    tn_strided_push(&nest, columns, rows * w, w);
    tn_strided_push(&nest, rows, w, columns * w);
    tn_strided_run(&nest, width, to, from, j->pool);
}

void tn_lapack_turn(void *a, int64_t n, int64_t width)
{
    enum { SIDE = 32 };
    const tn_gemm_table *t = tn_gemm_table_get();
    char low[SIDE * SIDE * 8], high[SIDE * SIDE * 8];
    int64_t line = n * width;
    for (int64_t r = 0; r < n; r += SIDE)
        for (int64_t c = 0; c <= r; c += SIDE) {
            int64_t rows = tn_least(SIDE, n - r), cols = tn_least(SIDE, n - c);
            char *below = (char *)a + r * line + c * width,
                 *above = (char *)a + c * line + r * width;
            (width == 4 ? t->transpose4 : t->transpose8)(low, rows * width, below, line, rows,
                                                         cols);
            (width == 4 ? t->transpose4 : t->transpose8)(high, cols * width, above, line, cols,
                                                         rows);
            for (int64_t k = 0; k < rows; k++)
                memcpy(below + k * line, high + k * cols * width, (size_t)(cols * width));
            for (int64_t k = 0; k < cols; k++)
                memcpy(above + k * line, low + k * rows * width, (size_t)(rows * width));
        }
}

static bool is_matrix(const job *j, const tn_type *t)
{
    return t->rank == j->batch + 2 && !j->family->by_rows;
}

/* The result that the operand becomes may hold it in columns too, if it is square. */
static bool is_in_place(const job *j, uint32_t result)
{
    const tn_type *t = j->results[result].type;
    if (result + 1 != j->family->to || !is_matrix(j, t)) return false;
    int64_t n = t->dims[j->batch];
    return n == t->dims[j->batch + 1] && n * n > SMALL && tn_element_type_bytes(t->element) <= 8;
}

/* Memory for every matrix of one item, in columns: operands, then results. */
typedef struct {
    void *in[4], *out[6];
    tn_lapack_work work;
} columns;

static size_t columns_bytes(const job *j)
{
    size_t bytes = 64;
    for (uint32_t i = 0; i < j->op->n_operands; i++)
        if (is_matrix(j, j->operands[i].type) && i + 1 != j->family->from)
            bytes += item_bytes(j->operands[i].type, j->batch) + 64;
    for (uint32_t i = 0; i < j->op->n_results; i++)
        if (is_matrix(j, j->results[i].type) && !is_in_place(j, i))
            bytes += item_bytes(j->results[i].type, j->batch) + 64;
    return bytes;
}

static void *cut(char **memory, const job *j, const tn_type *t)
{
    void *p = *memory;
    if (!is_matrix(j, t)) return NULL;
    *memory += (item_bytes(t, j->batch) + 63) & ~(size_t)63;
    return p;
}

static void place_columns(const job *j, char *memory, columns *w)
{
    for (uint32_t i = 0; i < j->op->n_results; i++)
        w->out[i] = is_in_place(j, i) ? NULL : cut(&memory, j, j->results[i].type);
    for (uint32_t i = 0; i < j->op->n_operands; i++)
        w->in[i] = i + 1 == j->family->from ? w->out[j->family->to - 1]
                                            : cut(&memory, j, j->operands[i].type);
}

/* Info of an empty matrix, vectors that no mode fills: what is not written is zero. */
static void clear_results(const job *j, const tn_lapack_item *item)
{
    for (uint32_t i = 0; i < j->op->n_results; i++) {
        bool matrix = j->results[i].type->rank == j->batch + 2;
        size_t bytes = j->out_bytes[i];
        bool whole = matrix && (j->family->by_rows || i + 1 == j->family->to);
        if (bytes && !whole && is_wanted(j, i)) memset(item->out[i], 0, bytes);
    }
}

static bool run_item(const job *j, columns *w, int64_t index)
{
    tn_lapack_item item = j->item;
    for (uint32_t i = 0; i < j->op->n_operands; i++) {
        const tn_type *t = j->operands[i].type;
        const char *data = (const char *)j->operands[i].data + (size_t)index * j->in_bytes[i];
        item.in[i] = data;
        char *to = w->in[i];
        if (i + 1 == j->family->from && is_in_place(j, j->family->to - 1u)) {
            uint32_t result = j->family->to - 1u;
            to = (char *)j->results[result].data + (size_t)index * j->out_bytes[result];
        }
        if (!to) continue;
        size_t width = tn_element_type_bytes(t->element);
        if (to == data) tn_lapack_turn(to, t->dims[j->batch], (int64_t)width);
        else transpose(j, data, to, t->dims[j->batch], t->dims[j->batch + 1], width);
        item.in[i] = to;
    }
    for (uint32_t i = 0; i < j->op->n_results; i++) {
        size_t bytes = j->out_bytes[i];
        item.out[i] = w->out[i] ? w->out[i] : (char *)j->results[i].data + (size_t)index * bytes;
    }
    item.work = &w->work;
    clear_results(j, &item);
    if (!j->family->run(&item)) return false;
    for (uint32_t i = 0; i < j->op->n_results; i++) {
        const tn_type *t = j->results[i].type;
        if (is_in_place(j, i) && is_wanted(j, i))
            tn_lapack_turn(item.out[i], t->dims[j->batch], tn_element_type_bytes(t->element));
        if (w->out[i] && is_wanted(j, i))
            transpose(j, w->out[i], (char *)j->results[i].data + (size_t)index * j->out_bytes[i],
                      t->dims[j->batch + 1], t->dims[j->batch], tn_element_type_bytes(t->element));
    }
    return true;
}

static void run_items(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    columns w = {0};
    void *memory = tn_piece_memory_take(&j->memory);
    bool ok = memory != NULL;
    if (ok) place_columns(j, memory, &w);
    for (int64_t i = begin; i < end && ok; i++) ok = run_item(j, &w, i);
    tn_lapack_work_end(&w.work);
    tn_piece_memory_give(&j->memory, memory);
    if (!ok) atomic_store(&j->out_of_memory, true);
}

tn_status *tn_eval_lapack(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                          tn_tensor *results)
{
    job j = {.op = op, .operands = operands, .results = results};
    char routine[16];
    tn_element_type e;
    j.family = find_family(op, &e, routine);
    dims d;
    TN_TRY(check_signature(op, tn_is_complex(e) ? j.family->complex : j.family->real, e, &d));
    TN_TRY(check_vectors(op, &d));
    const tn_type *t = operands[0].type;
    j.batch = t->rank - core_rank(tn_is_complex(e) ? j.family->complex : j.family->real);
    j.item = (tn_lapack_item){.op = op,
                              .config = tn_op_extra(op, CONFIG),
                              .element = e,
                              .routine = tn_lapack_find(routine),
                              .m = (int)d.of['m'],
                              .n = (int)d.of['n'],
                              .p = (int)d.of['p'],
                              .q = (int)d.of['q'],
                              .r = (int)d.of['r'],
                              .a = (int)d.of['a']};
    const tn_attr *unwanted = tn_attr_get(j.item.config, UNWANTED);
    j.unwanted = unwanted ? (uint32_t)unwanted->integer : 0;
    for (uint32_t i = 0; i < op->n_operands; i++)
        j.in_bytes[i] = item_bytes(operands[i].type, j.batch);
    for (uint32_t i = 0; i < op->n_results; i++)
        j.out_bytes[i] = item_bytes(results[i].type, j.batch);
    int64_t items = 1;
    for (uint32_t i = 0; i < j.batch; i++) items *= t->dims[i];
    if (tn_lapack_together_fits(j.family, &j.item, items)) {
        tn_lapack_together(j.family, &j.item, operands, results, items, ctx->pool);
        return NULL;
    }
    if (items == 1) j.pool = j.item.pool = ctx->pool;
    tn_piece_memory_begin(&j.memory, ctx->scratch, columns_bytes(&j));
    double n = (double)(d.of['n'] > d.of['m'] ? d.of['n'] : d.of['m']);
    tn_parallel_for(ctx->pool, items, 500 + n * n * n * 0.2, run_items, &j);
    return j.out_of_memory ? TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "no memory for %s", routine)
                           : NULL;
}

/* Of one matrix, which isn't one of those that are done side by side or in columns of their own. */
int64_t tn_lapack_takes(const tn_op *op, uint32_t i)
{
    tn_element_type e;
    char routine[16];
    const tn_lapack_family *f = find_family(op, &e, routine);
    if (!f || i + 1 != f->from || f->to > op->n_results) return -1;
    const tn_type *t = tn_operand_type(op, i);
    bool fits = tn_type_equal(t, tn_result_type(op, f->to - 1u)) && t->rank == 2 &&
                tn_type_is_static(t) && (f->by_rows || t->dims[0] == t->dims[1]) &&
                tn_type_elements(t) > SMALL && tn_element_type_bytes(e) <= 8;
    return fits ? f->to - 1 : -1;
}

/* --- what nobody wants --- */

/* `dict`, or NULL, with another value. */
static const tn_attr *with(tn_arena *a, const tn_attr *dict, const char *key, int64_t value)
{
    uint32_t n = dict ? dict->dict.n : 0, at = 0;
    tn_named_attr *pairs = TN_NEW_ARRAY(a, tn_named_attr, n + 1);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(dict->dict.pairs[i].key, key)) pairs[at++] = dict->dict.pairs[i];
    pairs[at++] = (tn_named_attr){key, tn_attr_int(a, value)};
    tn_attr *by = TN_NEW(a, tn_attr);
    *by = (tn_attr){.kind = TN_ATTR_KIND_DICT, .dict = {pairs, at}};
    return by;
}

static void set_config(tn_arena *a, tn_op *op, const tn_attr *config)
{
    tn_named_attr *extra = TN_NEW_ARRAY(a, tn_named_attr, op->n_extra + 1);
    uint32_t at = 0;
    for (uint32_t i = 0; i < op->n_extra; i++)
        if (strcmp(op->extra[i].key, CONFIG)) extra[at++] = op->extra[i];
    extra[at++] = (tn_named_attr){CONFIG, config};
    op->extra = extra;
    op->n_extra = at;
}

bool tn_lapack_set_unwanted(tn_arena *a, tn_op *op, uint32_t unwanted)
{
    tn_element_type e;
    char routine[16];
    const tn_lapack_family *f = find_family(op, &e, routine);
    const tn_attr *config = tn_op_extra(op, CONFIG);
    if (!f || (config && config->kind != TN_ATTR_KIND_DICT)) return false;
    const tn_attr *before = tn_attr_get(config, UNWANTED);
    if (!unwanted || (before && before->integer == unwanted)) return false;
    for (int i = 0; i < 2 && f->vectors[i].key; i++) {
        const char *key = f->vectors[i].key;
        bool go = true;
        for (int k = 0; k < 2 && f->vectors[k].key; k++) {
            int result = tn_is_complex(e) ? f->vectors[k].complex : f->vectors[k].real;
            go = go && (strcmp(f->vectors[k].key, key) || unwanted >> (result - 1) & 1);
        }
        if (go) config = with(a, config, key, 'N');
    }
    set_config(a, op, with(a, config, UNWANTED, unwanted));
    return true;
}
