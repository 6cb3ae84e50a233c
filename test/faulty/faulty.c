/* SPDX-License-Identifier: Apache-2.0 */
/* faulty - a plugin with a fault of choice, to see whether the tools find it.
 *
 * Wraps the plugin of FAULTY_REAL; FAULTY names the fault (faults.def), unset: none. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenon/pjrt.h"

enum {
    FAULT_NONE,
#define FAULT(id, name, found_by) FAULT_##id,
#include "test/faulty/faults.def"
};

static const PJRT_Api *real;
static PJRT_Api api;
static int fault;

#define ARGS(name, var, ...)                                                                       \
    PJRT_##name##_Args var = {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, __VA_ARGS__}
/* Defines the faulty form of a call. */
#define FORM(name) static PJRT_Error *bad_##name(PJRT_##name##_Args *a)
#define REAL(name) real->PJRT_##name(a)

static PJRT_Error *an_error(PJRT_Client *client)
{
    ARGS(Client_LookupDevice, look, .client = client, .id = -1);
    return real->PJRT_Client_LookupDevice(&look);
}

/* A client, for where a call has none at hand. */
static PJRT_Client *the_client;

FORM(Client_Create)
{
    if (fault == FAULT_option_accepted) a->num_options = 0;
    PJRT_Error *e = REAL(Client_Create);
    if (!e) the_client = a->client;
    return e;
}

static void *volatile lost; /* so that no compiler sees that nobody will free it */
static void lose(size_t n)
{
    lost = malloc(n);
    if (lost) memset(lost, 1, n);
}

/* --- events --- */

FORM(Event_IsReady)
{
    PJRT_Error *e = REAL(Event_IsReady);
    if (fault == FAULT_ready_at_enqueue) a->is_ready = true;
    return e;
}

FORM(Event_Await)
{
    if (fault == FAULT_ready_at_enqueue) return NULL;
    PJRT_Error *e = REAL(Event_Await);
    if (e && fault == FAULT_error_lost) {
        ARGS(Error_Destroy, d, .error = e);
        real->PJRT_Error_Destroy(&d);
        return NULL;
    }
    return e;
}

FORM(Event_Error)
{
    PJRT_Error *e = REAL(Event_Error);
    if (e && fault == FAULT_error_lost) {
        ARGS(Error_Destroy, d, .error = e);
        real->PJRT_Error_Destroy(&d);
        return NULL;
    }
    return e;
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

typedef struct {
    PJRT_Event_OnReadyCallback callback;
    void *user;
    PJRT_Event *event;
    bool cancelled;
} watch;
static watch *last_watch;

static void later(PJRT_Error *error, void *user)
{
    watch *w = user;
    if (w->cancelled) return;
    if (fault == FAULT_callback_under_lock) pthread_mutex_lock(&held);
    w->callback(error, w->user);
    if (fault == FAULT_callback_twice) w->callback(NULL, w->user);
    if (fault == FAULT_callback_under_lock) pthread_mutex_unlock(&held);
}

FORM(Event_OnReady)
{
    if (fault == FAULT_callback_lost) return NULL;
    if (fault == FAULT_ready_at_enqueue) {
        a->callback(NULL, a->user_arg);
        return NULL;
    }
    watch *w = calloc(1, sizeof *w);
    *w = (watch){a->callback, a->user_arg, a->event, false};
    last_watch = w;
    ARGS(Event_OnReady, mine, .event = a->event, .callback = later, .user_arg = w);
    return real->PJRT_Event_OnReady(&mine);
}

FORM(Event_Destroy)
{
    if (fault == FAULT_event_shared) return NULL;
    if (fault == FAULT_event_leak) {
        if (a->event) lose(200);
    }
    if (fault == FAULT_destroy_cancels_callback && last_watch && last_watch->event == a->event)
        last_watch->cancelled = true;
    return REAL(Event_Destroy);
}

FORM(Buffer_ReadyEvent)
{
    static PJRT_Buffer *of;
    static PJRT_Event *event;
    if (fault == FAULT_event_shared && of == a->buffer && of) {
        a->event = event;
        return NULL;
    }
    PJRT_Error *e = REAL(Buffer_ReadyEvent);
    of = a->buffer;
    event = a->event;
    return e;
}

FORM(Event_Set)
{
    a->error_message_size = 0;
    return REAL(Event_Set);
}

/* --- buffers --- */

FORM(Buffer_Destroy)
{
    if (fault == FAULT_buffer_leak) return NULL;
    if (fault == FAULT_callback_under_lock) {
        pthread_mutex_lock(&held);
        pthread_mutex_unlock(&held);
    }
    return REAL(Buffer_Destroy);
}

FORM(Buffer_IsDeleted)
{
    if (fault == FAULT_out_field_unset) return NULL;
    PJRT_Error *e = REAL(Buffer_IsDeleted);
    if (fault == FAULT_donated_alive) a->is_deleted = false;
    if (fault == FAULT_write_beyond_struct) ((char *)a)[a->struct_size + 3] = 1;
    return e;
}

FORM(Buffer_IsOnCpu)
{
    PJRT_Error *e = REAL(Buffer_IsOnCpu);
    if (a->is_on_cpu) *(unsigned char *)&a->is_on_cpu = 0x40;
    return e;
}

static PJRT_Event *ready_now(void)
{
    ARGS(Event_Create, make, .event = NULL);
    real->PJRT_Event_Create(&make);
    ARGS(Event_Set, set, .event = make.event);
    real->PJRT_Event_Set(&set);
    return make.event;
}

FORM(Client_BufferFromHostBuffer)
{
    PJRT_HostBufferSemantics s = a->host_buffer_semantics;
    if (fault == FAULT_strides_ignored) a->byte_strides = NULL;
    if (fault == FAULT_read_after_call && s == PJRT_HostBufferSemantics_kImmutableOnlyDuringCall)
        a->host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
    if (fault == FAULT_done_too_early &&
        s == PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes)
        a->host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
    if (fault == FAULT_memory_ignored && a->memory) {
        a->memory = NULL;
        if (!a->device) return an_error(a->client);
    }
    if (fault == FAULT_narrow_types_packed && a->type == PJRT_Buffer_Type_S4)
        a->type = PJRT_Buffer_Type_S8;
    PJRT_Error *e = REAL(Client_BufferFromHostBuffer);
    bool changed = a->host_buffer_semantics != s;
    a->host_buffer_semantics = s;
    /* A copy ends by itself; what was taken over is called done at once. */
    if (!e && changed) {
        ARGS(Event_Destroy, d, .event = a->done_with_host_buffer);
        real->PJRT_Event_Destroy(&d);
        a->done_with_host_buffer = ready_now();
    }
    return e;
}

FORM(Buffer_ToHostBuffer)
{
    if (fault == FAULT_host_layout_ignored) a->host_layout = NULL;
    if (fault == FAULT_small_room_accepted && a->dst) {
        ARGS(Buffer_ToHostBuffer, ask, .src = a->src);
        PJRT_Error *e = real->PJRT_Buffer_ToHostBuffer(&ask);
        if (!e && ask.dst_size > a->dst_size) {
            a->event = ready_now();
            return NULL;
        }
    }
    PJRT_Error *e = REAL(Buffer_ToHostBuffer);
    if (!e && fault == FAULT_size_query_wrong && !a->dst) a->dst_size++;
    return e;
}

FORM(Buffer_CopyRawToHost)
{
    a->offset = 0;
    return REAL(Buffer_CopyRawToHost);
}

static bool deleted(PJRT_Buffer *b)
{
    ARGS(Buffer_IsDeleted, is, .buffer = b);
    real->PJRT_Buffer_IsDeleted(&is);
    return is.is_deleted;
}

FORM(Buffer_Dimensions)
{
    if (deleted(a->buffer)) return an_error(the_client);
    return REAL(Buffer_Dimensions);
}

FORM(Buffer_Delete)
{
    if (deleted(a->buffer)) return an_error(the_client);
    return REAL(Buffer_Delete);
}

FORM(Buffer_DecreaseExternalReferenceCount)
{
    PJRT_Error *e = REAL(Buffer_DecreaseExternalReferenceCount);
    if (!e) return NULL;
    ARGS(Error_Destroy, d, .error = e);
    real->PJRT_Error_Destroy(&d);
    return NULL;
}

FORM(Buffer_Memory)
{
    PJRT_Error *e = REAL(Buffer_Memory);
    ARGS(Buffer_Device, d, .buffer = a->buffer);
    if (e || real->PJRT_Buffer_Device(&d)) return e;
    ARGS(Device_DefaultMemory, m, .device = d.device);
    real->PJRT_Device_DefaultMemory(&m);
    a->memory = m.memory;
    return NULL;
}

FORM(Buffer_Device)
{
    PJRT_Error *e = REAL(Buffer_Device);
    ARGS(Client_AddressableDevices, all, .client = the_client);
    real->PJRT_Client_AddressableDevices(&all);
    a->device = all.addressable_devices[0];
    return e;
}

/* --- errors --- */

static void bad_Error_Message(PJRT_Error_Message_Args *a)
{
    real->PJRT_Error_Message(a);
    a->message_size = 0;
}

FORM(Error_GetCode)
{
    PJRT_Error *e = REAL(Error_GetCode);
    a->code = PJRT_Error_Code_UNKNOWN;
    return e;
}

/* --- plugin, client, devices --- */

FORM(Plugin_Attributes)
{
    PJRT_Error *e = REAL(Plugin_Attributes);
    if (e) return e;
    PJRT_NamedValue *copy = malloc(a->num_attributes * sizeof *copy);
    memcpy(copy, a->attributes, a->num_attributes * sizeof *copy);
    a->attributes = copy;
    return NULL;
}

FORM(Client_PlatformName)
{
    /* A plugin that wants the struct that it was built with, and no other. */
    if (a->struct_size != PJRT_Client_PlatformName_Args_STRUCT_SIZE) return an_error(a->client);
    return REAL(Client_PlatformName);
}

FORM(Client_DefaultDeviceAssignment)
{
    if (a->default_assignment_size < 2 && a->num_replicas == 2) return NULL;
    return REAL(Client_DefaultDeviceAssignment);
}

FORM(Client_Destroy)
{
    if (fault == FAULT_client_leaves_files && open("/dev/null", O_RDONLY) < 0) return NULL;
    return REAL(Client_Destroy);
}

FORM(DeviceDescription_Id)
{
    PJRT_Error *e = REAL(DeviceDescription_Id);
    a->id = 0;
    return e;
}

FORM(DeviceDescription_Attributes)
{
    static const PJRT_NamedValue real_number = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                                                .name = "speed",
                                                .name_size = 5,
                                                .type = PJRT_NamedValue_kFloat,
                                                .float_value = 1,
                                                .value_size = 1};
    a->attributes = &real_number;
    a->num_attributes = 1;
    return NULL;
}

FORM(Device_DefaultMemory)
{
    ARGS(Client_AddressableDevices, all, .client = the_client);
    real->PJRT_Client_AddressableDevices(&all);
    size_t n = all.num_addressable_devices;
    if (n > 1)
        for (size_t i = 0; i < n; i++)
            if (all.addressable_devices[i] == a->device) {
                ARGS(Device_DefaultMemory, other, .device = all.addressable_devices[(i + 1) % n]);
                real->PJRT_Device_DefaultMemory(&other);
                a->memory = other.memory;
                return NULL;
            }
    return REAL(Device_DefaultMemory);
}

FORM(Device_MemoryStats)
{
    PJRT_Error *e = REAL(Device_MemoryStats);
    if (!e) a->bytes_in_use = 4096;
    return e;
}

FORM(TopologyDescription_PlatformName)
{
    PJRT_Error *e = REAL(TopologyDescription_PlatformName);
    a->platform_name = "other";
    a->platform_name_size = 5;
    return e;
}

FORM(Client_CreateErrorBuffer)
{
    a->error_message = "something went wrong";
    a->error_message_size = 20;
    return REAL(Client_CreateErrorBuffer);
}

/* --- programs --- */

FORM(Client_Compile)
{
    static const char good[] = {3 << 3 | 2, 4, 4 << 3, 1, 5 << 3, 1};
    if (fault == FAULT_garbage_kills && a->program->code_size < 40) abort();
    if (fault == FAULT_bad_options_accepted && a->compile_options_size == 3) {
        a->compile_options = good;
        a->compile_options_size = sizeof good;
    }
    return REAL(Client_Compile);
}

FORM(LoadedExecutable_Destroy)
{
    lose(1 << 20);
    return REAL(LoadedExecutable_Destroy);
}

FORM(Executable_Fingerprint)
{
    PJRT_Error *e = REAL(Executable_Fingerprint);
    a->executable_fingerprint = "0";
    a->executable_fingerprint_size = 1;
    return e;
}

FORM(Executable_Serialize)
{
    PJRT_Error *e = REAL(Executable_Serialize);
    if (e) return e;
    char *copy = malloc(a->serialized_bytes_size);
    memcpy(copy, a->serialized_bytes, a->serialized_bytes_size);
    copy[a->serialized_bytes_size / 2] ^= 0x55;
    a->serialized_bytes = copy;
    return NULL;
}

FORM(Executable_OutputMemoryKinds)
{
    PJRT_Error *e = REAL(Executable_OutputMemoryKinds);
    if (!e) a->num_outputs--;
    return e;
}

/* --- runs --- */

static uint32_t *content(PJRT_Buffer *b)
{
    ARGS(Buffer_ElementType, type, .buffer = b);
    ARGS(Buffer_OpaqueDeviceMemoryDataPointer, at, .buffer = b);
    ARGS(Buffer_ReadyEvent, ready, .buffer = b);
    if (real->PJRT_Buffer_ElementType(&type) || type.type != PJRT_Buffer_Type_F32 ||
        real->PJRT_Buffer_ReadyEvent(&ready))
        return NULL;
    ARGS(Event_Await, wait, .event = ready.event);
    if (real->PJRT_Event_Await(&wait) || real->PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&at))
        return NULL;
    return at.device_memory_ptr;
}

static void *write_later(void *user)
{
    usleep(5000);
    *(uint32_t *)user = 0;
    return NULL;
}

FORM(LoadedExecutable_Execute)
{
    PJRT_Buffer *row[64];
    PJRT_Buffer *const *rows[] = {row};
    if (fault == FAULT_small_options_refused &&
        a->options->struct_size < PJRT_ExecuteOptions_STRUCT_SIZE)
        return an_error(the_client);
    if (fault == FAULT_argument_count_ignored && a->num_devices == 1 && a->num_args &&
        a->num_args != 2 && a->num_args < 64) {
        for (int i = 0; i < 2; i++) row[i] = a->argument_lists[0][0];
        a->argument_lists = rows;
        a->num_args = 2;
    }
    if (fault == FAULT_wait_in_execute) {
        PJRT_Error *e = REAL(LoadedExecutable_Execute);
        for (size_t d = 0; !e && d < a->num_devices; d++) {
            ARGS(Buffer_ReadyEvent, ready, .buffer = a->output_lists[d][0]);
            real->PJRT_Buffer_ReadyEvent(&ready);
            ARGS(Event_Await, wait, .event = ready.event);
            real->PJRT_Event_Await(&wait);
        }
        return e;
    }
    int64_t all[64];
    if (fault == FAULT_non_donatable_ignored) a->options->num_non_donatable_input_indices = 0;
    if (fault == FAULT_never_donates && a->num_args < 64) {
        for (size_t i = 0; i < a->num_args; i++) all[i] = (int64_t)i;
        a->options->non_donatable_input_indices = all;
        a->options->num_non_donatable_input_indices = a->num_args;
    }
    PJRT_Error *e = REAL(LoadedExecutable_Execute);
    if (e) return e;
    uint32_t *at = NULL;
    if (fault == FAULT_wrong_value || fault == FAULT_written_after_ready)
        at = content(a->output_lists[0][0]);
    if (at && fault == FAULT_wrong_value) ++*at;
    if (at && fault == FAULT_written_after_ready) {
        pthread_t t;
        if (!pthread_create(&t, NULL, write_later, at)) pthread_detach(t);
    }
    return NULL;
}

/* --- the table --- */

#define BAD(name) api.PJRT_##name = bad_##name

static void plant(void)
{
    BAD(Client_Create);
    BAD(Event_IsReady);
    BAD(Event_Await);
    BAD(Event_Error);
    BAD(Event_OnReady);
    BAD(Event_Destroy);
    BAD(Buffer_ReadyEvent);
    BAD(Buffer_Destroy);
    BAD(Buffer_IsDeleted);
    BAD(Client_BufferFromHostBuffer);
    BAD(Buffer_ToHostBuffer);
    BAD(Client_Compile);
    BAD(LoadedExecutable_Execute);
    BAD(Client_Destroy);
    switch (fault) {
    case FAULT_set_loses_message: BAD(Event_Set); break;
    case FAULT_bool_out_of_range: BAD(Buffer_IsOnCpu); break;
    case FAULT_raw_offset_ignored: BAD(Buffer_CopyRawToHost); break;
    case FAULT_shape_gone_with_delete: BAD(Buffer_Dimensions); break;
    case FAULT_second_delete_fails: BAD(Buffer_Delete); break;
    case FAULT_reference_underflow: BAD(Buffer_DecreaseExternalReferenceCount); break;
    case FAULT_memory_is_default: BAD(Buffer_Memory); break;
    case FAULT_device_is_first: BAD(Buffer_Device); break;
    case FAULT_message_empty: BAD(Error_Message); break;
    case FAULT_code_unknown: BAD(Error_GetCode); break;
    case FAULT_attributes_move: BAD(Plugin_Attributes); break;
    case FAULT_larger_struct_refused: BAD(Client_PlatformName); break;
    case FAULT_assignment_size_ignored: BAD(Client_DefaultDeviceAssignment); break;
    case FAULT_device_ids_equal: BAD(DeviceDescription_Id); break;
    case FAULT_attribute_is_float: BAD(DeviceDescription_Attributes); break;
    case FAULT_default_memory_elsewhere: BAD(Device_DefaultMemory); break;
    case FAULT_statistics_constant: BAD(Device_MemoryStats); break;
    case FAULT_topology_other_platform: BAD(TopologyDescription_PlatformName); break;
    case FAULT_error_buffer_forgets: BAD(Client_CreateErrorBuffer); break;
    case FAULT_executable_leak: BAD(LoadedExecutable_Destroy); break;
    case FAULT_fingerprint_constant: BAD(Executable_Fingerprint); break;
    case FAULT_serialized_damaged: BAD(Executable_Serialize); break;
    case FAULT_output_kinds_short: BAD(Executable_OutputMemoryKinds); break;
    case FAULT_slot_null: api.PJRT_Buffer_CopyToMemory = NULL; break;
    }
}

__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void)
{
    if (!real) {
        void *library = dlopen(getenv("FAULTY_REAL"), RTLD_NOW | RTLD_LOCAL);
        const PJRT_Api *(*get)(void) =
            library ? (const PJRT_Api *(*)(void))dlsym(library, "GetPjrtApi") : NULL;
        real = get ? get() : NULL;
        if (!real) return NULL;
        memcpy(&api, real, sizeof api);
        const char *name = getenv("FAULTY");
#define FAULT(id, text, found_by)                                                                  \
    if (name && !strcmp(name, text)) fault = FAULT_##id;
#include "test/faulty/faults.def"
        if (fault) plant();
    }
    if (fault == FAULT_table_moves) {
        PJRT_Api *copy = malloc(sizeof *copy);
        memcpy(copy, &api, sizeof *copy);
        return copy;
    }
    return &api;
}
