/* SPDX-License-Identifier: Apache-2.0 */
/* number.h - elements as bits, and their values, for every type that arithmetic is checked on. */
#ifndef TN_CONFORMANCE_NUMBER_H
#define TN_CONFORMANCE_NUMBER_H

#include "tenon/pjrt.h"

typedef enum { KIND_BOOL, KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT } number_kind;

typedef struct {
    const char *name; /* "bf16", as reports have it */
    const char *mlir; /* "ui8", as programs have it */
    PJRT_Buffer_Type type;
    number_kind kind;
    int bits, mantissa; /* mantissa: stored bits of a float's */
} number_type;

extern const number_type number_types[];
extern const int n_number_types;

/* Bits are those of the element, in the low end. */
long double number_value(const number_type *t, uint64_t bits); /* of a float */
uint64_t number_round(const number_type *t, long double v);    /* to nearest, ties to even */
int64_t number_signed(const number_type *t, uint64_t bits);
uint64_t number_mask(const number_type *t);
bool number_is_nan(const number_type *t, uint64_t bits);
/* Distance in units of the last place; 0 for equal bits, two NaNs, and zeros of either sign when
 * `signs` is false. */
uint64_t number_ulps(const number_type *t, uint64_t a, uint64_t b, bool signs);
uint64_t number_load(const number_type *t, const void *at, size_t i);
void number_store(const number_type *t, void *at, size_t i, uint64_t bits);

#endif
