/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "ops/lapack.h"
#include "ops/lapack_blocked.h"
#include "ops/strided.h"

enum { TURNED = 40 /* rows of a matrix that pay for being transposed */ };

/* LAPACK's arguments are pointers alone, and their number is the routine's: the one place where a
 * function type without a prototype says what is meant. */
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#define CALL(i, ...) ((void (*)())(i)->routine)(__VA_ARGS__)

static bool is_complex(const tn_lapack_item *i)
{
    return tn_is_complex(i->element);
}
static size_t width(const tn_lapack_item *i)
{
    return tn_element_type_bytes(i->element);
}
static size_t real_width(const tn_lapack_item *i)
{
    return tn_element_type_bytes(tn_real_type(i->element));
}
static int most(int x, int y)
{
    return x > y ? x : y;
}
static int least(int x, int y)
{
    return x < y ? x : y;
}

int64_t tn_lapack_config_int(const tn_lapack_item *i, const char *key, int64_t otherwise)
{
    const tn_attr *a = tn_attr_get(i->config, key);
    if (a && a->kind == TN_ATTR_KIND_INT) return a->integer;
    if (a && a->kind == TN_ATTR_KIND_BOOL) return a->boolean;
    return otherwise;
}

char tn_lapack_config_char(const tn_lapack_item *i, const char *key, char otherwise)
{
    return (char)tn_lapack_config_int(i, key, otherwise);
}

/* The matrix that a routine works on in place. */
static void copy(const tn_lapack_item *i, int from, int to, int rows, int columns)
{
    if (rows && columns && i->out[to] != i->in[from])
        memcpy(i->out[to], i->in[from], (size_t)rows * (size_t)columns * width(i));
}

/* What a query left in work[0]. */
static int queried(const tn_lapack_item *i, const void *work)
{
    bool single = i->element == TN_F32 || i->element == TN_C64;
    double size = single ? (double)*(const float *)work : *(const double *)work;
    return most(1, (int)(size + (single ? size * 1e-6 : 0)));
}

static size_t lines(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static void *get(size_t count, size_t size)
{
    return aligned_alloc(64, (count * size + 127) & ~(size_t)63);
}

/* Calls the routine with work of the size that it asks for. The first item asks, with lwork = -1.
 */
#define WITH_WORK(i, ...)                                                                          \
    do {                                                                                           \
        double answer[2] = {0};                                                                    \
        void *work = answer;                                                                       \
        int lwork = -1;                                                                            \
        if (!(i)->work->memory) {                                                                  \
            CALL(i, __VA_ARGS__);                                                                  \
            (i)->work->size = queried(i, answer);                                                  \
            (i)->work->memory = get((size_t)(i)->work->size, width(i));                            \
        }                                                                                          \
        lwork = (i)->work->size;                                                                   \
        work = (i)->work->memory;                                                                  \
        if (!work) return false;                                                                   \
        CALL(i, __VA_ARGS__);                                                                      \
    } while (0)

void tn_lapack_work_end(tn_lapack_work *w)
{
    free(w->memory);
    free(w->more);
}

/* The matrix of operand 0 is transposed into result 0. */
static void turn(const tn_lapack_item *i)
{
    int64_t n = i->n, e = (int64_t)width(i);
    if (i->out[0] == i->in[0]) {
        tn_lapack_turn(i->out[0], n, e);
        return;
    }
    tn_strided nest;
    tn_strided_init(&nest);
    tn_strided_push(&nest, n, n * e, e);
    tn_strided_push(&nest, n, e, n * e);
    tn_strided_run(&nest, (size_t)e, i->out[0], i->in[0], NULL);
}

/* The lower triangle of columns is done in two thirds of the time of the upper one by OpenBLAS. By
 * rows, the columns hold the conjugate of the matrix, and its factors lie in the other triangle. */
static bool potrf(const tn_lapack_item *i)
{
    bool lower = tn_lapack_config_char(i, "uplo", 'L') == 'L';
    int n = i->n, *info = i->out[1];
    if (lower && n > TURNED && width(i) <= 8) {
        char uplo = 'L';
        turn(i);
        tn_lapack_blocked did = tn_lapack_blocked_potrf(i, i->out[0], info);
        if (did == TN_BLOCKED_NO_MEMORY) return false;
        if (did == TN_BLOCKED_NOT) CALL(i, &uplo, &n, i->out[0], &n, info);
        tn_lapack_turn(i->out[0], n, (int64_t)width(i));
        return true;
    }
    char uplo = lower ? 'U' : 'L';
    copy(i, 0, 0, n, n);
    if (n && !tn_lapack_small_potrf(i, lower)) CALL(i, &uplo, &n, i->out[0], &n, info);
    return true;
}

static bool getrf(const tn_lapack_item *i)
{
    int m = i->m, n = i->n, *info = i->out[2];
    copy(i, 0, 0, m, n);
    if (!m || !n || tn_lapack_small_getrf(i)) return true;
    tn_lapack_blocked did = tn_lapack_blocked_getrf(i, i->out[0], i->out[1], info);
    if (did != TN_BLOCKED_NOT) return did == TN_BLOCKED_DONE;
    CALL(i, &m, &n, i->out[0], &m, i->out[1], info);
    return true;
}

static bool geqrf(const tn_lapack_item *i)
{
    int m = i->m, n = i->n, info;
    copy(i, 0, 0, m, n);
    if (!m || !n) return true;
    tn_lapack_blocked did = tn_lapack_blocked_geqrf(i, i->out[0], i->out[1]);
    if (did != TN_BLOCKED_NOT) return did == TN_BLOCKED_DONE;
    WITH_WORK(i, &m, &n, i->out[0], &m, i->out[1], work, &lwork, &info);
    return true;
}

static bool geqp3(const tn_lapack_item *i)
{
    int m = i->m, n = i->n, info;
    copy(i, 0, 0, m, n);
    if (n) memcpy(i->out[1], i->in[1], (size_t)n * sizeof(int));
    if (!m || !n) return true;
    if (!is_complex(i)) {
        WITH_WORK(i, &m, &n, i->out[0], &m, i->out[1], i->out[2], work, &lwork, &info);
        return true;
    }
    void *rwork = get(2 * (size_t)n, real_width(i));
    if (!rwork) return false;
    WITH_WORK(i, &m, &n, i->out[0], &m, i->out[1], i->out[2], work, &lwork, rwork, &info);
    free(rwork);
    return true;
}

static bool orgqr(const tn_lapack_item *i)
{
    int m = i->m, n = i->n, r = i->r, info;
    copy(i, 0, 0, m, n);
    if (!m || !n) return true;
    tn_lapack_blocked did = tn_lapack_blocked_orgqr(i, i->out[0], i->in[1]);
    if (did != TN_BLOCKED_NOT) return did == TN_BLOCKED_DONE;
    WITH_WORK(i, &m, &n, &r, i->out[0], &m, i->in[1], work, &lwork, &info);
    return true;
}

static bool ormqr(const tn_lapack_item *i)
{
    int m = i->m, n = i->n, r = i->r, a = i->a, info;
    bool left = tn_lapack_config_int(i, "left", 1);
    char side = left ? 'L' : 'R', trans = !tn_lapack_config_int(i, "transpose", 0) ? 'N'
                                          : is_complex(i)                          ? 'C'
                                                                                   : 'T';
    copy(i, 2, 0, m, n);
    if (m && n && r && a == (left ? m : n))
        WITH_WORK(i, &side, &trans, &m, &n, &r, i->in[0], &a, i->in[1], i->out[0], &m, work, &lwork,
                  &info);
    return true;
}

/* By rows: op(a) x = b is x' op(a') = b', with ' for what the columns hold. */
static bool trsm(const tn_lapack_item *i)
{
    int m = i->m, n = i->n, a = i->a;
    char side = tn_lapack_config_char(i, "side", 'L'), uplo = tn_lapack_config_char(i, "uplo", 'L'),
         trans = tn_lapack_config_char(i, "trans_x", 'N'),
         diag = tn_lapack_config_char(i, "diag", 'N');
    double one[2] = {1, 0};
    float one_f32[2] = {1, 0};
    bool single = i->element == TN_F32 || i->element == TN_C64;
    copy(i, 1, 0, m, n);
    if (!m || !n || a != (side == 'L' ? m : n)) return true;
    if (tn_lapack_small_trsm(i, side == 'L', uplo == 'L', trans != 'N', diag == 'U')) return true;
    side = side == 'L' ? 'R' : 'L';
    uplo = uplo == 'L' ? 'U' : 'L';
    tn_lapack_blocked did =
        tn_lapack_blocked_trsm(i, side, uplo, trans, diag, n, m, i->in[0], i->out[0]);
    if (did != TN_BLOCKED_NOT) return did == TN_BLOCKED_DONE;
    CALL(i, &side, &uplo, &trans, &diag, &n, &m, single ? (void *)one_f32 : one, i->in[0], &a,
         i->out[0], &n);
    return true;
}

/* rwork of the complex singular value routines, as their manual pages ask. */
static size_t svd_rwork_bytes(const tn_lapack_item *i, char mode)
{
    if (!is_complex(i)) return 0;
    size_t mn = (size_t)least(i->m, i->n), mx = (size_t)most(i->m, i->n), need = 7 * mn;
    if (mode != 'N')
        need = mn * (5 * mn + 7 > 2 * mx + 2 * mn + 1 ? 5 * mn + 7 : 2 * mx + 2 * mn + 1);
    return (need < 5 * mn ? 5 * mn : need) * real_width(i);
}

/* Memory beside that of WITH_WORK, which all items have one after the other. */
static char *get_more(const tn_lapack_item *i, size_t bytes)
{
    if (!i->work->more) i->work->more = get(bytes, 1);
    return i->work->more;
}

static bool gesdd(const tn_lapack_item *i)
{
    int m = i->m, n = i->n, q = i->q, *info = i->out[4];
    char mode = tn_lapack_config_char(i, "mode", 'A');
    copy(i, 0, 0, m, n);
    if (!m || !n) return true;
    size_t integers = lines(8 * (size_t)least(m, n) * sizeof(int));
    char *more = get_more(i, integers + svd_rwork_bytes(i, mode));
    if (!more) return false;
    void *rwork = more + integers;
    int *iwork = (int *)more, ldu = m, ldvt = most(q, 1);
    if (is_complex(i))
        WITH_WORK(i, &mode, &m, &n, i->out[0], &m, i->out[1], i->out[2], &ldu, i->out[3], &ldvt,
                  work, &lwork, rwork, iwork, info);
    else
        WITH_WORK(i, &mode, &m, &n, i->out[0], &m, i->out[1], i->out[2], &ldu, i->out[3], &ldvt,
                  work, &lwork, iwork, info);
    return true;
}

static bool gesvd(const tn_lapack_item *i)
{
    int m = i->m, n = i->n, q = i->q, *info = i->out[4];
    char mode = tn_lapack_config_char(i, "mode", 'A');
    copy(i, 0, 0, m, n);
    if (!m || !n) return true;
    void *rwork = get_more(i, svd_rwork_bytes(i, mode));
    if (!rwork) return false;
    int ldu = m, ldvt = most(q, 1);
    if (is_complex(i))
        WITH_WORK(i, &mode, &mode, &m, &n, i->out[0], &m, i->out[1], i->out[2], &ldu, i->out[3],
                  &ldvt, work, &lwork, rwork, info);
    else
        WITH_WORK(i, &mode, &mode, &m, &n, i->out[0], &m, i->out[1], i->out[2], &ldu, i->out[3],
                  &ldvt, work, &lwork, info);
    return true;
}

static bool syevd(const tn_lapack_item *i)
{
    int n = i->n, *info = i->out[2];
    char mode = tn_lapack_config_char(i, "mode", 'V'), uplo = tn_lapack_config_char(i, "uplo", 'L');
    copy(i, 0, 0, n, n);
    if (!n) return true;
    size_t N = (size_t)n;
    /* The sizes of the manual page for mode V, which serve mode N too. */
    int lwork = (int)(is_complex(i) ? 2 * N + N * N : 1 + 6 * N + 2 * N * N),
        lrwork = (int)(1 + 5 * N + 2 * N * N), liwork = (int)(3 + 5 * N);
    size_t integers = lines((size_t)liwork * sizeof(int)), size = lines((size_t)lwork * width(i));
    char *more = get_more(i, integers + size + (size_t)lrwork * real_width(i));
    if (!more) return false;
    void *iwork = more, *work = more + integers, *rwork = more + integers + size;
    if (is_complex(i))
        CALL(i, &mode, &uplo, &n, i->out[0], &n, i->out[1], work, &lwork, rwork, &lrwork, iwork,
             &liwork, info);
    else CALL(i, &mode, &uplo, &n, i->out[0], &n, i->out[1], work, &lwork, iwork, &liwork, info);
    return true;
}

static double at(const tn_lapack_item *i, const void *data, size_t k)
{
    return i->element == TN_F32 ? (double)((const float *)data)[k] : ((const double *)data)[k];
}

/* Eigenvectors of conjugate pairs lie in two real columns; each becomes a complex one. */
static void unpack(const tn_lapack_item *i, const void *imaginary, const void *packed, void *out)
{
    size_t n = (size_t)i->n;
    for (size_t j = 0; j < n; j++) {
        bool pair = at(i, imaginary, j) != 0 && j + 1 < n;
        for (size_t r = 0; r < n; r++) {
            double re = at(i, packed, j * n + r), im = pair ? at(i, packed, (j + 1) * n + r) : 0;
            for (size_t s = 0; s <= (size_t)pair; s++) {
                size_t to = 2 * ((j + s) * n + r);
                if (i->element == TN_F32) {
                    ((float *)out)[to] = (float)re;
                    ((float *)out)[to + 1] = (float)(s ? -im : im);
                } else {
                    ((double *)out)[to] = re;
                    ((double *)out)[to + 1] = s ? -im : im;
                }
            }
        }
        j += pair;
    }
}

static bool all_finite(const tn_lapack_item *i)
{
    size_t n = (size_t)i->n * (size_t)i->n * (is_complex(i) ? 2 : 1);
    bool single = i->element == TN_F32 || i->element == TN_C64;
    for (size_t k = 0; k < n; k++) {
        double v = single ? (double)((const float *)i->in[0])[k] : ((const double *)i->in[0])[k];
        if (!(v - v == 0)) return false;
    }
    return true;
}

static bool geev(const tn_lapack_item *i)
{
    int n = i->n, *info = i->out[is_complex(i) ? 3 : 4];
    char left = tn_lapack_config_char(i, "compute_left", 'V'),
         right = tn_lapack_config_char(i, "compute_right", 'V');
    if (!n) return true;
    if (!all_finite(i)) { /* the routine may never end on NaN */
        *info = -4;
        return true;
    }
    size_t square = (size_t)n * (size_t)n;
    void *a = get(square, width(i)), *rwork = get(2 * (size_t)n, width(i)),
         *vl = get(square, width(i)), *vr = get(square, width(i));
    bool ok = a && rwork && vl && vr;
    if (ok) memcpy(a, i->in[0], square * width(i));
    if (ok && is_complex(i)) {
        WITH_WORK(i, &left, &right, &n, a, &n, i->out[0], i->out[1], &n, i->out[2], &n, work,
                  &lwork, rwork, info);
    } else if (ok) {
        WITH_WORK(i, &left, &right, &n, a, &n, i->out[0], i->out[1], vl, &n, vr, &n, work, &lwork,
                  info);
        if (left == 'V') unpack(i, i->out[1], vl, i->out[2]);
        if (right == 'V') unpack(i, i->out[1], vr, i->out[3]);
    }
    free(a);
    free(rwork);
    free(vl);
    free(vr);
    return ok;
}

static bool sytrd(const tn_lapack_item *i)
{
    int n = i->n, *info = i->out[4];
    char uplo = tn_lapack_config_char(i, "uplo", 'L');
    copy(i, 0, 0, n, n);
    if (n)
        WITH_WORK(i, &uplo, &n, i->out[0], &n, i->out[1], i->out[2], i->out[3], work, &lwork, info);
    return true;
}

static bool gees(const tn_lapack_item *i)
{
    bool c = is_complex(i);
    int n = i->n, *sdim = i->out[c ? 3 : 4], *info = i->out[c ? 4 : 5];
    char mode = tn_lapack_config_char(i, "mode", 'V'), sort = 'N';
    copy(i, 0, 0, n, n);
    if (!n) return true;
    void *rwork = get((size_t)n, width(i)), *select = NULL;
    if (!rwork) return false;
    if (c)
        WITH_WORK(i, &mode, &sort, select, &n, i->out[0], &n, sdim, i->out[2], i->out[1], &n, work,
                  &lwork, rwork, NULL, info);
    else
        WITH_WORK(i, &mode, &sort, select, &n, i->out[0], &n, sdim, i->out[2], i->out[3], i->out[1],
                  &n, work, &lwork, NULL, info);
    free(rwork);
    return true;
}

static bool gehrd(const tn_lapack_item *i)
{
    int n = i->n, low = (int)tn_lapack_config_int(i, "low", 1),
        high = (int)tn_lapack_config_int(i, "high", n), *info = i->out[2];
    copy(i, 0, 0, n, n);
    if (n) WITH_WORK(i, &n, &low, &high, i->out[0], &n, i->out[1], work, &lwork, info);
    return true;
}

/* JAX's lower diagonal starts with an unused element. */
static bool gtsv(const tn_lapack_item *i)
{
    int n = i->n, r = i->r, *info = i->out[4];
    for (int v = 0; v < 3; v++)
        if (n) memcpy(i->out[v], i->in[v], (size_t)n * width(i));
    copy(i, 3, 3, n, r);
    if (n && r)
        CALL(i, &n, &r, (char *)i->out[0] + width(i), i->out[1], i->out[2], i->out[3], &n, info);
    return true;
}

// clang-format off
const tn_lapack_family tn_lapack_families[] = {
    {"potrf", "Tnn>Tnn,I", "Tnn>Tnn,I", potrf, true, 1, 1, {{0}}},
    {"getrf", "Tmn>Tmn,Ik,I", "Tmn>Tmn,Ik,I", getrf, false, 1, 1, {{0}}},
    {"geqrf", "Tmn>Tmn,Tk", "Tmn>Tmn,Tk", geqrf, false, 1, 1, {{0}}},
    {"geqp3", "Tmn,In>Tmn,In,Tk", "Tmn,In>Tmn,In,Tk", geqp3, false, 1, 1, {{0}}},
    {"orgqr", "Tmn,Tr>Tmn", NULL, orgqr, false, 1, 1, {{0}}},
    {"ungqr", NULL, "Tmn,Tr>Tmn", orgqr, false, 1, 1, {{0}}},
    {"ormqr", "Tar,Tr,Tmn>Tmn", NULL, ormqr, false, 3, 1, {{0}}},
    {"unmqr", NULL, "Tar,Tr,Tmn>Tmn", ormqr, false, 3, 1, {{0}}},
    {"trsm", "Taa,Tmn>Tmn", "Taa,Tmn>Tmn", trsm, true, 2, 1, {{0}}},
    {"gesdd", "Tmn>Tmn,Rk,Tmp,Tqn,I", "Tmn>Tmn,Rk,Tmp,Tqn,I", gesdd, false, 1, 1, {{3, 3, "mode"}, {4, 4, "mode"}}},
    {"gesvd", "Tmn>Tmn,Rk,Tmp,Tqn,I", "Tmn>Tmn,Rk,Tmp,Tqn,I", gesvd, false, 1, 1, {{3, 3, "mode"}, {4, 4, "mode"}}},
    {"syevd", "Tnn>Tnn,Rn,I", NULL, syevd, false, 1, 1, {{1, 1, "mode"}}},
    {"heevd", NULL, "Tnn>Tnn,Rn,I", syevd, false, 1, 1, {{1, 1, "mode"}}},
    {"geev", "Tnn>Tn,Tn,Cnn,Cnn,I", "Tnn>Tn,Tnn,Tnn,I", geev, false, 0, 0,
     {{3, 2, "compute_left"}, {4, 3, "compute_right"}}},
    {"sytrd", "Tnn>Tnn,Rn,Re,Te,I", NULL, sytrd, false, 1, 1, {{0}}},
    {"hetrd", NULL, "Tnn>Tnn,Rn,Re,Te,I", sytrd, false, 1, 1, {{0}}},
    {"gees", "Tnn>Tnn,Tnn,Tn,Tn,I,I", "Tnn>Tnn,Tnn,Tn,I,I", gees, false, 1, 1, {{2, 2, "mode"}}},
    {"gehrd", "Tnn>Tnn,Te,I", "Tnn>Tnn,Te,I", gehrd, false, 1, 1, {{0}}},
    {"gtsv", "Tn,Tn,Tn,Tnr>Tn,Tn,Tn,Tnr,I", "Tn,Tn,Tn,Tnr>Tn,Tn,Tn,Tnr,I", gtsv, false, 4, 4, {{0}}},
    {NULL, NULL, NULL, NULL, false, 0, 0, {{0}}}};
// clang-format on
