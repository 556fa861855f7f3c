/* Balances of heat: entropies whose temperature is hidden.
 *
 * T_i = dE/dS_i is unknown where the energy is. S_i' = heat_i/T_i has no value before it is known
 * (T = 0), and is not linear in what is to be learned. The balance
 *
 *     heat_i - T_i S_i' = 0,     S_i' from the data,
 *
 * has neither trouble: it is affine in the energy, in frictions, and in conductances for a given
 * energy. Of entropies that exchange heat the first one gets the sum of their balances, the first law
 *
 *     sum_i (own_i - T_i S_i') = 0,
 *
 * in which no conductance occurs. So one solve finds the energies, and a second one the
 * conductances (stages.c). The balances of a scheme's own step are written in the same way
 * (scheme/balance.c).
 *
 * Weights: a balance is divided by |S'|, so that every row is an error of a temperature, and brought
 * to the units of the momenta's rows by  mean |S'| / mean v^2, since heat is v times force. */
#include "base/base.h"
#include "expr/graph.h"
#include "learn/residual/derivative.h"
#include "learn/learn.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int clsi_has_hidden_temperature(const clsi_unknowns *us, const clsi_points *p) {
    const cls_system *s = us->s;
    if (s->formalism == CLS_THERMAL_LAGRANGIAN || s->ode || p->intervals) return 0;
    for (size_t k = 0; k < us->n; k++) {
        const clsi_unknown *u = &us->list[k];
        if (!u->learned.field->kind->linear || u->nonlinear) return 0;
    }
    unsigned char *hidden = clsi_calloc(s->m + 1, 1);
    int any = 0;
    if (hidden && clsi_find_hidden(us, s->m, s->S, hidden, NULL) == CLS_OK)
        any = memchr(hidden, 1, s->m) != NULL;
    free(hidden);
    return any;
}

cls_status clsi_entropy_rates(const clsi_points *p, const cls_system *s, double **out,
                              cls_error *error) {
    double *all = clsi_calloc(p->nz * p->n, sizeof *all);
    double *heat = *out = clsi_calloc(s->m * p->n, sizeof *heat);
    cls_status status = all && heat ? clsi_estimate_rates(p, all, error) : clsi_no_memory(error);
    size_t first = s->nq + s->n;
    for (size_t i = 0; i < s->m && status == CLS_OK; i++) {
        const double *S = p->z + (first + i) * p->n;
        memcpy(heat + i * p->n, all + (first + i) * p->n, p->n_data * sizeof *heat);
        for (size_t w = 0; p->rule.means && w < p->n_windows; w++) {
            size_t at[CLSI_MOST_WIDTH];
            clsi_window_points(p, w, at);
            heat[i * p->n + at[1]] = (S[at[2]] - S[at[0]]) / (p->time[at[2]] - p->time[at[0]]);
        }
    }
    free(all);
    return status;
}

static int exchange(const cls_system *s, const clsi_flows *f, size_t i, size_t k) {
    const cls_graph *g = s->g;
    const clsi_sparse *t = &s->bound.conductance;
    CLSI_EACH(t, i, e)
    if (t->entries[e].column == k && !cls_is_constant(g, f->kappa[e], 0)) return 1;
    return !cls_is_constant(g, f->operator_heat[i], 0) &&
           !cls_is_constant(g, f->operator_heat[k], 0);
}

/* root (m): the first of the entropies that i exchanges heat with, itself among them. */
static void exchange_roots(const cls_system *s, const clsi_flows *f, size_t *root) {
    for (size_t i = 0; i < s->m; i++) root[i] = i;
    for (int again = 1; again;) {
        again = 0;
        for (size_t i = 0; i < s->m; i++)
            for (size_t k = 0; k < i; k++)
                if (root[i] != root[k] && (exchange(s, f, i, k) || exchange(s, f, k, i))) {
                    root[i] = root[k] = root[i] < root[k] ? root[i] : root[k];
                    again = 1;
                }
    }
}

void clsi_balance_rates(const cls_system *s, const clsi_flows *f, const cls_node *v,
                        const cls_node *T, const cls_node *S_rate, cls_node *rate) {
    cls_graph *g = s->g;
    size_t m = s->m, *root = clsi_calloc(m, sizeof *root);
    if (!root) return;
    exchange_roots(s, f, root);
    for (size_t i = 0; i < m; i++) rate[i] = cls_sub(g, f->heat[i], cls_mul(g, T[i], S_rate[i]));
    for (size_t r = 0; r < m; r++) {
        cls_node sum = cls_constant(g, 0);
        size_t members = 0, operated = 0;
        for (size_t i = r; i < m; i++) {
            if (root[i] != r) continue;
            cls_node own = cls_add(g, f->own[i], f->outside[i]);
            sum = cls_add(g, sum, cls_sub(g, own, cls_mul(g, T[i], S_rate[i])));
            members++;
            operated |= !cls_is_constant(g, f->operator_heat[i], 0);
        }
        for (size_t j = 0; j < s->n && operated; j++) /* M dE = 0 */
            sum = cls_sub(g, sum, cls_mul(g, f->operator_force[j], v[j]));
        if (members > 1) rate[r] = sum;
    }
    free(root);
}

/* ---- weights ---- */

/* |S'|^2 of all entropies, mean over the points of window w. */
static double square_of_rates(const clsi_residual *r, size_t w) {
    const clsi_points *p = r->points;
    size_t at[CLSI_MOST_WIDTH];
    double sum = 0;
    clsi_window_points(p, w, at);
    for (size_t k = 0; k < p->width; k++)
        for (size_t i = 0; i < r->m; i++) {
            double rate = r->heat[i * p->n + at[k]];
            sum += rate * rate / (double)p->width;
        }
    return sum;
}

void clsi_weigh_balances(clsi_residual *r) {
    const clsi_points *p = r->points;
    const cls_system *s = r->unknowns->s;
    double heat = 0, motion = 0;
    for (size_t w = 0; w < p->n_windows; w++) heat += square_of_rates(r, w) / (double)p->n_windows;
    for (size_t k = 0; k < s->n * p->n; k++) {
        double v = p->z[s->nq * p->n + k];
        motion += v * v / (double)p->n;
    }
    double largest = 0, length = p->time[p->window[0] + 1] - p->time[p->window[0]];
    for (size_t k = 0; k < s->m * p->n_data; k++)
        largest = fmax(largest, fabs(p->z[(s->nq + s->n + k / p->n_data) * p->n + k % p->n_data]));
    if (!(sqrt(heat) > 1e-9 * largest / length)) { /* round-off: no entropy changes */
        memset(r->heat, 0, s->m * p->n * sizeof *r->heat);
        return;
    }
    double unit = motion > 0 ? sqrt(heat) / motion : 1;
    for (size_t w = 0; w < p->n_windows; w++) {
        size_t at[CLSI_MOST_WIDTH];
        clsi_window_points(p, w, at);
        length = p->time[at[p->width - 1]] - p->time[at[0]];
        double weight = unit / length / sqrt(square_of_rates(r, w) + 0.01 * heat);
        for (size_t e = 0; e < r->n_equations; e++) {
            int balance = r->step ? clsi_step_rows_state(r->step, e) >= s->nq + s->n
                                  : e >= r->n && e < r->n + r->m;
            if (balance) r->weight[e * p->n_windows + w] = weight;
        }
    }
}

/* ---- the temperatures that follow ---- */

enum { MOST_POINTS = 2000 }; /* for a mean */

struct clsi_temperatures {
    const clsi_residual *r;
    cls_program *program; /* z, t, symbols -> T (m), then their derivatives in the symbols (m, K) */
    size_t *root, stride; /* (m); of the points that are looked at */
    double *in, *out, *work, *scratch;
};

static cls_status compile(clsi_temperatures *t, cls_error *error) {
    const clsi_residual *r = t->r;
    const clsi_unknowns *us = r->unknowns;
    const cls_system *s = us->s;
    cls_graph *g = s->g;
    size_t K = us->n_symbols, m = s->m, nz = r->points->nz;
    int moving = s->formalism != CLS_HAMILTONIAN;
    cls_node F = moving ? cls_sub(g, s->bound.formula, s->bound.potential)
                        : cls_add(g, s->bound.formula, s->bound.potential);
    cls_node *T = clsi_calloc(m + m * K + nz + 1 + K + clsi_flows_size(s), sizeof *T);
    if (!T) return clsi_no_memory(error);
    cls_node *inputs = T + m + m * K;
    cls_status status = clsi_total_derivatives(us, F, m, s->S, T);
    if (status != CLS_OK) status = clsi_graph_failed(g, error);
    for (size_t i = 0; i < m && moving && status == CLS_OK; i++) T[i] = cls_neg(g, T[i]);
    if (s->nq) memcpy(inputs, s->q, s->nq * sizeof *T);
    memcpy(inputs + s->nq, moving ? s->v : s->p, s->n * sizeof *T);
    memcpy(inputs + s->nq + s->n, s->S, m * sizeof *T);
    inputs[nz] = s->t;
    memcpy(inputs + nz + 1, us->symbols, K * sizeof *T);
    clsi_flows flows;
    clsi_place at = {.T = T, .t = s->t};
    if (status == CLS_OK) status = clsi_flows_of(s, &at, NULL, inputs + nz + 1 + K, &flows);
    if (status == CLS_OK) exchange_roots(s, &flows, t->root);
    if (status == CLS_OK) status = cls_jacobian(g, m, T, K, us->symbols, T + m);
    if (status == CLS_OK)
        status = cls_program_create(g, nz + 1 + K, inputs, m + m * K, T, &t->program, error);
    free(T);
    return status;
}

cls_status clsi_temperatures_create(const clsi_residual *r, clsi_temperatures **out,
                                    cls_error *error) {
    const clsi_unknowns *us = r->unknowns;
    size_t K = us->n_symbols, m = r->m, nz = r->points->nz;
    clsi_temperatures *t = *out = clsi_calloc(1, sizeof *t);
    if (!t) return clsi_no_memory(error);
    t->r = r;
    t->stride = 1 + r->points->n_data / MOST_POINTS;
    t->root = clsi_calloc(m, sizeof *t->root);
    t->in = clsi_calloc(nz + 1 + K, sizeof *t->in);
    t->out = clsi_calloc(m + m * K, sizeof *t->out);
    size_t scratch = 1;
    for (size_t u = 0; u < us->n; u++) {
        const clsi_field *f = us->list[u].learned.field;
        size_t need = f->kind->scratch(f, 1);
        if (need > scratch) scratch = need;
    }
    t->scratch = clsi_calloc(scratch, sizeof *t->scratch);
    int whole = t->root && t->in && t->out && t->scratch;
    cls_status status = whole ? compile(t, error) : clsi_no_memory(error);
    if (status == CLS_OK) t->work = clsi_calloc(cls_program_work_size(t->program), sizeof *t->work);
    if (status == CLS_OK && !t->work) status = clsi_no_memory(error);
    if (status == CLS_OK) cls_program_prepare(t->program, t->work);
    if (status != CLS_OK) clsi_temperatures_free(out);
    return status;
}

void clsi_temperatures_free(clsi_temperatures **temperatures) {
    clsi_temperatures *t = *temperatures;
    if (!t) return;
    cls_program_free(&t->program);
    free(t->root);
    free(t->in);
    free(t->out);
    free(t->work);
    free(t->scratch);
    free(t);
    *temperatures = NULL;
}

/* The program at data point k. */
static void run(const clsi_temperatures *t, const double *theta, size_t k) {
    const clsi_points *p = t->r->points;
    const clsi_unknowns *us = t->r->unknowns;
    for (size_t j = 0; j < p->nz; j++) t->in[j] = p->z[j * p->n + k];
    t->in[p->nz] = p->time[k];
    for (size_t u = 0; u < us->n; u++) {
        const clsi_learned *l = &us->list[u].learned;
        double *symbols = t->in + p->nz + 1 + us->list[u].symbol;
        if (us->list[u].late) continue;
        l->field->kind->evaluate(l->field, theta + l->offset, 1, us->list[u].x + k * l->d, symbols,
                                 symbols + 1, t->scratch);
    }
    cls_program_run(t->program, t->work, t->in, t->out);
}

size_t clsi_temperatures_root(const clsi_temperatures *t, size_t i) {
    return t->root[i];
}

void clsi_temperatures_all(const clsi_temperatures *t, const double *theta, size_t k, size_t stride,
                           double *T) {
    run(t, theta, k);
    for (size_t i = 0; i < t->r->m; i++) T[i * stride] = t->out[i];
}

/* row += dT_i/dtheta where the program ran last. */
static void add_row(const clsi_temperatures *t, size_t i, size_t k, double *row) {
    const clsi_unknowns *us = t->r->unknowns;
    for (size_t u = 0; u < us->n; u++) {
        const clsi_learned *l = &us->list[u].learned;
        const double *slope = t->out + t->r->m + i * us->n_symbols + us->list[u].symbol;
        if (us->list[u].late) continue;
        l->field->kind->rows(l->field, NULL, 1, us->list[u].x + k * l->d, slope, slope + 1, 0,
                             row + l->offset, t->scratch);
    }
}

double clsi_temperatures_row(const clsi_temperatures *t, const double *theta, size_t i, size_t k,
                             double *row) {
    run(t, theta, k);
    memset(row, 0, t->r->unknowns->n_theta * sizeof *row);
    add_row(t, i, k, row);
    return t->out[i];
}

clsi_warmth clsi_temperatures_at(const clsi_temperatures *t, const double *theta, size_t root,
                                 double *row) {
    const clsi_points *p = t->r->points;
    const clsi_unknowns *us = t->r->unknowns;
    size_t m = t->r->m, count = 0;
    clsi_warmth found = {INFINITY, 0, -INFINITY};
    memset(row, 0, us->n_theta * sizeof *row);
    for (size_t k = 0; k < p->n_data; k += t->stride) {
        run(t, theta, k);
        for (size_t i = 0; i < m; i++) {
            if (t->root[i] != root) continue;
            count++;
            found.mean += t->out[i];
            found.low = fmin(found.low, t->out[i]);
            found.high = fmax(found.high, t->out[i]);
            add_row(t, i, k, row);
        }
    }
    found.mean /= (double)count;
    for (size_t j = 0; j < us->n_theta; j++) row[j] /= (double)count;
    return found;
}
