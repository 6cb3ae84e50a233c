/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/tables.h"

#include <string.h>

static uint64_t hash(uint8_t dialect, const uint8_t *data, size_t size)
{
    uint64_t h = 0xCBF29CE484222325u ^ dialect;
    for (size_t i = 0; i < size; i++) h = (h ^ data[i]) * 0x100000001B3u;
    return h ^ h >> 32;
}

static size_t find(const tn_intern *in, uint8_t dialect, const void *data, size_t size)
{
    size_t i = hash(dialect, data, size) & (in->capacity - 1);
    for (; in->slots[i]; i = (i + 1) & (in->capacity - 1)) {
        size_t k = in->slots[i] - 1;
        if (in->dialects[k] == dialect && in->entries[k].size == size &&
            (!size || !memcmp(in->entries[k].data, data, size)))
            break;
    }
    return i;
}

static void grow(tn_tables *t, tn_intern *in)
{
    size_t room = in->room ? in->room * 2 : 32;
    tn_bytes *entries = TN_NEW_ARRAY(t->arena, tn_bytes, room);
    uint8_t *dialects = TN_NEW_ARRAY(t->arena, uint8_t, room);
    if (in->n) {
        memcpy(entries, in->entries, in->n * sizeof *entries);
        memcpy(dialects, in->dialects, in->n);
    }
    in->entries = entries;
    in->dialects = dialects;
    in->room = room;
    in->capacity = room * 2;
    in->slots = TN_NEW_ARRAY(t->arena, uint32_t, in->capacity);
    for (size_t k = 0; k < in->n; k++)
        in->slots[find(in, dialects[k], entries[k].data, entries[k].size)] = (uint32_t)k + 1;
}

size_t tn_intern_add(tn_tables *t, tn_intern *in, uint8_t dialect, const void *data, size_t size)
{
    if (in->n == in->room) grow(t, in);
    size_t slot = find(in, dialect, data, size);
    if (in->slots[slot]) return in->slots[slot] - 1;
    tn_bytes copy = {.arena = t->arena};
    tn_bytes_put(&copy, data, size);
    in->entries[in->n] = copy;
    in->dialects[in->n] = dialect;
    in->slots[slot] = (uint32_t)++in->n;
    return in->n - 1;
}

size_t tn_write_string(tn_tables *t, const char *data, size_t size)
{
    return tn_intern_add(t, &t->strings, 0, data, size);
}
