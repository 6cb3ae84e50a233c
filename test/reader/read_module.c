/* SPDX-License-Identifier: Apache-2.0 */
/* read_module [--list|--quiet|--time N] FILE... - reads modules and prints them, for tests.
 *
 *   --list     a line for each op: depth, name, numbers of its operands and results, result types
 *   --quiet    nothing but errors
 *   --time N   the best of N readings, in CPU time
 *
 * With one file the exit status says whether it was read; an error is a line
 * "FILE: CODE: message". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reader/reader.h"

typedef struct {
    const void *data;
    size_t size;
    tn_arena *arena;
    enum { PRINT, LIST, QUIET } mode;
    tn_module *module;
} job;

static void list_type(const tn_type *t)
{
    if (t->kind == TN_TYPE_TUPLE) {
        printf("tuple<");
        for (uint32_t i = 0; i < t->n_parts; i++) {
            if (i) printf(", ");
            list_type(t->parts[i]);
        }
        printf(">");
    } else if (t->kind == TN_TYPE_TOKEN) {
        printf("token");
    } else {
        printf("tensor<");
        for (uint32_t i = 0; i < t->rank; i++) {
            if (t->dims[i] == TN_DYNAMIC) printf("?x");
            else printf("%" PRId64 "x", t->dims[i]);
        }
        printf("%s", t->quantization ? "quantized" : tn_element_type_text(t->element));
        for (uint32_t i = 0; t->bounds && i < t->rank; i++) {
            if (!i) printf(", bounds");
            if (t->bounds[i] == TN_DYNAMIC) printf(" ?");
            else printf(" %" PRId64, t->bounds[i]);
        }
        printf(">");
    }
}

static void list(const tn_region *r, int depth)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        printf("%d %s (", depth, tn_op_text(op));
        for (uint32_t i = 0; i < op->n_operands; i++)
            printf("%s%u", i ? " " : "", op->operands[i]->id);
        printf(") -> (");
        for (uint32_t i = 0; i < op->n_results; i++)
            printf("%s%u", i ? " " : "", op->results[i].id);
        printf(") ");
        for (uint32_t i = 0; i < op->n_results; i++) {
            if (i) printf(" ");
            list_type(op->results[i].type);
        }
        printf("\n");
        for (uint32_t i = 0; i < op->n_regions; i++) list(&op->regions[i], depth + 1);
    }
}

static void list_module(tn_module *m)
{
    tn_module_number(m);
    for (const tn_function *f = m->functions; f; f = f->next) {
        printf("func %s\n", f->name);
        list(&f->body, 1);
    }
}

static tn_status *run(void *ctx)
{
    job *j = ctx;
    if (tn_is_bytecode(j->data, j->size))
        TN_TRY(tn_read_bytecode(j->data, j->size, j->arena, &j->module));
    else TN_TRY(tn_read_text(j->data, j->size, j->arena, &j->module));
    if (j->mode == LIST) list_module(j->module);
    if (j->mode == PRINT) {
        size_t size;
        const char *text = tn_module_print(j->module, j->arena, &size);
        fwrite(text, 1, size, stdout);
    }
    return NULL;
}

static void *load(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *data = n >= 0 ? malloc((size_t)n + 1) : NULL;
    *size = data ? fread(data, 1, (size_t)n, f) : 0;
    fclose(f);
    return data;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int read_file(const char *path, int mode, int repeats)
{
    size_t size;
    void *data = load(path, &size);
    if (!data) {
        printf("%s: cannot be read\n", path);
        return 1;
    }
    int rc = 0;
    double best = 1e300;
    for (int i = 0; i < repeats && !rc; i++) {
        job j = {.data = data, .size = size, .arena = tn_arena_new(), .mode = mode};
        double start = now();
        tn_status *s = tn_arena_run(j.arena, run, &j);
        double taken = now() - start;
        if (taken < best) best = taken;
        if (s) {
            printf("%s: %s: %s\n", path, tn_code_name(tn_status_code(s)), tn_status_message(s));
            tn_status_free(s);
            rc = 1;
        } else if (i == repeats - 1 && repeats > 1) {
            printf("%s: %.3f ms, %zu bytes of %zu\n", path, best, tn_arena_bytes(j.arena), size);
        }
        tn_arena_free(j.arena);
    }
    free(data);
    return rc;
}

int main(int argc, char **argv)
{
    int mode = PRINT, repeats = 1, rc = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list")) {
            mode = LIST;
        } else if (!strcmp(argv[i], "--quiet")) {
            mode = QUIET;
        } else if (!strcmp(argv[i], "--time") && i + 1 < argc) {
            mode = QUIET;
            repeats = atoi(argv[++i]);
        } else {
            rc |= read_file(argv[i], mode, repeats);
        }
    }
    return rc;
}
