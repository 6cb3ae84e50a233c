/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu_features.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"

static const char *const isa_names[TN_ISA_COUNT] = {
#define X(NAME, name) [TN_ISA_##NAME] = name,
    TN_ISAS(X)
#undef X
};

const char *tn_isa_name(tn_isa isa)
{
    return isa < TN_ISA_COUNT ? isa_names[isa] : "unknown";
}

bool tn_isa_from_name(const char *name, tn_isa *out)
{
    for (int i = 0; i < TN_ISA_COUNT; i++) {
        if (strcmp(name, isa_names[i])) continue;
        *out = (tn_isa)i;
        return true;
    }
    return false;
}

static tn_isa detect(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("f16c"))
        return TN_ISA_BASELINE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return TN_ISA_AVX2;
    return TN_ISA_AVX512;
#elif defined(__aarch64__)
    return TN_ISA_NEON;
#else
    return TN_ISA_BASELINE;
#endif
}

static tn_isa best_isa;
static int cpu_count;
static pthread_once_t isa_once = PTHREAD_ONCE_INIT, count_once = PTHREAD_ONCE_INIT;

static void find_isa(void)
{
    best_isa = detect();
    const char *name = tn_options_get()->isa;
    tn_isa cap;
    if (!*name) return;
    if (!tn_isa_from_name(name, &cap))
        tn_log(TN_LOG_WARNING, "options", "TN_ISA=%s is not an instruction set; ignored", name);
    else if (cap < best_isa) best_isa = cap;
}

tn_isa tn_cpu_isa(void)
{
    pthread_once(&isa_once, find_isa);
    return best_isa;
}

bool tn_cpu_has(tn_isa isa)
{
#if defined(__x86_64__)
    if (isa == TN_ISA_NEON) return false;
#endif
    return isa <= tn_cpu_isa();
}

/* ceil(quota / period), 0 when there is no quota. */
static int whole_cpus(long long quota, long long period)
{
    if (quota <= 0 || period <= 0) return 0;
    long long n = quota / period + (quota % period != 0);
    return n > INT_MAX ? INT_MAX : (int)n;
}

static int tighter(int a, int b)
{
    if (!a) return b;
    return b && b < a ? b : a;
}

static bool read_number(const char *folder, const char *file, long long *out)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path) return false;
    FILE *f = fopen(path, "re");
    if (!f) return false;
    bool ok = fscanf(f, "%lld", out) == 1;
    fclose(f);
    return ok;
}

/* The limit set on one group, whichever version's files it has. */
static int limit_of_folder(const char *folder)
{
    char path[PATH_MAX];
    long long quota, period;
    if (read_number(folder, "cpu.cfs_quota_us", &quota) &&
        read_number(folder, "cpu.cfs_period_us", &period))
        return whole_cpus(quota, period);

    if (snprintf(path, sizeof path, "%s/cpu.max", folder) >= (int)sizeof path) return 0;
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    int n = 0;
    if (fscanf(f, "%lld %lld", &quota, &period) == 2)
        n = whole_cpus(quota, period); /* "max": none */
    fclose(f);
    return n;
}

/* `group` and all groups above it. In a container the group may name a path that isn't mounted:
 * then only the parts that exist count, down to the mount itself. */
static int limit_up_from(const char *mount, const char *group)
{
    char folder[PATH_MAX];
    int n = snprintf(folder, sizeof folder, "%s%s", mount, group), limit = 0;
    if (n < 0 || n >= (int)sizeof folder) return 0;
    size_t mount_size = strlen(mount);
    for (;;) {
        limit = tighter(limit, limit_of_folder(folder));
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= mount_size || !slash) return limit;
        *slash = 0;
        if (strlen(folder) < mount_size) return limit;
    }
}

static bool names_cpu(const char *controllers)
{
    for (const char *c = controllers; *c; c += strcspn(c, ","), c += *c == ',')
        if (strcspn(c, ",") == 3 && !memcmp(c, "cpu", 3)) return true;
    return false;
}

int tn_cgroup_cpu_limit(const char *membership, const char *root)
{
    static const char *const v1_mounts[] = {"/cpu,cpuacct", "/cpu", "/cpuacct,cpu"};
    static const char *const v2_mounts[] = {"", "/unified"};
    FILE *f = fopen(membership, "re");
    if (!f) return 0;
    int limit = 0;
    char line[PATH_MAX + 64], mount[PATH_MAX];
    while (fgets(line, sizeof line, f)) { /* "id:controllers:/path"; v2 has "0::/path" */
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        controllers++;
        bool v2 = !*controllers;
        if (!v2 && !names_cpu(controllers)) continue;
        if (!strcmp(group, "/")) group = "";
        const char *const *mounts = v2 ? v2_mounts : v1_mounts;
        size_t n_mounts =
            v2 ? sizeof v2_mounts / sizeof v2_mounts[0] : sizeof v1_mounts / sizeof v1_mounts[0];
        for (size_t i = 0; i < n_mounts; i++) {
            if (snprintf(mount, sizeof mount, "%s%s", root, mounts[i]) >= (int)sizeof mount)
                continue;
            limit = tighter(limit, limit_up_from(mount, group));
        }
    }
    fclose(f);
    return limit;
}

static int affinity_count(void)
{
    for (int n = 1024; n <= 1 << 20;
         n *= 2) { /* a set too small for the machine fails with EINVAL */
        cpu_set_t *set = CPU_ALLOC(n);
        if (!set) break;
        size_t size = CPU_ALLOC_SIZE(n);
        int count = sched_getaffinity(0, size, set) ? 0 : CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (count > 0) return count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < INT_MAX ? (int)online : 1;
}

static void find_count(void)
{
    cpu_count =
        tighter(affinity_count(), tn_cgroup_cpu_limit("/proc/self/cgroup", "/sys/fs/cgroup"));
    if (cpu_count < 1) cpu_count = 1;
}

int tn_cpu_count(void)
{
    pthread_once(&count_once, find_count);
    return cpu_count;
}
