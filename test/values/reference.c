/* SPDX-License-Identifier: Apache-2.0 */
#include "test/values/reference.h"

#include "test/values/check.h"

const char *values_check_op(const tn_op *op, const tn_tensor *operands, const tn_tensor *results)
{
    const char *what = NULL;
    if (reference_moves(op, operands, results, &what)) return what;
    if (reference_products(op, operands, results, &what)) return what;
    reference_folds(op, operands, results, &what);
    return what;
}
