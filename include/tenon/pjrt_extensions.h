/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt_extensions.h - extensions of the PJRT C API that Tenon offers or reads.
 *
 * An extension is a struct that starts with a PJRT_Extension_Base and hangs in a chain: from
 * PJRT_Api.extension_start when the plugin offers it, from args->extension_start when the caller
 * adds it to one call. A function of a table exists if the struct_size in its base covers it.
 * Sizes, ownership, threads and errors are as in pjrt.h. */
#ifndef TN_PJRT_EXTENSIONS_H
#define TN_PJRT_EXTENSIONS_H

#include "tenon/pjrt.h"

#ifdef __cplusplus
extern "C" {
#endif

// clang-format off

#define PJRT_SLOT(name) PJRT_GLOBAL(name) *name


/* ---- Custom calls (type 0): handlers of all stages, and the untyped interface ---------------- */

struct PJRT_Gpu_Register_Custom_Call_Args {
    size_t struct_size;
    const char *function_name; /* the target */
    size_t function_name_size;
    int api_version; /* 0: handler_execute is a function of the untyped interface; 1: typed */
    void *handler_instantiate; /* or NULL, as the next two */
    void *handler_prepare;
    void *handler_initialize;
    void *handler_execute;
};
PJRT_CALL(PJRT_Gpu_Register_Custom_Call, handler_execute);

struct PJRT_Gpu_Custom_Call_Extension {
    PJRT_Extension_Base base;
    PJRT_Gpu_Register_Custom_Call *custom_call;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Gpu_Custom_Call_Extension, custom_call);


/* ---- Layouts (type 4, version 4) ----------------------------------------------------------- */

typedef struct PJRT_Layouts_MemoryLayout PJRT_Layouts_MemoryLayout;
typedef struct PJRT_Layouts_SerializedLayout PJRT_Layouts_SerializedLayout;

struct PJRT_Layouts_MemoryLayout_Destroy_Args { PJRT_HEAD; PJRT_Layouts_MemoryLayout *layout; };
PJRT_CALL(PJRT_Layouts_MemoryLayout_Destroy, layout);

/* The layout as text, e.g. "{1,0}": the dimensions from minor to major, then tiles. The caller
 * calls the deleter once. */
struct PJRT_Layouts_MemoryLayout_Serialize_Args {
    PJRT_HEAD;
    PJRT_Layouts_MemoryLayout *layout;
    const char *serialized_bytes;                     /* out: lives until the deleter */
    size_t serialized_bytes_size;                     /* out */
    PJRT_Layouts_SerializedLayout *serialized_layout; /* out: holds them */
    void (*serialized_layout_deleter)(PJRT_Layouts_SerializedLayout *s_layout); /* out */
};
PJRT_CALL(PJRT_Layouts_MemoryLayout_Serialize, serialized_layout_deleter);

/* The layout that arrays of this type and shape get if nothing else is asked for. */
struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args {
    PJRT_HEAD;
    PJRT_Client *client;
    PJRT_Buffer_Type type;
    const int64_t *dims;
    size_t num_dims;
    PJRT_Layouts_MemoryLayout *layout; /* out: the caller's */
};
PJRT_CALL(PJRT_Layouts_PJRT_Client_GetDefaultLayout, layout);

struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args {
    PJRT_HEAD;
    PJRT_Buffer *buffer;
    PJRT_Layouts_MemoryLayout *layout; /* out: the caller's */
};
PJRT_CALL(PJRT_Layouts_PJRT_Buffer_MemoryLayout, layout);

struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args {
    PJRT_HEAD;
    PJRT_TopologyDescription *topology_description;
    PJRT_Buffer_Type type;
    const int64_t *dims;
    size_t num_dims;
    PJRT_Layouts_MemoryLayout *layout; /* out: the caller's */
};
PJRT_CALL(PJRT_Layouts_PJRT_Topology_GetDefaultLayout, layout);

/* The array lives with the executable; its layouts belong to the executable too. */
struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    size_t num_outputs;                  /* out */
    PJRT_Layouts_MemoryLayout **layouts; /* out: [num_outputs] */
};
PJRT_CALL(PJRT_Layouts_PJRT_Executable_GetOutputLayouts, layouts);

struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    size_t num_parameters;               /* out */
    PJRT_Layouts_MemoryLayout **layouts; /* out: [num_parameters] */
};
PJRT_CALL(PJRT_Layouts_PJRT_Executable_GetParameterLayouts, layouts);

struct PJRT_Layouts_Extension {
    PJRT_Extension_Base base;
    PJRT_SLOT(PJRT_Layouts_MemoryLayout_Destroy);
    PJRT_SLOT(PJRT_Layouts_MemoryLayout_Serialize);
    PJRT_SLOT(PJRT_Layouts_PJRT_Client_GetDefaultLayout);
    PJRT_SLOT(PJRT_Layouts_PJRT_Buffer_MemoryLayout);
    PJRT_SLOT(PJRT_Layouts_PJRT_Topology_GetDefaultLayout);
    PJRT_SLOT(PJRT_Layouts_PJRT_Executable_GetOutputLayouts);    /* 0.81 */
    PJRT_SLOT(PJRT_Layouts_PJRT_Executable_GetParameterLayouts); /* 0.93 */
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Layouts_Extension,
                          PJRT_Layouts_PJRT_Executable_GetParameterLayouts);


/* ---- FFI (type 5, version 3): handlers of custom calls -------------------------------------- */

struct PJRT_FFI_Type_Info {
    void (*deleter)(void *object); /* or NULL */
    void (*serialize)(void);       /* signature not settled upstream */
    void (*deserialize)(void);
};
typedef struct PJRT_FFI_Type_Info PJRT_FFI_Type_Info;

/* Gives a type of user data its id, or takes the caller's if it is not 0. */
struct PJRT_FFI_Type_Register_Args {
    PJRT_HEAD;
    const char *type_name;
    size_t type_name_size;
    int64_t type_id; /* in and out */
    PJRT_FFI_Type_Info *type_info;
};
PJRT_CALL(PJRT_FFI_Type_Register, type_info);

struct PJRT_FFI_UserData { int64_t type_id; void *data; };
typedef struct PJRT_FFI_UserData PJRT_FFI_UserData;

/* Handlers called by runs with this context find the data under its type. */
struct PJRT_FFI_UserData_Add_Args {
    PJRT_HEAD;
    PJRT_ExecuteContext *context;
    PJRT_FFI_UserData user_data;
};
PJRT_CALL(PJRT_FFI_UserData_Add, user_data);

typedef enum PJRT_FFI_Handler_TraitsBits {
    PJRT_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE = 1u << 0,
} PJRT_FFI_Handler_TraitsBits;

/* Makes `handler` (an XLA_FFI_Handler) the one for custom calls to this target. */
struct PJRT_FFI_Register_Handler_Args {
    size_t struct_size;
    const char *target_name;
    size_t target_name_size;
    void *handler;
    const char *platform_name;
    size_t platform_name_size;
    PJRT_FFI_Handler_TraitsBits traits;
};
PJRT_CALL(PJRT_FFI_Register_Handler, traits);

struct PJRT_FFI_Extension {
    PJRT_Extension_Base base;
    PJRT_FFI_Type_Register *type_register;
    PJRT_FFI_UserData_Add *user_data_add;
    PJRT_FFI_Register_Handler *register_handler;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_FFI_Extension, register_handler);
typedef PJRT_FFI_Extension PJRT_FFI;


/* ---- Memory descriptions (type 6): the memories of devices that are not there ---------------- */

typedef struct PJRT_MemoryDescription PJRT_MemoryDescription;

struct PJRT_DeviceDescription_MemoryDescriptions_Args {
    PJRT_HEAD;
    PJRT_DeviceDescription *device_description;
    const PJRT_MemoryDescription *const *memory_descriptions; /* out: lives with the description */
    size_t num_memory_descriptions;                           /* out */
    size_t default_memory_index; /* out: SIZE_MAX if there is no default */
};
PJRT_CALL(PJRT_DeviceDescription_MemoryDescriptions, default_memory_index);

struct PJRT_MemoryDescription_Kind_Args {
    PJRT_HEAD;
    const PJRT_MemoryDescription *memory_description;
    const char *kind; /* out: lives with the description */
    size_t kind_size; /* out */
    int kind_id;      /* out */
};
PJRT_CALL(PJRT_MemoryDescription_Kind, kind_id);

struct PJRT_MemoryDescriptions_Extension {
    PJRT_Extension_Base base;
    PJRT_SLOT(PJRT_DeviceDescription_MemoryDescriptions);
    PJRT_SLOT(PJRT_MemoryDescription_Kind);
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_MemoryDescriptions_Extension, PJRT_MemoryDescription_Kind);


/* ---- Shardings (type 19): how an executable's arrays are divided ----------------------------- */

/* Each is a serialised OpSharding. `shardings` NULL: the executable has none. Lives with it. */
struct PJRT_Shardings_PJRT_Executable_ParameterShardings_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    size_t num_parameters;        /* out */
    const char *const *shardings; /* out: [num_parameters] */
    const size_t *sharding_sizes; /* out: [num_parameters] */
};
PJRT_CALL(PJRT_Shardings_PJRT_Executable_ParameterShardings, sharding_sizes);

struct PJRT_Shardings_PJRT_Executable_OutputShardings_Args {
    PJRT_HEAD;
    PJRT_Executable *executable;
    size_t num_outputs;           /* out */
    const char *const *shardings; /* out: [num_outputs] */
    const size_t *sharding_sizes; /* out: [num_outputs] */
};
PJRT_CALL(PJRT_Shardings_PJRT_Executable_OutputShardings, sharding_sizes);

struct PJRT_Shardings_Extension {
    PJRT_Extension_Base base;
    PJRT_SLOT(PJRT_Shardings_PJRT_Executable_ParameterShardings);
    PJRT_SLOT(PJRT_Shardings_PJRT_Executable_OutputShardings);
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Shardings_Extension,
                          PJRT_Shardings_PJRT_Executable_OutputShardings);


/* ---- Profiler (type 1) ----------------------------------------------------------------------- */

/* A tracer of its own: its errors are its own, and its callers may leave struct_size unset, so that
 * nothing is read from it. Life: create, start, stop, collect_data, destroy. */
typedef struct PLUGIN_Profiler PLUGIN_Profiler;
typedef struct PLUGIN_Profiler_Error PLUGIN_Profiler_Error;
typedef struct PLUGIN_Profiler_ConsumeResult PLUGIN_Profiler_ConsumeResult;

typedef struct {
    size_t struct_size;
    void *priv;
    PLUGIN_Profiler_Error *error;
} PLUGIN_Profiler_Error_Destroy_Args;

typedef struct {
    size_t struct_size;
    void *priv;
    PLUGIN_Profiler_Error *error;
    const char *message; /* out: lives with the error */
    size_t message_size; /* out */
} PLUGIN_Profiler_Error_Message_Args;

typedef struct {
    size_t struct_size;
    void *priv;
    PLUGIN_Profiler_Error *error;
    int32_t code; /* out: a PJRT_Error_Code */
} PLUGIN_Profiler_Error_GetCode_Args;

typedef struct {
    size_t struct_size;
    const char *options; /* a serialised tensorflow.ProfileOptions; read during the call */
    size_t options_size;
    PLUGIN_Profiler *profiler; /* out: the caller's */
} PLUGIN_Profiler_Create_Args;

typedef struct { size_t struct_size; PLUGIN_Profiler *profiler; } PLUGIN_Profiler_Destroy_Args;
typedef struct { size_t struct_size; PLUGIN_Profiler *profiler; } PLUGIN_Profiler_Start_Args;
typedef struct { size_t struct_size; PLUGIN_Profiler *profiler; } PLUGIN_Profiler_Stop_Args;

typedef struct {
    size_t struct_size;
    PLUGIN_Profiler *profiler;
    uint8_t *buffer; /* a serialised XSpace goes here; NULL: out, the profiler's, until its end */
    size_t buffer_size_in_bytes; /* out */
} PLUGIN_Profiler_CollectData_Args;

/* The same in two steps; the result outlives the profiler. */
typedef struct {
    size_t struct_size;
    PLUGIN_Profiler *profiler;
    PLUGIN_Profiler_ConsumeResult *result; /* out: the caller's */
} PLUGIN_Profiler_Consume_Args;

typedef struct {
    size_t struct_size;
    PLUGIN_Profiler_ConsumeResult *consume_result;
} PLUGIN_Profiler_ConsumeResult_Destroy_Args;

typedef struct {
    size_t struct_size;
    PLUGIN_Profiler *profiler;
    PLUGIN_Profiler_ConsumeResult *consume_result;
    const uint8_t *serialized_bytes; /* out: lives with the result */
    size_t serialized_size;          /* out */
} PLUGIN_Profiler_Serialize_Args;

typedef struct PLUGIN_Profiler_Api {
    size_t struct_size;
    void *priv;
    void (*error_destroy)(PLUGIN_Profiler_Error_Destroy_Args *args);
    void (*error_message)(PLUGIN_Profiler_Error_Message_Args *args);
    PLUGIN_Profiler_Error *(*error_get_code)(PLUGIN_Profiler_Error_GetCode_Args *args);
    PLUGIN_Profiler_Error *(*create)(PLUGIN_Profiler_Create_Args *args);
    PLUGIN_Profiler_Error *(*destroy)(PLUGIN_Profiler_Destroy_Args *args);
    PLUGIN_Profiler_Error *(*start)(PLUGIN_Profiler_Start_Args *args);
    PLUGIN_Profiler_Error *(*stop)(PLUGIN_Profiler_Stop_Args *args);
    PLUGIN_Profiler_Error *(*collect_data)(PLUGIN_Profiler_CollectData_Args *args);
    PLUGIN_Profiler_Error *(*consume)(PLUGIN_Profiler_Consume_Args *args);
    void (*consume_result_destroy)(PLUGIN_Profiler_ConsumeResult_Destroy_Args *args);
    PLUGIN_Profiler_Error *(*serialize)(PLUGIN_Profiler_Serialize_Args *args);
} PLUGIN_Profiler_Api;

/* In PJRT_Api it offers a tracer. On the args of a compile or an execute it is the caller's, lives
 * on its stack, and gives the id of the trace event of the call; its profiler_api is NULL. */
struct PJRT_Profiler_Extension {
    PJRT_Extension_Base base;
    PLUGIN_Profiler_Api *profiler_api;
    int64_t traceme_context_id;
};
PJRT_DEFINE_STRUCT_TRAITS(PJRT_Profiler_Extension, traceme_context_id);

#undef PJRT_SLOT

// clang-format on

#ifdef __cplusplus
}
#endif
#endif
