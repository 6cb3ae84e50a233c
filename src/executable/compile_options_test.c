/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "executable/compile_options.h"

/* What jaxlib 0.10.2 serialises for one replica of four partitions on devices 3, 1, 2, 0, with four
 * compiler_options; its DebugOptions are left out, a shape {2,3} is added. */
static const char jax_options[] =
    "\x1a\x3c\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01 \x01(\x04"
    "0\x01J\x18\x08\x01\x10\x04\x1a\x03\n\x01\x03\x1a\x03\n\x01\x01\x1a\x03\n\x01\x02\x1a\x03\n"
    "\x01\x00"
    "b\x02\x01\x00\x92\x01\x01\x00\x98\x01\x01\xb8\x01\x01\xc8\x01\x1d(\xff\xff\xff\xff\xff\xff\xff"
    "\xff\xff\x01:\x0b\n\x05xla_a\x12\x02\x10\x01:\x0b\n\x05xla_b\x12\x02\x18\x07:\x12\n\x05xla_c"
    "\x12\t!\x00\x00\x00\x00\x00\x00\x04@:\x0f\n\x05xla_d\x12\x06\n\x04text"
    "\x0a\x02\x1a\x00\x20\x01\x48\x01";
#define JAX_SIZE (sizeof jax_options - 1)

static void options_of_jax_are_understood(void **state)
{
    tn_compile_options *o;
    assert_null(tn_compile_options_decode(jax_options, JAX_SIZE, &o));
    assert_int_equal(o->device_ordinal, -1);
    assert_int_equal(o->num_replicas, 1);
    assert_int_equal(o->num_partitions, 4);
    assert_int_equal(o->device_assignment.replicas, 1);
    assert_int_equal(o->device_assignment.partitions, 4);
    const int64_t ids[] = {3, 1, 2, 0};
    assert_memory_equal(o->device_assignment.ids, ids, sizeof ids);
    assert_true(o->use_spmd_partitioning);
    assert_true(o->use_shardy_partitioner);
    assert_int_equal(o->n_propagate_to_results, 2);
    assert_true(o->propagate_to_results[0]);
    assert_false(o->propagate_to_results[1]);
    assert_int_equal(o->n_propagate_to_parameters, 1);
    assert_false(o->propagate_to_parameters[0]);
    assert_int_equal(o->process_count, 1);
    assert_int_equal(o->memory_fitting_level, 29);
    assert_int_equal(o->optimization_level, 0);
    assert_true(o->compile_portable);
    assert_true(o->may_change_program);
    assert_false(o->tupled_arguments);
    assert_int_equal(o->layouts.n_arguments, 1);
    assert_int_equal(o->layouts.arguments[0].size, 2);
    assert_memory_equal(o->layouts.arguments[0].data, "\x1a\x00", 2);
    assert_int_equal(o->layouts.result.size, 0);

    assert_int_equal(o->n_overrides, 4);
    assert_string_equal(o->overrides[0].name, "xla_a");
    assert_int_equal(o->overrides[0].kind, TN_OVERRIDE_BOOL);
    assert_true(o->overrides[0].boolean);
    assert_string_equal(o->overrides[1].name, "xla_b");
    assert_int_equal(o->overrides[1].kind, TN_OVERRIDE_INT);
    assert_int_equal(o->overrides[1].integer, 7);
    assert_string_equal(o->overrides[2].name, "xla_c");
    assert_int_equal(o->overrides[2].kind, TN_OVERRIDE_DOUBLE);
    assert_true(o->overrides[2].number == 2.5);
    assert_string_equal(o->overrides[3].name, "xla_d");
    assert_int_equal(o->overrides[3].kind, TN_OVERRIDE_STRING);
    assert_string_equal(o->overrides[3].string, "text");

    assert_int_equal(o->serialized.size, JAX_SIZE);
    assert_memory_equal(o->serialized.data, jax_options, JAX_SIZE);
    assert_true(o->serialized.data != (const void *)jax_options);
    tn_compile_options_free(o);
}

static void nothing_gives_the_defaults(void **state)
{
    tn_compile_options *o;
    assert_null(tn_compile_options_decode(NULL, 0, &o));
    assert_int_equal(o->device_ordinal, -1);
    assert_int_equal(o->num_replicas, 1);
    assert_int_equal(o->num_partitions, 1);
    assert_int_equal(o->device_assignment.replicas, 0);
    assert_false(o->compile_portable);
    assert_int_equal(o->n_overrides, 0);
    tn_compile_options_free(o);
    tn_compile_options_free(NULL);
}

static void expect_error(const char *bytes, size_t size, const char *part)
{
    tn_compile_options *o;
    tn_status *s = tn_compile_options_decode(bytes, size, &o);
    assert_non_null(s);
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    if (!strstr(tn_status_message(s), part))
        fail_msg("\"%s\" is not in \"%s\"", part, tn_status_message(s));
    tn_status_free(s);
}

static void wrong_options_are_named(void **state)
{
#define BAD(text, part) expect_error(text, sizeof text - 1, part)
    BAD("\x18\x01", "CompileOptionsProto.executable_build_options: expected bytes, got varint");
    BAD("\x1a\x02\x22\x00", "ExecutableBuildOptionsProto.num_replicas: expected varint, got bytes");
    BAD("\x1a\x0b\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "num_replicas: expected a number");
    BAD("\x1a\x0b\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        "ExecutableBuildOptionsProto.device_ordinal: expected a number from -1 to");
    /* Two replicas where the assignment has one. */
    BAD("\x1a\x0d\x20\x02\x4a\x09\x08\x01\x10\x01\x1a\x03\n\x01\x05",
        "device_assignment: expected 2 replicas of 1 partitions");
    BAD("\x1a\x0b\x4a\x09\x08\x02\x10\x01\x1a\x03\n\x01\x05",
        "expected 1 lists (computation_count) of 2 devices (replica_count), got 1 of 1");
    BAD("\x1a\x06\x4a\x04\x08\x00\x10\x01", "DeviceAssignmentProto.replica_count: expected a");
    BAD("\x1a\x0d\x4a\x0b\x10\x02\x08\x01\x1a\x03\n\x01\x05\x1a\x00",
        "list 0 has 1 devices, list 1 has 0");
    BAD(":\x07\n\x03"
        "a\0b\x12\x00",
        "EnvOptionOverridesEntry.key: the string holds a NUL");
    BAD("\xff", "CompileOptionsProto: the number of a field is cut short");
#undef BAD
}

static void assignments_come_back(void **state)
{
    const int64_t ids[] = {0, 300, 2, 3, -1, 5};
    const tn_device_assignment d = {2, 3, ids};
    void *inner, *data;
    size_t inner_size, size;
    assert_null(tn_device_assignment_encode(&d, &inner, &inner_size));
    tn_proto_writer w = {0};
    size_t build = tn_proto_begin(&w, 3);
    tn_proto_put_int64(&w, 4, 2);
    tn_proto_put_int64(&w, 5, 3);
    tn_proto_put_bytes(&w, 9, inner, inner_size);
    tn_proto_end(&w, build);
    assert_null(tn_proto_finish(&w, &data, &size));
    tn_compile_options *o;
    assert_null(tn_compile_options_decode(data, size, &o));
    assert_int_equal(o->device_assignment.replicas, 2);
    assert_int_equal(o->device_assignment.partitions, 3);
    assert_memory_equal(o->device_assignment.ids, ids, sizeof ids);
    tn_compile_options_free(o);
    free(data);
    free(inner);
    const tn_device_assignment one = {1, 4, (const int64_t[]){3, 1, 2, 0}};
    assert_null(tn_device_assignment_encode(&one, &data, &size));
    assert_int_equal(size, 24);
    assert_memory_equal(data, jax_options + 21, 24); /* as jaxlib writes it */
    free(data);
}

/* Any bytes give options or INVALID_ARGUMENT; a copy of exact size lets ASan see reads beyond. */
static void try(const char *bytes, size_t size)
{
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size) memcpy(copy, bytes, size);
    tn_compile_options *o;
    tn_status *s = tn_compile_options_decode(copy, size, &o);
    free(copy);
    if (s) {
        assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
        tn_status_free(s);
    } else {
        assert_true(o->num_replicas >= 1 && o->num_partitions >= 1);
        int64_t sum = 0, n = o->device_assignment.replicas * o->device_assignment.partitions;
        for (int64_t i = 0; i < n; i++) sum ^= o->device_assignment.ids[i];
        for (size_t i = 0; i < o->n_overrides; i++) sum += (int64_t)strlen(o->overrides[i].name);
        tn_compile_options_free(o);
        (void)sum;
    }
}

static void damaged_options_do_no_harm(void **state)
{
    char bytes[JAX_SIZE];
    for (size_t n = 0; n <= JAX_SIZE; n++) try(jax_options, n);
    uint64_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        memcpy(bytes, jax_options, JAX_SIZE);
        size_t size = JAX_SIZE;
        for (int edits = 1 + round % 4; edits-- && size;) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size_t at = (seed >> 33) % size;
            switch (seed >> 61) {
            case 0: size = at + 1; break;
            case 1: bytes[at] = (char)0xff; break;
            case 2: memmove(bytes + at, bytes + at + 1, --size - at); break;
            default: bytes[at] ^= (char)(1 << ((seed >> 20) & 7));
            }
        }
        try(bytes, size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_jax_are_understood),
        cmocka_unit_test(nothing_gives_the_defaults),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(assignments_come_back),
        cmocka_unit_test(damaged_options_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
