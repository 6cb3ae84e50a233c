/* SPDX-License-Identifier: Apache-2.0 */
/* stored_test FOLDER - programs as JAX sends them: compiled, run, serialized and read back; damaged
 * ones refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "executable/compile_options.h"
#include "executable/executable.h"

static const char *folder;

#define MUST(expr)                                                                                 \
    do {                                                                                           \
        tn_status *must_status_ = (expr);                                                          \
        if (must_status_) fail_msg("%s", tn_status_message(must_status_));                         \
    } while (0)

static uint8_t *load(const char *name, size_t *size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.mlirbc", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s is missing", path);
    uint8_t *data = malloc(1 << 20);
    *size = fread(data, 1, 1 << 20, f);
    fclose(f);
    return data;
}

static tn_executable *compile(const char *name, const tn_compile_options *options)
{
    size_t size;
    uint8_t *code = load(name, &size);
    tn_executable *e;
    MUST(tn_compile(code, size, "mlir", 4, options, &e));
    free(code);
    return e;
}

/* Runs on arguments of bytes 1, 2, 3, ...; gives the first result. */
static void run(const tn_executable *e, uint8_t *out, size_t room)
{
    const tn_executable_info *info = tn_executable_get_info(e);
    void *args[8], *results[8], *temp = aligned_alloc(64, info->temp_bytes + 64);
    assert_true(info->n_params <= 8 && info->n_results <= 8);
    for (uint32_t i = 0; i < info->n_params; i++) {
        size_t bytes = tn_type_bytes(info->params[i].type);
        args[i] = aligned_alloc(64, (bytes + 64) & ~(size_t)63);
        for (size_t j = 0; j < bytes; j++)
            ((uint8_t *)args[i])[j] = (uint8_t)(j % 4 == 3 ? 0x3F : j);
    }
    for (uint32_t i = 0; i < info->n_results; i++)
        results[i] = aligned_alloc(64, (tn_type_bytes(info->results[i].type) + 64) & ~(size_t)63);
    tn_run r = {.args = args, .results = results, .temp = temp};
    MUST(tn_executable_run(e, &r));
    size_t bytes = tn_type_bytes(info->results[0].type);
    memset(out, 0, room);
    memcpy(out, results[0], bytes < room ? bytes : room);
    for (uint32_t i = 0; i < info->n_params; i++) free(args[i]);
    for (uint32_t i = 0; i < info->n_results; i++) free(results[i]);
    free(temp);
}

static void an_executable_survives_being_stored(void **state)
{
    tn_executable *e = compile("add", NULL), *again;
    void *bytes;
    size_t size;
    MUST(tn_executable_serialize(e, &bytes, &size));
    MUST(tn_executable_deserialize(bytes, size, NULL, &again));
    assert_string_equal(tn_executable_get_info(e)->fingerprint,
                        tn_executable_get_info(again)->fingerprint);
    assert_int_equal(strlen(tn_executable_get_info(e)->fingerprint), 32);
    uint8_t x[64], y[64];
    run(e, x, sizeof x);
    run(again, y, sizeof y);
    assert_memory_equal(x, y, sizeof x);
    free(bytes);
    tn_executable_release(e);
    tn_executable_release(again);
}

static void fingerprints_tell_programs_apart(void **state)
{
    static const char *const names[] = {"add", "busy", "constant", "two_outputs"};
    tn_executable *e[4];
    for (int i = 0; i < 4; i++) e[i] = compile(names[i], NULL);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(tn_executable_get_info(e[i])->fingerprint,
                                    tn_executable_get_info(e[j])->fingerprint);
    for (int i = 0; i < 4; i++) tn_executable_release(e[i]);
}

/* Options are CompileOptionsProto { executable_build_options { num_replicas: 1 num_partitions: 1 }
 * }. */
static void options_are_kept(void **state)
{
    static const uint8_t bytes[] = {0x1A, 4, 0x20, 1, 0x28, 1};
    tn_compile_options *o;
    MUST(tn_compile_options_decode(bytes, sizeof bytes, &o));
    tn_executable *e = compile("add", o), *plain = compile("add", NULL), *again;
    tn_compile_options_free(o);
    size_t size;
    const void *kept = tn_executable_compile_options(e, &size);
    assert_int_equal(size, sizeof bytes);
    assert_memory_equal(kept, bytes, size);
    assert_string_not_equal(tn_executable_get_info(e)->fingerprint,
                            tn_executable_get_info(plain)->fingerprint);
    void *stored;
    size_t stored_size;
    MUST(tn_executable_serialize(e, &stored, &stored_size));
    MUST(tn_executable_deserialize(stored, stored_size, NULL, &again));
    kept = tn_executable_compile_options(again, &size);
    assert_int_equal(size, sizeof bytes);
    free(stored);
    tn_executable_release(again);
    tn_executable_release(plain);
    tn_executable_release(e);
}

static void refuse(const uint8_t *bytes, size_t size, const char *what, size_t where)
{
    tn_executable *e;
    tn_status *s = tn_executable_deserialize(bytes, size, NULL, &e);
    if (tn_status_code(s) != TN_INVALID_ARGUMENT) fail_msg("%s at %zu was taken", what, where);
    tn_status_free(s);
}

static void damaged_executables_are_refused(void **state)
{
    tn_executable *e = compile("add", NULL);
    void *bytes;
    size_t size;
    MUST(tn_executable_serialize(e, &bytes, &size));
    tn_executable_release(e);
    for (size_t i = 0; i < size; i++) {
        uint8_t *copy = malloc(i ? i : 1);
        memcpy(copy, bytes, i);
        refuse(copy, i, "a program cut", i);
        free(copy);
    }
    for (size_t i = 0; i < size; i++) {
        uint8_t *byte = (uint8_t *)bytes + i;
        *byte ^= 1u << i % 8;
        refuse(bytes, size, "a flipped bit", i);
        *byte ^= 1u << i % 8;
    }
    free(bytes);
}

static tn_status *direct(const char *name, tn_executable **out)
{
    static const char head[16] = "TENONDIR"; /* no options */
    size_t size;
    uint8_t *code = load(name, &size), *bytes = malloc(size + sizeof head);
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, code, size);
    tn_status *s = tn_executable_deserialize(bytes, size + sizeof head, NULL, out);
    free(bytes);
    free(code);
    return s;
}

/* What the Python package sends: a program behind a mark. It can be stored like any other. */
static void a_program_is_taken_as_it_is(void **state)
{
    tn_executable *e, *again, *portable = compile("modules/mlp_grad", NULL);
    MUST(direct("plain/mlp_grad", &e));
    void *stored;
    size_t size;
    MUST(tn_executable_serialize(e, &stored, &size));
    MUST(tn_executable_deserialize(stored, size, NULL, &again));
    free(stored);
    uint8_t want[64], got[64], third[64];
    run(portable, want, sizeof want);
    run(e, got, sizeof got);
    run(again, third, sizeof third);
    assert_memory_equal(want, got, sizeof want);
    assert_memory_equal(want, third, sizeof want);
    tn_executable_release(portable);
    tn_executable_release(e);
    tn_executable_release(again);

    tn_status *s = direct("plain/chlo", &e);
    assert_int_equal(tn_status_code(s), TN_UNIMPLEMENTED);
    assert_non_null(strstr(tn_status_message(s), "chlo.lgamma is slow unless it is expanded"));
    tn_status_free(s);

    static const uint8_t cut[20] = {'T', 'E', 'N', 'O', 'N', 'D', 'I', 'R', [8 ... 15] = 5};
    for (size_t i = 0; i < sizeof cut; i++) refuse(cut, i, "options cut", i);
}

static void the_optimized_program_is_printed(void **state)
{
    tn_executable *e = compile("add", NULL);
    char *text;
    size_t size;
    MUST(tn_executable_print(e, &text, &size));
    assert_int_equal(strlen(text), size);
    assert_non_null(strstr(text, "stablehlo.add"));
    assert_null(strstr(text, "func.call"));
    free(text);
    tn_executable_release(e);
}

/* Programs with all that JAX makes: they compile, or say what is missing. */
static void modules_compile_or_say_what_is_missing(void **state)
{
    static const char *const names[] = {"branches",  "complex_fft", "conv",     "dots",
                                        "functions", "index",       "mlp_grad", "random",
                                        "scan",      "small_types", "sort"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        snprintf(path, sizeof path, "modules/%s", names[i]);
        size_t size;
        uint8_t *code = load(path, &size);
        tn_executable *e = NULL;
        tn_status *s = tn_compile(code, size, "mlir", 4, NULL, &e);
        free(code);
        if (s && tn_status_code(s) != TN_UNIMPLEMENTED && tn_status_code(s) != TN_NOT_FOUND)
            fail_msg("%s: %s: %s", names[i], tn_code_name(tn_status_code(s)), tn_status_message(s));
        if (s) print_message("%s: %s\n", names[i], tn_status_message(s));
        tn_status_free(s);
        tn_executable_release(e);
    }
}

static void sharded_programs_say_that_partitioning_is_missing(void **state)
{
    size_t size;
    uint8_t *code = load("modules/sharded", &size);
    tn_executable *e = NULL;
    tn_status *s = tn_compile(code, size, "mlir", 4, NULL, &e);
    free(code);
    assert_int_equal(tn_status_code(s), TN_UNIMPLEMENTED);
    if (!strstr(tn_status_message(s), "partition")) fail_msg("%s", tn_status_message(s));
    tn_status_free(s);
}

/* What shard_map maps is the program of one device already. */
static void mapped_programs_need_no_partitioner(void **state)
{
    size_t size;
    uint8_t *code = load("modules/shard_map", &size);
    tn_executable *e = NULL;
    tn_status *s = tn_compile(code, size, "mlir", 4, NULL, &e);
    free(code);
    if (s) fail_msg("%s", tn_status_message(s));
    assert_true(tn_executable_get_info(e)->num_partitions > 1);
    assert_non_null(tn_executable_get_info(e)->params[0].tiling);
    tn_executable_release(e);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_executable_survives_being_stored),
        cmocka_unit_test(fingerprints_tell_programs_apart),
        cmocka_unit_test(options_are_kept),
        cmocka_unit_test(damaged_executables_are_refused),
        cmocka_unit_test(a_program_is_taken_as_it_is),
        cmocka_unit_test(the_optimized_program_is_printed),
        cmocka_unit_test(sharded_programs_say_that_partitioning_is_missing),
        cmocka_unit_test(mapped_programs_need_no_partitioner),
        cmocka_unit_test(modules_compile_or_say_what_is_missing),
    };
    return cmocka_run_group_tests_name("executable-stored", tests, NULL, NULL);
}
