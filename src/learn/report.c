/* The report of a fit by multiple shooting: made before the scores are, so that each has its place. */
#include "learn/multiple.h"
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
    r->channels = clsi_calloc(data->ny, sizeof *r->channels);
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

void cls_learn_report_free(cls_learn_report **report) {
    if (!report) return;
    cls_learn_report *r = *report;
    if (!r) return;
    for (size_t i = 0; i < r->n_parameters; i++) free(r->parameters[i].name);
    for (size_t i = 0; i < r->n_channels; i++) {
        free(r->channels[i].name);
        free(r->channels[i].unit);
    }
    free(r->parameters);
    free(r->channels);
    free(r->choice);
    free(r->notes);
    free(r);
    *report = NULL;
}
