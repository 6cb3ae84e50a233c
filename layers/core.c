/* SPDX-License-Identifier: Apache-2.0 */
/* core - loads the plugin of TENON_PLUGIN, and gives the client a table of which every entry goes
 * through the layers of TENON_LAYERS. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "layers/layer.h"

#define MAX_LAYERS 8

static const tn_layer *const known[] = {&tn_layer_trace, &tn_layer_validate, &tn_layer_fault,
                                        &tn_layer_skew, &tn_layer_record};
static const tn_layer *chain[MAX_LAYERS];
static int n_layers;
typedef void function(void); /* any; called as what it is */
static function *real[TN_CALL_COUNT];
static const PJRT_Api *plugin;
static const char *plugin_path;

/* --- errors of our own --- */

typedef struct {
    PJRT_Error base;
    PJRT_Error_Code code;
    size_t size;
    char message[];
} own_error;

static void own_destroy(PJRT_Error *e)
{
    free(e);
}
static void own_message(const PJRT_Error *e, const char **message, size_t *size)
{
    *message = ((const own_error *)e)->message;
    *size = ((const own_error *)e)->size;
}
static PJRT_Error_Code own_code(const PJRT_Error *e)
{
    return ((const own_error *)e)->code;
}
static void own_payloads(const PJRT_Error *e, PJRT_Error_PayloadVisitor visitor, void *arg) {}
static const PJRT_Error_FunctionTable own_table = {.struct_size =
                                                       PJRT_Error_FunctionTable_STRUCT_SIZE,
                                                   .instance_size = sizeof(own_error),
                                                   .destroy = own_destroy,
                                                   .message = own_message,
                                                   .get_code = own_code,
                                                   .for_each_payload = own_payloads};

PJRT_Error *tn_layers_error(PJRT_Error_Code code, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t n = strlen(text);
    own_error *e = malloc(sizeof *e + n + 1);
    if (!e) abort(); /* a tool for finding faults may end where no memory is left */
    e->base.vtable = &own_table;
    e->code = code;
    e->size = n;
    memcpy(e->message, text, n + 1);
    return &e->base;
}

static bool answer_own(int fn, void *args)
{
    PJRT_Error_Message_Args *m = args;
    if (!m->error || m->error->vtable != &own_table) return false;
    switch (fn) {
    case TN_CALL_PJRT_Error_Destroy: own_destroy((PJRT_Error *)m->error); break;
    case TN_CALL_PJRT_Error_Message: own_message(m->error, &m->message, &m->message_size); break;
    case TN_CALL_PJRT_Error_GetCode:
        ((PJRT_Error_GetCode_Args *)args)->code = own_code(m->error);
        break;
    }
    return true;
}

/* --- calls --- */

/* Calls the plugin's function as the type that it has. */
#define CALL(name, minor)                                                                          \
    static PJRT_Error *call_##name(void *args)                                                     \
    {                                                                                              \
        return ((name *)real[TN_CALL_##name])(args);                                               \
    }
#define VOID_CALL(name, minor)                                                                     \
    static PJRT_Error *call_##name(void *args)                                                     \
    {                                                                                              \
        ((name *)real[TN_CALL_##name])(args);                                                      \
        return NULL;                                                                               \
    }
#define EXTENSION_CALL(type, table, name, slot)                                                    \
    static PJRT_Error *call_##name(void *args)                                                     \
    {                                                                                              \
        return ((name *)real[TN_CALL_##name])(args);                                               \
    }
#include "tenon/pjrt_fields.def"

static PJRT_Error *(*const calls[TN_CALL_COUNT])(void *) = {
#define CALL(name, minor)                       [TN_CALL_##name] = call_##name,
#define EXTENSION_CALL(type, table, name, slot) [TN_CALL_##name] = call_##name,
#include "tenon/pjrt_fields.def"
};

static PJRT_Error *to_plugin(int fn, void *args)
{
    bool about_errors = fn <= TN_CALL_PJRT_Error_GetCode || fn == TN_CALL_PJRT_Error_ForEachPayload;
    if (about_errors && answer_own(fn, args)) return NULL;
    if (!real[fn])
        return tn_layers_error(PJRT_Error_Code_UNIMPLEMENTED, "%s has no %s", plugin_path,
                               tn_calls[fn].name);
    return calls[fn](args);
}

PJRT_Error *tn_call_next(const tn_call *c)
{
    tn_call below = *c;
    below.depth++;
    return below.depth < n_layers ? chain[below.depth]->call(&below) : to_plugin(c->fn, c->args);
}

PJRT_Error *tn_call_below(int depth, int fn, void *args)
{
    return tn_call_next(&(tn_call){.fn = fn, .depth = depth, .args = args});
}

bool tn_layers_has(int fn)
{
    return real[fn] != NULL;
}
int tn_layers_minor(void)
{
    return plugin->pjrt_api_version.minor_version;
}
const char *tn_layers_plugin(void)
{
    return plugin_path;
}

PJRT_Error_Code tn_layers_describe(int depth, PJRT_Error *e, char *message, size_t size)
{
    ARGS(Error_GetCode, code, .error = e);
    if (BELOW(depth, Error_GetCode, &code)) code.code = PJRT_Error_Code_UNKNOWN;
    ARGS(Error_Message, m, .error = e);
    BELOW(depth, Error_Message, &m);
    if (size) snprintf(message, size, "%.*s", (int)m.message_size, m.message);
    return code.code;
}

void tn_layers_end_error(int depth, PJRT_Error *e)
{
    if (!e) return;
    ARGS(Error_Destroy, d, .error = e);
    BELOW(depth, Error_Destroy, &d);
}

uint64_t tn_layers_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int tn_layers_thread(void)
{
    static atomic_int count;
    static _Thread_local int number;
    if (!number) number = atomic_fetch_add(&count, 1) + 1;
    return number;
}

static PJRT_Error *enter(int fn, void *args, const void *site)
{
    tn_call c = {.fn = fn, .depth = -1, .args = args, .site = site};
    return tn_call_next(&c);
}

#define CALL(name, minor)                                                                          \
    static PJRT_Error *enter_##name(name##_Args *args)                                             \
    {                                                                                              \
        return enter(TN_CALL_##name, args, __builtin_return_address(0));                           \
    }
#define VOID_CALL(name, minor)                                                                     \
    static void enter_##name(name##_Args *args)                                                    \
    {                                                                                              \
        enter(TN_CALL_##name, args, __builtin_return_address(0));                                  \
    }
#define EXTENSION_CALL(type, table, name, slot)                                                    \
    static PJRT_Error *enter_##name(name##_Args *args)                                             \
    {                                                                                              \
        return enter(TN_CALL_##name, args, __builtin_return_address(0));                           \
    }
#include "tenon/pjrt_fields.def"

static function *const entries[TN_CALL_COUNT] = {
#define CALL(name, minor)                       [TN_CALL_##name] = (function *)enter_##name,
#define EXTENSION_CALL(type, table, name, slot) [TN_CALL_##name] = (function *)enter_##name,
#include "tenon/pjrt_fields.def"
};

/* --- the table --- */

/* Puts our entry where the plugin's function stands, in a table of `size` bytes; keeps the
 * plugin's. */
static void take(int fn, char *table, size_t size)
{
    size_t slot = tn_calls[fn].slot;
    if (slot + sizeof(void *) > size) return;
    function *theirs, *ours = entries[fn];
    memcpy(&theirs, table + slot, sizeof theirs);
    if (!theirs) return;
    real[fn] = theirs;
    memcpy(table + slot, &ours, sizeof ours);
}

/* A copy of an extension, with our entries where we know it. */
static PJRT_Extension_Base *copy_extension(const PJRT_Extension_Base *from)
{
    size_t size = from->struct_size < sizeof *from ? sizeof *from : from->struct_size;
    char *copy = malloc(size);
    if (!copy) return NULL;
    memcpy(copy, from, size);
    for (int fn = TN_SLOT_COUNT; fn < TN_CALL_COUNT; fn++)
        if (tn_calls[fn].extension == (int)from->type && !real[fn]) take(fn, copy, size);
    return (PJRT_Extension_Base *)copy;
}

/* Makes the table look as if built at this minor. Calls that the plugin lacks are there and
 * UNIMPLEMENTED. */
static void disguise(PJRT_Api *api, int minor)
{
    for (int fn = 0; fn < TN_SLOT_COUNT; fn++) {
        if (tn_calls[fn].minor > minor) continue;
        api->struct_size = tn_calls[fn].slot + sizeof(void *);
        function *ours = entries[fn];
        memcpy((char *)api + tn_calls[fn].slot, &ours, sizeof ours);
    }
    api->pjrt_api_version.minor_version = minor;
}

static PJRT_Api *make_table(void)
{
    /* A newer plugin's table is longer than ours: what we do not know passes by untouched. */
    size_t size = plugin->struct_size, room = size < sizeof *plugin ? sizeof *plugin : size;
    PJRT_Api *api = calloc(1, room);
    if (!api) return NULL;
    memcpy(api, plugin, size);
    for (int fn = 0; fn < TN_SLOT_COUNT; fn++) take(fn, (char *)api, size);
    PJRT_Extension_Base **link = &api->extension_start;
    for (const PJRT_Extension_Base *e = plugin->extension_start; e; e = e->next) {
        *link = copy_extension(e);
        if (!*link) break;
        link = &(*link)->next;
    }
    if (tn_skew_plugin_minor()) disguise(api, tn_skew_plugin_minor());
    return api;
}

static bool complain(const char *what, const char *about)
{
    fprintf(stderr, "tenon layers: %s%s%s\n", what, *about ? ": " : "", about);
    return false;
}

static bool load_plugin(void)
{
    plugin_path = getenv("TENON_PLUGIN");
    if (!plugin_path || !*plugin_path)
        return complain("TENON_PLUGIN must name the plugin to load", "");
    void *library = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return complain("the plugin does not load", dlerror());
    const PJRT_Api *(*get)(void) = (const PJRT_Api *(*)(void))dlsym(library, "GetPjrtApi");
    if (!get) return complain("no GetPjrtApi in the plugin", plugin_path);
    if (get == GetPjrtApi) return complain("TENON_PLUGIN names the layers themselves", plugin_path);
    plugin = get();
    return plugin ? true : complain("GetPjrtApi of the plugin returned NULL", plugin_path);
}

static bool choose_layers(void)
{
    const char *at = getenv("TENON_LAYERS");
    for (at = at ? at : ""; *at;) {
        size_t n = strcspn(at, ", ");
        const tn_layer *found = NULL;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (strlen(known[i]->name) == n && !strncmp(known[i]->name, at, n)) found = known[i];
        if (n && !found)
            return complain("TENON_LAYERS may name trace, validate, fault, skew and record, not",
                            at);
        for (int i = 0; i < n_layers; i++)
            if (found && chain[i] == found)
                return complain("TENON_LAYERS names a layer twice", found->name);
        if (found) chain[n_layers++] = found;
        at += n + (at[n] != 0);
    }
    return true;
}

static PJRT_Api *table;

static void start(void)
{
    if (!load_plugin() || !choose_layers()) return;
    for (int i = 0; i < n_layers; i++) {
        const char *wrong = chain[i]->open(i);
        if (wrong) {
            complain(chain[i]->name, wrong);
            return;
        }
    }
    table = make_table();
}

__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    return table;
}

__attribute__((destructor)) static void end(void)
{
    if (!table) return;
    for (int i = 0; i < n_layers; i++)
        if (chain[i]->close) chain[i]->close();
}
