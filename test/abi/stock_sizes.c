/* SPDX-License-Identifier: Apache-2.0 */
/* stock_sizes PLUGIN - what sizes of args a plugin that refuses too small ones wants.
 *
 * Calls each slot with a struct_size of 0, in a process of its own, and reads the number out of the
 * error: XLA's plugins say "... size: expected 88, got 0". Prints "name ours theirs" per call,
 * theirs being -1 where the call gave no such error, and first the plugin's version. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon/pjrt.h"

static const PJRT_Api *api;

/* The number in the error of one call, or -1. */
static int expected(PJRT_Error *(*call)(void *))
{
    _Alignas(16) static char args[1024];
    PJRT_Error *e = call(args);
    if (!e) return -1;
    PJRT_Error_Message_Args m = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE, .error = e};
    api->PJRT_Error_Message(&m);
    char text[1024];
    snprintf(text, sizeof text, "%.*s", (int)m.message_size, m.message);
    const char *number = strstr(text, ": expected ");
    return number ? atoi(number + strlen(": expected ")) : -1;
}

static int in_own_process(PJRT_Error *(*call)(void *))
{
    int ends[2], got = -1;
    if (pipe(ends)) return -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int n = expected(call);
        _exit(write(ends[1], &n, sizeof n) != sizeof n);
    }
    close(ends[1]);
    if (read(ends[0], &got, sizeof got) != sizeof got) got = -1;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return got;
}

int main(int argc, char **argv)
{
    void *so = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!so) return fprintf(stderr, "%s\n", dlerror()), 1;
    const PJRT_Api *(*get)(void) = (const PJRT_Api *(*)(void))dlsym(so, "GetPjrtApi");
    api = get();
    printf("%d.%d %zu %d\n", api->pjrt_api_version.major_version,
           api->pjrt_api_version.minor_version, api->struct_size, (int)PJRT_Api_STRUCT_SIZE);
#define X(name, minor)                                                                             \
    printf("%s %d %d\n", #name, (int)name##_Args_STRUCT_SIZE,                                      \
           in_own_process((PJRT_Error * (*)(void *)) api->name));
    PJRT_API_SLOTS(X)
    return 0;
}
