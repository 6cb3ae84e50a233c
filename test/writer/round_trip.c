/* SPDX-License-Identifier: Apache-2.0 */
/* round_trip [--to FOLDER] FILE... - reads artifacts, writes them again and reads what was written:
 * both reads must print the same, but for Shardy's attributes. --to keeps what was written under
 * the files' names. Programs with ops that have no VHLO form are skipped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/reader.h"
#include "writer/writer.h"

typedef struct {
    const char *path, *folder;
    void *data;
    size_t size;
    tn_arena *arena;
    bool same;
} job;

/* Locations are not written, and neither are attributes of Shardy: they are taken out of what was
 * read. */
static void strip(tn_module *m, const tn_region *r)
{
    for (tn_op *op = r->first; op; op = op->next) {
        tn_named_attr *kept = TN_NEW_ARRAY(m->arena, tn_named_attr, op->n_extra);
        uint32_t n = 0;
        for (uint32_t i = 0; i < op->n_extra; i++)
            if (strncmp(op->extra[i].key, "sdy.", 4)) kept[n++] = op->extra[i];
        op->extra = kept;
        op->n_extra = n;
        for (uint32_t i = 0; i < op->n_regions; i++) strip(m, &op->regions[i]);
    }
}

static void keep(const job *j, const void *data, size_t size)
{
    char path[2048];
    const char *name = strrchr(j->path, '/');
    snprintf(path, sizeof path, "%s/%s", j->folder, name ? name + 1 : j->path);
    FILE *f = fopen(path, "wb");
    if (!f) return;
    fwrite(data, 1, size, f);
    fclose(f);
}

static tn_status *run(void *ctx)
{
    job *j = ctx;
    tn_module *first, *second;
    const void *written;
    size_t size, n;
    TN_TRY(tn_read_bytecode(j->data, j->size, j->arena, &first));
    for (tn_function *f = first->functions; f; f = f->next) strip(first, &f->body);
    TN_TRY(tn_write_bytecode(first, j->arena, &written, &size));
    if (j->folder) keep(j, written, size);
    TN_ANNOTATE(tn_read_bytecode(written, size, j->arena, &second), "reading what was written");
    /* Module attributes and meshes are not written. */
    first->n_attrs = second->n_attrs = 0;
    first->n_symbols = 0;
    first->num_partitions = second->num_partitions;
    first->num_replicas = second->num_replicas;
    const char *x = tn_module_print(first, j->arena, &n),
               *y = tn_module_print(second, j->arena, &n);
    j->same = !strcmp(x, y);
    if (!j->same) {
        size_t i = 0, line = 0;
        for (; x[i] == y[i]; i++)
            if (x[i] == '\n') line = i + 1;
        fprintf(stderr, "%s:\n read    %.*s\n written %.*s\n", j->path,
                (int)strcspn(x + line, "\n"), x + line, (int)strcspn(y + line, "\n"), y + line);
    }
    return NULL;
}

static void *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    void *data = malloc(4 << 20);
    *size = f ? fread(data, 1, 4 << 20, f) : 0;
    if (f) fclose(f);
    return data;
}

int main(int argc, char **argv)
{
    int same = 0, skipped = 0, failed = 0;
    const char *folder = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--to") && i + 1 < argc) {
            folder = argv[++i];
            continue;
        }
        job j = {.path = argv[i], .folder = folder, .arena = tn_arena_new()};
        j.data = read_file(argv[i], &j.size);
        tn_status *s = tn_arena_run(j.arena, run, &j);
        bool skip = s && tn_status_code(s) == TN_UNIMPLEMENTED;
        if (s && !skip) fprintf(stderr, "%s: %s\n", argv[i], tn_status_message(s));
        skipped += skip;
        same += !s && j.same;
        failed += !skip && (s || !j.same);
        tn_status_free(s);
        tn_arena_free(j.arena);
        free(j.data);
    }
    printf("%d the same, %d skipped, %d failed\n", same, skipped, failed);
    return failed || !same;
}
