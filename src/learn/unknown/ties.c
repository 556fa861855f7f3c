/* Inputs that the data tie to each other.
 *
 * Two bodies whose center rests have x1 + x2 = 0 in every row: an energy of all coordinates is seen on
 * a plane of its inputs, and what it is beside that plane is left to chance. A motion that leaves it
 * by a rounding then goes anywhere. So where combinations of inputs are constant in the data, the
 * energy is offered as a function of the combinations that are orthogonal to these (x2 - x1): they
 * have all that the data tell, a polynomial of fewer inputs has a higher degree, and what the data
 * hold constant cannot move for lack of a force. It is taken unless it is the worse one in
 * validation (logs.c): masses that differ may need other combinations. */
#include "base/base.h"
#include "learn/learn.h"
#include "solve/arrow.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double TIED = 1e-12; /* of the variance */
static const double ROUND = 1e-7; /* coefficients are whole numbers, or zero, within that */

/* Standardised inputs' covariance (d, d); spreads. 0: some do not vary at all, or are not finite. */
static int covariance_of(size_t d, size_t n, const double *x, double *spread, double *C) {
    double mean[CLSI_FIELD_MAX_INPUTS];
    for (size_t i = 0; i < d; i++) {
        double sum = 0, square = 0;
        for (size_t s = 0; s < n; s++) sum += x[i * n + s];
        mean[i] = sum / (double)n;
        for (size_t s = 0; s < n; s++) square += pow(x[i * n + s] - mean[i], 2);
        spread[i] = sqrt(square / (double)n);
        if (!(spread[i] > 1e-9 * fabs(mean[i])) || !isfinite(spread[i])) return 0;
    }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t s = 0; s < n; s++)
                sum += (x[i * n + s] - mean[i]) * (x[j * n + s] - mean[j]);
            C[i * d + j] = C[j * d + i] = sum / ((double)n * spread[i] * spread[j]);
        }
    return 1;
}

/* N (k, d) to reduced rows; pivot[row]. */
static void reduce(size_t k, size_t d, double *N, size_t *pivot) {
    for (size_t row = 0; row < k; row++) {
        size_t best = 0, from = row;
        double most = 0;
        for (size_t r = row; r < k; r++)
            for (size_t c = 0; c < d; c++)
                if (fabs(N[r * d + c]) > most * (1 + ROUND)) {
                    most = fabs(N[r * d + c]);
                    best = c, from = r;
                }
        pivot[row] = best;
        for (size_t c = 0; c < d; c++) {
            double a = N[from * d + c];
            N[from * d + c] = N[row * d + c];
            N[row * d + c] = a;
        }
        double p = N[row * d + best];
        for (size_t c = 0; c < d; c++) N[row * d + c] /= p;
        for (size_t r = 0; r < k; r++) {
            double a = N[r * d + best];
            for (size_t c = 0; c < d && r != row; c++) N[r * d + c] -= a * N[row * d + c];
        }
    }
}

/* " - 0.5*(x)" of a sum. */
static void add_term(clsi_text *t, double a, const char *input) {
    if (fabs(a) < ROUND) return;
    if (fabs(a - nearbyint(a)) < ROUND) a = nearbyint(a);
    const char *sign = a < 0 ? (t->length ? " - " : "-") : t->length ? " + " : "";
    int plain = strcspn(input, " +-*/^") == strlen(input);
    clsi_text_append(t, sign);
    if (fabs(a) != 1) clsi_text_printf(t, "%.17g*", fabs(a));
    clsi_text_printf(t, plain ? "%s" : "(%s)", input);
}

/* The combinations that are seen in the place of the inputs. */
static cls_status combine(clsi_learned *l, size_t k, const double *N, const size_t *pivot,
                          cls_error *error) {
    char *input[CLSI_FIELD_MAX_INPUTS];
    size_t d = l->d, n = 0;
    int complete = 1;
    for (size_t c = 0; c < d; c++) {
        clsi_text t = {0};
        int is_pivot = 0;
        for (size_t r = 0; r < k; r++) is_pivot |= pivot[r] == c;
        if (is_pivot) continue;
        add_term(&t, 1, l->input[c]);
        for (size_t r = 0; r < k; r++) add_term(&t, -N[r * d + c], l->input[pivot[r]]);
        input[n] = clsi_text_take(&t);
        complete &= input[n++] != NULL;
    }
    for (size_t c = 0; c < d; c++) free(l->input[c]), l->input[c] = NULL;
    memcpy(l->input, input, n * sizeof *input);
    l->d = n;
    return complete ? CLS_OK : clsi_no_memory(error);
}

cls_status clsi_tied_inputs(const clsi_unknowns *us, clsi_unknown *u, const clsi_points *p,
                            const cls_node *z, int take, int *count, cls_error *error) {
    clsi_learned *l = &u->learned, plain = *l;
    size_t d = l->d, k = 0, pivot[CLSI_FIELD_MAX_INPUTS];
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    if (!clsi_is_energy(u) || us->s->ode || l->use || u->even || d < 2) return CLS_OK;
    for (size_t i = 0; i < d; i++) plain.half[i] = 1, plain.center[i] = 0;
    double *raw = clsi_calloc(d * p->n + 2 * d * d + 2 * d, sizeof *raw), *C = raw + d * p->n;
    double *V = C + d * d, *value = V + d * d, *spread = value + d;
    cls_program *program = NULL;
    cls_status status = raw ? clsi_learned_inputs(&plain, us->s, x) : clsi_no_memory(error);
    if (status == CLS_OK && (cls_graph_status(us->s->g, NULL) != CLS_OK)) status = CLS_MEMORY;
    for (size_t i = 0; i < d && status == CLS_OK; i++) /* what follows from energies is not said */
        if (cls_depends(us->s->g, x[i], us->s->m, us->s->T) &&
            us->s->formalism != CLS_THERMAL_LAGRANGIAN) {
            free(raw);
            return CLS_OK;
        }
    if (status == CLS_OK)
        status = cls_program_create(us->s->g, clsi_point_rows(p), z, d, x, &program, error);
    if (status == CLS_OK) status = cls_program_run_many(program, p->n, p->n, p->z, raw);
    if (status == CLS_OK && covariance_of(d, p->n, raw, spread, C)) {
        clsi_symmetric_eigen(d, C, value, V); /* ascending, vectors are rows */
        while (k < d && value[k] < TIED) k++;
        for (size_t r = 0; r < k; r++)
            for (size_t c = 0; c < d; c++) V[r * d + c] /= spread[c];
        if (k && k < d) {
            ++*count;
            reduce(k, d, V, pivot);
            if (take) status = combine(l, k, V, pivot, error);
        }
    }
    cls_program_free(&program);
    free(raw);
    return status;
}
