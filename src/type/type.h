/* SPDX-License-Identifier: Apache-2.0 */
/* type.h - element types, IR types, and the dense tensors that evaluators work on.
 * Threads: all of it is plain data; a tn_type is immutable once made. */
#ifndef TN_TYPE_TYPE_H
#define TN_TYPE_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "tenon/status.h"

typedef enum {
#define X(name, text, code, class, bits, bytes) TN_##name = code,
#include "type/element_type.def"
#undef X
    TN_ELEMENT_TYPE_COUNT
} tn_element_type;

typedef enum {
    TN_CLASS_NONE,
    TN_CLASS_BOOL,
    TN_CLASS_SINT,
    TN_CLASS_UINT,
    TN_CLASS_FLOAT,
    TN_CLASS_COMPLEX
} tn_element_class;

const char *tn_element_type_text(tn_element_type e); /* "f32"; unknown values: "none" */
tn_element_class tn_element_type_class(tn_element_type e);
unsigned tn_element_type_bits(tn_element_type e);
unsigned tn_element_type_bytes(tn_element_type e); /* in memory: at least 1 but for tokens */
/* The element type spelled `text` (of `size` bytes), or TN_INVALID. */
tn_element_type tn_element_type_parse(const char *text, size_t size);

static inline bool tn_is_integer(tn_element_type e)
{
    tn_element_class c = tn_element_type_class(e);
    return c == TN_CLASS_SINT || c == TN_CLASS_UINT;
}
static inline bool tn_is_float(tn_element_type e)
{
    return tn_element_type_class(e) == TN_CLASS_FLOAT;
}
static inline bool tn_is_complex(tn_element_type e)
{
    return tn_element_type_class(e) == TN_CLASS_COMPLEX;
}
/* f32 for complex<f32>, f64 for complex<f64>, else the type itself. */
tn_element_type tn_real_type(tn_element_type e);

/* A dimension whose size is not known at compile time. */
#define TN_DYNAMIC INT64_MIN

typedef enum {
    TN_TYPE_TENSOR,
    TN_TYPE_TOKEN,
    TN_TYPE_TUPLE,
    TN_TYPE_FUNCTION,
    TN_TYPE_FUTURE, /* of the types in parts */
    TN_TYPE_UNRANKED,
    TN_TYPE_NONE
} tn_type_kind;

/* Quantization of a tensor type: real = (stored - zero_point) * scale. */
typedef struct {
    tn_element_type storage, expressed;
    int64_t min, max;
    int64_t axis; /* -1: one scale for the tensor */
    uint32_t n;   /* number of scales and zero points; 1 when axis is -1 */
    const double *scales;
    const int64_t *zero_points;
} tn_quantization;

typedef struct tn_type tn_type;
struct tn_type {
    tn_type_kind kind;
    tn_element_type element; /* tensors; the storage type of quantized ones; TN_TOKEN for tokens */
    uint32_t rank;
    const int64_t *dims;   /* [rank], each >= 0 or TN_DYNAMIC */
    const int64_t *bounds; /* [rank] or NULL: upper bounds, TN_DYNAMIC where there is none */
    const tn_quantization *quantization; /* NULL: not quantized */
    /* How the text spells it where that says more than the type: "tf32" for an f32 that is asked
     * for as the precision of a dot, "memref" for a tensor that is a buffer. Else NULL. */
    const char *alias;
    uint32_t n_parts,
        n_inputs; /* tuple, future: parts; function: n_inputs inputs, then the results */
    const tn_type *const *parts;
};

const tn_type *tn_type_tensor(tn_arena *a, tn_element_type e, uint32_t rank, const int64_t *dims);
const tn_type *tn_type_token(void);
bool tn_type_equal(const tn_type *x, const tn_type *y);
/* Same dims and kind; element types may differ. */
bool tn_type_same_shape(const tn_type *x, const tn_type *y);
bool tn_type_is_static(const tn_type *t);
/* Prints as StableHLO does, "tensor<2x?xf32>"; the text lives in `a`. */
const char *tn_type_text(tn_arena *a, const tn_type *t);
/* The same into a buffer, cut short if it does not fit; returns buf. */
char *tn_type_format(const tn_type *t, char *buf, size_t size);

/* Elements of a static tensor (1 for rank 0; token: 0). The reader refuses types whose element or
 * byte count does not fit in int64_t, so these can't overflow. */
int64_t tn_type_elements(const tn_type *t);
size_t tn_type_bytes(const tn_type *t);

/* A dense, row-major tensor in memory that somebody else owns; data is aligned to 64 bytes, or NULL
 * if empty. */
typedef struct {
    void *data;
    const tn_type *type;
} tn_tensor;

#endif
