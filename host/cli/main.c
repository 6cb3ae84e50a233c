/* SPDX-License-Identifier: Apache-2.0 */
/* tenon - look at and use any PJRT plugin from the shell. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/cli/cli.h"

static const struct {
    const char *name, *line, *help;
    tn_cli_command *run;
} commands[] = {
    {"bench", "times what a program costs on a plugin", tn_cli_bench_help, tn_cli_bench},
    {"check", "runs the conformance suite on a plugin", NULL, NULL},
    {"diff", "runs one program on two plugins and compares", tn_cli_diff_help, tn_cli_diff},
    {"info", "what a plugin is: version, attributes, extensions, devices, memories",
     tn_cli_info_help, tn_cli_info},
    {"ops", "which ops of a program a plugin lacks, with their source lines", tn_cli_ops_help,
     tn_cli_ops},
    {"replay", "runs a recorded session on a plugin, compares, cuts it down", tn_cli_replay_help,
     tn_cli_replay},
    {"text", "prints a program as MLIR text", tn_cli_text_help, tn_cli_text},
    {"run", "compiles a program on a plugin and runs it on npy files", tn_cli_run_help, tn_cli_run},
    {"try", "which programs of a file a plugin compiles and runs", tn_cli_try_help, tn_cli_try},
};

#define COUNT (sizeof commands / sizeof *commands)

bool tn_cli_take_option(tn_cli_client *c, int argc, char **argv, int *i)
{
    if (strcmp(argv[*i], "--option") || *i + 1 >= argc || c->n_options == 32) return false;
    c->options[c->n_options++] = argv[++*i];
    return true;
}

static int usage(FILE *to)
{
    fputs("usage: tenon COMMAND PLUGIN [...]\n\n", to);
    for (size_t i = 0; i < COUNT; i++)
        fprintf(to, "  %-6s %s\n", commands[i].name, commands[i].line);
    fputs("\n'tenon COMMAND --help' tells more. PLUGIN is the path of a shared library that "
          "exports GetPjrtApi.\n",
          to);
    return to == stdout ? 0 : 2;
}

/* A command that is a program of its own, beside this one as installed or as built. */
static int run_program(const char *name, char **argv)
{
    static const char *const places[] = {"", "/../conformance"};
    char self[4096], path[4200], program[64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash) *slash = 0;
    snprintf(program, sizeof program, "tenon-%s", name);
    argv[1] = program;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s%s/%s", self, places[i], program);
        execv(path, argv + 1);
    }
    fprintf(stderr, "tenon: %s is not beside this program\n", program);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc < 2) return usage(stderr);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) return usage(stdout);
    if (!strcmp(argv[1], "--version")) return puts("tenon " TN_VERSION) < 0;
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(argv[1], commands[i].name)) continue;
        if (!commands[i].run) return run_program(argv[1], argv);
        if (argc < 3 || !strcmp(argv[2], "--help")) {
            fputs(commands[i].help, argc < 3 ? stderr : stdout);
            return argc < 3 ? 2 : 0;
        }
        tn_status *error = NULL;
        int code = commands[i].run(argc - 2, argv + 2, &error);
        if (!error) return code;
        fprintf(stderr, "tenon %s: %s: %s\n", argv[1], tn_code_name(tn_status_code(error)),
                tn_status_message(error));
        tn_status_free(error);
        return 1;
    }
    fprintf(stderr, "tenon: there is no command '%s'\n", argv[1]);
    return usage(stderr);
}
