/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "type/float_bits.h"

static char *room(tn_text *t, size_t size)
{
    if (size > t->capacity - t->size) {
        size_t capacity = t->capacity * 2 + size + 256;
        char *data = tn_alloc(t->arena, capacity);
        if (t->size) memcpy(data, t->data, t->size);
        t->data = data;
        t->capacity = capacity;
    }
    return t->data + t->size;
}

void tn_text_add(tn_text *t, const char *s, size_t size)
{
    if (!size) return;
    memcpy(room(t, size), s, size);
    t->size += size;
}

void tn_text_put(tn_text *t, const char *fmt, ...)
{
    char small[256];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(small, sizeof small, fmt, args);
    va_end(args);
    if (n < 0) return;
    if ((size_t)n < sizeof small) {
        tn_text_add(t, small, (size_t)n);
        return;
    }
    va_start(args, fmt);
    vsnprintf(room(t, (size_t)n + 1), (size_t)n + 1, fmt, args);
    va_end(args);
    t->size += (size_t)n;
}

char *tn_text_end(tn_text *t)
{
    *room(t, 1) = 0;
    return t->data;
}

void tn_text_type(tn_text *t, const tn_type *type)
{
    char small[256];
    size_t n = strlen(tn_type_format(type, small, sizeof small));
    if (n + 1 < sizeof small) {
        tn_text_add(t, small, n);
        return;
    }
    const char *whole = tn_type_text(t->arena, type);
    tn_text_add(t, whole, strlen(whole));
}

void tn_text_string(tn_text *t, const char *s, size_t size)
{
    tn_text_add(t, "\"", 1);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '\\') tn_text_add(t, "\\\\", 2);
        else if (c == '"' || c < 32 || c > 126) tn_text_put(t, "\\%02X", c);
        else tn_text_add(t, s + i, 1);
    }
    tn_text_add(t, "\"", 1);
}

static bool is_word(const char *s)
{
    for (const char *p = s; *p; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';
        bool later = (*p >= '0' && *p <= '9') || *p == '$' || *p == '.';
        if (!letter && !(later && p > s)) return false;
    }
    return *s != 0;
}

void tn_text_word(tn_text *t, const char *s)
{
    if (is_word(s)) tn_text_add(t, s, strlen(s));
    else tn_text_string(t, s, strlen(s));
}

void tn_text_numbers(tn_text *t, const int64_t *v, size_t n)
{
    tn_text_add(t, "[", 1);
    for (size_t i = 0; i < n; i++) tn_text_put(t, "%s%" PRId64, i ? ", " : "", v[i]);
    tn_text_add(t, "]", 1);
}

void tn_text_float(tn_text *t, tn_element_type e, double v)
{
    /* The shortest digits that give the same value; every narrower type is exact as f32. */
    char digits[40];
    bool wide = e == TN_F64;
    for (int n = 1; n <= (wide ? 17 : 9); n++) {
        snprintf(digits, sizeof digits, "%.*g", n, v);
        if (wide ? strtod(digits, NULL) == v : strtof(digits, NULL) == (float)v) break;
    }
    /* MLIR wants a point in front of the exponent. */
    const char *exponent = strchr(digits, 'e');
    int mantissa = exponent ? (int)(exponent - digits) : (int)strlen(digits);
    tn_text_put(t, "%.*s%s%s", mantissa, digits, strchr(digits, '.') ? "" : ".0",
                exponent ? exponent : "");
}

void tn_text_element(tn_text *t, tn_element_type e, const void *data)
{
    unsigned bytes = tn_element_type_bytes(e), bits_wide = tn_element_type_bits(e);
    uint64_t bits = 0;
    if (tn_is_complex(e)) {
        tn_text_add(t, "(", 1);
        tn_text_element(t, tn_real_type(e), data);
        tn_text_add(t, ", ", 2);
        tn_text_element(t, tn_real_type(e), (const char *)data + bytes / 2);
        tn_text_add(t, ")", 1);
        return;
    }
    memcpy(&bits, data, bytes);
    if (bits_wide < 64) bits &= (UINT64_C(1) << bits_wide) - 1;
    switch (tn_element_type_class(e)) {
    case TN_CLASS_BOOL: tn_text_put(t, "%s", bits ? "true" : "false"); return;
    case TN_CLASS_UINT: tn_text_put(t, "%" PRIu64, bits); return;
    case TN_CLASS_SINT: {
        uint64_t sign = UINT64_C(1) << (bits_wide - 1);
        tn_text_put(t, "%" PRId64, (int64_t)((bits ^ sign) - sign));
        return;
    }
    case TN_CLASS_FLOAT: {
        double v = tn_float_from_bits(e, bits);
        if (isfinite(v)) tn_text_float(t, e, v);
        else tn_text_put(t, "0x%0*" PRIX64, (int)(bits_wide + 3) / 4, bits);
        return;
    }
    case TN_CLASS_COMPLEX:
    case TN_CLASS_NONE: return;
    }
}
