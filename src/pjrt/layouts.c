/* SPDX-License-Identifier: Apache-2.0 */
/* layouts.c - the extension that tells how arrays lie in memory: dense, in some order of the
 * dimensions. */
#include <stdlib.h>

#include "pjrt/executable.h"
#include "pjrt/extensions.h"
#include "pjrt/shape.h"

struct PJRT_Layouts_MemoryLayout {
    bool of_executable;
    size_t size;
    char text[];
};

/* JAX asks at every transfer: snprintf was a tenth of one. Returns the end. */
static char *write_number(char *to, uint32_t n)
{
    char digits[10];
    int i = 0;
    do digits[i++] = (char)('0' + n % 10);
    while (n /= 10);
    while (i) *to++ = digits[--i];
    return to;
}

PJRT_Layouts_MemoryLayout *tn_pjrt_layout_make(tn_arena *a, uint32_t rank, const int64_t *order)
{
    enum { PER_DIMENSION = sizeof "4294967295," };
    const size_t room = (size_t)rank * PER_DIMENSION + sizeof "{}";
    const size_t bytes = sizeof(PJRT_Layouts_MemoryLayout) + room;
    PJRT_Layouts_MemoryLayout *l = a ? tn_alloc(a, bytes) : malloc(bytes);
    if (!l) return NULL;
    l->of_executable = a != NULL;
    char *to = l->text;
    *to++ = '{';
    for (uint32_t i = 0; i < rank; i++) {
        if (i) *to++ = ',';
        to = write_number(to, order ? (uint32_t)order[i] : rank - 1 - i);
    }
    *to++ = '}';
    *to = 0;
    l->size = (size_t)(to - l->text);
    return l;
}

const char *tn_pjrt_layout_text(const PJRT_Layouts_MemoryLayout *layout)
{
    return layout->text;
}

static tn_status *make(uint32_t rank, const int64_t *order, PJRT_Layouts_MemoryLayout **out)
{
    *out = tn_pjrt_layout_make(NULL, rank, order);
    return *out ? NULL : TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a layout");
}

static PJRT_Error *Layouts_MemoryLayout_Destroy(PJRT_Layouts_MemoryLayout_Destroy_Args *args)
{
    if (args->layout && !args->layout->of_executable) free(args->layout);
    return NULL;
}

static void free_serialized(PJRT_Layouts_SerializedLayout *holder)
{
    free(holder);
}

static PJRT_Error *Layouts_MemoryLayout_Serialize(PJRT_Layouts_MemoryLayout_Serialize_Args *args)
{
    TN_PJRT_NEED(layout);
    char *text = strdup(args->layout->text); /* which may outlive the layout */
    if (!text) return TN_PJRT_ERROR(RESOURCE_EXHAUSTED, "no memory for a layout's text");
    args->serialized_bytes = text;
    args->serialized_bytes_size = args->layout->size;
    args->serialized_layout = (PJRT_Layouts_SerializedLayout *)text;
    args->serialized_layout_deleter = free_serialized;
    return NULL;
}

static tn_status *make_default(PJRT_Buffer_Type type, const int64_t *dims, size_t n_dims,
                               PJRT_Layouts_MemoryLayout **out)
{
    tn_pjrt_shape shape;
    TN_TRY(tn_pjrt_take_shape(type, dims, n_dims, NULL, &shape));
    return make(shape.type.rank, NULL, out);
}

static PJRT_Error *Layouts_PJRT_Client_GetDefaultLayout(
    PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args *args)
{
    TN_PJRT_NEED(client);
    return tn_pjrt_error(make_default(args->type, args->dims, args->num_dims, &args->layout));
}

static PJRT_Error *Layouts_PJRT_Topology_GetDefaultLayout(
    PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args *args)
{
    TN_PJRT_NEED(topology_description);
    return tn_pjrt_error(make_default(args->type, args->dims, args->num_dims, &args->layout));
}

static PJRT_Error *Layouts_PJRT_Buffer_MemoryLayout(
    PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args *args)
{
    TN_PJRT_NEED(buffer);
    const tn_buffer *b = tn_of_buffer(args->buffer);
    return tn_pjrt_error(make(tn_buffer_type(b)->rank, tn_buffer_minor_to_major(b), &args->layout));
}

static PJRT_Error *Layouts_PJRT_Executable_GetOutputLayouts(
    PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args *args)
{
    TN_PJRT_NEED(executable);
    args->num_outputs = args->executable->outputs.n;
    args->layouts = args->executable->outputs.layouts;
    return NULL;
}

static PJRT_Error *Layouts_PJRT_Executable_GetParameterLayouts(
    PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args *args)
{
    TN_PJRT_NEED(executable);
    args->num_parameters = args->executable->parameters.n;
    args->layouts = args->executable->parameters.layouts;
    return NULL;
}

#define IN(name, required)             TN_PJRT_ENTRY_IN(PJRT_##name, name, required)
#define OUT(name, required, first_out) TN_PJRT_ENTRY_OUT(PJRT_##name, name, required, first_out)
IN(Layouts_MemoryLayout_Destroy, layout)
OUT(Layouts_MemoryLayout_Serialize, serialized_layout_deleter, serialized_bytes)
OUT(Layouts_PJRT_Client_GetDefaultLayout, layout, layout)
OUT(Layouts_PJRT_Topology_GetDefaultLayout, layout, layout)
OUT(Layouts_PJRT_Buffer_MemoryLayout, layout, layout)
OUT(Layouts_PJRT_Executable_GetOutputLayouts, layouts, num_outputs)
OUT(Layouts_PJRT_Executable_GetParameterLayouts, layouts, num_parameters)

#define SLOT(name) .PJRT_##name = entry_PJRT_##name
const PJRT_Layouts_Extension tn_pjrt_layouts_extension = {
    .base = {.struct_size = PJRT_Layouts_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_Layouts,
             .next = TN_PJRT_EXTENSION(shardings)},
    SLOT(Layouts_MemoryLayout_Destroy),
    SLOT(Layouts_MemoryLayout_Serialize),
    SLOT(Layouts_PJRT_Client_GetDefaultLayout),
    SLOT(Layouts_PJRT_Buffer_MemoryLayout),
    SLOT(Layouts_PJRT_Topology_GetDefaultLayout),
    SLOT(Layouts_PJRT_Executable_GetOutputLayouts),
    SLOT(Layouts_PJRT_Executable_GetParameterLayouts),
};
