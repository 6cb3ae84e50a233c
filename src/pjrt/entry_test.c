/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "pjrt/entry.h"

/* Every call of the table under one type. */
#define CALL_error(name)   return tn_pjrt_api()->name(args);
#define CALL_nothing(name) return tn_pjrt_api()->name(args), NULL;
#define IN(returns, implemented, name, ...)                                                        \
    static PJRT_Error *call_##name(void *args)                                                     \
    {                                                                                              \
        CALL_##returns(PJRT_##name)                                                                \
    }
#define OUT(returns, implemented, name, ...)                                                       \
    static PJRT_Error *call_##name(void *args)                                                     \
    {                                                                                              \
        CALL_##returns(PJRT_##name)                                                                \
    }
#include "pjrt/slots.def"

static PJRT_Error *(*const calls[])(void *) = {
#define IN(returns, implemented, name, ...)  call_##name,
#define OUT(returns, implemented, name, ...) call_##name,
#include "pjrt/slots.def"
};
#define N_CALLS (sizeof calls / sizeof calls[0])

/* `size` bytes, aligned to 8, that end where the memory ends: a word beyond them is a crash. */
static char *page;
static size_t page_size;

static int map_page(void **state)
{
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    page = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED || mprotect(page + page_size, page_size, PROT_NONE);
}

static int unmap_page(void **state)
{
    return munmap(page, 2 * page_size);
}

static void *last_bytes(size_t size)
{
    return page + page_size - (size + 7) / 8 * 8;
}

static void expect_error(PJRT_Error *e, PJRT_Error_Code code, const char *part)
{
    assert_non_null(e);
    PJRT_Error_GetCode_Args c = {.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE, .error = e};
    assert_null(tn_pjrt_api()->PJRT_Error_GetCode(&c));
    PJRT_Error_Message_Args m = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE, .error = e};
    tn_pjrt_api()->PJRT_Error_Message(&m);
    if (c.code != code || !memmem(m.message, m.message_size, part, strlen(part)))
        fail_msg("expected code %d and \"%s\", got %d and \"%.*s\"", code, part, c.code,
                 (int)m.message_size, m.message);
    PJRT_Error_Destroy_Args d = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE, .error = e};
    tn_pjrt_api()->PJRT_Error_Destroy(&d);
}

static void the_table_is_whole(void **state)
{
    const PJRT_Api *api = tn_pjrt_api();
    assert_ptr_equal(api, tn_pjrt_api());
    assert_int_equal(api->struct_size, 1144);
    assert_int_equal(api->pjrt_api_version.struct_size, 24);
    assert_int_equal(api->pjrt_api_version.major_version, 0);
    assert_int_equal(api->pjrt_api_version.minor_version, 115);
    assert_int_equal(tn_pjrt_slot_count, 138);
    assert_int_equal(N_CALLS, 138);
    void *const *slot = (void *const *)&api->PJRT_Error_Destroy;
    for (size_t i = 0; i < tn_pjrt_slot_count; i++) assert_non_null(slot[i]);
}

static void missing_calls_name_themselves_and_write_nothing(void **state)
{
    size_t missing = 0;
    for (size_t i = 0; i < N_CALLS; i++) {
        const tn_pjrt_slot *s = &tn_pjrt_slots[i];
        if (s->implemented) continue;
        char text[128], before[256];
        snprintf(text, sizeof text, "%s is not implemented", s->name);
        size_t *args = last_bytes(s->struct_size);
        for (size_t size = s->least; size <= s->struct_size; size++) {
            size_t room = (size + 7) / 8 * 8;
            args = last_bytes(size);
            memset(args, 0xa5, room);
            memcpy(args, &size, sizeof size);
            memcpy(before, args, room);
            expect_error(calls[i](args), PJRT_Error_Code_UNIMPLEMENTED, text);
            assert_memory_equal(args, before, room);
        }
        missing++;
    }
    print_message("%zu of %zu calls are not implemented\n", missing, N_CALLS);
}

static void small_args_are_refused_by_every_call(void **state)
{
    for (size_t i = 0; i < N_CALLS; i++) {
        const tn_pjrt_slot *s = &tn_pjrt_slots[i];
        bool silent = i < 2; /* Error_Destroy and Error_Message return nothing */
        for (size_t size = 0; size < s->least; size++) {
            size_t *args = last_bytes(size < sizeof size ? sizeof size : size);
            memset(args, 0xa5, size);
            memcpy(args, &size, sizeof size);
            char text[128];
            snprintf(text, sizeof text,
                     "%s: expected args with a struct_size of at least %zu, "
                     "got %zu",
                     s->name, s->least, size);
            PJRT_Error *e = calls[i](args);
            if (silent) assert_null(e);
            else expect_error(e, PJRT_Error_Code_INVALID_ARGUMENT, text);
        }
        if (silent) assert_null(calls[i](NULL));
        else expect_error(calls[i](NULL), PJRT_Error_Code_INVALID_ARGUMENT, s->name);
    }
}

/* A call that has grown twice: `b`, then `y`. */
struct Probe_Args {
    size_t struct_size;
    void *extension_start;
    int64_t a;
    int64_t x; /* out */
    int64_t b;
    int64_t y; /* out */
    bool z;    /* out */
};
PJRT_CALL(Probe, z);

static Probe_Args seen;

static PJRT_Error *probe(Probe_Args *args)
{
    seen = *args;
    args->x = 10;
    args->y = 20;
    args->z = true;
    return NULL;
}

static PJRT_Error *failing_probe(Probe_Args *args)
{
    probe(args);
    return TN_PJRT_ERROR(ABORTED, "no");
}

static PJRT_Error *probe_in(Probe_Args *args)
{
    return probe(args);
}

#define Failing_Args             Probe_Args
#define Failing_Args_STRUCT_SIZE Probe_Args_STRUCT_SIZE
#define Input_Args               Probe_Args
#define Input_Args_STRUCT_SIZE   Probe_Args_STRUCT_SIZE
TN_PJRT_ENTRY_OUT(Probe, probe, x, x)
TN_PJRT_ENTRY_OUT(Failing, failing_probe, x, x)
TN_PJRT_ENTRY_IN(Input, probe_in, x)

static Probe_Args *fresh(size_t size)
{
    Probe_Args *p = last_bytes(size), full = {.struct_size = size, .a = 1, .x = 2, .b = 3, .y = 4};
    memset(p, 0x5a, (size + 7) / 8 * 8);
    memcpy(p, &full, size < Probe_Args_STRUCT_SIZE ? size : Probe_Args_STRUCT_SIZE);
    return p;
}

static void callers_of_every_age_are_served(void **state)
{
    assert_int_equal(Probe_Args_STRUCT_SIZE, 49);
    /* As old as can be: ends behind x. */
    Probe_Args *p = fresh(offsetof(Probe_Args, b));
    assert_null(entry_Probe(p));
    assert_int_equal(seen.struct_size, 49);
    assert_int_equal(seen.a, 1);
    assert_int_equal(seen.b, 0);
    assert_int_equal(seen.y, 0);
    assert_int_equal(p->struct_size, 32);
    assert_int_equal(p->a, 1);
    assert_int_equal(p->x, 10);
    /* In between: ends behind b. */
    p = fresh(offsetof(Probe_Args, y));
    assert_null(entry_Probe(p));
    assert_int_equal(seen.b, 3);
    assert_int_equal(seen.y, 0);
    assert_int_equal(p->x, 10);
    /* Of our age. */
    p = fresh(49);
    assert_null(entry_Probe(p));
    assert_int_equal(seen.b, 3);
    assert_int_equal(p->struct_size, 49);
    assert_int_equal(p->y, 20);
    assert_true(p->z);
    for (size_t i = 49; i < 56; i++) assert_int_equal(((char *)p)[i], 0x5a);
    /* Newer: what we do not know stays. */
    p = fresh(96);
    assert_null(entry_Probe(p));
    assert_int_equal(p->struct_size, 96);
    assert_int_equal(p->y, 20);
    assert_true(p->z);
    for (size_t i = 49; i < 96; i++) assert_int_equal(((char *)p)[i], 0x5a);
}

static void older_callers_see_no_half_done_work(void **state)
{
    const size_t sizes[] = {32, 40, 48};
    for (size_t i = 0; i < 3; i++) {
        char before[48];
        Probe_Args *p = fresh(sizes[i]);
        memcpy(before, p, sizes[i]);
        expect_error(entry_Failing(p), PJRT_Error_Code_ABORTED, "no");
        assert_memory_equal(p, before, sizes[i]);
        assert_null(entry_Input(p));
        assert_memory_equal(p, before, sizes[i]);
    }
    expect_error(entry_Probe(fresh(31)), PJRT_Error_Code_INVALID_ARGUMENT,
                 "Probe: expected args with a struct_size of at least 32, got 31");
}

static void expect_refused(tn_status *s, const char *message)
{
    assert_non_null(s);
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    assert_string_equal(tn_status_message(s), message);
    tn_status_free(s);
}

static void structs_inside_follow_the_same_rule(void **state)
{
    PJRT_ExecuteOptions *old = last_bytes(offsetof(PJRT_ExecuteOptions, context)), got;
    memset(old, 0, offsetof(PJRT_ExecuteOptions, context));
    old->struct_size = offsetof(PJRT_ExecuteOptions, context);
    old->launch_id = 7;
    memset(&got, 0xff, sizeof got);
    assert_null(TN_PJRT_TAKE(PJRT_ExecuteOptions, launch_id, old, &got));
    assert_int_equal(got.launch_id, 7);
    assert_int_equal(got.struct_size, PJRT_ExecuteOptions_STRUCT_SIZE);
    assert_null(got.context);
    assert_null(got.call_location);
    assert_int_equal(got.num_hlo_output_callbacks, 0);
    assert_int_equal(old->struct_size, offsetof(PJRT_ExecuteOptions, context));

    char newer[PJRT_ExecuteOptions_STRUCT_SIZE + 64] = {0};
    size_t size = sizeof newer;
    memcpy(newer, &size, sizeof size);
    newer[offsetof(PJRT_ExecuteOptions, launch_id)] = 9;
    assert_null(TN_PJRT_TAKE(PJRT_ExecuteOptions, launch_id, (PJRT_ExecuteOptions *)newer, &got));
    assert_int_equal(got.launch_id, 9);

    old->struct_size = 40;
    expect_refused(TN_PJRT_TAKE(PJRT_ExecuteOptions, launch_id, old, &got),
                   "PJRT_ExecuteOptions: expected a struct_size of at least 52, got 40");
    expect_refused(TN_PJRT_TAKE(PJRT_ExecuteOptions, launch_id, NULL, &got),
                   "PJRT_ExecuteOptions: expected a struct, got NULL");
}

static void arrays_step_by_the_callers_size(void **state)
{
    /* Elements 8 bytes longer than ours, of a struct whose size is no multiple of 8. */
    enum { STRIDE = 48, SIZE = 44 };
    char *array = last_bytes(3 * STRIDE);
    for (size_t i = 0; i < 3; i++) {
        PJRT_ShapeSpec s = {.struct_size = SIZE, .num_dims = i, .element_type = (int)i + 1};
        memset(array + i * STRIDE, 0x5a, STRIDE);
        memcpy(array + i * STRIDE, &s, sizeof s);
    }
    const PJRT_ShapeSpec *specs = (const PJRT_ShapeSpec *)(void *)array;
    PJRT_ShapeSpec got;
    for (size_t i = 0; i < 3; i++) {
        assert_null(TN_PJRT_TAKE_AT(PJRT_ShapeSpec, element_type, specs, i, &got));
        assert_int_equal(got.num_dims, i);
        assert_int_equal(got.element_type, i + 1);
    }
    size_t other = 43;
    memcpy(array + STRIDE, &other, sizeof other);
    expect_refused(TN_PJRT_TAKE_AT(PJRT_ShapeSpec, element_type, specs, 1, &got),
                   "PJRT_ShapeSpec: element 1 has a struct_size of 43, the first one of 44");
    other = 0;
    memcpy(array, &other, sizeof other);
    expect_refused(TN_PJRT_TAKE_AT(PJRT_ShapeSpec, element_type, specs, 2, &got),
                   "PJRT_ShapeSpec: expected a struct_size of at least 36, got 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_whole),
        cmocka_unit_test(missing_calls_name_themselves_and_write_nothing),
        cmocka_unit_test(small_args_are_refused_by_every_call),
        cmocka_unit_test(callers_of_every_age_are_served),
        cmocka_unit_test(older_callers_see_no_half_done_work),
        cmocka_unit_test(structs_inside_follow_the_same_rule),
        cmocka_unit_test(arrays_step_by_the_callers_size),
    };
    return cmocka_run_group_tests(tests, map_page, unmap_page);
}
