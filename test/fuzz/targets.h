/* SPDX-License-Identifier: Apache-2.0 */
/* targets.h - the readers of foreign bytes, as functions from bytes to a status. */
#ifndef TN_TEST_FUZZ_TARGETS_H
#define TN_TEST_FUZZ_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon/status.h"

typedef struct {
    const char *name, *what;
    /* Reads `data`; *good says that it was accepted. */
    tn_status *(*run)(const uint8_t *data, size_t size, bool *good);
    void (*prepare)(
        void); /* turns a corpus of programs into one for this target; NULL: it is one */
} target;

extern const target targets[]; /* ends with a NULL name */

#endif
