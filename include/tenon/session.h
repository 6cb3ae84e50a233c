/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - what a client did with a plugin, as a file: written by the record layer, run again by
 * `tenon replay`.
 *
 * A session is a list of calls that matter: what was compiled, which arrays went in, what ran,
 * which arrays came out. Objects have numbers in the order of their making; content is dense and
 * row-major whatever the client's strides were; a device is its place among the client's
 * addressable devices. So a session runs on any plugin. What it does not hold: callbacks of the
 * client (a program that calls Python runs again only where it needs no answer), calls that only
 * ask.
 *
 * File: "TENONSES", uint32 version, then calls; whole numbers little-endian. Threads: one at a
 * time. */
#ifndef TN_SESSION_H
#define TN_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tenon/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    TN_SESSION_CLIENT = 1, /* makes a client: text: options, a line "name=value" each */
    TN_SESSION_END,        /* destroys the client `subject` */
    TN_SESSION_COMPILE,    /* for client `subject`: text: format, data: program, more: options */
    TN_SESSION_LOAD,       /* the same from data: a serialized executable, more: options */
    TN_SESSION_UNLOAD,     /* destroys the executable `subject` */
    TN_SESSION_PUT,     /* array to device a, memory text: b: element type, numbers: shape, data */
    TN_SESSION_ERROR,   /* error buffer: a: code, b: type, numbers: shape, text: message */
    TN_SESSION_RUN,     /* executable `subject` on a devices with b arguments each: ids: arguments
                           by device, then outputs by device; numbers: indices not to donate */
    TN_SESSION_RUN_END, /* the run `subject` has ended, with `code` */
    TN_SESSION_GET,     /* buffer `subject` was read: b: type, numbers: shape, data: content */
    TN_SESSION_COPY,    /* buffer `subject` to device a, memory text */
    TN_SESSION_DELETE,  /* buffer `subject` */
    TN_SESSION_DROP,    /* destroys the buffer `subject` */
} tn_session_kind;

typedef struct {
    size_t size;
    void *at;
} tn_session_bytes;

typedef struct {
    uint32_t kind, code; /* code: what the call gave, a PJRT_Error_Code */
    uint64_t subject;    /* the object it is about */
    uint64_t made;       /* the object it made; 0: none */
    int64_t a, b;
    size_t n_ids, n_numbers;
    uint64_t *ids;
    int64_t *numbers;
    tn_session_bytes text, data, more;
} tn_session_call;

typedef struct {
    tn_session_call *calls;
    size_t n, room;
} tn_session;

const char *tn_session_kind_name(uint32_t kind); /* "RUN" */

/* Writing: a file begun, and calls one by one. */
tn_status *tn_session_begin(const char *path, FILE **out) TN_MUST_USE;
void tn_session_write(FILE *f, const tn_session_call *c);

/* Reading: the whole file. Ends early, without an error, where the client was killed while writing;
 * damaged bytes are INVALID_ARGUMENT. */
tn_status *tn_session_read(const char *path, tn_session *out) TN_MUST_USE;
void tn_session_free(tn_session *s);

#ifdef __cplusplus
}
#endif
#endif
