/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/elementwise.h"

#include <math.h>
#include <string.h>

#include "type/float_bits.h"

static const tn_elementwise_build *build_of(tn_isa isa)
{
#if defined __x86_64__
    if (isa == TN_ISA_AVX512) return &tn_elementwise_build_avx512;
    if (isa == TN_ISA_AVX2) return &tn_elementwise_build_avx2;
#endif
    return &tn_elementwise_build_baseline;
}

static bool is_narrow_float(tn_element_type e)
{
    return tn_is_float(e) && e != TN_F32 && e != TN_F64;
}

static uint8_t step_of(tn_element_type e)
{
    return (uint8_t)tn_element_type_bytes(e);
}

/* --- narrow floats: load to f32, compute, round --- */

/* stages: load, the op in f32, store (NULL when the result is no float). */
static void run_narrow(const tn_kernel *k, size_t n, const void *const *in, void *out)
{
    _Alignas(64) float loaded[TN_KERNEL_OPERANDS][TN_KERNEL_TILE];
    const void *args[TN_KERNEL_OPERANDS];
    for (uint32_t i = 0; i < k->n_operands; i++) {
        args[i] = loaded[i];
        if (!k->in_step[i] && n) k->stages[0](k, 1, &in[i], loaded[i]);
    }
    for (size_t at = 0; at < n; at += TN_KERNEL_TILE) {
        size_t tile = n - at < TN_KERNEL_TILE ? n - at : TN_KERNEL_TILE;
        char *to = (char *)out + at * k->out_step;
        for (uint32_t i = 0; i < k->n_operands; i++) {
            if (!k->in_step[i]) continue;
            const void *from = (const char *)in[i] + at * k->in_step[i];
            k->stages[0](k, tile, &from, loaded[i]);
        }
        if (!k->stages[2]) {
            k->stages[1](k, tile, args, to);
            continue;
        }
        /* A loop may write over its operand; of three, only the middle one is never a scalar. */
        void *result = loaded[k->n_operands == 3 ? 1 : 0];
        k->stages[1](k, tile, args, result);
        const void *computed = result;
        k->stages[2](k, tile, &computed, to);
    }
}

/* Fills a kernel whose operands and result are of type e, or whose result is `result_step` wide and
 * no float. `fn` computes in e or, if e is a narrow float, in f32. */
static bool finish(const tn_elementwise_build *b, tn_kernel_fn *fn, tn_element_type e,
                   uint32_t n_operands, uint8_t result_step, tn_kernel *out)
{
    if (!fn) return false;
    *out = (tn_kernel){.run = fn, .n_operands = (uint8_t)n_operands, .out_step = result_step};
    for (uint32_t i = 0; i < n_operands; i++) out->in_step[i] = step_of(e);
    if (!result_step) out->out_step = step_of(e);
    if (!is_narrow_float(e)) return true;
    out->run = run_narrow;
    out->stages[0] = b->load(e);
    out->stages[1] = fn;
    out->stages[2] = result_step ? NULL : b->store(e);
    return true;
}

bool tn_kernel_elementwise(tn_isa isa, tn_op_kind op, tn_element_type e, tn_kernel *out)
{
    const tn_elementwise_build *b = build_of(isa);
    tn_kernel_fn *fn = b->elementwise(op, is_narrow_float(e) ? TN_F32 : e);
    uint8_t result_step = 0;
    switch ((int)op) {
    case TN_OP_is_finite: result_step = 1; break;
    case TN_OP_abs:
    case TN_OP_real:
    case TN_OP_imag:
        if (tn_is_complex(e)) result_step = step_of(tn_real_type(e));
        break;
    case TN_OP_complex:
        if (is_narrow_float(e)) return false;
        result_step = (uint8_t)(2 * step_of(e));
        break;
    default: break;
    }
    return finish(b, fn, e, (uint32_t)tn_op_infos[op].operands, result_step, out);
}

bool tn_kernel_compare(tn_isa isa, int direction, bool total, tn_element_type e, tn_kernel *out)
{
    const tn_elementwise_build *b = build_of(isa);
    tn_kernel_fn *fn = b->compare(direction, total, is_narrow_float(e) ? TN_F32 : e);
    return finish(b, fn, e, 2, 1, out);
}

bool tn_kernel_clamp(tn_isa isa, bool scalar_min, bool scalar_max, tn_element_type e,
                     tn_kernel *out)
{
    const tn_elementwise_build *b = build_of(isa);
    tn_kernel_fn *fn = b->clamp(scalar_min, scalar_max, is_narrow_float(e) ? TN_F32 : e);
    if (!finish(b, fn, e, 3, 0, out)) return false;
    if (scalar_min) out->in_step[0] = 0;
    if (scalar_max) out->in_step[2] = 0;
    return true;
}

/* Bits of exponent of the types that are computed in f32. */
static int exponent_of(tn_element_type e)
{
    switch ((int)e) {
    case TN_F16:
    case TN_F8E5M2:
    case TN_F8E5M2FNUZ: return 5;
    case TN_F8E4M3:
    case TN_F8E4M3FN:
    case TN_F8E4M3FNUZ:
    case TN_F8E4M3B11FNUZ: return 4;
    case TN_F8E3M4:
    case TN_F6E3M2FN: return 3;
    case TN_F6E2M3FN:
    case TN_F4E2M1FN: return 2;
    default: return 8;
    }
}

bool tn_kernel_reduce_precision(tn_isa isa, int exponent_bits, int mantissa_bits, tn_element_type e,
                                tn_kernel *out)
{
    const tn_elementwise_build *b = build_of(isa);
    tn_kernel_fn *fn = b->reduce_precision(is_narrow_float(e) ? TN_F32 : e);
    if (exponent_bits < 1 || mantissa_bits < 0 || !finish(b, fn, e, 1, 0, out)) return false;
    /* An exponent as long as the type's own cuts nothing off, subnormals neither. */
    bool whole = is_narrow_float(e) && exponent_bits >= exponent_of(e);
    out->bits[0] = whole ? 8 : exponent_bits;
    out->bits[1] = mantissa_bits;
    out->bits[2] = out->bits[3] = 0;
    int mantissa = tn_element_type_bits(e) - 1 - exponent_of(e);
    if (!is_narrow_float(e) || exponent_of(e) == 8 || mantissa_bits >= mantissa) return true;
    /* The smallest normal number, and what leaves `mantissa_bits` of one below it when added. */
    float least = (float)tn_float_from_bits(e, (uint64_t)1 << mantissa);
    float magic = ldexpf(least, 23 - mantissa_bits) * 1.5f;
    memcpy(&out->bits[2], &least, sizeof least);
    memcpy(&out->bits[3], &magic, sizeof magic);
    return true;
}

bool tn_kernel_select(tn_isa isa, bool scalar_pred, tn_element_type e, tn_kernel *out)
{
    uint8_t step = step_of(e);
    tn_kernel_fn *fn = step ? build_of(isa)->select(scalar_pred, step) : NULL;
    if (!fn) return false;
    *out = (tn_kernel){
        .run = fn, .n_operands = 3, .in_step = {scalar_pred ? 0 : 1, step, step}, .out_step = step};
    return true;
}

/* --- convert: a chain of loops with tiles between --- */

static void run_copy(const tn_kernel *k, size_t n, const void *const *in, void *out)
{
    if (n && in[0] != out) memcpy(out, in[0], n * k->out_step);
}

/* complex to complex: pairs of reals. */
static void run_pairs(const tn_kernel *k, size_t n, const void *const *in, void *out)
{
    k->stages[0](k, 2 * n, in, out);
}

static void run_chain(const tn_kernel *k, size_t n, const void *const *in, void *out)
{
    _Alignas(64) double tiles[2][TN_KERNEL_TILE];
    for (size_t at = 0; at < n; at += TN_KERNEL_TILE) {
        size_t tile = n - at < TN_KERNEL_TILE ? n - at : TN_KERNEL_TILE;
        const void *from = (const char *)in[0] + at * k->in_step[0];
        for (uint32_t s = 0; s < TN_KERNEL_STAGES && k->stages[s]; s++) {
            bool last = s + 1 == TN_KERNEL_STAGES || !k->stages[s + 1];
            void *to = last ? (char *)out + at * k->out_step : (void *)tiles[s & 1];
            k->stages[s](k, tile, &from, to);
            from = to;
        }
    }
}

bool tn_kernel_convert(tn_isa isa, tn_element_type from, tn_element_type to, tn_kernel *out)
{
    const tn_elementwise_build *b = build_of(isa);
    if (!step_of(from) || !step_of(to)) return false;
    *out = (tn_kernel){
        .run = run_copy, .n_operands = 1, .in_step = {step_of(from)}, .out_step = step_of(to)};
    if (from == to) return true;
    if (tn_is_complex(from) && tn_is_complex(to)) {
        out->run = run_pairs;
        out->stages[0] = b->convert(tn_real_type(from), tn_real_type(to));
        return true;
    }

    uint32_t n = 0;
    tn_element_type at = from; /* what the chain has come to */
    if (tn_is_complex(at)) {
        out->stages[n++] = b->real_part(at);
        at = tn_real_type(at);
    } else if (is_narrow_float(at)) {
        out->stages[n++] = b->load(at);
        at = TN_F32;
    }
    /* Their bytes hold their values. */
    if (at == TN_I2 || at == TN_I4) at = TN_I8;
    if (at == TN_U2 || at == TN_U4) at = TN_U8;

    tn_element_type goal = tn_is_complex(to) ? tn_real_type(to) : to;
    if (is_narrow_float(goal)) {
        tn_kernel_fn *odd = b->to_odd(at);
        if (odd || at != TN_F32) out->stages[n++] = odd ? odd : b->convert(at, TN_F32);
        out->stages[n++] = b->store(goal);
    } else if (at != goal) {
        bool narrow = tn_element_type_bits(goal) < 8 && goal != TN_I1;
        tn_element_type wide = tn_element_type_class(goal) == TN_CLASS_SINT ? TN_I8 : TN_U8;
        if (narrow && !tn_is_float(at)) {
            if (step_of(at) > 1) out->stages[n++] = b->convert(at, wide);
            out->stages[n++] = b->wrap(goal);
        } else {
            out->stages[n++] = b->convert(at, goal);
        }
    }
    if (tn_is_complex(to)) out->stages[n++] = b->to_complex(goal);
    if (n == 1) out->run = out->stages[0];
    else if (n) out->run = run_chain;
    return true;
}
