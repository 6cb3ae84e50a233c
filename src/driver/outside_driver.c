/* SPDX-License-Identifier: Apache-2.0 */
/* outside_driver.c - the cpu driver once more, as a customer would ship it: a shared object that is
 * linked with nothing of ours. For tests. */
#include "tenon/driver.h"

extern const tn_driver tn_driver_cpu;

__attribute__((visibility("default"))) const tn_driver *tn_driver_entry(void);
const tn_driver *tn_driver_entry(void)
{
    static tn_driver driver;
    driver = tn_driver_cpu;
    driver.name = "outside";
    return &driver;
}
