/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - what a plugin did, step by step, beside what the machine can do. */
#ifndef TN_HOST_CLI_PROFILE_H
#define TN_HOST_CLI_PROFILE_H

#include <stdio.h>

#include "base/machine_limits.h"
#include "tenon/host.h"
#include "tenon/pjrt_extensions.h"

typedef struct tn_cli_profile tn_cli_profile;

/* Begins to record. UNIMPLEMENTED: the plugin has no profiler. Ended with tn_cli_profile_free. */
tn_status *tn_cli_profile_start(const tn_plugin *plugin, tn_cli_profile **out) TN_MUST_USE;
/* Ends the recording and gives it, a serialised XSpace that the caller frees. */
tn_status *tn_cli_profile_stop(tn_cli_profile *p, void **out, size_t *size) TN_MUST_USE;
void tn_cli_profile_free(tn_cli_profile *p); /* NULL is fine */

/* Prints a row per step, the dearest first, with times per run. A step is an event of Tenon's
 * category "op" or, of other plugins, one that names an HLO op; without any, all events are listed.
 * INVALID_ARGUMENT: the bytes are no XSpace. */
tn_status *tn_cli_profile_print(const void *xspace, size_t size, int runs, double run_ms,
                                const tn_machine_limits *limits, FILE *to) TN_MUST_USE;

#endif
