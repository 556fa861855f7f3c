/* The inputs of unknown parts at the data: what follows from known energies is put in, and all are
 * scaled by their own range. */
#include "base/base.h"
#include "expr/graph.h"
#include "expr/replace.h"
#include "learn/unknown/unknown.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

cls_status clsi_find_hidden(const clsi_unknowns *us, size_t n, const cls_node *variables,
                            unsigned char *hidden, cls_error *error) {
    clsi_cone cone;
    size_t count = 0;
    cls_node *x = clsi_calloc(us->n * CLSI_FIELD_MAX_INPUTS + 1, sizeof *x);
    cls_status status = x ? CLS_OK : clsi_no_memory(error);
    for (size_t k = 0; k < us->n && status == CLS_OK; k++) {
        const clsi_unknown *u = &us->list[k];
        clsi_learned plain = u->learned;
        if (u->kind != CLSI_PART_LET && u->kind != CLSI_PART_FORMULA) continue;
        for (size_t i = 0; i < plain.d; i++) plain.half[i] = 1;
        if (clsi_learned_inputs(&plain, us->s, x + count) != CLS_OK) status = clsi_no_memory(error);
        count += plain.d;
    }
    int made = status == CLS_OK && clsi_cone_create(us->s->g, count, x, &cone);
    if (status == CLS_OK && !made) status = clsi_no_memory(error);
    for (size_t i = 0; i < n && made; i++) hidden[i] = clsi_cone_at(&cone, variables[i]) != 0;
    if (made) clsi_cone_free(&cone);
    free(x);
    return status;
}

int clsi_any_hidden(const clsi_unknowns *us, size_t n, const cls_node *variables,
                    cls_error *error) {
    unsigned char *hidden = clsi_calloc(n + 1, 1);
    if (!hidden) (void)clsi_no_memory(error);
    int any = !hidden || clsi_find_hidden(us, n, variables, hidden, error) != CLS_OK ||
              memchr(hidden, 1, n) != NULL;
    free(hidden);
    return any;
}

/* Inputs may be what follows from the energy, as long as that is known: velocities H_p and
 * temperatures H_S of a hamiltonian, momenta L_v and temperatures -L_S of a lagrangian. Over the
 * data they are expressions of the states. */
typedef struct duals {
    size_t n;
    int any_hidden;
    clsi_replacer *place; /* symbols by duals */
    cls_node *symbol, *native,
        *dual;             /* (n) its name, the state, the derivative of the energy in it */
    unsigned char *hidden; /* (n) that energy is unknown */
} duals;

static void free_duals(duals *k) {
    clsi_replacer_free(&k->place);
    free(k->symbol);
    free(k->hidden);
}

static cls_status find_duals(const clsi_unknowns *us, duals *k, cls_error *error) {
    const cls_system *s = us->s;
    cls_graph *g = s->g;
    *k = (duals){.n = s->formalism == CLS_THERMAL_LAGRANGIAN ? 0 : s->n + s->m};
    k->symbol = clsi_calloc(3 * k->n + 1, sizeof *k->symbol);
    k->hidden = clsi_calloc(k->n + 1, 1);
    if (!k->symbol || !k->hidden) return clsi_no_memory(error);
    k->native = k->symbol + k->n;
    k->dual = k->native + k->n;
    if (!k->n) return CLS_OK;
    int phase = s->formalism == CLS_HAMILTONIAN;
    cls_node F = phase ? cls_add(g, s->bound.formula, s->bound.potential)
                       : cls_sub(g, s->bound.formula, s->bound.potential);
    for (size_t i = 0; i < k->n; i++) {
        k->symbol[i] = i >= s->n ? s->T[i - s->n] : phase ? s->v[i] : s->p[i];
        k->native[i] = i >= s->n ? s->S[i - s->n] : phase ? s->p[i] : s->v[i];
    }
    cls_status status = cls_gradient(g, F, k->n, k->native, k->dual);
    if (status != CLS_OK) return clsi_no_memory(error);
    for (size_t i = s->n; i < k->n && !phase; i++) k->dual[i] = cls_neg(g, k->dual[i]);
    status = clsi_find_hidden(us, k->n, k->native, k->hidden, error);
    k->any_hidden = memchr(k->hidden, 1, k->n) != NULL;
    int good = (k->place = clsi_replacer_create(g, NULL, NULL)) != NULL;
    for (size_t i = 0; i < k->n && good; i++)
        good = clsi_replacer_set(k->place, k->symbol[i], k->dual[i]);
    return good ? status : clsi_no_memory(error);
}

static cls_status place_duals(const clsi_unknowns *us, const duals *k, clsi_unknown *u, cls_node *x,
                              cls_error *error) {
    const cls_system *s = us->s;
    clsi_cone cone;
    if (!k->n) return CLS_OK;
    if (!clsi_cone_create(s->g, u->learned.d, x, &cone)) return clsi_no_memory(error);
    int phase = s->formalism == CLS_HAMILTONIAN;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < k->n && k->any_hidden && status == CLS_OK; i++)
        if (k->hidden[i] && clsi_cone_at(&cone, k->symbol[i]) &&
            !(u->late = i >= s->n && u->kind == CLSI_PART_HEAT && phase))
            status = clsi_fail(error, CLS_USAGE,
                               "'%s' is a function of %s, which follows from an energy that is "
                               "unknown too; say `of` what it is instead, for example `of %s`",
                               u->learned.part, cls_node_name(s->g, k->symbol[i]),
                               cls_node_name(s->g, k->native[i]));
    clsi_cone_free(&cone);
    if (status == CLS_OK && !u->late) status = clsi_replace(k->place, u->learned.d, x, x);
    return status;
}

/* A coefficient of a component is used on other paths than those it was learned on, and one
 * trajectory is a line in the space of its inputs where these are several: off that line the
 * network is what it was at the start. Inputs within an eighth instead of one make that nearly
 * linear, so that of all that fits the line something smooth is found. Measured on the EPHS thesis, 7.5,
 * with coefficients that vary
 * (`clausius reproduce ephs-7.5`): the error of the reuse falls from 8e-4 to 1e-8. */
static const double GENTLE = 8;

static int is_gentle(const clsi_unknown *u) {
    int coefficient = u->kind == CLSI_PART_HEAT || u->kind == CLSI_PART_COUPLING;
    return coefficient && u->learned.d > 1 && strncmp(u->learned.field->spec, "network", 7) == 0;
}

/* Input i of all places, (group, d, points). */
static cls_status range_of(const clsi_unknown *u, size_t group, const clsi_points *p,
                           const double *raw, size_t i, double *low, double *high,
                           cls_error *error) {
    *low = INFINITY, *high = -INFINITY;
    for (size_t k = 0; k < group; k++)
        for (size_t s = 0; s < p->n; s++) {
            double value = raw[(k * u->learned.d + i) * p->n + s];
            if (!isfinite(value))
                return clsi_fail(error, CLS_DATA, "%s is not finite at row %zu of the data",
                                 u->learned.input[i], s + 1);
            *low = fmin(*low, value);
            *high = fmax(*high, value);
        }
    return CLS_OK;
}

/* center and half width from the range of raw inputs (group, d, points): the places of a function
 * have one scale. */
static cls_status scale_raw(clsi_unknown *u, size_t group, const clsi_points *p, const double *raw,
                            cls_error *error) {
    clsi_learned *l = &u->learned;
    size_t d = l->d;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < d && status == CLS_OK; i++) {
        double low, high;
        status = range_of(u, group, p, raw, i, &low, &high, error);
        /* halves first, so that the largest numbers do not overflow; what varies by round-off only
         * is a constant; formulas of the user get raw inputs */
        l->low[i] = low;
        l->high[i] = high;
        double size = fmax(fabs(low), fabs(high)), half = high / 2 - low / 2;
        int scaled = !l->field->kind->raw && !clsi_field_word(u->spec, "unscaled");
        int even = i >= l->field->even_first && i - l->field->even_first < l->field->even_count;
        if (even) half = size;
        l->center[i] = scaled && !even ? low / 2 + high / 2 : 0;
        l->half[i] = !scaled ? 1 : half > 1e-13 * size && isfinite(1 / half) ? half : fmax(1, size);
        if (is_gentle(u)) l->half[i] *= GENTLE;
        for (size_t k = 0; k < group; k++)
            for (size_t s = 0; s < p->n; s++)
                u[k].x[s * d + i] = (raw[(k * d + i) * p->n + s] - l->center[i]) / l->half[i];
    }
    return status;
}

/* The inputs of the places of a part, (group, d), as they are. */
static cls_status plain_inputs(const clsi_unknowns *us, const clsi_unknown *u, size_t group,
                               cls_node *x) {
    cls_status status = CLS_OK;
    size_t d = u->learned.d;
    for (size_t k = 0; k < group && status == CLS_OK; k++) {
        clsi_learned plain = u[k].learned; /* borrowed */
        for (size_t i = 0; i < d; i++) plain.half[i] = 1, plain.center[i] = 0;
        status = clsi_learned_inputs(&plain, us->s, x + k * d);
    }
    return status;
}

/* Raw inputs of all places at all points, then their scaling. */
cls_status clsi_scale_inputs(const clsi_unknowns *us, clsi_unknown *u, size_t group,
                             const clsi_points *p, const cls_node *z, cls_error *error) {
    size_t d = u->learned.d, all = group * d;
    cls_program *program = NULL;
    cls_node *x = clsi_calloc(all, sizeof *x);
    double *raw = clsi_calloc(all * p->n, sizeof *raw);
    duals follow = {0};
    cls_status status = x && raw ? plain_inputs(us, u, group, x) : clsi_no_memory(error);
    if (status == CLS_OK) status = find_duals(us, &follow, error);
    for (size_t k = 0; k < group && status == CLS_OK; k++) {
        if (!(u[k].x = clsi_calloc(d * p->n, sizeof *u->x))) status = clsi_no_memory(error);
        if (status == CLS_OK) status = place_duals(us, &follow, &u[k], x + k * d, error);
        u->late |= u[k].late;
    }
    free_duals(&follow);
    if (!u->late) { /* else clsi_late_inputs */
        if (status == CLS_OK)
            status = cls_program_create(us->s->g, clsi_point_rows(p), z, all, x, &program, error);
        if (status == CLS_OK) status = cls_program_run_many(program, p->n, p->n, p->z, raw);
        if (status == CLS_OK) status = scale_raw(u, group, p, raw, error);
    }
    cls_program_free(&program);
    free(x);
    free(raw);
    return status;
}

cls_status clsi_scale_late(const clsi_unknowns *us, clsi_unknown *u, const clsi_points *p, size_t n,
                           const cls_node *z, const double *in, cls_error *error) {
    size_t group = clsi_group_end(us, (size_t)(u - us->list)) - (size_t)(u - us->list);
    size_t all = group * u->learned.d;
    cls_program *program = NULL;
    cls_node *x = clsi_calloc(all, sizeof *x);
    double *raw = clsi_calloc(all * p->n, sizeof *raw);
    cls_status status = raw && x ? plain_inputs(us, u, group, x) : clsi_no_memory(error);
    if (status == CLS_OK) status = cls_program_create(us->s->g, n, z, all, x, &program, error);
    if (status == CLS_OK) status = cls_program_run_many(program, p->n, p->n, in, raw);
    if (status == CLS_OK) status = scale_raw(u, group, p, raw, error);
    cls_program_free(&program);
    free(x);
    free(raw);
    return status;
}

/* Formulas of the user may have no value at some of the data: say so before they meet the solver.
 * Slopes matter where the part is differentiated, which frictions and conductances are not. */
cls_status clsi_check_terms(const clsi_unknown *u, const clsi_points *p, cls_error *error) {
    const clsi_field *f = u->learned.field;
    int slopes = u->kind == CLSI_PART_FORMULA || u->kind == CLSI_PART_LET;
    double *ones = clsi_calloc(f->n_parameters, sizeof *ones), value, slope[CLSI_FIELD_MAX_INPUTS];
    if (!ones) return clsi_no_memory(error);
    for (size_t k = 0; k < f->n_parameters; k++) ones[k] = 1;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < p->n_data && status == CLS_OK; i++) {
        f->kind->evaluate(f, ones, 1, u->x + i * f->d, &value, slope, NULL);
        for (size_t k = 0; k < f->d && slopes; k++) value += slope[k];
        if (!isfinite(value))
            status = clsi_fail(
                error, CLS_DATA, "'%s': a formula of %.200s%s is not finite at row %zu of the data",
                u->learned.part, f->spec, slopes ? ", or its derivative," : "", i + 1);
    }
    free(ones);
    return status;
}

/* As clsi_scale_inputs, with the scales as they are. What lies outside of the range so far widens it. */
static cls_status inputs_at(const clsi_unknowns *us, clsi_unknown *u, const clsi_points *p,
                            const cls_node *z, double *x, cls_error *error) {
    clsi_learned plain = u->learned, *l = &u->learned; /* borrowed */
    cls_node nodes[CLSI_FIELD_MAX_INPUTS];
    cls_program *program = NULL;
    double *raw = clsi_calloc(l->d * p->n, sizeof *raw);
    for (size_t i = 0; i < l->d; i++) plain.half[i] = 1, plain.center[i] = 0;
    duals follow = {0};
    cls_status status = raw ? clsi_learned_inputs(&plain, us->s, nodes) : clsi_no_memory(error);
    if (status == CLS_OK) status = find_duals(us, &follow, error);
    if (status == CLS_OK) status = place_duals(us, &follow, u, nodes, error);
    free_duals(&follow);
    if (status == CLS_OK)
        status = cls_program_create(us->s->g, clsi_point_rows(p), z, l->d, nodes, &program, error);
    if (status == CLS_OK) status = cls_program_run_many(program, p->n, p->n, p->z, raw);
    for (size_t i = 0; i < l->d && status == CLS_OK; i++)
        for (size_t s = 0; s < p->n; s++) {
            double value = raw[i * p->n + s];
            x[s * l->d + i] = (value - l->center[i]) / l->half[i];
            for (clsi_unknown *first = u;; first--) { /* the range is one for all places */
                first->learned.low[i] = fmin(first->learned.low[i], value);
                first->learned.high[i] = fmax(first->learned.high[i], value);
                if (!first->again) break;
            }
        }
    cls_program_free(&program);
    free(raw);
    return status;
}

cls_status clsi_unknowns_inputs(const clsi_unknowns *us, const cls_system *system,
                                const clsi_points *p, double **x, cls_error *error) {
    cls_node *z = clsi_calloc(p->nz, sizeof *z);
    cls_status status = z ? CLS_OK : clsi_no_memory(error);
    for (size_t k = 0; k < p->nz && status == CLS_OK; k++)
        z[k] = cls_symbol(us->s->g, clsi_point_name(system, k));
    for (size_t i = 0; i < us->n && status == CLS_OK; i++) {
        x[i] = clsi_calloc(us->list[i].learned.d * p->n, sizeof **x);
        status = x[i] ? inputs_at(us, &us->list[i], p, z, x[i], error) : clsi_no_memory(error);
    }
    free(z);
    return status;
}
