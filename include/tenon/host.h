/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - use any PJRT plugin from C: load it, make a client, compile, run, move arrays.
 *
 * Sees the plugin through the C ABI alone, so it works on anybody's. Link with libtenon_host.
 * Everything that is opened, created or compiled is ended by its own close, destroy or free, also
 * after an error. Threads: different objects may be used from different threads; one object from
 * one at a time. */
#ifndef TN_HOST_H
#define TN_HOST_H

#include "tenon/pjrt.h"
#include "tenon/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- plugin --- */

typedef struct tn_plugin tn_plugin;

/* Loads the shared object at `path` and initialises it. NOT_FOUND: no such file or no GetPjrtApi in
 * it; FAILED_PRECONDITION: its major version is not 0. The library stays loaded when the plugin is
 * closed. */
tn_status *tn_plugin_open(const char *path, tn_plugin **out) TN_MUST_USE;
void tn_plugin_close(tn_plugin *p);
const PJRT_Api *tn_plugin_api(const tn_plugin *p);
const char *tn_plugin_path(const tn_plugin *p);
/* Does the plugin fill the slot at this offset of PJRT_Api? */
bool tn_plugin_has(const tn_plugin *p, size_t slot_offset);
/* Turns what a call returned into a status and destroys it. NULL gives NULL. */
tn_status *tn_plugin_status(const tn_plugin *p, PJRT_Error *error, const char *call) TN_MUST_USE;

/* Calls PJRT_<name> with `args` and gives a tn_status *; UNIMPLEMENTED if the plugin lacks the
 * slot. */
#define TN_PLUGIN_CALL(plugin, name, args)                                                         \
    (tn_plugin_has(plugin, offsetof(PJRT_Api, name))                                               \
         ? tn_plugin_status(plugin, tn_plugin_api(plugin)->name(args), #name)                      \
         : TN_ERROR(UNIMPLEMENTED, "the plugin has no " #name))

/* --- arrays: dense and row-major in host memory, one element per byte for types narrower than one
 * --- */

typedef struct {
    PJRT_Buffer_Type type;
    size_t rank;
    int64_t *dims; /* [rank] */
    void *data;
    size_t size; /* bytes */
} tn_array;

/* Room for an array, zeroed. */
tn_status *tn_array_make(PJRT_Buffer_Type type, size_t rank, const int64_t *dims,
                         tn_array *out) TN_MUST_USE;
void tn_array_free(tn_array *a); /* of a zeroed or made array; zeroes it */
size_t tn_element_size(
    PJRT_Buffer_Type type); /* bytes in host memory; 0 for tokens and unknown types */
const char *tn_element_name(PJRT_Buffer_Type type); /* "f32"; unknown: "?" */
PJRT_Buffer_Type tn_element_from_name(
    const char *name); /* PJRT_Buffer_Type_INVALID if there is none */

/* NumPy files. numpy has no bf16 or narrow types: reading gives their storage (uint16, uint8, int8)
 * and `as` puts the type right (PJRT_Buffer_Type_INVALID: take what the file says). */
tn_status *tn_npy_parse(const void *bytes, size_t size, PJRT_Buffer_Type as,
                        tn_array *out) TN_MUST_USE;
tn_status *tn_npy_read(const char *path, PJRT_Buffer_Type as, tn_array *out) TN_MUST_USE;
tn_status *tn_npy_write(const char *path, const tn_array *a) TN_MUST_USE;

/* --- client and programs --- */

typedef struct tn_host_client tn_host_client;
typedef struct tn_host_executable tn_host_executable;

/* options: "name=value" strings; whole numbers, true and false, and anything else as text. */
tn_status *tn_host_client_create(tn_plugin *p, const char *const *options, size_t n,
                                 tn_host_client **out) TN_MUST_USE;
void tn_host_client_destroy(tn_host_client *c);
PJRT_Client *tn_host_client_handle(const tn_host_client *c);
size_t tn_host_client_device_count(const tn_host_client *c); /* addressable ones */
PJRT_Device *tn_host_client_device(const tn_host_client *c, size_t i);

/* format: "mlir" or "hlo". Compiles for replicas * partitions devices. */
tn_status *tn_host_executable_compile(tn_host_client *c, const void *code, size_t size,
                                      const char *format, int replicas, int partitions,
                                      tn_host_executable **out) TN_MUST_USE;
void tn_host_executable_free(tn_host_executable *p);
size_t tn_host_executable_output_count(const tn_host_executable *p);
size_t tn_host_executable_device_count(const tn_host_executable *p);
PJRT_LoadedExecutable *tn_host_executable_handle(const tn_host_executable *p);
/* Runs once and waits. inputs[device * n_inputs + i]; fills outputs[device * output_count + i],
 * which the caller frees with tn_array_free. ns, if not NULL, gets the time from execute to the
 * last ready event. */
tn_status *tn_host_executable_run(tn_host_executable *p, const tn_array *inputs, size_t n_inputs,
                                  tn_array *outputs, uint64_t *ns) TN_MUST_USE;

/* From now on arrays may stay where they are when they become buffers (as immutable zero-copy
 * allows it): they must live, unchanged, until all that reads them is over. */
void tn_host_client_allow_aliases(tn_host_client *c);

/* Copies an array to a device and waits; the array may be freed afterwards, unless aliases are
 * allowed. */
tn_status *tn_host_buffer_from_array(tn_host_client *c, PJRT_Device *device, const tn_array *a,
                                     PJRT_Buffer **out) TN_MUST_USE;
/* Copies a buffer to the host and waits. */
tn_status *tn_host_buffer_to_array(tn_host_client *c, PJRT_Buffer *buffer,
                                   tn_array *out) TN_MUST_USE;
void tn_host_buffer_destroy(tn_host_client *c, PJRT_Buffer *buffer);
/* Waits for an event and destroys it; gives its error. NULL is fine. */
tn_status *tn_host_event_wait(tn_host_client *c, PJRT_Event *event) TN_MUST_USE;

/* A whole file; caller frees *out with free(). */
tn_status *tn_read_file(const char *path, void **out, size_t *size) TN_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
