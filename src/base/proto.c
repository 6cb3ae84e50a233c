/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proto.h"

#include <stdlib.h>
#include <string.h>

#define START_GROUP 3
#define END_GROUP   4

static const char *const wire_names[] = {"varint",         "fixed64",      "bytes",
                                         "start of group", "end of group", "fixed32"};

void tn_proto_read(tn_proto_reader *r, const char *message, const void *data, size_t size)
{
    *r = (tn_proto_reader){.at = data, .end = data, .message = message};
    if (size) r->end += size;
}

/* False if the bytes end early or the number has more than 64 bits. */
static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    uint64_t value = 0;
    const uint8_t *p = *at;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (p == end) return false;
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1) return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *at = p;
            *out = value;
            return true;
        }
    }
    return false;
}

static uint64_t little_endian(const uint8_t *p, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)p[i] << 8 * i;
    return value;
}

static tn_status *tag(tn_proto_reader *r, uint32_t *field, unsigned *wire)
{
    uint64_t value;
    if (!varint(&r->at, r->end, &value))
        return TN_ERROR(INVALID_ARGUMENT, "%s: the number of a field is cut short or too long",
                        r->message);
    if (value >> 32 || value >> 3 == 0)
        return TN_ERROR(INVALID_ARGUMENT, "%s: field number %llu is not in [1, 2^29)", r->message,
                        (unsigned long long)(value >> 3));
    *field = (uint32_t)(value >> 3);
    *wire = value & 7;
    if (*wire > TN_PROTO_FIXED32)
        return TN_ERROR(INVALID_ARGUMENT, "%s: field %u has wire type %u, which does not exist",
                        r->message, *field, *wire);
    return NULL;
}

static tn_status *cut_short(const tn_proto_reader *r, uint32_t field, unsigned wire)
{
    return TN_ERROR(INVALID_ARGUMENT, "%s: field %u (%s) goes beyond the end of the message",
                    r->message, field, wire_names[wire]);
}

/* The value behind a tag, for all but groups. */
static tn_status *value(tn_proto_reader *r, uint32_t field, unsigned wire)
{
    size_t left = (size_t)(r->end - r->at);
    switch (wire) {
    case TN_PROTO_VARINT:
        if (!varint(&r->at, r->end, &r->value)) return cut_short(r, field, wire);
        break;
    case TN_PROTO_BYTES:
        if (!varint(&r->at, r->end, &r->value) || r->value > (size_t)(r->end - r->at))
            return cut_short(r, field, wire);
        r->data = r->at;
        r->size = (size_t)r->value;
        r->at += r->size;
        break;
    default: {
        unsigned bytes = wire == TN_PROTO_FIXED64 ? 8 : 4;
        if (left < bytes) return cut_short(r, field, wire);
        r->value = little_endian(r->at, bytes);
        r->at += bytes;
    }
    }
    return NULL;
}

/* From behind the start of a group to behind its end. */
static tn_status *skip_group(tn_proto_reader *r, uint32_t group)
{
    uint32_t open[TN_PROTO_MAX_DEPTH];
    unsigned n = 1;
    open[0] = group;
    while (n) {
        uint32_t field;
        unsigned wire;
        if (r->at == r->end) return cut_short(r, open[n - 1], START_GROUP);
        TN_TRY(tag(r, &field, &wire));
        if (wire == START_GROUP) {
            if (n + r->depth >= TN_PROTO_MAX_DEPTH)
                return TN_ERROR(INVALID_ARGUMENT, "%s: groups nest deeper than %d", r->message,
                                TN_PROTO_MAX_DEPTH);
            open[n++] = field;
        } else if (wire == END_GROUP) {
            if (field != open[--n])
                return TN_ERROR(INVALID_ARGUMENT, "%s: group %u ends as group %u", r->message,
                                open[n], field);
        } else {
            TN_TRY(value(r, field, wire));
        }
    }
    return NULL;
}

tn_status *tn_proto_next(tn_proto_reader *r, bool *more)
{
    while ((*more = r->at != r->end)) {
        unsigned wire;
        TN_TRY(tag(r, &r->field, &wire));
        if (wire == END_GROUP)
            return TN_ERROR(INVALID_ARGUMENT, "%s: group %u ends but never began", r->message,
                            r->field);
        if (wire == START_GROUP) {
            TN_TRY(skip_group(r, r->field));
            continue;
        }
        r->wire = (tn_proto_wire)wire;
        return value(r, r->field, wire);
    }
    return NULL;
}

static tn_status *expect(const tn_proto_reader *r, const char *name, tn_proto_wire wire)
{
    if (r->wire == wire) return NULL;
    return TN_ERROR(INVALID_ARGUMENT, "%s.%s: expected %s, got %s", r->message, name,
                    wire_names[wire], wire_names[r->wire]);
}

tn_status *tn_proto_int64(const tn_proto_reader *r, const char *name, int64_t *out)
{
    TN_TRY(expect(r, name, TN_PROTO_VARINT));
    *out = (int64_t)r->value;
    return NULL;
}

tn_status *tn_proto_int64_in(const tn_proto_reader *r, const char *name, int64_t least,
                             int64_t most, int64_t *out)
{
    int64_t got;
    TN_TRY(tn_proto_int64(r, name, &got));
    if (got < least || got > most)
        return TN_ERROR(INVALID_ARGUMENT, "%s.%s: expected a number from %lld to %lld, got %lld",
                        r->message, name, (long long)least, (long long)most, (long long)got);
    *out = got;
    return NULL;
}

tn_status *tn_proto_bool(const tn_proto_reader *r, const char *name, bool *out)
{
    TN_TRY(expect(r, name, TN_PROTO_VARINT));
    *out = r->value != 0;
    return NULL;
}

tn_status *tn_proto_float(const tn_proto_reader *r, const char *name, float *out)
{
    TN_TRY(expect(r, name, TN_PROTO_FIXED32));
    uint32_t bits = (uint32_t)r->value;
    memcpy(out, &bits, sizeof bits);
    return NULL;
}

tn_status *tn_proto_double(const tn_proto_reader *r, const char *name, double *out)
{
    TN_TRY(expect(r, name, TN_PROTO_FIXED64));
    memcpy(out, &r->value, sizeof r->value);
    return NULL;
}

tn_status *tn_proto_bytes(const tn_proto_reader *r, const char *name, const void **data,
                          size_t *size)
{
    TN_TRY(expect(r, name, TN_PROTO_BYTES));
    *data = r->data;
    *size = r->size;
    return NULL;
}

tn_status *tn_proto_string(const tn_proto_reader *r, const char *name, tn_arena *a,
                           const char **out)
{
    TN_TRY(expect(r, name, TN_PROTO_BYTES));
    if (r->size && memchr(r->data, 0, r->size))
        return TN_ERROR(INVALID_ARGUMENT, "%s.%s: the string holds a NUL", r->message, name);
    *out = tn_strndup(a, (const char *)r->data, r->size);
    return NULL;
}

tn_status *tn_proto_message(const tn_proto_reader *r, const char *name, const char *message,
                            tn_proto_reader *inner)
{
    TN_TRY(expect(r, name, TN_PROTO_BYTES));
    if (r->depth + 1 >= TN_PROTO_MAX_DEPTH)
        return TN_ERROR(INVALID_ARGUMENT, "%s.%s: messages nest deeper than %d", r->message, name,
                        TN_PROTO_MAX_DEPTH);
    unsigned depth = r->depth + 1; /* inner may be r */
    tn_proto_read(inner, message, r->data, r->size);
    inner->depth = depth;
    return NULL;
}

static void append(tn_arena *a, tn_proto_list *list, uint64_t number)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 8;
        int64_t *at = TN_NEW_ARRAY(a, int64_t, capacity);
        if (list->n) memcpy(at, list->at, list->n * sizeof *at);
        list->at = at;
        list->capacity = capacity;
    }
    list->at[list->n++] = (int64_t)number;
}

tn_status *tn_proto_append(const tn_proto_reader *r, const char *name, tn_arena *a,
                           tn_proto_list *list)
{
    if (r->wire == TN_PROTO_VARINT) {
        append(a, list, r->value);
        return NULL;
    }
    TN_TRY(expect(r, name, TN_PROTO_BYTES));
    for (const uint8_t *at = r->data, *end = r->data + r->size; at != end;) {
        uint64_t number;
        if (!varint(&at, end, &number))
            return TN_ERROR(INVALID_ARGUMENT, "%s.%s: number %zu of the list is cut short",
                            r->message, name, list->n);
        append(a, list, number);
    }
    return NULL;
}

/* Room for `n` more bytes, or NULL. */
static uint8_t *grow(tn_proto_writer *w, size_t n)
{
    if (w->failed) return NULL;
    if (n > w->capacity - w->size) {
        size_t capacity = w->capacity ? w->capacity : 64;
        while (capacity - w->size < n && capacity <= SIZE_MAX / 2) capacity *= 2;
        uint8_t *data = capacity - w->size < n ? NULL : realloc(w->data, capacity);
        if (!data) {
            w->failed = true;
            return NULL;
        }
        w->data = data;
        w->capacity = capacity;
    }
    uint8_t *at = w->data + w->size;
    w->size += n;
    return at;
}

static unsigned encode(uint64_t value, uint8_t out[10])
{
    unsigned n = 0;
    for (; value >= 0x80; value >>= 7) out[n++] = (uint8_t)(value | 0x80);
    out[n++] = (uint8_t)value;
    return n;
}

static void put(tn_proto_writer *w, const void *data, size_t size)
{
    uint8_t *at = grow(w, size);
    if (at && size) memcpy(at, data, size);
}

void tn_proto_put_varint(tn_proto_writer *w, uint64_t value)
{
    uint8_t bytes[10];
    put(w, bytes, encode(value, bytes));
}

static void put_tag(tn_proto_writer *w, uint32_t field, tn_proto_wire wire)
{
    tn_proto_put_varint(w, (uint64_t)field << 3 | wire);
}

void tn_proto_put_int64(tn_proto_writer *w, uint32_t field, int64_t value)
{
    put_tag(w, field, TN_PROTO_VARINT);
    tn_proto_put_varint(w, (uint64_t)value);
}

void tn_proto_put_double(tn_proto_writer *w, uint32_t field, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    put_tag(w, field, TN_PROTO_FIXED64);
    uint8_t *at = grow(w, 8);
    for (unsigned i = 0; at && i < 8; i++) at[i] = (uint8_t)(bits >> 8 * i);
}

void tn_proto_put_bytes(tn_proto_writer *w, uint32_t field, const void *data, size_t size)
{
    put_tag(w, field, TN_PROTO_BYTES);
    tn_proto_put_varint(w, size);
    put(w, data, size);
}

void tn_proto_put_packed(tn_proto_writer *w, uint32_t field, const int64_t *values, size_t n)
{
    if (!n) return;
    size_t begun = tn_proto_begin(w, field);
    for (size_t i = 0; i < n; i++) tn_proto_put_varint(w, (uint64_t)values[i]);
    tn_proto_end(w, begun);
}

size_t tn_proto_begin(tn_proto_writer *w, uint32_t field)
{
    put_tag(w, field, TN_PROTO_BYTES);
    return w->size;
}

void tn_proto_end(tn_proto_writer *w, size_t begun)
{
    /* The length is known only now: make room for it in front of what it counts. */
    uint8_t bytes[10];
    size_t size = w->size - begun;
    unsigned n = encode(size, bytes);
    if (!grow(w, n)) return;
    memmove(w->data + begun + n, w->data + begun, size);
    memcpy(w->data + begun, bytes, n);
}

tn_status *tn_proto_finish(tn_proto_writer *w, void **data, size_t *size)
{
    if (!w->data && !w->failed) grow(w, 1), w->size = 0;
    if (w->failed) {
        free(w->data);
        *w = (tn_proto_writer){0};
        return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory for a serialised message");
    }
    *data = w->data;
    *size = w->size;
    *w = (tn_proto_writer){0};
    return NULL;
}
