/* SPDX-License-Identifier: Apache-2.0 */
/* skew - makes one side look older or newer.
 *
 *   TENON_SKEW=plugin:81    the client sees a plugin of minor 81: a table of its length, argument
 *                           structs of its sizes; what the plugin lacks is UNIMPLEMENTED
 *   TENON_SKEW=client:54    the plugin sees a client of minor 54: argument structs of its sizes
 *
 * A client is never made newer than it is: fields that it does not have stay unknown. */
#include <stdlib.h>
#include <string.h>

#include "layers/layer.h"

static int plugin_minor, minor;

int tn_skew_plugin_minor(void)
{
    return plugin_minor;
}

static const char *open_skew(int my_depth)
{
    const char *text = getenv("TENON_SKEW");
    bool plugin = text && !strncmp(text, "plugin:", 7),
         client = text && !strncmp(text, "client:", 7);
    minor = plugin || client ? atoi(text + 7) : 0;
    if (minor < 29 || minor > 255)
        return "TENON_SKEW must be plugin:MINOR or client:MINOR, with a minor from 29";
    if (plugin) plugin_minor = minor;
    return NULL;
}

/* A copy of a struct, no longer than the minor had it. False: it is short enough. */
static bool shorten(const tn_struct *s, const void *from, char *to, size_t room)
{
    size_t size, most = tn_struct_size_at(s, minor);
    memcpy(&size, from, sizeof size);
    if (size <= most || most > room) return false;
    memset(to, 0xEE, room); /* what is read beyond the end is no value */
    memcpy(to, from, most);
    memcpy(to, &most, sizeof most);
    return true;
}

static PJRT_Error *call(const tn_call *c)
{
    _Alignas(16) char args[512], options[256];
    if (tn_calls[c->fn].extension < 0 && tn_calls[c->fn].minor > minor)
        return tn_layers_error(PJRT_Error_Code_UNIMPLEMENTED, "%s is newer than minor %d",
                               tn_calls[c->fn].name, minor);
    tn_call inner = *c;
    if (c->fn == TN_CALL_PJRT_LoadedExecutable_Execute) {
        PJRT_LoadedExecutable_Execute_Args *a = c->args;
        if (shorten(&tn_struct_execute_options, a->options, options, sizeof options)) {
            PJRT_ExecuteOptions *theirs = a->options;
            a->options = (PJRT_ExecuteOptions *)options;
            PJRT_Error *e = tn_call_next(c);
            a->options = theirs;
            return e;
        }
    }
    if (!shorten(&tn_calls[c->fn].args, c->args, args, sizeof args)) return tn_call_next(c);
    inner.args = args;
    PJRT_Error *e = tn_call_next(&inner);
    size_t size, theirs;
    memcpy(&size, args, sizeof size);
    memcpy(&theirs, c->args, sizeof theirs);
    memcpy(c->args, args, size);
    memcpy(c->args, &theirs, sizeof theirs);
    return e;
}

const tn_layer tn_layer_skew = {"skew", open_skew, call, NULL};
