/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const tn_option_row rows[] = {
#define TN_OPTION_STRING(field, variable, fallback, doc)           {variable, fallback, doc},
#define TN_OPTION_INT(field, variable, fallback, least, most, doc) {variable, #fallback, doc},
#include "base/options.def"
};

const tn_option_row *tn_option_rows(size_t *n)
{
    *n = sizeof rows / sizeof rows[0];
    return rows;
}

static bool read_int(const char *text, int64_t least, int64_t most, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most) return false;
    *out = value;
    return true;
}

void tn_options_read(const char *(*get)(const char *variable), tn_options *out)
{
    const char *text;
    out->misread = NULL;
#define TN_OPTION_STRING(field, variable, fallback, doc)                                           \
    text = get(variable);                                                                          \
    out->field = text && *text ? text : fallback;
#define TN_OPTION_INT(field, variable, fallback, least, most, doc)                                 \
    text = get(variable);                                                                          \
    out->field = fallback;                                                                         \
    if (text && *text && !read_int(text, least, most, &out->field) && !out->misread)               \
        out->misread = variable;
#include "base/options.def"
}

static tn_options process_options;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Copies, kept for the process: a later setenv may free what getenv returned. */
static const char *copy_of_environment(const char *variable)
{
    static char *copies[sizeof rows / sizeof rows[0]];
    static size_t n;
    const char *text = getenv(variable);
    return text ? copies[n++] = strdup(text) : NULL;
}

static void read_environment(void)
{
    tn_options_read(copy_of_environment, &process_options);
}

const tn_options *tn_options_get(void)
{
    static atomic_bool reported;
    pthread_once(&once, read_environment);
    /* The log reads its own option through here, hence the exchange before the call. */
    if (process_options.misread && !atomic_exchange(&reported, true))
        tn_log(TN_LOG_WARNING, "options",
               "%s has a value that is not understood; using the default", process_options.misread);
    return &process_options;
}
