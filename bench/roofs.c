/* SPDX-License-Identifier: Apache-2.0 */
/* roofs PLUGIN - products, convolutions, streams and a sort with one and with two threads, beside
 * what the machine can do at most with as many: a table in Markdown. A time is the least of its
 * runs; inputs lie in the device's memory, and were written just before. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine_limits.h"
#include "tenon/host.h"

enum { RUNS = 40, THREADS = 2 };

typedef struct {
    const char *name, *text;
    double flops, read, moved; /* of bytes, read only and read or written; 0: not what holds it */
    struct {
        PJRT_Buffer_Type type;
        size_t rank;
        int64_t dims[4];
    } in[2];
} kernel;

#define MAIN(arguments, results, ...)                                                              \
    "func.func @main(" arguments ") -> " results " {\n" __VA_ARGS__ "return %r : " results "\n}\n"
#define SQUARE(n)                                                                                  \
    {                                                                                              \
        "product of f32, " #n, GEMM("tensor<" #n "x" #n "xf32>"), 2.0 * n *n *n, 0, 0,             \
        {                                                                                          \
            {PJRT_Buffer_Type_F32, 2, {n, n}},                                                     \
            {                                                                                      \
                PJRT_Buffer_Type_F32, 2,                                                           \
                {                                                                                  \
                    n, n                                                                           \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
#define GEMM(t)                                                                                    \
    MAIN("%x: " t ", %y: " t, t, "%r = stablehlo.dot %x, %y : (" t ", " t ") -> " t "\n")
#define CONV(x, w, y, groups)                                                                      \
    MAIN("%x: " x ", %w: " w, y,                                                                   \
         "%r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, "  \
         "f], "                                                                                    \
         "window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count "    \
         "= " groups " : i64} : (" x ", " w ") -> " y "\n")
#define MATRIX(t) "tensor<4096x4096x" t ">"
#define VECTOR(t) "tensor<4096x" t ">"
#define LONG      "tensor<8388608xf32>"
#define MILLION   "tensor<1048576xf32>"
#define IMAGE     "tensor<1x56x56x64xf32>"
#define LARGE     "tensor<1x112x112x64xf32>"

static const kernel kernels[] = {
    SQUARE(128),
    SQUARE(256),
    SQUARE(512),
    SQUARE(1024),
    {"convolution 3x3, NHWC 56x56x64",
     CONV(IMAGE, "tensor<3x3x64x64xf32>", IMAGE, "1"),
     2.0 * 56 * 56 * 64 * 64 * 9,
     0,
     0,
     {{PJRT_Buffer_Type_F32, 4, {1, 56, 56, 64}}, {PJRT_Buffer_Type_F32, 4, {3, 3, 64, 64}}}},
    {"depthwise 3x3, NHWC 112x112x64",
     CONV(LARGE, "tensor<3x3x1x64xf32>", LARGE, "64"),
     2.0 * 112 * 112 * 64 * 9,
     0,
     2.0 * 112 * 112 * 64 * 4,
     {{PJRT_Buffer_Type_F32, 4, {1, 112, 112, 64}}, {PJRT_Buffer_Type_F32, 4, {3, 3, 1, 64}}}},
    {"matrix of f32 by vector, 4096",
     MAIN("%w: " MATRIX("f32") ", %x: " VECTOR("f32"), VECTOR("f32"),
          "%r = stablehlo.dot %w, %x : (" MATRIX("f32") ", " VECTOR("f32") ") -> " VECTOR(
              "f32") "\n"),
     0,
     4096.0 * 4096 * 4,
     0,
     {{PJRT_Buffer_Type_F32, 2, {4096, 4096}}, {PJRT_Buffer_Type_F32, 1, {4096}}}},
    {"matrix of bf16 by vector, 4096",
     MAIN("%w: " MATRIX("bf16") ", %x: " VECTOR("f32"), VECTOR("f32"),
          "%c = stablehlo.convert %w : (" MATRIX("bf16") ") -> " MATRIX(
              "f32") "\n"
                     "%r = stablehlo.dot %c, %x : (" MATRIX("f32") ", " VECTOR(
                         "f32") ") -> " VECTOR("f32") "\n"),
     0,
     4096.0 * 4096 * 2,
     0,
     {{PJRT_Buffer_Type_BF16, 2, {4096, 4096}}, {PJRT_Buffer_Type_F32, 1, {4096}}}},
    {"matrix of int8 by vector, 4096",
     MAIN("%w: " MATRIX("i8") ", %x: " VECTOR("f32"), VECTOR("f32"),
          "%c = stablehlo.convert %w : (" MATRIX("i8") ") -> " MATRIX(
              "f32") "\n"
                     "%r = stablehlo.dot %c, %x : (" MATRIX("f32") ", " VECTOR(
                         "f32") ") -> " VECTOR("f32") "\n"),
     0,
     4096.0 * 4096,
     0,
     {{PJRT_Buffer_Type_S8, 2, {4096, 4096}}, {PJRT_Buffer_Type_F32, 1, {4096}}}},
    {"sum of two arrays, 8M of f32",
     MAIN("%x: " LONG ", %y: " LONG, LONG, "%r = stablehlo.add %x, %y : " LONG "\n"),
     0,
     0,
     12.0 * 8388608,
     {{PJRT_Buffer_Type_F32, 1, {8388608}}, {PJRT_Buffer_Type_F32, 1, {8388608}}}},
    {"sort, 1M of f32",
     MAIN(
         "%x: " MILLION, MILLION,
         "%r = \"stablehlo.sort\"(%x) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
         "%l = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
         "stablehlo.return %l : tensor<i1>\n}) {dimension = 0 : i64, is_stable = false} : (" MILLION
         ") -> " MILLION "\n"),
     0,
     0,
     0,
     {{PJRT_Buffer_Type_F32, 1, {1048576}}}},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static void check(tn_status *s, const char *what)
{
    if (!s) return;
    fprintf(stderr, "roofs: %s: %s\n", what, tn_status_message(s));
    exit(1);
}

/* Numbers around 1, positive or negative; of int8 any. */
static void fill(tn_array *a)
{
    uint64_t state = 1;
    for (size_t i = 0; i < a->size / tn_element_size(a->type); i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        float f = (float)(int32_t)(state >> 32) * 0x1p-30f;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        if (a->type == PJRT_Buffer_Type_F32) ((float *)a->data)[i] = f;
        else if (a->type == PJRT_Buffer_Type_BF16)
            ((uint16_t *)a->data)[i] = (uint16_t)(bits >> 16);
        else ((int8_t *)a->data)[i] = (int8_t)(state >> 40);
    }
}

static double seconds_of(tn_host_client *client, const kernel *k)
{
    tn_host_executable *e;
    tn_array in[2] = {{0}}, out = {0};
    size_t n = k->in[1].rank ? 2 : 1;
    check(tn_host_executable_compile(client, k->text, strlen(k->text), "mlir", 1, 1, &e), k->name);
    for (size_t i = 0; i < n; i++) {
        check(tn_array_make(k->in[i].type, k->in[i].rank, k->in[i].dims, &in[i]), k->name);
        fill(&in[i]);
    }
    uint64_t least = UINT64_MAX, ns;
    for (int i = 0; i < RUNS; i++) {
        check(tn_host_executable_run(e, in, n, &out, &ns), k->name);
        tn_array_free(&out);
        if (ns < least) least = ns;
    }
    for (size_t i = 0; i < n; i++) tn_array_free(&in[i]);
    tn_host_executable_free(e);
    return (double)least * 1e-9;
}

int main(int argc, char **argv)
{
    static double seconds[THREADS][KERNELS];
    tn_machine_limits limits[THREADS];
    tn_plugin *plugin;
    if (argc != 2) return fprintf(stderr, "usage: roofs PLUGIN\n"), 2;
    check(tn_plugin_open(argv[1], &plugin), argv[1]);
    for (int t = 0; t < THREADS; t++) {
        char option[32];
        snprintf(option, sizeof option, "num_threads=%d", t + 1);
        const char *options[] = {option};
        tn_host_client *client;
        check(tn_machine_limits_measure(t + 1, &limits[t]), "limits");
        check(tn_host_client_create(plugin, options, 1, &client), "client");
        for (size_t i = 0; i < KERNELS; i++) seconds[t][i] = seconds_of(client, &kernels[i]);
        tn_host_client_destroy(client);
    }
    tn_plugin_close(plugin);
    for (int t = 0; t < THREADS; t++)
        printf("%sWith %d thread%s this machine does at most %.0f Gflop/s of f32 and %.0f of f64, "
               "reads %.1f GB/s and adds arrays at %.1f GB/s.\n",
               t ? "\n" : "", t + 1, t ? "s" : "", limits[t].f32_flops / 1e9,
               limits[t].f64_flops / 1e9, limits[t].read_bytes / 1e9, limits[t].add_bytes / 1e9);
    printf("\n| kernel | 1 thread ms | of the limit | 2 threads ms | of the limit | speed-up |\n"
           "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < KERNELS; i++) {
        const kernel *k = &kernels[i];
        printf("| %s |", k->name);
        for (int t = 0; t < THREADS; t++) {
            double least =
                fmax(k->flops / limits[t].f32_flops,
                     fmax(k->read / limits[t].read_bytes, k->moved / limits[t].add_bytes));
            printf(" %.4g |", seconds[t][i] * 1e3);
            if (least > 0) printf(" %.0f %% |", 100 * least / seconds[t][i]);
            else printf(" |");
        }
        printf(" %.2f |\n", seconds[0][i] / seconds[1][i]);
    }
    return 0;
}
