/* SPDX-License-Identifier: Apache-2.0 */
/* print.h - calls as text, from copies of their arguments.
 *
 * What stands behind a pointer of an argument must be copied when the call is made (it may be gone
 * later); turning it into text can wait. tn_capture copies, tn_print_call prints. */
#ifndef TN_LAYERS_PRINT_H
#define TN_LAYERS_PRINT_H

#include "layers/layer.h"

/* A growing text. Starts as {0}. */
typedef struct {
    char *at;
    size_t n, room;
} tn_out;

void tn_put(tn_out *o, const char *fmt, ...) TN_PRINTF(2, 3);
void tn_put_bytes(tn_out *o, const char *bytes, size_t n);
/* Quoted, with \ and control characters as JSON has them. */
void tn_put_quoted(tn_out *o, const char *bytes, size_t n);

/* Copies what stands behind the pointers of `args` (a call that has returned; failed: then not what
 * is out) to `to`: pieces {uint16 field, uint16 bytes, bytes padded to 4}. Gives the bytes used. */
#define TN_CAPTURE_ROOM 2048
size_t tn_capture(int fn, const void *args, bool failed, char *to);

/* "buffer=0x12, dims=[2,3]" of a copy of args with its captured pieces: inputs, or outputs. */
void tn_print_fields(tn_out *o, int fn, const void *args, const char *pieces, size_t n_pieces,
                     bool outputs);

/* A CompileOptionsProto as text, a line per field. */
void tn_print_options(tn_out *o, const void *bytes, size_t size);

#endif
