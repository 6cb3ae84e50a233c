/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs with loops and branches: what the executable gives, with and without passes, with
 * and without donation, is what the interpreter gives, bit for bit. */
#include "base/thread_pool.h"
#include "executable/program_test.h"

static uint64_t state;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 20) % n);
}

/* The types that programs work on: few, so that values meet. LONG is large enough for splats that
 * are filled in at run time. */
enum { SMALL, SQUARE, LONG, FLOATS, SCALAR, WIDE, N_TYPES };
static const char *const type_texts[] = {"12xi32", "3x4xi32", "1100xi32",
                                         "12xf32", "i32",     "40x50xi32"};
/* What is broadcast to each of them, and along which dimensions. */
static const struct {
    const char *from;
    uint32_t rank;
    int64_t dims[2];
} broadcasts[][4] = {
    [SMALL] = {{"i32", 0, {0}}, {"1xi32", 1, {0}}, {"i32", 0, {0}}, {"i32", 0, {0}}},
    [SQUARE] = {{"3xi32", 1, {0}},
                {"4xi32", 1, {1}},
                {"4x3xi32", 2, {1, 0}},
                {"1x4xi32", 2, {0, 1}}},
    [LONG] = {{"i32", 0, {0}}, {"1xi32", 1, {0}}, {"i32", 0, {0}}, {"i32", 0, {0}}},
    [FLOATS] = {{"f32", 0, {0}}, {"1xf32", 1, {0}}, {"f32", 0, {0}}, {"f32", 0, {0}}},
    [WIDE] = {{"40xi32", 1, {0}},
              {"50xi32", 1, {1}},
              {"50x40xi32", 2, {1, 0}},
              {"1x50xi32", 2, {0, 1}}},
    [SCALAR] = {{"i32", 0, {0}}, {"i32", 0, {0}}, {"i32", 0, {0}}, {"i32", 0, {0}}},
};

#define ELEMENTS 2000 /* of the largest */

#define VALUES 64
typedef struct {
    tn_value *values[N_TYPES][VALUES];
    uint32_t n[N_TYPES];
} pool;

static void offer(pool *p, unsigned type, tn_value *v)
{
    p->values[type][p->n[type] < VALUES ? p->n[type]++ : below(VALUES)] = v;
}

/* Recent values more often than old ones, so that most die young. */
static tn_value *take(builder *b, pool *p, unsigned type)
{
    uint32_t n = p->n[type];
    if (n) return p->values[type][below(3) ? n - 1 - below(n < 3 ? n : 3) : below(n)];
    uint32_t bits = below(1000);
    float real = (float)bits;
    tn_value *v = splat(b, type_texts[type], type == FLOATS ? (void *)&real : (void *)&bits);
    offer(p, type, v);
    return v;
}

static void build_ops(builder *b, pool *p, uint32_t n, uint32_t depth);

static tn_value *integer(builder *b, int32_t v)
{
    return constant(b, "i32", &v);
}

static tn_value *random_constant(builder *b, unsigned type)
{
    int32_t data[ELEMENTS];
    float *reals = (float *)data;
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        if (type == FLOATS) reals[i] = (float)below(100) - 50;
        else data[i] = (int32_t)below(100) - 50;
    }
    return below(2) ? splat(b, type_texts[type], data) : constant(b, type_texts[type], data);
}

/* while (i < trips) with up to four carried values, which the body may keep, swap and drop. */
static void build_while(builder *b, pool *p, uint32_t depth)
{
    tn_value *inits[5] = {integer(b, 0)};
    unsigned types[5] = {SCALAR};
    uint32_t n = 1 + below(5);
    for (uint32_t i = 1; i < n; i++) inits[i] = take(b, p, types[i] = below(N_TYPES));
    tn_op *op = while_op(b, n, inits);
    tn_region *outer = b->region;
    tn_region *condition = begin_region(b, op, 0);
    pool inside = *p;
    for (uint32_t i = 1; i < n; i++) offer(&inside, types[i], &condition->args[i]);
    if (below(2)) build_ops(b, &inside, 2, 0);
    RETURN(b, compare(b, TN_comparison_direction_LT, &condition->args[0],
                      integer(b, (int32_t)below(4))));
    tn_region *body = begin_region(b, op, 1);
    inside = *p;
    for (uint32_t i = 0; i < n; i++) offer(&inside, types[i], &body->args[i]);
    build_ops(b, &inside, 1 + below(12), depth);
    tn_value *next[5] = {binary(b, TN_OP_add, &body->args[0], integer(b, 1))};
    for (uint32_t i = 1; i < n; i++) next[i] = take(b, &inside, types[i]);
    end_region(b, n, next);
    b->region = outer;
    for (uint32_t i = 0; i < n; i++) offer(p, types[i], &op->results[i]);
}

static void build_branch(builder *b, pool *p, uint32_t depth)
{
    bool is_if = below(2);
    tn_value *choice = take(b, p, SCALAR);
    if (is_if) choice = compare(b, TN_comparison_direction_LT, choice, integer(b, 40));
    unsigned types[3];
    const tn_type *results[3];
    uint32_t n = below(4), n_regions = is_if ? 2 : 1 + below(3);
    for (uint32_t i = 0; i < n; i++) results[i] = type_of(b, type_texts[types[i] = below(N_TYPES)]);
    tn_op *op = control(b, is_if ? TN_OP_if : TN_OP_case, 1, &choice, n, results, n_regions);
    tn_region *outer = b->region;
    for (uint32_t r = 0; r < n_regions; r++) {
        begin_region(b, op, r);
        pool inside = *p;
        build_ops(b, &inside, below(5), depth);
        tn_value *values[3];
        for (uint32_t i = 0; i < n; i++) values[i] = take(b, &inside, types[i]);
        end_region(b, n, values);
    }
    b->region = outer;
    for (uint32_t i = 0; i < n; i++) offer(p, types[i], &op->results[i]);
}

static void build_barrier(builder *b, pool *p)
{
    unsigned x = below(N_TYPES), y = below(N_TYPES);
    tn_value *values[2] = {take(b, p, x), take(b, p, y)};
    tn_op *op = add_op(b, TN_OP_optimization_barrier, 2, values, 2, 0);
    for (uint32_t i = 0; i < 2; i++) op->results[i].type = values[i]->type;
    offer(p, x, &op->results[0]);
    offer(p, y, &op->results[1]);
}

static tn_value *slice_to(builder *b, tn_value *x, const char *type)
{
    int64_t zero = 0, one = 1;
    tn_op *op = add_op(b, TN_OP_slice, 1, &x, 1, 0);
    op->results[0].type = type_of(b, type);
    tn_op_set_attr(b->module, op, TN_ATTR_start_indices, tn_attr_ints(b->arena, &zero, 1));
    tn_op_set_attr(b->module, op, TN_ATTR_limit_indices,
                   tn_attr_ints(b->arena, op->results[0].type->dims, 1));
    tn_op_set_attr(b->module, op, TN_ATTR_strides, tn_attr_ints(b->arena, &one, 1));
    return &op->results[0];
}

/* Two or three values joined in runs of some elements, and every so many elements of that. */
static void build_join(builder *b, pool *p)
{
    static const int64_t runs[] = {1, 2, 10, 50, 2000};
    int64_t run = runs[below(5)], n = 2 + below(2), n_rows = 2000 / run;
    char part[32], whole[32], line[32];
    snprintf(part, sizeof part, "%lldx%lldxi32", (long long)n_rows, (long long)run);
    snprintf(whole, sizeof whole, "%lldx%lldxi32", (long long)n_rows, (long long)(n * run));
    snprintf(line, sizeof line, "%lldxi32", (long long)(2000 * n));
    tn_value *parts[3];
    for (int64_t i = 0; i < n; i++) {
        parts[i] = take(b, p, WIDE);
        if (below(3)) parts[i] = binary(b, TN_OP_add, parts[i], take(b, p, WIDE));
        if (!below(4)) parts[i] = reverse(b, parts[i]);
        parts[i] = reshape(b, parts[i], part);
    }
    tn_op *join = add_op(b, TN_OP_concatenate, (uint32_t)n, parts, 1, 0);
    join->results[0].type = type_of(b, whole);
    tn_op_set_attr(b->module, join, TN_ATTR_dimension, tn_attr_int(b->arena, 1));
    tn_value *all = reshape(b, &join->results[0], line);
    for (int i = 0; i < 2; i++) {
        int64_t start = below((uint32_t)n), limit = 2000 * n;
        tn_op *op = add_op(b, TN_OP_slice, 1, &all, 1, 0);
        op->results[0].type = type_of(b, "2000xi32");
        tn_op_set_attr(b->module, op, TN_ATTR_start_indices, tn_attr_ints(b->arena, &start, 1));
        tn_op_set_attr(b->module, op, TN_ATTR_limit_indices, tn_attr_ints(b->arena, &limit, 1));
        tn_op_set_attr(b->module, op, TN_ATTR_strides, tn_attr_ints(b->arena, &n, 1));
        offer(p, WIDE, reshape(b, &op->results[0], type_texts[WIDE]));
    }
}

/* Something to broadcast to `type`, cut from a value or from memory. */
static void build_broadcast(builder *b, pool *p, unsigned type)
{
    uint32_t form = below(4), rank = broadcasts[type][form].rank;
    const tn_type *from = type_of(b, broadcasts[type][form].from);
    int64_t n = tn_type_elements(from);
    char flat[32];
    snprintf(flat, sizeof flat, "%lldx%s", (long long)n, type == FLOATS ? "f32" : "i32");
    tn_value *x = n > 1100 ? take(b, p, WIDE)
                           : slice_to(b,
                                      take(b, p,
                                           type == FLOATS ? FLOATS
                                           : type == WIDE ? LONG
                                                          : SMALL),
                                      flat);
    x = reshape(b, x, broadcasts[type][form].from);
    tn_op *op = add_op(b, TN_OP_broadcast_in_dim, 1, &x, 1, 0);
    op->results[0].type = type_of(b, type_texts[type]);
    tn_op_set_attr(b->module, op, TN_ATTR_broadcast_dimensions,
                   tn_attr_ints(b->arena, broadcasts[type][form].dims, rank));
    offer(p, type, &op->results[0]);
}

static void build_iota(builder *b, pool *p, unsigned type)
{
    tn_op *op = add_op(b, TN_OP_iota, 0, NULL, 1, 0);
    op->results[0].type = type_of(b, type_texts[type]);
    int64_t dim = op->results[0].type->rank == 2 ? below(2) : 0;
    tn_op_set_attr(b->module, op, TN_ATTR_iota_dimension, tn_attr_int(b->arena, dim));
    offer(p, type, &op->results[0]);
}

static void build_select(builder *b, pool *p, unsigned type)
{
    tn_value *x = take(b, p, type), *y = take(b, p, type), *scalar = take(b, p, SCALAR);
    tn_value *choice = compare(b, (int)below(6), x, y);
    if (below(2)) choice = compare(b, TN_comparison_direction_GT, scalar, integer(b, 3));
    tn_op *op = add_op(b, TN_OP_select, 3, (tn_value *[]){choice, x, y}, 1, 0);
    op->results[0].type = x->type;
    offer(p, type, &op->results[0]);
    if (type == FLOATS) return;
    tn_value *limits[2] = {below(2) ? take(b, p, type) : scalar,
                           below(2) ? take(b, p, type) : scalar};
    tn_op *clamp =
        add_op(b, TN_OP_clamp, 3, (tn_value *[]){limits[0], &op->results[0], limits[1]}, 1, 0);
    clamp->results[0].type = x->type;
    offer(p, type, &clamp->results[0]);
}

static void build_convert(builder *b, pool *p)
{
    bool to_float = below(2);
    tn_value *x = take(b, p, to_float ? SMALL : FLOATS);
    tn_value *y = take(b, p, FLOATS);
    if (!to_float) {
        /* Kept small, so that what comes back from integers is exact. */
        tn_op *bounded = add_op(
            b, TN_OP_clamp, 3,
            (tn_value *[]){splat(b, "f32", (float[]){-999}), y, splat(b, "f32", (float[]){999})}, 1,
            0);
        bounded->results[0].type = y->type;
        x = &bounded->results[0];
    }
    tn_op *op = add_op(b, TN_OP_convert, 1, &x, 1, 0);
    op->results[0].type = type_of(b, type_texts[to_float ? FLOATS : SMALL]);
    offer(p, to_float ? FLOATS : SMALL, &op->results[0]);
}

static void build_op(builder *b, pool *p, uint32_t depth)
{
    static const tn_op_kind whole[] = {TN_OP_add, TN_OP_subtract, TN_OP_multiply,
                                       TN_OP_xor, TN_OP_and,      TN_OP_maximum};
    unsigned type = below(N_TYPES);
    switch (below(depth ? 19 : 16)) {
    case 0:
    case 1:
    case 2:
        offer(p, type,
              binary(b, whole[below(type == FLOATS ? 3 : 6)], take(b, p, type), take(b, p, type)));
        break;
    case 3: offer(p, type, unary(b, TN_OP_negate, take(b, p, type))); break;
    case 4:
        if (type != SCALAR) offer(p, type, reverse(b, take(b, p, type)));
        break;
    case 5: offer(p, SQUARE, reshape(b, take(b, p, SMALL), type_texts[SQUARE])); break;
    case 6: offer(p, SMALL, reshape(b, take(b, p, SQUARE), type_texts[SMALL])); break;
    case 7:
        offer(p, LONG, update_slice(b, take(b, p, LONG), take(b, p, SMALL), take(b, p, SCALAR)));
        break;
    case 8: offer(p, type, random_constant(b, type)); break;
    case 9: build_barrier(b, p); break;
    case 10: /* an update as large as what it updates */
        offer(p, LONG, update_slice(b, take(b, p, LONG), take(b, p, LONG), take(b, p, SCALAR)));
        break;
    case 11:
        if (type != SCALAR) build_iota(b, p, type);
        break;
    case 12: build_broadcast(b, p, type); break;
    case 13: build_select(b, p, type); break;
    case 14: build_convert(b, p); break;
    case 15: build_join(b, p); break;
    case 16:
    case 17: build_while(b, p, depth - 1); break;
    case 18: build_branch(b, p, depth - 1); break;
    }
}

static void build_ops(builder *b, pool *p, uint32_t n, uint32_t depth)
{
    for (uint32_t i = 0; i < n; i++) build_op(b, p, depth);
}

#define PARAMETERS 6
#define RESULTS    6

static void build_random(builder *b, void *ctx)
{
    state = *(uint64_t *)ctx * 0x9E3779B97F4A7C15u + 1;
    for (int i = 0; i < 10; i++) below(2);
    begin_function(b, "main",
                   PARAMS(type_texts[0], type_texts[1], type_texts[2], type_texts[3], type_texts[4],
                          type_texts[5]));
    pool p = {0};
    for (unsigned i = 0; i < PARAMETERS; i++) offer(&p, i, &b->region->args[i]);
    build_ops(b, &p, 5 + below(30), 3);
    tn_value *results[RESULTS];
    for (uint32_t i = 0; i < RESULTS; i++) results[i] = take(b, &p, below(N_TYPES));
    /* Any parameter may be donated, to a result of its type or to none. */
    for (uint32_t i = 0; i < PARAMETERS; i++) {
        if (below(2)) continue;
        tn_named_attr *pair = TN_NEW(b->arena, tn_named_attr);
        uint32_t r = below(RESULTS);
        bool fits = tn_type_equal(results[r]->type, b->region->args[i].type);
        pair->key = fits ? "tf.aliasing_output" : "jax.buffer_donor";
        pair->value = fits ? tn_attr_int(b->arena, r) : tn_attr_bool(b->arena, true);
        tn_attr *dict = TN_NEW(b->arena, tn_attr);
        dict->kind = TN_ATTR_KIND_DICT;
        dict->dict.pairs = pair;
        dict->dict.n = 1;
        b->function->arg_attrs[i] = dict;
    }
    end_region(b, RESULTS, results);
}

/* --- the ways to run one --- */

typedef struct {
    void *data[RESULTS];
    size_t bytes[RESULTS];
} values;

static void *memory(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 64) & ~(size_t)63);
    assert_non_null(p);
    memset(p, 0x5A, bytes);
    return p;
}

static void free_values(values *v)
{
    for (uint32_t i = 0; i < RESULTS; i++) free(v->data[i]);
}

static void make_args(void **args)
{
    for (unsigned i = 0; i < PARAMETERS; i++) {
        args[i] = memory(ELEMENTS * 4);
        for (int32_t j = 0; j < ELEMENTS; j++) {
            if (i == FLOATS) ((float *)args[i])[j] = (float)(j % 37) - 9;
            else ((int32_t *)args[i])[j] = i == SCALAR ? 3 : j * 7919 % 1000;
        }
    }
}

typedef struct {
    tn_arena *arena;
    uint64_t *seed;
    void **args;
    values *out;
} oracle;

static tn_status *interpret(void *ctx)
{
    oracle *o = ctx;
    builder b = {.arena = o->arena, .module = tn_module_new(o->arena)};
    build_random(&b, o->seed);
    b.module->main = b.function;
    TN_TRY(tn_module_verify(b.module));
    tn_tensor args[PARAMETERS], results[RESULTS];
    const tn_op *ret = b.function->body.last;
    for (uint32_t i = 0; i < PARAMETERS; i++)
        args[i] = (tn_tensor){o->args[i], b.function->body.args[i].type};
    for (uint32_t i = 0; i < RESULTS; i++) {
        o->out->bytes[i] = tn_type_bytes(ret->operands[i]->type);
        o->out->data[i] = memory(o->out->bytes[i]);
        results[i] = (tn_tensor){o->out->data[i], ret->operands[i]->type};
    }
    tn_eval_context context = {0};
    return tn_interpret_function(b.function, &context, args, results);
}

static void expected_values(uint64_t seed, values *out)
{
    void *args[PARAMETERS];
    make_args(args);
    oracle o = {tn_arena_new(), &seed, args, out};
    MUST(tn_arena_run(o.arena, interpret, &o));
    tn_arena_free(o.arena);
    for (uint32_t i = 0; i < PARAMETERS; i++) free(args[i]);
}

/* donate: whether results that alias a parameter get its memory. */
static void check_run(const tn_executable *e, uint64_t seed, const values *expected, bool donate,
                      tn_thread_pool *threads)
{
    const tn_executable_info *info = tn_executable_get_info(e);
    void *args[PARAMETERS], *before[PARAMETERS], *results[RESULTS];
    make_args(args);
    make_args(before);
    for (uint32_t i = 0; i < RESULTS; i++) {
        int32_t from = info->results[i].alias;
        results[i] = donate && from >= 0 ? args[from] : memory(expected->bytes[i]);
    }
    MUST(run_on_pool(e, args, results, threads));
    for (uint32_t i = 0; i < RESULTS; i++)
        if (memcmp(results[i], expected->data[i], expected->bytes[i]))
            fail_msg("seed %llu: result %u differs (donation %d, threads %d)",
                     (unsigned long long)seed, i, donate, tn_thread_pool_size(threads));
    for (uint32_t i = 0; i < PARAMETERS; i++) {
        bool given = donate && info->params[i].alias >= 0;
        if (!given && memcmp(args[i], before[i], ELEMENTS * 4))
            fail_msg("seed %llu: parameter %u was written", (unsigned long long)seed, i);
        if (!given) free(args[i]);
        free(before[i]);
    }
    for (uint32_t i = 0; i < RESULTS; i++) free(results[i]);
}

static tn_status *find_together(void *ctx)
{
    tn_find_together(ctx, 0);
    return NULL;
}

/* Parts that may run at the same time do, however short they are. Gives how many there are. */
static uint32_t run_together(tn_executable *e)
{
    uint32_t n = 0;
    MUST(tn_arena_run(e->arena, find_together, e));
    for (uint32_t i = 0; i < e->n_steps; i++) {
        tn_together *t = (tn_together *)e->steps[i].together;
        if (!t) continue;
        t->part_ns = 1e6;
        n += t->n;
    }
    return n;
}

static void check_seed(uint64_t seed, tn_thread_pool *threads, uint32_t *n_together)
{
    values expected;
    expected_values(seed, &expected);
    for (int way = 0; way < 4; way++) {
        tn_executable *e;
        test_source s = {{.as_it_is = way & 1, .unfused = way & 2}, build_random, &seed};
        MUST(compile_source(&s, &e));
        for (int donate = 0; donate < 2; donate++) check_run(e, seed, &expected, donate, NULL);
        *n_together += run_together(e);
        for (int donate = 0; donate < 2; donate++) check_run(e, seed, &expected, donate, threads);
        tn_executable_release(e);
    }
    free_values(&expected);
}

static void random_programs_give_what_the_interpreter_gives(void **unused)
{
    const char *first = getenv("TN_TEST_SEED");
    uint64_t from = first ? strtoull(first, NULL, 10) : 1, n = first ? 1 : 1000;
    uint32_t n_together = 0;
    tn_thread_pool *threads;
    MUST(tn_thread_pool_create(3, &threads));
    for (uint64_t seed = from; seed < from + n; seed++) check_seed(seed, threads, &n_together);
    tn_thread_pool_destroy(threads);
    assert_true(n_together >= 2 * n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_give_what_the_interpreter_gives),
    };
    return cmocka_run_group_tests_name("executable-random", tests, NULL, NULL);
}
