/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - running checks, each in a process of its own, and telling what came out. */
#ifndef TN_CONFORMANCE_RUN_H
#define TN_CONFORMANCE_RUN_H

#include "conformance/check.h"

typedef enum {
    RESULT_PASSED,
    RESULT_FAILED,
    RESULT_SKIPPED,
    RESULT_CRASHED, /* died of a signal, or ended the process */
    RESULT_HUNG,
} outcome;

/* One check's. The strings are the list's, or constants. */
typedef struct {
    char id[32]; /* "66b", "1004:f32" */
    const char *chapter, *rule, *variant, *needs;
    outcome outcome;
    char *text; /* what the plugin did; "" */
    double seconds;
    bool known;      /* stands in the list of known failures */
    bool unexpected; /* a known failure that passes */
} result;

typedef struct {
    result *at;
    size_t n, room;
} results;

/* Runs the row's variants that `want` lists (NULL: all); appends to `out`. */
void run_row(const chapter *ch, const check_row *row, const char *id, const char *want,
             int timeout_s, results *out);
result *add_result(results *out);

const char *outcome_name(outcome o); /* "passed" */
bool is_failure(const result *r);    /* after known failures were taken into account */

/* Marks what stands in a file of known failures: an id a line, then words; # begins a comment. */
tn_status *apply_known(results *r, const char *path);
tn_status *write_known(const results *r, const char *path);

typedef struct {
    const char *plugin, *version, *platform;
    double seconds;
} subject;

void print_table(const results *r, const subject *s, bool all);
tn_status *write_json(const results *r, const subject *s, const char *path);
tn_status *write_junit(const results *r, const subject *s, const char *path);
tn_status *write_html(const results *r, const subject *s, const char *path);
/* Prints what differs between two JSON reports; 0: nothing, 1: something, 2: not readable. */
int print_diff(const char *a, const char *b);

#endif
