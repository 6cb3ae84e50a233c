/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic slices and updates in loops: what is read and computed where it lies gives what the
 * interpreter gives, and is found where it is allowed. So do products that a loop adds up, or whose
 * operand stays packed. */
#include "executable/program_test.h"
#include "reader/reader.h"

#define T  "tensor<64x64xf32>"
#define T1 "tensor<1x64x64xf32>"
#define TS "tensor<5x64x64xf32>"
#define IS "tensor<i32>, tensor<i32>, tensor<i32>"
#define SLICE(to, from, i)                                                                         \
    to "1 = stablehlo.dynamic_slice " from ", " i ", %zero, %zero, sizes = [1, 64, 64] : (" TS     \
       ", " IS ") -> " T1 "\n" to " = stablehlo.reshape " to "1 : (" T1 ") -> " T "\n"
#define UPDATE(to, into, v, i)                                                                     \
    to "1 = stablehlo.reshape " v " : (" T ") -> " T1 "\n" to                                      \
       " = stablehlo.dynamic_update_slice " into ", " to "1, " i ", %zero, %zero : (" TS ", " T1   \
       ", " IS ") -> " TS "\n"
#define PRODUCT(to, x, y)                                                                          \
    to " = stablehlo.dot_general " x ", " y ", contracting_dims = [1] x [0] : (" T ", " T          \
       ") -> " T "\n"
#define PRODUCT_BY_ROWS(to, x, y)                                                                  \
    to " = stablehlo.dot_general " x ", " y ", contracting_dims = [1] x [1] : (" T ", " T          \
       ") -> " T "\n"
/* xs, w, h and ys; the body gives %h2 and %ys2, all but one of whose rows are written. */
#define PROGRAM(body) PROGRAM_OF("4", body)
#define PROGRAM_OF(trips, body)                                                                    \
    "func.func public @main(%xs: " TS ", %w: " T ", %h0: " T ", %ys0: " TS ") -> (" T ", " TS      \
    ") {\n%zero = stablehlo.constant dense<0> : tensor<i32>\n"                                     \
    "%r:3 = stablehlo.while(%i = %zero, %h = %h0, %ys = %ys0) : tensor<i32>, " T ", " TS           \
    "\ncond {\n%n = stablehlo.constant dense<" trips "> : tensor<i32>\n"                           \
    "%go = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"      \
    "stablehlo.return %go : tensor<i1>\n} do {\n"                                                  \
    "%one = stablehlo.constant dense<1> : tensor<i32>\n"                                           \
    "%three = stablehlo.constant dense<3> : tensor<i32>\n"                                         \
    "%next = stablehlo.add %i, %one : tensor<i32>\n" body                                          \
    "stablehlo.return %next, %h2, %ys2 : tensor<i32>, " T ", " TS "\n}\n"                          \
    "return %r#1, %r#2 : " T ", " TS "\n}\n"

typedef struct {
    const char *name, *text;
    uint32_t looks, adds, packs;
    bool unset; /* ys is of no use, since each of its rows is written */
} program;

static const program programs[] = {
    {"what is stacked is carried too",
     PROGRAM(SLICE("%x", "%xs", "%i")
                 PRODUCT("%p", "%x", "%w") "%h2 = stablehlo.add %p, %h : " T
                                           "\n" UPDATE("%ys2", "%ys", "%h2", "%i")),
     2},
    {"what is stacked is read behind",
     PROGRAM(SLICE("%x", "%xs", "%i")
                 PRODUCT("%p", "%h", "%w") "%s = stablehlo.subtract %p, %x : " T "\n" UPDATE(
                     "%ys2", "%ys", "%s", "%i") PRODUCT("%h2", "%s", "%w")),
     2},
    {"backwards",
     PROGRAM("%j = stablehlo.subtract %three, %i : tensor<i32>\n" SLICE("%x", "%xs", "%j") PRODUCT(
         "%p", "%x", "%h") "%h2 = stablehlo.negate %p : " T "\n" UPDATE("%ys2", "%ys", "%p", "%j")),
     2},
    {"indices beyond the end",
     PROGRAM("%j = stablehlo.add %three, %i : tensor<i32>\n" SLICE("%x", "%xs", "%j")
                 PRODUCT("%p", "%x", "%w") "%h2 = stablehlo.add %p, %h : " T
                                           "\n" UPDATE("%ys2", "%ys", "%h2", "%j")),
     2},
    /* Here the tensor is looked at between what computes the update and the update. */
    {"the old place is read",
     PROGRAM(PRODUCT("%p", "%h", "%w")
                 SLICE("%x", "%ys", "%i") "%h2 = stablehlo.add %p, %x : " T
                                          "\n" UPDATE("%ys2", "%ys", "%p", "%i")),
     0},
    /* The second update may go over the first one's window, which is still wanted. */
    {"two updates",
     PROGRAM(PRODUCT("%p", "%h", "%w") PRODUCT("%q", "%p", "%w") UPDATE("%a", "%ys", "%p", "%i")
                 UPDATE("%ys2", "%a", "%q", "%i") "%h2 = stablehlo.subtract %p, %q : " T "\n"),
     0},
    {"a product is added up",
     PROGRAM(SLICE("%x", "%xs", "%i")
                 PRODUCT("%p", "%x", "%w") "%h2 = stablehlo.add %p, %h : " T
                                           "\n" UPDATE("%ys2", "%ys", "%x", "%i")),
     1, 1},
    {"an operand stays packed",
     PROGRAM(SLICE("%x", "%xs", "%i") PRODUCT_BY_ROWS("%p", "%x", "%w")
                 PRODUCT_BY_ROWS("%q", "%w", "%p") "%h2 = stablehlo.add %q, %h : " T
                                                   "\n" UPDATE("%ys2", "%ys", "%x", "%i")),
     1, 1, 1},
    {"all is written",
     PROGRAM_OF("5", SLICE("%x", "%xs", "%i") PRODUCT("%h2", "%x", "%h")
                         UPDATE("%ys2", "%ys", "%h2", "%i")),
     2, 0, 0, true},
    {"all is written backwards",
     PROGRAM_OF("5", "%four = stablehlo.constant dense<4> : tensor<i32>\n%j = stablehlo.subtract "
                     "%four, %i : tensor<i32>\n" SLICE("%x", "%xs", "%j") PRODUCT("%h2", "%x", "%h")
                         UPDATE("%ys2", "%ys", "%h2", "%j")),
     2, 0, 0, true},
    {"all but one are written backwards",
     PROGRAM_OF("5", "%j = stablehlo.subtract %three, %i : tensor<i32>\n" SLICE("%x", "%xs", "%j")
                         PRODUCT("%h2", "%x", "%h") UPDATE("%ys2", "%ys", "%h2", "%j")),
     2},
    {"the sum is wanted before",
     PROGRAM(SLICE("%x", "%xs", "%i")
                 PRODUCT("%p", "%x", "%h") "%h2 = stablehlo.add %h, %p : " T
                                           "\n" UPDATE("%ys2", "%ys", "%x", "%i")),
     1, 0},
    /* What the slice reads is changed at each turn. */
    {"a carried tensor is read",
     PROGRAM(SLICE("%x", "%ys", "%i") "%xr = stablehlo.reshape %w : (" T ") -> " T1
                                      "\n%ys2 = stablehlo.dynamic_update_slice %ys, %xr, %i, "
                                      "%zero, %zero : (" TS ", " T1 ", " IS ") -> " TS
                                      "\n" PRODUCT("%h2", "%x", "%h")),
     0},
};

enum { VALUES = 4, BYTES = 5 * 64 * 64 * 4 };

static tn_status *read_program(const tn_source *self, tn_arena *a, tn_module **out)
{
    const program *p = self->read_ctx;
    return tn_read_text(p->text, strlen(p->text), a, out);
}

typedef struct {
    const program *p;
    tn_arena *arena;
    void **args, **results;
} job;

static tn_status *run_interpreter(void *ctx)
{
    const job *j = ctx;
    tn_module *m;
    TN_TRY(tn_read_text(j->p->text, strlen(j->p->text), j->arena, &m));
    TN_TRY(tn_module_verify(m));
    tn_tensor args[VALUES], results[2];
    for (uint32_t i = 0; i < VALUES; i++)
        args[i] = (tn_tensor){j->args[i], m->main->body.args[i].type};
    for (uint32_t i = 0; i < 2; i++)
        results[i] = (tn_tensor){j->results[i], m->main->body.last->operands[i]->type};
    tn_eval_context context = {0};
    return tn_interpret_function(m->main, &context, args, results);
}

static void interpret(const program *p, void **args, void **results)
{
    job j = {p, tn_arena_new(), args, results};
    MUST(tn_arena_run(j.arena, run_interpreter, &j));
    tn_arena_free(j.arena);
}

static void run(const program *p, void *const *args, void *const *results)
{
    tn_source s = {.read = read_program, .read_ctx = p};
    tn_executable *e;
    MUST(tn_compile_source(&s, &e));
    uint32_t looks = 0, adds = 0;
    bool reads = false;
    for (uint32_t i = 0; i < e->n_steps; i++) {
        const tn_step *s0 = &e->steps[i];
        reads |= s0->kind == TN_STEP_COPY && s0->refs[0].base == TN_BASE_FIRST_PARAM + 3;
        looks += e->steps[i].kind == TN_STEP_LOOK;
        adds += e->steps[i].kind == TN_STEP_EVAL && e->steps[i].op->kind == TN_OP_add_dot;
    }
    if (looks != p->looks) fail_msg("%s: %u windows", p->name, looks);
    /* The baseline has no masks, without which only packed products can add. */
    bool may_add = p->packs || tn_cpu_isa() == TN_ISA_AVX2 || tn_cpu_isa() == TN_ISA_AVX512;
    if (adds != (may_add ? p->adds : 0)) fail_msg("%s: %u sums of products", p->name, adds);
    if (reads == p->unset) fail_msg("%s: ys0 is %sread", p->name, reads ? "" : "not ");
    if (e->n_packs != p->packs) fail_msg("%s: %u packed operands", p->name, e->n_packs);
    MUST(run_executable(e, args, results));
    tn_executable_release(e);
}

static void windows_give_what_copies_give(void **unused)
{
    void *args[VALUES], *expected[2], *got[2];
    for (uint32_t i = 0; i < VALUES; i++) {
        args[i] = aligned_alloc(64, BYTES);
        for (uint32_t k = 0; k < BYTES / 4; k++)
            ((float *)args[i])[k] = (float)((int)((k + 3 * i) * 37 % 23) - 11) * 0.0625f;
    }
    for (uint32_t i = 0; i < 2; i++) {
        expected[i] = aligned_alloc(64, BYTES);
        got[i] = aligned_alloc(64, BYTES);
    }
    for (uint32_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        interpret(&programs[i], args, expected);
        run(&programs[i], args, got);
        if (memcmp(expected[0], got[0], BYTES / 5) || memcmp(expected[1], got[1], BYTES))
            fail_msg("%s: results differ", programs[i].name);
    }
    for (uint32_t i = 0; i < VALUES; i++) free(args[i]);
    for (uint32_t i = 0; i < 2; i++) {
        free(expected[i]);
        free(got[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows_give_what_copies_give)};
    return cmocka_run_group_tests_name("executable-windows", tests, NULL, NULL);
}
