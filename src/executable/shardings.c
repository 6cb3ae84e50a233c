/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "executable/program.h"

enum { AXES_AT_MOST = 64, DEVICES_AT_MOST = 1 << 20 };

typedef struct {
    const char *name;
    int64_t size, stride; /* of a device's place in the mesh */
    bool used;
} axis;

typedef struct {
    axis axes[AXES_AT_MOST];
    uint32_t n;
    int64_t devices;
    const tn_attr *ids; /* INTS, or NULL: in order */
} mesh;

/* What a node's item is, or NULL: a program may bring anything. */
static const tn_attr *item(const tn_attr *a, uint32_t i, tn_attr_kind kind)
{
    const tn_attr *x = a && a->kind == TN_ATTR_KIND_LIST && i < a->list.n ? a->list.items[i] : NULL;
    return x && x->kind == kind ? x : NULL;
}

static const tn_attr *find_mesh(const tn_module *m, const tn_attr *named)
{
    if (!named || named->kind != TN_ATTR_KIND_STRING) return named;
    for (uint32_t i = 0; i < m->n_symbols; i++)
        if (m->symbols[i]->kind == TN_OP_sdy_mesh &&
            !strcmp(tn_op_string(m->symbols[i], TN_ATTR_sym_name), named->string.data))
            return tn_op_attr(m->symbols[i], TN_ATTR_mesh);
    return NULL;
}

static bool read_mesh(const tn_attr *a, mesh *out)
{
    const tn_attr *axes = item(a, 0, TN_ATTR_KIND_LIST), *ids = item(a, 1, TN_ATTR_KIND_INTS);
    if (!axes || axes->list.n > AXES_AT_MOST) return false;
    *out = (mesh){.n = axes->list.n, .devices = 1};
    if (ids && ids->ints.n) out->ids = ids;
    for (uint32_t i = out->n; i-- > 0;) {
        const tn_attr *x = item(axes, i, TN_ATTR_KIND_LIST);
        const tn_attr *name = item(x, 0, TN_ATTR_KIND_STRING);
        const tn_attr *size = item(x, 1, TN_ATTR_KIND_INT);
        if (!name || !size || size->integer < 1 || size->integer > DEVICES_AT_MOST / out->devices)
            return false;
        out->axes[i] = (axis){name->string.data, size->integer, out->devices, false};
        out->devices *= size->integer;
    }
    return !out->ids || out->ids->ints.n == out->devices;
}

static axis *find_axis(mesh *m, const tn_attr *ref)
{
    const tn_attr *name = ref->list.n == 1 ? item(ref, 0, TN_ATTR_KIND_STRING) : NULL;
    for (uint32_t i = 0; name && i < m->n; i++)
        if (!strcmp(m->axes[i].name, name->string.data)) return &m->axes[i];
    return NULL;
}

/* The devices along the axes of order[], the last one fastest. */
static void list_devices(const mesh *m, axis *const *order, uint32_t n, int64_t *out)
{
    for (int64_t i = 0; i < m->devices; i++) {
        int64_t place = 0, rest = i;
        for (uint32_t k = n; k-- > 0; rest /= order[k]->size)
            place += rest % order[k]->size * order[k]->stride;
        out[i] = m->ids ? m->ids->ints.data[place] : place;
    }
}

const tn_op_sharding *tn_tiling_of(const tn_module *m, const tn_attr *sharding, tn_arena *a)
{
    mesh grid;
    if (!sharding || sharding->kind != TN_ATTR_KIND_LIST || !sharding->list.tag ||
        strcmp(sharding->list.tag, "sdy.sharding") || sharding->list.n < 2 ||
        !read_mesh(find_mesh(m, sharding->list.items[0]), &grid))
        return NULL;
    const tn_attr *dims = item(sharding, 1, TN_ATTR_KIND_LIST);
    if (!dims) return NULL;
    uint32_t rank = dims->list.n, n = 0;
    int64_t *tiles = TN_NEW_ARRAY(a, int64_t, rank + 1), shared = grid.devices;
    axis *order[AXES_AT_MOST];
    for (uint32_t d = 0; d < rank; d++) {
        const tn_attr *axes = item(item(dims, d, TN_ATTR_KIND_LIST), 0, TN_ATTR_KIND_LIST);
        if (!axes) return NULL;
        tiles[d] = 1;
        for (uint32_t k = 0; k < axes->list.n; k++) {
            const tn_attr *ref = item(axes, k, TN_ATTR_KIND_LIST);
            axis *x = ref ? find_axis(&grid, ref) : NULL;
            if (!x || x->used) return NULL;
            x->used = true;
            tiles[d] *= x->size;
            shared /= x->size;
            order[n++] = x;
        }
    }
    if (shared == grid.devices) return NULL;
    for (uint32_t i = 0; i < grid.n; i++)
        if (!grid.axes[i].used) order[n++] = &grid.axes[i];
    int64_t *devices = TN_NEW_ARRAY(a, int64_t, (size_t)grid.devices);
    list_devices(&grid, order, n, devices);
    static const tn_sharding_kind replicated = TN_SHARDING_REPLICATED;
    tiles[rank] = shared;
    tn_op_sharding *out = TN_NEW(a, tn_op_sharding);
    *out = (tn_op_sharding){.kind = TN_SHARDING_TILED,
                            .dims = tiles,
                            .n_dims = rank + (shared > 1),
                            .devices = devices,
                            .subgroup = &replicated,
                            .n_subgroups = shared > 1};
    return out;
}
