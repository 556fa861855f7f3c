/* Forces and heats at a place, written once for every scheme and every residual:
 *
 *     force_j = external_j + operator_j + sum_i F_ij
 *     heat_i  = operator heat_i - F_i.v + sum_k kappa_ik (T_k - T_i) + sources and reservoirs
 *
 * What friction takes from the motion and what it gives as heat are the same products, so that
 * energy is kept wherever both are used with the same v and T. */
#include "base/base.h"
#include "system/system.h"

/* F_i.v */
static cls_node power(cls_graph *g, const clsi_sparse *friction, size_t i, const cls_node *F,
                      const cls_node *v) {
    cls_node sum = cls_constant(g, 0);
    CLSI_EACH(friction, i, e)
    sum = cls_add(g, sum, cls_mul(g, F[e], v[friction->entries[e].column]));
    return sum;
}

/* What is put in at the place, beside what comes out. */
typedef struct pieces {
    cls_node *friction, *external, *source, *slope;
} pieces;

static cls_node *carve(cls_node **at, size_t n) {
    cls_node *here = *at;
    *at += n;
    return here;
}

size_t clsi_flows_size(const cls_system *s) {
    size_t n = s->n, m = s->m, nr = s->nr;
    return s->bound.friction.n + s->bound.conductance.n + 2 * n + m * nr + nr + 2 * (n + m) + 4 * m;
}

static void lay_out(const cls_system *s, cls_node *room, pieces *p, clsi_flows *out) {
    size_t n = s->n, m = s->m, nr = s->nr;
    p->friction = carve(&room, s->bound.friction.n);
    p->external = carve(&room, n);
    out->bath = carve(&room, m * nr);
    p->source = carve(&room, m);
    p->slope = carve(&room, n + m);
    out->force = carve(&room, n);
    out->heat = carve(&room, m);
    out->own = carve(&room, m);
    out->outside = carve(&room, m);
    out->operator_force = carve(&room, n);
    out->operator_heat = carve(&room, m); /* right behind */
    out->kappa = carve(&room, s->bound.conductance.n);
    out->reservoir = carve(&room, nr);
}

static cls_status put_table(const cls_system *s, const clsi_place *at, const clsi_sparse *t,
                            cls_node *to) {
    for (size_t e = 0; e < t->n; e++) to[e] = t->entries[e].node;
    return clsi_place_at(s, at, t->n, to, to);
}

static cls_status put_in(const cls_system *s, const clsi_place *at, const cls_node *dS,
                         const pieces *p, const clsi_flows *out) {
    size_t n = s->n, m = s->m, nr = s->nr;
    const struct {
        size_t count;
        const cls_node *from;
        cls_node *to;
    } all[] = {{n, s->bound.force, p->external},
               {m * nr, s->bound.bath, out->bath},
               {m, s->bound.source, p->source},
               {nr, s->bound.reservoir, out->reservoir},
               {n, s->bound.operator_force, out->operator_force},
               {m, s->bound.operator_heat, out->operator_heat}};
    cls_status status = put_table(s, at, &s->bound.friction, p->friction);
    if (status == CLS_OK) status = put_table(s, at, &s->bound.conductance, out->kappa);
    for (size_t i = 0; i < sizeof all / sizeof *all && status == CLS_OK; i++)
        status = clsi_place_at(s, at, all[i].count, all[i].from, all[i].to);
    if (status != CLS_OK || !s->has_entropy) return status;
    status = clsi_place_at(s, at, n + m, s->entropy_slope + s->nq, p->slope);
    if (status != CLS_OK) return status;
    return cls_substitute(s->g, n + m, out->operator_force, n + m, s->dS, dS ? dS : p->slope,
                          out->operator_force);
}

void clsi_flows_cross(const cls_system *s, clsi_flows *flows) {
    const clsi_crossing *c = &flows->crossing;
    cls_graph *g = s->g;
    for (size_t i = 0; i < s->m; i++) {
        flows->outside[i] = c->source[i];
        for (size_t k = 0; k < s->nr; k++) {
            cls_node flow =
                cls_mul(g, c->bath[i * s->nr + k], cls_sub(g, c->reservoir[k], c->conducts[i]));
            flows->outside[i] = cls_add(g, flows->outside[i], flow);
        }
    }
    clsi_account_rates(s, c, flows->account);
}

cls_status clsi_flows_of(const cls_system *s, const clsi_place *at, const cls_node *dS,
                         cls_node *room, clsi_flows *out) {
    cls_graph *g = s->g;
    size_t n = s->n, m = s->m, nr = s->nr;
    const cls_node *v = at->v ? at->v : s->v, *T = at->T ? at->T : s->T;
    pieces p;
    lay_out(s, room, &p, out);
    out->escaped = cls_constant(g, 0);
    out->crossing = (clsi_crossing){
        p.external, p.friction, p.source, out->bath, out->reservoir, v, T, T, cls_constant(g, 0)};
    cls_status status = put_in(s, at, dS, &p, out);
    if (status == CLS_OK && s->varies && s->form)
        status = clsi_place_at(s, at, 1, &s->form->energy_t, &out->crossing.varying);
    if (status != CLS_OK) return status;
    const clsi_sparse *friction = &s->bound.friction, *conductance = &s->bound.conductance;
    for (size_t k = 0; k < nr && at->quiet; k++)
        if (clsi_has_noise(s, k)) CLSI_EACH(friction, m + k, e) p.friction[e] = cls_constant(g, 0);
    for (size_t j = 0; j < n; j++)
        out->force[j] = cls_add(g, p.external[j], out->operator_force[j]);
    for (size_t i = 0; i < m + nr; i++) CLSI_EACH(friction, i, e) {
            cls_node *force = &out->force[friction->entries[e].column];
            *force = cls_add(g, *force, p.friction[e]);
        }
    for (size_t i = 0; i < m; i++) {
        out->own[i] = cls_neg(g, power(g, friction, i, p.friction, v));
        out->heat[i] = cls_add(g, out->operator_heat[i], out->own[i]);
        CLSI_EACH(conductance, i, e) {
            /* the same difference on both sides: what one gives the other takes, to the last bit */
            size_t k = conductance->entries[e].column;
            cls_node drop = k > i ? cls_sub(g, T[k], T[i]) : cls_sub(g, T[i], T[k]);
            cls_node flow = cls_mul(g, out->kappa[e], drop);
            out->heat[i] = k > i ? cls_add(g, out->heat[i], flow) : cls_sub(g, out->heat[i], flow);
        }
    }
    for (size_t k = 0; k < nr; k++)
        out->escaped = cls_sub(g, out->escaped, power(g, friction, m + k, p.friction, v));
    clsi_flows_cross(s, out);
    for (size_t i = 0; i < m; i++) out->heat[i] = cls_add(g, out->heat[i], out->outside[i]);
    return CLS_OK;
}
