/* SPDX-License-Identifier: Apache-2.0 */
/* shardings.c - the extension that tells how an executable's arrays are divided among devices.
 *
 * NULL says that none is told. It is the answer for no arrays too: jaxlib takes an empty list for
 * one sharding short of the empty tuple's. */
#include "pjrt/executable.h"
#include "pjrt/extensions.h"

static PJRT_Error *Shardings_PJRT_Executable_ParameterShardings(
    PJRT_Shardings_PJRT_Executable_ParameterShardings_Args *args)
{
    TN_PJRT_NEED(executable);
    const tn_pjrt_values *v = &args->executable->parameters;
    args->num_parameters = v->n;
    args->shardings = v->n ? v->shardings.data : NULL;
    args->sharding_sizes = v->shardings.sizes;
    return NULL;
}

static PJRT_Error *Shardings_PJRT_Executable_OutputShardings(
    PJRT_Shardings_PJRT_Executable_OutputShardings_Args *args)
{
    TN_PJRT_NEED(executable);
    const tn_pjrt_values *v = &args->executable->outputs;
    args->num_outputs = v->n;
    args->shardings = v->n ? v->shardings.data : NULL;
    args->sharding_sizes = v->shardings.sizes;
    return NULL;
}

TN_PJRT_ENTRY_OUT(PJRT_Shardings_PJRT_Executable_ParameterShardings,
                  Shardings_PJRT_Executable_ParameterShardings, sharding_sizes, num_parameters)
TN_PJRT_ENTRY_OUT(PJRT_Shardings_PJRT_Executable_OutputShardings,
                  Shardings_PJRT_Executable_OutputShardings, sharding_sizes, num_outputs)

const PJRT_Shardings_Extension tn_pjrt_shardings_extension = {
    .base = {.struct_size = PJRT_Shardings_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_Shardings,
             .next = TN_PJRT_EXTENSION(custom_call)},
    .PJRT_Shardings_PJRT_Executable_ParameterShardings =
        entry_PJRT_Shardings_PJRT_Executable_ParameterShardings,
    .PJRT_Shardings_PJRT_Executable_OutputShardings =
        entry_PJRT_Shardings_PJRT_Executable_OutputShardings,
};
