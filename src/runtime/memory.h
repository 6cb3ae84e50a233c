/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - one memory of one device: lives with the client. Threads: any. */
#ifndef TN_RUNTIME_MEMORY_H
#define TN_RUNTIME_MEMORY_H

#include <stdbool.h>

#include "tenon/status.h"

typedef struct tn_memory tn_memory;
struct tn_device;

int tn_memory_id(const tn_memory *m);           /* unique in the client */
const char *tn_memory_kind(const tn_memory *m); /* "device", "pinned_host", "unpinned_host" */
int tn_memory_kind_id(const tn_memory *m);      /* the same as TN_MEMORY_* */
const char *tn_memory_debug_string(const tn_memory *m);
const char *tn_memory_to_string(const tn_memory *m);
struct tn_device *tn_memory_device(const tn_memory *m); /* the one that can use it */
/* Whether the host can read and write it. */
bool tn_memory_is_host_addressable(const tn_memory *m);

/* Things that users of the ABI attach to a memory. One value a key; a value that is replaced, or
 * left when the client ends, is handed to its destructor (may be NULL) once. */
void *tn_memory_user_data(const tn_memory *m, const void *key); /* NULL: none */
tn_status *tn_memory_set_user_data(tn_memory *m, const void *key, void *data,
                                   void (*destroy)(void *data)) TN_MUST_USE;

#endif
