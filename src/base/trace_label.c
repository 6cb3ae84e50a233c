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

static bool is_same(const tn_trace_label *a, const tn_trace_label *b)
{
    return a->kind == b->kind && !strcmp(a->name, b->name) && !strcmp(a->source, b->source) &&
           !strcmp(a->program, b->program) && !strcmp(a->shape, b->shape);
}

static const char *append(char **at, const char *text)
{
    char *begin = *at;
    size_t size = strlen(text) + 1;
    memcpy(begin, text, size);
    *at += size;
    return begin;
}

static entry *make(uint64_t hash, const tn_trace_label *l)
{
    size_t size = strlen(l->name) + strlen(l->source) + strlen(l->program) + strlen(l->shape) + 4;
    entry *e = malloc(sizeof *e + size);
    if (!e) return NULL;
    char *at = e->text;
    e->hash = hash;
    e->label.kind = l->kind;
    e->label.name = append(&at, l->name);
    e->label.source = append(&at, l->source);
    e->label.program = append(&at, l->program);
    e->label.shape = append(&at, l->shape);
    return e;
}

const tn_trace_label *tn_trace_label_like(const tn_trace_label *contents)
{
    tn_trace_label l = *contents;
    l.name = l.name ? l.name : "";
    l.source = l.source ? l.source : "";
    l.program = l.program ? l.program : "";
    l.shape = l.shape ? l.shape : "";
    uint64_t hash = hash_text(0xcbf29ce484222325u + l.kind, l.name);
    hash = hash_text(hash_text(hash_text(hash, l.source), l.program), l.shape);
    entry **bucket = &buckets[hash % BUCKETS];
    pthread_mutex_lock(&lock);
    entry *e = *bucket;
    while (e && (e->hash != hash || !is_same(&e->label, &l))) e = e->next;
    if (!e) {
        e = make(hash, &l);
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
