/* Laws of the definition: what must hold at every state, not only along one path.
 *
 *     dissipation        -F_i . v >= 0 for the friction force F_i that heats entropy i
 *     heat exchange      kappa_ij >= 0
 *     momentum at rest   p(q, 0) (where p is native: v(q, 0)), told, not judged: a gauge or a
 *                        gyroscopic term makes it non-zero with good reason
 *     mass matrix        dp/dv > 0 (where p is native: the inverse of dv/dp) of momenta whose
 *                        velocities move positions or turn a body; other ones have no mass
 *     heat capacity      dS/dT > 0 (where S is native: dT/dS >= 0; zero is a reservoir)
 *     convexity          the Hessian of a thermal lagrangian in (v, T), of a hamiltonian in (p, S),
 *                        told, not judged: where it is positive, (p, S) and (v, T) determine each
 *                        other; there are sound bodies for which it is not, at some states
 *
 * They are tried at the states of the data and at points of a box around them, `beyond` times as
 * wide and cut off at the declared domains. The points are Roberts' R_d sequence, u_k = frac(1/2 +
 * k a), a_j = phi^-(j+1), phi^(d+1) = phi + 1: even in any dimension, no table, the same points on
 * every machine. Points where a temperature is outside its domain are no states and are left out;
 * points where a formula is not finite are counted and told. Cost: (rows + samples) evaluations and
 * small symmetric eigenvalue problems. Not promised: anything between the points. */
#include "audit/sampler.h"
#include "base/locale.h"
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1024 };

/* Relative size below which an eigenvalue, or a power among its own terms, is round-off. */
static const double ROUND_OFF = 1e-12;
/* Relative to the largest value met: what is smaller than this is zero. */
static const double NOTHING = 1e-15;

/* What is tried at a point: `count` nodes, and the number made of their values. The least number
 * over all points is judged; the largest *scale is kept beside it. */
typedef struct probe {
    size_t count;
    const cls_node *nodes;
    size_t order;   /* of the matrix, where it is one */
    double *matrix; /* (order, order), (order) and the workspace of eigenvalues() */
    double (*value)(const struct probe *p, const double *x, double *scale);
} probe;

typedef struct finding {
    double least, scale, of_data;            /* least over the data alone */
    char at[160];                            /* the state where it is least */
    size_t states, points;                   /* tried: of the data, beyond it */
    size_t bad_states, bad_points, no_state; /* not finite, not finite, outside the domain */
} finding;

/* ---- trying a probe ---- */

static void describe_state(const clsi_sampler *b, size_t c, char *out, size_t size) {
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < b->st->nz && used < size; i++)
        used += (size_t)clsi_snprintf(out + used, size - used, "%s%s = %.6g", i ? ", " : "",
                                      cls_system_state_name(b->s, i), b->in[i * BLOCK + c]);
}

static int temperatures_allowed(const clsi_sampler *b, const double *T) {
    for (size_t i = 0; i < b->s->m; i++)
        if (T[i] <= b->s->temperature[i].low || T[i] >= b->s->temperature[i].high) return 0;
    return 1;
}

/* x holds the probe's values and then the temperatures. */
static void try_sample(const clsi_sampler *b, const probe *p, const double *x, size_t k, size_t c,
                       finding *f) {
    int of_data = k < b->st->rows, finite = 1;
    if (!of_data && !temperatures_allowed(b, x + p->count)) {
        f->no_state++;
        return;
    }
    for (size_t i = 0; i < p->count + b->s->m; i++) finite &= isfinite(x[i]) != 0;
    double scale = 0, value = finite ? p->value(p, x, &scale) : NAN;
    *(of_data ? &f->states : &f->points) += 1;
    if (!isfinite(value)) {
        *(of_data ? &f->bad_states : &f->bad_points) += 1;
        if (of_data && f->bad_states == 1) describe_state(b, c, f->at, sizeof f->at);
        return;
    }
    f->scale = fmax(f->scale, scale);
    if (of_data) f->of_data = fmin(f->of_data, value);
    if (value >= f->least) return;
    f->least = value;
    if (!f->bad_states) describe_state(b, c, f->at, sizeof f->at);
}

static cls_status try_blocks(clsi_sampler *b, const probe *p, const cls_program *program, double *x,
                             finding *f, cls_error *error) {
    size_t outputs = p->count + b->s->m, total = b->st->rows + b->a->options.samples;
    for (size_t begin = 0; begin < total; begin += BLOCK) {
        size_t count = clsi_sampler_fill(b, begin);
        if (cls_program_run_many(program, count, BLOCK, b->in, b->out))
            return clsi_no_memory(error);
        for (size_t c = 0; c < count; c++) {
            for (size_t i = 0; i < outputs; i++) x[i] = b->out[i * BLOCK + c];
            try_sample(b, p, x, begin + c, c, f);
        }
    }
    return CLS_OK;
}

static cls_status try_probe(clsi_sampler *b, const probe *p, finding *f, cls_error *error) {
    size_t outputs = p->count + b->s->m;
    *f = (finding){.least = DBL_MAX, .of_data = DBL_MAX};
    cls_node *nodes = clsi_calloc(outputs, sizeof *nodes);
    double *x = clsi_calloc(outputs, sizeof *x);
    cls_program *program = NULL;
    cls_status status =
        nodes && x && clsi_grow(&b->out, &b->out_capacity, outputs * BLOCK, sizeof *b->out)
            ? CLS_OK
            : clsi_no_memory(error);
    if (!status) {
        memcpy(nodes, p->nodes, p->count * sizeof *nodes);
        if (b->s->m) memcpy(nodes + p->count, b->s->form->T, b->s->m * sizeof *nodes);
        status = clsi_audit_program(b->s, outputs, nodes, &program, error);
    }
    if (!status) status = try_blocks(b, p, program, x, f, error);
    cls_program_free(&program);
    free(nodes);
    free(x);
    return status;
}

/* A law holds when its number does and the formulas are finite at every state of the data. */
static cls_status conclude(clsi_sampler *b, const char *kind, const char *subject, const finding *f,
                           int holds, double value, double limit, const char *meaning,
                           cls_error *error) {
    char bad[120] = "";
    if (f->bad_states || f->bad_points || f->no_state)
        snprintf(bad, sizeof bad, " (not finite: %zu and %zu; no states: %zu)", f->bad_states,
                 f->bad_points, f->no_state);
    return clsi_law_add(b->a, kind, subject, holds && !f->bad_states, value, limit, error,
                        "%s %.6g over %zu states and %zu points around them%s; %s at %s", meaning,
                        value, f->states, f->points, bad,
                        f->bad_states ? "first not finite" : "worst", f->at);
}

/* ---- the laws ---- */

/* The n products F_j v_j. Cancellation among them may leave a round-off of the wrong sign. */
static double dissipated(const probe *p, const double *x, double *scale) {
    double sum = 0;
    for (size_t j = 0; j < p->count; j++) {
        sum -= x[j];
        *scale += fabs(x[j]);
    }
    return sum < 0 && sum > -ROUND_OFF * *scale ? 0 : sum;
}

/* value / scale with a scale that may be zero. */
static double relative(const finding *f) {
    return f->scale > 0 ? f->least / f->scale : 0;
}

static cls_status judge_dissipation(clsi_sampler *b, size_t i, cls_node *nodes, cls_error *error) {
    const cls_system *s = b->s;
    int any = 0;
    const clsi_sparse *friction = &s->bound.friction;
    size_t count = 0;
    CLSI_EACH(friction, i, e) nodes[count++] = friction->entries[e].node;
    cls_status status = clsi_audit_native(s, count, nodes, nodes, error);
    count = 0;
    if (!status) CLSI_EACH(friction, i, e) {
            any |= !cls_is_constant(s->g, nodes[count], 0);
            nodes[count] = cls_mul(s->g, nodes[count], s->form->v[friction->entries[e].column]);
            count++;
        }
    if (status || !any) return status;
    probe p = {.count = count, .nodes = nodes, .value = dissipated};
    finding f;
    status = try_probe(b, &p, &f, error);
    if (status) return status;
    const char *heated = i < s->m ? s->entropy[i].name : s->reservoir[i - s->m];
    return conclude(b, "dissipation", s->m + s->nr > 1 ? heated : NULL, &f,
                    relative(&f) >= -NOTHING, relative(&f), -NOTHING,
                    "-F.v, as part of its largest value, is at least", error);
}

static double only(const probe *p, const double *x, double *scale) {
    (void)p;
    *scale = fabs(x[0]);
    return x[0];
}

static cls_status judge_exchange(clsi_sampler *b, size_t i, const clsi_entry *entry,
                                 cls_error *error) {
    const cls_system *s = b->s;
    cls_node kappa;
    size_t j = entry->column;
    cls_status status = clsi_audit_native(s, 1, &entry->node, &kappa, error);
    if (status || cls_is_constant(s->g, kappa, 0)) return status;
    probe p = {.count = 1, .nodes = &kappa, .value = only};
    finding f;
    status = try_probe(b, &p, &f, error);
    if (status) return status;
    char pair[64];
    snprintf(pair, sizeof pair, "%.28s %.28s", s->entropy[i].name, s->entropy[j].name);
    return conclude(b, "heat exchange", s->m > 2 ? pair : NULL, &f, relative(&f) >= -NOTHING,
                    f.least, 0, "the conductance is at least", error);
}

static cls_status judge_bath(clsi_sampler *b, size_t i, size_t k, cls_error *error) {
    const cls_system *s = b->s;
    cls_node kappa;
    cls_status status = clsi_audit_native(s, 1, &s->bound.bath[i * s->nr + k], &kappa, error);
    if (status || cls_is_constant(s->g, kappa, 0)) return status;
    probe p = {.count = 1, .nodes = &kappa, .value = only};
    finding f;
    status = try_probe(b, &p, &f, error);
    if (status) return status;
    char pair[64];
    snprintf(pair, sizeof pair, "%.28s %.28s", s->entropy[i].name, s->reservoir[k]);
    return conclude(b, "heat exchange", pair, &f, relative(&f) >= -NOTHING, f.least, 0,
                    "the conductance is at least", error);
}

static cls_status judge_reservoir(clsi_sampler *b, size_t k, cls_error *error) {
    const cls_system *s = b->s;
    probe p = {.count = 1, .nodes = &s->bound.reservoir[k], .value = only};
    finding f;
    cls_status status = try_probe(b, &p, &f, error);
    if (status) return status;
    return conclude(b, "reservoir positive", s->reservoir[k], &f, f.least > 0, f.least, 0,
                    "the temperature is at least", error);
}

/* The first half at rest, the second half as it is (for the scale). */
static double at_rest(const probe *p, const double *x, double *scale) {
    double largest = 0;
    for (size_t i = 0; i < p->count; i++) {
        *scale = fmax(*scale, fabs(x[i]));
        if (i < p->count / 2) largest = fmax(largest, fabs(x[i]));
    }
    return -largest;
}

static cls_status judge_rest(clsi_sampler *b, const clsi_kinetic *m, cls_node *nodes,
                             cls_error *error) {
    size_t n = m->n;
    cls_graph *g = b->s->g;
    int phase = b->s->form->kind == CLSI_FORM_PHASE;
    for (size_t i = 0; i < n; i++) nodes[n + i] = cls_constant(g, 0);
    if (cls_substitute(g, n, m->dual, n, m->native, nodes + n, nodes))
        return cls_graph_status(g, error);
    memcpy(nodes + n, m->dual, n * sizeof *nodes);
    probe p = {.count = 2 * n, .nodes = nodes, .value = at_rest};
    finding f;
    cls_status status = try_probe(b, &p, &f, error);
    if (status) return status;
    int zero = -f.least <= ROUND_OFF * f.scale;
    char meaning[100];
    snprintf(meaning, sizeof meaning, "%s is %s, at most", phase ? "v at p = 0" : "p at v = 0",
             zero ? "zero" : "not zero (gauge or gyroscopic term)");
    return conclude(b, "momentum at rest", NULL, &f, 1, -f.least, 0, meaning, error);
}

enum { EIGEN_WORK = 34 }; /* times n: blocks of 32 columns in dsytrd */

/* Eigenvalues in w (n), ascending, with EIGEN_WORK n behind them as workspace; a is destroyed. The
 * symmetric matrix is the same by rows and by columns, so that LAPACKE allocates nothing: what can
 * run out of memory here would change a verdict. */
static int eigenvalues(size_t n, double *a, double *w) {
    for (size_t i = 0; i < n * n; i++)
        if (isnan(a[i])) return 0;
    if (n == 1) {
        w[0] = a[0];
        return 1;
    }
    return LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'N', 'U', (lapack_int)n, a, (lapack_int)n, w, w + n,
                              (lapack_int)(EIGEN_WORK * n)) == 0;
}

/* The symmetric part of x with unit diagonal, d_i a_ij d_j with d = a_ii^-1/2: as definite as x, and
 * bodies of very different size (a heat capacity at 1e-12 K beside one at 300 K) no longer hide each
 * other. Returns a number > 0 that the smallest eigenvalue of x is not below, 0 where x is not
 * definite beyond round-off. */
static double definite(const probe *p, const double *x) {
    size_t n = p->order;
    double *a = p->matrix, *w = a + n * n, least = INFINITY;
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, x[i * n + i]);
        if (!(x[i * n + i] > 0)) return 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] =
                (x[i * n + j] + x[j * n + i]) / 2 / sqrt(x[i * n + i]) / sqrt(x[j * n + j]);
    if (!eigenvalues(n, a, w)) return 0;
    return w[0] > ROUND_OFF ? w[0] * least : 0;
}

/* The smallest eigenvalue of the symmetric part; round-off of a larger one counts as 0. The
 * inverse's, where `invert`: then 0 stands for a singular matrix, which has none. */
static double smallest(const probe *p, const double *x, double *scale, int invert) {
    size_t n = p->order;
    double *a = p->matrix, *w = a + n * n, floor = definite(p, x);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) a[i * n + j] = (x[i * n + j] + x[j * n + i]) / 2;
    if (!eigenvalues(n, a, w)) return NAN;
    *scale = fmax(fabs(w[0]), fabs(w[n - 1]));
    double least = INFINITY;
    for (size_t i = 0; i < n; i++) {
        double value = fabs(w[i]) <= ROUND_OFF * *scale ? floor : w[i];
        least = fmin(least, invert && value != 0 ? 1 / value : value);
    }
    return least;
}

static double smallest_eigenvalue(const probe *p, const double *x, double *scale) {
    return smallest(p, x, scale, 0);
}

static double smallest_inverse(const probe *p, const double *x, double *scale) {
    return smallest(p, x, scale, 1);
}

static cls_status judge_mass(clsi_sampler *b, const clsi_kinetic *m, cls_node *nodes,
                             cls_error *error) {
    size_t n = m->n;
    int phase = b->s->form->kind == CLSI_FORM_PHASE;
    if (cls_jacobian(b->s->g, n, m->dual, n, m->native, nodes))
        return cls_graph_status(b->s->g, error);
    probe p = {n * n, nodes, n, b->matrix, phase ? smallest_inverse : smallest_eigenvalue};
    finding f;
    cls_status status = try_probe(b, &p, &f, error);
    if (status) return status;
    return conclude(b, "mass matrix", NULL, &f, f.least > 0, f.least, 0,
                    f.least == 0 ? "singular: the smallest eigenvalue of dp/dv is"
                                 : "the smallest eigenvalue of dp/dv is",
                    error);
}

static cls_status judge_capacity(clsi_sampler *b, cls_node *nodes, cls_error *error) {
    const clsi_form *form = b->s->form;
    size_t n = form->n, m = form->m;
    int thermal = form->kind == CLSI_FORM_THERMAL;
    if (cls_jacobian(b->s->g, m, thermal ? form->S : form->T, m, form->z + form->nq + n, nodes))
        return cls_graph_status(b->s->g, error);
    probe p = {m * m, nodes, m, b->matrix, smallest_eigenvalue};
    finding f;
    cls_status status = try_probe(b, &p, &f, error);
    if (status) return status;
    const char *meaning = "the smallest eigenvalue of dS/dT is";
    if (!thermal)
        meaning = f.least == 0 ? "infinite (temperature kept by a reservoir): dT/dS is"
                               : "the smallest eigenvalue of dT/dS is";
    return conclude(b, "heat capacity", NULL, &f, thermal ? f.least > 0 : f.least >= 0, f.least, 0,
                    meaning, error);
}

/* G in (v, T) or H in (p, S). */
static cls_status tell_convexity(clsi_sampler *b, cls_node *nodes, cls_error *error) {
    const clsi_form *form = b->s->form;
    size_t n = form->n, m = form->m, all = n + m;
    int phase = form->kind == CLSI_FORM_PHASE;
    if (form->kind == CLSI_FORM_VELOCITY || !n || !m) return CLS_OK;
    cls_node *dual = clsi_calloc(all, sizeof *dual);
    if (!dual) return clsi_no_memory(error);
    memcpy(dual, phase ? form->v : form->p, n * sizeof *dual);
    memcpy(dual + n, phase ? form->T : form->S, m * sizeof *dual);
    cls_status status = CLS_OK;
    if (cls_jacobian(b->s->g, all, dual, all, form->z + form->nq, nodes))
        status = cls_graph_status(b->s->g, error);
    free(dual);
    probe p = {all * all, nodes, all, b->matrix, smallest_eigenvalue};
    finding f;
    if (!status) status = try_probe(b, &p, &f, error);
    if (status) return status;
    return clsi_law_add(b->a, "convexity", NULL, 1, f.of_data, 0, error,
                        "%s: the smallest eigenvalue of the Hessian in (%s) is %.6g over %zu "
                        "states, %.6g with %zu points around them; worst at %s",
                        f.of_data > 0    ? "convex"
                        : f.of_data == 0 ? "convex, not strictly"
                                         : "not convex",
                        phase ? "p, S" : "v, T", f.of_data, f.states, f.least, f.points, f.at);
}

/* M over (p, S), which raises the entropy by dS.M dS. */
static cls_status judge_operator(clsi_sampler *b, cls_node *nodes, cls_error *error) {
    const cls_system *s = b->s;
    size_t n = s->n + s->m;
    if (!s->has_operator) return CLS_OK;
    cls_status status = clsi_audit_native(s, n * n, s->bound.friction_operator, nodes, error);
    probe p = {n * n, nodes, n, b->matrix, smallest_eigenvalue};
    finding f;
    if (!status) status = try_probe(b, &p, &f, error);
    if (status) return status;
    return conclude(b, "friction operator", NULL, &f, relative(&f) >= -NOTHING, f.least, 0,
                    "the smallest eigenvalue of M is", error);
}

static cls_status judge_all(clsi_sampler *b, const clsi_kinetic *m, cls_node *nodes,
                            cls_error *error) {
    const cls_system *s = b->s;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < s->m + s->nr && s->n && !status; i++)
        status = judge_dissipation(b, i, nodes, error);
    for (size_t i = 0; i < s->m; i++) CLSI_EACH(&s->bound.conductance, i, e) {
            const clsi_entry *entry = &s->bound.conductance.entries[e];
            if (entry->column > i && !status) status = judge_exchange(b, i, entry, error);
        }
    for (size_t i = 0; i < s->m * s->nr && !status; i++)
        status = judge_bath(b, i / s->nr, i % s->nr, error);
    for (size_t k = 0; k < s->nr && !status; k++) status = judge_reservoir(b, k, error);
    if (!status) status = judge_operator(b, nodes, error);
    if (m->n && !status) status = judge_rest(b, m, nodes, error);
    if (m->n && !status) status = judge_mass(b, m, nodes, error);
    if (s->m && !status) status = judge_capacity(b, nodes, error);
    if (!s->has_entropy && !status) status = tell_convexity(b, nodes, error);
    return status;
}

cls_status clsi_audit_definition(cls_audit *a, const cls_system *s, const clsi_states *st,
                                 cls_error *error) {
    if (s->n + s->m > CLSI_AUDIT_MANY) return clsi_audit_many(a, s, st, error);
    size_t most = (s->n + s->m) * (s->n + s->m) + 2 * s->n; /* the largest probe fits */
    size_t d = st->nz + 1 + st->nu;                         /* n and m are below */
    clsi_sampler b = {.a = a, .s = s, .st = st, .block = BLOCK};
    clsi_kinetic m = {0};
    cls_node *nodes = clsi_calloc(most, sizeof *nodes);
    b.matrix = clsi_calloc(d * (d + 1 + EIGEN_WORK), sizeof *b.matrix);
    cls_status status = nodes && b.matrix ? clsi_sampler_create(&b, error) : clsi_no_memory(error);
    if (!status) status = clsi_kinetic_find(s, &m, error);
    if (!status) status = judge_all(&b, &m, nodes, error);
    clsi_kinetic_clear(&m);
    clsi_sampler_clear(&b);
    free(nodes);
    return status;
}
