/* Thermal noise: Ornstein-Uhlenbeck steps O around the step D of discrete-gradient (scheme/langevin.c).
 *
 * O, for one reservoir: with E_pp = C C^T (Cholesky) and v = C y the equation of p is
 *     dy = -K y dt + sqrt(2 kB T K) dW,     K = C^T Gamma C = U diag(lambda) U^T,
 * whose modes a = U^T y are independent and have the solution
 *     a(t) = exp(-lambda t) a + sqrt(kB T (1 - exp(-2 lambda t))) xi,     xi normal.
 * The energy in them is |a|^2/2, and its change is heat from the reservoir. Several reservoirs act one
 * after the other, in the second half of a step in the other order.
 *
 * Noise is a function of (seed, member, step, mode): bits do not depend on threads, and a motion that
 * goes on from a row has the noise of the one that was not interrupted. Costs n^3 operations (Jacobi)
 * where Gamma or the masses change, else n^2. Nothing is allocated in a step. */
#include "base/base.h"
#include "expr/program.h"
#include "simulate/host.h"
#include "system/dense.h"
#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Volumes are measured by determinants of this many rows and no more: beyond, the correction would turn
 * most steps round. */
enum { MOST_STATES = 32 };

typedef struct clsi_bath {
    clsi_noise *noise;
    cls_program *program; /* z, received, t, inputs -> the nodes of `noise` */
    cls_program *volume;  /* base, changes -> the step's Jacobian (nz, nz); NULL: not wanted */
    int constant;         /* Gamma and masses do not change */
} clsi_bath;

typedef struct clsi_noise_room {
    double *block;
    double *values, *work;        /* of the program */
    double *volume, *volume_work; /* of the other one */
    double *volume_in;
    double *C, *K, *U;   /* (n, n) each; K and U of each reservoir */
    double *lambda;      /* (n_baths, n) */
    double *y, *dp;      /* (n) */
    double *saved;       /* (n_kept) */
    double *saved_watch; /* monitor_out */
    size_t *pivot;
    int known;      /* constant matrices are there */
    uint64_t first; /* number of the first step, from the time of the start */
} clsi_noise_room;

/* ---- compiling ---- */

/* The step's equations with nothing eliminated, as a Jacobian in all changes of the state. */
static cls_status compile_volume(const clsi_stepper *sp, clsi_bath *b, cls_error *error) {
    const cls_system *s = sp->s;
    size_t nz = sp->nz, n_in = nz + 4 + nz;
    clsi_step *st = NULL;
    cls_node *J = clsi_calloc(nz * nz, sizeof *J), *in = clsi_calloc(n_in, sizeof *in);
    cls_status status = J && in ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_step_build(s, sp->scheme, 0, sp->options.h, &st, error);
    if (status == CLS_OK && st->n_unknowns == nz) {
        memcpy(in, st->z0, nz * sizeof *in);
        in[nz] = st->received;
        in[nz + 1] = st->t;
        in[nz + 2] = st->h;
        in[nz + 3] = st->defect;
        memcpy(in + nz + 4, st->unknown, nz * sizeof *in);
        if (cls_jacobian(s->g, nz, st->residual, nz, st->unknown, J) != CLS_OK)
            status = cls_graph_status(s->g, error);
        if (status == CLS_OK)
            status = cls_program_create(s->g, n_in, in, nz * nz, J, &b->volume, error);
    }
    clsi_step_free(&st);
    free(J);
    free(in);
    return status;
}

cls_status clsi_bath_create(clsi_stepper *sp, cls_error *error) {
    const cls_system *s = sp->s;
    clsi_bath *b = sp->bath = clsi_calloc(1, sizeof *b);
    size_t n_in = sp->nz + 2 + sp->nu;
    cls_node *in = clsi_calloc(n_in, sizeof *in);
    cls_status status = b && in ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_noise_create(s, &b->noise, error);
    if (status == CLS_OK) {
        const clsi_noise *x = b->noise;
        size_t n = x->n, n2 = n * n;
        memcpy(in, s->form->z, sp->nz * sizeof *in);
        in[sp->nz] = cls_symbol(s->g, "received'");
        in[sp->nz + 1] = s->t;
        for (size_t k = 0; k < sp->nu; k++) in[sp->nz + 2 + k] = s->u[k];
        b->constant = 1;
        for (size_t i = 0; i < x->n_nodes; i++)
            if (i < n2 || i >= n2 + n)
                b->constant &= cls_node_op(s->g, x->inverse_mass[i]) == CLS_OP_CONSTANT;
        status =
            cls_program_create(s->g, n_in, in, x->n_nodes, x->inverse_mass, &b->program, error);
    }
    if (status == CLS_OK && b->noise->reversible && sp->nz <= MOST_STATES)
        status = compile_volume(sp, b, error);
    free(in);
    return status;
}

void clsi_bath_free(clsi_bath **bath) {
    clsi_bath *b = *bath;
    if (!b) return;
    clsi_noise_free(&b->noise);
    cls_program_free(&b->program);
    cls_program_free(&b->volume);
    free(b);
    *bath = NULL;
}

/* ---- memory of a motion ---- */

static double *carve(double **at, size_t n) {
    double *here = *at;
    *at += n;
    return here;
}

static size_t work_of(const cls_program *p) {
    return p ? cls_program_work_size(p) : 0;
}

cls_status clsi_noise_room_create(const clsi_stepper *sp, clsi_noise_room **out, cls_error *error) {
    const clsi_bath *b = sp->bath;
    const clsi_noise *x = b->noise;
    size_t n = x->n, n2 = n * n, nz = sp->nz, kept = 2 * (nz + clsi_account_count(sp->s));
    size_t watch = CLSI_MONITOR_INVARIANTS + sp->s->n_invariants;
    size_t n_volume = b->volume ? nz * nz + 2 * nz + 4 : 0;
    size_t total = x->n_nodes + work_of(b->program) + n_volume + work_of(b->volume) +
                   n2 * (1 + 2 * x->n_baths) + n * (x->n_baths + 2) + kept + watch;
    clsi_noise_room *r = *out = clsi_calloc(1, sizeof *r);
    if (!r) return clsi_no_memory(error);
    r->block = clsi_calloc(total, sizeof *r->block);
    r->pivot = clsi_calloc(nz, sizeof *r->pivot);
    if (!r->block || !r->pivot) {
        clsi_noise_room_free(out);
        return clsi_no_memory(error);
    }
    double *at = r->block;
    r->values = carve(&at, x->n_nodes);
    r->work = carve(&at, work_of(b->program));
    r->C = carve(&at, n2);
    r->K = carve(&at, n2 * x->n_baths);
    r->U = carve(&at, n2 * x->n_baths);
    r->lambda = carve(&at, n * x->n_baths);
    r->y = carve(&at, n);
    r->dp = carve(&at, n);
    r->saved = carve(&at, kept);
    r->saved_watch = carve(&at, watch);
    r->volume = carve(&at, b->volume ? nz * nz : 0);
    r->volume_in = carve(&at, b->volume ? 2 * nz + 4 : 0);
    r->volume_work = carve(&at, work_of(b->volume));
    cls_program_prepare(b->program, r->work);
    if (b->volume) cls_program_prepare(b->volume, r->volume_work);
    return CLS_OK;
}

void clsi_noise_room_free(clsi_noise_room **room) {
    clsi_noise_room *r = *room;
    if (!r) return;
    free(r->block);
    free(r->pivot);
    free(r);
    *room = NULL;
}

/* ---- small matrices ---- */

/* A = C C^T, C lower triangular; 0 when A is not positive. */
static int cholesky(size_t n, const double *A, double *C) {
    memset(C, 0, n * n * sizeof *C);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = A[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= C[i * n + k] * C[j * n + k];
            if (i == j && !(sum > 0 && isfinite(sum))) return 0;
            C[i * n + j] = i == j ? sqrt(sum) : sum / C[j * n + j];
        }
    return 1;
}

/* K = C^T G C. */
static void congruent(size_t n, const double *C, const double *G, double *K) {
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            double sum = 0;
            for (size_t i = a; i < n; i++)
                for (size_t j = b; j < n; j++) sum += C[i * n + a] * G[i * n + j] * C[j * n + b];
            K[a * n + b] = sum;
        }
}

static void rotate(size_t n, double *K, double *U, size_t p, size_t q) {
    double theta = (K[q * n + q] - K[p * n + p]) / (2 * K[p * n + q]);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (size_t k = 0; k < n; k++) {
        double a = K[k * n + p], b = K[k * n + q];
        K[k * n + p] = c * a - s * b;
        K[k * n + q] = s * a + c * b;
    }
    for (size_t k = 0; k < n; k++) {
        double a = K[p * n + k], b = K[q * n + k];
        K[p * n + k] = c * a - s * b;
        K[q * n + k] = s * a + c * b;
        a = U[k * n + p], b = U[k * n + q];
        U[k * n + p] = c * a - s * b;
        U[k * n + q] = s * a + c * b;
    }
}

/* Jacobi: K = U diag(lambda) U^T; K is used up. */
static void eigen(size_t n, double *K, double *U, double *lambda) {
    for (size_t i = 0; i < n * n; i++) U[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < 60; sweep++) {
        int done = 1;
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                double off = K[p * n + q], size = sqrt(fabs(K[p * n + p] * K[q * n + q]));
                if (!(fabs(off) > 0.5 * DBL_EPSILON * size) || !(fabs(off) > DBL_MIN)) continue;
                rotate(n, K, U, p, q);
                done = 0;
            }
        if (done) break;
    }
    for (size_t i = 0; i < n; i++) lambda[i] = K[i * n + i];
}

/* ---- O ---- */

/* Modes of all reservoirs; 0 where a mass is not positive or a friction drives. */
static int find_modes(const clsi_noise *x, clsi_noise_room *r) {
    size_t n = x->n, n2 = n * n;
    if (!cholesky(n, r->values, r->C)) return 0;
    for (size_t k = 0; k < x->n_baths; k++) {
        const double *gamma = r->values + n2 + n + k * (n2 + 1);
        double *K = r->K + k * n2, *lambda = r->lambda + k * n, largest = 0;
        congruent(n, r->C, gamma, K);
        eigen(n, K, r->U + k * n2, lambda);
        for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(lambda[i]));
        for (size_t i = 0; i < n; i++) {
            if (!(lambda[i] >= -1e-12 * largest)) return 0;
            lambda[i] = fmax(lambda[i], 0);
        }
        if (!(gamma[n2] >= 0)) return 0; /* the temperature */
    }
    return 1;
}

/* Masses, velocities and modes here. */
static int look(cls_simulator *sim, double ahead) {
    const clsi_bath *b = sim->stepper->bath;
    clsi_noise_room *r = sim->noise;
    size_t n = b->noise->n, n2 = n * n;
    sim->ahead = ahead;
    clsi_run_here(sim, b->program, r->work, r->values);
    sim->ahead = 0;
    if (!b->constant || !r->known) r->known = find_modes(b->noise, r);
    if (!r->known) return 0;
    for (size_t i = 0; i < n; i++) { /* v = C y */
        double sum = r->values[n2 + i];
        for (size_t j = 0; j < i; j++) sum -= r->C[i * n + j] * r->y[j];
        r->y[i] = sum / r->C[i * n + i];
    }
    return 1;
}

/* Adds to a sum that keeps what rounding takes (step_add in step.inc). */
static void add(cls_simulator *sim, size_t i, double change) {
    double *sum = &sim->state[i], *owed = &sim->state[sim->n_state + i];
    double d = change + *owed, next = *sum + d, taken = next - *sum;
    *owed = (*sum - (next - taken)) + (d - taken);
    *sum = next;
}

/* What reservoir k does to y in the time tau, into dp; its energy. */
static double fluctuate(const cls_simulator *sim, size_t k, double tau, uint32_t first) {
    const clsi_stepper *sp = sim->stepper;
    const clsi_noise *x = sp->bath->noise;
    clsi_noise_room *r = sim->noise;
    size_t n = x->n, n2 = n * n;
    const double *U = r->U + k * n2, *lambda = r->lambda + k * n;
    double kT = x->boltzmann[k] * r->values[n2 + n + k * (n2 + 1) + n2], gained = 0;
    uint64_t step = r->first + sim->steps;
    memset(r->dp, 0, n * sizeof *r->dp);
    for (size_t i = 0; i < n; i++) {
        double a = 0;
        for (size_t j = 0; j < n; j++) a += U[j * n + i] * r->y[j];
        double change = expm1(-lambda[i] * tau) * a, spread = -kT * expm1(-2 * lambda[i] * tau);
        if (spread > 0)
            change += sqrt(spread) * clsi_random_normal_at(sp->options.seed, sim->member, step,
                                                           first + (uint32_t)i);
        gained += change * (a + 0.5 * change);
        for (size_t j = 0; j < n; j++) r->dp[j] += U[j * n + i] * change;
    }
    return gained;
}

/* Reservoir k for the time tau; what comes in is heat. `first` numbers its random numbers. */
static void exchange(cls_simulator *sim, size_t k, double tau, double ahead, uint32_t first) {
    const clsi_stepper *sp = sim->stepper;
    const clsi_noise *x = sp->bath->noise;
    clsi_noise_room *r = sim->noise;
    size_t n = x->n, n2 = n * n, heat = sp->nz + sim->n_accounts - 2;
    double T = r->values[n2 + n + k * (n2 + 1) + n2], gained = fluctuate(sim, k, tau, first);
    for (size_t i = 0; i < n; i++) r->y[i] += r->dp[i];
    for (size_t i = n; i-- > 0;) { /* C^T dp = dy */
        for (size_t j = i + 1; j < n; j++) r->dp[i] -= r->C[j * n + i] * r->dp[j];
        r->dp[i] /= r->C[i * n + i];
    }
    double before = sim->monitor_out[CLSI_MONITOR_ENERGY];
    for (size_t i = 0; i < n; i++) add(sim, sp->s->nq + x->momentum[i], r->dp[i]);
    clsi_simulator_measure(sim, ahead);
    /* to the last bit what the energy has gained, which `gained` is to round-off */
    add(sim, heat, sim->monitor_out[CLSI_MONITOR_ENERGY] - before);
    if (T > 0) add(sim, heat + 1, -gained / T);
    clsi_simulator_measure(sim, ahead);
}

static clsi_trouble half(cls_simulator *sim, int second) {
    size_t n = sim->stepper->bath->noise->n, count = sim->stepper->bath->noise->n_baths;
    double tau = sim->h / 2, ahead = second ? sim->h : 0;
    if (!look(sim, ahead)) return CLSI_DRIVEN;
    for (size_t i = 0; i < count; i++) {
        size_t k = second ? count - 1 - i : i;
        exchange(sim, k, tau, ahead, (uint32_t)(((second ? count : 0) + i) * n));
    }
    return CLSI_FINE;
}

/* ---- volumes ---- */

/* log |det J| of the step between the states `from` and `to`, from time t in h. */
static double log_volume(const cls_simulator *sim, const double *from, const double *to, double t,
                         double h) {
    const clsi_stepper *sp = sim->stepper;
    clsi_noise_room *r = sim->noise;
    size_t nz = sp->nz;
    double sum = 0, *in = r->volume_in;
    memcpy(in, from, nz * sizeof *from);
    in[nz] = in[nz + 3] = 0;
    in[nz + 1] = t;
    in[nz + 2] = h;
    for (size_t i = 0; i < nz; i++) in[nz + 4 + i] = (to[i] - from[i]) / h;
    cls_program_run(sp->bath->volume, r->volume_work, in, r->volume);
    if (clsi_lu_factor(nz, r->volume, r->pivot)) return NAN;
    for (size_t i = 0; i < nz; i++) sum += log(fabs(r->volume[i * (nz + 1)]));
    return sum;
}

/* D changes volumes by |det D'| = |det J backwards|/|det J|, because its equations are the same
 * backwards. Where that is less than one, so much less often the step is made; else it is turned
 * round. */
static void keep_volume(cls_simulator *sim, const double *before) {
    const cls_system *s = sim->stepper->s;
    double t = cls_simulator_time(sim), h = sim->h;
    double grows =
        log_volume(sim, sim->state, before, t + h, -h) - log_volume(sim, before, sim->state, t, h);
    if (grows >= -8 * DBL_EPSILON * (double)sim->stepper->nz) return;
    double chance = clsi_random_uniform_at(sim->stepper->options.seed, sim->member,
                                           sim->noise->first + sim->steps, UINT32_MAX);
    if (chance < exp(grows)) return;
    memcpy(sim->state, before, sim->n_kept * sizeof *before);
    for (size_t j = s->nq; j < s->nq + s->n; j++) {
        sim->state[j] = -sim->state[j];
        sim->state[sim->n_state + j] = -sim->state[sim->n_state + j];
    }
    sim->info.reversals++;
    clsi_simulator_measure(sim, h);
}

/* ---- the step ---- */

void clsi_langevin_start(cls_simulator *sim) {
    double n = round(sim->t0 / sim->h);
    sim->noise->first = n > 0 && n < 0x1p53 ? (uint64_t)n : 0;
    sim->noise->known = 0;
}

/* On failure the state is that before the step. */
clsi_trouble clsi_langevin_step(cls_simulator *sim) {
    clsi_noise_room *r = sim->noise;
    size_t kept = sim->n_kept * sizeof *sim->state;
    size_t watch = (CLSI_MONITOR_INVARIANTS + sim->info.n_invariants) * sizeof *sim->monitor_out;
    double entropy = sim->monitor_out[CLSI_MONITOR_ENTROPY];
    uint64_t split = sim->info.retried_steps;
    /* where step_carried leaves the state before its step */
    const double *start =
        sim->saved + (size_t)(sim->stepper->options.max_halvings + 2) * sim->n_kept;
    memcpy(r->saved, sim->state, kept);
    memcpy(r->saved_watch, sim->monitor_out, watch);
    sim->history_length[0] = 0; /* of steps before the noise: no prediction */
    clsi_trouble trouble = half(sim, 0);
    /* no prediction is as near as Newton expects to stop one update early */
    sim->newton.careful = 1;
    double highest = sim->highest;
    sim->highest = sim->monitor_out[CLSI_MONITOR_ENTROPY]; /* noise takes what it likes */
    if (trouble == CLSI_FINE) trouble = clsi_simulator_whole(sim);
    sim->highest = highest;
    sim->newton.careful = 0;
    if (trouble == CLSI_FINE && sim->stepper->bath->volume && split == sim->info.retried_steps)
        keep_volume(sim, start);
    if (trouble == CLSI_FINE) trouble = half(sim, 1);
    if (trouble != CLSI_FINE) {
        memcpy(sim->state, r->saved, kept);
        memcpy(sim->monitor_out, r->saved_watch, watch);
    }
    sim->step_entropy = sim->monitor_out[CLSI_MONITOR_ENTROPY] - entropy;
    return trouble;
}
