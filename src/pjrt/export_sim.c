/* SPDX-License-Identifier: Apache-2.0 */
/* export_sim.c - the same for libtenon_sim_pjrt.so, the plugin of the simulated accelerator. */
#include "pjrt/entry.h"

__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void)
{
    tn_pjrt_set_default_driver("sim");
    return tn_pjrt_api();
}
