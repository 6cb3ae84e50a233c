/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

/* What tn_log writes to stderr for one message under `rules`. */
static const char *logged(const char *rules, tn_log_level level, const char *topic,
                          const char *text)
{
    static char line[4096];
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    tn_log_configure(rules);
    tn_log(level, topic, "%s", text);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    size_t size = fread(line, 1, sizeof line - 1, file);
    line[size] = 0;
    fclose(file);
    return line;
}

static void it_is_silent_by_default(void **state)
{
    assert_false(tn_log_enabled(TN_LOG_ERROR, "runtime"));
    assert_string_equal(logged("", TN_LOG_ERROR, "runtime", "x"), "");
}

static void a_rule_selects_topic_and_level(void **state)
{
    assert_string_equal(logged("runtime:info", TN_LOG_INFO, "runtime", "hello"),
                        "tenon runtime info: hello\n");
    assert_string_equal(logged("runtime:info", TN_LOG_DEBUG, "runtime", "x"), "");
    assert_string_equal(logged("runtime:info", TN_LOG_ERROR, "passes", "x"), "");
    assert_string_equal(logged("warning", TN_LOG_ERROR, "passes", "x"), "tenon passes error: x\n");
    assert_string_equal(logged("passes", TN_LOG_DEBUG, "passes", "x"), "tenon passes debug: x\n");
}

static void a_topics_own_rule_beats_the_general_one(void **state)
{
    assert_string_equal(logged("runtime:off,debug", TN_LOG_ERROR, "runtime", "x"), "");
    assert_string_equal(logged("runtime:off,runtime:error", TN_LOG_ERROR, "runtime", "x"),
                        "tenon runtime error: x\n");
}

static void nonsense_is_ignored(void **state)
{
    assert_string_equal(logged(",,:,a:b:c,runtime:loud", TN_LOG_ERROR, "runtime", "x"), "");
}

static void a_long_line_is_cut(void **state)
{
    static char text[5000];
    memset(text, 'a', sizeof text - 1);
    const char *line = logged("debug", TN_LOG_INFO, "base", text);
    assert_int_equal(strlen(line), 2047);
    assert_int_equal(line[2046], '\n');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_silent_by_default),
        cmocka_unit_test(a_rule_selects_topic_and_level),
        cmocka_unit_test(a_topics_own_rule_beats_the_general_one),
        cmocka_unit_test(nonsense_is_ignored),
        cmocka_unit_test(a_long_line_is_cut),
    };
    unsetenv("TN_LOG");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
