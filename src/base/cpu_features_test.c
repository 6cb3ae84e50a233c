/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/cpu_features.h"

static char root[] = "/tmp/tn_cgroup_XXXXXX";

static void write_file(const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", root, path);
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void make_folder(const char *path)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", root, path);
    assert_int_equal(mkdir(full, 0700), 0);
}

static int limit(void)
{
    char membership[256];
    snprintf(membership, sizeof membership, "%s/membership", root);
    return tn_cgroup_cpu_limit(membership, root);
}

static void the_tightest_quota_on_the_way_up_counts(void **state)
{
    make_folder("a");
    make_folder("a/b");
    write_file("membership", "0::/a/b\n");
    assert_int_equal(limit(), 0);
    write_file("a/b/cpu.max", "max 100000\n");
    assert_int_equal(limit(), 0);
    write_file("a/cpu.max", "250000 100000\n");
    assert_int_equal(limit(), 3);
    write_file("a/b/cpu.max", "50000 100000\n");
    assert_int_equal(limit(), 1);
    write_file("membership", "0::/a/not/mounted/here\n");
    assert_int_equal(limit(), 3);
}

static void version_1_files_are_read(void **state)
{
    make_folder("cpu");
    make_folder("cpu/job");
    write_file("membership", "7:cpuset:/\n3:cpuacct,cpu:/job\n");
    write_file("cpu/job/cpu.cfs_period_us", "100000\n");
    write_file("cpu/job/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(limit(), 0);
    write_file("cpu/job/cpu.cfs_quota_us", "400001\n");
    assert_int_equal(limit(), 5);
}

static void broken_files_mean_no_limit(void **state)
{
    write_file("membership", "nonsense\n:\n::\n3:cpu\n0::relative\n");
    assert_int_equal(limit(), 0);
    assert_int_equal(tn_cgroup_cpu_limit("/nonexistent", root), 0);
}

static void the_count_is_within_the_affinity_mask(void **state)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    assert_in_range(tn_cpu_count(), 1, CPU_COUNT(&set));
}

static void names_and_order_of_instruction_sets(void **state)
{
    tn_isa isa = TN_ISA_BASELINE;
    assert_true(tn_isa_from_name("avx512", &isa));
    assert_int_equal(isa, TN_ISA_AVX512);
    assert_false(tn_isa_from_name("mmx", &isa));
    assert_string_equal(tn_isa_name(TN_ISA_NEON), "neon");
    assert_true(tn_cpu_has(TN_ISA_BASELINE));
    assert_true(tn_cpu_has(tn_cpu_isa()));
#if defined(__x86_64__)
    assert_false(tn_cpu_has(TN_ISA_NEON));
#else
    assert_false(tn_cpu_has(TN_ISA_AVX2));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tightest_quota_on_the_way_up_counts),
        cmocka_unit_test(version_1_files_are_read),
        cmocka_unit_test(broken_files_mean_no_limit),
        cmocka_unit_test(the_count_is_within_the_affinity_mask),
        cmocka_unit_test(names_and_order_of_instruction_sets),
    };
    if (!mkdtemp(root)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[256];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command) || failed;
}
