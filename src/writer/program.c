/* SPDX-License-Identifier: Apache-2.0 */
#include "tenon/program.h"

#include <stdlib.h>
#include <string.h>

#include "reader/reader.h"

typedef struct {
    const void *code;
    size_t size;
    tn_arena *arena;
    char *text;
    tn_program_parameter *visit;
    void *user;
} job;

static tn_status *read_program(job *j, tn_module **out)
{
    if (tn_is_bytecode(j->code, j->size)) return tn_read_bytecode(j->code, j->size, j->arena, out);
    return tn_read_text(j->code, j->size, j->arena, out);
}

static tn_status *print(void *ctx)
{
    job *j = ctx;
    tn_module *m;
    TN_TRY(read_program(j, &m));
    size_t n;
    const char *text = tn_module_print(m, j->arena, &n);
    j->text = malloc(n + 1);
    if (!j->text) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    memcpy(j->text, text, n);
    j->text[n] = 0;
    return NULL;
}

static tn_status *parameters(void *ctx)
{
    job *j = ctx;
    tn_module *m;
    TN_TRY(read_program(j, &m));
    if (!m->main) return TN_ERROR(INVALID_ARGUMENT, "the program has no @main");
    const tn_region *body = &m->main->body;
    for (uint32_t i = 0; i < body->n_args; i++) {
        const tn_type *t = body->args[i].type;
        bool array = t->kind == TN_TYPE_TENSOR;
        j->visit(j->user, array ? (int)t->element : 0, array ? t->rank : 0, array ? t->dims : NULL);
    }
    return NULL;
}

static tn_status *run(job *j, tn_status *(*body)(void *))
{
    j->arena = tn_arena_new();
    if (!j->arena) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    tn_status *s = tn_arena_run(j->arena, body, j);
    tn_arena_free(j->arena);
    return s;
}

tn_status *tn_program_text(const void *code, size_t size, char **out)
{
    job j = {.code = code, .size = size};
    TN_TRY(run(&j, print));
    *out = j.text;
    return NULL;
}

tn_status *tn_program_parameters(const void *code, size_t size, tn_program_parameter *visit,
                                 void *user)
{
    job j = {.code = code, .size = size, .visit = visit, .user = user};
    return run(&j, parameters);
}
