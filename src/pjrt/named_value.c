/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/named_value.h"

#include <stdlib.h>

/* For %.*s. */
#define NAME(v) (int)((v)->name_size < 256 ? (v)->name_size : 256), (v)->name

static tn_status *take(const PJRT_NamedValue *from, tn_named_value *to)
{
    *to = (tn_named_value){.name = from->name,
                           .name_size = from->name_size,
                           .kind = (tn_value_kind)from->type,
                           .size = 1};
    if (!from->name) return TN_ERROR(INVALID_ARGUMENT, "a named value has no name");
    switch (from->type) {
    case PJRT_NamedValue_kString:
        to->string = from->string_value;
        to->size = from->value_size;
        if (to->size == 0) to->string = "";
        break;
    case PJRT_NamedValue_kInt64: to->integer = from->int64_value; return NULL;
    case PJRT_NamedValue_kInt64List:
        to->integers = from->int64_array_value;
        to->size = from->value_size;
        if (to->size == 0) return NULL;
        break;
    case PJRT_NamedValue_kFloat: to->real = from->float_value; return NULL;
    case PJRT_NamedValue_kBool: to->boolean = from->bool_value; return NULL;
    default:
        return TN_ERROR(INVALID_ARGUMENT, "named value \"%.*s\": there is no type %d", NAME(from),
                        (int)from->type);
    }
    if (!to->string) return TN_ERROR(INVALID_ARGUMENT, "named value \"%.*s\" is NULL", NAME(from));
    return NULL;
}

tn_status *tn_pjrt_take_values(const PJRT_NamedValue *values, size_t n, tn_named_value **out)
{
    *out = NULL;
    if (n == 0) return NULL;
    tn_named_value *list = calloc(n, sizeof *list);
    if (!list) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu named values", n);
    for (size_t i = 0; i < n; i++) {
        PJRT_NamedValue value;
        tn_status *s = TN_PJRT_TAKE_AT(PJRT_NamedValue, value_size, values, i, &value);
        if (!s) s = take(&value, &list[i]);
        if (s) {
            free(list);
            return s;
        }
    }
    *out = list;
    return NULL;
}

static void give(const tn_named_value *from, PJRT_NamedValue *to)
{
    *to = (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                            .name = from->name,
                            .name_size = from->name_size,
                            .type = (PJRT_NamedValue_Type)from->kind,
                            .value_size = from->size};
    switch (from->kind) {
    case TN_VALUE_STRING: to->string_value = from->string; break;
    case TN_VALUE_INT: to->int64_value = from->integer; break;
    case TN_VALUE_INT_LIST: to->int64_array_value = from->integers; break;
    case TN_VALUE_FLOAT: to->float_value = from->real; break;
    case TN_VALUE_BOOL: to->bool_value = from->boolean; break;
    }
}

tn_status *tn_pjrt_give_values(const tn_named_value *values, size_t n, PJRT_NamedValue **out)
{
    *out = malloc((n ? n : 1) * sizeof **out);
    if (!*out) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu named values", n);
    for (size_t i = 0; i < n; i++) give(&values[i], &(*out)[i]);
    return NULL;
}

tn_status *tn_pjrt_take_payload(const PJRT_NamedValue *values, size_t n, tn_status **s)
{
    tn_named_value *list;
    tn_status *wrong = tn_pjrt_take_values(values, n, &list);
    for (size_t i = 0; i < n && !wrong; i++) {
        const tn_named_value *v = &list[i];
        if (v->kind == TN_VALUE_STRING)
            *s = tn_status_add_payload(*s, v->name, v->name_size, v->string, v->size);
        else
            wrong = TN_ERROR(INVALID_ARGUMENT, "payload \"%.*s\": expected string, got %s", NAME(v),
                             tn_value_kind_name(v->kind));
    }
    if (wrong) {
        tn_status_free(*s);
        *s = NULL;
    }
    free(list);
    return wrong;
}
