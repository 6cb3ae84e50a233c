/* SPDX-License-Identifier: Apache-2.0 */
/* host_memory.h - large aligned blocks of host memory. Threads: any. */
#ifndef TN_BASE_HOST_MEMORY_H
#define TN_BASE_HOST_MEMORY_H

#include <stddef.h>

enum { TN_ALIGNMENT = 64, TN_HUGE_PAGE = 2 << 20 };

/* `size` bytes (at least 1), aligned to TN_ALIGNMENT, not zeroed. From TN_HUGE_PAGE on the block is
 * aligned to it and asks for huge pages. NULL: out of memory. */
void *tn_host_memory_alloc(size_t size);
/* `size` is that of the allocation; NULL is fine. */
void tn_host_memory_free(void *memory, size_t size);

#endif
