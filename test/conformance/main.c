/* SPDX-License-Identifier: Apache-2.0 */
/* behaviours PLUGIN DATA [--option name=value]... [--sim] [--only N] - runs every check, prints
 * TAP. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/conformance/behaviour.h"

#define TIMEOUT_S 60
enum { PASSED = 0, FAILED = 1, SKIPPED = 77 };

static const behaviour *const chapters[] = {handshake_behaviours, event_behaviours,
                                            buffer_behaviours,    compile_behaviours,
                                            execute_behaviours,   client_behaviours};
#define CHAPTERS (sizeof chapters / sizeof *chapters)

static int report = -1; /* where a child says why */

_Noreturn void fail(const char *file, int line, const char *fmt, ...)
{
    char text[600];
    int n = snprintf(text, sizeof text, "%s:%d: ", file, line);
    va_list args;
    va_start(args, fmt);
    n += vsnprintf(text + n, sizeof text - (size_t)n, fmt, args);
    va_end(args);
    if (write(report, text, strlen(text)) < 0) _exit(FAILED);
    _exit(FAILED);
}

_Noreturn void skip(const char *reason)
{
    if (write(report, reason, strlen(reason)) < 0) _exit(FAILED);
    _exit(SKIPPED);
}

static void set_up(context *c, const char *path, const char *const *options, size_t n)
{
    check_ok(c, __FILE__, __LINE__, tn_plugin_open(path, &c->plugin));
    c->api = tn_plugin_api(c->plugin);
    check_ok(c, __FILE__, __LINE__, tn_host_client_create(c->plugin, options, n, &c->host));
    c->client = tn_host_client_handle(c->host);
    CHECK(tn_host_client_device_count(c->host) >= 2);
    c->device = tn_host_client_device(c->host, 0);
    c->second = tn_host_client_device(c->host, 1);
    ARGS(Device_DefaultMemory, memory, .device = c->device);
    OK(Device_DefaultMemory, &memory);
    c->memory = memory.memory;
}

/* Runs one check in a child; gives its exit code and why. */
static int run(const behaviour *b, context *c, const char *path, const char *const *options,
               size_t n, char *why, size_t why_size)
{
    int ends[2];
    if (pipe(ends)) return FAILED;
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        close(ends[0]);
        report = ends[1];
        alarm(TIMEOUT_S);
        set_up(c, path, options, n);
        b->run(c);
        tn_host_client_destroy(c->host);
        _exit(PASSED);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], why, why_size - 1);
    why[got > 0 ? got : 0] = 0;
    close(ends[0]);
    int status;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status)) {
        snprintf(why, why_size,
                 WTERMSIG(status) == SIGALRM ? "no end within %d s" : "died of signal %d",
                 WTERMSIG(status) == SIGALRM ? TIMEOUT_S : WTERMSIG(status));
        return FAILED;
    }
    return WEXITSTATUS(status);
}

/* The table of docs/behaviours.md. */
static int list(void)
{
    for (size_t ch = 0; ch < CHAPTERS; ch++)
        for (const behaviour *b = chapters[ch]; b->run; b++)
            printf("| %d | %s |\n", b->number, b->rule);
    return 0;
}

int main(int argc, char **argv)
{
    const char *options[16] = {"cpu_device_count=2"};
    size_t n = 1;
    int only = 0;
    context c = {0};
    if (argc == 2 && !strcmp(argv[1], "--list")) return list();
    if (argc < 3)
        return fprintf(stderr,
                       "usage: behaviours PLUGIN DATA [--option name=value] [--sim] [--only N]\n"),
               2;
    c.data = argv[2];
    for (int i = 3; i < argc; i++) {
        if (!strcmp(argv[i], "--sim")) c.is_sim = true;
        else if (!strcmp(argv[i], "--only") && i + 1 < argc) only = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--option") && i + 1 < argc && n < 16) options[n++] = argv[++i];
    }
    int failed = 0, k = 0;
    for (size_t ch = 0; ch < CHAPTERS; ch++) {
        for (const behaviour *b = chapters[ch]; b->run; b++) {
            if (only && b->number != only) continue;
            char why[600];
            int code = run(b, &c, argv[1], options, n, why, sizeof why);
            for (char *p = why; *p; p++)
                if (*p == '\n') *p = ' ';
            printf("%s %d - %d: %s%s%s\n", code == PASSED || code == SKIPPED ? "ok" : "not ok", ++k,
                   b->number, b->rule, code == SKIPPED ? " # SKIP " : "",
                   code == SKIPPED ? why : "");
            if (code != PASSED && code != SKIPPED) printf("# %s\n", why);
            failed += code != PASSED && code != SKIPPED;
        }
    }
    printf("1..%d\n", k);
    return failed != 0;
}
