/* SPDX-License-Identifier: Apache-2.0 */
/* trace - writes down every call.
 *
 * A call copies its arguments into a buffer of its thread and returns; another thread turns them
 * into text and JSON, so that a call costs a fraction of a microsecond. Work that ends later (a
 * run, a transfer) is followed by a callback on the event that the plugin gave, and drawn from the
 * call to the callback.
 *
 *   TENON_TRACE=prefix       prefix.txt, prefix.json (Chrome, Perfetto); default tenon-trace-<pid>
 *   TENON_TRACE_DUMP=folder  every program and its compile options, the options as text
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layers/print.h"
#include "tenon/program.h"

enum { CALL_RECORD, READY_RECORD, CHUNK = 1 << 18, MOST_ARGS = 512 };

typedef struct {
    uint32_t bytes; /* of the whole record */
    uint16_t fn, kind;
    uint64_t start, end, number; /* number: of the call; READY: of the call that began the work */
    int32_t code, index;         /* index: which of its events */
    uint32_t n_args, n_pieces;
} record;

typedef struct chunk {
    _Atomic(struct chunk *) next;
    _Atomic uint32_t used;
    uint32_t taken; /* the writer's */
    _Alignas(8) char bytes[CHUNK];
} chunk;

typedef struct thread_log {
    struct thread_log *next;
    int thread;
    chunk *first; /* the writer's */
    chunk *last;  /* the thread's */
} thread_log;

static int depth, process;
static _Atomic(thread_log *) logs;
static _Thread_local thread_log *mine;
static atomic_ullong calls;
static uint64_t origin;
static FILE *text_file, *json_file;
static const char *dump;
static pthread_t writer;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static bool ending;
static atomic_bool off; /* in the child of a fork there is no writer */

static struct {
    uint64_t calls, errors, total, least, most;
} sums[TN_CALL_COUNT];

/* --- the calling side --- */

static thread_log *log_of_thread(void)
{
    if (mine) return mine;
    thread_log *l = calloc(1, sizeof *l);
    chunk *c = calloc(1, sizeof *c);
    if (!l || !c) {
        free(l);
        free(c);
        return NULL;
    }
    *l = (thread_log){.thread = tn_layers_thread(), .first = c, .last = c};
    thread_log *head = atomic_load(&logs);
    do l->next = head;
    while (!atomic_compare_exchange_weak(&logs, &head, l));
    return mine = l;
}

/* Room for a record of the greatest size, in the thread's own chunk. */
static char *reserve(thread_log *l)
{
    enum { MOST = sizeof(record) + MOST_ARGS + TN_CAPTURE_ROOM };
    uint32_t used = atomic_load_explicit(&l->last->used, memory_order_relaxed);
    if (used + MOST > CHUNK) {
        chunk *c = malloc(sizeof *c);
        if (!c) return NULL;
        atomic_init(&c->next, NULL);
        atomic_init(&c->used, 0);
        c->taken = 0;
        atomic_store_explicit(&l->last->next, c, memory_order_release);
        l->last = c;
        used = 0;
    }
    return l->last->bytes + used;
}

static void commit(thread_log *l, record *r)
{
    r->bytes = (r->bytes + 7) & ~7u;
    atomic_fetch_add_explicit(&l->last->used, r->bytes, memory_order_release);
}

static void note_call(const tn_call *c, uint64_t number, uint64_t start, uint64_t end,
                      PJRT_Error *error)
{
    thread_log *l = log_of_thread();
    char *at = l ? reserve(l) : NULL;
    if (!at) return;
    record *r = (record *)at;
    size_t size;
    memcpy(&size, c->args, sizeof size);
    if (size > tn_calls[c->fn].args.size) size = tn_calls[c->fn].args.size;
    *r = (record){.fn = (uint16_t)c->fn,
                  .kind = CALL_RECORD,
                  .start = start,
                  .end = end,
                  .number = number,
                  .n_args = (uint32_t)size};
    at += sizeof *r;
    memcpy(at, c->args, size);
    memcpy(at, &size, sizeof size);
    at += (size + 7) & ~(size_t)7;
    if (error) {
        char message[256];
        r->code = (int32_t)tn_layers_describe(depth, error, message, sizeof message);
        r->index = (int32_t)strlen(message); /* the message comes before the pieces */
        memcpy(at, message, strlen(message));
        at += (strlen(message) + 7) & ~(size_t)7;
    }
    r->n_pieces = (uint32_t)tn_capture(c->fn, c->args, error != NULL, at);
    at += r->n_pieces;
    r->bytes = (uint32_t)(at - (char *)r);
    commit(l, r);
}

typedef struct {
    uint64_t number, start;
    int fn, index;
} pending;

static void on_ready(PJRT_Error *error, void *user)
{
    pending *p = user;
    thread_log *l = atomic_load(&off) ? NULL : log_of_thread();
    char *at = l ? reserve(l) : NULL;
    if (at) {
        record *r = (record *)at;
        *r = (record){.bytes = sizeof *r,
                      .fn = (uint16_t)p->fn,
                      .kind = READY_RECORD,
                      .start = p->start,
                      .end = tn_layers_now(),
                      .number = p->number,
                      .index = p->index};
        if (error) r->code = (int32_t)tn_layers_describe(depth, error, NULL, 0);
        commit(l, r);
    }
    tn_layers_end_error(depth, error);
    free(p);
}

/* Follows an event that the plugin gave out. */
static void follow(PJRT_Event *event, int fn, uint64_t number, uint64_t start, int index)
{
    pending *p = event ? malloc(sizeof *p) : NULL;
    if (!p) return;
    *p = (pending){number, start, fn, index};
    ARGS(Event_OnReady, on, .event = event, .callback = on_ready, .user_arg = p);
    PJRT_Error *e = BELOW(depth, Event_OnReady, &on);
    if (!e) return;
    tn_layers_end_error(depth, e);
    free(p);
}

static void follow_events(const tn_call *c, uint64_t number, uint64_t start)
{
    if (c->fn == TN_CALL_PJRT_LoadedExecutable_Execute) {
        PJRT_LoadedExecutable_Execute_Args *a = c->args;
        for (size_t i = 0; a->device_complete_events && i < a->num_devices; i++)
            follow(a->device_complete_events[i], c->fn, number, start, (int)i);
        return;
    }
    /* The events of a buffer are many, and each is made to be watched by the client itself. */
    if (c->fn == TN_CALL_PJRT_Buffer_ReadyEvent || c->fn == TN_CALL_PJRT_Event_Create) return;
    const tn_struct *s = &tn_calls[c->fn].args;
    for (int i = 0; i < s->n_fields; i++)
        if (s->fields[i].direction == TN_FIELD_MAKES && s->fields[i].cls == TN_CLASS_Event &&
            tn_field_covered(&s->fields[i], c->args))
            follow(tn_field_pointer(&s->fields[i], c->args), c->fn, number, start, 0);
}

static void write_file(const char *name, uint64_t number, const void *bytes, size_t n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%llu.%s", dump, (unsigned long long)number, name);
    FILE *f = fopen(path, "wb");
    if (!f) return;
    fwrite(bytes, 1, n, f);
    fclose(f);
}

static void dump_program(const tn_call *c, uint64_t number)
{
    const PJRT_Program *p;
    const char *options;
    size_t n_options;
    if (c->fn == TN_CALL_PJRT_Client_Compile) {
        const PJRT_Client_Compile_Args *a = c->args;
        p = a->program, options = a->compile_options, n_options = a->compile_options_size;
    } else if (c->fn == TN_CALL_PJRT_Compile) {
        const PJRT_Compile_Args *a = c->args;
        p = a->program, options = a->compile_options, n_options = a->compile_options_size;
    } else {
        return;
    }
    bool bytecode = p->code_size >= 4 && !memcmp(p->code, "ML\xefR", 4);
    bool mlir = p->format_size == 4 && !memcmp(p->format, "mlir", 4);
    write_file(bytecode ? "mlirbc" : mlir ? "mlir" : "pb", number, p->code, p->code_size);
    char *text;
    tn_status *s = mlir ? tn_program_text(p->code, p->code_size, &text) : TN_ERROR(UNKNOWN, "-");
    if (!s && bytecode) write_file("mlir", number, text, strlen(text));
    if (!s) free(text);
    tn_status_free(s);
    tn_out o = {0};
    tn_print_options(&o, options, n_options);
    write_file("options.txt", number, o.at ? o.at : "", o.n);
    free(o.at);
}

static PJRT_Error *call(const tn_call *c)
{
    if (atomic_load_explicit(&off, memory_order_relaxed)) return tn_call_next(c);
    uint64_t number = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1;
    if (dump) dump_program(c, number);
    /* What is in an error that a call ends is gone when the call returns; its handle is enough. */
    uint64_t start = tn_layers_now();
    PJRT_Error *e;
    PJRT_Event *own[16];
    PJRT_LoadedExecutable_Execute_Args *a = c->args;
    bool lend = c->fn == TN_CALL_PJRT_LoadedExecutable_Execute && !a->device_complete_events &&
                a->num_devices <= 16;
    if (lend) a->device_complete_events = own;
    e = tn_call_next(c);
    uint64_t end = tn_layers_now();
    if (!e) follow_events(c, number, start);
    if (lend) {
        for (size_t i = 0; !e && i < a->num_devices; i++) {
            ARGS(Event_Destroy, d, .event = own[i]);
            tn_layers_end_error(depth, BELOW(depth, Event_Destroy, &d));
        }
        a->device_complete_events = NULL;
    }
    note_call(c, number, start, end, e);
    return e;
}

/* --- the writing side --- */

static double us(uint64_t ns)
{
    return (double)ns / 1e3;
}

/* Microseconds with three digits, for "%llu.%03llu". */
#define US(ns) (unsigned long long)(ns) / 1000, (unsigned long long)(ns) % 1000

static void print_record(const record *r, int thread, tn_out *text, tn_out *json)
{
    const char *name = tn_calls[r->fn].name + strlen("PJRT_");
    if (r->kind == READY_RECORD) {
        tn_put(text, "%10llu.%03llu t%-2d #%llu %s: ready after %llu.%03llu us%s%s\n",
               US(r->end - origin), thread, (unsigned long long)r->number, name,
               US(r->end - r->start), r->code ? ", " : "",
               r->code ? tn_code_name((tn_code)r->code) : "");
        for (int k = 0; k < 2; k++)
            tn_put(
                json,
                ",\n{\"ph\":\"%s\",\"cat\":\"async\",\"name\":\"%s\",\"id\":\"%llu.%d\",\"pid\":%d,"
                "\"tid\":%d,\"ts\":%llu.%03llu}",
                k ? "e" : "b", name, (unsigned long long)r->number, r->index, process, thread,
                US((k ? r->end : r->start) - origin));
        return;
    }
    const char *args = (const char *)(r + 1), *message = args + ((r->n_args + 7) & ~7u);
    const char *pieces = message + (r->code ? ((size_t)r->index + 7) / 8 * 8 : 0);
    tn_out in = {0}, out = {0};
    tn_print_fields(&in, r->fn, args, pieces, r->n_pieces, false);
    if (r->code) tn_put(&out, "%s: %.*s", tn_code_name((tn_code)r->code), r->index, message);
    else tn_print_fields(&out, r->fn, args, pieces, r->n_pieces, true);
    tn_put(text, "%10llu.%03llu t%-2d #%llu %s(", US(r->start - origin), thread,
           (unsigned long long)r->number, name);
    tn_put_bytes(text, in.at ? in.at : "", in.n);
    tn_put_bytes(text, ")", 1);
    if (out.n) tn_put_bytes(text, " -> ", 4), tn_put_bytes(text, out.at, out.n);
    tn_put(text, "  %llu.%03llu us\n", US(r->end - r->start));
    tn_put(json,
           ",\n{\"ph\":\"X\",\"cat\":\"call\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%llu.%"
           "03llu,"
           "\"dur\":%llu.%03llu,\"args\":{\"call\":%llu,\"in\":",
           name, process, thread, US(r->start - origin), US(r->end - r->start),
           (unsigned long long)r->number);
    tn_put_quoted(json, in.at ? in.at : "", in.n);
    tn_put(json, ",\"out\":");
    tn_put_quoted(json, out.at ? out.at : "", out.n);
    tn_put(json, "}}");
    free(in.at);
    free(out.at);
    uint64_t took = r->end - r->start;
    if (!sums[r->fn].calls || took < sums[r->fn].least) sums[r->fn].least = took;
    if (took > sums[r->fn].most) sums[r->fn].most = took;
    sums[r->fn].calls++;
    sums[r->fn].errors += r->code != 0;
    sums[r->fn].total += took;
}

static void flush_log(thread_log *l, tn_out *text, tn_out *json)
{
    for (;;) {
        chunk *c = l->first;
        chunk *next = atomic_load_explicit(&c->next, memory_order_acquire);
        uint32_t used = atomic_load_explicit(&c->used, memory_order_acquire);
        while (c->taken < used) {
            const record *r = (const record *)(c->bytes + c->taken);
            print_record(r, l->thread, text, json);
            c->taken += r->bytes;
            if (text->n > 1 << 16 || json->n > 1 << 16) {
                fwrite(text->at, 1, text->n, text_file);
                fwrite(json->at, 1, json->n, json_file);
                text->n = json->n = 0;
            }
        }
        if (!next) return;
        l->first = next;
        free(c);
    }
}

static void flush(void)
{
    tn_out text = {0}, json = {0};
    for (thread_log *l = atomic_load(&logs); l; l = l->next) flush_log(l, &text, &json);
    if (text.n) fwrite(text.at, 1, text.n, text_file);
    if (json.n) fwrite(json.at, 1, json.n, json_file);
    fflush(text_file);
    fflush(json_file);
    free(text.at);
    free(json.at);
}

static void *write_always(void *unused)
{
    pthread_mutex_lock(&lock);
    while (!ending) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 200 * 1000 * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&wake, &lock, &until);
        flush();
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void stop_in_child(void)
{
    atomic_store(&off, true);
}

static const char *open_trace(int my_depth)
{
    static char path[4096];
    depth = my_depth;
    process = (int)getpid();
    origin = tn_layers_now();
    const char *prefix = getenv("TENON_TRACE");
    char own[64];
    snprintf(own, sizeof own, "tenon-trace-%d", (int)getpid());
    if (!prefix || !*prefix) prefix = own;
    snprintf(path, sizeof path, "%s.txt", prefix);
    text_file = fopen(path, "w");
    if (!text_file) return "TENON_TRACE: the file can't be written";
    snprintf(path, sizeof path, "%s.json", prefix);
    json_file = fopen(path, "w");
    if (!json_file) return "TENON_TRACE: the file can't be written";
    fprintf(json_file,
            "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"%s\"}}",
            (int)getpid(), tn_layers_plugin());
    fprintf(text_file, "# %s, API 0.%d; microseconds, thread, call\n", tn_layers_plugin(),
            tn_layers_minor());
    dump = getenv("TENON_TRACE_DUMP");
    if (dump && *dump) mkdir(dump, 0777);
    else dump = NULL;
    if (pthread_create(&writer, NULL, write_always, NULL)) return "no thread for the writer";
    pthread_atfork(NULL, NULL, stop_in_child);
    return NULL;
}

static void summary(void)
{
    fprintf(text_file, "#\n# %-58s %9s %7s %12s %10s %10s %10s\n", "summary, us", "calls", "errors",
            "total", "mean", "least", "most");
    for (int fn = 0; fn < TN_CALL_COUNT; fn++) {
        if (!sums[fn].calls) continue;
        fprintf(text_file, "# %-58s %9llu %7llu %12.1f %10.3f %10.3f %10.3f\n", tn_calls[fn].name,
                (unsigned long long)sums[fn].calls, (unsigned long long)sums[fn].errors,
                us(sums[fn].total), us(sums[fn].total) / (double)sums[fn].calls, us(sums[fn].least),
                us(sums[fn].most));
    }
}

static void close_trace(void)
{
    if (atomic_load(&off)) return;
    pthread_mutex_lock(&lock);
    ending = true;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
    pthread_join(writer, NULL);
    atomic_store(&off, true);
    flush();
    summary();
    fprintf(json_file, "]\n");
    fclose(text_file);
    fclose(json_file);
}

const tn_layer tn_layer_trace = {"trace", open_trace, call, close_trace};
