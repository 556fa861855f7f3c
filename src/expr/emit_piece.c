/* A piece of a program that becomes one function of C (emit_c.c writes it): which of its instructions are computed there,
 * which registers it reads and keeps, and which results stand where they are used. Cost: linear in the program. */
#include "base/base.h"
#include "expr/emit.h"
#include <string.h>

/* Room for `need`, `size` and `live`; the caller frees need. */
int clsi_piece_room(clsi_piece *e) {
    size_t n = e->p->n_constants + e->p->n_inputs + e->p->n_instructions;
    e->need = clsi_calloc(3 * n, 1);
    e->size = e->need + n;
    e->live = e->size + n;
    return e->need != NULL;
}

clsi_piece clsi_piece_whole(const cls_program *p) {
    clsi_piece e = {.p = p, .last = p->n_instructions, .last_output = p->n_outputs, .early = 1};
    (void)clsi_piece_room(&e);
    return e;
}

/* ---- what is needed ---- */

int clsi_takes_value(const clsi_instruction *in) {
    return in->code == CLSI_QUOTIENT_FROM || in->code == CLSI_POW_FROM;
}

int clsi_is_opaque(const clsi_instruction *in) {
    return in->code == CLSI_POW || in->code == CLSI_CALL || in->code == CLSI_QUOTIENT ||
           clsi_takes_value(in);
}

/* The registers that n passes from `first` on read. */
static void mark_calls(const cls_program *p, size_t first, size_t n, unsigned char *need) {
    for (const clsi_field_call *c = p->calls + first; n > 0; c++, n--)
        for (size_t i = 0; c->pass == CLSI_PASS_VALUE && i < p->fields[c->field]->d; i++)
            need[p->field_inputs[c->x + i]] |= CLSI_USED;
}

/* The registers that instruction k reads, `how` as CLSI_USED and CLSI_OPAQUE. */
static void mark_instruction(const cls_program *p, size_t k, unsigned char *need) {
    const clsi_instruction *in = &p->code[k];
    unsigned char how = clsi_is_opaque(in) ? CLSI_USED | CLSI_OPAQUE : CLSI_USED;
    if (in->code == CLSI_FIELD) {
        mark_calls(p, in->take->first, in->take->n, need);
        return;
    }
    need[in->a] |= how;
    if (!clsi_is_unary(in)) need[in->b] |= how;
    if (clsi_takes_value(in)) need[in->v] |= how;
}

int clsi_is_kept(const uint32_t *slot, size_t k) {
    return slot && slot[k] != CLSI_NOT_SHARED;
}

/* Does result k go to keep from here? */
int clsi_is_stored(const clsi_piece *e, size_t k) {
    return clsi_is_kept(e->slot, k) && !(clsi_is_kept(e->known, k) && e->known[k] == e->slot[k]);
}

/* Where results are known, only what leads to others is computed. Sets `live`; `need` is scratch. */
static void find_live(const clsi_piece *e) {
    const cls_program *p = e->p;
    size_t base = p->n_constants + p->n_inputs;
    memset(e->live, !e->known, p->n_instructions);
    if (!e->known) return;
    memset(e->need, 0, base + p->n_instructions);
    for (size_t k = e->first_output; k < e->last_output; k++) e->need[p->outputs[k]] = CLSI_USED;
    for (size_t k = e->last; k-- > e->first;) {
        e->live[k] = (e->need[base + k] || clsi_is_stored(e, k)) && !clsi_is_kept(e->known, k);
        if (e->live[k]) mark_instruction(p, k, e->need);
    }
}

void clsi_piece_mark(const clsi_piece *e) {
    const cls_program *p = e->p;
    find_live(e);
    memset(e->need, 0, p->n_constants + p->n_inputs + p->n_instructions);
    for (size_t k = e->first; k < e->last; k++) {
        if (e->live[k]) mark_instruction(p, k, e->need);
        if (clsi_is_stored(e, k)) e->need[p->n_constants + p->n_inputs + k] |= CLSI_USED;
    }
    if (e->early) mark_calls(p, p->early_calls, p->n_early_calls, e->need);
    for (size_t k = e->first_output; k < e->last_output; k++) e->need[p->outputs[k]] |= CLSI_USED;
}

/* ---- what stands where it is used ---- */

enum { OPERATIONS = 12 }; /* in one expression at most: it can still be read */

static void use(unsigned char *uses, uint32_t reg, int times) {
    uses[reg] = (unsigned char)(uses[reg] + times < 3 ? uses[reg] + times : 3);
}

static void use_calls(const cls_program *p, size_t first, size_t n, unsigned char *uses) {
    for (const clsi_field_call *c = p->calls + first; n > 0; c++, n--)
        for (size_t i = 0; c->pass == CLSI_PASS_VALUE && i < p->fields[c->field]->d; i++)
            use(uses, p->field_inputs[c->x + i], 1);
}

/* How often the text of the piece would name each register. */
static void count_uses(const clsi_piece *e, unsigned char *uses) {
    const cls_program *p = e->p;
    size_t base = p->n_constants + p->n_inputs;
    for (size_t k = e->first; k < e->last; k++) {
        const clsi_instruction *in = &p->code[k];
        if (clsi_is_stored(e, k)) use(uses, (uint32_t)(base + k), 1);
        if (!e->live[k]) continue;
        if (in->code == CLSI_FIELD) {
            use_calls(p, in->take->first, in->take->n, uses);
            continue;
        }
        /* constants of functions have other names (append_constants) */
        size_t from = clsi_is_opaque(in) ? p->n_constants : 0;
        if (in->a >= from) use(uses, in->a, in->code == CLSI_SQUARE ? 2 : 1);
        if (!clsi_is_unary(in) && in->b >= from) use(uses, in->b, 1);
        if (clsi_takes_value(in)) use(uses, in->v, 1);
    }
    if (e->early) use_calls(p, p->early_calls, p->n_early_calls, uses);
    for (size_t k = e->first_output; k < e->last_output; k++) use(uses, p->outputs[k], 1);
}

int clsi_has_twin(const clsi_piece *e, size_t k) {
    return e->pairs.twin && k >= e->first && k < e->last &&
           e->pairs.twin[k - e->first] != CLSI_NOT_SHARED;
}

/* A result that is used once stands where it is used: half of the text is names otherwise. The
 * operations and their order stay. */
void clsi_piece_inline(const clsi_piece *e) {
    const cls_program *p = e->p;
    size_t base = p->n_constants + p->n_inputs;
    unsigned char *size = e->size;
    memset(size, 0, base + p->n_instructions);
    count_uses(e, size);
    for (size_t k = 0; k < base + p->n_instructions; k++) {
        int named = size[k] != 1, once = !named && !clsi_has_twin(e, k - base);
        if (!named && k >= base + e->first) e->need[k] |= CLSI_ONCE;
        size[k] = 0;
        if (k < base + e->first || k >= base + e->last || !once || !e->live[k - base]) continue;
        const clsi_instruction *in = &p->code[k - base];
        int operations = 1;
        if (in->code != CLSI_FIELD) operations += size[in->a];
        if (in->code != CLSI_FIELD && !clsi_is_unary(in)) operations += size[in->b];
        if (clsi_takes_value(in)) operations += size[in->v];
        if (operations <= OPERATIONS) size[k] = (unsigned char)operations;
    }
}

/* slot[k] for results that a later stage reads; `need` is scratch, for all registers. */
size_t clsi_piece_slots(const cls_program *p, const unsigned char *also, uint32_t *slot,
                        unsigned char *need) {
    size_t base = p->n_constants + p->n_inputs, n = 0;
    for (size_t k = 0; k < p->n_instructions; k++) slot[k] = also && also[k] ? 0 : CLSI_NOT_SHARED;
    for (int stage = 0; stage < CLSI_STAGES; stage++) {
        size_t begin = stage ? p->end[stage - 1] : 0;
        memset(need, 0, base + p->n_instructions);
        for (size_t k = begin; k < p->end[stage]; k++) mark_instruction(p, k, need);
        for (size_t k = 0; k < begin; k++)
            if (need[base + k]) slot[k] = 0;
    }
    for (size_t k = 0; k < p->n_outputs; k++) {
        size_t begin = p->end[k < p->n_first_outputs ? CLSI_STAGE_EARLY : CLSI_STAGE_FIRST];
        if (p->outputs[k] >= base && p->outputs[k] - base < begin) slot[p->outputs[k] - base] = 0;
    }
    for (size_t k = 0; k < p->n_instructions; k++)
        if (slot[k] == 0) slot[k] = (uint32_t)n++;
    return n;
}

clsi_piece clsi_piece_of(const cls_program *p, int stage, const uint32_t *slot,
                         const clsi_piece *room) {
    clsi_piece e = {.p = p,
                    .last = p->n_instructions,
                    .last_output = p->n_outputs,
                    .slot = slot,
                    .early = 1,
                    .need = room->need,
                    .size = room->size,
                    .live = room->live};
    if (stage == CLSI_STAGES) return e;
    e.first = stage ? p->end[stage - 1] : 0;
    e.last = p->end[stage];
    e.early = stage == CLSI_STAGE_EARLY;
    e.first_output = stage == CLSI_STAGE_REST ? p->n_first_outputs : 0;
    if (stage != CLSI_STAGE_REST) e.last_output = e.early ? 0 : p->n_first_outputs;
    return e;
}
