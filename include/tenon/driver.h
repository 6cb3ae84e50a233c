/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - what a device must be able to do to become a PJRT platform.
 *
 * A driver is one `const tn_driver`: fifteen functions and a few optional ones. The kit does the
 * rest: the PJRT C API, compiling, buffers, events, donation, queues, memory pools, errors. See
 * drivers/cpu for the smallest driver, drivers/sim for one with memory and time of its own.
 *
 * Order:     each device has one queue. copy_in, copy_out, copy, launch and record append to it;
 *            they take effect in the order of the calls, and may return before they are done.
 * Threads:   the kit never calls two appending functions of one device at once, unless the device
 *            is TN_DEVICE_CONCURRENT. Everything else may be called from any thread at any time,
 *            wait above all.
 * Ownership: every open, alloc, wrap, load and record is ended by one close, free, unload and drop,
 *            also after errors. Nothing is freed or unloaded while appended work uses it.
 *            A status that a driver returns belongs to the kit. Arrays and structs that are passed
 *            in live during the call; memory that is copied from or to, `context` and programs live
 *            until a fence recorded later is done.
 * Units:     sizes and offsets are bytes, times are nanoseconds.
 * Errors:    an appending function either refuses, and then nothing was appended, or what goes
 * wrong later comes out of the next fence. RESOURCE_EXHAUSTED from alloc makes the kit give back
 *            what it pooled and try again. UNAVAILABLE says that the device is lost: from then on
 *            the kit only waits, drops, frees, unloads and closes, and fences must end.
 *            A driver never calls back into PJRT, and never aborts the process.
 * Versions:  fields are only ever added at the end; `size` says which are there. */
#ifndef TN_DRIVER_H
#define TN_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TN_DRIVER_ABI 1

/* The driver's own types. */
typedef struct tn_driver_device tn_driver_device;
typedef struct tn_mem tn_mem;                 /* a block of device memory */
typedef struct tn_code_object tn_code_object; /* a program that the device can launch */
typedef struct tn_fence tn_fence;             /* a point in the queue */

/* Part of a block. size 0: nothing is touched, and mem may be NULL. */
typedef struct {
    tn_mem *mem;
    uint64_t offset, size;
} tn_span;

/* ---- Code ------------------------------------------------------------------------------------ */

typedef enum {
    TN_CODE_HOST = 0,      /* runs on the host, on memory that the host can read: see tn_kit.run */
    TN_CODE_TILE = 1,      /* tile programs; not made yet */
    TN_CODE_OPENCL = 2,    /* OpenCL C source; not made yet */
    TN_CODE_STABLEHLO = 3, /* the program for one device as StableHLO bytecode; not made yet */
} tn_code_format;

/* A program that the host runs. Any number of threads may run one at once. */
typedef struct tn_host_program tn_host_program;

typedef struct {
    uint32_t size; /* sizeof(tn_device_code) of the kit */
    tn_code_format format;
    const char *name;
    const void *data; /* formats made of bytes; else NULL */
    uint64_t data_size;
    const tn_host_program *program; /* TN_CODE_HOST; lives until unload */
} tn_device_code;

/* One run on one device. Blocks start on 64 bytes, and so do all spans here. */
typedef struct {
    uint32_t size; /* sizeof(tn_launch) of the kit */
    uint32_t n_args, n_results;
    const tn_span *args;    /* read only, unless a result is the same span */
    const tn_span *results; /* written whole */
    tn_span temp;           /* for the program's own use */
    uint32_t replica_id, partition_id;
    const void *context; /* goes to the host program unchanged */
} tn_launch;

/* ---- What the kit does for a driver ---------------------------------------------------------- */

/* Addresses for a host program: of each argument, each result and the temporary memory, in the
 * order of the launch. Where a span has size 0 the address may be NULL. */
typedef struct {
    void *const *args;
    void *const *results;
    void *temp;
    uint32_t replica_id, partition_id;
    const void *context;
} tn_host_run;

typedef enum {
    TN_KIT_ERROR = 1,
    TN_KIT_WARNING = 2,
    TN_KIT_INFO = 3,
    TN_KIT_DEBUG = 4
} tn_kit_level;

/* Services, valid from count or open until close. All of them may be called from any thread. */
typedef struct tn_kit tn_kit;
struct tn_kit {
    uint32_t abi, size;

    /* Makes an error; `file` is a string literal. Use TN_KIT_FAIL. */
    tn_status *(*error)(tn_code code, const char *file, int line, const char *fmt, ...);
    /* Another reference to an error; NULL stays NULL. */
    tn_status *(*copy_error)(const tn_status *s);
    /* Ends a reference that is not passed on; NULL is fine. */
    void (*free_error)(tn_status *s);

    /* A line of the log; nothing is written unless TN_LOG asks for it. */
    void (*log)(const tn_kit *, tn_kit_level level, const char *fmt, ...);

    /* The value of an option in the driver's table, or `fallback` if the user gave none. Text lives
     * as long as the kit. */
    int64_t (*option)(const tn_kit *, const char *name, int64_t fallback);
    const char *(*option_text)(const tn_kit *, const char *name, const char *fallback);

    /* Host memory aligned to 64 bytes, with huge pages where that pays; not zeroed. NULL: out of
     * memory. `size` of free is that of alloc. */
    void *(*alloc)(const tn_kit *, uint64_t size);
    void (*free)(const tn_kit *, void *memory, uint64_t size);

    /* fn(ctx, begin, end) for parts of [0, n) on the client's threads; returns when all are done.
     * cost_ns: of one item, about. */
    void (*parallel_for)(const tn_kit *, int64_t n, double cost_ns,
                         void (*fn)(void *ctx, int64_t begin, int64_t end), void *ctx);

    /* Runs a host program on the calling thread and the client's; returns when it is done. */
    tn_status *(*run)(const tn_kit *, const tn_host_program *program, const tn_host_run *run);
};

#define TN_KIT_FAIL(kit, CODE, ...) ((kit)->error(TN_##CODE, __FILE__, __LINE__, __VA_ARGS__))

/* ---- The driver ------------------------------------------------------------------------------ */

typedef struct {
    const char *name; /* NULL ends the table */
    bool text;        /* else a number in [least, most] */
    int64_t least, most;
    const char *doc;
} tn_driver_option;

enum {
    /* Appended work is done when the call returns. Fences are not used: record, wait and drop may
     * be NULL. */
    TN_DEVICE_SYNCHRONOUS = 1 << 0,
    /* Of a synchronous device: several threads may append at once. Programs that call back into the
     * host then run beside others, so that what they call may run programs itself. */
    TN_DEVICE_CONCURRENT = 1 << 1,
    /* wrap, and programs that read what it wrapped, take memory that is aligned to 16 bytes only.
     */
    TN_DEVICE_UNALIGNED = 1 << 2,
};

typedef struct {
    uint32_t size;         /* in: sizeof(tn_device_info) of the kit; fill no field beyond it */
    uint32_t flags;        /* TN_DEVICE_* */
    uint32_t code_formats; /* 1 << TN_CODE_* for each that load takes */
    const char *kind;      /* the model, e.g. "sim"; lives as long as the device */
    uint64_t memory_bytes; /* 0: not known */
} tn_device_info;

typedef struct {
    uint32_t abi;                    /* TN_DRIVER_ABI */
    uint32_t size;                   /* sizeof(tn_driver) the driver was built with */
    const char *name;                /* the platform name, lower case */
    const tn_driver_option *options; /* that clients may set; NULL: none */

    /* ---- Devices ---- */
    /* How many there are; called before any open, with the kit of the client to come. */
    tn_status *(*count)(const tn_kit *, uint32_t *out);
    /* Devices are numbered from 0. */
    tn_status *(*open)(const tn_kit *, uint32_t ordinal, tn_driver_device **out);
    /* All work has ended, and all that belongs to the device was freed. */
    void (*close)(tn_driver_device *);
    /* Fills `out`, which is zeroed but for its size. */
    void (*info)(const tn_driver_device *, tn_device_info *out);

    /* ---- Memory ---- */
    /* size > 0, content undefined, aligned to 64 bytes. RESOURCE_EXHAUSTED: none left. */
    tn_status *(*alloc)(tn_driver_device *, uint64_t size, tn_mem **out);
    void (*free)(tn_driver_device *, tn_mem *);

    /* ---- Transfers: append ---- */
    tn_status *(*copy_in)(tn_driver_device *, tn_span dst, const void *src);
    tn_status *(*copy_out)(tn_driver_device *, void *dst, tn_span src);
    /* Within the device; the spans have one size and don't overlap. */
    tn_status *(*copy)(tn_driver_device *, tn_span dst, tn_span src);

    /* ---- Code ---- */
    /* The format is one of info.code_formats. */
    tn_status *(*load)(tn_driver_device *, const tn_device_code *code, tn_code_object **out);
    void (*unload)(tn_driver_device *, tn_code_object *);
    /* Appends a run. */
    tn_status *(*launch)(tn_driver_device *, tn_code_object *, const tn_launch *launch);

    /* ---- Fences ---- */
    /* Appends a fence. It is done when all work before it is. If record fails the device counts as
     * lost, and no work may be running any more. */
    tn_status *(*record)(tn_driver_device *, tn_fence **out);
    /* Blocks until the fence is done, for at most timeout_ns (0: only looks; UINT64_MAX: for ever).
     * *done false: the time was over. Returns the first error of the work between this fence and
     * the one before it; asking again gives the same. */
    tn_status *(*wait)(tn_driver_device *, tn_fence *, uint64_t timeout_ns, bool *done);
    /* Only after wait said done, or the device was lost. */
    void (*drop)(tn_driver_device *, tn_fence *);

    /* ---- Optional: NULL means what is said here ---- */
    /* The address at which the host reads and writes a block, for its whole life. A driver that has
     * it must have it for all blocks; the kit then does all copies itself, when no work in the
     * queue uses the block. NULL: the host can't touch the memory, and the copy functions are used.
     */
    tn_status *(*map)(tn_driver_device *, tn_mem *, void **out);
    /* Makes a block of memory that somebody else keeps: `memory` is what `address` would give for
     * it, and aligned to 64 bytes (but see TN_DEVICE_UNALIGNED). Ended by free, which leaves the
     * memory alone. NULL: no foreign memory; copies are made.
     */
    tn_status *(*wrap)(tn_driver_device *, void *memory, uint64_t size, tn_mem **out);
    /* The address by which the platform's users know a block. NULL: that of map, or none. */
    tn_status *(*address)(tn_driver_device *, tn_mem *, void **out);
} tn_driver;

/* A driver that is a shared object of its own exports this function. */
typedef const tn_driver *tn_driver_entry_fn(void);
#define TN_DRIVER_ENTRY "tn_driver_entry"

#ifdef __cplusplus
}
#endif
#endif
