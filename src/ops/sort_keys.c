/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting by keys: every key becomes an unsigned integer of the same order, once for each element;
 * then lines are sorted by these integers, the last key first. */
#include "base/thread_pool.h"
#include "kernels/select.h"
#include "kernels/sort_lines.h"
#include "ops/access.h"
#include "ops/piece_memory.h"
#include "ops/sort.h"
#include "ops/sort_array.h"
#include "ops/sort_order.h"
#include "ops/strided.h"

/* --- keys as integers --- */

typedef struct {
    const tn_sort *s;
    const tn_body *body; /* NULL: input `input` itself */
    const void **captures;
    tn_sort_element_key kind; /* its input, if it is an element */
    void *values;             /* uint32_t or, if wide, uint64_t of each element of the tensor */
    bool own;                 /* of input `input`, whose elements keys can be turned back into */
    atomic_bool strange;
    int64_t n;
    tn_piece_memory memory;
    _Atomic(tn_status *) failure;
} key;

void tn_sort_elements_to_keys(const tn_sort_element_key *k, const void *values, int64_t n,
                              void *out)
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

static void set_kind(tn_sort_element_key *k, const tn_sort_key *found)
{
    k->element = found->left->type->element;
    k->descending = found->descending;
    k->total = found->total;
    k->wide = tn_element_type_bits(k->element) == 64;
    if (tn_is_float(k->element)) tn_kernel_convert(tn_cpu_isa(), k->element, TN_F32, &k->to_f32);
}

bool tn_sort_find_element_key(const tn_sort *s, tn_sort_element_key *out)
{
    tn_sort_key found[TN_SORT_KEYS];
    if (s->size > UINT32_MAX || tn_sort_find_keys(s->comparator, found) != 1) return false;
    const tn_value *left = found[0].left;
    if (left->op || left->region != s->comparator) return false;
    out->input = left->index / 2;
    set_kind(out, &found[0]);
    return true;
}

/* Whether keys of a tile give its elements. */
static bool gives_elements(const key *k, const void *keys, const void *elements, int64_t n)
{
    uint64_t back[TN_BODY_TILE];
    tn_restore_keys(tn_cpu_isa(), k->kind.element, k->kind.descending, keys, n, back);
    return !memcmp(back, elements, (size_t)(n * tn_width(k->s->inputs[k->kind.input].type)));
}

static tn_status *make_tiles(key *k, int64_t begin, int64_t end, void *memory)
{
    const tn_sort *s = k->s;
    size_t width = k->kind.wide ? 8 : 4;
    const void **args = memory;
    char *values = (char *)memory + ((s->n * sizeof *args + 63) & ~(size_t)63);
    void *scratch = values + TN_BODY_TILE * 16;
    for (int64_t at = begin * TN_BODY_TILE; begin < end; begin++, at += TN_BODY_TILE) {
        int64_t n = k->n - at < TN_BODY_TILE ? k->n - at : TN_BODY_TILE;
        for (uint32_t i = 0; i < s->n; i++)
            args[i] = (const char *)s->inputs[i].data + at * tn_width(s->inputs[i].type);
        const void *key_values = args[k->kind.input];
        if (k->body) {
            void *result = values;
            TN_TRY(tn_body_run(k->body, s->ctx, (size_t)n, args, &result, k->captures, scratch));
            key_values = values;
        }
        void *out = (char *)k->values + (size_t)at * width;
        tn_sort_elements_to_keys(&k->kind, key_values, n, out);
        if (k->own && !atomic_load_explicit(&k->strange, memory_order_relaxed) &&
            !gives_elements(k, out, args[k->kind.input], n))
            atomic_store_explicit(&k->strange, true, memory_order_relaxed);
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

/* One line of a job, on a pool or (NULL) alone. */
typedef struct {
    const job *j;
    tn_thread_pool *pool;
    int64_t base; /* its first element */
    uint64_t *x;  /* [size]: what is sorted */
    uint32_t *order, *before;
    const tn_sort_values *key;
    char *out;
} line;

/* Elements that a piece of work on a line takes. */
enum { PART = 4096 };

static void for_parts(const line *l, double cost_ns, tn_parallel_fn *fn)
{
    int64_t n = l->j->s->size;
    tn_parallel_for(l->pool, (n + PART - 1) / PART, cost_ns * PART, fn, (void *)l);
}

static void find_part(const line *l, int64_t *begin, int64_t *end)
{
    *begin *= PART;
    *end *= PART;
    if (*end > l->j->s->size) *end = l->j->s->size;
}

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

static void restore(void *ctx, int64_t begin, int64_t end)
{
    const line *l = ctx;
    int64_t w = tn_width(l->j->s->inputs[0].type), kw = l->key->wide ? 8 : 4;
    tn_restore_keys(tn_cpu_isa(), l->key->element, l->key->descending, (char *)l->x + begin * kw,
                    end - begin, l->out + begin * w);
}

/* One tensor by one key that is the element itself, or nearly so: keys are sorted, and turned back
 * into elements. False where that can't be. */
static bool sort_elements(const job *j, tn_thread_pool *pool, int64_t base, void *memory)
{
    const tn_sort *s = j->s;
    const tn_sort_values *k = &j->keys[0];
    int64_t n = s->size, w = tn_width(s->inputs[0].type), kw = k->wide ? 8 : 4;
    char *keys = (char *)k->values + base * kw, *out = (char *)s->results[0].data + base * w;
    line l = {.j = j, .key = k, .x = (void *)keys, .out = out};
    if (k->gives_elements) {
        tn_sort_array(pool, k->wide, keys, n, restore, &l);
        return true;
    }
    const char *elements = (const char *)s->inputs[0].data + base * w;
    uint64_t strange[STRANGE];
    uint32_t n_strange = find_strange(j, keys, elements, n, strange);
    if (n_strange > STRANGE) return false;
    l.x = memory;
    memcpy(memory, keys, (size_t)(n * kw));
    tn_sort_array(pool, k->wide, memory, n, restore, &l);
    for (uint32_t i = 0; i < n_strange; i++)
        put_strange(j, keys, memory, elements, n, strange[i], out);
    return true;
}

/* --- lines next to each other: some are turned into rows at a time --- */

enum { COLUMNS = 16, LONGEST_COLUMN = 1 << 16 };

static size_t column_memory(const tn_sort *s)
{
    return (size_t)s->size * COLUMNS * 2 * sizeof(uint64_t);
}

static void sort_columns(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn_sort *s = j->s;
    const tn_sort_values *k = &j->keys[0];
    int64_t w = tn_width(s->inputs[0].type), kw = k->wide ? 8 : 4;
    int64_t groups = (s->step + COLUMNS - 1) / COLUMNS;
    char *memory = tn_piece_memory_take(&j->memory);
    if (!memory) {
        tn_keep_first(&j->failure, TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory"));
        return;
    }
    char *rows = memory + column_memory(s) / 2;
    for (; begin < end; begin++) {
        int64_t first = begin % groups * COLUMNS, left = s->step - first;
        int64_t n = left < COLUMNS ? left : COLUMNS,
                base = begin / groups * s->size * s->step + first;
        tn_strided nest;
        tn_strided_init(&nest);
        tn_strided_push(&nest, n, s->size * kw, kw);
        tn_strided_push(&nest, s->size, kw, s->step * kw);
        tn_strided_run(&nest, (size_t)kw, memory, (const char *)k->values + base * kw, NULL);
        for (int64_t i = 0; i < n; i++) {
            char *keys = memory + i * s->size * kw;
            tn_sort_array(NULL, k->wide, keys, s->size, NULL, NULL);
            tn_restore_keys(tn_cpu_isa(), k->element, k->descending, keys, s->size,
                            rows + i * s->size * w);
        }
        tn_strided_init(&nest);
        tn_strided_push(&nest, s->size, s->step * w, w);
        tn_strided_push(&nest, n, w, s->size * w);
        tn_strided_run(&nest, (size_t)w, (char *)s->results[0].data + base * w, rows, NULL);
    }
    tn_piece_memory_give(&j->memory, memory);
}

/* --- the order of a line --- */

/* A key (or the upper half of one of 64 bits) and its place in the order so far are one number. */
static void fill(void *ctx, int64_t begin, int64_t end)
{
    const line *l = ctx;
    find_part(l, &begin, &end);
    int64_t step = l->j->s->step;
    if (l->key->wide) {
        const uint64_t *keys = (const uint64_t *)l->key->values + l->base;
        for (int64_t i = begin; i < end; i++)
            l->x[i] = (keys[(l->before ? l->before[i] : i) * step] >> 32 << 32) | (uint64_t)i;
    } else {
        const uint32_t *keys = (const uint32_t *)l->key->values + l->base;
        for (int64_t i = begin; i < end; i++)
            l->x[i] = (uint64_t)keys[(l->before ? l->before[i] : i) * step] << 32 | (uint64_t)i;
    }
}

static uint64_t low_half(const line *l, uint64_t x)
{
    uint32_t place = (uint32_t)x;
    const uint64_t *keys = (const uint64_t *)l->key->values + l->base;
    return keys[(l->before ? l->before[place] : place) * l->j->s->step] << 32 | place;
}

/* A run of x with equal upper halves of their keys is sorted by the lower ones; halves are not
 * needed any more. */
static void sort_run(const line *l, tn_thread_pool *pool, int64_t begin, int64_t end)
{
    enum { FEW = 8 };
    uint64_t *x = l->x;
    for (int64_t i = begin; i < end; i++) x[i] = low_half(l, x[i]);
    if (end - begin > FEW) {
        tn_sort_array(pool, true, x + begin, end - begin, NULL, NULL);
        return;
    }
    for (int64_t i = begin + 1; i < end; i++) {
        uint64_t v = x[i];
        int64_t at = i;
        for (; at > begin && x[at - 1] > v; at--) x[at] = x[at - 1];
        x[at] = v;
    }
}

/* The runs that begin in a range: heads are what x was before any of it was changed. */
static void sort_runs(void *ctx, int64_t begin, int64_t end)
{
    const line *l = ctx;
    int64_t n = l->j->s->size;
    find_part(l, &begin, &end);
    const uint32_t *heads = l->order;
    while (begin < end && begin > 0 && heads[begin] == heads[begin - 1]) begin++;
    while (begin < end) {
        int64_t run = begin + 1;
        while (run < n && heads[run] == heads[begin]) run++;
        if (run - begin > 1) sort_run(l, NULL, begin, run);
        begin = run;
    }
}

static void take_heads(void *ctx, int64_t begin, int64_t end)
{
    const line *l = ctx;
    find_part(l, &begin, &end);
    for (int64_t i = begin; i < end; i++) l->order[i] = (uint32_t)(l->x[i] >> 32);
}

static void take_order(void *ctx, int64_t begin, int64_t end)
{
    const line *l = ctx;
    find_part(l, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        uint32_t place = (uint32_t)l->x[i];
        l->order[i] = l->before ? l->before[place] : place;
    }
}

#define PLACE(T)                                                                                   \
    for (int64_t k = begin; k < end; k++) ((T *)to)[k * step] = ((const T *)from)[order[k] * step]
#define PLACE_PLACES(T)                                                                            \
    for (int64_t k = begin; k < end; k++) ((T *)to)[k * step] = (T)order[k]

typedef unsigned __int128 widest;

/* Results [begin, end) of a line. */
static void place(const line *l, const uint32_t *order, int64_t begin, int64_t end)
{
    const tn_sort *s = l->j->s;
    int64_t step = s->step;
    order -= begin;
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t w = tn_width(s->inputs[i].type);
        const char *from = (const char *)s->inputs[i].data + l->base * w;
        char *to = (char *)s->results[i].data + l->base * w;
        if (s->is_place && s->is_place[i]) {
            if (w == 4) PLACE_PLACES(uint32_t);
            else PLACE_PLACES(uint64_t);
            continue;
        }
        switch (w) {
        case 1: PLACE(uint8_t); break;
        case 2: PLACE(uint16_t); break;
        case 4: PLACE(uint32_t); break;
        case 8: PLACE(uint64_t); break;
        default: PLACE(widest); break;
        }
    }
}

static void place_part(void *ctx, int64_t begin, int64_t end)
{
    const line *l = ctx;
    find_part(l, &begin, &end);
    place(l, l->order + begin, begin, end);
}

/* With one key of 32 bits, of each range as soon as it is sorted. */
static void place_range(void *ctx, int64_t begin, int64_t end)
{
    const line *l = ctx;
    uint32_t order[PART];
    for (int64_t at = begin; at < end; at += PART) {
        int64_t n = end - at < PART ? end - at : PART;
        for (int64_t i = 0; i < n; i++) order[i] = (uint32_t)l->x[at + i];
        place(l, order, at, at + n);
    }
}

/* Sorts the order so far by one more key, stably. */
static void sort_order(line *l)
{
    int64_t n = l->j->s->size;
    for_parts(l, 1, fill);
    tn_sort_array(l->pool, true, l->x, n, NULL, NULL);
    if (l->key->wide) {
        if (l->x[0] >> 32 == l->x[n - 1] >> 32) {
            sort_run(l, l->pool, 0, n);
        } else {
            for_parts(l, 1, take_heads);
            for_parts(l, 5, sort_runs);
        }
    }
    for_parts(l, 1, take_order);
}

/* Memory of a line: what is sorted, and two orders. */
static size_t line_memory(const job *j)
{
    bool one = j->n_keys == 1 && !j->keys[0].wide;
    if (j->by_elements && j->keys[0].gives_elements) return 1;
    return (size_t)j->s->size * (sizeof(uint64_t) + (one ? 0 : 2 * sizeof(uint32_t)));
}

static void sort_line(const job *j, tn_thread_pool *pool, int64_t number, char *memory)
{
    const tn_sort *s = j->s;
    int64_t n = s->size, base = tn_sort_line(s, number);
    if (j->by_elements && sort_elements(j, pool, base, memory)) return;
    line l = {.j = j, .pool = pool, .base = base, .x = (uint64_t *)memory, .key = j->keys};
    if (j->n_keys == 1 && !l.key->wide) {
        for_parts(&l, 1, fill);
        tn_sort_array(pool, true, l.x, n, place_range, &l);
        return;
    }
    uint32_t *orders[] = {(uint32_t *)(l.x + n), (uint32_t *)(l.x + n) + n};
    for (uint32_t i = j->n_keys; i--;) {
        l.key = &j->keys[i];
        l.order = orders[i % 2];
        sort_order(&l);
        l.before = l.order;
    }
    for_parts(&l, 3.0 * s->n, place_part);
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
    for (int64_t i = begin; i < end; i++) sort_line(j, NULL, i, memory);
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
            k->kind.input = left->index / 2;
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

static tn_status *fill_keys(const tn_sort *s, void *memory, uint32_t n_keys,
                            const tn_sort_key *found, key *keys)
{
    int64_t n = s->lines * s->size;
    for (uint32_t i = 0; i < n_keys; i++) {
        key *k = &keys[i];
        k->s = s;
        set_kind(&k->kind, &found[i]);
        k->own = s->n == 1 && n_keys == 1 && s->inputs[0].type->element == k->kind.element &&
                 tn_keys_are_elements(k->kind.element);
        k->n = n;
        size_t width = k->kind.wide ? 8 : 4;
        bool fits = memory && k->own && (size_t)tn_width(s->inputs[0].type) == width;
        k->values = fits ? memory : tn_scratch_alloc(s->ctx->scratch, (size_t)n * width);
        if (!k->values) return TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
        tn_piece_memory_begin(&k->memory, s->ctx->scratch,
                              s->n * sizeof(void *) + 64 + TN_BODY_TILE * 16 +
                                  (k->body ? tn_body_scratch(k->body) : 0));
        tn_parallel_for(s->ctx->pool, (n + TN_BODY_TILE - 1) / TN_BODY_TILE, 4.0 * TN_BODY_TILE,
                        make_keys, k);
        tn_status *failure = atomic_load(&k->failure);
        if (failure) return failure;
        if (!fits || !atomic_load(&k->strange)) continue;
        k->values = tn_scratch_alloc(s->ctx->scratch, (size_t)n * width);
        if (!k->values) return TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
        tn_copy_bytes(s->ctx->pool, k->values, memory, (size_t)n * width);
    }
    return NULL;
}

tn_status *tn_sort_make_values(const tn_sort *s, void *memory, uint32_t *n, tn_sort_values **out)
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
    if (!status) status = fill_keys(s, memory, n_keys, found, keys);
    tn_arena_free(c.arena);
    for (uint32_t i = 0; i < n_keys; i++)
        (*out)[i] =
            (tn_sort_values){.wide = keys[i].kind.wide,
                             .descending = keys[i].kind.descending,
                             .gives_elements = keys[i].own && !atomic_load(&keys[i].strange),
                             .element = keys[i].kind.element,
                             .values = keys[i].values};
    *n = n_keys;
    return status;
}

tn_status *tn_sort_by_keys(const tn_sort *s, bool *done)
{
    job j = {.s = s};
    *done = false;
    bool apart_from_inputs =
        !(s->is_place && s->is_place[0]) && s->results[0].data != s->inputs[0].data;
    TN_TRY(
        tn_sort_make_values(s, apart_from_inputs ? s->results[0].data : NULL, &j.n_keys, &j.keys));
    if (!j.n_keys) return NULL;
    j.by_elements = s->n == 1 && j.n_keys == 1 && s->step == 1 &&
                    s->inputs[0].type->element == j.keys[0].element &&
                    tn_keys_are_elements(j.keys[0].element);
    *done = true;
    tn_sort apart = *s;
    bool columns = s->step > 1 && j.keys[0].gives_elements && s->size <= LONGEST_COLUMN;
    if (!columns && !(j.by_elements && j.keys[0].gives_elements)) {
        TN_TRY(tn_sort_keep_inputs(&apart, false));
        j.s = s = &apart;
    }
    if (columns) {
        tn_piece_memory_begin(&j.memory, s->ctx->scratch, column_memory(s));
        int64_t groups = (s->step + COLUMNS - 1) / COLUMNS;
        tn_parallel_for(s->ctx->pool, s->lines / s->step * groups, 7.0 * COLUMNS * (double)s->size,
                        sort_columns, &j);
        return atomic_load(&j.failure);
    }
    tn_piece_memory_begin(&j.memory, s->ctx->scratch, line_memory(&j));
    /* Few lines go one after the other, each on all threads. */
    if (s->lines < tn_thread_pool_size(s->ctx->pool)) {
        void *memory = tn_piece_memory_take(&j.memory);
        if (!memory) return TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
        for (int64_t i = 0; i < s->lines; i++) sort_line(&j, s->ctx->pool, i, memory);
        tn_piece_memory_give(&j.memory, memory);
        return NULL;
    }
    double cost = (double)s->size * j.n_keys * (j.by_elements ? 5 : 20);
    tn_parallel_for(s->ctx->pool, s->lines, cost, sort_lines, &j);
    return atomic_load(&j.failure);
}
