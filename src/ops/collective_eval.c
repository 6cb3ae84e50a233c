/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives, computed by each member of a group from what all of them offer. Reductions go in the
 * order of the group, so every member gets the same bits. */
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/combiner.h"
#include "ops/meeting.h"
#include "ops/piece_memory.h"
#include "ops/process_groups.h"
#include "ops/quantize.h"
#include "ops/strided.h"

/* --- meeting --- */

static size_t bytes_of(const tn_tensor *t)
{
    return tn_type_bytes(t->type);
}

static tn_status *join(const tn_op *op, const tn_eval_context *ctx, const tn_group *g,
                       const tn_offer *offers, uint32_t n, const tn_round **out)
{
    if (!ctx->meeting)
        return TN_OP_ERROR(FAILED_PRECONDITION, op,
                           "meets %u devices, but runs on one alone: execute it on all of them",
                           g->n);
    return ctx->meeting->join(ctx->meeting, op, g->members, g->n, g->me, offers, n, out);
}

/* Offers all of n tensors. */
static tn_status *join_with(const tn_op *op, const tn_eval_context *ctx, const tn_group *g,
                            const tn_tensor *tensors, uint32_t n, const tn_round **out)
{
    tn_offer *offers = tn_scratch_alloc(ctx->scratch, (n + 1) * sizeof *offers);
    if (!offers) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    for (uint32_t i = 0; i < n; i++) offers[i] = (tn_offer){tensors[i].data, bytes_of(&tensors[i])};
    return join(op, ctx, g, offers, n, out);
}

static void leave(const tn_eval_context *ctx, const tn_round *r)
{
    ctx->meeting->leave(ctx->meeting, r);
}

/* --- without others --- */

static tn_status *pass_on(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *from,
                          tn_tensor *to)
{
    tn_element_type e = from->type->element, f = to->type->element;
    int64_t n = tn_type_elements(to->type);
    bool same = tn_type_elements(from->type) == n;
    if (same && e == f) tn_copy_bytes(ctx->pool, to->data, from->data, bytes_of(to));
    if (same && (e == f || tn_convert_elements(e, from->data, f, to->data, n))) return NULL;
    return TN_OP_ERROR(UNIMPLEMENTED, op, "%s can't become %s on one device",
                       TN_TYPE_IN_MESSAGE(from->type), TN_TYPE_IN_MESSAGE(to->type));
}

static tn_status *pass_all_on(const tn_op *op, const tn_eval_context *ctx,
                              const tn_tensor *operands, tn_tensor *results)
{
    for (uint32_t i = 0; i < op->n_results; i++)
        TN_TRY(pass_on(op, ctx, &operands[i], &results[i]));
    return NULL;
}

/* Sets a tensor to zero, which a quantized one may store as something else. */
static void clear(tn_tensor *t)
{
    if (!t->data || !bytes_of(t)) return;
    memset(t->data, 0, bytes_of(t));
    if (!t->type->quantization) return;
    double zero = 0;
    int64_t n = tn_type_elements(t->type), width = tn_width(t->type);
    for (int64_t i = 0; i < n; i++) tn_quantize(t->type, &zero, i, 1, (char *)t->data + i * width);
}

static tn_status *clear_all(const tn_op *op, tn_tensor *results)
{
    for (uint32_t i = 0; i < op->n_results; i++) clear(&results[i]);
    return NULL;
}

/* --- reductions --- */

/* Elements [first, first + n) of operand `index` of all members, to out[to ..]. */
typedef struct {
    const tn_combiner *combiner;
    const tn_round *round;
    uint32_t n_members, index;
    char *out;
    /* The elements of one run, and the distance of runs in operands and in the result. */
    int64_t n, from, step, to_step, n_runs;
    tn_piece_memory memory;
    _Atomic(tn_status *) failure;
} reduction;

enum { PIECE = 4096, WIDEST = 16 };

static tn_status *reduce_piece(reduction *r, int64_t from, int64_t to, int64_t n, char *memory)
{
    const tn_combiner *c = r->combiner;
    const tn_combiner_part *p = &c->parts[0];
    void *tmp = memory, *acc = memory + PIECE * WIDEST;
    void *scratch = memory + 2 * PIECE * WIDEST;
    char *out = r->out + to * (int64_t)p->to_width;
    if (p->acc == p->to) acc = out;
    bool as_is = p->from == p->acc;
    const void *first = r->round->offers[0][r->index].data;
    const void *left = (const char *)first + from * (int64_t)p->from_width;
    if (!as_is || r->n_members == 1) {
        tn_combiner_load(c, 0, n, left, acc);
        left = acc;
    }
    for (uint32_t m = 1; m < r->n_members; m++) {
        const void *right =
            (const char *)r->round->offers[m][r->index].data + from * (int64_t)p->from_width;
        if (!as_is) {
            tn_combiner_load(c, 0, n, right, tmp);
            right = tmp;
        }
        TN_TRY(tn_combiner_run(c, n, &left, &right, &acc, scratch));
        left = acc;
    }
    tn_combiner_store(c, 0, n, acc, out);
    return NULL;
}

static void reduce_pieces(void *ctx, int64_t begin, int64_t end)
{
    reduction *r = ctx;
    char *memory = tn_piece_memory_take(&r->memory);
    if (!memory) {
        tn_keep_first(&r->failure, TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a reduction"));
        return;
    }
    int64_t pieces = (r->n + PIECE - 1) / PIECE;
    for (int64_t i = begin; i < end; i++) {
        int64_t run = i / pieces, at = i % pieces * PIECE,
                n = r->n - at < PIECE ? r->n - at : PIECE;
        tn_keep_first(&r->failure, reduce_piece(r, r->from + run * r->step + at,
                                                run * r->to_step + at, n, memory));
    }
    tn_piece_memory_give(&r->memory, memory);
}

static tn_status *reduce(reduction *r, const tn_eval_context *ctx)
{
    if (r->n <= 0 || r->n_runs <= 0) return NULL;
    atomic_init(&r->failure, NULL);
    tn_piece_memory_begin(&r->memory, ctx->scratch,
                          2 * PIECE * WIDEST + tn_combiner_scratch(r->combiner));
    int64_t size = r->n < PIECE ? r->n : PIECE;
    tn_parallel_for(ctx->pool, r->n_runs * ((r->n + PIECE - 1) / PIECE),
                    20 + (double)size * r->n_members * 0.3, reduce_pieces, r);
    return atomic_load(&r->failure);
}

/* Every member reduces all of each operand that `wanted` says, without its quarter from others. */
static tn_status *reduce_whole(const tn_op *op, const tn_eval_context *ctx, const tn_group *g,
                               const tn_tensor *operands, tn_tensor *results, uint32_t n_data,
                               const bool *wanted)
{
    const tn_round *round;
    TN_TRY(join_with(op, ctx, g, operands, n_data, &round));
    tn_status *s = NULL;
    for (uint32_t i = 0; i < n_data && !s; i++) {
        if (wanted && !wanted[i]) {
            clear(&results[i]);
            continue;
        }
        tn_combiner c;
        s = tn_combiner_prepare(op, ctx, 0, operands, 1, &operands[i], true, &c);
        reduction r = {.combiner = &c,
                       .round = round,
                       .n_members = g->n,
                       .index = i,
                       .out = results[i].data,
                       .n = tn_type_elements(results[i].type),
                       .n_runs = 1};
        if (!s) s = reduce(&r, ctx);
    }
    leave(ctx, round);
    return s;
}

/* The part of member m of n elements. */
static int64_t part_begin(int64_t n, uint32_t m, uint32_t members)
{
    return n / members * m + (m < n % members ? m : n % members);
}

/* Each member reduces a part, and all read each other's parts. */
static tn_status *reduce_in_parts(const tn_op *op, const tn_eval_context *ctx, const tn_group *g,
                                  const tn_tensor *operands, tn_tensor *results)
{
    uint32_t n_results = op->n_results;
    tn_offer *parts = tn_scratch_alloc(ctx->scratch, (n_results + 1) * sizeof *parts);
    if (!parts) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    const tn_round *round;
    TN_TRY(join_with(op, ctx, g, operands, n_results, &round));
    tn_status *s = NULL;
    for (uint32_t i = 0; i < n_results && !s; i++) {
        tn_combiner c;
        s = tn_combiner_prepare(op, ctx, 0, operands, 1, &operands[i], true, &c);
        if (s) break;
        int64_t n = tn_type_elements(results[i].type), width = tn_width(results[i].type);
        int64_t begin = part_begin(n, g->me, g->n), end = part_begin(n, g->me + 1, g->n);
        char *out = (char *)results[i].data + begin * width;
        reduction r = {.combiner = &c,
                       .round = round,
                       .n_members = g->n,
                       .index = i,
                       .out = out,
                       .n = end - begin,
                       .from = begin,
                       .n_runs = 1};
        s = reduce(&r, ctx);
        parts[i] = (tn_offer){out, (size_t)((end - begin) * width)};
    }
    leave(ctx, round);
    if (s) return s;
    TN_TRY(join(op, ctx, g, parts, n_results, &round));
    for (uint32_t i = 0; i < n_results; i++) {
        int64_t n = tn_type_elements(results[i].type), width = tn_width(results[i].type);
        for (uint32_t m = 0; m < g->n; m++) {
            const tn_offer *o = &round->offers[m][i];
            if (m == g->me || !o->bytes) continue;
            tn_copy_bytes(ctx->pool, (char *)results[i].data + part_begin(n, m, g->n) * width,
                          o->data, o->bytes);
        }
    }
    leave(ctx, round);
    return NULL;
}

/* Below so many bytes it is cheaper to read everything than to meet twice. */
#define WHOLE_AT_MOST (32u << 10)

tn_status *tn_eval_all_reduce(const tn_op *op, const tn_eval_context *ctx,
                              const tn_tensor *operands, tn_tensor *results)
{
    tn_group_strategy how;
    tn_group g;
    TN_TRY(tn_reduce_strategy(op, &how));
    TN_TRY(tn_find_group(op, ctx, how, &g));
    if (g.n <= 1) return pass_all_on(op, ctx, operands, results);
    size_t bytes = 0;
    for (uint32_t i = 0; i < op->n_results; i++) bytes += bytes_of(&results[i]);
    if (bytes <= WHOLE_AT_MOST)
        return reduce_whole(op, ctx, &g, operands, results, op->n_results, NULL);
    return reduce_in_parts(op, ctx, &g, operands, results);
}

tn_status *tn_eval_reduce_scatter(const tn_op *op, const tn_eval_context *ctx,
                                  const tn_tensor *operands, tn_tensor *results)
{
    tn_group_strategy how;
    tn_group g;
    TN_TRY(tn_reduce_strategy(op, &how));
    TN_TRY(tn_find_group(op, ctx, how, &g));
    if (g.n <= 1) return pass_all_on(op, ctx, operands, results);
    const tn_type *t = operands[0].type, *out = results[0].type;
    uint32_t dim = (uint32_t)tn_op_int(op, TN_ATTR_scatter_dimension, 0);
    tn_combiner c;
    TN_TRY(tn_combiner_prepare(op, ctx, 0, operands, 1, &operands[0], true, &c));
    const tn_round *round;
    TN_TRY(join_with(op, ctx, &g, operands, 1, &round));
    int64_t run = tn_step(out, dim) * out->dims[dim];
    reduction r = {.combiner = &c,
                   .round = round,
                   .n_members = g.n,
                   .out = results[0].data,
                   .n = run,
                   .from = run * g.me,
                   .step = tn_step(t, dim) * t->dims[dim],
                   .to_step = run,
                   .n_runs = run ? tn_type_elements(out) / run : 0};
    tn_status *s = reduce(&r, ctx);
    leave(ctx, round);
    return s;
}

/* --- who has what --- */

/* Which member is the root of each result; checked, since roots may be values. */
static tn_status *find_roots(const tn_op *op, const tn_eval_context *ctx, const tn_group *g,
                             const tn_tensor *operands, uint32_t **out)
{
    uint32_t *roots = *out = tn_scratch_alloc(ctx->scratch, (op->n_results + 1) * sizeof *roots);
    if (!roots) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    memset(roots, 0, (op->n_results + 1) * sizeof *roots);
    if (!tn_op_bool(op, TN_ATTR_has_dynamic_root, false)) return NULL;
    const int32_t *v = operands[op->n_results].data;
    for (uint32_t i = 0; i < op->n_results; i++) {
        if (v[i] < 0 || (uint32_t)v[i] >= g->n)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "root %u should be the place of a member in its group of %u and is "
                               "%d",
                               i, g->n, v[i]);
        roots[i] = (uint32_t)v[i];
    }
    return NULL;
}

tn_status *tn_eval_collective_broadcast(const tn_op *op, const tn_eval_context *ctx,
                                        const tn_tensor *operands, tn_tensor *results)
{
    tn_group g;
    uint32_t *roots;
    TN_TRY(tn_find_group(op, ctx, tn_rooted_strategy(op), &g));
    if (!g.n) return clear_all(op, results);
    TN_TRY(find_roots(op, ctx, &g, operands, &roots));
    if (g.n == 1) return pass_all_on(op, ctx, operands, results);
    const tn_round *round;
    TN_TRY(join_with(op, ctx, &g, operands, op->n_results, &round));
    for (uint32_t i = 0; i < op->n_results; i++)
        tn_copy_bytes(ctx->pool, results[i].data, round->offers[roots[i]][i].data,
                      bytes_of(&results[i]));
    leave(ctx, round);
    return NULL;
}

tn_status *tn_eval_collective_reduce(const tn_op *op, const tn_eval_context *ctx,
                                     const tn_tensor *operands, tn_tensor *results)
{
    tn_group g;
    uint32_t *roots;
    TN_TRY(tn_find_group(op, ctx, tn_rooted_strategy(op), &g));
    if (!g.n) return clear_all(op, results);
    TN_TRY(find_roots(op, ctx, &g, operands, &roots));
    if (g.n == 1) return pass_all_on(op, ctx, operands, results);
    bool *wanted = tn_scratch_alloc(ctx->scratch, op->n_results + 1);
    if (!wanted) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    for (uint32_t i = 0; i < op->n_results; i++) wanted[i] = roots[i] == g.me;
    return reduce_whole(op, ctx, &g, operands, results, op->n_results, wanted);
}

/* --- movement --- */

tn_status *tn_eval_all_gather(const tn_op *op, const tn_eval_context *ctx,
                              const tn_tensor *operands, tn_tensor *results)
{
    tn_group_strategy how;
    tn_group g;
    TN_TRY(tn_reduce_strategy(op, &how));
    TN_TRY(tn_find_group(op, ctx, how, &g));
    if (g.n <= 1) return pass_all_on(op, ctx, operands, results);
    uint32_t dim = (uint32_t)tn_op_int(op, TN_ATTR_all_gather_dim, 0);
    const tn_round *round;
    TN_TRY(join_with(op, ctx, &g, operands, op->n_results, &round));
    for (uint32_t i = 0; i < op->n_results; i++) {
        const tn_type *t = operands[i].type;
        if (tn_is_empty(t)) continue;
        int64_t width = tn_width(t), run = tn_step(t, dim) * t->dims[dim];
        tn_strided s;
        tn_strided_init(&s);
        tn_strided_push(&s, tn_type_elements(t) / run, run * width * g.n, run * width);
        tn_strided_push(&s, run, width, width);
        for (uint32_t m = 0; m < g.n; m++)
            tn_strided_run(&s, (size_t)width, (char *)results[i].data + m * run * width,
                           round->offers[m][i].data, ctx->pool);
    }
    leave(ctx, round);
    return NULL;
}

/* The part that is for member g->me of what each member has. */
static void exchange(const tn_eval_context *ctx, const tn_group *g, const tn_round *round,
                     uint32_t index, const tn_type *from, tn_tensor *to, uint32_t split,
                     uint32_t concat)
{
    if (tn_is_empty(from)) return;
    int64_t width = tn_width(from);
    tn_strided s;
    tn_strided_init(&s);
    for (uint32_t d = 0; d < from->rank; d++)
        tn_strided_push(&s, d == split ? from->dims[d] / g->n : from->dims[d],
                        tn_stride(to->type, d), tn_stride(from, d));
    int64_t read = from->dims[split] / g->n * g->me * tn_stride(from, split);
    int64_t step = (concat == split ? from->dims[split] / g->n : from->dims[concat]) *
                   tn_stride(to->type, concat);
    for (uint32_t m = 0; m < g->n; m++)
        tn_strided_run(&s, (size_t)width, (char *)to->data + m * step,
                       (const char *)round->offers[m][index].data + read, ctx->pool);
}

tn_status *tn_eval_all_to_all(const tn_op *op, const tn_eval_context *ctx,
                              const tn_tensor *operands, tn_tensor *results)
{
    tn_group g;
    TN_TRY(tn_find_group(op, ctx, tn_channel_strategy(op), &g));
    if (g.n <= 1) return pass_all_on(op, ctx, operands, results);
    uint32_t split = (uint32_t)tn_op_int(op, TN_ATTR_split_dimension, 0);
    uint32_t concat = (uint32_t)tn_op_int(op, TN_ATTR_concat_dimension, 0);
    const tn_round *round;
    TN_TRY(join_with(op, ctx, &g, operands, op->n_results, &round));
    for (uint32_t i = 0; i < op->n_results; i++)
        exchange(ctx, &g, round, i, operands[i].type, &results[i], split, concat);
    leave(ctx, round);
    return NULL;
}

tn_status *tn_eval_collective_permute(const tn_op *op, const tn_eval_context *ctx,
                                      const tn_tensor *operands, tn_tensor *results)
{
    tn_group g;
    uint32_t source, target;
    TN_TRY(tn_find_pairs(op, ctx, tn_channel_strategy(op), &g, &source, &target));
    if (!g.n) return clear_all(op, results);
    if (g.n == 1) return pass_all_on(op, ctx, operands, results);
    const tn_round *round;
    TN_TRY(join_with(op, ctx, &g, operands, op->n_results, &round));
    for (uint32_t i = 0; i < op->n_results; i++) {
        if (source == g.n) clear(&results[i]);
        else
            tn_copy_bytes(ctx->pool, results[i].data, round->offers[source][i].data,
                          bytes_of(&results[i]));
    }
    leave(ctx, round);
    return NULL;
}

tn_status *tn_eval_partition_id(const tn_op *op, const tn_eval_context *ctx,
                                const tn_tensor *operands, tn_tensor *results)
{
    *(uint32_t *)results[0].data = ctx->partition_id;
    return NULL;
}

tn_status *tn_eval_replica_id(const tn_op *op, const tn_eval_context *ctx,
                              const tn_tensor *operands, tn_tensor *results)
{
    *(uint32_t *)results[0].data = ctx->replica_id;
    return NULL;
}
