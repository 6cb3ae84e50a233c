/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "executable/program.h"

static void print_ref(FILE *f, const tn_executable *e, const tn_step_ref *r)
{
    char type[96];
    uint32_t n = e->info.n_params;
    tn_type_format(r->type ? r->type : tn_type_token(), type, sizeof type);
    if (r->base == TN_BASE_FIXED) fprintf(f, " constant:%s", type);
    else if (r->base == TN_BASE_TEMP) fprintf(f, " temp+%" PRIu64 ":%s", r->offset, type);
    else if (r->base < TN_BASE_FIRST_PARAM + n)
        fprintf(f, " arg%u:%s", r->base - TN_BASE_FIRST_PARAM, type);
    else if (r->base >= TN_BASE_FIRST_PARAM + n + e->info.n_results)
        fprintf(f, " window%u:%s", r->base - TN_BASE_FIRST_PARAM - n - e->info.n_results, type);
    else if (!r->offset) fprintf(f, " result%u:%s", r->base - TN_BASE_FIRST_PARAM - n, type);
    else fprintf(f, " result%u+%" PRIu64 ":%s", r->base - TN_BASE_FIRST_PARAM - n, r->offset, type);
}

static void print_tile(FILE *f, const tn_tile_program *t)
{
    fprintf(f, "  ; %" PRId64 " elements by %u, %u micro-ops, %u fills", t->n, t->tile, t->n_ops,
            t->n_fills);
    for (uint32_t i = 0; i < t->n_outputs; i++)
        fprintf(f, "%s %s", i ? "," : "; gives", tn_op_text(t->outputs[i].value->op));
}

void tn_dump_steps(const tn_executable *e, FILE *f)
{
    static const char *const names[] = {"tile", "rows", "loop", "scalar", "window", "look", "eval",
                                        "fill", "copy", "jump", "unless", "switch", "end"};
    fprintf(f, "// steps of %s, %zu bytes of temporary memory\n", e->info.name, e->info.temp_bytes);
    for (uint32_t i = 0; i < e->n_steps; i++) {
        const tn_step *s = &e->steps[i];
        uint32_t n = s->n_operands, all = n + s->n_results;
        fprintf(f, "%5u %s", i, names[s->kind]);
        if (s->kind == TN_STEP_EVAL || s->kind == TN_STEP_SCALAR || s->kind == TN_STEP_WINDOW ||
            s->kind == TN_STEP_LOOK)
            fprintf(f, " %s", tn_op_text(s->op));
        if (s->kind == TN_STEP_COPY) n = 1, all = 2;
        if (s->kind == TN_STEP_FILL || s->kind == TN_STEP_UNLESS || s->kind == TN_STEP_SWITCH)
            n = all = 1;
        for (uint32_t j = 0; j < all; j++) {
            if (j == n) fprintf(f, " ->");
            print_ref(f, e, &s->refs[j]);
        }
        if (s->kind == TN_STEP_JUMP || s->kind == TN_STEP_UNLESS) fprintf(f, " @%u", s->target);
        for (uint32_t j = 0; s->kind == TN_STEP_SWITCH && j < s->n_targets; j++)
            fprintf(f, " @%u", s->targets[j]);
        if (s->kind == TN_STEP_TILE) print_tile(f, s->tile);
        if (s->together)
            fprintf(f, "  ; %u parts up to here %u may run together", s->together->n,
                    s->together->first[s->together->n]);
        fputc('\n', f);
    }
}
