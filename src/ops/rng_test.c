/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/elementwise.h"
#include "kernels/threefry.h"
#include "ops/op_test.h"

/* The specification's example. */
TEST(threefry_gives_the_known_bits)
{
    tn_op *op = make_op(TN_OP_rng_bit_generator, "2xui64", "2xui64, 2x2xui64");
    SET_INT(op, rng_algorithm, TN_rng_algorithm_THREE_FRY);
    uint64_t state[] = {1, 2}, next[2], out[4];
    RUN(op, IN(state), OUT(next, out));
    assert_true(next[0] == 1 && next[1] == 6);
    assert_true(out[0] == 9236835810183407956u && out[1] == 16087790271692313299u);
    assert_true(out[2] == 18212823393184779219u && out[3] == 2658481902456610144u);
    /* The same words in other widths. */
    op = make_op(TN_OP_rng_bit_generator, "2xui64", "2xui64, 5xui32");
    SET_INT(op, rng_algorithm, TN_rng_algorithm_THREE_FRY);
    uint32_t words[5];
    RUN(op, IN(state), OUT(next, words));
    assert_true(next[1] == 5);
    for (int i = 0; i < 5; i++) assert_true(words[i] == (uint32_t)(out[i / 2] >> (i % 2 ? 32 : 0)));
    /* Words of a block are neighbours along the first even dimension, else the first largest. */
    op = make_op(TN_OP_rng_bit_generator, "2xui64", "2xui64, 2x2xui32");
    SET_INT(op, rng_algorithm, TN_rng_algorithm_THREE_FRY);
    uint32_t square[4];
    RUN(op, IN(state), OUT(next, square));
    assert_true(next[1] == 4);
    EXPECT(uint32_t, square, words[0], words[2], words[1], words[3]);
    op = make_op(TN_OP_rng_bit_generator, "2xui64", "2xui64, 3x1xui32");
    SET_INT(op, rng_algorithm, TN_rng_algorithm_THREE_FRY);
    RUN(op, IN(state), OUT(next, square));
    assert_true(next[1] == 4);
    EXPECT(uint32_t, square, words[0], words[1], words[2]);
    op = make_op(TN_OP_rng_bit_generator, "2xui64", "2xui64, 7xi8");
    SET_INT(op, rng_algorithm, TN_rng_algorithm_THREE_FRY);
    int8_t bytes[7];
    RUN(op, IN(state), OUT(next, bytes));
    for (int i = 0; i < 5; i++) assert_int_equal(bytes[i], (int8_t)words[i]);
}

/* The blocks with an upper word of 0, whichever build makes them. */
TEST(threefry_bits_are_those_of_blocks)
{
    enum { N = 77 };
    uint32_t key[2] = {0x13198a2e, 0x03707344}, zeros[N] = {0}, counters[N], words[2][N], bits[N];
    for (uint32_t i = 0; i < N; i++) counters[i] = i * 0x2545F491u;
    tn_op *op = make_op(TN_OP_threefry2x32, "ui32, ui32, 77xui32, 77xui32", "77xui32, 77xui32");
    RUN(op, IN(&key[0], &key[1], zeros, counters), OUT(words[0], words[1]));
    op = make_op(TN_OP_threefry_bits, "ui32, ui32, 77xui32", "77xui32");
    RUN(op, IN(&key[0], &key[1], counters), OUT(bits));
    for (int i = 0; i < N; i++) assert_true(bits[i] == (words[0][i] ^ words[1][i]));
    for (int isa = 0; isa < TN_ISA_COUNT; isa++) {
        tn_kernel k;
        if (!tn_cpu_has((tn_isa)isa)) continue;
        assert_true(tn_kernel_threefry_bits((tn_isa)isa, &k));
        memset(zeros, 0, sizeof zeros);
        tn_kernel_run(&k, N, IN(&key[0], &key[1], counters), zeros);
        assert_memory_equal(zeros, bits, sizeof bits);
    }
    /* Known answers of Random123 (Threefry-2x32, 20 rounds): all words zero. */
    uint32_t none = 0, one_word[1];
    op = make_op(TN_OP_threefry_bits, "ui32, ui32, 1xui32", "1xui32");
    RUN(op, IN(&none, &none, &none), OUT(one_word));
    assert_true(one_word[0] == (0x6b200159 ^ 0x99ba4efe));
    EXPECT_INVALID(make_op(TN_OP_threefry_bits, "ui32, 2xui32, 2xui32", "2xui32"),
                   "operand 1 should be a scalar of ui32 and is tensor<2xui32>");
}

/* Known answers of Random123 (Philox-4x32-10, kat_vectors): all words zero, and all ones. */
TEST(philox_gives_the_known_bits)
{
    tn_op *op = make_op(TN_OP_rng_bit_generator, "3xui64", "3xui64, 4xui32");
    SET_INT(op, rng_algorithm, TN_rng_algorithm_PHILOX);
    uint64_t state[] = {0, 0, 0}, next[3];
    uint32_t out[4];
    RUN(op, IN(state), OUT(next, out));
    EXPECT(uint32_t, out, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
    assert_true(next[0] == 0 && next[1] == 1 && next[2] == 0);
    memset(state, 0xFF, sizeof state);
    RUN(op, IN(state), OUT(next, out));
    EXPECT(uint32_t, out, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
    assert_true(next[1] == 0 && next[2] == 0);
    op->operands[0]->type = type_of("4xui64", 6);
    EXPECT_INVALID(op, "the state, should be tensor<2xui64> or tensor<3xui64>");
}

/* The lower half of the counter runs over between the second block and the third. */
TEST(philox_gives_blocks_that_do_not_know_each_other)
{
    enum { N = 77 };
    uint32_t all[4 * N], alone[4];
    for (int isa = 0; isa < TN_ISA_COUNT; isa++) {
        if (!tn_cpu_has((tn_isa)isa)) continue;
        tn_philox_blocks b = {.n = N, .key = {3, 5}, .low = 0xFFFFFFE0, .high = 7, .out = all};
        tn_philox((tn_isa)isa, &b);
        b.n = 1, b.out = alone;
        for (int i = 0; i < N; i++, b.low++) {
            tn_philox(TN_ISA_BASELINE, &b);
            assert_memory_equal(alone, all + 4 * i, sizeof alone);
        }
    }
}

TEST(philox_counts_in_128_bits)
{
    tn_op *op = make_op(TN_OP_rng_bit_generator, "3xui64", "3xui64, 16xui32"), *one;
    SET_INT(op, rng_algorithm, TN_rng_algorithm_PHILOX);
    uint64_t state[] = {7, UINT64_MAX - 1, 41}, next[3], after[] = {7, 0, 42}, later[3];
    uint32_t out[16], rest[8];
    RUN(op, IN(state), OUT(next, out));
    assert_true(next[0] == 7 && next[1] == 2 && next[2] == 42);
    one = make_op(TN_OP_rng_bit_generator, "3xui64", "3xui64, 8xui32");
    SET_INT(one, rng_algorithm, TN_rng_algorithm_PHILOX);
    RUN(one, IN(after), OUT(later, rest));
    assert_memory_equal(out + 8, rest, sizeof rest);
    assert_memory_equal(next, later, sizeof later);
}

TEST(pieces_make_the_whole)
{
    enum { N = 100003 };
    static uint16_t alone[N], together[N];
    tn_op *op = make_op(TN_OP_rng_bit_generator, "2xui64", "2xui64, 100003xui16");
    uint64_t state[] = {123456789, UINT64_MAX - 7}, next[2];
    for (int algorithm = 0; algorithm < 3; algorithm++) {
        SET_INT(op, rng_algorithm, algorithm);
        RUN(op, IN(state), OUT(next, alone));
        assert_null(tn_thread_pool_create(4, &pool));
        RUN(op, IN(state), OUT(next, together));
        tn_thread_pool_destroy(pool);
        pool = NULL;
        assert_memory_equal(alone, together, sizeof alone);
    }
}

TEST(rng_draws_from_its_range)
{
    enum { N = 20000 };
    static float x[N], again[N];
    tn_op *op = make_op(TN_OP_rng, "f32, f32, 1xi64", "20000xf32");
    SET_INT(op, rng_distribution, TN_rng_distribution_UNIFORM);
    float a = -1, b = 3;
    int64_t shape = N;
    RUN(op, IN(&a, &b, &shape), OUT(x));
    RUN(op, IN(&a, &b, &shape), OUT(again));
    assert_memory_not_equal(x, again, sizeof x);
    double mean = 0, square = 0;
    for (int i = 0; i < N; i++) {
        assert_true(x[i] >= a && x[i] < b);
        mean += x[i] / N;
    }
    assert_true(fabs(mean - 1) < 0.05);
    SET_INT(op, rng_distribution, TN_rng_distribution_NORMAL);
    RUN(op, IN(&a, &b, &shape), OUT(x));
    mean = 0;
    for (int i = 0; i < N; i++) mean += x[i] / N;
    for (int i = 0; i < N; i++) square += (x[i] - mean) * (x[i] - mean) / N;
    assert_true(fabs(mean + 1) < 0.1 && fabs(sqrt(square) - 3) < 0.1);

    op = make_op(TN_OP_rng, "i8, i8, 1xi64", "20000xi8");
    SET_INT(op, rng_distribution, TN_rng_distribution_UNIFORM);
    static int8_t small[N];
    int8_t low = -5, high = 4;
    int seen[9] = {0};
    RUN(op, IN(&low, &high, &shape), OUT(small));
    for (int i = 0; i < N; i++) {
        assert_true(small[i] >= low && small[i] < high);
        seen[small[i] - low]++;
    }
    for (int i = 0; i < 9; i++) assert_true(seen[i] > N / 12);
    SET_INT(op, rng_distribution, TN_rng_distribution_NORMAL);
    EXPECT_INVALID(op, "normal numbers between operands of tensor<i8>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threefry_gives_the_known_bits),
        cmocka_unit_test(threefry_bits_are_those_of_blocks),
        cmocka_unit_test(philox_gives_the_known_bits),
        cmocka_unit_test(philox_gives_blocks_that_do_not_know_each_other),
        cmocka_unit_test(philox_counts_in_128_bits),
        cmocka_unit_test(pieces_make_the_whole),
        cmocka_unit_test(rng_draws_from_its_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
