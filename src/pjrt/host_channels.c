/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/host_channels.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    tn_host_channels base; /* first */
    tn_loaded_executable *loaded;
    tn_device *device; /* the only one; NULL: those of the executable */
    size_t n_devices, n_sends, n_receives;
    const PJRT_SendCallbackInfo *sends;    /* [n_devices][n_sends] */
    const PJRT_RecvCallbackInfo *receives; /* [n_devices][n_receives] */
} channels;

static size_t list_of(const channels *c, uint32_t part)
{
    return part < c->n_devices ? part : 0;
}

static tn_device *device_of(const channels *c, uint32_t part)
{
    size_t n;
    tn_device *const *devices = tn_loaded_executable_devices(c->loaded, &n);
    return c->device ? c->device : part < n ? devices[part] : NULL;
}

static tn_status *nobody(const char *what, int64_t channel)
{
    return TN_ERROR(NOT_FOUND, "the execution has no %s callback for channel %" PRId64, what,
                    channel);
}

static void free_data(void *data, void *arg)
{
    free(data);
}

static tn_status *send(const tn_host_channels *base, uint32_t part, int64_t channel,
                       const void *data, size_t bytes)
{
    const channels *c = (const channels *)base;
    const PJRT_SendCallbackInfo *s = c->sends + list_of(c, part) * c->n_sends;
    size_t i = 0;
    while (i < c->n_sends && s[i].channel_id != channel) i++;
    if (i == c->n_sends) return nobody("send", channel);
    PJRT_Chunk chunk = {.data = malloc(bytes + 1), .size = bytes, .deleter = free_data};
    if (!chunk.data) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory to send %zu bytes", bytes);
    if (bytes) memcpy(chunk.data, data, bytes);
    PJRT_CallbackError make_error = tn_pjrt_callback_error;
    return tn_pjrt_status(s[i].send_callback(&chunk, &make_error, bytes, true, s[i].user_arg));
}

/* The callback's stream fills a buffer of the host. */
static tn_status *take(tn_buffer *b, void *data, size_t bytes)
{
    tn_event *event;
    TN_TRY(tn_buffer_ready_event(b, &event));
    tn_status *s = tn_event_await(event);
    tn_event_release(event);
    if (s || !bytes) return s;
    TN_TRY(tn_buffer_to_host(b, NULL, data, bytes, &event));
    s = tn_event_await(event);
    tn_event_release(event);
    return s;
}

static tn_status *receive(const tn_host_channels *base, uint32_t part, int64_t channel, void *data,
                          const tn_type *type)
{
    const channels *c = (const channels *)base;
    const PJRT_RecvCallbackInfo *r = c->receives + list_of(c, part) * c->n_receives;
    tn_device *device = device_of(c, part);
    size_t i = 0, n;
    while (i < c->n_receives && r[i].channel_id != channel) i++;
    if (i == c->n_receives) return nobody("receive", channel);
    if (!device) return TN_ERROR(INTERNAL, "part %" PRIu32 " has no device", part);
    tn_type plain = *type;
    plain.quantization = NULL;
    tn_buffer *target;
    tn_copy_stream *stream;
    TN_TRY(tn_copy_stream_create(tn_device_memories(device, &n)[TN_MEMORY_PINNED_HOST], &plain, 1,
                                 &target, &stream));
    r[i].recv_callback(tn_pjrt_stream(stream), r[i].user_arg);
    tn_status *s = take(target, data, tn_type_bytes(type));
    tn_buffer_release(target);
    return s;
}

static tn_status *copy_lists(const PJRT_ExecuteOptions *o, channels *c)
{
    PJRT_SendCallbackInfo *sends = (PJRT_SendCallbackInfo *)(c + 1);
    PJRT_RecvCallbackInfo *receives = (PJRT_RecvCallbackInfo *)(sends + c->n_devices * c->n_sends);
    for (size_t d = 0; d < c->n_devices; d++) {
        if ((c->n_sends && (!o->send_callbacks || !o->send_callbacks[d])) ||
            (c->n_receives && (!o->recv_callbacks || !o->recv_callbacks[d])))
            return TN_ERROR(INVALID_ARGUMENT, "the callbacks of device %zu are NULL", d);
        for (size_t i = 0; i < c->n_sends; i++) {
            sends[d * c->n_sends + i] = o->send_callbacks[d][i];
            if (!o->send_callbacks[d][i].send_callback)
                return TN_ERROR(INVALID_ARGUMENT, "send callback %zu of device %zu is NULL", i, d);
        }
        for (size_t i = 0; i < c->n_receives; i++) {
            receives[d * c->n_receives + i] = o->recv_callbacks[d][i];
            if (!o->recv_callbacks[d][i].recv_callback)
                return TN_ERROR(INVALID_ARGUMENT, "receive callback %zu of device %zu is NULL", i,
                                d);
        }
    }
    c->sends = sends;
    c->receives = receives;
    return NULL;
}

tn_status *tn_pjrt_host_channels_make(const PJRT_ExecuteOptions *o, tn_loaded_executable *l,
                                      tn_device *device, size_t n_devices,
                                      const tn_host_channels **out)
{
    *out = NULL;
    if (!o->num_send_ops && !o->num_recv_ops) return NULL;
    enum { MOST = 1 << 20 };
    if (o->num_send_ops > MOST || o->num_recv_ops > MOST)
        return TN_ERROR(INVALID_ARGUMENT, "%zu send and %zu receive callbacks", o->num_send_ops,
                        o->num_recv_ops);
    channels *c = calloc(1, sizeof *c + n_devices * (o->num_send_ops * sizeof *c->sends +
                                                     o->num_recv_ops * sizeof *c->receives));
    if (!c) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for callbacks");
    c->base = (tn_host_channels){.send = send, .receive = receive};
    c->loaded = tn_loaded_executable_retain(l);
    c->device = device;
    c->n_devices = n_devices;
    c->n_sends = o->num_send_ops;
    c->n_receives = o->num_recv_ops;
    tn_status *s = copy_lists(o, c);
    if (s) tn_pjrt_host_channels_release(&c->base);
    else *out = &c->base;
    return s;
}

void tn_pjrt_host_channels_release(const tn_host_channels *base)
{
    channels *c = (channels *)base;
    if (!c) return;
    tn_loaded_executable_release(c->loaded);
    free(c);
}
