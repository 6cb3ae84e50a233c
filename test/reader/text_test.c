/* SPDX-License-Identifier: Apache-2.0 */
/* text_test FOLDER - reads every module.mlir of the shared StableHLO cases: it must give the module
 * that module.mlirbc beside it gives, as the printer shows, and the print must read back as itself.
 *
 * Skipped (exit 77) when the folder is not there. JAX expands CHLO on the way to bytecode in its
 * own way, so programs with it need not be equal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/reader.h"
#include "blob.h"

typedef struct {
    blob in;
    tn_arena *arena;
    char *text; /* what was printed */
    size_t size;
} job;

static tn_status *read_and_print(void *ctx)
{
    job *j = ctx;
    tn_module *m;
    if (tn_is_bytecode(j->in.data, j->in.size))
        TN_TRY(tn_read_bytecode(j->in.data, j->in.size, j->arena, &m));
    else TN_TRY(tn_read_text(j->in.data, j->in.size, j->arena, &m));
    j->text = tn_module_print(m, j->arena, &j->size);
    return NULL;
}

/* The print of what was read, from malloc, or NULL and the error. */
static char *print_of(blob in, tn_status **error)
{
    /* A copy without a NUL, so that a sanitizer sees a step beyond its end. */
    char *copy = malloc(in.size ? in.size : 1);
    memcpy(copy, in.data, in.size);
    job j = {.in = {copy, in.size}, .arena = tn_arena_new()};
    *error = tn_arena_run(j.arena, read_and_print, &j);
    char *text = *error ? NULL : strdup(j.text);
    tn_arena_free(j.arena);
    free(copy);
    return text;
}

static int passed, expanded, failed;

static void show_difference(const char *name, const char *what, const char *x, const char *y)
{
    size_t k = 0;
    while (x[k] && x[k] == y[k]) k++;
    while (k && x[k - 1] != '\n') k--;
    printf("%s: %s\n  %.400s\n  %.400s\n", name, what, x + k, y + k);
    failed++;
}

static void check(const char *name, blob text, blob bytecode)
{
    tn_status *s;
    char *expected = NULL, *got = print_of(text, &s), *again;
    bool chlo =
        memmem(text.data, text.size, " chlo.", 6) || memmem(text.data, text.size, "\"chlo.", 6);
    if (!got) {
        printf("%s: %s\n", name, tn_status_message(s));
        tn_status_free(s);
        failed++;
        return;
    }
    blob printed = {got, strlen(got)};
    again = print_of(printed, &s);
    if (bytecode.data && !s) expected = print_of(bytecode, &s);
    if (s) {
        printf("%s: of the print or the bytecode: %s\n", name, tn_status_message(s));
        tn_status_free(s);
        failed++;
    } else if (strcmp(got, again)) {
        show_difference(name, "the print reads back as another", got, again);
    } else if (expected && strcmp(got, expected) && chlo) {
        expanded++;
    } else if (expected && strcmp(got, expected)) {
        show_difference(name, "differs from the bytecode", got, expected);
    } else {
        passed++;
    }
    free(got);
    free(again);
    free(expected);
}

/* --- zip archives whose entries are stored as they are --- */

static uint32_t le(const char *p, unsigned bytes)
{
    uint32_t v = 0;
    memcpy(&v, p, bytes);
    return v;
}

static bool ends_with(const char *s, size_t n, const char *end)
{
    size_t k = strlen(end);
    return n >= k && !memcmp(s + n - k, end, k);
}

/* The text stands before the bytecode of the same folder. */
static void walk(const char *area, blob zip)
{
    enum { HEADER = 30 };
    char name[512] = "";
    blob text = {0};
    for (size_t at = 0; at + HEADER < zip.size && le(zip.data + at, 4) == 0x04034B50;) {
        char *p = zip.data + at, *entry = p + HEADER;
        size_t size = le(p + 18, 4), n_name = le(p + 26, 2), n_extra = le(p + 28, 2);
        blob content = {entry + n_name + n_extra, size};
        if (ends_with(entry, n_name, "/module.mlir")) {
            if (text.data) check(name, text, (blob){0});
            text = content;
            snprintf(name, sizeof name, "%s/%.*s", area, (int)n_name, entry);
        } else if (ends_with(entry, n_name, "/module.mlirbc") && text.data) {
            check(name, text, content);
            text.data = NULL;
        }
        at += HEADER + n_name + n_extra + size;
    }
    if (text.data) check(name, text, (blob){0});
}

int main(int argc, char **argv)
{
    static const char *const areas[] = {"dynamic", "interpret", "parallel", "quantized",
                                        "testdata"};
    const char *folder = argc > 1 ? argv[1] : "../shared/stablehlo";
    bool any = false;
    for (size_t i = 0; i < sizeof areas / sizeof *areas; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s.zip", areas[i]);
        blob zip = load(folder, file);
        if (!zip.data) continue;
        any = true;
        walk(areas[i], zip);
        free(zip.data);
    }
    if (!any) {
        printf("skipped: no cases in %s\n", folder);
        return 77;
    }
    printf("%d texts are read as their bytecode, %d have CHLO expanded, %d failed\n", passed,
           expanded, failed);
    return failed || !passed;
}
