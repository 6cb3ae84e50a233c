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

static tn_x86_operand variable_at(uint32_t v)
{
    return (tn_x86_operand){.place = AT_BASE, .reg = RBP, .disp = -(int32_t)(8 * v + 16)};
}

static tn_x86_operand place_of_port(tn_writer *w, uint32_t port)
{
    if (port >= TN_JIT_VARIABLE) return variable_at(port - TN_JIT_VARIABLE);
    tn_x86_operand from = {.place = AT_BASE, .reg = RDI, .disp = (int32_t)(8 * port)};
    tn_x86_general(&w->x, true, false, 0x8b, R11, &from);
    return (tn_x86_operand){.place = AT_BASE, .reg = R11};
}

void tn_jit_flow_begin(tn_jit_flow *f, tn_jit *j)
{
    *f = (tn_jit_flow){.jit = j, .x = {.j = j, .avx512 = j->avx512}};
    do tn_x86_byte(&f->x, 0xcc); /* as in tn_jit_end */
    while (j->size % 64);
    f->start = j->size;
    /* push rbp; mov rbp, rsp; push rbx; sub rsp, frame; and rsp, -64 */
    tn_x86_bytes(&f->x, "\x55\x48\x89\xe5\x53\x48\x81\xec", 8);
    f->frame = j->size;
    tn_x86_u32(&f->x, 0);
    tn_x86_bytes(&f->x, "\x48\x83\xe4\xc0", 4);
}

static void exit_to(tn_writer *w, uint32_t label)
{
    tn_x86_bytes(&w->x, "\x0f\x84", 2); /* jz */
    note_jump(w->flow, label);
}

void tn_jit_flow_piece(tn_jit_flow *f, const tn_jit_piece *p)
{
    if (!p->n) return;
    tn_writer w;
    tn_writer_begin(&w, p, 1);
    w.x = f->x;
    w.flow = f;
    w.at = place_of_port;
    w.exit_to = exit_to;
    tn_writer_body(&w);
    f->x = w.x;
    if (w.n_slots > f->n_slots) f->n_slots = w.n_slots;
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

_Static_assert(offsetof(tn_jit_watch, ask) == 8, "as written in the code below");

void tn_jit_flow_jump_back(tn_jit_flow *f, uint32_t top, uint32_t out)
{
    tn_x86_bytes(&f->x, "\xff\x0e\x0f\x85", 4); /* dec dword [rsi]; jnz */
    note_jump(f, top);
    /* push rdi; push rsi; vzeroupper; mov rdi, rsi; call [rsi + 8]; pop rsi; pop rdi;
     * test eax, eax; jz */
    tn_x86_bytes(&f->x, "\x57\x56\xc5\xf8\x77\x48\x89\xf7\xff\x56\x08\x5e\x5f\x85\xc0\x0f\x84", 17);
    note_jump(f, top);
    tn_jit_flow_jump(f, out);
}

void tn_jit_flow_jump_if(tn_jit_flow *f, int32_t variable, unsigned bytes, uint32_t to,
                         uint32_t label)
{
    tn_x86_operand at = variable_at((uint32_t)variable);
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
    /* vzeroupper; mov rbx, [rbp - 8]; leave; ret */
    tn_x86_bytes(&f->x, "\xc5\xf8\x77\x48\x8b\x5d\xf8\xc9\xc3", 9);
    uint32_t bytes = (8 * n_variables + 64 * (f->n_slots + 2) + 63) & ~63u;
    memcpy(j->bytes + f->frame, &bytes, 4);
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
