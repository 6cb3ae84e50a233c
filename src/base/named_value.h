/* SPDX-License-Identifier: Apache-2.0 */
/* named_value.h - options that come in and attributes that go out. Plain data. */
#ifndef TN_BASE_NAMED_VALUE_H
#define TN_BASE_NAMED_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers are those of PJRT named values. */
typedef enum {
    TN_VALUE_STRING = 0,
    TN_VALUE_INT = 1,
    TN_VALUE_INT_LIST = 2,
    TN_VALUE_FLOAT = 3,
    TN_VALUE_BOOL = 4
} tn_value_kind;

typedef struct {
    const char *name;
    size_t name_size;
    tn_value_kind kind;
    union {
        const char *string; /* of `size` bytes; not NUL-terminated when it comes from a caller */
        int64_t integer;
        const int64_t *integers; /* [size] */
        float real;
        bool boolean;
    };
    size_t size; /* bytes of a string, numbers of a list, else 1 */
} tn_named_value;

const char *tn_value_kind_name(tn_value_kind kind); /* "string", "int64", ... */

#endif
