/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz TARGET [--seed S] [--seconds N] [--iterations N] [--only I] [--save FILE] FILE...
 *
 * Gives mutated bytes to a reader of foreign bytes (see targets.c), which must answer with success
 * or a status. The mutation of iteration i is a function of the seed, i and the files alone, so
 * --seed S --only I repeats it; --save writes it to a file. Ends with exit status 1 when an
 * iteration takes over a second or gives an error of a wrong kind or without a message; crashes and
 * leaks are the sanitizers' to find. With TN_LIBFUZZER it is the libFuzzer target `read` instead.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test/fuzz/mutate.h"
#include "test/fuzz/targets.h"

static const target *chosen = &targets[0];

/* False when something is wrong that a sanitizer does not see. */
static bool run_one(const uint8_t *data, size_t size, bool *good)
{
    *good = false;
    tn_status *s = chosen->run(data, size, good);
    if (!s) return true;
    tn_code code = tn_status_code(s);
    /* What was accepted may still run out of the memory that it asks for, or fail as the program
     * says. */
    bool ok = *tn_status_message(s) &&
              (*good || code == TN_INVALID_ARGUMENT || code == TN_UNIMPLEMENTED ||
               code == TN_NOT_FOUND || code == TN_RESOURCE_EXHAUSTED);
    ok = ok && code != TN_INTERNAL;
    if (!ok)
        fprintf(stderr, "error %s \"%s\" for %zu bytes\n", tn_code_name(code), tn_status_message(s),
                size);
    tn_status_free(s);
    return ok;
}

#ifdef TN_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool good;
    if (!run_one(data, size, &good)) abort();
    return 0;
}

#else

/* --- running --- */

static uint64_t seed = 1, iteration;

static void tell(void)
{
    char text[128];
    int n = snprintf(text, sizeof text, "fuzz: --seed %" PRIu64 " --only %" PRIu64 "\n", seed,
                     iteration);
    if (write(STDERR_FILENO, text, (size_t)n) < 0) return;
}

static void hang(int signal)
{
    tell();
    _exit(1);
}

extern void __sanitizer_set_death_callback(void (*f)(void)) __attribute__((weak));

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    double seconds = 5;
    uint64_t most = UINT64_MAX, good = 0;
    const char *save = NULL;
    bool only = false, failed = false;
    for (const target *t = targets; argc > 1 && t->name; t++)
        if (!strcmp(t->name, argv[1])) chosen = t;
    for (int i = 2; i < argc; i++) {
        bool value = i + 1 < argc;
        if (value && !strcmp(argv[i], "--seed")) seed = strtoull(argv[++i], NULL, 0);
        else if (value && !strcmp(argv[i], "--seconds")) seconds = atof(argv[++i]);
        else if (value && !strcmp(argv[i], "--iterations")) most = strtoull(argv[++i], NULL, 0);
        else if (value && !strcmp(argv[i], "--save")) save = argv[++i];
        else if (value && !strcmp(argv[i], "--only")) {
            iteration = strtoull(argv[++i], NULL, 0);
            only = true;
        } else add_file(argv[i]);
    }
    if (chosen->prepare) chosen->prepare();
    if (!n_corpus) {
        fprintf(stderr, "no files\n");
        return 2;
    }
    if (most != UINT64_MAX) seconds = 1e9;
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(tell);
    signal(SIGALRM, hang);
    double start = now(), slowest = 0;
    uint64_t first = iteration;
    for (; iteration - first < most && now() - start < seconds && !failed; iteration++) {
        make(seed, iteration);
        if (save) {
            FILE *f = fopen(save, "wb");
            if (f) {
                fwrite(work, 1, n_work, f);
                fclose(f);
            }
        }
        /* A copy of its own size, so that a sanitizer sees a step beyond its end. */
        uint8_t *copy = malloc(n_work ? n_work : 1);
        memcpy(copy, work, n_work);
        alarm(20);
        bool is_good;
        double before = now();
        failed = !run_one(copy, n_work, &is_good);
        double taken = now() - before;
        alarm(0);
        free(copy);
        good += is_good;
        if (taken > slowest) slowest = taken;
        if (taken > 1) {
            fprintf(stderr, "%.1f s for %zu bytes\n", taken, n_work);
            failed = true;
        }
        if (failed) tell();
        if (only) break;
    }
    printf("%" PRIu64 " inputs, %" PRIu64 " of them good, slowest %.1f ms\n", iteration - first,
           good, slowest * 1e3);
    for (size_t i = 0; i < n_corpus; i++) free(corpus[i].data);
    free(corpus);
    return failed;
}

#endif
