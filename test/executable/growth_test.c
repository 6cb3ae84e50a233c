/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling is linear in the size of a program, whatever its shape: compile-time memory, steps and
 * the memory of a run per op are the same for 2,000 and 20,000 ops (100,000 for one shape), and
 * there are caps. Time has a bound that only something quadratic goes beyond. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "executable/compile.h"
#include "executable/program.h"
#include "growing_programs.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
enum { STACK = 1 << 20 }; /* their frames are larger */
#else
enum { STACK = 256 << 10 };
#endif
enum { BYTES_PER_OP = 4608, STEPS_PER_OP = 2, SECONDS = 8 };

typedef struct {
    double bytes, steps, flops; /* per op */
    size_t temp_bytes;
} growth;

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static growth compile_growing(size_t program, int ops)
{
    growing_text t = {0};
    growing_programs[program].make(&t, ops);
    tn_source source = {.read = tn_read_program, .code = t.text, .code_size = t.size};
    tn_executable *e;
    double start = cpu_seconds();
    tn_status *s = tn_compile_source(&source, &e);
    double took = cpu_seconds() - start;
    if (s) fail_msg("%s: %s", growing_programs[program].name, tn_status_message(s));
    if (took > SECONDS) fail_msg("%s: %.1f s", growing_programs[program].name, took);
    const tn_executable_info *info = tn_executable_get_info(e);
    growth g = {(double)info->code_bytes / ops, (double)e->n_steps / ops, info->flops / ops,
                info->temp_bytes};
    tn_executable_release(e);
    free(t.text);
    return g;
}

static void compare(size_t program, int few, int many)
{
    const char *name = growing_programs[program].name;
    growth a = compile_growing(program, few), b = compile_growing(program, many);
    print_message("%-12s %6d ops: %4.0f bytes, %.2f steps, %.0f flops per op\n", name, many,
                  b.bytes, b.steps, b.flops);
    if (b.bytes > BYTES_PER_OP || b.bytes > 1.25 * a.bytes)
        fail_msg("%s: %.0f bytes per op, then %.0f", name, a.bytes, b.bytes);
    if (b.steps > STEPS_PER_OP || b.steps > 1.25 * a.steps + 0.01)
        fail_msg("%s: %.2f steps per op, then %.2f", name, a.steps, b.steps);
    if (b.flops > 1.25 * a.flops + 1)
        fail_msg("%s: %.0f flops per op, then %.0f", name, a.flops, b.flops);
}

static void programs_of_all_shapes_grow_on_a_straight_line(void **unused)
{
    for (size_t i = 0; i < GROWING_PROGRAMS; i++) compare(i, 2000, 20000);
}

static void a_hundred_thousand_ops_stay_on_it(void **unused)
{
    compare(0, 20000, 100000);
}

/* Values that many others use are computed a few times at most, and few of them live at a time. */
static void what_many_use_is_not_computed_for_each(void **unused)
{
    for (size_t i = 0; i < GROWING_PROGRAMS; i++) {
        bool shared = !strcmp(growing_programs[i].name, "shared");
        if (!shared && strcmp(growing_programs[i].name, "fan-out")) continue;
        growth g = compile_growing(i, 5000);
        assert_true(g.flops < 1.5 * 1024);
        if (shared) assert_true(g.temp_bytes < 64 * 4096);
    }
}

static void *compile_each(void *unused)
{
    tn_status *s = NULL;
    (void)unused;
    for (size_t i = 0; i < GROWING_PROGRAMS && !s; i++) {
        growing_text t = {0};
        growing_programs[i].make(&t, 500);
        tn_source source = {.read = tn_read_program, .code = t.text, .code_size = t.size};
        tn_executable *e = NULL;
        s = tn_compile_source(&source, &e);
        tn_executable_release(e);
        free(t.text);
    }
    return s;
}

/* A host may call from threads whose stacks it has chosen itself. */
static void a_small_stack_is_enough(void **unused)
{
    pthread_attr_t attr;
    pthread_t thread;
    void *status;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, compile_each, NULL), 0);
    assert_int_equal(pthread_join(thread, &status), 0);
    pthread_attr_destroy(&attr);
    if (status) fail_msg("%s", tn_status_message(status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_all_shapes_grow_on_a_straight_line),
        cmocka_unit_test(a_hundred_thousand_ops_stay_on_it),
        cmocka_unit_test(what_many_use_is_not_computed_for_each),
        cmocka_unit_test(a_small_stack_is_enough),
    };
    return cmocka_run_group_tests_name("executable-growth", tests, NULL, NULL);
}
