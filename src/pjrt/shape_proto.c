/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proto.h"
#include "pjrt/shape.h"

/* xla's PrimitiveType of each element type; the numbers are those of xla_data.proto. */
static const uint8_t primitive_types[TN_ELEMENT_TYPE_COUNT] = {
    [TN_I1] = 1,          [TN_I8] = 2,          [TN_I16] = 3,
    [TN_I32] = 4,         [TN_I64] = 5,         [TN_U8] = 6,
    [TN_U16] = 7,         [TN_U32] = 8,         [TN_U64] = 9,
    [TN_F16] = 10,        [TN_F32] = 11,        [TN_F64] = 12,
    [TN_C64] = 15,        [TN_BF16] = 16,       [TN_TOKEN] = 17,
    [TN_C128] = 18,       [TN_F8E5M2] = 19,     [TN_F8E4M3FN] = 20,
    [TN_I4] = 21,         [TN_U4] = 22,         [TN_F8E4M3B11FNUZ] = 23,
    [TN_F8E5M2FNUZ] = 24, [TN_F8E4M3FNUZ] = 25, [TN_I2] = 26,
    [TN_U2] = 27,         [TN_F8E4M3] = 28,     [TN_F8E3M4] = 29,
    [TN_F4E2M1FN] = 32,   [TN_F8E8M0FNU] = 33,  [TN_F6E3M2FN] = 35,
    [TN_F6E2M3FN] = 36,
};

tn_status *tn_pjrt_shape_proto(const tn_type *type, void **data, size_t *size)
{
    tn_proto_writer w = {0};
    tn_proto_put_int64(&w, 2, primitive_types[type->element]); /* element_type */
    if (type->element == TN_TOKEN) return tn_proto_finish(&w, data, size);

    tn_proto_put_packed(&w, 3, type->dims, type->rank); /* dimensions */
    size_t layout = tn_proto_begin(&w, 5);
    if (type->rank) {
        size_t order = tn_proto_begin(&w, 1); /* minor_to_major */
        for (uint32_t i = type->rank; i-- > 0;) tn_proto_put_varint(&w, i);
        tn_proto_end(&w, order);
    }
    tn_proto_put_int64(&w, 16, 1); /* tail_padding_alignment_in_elements */
    tn_proto_end(&w, layout);
    if (type->rank) {
        size_t dynamic = tn_proto_begin(&w, 6); /* is_dynamic_dimension: none is */
        for (uint32_t i = 0; i < type->rank; i++) tn_proto_put_varint(&w, 0);
        tn_proto_end(&w, dynamic);
    }
    return tn_proto_finish(&w, data, size);
}
