/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/jit_flow.h"

#include <string.h>

static void note_jump(tn_jit_flow *f, uint32_t label)
{
    if (f->n_jumps == f->jump_capacity) {
        f->jump_capacity = f->n_jumps ? 2 * f->n_jumps : 16;
        tn_jit_flow_jump_from *more =
            TN_NEW_ARRAY(f->jit->arena, tn_jit_flow_jump_from, f->jump_capacity);
        if (f->n_jumps) memcpy(more, f->jumps, f->n_jumps * sizeof *more);
        f->jumps = more;
    }
    f->jumps[f->n_jumps++] = (tn_jit_flow_jump_from){f->jit->size, label};
    tn_x86_u32(&f->x, 0);
}

static tn_x86_operand variable_at(uint32_t lanes, uint32_t v)
{
    return (tn_x86_operand){
        .place = AT_BASE, .reg = R10, .disp = (int32_t)(v * (lanes > 1 ? 64 : 8))};
}

static tn_x86_operand place_of_port(tn_writer *w, uint32_t port)
{
    if (port >= TN_JIT_VARIABLE) return variable_at(w->lanes, port - TN_JIT_VARIABLE);
    tn_x86_operand from = {.place = AT_BASE, .reg = RDI, .disp = (int32_t)(8 * port)};
    tn_x86_general(&w->x, true, false, 0x8b, R11, &from);
    return (tn_x86_operand){.place = AT_BASE, .reg = R11};
}

_Static_assert(offsetof(tn_jit_watch, ask) == 8 && offsetof(tn_jit_watch, begin) == 16 &&
                   offsetof(tn_jit_watch, end) == 24,
               "as written in the code below");

void tn_jit_flow_begin(tn_jit_flow *f, tn_jit *j, uint32_t lanes, uint32_t group)
{
    *f =
        (tn_jit_flow){.jit = j, .x = {.j = j, .avx512 = j->avx512}, .lanes = lanes, .group = group};
    do tn_x86_byte(&f->x, 0xcc); /* as in tn_jit_end */
    while (j->size % 64);
    f->start = j->size;
    /* push rbp; mov rbp, rsp; push rbx; sub rsp, frame; and rsp, -64; lea r10, [rsp + base] */
    tn_x86_bytes(&f->x, "\x55\x48\x89\xe5\x53\x48\x81\xec", 8);
    f->frame = j->size;
    tn_x86_u32(&f->x, 0);
    tn_x86_bytes(&f->x, "\x48\x83\xe4\xc0\x4c\x8d\x94\x24", 8);
    f->base = j->size;
    tn_x86_u32(&f->x, 0);
    if (group) tn_x86_bytes(&f->x, "\x4c\x8b\x4e\x10", 4); /* mov r9, [rsi + 16] */
    f->top = j->size;
}

static void exit_to(tn_writer *w, uint32_t label)
{
    tn_x86_bytes(&w->x, "\x0f\x84", 2); /* jz */
    note_jump(w->flow, label);
}

static void begin_writer(tn_jit_flow *f, tn_writer *w, const tn_jit_piece *p)
{
    tn_writer_begin(w, p, f->lanes);
    w->x = f->x;
    w->flow = f;
    w->strips = f->group > 0 || f->rows;
    w->at = place_of_port;
    w->exit_to = exit_to;
}

static void end_writer(tn_jit_flow *f, const tn_writer *w)
{
    f->x = w->x;
    if (w->n_slots > f->n_slots) f->n_slots = w->n_slots;
}

void tn_jit_flow_piece(tn_jit_flow *f, const tn_jit_piece *p)
{
    if (!p->n) return;
    tn_writer w;
    begin_writer(f, &w, p);
    tn_writer_body(&w);
    end_writer(f, &w);
}

/* Where PHIs are when the loop is left. */
typedef struct {
    uint32_t n;
    struct {
        tn_jv v;
        int8_t reg;
        int32_t slot;
    } of[TN_JIT_PHIS];
} exit_state;

static void note_kept(tn_writer *w, const tn_jit_instruction *i)
{
    exit_state *s = w->loop;
    const tn_writer_value *x = &w->values[i->in[0]];
    s->of[s->n].v = i->in[0];
    s->of[s->n].reg = x->reg;
    s->of[s->n++].slot = x->slot;
}

static tn_x86_operand variable_of(const tn_writer *w, tn_jv phi)
{
    return variable_at(w->lanes, (uint32_t)w->p->list[phi].aux - TN_JIT_VARIABLE);
}

/* push rdi; push rsi; push r9; push r10; vzeroupper; mov rdi, rsi; call [rsi + 8]; pop r10; pop r9;
 * pop rsi; pop rdi; test eax, eax */
static void call_ask(tn_x86 *x)
{
    tn_x86_bytes(x,
                 "\x57\x56\x41\x51\x41\x52\xc5\xf8\x77\x48\x89\xf7\xff\x56\x08"
                 "\x41\x5a\x41\x59\x5e\x5f\x85\xc0",
                 23);
}

void tn_jit_flow_loop(tn_jit_flow *f, const tn_jit_piece *p, uint32_t out)
{
    tn_writer w;
    exit_state state = {0};
    int8_t homes[TN_JIT_PHIS];
    uint32_t n = 0;
    begin_writer(f, &w, p);
    w.kept = note_kept;
    w.loop = &state;
    while (n < p->n && n < TN_JIT_PHIS && p->list[n].op == TN_JIT_PHI) n++;
    tn_writer_part(&w, 0, n);
    for (uint32_t i = 0; i < n; i++) homes[i] = w.values[i].reg;
    uint32_t top = tn_jit_flow_label(f), save = tn_jit_flow_label(f);
    tn_jit_flow_place(f, top);
    uint32_t at = n;
    while (at < p->n && p->list[at].op != TN_JIT_EXIT_UNLESS) at++;
    tn_writer_part(&w, n, at);
    if (at < p->n) p->list[at].aux = save;
    tn_writer_part(&w, at, p->n);
    tn_writer_next(&w, homes);
    tn_x86_bytes(&w.x, "\xff\x0e\x0f\x85", 4); /* dec dword [rsi]; jnz */
    note_jump(f, top);
    for (uint32_t i = 0; i < n; i++)
        tn_writer_save(&w, (tn_element_type)p->list[i].imm, homes[i], -1,
                       tn_writer_is_k(&w, (tn_jv)i), variable_of(&w, (tn_jv)i));
    call_ask(&w.x);
    tn_x86_bytes(&w.x, "\x0f\x85", 2); /* jnz */
    note_jump(f, out);
    for (uint32_t i = 0; i < n; i++)
        tn_writer_load(&w, (tn_element_type)p->list[i].imm, (unsigned)homes[i],
                       tn_writer_is_k(&w, (tn_jv)i), variable_of(&w, (tn_jv)i));
    tn_x86_byte(&w.x, 0xe9);
    note_jump(f, top);
    tn_jit_flow_place(f, save);
    for (uint32_t i = 0; i < state.n; i++)
        tn_writer_save(&w, (tn_element_type)p->list[state.of[i].v].imm, state.of[i].reg,
                       state.of[i].slot, tn_writer_is_k(&w, state.of[i].v),
                       variable_of(&w, state.of[i].v));
    end_writer(f, &w);
    tn_jit_flow_place(f, out);
}

void tn_jit_flow_begin_rows(tn_jit_flow *f, tn_jit *j, uint32_t lanes, uint32_t tail)
{
    tn_jit_flow_begin(f, j, lanes, 0);
    f->rows = true;
    if (tail) {
        tn_x86_byte(&f->x, 0xb8); /* mov eax, lanes; kmovw k7, eax */
        tn_x86_u32(&f->x, (1u << tail) - 1);
        tn_x86_bytes(&f->x, "\xc5\xf8\x92\xf8", 4);
    }
    f->top = f->jit->size;
}

void tn_jit_flow_column(tn_jit_flow *f, uint32_t column)
{
    tn_x86_bytes(&f->x, "\x41\xb9", 2); /* mov r9d, column */
    tn_x86_u32(&f->x, column);
}

void tn_jit_flow_columns(tn_jit_flow *f, const tn_jit_piece *p, uint32_t step, uint32_t block,
                         uint32_t end)
{
    tn_writer w;
    int8_t homes[TN_JIT_PHIS];
    uint32_t n = 0;
    tn_x86_bytes(&f->x, "\x4d\x8d\x81", 3); /* lea r8, [r9 + block]; mov eax, end */
    tn_x86_u32(&f->x, block);
    tn_x86_byte(&f->x, 0xb8);
    tn_x86_u32(&f->x, end);
    tn_x86_bytes(&f->x, "\x49\x39\xc0\x4c\x0f\x4f\xc0", 7); /* cmp r8, rax; cmovg r8, rax */
    begin_writer(f, &w, p);
    while (n < p->n && n < TN_JIT_PHIS && p->list[n].op == TN_JIT_PHI) n++;
    tn_writer_part(&w, 0, n);
    for (uint32_t i = 0; i < n; i++) homes[i] = w.values[i].reg;
    size_t top = f->jit->size;
    tn_writer_part(&w, n, p->n);
    tn_writer_next(&w, homes);
    tn_x86_bytes(&w.x, "\x49\x81\xc1", 3); /* add r9, step */
    tn_x86_u32(&w.x, step);
    tn_x86_bytes(&w.x, "\x4d\x39\xc1\x0f\x8c", 5); /* cmp r9, r8; jl top */
    tn_x86_u32(&w.x, (uint32_t)(top - (f->jit->size + 4)));
    for (uint32_t i = 0; i < n; i++)
        tn_writer_save(&w, (tn_element_type)p->list[i].imm, homes[i], -1,
                       tn_writer_is_k(&w, (tn_jv)i), variable_of(&w, (tn_jv)i));
    end_writer(f, &w);
}

void tn_jit_flow_jump_before(tn_jit_flow *f, uint32_t end, uint32_t label)
{
    tn_x86_bytes(&f->x, "\x49\x81\xf9", 3); /* cmp r9, end; jl */
    tn_x86_u32(&f->x, end);
    tn_x86_bytes(&f->x, "\x0f\x8c", 2);
    note_jump(f, label);
}

void tn_jit_flow_end_rows(tn_jit_flow *f, const int32_t *bytes, uint32_t n_ports)
{
    for (uint32_t k = 0; k < n_ports; k++) {
        tn_x86_operand at = {.place = AT_BASE, .reg = RDI, .disp = (int32_t)(8 * k)};
        if (!bytes[k]) continue;
        tn_x86_general(&f->x, true, false, 0x81, 0, &at); /* add */
        tn_x86_u32(&f->x, (uint32_t)bytes[k]);
    }
    tn_x86_bytes(&f->x, "\x48\xff\xce\x0f\x85", 5); /* dec rsi; jnz top */
    tn_x86_u32(&f->x, (uint32_t)(f->top - (f->jit->size + 4)));
}

uint32_t tn_jit_flow_label(tn_jit_flow *f)
{
    if (f->n_labels == f->label_capacity) {
        f->label_capacity = f->n_labels ? 2 * f->n_labels : 16;
        size_t *more = TN_NEW_ARRAY(f->jit->arena, size_t, f->label_capacity);
        if (f->n_labels) memcpy(more, f->labels, f->n_labels * sizeof *more);
        f->labels = more;
    }
    return f->n_labels++;
}

void tn_jit_flow_place(tn_jit_flow *f, uint32_t label)
{
    f->labels[label] = f->jit->size;
}

void tn_jit_flow_jump(tn_jit_flow *f, uint32_t label)
{
    tn_x86_byte(&f->x, 0xe9);
    note_jump(f, label);
}

void tn_jit_flow_jump_back(tn_jit_flow *f, uint32_t top, uint32_t out)
{
    tn_x86_bytes(&f->x, "\xff\x0e\x0f\x85", 4); /* dec dword [rsi]; jnz */
    note_jump(f, top);
    call_ask(&f->x);
    tn_x86_bytes(&f->x, "\x0f\x84", 2); /* jz */
    note_jump(f, top);
    tn_jit_flow_jump(f, out);
}

void tn_jit_flow_jump_if(tn_jit_flow *f, int32_t variable, unsigned bytes, uint32_t to,
                         uint32_t label)
{
    tn_x86_operand at = variable_at(f->lanes, (uint32_t)variable);
    if (bytes == 1) {
        tn_x86_general(&f->x, false, false, 0x80, 7, &at); /* cmp */
        tn_x86_byte(&f->x, to);
    } else {
        tn_x86_general(&f->x, false, false, 0x81, 7, &at);
        tn_x86_u32(&f->x, to);
    }
    tn_x86_bytes(&f->x, "\x0f\x84", 2);
    note_jump(f, label);
}

const tn_jit_code *tn_jit_flow_end(tn_jit_flow *f, uint32_t n_variables, bool abandon)
{
    tn_jit *j = f->jit;
    if (abandon) {
        j->size = f->start;
        return NULL;
    }
    if (f->group) {
        /* add r9, group; cmp r9, [rsi + 24]; jl */
        tn_x86_bytes(&f->x, "\x49\x81\xc1", 3);
        tn_x86_u32(&f->x, f->group);
        tn_x86_bytes(&f->x, "\x4c\x3b\x4e\x18\x0f\x8c", 6);
        tn_x86_u32(&f->x, (uint32_t)(f->top - (j->size + 4)));
    }
    /* vzeroupper; mov rbx, [rbp - 8]; leave; ret */
    tn_x86_bytes(&f->x, "\xc5\xf8\x77\x48\x8b\x5d\xf8\xc9\xc3", 9);
    /* From rsp on: slots, variables, and what aligning takes. */
    uint32_t base = 64 * f->n_slots;
    uint32_t bytes = (base + (f->lanes > 1 ? 64 : 8) * n_variables + 128 + 63) & ~63u;
    memcpy(j->bytes + f->frame, &bytes, 4);
    memcpy(j->bytes + f->base, &base, 4);
    for (uint32_t i = 0; i < f->n_jumps; i++) {
        const tn_jit_flow_jump_from *from = &f->jumps[i];
        uint32_t by = (uint32_t)(f->labels[from->label] - (from->at + 4));
        memcpy(j->bytes + from->at, &by, 4);
    }
    tn_x86_finish(&f->x);
    tn_jit_flow_code *c = TN_NEW(j->arena, tn_jit_flow_code);
    *c = (tn_jit_flow_code){{(tn_jit_fn *)f->start, 1}, j->flows};
    j->flows = c;
    return &c->code;
}
