/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/replica_groups.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_DEVICES = 1 << 20, MOST_DIGITS = 64 };

/* A device's place in the mesh is a number in mixed radix; an axis, or a part of one, is a digit.
 */
typedef struct {
    int64_t size, stride;
} digit;

typedef struct {
    const char *name;
    int64_t size, stride;
} axis;

typedef struct {
    axis axes[MOST_DIGITS];
    uint32_t n_axes;
    int64_t n_devices;
    const tn_attr *ids; /* INTS, or NULL */
} mesh_shape;

static bool has_tag(const tn_attr *v, const char *tag)
{
    return v->kind == TN_ATTR_KIND_LIST && v->list.tag && !strcmp(v->list.tag, tag);
}

static const tn_attr *item(const tn_attr *v, uint32_t i, tn_attr_kind kind)
{
    if (v->kind != TN_ATTR_KIND_LIST || i >= v->list.n || v->list.items[i]->kind != kind)
        return NULL;
    return v->list.items[i];
}

bool tn_replica_groups_by_axes(const tn_attr *v)
{
    return has_tag(v, "replica_group_mesh_axes");
}

const char *tn_replica_groups_symbol(const tn_attr *axes)
{
    const tn_attr *name = item(axes, 0, TN_ATTR_KIND_STRING);
    return name ? name->string.data : NULL;
}

static tn_status *read_mesh(const tn_attr *mesh, mesh_shape *out)
{
    const tn_attr *axes = item(mesh, 0, TN_ATTR_KIND_LIST);
    out->ids = item(mesh, 1, TN_ATTR_KIND_INTS);
    out->n_axes = axes ? axes->list.n : 0;
    out->n_devices = 1;
    if (!axes || out->n_axes > MOST_DIGITS)
        return TN_ERROR(INVALID_ARGUMENT, "a mesh of %" PRIu32 " axes", out->n_axes);
    for (uint32_t i = out->n_axes; i-- > 0;) {
        const tn_attr *name = item(axes->list.items[i], 0, TN_ATTR_KIND_STRING);
        const tn_attr *size = item(axes->list.items[i], 1, TN_ATTR_KIND_INT);
        if (!name || !size || size->integer < 1 || size->integer > MOST_DEVICES / out->n_devices)
            return TN_ERROR(INVALID_ARGUMENT,
                            "axis %" PRIu32
                            " of a mesh has no size, or there are more than %d devices",
                            i, MOST_DEVICES);
        out->axes[i] = (axis){name->string.data, size->integer, out->n_devices};
        out->n_devices *= size->integer;
    }
    if (out->ids && !out->ids->ints.n) out->ids = NULL;
    if (out->ids && out->ids->ints.n != out->n_devices)
        return TN_ERROR(INVALID_ARGUMENT, "a mesh of %" PRId64 " devices names %" PRIu32 " of them",
                        out->n_devices, out->ids->ints.n);
    return NULL;
}

/* The digit that an axis_ref names. */
static tn_status *find_digit(const mesh_shape *m, const tn_attr *ref, digit *out)
{
    const tn_attr *name = item(ref, 0, TN_ATTR_KIND_STRING), *sub = item(ref, 1, TN_ATTR_KIND_LIST);
    if (!name) return TN_ERROR(INVALID_ARGUMENT, "replica groups over an axis without a name");
    for (uint32_t i = 0; i < m->n_axes; i++) {
        const axis *a = &m->axes[i];
        if (strcmp(a->name, name->string.data)) continue;
        *out = (digit){a->size, a->stride};
        if (!sub) return NULL;
        const tn_attr *pre = item(sub, 0, TN_ATTR_KIND_INT), *size = item(sub, 1, TN_ATTR_KIND_INT);
        if (!pre || !size || pre->integer < 1 || size->integer < 1 || pre->integer > a->size ||
            size->integer > a->size || a->size % (pre->integer * size->integer))
            return TN_ERROR(INVALID_ARGUMENT, "a part of axis %s that does not divide its size",
                            a->name);
        *out = (digit){size->integer, a->stride * (a->size / (pre->integer * size->integer))};
        return NULL;
    }
    return TN_ERROR(INVALID_ARGUMENT, "replica groups over axis %.100s, which the mesh lacks",
                    name->string.data);
}

/* What is left of an axis beside the digits that the groups run over, largest stride first. */
static tn_status *rest_of_axis(const axis *a, const digit *taken, uint32_t n_taken, digit *rest,
                               uint32_t *n_rest)
{
    int64_t top = a->stride * a->size; /* everything from here up is placed */
    while (top > a->stride) {
        /* The taken digit of this axis that reaches highest below `top`. */
        const digit *next = NULL;
        for (uint32_t i = 0; i < n_taken; i++) {
            const digit *d = &taken[i];
            if (d->stride < a->stride || d->stride * d->size > top || d->size == 1) continue;
            if (!next || d->stride > next->stride) next = d;
        }
        int64_t reach = next ? next->stride * next->size : a->stride;
        if (top % reach) return TN_ERROR(INVALID_ARGUMENT, "parts of axis %s overlap", a->name);
        if (top > reach) {
            if (*n_rest == MOST_DIGITS)
                return TN_ERROR(INVALID_ARGUMENT, "axis %s is cut into too many parts", a->name);
            rest[(*n_rest)++] = (digit){top / reach, reach};
        }
        top = next ? next->stride : a->stride;
    }
    return NULL;
}

tn_status *tn_replica_groups_expand(tn_arena *a, const tn_attr *axes, const tn_attr *mesh,
                                    tn_replica_groups_budget *budget, const tn_attr **out)
{
    mesh_shape m;
    digit digits[2 * MOST_DIGITS], grouped[MOST_DIGITS];
    uint32_t n_digits = 0, n_grouped = 0;
    const tn_attr *refs = item(axes, 1, TN_ATTR_KIND_LIST);
    if (!mesh) mesh = item(axes, 0, TN_ATTR_KIND_LIST);
    if (!mesh || !(has_tag(mesh, "mesh") || has_tag(mesh, "sdy.mesh")) || !refs ||
        refs->list.n > MOST_DIGITS)
        return TN_ERROR(INVALID_ARGUMENT, "replica groups by the axes of a mesh lack the mesh");
    TN_TRY(read_mesh(mesh, &m));
    int64_t group = 1;
    for (; n_grouped < refs->list.n; n_grouped++) {
        TN_TRY(find_digit(&m, refs->list.items[n_grouped], &grouped[n_grouped]));
        if (grouped[n_grouped].size > m.n_devices / group)
            return TN_ERROR(INVALID_ARGUMENT, "replica groups name an axis twice");
        group *= grouped[n_grouped].size;
    }
    for (uint32_t i = 0; i < m.n_axes; i++)
        TN_TRY(rest_of_axis(&m.axes[i], grouped, n_grouped, digits, &n_digits));
    memcpy(digits + n_digits, grouped, n_grouped * sizeof *grouped);
    n_digits += n_grouped;
    int64_t product = 1;
    for (uint32_t i = 0; i < n_digits && product <= m.n_devices; i++) product *= digits[i].size;
    if (product != m.n_devices)
        return TN_ERROR(INVALID_ARGUMENT, "replica groups name parts of an axis that overlap");

    size_t bytes = (size_t)m.n_devices * sizeof(int64_t);
    size_t limit = (16u << 20) + budget->file_size * 8;
    if (*budget->used > limit - bytes)
        return TN_ERROR(INVALID_ARGUMENT, "replica groups take more than %zu bytes", limit);
    *budget->used += bytes;
    int64_t *ids = TN_NEW_ARRAY(a, int64_t, (size_t)m.n_devices);
    for (int64_t i = 0; i < m.n_devices; i++) {
        int64_t left = i, at = 0;
        for (uint32_t d = n_digits; d-- > 0;) {
            at += left % digits[d].size * digits[d].stride;
            left /= digits[d].size;
        }
        ids[i] = m.ids ? m.ids->ints.data[at] : at;
    }
    tn_attr *x = TN_NEW(a, tn_attr);
    x->kind = TN_ATTR_KIND_INTS;
    x->ints.data = ids;
    x->ints.n = (uint32_t)m.n_devices;
    x->ints.rows = (uint32_t)(m.n_devices / group);
    *out = x;
    return NULL;
}
