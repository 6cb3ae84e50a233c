/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/host.h"

#define MAGIC    "\x93NUMPY"
#define MAX_RANK 64

/* numpy's spelling of a type, and the type that a file of it is read as. */
static const struct {
    const char *descr;
    PJRT_Buffer_Type type;
} descrs[] = {
    {"|b1", PJRT_Buffer_Type_PRED}, {"|i1", PJRT_Buffer_Type_S8},   {"<i2", PJRT_Buffer_Type_S16},
    {"<i4", PJRT_Buffer_Type_S32},  {"<i8", PJRT_Buffer_Type_S64},  {"|u1", PJRT_Buffer_Type_U8},
    {"<u2", PJRT_Buffer_Type_U16},  {"<u4", PJRT_Buffer_Type_U32},  {"<u8", PJRT_Buffer_Type_U64},
    {"<f2", PJRT_Buffer_Type_F16},  {"<f4", PJRT_Buffer_Type_F32},  {"<f8", PJRT_Buffer_Type_F64},
    {"<c8", PJRT_Buffer_Type_C64},  {"<c16", PJRT_Buffer_Type_C128}};

#define COUNT (sizeof descrs / sizeof *descrs)

/* Finds 'key': in the header and gives what follows it. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at += strlen(key);
    while (*at == ' ' || *at == ':' || *at == '\'') at++;
    return at;
}

static tn_status *parse_header(const char *header, PJRT_Buffer_Type *type, size_t *rank,
                               int64_t *dims)
{
    const char *descr = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'"),
               *shape = value_of(header, "'shape'");
    if (!descr || !order || !shape || *shape != '(')
        return TN_ERROR(INVALID_ARGUMENT, "the npy header lacks descr, fortran_order or shape");
    *type = PJRT_Buffer_Type_INVALID;
    for (size_t i = 0; i < COUNT; i++) {
        size_t n = strlen(descrs[i].descr);
        if (!strncmp(descr, descrs[i].descr, n) && descr[n] == '\'') *type = descrs[i].type;
    }
    if (*type == PJRT_Buffer_Type_INVALID)
        return TN_ERROR(UNIMPLEMENTED, "npy type %.8s is not read", descr);
    if (strncmp(order, "False", 5))
        return TN_ERROR(UNIMPLEMENTED, "an npy file in Fortran order is not read");
    *rank = 0;
    for (shape++; *shape != ')';) {
        char *end;
        errno = 0;
        long long d = strtoll(shape, &end, 10);
        if (end == shape || errno || d < 0 || *rank == MAX_RANK)
            return TN_ERROR(INVALID_ARGUMENT, "the npy header has a bad shape");
        dims[(*rank)++] = d;
        for (shape = end; *shape == ',' || *shape == ' ';) shape++;
    }
    return NULL;
}

tn_status *tn_npy_parse(const void *bytes, size_t size, PJRT_Buffer_Type as, tn_array *out)
{
    const unsigned char *b = bytes;
    if (size < 12 || memcmp(b, MAGIC, 6)) return TN_ERROR(INVALID_ARGUMENT, "this is no npy file");
    size_t at = b[6] == 1 ? 10 : 12;
    size_t n = b[6] == 1 ? b[8] | (size_t)b[9] << 8
                         : b[8] | (size_t)b[9] << 8 | (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (n > size - at) return TN_ERROR(INVALID_ARGUMENT, "the npy header ends after the file");
    char *header = strndup((const char *)b + at, n);
    if (!header) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    PJRT_Buffer_Type type = PJRT_Buffer_Type_INVALID;
    size_t rank = 0;
    int64_t dims[MAX_RANK];
    tn_status *s = parse_header(header, &type, &rank, dims);
    free(header);
    if (s) return s;
    if (as != PJRT_Buffer_Type_INVALID && tn_element_size(as) != tn_element_size(type))
        return TN_ERROR(INVALID_ARGUMENT, "an npy file of %s can't hold %s", tn_element_name(type),
                        tn_element_name(as));
    TN_TRY(tn_array_make(as != PJRT_Buffer_Type_INVALID ? as : type, rank, dims, out));
    if (out->size > size - at - n) {
        size_t want = out->size;
        tn_array_free(out);
        return TN_ERROR(INVALID_ARGUMENT, "the npy file has %zu bytes of data, expected %zu",
                        size - at - n, want);
    }
    memcpy(out->data, b + at + n, out->size);
    return NULL;
}

tn_status *tn_npy_read(const char *path, PJRT_Buffer_Type as, tn_array *out)
{
    void *bytes;
    size_t size;
    TN_TRY(tn_read_file(path, &bytes, &size));
    tn_status *s = tn_npy_parse(bytes, size, as, out);
    free(bytes);
    return s ? tn_status_annotate(s, "%s", path) : NULL;
}

/* The numpy type of equal width that stores `type`. */
static const char *descr_of(PJRT_Buffer_Type type)
{
    for (size_t i = 0; i < COUNT; i++)
        if (descrs[i].type == type) return descrs[i].descr;
    if (type == PJRT_Buffer_Type_S4 || type == PJRT_Buffer_Type_S2) return "|i1";
    return tn_element_size(type) == 2 ? "<u2" : "|u1";
}

tn_status *tn_npy_write(const char *path, const tn_array *a)
{
    char header[64 + MAX_RANK * 21];
    if (a->rank > MAX_RANK)
        return TN_ERROR(UNIMPLEMENTED, "an npy file of rank %zu is not written", a->rank);
    int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                     descr_of(a->type));
    for (size_t i = 0; i < a->rank; i++)
        n += snprintf(header + n, sizeof header - (size_t)n, "%lld,", (long long)a->dims[i]);
    n += snprintf(header + n, sizeof header - (size_t)n, "), }");
    size_t total = (10 + (size_t)n + 1 + 63) & ~(size_t)63; /* data starts at a multiple of 64 */
    size_t length = total - 10;
    FILE *f = fopen(path, "wb");
    if (!f) return TN_ERROR(NOT_FOUND, "%s: %s", path, strerror(errno));
    unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, length & 255, length >> 8};
    bool ok = fwrite(start, 1, 10, f) == 10 &&
              fprintf(f, "%-*s\n", (int)length - 1, header) == (int)length &&
              fwrite(a->data, 1, a->size, f) == a->size;
    ok = !fclose(f) && ok;
    return ok ? NULL : TN_ERROR(UNKNOWN, "%s can't be written", path);
}
