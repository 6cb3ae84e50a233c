/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_amx.h"

#include <pthread.h>

#include "base/cpu_features.h"
#include "base/options.h"
#include "kernels/int_math.h"
#include "kernels/work_parts.h"

#if defined(TN_HAVE_AMX)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool cpu_has_amx(void)
{
    enum { BF16 = 1u << 22, TILE = 1u << 24, INT8 = 1u << 25 };
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    return (d & BF16) && (d & TILE) && (d & INT8);
}

/* Linux keeps the registers from processes that didn't ask, since they make signal frames larger.
 */
static bool ask_system(void)
{
    enum { GET_PERMITTED = 0x1022, REQUEST = 0x1023, TILE_DATA = 18 };
    unsigned long permitted = 0;
    if (syscall(SYS_arch_prctl, REQUEST, TILE_DATA)) return false;
    return !syscall(SYS_arch_prctl, GET_PERMITTED, &permitted) && (permitted >> TILE_DATA & 1);
}
#else
static bool cpu_has_amx(void)
{
    return false;
}
static bool ask_system(void)
{
    return false;
}
#endif

static bool usable;

static void find_out(void)
{
    usable =
        tn_options_get()->amx && tn_cpu_isa() == TN_ISA_AVX512 && cpu_has_amx() && ask_system();
}

bool tn_amx_usable(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_out);
    return usable;
}

/* --- what fits --- */

enum { MIN_B = 1 << 14, MIN_LANES = 12, MIN_K_BYTES = 32, MAX_K = 1 << 24 };

/* Integers of at most 8 bits are kept extended to bytes. */
static bool is_byte(tn_element_type t)
{
    return t == TN_I8 || t == TN_U8 || t == TN_I4 || t == TN_U4 || t == TN_I2 || t == TN_U2;
}

tn_amx_kind tn_amx_kind_of(tn_element_type a, tn_element_type b)
{
    if (a == TN_BF16 && b == TN_BF16) return TN_AMX_BF16;
    if (!is_byte(a) || !is_byte(b)) return TN_AMX_NONE;
    bool a_signed = tn_element_type_class(a) == TN_CLASS_SINT,
         b_signed = tn_element_type_class(b) == TN_CLASS_SINT;
    if (a_signed) return b_signed ? TN_AMX_SS : TN_AMX_SU;
    return b_signed ? TN_AMX_US : TN_AMX_UU;
}

tn_amx_kind tn_gemm_amx_kind(const tn_gemm_plan *p, tn_element_type a, tn_element_type b)
{
    tn_amx_kind kind = tn_amx_kind_of(a, b);
    if (kind == TN_AMX_NONE || p->kind != (kind == TN_AMX_BF16 ? TN_GEMM_F32 : TN_GEMM_I32))
        return TN_AMX_NONE;
    if (p->n < MIN_LANES || p->k * p->a_size < MIN_K_BYTES || p->k > MAX_K) return TN_AMX_NONE;
    /* Of a few rows the tiles are mostly empty, but a large B is packed all the same. */
    int64_t few = kind == TN_AMX_BF16 ? 3 : 2;
    if (p->m < MIN_LANES && (p->m < few || p->n * p->k < MIN_B)) return TN_AMX_NONE;
    bool a_lines = p->a_row == p->a_size || p->a_col == p->a_size;
    bool b_lines = p->b_row == p->b_size || p->b_col == p->b_size;
    /* Rows or columns that are all the same would be copied out. */
    bool spread = !p->a_row || !p->a_col || !p->b_row || !p->b_col;
    return a_lines && b_lines && !spread && tn_amx_usable() ? kind : TN_AMX_NONE;
}

/* The condition of gemm_amx.h. Biased exponents: 1 is that of the smallest normal number, 255 is
 * infinity. */
bool tn_amx_values_fit(tn_amx_range a, tn_amx_range b, int64_t k)
{
    unsigned high_a = a.high >> 7, high_b = b.high >> 7, bits = 0;
    if (high_a == 255 || high_b == 255) return false;
    if (a.low == UINT16_MAX || b.low == UINT16_MAX) return true; /* one of them is all 0 */
    unsigned low_a = (a.low + 1) >> 7, low_b = (b.low + 1) >> 7;
    while ((int64_t)1 << bits < k) bits++;
    return low_a >= 1 && low_b >= 1 && low_a + low_b >= 2 * 127 - 126 + 14 &&
           high_a + high_b + 2 + bits < 2 * 127 + 127;
}

#if defined(TN_HAVE_AMX)

enum {
    MAX_SIDE = 256, /* rows and columns of C done in one go */
    MIN_SIDE = 64,  /* as low as that if there would be few of them */
    MIN_ITEMS = 8,  /* ... than these */
    PACK_PANELS = 4,
    CHUNK_STEPS =
        16, /* tiles along k between visits to C: two panels of B stay in the first cache */
};

typedef struct {
    const tn_gemm_plan *p;
    tn_amx_operand a, b;
    int64_t steps, a_panels, b_panels; /* tiles along k; panels of 16 lanes */
    int64_t rows, cols, col_items;     /* of C in one item */
    char *packed_a, *packed_b, *c;
    tn_work_parts *parts;
    atomic_uint low_a, low_b, high_a, high_b;
} job;

static void choose_items(job *j)
{
    int64_t m = j->p->m, n = j->p->n;
    j->rows = j->cols = MAX_SIDE;
    while (tn_ceil_div(m, j->rows) * tn_ceil_div(n, j->cols) < MIN_ITEMS) {
        if (j->rows >= j->cols && j->rows > MIN_SIDE) j->rows /= 2;
        else if (j->cols > MIN_SIDE) j->cols /= 2;
        else break;
    }
    j->col_items = tn_ceil_div(n, j->cols);
}

static job job_of(const tn_gemm_plan *p, const char *a, const char *b, char *c)
{
    job j = {
        .p = p,
        .a = {a, p->a_row, p->a_col, p->m, p->k, p->a_size, false},
        .b = {b, p->b_col, p->b_row, p->n, p->k, p->b_size, true},
        .steps = tn_ceil_div(p->k * p->a_size, TN_AMX_ROW),
        .a_panels = tn_ceil_div(p->m, TN_AMX_LANES),
        .b_panels = tn_ceil_div(p->n, TN_AMX_LANES),
        .c = c,
    };
    choose_items(&j);
    return j;
}

/* Sums of one item, where they can't be made in C. */
static size_t aside_bytes(const job *j)
{
    return (size_t)(j->rows * j->cols) * sizeof(float);
}

size_t tn_gemm_amx_workspace(const tn_gemm_plan *p, int threads)
{
    job j = job_of(p, NULL, NULL, NULL);
    return (size_t)((j.a_panels + j.b_panels) * j.steps * TN_AMX_TILE) +
           aside_bytes(&j) * (size_t)threads;
}

static void lower(atomic_uint *to, unsigned x)
{
    unsigned now = atomic_load(to);
    while (x < now && !atomic_compare_exchange_weak(to, &now, x)) {}
}
static void raise_to(atomic_uint *to, unsigned x)
{
    unsigned now = atomic_load(to);
    while (x > now && !atomic_compare_exchange_weak(to, &now, x)) {}
}

static void pack_items(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    tn_amx_range a = TN_AMX_NO_RANGE, b = a;
    int64_t bytes = j->steps * TN_AMX_TILE;
    for (int64_t i = begin * PACK_PANELS; i < end * PACK_PANELS; i += PACK_PANELS) {
        int64_t at = i - tn_round_up(j->a_panels, PACK_PANELS); /* in B */
        if (at < 0)
            tn_amx_pack(&j->a, i, tn_least(PACK_PANELS, j->a_panels - i), j->packed_a + i * bytes,
                        &a);
        else
            tn_amx_pack(&j->b, at, tn_least(PACK_PANELS, j->b_panels - at),
                        j->packed_b + at * bytes, &b);
    }
    lower(&j->low_a, a.low), raise_to(&j->high_a, a.high);
    lower(&j->low_b, b.low), raise_to(&j->high_b, b.high);
}

static const int64_t packed_at[CHUNK_STEPS] = {
#define FOUR(i) (i) * 1024, (i) * 1024 + 1024, (i) * 1024 + 2048, (i) * 1024 + 3072
    FOUR(0), FOUR(4), FOUR(8), FOUR(12)};

static void compute_item(const job *j, int64_t i0, int64_t j0, char *aside)
{
    const tn_gemm_plan *p = j->p;
    int64_t rows = tn_least(j->rows, p->m - i0), cols = tn_least(j->cols, p->n - j0);
    int64_t a_panel = j->steps * TN_AMX_TILE, pitch = j->cols * 4;
    bool direct =
        p->c_plain && p->c_col == 4 && rows % TN_AMX_LANES == 0 && cols % TN_AMX_LANES == 0;
    char *c = direct ? j->c + i0 * p->c_row + j0 * p->c_col : aside;
    int64_t c_row = direct ? p->c_row : pitch;
    const char *a = j->packed_a + i0 / TN_AMX_LANES * a_panel,
               *b = j->packed_b + j0 / TN_AMX_LANES * a_panel;
    int64_t row_panels = tn_ceil_div(rows, TN_AMX_LANES),
            col_panels = tn_ceil_div(cols, TN_AMX_LANES);
    tn_amx_block *const *blocks = tn_amx_blocks[p->amx - 1];
    for (int64_t s = 0; s < j->steps; s += CHUNK_STEPS) {
        int64_t steps = tn_least(CHUNK_STEPS, j->steps - s);
        for (int64_t y = 0; y < col_panels; y += 2)
            for (int64_t x = 0; x < row_panels; x += 2)
                blocks[2 * (x + 1 < row_panels) + (y + 1 < col_panels)](
                    steps, a + x * a_panel + s * TN_AMX_TILE, packed_at, TN_AMX_ROW, a_panel,
                    b + y * a_panel + s * TN_AMX_TILE, a_panel,
                    c + x * TN_AMX_LANES * c_row + y * TN_AMX_ROW, c_row, s > 0);
    }
    if (direct) return;
    for (int64_t r = 0; r < rows; r++)
        p->store_c(j->c + (i0 + r) * p->c_row + j0 * p->c_col, p->c_col, aside + r * pitch, cols,
                   false);
}

static void compute_items(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    char *aside;
    int part = tn_work_parts_take(j->parts, &aside);
    tn_amx_begin();
    for (int64_t i = begin; i < end; i++)
        compute_item(j, i / j->col_items * j->rows, i % j->col_items * j->cols, aside);
    tn_amx_end();
    tn_work_parts_free(j->parts, part);
}

bool tn_gemm_amx_run(const tn_gemm_plan *p, const char *a, const char *b, char *c,
                     tn_thread_pool *pool, char *workspace)
{
    job j = job_of(p, a, b, c);
    int64_t packs = tn_ceil_div(j.a_panels, PACK_PANELS) + tn_ceil_div(j.b_panels, PACK_PANELS);
    int64_t panel_bytes = j.steps * TN_AMX_TILE;
    j.packed_a = workspace;
    j.packed_b = workspace + j.a_panels * panel_bytes;
    j.low_a = j.low_b = UINT16_MAX;
    tn_parallel_for(pool, packs, 0.04 * PACK_PANELS * (double)panel_bytes, pack_items, &j);
    tn_amx_range range_a = {(uint16_t)j.low_a, (uint16_t)j.high_a},
                 range_b = {(uint16_t)j.low_b, (uint16_t)j.high_b};
    if (p->amx == TN_AMX_BF16 && !tn_amx_values_fit(range_a, range_b, p->k)) return false;
    tn_work_parts parts;
    tn_work_parts_init(&parts, j.packed_b + j.b_panels * panel_bytes, aside_bytes(&j),
                       tn_thread_pool_size(pool));
    j.parts = &parts;
    int64_t items = tn_ceil_div(p->m, j.rows) * j.col_items;
    double tiles = (double)j.a_panels * (double)j.b_panels * (double)j.steps;
    tn_parallel_for(pool, items, tiles * 14 / (double)items + 100, compute_items, &j);
    return true;
}

#else

size_t tn_gemm_amx_workspace(const tn_gemm_plan *p, int threads)
{
    (void)p, (void)threads;
    return 0;
}

bool tn_gemm_amx_run(const tn_gemm_plan *p, const char *a, const char *b, char *c,
                     tn_thread_pool *pool, char *workspace)
{
    (void)p, (void)a, (void)b, (void)c, (void)pool, (void)workspace;
    return false;
}

#endif
