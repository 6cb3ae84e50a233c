/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_test FOLDER - reads every module.mlirbc of the shared StableHLO cases, prints it, and
 * compares how often each op occurs with index.jsonl, which counted them in the text form.
 *
 * Skipped (exit 77) when the folder is not there. Cases whose text holds CHLO are only read: JAX
 * expands that dialect on the way to bytecode. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reader/reader.h"
#include "blob.h"

/* --- the index: one JSON object a line, of which three members are wanted --- */

/* The text behind `"key": ` in the line, or NULL. */
static const char *member(const char *line, const char *end, const char *key)
{
    char text[64];
    int n = snprintf(text, sizeof text, "\"%s\": ", key);
    const char *at = memmem(line, (size_t)(end - line), text, (size_t)n);
    return at ? at + n : NULL;
}

static bool is_string(const char *at, const char *value, size_t size)
{
    return at && at[0] == '"' && !strncmp(at + 1, value, size) && at[1 + size] == '"';
}

/* {"stablehlo.add": 2, ...} into counts; false when an op is none of ours (CHLO). */
static bool read_counts(const char *ops, uint32_t *counts)
{
    bool known = true;
    for (const char *p = ops + 1; *p != '}';) {
        while (*p == ',' || *p == ' ') p++;
        const char *name = p + 1, *quote = strchr(name, '"');
        tn_op_kind kind = tn_op_find(name, (size_t)(quote - name));
        char *rest;
        counts[kind] += (uint32_t)strtoul(quote + 3, &rest, 10);
        if (kind == TN_OP_INVALID) known = false;
        p = rest;
    }
    return known;
}

static bool find_counts(const blob *index, const char *area, const char *name, size_t size,
                        uint32_t *counts)
{
    for (const char *line = index->data; *line;) {
        const char *end = strchr(line, '\n');
        if (!end) end = index->data + index->size;
        if (is_string(member(line, end, "name"), name, size) &&
            is_string(member(line, end, "area"), area, strlen(area))) {
            const char *ops = member(line, end, "ops");
            return ops && read_counts(ops, counts);
        }
        line = *end ? end + 1 : end;
    }
    return false;
}

/* --- reading --- */

typedef struct {
    const void *data;
    size_t size;
    tn_arena *arena;
    uint32_t counts[TN_OP_COUNT];
    size_t printed;
} job;

static void count(const tn_region *r, uint32_t *counts)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        /* The index has no row for the return of a function. */
        if (op->kind != TN_OP_return || r->parent) counts[op->kind]++;
        for (uint32_t i = 0; i < op->n_regions; i++) count(&op->regions[i], counts);
    }
}

static tn_status *read(void *ctx)
{
    job *j = ctx;
    tn_module *m;
    TN_TRY(tn_read_bytecode(j->data, j->size, j->arena, &m));
    for (const tn_function *f = m->functions; f; f = f->next) count(&f->body, j->counts);
    tn_module_print(m, j->arena, &j->printed);
    return NULL;
}

static int passed, failed, compared;

static void check(const blob *index, const char *area, const char *name, size_t size,
                  const void *data, size_t data_size)
{
    uint32_t expected[TN_OP_COUNT] = {0};
    bool comparable = find_counts(index, area, name, size, expected);
    job j = {.data = data, .size = data_size, .arena = tn_arena_new()};
    tn_status *s = tn_arena_run(j.arena, read, &j);
    tn_arena_free(j.arena);
    if (s) {
        printf("%s/%.*s: %s\n", area, (int)size, name, tn_status_message(s));
        tn_status_free(s);
        failed++;
        return;
    }
    for (unsigned k = 1; comparable && k < TN_OP_COUNT; k++) {
        if (j.counts[k] == expected[k]) continue;
        printf("%s/%.*s: %u %s, expected %u\n", area, (int)size, name, j.counts[k],
               tn_op_infos[k].text, expected[k]);
        failed++;
        return;
    }
    compared += comparable;
    passed++;
}

/* --- zip archives whose entries are stored as they are --- */

static uint32_t le(const char *p, unsigned bytes)
{
    uint32_t v = 0;
    memcpy(&v, p, bytes);
    return v;
}

static void walk(const blob *index, const char *area, const blob *zip)
{
    enum { HEADER = 30 };
    static const char wanted[] = "/module.mlirbc";
    for (size_t at = 0; at + HEADER < zip->size && le(zip->data + at, 4) == 0x04034B50;) {
        const char *p = zip->data + at;
        size_t size = le(p + 18, 4), n_name = le(p + 26, 2), n_extra = le(p + 28, 2);
        const char *name = p + HEADER;
        size_t n_wanted = sizeof wanted - 1;
        if (le(p + 8, 2) == 0 && n_name > n_wanted &&
            !memcmp(name + n_name - n_wanted, wanted, n_wanted)) {
            /* A copy of its own, so that a sanitizer sees a step beyond its end. */
            void *copy = malloc(size);
            memcpy(copy, name + n_name + n_extra, size);
            check(index, area, name, n_name - n_wanted, copy, size);
            free(copy);
        }
        at += HEADER + n_name + n_extra + size;
    }
}

int main(int argc, char **argv)
{
    static const char *const areas[] = {"dynamic", "interpret", "parallel", "quantized",
                                        "testdata"};
    const char *folder = argc > 1 ? argv[1] : "../shared/stablehlo";
    blob index = load(folder, "index.jsonl");
    if (!index.data) {
        printf("%s is not there\n", folder);
        return 77;
    }
    for (size_t i = 0; i < sizeof areas / sizeof *areas; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.zip", areas[i]);
        blob zip = load(folder, name);
        if (zip.data) walk(&index, areas[i], &zip);
        free(zip.data);
    }
    free(index.data);
    printf("%d passed, %d failed; ops counted in %d\n", passed, failed, compared);
    return failed || compared < 2000;
}
