/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "conformance/check.h"

static void any_order(context *c)
{
    /* Executable before its buffers, buffers before their events, loaded before executable. */
    for (int order = 0; order < 3; order++) {
        PJRT_LoadedExecutable *e = load(c, "busy", 1);
        PJRT_Executable *x = executable_of(c, e);
        PJRT_Buffer *in = scalar_u32(c, c->device, 7), *out;
        PJRT_Event *done;
        check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, &done));
        PJRT_Event *ready = ready_event(c, out);
        if (order == 0) unload(c, e), destroy_buffer(c, in), end_executable(c, x);
        if (order == 1) end_executable(c, x), destroy_buffer(c, in), unload(c, e);
        if (order == 2) destroy_buffer(c, in), end_executable(c, x), unload(c, e);
        destroy_buffer(c, out);
        check_ok(c, __FILE__, __LINE__, await(c, ready));
        check_ok(c, __FILE__, __LINE__, await(c, done));
    }
}

static void two_clients(context *c)
{
    tn_host_client *other;
    check_ok(c, __FILE__, __LINE__,
             tn_host_client_create(c->plugin, client_options, n_client_options, &other));
    context d = *c;
    d.host = other;
    d.client = tn_host_client_handle(other);
    d.device = tn_host_client_device(other, 0);
    PJRT_LoadedExecutable *mine = load(c, "add", 1), *theirs = load(&d, "add", 1);
    PJRT_Buffer *in = floats(c, c->device, 1, 2, 3, 4), *out;
    PJRT_Buffer *in2 = floats(&d, d.device, 5, 6, 7, 8), *out2;
    check_ok(c, __FILE__, __LINE__,
             execute(&d, theirs, (PJRT_Buffer *[]){in2, in2}, 2, &out2, NULL));
    expect_floats(&d, out2, 10, 12, 14, 16);
    destroy_buffer(&d, in2);
    destroy_buffer(&d, out2);
    unload(&d, theirs);
    tn_host_client_destroy(other);
    check_ok(c, __FILE__, __LINE__, execute(c, mine, (PJRT_Buffer *[]){in, in}, 2, &out, NULL));
    expect_floats(c, out, 2, 4, 6, 8);
}

static void client_with(context *c, const char *program)
{
    context d = *c;
    check_ok(c, __FILE__, __LINE__,
             tn_host_client_create(c->plugin, client_options, n_client_options, &d.host));
    d.client = tn_host_client_handle(d.host);
    d.device = tn_host_client_device(d.host, 0);
    PJRT_LoadedExecutable *e = load(&d, program, 1);
    PJRT_Buffer *in[] = {floats(&d, d.device, 1, 2, 3, 4), floats(&d, d.device, 1, 2, 3, 4)}, *out;
    check_ok(c, __FILE__, __LINE__, execute(&d, e, in, 2, &out, NULL));
    check_ok(c, __FILE__, __LINE__, await_buffer(&d, out));
    for (int i = 0; i < 2; i++) destroy_buffer(&d, in[i]);
    destroy_buffer(&d, out);
    unload(&d, e);
    tn_host_client_destroy(d.host);
}

static void clients_end(context *c)
{
    for (int i = 0; i < 3; i++) client_with(c, "add");
    size_t threads = count_threads(), files = count_files(), memory = resident_bytes();
    for (int i = 0; i < 12; i++) client_with(c, "add");
    for (int i = 0; i < 200 && count_threads() > threads; i++) usleep(5000);
    if (count_threads() > threads + 2)
        fail(__FILE__, __LINE__, "12 clients made and destroyed left %zu threads behind",
             count_threads() - threads);
    if (count_files() > files + 2)
        fail(__FILE__, __LINE__, "12 clients made and destroyed left %zu open files behind",
             count_files() - files);
    size_t now = resident_bytes();
    if (now > memory + (16u << 20))
        fail(__FILE__, __LINE__, "12 clients made and destroyed left %zu MB behind",
             (now - memory) >> 20);
}

const check_row lifetime_checks[] = {
    {140, "a run's objects may be destroyed in any order while it goes on", any_order},
    {142, "two clients work side by side, and one outlives the other", two_clients},
    {143, "a client that is destroyed takes its threads, files and memory with it", clients_end},
    {0}};
