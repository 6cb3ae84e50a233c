/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h - the `tenon` command: one file a subcommand. */
#ifndef TN_HOST_CLI_CLI_H
#define TN_HOST_CLI_CLI_H

#include "tenon/host.h"

/* Options that every subcommand takes: --option name=value goes to the client. */
typedef struct {
    const char *options[32];
    size_t n_options;
} tn_cli_client;

/* Takes "--option X" at argv[*i] if it stands there. */
bool tn_cli_take_option(tn_cli_client *c, int argc, char **argv, int *i);

/* A subcommand prints to stdout and returns its exit code; an error that it could not handle goes
 * to *error. */
typedef int tn_cli_command(int argc, char **argv, tn_status **error);
tn_cli_command tn_cli_bench, tn_cli_diff, tn_cli_text, tn_cli_info, tn_cli_ops, tn_cli_replay,
    tn_cli_run, tn_cli_try;

extern const char tn_cli_bench_help[], tn_cli_diff_help[], tn_cli_text_help[];
extern const char tn_cli_info_help[], tn_cli_ops_help[], tn_cli_replay_help[], tn_cli_run_help[];
extern const char tn_cli_try_help[];

/* "Layouts"; unknown: "?" */
const char *tn_cli_extension_name(PJRT_Extension_Type type);
tn_status *tn_cli_info_json(tn_plugin *p, const tn_cli_client *options) TN_MUST_USE;

/* The inputs of a program: files as in `tenon run`, or, without any, arrays made up from a seed.
 * Ended with tn_cli_free_inputs. */
tn_status *tn_cli_inputs(const char *const *files, size_t n_files, const void *code, size_t size,
                         unsigned seed, tn_array **out, size_t *n) TN_MUST_USE;
void tn_cli_free_inputs(tn_array *at, size_t n); /* NULL is fine */

#endif
