/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy [--samples N] [--seed S] [--only NAME] [--exhaustive] [--check FILE | --write FILE]
 *
 * Measures the elementary functions, as the kernels compute them, against the C library's functions
 * of 113 bits: the largest error in units of the last place that the true value has in the type,
 * of complex numbers in each part by itself. f16 and bf16 go through all their values;
 * --exhaustive takes all values of f32 too. --check compares with the table in FILE: nothing may be
 * worse, but for 5 % and 0.01 ulp. --write puts what was measured into it. */
#include "test/accuracy/accuracy.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_features.h"
#include "kernels/elementwise.h"

/* The table is x86's. What other architectures' C libraries give (hypot) is a little less exact. */
#ifdef __x86_64__
#define SLACK 1.05
#else
#define SLACK 1.10
#endif

static uint64_t state = 1;

static uint64_t random_bits(void)
{
    state += 0x9E3779B97F4A7C15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* --- inputs --- */

static double unit(void)
{
    return (double)(int64_t)random_bits() * 0x1p-63;
}

/* A value of the sizes at which functions bend, near one of their special points, or any. */
static double sample(bool single, double widest)
{
    static const double sizes[] = {1e-8, 1e-3, 0.1, 0.5, 1, 2, 5, 20, 90, 110, 700, 750};
    static const double points[] = {0,
                                    1,
                                    -1,
                                    0.5,
                                    -0.5,
                                    2,
                                    0.34657359027997264,
                                    0.6931471805599453,
                                    -0.6931471805599453,
                                    88.72283905206835,
                                    -87.33654475055310,
                                    -103.972077083991796,
                                    709.782712893384,
                                    -708.3964185322641,
                                    -745.1332191019411,
                                    9.0,
                                    18.7,
                                    -0.29,
                                    0.414};
    uint64_t r = random_bits();
    double v;
    switch (r % 8) {
    case 0:
    case 1: v = unit() * sizes[(r >> 8) % 12]; break;
    case 2: { /* beside a special point */
        v = points[(r >> 8) % (sizeof points / sizeof *points)];
        v += v * (double)((int64_t)(r >> 20 & 0xFF) - 128) * (single ? 0x1p-23 : 0x1p-52) +
             (one_in_two(r >> 40) ? unit() * 1e-4 : 0);
        break;
    }
    case 3: /* beside a multiple of pi / 2 */
        v = (double)(int64_t)(random_bits() >> (34 + (r >> 8) % 29)) * 1.5707963267948966;
        v *= 1 + (double)((int64_t)(r >> 20 & 0x1F) - 16) * (single ? 0x1p-24 : 0x1p-53);
        break;
    case 4: v = 1 + unit() * pow(2, -(double)((r >> 8) % 50)); break;
    case 5: v = ldexp(unit(), (int)((r >> 8) % 2100) - 1070); break;
    case 6: v = ldexp(unit(), (int)((r >> 8) % 280) - 150); break;
    default: {
        uint64_t bits = random_bits();
        uint32_t low = (uint32_t)bits;
        float f;
        memcpy(&f, &low, sizeof f);
        memcpy(&v, &bits, sizeof v);
        if (single) v = f;
        break;
    }
    }
    if (one_in_two(r >> 60)) v = -v;
    if (fabs(v) > widest) v = fmod(v, widest);
    if (single) v = (float)v;
    return v;
}

/* --- errors --- */

typedef struct {
    double worst;
    double at[4];
    uint64_t n;
} result;

/* Mantissa with the hidden bit, exponent of the smallest subnormal, largest exponent. */
typedef struct {
    int mantissa, least, most;
} format;

static format format_of(tn_element_type e)
{
    switch ((int)tn_real_type(e)) {
    case TN_F64: return (format){53, -1074, 1024};
    case TN_F32: return (format){24, -149, 128};
    case TN_F16: return (format){11, -24, 16};
    default: return (format){8, -133, 128}; /* bf16 */
    }
}

/* `unit`: whose last place counts. */
static double error_of(quad got, quad want, quad unit, format f)
{
    bool got_nan = got != got, want_nan = want != want;
    if (got_nan || want_nan) return got_nan && want_nan ? 0 : INFINITY;
    quad huge = scale_quad(1, f.most), size = want < 0 ? -want : want;
    quad half = scale_quad(1, f.most - f.mantissa - 1);
    if (got - got != 0) { /* inf is the value beyond the largest */
        if (size >= huge) return (got > 0) == (want > 0) ? 0 : INFINITY;
        got = got > 0 ? huge : -huge;
    }
    if (size >= huge - half) return got == huge || got == -huge ? 0 : INFINITY;
    if (unit < 0) unit = -unit;
    int e = exponent_of_quad(unit) - f.mantissa;
    if (unit == 0 || e < f.least) e = f.least;
    quad d = got - want;
    return (double)scale_quad(d < 0 ? -d : d, -e);
}

static void note(result *r, double error, const double *at, int n)
{
    r->n++;
    if (!(error > r->worst)) return;
    r->worst = error;
    memcpy(r->at, at, (size_t)n * sizeof *at);
}

enum { N = 1024 };

/* Element i of `data` of type e as doubles, and back; exact, or rounded by the kernels. */
static void widen(tn_element_type e, size_t n, const void *data, double *out)
{
    tn_kernel k;
    if (e == TN_F64 || e == TN_C128) memcpy(out, data, n * (e == TN_C128 ? 16 : 8));
    else if (tn_kernel_convert(tn_cpu_isa(), e, tn_is_complex(e) ? TN_C128 : TN_F64, &k))
        tn_kernel_run(&k, n, &data, out);
}
static void narrow(tn_element_type e, size_t n, const double *data, void *out)
{
    tn_kernel k;
    const void *from = data;
    if (e == TN_F64 || e == TN_C128) memcpy(out, data, n * (e == TN_C128 ? 16 : 8));
    else if (tn_kernel_convert(tn_cpu_isa(), tn_is_complex(e) ? TN_C128 : TN_F64, e, &k))
        tn_kernel_run(&k, n, &from, out);
}

/* Is a part of f64 so small that it was subnormal half way? Parts of f32 are computed in f64. */
static bool is_vanishing(quad part, format f)
{
    quad least = scale_quad(1, -900);
    return f.mantissa == 53 && part != 0 && part < least && part > -least;
}

/* Runs one block whose operands stand in in[0] and in[1]. */
static void measure(const function *f, tn_element_type e, const tn_kernel *k, void *const *in,
                    result *r)
{
    static _Alignas(64) char out[N * 16];
    static _Alignas(64) double got[2 * N], a[2 * N], b[2 * N];
    tn_kernel_run(k, N, (const void *const *)in, out);
    widen(e, N, out, got);
    widen(e, N, in[0], a);
    if (f->arity == 2) widen(e, N, in[1], b);
    format type = format_of(e);
    for (int i = 0; i < N; i++) {
        if (tn_is_complex(e)) {
            double *x = a + 2 * i, *y = b + 2 * i;
            double at[4] = {x[0], x[1], f->arity == 2 ? y[0] : 0, f->arity == 2 ? y[1] : 0};
            quad want[2];
            f->complex(x, y, want);
            if (want[0] - want[0] != 0 || want[1] - want[1] != 0) continue; /* no matter of ulps */
            bool first = want[0] * want[0] > want[1] * want[1];
            quad larger = want[first ? 0 : 1], huge = scale_quad(1, type.most - 1);
            if (larger > huge || larger < -huge) continue;
            if (is_vanishing(want[0], type) || is_vanishing(want[1], type)) continue;
            for (int p = 0; p < 2; p++)
                note(r,
                     error_of(got[2 * i + p], want[p], f->by_size ? want[first ? 0 : 1] : want[p],
                              type),
                     at, 4);
        } else {
            quad want = f->real(a[i], f->arity == 2 ? b[i] : 0);
            note(r, error_of(got[i], want, want, type), (double[]){a[i], f->arity == 2 ? b[i] : 0},
                 2);
        }
    }
}

static bool is_two_byte(tn_element_type e)
{
    return e == TN_F16 || e == TN_BF16;
}

static result sweep(const function *f, tn_element_type e, uint64_t samples, bool exhaustive)
{
    static _Alignas(64) char x[N * 16], y[N * 16];
    void *in[2] = {x, y};
    result r = {0};
    tn_kernel k;
    if (!tn_kernel_elementwise(tn_cpu_isa(), f->kind, e, &k)) return r;
    bool single = tn_real_type(e) != TN_F64, complex = tn_is_complex(e);
    if (f->arity == 1 && (is_two_byte(e) || (exhaustive && e == TN_F32))) {
        uint64_t all = is_two_byte(e) ? 1 << 16 : (uint64_t)1 << 32;
        for (uint64_t at = 0; at < all; at += N) {
            for (uint32_t i = 0; i < N; i++) {
                if (e == TN_F32) ((uint32_t *)x)[i] = (uint32_t)at + i;
                else ((uint16_t *)x)[i] = (uint16_t)(at + i);
            }
            measure(f, e, &k, in, &r);
        }
        return r;
    }
    for (uint64_t at = 0; at < samples; at += N) {
        static double p[2 * N], q[2 * N];
        for (int i = 0; i < (complex ? 2 : 1) * N; i++) {
            p[i] = sample(single, complex ? f->widest : INFINITY);
            q[i] = sample(single, complex ? f->widest : INFINITY);
            if (complex && i % 2 && i % 10 < 2 && fabs(p[i - 1]) <= 1) /* on the unit circle */
                p[i] = sqrt(1 - p[i - 1] * p[i - 1]);
        }
        narrow(e, N, p, x);
        narrow(e, N, q, y);
        measure(f, e, &k, in, &r);
    }
    return r;
}

/* --- the table --- */

static const tn_element_type types[] = {TN_F32, TN_F64, TN_F16, TN_BF16, TN_C64, TN_C128};
enum { TYPES = sizeof types / sizeof *types };

/* The row of a function in the file: its figures, or false. */
static bool read_row(const char *path, const char *name, double *figures)
{
    FILE *f = fopen(path, "r");
    char line[512], head[64];
    bool found = false;
    snprintf(head, sizeof head, "| %s |", name);
    while (f && !found && fgets(line, sizeof line, f)) {
        if (strncmp(line, head, strlen(head)) != 0) continue;
        char *at = line + strlen(head);
        for (int t = 0; t < TYPES; t++) {
            char *end;
            figures[t] = strtod(at, &end);
            at = strchr(end, '|');
            if (!at) break;
            at++;
        }
        found = true;
    }
    if (f) fclose(f);
    return found;
}

static void print_head(FILE *f)
{
    fprintf(f, "| function |");
    for (int t = 0; t < TYPES; t++) fprintf(f, " %s |", tn_element_type_text(types[t]));
    fprintf(f, "\n|---|");
    for (int t = 0; t < TYPES; t++) fprintf(f, "---|");
    fprintf(f, "\n");
}

/* Puts the table between the markers of the file. */
static int write_table(const char *path, char rows[][256], int n)
{
    static char text[1 << 18];
    FILE *f = fopen(path, "r");
    size_t size = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[size] = 0;
    char *begin = strstr(text, "<!-- table -->\n"), *end = strstr(text, "<!-- end -->");
    if (!begin || !end) {
        fprintf(stderr, "%s has no place for a table\n", path);
        return 2;
    }
    f = fopen(path, "w");
    if (!f) return 2;
    fwrite(text, 1, (size_t)(begin - text), f);
    fprintf(f, "<!-- table -->\n");
    print_head(f);
    for (int i = 0; i < n; i++) fputs(rows[i], f);
    fputs(end, f);
    return fclose(f) ? 2 : 0;
}

int main(int argc, char **argv)
{
    uint64_t samples = 16384;
    bool exhaustive = false;
    const char *only = NULL, *check = NULL, *write = NULL;
    for (int i = 1; i < argc; i++) {
        bool value = i + 1 < argc;
        if (value && !strcmp(argv[i], "--samples")) samples = strtoull(argv[++i], NULL, 0);
        else if (value && !strcmp(argv[i], "--seed")) state = strtoull(argv[++i], NULL, 0);
        else if (value && !strcmp(argv[i], "--only")) only = argv[++i];
        else if (value && !strcmp(argv[i], "--check")) check = argv[++i];
        else if (value && !strcmp(argv[i], "--write")) write = argv[++i];
        else if (!strcmp(argv[i], "--exhaustive")) exhaustive = true;
        else {
            fprintf(stderr, "unknown argument %s; see the head of test/accuracy/main.c\n", argv[i]);
            return 2;
        }
    }
    static char rows[64][256];
    int n_rows = 0, wrong = 0, right = 0;
    for (const function *f = functions; f->name; f++) {
        if (only && strcmp(only, f->name) != 0) continue;
        double figures[TYPES] = {0};
        bool listed = !check || read_row(check, f->name, figures);
        if (!listed) printf("%s has no row\n", f->name);
        wrong += !listed;
        int at = snprintf(rows[n_rows], sizeof rows[0], "| %s |", f->name);
        for (int t = 0; t < TYPES; t++) {
            bool complex = tn_is_complex(types[t]);
            if (complex && !f->complex) {
                at += snprintf(rows[n_rows] + at, sizeof rows[0] - (size_t)at, " |");
                continue;
            }
            result r = sweep(f, types[t], complex ? samples / 4 : samples, exhaustive);
            printf("%-22s %-12s %10.4f ulp  at %.17g %.17g %.17g %.17g  of %llu\n", f->name,
                   tn_element_type_text(types[t]), r.worst, r.at[0], r.at[1], r.at[2], r.at[3],
                   (unsigned long long)r.n);
            double rounded = ceil(fmax(r.worst * 100 - 1e-3, 0)) / 100;
            at += snprintf(rows[n_rows] + at, sizeof rows[0] - (size_t)at, " %.2f |", rounded);
            if (!check || !listed) continue;
            /* What is left where parts cancel needs more bits than clang's widest type on x86. */
            if (complex && !HAS_QUAD && LDBL_MANT_DIG < 113 &&
                tn_element_type_bytes(types[t]) == 16)
                continue;
            /* Other values than the table was made of: a little more may turn up. */
            if (r.worst <= figures[t] * SLACK + 0.01) right++;
            else {
                printf("    the table says %.2f\n", figures[t]);
                wrong++;
            }
        }
        snprintf(rows[n_rows] + at, sizeof rows[0] - (size_t)at, "\n");
        n_rows++;
    }
    if (write) return write_table(write, rows, n_rows);
    if (check) printf("%d passed, %d failed\n", right, wrong);
    return wrong > 0;
}
