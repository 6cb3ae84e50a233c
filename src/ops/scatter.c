/* SPDX-License-Identifier: Apache-2.0 */
/* scatter: windows that don't fit are skipped, updates are applied in the order of their indices.
 */
#include "base/thread_pool.h"
#include "kernels/indexed.h"
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/combiner.h"
#include "ops/infer.h"
#include "ops/piece_memory.h"
#include "ops/strided.h"
#include "ops/windows.h"

/* Operands: n inputs, the indices, n updates. */
static tn_status *check_operands(const tn_op *op, uint32_t *n)
{
    *n = (op->n_operands - 1) / 2;
    if (op->n_operands < 3 || op->n_operands % 2 == 0)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "expected as many updates as inputs, and indices, got %u operands",
                           op->n_operands);
    TN_TRY(tn_check_count(op, "number of results", *n, op->n_results));
    TN_TRY(tn_check_integer(op, *n));
    for (uint32_t i = 0; i < *n; i++) {
        uint32_t update = *n + 1 + i;
        TN_TRY(tn_check_tensor(op, i));
        TN_TRY(tn_check_tensor(op, update));
        TN_TRY(tn_check_same_shape(op, 0, i));
        TN_TRY(tn_check_same_shape(op, *n + 1, update));
        TN_TRY(tn_check_same_element(op, i, update));
    }
    return NULL;
}

static tn_status *check_update_shape(const tn_op *op, uint32_t n)
{
    const tn_type *t = tn_operand_type(op, 0), *indices = tn_operand_type(op, n);
    const tn_type *update = tn_operand_type(op, n + 1);
    tn_window_dims d = tn_scatter_dims(op);
    uint32_t nth = 0, operand_dim = 0;
    for (uint32_t i = 0; i < update->rank; i++) {
        int64_t got = update->dims[i];
        if (!tn_ints_have(d.window_dims, i)) {
            int64_t want = indices->dims[tn_index_dim(&d, nth++)];
            if (!tn_dims_agree(want, got))
                return TN_OP_ERROR(INVALID_ARGUMENT, op,
                                   "dimension %u of the updates should be %" PRId64
                                   ", as in the indices, and is %" PRId64,
                                   i, want, got);
            continue;
        }
        while (!tn_is_window_dim(&d, operand_dim)) operand_dim++;
        int64_t most = t->dims[operand_dim++];
        if (most != TN_DYNAMIC && got > most)
            return TN_OP_ERROR(
                INVALID_ARGUMENT, op,
                "dimension %u of the updates, a window of dimension %u of the input, "
                "should be at most %" PRId64 " and is %" PRId64,
                i, operand_dim - 1, most, got);
    }
    return NULL;
}

tn_status *tn_infer_scatter(const tn_op *op, tn_arena *a, const tn_type **out)
{
    uint32_t n;
    TN_TRY(check_operands(op, &n));
    const tn_type *first = tn_operand_type(op, 0);
    TN_TRY(
        tn_check_window_dims(op, first, tn_operand_type(op, n), tn_operand_type(op, n + 1)->rank));
    TN_TRY(check_update_shape(op, n));
    const tn_region *r = &op->regions[0];
    tn_element_type *types = TN_NEW_ARRAY(a, tn_element_type, 2 * (size_t)n);
    for (uint32_t i = 0; i < n && r->n_args == 2 * n; i++)
        types[i] = types[n + i] = r->args[i].type->element;
    TN_TRY(tn_check_region(op, 0, 2 * n, types, n, types));
    for (uint32_t i = 0; i < n; i++) {
        const tn_type *t = tn_operand_type(op, i);
        if (!tn_is_promotable(t->element, types[i]))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "operand %u is %s, which the body can't take as %s", i,
                               TN_TYPE_IN_MESSAGE(t), tn_element_type_text(types[i]));
        out[i] = t->element == types[i] ? t : tn_type_tensor(a, types[i], t->rank, t->dims);
    }
    return NULL;
}

/* --- evaluation --- */

/* Operand i: a window between either tensor and dense memory. */
typedef struct {
    tn_strided_plan load_result, load_update, store_result;
    void *result, *update, *raw; /* one window each: accumulators, and updates as they come */
} part;

typedef struct {
    const tn_op *op;
    uint32_t n;
    bool overwrites; /* the body gives its second argument */
    tn_combiner combiner;
    tn_windows windows;       /* offsets in elements */
    const tn_tensor *updates; /* [n] */
    tn_tensor *results;       /* [n] */
    part *parts;              /* [n] */
    int64_t size;             /* elements of a window */
    bool contiguous;          /* in both tensors */
    tn_indexed_fn *indexed;   /* for contiguous windows, by one index each */
    int64_t n_parts;          /* of the operand, each done by itself */
    tn_piece_memory memory;
    _Atomic(tn_status *) failure;
} job;

static char *result_at(const job *j, uint32_t i, int64_t at)
{
    return (char *)j->results[i].data + at * (int64_t)j->combiner.parts[i].to_width;
}
static const char *update_at(const job *j, uint32_t i, int64_t at)
{
    return (const char *)j->updates[i].data + at * (int64_t)j->combiner.parts[i].from_width;
}

/* Pointers of one thread: [n] each. */
typedef struct {
    const void **left, **right;
    void **out, *scratch;
} work;

static size_t pointers_size(const job *j)
{
    return (3 * j->n * sizeof(void *) + 63) & ~(size_t)63;
}

static bool take_work(job *j, work *w)
{
    void *memory = tn_piece_memory_take(&j->memory);
    if (!memory) return false;
    w->left = memory;
    w->right = w->left + j->n;
    w->out = (void **)(w->right + j->n);
    w->scratch = (char *)memory + pointers_size(j);
    return true;
}

/* Elements [begin, end) of a window that is contiguous in both tensors, at `to` and `from`. */
static tn_status *apply_run(const job *j, work *w, int64_t to, int64_t from, int64_t begin,
                            int64_t end)
{
    int64_t n = end - begin;
    for (uint32_t i = 0; i < j->n; i++) {
        const tn_combiner_part *p = &j->combiner.parts[i];
        w->left[i] = w->out[i] = result_at(j, i, to + begin);
        w->right[i] = update_at(j, i, from + begin);
        if (p->from == p->acc && !j->overwrites) continue;
        void *converted =
            j->overwrites ? w->out[i] : (char *)j->parts[i].update + (size_t)begin * p->acc_width;
        tn_combiner_load(&j->combiner, i, n, w->right[i], converted);
        w->right[i] = converted;
    }
    if (j->overwrites) return NULL;
    return tn_combiner_run(&j->combiner, n, w->left, w->right, w->out, w->scratch);
}

static tn_status *apply_window(const job *j, work *w, int64_t to, int64_t from)
{
    for (uint32_t i = 0; i < j->n; i++) {
        const tn_combiner_part *p = &j->combiner.parts[i];
        part *q = &j->parts[i];
        void *update = p->from == p->acc ? q->update : q->raw;
        tn_strided_execute(&q->load_update, update, update_at(j, i, from));
        if (update == q->raw) tn_combiner_load(&j->combiner, i, j->size, q->raw, q->update);
        if (!j->overwrites) tn_strided_execute(&q->load_result, q->result, result_at(j, i, to));
        w->left[i] = w->out[i] = q->result;
        w->right[i] = q->update;
    }
    if (!j->overwrites)
        TN_TRY(tn_combiner_run(&j->combiner, j->size, w->left, w->right, w->out, w->scratch));
    for (uint32_t i = 0; i < j->n; i++)
        tn_strided_execute(&j->parts[i].store_result, result_at(j, i, to),
                           j->overwrites ? j->parts[i].update : j->parts[i].result);
    return NULL;
}

/* --- windows of one element, taken together as long as no two go to one place --- */

enum { SLOTS = 1024 };

typedef struct {
    int64_t place[SLOTS];
    uint32_t stamp[SLOTS], now;
} seen;

/* Notes `place`; false if it was there. */
static bool note(seen *s, int64_t place)
{
    uint32_t k = (uint32_t)((uint64_t)place * 0x9E3779B97F4A7C15u >> 54);
    for (; s->stamp[k] == s->now; k = (k + 1) % SLOTS)
        if (s->place[k] == place) return false;
    s->stamp[k] = s->now;
    s->place[k] = place;
    return true;
}

#define MOVE(T, to, from)                                                                          \
    for (int64_t k = 0; k < n; k++) *(T *)(to) = *(const T *)(from);                               \
    return

static void pick(size_t width, int64_t n, const char *src, const int64_t *places, char *dst)
{
    switch (width) {
    case 1: MOVE(uint8_t, dst + k, src + places[k]);
    case 2: MOVE(uint16_t, dst + 2 * k, src + 2 * places[k]);
    case 4: MOVE(uint32_t, dst + 4 * k, src + 4 * places[k]);
    case 8: MOVE(uint64_t, dst + 8 * k, src + 8 * places[k]);
    default:
        for (int64_t k = 0; k < n; k++) memcpy(dst + 16 * k, src + 16 * places[k], 16);
    }
}

static void put(size_t width, int64_t n, const char *src, const int64_t *places, char *dst)
{
    switch (width) {
    case 1: MOVE(uint8_t, dst + places[k], src + k);
    case 2: MOVE(uint16_t, dst + 2 * places[k], src + 2 * k);
    case 4: MOVE(uint32_t, dst + 4 * places[k], src + 4 * k);
    case 8: MOVE(uint64_t, dst + 8 * places[k], src + 8 * k);
    default:
        for (int64_t k = 0; k < n; k++) memcpy(dst + 16 * places[k], src + 16 * k, 16);
    }
}

static tn_status *apply_elements(const job *j, work *w, int64_t n, const int64_t *to,
                                 const int64_t *from)
{
    for (uint32_t i = 0; i < j->n; i++) {
        const tn_combiner_part *p = &j->combiner.parts[i];
        part *q = &j->parts[i];
        void *update = p->from == p->acc ? q->update : q->raw;
        pick(p->from_width, n, j->updates[i].data, from, update);
        if (update == q->raw) tn_combiner_load(&j->combiner, i, n, q->raw, q->update);
        w->left[i] = w->out[i] = q->result;
        w->right[i] = q->update;
        if (!j->overwrites) pick(p->to_width, n, j->results[i].data, to, q->result);
    }
    if (!j->overwrites)
        TN_TRY(tn_combiner_run(&j->combiner, n, w->left, w->right, w->out, w->scratch));
    for (uint32_t i = 0; i < j->n; i++)
        put(j->combiner.parts[i].to_width, n,
            j->overwrites ? j->parts[i].update : j->parts[i].result, to, j->results[i].data);
    return NULL;
}

static tn_status *scatter_elements(const job *j, work *w, seen *s, int64_t n, int64_t *to,
                                   int64_t *from)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < n; k++) {
        if (to[k] < 0) continue;
        to[kept] = to[k];
        from[kept++] = from[k];
    }
    if (j->overwrites) return apply_elements(j, w, kept, to, from);
    const tn_combiner_part *p = &j->combiner.parts[0];
    if (j->combiner.by_kernel && p->from == p->acc) {
        for (int64_t k = 0; k < kept; k++) {
            void *at = result_at(j, 0, to[k]);
            tn_kernel_run(&j->combiner.kernel, 1, (const void *[]){at, update_at(j, 0, from[k])},
                          at);
        }
        return NULL;
    }
    int64_t first = 0;
    s->now++;
    for (int64_t k = 0; k < kept; k++) {
        if (note(s, to[k])) continue;
        TN_TRY(apply_elements(j, w, k - first, to + first, from + first));
        first = k;
        s->now++;
        note(s, to[k]);
    }
    return apply_elements(j, w, kept - first, to + first, from + first);
}

/* --- all windows --- */

/* Elements [begin, end) of them. */
static tn_status *scatter(const job *j, work *w, int64_t begin, int64_t end)
{
    int64_t to[TN_WINDOWS_AT_ONCE], from[TN_WINDOWS_AT_ONCE];
    for (int64_t at = 0; at < j->windows.n; at += TN_WINDOWS_AT_ONCE) {
        int64_t n = j->windows.n - at;
        if (n > TN_WINDOWS_AT_ONCE) n = TN_WINDOWS_AT_ONCE;
        tn_windows_offsets(&j->windows, at, n, to, from);
        for (int64_t k = 0; k < n; k++) {
            if (to[k] < 0) continue;
            if (j->contiguous) TN_TRY(apply_run(j, w, to[k], from[k], begin, end));
            else TN_TRY(apply_window(j, w, to[k], from[k]));
        }
    }
    return NULL;
}

static tn_status *scatter_all_elements(const job *j, work *w)
{
    int64_t to[TN_WINDOWS_AT_ONCE], from[TN_WINDOWS_AT_ONCE];
    seen s = {.now = 0};
    for (int64_t at = 0; at < j->windows.n; at += TN_WINDOWS_AT_ONCE) {
        int64_t n = j->windows.n - at;
        if (n > TN_WINDOWS_AT_ONCE) n = TN_WINDOWS_AT_ONCE;
        tn_windows_offsets(&j->windows, at, n, to, from);
        TN_TRY(scatter_elements(j, w, &s, n, to, from));
    }
    return NULL;
}

/* --- by loops of indexed.h --- */

/* Windows [at, last) into elements of parts [begin, end) of `out`, along the dimension of the
 * index. Within a part updates are applied in order, and no window reaches into another part. */
static void scatter_range(const job *j, char *out, int64_t at, int64_t last, int64_t begin,
                          int64_t end)
{
    const tn_windows *w = &j->windows;
    int64_t dims = w->components[0].limit + 1, width = (int64_t)j->combiner.parts[0].to_width;
    tn_window_loop inner = tn_windows_innermost(w);
    while (at < last) {
        tn_window_run first = tn_windows_run(w, at, last);
        tn_indexed_run r = {.indices = (const char *)w->indices +
                                       first.index * (w->index_type == TN_I64 ? 8 : 4),
                            .index = w->index_type,
                            .index_step = inner.index,
                            .n = first.n,
                            .first = dims / j->n_parts * begin,
                            .end = end == j->n_parts ? dims : dims / j->n_parts * end,
                            .step = w->components[0].step * width,
                            .operand_step = inner.operand * width,
                            .other_step = inner.other * width,
                            .size = j->size,
                            .operand = out + first.operand * width,
                            .other = (char *)j->updates[0].data + first.other * width};
        j->indexed(&r);
        at += first.n;
    }
}

static void scatter_indexed(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    scatter_range(j, j->results[0].data, 0, j->windows.n, begin, end);
}

enum { IN_CACHE = 1 << 20 /* bytes */ };

/* --- a table of its own for each thread, where the order of updates is no matter --- */

enum { TABLES = 8, TABLE_BYTES = 1 << 16, FEWEST = 16384 };

typedef struct {
    job *j;
    int64_t n; /* tables; the first is the result */
    char *tables[TABLES];
} shared_out;

static bool is_integer_combiner(const job *j)
{
    switch ((int)j->combiner.kernel_op) {
    case TN_OP_add:
    case TN_OP_maximum:
    case TN_OP_minimum:
    case TN_OP_and:
    case TN_OP_or: break;
    default: return false;
    }
    return tn_is_integer(j->combiner.parts[0].to);
}

static void scatter_to_table(void *ctx, int64_t begin, int64_t end)
{
    const shared_out *s = ctx;
    int64_t n = s->j->windows.n;
    for (int64_t t = begin; t < end; t++)
        scatter_range(s->j, s->tables[t], n * t / s->n, n * (t + 1) / s->n, 0, s->j->n_parts);
}

/* False: it isn't done. */
static bool scatter_shared_out(job *j, const tn_eval_context *ctx)
{
    const tn_combiner_part *p = &j->combiner.parts[0];
    int64_t elements = tn_type_elements(j->results[0].type);
    size_t bytes = (size_t)elements * p->to_width;
    shared_out s = {.j = j, .n = tn_thread_pool_size(ctx->pool)};
    if (s.n > TABLES) s.n = TABLES;
    if (s.n < 2 || j->size != 1 || j->windows.n < FEWEST || j->overwrites) return false;
    if (elements * p->to_width > TABLE_BYTES || elements > j->windows.n / 8) return false;
    if (!is_integer_combiner(j) || tn_windows_run(&j->windows, 0, j->windows.n).n < j->windows.n)
        return false;
    s.tables[0] = j->results[0].data;
    bool adds = j->combiner.kernel_op == TN_OP_add;
    for (int64_t i = 1; i < s.n; i++) {
        if (!(s.tables[i] = tn_scratch_alloc(ctx->scratch, bytes))) return false;
        if (adds) memset(s.tables[i], 0, bytes);
        else memcpy(s.tables[i], s.tables[0], bytes);
    }
    tn_parallel_for(ctx->pool, s.n, (double)j->windows.n / (double)s.n, scatter_to_table, &s);
    for (int64_t i = 1; i < s.n; i++)
        tn_kernel_run(&j->combiner.kernel, (size_t)elements,
                      (const void *[]){s.tables[0], s.tables[i]}, s.tables[0]);
    return true;
}

/* Finds the loop. `whole`: windows are of size 1 in the dimension of the index. */
static void find_indexed(job *j, bool whole, int threads)
{
    const tn_combiner_part *p = &j->combiner.parts[0];
    j->n_parts = 1;
    if (j->n != 1 || !j->contiguous || p->from != p->acc || p->acc != p->to) return;
    if (!tn_windows_are_indexed(&j->windows) || (!j->overwrites && !j->combiner.by_kernel)) return;
    int64_t dims = j->windows.components[0].limit + 1;
    if (dims > INT32_MAX) return;
    j->indexed = tn_indexed_scatter(tn_cpu_isa(), j->windows.index_type,
                                    j->overwrites ? TN_OP_INVALID : j->combiner.kernel_op, p->to);
    if (!whole || (double)j->windows.n * (1 + 0.2 * (double)j->size) < 8192 || dims < 64) return;
    /* Each part goes through all indices, which takes as long as to add in a cache. */
    if (j->size == 1 && dims * (int64_t)p->acc_width <= IN_CACHE) return;
    j->n_parts = threads < dims / 16 ? threads : dims / 16;
}

/* Cuts contiguous windows, so that each thread keeps to places of its own. */
enum { RUN = 256 };

static void scatter_runs(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    work w;
    tn_status *s;
    if (take_work(j, &w)) {
        int64_t last = end * RUN < j->size ? end * RUN : j->size;
        s = scatter(j, &w, begin * RUN, last);
        tn_piece_memory_give(&j->memory, w.left);
    } else {
        s = TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "out of memory");
    }
    tn_keep_first(&j->failure, s);
}

/* The loops over a window, in elements of either tensor, and sizes[rank] of the input. */
typedef struct {
    uint32_t rank;
    int64_t dims[TN_STRIDED_MAX], result[TN_STRIDED_MAX], update[TN_STRIDED_MAX];
} loops;

static void find_loops(const tn_window_dims *d, const tn_type *t, const tn_type *update,
                       int64_t *sizes, loops *l)
{
    l->rank = 0;
    for (uint32_t i = 0, nth = 0; i < t->rank; i++) {
        sizes[i] = 1;
        if (!tn_is_window_dim(d, i)) continue;
        uint32_t dim = (uint32_t)d->window_dims.v[nth++];
        sizes[i] = update->dims[dim];
        if (sizes[i] == 1) continue;
        l->dims[l->rank] = sizes[i];
        l->result[l->rank] = tn_step(t, i);
        l->update[l->rank++] = tn_step(update, dim);
    }
}

static void plan(const loops *l, size_t width, const int64_t *dst, const int64_t *src,
                 tn_strided_plan *out)
{
    tn_strided nest;
    tn_strided_init(&nest);
    int64_t dense = 1, w = (int64_t)width;
    for (uint32_t i = 0; i < l->rank; i++) dense *= l->dims[i];
    for (uint32_t i = 0; i < l->rank; i++) {
        dense /= l->dims[i];
        tn_strided_push(&nest, l->dims[i], (dst ? dst[i] : dense) * w, (src ? src[i] : dense) * w);
    }
    tn_strided_prepare(&nest, width, out);
}

static bool is_dense(const loops *l, const int64_t *steps)
{
    int64_t dense = 1;
    for (uint32_t i = l->rank; i--; dense *= l->dims[i])
        if (steps[i] != dense) return false;
    return true;
}

static bool prepare_parts(job *j, const loops *l, tn_scratch *scratch)
{
    size_t held = (size_t)(j->size > TN_WINDOWS_AT_ONCE ? j->size : TN_WINDOWS_AT_ONCE);
    j->parts = tn_scratch_alloc(scratch, j->n * sizeof *j->parts);
    for (uint32_t i = 0; j->parts && i < j->n; i++) {
        const tn_combiner_part *p = &j->combiner.parts[i];
        part *q = &j->parts[i];
        plan(l, p->to_width, NULL, l->result, &q->load_result);
        plan(l, p->to_width, l->result, NULL, &q->store_result);
        plan(l, p->from_width, NULL, l->update, &q->load_update);
        q->result = tn_scratch_alloc(scratch, held * p->to_width);
        q->update = tn_scratch_alloc(scratch, held * p->acc_width);
        q->raw = tn_scratch_alloc(scratch, held * p->from_width);
        if (!q->result || !q->update || !q->raw) return false;
    }
    return j->parts != NULL;
}

/* Inputs into results, and updates out of the way where they are the memory of a result. */
static tn_status *place(job *j, const tn_eval_context *ctx, const tn_tensor *operands,
                        tn_tensor *updates)
{
    for (uint32_t i = 0; i < j->n; i++) {
        updates[i] = operands[j->n + 1 + i];
        for (uint32_t k = 0; k < j->n; k++) {
            if (updates[i].data != j->results[k].data) continue;
            size_t bytes = tn_type_bytes(updates[i].type);
            void *copy = tn_scratch_alloc(ctx->scratch, bytes);
            if (!copy) return TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "out of memory");
            updates[i].data = memcpy(copy, updates[i].data, bytes);
            break;
        }
    }
    for (uint32_t i = 0; i < j->n; i++) {
        const tn_tensor *from = &operands[i], *to = &j->results[i];
        if (from->type->element == to->type->element)
            tn_copy_bytes(ctx->pool, to->data, from->data, tn_type_bytes(to->type));
        else if (!tn_convert_elements(from->type->element, from->data, to->type->element, to->data,
                                      tn_type_elements(to->type)))
            return TN_OP_ERROR(UNIMPLEMENTED, j->op, "%s can't become %s",
                               TN_TYPE_IN_MESSAGE(from->type), TN_TYPE_IN_MESSAGE(to->type));
    }
    return NULL;
}

tn_status *tn_eval_scatter(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                           tn_tensor *results)
{
    job j = {.op = op, .n = (op->n_operands - 1) / 2, .results = results};
    const tn_type *t = operands[0].type, *update = operands[j.n + 1].type;
    tn_window_dims d = tn_scatter_dims(op);
    tn_tensor *updates = tn_scratch_alloc(ctx->scratch, j.n * sizeof *updates);
    int64_t *sizes = tn_scratch_alloc(ctx->scratch, (t->rank + 1) * sizeof *sizes);
    if (!updates || !sizes) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    if (tn_is_empty(t)) return NULL;
    TN_TRY(place(&j, ctx, operands, updates));
    if (tn_is_empty(update)) return NULL;
    j.updates = updates;
    j.overwrites = ctx->bodies[0]->shortcut == TN_BODY_SECOND;
    TN_TRY(tn_combiner_prepare(op, ctx, 0, operands, j.n, updates, false, &j.combiner));
    loops l;
    find_loops(&d, t, update, sizes, &l);
    tn_type bytes = *t, update_bytes = *update; /* so that offsets count elements */
    bytes.element = update_bytes.element = TN_U8;
    TN_TRY(tn_windows_prepare(op, &d, &operands[j.n], &bytes, &update_bytes, sizes, 0, ctx->scratch,
                              &j.windows));
    j.size = tn_type_elements(update) / j.windows.n;
    j.contiguous = is_dense(&l, l.result) && is_dense(&l, l.update);
    if (!prepare_parts(&j, &l, ctx->scratch))
        return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    tn_piece_memory_begin(&j.memory, ctx->scratch,
                          pointers_size(&j) + tn_combiner_scratch(&j.combiner));
    if (j.contiguous && j.size > RUN) {
        tn_parallel_for(ctx->pool, (j.size + RUN - 1) / RUN, (double)j.windows.n * (5 + RUN * 0.2),
                        scatter_runs, &j);
        return atomic_load(&j.failure);
    }
    bool whole = d.index_map.n == 1 && sizes[d.index_map.v[0]] == 1;
    find_indexed(&j, whole, tn_thread_pool_size(ctx->pool));
    if (j.indexed && scatter_shared_out(&j, ctx)) return NULL;
    if (j.indexed) {
        double each = 0.5 + (1 + 0.2 * (double)j.size) / (double)j.n_parts;
        tn_parallel_for(ctx->pool, j.n_parts, (double)j.windows.n * each, scatter_indexed, &j);
        return NULL;
    }
    work w;
    if (!take_work(&j, &w)) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    tn_status *s = j.size == 1 ? scatter_all_elements(&j, &w) : scatter(&j, &w, 0, j.size);
    tn_piece_memory_give(&j.memory, w.left);
    return s;
}
