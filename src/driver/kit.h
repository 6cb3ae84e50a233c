/* SPDX-License-Identifier: Apache-2.0 */
/* kit.h - the services that a driver is opened with (struct tn_kit of tenon/driver.h). */
#ifndef TN_DRIVER_KIT_H
#define TN_DRIVER_KIT_H

#include "base/named_value.h"
#include "base/thread_pool.h"
#include "tenon/driver.h"

/* A host program, as drivers know it: something that runs on addresses. */
struct tn_host_program {
    tn_status *(*run)(const void *self, const tn_host_run *run, tn_thread_pool *pool);
    const void *self;
};

/* Services for one client. `options` are copied: those of the driver's table, checked before
 * (others are ignored; of two with one name the later counts). `pool` must outlive the kit. */
tn_status *tn_kit_create(const tn_driver *driver, const tn_named_value *options, size_t n_options,
                         tn_thread_pool *pool, tn_kit **out) TN_MUST_USE;
void tn_kit_destroy(tn_kit *kit); /* NULL is fine */

#endif
