/* Functions from noisy data: terms that the noise allows, by multiple shooting.
 *
 * A residual puts noisy states into formulas: more terms follow the noise, and what is found is
 * biased (errors in variables). Simulations from free starts have neither fault. So where the data
 * are noisy:
 *
 *  1. a dictionary of terms (the usual basis, at most MOST_TERMS), its inputs scaled by ranges that
 *     single wild values do not stretch;
 *  2. the residual's solution with terms of low degree, to begin with;
 *  3. multiple shooting with growing windows, free starts and Huber's loss (recipe.c), the
 *     coefficients being its parameters;
 *  4. terms added and dropped by Bayes' criterion, from the information of that very fit over the
 *     whole dictionary (terms.c); back to 3 until nothing changes;
 *  5. scores on trajectories that were kept back, then a last fit to everything.
 *
 * The noise decides how many terms there are: a term has to explain more than noise would.
 *
 * Systems with inputs, and parameters that are unknown beside functions, have no residual that is one
 * solve. They go the same way from 3 on, the parameters behind the coefficients, and begin with what the
 * shortest windows say about terms of low degree that are zero at first. */
#include "base/base.h"
#include "data/table.h"
#include "learn/learner.h"
#include "learn/measured.h"
#include "learn/multiple.h"
#include "learn/terms.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_HALVES = 10,
    MOST_TERMS = 150,
    MOST_LOCKED = 40,
    MOST_SPREAD = 64, /* coefficients whose covariance goes into the model */
    ROUNDS = 6,
    ENERGY_DEGREE = 2,
    OTHER_DEGREE = 1
};

/* ---- is it for this? ---- */

static const double NOISY = 1e-4; /* of the spread; below it one solve is as good */
static const double GROWS = 1.1;  /* scales of short windows are those of noise, within a tenth */
static const double WORSE = 2;    /* scales of long windows above that are misfit */

static double noise_of(const clsi_points *p) {
    double most = 0;
    for (size_t k = 0; k < p->nz; k++)
        most = fmax(most, clsi_points_noise(p, k) / clsi_points_spread(p, k));
    return most;
}

/* States that no column says. */
static int lacks(const clsi_points *p) {
    for (size_t k = 0; k < p->nz && !p->intervals; k++)
        if (!p->observed[k]) return 1;
    return 0;
}

/* Did the caller choose how to learn? */
static int is_told(const cls_learn_options *o) {
    int optimizer = o->optimizer && strcmp(o->optimizer, "auto") != 0;
    return optimizer || o->scheme || o->window || o->weights || o->from || o->resume ||
           o->max_windows || o->max_iterations || o->restarts > 1 || o->anchor_weight > 0;
}

int clsi_learner_is_noisy(const clsi_learner *w) {
    const cls_system *s = w->system;
    const clsi_points *p = w->points;
    int wanted = w->o->loss && strcmp(w->o->loss, "multiple-shooting") == 0;
    if (wanted) return 1;
    if (w->o->loss || is_told(w->o) || p->intervals || s->formalism == CLS_LAGRANGIAN ||
        s->n_anchors || s->nu)
        return 0;
    for (size_t i = 0; i < w->o->n_unknown; i++) { /* networks have no terms to choose from */
        const char *spec = w->o->field;
        for (size_t k = 0; k < s->n_unknown; k++)
            if (strcmp(s->unknown[k], w->o->unknown[i]) == 0 && s->unknown_field[k])
                spec = s->unknown_field[k];
        const clsi_field_kind *kind = spec ? clsi_field_kind_of(spec) : NULL;
        if (kind && !kind->linear) return 0;
    }
    return noise_of(p) > NOISY || lacks(p);
}

int clsi_learner_is_recorded(const clsi_learner *w) {
    const cls_system *s = w->system;
    int measured = 0;
    for (size_t k = 0; k < s->nu; k++) measured |= s->input_formula[k] == CLS_NO_NODE;
    return measured || w->open;
}

typedef struct noisy {
    clsi_learner *w;
    size_t n_tables;
    cls_table **tables; /* the states alone, trajectories numbered */
    double **columns;   /* (n_tables) their numbers */
    clsi_recording *data;
    clsi_unknowns *all;  /* the dictionary */
    size_t P;            /* its terms */
    size_t Q;            /* parameters beside them, behind them everywhere */
    unsigned char *keep; /* (P + Q) */
    unsigned char *locked;
    size_t *part;                    /* (P + Q) */
    double *full;                    /* (P + Q) coefficients over the dictionary, parameters */
    double *low, *high;              /* (P + Q) bounds: parameters have some */
    double *own_low, *own_high;      /* the same for the terms that are kept */
    unsigned char *vague;            /* (P + Q) for them: nobody said where it begins */
    int blind;                       /* there is no residual to begin with */
    int formed;                      /* what must be positive is so by form */
    clsi_multiple *multiple, *whole; /* of the terms that are kept; of the dictionary */
    cls_system *open, *whole_open, *built;
    clsi_recipe recipe;
    cls_learn_report *report;
    double until;
    int unseen;
    int declined;  /* a large basis was asked for: this is not for it */
    int implicit;  /* explicit steps failed */
    double *noise; /* (ny) what the shortest windows leave; longer ones leave misfit as well */
} noisy;

/* ---- the data ---- */

/* What says a state that was not measured itself: a temperature its entropy, a velocity its momentum. */
static const char *conjugate_of(const cls_system *s, size_t e) {
    const cls_node *list[] = {s->p, s->v, s->S, s->T}, *other[] = {s->v, s->p, s->T, s->S};
    const size_t n[] = {s->n, s->n, s->m, s->m};
    for (size_t k = 0; k < 4; k++)
        for (size_t j = 0; j < n[k]; j++)
            if (s->form->z[e] == list[k][j]) return cls_node_name(s->g, other[k][j]);
    return NULL;
}

/* Rows of one table as columns time, trajectory, the states that it has, or what says them, inputs and
 * outputs. A time
 * that goes back begins a trajectory where they have no numbers. */
static cls_status take_states(noisy *k, const cls_table *t, const char *file, size_t i) {
    const cls_system *s = k->w->system;
    size_t nz = k->w->points->nz, rows = cls_table_rows(t), n = 2;
    int time = clsi_table_time(t), group = cls_table_find(t, "trajectory");
    if (time < 0) return clsi_no_column(t, file, "time", CLS_DATA, k->w->error);
    size_t more = s->nu + s->n_outputs;
    const char **names = clsi_calloc(nz + more + 2, sizeof *names);
    const double **list = clsi_calloc(nz + more + 2, sizeof *list);
    double *number = k->columns[i] = clsi_calloc(rows + 1, sizeof *number);
    if (!names || !list || !number) {
        free(names);
        free(list);
        return clsi_no_memory(k->w->error);
    }
    const double *at = cls_table_column(t, (size_t)time);
    const double *given = group < 0 ? NULL : cls_table_column(t, (size_t)group);
    for (size_t r = 0; r < rows; r++)
        number[r] = given               ? given[r]
                    : r == 0            ? 0
                    : at[r] > at[r - 1] ? number[r - 1]
                                        : number[r - 1] + 1;
    names[0] = "time", list[0] = at;
    names[1] = "trajectory", list[1] = number;
    for (size_t e = 0; e < nz; e++) {
        const char *name = clsi_point_name(s, e);
        int c = cls_table_find(t, name);
        if (c < 0 && (name = conjugate_of(s, e))) c = cls_table_find(t, name);
        if (c < 0) continue;
        names[n] = name;
        list[n++] = cls_table_column(t, (size_t)c);
    }
    for (size_t e = 0; e < more; e++) { /* inputs, and what is measured of the state */
        const char *name = e < s->nu ? s->input[e].name : s->bound.outputs[e - s->nu].name;
        int c = cls_table_find(t, name);
        if (c < 0) continue;
        names[n] = name;
        list[n++] = cls_table_column(t, (size_t)c);
    }
    cls_status status = cls_table_borrow(n, names, rows, list, &k->tables[i], k->w->error);
    free(names);
    free(list);
    return status;
}

static cls_status record(noisy *k, const cls_table *const *tables, const char *const *names) {
    const cls_learn_options *o = k->w->o;
    size_t rows = 0;
    cls_status status = CLS_OK;
    k->tables = clsi_calloc(k->n_tables, sizeof *k->tables);
    k->columns = clsi_calloc(k->n_tables, sizeof *k->columns);
    if (!k->tables || !k->columns) return clsi_no_memory(k->w->error);
    for (size_t i = 0; i < k->n_tables && status == CLS_OK; i++) {
        status = take_states(k, tables[i], names[i], i);
        rows += cls_table_rows(tables[i]);
    }
    double test = o->test < 0 ? (rows >= 200 ? 0.2 : 0) : o->test;
    if (status == CLS_OK)
        status = clsi_recording_create(k->w->system, k->n_tables,
                                       (const cls_table *const *)k->tables, names, test, o->average,
                                       o->hold, o->n_test, &k->data, k->w->error);
    return status;
}

/* ---- the dictionary ---- */

static cls_status make_unknowns(noisy *k, size_t halved, clsi_unknowns **out) {
    const clsi_learner *w = k->w;
    clsi_choices choices = {.halved = halved};
    cls_status status =
        clsi_unknowns_create_small(w->system, w->set, w->o, w->points, &choices, out, w->error);
    if (status == CLS_OK && w->open) {
        (*out)->n_open = w->open->n;
        (*out)->open = w->open->name;
    }
    return status == CLS_OK ? clsi_terms_calm(*out, w->points, w->error) : status;
}

static cls_status make_dictionary(noisy *k) {
    size_t halved = 0;
    cls_status status = make_unknowns(k, 0, &k->all);
    while (status == CLS_OK && k->all->chosen && k->all->n_theta > MOST_TERMS &&
           halved < MOST_HALVES) { /* half of the limit may be the same degree */
        clsi_unknowns_free(&k->all);
        status = make_unknowns(k, ++halved, &k->all);
    }
    if (status != CLS_OK) return status;
    size_t P = k->P = k->all->n_theta, all = P + k->Q;
    k->keep = clsi_calloc(3 * all + 1, 1);
    k->noise = clsi_calloc(k->data->ny, sizeof *k->noise);
    for (size_t c = 0; c < k->data->ny && k->noise; c++) k->noise[c] = INFINITY;
    k->part = clsi_calloc(all + 1, sizeof *k->part);
    k->full = clsi_calloc(5 * all + 1, sizeof *k->full);
    if (!k->keep || !k->part || !k->full || !k->noise) return clsi_no_memory(k->w->error);
    k->locked = k->keep + all;
    k->vague = k->locked + all;
    k->low = k->full + all;
    k->high = k->low + all;
    k->own_low = k->high + all;
    k->own_high = k->own_low + all;
    for (size_t p = 0; p < P; p++) k->low[p] = -INFINITY, k->high[p] = INFINITY;
    for (size_t q = 0; q < k->Q; q++) {
        k->low[P + q] = k->w->open->low[q];
        k->high[P + q] = k->w->open->high[q];
        k->full[P + q] = k->w->open->value[q];
        k->keep[P + q] = k->locked[P + q] = 1;
        k->part[P + q] = k->all->n + q;
    }
    for (size_t i = 0; i < k->all->n; i = clsi_group_end(k->all, i)) {
        const clsi_learned *l = &k->all->list[i].learned;
        for (size_t p = 0; p < l->field->n_parameters; p++) {
            k->part[l->offset + p] = i;
            k->locked[l->offset + p] = !clsi_terms_free(k->all, i);
        }
    }
    clsi_terms_low(k->all, ENERGY_DEGREE, OTHER_DEGREE, k->keep);
    size_t locked = 0;
    for (size_t p = 0; p < P; p++) locked += k->locked[p];
    k->declined = !k->blind && !k->w->o->loss && !lacks(k->w->points) &&
                  (locked > MOST_LOCKED || P > MOST_TERMS);
    return CLS_OK;
}

/* Room for the coefficients of the learner's unknowns and for the parameters. */
static cls_status prepare(noisy *k) {
    clsi_learner *w = k->w;
    size_t n = w->unknowns->n_theta;
    if (!k->blind) return clsi_learner_prepare(w);
    if (!(w->theta = clsi_calloc(n + k->Q + 1, sizeof *w->theta))) return clsi_no_memory(w->error);
    for (size_t p = 0; p < n; p++) {
        k->own_low[p] = -INFINITY, k->own_high[p] = INFINITY;
        k->vague[p] = 0;
    }
    for (size_t q = 0; q < k->Q; q++) {
        k->own_low[n + q] = k->low[k->P + q];
        k->own_high[n + q] = k->high[k->P + q];
        k->vague[n + q] = w->open->vague[q];
    }
    return CLS_OK;
}

/* The system's text has the parameters as they are now. */
static void put_parameters(const noisy *k) {
    for (size_t q = 0; q < k->Q; q++)
        k->w->open->set_values[k->w->open->at + q] = k->full[k->P + q];
}

/* The learner's unknowns with the terms that are kept, and their coefficients. */
static cls_status take_terms(noisy *k) {
    clsi_learner *w = k->w;
    clsi_learner_forget(w);
    put_parameters(k);
    cls_status status = make_unknowns(k, k->all->choices.halved, &w->unknowns);
    if (status == CLS_OK) status = clsi_terms_keep(w->unknowns, k->keep, w->error);
    if (status == CLS_OK) status = prepare(k);
    for (size_t i = 0; i < k->all->n && status == CLS_OK; i++) {
        w->unknowns->list[i].learned.floor = k->all->list[i].learned.floor;
        w->unknowns->list[i].learned.scale = k->all->list[i].learned.scale;
    }
    for (size_t p = 0, at = 0; p < k->P + k->Q && status == CLS_OK; p++)
        if (k->keep[p]) w->theta[at++] = k->full[p];
    return status;
}

/* The other way round. */
static void spread_terms(noisy *k) {
    for (size_t p = 0, at = 0; p < k->P + k->Q; p++)
        k->full[p] = k->keep[p] ? k->w->theta[at++] : 0;
    put_parameters(k);
}

/* Floors and scales of what is positive by form go into the dictionary. */
static void keep_forms(noisy *k) {
    for (size_t i = 0; i < k->all->n; i++) {
        k->all->list[i].learned.floor = k->w->unknowns->list[i].learned.floor;
        k->all->list[i].learned.scale = k->w->unknowns->list[i].learned.scale;
    }
}

static cls_status start(noisy *k) {
    clsi_learner *w = k->w;
    cls_status status = take_terms(k);
    if (status == CLS_OK) status = clsi_learner_solve(w);
    if (status == CLS_OK) status = clsi_learner_make_positive(w, w->theta);
    if (status == CLS_OK) {
        keep_forms(k);
        spread_terms(k);
        k->formed = 1;
    }
    return status;
}

/* ---- a fit ---- */

static int is_over(void *context) {
    const noisy *k = context;
    const cls_learn_options *o = k->w->o;
    if (k->until > 0 && clsi_now() > k->until) return 1;
    if (o->interrupted && o->interrupted(o->context)) return 1;
    cls_learn_progress p = {.phase = "iterate",
                            .done = k->recipe.iterations,
                            .loss = NAN,
                            .validation = NAN,
                            .seconds = clsi_now() - k->w->started};
    return o->progress && o->progress(o->context, &p);
}

/* Explicit steps of order four, short enough that their error is far below the noise: a search keeps
 * no laws, the model that it finds does. What they cannot simulate has the system's own steps. */
enum { STEPS = 16 }; /* in a time scale */

static cls_status make_observer(noisy *k, const cls_system *open, const clsi_unknowns *us,
                                const cls_node *theta, const char *const *channel,
                                clsi_observer **out) {
    double most = k->data->time_scale / STEPS;
    const char *scheme = k->w->o->scheme;
    cls_status status = CLS_USAGE;
    if (!scheme && !k->implicit)
        status = clsi_observer_create(open, "rk4", us->n_theta + us->n_open, theta, k->data->ny,
                                      channel, out, NULL);
    if (status != CLS_OK) {
        scheme = clsi_measured_steps(open, k->data, scheme, &most);
        status = clsi_observer_create(open, scheme, us->n_theta + us->n_open, theta, k->data->ny,
                                      channel, out, k->w->error);
    }
    if (status == CLS_OK) (*out)->most_step = most;
    return status;
}

/* The data as simulations of the unknowns see them. */
static cls_status observe(noisy *k, const clsi_unknowns *us, cls_system **open,
                          clsi_multiple **out) {
    cls_node *theta = NULL;
    clsi_observer *observer = NULL;
    const char **channel = clsi_calloc(k->data->ny + 1, sizeof *channel);
    if (!channel) return clsi_no_memory(k->w->error);
    for (size_t c = 0; c < k->data->ny; c++) channel[c] = k->data->channel[c].name;
    cls_status status = clsi_unknowns_open(us, CLSI_FORMULAS, open, &theta, k->w->error);
    if (status == CLS_OK) status = make_observer(k, *open, us, theta, channel, &observer);
    int own = us != k->all && k->blind; /* without parameters no bound matters */
    if (status == CLS_OK)
        status = clsi_multiple_create(k->data, k->built ? k->built : k->w->system, observer,
                                      own ? k->own_low : k->low, own ? k->own_high : k->high, out,
                                      k->w->error);
    if (status == CLS_OK) {
        (*out)->stop = is_over;
        (*out)->stop_owner = k;
    }
    free(channel);
    free(theta);
    return status;
}

/* Windows, starts, scales and cuts of one go to another of the same data. */
static void move_windows(clsi_multiple *from, clsi_multiple *to) {
    free(to->piece);
    free(to->x);
    to->n_pieces = from->n_pieces;
    to->piece = from->piece;
    to->x = from->x;
    to->x_guess = from->x_guess;
    from->piece = NULL, from->x = NULL, from->n_pieces = 0;
    memcpy(to->sigma, from->sigma, from->ny * sizeof *to->sigma);
    memcpy(to->cut, from->cut, from->data->n);
}

/* The learner's unknowns as a problem; windows stay as they are. */
static cls_status set_up(noisy *k) {
    clsi_learner *w = k->w;
    cls_system *open = NULL, *built = NULL, *before = k->built;
    clsi_multiple *next = NULL;
    cls_status status = k->formed ? clsi_learner_build(w, w->theta, &built, w->error) : CLS_OK;
    if (status != CLS_OK) return status;
    k->built = built;
    status = observe(k, w->unknowns, &open, &next);
    if (status == CLS_OK && k->multiple) move_windows(k->multiple, next);
    clsi_multiple_free(&k->multiple);
    cls_system_free(&k->open);
    cls_system_free(&before);
    k->multiple = next;
    k->open = open;
    k->recipe.m = next;
    k->recipe.theta = w->theta;
    k->recipe.open = k->blind ? k->vague : NULL;
    return status;
}

/* Where there is no residual: terms of low degree, zero at first, and the parameters as the file has
 * them, by the shortest windows; without any form first, that has no slope where it bends. */
static cls_status start_blind(noisy *k) {
    clsi_learner *w = k->w;
    cls_status status = clsi_options_mean(w, "lm", w->error);
    if (status == CLS_OK) status = take_terms(k);
    if (status == CLS_OK) status = set_up(k);
    if (status == CLS_OK) {
        size_t rows = clsi_recipe_first(k->multiple);
        status = clsi_recipe_search(&k->recipe, rows, w->error);
        if (status == CLS_OK) status = clsi_recipe_stage(&k->recipe, rows, 0, w->error);
    }
    if (status == CLS_OK) status = clsi_learner_make_positive(w, w->theta);
    if (status != CLS_OK) return status;
    keep_forms(k);
    spread_terms(k);
    k->formed = 1;
    return CLS_OK;
}

static cls_status fit(noisy *k, size_t rows, int last) {
    cls_status status = clsi_recipe_stage(&k->recipe, rows, last, k->w->error);
    if (status == CLS_OK) spread_terms(k);
    return status;
}

/* ---- which terms ---- */

/* Information and gradient over the dictionary, at the windows of the fit. Its programs are made
 * once: they are larger than those of the fit. */
static cls_status inform(noisy *k, double *S, double *g) {
    clsi_arrow a;
    cls_status status = k->whole ? CLS_OK : observe(k, k->all, &k->whole_open, &k->whole);
    if (status != CLS_OK) return status;
    clsi_multiple *m = k->whole;
    m->system = NULL; /* no start is made here */
    move_windows(k->multiple, m);
    for (size_t c = 0; c < m->ny; c++) m->sigma[c] = fmin(m->sigma[c], k->noise[c]);
    clsi_multiple_problem(m, 2, &a);
    clsi_arrow_scores scores = {.S = S, .g = g};
    status = clsi_arrow_information(&a, k->full, m->x, &scores, k->w->error);
    memcpy(m->sigma, k->multiple->sigma, m->ny * sizeof *m->sigma);
    move_windows(m, k->multiple);
    return status;
}

static cls_status choose(noisy *k, int *changed) {
    size_t P = k->P + k->Q, moves = 0, rows = 0;
    double *S = clsi_calloc(P * P + 3 * P + 1, sizeof *S), *g = S + P * P, *found = g + P;
    double *price = found + P;
    unsigned char *keep = clsi_calloc(P + 1, 1);
    cls_status status = S && keep ? inform(k, S, g) : clsi_no_memory(k->w->error);
    for (size_t i = 0; i < k->multiple->n_pieces; i++)
        rows += k->multiple->piece[i].n * k->data->ny;
    if (status == CLS_OK) {
        memcpy(keep, k->keep, P);
        clsi_terms_prices(k->all, rows, price);
        clsi_terms_choice c = {.P = P,
                               .S = S,
                               .g = g,
                               .theta = k->full,
                               .part = k->part,
                               .locked = k->locked,
                               .price = price};
        status = clsi_terms_choose(&c, keep, found, &moves, k->w->error);
    }
    *changed = status == CLS_OK && memcmp(keep, k->keep, P) != 0;
    if (*changed) memcpy(k->keep, keep, P);
    free(S);
    free(keep);
    return status;
}

/* ---- everything in order ---- */

/* Windows of so many rows: terms and their coefficients until nothing changes. */
static cls_status settle(noisy *k, size_t rows) {
    int changed = 1;
    cls_status status = fit(k, rows, 0);
    for (size_t round = 0; round < ROUNDS && changed && status == CLS_OK && !is_over(k); round++) {
        status = choose(k, &changed);
        if (status == CLS_OK && changed) status = take_terms(k);
        if (status == CLS_OK && changed) status = set_up(k);
        if (status == CLS_OK && changed) status = fit(k, rows, 0);
    }
    for (size_t c = 0; c < k->data->ny && status == CLS_OK; c++)
        k->noise[c] = fmin(k->noise[c], GROWS * k->multiple->sigma[c]);
    return status;
}

/* Longer windows leave more than noise: the dictionary does not hold what they show. */
static int is_misfit(const noisy *k) {
    for (size_t c = 0; c < k->data->ny; c++) {
        double sigma = k->multiple->sigma[c];
        if (sigma > WORSE * k->noise[c] && sigma > 0.02 * k->data->channel[c].std) return 1;
    }
    return 0;
}

static void note_terms(noisy *k, size_t rows) {
    clsi_text_printf(&k->recipe.notes, "windows of %zu rows: %zu of %zu terms\n", rows,
                     k->w->unknowns->n_theta, k->P);
}

/* Again with these terms and windows. */
static cls_status go_back(noisy *k, const unsigned char *keep, const double *full, size_t rows) {
    memcpy(k->keep, keep, k->P + k->Q);
    memcpy(k->full, full, (k->P + k->Q) * sizeof *full);
    cls_status status = take_terms(k);
    if (k->multiple) k->multiple->n_pieces = 0; /* starts from the data */
    if (status == CLS_OK) status = set_up(k);
    return status == CLS_OK && rows ? fit(k, rows, 0) : status;
}

/* From short windows to whole trajectories; where longer ones cannot be simulated or explained, the
 * terms and coefficients of those before are the result. */
static cls_status grow(noisy *k, unsigned char *keep, double *full) {
    size_t rows = clsi_recipe_first(k->multiple), most = clsi_recipe_longest(k->multiple);
    cls_status status = settle(k, rows);
    while (status == CLS_OK) {
        note_terms(k, rows);
        if (rows >= most || is_over(k)) break;
        size_t next = 5 * rows / 2 < most ? 5 * rows / 2 : most;
        memcpy(keep, k->keep, k->P + k->Q);
        memcpy(full, k->full, (k->P + k->Q) * sizeof *full);
        status = settle(k, next);
        if (status == CLS_MEMORY) break;
        if (status != CLS_OK || is_misfit(k)) {
            clsi_text_printf(&k->recipe.notes,
                             "windows of %zu rows %s; what those of %zu rows gave was kept\n", next,
                             status == CLS_OK ? "leave more than noise, whatever the terms"
                                              : "cannot be simulated",
                             rows);
            status = go_back(k, keep, full, rows);
            break;
        }
        rows = next;
    }
    return status == CLS_OK ? fit(k, rows, 1) : status;
}

/* Explicit steps first, then the system's own; then fewer terms. */
static cls_status find_terms(noisy *k) {
    size_t P = k->P + k->Q;
    unsigned char *keep = clsi_calloc(2 * P + 1, 1), *first = keep + P;
    double *full = clsi_calloc(2 * P + 1, sizeof *full), *begin = full + P;
    cls_status status = keep && full ? CLS_OK : clsi_no_memory(k->w->error);
    if (status == CLS_OK) {
        memcpy(first, k->keep, P);
        memcpy(begin, k->full, P * sizeof *full);
        status = set_up(k);
    }
    if (status == CLS_OK) status = grow(k, keep, full);
    if (status == CLS_NUMERIC && !k->implicit) {
        clsi_text_printf(&k->recipe.notes, "explicit steps failed: those of the system's scheme\n");
        k->implicit = 1;
        clsi_multiple_free(&k->whole);
        cls_system_free(&k->whole_open);
        status = go_back(k, first, begin, 0);
        if (status == CLS_OK) status = grow(k, keep, full);
    }
    if (status == CLS_NUMERIC && !k->blind) {
        clsi_text_printf(&k->recipe.notes, "no fit with the first terms: begun with fewer\n");
        clsi_terms_low(k->all, 1, 0, k->keep);
        memset(k->full, 0, P * sizeof *full);
        status = take_terms(k);
        if (status == CLS_OK) status = clsi_learner_solve(k->w);
        if (status == CLS_OK) spread_terms(k);
        memcpy(first, k->keep, P);
        memcpy(begin, k->full, P * sizeof *full);
        if (status == CLS_OK) status = go_back(k, first, begin, 0);
        if (status == CLS_OK) status = grow(k, keep, full);
    }
    free(keep);
    free(full);
    return status;
}

static char *explain(const noisy *k) {
    clsi_text t = {0};
    const clsi_points *p = k->w->points;
    if (k->w->o->loss)
        clsi_text_printf(&t, "multiple shooting, as asked for");
    else if (k->blind) {
        const char *why = k->Q ? "parameters are unknown beside parts" : "the system has inputs";
        clsi_text_printf(&t, "multiple shooting, because %s; %zu rows every %.3g, time scale %.3g",
                         why, k->data->n, k->data->interval, k->data->time_scale);
        return clsi_text_take(&t);
    } else if (lacks(p)) {
        clsi_text_append(&t, "multiple shooting, because no column says");
        for (size_t e = 0, n = 0; e < p->nz; e++)
            if (!p->observed[e]) {
                const char *by = conjugate_of(k->w->system, e);
                int said = by && cls_table_find(k->tables[0], by) >= 0;
                clsi_text_printf(&t, "%s %s", n++ ? "," : "", clsi_point_name(k->w->system, e));
                if (said) clsi_text_printf(&t, " (but %s)", by);
            }
        return clsi_text_take(&t);
    } else
        clsi_text_printf(&t, "multiple shooting, because the data are noisy:");
    for (size_t e = 0, n = 0; e < p->nz; e++) {
        double noise = clsi_points_noise(p, e), spread = clsi_points_spread(p, e);
        if (!(noise > 0.1 * NOISY * spread)) continue;
        clsi_text_printf(&t, "%s %s %.2g (%.2g %% of its spread)", n++ ? "," : "",
                         clsi_point_name(k->w->system, e), noise, 100 * noise / spread);
    }
    return clsi_text_take(&t);
}

static cls_status finish(noisy *k) {
    clsi_learner *w = k->w;
    cls_learn_info *info = w->info;
    info->parameters = w->unknowns->n_theta + k->Q;
    info->samples = k->multiple->n_pieces;
    info->loss_initial = info->loss_validation = NAN;
    info->condition = 0;
    info->loss_final = sqrt(2 * k->recipe.loss / (double)(k->data->n_training * k->data->ny));
    info->iterations = k->recipe.iterations;
    info->nullity = (size_t)k->unseen;
    info->rank = w->unknowns->n_theta + k->Q - info->nullity;
    info->kkt = 0;
    strcpy(info->optimizer, "lm");
    snprintf(info->ended, sizeof info->ended, "%s",
             k->recipe.ended ? k->recipe.ended : "converged");
    k->report->window = k->recipe.window;
    k->report->notes = k->recipe.notes.length ? clsi_text_take(&k->recipe.notes) : clsi_strdup("");
    return k->report->notes ? CLS_OK : clsi_no_memory(w->error);
}

/* Rows that were kept back for the scores are data as well. */
static cls_status use_all_rows(noisy *k) {
    int kept = 0;
    if (k->w->o->test >= 0 || k->w->o->n_test) return CLS_OK;
    for (size_t s = 0; s < k->data->n_segments; s++) {
        clsi_segment *g = &k->data->segment[s];
        kept |= g->train < g->end - g->first;
        k->data->n_training += g->end - g->first - g->train;
        g->train = g->end - g->first;
    }
    if (!kept) return CLS_OK;
    return fit(k, k->recipe.window, 1);
}

/* Beside what knows nothing: the same system without the unknown parts, the parameters as in the file. */
static cls_status score(noisy *k) {
    clsi_learner *w = k->w;
    size_t n = w->unknowns->n_theta;
    int possible = 1; /* without its energy there is no system */
    for (size_t i = 0; i < w->unknowns->n; i++)
        possible &= w->unknowns->list[i].kind != CLSI_PART_FORMULA;
    double *before = clsi_calloc(n + k->Q + 1, sizeof *before);
    if (!before) return clsi_no_memory(w->error);
    for (size_t q = 0; q < k->Q; q++) before[n + q] = w->open->value[q];
    cls_status status = clsi_score(k->multiple, w->theta, possible ? before : NULL, k->report,
                                   &k->recipe.notes, w->error);
    free(before);
    return status;
}

static cls_status report_parameters(noisy *k, const double *errors) {
    size_t n = k->w->unknowns->n_theta;
    cls_learn_report *r = k->report;
    for (size_t q = 0; q < k->Q; q++) {
        double v = k->w->theta[n + q], low = k->w->open->low[q], high = k->w->open->high[q];
        r->parameters[q] = (cls_learned_parameter){.name = clsi_strdup(k->w->open->name[q]),
                                                   .value = v,
                                                   .error = errors[n + q],
                                                   .low = low,
                                                   .high = high,
                                                   .scatter = NAN,
                                                   .at_bound = v <= low || v >= high};
        if (!r->parameters[r->n_parameters++].name) return clsi_no_memory(k->w->error);
    }
    return CLS_OK;
}

/* Standard errors of parameters, and of the functions over the range of the data. */
static cls_status doubt(noisy *k) {
    size_t n = k->w->unknowns->n_theta + k->Q;
    int unseen = 0;
    double *errors = clsi_calloc(n * n + n + 1, sizeof *errors), *covariance = errors + n;
    cls_status status =
        errors ? clsi_doubt(k->multiple, k->w->theta, errors, covariance, &unseen, k->w->error)
               : clsi_no_memory(k->w->error);
    if (status == CLS_OK) status = report_parameters(k, errors);
    if (status == CLS_OK)
        status = clsi_learner_bands(k->w, n, covariance, errors, k->report, k->w->error);
    k->unseen = unseen;
    /* a scale that is divided out afterwards would have to be divided out of it as well */
    if (status == CLS_OK && n <= MOST_SPREAD && !k->w->info->normalised)
        k->w->spread = clsi_json_matrix(n, n, covariance);
    free(errors);
    return status;
}

static cls_status run(noisy *k, const cls_table *const *tables, const char *const *names) {
    clsi_learner *w = k->w;
    k->blind = clsi_learner_is_recorded(w);
    k->Q = w->open ? w->open->n : 0;
    cls_status status = record(k, tables, names);
    if (status == CLS_OK)
        status = clsi_report_create(k->data, w->o, k->Q, explain(k), &k->report, w->error);
    if (status == CLS_OK && lacks(w->points))
        status = clsi_points_complete(w->system, w->set, w->o, k->data, w->points, w->error);
    if (status == CLS_OK) status = make_dictionary(k);
    if (status != CLS_OK || k->declined) return status;
    w->taken = "multiple-shooting";
    status = k->blind ? start_blind(k) : start(k);
    if (status == CLS_NUMERIC && k->blind) { /* explicit steps are not for everything */
        k->implicit = 1;
        status = start_blind(k);
    }
    if (status == CLS_OK) status = find_terms(k);
    if (status == CLS_OK) status = score(k);
    if (status == CLS_OK && lacks(w->points))
        status = clsi_advise(k->multiple, w->theta, NULL, 0, &k->recipe.notes, w->error);
    if (status == CLS_OK) status = use_all_rows(k);
    if (status == CLS_OK) status = doubt(k);
    if (status == CLS_OK && w->info->normalised) {
        w->residual->scale_free = 1;
        status = clsi_learner_rescale(w);
    }
    return status == CLS_OK ? finish(k) : status;
}

cls_status clsi_learner_fit_noisy(clsi_learner *w, size_t n_tables, const cls_table *const *tables,
                                  const char *const *names, int *taken) {
    noisy k = {.w = w, .n_tables = n_tables};
    if (w->o->time_limit > 0) k.until = clsi_now() + w->o->time_limit;
    cls_status status = run(&k, tables, names);
    *taken = status == CLS_OK && !k.declined;
    if (*taken && (w->o->test > 0 || w->o->n_test)) w->split = clsi_recording_split(k.data);
    if (*taken)
        w->info->report = k.report;
    else
        cls_learn_report_free(&k.report);
    clsi_text_clear(&k.recipe.notes);
    free(k.recipe.inflation);
    clsi_multiple_free(&k.multiple);
    clsi_multiple_free(&k.whole);
    cls_system_free(&k.open);
    cls_system_free(&k.whole_open);
    cls_system_free(&k.built);
    clsi_unknowns_free(&k.all);
    clsi_recording_free(&k.data);
    for (size_t i = 0; k.tables && i < n_tables; i++) cls_table_free(&k.tables[i]);
    for (size_t i = 0; k.columns && i < n_tables; i++) free(k.columns[i]);
    free(k.tables);
    free(k.columns);
    free(k.keep);
    free(k.part);
    free(k.noise);
    free(k.full);
    return status;
}
