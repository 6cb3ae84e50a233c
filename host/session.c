/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "tenon/session.h"

static const char magic[8] = "TENONSES";
enum { VERSION = 1 };

const char *tn_session_kind_name(uint32_t kind)
{
    static const char *const names[] = {"?",      "CLIENT", "END",    "COMPILE", "LOAD",
                                        "UNLOAD", "PUT",    "ERROR",  "RUN",     "RUN_END",
                                        "GET",    "COPY",   "DELETE", "DROP"};
    return kind < sizeof names / sizeof *names ? names[kind] : "?";
}

/* --- writing --- */

static void put32(FILE *f, uint32_t v)
{
    fwrite(&v, 1, sizeof v, f);
}
static void put64(FILE *f, uint64_t v)
{
    fwrite(&v, 1, sizeof v, f);
}
static void put_bytes(FILE *f, const void *at, size_t size)
{
    put64(f, size);
    if (size) fwrite(at, 1, size, f);
}

tn_status *tn_session_begin(const char *path, FILE **out)
{
    *out = fopen(path, "wb");
    if (!*out) return TN_ERROR(NOT_FOUND, "%s can't be written", path);
    fwrite(magic, 1, sizeof magic, *out);
    put32(*out, VERSION);
    return NULL;
}

void tn_session_write(FILE *f, const tn_session_call *c)
{
    put32(f, c->kind);
    put32(f, c->code);
    put64(f, c->subject);
    put64(f, c->made);
    put64(f, (uint64_t)c->a);
    put64(f, (uint64_t)c->b);
    put_bytes(f, c->ids, c->n_ids * sizeof *c->ids);
    put_bytes(f, c->numbers, c->n_numbers * sizeof *c->numbers);
    put_bytes(f, c->text.at, c->text.size);
    put_bytes(f, c->data.at, c->data.size);
    put_bytes(f, c->more.at, c->more.size);
}

/* --- reading --- */

typedef struct {
    FILE *f;
    bool ended; /* the file has no more */
} reader;

static bool take(reader *r, void *to, size_t size)
{
    if (!r->ended && size && fread(to, 1, size, r->f) != size) r->ended = true;
    return !r->ended;
}

/* A block is read in steps, so that a wrong size takes no memory that the file does not fill. */
static tn_status *take_bytes(reader *r, size_t unit, void **at, size_t *size)
{
    enum { STEP = 1 << 22 };
    uint64_t n = 0;
    *at = NULL;
    *size = 0;
    if (!take(r, &n, sizeof n)) return NULL;
    if (n % unit) return TN_ERROR(INVALID_ARGUMENT, "a list of %llu bytes", (unsigned long long)n);
    while (*size < n && !r->ended) {
        size_t step = n - *size < STEP ? (size_t)(n - *size) : STEP;
        char *more = realloc(*at, *size + step);
        if (!more) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
        *at = more;
        if (take(r, more + *size, step)) *size += step;
    }
    return NULL;
}

static void free_call(tn_session_call *c)
{
    free(c->ids);
    free(c->numbers);
    free(c->text.at);
    free(c->data.at);
    free(c->more.at);
}

static tn_status *read_call(reader *r, tn_session_call *c)
{
    *c = (tn_session_call){0};
    size_t ids, numbers;
    if (!take(r, &c->kind, 4)) return NULL;
    if (c->kind < TN_SESSION_CLIENT || c->kind > TN_SESSION_DROP)
        return TN_ERROR(INVALID_ARGUMENT, "there is no call of kind %u", c->kind);
    take(r, &c->code, 4);
    take(r, &c->subject, 8);
    take(r, &c->made, 8);
    take(r, &c->a, 8);
    take(r, &c->b, 8);
    TN_TRY(take_bytes(r, sizeof *c->ids, (void **)&c->ids, &ids));
    TN_TRY(take_bytes(r, sizeof *c->numbers, (void **)&c->numbers, &numbers));
    c->n_ids = ids / sizeof *c->ids;
    c->n_numbers = numbers / sizeof *c->numbers;
    TN_TRY(take_bytes(r, 1, &c->text.at, &c->text.size));
    TN_TRY(take_bytes(r, 1, &c->data.at, &c->data.size));
    TN_TRY(take_bytes(r, 1, &c->more.at, &c->more.size));
    uint64_t per_device;
    if (c->kind == TN_SESSION_RUN && !r->ended &&
        (c->a < 0 || c->b < 0 ||
         __builtin_mul_overflow((uint64_t)c->a, (uint64_t)c->b, &per_device) ||
         per_device > c->n_ids || (c->a && (c->n_ids - per_device) % (uint64_t)c->a)))
        return TN_ERROR(INVALID_ARGUMENT, "a run on %lld devices with %lld arguments and %zu ids",
                        (long long)c->a, (long long)c->b, c->n_ids);
    return NULL;
}

static tn_status *read_all(reader *r, tn_session *out)
{
    for (;;) {
        if (out->n == out->room) {
            size_t room = out->room ? 2 * out->room : 64;
            tn_session_call *more = realloc(out->calls, room * sizeof *more);
            if (!more) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
            out->calls = more;
            out->room = room;
        }
        tn_status *s = read_call(r, &out->calls[out->n]);
        if (s || r->ended) {
            free_call(&out->calls[out->n]);
            return s;
        }
        out->n++;
    }
}

tn_status *tn_session_read(const char *path, tn_session *out)
{
    *out = (tn_session){0};
    reader r = {.f = fopen(path, "rb")};
    if (!r.f) return TN_ERROR(NOT_FOUND, "%s can't be read", path);
    char head[sizeof magic];
    uint32_t version = 0;
    tn_status *s = NULL;
    if (!take(&r, head, sizeof head) || memcmp(head, magic, sizeof head) || !take(&r, &version, 4))
        s = TN_ERROR(INVALID_ARGUMENT, "%s is no recorded session", path);
    else if (version != VERSION)
        s = TN_ERROR(INVALID_ARGUMENT, "%s has version %u, this program reads %d", path, version,
                     VERSION);
    if (!s) s = read_all(&r, out);
    fclose(r.f);
    if (s) tn_session_free(out);
    return s;
}

void tn_session_free(tn_session *s)
{
    for (size_t i = 0; i < s->n; i++) free_call(&s->calls[i]);
    free(s->calls);
    *s = (tn_session){0};
}
