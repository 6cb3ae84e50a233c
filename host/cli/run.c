/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu_features.h"
#include "base/options.h"
#include "host/cli/cli.h"
#include "host/cli/profile.h"

const char tn_cli_run_help[] =
    "usage: tenon run PLUGIN MODULE [--input FILE.npy ...] [--output-dir DIR] [--repeat N] "
    "[--profile] [--option name=value ...]\n"
    "Compiles MODULE (MLIR bytecode or text, as far as the plugin reads it) and runs it on the "
    "inputs, in order.\n"
    "--input T:FILE.npy reads the file as element type T (bf16, i4, f8E4M3FN ...), which numpy "
    "can't name.\n"
    "Outputs go to DIR/out0.npy and so on; without DIR their types and first values are printed.\n"
    "Prints the time to compile and the first, the fastest and the median time to run.\n"
    "--profile runs it N times more under the plugin's profiler, and prints for each step, the "
    "dearest first: its time\n"
    "per run, calls, bytes, operations and rates, and how near it is to the limit of this machine "
    "that holds it, measured\n"
    "for the purpose. Above 100 %: what it read was in a cache, or units other than those of the "
    "limit did it.\n";

#define MAX_INPUTS 1024

typedef struct {
    const char *module, *output_dir;
    const char *inputs[MAX_INPUTS];
    size_t n_inputs;
    int repeat;
    bool profile;
    tn_cli_client client;
} arguments;

static tn_status *parse(int argc, char **argv, arguments *a)
{
    *a = (arguments){.repeat = 1};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (tn_cli_take_option(&a->client, argc, argv, &i)) continue;
        if (argv[i][0] != '-' && !a->module) a->module = argv[i];
        else if (!strcmp(argv[i], "--input") && value && a->n_inputs < MAX_INPUTS)
            a->inputs[a->n_inputs++] = argv[++i];
        else if (!strcmp(argv[i], "--profile")) a->profile = true;
        else if (!strcmp(argv[i], "--output-dir") && value) a->output_dir = argv[++i];
        else if (!strcmp(argv[i], "--repeat") && value && atoi(value) > 0)
            a->repeat = atoi(argv[++i]);
        else
            return TN_ERROR(INVALID_ARGUMENT, "'%s' is not understood; see tenon run --help",
                            argv[i]);
    }
    return a->module ? NULL : TN_ERROR(INVALID_ARGUMENT, "which MODULE? see tenon run --help");
}

static void print_array(size_t i, const tn_array *a)
{
    printf("output %zu: %s[", i, tn_element_name(a->type));
    for (size_t d = 0; d < a->rank; d++) printf("%s%lld", d ? "," : "", (long long)a->dims[d]);
    printf("]");
    size_t width = tn_element_size(a->type), n = width ? a->size / width : 0;
    for (size_t k = 0; k < n && k < 8; k++) {
        const char *p = (const char *)a->data + k * width;
        switch (a->type) {
        case PJRT_Buffer_Type_F32: printf(" %.9g", (double)*(const float *)p); break;
        case PJRT_Buffer_Type_F64: printf(" %.17g", *(const double *)p); break;
        case PJRT_Buffer_Type_S32: printf(" %d", *(const int32_t *)p); break;
        case PJRT_Buffer_Type_S64: printf(" %lld", *(const long long *)p); break;
        default:
            printf(" 0x");
            for (size_t b = width; b--;) printf("%02x", (unsigned char)p[b]);
        }
    }
    puts(n > 8 ? " ..." : "");
}

static int by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static tn_status *run_often(tn_host_executable *p, const arguments *a, const tn_array *in,
                            tn_array *out)
{
    uint64_t *ns = calloc((size_t)a->repeat, sizeof *ns);
    if (!ns) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    size_t n_out = tn_host_executable_output_count(p);
    tn_status *s = NULL;
    for (int i = 0; i < a->repeat && !s; i++) {
        for (size_t k = 0; k < n_out; k++) tn_array_free(&out[k]);
        s = tn_host_executable_run(p, in, a->n_inputs, out, &ns[i]);
    }
    if (!s) {
        double first = (double)ns[0] / 1e6;
        qsort(ns, (size_t)a->repeat, sizeof *ns, by_value);
        printf("run: first %.3f ms, fastest %.3f ms, median %.3f ms of %d\n", first,
               (double)ns[0] / 1e6, (double)ns[a->repeat / 2] / 1e6, a->repeat);
    }
    free(ns);
    return s;
}

/* As many as the client was told to have, or as the plugin takes by itself. */
static int threads_of(const tn_cli_client *c)
{
    static const char name[] = "num_threads=";
    for (size_t i = 0; i < c->n_options; i++)
        if (!strncmp(c->options[i], name, sizeof name - 1)) {
            int n = atoi(c->options[i] + sizeof name - 1);
            if (n > 0) return n;
        }
    int64_t n = tn_options_get()->threads;
    return n > 0 ? (int)n : tn_cpu_count();
}

static tn_status *record(const tn_plugin *plugin, tn_host_executable *p, const arguments *a,
                         const tn_array *in, double *run_ms, void **xspace, size_t *size)
{
    tn_cli_profile *profile;
    size_t n_out = tn_host_executable_output_count(p);
    tn_array *out = calloc(n_out + 1, sizeof *out);
    if (!out) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    tn_status *s = tn_cli_profile_start(plugin, &profile);
    bool started = !s;
    uint64_t ns, all = 0;
    for (int i = 0; i < a->repeat && !s; i++) {
        s = tn_host_executable_run(p, in, a->n_inputs, out, &ns);
        all += s ? 0 : ns;
        for (size_t k = 0; k < n_out; k++) tn_array_free(&out[k]);
    }
    *run_ms = (double)all / 1e6 / a->repeat;
    if (!s) s = tn_cli_profile_stop(profile, xspace, size);
    if (started) tn_cli_profile_free(profile);
    free(out);
    return s;
}

static tn_status *profile(const tn_plugin *plugin, tn_host_executable *p, const arguments *a,
                          const tn_array *in)
{
    void *xspace;
    size_t size;
    double run_ms;
    tn_machine_limits limits;
    TN_TRY(record(plugin, p, a, in, &run_ms, &xspace, &size));
    tn_status *s = tn_machine_limits_measure(threads_of(&a->client), &limits);
    if (!s) s = tn_cli_profile_print(xspace, size, a->repeat, run_ms, &limits, stdout);
    free(xspace);
    return s;
}

static tn_status *deliver(const arguments *a, const tn_array *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!a->output_dir) {
            print_array(i, &out[i]);
            continue;
        }
        char path[4096];
        snprintf(path, sizeof path, "%s/out%zu.npy", a->output_dir, i);
        TN_TRY(tn_npy_write(path, &out[i]));
    }
    return NULL;
}

static tn_status *compile(tn_host_client *c, const char *path, tn_host_executable **out)
{
    void *code;
    size_t size;
    TN_TRY(tn_read_file(path, &code, &size));
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    tn_status *s = tn_host_executable_compile(c, code, size, "mlir", 1, 1, out);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    free(code);
    if (s) return tn_status_annotate(s, "%s", path);
    printf("compile: %.3f ms\n",
           (double)(t1.tv_sec - t0.tv_sec) * 1e3 + (double)(t1.tv_nsec - t0.tv_nsec) / 1e6);
    return NULL;
}

static tn_status *run(const tn_plugin *plugin, tn_host_client *c, const arguments *a)
{
    tn_array *in = NULL, *out = NULL;
    tn_host_executable *p = NULL;
    size_t n_in = 0, n_out = 0;
    tn_status *s = NULL;
    if (a->n_inputs) s = tn_cli_inputs(a->inputs, a->n_inputs, NULL, 0, 0, &in, &n_in);
    if (!s) s = compile(c, a->module, &p);
    if (!s) {
        n_out = tn_host_executable_output_count(p);
        out = calloc(n_out + 1, sizeof *out);
        s = out ? run_often(p, a, in, out) : TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    }
    if (!s) s = deliver(a, out, n_out);
    if (!s && a->profile) s = profile(plugin, p, a, in);
    tn_cli_free_inputs(in, n_in);
    for (size_t i = 0; i < n_out && out; i++) tn_array_free(&out[i]);
    free(out);
    tn_host_executable_free(p);
    return s;
}

int tn_cli_run(int argc, char **argv, tn_status **error)
{
    static arguments a;
    *error = parse(argc, argv, &a);
    if (*error) return 2;
    tn_plugin *p = NULL;
    tn_host_client *c = NULL;
    *error = tn_plugin_open(argv[0], &p);
    if (!*error) *error = tn_host_client_create(p, a.client.options, a.client.n_options, &c);
    if (!*error) *error = run(p, c, &a);
    tn_host_client_destroy(c);
    tn_plugin_close(p);
    return 0;
}
