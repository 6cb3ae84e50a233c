/* SPDX-License-Identifier: Apache-2.0 */
/* select_and_scatter: each window selects one of its elements, and its source value is added there
 * by the scatter body. Padding is never selected; a window of padding alone selects nothing. */
#include "base/thread_pool.h"
#include "kernels/pool_grad.h"
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/combiner.h"
#include "ops/piece_memory.h"
#include "ops/strided.h"
#include "ops/window_shape.h"

tn_status *tn_infer_select_and_scatter(const tn_op *op, tn_arena *a, const tn_type **out)
{
    for (uint32_t i = 0; i < 3; i++) TN_TRY(tn_check_tensor(op, i));
    TN_TRY(tn_check_same_element(op, 0, 1));
    TN_TRY(tn_check_same_element(op, 0, 2));
    TN_TRY(tn_check_rank(op, 2, 0));
    const tn_type *t = tn_operand_type(op, 0), *source = tn_operand_type(op, 1);
    TN_TRY(tn_check_rank(op, 1, t->rank));
    tn_window_dim *w;
    TN_TRY(tn_window_dims_of(op, a, t->rank, &w));
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t want;
        if (!tn_window_count(&w[i], t->dims[i], &want))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u of size %" PRId64 " can't be padded by %" PRId64
                               " and %" PRId64,
                               i, t->dims[i], w[i].low, w[i].high);
        if (!tn_dims_agree(want, source->dims[i]))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u of the source should be %" PRId64
                               ", the number of windows, and is %" PRId64,
                               i, want, source->dims[i]);
    }
    tn_element_type select[] = {t->element, t->element}, i1 = TN_I1;
    TN_TRY(tn_check_region(op, 0, 2, select, 1, &i1));
    const tn_region *scatter = &op->regions[1];
    tn_element_type e = scatter->n_args ? scatter->args[0].type->element : TN_INVALID;
    tn_element_type args[] = {e, e};
    TN_TRY(tn_check_region(op, 1, 2, args, 1, args));
    if (!tn_is_promotable(t->element, e))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "operand 0 is %s, which the scatter body can't take as %s",
                           TN_TYPE_IN_MESSAGE(t), tn_element_type_text(e));
    out[0] = t->element == e ? t : tn_type_tensor(a, e, t->rank, t->dims);
    return NULL;
}

/* --- selection: many windows side by side --- */

enum { LANES = TN_BODY_TILE };

/* A dimension along which windows have more than one place. */
typedef struct {
    int64_t stride, low, window, size; /* of the operand */
    int64_t source_size, source_step, step;
} active;

typedef struct {
    const tn_op *op;
    const tn_eval_context *ctx;
    const tn_body *select;
    const void **captures;
    const tn_tensor *operand;
    uint32_t rank;
    const active *dims; /* [rank] */
    int64_t windows;
    int64_t *selected; /* [windows]: element of the operand, -1 for none */
    tn_piece_memory memory;
    _Atomic(tn_status *) failure;
} job;

typedef struct {
    int64_t *starts;    /* [rank][LANES]: where windows begin along each dimension */
    int64_t *window;    /* [rank] */
    int64_t *candidate; /* [LANES], -1 outside */
    uint8_t *keep;
    char *current, *next;
    void *scratch;
} work;

static size_t align(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static size_t work_size(const job *j)
{
    size_t rank = j->rank;
    return align((rank + 1) * LANES * 8) + align(rank * 8) + LANES * 64 +
           tn_body_scratch(j->select);
}

static bool take_work(job *j, work *w)
{
    size_t rank = j->rank;
    char *at = tn_piece_memory_take(&j->memory);
    if (!at) return false;
    w->starts = (int64_t *)at;
    w->candidate = w->starts + rank * LANES;
    at += align((rank + 1) * LANES * 8);
    w->window = (int64_t *)at;
    at += align(rank * 8);
    w->current = at;
    w->next = at + LANES * 16;
    w->keep = (uint8_t *)(at + LANES * 32);
    w->scratch = at + LANES * 64;
    return true;
}

static bool next_window(const job *j, int64_t *window)
{
    for (uint32_t d = j->rank; d--;) {
        if (++window[d] < j->dims[d].window) return true;
        window[d] = 0;
    }
    return false;
}

static void find_candidates(const job *j, work *w, int64_t n)
{
    for (int64_t k = 0; k < n; k++) w->candidate[k] = 0;
    for (uint32_t d = 0; d < j->rank; d++) {
        const active *x = &j->dims[d];
        const int64_t *start = w->starts + (size_t)d * LANES;
        for (int64_t k = 0; k < n; k++) {
            int64_t at = start[k] + w->window[d];
            bool outside = (uint64_t)at >= (uint64_t)x->size;
            w->candidate[k] = outside || w->candidate[k] < 0 ? -1 : w->candidate[k] + at * x->step;
        }
    }
}

#define GATHER(T)                                                                                  \
    for (int64_t k = 0; k < n; k++) ((T *)to)[k] = ((const T *)from)[at[k] < 0 ? 0 : at[k]]

typedef unsigned __int128 wide;

static void gather(int64_t width, const void *from, const int64_t *at, int64_t n, void *to)
{
    switch (width) {
    case 1: GATHER(uint8_t); return;
    case 2: GATHER(uint16_t); return;
    case 4: GATHER(uint32_t); return;
    case 8: GATHER(uint64_t); return;
    default: GATHER(wide); return;
    }
}

static tn_status *select_lanes(const job *j, work *w, int64_t first, int64_t n)
{
    int64_t width = tn_width(j->operand->type), *selected = j->selected + first;
    for (uint32_t d = 0; d < j->rank; d++) {
        const active *x = &j->dims[d];
        for (int64_t k = 0; k < n; k++)
            w->starts[d * LANES + k] =
                (first + k) / x->source_step % x->source_size * x->stride - x->low;
        w->window[d] = 0;
    }
    for (int64_t k = 0; k < n; k++) selected[k] = -1;
    memset(w->current, 0, LANES * 16);
    do {
        find_candidates(j, w, n);
        gather(width, j->operand->data, w->candidate, n, w->next);
        const void *args[] = {w->current, w->next};
        void *keep[] = {w->keep};
        TN_TRY(tn_body_run(j->select, j->ctx, (size_t)n, args, keep, j->captures, w->scratch));
        for (int64_t k = 0; k < n; k++) {
            if (w->candidate[k] < 0 || (selected[k] >= 0 && w->keep[k])) continue;
            selected[k] = w->candidate[k];
            memcpy(w->current + k * width, w->next + k * width, (size_t)width);
        }
    } while (next_window(j, w->window));
    return NULL;
}

static void select_pieces(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    work w;
    tn_status *s = NULL;
    if (take_work(j, &w)) {
        for (int64_t k = begin; k < end && !s; k++) {
            int64_t first = k * LANES, n = j->windows - first;
            s = select_lanes(j, &w, first, n < LANES ? n : LANES);
        }
        tn_piece_memory_give(&j->memory, w.starts);
    } else {
        s = TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "out of memory");
    }
    tn_keep_first(&j->failure, s);
}

static tn_status *select_all(job *j, const tn_tensor *source)
{
    const tn_type *t = j->operand->type;
    tn_window_dim *w = tn_scratch_alloc(j->ctx->scratch, (t->rank + 1) * sizeof *w);
    active *dims = tn_scratch_alloc(j->ctx->scratch, (t->rank + 1) * sizeof *dims);
    j->selected = tn_scratch_alloc(j->ctx->scratch, (size_t)j->windows * sizeof *j->selected);
    if (!w || !dims || !j->selected) return TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "out of memory");
    tn_window_dims_read(j->op, t->rank, w);
    double places = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (source->type->dims[d] == 1 && w[d].size == 1 && !w[d].low) continue;
        dims[j->rank++] = (active){w[d].stride,
                                   w[d].low,
                                   w[d].size,
                                   t->dims[d],
                                   source->type->dims[d],
                                   tn_step(source->type, d),
                                   tn_step(t, d)};
        places *= (double)w[d].size;
    }
    j->dims = dims;
    tn_piece_memory_begin(&j->memory, j->ctx->scratch, work_size(j));
    tn_parallel_for(j->ctx->pool, (j->windows + LANES - 1) / LANES, places * LANES * 10,
                    select_pieces, j);
    return atomic_load(&j->failure);
}

/* --- scattering, in the order of the windows --- */

static tn_status *scatter(const job *j, const tn_combiner *c, const tn_tensor *source,
                          tn_tensor *result)
{
    const tn_combiner_part *p = &c->parts[0];
    void *scratch = tn_scratch_alloc(j->ctx->scratch, tn_combiner_scratch(c) + 64);
    if (!scratch) return TN_OP_ERROR(RESOURCE_EXHAUSTED, j->op, "out of memory");
    char value[16];
    for (int64_t k = 0; k < j->windows; k++) {
        if (j->selected[k] < 0) continue;
        void *at = (char *)result->data + (size_t)j->selected[k] * p->to_width;
        const void *x = (const char *)source->data + (size_t)k * p->from_width;
        if (p->from != p->acc) {
            tn_combiner_load(c, 0, 1, x, value);
            x = value;
        }
        TN_TRY(tn_combiner_run(c, 1, (const void *[]){at}, (const void *[]){x}, (void *[]){at},
                               scratch));
    }
    return NULL;
}

/* --- channels last: what pooling in NHWC and the like leads to --- */

enum { PLACES = 256, FEWEST_CHANNELS = 8, MIDDLE = 4 };

/* [batch, middle..., channels] with windows in the middle. */
typedef struct {
    tn_pool_fn *run;
    tn_pool_keep keep;
    int64_t batch, channels;
    uint32_t rank; /* of the middle */
    tn_window_dim dims[MIDDLE];
    int64_t size[MIDDLE], windows[MIDDLE];
    int64_t all_size, all_windows; /* of the middle */
    int64_t taps, places[PLACES];  /* of a window that is inside, from its first place */
    const char *operand, *source, *init;
    char *result;
    int64_t width;
} pooling;

static void find_places(pooling *p)
{
    for (int64_t k = 0; k < p->taps; k++) {
        int64_t rest = k, step = p->channels;
        p->places[k] = 0;
        for (uint32_t d = p->rank; d--; step *= p->size[d]) {
            p->places[k] += rest % p->dims[d].size * step;
            rest /= p->dims[d].size;
        }
    }
}

/* Element `t` of the window at `at`: from the image's begin, or -1 outside. */
static int64_t place_of(const pooling *p, const int64_t *at, int64_t t)
{
    int64_t place = 0, step = p->channels;
    for (uint32_t d = p->rank; d--; step *= p->size[d]) {
        int64_t x = at[d] * p->dims[d].stride - p->dims[d].low + t % p->dims[d].size;
        t /= p->dims[d].size;
        if (x < 0 || x >= p->size[d]) return -1;
        place += x * step;
    }
    return place;
}

static void pool_window(const pooling *p, int64_t batch, int64_t window, const int64_t *at)
{
    int64_t places[PLACES], n = 0;
    int64_t image = batch * p->all_size * p->channels;
    int64_t first = place_of(p, at, 0), last = place_of(p, at, p->taps - 1);
    tn_pool_window w = {.keep = p->keep,
                        .channels = p->channels,
                        .source =
                            p->source + (batch * p->all_windows + window) * p->channels * p->width};
    if (first >= 0 && last >= 0) {
        image += first;
        n = p->taps;
        w.places = p->places;
    } else {
        for (int64_t t = 0; t < p->taps; t++)
            if ((places[n] = place_of(p, at, t)) >= 0) n++;
        w.places = places;
    }
    if (!n) return;
    w.n = n;
    w.operand = p->operand + image * p->width;
    w.result = p->result + image * p->width;
    p->run(&w);
}

static void pool_batches(void *ctx, int64_t begin, int64_t end)
{
    const pooling *p = ctx;
    int64_t image = p->all_size * p->channels;
    for (int64_t b = begin; b < end; b++) {
        int64_t at[MIDDLE] = {0};
        tn_fill(NULL, p->result + b * image * p->width, p->init, (size_t)p->width, image);
        for (int64_t w = 0; w < p->all_windows; w++) {
            pool_window(p, b, w, at);
            for (uint32_t d = p->rank; d-- && ++at[d] == p->windows[d];) at[d] = 0;
        }
    }
}

/* --- channels first, or none: several images become channels of one --- */

enum { BLOCK_BYTES = 1 << 20, MOST_IMAGES = 64 };

typedef struct {
    const pooling *p;
    const tn_op *op;
    int64_t images; /* of a block */
    tn_piece_memory memory;
    _Atomic(tn_status *) failure;
} blocks;

static int64_t image_bytes(const pooling *p)
{
    return (2 * p->all_size + p->all_windows) * p->channels * p->width;
}

/* Between [images, places, channels] and [places, images, channels]. */
static void turn_images(const pooling *p, int64_t images, int64_t places, bool back, char *dst,
                        const char *src)
{
    int64_t run = p->channels * p->width, rows = back ? images : places;
    int64_t columns = back ? places : images;
    tn_strided nest;
    tn_strided_init(&nest);
    tn_strided_push(&nest, rows, columns * run, run);
    tn_strided_push(&nest, columns, run, rows * run);
    tn_strided_push(&nest, p->channels, p->width, p->width);
    tn_strided_run(&nest, (size_t)p->width, dst, src, NULL);
}

static void pool_blocks(void *ctx, int64_t begin, int64_t end)
{
    blocks *b = ctx;
    const pooling *p = b->p;
    char *memory = tn_piece_memory_take(&b->memory);
    if (!memory) {
        tn_keep_first(&b->failure, TN_OP_ERROR(RESOURCE_EXHAUSTED, b->op, "out of memory"));
        return;
    }
    for (; begin < end; begin++) {
        int64_t first = begin * b->images, left = p->batch - first;
        int64_t n = left < b->images ? left : b->images;
        int64_t image = p->all_size * p->channels * p->width;
        int64_t windows = p->all_windows * p->channels * p->width;
        char *result = memory + n * image, *source = result + n * image;
        pooling one = *p;
        one.batch = 1;
        one.channels = n * p->channels;
        one.operand = memory;
        one.source = source;
        one.result = result;
        find_places(&one);
        turn_images(p, n, p->all_size, false, memory, p->operand + first * image);
        turn_images(p, n, p->all_windows, false, source, p->source + first * windows);
        pool_batches(&one, 0, 1);
        turn_images(p, n, p->all_size, true, p->result + first * image, result);
    }
    tn_piece_memory_give(&b->memory, memory);
}

static tn_status *pool_in_blocks(const job *j, const pooling *p)
{
    blocks b = {.p = p, .op = j->op, .images = BLOCK_BYTES / image_bytes(p)};
    if (b.images < FEWEST_CHANNELS) b.images = FEWEST_CHANNELS;
    if (b.images > MOST_IMAGES) b.images = MOST_IMAGES;
    if (b.images > p->batch) b.images = p->batch;
    tn_piece_memory_begin(&b.memory, j->ctx->scratch, (size_t)(b.images * image_bytes(p)));
    double each = (double)(b.images * p->all_windows * p->channels) * 10;
    tn_parallel_for(j->ctx->pool, (p->batch + b.images - 1) / b.images, each, pool_blocks, &b);
    return atomic_load(&b.failure);
}

static bool is_idle(const tn_window_dim *w, int64_t size, int64_t windows)
{
    return w->size == 1 && w->stride == 1 && !w->low && size == windows;
}

/* Whether that is what the op is. */
static bool prepare_pooling(const job *j, const tn_combiner *c, const tn_tensor *source, pooling *p)
{
    const tn_type *t = j->operand->type;
    tn_element_type e = t->element;
    enum { RANK = 8 };
    tn_window_dim w[RANK];
    if (t->rank > RANK || (e != TN_F32 && e != TN_F64) || source->type->element != e ||
        c->kernel_op != TN_OP_add || c->parts[0].to != e)
        return false;
    switch ((int)j->select->shortcut) {
    case TN_BODY_GE: p->keep = TN_KEEP_GE; break;
    case TN_BODY_GT: p->keep = TN_KEEP_GT; break;
    case TN_BODY_LE: p->keep = TN_KEEP_LE; break;
    case TN_BODY_LT: p->keep = TN_KEEP_LT; break;
    default: return false;
    }
    tn_window_dims_read(j->op, t->rank, w);
    const int64_t *windows = source->type->dims;
    uint32_t first = 0, end = t->rank;
    p->batch = p->channels = p->all_size = p->all_windows = 1;
    while (end && is_idle(&w[end - 1], t->dims[end - 1], windows[end - 1]))
        p->channels *= t->dims[--end];
    while (first < end && is_idle(&w[first], t->dims[first], windows[first]))
        p->batch *= t->dims[first++];
    p->rank = end - first;
    p->taps = 1;
    if (p->rank > MIDDLE || p->channels * p->batch < FEWEST_CHANNELS) return false;
    for (uint32_t d = 0; d < p->rank; d++) {
        p->dims[d] = w[first + d];
        p->size[d] = t->dims[first + d];
        p->windows[d] = windows[first + d];
        p->all_size *= p->size[d];
        p->all_windows *= p->windows[d];
        if (p->dims[d].size > PLACES) return false;
        p->taps *= p->dims[d].size;
    }
    if (p->taps > PLACES) return false;
    p->width = tn_width(t);
    p->run = tn_pool_function(tn_cpu_isa(), e == TN_F64);
    find_places(p);
    return true;
}

tn_status *tn_eval_select_and_scatter(const tn_op *op, const tn_eval_context *ctx,
                                      const tn_tensor *operands, tn_tensor *results)
{
    const tn_type *t = operands[0].type;
    const tn_tensor *source = &operands[1];
    if (tn_is_empty(t)) return NULL;
    tn_combiner c;
    TN_TRY(tn_combiner_prepare(op, ctx, 1, operands, 1, source, false, &c));
    char init[16];
    tn_combiner_load(&c, 0, 1, operands[2].data, init);
    job j = {.op = op,
             .ctx = ctx,
             .select = ctx->bodies[0],
             .captures = tn_captured_data(op, ctx, 0, operands),
             .operand = &operands[0],
             .windows = tn_type_elements(source->type)};
    if (!j.captures) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    pooling p = {.operand = operands[0].data,
                 .source = source->data,
                 .result = results[0].data,
                 .init = init};
    if (j.windows && prepare_pooling(&j, &c, source, &p)) {
        if (p.channels < FEWEST_CHANNELS) return pool_in_blocks(&j, &p);
        double each = (double)(p.all_windows * p.channels) * 3;
        tn_parallel_for(ctx->pool, p.batch, each, pool_batches, &p);
        return NULL;
    }
    tn_fill(ctx->pool, results[0].data, init, c.parts[0].to_width, tn_type_elements(t));
    if (!j.windows) return NULL;
    TN_TRY(select_all(&j, source));
    return scatter(&j, &c, source, &results[0]);
}
