/* SPDX-License-Identifier: Apache-2.0 */
/* status.h - how every Tenon function reports failure.
 *
 * A `tn_status *` is NULL on success, else an immutable, reference-counted error: a code, a message
 * and the file and line that made it. Codes are the values of PJRT_Error_Code, so the ABI maps
 * none. Whoever receives a non-NULL status owns one reference and ends it with tn_status_free.
 * Making a status never fails: out of memory gives a static RESOURCE_EXHAUSTED.
 * Threads: a status may be shared; every function here may be called from any thread. */
#ifndef TN_STATUS_H
#define TN_STATUS_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, PJRT_Error_Code) */
#define TN_STATUS_CODES(X)                                                                         \
    X(OK, 0)                                                                                       \
    X(CANCELLED, 1)                                                                                \
    X(UNKNOWN, 2)                                                                                  \
    X(INVALID_ARGUMENT, 3)                                                                         \
    X(DEADLINE_EXCEEDED, 4)                                                                        \
    X(NOT_FOUND, 5)                                                                                \
    X(ALREADY_EXISTS, 6)                                                                           \
    X(PERMISSION_DENIED, 7)                                                                        \
    X(RESOURCE_EXHAUSTED, 8)                                                                       \
    X(FAILED_PRECONDITION, 9)                                                                      \
    X(ABORTED, 10)                                                                                 \
    X(OUT_OF_RANGE, 11)                                                                            \
    X(UNIMPLEMENTED, 12)                                                                           \
    X(INTERNAL, 13)                                                                                \
    X(UNAVAILABLE, 14)                                                                             \
    X(DATA_LOSS, 15)                                                                               \
    X(UNAUTHENTICATED, 16)

typedef enum {
#define X(name, value) TN_##name = value,
    TN_STATUS_CODES(X)
#undef X
} tn_code;

typedef struct tn_status tn_status;

#define TN_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define TN_MUST_USE     __attribute__((warn_unused_result))

/* Makes an error. `file` must outlive the status (a string literal). */
tn_status *tn_status_make(tn_code code, const char *file, int line, const char *fmt, ...)
    TN_PRINTF(4, 5) TN_MUST_USE __attribute__((returns_nonnull));

/* Takes `s` and gives an error with the same code and payloads whose message is "<text>: <old
 * message>". */
tn_status *tn_status_annotate(tn_status *s, const char *fmt, ...) TN_PRINTF(2, 3) TN_MUST_USE;

/* Another reference to `s`; NULL stays NULL. */
tn_status *tn_status_ref(const tn_status *s) TN_MUST_USE;
/* Ends one reference; NULL is fine. */
void tn_status_free(tn_status *s);

tn_code tn_status_code(const tn_status *s);        /* NULL: TN_OK */
const char *tn_status_message(const tn_status *s); /* lives as long as `s`; NULL: "" */
const char *tn_status_file(const tn_status *s);
int tn_status_line(const tn_status *s);
const char *tn_code_name(tn_code code); /* "INVALID_ARGUMENT"; unknown: "UNKNOWN" */

/* Payloads: named byte strings that travel with an error (PJRT_Error_ForEachPayload). Takes `s`,
 * gives the error with the pair added; both are copied. */
tn_status *tn_status_add_payload(tn_status *s, const char *key, size_t key_size, const char *value,
                                 size_t value_size) TN_MUST_USE;
size_t tn_status_payload_count(const tn_status *s);
void tn_status_payload(const tn_status *s, size_t i, const char **key, size_t *key_size,
                       const char **value, size_t *value_size);

#define TN_ERROR(CODE, ...) tn_status_make(TN_##CODE, __FILE__, __LINE__, __VA_ARGS__)

#define TN_TRY(expr)                                                                               \
    do {                                                                                           \
        tn_status *tn_try_status_ = (expr);                                                        \
        if (tn_try_status_) return tn_try_status_;                                                 \
    } while (0)

/* As TN_TRY, saying what was being done: TN_ANNOTATE(load(p), "loading %s", p). */
#define TN_ANNOTATE(expr, ...)                                                                     \
    do {                                                                                           \
        tn_status *tn_try_status_ = (expr);                                                        \
        if (tn_try_status_) return tn_status_annotate(tn_try_status_, __VA_ARGS__);                \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
