/* SPDX-License-Identifier: Apache-2.0 */
/* functions.h - the index behind tn_module_find. */
#ifndef TN_IR_FUNCTIONS_H
#define TN_IR_FUNCTIONS_H

#include "ir/ir.h"

/* To be called after functions were taken out of the module's list: else they would still be found.
 * tn_module_add_function needs no such call. */
void tn_module_index_functions(tn_module *m);

#endif
