/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

#include <cmocka.h>

#include "base/proto.h"
#include "base/thread_pool.h"
#include "base/trace.h"

static void ok(tn_status *s)
{
    if (s) fail_msg("%s", tn_status_message(s));
}

static void add(const char *name, uint64_t bytes)
{
    uint64_t start = tn_trace_begin();
    TN_TRACE_END(start, TN_TRACE_OP, name, "model.py:3:1", "jit_f", bytes);
}

static void nothing_is_recorded_while_off(void **state)
{
    assert_false(tn_trace_is_on());
    assert_int_equal(tn_trace_begin(), 0);
    add("before", 0);
    uint64_t start = tn_trace_start();
    tn_trace_snapshot s;
    ok(tn_trace_take(start, &s));
    assert_int_equal(s.n_threads, 0);
    tn_trace_snapshot_free(&s);
    tn_trace_stop();
}

static void labels_are_made_once(void **state)
{
    const tn_trace_label *a = tn_trace_label_of(TN_TRACE_OP, "dot", "a.py:1:1", "p");
    assert_ptr_equal(a, tn_trace_label_of(TN_TRACE_OP, "dot", "a.py:1:1", "p"));
    assert_ptr_not_equal(a, tn_trace_label_of(TN_TRACE_PART, "dot", "a.py:1:1", "p"));
    assert_ptr_not_equal(a, tn_trace_label_of(TN_TRACE_OP, "dot", "a.py:2:1", "p"));
    assert_ptr_not_equal(tn_trace_label_of(TN_TRACE_OP, "ab", "c", NULL),
                         tn_trace_label_of(TN_TRACE_OP, "a", "bc", NULL));
    assert_string_equal(tn_trace_label_of(TN_TRACE_OP, "dot", NULL, NULL)->source, "");
    const tn_trace_label b = {TN_TRACE_OP, "dot", "a.py:1:1", "p", "f32[2]"};
    assert_ptr_not_equal(a, tn_trace_label_like(&b));
    assert_string_equal(tn_trace_label_like(&b)->shape, "f32[2]");
}

static void *add_from_elsewhere(void *arg)
{
    pthread_setname_np(pthread_self(), "elsewhere");
    for (int i = 0; i < 3000; i++) add("far", 8);
    return NULL;
}

static void events_come_by_thread_and_in_order(void **state)
{
    uint64_t start = tn_trace_start();
    add("one", 0);
    add("two", 5);
    pthread_t thread;
    pthread_create(&thread, NULL, add_from_elsewhere, NULL);
    pthread_join(thread, NULL);
    uint64_t later = tn_trace_start(); /* an overlapping recording sees only what comes now */
    add("three", 0);
    tn_trace_snapshot s;
    ok(tn_trace_take(start, &s));
    assert_int_equal(s.n_threads, 2);
    size_t here = strcmp(s.threads[0].name, "elsewhere") ? 0 : 1;
    const tn_trace_thread *mine = &s.threads[here], *other = &s.threads[1 - here];
    assert_string_equal(other->name, "elsewhere");
    assert_int_equal(other->n_events, 3000);
    assert_int_equal(mine->n_events, 3);
    assert_string_equal(mine->events[1].label->name, "two");
    assert_int_equal(mine->events[1].bytes, 5);
    for (size_t i = 0; i < 3; i++) {
        assert_true(mine->events[i].start_ns >= start);
        assert_true(mine->events[i].start_ns <= mine->events[i].end_ns);
        assert_true(mine->events[i].end_ns <= s.end_ns);
    }
    tn_trace_snapshot_free(&s);
    tn_trace_stop();
    ok(tn_trace_take(later, &s));
    assert_int_equal(s.n_threads, 1);
    assert_int_equal(s.threads[0].n_events, 1);
    assert_string_equal(s.threads[0].events[0].label->name, "three");
    tn_trace_snapshot_free(&s);
    tn_trace_stop();
}

static void what_has_no_room_is_counted(void **state)
{
    uint64_t start = tn_trace_start();
    const tn_trace_label *label = tn_trace_label_of(TN_TRACE_OP, "many", NULL, NULL);
    for (int i = 0; i < 2300000; i++) tn_trace_end(start, label, 0);
    tn_trace_snapshot s;
    ok(tn_trace_take(start, &s));
    assert_int_equal(s.threads[0].n_events + s.dropped, 2300000);
    assert_true(s.dropped > 0);
    tn_trace_snapshot_free(&s);
    tn_trace_stop();
}

/* The fields of an XSpace, by hand. */
typedef struct {
    int lines, events, labels;
    bool has_source, has_name;
} seen;

static void see_message(tn_proto_reader r, int depth, uint32_t parent, seen *out)
{
    static const char wanted_source[] = "model.py:3:1", wanted_name[] = "two";
    bool more;
    for (;;) {
        ok(tn_proto_next(&r, &more));
        if (!more) break;
        if (r.wire != TN_PROTO_BYTES) continue;
        if (depth == 1 && r.field == 3) out->lines++;
        if (depth == 1 && r.field == 4) out->labels++;
        if (depth == 2 && parent == 3 && r.field == 4) out->events++;
        if (r.size == sizeof wanted_source - 1 && !memcmp(r.data, wanted_source, r.size))
            out->has_source = true;
        if (r.size == sizeof wanted_name - 1 && !memcmp(r.data, wanted_name, r.size))
            out->has_name = true;
        bool is_message = (depth == 0 && r.field == 1) || (depth == 1 && r.field >= 3) ||
                          (depth == 2 && parent == 4 && r.field == 2) ||
                          (depth == 3 && r.field == 5);
        if (!is_message) continue;
        tn_proto_reader inner;
        tn_proto_read(&inner, "part", r.data, r.size);
        see_message(inner, depth + 1, r.field, out);
    }
}

static void an_xspace_has_lines_events_and_names(void **state)
{
    uint64_t start = tn_trace_start();
    add("one", 0);
    add("two", 5);
    add("two", 5);
    tn_trace_snapshot s;
    ok(tn_trace_take(start, &s));
    void *data;
    size_t size;
    ok(tn_trace_to_xspace(&s, &data, &size));
    tn_trace_snapshot_free(&s);
    tn_trace_stop();
    tn_proto_reader r;
    tn_proto_read(&r, "XSpace", data, size);
    seen found = {0};
    see_message(r, 0, 0, &found);
    free(data);
    assert_int_equal(found.lines, 1);
    assert_int_equal(found.events, 3);
    assert_int_equal(found.labels, 2);
    assert_true(found.has_source && found.has_name);
}

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *text = calloc(1, 1 << 16);
    assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    return text;
}

static void files_hold_the_trace_and_a_table(void **state)
{
    char path[64], table[72];
    snprintf(path, sizeof path, "/tmp/tenon-trace-test-%d.json", (int)getpid());
    snprintf(table, sizeof table, "%s.txt", path);
    uint64_t start = tn_trace_start();
    add("say \"hi\"\n", 0);
    const tn_trace_label two = {TN_TRACE_OP, "two", "model.py:3:1", "jit_f", "f32[2,3]"};
    tn_trace_end_work(start, tn_trace_label_like(&two), 4096, 1e6);
    tn_trace_snapshot s;
    ok(tn_trace_take(start, &s));
    ok(tn_trace_to_file(&s, path));
    tn_status *e = tn_trace_to_file(&s, "/no/such/folder/x");
    assert_int_equal(tn_status_code(e), TN_INVALID_ARGUMENT);
    tn_status_free(e);
    tn_trace_snapshot_free(&s);
    tn_trace_stop();
    char *json = read_all(path), *text = read_all(table);
    assert_non_null(strstr(json, "\"say \\\"hi\\\"\\u000a\""));
    assert_non_null(strstr(json, "\"shape\":\"f32[2,3]\",\"bytes\":4096,\"flops\":1000000}"));
    assert_non_null(strstr(text, "  two  f32[2,3]  jit_f  model.py:3:1"));
    free(json);
    free(text);
    unlink(path);
    unlink(table);
}

static void slow_part(void *ctx, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) usleep(2000);
}

static void workers_tell_what_they_help_with(void **state)
{
    tn_thread_pool *pool;
    ok(tn_thread_pool_create(4, &pool));
    uint64_t start = tn_trace_start();
    tn_trace_set_current(tn_trace_label_of(TN_TRACE_OP, "dot", "m.py:1:1", "p"));
    tn_parallel_for(pool, 16, 2e6, slow_part, NULL);
    tn_trace_set_current(NULL);
    tn_thread_pool_destroy(pool);
    tn_trace_snapshot s;
    ok(tn_trace_take(start, &s));
    assert_true(s.n_threads > 0);
    for (size_t i = 0; i < s.n_threads; i++) {
        assert_string_equal(s.threads[i].name, "tenon-worker");
        assert_int_equal(s.threads[i].events[0].label->kind, TN_TRACE_PART);
        assert_string_equal(s.threads[i].events[0].label->name, "dot");
    }
    tn_trace_snapshot_free(&s);
    tn_trace_stop();
}

static void a_forked_child_records_nothing(void **state)
{
    tn_trace_start();
    add("parent", 0);
    pid_t child = fork();
    if (child == 0) {
        add("child", 0);
        _exit(tn_trace_is_on() ? 1 : 0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    tn_trace_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_recorded_while_off),
        cmocka_unit_test(labels_are_made_once),
        cmocka_unit_test(events_come_by_thread_and_in_order),
        cmocka_unit_test(what_has_no_room_is_counted),
        cmocka_unit_test(an_xspace_has_lines_events_and_names),
        cmocka_unit_test(files_hold_the_trace_and_a_table),
        cmocka_unit_test(workers_tell_what_they_help_with),
        cmocka_unit_test(a_forked_child_records_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
