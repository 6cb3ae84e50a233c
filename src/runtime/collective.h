/* SPDX-License-Identifier: Apache-2.0 */
/* collective.h - the meeting of the parts of one run on several devices of this process
 * (ops/meeting.h), and who is still there to be waited for.
 *
 * Where the host can address the devices' memory members read each other's; elsewhere each device's
 * own thread copies what it offers to memory of the host, from which the others take it.
 *
 * Nobody waits for ever: a part that ended, or failed, fails those that wait for it; when no part
 * could go on because all wait for each other, all fail; and a wait is limited in time. Every error
 * says who is missing where.
 *
 * Threads: each part comes from one thread at a time; parts from any. */
#ifndef TN_RUNTIME_COLLECTIVE_H
#define TN_RUNTIME_COLLECTIVE_H

#include "ops/meeting.h"

/* For n parts (devices) in order of replica * n_partitions + partition; one reference.
 * timeout_ns: of one wait; 0: no limit. */
tn_status *tn_collective_create(uint32_t n, uint32_t n_partitions, bool host_reads,
                                uint64_t timeout_ns, tn_meeting **out) TN_MUST_USE;
tn_meeting *tn_collective_retain(tn_meeting *m);
void tn_collective_release(tn_meeting *m); /* NULL is fine */

/* Part `part` comes to no meeting any more; s (borrowed): it failed, or is about to. What it waits
 * for itself, it gets too. Only the first call for a part counts. */
void tn_collective_end(tn_meeting *m, uint32_t part, const tn_status *s);

#endif
