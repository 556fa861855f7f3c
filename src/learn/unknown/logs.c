/* Logarithms, where they make functions simple: lengths, volumes and temperatures are positive, and
 * what nature makes of them are powers.
 *
 * Offered are: inputs that are positive at all data and are no entropies (those have no origin), as
 * their logarithms, a coordinate by its distance from the ends of its domain; and coefficients that
 * exchange heat between hidden temperatures (stages.c), learned through theirs. Each choice is
 * fitted beside the plain one, and the one whose usual error in validation is the least is taken and
 * said. Inputs that vary by less than RANGE are left: there a logarithm is a straight line. */
#include "base/base.h"
#include "expr/graph.h"
#include "learn/learner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double RANGE = 1.5;
static const double BETTER = 0.7; /* so much smaller must the usual error be */
/* Flows by drops are biased where conduction is strong: the logarithm may be a little worse. So may
 * combinations of inputs that the data tie: they say nothing beside the data. */
static const double LIKED = 1.5;

/* ---- inputs ---- */

/* Does the input contain an entropy, or something that moves? */
static int is_length(const cls_system *s, cls_node x) {
    const cls_node *lists[] = {s->S, s->v, s->p, &s->t};
    const size_t counts[] = {s->m, s->n, s->n, 1};
    for (int k = 0; k < 4; k++)
        if (counts[k] && cls_depends(s->g, x, counts[k], lists[k])) return 0;
    return 1;
}

/* Of n formulas together. */
static cls_status range_of(const cls_system *s, const clsi_points *p, const cls_node *z, size_t n,
                           const cls_node *x, double *low, double *high, cls_error *error) {
    cls_program *program = NULL;
    double *raw = clsi_calloc(n * p->n, sizeof *raw);
    cls_status status = raw ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK)
        status = cls_program_create(s->g, clsi_point_rows(p), z, n, x, &program, error);
    if (status == CLS_OK) status = cls_program_run_many(program, p->n, p->n, p->z, raw);
    *low = INFINITY, *high = -INFINITY;
    for (size_t i = 0; i < n * p->n && status == CLS_OK; i++) {
        *low = fmin(*low, raw[i]);
        *high = fmax(*high, raw[i]);
    }
    cls_program_free(&program);
    free(raw);
    return status;
}

/* Is none of these an entropy, something that moves, or the time, nor a temperature? One walk for all. */
static cls_status are_lengths(const cls_system *s, size_t n, const cls_node *x, int *lengths,
                              cls_error *error) {
    const cls_node *lists[] = {s->S, s->v, s->p, &s->t, s->T};
    const size_t counts[] = {s->m, s->n, s->n, 1, s->m};
    clsi_cone cone;
    if (!clsi_cone_create(s->g, n, x, &cone)) return clsi_no_memory(error);
    *lengths = 1;
    for (int k = 0; k < 5; k++)
        for (size_t i = 0; i < counts[k]; i++) *lengths &= !clsi_cone_at(&cone, lists[k][i]);
    clsi_cone_free(&cone);
    return CLS_OK;
}

/* Input i of a function over all places where it is used; -INFINITY where it contains what is no length. */
static cls_status range_at_places(const clsi_unknowns *us, const clsi_unknown *u,
                                  const clsi_points *p, const cls_node *z, size_t i, double *low,
                                  double *high, cls_error *error) {
    size_t first = (size_t)(u - us->list), end = clsi_group_end(us, first);
    cls_node *x = clsi_calloc(end - first, sizeof *x);
    cls_status status = x ? CLS_OK : clsi_no_memory(error);
    int lengths = 0;
    *low = -INFINITY, *high = INFINITY;
    for (size_t k = first; k < end && status == CLS_OK; k++) {
        clsi_learned one = {.use = us->list[k].learned.use, .d = 1, .half = {1}};
        one.input[0] = u->learned.input[i];
        status = clsi_learned_inputs(&one, us->s, x + (k - first));
    }
    if (status == CLS_OK) status = are_lengths(us->s, end - first, x, &lengths, error);
    if (status == CLS_OK && lengths)
        status = range_of(us->s, p, z, end - first, x, low, high, error);
    free(x);
    return status;
}

/* Which coordinate the text is, or SIZE_MAX. */
static size_t coordinate_of(const cls_system *s, const char *text) {
    for (size_t j = 0; j < s->nq; j++)
        if (strcmp(s->coordinate[j].name, text) == 0) return j;
    return SIZE_MAX;
}

static int is_temperature(const cls_system *s, const char *text) {
    for (size_t i = 0; i < s->m; i++)
        if (strcmp(s->temperature[i].name, text) == 0) return 1;
    return 0;
}

/* "log(x - low)" in the place of input k, with "log(high - x)" behind all where there is an upper
 * end as well. */
static cls_status take_log(const cls_system *s, clsi_unknown *u, size_t k, cls_error *error) {
    clsi_learned *l = &u->learned;
    char *text = l->input[k];
    size_t j =
        u->of || l->use ? s->nq : coordinate_of(s, text); /* declared: it is what was meant */
    double low = j < s->nq ? s->coordinate[j].low : 0, high = j < s->nq ? s->coordinate[j].high : 0;
    clsi_text t = {0};
    cls_status status = CLS_OK;
    if (j < s->nq && isfinite(low) && low != 0)
        clsi_text_printf(&t, "log(%s - (%.17g))", text, low);
    else
        clsi_text_printf(&t, "log(%s)", text);
    if (j < s->nq && isfinite(low) && isfinite(high))
        status = clsi_add_input(l, error, "log(%.17g - %s)", high, text);
    l->input[k] = clsi_text_take(&t);
    free(text);
    return l->input[k] ? status : clsi_no_memory(error);
}

cls_status clsi_log_inputs(const clsi_unknowns *us, clsi_unknown *u, const clsi_points *p,
                           const cls_node *z, int take, int *count, cls_error *error) {
    clsi_learned *l = &u->learned;
    const cls_system *s = us->s;
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    size_t d = l->d;
    cls_status status = CLS_OK;
    clsi_learned plain = *l;
    if (!(clsi_is_energy(u) || u->kind == CLSI_PART_HEAT) || s->ode) return CLS_OK;
    for (size_t i = 0; i < d; i++) plain.half[i] = 1, plain.center[i] = 0;
    status = clsi_learned_inputs(&plain, s, x);
    for (size_t i = 0; i < d && status == CLS_OK; i++) {
        double low, high;
        size_t j = u->of || l->use ? s->nq : coordinate_of(s, l->input[i]);
        int is_log = strncmp(l->input[i], "log(", 4) == 0;
        if (is_log || !is_length(s, x[i])) continue;
        if (l->use) { /* at all places of a function */
            status = range_at_places(us, u, p, z, i, &low, &high, error);
            if (!(low > 0) || !(high > RANGE * low)) continue;
            ++*count;
            if (status == CLS_OK && take) status = take_log(s, u, i, error);
            continue;
        }
        if (j < s->nq && isfinite(s->coordinate[j].low) && isfinite(s->coordinate[j].high) &&
            s->formalism == CLS_THERMAL_LAGRANGIAN)
            continue; /* one input becomes two: worth it where temperatures are hidden too */
        if (cls_depends(s->g, x[i], s->m, s->T)) { /* hidden ones have no values yet */
            if (!is_temperature(s, l->input[i])) continue;
        } else {
            status = range_of(s, p, z, 1, &x[i], &low, &high, error);
            if (j < s->nq && isfinite(s->coordinate[j].low)) {
                low -= s->coordinate[j].low;
                high -= s->coordinate[j].low;
            }
            if (!(low > 0) || !(high > RANGE * low)) continue;
        }
        ++*count;
        if (status == CLS_OK && take) status = take_log(s, u, i, error);
    }
    return status;
}

/* ---- inputs that are hidden temperatures ---- */

cls_status clsi_late_inputs(clsi_unknowns *us, const clsi_residual *r, const double *theta,
                            cls_error *error) {
    const cls_system *s = us->s;
    const clsi_points *p = r->points;
    clsi_temperatures *t = NULL;
    size_t n_in = p->nz + s->m;
    int any = 0;
    for (size_t k = 0; k < us->n; k++) any |= us->list[k].late;
    if (!any) return CLS_OK;
    double *in = clsi_calloc(n_in * p->n, sizeof *in);
    cls_node *z = clsi_calloc(n_in, sizeof *z);
    cls_status status = in && z ? clsi_temperatures_create(r, &t, error) : clsi_no_memory(error);
    if (status == CLS_OK) {
        memcpy(in, p->z, p->nz * p->n * sizeof *in);
        for (size_t i = 0; i < p->n; i++)
            clsi_temperatures_all(t, theta, i, p->n, in + p->nz * p->n + i);
        for (size_t k = 0; k < p->nz; k++) z[k] = cls_symbol(s->g, clsi_point_name(us->system, k));
        memcpy(z + p->nz, s->T, s->m * sizeof *z);
    }
    for (size_t k = 0; k < us->n && status == CLS_OK; k++)
        if (us->list[k].late && !us->list[k].again)
            status = clsi_scale_late(us, &us->list[k], p, n_in, z, in, error);
    clsi_unknowns_share(us);
    clsi_temperatures_free(&t);
    free(in);
    free(z);
    return status;
}

/* ---- choices ---- */

static int solved_at_once(const clsi_learner *w) {
    return strcmp(w->info->optimizer, "linear") == 0;
}

/* A fit with other choices; the better one stays. */
static cls_status try_choices(clsi_learner *w, clsi_choices choices, double need, double *best,
                              int *taken) {
    clsi_learner kept = *w;
    cls_learn_info info = *w->info;
    w->unknowns = NULL, w->residual = NULL, w->anchors = NULL, w->theta = w->begin = NULL;
    w->choices = choices;
    cls_status status = clsi_learner_fit(w);
    double usual = status == CLS_OK ? clsi_learner_usual(w) : INFINITY;
    *taken = status == CLS_OK && usual < need * *best;
    if (*taken) {
        *best = usual;
        clsi_learner_forget(&kept);
        return CLS_OK;
    }
    clsi_learner_forget(w);
    *w = kept;
    *w->info = info;
    if (status == CLS_MEMORY || status == CLS_INTERRUPTED) return status;
    if (w->error) w->error->message[0] = '\0'; /* an answer, not a mistake */
    return CLS_OK;
}

/* A form with less in it: taken unless it is the worse one. Logarithms have no part in what it gains. */
static cls_status offer(clsi_learner *w, clsi_choices other, clsi_choices *now, double *best,
                        double *before, int *taken) {
    double plain = *best;
    other.halved = 0;
    cls_status status = try_choices(w, other, LIKED, best, taken);
    if (*taken) *now = other, *before *= *best / plain;
    return status;
}

static int has_exchange(const clsi_learner *w) {
    for (size_t k = 0; k < w->unknowns->n; k++)
        if (w->unknowns->list[k].kind == CLSI_PART_HEAT && clsi_is_exchange(w->residual, k))
            return 1;
    return 0;
}

/* With weights for outliers, once everything is chosen. */
static cls_status finish(clsi_learner *w) {
    w->draft = 0;
    if (!w->staged) return CLS_OK;
    return clsi_learner_solve(w);
}

static cls_status choose(clsi_learner *w, clsi_choices *out) {
    cls_status status = clsi_learner_fit(w);
    if (status != CLS_OK || !solved_at_once(w) || w->points->intervals || w->o->from ||
        !clsi_is_loss(w, "residual") || w->info->stopped)
        return status;
    int logs = w->unknowns->offered > 0, exchange = w->staged && has_exchange(w), taken;
    int tied = w->unknowns->tied > 0, split = w->unknowns->split > 0;
    int isotropic = w->unknowns->isotropic > 0;
    if (!logs && !exchange && !tied && !split && !isotropic) return status;
    double best = clsi_learner_usual(w), before = best;
    clsi_choices now = w->choices;
    if (logs) {
        clsi_choices other = {.logs = 1};
        status = try_choices(w, other, other.exponential ? LIKED : BETTER, &best, &taken);
        if (taken) now = other;
    }
    if (exchange && status == CLS_OK) {
        clsi_choices other = now;
        other.exponential = 1;
        other.halved = 0;
        status = try_choices(w, other, other.exponential ? LIKED : BETTER, &best, &taken);
        if (taken) now = other;
        if (logs && status == CLS_OK && !now.exponential) {
            other = (clsi_choices){.logs = 1, .exponential = 1};
            status = try_choices(w, other, other.exponential ? LIKED : BETTER, &best, &taken);
            if (taken) now = other;
        }
    }
    if (tied && status == CLS_OK) {
        clsi_choices other = now;
        other.tied = 1;
        status = offer(w, other, &now, &best, &before, &taken);
        isotropic = w->unknowns->isotropic > 0;
        split = w->unknowns->split > 0;
    }
    for (int k = 1; isotropic && k <= 2 && status == CLS_OK; k++) {
        clsi_choices other = now;
        other.isotropic = k;
        status = offer(w, other, &now, &best, &before, &taken);
        if (!taken) break;
    }
    for (int k = 1; split && !now.isotropic && k <= 2 && status == CLS_OK; k++) {
        clsi_choices other = now;
        other.split = k;
        status = offer(w, other, &now, &best, &before, &taken);
        if (!taken) break;
    }
    *out = now;
    w->gain = best / before;
    return status;
}

/* "log(V1) of U1, log(V2) of U2": inputs that begin with a word (NULL: all). */
static void tell_inputs(clsi_learner *w, const char *what, const char *word) {
    clsi_text t = {0};
    for (size_t i = 0; i < w->unknowns->n; i++) {
        const clsi_learned *l = &w->unknowns->list[i].learned;
        if (w->unknowns->list[i].again || l->slot) continue;
        for (size_t k = 0; k < l->d; k++)
            if (!word || strncmp(l->input[k], word, strlen(word)) == 0)
                clsi_text_printf(&t, "%s%s of %s", t.length ? ", " : "", l->input[k], l->part);
    }
    clsi_learner_note(w, "%s: %.300s", what, t.length ? t.data : "none");
    clsi_text_clear(&t);
}

cls_status clsi_learner_choose(clsi_learner *w) {
    clsi_choices chosen = {0};
    w->draft = 1;
    w->gain = 1;
    cls_status status = choose(w, &chosen);
    if (status == CLS_OK) status = finish(w);
    if (status == CLS_OK && chosen.logs)
        tell_inputs(w, "inputs that are positive were taken as logarithms", "log(");
    if (status == CLS_OK && chosen.tied && !chosen.isotropic)
        tell_inputs(w, "inputs that the data tie to each other were taken as combinations", NULL);
    if (status == CLS_OK && chosen.isotropic)
        tell_inputs(w, "turning does not change the energy, a function of", NULL);
    if (status == CLS_OK && chosen.split)
        clsi_learner_note(w,
                          "the energy was taken as a sum of one of momenta%s and one of the rest",
                          chosen.split > 1 ? ", quadratic," : "");
    if (status == CLS_OK && chosen.exponential)
        clsi_learner_note(w, "what exchanges heat was learned through its logarithm");
    if (status == CLS_OK && w->gain > 0 && w->gain < 1)
        clsi_learner_note(w, "the usual error in validation is %.2g of that without logarithms",
                          w->gain);
    return status;
}
