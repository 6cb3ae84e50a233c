/* SPDX-License-Identifier: Apache-2.0 */
/* test_builder.h - writes MLIR bytecode version 6 by hand, for tests of the reader.
 *
 * A builder starts with the dialects builtin, vhlo and sdy, an unknown location (attribute 0) and
 * the scalar types that `enum` names. Entries are written between an opening call and the next one;
 * whatever is put goes to the part that was opened last. */
#ifndef TN_READER_TEST_BUILDER_H
#define TN_READER_TEST_BUILDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { B_BUILTIN, B_VHLO, B_SDY, B_DIALECTS };

/* Types that are there from the start. */
enum { B_BOOL, B_F32, B_I4, B_I32, B_I64, B_TOKEN, B_NONE, B_T4, B_T0, B_FUNC, B_TYPES };

enum { B_MOST = 256, B_BYTES = 4096 };

typedef struct {
    uint8_t data[B_BYTES];
    size_t size;
} b_part;

typedef struct {
    b_part bytes;
    int dialect;
    bool assembly;
} b_entry;

typedef struct {
    char *strings[B_MOST];
    size_t string_sizes[B_MOST];
    b_entry attrs[B_MOST], types[B_MOST];
    b_part properties[B_MOST], body; /* body: the ops of main */
    int op_dialects[B_MOST], op_strings[B_MOST];
    int n_strings, n_attrs, n_types, n_properties, n_ops, n_body, n_values;
    b_part *open;
    const char *producer;
    int function_properties, main_attr;
    b_part extra; /* module-level ops behind main */
    int n_extra;
} builder;

static void b_byte(builder *b, unsigned v)
{
    if (b->open->size < B_BYTES) b->open->data[b->open->size++] = (uint8_t)v;
}

static void b_number(builder *b, uint64_t v)
{
    unsigned extra = 0;
    while (extra < 7 && v >> (7 * (extra + 1))) extra++;
    if (extra == 7 && v >> 56) {
        b_byte(b, 0);
        for (int i = 0; i < 8; i++) b_byte(b, (unsigned)(v >> (8 * i)));
        return;
    }
    v = (v << 1 | 1) << extra;
    for (unsigned i = 0; i <= extra; i++) b_byte(b, (unsigned)(v >> (8 * i)));
}

static void b_signed(builder *b, int64_t v)
{
    b_number(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void b_flagged(builder *b, uint64_t v, bool flag)
{
    b_number(b, v << 1 | flag);
}

static void b_data(builder *b, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++) b_byte(b, ((const uint8_t *)data)[i]);
}

static int b_string(builder *b, const char *s)
{
    b->strings[b->n_strings] = strdup(s);
    b->string_sizes[b->n_strings] = strlen(s) + 1;
    return b->n_strings++;
}

/* Opens a new attribute and writes its code; gives its index. */
static int b_attr(builder *b, int dialect, int code)
{
    b->attrs[b->n_attrs].dialect = dialect;
    b->open = &b->attrs[b->n_attrs].bytes;
    b_number(b, (uint64_t)code);
    return b->n_attrs++;
}

static int b_type(builder *b, int dialect, int code)
{
    b->types[b->n_types].dialect = dialect;
    b->open = &b->types[b->n_types].bytes;
    b_number(b, (uint64_t)code);
    return b->n_types++;
}

static int b_properties(builder *b)
{
    b->open = &b->properties[b->n_properties];
    return b->n_properties++;
}

static int b_op_name(builder *b, int dialect, const char *name)
{
    b->op_dialects[b->n_ops] = dialect;
    b->op_strings[b->n_ops] = b_string(b, name);
    return b->n_ops++;
}

static int b_vhlo_string(builder *b, const char *s)
{
    int i = b_string(b, s), a = b_attr(b, B_VHLO, 14);
    b_number(b, (uint64_t)i);
    return a;
}

static int b_builtin_string(builder *b, const char *s)
{
    int i = b_string(b, s), a = b_attr(b, B_BUILTIN, 2);
    b_number(b, (uint64_t)i);
    return a;
}

/* vhlo.tensor_v1 of rank 1. */
static int b_tensor_type(builder *b, int element, int64_t size)
{
    int t = b_type(b, B_VHLO, 20);
    b_number(b, 1);
    b_signed(b, size);
    b_number(b, (uint64_t)element);
    return t;
}

static int b_tensor(builder *b, int type, const void *data, size_t size)
{
    int a = b_attr(b, B_VHLO, 15);
    b_number(b, (uint64_t)type);
    b_number(b, size);
    b_data(b, data, size);
    return a;
}

/* Properties of a function of this name whose type is `type`. */
static int b_function_properties(builder *b, const char *name, int type, const char *visibility)
{
    int text = b_vhlo_string(b, name), visible = b_vhlo_string(b, visibility);
    int list = b_attr(b, B_VHLO, 1);
    b_number(b, 0);
    int type_attr = b_attr(b, B_VHLO, 17);
    b_number(b, (uint64_t)type);
    int p = b_properties(b);
    b_number(b, (uint64_t)list);
    b_number(b, (uint64_t)type_attr);
    b_number(b, (uint64_t)list);
    b_number(b, (uint64_t)text);
    b_number(b, (uint64_t)visible);
    return p;
}

/* Ops 0 and 1 of the table. */
enum { B_OP_MODULE, B_OP_FUNC, B_OP_RETURN };

static builder *b_new(void)
{
    static const int codes[] = {[B_BOOL] = 0, [B_F32] = 4,    [B_I4] = 10,  [B_I32] = 13,
                                [B_I64] = 14, [B_TOKEN] = 22, [B_NONE] = 33};
    builder *b = calloc(1, sizeof *b);
    b->producer = "StableHLO_v1.17.0";
    b_string(b, "builtin");
    b_string(b, "vhlo");
    b_string(b, "sdy");
    b_attr(b, B_BUILTIN, 15);
    for (int t = 0; t < B_T4; t++) b_type(b, B_VHLO, codes[t]);
    b_tensor_type(b, B_I32, 4);
    b_type(b, B_VHLO, 20);
    b_number(b, 0);
    b_number(b, B_I32);
    b_type(b, B_VHLO, 8); /* (tensor<4xi32>) -> tensor<4xi32> */
    b_number(b, 1);
    b_number(b, B_T4);
    b_number(b, 1);
    b_number(b, B_T4);
    b_op_name(b, B_BUILTIN, "module");
    b_op_name(b, B_VHLO, "func_v1");
    b_op_name(b, B_VHLO, "return_v1");
    b->function_properties = b_function_properties(b, "main", B_FUNC, "public");
    b->n_values = 1; /* the argument */
    b->main_attr = -1;
    return b;
}

static void b_free(builder *b)
{
    for (int i = 0; i < b->n_strings; i++) free(b->strings[i]);
    free(b);
}

/* Writes the start of an op of main: what follows its mask is put by the caller in the order
 * attributes 1, properties 0x40, results 2, operands 4, regions 0x10. */
static void b_op(builder *b, int name, unsigned mask)
{
    b->open = &b->body;
    b->n_body++;
    b_number(b, (uint64_t)name);
    b_byte(b, mask);
    b_number(b, 0);
}

/* A whole op without regions; properties and types < 0: none. */
static void b_simple_op(builder *b, int name, int properties, int type, int n_operands,
                        const int *operands)
{
    b_op(b, name, (properties >= 0 ? 0x40 : 0) | (type >= 0 ? 2 : 0) | (n_operands ? 4 : 0));
    if (properties >= 0) b_number(b, (uint64_t)properties);
    if (type >= 0) {
        b_number(b, 1);
        b_number(b, (uint64_t)type);
        b->n_values++;
    }
    if (!n_operands) return;
    b_number(b, (uint64_t)n_operands);
    for (int i = 0; i < n_operands; i++) b_number(b, (uint64_t)operands[i]);
}

static void b_section(builder *b, b_part *file, int id, const b_part *body)
{
    b->open = file;
    b_byte(b, (unsigned)id);
    b_number(b, body->size);
    b_data(b, body->data, body->size);
}

static void b_function_op(builder *b, int properties, bool one_block, int n_values, int arg_type,
                          int n_body, const b_part *body)
{
    b_number(b, B_OP_FUNC);
    b_byte(b, b->main_attr >= 0 ? 0x51 : 0x50);
    b_number(b, 0);
    if (b->main_attr >= 0) b_number(b, (uint64_t)b->main_attr);
    b_number(b, (uint64_t)properties);
    b_flagged(b, 1, false);
    b_number(b, one_block);
    if (!one_block) return;
    b_number(b, (uint64_t)n_values);
    b_flagged(b, (uint64_t)n_body, arg_type >= 0);
    if (arg_type >= 0) {
        b_number(b, 1);
        b_flagged(b, (uint64_t)arg_type, false);
        b_byte(b, 0);
    }
    b_data(b, body->data, body->size);
}

/* Assembles the file; free it. */
static uint8_t *b_finish(builder *b, size_t *size)
{
    b_part *part = calloc(1, sizeof *part), *region = calloc(1, sizeof *region);
    b_part *file = calloc(1, sizeof *file);
    b->open = file;
    b_data(b, "ML\xEFR", 4);
    b_number(b, 6);
    b_data(b, b->producer, strlen(b->producer) + 1);

    b->open = part; /* dialects and op names */
    b_number(b, B_DIALECTS);
    for (int i = 0; i < B_DIALECTS; i++) b_flagged(b, (uint64_t)i, false);
    b_number(b, (uint64_t)b->n_ops);
    for (int i = 0; i < b->n_ops; i++) {
        b_number(b, (uint64_t)b->op_dialects[i]);
        b_number(b, 1);
        b_flagged(b, (uint64_t)b->op_strings[i], true);
    }
    b_section(b, file, 1, part);

    part->size = 0;
    b->open = part; /* sizes of entries */
    b_number(b, (uint64_t)b->n_attrs);
    b_number(b, (uint64_t)b->n_types);
    for (int i = 0; i < b->n_attrs + b->n_types; i++) {
        const b_entry *e = i < b->n_attrs ? &b->attrs[i] : &b->types[i - b->n_attrs];
        b_number(b, (uint64_t)e->dialect);
        b_number(b, 1);
        b_flagged(b, e->bytes.size, !e->assembly);
    }
    b_section(b, file, 3, part);

    part->size = 0;
    b->open = part; /* entries */
    for (int i = 0; i < b->n_attrs; i++) b_data(b, b->attrs[i].bytes.data, b->attrs[i].bytes.size);
    for (int i = 0; i < b->n_types; i++) b_data(b, b->types[i].bytes.data, b->types[i].bytes.size);
    b_section(b, file, 2, part);

    b->open = region; /* the module's region: main and what else there is */
    b_number(b, 1);
    b_number(b, 0);
    b_flagged(b, (uint64_t)(1 + b->n_extra), false);
    b_function_op(b, b->function_properties, true, b->n_values, B_T4, b->n_body, &b->body);
    b_data(b, b->extra.data, b->extra.size);
    part->size = 0;
    b->open = part;
    b_flagged(b, 1, false);
    b_number(b, B_OP_MODULE);
    b_byte(b, 0x10);
    b_number(b, 0);
    b_flagged(b, 1, true);
    b_section(b, part, 4, region);
    b_section(b, file, 4, part);

    part->size = 0;
    b->open = part; /* strings: sizes backwards */
    b_number(b, (uint64_t)b->n_strings);
    for (int i = b->n_strings; i-- > 0;) b_number(b, b->string_sizes[i]);
    for (int i = 0; i < b->n_strings; i++) b_data(b, b->strings[i], b->string_sizes[i]);
    b_section(b, file, 0, part);

    part->size = 0;
    b->open = part; /* property records */
    b_number(b, (uint64_t)b->n_properties);
    for (int i = 0; i < b->n_properties; i++) {
        b_number(b, b->properties[i].size);
        b_data(b, b->properties[i].data, b->properties[i].size);
    }
    b_section(b, file, 8, part);

    uint8_t *data = malloc(file->size); /* exactly as large, so that ASan sees a step beyond it */
    memcpy(data, file->data, file->size);
    *size = file->size;
    free(file);
    free(part);
    free(region);
    return data;
}

#endif
