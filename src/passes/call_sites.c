/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/call_sites.h"

#include <ctype.h>
#include <string.h>

/* Locations with this bit are sites; others are those of the locator behind. */
#define SITE 0x80000000u

typedef struct {
    uint32_t own, call;
} site;

struct tn_call_sites {
    tn_locator as_locator; /* first */
    const tn_locator *behind;
    tn_arena *arena;
    site *sites;
    uint32_t n, capacity;
};

static bool is_number_before(const char *text, size_t *end)
{
    size_t n = *end;
    while (n && isdigit((unsigned char)text[n - 1])) n--;
    bool found = n < *end;
    *end = n;
    return found;
}

/* How much of "file.py:12:3 (name)" is the place; 0: it has none. */
static size_t place_length(const char *text)
{
    for (const char *at = text; at; at++) {
        at = strstr(at, " (");
        size_t length = at ? (size_t)(at - text) : strlen(text), n = length;
        bool column = is_number_before(text, &n) && n && text[n - 1] == ':';
        if (column && (n--, is_number_before(text, &n))) return length;
        if (!at) break;
    }
    return 0;
}

static bool is_users(const char *text)
{
    return place_length(text) && !strstr(text, "/site-packages/") &&
           !strstr(text, "/dist-packages/");
}

/* The place of the call, and both names. */
static const char *join(tn_arena *a, const char *own, const char *call)
{
    size_t at = place_length(own);
    const char *name = at ? own + at : own;
    if (!strncmp(name, " (", 2)) name += 2;
    int n = (int)strlen(name), place = (int)place_length(call), all = (int)strlen(call);
    if (at && n && name[n - 1] == ')') n--;
    if (!n) return call;
    if (place == all) return tn_printf(a, "%s (%.*s)", call, n, name);
    return tn_printf(a, "%.*s/%.*s)", all - 1, call, n, name);
}

static const char *text_of_site(const tn_locator *l, tn_arena *a, uint32_t location)
{
    const tn_call_sites *c = (const tn_call_sites *)l;
    if (!(location & SITE)) return c->behind->text(c->behind, a, location);
    if ((location & ~SITE) >= c->n) return NULL;
    const site *s = &c->sites[location & ~SITE];
    const char *own = c->behind->text(c->behind, a, s->own);
    if (own && is_users(own)) return own;
    const char *call = c->behind->text(c->behind, a, s->call);
    if (!call || !is_users(call)) return own ? own : call;
    return own ? join(a, own, call) : call;
}

static bool has_sites(const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (op->location & SITE) return true;
        for (uint32_t i = 0; i < op->n_regions; i++)
            if (has_sites(&op->regions[i])) return true;
    }
    return false;
}

tn_call_sites *tn_call_sites_new(tn_module *m)
{
    if (!m->locator) return NULL;
    for (const tn_function *f = m->functions; f; f = f->next)
        if (has_sites(&f->body)) return NULL;
    tn_call_sites *c = TN_NEW(m->arena, tn_call_sites);
    *c = (tn_call_sites){.as_locator = {text_of_site}, .behind = m->locator, .arena = m->arena};
    m->locator = &c->as_locator;
    return c;
}

static uint32_t add(tn_call_sites *c, site s)
{
    if (c->n && c->sites[c->n - 1].own == s.own && c->sites[c->n - 1].call == s.call)
        return c->n - 1;
    if (c->n == c->capacity) {
        uint32_t capacity = c->capacity ? 2 * c->capacity : 64;
        site *sites = TN_NEW_ARRAY(c->arena, site, capacity);
        if (c->n) memcpy(sites, c->sites, c->n * sizeof *sites);
        c->sites = sites;
        c->capacity = capacity;
    }
    c->sites[c->n] = s;
    return c->n++;
}

void tn_call_sites_mark(tn_call_sites *c, tn_region *r, uint32_t call)
{
    if (!c || call & SITE) return;
    for (tn_op *op = r->first; op; op = op->next) {
        uint32_t own = op->location & SITE ? c->sites[op->location & ~SITE].own : op->location;
        op->location = SITE | add(c, (site){own, call});
        for (uint32_t i = 0; i < op->n_regions; i++) tn_call_sites_mark(c, &op->regions[i], call);
    }
}
