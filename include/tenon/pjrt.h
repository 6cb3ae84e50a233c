/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt.h - the PJRT C API, version 0.115, stated in Tenon's own words.
 *
 * A framework (the caller) loads a plugin, calls its only exported symbol GetPjrtApi and from then
 * on talks through the PJRT_Api table at the end of this file. Names, order, types and sizes are
 * those of the published ABI: a client written against any PJRT header compiles against this one.
 *
 * Sizes      Every struct that may grow starts with `struct_size`, which its *maker* fills with the
 *            X_STRUCT_SIZE of the header it was built with: the end of the last field, without
 *            trailing padding. Whoever receives a struct reads and writes no byte past it.
 *            "0.76" beside a field is the minor version that added it.
 * In, out    Fields are inputs unless marked out. Callers need not clear a struct: out fields and
 *            unused optional inputs may hold garbage, so a plugin writes every out field on
 *            success, and none on failure.
 * Errors     A call returns NULL or a PJRT_Error that the caller ends with PJRT_Error_Destroy.
 * Ownership  Objects that a call makes (a client, buffer, executable, event, ...) belong to the
 *            caller, who ends each once with its _Destroy; NULL is fine there. Arrays and strings
 *            in out fields belong to the object asked ("lives with the client") unless a deleter
 *            comes with them. Inputs need to live only until the call returns, where nothing else
 *            is said. Strings are a pointer and a size, without a NUL.
 * Threads    Any call may come from any thread at any time; only the destruction of an object must
 *            be its last use. */
#ifndef TN_PJRT_H
#define TN_PJRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define PJRT_STATIC_ASSERT static_assert
#define PJRT_ALIGNOF       alignof
#define PJRT_GLOBAL(name)  ::name /* else a member named as its type would hide it */
extern "C" {
#else
#define PJRT_STATIC_ASSERT _Static_assert
#define PJRT_ALIGNOF       _Alignof
#define PJRT_GLOBAL(name)  name
#endif

// clang-format off

#define PJRT_API_MAJOR 0
#define PJRT_API_MINOR 115

/* The end of `last` in `type`: what struct_size holds. */
#define PJRT_STRUCT_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* Gives struct `name` its typedef and its name_STRUCT_SIZE, and checks that `last` is the last
 * field. */
#define PJRT_DEFINE_STRUCT_TRAITS(name, last)                                                      \
    typedef struct name name;                                                                      \
    enum { name##_STRUCT_SIZE = PJRT_STRUCT_SIZE(struct name, last) };                             \
    PJRT_STATIC_ASSERT(sizeof(struct name) <                                                       \
                           PJRT_STRUCT_SIZE(struct name, last) + PJRT_ALIGNOF(struct name),        \
                       #last " is not the last field of " #name)

/* Gives call `name`, whose arguments are the struct name_Args before it, its function type. */
#define PJRT_CALL(name, last)                                                                      \
    PJRT_DEFINE_STRUCT_TRAITS(name##_Args, last);                                                  \
    typedef PJRT_Error *name(name##_Args *args)

/* The head of every argument struct. `extension_start` is NULL, or a chain of extensions that
 * the caller adds. */
#define PJRT_HEAD size_t struct_size; PJRT_Extension_Base *extension_start


/* ---- Extensions: optional function tables, chained from PJRT_Api.extension_start ------------- */

typedef enum {
    PJRT_Extension_Type_Gpu_Custom_Call = 0,
    PJRT_Extension_Type_Profiler = 1,
    PJRT_Extension_Type_Custom_Partitioner = 2,
    PJRT_Extension_Type_Stream = 3,
    PJRT_Extension_Type_Layouts = 4,
    PJRT_Extension_Type_FFI = 5,
    PJRT_Extension_Type_MemoryDescriptions = 6,
    PJRT_Extension_Type_Triton = 7,
    PJRT_Extension_Type_RawBuffer = 8,
    PJRT_Extension_Type_PhaseCompile = 9,
    PJRT_Extension_Type_Example = 10,
    PJRT_Extension_Type_Unknown = 11,
    PJRT_Extension_Type_CrossHostTransfers = 12,
    PJRT_Extension_Type_ExecutableMetadata = 13,
    PJRT_Extension_Type_Callback = 14,
    PJRT_Extension_Type_HostAllocator = 15,
    PJRT_Extension_Type_TpuTopology = 16,
    PJRT_Extension_Type_TpuExecutable = 17,
    PJRT_Extension_Type_Megascale = 18,
    PJRT_Extension_Type_Shardings = 19,
    PJRT_Extension_Type_AbiVersion = 20,
    PJRT_Extension_Type_Collectives = 21,
    PJRT_Extension_Type_MultiSlice = 22,
    PJRT_Extension_Type_HostMemoryAllocator = 23,
    PJRT_Extension_Type_XlaTransform = 24,
    PJRT_Extension_Type_ExecuteChain = 25, /* of one fork; upstream may give 25 another meaning */
} PJRT_Extension_Type;

/* First member of every extension; the tables themselves are in pjrt_extensions.h. */
struct PJRT_Extension_Base {
    size_t struct_size;
    PJRT_Extension_Type type;
    struct PJRT_Extension_Base *next;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Extension_Base, next);

struct PJRT_Api_Version {
    PJRT_HEAD;
    int major_version; /* out: PJRT_API_MAJOR and _MINOR of the plugin's header */
    int minor_version; /* out */
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Api_Version, minor_version);


/* ---- Errors ---------------------------------------------------------------------------------- */

typedef enum {
    PJRT_Error_Code_OK = 0,
    PJRT_Error_Code_CANCELLED = 1,
    PJRT_Error_Code_UNKNOWN = 2,
    PJRT_Error_Code_INVALID_ARGUMENT = 3,
    PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
    PJRT_Error_Code_NOT_FOUND = 5,
    PJRT_Error_Code_ALREADY_EXISTS = 6,
    PJRT_Error_Code_PERMISSION_DENIED = 7,
    PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
    PJRT_Error_Code_FAILED_PRECONDITION = 9,
    PJRT_Error_Code_ABORTED = 10,
    PJRT_Error_Code_OUT_OF_RANGE = 11,
    PJRT_Error_Code_UNIMPLEMENTED = 12,
    PJRT_Error_Code_INTERNAL = 13,
    PJRT_Error_Code_UNAVAILABLE = 14,
    PJRT_Error_Code_DATA_LOSS = 15,
    PJRT_Error_Code_UNAUTHENTICATED = 16
} PJRT_Error_Code;

typedef struct PJRT_Error PJRT_Error;

/* Sees one payload (a named byte string) of an error; the bytes live only during the call. */
typedef void (*PJRT_Error_PayloadVisitor)(const char *key, size_t key_size, const char *value,
                                          size_t value_size, void *user_arg);

/* 0.107: how an error is handled without knowing which library made it. */
struct PJRT_Error_FunctionTable {
    size_t struct_size;
    size_t instance_size; /* bytes of the object that holds the table */
    PJRT_Extension_Base *extension_start;
    void (*destroy)(PJRT_Error *error);
    /* The message lives with the error. */
    void (*message)(const PJRT_Error *error, const char **message, size_t *message_size);
    PJRT_Error_Code (*get_code)(const PJRT_Error *error);
    void (*for_each_payload)(const PJRT_Error *error, PJRT_Error_PayloadVisitor visitor,
                             void *user_arg);
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Error_FunctionTable, for_each_payload);

/* The visible head of an error object. Since 0.107 a caller may go through the table instead of
 * the slots. */
struct PJRT_Error { const PJRT_Error_FunctionTable *vtable; };
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Error, vtable);

/* Ends an error. This call and the next cannot fail. */
struct PJRT_Error_Destroy_Args { PJRT_HEAD; PJRT_Error *error; };
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Error_Destroy_Args, error);
typedef void PJRT_Error_Destroy(PJRT_Error_Destroy_Args *args);

struct PJRT_Error_Message_Args {
    PJRT_HEAD;
    const PJRT_Error *error;
    const char *message; /* out: lives with the error */
    size_t message_size; /* out */
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Error_Message_Args, message_size);
typedef void PJRT_Error_Message(PJRT_Error_Message_Args *args);

struct PJRT_Error_GetCode_Args {
    PJRT_HEAD;
    const PJRT_Error *error;
    PJRT_Error_Code code; /* out */
};
PJRT_CALL(PJRT_Error_GetCode, code);

/* Calls the visitor for each payload, in any order, before it returns. */
struct PJRT_Error_ForEachPayload_Args {
    PJRT_HEAD;
    const PJRT_Error *error;
    PJRT_Error_PayloadVisitor visitor;
    void *user_arg;
};
PJRT_CALL(PJRT_Error_ForEachPayload, user_arg);

/* Handed by the plugin to callbacks of the caller, who makes with it the error that the callback
 * returns. Copies the message. */
typedef PJRT_Error *(*PJRT_CallbackError)(PJRT_Error_Code code, const char *message,
                                          size_t message_size);


/* ---- Named values: options and attributes ---------------------------------------------------- */

typedef enum {
    PJRT_NamedValue_kString = 0,
    PJRT_NamedValue_kInt64 = 1,
    PJRT_NamedValue_kInt64List = 2,
    PJRT_NamedValue_kFloat = 3,
    PJRT_NamedValue_kBool = 4, /* 0.30 */
} PJRT_NamedValue_Type;

/* Arrays of these step by the struct_size of an element rounded up to its alignment. */
struct PJRT_NamedValue {
    PJRT_HEAD;
    const char *name;
    size_t name_size;
    PJRT_NamedValue_Type type;
    union {
        const char *string_value;
        int64_t int64_value;
        const int64_t *int64_array_value;
        float float_value;
        bool bool_value;
    };
    size_t value_size; /* bytes of a string, elements of a list, 1 for a scalar */
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_NamedValue, value_size);


/* ---- Plugin ---------------------------------------------------------------------------------- */

/* Once, before every call but those on errors. */
struct PJRT_Plugin_Initialize_Args { PJRT_HEAD; };
PJRT_CALL(PJRT_Plugin_Initialize, extension_start);

/* What the plugin says of itself, e.g. stablehlo_current_version, stablehlo_minimum_version,
 * xla_version. */
struct PJRT_Plugin_Attributes_Args {
    PJRT_HEAD;
    const PJRT_NamedValue *attributes; /* out: lives with the process */
    size_t num_attributes;             /* out */
};
PJRT_CALL(PJRT_Plugin_Attributes, num_attributes);


/* ---- Events: the end of some asynchronous work, and its error -------------------------------- */

typedef struct PJRT_Event PJRT_Event;

/* Legal before the event is ready; callbacks already registered still run. */
struct PJRT_Event_Destroy_Args { PJRT_HEAD; PJRT_Event *event; };
PJRT_CALL(PJRT_Event_Destroy, event);

/* True once the work has ended, well or badly. */
struct PJRT_Event_IsReady_Args { PJRT_HEAD; PJRT_Event *event; bool is_ready; /* out */ };
PJRT_CALL(PJRT_Event_IsReady, is_ready);

/* Only on a ready event. Returns a new error each time, or NULL if the work went well. */
struct PJRT_Event_Error_Args { PJRT_HEAD; PJRT_Event *event; };
PJRT_CALL(PJRT_Event_Error, event);

/* Blocks until the event is ready, then as PJRT_Event_Error. */
struct PJRT_Event_Await_Args { PJRT_HEAD; PJRT_Event *event; };
PJRT_CALL(PJRT_Event_Await, event);

/* Owns `error` (NULL if all went well). */
typedef void (*PJRT_Event_OnReadyCallback)(PJRT_Error *error, void *user_arg);

/* Calls `callback` exactly once, on any thread; at once if the event is ready. */
struct PJRT_Event_OnReady_Args {
    PJRT_HEAD;
    PJRT_Event *event;
    PJRT_Event_OnReadyCallback callback;
    void *user_arg;
};
PJRT_CALL(PJRT_Event_OnReady, user_arg);

/* An event that the caller makes ready, once, with PJRT_Event_Set. */
struct PJRT_Event_Create_Args { PJRT_HEAD; PJRT_Event *event; /* out */ };
PJRT_CALL(PJRT_Event_Create, event);

struct PJRT_Event_Set_Args {
    PJRT_HEAD;
    PJRT_Event *event;
    PJRT_Error_Code error_code; /* OK: the work went well */
    const char *error_message;  /* copied */
    size_t error_message_size;
};
PJRT_CALL(PJRT_Event_Set, error_message_size);


/* ---- Objects --------------------------------------------------------------------------------- */

typedef struct PJRT_Client PJRT_Client;
typedef struct PJRT_Device PJRT_Device;
typedef struct PJRT_Memory PJRT_Memory;
typedef struct PJRT_DeviceDescription PJRT_DeviceDescription;
typedef struct PJRT_TopologyDescription PJRT_TopologyDescription;
typedef struct PJRT_Executable PJRT_Executable;             /* compiled, bound to no client */
typedef struct PJRT_LoadedExecutable PJRT_LoadedExecutable; /* loaded on devices of a client */
typedef struct PJRT_Buffer PJRT_Buffer;
typedef struct PJRT_ExecuteContext PJRT_ExecuteContext;
typedef struct PJRT_CopyToDeviceStream PJRT_CopyToDeviceStream;
typedef struct PJRT_AsyncHostToDeviceTransferManager PJRT_AsyncHostToDeviceTransferManager;
typedef struct PJRT_AsyncTrackingEvent PJRT_AsyncTrackingEvent;
typedef struct PJRT_FulfillAliasBufferCallback PJRT_FulfillAliasBufferCallback;
typedef struct PJRT_PhaseCompiler PJRT_PhaseCompiler;
typedef struct PJRT_MultiSlice_Config PJRT_MultiSlice_Config;
typedef struct PJRT_Device_Attributes PJRT_Device_Attributes;
typedef struct PJRT_DeviceAssignmentSerialized PJRT_DeviceAssignmentSerialized;
typedef struct PJRT_SerializedExecutable PJRT_SerializedExecutable;
typedef struct PJRT_SerializedCompileOptions PJRT_SerializedCompileOptions;
typedef struct PJRT_SerializedTopology PJRT_SerializedTopology;

/* 0.105: the caller hangs data of its own on a memory, one value per key (keys compare as
 * addresses). */
struct PJRT_Memory_FunctionTable {
    PJRT_HEAD;
    size_t instance_struct_size; /* bytes of the object that holds the table */
    void *(*get_user_data)(PJRT_Memory *memory, const void *key); /* NULL: none under this key */
    /* `dtor` (may be NULL) gets `data` when it is replaced or the client ends. */
    void (*set_user_data)(PJRT_Memory *memory, const void *key, void *data,
                          void (*dtor)(void *data));
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Memory_FunctionTable, set_user_data);

/* The visible head of a memory. Callers look through it if the plugin says minor >= 105. */
struct PJRT_Memory { const PJRT_Memory_FunctionTable *vtable; /* may be NULL */ };
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Memory, vtable);


/* ---- Types and layouts of buffers ------------------------------------------------------------ */

typedef enum {
    PJRT_Buffer_Type_INVALID = 0,
    PJRT_Buffer_Type_PRED = 1, /* one byte, 0 or 1 */
    PJRT_Buffer_Type_S8 = 2,
    PJRT_Buffer_Type_S16 = 3,
    PJRT_Buffer_Type_S32 = 4,
    PJRT_Buffer_Type_S64 = 5,
    PJRT_Buffer_Type_U8 = 6,
    PJRT_Buffer_Type_U16 = 7,
    PJRT_Buffer_Type_U32 = 8,
    PJRT_Buffer_Type_U64 = 9,
    PJRT_Buffer_Type_F16 = 10,
    PJRT_Buffer_Type_F32 = 11,
    PJRT_Buffer_Type_F64 = 12,
    PJRT_Buffer_Type_BF16 = 13,
    PJRT_Buffer_Type_C64 = 14,  /* two F32: real, imaginary */
    PJRT_Buffer_Type_C128 = 15, /* two F64 */
    PJRT_Buffer_Type_F8E5M2 = 16,
    PJRT_Buffer_Type_F8E4M3FN = 17,
    PJRT_Buffer_Type_F8E4M3B11FNUZ = 18,
    PJRT_Buffer_Type_F8E5M2FNUZ = 19,
    PJRT_Buffer_Type_F8E4M3FNUZ = 20,
    PJRT_Buffer_Type_S4 = 21, /* what is less than a byte takes a byte each in host memory */
    PJRT_Buffer_Type_U4 = 22,
    PJRT_Buffer_Type_TOKEN = 23, /* 0.50 */
    PJRT_Buffer_Type_S2 = 24,
    PJRT_Buffer_Type_U2 = 25,
    PJRT_Buffer_Type_F8E4M3 = 26,    /* 0.55 */
    PJRT_Buffer_Type_F8E3M4 = 27,    /* 0.55 */
    PJRT_Buffer_Type_F8E8M0FNU = 28, /* 0.63 */
    PJRT_Buffer_Type_F4E2M1FN = 29,  /* 0.63 */
    PJRT_Buffer_Type_S1 = 30,        /* 0.94 */
    PJRT_Buffer_Type_U1 = 31,        /* 0.94 */
    PJRT_Buffer_Type_F6E2M3FN = 32,  /* 0.114 */
    PJRT_Buffer_Type_F6E3M2FN = 33,  /* 0.114 */
} PJRT_Buffer_Type;

/* What the plugin may do with the host data of PJRT_Client_BufferFromHostBuffer. */
typedef enum {
    /* Read it during the call only. */
    PJRT_HostBufferSemantics_kImmutableOnlyDuringCall = 0,
    /* Read it until done_with_host_buffer is ready. */
    PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes = 1,
    /* Let the buffer be the data, never write it; done_with_host_buffer is ready when the buffer
     * lets go of its memory. */
    PJRT_HostBufferSemantics_kImmutableZeroCopy = 2,
    /* As before, and write it, e.g. as a donated argument (0.48). */
    PJRT_HostBufferSemantics_kMutableZeroCopy = 3,
} PJRT_HostBufferSemantics;

typedef enum {
    PJRT_Buffer_MemoryLayout_Type_Tiled = 0,
    PJRT_Buffer_MemoryLayout_Type_Strides = 1,
} PJRT_Buffer_MemoryLayout_Type;

/* An order of dimensions, then tiles from the outside in. Row-major of rank 3 is {2, 1, 0} and
 * no tile. */
struct PJRT_Buffer_MemoryLayout_Tiled {
    PJRT_HEAD;
    const int64_t *minor_to_major; /* the logical dimension of each physical one, fastest first */
    size_t minor_to_major_size;
    const int64_t *tile_dims;     /* the dimensions of all tiles, one tile after the other */
    const size_t *tile_dim_sizes; /* [num_tiles]: how many of them belong to each tile */
    size_t num_tiles;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Buffer_MemoryLayout_Tiled, num_tiles);

/* Bytes from one element to the next along each dimension; may be 0 or negative (data then
 * points to element 0...0, which is not the lowest address). */
struct PJRT_Buffer_MemoryLayout_Strides {
    PJRT_HEAD;
    const int64_t *byte_strides;
    size_t num_byte_strides;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Buffer_MemoryLayout_Strides, num_byte_strides);

struct PJRT_Buffer_MemoryLayout {
    PJRT_HEAD;
    union {
        PJRT_Buffer_MemoryLayout_Tiled tiled;
        PJRT_Buffer_MemoryLayout_Strides strides;
    };
    PJRT_Buffer_MemoryLayout_Type type; /* which member of the union */
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Buffer_MemoryLayout, type);

/* A dense array: no layout, no device. */
struct PJRT_ShapeSpec {
    PJRT_HEAD;
    const int64_t *dims;
    size_t num_dims;
    PJRT_Buffer_Type element_type;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_ShapeSpec, element_type);


/* ---- Key-value store of a multi-process job, offered by the caller at client creation -------- */
/* Callbacks are thread-safe. A value is copied by the plugin and then ended with the deleter
 * that came with it. Without the option `num_nodes` callers leave all these fields
 * uninitialised: never judge them by being NULL. */

typedef void (*PJRT_KeyValueGetCallback_ValueDeleter)(char *value);

struct PJRT_KeyValueGetCallback_Args {
    PJRT_HEAD;
    const char *key;
    size_t key_size;
    int timeout_in_ms;
    PJRT_CallbackError *callback_error;
    void *user_arg;
    char *value;       /* out */
    size_t value_size; /* out */
    PJRT_KeyValueGetCallback_ValueDeleter value_deleter_callback; /* out */
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_KeyValueGetCallback_Args, value_deleter_callback);

/* Blocks until somebody has put the key, or the time is over. */
typedef PJRT_Error *(*PJRT_KeyValueGetCallback)(PJRT_KeyValueGetCallback_Args *args);

typedef void (*PJRT_KeyValueTryGetCallback_ValueDeleter)(char *value);

struct PJRT_KeyValueTryGetCallback_Args {
    PJRT_HEAD;
    const char *key;
    size_t key_size;
    PJRT_CallbackError *callback_error;
    void *user_arg;
    char *value;       /* out */
    size_t value_size; /* out */
    PJRT_KeyValueTryGetCallback_ValueDeleter value_deleter_callback; /* out */
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_KeyValueTryGetCallback_Args, value_deleter_callback);

/* NOT_FOUND at once if nobody has put the key yet. */
typedef PJRT_Error *(*PJRT_KeyValueTryGetCallback)(PJRT_KeyValueTryGetCallback_Args *args);

struct PJRT_KeyValuePutCallback_Args {
    PJRT_HEAD;
    const char *key;
    size_t key_size;
    const char *value; /* copied by the caller's store */
    size_t value_size;
    PJRT_CallbackError *callback_error;
    void *user_arg;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_KeyValuePutCallback_Args, user_arg);

typedef PJRT_Error *(*PJRT_KeyValuePutCallback)(PJRT_KeyValuePutCallback_Args *args);


/* ---- Client ---------------------------------------------------------------------------------- */

/* Opens the devices. An unknown option, or one of the wrong type, is INVALID_ARGUMENT. The
 * callbacks must work until the client ends. */
struct PJRT_Client_Create_Args {
    PJRT_HEAD;
    const PJRT_NamedValue *create_options;
    size_t num_options;
    PJRT_KeyValueGetCallback kv_get_callback;
    void *kv_get_user_arg;
    PJRT_KeyValuePutCallback kv_put_callback;
    void *kv_put_user_arg;
    PJRT_Client *client; /* out */
    PJRT_KeyValueTryGetCallback kv_try_get_callback; /* 0.61 */
    void *kv_try_get_user_arg;                       /* 0.61 */
};
PJRT_CALL(PJRT_Client_Create, kv_try_get_user_arg);

/* Buffers and executables must have been destroyed before. */
struct PJRT_Client_Destroy_Args { PJRT_HEAD; PJRT_Client *client; };
PJRT_CALL(PJRT_Client_Destroy, client);

/* The name by which frameworks choose lowering rules: "cpu", "cuda", "tpu", ... Lives with the
 * client. */
struct PJRT_Client_PlatformName_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    const char *platform_name; /* out */
    size_t platform_name_size; /* out */
};
PJRT_CALL(PJRT_Client_PlatformName, platform_name_size);

/* The number of this process in its job; 0 if alone. */
struct PJRT_Client_ProcessIndex_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    int process_index; /* out */
};
PJRT_CALL(PJRT_Client_ProcessIndex, process_index);

/* For people, and for cache keys. Lives with the client. */
struct PJRT_Client_PlatformVersion_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    const char *platform_version; /* out */
    size_t platform_version_size; /* out */
};
PJRT_CALL(PJRT_Client_PlatformVersion, platform_version_size);

/* The topology belongs to the client: it is not destroyed by the caller. */
struct PJRT_Client_TopologyDescription_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    PJRT_TopologyDescription *topology; /* out */
};
PJRT_CALL(PJRT_Client_TopologyDescription, topology);

/* All devices of the job, also those of other processes. They and the array live with the
 * client. */
struct PJRT_Client_Devices_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    PJRT_Device *const *devices; /* out */
    size_t num_devices;          /* out */
};
PJRT_CALL(PJRT_Client_Devices, num_devices);

/* Those that this process can use. */
struct PJRT_Client_AddressableDevices_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    PJRT_Device *const *addressable_devices; /* out */
    size_t num_addressable_devices;          /* out */
};
PJRT_CALL(PJRT_Client_AddressableDevices, num_addressable_devices);

/* By the id of its description; INVALID_ARGUMENT if there is none. */
struct PJRT_Client_LookupDevice_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    int id;
    PJRT_Device *device; /* out */
};
PJRT_CALL(PJRT_Client_LookupDevice, device);

/* By its local hardware id. */
struct PJRT_Client_LookupAddressableDevice_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    int local_hardware_id;
    PJRT_Device *addressable_device; /* out */
};
PJRT_CALL(PJRT_Client_LookupAddressableDevice, addressable_device);

/* All memories that this process can use. They and the array live with the client. */
struct PJRT_Client_AddressableMemories_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    PJRT_Memory *const *addressable_memories; /* out */
    size_t num_addressable_memories;          /* out */
};
PJRT_CALL(PJRT_Client_AddressableMemories, num_addressable_memories);

typedef enum {
    PJRT_ProcessState_kUnspecified = 0,
    PJRT_ProcessState_kUninitialized = 1,
    PJRT_ProcessState_kDisconnected = 2,
    PJRT_ProcessState_kConnected = 3,
    PJRT_ProcessState_kError = 4,
} PJRT_ProcessState;

struct PJRT_ProcessInfo {
    size_t struct_size;
    int task_id;
    uint64_t incarnation_id; /* new each time the task restarts */
    PJRT_ProcessState state;
    int error_code;            /* error fields: only in state kError */
    const char *error_message;
    size_t error_message_size;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_ProcessInfo, error_message_size);

/* News of the other processes; comes from a background thread until the client ends. */
struct PJRT_Client_UpdateGlobalProcessInfo_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    PJRT_ProcessInfo *process_infos;
    size_t num_process_infos;
};
PJRT_CALL(PJRT_Client_UpdateGlobalProcessInfo, num_process_infos);

/* A program in one of the formats "mlir" (bytecode or text), "hlo" (HloModuleProto),
 * "hlo_with_config". */
struct PJRT_Program {
    PJRT_HEAD;
    char *code; /* in; PJRT_Executable_OptimizedProgram fills it */
    size_t code_size;
    const char *format;
    size_t format_size;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Program, format_size);

/* Compiles for the devices of the client and loads. Options are a serialised
 * CompileOptionsProto. */
struct PJRT_Client_Compile_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    const PJRT_Program *program;
    const char *compile_options;
    size_t compile_options_size;
    PJRT_LoadedExecutable *executable; /* out */
};
PJRT_CALL(PJRT_Client_Compile, executable);

/* Loads an executable; each call gives an independent one. */
struct PJRT_Client_Load_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    PJRT_Executable *executable;
    const char *compile_options; /* CompileOptionsProto */
    size_t compile_options_size;
    PJRT_LoadedExecutable *loaded_executable; /* out */
};
PJRT_CALL(PJRT_Client_Load, loaded_executable);

/* Which device runs which replica and partition by default. */
struct PJRT_Client_DefaultDeviceAssignment_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    int num_replicas;
    int num_partitions;
    size_t default_assignment_size; /* room in ints: at least replicas * partitions */
    int *default_assignment;        /* filled: device ids, [replica][partition] */
};
PJRT_CALL(PJRT_Client_DefaultDeviceAssignment, default_assignment);

/* Makes host memory fit for fast transfers until it is unmapped. */
struct PJRT_Client_DmaMap_Args { PJRT_HEAD; PJRT_Client *client; void *data; size_t size; };
PJRT_CALL(PJRT_Client_DmaMap, size);

struct PJRT_Client_DmaUnmap_Args { PJRT_HEAD; PJRT_Client *client; void *data; };
PJRT_CALL(PJRT_Client_DmaUnmap, data);


/* ---- Making buffers -------------------------------------------------------------------------- */
/* Where both are asked for, `memory` wins over `device`; with memory NULL, the default memory of
 * the device is meant. */

/* Copies (or, by its semantics, takes over) an array in host memory. */
struct PJRT_Client_BufferFromHostBuffer_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    const void *data;
    PJRT_Buffer_Type type;
    const int64_t *dims;
    size_t num_dims;
    const int64_t *byte_strides; /* of `data`, as in MemoryLayout_Strides; NULL: dense row-major */
    size_t num_byte_strides;
    PJRT_HostBufferSemantics host_buffer_semantics;
    PJRT_Device *device;
    PJRT_Memory *memory;                     /* or NULL */
    PJRT_Buffer_MemoryLayout *device_layout; /* NULL: row-major */
    PJRT_Event *done_with_host_buffer; /* out: when the caller may change or free `data` */
    PJRT_Buffer *buffer;               /* out */
};
PJRT_CALL(PJRT_Client_BufferFromHostBuffer, buffer);

/* A buffer over memory of somebody else, on the device. It may be written, e.g. when it is
 * donated. */
struct PJRT_Client_CreateViewOfDeviceBuffer_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    void *device_buffer_ptr;
    const int64_t *dims;
    size_t num_dims;
    PJRT_Buffer_Type element_type;
    PJRT_Buffer_MemoryLayout *layout;
    PJRT_Device *device;
    /* NULL, or called once, after the last use. */
    void (*on_delete_callback)(void *device_buffer_ptr, void *user_arg);
    void *on_delete_callback_arg;
    intptr_t stream;     /* platform handle that orders the data's making before its use, or 0 */
    PJRT_Buffer *buffer; /* out */
    PJRT_Memory *memory; /* 0.66 */
};
PJRT_CALL(PJRT_Client_CreateViewOfDeviceBuffer, memory);

/* Memory with no defined content. */
struct PJRT_Client_CreateUninitializedBuffer_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    const int64_t *shape_dims;
    size_t shape_num_dims;
    PJRT_Buffer_Type shape_element_type;
    PJRT_Buffer_MemoryLayout *shape_layout;
    PJRT_Device *device;
    PJRT_Memory *memory; /* or NULL */
    PJRT_Buffer *buffer; /* out */
};
PJRT_CALL(PJRT_Client_CreateUninitializedBuffer, buffer);

/* A buffer that is an error from birth: its event and every program that uses it report the
 * given error. */
struct PJRT_Client_CreateErrorBuffer_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    PJRT_Error_Code error_code;
    const char *error_message;
    size_t error_message_size;
    const int64_t *shape_dims;
    size_t shape_num_dims;
    PJRT_Buffer_Type shape_element_type;
    PJRT_Buffer_MemoryLayout *shape_layout;
    PJRT_Memory *memory;
    PJRT_Buffer *buffer;            /* out */
    const PJRT_NamedValue *payload; /* 0.103: strings only */
    size_t num_payload;             /* 0.103 */
};
PJRT_CALL(PJRT_Client_CreateErrorBuffer, num_payload);

/* A buffer whose memory comes later, from the FulfillAliasBuffer that names the same callback. */
struct PJRT_Client_CreateAliasBuffer_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    PJRT_Memory *memory;
    const int64_t *shape_dims;
    size_t shape_num_dims;
    PJRT_Buffer_Type shape_element_type;
    PJRT_Buffer_MemoryLayout *shape_layout;
    PJRT_Buffer *alias_buffer;                                /* out */
    PJRT_FulfillAliasBufferCallback *fulfill_alias_buffer_cb; /* out: ends with its one use */
};
PJRT_CALL(PJRT_Client_CreateAliasBuffer, fulfill_alias_buffer_cb);

/* Makes the alias buffer be `buffer`, or the error. Once. */
struct PJRT_Client_FulfillAliasBuffer_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    PJRT_Buffer *buffer; /* only if status_code is OK */
    PJRT_Error_Code status_code;
    const char *error_message;
    size_t error_message_size;
    PJRT_FulfillAliasBufferCallback *fulfill_alias_buffer_cb;
};
PJRT_CALL(PJRT_Client_FulfillAliasBuffer, fulfill_alias_buffer_cb);

/* Several buffers whose data arrives piece by piece through a transfer manager. */
struct PJRT_Client_CreateBuffersForAsyncHostToDevice_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    PJRT_ShapeSpec *shape_specs; /* as with named values, steps by the struct_size of an element */
    size_t num_shape_specs;
    PJRT_Buffer_MemoryLayout **device_layouts; /* NULL, or one (or NULL) per shape */
    size_t num_device_layouts;
    PJRT_Memory *memory;
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager; /* out */
};
PJRT_CALL(PJRT_Client_CreateBuffersForAsyncHostToDevice, transfer_manager);


/* ---- Transfer manager ------------------------------------------------------------------------ */
/* `buffer_index` is the place in the shape_specs of its making. A buffer is ready when its last
 * transfer is done. */

struct PJRT_AsyncHostToDeviceTransferManager_Destroy_Args {
    PJRT_HEAD;
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
};
PJRT_CALL(PJRT_AsyncHostToDeviceTransferManager_Destroy, transfer_manager);

/* Copies bytes into a buffer, in its device layout. `data` must live until the event is ready. */
struct PJRT_AsyncHostToDeviceTransferManager_TransferData_Args {
    PJRT_HEAD;
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    int buffer_index;
    const void *data;
    int64_t offset;        /* bytes from the buffer's start */
    int64_t transfer_size; /* bytes */
    bool is_last_transfer;
    PJRT_Event *done_with_h2d_transfer; /* out */
};
PJRT_CALL(PJRT_AsyncHostToDeviceTransferManager_TransferData, done_with_h2d_transfer);

/* Copies a whole array of any layout into a buffer, which is its last transfer. */
struct PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args {
    PJRT_HEAD;
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    int buffer_index;
    const void *data;
    const int64_t *shape_dims;
    size_t shape_num_dims;
    PJRT_Buffer_Type shape_element_type;
    PJRT_Buffer_MemoryLayout *shape_layout;
    PJRT_Event *done_with_h2d_transfer; /* out */
};
PJRT_CALL(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, done_with_h2d_transfer);

/* Hands out a buffer, once, at any time; it need not be ready. */
struct PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args {
    PJRT_HEAD;
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    int buffer_index;
    PJRT_Buffer *buffer_out; /* out */
};
PJRT_CALL(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, buffer_out);

struct PJRT_AsyncHostToDeviceTransferManager_Device_Args {
    PJRT_HEAD;
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    PJRT_Device *device_out; /* out */
};
PJRT_CALL(PJRT_AsyncHostToDeviceTransferManager_Device, device_out);

struct PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args {
    PJRT_HEAD;
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    size_t buffer_count; /* out */
};
PJRT_CALL(PJRT_AsyncHostToDeviceTransferManager_BufferCount, buffer_count);

struct PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args {
    PJRT_HEAD;
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    int buffer_index;
    size_t buffer_size; /* out: bytes on the device */
};
PJRT_CALL(PJRT_AsyncHostToDeviceTransferManager_BufferSize, buffer_size);

/* Makes a buffer ready with an error instead of data. */
struct PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args {
    PJRT_HEAD;
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    int buffer_index;
    PJRT_Error_Code error_code;
    const char *error_message;
    size_t error_message_size;
};
PJRT_CALL(PJRT_AsyncHostToDeviceTransferManager_SetBufferError, error_message_size);

/* Words for traces and logs. */
struct PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args {
    PJRT_HEAD;
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
    const PJRT_NamedValue *transfer_metadata;
    size_t num_metadata;
};
PJRT_CALL(PJRT_AsyncHostToDeviceTransferManager_AddMetadata, num_metadata);


/* ---- Device descriptions: a device as a topology knows it, there or not ---------------------- */
/* A description lives with its client or topology, and all it returns lives with it. */

/* Unique in the job among devices of the platform. */
struct PJRT_DeviceDescription_Id_Args {
    PJRT_HEAD;
    PJRT_DeviceDescription *device_description;
    int id; /* out */
};
PJRT_CALL(PJRT_DeviceDescription_Id, id);

/* The process that can use the device. */
struct PJRT_DeviceDescription_ProcessIndex_Args {
    PJRT_HEAD;
    PJRT_DeviceDescription *device_description;
    int process_index; /* out */
};
PJRT_CALL(PJRT_DeviceDescription_ProcessIndex, process_index);

/* Callers take strings, int64 and int64 lists only. */
struct PJRT_DeviceDescription_Attributes_Args {
    PJRT_HEAD;
    PJRT_DeviceDescription *device_description;
    size_t num_attributes;             /* out */
    const PJRT_NamedValue *attributes; /* out */
};
PJRT_CALL(PJRT_DeviceDescription_Attributes, attributes);

/* The model, the same for all devices alike, e.g. "cpu". */
struct PJRT_DeviceDescription_Kind_Args {
    PJRT_HEAD;
    PJRT_DeviceDescription *device_description;
    const char *device_kind; /* out */
    size_t device_kind_size; /* out */
};
PJRT_CALL(PJRT_DeviceDescription_Kind, device_kind_size);

/* For logs: complete. */
struct PJRT_DeviceDescription_DebugString_Args {
    PJRT_HEAD;
    PJRT_DeviceDescription *device_description;
    const char *debug_string; /* out */
    size_t debug_string_size; /* out */
};
PJRT_CALL(PJRT_DeviceDescription_DebugString, debug_string_size);

/* For people: short, e.g. "CpuDevice(id=0)". */
struct PJRT_DeviceDescription_ToString_Args {
    PJRT_HEAD;
    PJRT_DeviceDescription *device_description;
    const char *to_string; /* out */
    size_t to_string_size; /* out */
};
PJRT_CALL(PJRT_DeviceDescription_ToString, to_string_size);


/* ---- Devices: live with their client, as does what they return ------------------------------- */

struct PJRT_Device_GetDescription_Args {
    PJRT_HEAD;
    PJRT_Device *device;
    PJRT_DeviceDescription *device_description; /* out */
};
PJRT_CALL(PJRT_Device_GetDescription, device_description);

/* Whether this process can use it. */
struct PJRT_Device_IsAddressable_Args {
    PJRT_HEAD;
    PJRT_Device *device;
    bool is_addressable; /* out */
};
PJRT_CALL(PJRT_Device_IsAddressable, is_addressable);

/* The number by which the machine knows it; -1 if none. */
struct PJRT_Device_LocalHardwareId_Args {
    PJRT_HEAD;
    PJRT_Device *device;
    int local_hardware_id; /* out */
};
PJRT_CALL(PJRT_Device_LocalHardwareId, local_hardware_id);

struct PJRT_Device_AddressableMemories_Args {
    PJRT_HEAD;
    PJRT_Device *device;
    PJRT_Memory *const *memories; /* out */
    size_t num_memories;          /* out */
};
PJRT_CALL(PJRT_Device_AddressableMemories, num_memories);

/* Where data of this device goes if nothing else is said. */
struct PJRT_Device_DefaultMemory_Args {
    PJRT_HEAD;
    PJRT_Device *device;
    PJRT_Memory *memory; /* out */
};
PJRT_CALL(PJRT_Device_DefaultMemory, memory);

/* In bytes unless the name says else; all out. A value counts only if its _is_set is true;
 * bytes_in_use always does. */
struct PJRT_Device_MemoryStats_Args {
    PJRT_HEAD;
    PJRT_Device *device;
    int64_t bytes_in_use;
    int64_t peak_bytes_in_use;        bool peak_bytes_in_use_is_set;
    int64_t num_allocs;               bool num_allocs_is_set;
    int64_t largest_alloc_size;       bool largest_alloc_size_is_set;
    int64_t bytes_limit;              bool bytes_limit_is_set;
    int64_t bytes_reserved;           bool bytes_reserved_is_set;
    int64_t peak_bytes_reserved;      bool peak_bytes_reserved_is_set;
    int64_t bytes_reservable_limit;   bool bytes_reservable_limit_is_set;
    int64_t largest_free_block_bytes; bool largest_free_block_bytes_is_set;
    int64_t pool_bytes;               bool pool_bytes_is_set; /* in use or kept for later */
    int64_t peak_pool_bytes;          bool peak_pool_bytes_is_set;
    int64_t peak_allocated_bytes;     bool peak_allocated_bytes_is_set; /* 0.113 */
};
PJRT_CALL(PJRT_Device_MemoryStats, peak_allocated_bytes_is_set);

/* Starts the peaks anew from what is in use. */
struct PJRT_Device_ClearMemoryStats_Args { PJRT_HEAD; PJRT_Device *device; };
PJRT_CALL(PJRT_Device_ClearMemoryStats, device);

/* Makes a launch that has not ended yet fail with the given error. */
struct PJRT_Device_PoisonExecution_Args {
    PJRT_HEAD;
    PJRT_Device *device;
    int32_t launch_id; /* as in the execute options */
    PJRT_Error_Code error_code;
    const char *error_message;
    size_t error_message_size;
    bool poisoned; /* out: whether there was such a launch */
    const PJRT_NamedValue *payload; /* 0.100: strings only */
    size_t num_payload;             /* 0.100 */
};
PJRT_CALL(PJRT_Device_PoisonExecution, num_payload);

/* Attributes that may change while the device runs. The caller calls the deleter (never NULL)
 * once. */
struct PJRT_Device_GetAttributes_Args {
    PJRT_HEAD;
    PJRT_Device *device;
    const PJRT_NamedValue *attributes;         /* out: lives until the deleter */
    size_t num_attributes;                     /* out */
    PJRT_Device_Attributes *device_attributes; /* out: holds them */
    void (*attributes_deleter)(PJRT_Device_Attributes *device_attributes); /* out */
};
PJRT_CALL(PJRT_Device_GetAttributes, attributes_deleter);

/* Names work of the caller that the device waits for; the work is over when the event is
 * destroyed. */
struct PJRT_Device_CreateAsyncTrackingEvent_Args {
    PJRT_HEAD;
    PJRT_Device *device;
    const char *description;
    size_t description_size;
    PJRT_AsyncTrackingEvent *event; /* out */
};
PJRT_CALL(PJRT_Device_CreateAsyncTrackingEvent, event);

struct PJRT_AsyncTrackingEvent_Destroy_Args { PJRT_HEAD; PJRT_AsyncTrackingEvent *event; };
PJRT_CALL(PJRT_AsyncTrackingEvent_Destroy, event);


/* ---- Memories: live with their client, as does what they return ------------------------------ */

/* Unique among the memories of the platform. */
struct PJRT_Memory_Id_Args { PJRT_HEAD; PJRT_Memory *memory; int id; /* out */ };
PJRT_CALL(PJRT_Memory_Id, id);

/* "device", "pinned_host", "unpinned_host", ... */
struct PJRT_Memory_Kind_Args {
    PJRT_HEAD;
    PJRT_Memory *memory;
    const char *kind; /* out */
    size_t kind_size; /* out */
};
PJRT_CALL(PJRT_Memory_Kind, kind_size);

/* A number that says the same as the kind. */
struct PJRT_Memory_Kind_Id_Args { PJRT_HEAD; PJRT_Memory *memory; int kind_id; /* out */ };
PJRT_CALL(PJRT_Memory_Kind_Id, kind_id);

struct PJRT_Memory_DebugString_Args {
    PJRT_HEAD;
    PJRT_Memory *memory;
    const char *debug_string; /* out */
    size_t debug_string_size; /* out */
};
PJRT_CALL(PJRT_Memory_DebugString, debug_string_size);

struct PJRT_Memory_ToString_Args {
    PJRT_HEAD;
    PJRT_Memory *memory;
    const char *to_string; /* out */
    size_t to_string_size; /* out */
};
PJRT_CALL(PJRT_Memory_ToString, to_string_size);

/* The devices that can use it. */
struct PJRT_Memory_AddressableByDevices_Args {
    PJRT_HEAD;
    PJRT_Memory *memory;
    PJRT_Device *const *devices; /* out */
    size_t num_devices;          /* out */
};
PJRT_CALL(PJRT_Memory_AddressableByDevices, num_devices);


/* ---- Executables ----------------------------------------------------------------------------- */
/* What a getter returns lives with the executable. */

struct PJRT_Executable_Destroy_Args { PJRT_HEAD; PJRT_Executable *executable; };
PJRT_CALL(PJRT_Executable_Destroy, executable);

struct PJRT_Executable_Name_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    const char *executable_name; /* out */
    size_t executable_name_size; /* out */
};
PJRT_CALL(PJRT_Executable_Name, executable_name_size);

struct PJRT_Executable_NumReplicas_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    size_t num_replicas; /* out */
};
PJRT_CALL(PJRT_Executable_NumReplicas, num_replicas);

struct PJRT_Executable_NumPartitions_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    size_t num_partitions; /* out */
};
PJRT_CALL(PJRT_Executable_NumPartitions, num_partitions);

/* Outputs of one device. */
struct PJRT_Executable_NumOutputs_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    size_t num_outputs; /* out */
};
PJRT_CALL(PJRT_Executable_NumOutputs, num_outputs);

struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    int64_t size_in_bytes; /* out */
};
PJRT_CALL(PJRT_Executable_SizeOfGeneratedCodeInBytes, size_in_bytes);

/* Equal for equal programs, options and compiler; otherwise different. */
struct PJRT_Executable_Fingerprint_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    const char *executable_fingerprint; /* out */
    size_t executable_fingerprint_size; /* out */
};
PJRT_CALL(PJRT_Executable_Fingerprint, executable_fingerprint_size);

/* Estimates such as "flops" and "bytes accessed". */
struct PJRT_Executable_GetCostAnalysis_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    size_t num_properties;             /* out */
    const PJRT_NamedValue *properties; /* out */
};
PJRT_CALL(PJRT_Executable_GetCostAnalysis, properties);

/* What a run needs, known before the run, in bytes; all out. */
struct PJRT_Executable_GetCompiledMemoryStats_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    int64_t generated_code_size_in_bytes; /* device memory */
    int64_t argument_size_in_bytes;
    int64_t output_size_in_bytes;
    int64_t alias_size_in_bytes; /* part of the arguments that outputs reuse */
    int64_t temp_size_in_bytes;
    int64_t host_generated_code_size_in_bytes; /* 0.43: host memory */
    int64_t host_argument_size_in_bytes;
    int64_t host_output_size_in_bytes;
    int64_t host_alias_size_in_bytes;
    int64_t host_temp_size_in_bytes;
    int64_t peak_memory_in_bytes; /* 0.72: device memory again */
    int64_t total_size_in_bytes;  /* 0.90 */
    int64_t total_allocation_bytes;   /* 0.104 */
    int64_t indefinite_allocations;   /* 0.104 */
    int64_t peak_unpadded_heap_bytes; /* 0.104 */
};
PJRT_CALL(PJRT_Executable_GetCompiledMemoryStats, peak_unpadded_heap_bytes);

struct PJRT_Executable_OutputElementTypes_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    PJRT_Buffer_Type *output_types; /* out */
    size_t num_output_types;        /* out */
};
PJRT_CALL(PJRT_Executable_OutputElementTypes, num_output_types);

struct PJRT_Executable_OutputDimensions_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    size_t num_outputs;      /* out */
    const int64_t *dims;     /* out: the dimensions of all outputs, one output after the other */
    const size_t *dim_sizes; /* out: [num_outputs], the rank of each */
};
PJRT_CALL(PJRT_Executable_OutputDimensions, dim_sizes);

struct PJRT_Executable_ParameterMemoryKinds_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    size_t num_parameters;           /* out */
    const char *const *memory_kinds; /* out: [num_parameters] */
    const size_t *memory_kind_sizes; /* out: [num_parameters] */
};
PJRT_CALL(PJRT_Executable_ParameterMemoryKinds, memory_kind_sizes);

struct PJRT_Executable_OutputMemoryKinds_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    size_t num_outputs;              /* out */
    const char *const *memory_kinds; /* out: [num_outputs] */
    const size_t *memory_kind_sizes; /* out: [num_outputs] */
};
PJRT_CALL(PJRT_Executable_OutputMemoryKinds, memory_kind_sizes);

/* The program after the compiler's work. Called twice: with program->code NULL it sets
 * code_size, format and format_size (the format lives with the executable); then it fills the
 * caller's `code` of that size. */
struct PJRT_Executable_OptimizedProgram_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    PJRT_Program *program; /* in and out */
};
PJRT_CALL(PJRT_Executable_OptimizedProgram, program);

/* Bytes that the same plugin can load again. The caller calls the deleter once. */
struct PJRT_Executable_Serialize_Args {
    PJRT_HEAD;
    const PJRT_Executable *executable;
    const char *serialized_bytes;                     /* out: lives until the deleter */
    size_t serialized_bytes_size;                     /* out */
    PJRT_SerializedExecutable *serialized_executable; /* out: holds them */
    void (*serialized_executable_deleter)(PJRT_SerializedExecutable *exec); /* out */
};
PJRT_CALL(PJRT_Executable_Serialize, serialized_executable_deleter);

/* The CompileOptionsProto it was compiled with. The caller calls the deleter once. */
struct PJRT_Executable_GetCompileOptions_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    const char *serialized_bytes;                              /* out: lives until the deleter */
    size_t serialized_bytes_size;                              /* out */
    PJRT_SerializedCompileOptions *serialized_compile_options; /* out: holds them */
    void (*serialized_compile_options_deleter)(PJRT_SerializedCompileOptions *options); /* out */
};
PJRT_CALL(PJRT_Executable_GetCompileOptions, serialized_compile_options_deleter);

struct PJRT_LoadOptions {
    size_t struct_size;
    const int32_t *computation_origin;
    size_t computation_origin_size;
    PJRT_MultiSlice_Config *multi_slice_config;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_LoadOptions, multi_slice_config);

struct PJRT_Executable_DeserializeAndLoad_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    const char *serialized_executable; /* from PJRT_Executable_Serialize */
    size_t serialized_executable_size;
    PJRT_LoadedExecutable *loaded_executable; /* out */
    /* 0.71: a CompileOptionsProto, or NULL for the options in the bytes. */
    const char *overridden_serialized_compile_options;
    size_t overridden_serialized_compile_options_size;
    PJRT_LoadOptions *load_options; /* 0.111: or NULL */
};
PJRT_CALL(PJRT_Executable_DeserializeAndLoad, load_options);

/* Compiles for a topology, without devices. */
struct PJRT_Compile_Args {
    PJRT_HEAD;
    const PJRT_TopologyDescription *topology;
    const PJRT_Program *program;
    const char *compile_options; /* CompileOptionsProto */
    size_t compile_options_size;
    PJRT_Client *client;         /* or NULL */
    PJRT_Executable *executable; /* out */
};
PJRT_CALL(PJRT_Compile, executable);


/* ---- Loaded executables and their runs ------------------------------------------------------- */

/* Runs that have begun go on. */
struct PJRT_LoadedExecutable_Destroy_Args { PJRT_HEAD; PJRT_LoadedExecutable *executable; };
PJRT_CALL(PJRT_LoadedExecutable_Destroy, executable);

/* A new executable each time, which may outlive the loaded one. */
struct PJRT_LoadedExecutable_GetExecutable_Args {
    PJRT_HEAD;
    PJRT_LoadedExecutable *loaded_executable;
    PJRT_Executable *executable; /* out */
};
PJRT_CALL(PJRT_LoadedExecutable_GetExecutable, executable);

/* A DeviceAssignmentProto; no bytes: bound to no device. The caller calls the deleter once, even
 * then. */
struct PJRT_LoadedExecutable_GetDeviceAssignment_Args {
    PJRT_HEAD;
    PJRT_LoadedExecutable *executable;
    const char *serialized_bytes; /* out: lives until the deleter */
    size_t serialized_bytes_size; /* out */
    PJRT_DeviceAssignmentSerialized *serialized_device_assignment; /* out: holds them */
    void (*serialized_device_assignment_deleter)(PJRT_DeviceAssignmentSerialized *da); /* out */
};
PJRT_CALL(PJRT_LoadedExecutable_GetDeviceAssignment, serialized_device_assignment_deleter);

/* The devices of this process that it runs on, in the order of the argument lists. Lives with
 * the executable. */
struct PJRT_LoadedExecutable_AddressableDevices_Args {
    PJRT_HEAD;
    PJRT_LoadedExecutable *executable;
    PJRT_Device *const *addressable_devices; /* out */
    size_t num_addressable_devices;          /* out */
};
PJRT_CALL(PJRT_LoadedExecutable_AddressableDevices, num_addressable_devices);

struct PJRT_LogicalDeviceIds { int replica; int partition; };
typedef struct PJRT_LogicalDeviceIds PJRT_LogicalDeviceIds;

/* What each of them runs, in the same order. Lives with the executable. */
struct PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args {
    PJRT_HEAD;
    PJRT_LoadedExecutable *executable;
    PJRT_LogicalDeviceIds *addressable_device_logical_ids; /* out */
    size_t num_addressable_device_logical_ids;             /* out */
};
PJRT_CALL(PJRT_LoadedExecutable_AddressableDeviceLogicalIds, num_addressable_device_logical_ids);

/* Lets go of what it holds; only IsDeleted and Destroy make sense afterwards. Runs that have
 * begun go on. */
struct PJRT_LoadedExecutable_Delete_Args { PJRT_HEAD; PJRT_LoadedExecutable *executable; };
PJRT_CALL(PJRT_LoadedExecutable_Delete, executable);

struct PJRT_LoadedExecutable_IsDeleted_Args {
    PJRT_HEAD;
    PJRT_LoadedExecutable *executable;
    bool is_deleted; /* out */
};
PJRT_CALL(PJRT_LoadedExecutable_IsDeleted, is_deleted);

/* Deprecated since 0.35 for PJRT_Executable_Fingerprint. */
struct PJRT_LoadedExecutable_Fingerprint_Args {
    PJRT_HEAD;
    PJRT_LoadedExecutable *executable;
    const char *executable_fingerprint; /* out */
    size_t executable_fingerprint_size; /* out */
};
PJRT_CALL(PJRT_LoadedExecutable_Fingerprint, executable_fingerprint_size);

/* A piece of data with the way to free it: deleter(data, deleter_arg), once, by whoever receives
 * the chunk. */
typedef struct PJRT_Chunk {
    void *data;
    size_t size;
    void (*deleter)(void *data, void *deleter_arg);
    void *deleter_arg;
} PJRT_Chunk;

/* The program sends data to the host: owns the chunk. Returns NULL or an error made with
 * `callback_error`. */
typedef PJRT_Error *(*PJRT_SendCallback)(PJRT_Chunk *chunk, PJRT_CallbackError *callback_error,
                                         size_t total_size_in_bytes, bool done, void *user_arg);

/* The program receives data from the host: owns the stream, fills it, destroys it. */
typedef void (*PJRT_RecvCallback)(PJRT_CopyToDeviceStream *stream, void *user_arg);

/* Arrays of the next three step by sizeof. */
struct PJRT_SendCallbackInfo {
    int64_t channel_id;
    void *user_arg;
    PJRT_SendCallback send_callback;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_SendCallbackInfo, send_callback);

struct PJRT_RecvCallbackInfo {
    int64_t channel_id;
    void *user_arg;
    PJRT_RecvCallback recv_callback;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_RecvCallbackInfo, recv_callback);

/* Shows the host one operand of an output op of the program; `data` lives during the call only. */
typedef void (*PJRT_HloOutputCallback)(int64_t replica_id, int64_t partition_id, const void *data,
                                       const int64_t *shape_dims, size_t shape_num_dims,
                                       PJRT_Buffer_Type shape_element_type, int64_t operand_index,
                                       void *user_arg);

struct PJRT_HloOutputCallbackInfo {
    void *user_arg;
    PJRT_HloOutputCallback callback;
    int64_t callback_id;
    size_t num_operands;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_HloOutputCallbackInfo, num_operands);

/* Needs to live during the call only, except for the functions behind the callbacks, which must
 * work until the run has ended. */
struct PJRT_ExecuteOptions {
    PJRT_HEAD;
    PJRT_SendCallbackInfo **send_callbacks; /* [num_devices][num_send_ops] */
    PJRT_RecvCallbackInfo **recv_callbacks; /* [num_devices][num_recv_ops] */
    size_t num_send_ops;
    size_t num_recv_ops;
    int launch_id; /* not 0: equal on all devices and processes of one launch */
    const int64_t *non_donatable_input_indices; /* 0.39: arguments not to take, donated or not */
    size_t num_non_donatable_input_indices;     /* 0.39 */
    PJRT_ExecuteContext *context;               /* 0.64: or NULL */
    const char *call_location;                  /* 0.76: in the user's source, with NUL; or NULL */
    size_t num_tasks;                           /* 0.78: the incarnation meant of each task */
    int *task_ids;                              /* 0.78: [num_tasks] */
    int64_t *incarnation_ids;                   /* 0.78: [num_tasks] */
    PJRT_MultiSlice_Config *multi_slice_config; /* 0.97: or NULL */
    bool use_major_to_minor_data_layout_for_callbacks; /* 0.108: callbacks see row-major data */
    PJRT_HloOutputCallbackInfo *hlo_output_callbacks;  /* 0.112 */
    size_t num_hlo_output_callbacks;                   /* 0.112 */
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_ExecuteOptions, num_hlo_output_callbacks);

/* Starts a run and returns; its failure shows in the events, not here. Outputs may be used at
 * once. Donated arguments are deleted on return. On an error return no output and no event has
 * been written. */
struct PJRT_LoadedExecutable_Execute_Args {
    PJRT_HEAD;
    PJRT_LoadedExecutable *executable;
    PJRT_ExecuteOptions *options;
    PJRT_Buffer *const *const *argument_lists; /* [num_devices][num_args] */
    size_t num_devices;
    size_t num_args;
    PJRT_Buffer **const *output_lists; /* [num_devices][outputs]: the caller's room, filled */
    PJRT_Event **device_complete_events; /* NULL, or [num_devices]: the same */
    PJRT_Device *execute_device; /* NULL: those of the assignment; else it alone, num_devices 1 */
};
PJRT_CALL(PJRT_LoadedExecutable_Execute, execute_device);

/* Carries user data of FFI handlers into a run. May be destroyed as soon as Execute has
 * returned. */
struct PJRT_ExecuteContext_Create_Args { PJRT_HEAD; PJRT_ExecuteContext *context; /* out */ };
PJRT_CALL(PJRT_ExecuteContext_Create, context);

struct PJRT_ExecuteContext_Destroy_Args { PJRT_HEAD; PJRT_ExecuteContext *context; };
PJRT_CALL(PJRT_ExecuteContext_Destroy, context);


/* ---- Buffers --------------------------------------------------------------------------------- */
/* What a getter returns lives with the buffer. Getters of type, shape, place and size work on
 * deleted buffers too. */

/* Deletes and frees. Work in flight goes on. */
struct PJRT_Buffer_Destroy_Args { PJRT_HEAD; PJRT_Buffer *buffer; };
PJRT_CALL(PJRT_Buffer_Destroy, buffer);

struct PJRT_Buffer_ElementType_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer;
    PJRT_Buffer_Type type; /* out */
};
PJRT_CALL(PJRT_Buffer_ElementType, type);

struct PJRT_Buffer_Dimensions_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer;
    const int64_t *dims; /* out */
    size_t num_dims;     /* out */
};
PJRT_CALL(PJRT_Buffer_Dimensions, num_dims);

/* As Dimensions, with the present size of those that are dynamic. */
struct PJRT_Buffer_UnpaddedDimensions_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer;
    const int64_t *unpadded_dims; /* out */
    size_t num_dims;              /* out */
};
PJRT_CALL(PJRT_Buffer_UnpaddedDimensions, num_dims);

struct PJRT_Buffer_DynamicDimensionIndices_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer;
    const size_t *dynamic_dim_indices; /* out */
    size_t num_dynamic_dims;           /* out */
};
PJRT_CALL(PJRT_Buffer_DynamicDimensionIndices, num_dynamic_dims);

/* Deprecated since 0.54 for the layouts extension. */
struct PJRT_Buffer_GetMemoryLayout_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer;
    PJRT_Buffer_MemoryLayout layout; /* out */
};
PJRT_CALL(PJRT_Buffer_GetMemoryLayout, layout);

struct PJRT_Buffer_OnDeviceSizeInBytes_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer;
    size_t on_device_size_in_bytes; /* out */
};
PJRT_CALL(PJRT_Buffer_OnDeviceSizeInBytes, on_device_size_in_bytes);

struct PJRT_Buffer_Device_Args { PJRT_HEAD; PJRT_Buffer *buffer; PJRT_Device *device; /* out */ };
PJRT_CALL(PJRT_Buffer_Device, device);

struct PJRT_Buffer_Memory_Args { PJRT_HEAD; PJRT_Buffer *buffer; PJRT_Memory *memory; /* out */ };
PJRT_CALL(PJRT_Buffer_Memory, memory);

/* Lets go of the memory once work in flight has ended. Twice is fine. */
struct PJRT_Buffer_Delete_Args { PJRT_HEAD; PJRT_Buffer *buffer; };
PJRT_CALL(PJRT_Buffer_Delete, buffer);

/* Deleted or donated. */
struct PJRT_Buffer_IsDeleted_Args { PJRT_HEAD; PJRT_Buffer *buffer; bool is_deleted; /* out */ };
PJRT_CALL(PJRT_Buffer_IsDeleted, is_deleted);

/* Copies to another device of the client, into its default memory. */
struct PJRT_Buffer_CopyToDevice_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer;
    PJRT_Device *dst_device;
    PJRT_Buffer *dst_buffer; /* out */
};
PJRT_CALL(PJRT_Buffer_CopyToDevice, dst_buffer);

/* Copies to any memory of the client. */
struct PJRT_Buffer_CopyToMemory_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer;
    PJRT_Memory *dst_memory;
    PJRT_Buffer *dst_buffer; /* out */
};
PJRT_CALL(PJRT_Buffer_CopyToMemory, dst_buffer);

/* Copies the array to host memory. */
struct PJRT_Buffer_ToHostBuffer_Args {
    PJRT_HEAD;
    PJRT_Buffer *src;
    PJRT_Buffer_MemoryLayout *host_layout; /* NULL: that of the buffer */
    void *dst;         /* must live until the event is ready; NULL: only asks for dst_size */
    size_t dst_size;   /* in: room in bytes; out if dst is NULL: bytes needed */
    PJRT_Event *event; /* out: NULL if dst is NULL */
};
PJRT_CALL(PJRT_Buffer_ToHostBuffer, event);

/* Copies bytes as they lie on the device. */
struct PJRT_Buffer_CopyRawToHost_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer;
    void *dst;             /* must live until the event is ready */
    int64_t offset;        /* bytes from the buffer's start */
    int64_t transfer_size; /* bytes */
    PJRT_Event *event;     /* out */
};
PJRT_CALL(PJRT_Buffer_CopyRawToHost, event);

struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
    size_t struct_size;
    void *callback_data; /* as CopyRawToHostFuture returned it */
    PJRT_Error_Code error_code;
    const char *error_message; /* only if error_code is not OK */
    size_t error_message_size;
    void *dst; /* only if error_code is OK */
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Buffer_CopyRawToHostFuture_Callback_Args, dst);

/* As before, to a place that the caller names later by calling the returned callback, once. */
struct PJRT_Buffer_CopyRawToHostFuture_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer;
    int64_t offset;
    int64_t transfer_size;
    PJRT_Event *event;   /* out: the copy has ended */
    void *callback_data; /* out */
    void (*future_ready_callback)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args *args); /* out */
};
PJRT_CALL(PJRT_Buffer_CopyRawToHostFuture, future_ready_callback);

/* The same memory seen as another type or shape. */
struct PJRT_Buffer_Bitcast_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer;
    PJRT_Buffer_Type element_type;
    const int64_t *dims;
    size_t num_dims;
    PJRT_Buffer_MemoryLayout *device_layout; /* NULL: the default one, not that of `buffer` */
    PJRT_Buffer *out_buffer;                 /* out */
};
PJRT_CALL(PJRT_Buffer_Bitcast, out_buffer);

/* True promises that the host can read the memory in the layout that the buffer reports. */
struct PJRT_Buffer_IsOnCpu_Args { PJRT_HEAD; PJRT_Buffer *buffer; bool is_on_cpu; /* out */ };
PJRT_CALL(PJRT_Buffer_IsOnCpu, is_on_cpu);

/* A new event each time: the content is there, or an error is. Deleted or donated: ready, with
 * an error. */
struct PJRT_Buffer_ReadyEvent_Args { PJRT_HEAD; PJRT_Buffer *buffer; PJRT_Event *event; /* out */ };
PJRT_CALL(PJRT_Buffer_ReadyEvent, event);

/* An address with a meaning of the platform's own; not to be followed. */
struct PJRT_Buffer_UnsafePointer_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer;
    uintptr_t buffer_pointer; /* out */
};
PJRT_CALL(PJRT_Buffer_UnsafePointer, buffer_pointer);

/* While the count is above 0 the memory stays, even if the buffer is deleted, and is not
 * written. */
struct PJRT_Buffer_IncreaseExternalReferenceCount_Args { PJRT_HEAD; PJRT_Buffer *buffer; };
PJRT_CALL(PJRT_Buffer_IncreaseExternalReferenceCount, buffer);

/* INVALID_ARGUMENT at 0. */
struct PJRT_Buffer_DecreaseExternalReferenceCount_Args { PJRT_HEAD; PJRT_Buffer *buffer; };
PJRT_CALL(PJRT_Buffer_DecreaseExternalReferenceCount, buffer);

/* The address of the memory; good while an external reference is held. May be NULL for an array
 * without elements. */
struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer;
    void *device_memory_ptr; /* out */
};
PJRT_CALL(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, device_memory_ptr);

struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
    size_t struct_size;
    void *callback_data; /* as DonateWithControlDependency returned it */
    PJRT_Error_Code error_code;
    const char *error_message;
    size_t error_message_size;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Buffer_DonateWithControlDependency_Callback_Args,
                          error_message_size);

/* Moves the memory into a new buffer that is ready only after the caller has called the returned
 * callback, once. */
struct PJRT_Buffer_DonateWithControlDependency_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer; /* deleted on return */
    void *callback_data; /* out */
    void (*dependency_ready_callback)(
        PJRT_Buffer_DonateWithControlDependency_Callback_Args *args); /* out */
    PJRT_Buffer *out_buffer; /* out */
};
PJRT_CALL(PJRT_Buffer_DonateWithControlDependency, out_buffer);


/* ---- Copy-to-device streams: how a receive callback hands over its data ---------------------- */

struct PJRT_CopyToDeviceStream_Destroy_Args { PJRT_HEAD; PJRT_CopyToDeviceStream *stream; };
PJRT_CALL(PJRT_CopyToDeviceStream_Destroy, stream);

/* Takes the chunk. Its size must be a multiple of the granule and fit into what is still
 * expected. */
struct PJRT_CopyToDeviceStream_AddChunk_Args {
    PJRT_HEAD;
    PJRT_CopyToDeviceStream *stream;
    PJRT_Chunk *chunk;
    PJRT_Event *transfer_complete; /* out: never NULL */
};
PJRT_CALL(PJRT_CopyToDeviceStream_AddChunk, transfer_complete);

/* All bytes that are expected. */
struct PJRT_CopyToDeviceStream_TotalBytes_Args {
    PJRT_HEAD;
    PJRT_CopyToDeviceStream *stream;
    int64_t total_bytes; /* out */
};
PJRT_CALL(PJRT_CopyToDeviceStream_TotalBytes, total_bytes);

struct PJRT_CopyToDeviceStream_GranuleSize_Args {
    PJRT_HEAD;
    PJRT_CopyToDeviceStream *stream;
    int64_t granule_size_in_bytes; /* out */
};
PJRT_CALL(PJRT_CopyToDeviceStream_GranuleSize, granule_size_in_bytes);

/* Bytes taken so far. */
struct PJRT_CopyToDeviceStream_CurrentBytes_Args {
    PJRT_HEAD;
    PJRT_CopyToDeviceStream *stream;
    int64_t current_bytes; /* out */
};
PJRT_CALL(PJRT_CopyToDeviceStream_CurrentBytes, current_bytes);


/* ---- Topologies: what to compile for, with or without devices -------------------------------- */
/* What a getter returns lives with the topology. */

struct PJRT_TopologyDescription_Create_Args {
    PJRT_HEAD;
    const char *topology_name;
    size_t topology_name_size;
    const PJRT_NamedValue *create_options;
    size_t num_options;
    PJRT_TopologyDescription *topology; /* out */
};
PJRT_CALL(PJRT_TopologyDescription_Create, topology);

struct PJRT_TopologyDescription_Destroy_Args { PJRT_HEAD; PJRT_TopologyDescription *topology; };
PJRT_CALL(PJRT_TopologyDescription_Destroy, topology);

struct PJRT_TopologyDescription_PlatformName_Args {
    PJRT_HEAD;
    const PJRT_TopologyDescription *topology;
    const char *platform_name; /* out */
    size_t platform_name_size; /* out */
};
PJRT_CALL(PJRT_TopologyDescription_PlatformName, platform_name_size);

struct PJRT_TopologyDescription_PlatformVersion_Args {
    PJRT_HEAD;
    PJRT_TopologyDescription *topology;
    const char *platform_version; /* out */
    size_t platform_version_size; /* out */
};
PJRT_CALL(PJRT_TopologyDescription_PlatformVersion, platform_version_size);

/* In the same order each time. */
struct PJRT_TopologyDescription_GetDeviceDescriptions_Args {
    PJRT_HEAD;
    const PJRT_TopologyDescription *topology;
    PJRT_DeviceDescription *const *descriptions; /* out */
    size_t num_descriptions;                     /* out */
};
PJRT_CALL(PJRT_TopologyDescription_GetDeviceDescriptions, num_descriptions);

/* The caller calls the deleter once. */
struct PJRT_TopologyDescription_Serialize_Args {
    PJRT_HEAD;
    PJRT_TopologyDescription *topology;
    const char *serialized_bytes;                 /* out: lives until the deleter */
    size_t serialized_bytes_size;                 /* out */
    PJRT_SerializedTopology *serialized_topology; /* out: holds them */
    void (*serialized_topology_deleter)(PJRT_SerializedTopology *serialized_topology); /* out */
};
PJRT_CALL(PJRT_TopologyDescription_Serialize, serialized_topology_deleter);

struct PJRT_TopologyDescription_Deserialize_Args {
    PJRT_HEAD;
    const char *serialized_topology;
    size_t serialized_topology_size;
    PJRT_TopologyDescription *topology; /* out */
};
PJRT_CALL(PJRT_TopologyDescription_Deserialize, topology);

struct PJRT_TopologyDescription_Attributes_Args {
    PJRT_HEAD;
    PJRT_TopologyDescription *topology;
    const PJRT_NamedValue *attributes; /* out */
    size_t num_attributes;             /* out */
};
PJRT_CALL(PJRT_TopologyDescription_Attributes, num_attributes);

/* Equal in every process for equal topologies. */
struct PJRT_TopologyDescription_Fingerprint_Args {
    PJRT_HEAD;
    const PJRT_TopologyDescription *topology;
    uint64_t fingerprint; /* out */
};
PJRT_CALL(PJRT_TopologyDescription_Fingerprint, fingerprint);

/* The form that an array takes in a memory, as a serialised ShapeProto. The caller calls the
 * deleter once. */
struct PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args {
    PJRT_HEAD;
    const PJRT_TopologyDescription *topology;
    int memory_space_kind_id;
    const int64_t *dims;
    size_t num_dims;
    PJRT_Buffer_Type element_type;
    const PJRT_Buffer_MemoryLayout *layout; /* or NULL */
    const char *serialized_shape; /* out */
    size_t serialized_shape_size; /* out */
    void (*serialized_shape_deleter)(const char *serialized_shape); /* out */
};
PJRT_CALL(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, serialized_shape_deleter);

struct PJRT_TopologyDescription_GetMemorySpaceKindIds_Args {
    PJRT_HEAD;
    const PJRT_TopologyDescription *topology;
    const int *memory_space_kind_ids; /* out */
    size_t num_memory_space_kind_ids; /* out */
};
PJRT_CALL(PJRT_TopologyDescription_GetMemorySpaceKindIds, num_memory_space_kind_ids);


/* ---- The table ------------------------------------------------------------------------------- */

/* X(name, minor version that added it; 28 stands for all before 0.29), in the order of the
 * table. */
#define PJRT_API_SLOTS(X)                                           \
    X(PJRT_Error_Destroy, 28)                                       \
    X(PJRT_Error_Message, 28)                                       \
    X(PJRT_Error_GetCode, 28)                                       \
    X(PJRT_Plugin_Initialize, 28)                                   \
    X(PJRT_Plugin_Attributes, 28)                                   \
    X(PJRT_Event_Destroy, 28)                                       \
    X(PJRT_Event_IsReady, 28)                                       \
    X(PJRT_Event_Error, 28)                                         \
    X(PJRT_Event_Await, 28)                                         \
    X(PJRT_Event_OnReady, 28)                                       \
    X(PJRT_Client_Create, 28)                                       \
    X(PJRT_Client_Destroy, 28)                                      \
    X(PJRT_Client_PlatformName, 28)                                 \
    X(PJRT_Client_ProcessIndex, 28)                                 \
    X(PJRT_Client_PlatformVersion, 28)                              \
    X(PJRT_Client_Devices, 28)                                      \
    X(PJRT_Client_AddressableDevices, 28)                           \
    X(PJRT_Client_LookupDevice, 28)                                 \
    X(PJRT_Client_LookupAddressableDevice, 28)                      \
    X(PJRT_Client_AddressableMemories, 28)                          \
    X(PJRT_Client_Compile, 28)                                      \
    X(PJRT_Client_DefaultDeviceAssignment, 28)                      \
    X(PJRT_Client_BufferFromHostBuffer, 28)                         \
    X(PJRT_DeviceDescription_Id, 28)                                \
    X(PJRT_DeviceDescription_ProcessIndex, 28)                      \
    X(PJRT_DeviceDescription_Attributes, 28)                        \
    X(PJRT_DeviceDescription_Kind, 28)                              \
    X(PJRT_DeviceDescription_DebugString, 28)                       \
    X(PJRT_DeviceDescription_ToString, 28)                          \
    X(PJRT_Device_GetDescription, 28)                               \
    X(PJRT_Device_IsAddressable, 28)                                \
    X(PJRT_Device_LocalHardwareId, 28)                              \
    X(PJRT_Device_AddressableMemories, 28)                          \
    X(PJRT_Device_DefaultMemory, 28)                                \
    X(PJRT_Device_MemoryStats, 28)                                  \
    X(PJRT_Memory_Id, 28)                                           \
    X(PJRT_Memory_Kind, 28)                                         \
    X(PJRT_Memory_DebugString, 28)                                  \
    X(PJRT_Memory_ToString, 28)                                     \
    X(PJRT_Memory_AddressableByDevices, 28)                         \
    X(PJRT_Executable_Destroy, 28)                                  \
    X(PJRT_Executable_Name, 28)                                     \
    X(PJRT_Executable_NumReplicas, 28)                              \
    X(PJRT_Executable_NumPartitions, 28)                            \
    X(PJRT_Executable_NumOutputs, 28)                               \
    X(PJRT_Executable_SizeOfGeneratedCodeInBytes, 28)               \
    X(PJRT_Executable_GetCostAnalysis, 28)                          \
    X(PJRT_Executable_OutputMemoryKinds, 28)                        \
    X(PJRT_Executable_OptimizedProgram, 28)                         \
    X(PJRT_Executable_Serialize, 28)                                \
    X(PJRT_LoadedExecutable_Destroy, 28)                            \
    X(PJRT_LoadedExecutable_GetExecutable, 28)                      \
    X(PJRT_LoadedExecutable_AddressableDevices, 28)                 \
    X(PJRT_LoadedExecutable_Delete, 28)                             \
    X(PJRT_LoadedExecutable_IsDeleted, 28)                          \
    X(PJRT_LoadedExecutable_Execute, 28)                            \
    X(PJRT_Executable_DeserializeAndLoad, 28)                       \
    X(PJRT_LoadedExecutable_Fingerprint, 28)                        \
    X(PJRT_Buffer_Destroy, 28)                                      \
    X(PJRT_Buffer_ElementType, 28)                                  \
    X(PJRT_Buffer_Dimensions, 28)                                   \
    X(PJRT_Buffer_UnpaddedDimensions, 28)                           \
    X(PJRT_Buffer_DynamicDimensionIndices, 28)                      \
    X(PJRT_Buffer_GetMemoryLayout, 28)                              \
    X(PJRT_Buffer_OnDeviceSizeInBytes, 28)                          \
    X(PJRT_Buffer_Device, 28)                                       \
    X(PJRT_Buffer_Memory, 28)                                       \
    X(PJRT_Buffer_Delete, 28)                                       \
    X(PJRT_Buffer_IsDeleted, 28)                                    \
    X(PJRT_Buffer_CopyToDevice, 28)                                 \
    X(PJRT_Buffer_ToHostBuffer, 28)                                 \
    X(PJRT_Buffer_IsOnCpu, 28)                                      \
    X(PJRT_Buffer_ReadyEvent, 28)                                   \
    X(PJRT_Buffer_UnsafePointer, 28)                                \
    X(PJRT_Buffer_IncreaseExternalReferenceCount, 28)               \
    X(PJRT_Buffer_DecreaseExternalReferenceCount, 28)               \
    X(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, 28)                \
    X(PJRT_CopyToDeviceStream_Destroy, 28)                          \
    X(PJRT_CopyToDeviceStream_AddChunk, 28)                         \
    X(PJRT_CopyToDeviceStream_TotalBytes, 28)                       \
    X(PJRT_CopyToDeviceStream_GranuleSize, 28)                      \
    X(PJRT_CopyToDeviceStream_CurrentBytes, 28)                     \
    X(PJRT_TopologyDescription_Create, 28)                          \
    X(PJRT_TopologyDescription_Destroy, 28)                         \
    X(PJRT_TopologyDescription_PlatformName, 28)                    \
    X(PJRT_TopologyDescription_PlatformVersion, 28)                 \
    X(PJRT_TopologyDescription_GetDeviceDescriptions, 28)           \
    X(PJRT_TopologyDescription_Serialize, 28)                       \
    X(PJRT_TopologyDescription_Attributes, 28)                      \
    X(PJRT_Compile, 28)                                             \
    X(PJRT_Executable_OutputElementTypes, 29)                       \
    X(PJRT_Executable_OutputDimensions, 29)                         \
    X(PJRT_Buffer_CopyToMemory, 32)                                 \
    X(PJRT_Client_CreateViewOfDeviceBuffer, 33)                     \
    X(PJRT_Executable_Fingerprint, 35)                              \
    X(PJRT_Client_TopologyDescription, 36)                          \
    X(PJRT_Executable_GetCompiledMemoryStats, 40)                   \
    X(PJRT_Memory_Kind_Id, 48)                                      \
    X(PJRT_ExecuteContext_Create, 52)                               \
    X(PJRT_ExecuteContext_Destroy, 52)                              \
    X(PJRT_Buffer_CopyRawToHost, 56)                                \
    X(PJRT_AsyncHostToDeviceTransferManager_Destroy, 60)            \
    X(PJRT_AsyncHostToDeviceTransferManager_TransferData, 60)       \
    X(PJRT_Client_CreateBuffersForAsyncHostToDevice, 60)            \
    X(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, 62)     \
    X(PJRT_AsyncHostToDeviceTransferManager_Device, 62)             \
    X(PJRT_AsyncHostToDeviceTransferManager_BufferCount, 62)        \
    X(PJRT_AsyncHostToDeviceTransferManager_BufferSize, 62)         \
    X(PJRT_AsyncHostToDeviceTransferManager_SetBufferError, 62)     \
    X(PJRT_AsyncHostToDeviceTransferManager_AddMetadata, 62)        \
    X(PJRT_Client_DmaMap, 67)                                       \
    X(PJRT_Client_DmaUnmap, 67)                                     \
    X(PJRT_Client_CreateUninitializedBuffer, 69)                    \
    X(PJRT_Client_UpdateGlobalProcessInfo, 73)                      \
    X(PJRT_TopologyDescription_Deserialize, 75)                     \
    X(PJRT_Client_CreateAliasBuffer, 77)                            \
    X(PJRT_Client_FulfillAliasBuffer, 77)                           \
    X(PJRT_LoadedExecutable_GetDeviceAssignment, 79)                \
    X(PJRT_Client_CreateErrorBuffer, 82)                            \
    X(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, 83)    \
    X(PJRT_Buffer_CopyRawToHostFuture, 84)                          \
    X(PJRT_Device_PoisonExecution, 85)                              \
    X(PJRT_Device_CreateAsyncTrackingEvent, 86)                     \
    X(PJRT_AsyncTrackingEvent_Destroy, 86)                          \
    X(PJRT_Executable_GetCompileOptions, 87)                        \
    X(PJRT_Buffer_DonateWithControlDependency, 88)                  \
    X(PJRT_Event_Create, 89)                                        \
    X(PJRT_Event_Set, 89)                                           \
    X(PJRT_Device_GetAttributes, 92)                                \
    X(PJRT_Client_Load, 95)                                         \
    X(PJRT_LoadedExecutable_AddressableDeviceLogicalIds, 96)        \
    X(PJRT_Buffer_Bitcast, 98)                                      \
    X(PJRT_Error_ForEachPayload, 99)                                \
    X(PJRT_TopologyDescription_Fingerprint, 101)                    \
    X(PJRT_Executable_ParameterMemoryKinds, 102)                    \
    X(PJRT_Device_ClearMemoryStats, 106)                            \
    X(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, 109) \
    X(PJRT_TopologyDescription_GetMemorySpaceKindIds, 110)

/* A slot exists if struct_size covers it and the minor version is at least its own; it may still
 * be NULL. */
struct PJRT_Api {
    PJRT_HEAD;
    PJRT_Api_Version pjrt_api_version;
#define PJRT_SLOT(name, minor) PJRT_GLOBAL(name) *name;
    PJRT_API_SLOTS(PJRT_SLOT)
#undef PJRT_SLOT
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Api, PJRT_TopologyDescription_GetMemorySpaceKindIds);

/* What a plugin exports: the same table each time, which lives with the process. */
const PJRT_Api *GetPjrtApi(void);

// clang-format on

#ifdef __cplusplus
}
#endif
#endif
