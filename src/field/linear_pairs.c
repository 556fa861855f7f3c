/* The stages of clsi_field_pairs for kinds that are linear in theta: gbar is a matrix times theta,
 * made of rows of the kind; nothing but the points is kept between stages. Costs a row (or d rows
 * for gbar itself) a pair. */
#include "field/linear_pairs.h"
#include <string.h>

typedef struct linear_pass {
    const clsi_field *f;
    const double *theta, *x;
    clsi_discrete_row row;
    size_t n;
    const size_t *pair;
} linear_pass;

enum { PASS = (sizeof(linear_pass) + sizeof(double) - 1) / sizeof(double) };

const char *clsi_linear_pairs_missing(const clsi_field *f) {
    (void)f;
    return NULL;
}

/* The pass, sums, and a row. */
size_t clsi_linear_pairs_size(const clsi_field *f) {
    return PASS + 2 * f->n_parameters;
}

void clsi_linear_pairs_open(const clsi_field *f, const double *theta, clsi_discrete_row row,
                            double *pass) {
    *(linear_pass *)pass = (linear_pass){.f = f, .theta = theta, .row = row};
}

void clsi_linear_pairs_clear(double *pass) {
    memset(pass + PASS, 0, ((linear_pass *)pass)->f->n_parameters * sizeof *pass);
}

static const double *end_of(const linear_pass *p, size_t i, size_t end) {
    return p->x + p->pair[2 * i + end] * p->f->d;
}

void clsi_linear_pairs_evaluate(double *pass, size_t points, const double *x, size_t n,
                                const size_t *pair, double *gbar) {
    linear_pass *p = (linear_pass *)pass;
    size_t P = p->f->n_parameters, d = p->f->d;
    double *row = pass + PASS + P;
    (void)points;
    p->x = x;
    p->n = n;
    p->pair = pair;
    for (size_t k = 0; gbar && k < n * d; k++) {
        double unit[CLSI_FIELD_MAX_INPUTS] = {0}, sum = 0;
        unit[k % d] = 1;
        memset(row, 0, P * sizeof *row);
        p->row(p->f, end_of(p, k / d, 0), end_of(p, k / d, 1), unit, row);
        for (size_t j = 0; j < P; j++) sum += row[j] * p->theta[j];
        gbar[k] = sum;
    }
}

void clsi_linear_pairs_add(double *pass, const double *b) {
    const linear_pass *p = (linear_pass *)pass;
    for (size_t i = 0; i < p->n; i++)
        p->row(p->f, end_of(p, i, 0), end_of(p, i, 1), b + i * p->f->d, pass + PASS);
}

void clsi_linear_pairs_rows(double *pass, const double *b, double *const *rows) {
    const linear_pass *p = (linear_pass *)pass;
    for (size_t i = 0; i < p->n; i++)
        if (rows[i]) p->row(p->f, end_of(p, i, 0), end_of(p, i, 1), b + i * p->f->d, rows[i]);
}

void clsi_linear_pairs_close(const double *pass, double *out) {
    size_t n = ((const linear_pass *)pass)->f->n_parameters;
    for (size_t k = 0; k < n; k++) out[k] += pass[PASS + k];
}
