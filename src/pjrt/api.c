/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "pjrt/entry.h"
#include "pjrt/extensions.h"

/* The implementation of a call, or what stands for it. */
#define IMPLEMENTATION_yes(name) tn_pjrt_##name
#define IMPLEMENTATION_no(name)  missing_##name

#define MISSING_yes(name)
#define MISSING_no(name)                                                                           \
    static PJRT_Error *missing_##name(PJRT_##name##_Args *args)                                    \
    {                                                                                              \
        return TN_PJRT_ERROR(UNIMPLEMENTED, "PJRT_" #name " is not implemented");                  \
    }
#define IN(returns, implemented, name, ...)  MISSING_##implemented(name)
#define OUT(returns, implemented, name, ...) MISSING_##implemented(name)
#include "pjrt/slots.def"

#define IN(returns, implemented, name, required)                                                   \
    TN_PJRT_ENTRY_IN(PJRT_##name, IMPLEMENTATION_##implemented(name), required)
#define OUT(returns, implemented, name, required, first_out)                                       \
    TN_PJRT_ENTRY_OUT(PJRT_##name, IMPLEMENTATION_##implemented(name), required, first_out)
#define OUT_WHOLE(returns, implemented, name, required, first_out)                                 \
    TN_PJRT_ENTRY_OUT_WHOLE(PJRT_##name, IMPLEMENTATION_##implemented(name), required)
#include "pjrt/slots.def"

/* A call that returns nothing cannot say what is wrong with its args. */
#define NOTHING_error(name)
#define NOTHING_nothing(name)                                                                      \
    static void silent_PJRT_##name(PJRT_##name##_Args *args)                                       \
    {                                                                                              \
        tn_pjrt_error_free(entry_PJRT_##name(args));                                               \
    }
#define IN(returns, implemented, name, ...)  NOTHING_##returns(name)
#define OUT(returns, implemented, name, ...) NOTHING_##returns(name)
#include "pjrt/slots.def"

#define ENTRY_error(name)   entry_##name
#define ENTRY_nothing(name) silent_##name

static const PJRT_Api api = {
    .struct_size = PJRT_Api_STRUCT_SIZE,
    .extension_start = TN_PJRT_EXTENSION(layouts),
    .pjrt_api_version = {.struct_size = PJRT_Api_Version_STRUCT_SIZE,
                         .major_version = PJRT_API_MAJOR,
                         .minor_version = PJRT_API_MINOR},
#define IN(returns, implemented, name, ...)  .PJRT_##name = ENTRY_##returns(PJRT_##name),
#define OUT(returns, implemented, name, ...) .PJRT_##name = ENTRY_##returns(PJRT_##name),
#include "pjrt/slots.def"
};

const PJRT_Api *tn_pjrt_api(void)
{
    return &api;
}

static _Atomic(const char *) default_driver = "cpu";

void tn_pjrt_set_default_driver(const char *name)
{
    atomic_store(&default_driver, name);
}

const char *tn_pjrt_default_driver(void)
{
    return atomic_load(&default_driver);
}

#define IS_yes true
#define IS_no  false
const tn_pjrt_slot tn_pjrt_slots[] = {
#define IN(returns, implemented, name, required)                                                   \
    {"PJRT_" #name, PJRT_STRUCT_SIZE(PJRT_##name##_Args, required),                                \
     PJRT_##name##_Args_STRUCT_SIZE, PJRT_##name##_Args_STRUCT_SIZE, IS_##implemented},
#define OUT(returns, implemented, name, required, first_out)                                       \
    {"PJRT_" #name, PJRT_STRUCT_SIZE(PJRT_##name##_Args, required),                                \
     PJRT_##name##_Args_STRUCT_SIZE, offsetof(PJRT_##name##_Args, first_out), IS_##implemented},
#include "pjrt/slots.def"
};
const size_t tn_pjrt_slot_count = sizeof tn_pjrt_slots / sizeof tn_pjrt_slots[0];

/* slots.def has every call of the table, each in its place. */
enum {
#define IN(returns, implemented, name, ...)  ROW_PJRT_##name,
#define OUT(returns, implemented, name, ...) ROW_PJRT_##name,
#include "pjrt/slots.def"
    ROWS
};
#define X(name, minor)                                                                             \
    _Static_assert(offsetof(PJRT_Api, name) == offsetof(PJRT_Api, PJRT_Error_Destroy) +            \
                                                   ROW_##name * sizeof(void (*)(void)),            \
                   #name " stands at another place in slots.def than in PJRT_Api");
PJRT_API_SLOTS(X)
#undef X
_Static_assert(PJRT_Api_STRUCT_SIZE ==
                   offsetof(PJRT_Api, PJRT_Error_Destroy) + ROWS * sizeof(void (*)(void)),
               "slots.def has rows that PJRT_Api lacks");
