/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/options.h"

static const char *threads_text;

static const char *lookup(const char *variable)
{
    if (!strcmp(variable, "TN_THREADS")) return threads_text;
    if (!strcmp(variable, "TN_LOG")) return "runtime:debug";
    if (!strcmp(variable, "TN_ISA")) return "";
    return NULL;
}

static void values_and_defaults_are_read(void **state)
{
    tn_options o;
    threads_text = "3";
    tn_options_read(lookup, &o);
    assert_int_equal(o.threads, 3);
    assert_string_equal(o.log, "runtime:debug");
    assert_string_equal(o.isa, "");
    assert_string_equal(o.dump, "");
    assert_null(o.misread);
}

static void a_bad_number_leaves_the_default_and_is_named(void **state)
{
    static const char *const bad[] = {"x", "3x", "-1", "99999999999999999999", "4097", " "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tn_options o;
        threads_text = bad[i];
        tn_options_read(lookup, &o);
        assert_int_equal(o.threads, 0);
        assert_string_equal(o.misread, "TN_THREADS");
    }
}

static void every_row_is_documented(void **state)
{
    size_t n;
    const tn_option_row *rows = tn_option_rows(&n);
    assert_true(n >= 4);
    for (size_t i = 0; i < n; i++) {
        assert_true(!strncmp(rows[i].variable, "TN_", 3) ||
                    !strncmp(rows[i].variable, "TENON_", 6));
        assert_true(strlen(rows[i].doc) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_defaults_are_read),
        cmocka_unit_test(a_bad_number_leaves_the_default_and_is_named),
        cmocka_unit_test(every_row_is_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
