/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - PJRT_Error: a tn_status in the dress of the ABI.
 *
 * The codes are the same on both sides. An error starts with the function table of 0.107, so that
 * callers may go through it or through the slots. Making an error never fails: without memory there
 * is a static one. Threads: any. */
#ifndef TN_PJRT_ERROR_H
#define TN_PJRT_ERROR_H

#include "tenon/pjrt.h"
#include "tenon/status.h"

/* Takes `s`; NULL gives NULL. The caller owns the error. */
PJRT_Error *tn_pjrt_error(tn_status *s) TN_MUST_USE;

/* Ends an error of ours; NULL is fine. One of another library is left alone. */
void tn_pjrt_error_free(PJRT_Error *e);

/* Takes an error that a callback of the caller returned, ours or not; NULL gives NULL. */
tn_status *tn_pjrt_status(PJRT_Error *e) TN_MUST_USE;

/* A status from an error code and message that the caller passes as fields; code OK gives NULL.
 * Unknown codes become UNKNOWN. */
tn_status *tn_pjrt_status_of(PJRT_Error_Code code, const char *message,
                             size_t message_size) TN_MUST_USE;

/* The PJRT_CallbackError that we hand to callbacks. */
PJRT_Error *tn_pjrt_callback_error(PJRT_Error_Code code, const char *message, size_t message_size);

/* In functions that return a PJRT_Error *: leaves with the error of `expr`, a tn_status *. */
#define TN_PJRT_TRY(expr)                                                                          \
    do {                                                                                           \
        tn_status *tn_pjrt_try_ = (expr);                                                          \
        if (tn_pjrt_try_) return tn_pjrt_error(tn_pjrt_try_);                                      \
    } while (0)
#define TN_PJRT_ERROR(CODE, ...) tn_pjrt_error(TN_ERROR(CODE, __VA_ARGS__))

#endif
