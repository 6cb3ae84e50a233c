/* SPDX-License-Identifier: Apache-2.0 */
#include "test/values/check.h"

const char *values_check_op(const tn_op *op, const tn_tensor *operands, const tn_tensor *results)
{
    return NULL;
}
