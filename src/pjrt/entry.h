/* SPDX-License-Identifier: Apache-2.0 */
/* entry.h - how calls come in: one rule for structs of any size.
 *
 * A caller built with an older or a newer header gives structs that end earlier or later than ours.
 * Each call goes through an entry. Args that have all our fields go straight to the implementation.
 * Shorter ones are copied into a struct of our size, the rest being 0, and on success what the
 * caller knows is copied back, from the first out field on. So an implementation
 *   - reads every field of its args freely and never looks at struct_size;
 *   - finds 0 in fields that the caller does not have, which must mean the old behaviour;
 *   - writes out fields only, field by field, all of them before it returns NULL; what it writes
 *     before an error must not matter.
 * A caller whose struct lacks a field that was there from the start gets INVALID_ARGUMENT.
 * Structs inside of args are the implementation's to take, with TN_PJRT_TAKE. */
#ifndef TN_PJRT_ENTRY_H
#define TN_PJRT_ENTRY_H

#include <string.h>

#include "pjrt/error.h"
#include "tenon/pjrt.h"

/* The implementations: tn_pjrt_Client_Create(PJRT_Client_Create_Args *) and so on, one file of
 * src/pjrt for each kind of object. Those of Error_Destroy and Error_Message return NULL. */
#define IN(returns, implemented, name, ...)  PJRT_Error *tn_pjrt_##name(PJRT_##name##_Args *args);
#define OUT(returns, implemented, name, ...) PJRT_Error *tn_pjrt_##name(PJRT_##name##_Args *args);
#include "pjrt/slots.def"

/* What slots.def says of one call. */
typedef struct {
    const char *name;          /* "PJRT_Client_Create" */
    size_t least, struct_size; /* bytes of args that a caller must have, that we know */
    size_t first_out;          /* byte from which they are written; struct_size: never */
    bool implemented;
} tn_pjrt_slot;

extern const tn_pjrt_slot tn_pjrt_slots[]; /* in the order of PJRT_Api */
extern const size_t tn_pjrt_slot_count;    /* 138 */

/* The table that GetPjrtApi gives; lives with the process. */
const PJRT_Api *tn_pjrt_api(void);

/* The driver of clients and topologies for which no option names another: "cpu", or what the
 * library was built for. `name` must live for ever. */
void tn_pjrt_set_default_driver(const char *name);
const char *tn_pjrt_default_driver(void);

/* Copies *src, a struct of the caller's that starts with its struct_size, into *local as above.
 * INVALID_ARGUMENT if src is NULL or ends before its field `required`:
 *     PJRT_ExecuteOptions options;
 *     TN_PJRT_TRY(TN_PJRT_TAKE(PJRT_ExecuteOptions, launch_id, args->options, &options)); */
#define TN_PJRT_TAKE(type, required, src, local) TN_PJRT_TAKE_AT(type, required, src, 0, local)

/* The same for element i of an array, whose elements lie as far apart as the caller made them. */
#define TN_PJRT_TAKE_AT(type, required, array, i, local)                                           \
    tn_pjrt_take((1 ? (array) : (const type *)0), i, PJRT_STRUCT_SIZE(type, required),             \
                 type##_STRUCT_SIZE, (1 ? (local) : (type *)0), #type)

tn_status *tn_pjrt_take(const void *array, size_t i, size_t least, size_t ours, void *local,
                        const char *type) TN_MUST_USE;

/* The entry of one call, for api.c and for the tables of extensions: defines
 *     static PJRT_Error *entry_<name>(<name>_Args *args)
 * `name` has its PJRT_ prefix; `implementation` takes the same args. A call with args of our size
 * costs a comparison more than a direct one. */
#define TN_PJRT_ENTRY_IN(name, implementation, required)                                           \
    static PJRT_Error *entry_##name(name##_Args *args)                                             \
    {                                                                                              \
        TN_PJRT_COME_IN(name, implementation, required)                                            \
        return implementation(&local);                                                             \
    }

#define TN_PJRT_ENTRY_OUT(name, implementation, required, first_out)                               \
    static PJRT_Error *entry_##name(name##_Args *args)                                             \
    {                                                                                              \
        enum { FIRST = offsetof(name##_Args, first_out) };                                         \
        TN_PJRT_COME_IN(name, implementation, required)                                            \
        _Static_assert((int)FIRST < (int)LEAST, "the first out field lies beyond the required");   \
        PJRT_Error *error = implementation(&local);                                                \
        if (!error) memcpy((char *)args + FIRST, (char *)&local + FIRST, size - FIRST);            \
        return error;                                                                              \
    }

#define TN_PJRT_ENTRY_OUT_WHOLE(name, implementation, required)                                    \
    static PJRT_Error *entry_##name(name##_Args *args)                                             \
    {                                                                                              \
        enum { LEAST = PJRT_STRUCT_SIZE(name##_Args, required) };                                  \
        const size_t size = args ? args->struct_size : 0;                                          \
        return size < LEAST ? tn_pjrt_refuse(#name, LEAST, size) : implementation(args);           \
    }

#define TN_PJRT_COME_IN(name, implementation, required)                                            \
    enum { OURS = name##_Args_STRUCT_SIZE, LEAST = PJRT_STRUCT_SIZE(name##_Args, required) };      \
    const size_t size = args ? args->struct_size : 0;                                              \
    if (__builtin_expect(size >= OURS, 1)) return implementation(args);                            \
    if (size < LEAST) return tn_pjrt_refuse(#name, LEAST, size);                                   \
    name##_Args local;                                                                             \
    memset(&local, 0, sizeof local);                                                               \
    memcpy(&local, args, size);                                                                    \
    local.struct_size = OURS;

PJRT_Error *tn_pjrt_refuse(const char *call, size_t least, size_t got) TN_MUST_USE;

#endif
