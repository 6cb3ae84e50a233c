/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/cursor.h"

#include <stdio.h>
#include <string.h>

tn_cursor tn_cursor_make(const uint8_t *file, const uint8_t *at, size_t size)
{
    return (tn_cursor){.at = at, .end = at + size, .file = file};
}

uint64_t tn_cursor_fail(tn_cursor *c, const char *expected)
{
    if (!c->expected) {
        c->expected = expected;
        c->failed_at = c->at;
    }
    c->at = c->end;
    return 0;
}

uint64_t tn_cursor_varint_slow(tn_cursor *c)
{
    if (c->at == c->end) return tn_cursor_fail(c, "a number");
    unsigned first = *c->at;
    /* As many zero bits as further bytes; a zero byte stands before a whole 64-bit number. */
    unsigned extra = first ? (unsigned)__builtin_ctz(first) : 8;
    if (tn_cursor_left(c) < extra + 1) return tn_cursor_fail(c, "the rest of a number");
    uint64_t v = 0;
    if (first) {
        memcpy(&v, c->at, extra + 1);
        v >>= extra + 1;
    } else {
        memcpy(&v, c->at + 1, 8);
    }
    c->at += extra + 1;
    return v;
}

uint8_t tn_cursor_byte(tn_cursor *c)
{
    if (c->at == c->end) return (uint8_t)tn_cursor_fail(c, "a byte");
    return *c->at++;
}

size_t tn_cursor_count(tn_cursor *c)
{
    uint64_t n = tn_cursor_varint(c);
    if (n > tn_cursor_left(c)) return tn_cursor_fail(c, "no more items than there are bytes");
    return n;
}

const uint8_t *tn_cursor_bytes(tn_cursor *c, uint64_t size)
{
    if (size > tn_cursor_left(c)) {
        tn_cursor_fail(c, "as many bytes as the size before says");
        return NULL;
    }
    const uint8_t *p = c->at;
    c->at += size;
    return c->expected ? NULL : p;
}

const char *tn_cursor_text(tn_cursor *c, size_t *size)
{
    const uint8_t *nul = c->at < c->end ? memchr(c->at, 0, tn_cursor_left(c)) : NULL;
    *size = 0;
    if (!nul) {
        tn_cursor_fail(c, "a string that ends in a zero byte");
        return NULL;
    }
    const char *text = (const char *)c->at;
    *size = (size_t)(nul - c->at);
    c->at = nul + 1;
    return text;
}

uint64_t tn_cursor_apint(tn_cursor *c, unsigned width)
{
    uint64_t v = width <= 8 ? tn_cursor_byte(c) : (uint64_t)tn_cursor_svarint(c);
    return width < 64 ? v & ((UINT64_C(1) << width) - 1) : v;
}

static size_t offset(const tn_cursor *c)
{
    return (size_t)((c->expected ? c->failed_at : c->at) - c->file);
}

tn_status *tn_cursor_check(const tn_cursor *c)
{
    if (!c->expected) return NULL;
    return TN_ERROR(INVALID_ARGUMENT, "bytecode, byte %zu: expected %s", offset(c), c->expected);
}

tn_status *tn_cursor_finish(const tn_cursor *c, const char *what)
{
    TN_TRY(tn_cursor_check(c));
    if (c->at == c->end) return NULL;
    return TN_ERROR(INVALID_ARGUMENT,
                    "bytecode, byte %zu: expected the end of %s, found %zu bytes more", offset(c),
                    what, tn_cursor_left(c));
}

static tn_status *error_at(tn_code code, const tn_cursor *c, const char *fmt, va_list args)
{
    char text[512];
    vsnprintf(text, sizeof text, fmt, args);
    return tn_status_make(code, __FILE__, __LINE__, "bytecode, byte %zu: %s", offset(c), text);
}

tn_status *tn_cursor_error(const tn_cursor *c, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tn_status *s = c->expected ? tn_cursor_check(c) : error_at(TN_INVALID_ARGUMENT, c, fmt, args);
    va_end(args);
    return s;
}

tn_status *tn_cursor_unsupported(const tn_cursor *c, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tn_status *s = c->expected ? tn_cursor_check(c) : error_at(TN_UNIMPLEMENTED, c, fmt, args);
    va_end(args);
    return s;
}
