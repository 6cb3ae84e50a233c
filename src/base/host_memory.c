/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* A map is aligned to small pages only: take one huge page more and give back both ends. */
static void *map_huge(size_t size)
{
    size_t length = round_up(size, TN_HUGE_PAGE), room = length + TN_HUGE_PAGE;
    char *p = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;

    char *begin = (char *)round_up((uintptr_t)p, TN_HUGE_PAGE);
    if (begin > p) munmap(p, begin - p);
    size_t after = room - (begin - p) - length;
    if (after > 0) munmap(begin + length, after);
    madvise(begin, length, MADV_HUGEPAGE); /* advice: without it all works, slower */
    return begin;
}

void *tn_host_memory_alloc(size_t size)
{
    if (size == 0) size = 1;
    if (size > PTRDIFF_MAX - 2 * (size_t)TN_HUGE_PAGE) return NULL;
    if (size >= TN_HUGE_PAGE) return map_huge(size);
    return aligned_alloc(TN_ALIGNMENT, round_up(size, TN_ALIGNMENT));
}

void tn_host_memory_free(void *memory, size_t size)
{
    if (!memory) return;
    if (size >= TN_HUGE_PAGE) munmap(memory, round_up(size, TN_HUGE_PAGE));
    else free(memory);
}
