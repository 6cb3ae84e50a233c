/* SPDX-License-Identifier: Apache-2.0 */
/* program_test.h - programs in C for tests of execution, without a compiler. */
#ifndef TN_RUNTIME_PROGRAM_TEST_H
#define TN_RUNTIME_PROGRAM_TEST_H

#include <pthread.h>
#include <semaphore.h>

#include "runtime/runtime_test.h"

enum { PROGRAM_N = 4, PROGRAM_MOST = 8 };

/* Elementwise on PROGRAM_N floats: result r = sum of all arguments + r + 1 + 100 * replica + 10 *
 * partition. Results may be arguments. */
typedef struct {
    tn_executable_info info;
    tn_executable_value params[PROGRAM_MOST], results[PROGRAM_MOST];
    atomic_int runs;
    bool gated; /* each run waits for a post of `gate` */
    bool fails; /* each run returns an error */
    sem_t gate;
    _Atomic(const struct tn_custom_call_context *) custom_calls; /* of the last run */
} program;

__attribute__((unused)) static const tn_type *program_type(void)
{
    static const int64_t dims[1] = {PROGRAM_N};
    static const tn_type type = {
        .kind = TN_TYPE_TENSOR, .element = TN_F32, .rank = 1, .dims = dims};
    return &type;
}

__attribute__((unused)) static tn_status *run_program(const void *self, const tn_host_run *run,
                                                      tn_thread_pool *pool)
{
    program *p = (program *)self;
    atomic_fetch_add(&p->runs, 1);
    p->custom_calls = ((const tn_launch_context *)run->context)->custom_calls;
    if (p->gated)
        while (sem_wait(&p->gate) != 0) {}
    if (p->fails) return TN_ERROR(OUT_OF_RANGE, "the program failed");
    if (p->info.temp_bytes > 0) memset(run->temp, 0x55, p->info.temp_bytes);
    for (int k = 0; k < PROGRAM_N; k++) {
        float sum = 100.0F * (float)run->replica_id + 10.0F * (float)run->partition_id;
        for (uint32_t a = 0; a < p->info.n_params; a++) sum += ((float *)run->args[a])[k];
        for (uint32_t r = 0; r < p->info.n_results; r++)
            ((float *)run->results[r])[k] = sum + (float)r + 1;
    }
    return NULL;
}

__attribute__((unused)) static void keep_program(void *self) {}

__attribute__((unused)) static void make_program(program *p, uint32_t n_params, uint32_t n_results)
{
    *p = (program){.info = {.name = "sum",
                            .num_replicas = 1,
                            .num_partitions = 1,
                            .cost_ns = 1000,
                            .n_params = n_params,
                            .n_results = n_results,
                            .temp_bytes = 100}};
    for (uint32_t i = 0; i < PROGRAM_MOST; i++)
        p->params[i] = p->results[i] =
            (tn_executable_value){.type = program_type(), .memory_kind = "device", .alias = -1};
    p->info.params = p->params;
    p->info.results = p->results;
    sem_init(&p->gate, 0, 0);
}

/* Donates parameter i to result r. */
__attribute__((unused)) static void donate(program *p, uint32_t i, int32_t r)
{
    p->params[i].donated = true;
    p->params[i].alias = r;
    if (r >= 0) p->results[r].alias = (int32_t)i;
}

__attribute__((unused)) static tn_status *try_load(tn_client *c, program *p,
                                                   tn_loaded_executable **out)
{
    tn_program what = {.info = &p->info, .run = run_program, .release = keep_program, .self = p};
    return tn_loaded_executable_create_from(c, &what, NULL, 0, false, out);
}

__attribute__((unused)) static tn_loaded_executable *load(tn_client *c, program *p)
{
    tn_loaded_executable *l = NULL;
    assert_ok(try_load(c, p, &l));
    return l;
}

__attribute__((unused)) static tn_buffer *put_value(tn_memory *m, float x)
{
    float data[PROGRAM_N];
    for (int i = 0; i < PROGRAM_N; i++) data[i] = x;
    return put(m, program_type(), data);
}

__attribute__((unused)) static void assert_value(tn_buffer *b, float x)
{
    float data[PROGRAM_N];
    for (int i = 0; i < PROGRAM_N; i++) data[i] = x;
    assert_floats(b, data, PROGRAM_N);
}

/* One device. `event` may be NULL. */
__attribute__((unused)) static tn_status *try_execute(tn_loaded_executable *l,
                                                      const tn_execute_options *options,
                                                      tn_buffer *const *args, size_t n,
                                                      tn_buffer **outs, tn_event **event)
{
    tn_execute_options none = {0};
    return tn_execute(l, options ? options : &none, &args, 1, n, &outs, event);
}

#endif
