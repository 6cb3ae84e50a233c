/* SPDX-License-Identifier: Apache-2.0 */
/* trace_label.c - labels of events, each made once. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"

enum { BUCKETS = 4096 };

typedef struct entry {
    struct entry *next;
    uint64_t hash;
    tn_trace_label label;
    char text[];
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry *buckets[BUCKETS];

/* FNV-1a, the terminator included so that texts don't run into each other. */
static uint64_t hash_text(uint64_t h, const char *text)
{
    do h = (h ^ (uint8_t)*text) * 0x100000001b3u;
    while (*text++);
    return h;
}

static bool is_same(const tn_trace_label *l, tn_trace_kind kind, const char *name,
                    const char *source, const char *program)
{
    return l->kind == kind && !strcmp(l->name, name) && !strcmp(l->source, source) &&
           !strcmp(l->program, program);
}

static const char *append(char **at, const char *text)
{
    char *begin = *at;
    size_t size = strlen(text) + 1;
    memcpy(begin, text, size);
    *at += size;
    return begin;
}

static entry *make(uint64_t hash, tn_trace_kind kind, const char *name, const char *source,
                   const char *program)
{
    size_t size = strlen(name) + strlen(source) + strlen(program) + 3;
    entry *e = malloc(sizeof *e + size);
    if (!e) return NULL;
    char *at = e->text;
    e->hash = hash;
    e->label.kind = kind;
    e->label.name = append(&at, name);
    e->label.source = append(&at, source);
    e->label.program = append(&at, program);
    return e;
}

const tn_trace_label *tn_trace_label_of(tn_trace_kind kind, const char *name, const char *source,
                                        const char *program)
{
    name = name ? name : "";
    source = source ? source : "";
    program = program ? program : "";
    uint64_t hash = 0xcbf29ce484222325u + kind;
    hash = hash_text(hash_text(hash_text(hash, name), source), program);
    entry **bucket = &buckets[hash % BUCKETS];
    pthread_mutex_lock(&lock);
    entry *e = *bucket;
    while (e && (e->hash != hash || !is_same(&e->label, kind, name, source, program))) e = e->next;
    if (!e) {
        e = make(hash, kind, name, source, program);
        if (e) {
            e->next = *bucket;
            *bucket = e;
        }
    }
    pthread_mutex_unlock(&lock);
    return e ? &e->label : NULL;
}

__attribute__((destructor(101))) static void free_labels(void)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (entry *e = buckets[i], *next; e; e = next) {
            next = e->next;
            free(e);
        }
    memset(buckets, 0, sizeof buckets);
}
