/* SPDX-License-Identifier: Apache-2.0 */
/* blob.h - a file in memory, for the programs of this folder. */
#ifndef TN_TEST_READER_BLOB_H
#define TN_TEST_READER_BLOB_H

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    char *data; /* ends with a NUL that `size` does not count; NULL: there is no such file */
    size_t size;
} blob;

static inline blob load(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    blob b = {NULL, 0};
    FILE *f = fopen(path, "rb");
    if (!f) return b;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    b.data = malloc((size_t)n + 1);
    b.size = fread(b.data, 1, (size_t)n, f);
    b.data[b.size] = 0;
    fclose(f);
    return b;
}

#endif
