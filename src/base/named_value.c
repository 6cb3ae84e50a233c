/* SPDX-License-Identifier: Apache-2.0 */
#include "base/named_value.h"

const char *tn_value_kind_name(tn_value_kind kind)
{
    switch (kind) {
    case TN_VALUE_STRING: return "string";
    case TN_VALUE_INT: return "int64";
    case TN_VALUE_INT_LIST: return "int64 list";
    case TN_VALUE_FLOAT: return "float";
    case TN_VALUE_BOOL: return "bool";
    }
    return "unknown kind";
}
