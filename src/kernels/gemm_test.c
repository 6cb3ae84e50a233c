/* SPDX-License-Identifier: Apache-2.0 */
/* Every path of tn_gemm against a plain loop in a wider type, on random shapes, strides and types;
 * once for each instruction set of the machine. */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu_features.h"
#include "base/isa_test.h"
#include "kernels/gemm.h"
#include "kernels/gemm_amx.h"
#include "kernels/half.h"

static uint64_t seed = 1;
static uint32_t random_bits(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}
static int64_t random_below(int64_t n)
{
    return (int64_t)(random_bits() % (uint64_t)n);
}

/* --- elements of any type as complex double or as 64 bits --- */

static uint64_t get_bits(tn_element_type t, const void *x);

static double complex get_real(tn_element_type t, const void *x)
{
    switch ((int)t) {
    case TN_F32: return *(const float *)x;
    case TN_F64: return *(const double *)x;
    case TN_BF16: return tn_f32_of_bf16(*(const uint16_t *)x);
    case TN_F16: return tn_f32_of_f16(*(const uint16_t *)x);
    case TN_C64: return *(const float complex *)x;
    case TN_C128: return *(const double complex *)x;
    }
    return (double)(int64_t)get_bits(t, x);
}

static uint64_t get_bits(tn_element_type t, const void *x)
{
    switch (tn_element_type_bytes(t) * 2 + (tn_element_type_class(t) == TN_CLASS_SINT)) {
    case 2: return *(const uint8_t *)x;
    case 3: return (uint64_t)*(const int8_t *)x;
    case 4: return *(const uint16_t *)x;
    case 5: return (uint64_t)*(const int16_t *)x;
    case 8: return *(const uint32_t *)x;
    case 9: return (uint64_t)*(const int32_t *)x;
    default: return *(const uint64_t *)x;
    }
}

static void put_random(tn_element_type t, void *x)
{
    double re = (double)random_below(2001) / 1000 - 1, im = (double)random_below(2001) / 1000 - 1;
    uint64_t bits = (uint64_t)random_bits() << 32 ^ random_bits() << 11 ^ random_bits();
    switch ((int)t) {
    case TN_F32: *(float *)x = (float)re; return;
    case TN_F64: *(double *)x = re; return;
    case TN_BF16: *(uint16_t *)x = tn_bf16_of_f32((float)re); return;
    case TN_F16: *(uint16_t *)x = tn_f16_of_f32((float)re); return;
    case TN_C64: *(float complex *)x = (float complex)(re + I * im); return;
    case TN_C128: *(double complex *)x = re + I * im; return;
    case TN_I1: *(uint8_t *)x = random_below(8) == 0; return;
    case TN_I4: *(int8_t *)x = (int8_t)(random_below(16) - 8); return;
    case TN_U4: *(uint8_t *)x = (uint8_t)random_below(16); return;
    }
    memcpy(x, &bits, tn_element_type_bytes(t));
}

static double epsilon(tn_element_type t)
{
    switch ((int)t) {
    case TN_F32:
    case TN_C64: return 0x1p-24;
    case TN_BF16: return 0x1p-8;
    case TN_F16: return 0x1p-11;
    }
    return 0x1p-53;
}

static uint64_t narrowed(tn_element_type t, uint64_t sum)
{
    unsigned bits = tn_element_type_bits(t);
    if (t == TN_I1) return sum != 0;
    if (bits == 64) return sum;
    uint64_t low = sum & (((uint64_t)1 << bits) - 1);
    if (tn_element_type_class(t) == TN_CLASS_SINT && low >> (bits - 1)) low |= ~(uint64_t)0 << bits;
    return low;
}

/* --- one problem --- */

typedef struct {
    tn_gemm g;
    char *a, *b, *c; /* to element 0 */
    char *a_memory, *b_memory, *c_memory;
    size_t c_bytes;
    ptrdiff_t c_origin;
} problem;

/* Strides for `rank` dimensions in a random order with random gaps; *low and *high bound the
 * offsets. */
static void random_strides(int rank, const int64_t *dims, bool dense, int64_t *strides,
                           int64_t *low, int64_t *high)
{
    int order[10];
    for (int i = 0; i < rank; i++) order[i] = i;
    if (!dense || random_below(3) == 0)
        for (int i = rank - 1; i > 0; i--) {
            int j = (int)random_below(i + 1), x = order[i];
            order[i] = order[j], order[j] = x;
        }
    int64_t stride = dense || random_below(2) ? 1 : 1 + random_below(3);
    *low = *high = 0;
    for (int i = rank - 1; i >= 0; i--) {
        int d = order[i];
        int64_t reach = dims[d] > 0 ? (dims[d] - 1) * stride : 0;
        bool negative = !dense && random_below(4) == 0;
        strides[d] = negative ? -stride : stride;
        if (negative) *low -= reach;
        else *high += reach;
        stride *= dims[d] > 0 ? dims[d] : 1;
        if (!dense) stride += random_below(3);
    }
}

static char *random_matrix(tn_element_type t, int rank, const int64_t *dims, bool dense,
                           bool broadcast, int64_t *strides, char **memory, size_t *bytes)
{
    int64_t low, high, size = tn_element_type_bytes(t);
    random_strides(rank, dims, dense, strides, &low, &high);
    if (broadcast && random_below(10) == 0) strides[random_below(rank)] = 0;
    *bytes = (size_t)((high - low + 1) * size);
    *memory = malloc(*bytes);
    for (size_t i = 0; i < *bytes; i += (size_t)size) put_random(t, *memory + i);
    return *memory - low * size;
}

static int64_t largest_batch = 4;

static problem random_problem(tn_element_type at, tn_element_type bt, tn_element_type ct, int64_t m,
                              int64_t n, int64_t k, int batch_rank, bool dense)
{
    problem p = {.g = {.a_type = at, .b_type = bt, .c_type = ct, .m = m, .n = n, .k = k}};
    int64_t dims[10], strides[10];
    size_t bytes;
    p.g.batch_rank = (uint32_t)batch_rank;
    for (int d = 0; d < batch_rank; d++) dims[d] = p.g.batch[d] = 1 + random_below(largest_batch);
    int r = batch_rank;
    dims[r] = m, dims[r + 1] = k;
    p.a = random_matrix(at, r + 2, dims, dense, true, strides, &p.a_memory, &bytes);
    memcpy(p.g.a_batch, strides, sizeof(int64_t) * (size_t)r);
    p.g.a_row = strides[r], p.g.a_col = strides[r + 1];
    dims[r] = k, dims[r + 1] = n;
    p.b = random_matrix(bt, r + 2, dims, dense, true, strides, &p.b_memory, &bytes);
    memcpy(p.g.b_batch, strides, sizeof(int64_t) * (size_t)r);
    p.g.b_row = strides[r], p.g.b_col = strides[r + 1];
    dims[r] = m;
    p.c = random_matrix(ct, r + 2, dims, dense, false, strides, &p.c_memory, &p.c_bytes);
    memcpy(p.g.c_batch, strides, sizeof(int64_t) * (size_t)r);
    p.g.c_row = strides[r], p.g.c_col = strides[r + 1];
    p.c_origin = p.c - p.c_memory;
    return p;
}

static void free_problem(problem *p)
{
    free(p->a_memory);
    free(p->b_memory);
    free(p->c_memory);
}

static char *result_of(const problem *p, tn_thread_pool *pool, bool workspace)
{
    char *memory = malloc(p->c_bytes);
    memcpy(memory, p->c_memory, p->c_bytes);
    size_t size = tn_gemm_workspace(&p->g, pool);
    void *space = workspace ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
    tn_gemm_run(&p->g, p->a, p->b, memory + p->c_origin, pool, space);
    free(space);
    return memory;
}

static void check_element(const problem *p, const char *a, const char *b, const char *got)
{
    const tn_gemm *g = &p->g;
    int64_t as = tn_element_type_bytes(g->a_type), bs = tn_element_type_bytes(g->b_type);
    if (tn_is_float(g->c_type) || tn_is_complex(g->c_type)) {
        double complex sum = 0;
        double size = 0;
        for (int64_t q = 0; q < g->k; q++) {
            double complex x = get_real(g->a_type, a + q * g->a_col * as),
                           y = get_real(g->b_type, b + q * g->b_row * bs);
            sum += x * y;
            size += cabs(x) * cabs(y);
        }
        double eps = epsilon(g->c_type),
               eps_sum = tn_gemm_supports(TN_F32, g->c_type, TN_F32) ? 0x1p-24 : eps;
        double bound =
            size * (double)(g->k + 4) * eps_sum + 2 * eps * cabs(sum) + 0x1p-24 * (eps > 0x1p-20);
        double error = cabs(get_real(g->c_type, got) - sum);
        if (!(error <= bound))
            fail_msg("got %g, expected %g, off by %g", creal(get_real(g->c_type, got)), creal(sum),
                     error);
        return;
    }
    uint64_t sum = 0;
    for (int64_t q = 0; q < g->k; q++)
        sum +=
            get_bits(g->a_type, a + q * g->a_col * as) * get_bits(g->b_type, b + q * g->b_row * bs);
    uint64_t want = narrowed(g->c_type, sum);
    if (get_bits(g->c_type, got) != want)
        fail_msg("got %llx, expected %llx", (unsigned long long)get_bits(g->c_type, got),
                 (unsigned long long)want);
}

/* Checks every element of C, and that nothing between its elements changed. */
static void check(const problem *p, char *memory)
{
    const tn_gemm *g = &p->g;
    int64_t as = tn_element_type_bytes(g->a_type), bs = tn_element_type_bytes(g->b_type),
            cs = tn_element_type_bytes(g->c_type), count = 1;
    char *untouched = malloc(p->c_bytes);
    memcpy(untouched, p->c_memory, p->c_bytes);
    for (uint32_t d = 0; d < g->batch_rank; d++) count *= g->batch[d];
    for (int64_t i = 0; i < count; i++) {
        int64_t a0 = 0, b0 = 0, c0 = 0, rest = i;
        for (uint32_t d = g->batch_rank; d-- > 0; rest /= g->batch[d]) {
            a0 += rest % g->batch[d] * g->a_batch[d];
            b0 += rest % g->batch[d] * g->b_batch[d];
            c0 += rest % g->batch[d] * g->c_batch[d];
        }
        for (int64_t r = 0; r < g->m; r++)
            for (int64_t c = 0; c < g->n; c++) {
                int64_t at = p->c_origin + (c0 + r * g->c_row + c * g->c_col) * cs;
                bool sampled =
                    g->m * g->n * g->k < 100000 || random_below(50) == 0 || c == g->n - 1;
                if (sampled)
                    check_element(p, p->a + (a0 + r * g->a_row) * as,
                                  p->b + (b0 + c * g->b_col) * bs, memory + at);
                memcpy(untouched + at, memory + at, (size_t)cs);
            }
    }
    assert_memory_equal(untouched, memory, p->c_bytes);
    free(untouched);
}

static tn_thread_pool *pool;

static void check_problem(problem *p)
{
    char *alone = result_of(p, NULL, true), *together = result_of(p, pool, true);
    check(p, alone);
    assert_memory_equal(alone, together, p->c_bytes);
    free(alone);
    free(together);
    if (p->g.m * p->g.n * p->g.k < 3000) {
        char *without = result_of(p, pool, false);
        check(p, without);
        free(without);
    }
    free_problem(p);
}

/* --- tests --- */

static const tn_element_type triples[][3] = {
    {TN_F32, TN_F32, TN_F32},  {TN_F64, TN_F64, TN_F64},   {TN_BF16, TN_BF16, TN_BF16},
    {TN_F16, TN_F16, TN_F16},  {TN_BF16, TN_BF16, TN_F32}, {TN_F16, TN_F16, TN_F32},
    {TN_BF16, TN_F32, TN_F32}, {TN_F32, TN_F16, TN_BF16},  {TN_F32, TN_F32, TN_F64},
    {TN_F64, TN_F32, TN_F32},  {TN_C64, TN_C64, TN_C64},   {TN_C128, TN_C128, TN_C128},
    {TN_I8, TN_I8, TN_I32},    {TN_I8, TN_I8, TN_I8},      {TN_U8, TN_U8, TN_U8},
    {TN_U8, TN_U8, TN_U32},    {TN_U8, TN_I8, TN_I32},     {TN_I16, TN_I16, TN_I16},
    {TN_U16, TN_U16, TN_U64},  {TN_I32, TN_I32, TN_I32},   {TN_U32, TN_U32, TN_U32},
    {TN_I32, TN_I32, TN_I64},  {TN_I64, TN_I64, TN_I64},   {TN_U64, TN_U64, TN_U64},
    {TN_I64, TN_I64, TN_I8},   {TN_I1, TN_I1, TN_I1},      {TN_I1, TN_I1, TN_I32},
    {TN_I4, TN_I4, TN_I4},     {TN_U4, TN_U4, TN_U4},      {TN_I4, TN_I4, TN_I32},
    {TN_I8, TN_F32, TN_F32},   {TN_F32, TN_U8, TN_BF16},   {TN_I16, TN_F32, TN_F32},
    {TN_F32, TN_I4, TN_F32},   {TN_F64, TN_I32, TN_F64},   {TN_F32, TN_I8, TN_F32},
};
enum { N_TRIPLES = sizeof triples / sizeof triples[0] };

static void small_shapes_of_all_types_with_any_strides(void **state)
{
    for (int i = 0; i < 900; i++) {
        const tn_element_type *t = triples[i % N_TRIPLES];
        problem p = random_problem(t[0], t[1], t[2], random_below(20), random_below(40),
                                   random_below(40), (int)random_below(3), random_below(2));
        check_problem(&p);
    }
}

static void shapes_of_each_path(void **state)
{
    static const int64_t shapes[][3] = {
        {1, 300, 500},  {300, 1, 500},   {1, 1, 5000},   {5, 70, 600},   {70, 5, 600},
        {8, 9, 33},     {20, 90, 900},   {3, 33, 1000},  {28, 65, 70},   {200, 230, 240},
        {57, 61, 1300}, {13, 2100, 20},  {2100, 13, 20}, {200, 31, 200}, {31, 310, 300},
        {300, 310, 3},  {200, 200, 200}, {16, 16, 64},   {33, 47, 2500}, {530, 290, 45},
        {30, 60, 9000}, {3000, 20, 30},  {1, 1, 70001},  {3, 4, 33000},  {7, 2, 40003},
        {40, 100, 64},  {150, 20, 128},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int t = 0; t < N_TRIPLES; t++)
            for (int dense = 0; dense < 2; dense++) {
                if (shapes[s][0] * shapes[s][1] * shapes[s][2] > 1000000 &&
                    (t + (int)s + dense) % 9)
                    continue;
                problem p = random_problem(triples[t][0], triples[t][1], triples[t][2],
                                           shapes[s][0], shapes[s][1], shapes[s][2], 0, dense);
                check_problem(&p);
            }
}

static void batches_are_independent(void **state)
{
    for (int t = 0; t < N_TRIPLES; t++) {
        problem p =
            random_problem(triples[t][0], triples[t][1], triples[t][2], 17 + t, 40, 21, 3, t % 2);
        check_problem(&p);
    }
}

/* Of a batch of very small products, many are made at once. */
static void small_products_of_a_batch_are_those_alone(void **state)
{
    static const tn_element_type types[][3] = {
        {TN_F32, TN_F32, TN_F32}, {TN_F64, TN_F64, TN_F64},  {TN_I32, TN_I32, TN_I32},
        {TN_I8, TN_I8, TN_I32},   {TN_BF16, TN_F32, TN_F32}, {TN_F16, TN_F16, TN_F16},
        {TN_F32, TN_I8, TN_F32},  {TN_C64, TN_C64, TN_C64},
    };
    largest_batch = 150;
    for (int i = 0; i < 600; i++) {
        const tn_element_type *t = types[i % 8];
        bool dots = random_below(3) == 0;
        problem p = random_problem(t[0], t[1], t[2], 1 + random_below(dots ? 2 : 7),
                                   1 + random_below(dots ? 2 : 7), 1 + random_below(dots ? 45 : 9),
                                   1 + random_below(20) / 19, random_below(3));
        char *together = result_of(&p, pool, true);
        char *alone = malloc(p.c_bytes);
        memcpy(alone, p.c_memory, p.c_bytes);
        tn_gemm one = p.g;
        one.batch_rank = 0;
        void *space = aligned_alloc(64, (tn_gemm_workspace(&one, NULL) + 63) / 64 * 64);
        int64_t inner = p.g.batch_rank > 1 ? p.g.batch[1] : 1, as = tn_element_type_bytes(t[0]),
                bs = tn_element_type_bytes(t[1]), cs = tn_element_type_bytes(t[2]);
        for (int64_t at = 0; at < p.g.batch[0] * inner; at++) {
            int64_t x = at / inner, y = at % inner;
            tn_gemm_run(&one, p.a + (x * p.g.a_batch[0] + y * p.g.a_batch[1]) * as,
                        p.b + (x * p.g.b_batch[0] + y * p.g.b_batch[1]) * bs,
                        alone + p.c_origin + (x * p.g.c_batch[0] + y * p.g.c_batch[1]) * cs, NULL,
                        space);
        }
        assert_memory_equal(together, alone, p.c_bytes);
        free(together), free(alone), free(space);
        check_problem(&p);
    }
    largest_batch = 4;
}

/* gemm.h states in what order a sum is made; with fused multiply-add it can be checked to the bit.
 */
static void sums_are_made_in_the_documented_order(void **state)
{
    if (!tn_cpu_has(TN_ISA_AVX2) && !tn_cpu_has(TN_ISA_NEON)) skip();
    static const int64_t shapes[][3] = {{3, 50, 1000}, {1, 310, 1003}, {1, 2100, 700},
                                        {20, 90, 900}, {57, 70, 1300}, {200, 230, 240}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
        float *a = malloc((size_t)(m * k) * 4), *b = malloc((size_t)(k * n) * 4),
              *c = malloc((size_t)(m * n) * 4);
        for (int64_t i = 0; i < m * k; i++) put_random(TN_F32, a + i);
        for (int64_t i = 0; i < k * n; i++) put_random(TN_F32, b + i);
        tn_gemm g = {.a_type = TN_F32,
                     .b_type = TN_F32,
                     .c_type = TN_F32,
                     .m = m,
                     .n = n,
                     .k = k,
                     .a_row = k,
                     .a_col = 1,
                     .b_row = n,
                     .b_col = 1,
                     .c_row = n,
                     .c_col = 1};
        void *space = aligned_alloc(64, (tn_gemm_workspace(&g, pool) + 63) / 64 * 64);
        tn_gemm_run(&g, a, b, c, pool, space);
        int64_t blocks = (k + 383) / 384, size = (k + blocks - 1) / blocks;
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                float total = 0;
                for (int64_t p0 = 0; p0 < k; p0 += size) {
                    float sum = 0;
                    for (int64_t q = p0; q < k && q < p0 + size; q++)
                        sum = fmaf(a[i * k + q], b[q * n + j], sum);
                    total = p0 ? total + sum : sum;
                }
                assert_memory_equal(&total, &c[i * n + j], 4);
            }
        free(a), free(b), free(c), free(space);
    }
}

static void empty_products(void **state)
{
    float c[6] = {1, 2, 3, 4, 5, 6};
    tn_gemm g = {.a_type = TN_F32,
                 .b_type = TN_F32,
                 .c_type = TN_F32,
                 .m = 2,
                 .n = 3,
                 .k = 0,
                 .a_row = 0,
                 .a_col = 1,
                 .b_row = 3,
                 .b_col = 1,
                 .c_row = 3,
                 .c_col = 1};
    g.m = 0;
    tn_gemm_run(&g, NULL, NULL, c, pool, NULL);
    assert_true(c[0] == 1 && c[5] == 6);
    g.m = 2;
    tn_gemm_run(&g, NULL, NULL, c, pool, NULL);
    for (int i = 0; i < 6; i++) assert_true(c[i] == 0);
    g.batch_rank = 1, g.batch[0] = 0, c[0] = 7;
    tn_gemm_run(&g, NULL, NULL, c, pool, NULL);
    assert_true(c[0] == 7);
    assert_int_equal(tn_gemm_workspace(&g, pool), 0);
}

static void infinities_stay_in_their_element(void **state)
{
    enum { N = 150 };
    static float a[N * N], b[N * N], c[N * N];
    for (int i = 0; i < N * N; i++) a[i] = b[i] = 1;
    a[3 * N + 7] = INFINITY;
    b[9 * N + N - 1] = NAN;
    tn_gemm g = {.a_type = TN_F32,
                 .b_type = TN_F32,
                 .c_type = TN_F32,
                 .m = N,
                 .n = N,
                 .k = N,
                 .a_row = N,
                 .a_col = 1,
                 .b_row = N,
                 .b_col = 1,
                 .c_row = N,
                 .c_col = 1};
    void *space = aligned_alloc(64, (tn_gemm_workspace(&g, pool) + 63) / 64 * 64);
    tn_gemm_run(&g, a, b, c, pool, space);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float x = c[i * N + j];
            assert_true(j == N - 1 ? isnan(x) : i == 3 ? isinf(x) : x == N);
        }
    free(space);
}

/* --- bf16 in matrix registers --- */

enum { AMX_M = 40, AMX_N = 50, AMX_K = 150 };
typedef struct {
    uint16_t a[AMX_M * AMX_K], b[AMX_K * AMX_N];
    float c[AMX_M * AMX_N];
} bf16_product;

static void multiply_bf16(bf16_product *x)
{
    tn_gemm g = {.a_type = TN_BF16,
                 .b_type = TN_BF16,
                 .c_type = TN_F32,
                 .m = AMX_M,
                 .n = AMX_N,
                 .k = AMX_K,
                 .a_row = AMX_K,
                 .a_col = 1,
                 .b_row = AMX_N,
                 .b_col = 1,
                 .c_row = AMX_N,
                 .c_col = 1};
    void *space = aligned_alloc(64, (tn_gemm_workspace(&g, pool) + 63) / 64 * 64);
    tn_gemm_run(&g, x->a, x->b, x->c, pool, space);
    free(space);
}

/* Even and odd elements of 32 apart, then their sum added: gemm.h. */
static float bf16_sum_of_tiles(const bf16_product *x, int i, int j)
{
    float sum = 0;
    for (int t = 0; t < AMX_K; t += 32) {
        float half[2] = {0, 0};
        for (int q = t; q < t + 32 && q < AMX_K; q++)
            half[q % 2] = fmaf(tn_f32_of_bf16(x->a[i * AMX_K + q]),
                               tn_f32_of_bf16(x->b[q * AMX_N + j]), half[q % 2]);
        sum += half[0] + half[1];
    }
    return sum;
}

static float bf16_sum_in_order(const bf16_product *x, int i, int j)
{
    float sum = 0;
    for (int q = 0; q < AMX_K; q++)
        sum = fmaf(tn_f32_of_bf16(x->a[i * AMX_K + q]), tn_f32_of_bf16(x->b[q * AMX_N + j]), sum);
    return sum;
}

static void assert_sums(const bf16_product *x, float (*sum)(const bf16_product *, int, int))
{
    for (int i = 0; i < AMX_M; i++)
        for (int j = 0; j < AMX_N; j++) {
            float want = sum(x, i, j), got = x->c[i * AMX_N + j];
            if (want == want) assert_memory_equal(&want, &got, 4);
            else assert_true(got != got);
        }
}

/* Numbers of both signs, some 0, with (biased) exponents low and a little more; small sums of them
 * come out as few bits. */
static void fill_bf16(uint16_t *x, int n, int low, int range)
{
    for (int i = 0; i < n; i++) {
        uint32_t r = random_bits();
        int exponent = low + (int)(r >> 8) % range;
        x[i] = (uint16_t)(r % 16 == 0 ? r >> 4 & 0x8000
                                      : (r & 1) << 15 | (unsigned)exponent << 7 | (r >> 1 & 0x7f));
    }
}

static void bf16_products_keep_what_is_subnormal(void **state)
{
    if (!tn_amx_usable()) {
        fprintf(stderr, "no matrix registers here (AMX): bf16 products in them are not tested\n");
        skip();
    }
    static bf16_product x;
    for (int i = 0; i < 40; i++) {
        int a = 1 + (int)random_below(141), range = 1 + (int)random_below(12);
        /* The last exponents with which nothing can be flushed, then the first where it could. */
        for (int less = 0; less < 2; less++) {
            fill_bf16(x.a, AMX_M * AMX_K, a, range);
            fill_bf16(x.b, AMX_K * AMX_N, 142 - a - less, range);
            x.a[7] = (uint16_t)(a << 7 | 1), x.b[AMX_N + 3] = (uint16_t)((142 - a - less) << 7 | 1);
            multiply_bf16(&x);
            assert_sums(&x, less ? bf16_sum_in_order : bf16_sum_of_tiles);
        }
    }
    /* Sums that cancel down to the last bit of a product, which is subnormal. */
    fill_bf16(x.a, AMX_M * AMX_K, 60, 1);
    fill_bf16(x.b, AMX_K * AMX_N, 67, 1);
    multiply_bf16(&x);
    assert_sums(&x, bf16_sum_in_order);
    /* A single subnormal operand, an infinity, a NaN, and numbers so large that order matters. */
    static const uint16_t odd[] = {0x0001, 0x807f, 0x7f80, 0xff80, 0x7fc1, 0x7f7f};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        for (int side = 0; side < 2; side++) {
            fill_bf16(x.a, AMX_M * AMX_K, 120, 8);
            fill_bf16(x.b, AMX_K * AMX_N, 120, 8);
            (side ? x.a : x.b)[random_below(AMX_M * AMX_K)] = odd[i];
            multiply_bf16(&x);
            assert_sums(&x, bf16_sum_in_order);
        }
    memset(x.a, 0, sizeof x.a);
    x.b[5] = 0x7f80; /* 0 times infinity */
    multiply_bf16(&x);
    assert_sums(&x, bf16_sum_in_order);
}

static void unknown_types_are_not_supported(void **state)
{
    assert_true(tn_gemm_supports(TN_F16, TN_BF16, TN_F32));
    assert_false(tn_gemm_supports(TN_F8E5M2, TN_F8E5M2, TN_F32));
    assert_false(tn_gemm_supports(TN_F32, TN_F32, TN_I32));
    assert_false(tn_gemm_supports(TN_I32, TN_F32, TN_F32));
    assert_false(tn_gemm_supports(TN_F32, TN_F32, TN_TOKEN));
    assert_false(tn_gemm_supports((tn_element_type)1000, TN_F32, TN_F32));
}

static void half_floats_round_trip(void **state)
{
    for (uint32_t h = 0; h < 65536; h++) {
        float f = tn_f32_of_f16((uint16_t)h), b = tn_f32_of_bf16((uint16_t)h);
        if (f == f) assert_int_equal(tn_f16_of_f32(f), h);
        if (b == b) assert_int_equal(tn_bf16_of_f32(b), h);
        if (f != f) assert_int_equal(tn_f16_of_f32(f) & 0x7e00, 0x7e00);
        if (f == f && f - f == 0) { /* halfway between neighbours goes to the even one */
            float next = tn_f32_of_f16((uint16_t)(h + 1));
            if (next - next != 0) next = h >> 15 ? -65536 : 65536;
            if (((h + 1) & 0x7fff) == 0) continue;
            assert_int_equal(tn_f16_of_f32((f + next) / 2), h & 1 ? h + 1 : h);
        }
    }
    assert_true(tn_f32_of_f16(1) == 0x1p-24f);
    assert_true(tn_f32_of_f16(0x3c00) == 1);
    assert_int_equal(tn_f16_of_f32(65519.996f), 0x7bff);
    assert_int_equal(tn_bf16_of_f32(1 + 0x1p-8f), 0x3f80);
    assert_int_equal(tn_bf16_of_f32(1 + 3 * 0x1p-8f), 0x3f82);
    assert_int_equal(tn_bf16_of_f32(3.4e38f), 0x7f80);
}

/* Sums near the subnormal numbers are rounded to them once, also if B is the tiny one, or both are
 * small. */
static void tiny_products_are_rounded_once(void **state)
{
    enum { M = 19, K = 30, N = 48 };
    static float a[M * K], b[K * N], c[M * N];
    for (int round = 0; round < 90; round++) {
        bool a_tiny = round % 2, both = round >= 60;
        int exponent = both && round < 75 ? -59 - round % 16 : -101 - round % 50;
        for (int i = 0; i < M * K; i++) put_random(TN_F32, &a[i]);
        for (int i = 0; i < K * N; i++) put_random(TN_F32, &b[i]);
        a[3] = -0.75f, b[3] = 0.75f;
        for (int i = 0; i < (a_tiny ? M * K : K * N); i++) {
            float *x = a_tiny ? &a[i] : &b[i];
            *x = ldexpf(*x, exponent);
        }
        for (int i = 0; both && i < (a_tiny ? K * N : M * K); i++) {
            float *x = a_tiny ? &b[i] : &a[i];
            *x = ldexpf(*x, round < 75 ? -66 : -120);
        }
        tn_gemm g = {.a_type = TN_F32, .b_type = TN_F32, .c_type = TN_F32, .m = M, .n = N, .k = K};
        g.a_row = K, g.a_col = 1, g.b_row = N, g.b_col = 1, g.c_row = N, g.c_col = 1;
        void *workspace = aligned_alloc(64, tn_gemm_workspace(&g, pool) / 64 * 64 + 64);
        tn_gemm_run(&g, a, b, c, pool, workspace);
        free(workspace);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double sum = 0, size = 0;
                for (int q = 0; q < K; q++) {
                    sum += (double)a[i * K + q] * b[q * N + j];
                    size += fabs((double)a[i * K + q] * b[q * N + j]);
                }
                assert_true(fabs(c[i * N + j] - sum) <= size * K * 0x1p-24 + 0x1p-150);
            }
    }
}

/* What is added to C is what the product would be. */
static void products_are_added_to_c(void **state)
{
    static const int64_t sizes[][3] = {{128, 512, 32}, {70, 130, 20}, {300, 200, 150}};
    for (int round = 0; round < 12; round++) {
        int64_t m = sizes[round % 3][0], n = sizes[round % 3][1], k = sizes[round % 3][2];
        tn_element_type t = round < 6 ? TN_F32 : TN_F64;
        size_t size = tn_element_type_bytes(t);
        bool turned = round % 2;
        tn_gemm g = {.a_type = t, .b_type = t, .c_type = t, .m = m, .n = n, .k = k};
        g.a_row = turned ? 1 : k, g.a_col = turned ? m : 1, g.b_row = n, g.b_col = 1;
        g.c_row = n, g.c_col = 1;
        if (!tn_gemm_may_add(&g)) { /* the baseline has no masks */
            assert_true(tn_cpu_isa() != TN_ISA_AVX2 && tn_cpu_isa() != TN_ISA_AVX512);
            continue;
        }
        char *a = malloc((size_t)(m * k) * size), *b = malloc((size_t)(k * n) * size);
        char *product = malloc((size_t)(m * n) * size), *sum = malloc((size_t)(m * n) * size);
        for (int64_t i = 0; i < m * k; i++) put_random(t, a + (size_t)i * size);
        for (int64_t i = 0; i < k * n; i++) put_random(t, b + (size_t)i * size);
        for (int64_t i = 0; i < m * n; i++) put_random(t, sum + (size_t)i * size);
        void *workspace = aligned_alloc(64, tn_gemm_workspace(&g, pool) / 64 * 64 + 64);
        tn_gemm_run(&g, a, b, product, pool, workspace);
        for (int64_t i = 0; i < m * n; i++) {
            if (t == TN_F32) ((float *)product)[i] += ((float *)sum)[i];
            else ((double *)product)[i] += ((double *)sum)[i];
        }
        g.add = true;
        tn_gemm_run(&g, a, b, sum, pool, workspace);
        assert_memory_equal(sum, product, (size_t)(m * n) * size);
        free(workspace), free(a), free(b), free(product), free(sum);
    }
}

/* A packed B gives what B gives. */
static void packed_operands_change_nothing(void **state)
{
    static const int64_t sizes[][3] = {{64, 300, 600}, {40, 2200, 90}, {230, 210, 1100}};
    for (int round = 0; round < 12; round++) {
        int64_t m = sizes[round % 3][0], n = sizes[round % 3][1], k = sizes[round % 3][2];
        tn_element_type t = round < 6 ? TN_F32 : TN_F64;
        size_t size = tn_element_type_bytes(t);
        bool turned = round % 2;
        tn_gemm g = {.a_type = t, .b_type = t, .c_type = t, .m = m, .n = n, .k = k};
        g.a_row = k, g.a_col = 1, g.b_row = turned ? 1 : n, g.b_col = turned ? k : 1;
        g.c_row = n, g.c_col = 1;
        size_t bytes = tn_gemm_packed_bytes(&g);
        assert_true(bytes >= (size_t)(k * n) * size);
        char *a = malloc((size_t)(m * k) * size), *b = malloc((size_t)(k * n) * size);
        char *expected = malloc((size_t)(m * n) * size), *got = malloc((size_t)(m * n) * size);
        for (int64_t i = 0; i < m * k; i++) put_random(t, a + (size_t)i * size);
        for (int64_t i = 0; i < k * n; i++) put_random(t, b + (size_t)i * size);
        void *workspace = aligned_alloc(64, tn_gemm_workspace(&g, pool) / 64 * 64 + 64);
        void *packed = aligned_alloc(64, bytes);
        tn_gemm_run(&g, a, b, expected, pool, workspace);
        tn_gemm_pack(&g, b, packed, pool);
        memset(b, 0xff, (size_t)(k * n) * size);
        g.packed_b = packed;
        tn_gemm_run(&g, a, b, got, pool, workspace);
        assert_memory_equal(got, expected, (size_t)(m * n) * size);
        free(workspace), free(packed), free(a), free(b), free(expected), free(got);
    }
}

/* What reads a transposed B in place keeps the order of k, to the bit, from any type. */
static void ordered_sums_are_in_order(void **state)
{
    static const tn_element_type types[] = {TN_F32, TN_BF16, TN_I8, TN_U8};
    enum { MAX_M = 8, N = 37, MAX_K = 500 };
    static float a[MAX_M * MAX_K], c[MAX_M * N], widened[N * MAX_K];
    static char b[N * MAX_K * 4];
    for (int round = 0; round < 64; round++) {
        tn_element_type t = types[round % 4];
        int64_t m = 1 + round / 4 % 8, k = round < 32 ? MAX_K : 101,
                size = tn_element_type_bytes(t);
        for (int64_t i = 0; i < m * k; i++) put_random(TN_F32, &a[i]);
        for (int64_t i = 0; i < N * k; i++) {
            put_random(t, b + i * size);
            widened[i] = (float)creal(get_real(t, b + i * size));
        }
        tn_gemm g = {.a_type = TN_F32, .b_type = t, .c_type = TN_F32, .m = m, .n = N, .k = k};
        g.in_order = true, g.a_row = k, g.a_col = 1, g.b_row = 1, g.b_col = k;
        g.c_row = N, g.c_col = 1;
        void *workspace = aligned_alloc(64, tn_gemm_workspace(&g, pool) / 64 * 64 + 64);
        tn_gemm_run(&g, a, b, c, pool, workspace);
        free(workspace);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < N; j++) {
                float sum = 0, block = 0;
                for (int64_t q = 0; q < k; q++) {
                    if (k > 384 && q == k / 2) sum = block, block = 0;
                    block = fmaf(a[i * k + q], widened[j * k + q], block);
                }
                sum = k > 384 ? sum + block : block;
                if (tn_cpu_has(TN_ISA_AVX2)) assert_true(c[i * N + j] == sum);
                else assert_true(fabsf(c[i * N + j] - sum) <= 1e-3f * (1 + fabsf(sum)));
            }
    }
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_floats_round_trip),
        cmocka_unit_test(unknown_types_are_not_supported),
        cmocka_unit_test(empty_products),
        cmocka_unit_test(small_shapes_of_all_types_with_any_strides),
        cmocka_unit_test(shapes_of_each_path),
        cmocka_unit_test(batches_are_independent),
        cmocka_unit_test(small_products_of_a_batch_are_those_alone),
        cmocka_unit_test(sums_are_made_in_the_documented_order),
        cmocka_unit_test(infinities_stay_in_their_element),
        cmocka_unit_test(bf16_products_keep_what_is_subnormal),
        cmocka_unit_test(tiny_products_are_rounded_once),
        cmocka_unit_test(products_are_added_to_c),
        cmocka_unit_test(packed_operands_change_nothing),
        cmocka_unit_test(ordered_sums_are_in_order),
    };
    tn_status *s = tn_thread_pool_create(3, &pool);
    if (s) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tn_thread_pool_destroy(pool);
    return failed;
}

int main(void)
{
    return run_for_each_isa(run);
}
