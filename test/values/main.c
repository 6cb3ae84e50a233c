/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-values [--seed S] [--programs N] [--seconds N] [--show] [--keep] [--tell] [--forms]
 * fuzz-values --program FILE... [--seed S]
 * fuzz-values --xla PLUGIN [--seed S] [--programs N] [--seconds N] [--forms]
 *
 * Compares ways to the values of random programs (see check.h): seeds S, S + 1, ... until N
 * programs or seconds are over. A program that differs is shrunk and printed, with the seed of its
 * arguments; --keep goes on after it. --show prints the program of seed S; --program checks
 * those of files; --tell prints what is refused and why; --forms, which ops were built. Exit status
 * 1: something differs.
 *
 * --xla holds each op against another plugin (xla.h) in place of that, tells what differs and goes
 * on; it is not shrunk, since the op is printed alone. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/values/check.h"
#include "test/values/generate.h"
#include "test/values/xla.h"

enum { BATCH = 500, XLA_BATCH = 50 };
static const char *xla; /* the path of the other plugin, or NULL */

static FILE *told; /* where what is refused or differs is told at once; NULL: nowhere */

/* What a child process tells while it works, so that a crash names its program. */
typedef struct {
    uint64_t seed, same, refused, differ, built[TN_OP_COUNT], refusals[TN_OP_COUNT];
    values_verdict verdict;
    values_xla_counts xla[TN_OP_COUNT];
} progress;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Runs seeds from p->seed on in a child; false: seed p->seed fails. */
static bool run_batch(progress *p, uint64_t end, double deadline)
{
    pid_t child = fork();
    if (child < 0) abort();
    if (!child) {
        tn_status *opened = xla ? values_xla_open(xla) : NULL;
        if (opened) {
            fprintf(stderr, "%s: %s\n", xla, tn_status_message(opened));
            _exit(3);
        }
        for (; p->seed < end && now() < deadline; p->seed++) {
            values_source s = {.seed = p->seed};
            alarm(60);
            p->verdict = xla ? values_xla_check(&s, stdout) : values_check(&s, told);
            if (xla && p->verdict == VALUES_DIFFER) {
                printf("seed %" PRIu64 "\n", p->seed);
                p->differ++;
                continue;
            }
            if (p->verdict == VALUES_SAME) p->same++;
            else if (p->verdict == VALUES_REFUSED) p->refused++;
            else break;
        }
        for (int i = 0; i < TN_OP_COUNT; i++) {
            p->built[i] += values_built[i];
            p->refusals[i] += values_refused[i];
            p->xla[i].compared += values_xla_ops[i].compared;
            p->xla[i].excluded += values_xla_ops[i].excluded;
            p->xla[i].wild += values_xla_ops[i].wild;
            p->xla[i].refused += values_xla_ops[i].refused;
            p->xla[i].differ += values_xla_ops[i].differ;
        }
        fflush(stdout);
        _exit(!xla && p->verdict >= VALUES_DIFFER);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void tell(uint64_t seed)
{
    values_source s = {.seed = seed};
    printf("seed %" PRIu64 ":\n", seed);
    values_verdict v = values_check_apart(&s, stdout);
    size_t size;
    char *text = values_shrink(&s, v, &size);
    if (!text) return;
    values_source smaller = {seed, text, size};
    printf("after shrinking:\n");
    values_check_apart(&smaller, stdout);
    fflush(stdout);
    printf("%s\n", text);
    fflush(stdout);
    free(text);
}

static void tell_xla(const progress *p, bool forms)
{
    values_xla_counts sum = {0};
    for (int i = 1; i < TN_OP_COUNT; i++) {
        const values_xla_counts *c = &p->xla[i];
        sum.compared += c->compared;
        sum.excluded += c->excluded;
        sum.wild += c->wild;
        sum.refused += c->refused;
        sum.differ += c->differ;
        if (forms && (c->compared || c->excluded || c->wild || c->refused || c->differ))
            printf("%-36s compared %6" PRIu64 ", excluded %6" PRIu64
                   ", nothing to compare %6" PRIu64 ", refused %5" PRIu64 ", differ %4" PRIu64 "\n",
                   tn_op_infos[i].text, c->compared, c->excluded, c->wild, c->refused, c->differ);
    }
    printf("%" PRIu64 " ops compared, %" PRIu64 " excluded by a rule, %" PRIu64
           " with nothing to compare, %" PRIu64 " refused by the plugin, %" PRIu64 " differ\n",
           sum.compared, sum.excluded, sum.wild, sum.refused, sum.differ);
}

static int check_file(const char *path, uint64_t seed)
{
    static char text[1 << 20];
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 2;
    }
    values_source s = {seed, text, fread(text, 1, sizeof text, f)};
    fclose(f);
    values_verdict v = values_check_apart(&s, stdout);
    printf("%s: %s\n", path, v == VALUES_SAME ? "no difference" : "a difference");
    return v != VALUES_SAME;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, programs = UINT64_MAX, failures = 0;
    double seconds = 10;
    bool show = false, keep = false, forms = false;
    const char *files[256];
    int n_files = 0;
    for (int i = 1; i < argc; i++) {
        bool value = i + 1 < argc;
        if (value && !strcmp(argv[i], "--seed")) seed = strtoull(argv[++i], NULL, 0);
        else if (value && !strcmp(argv[i], "--programs")) programs = strtoull(argv[++i], NULL, 0);
        else if (value && !strcmp(argv[i], "--seconds")) seconds = atof(argv[++i]);
        else if (!strcmp(argv[i], "--program")) {
            while (i + 1 < argc && argv[i + 1][0] != '-' && n_files < 256)
                files[n_files++] = argv[++i];
        } else if (value && !strcmp(argv[i], "--xla")) xla = argv[++i];
        else if (!strcmp(argv[i], "--show")) show = true;
        else if (!strcmp(argv[i], "--keep")) keep = true;
        else if (!strcmp(argv[i], "--tell")) told = stdout;
        else if (!strcmp(argv[i], "--forms")) forms = true;
        else {
            fprintf(stderr, "unknown argument %s; see the head of test/values/main.c\n", argv[i]);
            return 2;
        }
    }
    values_no_subnormals = xla != NULL;
    if (xla) setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    int wrong = 0;
    for (int i = 0; i < n_files; i++) wrong |= check_file(files[i], seed);
    if (n_files) return wrong;
    if (show) {
        size_t size;
        values_source s = {.seed = seed};
        char *text = values_text(&s, &size);
        if (text) puts(text);
        free(text);
        return !text;
    }
    if (programs != UINT64_MAX) seconds = 1e9;
    progress *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return 2;
    uint64_t end = programs == UINT64_MAX ? UINT64_MAX : seed + programs;
    double deadline = now() + seconds;
    uint64_t first = seed;
    p->seed = seed;
    while (p->seed < end && now() < deadline) {
        uint64_t batch = xla ? XLA_BATCH : BATCH;
        uint64_t until = end - p->seed < batch ? end : p->seed + batch;
        if (run_batch(p, until, deadline)) {
            if (xla) printf("up to seed %" PRIu64 ", %" PRIu64 " same\n", p->seed, p->same);
            continue;
        }
        failures++;
        if (xla) {
            printf("seed %" PRIu64 ": the process ended\n", p->seed++);
            continue;
        }
        tell(p->seed++);
        if (!keep) break;
    }
    failures += p->differ;
    if (xla) tell_xla(p, forms);
    else if (forms)
        for (int i = 1; i < TN_OP_COUNT; i++)
            printf("%-36s built %8" PRIu64 ", refused by inference %8" PRIu64 "\n",
                   tn_op_infos[i].text, p->built[i], p->refusals[i]);
    printf("seeds %" PRIu64 " to %" PRIu64 ": %" PRIu64 " programs without a difference, %" PRIu64
           " refused, %" PRIu64 " that differ or fail\n",
           first, p->seed, p->same, p->refused, failures);
    return failures > 0;
}
