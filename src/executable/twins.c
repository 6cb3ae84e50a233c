/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/twins.h"

#include <pthread.h>
#include <string.h>

#include "executable/fingerprint.h"
#include "executable/program.h"

enum { SLOTS = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tn_executable *slots[SLOTS]; /* lists by the hash of code and options */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}
static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}
static void prepare(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

static uint64_t hash_of(const void *code, size_t code_size, const void *options,
                        size_t options_size)
{
    tn_hash h = tn_hash_bytes(code, code_size, 0);
    return tn_hash_bytes(options, options_size, h.words[0] ^ h.words[1]).words[0];
}

static bool same_bytes(const void *a, size_t a_size, const void *b, size_t b_size)
{
    return a_size == b_size && (!a_size || !memcmp(a, b, a_size));
}

/* Unless the last one is gone by now. */
static bool add_reference(tn_executable *e)
{
    unsigned n = atomic_load_explicit(&e->references, memory_order_relaxed);
    while (n && !atomic_compare_exchange_weak_explicit(
                    &e->references, &n, n + 1, memory_order_acquire, memory_order_relaxed)) {}
    return n > 0;
}

tn_executable *tn_twin_find(const void *code, size_t code_size, const void *options,
                            size_t options_size)
{
    pthread_once(&once, prepare);
    uint64_t hash = hash_of(code, code_size, options, options_size);
    pthread_mutex_lock(&lock);
    tn_executable *e = slots[hash % SLOTS];
    while (e &&
           !(e->twin_hash == hash && same_bytes(e->code, e->code_size, code, code_size) &&
             same_bytes(e->options, e->options_size, options, options_size) && add_reference(e)))
        e = e->next_twin;
    pthread_mutex_unlock(&lock);
    return e;
}

void tn_twin_add(tn_executable *e)
{
    if (e->n_calls || e->info.calls_out) return;
    pthread_once(&once, prepare);
    e->twin_hash = hash_of(e->code, e->code_size, e->options, e->options_size);
    pthread_mutex_lock(&lock);
    tn_executable **first = &slots[e->twin_hash % SLOTS];
    e->next_twin = *first;
    *first = e;
    e->is_twin = true;
    pthread_mutex_unlock(&lock);
}

void tn_twin_remove(tn_executable *e)
{
    if (!e->is_twin) return;
    pthread_mutex_lock(&lock);
    tn_executable **at = &slots[e->twin_hash % SLOTS];
    while (*at != e) at = &(*at)->next_twin;
    *at = e->next_twin;
    pthread_mutex_unlock(&lock);
}
