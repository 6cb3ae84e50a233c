/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "base/trace.h"
#include "ops/ops.h"
#include "passes/passes.h"

typedef struct {
    const char *name;
    bool needed;
    tn_op_kind looks_for[3];
    tn_status *(*run)(tn_module *m, bool *changed);
} pass;

static const pass passes[] = {
#define TN_PASS(name, needed, doc, ...) {#name, needed, {__VA_ARGS__}, tn_pass_##name},
#include "passes/pipeline.def"
#undef TN_PASS
};

static bool names(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; *at;) {
        size_t word = strcspn(at, ",");
        if ((word == n && !memcmp(at, name, n)) || (word == 3 && !memcmp(at, "all", 3)))
            return true;
        at += word + (at[word] == ',');
    }
    return false;
}

bool tn_dumps(const char *name)
{
    const char *list = tn_options_get()->dump;
    return *list && names(list, name);
}

static bool may_change(const pass *p, const tn_module *m)
{
    bool any = !p->looks_for[0];
    for (size_t i = 0; i < sizeof p->looks_for / sizeof *p->looks_for && p->looks_for[i]; i++)
        any |= tn_module_may_have(m, p->looks_for[i]);
    return any;
}

static void dump(const tn_module *m, const char *name)
{
    size_t size;
    const char *text = tn_module_print(m, m->arena, &size);
    fprintf(stderr, "// after %s\n%.*s\n", name, (int)size, text);
}

tn_status *tn_passes_run(tn_module *m, tn_passes_part part, bool only_needed)
{
    const tn_options *o = tn_options_get();
    bool sized = false, stopped = false, log = tn_log_enabled(TN_LOG_DEBUG, "passes");
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        const pass *p = &passes[i];
        sized = sized || p->run == tn_pass_refine;
        if (part == (sized ? TN_PASSES_BEFORE_SIZES : TN_PASSES_WITH_SIZES)) continue;
        if ((only_needed || stopped) && !p->needed) continue;
        uint64_t start = log ? tn_trace_now() : 0, recorded = tn_trace_begin();
        bool changed = false;
        if (may_change(p, m)) TN_TRY(p->run(m, &changed));
        TN_TRACE_END(recorded, TN_TRACE_COMPILE, p->name, NULL, m->name, 0);
        if (log)
            tn_log(TN_LOG_DEBUG, "passes", "%s: %s in %.1f us", p->name,
                   changed ? "changed" : "unchanged", (double)(tn_trace_now() - start) / 1e3);
        if (tn_dumps(p->name)) dump(m, p->name);
#ifndef NDEBUG
        if (changed && !only_needed) TN_ANNOTATE(tn_module_verify(m), "after pass %s", p->name);
#endif
        stopped = stopped || (*o->last_pass && !strcmp(o->last_pass, p->name));
    }
    return NULL;
}
