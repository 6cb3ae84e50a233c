/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the options of a client, read from named values. */
#ifndef TN_RUNTIME_OPTIONS_H
#define TN_RUNTIME_OPTIONS_H

#include "base/named_value.h"
#include "driver/registry.h"

typedef struct {
#define OPTION_TEXT(name, doc)                       char *name;
#define OPTION_INT(name, fallback, least, most, doc) int64_t name;
#define OPTION_BOOL(name, fallback, doc)             bool name;
#include "runtime/options.def"
} tn_client_options;

/* Reads the options, and finds the driver: that of the option, or `driver`, or "cpu". Errors: those
 * of tn_client_create. */
tn_status *tn_client_options_read(const char *driver, const tn_named_value *values, size_t n,
                                  tn_client_options *out, tn_driver *out_driver) TN_MUST_USE;
void tn_client_options_release(tn_client_options *o);

/* One row for documentation. */
typedef struct {
    const char *name, *kind, *doc;
} tn_client_option_row;
const tn_client_option_row *tn_client_option_rows(size_t *n);

#endif
