/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - process-wide settings, read from the environment once, at first use.
 *
 * The rows are in options.def. A value that cannot be understood leaves the default and is reported
 * as a log warning of topic "options". What belongs to one client or one compilation is a PJRT
 * option, not one of these.
 *
 * Threads: any. */
#ifndef TN_BASE_OPTIONS_H
#define TN_BASE_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
#define TN_OPTION_STRING(field, variable, fallback, doc)           const char *field;
#define TN_OPTION_INT(field, variable, fallback, least, most, doc) int64_t field;
#include "base/options.def"
    const char *misread; /* first variable whose value was not understood, or NULL */
} tn_options;

/* The settings of this process. Never NULL; valid until the process ends. */
const tn_options *tn_options_get(void);

/* Fills `out` by asking `get` for each variable (NULL or "" = default). Strings are those that
 * `get` returned, not copies. tn_options_get is this over the environment; tests call it with a
 * lookup of their own. */
void tn_options_read(const char *(*get)(const char *variable), tn_options *out);

/* One row for documentation and `tenon info`. */
typedef struct {
    const char *variable;
    const char *fallback; /* the default as text */
    const char *doc;
} tn_option_row;

/* All rows, in the order of options.def. */
const tn_option_row *tn_option_rows(size_t *n);

#endif
