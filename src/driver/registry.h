/* SPDX-License-Identifier: Apache-2.0 */
/* registry.h - finds drivers and checks that they are whole. Threads: any. */
#ifndef TN_DRIVER_REGISTRY_H
#define TN_DRIVER_REGISTRY_H

#include "base/named_value.h"
#include "tenon/driver.h"

/* The driver of that name, or the one that a shared object exports if `name` is a path, i.e. has a
 * '/'; a shared object stays loaded. Fields of *out that the driver was built without are NULL.
 * NOT_FOUND: no such driver; else the errors of tn_driver_check. */
tn_status *tn_driver_find(const char *name, tn_driver *out) TN_MUST_USE;

/* Copies `driver` into *out if it is one that this kit can use. UNIMPLEMENTED: another abi;
 * INVALID_ARGUMENT names the function that it lacks. */
tn_status *tn_driver_check(const tn_driver *driver, tn_driver *out) TN_MUST_USE;

/* Asks an open device what it is, and checks that it can be used with the functions of its driver.
 */
tn_status *tn_driver_device_info(const tn_driver *driver, const tn_driver_device *device,
                                 tn_device_info *out) TN_MUST_USE;

/* Whether `value` names an option of the driver: *known; if so it is checked. INVALID_ARGUMENT:
 * wrong kind or out of range. */
tn_status *tn_driver_check_option(const tn_driver *driver, const tn_named_value *value,
                                  bool *known) TN_MUST_USE;

#endif
