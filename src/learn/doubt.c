/* Standard errors of parameters found by multiple shooting.
 *
 * Two of them, the larger counts. First the inverse of the information S with the starts
 * eliminated; the sigmas in it are those of the residuals, inflated by their autocorrelation. Then
 * the scatter between blocks of the recording,
 *
 *     S^-1 (sum_b g_b g_b^T) S^-1 n/(n - 1),    g_b: the score of block b,
 *
 * which needs no model of the noise but blocks that are longer than its memory (it is what a block
 * bootstrap converges to). Directions in which S is singular have infinite errors. */
#include "learn/multiple.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 24 };
static const double RCOND = 1e-10;

/* Blocks are equal numbers of rows; they do not cross windows' ends by more than that. */
static size_t block_of(void *owner, size_t w, size_t row) {
    const clsi_multiple *m = owner;
    size_t at = m->piece[w].first + row / m->ny;
    return at * BLOCKS / m->data->n;
}

static void combine(size_t P, const double *C, const double *Q, double *covariance, double *CQ) {
    double factor = (double)BLOCKS / (BLOCKS - 1);
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++) {
            double sum = 0;
            for (size_t k = 0; k < P; k++) sum += C[i * P + k] * Q[k * P + j];
            CQ[i * P + j] = sum;
        }
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++) {
            double sum = 0;
            for (size_t k = 0; k < P; k++) sum += CQ[i * P + k] * C[k * P + j];
            covariance[i * P + j] = factor * sum;
        }
}

cls_status clsi_doubt(clsi_multiple *m, const double *theta, double *error_of, double *covariance,
                      int *unseen, cls_error *error) {
    size_t P = m->n_theta;
    double *S = clsi_calloc(5 * P * P + 1, sizeof *S), *Q = S + P * P, *C = Q + P * P;
    double *scatter = C + P * P, *CQ = scatter + P * P;
    unsigned char *hidden = clsi_calloc(P + 1, 1);
    cls_status status = S && hidden ? CLS_OK : clsi_no_memory(error);
    clsi_arrow a;
    clsi_multiple_problem(m, 2, &a);
    clsi_arrow_scores scores = {.n_blocks = BLOCKS, .block = block_of, .S = S, .Q = Q};
    if (status == CLS_OK) status = clsi_arrow_information(&a, theta, m->x, &scores, error);
    if (status == CLS_OK && (*unseen = clsi_seen_inverse(P, S, RCOND, C, hidden)) < 0)
        status = clsi_no_memory(error);
    if (status == CLS_OK) {
        combine(P, C, Q, scatter, CQ);
        for (size_t i = 0; i < P; i++)
            error_of[i] = hidden[i] ? INFINITY : sqrt(fmax(C[i * P + i], scatter[i * P + i]));
        for (size_t i = 0; i < P && covariance; i++)
            for (size_t j = 0; j < P; j++) {
                double own = sqrt(C[i * P + i] * C[j * P + j]);
                double grow = own > 0 ? sqrt(fmax(1, scatter[i * P + i] / C[i * P + i]) *
                                             fmax(1, scatter[j * P + j] / C[j * P + j]))
                                      : 1;
                covariance[i * P + j] = C[i * P + j] * grow;
            }
    }
    free(S);
    free(hidden);
    return status;
}
