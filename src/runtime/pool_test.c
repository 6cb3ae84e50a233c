/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/runtime_test.h"
#include "runtime/storage.h"

static void classes_are_close_and_in_order(void **state)
{
    size_t last = 0;
    unsigned last_class = 0;
    for (size_t size = 1; size < (size_t)1 << 40; size += 1 + size / 37) {
        size_t rounded, again;
        unsigned c = tn_pool_class(size, &rounded);
        assert_true(c < TN_POOL_CLASSES);
        assert_true(rounded >= size && rounded % 64 == 0);
        assert_true(size <= 1024 ? rounded - size < 64 : rounded - size <= size / 16);
        assert_true(c >= last_class && rounded >= last);
        assert_true((c == last_class) == (rounded == last) || last == 0);
        assert_int_equal(tn_pool_class(rounded, &again), c);
        assert_int_equal(again, rounded);
        last = rounded;
        last_class = c;
    }
}

static void blocks_are_reused_and_aligned(void **state)
{
    tn_client *c = open_client(state);
    tn_memory *m = memory(c, 0, TN_MEMORY_PINNED_HOST);
    tn_storage *a, *b;
    assert_ok(tn_storage_create(m, 1000, &a));
    void *where = a->host;
    assert_int_equal((uintptr_t)where % 64, 0);
    tn_storage_release(a);
    assert_ok(tn_storage_create(m, 970, &b));
    assert_ptr_equal(b->host, where);
    assert_ok(tn_storage_create(m, 970, &a));
    assert_ptr_not_equal(a->host, where);
    tn_storage_release(a);
    tn_storage_release(b);

    assert_ok(tn_storage_create(m, (size_t)5 << 20, &a));
    assert_int_equal((uintptr_t)a->host % ((size_t)2 << 20), 0);
    memset(a->host, 1, (size_t)5 << 20);
    tn_storage_release(a);
    tn_client_close(c);
}

static void what_is_kept_is_bounded(void **state)
{
    tn_named_value options[] = {OPTION("pool_limit_bytes", 4096)};
    tn_client *c = open_with(*state, options, 1);
    tn_memory *m = device_memory(c);
    tn_storage *s[8];
    for (int i = 0; i < 8; i++) assert_ok(tn_storage_create(m, 1024, &s[i]));
    tn_memory_stats stats;
    tn_device_memory_stats(device(c, 0), &stats);
    assert_int_equal(stats.bytes_in_use, 8192);
    assert_int_equal(stats.num_allocs, 8);
    assert_int_equal(stats.largest_alloc_size, 1024);
    for (int i = 0; i < 8; i++) tn_storage_release(s[i]);
    tn_device_memory_stats(device(c, 0), &stats);
    assert_int_equal(stats.bytes_in_use, 0);
    assert_int_equal(stats.peak_bytes_in_use, 8192);
    assert_int_equal(stats.pool_bytes, 4096);
    assert_int_equal(stats.peak_pool_bytes, 8192);
    tn_device_clear_memory_stats(device(c, 0));
    tn_device_memory_stats(device(c, 0), &stats);
    assert_int_equal(stats.peak_bytes_in_use, 0);
    tn_client_close(c);
}

static void kept_blocks_give_way_to_other_sizes(void **state)
{
    tn_named_value options[] = {OPTION("sim_memory_bytes", 1 << 20)};
    tn_client *c = open_with("sim", options, 1);
    tn_memory *m = device_memory(c);
    tn_storage *a, *b;
    assert_ok(tn_storage_create(m, 700 << 10, &a));
    tn_storage_release(a);
    assert_ok(tn_storage_create(m, 600 << 10, &a)); /* only fits once the other is given back */
    assert_fails(tn_storage_create(m, 600 << 10, &b), RESOURCE_EXHAUSTED, "do not fit");
    assert_int_equal(bytes_in_use(c), 608 << 10); /* rounded up to its class */
    tn_storage_release(a);
    assert_fails(tn_storage_create(m, SIZE_MAX / 2, &b), RESOURCE_EXHAUSTED, "");
    tn_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_close_and_in_order),
        ON_EACH(blocks_are_reused_and_aligned),
        ON_EACH(what_is_kept_is_bounded),
        ON("sim", kept_blocks_give_way_to_other_sizes),
    };
    return cmocka_run_group_tests_name("runtime-pool", tests, NULL, NULL);
}
