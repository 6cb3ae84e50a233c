/* SPDX-License-Identifier: Apache-2.0 */
/* twins.h - executables that are alive, by the program and options they came from.
 *
 * Compiling a program again while an executable of it lives gives that executable, which is
 * immutable, once more. Those with calls to handlers from outside, which have a state, are left
 * out. Threads: any. */
#ifndef TN_EXECUTABLE_TWINS_H
#define TN_EXECUTABLE_TWINS_H

#include <stdbool.h>

#include "executable/executable.h"

/* A new reference to the executable of these bytes; NULL: there is none. */
tn_executable *tn_twin_find(const void *code, size_t code_size, const void *options,
                            size_t options_size);
/* Lets `e` be found until its last reference is gone. */
void tn_twin_add(tn_executable *e);
/* For a release of the last reference. */
void tn_twin_remove(tn_executable *e);

#endif
