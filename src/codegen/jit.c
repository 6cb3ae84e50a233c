/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/jit.h"

#include <string.h>
#include <sys/mman.h>

#include "base/cpu_features.h"
#include "base/options.h"
#include "codegen/jit_write.h"
#include "kernels/half.h"

/* A code that was written, and the piece it came from. */
struct tn_jit_known {
    uint64_t hash;
    uint32_t n;
    const tn_jit_instruction *list;
    tn_jit_code *code;
};

/* --- memory --- */

#if defined __x86_64__
static bool may_execute(void)
{
    void *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) return false;
    bool may = mprotect(m, 4096, PROT_READ | PROT_EXEC) == 0;
    munmap(m, 4096);
    return may;
}

tn_jit *tn_jit_new(tn_arena *a)
{
    static _Atomic int known; /* 1: no, 2: yes */
    if (!known) known = may_execute() ? 2 : 1;
    tn_isa isa = tn_cpu_isa();
    if (known == 1 || !tn_options_get()->jit || (isa != TN_ISA_AVX2 && isa != TN_ISA_AVX512))
        return NULL;
    tn_jit *j = TN_NEW(a, tn_jit);
    j->arena = a;
    j->avx512 = isa == TN_ISA_AVX512;
    j->f16 = j->avx512 && __builtin_cpu_supports("avx512fp16");
    j->counts = j->avx512 && __builtin_cpu_supports("avx512cd") &&
                __builtin_cpu_supports("avx512vpopcntdq");
    return j;
}
#else
tn_jit *tn_jit_new(tn_arena *a)
{
    (void)a;
    return NULL;
}
#endif

tn_status *tn_jit_finish(tn_jit *j, tn_jit_memory *out)
{
    *out = (tn_jit_memory){0};
    if (!j || !j->size) return NULL;
    size_t size = (j->size + 4095) & ~(size_t)4095;
    void *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED)
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu bytes of machine code", size);
    memcpy(m, j->bytes, j->size);
    if (mprotect(m, size, PROT_READ | PROT_EXEC)) {
        munmap(m, size);
        return TN_ERROR(RESOURCE_EXHAUSTED, "the system doesn't let machine code be executed");
    }
    *out = (tn_jit_memory){m, size};
    for (uint32_t i = 0; i < j->n_slots; i++) {
        tn_jit_code *c = j->known[i].code;
        if (c) c->entry = (tn_jit_fn *)((uintptr_t)m + (uintptr_t)c->entry);
    }
    for (tn_jit_flow_code *f = j->flows; f; f = f->next)
        f->code.entry = (tn_jit_fn *)((uintptr_t)m + (uintptr_t)f->code.entry);
    return NULL;
}

void tn_jit_free(const tn_jit_memory *m)
{
    if (m->memory) munmap(m->memory, m->size);
}

/* --- pieces --- */

bool tn_jit_has_f16(const tn_jit *j)
{
    return j->f16;
}

bool tn_jit_has_counts(const tn_jit *j)
{
    return j->counts;
}

void tn_jit_begin(tn_jit *j, tn_jit_piece *out)
{
    *out = (tn_jit_piece){.jit = j,
                          .arena = j->arena,
                          .avx512 = j->avx512,
                          .capacity = j->spare ? j->spare_capacity : 0,
                          .list = j->spare};
    j->spare = NULL;
}

void tn_jit_drop(tn_jit_piece *p)
{
    tn_jit *j = p->jit;
    if (j->spare && j->spare_capacity >= p->capacity) return;
    j->spare = p->list;
    j->spare_capacity = p->capacity;
    p->list = NULL;
    p->n = p->capacity = 0;
}

static tn_jv append(tn_jit_piece *p, const tn_jit_instruction *i)
{
    if (p->n == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 64;
        tn_jit_instruction *more = TN_NEW_ARRAY(p->arena, tn_jit_instruction, p->capacity);
        if (p->n) memcpy(more, p->list, p->n * sizeof *more);
        p->list = more;
    }
    p->list[p->n] = *i;
    return (tn_jv)p->n++;
}

tn_jv tn_jit_emit(tn_jit_piece *p, tn_jit_op op, unsigned bytes, unsigned imm, uint64_t aux,
                  unsigned n, tn_jv a, tn_jv b, tn_jv c)
{
    tn_jit_instruction i = {.op = (uint8_t)op,
                            .bytes = (uint8_t)bytes,
                            .imm = (uint8_t)imm,
                            .n_operands = (uint8_t)n,
                            .in = {a, b, c},
                            .aux = aux};
    p->wide |= bytes == 8;
    return append(p, &i);
}

tn_jv tn_jit_const(tn_jit_piece *p, unsigned bytes, uint64_t bits)
{
    if (bytes == 4) bits &= 0xffffffffu;
    for (uint32_t v = 0; v < p->n; v++) {
        const tn_jit_instruction *i = &p->list[v];
        if (i->op == TN_JIT_CONST && i->aux == bits && i->bytes == bytes) return (tn_jv)v;
    }
    return tn_jit_emit(p, TN_JIT_CONST, bytes, 0, bits, 0, 0, 0, 0);
}

tn_jv tn_jit_element(tn_jit_piece *p, tn_element_type e, const void *data)
{
    uint64_t bits = 0;
    unsigned bytes = (unsigned)tn_element_type_bytes(e);
    memcpy(&bits, data, bytes);
    switch ((int)e) {
    case TN_I1: return TN_JIT_NO_VALUE;
    case TN_I8: bits = (uint32_t)(int8_t)bits; break;
    case TN_I16: bits = (uint32_t)(int16_t)bits; break;
    case TN_BF16: bits <<= 16; break;
    case TN_F16:
        bits = p->half ? bits << 16 | bits : tn_bits_of_f32(tn_f32_of_f16((uint16_t)bits));
        break;
    default: break;
    }
    return tn_jit_const(p, bytes == 8 ? 8 : 4, bits);
}

/* In a register. */
static unsigned bytes_in(const tn_jit_piece *p, tn_element_type e)
{
    return tn_element_type_bytes(e) == 8 ? 8 : e == TN_F16 && p->half ? 2 : 4;
}

tn_jv tn_jit_load(tn_jit_piece *p, uint32_t port, tn_element_type e, bool splat)
{
    unsigned bytes = bytes_in(p, e);
    return tn_jit_emit(p, splat ? TN_JIT_SPLAT : TN_JIT_LOAD, bytes, (unsigned)e, port, 0, 0, 0, 0);
}

void tn_jit_store(tn_jit_piece *p, uint32_t port, tn_element_type e, tn_jv v)
{
    const tn_jit_instruction *i = &p->list[v];
    bool cut = e == TN_BF16 && i->op == TN_JIT_AND && p->list[i->in[1]].op == TN_JIT_CONST &&
               p->list[i->in[1]].aux == 0xffff0000u;
    if (cut) v = i->in[0]; /* as storing does anyway */
    tn_jit_emit(p, TN_JIT_STORE, bytes_in(p, e), (unsigned)e, port, 1, v, 0, 0);
}

void tn_jit_streaming(const tn_jit_piece *p, const bool *is_streamed, tn_jit_piece *out)
{
    *out = *p;
    out->capacity = p->n;
    out->list = tn_dup(p->arena, p->list, p->n * sizeof *p->list);
    for (uint32_t v = 0; v < p->n; v++) {
        tn_jit_instruction *i = &out->list[v];
        if (i->op == TN_JIT_STORE && is_streamed[i->aux]) i->op = TN_JIT_STREAM;
        if (i->op == TN_JIT_LOAD && is_streamed[i->aux]) i->in[0] = 1;
    }
}

/* --- codes --- */

/* The addresses of the first ports are in registers, those of others are fetched. */
static const uint8_t port_registers[] = {RAX, RDX, R8, R9, R10};
#define N_PORT_REGISTERS (sizeof port_registers)

static tn_x86_operand port_at(tn_writer *w, uint32_t port)
{
    if (port < N_PORT_REGISTERS)
        return (tn_x86_operand){.place = AT_BASE, .reg = port_registers[port]};
    tn_x86_operand from = {.place = AT_BASE, .reg = RDI, .disp = (int32_t)(8 * port)};
    tn_x86_general(&w->x, true, false, 0x8b, R11, &from);
    return (tn_x86_operand){.place = AT_BASE, .reg = R11};
}

static uint32_t count_ports(const tn_jit_piece *p)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < p->n; v++) {
        const tn_jit_instruction *i = &p->list[v];
        bool uses = i->op == TN_JIT_LOAD || i->op == TN_JIT_SPLAT || i->op == TN_JIT_STORE ||
                    i->op == TN_JIT_STREAM;
        if (uses && i->aux >= n) n = (uint32_t)i->aux + 1;
    }
    return n;
}

/* --- several groups of lanes side by side ---
 *
 * One group waits for each of its instructions; others have something to do in the meantime.
 * Products of integers take ten cycles, so their chains want more groups. */

enum { GROUPS = 4, SLOW_GROUPS = 8 };
enum { GROUPED_INSTRUCTIONS = 640, SPARE_REGISTERS = 5, K_REGISTERS = 7 };

/* Is it the same for all groups? Constants, first elements, and what is made of them. */
static bool *find_shared(const tn_jit_piece *p)
{
    bool *is_shared = TN_NEW_ARRAY(p->arena, bool, p->n);
    for (uint32_t v = 0; v < p->n; v++) {
        const tn_jit_instruction *i = &p->list[v];
        bool is_source = i->op == TN_JIT_CONST || i->op == TN_JIT_SPLAT;
        is_shared[v] = is_source || (i->op > TN_JIT_UREM && i->n_operands > 0);
        for (uint32_t k = 0; k < i->n_operands; k++) is_shared[v] &= is_shared[i->in[k]];
    }
    return is_shared;
}

/* How many groups have registers for all that is wanted later at any time. */
static uint32_t choose_groups(const tn_jit_piece *p, const bool *is_shared)
{
    uint32_t *last = TN_NEW_ARRAY(p->arena, uint32_t, p->n);
    for (uint32_t v = 0; v < p->n; v++)
        for (uint32_t k = 0; k < p->list[v].n_operands; k++) last[p->list[v].in[k]] = v;
    uint32_t n = 0;
    bool slow = false;
    for (uint32_t v = 0; v < p->n; v++) {
        n += !is_shared[v];
        slow |= p->list[v].op == TN_JIT_IMUL && !is_shared[v];
    }
    uint32_t registers[2] = {(p->avx512 ? 30 : 14) - SPARE_REGISTERS, K_REGISTERS};
    uint32_t groups = slow ? SLOW_GROUPS : GROUPS;
    while (groups > 1 && groups * n > GROUPED_INSTRUCTIONS) groups--;
    uint32_t now[2] = {0, 0}; /* vectors, masks */
    for (uint32_t v = 0; v < p->n; v++) {
        const tn_jit_instruction *i = &p->list[v];
        for (uint32_t k = 0; k < i->n_operands; k++) {
            tn_jv o = i->in[k];
            bool again = p->list[o].op == TN_JIT_CONST;
            for (uint32_t m = 0; m < k; m++) again |= i->in[m] == o;
            if (last[o] == v && !again)
                now[p->avx512 && tn_writer_makes_mask(p, o)] -= is_shared[o] ? 1 : 256;
        }
        if (last[v] > v && i->op != TN_JIT_CONST)
            now[p->avx512 && tn_writer_makes_mask(p, (tn_jv)v)] += is_shared[v] ? 1 : 256;
        for (int c = 0; c < 2; c++)
            while (groups > 1 && groups * (now[c] / 256) + now[c] % 256 > registers[c]) groups--;
    }
    return groups;
}

static tn_jit_piece interleave(const tn_jit_piece *p, uint32_t groups, const bool *is_shared)
{
    tn_jit_piece out = *p;
    out.list = NULL;
    out.n = out.capacity = 0;
    tn_jv *at = TN_NEW_ARRAY(p->arena, tn_jv, (size_t)p->n * groups);
    for (uint32_t v = 0; v < p->n; v++) {
        const tn_jit_instruction *from = &p->list[v];
        bool memory =
            from->op == TN_JIT_LOAD || from->op == TN_JIT_STORE || from->op == TN_JIT_STREAM;
        for (uint32_t g = 0; g < groups; g++) {
            if (g && is_shared[v]) {
                at[v * groups + g] = at[v * groups];
                continue;
            }
            tn_jit_instruction i = *from;
            for (uint32_t k = 0; k < i.n_operands; k++) i.in[k] = at[i.in[k] * groups + g];
            if (memory) i.aux |= (uint64_t)g << 20;
            at[v * groups + g] = append(&out, &i);
        }
    }
    return out;
}

static void patch(tn_jit *j, size_t at)
{
    uint32_t rel = (uint32_t)(j->size - (at + 4));
    memcpy(j->bytes + at, &rel, 4);
}

/* While at least `step` elements are left. */
static void write_groups(tn_writer *w, uint32_t step)
{
    tn_x86 *x = &w->x;
    tn_jit *j = x->j;
    tn_x86_bytes(x, "\x48\x81\xee", 3); /* sub rsi, step */
    tn_x86_u32(x, step);
    tn_x86_bytes(x, "\x48\x39\xf1\x0f\x8f", 5); /* cmp rcx, rsi; jg past */
    size_t skip = j->size;
    tn_x86_u32(x, 0);
    size_t top = j->size;
    tn_writer_body(w);
    tn_x86_bytes(x, "\x48\x81\xc1", 3); /* add rcx, step */
    tn_x86_u32(x, step);
    tn_x86_bytes(x, "\x48\x39\xf1\x0f\x8e", 5); /* cmp rcx, rsi; jle top */
    tn_x86_u32(x, (uint32_t)(top - (j->size + 4)));
    patch(j, skip);
    tn_x86_bytes(x, "\x48\x81\xc6", 3); /* add rsi, step */
    tn_x86_u32(x, step);
}

static void write_loop(tn_writer *w, const tn_jit_piece *p, uint32_t lanes)
{
    const bool *is_shared = find_shared(p);
    uint32_t groups = lanes > 1 ? choose_groups(p, is_shared) : 1;
    tn_jit_piece several = *p;
    if (groups > 1) several = interleave(p, groups, is_shared);
    tn_writer_begin(w, &several, lanes);
    w->at = port_at;
    tn_x86 *x = &w->x;
    tn_jit *j = x->j;
    /* push rbp; mov rbp, rsp; push rbx; sub rsp, frame */
    tn_x86_bytes(x, "\x55\x48\x89\xe5\x53\x48\x81\xec", 8);
    size_t frame = j->size;
    tn_x86_u32(x, 0);
    tn_x86_bytes(x, "\x48\x83\xe4\xc0", 4); /* and rsp, -64 */
    uint32_t n_ports = count_ports(p);
    for (uint32_t i = 0; i < n_ports && i < N_PORT_REGISTERS; i++) {
        tn_x86_operand from = {.place = AT_BASE, .reg = RDI, .disp = (int32_t)(8 * i)};
        tn_x86_general(x, true, false, 0x8b, port_registers[i], &from);
    }
    tn_x86_bytes(x, "\x31\xc9", 2); /* xor ecx, ecx */
    size_t skip = 0;
    uint32_t n_slots = 0;
    if (groups > 1) {
        write_groups(w, groups * lanes);
        tn_x86_bytes(x, "\x48\x39\xf1\x0f\x83", 5); /* cmp rcx, rsi; jae end */
        skip = j->size;
        tn_x86_u32(x, 0);
        n_slots = w->n_slots;
        tn_x86 so_far = *x;
        tn_writer_begin(w, p, lanes);
        w->at = port_at;
        w->x = so_far;
    }
    size_t top = j->size;
    tn_writer_body(w);
    tn_x86_bytes(x, "\x48\x83\xc1", 3); /* add rcx, lanes */
    tn_x86_byte(x, w->lanes);
    tn_x86_bytes(x, "\x48\x39\xf1\x0f\x82", 5); /* cmp rcx, rsi; jb top */
    tn_x86_u32(x, (uint32_t)(top - (j->size + 4)));
    if (skip) patch(j, skip);
    /* vzeroupper; mov rbx, [rbp - 8]; leave; ret */
    tn_x86_bytes(x, "\xc5\xf8\x77\x48\x8b\x5d\xf8\xc9\xc3", 9);
    if (w->n_slots > n_slots) n_slots = w->n_slots;
    uint32_t bytes = n_slots * 64 + 64;
    memcpy(j->bytes + frame, &bytes, 4);
    tn_x86_finish(x);
}

static uint64_t hash_of(const tn_jit_piece *p)
{
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (uint32_t v = 0; v < p->n; v++) {
        const tn_jit_instruction *i = &p->list[v];
        uint64_t a = (uint64_t)i->op | (uint64_t)i->bytes << 8 | (uint64_t)i->imm << 16 |
                     (uint64_t)i->n_operands << 24;
        uint64_t b = (uint64_t)i->in[0] | (uint64_t)i->in[1] << 16 | (uint64_t)i->in[2] << 32;
        h = (h ^ a ^ b << 13 ^ i->aux * 0xff51afd7ed558ccdu) * 0xc4ceb9fe1a85ec53u;
        h ^= h >> 29;
    }
    return h;
}

static struct tn_jit_known *find(tn_jit *j, uint64_t hash, const tn_jit_piece *p)
{
    for (uint32_t at = (uint32_t)hash;; at++) {
        struct tn_jit_known *k = &j->known[at & (j->n_slots - 1)];
        if (!k->code) return k;
        if (p && k->hash == hash && k->n == p->n &&
            !memcmp(k->list, p->list, p->n * sizeof *p->list))
            return k;
    }
}

static void make_room(tn_jit *j)
{
    if (2 * j->n_known < j->n_slots) return;
    struct tn_jit_known *old = j->known;
    uint32_t n = j->n_slots;
    j->n_slots = n ? 2 * n : 64;
    j->known = TN_NEW_ARRAY(j->arena, struct tn_jit_known, j->n_slots);
    for (uint32_t i = 0; i < n; i++)
        if (old[i].code) *find(j, old[i].hash, NULL) = old[i];
}

const tn_jit_code *tn_jit_end(tn_jit_piece *p, bool single)
{
    tn_jit *j = p->jit;
    if (!p->n || count_ports(p) > TN_JIT_PORTS) return NULL;
    make_room(j);
    uint64_t hash = hash_of(p) + single;
    struct tn_jit_known *k = find(j, hash, p);
    if (k->code) return k->code;
    tn_jit_code *c = TN_NEW(j->arena, tn_jit_code);
    c->lanes = single ? 1 : (j->avx512 ? 64 : 32) / (p->wide ? 8 : 4);
    /* Something stands before each: sanitizers look there for the type of what is called. */
    do tn_x86_byte(&(tn_x86){.j = j}, 0xcc);
    while (j->size % 64);
    c->entry = (tn_jit_fn *)j->size;
    tn_writer w;
    write_loop(&w, p, c->lanes);
    *k = (struct tn_jit_known){hash, p->n, tn_dup(j->arena, p->list, p->n * sizeof *p->list), c};
    j->n_known++;
    return c;
}

void tn_jit_run(const tn_jit_code *c, const tn_jit_port *ports, uint32_t n_ports,
                void *const *memory, int64_t n)
{
    tn_jit_run_with(c, c, ports, n_ports, memory, n);
}

/* `n` elements, mostly one of a common size. */
static inline void move_few(char *to, const char *from, size_t bytes, size_t n)
{
    switch (bytes * n) {
    case 1: memcpy(to, from, 1); return;
    case 4: memcpy(to, from, 4); return;
    case 8: memcpy(to, from, 8); return;
    default: memcpy(to, from, bytes * n); return;
    }
}

void tn_jit_run_with(const tn_jit_code *c, const tn_jit_code *body, const tn_jit_port *ports,
                     uint32_t n_ports, void *const *memory, int64_t n)
{
    int64_t whole = n / c->lanes * c->lanes, rest = n - whole;
    if (whole) body->entry(memory, whole);
    if (!rest) return;
    /* The last group may overlap the one before, if that hasn't written over what it reads. */
    bool overlaps = whole > 0;
    for (uint32_t i = 0; i < n_ports && overlaps; i++)
        for (uint32_t k = 0; k < n_ports && ports[i].is_output; k++)
            if (ports[k].is_input && memory[k] == memory[i]) overlaps = false;
    if (overlaps) {
        void *last[TN_JIT_PORTS];
        for (uint32_t i = 0; i < n_ports; i++)
            last[i] = (char *)memory[i] + (n - c->lanes) * ports[i].bytes;
        c->entry(last, c->lanes);
        return;
    }
    _Alignas(64) char buffers[TN_JIT_PORTS][64];
    void *some[TN_JIT_PORTS];
    for (uint32_t i = 0; i < n_ports; i++) {
        const tn_jit_port *p = &ports[i];
        some[i] = memory[i];
        if (!p->bytes) continue;
        some[i] = buffers[i];
        if (!p->is_input) continue;
        memset(buffers[i], 0, sizeof buffers[i]);
        move_few(buffers[i], (char *)memory[i] + whole * p->bytes, p->bytes, (size_t)rest);
    }
    c->entry(some, c->lanes);
    for (uint32_t i = 0; i < n_ports; i++)
        if (ports[i].is_output)
            move_few((char *)memory[i] + whole * ports[i].bytes, buffers[i], ports[i].bytes,
                     (size_t)rest);
}
