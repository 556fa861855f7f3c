/* The report of a fit of recordings: parameters with their errors, and how well rows that were kept
 * back are predicted, beside models that know nothing. */
#include "learn_report.h"
#include <math.h>
#include <string.h>

/* ---- for people ---- */

/* 2.4713 +- 0.0041: the error with two figures, the value as many decimals. */
static void print_value(const cls_learned_parameter *p) {
    if (!(p->error > 0) || isinf(p->error)) {
        fprintf(stderr, "    %-12s %.6g%s", p->name, p->value,
                isinf(p->error) ? "  (the data cannot tell it)" : "");
    } else {
        int decimals = 1 - (int)floor(log10(p->error));
        if (decimals < 0) decimals = 0;
        if (decimals > 12 || !(fabs(p->value) < 1e12 && p->error < 1e12))
            fprintf(stderr, "    %-12s %.9g +- %.2g", p->name, p->value, p->error);
        else
            fprintf(stderr, "    %-12s %.*f +- %.*f", p->name, decimals, p->value, decimals,
                    p->error);
    }
    if (isfinite(p->scatter)) fprintf(stderr, "  (ensemble +- %.2g)", p->scatter);
    if (p->at_bound) fputs("  (at its bound)", stderr);
    fputc('\n', stderr);
}

/* Ends and middle of each curve. */
static void print_functions(const cls_learn_report *r) {
    for (size_t i = 0; i < r->n_functions; i++) {
        const cls_learned_function *f = &r->functions[i];
        fprintf(stderr, "    %s over %s", f->part, f->input);
        if (f->relative) fprintf(stderr, ", relative to its value at %.4g", f->middle);
        fputc(':', stderr);
        for (size_t k = 0; k < 3 && f->n; k++) {
            size_t at = k * (f->n - 1) / 2;
            fprintf(stderr, "%s %.4g", k ? "," : "", f->value[at]);
            if (isfinite(f->error[at]))
                fprintf(stderr, " +- %.2g", f->error[at]);
            else
                fputs(" (the data cannot tell it)", stderr);
            fprintf(stderr, " at %.4g", f->at[at]);
        }
        fputc('\n', stderr);
    }
}

static void print_cell(double x) {
    if (isnan(x))
        fprintf(stderr, " %11s", "-");
    else if (isinf(x))
        fprintf(stderr, " %11s", "fails");
    else
        fprintf(stderr, " %11.3g", x);
}

static void print_scores(const cls_learn_report *r, int stops) {
    fprintf(stderr, "  %-22s %11s %11s %11s %11s %11s\n", "rows kept back, RMSE", "model",
            "last value", "mean", "linear AR", r->n_functions ? "without" : "as in file");
    for (size_t c = 0; c < r->n_channels; c++) {
        const cls_learned_channel *ch = &r->channels[c];
        char name[64];
        snprintf(name, sizeof name, "%.30s%s%.20s%s", ch->name, ch->unit ? " [" : "",
                 ch->unit ? ch->unit : "", ch->unit ? "]" : "");
        fprintf(stderr, "    %-9s %-10s", name, "free run");
        print_cell(ch->run);
        print_cell(ch->run_persistence);
        print_cell(ch->run_mean);
        print_cell(ch->run_arx);
        print_cell(ch->run_before);
        fputc('\n', stderr);
        for (size_t h = 0; h < r->n_horizons; h++) {
            char text[32];
            snprintf(text, sizeof text, "%.3g ahead", r->horizon[h]);
            fprintf(stderr, "    %-9s %-10s", "", text);
            print_cell(ch->ahead[h]);
            print_cell(ch->ahead_persistence[h]);
            print_cell(NAN);
            print_cell(ch->ahead_arx[h]);
            fputc('\n', stderr);
        }
    }
    if (stops) return;
    fputs(r->better > 0 ? "  verdict     better than the trivial models\n"
          : r->better == 0
              ? "  verdict     BAD: a trivial model predicts as well\n"
              : "  verdict     none: the last value predicts the rows kept back to their "
                "noise; `--test FILE` with a motion would tell\n",
          stderr);
}

static int has_scores(const cls_learn_report *r) {
    for (size_t c = 0; c < r->n_channels; c++)
        if (r->channels[c].test_rows) return 1;
    return 0;
}

/* Of a model that does not run nothing else counts. */
static void print_stops(const cls_learn_info *i) {
    fprintf(stderr,
            "  verdict     BAD: %zu of %zu free runs stop before the motion ends, the first after "
            "%.3g:\n              %s\n",
            i->runs_stopped, i->runs, i->runs_after, i->runs_why);
}

static void print_fitted(const cls_learned_channel *c) {
    char of[40] = "";
    if (c->rows < c->given) snprintf(of, sizeof of, " of %zu", c->given);
    fprintf(stderr, "  fitted      %s to %.3g in %zu%s rows, noise %.2g\n", c->name, c->fitted,
            c->rows, of, c->noise);
}

void cli_report_print(const cls_learn_info *i) {
    const cls_learn_report *r = i->report;
    int stops = i->runs_stopped > 0;
    if (!r) {
        if (stops) print_stops(i);
        return;
    }
    fprintf(stderr, "  loss        %s\n", r->choice);
    if (r->n_parameters) fputs("  parameters  with standard errors\n", stderr);
    for (size_t k = 0; k < r->n_parameters; k++) print_value(&r->parameters[k]);
    if (r->n_functions) fputs("  functions   with standard errors\n", stderr);
    print_functions(r);
    for (size_t c = 0; c < r->n_channels && r->channels[c].rows; c++) print_fitted(&r->channels[c]);
    if (has_scores(r)) print_scores(r, stops);
    if (stops) print_stops(i);
    cli_print_lines(stderr, "note", 1, r->notes);
}

/* ---- for programs ---- */

static json_t *list(size_t n, const double *values) {
    json_t *all = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(all, cli_json_real(values[i]));
    return all;
}

static json_t *channel_json(const cls_learn_report *r, const cls_learned_channel *c) {
    return json_pack(
        "{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", c->name,
        "rows", (json_int_t)c->rows, "test_rows", (json_int_t)c->test_rows, "noise",
        cli_json_real(c->noise), "fitted", cli_json_real(c->fitted), "run", cli_json_real(c->run),
        "run_persistence", cli_json_real(c->run_persistence), "run_mean",
        cli_json_real(c->run_mean), "run_arx", cli_json_real(c->run_arx), "run_before",
        cli_json_real(c->run_before), "ahead", list(r->n_horizons, c->ahead), "ahead_persistence",
        list(r->n_horizons, c->ahead_persistence), "ahead_arx", list(r->n_horizons, c->ahead_arx));
}

static json_t *function_json(const cls_learned_function *f) {
    return json_pack("{s:s, s:I, s:s, s:b, s:f, s:o, s:o, s:o}", "part", f->part, "slot",
                     (json_int_t)f->slot, "input", f->input, "relative", f->relative, "middle",
                     f->middle, "at", list(f->n, f->at), "value", list(f->n, f->value), "error",
                     list(f->n, f->error));
}

json_t *cli_report_json(const cls_learn_report *r) {
    json_t *parameters = json_array(), *channels = json_array();
    for (size_t i = 0; i < r->n_parameters; i++) {
        const cls_learned_parameter *p = &r->parameters[i];
        json_array_append_new(parameters,
                              json_pack("{s:s, s:f, s:o, s:o, s:b, s:b}", "name", p->name, "value",
                                        p->value, "error", cli_json_real(p->error), "scatter",
                                        cli_json_real(p->scatter), "at_bound", p->at_bound,
                                        "identifiable", !isinf(p->error)));
    }
    for (size_t c = 0; c < r->n_channels; c++)
        json_array_append_new(channels, channel_json(r, &r->channels[c]));
    json_t *functions = json_array();
    for (size_t i = 0; i < r->n_functions; i++)
        json_array_append_new(functions, function_json(&r->functions[i]));
    json_t *o =
        json_pack("{s:s, s:o, s:o, s:o, s:I, s:f, s:s}", "choice", r->choice, "parameters",
                  parameters, "channels", channels, "horizons", list(r->n_horizons, r->horizon),
                  "window", (json_int_t)r->window, "time_scale", r->time_scale, "notes", r->notes);
    if (o) json_object_set_new(o, "functions", functions);
    if (o && r->better >= 0) json_object_set_new(o, "better", json_boolean(r->better));
    return o;
}

/* ---- the keys that scripts rely on ---- */

/* "multiple shooting, because parameters are unknown": the loss as --loss has it, and why. */
static void add_choice(json_t *o, const char *choice) {
    static const struct {
        const char *word, *loss;
    } losses[] = {{"multiple shooting", "multiple-shooting"},
                  {"residual", "residual"},
                  {"derivative", "derivative"},
                  {"likelihood", "likelihood"},
                  {"shooting", "shooting"}};
    static const char because[] = ", because ";
    const char *at = strstr(choice, because), *loss = NULL;
    for (size_t k = 0; !loss && k < sizeof losses / sizeof *losses; k++) {
        const char *word = strstr(choice, losses[k].word);
        if (word && (!at || word < at)) loss = losses[k].loss;
    }
    json_object_set_new(o, "loss_chosen", loss ? json_string(loss) : json_null());
    json_object_set_new(o, "reason", json_string(at ? at + strlen(because) : choice));
}

static json_t *test_json(const cls_learn_report *r) {
    json_t *rmse = json_object(), *last = json_object(), *without = json_object(),
           *arx = json_object();
    for (size_t c = 0; c < r->n_channels; c++) {
        const cls_learned_channel *ch = &r->channels[c];
        json_object_set_new(rmse, ch->name, cli_json_real(ch->run));
        json_object_set_new(last, ch->name, cli_json_real(ch->run_persistence));
        json_object_set_new(without, ch->name, cli_json_real(ch->run_before));
        json_object_set_new(arx, ch->name, cli_json_real(ch->run_arx));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "rmse", rmse, "persistence", last, "without",
                     without, "arx", arx, "better",
                     r->better >= 0 ? json_boolean(r->better) : json_null());
}

/* What the data cannot tell: parameters by their names, other directions by the parts that they are
 * combinations of the coefficients of. */
static json_t *null_space_json(const cls_learn_info *i) {
    const cls_learn_report *r = i->report;
    json_t *all = json_array();
    for (size_t k = 0; r && k < r->n_parameters; k++)
        if (isinf(r->parameters[k].error))
            json_array_append_new(all, json_string(r->parameters[k].name));
    for (size_t k = json_array_size(all); k < i->nullity; k++)
        json_array_append_new(
            all, json_sprintf("a combination of the %zu learned coefficients", i->parameters));
    return all;
}

/* 1 good, 0 bad, -1 not known: runs to their ends, then rows kept back, then rollouts. */
static int verdict_of(const cls_learn_info *i) {
    double off = i->rollout_parts ? i->rollout_fine : i->rollout;
    if (i->runs_stopped) return 0;
    if (i->report && i->report->better >= 0) return i->report->better;
    if (isnan(off)) return -1;
    return isfinite(off) && !(off >= i->rollout_still);
}

static json_t *runs_json(const cls_learn_info *i) {
    json_t *o = json_pack("{s:I, s:I}", "made", (json_int_t)i->runs, "stopped",
                          (json_int_t)i->runs_stopped);
    if (o && i->runs_stopped) {
        json_object_set_new(o, "after", cli_json_real(i->runs_after));
        json_object_set_new(o, "why", json_string(i->runs_why));
    }
    return o;
}

void cli_report_keys(const cls_learn_info *i, json_t *o) {
    const cls_learn_report *r = i->report;
    int verdict = verdict_of(i);
    json_object_set_new(o, "verdict",
                        verdict < 0 ? json_null() : json_string(verdict ? "good" : "bad"));
    json_object_set_new(o, "free_runs", runs_json(i));
    json_object_set_new(o, "null_space", null_space_json(i));
    if (!r) return;
    json_t *noise = json_object(), *found = json_object();
    for (size_t c = 0; c < r->n_channels; c++)
        json_object_set_new(noise, r->channels[c].name, cli_json_real(r->channels[c].noise));
    for (size_t k = 0; k < r->n_parameters; k++) {
        const cls_learned_parameter *p = &r->parameters[k];
        json_object_set_new(found, p->name,
                            json_pack("{s:f, s:o, s:b}", "value", p->value, "stderr",
                                      cli_json_real(p->error), "identifiable", !isinf(p->error)));
    }
    add_choice(o, r->choice);
    json_object_set_new(o, "noise", noise);
    json_object_set_new(o, "test", test_json(r));
    json_object_set_new(o, "found", found);
}
