/* SPDX-License-Identifier: Apache-2.0 */
/* mutate.h - a corpus, and bytes made from it by chance: what iteration i makes depends on the
 * seed, i and the corpus alone. */
#ifndef TN_TEST_FUZZ_MUTATE_H
#define TN_TEST_FUZZ_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t *data;
    size_t size;
} blob;

extern blob *corpus;
extern size_t n_corpus;
void add_blob(const void *data, size_t size); /* copies it */
void add_file(const char *path);              /* nothing happens if it can't be read */

/* What `make` leaves. */
extern uint8_t work[];
extern size_t n_work;
void make(uint64_t seed, uint64_t iteration);

uint64_t chance(void);
size_t below(size_t n); /* 0 for n = 0 */

#endif
