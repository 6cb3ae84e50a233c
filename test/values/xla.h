/* SPDX-License-Identifier: Apache-2.0 */
/* xla.h - the third opinion on the values of a random program: another plugin, through the C API.
 *
 * The program is interpreted; each op that it ran, with the operands that it had then, becomes an
 * op of one program for the other plugin, whose results must be the interpreted ones within what
 * xla_rules.def says. So errors do not add up, and a difference names an op. */
#ifndef TN_TEST_VALUES_XLA_H
#define TN_TEST_VALUES_XLA_H

#include "test/values/check.h"

/* Loads the plugin, in the process that is to use it. */
tn_status *values_xla_open(const char *path) TN_MUST_USE;
/* Needs values_xla_open before. `report`: where differences are told, or NULL. */
values_verdict values_xla_check(const values_source *s, FILE *report);

/* What became of the ops of all programs so far. */
typedef struct {
    uint64_t compared, excluded, wild, refused, differ;
} values_xla_counts;
extern values_xla_counts values_xla_ops[TN_OP_COUNT];

#endif
