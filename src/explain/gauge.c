/* Gauge directions: changes of (G, F) after which (q, v, T) move as before (docs/physics/vnots.md,
 * lemma 3.2 and remark 3.3).
 *
 *     d/dt dG_v = dG_q + sum_i dF_i,    T_i d/dt dG_Ti = -dF_i.v          (of a body: (P v)' too)
 *
 * is linear in (dG, dF). Here dG runs over the monomials of degree one and two in (q, v, T), dF_i
 * over T_i and T_i q: the null space at many states contains a member of each family of the lemma,
 * and what a particular system adds (a temperature that no motion changes). Scale is the one
 * direction that is not in this span; it is there whenever no given force, heat source or part of
 * the formula has a scale of its own. */
#include "explain/explain.h"
#include <clausius/flow.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct gauge {
    const clsi_samples *a;
    const cls_system *s;
    const cls_model *m;
    cls_invariants *out;
    size_t nz, n_products, n_friction, columns, rows;
    size_t (*product)[2];  /* second SIZE_MAX: linear */
    size_t (*friction)[2]; /* entropy, momentum */
    double *dot;           /* (n, nz) */
    cls_program *turning;  /* dP_jk/dp_l over z, all of them (n, n, n); NULL: canonical */
} gauge;

/* Is the whole formula learned? Then nothing of it is given. Without a model it is asked what would
 * be open if it were. */
static int is_learned(const cls_model *m, const char *part) {
    if (!m) return 1;
    for (size_t i = 0; part && i < m->n_learned; i++)
        if (!strcmp(m->learned[i].part, part)) return 1;
    return 0;
}

static int has_anchor(const cls_system *s, cls_node of) {
    for (size_t i = 0; i < s->n_anchors; i++)
        if (!s->anchors[i].gauge && (of == CLS_NO_NODE || s->anchors[i].of == of)) return 1;
    return 0;
}

static int has_scale(const cls_system *s) {
    int given = s->has_work || s->has_heat || !cls_is_constant(s->g, s->bound.potential, 0);
    for (size_t j = 0; j < s->n; j++) given |= !cls_is_constant(s->g, s->bound.force[j], 0);
    return given;
}

/* ---- the equations ---- */

static cls_status lay_out(gauge *w, cls_error *error) {
    const cls_system *s = w->s;
    size_t nz = w->nz, most = nz + nz * (nz + 1) / 2, n = 0;
    w->product = clsi_calloc(most, sizeof *w->product);
    w->friction = clsi_calloc(s->bound.friction.n + 1, sizeof *w->friction);
    if (!w->product || !w->friction) return clsi_no_memory(error);
    for (size_t i = 0; i < nz; i++) {
        w->product[n][0] = i;
        w->product[n++][1] = SIZE_MAX;
    }
    for (size_t i = 0; i < nz; i++)
        for (size_t j = i; j < nz; j++) {
            w->product[n][0] = i;
            w->product[n++][1] = j;
        }
    w->n_products = n;
    for (size_t e = 0; e < s->bound.friction.n; e++) {
        const clsi_entry *at = &s->bound.friction.entries[e];
        if (at->row >= s->m || cls_is_constant(s->g, at->node, 0)) continue;
        w->friction[w->n_friction][0] = at->row;
        w->friction[w->n_friction++][1] = at->column;
    }
    w->columns = n + w->n_friction * (1 + s->nq);
    w->rows = s->n + s->m;
    return CLS_OK;
}

/* Derivative of dG in variable c of z: its value, and its rate along the motion. */
static void slope_of(const size_t product[2], size_t c, const double *z, const double *dot,
                     double *value, double *rate) {
    *value = *rate = 0;
    if (product[0] == c) {
        *value += product[1] == SIZE_MAX ? 1 : z[product[1]];
        *rate += product[1] == SIZE_MAX ? 0 : dot[product[1]];
    }
    if (product[1] == c) {
        *value += z[product[0]];
        *rate += dot[product[0]];
    }
}

static void fill(const gauge *w, const double *z, const double *dot, const double *turning,
                 double *A) {
    const cls_system *s = w->s;
    size_t n = s->n, heat = s->nq + n;
    double value, rate;
    for (size_t k = 0; k < w->n_products; k++) {
        for (size_t j = 0; j < n; j++) {
            double *row = A + j * w->columns;
            slope_of(w->product[k], s->nq + j, z, dot, &value, &rate);
            row[k] += rate;
            for (size_t i = 0; turning && i < n; i++) /* (dP v)_i, dP by dp_j */
                for (size_t l = 0; l < n; l++)
                    A[i * w->columns + k] -= turning[(i * n + l) * n + j] * value * z[s->nq + l];
            if (s->canonical) {
                slope_of(w->product[k], j, z, dot, &value, &rate);
                row[k] -= value;
            }
        }
        for (size_t i = 0; i < s->m; i++) {
            slope_of(w->product[k], heat + i, z, dot, &value, &rate);
            A[(n + i) * w->columns + k] += z[heat + i] * rate;
        }
    }
    for (size_t e = 0; e < w->n_friction; e++)
        for (size_t l = 0; l <= s->nq; l++) {
            size_t i = w->friction[e][0], j = w->friction[e][1];
            size_t column = w->n_products + e * (1 + s->nq) + l;
            double force = z[heat + i] * (l ? z[l - 1] : 1);
            A[j * w->columns + column] -= force;
            A[(n + i) * w->columns + column] += force * z[s->nq + j];
        }
}

static cls_status compile_turning(gauge *w, cls_error *error) {
    const cls_system *s = w->s;
    size_t n = s->n;
    if (s->canonical) return CLS_OK;
    cls_node *out = clsi_calloc(n * n * n + 1, sizeof *out);
    if (!out) return clsi_no_memory(error);
    for (size_t i = 0; i < n * n * n; i++) {
        cls_node entry = clsi_sparse_at(s->g, &s->bound.poisson, i / (n * n), i / n % n);
        out[i] = cls_derivative(s->g, entry, s->p[i % n]);
    }
    const clsi_form *f = s->form;
    clsi_place at = {f->q, f->v, f->p, f->S, f->T, s->t, NULL};
    cls_status status = clsi_place_at(s, &at, n * n * n, out, out);
    if (status == CLS_OK)
        status = cls_program_create(s->g, w->nz, f->z, n * n * n, out, &w->turning, error);
    free(out);
    return status;
}

/* A variable that only round-off moves stands still: no faster than 1e-13 of what it would be at the
 * fastest rate of the others. */
static void stand_still(const clsi_samples *a, double *dot) {
    double fastest = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < a->nz; k++) {
            double size = 0, rate = 0;
            for (size_t i = 0; i < a->n; i++) {
                size += a->z[i * a->nz + k] * a->z[i * a->nz + k];
                rate += dot[i * a->nz + k] * dot[i * a->nz + k];
            }
            if (!pass && size > 0) fastest = fmax(fastest, sqrt(rate / size));
            for (size_t i = 0; pass && i < a->n && !(sqrt(rate) > 1e-13 * fastest * sqrt(size));
                 i++)
                dot[i * a->nz + k] = 0;
        }
}

static cls_status null_space(gauge *w, size_t *count, double **found, cls_error *error) {
    const clsi_samples *a = w->a;
    size_t states = a->n / 2;
    cls_flow *flow = NULL;
    w->dot = clsi_calloc(a->n * w->nz, sizeof *w->dot);
    double *A = clsi_calloc((states * w->rows + 1) * w->columns, sizeof *A);
    double *turned = clsi_calloc(w->s->n * w->s->n * w->s->n + 1, sizeof *turned), *work = NULL;
    cls_status status = w->dot && A && turned ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) status = cls_flow_create(w->s, &flow, error);
    if (status == CLS_OK)
        status = cls_flow_rates(flow, a->n, w->nz, a->z, NULL, 1, w->dot, NULL, error);
    if (status == CLS_OK) stand_still(a, w->dot);
    if (status == CLS_OK) status = compile_turning(w, error);
    if (status == CLS_OK && w->turning) {
        work = clsi_calloc(cls_program_work_size(w->turning), sizeof *work);
        if (work)
            cls_program_prepare(w->turning, work);
        else
            status = clsi_no_memory(error);
    }
    for (size_t i = 0; status == CLS_OK && i < states; i++) {
        if (w->turning) cls_program_run(w->turning, work, a->z + i * w->nz, turned);
        fill(w, a->z + i * w->nz, w->dot + i * w->nz, w->turning ? turned : NULL,
             A + i * w->rows * w->columns);
    }
    clsi_null p = {states * w->rows, w->columns, A, NULL, 1e-9, 1e-6, 0, NULL};
    if (status == CLS_OK) {
        p.size = A + states * w->rows * w->columns;
        status = clsi_null_rows(&p, count, found, error);
    }
    cls_flow_free(&flow);
    free(A);
    free(work);
    free(turned);
    return status;
}

/* ---- names ---- */

static const char *name_of(const gauge *w, size_t k) {
    return cls_node_name(w->s->g, w->s->form->z[k]);
}

static char *direction_text(const gauge *w, const double *c) {
    clsi_text t = {0};
    for (size_t k = 0; k < w->n_products; k++) {
        if (c[k] == 0) continue;
        clsi_text term = {0};
        clsi_text_append(&term, name_of(w, w->product[k][0]));
        if (w->product[k][1] != SIZE_MAX)
            clsi_text_printf(&term, "%s%s", w->product[k][0] == w->product[k][1] ? "^2" : "*",
                             w->product[k][0] == w->product[k][1] ? ""
                                                                  : name_of(w, w->product[k][1]));
        char *one = clsi_text_take(&term);
        if (!one) t.failed = 1;
        if (one) clsi_term_print(&t, c[k], one);
        free(one);
    }
    return clsi_text_take(&t);
}

typedef enum family { ORIGIN, NULL_LAGRANGIAN, POTENTIAL, OWN } family;

/* Which family of the lemma; `which` is the temperature. */
static family family_of(const gauge *w, const double *c, size_t *which) {
    size_t heat = w->s->nq + w->s->n, terms = 0, with_v = 0, with_T = 0, with_q = 0, forces = 0;
    for (size_t k = 0; k < w->columns; k++) {
        if (c[k] == 0) continue;
        if (k >= w->n_products) {
            forces++;
            *which = w->friction[(k - w->n_products) / (1 + w->s->nq)][0];
            continue;
        }
        terms++;
        int v = 0, T = 0;
        for (int i = 0; i < 2; i++) {
            size_t z = w->product[k][i];
            if (z == SIZE_MAX) continue;
            if (z >= heat) *which = z - heat;
            T += z >= heat;
            v += z >= w->s->nq && z < heat;
            with_q += z < w->s->nq;
        }
        with_v += v == 1 && !T;
        with_T += T == 1 && !v;
    }
    if (forces && with_T == terms) return POTENTIAL;
    if (!forces && with_v == terms) return NULL_LAGRANGIAN;
    if (!forces && with_T == terms && !with_q && terms == 1) return ORIGIN;
    return OWN;
}

/* Momenta at rest over those in motion. */
static double momentum_at_rest(const gauge *w, cls_error *error) {
    const clsi_samples *a = w->a;
    const cls_system *s = w->s;
    double rest = 0, moving = 0,
           *work = clsi_calloc(cls_program_work_size(a->program) + a->width + w->nz + 1 + s->nu,
                               sizeof *work);
    (void)error;
    if (!work) return NAN;
    double *in = work + cls_program_work_size(a->program), *out = in + w->nz + 1 + s->nu;
    cls_program_prepare(a->program, work);
    for (size_t i = 0; i < a->n; i++) {
        memcpy(in, a->z + i * w->nz, w->nz * sizeof *in);
        for (size_t j = 0; j < s->n; j++) in[s->nq + j] = 0;
        cls_program_run(a->program, work, in, out);
        for (size_t j = 0; j < s->n; j++) {
            if (isfinite(out[a->nq + j])) rest = fmax(rest, fabs(out[a->nq + j]));
            moving = fmax(moving, fabs(a->value[i * a->width + a->nq + j]));
        }
    }
    free(work);
    return moving > 0 ? rest / moving : 0;
}

static cls_status add(gauge *w, const char *name, const char *why, int open, char *formula,
                      const char *fixed_by, cls_error *error) {
    cls_found what = {
        .kind = CLS_FOUND_GAUGE, .open = open, .exact = 1, .digits = 16, .drift = NAN};
    return clsi_found_add(w->out, &what, formula, clsi_strdup(name), clsi_strdup(why),
                          clsi_strdup(fixed_by), error);
}

static char *formatted(const char *format, const char *a, const char *b, const char *c) {
    clsi_text t = {0};
    for (const char *at = format; *at; at++) {
        if (*at == '1' || *at == '2' || *at == '3')
            clsi_text_append(&t, *at == '1' ? a : *at == '2' ? b : c);
        else
            clsi_text_append_n(&t, at, 1);
    }
    return clsi_text_take(&t);
}

static cls_status add_scale(gauge *w, const char *G, cls_error *error) {
    const cls_system *s = w->s;
    int whole = is_learned(w->m, s->formula_name), anchored = has_anchor(s, CLS_NO_NODE);
    int given = has_scale(s), open = whole && !anchored && !given;
    const char *by = !whole     ? "part of the formula is given"
                     : given    ? "given forces, heat sources or potentials have a scale"
                     : anchored ? "an `anchor` of the file"
                                : "one mass, one known force or heat: `anchor d p.x / d v.x = 1 at "
                                  "...`; learning sets the mean of d p / d v to 1";
    clsi_text all = {0};
    clsi_text_printf(&all, "(%s, all frictions and conductances) times a common factor", G);
    return add(w, "scale", "every equation of motion is linear in them, so that a factor cancels",
               open, clsi_text_take(&all), by, error);
}

static cls_status add_origin(gauge *w, const char *G, size_t i, cls_error *error) {
    const cls_system *s = w->s;
    int whole = is_learned(w->m, s->formula_name), fixed = !whole || has_anchor(s, s->S[i]);
    const char *T = cls_node_name(s->g, s->T[i]), *S = cls_node_name(s->g, s->S[i]);
    clsi_text why = {0};
    clsi_text_printf(&why, "only differences of %s enter; %s is shifted by a constant", S, S);
    char *text = clsi_text_take(&why);
    cls_status status =
        text ? add(w, "origin of the entropy", text, !fixed, formatted("1 + S0*2", G, T, ""),
                   !whole  ? "the formula is given"
                   : fixed ? "an `anchor` of the file"
                           : "one known entropy (`anchor S = 1 at ...`); no motion depends on it",
                   error)
             : clsi_no_memory(error);
    free(text);
    return status;
}

static cls_status add_potential(gauge *w, const char *G, size_t i, cls_error *error) {
    const cls_system *s = w->s;
    const char *T = cls_node_name(s->g, s->T[i]);
    return add(w, "potential gauge",
               "what the entropy gains by it the friction takes as heat, and its force is undone",
               0, formatted("1 + 2*phi(q), with the frictions on 2 less 2*dphi/dq", G, T, ""),
               "the second law: a friction that dissipates at every velocity vanishes at rest, "
               "T*dphi/dq does not",
               error);
}

static cls_status name_all(gauge *w, size_t count, const double *found, cls_error *error) {
    const cls_system *s = w->s;
    const char *G = s->formula_name ? s->formula_name : "G";
    unsigned char *seen = clsi_calloc(2 * s->m + 1, 1);
    cls_status status = seen ? add_scale(w, G, error) : clsi_no_memory(error);
    for (int f = ORIGIN; f <= OWN; f++)
        for (size_t r = 0; r < count && status == CLS_OK; r++) {
            size_t i = 0;
            const double *c = found + r * w->columns;
            if ((int)family_of(w, c, &i) != f) continue;
            if (f == ORIGIN) status = add_origin(w, G, i, error);
            if (f == POTENTIAL && !seen[i]) status = add_potential(w, G, i, error);
            if (f == POTENTIAL) seen[i] = 1;
            if (f == NULL_LAGRANGIAN && !seen[2 * s->m]) {
                int whole = is_learned(w->m, s->formula_name);
                int even = momentum_at_rest(w, error) < 1e-9;
                seen[2 * s->m] = 1;
                status = add(w, "null lagrangian",
                             "a total time derivative: it moves no path and shifts p by df/dq",
                             whole && !even, formatted("1 + v.df/dq for any f(q)", G, "", ""),
                             !whole ? "the formula is given"
                             : even ? "momenta that vanish at rest (the formula is even in v)"
                                    : "momenta that vanish at rest",
                             error);
            }
            if (f == OWN) {
                char *d = direction_text(w, c);
                status =
                    d ? add(w, "of this system",
                            "along every motion of this system it changes no equation",
                            is_learned(w->m, s->formula_name), formatted("1 + 2", G, d, ""),
                            "data of another kind (heating from outside), or an `anchor`", error)
                      : clsi_no_memory(error);
                free(d);
            }
        }
    free(seen);
    return status;
}

cls_status clsi_gauge_find(const clsi_samples *a, const cls_model *m, cls_invariants *out,
                           cls_error *error) {
    const cls_system *s = a->s;
    if (s->formalism != CLS_THERMAL_LAGRANGIAN || a->nz > 12 || (!s->canonical && s->nq))
        return CLS_OK;
    gauge w = {.a = a, .s = s, .m = m, .out = out, .nz = a->nz};
    size_t count = 0;
    double *found = NULL;
    cls_status status = lay_out(&w, error);
    if (status == CLS_OK) status = null_space(&w, &count, &found, error);
    if (status == CLS_OK) status = name_all(&w, count, found, error);
    out->gauge = status == CLS_OK;
    cls_program_free(&w.turning);
    free(found);
    free(w.product);
    free(w.friction);
    free(w.dot);
    return status;
}
