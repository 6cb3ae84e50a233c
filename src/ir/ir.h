/* SPDX-License-Identifier: Apache-2.0 */
/* ir.h - modules, functions, regions, ops and values: StableHLO as a graph in one arena.
 *
 * A region holds one block. Regions see the values of the regions around them (only a module is
 * isolated), and a value is defined before its uses, so one walk in order sees definitions first.
 * There are no use lists: a pass that replaces a value sets `forward` with tn_value_replace and
 * operands are resolved by tn_module_resolve or on access. Names follow the specification. All
 * memory is the arena's; nothing here is freed on its own. Threads: a module belongs to one thread
 * while it changes; afterwards any number may read it. */
#ifndef TN_IR_IR_H
#define TN_IR_IR_H

#include "type/type.h"

typedef enum {
    TN_OP_INVALID,
#define TN_OP(name, text, operands, results, regions, attrs, traits, infer, eval) TN_OP_##name,
#include "ir/ops.def"
#undef TN_OP
    TN_OP_COUNT
} tn_op_kind;

typedef enum {
    TN_ATTR_NONE,
#define X(name, kind) TN_ATTR_##name,
#include "ir/attrs.def"
#undef X
    TN_ATTR_COUNT
} tn_attr_name;

/* TN_comparison_direction_EQ and so on. */
enum {
#define X(table, value, name, text) TN_##table##_##name = value,
#include "ir/enums.def"
#undef X
};

typedef enum {
    TN_TRAIT_ELEMENTWISE =
        1 << 0, /* result element i depends on element i of each operand (or on a scalar one) */
    TN_TRAIT_COMMUTATIVE = 1 << 1,
    TN_TRAIT_SIDE_EFFECT = 1 << 2, /* never removed, duplicated or reordered against its like */
    TN_TRAIT_TERMINATOR = 1 << 3,
    TN_TRAIT_SAME_BYTES =
        1 << 4, /* result i has the bytes of operand i, perhaps under another shape */
    TN_TRAIT_CONTROL =
        1 << 5, /* flattened by the executable or inlined by a pass; has no evaluator */
    TN_TRAIT_COLLECTIVE = 1 << 6, /* meets the other devices; as SIDE_EFFECT */
    TN_TRAIT_SYMBOL = 1 << 7,     /* stands at module level */
    TN_TRAIT_IN_PLACE = 1 << 8 /* the evaluator may be given result i in the memory of operand i */
} tn_op_traits;

typedef struct {
    const char *text;                   /* "stablehlo.add" */
    int16_t operands, results, regions; /* -1: any number */
    uint32_t traits;
    uint32_t n_attrs;
    const tn_attr_name *attrs; /* in alphabetical order of the names */
} tn_op_info;

extern const tn_op_info tn_op_infos[TN_OP_COUNT];
/* "dimension" */
const char *tn_attr_name_text(tn_attr_name name);
/* The op spelled `text`, TN_OP_INVALID if there is none. */
tn_op_kind tn_op_find(const char *text, size_t size);

/* --- attributes --- */

typedef enum {
    TN_ATTR_KIND_BOOL,
    TN_ATTR_KIND_INT, /* enums too */
    TN_ATTR_KIND_FLOAT,
    TN_ATTR_KIND_STRING, /* symbols too, without @ */
    TN_ATTR_KIND_INTS,   /* dense integers, rank 1 or 2 */
    TN_ATTR_KIND_BOOLS,
    TN_ATTR_KIND_TENSOR,
    TN_ATTR_KIND_TYPE,
    TN_ATTR_KIND_LIST, /* an array, or a node of a dialect's own with `tag` ("sdy.sharding") and its
                          fields in order */
    TN_ATTR_KIND_DICT,
    TN_ATTR_KIND_UNIT
} tn_attr_kind;

typedef struct tn_attr tn_attr;
typedef struct {
    const char *key; /* NUL terminated */
    const tn_attr *value;
} tn_named_attr;

/* A constant: raw row-major elements in the layout of element_type.def, aligned to 64 bytes; a
 * splat has one. */
typedef struct {
    const tn_type *type;
    const void *data;
    size_t size; /* bytes at data: tn_type_bytes, or the size of one element for a splat */
    bool splat;
} tn_literal;

struct tn_attr {
    tn_attr_kind kind;
    const tn_type
        *type; /* INT and FLOAT: their type where the source gave one; TYPE: the type itself */
    union {
        bool boolean;
        int64_t integer;
        double real;
        struct {
            const char *data; /* NUL terminated, may hold inner NULs */
            size_t size;
        } string;
        struct {
            const int64_t *data;
            uint32_t n, rows; /* n values in `rows` rows (rank 2), rows = 1 for rank 1 */
        } ints;
        struct {
            const bool *data;
            uint32_t n;
        } bools;
        tn_literal tensor;
        struct {
            const char *tag; /* NULL for a plain array */
            const tn_attr *const *items;
            uint32_t n;
        } list;
        struct {
            const tn_named_attr *pairs;
            uint32_t n;
        } dict;
    };
};

/* --- the graph --- */

typedef struct tn_op tn_op;
typedef struct tn_value tn_value;
typedef struct tn_region tn_region;
typedef struct tn_function tn_function;
typedef struct tn_module tn_module;

struct tn_value {
    const tn_type *type;
    tn_op *op;         /* the op that it is a result of, or NULL for an argument of `region` */
    tn_region *region; /* where it is defined */
    uint32_t index;    /* which result or argument */
    uint32_t id; /* dense in the module after tn_module_number; free for a pass to use before */
    tn_value *forward; /* replaced by; NULL when it stands for itself */
};

struct tn_op {
    tn_op_kind kind;
    uint32_t n_operands, n_results, n_regions, n_attrs, n_extra;
    uint32_t location; /* for tn_op_location */
    uint32_t mark;     /* free for a pass to use */
    tn_value **operands;
    tn_value *results; /* an array: &op->results[i] */
    tn_region *regions;
    const tn_attr **attrs; /* [n_attrs] by position in tn_op_infos[kind].attrs; NULL: absent */
    const tn_named_attr
        *extra;        /* discardable attributes (mhlo.backend_config, sdy.sharding, ...) */
    tn_region *region; /* the region that it stands in */
    tn_op *prev, *next;
};

struct tn_region {
    tn_function *function;
    tn_op *parent; /* NULL for a function's body */
    uint32_t n_args;
    tn_value *args;
    tn_op *first, *last; /* last is the terminator */
};

struct tn_function {
    tn_module *module;
    const char *name;
    uint32_t mark; /* free for a pass to use */
    bool is_public;
    const tn_type *type; /* TN_TYPE_FUNCTION */
    /* One DICT or NULL for each argument and result. */
    const tn_attr **arg_attrs, **result_attrs;
    uint32_t n_attrs;
    const tn_named_attr *attrs; /* discardable attributes of the function itself */
    tn_region body;
    uint32_t location;
    tn_function *next;
};

/* Where ops come from. The reader supplies it; text is made only when a message needs it. */
typedef struct tn_locator {
    /* "file.py:12:3 (name)" for `location` in the arena, or NULL. */
    const char *(*text)(const struct tn_locator *l, tn_arena *a, uint32_t location);
} tn_locator;

struct tn_module {
    tn_arena *arena;
    const char *name;
    uint32_t num_replicas, num_partitions; /* mhlo.*, 1 when absent */
    tn_function *functions, *last_function;
    tn_function *main; /* "main", or the only public function */
    uint32_t n_attrs, n_symbols, n_values;
    const tn_named_attr *attrs;
    tn_op **symbols; /* sdy.mesh ops, in order */
    const tn_locator *locator;
    struct tn_refinement *refinement;        /* for the pass refine (passes/refine.h); NULL: none */
    uint64_t kinds[(TN_OP_COUNT + 63) / 64]; /* a bit for each kind that ops were made of */
};

tn_module *tn_module_new(tn_arena *a);
tn_function *tn_module_add_function(tn_module *m, const char *name, const tn_type *type);
tn_function *tn_module_find(const tn_module *m, const char *name);
/* Gives every value of the module a dense id in order of definition and sets n_values. */
void tn_module_number(tn_module *m);
/* Makes every operand stand for itself (follows `forward`). */
void tn_module_resolve(tn_module *m);
/* False: no op was made of this kind, and there is none unless one of another became it. */
static inline bool tn_module_may_have(const tn_module *m, tn_op_kind kind)
{
    return m->kinds[kind / 64] >> kind % 64 & 1;
}

/* --- building --- */

/* A detached op with room for its parts: operands NULL, results of no type, regions empty,
 * attributes absent. */
tn_op *tn_op_new(tn_module *m, tn_op_kind kind, uint32_t n_operands, uint32_t n_results,
                 uint32_t n_regions);
void tn_op_set_attr(tn_module *m, tn_op *op, tn_attr_name name,
                    const tn_attr *value); /* must be one of the op's */
void tn_op_append(tn_region *r, tn_op *op);
void tn_op_insert_before(tn_op *where, tn_op *op);
void tn_op_remove(tn_op *op); /* unlinks it; the memory stays in the arena */
/* A region with n arguments of no type yet. */
void tn_region_init(tn_module *m, tn_region *r, tn_function *f, tn_op *parent, uint32_t n_args);
void tn_value_replace(tn_value *old, tn_value *by);
static inline tn_value *tn_value_resolve(tn_value *v)
{
    while (v->forward) v = v->forward;
    return v;
}
typedef struct tn_value_map tn_value_map; /* a hash from value to value in the arena */
tn_value_map *tn_value_map_new(tn_arena *a, size_t expected);
void tn_value_map_set(tn_value_map *m, const tn_value *from, tn_value *to);
tn_value *tn_value_map_get(const tn_value_map *m, const tn_value *from); /* NULL when absent */
/* A copy of `op` with its regions: operands that `map` knows become what it gives, the others stay.
 * Results and region arguments are added to `map`. */
tn_op *tn_op_clone(tn_module *m, const tn_op *op,
                   tn_value_map *map); /* detached; results are bound in map */
/* Appends copies of all ops of `from` to `to`, a region of `f` whose arguments `map` gives. */
void tn_region_copy(tn_module *m, const tn_region *from, tn_region *to, tn_function *f,
                    tn_value_map *map);
/* Says to `r` and the regions in it that they are of `f`. */
void tn_region_put_in(tn_region *r, tn_function *f);
/* A copy of all functions in `a`. It shares types, attributes and symbols with `from`, which must
 * outlive it, and is made without changing `from`: any number of threads may copy one module. */
tn_module *tn_module_copy(const tn_module *from, tn_arena *a);

const tn_attr *tn_attr_bool(tn_arena *a, bool v);
const tn_attr *tn_attr_int(tn_arena *a, int64_t v);
const tn_attr *tn_attr_string(tn_arena *a, const char *data, size_t size);
const tn_attr *tn_attr_ints(tn_arena *a, const int64_t *v, uint32_t n);
const tn_attr *tn_attr_tensor(tn_arena *a, const tn_literal *v);
bool tn_attr_equal(const tn_attr *x, const tn_attr *y);

/* --- reading --- */

static inline bool tn_op_has_trait(const tn_op *op, uint32_t traits)
{
    return (tn_op_infos[op->kind].traits & traits) != 0;
}
static inline const char *tn_op_text(const tn_op *op)
{
    return tn_op_infos[op->kind].text;
}

/* The attribute, or NULL when it is absent. */
const tn_attr *tn_op_attr(const tn_op *op, tn_attr_name name);
/* Values of an attribute; the default when it is absent or of another kind. */
int64_t tn_op_int(const tn_op *op, tn_attr_name name, int64_t otherwise);
bool tn_op_bool(const tn_op *op, tn_attr_name name, bool otherwise);
double tn_op_float(const tn_op *op, tn_attr_name name, double otherwise);
const char *tn_op_string(const tn_op *op, tn_attr_name name);               /* "" when absent */
const int64_t *tn_op_ints(const tn_op *op, tn_attr_name name, uint32_t *n); /* *n = 0 when absent */
bool tn_op_has_int(const tn_op *op, tn_attr_name name, int64_t v);          /* in that list */
const bool *tn_op_bools(const tn_op *op, tn_attr_name name, uint32_t *n);
const tn_attr *tn_op_extra(const tn_op *op, const char *key); /* discardable attribute or NULL */
const tn_attr *tn_attr_get(const tn_attr *dict,
                           const char *key); /* NULL when absent or dict is NULL */

static inline const tn_type *tn_operand_type(const tn_op *op, uint32_t i)
{
    return op->operands[i]->type;
}
static inline const tn_type *tn_result_type(const tn_op *op, uint32_t i)
{
    return op->results[i].type;
}

/* "file.py:12:3 (name)" or "" when the program names no place. */
const char *tn_op_location(const tn_op *op);
/* An error about `op`: "stablehlo.add (at file.py:12:3): <text>". */
tn_status *tn_op_error(tn_code code, const char *file, int line, const tn_op *op, const char *fmt,
                       ...) TN_PRINTF(5, 6) TN_MUST_USE;
#define TN_OP_ERROR(CODE, op, ...) tn_op_error(TN_##CODE, __FILE__, __LINE__, op, __VA_ARGS__)

/* Prints the module in MLIR's generic form into the arena; *size without the final NUL. */
char *tn_module_print(const tn_module *m, tn_arena *a, size_t *size);
/* The same for readers that know StableHLO alone: ops of Tenon's own are custom calls, without
 * their attributes and regions. */
char *tn_module_print_for_mlir(const tn_module *m, tn_arena *a, size_t *size);

#endif
