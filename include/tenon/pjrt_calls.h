/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt_calls.h - all calls of the PJRT C API as data, for tools that treat every call alike: what
 * each is called, which fields its arguments have, what kind of thing each field is, who ends it.
 *
 * The rows come from pjrt_fields.def. Threads: everything here is constant. */
#ifndef TN_PJRT_CALLS_H
#define TN_PJRT_CALLS_H

#include "tenon/pjrt.h"
#include "tenon/pjrt_extensions.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every call by number: the slots of PJRT_Api in order, then those of known extensions. */
enum {
#define CALL(function, minor) TN_CALL_##function,
#include "tenon/pjrt_fields.def"
    TN_SLOT_COUNT,
    TN_BEFORE_EXTENSIONS = TN_SLOT_COUNT - 1,
#define EXTENSION_CALL(type, table, function, slot) TN_CALL_##function,
#include "tenon/pjrt_fields.def"
    TN_CALL_COUNT
};

typedef enum {
    TN_CLASS_NONE,
#define CLASS(name) TN_CLASS_##name,
#include "tenon/pjrt_fields.def"
    TN_CLASS_COUNT
} tn_class;

/* As the head of pjrt_fields.def explains. */
typedef enum {
    TN_FIELD_HANDLE,
    TN_FIELD_HANDLES,
    TN_FIELD_INT,
    TN_FIELD_BOOL,
    TN_FIELD_TYPE,
    TN_FIELD_STRING,
    TN_FIELD_BYTES,
    TN_FIELD_I64S,
    TN_FIELD_SIZES,
    TN_FIELD_INTS,
    TN_FIELD_VALUES,
    TN_FIELD_LAYOUT,
    TN_FIELD_STRUCT,
    TN_FIELD_INLINE,
    TN_FIELD_FUNCTION,
    TN_FIELD_POINTER,
} tn_field_kind;

typedef enum {
    TN_FIELD_IN,
    TN_FIELD_OUT,
    TN_FIELD_INOUT,
    TN_FIELD_MAKES, /* out, a handle that the caller ends */
    TN_FIELD_ENDS,  /* in, a handle that the call ends */
} tn_direction;

typedef struct {
    const char *name;
    uint16_t offset, size; /* bytes, in the struct */
    uint8_t kind, direction, cls, minor;
    uint16_t count_offset; /* of the field that counts the array; own offset: there is none */
    uint8_t count_size;
} tn_field;

typedef struct {
    const char *name;
    const tn_field *fields;
    uint16_t n_fields, size;
} tn_struct;

typedef struct {
    const char *name; /* "PJRT_Buffer_Dimensions" */
    int minor;        /* that added the slot; 0 for extensions */
    int extension;    /* PJRT_Extension_Type, -1 for slots */
    size_t slot;      /* offset of the function pointer in PJRT_Api or the extension's table */
    tn_struct args;
} tn_call_info;

extern const tn_call_info tn_calls[TN_CALL_COUNT];
extern const tn_struct tn_struct_program, tn_struct_execute_options, tn_struct_load_options;

/* The call of this name ("PJRT_" may be left out), or -1. */
int tn_call_find(const char *name);
const char *tn_class_name(tn_class c); /* "Buffer" */
/* The struct_size that a caller or plugin of this minor has. */
size_t tn_struct_size_at(const tn_struct *s, int minor);
/* Does the struct_size that stands in `args` cover the field? */
bool tn_field_covered(const tn_field *f, const void *args);
/* An INT, BOOL or TYPE field's value; the count of an array field (0 if none counts it). */
int64_t tn_field_int(const tn_field *f, const void *args);
size_t tn_field_count(const tn_field *f, const void *args);
/* A pointer-like field. */
void *tn_field_pointer(const tn_field *f, const void *args);

/* Host memory of an element; 0 for tokens and unknown types. */
size_t tn_pjrt_element_size(PJRT_Buffer_Type type);
const char *tn_pjrt_element_name(PJRT_Buffer_Type type);
/* Address range of strided host data: *first is its lowest byte's offset from `data` (may be
 * negative), the return value its length in bytes. False for absurd sizes. */
bool tn_host_data_span(PJRT_Buffer_Type type, const int64_t *dims, size_t n_dims,
                       const int64_t *strides, size_t n_strides, int64_t *first, size_t *length);

#ifdef __cplusplus
}
#endif
#endif
