/* SPDX-License-Identifier: Apache-2.0 */
/* ffi.h - the ABI of XLA's typed foreign function interface, version 0.3, in Tenon's own words.
 *
 * A handler is a function that computes a custom call. Whoever runs programs (the runtime) calls it
 * with a call frame: buffers, attributes, and the table of functions that the handler may call
 * back. Names, order, types and sizes are those of the published ABI, so a handler that was built
 * against any XLA header fits, in C or C++.
 *
 * Sizes      As in pjrt.h: who makes a struct fills struct_size with the end of the last field that
 *            it knows, and nobody reads or writes past it.
 * Errors     NULL is success. An error belongs to who receives it.
 * Threads    A handler may be called from any thread, by several at once. The functions of the
 *            table may be called from any thread while the call lasts: until the handler returns,
 *            or until the future that it left in the frame is set. */
#ifndef TN_FFI_H
#define TN_FFI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define XLA_FFI_GLOBAL(name) ::name /* else a member named as its type would hide it */
extern "C" {
#else
#define XLA_FFI_GLOBAL(name) name
#endif

// clang-format off

#define XLA_FFI_API_MAJOR 0
#define XLA_FFI_API_MINOR 3

#define XLA_FFI_STRUCT_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))
#define XLA_FFI_DEFINE_STRUCT_TRAITS(name, last)                                                   \
    typedef struct name name;                                                                      \
    enum { name##_STRUCT_SIZE = XLA_FFI_STRUCT_SIZE(struct name, last) }
#define XLA_FFI_HEAD size_t struct_size; XLA_FFI_Extension_Base *extension_start

typedef struct XLA_FFI_Api XLA_FFI_Api;
typedef struct XLA_FFI_InternalApi XLA_FFI_InternalApi;           /* the runtime's own business */
typedef struct XLA_FFI_ExecutionContext XLA_FFI_ExecutionContext; /* the runtime's side of a call */
typedef struct XLA_FFI_Error XLA_FFI_Error;
typedef struct XLA_FFI_Future XLA_FFI_Future; /* the end of a call that outlives its handler */

typedef enum { XLA_FFI_Extension_Metadata = 1 } XLA_FFI_Extension_Type;

typedef struct XLA_FFI_Extension_Base {
    size_t struct_size;
    XLA_FFI_Extension_Type type;
    struct XLA_FFI_Extension_Base *next;
} XLA_FFI_Extension_Base;

struct XLA_FFI_Api_Version {
    XLA_FFI_HEAD;
    int major_version; /* out */
    int minor_version; /* out */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Api_Version, minor_version);

typedef int XLA_FFI_Error_Code; /* a tn_code of status.h */

/* Of buffers, scalars and arrays: XLA's numbers for element types. */
typedef enum {
    XLA_FFI_DataType_INVALID = 0,
    XLA_FFI_DataType_PRED = 1,
    XLA_FFI_DataType_S8 = 2, XLA_FFI_DataType_S16 = 3, XLA_FFI_DataType_S32 = 4, XLA_FFI_DataType_S64 = 5,
    XLA_FFI_DataType_U8 = 6, XLA_FFI_DataType_U16 = 7, XLA_FFI_DataType_U32 = 8, XLA_FFI_DataType_U64 = 9,
    XLA_FFI_DataType_F16 = 10, XLA_FFI_DataType_F32 = 11, XLA_FFI_DataType_F64 = 12,
    XLA_FFI_DataType_C64 = 15, XLA_FFI_DataType_BF16 = 16, XLA_FFI_DataType_TOKEN = 17, XLA_FFI_DataType_C128 = 18,
    XLA_FFI_DataType_F8E5M2 = 19, XLA_FFI_DataType_F8E4M3FN = 20,
    XLA_FFI_DataType_S4 = 21, XLA_FFI_DataType_U4 = 22,
    XLA_FFI_DataType_F8E4M3B11FNUZ = 23, XLA_FFI_DataType_F8E5M2FNUZ = 24, XLA_FFI_DataType_F8E4M3FNUZ = 25,
    XLA_FFI_DataType_S2 = 26, XLA_FFI_DataType_U2 = 27,
    XLA_FFI_DataType_F8E4M3 = 28, XLA_FFI_DataType_F8E3M4 = 29,
    XLA_FFI_DataType_S1 = 30, XLA_FFI_DataType_U1 = 31,
    XLA_FFI_DataType_F4E2M1FN = 32, XLA_FFI_DataType_F8E8M0FNU = 33,
} XLA_FFI_DataType;

/* ---- What a frame holds ---------------------------------------------------------------------- */

struct XLA_FFI_Buffer {
    XLA_FFI_HEAD;
    XLA_FFI_DataType dtype;
    void *data; /* dense; the order of the dimensions in memory is the call's layout */
    int64_t rank;
    int64_t *dims; /* [rank] */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Buffer, dims);

typedef enum { XLA_FFI_ArgType_BUFFER = 1 } XLA_FFI_ArgType;
typedef enum { XLA_FFI_RetType_BUFFER = 1 } XLA_FFI_RetType;
typedef enum {
    XLA_FFI_AttrType_ARRAY = 1,      /* XLA_FFI_Array */
    XLA_FFI_AttrType_DICTIONARY = 2, /* XLA_FFI_Attrs */
    XLA_FFI_AttrType_SCALAR = 3,     /* XLA_FFI_Scalar */
    XLA_FFI_AttrType_STRING = 4,     /* XLA_FFI_ByteSpan */
} XLA_FFI_AttrType;

typedef struct XLA_FFI_ByteSpan { const char *ptr; size_t len; } XLA_FFI_ByteSpan;
typedef struct XLA_FFI_Scalar { XLA_FFI_DataType dtype; void *value; } XLA_FFI_Scalar;
typedef struct XLA_FFI_Array { XLA_FFI_DataType dtype; size_t size; void *data; } XLA_FFI_Array;

struct XLA_FFI_Args {
    XLA_FFI_HEAD;
    int64_t size;
    XLA_FFI_ArgType *types; /* [size] */
    void **args;            /* [size]: XLA_FFI_Buffer */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Args, args);

struct XLA_FFI_Rets {
    XLA_FFI_HEAD;
    int64_t size;
    XLA_FFI_RetType *types; /* [size] */
    void **rets;            /* [size]: XLA_FFI_Buffer */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Rets, rets);

/* In the order of their names, so that a handler can search by halves. */
struct XLA_FFI_Attrs {
    XLA_FFI_HEAD;
    int64_t size;
    XLA_FFI_AttrType *types;  /* [size] */
    XLA_FFI_ByteSpan **names; /* [size] */
    void **attrs;             /* [size]: what the type says */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Attrs, attrs);

typedef enum {
    XLA_FFI_ExecutionStage_INSTANTIATE = 0, /* once, when the program is compiled: no buffers */
    XLA_FFI_ExecutionStage_PREPARE = 1,     /* before each run: buffers have addresses, not contents */
    XLA_FFI_ExecutionStage_INITIALIZE = 2,  /* the same, after every PREPARE of the run */
    XLA_FFI_ExecutionStage_EXECUTE = 3,
} XLA_FFI_ExecutionStage;

struct XLA_FFI_CallFrame {
    XLA_FFI_HEAD;
    const XLA_FFI_Api *api;
    XLA_FFI_ExecutionContext *ctx;
    XLA_FFI_ExecutionStage stage;
    XLA_FFI_Args args;
    XLA_FFI_Rets rets;
    XLA_FFI_Attrs attrs;
    XLA_FFI_Future *future; /* out: the call goes on until this is set; NULL: it is over */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_CallFrame, attrs); /* without the future, as upstream */

typedef XLA_FFI_Error *XLA_FFI_Handler(XLA_FFI_CallFrame *frame);

typedef struct XLA_FFI_Handler_Bundle {
    XLA_FFI_Handler *instantiate; /* NULL where there is nothing to do; execute is always there */
    XLA_FFI_Handler *prepare;
    XLA_FFI_Handler *initialize;
    XLA_FFI_Handler *execute;
} XLA_FFI_Handler_Bundle;

typedef uint32_t XLA_FFI_Handler_Traits; /* bit 0: each call does the same device operations */

typedef struct XLA_FFI_TypeId { int64_t type_id; } XLA_FFI_TypeId;

struct XLA_FFI_TypeInfo {
    XLA_FFI_HEAD;
    void (*deleter)(void *object);
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_TypeInfo, deleter);

/* A frame with this extension asks for metadata instead of a call. */
struct XLA_FFI_Metadata {
    size_t struct_size;
    XLA_FFI_Api_Version api_version;
    XLA_FFI_Handler_Traits traits;
    XLA_FFI_TypeId state_type_id; /* of the state that INSTANTIATE makes; 0: none */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Metadata, traits);

struct XLA_FFI_Metadata_Extension {
    XLA_FFI_Extension_Base extension_base;
    XLA_FFI_Metadata *metadata;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Metadata_Extension, metadata);

/* ---- What a handler may call ----------------------------------------------------------------- */

#define XLA_FFI_CALL(name, last, ...)                                                              \
    struct name##_Args { XLA_FFI_HEAD; __VA_ARGS__; };                                              \
    XLA_FFI_DEFINE_STRUCT_TRAITS(name##_Args, last);                                               \
    typedef XLA_FFI_Error *name(name##_Args *args)

XLA_FFI_CALL(XLA_FFI_Error_Create, errc, const char *message; XLA_FFI_Error_Code errc);

struct XLA_FFI_Error_GetMessage_Args { XLA_FFI_HEAD; XLA_FFI_Error *error; const char *message; /* out */ };
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Error_GetMessage_Args, message);
typedef void XLA_FFI_Error_GetMessage(XLA_FFI_Error_GetMessage_Args *args);

struct XLA_FFI_Error_Destroy_Args { XLA_FFI_HEAD; XLA_FFI_Error *error; };
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Error_Destroy_Args, error);
typedef void XLA_FFI_Error_Destroy(XLA_FFI_Error_Destroy_Args *args);

XLA_FFI_CALL(XLA_FFI_Handler_Register, traits,
    XLA_FFI_ByteSpan name; XLA_FFI_ByteSpan platform; XLA_FFI_Handler_Bundle bundle; XLA_FFI_Handler_Traits traits);
XLA_FFI_CALL(XLA_FFI_Stream_Get, stream, XLA_FFI_ExecutionContext *ctx; void *stream /* out */);
/* type_id in and out: 0 asks for one. type_info is past the size that callers give, but always there. */
XLA_FFI_CALL(XLA_FFI_Type_Register, type_id,
    XLA_FFI_ByteSpan name; XLA_FFI_TypeId *type_id; const XLA_FFI_TypeInfo *type_info);
/* The data that the caller of the run gave under this type; NOT_FOUND: none. */
XLA_FFI_CALL(XLA_FFI_ExecutionContext_Get, data,
    XLA_FFI_ExecutionContext *ctx; XLA_FFI_TypeId *type_id; void *data /* out */);
/* State that a stage leaves to later ones, once. Older headers have no stage and mean INSTANTIATE. */
XLA_FFI_CALL(XLA_FFI_State_Set, state,
    XLA_FFI_ExecutionContext *ctx; XLA_FFI_ExecutionStage stage; XLA_FFI_TypeId *type_id; void *state);
XLA_FFI_CALL(XLA_FFI_State_Get, state,
    XLA_FFI_ExecutionContext *ctx; XLA_FFI_ExecutionStage stage; XLA_FFI_TypeId *type_id; void *state /* out */);
XLA_FFI_CALL(XLA_FFI_DeviceMemory_Allocate, data,
    XLA_FFI_ExecutionContext *ctx; size_t size; size_t alignment; void *data /* out */);
XLA_FFI_CALL(XLA_FFI_DeviceMemory_Free, data, XLA_FFI_ExecutionContext *ctx; size_t size; void *data);
typedef void XLA_FFI_Task(void *data);
/* The task runs at some time on some thread; tasks must not wait for each other. */
XLA_FFI_CALL(XLA_FFI_ThreadPool_Schedule, data, XLA_FFI_ExecutionContext *ctx; XLA_FFI_Task *task; void *data);
XLA_FFI_CALL(XLA_FFI_ThreadPool_NumThreads, num_threads,
    XLA_FFI_ExecutionContext *ctx; int64_t *num_threads /* out */);
/* The size that callers give for Create ends before the out field. */
XLA_FFI_CALL(XLA_FFI_Future_Create, extension_start, XLA_FFI_Future *future /* out */);
XLA_FFI_CALL(XLA_FFI_Future_SetAvailable, future, XLA_FFI_Future *future);
XLA_FFI_CALL(XLA_FFI_Future_SetError, error, XLA_FFI_Future *future; XLA_FFI_Error *error /* taken */);
XLA_FFI_CALL(XLA_FFI_RunId_Get, run_id, XLA_FFI_ExecutionContext *ctx; int64_t run_id /* out */);
XLA_FFI_CALL(XLA_FFI_DeviceOrdinal_Get, device_ordinal, XLA_FFI_ExecutionContext *ctx; int32_t device_ordinal /* out */);

struct XLA_FFI_Api {
    XLA_FFI_HEAD;
    XLA_FFI_Api_Version api_version;
    const XLA_FFI_InternalApi *internal_api;
#define XLA_FFI_SLOT(name) XLA_FFI_GLOBAL(name) *name
    XLA_FFI_SLOT(XLA_FFI_Error_Create);
    XLA_FFI_SLOT(XLA_FFI_Error_GetMessage);
    XLA_FFI_SLOT(XLA_FFI_Error_Destroy);
    XLA_FFI_SLOT(XLA_FFI_Handler_Register);
    XLA_FFI_SLOT(XLA_FFI_Stream_Get);
    XLA_FFI_SLOT(XLA_FFI_Type_Register);
    XLA_FFI_SLOT(XLA_FFI_ExecutionContext_Get);
    XLA_FFI_SLOT(XLA_FFI_State_Set);
    XLA_FFI_SLOT(XLA_FFI_State_Get);
    XLA_FFI_SLOT(XLA_FFI_DeviceMemory_Allocate);
    XLA_FFI_SLOT(XLA_FFI_DeviceMemory_Free);
    XLA_FFI_SLOT(XLA_FFI_ThreadPool_Schedule);
    XLA_FFI_SLOT(XLA_FFI_ThreadPool_NumThreads);
    XLA_FFI_SLOT(XLA_FFI_Future_Create);
    XLA_FFI_SLOT(XLA_FFI_Future_SetAvailable);
    XLA_FFI_SLOT(XLA_FFI_Future_SetError);
    XLA_FFI_SLOT(XLA_FFI_RunId_Get);
    XLA_FFI_SLOT(XLA_FFI_DeviceOrdinal_Get);
#undef XLA_FFI_SLOT
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Api, XLA_FFI_DeviceOrdinal_Get);

#undef XLA_FFI_HEAD
// clang-format on

#ifdef __cplusplus
}
#endif
#endif
