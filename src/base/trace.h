/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - what ran when, on which thread: events for profilers.
 *
 *     uint64_t start = tn_trace_begin();          // 0 while nobody records
 *     ... work ...
 *     if (start) tn_trace_end(start, tn_trace_label(TN_TRACE_OP, "dot", source, program), bytes);
 *
 * While nobody records, an event costs one relaxed load. While somebody does, a thread appends to a
 * list of its own, up to a bound over all threads; what comes later is counted as dropped. Several
 * recordings may overlap; each sees the events that began and ended within it.
 *
 * Threads: any, except that a recording belongs to one thread at a time. */
#ifndef TN_BASE_TRACE_H
#define TN_BASE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon/status.h"

/* X(NAME, "name") */
#define TN_TRACE_KINDS(X)                                                                          \
    X(OP, "op")             /* a step of a program */                                              \
    X(RUN, "run")           /* a whole program */                                                  \
    X(COMPILE, "compile")   /* a compilation or a phase of one */                                  \
    X(TRANSFER, "transfer") /* bytes to, from or between memories */                               \
    X(PART, "part")         /* a worker's part of an op */

typedef enum {
#define X(NAME, name) TN_TRACE_##NAME,
    TN_TRACE_KINDS(X)
#undef X
        TN_TRACE_KIND_COUNT
} tn_trace_kind;
extern const char *const tn_trace_kind_names[TN_TRACE_KIND_COUNT];

/* What events of one sort have in common. Texts are never NULL. */
typedef struct {
    tn_trace_kind kind;
    const char *name;    /* "dot_general" */
    const char *source;  /* "model.py:12:3 (jit(f)/dot_general)", or "" */
    const char *program; /* "jit_f", or "" */
    const char *shape;   /* of what it makes, "f32[2,3]", or "" */
} tn_trace_label;

typedef struct {
    const tn_trace_label *label;
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    uint64_t bytes;            /* that it read and wrote; 0: not told */
    double flops;              /* operations on elements, a multiply-add being two; 0: not told */
} tn_trace_event;

/* The number of recordings under way. */
extern atomic_uint tn_trace_recordings;

static inline bool tn_trace_is_on(void)
{
    return atomic_load_explicit(&tn_trace_recordings, memory_order_relaxed) != 0;
}

/* Now, in ns of CLOCK_MONOTONIC. */
uint64_t tn_trace_now(void);

static inline uint64_t tn_trace_begin(void)
{
    return tn_trace_is_on() ? tn_trace_now() : 0;
}

/* The one label with these contents; the texts (NULL: "") are copied, and it lives as long as the
 * library. NULL without memory, which tn_trace_end takes for nothing to record. */
const tn_trace_label *tn_trace_label_like(const tn_trace_label *contents);

static inline const tn_trace_label *tn_trace_label_of(tn_trace_kind kind, const char *name,
                                                      const char *source, const char *program)
{
    const tn_trace_label contents = {kind, name, source, program, NULL};
    return tn_trace_label_like(&contents);
}

/* Adds the event that began at `start` (0: none) and ends now. */
void tn_trace_end_work(uint64_t start, const tn_trace_label *label, uint64_t bytes, double flops);

static inline void tn_trace_end(uint64_t start, const tn_trace_label *label, uint64_t bytes)
{
    tn_trace_end_work(start, label, bytes, 0);
}

/* The same where the label is needed only if somebody records. */
#define TN_TRACE_END(start, kind, name, source, program, bytes)                                    \
    do {                                                                                           \
        if (start) tn_trace_end(start, tn_trace_label_of(kind, name, source, program), bytes);     \
    } while (0)

/* What the calling thread works on: workers that help it label their parts by it. */
const tn_trace_label *tn_trace_current(void);
void tn_trace_set_current(const tn_trace_label *label);

/* ---- Recordings ---- */

typedef struct {
    uint64_t id;   /* the system's id of the thread */
    char name[16]; /* as debuggers show it */
    tn_trace_event *events;
    size_t n_events;
} tn_trace_thread;

/* Copied out of a recording; labels are shared. */
typedef struct {
    tn_trace_thread *threads; /* only those with events */
    size_t n_threads;
    uint64_t start_ns, end_ns;
    uint64_t epoch_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
    uint64_t dropped;  /* events for which there was no room */
} tn_trace_snapshot;

/* Begins a recording; gives its start. */
uint64_t tn_trace_start(void);
/* Ends one recording. When it was the last, its events are forgotten: take them before. */
void tn_trace_stop(void);
/* The events since `start_ns`, by thread, in the order in which they ended. */
tn_status *tn_trace_take(uint64_t start_ns, tn_trace_snapshot *out) TN_MUST_USE;
void tn_trace_snapshot_free(tn_trace_snapshot *s);

/* ---- Forms ---- */

/* As a serialized XSpace with one plane, "/device:CUSTOM:Tenon", and a line per thread. The caller
 * frees it with free(). */
tn_status *tn_trace_to_xspace(const tn_trace_snapshot *s, void **data, size_t *size) TN_MUST_USE;

/* Writes `path` as JSON in Chrome's trace format, and beside it `path`.txt, a table with the time
 * per program and op, the dearest first. */
tn_status *tn_trace_to_file(const tn_trace_snapshot *s, const char *path) TN_MUST_USE;

/* TENON_PROFILE=path: begins the recording for the file, if it is asked for and was not begun yet.
 */
void tn_trace_file_start(void);
/* Writes what was recorded so far. Also done when the process ends. */
void tn_trace_file_write(void);

#endif
