/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/thread_limit.h"
#include "base/thread_pool.h"

enum { MANY = 100000 };

typedef struct {
    tn_thread_pool *pool;
    int32_t *count; /* [n]: how often an item was done */
    atomic_int calls;
} visit;

static void visit_items(void *ctx, int64_t begin, int64_t end)
{
    visit *v = ctx;
    atomic_fetch_add(&v->calls, 1);
    for (int64_t i = begin; i < end; i++) v->count[i]++;
}

static tn_thread_pool *make_pool(int n)
{
    tn_thread_pool *pool = NULL;
    tn_status *s = tn_thread_pool_create(n, &pool);
    assert_null(s);
    return pool;
}

static void assert_each_once(const int32_t *count, int64_t n)
{
    for (int64_t i = 0; i < n; i++) assert_int_equal(count[i], 1);
}

static void every_item_is_done_once(void **state)
{
    static int32_t count[MANY];
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 31, 1000, MANY};
    for (int threads = 1; threads <= 5; threads++) {
        tn_thread_pool *pool = make_pool(threads);
        assert_int_equal(tn_thread_pool_size(pool), threads);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            memset(count, 0, sizeof count);
            visit v = {.count = count};
            tn_parallel_for(pool, sizes[s], 1e5, visit_items, &v);
            assert_each_once(count, sizes[s]);
            assert_true(sizes[s] == MANY || count[sizes[s]] == 0);
        }
        tn_thread_pool_destroy(pool);
    }
}

static void cheap_loops_and_null_pools_stay_on_the_caller(void **state)
{
    static int32_t count[MANY];
    tn_thread_pool *pool = make_pool(4);
    memset(count, 0, sizeof count);
    visit v = {.count = count};
    tn_parallel_for(pool, 1000, 1, visit_items, &v);
    assert_int_equal(v.calls, 1);
    tn_parallel_for(NULL, 1000, 1e9, visit_items, &v);
    assert_int_equal(v.calls, 2);
    tn_parallel_for(pool, 1000, 0.0 / 0.0, visit_items, &v);
    assert_int_equal(v.calls, 3);
    tn_parallel_for(pool, 1000, 1e9, visit_items, &v);
    assert_int_equal(v.calls, 3 + 16);
    tn_thread_pool_destroy(pool);
    assert_int_equal(tn_thread_pool_size(NULL), 1);
    tn_thread_pool_destroy(NULL);
}

static void loops_in_close_succession(void **state)
{
    static int32_t count[64];
    tn_thread_pool *pool = make_pool(3);
    memset(count, 0, sizeof count);
    visit v = {.count = count};
    for (int i = 0; i < 20000; i++) {
        tn_parallel_for(pool, 64, 1e3, visit_items, &v);
        if (i % 4000 == 0) usleep(2000); /* lets the workers fall asleep */
    }
    for (int i = 0; i < 64; i++) assert_int_equal(count[i], 20000);
    tn_thread_pool_destroy(pool);
}

typedef struct {
    tn_thread_pool *pool;
    atomic_int inner[16];
} nest;

static void add_inner(void *ctx, int64_t begin, int64_t end)
{
    nest *n = ctx;
    for (int64_t i = begin; i < end; i++) atomic_fetch_add(&n->inner[i], 1);
}

static void run_inner(void *ctx, int64_t begin, int64_t end)
{
    nest *n = ctx;
    for (int64_t i = begin; i < end; i++) tn_parallel_for(n->pool, 16, 1e6, add_inner, n);
}

static void *count_threads(void *arg)
{
    tn_thread_pool *pool = arg;
    static int32_t count[64];
    visit v = {.count = count};
    tn_parallel_for(pool, 64, 1e6, visit_items, &v);
    return tn_thread_pool_size(pool) == 4 ? NULL : arg;
}

typedef struct {
    atomic_int working, most;
} crowd;

static void gather(void *ctx, int64_t begin, int64_t end)
{
    crowd *c = ctx;
    int n = atomic_fetch_add(&c->working, 1) + 1, most = atomic_load(&c->most);
    while (n > most && !atomic_compare_exchange_weak(&c->most, &most, n)) {}
    usleep(2000);
    atomic_fetch_sub(&c->working, 1);
}

static void a_caller_can_do_with_fewer_threads(void **state)
{
    tn_thread_pool *pool = make_pool(4);
    assert_int_equal(tn_thread_limit(2), 0);
    assert_int_equal(tn_thread_pool_size(pool), 2);
    crowd c = {0};
    for (int i = 0; i < 10; i++) tn_parallel_for(pool, 64, 1e6, gather, &c);
    assert_in_range(c.most, 1, 2);
    pthread_t other; /* the limit is the caller's own */
    void *bad = NULL;
    assert_int_equal(pthread_create(&other, NULL, count_threads, pool), 0);
    pthread_join(other, &bad);
    assert_null(bad);
    assert_int_equal(tn_thread_limit(1), 2);
    c.most = 0;
    tn_parallel_for(pool, 64, 1e6, gather, &c);
    assert_int_equal(c.most, 1);
    assert_int_equal(tn_thread_limit(0), 1);
    assert_int_equal(tn_thread_pool_size(pool), 4);
    tn_thread_pool_destroy(pool);
}

static void nested_loops_finish(void **state)
{
    nest n = {.pool = make_pool(3)};
    tn_parallel_for(n.pool, 100, 1e6, run_inner, &n);
    for (int i = 0; i < 16; i++) assert_int_equal(n.inner[i], 100);
    tn_thread_pool_destroy(n.pool);
}

static void *call_often(void *arg)
{
    tn_thread_pool *pool = arg;
    int32_t count[200] = {0};
    visit v = {.count = count};
    for (int i = 0; i < 2000; i++) tn_parallel_for(pool, 200, 1e3, visit_items, &v);
    for (int i = 0; i < 200; i++)
        if (count[i] != 2000) return arg;
    return NULL;
}

static void several_callers_share_a_pool(void **state)
{
    tn_thread_pool *pool = make_pool(3);
    pthread_t callers[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&callers[i], NULL, call_often, pool), 0);
    for (int i = 0; i < 4; i++) {
        void *bad = NULL;
        pthread_join(callers[i], &bad);
        assert_null(bad);
    }
    tn_thread_pool_destroy(pool);
}

static void a_forked_child_runs_alone(void **state)
{
    tn_thread_pool *pool = make_pool(4);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        int32_t count[100] = {0};
        visit v = {.count = count};
        alarm(20);
        tn_parallel_for(pool, 100, 1e9, visit_items, &v);
        int bad = v.calls != 1;
        for (int i = 0; i < 100; i++) bad |= count[i] != 1;
        tn_thread_pool_destroy(pool);
        _exit(bad);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);

    int32_t count[100] = {0}; /* the parent still has its workers */
    visit v = {.count = count};
    tn_parallel_for(pool, 100, 1e9, visit_items, &v);
    assert_each_once(count, 100);
    assert_int_equal(v.calls, 16);
    tn_thread_pool_destroy(pool);
}

static void impossible_sizes_are_refused(void **state)
{
    tn_thread_pool *pool = NULL;
    tn_status *s = tn_thread_pool_create(-1, &pool);
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    assert_non_null(strstr(tn_status_message(s), "-1"));
    tn_status_free(s);
    s = tn_thread_pool_create(1 << 20, &pool);
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    tn_status_free(s);
    assert_null(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_done_once),
        cmocka_unit_test(cheap_loops_and_null_pools_stay_on_the_caller),
        cmocka_unit_test(loops_in_close_succession),
        cmocka_unit_test(a_caller_can_do_with_fewer_threads),
        cmocka_unit_test(nested_loops_finish),
        cmocka_unit_test(several_callers_share_a_pool),
        cmocka_unit_test(a_forked_child_runs_alone),
        cmocka_unit_test(impossible_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
