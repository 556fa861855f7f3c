/* Ordinary differential equations without any structure: `ode x' = formula`.
 *
 * For comparison with systems that have one (O-NET and the structured neural ODE of the EPHS
 * thesis, sections 6.2 and 6.3). Inside, a state is a momentum without a coordinate, the
 * hamiltonian is zero and the right-hand side is a force: p' = F(p, t). So schemes, learning and
 * models need to know nothing new. No law is promised: there is no energy and no entropy to speak
 * of, and whoever asks for them is told so. */
#include "system/language.h"
#include <stdlib.h>
#include <string.h>

cls_status clsi_read_ode(clsi_reader *r, clsi_cursor c) {
    char found[48], state[64], velocity[72];
    size_t length = clsi_word_length(r, &c, 0), where = c.at;
    if (!length || length > 60)
        return clsi_at(r, where, "expected `ode x' = formula`, found %s", clsi_found(r, &c, found));
    snprintf(state, sizeof state, "%.*s", (int)length, r->clean + where);
    snprintf(velocity, sizeof velocity, "v.%s", state);
    c.at += length;
    cls_status status = clsi_expect(r, &c, "'", "the state, as in `ode x' = ...`");
    if (status == CLS_OK) status = clsi_expect(r, &c, "=", "`'`");
    if (status == CLS_OK) status = clsi_add_momentum(r, state, velocity, where);
    if (status != CLS_OK) return status;
    if (!clsi_grow(&r->rates, &r->rates_capacity, r->n_rates + 1, sizeof *r->rates))
        return clsi_no_memory(r->error);
    r->rates[r->n_rates++] = (clsi_rate){r->s->n - 1, where, c};
    r->s->ode = 1;
    return CLS_OK;
}

static cls_status read_rate(clsi_reader *r, const clsi_rate *rate) {
    cls_system *s = r->s;
    clsi_expression e;
    if (clsi_is_unknown(r, rate->formula))
        return clsi_at(r, rate->formula.at,
                       "an unknown right-hand side needs a name: `part f = unknown`, then `ode %s' "
                       "= f`",
                       s->momentum[rate->state].name);
    cls_status status = clsi_read_expression(r, rate->formula.at, rate->formula.end, &e);
    if (status == CLS_OK)
        status = clsi_allow(r, &e, CLSI_MOMENTUM | CLSI_PARAMETER | CLSI_TIME | CLSI_INPUT,
                            "a rate of an ode");
    if (status != CLS_OK) return status;
    s->raw.force[rate->state] = e.written; /* for reading: with the names of unknown parts */
    s->bound.force[rate->state] = e.bound;
    return CLS_OK;
}

cls_status clsi_read_rates(clsi_reader *r) {
    cls_system *s = r->s;
    cls_status status = CLS_OK;
    if (!s->ode) return CLS_OK;
    if (r->has_formula || s->nq || s->m || s->n != r->n_rates)
        return clsi_at(r, r->rates[0].where,
                       "`ode` stands alone: a file of ordinary differential equations has no "
                       "coordinates, entropies and energies, only states and their rates");
    for (size_t i = 0; i < r->n_rates && status == CLS_OK; i++) status = read_rate(r, &r->rates[i]);
    s->formalism = CLS_HAMILTONIAN;
    s->written = s->raw.formula = s->bound.formula = cls_constant(s->g, 0);
    s->has_work = 0;
    r->has_formula = 1;
    r->formula_where = r->rates[0].where;
    return status;
}
