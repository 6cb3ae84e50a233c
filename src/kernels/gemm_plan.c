/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_plan.h"

#include "kernels/gemm_amx.h"

#define SWAP(x, y)                                                                                 \
    do {                                                                                           \
        __typeof__(x) swap_ = x;                                                                   \
        x = y;                                                                                     \
        y = swap_;                                                                                 \
    } while (0)

enum {
    PLAIN_PRODUCTS = 512, /* complex products of at most so many multiply-adds are plain loops */
    LANE_K_OF_ROWS = 32,  /* of several rows at once, sums in lanes have to be as long to pay */
    SMALL = 192,          /* products of less than SMALL^3 are not packed */
};

static void exchange(tn_gemm_plan *p)
{
    SWAP(p->m, p->n);
    SWAP(p->a_row, p->b_col);
    SWAP(p->a_col, p->b_row);
    SWAP(p->c_row, p->c_col);
    SWAP(p->a_size, p->b_size);
    SWAP(p->a_plain, p->b_plain);
    SWAP(p->load_a, p->load_b);
    p->exchanged = !p->exchanged;
}

static bool dots_fit(const tn_gemm_plan *p)
{
    return p->loops->dots && p->m <= TN_GEMM_LANE_ROWS &&
           p->k >= (p->m == 1 ? TN_GEMM_LANE_K : LANE_K_OF_ROWS) && p->b_row == p->b_size &&
           (p->b_col != p->b_size || p->n == 1);
}

static tn_gemm_ordered *ordered_for(const tn_gemm_plan *p, tn_element_type b)
{
    if (p->kind != TN_GEMM_F32 || p->m > TN_GEMM_LANE_ROWS || p->k < TN_GEMM_LANE_K ||
        !p->a_plain || p->a_col != p->e || p->b_row != p->b_size || p->b_col == p->b_size)
        return NULL;
    switch (b) {
    case TN_F32: return p->table->ordered[0];
    case TN_BF16: return p->table->ordered[1 + TN_GEMM_NARROW_BF16];
    case TN_I8: return p->table->ordered[1 + TN_GEMM_NARROW_I8];
    case TN_U8: return p->table->ordered[1 + TN_GEMM_NARROW_U8];
    default: return NULL;
    }
}

static bool direct_fits(const tn_gemm_plan *p)
{
    if (tn_gemm_is_complex(p->kind) || p->b_col != p->b_size) return false;
    if (p->m <= 2 * p->loops->mr) return true;
    bool all_plain = p->a_plain && p->b_plain && p->c_plain && p->c_col == p->e;
    return all_plain && (double)p->m * (double)p->n * (double)p->k <= SMALL * SMALL * SMALL;
}

static tn_gemm_dots *const *narrow_dots_for(const tn_gemm_plan *p, tn_element_type b)
{
    if (p->m > 1) return NULL;
    switch (b) {
    case TN_BF16: return p->loops->narrow_dots[TN_GEMM_NARROW_BF16];
    case TN_I8: return p->loops->narrow_dots[TN_GEMM_NARROW_I8];
    case TN_U8: return p->loops->narrow_dots[TN_GEMM_NARROW_U8];
    default: return NULL;
    }
}

/* Unsigned 16-bit numbers don't fit signed ones, which matters only where the result is wider. */
static bool pairs_fit(const tn_gemm *g)
{
    if (tn_is_float(g->c_type) || tn_is_complex(g->c_type) || tn_element_type_bits(g->c_type) > 32)
        return false;
    bool narrow = tn_element_type_bits(g->a_type) <= 16 && tn_element_type_bits(g->b_type) <= 16;
    bool unsigned16 = g->a_type == TN_U16 || g->b_type == TN_U16;
    return narrow && (!unsigned16 || tn_element_type_bits(g->c_type) <= 16);
}

int64_t tn_gemm_batch_count(const tn_gemm *g)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < g->batch_rank; d++) n *= g->batch[d];
    return n;
}

tn_gemm_plan tn_gemm_plan_make(const tn_gemm *g)
{
    tn_gemm_plan p = {.kind = tn_gemm_kind_for(g->a_type, g->b_type, g->c_type),
                      .table = tn_gemm_table_get(),
                      .m = g->m,
                      .n = g->n,
                      .k = g->k,
                      .add = g->add,
                      .packed_b = g->packed_b};
    tn_element_type type = tn_gemm_kind_type(p.kind);
    p.loops = &p.table->kinds[p.kind];
    p.e = tn_element_type_bytes(type);
    p.a_size = tn_element_type_bytes(g->a_type);
    p.b_size = tn_element_type_bytes(g->b_type);
    p.c_size = tn_element_type_bytes(g->c_type);
    p.a_row = g->a_row * p.a_size, p.a_col = g->a_col * p.a_size;
    p.b_row = g->b_row * p.b_size, p.b_col = g->b_col * p.b_size;
    p.c_row = g->c_row * p.c_size, p.c_col = g->c_col * p.c_size;
    p.load_a = tn_gemm_load_for(p.kind, g->a_type);
    p.load_b = tn_gemm_load_for(p.kind, g->b_type);
    p.store_c = tn_gemm_store_for(p.kind, g->c_type);
    /* An integer of the same width has the same bits. */
    bool integer = p.kind == TN_GEMM_I32 || p.kind == TN_GEMM_I64;
    p.a_plain = g->a_type == type || (integer && p.a_size == p.e);
    p.b_plain = g->b_type == type || (integer && p.b_size == p.e);
    p.c_plain = g->c_type == type || (integer && p.c_size == p.e);

    if (g->k == 0) {
        p.path = TN_GEMM_ZERO;
        return p;
    }
    if (tn_gemm_is_complex(p.kind) && p.k <= TN_GEMM_PLAIN_K &&
        (double)p.m * (double)p.n * (double)p.k <= PLAIN_PRODUCTS) {
        p.path = TN_GEMM_PLAIN;
        return p;
    }
    /* With one row or column its stride means nothing; make it the one that helps. */
    if (p.n == 1) p.c_col = p.c_size, p.b_col = p.b_size;
    if (p.m == 1) p.c_row = p.c_size, p.a_row = p.a_size;
    if (p.k == 1) p.a_col = p.a_size;

    for (int i = 0; i < 2 && !g->in_order; i++, exchange(&p))
        if (dots_fit(&p)) {
            p.path = TN_GEMM_DOTS;
            p.narrow_dots = narrow_dots_for(&p, p.exchanged ? g->a_type : g->b_type);
            return p;
        }
    for (int i = 0; i < 2 && g->in_order; i++, exchange(&p))
        if ((p.ordered = ordered_for(&p, p.exchanged ? g->a_type : g->b_type))) {
            p.path = TN_GEMM_ORDERED;
            return p;
        }
    exchange(&p);
    /* Now exchanged: stay so if only that makes rows of C contiguous, or makes one row of one
     * column. */
    bool now = p.c_col == p.c_size, before = p.c_row == p.c_size;
    /* One row of a B with long columns is better one column of A, since tiles read A as it is. */
    bool row = p.m == 1 && p.b_col == p.b_size, column = p.n == 1 && p.a_row != p.a_size;
    if (!(now && (!before || row || column))) exchange(&p);
    p.amx = tn_gemm_amx_kind(&p, p.exchanged ? g->b_type : g->a_type,
                             p.exchanged ? g->a_type : g->b_type);
    p.path = direct_fits(&p) ? TN_GEMM_DIRECT : TN_GEMM_PACKED;
    p.pairs = p.path == TN_GEMM_PACKED && pairs_fit(g);
    if (p.pairs) {
        tn_element_type a = p.exchanged ? g->b_type : g->a_type,
                        b = p.exchanged ? g->a_type : g->b_type;
        p.load_a = tn_gemm_load_for(TN_GEMM_P16, a);
        p.load_b = tn_gemm_load_for(TN_GEMM_P16, b);
    }
    return p;
}
