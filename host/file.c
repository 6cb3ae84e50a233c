/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/host.h"

tn_status *tn_read_file(const char *path, void **out, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f) return TN_ERROR(NOT_FOUND, "%s: %s", path, strerror(errno));
    char *data = NULL;
    size_t used = 0, room = 0;
    for (;;) {
        if (used == room) {
            room = room ? room * 2 : 64u << 10;
            char *more = realloc(data, room);
            if (!more) break;
            data = more;
        }
        size_t n = fread(data + used, 1, room - used, f);
        used += n;
        if (!n) break;
    }
    bool whole = data && feof(f) && !ferror(f);
    fclose(f);
    if (!whole) {
        free(data);
        return TN_ERROR(UNKNOWN, "%s can't be read to its end", path);
    }
    *out = data;
    *size = used;
    return NULL;
}
