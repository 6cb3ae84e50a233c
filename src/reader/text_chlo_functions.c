/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of CHLO in terms of StableHLO, for which machine code is made together with what
 * surrounds them. f16, bf16 and narrower go by way of f32. Complex numbers, and what has no row for
 * its type, stay custom calls. */
#include <string.h>

#include "reader/text_chlo.h"

/* Statements "name = op operand ..", of %x and %y to %r. A number is a constant, LT and other
 * directions are comparisons. */
typedef struct {
    const char *name, *statements;
    bool is_for_f64; /* too */
} function;

/* (1 - x)(1 + x) keeps what 1 - x x loses near 1. */
#define HALF_CHORD                                                                                 \
    "one = 1; two = 2; below = subtract one x; above = add one x; "                                \
    "square = multiply below above; root = sqrt square; "
/* exp(|x| / 2) twice where exp(|x|) could overflow before the result does. */
#define HALF_EXP                                                                                   \
    "size = abs x; one = 1; half = 0.5; e = exponential size; near = multiply half e; "            \
    "limit = 80; is_far = GT size limit; s = multiply half size; h = exponential s; "              \
    "hh = multiply half h; far = multiply hh h; up = select is_far far near; "                     \
    "inverse = divide one e; down = multiply half inverse; "
/* Beyond `most` the 1 beside the square means nothing, and the square may overflow. */
#define LARGE_LOG(most)                                                                            \
    "one = 1; ln2 = 0.693147180559945309417232; most = " most "; size = abs x; "                   \
    "is_large = GT size most; l = log size; large = add l ln2; "

static const function functions[] = {
    {"acos",
     HALF_CHORD "half = atan2 root above; double = multiply two half; minus = negate one; "
                "is_pi = EQ x minus; pi = 3.14159265358979323846264; r = select is_pi pi double",
     true},
    {"acosh",
     LARGE_LOG("1.0e18") "t = subtract x one; s = add x one; p = multiply t s; q = sqrt p; "
                         "u = add t q; near = log_plus_one u; far = select is_large large near; "
                         "is_low = LT x one; "
                         "zero = 0; wrong = divide zero zero; r = select is_low wrong far",
     true},
    {"asin", HALF_CHORD "base = add one root; half = atan2 x base; r = multiply two half", true},
    {"asinh",
     LARGE_LOG("1.0e18") "p = multiply size size; s = add p one; q = sqrt s; b = add q one; "
                         "f = divide p b; u = add size f; near = log_plus_one u; "
                         "far = select is_large large near; sign = sign x; v = multiply sign far; "
                         "zero = 0; is_zero = EQ x zero; r = select is_zero x v",
     true},
    {"atan", "one = 1; r = atan2 x one", true},
    {"atanh",
     "half = 0.5; minus = negate x; up = log_plus_one x; down = log_plus_one minus; "
     "both = subtract up down; r = multiply half both",
     true},
    {"cosh", HALF_EXP "r = add up down", true},
    {"erf", "r = tenon.erf x", false},
    {"erfc", "r = tenon.erfc x", false},
    {"erf_inv", "r = tenon.erf_inv x", false},
    {"sinh",
     HALF_EXP "big = subtract up down; sign = sign x; large = multiply sign big; "
              "m = exponential_minus_one x; n = add m one; o = divide m n; t = add m o; "
              "small = multiply half t; is_small = LT size one; r = select is_small small large",
     true},
};

static const function *find(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name)) return &functions[i];
    return NULL;
}

/* The next word of a statement; false at its end. */
static bool word(const char **at, char out[64])
{
    size_t n = 0;
    while (**at == ' ') ++*at;
    while (**at && **at != ' ' && **at != ';' && n < 63) out[n++] = *(*at)++;
    out[n] = 0;
    return n > 0;
}

static bool is_direction(const char *op)
{
    return op[0] >= 'A' && op[0] <= 'Z';
}

static void put_constant(tn_text *t, const char *value, const tn_type *type)
{
    bool is_whole = !strpbrk(value, ".ex");
    tn_text_put(t, "stablehlo.constant dense<%s%s> : ", value, is_whole ? ".0" : "");
    tn_text_type(t, type);
    tn_text_put(t, "\n");
}

static void put_statement(tn_text *t, const char **at, const tn_type *type, const tn_type *mask)
{
    char name[64], op[64], operand[64];
    const tn_type *in[3] = {type, type, type};
    uint32_t n = 0;
    word(at, name);
    word(at, op); /* = */
    word(at, op);
    tn_text_put(t, "%%%s = ", name);
    if (strchr("-0123456789", op[0])) {
        put_constant(t, op, type);
        return;
    }
    if (is_direction(op)) tn_text_put(t, "stablehlo.compare %s, ", op);
    else tn_text_put(t, "\"%s%s\"(", strchr(op, '.') ? "" : "stablehlo.", op);
    for (; n < 3 && word(at, operand); n++) tn_text_put(t, "%s%%%s", n ? ", " : "", operand);
    tn_text_put(t, is_direction(op) ? " : " : ") : ");
    if (!strcmp(op, "select")) in[0] = mask;
    tn_chlo_signature(t, in, n, is_direction(op) ? mask : type);
}

static void put_convert(tn_text *t, const char *to, const char *from, const tn_type *in,
                        const tn_type *out)
{
    tn_text_put(t, "%%%s = stablehlo.convert %%%s : ", to, from);
    tn_chlo_signature(t, &in, 1, out);
}

tn_status *tn_chlo_function(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c)
{
    if (o->operands.n != 1 || o->op->n_results != 1)
        return tn_parse_error(p, o->where, "chlo.%s should have 1 operand and 1 result", c->name);
    const function *f = find(c->name);
    const tn_type *t = tn_chlo_operand(o, 0), *result = o->op->results[0].type;
    const char *name;
    tn_text text;
    tn_chlo_begin(p, o, c, &text, &name);
    bool is_plain = t->kind == TN_TYPE_TENSOR && tn_type_is_static(t) && !t->quantization &&
                    tn_is_float(t->element) && tn_type_equal(t, result);
    if (!is_plain || (t->element == TN_F64 && !f->is_for_f64)) {
        tn_text_put(&text, "%%r = stablehlo.custom_call @chlo.%s(%%a0) : ", c->name);
        tn_chlo_signature(&text, &t, 1, result);
        return tn_chlo_end(p, o, &text, name, "%r");
    }
    bool is_narrow = t->element != TN_F32 && t->element != TN_F64;
    const tn_type *wide = is_narrow ? tn_chlo_tensor(p, TN_F32, t->rank, t->dims) : t;
    const tn_type *mask = tn_chlo_tensor(p, TN_I1, t->rank, t->dims);
    put_convert(&text, "x", "a0", t, wide);
    for (const char *at = f->statements; *at; at += *at == ';')
        put_statement(&text, &at, wide, mask);
    put_convert(&text, "result", "r", wide, t);
    return tn_chlo_end(p, o, &text, name, "%result");
}
