/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/bytes.h"

#include <string.h>

void tn_bytes_put(tn_bytes *b, const void *data, size_t size)
{
    if (size > b->room - b->size) {
        size_t room = b->room ? b->room * 2 : 64;
        while (room < b->size + size) room *= 2;
        uint8_t *more = tn_alloc(b->arena, room);
        if (b->size) memcpy(more, b->data, b->size);
        b->data = more;
        b->room = room;
    }
    if (size) memcpy(b->data + b->size, data, size);
    b->size += size;
}

void tn_bytes_byte(tn_bytes *b, uint8_t v)
{
    tn_bytes_put(b, &v, 1);
}

void tn_bytes_varint(tn_bytes *b, uint64_t v)
{
    unsigned extra = 0;
    while (extra < 8 && v >> (7 * (extra + 1))) extra++;
    if (extra == 8) {
        tn_bytes_byte(b, 0);
        tn_bytes_put(b, &v, 8);
        return;
    }
    v = (v << 1 | 1) << extra;
    tn_bytes_put(b, &v, extra + 1);
}

void tn_bytes_signed(tn_bytes *b, int64_t v)
{
    tn_bytes_varint(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

void tn_bytes_section(tn_bytes *b, uint8_t id, const tn_bytes *body)
{
    tn_bytes_byte(b, id);
    tn_bytes_varint(b, body->size);
    tn_bytes_put(b, body->data, body->size);
}
