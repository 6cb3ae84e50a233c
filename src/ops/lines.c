/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/lines.h"

#include <string.h>

#include "base/thread_pool.h"
#include "kernels/turn.h"
#include "ops/access.h"

enum {
    PIECE = 1 << 16, /* elements that are worth a piece of their own */
    MANY = 16,       /* lines, or groups of columns, that are pieces enough */
    COLUMNS_AT_LEAST = 16,
    WIDE_COLUMNS = 64, /* of several steps side by side, */
    ROW_BYTES = 256,   /* of as many as a row has lanes where lines are long, */
    WIDE_BYTES = COLUMNS_AT_LEAST * ROW_BYTES,
    TURNED_AT_LEAST = 64, /* lines */
    TURNED_COLUMNS = 128,
    TURNED_ROWS = 256,
    TURNED_BYTES = 40 << 10,
    SHARE_OF_COLUMNS = 16,
    SHARE_OF_ROW = 1024,
    TOGETHER = 1024 /* results that are finished in one go */
};

/* --- what it is --- */

static bool find_geometry(const tn_type *t, const int64_t *dims, uint32_t n, tn_lines *l)
{
    l->outer = l->length = l->inner = 1;
    int at = 0; /* 0: before, 1: along, 2: after */
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->dims[d] == 1) continue;
        bool reduced = false;
        for (uint32_t i = 0; i < n; i++) reduced |= dims[i] == d;
        if (reduced && at == 2) return false;
        if (reduced) at = 1;
        else if (at == 1) at = 2;
        *(at == 0 ? &l->outer : at == 1 ? &l->length : &l->inner) *= t->dims[d];
    }
    return l->outer > 0 && l->length > 0 && l->inner > 0;
}

/* What changes nothing: a number, or the bits of a float. */
static bool find_neutral(tn_op_kind kind, tn_element_type e, uint64_t *out)
{
    unsigned bits = (unsigned)tn_element_type_bits(e);
    bool is_float = e == TN_F64 || e == TN_F32 || e == TN_F16 || e == TN_BF16, truth = e == TN_I1;
    if (!is_float && !truth && !tn_is_integer(e)) return false;
    if (!truth && bits != 8 && bits != 16 && bits != 32 && bits != 64) return false;
    bool sint = tn_element_type_class(e) == TN_CLASS_SINT;
    uint64_t ones = truth ? 1 : UINT64_MAX >> (64 - bits), top = truth ? 0 : ones ^ (ones >> 1);
    uint64_t inf = e == TN_F64   ? UINT64_C(0x7ff) << 52
                   : e == TN_F32 ? 0x7f800000
                   : e == TN_F16 ? 0x7c00
                                 : 0x7f80;
    switch ((int)kind) {
    case TN_OP_add: *out = is_float ? top : 0; return true;
    case TN_OP_multiply:
        *out = !is_float     ? 1
               : e == TN_F64 ? UINT64_C(0x3ff) << 52
               : e == TN_F32 ? 0x3f800000
               : e == TN_F16 ? 0x3c00
                             : 0x3f80;
        return true;
    case TN_OP_maximum: *out = is_float ? inf | top : sint ? top : 0; return true;
    case TN_OP_minimum: *out = is_float ? inf : sint ? ones ^ top : ones; return true;
    case TN_OP_and: *out = ones; return !is_float;
    case TN_OP_or:
    case TN_OP_xor: *out = 0; return !is_float;
    default: return false;
    }
}

static void cut(tn_lines *l)
{
    bool rows = l->inner == 1;
    int64_t most = 64, least = rows ? SHARE_OF_ROW : SHARE_OF_COLUMNS;
    l->share = l->length;
    if (l->outer < MANY) {
        double pieces = (double)l->length * (double)l->inner / PIECE;
        int64_t shares = pieces < (double)most ? (int64_t)pieces : most;
        if (shares > 1) l->share = (l->length + shares - 1) / shares;
        if (rows) l->share = (l->share + TN_ROW_PIECE - 1) / TN_ROW_PIECE * TN_ROW_PIECE;
        if (l->share < least) l->share = least;
        if (l->share > l->length) l->share = l->length;
    }
    l->shares = (l->length + l->share - 1) / l->share;
}

bool tn_lines_find(const tn_op *op, tn_op_kind kind, tn_lines *l)
{
    uint32_t n;
    if (op->kind != TN_OP_reduce) return false;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_dimensions, &n);
    return tn_lines_find_along(op, kind, tn_operand_type(op, 0), dims, n, l);
}

/* Do results of some elements have the precision that is wanted of all of them? */
static bool are_partial(tn_op_kind kind, tn_element_type e, tn_element_type body)
{
    bool narrow = e == TN_F16 || e == TN_BF16;
    if (!narrow || (kind != TN_OP_add && kind != TN_OP_multiply)) return body == e;
    return body == TN_F32;
}

uint32_t tn_lines_first(const tn_op *op, tn_op_kind kind, const tn_type *t, const int64_t *dims,
                        uint32_t n, uint64_t *neutral)
{
    if (op->kind != TN_OP_reduce || op->n_operands != 2 || t->rank > 64 || !tn_type_is_static(t) ||
        tn_is_empty(t) || t->quantization || tn_result_type(op, 0)->quantization ||
        !are_partial(kind, t->element, op->regions[0].args[0].type->element) ||
        !find_neutral(kind, t->element, neutral))
        return 0;
    uint64_t reduced = 0;
    for (uint32_t i = 0; i < n; i++) reduced |= (uint64_t)(t->dims[dims[i]] != 1) << dims[i];
    uint32_t d = t->rank;
    while (d > 0 && !(reduced >> (d - 1) & 1)) d--;
    while (d > 0 && (t->dims[d - 1] == 1 || (reduced >> (d - 1) & 1))) d--;
    return d > 0 && reduced & ((UINT64_C(1) << d) - 1) ? d : 0;
}

bool tn_lines_find_along(const tn_op *op, tn_op_kind kind, const tn_type *t, const int64_t *dims,
                         uint32_t n_dims, tn_lines *l)
{
    if (op->kind != TN_OP_reduce || op->n_operands != 2 || kind == TN_OP_INVALID) return false;
    const tn_type *to = tn_result_type(op, 0);
    tn_element_type e = t->element, body = op->regions[0].args[0].type->element;
    bool narrow = e == TN_BF16 || e == TN_F16;
    bool sum = kind == TN_OP_add || kind == TN_OP_multiply;
    if (!tn_type_is_static(t) || t->quantization || to->quantization || to->element != body ||
        (body != e && !(narrow && sum && body == TN_F32)))
        return false;
    if (!find_geometry(t, dims, n_dims, l)) return false;
    tn_isa isa = tn_cpu_isa();
    l->folds = tn_line_folds_of(isa, kind, e);
    bool rows = l->inner == 1;
    if (rows ? !tn_has_row_fold(&l->folds, l->length) : !l->folds.columns) return false;
    l->wide = 0;
    l->from_bytes = (uint32_t)tn_element_type_bytes(e);
    if (!rows && l->inner < COLUMNS_AT_LEAST) {
        /* Kernels of narrow elements aren't made for so few, unless they are turned. */
        bool turned = !(narrow && sum) && l->outer >= TURNED_AT_LEAST;
        if (l->from_bytes < 4 && l->length * l->inner < WIDE_COLUMNS && !turned) return false;
        for (l->wide = 1; 2 * l->wide * l->inner <= WIDE_COLUMNS;) l->wide *= 2;
    }
    l->op = kind;
    l->from = e;
    l->to = to->element;
    l->acc = narrow && sum ? TN_F32 : e;
    l->acc_bytes = (uint32_t)tn_element_type_bytes(l->acc);
    /* The order of rows, so that columns may be taken apart: see passes/planes. */
    if (l->wide && l->acc_bytes >= 4 && l->length * l->acc_bytes >= 4 * ROW_BYTES)
        l->wide = ROW_BYTES / l->acc_bytes;
    l->to_bytes = (uint32_t)tn_element_type_bytes(l->to);
    l->load.run = l->store.run = NULL;
    if (!tn_kernel_elementwise(isa, kind, l->acc, &l->combine)) return false;
    if (l->acc != e && !tn_kernel_convert(isa, e, l->acc, &l->load)) return false;
    if (l->acc != l->to && !tn_kernel_convert(isa, l->acc, l->to, &l->store)) return false;
    cut(l);
    return true;
}

/* --- columns --- */

static void combine(const tn_lines *l, int64_t n, const void *left, const void *right, void *out)
{
    tn_kernel_run(&l->combine, (size_t)n, (const void *[]){left, right}, out);
}

void tn_lines_fold_columns(const tn_lines *l, const void *x, int64_t apart, int64_t step,
                           int64_t rows, int64_t n, void *acc, void *total)
{
    bool first = step % TN_LINES_BLOCK == 0;
    if (first && step == TN_LINES_BLOCK) memcpy(total, acc, (size_t)n * l->acc_bytes);
    else if (first && step) combine(l, n, total, acc, total);
    l->folds.columns(x, apart, rows, n, acc, first);
}

void tn_lines_end_columns(const tn_lines *l, int64_t steps, int64_t n, void *acc, const void *total,
                          void *out)
{
    if (steps > TN_LINES_BLOCK) combine(l, n, total, acc, out);
    else if (out != acc) memcpy(out, acc, (size_t)n * l->acc_bytes);
}

static void fold_columns(const tn_lines *l, const char *x, int64_t steps, int64_t n, void *out)
{
    _Alignas(64) char acc[TN_LINES_COLUMNS * 8], total[TN_LINES_COLUMNS * 8];
    for (int64_t s = 0; s < steps; s += TN_LINES_BLOCK) {
        int64_t rows = steps - s < TN_LINES_BLOCK ? steps - s : TN_LINES_BLOCK;
        tn_lines_fold_columns(l, x + (size_t)(s * l->inner) * l->from_bytes, l->inner, s, rows, n,
                              acc, total);
    }
    tn_lines_end_columns(l, steps, n, acc, total, out);
}

/* Few columns: see `wide`. Of few steps fewer go side by side. */
static int64_t side_by_side(const tn_lines *l, int64_t steps)
{
    int64_t k = l->wide;
    while (k > 1 && 4 * k > steps) k /= 2;
    return k;
}

static void fold_wide(const tn_lines *l, const char *x, int64_t steps, void *out)
{
    _Alignas(64) char acc[WIDE_BYTES], total[WIDE_BYTES], rest[WIDE_BYTES];
    int64_t k = side_by_side(l, steps), inner = l->inner;
    int64_t n = k * inner, whole = steps / k, left = (steps - whole * k) * inner;
    for (int64_t s = 0; s < whole; s += TN_LINES_BLOCK) {
        int64_t rows = whole - s < TN_LINES_BLOCK ? whole - s : TN_LINES_BLOCK;
        tn_lines_fold_columns(l, x + (size_t)(s * n) * l->from_bytes, n, s, rows, n, acc, total);
    }
    tn_lines_end_columns(l, whole, n, acc, total, acc);
    if (left) {
        const void *from = x + (size_t)(whole * n) * l->from_bytes;
        if (l->load.run) {
            tn_kernel_run(&l->load, (size_t)left, &from, rest);
            from = rest;
        }
        combine(l, left, acc, from, acc);
    }
    for (int64_t half = k / 2; half; half /= 2)
        combine(l, half * inner, acc, acc + (size_t)(half * inner) * l->acc_bytes, acc);
    memcpy(out, acc, (size_t)inner * l->acc_bytes);
}

/* --- all of it --- */

typedef struct {
    const tn_lines *l;
    const char *x;
    char *partial;
    int64_t tiles; /* of columns */
    int64_t rows;  /* of a piece, where they are whole */
} job;

static void fold_whole_rows(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const tn_lines *l = j->l;
    int64_t first = begin * j->rows, last = end * j->rows < l->outer ? end * j->rows : l->outer;
    tn_fold_rows(&l->folds, j->x + (size_t)(first * l->length) * l->from_bytes, l->length,
                 l->from_bytes, last - first, j->partial + (size_t)first * l->acc_bytes,
                 l->acc_bytes);
}

static void fold_pieces(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const tn_lines *l = j->l;
    int64_t kept = l->outer * l->inner;
    for (int64_t k = begin; k < end; k++) {
        int64_t tile = k % j->tiles, share = k / j->tiles % l->shares;
        int64_t o = k / j->tiles / l->shares, column = tile * TN_LINES_COLUMNS;
        int64_t first = share * l->share, left = l->length - first, n = l->inner - column;
        int64_t steps = left < l->share ? left : l->share;
        if (n > TN_LINES_COLUMNS) n = TN_LINES_COLUMNS;
        const char *x =
            j->x + (size_t)((o * l->length + first) * l->inner + column) * l->from_bytes;
        char *out = j->partial + (size_t)(share * kept + o * l->inner + column) * l->acc_bytes;
        if (l->inner == 1) l->folds.row(x, steps, out);
        else if (l->wide) fold_wide(l, x, steps, out);
        else fold_columns(l, x, steps, n, out);
    }
}

/* Many lines of few columns and steps are turned: each element of all of them is a column. The same
 * sums as those of fold_wide. */
static bool are_turned(const tn_lines *l)
{
    return l->wide && !l->load.run && l->outer >= TURNED_AT_LEAST &&
           l->length * l->inner <= TURNED_COLUMNS;
}

static void fold_turned(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const tn_lines *l = j->l;
    /* Turning back reads whole squares of columns, of acc as of turned. */
    _Alignas(64) char turned[TURNED_BYTES], acc[TURNED_BYTES];
    int64_t width = l->from_bytes, all = l->length * l->inner, k = side_by_side(l, l->length);
    int64_t columns = k * l->inner, whole = l->length / k, rest = all - whole * columns;
    int64_t most = (TURNED_BYTES / tn_turned_columns((size_t)width, all) - 64) / width / 16 * 16;
    int64_t apart = most * width + 64;
    int64_t last = end * j->rows < l->outer ? end * j->rows : l->outer;
    for (int64_t o = begin * j->rows, n; o < last; o += n) {
        n = last - o < most ? last - o : most;
        tn_turn((size_t)width, all, j->x + o * all * width, n, l->outer - o - n, turned, apart);
        for (int64_t c = 0; c < columns; c++)
            l->folds.columns(turned + c * apart, columns * apart / width, whole, n, acc + c * apart,
                             true);
        for (int64_t c = 0; c < rest; c++)
            combine(l, n, acc + c * apart, turned + (whole * columns + c) * apart, acc + c * apart);
        for (int64_t half = k / 2 * l->inner; half >= l->inner; half /= 2)
            for (int64_t c = 0; c < half; c++)
                combine(l, n, acc + c * apart, acc + (c + half) * apart, acc + c * apart);
        tn_turn_back((size_t)width, l->inner, acc, apart, n, 0, j->partial + o * l->inner * width);
    }
}

typedef struct {
    const tn_lines *l;
    char *partial, *result;
    const void *init;
} finish;

#define SPREAD(T)                                                                                  \
    for (int64_t i = 0; i < most; i++) ((T *)init)[i] = *(const T *)given
static void finish_some(void *ctx, int64_t begin, int64_t end)
{
    const finish *f = ctx;
    const tn_lines *l = f->l;
    int64_t kept = l->outer * l->inner;
    _Alignas(64) char init[TOGETHER * 8], one[8];
    const void *given = f->init;
    if (l->load.run) {
        tn_kernel_run(&l->load, 1, &given, one);
        given = one;
    }
    int64_t most = kept < TOGETHER ? kept : TOGETHER;
    switch (l->acc_bytes) {
    case 1: memset(init, *(const char *)given, (size_t)most); break;
    case 2: SPREAD(uint16_t); break;
    case 4: SPREAD(uint32_t); break;
    default: SPREAD(uint64_t); break;
    }
    for (int64_t k = begin; k < end; k++) {
        int64_t first = k * TOGETHER, n = kept - first < TOGETHER ? kept - first : TOGETHER;
        char *acc = f->partial + (size_t)first * l->acc_bytes;
        for (int64_t s = 1; s < l->shares; s++)
            combine(l, n, acc, acc + (size_t)(s * kept) * l->acc_bytes, acc);
        char *to = f->result + (size_t)first * l->to_bytes;
        combine(l, n, init, acc, l->store.run ? acc : to);
        if (l->store.run) tn_kernel_run(&l->store, (size_t)n, (const void *[]){acc}, to);
    }
}

void tn_lines_finish(const tn_lines *l, const tn_eval_context *ctx, char *partial, const void *init,
                     void *result)
{
    finish f = {l, partial, result, init};
    tn_parallel_for(ctx->pool, (l->outer * l->inner + TOGETHER - 1) / TOGETHER,
                    (double)l->shares * TOGETHER * 0.1, finish_some, &f);
}

tn_status *tn_lines_run(const tn_lines *l, const tn_eval_context *ctx, const void *x,
                        const void *init, void *result)
{
    int64_t kept = l->outer * l->inner;
    int64_t tiles = (l->inner + TN_LINES_COLUMNS - 1) / TN_LINES_COLUMNS;
    job j = {.l = l, .x = x, .tiles = tiles};
    j.partial = tn_scratch_alloc(ctx->scratch, (size_t)(kept * l->shares) * l->acc_bytes);
    if (!j.partial) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory for a reduction");
    double elements = (double)kept * (double)l->length, each = 0.02 * l->from_bytes;
    if (tn_lines_are_whole_rows(l)) {
        j.rows = l->length < TOGETHER ? (TOGETHER + l->length - 1) / l->length : 1;
        tn_parallel_for(ctx->pool, (l->outer + j.rows - 1) / j.rows,
                        (each * (double)l->length + 2) * (double)j.rows, fold_whole_rows, &j);
    } else if (are_turned(l)) {
        j.rows = TURNED_ROWS;
        tn_parallel_for(ctx->pool, (l->outer + j.rows - 1) / j.rows,
                        2 * each * (double)(l->length * l->inner * j.rows), fold_turned, &j);
    } else {
        int64_t pieces = l->outer * l->shares * tiles;
        tn_parallel_for(ctx->pool, pieces, elements * each / (double)pieces + 10, fold_pieces, &j);
    }
    tn_lines_finish(l, ctx, j.partial, init, result);
    return NULL;
}
