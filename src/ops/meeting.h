/* SPDX-License-Identifier: Apache-2.0 */
/* meeting.h - how the devices of one run reach each other, as evaluators see it. The runtime has
 * the other side (runtime/collective.h).
 *
 * Devices are named by their place in the run, replica * num_partitions + partition. What a device
 * offers is read by others only between join and leave, at the address that the round gives, which
 * may be that of a copy: the devices' own memory need not be readable by each other. */
#ifndef TN_OPS_MEETING_H
#define TN_OPS_MEETING_H

#include "ir/ir.h"

typedef struct {
    const void *data; /* NULL: nothing */
    size_t bytes;
} tn_offer;

/* One meeting of one group: what each member offers, [member][offer]. */
typedef struct {
    const tn_offer *const *offers;
} tn_round;

typedef struct tn_meeting tn_meeting;
struct tn_meeting {
    /* Comes to `op` with n_offers offers (of all of one op's members alike) and waits until all of
     * members[n] have; members[me] is the caller's own place. On success *out is theirs until each
     * has left, which each must. Errors name who is missing: a member that failed (its code) or
     * ended (FAILED_PRECONDITION), devices that wait for each other (FAILED_PRECONDITION), time
     * (DEADLINE_EXCEEDED). */
    tn_status *(*join)(tn_meeting *m, const tn_op *op, const uint32_t *members, uint32_t n,
                       uint32_t me, const tn_offer *offers, uint32_t n_offers,
                       const tn_round **out)TN_MUST_USE;
    /* Waits, if need be, until nobody reads what the caller offered. */
    void (*leave)(tn_meeting *m, const tn_round *round);
    /* Sends a copy of the offers over a channel, and returns at once. */
    tn_status *(*post)(tn_meeting *m, const tn_op *op, int64_t channel, uint32_t from, uint32_t to,
                       const tn_offer *offers, uint32_t n)TN_MUST_USE;
    /* Waits for what was sent first and fills to[i].bytes at to[i].data; errors as those of join.
     */
    tn_status *(*take)(tn_meeting *m, const tn_op *op, int64_t channel, uint32_t from, uint32_t to,
                       const tn_offer *into, uint32_t n)TN_MUST_USE;
};

#endif
