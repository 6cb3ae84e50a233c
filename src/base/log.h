/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - one function that writes a line to stderr; silent unless TN_LOG asks.
 *
 * TN_LOG is a comma-separated list of LEVEL (all topics), TOPIC:LEVEL or TOPIC (= TOPIC:debug). A
 * topic's own rule beats the one for all topics; of two rules for one topic the later counts.
 * Unknown words are ignored. A topic is the folder's name ("runtime", "passes", "kernels"). Never
 * called in a hot path.
 *
 * Threads: any; a line is written with one write(2), so lines don't mix. */
#ifndef TN_BASE_LOG_H
#define TN_BASE_LOG_H

#include <stdbool.h>

#include "tenon/status.h"

/* X(NAME, "name"), most severe first */
#define TN_LOG_LEVELS(X)                                                                           \
    X(OFF, "off")                                                                                  \
    X(ERROR, "error")                                                                              \
    X(WARNING, "warning")                                                                          \
    X(INFO, "info")                                                                                \
    X(DEBUG, "debug")

typedef enum {
#define X(NAME, name) TN_LOG_##NAME,
    TN_LOG_LEVELS(X)
#undef X
} tn_log_level;

/* Writes "tenon <topic> <level>: <message>\n"; longer than 2 KiB is cut. */
void tn_log(tn_log_level level, const char *topic, const char *fmt, ...) TN_PRINTF(3, 4);

/* Whether tn_log would write: guards work that only the message needs. */
bool tn_log_enabled(tn_log_level level, const char *topic);

/* Replaces what TN_LOG said. */
void tn_log_configure(const char *rules);

#endif
