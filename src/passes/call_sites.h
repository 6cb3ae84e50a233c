/* SPDX-License-Identifier: Apache-2.0 */
/* call_sites.h - where ops were called from that have been inlined.
 *
 * Functions of JAX's library are calls of functions whose ops have no place, or one in the library;
 * what the user knows is the line of the call in main. Threads: those of the module. */
#ifndef TN_PASSES_CALL_SITES_H
#define TN_PASSES_CALL_SITES_H

#include "ir/ir.h"

typedef struct tn_call_sites tn_call_sites;

/* Takes its place before the module's locator. NULL: it has none, or ops that were marked before.
 */
tn_call_sites *tn_call_sites_new(tn_module *m);
/* The ops of `r` are about to stand at `call`, instead of where they were marked for before. */
void tn_call_sites_mark(tn_call_sites *c, tn_region *r, uint32_t call); /* NULL is fine */

#endif
