/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/cli.h"
#include "tenon/slices.h"

const char tn_cli_ops_help[] = "usage: tenon ops PLUGIN MODULE [--all] [--option name=value ...]\n"
                               "Asks the plugin to compile each op of MODULE (MLIR bytecode) by "
                               "itself, and the whole, and prints the forms of ops that it\n"
                               "refuses: how often they occur, the line of the first one, and the "
                               "plugin's words. --all prints the others too.\n"
                               "Exit code: 0 nothing is missing, 1 something is.\n";

/* The first line of a plugin's message. */
static void print_reason(const tn_status *s)
{
    const char *text = tn_status_message(s);
    printf("    %s: %.*s\n", tn_code_name(tn_status_code(s)), (int)strcspn(text, "\n"), text);
}

static bool compiles(tn_host_client *c, const void *code, size_t size, tn_status **why)
{
    tn_host_executable *e;
    *why = tn_host_executable_compile(c, code, size, "mlir", 1, 1, &e);
    if (*why) return false;
    tn_host_executable_free(e);
    return true;
}

static size_t ask(tn_host_client *c, const tn_slices *slices, bool all)
{
    size_t missing = 0;
    for (size_t i = 0; i < tn_slices_count(slices); i++) {
        const tn_slice *s = tn_slices_get(slices, i);
        tn_status *why = NULL;
        if (!s->code) {
            if (all) printf("not asked %s %s\n", s->op, s->form);
            continue;
        }
        bool ok = compiles(c, s->code, s->size, &why);
        if (!ok || all)
            printf("%s %s %s, %u time%s%s%s\n", ok ? "ok " : "missing", s->op, s->form, s->count,
                   s->count == 1 ? "" : "s", *s->location ? ", first at " : "", s->location);
        if (!ok) print_reason(why);
        tn_status_free(why);
        missing += !ok;
    }
    return missing;
}

static tn_status *run(tn_host_client *c, const char *path, bool all, int *code)
{
    void *data;
    size_t size;
    TN_TRY(tn_read_file(path, &data, &size));
    tn_slices *slices;
    tn_status *s = tn_slices_make(data, size, &slices);
    if (s) {
        free(data);
        return tn_status_annotate(s, "%s", path);
    }
    size_t missing = ask(c, slices, all);
    tn_status *why;
    bool whole = compiles(c, data, size, &why);
    printf("%zu of %zu forms of ops are missing; the whole program %s\n", missing,
           tn_slices_count(slices), whole ? "compiles" : "does not compile");
    if (!whole) print_reason(why);
    tn_status_free(why);
    *code = missing || !whole;
    tn_slices_free(slices);
    free(data);
    return NULL;
}

int tn_cli_ops(int argc, char **argv, tn_status **error)
{
    tn_cli_client options = {0};
    const char *module = NULL;
    bool all = false;
    for (int i = 1; i < argc; i++) {
        if (tn_cli_take_option(&options, argc, argv, &i)) continue;
        if (!strcmp(argv[i], "--all")) all = true;
        else if (argv[i][0] != '-' && !module) module = argv[i];
        else
            *error =
                TN_ERROR(INVALID_ARGUMENT, "'%s' is not understood; see tenon ops --help", argv[i]);
        if (*error) return 2;
    }
    if (!module) *error = TN_ERROR(INVALID_ARGUMENT, "which MODULE? see tenon ops --help");
    if (*error) return 2;
    tn_plugin *p = NULL;
    tn_host_client *c = NULL;
    int code = 1;
    *error = tn_plugin_open(argv[0], &p);
    if (!*error) *error = tn_host_client_create(p, options.options, options.n_options, &c);
    if (!*error) *error = run(c, module, all, &code);
    tn_host_client_destroy(c);
    tn_plugin_close(p);
    return code;
}
