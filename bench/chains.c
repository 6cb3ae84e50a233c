/* SPDX-License-Identifier: Apache-2.0 */
/* chains PLUGIN [NAME] - how compile time grows with the size of a program: the programs of
 * test/executable/growing_programs.h, or one of them, at 200 to 100,000 ops. CPU time of the whole
 * process, the least of a few, and its share for each op. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../test/executable/growing_programs.h"
#include "tenon/host.h"

enum { REPEATS = 3 };

static void check(tn_status *s)
{
    if (!s) return;
    fprintf(stderr, "chains: %s\n", tn_status_message(s));
    exit(1);
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int main(int argc, char **argv)
{
    static const int sizes[] = {200, 2000, 20000, 100000};
    if (argc < 2) return fprintf(stderr, "usage: chains PLUGIN [NAME]\n"), 2;
    tn_plugin *plugin;
    tn_host_client *client;
    check(tn_plugin_open(argv[1], &plugin));
    check(tn_host_client_create(plugin, NULL, 0, &client));
    printf("%-12s %8s %12s %10s\n", "chain", "ops", "CPU ms", "us an op");
    for (size_t k = 0; k < GROWING_PROGRAMS; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const char *name = growing_programs[k].name;
            if (argc > 2 && strcmp(argv[2], name)) continue;
            growing_text t = {0};
            growing_programs[k].make(&t, sizes[s]);
            double least = 1e30;
            for (int r = 0; r < (sizes[s] > 20000 ? 1 : REPEATS); r++) {
                tn_host_executable *program;
                double start = cpu_ms();
                check(tn_host_executable_compile(client, t.text, t.size, "mlir", 1, 1, &program));
                double took = cpu_ms() - start;
                tn_host_executable_free(program);
                if (took < least) least = took;
            }
            fflush(stdout);
            printf("%-12s %8d %12.3f %10.3f\n", name, sizes[s], least, 1e3 * least / sizes[s]);
            free(t.text);
        }
    tn_host_client_destroy(client);
    tn_plugin_close(plugin);
    return 0;
}
