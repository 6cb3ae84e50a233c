/* SPDX-License-Identifier: Apache-2.0 */
/* layer.h - what stands between a client and a plugin.
 *
 * Every call of the client, in the table or in a known extension, goes through the layers in the
 * order of TENON_LAYERS and then to the plugin. A layer is one function that gets each call and
 * goes on with tn_call_next. Handles are the plugin's own: no layer wraps one, so that what passes
 * by in ways unknown to us (new extensions, tables behind handles) stays right. */
#ifndef TN_LAYERS_LAYER_H
#define TN_LAYERS_LAYER_H

#include "tenon/pjrt_calls.h"
#include "tenon/status.h"

typedef struct {
    int fn;           /* TN_CALL_... */
    int depth;        /* which layer has the call */
    void *args;       /* the argument struct */
    const void *site; /* where in the client the call was made */
} tn_call;

typedef struct {
    const char *name;
    /* Once, when the plugin has been loaded. A message that says what is wrong with the layer's
     * settings, or NULL. */
    const char *(*open)(int depth);
    PJRT_Error *(*call)(const tn_call *c);
    void (*close)(void); /* at the end of the process; or NULL */
} tn_layer;

extern const tn_layer tn_layer_trace, tn_layer_validate, tn_layer_fault, tn_layer_skew,
    tn_layer_record;

/* Goes on to the next layer, or the plugin. Error_Destroy and Error_Message give NULL. */
PJRT_Error *tn_call_next(const tn_call *c);
/* A call of the layer's own, to those behind layer `depth`. The struct's size must be set. */
PJRT_Error *tn_call_below(int depth, int fn, void *args);
/* Calls PJRT_<name> behind the layer. */
#define BELOW(depth, name, args) tn_call_below(depth, TN_CALL_PJRT_##name, args)
#define ARGS(name, var, ...)                                                                       \
    PJRT_##name##_Args var = {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, __VA_ARGS__}

/* Does the plugin have the call? */
bool tn_layers_has(int fn);
/* The minor version of the plugin. */
int tn_layers_minor(void);
const char *tn_layers_plugin(void); /* its path */

/* An error of the layers' own, which the client handles like any other. */
PJRT_Error *tn_layers_error(PJRT_Error_Code code, const char *fmt, ...) TN_PRINTF(2, 3);
/* Code and message of an error, without ending it. The message is cut to `size`. */
PJRT_Error_Code tn_layers_describe(int depth, PJRT_Error *e, char *message, size_t size);
void tn_layers_end_error(int depth, PJRT_Error *e);

/* Nanoseconds of the monotonic clock. */
uint64_t tn_layers_now(void);
/* A small number for this thread: 1, 2, ... in the order of their first calls. */
int tn_layers_thread(void);

/* The minor that the client is shown instead of the plugin's; 0: the plugin's own. */
int tn_skew_plugin_minor(void);

#endif
