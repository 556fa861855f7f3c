/* Ensembles in lanes: sixteen members make a step together.
 *
 * Newton's method of newton.inc and the step of step.inc, written for rows of numbers, one for each
 * member: residual and Jacobian come from the row programs (expr/rows.c), small systems are
 * factored for all members at once with their own pivots, members that have converged wait under a
 * mask. Only the usual way is here: a prediction from earlier solutions, full updates that are
 * accepted, an energy and an entropy that no rule objects to. A member for which anything else
 * happens makes this step over again by its own simulator, from the state before it. So the bits
 * are those of single motions, whatever the others do; tests compare them for every system.
 *
 * The limits that decide about the usual way are narrower than those of step.inc: a member that is
 * near one goes the single way, where the rule itself is.
 *
 * z states (nz), u unknowns (k), r residuals, d updates. Memory for one pack: that of the programs
 * in sixteen lanes and sixteen simulators. Nothing is allocated after creation. */
#include "simulate/pack.h"
#include "base/base.h"
#include "base/vectors.h"
#include "expr/program.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { L = CLSI_LANES, MOST_UNKNOWNS = 8 };

/* Compilers unroll such short loops at once, and then find no vectors in them. */
#define EACH_LANE _Pragma("GCC unroll 1") for (int l = 0; l < L; l++)

/* Flags of lanes are numbers as wide as the others, so that loops over lanes are vectors. */
typedef long long flag;

struct clsi_pack {
    clsi_stepper *sp;
    size_t n, members; /* states; lanes that have a member */
    int k, owed, nz;
    cls_simulator *sim[L];
    cls_status status[L];
    cls_error *error; /* (L) */
    uint64_t steps;
    double *block, *work_residual, *work_next, *work_guard, *work_monitor;
    /* rows of L numbers */
    double *state, *next;          /* (2 n): the state, then what its sums owe */
    double *history[CLSI_HISTORY]; /* (k) solutions, newest first */
    double *d, *lu, *least, *scale, *trial;
    double *size, *before;
    double *defect, *step_entropy, *monitor, *energy_start, *energy_scale;
    flag *pivot;          /* (k) rows */
    flag length[L];       /* of the history */
    flag off[L], done[L]; /* off: the single way, or none; done: solved */
    flag quiet[L], now[L];
};

static double *row(double *rows, size_t i) {
    return rows + i * L;
}

/* ---- what can be done ---- */

static int is_plain(const cls_program *p) {
    return !p || !p->n_fields;
}

int clsi_pack_applies(const clsi_stepper *sp) {
    const clsi_scheme *scheme = sp->scheme;
    size_t k = sp->n_unknowns;
    if (!scheme->build || scheme->n_composition || scheme->estimate || !sp->residual) return 0;
    if (sp->options.first_step == CLS_FIRST_PAPER || sp->nu || sp->n_free || sp->s->n_units)
        return 0;
    if (clsi_account_count(sp->s) || k < 1 || k > MOST_UNKNOWNS) return 0;
    if (!scheme->carries && sp->n_owed) return 0;
    if (scheme->carries && !sp->monitor) return 0;
    if (sp->residual->n_outputs != k + sp->n_positive + k * k) return 0;
    if (clsi_program_rest_length(sp->residual) > 2000) return 0; /* whose Jacobian is kept */
    return is_plain(sp->residual) && is_plain(sp->next) && is_plain(sp->guard) &&
           is_plain(sp->monitor);
}

size_t clsi_pack_lanes(void) {
    return L;
}

/* ---- memory ---- */

static double *carve(double **at, size_t n) {
    double *here = *at;
    *at += (n + 7) / 8 * 8; /* rows stand on cache lines */
    return here;
}

static size_t lanes_of(const cls_program *p) {
    return p ? clsi_lanes_size(p) + 8 : 0;
}

static size_t block_size(const clsi_pack *p) {
    const clsi_stepper *sp = p->sp;
    size_t k = (size_t)p->k, rows = 4 * p->n + (CLSI_HISTORY + 4) * k + 2 * k * k + 16;
    return rows * L + lanes_of(sp->residual) + lanes_of(sp->next) + lanes_of(sp->guard) +
           lanes_of(sp->monitor) + 512;
}

static double *prepare(const cls_program *program, double **at) {
    if (!program) return NULL;
    double *work = carve(at, clsi_lanes_size(program));
    clsi_lanes_prepare(program, work);
    return work;
}

static void carve_all(clsi_pack *p) {
    const clsi_stepper *sp = p->sp;
    double *at = p->block;
    size_t k = (size_t)p->k;
    p->state = carve(&at, 2 * p->n * L);
    p->next = carve(&at, 2 * p->n * L);
    for (int i = 0; i < CLSI_HISTORY; i++) p->history[i] = carve(&at, k * L);
    p->d = carve(&at, k * L);
    p->least = carve(&at, k * L);
    p->scale = carve(&at, k * L);
    p->trial = carve(&at, k * L);
    p->lu = carve(&at, k * k * L);
    p->size = carve(&at, L);
    p->before = carve(&at, L);
    p->defect = carve(&at, L);
    p->step_entropy = carve(&at, L);
    p->monitor = carve(&at, CLSI_MONITOR_INVARIANTS * L);
    p->energy_start = carve(&at, L);
    p->energy_scale = carve(&at, L);
    p->work_residual = prepare(sp->residual, &at);
    p->work_next = prepare(sp->next, &at);
    p->work_guard = prepare(sp->guard, &at);
    p->work_monitor = prepare(sp->monitor, &at);
}

cls_status clsi_pack_create(clsi_stepper *sp, clsi_pack **out, cls_error *error) {
    *out = NULL;
    clsi_pack *p = clsi_calloc(1, sizeof *p);
    if (!p) return clsi_no_memory(error);
    p->sp = sp;
    clsi_stepper_make_native(sp, 1);
    p->n = sp->nz;
    p->nz = (int)sp->nz;
    p->k = (int)sp->n_unknowns;
    p->owed = (int)sp->n_owed;
    p->error = clsi_calloc(L, sizeof *p->error);
    p->pivot = clsi_calloc(sp->n_unknowns * L, sizeof *p->pivot);
    size_t size = block_size(p) * sizeof(double);
    p->block = clsi_aligned(size);
    cls_status status = p->error && p->pivot && p->block ? CLS_OK : clsi_no_memory(error);
    for (int i = 0; i < L && status == CLS_OK; i++)
        status = clsi_simulator_attach(sp, &p->sim[i], error);
    if (status != CLS_OK) {
        clsi_pack_free(&p);
        return status;
    }
    memset(p->block, 0, size);
    carve_all(p);
    *out = p;
    return CLS_OK;
}

void clsi_pack_free(clsi_pack **pack) {
    clsi_pack *p = *pack;
    if (!p) return;
    for (int i = 0; i < L; i++) cls_simulator_free(&p->sim[i]);
    free(p->error);
    free(p->pivot);
    free(p->block);
    free(p);
    *pack = NULL;
}

/* ---- between lanes and simulators ---- */

static void put(double *rows, size_t n, int lane, const double *from) {
    for (size_t i = 0; i < n; i++) rows[i * L + (size_t)lane] = from[i];
}

static void get(const double *rows, size_t n, int lane, double *to) {
    for (size_t i = 0; i < n; i++) to[i] = rows[i * L + (size_t)lane];
}

/* What the simulator of member `from` has becomes lane `lane`. */
static void enter(clsi_pack *p, int lane, const cls_simulator *from) {
    size_t k = (size_t)p->k;
    put(p->state, 2 * p->n, lane, from->state);
    for (size_t i = 0; i < CLSI_HISTORY; i++) put(p->history[i], k, lane, from->history + i * k);
    p->length[lane] = from->history_length[0];
    p->defect[lane] = from->defect;
    p->step_entropy[lane] = from->step_entropy;
    put(p->monitor, CLSI_MONITOR_INVARIANTS, lane, from->monitor_out);
    p->energy_start[lane] = from->monitor_start[CLSI_MONITOR_ENERGY];
    p->energy_scale[lane] = from->energy_scale;
}

static void leave(const clsi_pack *p, int lane, cls_simulator *to) {
    size_t k = (size_t)p->k;
    get(p->state, 2 * p->n, lane, to->state);
    for (size_t i = 0; i < CLSI_HISTORY; i++) get(p->history[i], k, lane, to->history + i * k);
    to->history_length[0] = (int)p->length[lane];
    to->defect = p->defect[lane];
    to->step_entropy = p->step_entropy[lane];
    get(p->monitor, CLSI_MONITOR_INVARIANTS, lane, to->monitor_out);
    to->steps = p->steps;
}

void clsi_pack_start(clsi_pack *p, size_t n, const double *starts) {
    p->members = n;
    p->steps = 0;
    int first = -1;
    for (int i = 0; i < L; i++) {
        p->status[i] = CLS_OK;
        if ((size_t)i >= n) continue;
        p->error[i] = (cls_error){0};
        p->status[i] = cls_simulator_start(p->sim[i], 0, starts + (size_t)i * p->n, &p->error[i]);
        if (p->status[i] == CLS_OK) enter(p, i, p->sim[i]);
        if (p->status[i] == CLS_OK && first < 0) first = i;
    }
    /* lanes without a member compute what a member does, for nobody */
    for (int i = 0; i < L && first >= 0; i++)
        if ((size_t)i >= n || p->status[i] != CLS_OK) enter(p, i, p->sim[first]);
}

static int is_under_way(const clsi_pack *p, int i) {
    return (size_t)i < p->members && p->status[i] == CLS_OK;
}

cls_status clsi_pack_row(clsi_pack *p, size_t i, double *to, cls_error *error) {
    leave(p, (int)i, p->sim[i]);
    return cls_simulator_row(p->sim[i], to, error);
}

cls_status clsi_pack_status(const clsi_pack *p, size_t i, cls_error *error) {
    if (p->status[i] != CLS_OK && error) *error = p->error[i];
    return p->status[i];
}

/* ---- linear equations ---- */

/* clsi_lu_factor for all lanes; off where there is no inverse. */
INLINE void factor(int k, double *restrict a, flag *restrict pivot, flag *restrict off) {
    for (int c = 0; c < k; c++) {
        double *diagonal = row(a, (size_t)(c * k + c));
        flag *best = pivot + c * L;
        double top[L];
        EACH_LANE best[l] = c, top[l] = diagonal[l];
        for (int i = c + 1; i < k; i++) {
            const double *other = row(a, (size_t)(i * k + c));
            EACH_LANE {
                int larger = fabs(other[l]) > fabs(top[l]);
                best[l] = larger ? i : best[l];
                top[l] = larger ? other[l] : top[l];
            }
        }
        EACH_LANE off[l] |= !(fabs(top[l]) > 0) | !(fabs(top[l]) <= DBL_MAX);
        for (int i = c + 1; i < k; i++)
            for (int j = 0; j < k; j++) {
                double *x = row(a, (size_t)(c * k + j)), *y = row(a, (size_t)(i * k + j));
                EACH_LANE {
                    double kept = x[l], other = y[l];
                    int swap = best[l] == i;
                    x[l] = swap ? other : kept;
                    y[l] = swap ? kept : other;
                }
            }
        for (int i = c + 1; i < k; i++) {
            double *f = row(a, (size_t)(i * k + c));
            EACH_LANE f[l] = f[l] / diagonal[l];
            for (int j = c + 1; j < k; j++) {
                double *to = row(a, (size_t)(i * k + j));
                const double *from = row(a, (size_t)(c * k + j));
                EACH_LANE {
                    double less = to[l] - f[l] * from[l];
                    to[l] = f[l] == 0 ? to[l] : less;
                }
            }
        }
    }
}

/* clsi_lu_solve for all lanes. */
INLINE void back(int k, const double *restrict lu, const flag *restrict pivot, double *restrict b) {
    for (int c = 0; c < k; c++)
        for (int i = c + 1; i < k; i++) {
            double *x = row(b, (size_t)c), *y = row(b, (size_t)i);
            const flag *best = pivot + c * L;
            EACH_LANE {
                double kept = x[l], other = y[l];
                int swap = best[l] == i;
                x[l] = swap ? other : kept;
                y[l] = swap ? kept : other;
            }
        }
    for (int i = 1; i < k; i++)
        for (int j = 0; j < i; j++) {
            const double *f = lu + (i * k + j) * L;
            EACH_LANE b[i * L + l] -= f[l] * b[j * L + l];
        }
    for (int i = k; i-- > 0;) {
        for (int j = i + 1; j < k; j++) {
            const double *f = lu + (i * k + j) * L;
            EACH_LANE b[i * L + l] -= f[l] * b[j * L + l];
        }
        EACH_LANE b[i * L + l] /= lu[(i * k + i) * L + l];
    }
}

/* ---- the prediction ---- */

/* step_predict for those with three solutions or more; the others are off. Unknowns go to u. */
CLONES
static void predict(int k, double *const *h, const flag *length, flag *off, double *u) {
    flag smooth[L];
    EACH_LANE smooth[l] = length[l] == CLSI_HISTORY, off[l] |= length[l] < 3;
    for (int i = 0; i < k; i++) EACH_LANE {
            int x = i * L + l;
            double a = h[0][x], b = h[1][x], c = h[2][x], d = h[3][x], e = h[4][x], f = h[5][x];
            double by_three = a - (3 * (b - c) + d);
            double by_five = a - (5 * (b - e) - 10 * (c - d) + f);
            smooth[l] &= fabs(by_five) <= 0.1 * fabs(by_three) + 1e-12 * fabs(a);
        }
    for (int i = 0; i < k; i++) EACH_LANE {
            int x = i * L + l;
            double a = h[0][x], b = h[1][x], c = h[2][x], d = h[3][x], e = h[4][x];
            double five = 5 * (a - d) - 10 * (b - c) + e, three = 3 * (a - b) + c;
            u[x] = smooth[l] ? five : three;
        }
}

/* ---- Newton's method ---- */

/* newton_least */
CLONES
static void find_least(const clsi_pack *p, const double *in, double h, double *least) {
    const clsi_stepper *sp = p->sp;
    double tolerance = sp->options.tolerance, ulp = 0.5 * DBL_EPSILON / (fabs(h) * tolerance),
           rest[L];
    int first = sp->s->form->kind == CLSI_FORM_THERMAL ? (int)(sp->s->nq + sp->s->n) : p->nz;
    EACH_LANE rest[l] = 0;
    for (int i = 0; i < p->nz; i++) EACH_LANE {
            double z = fabs(in[i * L + l]);
            rest[l] = rest[l] > z ? rest[l] : z;
        }
    for (int i = 0; i < p->k; i++) {
        int of = sp->of_state[i] < sp->nz ? (int)sp->of_state[i] : p->nz;
        EACH_LANE {
            double own = of < p->nz ? fabs(in[of * L + l]) : 0, other = 1e-3 * rest[l];
            double z = of >= p->nz ? 0 : of >= first ? 1 : own > other ? own : other;
            double x = ulp * z, low = DBL_MIN / tolerance;
            least[i * L + l] = x > low ? x : low;
        }
    }
}

/* newton_evaluate: off where the domain is left or something is not finite, unless done. */
CLONES
static void check_rows(const clsi_pack *p, flag *off) {
    const clsi_stepper *sp = p->sp;
    int k = p->k, all = k + (int)sp->n_positive;
    for (int i = 0; i < all; i++) {
        const double *r = clsi_lanes_output(sp->residual, p->work_residual, (size_t)i);
        double above = i < k ? -INFINITY : 0;
        EACH_LANE
        off[l] |= !p->done[l] & !((fabs(r[l]) <= DBL_MAX) & (r[l] > above));
    }
}

static void check_guard(const clsi_pack *p, flag *off) {
    const clsi_stepper *sp = p->sp;
    clsi_lanes_late(sp->guard, L, p->work_guard);
    for (size_t i = 0; i < sp->n_guarded; i++) {
        const double *x = clsi_lanes_output(sp->guard, p->work_guard, i);
        const clsi_variable *q = clsi_state_variable(sp->s, sp->guarded[i]);
        EACH_LANE off[l] |= !p->done[l] & !(x[l] > q->low && x[l] < q->high);
    }
}

static double *unknowns(const clsi_pack *p) {
    return clsi_lanes_input(p->sp->residual, p->work_residual, p->sp->n_base);
}

static void evaluate(clsi_pack *p) {
    const clsi_stepper *sp = p->sp;
    if (sp->guard) {
        memcpy(clsi_lanes_input(sp->guard, p->work_guard, sp->n_base), unknowns(p),
               (size_t)p->k * L * sizeof(double));
        check_guard(p, p->off);
    }
    clsi_lanes_first(sp->residual, L, p->work_residual);
    check_rows(p, p->off);
}

/* newton_size of rows d; what is not finite is off. */
INLINE void find_size(int k, const double *d, const double *scale, double *size) {
    EACH_LANE size[l] = 0;
    for (int i = 0; i < k; i++) EACH_LANE {
            double x = fabs(d[i * L + l]) / scale[i * L + l];
            size[l] = x <= size[l] ? size[l] : x <= DBL_MAX ? x : INFINITY;
        }
}

/* newton_is_last */
INLINE void find_last(const double *size, const double *before, double tolerance, flag *last) {
    EACH_LANE {
        double s = size[l], b = before[l], ratio = s / b;
        ratio = ratio < 1 ? ratio : 1;
        double next = b > DBL_MAX ? s * s : s * ratio * ratio;
        last[l] = (s <= tolerance) | ((s < 1e-5) & (next <= 0.1 * tolerance)) |
                  ((s < 1e-9) & (s > 0.25 * b));
    }
}

INLINE void update_of(int k, clsi_pack *p, double *u) {
    const clsi_stepper *sp = p->sp;
    int first = k + (int)sp->n_positive;
    flag bad[L], last[L];
    EACH_LANE bad[l] = 0;
    for (int i = 0; i < k * k; i++) {
        const double *J = clsi_lanes_output(sp->residual, p->work_residual, (size_t)(first + i));
        EACH_LANE {
            p->lu[i * L + l] = J[l];
            bad[l] |= !(fabs(J[l]) <= DBL_MAX);
        }
    }
    factor(k, p->lu, p->pivot, bad);
    for (int i = 0; i < k; i++)
        memcpy(p->d + i * L, clsi_lanes_output(sp->residual, p->work_residual, (size_t)i),
               L * sizeof(double));
    back(k, p->lu, p->pivot, p->d);
    for (int i = 0; i < k; i++) EACH_LANE {
            double x = fabs(u[i * L + l]), low = p->least[i * L + l];
            p->scale[i * L + l] = x > low ? x : low;
        }
    find_size(k, p->d, p->scale, p->size);
    EACH_LANE bad[l] |= !(p->size[l] <= DBL_MAX);
    find_last(p->size, p->before, sp->options.tolerance, last);
    EACH_LANE p->off[l] |= bad[l] & !p->done[l];
    for (int i = 0; i < k; i++) EACH_LANE {
            double x = u[i * L + l];
            u[i * L + l] = p->done[l] | p->off[l] ? x : x - p->d[i * L + l];
        }
    EACH_LANE p->done[l] |= last[l];
}

/* Few unknowns are written out. */
CLONES
static void update(clsi_pack *p, double *u) {
    switch (p->k) {
    case 1: update_of(1, p, u); break;
    case 2: update_of(2, p, u); break;
    case 3: update_of(3, p, u); break;
    case 4: update_of(4, p, u); break;
    default: update_of(p->k, p, u);
    }
}

/* After a full update that was not the last: the simplified update must be shorter. */
CLONES
static void judge(clsi_pack *p) {
    const clsi_stepper *sp = p->sp;
    int k = p->k;
    double size[L];
    for (int i = 0; i < k; i++)
        memcpy(p->trial + i * L, clsi_lanes_output(sp->residual, p->work_residual, (size_t)i),
               L * sizeof(double));
    back(k, p->lu, p->pivot, p->trial);
    find_size(k, p->trial, p->scale, size);
    EACH_LANE {
        p->off[l] |= !p->done[l] & !(size[l] <= 0.75 * p->size[l]);
        p->before[l] = p->size[l];
    }
}

static int is_over(const clsi_pack *p) {
    flag open = 0;
    EACH_LANE open |= !(p->done[l] | p->off[l]);
    return !open;
}

/* The early instructions have the base inputs, the unknowns a prediction. */
static void solve(clsi_pack *p) {
    const clsi_stepper *sp = p->sp;
    double *u = unknowns(p);
    EACH_LANE p->done[l] = 0, p->before[l] = INFINITY;
    evaluate(p);
    for (int i = 0; i < sp->options.max_iterations && !is_over(p); i++) {
        clsi_lanes_rest(sp->residual, L, p->work_residual);
        update(p, u);
        if (is_over(p)) return;
        evaluate(p);
        judge(p);
    }
    EACH_LANE p->off[l] |= !p->done[l];
}

/* ---- the step ---- */

static void set_inputs(clsi_pack *p, const cls_program *program, double *work, double t, double h) {
    double *in = clsi_lanes_input(program, work, 0);
    size_t nz = p->n;
    memcpy(in, p->state, nz * L * sizeof(double));
    EACH_LANE {
        row(in, nz)[l] = 0;
        row(in, nz + 1)[l] = t;
        row(in, nz + 2)[l] = h;
        row(in, nz + 3)[l] = p->defect[l];
    }
    memcpy(row(in, nz + 4), row(p->state, nz), (size_t)p->owed * L * sizeof(double));
}

/* step_take_next without the state: p->next. */
CLONES
static void take_next(clsi_pack *p) {
    const clsi_stepper *sp = p->sp;
    size_t n = p->n;
    for (size_t i = 0; i < n; i++) {
        const double *from = clsi_lanes_output(sp->next, p->work_next, i);
        double *to = row(p->next, i), *owes = row(p->next, n + i);
        const double *state = row(p->state, i), *owed = row(p->state, n + i);
        for (int l = 0; l < L && !sp->books; l++) to[l] = from[l];
        for (int l = 0; l < L && sp->books; l++) { /* step_add */
            double d = from[l] + owed[l], sum = state[l] + d, taken = sum - state[l];
            owes[l] = (state[l] - (sum - taken)) + (d - taken);
            to[l] = sum;
        }
    }
    for (int i = 0; i < p->owed; i++) {
        const double *r = clsi_lanes_output(sp->residual, p->work_residual, (size_t)i);
        double *owes = row(p->next, n + (size_t)i);
        EACH_LANE owes[l] = p->quiet[l] ? r[l] : 0;
    }
    for (size_t i = 0; i < n; i++) EACH_LANE p->off[l] |= !(fabs(row(p->next, i)[l]) <= DBL_MAX);
    for (size_t g = 0; g < sp->n_guarded; g++) {
        const clsi_variable *q = clsi_state_variable(sp->s, sp->guarded[g]);
        const double *x = row(p->next, sp->guarded[g]);
        EACH_LANE p->off[l] |= !(x[l] > q->low && x[l] < q->high);
    }
}

/* Entropy that a step makes, of its size, above which round-off does not matter (step.inc). */
static const double QUIET = 1e-13;

static int find_quiet(clsi_pack *p) {
    flag any = 0;
    for (int l = 0; l < L && p->owed; l++) {
        p->quiet[l] = p->step_entropy[l] <= QUIET * row(p->monitor, CLSI_MONITOR_SIZE)[l];
        any |= p->quiet[l];
    }
    return any != 0;
}

/* step_carried after the solve: where nothing is unusual, the defect for the next step and what was
 * measured; else off. */
CLONES
static void settle(clsi_pack *p, int heats) {
    const clsi_stepper *sp = p->sp;
    const double *out[CLSI_MONITOR_INVARIANTS];
    for (size_t i = 0; i < CLSI_MONITOR_INVARIANTS; i++)
        out[i] = clsi_lanes_output(sp->monitor, p->work_monitor, i);
    const double *energy = row(p->monitor, CLSI_MONITOR_ENERGY);
    const double *entropy = row(p->monitor, CLSI_MONITOR_ENTROPY);
    EACH_LANE {
        double scale = p->energy_scale[l], limit = 0.25e-13 * scale,
               beta = out[CLSI_MONITOR_BETA][l];
        double produced = out[CLSI_MONITOR_ENTROPY][l] - entropy[l],
               size = out[CLSI_MONITOR_SIZE][l];
        double change = out[CLSI_MONITOR_ENERGY][l] - energy[l];
        double given = heats ? p->defect[l] : 0;
        double missing = p->energy_start[l] - out[CLSI_MONITOR_ENERGY][l];
        int usual = (fabs(change - given) <= limit) & (produced >= -1e-15 * size) & (scale > 0) &
                    (fabs(missing) <= limit) & (fabs(p->energy_start[l] - energy[l]) <= limit) &
                    !((p->defect[l] < 0) & (produced < 0)) & (fabs(produced) <= DBL_MAX);
        int real = (beta > 0) & (produced > 1e-14 * size);
        double least = real ? -0.5 * produced / beta : 0;
        double defect = missing > least ? missing : least;
        if (p->owed) defect = (!real & (missing <= 5e-15 * scale)) ? 0 : defect;
        p->now[l] = usual;
        p->trial[l] = defect; /* k >= 1 rows are free here */
        p->size[l] = produced;
    }
    EACH_LANE p->off[l] |= !p->now[l];
}

/* Without heat the defect is found by its own rule, member by member. */
static void settle_single(clsi_pack *p) {
    EACH_LANE {
        cls_simulator *sim = p->sim[l];
        if (p->off[l] || !is_under_way(p, l)) continue;
        get(p->next, 2 * p->n, l, sim->state);
        for (size_t i = 0; i < CLSI_MONITOR_INVARIANTS; i++)
            sim->monitor_out[i] = clsi_lanes_output(p->sp->monitor, p->work_monitor, i)[l];
        sim->step_entropy = p->size[l];
        sim->steps = p->steps;
        sim->defect = p->defect[l];
        p->off[l] = clsi_simulator_balance(sim) != CLSI_FINE;
        p->trial[l] = sim->defect;
    }
}

static void measure(clsi_pack *p, double t) {
    const clsi_stepper *sp = p->sp;
    double *in = clsi_lanes_input(sp->monitor, p->work_monitor, 0);
    memcpy(in, p->next, p->n * L * sizeof(double));
    EACH_LANE row(in, p->n)[l] = 0, row(in, p->n + 1)[l] = t;
    clsi_lanes_early(sp->monitor, L, p->work_monitor);
    clsi_lanes_late(sp->monitor, L, p->work_monitor);
    int heats = sp->scheme->carries && sp->s->m;
    settle(p, heats);
    if (!heats) settle_single(p);
}

INLINE void keep_rows(size_t n, const flag *off, const double *from, double *to) {
    for (size_t i = 0; i < n; i++) EACH_LANE
    to[i * L + (size_t)l] = off[l] ? to[i * L + (size_t)l] : from[i * L + (size_t)l];
}

/* The step of those that are not off becomes theirs. */
CLONES
static void commit(clsi_pack *p, const double *u) {
    const clsi_stepper *sp = p->sp;
    size_t k = (size_t)p->k;
    double *oldest = p->history[CLSI_HISTORY - 1];
    keep_rows(2 * p->n, p->off, p->next, p->state);
    memcpy(oldest, u, k * L * sizeof(double)); /* those that are off are entered again */
    memmove(p->history + 1, p->history, (CLSI_HISTORY - 1) * sizeof *p->history);
    p->history[0] = oldest;
    EACH_LANE p->length[l] += p->length[l] < CLSI_HISTORY;
    if (!sp->scheme->carries) return;
    keep_rows(1, p->off, p->trial, p->defect);
    keep_rows(1, p->off, p->size, p->step_entropy);
    for (size_t i = 0; i < CLSI_MONITOR_INVARIANTS; i++)
        keep_rows(1, p->off, clsi_lanes_output(sp->monitor, p->work_monitor, i),
                  row(p->monitor, i));
}

/* The single way, from the state before the step. */
static void go_alone(clsi_pack *p, int l) {
    p->status[l] = cls_simulator_advance(p->sim[l], 1, &p->error[l]);
}

static void step(clsi_pack *p) {
    const clsi_stepper *sp = p->sp;
    double h = sp->options.h, t = (double)p->steps * h, *u = unknowns(p);
    EACH_LANE p->off[l] = p->status[l] != CLS_OK;
    set_inputs(p, sp->residual, p->work_residual, t, h);
    predict(p->k, p->history, p->length, p->off, u);
    if (sp->guard) {
        set_inputs(p, sp->guard, p->work_guard, t, h);
        clsi_lanes_early(sp->guard, L, p->work_guard);
    }
    clsi_lanes_early(sp->residual, L, p->work_residual);
    find_least(p, p->state, h, p->least);
    solve(p);
    set_inputs(p, sp->next, p->work_next, t, h);
    memcpy(clsi_lanes_input(sp->next, p->work_next, sp->n_base), u, (size_t)p->k * L * sizeof *u);
    clsi_lanes_early(sp->next, L, p->work_next);
    clsi_lanes_late(sp->next, L, p->work_next);
    if (find_quiet(p)) clsi_lanes_first(sp->residual, L, p->work_residual);
    take_next(p);
    if (sp->scheme->carries) measure(p, t);
    EACH_LANE
    if (p->off[l] && is_under_way(p, l)) leave(p, l, p->sim[l]);
    commit(p, u);
    EACH_LANE {
        if (!p->off[l] || !is_under_way(p, l)) continue;
        go_alone(p, l);
        enter(p, l, p->sim[l]);
    }
    p->steps++;
}

void clsi_pack_advance(clsi_pack *p, uint64_t n) {
    int any = 0;
    EACH_LANE any |= is_under_way(p, l);
    for (uint64_t i = 0; i < n && any; i++) step(p);
}
