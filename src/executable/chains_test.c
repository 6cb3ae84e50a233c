/* SPDX-License-Identifier: Apache-2.0 */
/* Random chains of elementwise ops of all types and sizes: as machine code, for each instruction
 * set that there is, they give what the kernels give one by one, bit for bit (but for the bits of
 * NaN). TN_TEST_SEED runs one of them. */
#include "base/isa_test.h"
#include "executable/program_test.h"

static uint64_t state;

static uint64_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}
static uint32_t below(uint32_t n)
{
    return (uint32_t)((random_bits() >> 20) % n);
}

static const tn_element_type types[] = {TN_F32, TN_F64, TN_BF16, TN_F16, TN_I32, TN_U32, TN_I8,
                                        TN_U8,  TN_I16, TN_U16,  TN_I64, TN_U64, TN_I1};
enum { TYPES = sizeof types / sizeof *types, VALUES = 24, RESULTS = 4, PARAMS = TYPES + 2 };
static const int64_t sizes[] = {1, 2, 3, 5, 15, 16, 17, 64, 100, 1023, 1024, 1025, 5000};
enum { SIZES = sizeof sizes / sizeof *sizes };
/* Of results that are written past the caches; what is made at random then repeats itself. */
enum { LARGE = (1 << 21) + 3, FILLED = 4099 };

static const tn_op_kind real_ops[] = {TN_OP_add,
                                      TN_OP_subtract,
                                      TN_OP_multiply,
                                      TN_OP_divide,
                                      TN_OP_maximum,
                                      TN_OP_minimum,
                                      TN_OP_abs,
                                      TN_OP_negate,
                                      TN_OP_sqrt,
                                      TN_OP_rsqrt,
                                      TN_OP_floor,
                                      TN_OP_ceil,
                                      TN_OP_round_nearest_even,
                                      TN_OP_sign,
                                      TN_OP_round_nearest_afz,
                                      TN_OP_is_finite,
                                      TN_OP_tanh,
                                      TN_OP_exponential,
                                      TN_OP_log,
                                      TN_OP_logistic,
                                      TN_OP_erf,
                                      TN_OP_erfc,
                                      TN_OP_erf_inv,
                                      TN_OP_sine};
static const tn_op_kind integer_ops[] = {TN_OP_add,
                                         TN_OP_subtract,
                                         TN_OP_multiply,
                                         TN_OP_maximum,
                                         TN_OP_minimum,
                                         TN_OP_negate,
                                         TN_OP_and,
                                         TN_OP_or,
                                         TN_OP_xor,
                                         TN_OP_not,
                                         TN_OP_sign,
                                         TN_OP_shift_left,
                                         TN_OP_shift_right_logical,
                                         TN_OP_popcnt,
                                         TN_OP_count_leading_zeros,
                                         TN_OP_divide,
                                         TN_OP_remainder,
                                         TN_OP_abs,
                                         TN_OP_shift_right_arithmetic};
static const tn_op_kind truth_ops[] = {TN_OP_and, TN_OP_or, TN_OP_xor, TN_OP_not};

typedef struct {
    tn_value *values[TYPES][VALUES], *keys[2];
    uint32_t n[TYPES];
    int64_t size;
} pool;

static void offer(pool *p, unsigned t, tn_value *v)
{
    p->values[t][p->n[t] < VALUES ? p->n[t]++ : below(VALUES)] = v;
}
static unsigned index_of(tn_element_type e)
{
    unsigned t = 0;
    while (types[t] != e) t++;
    return t;
}

static void fill_element(tn_element_type e, char *to)
{
    uint64_t bits = random_bits();
    bool plain = below(8);
    if (below(8) == 0) {
        /* a zero of either sign */
        bits &= (uint64_t)1 << (8 * tn_element_type_bytes(e) - 1);
        plain = false;
    }
    float f = (float)(int32_t)bits * 0x1p-28f;
    double d = (double)f;
    uint32_t u;
    memcpy(&u, &f, 4);
    switch ((int)e) {
    case TN_I1: *to = bits & 1; break;
    case TN_F32: memcpy(to, plain ? (void *)&f : (void *)&bits, 4); break;
    case TN_F64: memcpy(to, plain ? (void *)&d : (void *)&bits, 8); break;
    case TN_BF16:
        u >>= 16;
        memcpy(to, plain ? (void *)&u : (void *)&bits, 2);
        break;
    case TN_F16: memcpy(to, &bits, 2); break;
    default:
        if (below(3) == 0) bits = below(40); /* a good distance to shift by */
        memcpy(to, &bits, tn_element_type_bytes(e));
    }
}

static tn_value *everywhere(builder *b, pool *p, unsigned t, const char *element)
{
    tn_op *op = add_op(b, TN_OP_constant, 0, NULL, 1, 0);
    tn_literal l = {.type = tn_type_tensor(b->arena, types[t], 1, &p->size), .splat = true};
    l.data = tn_dup(b->arena, element, tn_element_type_bytes(types[t]));
    l.size = tn_element_type_bytes(types[t]);
    tn_attr *a = TN_NEW(b->arena, tn_attr);
    a->kind = TN_ATTR_KIND_TENSOR;
    a->tensor = l;
    op->results[0].type = l.type;
    tn_op_set_attr(b->module, op, TN_ATTR_value, a);
    return &op->results[0];
}

static tn_value *take(builder *b, pool *p, unsigned t)
{
    if (below(6)) return p->values[t][below(p->n[t])];
    char element[16];
    fill_element(types[t], element);
    return everywhere(b, p, t, element);
}

static tn_value *other_type(builder *b, tn_op_kind kind, uint32_t n, tn_value **in,
                            tn_element_type e)
{
    tn_op *op = add_op(b, kind, n, in, 1, 0);
    op->results[0].type = tn_type_tensor(b->arena, e, 1, in[n - 1]->type->dims);
    return &op->results[0];
}

static void add_random_op(builder *b, pool *p)
{
    unsigned t = below(TYPES), truth = index_of(TN_I1);
    tn_element_type e = types[t];
    tn_value *x = take(b, p, t), *y = take(b, p, t), *z = take(b, p, t);
    tn_value *m = take(b, p, truth);
    switch (below(8)) {
    case 0: {
        unsigned to = below(TYPES);
        offer(p, to, other_type(b, TN_OP_convert, 1, &x, types[to]));
        return;
    }
    case 1: offer(p, truth, compare(b, (int)below(6), x, y)); return;
    case 2: offer(p, t, other_type(b, TN_OP_select, 3, (tn_value *[]){m, x, y}, e)); return;
    case 3:
        if (e != TN_I1) offer(p, t, other_type(b, TN_OP_clamp, 3, (tn_value *[]){x, y, z}, e));
        return;
    case 4: {
        /* Extremes with 0 have code of their own. */
        if (!tn_is_float(e)) break;
        tn_value *zero = everywhere(b, p, t, (const char[16]){0});
        tn_op_kind extreme = below(2) ? TN_OP_maximum : TN_OP_minimum;
        bool first = below(2);
        offer(p, t, binary(b, extreme, first ? zero : x, first ? x : zero));
        return;
    }
    case 5:
        if (e != TN_U32 || below(2)) break;
        offer(p, t,
              other_type(b, TN_OP_threefry_bits, 3,
                         (tn_value *[]){p->keys[below(2)], p->keys[1], x}, e));
        return;
    default: break;
    }
    tn_op_kind kind = tn_is_float(e) ? real_ops[below(sizeof real_ops / sizeof *real_ops)]
                      : e == TN_I1   ? truth_ops[below(4)]
                                     : integer_ops[below(sizeof integer_ops / sizeof *integer_ops)];
    if ((kind == TN_OP_sign || kind == TN_OP_abs) && tn_element_type_class(e) == TN_CLASS_UINT)
        return;
    if (tn_op_infos[kind].operands == 2) offer(p, t, binary(b, kind, x, y));
    else if (kind == TN_OP_is_finite) offer(p, truth, other_type(b, kind, 1, &x, TN_I1));
    else offer(p, t, unary(b, kind, x));
}

static const uint64_t LARGE_SEEDS = (uint64_t)1 << 40;

static void build_chain(builder *b, void *ctx)
{
    state = *(uint64_t *)ctx * 0x9E3779B97F4A7C15u;
    for (int i = 0; i < 4; i++) random_bits();
    bool large = *(uint64_t *)ctx >= LARGE_SEEDS;
    pool p = {.size = large ? LARGE : sizes[below(SIZES)]};
    static char texts[TYPES][32];
    const char *params[PARAMS + 1] = {[TYPES] = "ui32", "ui32", NULL};
    for (unsigned t = 0; t < TYPES; t++) {
        snprintf(texts[t], sizeof *texts, "%lldx%s", (long long)p.size,
                 tn_element_type_text(types[t]));
        params[t] = texts[t];
    }
    begin_function(b, "main", params);
    for (unsigned t = 0; t < TYPES; t++) offer(&p, t, &b->region->args[t]);
    for (unsigned k = 0; k < 2; k++) p.keys[k] = &b->region->args[TYPES + k];
    uint32_t n = 1 + below(large ? 10 : 40);
    for (uint32_t i = 0; i < n; i++) add_random_op(b, &p);
    tn_value *results[RESULTS];
    for (unsigned i = 0; i < RESULTS; i++) {
        unsigned t = below(TYPES);
        results[i] = p.values[t][p.n[t] - 1];
    }
    end_region(b, RESULTS, results);
}

static bool is_nan(tn_element_type e, const char *at)
{
    uint64_t u = 0;
    memcpy(&u, at, tn_element_type_bytes(e));
    switch ((int)e) {
    case TN_F32: return (u & 0x7fffffff) > 0x7f800000;
    case TN_F64: return (u & INT64_MAX) > 0x7ff0000000000000;
    case TN_BF16: return (u & 0x7fff) > 0x7f80;
    case TN_F16: return (u & 0x7fff) > 0x7c00;
    default: return false;
    }
}

static uint32_t with_code;

static void check_seed(uint64_t seed)
{
    char *results[2][RESULTS];
    const tn_executable_info *info = NULL;
    tn_executable *e[2];
    for (int way = 0; way < 2; way++) {
        test_source s = {{.as_it_is = true, .unfused = way == 0}, build_chain, &seed};
        MUST(compile_source(&s, &e[way]));
        info = tn_executable_get_info(e[way]);
        void *args[PARAMS];
        state = seed;
        for (unsigned t = 0; t < PARAMS; t++) {
            tn_element_type type = info->params[t].type->element;
            size_t each = tn_element_type_bytes(type), bytes = tn_type_bytes(info->params[t].type);
            args[t] = aligned_alloc(64, (bytes + 64) & ~(size_t)63);
            char *to = args[t];
            size_t filled = bytes < FILLED * each ? bytes : FILLED * each;
            for (size_t at = 0; at < filled; at += each) fill_element(type, to + at);
            for (size_t at = filled; at < bytes; at++) to[at] = to[at - filled];
        }
        for (unsigned i = 0; i < RESULTS; i++)
            results[way][i] =
                aligned_alloc(64, (tn_type_bytes(info->results[i].type) + 64) & ~(size_t)63);
        MUST(run_executable(e[way], args, (void *const *)results[way]));
        for (unsigned t = 0; t < PARAMS; t++) free(args[t]);
    }
    for (unsigned i = 0; i < RESULTS; i++) {
        tn_element_type type = info->results[i].type->element;
        size_t each = tn_element_type_bytes(type), bytes = tn_type_bytes(info->results[i].type);
        for (size_t at = 0; at < bytes; at += each) {
            const char *want = results[0][i] + at, *got = results[1][i] + at;
            if (!memcmp(want, got, each) || (is_nan(type, want) && is_nan(type, got))) continue;
            uint64_t w = 0, g = 0;
            memcpy(&w, want, each);
            memcpy(&g, got, each);
            fail_msg("seed %llu: result %u of %s, element %zu: %llx, expected %llx",
                     (unsigned long long)seed, i, tn_element_type_text(type), at / each,
                     (unsigned long long)g, (unsigned long long)w);
        }
        free(results[0][i]);
        free(results[1][i]);
    }
    with_code += e[1]->machine_code.size != 0;
    tn_executable_release(e[0]);
    tn_executable_release(e[1]);
}

static void chains_give_what_kernels_give(void **unused)
{
    const char *first = getenv("TN_TEST_SEED");
    uint64_t from = first ? strtoull(first, NULL, 10) : 1, n = first ? 1 : 3000;
    for (uint64_t seed = from; seed < from + n; seed++) check_seed(seed);
    print_message("%u of %llu programs have machine code\n", with_code, (unsigned long long)n);
}

static void large_chains_do_too(void **unused)
{
    for (uint64_t seed = LARGE_SEEDS; seed < LARGE_SEEDS + 8; seed++) check_seed(seed);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_give_what_kernels_give),
                                       cmocka_unit_test(large_chains_do_too)};
    return cmocka_run_group_tests_name("executable-chains", tests, NULL, NULL);
}

int main(void)
{
    return run_for_each_isa(run);
}
