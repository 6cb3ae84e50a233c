/* SPDX-License-Identifier: Apache-2.0 */
/* extensions.h - the extensions that PJRT_Api offers, one file each, chained in this order. */
#ifndef TN_PJRT_EXTENSIONS_LIST_H
#define TN_PJRT_EXTENSIONS_LIST_H

#include "tenon/pjrt_extensions.h"

extern const PJRT_Layouts_Extension tn_pjrt_layouts_extension;
extern const PJRT_Shardings_Extension tn_pjrt_shardings_extension;
extern const PJRT_Gpu_Custom_Call_Extension tn_pjrt_custom_call_extension;
extern const PJRT_FFI_Extension tn_pjrt_ffi_extension;
extern const PJRT_MemoryDescriptions_Extension tn_pjrt_memory_descriptions_extension;
extern const PJRT_Profiler_Extension tn_pjrt_profiler_extension;

/* The register function of PJRT_Gpu_Custom_Call_Extension under a type of our own: clients take who
 * offers type 0 for a GPU's plugin (pypjrt then asks for a share of the GPU's memory). */
#define TN_PJRT_CUSTOM_CALL_TYPE ((PJRT_Extension_Type)0x7e0)

/* What the client option stablehlo_version says; NULL: nothing. */
void tn_pjrt_claim_stablehlo(const char *version);
/* What the client option profiler_api_size says. */
void tn_pjrt_profiler_set_size(size_t size);

/* For the chain, whose links the ABI does not call const. */
#define TN_PJRT_EXTENSION(name) ((PJRT_Extension_Base *)&tn_pjrt_##name##_extension.base)

#endif
