/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - runs a recorded session on a plugin. */
#ifndef TN_HOST_REPLAY_H
#define TN_HOST_REPLAY_H

#include "tenon/host.h"
#include "tenon/session.h"

typedef struct {
    double tolerance; /* 0: bit for bit; else |a - b| <= t + t * |a| for floats */
    bool verbose;     /* a line per call, to stdout */
    const bool *keep; /* [session->n] which calls to make; NULL: all */
    /* Not NULL: stops before call `freeze_at`, and writes the session that goes on from there: what
     * the later calls use comes in as arrays, instead of being computed. */
    FILE *freeze_to;
    size_t freeze_at;
} tn_replay_options;

typedef struct {
    size_t made, left_out;   /* left out: what they need was not made */
    size_t compared, differ; /* arrays read */
    size_t other_codes;      /* calls that gave another code than recorded */
    double worst;            /* the greatest error of a float beside max(1, |recorded|) */
    /* The first call that gave an error or differed: its place; SIZE_MAX: none. */
    size_t first;
    char signature[64]; /* "RUN INVALID_ARGUMENT", "GET differs" */
    char what[400];
} tn_replay_result;

tn_status *tn_replay(tn_plugin *p, const tn_session *s, const tn_replay_options *options,
                     tn_replay_result *out) TN_MUST_USE;

/* How two arrays of one type and shape differ, element by element. */
typedef struct {
    size_t first;      /* element; SIZE_MAX: none */
    size_t n;          /* how many */
    double worst;      /* error beside max(1, |a|); infinity where only one is a NaN */
    uint64_t most_ulp; /* of floats; UINT64_MAX: not comparable so */
} tn_array_difference;
tn_array_difference tn_array_compare(const tn_array *a, const tn_array *b, double tolerance);
/* Writes element i as text. */
void tn_array_element_text(const tn_array *a, size_t i, char *text, size_t size);

#endif
