/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "test/values/check.h"

static bool is_nan(tn_element_type e, uint64_t bits)
{
    switch ((int)e) {
    case TN_F64: return (bits & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000;
    case TN_F32: return (bits & 0x7FFFFFFF) > 0x7F800000;
    case TN_F16: return (bits & 0x7FFF) > 0x7C00;
    case TN_BF16: return (bits & 0x7FFF) > 0x7F80;
    case TN_F8E5M2: return (bits & 0x7F) > 0x7C;
    case TN_F8E4M3: return (bits & 0x7F) > 0x78;
    case TN_F8E3M4: return (bits & 0x7F) > 0x70;
    case TN_F8E4M3FN: return (bits & 0x7F) == 0x7F;
    case TN_F8E5M2FNUZ:
    case TN_F8E4M3FNUZ:
    case TN_F8E4M3B11FNUZ: return bits == 0x80;
    case TN_F8E8M0FNU: return bits == 0xFF;
    default: return false;
    }
}

int64_t values_compare(const tn_type *t, const void *x, const void *y)
{
    size_t size = tn_type_bytes(t);
    if (!size || !memcmp(x, y, size)) return -1;
    bool complex = tn_is_complex(t->element);
    tn_element_type e = tn_real_type(t->element);
    unsigned bytes = tn_element_type_bytes(e);
    for (size_t i = 0; i < size / bytes; i++) {
        uint64_t p = 0, q = 0;
        memcpy(&p, (const char *)x + i * bytes, bytes);
        memcpy(&q, (const char *)y + i * bytes, bytes);
        if (p != q && !(tn_is_float(e) && is_nan(e, p) && is_nan(e, q)))
            return (int64_t)(complex ? i / 2 : i);
    }
    return -1;
}
