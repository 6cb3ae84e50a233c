/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime_test.h"

static tn_named_value text(const char *name, const char *value)
{
    return (tn_named_value){.name = name,
                            .name_size = strlen(name),
                            .kind = TN_VALUE_STRING,
                            .string = value,
                            .size = strlen(value)};
}

static tn_status *try_options(const char *driver, tn_named_value option)
{
    tn_client *c = NULL;
    tn_status *s = tn_client_create(driver, &option, 1, &c);
    tn_client_close(c);
    return s;
}

static void options_are_checked(void **state)
{
    const char *driver = *state;
    const char *count = is_sim(state) ? "sim_device_count" : "cpu_device_count";
    assert_fails(try_options(driver, OPTION("no_such_thing", 1)), INVALID_ARGUMENT,
                 "\"no_such_thing\"");
    assert_fails(try_options(driver, text(count, "2")), INVALID_ARGUMENT, count);
    assert_fails(try_options(driver, OPTION(count, 0)), INVALID_ARGUMENT, count);
    assert_fails(try_options(driver, OPTION("num_threads", -1)), INVALID_ARGUMENT, "num_threads");
    assert_fails(try_options(driver, OPTION("platform_name", 1)), INVALID_ARGUMENT,
                 "platform_name");
    assert_fails(try_options(driver, OPTION("num_nodes", 2)), UNIMPLEMENTED, "num_nodes");
    assert_fails(try_options("nonsense", OPTION("num_threads", 1)), NOT_FOUND, "cpu, sim");
    assert_fails(try_options(driver, text("driver", "/no/such/file.so")), NOT_FOUND, "load");
    /* options belong to their driver */
    assert_fails(try_options("cpu", OPTION("sim_copy_ns", 1)), INVALID_ARGUMENT, "sim_copy_ns");
    assert_ok(try_options("cpu", text("driver", "sim")));
}

static void devices_and_memories_are_what_was_asked_for(void **state)
{
    tn_client *c = open_client(state);
    size_t n, m;
    tn_device *const *devices = tn_client_devices(c, &n);
    assert_int_equal(n, 2);
    assert_string_equal(tn_client_platform_name(c), *state);
    assert_non_null(strstr(tn_client_platform_version(c), "tenon"));
    tn_memory *const *all = tn_client_memories(c, &m);
    assert_int_equal(m, 6);
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(tn_memory_id(all[i]), tn_memory_id(all[k]));
    for (size_t i = 0; i < n; i++) {
        const tn_device_description *d = tn_device_get_description(devices[i]);
        assert_int_equal(d->id, i);
        assert_string_equal(d->kind, *state);
        assert_string_equal(d->to_string, is_sim(state)
                                              ? (i ? "SimDevice(id=1)" : "SimDevice(id=0)")
                                              : (i ? "CpuDevice(id=1)" : "CpuDevice(id=0)"));
        tn_memory *const *mine = tn_device_memories(devices[i], &m);
        assert_int_equal(m, 3);
        assert_ptr_equal(mine[0], tn_device_default_memory(devices[i]));
        assert_string_equal(tn_memory_kind(mine[0]), "device");
        assert_string_equal(tn_memory_kind(mine[1]), "pinned_host");
        assert_string_equal(tn_memory_kind(mine[2]), "unpinned_host");
        assert_int_equal(tn_memory_is_host_addressable(mine[0]), !is_sim(state));
        assert_true(tn_memory_is_host_addressable(mine[1]));
        for (size_t k = 0; k < 3; k++) assert_ptr_equal(tn_memory_device(mine[k]), devices[i]);
    }
    tn_client_close(c);
}

/* The shared object stands beside this program, in the folder that its sources stand in. */
static void a_driver_can_be_a_shared_object(void **state)
{
    char path[4096] = "";
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    assert_true(n > 0);
    strcpy(strrchr(path, '/'), "/src/driver/outside_driver.so");
    tn_named_value options[] = {text("driver", path), OPTION("cpu_device_count", 2)};
    tn_client *c = open_with(*state, options, 2);
    assert_string_equal(tn_client_platform_name(c), "outside");
    tn_buffer *b = put(memory(c, 1, 0), &TYPE(F32, 2), (float[]){1, 2});
    assert_floats(b, (float[]){1, 2}, 2);
    tn_buffer_release(b);
    tn_client_close(c);
}

static void lookups_and_assignments_are_checked(void **state)
{
    tn_client *c = open_client(state);
    tn_device *d = NULL;
    int ids[4] = {-1, -1, -1, -1};
    assert_ok(tn_client_lookup_device(c, 1, &d));
    assert_ptr_equal(d, device(c, 1));
    assert_fails(tn_client_lookup_device(c, -1, &d), INVALID_ARGUMENT, "-1");
    assert_fails(tn_client_lookup_device(c, 2, &d), INVALID_ARGUMENT, "2");
    assert_fails(tn_client_lookup_local_device(c, 99, &d), INVALID_ARGUMENT, "99");
    assert_ok(tn_client_default_assignment(c, 2, 1, ids, 4));
    assert_int_equal(ids[0], 0);
    assert_int_equal(ids[1], 1);
    assert_int_equal(ids[2], -1);
    assert_fails(tn_client_default_assignment(c, 0, 1, ids, 4), INVALID_ARGUMENT, "at least 1");
    assert_fails(tn_client_default_assignment(c, 1, -3, ids, 4), INVALID_ARGUMENT, "at least 1");
    assert_fails(tn_client_default_assignment(c, 1, 2, ids, 1), FAILED_PRECONDITION, "room");
    assert_fails(tn_client_default_assignment(c, INT32_MAX, INT32_MAX, ids, 4), INVALID_ARGUMENT,
                 "devices");
    tn_client_close(c);
}

static void the_platform_name_can_be_chosen(void **state)
{
    tn_named_value option = text("platform_name", "other");
    tn_client *c = open_with(*state, &option, 1);
    assert_string_equal(tn_client_platform_name(c), "other");
    assert_string_equal(tn_topology_platform_name(tn_client_topology(c)), "other");
    assert_string_equal(tn_device_get_description(device(c, 0))->kind, *state);
    tn_client_close(c);
}

static void topologies_survive_serialization(void **state)
{
    tn_client *c = open_client(state);
    tn_topology *t = tn_client_topology(c), *copy = NULL, *alone = NULL, *other = NULL;
    size_t size;
    const char *bytes = tn_topology_serialize(t, &size);
    assert_ok(tn_topology_deserialize(bytes, size, &copy));
    assert_int_equal(tn_topology_device_count(copy), 2);
    assert_string_equal(tn_topology_device(copy, 1)->to_string,
                        tn_topology_device(t, 1)->to_string);
    assert_true(tn_topology_fingerprint(copy) == tn_topology_fingerprint(t));

    tn_named_value options[] = {OPTION(is_sim(state) ? "sim_device_count" : "cpu_device_count", 2)};
    assert_ok(tn_topology_create(*state, options, 1, &alone));
    assert_true(tn_topology_fingerprint(alone) == tn_topology_fingerprint(t));
    assert_ok(tn_topology_create(*state, NULL, 0, &other));
    assert_true(tn_topology_fingerprint(other) != tn_topology_fingerprint(t));

    tn_topology *none = NULL;
    for (size_t n = 0; n < size; n++)
        assert_fails(tn_topology_deserialize(bytes, n, &none), INVALID_ARGUMENT, "");
    char *damaged = malloc(size);
    for (size_t i = 0; i < size; i++) {
        memcpy(damaged, bytes, size);
        damaged[i] ^= 0x80;
        tn_topology *x = NULL;
        tn_status_free(tn_topology_deserialize(damaged, size, &x)); /* either way no crash */
        tn_topology_release(x);
    }
    free(damaged);
    tn_topology_release(copy);
    tn_topology_release(alone);
    tn_topology_release(other);
    tn_client_close(c);
}

static void add_one(void *data)
{
    ++*(int *)data;
}

static void user_data_of_memories_ends_once(void **state)
{
    tn_client *c = open_client(state);
    tn_memory *m = device_memory(c);
    int first = 0, second = 0, third = 0, key_a, key_b;
    assert_null(tn_memory_user_data(m, &key_a));
    assert_ok(tn_memory_set_user_data(m, &key_a, &first, add_one));
    assert_ok(tn_memory_set_user_data(m, &key_b, &second, add_one));
    assert_ptr_equal(tn_memory_user_data(m, &key_a), &first);
    assert_ptr_equal(tn_memory_user_data(m, &key_b), &second);
    assert_ok(tn_memory_set_user_data(m, &key_a, &third, add_one));
    assert_int_equal(first, 1);
    assert_int_equal(third, 0);
    tn_client_close(c);
    assert_int_equal(first, 1);
    assert_int_equal(second, 1);
    assert_int_equal(third, 1);
}

static void tracked_work_and_mappings_are_paired(void **state)
{
    tn_client *c = open_client(state);
    tn_tracking_event *e;
    tn_named_value *attributes;
    size_t n;
    assert_ok(tn_tracking_event_create(device(c, 0), "loading", 7, &e));
    assert_ok(tn_device_attributes(device(c, 0), &attributes, &n));
    assert_int_equal(n, 1);
    assert_int_equal(attributes[0].integer, 1);
    free(attributes);
    tn_tracking_event_destroy(e);
    assert_ok(tn_device_attributes(device(c, 0), &attributes, &n));
    assert_int_equal(attributes[0].integer, 0);
    free(attributes);

    char block[64];
    assert_ok(tn_client_dma_map(c, block, sizeof block));
    assert_ok(tn_client_dma_unmap(c, block));
    assert_fails(tn_client_dma_unmap(c, block), NOT_FOUND, "not mapped");
    assert_fails(tn_client_dma_map(c, NULL, 1), INVALID_ARGUMENT, "");
    assert_ok(tn_client_dma_map(c, block, 1)); /* left mapped */
    tn_client_close(c);
}

static void a_forked_child_gets_an_error_at_once(void **state)
{
    tn_client *c = open_client(state);
    tn_type type = TYPE(F32, 4);
    float data[4] = {1, 2, 3, 4};
    tn_buffer *b = put(device_memory(c), &type, data);
    assert_event_ok(ready_event(b));
    pid_t child = fork();
    if (child == 0) {
        tn_event *done = NULL;
        tn_buffer *other = NULL;
        tn_host_array array = {.data = data, .type = &type};
        int wrong = 0;
        wrong |= tn_status_code(tn_buffer_to_host(b, NULL, data, sizeof data, &done)) !=
                 TN_FAILED_PRECONDITION;
        wrong |= tn_status_code(tn_buffer_from_host(device_memory(c), &array, TN_HOST_ALIAS, NULL,
                                                    &done, &other)) != TN_FAILED_PRECONDITION;
        wrong |= tn_status_code(tn_buffer_copy_to_memory(b, device_memory(c), &other)) !=
                 TN_FAILED_PRECONDITION;
        wrong |= tn_buffer_ready_event(b, &done) != NULL; /* the error is in the event */
        wrong |= tn_status_code(tn_event_await(done)) != TN_FAILED_PRECONDITION;
        wrong |= tn_buffer_drop_external_reference(b) != NULL;
        tn_buffer_delete(b);
        tn_buffer_release(b);
        tn_client_close(c);
        /* Nor has the child of several threads any under qemu-user, which aborts. */
        if (NO_THREADS_AFTER_FORK || getenv("MESON_EXE_WRAPPER")) _exit(wrong ? 1 : 7);
        /* a client of its own works */
        tn_client *mine = NULL;
        tn_status *s = tn_client_create(*state, NULL, 0, &mine);
        wrong |= s != NULL;
        if (mine) {
            wrong |= tn_buffer_from_host(device_memory(mine), &array, TN_HOST_READ_DURING_CALL,
                                         NULL, &done, &other) != NULL;
            if (!wrong) wrong |= tn_event_await(done) != NULL;
        }
        _exit(wrong ? 1 : 7);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_floats(b, data, 4);
    tn_buffer_release(b);
    tn_client_close(c);
}

static void objects_may_outlive_the_client(void **state)
{
    tn_client *c = open_client(state);
    tn_type type = TYPE(F32, 4);
    float data[4] = {1, 2, 3, 4};
    tn_buffer *b = put(device_memory(c), &type, data), *other = NULL;
    tn_client_close(c);
    assert_int_equal(tn_buffer_bytes(b), 16);
    assert_fails(tn_buffer_copy_to_memory(b, tn_buffer_memory(b), &other), FAILED_PRECONDITION,
                 "closed");
    tn_buffer_delete(b);
    tn_buffer_release(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_EACH(options_are_checked),
        ON_EACH(devices_and_memories_are_what_was_asked_for),
        ON("cpu", a_driver_can_be_a_shared_object),
        ON_EACH(lookups_and_assignments_are_checked),
        ON_EACH(the_platform_name_can_be_chosen),
        ON_EACH(topologies_survive_serialization),
        ON_EACH(user_data_of_memories_ends_once),
        ON_EACH(tracked_work_and_mappings_are_paired),
        ON_EACH(a_forked_child_gets_an_error_at_once),
        ON_EACH(objects_may_outlive_the_client),
    };
    return cmocka_run_group_tests_name("runtime-client", tests, NULL, NULL);
}
