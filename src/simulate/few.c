/* Which steps are compiled for their numbers of unknowns and states (few.inc). */
#include "expr/native.h"
#include "simulate/few_sizes.h"
#include "simulate/host.h"

#define DECLARE(k, nz) clsi_few clsi_few_##k##_##nz;
CLSI_FEW_SIZES(DECLARE)

static int is_direct(const cls_program *p) {
    return p && p->native && p->native->direct;
}

/* What few.inc leaves out: accounts, inputs, parameters, attitudes, noise, internal steps, formulas so long
 * that a Jacobian is kept. */
static int is_plain(const clsi_stepper *sp) {
    const cls_system *s = sp->s;
    return sp->scheme->build && !sp->scheme->estimate && !sp->scheme->tableau && !sp->bath &&
           !sp->lu && !sp->n_lifted && !sp->nu && !sp->n_free && !clsi_account_count(s) &&
           !s->n_units && is_direct(sp->residual) && is_direct(sp->next) &&
           is_direct(sp->monitor) && (!sp->guard || is_direct(sp->guard)) &&
           clsi_program_rest_length(sp->residual) <= CLSI_COSTLY_LENGTH;
}

clsi_few *clsi_few_find(const clsi_stepper *sp) {
    static const struct {
        size_t k, nz;
        clsi_few *run;
    } table[] = {
#define ROW(k, nz) {k, nz, clsi_few_##k##_##nz},
        CLSI_FEW_SIZES(ROW)};
    if (!is_plain(sp)) return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].k == sp->n_unknowns && table[i].nz == sp->nz) return table[i].run;
    return NULL;
}
