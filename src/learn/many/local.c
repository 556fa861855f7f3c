/* Parameters of large systems, of which all states are measured: by what the equations of motion leave at the nodes
 * between rows (nodes.c), without simulations.
 *
 *     r_e = (defect_e(node 1) + defect_e(node 2))/2,   defect = dy/dz z' - y'(z, u, t; theta),
 *
 * of every interval and of every equation e that contains a parameter, over its usual size. States and slopes are those
 * of polynomials through rows. Levenberg-Marquardt with Huber's loss and bounds (solve/arrow.h), sizes from what is
 * left, twice; errors from the scatter between blocks of the data. Costs a pass over the rows for each iteration;
 * noise that is left in the states biases what it finds (decision 235). */
#include "learn/many/local.h"
#include "base/base.h"
#include "expr/graph.h"
#include "simulate/rates.h"
#include "solve/arrow.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 16, ITERATIONS = 60, ROUNDS = 3, BLOCKS = 24 };
static const double HUBER = 2, ENOUGH = 1e-10, RCOND = 1e-10, FLOOR = 1e-9;

typedef struct local {
    const clsi_points *p;
    size_t P, E, n_in;    /* parameters, equations that contain one, inputs of the programs */
    cls_program *defect;  /* z, u, t, z', theta -> E */
    cls_program *slopes;  /* the same -> E, then E P derivatives */
    double *size, *first; /* (E) of the rows; (E) where nothing is known of that yet */
} local;

/* ---- the equations ---- */

static cls_status compile(local *k, const cls_system *s, const cls_node *theta, cls_error *error) {
    size_t nz = s->form->nz, P = k->P;
    clsi_motion_defects m = {.theta = theta};
    cls_status status = clsi_defects_create(s, &m, error);
    k->n_in = 2 * nz + s->nu + 1 + P;
    cls_node *in = clsi_calloc(k->n_in + nz * (P + 1) + 1, sizeof *in), *out = in + k->n_in;
    clsi_rows rows = {0};
    if (status == CLS_OK && !in) status = clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_sparse_jacobian(s->g, nz, m.defect, P, theta, &rows);
    if (status == CLS_OK) {
        memcpy(in, m.z, nz * sizeof *in);
        if (s->nu) memcpy(in + nz, s->u, s->nu * sizeof *in);
        in[nz + s->nu] = m.t;
        memcpy(in + nz + s->nu + 1, m.dot, nz * sizeof *in);
        memcpy(in + 2 * nz + s->nu + 1, theta, P * sizeof *in);
        for (size_t e = 0; e < nz; e++)
            if (rows.start[e + 1] > rows.start[e]) out[k->E++] = m.defect[e];
        for (size_t i = 0; i < k->E * P; i++) out[k->E + i] = cls_constant(s->g, 0);
        for (size_t e = 0, at = 0; e < nz; e++) {
            if (rows.start[e + 1] == rows.start[e]) continue;
            for (size_t i = rows.start[e]; i < rows.start[e + 1]; i++)
                out[k->E + at * P + rows.column[i]] = rows.node[i];
            at++;
        }
        status = cls_program_create(s->g, k->n_in, in, k->E, out, &k->defect, error);
    }
    if (status == CLS_OK)
        status = cls_program_create(s->g, k->n_in, in, k->E * (P + 1), out, &k->slopes, error);
    clsi_rows_clear(&rows);
    clsi_defects_clear(&m);
    free(in);
    return status;
}

/* ---- rows ---- */

static size_t intervals_of(const local *k, size_t w) {
    size_t first = w * CHUNK, left = k->p->n_training - first;
    return left < CHUNK ? left : CHUNK;
}

static size_t rows_of(void *context, size_t w) {
    const local *k = context;
    return intervals_of(k, w) * k->E;
}

static int window(void *context, size_t w, const double *theta, const double *x, double *r,
                  double *J) {
    const local *k = context;
    const clsi_points *p = k->p;
    size_t n = 2 * intervals_of(k, w), E = k->E, P = k->P, known = clsi_point_rows(p);
    size_t outputs = J ? E * (P + 1) : E;
    double *in = clsi_calloc((k->n_in + outputs) * n + 1, sizeof *in), *out = in + k->n_in * n;
    (void)x;
    if (!in) return 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = p->n_data + 2 * p->window[w * CHUNK + i / 2] + i % 2;
        for (size_t a = 0; a < known; a++) in[a * n + i] = p->z[a * p->n + at];
        in[known * n + i] = p->time[at];
        for (size_t a = 0; a < p->nz; a++) in[(known + 1 + a) * n + i] = p->rate[a * p->n + at];
        for (size_t a = 0; a < P; a++) in[(known + 1 + p->nz + a) * n + i] = theta[a];
    }
    int fine = cls_program_run_many(J ? k->slopes : k->defect, n, n, in, out) == CLS_OK;
    for (size_t i = 0; i < n / 2 && fine; i++)
        for (size_t e = 0; e < E; e++) {
            const double *own = out + e * n + 2 * i;
            r[i * E + e] = 0.5 * (own[0] + own[1]) / k->size[e];
            fine &= isfinite(r[i * E + e]);
            for (size_t a = 0; a < P && J; a++) {
                own = out + (E + e * P + a) * n + 2 * i;
                J[(i * E + e) * P + a] = 0.5 * (own[0] + own[1]) / k->size[e];
            }
        }
    free(in);
    return fine;
}

static size_t chunks(const local *k) {
    return (k->p->n_training + CHUNK - 1) / CHUNK;
}

/* The usual size of what is left in each equation, not far below that at the beginning. */
static cls_status set_sizes(local *k, const double *theta, int first, cls_error *error) {
    size_t n = k->p->n_training, E = k->E;
    double *all = clsi_calloc(n * E + n + 1, sizeof *all), *list = all + n * E;
    int fine = all != NULL;
    for (size_t e = 0; e < E; e++) k->size[e] = 1;
    for (size_t w = 0; w < chunks(k) && fine; w++)
        fine = window(k, w, theta, NULL, all + w * CHUNK * E, NULL);
    double usual = 0;
    for (size_t e = 0; e < E && fine; e++) {
        for (size_t i = 0; i < n; i++) list[i] = fabs(all[i * E + e]);
        k->size[e] = 1.4826 * clsi_median(n, list);
        if (first) k->first[e] = k->size[e];
        usual = fmax(usual, k->first[e]);
    }
    for (size_t e = 0; e < E && fine; e++)
        k->size[e] = fmax(k->size[e], FLOOR * fmax(k->first[e], 1e-3 * usual) + 1e-300);
    free(all);
    if (fine) return CLS_OK;
    return all ? clsi_fail(error, CLS_NUMERIC,
                           "the equations have no finite value at the data with these parameters")
               : clsi_no_memory(error);
}

/* ---- everything in order ---- */

static size_t block_of(void *context, size_t w, size_t row) {
    const local *k = context;
    return (w * CHUNK + row / k->E) * BLOCKS / k->p->n_training;
}

static cls_status doubt(const clsi_arrow *a, const double *theta, double *errors, double *C,
                        int *nullity, cls_error *error) {
    size_t P = a->n_theta;
    double *S = clsi_calloc(4 * P * P + 1, sizeof *S), *Q = S + P * P, *V = Q + P * P;
    double *VQ = V + P * P;
    unsigned char *open = clsi_calloc(P + 1, 1);
    double none = 0;
    clsi_arrow_scores scores = {.n_blocks = BLOCKS, .block = block_of, .S = S, .Q = Q};
    cls_status status =
        S && open ? clsi_arrow_information(a, theta, &none, &scores, error) : clsi_no_memory(error);
    if (status == CLS_OK && (*nullity = clsi_seen_inverse(P, S, RCOND, V, open)) < 0)
        status = clsi_no_memory(error);
    for (size_t i = 0; i < P * P && status == CLS_OK; i++)
        for (size_t j = 0; j < P; j++) VQ[i] += V[i / P * P + j] * Q[j * P + i % P];
    for (size_t i = 0; i < P * P && status == CLS_OK; i++) {
        C[i] = 0;
        for (size_t j = 0; j < P; j++)
            C[i] += VQ[i / P * P + j] * V[j * P + i % P] * BLOCKS / (BLOCKS - 1);
    }
    for (size_t i = 0; i < P && status == CLS_OK; i++)
        errors[i] = open[i] ? INFINITY : sqrt(fmax(C[i * P + i], 0));
    free(S);
    free(open);
    return status;
}

cls_status clsi_local_fit(const cls_system *open, const clsi_points *p, size_t P,
                          const cls_node *theta, const double *low, const double *high,
                          double *values, double *errors, double *covariance, clsi_local *out,
                          cls_error *error) {
    local k = {.p = p, .P = P};
    double none = 0;
    *out = (clsi_local){.rows = 0};
    cls_status status = compile(&k, open, theta, error);
    if (status == CLS_OK && !k.E)
        status = clsi_fail(error, CLS_USAGE, "no equation of motion contains what is unknown");
    k.size = clsi_calloc(2 * k.E + 1, sizeof *k.size);
    k.first = k.size ? k.size + k.E : NULL;
    if (status == CLS_OK && !k.size) status = clsi_no_memory(error);
    clsi_arrow a = {.context = &k,
                    .n_theta = P,
                    .n_windows = chunks(&k),
                    .rows = rows_of,
                    .window = window,
                    .low = low,
                    .high = high,
                    .huber = HUBER,
                    .stop = NULL};
    for (size_t round = 0; round < ROUNDS && status == CLS_OK; round++) {
        clsi_arrow_info info;
        status = set_sizes(&k, values, round == 0, error);
        if (status == CLS_OK)
            status = clsi_arrow_minimize(&a, ITERATIONS, ENOUGH, values, &none, &info, error);
        if (status != CLS_OK) break;
        out->iterations += info.iterations;
        out->ended = info.reason;
        out->rows = p->n_training * k.E;
        out->loss = sqrt(2 * info.final / (double)out->rows);
    }
    if (status == CLS_OK) status = doubt(&a, values, errors, covariance, &out->nullity, error);
    cls_program_free(&k.defect);
    cls_program_free(&k.slopes);
    free(k.size);
    return status;
}
