/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting by keys: every key becomes an unsigned integer of the same order, once for each element;
 * then lines are sorted by these integers, the last key first. */
#include "base/thread_pool.h"
#include "kernels/select.h"
#include "kernels/sort_lines.h"
#include "ops/access.h"
#include "ops/piece_memory.h"
#include "ops/sort.h"
#include "ops/sort_order.h"

/* --- pairs of a key of 64 bits and a place --- */

enum { INSERTION = 24, MERGE = 100, BUCKETS = 256, BYTES = 8 };

typedef struct {
    uint64_t key;
    uint32_t at;
} pair;

static void insert(pair *p, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        pair x = p[i];
        int64_t j = i;
        for (; j > 0 && p[j - 1].key > x.key; j--) p[j] = p[j - 1];
        p[j] = x;
    }
}

static pair *merge(pair *p, pair *q, int64_t n)
{
    for (int64_t at = 0; at < n; at += INSERTION)
        insert(p + at, n - at < INSERTION ? n - at : INSERTION);
    for (int64_t width = INSERTION; width < n; width *= 2) {
        for (int64_t at = 0; at < n; at += 2 * width) {
            int64_t i = at, i_end = at + width < n ? at + width : n, j = i_end;
            int64_t j_end = at + 2 * width < n ? at + 2 * width : n, o = at;
            while (i < i_end && j < j_end) {
                bool right = p[j].key < p[i].key;
                q[o++] = right ? p[j] : p[i];
                j += right;
                i += !right;
            }
            memcpy(q + o, p + i, (size_t)(i_end - i) * sizeof *p);
            memcpy(q + o + (i_end - i), p + j, (size_t)(j_end - j) * sizeof *p);
        }
        pair *t = p;
        p = q;
        q = t;
    }
    return p;
}

static pair *radix(pair *p, pair *q, int64_t n)
{
    uint32_t count[BYTES][BUCKETS] = {0};
    for (int64_t i = 0; i < n; i++)
        for (int b = 0; b < BYTES; b++) count[b][p[i].key >> 8 * b & 255]++;
    for (int b = 0; b < BYTES; b++) {
        if (count[b][p[0].key >> 8 * b & 255] == n) continue; /* all alike */
        uint32_t sum = 0;
        for (int k = 0; k < BUCKETS; k++) {
            uint32_t c = count[b][k];
            count[b][k] = sum;
            sum += c;
        }
        for (int64_t i = 0; i < n; i++) q[count[b][p[i].key >> 8 * b & 255]++] = p[i];
        pair *t = p;
        p = q;
        q = t;
    }
    return p;
}

/* Sorts `order`, places of the line at keys[base + place * step], stably. */
static void sort_wide(const uint64_t *keys, int64_t base, int64_t step, uint32_t *order, int64_t n,
                      void *memory)
{
    pair *p = memory, *q = p + n;
    for (int64_t i = 0; i < n; i++) p[i] = (pair){keys[base + order[i] * step], order[i]};
    p = n < MERGE ? merge(p, q, n) : radix(p, q, n);
    for (int64_t i = 0; i < n; i++) order[i] = p[i].at;
}

/* --- ranges of an array, on the pool --- */

typedef struct {
    bool wide;
    void *x;
    int64_t bounds[TN_SORT_RANGES + 1];
} ranges;

static void sort_ranges(void *ctx, int64_t begin, int64_t end)
{
    const ranges *r = ctx;
    tn_isa isa = tn_cpu_isa();
    for (int64_t i = begin; i < end; i++) {
        int64_t at = r->bounds[i], n = r->bounds[i + 1] - at;
        if (r->wide) tn_sort_u64(isa, (uint64_t *)r->x + at, n);
        else tn_sort_u32(isa, (uint32_t *)r->x + at, n);
    }
}

/* Sorts x[n]; `pool`: together, where that pays. */
static void sort_array(tn_thread_pool *pool, bool wide, void *x, int64_t n)
{
    enum { ALONE = 1 << 15 };
    ranges r = {.wide = wide, .x = x, .bounds = {0, n}};
    tn_isa isa = tn_cpu_isa();
    int64_t count = 1;
    if (n > ALONE && tn_thread_pool_size(pool) > 1)
        count =
            wide ? tn_sort_split_u64(isa, x, n, r.bounds) : tn_sort_split_u32(isa, x, n, r.bounds);
    tn_parallel_for(pool, count, 5.0 * (double)n / (double)count, sort_ranges, &r);
}

/* The same for keys of 32 bits: a key and its place in the order so far are one number. */
static void sort_narrow(tn_thread_pool *pool, const uint32_t *keys, int64_t base, int64_t step,
                        uint32_t *order, int64_t n, void *memory)
{
    uint64_t *x = memory;
    uint32_t *before = (uint32_t *)(x + n);
    for (int64_t i = 0; i < n; i++)
        x[i] = (uint64_t)keys[base + order[i] * step] << 32 | (uint64_t)i;
    sort_array(pool, true, x, n);
    memcpy(before, order, (size_t)n * sizeof *order);
    for (int64_t i = 0; i < n; i++) order[i] = before[(uint32_t)x[i]];
}

/* --- keys as integers --- */

typedef struct {
    const tn_sort *s;
    const tn_body *body; /* NULL: input `input` itself */
    const void **captures;
    uint32_t input;
    tn_element_type element; /* of the key */
    bool descending, total, wide;
    void *values; /* uint32_t or, if wide, uint64_t of each element of the tensor */
    int64_t n;
    tn_kernel to_f32;
    tn_piece_memory memory;
    _Atomic(tn_status *) failure;
} key;

static void order_tile(const key *k, const void *values, int64_t n, void *out)
{
    float converted[TN_BODY_TILE];
    tn_element_type e = k->element;
    if (tn_is_float(e) && e != TN_F32 && e != TN_F64) {
        tn_kernel_run(&k->to_f32, (size_t)n, &values, converted);
        values = converted;
        e = TN_F32;
    }
    tn_order_keys(tn_cpu_isa(), e, k->total, k->descending, values, n, out);
}

static tn_status *make_tiles(const key *k, int64_t begin, int64_t end, void *memory)
{
    const tn_sort *s = k->s;
    size_t width = k->wide ? 8 : 4;
    const void **args = memory;
    char *values = (char *)memory + ((s->n * sizeof *args + 63) & ~(size_t)63);
    void *scratch = values + TN_BODY_TILE * 16;
    for (int64_t at = begin * TN_BODY_TILE; begin < end; begin++, at += TN_BODY_TILE) {
        int64_t n = k->n - at < TN_BODY_TILE ? k->n - at : TN_BODY_TILE;
        for (uint32_t i = 0; i < s->n; i++)
            args[i] = (const char *)s->inputs[i].data + at * tn_width(s->inputs[i].type);
        const void *key_values = args[k->input];
        if (k->body) {
            void *result = values;
            TN_TRY(tn_body_run(k->body, s->ctx, (size_t)n, args, &result, k->captures, scratch));
            key_values = values;
        }
        order_tile(k, key_values, n, (char *)k->values + (size_t)at * width);
    }
    return NULL;
}

static void make_keys(void *ctx, int64_t begin, int64_t end)
{
    key *k = ctx;
    void *memory = tn_piece_memory_take(&k->memory);
    tn_keep_first(&k->failure, memory ? make_tiles(k, begin, end, memory)
                                      : TN_OP_ERROR(RESOURCE_EXHAUSTED, k->s->op, "out of memory"));
    tn_piece_memory_give(&k->memory, memory);
}

/* --- lines --- */

typedef struct {
    const tn_sort *s;
    uint32_t n_keys;
    tn_sort_values *keys;
    bool by_elements;
    tn_piece_memory memory;
    _Atomic(tn_status *) failure;
} job;

/* A few elements may have the key of another: -0 that of 0, a NaN that of all NaNs. */
enum { STRANGE = 2 };

/* The keys of elements of a line that their keys don't give back, and how many; more than STRANGE
 * where there are more. */
static uint32_t find_strange(const job *j, const void *keys, const char *elements, int64_t n,
                             uint64_t *strange)
{
    const tn_sort_values *k = &j->keys[0];
    enum { TILE = 1024 };
    uint64_t back[TILE];
    int64_t w = tn_width(j->s->inputs[0].type), kw = k->wide ? 8 : 4;
    uint32_t found = 0;
    for (int64_t at = 0; at < n; at += TILE) {
        int64_t size = n - at < TILE ? n - at : TILE;
        const char *part = (const char *)keys + at * kw, *x = elements + at * w;
        tn_restore_keys(tn_cpu_isa(), k->element, k->descending, part, size, back);
        if (!memcmp(back, x, (size_t)(size * w))) continue;
        for (int64_t i = 0; i < size; i++) {
            if (!memcmp((char *)back + i * w, x + i * w, (size_t)w)) continue;
            uint64_t v = k->wide ? ((const uint64_t *)part)[i] : ((const uint32_t *)part)[i];
            uint32_t q = 0;
            while (q < found && strange[q] != v) q++;
            if (q < found) continue;
            if (found == STRANGE) return STRANGE + 1;
            strange[found++] = v;
        }
    }
    return found;
}

/* Elements with this key stand together in the sorted line: writes them as they were. */
static void put_strange(const job *j, const void *keys, const void *sorted, const char *elements,
                        int64_t n, uint64_t wanted, char *out)
{
    bool wide = j->keys[0].wide;
    size_t w = (size_t)tn_width(j->s->inputs[0].type);
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        uint64_t v = wide ? ((const uint64_t *)sorted)[middle] : ((const uint32_t *)sorted)[middle];
        if (v < wanted) low = middle + 1;
        else high = middle;
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = wide ? ((const uint64_t *)keys)[i] : ((const uint32_t *)keys)[i];
        if (v == wanted) memcpy(out + (size_t)low++ * w, elements + (size_t)i * w, w);
    }
}

/* One tensor by one key that is the element itself, or nearly so: keys are sorted, and turned back
 * into elements. False where that can't be. */
static bool sort_elements(const job *j, tn_thread_pool *pool, int64_t base, void *memory)
{
    const tn_sort *s = j->s;
    const tn_sort_values *k = &j->keys[0];
    int64_t n = s->size, w = tn_width(s->inputs[0].type), kw = k->wide ? 8 : 4;
    const char *keys = (const char *)k->values + base * kw;
    const char *elements = (const char *)s->inputs[0].data + base * w;
    uint64_t strange[STRANGE];
    uint32_t n_strange = find_strange(j, keys, elements, n, strange);
    if (n_strange > STRANGE) return false;
    char *out = (char *)s->results[0].data + base * w;
    memcpy(memory, keys, (size_t)(n * kw));
    sort_array(pool, k->wide, memory, n);
    tn_restore_keys(tn_cpu_isa(), k->element, k->descending, memory, n, out);
    for (uint32_t i = 0; i < n_strange; i++)
        put_strange(j, keys, memory, elements, n, strange[i], out);
    return true;
}

static void sort_line(const job *j, tn_thread_pool *pool, int64_t line, char *memory)
{
    const tn_sort *s = j->s;
    size_t n = (size_t)s->size, pairs = 2 * n * sizeof(pair);
    int64_t base = tn_sort_line(s, line);
    if (j->by_elements && sort_elements(j, pool, base, memory)) return;
    int64_t *offsets = (int64_t *)(memory + pairs);
    uint32_t *order = (uint32_t *)(offsets + n);
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    for (uint32_t i = j->n_keys; i--;) {
        const tn_sort_values *k = &j->keys[i];
        if (k->wide) sort_wide(k->values, base, s->step, order, s->size, memory);
        else sort_narrow(pool, k->values, base, s->step, order, s->size, memory);
    }
    for (size_t i = 0; i < n; i++) offsets[i] = base + order[i] * s->step;
    tn_sort_place(s, line, offsets);
}

static void sort_lines(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn_sort *s = j->s;
    char *memory = tn_piece_memory_take(&j->memory);
    if (!memory) {
        tn_keep_first(&j->failure, TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory"));
        return;
    }
    for (int64_t line = begin; line < end; line++) sort_line(j, NULL, line, memory);
    tn_piece_memory_give(&j->memory, memory);
}

/* --- */

typedef struct {
    const tn_sort *s;
    tn_arena *arena;
    uint32_t n_keys;
    const tn_sort_key *found;
    key *keys;
} compilation;

/* Bodies of keys that are more than an element. */
static tn_status *compile_keys(void *ctx)
{
    compilation *c = ctx;
    tn_module *m = tn_module_new(c->arena);
    const tn_sort *s = c->s;
    for (uint32_t i = 0; i < c->n_keys; i++) {
        const tn_value *left = c->found[i].left;
        key *k = &c->keys[i];
        if (!left->op && left->region == s->comparator) {
            k->input = left->index / 2;
            continue;
        }
        TN_TRY(tn_body_compile(tn_sort_key_region(m, s->comparator, left), c->arena, &k->body));
        k->captures =
            tn_scratch_alloc(s->ctx->scratch, (k->body->n_captures + 1) * sizeof *k->captures);
        if (!k->captures) return TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
        for (uint32_t j = 0; j < k->body->n_captures; j++)
            for (uint32_t q = 0; q < s->body->n_captures; q++)
                if (s->body->captures[q] == k->body->captures[j]) k->captures[j] = s->captures[q];
    }
    return NULL;
}

static tn_status *fill_keys(const tn_sort *s, uint32_t n_keys, const tn_sort_key *found, key *keys)
{
    int64_t n = s->lines * s->size;
    for (uint32_t i = 0; i < n_keys; i++) {
        key *k = &keys[i];
        k->s = s;
        k->element = found[i].left->type->element;
        k->descending = found[i].descending;
        k->total = found[i].total;
        k->wide = tn_element_type_bits(k->element) == 64;
        k->n = n;
        k->values = tn_scratch_alloc(s->ctx->scratch, (size_t)n * (k->wide ? 8 : 4));
        if (!k->values) return TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
        if (tn_is_float(k->element))
            tn_kernel_convert(tn_cpu_isa(), k->element, TN_F32, &k->to_f32);
        tn_piece_memory_begin(&k->memory, s->ctx->scratch,
                              s->n * sizeof(void *) + 64 + TN_BODY_TILE * 16 +
                                  (k->body ? tn_body_scratch(k->body) : 0));
        tn_parallel_for(s->ctx->pool, (n + TN_BODY_TILE - 1) / TN_BODY_TILE, 4.0 * TN_BODY_TILE,
                        make_keys, k);
        tn_status *failure = atomic_load(&k->failure);
        if (failure) return failure;
    }
    return NULL;
}

tn_status *tn_sort_make_values(const tn_sort *s, uint32_t *n, tn_sort_values **out)
{
    tn_sort_key found[TN_SORT_KEYS];
    *n = 0;
    if (s->size > UINT32_MAX) return NULL;
    uint32_t n_keys = tn_sort_find_keys(s->comparator, found);
    if (!n_keys) return NULL;
    key *keys = tn_scratch_alloc(s->ctx->scratch, n_keys * sizeof *keys);
    *out = tn_scratch_alloc(s->ctx->scratch, n_keys * sizeof **out);
    if (!keys || !*out) return TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
    memset(keys, 0, n_keys * sizeof *keys);
    compilation c = {s, tn_arena_new(), n_keys, found, keys};
    if (!c.arena) return TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
    tn_status *status = tn_arena_run(c.arena, compile_keys, &c);
    if (!status) status = fill_keys(s, n_keys, found, keys);
    tn_arena_free(c.arena);
    for (uint32_t i = 0; i < n_keys; i++)
        (*out)[i] =
            (tn_sort_values){keys[i].wide, keys[i].descending, keys[i].element, keys[i].values};
    *n = n_keys;
    return status;
}

tn_status *tn_sort_by_keys(const tn_sort *s, bool *done)
{
    job j = {.s = s};
    *done = false;
    TN_TRY(tn_sort_make_values(s, &j.n_keys, &j.keys));
    if (!j.n_keys) return NULL;
    j.by_elements = s->n == 1 && j.n_keys == 1 && s->step == 1 &&
                    s->inputs[0].type->element == j.keys[0].element &&
                    tn_keys_are_elements(j.keys[0].element);
    tn_piece_memory_begin(&j.memory, s->ctx->scratch,
                          (size_t)s->size *
                              (2 * sizeof(pair) + sizeof(int64_t) + sizeof(uint32_t)));
    *done = true;
    /* Few lines go one after the other, each on all threads. */
    if (s->lines < tn_thread_pool_size(s->ctx->pool)) {
        void *memory = tn_piece_memory_take(&j.memory);
        if (!memory) return TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
        for (int64_t line = 0; line < s->lines; line++) sort_line(&j, s->ctx->pool, line, memory);
        tn_piece_memory_give(&j.memory, memory);
        return NULL;
    }
    double cost = (double)s->size * j.n_keys * (j.by_elements ? 5 : 20);
    tn_parallel_for(s->ctx->pool, s->lines, cost, sort_lines, &j);
    return atomic_load(&j.failure);
}
