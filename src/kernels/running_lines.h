/* SPDX-License-Identifier: Apache-2.0 */
/* running_lines.h - internal: the functions of running.h for one op and type. Included many times
 * by running_isa.c, with
 *   NAME, T, V   their suffix, the type of elements and its vector
 *   BYTES        4 or 8, of an element
 *   OP(a, b)     of vectors
 *   NEUTRAL      NEUTRAL op x is x, bit for bit
 *   KEY(x)       of vectors, if it is defined: what goes into OP, and back */

#ifndef KEY
#define KEY(x) (x)
#endif

#define LANES (TN_VB / BYTES)
#define N     (GROUP / LANES)
#define FN(f) TN_CAT(f, NAME)

TN_INLINE V FN(last_)(V x)
{
    return __builtin_shufflevector(x, x, TN_CAT(LAST_, BYTES));
}

/* Totals within a group. */
TN_INLINE void FN(group_)(V *v)
{
    const V none = (T)(NEUTRAL) - (V){0}; /* 0 + -0 would be 0 */
#define STEP(...) x = OP(__builtin_shufflevector(x, none, __VA_ARGS__), x);
    UNROLL for (int i = 0; i < N; i++)
    {
        V x = v[i];
        TN_CAT(STEPS_, BYTES)
        v[i] = x;
    }
#undef STEP
    UNROLL for (int g = 1; g < N; g *= 2)
    {
        UNROLL for (int i = 0; i < N; i++) if (i & g) v[i] = OP(FN(last_)(v[(i & -g) - 1]), v[i]);
    }
}

/* The group that begins `at` elements from the line's first. */
TN_INLINE void FN(load_)(V *v, const T *x, int64_t n, int64_t at, bool backwards)
{
    const T *p = backwards ? x + n - at - GROUP : x + at;
    UNROLL for (int i = 0; i < N; i++)
    {
        memcpy(&v[i], p + (backwards ? N - 1 - i : i) * LANES, TN_VB);
        if (backwards) v[i] = __builtin_shufflevector(v[i], v[i], TN_CAT(BACK_, BYTES));
        v[i] = KEY(v[i]);
    }
}
TN_INLINE void FN(store_)(const V *v, T *y, int64_t n, int64_t at, bool backwards)
{
    T *p = backwards ? y + n - at - GROUP : y + at;
    UNROLL for (int i = 0; i < N; i++)
    {
        V x = KEY(v[i]);
        if (backwards) x = __builtin_shufflevector(x, x, TN_CAT(BACK_, BYTES));
        memcpy(p + (backwards ? N - 1 - i : i) * LANES, &x, TN_VB);
    }
}

/* One group more: `line` are the totals of the line so far, in every lane. */
TN_INLINE void FN(more_)(V *v, V *line, V before, bool first)
{
    FN(group_)(v);
    V total = FN(last_)(v[N - 1]);
    UNROLL for (int i = 0; i < N; i++) v[i] = OP(before, first ? v[i] : OP(*line, v[i]));
    *line = first ? total : OP(*line, total);
}

TN_INLINE void FN(line_)(const T *x, T *y, int64_t n, T first, bool backwards)
{
    V v[N], line = {0};
    const V before = KEY(first - (V){0});
    int64_t at = 0;
    for (; at + GROUP <= n; at += GROUP) {
        FN(load_)(v, x, n, at, backwards);
        FN(more_)(v, &line, before, at == 0);
        FN(store_)(v, y, n, at, backwards);
    }
    if (at == n) return;
    T rest[GROUP] = {0};
    size_t left = (size_t)(n - at);
    T *place = backwards ? rest + (size_t)GROUP - left : rest;
    memcpy(place, backwards ? x : x + at, left * sizeof(T));
    FN(load_)(v, rest, GROUP, 0, backwards);
    FN(more_)(v, &line, before, at == 0);
    FN(store_)(v, rest, GROUP, 0, backwards);
    memcpy(backwards ? y : y + at, place, left * sizeof(T));
}

static void FN(run_)(const void *x, void *y, int64_t n, const void *before, bool backwards)
{
    T first;
    memcpy(&first, before, sizeof first);
    if (backwards) FN(line_)(x, y, n, first, true);
    else FN(line_)(x, y, n, first, false);
}

TN_INLINE V FN(sum_)(const T *x, bool backwards)
{
    V v[N], line = {0};
    for (int64_t at = 0; at < TN_RUNNING_PIECE; at += GROUP) {
        FN(load_)(v, x, TN_RUNNING_PIECE, at, backwards);
        FN(group_)(v);
        V total = FN(last_)(v[N - 1]);
        line = at ? OP(line, total) : total;
    }
    return line;
}

static void FN(total_)(const void *x, void *out, bool backwards)
{
    V line = backwards ? FN(sum_)(x, true) : FN(sum_)(x, false);
    line = KEY(line);
    memcpy(out, &line, sizeof(T));
}

#undef LANES
#undef N
#undef FN
#undef NAME
#undef T
#undef V
#undef BYTES
#undef OP
#undef NEUTRAL
#undef KEY
