/* SPDX-License-Identifier: Apache-2.0 */
/* executable.h - executables as the ABI shows them: with the arrays that its getters hand out.
 *
 * Immutable but for the text of the program, which is made when somebody asks for it. Reference
 * counted: a loaded executable and all who asked it for its executable share one. */
#ifndef TN_PJRT_EXECUTABLE_H
#define TN_PJRT_EXECUTABLE_H

#include <pthread.h>

#include "executable/compile_options.h"
#include "pjrt/object.h"
#include "tenon/pjrt_extensions.h"

/* Strings or bytes, one for each parameter or output. */
typedef struct {
    const char **data;
    size_t *sizes;
} tn_pjrt_list;

typedef struct {
    size_t n;
    const tn_executable_value *values;
    tn_pjrt_list memory_kinds;
    tn_pjrt_list shardings; /* serialised OpSharding */
    PJRT_Layouts_MemoryLayout **layouts;
} tn_pjrt_values;

struct PJRT_Executable {
    tn_ref ref;
    tn_executable *it;
    const tn_executable_info *info;
    tn_arena *arena; /* holds all that follows */
    tn_pjrt_values parameters, outputs;
    PJRT_Buffer_Type *output_types;
    int64_t *output_dims;
    size_t *output_ranks;
    PJRT_NamedValue *cost;
    size_t n_cost;
    pthread_mutex_t lock; /* text */
    char *text;
    size_t text_size;
};

/* Takes `e`. */
tn_status *tn_pjrt_executable_make(tn_executable *e, PJRT_Executable **out) TN_MUST_USE;
PJRT_Executable *tn_pjrt_executable_retain(PJRT_Executable *e);
void tn_pjrt_executable_release(PJRT_Executable *e); /* NULL is fine */

struct PJRT_LoadedExecutable {
    tn_loaded_executable *it;
    PJRT_Executable *executable;
    PJRT_Device **devices;
    PJRT_LogicalDeviceIds *logical_ids;
    size_t n_devices;
};

/* Loads `e` (borrowed) as `options` say. */
tn_status *tn_pjrt_load(const PJRT_Client *client, PJRT_Executable *e,
                        const tn_compile_options *options, PJRT_LoadedExecutable **out) TN_MUST_USE;

/* A layout of the ABI's layouts extension, of this rank and order (minor to major; NULL:
 * row-major), in the arena of an executable (`a` given), or one that ends with its Destroy (`a`
 * NULL; then NULL without memory). */
PJRT_Layouts_MemoryLayout *tn_pjrt_layout_make(tn_arena *a, uint32_t rank, const int64_t *order);
/* As text, e.g. "{1,0}". */
const char *tn_pjrt_layout_text(const PJRT_Layouts_MemoryLayout *layout);

#endif
