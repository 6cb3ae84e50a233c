/* SPDX-License-Identifier: Apache-2.0 */
/* location.h - where an op came from, decoded from the file when a message asks. */
#ifndef TN_READER_LOCATION_H
#define TN_READER_LOCATION_H

#include "reader/container.h"

/* A locator over an opened file, which must live as long as it. Any thread may use it. */
const tn_locator *tn_location_locator(tn_arena *a, const tn_bytecode *b);

#endif
