/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/constants.h"

#include <string.h>

/* From here on filling costs less than what reading cold memory would. */
#define FILL_FROM 4096

bool tn_constant_is_filled(const tn_op *op)
{
    const tn_attr *a = tn_op_attr(op, TN_ATTR_value);
    return a->tensor.splat && tn_type_bytes(op->results[0].type) > FILL_FROM;
}

const void *tn_constant_data(tn_arena *a, const tn_op *op, size_t *bytes)
{
    const tn_literal *l = &tn_op_attr(op, TN_ATTR_value)->tensor;
    size_t size = tn_type_bytes(op->results[0].type);
    *bytes += size;
    if (!l->splat && (uintptr_t)l->data % 64 == 0) return l->data;
    /* tn_alloc aligns to 64 from 64 bytes on. */
    void *data = tn_alloc(a, size < 64 ? 64 : size);
    if (l->splat) tn_constant_fill(data, size, l->data, l->size);
    else memcpy(data, l->data, size);
    return data;
}

void tn_constant_fill(void *to, size_t bytes, const void *element, size_t size)
{
    if (!bytes) return;
    if (size == 1) {
        memset(to, *(const unsigned char *)element, bytes);
        return;
    }
    size_t done = size < bytes ? size : bytes;
    memcpy(to, element, done);
    /* The first block is doubled while it fits in L1, then repeated. */
    while (done < bytes) {
        size_t block = done < 16384 ? done : 16384 / size * size;
        if (block > bytes - done) block = bytes - done;
        memcpy((char *)to + done, to, block);
        done += block;
    }
}
