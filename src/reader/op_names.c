/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/op_names.h"

#include <pthread.h>
#include <string.h>

tn_dialect tn_dialect_find(const char *name, size_t size)
{
    static const struct {
        const char *name;
        tn_dialect dialect;
    } known[] = {{"builtin", TN_DIALECT_BUILTIN}, {"vhlo", TN_DIALECT_VHLO},
                 {"sdy", TN_DIALECT_SDY},         {"stablehlo", TN_DIALECT_STABLEHLO},
                 {"chlo", TN_DIALECT_CHLO},       {"func", TN_DIALECT_FUNC},
                 {"quant", TN_DIALECT_QUANT}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == size && !memcmp(known[i].name, name, size))
            return known[i].dialect;
    return TN_DIALECT_OTHER;
}

/* --- versions --- */

/* Lists are closed by TN_ATTR_NONE. */
typedef struct {
    tn_op_kind op;
    unsigned version;
    tn_attr_name absent[8], dropped[2];
} version_row;

#define A(name)   TN_ATTR_##name,
#define LIST(...) __VA_ARGS__
static const version_row versions[] = {
#define VHLO(op, version, absent, dropped)                                                         \
    {TN_OP_##op, version, {LIST absent TN_ATTR_NONE}, {LIST dropped TN_ATTR_NONE}},
#include "reader/versions.def"
};
#undef LIST
#undef A

static const struct {
    tn_op_kind op;
    tn_attr_name attr;
} optionals[] = {
#define OPTIONAL(op, attr) {TN_OP_##op, TN_ATTR_##attr},
#include "reader/versions.def"
};

enum { N_VERSIONS = sizeof versions / sizeof *versions };

static const version_row *find_version(tn_op_kind kind, unsigned version)
{
    for (size_t i = 0; i < N_VERSIONS; i++)
        if (versions[i].op == kind && versions[i].version == version) return &versions[i];
    return NULL;
}

static bool is_optional(tn_op_kind kind, tn_attr_name attr)
{
    for (size_t i = 0; i < sizeof optionals / sizeof *optionals; i++)
        if (optionals[i].op == kind && optionals[i].attr == attr) return true;
    return false;
}

static bool holds(const tn_attr_name *list, tn_attr_name attr)
{
    for (; list && *list; list++)
        if (*list == attr) return true;
    return false;
}

/* Wire order is alphabetical: rows stand so, and a dropped attribute is put in its place. */
static void plan(tn_op_form *f, tn_op_kind kind, const version_row *v)
{
    const tn_op_info *info = &tn_op_infos[kind];
    const tn_attr_name *dropped = v ? v->dropped : NULL;
    *f = (tn_op_form){.role = TN_ROLE_OP, .kind = kind};
    for (uint32_t i = 0; i <= info->n_attrs; i++) {
        const char *text = i < info->n_attrs ? tn_attr_name_text(info->attrs[i]) : NULL;
        while (dropped && *dropped && (!text || strcmp(tn_attr_name_text(*dropped), text) < 0))
            f->wire[f->n_wire++] = (tn_wire_attr){.position = -1, .name = (int16_t)*dropped++};
        if (!text) break;
        if (v && holds(v->absent, info->attrs[i])) {
            f->absent |= 1u << i;
            continue;
        }
        f->wire[f->n_wire++] = (tn_wire_attr){.position = (int16_t)i,
                                              .name = (int16_t)info->attrs[i],
                                              .optional = is_optional(kind, info->attrs[i])};
    }
}

/* --- from a name to a form: a hash of all spellings, made once --- */

typedef struct {
    uint16_t kind, version; /* kind 0: free */
} slot;

enum { SLOTS = 512 };
_Static_assert((TN_OP_COUNT + N_VERSIONS) * 2 < SLOTS, "the table of op names is too small");
static slot slots[SLOTS];
static tn_op_form forms[SLOTS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const tn_op_form module_form = {.role = TN_ROLE_MODULE};
static const tn_op_form function_form = {.role = TN_ROLE_FUNCTION};
static const tn_op_form chlo_form = {.role = TN_ROLE_CHLO};
static tn_op_form plain_forms[TN_OP_COUNT];

/* VHLO holds StableHLO's ops and those of functions; only its ops have versions. */
static tn_dialect dialect_of(tn_op_kind kind)
{
    const char *text = tn_op_infos[kind].text;
    tn_dialect d = tn_dialect_find(text, (size_t)(strchr(text, '.') - text));
    return d == TN_DIALECT_STABLEHLO || d == TN_DIALECT_FUNC || d == TN_DIALECT_OTHER
               ? TN_DIALECT_VHLO
               : d;
}

static const char *short_name(tn_op_kind kind)
{
    return strchr(tn_op_infos[kind].text, '.') + 1;
}

static unsigned hash(tn_dialect dialect, const char *name, size_t size, unsigned version)
{
    uint32_t h = 2166136261u ^ (unsigned)dialect ^ version << 8;
    for (size_t i = 0; i < size; i++) h = (h ^ (uint8_t)name[i]) * 16777619u;
    return (h ^ h >> 15) % SLOTS;
}

static void enter(tn_op_kind kind, unsigned version, const version_row *row)
{
    const char *name = short_name(kind);
    unsigned i = hash(dialect_of(kind), name, strlen(name), version);
    while (slots[i].kind) i = (i + 1) % SLOTS;
    slots[i] = (slot){(uint16_t)kind, (uint16_t)version};
    plan(&forms[i], kind, row);
}

static void build(void)
{
    for (size_t i = 0; i < N_VERSIONS; i++)
        enter(versions[i].op, versions[i].version, &versions[i]);
    for (unsigned k = 1; k < TN_OP_COUNT; k++) {
        plain_forms[k] = (tn_op_form){.role = TN_ROLE_PLAIN, .kind = k};
        if (dialect_of(k) != TN_DIALECT_VHLO) enter(k, 0, NULL);
        else if (!find_version(k, 1)) enter(k, 1, NULL);
    }
}

static const tn_op_form *find(tn_dialect dialect, const char *name, size_t size, unsigned version)
{
    pthread_once(&once, build);
    for (unsigned i = hash(dialect, name, size, version); slots[i].kind; i = (i + 1) % SLOTS) {
        const char *n = short_name(slots[i].kind);
        if (slots[i].version == version && dialect_of(slots[i].kind) == dialect &&
            strlen(n) == size && !memcmp(n, name, size))
            return &forms[i];
    }
    return NULL;
}

/* "add_v1" to its length without the suffix and its version; version 0 when it has none. */
static size_t split_version(const char *name, size_t size, unsigned *version)
{
    *version = 0;
    size_t i = size;
    unsigned v = 0, scale = 1;
    while (i > 0 && name[i - 1] >= '0' && name[i - 1] <= '9' && size - i < 4) {
        v += (unsigned)(name[--i] - '0') * scale;
        scale *= 10;
    }
    if (i == size || i < 3 || name[i - 1] != 'v' || name[i - 2] != '_') return size;
    *version = v;
    return i - 2;
}

static bool is(const char *name, size_t size, const char *text)
{
    return strlen(text) == size && !memcmp(name, text, size);
}

/* An op of StableHLO or func under its own name. Each has a version 1 in VHLO. */
static const tn_op_form *find_plain(tn_dialect dialect, const char *name, size_t size)
{
    const tn_op_form *f = find(TN_DIALECT_VHLO, name, size, 1);
    if (!f) return NULL;
    const char *text = tn_op_infos[f->kind].text;
    bool its_own = tn_dialect_find(text, (size_t)(strchr(text, '.') - text)) == dialect;
    return its_own || f->kind == TN_OP_return ? &plain_forms[f->kind] : NULL;
}

const tn_op_form *tn_op_form_find(const char *dialect, size_t dialect_size, const char *name,
                                  size_t name_size)
{
    unsigned version;
    switch (tn_dialect_find(dialect, dialect_size)) {
    case TN_DIALECT_VHLO:
        if (is(name, name_size, "func_v1")) return &function_form;
        name_size = split_version(name, name_size, &version);
        return version ? find(TN_DIALECT_VHLO, name, name_size, version) : NULL;
    case TN_DIALECT_BUILTIN:
        if (is(name, name_size, "module")) return &module_form;
        return find(TN_DIALECT_BUILTIN, name, name_size, 0);
    case TN_DIALECT_SDY: return find(TN_DIALECT_SDY, name, name_size, 0);
    case TN_DIALECT_FUNC:
        if (is(name, name_size, "func")) return &function_form;
        return find_plain(TN_DIALECT_FUNC, name, name_size);
    case TN_DIALECT_STABLEHLO: return find_plain(TN_DIALECT_STABLEHLO, name, name_size);
    case TN_DIALECT_CHLO:
        if (is(name, name_size, "constant") || is(name, name_size, "tan"))
            return find_plain(TN_DIALECT_STABLEHLO, name, name_size);
        return &chlo_form;
    case TN_DIALECT_QUANT:
    case TN_DIALECT_OTHER: return NULL;
    }
    return NULL;
}
