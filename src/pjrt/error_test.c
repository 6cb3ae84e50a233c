/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pjrt/entry.h"

static void destroy(PJRT_Error *e)
{
    PJRT_Error_Destroy_Args args = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE, .error = e};
    tn_pjrt_api()->PJRT_Error_Destroy(&args);
}

static void errors_say_what_their_status_says(void **state)
{
    const PJRT_Api *api = tn_pjrt_api();
    assert_null(tn_pjrt_error(NULL));
    for (int code = 1; code <= 16; code++) {
        tn_status *s = tn_status_make((tn_code)code, "f.c", 1, "dimension %d", code);
        PJRT_Error *e = tn_pjrt_error(s);
        PJRT_Error_GetCode_Args c = {.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE,
                                     .error = e};
        assert_null(api->PJRT_Error_GetCode(&c));
        assert_int_equal(c.code, code);
        PJRT_Error_Message_Args m = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE,
                                     .error = e};
        api->PJRT_Error_Message(&m);
        assert_string_equal(m.message, tn_status_message(s));
        assert_int_equal(m.message_size, strlen(m.message));
        destroy(e);
    }
    destroy(NULL);
}

static void the_function_table_gives_the_same(void **state)
{
    PJRT_Error *e = TN_PJRT_ERROR(NOT_FOUND, "no such target");
    const PJRT_Error_FunctionTable *t = e->vtable;
    assert_non_null(t);
    assert_int_equal(t->struct_size, PJRT_Error_FunctionTable_STRUCT_SIZE);
    assert_true(t->instance_size >= sizeof(PJRT_Error));
    assert_int_equal(t->get_code(e), PJRT_Error_Code_NOT_FOUND);
    const char *text;
    size_t size;
    t->message(e, &text, &size);
    assert_int_equal(size, 14);
    assert_memory_equal(text, "no such target", size);
    t->destroy(e);
    t->destroy(NULL);
}

typedef struct {
    size_t n;
    char text[64];
} visits;

static void visit(const char *key, size_t key_size, const char *value, size_t value_size,
                  void *user_arg)
{
    visits *v = user_arg;
    v->n++;
    snprintf(v->text + strlen(v->text), sizeof v->text - strlen(v->text), "%.*s=%.*s;",
             (int)key_size, key, (int)value_size, value);
}

static PJRT_Error *with_payloads(void)
{
    tn_status *s = TN_ERROR(INTERNAL, "with payloads");
    s = tn_status_add_payload(s, "a", 1, "1", 1);
    s = tn_status_add_payload(s, "key", 3, "value", 5);
    return tn_pjrt_error(s);
}

static void payloads_are_visited(void **state)
{
    PJRT_Error *e = with_payloads();
    visits v = {0}, w = {0};
    PJRT_Error_ForEachPayload_Args args = {.struct_size =
                                               PJRT_Error_ForEachPayload_Args_STRUCT_SIZE,
                                           .error = e,
                                           .visitor = visit,
                                           .user_arg = &v};
    assert_null(tn_pjrt_api()->PJRT_Error_ForEachPayload(&args));
    assert_int_equal(v.n, 2);
    assert_string_equal(v.text, "a=1;key=value;");
    e->vtable->for_each_payload(e, visit, &w);
    assert_string_equal(w.text, v.text);

    args.visitor = NULL;
    PJRT_Error *refused = tn_pjrt_api()->PJRT_Error_ForEachPayload(&args);
    assert_non_null(refused);
    assert_int_equal(refused->vtable->get_code(refused), PJRT_Error_Code_INVALID_ARGUMENT);
    destroy(refused);
    destroy(e);
}

static void no_error_and_small_args_are_harmless(void **state)
{
    const PJRT_Api *api = tn_pjrt_api();
    PJRT_Error_GetCode_Args c = {.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE, .code = 5};
    assert_null(api->PJRT_Error_GetCode(&c));
    assert_int_equal(c.code, PJRT_Error_Code_OK);
    PJRT_Error_Message_Args m = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE};
    api->PJRT_Error_Message(&m);
    assert_int_equal(m.message_size, 0);
    assert_non_null(m.message);
    PJRT_Error *e = TN_PJRT_ERROR(INTERNAL, "x");
    PJRT_Error_Message_Args small = {.struct_size = 32, .error = e, .message_size = 99};
    api->PJRT_Error_Message(&small);
    assert_null(small.message);
    assert_int_equal(small.message_size, 99);
    destroy(e);
}

/* An error of some other library. */
static int foreign_ended;
static void foreign_destroy(PJRT_Error *e)
{
    foreign_ended++;
}
static void foreign_message(const PJRT_Error *e, const char **text, size_t *size)
{
    *text = "foreign text";
    *size = 7;
}
static PJRT_Error_Code foreign_code(const PJRT_Error *e)
{
    return PJRT_Error_Code_DATA_LOSS;
}
static void foreign_payloads(const PJRT_Error *e, PJRT_Error_PayloadVisitor v, void *user_arg)
{
    v("k", 1, "v", 1, user_arg);
}
static const PJRT_Error_FunctionTable foreign_table = {PJRT_Error_FunctionTable_STRUCT_SIZE,
                                                       sizeof(PJRT_Error),
                                                       NULL,
                                                       foreign_destroy,
                                                       foreign_message,
                                                       foreign_code,
                                                       foreign_payloads};

static void errors_of_callbacks_become_statuses(void **state)
{
    assert_null(tn_pjrt_status(NULL));
    PJRT_Error *e = tn_pjrt_callback_error(PJRT_Error_Code_NOT_FOUND, "key of text", 3);
    tn_status *s = tn_pjrt_status(e);
    assert_int_equal(tn_status_code(s), TN_NOT_FOUND);
    assert_string_equal(tn_status_message(s), "key");
    tn_status_free(s);
    s = tn_pjrt_status(with_payloads());
    assert_int_equal(tn_status_payload_count(s), 2);
    tn_status_free(s);

    PJRT_Error foreign = {&foreign_table}, old = {NULL};
    destroy(&foreign); /* not ours to end */
    assert_int_equal(foreign_ended, 0);
    s = tn_pjrt_status(&foreign);
    assert_int_equal(foreign_ended, 1);
    assert_int_equal(tn_status_code(s), TN_DATA_LOSS);
    assert_string_equal(tn_status_message(s), "foreign");
    assert_int_equal(tn_status_payload_count(s), 1);
    tn_status_free(s);
    s = tn_pjrt_status(&old);
    assert_int_equal(tn_status_code(s), TN_UNKNOWN);
    tn_status_free(s);
}

static void codes_of_callers_are_checked(void **state)
{
    assert_null(tn_pjrt_status_of(PJRT_Error_Code_OK, "all is well", 11));
    tn_status *s = tn_pjrt_status_of((PJRT_Error_Code)99, "odd", 3);
    assert_int_equal(tn_status_code(s), TN_UNKNOWN);
    assert_string_equal(tn_status_message(s), "odd");
    tn_status_free(s);
    s = tn_pjrt_status_of(PJRT_Error_Code_ABORTED, NULL, 12);
    assert_int_equal(tn_status_code(s), TN_ABORTED);
    assert_string_equal(tn_status_message(s), "");
    tn_status_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_what_their_status_says),
        cmocka_unit_test(the_function_table_gives_the_same),
        cmocka_unit_test(payloads_are_visited),
        cmocka_unit_test(no_error_and_small_args_are_harmless),
        cmocka_unit_test(errors_of_callbacks_become_statuses),
        cmocka_unit_test(codes_of_callers_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
