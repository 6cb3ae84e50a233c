/* SPDX-License-Identifier: Apache-2.0 */
/* fault - makes calls fail, by rules.
 *
 * TENON_FAULT="rule;rule;...", a rule being a call and words, separated by blanks:
 *
 *   Client_Compile n=3 error=RESOURCE_EXHAUSTED     the third call returns this error, without
 *                                                   reaching the plugin
 *   *Execute p=0.1 seed=7 delay=5ms                 every tenth call, by chance, waits first
 *   Client_BufferFromHostBuffer late=20ms           its events turn ready 20 ms after the work
 *   LoadedExecutable_Execute drop                   its events never do
 *   LoadedExecutable_Execute event_error=ABORTED    its events end with this error
 *
 * n=K the K-th call alone, from=K that and all later ones, p=P each with this probability (seed=S,
 * default 1), none of them: all. message=word is the text of an error. * stands for any letters.
 */
#include <fnmatch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "layers/layer.h"

enum { MOST_RULES = 16 };

typedef struct {
    char call[96], message[64];
    uint64_t n, from, seed;
    double p;
    int error, event_error; /* codes; 0: none */
    uint64_t delay, late;   /* ns */
    bool drop;
    atomic_ullong seen;
} rule;

static int depth;
static rule rules[MOST_RULES];
static size_t n_rules;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Events that a rule has touched. */
typedef struct touched {
    struct touched *next;
    PJRT_Event *event;
    bool drop;
    uint64_t late;
    int error;
    char message[64];
} touched;
static touched *events;

static int code_of(const char *name)
{
    for (int i = 1; i <= TN_UNAUTHENTICATED; i++)
        if (!strcmp(tn_code_name((tn_code)i), name)) return i;
    return -1;
}

static bool duration(const char *text, uint64_t *out)
{
    char *end;
    double v = strtod(text, &end);
    double unit = !strcmp(end, "s")    ? 1e9
                  : !strcmp(end, "ms") ? 1e6
                  : !strcmp(end, "us") ? 1e3
                                       : !strcmp(end, "ns");
    *out = (uint64_t)(v * unit);
    return end != text && unit > 0 && v >= 0;
}

static bool take_word(rule *r, char *word)
{
    char *value = strchr(word, '=');
    if (!value) {
        if (strcmp(word, "drop")) return false;
        return r->drop = true;
    }
    *value++ = 0;
    if (!strcmp(word, "n")) return (r->n = strtoull(value, NULL, 10)) > 0;
    if (!strcmp(word, "from")) return (r->from = strtoull(value, NULL, 10)) > 0;
    if (!strcmp(word, "seed")) return r->seed = strtoull(value, NULL, 10), true;
    if (!strcmp(word, "p")) return (r->p = strtod(value, NULL)) > 0 && r->p <= 1;
    if (!strcmp(word, "error")) return (r->error = code_of(value)) > 0;
    if (!strcmp(word, "event_error")) return (r->event_error = code_of(value)) > 0;
    if (!strcmp(word, "delay")) return duration(value, &r->delay);
    if (!strcmp(word, "late")) return duration(value, &r->late);
    if (!strcmp(word, "message"))
        return snprintf(r->message, sizeof r->message, "%s", value) < (int)sizeof r->message;
    return false;
}

static const char *open_fault(int my_depth)
{
    static char text[4096], wrong[4300];
    depth = my_depth;
    const char *from = getenv("TENON_FAULT");
    snprintf(text, sizeof text, "%s", from ? from : "");
    char *outer, *inner;
    for (char *at = strtok_r(text, ";", &outer); at; at = strtok_r(NULL, ";", &outer)) {
        char *word = strtok_r(at, " \t\n", &inner);
        if (!word) continue;
        if (n_rules == MOST_RULES) return "TENON_FAULT: too many rules";
        rule *r = &rules[n_rules++];
        r->seed = 1;
        snprintf(r->message, sizeof r->message, "%s", "planted by the fault layer");
        snprintf(r->call, sizeof r->call, "%s", word);
        bool known = false;
        for (int fn = 0; fn < TN_CALL_COUNT; fn++)
            known |= !fnmatch(r->call, tn_calls[fn].name, 0) ||
                     !fnmatch(r->call, tn_calls[fn].name + strlen("PJRT_"), 0);
        if (!known) {
            snprintf(wrong, sizeof wrong, "TENON_FAULT: no call is named '%s'", r->call);
            return wrong;
        }
        while ((word = strtok_r(NULL, " \t\n", &inner))) {
            char copy[96];
            snprintf(copy, sizeof copy, "%s", word);
            if (take_word(r, word)) continue;
            snprintf(wrong, sizeof wrong, "TENON_FAULT: '%s' is not understood", copy);
            return wrong;
        }
    }
    return n_rules ? NULL : "TENON_FAULT holds no rule";
}

/* The same answer for the same seed and count, whatever the threads do. */
static bool chance(const rule *r, uint64_t k)
{
    uint64_t x = (r->seed * 0x9e3779b97f4a7c15u) ^ (k * 0xbf58476d1ce4e5b9u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (double)(x >> 11) / 9007199254740992.0 < r->p;
}

static rule *find_rule(int fn)
{
    for (size_t i = 0; i < n_rules; i++) {
        rule *r = &rules[i];
        if (fnmatch(r->call, tn_calls[fn].name, 0) &&
            fnmatch(r->call, tn_calls[fn].name + strlen("PJRT_"), 0))
            continue;
        uint64_t k = atomic_fetch_add(&r->seen, 1) + 1;
        if ((!r->n || r->n == k) && (!r->from || r->from <= k) && (r->p == 0 || chance(r, k)))
            return r;
    }
    return NULL;
}

static void wait_ns(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (nanosleep(&t, &t)) {}
}

/* --- events --- */

static void touch(const rule *r, PJRT_Event *event)
{
    touched *t = event ? calloc(1, sizeof *t) : NULL;
    if (!t) return;
    *t = (touched){.event = event, .drop = r->drop, .late = r->late, .error = r->event_error};
    snprintf(t->message, sizeof t->message, "%s", r->message);
    pthread_mutex_lock(&lock);
    t->next = events;
    events = t;
    pthread_mutex_unlock(&lock);
}

static bool find_touched(PJRT_Event *event, touched *out, bool remove)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (touched **at = &events; *at; at = &(*at)->next) {
        if ((*at)->event != event) continue;
        *out = **at;
        found = true;
        if (remove) {
            touched *t = *at;
            *at = t->next;
            free(t);
        }
        break;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

typedef struct {
    touched t;
    PJRT_Event_OnReadyCallback callback;
    void *user;
    PJRT_Error *error;
} held;

static void *deliver(void *user)
{
    held *h = user;
    wait_ns(h->t.late);
    if (h->t.error) {
        tn_layers_end_error(depth, h->error);
        h->error = tn_layers_error((PJRT_Error_Code)h->t.error, "%s", h->t.message);
    }
    h->callback(h->error, h->user);
    free(h);
    return NULL;
}

static void hold(PJRT_Error *error, void *user)
{
    held *h = user;
    h->error = error;
    if (h->t.drop) return; /* and stays so for the life of the process */
    pthread_t t;
    if (!h->t.late) deliver(h);
    else if (!pthread_create(&t, NULL, deliver, h)) pthread_detach(t);
}

static PJRT_Error *on_touched(const tn_call *c, touched *t)
{
    switch (c->fn) {
    case TN_CALL_PJRT_Event_OnReady: {
        PJRT_Event_OnReady_Args *a = c->args;
        held *h = calloc(1, sizeof *h);
        if (!h) return tn_call_next(c);
        *h = (held){.t = *t, .callback = a->callback, .user = a->user_arg};
        ARGS(Event_OnReady, on, .event = a->event, .callback = hold, .user_arg = h);
        return BELOW(depth, Event_OnReady, &on);
    }
    case TN_CALL_PJRT_Event_IsReady: {
        PJRT_Error *e = tn_call_next(c);
        if (!e && (t->drop || t->late)) ((PJRT_Event_IsReady_Args *)c->args)->is_ready = false;
        return e;
    }
    case TN_CALL_PJRT_Event_Await:
        while (t->drop) wait_ns(1000000000);
        break;
    }
    PJRT_Error *e = tn_call_next(c);
    if (c->fn == TN_CALL_PJRT_Event_Await) wait_ns(t->late);
    if (!t->error) return e;
    tn_layers_end_error(depth, e);
    return tn_layers_error((PJRT_Error_Code)t->error, "%s", t->message);
}

static void touch_all(const rule *r, const tn_call *c)
{
    if (c->fn == TN_CALL_PJRT_LoadedExecutable_Execute) {
        const PJRT_LoadedExecutable_Execute_Args *a = c->args;
        for (size_t d = 0; a->device_complete_events && d < a->num_devices; d++)
            touch(r, a->device_complete_events[d]);
        return;
    }
    const tn_struct *s = &tn_calls[c->fn].args;
    for (int i = 0; i < s->n_fields; i++)
        if (s->fields[i].direction == TN_FIELD_MAKES && s->fields[i].cls == TN_CLASS_Event &&
            tn_field_covered(&s->fields[i], c->args))
            touch(r, tn_field_pointer(&s->fields[i], c->args));
}

static PJRT_Error *call(const tn_call *c)
{
    rule *r = find_rule(c->fn);
    if (r && r->delay) wait_ns(r->delay);
    if (r && r->error)
        return tn_layers_error((PJRT_Error_Code)r->error, "%s: %s", tn_calls[c->fn].name,
                               r->message);
    touched t;
    switch (c->fn) {
    case TN_CALL_PJRT_Event_OnReady:
    case TN_CALL_PJRT_Event_IsReady:
    case TN_CALL_PJRT_Event_Await:
    case TN_CALL_PJRT_Event_Error:
        if (find_touched(((PJRT_Event_Await_Args *)c->args)->event, &t, false))
            return on_touched(c, &t);
        break;
    case TN_CALL_PJRT_Event_Destroy:
        find_touched(((PJRT_Event_Destroy_Args *)c->args)->event, &t, true);
        break;
    }
    PJRT_Error *e = tn_call_next(c);
    if (!e && r && (r->drop || r->late || r->event_error)) touch_all(r, c);
    return e;
}

const tn_layer tn_layer_fault = {"fault", open_fault, call, NULL};
