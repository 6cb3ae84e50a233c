/* SPDX-License-Identifier: Apache-2.0 */
/* rng_bit_generator and rng.
 *
 * The bits are those of XLA's CPU backend: Threefry-2x32 with 20 rounds and Philox-4x32 with 10,
 * after Salmon et al., "Parallel random numbers: as easy as 1, 2, 3". State word 0 is the key, word
 * 1 a counter that each block raises by one; Philox takes the upper half of its counter from word
 * 2, or from the key if there is none. */
#include <math.h>
#include <stdatomic.h>

#include "base/thread_pool.h"
#include "kernels/elementwise.h"
#include "kernels/threefry.h"
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"

/* Four counters at once. */
typedef uint32_t lanes __attribute__((vector_size(16)));
enum { LANES = 4 };

typedef struct {
    uint32_t key[2];
    uint64_t counter, high;
} generator;

static lanes rotate(lanes v, int n)
{
    return v << n | v >> (32 - n);
}

/* Both words of the blocks first, first + 1, ... */
static void threefry(const generator *g, uint64_t first, uint32_t *out0, uint32_t *out1)
{
    static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t keys[3] = {g->key[0], g->key[1], g->key[0] ^ g->key[1] ^ 0x1BD11BDA};
    lanes x0, x1;
    for (int i = 0; i < LANES; i++) {
        uint64_t c = g->counter + first + (uint64_t)i;
        x0[i] = (uint32_t)c;
        x1[i] = (uint32_t)(c >> 32);
    }
    x0 += keys[0];
    x1 += keys[1];
    for (uint32_t round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++) {
            x0 += x1;
            x1 = rotate(x1, rotations[round & 1][i]) ^ x0;
        }
        x0 += keys[(round + 1) % 3];
        x1 += keys[(round + 2) % 3] + round + 1;
    }
    memcpy(out0, &x0, sizeof x0);
    memcpy(out1, &x1, sizeof x1);
}

static void philox(const generator *g, uint64_t block, int64_t n, uint32_t *out)
{
    /* The counter has 128 bits; the kernel counts in the lower half. */
    uint64_t low = g->counter + block, before_carry = 0 - low;
    tn_philox_blocks b = {.n = low && before_carry < (uint64_t)n ? (int64_t)before_carry : n,
                          .key = {g->key[0], g->key[1]},
                          .low = low,
                          .high = g->high + (low < g->counter),
                          .out = out};
    tn_philox(tn_cpu_isa(), &b);
    if (b.n == n) return;
    b.out += 4 * b.n;
    b.low = 0;
    b.high++;
    b.n = n - b.n;
    tn_philox(tn_cpu_isa(), &b);
}

/* --- words to elements --- */

/* The tensor as [outer, dim, inner]. Threefry's two words go to elements next to each other along
 * `dim`: to 2 h and 2 h + 1 of it from block (outer, h, inner) of [outer, (dim + 1) / 2, inner]. It
 * is the first dimension of even size, or else the first of the largest; where dim is odd, words
 * are left over. Elements of 64 bits take a block each. Philox fills the tensor in order. */
typedef struct {
    generator g;
    tn_element_type element;
    unsigned bits;
    int64_t n; /* elements */
    int64_t dim, inner, blocks;
    void *out;
} job;

enum { GROUP = 256 }; /* words of Philox at a time */

static uint8_t narrow(const job *j, uint32_t word)
{
    uint8_t v = (uint8_t)(word & ((1u << j->bits) - 1));
    bool negative = tn_element_type_class(j->element) == TN_CLASS_SINT && v >> (j->bits - 1);
    return j->bits < 8 && negative ? (uint8_t)(v | 0xFFu << j->bits) : v;
}

static void put(const job *j, int64_t at, uint32_t word)
{
    switch (j->bits) {
    case 32: ((uint32_t *)j->out)[at] = word; return;
    case 16: ((uint16_t *)j->out)[at] = (uint16_t)word; return;
    default: ((uint8_t *)j->out)[at] = narrow(j, word); return;
    }
}

static void put_threefry(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    int64_t half = (j->dim + 1) / 2, block = begin * LANES;
    int64_t last = end * LANES < j->blocks ? end * LANES : j->blocks;
    int64_t inner = block % j->inner, h = block / j->inner % half;
    int64_t outer = block / j->inner / half;
    while (block < last) {
        uint32_t x0[LANES], x1[LANES];
        threefry(&j->g, (uint64_t)block, x0, x1);
        for (int i = 0; i < LANES && block < last; i++, block++) {
            if (j->bits == 64) {
                ((uint64_t *)j->out)[block] = x0[i] | (uint64_t)x1[i] << 32;
                continue;
            }
            int64_t at = (outer * j->dim + 2 * h) * j->inner + inner;
            put(j, at, x0[i]);
            if (2 * h + 1 < j->dim) put(j, at + j->inner, x1[i]);
            if (++inner < j->inner) continue;
            inner = 0;
            if (++h < half) continue;
            h = 0;
            outer++;
        }
    }
}

static void put_philox(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    int64_t each = j->bits == 64 ? GROUP / 2 : GROUP;
    for (int64_t group = begin; group < end; group++) {
        uint32_t w[GROUP];
        int64_t at = group * each, n = j->n - at < each ? j->n - at : each;
        bool whole = n == each && j->bits >= 32;
        char *to = (char *)j->out + at * (j->bits / 8);
        philox(&j->g, (uint64_t)group * (GROUP / 4), GROUP / 4, whole ? (uint32_t *)to : w);
        if (whole) continue;
        if (j->bits == 64) memcpy(to, w, (size_t)n * 8);
        else
            for (int64_t i = 0; i < n; i++) put(j, at + i, w[i]);
    }
}

static void split(job *j, const tn_type *t)
{
    uint32_t d = 0;
    for (uint32_t i = 1; i < t->rank; i++)
        if (t->dims[i] > t->dims[d]) d = i;
    for (uint32_t i = t->rank; i--;)
        if (t->dims[i] % 2 == 0) d = i;
    j->dim = t->rank ? t->dims[d] : 1;
    j->inner = t->rank ? tn_step(t, d) : 1;
    j->blocks = j->bits == 64 ? j->n : j->n / j->dim * ((j->dim + 1) / 2);
}

/* --- rng_bit_generator --- */

tn_status *tn_infer_rng_bit_generator(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_rank(op, 0, 1));
    TN_TRY(tn_check_result_tensor(op, 1));
    const tn_type *state = tn_operand_type(op, 0), *result = tn_result_type(op, 1);
    int64_t algorithm = tn_op_int(op, TN_ATTR_rng_algorithm, 0);
    bool known = algorithm >= 0 && algorithm <= TN_rng_algorithm_PHILOX;
    if (!known)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "rng_algorithm has no value %" PRId64, algorithm);
    int64_t most = algorithm == TN_rng_algorithm_THREE_FRY ? 2 : 3;
    if (state->element != TN_U64 ||
        (state->dims[0] != TN_DYNAMIC && (state->dims[0] < 2 || state->dims[0] > most)))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "operand 0, the state, should be tensor<2xui64>%s and is %s",
                           most == 3 ? " or tensor<3xui64>" : "", TN_TYPE_IN_MESSAGE(state));
    if (!tn_is_integer(result->element) && !tn_is_float(result->element))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "result 1 should be of integers or floats and is %s",
                           TN_TYPE_IN_MESSAGE(result));
    out[0] = state;
    out[1] = result;
    return NULL;
}

tn_status *tn_eval_rng_bit_generator(const tn_op *op, const tn_eval_context *ctx,
                                     const tn_tensor *operands, tn_tensor *results)
{
    const uint64_t *state = operands[0].data;
    int64_t size = operands[0].type->dims[0];
    if (size < 2) return TN_OP_ERROR(INVALID_ARGUMENT, op, "the state is empty");
    const tn_type *t = results[1].type;
    job j = {.g = {.key = {(uint32_t)state[0], (uint32_t)(state[0] >> 32)},
                   .counter = state[1],
                   .high = size > 2 ? state[2] : state[0]},
             .element = t->element,
             .bits = tn_element_type_bits(t->element),
             .n = tn_type_elements(t),
             .out = results[1].data};
    bool threefry = tn_op_int(op, TN_ATTR_rng_algorithm, 0) == TN_rng_algorithm_THREE_FRY;
    int64_t each = j.bits == 64 ? GROUP / 2 : GROUP, words = j.bits == 64 ? 2 * j.n : j.n;
    if (j.n) split(&j, t);
    if (!threefry) j.blocks = words / 4 + (words % 4 != 0);
    uint64_t next = state[1] + (uint64_t)j.blocks, carry = next < state[1];
    memmove(results[0].data, state, (size_t)size * sizeof *state);
    ((uint64_t *)results[0].data)[1] = next;
    if (!threefry && size > 2) ((uint64_t *)results[0].data)[2] += carry;
    if (threefry) tn_parallel_for(ctx->pool, (j.blocks + LANES - 1) / LANES, 20, put_threefry, &j);
    else tn_parallel_for(ctx->pool, (j.n + each - 1) / each, GROUP * 1.5, put_philox, &j);
    return NULL;
}

/* --- rng --- */

tn_status *tn_infer_rng(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(tn_check_rank(op, 0, 0));
    TN_TRY(tn_check_rank(op, 1, 0));
    TN_TRY(tn_check_same_element(op, 0, 1));
    TN_TRY(tn_check_result_tensor(op, 0));
    const tn_type *t = tn_operand_type(op, 0), *result = tn_result_type(op, 0);
    TN_TRY(tn_check_shape_operand(op, 2, result->rank));
    int64_t kind = tn_op_int(op, TN_ATTR_rng_distribution, 0);
    if (kind != TN_rng_distribution_UNIFORM && kind != TN_rng_distribution_NORMAL)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "rng_distribution has no value %" PRId64, kind);
    bool normal = kind == TN_rng_distribution_NORMAL;
    if (t->element != result->element || t->quantization || tn_is_complex(t->element) ||
        (normal && !tn_is_float(t->element)))
        return TN_OP_ERROR(
            INVALID_ARGUMENT, op, "%s numbers between operands of %s can't be result %s",
            normal ? "normal" : "uniform", TN_TYPE_IN_MESSAGE(t), TN_TYPE_IN_MESSAGE(result));
    out[0] = result;
    return NULL;
}

typedef struct {
    generator g;
    bool normal, wide;
    double a, b;
    int64_t low;
    uint64_t range;
    tn_element_type element;
    int64_t n;
    void *out;    /* of integers */
    double *real; /* of floats, before they are converted */
} draw;

/* From 64 bits each: (0, 1) and [0, 1). */
static double open_unit(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}
static double unit(uint64_t bits, bool wide)
{
    return wide ? (double)(bits >> 11) * 0x1p-53 : (double)(bits >> 40) * 0x1p-24;
}

static void draw_pieces(void *ctx, int64_t begin, int64_t end)
{
    const draw *d = ctx;
    uint32_t words[GROUP];
    for (int64_t block = begin; block < end; block++) {
        uint64_t v[2];
        int64_t in_group = (block - begin) % (GROUP / 4), left = end - block;
        if (!in_group) philox(&d->g, (uint64_t)block, left < GROUP / 4 ? left : GROUP / 4, words);
        memcpy(v, words + 4 * in_group, sizeof v);
        double radius = 0, angle = 0;
        if (d->normal) {
            radius = sqrt(-2 * log(open_unit(v[0])));
            angle = 6.283185307179586 * open_unit(v[1]);
        }
        for (int64_t i = 0; i < 2 && 2 * block + i < d->n; i++) {
            int64_t at = 2 * block + i;
            if (d->normal) d->real[at] = d->a + d->b * radius * (i ? sin(angle) : cos(angle));
            else if (d->real) d->real[at] = d->a + (d->b - d->a) * unit(v[i], d->wide);
            else {
                uint64_t offset = (uint64_t)((unsigned __int128)v[i] * d->range >> 64);
                uint64_t value = (uint64_t)d->low + offset;
                memcpy((char *)d->out + at * tn_element_type_bytes(d->element), &value,
                       tn_element_type_bytes(d->element));
            }
        }
    }
}

/* Conversion may round up to b, which is outside. */
static void keep_below(tn_element_type e, const void *a, const void *b, char *x, int64_t n)
{
    size_t w = tn_element_type_bytes(e);
    tn_kernel less;
    if (!tn_kernel_compare(tn_cpu_isa(), TN_comparison_direction_LT, false, e, &less)) return;
    for (int64_t i = 0; i < n; i++, x += w) {
        bool inside;
        tn_kernel_run(&less, 1, (const void *[]){x, b}, &inside);
        if (!inside) memcpy(x, a, w);
    }
}

tn_status *tn_eval_rng(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                       tn_tensor *results)
{
    static atomic_uint_fast64_t runs;
    const tn_type *t = results[0].type;
    tn_element_type e = t->element;
    draw d = {.normal = tn_op_int(op, TN_ATTR_rng_distribution, 0) == TN_rng_distribution_NORMAL,
              .wide = e == TN_F64,
              .element = e,
              .n = tn_type_elements(t),
              .out = results[0].data};
    uint64_t run = atomic_fetch_add(&runs, 1);
    d.g = (generator){.key = {0x54656E6F, 0x6E726E67}, .counter = 0, .high = run};
    if (!d.n) return NULL;
    int64_t blocks = d.n / 2 + d.n % 2;
    if (!tn_is_float(e)) {
        d.low = tn_read_index(operands[0].data, e, 0);
        uint64_t low = (uint64_t)d.low, high = (uint64_t)tn_read_index(operands[1].data, e, 0);
        if (e == TN_U64) {
            low = *(const uint64_t *)operands[0].data;
            high = *(const uint64_t *)operands[1].data;
            d.low = (int64_t)low;
        }
        d.range = high - low;
        tn_parallel_for(ctx->pool, blocks, 20, draw_pieces, &d);
        return NULL;
    }
    tn_kernel to_double, from_double;
    if (!tn_kernel_convert(tn_cpu_isa(), e, TN_F64, &to_double) ||
        !tn_kernel_convert(tn_cpu_isa(), TN_F64, e, &from_double))
        return TN_OP_ERROR(UNIMPLEMENTED, op, "random numbers of type %s are not supported",
                           tn_element_type_text(e));
    tn_kernel_run(&to_double, 1, (const void *[]){operands[0].data}, &d.a);
    tn_kernel_run(&to_double, 1, (const void *[]){operands[1].data}, &d.b);
    d.real = tn_scratch_alloc(ctx->scratch, (size_t)d.n * sizeof *d.real);
    if (!d.real) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
    tn_parallel_for(ctx->pool, blocks, 60, draw_pieces, &d);
    tn_kernel_run(&from_double, (size_t)d.n, (const void *[]){d.real}, results[0].data);
    if (!d.normal) keep_below(e, operands[0].data, operands[1].data, results[0].data, d.n);
    return NULL;
}
