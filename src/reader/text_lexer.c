/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/text_parser.h"

/* --- errors --- */

void tn_parse_place(const char *begin, const char *at, size_t *line, size_t *column)
{
    *line = 1;
    const char *start = begin;
    for (const char *c = begin; c < at; c++) {
        if (*c != '\n') continue;
        ++*line;
        start = c + 1;
    }
    *column = (size_t)(at - start) + 1;
}

static tn_status *make_error(tn_code code, tn_parser *p, const char *where, const char *fmt,
                             va_list args)
{
    char text[512];
    size_t line, column;
    vsnprintf(text, sizeof text, fmt, args);
    if (p->is_binary)
        return tn_status_make(code, __FILE__, __LINE__, "bytecode, byte %zu: %s",
                              (size_t)(where - p->begin), text);
    tn_parse_place(p->begin, where, &line, &column);
    return tn_status_make(code, __FILE__, __LINE__, "%zu:%zu: %s", line, column, text);
}

tn_status *tn_parse_error(tn_parser *p, const char *where, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tn_status *s = make_error(TN_INVALID_ARGUMENT, p, where, fmt, args);
    va_end(args);
    return s;
}

tn_status *tn_parse_unsupported(tn_parser *p, const char *where, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tn_status *s = make_error(TN_UNIMPLEMENTED, p, where, fmt, args);
    va_end(args);
    return s;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.';
}

tn_status *tn_parse_expected(tn_parser *p, const char *what)
{
    char found[48];
    size_t n = 0;
    if (!tn_parse_peek(p)) return tn_parse_error(p, p->at, "expected %s, found the end", what);
    while (p->at + n < p->end && n < sizeof found - 1 && (in_word(p->at[n]) || !n)) {
        unsigned char c = (unsigned char)p->at[n];
        found[n++] = c < 32 || c > 126 ? '?' : (char)c;
    }
    found[n] = 0;
    return tn_parse_error(p, p->at, "expected %s, found '%s'", what, found);
}

tn_status *tn_parse_enter(tn_parser *p)
{
    if (p->depth >= TN_PARSE_DEPTH)
        return tn_parse_error(p, p->at, "nested more than %d deep", TN_PARSE_DEPTH);
    p->depth++;
    return NULL;
}

/* --- white space and words --- */

static void skip_blank(tn_parser *p)
{
    while (p->at < p->end) {
        char c = *p->at;
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            p->at++;
        } else if (c == '/' && p->at + 1 < p->end && p->at[1] == '/') {
            const char *line = memchr(p->at, '\n', (size_t)(p->end - p->at));
            p->at = line ? line : p->end;
        } else {
            return;
        }
    }
}

char tn_parse_peek(tn_parser *p)
{
    skip_blank(p);
    return p->at < p->end ? *p->at : 0;
}

bool tn_parse_accept(tn_parser *p, const char *text)
{
    size_t n = strlen(text);
    skip_blank(p);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n)) return false;
    bool ends = p->at + n == p->end || !in_word(p->at[n]);
    if (in_word(text[n - 1]) && !ends) return false;
    p->at += n;
    return true;
}

tn_status *tn_parse_expect(tn_parser *p, const char *text)
{
    char what[48];
    if (tn_parse_accept(p, text)) return NULL;
    snprintf(what, sizeof what, "'%s'", text);
    return tn_parse_expected(p, what);
}

bool tn_parse_word(tn_parser *p, const char **s, size_t *n)
{
    char c = tn_parse_peek(p);
    if (!isalpha((unsigned char)c) && c != '_') return false;
    *s = p->at;
    while (p->at < p->end && in_word(*p->at)) p->at++;
    *n = (size_t)(p->at - *s);
    return true;
}

bool tn_parse_suffix(tn_parser *p, const char **s, size_t *n)
{
    *s = p->at;
    while (p->at < p->end && (in_word(*p->at) || *p->at == '-')) {
        /* The arrow of `#x->` is no part of the name. */
        if (*p->at == '-' && p->at + 1 < p->end && p->at[1] == '>') break;
        p->at++;
    }
    *n = (size_t)(p->at - *s);
    return *n != 0;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Behind the closing quote of the string that comes next. */
static tn_status *skip_string(tn_parser *p)
{
    const char *where = p->at++;
    for (; p->at < p->end && *p->at != '"' && *p->at != '\n'; p->at++)
        if (*p->at == '\\' && p->at + 1 < p->end) p->at++;
    if (p->at >= p->end || *p->at != '"')
        return tn_parse_error(p, where, "a string without its end");
    p->at++;
    return NULL;
}

tn_status *tn_parse_string(tn_parser *p, const char **s, size_t *n)
{
    if (tn_parse_peek(p) != '"') return tn_parse_expected(p, "a string");
    const char *start = p->at + 1;
    TN_TRY(skip_string(p));
    const char *end = p->at - 1;
    char *out = tn_alloc(p->arena, (size_t)(end - start) + 1);
    size_t size = 0;
    for (const char *c = start; c < end; c++) {
        if (*c != '\\') {
            out[size++] = *c;
            continue;
        }
        c++;
        int high = digit(*c), low = c + 1 < end ? digit(c[1]) : -1;
        if (*c == '"' || *c == '\\') {
            out[size++] = *c;
        } else if (*c == 'n' || *c == 't') {
            out[size++] = *c == 'n' ? '\n' : '\t';
        } else if (high >= 0 && low >= 0) {
            out[size++] = (char)(high * 16 + low);
            c++;
        } else {
            return tn_parse_error(p, c - 1, "an unknown escape in a string");
        }
    }
    *s = out;
    *n = size;
    return NULL;
}

tn_status *tn_parse_word_or_string(tn_parser *p, const char *what, const char **s)
{
    const char *where, *text;
    size_t n;
    bool string = tn_parse_peek(p) == '"';
    where = p->at;
    if (string) TN_TRY(tn_parse_string(p, &text, &n));
    else if (tn_parse_word(p, &text, &n)) text = tn_strndup(p->arena, text, n);
    else return tn_parse_expected(p, what);
    if (strlen(text) != n) return tn_parse_error(p, where, "a zero in %s", what);
    *s = text;
    return NULL;
}

tn_status *tn_parse_symbol(tn_parser *p, const char **s)
{
    const char *text;
    size_t n;
    if (tn_parse_peek(p) != '@') return tn_parse_expected(p, "a symbol");
    p->at++;
    if (p->at < p->end && *p->at == '"') return tn_parse_word_or_string(p, "a symbol", s);
    if (!tn_parse_suffix(p, &text, &n)) return tn_parse_expected(p, "the name of a symbol");
    *s = tn_strndup(p->arena, text, n);
    return NULL;
}

bool tn_parse_is(const char *s, size_t n, const char *text)
{
    return strlen(text) == n && !memcmp(s, text, n);
}

/* --- what is stepped over --- */

tn_status *tn_parse_skip_brackets(tn_parser *p)
{
    const char *where = p->at;
    size_t open = 0;
    do {
        char c = tn_parse_peek(p);
        if (!c) return tn_parse_error(p, where, "a bracket that is not closed");
        if (c == '"') {
            TN_TRY(skip_string(p));
            continue;
        }
        bool arrow = c == '-' && p->at + 1 < p->end && p->at[1] == '>';
        p->at += arrow ? 2 : 1;
        if (strchr("([{<", c)) open++;
        else if (strchr(")]}>", c)) open--;
    } while (open);
    return NULL;
}

tn_status *tn_parse_skip_location(tn_parser *p)
{
    const char *before = p->at;
    if (!tn_parse_accept(p, "loc")) return NULL;
    if (tn_parse_peek(p) == '(') return tn_parse_skip_brackets(p);
    p->at = before;
    return NULL;
}

/* --- names --- */

static uint32_t hash(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++) h = (h ^ (uint8_t)s[i]) * 16777619u;
    return h ^ h >> 15;
}

const tn_parse_name *tn_parse_names_find(const tn_parse_names *names, const char *s, size_t n)
{
    if (!names->n_buckets) return NULL;
    uint32_t h = hash(s, n);
    for (const tn_parse_name *x = names->buckets[h & (names->n_buckets - 1)]; x; x = x->next)
        if (x->hash == h && x->size == n && !memcmp(x->text, s, n)) return x;
    return NULL;
}

void tn_parse_names_add(tn_parser *p, tn_parse_names *names, const char *s, size_t n,
                        const void *data, uint32_t count)
{
    if (names->n >= names->n_buckets) {
        names->n_buckets = names->n_buckets ? names->n_buckets * 2 : 64;
        names->buckets = TN_NEW_ARRAY(p->arena, tn_parse_name *, names->n_buckets);
        for (tn_parse_name *x = names->last; x; x = x->before) {
            tn_parse_name **bucket = &names->buckets[x->hash & (names->n_buckets - 1)];
            x->next = *bucket;
            *bucket = x;
        }
    }
    tn_parse_name *x = TN_NEW(p->arena, tn_parse_name);
    *x = (tn_parse_name){NULL, names->last, s, n, data, hash(s, n), count};
    tn_parse_name **bucket = &names->buckets[x->hash & (names->n_buckets - 1)];
    x->next = *bucket;
    *bucket = names->last = x;
    names->n++;
}

void tn_parse_names_cut(tn_parse_names *names, const tn_parse_name *last)
{
    while (names->last != last) {
        tn_parse_name *x = names->last, **at = &names->buckets[x->hash & (names->n_buckets - 1)];
        while (*at != x) at = &(*at)->next;
        *at = x->next;
        names->last = x->before;
        names->n--;
    }
}

void tn_parse_push(tn_parser *p, tn_parse_list *list, const void *item)
{
    if (list->n == list->capacity) {
        uint32_t capacity = list->capacity ? list->capacity * 2 : 4;
        const void **items = TN_NEW_ARRAY(p->arena, const void *, capacity);
        if (list->n) memcpy(items, list->items, list->n * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = item;
}
