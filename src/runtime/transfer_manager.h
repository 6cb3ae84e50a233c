/* SPDX-License-Identifier: Apache-2.0 */
/* transfer_manager.h - several buffers whose data arrives piece by piece from the host.
 *
 * `index` is the place of a buffer in the types it was made with; one out of range is
 * INVALID_ARGUMENT. Pieces may come in any order and from any thread. A buffer is ready when its
 * last piece and all pieces before it have arrived; if the manager goes first, the buffer gets
 * CANCELLED. */
#ifndef TN_RUNTIME_TRANSFER_MANAGER_H
#define TN_RUNTIME_TRANSFER_MANAGER_H

#include "base/named_value.h"
#include "runtime/transfer.h"

typedef struct tn_transfer_manager tn_transfer_manager;

/* layouts: NULL, or one (or NULL) per type. */
tn_status *tn_transfer_manager_create(tn_memory *m, size_t n, const tn_type *const *types,
                                      const tn_layout *const *layouts,
                                      tn_transfer_manager **out) TN_MUST_USE;
void tn_transfer_manager_destroy(tn_transfer_manager *t); /* NULL is fine */

struct tn_device *tn_transfer_manager_device(const tn_transfer_manager *t);
size_t tn_transfer_manager_count(const tn_transfer_manager *t);
tn_status *tn_transfer_manager_bytes(const tn_transfer_manager *t, int index,
                                     size_t *out) TN_MUST_USE;

/* Hands out the buffer: a reference of the caller's. Once each, else FAILED_PRECONDITION. */
tn_status *tn_transfer_manager_retrieve(tn_transfer_manager *t, int index,
                                        tn_buffer **out) TN_MUST_USE;

/* Copies bytes to an offset of the buffer. `data` must stay until *done is ready.
 * INVALID_ARGUMENT: not within the buffer; FAILED_PRECONDITION: after the last piece. */
tn_status *tn_transfer_manager_write(tn_transfer_manager *t, int index, const void *data,
                                     int64_t offset, int64_t size, bool last,
                                     tn_event **done) TN_MUST_USE;
/* Copies a whole array of the buffer's type, in any layout, which is the last piece. */
tn_status *tn_transfer_manager_write_array(tn_transfer_manager *t, int index,
                                           const tn_host_array *array, tn_event **done) TN_MUST_USE;

/* Instead of data; takes `error`. FAILED_PRECONDITION: after the last piece. */
tn_status *tn_transfer_manager_set_error(tn_transfer_manager *t, int index,
                                         tn_status *error) TN_MUST_USE;

/* For the log. */
void tn_transfer_manager_add_metadata(tn_transfer_manager *t, const tn_named_value *values,
                                      size_t n);

#endif
