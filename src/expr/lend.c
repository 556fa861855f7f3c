/* Rows that one program lends to others, in lanes: the residual of a step, its next state and its guard have
 * the same inputs, and what the early stage of the latter two computes of them the residual has computed before.
 *
 * Of such a program only the rows are wanted that its later stages read: inputs, and early results. They are inputs and
 * early results of the lender (shared.c: the same operation on the same operands, so the same bits), which keeps them in
 * rows of their own; they are copied, and nothing is computed twice. Early instructions that the lender has not are
 * made late ones. */
#include "base/base.h"
#include "base/vectors.h"
#include "expr/program.h"
#include <stdlib.h>

typedef struct lending {
    cls_program *lender;
    const uint32_t *inputs;
    uint32_t *same;       /* of early instructions of a program: registers of the lender */
    unsigned char *wants; /* of its registers: later stages read it */
} lending;

static uint32_t first_of(const cls_program *p) {
    return (uint32_t)(p->n_constants + p->n_inputs);
}

static size_t early_of(const cls_program *p) {
    return first_of(p) + p->end[CLSI_STAGE_EARLY];
}

static void find_wanted(const cls_program *p, unsigned char *wants) {
    memset(wants, 0, first_of(p) + p->n_instructions);
    for (size_t k = p->end[CLSI_STAGE_EARLY]; k < p->n_instructions; k++) {
        const clsi_instruction *in = &p->code[k];
        wants[in->a] = 1;
        if (!clsi_is_unary(in) || clsi_is_norm(in)) wants[in->b] = 1;
        if (in->code == CLSI_QUOTIENT_FROM || in->code == CLSI_POW_FROM) wants[in->v] = 1;
    }
    for (size_t k = 0; k < p->n_outputs; k++) wants[p->outputs[k]] = 1;
}

static uint32_t lender_of(const lending *l, const cls_program *p, size_t r) {
    return clsi_program_counterpart(l->lender, p, (uint32_t)r, l->inputs, l->same);
}

static int is_missing(const lending *l, const cls_program *p, size_t r) {
    return l->wants[r] && lender_of(l, p, r) >= early_of(l->lender);
}

/* The registers that a program takes, in `wants`. Early instructions from the first one on that the lender has
 * not become late ones, which take what they need as well. */
static void find_borrowed(const lending *l, cls_program *p) {
    int again = 1;
    clsi_program_match(l->lender, p, p->end[CLSI_STAGE_EARLY], l->inputs, l->same);
    while (again) {
        again = 0;
        find_wanted(p, l->wants);
        for (size_t r = first_of(p); r < early_of(p) && !again; r++) {
            if (!is_missing(l, p, r)) continue;
            p->end[CLSI_STAGE_EARLY] = r - first_of(p);
            again = 1;
        }
    }
}

static uint32_t row_of(const cls_program *p, size_t r) {
    return r < first_of(p) ? (uint32_t)r : p->slotted[r - first_of(p)].r;
}

/* Marks what a program takes in `keep`, and gives it rows that its later stages alone write to. */
static void mark(const lending *l, cls_program *p, unsigned char *keep) {
    find_borrowed(l, p);
    for (size_t r = p->n_constants; r < early_of(p); r++)
        if (l->wants[r]) keep[lender_of(l, p, r)] = 1;
}

/* When the lender has its rows. The program stays as it is where there is no memory. */
static void list_rows(const lending *l, cls_program *p) {
    find_borrowed(l, p);
    p->borrowed = clsi_malloc((p->n_inputs + p->n_instructions) * sizeof *p->borrowed);
    for (size_t r = p->n_constants; p->borrowed && r < early_of(p); r++)
        if (l->wants[r])
            p->borrowed[p->n_borrowed++] =
                (clsi_row_pair){row_of(p, r), row_of(l->lender, lender_of(l, p, r))};
}

/* To compare takes the product of their lengths. */
enum { MOST_COMPARED = 1000000 };

static int can(const cls_program *p) {
    return clsi_program_may_share(p) && p->slotted && !p->plan && !p->native_lanes && !p->borrowed;
}

static int borrows(const cls_program *lender, const cls_program *p) {
    return can(p) && p->end[CLSI_STAGE_EARLY] * lender->n_instructions <= MOST_COMPARED;
}

static size_t registers_of(const cls_program *p) {
    return first_of(p) + p->n_instructions;
}

void clsi_lanes_lend(cls_program *lender, size_t n, cls_program *const *programs,
                     const uint32_t *inputs) {
    size_t most = 1;
    for (size_t i = 0; i < n; i++)
        if (programs[i] && registers_of(programs[i]) > most) most = registers_of(programs[i]);
    if (!can(lender) || lender->kept) return;
    lending l = {lender, inputs, clsi_malloc(most * sizeof *l.same), clsi_calloc(most, 1)};
    unsigned char *keep = clsi_calloc(registers_of(lender), 1);
    int fine = l.same && l.wants && keep;
    for (size_t i = 0; fine && i < n; i++) {
        if (!borrows(lender, programs[i])) continue;
        mark(&l, programs[i], keep);
        fine = clsi_program_find_slots(programs[i], NULL, NULL) == CLS_OK;
    }
    if (fine && clsi_program_find_slots(lender, keep, NULL) == CLS_OK) {
        for (size_t i = 0; i < n; i++)
            if (borrows(lender, programs[i])) list_rows(&l, programs[i]);
        lender->kept = keep, keep = NULL;
    }
    free(keep);
    free(l.same);
    free(l.wants);
}

int clsi_lanes_borrows(const cls_program *p) {
    return p->borrowed != NULL;
}

CLONES
static void copy_rows(size_t n, const clsi_row_pair *pair, size_t row, double *work,
                      const double *of) {
    for (const clsi_row_pair *end = pair + n; pair < end; pair++)
        for (size_t i = 0; i < row; i += CLSI_VECTOR)
            store(work + (size_t)pair->to * row + i, load(of + (size_t)pair->from * row + i));
}

void clsi_copy_rows(size_t n, const clsi_row_pair *pair, size_t row, double *work,
                    const double *of) {
    copy_rows(n, pair, row, work, of);
}

void clsi_lanes_borrow(const cls_program *p, double *work, double *of) {
    copy_rows(p->n_borrowed, p->borrowed, clsi_lanes_row(p), clsi_on_cache_line(work),
              clsi_on_cache_line(of));
}
