/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - text that grows in an arena, and the words of MLIR's syntax. */
#ifndef TN_IR_TEXT_H
#define TN_IR_TEXT_H

#include "type/type.h"

typedef struct {
    tn_arena *arena;
    char *data; /* not NUL terminated before tn_text_end */
    size_t size, capacity;
} tn_text;

void tn_text_add(tn_text *t, const char *s, size_t size);
void tn_text_put(tn_text *t, const char *fmt, ...) TN_PRINTF(2, 3);
/* Adds the final NUL and gives the whole. */
char *tn_text_end(tn_text *t);

void tn_text_type(tn_text *t, const tn_type *type);
/* "..." with MLIR's escapes. */
void tn_text_string(tn_text *t, const char *s, size_t size);
/* A word as it is if it is an identifier, else as a string: keys of dictionaries, symbols behind @.
 */
void tn_text_word(tn_text *t, const char *s);
/* [1, 2, 3] */
void tn_text_numbers(tn_text *t, const int64_t *v, size_t n);
/* A float literal that reads back as `v`, which is a value of type `e`; not for infinities and NaN.
 */
void tn_text_float(tn_text *t, tn_element_type e, double v);
/* One element in memory form as it stands in dense<...>: 1, true, 1.5, 0x7FC00000, (1.0, 2.0). */
void tn_text_element(tn_text *t, tn_element_type e, const void *data);

#endif
