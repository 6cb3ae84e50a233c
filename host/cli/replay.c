/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/cli/cli.h"
#include "host/replay.h"

const char tn_cli_replay_help[] =
    "usage: tenon replay PLUGIN SESSION [--tolerance T] [--verbose] [--list] [--cut OUT]\n"
    "Runs a session that the record layer wrote on a plugin, without the client, and compares what "
    "comes out with what was recorded.\n\n"
    "  --tolerance T  floats may differ by T + T * |recorded|; default 0: bit for bit\n"
    "  --verbose      a line for every call that gives an error or differs\n"
    "  --list         prints the calls of the session, and runs nothing\n"
    "  --cut OUT      the session fails (an error, a difference, a dead process): writes to OUT "
    "the "
    "calls that it takes to fail in the same way\n"
    "Exit code: 0 the same came out, 1 something else, 2 it could not be run.\n";

static void list(const tn_session *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const tn_session_call *c = &s->calls[i];
        printf("#%zu %s", i, tn_session_kind_name(c->kind));
        if (c->subject) printf(" of %llu", (unsigned long long)c->subject);
        if (c->made) printf(" makes %llu", (unsigned long long)c->made);
        if (c->kind == TN_SESSION_PUT || c->kind == TN_SESSION_GET) {
            printf(" %s[", tn_element_name((PJRT_Buffer_Type)c->b));
            for (size_t k = 0; k < c->n_numbers; k++)
                printf("%s%lld", k ? "," : "", (long long)c->numbers[k]);
            printf("]");
        }
        if (c->kind == TN_SESSION_RUN) {
            printf(" on %lld device(s) with (", (long long)c->a);
            for (size_t k = 0; k < c->n_ids; k++)
                printf("%s%llu",
                       k == (size_t)(c->a * c->b) ? ") -> ("
                       : k                        ? ", "
                                                  : "",
                       (unsigned long long)c->ids[k]);
            printf(")");
        }
        if (c->kind == TN_SESSION_COMPILE)
            printf(" from %zu bytes of %.*s", c->data.size, (int)c->text.size,
                   c->text.at ? (char *)c->text.at : "");
        printf(c->code ? ": %s\n" : "\n", tn_code_name((tn_code)c->code));
    }
}

/* --- cutting down --- */

typedef struct {
    const char *plugin;
    const tn_session *session;
    tn_replay_options options;
    char want[64]; /* the signature that must stay */
    size_t trials;
} cutting;

/* How a replay of the kept calls fails, in a process of its own; "" if it does not. */
static void try_calls(cutting *t, const bool *keep, char signature[64], size_t *first)
{
    int ends[2];
    signature[0] = 0;
    t->trials++;
    if (pipe(ends)) return;
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        tn_plugin *p;
        tn_replay_result result;
        tn_replay_options options = t->options;
        options.keep = keep;
        options.verbose = false;
        alarm(120);
        if (!freopen("/dev/null", "w", stderr)) _exit(3);
        tn_status *s = tn_plugin_open(t->plugin, &p);
        if (!s) s = tn_replay(p, t->session, &options, &result);
        if (s || write(ends[1], &result, sizeof result) != sizeof result) _exit(3);
        _exit(0);
    }
    close(ends[1]);
    static tn_replay_result result;
    ssize_t got = read(ends[0], &result, sizeof result);
    close(ends[0]);
    int status;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status)) snprintf(signature, 64, "signal %d", WTERMSIG(status));
    else if (got == sizeof result && result.first != SIZE_MAX) {
        snprintf(signature, 64, "%s", result.signature);
        if (first) *first = result.first;
    }
}

static bool fails_still(cutting *t, const bool *keep)
{
    char signature[64];
    try_calls(t, keep, signature, NULL);
    return !strcmp(signature, t->want);
}

/* Marks call i and all that make what it uses. */
static void mark(const tn_session *s, size_t i, bool *keep)
{
    if (keep[i]) return;
    keep[i] = true;
    const tn_session_call *c = &s->calls[i];
    for (size_t k = 0; k < i; k++) {
        const tn_session_call *m = &s->calls[k];
        bool used = m->made && m->made == c->subject;
        size_t in = c->kind == TN_SESSION_RUN ? (size_t)(c->a * c->b) : 0;
        for (size_t x = 0; x < in; x++) {
            used |= m->made && m->made == c->ids[x];
            if (m->kind == TN_SESSION_RUN)
                for (size_t y = (size_t)(m->a * m->b); y < m->n_ids; y++)
                    used |= m->ids[y] == c->ids[x];
        }
        if (m->kind == TN_SESSION_RUN)
            for (size_t y = (size_t)(m->a * m->b); y < m->n_ids; y++)
                used |= m->ids[y] == c->subject;
        if (used) mark(s, k, keep);
    }
}

/* Leaves out ever smaller pieces as long as it fails in the same way. */
static void reduce(cutting *t, bool *keep)
{
    size_t n = t->session->n;
    bool *trial = malloc(n + 1);
    if (!trial) return;
    for (size_t piece = n; piece > 0; piece = piece > 1 ? piece / 2 : 0) {
        bool again = true;
        while (again) {
            again = false;
            for (size_t at = 0; at < n;) {
                memcpy(trial, keep, n);
                size_t out = 0, k = at;
                for (; k < n && out < piece; k++)
                    if (trial[k]) trial[k] = false, out++;
                if (out && fails_still(t, trial)) {
                    memcpy(keep, trial, n);
                    again = piece == 1;
                }
                at = k;
            }
        }
    }
    free(trial);
}

/* The session from call `at` on, with what it needs as arrays, written to `path` by a process of
 * its own. */
static bool freeze(cutting *t, size_t at, const char *path)
{
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        tn_plugin *p;
        tn_replay_result result;
        tn_replay_options options = t->options;
        options.freeze_at = at;
        alarm(120);
        if (!freopen("/dev/null", "w", stderr)) _exit(3);
        tn_status *s = tn_session_begin(path, &options.freeze_to);
        if (!s) s = tn_plugin_open(t->plugin, &p);
        if (!s) s = tn_replay(p, t->session, &options, &result);
        if (s || fclose(options.freeze_to)) _exit(3);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Looks for a short end of the session that fails in the same way, from arrays; true: t->session is
 * that, in `out`. */
static bool take_end(cutting *t, size_t first, const char *path, tn_session *out)
{
    size_t runs = 0, next = 1;
    for (size_t at = first + 1; at-- > 0;) {
        if (t->session->calls[at].kind != TN_SESSION_RUN || ++runs < next) continue;
        next *= 2;
        if (!freeze(t, at, path)) continue;
        tn_status *s = tn_session_read(path, out);
        if (s) {
            tn_status_free(s);
            continue;
        }
        const tn_session *whole = t->session;
        bool *all = malloc(out->n + 1);
        if (all) memset(all, true, out->n);
        t->session = out;
        bool same = all && fails_still(t, all);
        free(all);
        if (same) return true;
        t->session = whole;
        tn_session_free(out);
    }
    return false;
}

static tn_status *cut(cutting *t, const char *path)
{
    const tn_session *s = t->session;
    bool *keep = malloc(s->n + 1), *slice = calloc(s->n + 1, 1);
    if (!keep || !slice) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    memset(keep, true, s->n);
    size_t first = SIZE_MAX;
    try_calls(t, keep, t->want, &first);
    if (!*t->want) {
        free(keep);
        free(slice);
        return TN_ERROR(FAILED_PRECONDITION, "the session does not fail on this plugin");
    }
    size_t whole = s->n;
    tn_session end = {0};
    if (first != SIZE_MAX && take_end(t, first, path, &end)) {
        s = t->session;
    } else if (first != SIZE_MAX) {
        mark(s, first, slice);
        if (fails_still(t, slice)) memcpy(keep, slice, s->n);
    }
    if (s->n > whole) { /* arrays for what was computed: may be more calls than there were */
        bool *more = realloc(keep, s->n + 1);
        if (more) memset(keep = more, true, s->n);
    }
    reduce(t, keep);
    FILE *f;
    tn_status *error = tn_session_begin(path, &f);
    size_t left = 0;
    for (size_t i = 0; !error && i < s->n; i++)
        if (keep[i]) {
            tn_session_write(f, &s->calls[i]);
            left++;
        }
    if (!error) {
        fclose(f);
        printf("%s: %zu calls of the %zu are enough (%zu trials); written to %s\n", t->want, left,
               whole, t->trials, path);
    }
    tn_session_free(&end);
    free(keep);
    free(slice);
    return error;
}

/* --- the command --- */

static tn_status *replay(const char *path, const tn_session *s, const tn_replay_options *options,
                         int *code)
{
    tn_plugin *p;
    tn_replay_result r;
    TN_TRY(tn_plugin_open(path, &p));
    tn_status *error = tn_replay(p, s, options, &r);
    tn_plugin_close(p);
    if (error) return error;
    if (r.first != SIZE_MAX) printf("%s\n", r.what);
    printf("%zu calls made, %zu left out; %zu arrays compared, %zu differ; %zu calls gave another "
           "code",
           r.made, r.left_out, r.compared, r.differ, r.other_codes);
    printf(r.worst > 0 ? "; greatest error %.3g\n" : "\n", r.worst);
    *code = r.differ || r.other_codes || r.left_out;
    return NULL;
}

int tn_cli_replay(int argc, char **argv, tn_status **error)
{
    cutting t = {.plugin = argv[0]};
    const char *path = NULL, *out = NULL;
    bool only_list = false;
    for (int i = 1; i < argc && !*error; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--tolerance") && value) t.options.tolerance = atof(argv[++i]);
        else if (!strcmp(argv[i], "--cut") && value) out = argv[++i];
        else if (!strcmp(argv[i], "--verbose")) t.options.verbose = true;
        else if (!strcmp(argv[i], "--list")) only_list = true;
        else if (argv[i][0] != '-' && !path) path = argv[i];
        else
            *error = TN_ERROR(INVALID_ARGUMENT, "'%s' is not understood; see tenon replay --help",
                              argv[i]);
    }
    if (!*error && !path)
        *error = TN_ERROR(INVALID_ARGUMENT, "which SESSION? see tenon replay --help");
    if (*error) return 2;
    tn_session s;
    *error = tn_session_read(path, &s);
    if (*error) return 2;
    int code = 0;
    t.session = &s;
    if (only_list) list(&s);
    else if (out) *error = cut(&t, out);
    else *error = replay(argv[0], &s, &t.options, &code);
    tn_session_free(&s);
    return code;
}
