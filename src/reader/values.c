/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/values.h"

#include <inttypes.h>
#include <string.h>

tn_status *tn_values_open(tn_value_scopes *s, const tn_cursor *c, uint64_t claimed)
{
    if (s->depth > TN_REGION_DEPTH)
        return tn_cursor_unsupported(c, "regions nested more than %d deep", TN_REGION_DEPTH);
    if (claimed > tn_cursor_left(c))
        return tn_cursor_error(c, "a region of %" PRIu64 " values in %zu bytes", claimed,
                               tn_cursor_left(c));
    tn_value_frame *f = &s->frames[s->depth];
    f->base = 0;
    if (s->depth > s->scope) f->base = f[-1].base + f[-1].claimed;
    f->claimed = claimed;
    f->defined = 0;
    s->depth++;
    return NULL;
}

tn_status *tn_values_close(tn_value_scopes *s, const tn_cursor *c)
{
    const tn_value_frame *f = &s->frames[--s->depth];
    if (f->defined == f->claimed) return NULL;
    return tn_cursor_error(c, "a region defines %zu values and claims %" PRIu64, f->defined,
                           f->claimed);
}

tn_status *tn_values_define(tn_value_scopes *s, const tn_cursor *c, tn_value *v)
{
    if (s->depth == s->scope)
        return tn_cursor_error(c, "a value is defined outside of every region");
    tn_value_frame *f = &s->frames[s->depth - 1];
    if (f->defined == f->claimed)
        return tn_cursor_error(c, "a region defines more than the %" PRIu64 " values it claims",
                               f->claimed);
    if (f->defined == f->capacity) {
        /* Grown by what is defined and not by what is claimed, which may be a lie. */
        size_t capacity = f->capacity ? f->capacity * 2 : 32;
        tn_value **values = TN_NEW_ARRAY(s->arena, tn_value *, capacity);
        if (f->defined) memcpy(values, f->values, f->defined * sizeof *values);
        f->values = values;
        f->capacity = capacity;
    }
    f->values[f->defined++] = v;
    return NULL;
}

tn_status *tn_values_find(const tn_value_scopes *s, const tn_cursor *c, uint64_t number,
                          tn_value **out)
{
    for (unsigned i = s->depth; i-- > s->scope;) {
        const tn_value_frame *f = &s->frames[i];
        if (number < f->base) continue;
        if (number - f->base >= f->claimed) break;
        if (number - f->base >= f->defined)
            return tn_cursor_error(c, "value %" PRIu64 " is used before it is defined", number);
        *out = f->values[number - f->base];
        return NULL;
    }
    return tn_cursor_error(c, "no value %" PRIu64 " is visible here", number);
}
