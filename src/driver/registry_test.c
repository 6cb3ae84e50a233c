/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "driver/kit.h"

static void fails(tn_status *s, tn_code code, const char *text)
{
    if (tn_status_code(s) != code || !strstr(tn_status_message(s), text))
        fail_msg("got %s \"%s\"", tn_code_name(tn_status_code(s)), tn_status_message(s));
    tn_status_free(s);
}

static void drivers_are_found_by_name(void **state)
{
    tn_driver d;
    assert_null(tn_driver_find("cpu", &d));
    assert_string_equal(d.name, "cpu");
    assert_non_null(d.address); /* that of map */
    assert_null(tn_driver_find("sim", &d));
    assert_null(d.map);
    fails(tn_driver_find("gpu", &d), TN_NOT_FOUND, "\"gpu\"");
    fails(tn_driver_find("./no_such.so", &d), TN_NOT_FOUND, "no_such.so");
}

static void drivers_must_be_whole(void **state)
{
    tn_driver whole, d, out;
    assert_null(tn_driver_find("sim", &whole));
    d = whole;
    d.abi = 99;
    fails(tn_driver_check(&d, &out), TN_UNIMPLEMENTED, "ABI 99");
    d = whole;
    d.launch = NULL;
    fails(tn_driver_check(&d, &out), TN_INVALID_ARGUMENT, "lacks launch");
    d = whole;
    d.name = "";
    fails(tn_driver_check(&d, &out), TN_INVALID_ARGUMENT, "no name");
    d = whole;
    d.size = 16;
    fails(tn_driver_check(&d, &out), TN_INVALID_ARGUMENT, "16 bytes");
    /* One built before the optional functions were added, and one built after others were. */
    d = whole;
    d.size = offsetof(tn_driver, map);
    assert_null(tn_driver_check(&d, &out));
    assert_null(out.address);
    struct {
        tn_driver driver;
        void *later[4];
    } newer = {whole, {&d, &d, &d, &d}};
    newer.driver.size = sizeof newer;
    assert_null(tn_driver_check(&newer.driver, &out));
    assert_int_equal(out.size, sizeof out);
}

static uint32_t flags, formats;
static void some_info(const tn_driver_device *d, tn_device_info *out)
{
    out->flags = flags;
    out->code_formats = formats;
}

static void devices_must_be_usable(void **state)
{
    tn_driver d;
    tn_device_info info;
    assert_null(tn_driver_find("sim", &d));
    d.info = some_info;
    formats = 1 << TN_CODE_HOST | 1 << TN_CODE_OPENCL;
    assert_null(tn_driver_device_info(&d, NULL, &info));
    assert_string_equal(info.kind, "sim");
    formats = 1 << TN_CODE_OPENCL;
    fails(tn_driver_device_info(&d, NULL, &info), TN_UNIMPLEMENTED, "code formats 0x4");
    formats = 1 << TN_CODE_HOST;
    d.wait = NULL;
    fails(tn_driver_device_info(&d, NULL, &info), TN_INVALID_ARGUMENT, "lacks record, wait");
    flags = TN_DEVICE_SYNCHRONOUS;
    assert_null(tn_driver_device_info(&d, NULL, &info));
}

static void the_kit_knows_the_options_of_its_driver(void **state)
{
    static const tn_driver_option table[] = {
        {"number", false, 0, 10, ""}, {"word", true, 0, 0, ""}, {NULL}};
    tn_driver d = {.name = "test", .options = table};
    tn_named_value values[] = {
        {.name = "number", .name_size = 6, .kind = TN_VALUE_INT, .integer = 3},
        {.name = "word?", .name_size = 4, .kind = TN_VALUE_STRING, .string = "yes!", .size = 3},
        {.name = "number", .name_size = 6, .kind = TN_VALUE_INT, .integer = 4},
        {.name = "numbers", .name_size = 7, .kind = TN_VALUE_INT, .integer = 5},
    };
    tn_kit *kit;
    assert_null(tn_kit_create(&d, values, 4, NULL, &kit));
    assert_int_equal(kit->option(kit, "number", 7), 4);
    assert_int_equal(kit->option(kit, "other", 7), 7);
    assert_string_equal(kit->option_text(kit, "word", "no"), "yes");
    assert_string_equal(kit->option_text(kit, "number", "no"), "no");
    tn_kit_destroy(kit);

    bool known;
    assert_null(tn_driver_check_option(&d, &values[3], &known));
    assert_false(known);
    values[0].integer = 11;
    fails(tn_driver_check_option(&d, &values[0], &known), TN_INVALID_ARGUMENT, "11");
    values[0].kind = TN_VALUE_BOOL;
    fails(tn_driver_check_option(&d, &values[0], &known), TN_INVALID_ARGUMENT, "bool");
}

static void add_range(void *ctx, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) ((int *)ctx)[i]++;
}

static void the_kit_serves(void **state)
{
    tn_driver d = {.name = "test"};
    tn_kit *kit;
    assert_null(tn_kit_create(&d, NULL, 0, NULL, &kit));
    tn_status *s = TN_KIT_FAIL(kit, DATA_LOSS, "%d of %s", 3, "them");
    assert_string_equal(tn_status_message(s), "3 of them");
    tn_status *copy = kit->copy_error(s);
    kit->free_error(s);
    assert_string_equal(tn_status_message(copy), "3 of them");
    kit->free_error(copy);
    kit->free_error(NULL);
    char *memory = kit->alloc(kit, 100);
    assert_int_equal((uintptr_t)memory % 64, 0);
    memset(memory, 1, 100);
    kit->free(kit, memory, 100);
    int items[100] = {0};
    kit->parallel_for(kit, 100, 10, add_range, items);
    for (int i = 0; i < 100; i++) assert_int_equal(items[i], 1);
    kit->log(kit, TN_KIT_DEBUG, "unheard %d", 1);
    tn_kit_destroy(kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drivers_are_found_by_name),
        cmocka_unit_test(drivers_must_be_whole),
        cmocka_unit_test(devices_must_be_usable),
        cmocka_unit_test(the_kit_knows_the_options_of_its_driver),
        cmocka_unit_test(the_kit_serves),
    };
    return cmocka_run_group_tests_name("driver-registry", tests, NULL, NULL);
}
