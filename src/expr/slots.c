/* Registers for lanes: used again as soon as nobody reads them any more.
 *
 * In lanes a register is a row of sixteen numbers, and some hundred rows leave the first-level cache.
 * Most results are read once or twice, soon: the 588 registers of the adiabatic piston's residual need 160
 * rows. Constants and inputs keep their rows. So do outputs, and what the early stage gives to the
 * later ones: those have a row that nothing else is ever written to, so that a stage may be run again. A result
 * never goes to the row of its own operands. Cost: linear. */
#include "base/base.h"
#include "expr/program.h"
#include <stdlib.h>
#include <string.h>

enum { KEPT = UINT32_MAX };

typedef struct slots {
    cls_program *p;
    uint32_t first; /* register of the first instruction */
    uint32_t *last; /* of each register: the last instruction that reads it, or KEPT */
    uint32_t *slot; /* of each register */
    uint32_t *free; /* slots */
    size_t n_free;
} slots;

static void read_by(slots *s, uint32_t reg, size_t k) {
    size_t early = s->first + s->p->end[CLSI_STAGE_EARLY];
    if (s->last[reg] != KEPT) s->last[reg] = (uint32_t)k;
    if (reg < early && s->first + k >= early) s->last[reg] = KEPT;
}

static void find_last(slots *s) {
    const cls_program *p = s->p;
    for (uint32_t r = 0; r < s->first; r++) s->last[r] = KEPT;
    for (size_t k = 0; k < p->n_instructions; k++) {
        const clsi_instruction *in = &p->slotted[k];
        s->last[s->first + k] = (uint32_t)k;
        read_by(s, in->a, k);
        read_by(s, in->b, k);
        read_by(s, in->v, k);
    }
    for (size_t k = 0; k < p->n_outputs; k++) s->last[p->outputs[k]] = KEPT;
}

static void give_back(slots *s, uint32_t reg, size_t k) {
    if (s->last[reg] != k) return;
    s->free[s->n_free++] = s->slot[reg];
    s->last[reg] = KEPT; /* once */
}

static void give_slots(slots *s) {
    cls_program *p = s->p;
    p->n_slots = s->first;
    for (uint32_t r = 0; r < s->first; r++) s->slot[r] = r;
    for (size_t k = 0; k < p->n_instructions; k++) {
        clsi_instruction *in = &p->slotted[k];
        uint32_t reg = s->first + (uint32_t)k, a = in->a, b = in->b, v = in->v;
        in->r = s->last[reg] != KEPT && s->n_free ? s->free[--s->n_free] : (uint32_t)p->n_slots++;
        s->slot[reg] = in->r;
        in->a = s->slot[a], in->b = s->slot[b], in->v = s->slot[v];
        give_back(s, a, k);
        give_back(s, b, k);
        give_back(s, v, k);
        give_back(s, reg, k);
    }
    for (size_t k = 0; k < p->n_outputs; k++) p->slot_outputs[k] = s->slot[p->outputs[k]];
}

cls_status clsi_program_find_slots(cls_program *p, const unsigned char *keep, cls_error *error) {
    size_t n = p->n_constants + p->n_inputs + p->n_instructions;
    slots s = {p, (uint32_t)(n - p->n_instructions)};
    free(p->slotted);
    free(p->slot_outputs);
    p->slotted = clsi_malloc(p->n_instructions * sizeof *p->slotted);
    p->slot_outputs = clsi_calloc(p->n_outputs, sizeof *p->slot_outputs);
    s.last = clsi_malloc(n * sizeof *s.last);
    s.slot = clsi_malloc(n * sizeof *s.slot);
    s.free = clsi_malloc(n * sizeof *s.free);
    int fine = p->slotted && p->slot_outputs && s.last && s.slot && s.free;
    if (fine) {
        memcpy(p->slotted, p->code, p->n_instructions * sizeof *p->slotted);
        for (size_t k = 0; k < p->n_instructions; k++) {
            clsi_instruction *in = &p->slotted[k];
            if (in->code != CLSI_QUOTIENT_FROM && in->code != CLSI_POW_FROM) in->v = in->a;
        }
        find_last(&s);
        for (size_t r = 0; keep && r < n; r++)
            if (keep[r]) s.last[r] = KEPT;
        give_slots(&s);
    }
    if (!fine) { /* rows for all registers, then */
        free(p->slotted);
        free(p->slot_outputs);
        p->slotted = NULL, p->slot_outputs = NULL;
    }
    free(s.last);
    free(s.slot);
    free(s.free);
    return fine ? CLS_OK : clsi_no_memory(error);
}
