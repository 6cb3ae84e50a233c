/* SPDX-License-Identifier: Apache-2.0 */
/* layout_options.c - the layouts that compile options ask for, as ShapeProto messages. */
#include "executable/layout_options.h"

#include <string.h>

#include "base/proto.h"
#include "ops/infer.h"

typedef struct {
    tn_proto_list dims, order;
    bool tiled;
} array_shape;

static tn_status *take_span(const tn_proto_reader *r, const char *name, tn_proto_span *out)
{
    const void *data;
    TN_TRY(tn_proto_bytes(r, name, &data, &out->size));
    out->data = data;
    return NULL;
}

static void add(tn_layout_options *list, tn_arena *a, const tn_proto_span *shape)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 8;
        tn_proto_span *shapes = TN_NEW_ARRAY(a, tn_proto_span, capacity);
        if (list->n) memcpy(shapes, list->shapes, list->n * sizeof *shapes);
        list->shapes = shapes;
        list->capacity = capacity;
    }
    list->shapes[list->n++] = *shape;
}

/* The arrays within the shape become `parts`, in order: itself, or those of the tuple that it is.
 */
static tn_status *spread(const tn_proto_span *shape, tn_arena *a, tn_layout_options *out)
{
    tn_proto_reader r;
    tn_proto_read(&r, "ShapeProto", shape->data, shape->size);
    int64_t element = 0;
    tn_proto_span part;
    for (;;) {
        bool more;
        TN_TRY(tn_proto_next(&r, &more));
        if (!more) break;
        if (r.field == 2) TN_TRY(tn_proto_int64(&r, "element_type", &element));
        if (r.field != 4) continue;
        TN_TRY(take_span(&r, "tuple_shapes", &part));
        add(out, a, &part);
    }
    enum { TUPLE = 13 };
    if (element != TUPLE) add(out, a, shape);
    return NULL;
}

tn_status *tn_layout_options_spread(const tn_proto_span *shapes, size_t n, tn_arena *a,
                                    tn_layout_options *out)
{
    *out = (tn_layout_options){0};
    for (size_t i = 0; i < n; i++) TN_TRY(spread(&shapes[i], a, out));
    return NULL;
}

static tn_status *read_layout(tn_proto_reader *r, tn_arena *a, array_shape *s)
{
    for (;;) {
        bool more;
        TN_TRY(tn_proto_next(r, &more));
        if (!more) return NULL;
        if (r->field == 1) TN_TRY(tn_proto_append(r, "minor_to_major", a, &s->order));
        if (r->field == 6) s->tiled = true;
    }
}

static tn_status *read_shape(const tn_proto_span *shape, tn_arena *a, array_shape *s)
{
    tn_proto_reader r;
    tn_proto_read(&r, "ShapeProto", shape->data, shape->size);
    for (;;) {
        bool more;
        TN_TRY(tn_proto_next(&r, &more));
        if (!more) return NULL;
        tn_proto_reader inner;
        if (r.field == 3) TN_TRY(tn_proto_append(&r, "dimensions", a, &s->dims));
        if (r.field == 5) {
            TN_TRY(tn_proto_message(&r, "layout", "LayoutProto", &inner));
            TN_TRY(read_layout(&inner, a, s));
        }
    }
}

static bool same_dims(const array_shape *s, const tn_type *t)
{
    if (s->dims.n != t->rank) return false;
    for (uint32_t k = 0; k < t->rank; k++)
        if (s->dims.at[k] != t->dims[k] && t->dims[k] >= 0) return false;
    return true;
}

tn_status *tn_layout_option(const tn_proto_span *shape, const tn_type *type, tn_arena *a,
                            const char *role, uint32_t i, const int64_t **out)
{
    *out = NULL;
    array_shape s = {0};
    TN_TRY(read_shape(shape, a, &s));
    if (type->kind != TN_TYPE_TENSOR) return NULL;
    if (!same_dims(&s, type))
        return TN_ERROR(INVALID_ARGUMENT,
                        "the compile options have a layout for a shape of %zu dimensions as %s %u, "
                        "which is %s",
                        s.dims.n, role, i, TN_TYPE_IN_MESSAGE(type));
    if (s.tiled)
        return TN_ERROR(UNIMPLEMENTED,
                        "the compile options ask for a tiled layout of %s %u: only the order of "
                        "dimensions can be chosen",
                        role, i);
    if (s.order.n == 0) return NULL;
    uint64_t seen = 0;
    bool ok = s.order.n == type->rank && type->rank <= 64;
    for (size_t k = 0; ok && k < s.order.n; k++) {
        int64_t d = s.order.at[k];
        ok = d >= 0 && d < type->rank && !(seen >> d & 1);
        if (ok) seen |= (uint64_t)1 << d;
    }
    if (!ok)
        return TN_ERROR(INVALID_ARGUMENT,
                        "the compile options ask for a layout of %s %u whose minor_to_major is no "
                        "order of the dimensions of %s",
                        role, i, TN_TYPE_IN_MESSAGE(type));
    *out = s.order.at;
    return NULL;
}
