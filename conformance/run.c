/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conformance/run.h"

/* --- in the child: lines of a letter and a text to the parent --- */

static int report = -1;
static jmp_buf over;
static bool many; /* variants: the next one follows in the same process */

static void say(char what, const char *text)
{
    char line[800];
    int n = snprintf(line, sizeof line - 1, "%c%s", what, text);
    if (n > (int)sizeof line - 2) n = (int)sizeof line - 2;
    for (int i = 0; i < n; i++)
        if (line[i] == '\n') line[i] = ' ';
    line[n++] = '\n';
    if (write(report, line, (size_t)n) != n) _exit(3);
}

_Noreturn static void finish(char what, const char *text)
{
    say(what, text);
    if (many) longjmp(over, 1);
    _exit(0);
}

_Noreturn void fail(const char *file, int line, const char *fmt, ...)
{
    char text[700];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const char *name = strrchr(file, '/');
    if (n < (int)sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, " (%s:%d)", name ? name + 1 : file, line);
    finish('F', text);
}

_Noreturn void skip(const char *reason)
{
    finish('S', reason);
}

void measured(const char *fmt, ...)
{
    char text[700];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    say('M', text);
}

const char *plugin_path, *real_plugin_path, *layers_path;
const char *client_options[16];
size_t n_client_options;

void set_layers(const char *layers, const char *variable, const char *value)
{
    if (!layers_path) skip("libtenon_layers.so was not found");
    setenv("TENON_PLUGIN", real_plugin_path, 1);
    setenv("TENON_LAYERS", layers, 1);
    if (variable) setenv(variable, value, 1);
    plugin_path = layers_path;
}

void set_up(context *c)
{
    check_ok(c, __FILE__, __LINE__, tn_plugin_open(plugin_path, &c->plugin));
    c->api = tn_plugin_api(c->plugin);
    const char *options[17] = {"cpu_device_count=2"};
    memcpy(options + 1, client_options, n_client_options * sizeof *options);
    tn_status *s = tn_host_client_create(c->plugin, options, n_client_options + 1, &c->host);
    if (s) { /* not every plugin knows how many devices to make */
        tn_status *again =
            tn_host_client_create(c->plugin, options + 1, n_client_options, &c->host);
        if (again) check_ok(c, __FILE__, __LINE__, s);
        tn_status_free(s);
    }
    c->client = tn_host_client_handle(c->host);
    CHECK(tn_host_client_device_count(c->host) >= 1);
    c->device = tn_host_client_device(c->host, 0);
    c->second = tn_host_client_device(c->host, tn_host_client_device_count(c->host) > 1);
    ARGS(Device_DefaultMemory, memory, .device = c->device);
    OK(Device_DefaultMemory, &memory);
    c->memory = memory.memory;
}

static const char *variant_name(const check_row *row, int i)
{
    if (!row->variant) return i ? NULL : "";
    return row->variant(row, i);
}

static bool wanted(const char *want, const char *variant)
{
    return !want || !strcmp(want, variant);
}

static void child(const check_row *row, int from, const char *want, int timeout_s)
{
    static context c;
    c.row = row;
    many = false;
    alarm((unsigned)timeout_s);
    signal(SIGALRM, SIG_DFL);
    char name[16];
    snprintf(name, sizeof name, "%d", from);
    say('B', name);
    if (!row->bare) set_up(&c);
    many = row->variant != NULL;
    for (volatile int i = from; variant_name(row, i); i++) {
        if (!wanted(want, variant_name(row, i))) continue;
        if (row->bare && i > from) break; /* what it sets up it sets up once in a process */
        if (i > from) {
            snprintf(name, sizeof name, "%d", i);
            say('B', name);
        }
        alarm((unsigned)timeout_s);
        c.variant = i;
        if (!many || !setjmp(over)) {
            row->run(&c);
            say('P', "");
        }
    }
    many = false;
    if (!row->bare && c.host) tn_host_client_destroy(c.host);
    say('D', "");
    _exit(0);
}

/* --- in the parent --- */

result *add_result(results *out)
{
    if (out->n == out->room) {
        out->room = out->room ? out->room * 2 : 256;
        out->at = realloc(out->at, out->room * sizeof *out->at);
        if (!out->at) abort();
    }
    out->at[out->n] = (result){.text = NULL};
    return &out->at[out->n++];
}

static void set_text(result *r, const char *text)
{
    free(r->text);
    r->text = strdup(text);
}

/* Rules of validate that a plugin breaks, not a client. */
static bool plugins_fault(const char *line)
{
    static const char *const rules[] = {"[out-field-unset]", "[write-beyond-struct-size]",
                                        "[callback-twice]", "[callback-never]"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strstr(line, rules[i])) return true;
    return false;
}

/* What validate found while the rows' last child ran: the check that passed has failed. */
static void take_validated(const char *path, results *out, size_t first)
{
    FILE *f = fopen(path, "r");
    char line[900];
    while (f && fgets(line, sizeof line, f)) {
        if (!plugins_fault(line)) continue;
        line[strcspn(line, "\n")] = 0;
        result *r = &out->at[out->n - 1];
        for (size_t i = first; i < out->n; i++)
            if (out->at[i].outcome == RESULT_PASSED) r = &out->at[i];
        if (r->outcome != RESULT_PASSED && r->outcome != RESULT_SKIPPED) continue;
        r->outcome = RESULT_FAILED;
        set_text(r, line);
    }
    if (f) fclose(f);
    unlink(path);
}

typedef struct {
    const chapter *ch;
    const check_row *row;
    const char *id;
    results *out;
    result *now; /* begun and not ended */
    int variant;
    double began;
    bool ended; /* the child has said that it is done */
} reading;

static void take_line(reading *rd, const char *line)
{
    result *r = rd->now;
    switch (*line) {
    case 'B':
        rd->variant = atoi(line + 1);
        r = rd->now = add_result(rd->out);
        r->chapter = rd->ch->title;
        r->rule = rd->row->rule;
        r->needs = who_needs(rd->row->number);
        r->variant = variant_name(rd->row, rd->variant);
        snprintf(r->id, sizeof r->id, "%s%s%s", rd->id, *r->variant ? ":" : "", r->variant);
        set_text(r, "");
        rd->began = seconds();
        return;
    case 'M':
        if (r) set_text(r, line + 1);
        return;
    case 'D': rd->ended = true; return;
    }
    if (!r) return;
    r->outcome = *line == 'P' ? RESULT_PASSED : *line == 'S' ? RESULT_SKIPPED : RESULT_FAILED;
    if (*line != 'P') set_text(r, line + 1);
    r->seconds = seconds() - rd->began;
    rd->now = NULL;
}

static void read_child(reading *rd, int from)
{
    char buffer[4096];
    size_t held = 0;
    ssize_t got;
    while ((got = read(from, buffer + held, sizeof buffer - 1 - held)) > 0) {
        held += (size_t)got;
        char *at = buffer, *end;
        while ((end = memchr(at, '\n', held - (size_t)(at - buffer)))) {
            *end = 0;
            take_line(rd, at);
            at = end + 1;
        }
        held -= (size_t)(at - buffer);
        memmove(buffer, at, held);
        if (held == sizeof buffer - 1) held = 0;
    }
}

static void note_death(reading *rd, int status, const char *last_words)
{
    char text[700];
    result *r = rd->now ? rd->now : &rd->out->at[rd->out->n - 1];
    bool during = rd->now != NULL;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        r->outcome = RESULT_HUNG;
        snprintf(text, sizeof text, "no end");
    } else if (WIFSIGNALED(status)) {
        r->outcome = RESULT_CRASHED;
        snprintf(text, sizeof text, "died of signal %d (%s)%s%s%s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), during ? "" : " when the client was destroyed",
                 *last_words ? ": " : "", last_words);
    } else {
        r->outcome = RESULT_CRASHED;
        snprintf(text, sizeof text, "ended the process with status %d%s%s", WEXITSTATUS(status),
                 *last_words ? ": " : "", last_words);
    }
    if (during) r->seconds = seconds() - rd->began;
    set_text(r, text);
    rd->now = NULL;
}

/* The last line that the child wrote to stderr that holds a letter, for a death's explanation. */
static void last_line(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "r");
    char line[400];
    *out = 0;
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (strstr(line, "Check failed") || strstr(line, "CHECK") || strstr(line, "F0000") ||
            strstr(line, "terminate") || strstr(line, "what()") || strstr(line, "assert"))
            snprintf(out, size, "%s", line);
    }
    if (f) fclose(f);
}

void run_row(const chapter *ch, const check_row *row, const char *id, const char *want,
             int timeout_s, results *out)
{
    char validated[64], words[64];
    snprintf(validated, sizeof validated, "/tmp/tenon-check-%d.validate", (int)getpid());
    snprintf(words, sizeof words, "/tmp/tenon-check-%d.stderr", (int)getpid());
    int from = 0;
    while (variant_name(row, from)) {
        if (!wanted(want, variant_name(row, from))) {
            from++;
            continue;
        }
        int ends[2];
        if (pipe(ends)) return;
        fflush(NULL);
        size_t first = out->n;
        pid_t pid = fork();
        if (!pid) {
            close(ends[0]);
            report = ends[1];
            if (!freopen(words, "w", stderr)) _exit(3);
            if (layers_path && !row->bare) {
                setenv("TENON_VALIDATE_QUIET", "1", 1);
                set_layers("validate", "TENON_VALIDATE", validated);
            }
            child(row, from, want, timeout_s);
        }
        close(ends[1]);
        reading rd = {.ch = ch, .row = row, .id = id, .out = out, .variant = from};
        read_child(&rd, ends[0]);
        close(ends[0]);
        int status;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        if (rd.now || (!rd.ended && !(WIFEXITED(status) && !WEXITSTATUS(status)))) {
            char said[400];
            last_line(words, said, sizeof said);
            if (out->n > first) note_death(&rd, status, said);
        }
        if (layers_path && out->n > first) take_validated(validated, out, first);
        unlink(words);
        from = rd.variant + 1;
    }
}

const char *outcome_name(outcome o)
{
    static const char *const names[] = {"passed", "failed", "skipped", "crashed", "hung"};
    return names[o];
}

bool is_failure(const result *r)
{
    return r->unexpected ||
           (!r->known && r->outcome != RESULT_PASSED && r->outcome != RESULT_SKIPPED);
}
