/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - records what a plugin does, by its profiler extension. */
#include <stdlib.h>
#include <string.h>

#include "host/cli/profile.h"

struct tn_cli_profile {
    PLUGIN_Profiler_Api *api;
    PLUGIN_Profiler *profiler;
};

static tn_status *to_status(PLUGIN_Profiler_Api *api, PLUGIN_Profiler_Error *e, const char *call)
{
    if (!e) return NULL;
    PLUGIN_Profiler_Error_Message_Args m = {.struct_size = sizeof m, .error = e};
    PLUGIN_Profiler_Error_GetCode_Args c = {.struct_size = sizeof c, .error = e};
    PLUGIN_Profiler_Error_Destroy_Args d = {.struct_size = sizeof d, .error = e};
    api->error_message(&m);
    c.code = TN_UNKNOWN;
    tn_status_free(to_status(api, api->error_get_code(&c), "error_get_code"));
    tn_status *s = TN_ERROR(INTERNAL, "the profiler's %s: %.*s (code %d)", call,
                            (int)m.message_size, m.message, (int)c.code);
    api->error_destroy(&d);
    return s;
}

#define CALL(p, name, args) to_status((p)->api, (p)->api->name(args), #name)

static PLUGIN_Profiler_Api *find_api(const tn_plugin *p)
{
    const PJRT_Extension_Base *x = tn_plugin_api(p)->extension_start;
    for (; x; x = x->next)
        if (x->type == PJRT_Extension_Type_Profiler)
            return ((const PJRT_Profiler_Extension *)x)->profiler_api;
    return NULL;
}

tn_status *tn_cli_profile_start(const tn_plugin *plugin, tn_cli_profile **out)
{
    PLUGIN_Profiler_Api *api = find_api(plugin);
    if (!api)
        return TN_ERROR(UNIMPLEMENTED, "%s has no profiler extension", tn_plugin_path(plugin));
    tn_cli_profile *p = calloc(1, sizeof *p);
    if (!p) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    p->api = api;
    PLUGIN_Profiler_Create_Args create = {.struct_size = sizeof create, .options = ""};
    tn_status *s = CALL(p, create, &create);
    if (!s) {
        p->profiler = create.profiler;
        PLUGIN_Profiler_Start_Args start = {.struct_size = sizeof start, .profiler = p->profiler};
        s = CALL(p, start, &start);
    }
    if (s) tn_cli_profile_free(p);
    else *out = p;
    return s;
}

tn_status *tn_cli_profile_stop(tn_cli_profile *p, void **out, size_t *size)
{
    PLUGIN_Profiler_Stop_Args stop = {.struct_size = sizeof stop, .profiler = p->profiler};
    TN_TRY(CALL(p, stop, &stop));
    /* Asked twice: some plugins give their own memory, some tell the size and fill the caller's. */
    PLUGIN_Profiler_CollectData_Args data = {.struct_size = sizeof data, .profiler = p->profiler};
    TN_TRY(CALL(p, collect_data, &data));
    *size = data.buffer_size_in_bytes;
    *out = malloc(*size + 1);
    if (!*out) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a profile of %zu bytes", *size);
    if (data.buffer) {
        memcpy(*out, data.buffer, *size);
        return NULL;
    }
    data.buffer = *out;
    tn_status *s = CALL(p, collect_data, &data);
    if (s) free(*out);
    return s;
}

void tn_cli_profile_free(tn_cli_profile *p)
{
    if (!p) return;
    PLUGIN_Profiler_Destroy_Args d = {.struct_size = sizeof d, .profiler = p->profiler};
    if (p->profiler) tn_status_free(CALL(p, destroy, &d));
    free(p);
}
