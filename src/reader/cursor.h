/* SPDX-License-Identifier: Apache-2.0 */
/* cursor.h - a bounds-checked walk over foreign bytes.
 *
 * Failure is sticky: the first read that does not fit notes what was expected and where, moves to
 * the end and gives 0; so does every later one. A record is therefore read without checks between
 * its fields and closed by tn_cursor_check or tn_cursor_finish. No value may be used as an index or
 * a size before its own bounds check. */
#ifndef TN_READER_CURSOR_H
#define TN_READER_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon/status.h"

typedef struct {
    const uint8_t *at, *end;
    const uint8_t *file;  /* start of the whole file: messages give offsets from it */
    const char *expected; /* NULL while all is well */
    const uint8_t *failed_at;
} tn_cursor;

tn_cursor tn_cursor_make(const uint8_t *file, const uint8_t *at, size_t size);

static inline size_t tn_cursor_left(const tn_cursor *c)
{
    return (size_t)(c->end - c->at);
}

/* Notes the first failure; always gives 0. */
uint64_t tn_cursor_fail(tn_cursor *c, const char *expected);

uint64_t tn_cursor_varint_slow(tn_cursor *c);
static inline uint64_t tn_cursor_varint(tn_cursor *c)
{
    if (c->at < c->end && (*c->at & 1)) return *c->at++ >> 1;
    return tn_cursor_varint_slow(c);
}
static inline int64_t tn_cursor_svarint(tn_cursor *c)
{
    uint64_t v = tn_cursor_varint(c);
    return (int64_t)((v >> 1) ^ (0 - (v & 1)));
}
/* A varint whose lowest bit is a flag. */
static inline uint64_t tn_cursor_flagged(tn_cursor *c, bool *flag)
{
    uint64_t v = tn_cursor_varint(c);
    *flag = v & 1;
    return v >> 1;
}
uint8_t tn_cursor_byte(tn_cursor *c);
/* The length of a list whose items take at least a byte each: more than the bytes left fails. */
size_t tn_cursor_count(tn_cursor *c);
/* `size` raw bytes; NULL on failure. */
const uint8_t *tn_cursor_bytes(tn_cursor *c, uint64_t size);
/* A NUL-terminated string; *size without the NUL. NULL on failure. */
const char *tn_cursor_text(tn_cursor *c, size_t *size);
/* The bits of a `width`-bit (at most 64) integer in MLIR's APInt form, zero extended. */
uint64_t tn_cursor_apint(tn_cursor *c, unsigned width);

/* The failure so far, if any. */
tn_status *tn_cursor_check(const tn_cursor *c) TN_MUST_USE;
/* The same, and nothing may be left over. `what` names the record. */
tn_status *tn_cursor_finish(const tn_cursor *c, const char *what) TN_MUST_USE;
/* INVALID_ARGUMENT "bytecode, byte N: ..." at the place where the cursor stands or failed. */
tn_status *tn_cursor_error(const tn_cursor *c, const char *fmt, ...) TN_PRINTF(2, 3) TN_MUST_USE;
/* The same as UNIMPLEMENTED: what stands there is known or plausible, but not supported. */
tn_status *tn_cursor_unsupported(const tn_cursor *c, const char *fmt, ...)
    TN_PRINTF(2, 3) TN_MUST_USE;

#endif
