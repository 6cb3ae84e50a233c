/* SPDX-License-Identifier: Apache-2.0 */
/* sized.c - which static executable a run of a dynamic program is.
 *
 * What a run brings is a key: the sizes of arguments that the program leaves open, then the values
 * that stages gave. Under each key stands the executable for it, or the stage that makes the key
 * longer. So a run with sizes that were seen before costs two look-ups at most and no compilation.
 * Those used last are kept, up to a number and to an amount of memory. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "base/trace.h"
#include "runtime/stage.h"

#define BYTES_AT_MOST ((size_t)256 << 20) /* of code and constants; one entry is always kept */

typedef struct {
    char *data; /* malloc() */
    size_t size;
} key;

typedef struct {
    key key;
    uint64_t hash, used; /* used: when last, by the clock of the cache */
    size_t bytes;
    tn_loaded_executable *loaded; /* or */
    tn_executable *stage;
} entry;

struct tn_sized_cache {
    pthread_mutex_t lock;
    uint64_t clock;
    size_t bytes, n, capacity;
    entry *entries;
};

static tn_status *no_memory(void)
{
    return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for the executables of a dynamic program");
}

/* ---- Keys ---- */

static tn_status *extend(key *k, const void *data, size_t size)
{
    char *bigger = realloc(k->data, k->size + size + 1);
    if (!bigger) return no_memory();
    k->data = bigger;
    if (size) memcpy(bigger + k->size, data, size);
    k->size += size;
    return NULL;
}

static uint64_t hash_of(const key *k)
{
    uint64_t h = k->size;
    for (size_t i = 0; i < k->size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, k->data + i, k->size - i < 8 ? k->size - i : 8);
        h = (h ^ word) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return h;
}

/* The sizes that the program leaves open. They must be the same on all devices. */
static tn_status *open_sizes(const tn_executable_info *info, const tn_sized_run *run, key *out)
{
    for (uint32_t i = 0; i < info->n_params; i++) {
        const tn_type *t = info->params[i].type, *first = &run->args[0][i]->type;
        if (tn_type_is_static(t)) continue;
        for (uint32_t d = 0; d < t->rank; d++)
            if (t->dims[d] == TN_DYNAMIC) TN_TRY(extend(out, &first->dims[d], sizeof(int64_t)));
        for (size_t k = 1; k < run->n_devices; k++) {
            const tn_type *other = &run->args[k][i]->type;
            if (!memcmp(first->dims, other->dims, t->rank * sizeof(int64_t))) continue;
            char x[192], y[192];
            return TN_ERROR(INVALID_ARGUMENT,
                            "argument %" PRIu32 " of %s is %s on the first device and %s on "
                            "another",
                            i, info->name, tn_type_format(first, x, sizeof x),
                            tn_type_format(other, y, sizeof y));
        }
    }
    return NULL;
}

/* ---- The cache ---- */

tn_status *tn_sized_cache_create(tn_sized_cache **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return no_memory();
    pthread_mutex_init(&(*out)->lock, NULL);
    return NULL;
}

static void free_entry(entry *e)
{
    free(e->key.data);
    tn_loaded_executable_release(e->loaded);
    tn_executable_release(e->stage);
}

void tn_sized_cache_free(tn_sized_cache *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->n; i++) free_entry(&c->entries[i]);
    pthread_mutex_destroy(&c->lock);
    free(c->entries);
    free(c);
}

static entry *find(tn_sized_cache *c, const key *k, uint64_t hash)
{
    for (size_t i = 0; i < c->n; i++) {
        entry *e = &c->entries[i];
        if (e->hash == hash && e->key.size == k->size && !memcmp(e->key.data, k->data, k->size))
            return e;
    }
    return NULL;
}

/* References to what stands under the key, if anything does. */
static void look_up(tn_sized_cache *c, const key *k, uint64_t hash, tn_loaded_executable **loaded,
                    tn_executable **stage)
{
    pthread_mutex_lock(&c->lock);
    entry *e = find(c, k, hash);
    if (e) {
        e->used = ++c->clock;
        *loaded = e->loaded ? tn_loaded_executable_retain(e->loaded) : NULL;
        *stage = e->stage ? tn_executable_retain(e->stage) : NULL;
    }
    pthread_mutex_unlock(&c->lock);
}

/* Takes the entry out that was used least recently. */
static entry take_oldest(tn_sized_cache *c)
{
    size_t oldest = 0;
    for (size_t i = 1; i < c->n; i++)
        if (c->entries[i].used < c->entries[oldest].used) oldest = i;
    entry e = c->entries[oldest];
    c->entries[oldest] = c->entries[--c->n];
    c->bytes -= e.bytes;
    return e;
}

/* Takes the entry, unless another thread was faster or there is no memory. */
static bool add(tn_sized_cache *c, entry *e)
{
    if (find(c, &e->key, e->hash)) return false;
    if (c->n == c->capacity) {
        size_t capacity = c->capacity ? c->capacity * 2 : 8;
        entry *more = realloc(c->entries, capacity * sizeof *more);
        if (!more) return false;
        c->entries = more;
        c->capacity = capacity;
    }
    e->used = ++c->clock;
    c->bytes += e->bytes;
    c->entries[c->n++] = *e;
    return true;
}

static bool is_over_full(const tn_sized_cache *c)
{
    return c->n > 1 && (c->n > (size_t)tn_options_get()->sizes || c->bytes > BYTES_AT_MOST);
}

/* Takes the entry. What has to go is freed outside of the lock: that may be the end of a program.
 */
static void insert(tn_sized_cache *c, entry *e)
{
    bool more = true;
    entry gone = *e;
    pthread_mutex_lock(&c->lock);
    if (add(c, e)) {
        more = is_over_full(c);
        if (more) gone = take_oldest(c);
    }
    pthread_mutex_unlock(&c->lock);
    while (more) {
        free_entry(&gone);
        pthread_mutex_lock(&c->lock);
        more = is_over_full(c);
        if (more) gone = take_oldest(c);
        pthread_mutex_unlock(&c->lock);
    }
}

/* ---- Making what is not there ---- */

static tn_status *load(tn_loaded_executable *l, tn_executable *e, tn_loaded_executable **out)
{
    if (l->portable) return tn_loaded_executable_create_portable(l->client, e, out);
    return tn_loaded_executable_create(l->client, e, l->assignment, l->n_devices, out);
}

static tn_status *specialize(tn_loaded_executable *l, const tn_sized_run *run, const key *k,
                             size_t values_at, tn_executable **out)
{
    const tn_type **types = calloc(run->n_args + 1, sizeof(tn_type *));
    if (!types) return no_memory();
    for (size_t i = 0; i < run->n_args; i++) types[i] = &run->args[0][i]->type;
    tn_sizes sizes = {types, k->data + values_at, k->size - values_at};
    tn_status *s = tn_executable_specialize(l->executable, &sizes, out);
    free(types);
    return s;
}

/* What belongs under the key; it is there afterwards. */
static tn_status *make(tn_loaded_executable *l, const tn_sized_run *run, const key *k,
                       uint64_t hash, size_t values_at, tn_loaded_executable **loaded,
                       tn_executable **stage)
{
    tn_executable *e = NULL;
    const char *name = l->program.info->name;
    uint64_t begin = tn_trace_begin();
    tn_status *s = specialize(l, run, k, values_at, &e);
    TN_TRACE_END(begin, TN_TRACE_COMPILE, "specialize", NULL, name, 0);
    if (!s)
        tn_log(TN_LOG_INFO, "runtime", "%s: compiled %s of %zu bytes for new sizes", name,
               tn_executable_stage(e) ? "a stage" : "a program",
               tn_executable_get_info(e)->code_bytes);
    if (s) return tn_status_annotate(s, "%s with the sizes of this call", name);
    entry new = {.hash = hash, .bytes = tn_executable_get_info(e)->code_bytes};
    s = extend(&new.key, k->data, k->size);
    if (!s && tn_executable_stage(e)) new.stage = tn_executable_retain(e);
    else if (!s) s = load(l, e, &new.loaded);
    tn_executable_release(e);
    if (s) {
        free_entry(&new);
        return s;
    }
    *loaded = new.loaded ? tn_loaded_executable_retain(new.loaded) : NULL;
    *stage = new.stage ? tn_executable_retain(new.stage) : NULL;
    insert(l->sized, &new);
    return NULL;
}

/* Makes the key longer by what the stage says, which must be the same on all devices. */
static tn_status *run_stage(tn_loaded_executable *l, const tn_sized_run *run,
                            const tn_executable *stage, key *k)
{
    void *first = NULL;
    size_t first_size = 0;
    tn_status *s = NULL;
    for (size_t d = 0; d < run->n_devices && !s; d++) {
        tn_stage_device device = {.custom_calls = run->custom_calls};
        if (!l->portable && d < l->n_devices) {
            device.replica = (uint32_t)l->ids[d].replica;
            device.partition = (uint32_t)l->ids[d].partition;
        }
        void *values = NULL;
        size_t size = 0;
        s = tn_stage_run(l->client, stage, run->args[d], &device, &values, &size);
        if (!d) {
            first = values;
            first_size = size;
            continue;
        }
        if (!s && memcmp(first, values, size))
            s = TN_ERROR(INVALID_ARGUMENT,
                         "%s: values that sizes depend on differ between the first device and "
                         "device %zu of the call",
                         l->program.info->name, d);
        free(values);
    }
    if (!s) s = extend(k, first, first_size);
    free(first);
    return s;
}

tn_status *tn_sized_executable(tn_loaded_executable *l, const tn_sized_run *run,
                               tn_loaded_executable **out)
{
    key k = {0};
    *out = NULL;
    tn_status *s = extend(&k, NULL, 0);
    if (!s) s = open_sizes(l->program.info, run, &k);
    size_t values_at = k.size;
    while (!s && !*out) {
        uint64_t hash = hash_of(&k);
        tn_executable *stage = NULL;
        look_up(l->sized, &k, hash, out, &stage);
        if (!*out && !stage) s = make(l, run, &k, hash, values_at, out, &stage);
        if (!s && stage) s = run_stage(l, run, stage, &k);
        tn_executable_release(stage);
    }
    free(k.data);
    return s;
}
