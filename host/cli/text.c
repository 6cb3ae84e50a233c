/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "host/cli/cli.h"
#include "tenon/program.h"

const char tn_cli_text_help[] = "usage: tenon text MODULE\n"
                                "Prints MODULE (StableHLO bytecode or text) as MLIR text.\n";

int tn_cli_text(int argc, char **argv, tn_status **error)
{
    void *code = NULL;
    size_t size;
    char *text = NULL;
    if (argc > 1)
        *error =
            TN_ERROR(INVALID_ARGUMENT, "'%s' is not understood; see tenon text --help", argv[1]);
    if (!*error) *error = tn_read_file(argv[0], &code, &size);
    if (!*error) *error = tn_program_text(code, size, &text);
    if (!*error) fputs(text, stdout);
    free(text);
    free(code);
    return 0;
}
