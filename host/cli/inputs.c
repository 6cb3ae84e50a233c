/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of a program: from files, or made up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/cli.h"
#include "tenon/program.h"

static tn_status *read_input(const char *text, tn_array *out)
{
    PJRT_Buffer_Type as = PJRT_Buffer_Type_INVALID;
    const char *colon = strchr(text, ':');
    char name[32];
    if (colon && (size_t)(colon - text) < sizeof name) {
        snprintf(name, sizeof name, "%.*s", (int)(colon - text), text);
        as = tn_element_from_name(name);
        if (as != PJRT_Buffer_Type_INVALID) text = colon + 1;
    }
    return tn_npy_read(text, as, out);
}

typedef struct {
    tn_array *at;
    size_t n;
    uint32_t state;
    tn_status *error;
} maker;

static uint32_t next(maker *m)
{
    m->state = m->state * 1664525u + 1013904223u;
    return m->state >> 8;
}

static void fill(maker *m, tn_array *a)
{
    size_t width = tn_element_size(a->type), n = width ? a->size / width : 0;
    for (size_t i = 0; i < n; i++) {
        char *at = (char *)a->data + i * width;
        float f = (float)(next(m) % 4096) / 1024 - 2, g = (float)(next(m) % 4096) / 1024 - 2;
        double d = (double)f, e = (double)g;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        switch (a->type) {
        case PJRT_Buffer_Type_F32: memcpy(at, &f, 4); break;
        case PJRT_Buffer_Type_F64: memcpy(at, &d, 8); break;
        case PJRT_Buffer_Type_C64:
            memcpy(at, &f, 4);
            memcpy(at + 4, &g, 4);
            break;
        case PJRT_Buffer_Type_C128:
            memcpy(at, &d, 8);
            memcpy(at + 8, &e, 8);
            break;
        case PJRT_Buffer_Type_BF16:
            bits >>= 16;
            memcpy(at, &bits, 2);
            break;
        case PJRT_Buffer_Type_F16: /* +-1 .. 2, by the mantissa */
            bits = 0x3C00 | (next(m) & 0x83FF);
            memcpy(at, &bits, 2);
            break;
        case PJRT_Buffer_Type_PRED: *at = (char)(next(m) & 1); break;
        default:
            *at = (char)(width == 1 && a->type >= PJRT_Buffer_Type_S4 ? next(m) & 1 : next(m) & 7);
        }
    }
}

static void make(void *user, int type, size_t rank, const int64_t *dims)
{
    maker *m = user;
    if (m->error) return;
    for (size_t i = 0; i < rank; i++)
        if (dims[i] < 0) type = 0;
    if (!type || !tn_element_size((PJRT_Buffer_Type)type)) {
        m->error =
            TN_ERROR(INVALID_ARGUMENT,
                     "parameter %zu has no fixed shape and type: give inputs with --input", m->n);
        return;
    }
    tn_array *more = realloc(m->at, (m->n + 1) * sizeof *more);
    if (!more) {
        m->error = TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    m->at = more;
    m->error = tn_array_make((PJRT_Buffer_Type)type, rank, dims, &m->at[m->n]);
    if (!m->error) fill(m, &m->at[m->n++]);
}

void tn_cli_free_inputs(tn_array *at, size_t n)
{
    for (size_t i = 0; at && i < n; i++) tn_array_free(&at[i]);
    free(at);
}

tn_status *tn_cli_inputs(const char *const *files, size_t n_files, const void *code, size_t size,
                         unsigned seed, tn_array **out, size_t *n)
{
    maker m = {.state = seed * 2654435761u + 1};
    if (n_files) {
        m.at = calloc(n_files, sizeof *m.at);
        if (!m.at) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
        for (; m.n < n_files && !m.error; m.n++) m.error = read_input(files[m.n], &m.at[m.n]);
    } else {
        tn_status *s = tn_program_parameters(code, size, make, &m);
        if (s) tn_status_free(m.error);
        if (s) m.error = s;
    }
    if (m.error) {
        tn_cli_free_inputs(m.at, m.n);
        return m.error;
    }
    *out = m.at;
    *n = m.n;
    return NULL;
}
