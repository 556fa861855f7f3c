/* Learning, from data to model: which rule, which loss, and everything in order. */
#include "learn/feed.h"
#include "base/base.h"
#include "base/misuse.h"
#include "base/options.h"
#include "learn/filled.h"
#include "learn/local.h"
#include "learn/measured.h"
#include <clausius/identify.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

cls_learn_options cls_learn_defaults(void) {
    return (cls_learn_options){.size = sizeof(cls_learn_options),
                               .validate = 0.1,
                               .seed = 1,
                               .restarts = 1,
                               .patience = 100,
                               .test = -1,
                               .checkpoint_every = 10};
}

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

/* ---- everything in order ---- */

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

/* The points again, without the rows that the model will be tested on. */
static cls_status hold_back(clsi_learner *w, size_t n_tables, const cls_table *const *tables,
                            const char *const *names, const clsi_rule *rule, int partial,
                            cls_table ***held) {
    const cls_learn_options *o = w->o;
    cls_status status = clsi_held_create(n_tables, tables, o, held, w->error);
    clsi_points_free(&w->points);
    if (status != CLS_OK) return status;
    return clsi_points_create_wide(w->system, n_tables, (const cls_table *const *)*held, names,
                                   rule, o->validate,
                                   o->max_windows ? o->max_windows : usual_windows(w->system, o),
                                   partial ? 0 : o->window, partial, &w->points, w->error);
}

static cls_status score_held(clsi_learner *w, size_t n_tables, const cls_table *const *tables,
                             const char *const *names) {
    cls_system *built = NULL;
    if (!w->info->report) return CLS_OK;
    cls_status status = clsi_learner_build(w, w->theta, &built, w->error);
    if (status == CLS_OK) status = clsi_held_score(w, built, n_tables, tables, names);
    cls_system_free(&built);
    return status;
}

/* What was chosen by the sample is solved for with all rows. */
static cls_status solve_stream(clsi_learner *w, clsi_stream *stream) {
    if (strcmp(w->info->optimizer, "linear") != 0 && clsi_pieces_serve(w, stream)) return CLS_OK;
    w->info->windows = stream->rows;      /* but for the ends of trajectories */
    if (w->o->max_windows) return CLS_OK; /* somebody wants fewer */
    if (!clsi_stream_serves(w->residual) || strcmp(w->info->optimizer, "linear") != 0)
        return CLS_OK;
    cls_status status = clsi_stream_hold(stream, w->points, w->error);
    w->stream = stream;
    w->alone = 0;
    if (status == CLS_OK) status = clsi_learner_solve(w);
    return status;
}

/* Data in memory of which the points have some windows. (Nodes of noisy data are made for theirs.) */
static int is_sampled(const clsi_learner *w, const clsi_stream *stream) {
    return !stream && !w->o->max_windows && !w->points->smoothed &&
           w->points->n_training < w->points->n_there;
}

/* The same for data in memory: what was chosen by some windows is solved for with all of them. The points
 * are the same, so are the inputs of the parts at them. */
static cls_status solve_whole(clsi_learner *w, size_t n_tables, const cls_table *const *tables,
                              const char *const *names, int partial) {
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
        status = clsi_points_create_wide(w->system, n_tables, tables, names, &w->points->rule,
                                         w->o->validate, w->points->n_there,
                                         partial ? 0 : w->o->window, partial, &points, w->error);
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

/* Are there states that no column says, and functions that can be learned all the same (noisy.c)? */
static int is_lacking(const clsi_learner *w, size_t n_tables, const cls_table *const *tables,
                      int only) {
    const cls_system *s = w->system;
    if (s->has_operator || s->has_entropy) return 0;
    /* of lagrangians positions are enough, by other means */
    for (size_t i = 0; i < s->nq && s->formalism == CLS_LAGRANGIAN; i++)
        if (cls_table_find(tables[0], s->coordinate[i].name) >= 0) return 0;
    if (w->o->loss && strcmp(w->o->loss, "multiple-shooting") != 0) return 0;
    if (w->o->scheme || w->o->optimizer || !clsi_lacks_states(s, n_tables, tables)) return 0;
    return !only || clsi_has_heat_column(s, n_tables, tables);
}

/* Rows of the residual, which know their neighbours in space only, in the place of windows, with inputs at nodes between
 * the rows (nodes.c). */
static int may_be_local(const clsi_learner *w, const clsi_stream *stream) {
    const cls_system *s = w->system;
    return !w->open && !stream && !s->has_operator && !s->has_entropy &&
           s->formalism != CLS_LAGRANGIAN;
}

static int is_local(const clsi_learner *w, size_t n_tables, const cls_table *const *tables,
                    const clsi_stream *stream) {
    const cls_system *s = w->system;
    int asked = w->o->loss && strcmp(w->o->loss, "residual") == 0;
    if (!s->nu || !may_be_local(w, stream) || clsi_lacks_states(s, n_tables, tables)) return 0;
    return asked || (!w->o->loss && !w->o->scheme && s->form->nz >= CLSI_LARGE);
}

/* States that no column says, from others of the same time (filled.h): rows of a residual to begin with. */
static cls_status fill_tables(const clsi_learner *w, size_t n_tables,
                              const cls_table *const *tables, const clsi_stream *stream,
                              clsi_filled *filled) {
    *filled = (clsi_filled){0};
    int other = w->o->loss && strcmp(w->o->loss, "multiple-shooting") != 0;
    if (!may_be_local(w, stream) || other || w->o->scheme || w->o->optimizer) return CLS_OK;
    return clsi_filled_create(w->system, n_tables, tables, filled, w->error);
}

/* Noisy rows of many states: the same rows of the residual, of smoothed states. */
static int is_local_noise(const clsi_learner *w, const clsi_stream *stream) {
    const cls_system *s = w->system;
    const clsi_points *p = w->points;
    if (w->o->loss || w->open || stream || s->formalism == CLS_LAGRANGIAN || p->intervals) return 0;
    for (size_t k = 0; k < p->nz; k++)
        if (!p->observed[k]) return 0;
    return p->nz >= CLSI_LARGE;
}

/* How much of the rollout is the error of steps as long as the data are apart. Where rows are steps of a
 * scheme, or positions are all there is, steps cannot be split. */
static void split_steps(clsi_learner *w, const cls_system *s) {
    enum { MOST_PARTS = 16 };
    double all = w->info->rollout, least = all;
    if (!(all > 0) || w->points->intervals || w->points->rule.scheme) return;
    for (size_t parts = 4; parts <= MOST_PARTS; parts *= 4) {
        double fine = clsi_learner_tell_all(
            w, clsi_learner_is_first(w) ? clsi_rollout(w->points, s, parts, clsi_learner_hurry, w)
                                        : 0);
        if (fine == CLSI_ROLLOUT_NO_MEMORY) w->no_memory = 1;
        if (!(fine >= 0 && fine < 0.5 * least)) return;
        w->info->rollout_fine = least = fine;
        w->info->rollout_parts = parts;
    }
}

/* The rule of the residual and its points. only: positions are all there is; lacking: states that no column
 * says are found by simulations; local: rates between the rows. */
static cls_status take_points(clsi_learner *w, size_t n_tables, const cls_table *const *tables,
                              const char *const *names, int only, int lacking, int local,
                              clsi_rule *rule, char **said) {
    const cls_system *system = w->system;
    const cls_learn_options *o = w->o;
    /* shooting simulates all states with its scheme, and guesses those that are not there: its
     * residual has the default rule */
    int shooting = lacking || clsi_is_loss(w, "shooting");
    cls_status status = clsi_rule_find(system, shooting ? NULL : o->scheme, only, rule, w->error);
    if (status != CLS_OK) return status;
    if (local) *rule = clsi_rule_gauss, rule->hold = o->hold;
    int positions = rule->positions != NULL;
    if (positions && system->has_operator)
        return clsi_fail(w->error, CLS_USAGE,
                         "'%s' has a friction operator (dissipation), which is not learned from "
                         "positions alone: give all states",
                         system->name);
    if (system->has_entropy)
        return clsi_fail(w->error, CLS_USAGE,
                         "'%s' has a total entropy: only `--optimizer qp` learns such systems",
                         system->name);
    status = check_lagrangian(w, system, positions);
    if (status == CLS_OK) status = check_adjoint(w);
    if (status == CLS_OK) status = check_anchors(w, system);
    if (status == CLS_OK && positions && !clsi_is_loss(w, "residual") &&
        !clsi_is_loss(w, "multiple-shooting") && !clsi_is_loss(w, "shooting"))
        status = clsi_fail(w->error, CLS_USAGE,
                           "the loss %s needs all states as columns of the data", o->loss);
    if (status == CLS_OK && !positions && !lacking && !local)
        status = clsi_learner_scheme(w, n_tables, tables, names, rule, said);
    rule->smooth = rule->composite && !shooting && !has_network(system, o);
    if (status == CLS_OK)
        status = clsi_points_create_wide(system, n_tables, tables, names, rule, o->validate,
                                         o->max_windows ? o->max_windows : usual_windows(system, o),
                                         shooting ? 0 : o->window, shooting, &w->points, w->error);
    return status;
}

static cls_status run(clsi_learner *w, const cls_system *system, const cls_assignments *set,
                      size_t n_tables, const cls_table *const *tables, const char *const *names,
                      const clsi_filled *filled, clsi_stream *stream, cls_model **out) {
    const cls_learn_options *o = w->o;
    clsi_rule rule;
    int only =
        !clsi_is_loss(w, "shooting") && system->n && clsi_only_positions(system, n_tables, tables);
    /* the residual needs all states, or positions alone; of anything else hidden states are found */
    int local = is_local(w, n_tables, tables, stream);
    int recorded = !local && clsi_learner_is_recorded(w);
    int lacking = recorded || is_lacking(w, n_tables, tables, only);
    cls_status status = check_loss(w);
    if (status == CLS_OK && recorded) status = check_recorded(w);
    if (status != CLS_OK) return status;
    char *said = NULL;
    status =
        take_points(w, n_tables, filled->tables ? (const cls_table *const *)filled->tables : tables,
                    names, only && !lacking, lacking, local || filled->tables, &rule, &said);
    if (status == CLS_OK && !lacking && !local && !stream && clsi_learner_has_noisy_positions(w)) {
        clsi_points_free(&w->points);
        lacking = 1;
        status = take_points(w, n_tables, tables, names, 0, lacking, 0, &rule, &said);
    }
    /* rows that a scheme made to the last digit are not noisy, however far apart they are */
    int noisy =
            status == CLS_OK && !said && (recorded || filled->tables || clsi_learner_is_noisy(w)),
        tried = noisy;
    if (noisy && !recorded && !filled->tables && is_local_noise(w, stream)) {
        noisy = tried = 0;
        rule = clsi_rule_gauss;
        clsi_points_free(&w->points);
        status = clsi_points_create_wide(system, n_tables, tables, names, &rule, o->validate,
                                         o->max_windows ? o->max_windows : usual_windows(system, o),
                                         0, 0, &w->points, w->error);
    }
    if (noisy) status = clsi_learner_fit_noisy(w, n_tables, tables, names, &noisy);
    if (tried && status == CLS_NUMERIC && !lacking &&
        !w->o->loss) { /* then what the residual finds is all there is */
        clsi_learner_note(
            w,
            "the data are noisy, but no simulation of them succeeded (%.100s): this is "
            "the residual's solution",
            w->error ? w->error->message : "");
        clsi_learner_forget(w);
        w->taken = NULL;
        status = CLS_OK;
    }
    w->beyond = stream;
    cls_table **held = NULL;
    if (status == CLS_OK && !noisy && !stream && (o->test > 0 || o->n_test))
        status = hold_back(w, n_tables, tables, names, &rule,
                           lacking || clsi_is_loss(w, "shooting"), &held);
    int sampled = status == CLS_OK && !noisy && is_sampled(w, stream);
    w->alone = (sampled || (stream && !o->max_windows)) && !(o->team && o->team->ranks > 1);
    if (status == CLS_OK && !noisy) status = clsi_learner_choose(w);
    if (status == CLS_OK && !noisy) status = clsi_learner_thin(w);
    if (status == CLS_OK && !noisy && stream) status = solve_stream(w, stream);
    if (status == CLS_OK && sampled)
        status = solve_whole(w, n_tables, held ? (const cls_table *const *)held : tables, names,
                             lacking || clsi_is_loss(w, "shooting"));
    if (stream) {
        n_tables = stream->n_files;
        names = stream->paths;
    }
    if (status == CLS_OK && said) clsi_learner_note(w, "%s", said);
    free(said);
    if (status == CLS_OK && !noisy) status = clsi_learner_make_positive(w, w->theta);
    if (status == CLS_OK && clsi_is_loss(w, "shooting") && !w->info->stopped)
        status = clsi_learner_shoot(w);
    if (status == CLS_OK && clsi_is_loss(w, "derivative") && !w->info->stopped)
        status = clsi_learner_derive(w);
    if (status == CLS_OK && !noisy && clsi_is_loss(w, "residual"))
        status = clsi_learner_report_residual(w, &w->info->report);
    if (status == CLS_OK && held) status = score_held(w, n_tables, tables, names);
    clsi_held_free(n_tables, &held);
    if (status == CLS_OK) status = clsi_learner_model(w, system, set, n_tables, names, out);
    if (!noisy && !o->want_report) cls_learn_report_free(&w->info->report);
    /* A solve is not chosen by its rollout, but a model that cannot be simulated must not pass. */
    if (status == CLS_OK && !recorded && isnan(w->info->rollout) &&
        w->points->n_windows > w->points->n_training)
        w->info->rollout = clsi_learner_tell_all(
            w, clsi_learner_is_first(w)
                   ? clsi_rollout(w->points, (*out)->system, 1, clsi_learner_hurry, w)
                   : 0);
    if (w->info->rollout == CLSI_ROLLOUT_NO_MEMORY) w->no_memory = 1;
    if (w->info->rollout < 0) w->info->rollout = NAN; /* broken off */
    if (status == CLS_OK && !recorded && !w->no_memory) split_steps(w, (*out)->system);
    if (status == CLS_OK && w->no_memory) {
        cls_model_free(out);
        status = clsi_no_memory(w->error);
    }
    return status;
}

static void say_repeated(clsi_learner *w, size_t repeated) {
    static const char line[] = "%zu rows with a time that stood there already were averaged";
    cls_learn_report *r = w->info->report;
    clsi_learner_note(w, line, repeated);
    if (!r) return; /* whoever shows it shows its notes */
    clsi_text t = {0};
    clsi_text_printf(&t, "%s", r->notes);
    clsi_text_printf(&t, line, repeated);
    clsi_text_append(&t, "\n");
    char *notes = clsi_text_take(&t);
    if (!notes) return;
    free(r->notes);
    r->notes = notes;
}

/* The same where columns are missing that others say. Where these say all of them, nothing else is to be known. */
static cls_status run_filled(clsi_learner *w, const cls_system *system, const cls_assignments *set,
                             size_t n_tables, const cls_table *const *tables,
                             const char *const *names, clsi_stream *stream, cls_model **out) {
    clsi_filled filled, none = {0};
    cls_status status = fill_tables(w, n_tables, tables, stream, &filled);
    if (status == CLS_OK && filled.tables && !filled.beside && system->form->nz >= CLSI_LARGE)
        status = run(w, system, set, n_tables, (const cls_table *const *)filled.tables, names,
                     &none, stream, out);
    else if (status == CLS_OK)
        status = run(w, system, set, n_tables, tables, names, filled.beside ? &filled : &none,
                     stream, out);
    clsi_filled_clear(&filled);
    return status;
}

/* The same from tables in which no time stands twice. */
static cls_status run_once(clsi_learner *w, const cls_system *system, const cls_assignments *set,
                           size_t n_tables, const cls_table *const *tables,
                           const char *const *names, clsi_stream *stream, cls_model **out) {
    if (!w->o->average) return run_filled(w, system, set, n_tables, tables, names, stream, out);
    cls_table **copies = clsi_calloc(n_tables + 1, sizeof *copies);
    const cls_table **used = clsi_calloc(n_tables + 1, sizeof *used);
    cls_status status = copies && used ? CLS_OK : clsi_no_memory(w->error);
    size_t repeated = 0;
    for (size_t i = 0; i < n_tables && status == CLS_OK; i++) {
        status = clsi_table_once(tables[i], names[i], 1, &copies[i], w->error);
        used[i] = copies[i] ? copies[i] : tables[i];
        repeated += cls_table_rows(tables[i]) - cls_table_rows(used[i]);
    }
    if (status == CLS_OK) status = run_filled(w, system, set, n_tables, used, names, stream, out);
    if (status == CLS_OK && repeated) say_repeated(w, repeated);
    for (size_t i = 0; copies && i < n_tables; i++) cls_table_free(&copies[i]);
    free(copies);
    free(used);
    return status;
}

/* The optimiser qp: cls_identify with its defaults (it has more to choose and more to report). */
static cls_status identify(const cls_system *system, const cls_assignments *set, size_t n_tables,
                           const cls_table *const *tables, const char *const *names,
                           const cls_learn_options *o, cls_model **out, cls_learn_info *info,
                           cls_error *error) {
    cls_identified *id;
    cls_identify_info found;
    cls_identify_options options = cls_identify_defaults();
    options.n_unknown = o->n_unknown;
    options.unknown = o->unknown;
    cls_status status =
        cls_identify(system, set, n_tables, tables, names, &options, &id, &found, error);
    if (status != CLS_OK) return status;
    *out = cls_identified_take_model(id);
    *info = (cls_learn_info){.parameters = found.energy.terms + found.friction.terms,
                             .samples = found.equations,
                             .loss_final = found.energy.residual,
                             .loss_validation = NAN,
                             .seconds = found.seconds,
                             .optimizer = "qp",
                             .rank = found.energy.rank + found.friction.rank,
                             .nullity = found.energy.nullity + found.friction.nullity,
                             .condition = found.energy.condition,
                             .kkt = fmax(found.energy.kkt, found.friction.kkt),
                             .rollout = NAN};
    cls_identified_free(&id);
    return CLS_OK;
}

static cls_status learn(const cls_system *system, const cls_assignments *set, size_t n_tables,
                        const cls_table *const *tables, const char *const *names,
                        const cls_learn_options *options, clsi_stream *stream, cls_model **out,
                        cls_learn_info *info, cls_error *error) {
    cls_learn_options o = cls_learn_defaults();
    TAKE_OPTIONS(&o, options);
    o.size = sizeof o;
    size_t n_rows;
    const cls_option *rows = cls_learn_option_table(&n_rows);
    if (clsi_options_in_range(n_rows, rows, &o, error) != CLS_OK) return CLS_USAGE;
    cls_assignments kept = {0}; /* the numbers that the given parts were learned with */
    if (o.given) {
        kept = (cls_assignments){o.given->n_set, (const char *const *)o.given->set_names,
                                 o.given->set_values};
        set = &kept;
    }
    int open_parameters = !o.given && clsi_has_open_parameters(system, &o);
    if (cls_system_is_noisy(system) && (o.given || clsi_has_open_parts(system, &o)))
        return clsi_fail(error, CLS_USAGE,
                         "'%s' has thermal noise: its parts are not learned as functions; write "
                         "the friction with unknown parameters, `parameter g = unknown near 0.5` "
                         "and `friction on Tr: x <- -(g + k*x^2)*v.x`",
                         system->name);
    if (open_parameters && !clsi_has_open_parts(system, &o)) {
        info->rollout = NAN;
        double started = clsi_now();
        int before = omp_get_max_threads();
        if (o.threads > 0) omp_set_num_threads(o.threads);
        cls_status status =
            clsi_learn_measured(system, set, n_tables, tables, names, &o, out, info, error);
        omp_set_num_threads(before);
        info->seconds = clsi_now() - started;
        return status;
    }
    clsi_open open = {0};
    cls_assignments all;
    if (open_parameters) {
        cls_status status = clsi_open_create(system, &o, &open, error);
        if (status == CLS_OK) status = clsi_open_set(&open, set, &all, error);
        if (status != CLS_OK) {
            clsi_open_clear(&open);
            return status;
        }
        set = &all;
        o.n_unknown = open.n_parts;
        o.unknown = open.part;
    }
    if (o.n_unknown == 0) {
        o.n_unknown = system->n_unknown;
        o.unknown = (const char *const *)system->unknown;
    }
    if (o.n_unknown == 0)
        return clsi_fail(error, CLS_USAGE,
                         "nothing is unknown: name the parts to learn; `clausius show %s --parts` "
                         "lists them",
                         system->name);
    if (o.optimizer && strcmp(o.optimizer, "qp") == 0 && open_parameters) {
        clsi_open_clear(&open);
        return clsi_fail(error, CLS_USAGE,
                         "'%s' has unknown parameters: `--optimizer qp` does not find them; set "
                         "them (--set), or leave the optimizer out",
                         system->name);
    }
    if (o.optimizer && strcmp(o.optimizer, "qp") == 0 && o.given)
        return clsi_fail(error, CLS_USAGE,
                         "'%s' uses parts that were learned before: `--optimizer qp` does not; "
                         "take another optimizer",
                         system->name);
    if (o.optimizer && strcmp(o.optimizer, "qp") == 0)
        return identify(system, set, n_tables, tables, names, &o, out, info, error);
    info->rollout = NAN;
    clsi_learner w = {.o = &o,
                      .system = system,
                      .set = set,
                      .open = open_parameters ? &open : NULL,
                      .info = info,
                      .started = clsi_now(),
                      .error = error};
    int threads = omp_get_max_threads(); /* of the caller's thread, given back below */
    if (o.threads > 0) omp_set_num_threads(o.threads);
    cls_status status = run_once(&w, system, set, n_tables, tables, names, stream, out);
    omp_set_num_threads(threads);
    info->seconds = clsi_now() - w.started;
    clsi_learner_forget(&w);
    for (size_t k = 0; k < w.n_specs; k++) {
        for (size_t i = 0; i < o.n_unknown; i++) free(w.specs[k][i]);
        free(w.specs[k]);
    }
    free(w.specs);
    clsi_points_free(&w.points);
    json_decref(w.split);
    json_decref(w.spread);
    clsi_open_clear(&open);
    return status;
}

/* ---- the times of a model ---- */

/* Steps of order two in the time in which the data change: a hundred. */
enum { STEPS_IN_SCALE = 100, MOST_IN_ROW = 100 };

static void say_time(clsi_text *t, const char *word, double value) {
    char number[CLSI_NUMBER];
    clsi_format_double(value, number);
    clsi_text_printf(t, "%s %s\n", word, number);
}

/* A system whose file says no step and no end is simulated as its data are: a default of 0.01 is a
 * second's work for a spring and a day's for a house. A scheme that was asked for learned its own step. */
static cls_status say_times(const cls_learn_options *options, const cls_table *data,
                            const cls_learn_info *info, cls_model *m, cls_error *error) {
    cls_system *s = m->system;
    cls_time_facts f;
    cls_learn_options o = cls_learn_defaults();
    TAKE_OPTIONS(&o, options);
    if (s->says_step && s->says_until) return CLS_OK;
    cls_status status = cls_table_inspect_time(data, &f, error);
    if (status != CLS_OK || !f.known || !(f.spacing > 0)) return status;
    double parts = info->rollout_parts > 1 ? (double)info->rollout_parts : 1,
           scale = info->report ? info->report->time_scale : 0;
    if (scale > 0) parts = fmax(parts, ceil(STEPS_IN_SCALE * f.spacing / scale - 1e-9));
    if (o.scheme) parts = 1;
    clsi_text t = {0};
    clsi_text_printf(&t, "%s\n# of the data that it was learned from\n", m->text);
    if (!s->says_step) say_time(&t, "step", s->step = f.spacing / fmin(parts, MOST_IN_ROW));
    if (!s->says_until && f.last > f.first) say_time(&t, "until", s->until = f.last - f.first);
    s->says_step = s->says_until = 1;
    char *text = clsi_text_take(&t);
    if (!text) return clsi_no_memory(error);
    free(m->text);
    m->text = text;
    return CLS_OK;
}

/* Candidates that fail are passed over while forms, terms, schemes and starts are compared; for want of
 * memory the best of the others would be another answer than the one that was asked for. */
static cls_status answered(unsigned long before, cls_status status, cls_model **out,
                           cls_learn_info *info, cls_error *error) {
    status = clsi_failed_since(before, status, error);
    if (status == CLS_MEMORY) {
        cls_model_free(out);
        cls_learn_report_free(&info->report);
    }
    return status;
}

/* Trajectories whose rows do not stand together are sorted first, in copies. */
cls_status cls_learn(const cls_system *system, const cls_assignments *set, size_t n_tables,
                     const cls_table *const *tables, const char *const *names,
                     const cls_learn_options *options, cls_model **out, cls_learn_info *info,
                     cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, system);
    *out = NULL;
    NEED(error, info);
    NEED(error, (tables && names) || !n_tables);
    *info = (cls_learn_info){0};
    unsigned long before = clsi_failures();
    cls_table **copies = clsi_calloc(n_tables + 1, sizeof *copies);
    const cls_table **used = clsi_calloc(n_tables + 1, sizeof *used);
    cls_status status = copies && used ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < n_tables && status == CLS_OK; i++) {
        status = cls_table_group(tables[i], &copies[i], error);
        used[i] = copies[i] ? copies[i] : tables[i];
    }
    if (status == CLS_OK)
        status = learn(system, set, n_tables, used, names, options, NULL, out, info, error);
    if (status == CLS_OK && n_tables &&
        (status = say_times(options, used[0], info, *out, error)) != CLS_OK)
        cls_model_free(out);
    for (size_t i = 0; copies && i < n_tables; i++) cls_table_free(&copies[i]);
    free(copies);
    free(used);
    return answered(before, status, out, info, error);
}

/* ---- files ---- */

/* What is learned by other means than the residual needs all rows in memory. */
static int needs_all(const cls_system *system, const cls_learn_options *o) {
    return o->average || (!o->given && clsi_has_open_parameters(system, o)) ||
           (o->optimizer && strcmp(o->optimizer, "qp") == 0) ||
           (o->loss && strcmp(o->loss, "residual") != 0);
}

static cls_status learn_whole(const cls_system *system, const cls_assignments *set, size_t n_files,
                              const char *const *paths, const cls_read_options *reading,
                              const cls_learn_options *options, cls_model **out,
                              cls_learn_info *info, cls_error *error) {
    cls_table **tables = clsi_calloc(n_files, sizeof *tables);
    cls_status status = tables ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < n_files && status == CLS_OK; i++)
        status = cls_table_read_with(paths[i], reading, &tables[i], error);
    if (status == CLS_OK)
        status = cls_learn(system, set, n_files, (const cls_table *const *)tables, paths, options,
                           out, info, error);
    for (size_t i = 0; tables && i < n_files; i++) cls_table_free(&tables[i]);
    free(tables);
    return status;
}

cls_status cls_learn_files(const cls_system *system, const cls_assignments *set, size_t n_files,
                           const char *const *paths, const cls_read_options *reading,
                           const cls_learn_options *options, cls_model **out, cls_learn_info *info,
                           cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, system);
    NEED(error, paths);
    cls_learn_options o = cls_learn_defaults();
    TAKE_OPTIONS(&o, options);
    NEED(error, info);
    *info = (cls_learn_info){0};
    if (needs_all(system, &o))
        return learn_whole(system, set, n_files, paths, reading, options, out, info, error);
    unsigned long before = clsi_failures();
    clsi_stream st = {.n_files = n_files, .paths = paths, .reading = reading};
    cls_status status = clsi_stream_open(&st, &o, error);
    const cls_table *sample = st.sample;
    if (status == CLS_OK)
        status = learn(system, set, 1, &sample, paths, options, &st, out, info, error);
    if (status == CLS_OK && (status = say_times(options, sample, info, *out, error)) != CLS_OK)
        cls_model_free(out);
    clsi_stream_close(&st);
    return answered(before, status, out, info, error);
}
