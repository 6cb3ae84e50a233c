/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - from a module to a list of items and to the memory of their values.
 *
 * The stages, in order: flatten (main's ops and control flow become one list of items), liveness
 * (where in the list each root holds a value that is still wanted), coalesce (roots that may live
 * in one place become a class), offsets (classes get their place in the temp block), steps (items
 * and places become the steps of the executable).
 *
 * A root is one content at one place: a value together with all values that are the same bytes
 * under another type (reshapes, barriers) or one piece of them (views), or the carried slot of a
 * loop, or the result slot of a branch, or a result of the program. Positions are doubled: item p
 * reads at 2p and its results begin at 2p as well, so that what dies there may only be overwritten
 * where coalesce finds it allowed.
 *
 * All of it lives in the module's arena. */
#ifndef TN_EXECUTABLE_PLAN_H
#define TN_EXECUTABLE_PLAN_H

#include <string.h>

#include "codegen/cluster.h"
#include "codegen/native.h"
#include "codegen/rows.h"
#include "ir/ir.h"
#include "ops/body.h"

#define TN_NO_ROOT UINT32_MAX
/* Of places in the temp block. */
#define TN_PLAN_ALIGN 64

typedef enum {
    TN_ITEM_START,
    TN_ITEM_OP,
    TN_ITEM_TILE,
    TN_ITEM_ROWS,   /* tile programs and reductions together */
    TN_ITEM_NATIVE, /* a whole loop as machine code */
    TN_ITEM_MOVES,  /* parallel copies: all sources are read before any target is written */
    TN_ITEM_BRANCH, /* to `target` unless `value` */
    TN_ITEM_SWITCH, /* to one of the targets by `value`, the last one when out of range */
    TN_ITEM_JUMP,
    TN_ITEM_END
} tn_item_kind;

typedef struct {
    tn_item_kind kind;
    uint32_t loop; /* the innermost loop around it, an index of tn_plan.loops */
    const tn_op *op;
    const tn_value *value;
    const tn_body *const *bodies; /* of an op's regions */
    const tn_tile_program *tile;
    const tn_native *native;
    const tn_rows *rows;
    uint32_t target;   /* BRANCH, JUMP */
    uint32_t first, n; /* MOVES: of tn_plan.moves; SWITCH: of tn_plan.targets */
    double ns;         /* estimated, with the steps */
} tn_item;

typedef struct {
    uint32_t to; /* a root */
    const tn_value *from;
} tn_move;

/* Part of a tensor that is known anew at each turn of a loop (windows.c). */
typedef struct {
    const tn_op *op; /* dynamic_slice, dynamic_update_slice */
    uint32_t next;   /* of those that are found before the same item, plus 1 */
} tn_moving_window;

/* Items [first, last] of a loop; loops[0] is the program itself. */
typedef struct {
    uint32_t parent, first, last;
    int64_t trips; /* -1: unknown */
} tn_loop;

typedef struct {
    uint32_t start, end; /* doubled positions, both included */
    uint32_t born, dies; /* the roots that begin and end it */
} tn_segment;

/* Where something lives. */
typedef enum {
    TN_PLACE_TEMP,   /* at `offset` of the temp block */
    TN_PLACE_PARAM,  /* a parameter, never written */
    TN_PLACE_RESULT, /* at `offset` of a result, which may be the memory of a donated parameter */
    TN_PLACE_FIXED,  /* at `address`: constants */
    TN_PLACE_WINDOW  /* part of another tensor, found at each turn of a loop: windows[index] */
} tn_place;

typedef struct {
    const tn_value *value; /* the first of its values; NULL for a result of the program */
    size_t bytes;
    tn_place place;
    uint32_t index;      /* of the parameter, result or window */
    const void *address; /* of a constant */
    uint32_t anchor;     /* an item inside the innermost loop that it belongs to */
    uint32_t n_segments; /* in order; a use extends the last that begins before it */
    tn_segment *segments;
} tn_root;

/* Roots that share one place. */
typedef struct {
    tn_place place;
    uint32_t index;
    const void *address;
    size_t bytes, offset;
    uint32_t n_segments;
    tn_segment *segments;
    bool owns_segments;
    uint32_t merged; /* into this class, or itself */
} tn_class;

typedef struct {
    tn_module *module;
    tn_arena *arena;
    const tn_function *main;
    bool fuse;   /* whether elementwise ops run together */
    tn_jit *jit; /* or NULL */
    tn_cluster_context clusters;
    const int32_t *aliases; /* [parameters]: the result that takes the memory, -1: none */

    tn_item *items;
    uint32_t n_items, item_capacity;
    tn_move *moves;
    uint32_t n_moves, move_capacity;
    uint32_t *targets;
    uint32_t n_targets, target_capacity;
    tn_loop *loops;
    uint32_t n_loops, loop_capacity;

    uint32_t *root_of; /* [n_values] */
    uint64_t *view_of; /* [n_values]: where in its root a view begins, plus 1; 0: it is no view */
    struct tn_view_uses *view_uses; /* [n_values], private to views.c */
    uint32_t *order;                /* private to order.c */
    tn_root *roots;
    uint32_t n_roots, root_capacity;
    uint32_t *result_roots; /* [results of main] */

    tn_moving_window *windows;
    uint32_t n_windows, window_capacity;
    uint32_t *windows_before; /* [n_items]: a window to be found before the item, plus 1 */

    tn_class *classes; /* [n_roots] */
    size_t temp_bytes; /* of the classes */
    size_t constant_bytes;
} tn_plan;

tn_status *tn_plan_flatten(tn_plan *p) TN_MUST_USE;
void tn_plan_liveness(tn_plan *p);
void tn_plan_coalesce(tn_plan *p);
/* RESOURCE_EXHAUSTED when no machine has so much memory. */
tn_status *tn_plan_offsets(tn_plan *p) TN_MUST_USE;

/* While flattening: changes the order of the clusters of region `r` where that frees memory
 * earlier. */
void tn_plan_order(tn_plan *p, const tn_region *r, const tn_cluster **list, uint32_t n);

/* Between the files of offsets: where classes have their place, and a class with the time that it
 * needs its memory. Packs `n` of them into less than p->temp_bytes if it can. */
typedef struct {
    tn_place place;
    uint32_t index;
    size_t offset;
} tn_place_of;
typedef struct {
    uint32_t start, end, class;
    size_t size;
} tn_life;
void tn_plan_pack(tn_plan *p, const tn_life *lives, uint32_t n);

/* Before flattening: prepares for views. */
void tn_plan_find_views(tn_plan *p);
/* If `op` is a slice whose result can be read in its operand's memory, makes it a view of the
 * operand's root. Roots of operands are known. */
bool tn_plan_make_view(tn_plan *p, const tn_op *op);

/* How many operands of ops `v` is, and whether code from outside reads it. */
uint32_t tn_plan_uses(const tn_plan *p, const tn_value *v);
bool tn_plan_goes_outside(const tn_plan *p, const tn_value *v);

/* Whether the result of `op`, a dynamic slice in a loop, can be read in its operand's memory. */
bool tn_plan_may_look(const tn_plan *p, const tn_op *op);
/* While coalescing, when updates in place are known: what they put into their operand is computed
 * there, where that can be. */
void tn_plan_find_windows(tn_plan *p);

/* The class that the root belongs to after coalescing. */
tn_class *tn_plan_class(const tn_plan *p, uint32_t root);
/* The root of a value, TN_NO_ROOT when it has no bytes. */
static inline uint32_t tn_plan_root(const tn_plan *p, const tn_value *v)
{
    return p->root_of[v->id];
}

/* How often the body of a while op runs, where a counter tells; -1: unknown. An estimate: overflow
 * of the counter is not looked at. */
int64_t tn_trip_count(const tn_op *loop);

/* Grows `array` of the arena to hold one more. */
#define TN_PLAN_PUSH(p, array, n, capacity, value)                                                 \
    do {                                                                                           \
        if ((n) == (capacity)) {                                                                   \
            (capacity) = (capacity) ? (capacity) * 2 : 16;                                         \
            void *tn_grown_ = tn_alloc_array((p)->arena, (capacity), sizeof *(array));             \
            if (n) memcpy(tn_grown_, (array), (n) * sizeof *(array));                              \
            (array) = tn_grown_;                                                                   \
        }                                                                                          \
        (array)[(n)++] = (value);                                                                  \
    } while (0)

#endif
