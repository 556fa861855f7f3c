/* Data made by a scheme: are the rows steps of one?
 *
 * Rows that lie far apart may come from another's integrator. Its steps obey its own equations
 * to round-off, and the motion's only to the order of the method: whoever learns the motion from them
 * cannot be nearer than that, and whoever learns with the residual of the scheme (step_rows.c) is
 * exact. Positions tell, because their velocities are known before anything is learned:
 *
 *     (q1 - q0)/h = (v0 + v1)/2, v0 or v1              for steps of a scheme,
 *     (q2 - q0)/2h = (v0 + 4 v1 + v2)/6 + O(h^4)       for a motion.
 *
 * Where the second fits, nothing is asked. Where the first fits better, or neither fits, the
 * schemes of that kind are tried on some windows, and the one that fits ten times better than the
 * quadrature is taken and said. */
#include "base/base.h"
#include "learn/learner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEAN, START, END, MOTION, LAWS, WINDOWS = 400, SMALL = 100 };

static const double DENSE = 1e-5;     /* relative: rows are near enough to each other */
static const double BETTER = 0.1;     /* a scheme's error by the quadrature's */
static const double ROUND_OFF = 1e-8; /* relative */

/* ---- what positions tell ---- */

/* v at all points, in which no unknown part may be. */
static cls_status velocities(const clsi_unknowns *us, const clsi_points *p, double **out) {
    const cls_system *s = us->s;
    cls_program *program = NULL;
    cls_node *z = clsi_calloc(p->nz + s->n, sizeof *z), *v = z + p->nz;
    *out = clsi_calloc(s->n * p->n, sizeof **out);
    cls_status status = z && *out ? CLS_OK : CLS_MEMORY;
    for (size_t k = 0; k < p->nz && status == CLS_OK; k++)
        z[k] = cls_symbol(s->g, clsi_point_name(us->system, k));
    int hamiltonian = s->formalism == CLS_HAMILTONIAN;
    if (status == CLS_OK && !hamiltonian) memcpy(v, s->v, s->n * sizeof *v);
    if (status == CLS_OK && hamiltonian)
        status = clsi_total_derivatives(us, s->bound.formula, s->n, s->p, v);
    if (status == CLS_OK && hamiltonian && clsi_any_hidden(us, s->n, s->p, NULL))
        status = CLS_USAGE;
    if (status == CLS_OK) status = cls_program_create(s->g, p->nz, z, s->n, v, &program, NULL);
    if (status == CLS_OK) status = cls_program_run_many(program, p->n, p->n, p->z, *out);
    cls_program_free(&program);
    free(z);
    return status;
}

/* Usual errors of the four laws, by the size of v. 0: nothing can be said. */
static int kinematics(const clsi_unknowns *us, const clsi_points *p, double error[LAWS]) {
    const cls_system *s = us->s;
    double *v = NULL, *off = clsi_calloc(p->n_windows * s->n, sizeof *off), size = 0;
    int known = off && velocities(us, p, &v) == CLS_OK;
    for (size_t k = 0; known && k < s->n * p->n_data; k++)
        size += fabs(v[(k / p->n_data) * p->n + k % p->n_data]) / (double)(s->n * p->n_data);
    known = known && size > 0 && isfinite(size) && p->width == 3;
    for (int law = 0; law < LAWS && known; law++) {
        size_t n = 0;
        for (size_t w = 0; w < p->n_windows; w++)
            for (size_t j = 0; j < s->n; j++) {
                const double *q = p->z + j * p->n + p->window[w], *u = v + j * p->n + p->window[w];
                const double *t = p->time + p->window[w];
                double h = t[1] - t[0], even = fabs(t[2] - t[1] - h) < 1e-6 * h;
                double rate = (q[1] - q[0]) / h;
                if (law == MOTION && !even) continue;
                off[n++] =
                    fabs(law == MEAN    ? rate - (u[0] + u[1]) / 2
                         : law == START ? rate - u[0]
                         : law == END   ? rate - u[1]
                                        : (q[2] - q[0]) / (2 * h) - (u[0] + 4 * u[1] + u[2]) / 6);
            }
        known = n > 0;
        error[law] = clsi_median(n, off) / size;
    }
    free(v);
    free(off);
    return known;
}

/* ---- schemes on trial ---- */

typedef struct trial {
    double usual, relative;
    int no_memory; /* then nothing may be chosen */
} trial;

/* A fit of some windows with this rule. */
static trial attempt(const clsi_learner *w, const clsi_rule *rule, size_t n_tables,
                     const cls_table *const *tables, const char *const *names) {
    cls_learn_options o = *w->o;
    cls_learn_info info = {0};
    cls_error error = {0};
    trial found = {INFINITY, INFINITY, 0};
    o.progress = NULL;
    o.checkpoint = NULL; /* a resumed run tries the same again, and chooses the same */
    o.resume = 0;
    clsi_learner own = {.o = &o,
                        .system = w->system,
                        .set = w->set,
                        .info = &info,
                        .started = w->started,
                        .trial = SMALL,
                        .alone = 1, /* the parts of a team are those of the lesson itself */
                        .error = &error};
    o.scheme = NULL;
    cls_status status = clsi_points_create_wide(w->system, n_tables, tables, names, rule,
                                                o.validate, WINDOWS, 2, 0, &own.points, &error);
    if (status == CLS_OK) status = clsi_learner_choose(&own);
    found.no_memory = status == CLS_MEMORY || own.no_memory;
    if (status == CLS_OK) {
        found.usual = clsi_learner_usual(&own);
        found.relative = found.usual / fmax(info.loss_initial, 1e-300);
    }
    clsi_learner_forget(&own);
    clsi_points_free(&own.points);
    return found;
}

static const char *const kinds[][8] = {
    [MEAN] = {"discrete-gradient", "implicit-midpoint", "vnots-symmetric", NULL},
    [START] = {"euler", "vnots", "symplectic-euler", NULL},
    [END] = {"symplectic-euler", "implicit-euler", NULL},
    [MOTION] = {"leapfrog", "rk4", "rk3", "rk2", "dtel", NULL},
};

static int is_wanted(const clsi_learner *w, const cls_system *s) {
    const cls_learn_options *o = w->o;
    if (o->scheme || o->from || o->window || !clsi_is_loss(w, "residual")) return 0;
    if (s->ode || s->formalism == CLS_LAGRANGIAN || !s->canonical || !s->n || s->nu) return 0;
    if (o->optimizer && strcmp(o->optimizer, "auto") && strcmp(o->optimizer, "linear")) return 0;
    if (o->field && strncmp(o->field, "network", 7) == 0) return 0;
    for (size_t i = 0; i < s->n_unknown; i++)
        if (s->unknown_field[i] && strncmp(s->unknown_field[i], "network", 7) == 0) return 0;
    return 1;
}

static void say(clsi_text *t, const char *name, const trial *own, const trial *plain) {
    if (own->relative < ROUND_OFF)
        clsi_text_printf(t,
                         "these data are steps of %s: its own equations fit them to %.1g of their "
                         "size, to round-off; simulate with it and with the step of the data",
                         name, own->relative);
    else
        clsi_text_printf(
            t,
            "these data are nearer to steps of %s than to a motion (its equations fit "
            "%.0f times better): learned with them; simulate with the step of the data",
            name, plain->usual / own->usual);
}

cls_status clsi_learner_scheme(clsi_learner *w, size_t n_tables, const cls_table *const *tables,
                               const char *const *names, clsi_rule *rule, char **said) {
    const cls_system *s = w->system;
    clsi_points *p = NULL;
    double error[LAWS] = {0};
    if (!is_wanted(w, s) || strcmp(rule->name, "quadrature") != 0) return CLS_OK;
    cls_status status = clsi_points_create_wide(s, n_tables, tables, names, rule, w->o->validate,
                                                10 * WINDOWS, 2, 0, &p, w->error);
    if (status != CLS_OK) return status;
    int noisy = 0;
    for (size_t k = 0; k < p->nz; k++)
        noisy |= clsi_points_noise(p, k) > 1e-6 * clsi_points_spread(p, k);
    clsi_unknowns *us = NULL;
    status = clsi_unknowns_create(s, w->set, w->o, p, &us, NULL);
    int known = status == CLS_OK, kind = MOTION;
    if (known) known = kinematics(us, p, error);
    clsi_unknowns_free(&us);
    clsi_points_free(&p);
    if (status == CLS_MEMORY) return clsi_no_memory(w->error);
    if (!known || error[MOTION] < DENSE) return CLS_OK;
    for (int law = MEAN; law <= END; law++)
        if (error[law] < BETTER * error[MOTION] && error[law] < error[kind]) kind = law;
    if (noisy && kind == MOTION) return CLS_OK; /* of noise, not of a method */
    trial plain = attempt(w, rule, n_tables, tables, names), best = plain;
    clsi_rule taken = *rule;
    for (size_t i = 0; kinds[kind][i]; i++) {
        clsi_rule other;
        if (clsi_rule_find(s, kinds[kind][i], 0, &other, NULL) != CLS_OK) continue;
        trial found = attempt(w, &other, n_tables, tables, names);
        plain.no_memory |= found.no_memory;
        if (!(found.usual < best.usual)) continue;
        best = found;
        taken = other;
        w->o->scheme = kinds[kind][i];
    }
    if (plain.no_memory) return clsi_no_memory(w->error);
    if (w->o->scheme && best.usual < BETTER * plain.usual) {
        clsi_text text = {0};
        /* the same rows; runs of eem let strong conduction swing, as such data do */
        if (s->m > 1 && strcmp(w->o->scheme, "discrete-gradient") == 0 &&
            clsi_rule_find(s, "eem", 0, &taken, NULL) == CLS_OK)
            w->o->scheme = "eem";
        *rule = taken;
        say(&text, w->o->scheme, &best, &plain);
        *said = clsi_text_take(&text);
    } else {
        w->o->scheme = NULL;
    }
    if (w->error) w->error->message[0] = '\0';
    return CLS_OK;
}
