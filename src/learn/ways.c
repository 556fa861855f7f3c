/* Unknown functions, from data to model: which rows, which fit, and everything in order.
 *
 * How the data are taken is decided by the first line that serves (`ways`, below); what the points then show may
 * move them on once (reconsider): noisy positions and noisy states are simulated, many noisy states are rows again.
 *
 *   points      take_points     rows of the data as the way takes them
 *   windows     by_windows      simulated windows: terms that the noise allows (noisy.c)
 *   rows        by_rows         the residual: one solve or iterations, of a sample and then of all rows
 *   further     go_on           the losses that simulate or take rates begin where the residual ended
 *   the model   finish          built, scored on rows kept back, rolled out */
#include "base/base.h"
#include "learn/stream/feed.h"
#include "learn/recording/filled.h"
#include "learn/many/local.h"
#include "learn/recording/measured.h"
#include "learn/runs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct job job;

/* A way to take the data. */
typedef struct way {
    const char *why; /* for the reader */
    int (*serves)(const job *j);
    int local;     /* rows of rates between the data, with inputs and neighbours in space */
    int simulated; /* windows that are simulated; what no column says is found */
    int recorded;  /* and nothing else would do: there is no residual */
} way;

/* One call: what is given, and what is found out on the way. */
struct job {
    clsi_learner *w;
    const cls_system *system;
    const cls_assignments *set;
    size_t n_tables;
    const cls_table *const *tables;
    const char *const *names;
    const clsi_filled *
        filled; /* the data with states that no column says but others do; no tables: as they are */
    clsi_stream *stream;
    cls_model **out;
    int only; /* positions are all there is */
    const way *way;
    int lacking; /* way->simulated, or the points showed that it is better */
    int noisy;   /* the fit is one of simulated windows */
    clsi_rule rule;
    char *said;       /* which scheme made the rows; NULL: none */
    cls_table **held; /* the data without rows that are kept back; NULL: none are */
};

static int has_network(const cls_system *s, const cls_learn_options *o) {
    int network = o->field && strncmp(o->field, "network", 7) == 0;
    for (size_t i = 0; i < s->n_unknown; i++)
        network |= s->unknown_field[i] && strncmp(s->unknown_field[i], "network", 7) == 0;
    return network;
}

/* A solve sees each window once. Iterations see them often, and networks have few parameters. Of many equations
 * fewer windows have as many rows; errors of functions want some all the same. */
static uint64_t usual_windows(const cls_system *s, const cls_learn_options *o) {
    enum { MOST_ROWS = 2000000, FEWEST = 60 };
    uint64_t usual = has_network(s, o) ? 5000 : 20000, rows = MOST_ROWS / (s->form->nz + 1);
    return rows < FEWEST ? FEWEST : rows < usual ? rows : usual;
}

/* ---- what cannot be ---- */

static cls_status check_loss(const clsi_learner *w) {
    static const char *const names[] = {"residual", "shooting", "derivative", "multiple-shooting"};
    for (size_t i = 0; i < 4; i++)
        if (clsi_is_loss(w, names[i])) return CLS_OK;
    const char *near = cls_nearest_word(w->o->loss, 4, names);
    return clsi_fail(w->error, CLS_USAGE,
                     "there is no loss '%s'%s%s%s; there are residual, "
                     "shooting, multiple-shooting and derivative",
                     w->o->loss, near ? "; did you mean '" : "", near ? near : "",
                     near ? "'?" : "");
}

static cls_status check_adjoint(const clsi_learner *w) {
    static const char *const names[] = {"discrete", "continuous"};
    const char *given = w->o->adjoint;
    if (!given || strcmp(given, names[0]) == 0) return CLS_OK;
    if (strcmp(given, names[1]) == 0)
        return clsi_is_loss(w, "shooting")
                   ? CLS_OK
                   : clsi_fail(w->error, CLS_USAGE,
                               "an adjoint is for the loss shooting, which simulates; the loss "
                               "here is %s",
                               w->o->loss ? w->o->loss : "residual");
    const char *near = cls_nearest_word(given, 2, names);
    return clsi_fail(w->error, CLS_USAGE,
                     "there is no adjoint '%s'%s%s%s; there are discrete and continuous", given,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static cls_status check_anchors(const clsi_learner *w, const cls_system *system) {
    if (!(w->o->anchor_weight > 0) || system->n_anchors) return CLS_OK;
    return clsi_fail(w->error, CLS_USAGE,
                     "a weight of anchors is given, but %s has none: leave it out, or add `anchor "
                     "... at ...` to the file",
                     system->name);
}

/* Losses that simulate or take rates need native states, which a lagrangian's data are not. */
static cls_status check_lagrangian(const clsi_learner *w, const cls_system *system, int positions) {
    if (system->formalism != CLS_LAGRANGIAN || positions || clsi_is_loss(w, "residual"))
        return CLS_OK;
    if (clsi_is_loss(w, "multiple-shooting") && clsi_noisy_moves(w)) return CLS_OK;
    return clsi_fail(
        w->error, CLS_USAGE,
        "the loss %s is for thermal lagrangians and hamiltonians: %s, or take the loss "
        "residual",
        w->o->loss,
        system->m ? "write it as one of these"
                  : "call it a `thermal lagrangian`, which without temperatures is "
                    "the same");
}

/* Inputs and parameters are learned by simulations from free starts, of terms. */
static cls_status check_recorded(const clsi_learner *w) {
    const cls_system *s = w->system;
    const char *why = w->open ? "parameters are unknown beside parts" : "the system has inputs";
    if (w->o->loss && strcmp(w->o->loss, "multiple-shooting") != 0)
        return clsi_fail(w->error, CLS_USAGE,
                         "the loss %s is not for this: %s, which takes multiple-shooting; leave "
                         "--loss out",
                         w->o->loss, why);
    if (s->has_operator || s->has_entropy)
        return clsi_fail(
            w->error, CLS_USAGE,
            "%s: parts of such a system (a friction operator or a total entropy) are "
            "not learned where %s: write the part as a formula with unknown parameters",
            s->name, why);
    for (size_t i = 0; i < w->o->n_unknown; i++) {
        const char *spec = w->o->field;
        for (size_t k = 0; k < s->n_unknown; k++)
            if (strcmp(s->unknown[k], w->o->unknown[i]) == 0 && s->unknown_field[k])
                spec = s->unknown_field[k];
        const clsi_field_kind *kind = spec ? clsi_field_kind_of(spec) : NULL;
        if (kind && !kind->linear)
            return clsi_fail(w->error, CLS_USAGE,
                             "'%s' is a network, and %s: take chebyshev, monomial or terms, or no "
                             "field at all",
                             w->o->unknown[i], why);
    }
    return CLS_OK;
}

/* ---- how the data are taken ---- */

/* Are there states that no column says, and functions that can be learned all the same (noisy.c)? */
static int lacks_states(const job *j) {
    const clsi_learner *w = j->w;
    const cls_system *s = w->system;
    if (s->has_operator || s->has_entropy) return 0;
    /* of lagrangians positions are enough, by other means */
    for (size_t i = 0; i < s->nq && s->formalism == CLS_LAGRANGIAN; i++)
        if (cls_table_find(j->tables[0], s->coordinate[i].name) >= 0) return 0;
    if (w->o->loss && strcmp(w->o->loss, "multiple-shooting") != 0) return 0;
    if (w->o->scheme || w->o->optimizer || !clsi_lacks_states(s, j->n_tables, j->tables)) return 0;
    return !j->only || clsi_has_heat_column(s, j->n_tables, j->tables);
}

static int may_be_local(const clsi_learner *w, const clsi_stream *stream) {
    const cls_system *s = w->system;
    return !w->open && !stream && !s->has_operator && !s->has_entropy &&
           s->formalism != CLS_LAGRANGIAN;
}

/* Rows of the residual, which know their neighbours in space only, in the place of windows, with inputs at nodes between
 * the rows (nodes.c). */
static int is_driven(const job *j) {
    const clsi_learner *w = j->w;
    const cls_system *s = w->system;
    int asked = w->o->loss && strcmp(w->o->loss, "residual") == 0;
    if (!s->nu || !may_be_local(w, j->stream) || clsi_lacks_states(s, j->n_tables, j->tables))
        return 0;
    return asked || (!w->o->loss && !w->o->scheme && s->form->nz >= CLSI_LARGE);
}

static int is_recorded(const job *j) {
    return clsi_learner_is_recorded(j->w);
}

/* Does every cell of the states and inputs have a number? */
static int is_gapless(const job *j) {
    const cls_system *s = j->w->system;
    for (size_t i = 0; i < j->n_tables; i++)
        for (size_t k = 0; k < s->form->nz + s->nu; k++) {
            int c = cls_table_find(j->tables[i], k < s->form->nz ? clsi_point_name(s, k)
                                                                 : s->input[k - s->form->nz].name);
            const double *column = c < 0 ? NULL : cls_table_column(j->tables[i], (size_t)c);
            for (size_t r = 0; column && r < cls_table_rows(j->tables[i]); r++)
                if (!isfinite(column[r])) return 0;
        }
    return 1;
}

/* All states of a driven system are measured: what rates between the rows say is where its windows begin. */
static int is_driven_and_seen(const job *j) {
    const clsi_learner *w = j->w;
    const cls_system *s = w->system;
    return s->nu && is_recorded(j) && may_be_local(w, j->stream) &&
           !clsi_lacks_states(s, j->n_tables, j->tables) && is_gapless(j);
}

static int always(const job *j) {
    (void)j;
    return 1;
}

static const way ways[] = {
    {"inputs, and many states or rows asked for: rates between the rows", is_driven, .local = 1},
    {"inputs, and all states: simulations from where rates between the rows end",
     is_driven_and_seen, .local = 1, .simulated = 1, .recorded = 1},
    {"inputs, or parameters beside functions: no residual is one solve", is_recorded,
     .simulated = 1, .recorded = 1},
    {"states that no column says: simulations find them", lacks_states, .simulated = 1},
    {"all states, or positions alone: the residual between rows", always},
};

static const way *choose_way(const job *j) {
    const way *found = ways;
    while (!found->serves(j)) found++;
    return found;
}

/* States may be missing: shooting simulates all of them with its scheme, and guesses those that are not there. */
static int is_partial(const job *j) {
    return j->lacking || clsi_is_loss(j->w, "shooting");
}

static cls_status make_points(job *j, const cls_table *const *tables, size_t window, int partial) {
    const cls_learn_options *o = j->w->o;
    return clsi_points_create_wide(j->system, j->n_tables, tables, j->names, &j->rule, o->validate,
                                   o->max_windows ? o->max_windows : usual_windows(j->system, o),
                                   window, partial, &j->w->points, j->w->error);
}

/* What the rule of the points cannot be combined with. */
static cls_status check_rule(const job *j) {
    const clsi_learner *w = j->w;
    const cls_system *system = j->system;
    int positions = j->rule.positions != NULL;
    if (positions && system->has_operator)
        return clsi_fail(w->error, CLS_USAGE,
                         "'%s' has a friction operator (dissipation), which is not learned from "
                         "positions alone: give all states",
                         system->name);
    if (system->has_entropy)
        return clsi_fail(w->error, CLS_USAGE,
                         "'%s' has a total entropy: only `--optimizer qp` learns such systems",
                         system->name);
    cls_status status = check_lagrangian(w, system, positions);
    if (status == CLS_OK) status = check_adjoint(w);
    if (status == CLS_OK) status = check_anchors(w, system);
    if (status == CLS_OK && positions && !clsi_is_loss(w, "residual") &&
        !clsi_is_loss(w, "multiple-shooting") && !clsi_is_loss(w, "shooting"))
        status = clsi_fail(w->error, CLS_USAGE,
                           "the loss %s needs all states as columns of the data", w->o->loss);
    return status;
}

/* The rule of the residual and its points. The residual of a fit that simulates has the default rule. */
static cls_status take_points(job *j) {
    clsi_learner *w = j->w;
    const cls_learn_options *o = w->o;
    const cls_table *const *filled = (const cls_table *const *)j->filled->tables;
    int partial = is_partial(j), local = j->way->local || filled;
    cls_status status = clsi_rule_find(j->system, partial ? NULL : o->scheme,
                                       j->only && !j->lacking, &j->rule, w->error);
    if (status != CLS_OK) return status;
    if (local) j->rule = clsi_rule_gauss, j->rule.hold = o->hold;
    status = check_rule(j);
    if (status == CLS_OK && !j->rule.positions && !j->lacking && !local)
        status = clsi_learner_scheme(w, j->n_tables, j->tables, j->names, &j->rule, &j->said);
    j->rule.smooth = j->rule.composite && !partial && !has_network(j->system, o);
    if (status != CLS_OK) return status;
    return make_points(j, filled ? filled : j->tables, partial ? 0 : o->window, partial);
}

/* Noisy rows of many states: the same rows of the residual, of smoothed states. */
static int is_wide(const job *j) {
    const clsi_learner *w = j->w;
    const cls_system *s = w->system;
    const clsi_points *p = w->points;
    if (w->o->loss || w->open || j->stream || s->formalism == CLS_LAGRANGIAN || p->intervals)
        return 0;
    for (size_t k = 0; k < p->nz; k++)
        if (!p->observed[k]) return 0;
    return p->nz >= CLSI_LARGE;
}

/* What the points show: noise. Positions alone are then states of which velocities are hidden; of many states rows are
 * smoothed. Rows that a scheme made to the last digit are not noisy, however far apart they are. */
static cls_status reconsider(job *j) {
    clsi_learner *w = j->w;
    cls_status status = CLS_OK;
    if (!j->lacking && !j->way->local && !j->stream && clsi_learner_has_noisy_positions(w)) {
        clsi_points_free(&w->points);
        j->lacking = 1;
        status = take_points(j);
    }
    int simulated = j->way->recorded || j->filled->tables;
    j->noisy = status == CLS_OK && !j->said && (simulated || clsi_learner_is_noisy(w));
    if (!j->noisy || simulated || !is_wide(j)) return status;
    j->noisy = 0;
    j->rule = clsi_rule_gauss;
    clsi_points_free(&w->points);
    return make_points(j, j->tables, 0, 0);
}

/* ---- simulated windows ---- */

/* Where no simulation succeeds, what the residual finds is all there is. */
static cls_status by_windows(job *j) {
    clsi_learner *w = j->w;
    cls_status status = clsi_learner_fit_noisy(w, j->n_tables, j->tables, j->names, &j->noisy);
    int driven = j->way->local && j->way->recorded;
    if (status != CLS_NUMERIC || (j->lacking && !driven) || w->o->loss) return status;
    if (driven) { /* rates between the rows are all there is */
        j->way = ways;
        j->lacking = 0;
    }
    clsi_learner_note(w,
                      "%s no simulation of them succeeded (%.100s): this is the residual's "
                      "solution",
                      driven ? "all states are measured, but" : "the data are noisy, but",
                      w->error ? w->error->message : "");
    clsi_learner_forget(w);
    w->taken = NULL;
    return CLS_OK;
}

/* ---- rows of the residual ---- */

/* The points again, without the rows that the model will be tested on. */
static cls_status hold_back(job *j) {
    const cls_learn_options *o = j->w->o;
    cls_status status = clsi_held_create(j->n_tables, j->tables, o, &j->held, j->w->error);
    clsi_points_free(&j->w->points);
    if (status != CLS_OK) return status;
    return make_points(j, (const cls_table *const *)j->held, is_partial(j) ? 0 : o->window,
                       is_partial(j));
}

static cls_status score_held(const job *j) {
    clsi_learner *w = j->w;
    cls_system *built = NULL;
    if (!w->info->report) return CLS_OK;
    cls_status status = clsi_learner_build(w, w->theta, &built, w->error);
    if (status == CLS_OK) status = clsi_held_score(w, built, j->n_tables, j->tables, j->names);
    cls_system_free(&built);
    return status;
}

/* What was chosen by the sample is solved for with all rows. */
static cls_status solve_stream(const job *j) {
    clsi_learner *w = j->w;
    clsi_stream *stream = j->stream;
    if (strcmp(w->info->optimizer, "linear") != 0 && clsi_pieces_serve(w, stream)) return CLS_OK;
    w->info->windows = stream->rows;      /* but for the ends of trajectories */
    if (w->o->max_windows) return CLS_OK; /* the caller wants fewer */
    if (!clsi_stream_serves(w->residual) || strcmp(w->info->optimizer, "linear") != 0)
        return CLS_OK;
    cls_status status = clsi_stream_hold(stream, w->points, w->error);
    w->stream = stream;
    w->alone = 0;
    if (status == CLS_OK) status = clsi_learner_solve(w);
    return status;
}

/* Data in memory of which the points have some windows. (Nodes of noisy data are made for theirs.) */
static int is_sampled(const job *j) {
    const clsi_points *p = j->w->points;
    return !j->stream && !j->w->o->max_windows && !p->smoothed && p->n_training < p->n_there;
}

/* The same for data in memory: what was chosen by some windows is solved for with all of them. The points
 * are the same, so are the inputs of the parts at them. */
static cls_status solve_whole(const job *j) {
    clsi_learner *w = j->w;
    const cls_table *const *tables = j->held ? (const cls_table *const *)j->held : j->tables;
    clsi_points *points = NULL;
    clsi_residual all = {0};
    cls_status status = CLS_OK;
    char notes[sizeof w->info->notes]; /* on what was chosen */
    int shard = w->alone && w->o->team, serves = clsi_stream_serves(w->residual);
    w->alone = 0;
    if (strcmp(w->info->optimizer, "linear") != 0 || w->info->stopped || (!serves && !shard))
        return CLS_OK;
    memcpy(notes, w->info->notes, sizeof notes);
    if (serves) {
        status = clsi_points_create_wide(
            w->system, j->n_tables, tables, j->names, &w->points->rule, w->o->validate,
            w->points->n_there, is_partial(j) ? 0 : w->o->window, is_partial(j), &points, w->error);
        if (status == CLS_OK) status = clsi_residual_at(w->residual, points, &all, w->error);
        if (status == CLS_OK && w->o->weights && strcmp(w->o->weights, "equal") == 0)
            clsi_weigh_equally(&all);
        w->whole = &all;
    }
    if (status == CLS_OK) status = clsi_learner_solve(w);
    if (status == CLS_OK && serves) w->info->samples = points->n_training;
    memcpy(w->info->notes, notes, sizeof notes);
    w->whole = NULL;
    free(all.weight);
    clsi_points_free(&points);
    return status;
}

static cls_status by_rows(job *j) {
    clsi_learner *w = j->w;
    const cls_learn_options *o = w->o;
    cls_status status = CLS_OK;
    if (!j->stream && (o->test > 0 || o->n_test)) status = hold_back(j);
    int sampled = status == CLS_OK && is_sampled(j);
    w->alone = (sampled || (j->stream && !o->max_windows)) && !(o->team && o->team->ranks > 1);
    if (status == CLS_OK) status = clsi_learner_choose(w);
    if (status == CLS_OK) status = clsi_learner_thin(w);
    if (status == CLS_OK && j->stream) status = solve_stream(j);
    if (status == CLS_OK && sampled) status = solve_whole(j);
    return status;
}

/* ---- further, and to the model ---- */

/* Losses that begin where the residual ended. */
static cls_status go_on(job *j) {
    clsi_learner *w = j->w;
    cls_status status = CLS_OK;
    /* without its energy nothing has a temperature, and the rows of the first law are zero: no fit to be better than */
    if (!j->noisy && w->staged) w->info->loss_initial = NAN;
    if (!j->noisy) status = clsi_learner_make_positive(w, w->theta);
    if (status == CLS_OK && clsi_is_loss(w, "shooting") && !w->info->stopped)
        status = clsi_learner_shoot(w);
    if (status == CLS_OK && clsi_is_loss(w, "derivative") && !w->info->stopped)
        status = clsi_learner_derive(w);
    if (status == CLS_OK && !j->noisy && clsi_is_loss(w, "residual"))
        status = clsi_learner_report_residual(w, &w->info->report);
    return status;
}

/* How much of the rollout is the error of steps as long as the data are apart. Where rows are steps of a
 * scheme, or positions are all there is, steps cannot be split. */
static void split_steps(const job *j, cls_simulator **kept) {
    enum { MOST_PARTS = 16 };
    clsi_learner *w = j->w;
    const cls_system *s = (*j->out)->system;
    double all = w->info->rollout, least = all;
    if (!(all > 0) || w->points->intervals || w->points->rule.scheme) return;
    for (size_t parts = 4; parts <= MOST_PARTS; parts *= 4) {
        double fine = clsi_learner_tell_all(
            w, clsi_learner_is_first(w)
                   ? clsi_rollout(w->points, s, parts, kept, clsi_learner_hurry, w)
                   : 0);
        if (fine == CLSI_ROLLOUT_NO_MEMORY) w->no_memory = 1;
        if (!(fine >= 0 && fine < 0.5 * least)) return;
        w->info->rollout_fine = least = fine;
        w->info->rollout_parts = parts;
    }
}

/* A solve is not chosen by its rollout, but a model that cannot be simulated must not pass. */
static void roll_out(job *j) {
    clsi_learner *w = j->w;
    cls_simulator *kept = NULL;
    const clsi_points *p = w->points;
    int whole = !j->way->recorded && !j->lacking; /* else rows do not say where a motion begins */
    if (whole && isnan(w->info->rollout) && p->n_windows > p->n_training)
        w->info->rollout = clsi_learner_tell_all(
            w, clsi_learner_is_first(w)
                   ? clsi_rollout(p, (*j->out)->system, 1, &kept, clsi_learner_hurry, w)
                   : 0);
    if (!isnan(w->info->rollout) && p->n_windows > p->n_training)
        w->info->rollout_still = clsi_learner_tell_all(
            w, clsi_learner_is_first(w) ? clsi_rollout_still(p, (*j->out)->system) : 0);
    if (w->info->rollout == CLSI_ROLLOUT_NO_MEMORY ||
        w->info->rollout_still == CLSI_ROLLOUT_NO_MEMORY)
        w->no_memory = 1;
    if (w->info->rollout < 0) w->info->rollout = NAN; /* broken off */
    if (whole && !w->no_memory) split_steps(j, &kept);
    cls_simulator_free(&kept);
}

/* Each motion to its end, by what was learned. Of noisy data starts are fitted (noisy.c). */
static cls_status run_to_ends(job *j) {
    clsi_learner *w = j->w;
    cls_learn_info *info = w->info;
    const clsi_points *p = w->points;
    int whole = !j->way->recorded && !j->lacking && !j->noisy;
    cls_status status = CLS_OK;
    if (whole && p->n_windows > p->n_training && clsi_learner_is_first(w)) {
        clsi_runs r = {
            .s = (*j->out)->system, .hurry = clsi_learner_hurry, .context = w, .info = info};
        status = clsi_runs_of_points(p, &r);
        cls_simulator_free(&r.sim);
    }
    double made = clsi_learner_tell_all(w, (double)info->runs);
    double stopped = clsi_learner_tell_all(w, (double)info->runs_stopped);
    info->runs = isfinite(made) ? (size_t)made : 0; /* infinite: the others are gone */
    info->runs_stopped = isfinite(stopped) ? (size_t)stopped : 0;
    info->runs_after = clsi_learner_tell_all(w, info->runs_after);
    if (info->runs_stopped && info->report) info->report->better = 0;
    return status == CLS_INTERRUPTED ? CLS_OK : status;
}

static cls_status finish(job *j) {
    clsi_learner *w = j->w;
    cls_status status = j->held ? score_held(j) : CLS_OK;
    clsi_held_free(j->n_tables, &j->held);
    if (status == CLS_OK)
        status = clsi_learner_model(w, j->system, j->set, j->n_tables, j->names, j->out);
    if (status == CLS_OK) roll_out(j);
    if (status == CLS_OK && run_to_ends(j) == CLS_MEMORY) w->no_memory = 1;
    if (status != CLS_OK || !w->no_memory) return status;
    cls_model_free(j->out);
    return clsi_no_memory(w->error);
}

static cls_status run(job *j) {
    clsi_learner *w = j->w;
    j->only = !clsi_is_loss(w, "shooting") && j->system->n &&
              clsi_only_positions(j->system, j->n_tables, j->tables);
    j->way = choose_way(j);
    j->lacking = j->way->simulated;
    cls_status status = check_loss(w);
    if (status == CLS_OK && j->way->recorded) status = check_recorded(w);
    if (status != CLS_OK) return status;
    status = take_points(j);
    if (status != CLS_OK && status != CLS_MEMORY && status != CLS_INTERRUPTED && j->way->local &&
        j->way->recorded) {
        j->way++; /* no rates between such rows */
        status = take_points(j);
    }
    if (status == CLS_OK) status = reconsider(j);
    if (status == CLS_OK && j->noisy) status = by_windows(j);
    w->beyond = j->stream;
    if (status == CLS_OK && !j->noisy) status = by_rows(j);
    if (j->stream) {
        j->n_tables = j->stream->n_files;
        j->names = j->stream->paths;
    }
    if (status == CLS_OK && j->said) clsi_learner_note(w, "%s", j->said);
    free(j->said);
    if (status == CLS_OK) status = go_on(j);
    if (status == CLS_OK) status = finish(j);
    clsi_held_free(j->n_tables, &j->held);
    if (!j->noisy && !w->o->want_report) cls_learn_report_free(&w->info->report);
    return status;
}

/* States that no column says, from others of the same time (filled.h): rows of a residual to begin with. */
static cls_status fill_tables(const job *j, clsi_filled *filled) {
    const clsi_learner *w = j->w;
    *filled = (clsi_filled){0};
    int other = w->o->loss && strcmp(w->o->loss, "multiple-shooting") != 0;
    if (!may_be_local(w, j->stream) || other || w->o->scheme || w->o->optimizer) return CLS_OK;
    return clsi_filled_create(w->system, j->n_tables, j->tables, filled, w->error);
}

/* Where columns that are missing are said by others, all of them, nothing else is to be known. */
cls_status clsi_learn_functions(clsi_learner *w, const cls_system *system,
                                const cls_assignments *set, size_t n_tables,
                                const cls_table *const *tables, const char *const *names,
                                clsi_stream *stream, cls_model **out) {
    clsi_filled filled, none = {0};
    job j = {.w = w,
             .system = system,
             .set = set,
             .n_tables = n_tables,
             .tables = tables,
             .names = names,
             .filled = &none,
             .stream = stream,
             .out = out};
    cls_status status = fill_tables(&j, &filled);
    if (filled.tables && !filled.beside && system->form->nz >= CLSI_LARGE)
        j.tables = (const cls_table *const *)filled.tables;
    else if (filled.beside)
        j.filled = &filled;
    if (status == CLS_OK) status = run(&j);
    clsi_filled_clear(&filled);
    return status;
}
