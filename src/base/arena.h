/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - the memory of one compilation: allocate, never free, drop it whole.
 *
 * tn_alloc never returns NULL: out of memory jumps back to tn_arena_run, which returns
 * RESOURCE_EXHAUSTED. So nothing that is allocated here may own anything outside of the arena.
 * Threads: an arena belongs to one thread at a time. */
#ifndef TN_BASE_ARENA_H
#define TN_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon/status.h"

typedef struct tn_arena tn_arena;

/* NULL when out of memory. */
tn_arena *tn_arena_new(void);
void tn_arena_free(tn_arena *a); /* NULL is fine */

/* Runs fn(ctx) with `a` ready for allocation; all tn_alloc calls must happen inside. May not be
 * nested on one arena. Returns fn's status, or RESOURCE_EXHAUSTED if memory ran out inside. */
tn_status *tn_arena_run(tn_arena *a, tn_status *(*fn)(void *ctx), void *ctx) TN_MUST_USE;

/* `size` zeroed bytes, aligned to 16 (or to 64 when size >= 64). size 0 gives a valid pointer. */
void *tn_alloc(tn_arena *a, size_t size) __attribute__((malloc, returns_nonnull));
/* As tn_alloc for count * size bytes; an overflow counts as out of memory. */
/* The same with any content: for room of which little may be used. */
void *tn_alloc_room(tn_arena *a, size_t size) __attribute__((malloc, returns_nonnull));
void *tn_alloc_array(tn_arena *a, size_t count, size_t size)
    __attribute__((malloc, returns_nonnull));
void *tn_dup(tn_arena *a, const void *data, size_t size);
char *tn_strdup(tn_arena *a, const char *s);
char *tn_strndup(tn_arena *a, const char *s, size_t n);
char *tn_printf(tn_arena *a, const char *fmt, ...) TN_PRINTF(2, 3);

#define TN_NEW(arena, type)          ((type *)tn_alloc(arena, sizeof(type)))
#define TN_NEW_ARRAY(arena, type, n) ((type *)tn_alloc_array(arena, n, sizeof(type)))

size_t tn_arena_bytes(const tn_arena *a); /* bytes handed out */
/* Test hook: the n-th allocation from now fails (1 = the next one; 0 = never). */
void tn_arena_fail_at(tn_arena *a, uint64_t n);
/* Allocations beyond `bytes` in all fail as if memory had run out (default: no limit). */
void tn_arena_limit(tn_arena *a, size_t bytes);

#endif
