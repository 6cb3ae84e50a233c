/* SPDX-License-Identifier: Apache-2.0 */
/* chains PLUGIN - how compile time grows with the size of a program: chains of elementwise ops,
 * of reductions with broadcasts and of dots, and programs of many small outputs, at 200 to
 * 100,000 ops. CPU time of the whole process, the least of a few, and its share for each op. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tenon/host.h"

enum { REPEATS = 3 };

typedef struct {
    char *text;
    size_t size, room;
} text;

__attribute__((format(printf, 2, 3))) static void add(text *t, const char *format, ...)
{
    va_list args;
    if (t->room - t->size < 512) t->text = realloc(t->text, t->room = 2 * t->room + 4096);
    va_start(args, format);
    t->size += (size_t)vsnprintf(t->text + t->size, t->room - t->size, format, args);
    va_end(args);
}

static void check(tn_status *s)
{
    if (!s) return;
    fprintf(stderr, "chains: %s\n", tn_status_message(s));
    exit(1);
}

static void elementwise(text *t, int ops)
{
    static const char *const names[] = {"multiply", "add", "maximum", "sine", "subtract"};
    add(t, "func.func @main(%%v0: tensor<1024xf32>) -> tensor<1024xf32> {\n");
    for (int i = 0; i < ops; i++)
        if (i % 5 == 3) add(t, "%%v%d = stablehlo.sine %%v%d : tensor<1024xf32>\n", i + 1, i);
        else
            add(t, "%%v%d = stablehlo.%s %%v%d, %%v%d : tensor<1024xf32>\n", i + 1, names[i % 5], i,
                i / 2);
    add(t, "return %%v%d : tensor<1024xf32>\n}\n", ops);
}

static void reductions(text *t, int ops)
{
    add(t, "func.func @main(%%v0: tensor<32x32xf32>) -> tensor<32x32xf32> {\n"
           "%%z = stablehlo.constant dense<0.0> : tensor<f32>\n");
    int i = 0;
    for (; i + 3 <= ops; i += 3) {
        add(t,
            "%%v%d = stablehlo.reduce(%%v%d init: %%z) applies stablehlo.add across dimensions "
            "= [1] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>\n",
            i + 1, i);
        add(t,
            "%%v%d = stablehlo.broadcast_in_dim %%v%d, dims = [0] : (tensor<32xf32>) -> "
            "tensor<32x32xf32>\n",
            i + 2, i + 1);
        add(t, "%%v%d = stablehlo.subtract %%v%d, %%v%d : tensor<32x32xf32>\n", i + 3, i, i + 2);
    }
    add(t, "return %%v%d : tensor<32x32xf32>\n}\n", i);
}

static void dots(text *t, int ops)
{
    add(t, "func.func @main(%%v0: tensor<8x8xf32>) -> tensor<8x8xf32> {\n");
    for (int i = 0; i < ops; i++)
        if (i & 1) add(t, "%%v%d = stablehlo.tanh %%v%d : tensor<8x8xf32>\n", i + 1, i);
        else
            add(t,
                "%%v%d = stablehlo.dot %%v%d, %%v0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> "
                "tensor<8x8xf32>\n",
                i + 1, i);
    add(t, "return %%v%d : tensor<8x8xf32>\n}\n", ops);
}

static void outputs(text *t, int ops)
{
    add(t, "func.func @main(%%x: tensor<64xf32>) -> (tensor<64xf32>");
    for (int i = 1; i < ops / 2; i++) add(t, ", tensor<64xf32>");
    add(t, ") {\n");
    for (int i = 0; i < ops / 2; i++) {
        add(t, "%%c%d = stablehlo.constant dense<%d.5> : tensor<64xf32>\n", i, i);
        add(t, "%%v%d = stablehlo.multiply %%x, %%c%d : tensor<64xf32>\n", i, i);
    }
    add(t, "return ");
    for (int i = 0; i < ops / 2; i++) add(t, "%s%%v%d", i ? ", " : "", i);
    add(t, " : ");
    for (int i = 0; i < ops / 2; i++) add(t, "%stensor<64xf32>", i ? ", " : "");
    add(t, "\n}\n");
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(text *, int);
    } kinds[] = {{"elementwise", elementwise},
                 {"reductions", reductions},
                 {"dots", dots},
                 {"outputs", outputs}};
    static const int sizes[] = {200, 2000, 20000, 100000};
    if (argc != 2) return fprintf(stderr, "usage: chains PLUGIN\n"), 2;
    tn_plugin *plugin;
    tn_host_client *client;
    check(tn_plugin_open(argv[1], &plugin));
    check(tn_host_client_create(plugin, NULL, 0, &client));
    printf("%-12s %8s %12s %10s\n", "chain", "ops", "CPU ms", "us an op");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            text t = {0};
            kinds[k].make(&t, sizes[s]);
            double least = 1e30;
            for (int r = 0; r < REPEATS; r++) {
                tn_host_executable *program;
                double start = cpu_ms();
                check(tn_host_executable_compile(client, t.text, t.size, "mlir", 1, 1, &program));
                double took = cpu_ms() - start;
                tn_host_executable_free(program);
                if (took < least) least = took;
            }
            printf("%-12s %8d %12.3f %10.3f\n", kinds[k].name, sizes[s], least,
                   1e3 * least / sizes[s]);
            free(t.text);
        }
    tn_host_client_destroy(client);
    tn_plugin_close(plugin);
    return 0;
}
