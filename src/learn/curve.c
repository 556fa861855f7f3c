/* The loss while iterations ran, for people who look at the model later (its page draws it).
 *
 * Reports come in any number; kept are at most CLSI_LOSS_POINTS of them, every stride-th, and the
 * last one. When there is no room every other one goes and the stride doubles. No clock is asked and
 * a checkpoint keeps it, so that a model has the same bytes however often its training was stopped. */
#include "learn/learner.h"
#include "model/json.h"
#include "solve/checkpoint.h"
#include <math.h>

static void copy(clsi_loss_curve *c, size_t from, size_t to) {
    c->at[to] = c->at[from];
    c->loss[to] = c->loss[from];
    c->validation[to] = c->validation[from];
}

void clsi_loss_curve_clear(clsi_loss_curve *c) {
    *c = (clsi_loss_curve){.stride = 1};
}

void clsi_loss_curve_add(clsi_loss_curve *c, double iteration, double loss, double validation) {
    size_t last = c->n + (size_t)c->open;
    if (!isfinite(loss) || (last && iteration <= c->at[last - 1])) return;
    c->at[c->n] = iteration;
    c->loss[c->n] = loss;
    c->validation[c->n] = isfinite(validation) ? validation : -1;
    c->open = c->seen++ % c->stride != 0;
    if (c->open || ++c->n < CLSI_LOSS_POINTS) return;
    for (size_t k = 0; k < CLSI_LOSS_POINTS / 2; k++) copy(c, 2 * k, k);
    c->n = CLSI_LOSS_POINTS / 2;
    c->stride *= 2;
    copy(c, CLSI_LOSS_POINTS - 1, c->n);
    c->open = 1;
}

void clsi_loss_curve_keep(clsi_loss_curve *c, clsi_archive *a) {
    clsi_archive_size(a, CLSI_LOSS_POINTS - 1, &c->n);
    clsi_archive_word(a, &c->seen);
    clsi_archive_word(a, &c->stride);
    clsi_archive_flag(a, &c->open);
    clsi_archive_doubles(a, CLSI_LOSS_POINTS, c->at);
    clsi_archive_doubles(a, CLSI_LOSS_POINTS, c->loss);
    clsi_archive_doubles(a, CLSI_LOSS_POINTS, c->validation);
    if (a->reading && !c->stride) a->failed = 1;
}

void clsi_learner_keep_curve(void *learner, clsi_archive *a) {
    clsi_loss_curve_keep(&((clsi_learner *)learner)->curve, a);
}

static json_t *numbers(size_t n, const double *values) {
    json_t *list = json_array();
    for (size_t k = 0; k < n; k++) clsi_json_add(&list, json_real(values[k]));
    return list;
}

void clsi_loss_curve_record(const clsi_loss_curve *c, json_t **to) {
    size_t n = c->n + (size_t)c->open, validated = 0;
    if (n < 2) return;
    json_t *curve = json_object();
    clsi_json_put(&curve, "iteration", numbers(n, c->at));
    clsi_json_put(&curve, "loss", numbers(n, c->loss));
    for (size_t k = 0; k < n; k++) validated += c->validation[k] >= 0;
    if (validated == n) clsi_json_put(&curve, "validation", numbers(n, c->validation));
    clsi_json_put(to, "curve", curve);
}
