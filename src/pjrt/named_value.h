/* SPDX-License-Identifier: Apache-2.0 */
/* named_value.h - options and attributes between the form of the ABI and our own. Threads: any. */
#ifndef TN_PJRT_NAMED_VALUE_H
#define TN_PJRT_NAMED_VALUE_H

#include "base/named_value.h"
#include "pjrt/entry.h"

/* Ours of the caller's n values; names and contents stay the caller's. *out ends with free(); with
 * n 0 it is NULL. INVALID_ARGUMENT: no such type, or NULL where there should be something. */
tn_status *tn_pjrt_take_values(const PJRT_NamedValue *values, size_t n,
                               tn_named_value **out) TN_MUST_USE;

/* The other way; *out ends with free(). Names and contents stay where they are. */
tn_status *tn_pjrt_give_values(const tn_named_value *values, size_t n,
                               PJRT_NamedValue **out) TN_MUST_USE;

/* Adds the caller's values, which must be strings, to *s as payloads. On an error *s is freed and
 * NULL. */
tn_status *tn_pjrt_take_payload(const PJRT_NamedValue *values, size_t n, tn_status **s) TN_MUST_USE;

#endif
