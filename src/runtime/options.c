/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const tn_client_option_row rows[] = {
#define OPTION_TEXT(name, doc)                       {#name, "string", doc},
#define OPTION_INT(name, fallback, least, most, doc) {#name, "int64", doc},
#define OPTION_BOOL(name, fallback, doc)             {#name, "bool", doc},
#include "runtime/options.def"
};

const tn_client_option_row *tn_client_option_rows(size_t *n)
{
    *n = sizeof rows / sizeof rows[0];
    return rows;
}

static tn_status *expect(const tn_named_value *v, tn_value_kind kind)
{
    if (v->kind == kind) return NULL;
    return TN_ERROR(INVALID_ARGUMENT, "option %.*s: expected %s, got %s", (int)v->name_size,
                    v->name, tn_value_kind_name(kind), tn_value_kind_name(v->kind));
}

static tn_status *read_text(const tn_named_value *v, char **out)
{
    TN_TRY(expect(v, TN_VALUE_STRING));
    char *text = strndup(v->string, v->size);
    if (!text) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for an option");
    free(*out);
    *out = text;
    return NULL;
}

static tn_status *read_int(const tn_named_value *v, int64_t least, int64_t most, int64_t *out)
{
    TN_TRY(expect(v, TN_VALUE_INT));
    if (v->integer < least || v->integer > most)
        return TN_ERROR(INVALID_ARGUMENT,
                        "option %.*s: %" PRId64 " is not in [%" PRId64 ", %" PRId64 "]",
                        (int)v->name_size, v->name, v->integer, least, most);
    *out = v->integer;
    return NULL;
}

static tn_status *read_bool(const tn_named_value *v, bool *out)
{
    TN_TRY(expect(v, TN_VALUE_BOOL));
    *out = v->boolean;
    return NULL;
}

static bool is_named(const tn_named_value *v, const char *name)
{
    return v->name_size == strlen(name) && memcmp(v->name, name, v->name_size) == 0;
}

/* *known: whether it is one of ours. */
static tn_status *read_one(const tn_named_value *v, tn_client_options *o, bool *known)
{
    *known = true;
#define OPTION_TEXT(field, doc)                                                                    \
    if (is_named(v, #field)) return read_text(v, &o->field);
#define OPTION_INT(field, fallback, least, most, doc)                                              \
    if (is_named(v, #field)) return read_int(v, least, most, &o->field);
#define OPTION_BOOL(field, fallback, doc)                                                          \
    if (is_named(v, #field)) return read_bool(v, &o->field);
#include "runtime/options.def"
    *known = false;
    return NULL;
}

static tn_status *read_all(const char *driver, const tn_named_value *values, size_t n,
                           tn_client_options *o, tn_driver *out_driver)
{
    bool known;
    for (size_t i = 0; i < n; i++) TN_TRY(read_one(&values[i], o, &known));
    TN_TRY(tn_driver_find(o->driver ? o->driver : driver ? driver : "cpu", out_driver));

    tn_client_options ignored = {0};
    for (size_t i = 0; i < n; i++) {
        tn_status *s = read_one(&values[i], &ignored, &known);
        if (!s && !known) s = tn_driver_check_option(out_driver, &values[i], &known);
        if (!s && !known)
            s = TN_ERROR(INVALID_ARGUMENT, "no such option: \"%.*s\" (driver %s)",
                         (int)values[i].name_size, values[i].name, out_driver->name);
        if (s) {
            tn_client_options_release(&ignored);
            return s;
        }
    }
    tn_client_options_release(&ignored);

    if (o->num_nodes > 1)
        return TN_ERROR(UNIMPLEMENTED, "num_nodes %" PRId64 ": jobs of several processes",
                        o->num_nodes);
    return NULL;
}

tn_status *tn_client_options_read(const char *driver, const tn_named_value *values, size_t n,
                                  tn_client_options *out, tn_driver *out_driver)
{
    *out = (tn_client_options){
#define OPTION_TEXT(name, doc)                       .name = NULL,
#define OPTION_INT(name, fallback, least, most, doc) .name = fallback,
#define OPTION_BOOL(name, fallback, doc)             .name = fallback,
#include "runtime/options.def"
    };
    tn_status *s = read_all(driver, values, n, out, out_driver);
    if (s) tn_client_options_release(out);
    else if (out->log) tn_log_configure(out->log);
    return s;
}

void tn_client_options_release(tn_client_options *o)
{
#define OPTION_TEXT(field, doc)                                                                    \
    free(o->field);                                                                                \
    o->field = NULL;
#define OPTION_INT(...)
#define OPTION_BOOL(...)
#include "runtime/options.def"
}
