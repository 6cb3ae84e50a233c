/* SPDX-License-Identifier: Apache-2.0 */
/* text_parser.h - what the files of the text reader share: a place in the text, words, numbers,
 * types, attributes, and the names of values.
 *
 * There are no tokens: every function first steps over white space and comments, then takes what it
 * is for, or gives INVALID_ARGUMENT "LINE:COLUMN: expected X, found Y". Nesting is bounded by
 * TN_PARSE_DEPTH. Nothing here looks beyond `end`. */
#ifndef TN_READER_TEXT_PARSER_H
#define TN_READER_TEXT_PARSER_H

#include "ir/ir.h"

enum { TN_PARSE_DEPTH = 128 };

/* --- names to what they stand for; a hash that can be cut back to an earlier state --- */

typedef struct tn_parse_name tn_parse_name;
struct tn_parse_name {
    tn_parse_name *next, *before; /* in the bucket; defined before */
    const char *text;
    size_t size;
    const void *data;
    uint32_t hash, n;
};

typedef struct {
    tn_parse_name **buckets;
    size_t n_buckets, n;
    tn_parse_name *last;
} tn_parse_names;

/* A list that grows in the arena. */
typedef struct {
    const void **items;
    uint32_t n, capacity;
} tn_parse_list;

typedef struct {
    const char *begin, *at, *end;
    bool is_binary; /* bytecode, whose places in messages are bytes */
    tn_arena *arena;
    tn_module *module;
    tn_function *function; /* that is being read */
    unsigned depth;
    size_t expanded; /* bytes that splats took */
    uint32_t symbols_capacity;
    uint32_t place;             /* of all ops, where not 0 */
    tn_parse_list by_axes;      /* ops whose replica groups name the axes of a mesh */
    tn_parse_list declarations; /* tn_parse_declaration */
    tn_parse_list written;      /* tn_parse_written_function */
    tn_parse_names attr_aliases, type_aliases, values, ops; /* ops by their text */
} tn_parser;

const tn_parse_name *tn_parse_names_find(const tn_parse_names *names, const char *s, size_t n);
/* The name must be new. */
void tn_parse_names_add(tn_parser *p, tn_parse_names *names, const char *s, size_t n,
                        const void *data, uint32_t count);
/* Forgets what was added after `last` was the last. */
void tn_parse_names_cut(tn_parse_names *names, const tn_parse_name *last);

/* A function without a body: nothing to call, but its attributes may hold a mesh. */
typedef struct {
    const char *name;
    const tn_attr *attrs; /* DICT or NULL */
} tn_parse_declaration;

/* A function that the reader wrote itself, and the location of the op that needs it. */
typedef struct {
    const char *text;
    uint32_t location;
} tn_parse_written_function;

/* --- errors --- */

tn_status *tn_parse_error(tn_parser *p, const char *where, const char *fmt, ...)
    TN_PRINTF(3, 4) TN_MUST_USE;
tn_status *tn_parse_unsupported(tn_parser *p, const char *where, const char *fmt, ...)
    TN_PRINTF(3, 4) TN_MUST_USE;
/* "expected `what`, found ..." at the current place. */
tn_status *tn_parse_expected(tn_parser *p, const char *what) TN_MUST_USE;
/* "LINE:COLUMN" of a place in the text. */
void tn_parse_place(const char *begin, const char *at, size_t *line, size_t *column);

/* --- words --- */

/* The next character, 0 at the end. */
char tn_parse_peek(tn_parser *p);
/* Takes `text` if it comes next; a word must end there. */
bool tn_parse_accept(tn_parser *p, const char *text);
tn_status *tn_parse_expect(tn_parser *p, const char *text) TN_MUST_USE;
/* An identifier [A-Za-z_][A-Za-z0-9_$.]*; false if none comes next. */
bool tn_parse_word(tn_parser *p, const char **s, size_t *n);
/* "...", with its escapes undone, NUL terminated in the arena. */
tn_status *tn_parse_string(tn_parser *p, const char **s, size_t *n) TN_MUST_USE;
/* A word or a string without zeros. */
tn_status *tn_parse_word_or_string(tn_parser *p, const char *what, const char **s) TN_MUST_USE;
/* @word or @"string" */
tn_status *tn_parse_symbol(tn_parser *p, const char **s) TN_MUST_USE;
/* The number or name behind % or # or !: [A-Za-z0-9_$.-]+ */
bool tn_parse_suffix(tn_parser *p, const char **s, size_t *n);
tn_status *tn_parse_enter(tn_parser *p) TN_MUST_USE; /* one level deeper; p->depth-- ends it */
/* loc(...) if it comes next. */
tn_status *tn_parse_skip_location(tn_parser *p) TN_MUST_USE;
/* From the bracket that comes next to the one that closes it. */
tn_status *tn_parse_skip_brackets(tn_parser *p) TN_MUST_USE;
bool tn_parse_is(const char *s, size_t n, const char *text);

/* --- numbers --- */

typedef struct {
    bool is_float, is_hex, negative;
    uint64_t magnitude; /* of an integer */
    double real;        /* of what is not hexadecimal */
} tn_parse_number;

/* False if none comes next. */
tn_status *tn_parse_read_number(tn_parser *p, tn_parse_number *out) TN_MUST_USE;
tn_status *tn_parse_int(tn_parser *p, int64_t *out) TN_MUST_USE;
/* [1, 2] */
tn_status *tn_parse_ints(tn_parser *p, const tn_attr **out) TN_MUST_USE;
/* The nearest float of type `e`, ties to even, in its low bits. */
uint64_t tn_parse_float_bits(tn_element_type e, double v);
/* One element of type `e`, as it lies in memory. */
tn_status *tn_parse_element(tn_parser *p, tn_element_type e, void *out) TN_MUST_USE;

/* --- types and attributes --- */

tn_status *tn_parse_type(tn_parser *p, const tn_type **out) TN_MUST_USE;
/* A type like f32; TENSOR of rank 0. */
tn_status *tn_parse_scalar(tn_parser *p, const tn_type **out) TN_MUST_USE;
tn_status *tn_parse_function_type(tn_parser *p, const tn_type **out) TN_MUST_USE;
/* "f32", "index", "si8": whether it names the type of an element. */
bool tn_parse_scalar_name(const char *s, size_t n, const tn_type **out);
/* What stands behind the name of a type, from its "<"; `where` is the place of errors. */
tn_status *tn_parse_tensor(tn_parser *p, const char *where, bool memref,
                           const tn_type **out) TN_MUST_USE;
tn_status *tn_parse_complex(tn_parser *p, const char *where, const tn_type **out) TN_MUST_USE;
tn_status *tn_parse_parts(tn_parser *p, tn_type_kind kind, const tn_type **out) TN_MUST_USE;
/* Types up to `close`, behind those that stand in `parts` already. */
tn_status *tn_parse_types_to(tn_parser *p, tn_parse_list *parts, const char *close) TN_MUST_USE;
const tn_type *tn_parse_type_of_parts(tn_parser *p, tn_type_kind kind, const tn_parse_list *parts,
                                      uint32_t n_inputs);
/* VHLO's types and attributes by what stands behind "!vhlo." or "#vhlo."; `bare`: the name stands
 * in <..> itself, with the value of an enumeration behind it. */
tn_status *tn_parse_vhlo_type(tn_parser *p, const char *s, size_t n,
                              const tn_type **out) TN_MUST_USE;
tn_status *tn_parse_vhlo_attr(tn_parser *p, const char *s, size_t n, bool bare,
                              const tn_attr **out) TN_MUST_USE;
tn_status *tn_parse_bounds(tn_parser *p, const int64_t **out, uint32_t *n) TN_MUST_USE;

tn_status *tn_parse_attr(tn_parser *p, const tn_attr **out) TN_MUST_USE;
/* An attribute that stands alone. */
tn_status *tn_parse_attr_of(tn_arena *a, const char *text, size_t n,
                            const tn_attr **out) TN_MUST_USE;
/* {a = 1, b}, sorted by key. */
tn_status *tn_parse_dict(tn_parser *p, const tn_attr **out) TN_MUST_USE;
/* dense<...> : type, behind "dense". */
tn_status *tn_parse_dense(tn_parser *p, const tn_attr **out) TN_MUST_USE;
/* What stands behind `#`, except aliases: `dialect` is the word there. */
tn_status *tn_parse_dialect_attr(tn_parser *p, const char *dialect, size_t n,
                                 const tn_attr **out) TN_MUST_USE;
/* The same for #stablehlo; `bare` as above. */
tn_status *tn_parse_stablehlo_attr(tn_parser *p, const char *where, const char *s, size_t n,
                                   bool bare, const tn_attr **out) TN_MUST_USE;
/* <a = 1, b = [2]> as a DICT */
tn_status *tn_parse_fields(tn_parser *p, const tn_attr **out) TN_MUST_USE;
/* The same from behind the "<". */
tn_status *tn_parse_raw_fields(tn_parser *p, const tn_attr **out) TN_MUST_USE;
/* [b, 0, f]x[0, i, o]->[b, 0, f] as a DICT of the nine dimension numbers. */
tn_status *tn_parse_conv(tn_parser *p, const tn_attr **out) TN_MUST_USE;
/* A name of an enumeration. */
tn_status *tn_parse_enum(tn_parser *p, const char *table, int64_t *out) TN_MUST_USE;
/* `kind` is what follows #sdy. : "sharding"; the place is behind it. */
tn_status *tn_parse_sdy(tn_parser *p, const char *kind, size_t n, const tn_attr **out) TN_MUST_USE;

tn_attr *tn_parse_node(tn_parser *p, tn_attr_kind kind);
tn_attr *tn_parse_list_node(tn_parser *p, const char *tag, uint32_t n, const tn_attr *const *items);
const tn_attr *tn_parse_ints_node(tn_parser *p, const int64_t *v, uint32_t n, uint32_t rows);

void tn_parse_push(tn_parser *p, tn_parse_list *list, const void *item);

/* --- ops --- */

/* An op while it is read. */
typedef struct {
    const char *where; /* its name in the text */
    tn_op_kind kind;
    const struct tn_op_form *form; /* of a VHLO op, else NULL */
    tn_op *op;                     /* for its attributes; its lists are filled in at the end */
    tn_parse_list operands, operand_places, regions;
    tn_parse_list extra_keys, extra_values;
} tn_parse_op;

/* One pair of a dictionary: an attribute of the op by any of its spellings, else a discardable one
 * (or an error when `inherent`). */
tn_status *tn_parse_set(tn_parser *p, tn_parse_op *o, const char *where, const char *key,
                        const tn_attr *value, bool inherent) TN_MUST_USE;
tn_status *tn_parse_set_all(tn_parser *p, tn_parse_op *o, const char *where, const tn_attr *dict,
                            bool inherent) TN_MUST_USE;
/* An attribute of any spelling to the kind that attrs.def gives for `name`. */
tn_status *tn_parse_convert(tn_parser *p, const char *where, tn_attr_name name, const tn_attr *in,
                            const tn_attr **out) TN_MUST_USE;
/* Enumerations to their numbers and tensors of integers to INTS, in lists too. */
tn_status *tn_parse_plain(tn_parser *p, const char *where, const tn_attr *in,
                          const tn_attr **out) TN_MUST_USE;
/* Gives what is absent its default, or says that it is lacking. */
tn_status *tn_parse_settle(tn_parser *p, tn_parse_op *o) TN_MUST_USE;
/* The discardable attributes become the op's. */
void tn_parse_take_extra(tn_parser *p, const tn_parse_op *o);
/* {...} if it comes next. */
tn_status *tn_parse_op_dict(tn_parser *p, tn_parse_op *o) TN_MUST_USE;

/* %a or %a#1 */
tn_status *tn_parse_operand(tn_parser *p, tn_parse_op *o) TN_MUST_USE;
/* %a, %b, perhaps none, and a comma behind them */
tn_status *tn_parse_operands(tn_parser *p, tn_parse_op *o) TN_MUST_USE;
/* (%a, %b) */
tn_status *tn_parse_operand_list(tn_parser *p, tn_parse_op *o) TN_MUST_USE;
tn_status *tn_parse_define(tn_parser *p, const char *where, const char *s, size_t n,
                           const tn_value *values, uint32_t count) TN_MUST_USE;
/* %a: type, into the lists. */
tn_status *tn_parse_arg(tn_parser *p, tn_parse_list *names, tn_parse_list *types) TN_MUST_USE;

/* Names of arguments, by place and length. */
typedef struct {
    const char *text;
    size_t size;
} tn_parse_slice;
/* A region in braces with arguments that were read before (names of slices, types), or, with names
 * NULL, those of its ^bb0(...). */
tn_status *tn_parse_region(tn_parser *p, const char *what, tn_region *r, const tn_parse_list *names,
                           const tn_parse_list *types) TN_MUST_USE;
/* Adds a new region to the op. */
tn_region *tn_parse_new_region(tn_parser *p, tn_parse_op *o);
/* The types of operands are checked, those of results taken. */
tn_status *tn_parse_take_types(tn_parser *p, tn_parse_op *o, const tn_type *const *operands,
                               uint32_t n_operands, const tn_type *const *results,
                               uint32_t n_results) TN_MUST_USE;
/* `: (types) -> types` */
tn_status *tn_parse_take_function_type(tn_parser *p, tn_parse_op *o) TN_MUST_USE;
/* The op's own form, from behind its name; INVALID_ARGUMENT if it has none. */
tn_status *tn_parse_form(tn_parser *p, tn_parse_op *o) TN_MUST_USE;
/* The location of what stands at `where`. */
uint32_t tn_parse_location(const tn_parser *p, const char *where);
/* Keeps a function that the reader wrote for the op, to be read behind the module. */
void tn_parse_write(tn_parser *p, const tn_parse_op *o, const char *text);
/* Reads them, as if they stood at the end of the module. */
tn_status *tn_parse_read_written(tn_parser *p) TN_MUST_USE;
/* An op of CHLO, from behind its name; *done says whether it is one that is read. */
tn_status *tn_parse_chlo(tn_parser *p, tn_parse_op *o, const char *s, size_t n, bool generic,
                         bool *done) TN_MUST_USE;
/* An op inside of a function, with everything around it, at the end of `r`. */
tn_status *tn_parse_one_op(tn_parser *p, tn_region *r) TN_MUST_USE;
/* Replica groups that name the axes of a mesh become lists of ids, once all meshes are there. */
tn_status *tn_parse_expand_groups(tn_parser *p) TN_MUST_USE;
/* An op of the module itself. */
tn_status *tn_parse_symbol_op(tn_parser *p) TN_MUST_USE;

#endif
