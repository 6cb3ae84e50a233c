/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/cli/cli.h"

const char tn_cli_bench_help[] =
    "usage: tenon bench PLUGIN MODULE [--input FILE.npy ...] [--seed N] [--repeat N] [--json]\n"
    "Times what MODULE costs on the plugin: the client, the compile (first and best), copying the "
    "inputs in "
    "and the outputs out, the call of Execute alone, a run with its wait, and a run in a row of "
    "runs.\n\n"
    "  --input [T:]FILE  an input, in order; without any they are made up from the seed\n"
    "  --repeat N        runs of each kind; default 100\n"
    "  --json            as one line of JSON, in milliseconds\n"
    "  --option name=value  for the client\n"
    "Each time is the least of all tries, the run also the median.\n";

enum { MOST = 256, COMPILES = 3 };

typedef struct {
    const char *module, *inputs[MOST];
    size_t n_inputs;
    unsigned seed;
    int repeat;
    bool json;
    tn_cli_client client;
} arguments;

typedef struct {
    double client, first_compile, compile, in, out, call, run, median, row; /* ms */
} times;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static tn_status *parse(int argc, char **argv, arguments *a)
{
    *a = (arguments){.seed = 1, .repeat = 100};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (tn_cli_take_option(&a->client, argc, argv, &i)) continue;
        if (!strcmp(argv[i], "--input") && value && a->n_inputs < MOST)
            a->inputs[a->n_inputs++] = argv[++i];
        else if (!strcmp(argv[i], "--seed") && value) a->seed = (unsigned)atoi(argv[++i]);
        else if (!strcmp(argv[i], "--repeat") && value && atoi(value) > 0)
            a->repeat = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--json")) a->json = true;
        else if (argv[i][0] != '-' && !a->module) a->module = argv[i];
        else
            return TN_ERROR(INVALID_ARGUMENT, "'%s' is not understood; see tenon bench --help",
                            argv[i]);
    }
    return a->module ? NULL : TN_ERROR(INVALID_ARGUMENT, "which MODULE? see tenon bench --help");
}

typedef struct {
    tn_plugin *plugin;
    tn_host_client *client;
    tn_host_executable *executable;
    PJRT_Buffer **in, **out;
    int64_t *kept; /* no argument is donated: each run takes the same ones */
    size_t n_in, n_out;
} bench;

static tn_status *execute(bench *b, PJRT_Event **done)
{
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                   .call_location = "",
                                   .non_donatable_input_indices = b->kept,
                                   .num_non_donatable_input_indices = b->n_in};
    PJRT_Buffer *const *in_rows[] = {b->in};
    PJRT_Buffer **out_rows[] = {b->out};
    PJRT_LoadedExecutable_Execute_Args args = {
        .struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE,
        .executable = tn_host_executable_handle(b->executable),
        .options = &options,
        .argument_lists = in_rows,
        .num_devices = 1,
        .num_args = b->n_in,
        .output_lists = out_rows,
        .device_complete_events = done};
    return TN_PLUGIN_CALL(b->plugin, PJRT_LoadedExecutable_Execute, &args);
}

static void drop_outputs(bench *b)
{
    for (size_t i = 0; i < b->n_out; i++) tn_host_buffer_destroy(b->client, b->out[i]);
}

static void least(double *best, double t)
{
    if (t < *best) *best = t;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static tn_status *time_runs(bench *b, const arguments *a, times *t)
{
    double *each = calloc((size_t)a->repeat, sizeof *each);
    if (!each) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    tn_status *s = NULL;
    PJRT_Event *done;
    for (int i = 0; i < a->repeat && !s; i++) {
        double start = now();
        s = execute(b, &done);
        if (s) break;
        least(&t->call, now() - start);
        s = tn_host_event_wait(b->client, done);
        each[i] = now() - start;
        least(&t->run, each[i]);
        drop_outputs(b);
    }
    qsort(each, (size_t)a->repeat, sizeof *each, by_value);
    t->median = each[a->repeat / 2];
    free(each);
    for (int round = 0; round < 5 && !s; round++) { /* runs in a row, only the last one awaited */
        double start = now();
        int n = a->repeat < 50 ? a->repeat : 50;
        for (int i = 0; i < n && !s; i++) {
            s = execute(b, i == n - 1 ? &done : NULL);
            if (!s) drop_outputs(b);
        }
        if (!s) s = tn_host_event_wait(b->client, done);
        least(&t->row, (now() - start) / n);
    }
    return s;
}

static tn_status *time_copies(bench *b, const tn_array *in, times *t)
{
    for (int round = 0; round < 3; round++) {
        double start = now();
        for (size_t i = 0; i < b->n_in; i++) {
            if (b->in[i]) tn_host_buffer_destroy(b->client, b->in[i]);
            b->in[i] = NULL;
            TN_ANNOTATE(tn_host_buffer_from_array(b->client, tn_host_client_device(b->client, 0),
                                                  &in[i], &b->in[i]),
                        "input %zu", i);
        }
        least(&t->in, now() - start);
    }
    PJRT_Event *done;
    TN_TRY(execute(b, &done));
    tn_status *s = tn_host_event_wait(b->client, done);
    for (int round = 0; round < 3 && !s; round++) {
        double start = now();
        for (size_t i = 0; i < b->n_out && !s; i++) {
            tn_array a;
            s = tn_host_buffer_to_array(b->client, b->out[i], &a);
            if (!s) tn_array_free(&a);
        }
        least(&t->out, now() - start);
    }
    drop_outputs(b);
    return s;
}

static tn_status *measure(const char *path, const arguments *a, bench *b, times *t)
{
    void *code;
    size_t size;
    TN_TRY(tn_plugin_open(path, &b->plugin));
    double start = now();
    TN_TRY(tn_host_client_create(b->plugin, a->client.options, a->client.n_options, &b->client));
    t->client = now() - start;
    TN_TRY(tn_read_file(a->module, &code, &size));
    tn_status *s = NULL;
    for (int i = 0; i < COMPILES && !s; i++) {
        tn_host_executable_free(b->executable);
        b->executable = NULL;
        start = now();
        s = tn_host_executable_compile(b->client, code, size, "mlir", 1, 1, &b->executable);
        if (!i) t->first_compile = now() - start;
        least(&t->compile, now() - start);
    }
    tn_array *in = NULL;
    if (!s) s = tn_cli_inputs(a->inputs, a->n_inputs, code, size, a->seed, &in, &b->n_in);
    if (!s) {
        b->n_out = tn_host_executable_output_count(b->executable);
        b->in = calloc(b->n_in + 1, sizeof *b->in);
        b->out = calloc(b->n_out + 1, sizeof *b->out);
        b->kept = calloc(b->n_in + 1, sizeof *b->kept);
        if (!b->in || !b->out || !b->kept) s = TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
        for (size_t i = 0; !s && i < b->n_in; i++) b->kept[i] = (int64_t)i;
    }
    if (!s) s = time_copies(b, in, t);
    if (!s) s = time_runs(b, a, t);
    tn_cli_free_inputs(in, b->n_in);
    free(code);
    return s;
}

static void print(const times *t, bool json)
{
    const struct {
        const char *name, *text;
        double v;
    } rows[] = {{"client", "make the client", t->client},
                {"first_compile", "compile, first", t->first_compile},
                {"compile", "compile, best", t->compile},
                {"inputs", "copy inputs in", t->in},
                {"outputs", "copy outputs out", t->out},
                {"call", "Execute, the call", t->call},
                {"run", "a run and its wait", t->run},
                {"run_median", "the same, median", t->median},
                {"row", "a run in a row", t->row}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (json) printf("%s\"%s\": %.6f", i ? ", " : "{", rows[i].name, rows[i].v);
        else printf("%-20s %12.4f ms\n", rows[i].text, rows[i].v);
    }
    if (json) printf("}\n");
}

int tn_cli_bench(int argc, char **argv, tn_status **error)
{
    static arguments a;
    bench b = {0};
    times t = {0, 0, 1e18, 1e18, 1e18, 1e18, 1e18, 0, 1e18};
    *error = parse(argc, argv, &a);
    if (*error) return 2;
    *error = measure(argv[0], &a, &b, &t);
    if (!*error) print(&t, a.json);
    for (size_t i = 0; b.in && i < b.n_in; i++)
        if (b.in[i]) tn_host_buffer_destroy(b.client, b.in[i]);
    free(b.in);
    free(b.out);
    free(b.kept);
    tn_host_executable_free(b.executable);
    tn_host_client_destroy(b.client);
    tn_plugin_close(b.plugin);
    return 0;
}
