/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/reduce_arg.h"

#include "base/thread_pool.h"
#include "kernels/arg_rows.h"
#include "kernels/turn.h"
#include "ops/access.h"
#include "ops/strided.h"

enum { PIECE = 1 << 16 /* elements that are worth a piece of their own */, TILE = TN_BODY_TILE };
enum {
    TURNED_AT_LEAST = 8,
    TURNED_COLUMNS = 128,
    TURNED_ROWS = 63, /* elements of a row, which has a kernel if it is longer */
    TURNED_BYTES = 40 << 10,
    COLUMNS_AT_LEAST = 16 /* that the kernel does well with as they are */
};

/* Pieces are a share of the reduced dimension for one row or a tile of columns. */
typedef struct {
    tn_arg_kernels kernels;
    const char *x;
    size_t width;
    int64_t outer, length, inner; /* elements before, along and after the dimension */
    int64_t tile, tiles, share, shares;
    tn_arg *best;           /* [shares][outer][inner] */
    bool other_zeros;       /* of zeros the last one is the value */
    char *values, *indices; /* results, where pieces that are turned store them; else NULL */
    size_t index_width;
} job;

bool tn_reduce_has_places(const tn_op *op)
{
    uint32_t n;
    if (op->kind != TN_OP_reduce || op->n_operands != 4) return false;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_dimensions, &n);
    const tn_op *places = tn_value_resolve(op->operands[1])->op;
    if (n != 1 || !places || places->kind != TN_OP_iota) return false;
    return tn_op_int(places, TN_ATTR_iota_dimension, -1) == dims[0];
}

bool tn_reduce_is_arg(const tn_op *op, const tn_body *body)
{
    return body->shortcut >= TN_BODY_ARG_MAX && tn_reduce_has_places(op) &&
           tn_operand_type(op, 0)->element == body->arg_types[0]->element &&
           tn_operand_type(op, 1)->element == body->arg_types[1]->element;
}

bool tn_reduce_arg_starts_low(const tn_body *body, const tn_tensor *operands)
{
    tn_element_type e = operands[2].type->element, places = operands[3].type->element;
    bool largest = body->shortcut == TN_BODY_ARG_MAX || body->shortcut == TN_BODY_ARG_MAX_OTHER;
    uint64_t value = 0, place = 0, least;
    int bits = (int)tn_element_type_bits(e);
    if (bits < 8 || bits > 64) return false;
    memcpy(&value, operands[2].data, (size_t)bits / 8);
    memcpy(&place, operands[3].data, tn_element_type_bytes(places));
    uint64_t all = UINT64_MAX >> (64 - bits), top = UINT64_C(1) << (bits - 1);
    switch ((int)e) {
    case TN_F64: least = UINT64_C(0x7ff) << 52 | (largest ? top : 0); break;
    case TN_F32: least = UINT64_C(0xff) << 23 | (largest ? top : 0); break;
    case TN_BF16: least = UINT64_C(0xff) << 7 | (largest ? top : 0); break;
    case TN_F16: least = UINT64_C(0x1f) << 10 | (largest ? top : 0); break;
    default:
        if (!tn_is_integer(e)) return false;
        if (tn_element_type_class(e) == TN_CLASS_SINT) least = largest ? top : top - 1;
        else least = largest ? 0 : all;
    }
    return place == 0 && value == least;
}

#define GATHER(T)                                                                                  \
    for (int64_t i = 0; i < n; i++) ((T *)to)[i] = ((const T *)from)[at[i]]
static void gather(size_t width, const void *from, const int64_t *at, int64_t n, void *to)
{
    switch (width) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    default: GATHER(uint64_t); break;
    }
}

#define NARROW(T)                                                                                  \
    for (int64_t i = 0; i < n; i++) ((T *)to)[i] = (T)x[i]
static void narrow(size_t width, const int64_t *x, int64_t n, void *to)
{
    switch (width) {
    case 1: NARROW(uint8_t); break;
    case 2: NARROW(uint16_t); break;
    case 4: NARROW(uint32_t); break;
    default: NARROW(uint64_t); break;
    }
}

/* Short rows, and short columns of few of them, are turned, as many as a call of the kernel takes:
 * each element of all that one result has is then a column. */
static bool is_turned(const job *j)
{
    int64_t n = j->length * j->inner;
    return j->outer >= TURNED_AT_LEAST && j->inner < COLUMNS_AT_LEAST && j->length > 1 &&
           n <= (j->inner > 1 ? TURNED_COLUMNS : TURNED_ROWS);
}

#define SPREAD(T)                                                                                  \
    for (int64_t i = 0; i < n; i++) ((T *)to)[i * apart] = ((const T *)x)[i]
static void spread(size_t width, const void *x, int64_t n, int64_t apart, void *to)
{
    switch (width) {
    case 1: SPREAD(uint8_t); break;
    case 2: SPREAD(uint16_t); break;
    case 4: SPREAD(uint32_t); break;
    default: SPREAD(uint64_t); break;
    }
}

#define ZEROS(T)                                                                                   \
    for (int64_t i = 0; i < n; i++) zeros |= (T)(((const T *)x)[i] << 1) == 0
static bool have_zeros(size_t width, const void *x, int64_t n)
{
    bool zeros = false;
    switch (width) {
    case 2: ZEROS(uint16_t); break;
    case 4: ZEROS(uint32_t); break;
    default: ZEROS(uint64_t); break;
    }
    return zeros;
}

static const char *last_zero(const job *j, int64_t kept);

/* Values and places of n results that are `apart` from each other, the first of which is `kept`: of
 * as many lines, or columns side by side. */
static void store_few(const job *j, int64_t kept, int64_t n, int64_t apart, const int32_t *index)
{
    int64_t at[TN_ARG_COLUMNS], places[TN_ARG_COLUMNS];
    _Alignas(64) char value[TN_ARG_COLUMNS * 8], narrowed[TN_ARG_COLUMNS * 8];
    int64_t o = kept / j->inner, l = kept % j->inner, lines = apart == j->inner, side = !lines;
    char *values = j->values + (size_t)kept * j->width;
    char *indices = j->indices + (size_t)kept * j->index_width;
    bool dense = apart == 1;
    for (int64_t i = 0; i < n; i++) {
        places[i] = index[i];
        at[i] = ((o + lines * i) * j->length + index[i]) * j->inner + l + side * i;
    }
    char *to = dense ? values : value;
    gather(j->width, j->x, at, n, to);
    bool zeros = j->other_zeros && have_zeros(j->width, to, n);
    for (int64_t i = 0; i < n && zeros; i++) {
        uint64_t bits = 0;
        memcpy(&bits, to + (size_t)i * j->width, j->width);
        if (!(uint64_t)(bits << (65 - 8 * j->width)))
            memcpy(to + (size_t)i * j->width, last_zero(j, kept + i * apart), j->width);
    }
    narrow(j->index_width, places, n, dense ? indices : narrowed);
    if (dense) return;
    spread(j->width, value, n, apart, values);
    spread(j->index_width, narrowed, n, apart, indices);
}

/* Of a row, while it is in this core's cache. */
static void store_one(const job *j, int64_t o, tn_arg found)
{
    const char *x = j->other_zeros && found.key == 0
                        ? last_zero(j, o)
                        : j->x + (size_t)(o * j->length + found.index) * j->width;
    memcpy(j->values + (size_t)o * j->width, x, j->width);
    narrow(j->index_width, &found.index, 1, j->indices + (size_t)o * j->index_width);
}

static void run_turned(const job *j, int64_t begin, int64_t end)
{
    _Alignas(64) char turned[TURNED_BYTES];
    tn_arg best[TN_ARG_COLUMNS];
    int32_t index[TN_ARG_COLUMNS];
    int64_t columns = j->length * j->inner, width = (int64_t)j->width;
    int64_t most = TURNED_BYTES / tn_turned_columns(j->width, columns) - 64;
    most = most / width < TN_ARG_COLUMNS ? most / width / 16 * 16 : TN_ARG_COLUMNS;
    int64_t apart = most * width + 64;
    for (int64_t o = begin, n; o < end; o += n) {
        n = end - o < most ? end - o : most;
        const char *x = j->x + o * columns * width;
        tn_turn(j->width, columns, x, n, end - o - n, turned, apart);
        for (int64_t l = 0; l < j->inner; l++) {
            int64_t step = j->inner * apart / width, kept = o * j->inner + l;
            const char *from = turned + l * apart;
            if (j->values) {
                tn_arg_few(&j->kernels, j->width, from, step, j->length, n, index);
                store_few(j, kept, n, j->inner, index);
                continue;
            }
            tn_arg_columns(&j->kernels, j->width, from, step, j->length, n, best);
            for (int64_t i = 0; i < n; i++) j->best[kept + i * j->inner] = best[i];
        }
    }
}

static void run_pieces(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    if (is_turned(j)) {
        run_turned(j, begin, end);
        return;
    }
    for (int64_t k = begin; k < end; k++) {
        int64_t share = k % j->shares, o = k / j->shares / j->tiles, t = k / j->shares % j->tiles;
        int64_t first = share * j->share, column = t * j->tile;
        int64_t rows = j->length - first < j->share ? j->length - first : j->share;
        int64_t n = j->inner - column < j->tile ? j->inner - column : j->tile;
        const char *x = j->x + (size_t)((o * j->length + first) * j->inner + column) * j->width;
        tn_arg *best = j->best + (share * j->outer + o) * j->inner + column;
        if (j->values && j->inner > 1) {
            int32_t index[TN_ARG_COLUMNS];
            tn_arg_few(&j->kernels, j->width, x, j->inner, rows, n, index);
            store_few(j, o * j->inner + column, n, 1, index);
        } else if (j->inner > 1) {
            tn_arg_columns(&j->kernels, j->width, x, j->inner, rows, n, best);
            for (int64_t i = 0; i < n; i++) best[i].index += first;
        } else {
            tn_arg found = j->kernels.row(x, rows);
            if (j->values) store_one(j, o, found);
            else *best = (tn_arg){found.key, found.index + first};
        }
    }
}

static void cut(job *j)
{
    j->tile = j->inner < TN_ARG_COLUMNS ? j->inner : TN_ARG_COLUMNS;
    j->tiles = (j->inner + j->tile - 1) / j->tile;
    j->share = PIECE / j->tile;
    if (j->outer * j->tiles >= 64) j->share = j->length;
    if (j->share > j->length) j->share = j->length;
    j->shares = (j->length + j->share - 1) / j->share;
}

static const char *element(const job *j, int64_t kept, int64_t at)
{
    int64_t o = kept / j->inner, l = kept % j->inner;
    return j->x + (size_t)((o * j->length + at) * j->inner + l) * j->width;
}

static const char *last_zero(const job *j, int64_t kept)
{
    for (int64_t at = j->length - 1;; at--) {
        uint64_t bits = 0;
        const char *x = element(j, kept, at);
        memcpy(&bits, x, j->width);
        if (!(uint64_t)(bits << (65 - 8 * j->width))) return x;
    }
}

/* What `finish` works on: TILE of each. */
typedef struct {
    _Alignas(64) char value[TILE * 8], index[TILE * 8], init_value[TILE * 8], init_index[TILE * 8];
    int64_t places[TILE], at[TILE]; /* along the dimension; in the operand */
} pairs;

/* The pairs of kept elements [first, first + n), joined with the initial one. */
static tn_status *finish(const job *j, const tn_combiner *c, int64_t first, int64_t n, pairs *p,
                         char *scratch, tn_tensor *results)
{
    size_t index_width = tn_element_type_bytes(results[1].type->element);
    int64_t kept = j->outer * j->inner, o = first / j->inner, l = first % j->inner;
    bool rows = j->inner == 1, simple = j->shares == 1 && (rows || j->outer == 1);
    for (int64_t i = 0; i < n && simple; i++) {
        int64_t index = j->best[first + i].index;
        p->places[i] = index;
        p->at[i] = rows ? (first + i) * j->length + index : index * j->inner + first + i;
    }
    for (int64_t i = 0; i < n && !simple; i++) {
        tn_arg *best = &j->best[first + i];
        for (int64_t s = 1; s < j->shares; s++) {
            tn_arg other = j->best[s * kept + first + i];
            if (other.key > best->key) *best = other;
        }
        p->places[i] = best->index;
        p->at[i] = (o * j->length + best->index) * j->inner + l;
        if (++l == j->inner) l = 0, o++;
    }
    for (int64_t i = 0; i < n && j->other_zeros; i++)
        if (j->best[first + i].key == 0)
            p->at[i] = (last_zero(j, first + i) - j->x) / (int64_t)j->width;
    void *out[] = {(char *)results[0].data + (size_t)first * j->width,
                   (char *)results[1].data + (size_t)first * index_width};
    gather(j->width, j->x, p->at, n, c ? (void *)p->value : out[0]);
    narrow(index_width, p->places, n, c ? (void *)p->index : out[1]);
    if (!c) return NULL;
    return tn_combiner_run(c, n, (const void *[]){p->init_value, p->init_index},
                           (const void *[]){p->value, p->index}, out, scratch);
}

tn_status *tn_reduce_arg(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                         const tn_combiner *c, tn_tensor *results)
{
    const tn_type *t = operands[0].type;
    uint32_t n_dims, d = (uint32_t)tn_op_ints(op, TN_ATTR_dimensions, &n_dims)[0];
    tn_body_shortcut s = ctx->bodies[0]->shortcut;
    bool largest = s == TN_BODY_ARG_MAX || s == TN_BODY_ARG_MAX_OTHER;
    bool other = s == TN_BODY_ARG_MAX_OTHER || s == TN_BODY_ARG_MIN_OTHER;
    job j = {.kernels = tn_arg_find(tn_cpu_isa(), largest, t->element),
             .other_zeros = other && tn_is_float(t->element),
             .x = operands[0].data,
             .width = tn_element_type_bytes(t->element),
             .outer = 1,
             .length = t->dims[d],
             .inner = tn_step(t, d)};
    for (uint32_t i = 0; i < d; i++) j.outer *= t->dims[i];
    cut(&j);
    int64_t kept = j.outer * j.inner, pieces = j.outer * j.tiles * j.shares;
    j.best = tn_scratch_alloc(ctx->scratch, (size_t)(kept * j.shares) * sizeof *j.best);
    pairs *p = tn_scratch_alloc(ctx->scratch, sizeof *p);
    char *scratch = tn_scratch_alloc(ctx->scratch, c ? tn_combiner_scratch(c) : 1);
    if (!j.best || !p || !scratch) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    double each = 0.02 * (double)j.width * (j.inner > 1 && j.inner < 16 ? 16 : 1);
    bool rows = j.inner == 1 && j.shares == 1;
    if (!c && (is_turned(&j) || rows ||
               (j.inner >= COLUMNS_AT_LEAST && j.shares == 1 && j.length <= TN_ARG_ROWS))) {
        j.values = results[0].data;
        j.indices = results[1].data;
        j.index_width = tn_element_type_bytes(results[1].type->element);
    }
    tn_parallel_for(ctx->pool, pieces, each * (double)(kept * j.length) / (double)pieces + 20,
                    run_pieces, &j);
    if (j.values) return NULL;
    const tn_tensor *inits = operands + 2;
    int64_t some = kept < TILE ? kept : TILE;
    if (c) {
        tn_fill(NULL, p->init_value, inits[0].data, j.width, some);
        tn_fill(NULL, p->init_index, inits[1].data, c->parts[1].from_width, some);
    }
    for (int64_t at = 0; at < kept; at += TILE)
        TN_TRY(finish(&j, c, at, kept - at < TILE ? kept - at : TILE, p, scratch, results));
    return NULL;
}
