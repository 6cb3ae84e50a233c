/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_rows.h - the rows of ops.def as loops over one type. Included once for each type, so
 * it has no guard. The includer defines
 *   S       suffix, as in tn_exp_<S>
 *   T, U    the type and the unsigned type of its width
 *   COLUMN  the column of the row that holds its expression
 *   REAL    type of its parts, COMPLEX type made of it, where that is not T
 *   WRAP    what extends a T again after an op, where that is needed
 * and gets find_<S>(op): the op's loop, NULL where the row says NO. All of them are undefined
 * here. */
#ifndef REAL
#define REAL T
#endif
#ifndef COMPLEX
#define COMPLEX T
#endif
#ifndef WRAP
#define WRAP
#endif

/* The result's type, by the name of the row's inference. */
#define R_same         T
#define R_same_inexact T
#define R_same_float   T
#define R_same_integer T
#define R_same_bits    T
#define R_same_number  T
#define R_same_signed  T
#define R_same_real    T
#define R_abs          REAL
#define R_real_part    REAL
#define R_is_finite    uint8_t
#define R_complex      COMPLEX

#define LOOP(name)             TN_CAT(TN_CAT(name, _loop_), S)
#define FIND                   TN_CAT(find_, S)
#define F(function)            TN_CAT(TN_CAT(tn_, function), TN_CAT(_, S))
#define IF_DEFINED(e, yes, no) _Generic((e), tn_undefined *: (no), default: (yes))
#define LOAD_1                                                                                     \
    T a = pa[i];                                                                                   \
    (void)a;
#define LOAD_2                                                                                     \
    LOAD_1                                                                                         \
    T b = pb[i];                                                                                   \
    (void)b;

#define TN_OP(...)
#define TN_ELEMENTWISE(name, text, operands, attrs, traits, infer, i1, sint, uint, real, complex)  \
    __attribute__((unused)) static void LOOP(name)(const tn_kernel *k, size_t n,                   \
                                                   const void *const *in, void *out)               \
    {                                                                                              \
        typedef R_##infer R;                                                                       \
        const T *pa = in[0], *pb = operands > 1 ? in[1] : NULL;                                    \
        R *to = out;                                                                               \
        (void)pb;                                                                                  \
        TN_INDEPENDENT                                                                             \
        for (size_t i = 0; i < n; i++) {                                                           \
            LOAD_##operands to[i] =                                                                \
                WRAP((R)IF_DEFINED((COLUMN(i1, sint, uint, real, complex)),                        \
                                   (COLUMN(i1, sint, uint, real, complex)), 0));                   \
        }                                                                                          \
    }
#include "ir/ops.def"
#undef TN_OP

#define TN_OP(...)
#define TN_ELEMENTWISE(name, text, operands, attrs, traits, infer, i1, sint, uint, real, complex)  \
    case TN_OP_##name:                                                                             \
        return IF_DEFINED((COLUMN(i1, sint, uint, real, complex)), LOOP(name), (tn_kernel_fn *)0);
static tn_kernel_fn *FIND(tn_op_kind op)
{
    T a = 0, b = 0;
    (void)a;
    (void)b;
    switch (op) {
#include "ir/ops.def"
    default: return NULL;
    }
}
#undef TN_OP

#undef R_same
#undef R_same_inexact
#undef R_same_float
#undef R_same_integer
#undef R_same_bits
#undef R_same_number
#undef R_same_signed
#undef R_same_real
#undef R_abs
#undef R_real_part
#undef R_is_finite
#undef R_complex
#undef LOOP
#undef FIND
#undef F
#undef IF_DEFINED
#undef LOAD_1
#undef LOAD_2
#undef S
#undef T
#undef U
#undef REAL
#undef COMPLEX
#undef COLUMN
#undef WRAP
