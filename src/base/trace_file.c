/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.c - TENON_PROFILE: a recording as files, for people without any framework. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "base/trace.h"

/* ---- Chrome's format ---- */

static void put_json_text(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fputc('\\', f), fputc(c, f);
        else if (c < 0x20) fprintf(f, "\\u%04x", c);
        else fputc(c, f);
    }
    fputc('"', f);
}

static void put_argument(FILE *f, bool *first, const char *name, const char *text)
{
    if (!*text) return;
    fprintf(f, "%s\"%s\":", *first ? "" : ",", name);
    put_json_text(f, text);
    *first = false;
}

static void put_event(FILE *f, const tn_trace_snapshot *s, const tn_trace_thread *t,
                      const tn_trace_event *e)
{
    const tn_trace_label *l = e->label;
    bool first = true;
    fputs(",\n{\"ph\":\"X\",\"name\":", f);
    put_json_text(f, l->name);
    fprintf(f, ",\"cat\":\"%s\",\"pid\":%d,\"tid\":%" PRIu64 ",\"ts\":%.3f,\"dur\":%.3f,\"args\":{",
            tn_trace_kind_names[l->kind], (int)getpid(), t->id,
            (double)(e->start_ns - s->start_ns) / 1e3, (double)(e->end_ns - e->start_ns) / 1e3);
    put_argument(f, &first, "program", l->program);
    put_argument(f, &first, "source", l->source);
    put_argument(f, &first, "shape", l->shape);
    if (e->bytes) fprintf(f, "%s\"bytes\":%" PRIu64, first ? "" : ",", e->bytes), first = false;
    if (e->flops > 0) fprintf(f, "%s\"flops\":%.0f", first ? "" : ",", e->flops);
    fputs("}}", f);
}

static void put_thread(FILE *f, const tn_trace_thread *t)
{
    fprintf(f,
            ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%" PRIu64
            ",\"args\":{\"name\":",
            (int)getpid(), t->id);
    put_json_text(f, t->name);
    fputs("}}", f);
}

static void put_json(FILE *f, const tn_trace_snapshot *s)
{
    fprintf(f,
            "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":%" PRIu64
            "},\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":"
            "{\"name\":\"Tenon\"}}",
            s->dropped, (int)getpid());
    for (size_t i = 0; i < s->n_threads; i++) {
        put_thread(f, &s->threads[i]);
        for (size_t j = 0; j < s->threads[i].n_events; j++)
            put_event(f, s, &s->threads[i], &s->threads[i].events[j]);
    }
    fputs("\n]}\n", f);
}

/* ---- The table ---- */

typedef struct {
    const tn_trace_label *label;
    uint64_t count, total_ns, least_ns, most_ns, bytes;
    double flops;
} row;

static int by_label(const void *a, const void *b)
{
    const row *x = a, *y = b;
    return ((uintptr_t)x->label > (uintptr_t)y->label) -
           ((uintptr_t)x->label < (uintptr_t)y->label);
}

/* Kinds by themselves, since a run's time is that of its ops once more. */
static int by_time(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->label->kind != y->label->kind) return x->label->kind < y->label->kind ? -1 : 1;
    return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

static row *make_rows(const tn_trace_snapshot *s, size_t *out)
{
    size_t n = 0, k = 0;
    for (size_t i = 0; i < s->n_threads; i++) n += s->threads[i].n_events;
    row *rows = malloc((n + 1) * sizeof *rows);
    if (!rows) return NULL;
    for (size_t i = 0; i < s->n_threads; i++)
        for (size_t j = 0; j < s->threads[i].n_events; j++) {
            const tn_trace_event *e = &s->threads[i].events[j];
            uint64_t ns = e->end_ns - e->start_ns;
            rows[k++] = (row){e->label, 1, ns, ns, ns, e->bytes, e->flops};
        }
    qsort(rows, n, sizeof *rows, by_label);
    size_t last = 0;
    for (size_t i = 1; i < n; i++) {
        row *to = &rows[last];
        if (rows[i].label != to->label) {
            rows[++last] = rows[i];
            continue;
        }
        to->count++;
        to->total_ns += rows[i].total_ns;
        to->bytes += rows[i].bytes;
        to->flops += rows[i].flops;
        if (rows[i].least_ns < to->least_ns) to->least_ns = rows[i].least_ns;
        if (rows[i].most_ns > to->most_ns) to->most_ns = rows[i].most_ns;
    }
    *out = n ? last + 1 : 0;
    qsort(rows, *out, sizeof *rows, by_time);
    return rows;
}

static void put_rate(FILE *f, double amount, uint64_t ns)
{
    if (amount > 0 && ns) fprintf(f, "%9.2f ", amount / (double)ns);
    else fprintf(f, "%9s ", "");
}

static void put_rows(FILE *f, const row *rows, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++) all += rows[i].total_ns;
    fprintf(f, "%-9s %7s %12s %10s %10s %10s %9s %9s  %s\n", tn_trace_kind_names[rows->label->kind],
            "share", "total us", "count", "mean us", "most us", "GB/s", "Gflop/s",
            "name, shape, program, source");
    for (size_t i = 0; i < n; i++) {
        const row *r = &rows[i];
        fprintf(f, "%-9s %6.2f%% %12.1f %10" PRIu64 " %10.2f %10.2f ", "",
                all ? 100.0 * (double)r->total_ns / (double)all : 0.0, (double)r->total_ns / 1e3,
                r->count, (double)r->total_ns / 1e3 / (double)r->count, (double)r->most_ns / 1e3);
        put_rate(f, (double)r->bytes, r->total_ns);
        put_rate(f, r->flops, r->total_ns);
        fprintf(f, "  %s  %s  %s  %s\n", r->label->name, r->label->shape, r->label->program,
                r->label->source);
    }
    fputc('\n', f);
}

static void put_table(FILE *f, const row *rows, size_t n)
{
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && rows[end].label->kind == rows[i].label->kind;) end++;
        put_rows(f, rows + i, end - i);
    }
}

static tn_status *open_file(const char *path, const char *suffix, FILE **out)
{
    size_t size = strlen(path) + strlen(suffix) + 1;
    char *name = malloc(size);
    if (!name) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a file's name");
    snprintf(name, size, "%s%s", path, suffix);
    *out = fopen(name, "we");
    int error = errno;
    free(name);
    return *out ? NULL : TN_ERROR(INVALID_ARGUMENT, "%s%s: %s", path, suffix, strerror(error));
}

static tn_status *close_file(FILE *f, const char *path)
{
    bool failed = ferror(f);
    failed |= fclose(f) != 0;
    return failed ? TN_ERROR(INTERNAL, "%s could not be written", path) : NULL;
}

tn_status *tn_trace_to_file(const tn_trace_snapshot *s, const char *path)
{
    FILE *f;
    size_t n;
    TN_TRY(open_file(path, "", &f));
    put_json(f, s);
    TN_TRY(close_file(f, path));
    row *rows = make_rows(s, &n);
    if (!rows) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for the table of a profile");
    tn_status *e = open_file(path, ".txt", &f);
    if (!e) {
        put_table(f, rows, n);
        e = close_file(f, path);
    }
    free(rows);
    return e;
}

/* ---- TENON_PROFILE ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t start_ns; /* 0: not begun */
static pid_t owner;       /* a forked child has its own profile to write, or none */

void tn_trace_file_start(void)
{
    if (!*tn_options_get()->profile) return;
    pthread_mutex_lock(&lock);
    if (!start_ns) {
        start_ns = tn_trace_start();
        owner = getpid();
    }
    pthread_mutex_unlock(&lock);
}

void tn_trace_file_write(void)
{
    const char *path = tn_options_get()->profile;
    if (!*path) return;
    pthread_mutex_lock(&lock);
    if (start_ns && owner == getpid()) {
        tn_trace_snapshot s;
        tn_status *e = tn_trace_take(start_ns, &s);
        if (!e) {
            e = tn_trace_to_file(&s, path);
            tn_trace_snapshot_free(&s);
        }
        if (e) tn_log(TN_LOG_ERROR, "base", "TENON_PROFILE: %s", tn_status_message(e));
        tn_status_free(e);
    }
    pthread_mutex_unlock(&lock);
}

/* Hosts that never destroy their client; after the labels' makers, before the labels go. */
__attribute__((destructor(102))) static void write_at_exit(void)
{
    tn_trace_file_write();
    if (start_ns && owner == getpid()) tn_trace_stop();
}
