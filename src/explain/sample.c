/* States at which functions are tried, and what the system does there.
 *
 * The default motion says where things happen; its box, widened where nothing moved, is filled with
 * random points, so that a function that is constant along one motion by accident is not taken for
 * an invariant. Of a model only points inside the range of its data count: outside every learned
 * part extrapolates. Points where something is not finite, or a temperature not positive, are left
 * out. */
#include "explain/explain.h"
#include "scheme/scheme.h"
#include <clausius/random.h>
#include <clausius/simulate.h>
#include <clausius/start.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOTION = 400, TRIES = 60 };

const char *clsi_sample_name(const cls_system *s, size_t k) {
    if (k < s->nq) return cls_node_name(s->g, s->q[k]);
    if (k < s->nq + s->n) return cls_node_name(s->g, s->p[k - s->nq]);
    return cls_node_name(s->g, s->S[k - s->nq - s->n]);
}

/* ---- the program ---- */

static void build_nothing(clsi_step *st) {
    memcpy(st->next, st->z0, st->nz * sizeof *st->next);
}

/* Both triangles of the bracket of y: {q, p} = K, {p, q} = -K^T, {p, p} = P. */
static cls_status add_bracket(clsi_samples *a, cls_node *out, cls_error *error) {
    const cls_system *s = a->s;
    const clsi_form *f = s->form;
    clsi_place at = {f->q, f->v, f->p, f->S, f->T, s->t, NULL};
    const clsi_sparse *K = &s->bound.kinematics, *P = &s->bound.poisson;
    cls_node *k = NULL, *p = NULL;
    cls_status status = clsi_sparse_place(s, &at, K, &k);
    if (status == CLS_OK) status = clsi_sparse_place(s, &at, P, &p);
    size_t n = 0;
    for (size_t e = 0; status == CLS_OK && e < K->n; e++) {
        uint32_t i = K->entries[e].row, j = (uint32_t)s->nq + K->entries[e].column;
        a->bracket_row[n] = a->bracket_column[n + 1] = i;
        a->bracket_column[n] = a->bracket_row[n + 1] = j;
        out[n++] = k[e];
        out[n++] = cls_neg(s->g, k[e]);
    }
    for (size_t e = 0; status == CLS_OK && e < P->n; e++) {
        a->bracket_row[n] = (uint32_t)s->nq + P->entries[e].row;
        a->bracket_column[n] = (uint32_t)s->nq + P->entries[e].column;
        out[n++] = p[e];
    }
    free(k);
    free(p);
    return status == CLS_OK ? CLS_OK : clsi_no_memory(error);
}

static cls_status fill_outputs(clsi_samples *a, const clsi_point *pt, cls_node *out,
                               cls_error *error) {
    const cls_system *s = a->s;
    const clsi_form *f = s->form;
    memcpy(out, pt->q, a->nq * sizeof *out);
    memcpy(out + a->nq, pt->p, a->np * sizeof *out);
    if (a->m) memcpy(out + a->nq + a->np, pt->S, a->m * sizeof *out);
    memcpy(out + a->rate, pt->rate_q, a->nq * sizeof *out);
    memcpy(out + a->rate + a->nq, pt->rate_p, a->np * sizeof *out);
    if (a->m) memcpy(out + a->rate + a->nq + a->np, pt->rate_S, a->m * sizeof *out);
    memcpy(out + a->slope, f->energy_q, a->nq * sizeof *out);
    memcpy(out + a->v, pt->v, a->np * sizeof *out);
    if (a->m) memcpy(out + a->T, pt->T, a->m * sizeof *out);
    out[a->energy] = f->energy;
    clsi_place at = {f->q, f->v, f->p, f->S, f->T, s->t, NULL};
    for (size_t i = 0; i < s->n_invariants; i++)
        if (clsi_place_at(s, &at, 1, &s->bound.invariants[i].node, out + a->declared + i))
            return clsi_no_memory(error);
    return a->n_bracket ? add_bracket(a, out + a->bracket, error) : CLS_OK;
}

static cls_status compile(clsi_samples *a, cls_error *error) {
    static const clsi_scheme nothing = {
        .info = {.name = "rates"}, .build = build_nothing, .varies = 1, .drift = 1};
    const cls_system *s = a->s;
    clsi_step *st = NULL;
    cls_node *out = clsi_calloc(a->width, sizeof *out);
    cls_node *in = clsi_calloc(a->nz + 1 + s->nu, sizeof *in);
    cls_status status = out && in ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_step_create(s, &nothing, 0, &st, error);
    if (status == CLS_OK) {
        memcpy(in, st->z0, a->nz * sizeof *in);
        in[a->nz] = st->t;
        if (s->nu) memcpy(in + a->nz + 1, st->u0, s->nu * sizeof *in);
        clsi_point *start = clsi_point_start(st);
        status = st->exhausted ? clsi_no_memory(error) : fill_outputs(a, start, out, error);
    }
    if (status == CLS_OK)
        status =
            cls_program_create(s->g, a->nz + 1 + s->nu, in, a->outputs, out, &a->program, error);
    clsi_step_free(&st);
    free(out);
    free(in);
    return status;
}

/* ---- the region ---- */

/* The states of the default motion, as far as it goes: (*count, nz). Fails only for want of memory. */
static cls_status follow(const cls_system *s, const cls_model *m, const cls_invariants_options *of,
                         double *z, size_t *count, cls_error *error) {
    size_t nz = s->form->nz, n = 0;
    double *state = clsi_calloc(cls_system_state_count(s) + 1, sizeof *state);
    cls_starter *starter = NULL;
    cls_simulator *sim = NULL;
    cls_simulate_options o = cls_simulate_defaults();
    double h = of->scheme && of->h > 0 ? of->h : cls_system_default_step(s);
    double steps = cls_system_default_until(s) / h;
    uint64_t each = steps > 10 * MOTION ? 10 : steps > MOTION ? (uint64_t)(steps / MOTION) : 1;
    o.monitor = 0;
    o.scheme = of->scheme;
    o.h = h;
    cls_status status = state ? CLS_OK : CLS_MEMORY;
    if (!status) status = cls_starter_create(m ? NULL : s, m, &starter, NULL);
    if (!status) status = cls_starter_state(starter, NULL, state, NULL);
    if (!status) {
        memcpy(z, state, nz * sizeof *z);
        n = 1;
        status = cls_simulator_create(s, &o, &sim, NULL);
    }
    if (!status) status = cls_simulator_start(sim, 0, state, NULL);
    while (!status && n < MOTION && (double)(n * each) <= steps) {
        status = cls_simulator_advance(sim, each, NULL);
        if (!status) memcpy(z + n++ * nz, cls_simulator_state(sim), nz * sizeof *z);
    }
    cls_simulator_free(&sim);
    cls_starter_free(&starter);
    free(state);
    *count = n;
    return status == CLS_MEMORY ? clsi_no_memory(error) : CLS_OK;
}

/* The data of a model say where a variable lay that a learned part is a function of. */
static void widen_by_model(const cls_system *s, const cls_model *m, double *low, double *high) {
    for (size_t i = 0; m && i < m->n_learned; i++)
        for (size_t k = 0; k < m->learned[i].d; k++)
            for (size_t j = 0; j < s->form->nz; j++)
                if (clsi_has_range(&m->learned[i], k) &&
                    !strcmp(m->learned[i].input[k], cls_node_name(s->g, s->form->z[j]))) {
                    low[j] = m->learned[i].low[k];
                    high[j] = m->learned[i].high[k];
                }
}

static void make_box(const cls_system *s, const cls_model *m, size_t n, const double *z,
                     double *low, double *high) {
    size_t nz = s->form->nz, heat = s->nq + s->n;
    for (size_t k = 0; k < nz; k++) {
        low[k] = n ? INFINITY : -1, high[k] = n ? -INFINITY : 1;
        for (size_t i = 0; i < n; i++) {
            low[k] = fmin(low[k], z[i * nz + k]);
            high[k] = fmax(high[k], z[i * nz + k]);
        }
        /* What stood still gets room, so that a constant of one motion is not one of the system. */
        double centre = low[k] / 2 + high[k] / 2, half = high[k] / 2 - low[k] / 2;
        double least = centre != 0 ? fabs(centre) / 4 : 0.25;
        half = fmax(half, least);
        low[k] = centre - half;
        high[k] = centre + half;
    }
    widen_by_model(s, m, low, high);
    for (size_t k = 0; k < nz; k++) {
        const clsi_variable *d = k < s->nq ? &s->coordinate[k] : NULL;
        if (k >= heat)
            d = s->form->kind == CLSI_FORM_THERMAL ? &s->temperature[k - heat]
                                                   : &s->entropy[k - heat];
        if (d && !(low[k] > d->low)) low[k] = d->low + 1e-3 * (high[k] - d->low);
        if (d && !(high[k] < d->high)) high[k] = d->high - 1e-3 * (d->high - low[k]);
    }
}

static int is_fine(const clsi_samples *a, const double *value) {
    for (size_t i = 0; i < a->width; i++)
        if (!isfinite(value[i])) return 0;
    for (size_t i = 0; i < a->m; i++)
        if (!a->s->ode && !(value[a->T + i] > 0)) return 0;
    return 1;
}

/* Draws until there are `wanted` of them or it is in vain; `share` of the box around a state of the
 * motion. */
static cls_status draw(clsi_samples *a, const cls_model *m, size_t wanted, const double *box,
                       size_t n_motion, const double *motion, double share, cls_random *random,
                       cls_error *error) {
    size_t nz = a->nz, nu = a->s->nu;
    cls_range *range = NULL;
    cls_outside outside;
    double *in = clsi_calloc(nz + 1 + nu, sizeof *in);
    double *work = clsi_calloc(cls_program_work_size(a->program), sizeof *work);
    cls_status status = in && work ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK && m) status = cls_range_create(m, &range, error);
    if (status == CLS_OK) cls_program_prepare(a->program, work);
    for (size_t tries = 0; status == CLS_OK && a->n < wanted && tries < TRIES * wanted; tries++) {
        const double *low = box, *high = box + nz;
        size_t at = n_motion ? (size_t)(cls_random_uniform(random) * (double)n_motion) : 0;
        for (size_t k = 0; k < nz; k++) {
            double c = share < 1 && n_motion ? motion[at * nz + k] : (low[k] + high[k]) / 2;
            in[k] = c + share * (high[k] - low[k]) * (cls_random_uniform(random) - 0.5);
        }
        for (size_t k = 0; k <= nu; k++) in[nz + k] = 2 * cls_random_uniform(random) - 1;
        clsi_system_normalise(a->s, in);
        if (range && cls_range_check(range, in, &outside)) continue;
        double *value = a->value + a->n * a->width;
        cls_program_run(a->program, work, in, value);
        if (!is_fine(a, value)) continue;
        memcpy(a->z + a->n * nz, in, nz * sizeof *in);
        a->n++;
    }
    cls_range_free(&range);
    free(in);
    free(work);
    return status;
}

static cls_status take_given(clsi_samples *a, const cls_invariants_options *o, size_t wanted,
                             cls_error *error) {
    double *in = clsi_calloc(a->nz + 1 + a->s->nu, sizeof *in);
    double *work = clsi_calloc(cls_program_work_size(a->program), sizeof *work);
    if (in && work) cls_program_prepare(a->program, work);
    for (size_t i = 0; in && work && i < wanted && i < o->n_states; i++) {
        /* spread over them, every second to each half */
        size_t at = (i % 2 ? o->n_states / 2 : 0) + i / 2 * (o->n_states / wanted + 1);
        memcpy(in, o->states + at % o->n_states * o->stride, a->nz * sizeof *in);
        cls_program_run(a->program, work, in, a->value + a->n * a->width);
        if (!is_fine(a, a->value + a->n * a->width)) continue;
        memcpy(a->z + a->n++ * a->nz, in, a->nz * sizeof *in);
    }
    cls_status status = in && work ? CLS_OK : clsi_no_memory(error);
    free(in);
    free(work);
    return status;
}

/* y along the motion, for the drift of what is found. */
static cls_status keep_path(clsi_samples *a, size_t n, const double *motion, cls_error *error) {
    double *in = clsi_calloc(a->nz + 1 + a->s->nu, sizeof *in);
    double *work = clsi_calloc(cls_program_work_size(a->program) + a->width, sizeof *work);
    a->path = clsi_calloc(n * a->ny + 1, sizeof *a->path);
    cls_status status = in && work && a->path ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) cls_program_prepare(a->program, work);
    for (size_t i = 0; status == CLS_OK && i < n; i++) {
        double *value = work + cls_program_work_size(a->program);
        memcpy(in, motion + i * a->nz, a->nz * sizeof *in);
        cls_program_run(a->program, work, in, value);
        memcpy(a->path + a->n_path++ * a->ny, value, a->ny * sizeof *value);
    }
    free(in);
    free(work);
    return status;
}

static cls_status choose(clsi_samples *a, const cls_model *m, size_t wanted,
                         const cls_invariants_options *o, int whole, cls_error *error) {
    cls_random random;
    double *motion = clsi_calloc((MOTION + 2) * a->nz, sizeof *motion);
    if (!motion) return clsi_no_memory(error);
    double *box = motion + MOTION * a->nz;
    size_t n = 0;
    cls_status status = follow(m ? m->system : a->s, m, o, motion, &n, error);
    cls_random_seed(&random, o->seed);
    make_box(a->s, m, n, motion, box, box + a->nz);
    if (status == CLS_OK) status = keep_path(a, n, motion, error);
    if (status == CLS_OK && o->states) status = take_given(a, o, wanted, error);
    /* The whole box, then less and less of it around the motion. What was learned is known near
     * motions: there a model is tried, at last outside the range of its data, if nothing is left. */
    static const double shares[] = {1, 0.5, 0.25, 0.1};
    for (size_t i = m && !whole ? 2 : 0; status == CLS_OK && !o->states && a->n < wanted && i < 4;
         i++)
        status = draw(a, m, wanted, box, n, motion, shares[i], &random, error);
    for (size_t i = 0; status == CLS_OK && m && !o->states && a->n < wanted && i < 4; i++)
        status = draw(a, NULL, wanted, box, n, motion, shares[i], &random, error);
    free(motion);
    if (status == CLS_OK && a->n < wanted / 4)
        return clsi_fail(error, CLS_NUMERIC,
                         "'%s' has finite rates at too few of the states that were tried (%zu); "
                         "give it a `start` inside its domain",
                         a->s->name, a->n);
    return status;
}

cls_status clsi_samples_create(const cls_system *s, const cls_model *m, size_t wanted,
                               const cls_invariants_options *o, int whole, clsi_samples *a,
                               cls_error *error) {
    *a = (clsi_samples){0};
    cls_status status = clsi_system_view(s, &a->view, error);
    if (status != CLS_OK) return status;
    a->s = a->view;
    a->nz = a->ny = s->form->nz;
    a->nq = s->nq;
    a->np = s->n;
    a->m = s->m;
    a->rate = a->ny;
    a->slope = a->rate + a->ny;
    a->v = a->slope + a->nq;
    a->T = a->v + a->np;
    a->energy = a->T + a->m;
    a->declared = a->energy + 1;
    a->bracket = a->declared + s->n_invariants;
    a->n_bracket = s->canonical ? 0 : 2 * s->bound.kinematics.n + s->bound.poisson.n;
    a->outputs = a->bracket + a->n_bracket;
    a->width = a->outputs + (o->scheme ? 2 * a->ny : 0);
    a->at = o->scheme ? a->outputs : 0;
    a->by = o->scheme ? a->outputs + a->ny : a->rate;
    a->bracket_row = clsi_calloc(2 * a->n_bracket + 1, sizeof *a->bracket_row);
    a->z = clsi_calloc(wanted * a->nz, sizeof *a->z);
    a->value = clsi_calloc(wanted * a->width, sizeof *a->value);
    if (!a->bracket_row || !a->z || !a->value) status = clsi_no_memory(error);
    a->bracket_column = a->bracket_row + a->n_bracket;
    if (status == CLS_OK) status = compile(a, error);
    if (status == CLS_OK) status = choose(a, m, wanted, o, whole, error);
    if (status == CLS_OK && o->scheme) status = clsi_samples_step(a, o, error);
    return status;
}

void clsi_samples_clear(clsi_samples *a) {
    cls_program_free(&a->program);
    clsi_system_view_free(&a->view);
    free(a->bracket_row);
    free(a->z);
    free(a->value);
    free(a->path);
    *a = (clsi_samples){0};
}
