/* SPDX-License-Identifier: Apache-2.0 */
/* untyped.c - functions of XLA's older interface, which get addresses alone. */
#include "ffi/call.h"

/* Versions of the interface: what a function's arguments are after (out, in). `out` is the address
 * of the one result, or of an array of addresses. */
enum {
    ORIGINAL = 1,         /* nothing */
    STATUS_RETURNING = 2, /* status */
    UNIFIED = 3,          /* opaque, its size, status */
};

/* XLA's own object, which a function fills through XlaCustomCallStatusSetFailure of the library
 * that it is linked with: on failure that leaves other bytes than zeros. */
typedef struct {
    uint64_t words[8];
} status_block;

typedef void original(void *out, const void **in);
typedef void status_returning(void *out, const void **in, status_block *status);
typedef void unified(void *out, const void **in, const char *opaque, size_t size,
                     status_block *status);

tn_status *tn_ffi_check_untyped(const tn_op *op)
{
    int64_t version = tn_op_int(op, TN_ATTR_api_version, ORIGINAL);
    if (version >= ORIGINAL && version <= UNIFIED && !tn_op_extra(op, "mhlo.backend_config"))
        return NULL;
    return TN_OP_ERROR(UNIMPLEMENTED, op,
                       "target '%s' has a handler of the untyped interface, but the program calls "
                       "it by the typed one",
                       tn_op_string(op, TN_ATTR_call_target_name));
}

tn_status *tn_ffi_call_untyped(const tn_op *op, const tn_ffi_handler *h, const tn_ffi_buffers *b)
{
    status_block status = {{0}};
    void (*function)(void) = (void (*)(void))h->stages.execute;
    void *out = op->n_results == 1 ? b->rets[0] : (void *)b->rets;
    const void **in = (const void **)b->args;
    const tn_attr *opaque = tn_op_attr(op, TN_ATTR_backend_config);
    bool text = opaque && opaque->kind == TN_ATTR_KIND_STRING;
    switch (tn_op_int(op, TN_ATTR_api_version, ORIGINAL)) {
    case ORIGINAL: ((original *)function)(out, in); break;
    case STATUS_RETURNING: ((status_returning *)function)(out, in, &status); break;
    default:
        ((unified *)function)(out, in, text ? opaque->string.data : "",
                              text ? opaque->string.size : 0, &status);
        break;
    }
    for (size_t i = 0; i < sizeof status.words / sizeof status.words[0]; i++)
        if (status.words[i])
            return TN_OP_ERROR(INTERNAL, op, "target '%s' reports a failure", h->target);
    return NULL;
}
