/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose devices meet, on 4 devices of each driver. Device d has [10 d + 0, 10 d + 1, ...].
 */
#include "executable/compile_options.h"
#include "runtime/runtime_test.h"

enum { DEVICES = 4, MOST = 65536 };

static tn_client *open_devices(void **state, int64_t timeout_s)
{
    tn_named_value options[] = {
        OPTION(is_sim(state) ? "sim_device_count" : "cpu_device_count", DEVICES),
        OPTION("num_threads", 2), OPTION("collective_timeout_s", timeout_s)};
    return open_with(*state, options, 3);
}

typedef struct {
    tn_client *client;
    tn_loaded_executable *loaded;
    tn_buffer *args[DEVICES], *outs[DEVICES][2];
    tn_event *done[DEVICES];
    uint32_t n_results;
} job;

/* `text` in a module of so many replicas and partitions. */
static tn_loaded_executable *load_text(tn_client *c, int replicas, int partitions, const char *text)
{
    char whole[8192];
    int n = snprintf(whole, sizeof whole,
                     "module @m attributes {mhlo.num_replicas = %d : i32, mhlo.num_partitions = %d "
                     ": i32} {\n%s\n}\n",
                     replicas, partitions, text);
    assert_true(n > 0 && (size_t)n < sizeof whole);
    tn_compile_options *options;
    tn_executable *e = NULL;
    tn_loaded_executable *l = NULL;
    assert_ok(tn_compile_options_decode(NULL, 0, &options));
    assert_ok(tn_compile(whole, (size_t)n, "mlir", 4, options, &e));
    tn_compile_options_free(options);
    assert_ok(tn_loaded_executable_create(c, e, NULL, 0, &l));
    tn_executable_release(e);
    return l;
}

/* Starts the program with one argument of n integers, or none. */
static void start(job *j, void **state, int replicas, int partitions, int64_t n, const char *text)
{
    *j = (job){.client = open_devices(state, 20)};
    j->loaded = load_text(j->client, replicas, partitions, text);
    static int32_t data[MOST];
    tn_type type = TYPE(I32, n);
    for (int d = 0; d < DEVICES && n; d++) {
        for (int32_t i = 0; i < n; i++) data[i] = 10 * d + i;
        j->args[d] = put(memory(j->client, (size_t)d, TN_MEMORY_DEVICE), &type, data);
    }
    tn_execute_options none = {0};
    assert_ok(tn_execute(
        j->loaded, &none,
        (tn_buffer *const *[]){&j->args[0], &j->args[1], &j->args[2], &j->args[3]}, DEVICES,
        n ? 1 : 0, (tn_buffer * *[]){j->outs[0], j->outs[1], j->outs[2], j->outs[3]}, j->done));
}

static void finish(job *j)
{
    for (int d = 0; d < DEVICES; d++) {
        tn_buffer_release(j->args[d]);
        for (int i = 0; i < 2; i++) tn_buffer_release(j->outs[d][i]);
    }
    tn_loaded_executable_release(j->loaded);
    tn_client_close(j->client);
}

static void await_all(job *j)
{
    for (int d = 0; d < DEVICES; d++) assert_event_ok(j->done[d]);
}

/* What device d gets as result r: n integers, row after row. */
static void expect(job *j, int d, int r, const int32_t *want, size_t n)
{
    static int32_t got[MOST];
    assert_int_equal(tn_buffer_bytes(j->outs[d][r]), n * sizeof *got);
    get(j->outs[d][r], got);
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i])
            fail_msg("device %d, result %d, [%zu]: expected %d, got %d", d, r, i, want[i], got[i]);
}
#define EXPECT(j, d, r, ...)                                                                       \
    expect(j, d, r, (int32_t[]){__VA_ARGS__}, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

#define ADD                                                                                        \
    "({\n^bb0(%x: tensor<i32>, %y: tensor<i32>):\n%s = stablehlo.add %x, %y : tensor<i32>\n"       \
    "stablehlo.return %s : tensor<i32>\n})"

/* --- the groups of each strategy --- */

static void groups_of_replicas_meet(void **state)
{
    job j;
    start(&j, state, 4, 1, 2,
          "func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {\n"
          "%r = \"stablehlo.all_reduce\"(%a) <{replica_groups = dense<[[2, 0], [1, 3]]> : "
          "tensor<2x2xi64>}> " ADD " : (tensor<2xi32>) -> tensor<2xi32>\n"
          "return %r : tensor<2xi32>\n}");
    await_all(&j);
    EXPECT(&j, 0, 0, 20, 22);
    EXPECT(&j, 1, 0, 40, 42);
    EXPECT(&j, 2, 0, 20, 22);
    EXPECT(&j, 3, 0, 40, 42);
    finish(&j);
}

/* Groups are of replicas, and of each replica's partitions. */
static void a_channel_takes_all_partitions_in_their_order(void **state)
{
    job j;
    start(&j, state, 2, 2, 1,
          "func.func @main(%a: tensor<1xi32>) -> tensor<4xi32> {\n"
          "%r = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, replica_groups = "
          "dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = "
          "1, type = 0>}> : (tensor<1xi32>) -> tensor<4xi32>\n"
          "return %r : tensor<4xi32>\n}");
    await_all(&j);
    for (int d = 0; d < DEVICES; d++) EXPECT(&j, d, 0, 20, 0, 30, 10);
    finish(&j);
}

static void global_ids_name_devices(void **state)
{
    job j;
    start(&j, state, 2, 2, 1,
          "func.func @main(%a: tensor<1xi32>) -> tensor<2xi32> {\n"
          "%r = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, replica_groups = "
          "dense<[[3, 0], [1, 2]]> : tensor<2x2xi64>, use_global_device_ids, channel_handle = "
          "#stablehlo.channel_handle<handle = 1, type = 0>}> : (tensor<1xi32>) -> tensor<2xi32>\n"
          "return %r : tensor<2xi32>\n}");
    await_all(&j);
    EXPECT(&j, 0, 0, 30, 0);
    EXPECT(&j, 1, 0, 10, 20);
    EXPECT(&j, 2, 0, 10, 20);
    EXPECT(&j, 3, 0, 30, 0);
    finish(&j);
}

static void rows_may_be_filled_up(void **state)
{
    job j;
    start(&j, state, 4, 1, 1,
          "func.func @main(%a: tensor<1xi32>) -> tensor<1xi32> {\n"
          "%r = \"stablehlo.all_reduce\"(%a) <{replica_groups = dense<[[0, 1, 2], [3, -1, -1]]> : "
          "tensor<2x3xi64>}> " ADD " : (tensor<1xi32>) -> tensor<1xi32>\n"
          "return %r : tensor<1xi32>\n}");
    await_all(&j);
    for (int d = 0; d < 3; d++) EXPECT(&j, d, 0, 30);
    EXPECT(&j, 3, 0, 30);
    finish(&j);
}

/* --- what each op does --- */

/* Large enough to be reduced in parts, with one left over. */
static void a_large_sum_is_that_of_all(void **state)
{
    enum { N = 40001 };
    job j;
    start(&j, state, 1, 4, N,
          "func.func @main(%a: tensor<40001xi32>) -> (tensor<40001xi32>, tensor<40001xi32>) {\n"
          "%b = stablehlo.add %a, %a : tensor<40001xi32>\n"
          "%r:2 = \"stablehlo.all_reduce\"(%a, %b) <{replica_groups = dense<[[0, 1, 2, 3]]> : "
          "tensor<1x4xi64>, use_global_device_ids, channel_handle = "
          "#stablehlo.channel_handle<handle = 1, type = 0>}> " ADD
          " : (tensor<40001xi32>, tensor<40001xi32>) -> (tensor<40001xi32>, tensor<40001xi32>)\n"
          "return %r#0, %r#1 : tensor<40001xi32>, tensor<40001xi32>\n}");
    await_all(&j);
    static int32_t once[N], twice[N];
    for (int i = 0; i < N; i++) once[i] = 60 + 4 * i, twice[i] = 120 + 8 * i;
    for (int d = 0; d < DEVICES; d++) {
        expect(&j, d, 0, once, N);
        expect(&j, d, 1, twice, N);
    }
    finish(&j);
}

/* A body that is no well-known op, and that depends on the order: first * 10 + second. */
static void members_are_combined_in_the_order_of_the_group(void **state)
{
    job j;
    start(&j, state, 4, 1, 1,
          "func.func @main(%a: tensor<1xi32>) -> tensor<1xi32> {\n"
          "%r = \"stablehlo.all_reduce\"(%a) <{replica_groups = dense<[[3, 1, 2, 0]]> : "
          "tensor<1x4xi64>}> ({\n^bb0(%x: tensor<i32>, %y: tensor<i32>):\n"
          "%c = stablehlo.constant dense<2> : tensor<i32>\n"
          "%p = stablehlo.multiply %x, %c : tensor<i32>\n"
          "%s = stablehlo.add %p, %y : tensor<i32>\n"
          "stablehlo.return %s : tensor<i32>\n}) : (tensor<1xi32>) -> tensor<1xi32>\n"
          "return %r : tensor<1xi32>\n}");
    await_all(&j);
    for (int d = 0; d < DEVICES; d++) EXPECT(&j, d, 0, ((30 * 2 + 10) * 2 + 20) * 2 + 0);
    finish(&j);
}

static void each_gets_its_part_of_a_sum(void **state)
{
    job j;
    start(&j, state, 1, 4, 8,
          "func.func @main(%a: tensor<8xi32>) -> tensor<2x1xi32> {\n"
          "%b = stablehlo.reshape %a : (tensor<8xi32>) -> tensor<2x4xi32>\n"
          "%r = \"stablehlo.reduce_scatter\"(%b) <{scatter_dimension = 1 : i64, replica_groups = "
          "dense<[[0, 1, 3, 2]]> : tensor<1x4xi64>, use_global_device_ids, channel_handle = "
          "#stablehlo.channel_handle<handle = 1, type = 0>}> " ADD
          " : (tensor<2x4xi32>) -> tensor<2x1xi32>\n"
          "return %r : tensor<2x1xi32>\n}");
    await_all(&j);
    EXPECT(&j, 0, 0, 60, 76);
    EXPECT(&j, 1, 0, 64, 80);
    EXPECT(&j, 2, 0, 72, 88);
    EXPECT(&j, 3, 0, 68, 84);
    finish(&j);
}

static void parts_are_exchanged(void **state)
{
    job j;
    start(&j, state, 1, 4, 4,
          "func.func @main(%a: tensor<4xi32>) -> (tensor<4x1xi32>, tensor<4xi32>) {\n"
          "%b = stablehlo.reshape %a : (tensor<4xi32>) -> tensor<1x4xi32>\n"
          "%r = \"stablehlo.all_to_all\"(%b) <{split_dimension = 1 : i64, concat_dimension = 0 : "
          "i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, "
          "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> : "
          "(tensor<1x4xi32>) -> tensor<4x1xi32>\n"
          "%s = \"stablehlo.all_to_all\"(%a) <{split_dimension = 0 : i64, concat_dimension = 0 : "
          "i64, split_count = 4 : i64, replica_groups = dense<[[3, 2, 1, 0]]> : tensor<1x4xi64>, "
          "channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>}> : (tensor<4xi32>) "
          "-> tensor<4xi32>\n"
          "return %r, %s : tensor<4x1xi32>, tensor<4xi32>\n}");
    await_all(&j);
    for (int d = 0; d < DEVICES; d++) {
        EXPECT(&j, d, 0, d, 10 + d, 20 + d, 30 + d);
        int e = 3 - d;
        EXPECT(&j, d, 1, 30 + e, 20 + e, 10 + e, e);
    }
    finish(&j);
}

static void who_is_no_target_gets_zeros(void **state)
{
    job j;
    start(&j, state, 1, 4, 2,
          "func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {\n"
          "%r = \"stablehlo.collective_permute\"(%a) <{source_target_pairs = dense<[[3, 1], [1, "
          "0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = "
          "0>}> : (tensor<2xi32>) -> tensor<2xi32>\n"
          "return %r : tensor<2xi32>\n}");
    await_all(&j);
    EXPECT(&j, 0, 0, 10, 11);
    EXPECT(&j, 1, 0, 30, 31);
    EXPECT(&j, 2, 0, 0, 0);
    EXPECT(&j, 3, 0, 0, 0);
    finish(&j);
}

static void a_root_sends_to_its_group(void **state)
{
    job j;
    start(&j, state, 4, 1, 1,
          "func.func @main(%a: tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>) {\n"
          "%r = \"stablehlo.collective_broadcast\"(%a) <{replica_groups = dense<[[2, 1]]> : "
          "tensor<1x2xi64>}> : (tensor<1xi32>) -> tensor<1xi32>\n"
          "%root = stablehlo.constant dense<[1]> : tensor<1xi32>\n"
          "%s = \"stablehlo.collective_broadcast\"(%a, %root) <{has_dynamic_root = true, "
          "replica_groups = dense<[[0, 3]]> : tensor<1x2xi64>}> : (tensor<1xi32>, tensor<1xi32>) "
          "-> tensor<1xi32>\n"
          "return %r, %s : tensor<1xi32>, tensor<1xi32>\n}");
    await_all(&j);
    static const int32_t first[] = {0, 20, 20, 0}, second[] = {30, 0, 0, 30};
    for (int d = 0; d < DEVICES; d++) {
        expect(&j, d, 0, &first[d], 1);
        expect(&j, d, 1, &second[d], 1);
    }
    finish(&j);
}

static void only_the_root_gets_the_sum(void **state)
{
    job j;
    start(&j, state, 4, 1, 1,
          "func.func @main(%a: tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>) {\n"
          "%r = \"stablehlo.collective_reduce\"(%a) <{replica_groups = dense<[[0, 1, 2, 3]]> : "
          "tensor<1x4xi64>}> " ADD " : (tensor<1xi32>) -> tensor<1xi32>\n"
          "%root = stablehlo.constant dense<[3]> : tensor<1xi32>\n"
          "%t = \"stablehlo.collective_reduce\"(%a, %root) <{has_dynamic_root = true, "
          "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> " ADD
          " : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>\n"
          "return %r, %t : tensor<1xi32>, tensor<1xi32>\n}");
    await_all(&j);
    static const int32_t first[] = {60, 0, 0, 0}, second[] = {0, 0, 0, 60};
    for (int d = 0; d < DEVICES; d++) {
        expect(&j, d, 0, &first[d], 1);
        expect(&j, d, 1, &second[d], 1);
    }
    finish(&j);
}

/* Both send before they receive. */
static void devices_send_to_each_other(void **state)
{
    job j;
    start(&j, state, 1, 4, 2,
          "func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {\n"
          "%t = stablehlo.after_all : !stablehlo.token\n"
          "%u = \"stablehlo.send\"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = "
          "5, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0], "
          "[2, 3]]> : tensor<3x2xi64>}> : (tensor<2xi32>, !stablehlo.token) -> "
          "!stablehlo.token\n"
          "%r:2 = \"stablehlo.recv\"(%u) <{channel_handle = #stablehlo.channel_handle<handle = "
          "5, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0], "
          "[2, 3]]> : tensor<3x2xi64>}> : (!stablehlo.token) -> (tensor<2xi32>, "
          "!stablehlo.token)\n"
          "return %r#0 : tensor<2xi32>\n}");
    await_all(&j);
    EXPECT(&j, 0, 0, 10, 11);
    EXPECT(&j, 1, 0, 0, 1);
    EXPECT(&j, 2, 0, 0, 0);
    EXPECT(&j, 3, 0, 20, 21);
    finish(&j);
}

/* The same op meets in each iteration. */
static void loops_meet_again_and_again(void **state)
{
    job j;
    start(&j, state, 1, 4, 1,
          "func.func @main(%a: tensor<1xi32>) -> tensor<1xi32> {\n"
          "%z = stablehlo.constant dense<0> : tensor<i32>\n"
          "%n = stablehlo.constant dense<300> : tensor<i32>\n"
          "%o = stablehlo.constant dense<1> : tensor<i32>\n"
          "%r:2 = stablehlo.while(%i = %z, %v = %a) : tensor<i32>, tensor<1xi32> cond {\n"
          "%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
          "stablehlo.return %c : tensor<i1>\n} do {\n"
          "%k = stablehlo.add %i, %o : tensor<i32>\n"
          "%p = \"stablehlo.collective_permute\"(%v) <{source_target_pairs = dense<[[0, 1], [1, "
          "2], [2, 3], [3, 0]]> : tensor<4x2xi64>, channel_handle = "
          "#stablehlo.channel_handle<handle = 1, type = 0>}> : (tensor<1xi32>) -> tensor<1xi32>\n"
          "stablehlo.return %k, %p : tensor<i32>, tensor<1xi32>\n}\n"
          "return %r#1 : tensor<1xi32>\n}");
    await_all(&j);
    for (int d = 0; d < DEVICES; d++) EXPECT(&j, d, 0, 10 * d); /* 300 = 75 * 4 */
    finish(&j);
}

/* --- who is missing --- */

#define BY_PARTITION(then, otherwise)                                                              \
    "func.func @main(%a: tensor<1xi32>) -> tensor<1xi32> {\n"                                      \
    "%p = stablehlo.partition_id : tensor<ui32>\n"                                                 \
    "%z = stablehlo.constant dense<0> : tensor<ui32>\n"                                            \
    "%c = stablehlo.compare EQ, %p, %z : (tensor<ui32>, tensor<ui32>) -> tensor<i1>\n"             \
    "%r = \"stablehlo.if\"(%c) ({\n" then "}, {\n" otherwise "}) : (tensor<i1>) -> "               \
    "tensor<1xi32>\nreturn %r : tensor<1xi32>\n}"
#define SUM(channel)                                                                               \
    "%q = \"stablehlo.all_reduce\"(%a) <{replica_groups = dense<[[0, 1, 2, 3]]> : "                \
    "tensor<1x4xi64>, use_global_device_ids, channel_handle = #stablehlo.channel_handle<handle "   \
    "= " channel ", type = 0>}> " ADD " : (tensor<1xi32>) -> tensor<1xi32>\n"                      \
    "stablehlo.return %q : tensor<1xi32>\n"

static void who_ends_without_coming_is_named(void **state)
{
    job j;
    start(&j, state, 1, 4, 1, BY_PARTITION("stablehlo.return %a : tensor<1xi32>\n", SUM("1")));
    assert_event_ok(j.done[0]);
    for (int d = 1; d < DEVICES; d++) assert_event_fails(j.done[d], FAILED_PRECONDITION, "device ");
    finish(&j);
}

static void devices_that_wait_for_each_other_fail(void **state)
{
    job j;
    start(&j, state, 1, 4, 1, BY_PARTITION(SUM("1"), SUM("2")));
    for (int d = 0; d < DEVICES; d++) assert_event_fails(j.done[d], FAILED_PRECONDITION, "device ");
    finish(&j);
}

static void a_failed_device_fails_those_that_wait(void **state)
{
    tn_named_value options[] = {OPTION("sim_device_count", DEVICES), OPTION("num_threads", 2),
                                OPTION("sim_fail_launch", 1), OPTION("sim_fault_device", 2)};
    job j = {.client = open_with(*state, options, 4)};
    j.loaded = load_text(j.client, 1, 4,
                         "func.func @main() -> tensor<1xi32> {\n"
                         "%a = stablehlo.constant dense<7> : tensor<1xi32>\n"
                         "%q = \"stablehlo.all_reduce\"(%a) <{replica_groups = dense<[[0, 1, 2, "
                         "3]]> : tensor<1x4xi64>, use_global_device_ids, channel_handle = "
                         "#stablehlo.channel_handle<handle = 1, type = 0>}> " ADD
                         " : (tensor<1xi32>) -> tensor<1xi32>\nreturn %q : tensor<1xi32>\n}");
    tn_execute_options none = {0};
    for (int again = 0; again < 2; again++) {
        assert_ok(
            tn_execute(j.loaded, &none, (tn_buffer *const *[]){NULL, NULL, NULL, NULL}, DEVICES, 0,
                       (tn_buffer * *[]){j.outs[0], j.outs[1], j.outs[2], j.outs[3]}, j.done));
        for (int d = 0; d < DEVICES; d++) {
            if (again) assert_event_ok(j.done[d]);
            else assert_event_fails(j.done[d], INTERNAL, d == 2 ? "injected" : "device 2");
            if (again) EXPECT(&j, d, 0, 28);
            if (!again) tn_buffer_release(j.outs[d][0]);
        }
    }
    finish(&j);
}

/* --- the meeting itself --- */

static const tn_op *some_op(void)
{
    static tn_module m;
    static tn_function f = {.module = &m};
    static tn_region r = {.function = &f};
    static tn_op op = {.kind = TN_OP_all_reduce, .region = &r};
    return &op;
}

static void a_wait_is_limited(void **state)
{
    tn_meeting *m;
    const tn_round *round;
    assert_ok(tn_collective_create(2, 1, true, 20000000, &m));
    assert_fails(m->join(m, some_op(), (uint32_t[]){0, 1}, 2, 0, NULL, 0, &round),
                 DEADLINE_EXCEEDED, "for device 1 (replica 1, partition 0)");
    int32_t x = 0;
    assert_fails(m->take(m, some_op(), 3, 1, 0, &(tn_offer){&x, 4}, 1), DEADLINE_EXCEEDED,
                 "for device 1");
    tn_collective_end(m, 1, NULL);
    assert_fails(m->take(m, some_op(), 3, 1, 0, &(tn_offer){&x, 4}, 1), FAILED_PRECONDITION,
                 "device 1 (replica 1, partition 0), which ended");
    tn_collective_release(m);
}

static void mail_keeps_its_order(void **state)
{
    tn_meeting *m;
    assert_ok(tn_collective_create(2, 2, true, 0, &m));
    int32_t got = 0;
    for (int32_t i = 1; i <= 3; i++)
        assert_ok(m->post(m, some_op(), i == 2 ? 8 : 7, 0, 1, &(tn_offer){&i, 4}, 1));
    static const int32_t channels[] = {7, 8, 7}, want[] = {1, 2, 3};
    assert_ok(m->take(m, some_op(), channels[0], 0, 1, &(tn_offer){&got, 4}, 1));
    assert_int_equal(got, want[0]);
    assert_ok(m->take(m, some_op(), channels[2], 0, 1, &(tn_offer){&got, 4}, 1));
    assert_int_equal(got, want[2]);
    assert_fails(m->take(m, some_op(), channels[1], 0, 1, &(tn_offer){&got, 8}, 1),
                 INVALID_ARGUMENT, "4 were sent");
    tn_collective_end(m, 0, NULL); /* what is still there may be taken */
    int32_t four = 4;
    assert_ok(m->post(m, some_op(), 9, 0, 1, &(tn_offer){&four, 4}, 1));
    assert_ok(m->take(m, some_op(), 9, 0, 1, &(tn_offer){&got, 4}, 1));
    assert_int_equal(got, 4);
    assert_ok(m->post(m, some_op(), 9, 0, 1, &(tn_offer){&four, 4}, 1)); /* nobody takes it */
    tn_collective_release(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_EACH(groups_of_replicas_meet),
        ON_EACH(a_channel_takes_all_partitions_in_their_order),
        ON_EACH(global_ids_name_devices),
        ON_EACH(rows_may_be_filled_up),
        ON_EACH(a_large_sum_is_that_of_all),
        ON_EACH(members_are_combined_in_the_order_of_the_group),
        ON_EACH(each_gets_its_part_of_a_sum),
        ON_EACH(parts_are_exchanged),
        ON_EACH(who_is_no_target_gets_zeros),
        ON_EACH(a_root_sends_to_its_group),
        ON_EACH(only_the_root_gets_the_sum),
        ON_EACH(devices_send_to_each_other),
        ON_EACH(loops_meet_again_and_again),
        ON_EACH(who_ends_without_coming_is_named),
        ON_EACH(devices_that_wait_for_each_other_fail),
        ON("sim", a_failed_device_fails_those_that_wait),
        cmocka_unit_test(a_wait_is_limited),
        cmocka_unit_test(mail_keeps_its_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
