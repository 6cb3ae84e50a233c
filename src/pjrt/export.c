/* SPDX-License-Identifier: Apache-2.0 */
/* export.c - the one symbol that libtenon_pjrt.so exports. */
#include "pjrt/entry.h"

__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void)
{
    return tn_pjrt_api();
}
