/* SPDX-License-Identifier: Apache-2.0 */
/* op_reader.h - ops and regions of the IR section. */
#ifndef TN_READER_OP_READER_H
#define TN_READER_OP_READER_H

#include "reader/entries.h"
#include "reader/text_parser.h"
#include "reader/values.h"

/* An op whose replica groups are given by a mesh that may stand further on. */
typedef struct tn_reader_pending {
    struct tn_reader_pending *next;
    tn_op *op;
} tn_reader_pending;

/* A function without a body: nothing to call, but its attributes may hold a mesh. */
typedef struct tn_reader_declaration {
    struct tn_reader_declaration *next;
    const char *name;
    const tn_attr *attrs; /* DICT or NULL */
} tn_reader_declaration;

typedef struct {
    tn_bytecode *b;
    tn_module *m;
    tn_value_scopes values;
    /* the result types and operands of the op being read */
    const tn_type **types;
    tn_value **operands;
    size_t types_capacity, operands_capacity;
    size_t symbols_capacity;
    tn_reader_pending *pending;
    tn_reader_declaration *declarations;
    tn_parser text; /* for what is in the spelling of text, see plain_op.c */
    /* By a hash of both: the last op of a dictionary, whose attributes are those of its like. */
    struct {
        const tn_attr *dict;
        const tn_op *op;
    } alike[64];
} tn_reader;

/* What stands before an op's regions. */
typedef struct {
    const tn_op_name *name;
    uint32_t location;
    const tn_attr *attrs; /* DICT or NULL */
    bool has_record;
    tn_cursor record;        /* when has_record */
    const tn_attr *inherent; /* the dictionary of properties of an unregistered op, or NULL */
    size_t n_results, n_operands, n_regions;
    bool isolated;
} tn_reader_head;

/* Reads an op up to its regions. h->location is the index of the location's entry plus one. */
tn_status *tn_reader_read_head(tn_reader *r, tn_cursor *c, tn_reader_head *h) TN_MUST_USE;
/* A detached op with its attributes, from a head whose form is a row of ops.def. */
tn_status *tn_reader_make_op(tn_reader *r, tn_cursor *c, const tn_reader_head *h,
                             tn_op **out) TN_MUST_USE;
/* The same from an op of StableHLO or func (TN_ROLE_PLAIN): all but its attributes is there. */
tn_status *tn_reader_take_plain_attrs(tn_reader *r, tn_cursor *c, const tn_reader_head *h,
                                      tn_op *op) TN_MUST_USE;
/* An op of CHLO, with its region, as what it becomes; `around` is the region that it stands in. */
tn_status *tn_reader_read_chlo(tn_reader *r, tn_cursor *c, const tn_reader_head *h,
                               const tn_region *around, tn_op **out) TN_MUST_USE;
/* Around the reading of an op's regions from `body`; *scope keeps what is restored. Regions of an
 * isolated op number their values anew, and stand in a section of their own. */
tn_status *tn_reader_open_regions(tn_reader *r, tn_cursor *c, const tn_reader_head *h,
                                  tn_cursor *body, unsigned *scope) TN_MUST_USE;
tn_status *tn_reader_close_regions(tn_reader *r, tn_cursor *c, const tn_reader_head *h,
                                   tn_cursor *body, unsigned scope) TN_MUST_USE;
/* Reads the start of a region, which must have one block; tn_values_close ends it. `name` is the op
 * that it belongs to, for messages. */
tn_status *tn_reader_open_region(tn_reader *r, tn_cursor *c, const tn_op_name *name) TN_MUST_USE;
/* Reads a whole region of ops. `parent` NULL: the body of function `f`. */
tn_status *tn_reader_read_region(tn_reader *r, tn_cursor *c, tn_region *region, tn_function *f,
                                 tn_op *parent, const tn_op_name *name) TN_MUST_USE;

#endif
