/* SPDX-License-Identifier: Apache-2.0 */
/* tenon-check - the conformance suite: `tenon check PLUGIN`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/run.h"

static const char help[] =
    "usage: tenon check PLUGIN [options]\n"
    "       tenon check --diff A.json B.json\n"
    "       tenon check --list\n"
    "Runs every check of the suite on a PJRT plugin, each in a process of its own, and prints what "
    "failed.\n\n"
    "  --chapter NAME      only this chapter (may be given again)\n"
    "  --only ID           only this check, e.g. 66b or 1004:f32 (may be given again)\n"
    "  --short             leaves out numerics, leaks and what is measured\n"
    "  --known FILE        known failures: an id a line; one that passes is a failure too\n"
    "  --write-known FILE  writes such a file from this run\n"
    "  --json FILE, --junit FILE, --html FILE\n"
    "  --option name=value for PJRT_Client_Create (may be given again)\n"
    "  --layers FILE       libtenon_layers.so; it is looked for beside this program\n"
    "  --bare              runs without the validate layer in front of the plugin\n"
    "  --timeout SECONDS   for each check, default 120\n"
    "  --all               prints what passed, too\n"
    "Exit code: 0 all is well, 1 a check failed or a known failure passes, 2 it could not be "
    "run.\n";

enum { MOST = 64 };

typedef struct {
    const char *chapters[MOST], *only[MOST];
    size_t n_chapters, n_only;
    const char *known, *write_known, *json, *junit, *html, *layers;
    bool brief, bare, all;
    int timeout;
} arguments;

static int wrong(const char *text)
{
    fprintf(stderr, "tenon check: '%s' is not understood; see tenon check --help\n", text);
    return 2;
}

static bool take_value(arguments *a, const char *name, const char *value)
{
    const struct {
        const char *name, **to;
    } values[] = {{"--known", &a->known}, {"--write-known", &a->write_known},
                  {"--json", &a->json},   {"--junit", &a->junit},
                  {"--html", &a->html},   {"--layers", &a->layers}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!strcmp(name, values[i].name)) return *values[i].to = value, true;
    if (!strcmp(name, "--chapter") && a->n_chapters < MOST)
        return a->chapters[a->n_chapters++] = value, true;
    if (!strcmp(name, "--only") && a->n_only < MOST) return a->only[a->n_only++] = value, true;
    if (!strcmp(name, "--option") && n_client_options < 15)
        return client_options[n_client_options++] = value, true;
    if (!strcmp(name, "--timeout")) return (a->timeout = atoi(value)) > 0;
    return false;
}

static int list(void)
{
    for (size_t k = 0; k < n_chapters; k++)
        for (const check_row *r = chapters[k].rows; r->run; r++)
            printf("| %d | %s | %s | %s |\n", r->number, chapters[k].title, r->rule,
                   who_needs(r->number));
    return 0;
}

/* The layers beside this program, as installed or as built. */
static const char *find_layers(void)
{
    static char path[4200];
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return NULL;
    self[n] = 0;
    char *slash = strrchr(self, '/');
    if (slash) *slash = 0;
    static const char *const places[] = {"/libtenon_layers.so", "/../layers/libtenon_layers.so",
                                         "/../lib/libtenon_layers.so",
                                         "/../lib/x86_64-linux-gnu/libtenon_layers.so",
                                         "/../lib/aarch64-linux-gnu/libtenon_layers.so"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s%s", self, places[i]);
        if (!access(path, R_OK)) return path;
    }
    return NULL;
}

/* The letter that tells rows of the same number apart; 0: there is one. */
static char letter(const check_row *rows, const check_row *row)
{
    int before = 0, all = 0;
    for (const check_row *r = rows; r->run; r++) {
        if (r->number != row->number) continue;
        if (r < row) before++;
        all++;
    }
    return all > 1 ? (char)('a' + before) : 0;
}

static bool slow(const chapter *ch)
{
    return !strcmp(ch->name, "numerics") || !strcmp(ch->name, "leaks") ||
           !strcmp(ch->name, "measured");
}

static void run_chapter(const arguments *a, const chapter *ch, results *out)
{
    bool chosen = !a->n_chapters;
    for (size_t i = 0; i < a->n_chapters; i++) chosen |= !strcmp(a->chapters[i], ch->name);
    if (!chosen || (a->brief && slow(ch))) return;
    for (const check_row *r = ch->rows; r->run; r++) {
        char id[24] = "", l = letter(ch->rows, r);
        snprintf(id, sizeof id, "%d%.1s", r->number, l ? &l : "");
        if (!a->n_only) {
            run_row(ch, r, id, NULL, a->timeout, out);
            continue;
        }
        for (size_t i = 0; i < a->n_only; i++) {
            size_t n = strcspn(a->only[i], ":");
            char number[24];
            snprintf(number, sizeof number, "%d", r->number);
            bool same = (n == strlen(id) && !strncmp(a->only[i], id, n)) ||
                        (n == strlen(number) && !strncmp(a->only[i], number, n));
            if (same)
                run_row(ch, r, id, a->only[i][n] ? a->only[i] + n + 1 : NULL, a->timeout, out);
        }
    }
}

/* Asks the plugin what it is, in a child that may die of it. */
static void ask(char *version, char *platform, size_t size)
{
    int ends[2];
    snprintf(version, size, "?");
    snprintf(platform, size, "?");
    if (pipe(ends)) return;
    pid_t pid = fork();
    if (!pid) {
        tn_plugin *p = NULL;
        tn_host_client *h = NULL;
        char text[256] = "";
        alarm(60);
        tn_status *s = tn_plugin_open(real_plugin_path, &p);
        if (s) {
            fprintf(stderr, "tenon check: %s\n", tn_status_message(s));
            _exit(2);
        }
        int n =
            snprintf(text, sizeof text, "0.%d\n", tn_plugin_api(p)->pjrt_api_version.minor_version);
        if (write(ends[1], text, (size_t)n) != n) _exit(2);
        s = tn_host_client_create(p, client_options, n_client_options, &h);
        PJRT_Client_PlatformVersion_Args v = {.struct_size =
                                                  PJRT_Client_PlatformVersion_Args_STRUCT_SIZE};
        if (!s) {
            v.client = tn_host_client_handle(h);
            s = TN_PLUGIN_CALL(p, PJRT_Client_PlatformVersion, &v);
        }
        n = s ? snprintf(text, sizeof text, "no client: %s", tn_status_message(s))
              : snprintf(text, sizeof text, "%.*s", (int)v.platform_version_size,
                         v.platform_version);
        if (write(ends[1], text, strlen(text)) < 0) _exit(2);
        _exit(0);
    }
    close(ends[1]);
    char text[1024];
    size_t n = 0;
    ssize_t got;
    while ((got = read(ends[0], text + n, sizeof text - 1 - n)) > 0) n += (size_t)got;
    text[n] = 0;
    close(ends[0]);
    int status;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) exit(2);
    char *rest = strchr(text, '\n');
    if (!rest) return;
    *rest++ = 0;
    for (char *p = rest; *p; p++)
        if (*p == '\n') *p = ' ';
    snprintf(version, size, "%.60s", text);
    snprintf(platform, size, "%.900s", rest);
}

static tn_status *deliver(const arguments *a, results *r, const subject *s)
{
    if (a->known) TN_TRY(apply_known(r, a->known));
    if (a->write_known) TN_TRY(write_known(r, a->write_known));
    if (a->json) TN_TRY(write_json(r, s, a->json));
    if (a->junit) TN_TRY(write_junit(r, s, a->junit));
    if (a->html) TN_TRY(write_html(r, s, a->html));
    return NULL;
}

int main(int argc, char **argv)
{
    static arguments a = {.timeout = 120};
    if (argc < 2) return fputs(help, stderr), 2;
    if (!strcmp(argv[1], "--help")) return fputs(help, stdout), 0;
    if (!strcmp(argv[1], "--list")) return list();
    if (!strcmp(argv[1], "--diff"))
        return argc == 4 ? print_diff(argv[2], argv[3]) : wrong("--diff");
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--short")) a.brief = true;
        else if (!strcmp(argv[i], "--bare")) a.bare = true;
        else if (!strcmp(argv[i], "--all")) a.all = true;
        else if (i + 1 < argc && take_value(&a, argv[i], argv[i + 1])) i++;
        else return wrong(argv[i]);
    }
    static char version[1024], platform[1024];
    real_plugin_path = plugin_path = argv[1];
    layers_path = a.layers ? a.layers : find_layers();
    ask(version, platform, sizeof version);
    const char *layers = layers_path;
    if (a.bare) layers_path = NULL;
    static results r;
    double start = seconds();
    for (size_t k = 0; k < n_chapters; k++) {
        /* Skew is made by a layer, also where nothing is validated. */
        if (!strcmp(chapters[k].name, "skew")) layers_path = layers;
        run_chapter(&a, &chapters[k], &r);
        if (a.bare) layers_path = NULL;
    }
    subject s = {argv[1], version, platform, seconds() - start};
    if (!r.n) return fprintf(stderr, "tenon check: no check has such a name; see --list\n"), 2;
    tn_status *error = deliver(&a, &r, &s);
    print_table(&r, &s, a.all);
    if (error) return fprintf(stderr, "tenon check: %s\n", tn_status_message(error)), 2;
    for (size_t i = 0; i < r.n; i++)
        if (is_failure(&r.at[i])) return 1;
    return 0;
}
