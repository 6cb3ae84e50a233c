/* SPDX-License-Identifier: Apache-2.0 */
/* conv_arrange.h - internal: a copy of the input with features innermost, for inputs that have
 * positions innermost: tiles that step through features then read neighbours instead of one element
 * a page. */
#ifndef TN_KERNELS_CONV_ARRANGE_H
#define TN_KERNELS_CONV_ARRANGE_H

#include "kernels/conv.h"

/* Whether the copy pays. If so, *out is the convolution on it and *bytes its size. */
bool tn_conv_arrange(const tn_conv *c, tn_conv *out, size_t *bytes);
/* Makes the copy. `arranged` is what tn_conv_arrange gave for `c`. */
void tn_conv_arrange_run(const tn_conv *c, const tn_conv *arranged, const char *in, char *copy,
                         tn_thread_pool *pool);

#endif
