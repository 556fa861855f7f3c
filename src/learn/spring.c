/* SPRING: Gauss-Newton in the space of a batch of residuals, with momentum (Goldshlager, Abrahamsen
 * and Lin, arXiv 2401.10190; for residual losses arXiv 2505.12149). */
#include "learn/optimize.h"
#include "base/base.h"
#include "learn/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

static double env(const char *s, double d){const char*e=getenv(s);return e?atof(e):d;}

typedef struct spring {
    size_t n, batch;
    clsi_space *space;
    double *J, *r, *K, *y; /* (batch, n), (batch), (batch, batch), (batch) */
    double *phi, *at, *next;      /* (n) */
    double damping, rate, momentum;
} spring;

static cls_status prepare(spring *s, const clsi_problem *p, size_t batch, cls_error *error) {
    s->n = p->n_parameters;
    s->batch = batch < p->n_rows ? batch : p->n_rows;
    cls_status status = clsi_space_create(0, &s->space, error);
    if (status != CLS_OK) return status;
    s->J = clsi_calloc(s->batch * s->n + 1, 8);
    s->K = clsi_calloc(s->batch * s->batch + 1, 8);
    s->r = clsi_calloc(s->batch + 1, 8);
    s->y = clsi_calloc(s->batch + 1, 8);
    s->phi = clsi_calloc(s->n + 1, 8);
    s->at = clsi_calloc(s->n + 1, 8);
    s->next = clsi_calloc(s->n + 1, 8);
    return CLS_OK;
}

static cls_status iterate(spring *s, clsi_run *run, cls_error *error) {
    clsi_problem *p = run->problem;
    clsi_sampler sampler;
    clsi_sampler_begin(&sampler, p->n_rows, run->options->seed, error);
    size_t b = s->batch, n = s->n;
    double lam = env("LAM", 1e-3), mu = env("MU", .9), eta = env("ETA", 1), up = env("UP", 4), down = env("DOWN", .9);
    int adapt = (int)env("ADAPT", 1);
    size_t every = p->n_rows / b; if (every > 50) every = 50; if (!every) every = 1;
    for (uint64_t k = 0; k < run->options->max_iterations; k++) {
        const size_t *rows = clsi_sampler_next(&sampler, b);
        p->jacobian(p, run->theta, b, rows, s->r, s->J);
        memset(s->K, 0, b * b * 8);
        clsi_multiply(s->space, CLSI_LOWER, b, b, n, 1, (clsi_view){s->J, n, 1}, (clsi_view){s->J, 1, n}, s->K, b);
        double tr = 0, loss = 0;
        for (size_t i = 0; i < b; i++) tr += s->K[i * b + i] / (double)b, loss += s->r[i] * s->r[i];
        for (size_t i = 0; i < b; i++) s->K[i * b + i] += lam * tr;
        if (!clsi_cholesky(s->space, b, s->K)) { lam *= up; if(!(lam<1e6)) return CLS_OK; continue; }
        clsi_times(b, n, s->J, s->phi, s->y);
        for (size_t i = 0; i < b; i++) s->y[i] = -s->r[i] - mu * s->y[i];
        clsi_cholesky_solve(b, s->K, s->y);
        for (size_t j = 0; j < n; j++) s->next[j] = mu * s->phi[j];
        clsi_transposed_times(b, n, s->J, s->y, s->next);
        for (size_t j = 0; j < n; j++) s->at[j] = run->theta[j] + eta * s->next[j];
        double trial = 0;
        p->residual(p, s->at, b, rows, s->r);
        for (size_t i = 0; i < b; i++) trial += s->r[i] * s->r[i];
        if (adapt && !(trial < loss)) {
            lam *= up;
            memset(s->phi, 0, n * 8);
        } else {
            double yy=clsi_dot(b,s->y,s->y)*lam*lam*tr*tr, gain=(loss-trial)/(loss-yy);
            if (adapt) lam *= gain>.75 ? down : gain<.25 ? 1/down/down : 1;
            if (lam < env("LMIN",1e-14)) lam = env("LMIN",1e-14);
            memcpy(run->theta, s->at, n * 8);
            memcpy(s->phi, s->next, n * 8);
        }
        run->info->iterations = k + 1;
        if ((k + 1) % every == 0) {
            double full = clsi_full_loss(p, run->theta);
            if (getenv("VERB") && (k+1)/every%10==0) printf("  %lu batch %g -> %g full %g lam %g\n", k + 1, loss/2/b, trial/2/b, full, lam);
            if (clsi_run_report(run, full, 0)) return CLS_OK;
        }
    }
    clsi_sampler_end(&sampler);
    return CLS_OK;
}

static cls_status minimize(clsi_problem *p, const clsi_optimize_options *o, double *theta,
                           clsi_optimize_info *info, cls_error *error) {
    clsi_run run;
    spring s = {0};
    cls_status status = clsi_run_begin(&run, p, o, theta, info, error);
    if (status == CLS_OK) status = prepare(&s, p, o->batch ? o->batch : 250, error);
    if (status == CLS_OK) status = iterate(&s, &run, error);
    return clsi_run_end(&run, status);
}

const clsi_optimizer clsi_spring = {"spring", "", 1, minimize};
