/* SPDX-License-Identifier: Apache-2.0 */
/* replica_groups.h - replica groups that are given by the axes of a mesh, as lists of ids. */
#ifndef TN_READER_REPLICA_GROUPS_H
#define TN_READER_REPLICA_GROUPS_H

#include "ir/ir.h"

/* Whether an attribute is a replica_group_mesh_axes node, still to be resolved. */
bool tn_replica_groups_by_axes(const tn_attr *v);
/* The symbol of its mesh, or NULL when the mesh stands in it. */
const char *tn_replica_groups_symbol(const tn_attr *axes);
/* Few bytes may ask for many groups: all of a file together are bounded by its size. */
typedef struct {
    size_t file_size;
    size_t *used;
} tn_replica_groups_budget;

/* INTS of one row for each group. `mesh` is a "mesh" or "sdy.mesh" node, NULL: the one inside.
 * The devices of a mesh in row-major order, transposed so that the axes that the groups run over
 * come last in the order they are named in, cut into groups. */
tn_status *tn_replica_groups_expand(tn_arena *a, const tn_attr *axes, const tn_attr *mesh,
                                    tn_replica_groups_budget *budget,
                                    const tn_attr **out) TN_MUST_USE;

#endif
