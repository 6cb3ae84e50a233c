/* SPDX-License-Identifier: Apache-2.0 */
/* fingerprint.h - 128 bits that name a program with its options, and check stored bytes. */
#ifndef TN_EXECUTABLE_FINGERPRINT_H
#define TN_EXECUTABLE_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t words[2];
} tn_hash;

/* Not made to withstand somebody who looks for collisions. */
tn_hash tn_hash_bytes(const void *data, size_t size, uint64_t seed);
/* 32 hexadecimal digits and a NUL. Depends on Tenon's version. */
void tn_fingerprint(const void *code, size_t code_size, const void *options, size_t options_size,
                    char out[33]);

#endif
