/* SPDX-License-Identifier: Apache-2.0 */
/* proto.h - the wire form of protocol buffers: a bounds-checked reader and a writer, without any
 * generated code.
 *
 * Reading is a loop over the fields of one message:
 *
 *     tn_proto_reader r;
 *     tn_proto_read(&r, "DeviceAssignmentProto", bytes, size);
 *     for (;;) {
 *         bool more;
 *         TN_TRY(tn_proto_next(&r, &more));
 *         if (!more) break;
 *         switch (r.field) {
 *         case 1: TN_TRY(tn_proto_int64(&r, "replica_count", &replicas)); break;
 *         }                                    // a field that nobody takes is skipped
 *     }
 *
 * The reader copies nothing: what it gives points into the caller's bytes. Damaged bytes, and a
 * field of another wire type than the one asked for, give INVALID_ARGUMENT that names message and
 * field. Threads: a reader or writer belongs to one thread at a time. */
#ifndef TN_BASE_PROTO_H
#define TN_BASE_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "tenon/status.h"

typedef enum {
    TN_PROTO_VARINT = 0,
    TN_PROTO_FIXED64 = 1,
    TN_PROTO_BYTES = 2, /* strings, messages, packed lists */
    TN_PROTO_FIXED32 = 5
} tn_proto_wire;

/* Messages and groups may nest this deep. */
#define TN_PROTO_MAX_DEPTH 64

typedef struct {
    const uint8_t *at, *end;
    const char *message; /* its type's name, for errors */
    unsigned depth;
    /* The field that tn_proto_next found: */
    uint32_t field; /* 1 .. 2^29-1 */
    tn_proto_wire wire;
    uint64_t value;      /* varint, fixed32, fixed64 */
    const uint8_t *data; /* bytes */
    size_t size;
} tn_proto_reader;

/* Starts reading a message; `message` must outlive the reader (a string literal). */
void tn_proto_read(tn_proto_reader *r, const char *message, const void *data, size_t size);

/* Finds the next field; *more is false at the end of the message. Groups are skipped. */
tn_status *tn_proto_next(tn_proto_reader *r, bool *more) TN_MUST_USE;

/* Each takes the field that was found. `name` is for errors. */
tn_status *tn_proto_int64(const tn_proto_reader *r, const char *name, int64_t *out) TN_MUST_USE;
/* A number outside of [least, most] is INVALID_ARGUMENT. */
tn_status *tn_proto_int64_in(const tn_proto_reader *r, const char *name, int64_t least,
                             int64_t most, int64_t *out) TN_MUST_USE;
tn_status *tn_proto_bool(const tn_proto_reader *r, const char *name, bool *out) TN_MUST_USE;
tn_status *tn_proto_float(const tn_proto_reader *r, const char *name, float *out) TN_MUST_USE;
tn_status *tn_proto_double(const tn_proto_reader *r, const char *name, double *out) TN_MUST_USE;
tn_status *tn_proto_bytes(const tn_proto_reader *r, const char *name, const void **data,
                          size_t *size) TN_MUST_USE;
/* A string as a NUL-terminated copy in `a`; a NUL inside is INVALID_ARGUMENT. */
tn_status *tn_proto_string(const tn_proto_reader *r, const char *name, tn_arena *a,
                           const char **out) TN_MUST_USE;
/* Starts reading a message inside; `message` is its type's name. */
tn_status *tn_proto_message(const tn_proto_reader *r, const char *name, const char *message,
                            tn_proto_reader *inner) TN_MUST_USE;

/* A repeated field of integers or bools, gathered in an arena. Starts as {0}. */
typedef struct {
    int64_t *at;
    size_t n, capacity;
} tn_proto_list;
/* Appends the field that was found: one number, or a packed list of them. */
tn_status *tn_proto_append(const tn_proto_reader *r, const char *name, tn_arena *a,
                           tn_proto_list *list) TN_MUST_USE;

/* A message under construction. Starts as {0}; running out of memory shows at the end. */
typedef struct {
    uint8_t *data;
    size_t size, capacity;
    bool failed;
} tn_proto_writer;

void tn_proto_put_int64(tn_proto_writer *w, uint32_t field, int64_t value);
void tn_proto_put_double(tn_proto_writer *w, uint32_t field, double value);
void tn_proto_put_bytes(tn_proto_writer *w, uint32_t field, const void *data, size_t size);
/* A packed list; nothing if it is empty. */
void tn_proto_put_packed(tn_proto_writer *w, uint32_t field, const int64_t *values, size_t n);
/* A number alone, e.g. of a packed list between tn_proto_begin and tn_proto_end. */
void tn_proto_put_varint(tn_proto_writer *w, uint64_t value);
/* What is put between the two is a message inside, or a packed list. */
size_t tn_proto_begin(tn_proto_writer *w, uint32_t field);
void tn_proto_end(tn_proto_writer *w, size_t begun);

/* Ends the writer: gives its bytes, which the caller frees with free() (never NULL, also if there
 * are none), or RESOURCE_EXHAUSTED. */
tn_status *tn_proto_finish(tn_proto_writer *w, void **data, size_t *size) TN_MUST_USE;

#endif
