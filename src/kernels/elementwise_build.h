/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_build.h - the functions that the sources of one build give each other. */
#ifndef TN_KERNELS_ELEMENTWISE_BUILD_H
#define TN_KERNELS_ELEMENTWISE_BUILD_H

#include "kernels/elementwise.h"
#include "kernels/isa.h"

/* See the fields of tn_elementwise_build. */
tn_kernel_fn *TN_ISA_NAME(tn_find_elementwise)(tn_op_kind op, tn_element_type e);
tn_kernel_fn *TN_ISA_NAME(tn_find_compare)(int direction, bool total, tn_element_type e);
tn_kernel_fn *TN_ISA_NAME(tn_find_clamp)(bool scalar_min, bool scalar_max, tn_element_type e);
tn_kernel_fn *TN_ISA_NAME(tn_find_select)(bool scalar_pred, unsigned element_bytes);
tn_kernel_fn *TN_ISA_NAME(tn_find_convert)(tn_element_type from, tn_element_type to);
tn_kernel_fn *TN_ISA_NAME(tn_find_wrap)(tn_element_type to);
tn_kernel_fn *TN_ISA_NAME(tn_find_load)(tn_element_type from);
tn_kernel_fn *TN_ISA_NAME(tn_find_store)(tn_element_type to);
tn_kernel_fn *TN_ISA_NAME(tn_find_to_odd)(tn_element_type from);
tn_kernel_fn *TN_ISA_NAME(tn_find_real_part)(tn_element_type from);
tn_kernel_fn *TN_ISA_NAME(tn_find_to_complex)(tn_element_type from);
tn_kernel_fn *TN_ISA_NAME(tn_find_reduce_precision)(tn_element_type e);

#endif
