/* SPDX-License-Identifier: Apache-2.0 */
/* validate - holds client and plugin to the rules of the C API.
 *
 * Each breach is one line, "tenon-validate: [rule] what", with the calls that are involved and
 * where in the client they were made. The rules are in docs/rules.md.
 *
 *   TENON_VALIDATE=file      where the lines go; default stderr
 *   TENON_VALIDATE_STOP=1    a call on an object that has ended gives an error and does not reach
 *                            the plugin
 *   TENON_VALIDATE_FATAL=1   the first breach aborts the process
 *   TENON_VALIDATE_QUIET=1   no closing line
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "layers/objects.h"

enum { CANARY = 64, CANARY_BYTE = 0xC5, POISON = 0xA7, MOST_ARGS = 448 };

static int depth;
static FILE *report_file;
static bool stop, fatal, quiet;
static atomic_ullong calls;
static atomic_uint breaches;
static atomic_bool errors_are_ended; /* the client ends errors through the table */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- reports --- */

static void where(const tn_moment *m, char *text, size_t size)
{
    Dl_info info;
    int n = snprintf(text, size, "%s #%llu", m->fn >= 0 ? tn_calls[m->fn].name : "a callback",
                     (unsigned long long)m->number);
    if (m->site && dladdr(m->site, &info) && info.dli_fname) {
        const char *file = strrchr(info.dli_fname, '/');
        snprintf(text + n, size - (size_t)n, " (%s+%#tx%s%s)", file ? file + 1 : info.dli_fname,
                 (const char *)m->site - (const char *)info.dli_fbase, info.dli_sname ? " " : "",
                 info.dli_sname ? info.dli_sname : "");
    }
}

static void breach(const char *rule, const tn_moment *now, const char *fmt, ...) TN_PRINTF(3, 4);
static void breach(const char *rule, const tn_moment *now, const char *fmt, ...)
{
    char text[600], place[300] = "";
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (now) where(now, place, sizeof place);
    pthread_mutex_lock(&lock);
    fprintf(report_file, "tenon-validate: [%s] %s%s%s\n", rule, place, *place ? ": " : "", text);
    fflush(report_file);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&breaches, 1);
    if (fatal) abort();
}

/* --- host memory that the client has promised to leave alone --- */

struct pending_host {
    atomic_bool over; /* the plugin has said that it is done */
};

/* Of all bytes of little memory, of samples of much. Through the kernel, since a client that breaks
 * its promise may have freed the memory. False: it can't be read. */
static bool hash_host(const char *data, size_t size, uint64_t *out)
{
    enum { WHOLE = 4096, SAMPLES = 16, SAMPLE = 64 };
    char bytes[WHOLE];
    struct iovec local = {bytes, size}, remote[SAMPLES];
    size_t n = 1;
    remote[0] = (struct iovec){(void *)data, size};
    if (size > WHOLE) {
        for (n = 0; n < SAMPLES; n++)
            remote[n] =
                (struct iovec){(void *)(data + (size - SAMPLE) / (SAMPLES - 1) * n), SAMPLE};
        local.iov_len = SAMPLES * SAMPLE;
    }
    if (process_vm_readv(getpid(), &local, 1, remote, n, 0) != (ssize_t)local.iov_len) return false;
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < local.iov_len; i++) h = (h ^ (unsigned char)bytes[i]) * 1099511628211u;
    *out = h;
    return true;
}

static void host_done(PJRT_Error *error, void *user)
{
    atomic_store(&((struct pending_host *)user)->over, true);
    tn_layers_end_error(depth, error);
}

static void promise(tn_object *o, const PJRT_Client_BufferFromHostBuffer_Args *a)
{
    o->pending = NULL;
    o->host_size = 0;
    if (a->host_buffer_semantics != PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes &&
        a->host_buffer_semantics != PJRT_HostBufferSemantics_kImmutableZeroCopy)
        return;
    int64_t first;
    if (!a->done_with_host_buffer ||
        !tn_host_data_span(a->type, a->dims, a->num_dims, a->byte_strides, a->num_byte_strides,
                           &first, &o->host_size) ||
        !o->host_size)
        return;
    /* What is over already needs no watching, and the client may have its memory back. */
    ARGS(Event_IsReady, is, .event = a->done_with_host_buffer);
    PJRT_Error *e = BELOW(depth, Event_IsReady, &is);
    if (e || is.is_ready) {
        tn_layers_end_error(depth, e);
        return;
    }
    o->host = (const char *)a->data + first;
    o->promised_by = a->host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy
                         ? "kImmutableZeroCopy"
                         : "kImmutableUntilTransferCompletes";
    if (!hash_host(o->host, o->host_size, &o->host_hash)) return;
    struct pending_host *p = calloc(1, sizeof *p);
    if (!p) return;
    ARGS(Event_OnReady, on, .event = a->done_with_host_buffer, .callback = host_done,
         .user_arg = p);
    e = BELOW(depth, Event_OnReady, &on);
    if (e) {
        tn_layers_end_error(depth, e);
        free(p);
        return;
    }
    o->pending = p; /* stays: the callback may come at any time */
}

static void check_promise(tn_object *o, const tn_moment *now)
{
    if (!o->pending || atomic_load(&o->pending->over)) return;
    uint64_t hash;
    bool readable = hash_host(o->host, o->host_size, &hash);
    if (atomic_load(&o->pending->over)) return; /* it ended while we looked */
    if (readable && hash == o->host_hash) return;
    char made[300];
    where(&o->made, made, sizeof made);
    breach("host-memory-changed", now,
           "the %zu bytes at %p that %s gave as %s were %s before done_with_host_buffer was ready",
           o->host_size, (const void *)o->host, made, o->promised_by,
           readable ? "changed" : "unmapped");
    o->pending = NULL;
}

/* --- objects --- */

static void *client_of(const tn_call *c)
{
    const tn_struct *s = &tn_calls[c->fn].args;
    for (int i = 0; i < s->n_fields; i++) {
        const tn_field *f = &s->fields[i];
        if (f->kind != TN_FIELD_HANDLE || f->direction == TN_FIELD_OUT ||
            f->direction == TN_FIELD_MAKES || !tn_field_covered(f, c->args))
            continue;
        void *handle = tn_field_pointer(f, c->args);
        if (!handle) continue;
        if (f->cls == TN_CLASS_Client) return handle;
        tn_object *o = tn_object_find(handle, (tn_class)f->cls);
        if (o && o->client) return o->client;
    }
    return NULL;
}

static void made(void *handle, tn_class cls, bool owned, void *client, const tn_moment *now)
{
    if (!handle) return;
    tn_object *o = tn_object_get(handle, cls);
    if (!owned && o->made.fn >= 0 && !o->with_client) return; /* a getter's answer, again */
    bool again = o->alive > 0 && cls != TN_CLASS_Error && !o->with_client;
    o->alive = again ? o->alive + 1 : 1;
    o->owned = owned;
    o->client = cls == TN_CLASS_Client ? handle : client;
    o->made = *now;
    if (!again) {
        o->with_client = o->ready = o->donated = false;
        o->ended.fn = o->deleted.fn = -1;
        o->callbacks = NULL;
        o->pending = NULL;
        o->host_size = 0;
    }
}

/* What is wrong with using this handle now; true: it has ended. */
static bool used_after_end(void *handle, const tn_field *f, const tn_moment *now)
{
    tn_object *o = handle ? tn_object_find(handle, (tn_class)f->cls) : NULL;
    if (!o) return false;
    char ended[300];
    if (o->with_client) {
        where(&o->ended, ended, sizeof ended);
        breach("use-after-client", now, "%s: the client of this %s was destroyed by %s", f->name,
               tn_class_name(o->cls), ended);
        return true;
    }
    if (!o->owned || o->alive > 0) return false;
    where(&o->ended, ended, sizeof ended);
    breach(f->direction == TN_FIELD_ENDS ? "double-free" : "use-after-destroy", now,
           "%s: this %s (%p) was destroyed by %s", f->name, tn_class_name(o->cls), handle, ended);
    return true;
}

static void used_deleted(PJRT_Buffer *b, const char *what, size_t index, const tn_moment *now)
{
    tn_object *o = b ? tn_object_find(b, TN_CLASS_Buffer) : NULL;
    if (!o) return;
    check_promise(o, now);
    if (o->deleted.fn < 0) return;
    char deleted[300];
    where(&o->deleted, deleted, sizeof deleted);
    breach(o->donated ? "use-after-donation" : "use-after-delete", now,
           "%s %zu: this buffer (%p) was %s by %s", what, index, (void *)b,
           o->donated ? "donated" : "deleted", deleted);
}

static bool check_handles(const tn_call *c, const tn_moment *now)
{
    bool bad = false;
    const tn_struct *s = &tn_calls[c->fn].args;
    for (int i = 0; i < s->n_fields; i++) {
        const tn_field *f = &s->fields[i];
        if (f->kind != TN_FIELD_HANDLE || f->direction == TN_FIELD_OUT ||
            f->direction == TN_FIELD_MAKES || !tn_field_covered(f, c->args))
            continue;
        bad |= used_after_end(tn_field_pointer(f, c->args), f, now);
    }
    if (c->fn == TN_CALL_PJRT_LoadedExecutable_Execute) {
        static const tn_field argument = {
            .name = "argument", .cls = TN_CLASS_Buffer, .direction = TN_FIELD_IN};
        const PJRT_LoadedExecutable_Execute_Args *a = c->args;
        for (size_t d = 0; d < a->num_devices; d++)
            for (size_t k = 0; k < a->num_args; k++)
                bad |= used_after_end(a->argument_lists[d][k], &argument, now);
    }
    return bad;
}

static bool reads_content(int fn)
{
    switch (fn) {
    case TN_CALL_PJRT_Buffer_ToHostBuffer:
    case TN_CALL_PJRT_Buffer_CopyToDevice:
    case TN_CALL_PJRT_Buffer_CopyToMemory:
    case TN_CALL_PJRT_Buffer_CopyRawToHost:
    case TN_CALL_PJRT_Buffer_CopyRawToHostFuture:
    case TN_CALL_PJRT_Buffer_Bitcast:
    case TN_CALL_PJRT_Buffer_DonateWithControlDependency:
    case TN_CALL_PJRT_Buffer_IncreaseExternalReferenceCount:
    case TN_CALL_PJRT_Buffer_UnsafePointer: return true;
    }
    return false;
}

/* --- callbacks --- */

struct callback_note {
    struct callback_note *next;          /* of its event */
    struct callback_note *newer, *older; /* of all that have not come */
    tn_object *event;
    PJRT_Event_OnReadyCallback callback;
    void *user;
    atomic_int times;
    bool ready; /* the event is known to be ready, so the callback must come */
    void *client;
    tn_moment asked;
};

static callback_note *waiting;    /* under `lock` */
static callback_note *ring[4096]; /* those that have come, for a while, to notice a second time */
static size_t ring_at;

/* Under `lock`. */
static void forget(callback_note *n)
{
    if (n->newer) n->newer->older = n->older;
    else waiting = n->older;
    if (n->older) n->older->newer = n->newer;
    if (!n->event) return;
    for (callback_note **at = &n->event->callbacks; *at; at = &(*at)->next)
        if (*at == n) {
            *at = n->next;
            for (callback_note *k = n->event->callbacks; k; k = k->next) k->ready = true;
            n->event->ready = true;
            break;
        }
}

static void came(PJRT_Error *error, void *user)
{
    callback_note *n = user;
    if (atomic_fetch_add(&n->times, 1)) {
        breach("callback-twice", &n->asked, "the callback of this call came again");
        return;
    }
    tn_moment now = {.fn = TN_CALL_PJRT_Event_OnReady, .number = n->asked.number};
    made(error, TN_CLASS_Error, true, NULL, &now);
    PJRT_Event_OnReadyCallback callback = n->callback;
    void *arg = n->user;
    pthread_mutex_lock(&lock);
    forget(n);
    free(ring[ring_at % 4096]);
    ring[ring_at++ % 4096] = n;
    pthread_mutex_unlock(&lock);
    callback(error, arg);
}

static callback_note *wrap_callback(PJRT_Event_OnReady_Args *a, const tn_moment *now)
{
    callback_note *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    n->callback = a->callback;
    n->user = a->user_arg;
    n->asked = *now;
    tn_object *o = tn_object_find(a->event, TN_CLASS_Event);
    pthread_mutex_lock(&lock);
    if (o) {
        n->event = o;
        n->client = o->client;
        n->ready = o->ready;
        n->next = o->callbacks;
        o->callbacks = n;
    }
    n->older = waiting;
    if (waiting) waiting->newer = n;
    waiting = n;
    pthread_mutex_unlock(&lock);
    a->callback = came;
    a->user_arg = n;
    return n;
}

static void is_ready(PJRT_Event *event)
{
    tn_object *o = tn_object_find(event, TN_CLASS_Event);
    if (!o || o->ready) return;
    pthread_mutex_lock(&lock);
    o->ready = true;
    for (callback_note *n = o->callbacks; n; n = n->next) n->ready = true;
    pthread_mutex_unlock(&lock);
}

/* Callbacks that must have come. client NULL: at the end of the process, of events that were ready.
 */
static void check_callbacks(void *client)
{
    enum { MOST = 64 };
    tn_moment late[MOST];
    bool ready[MOST];
    int n = 0;
    pthread_mutex_lock(&lock);
    for (callback_note *w = waiting; w && n < MOST; w = w->older)
        if (client ? w->client == client : w->ready) {
            ready[n] = w->ready;
            late[n++] = w->asked;
            w->client = NULL;
        }
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n; i++)
        breach("callback-never", &late[i], "the callback has not come by the end of %s%s",
               client ? "the client" : "the process",
               ready[i] ? ", though the event was ready" : "");
}

/* --- leaks --- */

typedef struct {
    void *client; /* NULL: of all that are left */
    struct {
        tn_class cls;
        tn_moment made;
        size_t n;
    } groups[64];
    size_t n_groups;
    const tn_moment *now;
} leak_list;

static void add_leak(tn_object *o, void *user)
{
    leak_list *l = user;
    if (!o->owned || o->alive <= 0 || o->with_client) return;
    if (l->client ? o->client != l->client || o->handle == l->client : false) return;
    if (o->cls == TN_CLASS_Error && !atomic_load(&errors_are_ended)) return;
    size_t i = 0;
    while (i < l->n_groups &&
           (l->groups[i].cls != o->cls || l->groups[i].made.site != o->made.site ||
            l->groups[i].made.fn != o->made.fn))
        i++;
    if (i == 64) return;
    if (i == l->n_groups) {
        l->groups[l->n_groups++].cls = o->cls;
        l->groups[i].made = o->made;
        l->groups[i].n = 0;
    }
    if (o->made.number < l->groups[i].made.number) l->groups[i].made = o->made;
    l->groups[i].n++;
}

static void end_with_client(tn_object *o, void *user)
{
    leak_list *l = user;
    if (o->client != l->client || o->handle == l->client || o->with_client) return;
    if (o->owned && o->alive <= 0) return;
    o->with_client = true;
    o->ended = *l->now;
}

static void report_leaks(leak_list *l, const char *at)
{
    tn_objects_each(add_leak, l);
    for (size_t i = 0; i < l->n_groups; i++) {
        char text[300];
        where(&l->groups[i].made, text, sizeof text);
        breach("leak", NULL, "%zu %s%s alive at the end of %s; %s made by %s", l->groups[i].n,
               tn_class_name(l->groups[i].cls), l->groups[i].n > 1 ? "s" : "", at,
               l->groups[i].n > 1 ? "the first" : "it was", text);
    }
}

/* --- out fields --- */

static void poison(const tn_call *c, char *args)
{
    const tn_struct *s = &tn_calls[c->fn].args;
    for (int i = 0; i < s->n_fields; i++) {
        const tn_field *f = &s->fields[i];
        bool is_out = f->direction == TN_FIELD_OUT || f->direction == TN_FIELD_MAKES;
        if (is_out && f->kind != TN_FIELD_INLINE && tn_field_covered(f, args))
            memset(args + f->offset, POISON, f->size);
    }
}

static bool is_poison(const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)at[i] != POISON) return false;
    return true;
}

/* Is this the number behind a flag that says that the number is not given? */
static bool excused(const tn_struct *s, int i, const char *args)
{
    const tn_field *f = &s->fields[i];
    if (f->count_offset != f->offset && f->kind != TN_FIELD_INT && !tn_field_count(f, args))
        return true; /* the address of an array without elements */
    if (i + 1 >= s->n_fields) return false;
    const tn_field *flag = f + 1;
    size_t n = strlen(f->name);
    return flag->kind == TN_FIELD_BOOL && !strncmp(flag->name, f->name, n) &&
           !strcmp(flag->name + n, "_is_set") && tn_field_covered(flag, args) &&
           !tn_field_int(flag, args);
}

static void check_outs(const tn_call *c, char *args, const tn_moment *now)
{
    const tn_struct *s = &tn_calls[c->fn].args;
    for (int i = 0; i < s->n_fields; i++) {
        const tn_field *f = &s->fields[i];
        bool is_out = f->direction == TN_FIELD_OUT || f->direction == TN_FIELD_MAKES;
        if (!is_out || f->kind == TN_FIELD_INLINE || !tn_field_covered(f, args)) continue;
        char *at = args + f->offset;
        if (is_poison(at, f->size)) {
            /* A plugin can't write a field that is newer than itself. */
            if (f->minor <= tn_layers_minor() && !excused(s, i, args))
                breach("out-field-unset", now, "%s was not written", f->name);
            memcpy(at, (const char *)c->args + f->offset, f->size); /* as without us */
        } else if (f->kind == TN_FIELD_BOOL && *(unsigned char *)at > 1) {
            breach("out-field-unset", now, "%s is no bool: %d", f->name, *(unsigned char *)at);
        }
    }
}

/* --- what a call does --- */

/* What a deleter deletes, to be called once. NULL: that was not the first time. */
static tn_object *end_holder(void *holder, tn_class cls)
{
    tn_object *o = tn_object_find(holder, cls);
    if (!o || !o->deleter) return NULL;
    if (o->alive <= 0) {
        breach("double-free", &o->made, "the deleter of what this call gave came again");
        return NULL;
    }
    o->alive--;
    o->ended = (tn_moment){.fn = -1};
    return o;
}

/* The holders, by class and by type; a deleter is called as the type that it has. */
#define HOLDERS(X)                                                                                 \
    X(Device_Attributes, PJRT_Device_Attributes)                                                   \
    X(DeviceAssignmentSerialized, PJRT_DeviceAssignmentSerialized)                                 \
    X(SerializedExecutable, PJRT_SerializedExecutable)                                             \
    X(SerializedCompileOptions, PJRT_SerializedCompileOptions)                                     \
    X(SerializedTopology, PJRT_SerializedTopology)                                                 \
    X(SerializedLayout, PJRT_Layouts_SerializedLayout)
#define X(cls, type)                                                                               \
    static void delete_##cls(type *holder)                                                         \
    {                                                                                              \
        tn_object *o = end_holder(holder, TN_CLASS_##cls);                                         \
        if (o) ((void (*)(type *))o->deleter)(holder);                                             \
    }
HOLDERS(X)
#undef X

static tn_deleter *deleter_of(tn_class cls)
{
    switch ((int)cls) {
#define X(name, type)                                                                              \
    case TN_CLASS_##name: return (tn_deleter *)delete_##name;
        HOLDERS(X)
#undef X
    }
    return NULL;
}

/* Lets the deleter that comes with a holder pass by us. */
static void wrap_deleter(const tn_call *c, char *args)
{
    const tn_struct *s = &tn_calls[c->fn].args;
    for (int i = 0; i + 1 < s->n_fields; i++) {
        const tn_field *f = &s->fields[i], *d = f + 1;
        if (f->direction != TN_FIELD_MAKES || f->cls < TN_CLASS_Device_Attributes ||
            d->kind != TN_FIELD_FUNCTION || !tn_field_covered(d, args))
            continue;
        void *holder = tn_field_pointer(f, args), *theirs = tn_field_pointer(d, args);
        tn_deleter *ours = deleter_of((tn_class)f->cls);
        if (!holder || !theirs || !ours) continue;
        tn_object_get(holder, (tn_class)f->cls)->deleter = (tn_deleter *)(uintptr_t)theirs;
        memcpy(args + d->offset, &ours, sizeof ours);
    }
}

static void note_makes(const tn_call *c, char *args, const tn_moment *now)
{
    const tn_struct *s = &tn_calls[c->fn].args;
    void *client = NULL;
    bool asked = false;
    for (int i = 0; i < s->n_fields; i++) {
        const tn_field *f = &s->fields[i];
        bool one = f->kind == TN_FIELD_HANDLE, many = f->kind == TN_FIELD_HANDLES;
        if ((!one && !many) || (f->direction != TN_FIELD_OUT && f->direction != TN_FIELD_MAKES) ||
            !tn_field_covered(f, args))
            continue;
        if (!asked) client = client_of(c), asked = true;
        if (one) {
            made(tn_field_pointer(f, args), (tn_class)f->cls, f->direction == TN_FIELD_MAKES,
                 client, now);
        } else {
            void *const *list = tn_field_pointer(f, args);
            for (size_t k = 0; list && k < tn_field_count(f, args); k++)
                made(list[k], (tn_class)f->cls, false, client, now);
        }
    }
}

static void note_ends(const tn_call *c, const tn_moment *now)
{
    const tn_struct *s = &tn_calls[c->fn].args;
    for (int i = 0; i < s->n_fields; i++) {
        const tn_field *f = &s->fields[i];
        if (f->direction != TN_FIELD_ENDS) continue;
        void *handle = tn_field_pointer(f, c->args);
        tn_object *o = handle ? tn_object_find(handle, (tn_class)f->cls) : NULL;
        if (!o || o->alive <= 0) continue;
        o->alive--;
        o->ended = *now;
    }
}

static void note_execute(const tn_call *c, const tn_moment *now)
{
    const PJRT_LoadedExecutable_Execute_Args *a = c->args;
    tn_object *e = tn_object_find(a->executable, TN_CLASS_LoadedExecutable);
    void *client = e ? e->client : NULL;
    ARGS(LoadedExecutable_GetExecutable, get, .loaded_executable = a->executable);
    size_t n_outputs = 0;
    if (e && e->host_size) n_outputs = e->host_size - 1; /* kept from the first run */
    else {
        PJRT_Error *error = BELOW(depth, LoadedExecutable_GetExecutable, &get);
        if (!error) {
            ARGS(Executable_NumOutputs, n, .executable = get.executable);
            tn_layers_end_error(depth, BELOW(depth, Executable_NumOutputs, &n));
            n_outputs = n.num_outputs;
            ARGS(Executable_Destroy, d, .executable = get.executable);
            error = BELOW(depth, Executable_Destroy, &d);
            if (e) e->host_size = n_outputs + 1;
        }
        tn_layers_end_error(depth, error);
    }
    for (size_t d = 0; d < a->num_devices; d++) {
        for (size_t k = 0; k < n_outputs && a->output_lists; k++)
            made(a->output_lists[d][k], TN_CLASS_Buffer, true, client, now);
        if (a->device_complete_events)
            made(a->device_complete_events[d], TN_CLASS_Event, true, client, now);
        for (size_t k = 0; k < a->num_args; k++) {
            PJRT_Buffer *b = a->argument_lists[d][k];
            tn_object *o = tn_object_find(b, TN_CLASS_Buffer);
            if (!o || o->deleted.fn >= 0) continue;
            ARGS(Buffer_IsDeleted, is, .buffer = b);
            PJRT_Error *error = BELOW(depth, Buffer_IsDeleted, &is);
            if (!error && is.is_deleted) {
                o->donated = true;
                o->deleted = *now;
            }
            tn_layers_end_error(depth, error);
        }
    }
}

static void before(const tn_call *c, const tn_moment *now)
{
    switch (c->fn) {
    case TN_CALL_PJRT_Event_Error: {
        PJRT_Event_Error_Args *a = c->args;
        ARGS(Event_IsReady, is, .event = a->event);
        PJRT_Error *e = BELOW(depth, Event_IsReady, &is);
        if (!e && !is.is_ready)
            breach("error-before-ready", now, "the event is not ready, so it has no error yet");
        tn_layers_end_error(depth, e);
        break;
    }
    case TN_CALL_PJRT_LoadedExecutable_Execute: {
        const PJRT_LoadedExecutable_Execute_Args *a = c->args;
        for (size_t d = 0; d < a->num_devices; d++)
            for (size_t k = 0; k < a->num_args; k++)
                used_deleted(a->argument_lists[d][k], "argument", k, now);
        break;
    }
    case TN_CALL_PJRT_Buffer_Destroy: {
        tn_object *o =
            tn_object_find(((PJRT_Buffer_Destroy_Args *)c->args)->buffer, TN_CLASS_Buffer);
        if (o) check_promise(o, now);
        break;
    }
    case TN_CALL_PJRT_Client_Destroy: {
        leak_list l = {.client = ((PJRT_Client_Destroy_Args *)c->args)->client};
        report_leaks(&l, "its client");
        break;
    }
    }
    if (reads_content(c->fn)) {
        const tn_field *f = &tn_calls[c->fn].args.fields[0];
        used_deleted(tn_field_pointer(f, c->args), f->name, 0, now);
    }
}

static void after(const tn_call *c, char *args, const tn_moment *now)
{
    wrap_deleter(c, args);
    note_makes(c, args, now);
    if (c->fn == TN_CALL_PJRT_Client_Destroy) note_ends(c, now);
    switch (c->fn) {
    case TN_CALL_PJRT_LoadedExecutable_Execute: note_execute(c, now); break;
    case TN_CALL_PJRT_Client_BufferFromHostBuffer: {
        const PJRT_Client_BufferFromHostBuffer_Args *a = (const void *)args;
        promise(tn_object_get(a->buffer, TN_CLASS_Buffer), a);
        break;
    }
    case TN_CALL_PJRT_Event_IsReady: {
        const PJRT_Event_IsReady_Args *a = (const void *)args;
        if (a->is_ready) is_ready(a->event);
        break;
    }
    case TN_CALL_PJRT_Buffer_Delete: {
        tn_object *o =
            tn_object_find(((PJRT_Buffer_Delete_Args *)c->args)->buffer, TN_CLASS_Buffer);
        if (o && o->deleted.fn < 0) o->deleted = *now;
        break;
    }
    case TN_CALL_PJRT_Client_Destroy: {
        leak_list l = {.client = ((PJRT_Client_Destroy_Args *)c->args)->client, .now = now};
        tn_objects_each(end_with_client, &l);
        check_callbacks(l.client);
        break;
    }
    }
}

static PJRT_Error *call(const tn_call *c)
{
    tn_moment now = {c->fn, tn_layers_thread(),
                     atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1, c->site};
    if (c->fn == TN_CALL_PJRT_Error_Destroy) atomic_store(&errors_are_ended, true);
    if (check_handles(c, &now) && stop)
        return tn_layers_error(PJRT_Error_Code_FAILED_PRECONDITION,
                               "tenon-validate: %s was called on an object that has ended",
                               tn_calls[c->fn].name);
    before(c, &now);
    size_t size;
    memcpy(&size, c->args, sizeof size);
    if (size < sizeof size || size > MOST_ARGS) return tn_call_next(c);
    _Alignas(16) char args[MOST_ARGS + CANARY];
    memcpy(args, c->args, size);
    memset(args + size, CANARY_BYTE, CANARY);
    poison(c, args);
    callback_note *note = NULL;
    if (c->fn == TN_CALL_PJRT_Event_OnReady)
        note = wrap_callback((PJRT_Event_OnReady_Args *)args, &now);
    /* An object may be gone, and its address in use again, before the call returns. */
    if (c->fn != TN_CALL_PJRT_Client_Destroy) note_ends(c, &now);
    tn_call inner = *c;
    inner.args = args;
    PJRT_Error *e = tn_call_next(&inner);
    for (int i = 0; i < CANARY; i++)
        if ((unsigned char)args[size + (size_t)i] != CANARY_BYTE) {
            breach("write-beyond-struct-size", &now,
                   "the plugin wrote byte %d behind the %zu bytes of the caller's struct", i, size);
            break;
        }
    if (e) {
        made(e, TN_CLASS_Error, true, NULL, &now);
        if (c->fn == TN_CALL_PJRT_Event_Await) is_ready(((PJRT_Event_Await_Args *)c->args)->event);
        if (note) { /* no callback will come */
            pthread_mutex_lock(&lock);
            forget(note);
            pthread_mutex_unlock(&lock);
            free(note);
        }
        return e;
    }
    if (c->fn == TN_CALL_PJRT_Event_Await) is_ready(((PJRT_Event_Await_Args *)c->args)->event);
    check_outs(c, args, &now);
    after(&inner, args, &now);
    if (note) {
        PJRT_Event_OnReady_Args *a = (PJRT_Event_OnReady_Args *)args, *theirs = c->args;
        a->callback = theirs->callback; /* the caller's struct stays as it was */
        a->user_arg = theirs->user_arg;
    }
    memcpy(c->args, args, size);
    return NULL;
}

static const char *open_validate(int my_depth)
{
    depth = my_depth;
    const char *path = getenv("TENON_VALIDATE");
    report_file = path && *path ? fopen(path, "a") : stderr;
    if (!report_file) return "TENON_VALIDATE: the file can't be written";
    stop = getenv("TENON_VALIDATE_STOP") != NULL;
    fatal = getenv("TENON_VALIDATE_FATAL") != NULL;
    quiet = getenv("TENON_VALIDATE_QUIET") != NULL;
    return NULL;
}

static void close_validate(void)
{
    leak_list l = {0};
    report_leaks(&l, "the process");
    check_callbacks(NULL);
    if (!quiet)
        fprintf(report_file, "tenon-validate: %llu calls, %u breaches\n",
                (unsigned long long)atomic_load(&calls), atomic_load(&breaches));
    fflush(report_file);
}

const tn_layer tn_layer_validate = {"validate", open_validate, call, close_validate};
