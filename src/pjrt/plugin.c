/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>

#include "ffi/call.h"
#include "pjrt/extensions.h"
#include "pjrt/object.h"
#include "reader/reader.h"

PJRT_Error *tn_pjrt_Plugin_Initialize(PJRT_Plugin_Initialize_Args *args)
{
    tn_ffi_init();
    return NULL;
}

static int64_t claimed[3] = TN_STABLEHLO_CURRENT; /* only ever made less, before anybody asks */

void tn_pjrt_claim_stablehlo(const char *version)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int v[3];
    if (!version || sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2]) != 3) return;
    pthread_mutex_lock(&lock);
    int order = 0;
    for (int i = 0; i < 3 && !order; i++) order = (v[i] > claimed[i]) - (v[i] < claimed[i]);
    for (int i = 0; i < 3 && order < 0; i++) claimed[i] = v[i];
    pthread_mutex_unlock(&lock);
}

#define NAMED(literal)                                                                             \
    .struct_size = PJRT_NamedValue_STRUCT_SIZE, .name = literal, .name_size = sizeof literal - 1

PJRT_Error *tn_pjrt_Plugin_Attributes(PJRT_Plugin_Attributes_Args *args)
{
    static const int64_t minimum[] = TN_STABLEHLO_MINIMUM;
    static const PJRT_NamedValue attributes[] = {
        /* What JAX takes for the version of the runtime's own interface. */
        {NAMED("xla_version"), .type = PJRT_NamedValue_kInt64, .int64_value = 2, .value_size = 1},
        {NAMED("stablehlo_current_version"), .type = PJRT_NamedValue_kInt64List,
         .int64_array_value = claimed, .value_size = 3},
        {NAMED("stablehlo_minimum_version"), .type = PJRT_NamedValue_kInt64List,
         .int64_array_value = minimum, .value_size = 3},
        {NAMED("tenon_version"), .type = PJRT_NamedValue_kString, .string_value = TN_VERSION,
         .value_size = sizeof TN_VERSION - 1},
    };
    args->attributes = attributes;
    args->num_attributes = sizeof attributes / sizeof attributes[0];
    return NULL;
}
