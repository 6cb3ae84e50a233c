/* SPDX-License-Identifier: Apache-2.0 */
/* objects.h - what validate knows of the handles that have passed by.
 *
 * Known by address and class. An address may come back for a new object, which then replaces what
 * was known of the old one: a handle used after its end is recognised until then. */
#ifndef TN_LAYERS_OBJECTS_H
#define TN_LAYERS_OBJECTS_H

#include "layers/layer.h"

typedef struct {
    int fn; /* -1: not yet */
    int thread;
    uint64_t number; /* of the call, from 1 */
    const void *site;
} tn_moment;

typedef struct callback_note callback_note;
typedef void tn_deleter(void); /* of a type of its own for each class of holder */

typedef struct tn_object {
    struct tn_object *next; /* in its bucket */
    void *handle;
    tn_class cls;
    int alive;                      /* times made without being ended; owned classes */
    bool owned;                     /* the caller must end it */
    bool with_client;               /* its client has been destroyed */
    bool ready;                     /* event: known to be ready */
    void *client;                   /* that it came from; NULL: unknown, or none */
    tn_moment made, ended, deleted; /* deleted: or donated */
    bool donated;
    callback_note *callbacks; /* event: not yet called */
    tn_deleter *deleter;      /* holder: the plugin's */
    /* Buffer: host memory that the client has promised to leave alone while *pending */
    const char *host;
    size_t host_size;
    uint64_t host_hash;
    struct pending_host *pending;
    const char *promised_by; /* which semantics */
} tn_object;

/* Each locks what it needs. The object stays where it is for the life of the process. */
tn_object *tn_object_find(void *handle, tn_class cls);
/* Finds or adds. */
tn_object *tn_object_get(void *handle, tn_class cls);
/* Calls `visit` for every object. */
void tn_objects_each(void (*visit)(tn_object *, void *), void *user);

#endif
