/* SPDX-License-Identifier: Apache-2.0 */
/* profile_table.c - a recording in the form of TensorFlow's profilers, as a table of steps. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/proto.h"
#include "host/cli/profile.h"

/* What an event is called, and the sums over the events that are called so. */
typedef struct {
    int64_t id;
    const char *name, *category, *source, *shape, *op;
    double n, ns, bytes, flops;
    bool names_op; /* an event of it does */
} label;

typedef struct {
    int64_t id;
    const char *name;
} stat_name;

typedef struct {
    tn_arena *arena;
    label *labels;
    stat_name *stats;
    size_t n_labels, label_capacity, n_stats, stat_capacity;
} plane;

#define GROW(p, array, n, capacity)                                                                \
    do {                                                                                           \
        if ((p)->n < (p)->capacity) break;                                                         \
        size_t more_ = (p)->capacity ? 2 * (p)->capacity : 64;                                     \
        void *at_ = tn_alloc_array((p)->arena, more_, sizeof *(p)->array);                         \
        if ((p)->n) memcpy(at_, (p)->array, (p)->n * sizeof *(p)->array);                          \
        (p)->array = at_;                                                                          \
        (p)->capacity = more_;                                                                     \
    } while (0)

/* Both begin with their id. */
static int by_id(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* ---- Stats ---- */

typedef struct {
    const char *name, *text; /* "" */
    double number;
} stat;

static const char *name_of_stat(const plane *p, int64_t id)
{
    const stat_name *s = bsearch(&id, p->stats, p->n_stats, sizeof *p->stats, by_id);
    return s ? s->name : "";
}

static tn_status *read_stat(const plane *p, tn_proto_reader r, stat *out)
{
    *out = (stat){"", "", 0};
    for (;;) {
        bool more;
        int64_t n = 0;
        TN_TRY(tn_proto_next(&r, &more));
        if (!more) return NULL;
        switch (r.field) {
        case 1:
            TN_TRY(tn_proto_int64(&r, "metadata_id", &n));
            out->name = name_of_stat(p, n);
            break;
        case 2: TN_TRY(tn_proto_double(&r, "double_value", &out->number)); break;
        case 3:
        case 4:
            TN_TRY(tn_proto_int64(&r, "value", &n));
            out->number = (double)n;
            break;
        case 5: TN_TRY(tn_proto_string(&r, "str_value", p->arena, &out->text)); break;
        case 7:
            TN_TRY(tn_proto_int64(&r, "ref_value", &n));
            out->text = name_of_stat(p, n);
            break;
        }
    }
}

/* ---- Labels ---- */

static tn_status *read_label(const plane *p, tn_proto_reader r, label *out)
{
    for (;;) {
        bool more;
        tn_proto_reader inner;
        stat s;
        TN_TRY(tn_proto_next(&r, &more));
        if (!more) return NULL;
        switch (r.field) {
        case 1: TN_TRY(tn_proto_int64(&r, "id", &out->id)); break;
        case 2: TN_TRY(tn_proto_string(&r, "name", p->arena, &out->name)); break;
        case 5:
            TN_TRY(tn_proto_message(&r, "stats", "XStat", &inner));
            TN_TRY(read_stat(p, inner, &s));
            if (!strcmp(s.name, "category")) out->category = s.text;
            else if (!strcmp(s.name, "source")) out->source = s.text;
            else if (!strcmp(s.name, "shape_with_layout")) out->shape = s.text;
            else if (!strcmp(s.name, "hlo_op")) out->op = s.text;
            break;
        }
    }
}

/* The value of a map's entry. */
static tn_status *read_entry(const tn_proto_reader *r, const char *type, tn_proto_reader *value)
{
    tn_proto_reader entry;
    TN_TRY(tn_proto_message(r, "entry", "entry of a map", &entry));
    tn_proto_read(value, type, NULL, 0);
    for (;;) {
        bool more;
        TN_TRY(tn_proto_next(&entry, &more));
        if (!more) return NULL;
        if (entry.field == 2) TN_TRY(tn_proto_message(&entry, "value", type, value));
    }
}

static tn_status *read_stat_name(plane *p, tn_proto_reader r)
{
    stat_name s = {0, ""};
    for (;;) {
        bool more;
        TN_TRY(tn_proto_next(&r, &more));
        if (!more) break;
        if (r.field == 1) TN_TRY(tn_proto_int64(&r, "id", &s.id));
        if (r.field == 2) TN_TRY(tn_proto_string(&r, "name", p->arena, &s.name));
    }
    GROW(p, stats, n_stats, stat_capacity);
    p->stats[p->n_stats++] = s;
    return NULL;
}

/* The names of stats come before the labels that have some, whatever their order in the message. */
static tn_status *read_names(plane *p, const tn_proto_reader *whole)
{
    bool more;
    tn_proto_reader r = *whole, value;
    for (;;) {
        TN_TRY(tn_proto_next(&r, &more));
        if (!more) break;
        if (r.field != 5) continue;
        TN_TRY(read_entry(&r, "XStatMetadata", &value));
        TN_TRY(read_stat_name(p, value));
    }
    if (p->n_stats) qsort(p->stats, p->n_stats, sizeof *p->stats, by_id);
    for (r = *whole;;) {
        TN_TRY(tn_proto_next(&r, &more));
        if (!more) break;
        if (r.field != 4) continue;
        label l = {.name = "", .category = "", .source = "", .shape = "", .op = ""};
        TN_TRY(read_entry(&r, "XEventMetadata", &value));
        TN_TRY(read_label(p, value, &l));
        GROW(p, labels, n_labels, label_capacity);
        p->labels[p->n_labels++] = l;
    }
    if (p->n_labels) qsort(p->labels, p->n_labels, sizeof *p->labels, by_id);
    return NULL;
}

/* ---- Events ---- */

static tn_status *read_event(const plane *p, tn_proto_reader r)
{
    int64_t id = 0, ps = 0;
    double bytes = 0, flops = 0;
    bool names_op = false;
    for (;;) {
        bool more;
        tn_proto_reader inner;
        stat s;
        TN_TRY(tn_proto_next(&r, &more));
        if (!more) break;
        switch (r.field) {
        case 1: TN_TRY(tn_proto_int64(&r, "metadata_id", &id)); break;
        case 3: TN_TRY(tn_proto_int64(&r, "duration_ps", &ps)); break;
        case 4:
            TN_TRY(tn_proto_message(&r, "stats", "XStat", &inner));
            TN_TRY(read_stat(p, inner, &s));
            if (!strcmp(s.name, "bytes_accessed")) bytes = s.number;
            else if (!strcmp(s.name, "flops")) flops = s.number;
            else if (!strcmp(s.name, "hlo_op")) names_op = true;
            break;
        }
    }
    label *l = bsearch(&id, p->labels, p->n_labels, sizeof *p->labels, by_id);
    if (!l) return NULL;
    l->n++;
    l->ns += (double)ps / 1e3;
    l->bytes += bytes;
    l->flops += flops;
    l->names_op |= names_op;
    return NULL;
}

static tn_status *read_line(const plane *p, tn_proto_reader r)
{
    for (;;) {
        bool more;
        tn_proto_reader inner;
        TN_TRY(tn_proto_next(&r, &more));
        if (!more) return NULL;
        if (r.field != 4) continue;
        TN_TRY(tn_proto_message(&r, "events", "XEvent", &inner));
        TN_TRY(read_event(p, inner));
    }
}

static tn_status *read_plane(plane *p, tn_proto_reader whole)
{
    TN_TRY(read_names(p, &whole));
    for (tn_proto_reader r = whole;;) {
        bool more;
        tn_proto_reader inner;
        TN_TRY(tn_proto_next(&r, &more));
        if (!more) return NULL;
        if (r.field != 3) continue;
        TN_TRY(tn_proto_message(&r, "lines", "XLine", &inner));
        TN_TRY(read_line(p, inner));
    }
}

/* ---- The table ---- */

typedef struct {
    const label **at;
    size_t n, capacity;
    tn_arena *arena;
} rows;

static bool is_step(const label *l)
{
    return !strcmp(l->category, "op") || *l->op || l->names_op;
}

static int by_time(const void *x, const void *y)
{
    const label *a = *(const label *const *)x, *b = *(const label *const *)y;
    return (a->ns < b->ns) - (a->ns > b->ns);
}

static double highest(double a, double b)
{
    return a > b ? a : b;
}

/* The least time in ns that the machine needs for it, and what holds it. */
static double least_ns(const label *l, const tn_machine_limits *m, const char **by)
{
    bool doubles = !strncmp(l->shape, "f64", 3) || !strncmp(l->shape, "c128", 4);
    double memory = l->bytes / highest(m->read_bytes, m->add_bytes) * 1e9;
    double compute = l->flops / (doubles ? m->f64_flops : m->f32_flops) * 1e9;
    *by = compute > memory ? "compute" : "memory";
    return highest(memory, compute);
}

static void print_amount(FILE *to, double amount)
{
    if (amount > 0) fprintf(to, "%10.4g ", amount);
    else fprintf(to, "%10s ", "");
}

static void print_row(const label *l, int runs, double all_ns, const tn_machine_limits *m, FILE *to)
{
    const char *by = "";
    double least = least_ns(l, m, &by);
    fprintf(to, "%10.2f %6.1f%% %7.4g ", l->ns / runs / 1e3, all_ns > 0 ? 100 * l->ns / all_ns : 0,
            l->n / runs);
    print_amount(to, l->bytes / runs / 1e6);
    print_amount(to, l->flops / runs / 1e6);
    print_amount(to, l->ns > 0 ? l->bytes / l->ns : 0);
    print_amount(to, l->ns > 0 ? l->flops / l->ns : 0);
    if (least > 0 && l->ns > 0) fprintf(to, "%6.0f%% %-8s", 100 * least / l->ns, by);
    else fprintf(to, "%7s %-8s", "", "");
    fprintf(to, " %s%s%s%s%s\n", l->name, *l->shape ? " " : "", l->shape, *l->source ? "  " : "",
            l->source);
}

static void print_rows(const rows *r, int runs, double run_ms, const tn_machine_limits *m, FILE *to)
{
    double ns = 0;
    for (size_t i = 0; i < r->n; i++) ns += r->at[i]->ns;
    fprintf(to, "profile: mean of %d run%s, %.3f ms each, %.3f ms of it in steps\n", runs,
            runs == 1 ? "" : "s", run_ms, ns / runs / 1e6);
    fprintf(to,
            "limits, measured with %d thread%s: %.1f Gflop/s of f32, %.1f of f64; memory %.1f GB/s "
            "to read, %.1f to add\n",
            m->threads, m->threads == 1 ? "" : "s", m->f32_flops / 1e9, m->f64_flops / 1e9,
            m->read_bytes / 1e9, m->add_bytes / 1e9);
    fprintf(to, "%10s %7s %7s %10s %10s %10s %10s %7s %-8s %s\n", "us", "share", "calls", "MB",
            "Mflop", "GB/s", "Gflop/s", "limit", "held by", "step");
    for (size_t i = 0; i < r->n; i++) print_row(r->at[i], runs, ns, m, to);
}

static void choose_rows(const plane *p, bool steps, rows *out)
{
    for (size_t i = 0; i < p->n_labels; i++) {
        const label *l = &p->labels[i];
        if (l->n < 1 || (steps && !is_step(l))) continue;
        GROW(out, at, n, capacity);
        out->at[out->n++] = l;
    }
}

typedef struct {
    const void *xspace;
    size_t size;
    rows *out;
} reading;

static tn_status *read_all(void *ctx)
{
    const reading *all = ctx;
    rows *out = all->out;
    enum { MOST_PLANES = 64 };
    plane planes[MOST_PLANES];
    size_t n = 0;
    tn_proto_reader r, inner;
    tn_proto_read(&r, "XSpace", all->xspace, all->size);
    for (;;) {
        bool more;
        TN_TRY(tn_proto_next(&r, &more));
        if (!more) break;
        if (r.field != 1 || n == MOST_PLANES) continue;
        planes[n] = (plane){.arena = out->arena};
        TN_TRY(tn_proto_message(&r, "planes", "XPlane", &inner));
        TN_TRY(read_plane(&planes[n++], inner));
    }
    for (size_t i = 0; i < n; i++) choose_rows(&planes[i], true, out);
    for (size_t i = 0; i < n && !out->n; i++) choose_rows(&planes[i], false, out);
    return NULL;
}

tn_status *tn_cli_profile_print(const void *xspace, size_t size, int runs, double run_ms,
                                const tn_machine_limits *limits, FILE *to)
{
    tn_arena *a = tn_arena_new();
    if (!a) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    rows r = {.arena = a};
    reading all = {xspace, size, &r};
    tn_status *s = tn_arena_run(a, read_all, &all);
    if (!s && !r.n) s = TN_ERROR(NOT_FOUND, "the plugin's profiler recorded no event of the runs");
    if (!s) {
        qsort(r.at, r.n, sizeof *r.at, by_time);
        print_rows(&r, runs, run_ms, limits, to);
    }
    tn_arena_free(a);
    return s;
}
