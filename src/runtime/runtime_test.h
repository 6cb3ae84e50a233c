/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_test.h - what tests of the runtime share: each test runs on every driver of DRIVERS,
 * whose name is the test's state. */
#ifndef TN_RUNTIME_RUNTIME_TEST_H
#define TN_RUNTIME_RUNTIME_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "runtime/execute_internal.h"
#include "runtime/runtime.h"

/* TSan refuses threads in a forked child. */
#if defined(__SANITIZE_THREAD__)
#define NO_THREADS_AFTER_FORK 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NO_THREADS_AFTER_FORK 1
#endif
#endif
#ifndef NO_THREADS_AFTER_FORK
#define NO_THREADS_AFTER_FORK 0
#endif

#define ON_EACH(test)                                                                              \
    {#test " (cpu)", test, NULL, NULL, "cpu"}, {#test " (sim)", test, NULL, NULL, "sim"}
#define ON(driver, test) {#test " (" driver ")", test, NULL, NULL, driver}

__attribute__((unused)) static bool is_sim(void **state)
{
    return strcmp(*state, "sim") == 0;
}

#define assert_ok(expr)                                                                            \
    do {                                                                                           \
        tn_status *ok_ = (expr);                                                                   \
        if (ok_) fail_msg("%s: %s", tn_code_name(tn_status_code(ok_)), tn_status_message(ok_));    \
    } while (0)

/* The expression's error has the code, and its message contains the text. */
#define assert_fails(expr, CODE, text)                                                             \
    do {                                                                                           \
        tn_status *failed_ = (expr);                                                               \
        if (tn_status_code(failed_) != TN_##CODE || !strstr(tn_status_message(failed_), (text)))   \
            fail_msg("expected " #CODE " \"%s\", got %s \"%s\"", (text),                           \
                     tn_code_name(tn_status_code(failed_)), tn_status_message(failed_));           \
        tn_status_free(failed_);                                                                   \
    } while (0)

/* Awaits and releases an event. */
#define assert_event_ok(event)                                                                     \
    do {                                                                                           \
        tn_event *event_ = (event);                                                                \
        assert_ok(tn_event_await(event_));                                                         \
        tn_event_release(event_);                                                                  \
    } while (0)
#define assert_event_fails(event, CODE, text)                                                      \
    do {                                                                                           \
        tn_event *event_ = (event);                                                                \
        assert_fails(tn_event_await(event_), CODE, text);                                          \
        tn_event_release(event_);                                                                  \
    } while (0)

#define OPTION(key, value)                                                                         \
    (tn_named_value){.name = (key),                                                                \
                     .name_size = strlen(key),                                                     \
                     .kind = TN_VALUE_INT,                                                         \
                     .integer = (value),                                                           \
                     .size = 1}

__attribute__((unused)) static tn_client *open_with(const char *driver,
                                                    const tn_named_value *options, size_t n)
{
    tn_client *c = NULL;
    assert_ok(tn_client_create(driver, options, n, &c));
    return c;
}

/* A client with 2 devices and 2 threads. */
__attribute__((unused)) static tn_client *open_client(void **state)
{
    tn_named_value options[] = {OPTION(is_sim(state) ? "sim_device_count" : "cpu_device_count", 2),
                                OPTION("num_threads", 2)};
    return open_with(*state, options, 2);
}

__attribute__((unused)) static tn_device *device(tn_client *c, size_t i)
{
    size_t n;
    tn_device *const *devices = tn_client_devices(c, &n);
    assert_true(i < n);
    return devices[i];
}

__attribute__((unused)) static tn_memory *memory(tn_client *c, size_t i, int kind)
{
    size_t n;
    return tn_device_memories(device(c, i), &n)[kind];
}

__attribute__((unused)) static tn_memory *device_memory(tn_client *c)
{
    return memory(c, 0, TN_MEMORY_DEVICE);
}

/* A tensor type; the dims are those of the expression and live with the enclosing block. */
#define TYPE(element_type, ...)                                                                    \
    (tn_type)                                                                                      \
    {                                                                                              \
        .kind = TN_TYPE_TENSOR, .element = TN_##element_type,                                      \
        .rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dims = (int64_t[])            \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* A buffer with the content of a dense array that is copied during the call. */
__attribute__((unused)) static tn_buffer *put(tn_memory *m, const tn_type *type, const void *data)
{
    tn_event *done;
    tn_buffer *b;
    tn_host_array array = {.data = data, .type = type};
    assert_ok(tn_buffer_from_host(m, &array, TN_HOST_READ_DURING_CALL, NULL, &done, &b));
    assert_event_ok(done);
    return b;
}

/* Reads all of a buffer, densely. */
__attribute__((unused)) static void get(tn_buffer *b, void *out)
{
    tn_event *done;
    assert_ok(tn_buffer_to_host(b, NULL, out, tn_buffer_bytes(b), &done));
    assert_event_ok(done);
}

__attribute__((unused)) static void assert_floats(tn_buffer *b, const float *expected, size_t n)
{
    float got[1024];
    assert_true(n <= 1024);
    assert_int_equal(tn_buffer_bytes(b), n * sizeof(float));
    get(b, got);
    for (size_t i = 0; i < n; i++)
        if (got[i] != expected[i])
            fail_msg("element %zu: expected %g, got %g", i, (double)expected[i], (double)got[i]);
}

__attribute__((unused)) static tn_event *ready_event(tn_buffer *b)
{
    tn_event *e;
    assert_ok(tn_buffer_ready_event(b, &e));
    return e;
}

__attribute__((unused)) static void sleep_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

__attribute__((unused)) static int64_t bytes_in_use(tn_client *c)
{
    tn_memory_stats stats;
    tn_device_memory_stats(device(c, 0), &stats);
    return stats.bytes_in_use;
}

#endif
