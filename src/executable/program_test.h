/* SPDX-License-Identifier: Apache-2.0 */
/* program_test.h - compiles and runs programs that are built by passes/build_test.h. */
#ifndef TN_EXECUTABLE_PROGRAM_TEST_H
#define TN_EXECUTABLE_PROGRAM_TEST_H

#include "executable/compile.h"
#include "executable/program.h"
#include "passes/build_test.h"

/* --- compiling and running --- */

typedef void program_fn(builder *b, void *ctx);

typedef struct {
    tn_source as_source; /* first */
    program_fn *build;
    void *ctx;
} test_source;

UNUSED static tn_status *read_test_source(const tn_source *self, tn_arena *a, tn_module **out)
{
    const test_source *s = (const test_source *)self->read_ctx;
    builder b = {.arena = a, .module = tn_module_new(a)};
    s->build(&b, s->ctx);
    for (tn_function *f = b.module->functions; f; f = f->next)
        if (!strcmp(f->name, "main")) b.module->main = f;
    *out = b.module;
    return NULL;
}

UNUSED static tn_status *compile_source(test_source *s, tn_executable **out)
{
    s->as_source.read = read_test_source;
    s->as_source.read_ctx = s;
    return tn_compile_source(&s->as_source, out);
}

UNUSED static tn_status *compile_program(program_fn *build, void *ctx, bool as_it_is,
                                         uint64_t fail_at, tn_executable **out)
{
    test_source s = {{.as_it_is = as_it_is, .fail_at = fail_at}, build, ctx};
    return compile_source(&s, out);
}

/* Runs with fresh memory around each block, so that the sanitizer sees what goes astray. Donated
 * parameters are copied into their result first. */
UNUSED static tn_status *run_on_pool(const tn_executable *e, void *const *args,
                                     void *const *results, struct tn_thread_pool *pool)
{
    const tn_executable_info *info = tn_executable_get_info(e);
    void *temp = aligned_alloc(64, info->temp_bytes ? info->temp_bytes : 64);
    memset(temp, 0xA5, info->temp_bytes);
    tn_run run = {.args = args, .results = results, .temp = temp, .pool = pool};
    tn_status *s = tn_executable_run(e, &run);
    free(temp);
    return s;
}

UNUSED static tn_status *run_executable(const tn_executable *e, void *const *args,
                                        void *const *results)
{
    return run_on_pool(e, args, results, NULL);
}

#endif
