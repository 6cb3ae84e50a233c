/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "type/float_bits.h"

static void expect(tn_element_type e, uint64_t bits, double v)
{
    double got = tn_float_from_bits(e, bits);
    if (isnan(v) ? !isnan(got) : got != v || !signbit(got) != !signbit(v))
        fail_msg("%s 0x%llX: expected %g, got %g", tn_element_type_text(e),
                 (unsigned long long)bits, v, got);
}

static void wide_types_are_as_the_hardware_has_them(void **state)
{
    expect(TN_F32, 0x3FC00000, 1.5);
    expect(TN_F32, 0x00000001, 0x1p-149);
    expect(TN_F32, 0xFF800000, -INFINITY);
    expect(TN_F64, 0xC008000000000000, -3);
    expect(TN_F64, 1, 0x1p-1074);
    expect(TN_F64, 0x7FF8000000000000, NAN);
}

static void half_types_follow_ieee(void **state)
{
    expect(TN_F16, 0x3E00, 1.5);
    expect(TN_F16, 0x7BFF, 65504);
    expect(TN_F16, 0x0001, 0x1p-24);
    expect(TN_F16, 0x8000, -0.0);
    expect(TN_F16, 0x7C00, INFINITY);
    expect(TN_F16, 0x7E00, NAN);
    expect(TN_BF16, 0x3FC0, 1.5);
    expect(TN_BF16, 0xFF80, -INFINITY);
    expect(TN_BF16, 0x0001, 0x1p-133);
}

/* Largest, smallest and special values of each narrow format, from its definition. */
static void narrow_types(void **state)
{
    expect(TN_F8E5M2, 0x7B, 57344);
    expect(TN_F8E5M2, 0x7C, INFINITY);
    expect(TN_F8E5M2, 0x01, 0x1p-16);
    expect(TN_F8E4M3, 0x77, 240);
    expect(TN_F8E4M3, 0xF8, -INFINITY);
    expect(TN_F8E4M3, 0x79, NAN);
    expect(TN_F8E3M4, 0x6F, 15.5);
    expect(TN_F8E3M4, 0x01, 0x1p-6);
    expect(TN_F8E4M3FN, 0x7E, 448);
    expect(TN_F8E4M3FN, 0x7F, NAN);
    expect(TN_F8E4M3FN, 0x01, 0x1p-9);
    expect(TN_F8E4M3FNUZ, 0x7F, 240);
    expect(TN_F8E4M3FNUZ, 0x80, NAN);
    expect(TN_F8E4M3FNUZ, 0x01, 0x1p-10);
    expect(TN_F8E5M2FNUZ, 0xFF, -57344);
    expect(TN_F8E5M2FNUZ, 0x80, NAN);
    expect(TN_F8E4M3B11FNUZ, 0x7F, 30);
    expect(TN_F8E4M3B11FNUZ, 0x80, NAN);
    expect(TN_F8E8M0FNU, 0x7F, 1);
    expect(TN_F8E8M0FNU, 0x00, 0x1p-127);
    expect(TN_F8E8M0FNU, 0xFF, NAN);
    expect(TN_F6E2M3FN, 0x1F, 7.5);
    expect(TN_F6E2M3FN, 0x21, -0.125);
    expect(TN_F6E3M2FN, 0x1F, 28);
    expect(TN_F6E3M2FN, 0x01, 0.0625);
    expect(TN_F4E2M1FN, 0x7, 6);
    expect(TN_F4E2M1FN, 0x9, -0.5);
}

static void what_is_no_float_is_nan(void **state)
{
    expect(TN_I32, 1, NAN);
    expect(TN_INVALID, 0, NAN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_types_are_as_the_hardware_has_them),
        cmocka_unit_test(half_types_follow_ieee),
        cmocka_unit_test(narrow_types),
        cmocka_unit_test(what_is_no_float_is_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
