/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader/text_parser.h"
#include "type/float_bits.h"

static tn_status *read_hex(tn_parser *p, const char *where, tn_parse_number *out)
{
    const char *start = p->at;
    out->is_hex = true;
    for (; p->at < p->end && isxdigit((unsigned char)*p->at); p->at++) {
        int c = tolower((unsigned char)*p->at);
        if (out->magnitude >> 60) return tn_parse_error(p, where, "a number of more than 64 bits");
        out->magnitude = out->magnitude * 16 + (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (p->at == start) return tn_parse_expected(p, "hexadecimal digits");
    return NULL;
}

tn_status *tn_parse_read_number(tn_parser *p, tn_parse_number *out)
{
    enum { LONGEST = 400 };
    char text[LONGEST + 1];
    *out = (tn_parse_number){0};
    char c = tn_parse_peek(p);
    const char *where = p->at;
    if (c == '-') {
        out->negative = true;
        p->at++;
    }
    const char *digits = p->at;
    if (p->at == p->end || !isdigit((unsigned char)*p->at)) {
        p->at = where;
        return tn_parse_expected(p, "a number");
    }
    if (*p->at == '0' && p->at + 1 < p->end && p->at[1] == 'x' && p->at + 2 < p->end &&
        isxdigit((unsigned char)p->at[2])) {
        p->at += 2;
        return read_hex(p, where, out);
    }
    bool overflow = false;
    for (; p->at < p->end && isdigit((unsigned char)*p->at); p->at++) {
        uint64_t d = (uint64_t)(*p->at - '0');
        overflow |= __builtin_mul_overflow(out->magnitude, 10u, &out->magnitude) ||
                    __builtin_add_overflow(out->magnitude, d, &out->magnitude);
    }
    if (p->at < p->end && *p->at == '.') {
        out->is_float = true;
        p->at++;
        while (p->at < p->end && isdigit((unsigned char)*p->at)) p->at++;
    }
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        const char *e = p->at + 1;
        if (e < p->end && (*e == '-' || *e == '+')) e++;
        if (e < p->end && isdigit((unsigned char)*e)) {
            out->is_float = true;
            while (e < p->end && isdigit((unsigned char)*e)) e++;
            p->at = e;
        }
    }
    if (!out->is_float && overflow)
        return tn_parse_error(p, where, "an integer of more than 64 bits");
    if (p->at - digits > LONGEST)
        return tn_parse_error(p, where, "a number of more than %d characters", LONGEST);
    memcpy(text, digits, (size_t)(p->at - digits));
    text[p->at - digits] = 0;
    out->real = strtod(text, NULL);
    if (out->negative) out->real = -out->real;
    return NULL;
}

tn_status *tn_parse_int(tn_parser *p, int64_t *out)
{
    tn_parse_number v;
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_read_number(p, &v));
    if (v.is_float) return tn_parse_error(p, where, "expected an integer, found a float");
    if (v.magnitude > (uint64_t)INT64_MAX + v.negative)
        return tn_parse_error(p, where, "an integer of more than 64 bits");
    *out = (int64_t)(v.negative ? 0 - v.magnitude : v.magnitude);
    return NULL;
}

tn_status *tn_parse_ints(tn_parser *p, const tn_attr **out)
{
    uint32_t n = 0, capacity = 0;
    int64_t *v = NULL;
    TN_TRY(tn_parse_expect(p, "["));
    while (!tn_parse_accept(p, "]")) {
        if (n) TN_TRY(tn_parse_expect(p, ","));
        if (n == capacity) {
            capacity = capacity ? capacity * 2 : 8;
            int64_t *larger = TN_NEW_ARRAY(p->arena, int64_t, capacity);
            if (n) memcpy(larger, v, n * sizeof *v);
            v = larger;
        }
        TN_TRY(tn_parse_int(p, &v[n++]));
    }
    *out = tn_parse_ints_node(p, v, n, 1);
    return NULL;
}

/* --- floats --- */

/* Positive floats of any type are in the order of their bits, so the nearest is searched for. */
uint64_t tn_parse_float_bits(tn_element_type e, double v)
{
    uint64_t bits;
    unsigned width = tn_element_type_bits(e);
    if (e == TN_F64) {
        memcpy(&bits, &v, sizeof bits);
        return bits;
    }
    if (e == TN_F32) {
        float f = (float)v;
        uint32_t small;
        memcpy(&small, &f, sizeof small);
        return small;
    }
    bool has_sign = e != TN_F8E8M0FNU;
    uint64_t top = (UINT64_C(1) << (has_sign ? width - 1 : width)) - 1, low = 0, high = top;
    double size = fabs(v);
    /* The largest finite value that is no larger. */
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        double x = tn_float_from_bits(e, middle);
        if (isfinite(x) && x <= size) low = middle;
        else high = middle - 1;
    }
    double below = tn_float_from_bits(e, low);
    double above = low < top ? tn_float_from_bits(e, low + 1) : below;
    /* Beyond the largest is infinity, or NaN, as far as half a step. */
    if (!isfinite(above)) above = low ? below + (below - tn_float_from_bits(e, low - 1)) : below;
    if (size > below && low < top &&
        (size - below > above - size || (size - below == above - size && (low & 1))))
        low++;
    /* Types with one zero have NaN in the place of the other. */
    bool one_zero = e == TN_F8E5M2FNUZ || e == TN_F8E4M3FNUZ || e == TN_F8E4M3B11FNUZ;
    if (signbit(v) && has_sign && !(one_zero && !low)) low |= UINT64_C(1) << (width - 1);
    return low;
}

/* --- elements --- */

static tn_status *store(tn_parser *p, const char *where, tn_element_type e,
                        const tn_parse_number *v, void *out)
{
    unsigned width = tn_element_type_bits(e), bytes = tn_element_type_bytes(e);
    uint64_t bits, top = width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;
    tn_element_class class = tn_element_type_class(e);
    if (class == TN_CLASS_FLOAT) {
        if (v->is_hex && (v->negative || v->magnitude > top))
            return tn_parse_error(p, where, "bits that do not fit %s", tn_element_type_text(e));
        bits = v->is_hex ? v->magnitude : tn_parse_float_bits(e, v->real);
    } else {
        if (v->is_float)
            return tn_parse_error(p, where, "expected an element of type %s, found a float",
                                  tn_element_type_text(e));
        bool fits = v->magnitude <= top;
        if (v->negative)
            fits = !v->magnitude ||
                   (class == TN_CLASS_SINT && v->magnitude <= UINT64_C(1) << (width - 1));
        if (!fits)
            return tn_parse_error(p, where, "%s%" PRIu64 " does not fit %s", v->negative ? "-" : "",
                                  v->magnitude, tn_element_type_text(e));
        bits = v->negative ? 0 - v->magnitude : v->magnitude;
        if (class == TN_CLASS_SINT && width < 64) {
            uint64_t sign = UINT64_C(1) << (width - 1);
            bits = ((bits & top) ^ sign) - sign;
        }
    }
    memcpy(out, &bits, bytes);
    return NULL;
}

tn_status *tn_parse_element(tn_parser *p, tn_element_type e, void *out)
{
    tn_parse_number v;
    char c = tn_parse_peek(p);
    const char *where = p->at;
    if (tn_is_complex(e)) {
        tn_element_type part = tn_real_type(e);
        TN_TRY(tn_parse_expect(p, "("));
        TN_TRY(tn_parse_element(p, part, out));
        TN_TRY(tn_parse_expect(p, ","));
        TN_TRY(tn_parse_element(p, part, (char *)out + tn_element_type_bytes(part)));
        return tn_parse_expect(p, ")");
    }
    if (e == TN_I1 && (c == 't' || c == 'f')) {
        bool yes = tn_parse_accept(p, "true");
        if (!yes) TN_TRY(tn_parse_expect(p, "false"));
        *(uint8_t *)out = yes;
        return NULL;
    }
    TN_TRY(tn_parse_read_number(p, &v));
    return store(p, where, e, &v, out);
}
