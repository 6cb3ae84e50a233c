/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ir.h"

#include <assert.h>
#include <string.h>

static int position(tn_op_kind kind, tn_attr_name name)
{
    const tn_op_info *info = &tn_op_infos[kind];
    for (uint32_t i = 0; i < info->n_attrs; i++)
        if (info->attrs[i] == name) return (int)i;
    return -1;
}

void tn_op_set_attr(tn_module *m, tn_op *op, tn_attr_name name, const tn_attr *value)
{
    int i = position(op->kind, name);
    assert(i >= 0);
    op->attrs[i] = value;
}

const tn_attr *tn_op_attr(const tn_op *op, tn_attr_name name)
{
    int i = position(op->kind, name);
    return i >= 0 ? op->attrs[i] : NULL;
}

static const tn_attr *of_kind(const tn_op *op, tn_attr_name name, tn_attr_kind kind)
{
    const tn_attr *a = tn_op_attr(op, name);
    return a && a->kind == kind ? a : NULL;
}

int64_t tn_op_int(const tn_op *op, tn_attr_name name, int64_t otherwise)
{
    const tn_attr *a = of_kind(op, name, TN_ATTR_KIND_INT);
    return a ? a->integer : otherwise;
}

bool tn_op_bool(const tn_op *op, tn_attr_name name, bool otherwise)
{
    const tn_attr *a = of_kind(op, name, TN_ATTR_KIND_BOOL);
    return a ? a->boolean : otherwise;
}

double tn_op_float(const tn_op *op, tn_attr_name name, double otherwise)
{
    const tn_attr *a = of_kind(op, name, TN_ATTR_KIND_FLOAT);
    return a ? a->real : otherwise;
}

const char *tn_op_string(const tn_op *op, tn_attr_name name)
{
    const tn_attr *a = of_kind(op, name, TN_ATTR_KIND_STRING);
    return a ? a->string.data : "";
}

const int64_t *tn_op_ints(const tn_op *op, tn_attr_name name, uint32_t *n)
{
    const tn_attr *a = of_kind(op, name, TN_ATTR_KIND_INTS);
    *n = a ? a->ints.n : 0;
    return a ? a->ints.data : NULL;
}

bool tn_op_has_int(const tn_op *op, tn_attr_name name, int64_t v)
{
    uint32_t n;
    const int64_t *list = tn_op_ints(op, name, &n);
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == v) return true;
    return false;
}

const bool *tn_op_bools(const tn_op *op, tn_attr_name name, uint32_t *n)
{
    const tn_attr *a = of_kind(op, name, TN_ATTR_KIND_BOOLS);
    *n = a ? a->bools.n : 0;
    return a ? a->bools.data : NULL;
}

static const tn_attr *find(const tn_named_attr *pairs, uint32_t n, const char *key)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(pairs[i].key, key)) return pairs[i].value;
    return NULL;
}

const tn_attr *tn_op_extra(const tn_op *op, const char *key)
{
    return find(op->extra, op->n_extra, key);
}

const tn_attr *tn_attr_get(const tn_attr *dict, const char *key)
{
    if (!dict || dict->kind != TN_ATTR_KIND_DICT) return NULL;
    return find(dict->dict.pairs, dict->dict.n, key);
}

static tn_attr *make(tn_arena *a, tn_attr_kind kind)
{
    tn_attr *v = TN_NEW(a, tn_attr);
    v->kind = kind;
    return v;
}

const tn_attr *tn_attr_bool(tn_arena *a, bool v)
{
    tn_attr *x = make(a, TN_ATTR_KIND_BOOL);
    x->boolean = v;
    return x;
}

const tn_attr *tn_attr_int(tn_arena *a, int64_t v)
{
    tn_attr *x = make(a, TN_ATTR_KIND_INT);
    x->integer = v;
    return x;
}

const tn_attr *tn_attr_string(tn_arena *a, const char *data, size_t size)
{
    tn_attr *x = make(a, TN_ATTR_KIND_STRING);
    x->string.data = tn_strndup(a, data, size);
    x->string.size = size;
    return x;
}

const tn_attr *tn_attr_ints(tn_arena *a, const int64_t *v, uint32_t n)
{
    tn_attr *x = make(a, TN_ATTR_KIND_INTS);
    x->ints.data = tn_dup(a, v, n * sizeof *v);
    x->ints.n = n;
    x->ints.rows = 1;
    return x;
}

const tn_attr *tn_attr_tensor(tn_arena *a, const tn_literal *v)
{
    tn_attr *x = make(a, TN_ATTR_KIND_TENSOR);
    x->type = v->type;
    x->tensor = *v;
    return x;
}

static bool list_equal(const tn_attr *x, const tn_attr *y)
{
    if (x->list.n != y->list.n || !x->list.tag != !y->list.tag) return false;
    if (x->list.tag && strcmp(x->list.tag, y->list.tag)) return false;
    for (uint32_t i = 0; i < x->list.n; i++)
        if (!tn_attr_equal(x->list.items[i], y->list.items[i])) return false;
    return true;
}

static bool dict_equal(const tn_attr *x, const tn_attr *y)
{
    if (x->dict.n != y->dict.n) return false;
    for (uint32_t i = 0; i < x->dict.n; i++)
        if (strcmp(x->dict.pairs[i].key, y->dict.pairs[i].key) ||
            !tn_attr_equal(x->dict.pairs[i].value, y->dict.pairs[i].value))
            return false;
    return true;
}

/* Nothing equals nothing, whether there is memory for it or not. */
static bool bytes_equal(const void *x, const void *y, size_t n)
{
    return !n || !memcmp(x, y, n);
}

bool tn_attr_equal(const tn_attr *x, const tn_attr *y)
{
    if (x == y) return true;
    if (!x || !y || x->kind != y->kind || !x->type != !y->type) return false;
    if (x->type && !tn_type_equal(x->type, y->type)) return false;
    switch (x->kind) {
    case TN_ATTR_KIND_BOOL: return x->boolean == y->boolean;
    case TN_ATTR_KIND_INT: return x->integer == y->integer;
    case TN_ATTR_KIND_FLOAT: return !memcmp(&x->real, &y->real, sizeof x->real);
    case TN_ATTR_KIND_STRING:
        return x->string.size == y->string.size &&
               bytes_equal(x->string.data, y->string.data, x->string.size);
    case TN_ATTR_KIND_INTS:
        return x->ints.n == y->ints.n && x->ints.rows == y->ints.rows &&
               bytes_equal(x->ints.data, y->ints.data, x->ints.n * sizeof *x->ints.data);
    case TN_ATTR_KIND_BOOLS:
        return x->bools.n == y->bools.n && bytes_equal(x->bools.data, y->bools.data, x->bools.n);
    case TN_ATTR_KIND_TENSOR:
        return x->tensor.splat == y->tensor.splat && x->tensor.size == y->tensor.size &&
               tn_type_equal(x->tensor.type, y->tensor.type) &&
               bytes_equal(x->tensor.data, y->tensor.data, x->tensor.size);
    case TN_ATTR_KIND_TYPE:
    case TN_ATTR_KIND_UNIT: return true;
    case TN_ATTR_KIND_LIST: return list_equal(x, y);
    case TN_ATTR_KIND_DICT: return dict_equal(x, y);
    }
    return false;
}
