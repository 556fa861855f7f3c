/* The report of a fit by multiple shooting: made before the scores are, so that each has its place. */
#include "learn/shooting/multiple.h"
#include "model/json.h"
#include <math.h>
#include <stdlib.h>

static cls_status add_channel(const clsi_channel *from, cls_learned_channel *to, cls_error *error) {
    *to = (cls_learned_channel){.noise = from->noise, .fitted = NAN, .run = NAN};
    to->name = clsi_strdup(from->name);
    to->unit = from->unit ? clsi_strdup(from->unit) : NULL;
    for (size_t h = 0; h < CLS_MAX_HORIZONS; h++)
        to->ahead[h] = to->ahead_persistence[h] = to->ahead_arx[h] = NAN;
    return to->name ? CLS_OK : clsi_no_memory(error);
}

cls_status clsi_report_create(const clsi_recording *data, const cls_learn_options *o,
                              size_t n_parameters, char *choice, cls_learn_report **out,
                              cls_error *error) {
    cls_learn_report *r = *out = clsi_calloc(1, sizeof *r);
    if (!r) {
        free(choice);
        return clsi_no_memory(error);
    }
    r->choice = choice;
    r->parameters = clsi_calloc(n_parameters, sizeof *r->parameters);
    r->channels = clsi_calloc(data->ny + 1, sizeof *r->channels);
    if (!r->parameters || !r->channels || !choice) return clsi_no_memory(error);
    r->better = -1;
    r->time_scale = data->time_scale;
    r->n_horizons = o->n_horizons ? o->n_horizons : 2;
    r->horizon[0] = o->n_horizons ? o->horizon[0] : r->time_scale / 4;
    r->horizon[1] = o->n_horizons ? o->horizon[1] : r->time_scale;
    for (size_t h = 2; h < r->n_horizons; h++) r->horizon[h] = o->horizon[h];
    cls_status status = CLS_OK;
    for (size_t c = 0; c < data->ny && status == CLS_OK; c++, r->n_channels++)
        status = add_channel(&data->channel[c], &r->channels[c], error);
    return status;
}

/* ---- for the record ---- */

static json_t *number(double x) {
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *numbers(size_t n, const double *x) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) clsi_json_add(&list, number(x[i]));
    return list;
}

json_t *clsi_recording_split(const clsi_recording *r) {
    json_t *list = json_array();
    for (size_t k = 0; k < r->n_trajectories; k++) {
        double from = NAN;
        for (size_t s = r->n_segments; s-- > 0;) {
            const clsi_segment *g = &r->segment[s];
            if (g->trajectory == k && g->train < g->end - g->first)
                from = r->time[g->first + g->train];
        }
        clsi_json_add(&list, number(from));
    }
    return list;
}

void clsi_report_record(const cls_learn_report *r, json_t **to) {
    json_t *list = json_array(), *scores = json_array(), *functions = json_array();
    for (size_t i = 0; i < r->n_parameters; i++) {
        const cls_learned_parameter *p = &r->parameters[i];
        json_t *one = json_pack("{s:s, s:f}", "name", p->name, "value", p->value);
        if (!isnan(p->error)) clsi_json_put(&one, "error", number(p->error)); /* null: infinite */
        clsi_json_put(&one, "low", number(p->low));
        clsi_json_put(&one, "high", number(p->high));
        clsi_json_add(&list, one);
    }
    for (size_t c = 0; c < r->n_channels; c++) {
        const cls_learned_channel *ch = &r->channels[c];
        clsi_json_add(&scores,
                      json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "name", ch->name,
                                "test_rows", (int)ch->test_rows, "noise", number(ch->noise),
                                "fitted", number(ch->fitted), "run", number(ch->run), "persistence",
                                number(ch->run_persistence), "mean", number(ch->run_mean), "arx",
                                number(ch->run_arx)));
    }
    for (size_t i = 0; i < r->n_functions; i++) {
        const cls_learned_function *f = &r->functions[i];
        clsi_json_add(&functions,
                      json_pack("{s:s, s:i, s:s, s:b, s:o, s:o, s:o}", "part", f->part, "slot",
                                (int)f->slot, "input", f->input, "relative", f->relative, "at",
                                numbers(f->n, f->at), "value", numbers(f->n, f->value), "error",
                                numbers(f->n, f->error)));
    }
    clsi_json_put(to, "parameters", list);
    clsi_json_put(to, "channels", scores);
    clsi_json_put(to, "functions", functions);
    if (r->choice) clsi_json_put(to, "choice", json_string(r->choice));
    if (r->notes && *r->notes) clsi_json_put(to, "notes", json_string(r->notes));
}

void clsi_function_clear(cls_learned_function *f) {
    free(f->part);
    free(f->input);
    free(f->at);
    *f = (cls_learned_function){0};
}

void cls_learn_report_free(cls_learn_report **report) {
    if (!report) return;
    cls_learn_report *r = *report;
    if (!r) return;
    for (size_t i = 0; i < r->n_parameters; i++) free(r->parameters[i].name);
    for (size_t i = 0; i < r->n_channels; i++) {
        free(r->channels[i].name);
        free(r->channels[i].unit);
    }
    for (size_t i = 0; i < r->n_functions; i++) clsi_function_clear(&r->functions[i]);
    free(r->functions);
    free(r->parameters);
    free(r->channels);
    free(r->choice);
    free(r->notes);
    free(r);
    *report = NULL;
}
