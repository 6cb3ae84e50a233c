/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "pjrt/executable.h"
#include "pjrt/host_channels.h"
#include "pjrt/execute_context.h"

static tn_status *check_lists(const PJRT_LoadedExecutable_Execute_Args *args)
{
    if (args->num_devices == 0) return TN_ERROR(INVALID_ARGUMENT, "a run on no device");
    const bool has_results = args->executable->executable->outputs.n > 0;
    if (args->num_args > 0 && !args->argument_lists)
        return TN_ERROR(INVALID_ARGUMENT, "the argument lists are NULL");
    if (has_results && !args->output_lists)
        return TN_ERROR(INVALID_ARGUMENT, "the output lists are NULL");
    /* The number of lists is checked against the devices before any of them is looked at. */
    if (!args->execute_device && args->executable->n_devices > 0 &&
        args->num_devices != args->executable->n_devices)
        return TN_ERROR(INVALID_ARGUMENT, "argument lists for %zu devices, expected %zu",
                        args->num_devices, args->executable->n_devices);
    for (size_t d = 0; d < args->num_devices; d++) {
        if (args->num_args > 0 && !args->argument_lists[d])
            return TN_ERROR(INVALID_ARGUMENT, "the argument list of device %zu is NULL", d);
        if (has_results && !args->output_lists[d])
            return TN_ERROR(INVALID_ARGUMENT, "the output list of device %zu is NULL", d);
        for (size_t i = 0; i < args->num_args; i++)
            if (!args->argument_lists[d][i])
                return TN_ERROR(INVALID_ARGUMENT, "argument %zu of device %zu is NULL", i, d);
    }
    return NULL;
}

/* One for each device, made before the run is started. */
typedef struct {
    size_t n;
    PJRT_Event **handles;
    tn_event **events;
    PJRT_Event *few_handles[4];
    tn_event *few_events[4];
} ends;

static void free_ends(ends *e)
{
    for (size_t i = 0; e->handles && i < e->n; i++) free(e->handles[i]);
    if (e->handles != e->few_handles) free(e->handles);
    if (e->events != e->few_events) free(e->events);
}

static tn_status *make_ends(ends *e, size_t n)
{
    *e = (ends){.n = n, .handles = e->few_handles, .events = e->few_events};
    if (n > sizeof e->few_events / sizeof e->few_events[0]) {
        e->handles = calloc(n, sizeof(PJRT_Event *));
        e->events = calloc(n, sizeof(tn_event *));
    }
    tn_status *s = NULL;
    if (!e->handles || !e->events) s = TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu events", n);
    for (size_t i = 0; i < n && !s; i++) s = tn_pjrt_event_new(&e->handles[i]);
    if (s) free_ends(e);
    return s;
}

static tn_status *start(const PJRT_LoadedExecutable_Execute_Args *args,
                        const tn_execute_options *options)
{
    ends e = {0};
    const bool wanted = args->device_complete_events;
    if (wanted) {
        tn_status *s = make_ends(&e, args->num_devices);
        if (s) {
            tn_ffi_context_release(options->custom_calls);
            tn_pjrt_host_channels_release(options->host_channels);
            return s;
        }
    }
    /* A list of buffers is the same to both sides (object.h). */
    tn_status *s = tn_execute(args->executable->it, options,
                              (tn_buffer *const *const *)args->argument_lists, args->num_devices,
                              args->num_args, (tn_buffer * *const *)args->output_lists, e.events);
    for (size_t i = 0; i < e.n && !s; i++) {
        e.handles[i]->it = e.events[i];
        args->device_complete_events[i] = e.handles[i];
        e.handles[i] = NULL;
    }
    if (wanted) free_ends(&e);
    return s;
}

PJRT_Error *tn_pjrt_LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args *args)
{
    TN_PJRT_NEED(executable);
    PJRT_ExecuteOptions o;
    TN_PJRT_TRY(TN_PJRT_TAKE(PJRT_ExecuteOptions, launch_id, args->options, &o));
    if (o.num_hlo_output_callbacks > 0)
        return TN_PJRT_ERROR(UNIMPLEMENTED, "HLO output callbacks are not implemented");
    if (o.num_non_donatable_input_indices > 0 && !o.non_donatable_input_indices)
        return TN_PJRT_ERROR(INVALID_ARGUMENT, "non_donatable_input_indices is NULL");
    TN_PJRT_TRY(check_lists(args));

    tn_device *device = args->execute_device ? args->execute_device->it : NULL;
    const tn_host_channels *host_channels;
    TN_PJRT_TRY(tn_pjrt_host_channels_make(&o, args->executable->it, device, args->num_devices,
                                           &host_channels));
    const tn_execute_options options = {.launch_id = o.launch_id,
                                        .non_donatable = o.non_donatable_input_indices,
                                        .n_non_donatable = o.num_non_donatable_input_indices,
                                        .device = device,
                                        .host_channels = host_channels,
                                        .release_host_channels = tn_pjrt_host_channels_release,
                                        .custom_calls =
                                            tn_ffi_context_retain(tn_of_context(o.context)),
                                        .release_custom_calls = tn_ffi_context_release};
    return tn_pjrt_error(start(args, &options));
}
