/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fuzz/mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- chance --- */

static uint64_t state;

uint64_t chance(void) /* splitmix64 */
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

size_t below(size_t n)
{
    return n ? (size_t)(chance() % n) : 0;
}

/* --- the corpus --- */

blob *corpus;
size_t n_corpus;

void add_blob(const void *data, size_t size)
{
    blob b = {malloc(size + 1), size};
    if (size) memcpy(b.data, data, size);
    corpus = realloc(corpus, (n_corpus + 1) * sizeof *corpus);
    corpus[n_corpus++] = b;
}

void add_file(const char *path)
{
    static uint8_t buffer[1 << 20];
    FILE *f = fopen(path, "rb");
    if (!f) return;
    add_blob(buffer, fread(buffer, 1, sizeof buffer, f));
    fclose(f);
}

/* --- mutation --- */

enum { MOST = 2 << 20 };
uint8_t work[MOST];
size_t n_work;

/* Replaces `n_old` bytes at `at` by `n_new` others. */
static void replace(size_t at, size_t n_old, const uint8_t *bytes, size_t n_new)
{
    if (at > n_work || n_old > n_work - at || n_work - n_old + n_new > MOST) return;
    memmove(work + at + n_new, work + at + n_old, n_work - at - n_old);
    if (n_new) memcpy(work + at, bytes, n_new);
    n_work += n_new - n_old;
}

static size_t varint(uint8_t *out, uint64_t v)
{
    unsigned extra = 0;
    while (extra < 7 && v >> (7 * (extra + 1))) extra++;
    if (v >> 56) {
        out[0] = 0;
        memcpy(out + 1, &v, 8);
        return 9;
    }
    v = (v << 1 | 1) << extra;
    memcpy(out, &v, extra + 1 < 8 ? extra + 1 : 8);
    return extra + 1;
}

static uint64_t read_varint(size_t at, size_t *used)
{
    uint64_t v = 0;
    *used = 0;
    if (at >= n_work) return 0;
    unsigned extra = work[at] ? (unsigned)__builtin_ctz(work[at]) : 8;
    if (extra + 1 > n_work - at) return 0;
    *used = extra + 1;
    if (extra == 8) memcpy(&v, work + at + 1, 8);
    else memcpy(&v, work + at, extra + 1);
    return extra == 8 ? v : v >> (extra + 1);
}

/* Numbers that bounds are made of. */
static uint64_t interesting(void)
{
    static const uint64_t values[] = {0,          1,         2,          127,        128,
                                      255,        256,       65535,      1 << 20,    INT32_MAX,
                                      UINT32_MAX, INT64_MAX, UINT64_MAX, 1ull << 63, 1ull << 47};
    uint64_t v = values[below(sizeof values / sizeof *values)];
    return below(3) ? v : v - 1 + below(3);
}

/* Changes the body of one section by bytes put in or taken out, and sets the section's length
 * right: otherwise the container refuses nearly everything that changes length. */
static void grow_section(void)
{
    size_t starts[16], lengths[16], n = 0, used, at = 4;
    read_varint(at, &used);
    at += used;
    const uint8_t *nul = at < n_work ? memchr(work + at, 0, n_work - at) : NULL;
    if (!nul) return;
    for (at = (size_t)(nul - work) + 1; at < n_work && n < 16;) {
        starts[n] = at + 1;
        uint64_t length = read_varint(at + 1, &used);
        if ((work[at] & 0x80) || !used || length > n_work) return;
        lengths[n++] = length;
        at += 1 + used + length;
    }
    if (!n) return;
    size_t i = below(n), length = lengths[i];
    read_varint(starts[i], &used);
    size_t body = starts[i] + used, where = body + below(length + 1);
    if (body + length > n_work) return;
    uint8_t bytes[16], head[9];
    size_t n_old = below(4), n_new = below(2) ? varint(bytes, interesting()) : below(9);
    if (n_old > body + length - where) n_old = body + length - where;
    if (!below(2))
        for (size_t k = 0; k < n_new; k++) bytes[k] = (uint8_t)chance();
    replace(where, n_old, bytes, n_new);
    size_t n_head = varint(head, length - n_old + n_new);
    replace(starts[i], used, head, n_head);
}

static void mutate_once(void)
{
    uint8_t bytes[16];
    size_t at = below(n_work), used;
    switch (below(10)) {
    case 0: n_work = below(n_work + 1); return; /* truncate */
    case 1:
    case 2:
        if (n_work) work[at] ^= (uint8_t)(1u << below(8));
        return;
    case 3:
    case 4:
        if (n_work) work[at] = (uint8_t)chance();
        return;
    case 5: /* a number becomes another one, of any length */
        read_varint(at, &used);
        replace(at, used, bytes, varint(bytes, interesting()));
        return;
    case 6: /* a number becomes another one of the same length */
        read_varint(at, &used);
        if (used == 1) work[at] = (uint8_t)(chance() | 1);
        else if (used) work[at + used - 1] = (uint8_t)chance();
        return;
    case 7: { /* a piece of another file, in place */
        const blob *b = &corpus[below(n_corpus)];
        size_t from = below(b->size), n = below(64);
        if (n > b->size - from) n = b->size - from;
        if (n > n_work - at) n = n_work - at;
        memcpy(work + at, b->data + from, n);
        return;
    }
    case 8: { /* a piece of the same file, elsewhere */
        size_t from = below(n_work), n = below(32);
        if (n > n_work - from) n = n_work - from;
        if (n > n_work - at) n = n_work - at;
        memmove(work + at, work + from, n);
        return;
    }
    default: grow_section(); return;
    }
}

void make(uint64_t seed, uint64_t iteration)
{
    state = seed * 0xD1342543DE82EF95u + iteration;
    chance();
    const blob *b = &corpus[below(n_corpus)];
    memcpy(work, b->data, b->size);
    n_work = b->size;
    for (size_t n = 1 + below(below(4) ? 3 : 12); n > 0 && n_work; n--) mutate_once();
}
