/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.h - bytes that grow, and the numbers of MLIR bytecode. */
#ifndef TN_WRITER_BYTES_H
#define TN_WRITER_BYTES_H

#include "base/arena.h"

typedef struct {
    tn_arena *arena;
    uint8_t *data;
    size_t size, room;
} tn_bytes;

void tn_bytes_put(tn_bytes *b, const void *data, size_t size);
void tn_bytes_byte(tn_bytes *b, uint8_t v);
/* A prefix varint: the trailing zeros of the first byte count the bytes that follow. */
void tn_bytes_varint(tn_bytes *b, uint64_t v);
void tn_bytes_signed(tn_bytes *b, int64_t v); /* zigzag */
/* varint with a flag in its lowest bit */
static inline void tn_bytes_flagged(tn_bytes *b, uint64_t v, int flag)
{
    tn_bytes_varint(b, v << 1 | (uint64_t)flag);
}
/* id, length, body */
void tn_bytes_section(tn_bytes *b, uint8_t id, const tn_bytes *body);

#endif
