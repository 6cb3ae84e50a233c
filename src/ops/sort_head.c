/* SPDX-License-Identifier: Apache-2.0 */
/* The first k elements of lines by selection: a pass over the keys collects those below the k-th
 * smallest so far, which falls as it goes. */
#include "base/thread_pool.h"
#include "kernels/select.h"
#include "ops/access.h"
#include "ops/piece_memory.h"
#include "ops/sort.h"
#include "ops/strided.h"

/* Lines are cut into pieces of so many elements; PART at a time go through a buffer. */
enum { PIECE = 1 << 17, PART = 1024, SLACK = 64 };
/* So few of a line so short are kept in order as it is read. */
enum { FEW = 8, SHORT = 256, VERY_SHORT = 32 };

typedef unsigned __int128 wide;

/* Where keys come from. */
typedef struct {
    const void *values;             /* keys, or what they are made of: of a line */
    int64_t step;                   /* from one to the next, in elements */
    size_t width;                   /* bytes of one */
    const tn_sort_element_key *key; /* NULL: they are there */
} source;

typedef struct {
    const tn_sort *s;
    source source;            /* of the first line */
    bool wide;                /* keys have 64 bits */
    int64_t k, pieces, piece; /* of a line */
    size_t width;             /* bytes of a candidate */
    char *found;              /* [lines][pieces][k] */
    tn_piece_memory memory;
    _Atomic(tn_status *) failure;
} job;

/* The keys of elements [at, at + n) of a line, n <= PART; in `room` where they weren't anywhere. */
static const void *fetch(const source *s, int64_t at, int64_t n, void *room)
{
    uint64_t elements[PART];
    void *dense = s->key ? elements : room;
    const char *from = (const char *)s->values + at * s->step * (int64_t)s->width;
    if (s->step != 1) {
        tn_strided nest;
        tn_strided_init(&nest);
        tn_strided_push(&nest, n, (int64_t)s->width, s->step * (int64_t)s->width);
        tn_strided_run(&nest, s->width, dense, from, NULL);
    }
    if (!s->key) return s->step == 1 ? from : room;
    tn_sort_elements_to_keys(s->key, s->step == 1 ? from : dense, n, room);
    return room;
}

/* Candidates are a key with its place below: in their order a stable sort leaves them. */
#define DEFINE_SELECTION(C, K, SELECT)                                                             \
    static void sort_few_##K(C *x, int64_t n)                                                      \
    {                                                                                              \
        for (int64_t i = 1; i < n; i++) {                                                          \
            C v = x[i];                                                                            \
            int64_t at = i;                                                                        \
            for (; at > 0 && x[at - 1] > v; at--) x[at] = x[at - 1];                               \
            x[at] = v;                                                                             \
        }                                                                                          \
    }                                                                                              \
    /* Where the two sides meet: x[0, middle) <= x[middle, n), 0 < middle < n. */                  \
    static int64_t divide_##K(C *x, int64_t n)                                                     \
    {                                                                                              \
        C a = x[n / 4], b = x[n / 2], c = x[n / 4 * 3];                                            \
        C pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);               \
        int64_t i = 0, j = n - 1;                                                                  \
        for (;; i++, j--) {                                                                        \
            while (x[i] < pivot) i++;                                                              \
            while (pivot < x[j]) j--;                                                              \
            if (i >= j) return i > 0 ? i : 1;                                                      \
            C t = x[i];                                                                            \
            x[i] = x[j];                                                                           \
            x[j] = t;                                                                              \
        }                                                                                          \
    }                                                                                              \
    static void sort_##K(C *x, int64_t n)                                                          \
    {                                                                                              \
        while (n > 24) {                                                                           \
            int64_t middle = divide_##K(x, n);                                                     \
            if (middle < n - middle) {                                                             \
                sort_##K(x, middle);                                                               \
                x += middle;                                                                       \
                n -= middle;                                                                       \
            } else {                                                                               \
                sort_##K(x + middle, n - middle);                                                  \
                n = middle;                                                                        \
            }                                                                                      \
        }                                                                                          \
        sort_few_##K(x, n);                                                                        \
    }                                                                                              \
    /* The k smallest come first, in any order; the largest of them. */                            \
    static C nth_##K(C *x, int64_t n, int64_t k)                                                   \
    {                                                                                              \
        C *part = x;                                                                               \
        int64_t first = 0;                                                                         \
        while (n > 24) {                                                                           \
            int64_t middle = divide_##K(part, n);                                                  \
            if (first + middle >= k) {                                                             \
                n = middle;                                                                        \
            } else {                                                                               \
                part += middle;                                                                    \
                first += middle;                                                                   \
                n -= middle;                                                                       \
            }                                                                                      \
        }                                                                                          \
        sort_few_##K(part, n);                                                                     \
        return x[k - 1];                                                                           \
    }                                                                                              \
    /* Of keys [begin, end) of a line: the smallest min(k, end - begin) in order, to x. */         \
    static int64_t select_##K(const source *keys, int64_t begin, int64_t end, int64_t k, C *x)     \
    {                                                                                              \
        K room[PART];                                                                              \
        int64_t n = 0, full = 2 * k + SLACK, at = begin, block = SLACK;                            \
        if (k <= FEW && end - begin <= SHORT) {                                                    \
            const K *from = fetch(keys, begin, end - begin, room);                                 \
            if (end - begin <= VERY_SHORT) {                                                       \
                for (int64_t i = 0; i < k; i++) x[i] = ~(C)0;                                      \
                for (; at < end; at++) { /* without branches, which would often go wrong */        \
                    C v = (C)from[at - begin] << 32 | (C)at;                                       \
                    for (int64_t i = 0; i < k; i++) {                                              \
                        C a = x[i];                                                                \
                        x[i] = v < a ? v : a;                                                      \
                        v = v < a ? a : v;                                                         \
                    }                                                                              \
                }                                                                                  \
                return k < end - begin ? k : end - begin;                                          \
            }                                                                                      \
            for (; at < end; at++) {                                                               \
                C v = (C)from[at - begin] << 32 | (C)at;                                           \
                if (n == k && v > x[k - 1]) continue;                                              \
                int64_t i = n < k ? n++ : k - 1;                                                   \
                for (; i > 0 && x[i - 1] > v; i--) x[i] = x[i - 1];                                \
                x[i] = v;                                                                          \
            }                                                                                      \
            return n;                                                                              \
        }                                                                                          \
        while (at < end && n < full) {                                                             \
            int64_t size = full - n < end - at ? full - n : end - at;                              \
            if (size > PART) size = PART;                                                          \
            const K *from = fetch(keys, at, size, room);                                           \
            for (int64_t i = 0; i < size; i++, at++) x[n++] = (C)from[i] << 32 | (C)at;            \
        }                                                                                          \
        tn_isa isa = tn_cpu_isa();                                                                 \
        K limit = at < end ? (K)(nth_##K(x, n, k) >> 32) : 0;                                      \
        if (at < end) n = k;                                                                       \
        while (at < end) {                                                                         \
            uint32_t places[PART + 16];                                                            \
            int64_t size = end - at < block ? end - at : block;                                    \
            const K *from = fetch(keys, at, size, room);                                           \
            int64_t found = SELECT(isa, from, size, limit, 0, places);                             \
            for (int64_t i = 0; i < found; i++)                                                    \
                x[n++] = (C)from[places[i]] << 32 | (C)(at + places[i]);                           \
            at += size;                                                                            \
            block = 2 * block < PART ? 2 * block : PART;                                           \
            if (n < full) continue;                                                                \
            limit = (K)(nth_##K(x, n, k) >> 32);                                                   \
            n = k;                                                                                 \
        }                                                                                          \
        if (n > k) {                                                                               \
            nth_##K(x, n, k);                                                                      \
            n = k;                                                                                 \
        }                                                                                          \
        sort_##K(x, n);                                                                            \
        return n;                                                                                  \
    }                                                                                              \
    /* Candidates of all pieces of a line, in place. */                                            \
    static void merge_##K(C *x, int64_t n, int64_t k)                                              \
    {                                                                                              \
        if (n > k) nth_##K(x, n, k);                                                               \
        sort_##K(x, k);                                                                            \
    }

DEFINE_SELECTION(uint64_t, uint32_t, tn_select_u32)
DEFINE_SELECTION(wide, uint64_t, tn_select_u64)

static void select_pieces(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    const tn_sort *s = j->s;
    void *memory = tn_piece_memory_take(&j->memory);
    if (!memory) {
        tn_keep_first(&j->failure, TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory"));
        return;
    }
    uint64_t room[PART];
    source one = {.values = room, .step = 1, .width = j->wide ? 8 : 4}; /* of lines in `room` */
    int64_t group = j->pieces == 1 && s->step == 1 && j->source.key ? PART / s->size : 0, there = 0;
    for (int64_t i = begin; i < end; i++, there--) {
        int64_t base = tn_sort_line(s, i / j->pieces), from = i % j->pieces * j->piece;
        int64_t to = s->size - from < j->piece ? s->size : from + j->piece, n;
        source line = j->source;
        line.values = (const char *)line.values + (size_t)base * line.width;
        if (group > 1 && there <= 0) {
            there = end - i < group ? end - i : group;
            fetch(&line, 0, there * s->size, room);
            one.values = room;
        }
        if (group > 1) {
            line = one;
            one.values = (const char *)one.values + (size_t)s->size * one.width;
        }
        n = j->wide ? select_uint64_t(&line, from, to, j->k, memory)
                    : select_uint32_t(&line, from, to, j->k, memory);
        /* A short last piece: nothing comes after the largest. */
        char *found = j->found + (size_t)(i * j->k) * j->width;
        memcpy(found, memory, (size_t)n * j->width);
        memset(found + (size_t)n * j->width, 0xFF, (size_t)(j->k - n) * j->width);
    }
    tn_piece_memory_give(&j->memory, memory);
}

#define FOUND(i)                                                                                   \
    (int64_t)(j->wide ? (uint32_t)((wide *)found)[i] : (uint32_t)((uint64_t *)found)[i])
#define PLACE_PLACES(T)                                                                            \
    for (int64_t i = 0; i < j->k; i++) ((T *)to)[at + i * s->step] = (T)FOUND(i)
#define PLACE(T)                                                                                   \
    for (int64_t i = 0; i < j->k; i++)                                                             \
    ((T *)to)[at + i * s->step] = ((const T *)from)[base + FOUND(i) * s->step]

static void finish_lines(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const tn_sort *s = j->s;
    for (int64_t line = begin; line < end; line++) {
        void *found = j->found + (size_t)(line * j->pieces * j->k) * j->width;
        if (j->pieces > 1) {
            if (j->wide) merge_uint64_t(found, j->pieces * j->k, j->k);
            else merge_uint32_t(found, j->pieces * j->k, j->k);
        }
        int64_t base = tn_sort_line(s, line), at = line / s->step * j->k * s->step + line % s->step;
        for (uint32_t input = 0; input < s->n; input++) {
            const void *from = s->inputs[input].data;
            void *to = s->results[input].data;
            if (s->is_place && s->is_place[input]) {
                if (tn_width(s->inputs[input].type) == 4) PLACE_PLACES(uint32_t);
                else PLACE_PLACES(uint64_t);
                continue;
            }
            switch (tn_width(s->inputs[input].type)) {
            case 1: PLACE(uint8_t); break;
            case 2: PLACE(uint16_t); break;
            case 4: PLACE(uint32_t); break;
            case 8: PLACE(uint64_t); break;
            default: PLACE(wide); break;
            }
        }
    }
}

static tn_status *select_heads(const tn_sort *s, int64_t k, const source *keys, bool wide_keys)
{
    job j = {.s = s, .source = *keys, .wide = wide_keys, .k = k, .piece = s->size, .pieces = 1};
    if (s->size > PIECE && k <= PIECE / 8) {
        j.piece = PIECE;
        j.pieces = (s->size + PIECE - 1) / PIECE;
    }
    j.width = wide_keys ? sizeof(wide) : sizeof(uint64_t);
    j.found = tn_scratch_alloc(s->ctx->scratch, (size_t)(s->lines * j.pieces * k) * j.width);
    if (!j.found) return TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
    tn_piece_memory_begin(&j.memory, s->ctx->scratch, (size_t)(2 * k + SLACK + PART) * j.width);
    tn_parallel_for(s->ctx->pool, s->lines * j.pieces, (double)j.piece * 0.5 + (double)k * 30,
                    select_pieces, &j);
    tn_status *failure = atomic_load(&j.failure);
    if (failure) return failure;
    tn_parallel_for(s->ctx->pool, s->lines, (double)(j.pieces * k) * 30, finish_lines, &j);
    return NULL;
}

/* By a whole sort. */
static tn_status *sort_and_cut(tn_sort *s, int64_t k)
{
    tn_tensor *results = s->results;
    tn_tensor *sorted = tn_scratch_alloc(s->ctx->scratch, s->n * sizeof *sorted);
    for (uint32_t i = 0; sorted && i < s->n; i++) {
        sorted[i].type = s->inputs[i].type;
        sorted[i].data = tn_scratch_alloc(s->ctx->scratch, tn_type_bytes(s->inputs[i].type));
        if (!sorted[i].data) sorted = NULL;
    }
    if (!sorted) return TN_OP_ERROR(RESOURCE_EXHAUSTED, s->op, "out of memory");
    s->results = sorted;
    TN_TRY(tn_sort_run(s));
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t w = tn_width(s->inputs[i].type);
        tn_strided nest;
        tn_strided_init(&nest);
        tn_strided_push(&nest, s->lines / s->step, k * s->step * w, s->size * s->step * w);
        tn_strided_push(&nest, k * s->step, w, w);
        tn_strided_run(&nest, (size_t)w, results[i].data, sorted[i].data, s->ctx->pool);
    }
    return NULL;
}

tn_status *tn_sort_head_run(tn_sort *s, int64_t k)
{
    const tn_type *t = s->inputs[0].type;
    if (tn_is_empty(t)) return NULL;
    s->size = t->dims[s->dim];
    s->step = tn_step(t, s->dim);
    s->lines = tn_type_elements(t) / s->size;
    if (k > s->size / 4) return sort_and_cut(s, k);
    tn_sort_element_key key;
    if (tn_sort_find_element_key(s, &key)) {
        const tn_tensor *in = &s->inputs[key.input];
        source keys = {in->data, s->step, (size_t)tn_width(in->type), &key};
        return select_heads(s, k, &keys, key.wide);
    }
    uint32_t n_keys;
    tn_sort_values *values;
    TN_TRY(tn_sort_make_values(s, NULL, &n_keys, &values));
    if (n_keys != 1) return sort_and_cut(s, k);
    source keys = {values->values, s->step, values->wide ? 8 : 4, NULL};
    return select_heads(s, k, &keys, values->wide);
}
