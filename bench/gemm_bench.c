/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_bench - GFLOP/s of tn_gemm on one shape: gemm_bench TYPE M N K [ta] [tb] [threads] [batch]
 * ta, tb: 1 = the operand is stored transposed. Prints the best and the median of many runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/gemm.h"

/* One thread is timed by its own clock, which other programs on the machine disturb less. */
static clockid_t watch = CLOCK_THREAD_CPUTIME_ID;

static double now(void)
{
    struct timespec t;
    clock_gettime(watch, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    if (argc < 5) return 1;
    tn_element_type type = tn_element_type_parse(argv[1], strlen(argv[1])), out = type;
    int64_t m = atoll(argv[2]), n = atoll(argv[3]), k = atoll(argv[4]);
    int ta = argc > 5 ? atoi(argv[5]) : 0, tb = argc > 6 ? atoi(argv[6]) : 0;
    int threads = argc > 7 ? atoi(argv[7]) : 1;
    int64_t batch = argc > 8 ? atoll(argv[8]) : 1;
    if (type == TN_I8) out = TN_I32;
    size_t size = tn_element_type_bytes(type), out_size = tn_element_type_bytes(out);
    tn_gemm g = {.a_type = type,
                 .b_type = type,
                 .c_type = out,
                 .m = m,
                 .n = n,
                 .k = k,
                 .a_row = ta ? 1 : k,
                 .a_col = ta ? m : 1,
                 .b_row = tb ? 1 : n,
                 .b_col = tb ? k : 1,
                 .c_row = n,
                 .c_col = 1,
                 .batch_rank = 1,
                 .batch = {batch},
                 .a_batch = {m * k},
                 .b_batch = {k * n},
                 .c_batch = {m * n}};
    tn_thread_pool *pool = NULL;
    if (threads > 1) watch = CLOCK_MONOTONIC;
    if (threads > 1) tn_status_free(tn_thread_pool_create(threads, &pool));
    size_t a_bytes = (size_t)(batch * m * k) * size, b_bytes = (size_t)(batch * k * n) * size;
    void *a = aligned_alloc(64, (a_bytes + 63) / 64 * 64),
         *b = aligned_alloc(64, (b_bytes + 63) / 64 * 64);
    void *c = aligned_alloc(64, ((size_t)(batch * m * n) * out_size + 63) / 64 * 64);
    void *workspace = aligned_alloc(64, (tn_gemm_workspace(&g, pool) + 63) / 64 * 64);
    memset(a, 0x3c, a_bytes);
    memset(b, 0x3d, b_bytes);
    double times[2000], flops = 2.0 * (double)m * (double)n * (double)k * (double)batch,
                        start = now();
    int runs = 0;
    while (runs < 2000 && (runs < 5 || now() - start < 0.5)) {
        double t = now();
        int inner = flops < 1e6 ? (int)(1e6 / flops) + 1 : 1;
        for (int i = 0; i < inner; i++) tn_gemm_run(&g, a, b, c, pool, workspace);
        times[runs++] = (now() - t) / inner;
    }
    qsort(times, (size_t)runs, sizeof times[0], compare);
    printf("%s %lldx%lldx%lld t%d%d thr%d b%lld: best %.1f median %.1f GF/s  %.2f us\n", argv[1],
           (long long)m, (long long)n, (long long)k, ta, tb, threads, (long long)batch,
           flops / times[0] * 1e-9, flops / times[runs / 2] * 1e-9, times[0] * 1e6);
    tn_thread_pool_destroy(pool);
    free(a), free(b), free(c), free(workspace);
    return 0;
}
