/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenon/host.h"

struct tn_plugin {
    const PJRT_Api *api;
    char *path;
};

tn_status *tn_plugin_open(const char *path, tn_plugin **out)
{
    if (access(path, R_OK)) return TN_ERROR(NOT_FOUND, "%s can't be read", path);
    char *absolute =
        realpath(path, NULL); /* a bare name would be searched for in the system's folders */
    void *library = dlopen(absolute ? absolute : path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        free(absolute);
        return TN_ERROR(NOT_FOUND, "%s can't be loaded: %s", path, dlerror());
    }
    const PJRT_Api *(*get)(void) = (const PJRT_Api *(*)(void))dlsym(library, "GetPjrtApi");
    const PJRT_Api *api = get ? get() : NULL;
    if (!api) {
        free(absolute);
        return get ? TN_ERROR(FAILED_PRECONDITION, "%s: GetPjrtApi returned NULL", path)
                   : TN_ERROR(NOT_FOUND, "%s doesn't export GetPjrtApi, so it is not a PJRT plugin",
                              path);
    }
    if (api->pjrt_api_version.major_version != PJRT_API_MAJOR) {
        free(absolute);
        return TN_ERROR(FAILED_PRECONDITION, "%s speaks PJRT API %d.%d, this is %d.%d", path,
                        api->pjrt_api_version.major_version, api->pjrt_api_version.minor_version,
                        PJRT_API_MAJOR, PJRT_API_MINOR);
    }
    tn_plugin *p = calloc(1, sizeof *p);
    if (!p) {
        free(absolute);
        return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    }
    p->api = api;
    p->path = absolute ? absolute : strdup(path);
    PJRT_Plugin_Initialize_Args init = {.struct_size = PJRT_Plugin_Initialize_Args_STRUCT_SIZE};
    if (tn_plugin_has(p, offsetof(PJRT_Api, PJRT_Plugin_Initialize))) {
        tn_status *s =
            tn_plugin_status(p, api->PJRT_Plugin_Initialize(&init), "PJRT_Plugin_Initialize");
        if (s) {
            tn_plugin_close(p);
            return s;
        }
    }
    *out = p;
    return NULL;
}

void tn_plugin_close(tn_plugin *p)
{
    if (!p) return;
    free(p->path);
    free(p);
}

const PJRT_Api *tn_plugin_api(const tn_plugin *p)
{
    return p->api;
}
const char *tn_plugin_path(const tn_plugin *p)
{
    return p->path;
}

bool tn_plugin_has(const tn_plugin *p, size_t slot_offset)
{
    void *slot;
    if (slot_offset + sizeof slot > p->api->struct_size) return false;
    memcpy(&slot, (const char *)p->api + slot_offset, sizeof slot);
    return slot != NULL;
}

tn_status *tn_plugin_status(const tn_plugin *p, PJRT_Error *error, const char *call)
{
    if (!error) return NULL;
    PJRT_Error_GetCode_Args code = {.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE,
                                    .error = error};
    PJRT_Error *nested = p->api->PJRT_Error_GetCode(&code);
    PJRT_Error_Message_Args message = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE,
                                       .error = error};
    p->api->PJRT_Error_Message(&message);
    tn_code c = nested ? TN_UNKNOWN : (tn_code)code.code;
    tn_status *s =
        tn_status_make(c, __FILE__, __LINE__, "%s: %.*s", call, (int)message.message_size,
                       message.message ? message.message : "");
    PJRT_Error_Destroy_Args destroy = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE,
                                       .error = error};
    p->api->PJRT_Error_Destroy(&destroy);
    if (nested) {
        destroy.error = nested;
        p->api->PJRT_Error_Destroy(&destroy);
    }
    return s;
}
