/* SPDX-License-Identifier: Apache-2.0 */
/* isa_test.h - runs a test program's body once for each instruction set.
 *
 *     static int run(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
 *     int main(void) { return run_for_each_isa(run); }
 *
 * A process looks once at its CPU and its options, so each set gets a child that has not looked
 * yet. The child goes on without starting the program again: under an emulator that is not known
 * to the kernel there is nothing to start it with. With TN_ISA set the body runs once, in place. */
#ifndef TN_BASE_ISA_TEST_H
#define TN_BASE_ISA_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu_features.h"

/* In the child: a set that the machine lacks is no failure. */
static int run_with_isa(const char *name, int (*run)(void))
{
    setenv("TN_ISA", name, 1);
    tn_isa isa = tn_cpu_isa();
    if (strcmp(tn_isa_name(isa), name) || !tn_cpu_has(isa)) return 0;
#ifdef __aarch64__
    if (isa == TN_ISA_BASELINE) return 0; /* is NEON */
#endif
    fprintf(stderr, "TN_ISA=%s\n", name);
    return run() != 0;
}

/* 0: the body gave 0 for every set of this machine. Nothing may have asked for options or for the
 * CPU's features before, and no other thread may run. */
static int run_for_each_isa(int (*run)(void))
{
    static const char *const names[] = {
#define X(NAME, name) name,
        TN_ISAS(X)
#undef X
    };
    if (getenv("TN_ISA")) return run() != 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (child < 0) return perror("fork"), 1;
        if (!child) {
            int failed = run_with_isa(names[i], run);
            exit(failed); /* not _exit: leaks are looked for at the end */
        }
        int status = 1;
        if (waitpid(child, &status, 0) < 0 || status)
            return fprintf(stderr, "failed with TN_ISA=%s\n", names[i]), 1;
    }
    return 0;
}

#endif
