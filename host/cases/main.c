/* SPDX-License-Identifier: Apache-2.0 */
/* tenon-cases - runs the StableHLO data set on any PJRT plugin through the C ABI.
 *
 * A case is a folder of a zip: module.mlirbc (or module.mlir), inputs and right outputs as npy
 * files, and a record in manifest.jsonl. Cases run in a child process, so that a crash or a hang
 * costs one case. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zip.h>

#include "host/cases/compare.h"

#define MESSAGE 400 /* bytes of a failure's text that cross the pipe */

typedef struct {
    const char *plugin, *dir, *areas, *only;
    const char *options[32];
    size_t n_options;
    int timeout_s;
    bool list_passes;
    bool offset; /* arguments are aligned to 16 bytes only, and used where they lie */
    bool text;   /* run module.mlir even where there is module.mlirbc */
} settings;

typedef struct {
    zip_t *zip;
    const cJSON *record;
    const char *name, *area;
} test_case;

typedef struct {
    test_case *cases;
    size_t n, room;
} case_list;

static void die(const char *what)
{
    fprintf(stderr, "tenon-cases: %s\n", what);
    exit(2);
}

/* --- reading --- */

static tn_status *read_entry(zip_t *z, const char *name, char **out, size_t *size)
{
    zip_stat_t st;
    if (zip_stat(z, name, 0, &st)) return TN_ERROR(NOT_FOUND, "%s is not in the archive", name);
    zip_file_t *f = zip_fopen(z, name, 0);
    char *data = f ? malloc(st.size + 1) : NULL;
    bool ok = data && zip_fread(f, data, st.size) == (zip_int64_t)st.size;
    if (f) zip_fclose(f);
    if (!ok) {
        free(data);
        return TN_ERROR(DATA_LOSS, "%s can't be read", name);
    }
    data[st.size] = 0;
    *out = data;
    *size = st.size;
    return NULL;
}

/* Is `word` one of the comma-separated words of `list`? NULL lists everything. */
static bool listed(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, ','), at += at != NULL)
        if (!strncmp(at, word, n) && (at[n] == ',' || !at[n])) return true;
    return !list;
}

static const char *text_of(const cJSON *object, const char *key)
{
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItem(object, key));
    return s ? s : "";
}

static void add_archive(const settings *s, const char *path, case_list *list)
{
    int error;
    zip_t *z = zip_open(path, ZIP_RDONLY, &error);
    char *manifest = NULL;
    size_t size;
    tn_status *st =
        z ? read_entry(z, "manifest.jsonl", &manifest, &size) : TN_ERROR(NOT_FOUND, "no zip");
    if (st) die(path);
    for (char *line = strtok(manifest, "\n"); line; line = strtok(NULL, "\n")) {
        cJSON *record = cJSON_Parse(line);
        if (!record) die("manifest.jsonl holds a bad line");
        test_case c = {z, record, text_of(record, "name"), text_of(record, "area")};
        if (!listed(s->areas, c.area) || (s->only && !strstr(c.name, s->only))) continue;
        if (list->n == list->room) {
            list->room = list->room ? list->room * 2 : 1024;
            list->cases = realloc(list->cases, list->room * sizeof *list->cases);
            if (!list->cases) die("out of memory");
        }
        list->cases[list->n++] = c;
    }
    free(manifest);
}

/* --- one case --- */

static tn_status *read_array(const test_case *c, const char *kind, int device, int devices, int i,
                             const cJSON *spec, tn_array *out)
{
    char name[512];
    if (devices > 1) snprintf(name, sizeof name, "%s/p%d_%s%d.npy", c->name, device, kind, i);
    else snprintf(name, sizeof name, "%s/%s%d.npy", c->name, kind, i);
    char *bytes;
    size_t size;
    TN_TRY(read_entry(c->zip, name, &bytes, &size));
    tn_status *s = tn_npy_parse(bytes, size, tn_element_from_name(text_of(spec, "dtype")), out);
    free(bytes);
    return s ? tn_status_annotate(s, "%s", name) : NULL;
}

static tn_rule rule_of(const cJSON *rules, int i)
{
    const cJSON *r = cJSON_GetArrayItem(rules, i);
    const char *kind = text_of(r, "kind");
    const cJSON *tol = cJSON_GetObjectItem(r, "tol");
    return (tn_rule){!strcmp(kind, "ulp")   ? TN_RULE_ULP
                     : !strcmp(kind, "abs") ? TN_RULE_ABS
                                            : TN_RULE_EXACT,
                     tol ? tol->valuedouble : 0};
}

static tn_status *compare_outputs(const test_case *c, const tn_array *outputs, size_t per_device)
{
    const cJSON *want = cJSON_GetObjectItem(c->record, "outputs"),
                *rules = cJSON_GetObjectItem(c->record, "rules");
    int devices = cJSON_GetArraySize(want);
    for (int d = 0; d < devices; d++) {
        const cJSON *row = cJSON_GetArrayItem(want, d);
        int n = cJSON_GetArraySize(row);
        if ((size_t)n != per_device)
            return TN_ERROR(INVALID_ARGUMENT, "the program has %zu outputs, expected %d",
                            per_device, n);
        for (int i = 0; i < n; i++) {
            tn_array expected;
            TN_TRY(read_array(c, "out", d, devices, i, cJSON_GetArrayItem(row, i), &expected));
            tn_status *s = tn_compare(&outputs[(size_t)d * per_device + (size_t)i], &expected,
                                      rule_of(rules, i));
            tn_array_free(&expected);
            if (s) return tn_status_annotate(s, "output %d of device %d", i, d);
        }
    }
    return NULL;
}

/* The data set stores a scalar as an array of one element; the program's text says which inputs are
 * scalars. */
static tn_status *restore_scalars(const test_case *c, tn_array *in, size_t total, size_t n)
{
    char name[512];
    char *text;
    size_t size;
    snprintf(name, sizeof name, "%s/module.mlir", c->name);
    TN_TRY(read_entry(c->zip, name, &text, &size));
    char *arg = strstr(text, "@main(");
    char *end = arg ? strchr(arg, '\n') : NULL;
    if (end) *end = 0;
    for (size_t i = 0; i < n && arg; i++) {
        char *type = strstr(arg, ": tensor<");
        if (!type) break;
        type += strlen(": tensor<");
        /* Dimensions end in x; no element type starts with a digit. */
        bool scalar = *type != '?' && (*type < '0' || *type > '9');
        for (size_t k = i; k < total && scalar; k += n)
            if (in[k].rank == 1 && in[k].dims[0] == 1) in[k].rank = 0;
        arg = type;
    }
    free(text);
    return NULL;
}

/* Memory of an array at 16 bytes behind an address that is aligned to 64. */
enum { OFFSET = 16 };

static void move_off(tn_array *a)
{
    char *block = aligned_alloc(64, (a->size + OFFSET + 63) & ~(size_t)63);
    if (!block) die("out of memory");
    memcpy(block + OFFSET, a->data, a->size);
    free(a->data);
    a->data = block + OFFSET;
}

static void free_input(tn_array *a, bool offset)
{
    if (offset && a->data) {
        free((char *)a->data - OFFSET);
        a->data = NULL;
    }
    tn_array_free(a);
}

static tn_status *run_program(const test_case *c, tn_host_executable *p, bool offset)
{
    const cJSON *rows = cJSON_GetObjectItem(c->record, "inputs");
    int devices = cJSON_GetArraySize(rows), n = cJSON_GetArraySize(cJSON_GetArrayItem(rows, 0));
    if ((size_t)devices != tn_host_executable_device_count(p))
        return TN_ERROR(INVALID_ARGUMENT, "the program runs on %zu devices, expected %d",
                        tn_host_executable_device_count(p), devices);
    size_t total = (size_t)devices * (size_t)n,
           n_out = (size_t)devices * tn_host_executable_output_count(p);
    tn_array *in = calloc(total + 1, sizeof *in), *out = calloc(n_out + 1, sizeof *out);
    if (!in || !out) die("out of memory");
    tn_status *s = NULL;
    for (int d = 0; d < devices && !s; d++)
        for (int i = 0; i < n && !s; i++) {
            s = read_array(c, "in", d, devices, i,
                           cJSON_GetArrayItem(cJSON_GetArrayItem(rows, d), i), &in[d * n + i]);
            if (offset && !s) move_off(&in[d * n + i]);
        }
    if (!s) s = restore_scalars(c, in, total, (size_t)n);
    if (!s) s = tn_host_executable_run(p, in, (size_t)n, out, NULL);
    if (!s) s = compare_outputs(c, out, tn_host_executable_output_count(p));
    for (size_t i = 0; i < total; i++) free_input(&in[i], offset);
    for (size_t i = 0; i < n_out; i++) tn_array_free(&out[i]);
    free(in);
    free(out);
    return s;
}

static tn_status *run_case(const test_case *c, tn_host_client *client, const settings *set)
{
    char name[512];
    char *code;
    size_t size;
    snprintf(name, sizeof name, "%s/module.mlir%s", c->name, set->text ? "" : "bc");
    tn_status *s = read_entry(c->zip, name, &code, &size);
    if (s) {
        tn_status_free(s);
        snprintf(name, sizeof name, "%s/module.mlir", c->name);
        TN_TRY(read_entry(c->zip, name, &code, &size));
    }
    int replicas = cJSON_GetObjectItem(c->record, "num_replicas")->valueint;
    int partitions = cJSON_GetObjectItem(c->record, "num_partitions")->valueint;
    tn_host_executable *p;
    s = tn_host_executable_compile(client, code, size, "mlir", replicas, partitions, &p);
    free(code);
    if (s) return tn_status_annotate(s, "%s", tn_code_name(tn_status_code(s)));
    s = run_program(c, p, set->offset);
    tn_host_executable_free(p);
    return s;
}

/* --- the child and its parent --- */

typedef struct {
    uint32_t index;
    bool passed;
    char message[MESSAGE];
} report;

/* Room for the data set's widest programs, where the plugin knows the option. */
static tn_status *open_client(const settings *s, tn_plugin *plugin, tn_host_client **out)
{
    const char *options[33] = {"cpu_device_count=4"};
    memcpy(options + 1, s->options, s->n_options * sizeof *options);
    tn_status *st = tn_host_client_create(plugin, options, s->n_options + 1, out);
    if (!st) return NULL;
    tn_status_free(st);
    return tn_host_client_create(plugin, s->options, s->n_options, out);
}

static void child(const settings *s, const case_list *list, size_t from, int pipe_end)
{
    tn_plugin *plugin;
    tn_host_client *client;
    tn_status *st = tn_plugin_open(s->plugin, &plugin);
    if (!st) st = open_client(s, plugin, &client);
    if (st) {
        fprintf(stderr, "tenon-cases: %s\n", tn_status_message(st));
        _exit(3);
    }
    if (s->offset) tn_host_client_allow_aliases(client);
    for (size_t i = from; i < list->n; i++) {
        st = run_case(&list->cases[i], client, s);
        report r = {.index = (uint32_t)i, .passed = !st};
        snprintf(r.message, sizeof r.message, "%s", tn_status_message(st));
        tn_status_free(st);
        if (write(pipe_end, &r, sizeof r) != sizeof r) _exit(4);
    }
    tn_host_client_destroy(client);
    _exit(0);
}

static void print_failure(const test_case *c, const char *message)
{
    printf("FAIL %s/%s: %s\n", c->area, c->name, message);
    fflush(stdout);
}

/* Runs cases from `from` in one child until it ends; gives the index of the next case to run. */
static size_t run_batch(const settings *s, const case_list *list, size_t from, size_t *passed,
                        bool *ok)
{
    int ends[2];
    if (pipe(ends)) die("pipe failed");
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0) die("fork failed");
    if (!pid) {
        close(ends[0]);
        child(s, list, from, ends[1]);
    }
    close(ends[1]);
    bool late = false;
    for (;;) {
        struct pollfd p = {.fd = ends[0], .events = POLLIN};
        report r;
        if (poll(&p, 1, s->timeout_s * 1000) == 0) {
            late = true;
            kill(pid, SIGKILL);
            break;
        }
        if (read(ends[0], &r, sizeof r) != sizeof r) break;
        if (r.passed) ++*passed;
        else print_failure(&list->cases[r.index], r.message);
        if (r.passed && s->list_passes)
            printf("ok %s/%s\n", list->cases[r.index].area, list->cases[r.index].name);
        ok[r.index] = r.passed;
        from = r.index + 1;
    }
    close(ends[0]);
    int status;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3) exit(2);
    if (from == list->n) return from;
    char message[64];
    if (late) snprintf(message, sizeof message, "no answer within %d s", s->timeout_s);
    else if (WIFSIGNALED(status))
        snprintf(message, sizeof message, "the process died of signal %d", WTERMSIG(status));
    else snprintf(message, sizeof message, "the process ended with %d", WEXITSTATUS(status));
    print_failure(&list->cases[from], message);
    return from + 1;
}

static void print_areas(const case_list *list, const bool *ok)
{
    for (size_t i = 0; i < list->n;) {
        size_t good = 0, start = i;
        for (; i < list->n && !strcmp(list->cases[i].area, list->cases[start].area); i++)
            good += ok[i];
        printf("%s: %zu of %zu (%.1f %%)\n", list->cases[start].area, good, i - start,
               100.0 * (double)good / (double)(i - start));
    }
}

static void usage(void)
{
    puts(
        "usage: tenon-cases PLUGIN DIR [--area a,b] [--only TEXT] [--option name=value] [--timeout "
        "SECONDS] [--passes] [--text] [--offset]\n"
        "Runs the cases of DIR's zip archives on PLUGIN. Prints a line per failure, a line per "
        "area and last\n"
        "'N passed, N failed'. --text: programs in text even where there is bytecode. "
        "--offset:\narguments aligned to 16 bytes only, used where they lie. Exit code:\n"
        "0 all passed, 1 some failed, 2 the run could not start.");
    exit(2);
}

static settings parse(int argc, char **argv)
{
    settings s = {.timeout_s = 60};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(a, "--passes")) s.list_passes = true;
        else if (!strcmp(a, "--offset")) {
            s.offset = true;
            s.options[s.n_options++] = "alias_bytes=0";
        } else if (!strcmp(a, "--text")) s.text = true;
        else if (a[0] != '-' && !s.plugin) s.plugin = a;
        else if (a[0] != '-' && !s.dir) s.dir = a;
        else if (!value) usage();
        else if (!strcmp(a, "--area")) s.areas = argv[++i];
        else if (!strcmp(a, "--only")) s.only = argv[++i];
        else if (!strcmp(a, "--timeout")) s.timeout_s = atoi(argv[++i]);
        else if (!strcmp(a, "--option") && s.n_options < 32) s.options[s.n_options++] = argv[++i];
        else usage();
    }
    if (!s.plugin || !s.dir || s.timeout_s <= 0) usage();
    return s;
}

int main(int argc, char **argv)
{
    settings s = parse(argc, argv);
    char pattern[4096];
    snprintf(pattern, sizeof pattern, "%s/*.zip", s.dir);
    glob_t paths;
    if (glob(pattern, 0, NULL, &paths)) die("no zip archives in the folder");
    case_list list = {0};
    for (size_t i = 0; i < paths.gl_pathc; i++) add_archive(&s, paths.gl_pathv[i], &list);
    bool *ok = calloc(list.n + 1, sizeof *ok);
    if (!ok) die("out of memory");
    size_t passed = 0;
    for (size_t at = 0; at < list.n;) at = run_batch(&s, &list, at, &passed, ok);
    print_areas(&list, ok);
    printf("%zu passed, %zu failed\n", passed, list.n - passed);
    return passed == list.n ? 0 : 1;
}
