/* SPDX-License-Identifier: Apache-2.0 */
#include "tenon/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct payload {
    struct payload *next;
    size_t key_size, value_size;
    char *value; /* behind the key */
    char key[];
} payload;

struct tn_status {
    atomic_int refs; /* < 0: static, never freed */
    tn_code code;
    const char *file;
    int line;
    payload *payloads; /* newest last */
    char *message;
};

static tn_status out_of_memory = {.refs = -1,
                                  .code = TN_RESOURCE_EXHAUSTED,
                                  .file = __FILE__,
                                  .line = __LINE__,
                                  .message = (char *)"out of memory while reporting an error"};

static tn_status *make(tn_code code, const char *file, int line, char *message)
{
    tn_status *s = message ? calloc(1, sizeof *s) : NULL;
    if (!s) {
        free(message);
        return &out_of_memory;
    }
    atomic_init(&s->refs, 1);
    s->code = code;
    s->file = file;
    s->line = line;
    s->message = message;
    return s;
}

tn_status *tn_status_make(tn_code code, const char *file, int line, const char *fmt, ...)
{
    char *message = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&message, fmt, args) < 0) message = NULL;
    va_end(args);
    return make(code, file, line, message);
}

static bool copy_payloads(tn_status *to, const tn_status *from)
{
    payload **end = &to->payloads;
    for (const payload *p = from->payloads; p; p = p->next) {
        payload *q = malloc(sizeof *q + p->key_size + p->value_size);
        if (!q) return false;
        *q = *p;
        memcpy(q->key, p->key, p->key_size + p->value_size);
        q->value = q->key + q->key_size;
        q->next = NULL;
        *end = q;
        end = &q->next;
    }
    return true;
}

tn_status *tn_status_annotate(tn_status *s, const char *fmt, ...)
{
    if (!s || s == &out_of_memory) return s;
    char *text = NULL, *message = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0) text = NULL;
    va_end(args);
    if (!text) return s;
    if (asprintf(&message, "%s: %s", text, s->message) < 0) message = NULL;
    free(text);
    if (!message) return s;
    tn_status *out = make(s->code, s->file, s->line, message);
    if (out != &out_of_memory && !copy_payloads(out, s)) {
        tn_status_free(out);
        return s;
    }
    tn_status_free(s);
    return out;
}

tn_status *tn_status_ref(const tn_status *s)
{
    tn_status *m = (tn_status *)s;
    if (m && m != &out_of_memory) atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void tn_status_free(tn_status *s)
{
    if (!s || s == &out_of_memory) return;
    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
    for (payload *p = s->payloads; p;) {
        payload *next = p->next;
        free(p);
        p = next;
    }
    free(s->message);
    free(s);
}

tn_code tn_status_code(const tn_status *s)
{
    return s ? s->code : TN_OK;
}
const char *tn_status_message(const tn_status *s)
{
    return s ? s->message : "";
}
const char *tn_status_file(const tn_status *s)
{
    return s ? s->file : "";
}
int tn_status_line(const tn_status *s)
{
    return s ? s->line : 0;
}

const char *tn_code_name(tn_code code)
{
    switch (code) {
#define X(name, value)                                                                             \
    case TN_##name: return #name;
        TN_STATUS_CODES(X)
#undef X
    }
    return "UNKNOWN";
}

tn_status *tn_status_add_payload(tn_status *s, const char *key, size_t key_size, const char *value,
                                 size_t value_size)
{
    if (!s || s == &out_of_memory) return s;
    /* A shared status is immutable: work on a copy. */
    if (atomic_load_explicit(&s->refs, memory_order_acquire) != 1) {
        char *message = strdup(s->message);
        tn_status *copy = make(s->code, s->file, s->line, message);
        if (copy == &out_of_memory) return s;
        if (!copy_payloads(copy, s)) {
            tn_status_free(copy);
            return s;
        }
        tn_status_free(s);
        s = copy;
    }
    payload *p = malloc(sizeof *p + key_size + value_size);
    if (!p) return s;
    p->next = NULL;
    p->key_size = key_size;
    p->value_size = value_size;
    memcpy(p->key, key, key_size);
    p->value = p->key + key_size;
    memcpy(p->value, value, value_size);
    payload **end = &s->payloads;
    while (*end) end = &(*end)->next;
    *end = p;
    return s;
}

size_t tn_status_payload_count(const tn_status *s)
{
    size_t n = 0;
    for (const payload *p = s ? s->payloads : NULL; p; p = p->next) n++;
    return n;
}

void tn_status_payload(const tn_status *s, size_t i, const char **key, size_t *key_size,
                       const char **value, size_t *value_size)
{
    const payload *p = s->payloads;
    while (i--) p = p->next;
    *key = p->key;
    *key_size = p->key_size;
    *value = p->value;
    *value_size = p->value_size;
}
