/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/fingerprint.h"

#include <stdio.h>
#include <string.h>

static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 p = (unsigned __int128)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* Two chains of multiplications over the same words with different odd constants. */
tn_hash tn_hash_bytes(const void *data, size_t size, uint64_t seed)
{
    const uint64_t c0 = 0x9E3779B97F4A7C15u, c1 = 0xD1B54A32D192ED03u;
    uint64_t a = seed ^ c0, b = (seed + size) ^ c1;
    for (size_t i = 0; i < size; i += 16) {
        uint64_t w[2] = {0, 0};
        if (size - i < 16) memcpy(w, (const char *)data + i, size - i);
        else memcpy(w, (const char *)data + i, sizeof w);
        uint64_t next = fold(a ^ w[0], c1 ^ w[1]);
        b = fold(b ^ w[1] ^ (i + 1) * c1, c0 ^ w[0]) + (b << 23 | b >> 41);
        a = next + (a << 29 | a >> 35);
    }
    return (tn_hash){{fold(a ^ size, c0) ^ b, fold(b ^ c1, a | 1) + size}};
}

void tn_fingerprint(const void *code, size_t code_size, const void *options, size_t options_size,
                    char out[33])
{
    uint64_t seed = tn_hash_bytes(TN_VERSION, sizeof TN_VERSION, 0).words[0];
    tn_hash program = tn_hash_bytes(code, code_size, seed);
    tn_hash both = tn_hash_bytes(options, options_size, program.words[0]);
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)(program.words[1] ^ both.words[0]),
             (unsigned long long)both.words[1]);
}
