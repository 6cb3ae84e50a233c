/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/cli.h"

const char tn_cli_try_help[] =
    "usage: tenon try PLUGIN FILE [--option name=value ...]\n"
    "Compiles and runs the programs of FILE, MLIR text behind one line for each program:\n"
    "  // ----- NAME | TYPE:DIMxDIM[=INTEGER,...] ...\n"
    "with an input for each word behind the bar, zeros or the integers. Prints \"NAME ok\" or\n"
    "\"NAME CODE: message\" for each. Exit code: 0 all were asked, 1 FILE or PLUGIN can't be "
    "used.\n";

enum { INPUTS = 16 };

static void fill(tn_array *a, const char *values)
{
    size_t width = tn_element_size(a->type);
    char *end;
    for (size_t at = 0; *values && at + width <= a->size; at += width) {
        long long v = strtoll(values, &end, 10);
        memcpy((char *)a->data + at, &v, width < sizeof v ? width : sizeof v);
        values = *end == ',' ? end + 1 : end;
    }
}

/* "f32:4x3=1,2" */
static tn_status *make_input(char *word, tn_array *out)
{
    int64_t dims[64];
    size_t rank = 0;
    char *values = strchr(word, '='), *shape = strchr(word, ':');
    if (values) *values++ = 0;
    if (!shape) return TN_ERROR(INVALID_ARGUMENT, "input '%s' should be TYPE:DIMxDIM", word);
    *shape++ = 0;
    for (char *end; *shape && rank < 64; shape = *end == 'x' ? end + 1 : end) {
        dims[rank++] = strtoll(shape, &end, 10);
        if (end == shape) return TN_ERROR(INVALID_ARGUMENT, "'%s' is no size", shape);
    }
    TN_TRY(tn_array_make(tn_element_from_name(word), rank, dims, out));
    if (values) fill(out, values);
    return NULL;
}

static tn_status *make_inputs(char *words, tn_array *in, size_t *n)
{
    char *rest;
    for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        if (*n == INPUTS) return TN_ERROR(INVALID_ARGUMENT, "more than %d inputs", INPUTS);
        TN_TRY(make_input(w, &in[*n]));
        ++*n;
    }
    return NULL;
}

static tn_status *try_program(tn_host_client *c, const char *code, size_t size, const tn_array *in,
                              size_t n)
{
    tn_host_executable *e;
    TN_TRY(tn_host_executable_compile(c, code, size, "mlir", 1, 1, &e));
    size_t n_out = tn_host_executable_output_count(e);
    tn_array *out = calloc(n_out + 1, sizeof *out);
    tn_status *s = out ? tn_host_executable_run(e, in, n, out, NULL)
                       : TN_ERROR(RESOURCE_EXHAUSTED, "no memory for outputs");
    for (size_t i = 0; out && i < n_out; i++) tn_array_free(&out[i]);
    free(out);
    tn_host_executable_free(e);
    return s;
}

/* One program, from behind the mark; its lines end at `end`. */
static void try_one(tn_host_client *c, char *at, char *end)
{
    tn_array in[INPUTS] = {0};
    size_t n = 0;
    char *line_end = memchr(at, '\n', (size_t)(end - at));
    if (!line_end) return;
    *line_end = 0;
    char *bar = strstr(at, " | ");
    if (bar) *bar = 0;
    tn_status *s = bar ? make_inputs(bar + 3, in, &n) : NULL;
    if (!s) s = try_program(c, line_end + 1, (size_t)(end - line_end - 1), in, n);
    const char *text = tn_status_message(s);
    if (!s) printf("%s ok\n", at);
    else
        printf("%s %s: %.*s\n", at, tn_code_name(tn_status_code(s)), (int)strcspn(text, "\n"),
               text);
    fflush(stdout);
    tn_status_free(s);
    for (size_t i = 0; i < n; i++) tn_array_free(&in[i]);
}

static tn_status *try_all(tn_host_client *c, const char *path)
{
    static const char mark[] = "// ----- ";
    void *data;
    size_t size;
    TN_TRY(tn_read_file(path, &data, &size));
    char *text = realloc(data, size + 1);
    if (!text) {
        free(data);
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %s", path);
    }
    text[size] = 0;
    for (char *at = strstr(text, mark), *next; at; at = next) {
        at += sizeof mark - 1;
        next = strstr(at, mark);
        try_one(c, at, next ? next : text + size);
    }
    free(text);
    return NULL;
}

int tn_cli_try(int argc, char **argv, tn_status **error)
{
    tn_cli_client options = {0};
    const char *file = NULL;
    for (int i = 1; i < argc; i++) {
        if (tn_cli_take_option(&options, argc, argv, &i)) continue;
        if (argv[i][0] != '-' && !file) file = argv[i];
        else
            *error =
                TN_ERROR(INVALID_ARGUMENT, "'%s' is not understood; see tenon try --help", argv[i]);
        if (*error) return 1;
    }
    if (!file) *error = TN_ERROR(INVALID_ARGUMENT, "which FILE? see tenon try --help");
    if (*error) return 1;
    tn_plugin *p = NULL;
    tn_host_client *c = NULL;
    *error = tn_plugin_open(argv[0], &p);
    if (!*error) *error = tn_host_client_create(p, options.options, options.n_options, &c);
    if (!*error) *error = try_all(c, file);
    tn_host_client_destroy(c);
    tn_plugin_close(p);
    return *error != NULL;
}
