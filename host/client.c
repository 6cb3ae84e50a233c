/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/internal.h"

/* One PJRT_NamedValue of "name=value"; points into `text`. */
static tn_status *parse_option(const char *text, PJRT_NamedValue *out)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return TN_ERROR(INVALID_ARGUMENT, "option '%s' should be name=value", text);
    const char *value = equals + 1;
    *out = (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                             .name = text,
                             .name_size = (size_t)(equals - text),
                             .value_size = 1};
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (*value && !*end && !errno) {
        out->type = PJRT_NamedValue_kInt64;
        out->int64_value = number;
    } else if (!strcmp(value, "true") || !strcmp(value, "false")) {
        out->type = PJRT_NamedValue_kBool;
        out->bool_value = value[0] == 't';
    } else {
        out->type = PJRT_NamedValue_kString;
        out->string_value = value;
        out->value_size = strlen(value);
    }
    return NULL;
}

static tn_status *create(tn_host_client *c, const char *const *options, size_t n)
{
    PJRT_NamedValue *values = calloc(n + 1, sizeof *values);
    if (!values) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    tn_status *s = NULL;
    for (size_t i = 0; i < n && !s; i++) s = parse_option(options[i], &values[i]);
    if (!s) {
        PJRT_Client_Create_Args args = {.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE,
                                        .create_options = values,
                                        .num_options = n};
        s = TN_PLUGIN_CALL(c->plugin, PJRT_Client_Create, &args);
        if (!s) c->client = args.client;
    }
    free(values);
    if (s) return s;
    PJRT_Client_AddressableDevices_Args devices = {
        .struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE, .client = c->client};
    TN_TRY(TN_PLUGIN_CALL(c->plugin, PJRT_Client_AddressableDevices, &devices));
    c->devices = devices.addressable_devices;
    c->n_devices = devices.num_addressable_devices;
    return NULL;
}

tn_status *tn_host_client_create(tn_plugin *p, const char *const *options, size_t n,
                                 tn_host_client **out)
{
    tn_host_client *c = calloc(1, sizeof *c);
    if (!c) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    c->plugin = p;
    tn_status *s = create(c, options, n);
    if (s) {
        tn_host_client_destroy(c);
        return s;
    }
    *out = c;
    return NULL;
}

void tn_host_client_destroy(tn_host_client *c)
{
    if (!c) return;
    if (c->client) {
        PJRT_Client_Destroy_Args args = {.struct_size = PJRT_Client_Destroy_Args_STRUCT_SIZE,
                                         .client = c->client};
        tn_status_free(TN_PLUGIN_CALL(c->plugin, PJRT_Client_Destroy, &args));
    }
    free(c);
}

PJRT_Client *tn_host_client_handle(const tn_host_client *c)
{
    return c->client;
}
size_t tn_host_client_device_count(const tn_host_client *c)
{
    return c->n_devices;
}
PJRT_Device *tn_host_client_device(const tn_host_client *c, size_t i)
{
    return c->devices[i];
}

tn_status *tn_host_event_wait(tn_host_client *c, PJRT_Event *event)
{
    if (!event) return NULL;
    PJRT_Event_Await_Args await = {.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE,
                                   .event = event};
    tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Event_Await, &await);
    PJRT_Event_Destroy_Args destroy = {.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE,
                                       .event = event};
    tn_status *d = TN_PLUGIN_CALL(c->plugin, PJRT_Event_Destroy, &destroy);
    if (!s) return d;
    tn_status_free(d);
    return s;
}
