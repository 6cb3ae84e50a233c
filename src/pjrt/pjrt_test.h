/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt_test.h - what tests of this folder share. */
#ifndef TN_PJRT_PJRT_TEST_H
#define TN_PJRT_PJRT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pjrt/entry.h"

#define UNUSED __attribute__((unused))

/* An argument struct with its size set. */
#define ARGS(name, var, ...)                                                                       \
    PJRT_##name##_Args var = {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, __VA_ARGS__}

/* Ends a status, which must have this code and text. */
UNUSED static void expect_status(tn_status *s, tn_code code, const char *part)
{
    assert_non_null(s);
    if (tn_status_code(s) != code || !strstr(tn_status_message(s), part))
        fail_msg("expected %s with \"%s\", got %s: %s", tn_code_name(code), part,
                 tn_code_name(tn_status_code(s)), tn_status_message(s));
    tn_status_free(s);
}

UNUSED static void expect_error(PJRT_Error *e, tn_code code, const char *part)
{
    assert_non_null(e);
    expect_status(tn_pjrt_status(e), code, part);
}

UNUSED static void must(tn_status *s)
{
    if (s) fail_msg("%s", tn_status_message(s));
}

UNUSED static void ok(PJRT_Error *e)
{
    if (e) must(tn_pjrt_status(e));
}

#endif
