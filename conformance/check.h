/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - the rules that a PJRT plugin must keep, one check each, by number.
 *
 * A check runs in a process of its own with a plugin loaded and a client of two devices made (one,
 * if the plugin has no more), sees the plugin through the C ABI alone, and ends at its first failed
 * CHECK. Numbers are stable: reports, lists of known failures and docs/behaviours.md speak of them.
 */
#ifndef TN_CONFORMANCE_CHECK_H
#define TN_CONFORMANCE_CHECK_H

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/host.h"

typedef struct {
    tn_plugin *plugin;
    const PJRT_Api *api;
    tn_host_client *host;
    PJRT_Client *client;
    PJRT_Device *device, *second;
    PJRT_Memory *memory; /* default memory of device */
    int variant;         /* which of the row's variants runs */
    const void *row;     /* the check_row */
} context;

typedef struct check_row {
    int number;
    const char *rule;
    void (*run)(context *c);
    /* A row that says the same of many things (types, minors) has variants, each a check of its
     * own. */
    const char *(*variant)(const struct check_row *row, int i); /* its name; NULL: no more */
    const void *arg;
    bool bare; /* makes plugin and client itself */
} check_row;

typedef struct {
    const char *name, *title;
    const check_row *rows; /* ends with a NULL run */
} chapter;
extern const chapter chapters[];
extern const size_t n_chapters;
/* Who depends on the rule, in a sentence; "" if nothing is known. */
const char *who_needs(int number);

/* Ends the check: failed, or skipped with a reason. */
_Noreturn void fail(const char *file, int line, const char *fmt, ...) TN_PRINTF(3, 4);
_Noreturn void skip(const char *reason);

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) fail(__FILE__, __LINE__, "%s", #condition);                              \
    } while (0)
#define CHECK_EQ(got, want)                                                                        \
    do {                                                                                           \
        long long got_ = (long long)(got), want_ = (long long)(want);                              \
        if (got_ != want_)                                                                         \
            fail(__FILE__, __LINE__, "%s is %lld, expected %lld", #got, got_, want_);              \
    } while (0)

/* Declares the argument struct of PJRT_<name> with its size set. */
#define ARGS(name, var, ...)                                                                       \
    PJRT_##name##_Args var = {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, __VA_ARGS__}
/* Calls and must succeed. */
#define OK(name, args) check_ok(c, __FILE__, __LINE__, TN_PLUGIN_CALL(c->plugin, PJRT_##name, args))
/* Calls and must fail with this code; the message must be non-empty. */
#define FAILS(code, name, args)                                                                    \
    check_fails(c, __FILE__, __LINE__, TN_##code, TN_PLUGIN_CALL(c->plugin, PJRT_##name, args))
/* Calls; a plugin may leave it out. True if it worked. */
#define OPTIONAL(name, args)                                                                       \
    check_optional(c, __FILE__, __LINE__, TN_PLUGIN_CALL(c->plugin, PJRT_##name, args))

void check_ok(context *c, const char *file, int line, tn_status *s);
void check_fails(context *c, const char *file, int line, tn_code code, tn_status *s);
/* Takes `s`, which must be an error of this code whose message holds `text`. */
#define expect_error(s, code, text) check_error(__FILE__, __LINE__, s, code, text)
void check_error(const char *file, int line, tn_status *s, tn_code code, const char *text);
bool check_optional(context *c, const char *file, int line, tn_status *s);

/* Something measured, for the report. The check passes. */
void measured(const char *fmt, ...) TN_PRINTF(1, 2);

/* --- how the child is set up --- */
extern const char *plugin_path;                    /* the plugin, or the layers in front of it */
extern const char *real_plugin_path, *layers_path; /* layers_path NULL: there are none */
extern const char *client_options[16];
extern size_t n_client_options;
void set_up(context *c);
/* Puts the layers in front of the plugin that set_up opens: TENON_LAYERS, and one more variable. */
void set_layers(const char *layers, const char *variable, const char *value);

/* --- what many checks need --- */

/* The bytes of a program that comes with the suite. */
const void *program_data(const char *name, size_t *size);
/* Compiles MLIR text. */
PJRT_LoadedExecutable *load_text(context *c, const char *text);
tn_status *try_text(context *c, const char *text, PJRT_LoadedExecutable **out);
/* A dense array of any type on the first device. */
PJRT_Buffer *array(context *c, const void *data, PJRT_Buffer_Type type, const int64_t *dims,
                   size_t n);
/* A buffer's content in host form, dense; freed by the caller. */
tn_array read_buffer(context *c, PJRT_Buffer *b);
void end_executable(context *c, PJRT_Executable *e);
void end_event(context *c, PJRT_Event *e);
bool has(context *c, size_t slot);
#define HAS(name) has(c, offsetof(PJRT_Api, PJRT_##name))
/* Bytes of this process in memory; its threads; its open files. */
size_t resident_bytes(void);
size_t count_threads(void);
size_t count_files(void);

PJRT_LoadedExecutable *load(context *c, const char *program, int replicas);
PJRT_Executable *executable_of(context *c, PJRT_LoadedExecutable *loaded);
void unload(context *c, PJRT_LoadedExecutable *loaded);
PJRT_Buffer *floats(context *c, PJRT_Device *device, float a, float b, float d,
                    float e); /* f32[4] */
PJRT_Buffer *scalar_u32(context *c, PJRT_Device *device, uint32_t v);
/* Reads an f32[4]; fails the check if the buffer is in error. */
void expect_floats(context *c, PJRT_Buffer *b, float a, float d, float e, float f);
void destroy_buffer(context *c, PJRT_Buffer *b);
void delete_buffer(context *c, PJRT_Buffer *b);
bool is_deleted(context *c, PJRT_Buffer *b);
tn_status *await(context *c, PJRT_Event *e);         /* awaits and destroys */
tn_status *await_buffer(context *c, PJRT_Buffer *b); /* its ready event */
PJRT_Event *ready_event(context *c, PJRT_Buffer *b);
/* One device, all inputs; returns Execute's own status. outs[n_out] and *done are filled on
 * success. */
tn_status *execute(context *c, PJRT_LoadedExecutable *e, PJRT_Buffer *const *in, size_t n,
                   PJRT_Buffer **outs, PJRT_Event **done);
PJRT_Client_BufferFromHostBuffer_Args host_buffer(context *c, const void *data,
                                                  PJRT_Buffer_Type type, const int64_t *dims,
                                                  size_t n, PJRT_HostBufferSemantics semantics);
PJRT_Memory *memory_of_kind(context *c, PJRT_Device *device,
                            const char *kind); /* NULL if there is none */
double seconds(void);

#endif
