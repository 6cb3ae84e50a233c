/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/cli.h"
#include "host/replay.h"

const char tn_cli_diff_help[] =
    "usage: tenon diff A B MODULE [--input FILE.npy ...] [--seed N] [--tolerance T]\n"
    "Compiles MODULE on the plugins A and B, runs it on the same inputs, and tells whether the "
    "outputs "
    "differ: which, how many elements, the first of them, and by how many ulp.\n\n"
    "  --input [T:]FILE  an input, in order, as in `tenon run`; without any, inputs are made up "
    "from the "
    "seed\n"
    "  --seed N          of the made-up inputs; default 1\n"
    "  --tolerance T     floats may differ by T + T * |a|; default 0: bit for bit\n"
    "Made-up inputs: floats in [-2, 2), whole numbers in [0, 8), of the types of MODULE's "
    "parameters.\n"
    "Exit code: 0 equal, 1 different, 2 one of them could not run it.\n";

enum { MOST = 256 };

typedef struct {
    const char *plugins[2], *module, *inputs[MOST];
    size_t n_inputs;
    double tolerance;
    unsigned seed;
} arguments;

static tn_status *parse(int argc, char **argv, arguments *a)
{
    *a = (arguments){.plugins = {argv[0]}, .seed = 1};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--input") && value && a->n_inputs < MOST)
            a->inputs[a->n_inputs++] = argv[++i];
        else if (!strcmp(argv[i], "--tolerance") && value) a->tolerance = atof(argv[++i]);
        else if (!strcmp(argv[i], "--seed") && value) a->seed = (unsigned)atoi(argv[++i]);
        else if (argv[i][0] != '-' && !a->plugins[1]) a->plugins[1] = argv[i];
        else if (argv[i][0] != '-' && !a->module) a->module = argv[i];
        else
            return TN_ERROR(INVALID_ARGUMENT, "'%s' is not understood; see tenon diff --help",
                            argv[i]);
    }
    if (!a->plugins[1] || !a->module)
        return TN_ERROR(INVALID_ARGUMENT,
                        "two plugins and a MODULE are needed; see tenon diff --help");
    return NULL;
}

/* What ran where: the outputs of one plugin. */
typedef struct {
    tn_plugin *plugin;
    tn_host_client *client;
    tn_host_executable *executable;
    tn_array *out;
    size_t n_out;
} side;

static tn_status *open_side(const char *path, const void *code, size_t size, side *s)
{
    TN_TRY(tn_plugin_open(path, &s->plugin));
    TN_TRY(tn_host_client_create(s->plugin, NULL, 0, &s->client));
    TN_TRY(tn_host_executable_compile(s->client, code, size, "mlir", 1, 1, &s->executable));
    s->n_out = tn_host_executable_output_count(s->executable);
    s->out = calloc(s->n_out + 1, sizeof *s->out);
    return s->out ? NULL : TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
}

static void close_side(side *s)
{
    for (size_t i = 0; s->out && i < s->n_out; i++) tn_array_free(&s->out[i]);
    free(s->out);
    tn_host_executable_free(s->executable);
    tn_host_client_destroy(s->client);
    tn_plugin_close(s->plugin);
}

static size_t compare(const arguments *a, side *s)
{
    size_t differ = 0;
    for (size_t i = 0; i < s[0].n_out && i < s[1].n_out; i++) {
        const tn_array *x = &s[0].out[i], *y = &s[1].out[i];
        if (x->type != y->type || x->size != y->size) {
            printf("output %zu: %s of %zu bytes against %s of %zu\n", i, tn_element_name(x->type),
                   x->size, tn_element_name(y->type), y->size);
            differ++;
            continue;
        }
        tn_array_difference d = tn_array_compare(x, y, a->tolerance);
        if (d.first == SIZE_MAX) continue;
        char p[80], q[80];
        tn_array_element_text(x, d.first, p, sizeof p);
        tn_array_element_text(y, d.first, q, sizeof q);
        size_t width = tn_element_size(x->type);
        printf("output %zu: %zu of %zu elements differ, first element %zu: %s against %s", i, d.n,
               width ? x->size / width : 0, d.first, p, q);
        if (d.most_ulp == UINT64_MAX) printf("\n");
        else printf("; at most %llu ulp, %.3g\n", (unsigned long long)d.most_ulp, d.worst);
        differ++;
    }
    return differ;
}

int tn_cli_diff(int argc, char **argv, tn_status **error)
{
    static arguments a;
    *error = parse(argc, argv, &a);
    if (*error) return 2;
    void *code = NULL;
    size_t size = 0, n_in = 0;
    side sides[2] = {{0}, {0}};
    tn_array *in = NULL;
    *error = tn_read_file(a.module, &code, &size);
    for (int k = 0; k < 2 && !*error; k++) {
        *error = open_side(a.plugins[k], code, size, &sides[k]);
        if (*error) *error = tn_status_annotate(*error, "%s", a.plugins[k]);
    }
    if (!*error) *error = tn_cli_inputs(a.inputs, a.n_inputs, code, size, a.seed, &in, &n_in);
    for (int k = 0; k < 2 && !*error; k++) {
        *error = tn_host_executable_run(sides[k].executable, in, n_in, sides[k].out, NULL);
        if (*error) *error = tn_status_annotate(*error, "%s", a.plugins[k]);
    }
    int result = 2;
    if (!*error && sides[0].n_out != sides[1].n_out) {
        printf("%zu outputs against %zu\n", sides[0].n_out, sides[1].n_out);
        result = 1;
    } else if (!*error) {
        size_t differ = compare(&a, sides);
        printf("%zu of %zu outputs differ\n", differ, sides[0].n_out);
        result = differ != 0;
    }
    tn_cli_free_inputs(in, n_in);
    for (int k = 0; k < 2; k++) close_side(&sides[k]);
    free(code);
    return result;
}
