/* SPDX-License-Identifier: Apache-2.0 */
/* trace_xspace.c - a recording as an XSpace, the protocol buffer of TensorFlow's and JAX's
 * profilers. Its plane has the prefix that their viewers show for devices they don't know. */
#include <stdlib.h>
#include <string.h>

#include "base/proto.h"
#include "base/trace.h"

#define PLANE "/device:CUSTOM:Tenon"

/* Field numbers of the messages. */
enum { XSPACE_PLANES = 1, XSPACE_WARNINGS = 3 };
enum { XPLANE_ID = 1, XPLANE_NAME, XPLANE_LINES, XPLANE_EVENT_METADATA, XPLANE_STAT_METADATA };
enum {
    XLINE_ID = 1,
    XLINE_NAME = 2,
    XLINE_TIMESTAMP_NS = 3,
    XLINE_EVENTS = 4,
    XLINE_DURATION_PS = 9,
    XLINE_DISPLAY_ID = 10,
    XLINE_DISPLAY_NAME = 11
};
enum { XEVENT_METADATA_ID = 1, XEVENT_OFFSET_PS = 2, XEVENT_DURATION_PS = 3, XEVENT_STATS = 4 };
enum { XSTAT_METADATA_ID = 1, XSTAT_INT64 = 4, XSTAT_STRING = 5 };
enum { METADATA_ID = 1, METADATA_NAME = 2, METADATA_DISPLAY_NAME = 4, METADATA_STATS = 5 };
enum { MAP_KEY = 1, MAP_VALUE = 2 };

/* The stats, by id; the names are those that viewers know. */
enum {
    STAT_SOURCE = 1,
    STAT_MODULE,
    STAT_CATEGORY,
    STAT_BYTES,
    STAT_FLOPS,
    STAT_SHAPE,
    STAT_COUNT
};
static const char *const stat_names[STAT_COUNT] = {
    [STAT_SOURCE] = "source",     [STAT_MODULE] = "hlo_module",
    [STAT_CATEGORY] = "category", [STAT_BYTES] = "bytes_accessed",
    [STAT_FLOPS] = "flops",       [STAT_SHAPE] = "shape_with_layout",
};

static void put_text(tn_proto_writer *w, uint32_t field, const char *text)
{
    tn_proto_put_bytes(w, field, text, strlen(text));
}

static void put_stat(tn_proto_writer *w, uint32_t field, int64_t id, const char *text)
{
    if (!*text) return;
    size_t stat = tn_proto_begin(w, field);
    tn_proto_put_int64(w, XSTAT_METADATA_ID, id);
    put_text(w, XSTAT_STRING, text);
    tn_proto_end(w, stat);
}

/* ---- Labels have numbers ---- */

typedef struct {
    const tn_trace_label **at; /* sorted by address */
    size_t n;
} label_list;

static int by_address(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

static tn_status *list_labels(const tn_trace_snapshot *s, label_list *out)
{
    size_t n = 0, k = 0;
    for (size_t i = 0; i < s->n_threads; i++) n += s->threads[i].n_events;
    out->at = malloc((n + 1) * sizeof *out->at);
    if (!out->at) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for the labels of a profile");
    for (size_t i = 0; i < s->n_threads; i++)
        for (size_t j = 0; j < s->threads[i].n_events; j++)
            out->at[k++] = s->threads[i].events[j].label;
    qsort(out->at, n, sizeof *out->at, by_address);
    out->n = 0;
    for (size_t i = 0; i < n; i++)
        if (out->n == 0 || out->at[out->n - 1] != out->at[i]) out->at[out->n++] = out->at[i];
    return NULL;
}

static int64_t number_of(const label_list *l, const tn_trace_label *label)
{
    const tn_trace_label **at = bsearch(&label, l->at, l->n, sizeof *l->at, by_address);
    return at - l->at + 1;
}

/* ---- The plane ---- */

static void put_number(tn_proto_writer *w, int64_t id, int64_t value)
{
    size_t stat = tn_proto_begin(w, XEVENT_STATS);
    tn_proto_put_int64(w, XSTAT_METADATA_ID, id);
    tn_proto_put_int64(w, XSTAT_INT64, value);
    tn_proto_end(w, stat);
}

static void put_events(tn_proto_writer *w, const tn_trace_snapshot *s, const tn_trace_thread *t,
                       const label_list *labels)
{
    for (size_t i = 0; i < t->n_events; i++) {
        const tn_trace_event *e = &t->events[i];
        size_t event = tn_proto_begin(w, XLINE_EVENTS);
        tn_proto_put_int64(w, XEVENT_METADATA_ID, number_of(labels, e->label));
        tn_proto_put_int64(w, XEVENT_OFFSET_PS, (int64_t)(e->start_ns - s->start_ns) * 1000);
        tn_proto_put_int64(w, XEVENT_DURATION_PS, (int64_t)(e->end_ns - e->start_ns) * 1000);
        if (e->bytes) put_number(w, STAT_BYTES, (int64_t)e->bytes);
        if (e->flops >= 1 && e->flops < 0x1p62) put_number(w, STAT_FLOPS, (int64_t)e->flops);
        tn_proto_end(w, event);
    }
}

static void put_line(tn_proto_writer *w, const tn_trace_snapshot *s, const tn_trace_thread *t,
                     const label_list *labels)
{
    size_t line = tn_proto_begin(w, XPLANE_LINES);
    tn_proto_put_int64(w, XLINE_ID, (int64_t)t->id);
    put_text(w, XLINE_NAME, t->name);
    tn_proto_put_int64(w, XLINE_TIMESTAMP_NS, (int64_t)(s->start_ns + s->epoch_ns));
    put_events(w, s, t, labels);
    tn_proto_put_int64(w, XLINE_DURATION_PS, (int64_t)(s->end_ns - s->start_ns) * 1000);
    tn_proto_put_int64(w, XLINE_DISPLAY_ID, (int64_t)t->id);
    put_text(w, XLINE_DISPLAY_NAME, t->name);
    tn_proto_end(w, line);
}

static void put_event_metadata(tn_proto_writer *w, int64_t id, const tn_trace_label *l)
{
    size_t entry = tn_proto_begin(w, XPLANE_EVENT_METADATA);
    tn_proto_put_int64(w, MAP_KEY, id);
    size_t value = tn_proto_begin(w, MAP_VALUE);
    tn_proto_put_int64(w, METADATA_ID, id);
    put_text(w, METADATA_NAME, l->name);
    put_text(w, METADATA_DISPLAY_NAME, l->name);
    put_stat(w, METADATA_STATS, STAT_SOURCE, l->source);
    put_stat(w, METADATA_STATS, STAT_MODULE, l->program);
    put_stat(w, METADATA_STATS, STAT_CATEGORY, tn_trace_kind_names[l->kind]);
    put_stat(w, METADATA_STATS, STAT_SHAPE, l->shape);
    tn_proto_end(w, value);
    tn_proto_end(w, entry);
}

static void put_stat_metadata(tn_proto_writer *w, int64_t id)
{
    size_t entry = tn_proto_begin(w, XPLANE_STAT_METADATA);
    tn_proto_put_int64(w, MAP_KEY, id);
    size_t value = tn_proto_begin(w, MAP_VALUE);
    tn_proto_put_int64(w, METADATA_ID, id);
    put_text(w, METADATA_NAME, stat_names[id]);
    tn_proto_end(w, value);
    tn_proto_end(w, entry);
}

tn_status *tn_trace_to_xspace(const tn_trace_snapshot *s, void **data, size_t *size)
{
    label_list labels;
    TN_TRY(list_labels(s, &labels));
    tn_proto_writer w = {0};
    size_t plane = tn_proto_begin(&w, XSPACE_PLANES);
    tn_proto_put_int64(&w, XPLANE_ID, 1);
    put_text(&w, XPLANE_NAME, PLANE);
    for (size_t i = 0; i < s->n_threads; i++) put_line(&w, s, &s->threads[i], &labels);
    for (size_t i = 0; i < labels.n; i++) put_event_metadata(&w, (int64_t)i + 1, labels.at[i]);
    for (int64_t i = 1; i < STAT_COUNT; i++) put_stat_metadata(&w, i);
    tn_proto_end(&w, plane);
    if (s->dropped)
        put_text(&w, XSPACE_WARNINGS, "Tenon had no room for some of the events of this profile");
    free(labels.at);
    return tn_proto_finish(&w, data, size);
}
