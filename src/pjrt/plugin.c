/* SPDX-License-Identifier: Apache-2.0 */
#include "ffi/call.h"
#include "pjrt/object.h"
#include "reader/reader.h"

PJRT_Error *tn_pjrt_Plugin_Initialize(PJRT_Plugin_Initialize_Args *args)
{
    tn_ffi_init();
    return NULL;
}

#define NAMED(literal)                                                                             \
    .struct_size = PJRT_NamedValue_STRUCT_SIZE, .name = literal, .name_size = sizeof literal - 1

PJRT_Error *tn_pjrt_Plugin_Attributes(PJRT_Plugin_Attributes_Args *args)
{
    static const int64_t current[] = TN_STABLEHLO_CURRENT, minimum[] = TN_STABLEHLO_MINIMUM;
    static const PJRT_NamedValue attributes[] = {
        /* What JAX takes for the version of the runtime's own interface. */
        {NAMED("xla_version"), .type = PJRT_NamedValue_kInt64, .int64_value = 2, .value_size = 1},
        {NAMED("stablehlo_current_version"), .type = PJRT_NamedValue_kInt64List,
         .int64_array_value = current, .value_size = 3},
        {NAMED("stablehlo_minimum_version"), .type = PJRT_NamedValue_kInt64List,
         .int64_array_value = minimum, .value_size = 3},
        {NAMED("tenon_version"), .type = PJRT_NamedValue_kString, .string_value = TN_VERSION,
         .value_size = sizeof TN_VERSION - 1},
    };
    args->attributes = attributes;
    args->num_attributes = sizeof attributes / sizeof attributes[0];
    return NULL;
}
